/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of texts: CONCAT, LENGTH, LOWER, SUBSTRING and the like; what all of them share. */
#include <string.h>

#include "eval/compile.h"
#include "eval/function/string.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/value/json.h"
#include "eval/value/release.h"

static node_fn run_left, run_right, run_substring;

/* The servers decide how long a result may be when they prepare the statement, and compute constant
 * lengths then.  An error in one is reported even where a NULL comes before it. */
static bool lengths_known(struct compiler *c, const struct node *n)
{
	if (n->fn != run_left && n->fn != run_right && n->fn != run_pad && n->fn != run_repeat &&
		n->fn != run_substring)
		return true;
	for (uint32_t i = 1; i < n->arg_count; i++) {
		struct eval_outcome outcome = {0};
		struct run run = compile_run(c, &outcome);
		struct frame f = {.run = &run};
		struct eval_value v;

		if (!n->args[i]->constant)
			continue;
		v = node_run(n->args[i], &f);
		if (constant_length_refused(c, &outcome, &v))
			return false;
		/* MySQL reports the error in strict mode even if the value is not needed. */
		run.strict = true;
		if (c->env->flavour == SQL_MYSQL && v.kind != EVAL_NULL && (i == 1 || n->fn != run_pad))
			(void)to_integer(&run, &n->args[i]->type, &v);
		c->cut_constant |= run.failed;
	}
	return true;
}

bool is_binary_literal(const struct node *n)
{
	return n->literal && type_is_string(&n->type) && n->type.collation == COLLATION_BINARY;
}

bool function_writes_over(const struct compiler *c, struct span name)
{
	/* The last three on MariaDB alone. */
	static const char *const names[] = {
		"insert", "repeat", "rpad", "concat_ws", "lpad", "replace"};

	for (size_t i = 0; i < (c->env->flavour == SQL_MARIADB ? ARRAY_LEN(names) : 3); i++) {
		if (span_ieq_str(name, names[i]))
			return true;
	}
	return false;
}

bool string_result(struct compiler *c, struct node *n, struct node **args, uint32_t count,
	enum operation operation)
{
	uint8_t coercibility;

	if (string_operands_refused(c, n, args, count) ||
		!aggregate_collation(c, args, count, operation, &n->collation, &coercibility) ||
		string_of_bytes_refused(c, n, args, count))
		return false;
	n->type = type_string(n->collation, coercibility, 0);
	return lengths_known(c, n);
}

bool text_arg(const struct node *n, struct frame *f, uint32_t i, struct span *out)
{
	struct eval_value v = node_run(n->args[i], f);

	if (v.kind == EVAL_NULL || f->run->failed)
		return false;
	*out = text_in(f->run, &n->args[i]->type, &v, n->collation);
	return !f->run->failed;
}

bool int_arg(const struct node *n, struct frame *f, uint32_t i, int64_t *out)
{
	bool failed = f->run->failed, text;
	struct eval_value v = node_run(n->args[i], f);

	text = v.kind == EVAL_STRING;
	decimal_as_position_refused(f->run, &v);
	if (v.kind != EVAL_NULL)
		v = to_integer(f->run, &n->args[i]->type, &v);
	if (!failed)
		constant_length_error_refused(f->run, n->args[i]);
	if (v.kind == EVAL_NULL || f->run->failed)
		return false;
	if (text)
		text_as_position_refused(f->run, &v);
	*out = v.kind == EVAL_UINT && v.u > INT64_MAX ? INT64_MAX : v.i;
	return true;
}

struct eval_value text_result(const struct node *n, struct span s)
{
	return eval_string(s, n->collation);
}

struct eval_value buf_result(const struct node *n, struct frame *f, struct buf *text)
{
	struct eval_value v = make_text(f->run, text, n->collation);

	buf_release(text);
	return v;
}

enum charset charset_of(const struct node *n)
{
	return collation_charset(n->collation);
}

bool stops_at_null(const struct frame *f)
{
	return f->run->env->flavour == SQL_MYSQL;
}

/* ---- compiling ---- */

uint32_t like_first(const struct compiler *c, uint32_t strings)
{
	return c->env->flavour == SQL_MYSQL && !mysql_5(c->env) ? 1 : strings;
}

