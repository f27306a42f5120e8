/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statement texts, parsed, compiled and looked at once. */
#include "mvcc/plan/plan.h"

#include <ctype.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "eval/value/collation.h"
#include "eval/value/release.h"
#include "mvcc/execute/returning.h"
#include "mvcc/plan/definitions.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/key_ranges.h"
#include "mvcc/plan/last_insert_id.h"
#include "mvcc/plan/lookups.h"
#include "mvcc/plan/masked_passwords.h"
#include "mvcc/plan/partition.h"
#include "mvcc/plan/prepared_text.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/plan/session_variables.h"
#include "mvcc/plan/sql_view.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/plan/temporal_params.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"

uint64_t label_hash(struct span name)
{
	char lower[256];
	size_t len = name.len < sizeof(lower) ? name.len : sizeof(lower);

	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)name.ptr[i]);
	return hash_bytes(lower, len);
}

uint32_t solver_table(const struct mvcc *m, struct span database, struct span name)
{
	uint32_t i = map_get(&m->catalog.label_heads, label_hash(name));

	for (; i != MAP_NONE; i = m->catalog.labels[i].next) {
		const struct label *l = &m->catalog.labels[i];

		if (eval_same_name(&m->now.env, l->name, name) &&
			(!database.ptr || !l->database.ptr ||
				eval_same_name(&m->now.env, l->database, database)))
			return l->table;
	}
	return STORE_NONE;
}

uint32_t table_in_sight(const struct mvcc *m, struct span database, struct span name)
{
	uint32_t number;

	return temporary_find(m->now.temporary, m->now.env.any_case, database, name, &number)
		       ? number
		       : solver_table(m, database, name);
}

static struct span database_or_current(const struct mvcc *m, struct span database)
{
	return database.ptr ? database : m->now.env.database;
}

const struct eval_table *table_named(void *ctx, const struct sql_table_name *name)
{
	struct mvcc *m = ctx;
	uint32_t table = table_in_sight(m, database_or_current(m, name->db), name->name);

	return table == STORE_NONE ? sequence_named(m, name->name) : m->store.tables[table].def;
}

struct table_walk {
	struct mvcc *m;
	struct plan *plan;
	const struct session_settings *settings;
	bool temporary; /* a table of the session's own was named */
	bool bare;      /* ... one that has no triggers, whatever it is like */
	bool unpromised; /* ... one of which no contract says anything */
	bool judged;     /* ... any other */
};

/* The server's own tables, which have no rows of users. */
static bool is_dictionary(struct span database)
{
	return span_ieq_str(database, "information_schema") || span_ieq_str(database, "performance_schema") ||
	       span_ieq_str(database, "sys");
}

/* A table of numbers, where its rows are only read: not one whose rows are locked, or joined to those that change. */
static bool reads_sequence(
	const struct table_walk *walk, const struct sql_table_name *name, enum sql_access_kind access)
{
	const struct sql_stmt *stmt = walk->plan->stmt;

	return access == SQL_TABLE_READ && !sql_stmt_locking_read(stmt) &&
	       (stmt->kind != SQL_STMT_UPDATE ||
		       (stmt->u.update->tables->kind == SQL_TABLE_NAME && !stmt->u.update->tables->next)) &&
	       (stmt->kind != SQL_STMT_DELETE || !stmt->u.del->targets) && sequence_named(walk->m, name->name);
}

static void see_table(void *ctx, const struct sql_table_name *name, const struct sql_table_ref *ref,
	enum sql_access_kind access)
{
	struct table_walk *walk = ctx;
	struct plan *plan = walk->plan;
	uint32_t table = solver_table(walk->m, database_or_current(walk->m, name->db), name->name);

	(void)ref;
	if (table == STORE_NONE && access == SQL_TABLE_READ && is_dictionary(database_or_current(walk->m, name->db))) {
		walk->unpromised = true;
		plan->unsupported = REASON_TABLE_NOT_DESCRIBED;
		return;
	}
	/* It has no triggers and no foreign keys, and no other session sees it. */
	if (settings_temporary(walk->settings, name)) {
		table = table_in_sight(walk->m, database_or_current(walk->m, name->db), name->name);
		if (table == STORE_NONE || plan->redefines) {
			walk->temporary = true;
			plan->unsupported = REASON_TEMPORARY_TABLES;
			return;
		}
	}
	if (plan->redefines && (table == STORE_NONE || walk->m->store.tables[table].bare))
		return; /* one that the trace does not describe, so nothing of it is judged */
	if (table != STORE_NONE && (walk->m->store.tables[table].bare || walk->m->store.tables[table].alien)) {
		walk->bare = plan->bare = true;
		if (define_lacks_transactions(walk->m, &walk->m->store.tables[table]))
			walk->unpromised = true;
		else
			walk->judged = true;
		plan->unsupported = walk->m->store.tables[table].bare ? REASON_DEFINITION_UNKNOWN
								      : REASON_OTHER_ENGINE;
		return;
	}
	if (table == STORE_NONE && reads_sequence(walk, name, access))
		return;
	walk->judged = true;
	if (table == STORE_NONE || !walk->m->store.tables[table].def) {
		/* A view, or a table that has triggers. */
		plan->uses_unknown_tables = true;
		plan->may_write_any |= access != SQL_TABLE_READ && !plan->redefines;
		plan->unsupported = table != STORE_NONE ? REASON_TABLE_NOT_MODELLED
				    : view_has_text(walk->m, database_or_current(walk->m, name->db), name->name)
					    ? REASON_VIEW_WRITTEN_OTHERWISE
					    : REASON_TABLE_NOT_DESCRIBED;
		return;
	}
	for (uint32_t i = 0; i < plan->table_count; i++) {
		if (plan->tables[i] == table) {
			plan->written[i] |= access != SQL_TABLE_READ;
			plan->names_twice = true;
			return;
		}
	}
	if (plan->table_count == MVCC_TABLES_MAX) {
		plan->unsupported = REASON_MANY_TABLES;
		return;
	}
	plan->tables[plan->table_count] = table;
	plan->written[plan->table_count++] = access != SQL_TABLE_READ;
}

static bool note_outcome(struct mvcc *m, struct plan *plan, const struct eval_outcome *outcome)
{
	if (outcome->status == EVAL_UNSUPPORTED) {
		plan->unsupported = reason_of_text(&m->reasons, outcome->reason);
	} else if (outcome->status == EVAL_ERROR) {
		/* An error of every execution: known when it runs. */
		plan->unsupported = REASON_ERROR_BEFORE_EXECUTION;
	}
	return false;
}

