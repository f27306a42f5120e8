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
static struct sql_query *parse_paren_open(struct parser *p);
static void parse_paren_close(struct parser *p);
static struct sql_expr *parse_call(struct parser *p, struct span db, struct span name,
	uint32_t start, enum token_kind kind, bool quoted);

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
	if (accept(p, T_NULL)) {
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

static struct sql_expr *parse_like(struct parser *p, struct sql_expr *left, bool negated)
{
	struct sql_expr *e, *pattern, *escape = NULL;

	/* In MySQL simple expressions; || that concatenates is part of one. */
	int level = is_maria(p) ? 1 : bit_level[SQL_OP_CONCAT];
	pattern = parse_bit_level(p, level);
	if (accept(p, T_ESCAPE))
		escape = parse_bit_level(p, level);
	e = expr_new(p, SQL_EXPR_LIKE, left->loc.start);
	e->negated = negated;
	e->u.between.left = left;
	e->u.between.low = pattern;
	e->u.between.high = escape;
	return e;
}

/* One predicate operator behind `left`, or NULL when there is none. */
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
		e = binary(p, SQL_OP_REGEXP, left, parse_bit_expr(p));
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
static struct sql_expr *parse_interval(struct parser *p, uint32_t start)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_INTERVAL, start);

	parse_advance(p);
	e->u.interval.left = parse_expr(p);
	e->u.interval.unit = (uint8_t)parse_unit(p);
	return e;
}

/* INTERVAL n unit that has not met its date. */
static bool is_open_interval(const struct sql_expr *e)
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

		if (op == SQL_OP_NONE || level < min) {
			if (is_open_interval(left))
				parse_fail(p);
			return left;
		}
		parse_advance(p);
		if (is_open_interval(left)) {
			/* INTERVAL n unit + date: only `+`, and it binds the tightest. */
			if (op != SQL_OP_ADD)
				parse_fail(p);
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
		struct sql_expr *right = parse_bit_level(p, level + 1);
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

/* A unary operator takes a simple expression; COLLATE binds tighter than all of them. */
static struct sql_expr *parse_unary(struct parser *p, enum sql_op op)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;

	parse_advance(p);
	if (parse_enter(p))
		e = parse_simple_expr(p);
	else
		e = expr_new(p, SQL_EXPR_LITERAL, start);
	parse_leave(p);
	if (is_open_interval(e)) {
		/* - INTERVAL 1 DAY + date: the sum is one operand. */
		expect(p, T_PLUS);
		e->op = SQL_OP_ADD;
		e->u.interval.date = parse_simple_expr(p);
		if (is_open_interval(e->u.interval.date))
			parse_fail(p);
	}
	return unary(p, op, e, start);
}

struct sql_expr *parse_simple_expr(struct parser *p)
{
	struct sql_expr *e;
	int chain = 0;

