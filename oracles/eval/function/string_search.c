/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that find and compare texts: LOCATE, STRCMP, FIND_IN_SET, FIELD, ELT. */
#include <string.h>

#include "eval/compile.h"
#include "eval/function/string.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
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

/* Of a column of type SET and a constant that is one of its members FIND_IN_SET is the place among the members, whatever
 * the value's text is: Item_func_find_in_set::fix_length_and_dec.  They are the same but for upper and lower case; 0: none. */
static uint32_t member_named(const struct eval_type *set, struct span name)
{
	for (uint32_t i = 0; i < set->value_count; i++) {
		if (span_ieq(set->values[i], name))
			return i + 1;
	}
	return 0;
}

static uint32_t place_of_member(struct node *const *args)
{
	const struct node *needle = args[0], *list = args[1];

	if (list->type.kind != EVAL_T_SET || !list->column || !needle->literal || needle->type.kind != EVAL_T_STRING ||
		needle->type.hybrid || needle->u.value.kind != EVAL_STRING || !text_is_ascii(needle->u.value.s))
		return 0;
	return member_named(&list->type, needle->u.value.s);
}

static struct node *compile_relate(
	struct compiler *c, struct node *n, const struct function *function)
{
	bool compares = function->fn == run_strcmp;

	n->type = type_int(false);
	if (function->fn == run_find_in_set && find_in_set_refused(c, n->args))
		return NULL;
	n->u.number = function->fn == run_find_in_set ? place_of_member(n->args) : 0;
	if (n->u.number)
		return n;
	if ((compares && strcmp_refused(c, n->args)) || two_texts_refused(c, n->args) ||
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
	if (locate_in_number_refused(f->run, n, text, needle))
		return EVAL_NULL_VALUE;
	if (from < 1 || (uint64_t)from > text_chars(charset_of(n), text) + 1)
		return eval_int(0);
	/* MariaDB finds nothing after the last character, not even '' after ASCII. */
	if (n->arg_count > 2 && (uint64_t)from > text_chars(charset_of(n), text) && !stops_at_null(f) &&
		(needle.len || text_is_ascii(text)))
		return eval_int(0);
	start = text_offset(charset_of(n), text, (size_t)from - 1);
	if (!needle.len && locate_of_nothing_refused(f->run, text, from))
		return EVAL_NULL_VALUE;
	if (!needle.len)
		return eval_int(from);
	at = collation_locate(n->collation, text, needle, start, &unknown);
	if (unknown)
		return run_gives_up(f->run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
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
		return run_gives_up(f->run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
	return eval_int(order);
}

static struct eval_value run_find_in_set(const struct node *n, struct frame *f)
{
	struct span needle, list;
	bool unknown = false, known;
	int64_t number = 1;

	if (n->u.number) {
		struct eval_value set = node_run(n->args[1], f);

		if (set.kind == EVAL_NULL)
			return EVAL_NULL_VALUE;
		set = to_integer(f->run, &n->args[1]->type, &set);
		return eval_int(set.u >> (n->u.number - 1) & 1 ? n->u.number : 0);
	}
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
		if (collation_compare(n->collation, part, needle, &unknown) == 0 && !unknown)
			return found_in_set_refused(f->run, part, needle) ? EVAL_NULL_VALUE
									  : eval_int(number);
		if (unknown)
			return run_gives_up(f->run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
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
		if (field_pair_refused(f->run, &a, &b))
			return EVAL_NULL_VALUE;
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
	if (field_refused(c, n))
		return NULL;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		const struct eval_type *t = &n->args[i]->type;

		strings &= type_is_string(t);
		ints &= type_is_int(t);
		exact &= type_is_int(t) || t->kind == EVAL_T_DECIMAL;
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
	if (elt_number_refused(f->run, &v))
		return EVAL_NULL_VALUE;
	number = (uint32_t)v.u; /* as the servers do */
	if (number < 1 || number >= n->arg_count || !text_arg(n, f, (uint32_t)number, &s))
		return EVAL_NULL_VALUE;
	return text_result(n, s);
}

static struct node *compile_elt(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (elt_refused(c, n))
		return NULL;
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
