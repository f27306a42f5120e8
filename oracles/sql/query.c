/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries compiled: FROM, select list, GROUP BY, ORDER BY, set operations, subqueries. */
#include "sql/query.h"

#include <string.h>

#include "sql/compare.h"
#include "sql/release.h"

struct compiler compiler_begin(struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, struct eval_outcome *outcome)
{
	memset(outcome, 0, sizeof(*outcome));
	return (struct compiler){.arena = arena, .env = env, .source = source, .outcome = outcome};
}

/* ---- FROM ---- */

struct from_state {
	struct compiler *c;
	struct eval_query *q;
	struct scope *scope;
	struct scope *outer;
	const struct cte *ctes;
	uint32_t capacity;
};

static uint32_t count_tables(const struct sql_table_ref *ref)
{
	uint32_t count = 0;

	for (; ref; ref = ref->next) {
		if (ref->kind == SQL_TABLE_JOIN) {
			count += count_tables(ref->u.join.left) + count_tables(ref->u.join.right);
		} else if (ref->kind == SQL_TABLE_NEST) {
			count += count_tables(ref->u.nest);
		} else {
			count++;
		}
	}
	return count;
}

static struct join_tree *join_leaf(struct from_state *s, uint32_t table)
{
	struct join_tree *j = arena_zero(s->c->arena, sizeof(*j));

	j->kind = JOIN_TABLE;
	j->table = table;
	return j;
}

static struct join_tree *add_table(
	struct from_state *s, struct span db, struct span alias, const struct from_table *from)
{
	uint32_t number = s->q->table_count++;
	struct scope_table *t = &s->scope->tables[number];

	for (uint32_t i = 0; i < number; i++) {
		if (span_eq(s->scope->tables[i].alias, alias) &&
			(from->derived || s->q->tables[i].derived || !db.ptr ||
				!s->scope->tables[i].db.ptr ||
				span_eq(s->scope->tables[i].db, db))) {
			compile_error(s->c, 1066, "two tables of one name");
			return NULL;
		}
	}
	s->q->tables[number] = *from;
	s->scope->table_count = s->q->table_count;
	t->db = db;
	t->alias = alias;
	t->base = from->base;
	if (from->base) {
		struct span *names;
		struct eval_type *types;

		t->column_count = from->base->column_count;
		names = arena_alloc(s->c->arena, (t->column_count + 1) * sizeof(*names));
		types = arena_alloc(s->c->arena, (t->column_count + 1) * sizeof(*types));
		for (uint32_t i = 0; i < t->column_count; i++) {
			names[i] = from->base->columns[i].name;
			types[i] = from->base->columns[i].type;
		}
		t->names = names;
		t->types = types;
	} else {
		const struct eval_query *made = from->cte ? from->cte->start : from->derived;

		t->column_count = made->column_count;
		t->names = made->names;
		t->types = made->types;
	}
	t->merged = arena_zero(s->c->arena, t->column_count + 1);
	return join_leaf(s, number);
}

static const struct cte *find_cte(const struct cte *ctes, const struct sql_table_name *name)
{
	if (name->db.ptr)
		return NULL;
	for (; ctes; ctes = ctes->next) {
		if (span_ieq(ctes->tree->name, name->name))
			return ctes;
	}
	return NULL;
}

static bool rename_columns(struct compiler *c, struct eval_query *q, const struct sql_names *names)
{
	uint32_t i = 0;

	for (const struct sql_names *n = names; n; n = n->next, i++) {
		if (i < q->column_count)
			q->names[i] = n->name;
	}
	if (names && i != q->column_count) {
		compile_error(c, 1353, "a list of columns of another length");
		return false;
	}
	return true;
}

/* TRUNCATE(d, 1) and ROUND(d, 1) have the width of what they cut off. */
static bool cuts_decimal(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_CALL && n->type.kind == EVAL_T_DECIMAL &&
	       (span_ieq_str(n->expr->u.call.name, "truncate") ||
		       span_ieq_str(n->expr->u.call.name, "round"));
}

/* ASCII('x') counts for two digits on MariaDB, YEARWEEK() for five, BIT_COUNT() for one; MySQL 8.0 is
 * wrong about ASCII() alone.  Beside a DECIMAL the column has no more. */
static bool is_narrow(const struct compiler *c, const struct node *n)
{
	static const char *const wide[] = {"length", "char_length", "octet_length", "ord", "to_days",
		"datediff", "mod", "field"};
	const struct sql_expr *e = n->expr;
	bool column = false, narrow = false;

	if (c->env->flavour == SQL_MARIADB && outgrows(n, true))
		return true;
	if (!e || (e->kind != SQL_EXPR_CALL && e->kind != SQL_EXPR_CASE) || node_aggregates(n) ||
		node_windows(n))
		return false;
	if (c->env->flavour == SQL_MYSQL)
		return c->env->version < 90700 && e->kind == SQL_EXPR_CALL &&
		       span_ieq_str(e->u.call.name, "ascii");
	for (size_t i = 0; i < ARRAY_LEN(wide) && e->kind == SQL_EXPR_CALL; i++) {
		if (span_ieq_str(e->u.call.name, wide[i]))
			return false;
	}
	/* COALESCE(i, 0) has room for as much as the column. */
	for (uint32_t i = 0; i < n->arg_count; i++) {
		column |= n->args[i]->column && n->args[i]->type.kind == EVAL_T_INT &&
			  n->args[i]->type.bytes >= 4;
		narrow |= is_narrow(c, n->args[i]);
	}
	if (n->type.merged && column && !narrow)
		return false;
	return type_is_int(&n->type) ||
	       (e->kind == SQL_EXPR_CALL && n->arg_count == 2 && type_is_int(&n->args[0]->type) &&
		       (span_ieq_str(e->u.call.name, "round") ||
			       span_ieq_str(e->u.call.name, "truncate")));
}

/* MySQL has no room for the zero before the point of a DECIMAL(n,n). */
static bool has_fraction_text(const struct node *n)
{
	for (uint32_t i = 0; i < n->arg_count && type_is_string(&n->type); i++) {
		const struct eval_type *t = &n->args[i]->type;

		if ((t->kind == EVAL_T_DECIMAL && t->decimals && t->length == t->decimals) ||
			has_fraction_text(n->args[i]))
			return true;
	}
	return false;
}

bool node_is_cut(const struct compiler *c, const struct node *n)
{
	if (type_is_string(&n->type))
		return c->env->flavour == SQL_MARIADB ? has_long_text(n) : has_fraction_text(n);
	if (type_is_int(&n->type))
		return c->env->flavour == SQL_MARIADB && outgrows(n, false);
	for (uint32_t i = 0; i < n->arg_count && n->type.kind == EVAL_T_DECIMAL; i++) {
		if (is_narrow(c, n->args[i]) || node_is_cut(c, n->args[i]))
			return true;
	}
	return false;
}

const char cut_reason[] = "a text of a DOUBLE or an integer as DECIMAL that a table may cut";

/* A text in whose buffer some functions write what they make of it. */
static bool has_own_buffer(const struct compiler *c, const struct node *n)
{
	const struct sql_expr *e = n->expr;

	if (!e || !type_is_string(&n->type) || !n->arg_count)
		return false;
	return c->env->flavour == SQL_MYSQL || e->kind == SQL_EXPR_CAST ||
	       (e->kind == SQL_EXPR_CALL && function_writes_over(c, e->u.call.name));
}

/* The rows of a derived table that is merged into the query around it are in no table. */
static bool settle_columns(struct compiler *c, struct eval_query *q)
{
	if (q->kind == QUERY_SELECT && !q->limit && !q->distinct && !q->grouped && !q->window_count) {
		for (uint32_t i = 0; i < q->column_count; i++)
			q->types[i].shared |= has_own_buffer(c, q->items[i]);
		return true;
	}
	for (uint32_t i = 0; i < q->column_count; i++) {
		q->types[i].own_scale = false;
		if (q->kind == QUERY_SELECT && node_is_cut(c, q->items[i])) {
			compile_unsupported(c, cut_reason);
			return false;
		}
	}
	return true;
}

