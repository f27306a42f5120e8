/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Definitions over time.  A table that is made, altered or renamed in the trace is another table of the
 * store from then on; a name stands for one after the other.  Metadata locks make that an order: a statement
 * that changes a definition waits for all transactions that used the table, and transactions that come later wait for
 * it (MySQL manual, "Metadata Locking"), so what a name stood for is known before the search; but for statements that
 * overlap in a free-running trace (concurrent_ddl.c).
 */
#include "mvcc/plan/definitions.h"

#include <stdlib.h>

#include "base/mem.h"
#include "eval/value/collation.h"
#include "mvcc/plan/alter_table.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/plan/session_variables.h"
#include "mvcc/solver.h"
#include "mvcc/unknown/forget.h"
#include "mvcc/unknown/learn_table.h"
#include "mvcc/unknown/unknown_rows.h"

enum redefinition_kind {
	REDEFINE_MAKE,   /* `to` is there, without rows */
	REDEFINE_COPY,   /* `to` has the rows of `from` */
	REDEFINE_FORGET, /* of `to` nothing is known */
};

struct redefinition {
	struct redefinition *next;
	enum redefinition_kind kind;
	uint32_t from, to;
	const uint32_t *origins; /* COPY: columns of `from` by those of `to`; NULL: the same */
	bool drops_rows;         /* ... of which some went away */
};

static struct redefinition *add_redefinition(
	struct mvcc *m, uint32_t stmt, enum redefinition_kind kind, uint32_t from, uint32_t to)
{
	struct redefinition *r = arena_zero(&m->catalog.arena, sizeof(*r)),
			    **end = &m->runs[stmt].redefinitions;

	*r = (struct redefinition){.kind = kind, .from = from, .to = to};
	while (*end)
		end = &(*end)->next;
	*end = r;
	return r;
}

void define_leave_out(struct mvcc *m, uint32_t stmt, uint32_t table)
{
	if (table != STORE_NONE)
		add_redefinition(m, stmt, REDEFINE_FORGET, STORE_NONE, table);
}

/* ---- names ---- */

static void label(struct mvcc *m, struct span database, struct span name, uint32_t table)
{
	uint32_t *at = map_at(&m->catalog.label_heads, label_hash(name));

	m->catalog.label_state++;
	for (; *at != MAP_NONE; at = &m->catalog.labels[*at].next) {
		struct label *l = &m->catalog.labels[*at];

		if (eval_same_name(&m->now.env, l->name, name) &&
			eval_same_name(&m->now.env, l->database, database)) {
			l->table = table;
			return;
		}
	}
	*at = (uint32_t)m->catalog.label_count; /* before the place that it points into moves */
	MEM_RESERVE(m->catalog.labels, m->catalog.label_count + 1, m->catalog.label_capacity);
	m->catalog.labels[m->catalog.label_count++] = (struct label){database, name, table, MAP_NONE};
}

void label_tables(struct mvcc *m)
{
	for (uint32_t i = 0; i < m->store.table_count; i++)
		label(m, m->store.tables[i].database, m->store.tables[i].name, i);
}

struct naming { /* a statement that changes definitions */
	struct mvcc *m;
	uint32_t stmt;
	const struct session_settings *settings;
	const struct plan *plan;
};

static struct span database_of(const struct naming *n, const struct sql_table_name *table)
{
	return table->db.ptr ? table->db : n->settings->database;
}

static uint32_t table_of(const struct naming *n, const struct sql_table_name *table)
{
	return solver_table(n->m, database_of(n, table), table->name);
}

static void blur(const struct naming *n, const struct sql_table_name *table);

/* Nothing is known of what it stands for any more. */
static void lose(const struct naming *n, const struct sql_table_name *table)
{
	uint32_t number = table_of(n, table);

	if (n->m->runs[n->stmt].contested)
		blur(n, table);
	else if (number != STORE_NONE && !settings_temporary(n->settings, table))
		label(n->m, n->m->store.tables[number].database, table->name, STORE_NONE);
}

/* ---- definitions ---- */

/* Of new tables that name none.  A scenario's database is made for it, as the server has it. */
static uint16_t database_collation(struct mvcc *m)
{
	const struct execution *e = m->schedule->execution;
	struct span collation = execution_variable(e, "collation_server");

	if (m->catalog.scenario == SCENARIO_UNREAD)
		m->catalog.scenario = m->schedule->one_at_a_time && !span_ihas(e->scenario, "database") &&
					      !span_ihas(e->scenario, "schema")
				      ? SCENARIO_PLAIN
				      : SCENARIO_OTHER;
	return m->catalog.scenario == SCENARIO_PLAIN && collation.ptr ? collation_find(collation)
							      : COLLATION_NONE;
}

