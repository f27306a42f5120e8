/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files with functions of texts share: arguments, results, and how they are compiled. */
#ifndef EVAL_FUNCTION_STRING_H
#define EVAL_FUNCTION_STRING_H

#include "eval/compile.h"

enum { RESULT_MAX = 1 << 20 }; /* longer results are unsupported */

/* x'41': the server may change the literal itself. */
bool is_binary_literal(const struct node *n);
/* Argument number i as text in the function's character set; false: NULL. */
bool text_arg(const struct node *n, struct frame *f, uint32_t i, struct span *out) MUST_CHECK;
/* An integer argument, large ones cut to what fits int64_t; false: NULL. */
bool int_arg(const struct node *n, struct frame *f, uint32_t i, int64_t *out);
struct eval_value text_result(const struct node *n, struct span s);
struct eval_value buf_result(const struct node *n, struct frame *f, struct buf *text);
enum charset charset_of(const struct node *n);
/* MariaDB evaluates all arguments of most functions, for their errors, and MySQL none after a
 * NULL. */
bool stops_at_null(const struct frame *f);
/* LEFT, RIGHT or SUBSTRING of what is computed: its bytes stand in the buffer that was handed in. */
bool is_part_of_buffer(const struct node *n);
/* Of how many of the strings the result's collation comes: REPLACE, TRIM, SUBSTRING_INDEX. */
uint32_t like_first(const struct compiler *c, uint32_t strings);
struct node *compile_all(struct compiler *c, struct node *n, const struct function *function);
/* A string like the first argument. */
struct node *compile_first(
	struct compiler *c, struct node *n, const struct function *function);
/* A number, or a text that gives way to others as the text of a number does. */
bool is_number_text(const struct node *n);
/* INSERT(INSERT(number, ...), ...): the inner one may have the set of the number's text. */
bool has_number_text(const struct node *n);
/* 'a' 'b', or anything that is longer in the statement than its value with quotes. */
bool is_joined_literal(const struct node *n);
/* The text is NULL.  MySQL asked constant lengths when it prepared the statement, for their errors. */
struct eval_value null_text(const struct node *n, struct frame *f);
struct node *compile_connection(
	struct compiler *c, struct node *n, const struct function *function);
node_fn run_pad, run_repeat, run_replace, run_insert, run_quote;

#endif
