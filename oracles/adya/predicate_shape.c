/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/predicate_shape.h"

enum { BLOCK_DEPTH_MAX = 8 };

struct reader {
	struct shape *shape;
	shape_column_fn *has;
	void *ctx;
	const struct sql_with *with[BLOCK_DEPTH_MAX]; /* in scope */
	const struct sql_cte *used[BLOCK_DEPTH_MAX];
	uint32_t with_count, used_count, depth;
	uint32_t cte_count, union_count;
	uint32_t left, right; /* sides of UNIONs, as in struct mention */
};

/* ---- expressions ---- */

struct parts {
	bool query, aggregate, other;
};

static const char *const aggregates[] = {"ANY_VALUE", "AVG", "BIT_AND", "BIT_OR", "BIT_XOR",
	"COUNT", "GROUPING", "GROUP_CONCAT", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "MAX", "MIN", "STD",
	"STDDEV", "STDDEV_POP", "STDDEV_SAMP", "ST_COLLECT", "SUM", "VARIANCE", "VAR_POP", "VAR_SAMP"};

static bool note_expr(void *ctx, const struct sql_expr *e)
{
	struct parts *parts = ctx;

	if (e->kind == SQL_EXPR_CALL && e->u.call.extra && e->u.call.extra->over)
		parts->aggregate = true;
	for (size_t i = 0; e->kind == SQL_EXPR_CALL && i < ARRAY_LEN(aggregates); i++)
		parts->aggregate |= span_ieq_str(e->u.call.name, aggregates[i]);
	parts->other |= e->kind == SQL_EXPR_ASSIGN || e->kind == SQL_EXPR_SEQUENCE;
	return true;
}

static bool note_query(void *ctx, const struct sql_query *q)
{
	struct parts *parts = ctx;

	(void)q;
	parts->query = true;
	return false;
}

static bool is_plain(const struct sql_expr *e)
{
	struct parts parts = {0};

	if (e)
		sql_walk_expr(e, &(struct sql_visitor){
					 .expr = note_expr, .query = note_query, .ctx = &parts});
	return !parts.query && !parts.aggregate && !parts.other;
}

/* Is this column one of the mention's, or perhaps one? */
static bool may_name(const struct reader *r, const struct mention *m, const struct sql_expr *column)
{
	struct span table = column->u.column.table;

	if (column->kind == SQL_EXPR_STAR)
		return true;
	if (table.ptr)
		return span_ieq(
			table, m->ref->alias.ptr ? m->ref->alias : m->ref->u.name.table.name);
	return r->has(r->ctx, m->ref, column->u.column.name);
}

struct naming {
	const struct reader *reader;
	const struct mention *mention;
	bool some, others;
};

static bool note_naming(void *ctx, const struct sql_expr *e)
{
	struct naming *n = ctx;
	bool its;

	if (e->kind != SQL_EXPR_COLUMN && e->kind != SQL_EXPR_STAR)
		return true;
	its = may_name(n->reader, n->mention, e);
	n->some |= its;
	n->others |= !its;
	/* Of another mention as well, as far as the name tells. */
	for (uint32_t i = 0; its && i < n->reader->shape->count; i++) {
		const struct mention *m = &n->reader->shape->mentions[i];

		n->others |= m != n->mention && may_name(n->reader, m, e);
	}
	return true;
}

static struct naming names_of(
	const struct reader *r, const struct mention *m, const struct sql_expr *e)
{
	struct naming n = {.reader = r, .mention = m};

	if (e)
		sql_walk_expr(e, &(struct sql_visitor){.expr = note_naming, .ctx = &n});
	return n;
}

/* ---- conditions ---- */

static bool read_query(struct reader *r, struct sql_query *q, enum mention_role role);

static bool read_negated(struct reader *r, struct sql_query *q);