static bool default_engine(const struct mvcc *m)
{
	return !m->catalog.engine_changed &&
	       span_ieq_str(execution_variable(m->schedule->execution, "default_storage_engine"), "InnoDB");
}

struct span define_engine(const struct sql_create_table *create)
{
	for (const struct sql_option *o = create->options; o; o = o->next) {
		if (span_ieq_str(o->name, "ENGINE"))
			return o->value;
	}
	return SPAN_NONE;
}

bool define_names_engine(const struct sql_create_table *create)
{
	return define_engine(create).ptr != NULL;
}

/* Its definition as the recorder read it, at first or at the end; the table itself: it did not. */
static const struct store_table *as_recorded(const struct mvcc *m, const struct store_table *table)
{
	for (size_t i = 0; i < m->schedule->execution->table_count; i++) {
		const struct store_table *other = &m->store.tables[i];

		if (other->create && eval_same_name(&m->now.env, other->name, table->name) &&
			eval_same_name(&m->now.env, other->database, table->database))
			return other;
	}
	return table;
}

bool define_lacks_transactions(const struct mvcc *m, const struct store_table *table)
{
	static const char *const engines[] = {
		"MyISAM", "Aria", "MEMORY", "HEAP", "CSV", "ARCHIVE", "BLACKHOLE", "MRG_MYISAM", "MERGE"};
	const struct store_table *recorded = as_recorded(m, table);
	struct span engine = recorded->create ? define_engine(recorded->create) : SPAN_NONE;

	/* A warning of CREATE TABLE: the server may have taken another one. */
	if (recorded->made_by != STORE_NONE && m->schedule->stmts[recorded->made_by].in->record.warnings)
		return false;
	/* It was altered meanwhile. */
	if (table->create && !span_ieq(define_engine(table->create), engine))
		return false;
	for (size_t i = 0; engine.ptr && i < ARRAY_LEN(engines); i++) {
		if (span_ieq_str(engine, engines[i]))
			return true;
	}
	return false;
}

/* Things that SHOW CREATE TABLE, of which other definitions are made, says otherwise or not at all. */
static bool says_too_little(const struct mvcc *m, const struct sql_create_table *create)
{
	bool engine = default_engine(m) || define_names_engine(create);
	/* REFERENCES after a column: before, it was read and forgotten. */
	bool references = m->now.env.flavour == SQL_MARIADB || m->now.env.version >= 90000;

	for (const struct sql_option *o = create->options; o; o = o->next) {
		if (span_ihas(o->name, "VERSIONING") || span_ieq_str(o->name, "SEQUENCE"))
			return true;
	}
	for (const struct sql_element *e = create->elements; e; e = e->next) {
		const struct sql_column_def *c = e->column;

		if (e->kind != SQL_ELEMENT_COLUMN)
			continue;
		if ((c->reference && references) || c->row_time != SQL_ROW_TIME_NONE ||
			(c->type.kind == SQL_TYPE_JSON && m->now.env.flavour == SQL_MARIADB))
			return true;
	}
	return !engine;
}

static struct eval_table *definition(struct mvcc *m, const struct sql_create_table *create)
{
	struct eval_env env = m->now.env;
	struct eval_outcome outcome = {0};
	struct eval_table *def;

	env.collation_database = database_collation(m);
	def = says_too_little(m, create) ? NULL
					 : eval_table_create(&m->catalog.arena, create, &env, &outcome);
	return def && def->transactional ? def : NULL;
}

/* Parents whose rows depend on a child of which nothing is known. */
static void leave_out_parents(const struct naming *n, struct span database, const struct sql_element *e)
{
	for (; e; e = e->next) {
		const struct sql_reference *ref = e->kind == SQL_ELEMENT_KEY      ? e->key->reference
						  : e->kind == SQL_ELEMENT_COLUMN ? e->column->reference
										  : NULL;

		if (ref)
			define_leave_out(n->m, n->stmt,
				solver_table(n->m, ref->table.db.ptr ? ref->table.db : database,
					ref->table.name));
	}
}

