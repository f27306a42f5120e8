/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Query expressions: SELECT, set operations, VALUES, TABLE, WITH.  The tables of FROM: from.c.
 *
 * ORDER BY, LIMIT, INTO and locking clauses (the "tail") belong to the whole of a set operation;
 * an operand has a tail of its own only in parentheses.
 */
#include "sql/parse.h"

static struct sql_query *query_new(struct parser *p, enum sql_query_kind kind, uint32_t start)
{
	struct sql_query *q = NEW(p, struct sql_query);

	q->kind = kind;
	q->loc = loc_from(p, start);
	return q;
}

void no_procedure(struct parser *p, const struct sql_query *q)
{
	if (q->kind == SQL_QUERY_SELECT && q->u.select.procedure.ptr)
		parse_fail_why(p, "PROCEDURE is for a query by itself, before this");
}

void no_into(struct parser *p, const struct sql_query *q)
{
	if (q->into)
		parse_fail_why(p, "INTO belongs behind the whole query, before this");
	no_procedure(p, q);
}

/* MariaDB has no WITH in the parentheses of an operand of UNION and the like. */
void no_with(struct parser *p, const struct sql_query *q)
{
	if (q->with && is_maria(p))
		parse_fail_why(p, "WITH is not for a query in these parentheses, before this");
}

/* VALUES starts a query, and also the function VALUES(column). */
static bool values_is_query(struct parser *p)
{
	struct token next = parse_peek(p, 1);

	if (!is_maria(p))
		return next.kind == T_ROW;
	if (next.kind != T_LPAREN)
		return false;
	return !p->in_duplicate;
}

bool at_query(struct parser *p)
{
	switch (p->tok.kind) {
	case T_SELECT:
	case T_WITH:
		return true;
	case T_VALUES:
		return values_is_query(p);
	case T_TABLE:
		return !is_maria(p) && p->opt.version >= 80000;
	default:
		return false;
	}
}

bool query_continues(struct parser *p)
{
	switch (p->tok.kind) {
	case T_FOR:
		return !(is_maria(p) && parse_peek(p, 1).kind == T_SYSTEM_TIME);
	case T_UNION:
	case T_INTERSECT:
	case T_EXCEPT:
	case T_ORDER:
	case T_LIMIT:
	case T_LOCK:
	case T_INTO:
		return true;
	case T_OFFSET:
	case T_FETCH:
		return is_maria(p);
	default:
		return false;
	}
}

/* ------------------------------------------------------------------ SELECT */

static uint32_t parse_select_flags(struct parser *p)
{
	static const struct {
		uint16_t kind;
		uint16_t flag;
	} words[] = {
		{T_DISTINCT, SQL_SELECT_DISTINCT},
		{T_DISTINCTROW, SQL_SELECT_DISTINCT},
		{T_UNIQUE, SQL_SELECT_DISTINCT},
		{T_ALL, SQL_SELECT_ALL},
		{T_STRAIGHT_JOIN, SQL_SELECT_STRAIGHT_JOIN},
		{T_HIGH_PRIORITY, SQL_SELECT_HIGH_PRIORITY},
		{T_SQL_SMALL_RESULT, SQL_SELECT_SMALL_RESULT},
		{T_SQL_BIG_RESULT, SQL_SELECT_BIG_RESULT},
		{T_SQL_BUFFER_RESULT, SQL_SELECT_BUFFER_RESULT},
		{T_SQL_CALC_FOUND_ROWS, SQL_SELECT_CALC_FOUND_ROWS},
		{T_SQL_CACHE, SQL_SELECT_CACHE},
		{T_SQL_NO_CACHE, SQL_SELECT_NO_CACHE},
	};
	uint32_t flags = 0;

	for (;;) {
		size_t i;

		if (p->tok.kind <= T_BEFORE_KEYWORDS)
			return flags;
		for (i = 0; i < ARRAY_LEN(words); i++) {
			if (p->tok.kind == words[i].kind)
				break;
		}
		if (i == ARRAY_LEN(words))
			return flags;
		if (words[i].flag == SQL_SELECT_CACHE && !is_maria(p) && p->opt.version >= 80000)
			return flags;
		if (p->tok.kind == T_UNIQUE && !is_maria(p))
			return flags;
		flags |= words[i].flag;
		parse_advance(p);
	}
}