	if (LIKELY(!p->pending)) {
		switch (p->tok.kind) {
		case T_MINUS:
			return parse_unary(p, SQL_OP_NEG);
		case T_PLUS:
			return parse_unary(p, SQL_OP_PLUS);
		case T_TILDE:
			return parse_unary(p, SQL_OP_BIT_NOT);
		case T_BANG:
			return parse_unary(p, SQL_OP_BANG);
		case T_NOT:
			if (p->opt.mode & SQL_MODE_HIGH_NOT_PRECEDENCE)
				return parse_unary(p, SQL_OP_BANG);
			break;
		case T_BINARY:
			return parse_unary(p, SQL_OP_BINARY);
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
		if (!at(p, T_DOT))
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

/* ------------------------------------------------------------------ literals */

bool at_literal(struct parser *p)
{
	switch (p->tok.kind) {
	case T_L_INT:
	case T_L_DECIMAL:
	case T_L_FLOAT:
	case T_L_HEX:
	case T_HEX_STR:
	case T_L_BIT:
	case T_BIT_STR:
	case T_STRING:
	case T_NSTRING:
	case T_NULL:
	case T_TRUE:
	case T_FALSE:
	case T_NULL_N:
		return true;
	case T_INTRODUCER: {
		enum token_kind next = parse_peek(p, 1).kind;

		return next == T_STRING || next == T_L_HEX || next == T_HEX_STR ||
		       next == T_L_BIT || next == T_BIT_STR;
	}
	default:
		return false;
	}
}

/* 'a' 'b' is one string. */
static struct span parse_adjacent(struct parser *p)
{
	struct span first = parse_value(p, p->tok);

	parse_advance(p);
	if (p->tok.kind != T_STRING)
		return first;
	struct buf all = BUF_INIT;
	buf_add_span(&all, first);
	while (p->tok.kind == T_STRING) {
		buf_add_span(&all, parse_value(p, p->tok));
		parse_advance(p);
	}
	first = arena_copy(p->arena, buf_span(&all));
	buf_release(&all);
	return first;
}

static struct span between_quotes(const struct parser *p, struct token tok, uint32_t skip)
{
	return span_of(p->text + tok.start + skip,
		tok.end - tok.start - skip - (skip == 2 && p->text[tok.end - 1] == '\'' ? 1 : 0));
}

struct sql_expr *parse_literal(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e = expr_new(p, SQL_EXPR_LITERAL, start);
	struct token tok;

	if (p->tok.kind == T_INTRODUCER) {
		e->u.literal.charset =
			span_of(p->text + p->tok.start + 1, p->tok.end - p->tok.start - 1);
		parse_advance(p);
	}
	tok = p->tok;
	switch (tok.kind) {
	case T_L_INT:
		e->u.literal.kind = SQL_LIT_INT;
		break;
	case T_L_DECIMAL:
		e->u.literal.kind = SQL_LIT_DECIMAL;
		break;
	case T_L_FLOAT:
		e->u.literal.kind = SQL_LIT_FLOAT;
		break;
	case T_L_HEX:
	case T_HEX_STR:
		e->u.literal.kind = SQL_LIT_HEX;
		break;
	case T_L_BIT:
	case T_BIT_STR:
		e->u.literal.kind = SQL_LIT_BIT;
		break;
	case T_NULL_N:
		if (!is_maria(p) && p->opt.version >= 80000)
			parse_fail(p);
		break;
	case T_NULL:
		e->u.literal.kind = SQL_LIT_NULL;
		break;
	case T_TRUE:
		e->u.literal.kind = SQL_LIT_TRUE;
		break;
	case T_FALSE:
		e->u.literal.kind = SQL_LIT_FALSE;
		break;
	case T_STRING:
	case T_NSTRING:
		e->u.literal.kind = tok.kind == T_STRING ? SQL_LIT_STRING : SQL_LIT_NSTRING;
		e->u.literal.text = parse_adjacent(p);
		e->loc = loc_from(p, start);
		return e;
	default:
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_STRING);
		parse_fail(p);
		return e;
	}
	e->u.literal.quoted = tok.kind == T_HEX_STR || tok.kind == T_BIT_STR;
	if (e->u.literal.kind == SQL_LIT_HEX || e->u.literal.kind == SQL_LIT_BIT)
		e->u.literal.text = between_quotes(p, tok, 2);
	else if (tok.kind == T_L_INT || tok.kind == T_L_DECIMAL || tok.kind == T_L_FLOAT)
		e->u.literal.text = span_of(p->text + tok.start, tok.end - tok.start);
	parse_advance(p);
	e->loc = loc_from(p, start);
	return e;
}

/* DATE '2020-01-01' and kin. */
static struct sql_expr *parse_temporal(struct parser *p)
{
	uint32_t start = p->tok.start;
	enum token_kind kind = p->tok.kind;
	struct sql_expr *e;
	struct span value;

	parse_advance(p);
	value = parse_adjacent(p);
	e = expr_new(p, SQL_EXPR_LITERAL, start);
	e->u.literal.kind = kind == T_DATE   ? SQL_LIT_DATE
			    : kind == T_TIME ? SQL_LIT_TIME
					     : SQL_LIT_TIMESTAMP;
	e->u.literal.text = value;
	return e;
}

/* {d '...'}, {t '...'}, {ts '...'}, {fn f(x)}: ODBC. */
static struct sql_expr *parse_odbc(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e, *inner;
	struct span name;
	int kind = -1;

	parse_advance(p);
	name = parse_name(p);
	inner = parse_expr(p);
	expect(p, T_RBRACE);
	if (span_ieq_str(name, "d"))
		kind = SQL_LIT_DATE;
	else if (span_ieq_str(name, "t"))
		kind = SQL_LIT_TIME;
	else if (span_ieq_str(name, "ts"))
		kind = SQL_LIT_TIMESTAMP;
	if (kind >= 0 && inner->kind == SQL_EXPR_LITERAL &&
		inner->u.literal.kind == SQL_LIT_STRING && !inner->u.literal.charset.ptr) {
		inner->u.literal.kind = (uint8_t)kind;
		inner->loc = loc_from(p, start);
		return inner;
	}
	e = expr_new(p, SQL_EXPR_ODBC, start);
	e->u.call.name = name;
	e->u.call.args = (struct sql_exprs){inner, 1};
	return e;
}

/* ------------------------------------------------------------------ variables */

static struct sql_expr *parse_user_var(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;
	struct span name;

	if (p->tok.flags & TF_ESCAPED || p->text[start + 1] == '\'' || p->text[start + 1] == '"' ||
		p->text[start + 1] == '`') {
		struct token inner = p->tok;

		inner.kind = T_STRING;
		inner.start++;
		name = parse_value(p, inner);
		if (name.len == 0 && is_maria(p))
			parse_fail(p);
	} else {
		name = span_of(p->text + start + 1, p->tok.end - start - 1);
	}
	parse_advance(p);
	e = expr_new(p, SQL_EXPR_USER_VAR, start);
	e->u.var.name = name;
	if (p->tok.kind == T_ASSIGN) {
		struct sql_expr *right;

		parse_advance(p);
		right = parse_expr(p);
		struct sql_expr *assign = expr_new(p, SQL_EXPR_ASSIGN, start);
		assign->u.binary.left = e;
		assign->u.binary.right = right;
		return assign;
	}
	return e;
}

/* @@x, @@global.x, @@session.x, @@base.x. */
static enum sql_scope scope_of_word(const struct parser *p)
{
	struct span word = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);

	if (span_ieq_str(word, "global"))
		return SQL_SCOPE_GLOBAL;
	if (span_ieq_str(word, "session") || span_ieq_str(word, "local"))
		return SQL_SCOPE_SESSION;
	if (!is_maria(p) && p->opt.version >= 80000 && span_ieq_str(word, "persist"))
		return SQL_SCOPE_PERSIST;
	if (!is_maria(p) && p->opt.version >= 80000 && span_ieq_str(word, "persist_only"))
		return SQL_SCOPE_PERSIST_ONLY;
	return SQL_SCOPE_NONE;
}

struct sql_expr *parse_system_var(struct parser *p, bool set)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e = expr_new(p, SQL_EXPR_SYSTEM_VAR, start);

	parse_advance(p);
	if (!at_name(p)) {
		parse_fail(p);
		return e;
	}
	bool quoted = p->tok.kind == T_QUOTED;
	enum sql_scope scope = quoted ? SQL_SCOPE_NONE : scope_of_word(p);

	e->u.var.scope = (uint8_t)scope;
	if (scope != SQL_SCOPE_NONE) {
		parse_advance(p);
		expect(p, T_DOT);
		/* A connection's name may be a string in MariaDB: @@global.'c'.x */
		if (is_maria(p) && p->tok.kind == T_STRING && parse_peek(p, 1).kind == T_DOT)
			e->u.var.name = parse_string(p);
		else
			e->u.var.name = parse_name(p);
	} else {
		e->u.var.name = parse_name(p);
	}
	if (accept(p, T_DOT)) {
		struct span base = e->u.var.name;

		e->u.var.base = base;
		e->u.var.name = parse_name(p);
		/* No component is called like a scope or, in an expression, DEFAULT. */
		if ((!set || !is_maria(p)) &&
			(span_ieq_str(base, "global") || span_ieq_str(base, "session") ||
				span_ieq_str(base, "local")))
			parse_fail(p);
		if (!set && scope == SQL_SCOPE_NONE && !quoted && span_ieq_str(base, "default"))
			parse_fail(p);
	}
	e->loc = loc_from(p, start);
	return e;
}

/* ------------------------------------------------------------------ parentheses */

/* What a parenthesis holds may be a query, a row or an expression, and which of them an inner
 * parenthesis starts is known only behind it: ((SELECT 1) UNION SELECT 2), ((SELECT 1) + 1),
 * ((SELECT 1), 2).  parse_paren_open reads the `(` and, if it is one, the whole query, and returns
 * it.  Otherwise it returns NULL, and an inner parenthesis it had to read waits in p->pending as
 * the first operand of the expression that the caller reads next. */
static struct sql_expr *subquery_expr(struct parser *p, struct sql_query *query, uint32_t start)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_SUBQUERY, start);

	e->u.in.query = query;
	return e;
}

static struct sql_expr *row_or_expr(struct parser *p, uint32_t start)
{
	struct sql_expr *first = parse_expr(p), *row;
	struct sql_expr **tail;

	if (!at(p, T_COMMA))
		return first;
	row = expr_new(p, SQL_EXPR_ROW, start);
	tail = &row->u.call.args.first;
	exprs_add(&row->u.call.args, &tail, first);
	while (accept(p, T_COMMA))
		exprs_add(&row->u.call.args, &tail, parse_expr(p));
	return row;
}

static struct sql_query *parse_paren_open(struct parser *p)
{
	struct sql_query *query;
	struct sql_expr *operand = NULL;
	uint32_t inner;

