/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/predicate_match_int.h"

enum { DEPTH_MAX = 200 };

#define UNKNOWN_OPERAND ((struct operand){OPERAND_UNKNOWN, 0})
#define NULL_OPERAND    ((struct operand){OPERAND_NULL, 0})

enum node_kind {
	NODE_UNKNOWN,
	NODE_VALUE,
	NODE_COLUMN,
	NODE_UNARY,
	NODE_BINARY,
	NODE_IS,
	NODE_IN,
	NODE_BETWEEN
};

struct int_node {
	uint8_t kind, op;
	bool negated;
	uint32_t column;
	struct operand value;
	struct int_node *left, *right, *high; /* IN: right is the list, linked by `next` */
	struct int_node *next;
};

static struct operand integer(wide i)
{
	/* Outside BIGINT and BIGINT UNSIGNED the server reports an error. */
	if (i < INT64_MIN || i > (wide)UINT64_MAX)
		return UNKNOWN_OPERAND;
	return (struct operand){OPERAND_INT, i};
}

/* Where an operand is unsigned, a result below zero is an error of the server's.  What is below zero
 * is not; of others the types tell, which only the evaluator knows. */
static struct operand signed_result(struct operand a, struct operand b, wide result)
{
	return result < 0 && (a.i >= 0 || b.i >= 0) ? UNKNOWN_OPERAND : integer(result);
}

static struct operand truth(bool value)
{
	return (struct operand){OPERAND_INT, value};
}

/* ---- compiling ---- */

struct compiler {
	struct arena *arena;
	const struct int_names *names;
	struct int_predicate *out;
};

static struct operand literal_value(const struct sql_expr *expr)
{
	struct span digits = expr->u.literal.text;
	wide i = 0;

	switch ((enum sql_literal_kind)expr->u.literal.kind) {
	case SQL_LIT_NULL:
		return NULL_OPERAND;
	case SQL_LIT_TRUE:
		return truth(true);
	case SQL_LIT_FALSE:
		return truth(false);
	case SQL_LIT_INT:
		for (size_t k = 0; k < digits.len && k < 21; k++)
			i = i * 10 + (digits.ptr[k] - '0');
		return digits.len > 20 ? UNKNOWN_OPERAND : integer(i);
	case SQL_LIT_DECIMAL:
	case SQL_LIT_FLOAT:
	case SQL_LIT_STRING:
	case SQL_LIT_NSTRING:
	case SQL_LIT_HEX:
	case SQL_LIT_BIT:
	case SQL_LIT_DATE:
	case SQL_LIT_TIME:
	case SQL_LIT_TIMESTAMP:
		return UNKNOWN_OPERAND;
	}
	return UNKNOWN_OPERAND;
}

static void compile_column(struct compiler *c, const struct sql_expr *expr, struct int_node *node)
{
	const struct int_names *names = c->names;

	node->kind = NODE_UNKNOWN;
	if (expr->u.column.table.ptr && !span_eq(expr->u.column.table, names->table)) {
		c->out->foreign = true;
		return;
	}
	for (uint32_t i = 0; i < names->count; i++) {
		if (!names->columns[i].ptr || !span_ieq(names->columns[i], expr->u.column.name))
			continue;
		if (names->odd && names->odd[i]) {
			c->out->whole = false;
			return;
		}
		node->kind = NODE_COLUMN;
		node->column = i;
		if (c->out->column_last <= i)
			c->out->column_last = i + 1;
		return;
	}
	c->out->foreign = true;
}

/* Columns below an unknown leaf are looked up all the same, for `foreign`. */
static bool visit_expr(void *data, const struct sql_expr *expr)
{
	struct int_node ignored;

	if (expr->kind == SQL_EXPR_COLUMN)
		compile_column(data, expr, &ignored);
	return true;
}

static struct int_node *compile(struct compiler *c, const struct sql_expr *expr, int depth)
{
	struct int_node *node = arena_zero(c->arena, sizeof(*node));
	struct int_node **tail;

