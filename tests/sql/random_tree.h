/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random statement trees, the same for the same seed.  They are built node by node, not parsed, so
 * that printing and parsing them again tests both against something neither of them made.
 */
#ifndef RANDOM_TREE_H
#define RANDOM_TREE_H

#include <stdint.h>

#include "base/arena.h"
#include "sql/sql.h"

struct random_tree {
	struct arena *arena;
	struct sql_options opt;
	uint64_t state;
	int depth; /* nesting still allowed */
};

static inline uint32_t rt_next(struct random_tree *r, uint32_t below)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(r->state >> 33) % below;
}

static inline bool rt_chance(struct random_tree *r, uint32_t of)
{
	return rt_next(r, of) == 0;
}

#define RT_NEW(r, type) ((type *)arena_zero((r)->arena, sizeof(type)))

static inline struct span rt_name(struct random_tree *r)
{
	static const char *const names[] = {
		"a", "b", "c", "t1", "select", "x y", "q`q", "\xc3\xa4"};

	return span_str(names[rt_next(r, 8)]);
}

static struct sql_expr *rt_expr(struct random_tree *r);
static struct sql_query *rt_query(struct random_tree *r);

static struct sql_expr *rt_node(struct random_tree *r, enum sql_expr_kind kind)
{
	struct sql_expr *e = RT_NEW(r, struct sql_expr);

	e->kind = (uint8_t)kind;
	return e;
}

static struct sql_expr *rt_column(struct random_tree *r)
{
	struct sql_expr *e = rt_node(r, SQL_EXPR_COLUMN);

	e->u.column.name = rt_name(r);
	if (rt_chance(r, 3))
		e->u.column.table = rt_name(r);
	if (e->u.column.table.ptr && rt_chance(r, 3))
		e->u.column.db = rt_name(r);
	return e;
}

static struct sql_expr *rt_leaf(struct random_tree *r)
{
	static const struct {
		enum sql_literal_kind kind;
		const char *text;
	} literals[] = {
		{SQL_LIT_INT, "1"},
		{SQL_LIT_INT, "18446744073709551616"},
		{SQL_LIT_DECIMAL, "1.50"},
		{SQL_LIT_FLOAT, "1e5"},
		{SQL_LIT_STRING, "it's"},
		{SQL_LIT_STRING, "back\\slash \"%\" \\_"},
		{SQL_LIT_STRING, ""},
		{SQL_LIT_NSTRING, "n"},
		{SQL_LIT_HEX, "4f"},
		{SQL_LIT_BIT, "01"},
		{SQL_LIT_DATE, "2020-01-01"},
		{SQL_LIT_NULL, ""},
		{SQL_LIT_TRUE, ""},
		{SQL_LIT_FALSE, ""},
	};
	struct sql_expr *e;
	uint32_t n;

	switch (rt_next(r, 5)) {
	case 0:
		e = rt_node(r, SQL_EXPR_USER_VAR);
		e->u.var.name = rt_name(r);
		return e;
	case 1:
	case 2:
		return rt_column(r);
	default:
		e = rt_node(r, SQL_EXPR_LITERAL);
		n = rt_next(r, 14);
		e->u.literal.kind = (uint8_t)literals[n].kind;
		e->u.literal.text = span_str(literals[n].text);
		if (literals[n].kind == SQL_LIT_STRING && rt_chance(r, 4))
			e->u.literal.charset = SPAN_LIT("latin1");
		return e;
	}
}

static struct sql_exprs rt_exprs(struct random_tree *r, uint32_t min)
{
	struct sql_exprs list = {NULL, min + rt_next(r, 3)};
	struct sql_expr **tail = &list.first;

	for (uint32_t i = 0; i < list.count; i++) {
		struct sql_expr *e = rt_expr(r);

		*tail = e;
		tail = &e->next;
	}
	return list;
}