	if (!parse_enter(p))
		return NULL;
	expect(p, T_LPAREN);
	if (at_query(p)) {
		query = parse_query(p);
		if (query->into)
			parse_fail_why(p, "INTO is not for a subquery, before this");
		no_procedure(p, query);
		return query;
	}
	if (p->tok.kind != T_LPAREN)
		return NULL;
	inner = p->tok.start;
	query = parse_paren_open(p);
	if (!query)
		operand = row_or_expr(p, inner);
	parse_paren_close(p);
	if (query) {
		if (query_continues(p))
			query = parse_query_after(p, query, inner);
		if (p->tok.kind == T_RPAREN)
			return query;
		operand = subquery_expr(p, query, inner);
	}
	if (operand->kind == SQL_EXPR_ROW)
		operand->loc = loc_from(p, inner);
	p->pending = operand;
	return NULL;
}

static void parse_paren_close(struct parser *p)
{
	expect(p, T_RPAREN);
	parse_leave(p);
}

static struct sql_expr *parse_paren_operand(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_query *query = parse_paren_open(p);
	struct sql_expr *e = NULL;

	if (!query)
		e = row_or_expr(p, start);
	parse_paren_close(p);
	if (query)
		return subquery_expr(p, query, start);
	if (e->kind == SQL_EXPR_ROW)
		e->loc = loc_from(p, start);
	return e;
}

/* ------------------------------------------------------------------ special forms */

static struct sql_expr *parse_case(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e = expr_new(p, SQL_EXPR_CASE, start);
	struct sql_when **tail = &e->u.kase.whens;

	parse_advance(p);
	if (!at(p, T_WHEN))
		e->u.kase.value = parse_expr(p);
	do {
		struct sql_when *when = NEW(p, struct sql_when);

		expect(p, T_WHEN);
		when->when = parse_expr(p);
		expect(p, T_THEN);
		when->then = parse_expr(p);
		APPEND(tail, when);
	} while (at(p, T_WHEN));
	if (accept(p, T_ELSE))
		e->u.kase.otherwise = parse_expr(p);
	expect(p, T_END);
	e->loc = loc_from(p, start);
	return e;
}

static struct sql_expr *parse_cast(struct parser *p)
{
	uint32_t start = p->tok.start;
	bool convert = p->tok.kind == T_CONVERT;
	struct sql_expr *e = expr_new(p, SQL_EXPR_CAST, start);

	parse_advance(p);
	expect(p, T_LPAREN);
	e->u.cast.left = parse_expr(p);
	e->u.cast.convert = convert;
	if (convert && accept(p, T_USING)) {
		e->kind = SQL_EXPR_CONVERT_USING;
		e->u.cast.charset = parse_charset_name(p);
	} else {
		expect(p, convert ? T_COMMA : T_AS);
		e->u.cast.type = parse_cast_type(p);
	}
	expect(p, T_RPAREN);
	e->loc = loc_from(p, start);
	return e;
}

static struct sql_expr *parse_extract(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e = expr_new(p, SQL_EXPR_EXTRACT, start);

	parse_advance(p);
	expect(p, T_LPAREN);
	e->u.interval.unit = (uint8_t)parse_unit(p);
	expect(p, T_FROM);
	e->u.interval.left = parse_expr(p);
	expect(p, T_RPAREN);
	e->loc = loc_from(p, start);
	return e;
}

static struct sql_expr *parse_trim(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e = expr_new(p, SQL_EXPR_TRIM, start), *first = NULL;

	parse_advance(p);
	expect(p, T_LPAREN);
	if (accept(p, T_BOTH))
		e->u.trim.where = SQL_TRIM_BOTH;
	else if (accept(p, T_LEADING))
		e->u.trim.where = SQL_TRIM_LEADING;
	else if (accept(p, T_TRAILING))
		e->u.trim.where = SQL_TRIM_TRAILING;
	if (e->u.trim.where == SQL_TRIM_NONE || !at(p, T_FROM))
		first = parse_expr(p);
	if (accept(p, T_FROM)) {
		e->u.trim.what = first;
		e->u.trim.left = parse_expr(p);
	} else {
		if (e->u.trim.where != SQL_TRIM_NONE)
			parse_fail(p);
		e->u.trim.left = first;
	}
	expect(p, T_RPAREN);
	e->loc = loc_from(p, start);
	return e;
}

static struct sql_expr *parse_position(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e = expr_new(p, SQL_EXPR_POSITION, start);

	parse_advance(p);
	expect(p, T_LPAREN);
	e->u.binary.left = parse_bit_expr(p);
	expect(p, T_IN);
	e->u.binary.right = parse_expr(p);
	expect(p, T_RPAREN);
	e->loc = loc_from(p, start);
	return e;
}

static struct sql_expr *parse_interval_operand(struct parser *p);

/* DATE_ADD(d, INTERVAL n unit), ADDDATE(d, n), TIMESTAMPADD(unit, n, d), TIMESTAMPDIFF. */
static struct sql_expr *parse_date_func(struct parser *p)
{
	uint32_t start = p->tok.start;
	enum token_kind kind = p->tok.kind;
	struct sql_expr *e = expr_new(p, SQL_EXPR_DATE_FUNC, start);

	e->u.interval.name = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);
	parse_advance(p);
	expect(p, T_LPAREN);
	if (kind == T_TIMESTAMPADD || kind == T_TIMESTAMPDIFF) {
		e->u.interval.unit = (uint8_t)parse_unit(p);
		expect(p, T_COMMA);
		e->u.interval.left = parse_expr(p);
		expect(p, T_COMMA);
		e->u.interval.date = parse_expr(p);
	} else {
		e->u.interval.date = parse_expr(p);
		expect(p, T_COMMA);
		if (p->tok.kind == T_INTERVAL) {
			struct sql_expr *amount = parse_interval_operand(p);

			if (is_open_interval(amount) && p->tok.kind == T_RPAREN) {
				e->u.interval.left = amount->u.interval.left;
				e->u.interval.unit = amount->u.interval.unit;
			} else {
				/* ADDDATE(d, INTERVAL(1, 2)): the function. */
				p->pending = amount;
				e->u.interval.left = parse_expr(p);
				e->u.interval.bare = true;
			}
		} else {
			e->u.interval.left = parse_expr(p);
			e->u.interval.bare = true;
		}
		if (e->u.interval.bare && kind != T_ADDDATE && kind != T_SUBDATE)
			parse_fail(p);
	}
	expect(p, T_RPAREN);
	e->loc = loc_from(p, start);
	return e;
}

/* INTERVAL n unit + date, or the function INTERVAL(n, a, b ...).  Without a date behind it the
 * node comes back with date NULL: the caller knows whether that is allowed. */
