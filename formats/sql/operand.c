/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands: what stands between the operators of an expression.  Parentheses, the functions that
 * have a grammar of their own (CASE, CAST, TRIM ...), and the choice by the first word.
 */
#include "sql/parse.h"

/* ------------------------------------------------------------------ parentheses */

/* What a parenthesis holds may be a query, a row or an expression, and which of them an inner
 * parenthesis starts is known only after it: ((SELECT 1) UNION SELECT 2), ((SELECT 1) + 1),
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

struct sql_query *parse_paren_open(struct parser *p)
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

void parse_paren_close(struct parser *p)
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

/* AT TIME ZONE [INTERVAL] '+00:00', in MySQL's CAST only.  AT and ZONE are words of no other use here. */
static void parse_at_time_zone(struct parser *p, struct sql_expr *e)
{
	if (is_maria(p) || p->opt.version < 80022 || p->tok.kind != T_IDENT ||
		parse_peek(p, 1).kind != T_TIME ||
		!span_ieq_str(parse_value(p, parse_peek(p, 2)), "zone"))
		return;
	if (!span_ieq_str(parse_value(p, p->tok), "at"))
		return;
	parse_advance(p);
	parse_advance(p);
	parse_advance(p);
	accept(p, T_INTERVAL);
	e->u.cast.zone = parse_string(p);
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
		if (!convert)
			parse_at_time_zone(p, e);
		expect(p, convert ? T_COMMA : T_AS);
		if (e->u.cast.zone.ptr && !at(p, T_DATETIME))
			parse_fail(p);
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
		if (e->u.interval.unit > SQL_UNIT_YEAR) /* two units in one */
			parse_fail(p);
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

/* INTERVAL n unit + date, or the function INTERVAL(n, a, b ...).  Without a date after it the
 * node comes back with date NULL: the caller knows whether that is allowed. */
struct sql_expr *parse_interval_operand(struct parser *p)
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
	/* A word without a token here is a keyword there, with or without a space before `(`. */
	if (kind == T_IDENT &&
		uncallable(p->text + p->tok.start, p->tok.end - p->tok.start, &p->opt))
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
 * their own grammar after a schema's name: mariadb_schema.trim(LEADING 'x' FROM y). */
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
	if (is_maria(p) && (kind == T_NEXT || kind == T_PREVIOUS) && next.kind == T_VALUE) {
		struct sql_table_name table;

		parse_advance(p);
		parse_advance(p);
		expect(p, T_FOR);
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
		if (is_maria(p) && parse_peek(p, 1).kind != T_LPAREN) {
			/* A column of that name, where VALUES(c) may stand. */
			e = expr_new(p, SQL_EXPR_COLUMN, start);
			e->u.column.name = span_of(p->text + start, p->tok.end - start);
			parse_advance(p);
			return e;
		}
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
		if (at_literal(p))
			return parse_literal(p);
		parse_advance(p);
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_STRING);
		parse_fail(p);
		return expr_new(p, SQL_EXPR_LITERAL, p->tok.start);
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
		if (is_maria(p) && p->opt.version >= 100600)
			return parse_reserved_operand(p);
		return parse_user_var(p);
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