static bool condition_anywhere(void *ctx, const struct sql_query *query)
{
	bool *found = ctx;

	if (query->kind == SQL_QUERY_SELECT)
		*found |= query->u.select.where || query->u.select.having ||
			  (query->u.select.from && query->u.select.from->kind == SQL_TABLE_JOIN);
	*found |= query->limit != NULL;
	return true;
}

static bool subquery_anywhere(void *ctx, const struct sql_query *query)
{
	unsigned *count = ctx;

	(void)query;
	++*count;
	return true;
}

/* Does the answer have one row of columns for each row of the table that is picked? */
static bool shows_rows(const struct sql_query *query)
{
	if (query->u.select.group || query->u.select.having ||
		query->u.select.flags & SQL_SELECT_DISTINCT)
		return false;
	for (const struct sql_item *item = query->u.select.items; item; item = item->next) {
		if (item->expr->kind != SQL_EXPR_STAR && item->expr->kind != SQL_EXPR_COLUMN)
			return false;
	}
	return true;
}

/* SKIP LOCKED with LIMIT, as workers take their next job: others come in place of rows that are locked, so what may
 * come is found among all. */
static void plan_skipping(struct mvcc *m, struct plan *plan, const struct sql_query *query)
{
	const struct sql_limit *limit = query->limit;
	struct eval_outcome outcome = {0};
	struct sql_query *all;

	if (!skips_locked(plan) || limit->offset ||
		limit->with_ties || limit->rows_examined || !shows_rows(query))
		return;
	all = arena_alloc(&m->catalog.arena, sizeof(*all));
	*all = *query;
	all->limit = NULL;
	plan->unlimited = eval_query_compile(&m->catalog.arena, all, &m->now.env, &m->source, &outcome);
}

static bool lock_anywhere(void *ctx, const struct sql_query *query)
{
	*(unsigned *)ctx += query->locks != NULL;
	return true;
}

/* A locking clause is for its own query block: subqueries are plain reads (MySQL manual, "Locking Reads"; seen on all
 * servers).  Here: of one table, and the outermost block is the only one that has a clause. */
static void plan_outer(struct plan *plan, const struct sql_query *query)
{
	const struct sql_table_ref *from =
		query->kind == SQL_QUERY_SELECT ? query->u.select.from : NULL;
	unsigned locks = 0;

	sql_walk_stmt(plan->stmt, &(struct sql_visitor){.query = lock_anywhere, .ctx = &locks});
	if (from && !from->next && from->kind == SQL_TABLE_NAME && !query->with && query->locks &&
		!query->locks->of && locks == 1 && !skips_locked(plan))
		plan->outer = from;
	else
		plan->unsupported = REASON_LOCKING_READ_OF_SEVERAL_BLOCKS;
}

/* Where the answer has the primary key, if that is one column. */
static void plan_key(struct mvcc *m, struct plan *plan, const struct sql_query *query)
{
	const struct store_table *table = &m->store.tables[plan->tables[0]];
	uint32_t at = 1;

	if (!table->cluster || table->cluster->count != 1 || !shows_rows(query))
		return;
	for (const struct sql_item *item = query->u.select.items; item; item = item->next, at++) {
		if (item->expr->kind != SQL_EXPR_COLUMN || item->alias.ptr)
			return;
		if (eval_table_column(table->def, item->expr->u.column.name) == table->cluster->columns[0]) {
			plan->key_at = at;
			return;
		}
	}
}

static bool shows_column(
	const struct eval_table *def, const struct sql_query *query, uint32_t column)
{
	for (const struct sql_item *item = query->u.select.items; item; item = item->next) {
		if (item->expr->kind == SQL_EXPR_STAR ||
			(item->expr->kind == SQL_EXPR_COLUMN &&
				eval_table_column(def, item->expr->u.column.name) == column))
			return true;
	}
	return false;
}

/* Of one table: the answer has all of its primary key, or all that GROUP BY groups by, or is DISTINCT. */
static void plan_twins(struct mvcc *m, struct plan *plan, const struct sql_query *query)
{
	const struct store_table *table = &m->store.tables[plan->tables[0]];
	const struct sql_order *group = query->u.select.group;

	plan->rows_differ = !query->u.select.rollup &&
			 (query->u.select.flags & SQL_SELECT_DISTINCT || group || table->cluster);
	for (; group; group = group->next)
		plan->rows_differ &= group->expr->kind == SQL_EXPR_COLUMN &&
				  shows_column(table->def, query,
					  eval_table_column(table->def, group->expr->u.column.name));
	for (uint32_t i = 0; !query->u.select.group && !(query->u.select.flags & SQL_SELECT_DISTINCT) &&
			     table->cluster && i < table->cluster->count;
		i++)
		plan->rows_differ &= shows_column(table->def, query, table->cluster->columns[i]);
	plan->names_rows = plan->rows_differ && table->cluster && shows_rows(query);
}

/* Where the answer of plain columns has this one; 0: nowhere, or its columns have other names. */
static uint32_t shown_at(const struct eval_table *def, const struct sql_query *query, uint32_t column)
{
	uint32_t at = 0, found = 0;

	for (const struct sql_item *item = query->u.select.items; item; item = item->next) {
		bool star = item->expr->kind == SQL_EXPR_STAR;

		if (item->alias.ptr || (!star && item->expr->kind != SQL_EXPR_COLUMN))
			return 0;
		for (uint32_t c = 0; star && c < def->column_count; c++) {
			at += !def->columns[c].invisible;
			found = !found && c == column && !def->columns[c].invisible ? at : found;
		}
		at += !star;
		if (!star && !found && eval_table_column(def, item->expr->u.column.name) == column)
			found = at;
	}
	return found;
}

/* ORDER BY the primary key, which the answer has: whatever rows it has, they are in that order.  And by an integer
 * before anything else, but where rows change while they are read. */
