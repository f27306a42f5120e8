/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of a query or a change: names, aliases, index hints, system time, derived tables, joins.
 * MySQL manual, "JOIN Clause".
 */
#include "sql/parse.h"

void parse_index_hints(struct parser *p, struct sql_index_hint **tail)
{
	for (;;) {
		struct sql_index_hint *hint;
		enum sql_index_hint_kind kind;
		struct sql_names **names;

		if (at(p, T_USE))
			kind = SQL_HINT_USE;
		else if (at(p, T_IGNORE))
			kind = SQL_HINT_IGNORE;
		else if (at(p, T_FORCE))
			kind = SQL_HINT_FORCE;
		else
			return;
		parse_advance(p);
		hint = NEW(p, struct sql_index_hint);
		hint->kind = kind;
		if (!accept(p, T_INDEX))
			expect(p, T_KEY);
		if (accept(p, T_FOR)) {
			if (accept(p, T_JOIN)) {
				hint->scope = SQL_HINT_FOR_JOIN;
			} else if (accept(p, T_ORDER)) {
				expect(p, T_BY);
				hint->scope = SQL_HINT_FOR_ORDER;
			} else {
				expect(p, T_GROUP);
				expect(p, T_BY);
				hint->scope = SQL_HINT_FOR_GROUP;
			}
		}
		expect(p, T_LPAREN);
		names = &hint->names;
		if (kind != SQL_HINT_USE || !at(p, T_RPAREN)) {
			do {
				struct sql_names *name = NEW(p, struct sql_names);
				uint32_t start = p->tok.start;

				if (accept(p, T_PRIMARY))
					name->name = SPAN_LIT("PRIMARY");
				else
					name->name = parse_name(p);
				name->loc = loc_from(p, start);
				APPEND(names, name);
			} while (accept(p, T_COMMA));
		}
		expect(p, T_RPAREN);
		APPEND(tail, hint);
	}
}

static void parse_system_time_point(struct parser *p, struct sql_time_point *point)
{
	/* TRANSACTION and TIMESTAMP are words here unless they start an expression. */
	if (p->tok.kind == T_TRANSACTION && parse_peek(p, 1).kind != T_DOT) {
		point->is_transaction = true;
		parse_advance(p);
	} else if (p->tok.kind == T_TIMESTAMP && parse_peek(p, 1).kind != T_STRING &&
		   parse_peek(p, 1).kind != T_LPAREN && parse_peek(p, 1).kind != T_DOT) {
		point->is_timestamp = true;
		parse_advance(p);
	}
	point->value = parse_bit_expr(p);
}

/* FOR SYSTEM_TIME ..., MariaDB; FOR is current. */
static void parse_system_time(struct parser *p, struct sql_table_ref *ref)
{
	parse_advance(p);
	parse_advance(p);
	if (accept(p, T_AS)) {
		expect(p, T_OF);
		ref->system_time = SQL_SYSTEM_TIME_AS_OF;
		parse_system_time_point(p, &ref->low);
	} else if (accept(p, T_ALL)) {
		ref->system_time = SQL_SYSTEM_TIME_ALL;
	} else if (accept(p, T_FROM)) {
		ref->system_time = SQL_SYSTEM_TIME_FROM;
		parse_system_time_point(p, &ref->low);
		expect(p, T_TO);
		parse_system_time_point(p, &ref->high);
	} else {
		expect(p, T_BETWEEN);
		ref->system_time = SQL_SYSTEM_TIME_BETWEEN;
		parse_system_time_point(p, &ref->low);
		expect(p, T_AND);
		parse_system_time_point(p, &ref->high);
	}
}

static bool at_system_time(struct parser *p)
{
	return p->tok.kind == T_FOR && is_maria(p) && parse_peek(p, 1).kind == T_SYSTEM_TIME;
}

