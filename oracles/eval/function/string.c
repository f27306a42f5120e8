/* SPDX-License-Identifier: GPL-2.0-or-later */
/* String functions.  Positions and lengths count characters of the argument's character set. */
#include <string.h>

#include "eval/compile.h"
#include "eval/limits/release.h"
#include "eval/operator/comparison.h"
#include "eval/value/json.h"

enum { RESULT_MAX = 1 << 20 }; /* longer results are unsupported */

static node_fn run_find_in_set, run_insert, run_left, run_right, run_pad, run_repeat, run_substring;

/* The servers size their results when they prepare, and ask constant lengths then: an error in one is
 * met even where a NULL comes before it. */
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
		if (outcome.status == EVAL_ERROR) {
			compile_unsupported(c, LIMIT_ERROR_IN_CONSTANT_LENGTH);
			return false;
		}
		/* Sized with 32 bits: a column of a temporary table may have none left. */
		if ((v.kind == EVAL_INT && v.i > INT32_MAX) ||
			(v.kind == EVAL_UINT && v.u > INT32_MAX) ||
			(v.kind == EVAL_DOUBLE && !(v.d < 9e18 && v.d > -9e18)) ||
			(v.kind == EVAL_DECIMAL && decimal_int_digits(v.dec) > 18)) {
			compile_unsupported(c, LIMIT_CONSTANT_LENGTH_BEYOND_32_BITS);
			return false;
		}
		/* MySQL: an error in strict mode whether it is asked for or not. */
		run.strict = true;
		if (c->env->flavour == SQL_MYSQL && v.kind != EVAL_NULL && (i == 1 || n->fn != run_pad))
			(void)to_integer(&run, &n->args[i]->type, &v);
		c->cut_constant |= run.failed;
	}
	return true;
}

/* x'41': the server may change the literal itself. */
static bool is_binary_literal(const struct node *n)
{
	return n->literal && type_is_string(&n->type) && n->type.collation == COLLATION_BINARY;
}

/* A literal of more than ASCII. */
static bool is_wide_literal(const struct node *n)
{
	return n->literal && has_wide_text(n);
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
	bool writes_over = n->expr->kind == SQL_EXPR_CALL && function_writes_over(c, n->expr->u.call.name);
	uint8_t coercibility;

	for (uint32_t i = 0; i < count && writes_over; i++) {
		if (args[i]->column && args[i]->type.shared) {
			compile_unsupported(c, LIMIT_FUNCTION_THAT_WRITES_OVER_DERIVED_TABLE_TEXT);
			return false;
		}
	}

	/* MySQL 9.7 hands out a buffer that it then writes over. */
	for (uint32_t i = 0; i < count && c->env->flavour == SQL_MYSQL; i++) {
		if (args[i]->literal && type_is_temporal(&args[i]->type)) {
			compile_unsupported(c, LIMIT_MYSQL_TEXT_OF_DATE_LITERAL);
			return false;
		}
		/* REGEXP_INSTR(text, ...) */
		if (!type_is_string(&args[i]->type) && args[i]->collation && count > 1 &&
			collation_charset(args[i]->collation) !=
				collation_charset(c->env->collation_connection)) {
			compile_unsupported(c, LIMIT_MYSQL_NUMBER_TEXT_IN_ANOTHER_CHARACTER_SET);
			return false;
		}
	}
	if (!aggregate_collation(c, args, count, operation, &n->collation, &coercibility))
		return false;
	/* MariaDB then counts bytes inside of it.  Of LPAD(RIGHT('漢', i), 9, bytes) it marks the
	 * literal itself, which RIGHT may return, as binary: later rows get another answer. */
	for (uint32_t i = 0; i < count && n->collation == COLLATION_BINARY; i++) {
		if (args[i]->arg_count && has_wide_text(args[i]) &&
			(args[i]->fn == run_insert || node_any(args[i], is_wide_literal))) {
			compile_unsupported(c, LIMIT_INSERT_OF_BYTES_INTO_TEXT);
			return false;
		}
	}
	n->type = type_string(n->collation, coercibility, 0);
	return lengths_known(c, n);
}

/* Argument number i as text in the function's character set; false: NULL. */
static bool text_arg(const struct node *n, struct frame *f, uint32_t i, struct span *out)
{
	struct eval_value v = node_run(n->args[i], f);

	if (v.kind == EVAL_NULL || f->run->failed)
		return false;
	*out = text_in(f->run, &n->args[i]->type, &v, n->collation);
	return !f->run->failed;
}