static void plan_sorted(struct mvcc *m, struct plan *plan, const struct sql_query *query)
{
	const struct store_table *table = &m->store.tables[plan->tables[0]];
	const struct sql_order *order = query->order;

	plan_key(m, plan, query);
	if (plan->key_at && order && !order->next && !order->desc && order->expr->kind == SQL_EXPR_COLUMN &&
		eval_table_column(table->def, order->expr->u.column.name) == table->cluster->columns[0])
		plan->sorted_by = plan->key_at;
	if (order && !order->desc && order->expr->kind == SQL_EXPR_COLUMN && shows_rows(query)) {
		uint32_t column = eval_table_column(table->def, order->expr->u.column.name);

		if (column != UINT32_MAX && table->def->columns[column].type.kind == EVAL_T_INT)
			plan->ordered_by = shown_at(table->def, query, column);
	}
}

struct aggregates {
	bool all, some; /* one that needs every row; one for which some may do */
};

static bool see_aggregate(void *ctx, const struct sql_expr *e)
{
	static const char *const of_all[] = {"count", "sum", "avg", "bit_and", "bit_or", "bit_xor", "group_concat"};
	struct aggregates *seen = ctx;

	if (e->kind != SQL_EXPR_CALL)
		return true;
	seen->some |= span_ieq_str(e->u.call.name, "min") || span_ieq_str(e->u.call.name, "max");
	for (size_t i = 0; i < ARRAY_LEN(of_all); i++) {
		if (!span_ieq_str(e->u.call.name, of_all[i]))
			continue;
		if (e->u.call.extra && e->u.call.extra->distinct)
			seen->some = true;
		else if (!(e->u.call.extra && e->u.call.extra->over))
			seen->all = true;
	}
	return true;
}

/* Does a query of one table look at every row that WHERE picks?  An index gives MIN and MAX by one record (EXPLAIN: "Select
 * tables optimized away"), DISTINCT and the groups by one or two each ("Using index for group-by"; MySQL manual, "GROUP
 * BY Optimization"), and with a HAVING that cannot be true nothing is looked at. */
static bool looks_at_all(const struct sql_query *query)
{
	struct aggregates seen = {false, false};
	struct sql_visitor visitor = {.expr = see_aggregate, .ctx = &seen};

	for (const struct sql_item *item = query->u.select.items; item; item = item->next)
		sql_walk_expr(item->expr, &visitor);
	for (const struct sql_order *order = query->order; order; order = order->next)
		sql_walk_expr(order->expr, &visitor);
	if (query->u.select.having)
		return false;
	return seen.all ||
	       (!seen.some && !query->u.select.group && !(query->u.select.flags & SQL_SELECT_DISTINCT));
}

static bool is_of(const struct eval_index *index, uint32_t column)
{
	for (uint32_t i = 0; index && i < index->count; i++) {
		if (index->columns[i] == column)
			return true;
	}
	return false;
}

/* Does the answer have a column that is in no secondary index?  One or several of those may have all that a query
 * needs otherwise, and then the rows are not looked at, nor locked but for writing. */
static bool shows_what_no_index_has(const struct store_table *table, const struct sql_query *query)
{
	const struct eval_table *def = table->def;

	for (uint32_t c = 0; c < def->column_count; c++) {
		/* The servers make indexes for foreign keys, which no definition needs to have. */
		bool indexed = is_of(table->cluster, c) || def->columns[c].generated || def->columns[c].invisible ||
			       def->foreign_count;

		for (uint32_t i = 0; i < def->index_count; i++)
			indexed |= is_of(&def->indexes[i], c);
		if (!indexed && shows_column(def, query, c))
			return true;
	}
	return false;
}

/* A locking read whose locked rows are exactly those that WHERE picks. */
static void plan_locking_read(struct mvcc *m, struct plan *plan, const struct sql_query *query)
{
	unsigned queries = 0;
	struct sql_visitor visitor = {.query = subquery_anywhere, .ctx = &queries};
	struct eval_outcome outcome = {0};
	const struct sql_table_ref *from;

	sql_walk_stmt(plan->stmt,
		&(struct sql_visitor){.query = condition_anywhere, .ctx = &plan->filtered});
	sql_walk_stmt(plan->stmt, &visitor);
	plan->nested = queries > 1;
	if (query->kind != SQL_QUERY_SELECT || queries != 1) {
		plan->has_plain_subqueries = plan->lock != NULL;
		if (plan->lock)
			plan_outer(plan, query);
		return;
	}
	from = query->u.select.from;
	if (!from || from->next || from->kind != SQL_TABLE_NAME)
		return;
	plan_sorted(m, plan, query);
	plan_twins(m, plan, query);
	if (query->limit) {
		plan_skipping(m, plan, query);
		return;
	}
	if (query->u.select.where) {
		plan->where = eval_expr_compile(&m->catalog.arena, query->u.select.where,
			m->store.tables[plan->tables[0]].def, from->alias, &m->now.env, &m->source,
			&outcome);
		if (!plan->where)
			return;
	}
	plan->single = true;
	plan->reads_all = looks_at_all(query);
	plan->plain = shows_rows(query);
	plan->reads_rows = plan->plain && shows_what_no_index_has(&m->store.tables[plan->tables[0]], query);
	plan_key_set(m, plan, query->u.select.where);
	plan_ranges(m, plan, query->u.select.where);
	plan->key_set = plan->reach;
}

struct own_table {
	const struct sql_table_name *table;
	bool found;
};

static bool names_own_table(void *ctx, const struct sql_table_ref *ref)
{
	struct own_table *own = ctx;

	own->found |= ref->kind == SQL_TABLE_NAME &&
		      span_ieq(ref->u.name.table.name, own->table->name);
	return true;
}

/* Does ON DUPLICATE KEY UPDATE ask a query about the table that is being written? */
static bool asks_own_table(const struct sql_insert *insert)
{
	struct own_table own = {&insert->table, false};

	for (const struct sql_assign *set = insert->on_duplicate; set; set = set->next)
		sql_walk_expr(set->value,
			&(struct sql_visitor){.table_ref = names_own_table, .ctx = &own});
	return own.found;
}

/* What is not built in may be a stored function, and do anything. */
static bool stored_call(void *ctx, const struct sql_expr *e)
{
	bool *found = ctx;

	*found |= e->kind == SQL_EXPR_CALL && (e->u.call.db.ptr || !sql_is_native(e->u.call.name));
	return true;
}

/* CHARACTER SET, or SET within another word. */
static bool is_no_clause(struct span text, size_t at, size_t len)
{
	size_t end = at;

	while (end && isspace((unsigned char)text.ptr[end - 1]))
		end--;
	return !at || isalnum((unsigned char)text.ptr[at - 1]) || text.ptr[at - 1] == '_' ||
	       isalnum((unsigned char)text.ptr[at + len]) || text.ptr[at + len] == '_' ||
	       (end >= 9 && span_ieq_str(span_of(text.ptr + end - 9, 9), "character"));
}