static bool read_condition(struct reader *r, const struct sql_expr *e)
{
	if (!e || is_plain(e))
		return true;
	if (e->kind == SQL_EXPR_BINARY && e->op == SQL_OP_AND)
		return read_condition(r, e->u.binary.left) && read_condition(r, e->u.binary.right);
	if (e->kind == SQL_EXPR_UNARY && e->op == SQL_OP_NOT &&
		e->u.binary.left->kind == SQL_EXPR_EXISTS)
		return read_negated(r, e->u.binary.left->u.in.query);
	if (e->kind == SQL_EXPR_IN && e->negated && e->u.in.query && is_plain(e->u.in.left))
		return read_negated(r, e->u.in.query);
	if (e->kind == SQL_EXPR_EXISTS && !e->negated)
		return read_query(r, e->u.in.query, MENTION_EXISTS);
	return e->kind == SQL_EXPR_IN && !e->negated && e->u.in.query && is_plain(e->u.in.left) &&
	       read_query(r, e->u.in.query, MENTION_EXISTS);
}

/* The conjuncts of a condition that speak of the mention alone. */
static void take_locals(const struct reader *r, struct mention *m, const struct sql_expr *e)
{
	struct naming n;

	if (!e)
		return;
	if (e->kind == SQL_EXPR_BINARY && e->op == SQL_OP_AND) {
		take_locals(r, m, e->u.binary.left);
		take_locals(r, m, e->u.binary.right);
		return;
	}
	n = names_of(r, m, e);
	if (is_plain(e) && n.some && !n.others && m->local_count < SHAPE_LOCALS_MAX)
		m->locals[m->local_count++] = e;
}

/* column <op> something: not true where the column is NULL. */
static bool refuses_null(const struct reader *r, const struct mention *m, const struct sql_expr *e)
{
	if (!e || e->kind != SQL_EXPR_BINARY)
		return false;
	if (e->op == SQL_OP_AND)
		return refuses_null(r, m, e->u.binary.left) || refuses_null(r, m, e->u.binary.right);
	if (e->op != SQL_OP_EQ && e->op != SQL_OP_LT && e->op != SQL_OP_LE && e->op != SQL_OP_GT &&
		e->op != SQL_OP_GE)
		return false;
	for (int side = 0; side < 2; side++) {
		const struct sql_expr *at = side ? e->u.binary.right : e->u.binary.left;
		struct naming n = names_of(r, m, at);

		if (at->kind == SQL_EXPR_COLUMN && n.some && !n.others)
			return true;
	}
	return false;
}

/* ---- FROM ---- */

/* A CTE that is named once: a row of one that is joined with itself may meet others of it. */
static bool use_cte(struct reader *r, struct span name)
{
	const struct sql_cte *found = NULL;

	for (uint32_t i = 0; i < r->with_count; i++)
		for (const struct sql_cte *c = r->with[i]->ctes; c; c = c->next)
			found = span_ieq(c->name, name) ? c : found;
	for (uint32_t i = 0; i < r->used_count; i++)
		if (r->used[i] == found)
			return false;
	if (!found || r->used_count == BLOCK_DEPTH_MAX)
		return false;
	r->used[r->used_count++] = found;
	return true;
}

static bool read_table(struct reader *r, struct sql_table_ref *ref, const struct sql_query *block,
	enum mention_role role, struct sql_table_ref *outer)
{
	const struct sql_table_name *name = &ref->u.name.table;

	if (ref->u.name.partitions || ref->u.name.portion.ptr ||
		ref->system_time != SQL_SYSTEM_TIME_NONE)
		return false;
	if (!name->db.ptr)
		return !outer && use_cte(r, name->name);
	if (r->shape->count == SHAPE_MENTIONS_MAX)
		return false;
	r->shape->mentions[r->shape->count++] =
		(struct mention){.ref = ref,
			.role = role,
			.outer = outer,
			.block = block,
			.left = r->left,
			.right = r->right};
	return true;
}