	node->op = expr->op;
	node->negated = expr->negated;
	if (depth++ > DEPTH_MAX) {
		c->out->whole = false;
		c->out->foreign = true;
	} else if (expr->kind == SQL_EXPR_LITERAL) {
		node->kind = NODE_VALUE;
		node->value = literal_value(expr);
		c->out->whole &= node->value.type != OPERAND_UNKNOWN;
	} else if (expr->kind == SQL_EXPR_COLUMN) {
		compile_column(c, expr, node);
	} else if (expr->kind == SQL_EXPR_UNARY || expr->kind == SQL_EXPR_IS) {
		node->kind = expr->kind == SQL_EXPR_IS ? NODE_IS : NODE_UNARY;
		node->left = compile(c, expr->u.binary.left, depth);
	} else if (expr->kind == SQL_EXPR_BINARY) {
		node->kind = NODE_BINARY;
		node->left = compile(c, expr->u.binary.left, depth);
		node->right = compile(c, expr->u.binary.right, depth);
	} else if (expr->kind == SQL_EXPR_BETWEEN) {
		node->kind = NODE_BETWEEN;
		node->left = compile(c, expr->u.between.left, depth);
		node->right = compile(c, expr->u.between.low, depth);
		node->high = compile(c, expr->u.between.high, depth);
	} else if (expr->kind == SQL_EXPR_IN && !expr->u.in.query) {
		node->kind = NODE_IN;
		node->left = compile(c, expr->u.in.left, depth);
		tail = &node->right;
		for (const struct sql_expr *item = expr->u.in.list.first; item; item = item->next) {
			*tail = compile(c, item, depth);
			tail = &(*tail)->next;
		}
	} else {
		c->out->whole = false;
		sql_walk_expr(expr, &(struct sql_visitor){.expr = visit_expr, .ctx = c});
	}
	return node;
}

void int_compile(struct int_predicate *out, struct arena *arena, const struct sql_expr *expr,
	const struct int_names *names)
{
	struct compiler c = {arena, names, out};

	*out = (struct int_predicate){.whole = true};
	out->root = compile(&c, expr, 0);
}

/* ---- evaluating ---- */

/* FALSE decides AND and TRUE decides OR whatever the other side is, NULL or not known. */
static struct operand logic(struct operand a, struct operand b, bool decisive)
{
	if ((a.type == OPERAND_INT && (a.i != 0) == decisive) ||
		(b.type == OPERAND_INT && (b.i != 0) == decisive))
		return truth(decisive);
	if (a.type == OPERAND_UNKNOWN || b.type == OPERAND_UNKNOWN)
		return UNKNOWN_OPERAND;
	if (a.type == OPERAND_NULL || b.type == OPERAND_NULL)
		return NULL_OPERAND;
	return truth(!decisive);
}

static struct operand negate(struct operand a)
{
	return a.type == OPERAND_INT ? truth(a.i == 0) : a;
}

static struct operand compute(enum sql_op op, struct operand a, struct operand b)
{
	if (a.type == OPERAND_UNKNOWN || b.type == OPERAND_UNKNOWN)
		return UNKNOWN_OPERAND;
	if (op == SQL_OP_NULL_EQ)
		return truth(a.type == b.type && a.i == b.i);
	if (a.type == OPERAND_NULL || b.type == OPERAND_NULL)
		return NULL_OPERAND;
	if (op == SQL_OP_EQ)
		return truth(a.i == b.i);
	if (op == SQL_OP_NE)
		return truth(a.i != b.i);
	if (op == SQL_OP_LT)
		return truth(a.i < b.i);
	if (op == SQL_OP_LE)
		return truth(a.i <= b.i);
	if (op == SQL_OP_GT)
		return truth(a.i > b.i);
	if (op == SQL_OP_GE)
		return truth(a.i >= b.i);
	if (op == SQL_OP_XOR)
		return truth((a.i != 0) != (b.i != 0));
	if (op == SQL_OP_ADD)
		return signed_result(a, b, a.i + b.i);
	if (op == SQL_OP_SUB)
		return signed_result(a, b, a.i - b.i);
	if (op == SQL_OP_MUL && a.i >= INT32_MIN && a.i <= INT32_MAX)
		return signed_result(a, b, a.i * b.i);
	if (op == SQL_OP_MOD)
		return b.i == 0 ? NULL_OPERAND : integer(a.i % b.i);
	return UNKNOWN_OPERAND;
}