/* An integer argument, large ones cut to what fits int64_t; false: NULL. */
static bool int_arg(const struct node *n, struct frame *f, uint32_t i, int64_t *out)
{
	bool failed = f->run->failed, text;
	struct eval_value v = node_run(n->args[i], f);

	text = v.kind == EVAL_STRING;
	if (v.kind == EVAL_DECIMAL && decimal_int_digits(v.dec) > 18)
		run_unsupported(f->run, LIMIT_DECIMAL_BEYOND_BIGINT_AS_POSITION_OR_LENGTH);
	if (v.kind != EVAL_NULL)
		v = to_integer(f->run, &n->args[i]->type, &v);
	/* MariaDB asks for it when the statement is prepared, when nothing is an error yet. */
	if (!failed && run_erred(f->run) && f->run->strict && n->args[i]->constant &&
		!n->args[i]->literal && f->run->env->flavour == SQL_MARIADB)
		run_open_error(f->run, LIMIT_ERROR_IN_CONSTANT_LENGTH_IN_STRICT_MODE);
	if (v.kind == EVAL_NULL || f->run->failed)
		return false;
	if (text && v.kind == EVAL_UINT && v.u > INT64_MAX)
		run_unsupported(f->run, LIMIT_STRING_BEYOND_BIGINT_AS_POSITION_OR_LENGTH);
	*out = v.kind == EVAL_UINT && v.u > INT64_MAX ? INT64_MAX : v.i;
	return true;
}

static struct eval_value text_result(const struct node *n, struct span s)
{
	return eval_string(s, n->collation);
}

static struct eval_value buf_result(const struct node *n, struct frame *f, struct buf *text)
{
	struct eval_value v = make_text(f->run, text, n->collation);

	buf_release(text);
	return v;
}

static enum charset charset_of(const struct node *n)
{
	return collation_charset(n->collation);
}

/* MariaDB evaluates all arguments of most functions, for their errors, and MySQL none behind a
 * NULL. */
static bool stops_at_null(const struct frame *f)
{
	return f->run->env->flavour == SQL_MYSQL;
}

/* ---- compiling ---- */

/* MySQL: which of the two the result has is not always the stronger one. */
static bool mixed_collations(struct compiler *c, const struct node *a, const struct node *b)
{
	if (c->env->flavour != SQL_MYSQL || !type_is_string(&a->type) || !type_is_string(&b->type) ||
		a->type.collation == b->type.collation)
		return false;
	compile_unsupported(c, LIMIT_MYSQL_STRINGS_OF_DIFFERENT_COLLATIONS);
	return true;
}

static node_fn run_strcmp, run_quote;

/* A string of all the arguments. */
static struct eval_value run_replace(const struct node *n, struct frame *f);

/* MySQL: REPLACE, TRIM and kin make the others texts of the first one's character set, which can
 * fail (error 3854).  A number's text has the connection's. */
static bool other_charset(struct compiler *c, const struct node *first, const struct node *other)
{
	bool text = type_is_string(&first->type);
	enum charset charset =
		collation_charset(text ? first->type.collation : c->env->collation_connection);

	if (c->env->flavour == SQL_MYSQL && other->type.kind == EVAL_T_BIT) {
		compile_unsupported(c, LIMIT_MYSQL_BIT_IN_TEXT);
		return true;
	}
	if (c->env->flavour != SQL_MYSQL || !type_is_string(&other->type) ||
		(other->literal && text_is_ascii(other->u.value.s)))
		return false;
	/* REGEXP_INSTR(text, ...) has that of its text. */
	if (collation_charset(other->type.collation) == charset &&
		(text || !first->collation || collation_charset(first->collation) == charset))
		return false;
	compile_unsupported(c, LIMIT_MYSQL_TEXTS_OF_DIFFERENT_CHARACTER_SETS);
	return true;
}

/* Of how many of the strings the result's collation comes: REPLACE, TRIM, SUBSTRING_INDEX. */
static uint32_t like_first(const struct compiler *c, uint32_t strings)
{
	return c->env->flavour == SQL_MYSQL && !mysql_5(c->env) ? 1 : strings;
}

static struct node *compile_all(struct compiler *c, struct node *n, const struct function *function)
{
	if (function->fn == run_replace && c->env->flavour == SQL_MYSQL &&
		type_is_temporal(&n->args[0]->type))
		return compile_unsupported(c, LIMIT_MYSQL_REPLACE_IN_DATE_OR_TIME);
	if (function->fn == run_replace &&
		(other_charset(c, n->args[0], n->args[1]) || other_charset(c, n->args[0], n->args[2])))
		return NULL;
	return string_result(c, n, n->args,
		       function->fn == run_replace ? like_first(c, 3) : n->arg_count,
		       function->fn == run_replace ? OPERATION_COMPARES : OPERATION_BUILDS)
		       ? n
		       : NULL;
}

