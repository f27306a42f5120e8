/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions.  The levels are those of the servers' grammars, loosest first:
 *
 *	expr       OR || / XOR / AND && / NOT
 *	test       = <=> <> < <= > >= / IS [NOT] NULL, TRUE ...
 *	predicate  IN, BETWEEN, LIKE, REGEXP, SOUNDS LIKE, MEMBER OF
 *	bit        | / & / << >> / + - / * / DIV % MOD / ^
 *	concat     || under PIPES_AS_CONCAT
 *	simple     unary - + ~ ! BINARY, COLLATE, and the operands
 *
 * MySQL and MariaDB differ: in MariaDB predicates chain (a IN (1) IN (2)) and so does IS TRUE; in
 * MySQL a predicate's operands are bit expressions and IS TRUE ends an expr.
 */
#include <string.h>

#include "sql/parse.h"

static struct sql_expr *parse_predicate(struct parser *p);
static struct sql_expr *parse_bit_level(struct parser *p, int min);

struct sql_expr *expr_new(struct parser *p, enum sql_expr_kind kind, uint32_t start)
{
	struct sql_expr *e = arena_alloc(p->arena, sizeof(*e));

	memset(e, 0, sizeof(*e));
	e->kind = (uint8_t)kind;
	e->loc = loc_from(p, start);
	return e;
}

static struct sql_expr *binary(
	struct parser *p, enum sql_op op, struct sql_expr *left, struct sql_expr *right)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_BINARY, left->loc.start);

	e->op = (uint8_t)op;
	e->u.binary.left = left;
	e->u.binary.right = right;
	return e;
}

static struct sql_expr *unary(
	struct parser *p, enum sql_op op, struct sql_expr *left, uint32_t start)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_UNARY, start);

	e->op = (uint8_t)op;
	e->u.binary.left = left;
	return e;
}

static const uint8_t bit_level[SQL_OP_PREVIOUS_VALUE + 1] = {
	[SQL_OP_BIT_OR] = 1,
	[SQL_OP_BIT_AND] = 2,
	[SQL_OP_SHIFT_LEFT] = 3,
	[SQL_OP_SHIFT_RIGHT] = 3,
	[SQL_OP_ADD] = 4,
	[SQL_OP_SUB] = 4,
	[SQL_OP_MUL] = 5,
	[SQL_OP_DIV] = 5,
	[SQL_OP_INT_DIV] = 5,
	[SQL_OP_MOD] = 5,
	[SQL_OP_BIT_XOR] = 6,
	[SQL_OP_CONCAT] = 7,
};

/* ------------------------------------------------------------------ logical level */

static struct sql_expr *parse_test(struct parser *p);

static struct sql_expr *parse_not(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;

	/* Under HIGH_NOT_PRECEDENCE the word is read at the level of `!`. */
	if (p->tok.kind != T_NOT || (p->opt.mode & SQL_MODE_HIGH_NOT_PRECEDENCE) || p->pending)
		return parse_test(p);
	parse_advance(p);
	if (parse_enter(p)) {
		e = parse_not(p);
	} else {
		e = expr_new(p, SQL_EXPR_LITERAL, start);
	}
	parse_leave(p);
	return unary(p, SQL_OP_NOT, e, start);
}

static struct sql_expr *parse_and(struct parser *p)
{
	struct sql_expr *left = parse_not(p);

	while (at(p, T_AND) || p->tok.kind == T_AND_AND) {
		parse_advance(p);
		struct sql_expr *right = parse_not(p);
		left = binary(p, SQL_OP_AND, left, right);
	}
	return left;
}

static struct sql_expr *parse_xor(struct parser *p)
{
	struct sql_expr *left = parse_and(p);

	while (accept(p, T_XOR)) {
		struct sql_expr *right = parse_and(p);
		left = binary(p, SQL_OP_XOR, left, right);
	}
	return left;
}

struct sql_expr *parse_expr(struct parser *p)
{
	struct sql_expr *left;
	uint32_t start = p->tok.start;