static struct span parse_table_alias(struct parser *p)
{
	/* MariaDB still takes `=` for AS. */
	if (accept(p, T_AS) || (is_maria(p) && p->tok.kind == T_EQ && accept(p, T_EQ))) {
		if (p->tok.kind == T_WINDOW)
			parse_fail(p);
		return parse_name(p);
	} else if (p->tok.flags & TF_NAME && p->tok.kind != T_WINDOW) {
		return parse_name(p);
	}
	return SPAN_NONE;
}

static struct sql_table_ref *ref_new(struct parser *p, enum sql_table_kind kind, uint32_t start)
{
	struct sql_table_ref *ref = NEW(p, struct sql_table_ref);

	ref->kind = kind;
	ref->loc = loc_from(p, start);
	return ref;
}

static struct sql_table_ref *parse_named_table(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_table_ref *ref = ref_new(p, SQL_TABLE_NAME, start);

	ref->u.name.table = parse_table_name(p);
	if (p->tok.kind == T_PARTITION) {
		parse_advance(p);
		ref->u.name.partitions = parse_paren_names(p);
	}
	if (at_system_time(p))
		parse_system_time(p, ref);
	ref->alias = parse_table_alias(p);
	parse_index_hints(p, &ref->u.name.hints);
	ref->loc = loc_from(p, start);
	return ref;
}

static struct sql_table_ref *derived_table(
	struct parser *p, struct sql_query *query, uint32_t start)
{
	struct sql_table_ref *ref = ref_new(p, SQL_TABLE_DERIVED, start);

	ref->u.derived.query = query;
	if (at_system_time(p))
		parse_system_time(p, ref);
	ref->alias = parse_table_alias(p);
	/* MySQL's grammar takes none and complains later. */
	if (!ref->alias.ptr && is_maria(p)) {
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_NAME);
		parse_fail(p);
	}
	if ((!is_maria(p) || p->opt.version >= 110700) && p->tok.kind == T_LPAREN)
		ref->u.derived.columns = parse_paren_names(p);
	ref->loc = loc_from(p, start);
	return ref;
}

static struct sql_table_ref *parse_join_chain(struct parser *p, struct sql_table_ref *left);
static struct sql_table_ref *parse_more_refs(struct parser *p, struct sql_table_ref *first);

struct table_paren {
	struct sql_query *query;
	struct sql_table_ref *refs;
};

/* More than one reference in parentheses becomes one. */
static struct sql_table_ref *nest_refs(struct parser *p, struct sql_table_ref *refs, uint32_t start)
{
	struct sql_table_ref *ref;

	if (!refs->next)
		return refs;
	ref = ref_new(p, SQL_TABLE_NEST, start);
	ref->u.nest = refs;
	return ref;
}

/* As parse_paren_open of expressions: what an inner parenthesis was is known after it. */
static struct table_paren parse_table_paren(struct parser *p)
{
	struct table_paren out = {NULL, NULL};
	uint32_t start = p->tok.start;

	if (!parse_enter(p)) {
		parse_leave(p);
		out.refs = ref_new(p, SQL_TABLE_NAME, start);
		return out;
	}
	expect(p, T_LPAREN);
	if (at_query(p)) {
		out.query = parse_query(p);
		no_into(p, out.query);
	} else if (p->tok.kind == T_LPAREN) {
		uint32_t inner_start = p->tok.start;
		struct table_paren inner = parse_table_paren(p);
		struct sql_table_ref *first;

		if (inner.query && query_continues(p)) {
			inner.query = parse_query_after(p, inner.query, inner_start);
			if (!at(p, T_RPAREN))
				parse_fail(p);
		}
		if (inner.query && p->tok.kind == T_RPAREN) {
			no_with(p, inner.query);
			out.query = inner.query;
		} else {
			first = inner.query ? derived_table(p, inner.query, inner_start)
					    : nest_refs(p, inner.refs, inner_start);
			out.refs = parse_more_refs(p, parse_join_chain(p, first));
		}
	} else {
		out.refs = parse_table_refs(p);
	}
	/* MySQL: a derived table stands in parentheses only together with others. */
	if (out.refs && !out.refs->next && out.refs->kind == SQL_TABLE_DERIVED && !is_maria(p) &&
		!out.refs->u.derived.lateral)
		parse_fail(p);
	expect(p, T_RPAREN);
	parse_leave(p);
	return out;
}

