/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is evaluated here: integers, NULL and integer columns, with comparison, BETWEEN, IN, IS,
 * three-valued logic and + - * %, as the manual's chapter "Functions and Operators" has them.
 * Anything else (strings and their collations, decimals, functions, subqueries) is MATCH_UNKNOWN
 * for the rows it decides.
 */
#include "adya/match.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "sql/sql.h"
#include "trace/value.h"

/* Parsed predicates are kept; past this many the cache begins anew. */
enum { CACHE_MAX = 100 * 1000, DEPTH_MAX = 200 };

struct columns {
	bool looked_up;
	struct span *names;
	uint32_t count;
};

struct matcher {
	const struct history *history;
	struct columns *columns; /* by table */
	struct strtab texts;
	const struct sql_expr **exprs; /* by id of texts; NULL: does not parse */
	size_t expr_capacity;
	struct sql_options options;
	struct arena arena;        /* of exprs */
	struct arena column_arena; /* of columns */
};

struct matcher *matcher_new(const struct history *history)
{
	struct matcher *m = mem_zero(1, sizeof(*m));

	m->history = history;
	m->columns = mem_zero(history->table_count, sizeof(*m->columns));
	m->options = sql_options_for_server(strtab_get(&history->strings, history->server_version));
	return m;
}

void matcher_free(struct matcher *m)
{
	free(m->columns);
	free(m->exprs);
	strtab_release(&m->texts);
	arena_release(&m->arena);
	arena_release(&m->column_arena);
	free(m);
}

/* ---- what a name means ---- */

static void look_up_columns(struct matcher *m, uint32_t table)
{
	struct columns *columns = &m->columns[table];
	struct span encoded = m->history->tables[table].schema_ref;
	struct mp mp = mp_over(encoded);
	struct record_schema schema;
	uint32_t kind, left;

	columns->looked_up = true;
	if (!encoded.ptr || !record_begin(&mp, &kind, &left) || kind != RECORD_SCHEMA ||
		!record_schema_read(&mp, left, &schema))
		return;
	mp = mp_over(schema.columns);
	columns->count = mp_array(&mp);
	columns->names = arena_alloc(&m->column_arena, columns->count * sizeof(struct span));
	for (uint32_t i = 0; i < columns->count; i++) {
		uint32_t fields = mp_array(&mp);

		columns->names[i] = fields ? mp_bytes(&mp) : SPAN_NONE;
		if (fields && !record_skip_fields(&mp, fields - 1))
			break;
	}
	if (mp.bad)
		columns->count = 0;
}

static const struct sql_expr *parse_predicate(struct matcher *m, struct span text)
{
	struct buf sql = BUF_INIT;
	struct sql_stmt *stmt;
	const struct sql_expr *expr = NULL;

	/* DO takes expressions; exactly one must come out, whatever parentheses the text has. */
	buf_add_str(&sql, "DO (");
	buf_add_span(&sql, text);
	buf_add_str(&sql, "\n)"); /* behind a comment that the text may end with */
	if (sql_parse(&m->arena, buf_span(&sql), &m->options, &stmt, NULL) &&
		stmt->kind == SQL_STMT_DO && stmt->u.exprs.count == 1)
		expr = stmt->u.exprs.first;
	buf_release(&sql);
	return expr;
}

static const struct sql_expr *predicate_expr(struct matcher *m, struct span text)
{
	uint32_t id;

	if (m->texts.count > CACHE_MAX) {
		strtab_release(&m->texts);
		arena_clear(&m->arena);
	}
	id = strtab_find(&m->texts, text);
	if (id == STRTAB_NONE) {
		id = strtab_add(&m->texts, text);
		MEM_RESERVE(m->exprs, (size_t)id + 1, m->expr_capacity);
		m->exprs[id] = parse_predicate(m, text);
	}
	return m->exprs[id];
}

/* ---- evaluation ---- */

/* Wide enough for sums of BIGINT and BIGINT UNSIGNED. */
__extension__ typedef __int128 wide;

struct operand {
	enum { OPERAND_UNKNOWN, OPERAND_NULL, OPERAND_INT } type;
	wide i;
};

#define UNKNOWN_OPERAND ((struct operand){OPERAND_UNKNOWN, 0})
#define NULL_OPERAND    ((struct operand){OPERAND_NULL, 0})

static struct operand integer(wide i)
{
	/* Outside BIGINT and BIGINT UNSIGNED the server reports an error. */
	if (i < INT64_MIN || i > (wide)UINT64_MAX)
		return UNKNOWN_OPERAND;
	return (struct operand){OPERAND_INT, i};
}

static struct operand truth(bool value)
{
	return (struct operand){OPERAND_INT, value};
}

struct row {
	const struct columns *columns;
	struct span image; /* encoded array, in the schema's order */
	struct span table; /* its name */
};

static struct operand column_value(const struct row *row, const struct sql_expr *expr)
{
	struct mp mp = mp_over(row->image);
	uint32_t count = mp_array(&mp);
	struct value value;