static struct sql_expr *rt_binary(struct random_tree *r)
{
	struct sql_expr *e = rt_node(r, SQL_EXPR_BINARY);

	do {
		e->op = (uint8_t)(SQL_OP_OR + rt_next(r, SQL_OP_CONCAT - SQL_OP_OR + 1));
	} while (e->op == SQL_OP_MEMBER_OF ||
		 (e->op == SQL_OP_CONCAT && !(r->opt.mode & SQL_MODE_PIPES_AS_CONCAT)));
	e->negated = e->op == SQL_OP_REGEXP && rt_chance(r, 2);
	e->u.binary.left = rt_expr(r);
	e->u.binary.right = rt_expr(r);
	return e;
}

static struct sql_expr *rt_unary(struct random_tree *r)
{
	struct sql_expr *e = rt_node(r, SQL_EXPR_UNARY);

	e->op = (uint8_t)(SQL_OP_NOT + rt_next(r, 6));
	if (e->op == SQL_OP_NOT && (r->opt.mode & SQL_MODE_HIGH_NOT_PRECEDENCE))
		e->op = SQL_OP_BANG;
	e->u.binary.left = rt_expr(r);
	return e;
}

static struct sql_expr *rt_in(struct random_tree *r)
{
	struct sql_expr *e = rt_node(r, SQL_EXPR_IN);

	switch (rt_next(r, 4)) {
	case 0:
		e->u.in.query = rt_query(r);
		break;
	case 1:
		e->kind = SQL_EXPR_QUANTIFIED;
		e->op = (uint8_t)(SQL_OP_NE + rt_next(r, 5));
		e->quantifier = (uint8_t)rt_next(r, 3);
		e->u.in.query = rt_query(r);
		break;
	default:
		e->u.in.list = rt_exprs(r, 2);
	}
	e->negated = e->kind == SQL_EXPR_IN && rt_chance(r, 2);
	e->u.in.left = rt_expr(r);
	return e;
}

static struct sql_expr *rt_case(struct random_tree *r)
{
	struct sql_expr *e = rt_node(r, SQL_EXPR_CASE);
	struct sql_when **tail = &e->u.kase.whens;

	if (rt_chance(r, 2))
		e->u.kase.value = rt_expr(r);
	for (uint32_t i = 0; i <= rt_next(r, 2); i++) {
		struct sql_when *w = RT_NEW(r, struct sql_when);

		w->when = rt_expr(r);
		w->then = rt_expr(r);
		*tail = w;
		tail = &w->next;
	}
	if (rt_chance(r, 2))
		e->u.kase.otherwise = rt_expr(r);
	return e;
}

static struct sql_expr *rt_call(struct random_tree *r)
{
	struct sql_expr *e = rt_node(r, SQL_EXPR_CALL);

	if (rt_chance(r, 3)) {
		e->u.call.name = SPAN_LIT("sum");
		e->u.call.args = (struct sql_exprs){rt_expr(r), 1};
		if (rt_chance(r, 2)) {
			e->u.call.extra = RT_NEW(r, struct sql_call_extra);
			e->u.call.extra->distinct = true;
		}
	} else {
		e->u.call.name = SPAN_LIT("concat");
		e->u.call.args = rt_exprs(r, 0);
	}
	return e;
}

static struct sql_expr *rt_other(struct random_tree *r)
{
	struct sql_expr *e;