static void leave_out_added_parents(
	const struct naming *n, struct span database, const struct sql_alter *actions)
{
	for (const struct sql_alter *a = actions; a; a = a->next) {
		if (a->key && a->key->reference)
			leave_out_parents(n, database,
				&(struct sql_element){.kind = SQL_ELEMENT_KEY, .key = a->key});
	}
}

/* One that no name stands for yet; `def` NULL: it is not known. */
static uint32_t add_unnamed(const struct naming *n, struct span database, struct span name,
	const struct sql_create_table *create, struct eval_table *def)
{
	struct mvcc *m = n->m;
	uint32_t number = store_add_table(&m->store);
	struct store_table *table = &m->store.tables[number];

	table->database = database;
	table->name = name;
	table->create = create;
	table->bare = !def;
	table->made_by = n->stmt;
	if (def)
		store_table_init(table, def, &m->catalog.arena);
	/* InnoDB makes an index for each foreign key. */
	table->has_secondary |= def && def->foreign_count;
	return number;
}

/* The name stands for it from now on. */
static uint32_t add_table(const struct naming *n, struct span database, struct span name,
	const struct sql_create_table *create, struct eval_table *def)
{
	uint32_t number = add_unnamed(n, database, name, create, def);

	label(n->m, database, name, number);
	return number;
}

/* Children and parents of one whose foreign keys are not followed. */
static void leave_out_relatives(const struct naming *n, uint32_t table)
{
	for (size_t i = 0; i < n->m->catalog.foreign_key_count; i++) {
		const struct foreign *f = &n->m->catalog.foreign_keys[i];

		if (f->ended_by != STORE_NONE)
			continue;
		if (f->parent == table)
			define_leave_out(n->m, n->stmt, f->child);
		else if (f->child == table)
			define_leave_out(n->m, n->stmt, f->parent);
	}
}

/* A table, whichever it is: what is done to it is not judged, and leaves others as they are. */
static void blur(const struct naming *n, const struct sql_table_name *table)
{
	struct mvcc *m = n->m;
	uint32_t old = table_of(n, table), number;
	struct span database = database_of(n, table);

	if (settings_temporary(n->settings, table) || !database.ptr)
		return;
	if (old != STORE_NONE && (!m->store.tables[old].def || m->store.tables[old].triggers)) {
		label(m, database, table->name, STORE_NONE);
		return;
	}
	if (old != STORE_NONE)
		leave_out_relatives(n, old);
	number = add_table(n, database, table->name, NULL, NULL);
	add_redefinition(m, n->stmt, REDEFINE_MAKE, STORE_NONE, number);
}

static const struct sql_create_table *like_tree(
	struct mvcc *m, const struct sql_create_table *of, struct span name)
{
	struct sql_create_table *create = arena_alloc(&m->catalog.arena, sizeof(*create));
	struct sql_element **end = &create->elements;

	*create = *of;
	create->table.db = SPAN_NONE;
	create->table.name = name;
	for (const struct sql_element *e = of->elements; e; e = e->next) {
		struct sql_element *copy;

		/* Foreign keys are not taken over (MySQL manual, "CREATE TABLE ... LIKE"). */
		if (e->kind == SQL_ELEMENT_KEY && e->key->kind == SQL_KEY_FOREIGN)
			continue;
		copy = arena_alloc(&m->catalog.arena, sizeof(*copy));
		*copy = *e;
		*end = copy;
		end = &copy->next;
	}
	*end = NULL;
	return create;
}

/* Has the session set what decides about the tables that it makes? */
static bool makes_otherwise(const struct session_settings *s)
{
	return s->sets_unmodelled || s->altered & (DEPENDS_DEFINITIONS | DEPENDS_TIMESTAMPS);
}

static void create_table(const struct naming *n, const struct sql_create_table *create)
{
	struct mvcc *m = n->m;
	const struct record_stmt *r = &m->schedule->stmts[n->stmt].in->record;
	struct span database = database_of(n, &create->table);
	const struct sql_create_table *tree = create;
	struct eval_table *def = NULL;
	uint32_t of, number;

	if (create->temporary)
		return;
	if (create->if_not_exists && (table_of(n, &create->table) != STORE_NONE || r->warnings ||
					     m->catalog.sql_notes_changed))
		return; /* it was there, or may have been */
	if (!database.ptr) {
		lose(n, &create->table);
		return;
	}
	if (create->like) {
		of = table_of(n, create->like);
		tree = of == STORE_NONE || !m->store.tables[of].def ||
				       settings_temporary(n->settings, create->like) ||
				       !eval_same_name(&m->now.env, m->store.tables[of].database, database)
			       ? NULL
			       : like_tree(m, m->store.tables[of].create, create->table.name);
	}
	if (tree && !create->query && !makes_otherwise(n->settings))
		def = definition(m, tree);
	if (!def)
		leave_out_parents(n, database, create->elements);
	number = add_table(n, database, create->table.name, tree ? tree : create, def);
	add_redefinition(m, n->stmt, REDEFINE_MAKE, STORE_NONE, number);
}