/* t.* and db.t.*, or NULL. */
static struct sql_expr *parse_table_star(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;
	struct span db = SPAN_NONE, table;

	if (!(p->tok.flags & TF_NAME) || p->text[p->tok.end] != '.') {
		/* White space before the dot is possible and rare. */
		if (!(p->tok.flags & TF_NAME) || parse_peek(p, 1).kind != T_DOT)
			return NULL;
	}
	if (parse_peek(p, 2).kind != T_STAR &&
		!(parse_peek(p, 3).kind == T_DOT && parse_peek(p, 4).kind == T_STAR))
		return NULL;
	table = parse_name(p);
	expect(p, T_DOT);
	if (p->tok.kind != T_STAR) {
		db = table;
		table = parse_name(p);
		expect(p, T_DOT);
	}
	expect(p, T_STAR);
	e = expr_new(p, SQL_EXPR_STAR, start);
	e->u.column.db = db;
	e->u.column.table = table;
	return e;
}

static struct sql_item *parse_item(struct parser *p, bool first)
{
	struct sql_item *item = NEW(p, struct sql_item);

	if (first && p->tok.kind == T_STAR) {
		uint32_t start = p->tok.start;

		parse_advance(p);
		item->expr = expr_new(p, SQL_EXPR_STAR, start);
		return item;
	}
	item->expr = parse_table_star(p);
	if (item->expr)
		return item;
	item->expr = parse_expr(p);
	if (p->tok.kind == T_AS) {
		parse_advance(p);
		item->alias = p->tok.kind == T_STRING ? parse_string(p) : parse_name(p);
	} else if ((p->tok.flags & TF_NAME && p->tok.kind != T_SOUNDS) || p->tok.kind == T_STRING) {
		item->alias = p->tok.kind == T_STRING ? parse_string(p) : parse_name(p);
	} else if (UNLIKELY(p->track)) {
		parse_want(p, T_AS);
	}
	return item;
}

struct sql_item *parse_items(struct parser *p)
{
	struct sql_item *list = NULL, **tail = &list;
	bool first = true;

	do {
		struct sql_item *item = parse_item(p, first);

		APPEND(tail, item);
		first = false;
	} while (accept(p, T_COMMA));
	return list;
}

struct sql_expr *parse_where(struct parser *p)
{
	return accept(p, T_WHERE) ? parse_expr(p) : NULL;
}

struct sql_order *parse_order_by(struct parser *p)
{
	if (!accept(p, T_ORDER))
		return NULL;
	expect(p, T_BY);
	return parse_order_list(p, true);
}

/* A number, a parameter, or a variable of a stored program. */
static struct sql_expr *parse_limit_value(struct parser *p)
{
	if (p->tok.kind == T_L_INT) {
		uint64_t n;

		if (!parse_digits(span_of(p->text + p->tok.start, p->tok.end - p->tok.start), &n))
			parse_fail(p);
		return parse_literal(p);
	}
	if (p->tok.kind == T_PARAM || at_name(p)) {
		if (p->tok.kind == T_PARAM) {
			struct sql_expr *e = expr_new(p, SQL_EXPR_PARAM, p->tok.start);

			e->u.param = p->params++;
			parse_advance(p);
			e->loc.end = p->last_end;
			return e;
		}
		struct sql_expr *e = parse_column(p);

		if (!is_maria(p) && e->u.column.table.ptr)
			parse_fail(p);
		return e;
	}
	if (UNLIKELY(p->track))
		parse_want(p, T_WANT_NUMBER);
	parse_fail(p);
	return expr_new(p, SQL_EXPR_LITERAL, p->tok.start);
}

