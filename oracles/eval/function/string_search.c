/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that find and compare texts: LOCATE, STRCMP, FIND_IN_SET, FIELD, ELT. */
#include <string.h>

#include "eval/compile.h"
#include "eval/function/string.h"
#include "eval/limits/guards.h"
#include "eval/operator/comparison.h"

static node_fn run_find_in_set, run_strcmp;

bool is_number_text(const struct node *n)
{
	return !type_is_string(&n->type) || n->type.coercibility >= 5;
}

bool has_number_text(const struct node *n)
{
	return is_number_text(n) ||
	       (n->expr && n->expr->kind == SQL_EXPR_CALL && n->arg_count && has_number_text(n->args[0]));
}

static struct node *compile_relate(
	struct compiler *c, struct node *n, const struct function *function)
{
	bool compares = function->fn == run_strcmp;

	if ((function->fn == run_find_in_set && find_in_set_refused(c, n->args)) ||
		(compares && strcmp_refused(c, n->args)) || two_texts_refused(c, n->args) ||
		(!compares && search_refused(c, n->args)))
		return NULL;
	if (!string_result(c, n, n->args, 2, OPERATION_COMPARES))
		return NULL;
	n->type = type_int(false);
	return n;
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
	/* As a number ELT is its argument as a number, not the number of its text. */
	for (uint32_t i = 1; i < n->arg_count; i++)
		n->type.text_only |= n->args[i]->type.kind != EVAL_T_STRING || n->args[i]->type.text_only ||
				     (n->args[i]->type.merged && c->env->flavour == SQL_MYSQL);
	return n;
}

const struct function functions_string_search[] = {
	{"locate", 2, 3, compile_relate, run_locate, 1},
	{"instr", 2, 2, compile_relate, run_locate, 0},
	{"strcmp", 2, 2, compile_relate, run_strcmp, 0},
	{"find_in_set", 2, 2, compile_relate, run_find_in_set, 0},
	{"field", 2, 255, compile_field, run_field, 0},
	{"elt", 2, 255, compile_elt, run_elt, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