static struct join_tree *from_name(struct from_state *s, const struct sql_table_ref *ref)
{
	const struct sql_table_name *name = &ref->u.name.table;
	const struct cte *cte = find_cte(s->ctes, name);
	struct from_table from = {.ref = ref};
	struct span alias = ref->alias.ptr ? ref->alias : name->name;

	if (ref->u.name.partitions)
		return (struct join_tree *)compile_unsupported(s->c, "PARTITION (...)");
	if (ref->system_time != SQL_SYSTEM_TIME_NONE || ref->u.name.portion.ptr)
		return (struct join_tree *)compile_unsupported(s->c, "FOR SYSTEM_TIME");
	if (cte) {
		if (!cte->query && !cte->start)
			return (struct join_tree *)compile_unsupported(
				s->c, "a recursive CTE of another form");
		from.derived = cte->query;
		from.cte = cte->query ? NULL : (struct cte *)(uintptr_t)cte;
		from.ref = NULL;
		return add_table(s, SPAN_NONE, alias, &from);
	}
	from.base = s->c->source ? s->c->source->table(s->c->source->ctx, name) : NULL;
	if (!from.base)
		return (struct join_tree *)compile_error(s->c, 1146, "no such table");
	return add_table(s, name->db.ptr ? name->db : from.base->db, alias, &from);
}

static struct join_tree *from_ref(struct from_state *s, const struct sql_table_ref *ref);

static uint32_t find_column(const struct scope_table *t, struct span name)
{
	for (uint32_t i = 0; i < t->column_count; i++) {
		if (span_ieq(t->names[i], name))
			return i;
	}
	return UINT32_MAX;
}

/* The one column of that name among tables [from, to); 0 none, 1 found, 2 several. */
static int find_among(const struct scope *scope, uint32_t from, uint32_t to, struct span name,
	uint32_t *table, uint32_t *column)
{
	int found = 0;

	for (uint32_t t = from; t < to; t++) {
		uint32_t i = find_column(&scope->tables[t], name);

		if (i == UINT32_MAX || scope->tables[t].merged[i])
			continue;
		found++;
		*table = t;
		*column = i;
	}
	return found;
}

static bool merge_column(struct from_state *s, struct join_tree *j, bool right_join, uint32_t from,
	uint32_t middle, uint32_t to, struct span name, bool natural)
{
	uint32_t lt = 0, lc = 0, rt = 0, rc = 0;
	int l = find_among(s->scope, from, middle, name, &lt, &lc);
	int r = find_among(s->scope, middle, to, name, &rt, &rc);
	struct node *a, *b;

	if (natural && (l == 0 || r == 0))
		return true;
	if (l == 0 || r == 0) {
		compile_error(s->c, 1054, "unknown column in USING");
		return false;
	}
	if (l > 1 || r > 1) {
		compile_error(s->c, 1052, "a column of USING that two tables have");
		return false;
	}
	a = node_column(s->c, NULL, 0, lt, lc, &s->scope->tables[lt].types[lc]);
	b = node_column(s->c, NULL, 0, rt, rc, &s->scope->tables[rt].types[rc]);
	j->equal[j->equal_count] = compile_compare(s->c, NULL, SQL_OP_EQ, a, b);
	if (!j->equal[j->equal_count])
		return false;
	j->equal_count++;
	if (right_join)
		s->scope->tables[lt].merged[lc] = true;
	else
		s->scope->tables[rt].merged[rc] = true;
	return true;
}

static bool merge_columns(struct from_state *s, const struct sql_table_ref *ref,
	struct join_tree *j, uint32_t from, uint32_t middle)
{
	uint32_t to = s->q->table_count, most = 0;
	bool right = ref->u.join.join == SQL_JOIN_RIGHT;

	for (const struct sql_names *n = ref->u.join.using_columns; n; n = n->next)
		most++;
	for (uint32_t t = from; t < middle && ref->u.join.natural; t++)
		most += s->scope->tables[t].column_count;
	j->equal = arena_zero(s->c->arena, (most + 1) * sizeof(struct node *));
	for (const struct sql_names *n = ref->u.join.using_columns; n; n = n->next) {
		if (!merge_column(s, j, right, from, middle, to, n->name, false))
			return false;
	}
	if (ref->u.join.natural) {
		for (uint32_t t = from; t < middle; t++) {
			const struct scope_table *st = &s->scope->tables[t];

			for (uint32_t i = 0; i < st->column_count; i++) {
				if (st->merged[i])
					continue;
				if (st->base && st->base->columns[i].invisible)
					continue;
				if (!merge_column(
					    s, j, right, from, middle, to, st->names[i], true))
					return false;
			}
		}
	}
	return true;
}

/* NOT (b.c IS NOT NULL), b.c IS NULL OR ...: MySQL 9.7 asks it once and keeps the answer for all rows. */
static bool nests_null(const struct sql_expr *e, bool within)
{
	if (e->kind == SQL_EXPR_UNARY && (e->op == SQL_OP_NOT || e->op == SQL_OP_BANG))
		return nests_null(e->u.binary.left, true);
	if (e->kind == SQL_EXPR_BINARY &&
		(e->op == SQL_OP_AND || e->op == SQL_OP_OR || e->op == SQL_OP_XOR)) {
		within |= e->op != SQL_OP_AND;
		return nests_null(e->u.binary.left, within) || nests_null(e->u.binary.right, within);
	}
	return within && e->kind == SQL_EXPR_IS;
}

static bool is_rounded_in(const struct node *constant, const struct eval_type *column)
{
	const struct eval_type *t = &constant->type;

	if (column->kind == EVAL_T_DOUBLE || column->kind == EVAL_T_FLOAT || type_is_string(column))
		return false;
	if (!type_is_string(t))
		return t->kind == EVAL_T_DOUBLE || t->kind == EVAL_T_FLOAT ||
		       (t->kind != EVAL_T_INT && t->decimals > column->decimals);
	if (!constant->literal || constant->u.value.kind != EVAL_STRING)
		return true;
	for (size_t i = 0; i < constant->u.value.s.len; i++) {
		char byte = constant->u.value.s.ptr[i];

		if (byte == '.' || (!type_is_temporal(column) && (byte < '0' || byte > '9')))
			return true;
	}
	return false;
}

/* b.id = 1.1: where id has an index the servers look for 1 there, and ask no more. */
static bool meets_rounded(const struct node *n)
{
	if (!n->expr || n->arg_count != 2 ||
		!(n->expr->kind == SQL_EXPR_IN ||
			(n->expr->kind == SQL_EXPR_BINARY && n->expr->op == SQL_OP_EQ)))
		return false;
	for (int i = 0; i < 2; i++) {
		if (n->args[i]->column && n->args[1 - i]->constant &&
			is_rounded_in(n->args[1 - i], &n->args[i]->type))
			return true;
	}
	return false;
}

static bool joins_outer(const struct join_tree *j)
{
	return j && j->kind != JOIN_TABLE && (j->kind == JOIN_LEFT || joins_outer(j->left) || joins_outer(j->right));
}

/* (1, b.c) <> (2, 3) is true where b.c is NULL; the servers think that it cannot be, and drop such rows. */
static bool denies_rows(const struct node *n)
{
	if (n->expr && n->expr->kind == SQL_EXPR_BINARY && n->expr->op == SQL_OP_AND) {
		for (uint32_t i = 0; i < n->arg_count; i++) {
			if (denies_rows(n->args[i]))
				return true;
		}
		return false;
	}
	/* Equal to something, or IN a list: never true of a NULL. */
	return compares_rows(n) &&
	       !(n->expr && ((n->expr->kind == SQL_EXPR_BINARY && n->expr->op == SQL_OP_EQ) ||
				    (n->expr->kind == SQL_EXPR_IN && !n->expr->negated)));
}

static bool is_case(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_CASE;
}