/* OFFSET n ROWS FETCH FIRST m ROWS ONLY: MariaDB 10.6. */
static void parse_fetch(struct parser *p, struct sql_limit *limit)
{
	limit->fetch = true;
	if (accept(p, T_OFFSET)) {
		limit->offset = parse_limit_value(p);
		if (!accept(p, T_ROW))
			expect(p, T_ROWS);
		if (p->tok.kind != T_FETCH)
			return;
	}
	expect(p, T_FETCH);
	if (!accept(p, T_FIRST))
		expect(p, T_NEXT);
	if (p->tok.kind != T_ROW && p->tok.kind != T_ROWS)
		limit->count = parse_limit_value(p);
	if (!accept(p, T_ROW))
		expect(p, T_ROWS);
	if (accept(p, T_WITH)) {
		expect(p, T_TIES);
		limit->with_ties = true;
	} else {
		expect(p, T_ONLY);
	}
}

struct sql_limit *parse_limit(struct parser *p, bool simple)
{
	struct sql_limit *limit;

	if (!simple && is_maria(p) && p->opt.version >= 100600 &&
		(p->tok.kind == T_FETCH || p->tok.kind == T_OFFSET)) {
		limit = NEW(p, struct sql_limit);
		parse_fetch(p, limit);
		return limit;
	}
	if (!accept(p, T_LIMIT))
		return NULL;
	limit = NEW(p, struct sql_limit);
	if (!simple && is_maria(p) && p->tok.kind == T_ROWS) {
		parse_advance(p);
		expect(p, T_EXAMINED);
		limit->rows_examined = parse_limit_value(p);
		return limit;
	}
	limit->count = parse_limit_value(p);
	if (simple)
		return limit;
	if (accept(p, T_COMMA)) {
		limit->offset = limit->count;
		limit->count = parse_limit_value(p);
	} else if (accept(p, T_OFFSET)) {
		limit->offset = parse_limit_value(p);
	}
	if (is_maria(p) && accept(p, T_ROWS)) {
		expect(p, T_EXAMINED);
		limit->rows_examined = parse_limit_value(p);
	}
	return limit;
}

/* BY 'x', BY 0x41: a text, not several in a row. */
static void parse_by_text(struct parser *p)
{
	expect(p, T_BY);
	if (p->tok.kind == T_L_HEX || p->tok.kind == T_HEX_STR || p->tok.kind == T_L_BIT ||
		p->tok.kind == T_BIT_STR)
		parse_advance(p);
	else
		parse_string(p);
}

/* How a file is written: [CHARACTER SET x] [FIELDS ...] [LINES ...]. */
static void parse_export(struct parser *p)
{
	bool set = accept(p, T_CHARSET);

	if (!set && (accept(p, T_CHARACTER) || accept(p, T_CHAR))) {
		expect(p, T_SET);
		set = true;
	}
	if (set && !(is_maria(p) && accept(p, T_DEFAULT)))
		parse_charset_name(p);
	if (accept(p, T_FIELDS) || accept(p, T_COLUMNS)) {
		do {
			if (accept(p, T_OPTIONALLY))
				expect(p, T_ENCLOSED);
			else if (!accept(p, T_ENCLOSED) && !accept(p, T_ESCAPED))
				expect(p, T_TERMINATED);
			parse_by_text(p);
		} while (p->tok.kind == T_TERMINATED || p->tok.kind == T_OPTIONALLY ||
			 p->tok.kind == T_ENCLOSED || p->tok.kind == T_ESCAPED);
	}
	if (accept(p, T_LINES)) {
		do {
			if (!accept(p, T_STARTING))
				expect(p, T_TERMINATED);
			parse_by_text(p);
		} while (p->tok.kind == T_TERMINATED || p->tok.kind == T_STARTING);
	}
}