	if (!parse_enter(p)) {
		parse_leave(p);
		return expr_new(p, SQL_EXPR_LITERAL, start);
	}
	left = parse_xor(p);
	while (at(p, T_OR) ||
		(p->tok.kind == T_OR_OR && !(p->opt.mode & SQL_MODE_PIPES_AS_CONCAT))) {
		parse_advance(p);
		struct sql_expr *right = parse_xor(p);
		left = binary(p, SQL_OP_OR, left, right);
	}
	parse_leave(p);
	return left;
}

/* ------------------------------------------------------------------ tests and predicates */

static enum sql_op comparison(struct parser *p)
{
	switch (p->tok.kind) {
	case T_EQ:
		return SQL_OP_EQ;
	case T_NULL_EQ:
		return SQL_OP_NULL_EQ;
	case T_NE:
		return SQL_OP_NE;
	case T_LT:
		return SQL_OP_LT;
	case T_LE:
		return SQL_OP_LE;
	case T_GT:
		return SQL_OP_GT;
	case T_GE:
		return SQL_OP_GE;
	default:
		return SQL_OP_NONE;
	}
}

/* IS is current. */
static struct sql_expr *parse_is(struct parser *p, struct sql_expr *left, bool *ends)
{
	struct sql_expr *e;
	bool negated;
	enum sql_op op = SQL_OP_IS_NULL;

	parse_advance(p);
	negated = accept(p, T_NOT);
	if (accept(p, T_NULL) || (is_maria(p) && accept(p, T_NULL_N))) {
		op = SQL_OP_IS_NULL;
	} else if (accept(p, T_TRUE)) {
		op = SQL_OP_IS_TRUE;
	} else if (accept(p, T_FALSE)) {
		op = SQL_OP_IS_FALSE;
	} else if (accept(p, T_UNKNOWN)) {
		op = SQL_OP_IS_UNKNOWN;
	} else {
		parse_fail(p);
	}
	/* MySQL: `bool_pri IS TRUE` is an expr, which no comparison takes. */
	*ends = op != SQL_OP_IS_NULL && !is_maria(p);
	e = expr_new(p, SQL_EXPR_IS, left->loc.start);
	e->op = (uint8_t)op;
	e->negated = negated;
	e->u.binary.left = left;
	return e;
}

static struct sql_expr *parse_comparison(struct parser *p, struct sql_expr *left, enum sql_op op)
{
	parse_advance(p);
	if (op != SQL_OP_NULL_EQ && parse_peek(p, 1).kind == T_LPAREN &&
		(p->tok.kind == T_ALL || p->tok.kind == T_ANY || p->tok.kind == T_SOME)) {
		enum sql_quantifier quantifier = p->tok.kind == T_ALL   ? SQL_ALL
						 : p->tok.kind == T_ANY ? SQL_ANY
									: SQL_SOME;
		struct sql_expr *e;
		struct sql_query *query;

		parse_advance(p);
		query = parse_subquery(p);
		e = expr_new(p, SQL_EXPR_QUANTIFIED, left->loc.start);
		e->op = (uint8_t)op;
		e->quantifier = (uint8_t)quantifier;
		e->u.in.left = left;
		e->u.in.query = query;
		return e;
	}
	return binary(p, op, left, parse_predicate(p));
}

static struct sql_expr *parse_test(struct parser *p)
{
	struct sql_expr *left = parse_predicate(p);
	int chain = 0;

	for (;;) {
		enum sql_op op = comparison(p);

		if (op != SQL_OP_NONE) {
			bool quantified;

			left = parse_comparison(p, left, op);
			quantified = left->kind == SQL_EXPR_QUANTIFIED;
			if (quantified && ++chain > PARSE_CHAIN_MAX)
				parse_fail_why(p, "too many comparisons in a row");
		} else if (at(p, T_IS)) {
			bool ends;

			left = parse_is(p, left, &ends);
			if (ends)
				return left;
			if (++chain > PARSE_CHAIN_MAX)
				parse_fail_why(p, "too many IS tests in a row");
		} else {
			return left;
		}
	}
}

