/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x BETWEEN low AND high: the three are compared in one type. */
#include "eval/compile.h"
#include "eval/operator/comparison.h"

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "server/errors.h"

static struct eval_value run_between(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value v[3];
	bool null, at_least = false, at_most = false, low_known, high_known;
	bool result;

	v[0] = node_run(n->args[0], f);
	if (v[0].kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	if (between_dates_refused(f->run, &n->args[0]->type, how))
		return EVAL_NULL_VALUE;
	/* They are converted one by one, for their errors in strict mode. */
	compare_alone(f->run, how, &n->args[0]->type, &v[0]);
	v[1] = node_run(n->args[1], f);
	compare_alone(f->run, how, &n->args[1]->type, &v[1]);
	low_known = !f->run->failed;
	v[2] = node_run(n->args[2], f);
	/* Or what the lower bound would have been as a date. */
	if (low_known && other_error_refused(f->run, type_is_temporal(&how->as)))
		return EVAL_NULL_VALUE;
	if (low_known && run_erred(f->run) &&
		v[1].kind != EVAL_NULL) {
		f->run->failed = false;
		at_least = compare_as(f->run, how, &n->args[0]->type, &v[0], &n->args[1]->type,
				   &v[1], &null) >= 0;
		f->run->failed = true;
		if (!at_least && upper_bound_error_refused(f->run))
			return EVAL_NULL_VALUE;
	}
	if (between_values_refused(f->run, n, how, v))
		return EVAL_NULL_VALUE;
	if (v[1].kind == EVAL_NULL && v[2].kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	low_known = v[1].kind != EVAL_NULL;
	high_known = v[2].kind != EVAL_NULL;
	if (low_known)
		at_least = compare_as(f->run, how, &n->args[0]->type, &v[0], &n->args[1]->type,
				   &v[1], &null) >= 0;
	if (low_known && null)
		return run_gives_up(f->run, LIMIT_NOT_DATE_OR_TIME_COMPARED_WITH_ONE);
	if (high_known)
		at_most = compare_as(f->run, how + 1, &n->args[0]->type, &v[0], &n->args[2]->type,
				  &v[2], &null) <= 0;
	if (high_known && null)
		return run_gives_up(f->run, LIMIT_NOT_DATE_OR_TIME_COMPARED_WITH_ONE);
	if (low_known && high_known)
		result = at_least && at_most;
	else if (low_known && !at_least)
		result = false;
	else if (high_known && !at_most)
		result = false;
	else
		return EVAL_NULL_VALUE;
	return truth(result != n->aux);
}

/* MariaDB joins the types from the left: an integer and a string (0x41 too) make a DECIMAL, which
 * makes a DOUBLE with another string. */
static struct eval_type mariadb_between(struct node **args)
{
	enum cmp_class all = CMP_NULL;

	for (int i = 0; i < 3; i++) {
		enum cmp_class class = class_of(&args[i]->type);

		if (class == CMP_NULL || class == all)
			continue;
		if (all == CMP_NULL)
			all = class;
		else if (integer_and_text(all, class) ||
			 ((all == CMP_INT || all == CMP_DECIMAL) &&
				 (class == CMP_INT || class == CMP_DECIMAL)))
			all = CMP_DECIMAL;
		else
			all = CMP_REAL;
	}
	return all == CMP_INT       ? type_int(false)
	       : all == CMP_DECIMAL ? type_decimal(65, 0)
				    : type_double();
}

static bool all_numbers(struct node *const *args, bool decimals)
{
	for (int i = 0; i < 3; i++) {
		const struct eval_type *t = &args[i]->type;
		enum cmp_class class = class_of(t);

		if (class != CMP_NULL && class != CMP_INT && !t->hybrid &&
			!(decimals && class == CMP_DECIMAL))
			return false;
	}
	return true;
}

bool between_is_integer(struct node *const *args)
{
	return all_numbers(args, false);
}

bool between_is_exact(struct node *const *args)
{
	return all_numbers(args, true);
}

/* Numbers, or numbers and texts. */
static bool compare_numbers(struct compiler *c, struct node **args, struct comparison *out)
{
	*out = (struct comparison){.collation = COLLATION_BINARY, .between = true};
	if (c->env->flavour == SQL_MARIADB)
		out->as = mariadb_between(args);
	else
		out->as = between_is_integer(args) ? type_int(false)
			  : between_is_exact(args) ? type_decimal(65, 0)
						   : type_double();
	return !between_numbers_refused(c, args, out);
}

/* Dates and times, or texts. */
static bool compare_pairs(
	struct compiler *c, struct node **args, bool strings, struct comparison *out)
{
	struct comparison how[3]; /* x and low; x and high; low and high */

	if (!comparison_type_of(c, args[0], args[1], &how[0]) ||
		!comparison_type_of(c, args[0], args[2], &how[1]))
		return false;
	*out = args[1]->type.kind == EVAL_T_NULL ? how[1] : how[0];
	if (strings)
		return aggregate_collation(c, args, 3, OPERATION_COMPARES, &out->collation, NULL);
	return comparison_type_of(c, args[1], args[2], &how[2]) && !between_times_refused(c, how);
}

/* The three are compared in one type. */
static bool between_comparison(struct compiler *c, struct node **args, struct comparison *out)
{
	bool strings = true, temporal = false;

	for (int i = 0; i < 3; i++) {
		enum cmp_class class = class_of(&args[i]->type);

		strings &= class == CMP_STRING || class == CMP_NULL;
		temporal |= class == CMP_TIME;
	}
	return temporal || strings ? compare_pairs(c, args, strings, out)
				   : compare_numbers(c, args, out);
}

struct node *compile_between(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_between, e, 3);
	struct comparison *how = arena_zero(c->arena, 2 * sizeof(*how)); /* with either bound */

	n->args[0] = compile_expr(c, e->u.between.left);
	n->args[1] = compile_expr(c, e->u.between.low);
	n->args[2] = compile_expr(c, e->u.between.high);
	if (!n->args[0] || !n->args[1] || !n->args[2])
		return NULL;
	if (node_is_row(n->args[0]) || node_is_row(n->args[1]) || node_is_row(n->args[2]))
		return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	if (between_refused(c, n->args) || !between_comparison(c, n->args, how) ||
		index_lookup_refused(c, n->args[0], n->args[1], false) ||
		index_lookup_refused(c, n->args[0], n->args[2], false))
		return NULL;
	how[1] = how[0];
	note_ahead(c, n->args[0], n->args[1], &how[0]);
	note_ahead(c, n->args[0], n->args[2], &how[1]);
	n->aux = e->negated;
	n->type = type_bool();
	n->u.data = how;
	return n;
}