	if (expr->u.column.table.ptr && !span_eq(expr->u.column.table, row->table))
		return UNKNOWN_OPERAND;
	/* An image of another shape than the schema's says nothing about this column. */
	if (count != row->columns->count)
		return UNKNOWN_OPERAND;
	for (uint32_t i = 0; i < count; i++) {
		if (!span_ieq(row->columns->names[i], expr->u.column.name)) {
			if (!mp_skip(&mp))
				return UNKNOWN_OPERAND;
			continue;
		}
		if (!value_read(&mp, &value))
			return UNKNOWN_OPERAND;
		if (value.type == VALUE_NULL)
			return NULL_OPERAND;
		if (value.type == VALUE_INT)
			return integer(value.i);
		if (value.type == VALUE_UINT)
			return integer((wide)value.u);
		return UNKNOWN_OPERAND;
	}
	return UNKNOWN_OPERAND;
}

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

static struct operand evaluate(const struct row *row, const struct sql_expr *expr, int depth);

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
		return integer(a.i + b.i);
	if (op == SQL_OP_SUB)
		return integer(a.i - b.i);
	if (op == SQL_OP_MUL && a.i >= INT32_MIN && a.i <= INT32_MAX)
		return integer(a.i * b.i);
	if (op == SQL_OP_MOD)
		return b.i == 0 ? NULL_OPERAND : integer(a.i % b.i);
	return UNKNOWN_OPERAND;
}

static struct operand evaluate_in(const struct row *row, const struct sql_expr *expr, int depth)
{
	struct operand left, found = truth(false);

	if (expr->u.in.query)
		return UNKNOWN_OPERAND;
	left = evaluate(row, expr->u.in.left, depth);
	for (const struct sql_expr *item = expr->u.in.list.first; item; item = item->next)
		found = logic(found, compute(SQL_OP_EQ, left, evaluate(row, item, depth)), true);
	return expr->negated ? negate(found) : found;
}

static struct operand evaluate_is(const struct operand value, const struct sql_expr *expr)
{
	bool holds;

	if (value.type == OPERAND_UNKNOWN)
		return UNKNOWN_OPERAND;
	if (expr->op == SQL_OP_IS_NULL || expr->op == SQL_OP_IS_UNKNOWN)
		holds = value.type == OPERAND_NULL;
	else if (expr->op == SQL_OP_IS_TRUE)
		holds = value.type == OPERAND_INT && value.i != 0;
	else if (expr->op == SQL_OP_IS_FALSE)
		holds = value.type == OPERAND_INT && value.i == 0;
	else
		return UNKNOWN_OPERAND;
	return truth(holds != expr->negated);
}

static struct operand evaluate_unary(struct operand value, enum sql_op op)
{
	if (value.type != OPERAND_INT)
		return value;
	if (op == SQL_OP_NOT || op == SQL_OP_BANG)
		return negate(value);
	if (op == SQL_OP_NEG)
		return integer(-value.i);
	return op == SQL_OP_PLUS ? value : UNKNOWN_OPERAND;
}

static struct operand evaluate_binary(const struct row *row, const struct sql_expr *expr, int depth)
{
	struct operand left = evaluate(row, expr->u.binary.left, depth);
	struct operand right = evaluate(row, expr->u.binary.right, depth);

	if (expr->op == SQL_OP_AND || expr->op == SQL_OP_OR)
		return logic(left, right, expr->op == SQL_OP_OR);
	return compute((enum sql_op)expr->op, left, right);
}

static struct operand evaluate(const struct row *row, const struct sql_expr *expr, int depth)
{
	struct operand value;

	if (depth++ > DEPTH_MAX)
		return UNKNOWN_OPERAND;
	if (expr->kind == SQL_EXPR_LITERAL)
		return literal_value(expr);
	if (expr->kind == SQL_EXPR_COLUMN)
		return column_value(row, expr);
	if (expr->kind == SQL_EXPR_UNARY)
		return evaluate_unary(
			evaluate(row, expr->u.binary.left, depth), (enum sql_op)expr->op);
	if (expr->kind == SQL_EXPR_BINARY)
		return evaluate_binary(row, expr, depth);
	if (expr->kind == SQL_EXPR_IS)
		return evaluate_is(evaluate(row, expr->u.binary.left, depth), expr);
	if (expr->kind == SQL_EXPR_IN)
		return evaluate_in(row, expr, depth);
	if (expr->kind == SQL_EXPR_BETWEEN) {
		value = evaluate(row, expr->u.between.left, depth);
		value = logic(compute(SQL_OP_GE, value, evaluate(row, expr->u.between.low, depth)),
			compute(SQL_OP_LE, value, evaluate(row, expr->u.between.high, depth)),
			false);
		return expr->negated ? negate(value) : value;
	}
	return UNKNOWN_OPERAND;
}

enum match matcher_test(
	struct matcher *m, const struct history_predicate *predicate, uint32_t version)
{
	const struct history *h = m->history;
	const struct history_version *v = &h->versions[version];
	struct columns *columns = &m->columns[predicate->table];
	const struct sql_expr *expr;
	struct operand value;
	struct row row;

	if (v->flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD))
		return MATCH_NO;
	if (!predicate->text || !v->image)
		return MATCH_UNKNOWN;
	expr = predicate_expr(m, history_bytes(h, predicate->text));
	if (!expr)
		return MATCH_UNKNOWN;
	if (!columns->looked_up)
		look_up_columns(m, predicate->table);
	row = (struct row){columns, history_bytes(h, v->image),
		strtab_get(&h->strings, h->tables[predicate->table].name)};
	value = evaluate(&row, expr, 0);
	if (value.type == OPERAND_UNKNOWN)
		return MATCH_UNKNOWN;
	return value.type == OPERAND_INT && value.i != 0 ? MATCH_YES : MATCH_NO;
}