	switch (rt_next(r, 9)) {
	case 0:
		e = rt_node(r, SQL_EXPR_SUBQUERY);
		e->u.in.query = rt_query(r);
		return e;
	case 1:
		e = rt_node(r, SQL_EXPR_EXISTS);
		e->u.in.query = rt_query(r);
		return e;
	case 2:
		e = rt_node(r, SQL_EXPR_CAST);
		e->u.cast.left = rt_expr(r);
		e->u.cast.type = RT_NEW(r, struct sql_type);
		e->u.cast.type->kind = SQL_TYPE_SIGNED;
		return e;
	case 3:
		e = rt_node(r, SQL_EXPR_COLLATE);
		e->u.cast.left = rt_expr(r);
		e->u.cast.charset = SPAN_LIT("utf8mb4_bin");
		return e;
	case 4:
		e = rt_node(r, SQL_EXPR_INTERVAL);
		e->op = rt_chance(r, 2) ? SQL_OP_ADD : SQL_OP_SUB;
		e->u.interval.date = rt_expr(r);
		e->u.interval.left = rt_expr(r);
		e->u.interval.unit = (uint8_t)rt_next(r, SQL_UNIT_YEAR_MONTH + 1);
		return e;
	case 5:
		e = rt_node(r, SQL_EXPR_ASSIGN);
		e->u.binary.left = rt_node(r, SQL_EXPR_USER_VAR);
		e->u.binary.left->u.var.name = rt_name(r);
		e->u.binary.right = rt_expr(r);
		return e;
	case 6:
		e = rt_node(r, SQL_EXPR_POSITION);
		e->u.binary.left = rt_expr(r);
		e->u.binary.right = rt_expr(r);
		return e;
	case 7:
		e = rt_node(r, SQL_EXPR_TRIM);
		e->u.trim.where = (uint8_t)rt_next(r, 4);
		e->u.trim.left = rt_expr(r);
		if (rt_chance(r, 2))
			e->u.trim.what = rt_expr(r);
		return e;
	default:
		e = rt_node(r, SQL_EXPR_EXTRACT);
		e->u.interval.unit = (uint8_t)rt_next(r, SQL_UNIT_YEAR_MONTH + 1);
		e->u.interval.left = rt_expr(r);
		return e;
	}
}

static struct sql_expr *rt_expr(struct random_tree *r)
{
	struct sql_expr *e;

	if (r->depth <= 0 || rt_chance(r, 4))
		return rt_leaf(r);
	r->depth--;
	switch (rt_next(r, 12)) {
	case 0:
		e = rt_node(r, SQL_EXPR_IS);
		e->op = (uint8_t)(SQL_OP_IS_NULL + rt_next(r, 4));
		e->negated = rt_chance(r, 2);
		e->u.binary.left = rt_expr(r);
		break;
	case 1:
		e = rt_node(r, rt_chance(r, 2) ? SQL_EXPR_BETWEEN : SQL_EXPR_LIKE);
		e->negated = rt_chance(r, 2);
		e->u.between.left = rt_expr(r);
		e->u.between.low = rt_expr(r);
		if (e->kind == SQL_EXPR_BETWEEN || rt_chance(r, 3))
			e->u.between.high = rt_expr(r);
		break;
	case 2:
		e = rt_in(r);
		break;
	case 3:
		e = rt_case(r);
		break;
	case 4:
		e = rt_call(r);
		break;
	case 5:
	case 6:
		e = rt_unary(r);
		break;
	case 7:
		e = rt_other(r);
		break;
	default:
		e = rt_binary(r);
	}
	r->depth++;
	return e;
}

static struct sql_names *rt_names(struct random_tree *r)
{
	struct sql_names *list = NULL;

	for (uint32_t i = 0; i <= rt_next(r, 2); i++) {
		struct sql_names *n = RT_NEW(r, struct sql_names);

		n->name = rt_name(r);
		n->next = list;
		list = n;
	}
	return list;
}

static struct sql_table_ref *rt_ref(struct random_tree *r)
{
	struct sql_table_ref *ref = RT_NEW(r, struct sql_table_ref);

