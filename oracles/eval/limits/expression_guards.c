/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of any expression and its operands. */
#include <math.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"
#include "server/errors.h"

/* ---- what is not modelled at all ---- */

bool construct_refused(struct compiler *c, const struct sql_expr *e)
{
	static const struct {
		enum sql_expr_kind kind;
		enum eval_limit limit;
	} kinds[] = {
		{SQL_EXPR_SYSTEM_VAR, LIMIT_SYSTEM_VARIABLE},
		{SQL_EXPR_MATCH, LIMIT_MATCH_AGAINST},
		{SQL_EXPR_SEQUENCE, LIMIT_SEQUENCES},
		{SQL_EXPR_ODBC, LIMIT_ODBC_FUNCTION_SYNTAX},
	};
	static const struct {
		enum sql_op op;
		enum eval_limit limit;
	} operators[] = {
		{SQL_OP_SOUNDS_LIKE, LIMIT_SOUNDS_LIKE},
		{SQL_OP_MEMBER_OF, LIMIT_JSON_OPERATORS},
	};

	if (compile_refuses(
		    c, LIMIT_ASSIGNMENT_TO_USER_VARIABLE, e->kind == SQL_EXPR_ASSIGN && !c->env->assigns_items))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (compile_refuses(c, kinds[i].limit, e->kind == kinds[i].kind))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(operators) && e->kind == SQL_EXPR_BINARY; i++) {
		if (compile_refuses(c, operators[i].limit, e->op == operators[i].op))
			return true;
	}
	return false;
}

/* A quotient, and AVG, has more digits in a variable than in an answer. */
static bool keeps_digits(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_COLUMN ||
	       (e->kind == SQL_EXPR_CALL && (span_ieq_str(e->u.call.name, "sum") || span_ieq_str(e->u.call.name, "min") ||
						    span_ieq_str(e->u.call.name, "max")) &&
		       e->u.call.args.count == 1 && e->u.call.args.first->kind == SQL_EXPR_COLUMN);
}

bool assigned_item_refused(struct compiler *c, const struct sql_expr *value, const struct eval_type *type)
{
	return compile_refuses(c, LIMIT_ASSIGNMENT_TO_USER_VARIABLE,
		type->zerofill || type->hybrid || (type->kind != EVAL_T_INT && type->kind != EVAL_T_STRING &&
			!(type->kind == EVAL_T_DECIMAL && keeps_digits(value))));
}

bool call_refused(struct compiler *c, const struct sql_expr *e)
{
	return compile_refuses(c, LIMIT_STORED_FUNCTION, e->u.call.db.ptr);
}

bool call_clauses_refused(struct compiler *c, const struct sql_call_extra *extra)
{
	return compile_refuses(c, LIMIT_FUNCTION_OWN_CLAUSES,
		extra && (extra->tail.ptr || extra->using_charset.ptr));
}

bool function_refused(struct compiler *c, struct span name)
{
	return compile_refuses(
		c, LIMIT_MYSQL5_ROUND_GREATEST_INSERT_ADDTIME_AND_KIN, mysql_5_function(name));
}

/* ---- literals and names ---- */

bool literal_charset_refused(struct compiler *c, struct span charset)
{
	return /* These releases compare it with the text of a number by another collation. */
		compile_refuses(c, LIMIT_ASCII_ON_MARIADB_11_2_AND_LATER,
			c->env->flavour == SQL_MARIADB && c->env->version >= 110200 &&
				span_ieq_str(charset, "ascii"));
}

bool literal_text_refused(struct compiler *c, uint16_t collation, struct span text)
{
	return compile_refuses(c, LIMIT_LITERAL_WITH_BYTES_NOT_CHARACTERS,
		!text_is_valid(collation_charset(collation), text));
}

bool literal_bytes_refused(struct compiler *c, const struct eval_type *type)
{
	return compile_refuses(c, LIMIT_HEXADECIMAL_LITERAL_OF_MORE_THAN_EIGHT_BYTES,
		type->hybrid && type->length > 8);
}

/* Below the least normal number servers and C libraries print different digits. */
bool literal_double_refused(struct compiler *c, double d)
{
	return compile_refuses(c, LIMIT_NUMBER_ALMOST_ZERO, d != 0 && fabs(d) < __DBL_MIN__);
}

/* Which one is meant depends on clause and server. */
bool alias_or_column_refused(struct compiler *c, bool both)
{
	return compile_refuses(c, LIMIT_ALIAS_ALSO_COLUMN, both);
}

bool ambiguous_alias_refused(struct compiler *c, bool ambiguous)
{
	return compile_refuses(c, LIMIT_ALIAS_THAT_TWO_COLUMNS_HAVE, ambiguous);
}