/* The condition of SHOW and the SET list of LOAD DATA, which are not parsed, read as expressions. */
static bool calls_unparsed(struct mvcc *m, const struct plan *plan, const struct sql_stmt *stmt)
{
	const char *word = stmt->kind == SQL_STMT_SHOW ? "where" : "set";
	const size_t len = strlen(word);
	struct sql_options options = m->sql;
	struct buf text = BUF_INIT;
	struct sql_stmt *condition;
	struct err err;
	bool found = false;

	if ((stmt->kind != SQL_STMT_SHOW && stmt->kind != SQL_STMT_LOAD_DATA) ||
		!memchr(plan->key.text.ptr, '(', plan->key.text.len))
		return false;
	options.mode = plan->key.sql_mode;
	for (size_t i = 0; i + len < plan->key.text.len && !found; i++) {
		if (!span_istarts(span_of(plan->key.text.ptr + i, plan->key.text.len - i), word) ||
			(stmt->kind == SQL_STMT_LOAD_DATA && is_no_clause(plan->key.text, i, len)))
			continue;
		text.len = 0;
		buf_add_str(&text, "do ");
		buf_add_span(&text, span_of(plan->key.text.ptr + i + len, plan->key.text.len - i - len));
		if (sql_parse(&m->catalog.arena, arena_copy(&m->catalog.arena, buf_span(&text)), &options,
			    &condition, &err))
			sql_walk_stmt(condition, &(struct sql_visitor){.expr = stored_call, .ctx = &found});
		else
			found = true;
	}
	buf_release(&text);
	return found;
}

bool plan_sets(const struct sql_assign *set, const struct eval_table *def, const uint32_t *columns,
	uint32_t count)
{
	for (; set; set = set->next) {
		uint32_t column = eval_table_column(def, set->target->u.column.name);

		for (uint32_t i = 0; i < count; i++) {
			if (columns[i] == column || columns[i] == UINT32_MAX ||
				def->columns[columns[i]].generated || def->columns[columns[i]].on_update)
				return true;
		}
	}
	return false;
}

/* An UPDATE of one table is executed as a join with the subqueries of its WHERE clause (MySQL since 8.0.21, MariaDB since
 * 11.1, and before where they are of the same table), if the optimizer likes, and then its assignments see the row as
 * it was, not those to the left of them. */
static void plan_assignments(const struct mvcc *m, struct plan *plan, const struct sql_update *update)
{
	enum { JOINED_SINCE = 80021 };

	plan->may_run_as_join = plan->reads_by_query && (m->now.env.flavour == SQL_MARIADB || m->now.env.version >= JOINED_SINCE) &&
			       eval_reads_assigned(update->set);
}

/* Which rows UPDATE or DELETE of one table can touch, whether we can execute it or not. */
static void plan_reach(struct mvcc *m, struct plan *plan)
{
	const struct sql_stmt *stmt = plan->stmt;
	const struct sql_table_ref *from =
		stmt->kind == SQL_STMT_UPDATE ? stmt->u.update->tables : stmt->u.del->from;
	bool is_update = stmt->kind == SQL_STMT_UPDATE;

	for (uint32_t t = 0; is_update && t < plan->table_count; t++) {
		const struct store_table *other = &m->store.tables[plan->tables[t]];

		for (uint32_t i = 0; plan->written[t] && i < other->unique_count; i++) {
			const struct eval_index *index = other->uniques[i];
			bool moves = plan_sets(stmt->u.update->set, other->def, index->columns,
				index->count);

			plan->moves_unique |= moves;
			plan->moves_cluster |= moves && index == other->cluster;
		}
	}
	if (!plan->table_count || !plan->written[0] || !from || from->next ||
		from->kind != SQL_TABLE_NAME ||
		(stmt->kind == SQL_STMT_DELETE && (stmt->u.del->targets || stmt->u.del->before)))
		return;
	plan->one_table = true;
	plan_key_set(m, plan,
		stmt->kind == SQL_STMT_UPDATE ? stmt->u.update->where : stmt->u.del->where);
}

/* Which rows UPDATE or DELETE of one table has to look at. */
static void plan_rows(struct mvcc *m, struct plan *plan, const struct sql_expr *where)
{
	plan->key_set = plan->reach;
	plan_ranges(m, plan, where);
	if (!plan->key_set)
		plan_lookups_change(m, plan, where);
}

/* UPDATE IGNORE: which rows are left out where foreign keys forbid them, and what a join makes of that, is not
 * modelled. */
static void plan_ignore(const struct mvcc *m, struct plan *plan)
{
	for (uint32_t i = 0; i < plan->table_count; i++) {
		const struct store_table *table = &m->store.tables[plan->tables[i]];

		if (!plan->written[i])
			continue;
		plan->skips |= plan->moves_unique || table->def->check_count;
		for (size_t f = 0; f < m->catalog.foreign_key_count; f++) {
			const struct foreign *key = &m->catalog.foreign_keys[f];

			if ((key->parent == plan->tables[i] &&
				    plan_sets(plan->stmt->u.update->set, table->def, key->parent_columns, key->count)) ||
				(key->child == plan->tables[i] &&
					plan_sets(plan->stmt->u.update->set, table->def, key->child_columns, key->count)))
				plan->unsupported = REASON_UPDATE_IGNORE_FOREIGN_KEYS;
		}
	}
	if (plan->join && plan->skips)
		plan->unsupported = REASON_UPDATE_IGNORE_SEVERAL_TABLES;
}

static bool is_variance(const struct sql_expr *e)
{
	static const char *const names[] = {"std", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"};

	for (size_t i = 0; i < ARRAY_LEN(names) && e->kind == SQL_EXPR_CALL && !e->u.call.db.ptr; i++) {
		if (span_ieq_str(e->u.call.name, names[i]))
			return true;
	}
	return false;
}

static bool see_variance(void *ctx, const struct sql_expr *e)
{
	*(uint32_t *)ctx += is_variance(e);
	return true;
}

/* As an item of the answer, or rounded there. */
static bool shows_variance(const struct sql_expr *e)
{
	return is_variance(e) || (e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, "round") && e->u.call.args.count &&
					 is_variance(e->u.call.args.first));
}

