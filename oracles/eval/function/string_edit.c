/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that trim, pad, repeat and change texts: TRIM, LPAD, REPEAT, REPLACE, REVERSE, INSERT. */
#include <string.h>

#include "eval/compile.h"
#include "eval/function/string.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"

/* ---- trimming and padding ---- */

static struct span trim_text(struct span s, struct span what, bool leading, bool trailing)
{
	if (!what.len)
		return s;
	while (leading && s.len >= what.len && !memcmp(s.ptr, what.ptr, what.len)) {
		s.ptr += what.len;
		s.len -= what.len;
	}
	while (trailing && s.len >= what.len &&
		!memcmp(s.ptr + s.len - what.len, what.ptr, what.len))
		s.len -= what.len;
	return s;
}

static struct eval_value run_trim(const struct node *n, struct frame *f)
{
	struct span s, what = SPAN_LIT(" ");

	if (!text_arg(n, f, 0, &s) || (n->arg_count > 1 && !text_arg(n, f, 1, &what)))
		return EVAL_NULL_VALUE;
	if (trim_refused(f->run, n, what))
		return EVAL_NULL_VALUE;
	return text_result(
		n, trim_text(s, what, n->op != SQL_TRIM_TRAILING, n->op != SQL_TRIM_LEADING));
}

struct node *compile_trim(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_trim, e, e->u.trim.what ? 2 : 1);

	n->args[0] = compile_value(c, e->u.trim.left);
	if (e->u.trim.what)
		n->args[1] = n->args[0] ? compile_value(c, e->u.trim.what) : NULL;
	if (!n->args[0] || (e->u.trim.what && !n->args[1]))
		return NULL;
	n->op = e->u.trim.where;
	if (e->u.trim.what && other_charset_refused(c, n->args[0], n->args[1]))
		return NULL;
	return string_result(c, n, n->args, like_first(c, n->arg_count), OPERATION_COMPARES) ? n : NULL;
}

struct eval_value run_pad(const struct node *n, struct frame *f)
{
	struct span s, pad = SPAN_LIT(" ");
	int64_t length;
	struct buf text = BUF_INIT;
	size_t chars, pad_chars, missing;
	bool known;

	known = text_arg(n, f, 0, &s);
	if (!known && stops_at_null(f))
		return null_text(n, f);
	if (stops_at_null(f) && n->arg_count > 2 && !text_arg(n, f, 2, &pad))
		return EVAL_NULL_VALUE;
	known = int_arg(n, f, 1, &length) && known;
	if ((!stops_at_null(f) && n->arg_count > 2 && !text_arg(n, f, 2, &pad)) || !known)
		return EVAL_NULL_VALUE;
	if (length < 0)
		return EVAL_NULL_VALUE;
	if (pad_refused(f->run, n, pad))
		return EVAL_NULL_VALUE;
	chars = text_chars(charset_of(n), s);
	if ((uint64_t)length <= chars) {
		if (pad_that_cuts_refused(f->run, n))
			return EVAL_NULL_VALUE;
		s.len = text_offset(charset_of(n), s, (size_t)length);
		return text_result(n, s);
	}
	if (length > RESULT_MAX)
		return run_gives_up(f->run, LIMIT_VERY_LONG_STRING);
	if (empty_pad_refused(f->run, pad))
		return EVAL_NULL_VALUE;
	pad_chars = text_chars(charset_of(n), pad);
	missing = (size_t)length - chars;
	if (n->op)
		buf_add_span(&text, s);
	for (; missing >= pad_chars; missing -= pad_chars)
		buf_add_span(&text, pad);
	buf_add(&text, pad.ptr, text_offset(charset_of(n), pad, missing));
	if (!n->op)
		buf_add_span(&text, s);
	return buf_result(n, f, &text);
}

static struct node *compile_pad(struct compiler *c, struct node *n, const struct function *function)
{
	struct node *strings[2] = {n->args[0], n->arg_count > 2 ? n->args[2] : NULL};