struct node *compile_all(struct compiler *c, struct node *n, const struct function *function)
{
	if (function->fn == run_replace && replace_refused(c, n->args))
		return NULL;
	return string_result(c, n, n->args,
		       function->fn == run_replace ? like_first(c, 3) : n->arg_count,
		       function->fn == run_replace ? OPERATION_COMPARES : OPERATION_BUILDS)
		       ? n
		       : NULL;
}

struct node *compile_first(
	struct compiler *c, struct node *n, const struct function *function)
{
	if (function->fn == run_quote && quote_refused(c, n->args[0]))
		return NULL;
	return string_result(c, n, n->args, 1, OPERATION_COMPARES) ? n : NULL;
}

/* An integer from one string. */
static struct node *compile_measure(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (!string_result(c, n, n->args, 1, OPERATION_COMPARES))
		return NULL;
	n->type = type_int(false);
	return n;
}

/* An integer from two strings. */
/* MariaDB counts bytes there, as the number's text is latin1. */

static struct node *compile_split(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (other_charset_refused(c, n->args[0], n->args[1]))
		return NULL;
	return string_result(c, n, n->args, like_first(c, 2), OPERATION_COMPARES) ? n : NULL;
}

/* ---- CONCAT ---- */

static struct eval_value run_concat(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;
	struct span s;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!text_arg(n, f, i, &s)) {
			buf_release(&text);
			return EVAL_NULL_VALUE;
		}
		buf_add_span(&text, s);
	}
	if (text.len > RESULT_MAX)
		run_gives_up(f->run, LIMIT_VERY_LONG_STRING);
	return buf_result(n, f, &text);
}

struct node *compile_concat(
	struct compiler *c, const struct sql_expr *e, struct node *l, struct node *r)
{
	struct node *n = node_new(c, run_concat, e, 2);

	n->args[0] = l;
	n->args[1] = r;
	return string_result(c, n, n->args, 2, OPERATION_BUILDS) ? n : NULL;
}

bool is_part_of_buffer(const struct node *n)
{
	return (n->fn == run_left || n->fn == run_right || n->fn == run_substring) &&
	       !((n->args[0]->column || n->args[0]->literal) && type_is_string(&n->args[0]->type));
}

bool is_joined_literal(const struct node *n)
{
	return n->literal && n->expr && n->expr->kind == SQL_EXPR_LITERAL &&
	       n->expr->u.literal.kind == SQL_LIT_STRING && !n->expr->u.literal.charset.ptr &&
	       n->expr->loc.end - n->expr->loc.start > n->expr->u.literal.text.len + 2;
}

static struct node *compile_concat_ws(
	struct compiler *c, struct node *n, const struct function *function)
{
	if (concat_ws_refused(c, n))
		return NULL;
	return compile_all(c, n, function);
}

static struct eval_value run_concat_ws(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;
	struct span separator, s;
	bool any = false;

	if (!text_arg(n, f, 0, &separator))
		return EVAL_NULL_VALUE;
	for (uint32_t i = 1; i < n->arg_count; i++) {
		if (!text_arg(n, f, i, &s))
			continue;
		if (any)
			buf_add_span(&text, separator);
		buf_add_span(&text, s);
		any = true;
	}
	if (text.len > RESULT_MAX)
		run_gives_up(f->run, LIMIT_VERY_LONG_STRING);
	return buf_result(n, f, &text);
}

/* ---- lengths and codes ---- */

enum { LENGTH_BYTES, LENGTH_CHARS, LENGTH_BITS, LENGTH_ASCII, LENGTH_ORD };

static struct eval_value run_length(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct span s;
	uint32_t bytes;
	int64_t code = 0;

	if (v.kind == EVAL_NULL)
		return v;
	s = to_text(f->run, &n->args[0]->type, &v);
	switch (n->op) {
	case LENGTH_BYTES:
		return eval_int((int64_t)s.len);
	case LENGTH_BITS:
		return eval_int((int64_t)s.len * 8);
	case LENGTH_CHARS:
		return eval_int((int64_t)text_chars(charset_of(n), s));
	case LENGTH_ASCII:
		return eval_int(s.len ? (unsigned char)s.ptr[0] : 0);
	default:
		if (!s.len)
			return eval_int(0);
		bytes = char_bytes(charset_of(n), s);
		for (uint32_t i = 0; i < (bytes ? bytes : 1); i++)
			code = code << 8 | (unsigned char)s.ptr[i];
		return eval_int(code);
	}
}