static struct sql_into *parse_into(struct parser *p)
{
	struct sql_into *into = NEW(p, struct sql_into);
	struct sql_expr **tail = &into->vars.first;

	parse_advance(p);
	if (p->tok.kind == T_OUTFILE || p->tok.kind == T_DUMPFILE) {
		uint32_t start = p->tok.start;
		bool dump = p->tok.kind == T_DUMPFILE;

		into->is_file = true;
		parse_advance(p);
		parse_string(p);
		if (!dump)
			parse_export(p);
		into->text = text_from(p, start);
		return into;
	}
	do {
		uint32_t start = p->tok.start;
		struct sql_expr *e;

		if (p->tok.kind == T_USER_VAR) {
			e = parse_simple_expr(p);
			if (e->kind != SQL_EXPR_USER_VAR)
				parse_fail(p);
		} else {
			e = parse_column(p);
			/* A variable of a program; MySQL has no records. */
			if (!is_maria(p) && e->u.column.table.ptr)
				parse_fail(p);
		}
		e->loc = loc_from(p, start);
		exprs_add(&into->vars, &tail, e);
	} while (accept(p, T_COMMA));
	return into;
}

static void parse_lock_wait(struct parser *p, struct sql_lock *lock)
{
	if (accept(p, T_NOWAIT)) {
		lock->wait = SQL_LOCK_NOWAIT;
	} else if (at(p, T_SKIP)) {
		parse_advance(p);
		expect(p, T_LOCKED);
		lock->wait = SQL_LOCK_SKIP_LOCKED;
	} else if (is_maria(p) && accept(p, T_WAIT)) {
		lock->wait = SQL_LOCK_WAIT_SECONDS;
		lock->seconds = parse_number(p);
	}
}

static void parse_locks(struct parser *p, struct sql_lock **tail)
{
	while (at(p, T_FOR) || at(p, T_LOCK)) {
		struct sql_lock *lock = NEW(p, struct sql_lock);
		bool old = p->tok.kind == T_LOCK;

		parse_advance(p);
		if (old) {
			lock->mode = SQL_LOCK_IN_SHARE_MODE;
			expect(p, T_IN);
			expect(p, T_SHARE);
			expect(p, T_MODE);
		} else if (!is_maria(p) && p->opt.version >= 80000 && accept(p, T_SHARE)) {
			lock->mode = SQL_LOCK_FOR_SHARE;
		} else {
			expect(p, T_UPDATE);
			lock->mode = SQL_LOCK_FOR_UPDATE;
		}
		if (!is_maria(p) && !old && accept(p, T_OF)) {
			struct sql_table_name **of = &lock->of;

			do {
				struct sql_table_name *name = NEW(p, struct sql_table_name);

				*name = parse_table_name(p);
				APPEND(of, name);
			} while (accept(p, T_COMMA));
		}
		if (is_maria(p) || !old)
			parse_lock_wait(p, lock);
		APPEND(tail, lock);
		if (is_maria(p) || old)
			return;
	}
}

static void parse_windows(struct parser *p, struct sql_window **tail)
{
	do {
		struct sql_window *w = NEW(p, struct sql_window);

		w->name = parse_name(p);
		expect(p, T_AS);
		parse_window_spec(p, w);
		APPEND(tail, w);
	} while (accept(p, T_COMMA));
}

/* FROM ... up to HAVING and WINDOW. */
static void parse_from(struct parser *p, struct sql_query *q)
{
	if (p->tok.kind == T_DUAL) {
		q->u.select.dual = true;
		parse_advance(p);
		return;
	}
	q->u.select.from = parse_table_refs(p);
}