static struct sql_expr *parse_interval_operand(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;

	if (p->tok.flags & TF_CALL || parse_peek(p, 1).kind == T_LPAREN) {
		/* Read it as the list of a call; one element and a unit: an interval after all. */
		struct sql_exprs args;

		parse_advance(p);
		struct sql_expr *first = parse_paren_operand(p);
		if (first->kind == SQL_EXPR_ROW) {
			args = first->u.call.args;
			e = expr_new(p, SQL_EXPR_CALL, start);
			e->u.call.name = SPAN_LIT("INTERVAL");
			e->u.call.args = args;
			return e;
		}
		p->pending = first;
		e = expr_new(p, SQL_EXPR_INTERVAL, start);
		e->u.interval.left = parse_expr(p);
		e->u.interval.unit = (uint8_t)parse_unit(p);
	} else {
		e = parse_interval(p, start);
	}
	e->loc = loc_from(p, start);
	return e;
}

static struct sql_expr *parse_match(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e = expr_new(p, SQL_EXPR_MATCH, start);
	struct sql_expr **tail = &e->u.match.columns.first;
	bool paren;

	parse_advance(p);
	paren = accept(p, T_LPAREN);
	do {
		exprs_add(&e->u.match.columns, &tail, parse_column(p));
	} while (accept(p, T_COMMA));
	if (paren)
		expect(p, T_RPAREN);
	expect(p, T_AGAINST);
	expect(p, T_LPAREN);
	e->u.match.against = parse_bit_expr(p);
	if (accept(p, T_IN)) {
		if (accept(p, T_BOOLEAN)) {
			expect(p, T_MODE);
			e->u.match.mode = SPAN_LIT("IN BOOLEAN MODE");
		} else {
			expect(p, T_NATURAL);
			expect(p, T_LANGUAGE);
			expect(p, T_MODE);
			e->u.match.mode = SPAN_LIT("IN NATURAL LANGUAGE MODE");
		}
	}
	if (e->u.match.mode.len != 15 && accept(p, T_WITH)) {
		expect(p, T_QUERY);
		expect(p, T_EXPANSION);
		e->u.match.mode = SPAN_LIT("WITH QUERY EXPANSION");
	}
	expect(p, T_RPAREN);
	e->loc = loc_from(p, start);
	return e;
}

/* ------------------------------------------------------------------ functions */

struct sql_order *parse_order_list(struct parser *p, bool directions)
{
	struct sql_order *list = NULL, **tail = &list;

	do {
		struct sql_order *item = NEW(p, struct sql_order);

		item->expr = parse_expr(p);
		if (directions) {
			if (accept(p, T_DESC))
				item->desc = true;
			else if (accept(p, T_ASC))
				item->asc = true;
		}
		APPEND(tail, item);
	} while (accept(p, T_COMMA));
	return list;
}

/* One end of a frame: UNBOUNDED PRECEDING, CURRENT ROW, n PRECEDING, INTERVAL n unit FOLLOWING. */
static void parse_frame_bound(struct parser *p, struct sql_window *w, struct sql_expr ***tail)
{
	if (accept(p, T_CURRENT)) {
		expect(p, T_ROW);
		return;
	}
	if (!accept(p, T_UNBOUNDED)) {
		struct sql_expr *bound = p->tok.kind == T_INTERVAL ? parse_interval_operand(p)
								   : parse_bit_expr(p);

		/* MySQL: a number or a parameter. */
		if (!is_maria(p) && !is_open_interval(bound) && bound->kind != SQL_EXPR_PARAM &&
			!(bound->kind == SQL_EXPR_LITERAL &&
				(bound->u.literal.kind == SQL_LIT_INT ||
					bound->u.literal.kind == SQL_LIT_DECIMAL ||
					bound->u.literal.kind == SQL_LIT_FLOAT)))
			parse_fail(p);
		exprs_add(&w->bounds, tail, bound);
	}
	if (!accept(p, T_PRECEDING))
		expect(p, T_FOLLOWING);
}

static void parse_frame(struct parser *p, struct sql_window *w)
{
	uint32_t start = p->tok.start;
	struct sql_expr **tail = &w->bounds.first;

	parse_advance(p);
	if (accept(p, T_BETWEEN)) {
		parse_frame_bound(p, w, &tail);
		expect(p, T_AND);
		parse_frame_bound(p, w, &tail);
	} else {
		parse_frame_bound(p, w, &tail);
	}
	if (accept(p, T_EXCLUDE)) {
		if (accept(p, T_CURRENT))
			expect(p, T_ROW);
		else if (accept(p, T_NO))
			expect(p, T_OTHERS);
		else if (!accept(p, T_GROUP))
			expect(p, T_TIES);
	}
	w->frame = text_from(p, start);
}

/* Inside of OVER (...) or WINDOW w AS (...); `(` is current. */
void parse_window_spec(struct parser *p, struct sql_window *w)
{
	expect(p, T_LPAREN);
	w->parenthesised = true;
	if (p->tok.kind != T_PARTITION && p->tok.kind != T_RANGE && p->tok.kind != T_ROWS &&
		p->tok.kind != T_GROUPS && at_name(p))
		w->base = parse_name(p);
	if (accept(p, T_PARTITION)) {
		expect(p, T_BY);
		w->partition = parse_expr_list(p);
	}
	if (accept(p, T_ORDER)) {
		expect(p, T_BY);
		w->order = parse_order_list(p, true);
	}
	if (at(p, T_ROWS) || at(p, T_RANGE) || (!is_maria(p) && at(p, T_GROUPS)))
		parse_frame(p, w);
	expect(p, T_RPAREN);
}

static struct sql_window *parse_over(struct parser *p)
{
	struct sql_window *w = NEW(p, struct sql_window);

	parse_advance(p);
	if (p->tok.kind == T_LPAREN)
		parse_window_spec(p, w);
	else
		w->name = parse_name(p);
	return w;
}

static struct sql_call_extra *extra_of(struct parser *p, struct sql_expr *e)
{
	if (!e->u.call.extra)
		e->u.call.extra = NEW(p, struct sql_call_extra);
	return e->u.call.extra;
}

static bool is_aggregate(enum token_kind kind)
{
	switch (kind) {
	case T_COUNT:
	case T_SUM:
	case T_AVG:
	case T_MIN:
	case T_MAX:
	case T_BIT_AND:
	case T_BIT_OR:
	case T_BIT_XOR:
	case T_STD:
	case T_STDDEV:
	case T_STDDEV_POP:
	case T_STDDEV_SAMP:
	case T_VARIANCE:
	case T_VAR_POP:
	case T_VAR_SAMP:
	case T_GROUP_CONCAT:
	case T_JSON_ARRAYAGG:
	case T_JSON_OBJECTAGG:
		return true;
	default:
		return false;
	}
}