static struct sql_expr *parse_in(struct parser *p, struct sql_expr *left, bool negated)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_IN, left->loc.start);

	e->negated = negated;
	e->u.in.left = left;
	e->u.in.query = parse_paren_open(p);
	if (!e->u.in.query)
		e->u.in.list = parse_expr_list(p);
	parse_paren_close(p);
	e->loc = loc_from(p, left->loc.start);
	return e;
}

static struct sql_expr *parse_between(struct parser *p, struct sql_expr *left, bool negated)
{
	struct sql_expr *e, *low, *high = left;

	low = is_maria(p) ? parse_predicate(p) : parse_bit_expr(p);
	expect(p, T_AND);
	if (parse_enter(p))
		high = parse_predicate(p);
	parse_leave(p);
	e = expr_new(p, SQL_EXPR_BETWEEN, left->loc.start);
	e->negated = negated;
	e->u.between.left = left;
	e->u.between.low = low;
	e->u.between.high = high;
	return e;
}

static struct sql_expr *parse_predicate_op(struct parser *p, struct sql_expr *left);

/* MariaDB: what NOT begins after the pattern of LIKE or REGEXP belongs to the pattern. */
static struct sql_expr *parse_pattern(struct parser *p, int level)
{
	struct sql_expr *pattern = parse_bit_level(p, level), *e = pattern;

	while (e && is_maria(p) && p->tok.kind == T_NOT && parse_enter(p)) {
		pattern = e;
		e = parse_predicate_op(p, pattern);
		parse_leave(p);
	}
	return e ? e : pattern;
}

static struct sql_expr *parse_like(struct parser *p, struct sql_expr *left, bool negated)
{
	struct sql_expr *e, *pattern, *escape = NULL;

	/* In MySQL simple expressions; || that concatenates is part of one. */
	int level = is_maria(p) ? 1 : bit_level[SQL_OP_CONCAT];
	pattern = parse_pattern(p, level);
	if (accept(p, T_ESCAPE))
		escape = parse_bit_level(p, level);
	e = expr_new(p, SQL_EXPR_LIKE, left->loc.start);
	e->negated = negated;
	e->u.between.left = left;
	e->u.between.low = pattern;
	e->u.between.high = escape;
	return e;
}

/* One predicate operator after `left`, or NULL when there is none. */
static struct sql_expr *parse_predicate_op(struct parser *p, struct sql_expr *left)
{
	bool negated = false;
	struct sql_expr *e;
	enum token_kind kind = p->tok.kind;

	if (kind == T_NOT) {
		enum token_kind next = parse_peek(p, 1).kind;

		if (next != T_IN && next != T_BETWEEN && next != T_LIKE && next != T_REGEXP &&
			next != T_RLIKE)
			return NULL;
		parse_advance(p);
		negated = true;
		kind = p->tok.kind;
	}
	switch (kind) {
	case T_IN:
		parse_advance(p);
		return parse_in(p, left, negated);
	case T_BETWEEN:
		parse_advance(p);
		return parse_between(p, left, negated);
	case T_LIKE:
		parse_advance(p);
		return parse_like(p, left, negated);
	case T_REGEXP:
	case T_RLIKE:
		parse_advance(p);
		e = binary(p, SQL_OP_REGEXP, left, parse_pattern(p, 1));
		e->negated = negated;
		return e;
	case T_SOUNDS:
		if (parse_peek(p, 1).kind != T_LIKE)
			return NULL;
		parse_advance(p);
		parse_advance(p);
		return binary(p, SQL_OP_SOUNDS_LIKE, left, parse_bit_expr(p));
	case T_MEMBER:
		if (is_maria(p) || p->opt.version < 80017)
			return NULL;
		parse_advance(p);
		accept(p, T_OF);
		expect(p, T_LPAREN);
		e = parse_simple_expr(p);
		expect(p, T_RPAREN);
		return binary(p, SQL_OP_MEMBER_OF, left, e);
	default:
		if (UNLIKELY(p->track)) {
			parse_want(p, T_IN);
			parse_want(p, T_BETWEEN);
			parse_want(p, T_LIKE);
		}
		return NULL;
	}
}