/* A string like the first argument. */
static struct node *compile_first(
	struct compiler *c, struct node *n, const struct function *function)
{
	if (c->env->flavour == SQL_MYSQL && function->fn == run_quote &&
		(n->args[0]->type.hybrid || n->args[0]->type.kind == EVAL_T_BIT ||
			(type_is_string(&n->args[0]->type) &&
				n->args[0]->type.collation == COLLATION_BINARY)))
		return compile_unsupported(c, LIMIT_MYSQL_QUOTE_OF_BINARY_STRING);
	if (function->fn == run_quote && !type_is_string(&n->args[0]->type) &&
		compile_mysql_5(c, LIMIT_MYSQL5_QUOTE_OF_NUMBER))
		return NULL;
	if (function->fn == run_quote && n->args[0]->type.kind == EVAL_T_NULL)
		return compile_unsupported(c, LIMIT_QUOTE_OF_LITERAL_NULL);
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

static bool is_number_text(const struct node *n)
{
	return !type_is_string(&n->type) || n->type.coercibility >= 5;
}

/* INSERT(INSERT(number, ...), ...): the inner one may have the set of the number's text. */
static bool has_number_text(const struct node *n)
{
	return is_number_text(n) ||
	       (n->expr && n->expr->kind == SQL_EXPR_CALL && n->arg_count && has_number_text(n->args[0]));
}

static bool bytes_beside_number(const struct node *a, const struct node *b)
{
	return type_is_string(&a->type) && a->type.collation == COLLATION_BINARY &&
	       !type_is_string(&b->type);
}

static struct node *compile_relate(
	struct compiler *c, struct node *n, const struct function *function)
{
	/* Of a constant it is the place in the column's list. */
	if (function->fn == run_find_in_set && n->args[1]->type.kind == EVAL_T_SET)
		return compile_unsupported(c, LIMIT_FIND_IN_SET_IN_SET_COLUMN);
	if (c->env->flavour == SQL_MYSQL && function->fn == run_strcmp &&
		!(type_is_string(&n->args[0]->type) && type_is_string(&n->args[1]->type)))
		return compile_unsupported(c, LIMIT_MYSQL_STRCMP_OF_OTHER_THAN_STRINGS);
	/* Under which collation the texts of two numbers meet changed with the releases. */
	if (c->env->flavour == SQL_MARIADB && function->fn == run_strcmp &&
		is_number_text(n->args[0]) && is_number_text(n->args[1]))
		return compile_unsupported(c, LIMIT_STRCMP_OF_TEXTS_OF_TWO_NUMBERS);
	if (c->env->flavour == SQL_MYSQL &&
		(n->args[0]->type.kind == EVAL_T_NULL || n->args[1]->type.kind == EVAL_T_NULL))
		return compile_unsupported(c, LIMIT_MYSQL_PLACE_OF_LITERAL_NULL);
	/* Its bytes are made characters first, which can fail (error 3854). */
	if (c->env->flavour == SQL_MYSQL &&
		(n->args[0]->type.hybrid != n->args[1]->type.hybrid ||
			(n->args[0]->type.kind == EVAL_T_BIT) !=
				(n->args[1]->type.kind == EVAL_T_BIT)))
		return compile_unsupported(c, LIMIT_MYSQL_HEXADECIMAL_LITERAL_WITH_TEXT);
	if (c->env->flavour == SQL_MYSQL && (bytes_beside_number(n->args[0], n->args[1]) ||
						    bytes_beside_number(n->args[1], n->args[0])))
		return compile_unsupported(c, LIMIT_MYSQL_BINARY_STRING_WITH_NUMBER_TEXT);
	/* INSTR and LOCATE search by the first one's collation. */
	if (c->env->flavour == SQL_MYSQL && function->fn != run_strcmp &&
		type_is_string(&n->args[0]->type) && type_is_string(&n->args[1]->type) &&
		n->args[0]->type.collation != n->args[1]->type.collation)
		return compile_unsupported(c, LIMIT_MYSQL_STRINGS_OF_DIFFERENT_COLLATIONS);
	if (!string_result(c, n, n->args, 2, OPERATION_COMPARES))
		return NULL;
	n->type = type_int(false);
	return n;
}

static struct node *compile_split(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (other_charset(c, n->args[0], n->args[1]))
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
		run_unsupported(f->run, LIMIT_VERY_LONG_STRING);
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

/* LEFT, RIGHT or SUBSTRING of what is computed: its bytes stand in the buffer that was handed in. */
static bool is_part_of_buffer(const struct node *n)
{
	return (n->fn == run_left || n->fn == run_right || n->fn == run_substring) &&
	       !((n->args[0]->column || n->args[0]->literal) && type_is_string(&n->args[0]->type));
}

/* 'a' 'b', or anything that is longer in the statement than its value with quotes. */
static bool is_joined_literal(const struct node *n)
{
	return n->literal && n->expr && n->expr->kind == SQL_EXPR_LITERAL &&
	       n->expr->u.literal.kind == SQL_LIT_STRING && !n->expr->u.literal.charset.ptr &&
	       n->expr->loc.end - n->expr->loc.start > n->expr->u.literal.text.len + 2;
}

/* MariaDB's CONCAT_WS writes over such a part when it is the third or a later one. */
static struct node *compile_concat_ws(
	struct compiler *c, struct node *n, const struct function *function)
{
	if (node_any(n->args[1], is_joined_literal)) /* it appends to the constant */
		return compile_unsupported(c, LIMIT_CONCAT_WS_OF_LITERAL_OF_SEVERAL_PARTS);
	for (uint32_t i = 3; i < n->arg_count && c->env->flavour == SQL_MARIADB; i++) {
		if (node_any(n->args[i], is_part_of_buffer))
			return compile_unsupported(
				c, LIMIT_CONCAT_WS_OF_LEFT_RIGHT_OR_SUBSTRING_OF_COMPUTED);
	}
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
		run_unsupported(f->run, LIMIT_VERY_LONG_STRING);
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

static bool is_double_literal(const struct node *n)
{
	return n->literal && n->type.kind == EVAL_T_DOUBLE;
}

static struct node *compile_json_valid(
	struct compiler *c, struct node *n, const struct function *function)
{
	const struct eval_type *type = &n->args[0]->type;

	(void)function;
	if (type->kind != EVAL_T_JSON && (type->kind != EVAL_T_STRING || type->hybrid || type->merged))
		return compile_unsupported(c, LIMIT_JSON_VALID_OF_OTHER_THAN_TEXT);
	/* UPPER(1e0) is '1', and no JSON. */
	if (c->env->flavour == SQL_MYSQL && node_any(n->args[0], is_double_literal))
		return compile_unsupported(c, LIMIT_MYSQL_JSON_VALID_OF_TEXT_MADE_OF_DOUBLE);
	n->type = c->env->flavour == SQL_MARIADB ? type_bool() : type_int(false);
	return n;
}

static struct eval_value run_json_valid(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	enum charset set;

	if (v.kind == EVAL_NULL)
		return v;
	if (n->args[0]->type.kind == EVAL_T_JSON)
		return eval_int(1);
	v = require_known(f->run, v);
	set = collation_charset(v.collation);
	if (v.kind != EVAL_STRING || set == CHARSET_BINARY || (set != CHARSET_UTF8MB4 && !text_is_ascii(v.s)))
		return run_unsupported(f->run, LIMIT_JSON_VALID_OF_OTHER_THAN_TEXT);
	switch (json_check(v.s)) {
	case JSON_FINE:
		return eval_int(1);
	case JSON_INVALID:
		return eval_int(0);
	case JSON_UNSURE:
		break;
	}
	return run_unsupported(f->run, LIMIT_JSON_VALID_OF_RARE_TEXT);
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
		run_unsupported(f->run, LIMIT_UPPER_OR_LOWER_OF_OTHER_THAN_ASCII_CHARACTERS);
	return buf_result(n, f, &text);
}

/* ---- parts ---- */

/* The text is NULL.  MySQL asked constant lengths when it prepared the statement, for their errors. */
static struct eval_value null_text(const struct node *n, struct frame *f)
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
	if (many && (!text_is_valid(charset_of(n), s) || !text_is_valid(charset_of(n), delimiter)))
		return run_unsupported(f->run, LIMIT_SUBSTRING_INDEX_OF_NOT_CHARACTERS);
	if (has_number_text(n->args[0]) && !text_is_ascii(delimiter))
		return run_unsupported(f->run, LIMIT_WIDE_TEXT_PUT_INTO_NUMBER);
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
	if (charset_max_bytes(charset_of(n)) > 1 && !text_is_ascii(what))
		return run_unsupported(f->run, LIMIT_TRIM_OF_OTHER_THAN_ASCII_CHARACTERS);
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
	if (e->u.trim.what && other_charset(c, n->args[0], n->args[1]))
		return NULL;
	return string_result(c, n, n->args, like_first(c, n->arg_count), OPERATION_COMPARES) ? n : NULL;
}

static struct eval_value run_pad(const struct node *n, struct frame *f)
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
	if (has_number_text(n->args[0]) && !text_is_ascii(pad))
		return run_unsupported(f->run, LIMIT_WIDE_TEXT_PUT_INTO_NUMBER);
	if (f->run->env->flavour == SQL_MYSQL && n->args[0]->constant && !text_is_ascii(pad))
		return run_unsupported(f->run, LIMIT_MYSQL_CONSTANT_PADDED_WITH_MORE_THAN_ASCII);
	if (f->run->env->flavour == SQL_MARIADB && f->run->env->version >= 110000 &&
		!text_is_ascii(pad) && node_any(n->args[0], is_binary_literal))
		return run_unsupported(f->run, LIMIT_BYTES_PADDED_WITH_CHARACTERS_BEYOND_ASCII);
	chars = text_chars(charset_of(n), s);
	if ((uint64_t)length <= chars) {
		/* The literal itself is shortened, and padded for the next row. */
		if (f->run->env->flavour == SQL_MARIADB && mariadb_2026(f->run->env) != 1 &&
			n->args[0]->arg_count)
			return run_unsupported(
				f->run, LIMIT_LPAD_THAT_CUTS_COMPUTED_TEXT_IN_OLDER_RELEASES);
		s.len = text_offset(charset_of(n), s, (size_t)length);
		return text_result(n, s);
	}
	if (length > RESULT_MAX)
		return run_unsupported(f->run, LIMIT_VERY_LONG_STRING);
	if (!pad.len)
		return run_unsupported(f->run, LIMIT_LPAD_OR_RPAD_WITH_EMPTY_STRING);
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
	if (n->arg_count > 2 && (mixed_collations(c, n->args[0], n->args[2]) ||
					other_charset(c, n->args[0], n->args[2])))
		return NULL;
	return string_result(c, n, strings, n->arg_count > 2 ? like_first(c, 2) : 1, OPERATION_BUILDS)
		       ? n
		       : NULL;
}

static struct eval_value run_repeat(const struct node *n, struct frame *f)
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
		return run_unsupported(f->run, LIMIT_VERY_LONG_STRING);
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
		return run_unsupported(f->run, LIMIT_VERY_LONG_STRING);
	for (; count > 0; count--)
		buf_add_char(&text, ' ');
	return buf_result(n, f, &text);
}