/* Functions that are not NULL though an argument is. */
static bool outlives_null(const struct node *n)
{
	static const char *const names[] = {
		"char", "elt", "export_set", "field", "interval", "make_set", "quote", "replace"};

	for (size_t i = 0; n->expr && n->expr->kind == SQL_EXPR_CALL && i < ARRAY_LEN(names); i++) {
		if (span_ieq_str(n->expr->u.call.name, names[i]))
			return true;
	}
	return false;
}

static bool rejects_null(const struct node *n)
{
	return denies_rows(n) || node_any(n, outlives_null);
}

static bool on_rejects_null(const struct join_tree *j)
{
	return j->kind != JOIN_TABLE && ((j->on && rejects_null(j->on)) || on_rejects_null(j->left) ||
						on_rejects_null(j->right));
}

bool hides_rows(struct compiler *c, const struct eval_query *q)
{
	/* CASE NULL WHEN ... in any query. */
	if (c->env->flavour == SQL_MARIADB && c->env->version < 101100 && q->where && node_any(q->where, is_case)) {
		compile_unsupported(c, "CASE in a condition of older releases");
		return true;
	}
	if (!joins_outer(q->from) || !((q->where && rejects_null(q->where)) ||
					     (q->table_count > 2 && on_rejects_null(q->from))))
		return false;
	compile_unsupported(c, "ELT, FIELD, rows and kin in a condition behind an outer join");
	return true;
}

static struct join_tree *from_join(struct from_state *s, const struct sql_table_ref *ref)
{
	struct join_tree *j = arena_zero(s->c->arena, sizeof(*j)), *l, *r;
	uint32_t from = s->q->table_count, middle;
	bool outer = ref->u.join.join == SQL_JOIN_LEFT || ref->u.join.join == SQL_JOIN_RIGHT;

	l = from_ref(s, ref->u.join.left);
	middle = s->q->table_count;
	r = l ? from_ref(s, ref->u.join.right) : NULL;
	if (!r)
		return NULL;
	j->kind = outer ? JOIN_LEFT : JOIN_INNER;
	j->left = ref->u.join.join == SQL_JOIN_RIGHT ? r : l;
	j->right = ref->u.join.join == SQL_JOIN_RIGHT ? l : r;
	if ((ref->u.join.natural || ref->u.join.using_columns) &&
		!merge_columns(s, ref, j, from, middle))
		return NULL;
	if (ref->u.join.on) {
		struct scope *saved = s->c->scope;

		s->c->scope = s->scope;
		j->on = compile_condition(s->c, ref->u.join.on);
		s->c->scope = saved;
		if (!j->on)
			return NULL;
		if (outer && s->c->env->flavour == SQL_MYSQL && s->c->env->version >= 80100 &&
			nests_null(ref->u.join.on, false))
			return (struct join_tree *)compile_unsupported(
				s->c, "MySQL: IS NULL within OR or NOT in the ON of an outer join");
		if (outer && node_any(j->on, meets_rounded))
			return (struct join_tree *)compile_unsupported(
				s->c, "a column = a constant that it rounds, in the ON of an outer join");
	}
	return j;
}

static struct join_tree *from_list(struct from_state *s, const struct sql_table_ref *ref)
{
	struct join_tree *all = NULL;

	for (; ref; ref = ref->next) {
		struct join_tree *one = from_ref(s, ref);

		if (!one)
			return NULL;
		if (all) {
			struct join_tree *j = arena_zero(s->c->arena, sizeof(*j));

			j->kind = JOIN_INNER;
			j->left = all;
			j->right = one;
			all = j;
		} else {
			all = one;
		}
	}
	return all;
}

static struct join_tree *from_ref(struct from_state *s, const struct sql_table_ref *ref)
{
	struct from_table from = {0};

	if (s->c->failed)
		return NULL;
	switch (ref->kind) {
	case SQL_TABLE_NAME:
		return from_name(s, ref);
	case SQL_TABLE_DERIVED:
		if (ref->u.derived.lateral)
			return (struct join_tree *)compile_unsupported(s->c, "LATERAL");
		if (ref->system_time != SQL_SYSTEM_TIME_NONE)
			return (struct join_tree *)compile_unsupported(
				s->c, "a derived table of another time");
		/* A derived table sees nothing of the queries around it but, in MySQL, columns
		 * of the outer query; that is left out. */
		from.derived = compile_query(s->c, ref->u.derived.query, NULL, s->ctes);
		if (!from.derived || !rename_columns(s->c, from.derived, ref->u.derived.columns))
			return NULL;
		if (!settle_columns(s->c, from.derived))
			return NULL;
		return add_table(s, SPAN_NONE, ref->alias, &from);
	case SQL_TABLE_JOIN:
		return from_join(s, ref);
	case SQL_TABLE_NEST:
		return from_list(s, ref->u.nest);
	case SQL_TABLE_FUNC:
		return (struct join_tree *)compile_unsupported(s->c, "JSON_TABLE");
	}
	return NULL;
}

bool compile_from(struct compiler *c, struct eval_query *q, const struct sql_table_ref *from,
	struct scope *scope, const struct cte *ctes)
{
	uint32_t count = count_tables(from);
	struct from_state s = {.c = c, .q = q, .scope = scope, .ctes = ctes, .capacity = count};

	q->tables = arena_zero(c->arena, (count + 1) * sizeof(*q->tables));
	scope->tables = arena_zero(c->arena, (count + 1) * sizeof(*scope->tables));
	q->scope_tables = scope->tables;
	q->from = from ? from_list(&s, from) : NULL;
	return !c->failed;
}

/* ---- recursive CTEs ---- */

struct mentions {
	struct span name;
	uint32_t count;
};

static bool count_mention(void *ctx, const struct sql_table_ref *ref)
{
	struct mentions *m = ctx;

	if (ref->kind == SQL_TABLE_NAME && !ref->u.name.table.db.ptr &&
		span_ieq(ref->u.name.table.name, m->name))
		m->count++;
	return true;
}

static uint32_t mentions_in(const struct sql_query *query, struct span name)
{
	struct mentions m = {.name = name};
	struct sql_visitor v = {.table_ref = count_mention, .ctx = &m};

	sql_walk_query(query, &v);
	return m.count;
}

/* In FROM itself, and on no side of an outer join. */
static uint32_t plain_mentions(const struct sql_table_ref *ref, struct span name)
{
	struct mentions m = {.name = name};

	for (; ref; ref = ref->next) {
		if (ref->kind == SQL_TABLE_NAME)
			count_mention(&m, ref);
		else if (ref->kind == SQL_TABLE_JOIN && ref->u.join.join != SQL_JOIN_LEFT &&
			 ref->u.join.join != SQL_JOIN_RIGHT)
			m.count += plain_mentions(ref->u.join.left, name) +
				   plain_mentions(ref->u.join.right, name);
	}
	return m.count;
}

/* start UNION [ALL] SELECT ... FROM itself once: SQL's linear recursion, without what servers forbid or
 * do each their own way in it. */
static bool is_linear(const struct sql_cte *t)
{
	const struct sql_query *q = t->query, *right;

	if (q->kind != SQL_QUERY_SET_OP || q->u.set.op != SQL_UNION || q->order || q->limit || q->with ||
		t->cycle || mentions_in(q->u.set.left, t->name))
		return false;
	right = q->u.set.right;
	return right->kind == SQL_QUERY_SELECT && !right->with && !right->order && !right->limit &&
	       !right->u.select.group && !right->u.select.having && !right->u.select.windows &&
	       !(right->u.select.flags & SQL_SELECT_DISTINCT) &&
	       mentions_in(right, t->name) == 1 &&
	       plain_mentions(right->u.select.from, t->name) == 1;
}

/* Columns are what the start makes them; what goes round must fit (run.c looks at its length). */
static bool same_shape(const struct eval_type *a, const struct eval_type *b)
{
	if (a->kind != b->kind || a->is_unsigned != b->is_unsigned || a->zerofill || a->hybrid)
		return false;
	switch (a->kind) {
	case EVAL_T_INT:
		return !a->is_unsigned;
	case EVAL_T_DECIMAL:
		return a->decimals == b->decimals;
	case EVAL_T_STRING:
		return a->collation == b->collation && !a->blob;
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
		return a->decimals == b->decimals;
	default:
		return false;
	}
}