	(void)function;
	if (n->arg_count > 2 && (mixed_collations_refused(c, n->args[0], n->args[2]) ||
					other_charset_refused(c, n->args[0], n->args[2])))
		return NULL;
	return string_result(c, n, strings, n->arg_count > 2 ? like_first(c, 2) : 1, OPERATION_BUILDS)
		       ? n
		       : NULL;
}

struct eval_value run_repeat(const struct node *n, struct frame *f)
{
	bool count_first = stops_at_null(f) && !mysql_5(f->run->env) &&
			   mysql_has(f->run->env, MYSQL_REPEAT_TEXT_FIRST) == 0;
	struct buf text = BUF_INIT;
	bool known, counted = true;
	int64_t count;
	struct span s;

	if (count_first && !int_arg(n, f, 1, &count))
		return EVAL_NULL_VALUE;
	/* MariaDB computes it first, and the text all the same. */
	if (!stops_at_null(f))
		counted = int_arg(n, f, 1, &count);
	known = text_arg(n, f, 0, &s);
	if (!known && stops_at_null(f))
		return null_text(n, f);
	if (!counted || (stops_at_null(f) && !count_first && !int_arg(n, f, 1, &count)) || !known) {
		if (run_erred(f->run) &&
			mysql_has(f->run->env, MYSQL_REPEAT_TEXT_FIRST) < 0) {
			f->run->outcome->status = EVAL_OK;
			(void)run_mysql_has(f->run, MYSQL_REPEAT_TEXT_FIRST);
		}
		return EVAL_NULL_VALUE;
	}
	if (count <= 0 || !s.len)
		return text_result(n, SPAN_LIT(""));
	if (count > RESULT_MAX || (size_t)count * s.len > RESULT_MAX)
		return run_gives_up(f->run, LIMIT_VERY_LONG_STRING);
	while (count--)
		buf_add_span(&text, s);
	return buf_result(n, f, &text);
}

static struct eval_value run_space(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;
	int64_t count;

	if (!int_arg(n, f, 0, &count))
		return EVAL_NULL_VALUE;
	if (count > RESULT_MAX)
		return run_gives_up(f->run, LIMIT_VERY_LONG_STRING);
	for (; count > 0; count--)
		buf_add_char(&text, ' ');
	return buf_result(n, f, &text);
}

struct node *compile_connection(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	n->collation = c->env->collation_connection;
	n->type = type_string(n->collation, 4, 0);
	return n;
}

/* ---- changing ---- */

struct eval_value run_replace(const struct node *n, struct frame *f)
{
	struct span s, from, to;
	struct buf text = BUF_INIT;

	if (!text_arg(n, f, 0, &s) || !text_arg(n, f, 1, &from))
		return EVAL_NULL_VALUE;
	if (!from.len && (f->run->env->flavour == SQL_MARIADB || text_arg(n, f, 2, &to)))
		return text_result(n, s);
	if (!from.len)
		return EVAL_NULL_VALUE;
	if (replaced_text_refused(f->run, n, from))
		return EVAL_NULL_VALUE;
	if (f->run->env->flavour == SQL_MYSQL && !text_arg(n, f, 2, &to))
		return EVAL_NULL_VALUE;
	/* MariaDB computes the third argument only when there is something to replace. */
	if ((collation_is_bin(n->collation) || charset_max_bytes(charset_of(n)) == 1) &&
		!memmem(s.ptr, s.len, from.ptr, from.len) && f->run->env->flavour == SQL_MARIADB)
		return text_result(n, s);
	if (!text_arg(n, f, 2, &to))
		return EVAL_NULL_VALUE;
	for (size_t i = 0; i < s.len;) {
		if (i + from.len <= s.len && !memcmp(s.ptr + i, from.ptr, from.len)) {
			buf_add_span(&text, to);
			i += from.len;
		} else {
			buf_add_char(&text, s.ptr[i++]);
		}
		if (text.len > RESULT_MAX) {
			buf_release(&text);
			return run_gives_up(f->run, LIMIT_VERY_LONG_STRING);
		}
	}
	return buf_result(n, f, &text);
}