	if (r->depth > 0 && rt_chance(r, 3)) {
		r->depth--;
		ref->kind = SQL_TABLE_JOIN;
		ref->u.join.join = (enum sql_join)rt_next(r, 5);
		ref->u.join.left = rt_ref(r);
		ref->u.join.right = rt_ref(r);
		if (ref->u.join.join != SQL_JOIN_CROSS && ref->u.join.join != SQL_JOIN_STRAIGHT &&
			rt_chance(r, 4))
			ref->u.join.natural = true;
		else if (ref->u.join.join >= SQL_JOIN_LEFT || rt_chance(r, 2)) {
			if (rt_chance(r, 2))
				ref->u.join.on = rt_expr(r);
			else
				ref->u.join.using_columns = rt_names(r);
		}
		r->depth++;
	} else if (r->depth > 0 && rt_chance(r, 5)) {
		r->depth--;
		ref->kind = SQL_TABLE_DERIVED;
		ref->u.derived.query = rt_query(r);
		ref->alias = rt_name(r);
		r->depth++;
	} else if (r->depth > 0 && rt_chance(r, 8)) {
		r->depth--;
		ref->kind = SQL_TABLE_NEST;
		ref->u.nest = rt_ref(r);
		ref->u.nest->next = rt_ref(r);
		r->depth++;
	} else {
		ref->u.name.table.name = rt_name(r);
		if (rt_chance(r, 3))
			ref->u.name.table.db = rt_name(r);
		if (rt_chance(r, 3))
			ref->alias = rt_name(r);
	}
	return ref;
}

static struct sql_order *rt_order(struct random_tree *r)
{
	struct sql_order *o = RT_NEW(r, struct sql_order);

	o->expr = rt_expr(r);
	o->desc = rt_chance(r, 2);
	if (rt_chance(r, 3))
		o->next = rt_order(r);
	return o;
}

static struct sql_limit *rt_limit(struct random_tree *r, bool simple)
{
	struct sql_limit *limit = RT_NEW(r, struct sql_limit);

	limit->count = rt_node(r, SQL_EXPR_LITERAL);
	limit->count->u.literal.kind = SQL_LIT_INT;
	limit->count->u.literal.text = SPAN_LIT("3");
	if (!simple && rt_chance(r, 2)) {
		limit->offset = rt_node(r, SQL_EXPR_LITERAL);
		limit->offset->u.literal.kind = SQL_LIT_INT;
		limit->offset->u.literal.text = SPAN_LIT("4");
	}
	return limit;
}

static struct sql_item *rt_items(struct random_tree *r)
{
	struct sql_item *item = RT_NEW(r, struct sql_item);

	item->expr = rt_expr(r);
	if (rt_chance(r, 3))
		item->alias = rt_name(r);
	if (rt_chance(r, 3))
		item->next = rt_items(r);
	return item;
}

static void rt_select(struct random_tree *r, struct sql_query *q)
{
	q->u.select.items = rt_items(r);
	if (rt_chance(r, 5))
		q->u.select.flags = SQL_SELECT_DISTINCT;
	if (rt_chance(r, 5))
		return;
	q->u.select.from = rt_ref(r);
	if (rt_chance(r, 3))
		q->u.select.from->next = rt_ref(r);
	if (rt_chance(r, 2))
		q->u.select.where = rt_expr(r);
	if (rt_chance(r, 5))
		q->u.select.group = rt_order(r);
	for (struct sql_order *o = q->u.select.group; o; o = o->next)
		o->desc = false;
	if (rt_chance(r, 8))
		q->u.select.having = rt_expr(r);
}

static void rt_tail(struct random_tree *r, struct sql_query *q, bool must)
{
	if (rt_chance(r, 6))
		q->order = rt_order(r);
	if (must || rt_chance(r, 6))
		q->limit = rt_limit(r, false);
	if (rt_chance(r, 10)) {
		q->locks = RT_NEW(r, struct sql_lock);
		q->locks->mode = rt_chance(r, 2) ? SQL_LOCK_FOR_UPDATE : SQL_LOCK_IN_SHARE_MODE;
		if (q->locks->mode == SQL_LOCK_FOR_UPDATE)
			q->locks->wait = (enum sql_lock_wait)rt_next(r, 3);
	}
}