/* ROLLUP (a, b), CUBE (a, b), GROUPING SETS ((a), ()): MySQL 9. */
static bool parse_extended_group(struct parser *p, struct sql_query *q)
{
	enum token_kind kind = p->tok.kind;
	uint32_t start = p->tok.start;
	struct token next = parse_peek(p, 1);
	int depth = 0;

	if (kind == T_GROUPING && next.kind == T_IDENT) {
		parse_advance(p);
		if (!span_ieq_str(parse_name(p), "sets") || p->tok.kind != T_LPAREN)
			parse_fail(p);
		do {
			depth += p->tok.kind == T_LPAREN;
			depth -= p->tok.kind == T_RPAREN;
			parse_advance(p);
		} while (depth > 0 && p->tok.kind != T_EOF && p->tok.kind != T_ERROR);
		q->u.select.grouping_sets = text_from(p, start);
	} else if ((kind == T_ROLLUP || kind == T_CUBE) && next.kind == T_LPAREN) {
		parse_advance(p);
		parse_advance(p);
		q->u.select.group = parse_order_list(p, false);
		q->u.select.cube = kind == T_CUBE;
		expect(p, T_RPAREN);
	} else {
		return false;
	}
	q->u.select.rollup = true;
	return true;
}

static void parse_group(struct parser *p, struct sql_query *q)
{
	expect(p, T_BY);
	if (!is_maria(p) && p->opt.version >= 90000 && parse_extended_group(p, q))
		return;
	q->u.select.group = parse_order_list(p, is_maria(p) || p->opt.version < 80000);
	if (p->tok.kind == T_WITH && parse_peek(p, 1).kind == T_ROLLUP) {
		parse_advance(p);
		parse_advance(p);
		q->u.select.rollup = true;
	}
}

static struct sql_query *parse_select_core(struct parser *p, bool operand)
{
	uint32_t start = p->tok.start;
	struct sql_query *q = query_new(p, SQL_QUERY_SELECT, start);

	p->scan.hint = SPAN_NONE;
	parse_advance(p);
	q->u.select.hint = p->scan.hint;
	q->u.select.flags = parse_select_flags(p);
	q->u.select.items = parse_items(p);
	/* After UNION, INTO belongs to the whole; MySQL takes it in the last operand too. */
	if (p->tok.kind == T_INTO && (!operand || !is_maria(p)))
		q->into = parse_into(p);
	if (accept(p, T_FROM))
		parse_from(p, q);
	else if (!is_maria(p) && p->opt.version < 50700 && (at(p, T_WHERE) || at(p, T_HAVING)))
		parse_fail(p);
	if (at(p, T_WHERE))
		q->u.select.where = parse_where(p);
	if (accept(p, T_GROUP))
		parse_group(p, q);
	if (accept(p, T_HAVING))
		q->u.select.having = parse_expr(p);
	if (p->tok.kind == T_WINDOW && parse_peek(p, 2).kind == T_AS) {
		parse_advance(p);
		parse_windows(p, &q->u.select.windows);
	}
	if (p->tok.kind == T_QUALIFY && !is_maria(p)) {
		parse_advance(p);
		q->u.select.qualify = parse_expr(p);
	}
	q->loc = loc_from(p, start);
	return q;
}

/* ------------------------------------------------------------------ query expressions */

/* `row_word`: ROW (...), as MySQL has it in queries, and in INSERT where the first row has it. */
struct sql_values_row *parse_rows(struct parser *p, bool row_word)
{
	struct sql_values_row *list = NULL, **tail = &list;

	do {
		struct sql_values_row *row = NEW(p, struct sql_values_row);
		struct sql_expr **cells = &row->values.first;

		if (row_word)
			expect(p, T_ROW);
		expect(p, T_LPAREN);
		if (p->tok.kind != T_RPAREN) {
			do {
				exprs_add(&row->values, &cells, parse_expr_or_default(p));
			} while (accept(p, T_COMMA));
		}
		expect(p, T_RPAREN);
		APPEND(tail, row);
	} while (accept(p, T_COMMA));
	return list;
}