static struct node *compile_connection(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	n->collation = c->env->collation_connection;
	n->type = type_string(n->collation, 4, 0);
	return n;
}

/* ---- changing ---- */

static struct eval_value run_replace(const struct node *n, struct frame *f)
{
	struct span s, from, to;
	struct buf text = BUF_INIT;

	if (!text_arg(n, f, 0, &s) || !text_arg(n, f, 1, &from))
		return EVAL_NULL_VALUE;
	if (!from.len && (f->run->env->flavour == SQL_MARIADB || text_arg(n, f, 2, &to)))
		return text_result(n, s);
	if (!from.len)
		return EVAL_NULL_VALUE;
	if (charset_max_bytes(charset_of(n)) > 1 && !text_is_ascii(from))
		return run_unsupported(f->run, LIMIT_REPLACE_OF_OTHER_THAN_ASCII_CHARACTERS);
	if (f->run->env->flavour == SQL_MYSQL && !text_arg(n, f, 2, &to))
		return EVAL_NULL_VALUE;
	/* MariaDB asks for the third argument only when there is something to replace. */
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
			return run_unsupported(f->run, LIMIT_VERY_LONG_STRING);
		}
	}
	return buf_result(n, f, &text);
}

/* MariaDB writes over the bytes of 0x616263 and x'616263'. */
static struct node *compile_over(struct compiler *c, struct node *n, const struct function *function)
{
	const struct sql_expr *e = n->args[0]->literal ? n->args[0]->expr : NULL;