static struct sql_expr *parse_predicate(struct parser *p)
{
	struct sql_expr *left = parse_bit_expr(p), *e;
	int chain = 0;

	while ((e = parse_predicate_op(p, left)) != NULL) {
		left = e;
		if (!is_maria(p))
			break;
		if (++chain > PARSE_CHAIN_MAX)
			parse_fail_why(p, "too many predicates in a row");
	}
	return left;
}

/* ------------------------------------------------------------------ arithmetic */

static enum sql_op bit_operator(struct parser *p)
{
	switch (p->tok.kind) {
	case T_PIPE:
		return SQL_OP_BIT_OR;
	case T_AMPERSAND:
		return SQL_OP_BIT_AND;
	case T_SHIFT_LEFT:
		return SQL_OP_SHIFT_LEFT;
	case T_SHIFT_RIGHT:
		return SQL_OP_SHIFT_RIGHT;
	case T_PLUS:
		return SQL_OP_ADD;
	case T_MINUS:
		return SQL_OP_SUB;
	case T_STAR:
		return SQL_OP_MUL;
	case T_SLASH:
		return SQL_OP_DIV;
	case T_DIV:
		return SQL_OP_INT_DIV;
	case T_PERCENT:
	case T_MOD:
		return SQL_OP_MOD;
	case T_CARET:
		return SQL_OP_BIT_XOR;
	case T_OR_OR:
		return p->opt.mode & SQL_MODE_PIPES_AS_CONCAT ? SQL_OP_CONCAT : SQL_OP_NONE;
	default:
		return SQL_OP_NONE;
	}
}

enum sql_unit parse_unit(struct parser *p)
{
	static const struct {
		uint16_t kind;
		uint8_t unit;
	} units[] = {
		{T_MICROSECOND, SQL_UNIT_MICROSECOND},
		{T_SECOND, SQL_UNIT_SECOND},
		{T_MINUTE, SQL_UNIT_MINUTE},
		{T_HOUR, SQL_UNIT_HOUR},
		{T_DAY, SQL_UNIT_DAY},
		{T_WEEK, SQL_UNIT_WEEK},
		{T_MONTH, SQL_UNIT_MONTH},
		{T_QUARTER, SQL_UNIT_QUARTER},
		{T_YEAR, SQL_UNIT_YEAR},
		{T_SECOND_MICROSECOND, SQL_UNIT_SECOND_MICROSECOND},
		{T_MINUTE_MICROSECOND, SQL_UNIT_MINUTE_MICROSECOND},
		{T_MINUTE_SECOND, SQL_UNIT_MINUTE_SECOND},
		{T_HOUR_MICROSECOND, SQL_UNIT_HOUR_MICROSECOND},
		{T_HOUR_SECOND, SQL_UNIT_HOUR_SECOND},
		{T_HOUR_MINUTE, SQL_UNIT_HOUR_MINUTE},
		{T_DAY_MICROSECOND, SQL_UNIT_DAY_MICROSECOND},
		{T_DAY_SECOND, SQL_UNIT_DAY_SECOND},
		{T_DAY_MINUTE, SQL_UNIT_DAY_MINUTE},
		{T_DAY_HOUR, SQL_UNIT_DAY_HOUR},
		{T_YEAR_MONTH, SQL_UNIT_YEAR_MONTH},
		{T_SQL_TSI_SECOND, SQL_UNIT_SECOND},
		{T_SQL_TSI_MINUTE, SQL_UNIT_MINUTE},
		{T_SQL_TSI_HOUR, SQL_UNIT_HOUR},
		{T_SQL_TSI_DAY, SQL_UNIT_DAY},
		{T_SQL_TSI_WEEK, SQL_UNIT_WEEK},
		{T_SQL_TSI_MONTH, SQL_UNIT_MONTH},
		{T_SQL_TSI_QUARTER, SQL_UNIT_QUARTER},
		{T_SQL_TSI_YEAR, SQL_UNIT_YEAR},
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (p->tok.kind == units[i].kind) {
			parse_advance(p);
			return (enum sql_unit)units[i].unit;
		}
	}
	parse_fail_why(p, "expected a unit of time such as DAY");
	return SQL_UNIT_DAY;
}