/* ---- JSON_VALID ---- */

static struct node *compile_json_valid(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (json_valid_refused(c, n->args[0]))
		return NULL;
	n->type = c->env->flavour == SQL_MARIADB ? type_bool() : type_int(false);
	return n;
}

static struct eval_value run_json_valid(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL)
		return v;
	if (n->args[0]->type.kind == EVAL_T_JSON)
		return eval_int(1);
	v = require_known(f->run, v);
	if (json_valid_text_refused(f->run, &v))
		return EVAL_NULL_VALUE;
	switch (json_check(v.s)) {
	case JSON_FINE:
		return eval_int(1);
	case JSON_INVALID:
		return eval_int(0);
	case JSON_UNSURE:
		break;
	}
	return run_gives_up(f->run, LIMIT_JSON_VALID_OF_RARE_TEXT);
}

/* ---- case ---- */

static struct eval_value run_case_fold(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;
	bool unknown = false;
	struct span s;

	if (!text_arg(n, f, 0, &s))
		return EVAL_NULL_VALUE;
	collation_fold(n->collation, s, n->op, &text, &unknown);
	if (unknown)
		run_gives_up(f->run, LIMIT_UPPER_OR_LOWER_OF_OTHER_THAN_ASCII_CHARACTERS);
	return buf_result(n, f, &text);
}

/* ---- parts ---- */

struct eval_value null_text(const struct node *n, struct frame *f)
{
	int64_t length;

	for (uint32_t i = 1; i < n->arg_count && f->run->strict; i++) {
		if (n->args[i]->constant && (i == 1 || (n->guarded ? n->guarded : n->fn) != run_pad))
			(void)int_arg(n, f, i, &length);
	}
	return EVAL_NULL_VALUE;
}

static struct eval_value run_left(const struct node *n, struct frame *f)
{
	struct span s;
	int64_t count;

	bool known = text_arg(n, f, 0, &s);

	if (!known && stops_at_null(f))
		return null_text(n, f);
	if (!int_arg(n, f, 1, &count) || !known)
		return EVAL_NULL_VALUE;
	if (count <= 0)
		return text_result(n, SPAN_LIT(""));
	s.len = text_offset(charset_of(n), s, (size_t)count);
	return text_result(n, s);
}

static struct eval_value run_right(const struct node *n, struct frame *f)
{
	struct span s;
	int64_t count;
	size_t chars, from;

	bool known = text_arg(n, f, 0, &s);

	if (!known && stops_at_null(f))
		return null_text(n, f);
	if (!int_arg(n, f, 1, &count) || !known)
		return EVAL_NULL_VALUE;
	if (count <= 0)
		return text_result(n, SPAN_LIT(""));
	chars = text_chars(charset_of(n), s);
	from = (uint64_t)count >= chars ? 0 : text_offset(charset_of(n), s, chars - (size_t)count);
	return text_result(n, span_of(s.ptr + from, s.len - from));
}

static struct eval_value run_substring(const struct node *n, struct frame *f)
{
	int64_t position, count = INT64_MAX;
	struct span s;
	size_t chars, from;
	bool known;

	known = text_arg(n, f, 0, &s);
	if (!known && stops_at_null(f))
		return null_text(n, f);
	known = int_arg(n, f, 1, &position) && known;
	if (!known && stops_at_null(f))
		return EVAL_NULL_VALUE;
	if ((n->arg_count > 2 && !int_arg(n, f, 2, &count)) || !known)
		return EVAL_NULL_VALUE;
	chars = text_chars(charset_of(n), s);
	if (count <= 0 || position == 0)
		return text_result(n, SPAN_LIT(""));
	if (position < 0) {
		if ((uint64_t)0 - (uint64_t)position > chars)
			return text_result(n, SPAN_LIT(""));
		position += (int64_t)chars + 1;
	}
	if ((uint64_t)position > chars)
		return text_result(n, SPAN_LIT(""));
	from = text_offset(charset_of(n), s, (size_t)position - 1);
	s = span_of(s.ptr + from, s.len - from);
	s.len = text_offset(charset_of(n), s, (size_t)count);
	return text_result(n, s);
}