/* MySQL has a default of its own for temporary tables; MariaDB's is empty, which means that of all tables. */
static bool default_temporary_engine(const struct mvcc *m)
{
	struct span engine = execution_variable(m->schedule->execution, "default_tmp_storage_engine");

	return !m->catalog.engine_changed && engine.ptr &&
	       (span_ieq_str(engine, "InnoDB") || (!engine.len && default_engine(m)));
}

uint32_t define_temporary(struct mvcc *m, const struct session_settings *settings, const struct sql_create_table *create)
{
	struct naming n = {m, m->now.stmt, settings, m->runs[m->now.stmt].plan};
	struct span database = database_of(&n, &create->table);
	const struct sql_create_table *tree = create;
	struct eval_table *def;
	uint32_t number;

	if (create->like) {
		uint32_t of = settings_temporary(settings, create->like) ? STORE_NONE : table_of(&n, create->like);

		tree = of == STORE_NONE || !m->store.tables[of].def || m->store.tables[of].hidden_key ||
				       !eval_same_name(&m->now.env, m->store.tables[of].database, database)
			       ? NULL
			       : like_tree(m, m->store.tables[of].create, create->table.name);
	}
	if (!tree || create->query || makes_otherwise(settings) ||
		!(define_names_engine(tree) ? span_ieq_str(define_engine(tree), "InnoDB") : default_temporary_engine(m)))
		return STORE_NONE;
	def = definition(m, tree);
	if (!def || def->foreign_count)
		return STORE_NONE;
	number = add_unnamed(&n, database, create->table.name, tree, def);
	m->store.tables[number].temporary = true;
	add_redefinition(m, m->now.stmt, REDEFINE_MAKE, STORE_NONE, number);
	m->runs[m->now.stmt].defines = true;
	return number;
}

static void drop_tables(const struct naming *n, const struct sql_drop *drop)
{
	for (const struct sql_table_name *t = drop->temporary ? NULL : drop->tables; t; t = t->next)
		lose(n, t);
}

/* Another name for the same rows; the keys that refer to it by its old one are not followed. */
static void rename_table(
	const struct naming *n, const struct sql_table_name *from, const struct sql_table_name *to)
{
	struct mvcc *m = n->m;
	uint32_t old = table_of(n, from), number;
	struct span database = database_of(n, to);
	struct eval_table *def = NULL;

	if (settings_temporary(n->settings, from))
		return;
	lose(n, from);
	lose(n, to);
	if (old == STORE_NONE || !m->store.tables[old].def || !database.ptr) {
		if (old != STORE_NONE && m->store.tables[old].bare && database.ptr)
			label(m, database, to->name, old);
		return;
	}
	if (!m->store.tables[old].def->foreign_count) {
		def = arena_alloc(&m->catalog.arena, sizeof(*def));
		*def = *m->store.tables[old].def;
		def->name = to->name;
		def->db = to->db;
	}
	leave_out_relatives(n, old);
	number = add_table(n, database, to->name, m->store.tables[old].create, def);
	if (def)
		add_redefinition(m, n->stmt, REDEFINE_COPY, old, number);
	m->store.tables[number].hidden_key = m->store.tables[old].hidden_key;
}

/* Do foreign keys name its columns? */
static bool is_parent(const struct mvcc *m, uint32_t table)
{
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		if (m->catalog.foreign_keys[i].parent == table && m->catalog.foreign_keys[i].ended_by == STORE_NONE)
			return true;
	}
	return false;
}