static bool read_from(struct reader *r, struct sql_table_ref *ref, const struct sql_query *block,
	enum mention_role role)
{
	for (; ref; ref = ref->next) {
		switch (ref->kind) {
		case SQL_TABLE_NAME:
			if (!read_table(r, ref, block, role, NULL))
				return false;
			break;
		case SQL_TABLE_NEST:
			if (!read_from(r, ref->u.nest, block, role))
				return false;
			break;
		case SQL_TABLE_JOIN:
			if (ref->u.join.natural || !is_plain(ref->u.join.on) ||
				ref->u.join.join == SQL_JOIN_RIGHT ||
				!read_from(r, ref->u.join.left, block, role))
				return false;
			if (ref->u.join.join != SQL_JOIN_LEFT) {
				if (!read_from(r, ref->u.join.right, block, role))
					return false;
			} else if (ref->u.join.using_columns ||
				   ref->u.join.right->kind != SQL_TABLE_NAME ||
				   !read_table(r, ref->u.join.right, block, role, ref)) {
				return false;
			}
			break;
		case SQL_TABLE_DERIVED:
			if (ref->u.derived.lateral ||
				!read_query(r, ref->u.derived.query,
					role == MENTION_EXISTS ? role : MENTION_VALUES))
				return false;
			break;
		case SQL_TABLE_FUNC:
			return false;
		}
	}
	return true;
}

/* Conditions of inner joins hold for all tables below them, those of a LEFT JOIN for its right side
 * alone. */
static void take_join_locals(
	const struct reader *r, struct mention *m, const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		if (ref->kind == SQL_TABLE_NEST)
			take_join_locals(r, m, ref->u.nest);
		if (ref->kind != SQL_TABLE_JOIN)
			continue;
		take_join_locals(r, m, ref->u.join.left);
		take_join_locals(r, m, ref->u.join.right);
		if (ref->u.join.join != SQL_JOIN_LEFT || m->outer == ref)
			take_locals(r, m, ref->u.join.on);
	}
}

/* Does any ON clause but its own speak of a mention? */
static bool on_names(const struct reader *r, const struct mention *m,
	const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		if (ref->kind == SQL_TABLE_NEST && on_names(r, m, ref->u.nest))
			return true;
		if (ref->kind == SQL_TABLE_DERIVED)
			continue;
		if (ref->kind == SQL_TABLE_JOIN &&
			((ref != m->outer && (names_of(r, m, ref->u.join.on).some ||
						     ref->u.join.using_columns)) ||
				on_names(r, m, ref->u.join.left) ||
				on_names(r, m, ref->u.join.right)))
			return true;
	}
	return false;
}

/* Does the select list of its block, if that is a subquery, a derived table or a CTE? */
static bool items_name(const struct reader *r, const struct mention *m)
{
	if (m->block == r->shape->query)
		return false;
	for (const struct sql_item *item = m->block->u.select.items; item; item = item->next)
		if (names_of(r, m, item->expr).some)
			return true;
	return false;
}

/* The right side of a LEFT JOIN: a join like others where WHERE refuses its NULLs; else nothing but
 * its ON may speak of it. */
static bool settle_outer(const struct reader *r, struct mention *m)
{
	const struct sql_query *block = m->block;

	if (refuses_null(r, m, block->u.select.where)) {
		m->outer = NULL;
		return true;
	}
	return !names_of(r, m, block->u.select.where).some &&
	       !on_names(r, m, block->u.select.from) && !items_name(r, m);
}

/* ---- queries ---- */