static bool has_tail(const struct sql_query *q)
{
	return q->with || q->order || q->limit || q->locks || q->into ||
	       (q->kind == SQL_QUERY_SELECT && q->u.select.procedure.ptr);
}

static struct sql_query *parse_query_primary(struct parser *p, bool *paren, bool operand)
{
	uint32_t start = p->tok.start;
	struct sql_query *q;

	*paren = false;
	switch (p->tok.kind) {
	case T_SELECT:
		return parse_select_core(p, operand);
	case T_VALUES:
		parse_advance(p);
		q = query_new(p, SQL_QUERY_VALUES, start);
		q->u.values = parse_rows(p, !is_maria(p));
		q->loc = loc_from(p, start);
		return q;
	case T_TABLE:
		if (is_maria(p))
			break;
		parse_advance(p);
		q = query_new(p, SQL_QUERY_TABLE, start);
		q->u.table = NEW(p, struct sql_table_name);
		*q->u.table = parse_table_name(p);
		q->loc = loc_from(p, start);
		return q;
	case T_LPAREN:
		*paren = true;
		expect(p, T_LPAREN);
		q = parse_query(p);
		/* MySQL: an operand has it before FROM only. */
		if (is_maria(p) || (operand && q->into && q->into == p->last_into))
			no_into(p, q);
		expect(p, T_RPAREN);
		no_with(p, q);
		return q;
	default:
		break;
	}
	if (UNLIKELY(p->track))
		parse_want(p, T_WANT_QUERY);
	parse_fail(p);
	return query_new(p, SQL_QUERY_SELECT, start);
}

static struct sql_query *set_op(struct parser *p, enum sql_set_op op, struct sql_query *left)
{
	struct sql_query *q = query_new(p, SQL_QUERY_SET_OP, left->loc.start);

	no_into(p, left);
	parse_advance(p);
	q->u.set.op = op;
	q->u.set.left = left;
	if (accept(p, T_ALL))
		q->u.set.all = true;
	else if (accept(p, T_DISTINCT) ||
		 (p->tok.kind == T_DISTINCTROW && accept(p, T_DISTINCTROW)))
		q->u.set.distinct = true;
	return q;
}

/* MySQL: INTO of the last operand is that of the whole. */
static void take_into(struct parser *p, struct sql_query *q)
{
	if (!is_maria(p) && q->u.set.right->into) {
		q->into = q->u.set.right->into;
		q->u.set.right->into = NULL;
	}
	no_into(p, q->u.set.right);
}

/* INTERSECT binds tighter than UNION and EXCEPT. */
static struct sql_query *parse_intersections(struct parser *p, struct sql_query *left)
{
	bool paren;

	while (at(p, T_INTERSECT)) {
		struct sql_query *q = set_op(p, SQL_INTERSECT, left);

		q->u.set.right = parse_query_primary(p, &paren, true);
		take_into(p, q);
		q->loc = loc_from(p, left->loc.start);
		left = q;
	}
	return left;
}

static void parse_tail(struct parser *p, struct sql_query *q)
{
	if (at(p, T_ORDER))
		q->order = parse_order_by(p);
	q->limit = parse_limit(p, false);
	if (p->tok.kind == T_PROCEDURE && q->kind == SQL_QUERY_SELECT && is_maria(p) && !q->into) {
		uint32_t start = p->tok.start;

		parse_advance(p);
		parse_name(p);
		expect(p, T_LPAREN);
		if (p->tok.kind != T_RPAREN)
			parse_expr_list(p);
		expect(p, T_RPAREN);
		q->u.select.procedure = text_from(p, start);
		parse_locks(p, &q->locks);
		return;
	}
	if (at(p, T_INTO) && !q->into)
		p->last_into = q->into = parse_into(p);
	parse_locks(p, &q->locks);
	if (p->tok.kind == T_INTO && !q->into)
		p->last_into = q->into = parse_into(p);
}