	if (c->env->flavour == SQL_MARIADB && e && e->kind == SQL_EXPR_LITERAL &&
		(e->u.literal.kind == SQL_LIT_HEX || e->u.literal.kind == SQL_LIT_BIT))
		return compile_unsupported(c, LIMIT_REPLACE_IN_HEXADECIMAL_LITERAL);
	return compile_all(c, n, function);
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

static struct eval_value run_insert(const struct node *n, struct frame *f)
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
	if (has_number_text(n->args[0]) && !text_is_ascii(added))
		return run_unsupported(f->run, LIMIT_WIDE_TEXT_PUT_INTO_NUMBER);
	chars = text_chars(charset_of(n), s);
	if (position < 1 || (uint64_t)position > chars) {
		/* Right behind the last character, where the bytes go on. */
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
	/* As INSERT() does. */
	if (node_any(n->args[0], is_joined_literal))
		return compile_unsupported(c, LIMIT_REPEAT_OF_LITERAL_OF_SEVERAL_PARTS);
	return compile_first(c, n, function);
}

static struct node *compile_insert_fn(
	struct compiler *c, struct node *n, const struct function *function)
{
	struct node *strings[2] = {n->args[0], n->args[3]};

	(void)function;
	if (mixed_collations(c, n->args[0], n->args[3]) ||
		other_charset(c, n->args[0], n->args[3]))
		return NULL;
	if (n->args[0]->type.hybrid || n->args[0]->type.kind == EVAL_T_BIT ||
		node_any(n->args[0], is_binary_literal))
		return compile_unsupported(c, LIMIT_INSERT_INTO_HEXADECIMAL_LITERAL);
	/* The servers write over the constant: the next row finds what this one left. */
	if (node_any(n->args[0], is_joined_literal))
		return compile_unsupported(c, LIMIT_INSERT_INTO_LITERAL_OF_SEVERAL_PARTS);
	/* MariaDB counts characters or bytes as the first text has it. */
	if ((type_is_string(&n->args[3]->type) &&
		    n->args[3]->type.collation == COLLATION_BINARY && has_wide_text(n->args[0])) ||
		(type_is_string(&n->args[0]->type) &&
			n->args[0]->type.collation == COLLATION_BINARY &&
			has_wide_text(n->args[3])))
		return compile_unsupported(c, LIMIT_INSERT_OF_BYTES_INTO_TEXT);
	return string_result(c, n, strings, like_first(c, 2), OPERATION_BUILDS) ? n : NULL;
}

/* ---- finding ---- */

/* LOCATE(needle, text[, from]) and INSTR(text, needle); op: which argument is the text. */
static struct eval_value run_locate(const struct node *n, struct frame *f)
{
	struct span text, needle;
	bool unknown = false, known;
	int64_t from = 1;
	size_t at, start;