static struct operand is_test(struct operand value, const struct int_node *node)
{
	bool holds;

	if (value.type == OPERAND_UNKNOWN)
		return UNKNOWN_OPERAND;
	if (node->op == SQL_OP_IS_NULL || node->op == SQL_OP_IS_UNKNOWN)
		holds = value.type == OPERAND_NULL;
	else if (node->op == SQL_OP_IS_TRUE)
		holds = value.type == OPERAND_INT && value.i != 0;
	else if (node->op == SQL_OP_IS_FALSE)
		holds = value.type == OPERAND_INT && value.i == 0;
	else
		return UNKNOWN_OPERAND;
	return truth(holds != node->negated);
}

static struct operand unary(struct operand value, uint8_t op)
{
	if (value.type != OPERAND_INT)
		return value;
	if (op == SQL_OP_NOT || op == SQL_OP_BANG)
		return negate(value);
	if (op == SQL_OP_NEG)
		return integer(-value.i);
	return op == SQL_OP_PLUS ? value : UNKNOWN_OPERAND;
}

static struct operand evaluate(const struct int_node *node, const struct operand *columns)
{
	struct operand value, found;

	switch ((enum node_kind)node->kind) {
	case NODE_UNKNOWN:
		return UNKNOWN_OPERAND;
	case NODE_VALUE:
		return node->value;
	case NODE_COLUMN:
		return columns[node->column];
	case NODE_UNARY:
		return unary(evaluate(node->left, columns), node->op);
	case NODE_BINARY:
		value = evaluate(node->left, columns);
		if (node->op == SQL_OP_AND || node->op == SQL_OP_OR) {
			bool decisive = node->op == SQL_OP_OR;

			if (value.type == OPERAND_INT && (value.i != 0) == decisive)
				return truth(decisive);
			return logic(value, evaluate(node->right, columns), decisive);
		}
		return compute((enum sql_op)node->op, value, evaluate(node->right, columns));
	case NODE_IS:
		return is_test(evaluate(node->left, columns), node);
	case NODE_IN:
		value = evaluate(node->left, columns);
		found = truth(false);
		for (const struct int_node *item = node->right; item; item = item->next)
			found = logic(
				found, compute(SQL_OP_EQ, value, evaluate(item, columns)), true);
		return node->negated ? negate(found) : found;
	case NODE_BETWEEN:
		value = evaluate(node->left, columns);
		value = logic(compute(SQL_OP_GE, value, evaluate(node->right, columns)),
			compute(SQL_OP_LE, value, evaluate(node->high, columns)), false);
		return node->negated ? negate(value) : value;
	}
	return UNKNOWN_OPERAND;
}

struct operand int_evaluate(const struct int_predicate *predicate, const struct operand *columns)
{
	return evaluate(predicate->root, columns);
}

/* ---- the range of a column ---- */

#define LEAST    ((wide)INT64_MIN - 1)
#define GREATEST ((wide)UINT64_MAX + 1)

struct range {
	wide low, high;
};

static const struct range everything = {LEAST, GREATEST};

static struct range compared(enum sql_op op, wide value)
{
	struct range r = everything;