bool outer_alias_refused(struct compiler *c, bool found)
{
	return compile_refuses(c, LIMIT_ALIAS_OF_OUTER_QUERY, found);
}

bool insert_values_refused(
	struct compiler *c, const struct eval_table *table, const struct sql_expr *of)
{
	return compile_refuses(c, LIMIT_VALUES_COLUMN_OUTSIDE_ON_DUPLICATE_KEY_UPDATE,
		!table || of->kind != SQL_EXPR_COLUMN);
}

bool default_refused(struct compiler *c, const struct node *of)
{
	return compile_refuses(c, LIMIT_DEFAULT_IN_EXPRESSION,
		!of || !of->column || of->u.at.depth || !c->scope->tables[of->u.at.table].base);
}

bool default_of_column_refused(struct compiler *c, const struct eval_column *column)
{
	return compile_refuses(c, LIMIT_DEFAULT_OF_NOT_LITERAL,
		column->generated || column->auto_increment ||
			(!column->dflt && !column->nullable) ||
			(column->dflt && column->dflt->kind != SQL_EXPR_LITERAL));
}

/* ---- types ---- */

bool merged_pair_refused(struct compiler *c, const struct eval_type *a, const struct eval_type *b)
{
	return compile_refuses(
		c, LIMIT_JSON_VALUES, a->kind == EVAL_T_JSON || b->kind == EVAL_T_JSON);
}

bool illegal_mix_refused(struct compiler *c, struct node *const *args, uint32_t count)
{
	bool patterns = false;

	for (uint32_t i = 0; i < count; i++)
		patterns |= node_any(args[i], calls_regexp);
	return compile_refuses(c, LIMIT_MYSQL_STRINGS_OF_DIFFERENT_COLLATIONS, true) ||
	       /* Of which the server says first what is wrong with one. */
	       compile_refuses(c, LIMIT_REGULAR_EXPRESSION_WITH_ANOTHER_COLLATION, patterns);
}

/* ---- values ---- */

bool guarded_value_refused(struct run *run, const struct node *n, bool fails_within)
{
	/* A constant may be computed when the server prepares the statement.  MariaDB does not apply strict
	 * mode then.  MySQL reports that error before all others. */
	bool cut = run->env->flavour == SQL_MARIADB
			   ? run_erred(run)
			   : !run->failed || run->outcome->error != ER_TRUNCATED_WRONG_VALUE;

	if (!run->failed &&
		(run_refuses(run, LIMIT_MYSQL5_ERROR_IN_WHAT_NEED_NOT_BE_ASKED, fails_within) ||
			run_refuses(run, LIMIT_CONSTANT_THAT_FAILS_AND_IS_NOT_ASKED_FOR,
				n->with_failing)))
		return true;
	if (n->with_cut && run->strict && cut) {
		run_open_error(run, LIMIT_CONSTANT_ERROR_IN_STRICT_MODE);
		return true;
	}
	return run_reopens(run, LIMIT_ERROR_WITH_CONSTANT_NULL,
		n->with_null && (run->outcome->error == ER_DATA_OUT_OF_RANGE ||
					(run->strict && run->env->flavour == SQL_MYSQL)));
}

/* ---- operands ---- */


static bool is_text_of_aggregate(const struct guarded *g)
{
	return type_is_string(&g->node->type) && node_is_aggregate(g->args[g->at]);
}

/* CONCAT(COUNT(*), 'a') is a text of bytes. */
static bool is_text_of_number(const struct guarded *g)
{
	return is_text_of_aggregate(g) && !type_is_string(&g->args[g->at]->type);
}

/* MySQL prints it with the digits of a DOUBLE. */
static bool is_text_of_float(const struct guarded *g)
{
	return is_text_of_aggregate(g) && g->args[g->at]->type.kind == EVAL_T_FLOAT;
}

static bool compares_variable(const struct guarded *g)
{
	return g->env->locals && (g->node->type.is_bool || g->expr->kind == SQL_EXPR_CASE) &&
	       compares_local(g->node);
}

bool expression_refused(struct compiler *c, const struct sql_expr *e, const struct node *n)
{
	static const struct guard operands[] = {
		{LIMIT_TEXT_OF_AGGREGATE_IN_OLDER_RELEASES, is_text_of_number},
		{LIMIT_MYSQL_TEXT_OF_MIN_OR_MAX_OF_FLOAT, is_text_of_float},
	};
	static const struct guard all[] = {
		{LIMIT_VARIABLE_COMPARED_WITH_VALUE_OF_ANOTHER_KIND, compares_variable},
	};
	struct guarded g = {
		.env = c->env, .expr = e, .node = n, .args = n->args, .count = n->arg_count};

	return guards_refuse_each(c, &g, 0, operands, ARRAY_LEN(operands)) ||
	       guards_refuse(c, &g, all, ARRAY_LEN(all));
}