/* INTERVAL is current and an amount follows (not the function INTERVAL(a, b)). */
struct sql_expr *parse_interval(struct parser *p, uint32_t start)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_INTERVAL, start);

	parse_advance(p);
	e->u.interval.left = parse_expr(p);
	e->u.interval.unit = (uint8_t)parse_unit(p);
	return e;
}

/* INTERVAL n unit that has not met its date. */
bool is_open_interval(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_INTERVAL && !e->u.interval.date;
}

/* Precedence climbing over | & << + * ^ ||: operators of at least `min`. */
static struct sql_expr *parse_bit_level(struct parser *p, int min)
{
	struct sql_expr *left = parse_simple_expr(p);

	for (;;) {
		enum sql_op op = bit_operator(p);
		int level = bit_level[op];

		if (op == SQL_OP_NONE || (level < min && !is_open_interval(left))) {
			if (is_open_interval(left))
				parse_fail(p);
			return left;
		}
		/* INTERVAL n unit + date: only `+`, and it binds the tightest. */
		if (is_open_interval(left) && op != SQL_OP_ADD)
			parse_fail(p);
		parse_advance(p);
		if (is_open_interval(left)) {
			left->op = (uint8_t)op;
			left->u.interval.date = parse_simple_expr(p);
			if (is_open_interval(left->u.interval.date))
				parse_fail(p);
			left->loc.end = p->last_end;
			continue;
		}
		if (p->tok.kind == T_INTERVAL && level == 4) {
			/* date + INTERVAL n unit; INTERVAL(a,b) is a function, INTERVAL (a) DAY is
			 * not: the operand after the word decides. */
			struct sql_expr *e = parse_simple_expr(p);

			if (is_open_interval(e)) {
				e->op = (uint8_t)op;
				e->u.interval.date = left;
				e->loc.start = left->loc.start;
				left = e;
				continue;
			}
			p->pending = e;
		}
		/* MariaDB: a sum that begins with INTERVAL is no operand of this one. */
		bool interval = p->tok.kind == T_INTERVAL && op == SQL_OP_CONCAT && is_maria(p);
		struct sql_expr *right = parse_bit_level(p, level + 1);

		if (interval && right->kind == SQL_EXPR_INTERVAL)
			parse_fail(p);
		left = binary(p, op, left, right);
	}
}

struct sql_expr *parse_bit_expr(struct parser *p)
{
	return parse_bit_level(p, 1);
}

/* ------------------------------------------------------------------ operands */

static struct sql_expr *parse_collate(struct parser *p, struct sql_expr *left)
{
	struct sql_expr *e;

	parse_advance(p);
	/* COLLATE binary is only for columns and tables. */
	if (p->tok.kind == T_BINARY)
		parse_fail(p);
	struct span name = parse_charset_name(p);
	e = expr_new(p, SQL_EXPR_COLLATE, left->loc.start);
	e->u.cast.left = left;
	e->u.cast.charset = name;
	return e;
}

static struct sql_expr *parse_simple(struct parser *p, bool nested);

/* A unary operator takes a simple expression; COLLATE binds tighter than all of them. */
static struct sql_expr *parse_unary(struct parser *p, enum sql_op op, bool nested)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;

	parse_advance(p);
	if (parse_enter(p))
		e = parse_simple(p, true);
	else
		e = expr_new(p, SQL_EXPR_LITERAL, start);
	parse_leave(p);
	if (is_open_interval(e)) {
		/* - INTERVAL 1 DAY + date: the sum is one operand; in MariaDB of one such operator only. */
		if (is_maria(p) && (nested || (op != SQL_OP_NEG && op != SQL_OP_PLUS)))
			parse_fail(p);
		expect(p, T_PLUS);
		e->op = SQL_OP_ADD;
		e->u.interval.date = parse_simple_expr(p);
		if (is_open_interval(e->u.interval.date))
			parse_fail(p);
	}
	return unary(p, op, e, start);
}