	if (op == SQL_OP_EQ || op == SQL_OP_NULL_EQ)
		r = (struct range){value, value};
	else if (op == SQL_OP_LT)
		r.high = value - 1;
	else if (op == SQL_OP_LE)
		r.high = value;
	else if (op == SQL_OP_GT)
		r.low = value + 1;
	else if (op == SQL_OP_GE)
		r.low = value;
	return r;
}

enum sql_op turned_comparison(enum sql_op op)
{
	if (op == SQL_OP_LT)
		return SQL_OP_GT;
	if (op == SQL_OP_LE)
		return SQL_OP_GE;
	if (op == SQL_OP_GT)
		return SQL_OP_LT;
	return op == SQL_OP_GE ? SQL_OP_LE : op;
}

static bool is_column(const struct int_node *node, uint32_t column)
{
	return node->kind == NODE_COLUMN && node->column == column;
}

static bool is_value(const struct int_node *node)
{
	return node->kind == NODE_VALUE && node->value.type == OPERAND_INT;
}

/* Where a predicate can be true: what is outside makes it false or NULL, whatever its unknown
 * parts are. */
static struct range range_of(const struct int_node *node, uint32_t column)
{
	struct range r = everything, s;

	if (node->kind == NODE_BINARY && (node->op == SQL_OP_AND || node->op == SQL_OP_OR)) {
		bool both = node->op == SQL_OP_AND;

		r = range_of(node->left, column);
		s = range_of(node->right, column);
		if ((s.low > r.low) == both)
			r.low = s.low;
		if ((s.high < r.high) == both)
			r.high = s.high;
		return r;
	}
	if (node->kind == NODE_BINARY && is_column(node->left, column) && is_value(node->right))
		return compared((enum sql_op)node->op, node->right->value.i);
	if (node->kind == NODE_BINARY && is_column(node->right, column) && is_value(node->left))
		return compared(turned_comparison((enum sql_op)node->op), node->left->value.i);
	if (node->negated)
		return r;
	if (node->kind == NODE_BETWEEN && is_column(node->left, column)) {
		if (is_value(node->right))
			r.low = node->right->value.i;
		if (is_value(node->high))
			r.high = node->high->value.i;
		return r;
	}
	if (node->kind == NODE_IN && is_column(node->left, column)) {
		r = (struct range){GREATEST, LEAST};
		for (const struct int_node *item = node->right; item; item = item->next) {
			if (item->kind == NODE_VALUE && item->value.type == OPERAND_NULL)
				continue;
			if (!is_value(item))
				return everything;
			r.low = item->value.i < r.low ? item->value.i : r.low;
			r.high = item->value.i > r.high ? item->value.i : r.high;
		}
	}
	return r;
}

void int_range(const struct int_predicate *predicate, uint32_t column, wide *low, wide *high)
{
	struct range r = range_of(predicate->root, column);

	*low = r.low;
	*high = r.high;
}

/* column <op> value, or the reverse; not those that are true for NULL, or outside of a range. */
static bool is_comparison(const struct int_node *node, const struct int_node **column)
{
	const struct int_node *value = node->right;

	*column = node->left;
	if (node->kind != NODE_BINARY)
		return false;
	if (node->op != SQL_OP_EQ && node->op != SQL_OP_LT && node->op != SQL_OP_LE &&
		node->op != SQL_OP_GT && node->op != SQL_OP_GE)
		return false;
	if (node->left->kind == NODE_VALUE) {
		*column = node->right;
		value = node->left;
	}
	return (*column)->kind == NODE_COLUMN && is_value(value);
}

bool int_is_range(const struct int_predicate *predicate, uint32_t *column, wide *low, wide *high)
{
	const struct int_node *root = predicate->root, *at = root->left;
	bool between = root->kind == NODE_BETWEEN && !root->negated &&
		       root->left->kind == NODE_COLUMN && is_value(root->right) &&
		       is_value(root->high);

	if (!between && !is_comparison(root, &at))
		return false;
	*column = at->column;
	int_range(predicate, at->column, low, high);
	return true;
}