static bool at_tail(const struct parser *p)
{
	switch (p->tok.kind) {
	case T_ORDER:
	case T_LIMIT:
	case T_PROCEDURE:
	case T_INTO:
	case T_FOR:
	case T_LOCK:
		return true;
	case T_FETCH:
	case T_OFFSET:
		return is_maria(p);
	default:
		return false;
	}
}

/* Set operations and tail after a first operand. */
static struct sql_query *query_rest(
	struct parser *p, struct sql_query *q, bool paren, struct sql_with *with, uint32_t start)
{
	bool more = false;

	q = parse_intersections(p, q);
	while (at(p, T_UNION) || at(p, T_EXCEPT)) {
		struct sql_query *set =
			set_op(p, p->tok.kind == T_UNION ? SQL_UNION : SQL_EXCEPT, q);
		bool inner;

		set->u.set.right = parse_intersections(p, parse_query_primary(p, &inner, true));
		take_into(p, set);
		set->loc = loc_from(p, start);
		q = set;
		more = true;
	}
	if (at_tail(p) || with) {
		struct sql_into *into = q->into;

		if (paren && into && into == p->last_into)
			no_into(p, q);
		q->into = NULL;
		/* (q) with something of its own keeps its parentheses. */
		if (paren && !more && has_tail(q)) {
			struct sql_query *outer = query_new(p, SQL_QUERY_PAREN, start);

			outer->u.inner = q;
			q = outer;
		}
		q->into = into;
		q->with = with;
		parse_tail(p, q);
	}
	q->loc = loc_from(p, start);
	return q;
}

struct sql_query *parse_query_after(struct parser *p, struct sql_query *first, uint32_t start)
{
	no_with(p, first);
	return query_rest(p, first, true, NULL, start);
}

struct sql_query *parse_query(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_with *with = NULL;
	struct sql_query *q;
	bool paren, in_duplicate = p->in_duplicate;

	if (!parse_enter(p)) {
		parse_leave(p);
		return query_new(p, SQL_QUERY_SELECT, start);
	}
	if (p->no_query)
		parse_fail(p);
	/* MariaDB has no VALUES(c) in subqueries. */
	if (is_maria(p))
		p->in_duplicate = false;
	if (p->tok.kind == T_WITH)
		with = parse_with(p);
	q = parse_query_primary(p, &paren, false);
	q = query_rest(p, q, paren, with, start);
	p->in_duplicate = in_duplicate;
	parse_leave(p);
	return q;
}

struct sql_query *parse_subquery(struct parser *p)
{
	struct sql_query *q;

	expect(p, T_LPAREN);
	q = parse_query(p);
	no_into(p, q);
	expect(p, T_RPAREN);
	return q;
}

struct sql_with *parse_with(struct parser *p)
{
	struct sql_with *with = NEW(p, struct sql_with);
	struct sql_cte **tail = &with->ctes;

	if (!is_maria(p) && p->opt.version < 80000)
		parse_fail(p);
	parse_advance(p);
	with->recursive = accept(p, T_RECURSIVE);
	do {
		struct sql_cte *cte = NEW(p, struct sql_cte);

		/* Words that follow WITH elsewhere are taken together with it. */
		if (p->tok.kind == T_ROLLUP ||
			(is_maria(p) && (p->tok.kind == T_CUBE || p->tok.kind == T_SYSTEM)))
			parse_fail(p);
		cte->name = parse_name(p);
		if (p->tok.kind == T_LPAREN)
			cte->columns = parse_paren_names(p);
		expect(p, T_AS);
		cte->query = parse_subquery(p);
		if (is_maria(p) && with->recursive && p->tok.kind == T_CYCLE) {
			parse_advance(p);
			cte->cycle = parse_names(p);
			expect(p, T_RESTRICT);
		}
		APPEND(tail, cte);
	} while (accept(p, T_COMMA));
	return with;
}
