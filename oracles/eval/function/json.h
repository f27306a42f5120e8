/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files with JSON functions share: documents, paths, and how they are compiled. */
#ifndef EVAL_FUNCTION_JSON_H
#define EVAL_FUNCTION_JSON_H

#include "eval/compile.h"
#include "eval/value/json.h"

enum { LEGS_MAX = 16 };

#define JSON_LENGTH_MAX UINT32_MAX

struct leg {
	struct span key; /* none: an index */
	uint32_t index;
};

struct path {
	struct leg legs[LEGS_MAX];
	uint32_t count;
};

/* Of a function whose name begins so. */
bool calls_function(const struct node *n, const char *name);
/* Paths are literals; each argument from `from` on in steps. */
bool compile_paths(struct compiler *c, struct node *n, uint32_t from, uint32_t step) MUST_CHECK;
const struct path *json_path_of(const struct node *n, uint32_t arg);
struct json_node *json_member(struct json_node *object, struct span key);
struct json_node *json_find(struct json_node *v, const struct path *path, uint32_t legs);
/* Of argument `arg`.  NULL: SQL's NULL, or it failed. */
struct json_node *json_document(const struct node *n, uint32_t arg, struct frame *f);
/* An argument as a value inside of a document.  NULL: it failed. */
struct json_node *json_value_of(const struct node *n, uint32_t arg, struct frame *f);
/* A string of MySQL's JSON may be a date or bytes, which print alike. */
bool json_may_be_other(const struct json_node *v);

#endif