/* `ignore`: ALTER IGNORE TABLE (MariaDB) drops rows that a new key does not allow. */
static void alter_table(const struct naming *n, const struct sql_table_name *name,
	const struct sql_alter *actions, bool ignore)
{
	struct mvcc *m = n->m;
	uint32_t old = table_of(n, name), number;
	struct altered altered = {0};
	struct eval_table *def = NULL;
	struct redefinition *copy;

	if (settings_temporary(n->settings, name) || old == STORE_NONE)
		return;
	if (m->store.tables[old].bare) {
		leave_out_added_parents(n, database_of(n, name), actions);
	} else if (!m->store.tables[old].def) {
		return; /* not known before, nor now */
	} else {
		struct span database = m->store.tables[old].database;

		/* The recorder's own columns and triggers are in what was recorded of it. */
		if (!m->schedule->execution->probes && !makes_otherwise(n->settings) && !ignore &&
			alter_definition(m, m->store.tables[old].create, actions, &altered) &&
			!(altered.renames && is_parent(m, old)))
			def = definition(m, altered.create);
		if (!def) {
			leave_out_relatives(n, old);
			leave_out_added_parents(n, database, actions);
			/* If it has triggers, they stay. */
			if (m->store.tables[old].triggers)
				lose(n, name);
			else
				blur(n, name);
		} else {
			number = add_table(n, database, name->name, altered.create, def);
			copy = add_redefinition(m, n->stmt, REDEFINE_COPY, old, number);
			copy->origins = altered.origins;
			copy->drops_rows = altered.drops_rows;
			m->store.tables[number].hidden_key = m->store.tables[old].hidden_key;
		}
	}
	for (const struct sql_alter *a = actions; a; a = a->next) {
		if (a->kind == SQL_ALTER_RENAME_TABLE)
			rename_table(n, name, &a->table);
	}
}

static void change_index(const struct naming *n, const struct sql_stmt *stmt)
{
	struct sql_index_stmt *index = stmt->u.index;
	bool create = stmt->kind == SQL_STMT_CREATE_INDEX;
	struct sql_alter *action = arena_zero(&n->m->catalog.arena, sizeof(*action));

	action->kind = create ? SQL_ALTER_ADD_KEY : SQL_ALTER_DROP_KEY;
	action->key = &index->key;
	action->name = index->key.name;
	/* With OR REPLACE or IF EXISTS it may have been another one, or none. */
	action->if_not_exists = create && (index->or_replace || index->if_exists);
	action->if_exists = !create && index->if_exists;
	if (!create && span_ieq_str(action->name, "PRIMARY"))
		action->kind = SQL_ALTER_DROP_PRIMARY;
	alter_table(n, &index->table, action, false);
}

/* ---- statements ---- */

static void follow_set(struct mvcc *m, const struct sql_set *set)
{
	for (const struct sql_set_item *item = set->items; item; item = item->next) {
		if (item->kind != SQL_SET_VARIABLE)
			continue;
		if (span_ieq_str(item->name, "default_storage_engine") ||
			span_ieq_str(item->name, "default_tmp_storage_engine") || span_ieq_str(item->name, "storage_engine"))
			m->catalog.engine_changed |= !item->value || !span_ieq_str(settings_word(item->value), "innodb");
		m->catalog.sql_notes_changed |= span_ieq_str(item->name, "sql_notes");
	}
}

/* Perhaps: by any word of the statement, in whichever case. */
static bool names_database(const struct naming *n, struct span database)
{
	struct span text = n->plan->key.text;

	for (size_t i = 0; database.len && i + database.len <= text.len; i++)
		if (span_ieq(span_of(text.ptr + i, database.len), database))
			return true;
	return false;
}

/* Its tables have no name any more, or it is not known which they have. */
static void drop_database(const struct naming *n)
{
	struct mvcc *m = n->m;

	for (size_t i = 0; i < m->catalog.label_count; i++) {
		struct span database = m->catalog.labels[i].database;

		if (!database.ptr || names_database(n, database))
			label(m, database, m->catalog.labels[i].name, STORE_NONE);
	}
}

/* Whatever it names: it may have been changed, or not. */
static void lose_all(const struct naming *n, const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_CREATE_TABLE:
		if (!stmt->u.create_table->temporary)
			lose(n, &stmt->u.create_table->table);
		break;
	case SQL_STMT_DROP_TABLE:
		drop_tables(n, stmt->u.drop);
		break;
	case SQL_STMT_DROP_DATABASE:
		drop_database(n);
		break;
	case SQL_STMT_RENAME_TABLE:
		for (const struct sql_rename *r = stmt->u.rename; r; r = r->next) {
			lose(n, &r->from);
			lose(n, &r->to);
		}
		break;
	case SQL_STMT_ALTER_TABLE:
		lose(n, &stmt->u.alter_table->table);
		break;
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
		lose(n, &stmt->u.index->table);
		break;
	default:
		break;
	}
}

