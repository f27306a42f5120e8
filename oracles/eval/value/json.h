/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON texts as MySQL stores and prints them, and as MariaDB leaves them. */
#ifndef EVAL_VALUE_JSON_H
#define EVAL_VALUE_JSON_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"

enum json_outcome {
	JSON_FINE,
	JSON_INVALID, /* the server refuses the text */
	JSON_UNSURE,  /* what it makes of the text is not known here */
};

enum json_form {
	JSON_NORMAL,     /* MySQL: a text that becomes a value */
	JSON_STORED,     /* MySQL: the text of a value */
	JSON_AS_WRITTEN, /* MariaDB */
};

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_node {
	enum json_kind kind;
	bool whole;       /* a number without a point */
	bool coded;       /* a string that was written with escapes */
	struct span text; /* as it is printed, but for lists */
	struct span value;         /* what a string means */
	struct span key, key_text; /* of a member; printed */
	struct json_node *first, *next; /* of a list */
};

/* The tree of a text. */
enum json_outcome json_read(
	struct arena *arena, struct span text, enum json_form form, struct json_node **out) MUST_CHECK;
void json_print(const struct json_node *v, struct buf *out);
/* False: how it is printed is not known. */
bool json_put_string(struct span s, struct buf *out) MUST_CHECK;
bool json_put_double(double d, struct buf *out) MUST_CHECK; /* MySQL */
/* MySQL's order of names; and that of an object's members, where the last of one name counts. */
bool json_before(struct span a, struct span b);
void json_arrange(struct json_node *object);

/* Is it a JSON text?  Strictly (RFC 8259); what some servers have limits for is left open. */
enum json_outcome json_check(struct span text) MUST_CHECK;

/* The text that MySQL prints of what it stored: members sorted by the length of their names, then by
 * their bytes; of two with one name the last; ", " and ": " between them. */
enum json_outcome json_normal(struct arena *arena, struct span text, struct buf *out) MUST_CHECK;

#endif