static bool rename_columns(struct compiler *c, struct eval_query *q, const struct sql_names *names);

static struct eval_query *compile_recursive(
	struct compiler *c, struct cte *cte, struct scope *outer, const struct cte *before)
{
	struct eval_query *q = arena_zero(c->arena, sizeof(*q));
	const struct sql_query *tree = cte->tree->query;

	q->kind = QUERY_RECURSIVE;
	q->cte = cte;
	q->all = tree->u.set.all;
	q->left = compile_query(c, tree->u.set.left, outer, before);
	if (!q->left || !rename_columns(c, q->left, cte->tree->columns))
		return NULL;
	cte->start = q->left;
	q->right = compile_query(c, tree->u.set.right, outer, cte);
	if (!q->right)
		return NULL;
	if (q->left->column_count != q->right->column_count)
		return (struct eval_query *)compile_error(
			c, 1222, "queries with different numbers of columns");
	if (q->right->grouped || q->right->window_count)
		return (struct eval_query *)compile_unsupported(c, "a recursive CTE of another form");
	q->column_count = q->left->column_count;
	q->names = q->left->names;
	q->types = q->left->types;
	for (uint32_t i = 0; i < q->column_count; i++) {
		if (!same_shape(&q->types[i], &q->right->types[i]))
			return (struct eval_query *)compile_unsupported(
				c, "a recursive CTE whose columns change their type");
	}
	q->outer_reach = q->left->outer_reach > q->right->outer_reach ? q->left->outer_reach
								      : q->right->outer_reach;
	q->outer_text = q->left->outer_text || q->right->outer_text;
	return q;
}

bool compile_ctes(struct compiler *c, const struct sql_with *with, struct scope *outer,
	const struct cte **ctes)
{
	for (const struct sql_cte *t = with ? with->ctes : NULL; t; t = t->next) {
		struct cte *cte = arena_zero(c->arena, sizeof(*cte));
		const struct cte *sight = *ctes;

		cte->tree = t;
		cte->next = (struct cte *)(uintptr_t)*ctes;
		if (with->recursive) {
			cte->recursive = true;
			sight = cte; /* a mention of itself is found */
		}
		cte->query = with->recursive && mentions_in(t->query, t->name) && is_linear(t)
				     ? compile_recursive(c, cte, outer, *ctes)
				     : compile_query(c, t->query, outer, sight);
		if (!cte->query || !rename_columns(c, cte->query, t->columns))
			return false;
		if (!settle_columns(c, cte->query))
			return false;
		*ctes = cte;
	}
	return true;
}

/* ---- the select list ---- */

struct expanded {
	struct compiler *c;
	struct node **nodes;
	struct span *names;
	const struct sql_item **items;
	uint32_t count, capacity;
};

static void expanded_add(
	struct expanded *x, struct node *node, struct span name, const struct sql_item *item)
{
	if (x->count == x->capacity) {
		uint32_t capacity = x->capacity ? 2 * x->capacity : 8;
		struct node **nodes = arena_zero(x->c->arena, capacity * sizeof(*nodes));
		struct span *names = arena_zero(x->c->arena, capacity * sizeof(*names));
		const struct sql_item **items = arena_zero(x->c->arena, capacity * sizeof(*items));

		if (x->count) {
			memcpy(nodes, x->nodes, x->count * sizeof(*nodes));
			memcpy(names, x->names, x->count * sizeof(*names));
			memcpy(items, x->items, x->count * sizeof(*items));
		}
		x->nodes = nodes;
		x->names = names;
		x->items = items;
		x->capacity = capacity;
	}
	x->nodes[x->count] = node;
	x->names[x->count] = name;
	x->items[x->count++] = item;
}

static void add_column(struct expanded *x, const struct scope *scope, uint32_t t, uint32_t i)
{
	const struct scope_table *st = &scope->tables[t];

	expanded_add(x, node_column(x->c, NULL, 0, t, i, &st->types[i]), st->names[i], NULL);
}

static void star_of_table(struct expanded *x, const struct scope *scope, uint32_t t, bool merged)
{
	const struct scope_table *st = &scope->tables[t];

	for (uint32_t i = 0; i < st->column_count; i++) {
		if ((st->base && st->base->columns[i].invisible) || (merged && st->merged[i]))
			continue;
		add_column(x, scope, t, i);
	}
}

static bool has_merged(const struct join_tree *j)
{
	return j && j->kind != JOIN_TABLE &&
	       (j->equal_count || has_merged(j->left) || has_merged(j->right));
}

/* One NATURAL or USING join of two plain tables: common columns first, then the others. */
static bool star_of_using(struct expanded *x, const struct eval_query *q, const struct scope *scope)
{
	const struct join_tree *j = q->from;
	uint32_t first, second;

	if (j->kind == JOIN_TABLE || j->left->kind != JOIN_TABLE || j->right->kind != JOIN_TABLE) {
		compile_unsupported(x->c, "* over several NATURAL or USING joins");
		return false;
	}
	first = j->left->table; /* the side whose columns are kept */
	second = j->right->table;
	for (uint32_t i = 0; i < scope->tables[first].column_count; i++) {
		uint32_t other = find_column(&scope->tables[second], scope->tables[first].names[i]);

		if (other != UINT32_MAX && scope->tables[second].merged[other])
			add_column(x, scope, first, i);
	}
	for (int side = 0; side < 2; side++) {
		/* In source order: the left table of the text first. */
		uint32_t t = side ? (first > second ? first : second)
				  : (first > second ? second : first);
		uint32_t o = t == first ? second : first;

		for (uint32_t i = 0; i < scope->tables[t].column_count; i++) {
			uint32_t other = find_column(&scope->tables[o], scope->tables[t].names[i]);
			bool common =
				other != UINT32_MAX &&
				(scope->tables[t].merged[i] || scope->tables[o].merged[other]);

			if (!common)
				add_column(x, scope, t, i);
		}
	}
	return true;
}

static bool expand_star(struct expanded *x, const struct eval_query *q, const struct scope *scope,
	const struct sql_expr *e)
{
	bool found = false;

	if (!e->u.column.table.ptr) {
		if (!scope->table_count) {
			compile_error(x->c, 1096, "* without tables");
			return false;
		}
		if (has_merged(q->from))
			return star_of_using(x, q, scope);
		for (uint32_t t = 0; t < scope->table_count; t++)
			star_of_table(x, scope, t, true);
		return true;
	}
	for (uint32_t t = 0; t < scope->table_count; t++) {
		const struct scope_table *st = &scope->tables[t];

		if (!span_eq(st->alias, e->u.column.table) ||
			(e->u.column.db.ptr && st->db.ptr && !span_eq(st->db, e->u.column.db)))
			continue;
		star_of_table(x, scope, t, false);
		found = true;
	}
	if (!found)
		compile_error(x->c, 1051, "* of an unknown table");
	return found;
}

/* ---- ORDER BY, GROUP BY, LIMIT ---- */

static bool ordinal_of(const struct compiler *c, const struct sql_expr *e, uint64_t *out)
{
	if (e->kind != SQL_EXPR_LITERAL)
		return false;
	*out = e->u.literal.kind == SQL_LIT_TRUE;
	if (e->u.literal.kind == SQL_LIT_TRUE || e->u.literal.kind == SQL_LIT_FALSE)
		return c->env->flavour == SQL_MARIADB || mysql_5(c->env); /* to MySQL 8 they are values */
	if (e->u.literal.kind != SQL_LIT_INT)
		return false;
	for (size_t i = 0; i < e->u.literal.text.len && *out < 100000; i++)
		*out = *out * 10 + (uint64_t)(e->u.literal.text.ptr[i] - '0');
	return true;
}