/* Are all variances of it items of the answer, by which nothing is sorted or picked? */
static bool shows_variances(const struct sql_stmt *stmt)
{
	uint32_t found = 0, items = 0;

	if (stmt->kind != SQL_STMT_SELECT || stmt->u.query->kind != SQL_QUERY_SELECT || stmt->u.query->into)
		return false;
	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = see_variance, .ctx = &found});
	for (const struct sql_item *i = stmt->u.query->u.select.items; i; i = i->next)
		items += shows_variance(i->expr);
	return found && found == items && !stmt->u.query->order && !stmt->u.query->u.select.having &&
	       !(stmt->u.query->u.select.flags & SQL_SELECT_DISTINCT);
}

static bool is_now(const struct sql_expr *e)
{
	static const char *const names[] = {
		"now", "current_timestamp", "localtime", "localtimestamp", "curdate", "current_date", "curtime", "current_time"};

	for (size_t i = 0; i < ARRAY_LEN(names) && e->kind == SQL_EXPR_CALL && !e->u.call.db.ptr; i++) {
		if (span_ieq_str(e->u.call.name, names[i]))
			return true;
	}
	return false;
}

static bool see_now(void *ctx, const struct sql_expr *e)
{
	*(uint32_t *)ctx += is_now(e);
	return true;
}

/* Is the time more than an item of its answer? */
static bool compares_now(const struct sql_query *query)
{
	uint32_t found = 0, items = 0;

	sql_walk_query(query, &(struct sql_visitor){.expr = see_now, .ctx = &found});
	for (const struct sql_item *i = query->kind == SQL_QUERY_SELECT ? query->u.select.items : NULL; i; i = i->next)
		items += is_now(i->expr);
	return found > items;
}

/* SELECT ... INTO @a, @b: the query without it. */
static bool plan_into(struct mvcc *m, struct plan *plan, const struct sql_into *into,
	const struct sql_query **query)
{
	struct sql_query *bare = arena_alloc(&m->catalog.arena, sizeof(*bare));

	for (const struct sql_expr *e = into->vars.first; e; e = e->next) {
		if (e->kind != SQL_EXPR_USER_VAR)
			return false;
	}
	if (into->is_file || skips_locked(plan))
		return false;
	*bare = **query;
	bare->into = NULL;
	*query = bare;
	plan->into = true;
	return true;
}

static void compile_select(struct mvcc *m, struct plan *plan)
{
	const struct sql_stmt *stmt = plan->stmt;
	const struct sql_query *query = stmt->u.query;
	struct eval_outcome outcome = {0};

	/* Of a table that is not known, too: it makes a read view. */
	plan->reads = plan->table_count > 0 || plan->unsupported;
	plan->lock = sql_stmt_locking_read(stmt);
	if (plan->key.select_limited && !query->limit)
		plan->unsupported = REASON_SQL_SELECT_LIMIT;
	if (plan->unsupported)
		return;
	if (stmt->u.query->into && !plan_into(m, plan, stmt->u.query->into, &query)) {
		plan->unsupported = REASON_SELECT_INTO;
		return;
	}
	plan->query = eval_query_compile(
		&m->catalog.arena, query, &m->now.env, &m->source, &outcome);
	if (!plan->query)
		note_outcome(m, plan, &outcome);
	else if (plan->reads)
		plan_locking_read(m, plan, stmt->u.query);
	plan->asks_now = plan->query && !plan->into && compares_now(stmt->u.query);
	if (plan->query && plan->reads && !plan->key_set)
		plan_lookups_query(m, plan, stmt->u.query);
}

static void compile_insert(struct mvcc *m, struct plan *plan)
{
	const struct sql_stmt *stmt = plan->stmt;
	struct eval_outcome outcome = {0};

	plan->writes = true;
	if (plan->unsupported)
		return;
	plan->insert = eval_insert_compile(
		&m->catalog.arena, stmt->u.insert, &m->now.env, &m->source, &outcome);
	if (!plan->insert)
		note_outcome(m, plan, &outcome);
	else if (asks_own_table(stmt->u.insert) && stmt->u.insert->query)
		plan->unsupported = REASON_DUPLICATE_KEY_QUERY_OF_TABLE;
	else if (stmt->u.insert->returning &&
		 !plan_returning(m, plan, stmt->u.insert->returning,
			 eval_insert_table(plan->insert), !stmt->u.insert->query))
		plan->unsupported = REASON_RETURNING;
}

static void compile_update(struct mvcc *m, struct plan *plan)
{
	const struct sql_stmt *stmt = plan->stmt;
	struct eval_outcome outcome = {0};

	plan->writes = true;
	plan_reach(m, plan);
	if (plan->unsupported)
		return;
	if (stmt->u.update->tables->kind == SQL_TABLE_NAME && !stmt->u.update->tables->next)
		plan->change = eval_update_compile(
			&m->catalog.arena, stmt->u.update, &m->now.env, &m->source, &outcome);
	else
		plan->join = eval_join_compile(
			&m->catalog.arena, stmt, &m->now.env, &m->source, &outcome);
	if (!plan->change && !plan->join)
		note_outcome(m, plan, &outcome);
	else if (stmt->u.update->flags & SQL_DML_IGNORE)
		plan_ignore(m, plan);
	if (plan->change)
		plan_assignments(m, plan, stmt->u.update);
	if (plan->change && !plan->reads_by_query)
		plan_rows(m, plan, stmt->u.update->where);
}

static void compile_delete(struct mvcc *m, struct plan *plan)
{
	const struct sql_stmt *stmt = plan->stmt;
	struct eval_outcome outcome = {0};

	plan->writes = true;
	plan_reach(m, plan);
	if (plan->unsupported)
		return;
	if (!stmt->u.del->targets)
		plan->change = eval_delete_compile(
			&m->catalog.arena, stmt->u.del, &m->now.env, &m->source, &outcome);
	else
		plan->join = eval_join_compile(
			&m->catalog.arena, stmt, &m->now.env, &m->source, &outcome);
	if (!plan->change && !plan->join)
		note_outcome(m, plan, &outcome);
	else if (stmt->u.del->returning &&
		 !(plan->change && plan_returning(m, plan, stmt->u.del->returning,
					   eval_change_table(plan->change), false)))
		plan->unsupported = REASON_RETURNING;
	else if (plan->change && !plan->reads_by_query)
		plan_rows(m, plan, stmt->u.del->where);
}