static void parse_group_concat_tail(struct parser *p, struct sql_expr *e)
{
	if (accept(p, T_ORDER)) {
		expect(p, T_BY);
		extra_of(p, e)->order = parse_order_list(p, true);
	}
	if (accept(p, T_SEPARATOR))
		extra_of(p, e)->separator = parse_string(p);
	if (is_maria(p) && accept(p, T_LIMIT)) {
		struct sql_call_extra *x = extra_of(p, e);

		x->limit = parse_simple_expr(p);
		if (accept(p, T_COMMA)) {
			x->offset = x->limit;
			x->limit = parse_simple_expr(p);
		} else if (accept(p, T_OFFSET)) {
			x->offset = parse_simple_expr(p);
		}
	}
}

/* COUNT(*), SUM(DISTINCT x), GROUP_CONCAT(...); the name is read, `(` is current. */
static void parse_aggregate_args(struct parser *p, struct sql_expr *e, enum token_kind kind)
{
	bool json = kind == T_JSON_ARRAYAGG || kind == T_JSON_OBJECTAGG;

	expect(p, T_LPAREN);
	if (json && !is_maria(p) && (p->tok.kind == T_DISTINCT || p->tok.kind == T_ALL))
		parse_fail(p);
	if (accept(p, T_DISTINCT) || (p->tok.kind == T_DISTINCTROW && accept(p, T_DISTINCTROW))) {
		extra_of(p, e)->distinct = true;
	} else if (p->tok.kind == T_ALL) {
		parse_advance(p);
	} else if (kind == T_COUNT && p->tok.kind == T_STAR) {
		parse_advance(p);
		extra_of(p, e)->star = true;
		expect(p, T_RPAREN);
		return;
	}
	bool many = kind == T_GROUP_CONCAT || kind == T_JSON_OBJECTAGG ||
		    (kind == T_JSON_ARRAYAGG && is_maria(p)) ||
		    (kind == T_COUNT && e->u.call.extra && e->u.call.extra->distinct);
	if (many) {
		e->u.call.args = parse_expr_list(p);
		if (kind == T_JSON_OBJECTAGG && e->u.call.args.count != 2)
			parse_fail_why(p, "JSON_OBJECTAGG takes two arguments");
	} else {
		e->u.call.args = (struct sql_exprs){parse_expr(p), 1};
	}
	if (kind == T_GROUP_CONCAT || (kind == T_JSON_ARRAYAGG && is_maria(p)))
		parse_group_concat_tail(p, e);
	expect(p, T_RPAREN);
}

/* Functions that must have an OVER clause. */
static bool window_only(const struct parser *p, enum token_kind kind)
{
	switch (kind) {
	case T_ROW_NUMBER:
	case T_RANK:
	case T_DENSE_RANK:
	case T_PERCENT_RANK:
	case T_CUME_DIST:
	case T_NTILE:
	case T_LEAD:
	case T_LAG:
	case T_FIRST_VALUE:
	case T_NTH_VALUE:
		return true;
	case T_MEDIAN:
	case T_PERCENTILE_CONT:
	case T_PERCENTILE_DISC:
		return is_maria(p);
	case T_LAST_VALUE:
		return !is_maria(p);
	default:
		return false;
	}
}

/* How many arguments the grammar itself demands of functions whose names are keywords. */
static const struct arity {
	uint16_t kind;
	uint8_t min, max;
} arities[] = {
	{T_ASCII, 1, 1},
	{T_CHARSET, 1, 1},
	{T_COALESCE, 1, 255},
	{T_COLLATION, 1, 1},
	{T_CURDATE, 0, 0},
	{T_CURRENT_DATE, 0, 0},
	{T_CURRENT_ROLE, 0, 0},
	{T_CURRENT_TIME, 0, 1},
	{T_CURRENT_TIMESTAMP, 0, 1},
	{T_CURRENT_USER, 0, 0},
	{T_CURTIME, 0, 1},
	{T_DATABASE, 0, 0},
	{T_CUME_DIST, 0, 0},
	{T_DATE, 1, 1},
	{T_DAY, 1, 1},
	{T_DENSE_RANK, 0, 0},
	{T_FIRST_VALUE, 1, 1},
	{T_FORMAT, 2, 3},
	{T_HOUR, 1, 1},
	{T_IF, 3, 3},
	{T_INSERT, 4, 4},
	{T_LAG, 1, 3}, /* MariaDB: no default value */
	{T_LAST_VALUE, 1, 255},
	{T_LEAD, 1, 3},
	{T_LEFT, 2, 2},
	{T_LOCALTIME, 0, 1},
	{T_LOCALTIMESTAMP, 0, 1},
	{T_MEDIAN, 1, 1},
	{T_MICROSECOND, 1, 1},
	{T_MINUTE, 1, 1},
	{T_MOD, 2, 2},
	{T_MONTH, 1, 1},
	{T_NOW, 0, 1},
	{T_NTH_VALUE, 2, 2},
	{T_NTILE, 1, 1},
	{T_PASSWORD, 1, 1},
	{T_PERCENTILE_CONT, 1, 1},
	{T_PERCENTILE_DISC, 1, 1},
	{T_PERCENT_RANK, 0, 0},
	{T_QUARTER, 1, 1},
	{T_RANK, 0, 0},
	{T_REPEAT, 2, 2},
	{T_REPLACE, 3, 3},
	{T_REVERSE, 1, 1},
	{T_RIGHT, 2, 2},
	{T_ROW_COUNT, 0, 0},
	{T_ROW_NUMBER, 0, 0},
	{T_SCHEMA, 0, 0},
	{T_SECOND, 1, 1},
	{T_SQL_TSI_DAY, 1, 1},
	{T_SQL_TSI_HOUR, 1, 1},
	{T_SQL_TSI_MINUTE, 1, 1},
	{T_SQL_TSI_MONTH, 1, 1},
	{T_SQL_TSI_SECOND, 1, 1},
	{T_SQL_TSI_YEAR, 1, 1},
	{T_SYSDATE, 0, 1},
	{T_TIME, 1, 1},
	{T_TIMESTAMP, 1, 2},
	{T_TRUNCATE, 2, 2},
	{T_USER, 0, 0},
	{T_SESSION_USER, 0, 0},
	{T_SYSTEM_USER, 0, 0},
	{T_UTC_DATE, 0, 0},
	{T_UTC_TIME, 0, 1},
	{T_UTC_TIMESTAMP, 0, 1},
	{T_WEEK, 1, 2},
	{T_YEAR, 1, 1},
};

static const struct arity *arity_of(enum token_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(arities); i++) {
		if (arities[i].kind == kind)
			return &arities[i];
	}
	return NULL;
}

/* SUBSTRING(s FROM a FOR b) is SUBSTRING(s, a, b). */
static void parse_substring_args(struct parser *p, struct sql_expr *e)
{
	struct sql_expr **tail = &e->u.call.args.first;
	bool from;

	expect(p, T_LPAREN);
	exprs_add(&e->u.call.args, &tail, parse_expr(p));
	from = accept(p, T_FROM);
	if (!from)
		expect(p, T_COMMA);
	exprs_add(&e->u.call.args, &tail, parse_expr(p));
	if (accept(p, from ? T_FOR : T_COMMA))
		exprs_add(&e->u.call.args, &tail, parse_expr(p));
	expect(p, T_RPAREN);
}