	known = text_arg(n, f, n->op, &text);
	if (!known && stops_at_null(f))
		return EVAL_NULL_VALUE;
	known = text_arg(n, f, !n->op, &needle) && known;
	if (!known || (n->arg_count > 2 && !int_arg(n, f, 2, &from)))
		return EVAL_NULL_VALUE;
	/* MySQL compares under the connection's collation then. */
	if (stops_at_null(f) && (is_number_text(n->args[0]) || is_number_text(n->args[1])) &&
		!(text_is_ascii(text) && text_is_ascii(needle)))
		return run_unsupported(f->run, LIMIT_WIDE_TEXT_PUT_INTO_NUMBER);
	if (from < 1 || (uint64_t)from > text_chars(charset_of(n), text) + 1)
		return eval_int(0);
	/* MariaDB finds nothing behind the last character, not even '' behind ASCII. */
	if (n->arg_count > 2 && (uint64_t)from > text_chars(charset_of(n), text) && !stops_at_null(f) &&
		(needle.len || text_is_ascii(text)))
		return eval_int(0);
	start = text_offset(charset_of(n), text, (size_t)from - 1);
	/* Where it is counted in bytes. */
	if (!needle.len && from > 1 && !text_is_ascii(text))
		return run_unsupported(f->run, LIMIT_LOCATE_OF_EMPTY_TEXT_BEHIND_WIDE_TEXT);
	if (!needle.len)
		return eval_int(from);
	at = collation_locate(n->collation, text, needle, start, &unknown);
	if (unknown)
		return run_unsupported(f->run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
	if (at == SIZE_MAX)
		return eval_int(0);
	return eval_int((int64_t)text_chars(charset_of(n), span_of(text.ptr, at)) + 1);
}

struct node *compile_position(struct compiler *c, const struct sql_expr *e)
{
	static const struct function position = {.name = "position", .fn = run_locate};
	struct node *n = node_new(c, run_locate, e, 2);

	n->args[1] = compile_value(c, e->u.binary.right); /* first, as of LOCATE */
	n->args[0] = n->args[1] ? compile_value(c, e->u.binary.left) : NULL;
	if (!n->args[0])
		return NULL;
	n->op = 1;
	return compile_relate(c, n, &position);
}

static struct eval_value run_strcmp(const struct node *n, struct frame *f)
{
	struct span a, b;
	bool unknown = false, known;
	int order;

	known = text_arg(n, f, 0, &a);
	if (!known && stops_at_null(f))
		return EVAL_NULL_VALUE;
	if (!text_arg(n, f, 1, &b) || !known)
		return EVAL_NULL_VALUE;
	order = collation_compare(n->collation, a, b, &unknown);
	if (unknown)
		return run_unsupported(f->run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
	return eval_int(order);
}

static struct eval_value run_find_in_set(const struct node *n, struct frame *f)
{
	struct span needle, list;
	bool unknown = false, known;
	int64_t number = 1;