static void compile_set(
	struct mvcc *m, struct plan *plan, const struct session_settings *settings)
{
	const struct sql_stmt *stmt = plan->stmt;

	if (stmt->u.set->statement) {
		plan->writes = true;
		plan->unsupported = REASON_SET_STATEMENT_NOT_MODELLED;
		return;
	}
	plan->harmless = variables_are_followed(m, stmt, settings);
	plan->sets_unmodelled = !plan->harmless;
	plan->reads_incidentally = plan->reads_by_query;
}

static void compile(
	struct mvcc *m, struct plan *plan, const struct session_settings *settings)
{
	const struct sql_stmt *stmt = plan->stmt;

	if (sql_kind_controls_transactions(stmt->kind)) {
		plan->harmless = true;
		return;
	}
	switch (stmt->kind) {
	case SQL_STMT_SELECT:
		compile_select(m, plan);
		return;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		compile_insert(m, plan);
		return;
	case SQL_STMT_UPDATE:
		compile_update(m, plan);
		return;
	case SQL_STMT_DELETE:
		compile_delete(m, plan);
		return;
	case SQL_STMT_SET:
		compile_set(m, plan, settings);
		return;
	case SQL_STMT_EXPLAIN:
		/* MariaDB's ANALYZE UPDATE changes rows and answers with how it did; MySQL's
		 * EXPLAIN ANALYZE changes none. */
		if (m->now.env.flavour == SQL_MARIADB && sql_stmt_is_write(stmt)) {
			plan->writes = true;
			plan->unsupported = REASON_ANALYZE_OF_CHANGE;
			return;
		}
		plan->harmless = plan->reads_incidentally = true;
		return;
	case SQL_STMT_DO:
		plan->harmless = plan->reads_incidentally = true;
		return;
	case SQL_STMT_SHOW:
	case SQL_STMT_HELP:
		/* MySQL 8.0 and later make queries of the data dictionary of most of them, which is in InnoDB. */
		plan->harmless = true;
		plan->reads_incidentally = m->now.env.flavour == SQL_MYSQL && !mysql_5(&m->now.env);
		return;
	case SQL_STMT_CREATE_VIEW:
	case SQL_STMT_DROP_VIEW:
	case SQL_STMT_USE:
	case SQL_STMT_TABLE_ADMIN:
	case SQL_STMT_EMPTY:
	case SQL_STMT_PREPARE:
	case SQL_STMT_DEALLOCATE:
	case SQL_STMT_KILL:
	/* The tables of a database that goes have no name any more (definitions.c). */
	case SQL_STMT_CREATE_DATABASE:
	case SQL_STMT_DROP_DATABASE:
	/* What a routine, or an event, that is made here does is not known: programs_open(), events_may_write(). */
	case SQL_STMT_CREATE_ROUTINE:
	case SQL_STMT_DROP_ROUTINE:
	case SQL_STMT_CREATE_OTHER:
	case SQL_STMT_DROP_OTHER:
	case SQL_STMT_ALTER_OTHER:
	case SQL_STMT_CREATE_SEQUENCE:
	case SQL_STMT_DROP_SEQUENCE:
	case SQL_STMT_ACCOUNT:
	case SQL_STMT_RESET:
	case SQL_STMT_PURGE:
	case SQL_STMT_CACHE_INDEX:
	/* They touch no row and make no read view; statements that wait for them are not judged (any_ddl).  While the tables are
	 * locked no other session writes them, so that plain and current reads of them are the same. */
	case SQL_STMT_LOCK_TABLES:
	case SQL_STMT_UNLOCK_TABLES:
	case SQL_STMT_FLUSH:
		plan->harmless = true;
		return;
	default:
		/* What only the name tells may write anything. */
		plan->writes = true;
		plan->unsupported = reason_of_text(&m->reasons, sql_stmt_kind_name(stmt->kind));
		return;
	}
}

uint32_t plan_events(const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_INSERT:
		return WRITE_INSERT | (stmt->u.insert->on_duplicate ? WRITE_UPDATE : 0);
	case SQL_STMT_UPDATE:
		return WRITE_UPDATE;
	case SQL_STMT_DELETE:
		return WRITE_DELETE;
	default:
		/* REPLACE, LOAD DATA ...; definitions fire none. */
		return sql_stmt_is_ddl(stmt) ? 0 : WRITE_ANY;
	}
}

bool writes_anywhere(const struct mvcc *m, const struct plan *plan)
{
	/* What foreign keys do to the rows of children fires none (MySQL manual, "CREATE TRIGGER";
	 * MariaDB, "Trigger Overview"). */
	for (uint32_t i = 0; i < plan->table_count; i++) {
		if (plan->written[i] && (m->store.tables[plan->tables[i]].triggers & plan->events) &&
			!(effects_known(plan) && plan->effects->fires))
			return true;
	}
	return plan->may_write_any;
}

/* Children of what it writes, and theirs, and the parents of them all: rows there are locked. */
static uint64_t tied_tables(const struct mvcc *m, const struct plan *plan)
{
	uint64_t written = 0, before = 0, tied;

	for (uint32_t i = 0; i < plan->table_count; i++) {
		if (plan->written[i])
			written |= store_table_bit(plan->tables[i]);
	}
	for (uint32_t i = 0; plan->effects && i < plan->effects->count; i++) {
		if (plan->effects->list[i].written)
			written |= store_table_bit(plan->effects->list[i].table);
	}
	while (before != written) {
		before = written;
		for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
			if (written & store_table_bit(m->catalog.foreign_keys[i].parent))
				written |= store_table_bit(m->catalog.foreign_keys[i].child);
		}
	}
	tied = written;
	for (uint32_t i = 0; plan->effects && i < plan->effects->count; i++)
		tied |= store_table_bit(plan->effects->list[i].table);
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		if (written & store_table_bit(m->catalog.foreign_keys[i].child))
			tied |= store_table_bit(m->catalog.foreign_keys[i].parent);
	}
	return tied;
}

static bool writes_a_known_table(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->table_count; i++) {
		if (plan->written[i])
			return true;
	}
	return false;
}

/* What makes or drops temporary tables commits nothing.  What they stand for is followed with the session's settings; what is made
 * without a query reads nothing. */