static bool changes_tables(const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_CREATE_TABLE:
	case SQL_STMT_DROP_TABLE:
	case SQL_STMT_RENAME_TABLE:
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
		return true;
	default:
		return false;
	}
}

static void define(const struct naming *n)
{
	const struct sql_stmt *stmt = n->plan->stmt;

	switch (stmt->kind) {
	case SQL_STMT_SET:
		follow_set(n->m, stmt->u.set);
		if (stmt->u.set->statement)
			lose_all(n, stmt->u.set->statement);
		break;
	case SQL_STMT_CREATE_TABLE:
		create_table(n, stmt->u.create_table);
		break;
	case SQL_STMT_DROP_TABLE:
		drop_tables(n, stmt->u.drop);
		break;
	case SQL_STMT_RENAME_TABLE:
		for (const struct sql_rename *r = stmt->u.rename; r; r = r->next)
			rename_table(n, &r->from, &r->to);
		break;
	case SQL_STMT_ALTER_TABLE:
		alter_table(n, &stmt->u.alter_table->table, stmt->u.alter_table->actions,
			stmt->u.alter_table->ignore);
		break;
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
		change_index(n, stmt);
		break;
	case SQL_STMT_CREATE_TRIGGER:
		for (const struct sql_table_name *t = stmt->tables; t; t = t->next) {
			uint32_t table = table_of(n, t);

			if (table != STORE_NONE &&
				(n->m->store.tables[table].bare || n->m->store.tables[table].alien))
				lose(n, t);
		}
		break;
	case SQL_STMT_DROP_DATABASE:
		drop_database(n);
		break;
	default:
		break;
	}
}

bool define_may_change(const struct mvcc *m, uint32_t stmt, const struct plan *plan)
{
	const struct sql_stmt *tree = plan->stmt;

	if (tree && tree->kind == SQL_STMT_SET)
		tree = tree->u.set->statement;
	if (!tree || plan->sets_unmodelled)
		return false;
	if (tree->kind == SQL_STMT_DROP_DATABASE)
		return true;
	return changes_tables(tree) && plan->commits &&
	       (!m->schedule->stmts[stmt].in->record.error || tree->kind == SQL_STMT_DROP_TABLE);
}

void define_after(struct mvcc *m, uint32_t stmt, const struct session_settings *settings)
{
	enum { MYSQL_ATOMIC = 80000 };
	const struct record_stmt *r = &m->schedule->stmts[stmt].in->record;
	struct naming n = {m, stmt, settings, m->runs[stmt].plan};
	uint32_t state = m->catalog.label_state;

	if (!n.plan->stmt || n.plan->sets_unmodelled)
		return;
	if (r->flags & STMT_NO_REPLY || plan_is_unreadable(n.plan, r)) {
		lose_all(&n, n.plan->stmt);
	} else if (r->error) {
		/* Of several tables some may be gone, but for MySQL 8. */
		if (n.plan->stmt->kind == SQL_STMT_DROP_TABLE && n.plan->stmt->u.drop->tables->next &&
			!(m->now.env.flavour == SQL_MYSQL && m->now.env.version >= MYSQL_ATOMIC))
			lose_all(&n, n.plan->stmt);
		else if (n.plan->stmt->kind == SQL_STMT_DROP_DATABASE)
			drop_database(&n);
	} else {
		if (m->runs[stmt].contested)
			lose_all(&n, n.plan->stmt);
		else
			define(&n);
		m->runs[stmt].defines = changes_tables(n.plan->stmt) && n.plan->commits;
	}
	if (m->catalog.label_state != state)
		foreign_redefine(m, stmt);
}

/* ---- the order ---- */

struct position {
	uint64_t answered, sent;
	uint32_t stmt;
};

static int by_position(const void *a, const void *b)
{
	const struct position *x = a, *y = b;

	if (x->answered != y->answered)
		return x->answered < y->answered ? -1 : 1;
	return (x->sent > y->sent) - (x->sent < y->sent);
}

/* In a scenario's run whatever is answered before the next is sent may be answered in any order; those that came
 * first had their metadata lock first.  Without an answer: from its sending on. */