/* From the current token up to the `)` that closes the call, as text. */
static struct span skip_to_close(struct parser *p)
{
	uint32_t start = p->tok.start;
	int depth = 0;

	while (p->tok.kind != T_EOF && p->tok.kind != T_ERROR && p->tok.kind != T_SEMICOLON) {
		if (p->tok.kind == T_LPAREN) {
			depth++;
		} else if (p->tok.kind == T_RPAREN) {
			if (depth-- == 0)
				break;
		}
		parse_advance(p);
	}
	return text_from(p, start);
}

/* Functions with clauses behind an argument, which are kept as text: WEIGHT_STRING(x AS CHAR(4)),
 * JSON_VALUE(d, p RETURNING t NULL ON EMPTY), COLUMN_GET(b, n AS INT). */
static bool own_clauses(const struct parser *p, struct span name)
{
	if (span_ieq_str(name, "weight_string") ||
		(!is_maria(p) && span_ieq_str(name, "json_value")))
		return true;
	return is_maria(p) &&
	       (span_ieq_str(name, "column_create") || span_ieq_str(name, "column_add") ||
		       span_ieq_str(name, "column_get"));
}

/* [AS CHAR(n) | AS BINARY(n)] and, in MariaDB, [LEVEL n [ASC | DESC] [REVERSE], ... | LEVEL n-m]. */
static void check_weight_string(struct parser *p)
{
	if (accept(p, T_AS)) {
		struct span n;

		if (!accept(p, T_CHAR) && !accept(p, T_CHARACTER))
			expect(p, T_BINARY);
		expect(p, T_LPAREN);
		n = parse_number(p);
		if (n.len == 1 && *n.ptr == '0')
			parse_fail(p);
		expect(p, T_RPAREN);
	}
	if (!is_maria(p) || !accept(p, T_LEVEL)) {
		if (!at(p, T_RPAREN))
			parse_fail(p);
		return;
	}
	parse_number(p);
	if (accept(p, T_MINUS)) {
		parse_number(p);
	} else {
		for (;;) {
			if (!accept(p, T_ASC))
				accept(p, T_DESC);
			accept(p, T_REVERSE);
			if (!accept(p, T_COMMA))
				break;
			parse_number(p);
		}
	}
	if (!at(p, T_RPAREN))
		parse_fail(p);
}

/* Arguments of any other function: expr [AS alias], ... */
static void parse_plain_args(struct parser *p, struct sql_expr *e, bool aliases)
{
	struct sql_expr **tail = &e->u.call.args.first;

	expect(p, T_LPAREN);
	if (accept(p, T_RPAREN))
		return;
	do {
		struct sql_expr *arg = parse_expr(p);

		exprs_add(&e->u.call.args, &tail, arg);
		if (!aliases || p->tok.kind == T_COMMA || p->tok.kind == T_RPAREN)
			continue;
		if (own_clauses(p, e->u.call.name)) {
			uint32_t clause = p->tok.start;

			if (span_ieq_str(e->u.call.name, "weight_string"))
				check_weight_string(p);
			else if (span_ieq_str(e->u.call.name, "json_value") &&
				 e->u.call.args.count != 2)
				parse_fail(p);
			skip_to_close(p);
			extra_of(p, e)->tail = text_from(p, clause);
		} else if (accept(p, T_AS) || at_name(p) || p->tok.kind == T_STRING) {
			/* Only loadable functions may see the alias; the tree leaves it out. */
			parse_name_or_string(p);
		}
	} while (accept(p, T_COMMA));
	/* COLUMN_CREATE(name, value, ...), COLUMN_ADD(blob, name, value, ...) */
	if (is_maria(p) && ((span_ieq_str(e->u.call.name, "column_create") &&
				    e->u.call.args.count % 2 == 1) ||
				   (span_ieq_str(e->u.call.name, "column_add") &&
					   e->u.call.args.count % 2 == 0)))
		parse_fail(p);
	expect(p, T_RPAREN);
}

/* What may stand behind the arguments: nulls treatment, WITHIN GROUP, OVER. */
static void parse_call_tail(struct parser *p, struct sql_expr *e, bool takes_over)
{
	uint32_t start = p->tok.start;

	if (p->tok.kind == T_WITHIN && parse_peek(p, 1).kind == T_GROUP && is_maria(p)) {
		parse_advance(p);
		parse_advance(p);
		expect(p, T_LPAREN);
		expect(p, T_ORDER);
		expect(p, T_BY);
		extra_of(p, e)->within_group = true;
		extra_of(p, e)->order = parse_order_list(p, true);
		if (extra_of(p, e)->order->next)
			parse_fail_why(p, "WITHIN GROUP orders by one expression");
		expect(p, T_RPAREN);
	}
	if (!is_maria(p)) {
		if (p->tok.kind == T_FROM &&
			(parse_peek(p, 1).kind == T_FIRST || parse_peek(p, 1).kind == T_LAST) &&
			(parse_peek(p, 2).kind == T_OVER || parse_peek(p, 2).kind == T_RESPECT ||
				parse_peek(p, 2).kind == T_IGNORE)) {
			parse_advance(p);
			parse_advance(p);
		}
		if ((p->tok.kind == T_RESPECT || p->tok.kind == T_IGNORE) &&
			parse_peek(p, 1).kind == T_NULLS) {
			parse_advance(p);
			parse_advance(p);
		}
		if (p->last_end > start)
			extra_of(p, e)->nulls = text_from(p, start);
	}
	if (p->tok.kind == T_OVER && takes_over)
		extra_of(p, e)->over = parse_over(p);
}

/* A number of rows of a window function: an integer, a variable or a parameter. */
static bool is_row_count(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_PARAM || e->kind == SQL_EXPR_USER_VAR ||
	       (e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_INT);
}

/* What MySQL's grammar demands of the arguments of some functions. */
static void check_mysql_args(struct parser *p, const struct sql_expr *e, enum token_kind kind)
{
	static const struct {
		const char *name;
		uint8_t min, max;
	} named[] = {{"log", 1, 2}, {"point", 2, 2}, {"linestring", 1, 255}, {"polygon", 1, 255},
		{"multipoint", 1, 255}, {"multilinestring", 1, 255}, {"multipolygon", 1, 255}};
	const struct sql_expr *first = e->u.call.args.first;
	uint32_t count = e->u.call.args.count;

	if (kind == T_NTILE && first && !is_row_count(first))
		parse_fail_why(p, "expected a number of rows before this");
	if ((kind == T_LEAD || kind == T_LAG) && count > 1 && !is_row_count(first->next))
		parse_fail_why(p, "expected a number of rows before this");
	/* A simple expression: one with an operator needs parentheses. */
	if (kind == T_NTH_VALUE && count > 1 && first->next->kind == SQL_EXPR_BINARY &&
		p->text[first->next->loc.start - 1] != '(')
		parse_fail_why(p, "expected a number of rows before this");
	if ((kind == T_SQL_TSI_QUARTER && count != 1) || (kind == T_GROUPING && count == 0) ||
		(kind == T_SQL_TSI_WEEK && (count < 1 || count > 2)))
		parse_fail_why(p, "wrong number of arguments before this");
	if (kind != T_IDENT || e->u.call.quoted)
		return;
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (span_ieq_str(e->u.call.name, named[i].name) &&
			(count < named[i].min || (named[i].max < 255 && count > named[i].max)))
			parse_fail_why(p, "wrong number of arguments before this");
	}
}