static struct node *compile_over(struct compiler *c, struct node *n, const struct function *function)
{
	return replace_in_literal_refused(c, n->args[0]) ? NULL : compile_all(c, n, function);
}

static struct eval_value run_reverse(const struct node *n, struct frame *f)
{
	struct span s;
	char *out;

	if (!text_arg(n, f, 0, &s))
		return EVAL_NULL_VALUE;
	out = arena_alloc(f->run->arena, s.len + 1);
	for (size_t i = 0; i < s.len;) {
		uint32_t bytes = char_bytes(charset_of(n), span_of(s.ptr + i, s.len - i));

		bytes = bytes ? bytes : 1;
		memcpy(out + s.len - i - bytes, s.ptr + i, bytes);
		i += bytes;
	}
	return text_result(n, span_of(out, s.len));
}

struct eval_value run_insert(const struct node *n, struct frame *f)
{
	struct span s, added;
	int64_t position, count;
	size_t chars, from, to;
	bool known;
	struct buf text = BUF_INIT;

	known = text_arg(n, f, 0, &s);
	if (!known && stops_at_null(f))
		return EVAL_NULL_VALUE;
	if (stops_at_null(f)) {
		known = text_arg(n, f, 3, &added) && int_arg(n, f, 1, &position) && int_arg(n, f, 2, &count);
	} else {
		known = int_arg(n, f, 1, &position) && known;
		known = int_arg(n, f, 2, &count) && known;
		known = text_arg(n, f, 3, &added) && known;
	}
	if (!known)
		return EVAL_NULL_VALUE;
	if (wide_text_in_number_refused(f->run, n->args[0], added))
		return EVAL_NULL_VALUE;
	chars = text_chars(charset_of(n), s);
	if (position < 1 || (uint64_t)position > chars) {
		/* Right after the last character, where the bytes go on. */
		if ((uint64_t)position != chars + 1 || (uint64_t)position > s.len ||
			f->run->env->flavour != SQL_MYSQL ||
			run_mysql_has(f->run, MYSQL_INSERT_BY_CHAR))
			return text_result(n, s);
	}
	from = text_offset(charset_of(n), s, (size_t)position - 1);
	if (count < 0 || (uint64_t)count > chars - (size_t)position + 1)
		count = (int64_t)(chars - (size_t)position + 1);
	to = from + text_offset(charset_of(n), span_of(s.ptr + from, s.len - from), (size_t)count);
	buf_add(&text, s.ptr, from);
	buf_add_span(&text, added);
	buf_add(&text, s.ptr + to, s.len - to);
	return buf_result(n, f, &text);
}

static struct node *compile_repeat(struct compiler *c, struct node *n, const struct function *function)
{
	return repeat_refused(c, n->args[0]) ? NULL : compile_first(c, n, function);
}

static struct node *compile_insert_fn(
	struct compiler *c, struct node *n, const struct function *function)
{
	struct node *strings[2] = {n->args[0], n->args[3]};

	(void)function;
	if (insert_refused(c, n->args[0], n->args[3]))
		return NULL;
	return string_result(c, n, strings, like_first(c, 2), OPERATION_BUILDS) ? n : NULL;
}

const struct function functions_string_edit[] = {
	{"trim", 1, 1, compile_first, run_trim, SQL_TRIM_BOTH},
	{"ltrim", 1, 1, compile_first, run_trim, SQL_TRIM_LEADING},
	{"rtrim", 1, 1, compile_first, run_trim, SQL_TRIM_TRAILING},
	{"lpad", 2, 3, compile_pad, run_pad, 0},
	{"rpad", 2, 3, compile_pad, run_pad, 1},
	{"repeat", 2, 2, compile_repeat, run_repeat, 0},
	{"space", 1, 1, compile_connection, run_space, 0},
	{"replace", 3, 3, compile_over, run_replace, 0},
	{"reverse", 1, 1, compile_first, run_reverse, 0},
	{"insert", 4, 4, compile_insert_fn, run_insert, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