static bool read_select(struct reader *r, struct sql_query *q, enum mention_role role)
{
	uint32_t first = r->shape->count;

	if (q->u.select.group || q->u.select.having || q->u.select.rollup || q->u.select.windows ||
		q->u.select.qualify || q->u.select.procedure.ptr || !q->u.select.from)
		return false;
	if (q->u.select.flags & SQL_SELECT_DISTINCT && role == MENTION_LISTED)
		role = MENTION_VALUES;
	for (const struct sql_item *item = q->u.select.items; item; item = item->next)
		if (!is_plain(item->expr))
			return false;
	if (!read_from(r, q->u.select.from, q, role) || !read_condition(r, q->u.select.where))
		return false;
	for (uint32_t i = first; i < r->shape->count; i++) {
		struct mention *m = &r->shape->mentions[i];

		if (m->block != q)
			continue;
		if (m->outer && !settle_outer(r, m))
			return false;
		if (!m->outer)
			take_locals(r, m, q->u.select.where);
		take_join_locals(r, m, q->u.select.from);
	}
	return true;
}

/* One table, and conditions on it and on those around it. */
static bool read_negated(struct reader *r, struct sql_query *q)
{
	const struct sql_table_ref *from = q->kind == SQL_QUERY_SELECT ? q->u.select.from : NULL;
	uint32_t first = r->shape->count;

	if (r->depth != 1 || r->with_count || !from || from->next || from->kind != SQL_TABLE_NAME ||
		!is_plain(q->u.select.where) || !read_query(r, q, MENTION_EXISTS) ||
		r->shape->count != first + 1)
		return false;
	r->shape->mentions[first].negated = r->shape->negates = true;
	return true;
}

static bool read_union(struct reader *r, struct sql_query *q, enum mention_role role)
{
	uint32_t left = r->left, right = r->right, bit;
	bool ok;

	if (q->u.set.op != SQL_UNION || r->union_count == SHAPE_UNIONS_MAX)
		return false;
	bit = UINT32_C(1) << r->union_count++;
	r->left = left | bit;
	ok = read_query(r, q->u.set.left, role);
	r->left = left;
	r->right = right | bit;
	ok = ok && read_query(r, q->u.set.right, role);
	r->right = right;
	return ok;
}

static bool read_query(struct reader *r, struct sql_query *q, enum mention_role role)
{
	bool ok = false;

	/* With locks of its own it may pass over rows that others lock. */
	if (r->depth == BLOCK_DEPTH_MAX || q->limit || q->into || q->locks)
		return false;
	r->depth++;
	if (q->with) {
		if (q->with->recursive || r->with_count == BLOCK_DEPTH_MAX)
			return false;
		r->with[r->with_count++] = q->with;
		for (struct sql_cte *c = q->with->ctes; c; c = c->next) {
			r->cte_count++;
			if (!read_query(r, c->query,
				    role == MENTION_EXISTS ? role : MENTION_VALUES))
				return false;
		}
	}
	switch (q->kind) {
	case SQL_QUERY_SELECT:
		ok = read_select(r, q, role);
		break;
	case SQL_QUERY_SET_OP:
		ok = read_union(r, q, role == MENTION_LISTED ? MENTION_VALUES : role);
		break;
	case SQL_QUERY_PAREN:
		ok = read_query(r, q->u.inner, role);
		break;
	case SQL_QUERY_VALUES:
	case SQL_QUERY_TABLE:
		break;
	}
	r->depth--;
	return ok;
}

bool shape_of(struct shape *shape, struct sql_query *query, shape_column_fn *has, void *ctx)
{
	struct reader r = {.shape = shape, .has = has, .ctx = ctx};

	*shape = (struct shape){.query = query};
	if (query->limit) {
		/* Its first rows: of one table, all of whose rows are listed up to there. */
		if (!query->order || query->kind != SQL_QUERY_SELECT || query->limit->offset)
			return false;
		shape->cut = true;
		query->limit = NULL;
	}
	if (!read_query(&r, query, MENTION_LISTED) || !shape->count ||
		r.used_count != r.cte_count || (r.cte_count && r.union_count))
		return false;
	/* A row of the result is one of its tables' own. */
	if (shape->negates && (query->kind != SQL_QUERY_SELECT || r.union_count))
		return false;
	return !shape->cut || (shape->count == 1 && shape->mentions[0].role == MENTION_LISTED);
}