static bool compile_keys(struct compiler *c, const struct sql_order *order, struct node **items,
	uint32_t item_count, struct select_order **out, uint32_t *count)
{
	uint32_t n = 0;

	for (const struct sql_order *o = order; o; o = o->next)
		n++;
	*out = arena_zero(c->arena, (n + 1) * sizeof(**out));
	*count = 0;
	for (const struct sql_order *o = order; o; o = o->next) {
		struct select_order *key = &(*out)[(*count)++];
		uint64_t ordinal;

		key->desc = o->desc;
		key->item = UINT32_MAX;
		if (items && o->expr->kind == SQL_EXPR_UNARY && o->expr->op == SQL_OP_NEG &&
			ordinal_of(c, o->expr->u.binary.left, &ordinal)) {
			compile_unsupported(c, "a constant in GROUP BY or ORDER BY");
			return false;
		}
		if (items && ordinal_of(c, o->expr, &ordinal)) {
			if (ordinal >= 100000) {
				compile_unsupported(c, "a constant in GROUP BY or ORDER BY");
				return false;
			}
			if (ordinal < 1 || ordinal > item_count) {
				compile_error(c, 1054, "no such column");
				return false;
			}
			key->node = items[ordinal - 1];
			/* In a derived table it is taken for a column's name (error 1054). */
			if (key->node->constant && c->env->flavour == SQL_MYSQL &&
				!(c->depth == 1 && c->scope->aggregates_allowed)) {
				compile_unsupported(c, "a constant in GROUP BY or ORDER BY");
				return false;
			}
			if (c->scope->aggregate_count && !c->scope->aggregates_allowed &&
				node_aggregates(key->node)) {
				compile_error(c, 1056, "grouping by an aggregate");
				return false;
			}
		} else if (items && o->expr->kind == SQL_EXPR_UNARY &&
			   o->expr->u.binary.left->kind == SQL_EXPR_UNARY) {
			compile_unsupported(c, "a constant in GROUP BY or ORDER BY");
			return false;
		} else {
			key->node = compile_value(c, o->expr);
		}
		if (!key->node)
			return false;
		/* As many bytes of it are compared as the text has characters. */
		if (key->node->type.kind == EVAL_T_STRING && !key->node->column &&
			key->node->type.collation == COLLATION_BINARY && has_wide_text(key->node)) {
			compile_unsupported(c, "ordering bytes that were a text");
			return false;
		}
		if (items && !c->scope->aggregates_allowed && !key->node->column &&
			key->node->type.kind == EVAL_T_DECIMAL &&
			compile_mysql_5(c, "MySQL before 8.0: GROUP BY a computed DECIMAL"))
			return false;
		/* The temporary table's column has the digits of the dividend. */
		if (items && !c->scope->aggregates_allowed && key->node->expr &&
			key->node->expr->kind == SQL_EXPR_BINARY &&
			key->node->expr->op == SQL_OP_INT_DIV &&
			!(type_is_int(&key->node->args[0]->type) &&
				type_is_int(&key->node->args[1]->type)) &&
			c->env->flavour == SQL_MARIADB) {
			compile_unsupported(c, "GROUP BY DIV of other than integers");
			return false;
		}
		/* The servers may fold it into a number, and take that for a column's. */
		if (items && !c->scope->aggregates_allowed && key->node->constant &&
			!key->node->literal && !ordinal_of(c, o->expr, &ordinal)) { /* GROUP BY */
			compile_unsupported(c, "a constant in GROUP BY or ORDER BY");
			return false;
		}
		for (uint32_t i = 0; i < item_count && items; i++) {
			if (items[i] == key->node)
				key->item = i;
		}
	}
	return true;
}

bool compile_order(struct compiler *c, const struct sql_order *order, struct select_order **out,
	uint32_t *count)
{
	return compile_keys(c, order, NULL, 0, out, count);
}

bool compile_limit(struct compiler *c, const struct sql_limit *limit, struct node **count,
	struct node **offset)
{
	*count = *offset = NULL;
	if (!limit)
		return true;
	if (limit->with_ties || limit->rows_examined) {
		compile_unsupported(c, "LIMIT ROWS EXAMINED, WITH TIES");
		return false;
	}
	/* A name is a variable of a stored program, whose value is not known; it is no column. */
	if ((limit->count && limit->count->kind != SQL_EXPR_LITERAL) ||
		(limit->offset && limit->offset->kind != SQL_EXPR_LITERAL)) {
		compile_unsupported(c, "LIMIT that is no number");
		return false;
	}
	if (limit->count && !(*count = compile_value(c, limit->count)))
		return false;
	if (limit->offset && !(*offset = compile_value(c, limit->offset)))
		return false;
	return true;
}

/* ---- SELECT ---- */

static bool same_column(const struct node *a, const struct node *b)
{
	return a->column && b->column && a->fn == b->fn && a->u.at.depth == b->u.at.depth &&
	       a->u.at.table == b->u.at.table && a->u.at.column == b->u.at.column;
}

static bool compile_items(
	struct compiler *c, struct eval_query *q, const struct sql_query *query, struct expanded *x)
{
	for (const struct sql_item *item = query->u.select.items; item; item = item->next) {
		struct span name = item->alias;
		struct node *n;

		if (item->expr->kind == SQL_EXPR_STAR) {
			if (!expand_star(x, q, c->scope, item->expr))
				return false;
			continue;
		}
		n = compile_value(c, item->expr);
		if (!n)
			return false;
		if (!name.ptr && item->expr->kind == SQL_EXPR_COLUMN)
			name = item->expr->u.column.name;
		if (!name.ptr)
			name = SPAN_LIT("?");
		expanded_add(x, n, name, item);
	}
	return true;
}

/* The select list's nodes by item, for aliases: a `*` has none. */
static void set_aliases(struct compiler *c, const struct sql_query *query, const struct expanded *x)
{
	uint32_t count = 0, i = 0;

	for (const struct sql_item *item = query->u.select.items; item; item = item->next)
		count++;
	c->scope->item_nodes = arena_zero(c->arena, (count + 1) * sizeof(struct node *));
	for (const struct sql_item *item = query->u.select.items; item; item = item->next, i++) {
		for (uint32_t k = 0; k < x->count; k++) {
			if (x->items[k] == item)
				c->scope->item_nodes[i] = x->nodes[k];
		}
	}
	c->scope->items = query->u.select.items;
}

static bool compile_groups(struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	struct scope *scope = c->scope;
	bool good;

	scope->aggregates_allowed = false;
	scope->alias_last = true;
	good = compile_keys(
		c, query->u.select.group, q->items, q->column_count, &q->group, &q->group_count);
	scope->alias_last = false;
	scope->aggregates_allowed = true;
	return good;
}

/* MariaDB 10.5 to 11.8 leave an ORDER BY out whose keys are those that the rows were grouped by, in
 * whichever direction; window functions then sort the groups their own way, and so the rows come,
 * and LIMIT cuts them.  A key with an aggregate or a window function is none of GROUP BY's. */
static bool order_is_lost(const struct compiler *c, const struct eval_query *q)
{
	if (c->env->flavour != SQL_MARIADB || !q->group_count || !q->window_count)
		return false;
	for (uint32_t k = 0; k < q->order_count; k++) {
		if (node_aggregates(q->order[k].node) || node_windows(q->order[k].node))
			return false;
	}
	return true;
}

/* ---- WITH ROLLUP ---- */

static bool has_query(void *ctx, const struct sql_query *query)
{
	(void)query;
	*(bool *)ctx = true;
	return false;
}

static bool asks_query(const struct sql_expr *e)
{
	bool found = false;
	struct sql_visitor v = {.query = has_query, .ctx = &found};

	if (e)
		sql_walk_expr(e, &v);
	return found;
}

/* Columns of this query in it are keys of its groups. */
static bool only_keys(const struct eval_query *q, const struct node *n)
{
	if (n->column && n->u.at.depth == 0) {
		for (uint32_t k = 0; k < q->group_count; k++) {
			if (same_column(n, q->group[k].node))
				return true;
		}
		return false;
	}
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!only_keys(q, n->args[i]))
			return false;
	}
	return true;
}