/* `nested`: after a unary operator. */
static struct sql_expr *parse_simple(struct parser *p, bool nested)
{
	struct sql_expr *e;
	int chain = 0;

	if (LIKELY(!p->pending)) {
		switch (p->tok.kind) {
		case T_MINUS:
			return parse_unary(p, SQL_OP_NEG, nested);
		case T_PLUS:
			return parse_unary(p, SQL_OP_PLUS, nested);
		case T_TILDE:
			return parse_unary(p, SQL_OP_BIT_NOT, nested);
		case T_BANG:
			return parse_unary(p, SQL_OP_BANG, nested);
		case T_NOT:
			if (p->opt.mode & SQL_MODE_HIGH_NOT_PRECEDENCE)
				return parse_unary(p, SQL_OP_BANG, nested);
			break;
		case T_BINARY:
			return parse_unary(p, SQL_OP_BINARY, nested);
		default:
			break;
		}
	}
	e = parse_operand(p);
	for (;;) {
		if (p->tok.kind == T_COLLATE) {
			e = parse_collate(p, e);
		} else if ((p->tok.kind == T_ARROW || p->tok.kind == T_ARROW2) &&
			   e->kind == SQL_EXPR_COLUMN) {
			enum sql_op op =
				p->tok.kind == T_ARROW ? SQL_OP_JSON_EXTRACT : SQL_OP_JSON_UNQUOTE;
			struct sql_expr *path;

			parse_advance(p);
			if (!at(p, T_STRING))
				parse_fail(p);
			path = parse_literal(p);
			e = binary(p, op, e, path);
		} else {
			return e;
		}
		if (++chain > PARSE_CHAIN_MAX)
			parse_fail_why(p, "too many COLLATE clauses in a row");
	}
}

struct sql_expr *parse_simple_expr(struct parser *p)
{
	return parse_simple(p, false);
}

struct sql_exprs parse_expr_list(struct parser *p)
{
	struct sql_exprs list = {NULL, 0};
	struct sql_expr **tail = &list.first;

	do {
		exprs_add(&list, &tail, parse_expr(p));
	} while (accept(p, T_COMMA));
	return list;
}

struct sql_expr *parse_expr_or_default(struct parser *p)
{
	if (p->tok.kind == T_DEFAULT && parse_peek(p, 1).kind != T_LPAREN) {
		uint32_t start = p->tok.start;

		parse_advance(p);
		return expr_new(p, SQL_EXPR_DEFAULT, start);
	}
	if (p->tok.kind == T_IGNORE && is_maria(p)) {
		struct sql_expr *e;
		uint32_t start = p->tok.start;

		parse_advance(p);
		e = expr_new(p, SQL_EXPR_DEFAULT, start);
		e->negated = true; /* IGNORE: keep the old value */
		return e;
	}
	return parse_expr(p);
}

struct sql_expr *parse_column(struct parser *p)
{
	struct sql_expr *e;
	uint32_t start = p->tok.start;
	struct span parts[3];
	int n = 0;

	/* .table.column, an ODBC spelling that MySQL 8 dropped */
	if ((is_maria(p) || p->opt.version < 80000) && accept(p, T_DOT)) {
		parts[n++] = parse_name(p);
		expect(p, T_DOT);
		parts[n++] = parse_name(p);
		if (p->tok.kind == T_DOT)
			parse_fail(p);
	} else {
		parts[n++] = parse_name(p);
	}
	while (n < 3 && accept(p, T_DOT))
		parts[n++] = parse_name(p);
	e = expr_new(p, SQL_EXPR_COLUMN, start);
	e->u.column.name = parts[n - 1];
	if (n > 1)
		e->u.column.table = parts[n - 2];
	if (n > 2)
		e->u.column.db = parts[0];
	return e;
}