	known = text_arg(n, f, 0, &needle);
	if (!known && stops_at_null(f))
		return EVAL_NULL_VALUE;
	if (!text_arg(n, f, 1, &list) || !known)
		return EVAL_NULL_VALUE;
	if (!list.len)
		return eval_int(0);
	for (size_t from = 0; from <= list.len; number++) {
		const char *comma = memchr(list.ptr + from, ',', list.len - from);
		size_t end = comma ? (size_t)(comma - list.ptr) : list.len;
		struct span part = span_of(list.ptr + from, end - from);

		/* No padding here: the lengths must agree. */
		if (collation_compare(n->collation, part, needle, &unknown) == 0 && !unknown) {
			if (part.len != needle.len)
				return run_unsupported(
					f->run, LIMIT_FIND_IN_SET_AMONG_TRAILING_BLANKS);
			return eval_int(number);
		}
		if (unknown)
			return run_unsupported(f->run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
		from = end + 1;
	}
	return eval_int(0);
}

static struct eval_value run_field(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value a = node_run(n->args[0], f);
	bool null;

	if (a.kind == EVAL_NULL)
		return eval_int(0);
	compare_alone(f->run, how, &n->args[0]->type, &a);
	for (uint32_t i = 1; i < n->arg_count; i++) {
		struct eval_value b = node_run(n->args[i], f);

		if (b.kind == EVAL_NULL)
			continue;
		/* By their bits. */
		if ((a.kind == EVAL_UINT && a.u > INT64_MAX && b.kind == EVAL_INT && b.i < 0) ||
			(b.kind == EVAL_UINT && b.u > INT64_MAX && a.kind == EVAL_INT && a.i < 0))
			return run_unsupported(
				f->run, LIMIT_FIELD_OF_LARGE_UNSIGNED_AND_NEGATIVE_NUMBERS);
		if (compare_as(f->run, how, &n->args[0]->type, &a, &n->args[i]->type, &b, &null) ==
				0 &&
			!null)
			return eval_int(i);
	}
	return eval_int(0);
}

static struct node *compile_field(
	struct compiler *c, struct node *n, const struct function *function)
{
	struct comparison *how = arena_zero(c->arena, sizeof(*how));
	bool strings = true, ints = true, exact = true;

	(void)function;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		const struct eval_type *t = &n->args[i]->type;

		if (type_is_temporal(t) || t->hybrid || t->kind == EVAL_T_NULL)
			return compile_unsupported(
				c, LIMIT_FIELD_OF_DATES_NULL_OR_HEXADECIMAL_LITERALS);
		strings &= type_is_string(t);
		ints &= type_is_int(t);
		exact &= type_is_int(t) || t->kind == EVAL_T_DECIMAL;
	}
	/* Beside another column's collation a literal that is not ASCII makes it another one. */
	for (uint32_t i = 1; i < n->arg_count && strings && c->env->flavour == SQL_MYSQL; i++) {
		if (n->args[i]->type.collation != n->args[0]->type.collation &&
			!(n->args[0]->column && n->args[i]->literal))
			return compile_unsupported(
				c, LIMIT_MYSQL_FIELD_OF_STRINGS_OF_DIFFERENT_COLLATIONS);
	}
	how->as = ints ? type_int(false) : exact ? type_decimal(65, 0) : type_double();
	if (strings) {
		how->as = type_string(COLLATION_BINARY, 4, 0);
		if (!aggregate_collation(
			    c, n->args, n->arg_count, OPERATION_COMPARES, &how->collation, NULL))
			return NULL;
	}
	n->u.data = how;
	n->type = type_int(false);
	return n;
}

static struct eval_value run_elt(const struct node *n, struct frame *f)
{
	int64_t i;
	struct eval_value v;
	uint64_t number;
	struct span s;

	v = node_run(n->args[0], f);
	if (v.kind == EVAL_NULL || !int_arg(n, f, 0, &i)) /* which knows what is out of range */
		return EVAL_NULL_VALUE;
	v = to_integer(f->run, &n->args[0]->type, &v);
	if (v.u != (uint32_t)v.u && f->run->env->flavour == SQL_MYSQL)
		return run_unsupported(f->run, LIMIT_MYSQL_LARGE_NUMBER_OF_ELT);
	number = (uint32_t)v.u; /* as the servers do */
	if (number < 1 || number >= n->arg_count || !text_arg(n, f, (uint32_t)number, &s))
		return EVAL_NULL_VALUE;
	return text_result(n, s);
}

static struct node *compile_elt(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	for (uint32_t i = 1; i < n->arg_count; i++) {
		if (n->args[i]->type.hybrid)
			return compile_unsupported(c, LIMIT_ELT_OF_HEXADECIMAL_LITERAL);
	}
	if (!string_result(c, n, n->args + 1, n->arg_count - 1, OPERATION_BUILDS))
		return NULL;
	/* Asked for a number, ELT asks its argument for one. */
	for (uint32_t i = 1; i < n->arg_count; i++)
		n->type.text_only |= n->args[i]->type.kind != EVAL_T_STRING || n->args[i]->type.text_only ||
				     (n->args[i]->type.merged && c->env->flavour == SQL_MYSQL);
	return n;
}

/* ---- other notations ---- */

static struct eval_value run_hex(const struct node *n, struct frame *f)
{
	const struct eval_type *t = &n->args[0]->type;
	struct eval_value v = node_run(n->args[0], f);
	struct buf text = BUF_INIT;
	struct span s;