uint32_t *definition_order(const struct mvcc *m)
{
	const struct schedule *s = m->schedule;
	struct position *positions = mem_zero(s->stmt_count + 1, sizeof(*positions));
	uint32_t *order = mem_zero(s->stmt_count + 1, sizeof(*order));
	uint64_t last_sent = 0;

	for (size_t e = 0; e < s->event_count; e++) {
		const struct schedule_event *event = &s->events[e];
		const struct record_stmt *r;

		if (event->kind == EVENT_TXN)
			continue;
		r = &s->stmts[event->index].in->record;
		if (event->kind == EVENT_SENT)
			last_sent = event->seq;
		positions[event->index] = (struct position){
			.answered = r->flags & STMT_NO_REPLY ? r->begin_seq
				    : s->one_at_a_time	     ? last_sent
							     : event->seq,
			.sent = r->begin_seq,
			.stmt = event->index};
	}
	qsort(positions, s->stmt_count, sizeof(*positions), by_position);
	for (size_t i = 0; i < s->stmt_count; i++)
		order[i] = positions[i].stmt;
	mem_free(positions);
	return order;
}

static bool uses(const struct plan *plan, uint32_t table)
{
	for (uint32_t i = 0; i < plan->table_count; i++) {
		if (plan->tables[i] == table)
			return true;
	}
	return false;
}

bool define_changes_table_of(const struct mvcc *m, uint32_t change, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;

	for (const struct redefinition *r = m->runs[change].redefinitions; r; r = r->next) {
		if (r->kind == REDEFINE_COPY && (uses(plan, r->from) || uses(plan, r->to)))
			return true;
	}
	return false;
}

/* ---- when it is executed ---- */

/* Has an open transaction written it? */
static bool is_open(const struct mvcc *m, const struct store_table *table)
{
	for (uint32_t i = 0; i < table->count; i++) {
		const struct store_version *v = table->records[i]->newest;

		if (v && v->txn && store_is_active(&m->store, v->txn))
			return true;
	}
	return false;
}

/* What a column has in rows that were there before it: NULL, or a DEFAULT that is a literal. */
static bool added_value(struct mvcc *m, const struct store_table *to, uint32_t column, struct eval_value *out)
{
	const struct eval_column *c = &to->def->columns[column];
	struct eval_outcome outcome = {0};
	struct eval_expr *dflt;
	struct eval_value value;

	if (c->generated || c->auto_increment)
		return false;
	if (!c->dflt) {
		*out = EVAL_NULL_VALUE;
		return c->nullable;
	}
	if (c->dflt->kind != SQL_EXPR_LITERAL)
		return false;
	dflt = eval_expr_compile(&m->store.arena, c->dflt, NULL, SPAN_NONE, &m->now.env, &m->source, &outcome);
	return dflt &&
	       eval_expr_run(dflt, &m->store.arena, &m->now.env, &m->source, NULL, &value, &outcome) &&
	       eval_column_assign(&m->store.arena, &m->now.env, to->def, column, eval_expr_type(dflt), &value, 0, out,
		       &outcome) &&
	       !outcome.warning_count;
}

/* The same value in both: what does not make it a longer one of its kind is not converted here. */
static bool keeps_value(const struct eval_column *from, const struct eval_column *to)
{
	const struct eval_type *a = &from->type, *b = &to->type;

	return a->kind == b->kind && a->is_unsigned == b->is_unsigned && a->decimals == b->decimals &&
	       a->fixed == b->fixed && a->collation == b->collation && a->length <= b->length &&
	       a->bytes <= b->bytes && a->value_count == b->value_count &&
	       a->kind != EVAL_T_ENUM && a->kind != EVAL_T_SET && (!from->nullable || to->nullable) &&
	       !from->generated == !to->generated;
}

static bool same_column(const struct eval_column *from, const struct eval_column *to)
{
	return from->type.values == to->type.values &&
	       memcmp(&from->type, &to->type, sizeof(from->type)) == 0 && from->nullable == to->nullable &&
	       from->generated == to->generated;
}

static bool copy_row(struct mvcc *m, struct store_table *to,
	const uint32_t *origins, const struct eval_value *row, const struct eval_value *added)
{
	struct eval_value *image =
		arena_alloc(&m->store.arena, (to->def->column_count + 1) * sizeof(*image));

	for (uint32_t i = 0; i < to->def->column_count; i++) {
		uint32_t origin = origins ? origins[i] : i;

		image[i] = origin == UINT32_MAX ? added[i] : row[origin];
	}
	if (store_odd_keys(to, image))
		return false;
	store_write(&m->store, 0, STORE_NONE, store_record_for(&m->store, to, image), image);
	return true;
}