/* JSON_TABLE(document, path COLUMNS (...)) alias: the columns are kept as text. */
static struct sql_table_ref *parse_table_func(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_table_ref *ref = ref_new(p, SQL_TABLE_FUNC, start);
	int depth = 0;

	ref->u.func.name = span_of(p->text + start, p->tok.end - start);
	parse_advance(p);
	expect(p, T_LPAREN);
	ref->u.func.document = parse_expr(p);
	expect(p, T_COMMA);
	while (p->tok.kind != T_EOF && p->tok.kind != T_ERROR) {
		if (p->tok.kind == T_LPAREN)
			depth++;
		else if (p->tok.kind == T_RPAREN && depth-- == 0)
			break;
		parse_advance(p);
	}
	expect(p, T_RPAREN);
	ref->u.func.text = text_from(p, start);
	ref->alias = parse_table_alias(p);
	if (!ref->alias.ptr && is_maria(p))
		parse_fail(p);
	ref->loc = loc_from(p, start);
	return ref;
}

static struct sql_table_ref *parse_table_factor(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_table_ref *ref;

	if (p->tok.kind == T_LPAREN) {
		struct table_paren paren = parse_table_paren(p);

		if (paren.query)
			return derived_table(p, paren.query, start);
		return nest_refs(p, paren.refs, start);
	}
	if (p->tok.kind == T_LATERAL && !is_maria(p)) {
		parse_advance(p);
		struct sql_query *query = parse_subquery(p);
		ref = derived_table(p, query, start);
		ref->u.derived.lateral = true;
		return ref;
	}
	if (p->tok.kind == T_LBRACE) { /* { OJ ... }, ODBC */
		parse_advance(p);
		if (!is_maria(p) && p->tok.kind == T_QUOTED)
			parse_fail(p);
		struct span oj = parse_name(p);
		if (!is_maria(p) && !span_ieq_str(oj, "oj"))
			parse_fail(p);
		if (parse_enter(p))
			ref = parse_table_ref(p);
		else
			ref = ref_new(p, SQL_TABLE_NAME, start);
		parse_leave(p);
		expect(p, T_RBRACE);
		return ref;
	}
	if (p->tok.kind == T_JSON_TABLE && parse_peek(p, 1).kind == T_LPAREN)
		return parse_table_func(p);
	if (UNLIKELY(p->track))
		parse_want(p, T_WANT_TABLE);
	return parse_named_table(p);
}

/* The join operator at the current token, read; false when there is none. */
static bool parse_join_op(struct parser *p, enum sql_join *join, bool *natural)
{
	*natural = false;
	switch (p->tok.kind) {
	case T_JOIN:
		*join = SQL_JOIN_INNER;
		parse_advance(p);
		return true;
	case T_INNER:
		*join = SQL_JOIN_INNER;
		parse_advance(p);
		expect(p, T_JOIN);
		return true;
	case T_CROSS:
		*join = SQL_JOIN_CROSS;
		parse_advance(p);
		expect(p, T_JOIN);
		return true;
	case T_STRAIGHT_JOIN:
		*join = SQL_JOIN_STRAIGHT;
		parse_advance(p);
		return true;
	case T_LEFT:
	case T_RIGHT:
		*join = p->tok.kind == T_LEFT ? SQL_JOIN_LEFT : SQL_JOIN_RIGHT;
		parse_advance(p);
		accept(p, T_OUTER);
		expect(p, T_JOIN);
		return true;
	case T_NATURAL:
		*natural = true;
		parse_advance(p);
		*join = SQL_JOIN_INNER;
		if (is_maria(p) && p->tok.kind == T_STRAIGHT_JOIN) {
			*join = SQL_JOIN_STRAIGHT;
			parse_advance(p);
			return true;
		}
		if (p->tok.kind == T_LEFT || p->tok.kind == T_RIGHT) {
			*join = p->tok.kind == T_LEFT ? SQL_JOIN_LEFT : SQL_JOIN_RIGHT;
			parse_advance(p);
			accept(p, T_OUTER);
		} else {
			accept(p, T_INNER);
		}
		expect(p, T_JOIN);
		return true;
	default:
		if (UNLIKELY(p->track)) {
			parse_want(p, T_JOIN);
			parse_want(p, T_LEFT);
		}
		return false;
	}
}