/* The offset of hit number `wanted` (0: none), hits found from the left without overlap. */
static size_t find_hit(struct span s, struct span delimiter, int64_t wanted, int64_t *hits)
{
	*hits = 0;
	for (size_t at = 0; at + delimiter.len <= s.len;) {
		if (memcmp(s.ptr + at, delimiter.ptr, delimiter.len)) {
			at++;
			continue;
		}
		if (++*hits == wanted)
			return at;
		at += delimiter.len;
	}
	return SIZE_MAX;
}

static struct eval_value run_substring_index(const struct node *n, struct frame *f)
{
	struct span s, delimiter;
	int64_t count;
	int64_t hits;
	size_t at;
	bool known, many = charset_max_bytes(charset_of(n)) > 1;

	known = text_arg(n, f, 0, &s);
	if (!known && stops_at_null(f))
		return EVAL_NULL_VALUE;
	known = text_arg(n, f, 1, &delimiter) && known;
	if (!int_arg(n, f, 2, &count) || !known)
		return EVAL_NULL_VALUE;
	if (!delimiter.len || !count || !s.len)
		return text_result(n, SPAN_LIT(""));
	if (substring_index_refused(f->run, n, s, delimiter))
		return EVAL_NULL_VALUE;
	if (count < 0 && many) { /* counted from the left all the same */
		find_hit(s, delimiter, 0, &hits);
		at = hits + count < 0 ? SIZE_MAX
				      : find_hit(s, delimiter, hits + count + 1, &hits);
		if (at == SIZE_MAX)
			return text_result(n, s);
		at += delimiter.len;
		return text_result(n, span_of(s.ptr + at, s.len - at));
	}
	if (count < 0) { /* from the right, and there too without overlap */
		size_t end = s.len;

		for (int64_t left = -count; left; left--) {
			size_t k = end;

			while (k >= delimiter.len &&
				memcmp(s.ptr + k - delimiter.len, delimiter.ptr, delimiter.len))
				k--;
			if (k < delimiter.len)
				return text_result(n, s);
			end = k - delimiter.len;
		}
		end += delimiter.len;
		return text_result(n, span_of(s.ptr + end, s.len - end));
	}
	at = find_hit(s, delimiter, count, &hits);
	return text_result(n, at == SIZE_MAX ? s : span_of(s.ptr, at));
}

const struct function functions_string[] = {
	{"concat", 1, 255, compile_all, run_concat, 0},
	{"concat_ws", 2, 255, compile_concat_ws, run_concat_ws, 0},
	{"length", 1, 1, compile_measure, run_length, LENGTH_BYTES},
	{"octet_length", 1, 1, compile_measure, run_length, LENGTH_BYTES},
	{"char_length", 1, 1, compile_measure, run_length, LENGTH_CHARS},
	{"character_length", 1, 1, compile_measure, run_length, LENGTH_CHARS},
	{"bit_length", 1, 1, compile_measure, run_length, LENGTH_BITS},
	{"ascii", 1, 1, compile_measure, run_length, LENGTH_ASCII},
	{"ord", 1, 1, compile_measure, run_length, LENGTH_ORD},
	{"json_valid", 1, 1, compile_json_valid, run_json_valid, 0},
	{"lower", 1, 1, compile_first, run_case_fold, 0},
	{"lcase", 1, 1, compile_first, run_case_fold, 0},
	{"upper", 1, 1, compile_first, run_case_fold, 1},
	{"ucase", 1, 1, compile_first, run_case_fold, 1},
	{"left", 2, 2, compile_first, run_left, 0},
	{"right", 2, 2, compile_first, run_right, 0},
	{"substring", 2, 3, compile_first, run_substring, 0},
	{"substr", 2, 3, compile_first, run_substring, 0},
	{"mid", 2, 3, compile_first, run_substring, 0},
	{"substring_index", 3, 3, compile_split, run_substring_index, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