/* False: what is in it now is not known. */
static bool copy_rows(struct mvcc *m, const struct redefinition *r)
{
	const struct store_table *from = &m->store.tables[r->from];
	struct store_table *to = &m->store.tables[r->to];
	struct eval_value *added =
		arena_zero(&m->scratch, (to->def->column_count + 1) * sizeof(*added));
	bool ok = !from->unknown && !unknown_at_end(m, from) && !is_open(m, from) && !r->drops_rows;

	for (uint32_t i = 0; i < to->def->column_count && ok; i++) {
		uint32_t origin = r->origins ? r->origins[i] : i;

		ok = origin == UINT32_MAX ? added_value(m, to, i, &added[i])
					  : same_column(&from->def->columns[origin], &to->def->columns[i]) ||
						    keeps_value(&from->def->columns[origin],
							    &to->def->columns[i]);
	}
	for (uint32_t i = 0; i < from->count && ok; i++) {
		const struct store_version *v = store_current(&m->store, from->records[i], 0);

		ok = !store_alive(v) || copy_row(m, to, r->origins, v->image, added);
	}
	return ok;
}

static void run_one(struct mvcc *m, const struct redefinition *r)
{
	struct store_table *to = &m->store.tables[r->to];
	const struct store_table *from = r->kind == REDEFINE_COPY ? &m->store.tables[r->from] : NULL;

	switch (r->kind) {
	case REDEFINE_MAKE:
		TRAIL_SET(&m->store.trail, TABLE, to, born, 1);
		/* What is in a temporary table every read view of its session has. */
		if (to->def && !to->temporary)
			know_from_now(m, to);
		break;
	case REDEFINE_COPY:
		TRAIL_SET(&m->store.trail, TABLE, to, born, 1);
		TRAIL_SET(&m->store.trail, TABLE, to, triggers, from->triggers);
		know_from_now(m, to);
		if (from->redefined) {
			TRAIL_SET(&m->store.trail, TABLE, to, redefined, 1);
			TRAIL_SET(&m->store.trail, TABLE, to, unknown, from->unknown);
		} else if (!copy_rows(m, r)) {
			forget_table(m, to, REASON_ALTER_MAY_CHANGE_ROWS);
		}
		break;
	case REDEFINE_FORGET:
		forget_table(m, to, REASON_FOREIGN_KEY_NOT_MODELLED);
		TRAIL_SET(&m->store.trail, TABLE, to, redefined, 1);
		break;
	}
}

void define_run(struct mvcc *m)
{
	for (const struct redefinition *r = m->runs[m->now.stmt].redefinitions; r; r = r->next)
		run_one(m, r);
	foreign_take_effect(m, m->now.stmt);
}

bool define_has_to_wait(const struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;

	for (uint32_t t = 0; t < plan->table_count; t++) {
		const struct store_table *table = &m->store.tables[plan->tables[t]];

		for (uint32_t i = 0; plan->written[t] && i < table->count; i++) {
			const struct store_version *v = table->records[i]->newest;

			if (v && v->txn && v->txn != m->schedule->stmts[stmt].txn + 1 &&
				store_is_active(&m->store, v->txn) && !m->schedule->txns[v->txn - 1].disconnected)
				return true;
		}
	}
	return false;
}

bool define_leaves_out(const struct mvcc *m, uint32_t change, uint32_t stmt)
{
	for (const struct redefinition *r = m->runs[change].redefinitions; r; r = r->next) {
		if (r->kind == REDEFINE_FORGET && uses(m->runs[stmt].plan, r->to))
			return true;
	}
	return false;
}

uint32_t define_maker(const struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;

	for (uint32_t i = 0; i < plan->table_count; i++) {
		const struct store_table *table = &m->store.tables[plan->tables[i]];

		if (!table->born && table->made_by != stmt)
			return table->made_by;
	}
	return STORE_NONE;
}

bool define_replaces(const struct mvcc *m, uint32_t stmt, uint32_t other)
{
	for (const struct redefinition *r = m->runs[stmt].redefinitions; r; r = r->next) {
		if (r->kind == REDEFINE_COPY && uses(m->runs[other].plan, r->from))
			return true;
	}
	return false;
}