	if (v.kind == EVAL_NULL)
		return v;
	if (v.kind == EVAL_DECIMAL || v.kind == EVAL_DOUBLE)
		return run_unsupported(f->run, LIMIT_HEX_OF_NUMBER_WITH_FRACTION);
	if (v.kind == EVAL_INT || v.kind == EVAL_UINT) {
		buf_printf(&text, "%llX", (unsigned long long)v.u);
	} else {
		s = to_text(f->run, t, &v);
		for (size_t i = 0; i < s.len; i++)
			buf_printf(&text, "%02X", (unsigned char)s.ptr[i]);
	}
	return buf_result(n, f, &text);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static struct eval_value run_unhex(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct buf text = BUF_INIT;
	struct span s;
	int high = 0;

	if (v.kind == EVAL_NULL)
		return v;
	s = to_text(f->run, &n->args[0]->type, &v);
	for (size_t i = 0; i < s.len; i++) {
		int digit = hex_value(s.ptr[i]);

		if (digit < 0) {
			buf_release(&text);
			if (f->run->strict && f->run->env->flavour == SQL_MYSQL) /* 1411 */
				return run_unsupported(f->run, LIMIT_MYSQL_UNHEX_IN_STRICT_MODE);
			return EVAL_NULL_VALUE;
		}
		if ((s.len - i) % 2 == 0)
			high = digit;
		else {
			buf_add_char(&text, (char)(high << 4 | digit));
			high = 0;
		}
	}
	return buf_result(n, f, &text);
}

static struct node *compile_hex(struct compiler *c, struct node *n, const struct function *function)
{
	if (c->env->flavour == SQL_MYSQL && n->args[0]->literal &&
		type_is_temporal(&n->args[0]->type))
		return compile_unsupported(c, LIMIT_MYSQL_DATE_LITERAL_IN_TEXT);
	n = compile_connection(c, n, function);
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = 0;
	return n;
}

static struct node *compile_unhex(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	n->collation = COLLATION_BINARY;
	n->type = type_string(COLLATION_BINARY, 4, 0);
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = 0;
	return n;
}

static struct eval_value run_base(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct buf text = BUF_INIT;
	bool started = false;

	if (v.kind == EVAL_NULL)
		return v;
	if (v.kind != EVAL_INT && v.kind != EVAL_UINT)
		return run_unsupported(f->run, LIMIT_BIN_OR_OCT_OF_OTHER_THAN_INTEGERS);
	if (n->op == 8) {
		buf_printf(&text, "%llo", (unsigned long long)v.u);
	} else {
		for (int i = 63; i >= 0; i--) {
			started |= v.u >> i & 1;
			if (started || i == 0)
				buf_add_char(&text, (char)('0' + (v.u >> i & 1)));
		}
	}
	return buf_result(n, f, &text);
}

static struct eval_value run_quote(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;
	struct span s;

	if (!text_arg(n, f, 0, &s)) {
		if (f->run->failed)
			return EVAL_NULL_VALUE;
		return text_result(n, SPAN_LIT("NULL"));
	}
	buf_add_char(&text, '\'');
	for (size_t i = 0; i < s.len; i++) {
		switch (s.ptr[i]) {
		case '\0':
			buf_add_str(&text, "\\0");
			break;
		case '\032':
			buf_add_str(&text, "\\Z");
			break;
		case '\\':
		case '\'':
			buf_add_char(&text, '\\');
			buf_add_char(&text, s.ptr[i]);
			break;
		default:
			buf_add_char(&text, s.ptr[i]);
		}
	}
	buf_add_char(&text, '\'');
	return buf_result(n, f, &text);
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
	{"locate", 2, 3, compile_relate, run_locate, 1},
	{"instr", 2, 2, compile_relate, run_locate, 0},
	{"strcmp", 2, 2, compile_relate, run_strcmp, 0},
	{"find_in_set", 2, 2, compile_relate, run_find_in_set, 0},
	{"field", 2, 255, compile_field, run_field, 0},
	{"elt", 2, 255, compile_elt, run_elt, 0},
	{"hex", 1, 1, compile_hex, run_hex, 0},
	{"unhex", 1, 1, compile_unhex, run_unhex, 0},
	{"bin", 1, 1, compile_connection, run_base, 2},
	{"oct", 1, 1, compile_connection, run_base, 8},
	{"quote", 1, 1, compile_first, run_quote, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