static void plan_definition(struct plan *plan)
{
	const struct sql_stmt *stmt = plan->stmt;

	if (!plan->redefines || plan->commits)
		return;
	if (stmt->kind == SQL_STMT_CREATE_TABLE)
		plan->harmless = !stmt->u.create_table->query && !stmt->u.create_table->like;
	else if (stmt->kind == SQL_STMT_DROP_TABLE)
		plan->harmless = true;
	else
		plan->sets_unmodelled = true;
	if (!plan->sets_unmodelled)
		plan->ddl = false;
}

/* What a session's settings make of a table that it uses, and is not modelled. */
static uint32_t shown_otherwise(const struct plan *plan, const struct eval_table *def)
{
	for (uint32_t i = 0; i < def->column_count; i++) {
		const struct eval_type *type = &def->columns[i].type;

		if (plan->key.own_time_zone && type->kind == EVAL_T_TIMESTAMP)
			return REASON_OWN_TIME_ZONE;
		/* A literal in bytes beside such a text: its bytes are others than those of the trace. */
		if (plan->key.collation == COLLATION_BINARY && (type->kind == EVAL_T_STRING || type->kind == EVAL_T_ENUM || type->kind == EVAL_T_SET) &&
			collation_charset(type->collation) == CHARSET_LATIN1)
			return REASON_LATIN1_AND_BYTES;
		if (plan->key.eval_mode & EVAL_MODE_PAD_CHAR_TO_FULL_LENGTH &&
			type->kind == EVAL_T_STRING && type->fixed)
			return REASON_PAD_CHAR_TO_FULL_LENGTH;
	}
	return REASON_NONE;
}

/* Functions that are not built in. */
static void plan_calls(struct plan *plan)
{
	plan->unsupported = REASON_STORED_FUNCTION;
	if (effects_known(plan)) {
		plan->reads_incidentally |= plan->harmless;
		plan->reads |= plan->stmt->kind == SQL_STMT_SELECT && plan->effects->count;
		plan->writes |= effects_write(plan->effects);
		plan->harmless &= !plan->writes;
		return;
	}
	plan->harmless = plan->reads_incidentally = false;
	plan->writes = true;
	plan->table_count = 0; /* whichever it likes */
}

/* Its names and literals are other ones to the server than to us. */
static bool text_is_foreign(struct span text, enum text_width width)
{
	unsigned char first = width == TEXT_NARROW ? 0xf0 : 0x80;

	for (size_t i = 0; width != TEXT_WIDE && i < text.len; i++) {
		if ((unsigned char)text.ptr[i] >= first)
			return true;
	}
	return false;
}

bool plan_is_unreadable(const struct plan *plan, const struct record_stmt *r)
{
	return plan->foreign || r->flags & STMT_OPAQUE ||
	       (r->flags & STMT_TEXT_CUT && plan->masks != MASKS_ASSIGNED);
}

/* Of the statement whose plan is made. */
static bool has_temporal_params(const struct mvcc *m)
{
	return m->now.stmt != STORE_NONE && m->schedule->stmts[m->now.stmt].moments;
}

static bool has_masked_password(const struct mvcc *m)
{
	return m->now.stmt != STORE_NONE &&
	       m->schedule->stmts[m->now.stmt].in->record.flags & STMT_MASKED;
}

/* In m->scratch, and as the catalog is now. */
static struct plan_key key_of(struct mvcc *m, struct span text, const struct session_settings *settings)
{
	return (struct plan_key){
		.text = text,
		.database = settings->database,
		.temporary = settings->temporary,
		.variables = variables_named(m, settings, text),
		.eval_mode = settings->eval_mode,
		.sql_mode = settings->sql_mode,
		.label_state = m->catalog.label_state,
		.collation = settings->collation,
		.text_width = settings->text_width,
		.engine = settings->engine,
		.auto_increment_step = settings->auto_increment_step,
		.own_time_zone = settings->own_time_zone,
		.zone_seconds = settings->zone_seconds,
		.no_foreign_checks = settings->no_foreign_checks,
		.no_unique_checks = settings->no_unique_checks,
		.group_concat_max_len = settings->group_concat_max_len,
		.altered = settings->altered,
		.select_limited = settings->select_limited,
		.temporal_params = has_temporal_params(m),
		.masked = has_masked_password(m),
	};
}

static bool same_key(const struct plan_key *a, const struct plan_key *b)
{
#define SAME_SPAN(name)                                                                            \
	if (!span_eq(a->name, b->name))                                                            \
		return false;
#define SAME_VALUE(type, name)                                                                     \
	if (a->name != b->name)                                                                    \
		return false;
	PLAN_KEY_FIELDS(SAME_SPAN, SAME_VALUE)
#undef SAME_SPAN
#undef SAME_VALUE
	return true;
}

static struct plan *new_plan(struct mvcc *m, const struct plan_key *key)
{
	struct plan *plan = arena_zero(&m->catalog.arena, sizeof(*plan));

	plan->key = *key;
	plan->key.text = arena_copy(&m->catalog.arena, key->text);
	plan->key.variables = arena_copy(&m->catalog.arena, key->variables);
	plan->foreign = text_is_foreign(plan->key.text, plan->key.text_width);
	plan->masks = key->masked ? MASKS_DEEP : MASKS_NONE;
	m->has_si |= key->engine == ENGINE_INNODB_SI;
	settings_apply(m, plan);
	return plan;
}