static bool at_join(const struct parser *p)
{
	return p->tok.kind == T_JOIN || p->tok.kind == T_INNER || p->tok.kind == T_CROSS ||
	       p->tok.kind == T_STRAIGHT_JOIN || p->tok.kind == T_LEFT || p->tok.kind == T_RIGHT ||
	       p->tok.kind == T_NATURAL;
}

/* a JOIN (b LEFT JOIN c ON x), as it was read, without a condition for the first: (a JOIN b) LEFT JOIN c ON x
 * (MySQL's PT_joined_table::add_cross_join, MariaDB's add_cross_joined_table).  `join` has a on its left; b, a table
 * or what was in parentheses, is where the chain began. */
static struct sql_table_ref *join_first_of_chain(
	struct sql_table_ref *join, struct sql_table_ref *chain, struct sql_table_ref *b)
{
	struct sql_table_ref *at = chain;

	join->u.join.right = b;
	join->loc.end = b->loc.end;
	for (; at->u.join.left != b; at = at->u.join.left)
		at->loc.start = join->loc.start;
	at->loc.start = join->loc.start;
	at->u.join.left = join;
	return chain;
}

/* The servers shift a join word after `a JOIN b` before they look for its condition, so
 * a JOIN b JOIN c ON x ON y is a JOIN (b JOIN c ON x) ON y. */
static struct sql_table_ref *parse_join_chain(struct parser *p, struct sql_table_ref *left)
{
	enum sql_join join;
	bool natural;

	while (parse_join_op(p, &join, &natural)) {
		struct sql_table_ref *ref, *first = parse_table_factor(p), *right = first;
		bool outer = join == SQL_JOIN_LEFT || join == SQL_JOIN_RIGHT, chain = false;

		if (!natural && at_join(p)) {
			chain = true;
			if (parse_enter(p))
				right = parse_join_chain(p, right);
			parse_leave(p);
		}
		ref = ref_new(p, SQL_TABLE_JOIN, left->loc.start);
		ref->u.join.join = join;
		ref->u.join.natural = natural;
		ref->u.join.left = left;
		ref->u.join.right = right;
		if (natural) {
			;
		} else if (accept(p, T_ON)) {
			ref->u.join.on = parse_expr(p);
		} else if (at(p, T_USING)) {
			/* MariaDB: an outer join with USING has one table on its right, or parentheses. */
			if (is_maria(p) && outer && chain)
				parse_fail(p);
			parse_advance(p);
			ref->u.join.using_columns = parse_paren_names(p);
		} else if (outer) {
			parse_fail(p);
		}
		ref->loc = loc_from(p, left->loc.start);
		left = ref->u.join.on || ref->u.join.using_columns || right == first
			       ? ref
			       : join_first_of_chain(ref, right, first);
	}
	return left;
}

struct sql_table_ref *parse_table_ref(struct parser *p)
{
	return parse_join_chain(p, parse_table_factor(p));
}

static struct sql_table_ref *parse_more_refs(struct parser *p, struct sql_table_ref *first)
{
	struct sql_table_ref **tail = &first->next;

	while (accept(p, T_COMMA)) {
		struct sql_table_ref *ref = parse_table_ref(p);

		APPEND(tail, ref);
	}
	return first;
}

struct sql_table_ref *parse_table_refs(struct parser *p)
{
	return parse_more_refs(p, parse_table_ref(p));
}
