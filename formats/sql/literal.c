/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Literals and variables: numbers, strings and their introducers, DATE '...', ODBC's {d '...'}, @x,
 * @@x.  MySQL manual, "Literal Values", "User-Defined Variables", "Using System Variables".
 */
#include "sql/parse.h"

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

/* DATE '2020-01-01' and the like: one string, not several in a row. */
struct sql_expr *parse_temporal(struct parser *p)
{
	uint32_t start = p->tok.start;
	enum token_kind kind = p->tok.kind;
	struct sql_expr *e;
	struct span value;

	parse_advance(p);
	value = parse_string(p);
	e = expr_new(p, SQL_EXPR_LITERAL, start);
	e->u.literal.kind = kind == T_DATE   ? SQL_LIT_DATE
			    : kind == T_TIME ? SQL_LIT_TIME
					     : SQL_LIT_TIMESTAMP;
	e->u.literal.text = value;
	return e;
}

/* {d '...'}, {t '...'}, {ts '...'}, {fn f(x)}: ODBC. */
struct sql_expr *parse_odbc(struct parser *p)
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

struct sql_expr *parse_user_var(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;
	struct span name;

	if (p->tok.kind == T_AT) {
		/* MySQL, and MariaDB once, take a lone @ for a variable without a name. */
		name = SPAN_LIT("");
	} else if (p->tok.flags & TF_ESCAPED || p->text[start + 1] == '\'' || p->text[start + 1] == '"' ||
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