/* Types that a temporary table keeps as they are. */
static bool keeps_type(const struct eval_type *t)
{
	switch (t->kind) {
	case EVAL_T_INT:
		return !t->zerofill;
	case EVAL_T_DECIMAL:
		return !has_long_print(t);
	case EVAL_T_STRING:
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
		return true;
	default:
		return false;
	}
}

/* A row more for each prefix of the keys: the others are NULL in it.  Keys are columns, and nothing else
 * of the tables is shown, so that it is clear what is NULL. */
static bool compile_rollup(struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	/* MariaDB counts rows as equal that differ in what is NULL. */
	bool good = !q->window_count && !(q->distinct && c->env->flavour == SQL_MARIADB);

	if (query->order && c->env->flavour == SQL_MARIADB) {
		compile_error(c, 1221, "WITH ROLLUP and ORDER BY");
		return false;
	}
	for (uint32_t k = 0; k < q->group_count; k++) {
		const struct node *key = q->group[k].node;

		good &= key->column && key->u.at.depth == 0 && keeps_type(&key->type);
		for (uint32_t i = 0; i < k; i++)
			good &= !same_column(key, q->group[i].node);
	}
	/* MariaDB takes what is distinct in groups of one row for distinct in all. */
	for (const struct aggregate *a = q->aggregates; a && c->env->flavour == SQL_MARIADB; a = a->next)
		good &= !a->distinct;
	for (uint32_t i = 0; good && i < q->column_count; i++)
		good = only_keys(q, q->items[i]);
	for (uint32_t i = 0; good && i < q->order_count; i++)
		good = only_keys(q, q->order[i].node);
	for (const struct sql_item *item = query->u.select.items; item; item = item->next)
		good &= !asks_query(item->expr);
	for (const struct sql_order *o = query->order; o; o = o->next)
		good &= !asks_query(o->expr);
	good = good && (!q->having || only_keys(q, q->having)) && !asks_query(query->u.select.having);
	if (!good)
		compile_unsupported(c, "WITH ROLLUP of other than columns and aggregates");
	return good;
}

static struct eval_value run_grouping(const struct node *n, struct frame *f)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		uint32_t k = 0;

		if (!f->rollup)
			return run_unsupported(f->run, "GROUPING() outside of WITH ROLLUP");
		while (k < f->rollup->group_count &&
			!same_column(n->args[i], f->rollup->group[k].node))
			k++;
		if (k == f->rollup->group_count)
			return run_unsupported(f->run, "GROUPING() of no key");
		bits = bits << 1 | (k >= f->rollup_kept);
	}
	return eval_int((int64_t)bits);
}

struct node *compile_grouping(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_grouping, e, e->u.call.args.count);

	if (!compile_list(c, &e->u.call.args, n->args))
		return NULL;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!n->args[i]->column || n->args[i]->u.at.depth)
			return compile_unsupported(c, "GROUPING() of no column");
	}
	n->type = type_int(false);
	return n;
}

static bool is_tiny_text(const struct node *n)
{
	return n->column && n->type.blob && n->type.length == 255;
}

/* MariaDB's groups of IF, COALESCE, GREATEST ... of a TINYTEXT: it compares with what it has of the row before,
 * which is where the column's value is, and finds all equal. */
static bool mixes_tiny_text(const struct compiler *c, const struct eval_query *q)
{
	for (uint32_t i = 0; i < q->group_count; i++) {
		const struct node *n = q->group[i].node;

		if (c->env->flavour == SQL_MARIADB && !n->column && n->type.merged && node_any(n, is_tiny_text))
			return true;
	}
	for (uint32_t i = 0; i < q->column_count && q->distinct; i++) {
		const struct node *n = q->items[i];

		if (c->env->flavour == SQL_MARIADB && !n->column && n->type.merged && node_any(n, is_tiny_text))
			return true;
	}
	return false;
}

static struct eval_query *compile_select(struct compiler *c, struct eval_query *q,
	const struct sql_query *query, struct scope *scope, const struct cte *ctes)
{
	struct expanded x = {.c = c};
	bool having_order;

	if (query->u.select.cube || query->u.select.grouping_sets.ptr)
		return (struct eval_query *)compile_unsupported(c, "CUBE, GROUPING SETS");
	if (query->u.select.qualify)
		return (struct eval_query *)compile_unsupported(c, "QUALIFY");
	if (query->u.select.procedure.ptr)
		return (struct eval_query *)compile_unsupported(c, "PROCEDURE");
	if (!compile_from(c, q, query->u.select.from, scope, ctes))
		return NULL;
	scope->aggregates_tail = &scope->aggregates;
	scope->windows_tail = &scope->windows;
	scope->named_windows = query->u.select.windows;
	scope->extremes = items_ask_for_extremes(query->u.select.items);
	if (query->u.select.where && !(q->where = compile_condition(c, query->u.select.where)))
		return NULL;
	if (hides_rows(c, q))
		return NULL;
	scope->aggregates_allowed = scope->windows_allowed = true;
	if (!compile_items(c, q, query, &x))
		return NULL;
	scope->windows_allowed = false;
	q->items = x.nodes;
	q->names = x.names;
	q->column_count = x.count;
	q->types = arena_zero(c->arena, (x.count + 1) * sizeof(*q->types));
	for (uint32_t i = 0; i < x.count; i++)
		q->types[i] = x.nodes[i]->type;
	q->distinct = query->u.select.flags & SQL_SELECT_DISTINCT;
	for (uint32_t i = 0; i < x.count && q->distinct; i++) {
		if (q->types[i].kind == EVAL_T_BIT)
			return (struct eval_query *)compile_unsupported(c, "DISTINCT of BIT");
	}
	set_aliases(c, query, &x);
	if (!compile_groups(c, q, query))
		return NULL;
	having_order = scope->alias_first;
	scope->alias_first = true;
	if (query->u.select.having && !(q->having = compile_condition(c, query->u.select.having)))
		return NULL;
	scope->windows_allowed = true;
	if (!compile_keys(c, query->order, q->items, q->column_count, &q->order, &q->order_count))
		return NULL;
	scope->windows_allowed = false;
	scope->alias_first = having_order;
	for (uint32_t k = 0; k < q->order_count; k++) {
		for (uint32_t i = 0; i < q->column_count && q->order[k].item == UINT32_MAX; i++) {
			if (same_column(q->order[k].node, q->items[i]))
				q->order[k].item = i;
		}
		/* The rows that are sorted are in a table. */
		if (q->order[k].item != UINT32_MAX && node_is_cut(c, q->items[q->order[k].item]))
			return (struct eval_query *)compile_unsupported(c, cut_reason);
	}
	q->aggregates = scope->aggregates;
	q->aggregate_count = scope->aggregate_count;
	q->grouped = q->group_count || q->aggregate_count;
	q->windows = scope->windows;
	q->window_count = scope->window_count;
	q->window_inputs = scope->window_inputs;
	if (order_is_lost(c, q))
		q->order_count = 0;
	q->buffered = q->distinct || q->grouped || q->window_count ||
		      (q->order_count && q->table_count > 1) ||
		      (query->u.select.flags & SQL_SELECT_BUFFER_RESULT);
	for (uint32_t i = 0; i < q->column_count && q->buffered; i++) {
		/* What is made of a group comes after its table. */
		if (node_aggregates(q->items[i]) && !q->distinct && !q->window_count)
			continue;
		if (node_is_cut(c, q->items[i]))
			return (struct eval_query *)compile_unsupported(c, cut_reason);
		/* A text of a number may find too little room there. */
		if (q->window_count && type_is_string(&q->items[i]->type) &&
			node_any(q->items[i], cuts_decimal))
			return (struct eval_query *)compile_unsupported(c, cut_reason);
		/* What stands beside a window function is kept in its table, too. */
		if (q->window_count && c->env->flavour == SQL_MARIADB && !q->items[i]->column &&
			q->items[i]->type.kind == EVAL_T_DOUBLE &&
			q->items[i]->type.decimals < EVAL_NOT_FIXED)
			return (struct eval_query *)compile_unsupported(
				c, "a DOUBLE with decimals beside a window function");
	}
	if (mixes_tiny_text(c, q))
		return (struct eval_query *)compile_unsupported(c, "groups of a computed TINYTEXT");
	q->rollup = query->u.select.rollup;
	return !q->rollup || compile_rollup(c, q, query) ? q : NULL;
}

