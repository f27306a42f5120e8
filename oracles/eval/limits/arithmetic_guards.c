/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of arithmetic and of bit operations. */
#include "eval/limits/guards.h"
#include "eval/operator/arithmetic.h"

static bool is_bit_operation(enum sql_op op)
{
	return op == SQL_OP_BIT_OR || op == SQL_OP_BIT_AND || op == SQL_OP_BIT_XOR ||
	       op == SQL_OP_SHIFT_LEFT || op == SQL_OP_SHIFT_RIGHT;
}

static bool any_operand(const struct guarded *g, bool (*is)(const struct node *n))
{
	for (uint32_t i = 0; i < g->count; i++) {
		if (is(g->args[i]))
			return true;
	}
	return false;
}

static bool is_odd_number(const struct node *n)
{
	const struct eval_type *t = &n->type;

	return t->kind == EVAL_T_ENUM || t->kind == EVAL_T_SET || t->hybrid || t->kind == EVAL_T_TIME ||
	       (type_is_temporal(t) && t->decimals);
}

static bool of_odd_numbers(const struct guarded *g)
{
	return any_operand(g, is_odd_number);
}

static bool is_computed_text(const struct node *n)
{
	return type_is_string(&n->type) && !n->column;
}

/* Whether the text of a function has decimals differs between functions. */
static bool of_computed_text(const struct guarded *g)
{
	return any_operand(g, is_computed_text);
}

static bool is_binary_string(const struct node *n)
{
	return n->type.kind == EVAL_T_STRING && n->type.collation == COLLATION_BINARY;
}

static bool bits_of_binary_string(const struct guarded *g)
{
	return is_bit_operation(g->op) && any_operand(g, is_binary_string);
}

static bool bit_not_of_binary_string(const struct guarded *g)
{
	return is_binary_string(g->args[0]);
}

/* How many digits are kept differs between the releases. */
static bool quotient_of_many_decimals(const struct guarded *g)
{
	struct eval_type a = arithmetic_type(&g->args[0]->type);

	return g->op == SQL_OP_DIV && a.kind == EVAL_T_DECIMAL && a.decimals >= 27 && !g->args[0]->column;
}

static bool quotient_by_computed_time(const struct guarded *g)
{
	const struct node *r = g->args[1];

	return g->op == SQL_OP_DIV && type_is_temporal(&r->type) && r->type.decimals && !r->column;
}

static bool any_double(const struct guarded *g)
{
	return arithmetic_type(&g->args[0]->type).kind == EVAL_T_DOUBLE ||
	       arithmetic_type(&g->args[1]->type).kind == EVAL_T_DOUBLE;
}

static bool remainder_of_long_decimals(const struct guarded *g)
{
	return g->op == SQL_OP_MOD && !any_double(g) &&
	       (arithmetic_type(&g->args[0]->type).decimals > 9 ||
		       arithmetic_type(&g->args[1]->type).decimals > 9);
}

static bool is_timestamp(const struct node *n)
{
	return n->type.kind == EVAL_T_TIMESTAMP;
}

/* The column is unsigned, and a negative result is out of range. */
static bool may_be_negative_timestamp(const struct guarded *g)
{
	if (is_bit_operation(g->op) || !any_operand(g, is_timestamp))
		return false;
	return g->op == SQL_OP_INT_DIV || g->op == SQL_OP_SUB || (g->op == SQL_OP_MOD && !any_double(g)) ||
	       arithmetic_type(&g->args[0]->type).is_unsigned ||
	       arithmetic_type(&g->args[1]->type).is_unsigned;
}

static bool remainder_of_hexadecimal(const struct guarded *g)
{
	return g->op == SQL_OP_MOD && any_double(g) && is_unsigned_text(g->env, g->args[0]);
}

bool arithmetic_refused(struct compiler *c, enum sql_op op, struct node *const *operands)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_ARITHMETIC_ON_ENUM_SET_OR_TIMES_WITH_FRACTION, of_odd_numbers},
		{LIMIT_MYSQL5_ARITHMETIC_ON_COMPUTED_TEXT, of_computed_text},
		{LIMIT_BIT_OPERATIONS_ON_BINARY_STRINGS, bits_of_binary_string},
		{LIMIT_QUOTIENT_OF_COMPUTED_DECIMAL_WITH_MANY_DECIMALS, quotient_of_many_decimals},
		{LIMIT_QUOTIENT_BY_COMPUTED_TIME_WITH_FRACTION, quotient_by_computed_time},
		{LIMIT_MYSQL5_REMAINDER_OF_LONG_DECIMALS, remainder_of_long_decimals},
		{LIMIT_DIFFERENCE_DIV_OR_REMAINDER_OF_TIMESTAMP, may_be_negative_timestamp},
		{LIMIT_REMAINDER_OF_HEXADECIMAL_LITERAL, remainder_of_hexadecimal},
	};
	struct guarded g = {.env = c->env, .op = op, .args = operands, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

bool number_refused(struct compiler *c, struct node *operand)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_ARITHMETIC_ON_ENUM_SET_OR_TIMES_WITH_FRACTION, of_odd_numbers},
	};
	struct guarded g = {.env = c->env, .args = &operand, .count = 1};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

bool bit_not_refused(struct compiler *c, struct node *operand)
{
	static const struct guard guards[] = {
		{LIMIT_BIT_OPERATIONS_ON_BINARY_STRINGS, bit_not_of_binary_string},
	};
	struct guarded g = {.env = c->env, .args = &operand, .count = 1};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}