static struct sql_expr *parse_call(struct parser *p, struct span db, struct span name,
	uint32_t start, enum token_kind kind, bool quoted)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_CALL, start);
	const struct arity *arity = NULL;

	e->u.call.db = db;
	e->u.call.name = name;
	e->u.call.quoted = quoted;
	if (kind == T_SUBSTRING || kind == T_SUBSTR || kind == T_MID) {
		parse_substring_args(p, e);
	} else if (is_aggregate(kind)) {
		parse_aggregate_args(p, e, kind);
	} else if (kind == T_CHAR || kind == T_CHARACTER) {
		expect(p, T_LPAREN);
		e->u.call.args = parse_expr_list(p);
		if (accept(p, T_USING))
			extra_of(p, e)->using_charset = parse_charset_name(p);
		expect(p, T_RPAREN);
	} else {
		arity = kind > T_BEFORE_KEYWORDS ? arity_of(kind) : NULL;
		parse_plain_args(p, e, arity == NULL);
		if (arity && (e->u.call.args.count < arity->min ||
				     (arity->max < 255 && e->u.call.args.count > arity->max)))
			parse_fail_why(p, "wrong number of arguments before this");
		if (is_maria(p) && (kind == T_LAG || kind == T_LEAD) && e->u.call.args.count > 2)
			parse_fail_why(p, "wrong number of arguments before this");
		if (!is_maria(p) && p->opt.version >= 80000)
			check_mysql_args(p, e, kind);
	}
	parse_call_tail(p, e, is_aggregate(kind) || window_only(p, kind) || kind == T_LAST_VALUE);
	if (window_only(p, kind) && !(e->u.call.extra && e->u.call.extra->over))
		expect(p, T_OVER);
	e->loc = loc_from(p, start);
	return e;
}

/* NOW, CURRENT_TIMESTAMP and kin without parentheses. */
static struct sql_expr *parse_niladic(struct parser *p)
{
	struct sql_expr *e;
	uint32_t start = p->tok.start;
	struct span name = span_of(p->text + start, p->tok.end - start);

	if (parse_peek(p, 1).kind == T_LPAREN) {
		enum token_kind kind = p->tok.kind;

		parse_advance(p);
		return parse_call(p, SPAN_NONE, name, start, kind, false);
	}
	parse_advance(p);
	e = expr_new(p, SQL_EXPR_CALL, start);
	e->u.call.name = name;
	return e;
}

/* ------------------------------------------------------------------ primary */

/* A word followed by `(`: which keywords have a grammar of their own. */
static struct sql_expr *parse_word_call(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct span name;
	struct sql_expr *e;
	enum token_kind kind = p->tok.kind;
	bool quoted;

	switch (kind) {
	case T_CAST:
		return parse_cast(p);
	case T_EXTRACT:
		return parse_extract(p);
	case T_TRIM:
		return parse_trim(p);
	case T_POSITION:
		return parse_position(p);
	case T_DATE_ADD:
	case T_DATE_SUB:
	case T_ADDDATE:
	case T_SUBDATE:
	case T_TIMESTAMPADD:
	case T_TIMESTAMPDIFF:
		return parse_date_func(p);
	case T_ROW:
		parse_advance(p);
		e = parse_paren_operand(p);
		if (e->kind != SQL_EXPR_ROW)
			parse_fail(p);
		e->loc.start = start;
		return e;
	case T_VALUE:
		/* Of a column only; outside of ON DUPLICATE KEY UPDATE it means little. */
		if (!is_maria(p))
			parse_fail(p);
		name = parse_value(p, p->tok);
		parse_advance(p);
		expect(p, T_LPAREN);
		if (p->in_duplicate) {
			e = expr_new(p, SQL_EXPR_VALUES, start);
			e->u.binary.left = parse_column(p);
		} else {
			e = expr_new(p, SQL_EXPR_CALL, start);
			e->u.call.name = name;
			e->u.call.args = (struct sql_exprs){parse_column(p), 1};
		}
		expect(p, T_RPAREN);
		e->loc = loc_from(p, start);
		return e;
	case T_GET_FORMAT:
		parse_advance(p);
		expect(p, T_LPAREN);
		e = expr_new(p, SQL_EXPR_CALL, start);
		e->u.call.name = SPAN_LIT("GET_FORMAT");
		uint32_t type = p->tok.start;
		if (!accept(p, T_DATE) && !accept(p, T_TIME) && !accept(p, T_DATETIME))
			expect(p, T_TIMESTAMP);
		extra_of(p, e)->first = text_from(p, type);
		expect(p, T_COMMA);
		e->u.call.args = (struct sql_exprs){parse_expr(p), 1};
		expect(p, T_RPAREN);
		e->loc = loc_from(p, start);
		return e;
	default:
		break;
	}
	if (p->tok.flags & TF_NO_CALL)
		parse_fail(p);
	name = parse_value(p, p->tok);
	quoted = kind == T_QUOTED;
	if (kind == T_IDENT && !(p->tok.flags & TF_CALL)) {
		/* COUNT (x) with a space is a function of that name, not the aggregate. */
		const struct keyword_info *info = keyword_find(name.ptr, name.len);

		quoted = info && (info->flags & KF_FUNC);
	}
	parse_advance(p);
	return parse_call(p, SPAN_NONE, name, start, kind, quoted);
}

/* db.f(...) and, in MariaDB, db.package.f(...); `(` is current.  MariaDB's TRIM and SUBSTRING keep
 * their own grammar behind a schema's name: mariadb_schema.trim(LEADING 'x' FROM y). */