/* ---- set operations and VALUES ---- */

static struct eval_value run_nothing(const struct node *n, struct frame *f)
{
	(void)n;
	(void)f;
	return EVAL_NULL_VALUE;
}

static uint32_t items_of(const struct eval_query *q, uint32_t column, struct node **out)
{
	uint32_t count;

	if (q->kind == QUERY_SET_OP) {
		count = items_of(q->left, column, out);
		return count + items_of(q->right, column, out ? out + count : NULL);
	}
	if (q->kind == QUERY_SELECT && out)
		out[0] = q->items[column];
	return q->kind == QUERY_SELECT;
}

/* Stands for a column of an operand; its arguments are what may be in it. */
static struct node *node_of_column(struct compiler *c, const struct eval_query *q, uint32_t column)
{
	bool null = q->types[column].kind == EVAL_T_NULL;
	struct node *n = node_new(c, run_nothing, NULL, null ? 0 : items_of(q, column, NULL));

	if (!null)
		items_of(q, column, n->args);
	n->type = q->types[column];
	return n;
}

/* ORDER BY of a union sees the columns of its result only. */
static bool compile_set_order(struct compiler *c, struct eval_query *q,
	const struct sql_query *query, struct scope *scope)
{
	struct node **items = arena_zero(c->arena, (q->column_count + 1) * sizeof(*items));

	scope->tables = arena_zero(c->arena, sizeof(*scope->tables));
	scope->table_count = 1;
	scope->tables[0].names = q->names;
	scope->tables[0].types = q->types;
	scope->tables[0].column_count = q->column_count;
	for (uint32_t i = 0; i < q->column_count; i++)
		items[i] = node_column(c, NULL, 0, 0, i, &q->types[i]);
	return compile_keys(c, query->order, items, q->column_count, &q->order, &q->order_count);
}

/* Through a temporary table BIT is a number or its text, ZEROFILL cuts, a FLOAT has the digits of a
 * DOUBLE in some, and the text of a number may be cut. */
static bool unites(const struct eval_type *a, const struct eval_type *b)
{
	const struct eval_type *both[2] = {a, b};

	for (int i = 0; i < 2; i++) {
		const struct eval_type *t = both[i], *other = both[1 - i];

		if (t->kind == EVAL_T_BIT || t->zerofill ||
			((t->kind == EVAL_T_FLOAT || t->kind == EVAL_T_YEAR) && other->kind != t->kind) ||
			(has_long_print(t) && !type_is_number(other) && other->kind != EVAL_T_NULL) ||
			(t->kind == EVAL_T_STRING && t->collation == COLLATION_BINARY &&
				other->kind != EVAL_T_NULL &&
				(other->kind != EVAL_T_STRING || other->collation != COLLATION_BINARY)))
			return false;
	}
	return true;
}

/* MariaDB finds the type of all operands at once: 1 UNION 1.5 UNION 'a' has '1', not '1.0'. */
static bool mixes(const struct eval_query *q, const struct eval_type *type, uint32_t i)
{
	if (q->kind != QUERY_SET_OP || !type_is_string(type))
		return false;
	return (!type_is_string(&q->types[i]) &&
		       (q->left->types[i].kind != q->right->types[i].kind ||
			       q->left->types[i].decimals != q->right->types[i].decimals)) ||
	       mixes(q->left, type, i) || mixes(q->right, type, i);
}

static bool operand_is_cut(
	const struct compiler *c, const struct eval_query *q, const struct eval_type *type, uint32_t i)
{
	if (q->kind == QUERY_SET_OP)
		return operand_is_cut(c, q->left, type, i) || operand_is_cut(c, q->right, type, i);
	if (q->kind != QUERY_SELECT)
		return false;
	if (type_is_string(type) && c->env->flavour == SQL_MARIADB && outgrows(q->items[i], true))
		return true;
	return node_is_cut(c, q->items[i]) || (type->kind == EVAL_T_DECIMAL && is_narrow(c, q->items[i]));
}

static bool is_plain_item(const struct eval_query *q, uint32_t i)
{
	if (q->kind == QUERY_SET_OP)
		return is_plain_item(q->left, i) && is_plain_item(q->right, i);
	return q->kind == QUERY_SELECT && (q->items[i]->column || q->items[i]->literal);
}

/* As a text COALESCE(1, 2.50) has the digits of 1, and so has a sum of it: none. */
static bool has_own_digits(const struct eval_query *q, uint32_t i)
{
	const struct node *n;

	if (q->kind == QUERY_SET_OP)
		return has_own_digits(q->left, i) || has_own_digits(q->right, i);
	if (q->types[i].kind != EVAL_T_DECIMAL || !q->types[i].decimals)
		return false;
	if (q->kind != QUERY_SELECT)
		return true;
	n = q->items[i];
	return !n->literal && !(n->column && !n->u.at.depth && q->tables[n->u.at.table].base);
}

/* MySQL: a text that is made of it has the collation of its arguments. */
static bool has_related_texts(const struct eval_query *q, uint32_t i)
{
	if (q->kind == QUERY_SET_OP)
		return has_related_texts(q->left, i) || has_related_texts(q->right, i);
	return q->kind == QUERY_SELECT && !type_is_string(&q->types[i]) && relates_texts(&q->items[i], 1, 0);
}

static bool is_intersection(const struct eval_query *q)
{
	return q->kind == QUERY_SET_OP && q->op == SQL_INTERSECT;
}