static void fill_plan(struct mvcc *m, struct plan *plan, const struct sql_stmt *stmt,
	const struct session_settings *settings)
{
	struct table_walk walk = {.m = m, .plan = plan, .settings = settings};
	unsigned queries = 0;
	bool calls = false;

	/* SET STATEMENT ... FOR: for that one alone. */
	if (stmt->kind == SQL_STMT_SET && stmt->u.set->statement && variables_change_nothing(m, stmt->u.set, settings))
		stmt = stmt->u.set->statement;
	plan->stmt = stmt;
	if (plan->masks != MASKS_NONE && masks_are_assigned(stmt)) {
		plan->masks = MASKS_ASSIGNED;
		settings_apply(m, plan);
	}
	plan->ddl = sql_stmt_is_ddl(stmt) || stmt->kind == SQL_STMT_LOCK_TABLES ||
		    stmt->kind == SQL_STMT_UNLOCK_TABLES || stmt->kind == SQL_STMT_FLUSH ||
		    stmt->kind == SQL_STMT_XA;
	plan->redefines = sql_stmt_is_ddl(stmt);
	plan->commits = sql_stmt_implicit_commit(stmt, &m->sql);
	sql_walk_stmt(stmt, &(struct sql_visitor){.query = subquery_anywhere, .ctx = &queries});
	plan->reads_by_query = queries > 0 && (sql_stmt_is_write(stmt) || stmt->kind == SQL_STMT_SET);
	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = stored_call, .ctx = &calls});
	calls |= calls_unparsed(m, plan, stmt);
	if (stmt->kind == SQL_STMT_SELECT || sql_stmt_is_write(stmt) || plan->redefines ||
		stmt->kind == SQL_STMT_SET || stmt->kind == SQL_STMT_DO)
		sql_stmt_tables(stmt, see_table, &walk);
	for (uint32_t i = 0; i < plan->table_count && !plan->unsupported; i++)
		plan->unsupported = shown_otherwise(plan, m->store.tables[plan->tables[i]].def);
	if (plan->key.eval_mode & EVAL_MODE_ORACLE)
		plan->unsupported = REASON_SQL_MODE_ORACLE;
	if (plan->key.temporal_params && !plan->unsupported && !temporal_params_are_plain(m, plan))
		plan->unsupported = REASON_TIME_PARAMETER_NOT_COMPARED;
	if (memchr(plan->key.text.ptr, '@', plan->key.text.len))
		variables_in_sight(m, settings);
	m->now.env.assigns_items = assigns_items(stmt);
	m->now.env.shows_variances = shows_variances(stmt);
	compile(m, plan, settings);
	m->now.env.assigns_items = m->now.env.shows_variances = false;
	variables_in_sight(m, NULL);
	plan_last_insert_id(plan);
	if ((walk.temporary || walk.unpromised) && !walk.judged && !plan->redefines)
		plan->harmless = plan->reads_incidentally = true;
	plan->events = plan_events(stmt);
	plan_effects(m, plan, settings);
	if (plan->key.altered && !plan->unsupported && !plan->harmless)
		plan->unsupported = variables_concern(m, plan);
	if (calls && !plan->redefines)
		plan_calls(plan);
	plan->tied = tied_tables(m, plan);
	plan->queries_own_table = plan->insert && asks_own_table(stmt->u.insert);
	plan->may_write_any |= (calls && (!effects_known(plan) || stmt->kind == SQL_STMT_LOAD_DATA)) ||
			  (plan->writes && plan->unsupported && !plan->redefines && !walk.temporary &&
				  !walk.bare && !writes_a_known_table(plan) && !effects_known(plan));
	if (plan->uses_unknown_tables && !plan->redefines && programs_write_by_views(m))
		plan->writes = plan->may_write_any = true;
	plan_definition(plan);
	if (calls && (plan->sets_unmodelled || plan->redefines))
		plan->writes = plan->may_write_any = true;
}

static struct plan *make_plan(struct mvcc *m, const struct plan_key *key, const struct session_settings *settings)
{
	struct plan *plan = new_plan(m, key);
	struct sql_options options = m->sql;
	struct sql_stmt *stmt = NULL;
	struct err err;

	options.mode = plan->key.sql_mode;
	if (!sql_parse(&m->catalog.arena, plan->key.text, &options, &stmt, &err)) {
		if (sql_parse_multi(&m->catalog.arena, plan->key.text, &options, &stmt, &err) && stmt && stmt->next &&
			plan_several(m, plan, stmt, settings)) {
			plan->tied = tied_tables(m, plan);
			return plan;
		}
		plan->unsupported = REASON_DOES_NOT_PARSE;
		plan->writes = plan->may_write_any = true;
		return plan;
	}
	partitions_expand(m, stmt, settings);
	plan->other_texts = views_expand(m, plan, stmt, settings);
	if (plan->other_texts)
		settings_apply(m, plan);
	fill_plan(m, plan, stmt, settings);
	return plan;
}

struct plan *plan_of_body(
	struct mvcc *m, const struct sql_stmt *stmt, const struct session_settings *settings)
{
	struct plan_key key = key_of(m, stmt->text, settings);
	struct plan *plan = new_plan(m, &key);

	fill_plan(m, plan, stmt, settings);
	return plan;
}

const struct plan *plan_settings(struct mvcc *m, const struct session_settings *settings)
{
	struct plan_key key = key_of(m, SPAN_LIT(""), settings);

	return new_plan(m, &key);
}

const struct plan *plan_of(
	struct mvcc *m, struct span text, const struct session_settings *settings)
{
	struct plan_key key = key_of(m, text, settings);
	/* After each change of a definition plans are made anew, and so they are of other temporary tables. */
	uint64_t hash = hash_bytes(text.ptr, text.len) ^ hash_u64(m->catalog.label_state) ^
			(key.temporary.len ? hash_bytes(key.temporary.ptr, key.temporary.len) : 0);
	uint32_t *slot = map_at(&m->catalog.plans, hash);
	struct plan *plan, *first = *slot == MAP_NONE ? NULL : m->catalog.plan_list[*slot];

	for (plan = first; plan; plan = plan->next) {
		if (same_key(&plan->key, &key))
			return plan;
	}
	plan = make_plan(m, &key, settings);
	slot = map_at(&m->catalog.plans, hash);
	if (*slot == MAP_NONE) {
		MEM_RESERVE(m->catalog.plan_list, m->catalog.plan_count + 1, m->catalog.plan_capacity);
		*slot = (uint32_t)m->catalog.plan_count++;
		m->catalog.plan_list[*slot] = plan;
	} else {
		plan->next = m->catalog.plan_list[*slot]->next;
		m->catalog.plan_list[*slot]->next = plan;
	}
	return plan;
}

bool answer_columns(
	const struct plan *plan, const struct eval_table *def, uint32_t *columns, uint32_t width)
{
	const struct sql_item *item = plan->stmt->u.query->u.select.items;
	uint32_t count = 0;

	for (; item; item = item->next) {
		if (item->expr->kind == SQL_EXPR_STAR) {
			for (uint32_t c = 0; c < def->column_count; c++) {
				if (def->columns[c].invisible)
					continue;
				if (count == width)
					return false;
				columns[count++] = c;
			}
			continue;
		}
		if (item->expr->kind != SQL_EXPR_COLUMN || count == width)
			return false;
		columns[count] = eval_table_column(def, item->expr->u.column.name);
		if (columns[count++] == UINT32_MAX)
			return false;
	}
	return count == width;
}