static struct sql_query *rt_query(struct random_tree *r)
{
	struct sql_query *q = RT_NEW(r, struct sql_query);

	r->depth--;
	if (r->depth > 0 && rt_chance(r, 5)) {
		q->kind = SQL_QUERY_SET_OP;
		q->u.set.op = (enum sql_set_op)rt_next(r, 3);
		q->u.set.all = rt_chance(r, 2);
		q->u.set.left = rt_query(r);
		q->u.set.right = rt_query(r);
		/* MariaDB cannot say it. */
		q->u.set.left->with = q->u.set.right->with = NULL;
	} else if (r->depth > 0 && rt_chance(r, 12)) {
		q->kind = SQL_QUERY_PAREN;
		q->u.inner = rt_query(r);
		q->u.inner->with = NULL;
		q->u.inner->limit = rt_limit(r, false);
		rt_tail(r, q, true);
		r->depth++;
		return q;
	} else {
		rt_select(r, q);
	}
	rt_tail(r, q, false);
	if (rt_chance(r, 12) && r->depth > 0) {
		q->with = RT_NEW(r, struct sql_with);
		q->with->ctes = RT_NEW(r, struct sql_cte);
		q->with->ctes->name = rt_name(r);
		q->with->ctes->query = rt_query(r);
	}
	r->depth++;
	return q;
}

static struct sql_assign *rt_assigns(struct random_tree *r)
{
	struct sql_assign *a = RT_NEW(r, struct sql_assign);

	a->target = rt_column(r);
	a->value = rt_expr(r);
	if (rt_chance(r, 2))
		a->next = rt_assigns(r);
	return a;
}

static void rt_insert(struct random_tree *r, struct sql_insert *ins)
{
	ins->table.name = rt_name(r);
	if (rt_chance(r, 2)) {
		ins->has_columns = true;
		ins->columns.first = rt_column(r);
		ins->columns.count = 1;
	}
	if (rt_chance(r, 3)) {
		ins->query = rt_query(r);
		return;
	}
	ins->rows = RT_NEW(r, struct sql_values_row);
	ins->rows->values = rt_exprs(r, 0);
	if (rt_chance(r, 2)) {
		ins->rows->next = RT_NEW(r, struct sql_values_row);
		ins->rows->next->values = rt_exprs(r, 1);
	}
	if (rt_chance(r, 3))
		ins->on_duplicate = rt_assigns(r);
}

static struct sql_stmt *rt_stmt(struct random_tree *r)
{
	struct sql_stmt *s = RT_NEW(r, struct sql_stmt);

	switch (rt_next(r, 5)) {
	case 0:
		s->kind = SQL_STMT_INSERT;
		s->u.insert = RT_NEW(r, struct sql_insert);
		rt_insert(r, s->u.insert);
		break;
	case 1:
		s->kind = SQL_STMT_UPDATE;
		s->u.update = RT_NEW(r, struct sql_update);
		s->u.update->tables = rt_ref(r);
		s->u.update->set = rt_assigns(r);
		if (rt_chance(r, 2))
			s->u.update->where = rt_expr(r);
		if (rt_chance(r, 4))
			s->u.update->limit = rt_limit(r, true);
		break;
	case 2:
		s->kind = SQL_STMT_DELETE;
		s->u.del = RT_NEW(r, struct sql_delete);
		s->u.del->from = rt_ref(r);
		if (s->u.del->from->kind != SQL_TABLE_NAME || s->u.del->from->alias.ptr) {
			s->u.del->targets = RT_NEW(r, struct sql_table_name);
			s->u.del->targets->name = rt_name(r);
			s->u.del->using_form = rt_chance(r, 2);
		}
		if (rt_chance(r, 2))
			s->u.del->where = rt_expr(r);
		break;
	default:
		s->kind = SQL_STMT_SELECT;
		s->u.query = rt_query(r);
	}
	return s;
}

#endif