static struct eval_query *compile_set_op(struct compiler *c, struct eval_query *q,
	const struct sql_query *query, struct scope *scope, const struct cte *ctes)
{
	struct scope *saved = c->scope;

	q->op = query->u.set.op;
	q->all = query->u.set.all;
	q->left = compile_query(c, query->u.set.left, scope->outer, ctes);
	q->right = q->left ? compile_query(c, query->u.set.right, scope->outer, ctes) : NULL;
	if (!q->right)
		return NULL;
	c->scope = saved;
	/* MySQL 9.7 lets the operand's LIMIT go. */
	if (c->env->flavour == SQL_MYSQL && q->op != SQL_UNION &&
		(q->left->limit || q->right->limit))
		return (struct eval_query *)compile_unsupported(
			c, "MySQL: LIMIT in an operand of INTERSECT or EXCEPT");
	/* MariaDB makes it a derived table, where no two columns may have one name. */
	if (c->env->flavour == SQL_MARIADB && q->op != SQL_INTERSECT && q->left->column_count > 1 &&
		(is_intersection(q->left) || is_intersection(q->right)))
		return (struct eval_query *)compile_unsupported(c, "INTERSECT within UNION or EXCEPT");
	if (q->left->column_count != q->right->column_count)
		return (struct eval_query *)compile_error(
			c, 1222, "queries with different numbers of columns");
	q->column_count = q->left->column_count;
	q->names = q->left->names;
	q->types = arena_zero(c->arena, (q->column_count + 1) * sizeof(*q->types));
	for (uint32_t i = 0; i < q->column_count; i++) {
		struct node *pair[2] = {
			node_of_column(c, q->left, i), node_of_column(c, q->right, i)};

		if (!unites(&pair[0]->type, &pair[1]->type))
			return (struct eval_query *)compile_unsupported(
				c, "UNION of BIT, ZEROFILL, or of YEAR, FLOAT, DOUBLE or bytes with another type");
		/* MariaDB makes a DECIMAL of as many digits as it thinks the numbers have, and cuts. */
		if (c->env->flavour == SQL_MARIADB && pair[0]->type.kind == EVAL_T_INT &&
			pair[1]->type.kind == EVAL_T_INT &&
			pair[0]->type.is_unsigned != pair[1]->type.is_unsigned &&
			!(is_plain_item(q->left, i) && is_plain_item(q->right, i)))
			return (struct eval_query *)compile_unsupported(
				c, "UNION of signed and unsigned integers that are computed");
		if ((pair[0]->type.kind != pair[1]->type.kind || pair[0]->type.bytes != pair[1]->type.bytes) &&
			compile_mysql_5(c, "MySQL before 8.0: UNION of several types"))
			return NULL;
		/* MySQL 9.7: SELECT 1 EXCEPT SELECT v INTERSECT SELECT NULL is empty. */
		if (c->env->flavour == SQL_MYSQL && q->op != SQL_UNION &&
			(pair[0]->type.kind == EVAL_T_NULL || pair[1]->type.kind == EVAL_T_NULL))
			return (struct eval_query *)compile_unsupported(
				c, "MySQL: NULL as a column of INTERSECT or EXCEPT");
		if (!merge_types(c, pair, 2, "UNION", &q->types[i]))
			return NULL;
		if (operand_is_cut(c, q->left, &q->types[i], i) ||
			operand_is_cut(c, q->right, &q->types[i], i))
			return (struct eval_query *)compile_unsupported(c, cut_reason);
		if (c->env->flavour == SQL_MYSQL && type_is_string(&q->types[i]) &&
			(has_related_texts(q->left, i) || has_related_texts(q->right, i)))
			return (struct eval_query *)compile_unsupported(
				c, "MySQL: the text of REGEXP_LIKE, INSTR and kin");
		if (type_is_string(&q->types[i]) &&
			(has_own_digits(q->left, i) || has_own_digits(q->right, i)))
			return (struct eval_query *)compile_unsupported(
				c, "UNION of a text and of a computed DECIMAL");
		if (mixes(q->left, &q->types[i], i) || mixes(q->right, &q->types[i], i))
			return (struct eval_query *)compile_unsupported(
				c, "UNION of a text and of numbers or dates of several types");
	}
	if (q->left->outer_reach > q->outer_reach)
		q->outer_reach = q->left->outer_reach;
	if (q->right->outer_reach > q->outer_reach)
		q->outer_reach = q->right->outer_reach;
	q->outer_text |= q->left->outer_text || q->right->outer_text;
	if (query->limit && !q->all && compile_mysql_5(c, "MySQL before 8.0: UNION with LIMIT"))
		return NULL;
	return compile_set_order(c, q, query, scope) ? q : NULL;
}

/* Of one type, but for NULLs. */
static bool all_alike(struct node *const *values, uint32_t count)
{
	const struct eval_type *first = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const struct eval_type *t = &values[i]->type;

		if (values[i]->literal && t->kind == EVAL_T_NULL)
			continue;
		if (first && (t->kind != first->kind || t->decimals != first->decimals))
			return false;
		first = t;
	}
	return true;
}

/* Literals that are integers, DECIMALs or NULL. */
static bool all_exact(struct node *const *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct eval_type *t = &values[i]->type;

		if (!values[i]->literal ||
			(t->kind != EVAL_T_INT && t->kind != EVAL_T_DECIMAL && t->kind != EVAL_T_NULL))
			return false;
	}
	return true;
}

static struct eval_query *compile_values_query(
	struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	uint32_t r = 0;

	for (const struct sql_values_row *row = query->u.values; row; row = row->next)
		q->row_count++;
	q->column_count = query->u.values->values.count;
	q->rows = arena_zero(c->arena, (q->row_count + 1) * sizeof(*q->rows));
	for (const struct sql_values_row *row = query->u.values; row; row = row->next, r++) {
		if (row->values.count != q->column_count)
			return (struct eval_query *)compile_error(
				c, 4045, "VALUES rows of different lengths");
		q->rows[r] = arena_zero(c->arena, (q->column_count + 1) * sizeof(struct node *));
		if (!compile_list(c, &row->values, q->rows[r]))
			return NULL;
	}
	q->names = arena_zero(c->arena, (q->column_count + 1) * sizeof(*q->names));
	q->types = arena_zero(c->arena, (q->column_count + 1) * sizeof(*q->types));
	for (uint32_t i = 0; i < q->column_count; i++) {
		struct node **column = arena_zero(c->arena, (q->row_count + 1) * sizeof(*column));

		for (r = 0; r < q->row_count; r++)
			column[r] = q->rows[r][i];
		if (c->env->flavour == SQL_MYSQL && !all_alike(column, (uint32_t)q->row_count) &&
			!all_exact(column, (uint32_t)q->row_count))
			return (struct eval_query *)compile_unsupported(
				c, "MySQL: VALUES of several types in one column");
		if (!merge_types(c, column, (uint32_t)q->row_count, "VALUES", &q->types[i]))
			return NULL;
		/* Each row is printed as it is, there, but out of a derived table. */
		q->types[i].own_scale = c->env->flavour == SQL_MYSQL && c->depth == 1 &&
					q->types[i].kind == EVAL_T_DECIMAL;
		q->names[i] = SPAN_LIT("?");
		if (c->env->flavour == SQL_MYSQL) {
			struct buf name = BUF_INIT;

			buf_printf(&name, "column_%u", i);
			q->names[i] = arena_copy(c->arena, buf_span(&name));
			buf_release(&name);
		}
	}
	/* The server leaves them as they are written, and LIMIT takes the first. */
	if (query->order && c->env->flavour == SQL_MYSQL)
		return (struct eval_query *)compile_unsupported(c, "MySQL: ORDER BY of VALUES");
	return compile_set_order(c, q, query, c->scope) ? q : NULL;
}

struct eval_query *compile_query(struct compiler *c, const struct sql_query *query,
	struct scope *outer, const struct cte *ctes)
{
	struct eval_query *q = arena_zero(c->arena, sizeof(*q)), *done = NULL;
	struct scope *scope = arena_zero(c->arena, sizeof(*scope)), *saved = c->scope;
	const struct cte *saved_ctes = c->ctes;

	if (c->failed)
		return NULL;
	if (query->into)
		return (struct eval_query *)compile_unsupported(c, "SELECT ... INTO");
	if (++c->depth > 200)
		return (struct eval_query *)compile_unsupported(c, "queries nested too deeply");
	scope->outer = outer;
	c->scope = scope;
	if (!compile_ctes(c, query->with, outer, &ctes))
		return NULL;
	c->ctes = ctes;
	switch (query->kind) {
	case SQL_QUERY_SELECT:
		q->kind = QUERY_SELECT;
		done = compile_select(c, q, query, scope, ctes);
		break;
	case SQL_QUERY_SET_OP:
		q->kind = QUERY_SET_OP;
		done = compile_set_op(c, q, query, scope, ctes);
		break;
	case SQL_QUERY_VALUES:
		q->kind = QUERY_VALUES;
		done = compile_values_query(c, q, query);
		break;
	case SQL_QUERY_TABLE:
		done = (struct eval_query *)compile_unsupported(c, "TABLE t");
		break;
	case SQL_QUERY_PAREN:
		/* The inner query's own order is lost behind the outer one's, its limit is not:
		 * a union of one. */
		done = (struct eval_query *)compile_unsupported(
			c, "a parenthesised query with two tails");
		break;
	}
	if (done && !compile_limit(c, query->limit, &q->limit, &q->offset))
		done = NULL;
	if (scope->outer_reach > q->outer_reach)
		q->outer_reach = scope->outer_reach;
	q->outer_text |= scope->outer_text > 0;
	c->scope = saved;
	c->ctes = saved_ctes;
	c->depth--;
	return c->failed ? NULL : done;
}

struct eval_query *eval_query_compile(struct arena *arena, const struct sql_query *query,
	const struct eval_env *env, const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);

	return compile_query(&c, query, NULL, NULL);
}