static struct sql_expr *parse_qualified_call(
	struct parser *p, const struct sql_expr *name, uint32_t start)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_CALL, start), **tail = &e->u.call.args.first;
	struct span function = name->u.column.name;
	bool trim = is_maria(p) && span_ieq_str(function, "trim");
	bool from = trim || (is_maria(p) && (span_ieq_str(function, "substr") ||
						    span_ieq_str(function, "substring")));

	e->u.call.db = name->u.column.db.ptr ? name->u.column.db : name->u.column.table;
	e->u.call.name = function;
	if (name->u.column.db.ptr)
		extra_of(p, e)->package = name->u.column.table;
	expect(p, T_LPAREN);
	if (trim && (p->tok.kind == T_LEADING || p->tok.kind == T_TRAILING ||
			    p->tok.kind == T_BOTH)) {
		extra_of(p, e)->tail = skip_to_close(p);
	} else if (p->tok.kind != T_RPAREN) {
		do {
			exprs_add(&e->u.call.args, &tail, parse_expr(p));
		} while (accept(p, T_COMMA));
		if (from && e->u.call.args.count == 1 && p->tok.kind == T_FROM)
			extra_of(p, e)->tail = skip_to_close(p);
	}
	/* In quotes the name is not the word. */
	e->u.call.quoted = !e->u.call.extra || !e->u.call.extra->tail.ptr;
	expect(p, T_RPAREN);
	e->loc = loc_from(p, start);
	return e;
}

static struct sql_expr *parse_name_operand(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;
	enum token_kind kind = p->tok.kind;
	struct token next;

	if (p->tok.flags & TF_CALL)
		return parse_word_call(p);
	next = parse_peek(p, 1);
	if (next.kind == T_LPAREN)
		return parse_word_call(p);
	if (next.kind == T_STRING && (kind == T_DATE || kind == T_TIME || kind == T_TIMESTAMP) &&
		!((next.flags & TF_DQUOTE) && (p->opt.mode & SQL_MODE_ANSI_QUOTES)))
		return parse_temporal(p);
	if (is_maria(p) && (kind == T_NEXT || kind == T_PREVIOUS) && next.kind == T_VALUE &&
		parse_peek(p, 2).kind == T_FOR) {
		struct sql_table_name table;

		parse_advance(p);
		parse_advance(p);
		parse_advance(p);
		table = parse_table_name(p);
		e = expr_new(p, SQL_EXPR_SEQUENCE, start);
		e->op = kind == T_NEXT ? SQL_OP_NEXT_VALUE : SQL_OP_PREVIOUS_VALUE;
		e->u.column.db = table.db;
		e->u.column.name = table.name;
		return e;
	}
	e = parse_column(p);
	if (p->tok.kind == T_LPAREN && e->u.column.table.ptr &&
		(!e->u.column.db.ptr || (is_maria(p) && p->opt.version >= 101100)))
		return parse_qualified_call(p, e, start);
	return e;
}

/* Reserved words that start an operand. */
static struct sql_expr *parse_reserved_operand(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;

	switch (p->tok.kind) {
	case T_CASE:
		return parse_case(p);
	case T_CONVERT:
		return parse_cast(p);
	case T_EXISTS:
		parse_advance(p);
		e = expr_new(p, SQL_EXPR_EXISTS, start);
		e->u.in.query = parse_subquery(p);
		e->loc = loc_from(p, start);
		return e;
	case T_INTERVAL:
		e = parse_interval_operand(p);
		return e;
	case T_MATCH:
		return parse_match(p);
	case T_DEFAULT:
		parse_advance(p);
		expect(p, T_LPAREN);
		e = expr_new(p, SQL_EXPR_DEFAULT, start);
		e->u.binary.left = parse_column(p);
		expect(p, T_RPAREN);
		e->loc = loc_from(p, start);
		return e;
	case T_VALUES:
		if (is_maria(p) && !p->in_duplicate)
			break;
		parse_advance(p);
		expect(p, T_LPAREN);
		e = expr_new(p, SQL_EXPR_VALUES, start);
		e->u.binary.left = parse_column(p);
		expect(p, T_RPAREN);
		e->loc = loc_from(p, start);
		return e;
	case T_CURRENT_DATE:
	case T_CURRENT_TIME:
	case T_CURRENT_TIMESTAMP:
	case T_CURRENT_USER:
	case T_CURRENT_ROLE:
	case T_LOCALTIME:
	case T_LOCALTIMESTAMP:
	case T_UTC_DATE:
	case T_UTC_TIME:
	case T_UTC_TIMESTAMP:
		return parse_niladic(p);
	case T_CHAR:
	case T_CHARACTER:
	case T_IF:
	case T_INSERT:
	case T_LEFT:
	case T_MOD:
	case T_REPEAT:
	case T_REPLACE:
	case T_RIGHT:
	case T_DATABASE:
	case T_SCHEMA:
	case T_ROW:
	case T_ROW_NUMBER:
	case T_RANK:
	case T_DENSE_RANK:
	case T_PERCENT_RANK:
	case T_CUME_DIST:
	case T_NTILE:
	case T_LEAD:
	case T_LAG:
	case T_FIRST_VALUE:
	case T_LAST_VALUE:
	case T_NTH_VALUE:
	case T_GROUPING:
		if (parse_peek(p, 1).kind == T_LPAREN)
			return parse_word_call(p);
		break;
	default:
		break;
	}
	if (UNLIKELY(p->track))
		parse_want(p, T_WANT_EXPR);
	parse_fail(p);
	return expr_new(p, SQL_EXPR_LITERAL, start);
}

struct sql_expr *parse_operand(struct parser *p)
{
	struct sql_expr *e;

	if (p->pending) {
		e = p->pending;
		p->pending = NULL;
		return e;
	}
	switch (p->tok.kind) {
	case T_IDENT:
	case T_QUOTED:
		return parse_name_operand(p);
	case T_L_INT:
	case T_L_DECIMAL:
	case T_L_FLOAT:
	case T_L_HEX:
	case T_HEX_STR:
	case T_L_BIT:
	case T_BIT_STR:
	case T_STRING:
	case T_NSTRING:
	case T_NULL:
	case T_TRUE:
	case T_FALSE:
	case T_NULL_N:
		return parse_literal(p);
	case T_INTRODUCER:
		return at_literal(p) ? parse_literal(p) : parse_name_operand(p);
	case T_PARAM:
		e = expr_new(p, SQL_EXPR_PARAM, p->tok.start);
		e->u.param = p->params++;
		parse_advance(p);
		e->loc.end = p->last_end;
		return e;
	case T_LPAREN:
		return parse_paren_operand(p);
	case T_USER_VAR:
		return parse_user_var(p);
	case T_AT:
		if (is_maria(p))
			return parse_reserved_operand(p);
		/* MySQL takes a lone @ for a variable without a name. */
		e = expr_new(p, SQL_EXPR_USER_VAR, p->tok.start);
		parse_advance(p);
		e->u.var.name = SPAN_LIT("");
		return e;
	case T_AT_AT:
		return parse_system_var(p, false);
	case T_LBRACE:
		return parse_odbc(p);
	case T_DOT:
		return parse_column(p);
	default:
		if (p->tok.flags & (TF_NAME | KF_FUNC) && p->tok.kind > T_BEFORE_KEYWORDS)
			return parse_name_operand(p);
		return parse_reserved_operand(p);
	}
}
