/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "instrument/plan_internal.h"
#include "sql/text/raw_token.h"

/* ---- tables ---- */

static struct span database_of(const struct planner *p, const struct sql_table_name *name)
{
	return name->db.ptr ? name->db : p->database;
}

bool plan_next_word(struct span *rest, struct span *word)
{
	const char *end = rest->len ? memchr(rest->ptr, '\0', rest->len) : NULL;

	if (!end)
		return false;
	*word = span_of(rest->ptr, (size_t)(end - rest->ptr));
	*rest = span_of(end + 1, rest->len - word->len - 1);
	return true;
}

bool plan_is_temporary(const struct planner *p, const struct sql_table_name *name)
{
	struct span rest = p->temporary, database = database_of(p, name), first, second;

	while (plan_next_word(&rest, &first) && plan_next_word(&rest, &second))
		if (span_ieq(first, database) && span_ieq(second, name->name))
			return true;
	return false;
}

struct instrument_table *plan_find(const struct planner *p, const struct sql_table_name *name)
{
	if (UNLIKELY(p->temporary.len) && plan_is_temporary(p, name))
		return NULL;
	return instrument_tables_find(p->tables, database_of(p, name), name->name);
}

static void set_temporary(struct planner *p, const struct sql_table_name *name, bool drops)
{
	struct buf *out = &p->plan->temporary;

	buf_add_span(out, database_of(p, name));
	buf_add(out, "", 1);
	buf_add_span(out, name->name);
	buf_add(out, "", 1);
	p->plan->drops_temporary = drops;
}

/* ---- tables that are not seen ---- */

static bool is_shown(const struct planner *p, const struct sql_table_ref *ref)
{
	for (size_t i = 0; i < p->shown_count; i++)
		if (p->shown[i] == ref)
			return true;
	return false;
}

void plan_add_blind(struct stmt_plan *plan, const struct instrument_table *table)
{
	for (size_t i = 0; i < plan->blind_count; i++)
		if (plan->blind[i] == table)
			return;
	if (plan->blind_count < PLAN_TABLES_MAX)
		plan->blind[plan->blind_count++] = table;
}

/* IGNORE passes over rows that match, where an error would come of them.  MariaDB fires AFTER UPDATE
 * for those, too: how many it changed tells whether the log has writes that never were, but only
 * where it is of one table. */
static void plan_ignore(struct planner *p, const struct sql_update *update)
{
	const struct sql_table_ref *ref = plan_only_table(update->tables);

	if (!(update->flags & SQL_DML_IGNORE))
		return;
	if (ref && p->tables->mode != INSTRUMENT_SELECT)
		p->plan->skips = plan_find(p, &ref->u.name.table);
	p->plan->vague = !p->plan->skips;
}

/* Has it a condition that may be an error to a server without triggers? */
static bool may_convert(struct planner *p, const struct sql_update *update)
{
	const struct sql_table_ref *ref = plan_only_table(update->tables);

	return ref && update->where && !(update->flags & SQL_DML_IGNORE) && plan_find(p, &ref->u.name.table);
}

static void note_table(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct planner *p = ctx;
	const struct instrument_table *table = plan_find(p, name);

	if (table && access == SQL_TABLE_READ && !(ref && is_shown(p, ref)))
		plan_add_blind(p->plan, table);
}

void plan_leave_alone(struct stmt_plan *plan)
{
	for (size_t i = 0; i < plan->table_count; i++)
		plan_add_blind(plan, plan->tables[i]);
	plan->table_count = 0;
	plan->reads = plan->rewritten = false;
	plan_forget_predicate(plan);
}

void plan_forget_predicate(struct stmt_plan *plan)
{
	plan->predicate_of = NULL;
	plan->listed_count = 0;
	plan->joint = plan->parts = false;
}

void plan_take_beside(struct stmt_plan *plan)
{
	memcpy(plan->tables, plan->beside_tables, sizeof(plan->tables));
	plan->table_count = plan->beside_count;
	plan->blind_count = 0;
	plan->predicate_of = plan->beside_predicate.text.len ? plan->tables[0] : NULL;
	plan->joint = plan->predicate_of && plan->table_count > 1;
	plan->reads = true;
}

bool plan_lists(const struct stmt_plan *plan, const struct instrument_table *table)
{
	for (size_t i = 0; i < plan->listed_count; i++)
		if (plan->listed[i] == table)
			return true;
	return plan->predicate_of == table;
}

static bool is_view(const struct planner *p, struct span name)
{
	for (size_t i = 0; i < p->tables->view_count; i++)
		if (span_ieq_str(name, p->tables->views[i].name))
			return true;
	return false;
}

/* Of INSERT, REPLACE, UPDATE, DELETE: a table that is not prepared. */
static void note_elsewhere(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct planner *p = ctx;

	(void)ref;
	if (access != SQL_TABLE_READ && (plan_find(p, name) || is_view(p, name->name)))
		p->plan->elsewhere = false;
}

/* In trigger mode what triggers of such a table write to others is in the log. */
static bool may_be_elsewhere(const struct planner *p)
{
	enum sql_stmt_kind kind = p->stmt->kind;

	return p->tables->mode != INSTRUMENT_SELECT && !p->plan->vague && !p->plan->fires &&
	       (kind == SQL_STMT_INSERT || kind == SQL_STMT_REPLACE || kind == SQL_STMT_UPDATE ||
		       kind == SQL_STMT_DELETE);
}

/* Tables whose rows it may change. */
static void note_written(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct planner *p = ctx;
	struct instrument_table *table = plan_find(p, name);

	(void)ref;
	if (access == SQL_TABLE_READ)
		return;
	/* In select mode what is written through a view is not seen, wherever it goes. */
	if (!table && p->tables->mode == INSTRUMENT_SELECT && is_view(p, name->name))
		p->plan->vague = p->plan->anywhere = true;
	if (!table)
		return;
	if (p->plan->written_count < PLAN_TABLES_MAX)
		p->plan->written[p->plan->written_count++] = table;
	else
		p->plan->vague = p->plan->anywhere = true;
}

/* Foreign keys that may act on what it does. */
static void fire_keys(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct planner *p = ctx;
	const struct sql_stmt *stmt = p->stmt;
	const struct sql_assign *set = NULL;
	struct span database = database_of(p, name);

	(void)ref;
	if (access != SQL_TABLE_WRITE || plan_is_temporary(p, name))
		return;
	if (!instrument_tables_find(p->tables, database, name->name))
		database = SPAN_NONE; /* a view, perhaps */
	if (stmt->kind == SQL_STMT_INSERT && !stmt->u.insert->on_duplicate)
		return;
	if (stmt->kind == SQL_STMT_UPDATE)
		set = stmt->u.update->set;
	else if (stmt->kind == SQL_STMT_INSERT)
		set = stmt->u.insert->on_duplicate;
	if (!set)
		p->plan->fires |= instrument_tables_disturb_children(
			p->tables, database, name->name, SPAN_NONE);
	for (; set; set = set->next)
		p->plan->fires |= instrument_tables_disturb_children(
			p->tables, database, name->name, set->target->u.column.name);
}

/* Changes that fire no triggers. */
static void note_disturbed(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct planner *p = ctx;
	struct instrument_table *table = plan_find(p, name);

	(void)ref;
	if (!table || access == SQL_TABLE_READ)
		return;
	atomic_store(&table->disturbed, true);
	switch (p->stmt->kind) {
	case SQL_STMT_CREATE_TABLE:
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_DROP_TABLE:
	case SQL_STMT_RENAME_TABLE:
		atomic_store(&table->altered, true);
		break;
	default:
		break;
	}
}

/* DROP DATABASE: all tables whose database the text may name. */
static void disturb_database(struct planner *p)
{
	for (size_t i = 0; i < p->tables->count; i++) {
		struct instrument_table *table = &p->tables->list[i];

		if (!span_ihas(p->stmt->text, table->database))
			continue;
		atomic_store(&table->disturbed, true);
		atomic_store(&table->altered, true);
	}
}

/* ---- kinds of statements ---- */

static void set_insert_id(struct planner *p, const struct sql_insert *insert)
{
	const struct instrument_table *table = plan_find(p, &insert->table);

	p->plan->tells_id = plan_sets_id(insert->on_duplicate);
	p->plan->upserts = insert->on_duplicate != NULL;
	p->plan->auto_key = table && table->auto_key;
}

/* SHOW WARNINGS, SHOW ERRORS, SHOW COUNT(*) WARNINGS */
static bool shows_diagnostics(struct span text)
{
	struct span beginning = span_of(text.ptr, text.len < 64 ? text.len : 64);

	return span_ihas(beginning, "warnings") || span_ihas(beginning, "errors");
}

/* Below REPEATABLE READ UPDATE of one table and INSERT read by the snapshot what they only look at;
 * DELETE, and UPDATE of several, lock that as well (store_lock in storage/innobase/handler/ha_innodb.cc:
 * the commands that it names). */
static bool locks_all(const struct planner *p)
{
	return p->tables->mode != INSTRUMENT_SELECT &&
	       (p->stmt->kind != SQL_STMT_UPDATE || !plan_only_table(p->stmt->u.update->tables));
}

static void plan_parsed(struct planner *p)
{
	const struct sql_stmt *stmt = p->stmt;
	struct stmt_plan *plan = p->plan;

	if (sql_kind_controls_transactions(stmt->kind)) {
		plan->no_tables = true;
		return;
	}
	switch (stmt->kind) {
	case SQL_STMT_EMPTY:
	case SQL_STMT_USE:
	case SQL_STMT_EXPLAIN:
	case SQL_STMT_DEALLOCATE:
	case SQL_STMT_KILL:
	case SQL_STMT_HELP:
	case SQL_STMT_LOCK_TABLES:
	case SQL_STMT_UNLOCK_TABLES:
	/* Rows stay as they are, and none is answered. */
	case SQL_STMT_TABLE_ADMIN:
	case SQL_STMT_ACCOUNT:
	case SQL_STMT_CREATE_DATABASE:
	case SQL_STMT_CREATE_OTHER:
	case SQL_STMT_DROP_OTHER:
	case SQL_STMT_ALTER_OTHER:
	case SQL_STMT_FLUSH:
	case SQL_STMT_RESET:
	case SQL_STMT_PURGE:
	case SQL_STMT_CACHE_INDEX:
		plan->no_tables = true;
		return;
	case SQL_STMT_DROP_DATABASE:
		disturb_database(p);
		plan->no_tables = true;
		return;
	case SQL_STMT_PREPARE:
		plan->no_tables = true;
		plan_prepare(p);
		return;
	case SQL_STMT_EXECUTE:
		plan_execute(p);
		return;
	case SQL_STMT_CALL:
		plan_call(p);
		return;
	case SQL_STMT_SHOW:
		plan->no_tables = true;
		plan->diagnostics = shows_diagnostics(stmt->text);
		return;
	case SQL_STMT_GET_DIAGNOSTICS:
		plan->diagnostics = true;
		return;
	case SQL_STMT_SET:
	case SQL_STMT_DO:
		plan->diagnostics = plan_looks_back(stmt);
		/* SET autocommit ends a transaction. */
		plan->idle = plan_names_no_table(p, stmt) && !span_ihas(stmt->text, "autocommit");
		plan->cuts = span_ihas(stmt->text, "sql_select_limit");
		return;
	case SQL_STMT_SELECT:
		plan->diagnostics = plan_looks_back(stmt);
		/* What a stored function writes is logged like anything else. */
		if (plan_look_at_all(stmt, p->tables).stored)
			plan->writes = plan->vague = plan->anywhere = true;
		plan->stays = !plan->writes;
		plan->no_tables = plan_names_no_table(p, stmt);
		plan->idle = plan->no_tables && !plan->writes;
		plan->locking = sql_stmt_locking_read(stmt) != NULL;
		if (!p->context->unseen && !plan->through_view)
			plan_read(p, stmt->u.query);
		if (!p->context->unseen && !plan->reads && !plan->locking && !plan->writes)
			plan_read_beside(p, stmt->u.query);
		plan_read_unseen(p, stmt->u.query);
		sql_stmt_tables(stmt, note_table, p);
		return;
	case SQL_STMT_UPDATE:
		plan->writes = true;
		plan->diagnostics = plan_looks_back(stmt);
		plan->passes = true;
		plan->tells_id = plan_sets_id(stmt->u.update->set);
		plan_ignore(p, stmt->u.update);
		plan->converts = may_convert(p, stmt->u.update);
		if (!stmt->u.update->with &&
			(!(stmt->u.update->flags & SQL_DML_IGNORE) || plan->skips))
			plan_condition(p,
				&(struct plan_clauses){stmt->u.update->tables, stmt->u.update->where,
					stmt->u.update->order, stmt->u.update->limit});
		plan->locking = locks_all(p);
		plan->narrow = plan->predicate_of && !plan->joint && !plan->parts &&
			       plan_only_table(stmt->u.update->tables) &&
			       !plan_sets_key(plan->predicate_of, stmt->u.update->set);
		if (!plan_sets_key(plan->predicate_of, stmt->u.update->set))
			plan_set_target(p, plan_only_table(stmt->u.update->tables), PLAN_WRITE_UPDATE);
		sql_stmt_tables(stmt, note_table, p);
		return;
	case SQL_STMT_DELETE:
		plan->writes = plan->passes = true;
		plan->diagnostics = plan_looks_back(stmt);
		plan->locking = locks_all(p);
		if (!stmt->u.del->with && !(stmt->u.del->flags & SQL_DML_IGNORE))
			plan_condition(p,
				&(struct plan_clauses){stmt->u.del->from, stmt->u.del->where,
					stmt->u.del->order, stmt->u.del->limit});
		plan->narrow = plan->predicate_of && !plan->joint && !plan->parts &&
			       plan_only_table(stmt->u.del->from);
		plan_set_target(p, plan_only_table(stmt->u.del->from), PLAN_WRITE_DELETE);
		sql_stmt_tables(stmt, note_table, p);
		return;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		plan->writes = true;
		plan->diagnostics = plan_looks_back(stmt);
		plan_set_insert(p, stmt->u.insert, stmt->kind == SQL_STMT_REPLACE);
		plan_set_keyed(p, stmt->u.insert);
		set_insert_id(p, stmt->u.insert);
		if (stmt->u.insert->query && !stmt->u.insert->on_duplicate)
			plan_read_unseen(p, stmt->u.insert->query);
		sql_stmt_tables(stmt, note_table, p);
		return;
	case SQL_STMT_LOAD_DATA:
		plan->writes = true;
		return;
	case SQL_STMT_CREATE_TABLE:
		plan->writes = plan->vague = true;
		if (stmt->u.create_table->temporary)
			set_temporary(p, &stmt->u.create_table->table, false);
		else
			sql_stmt_tables(stmt, note_disturbed, p);
		sql_stmt_tables(stmt, note_table, p);
		return;
	case SQL_STMT_DROP_TABLE:
		plan->writes = plan->vague = true;
		sql_stmt_tables(stmt, note_disturbed, p);
		for (const struct sql_table_name *name = stmt->u.drop->tables; name;
			name = name->next)
			if (plan_is_temporary(p, name))
				set_temporary(p, name, true);
		return;
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_RENAME_TABLE:
	case SQL_STMT_TRUNCATE:
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
	case SQL_STMT_CREATE_TRIGGER:
		sql_stmt_tables(stmt, note_disturbed, p);
		plan->writes = plan->vague = true;
		return;
	case SQL_STMT_CREATE_ROUTINE:
	case SQL_STMT_DROP_ROUTINE:
		plan->writes = plan->vague = plan->anywhere = true;
		atomic_store(&((struct instrument_tables *)(uintptr_t)p->tables)->routines_changed,
			true);
		return;
	default:
		/* What is not known: rows may be written. */
		plan->writes = plan->vague = plan->anywhere = true;
		return;
	}
}

/* Triggers run once for each row that INSERT adds, DELETE takes away, and UPDATE finds; of one table,
 * where nothing is passed over (IGNORE) or replaced, and no trigger of the application writes others. */
static enum plan_log_count log_count_of(const struct planner *p)
{
	const struct stmt_plan *plan = p->plan;
	const struct sql_stmt *stmt = p->stmt;

	if (!plan->writes || plan->vague || plan->anywhere || plan->elsewhere || plan->reads ||
		plan->written_count != 1 || plan->written[0]->triggered ||
		p->tables->mode == INSTRUMENT_SELECT)
		return PLAN_LOG_UNCOUNTED;
	switch (stmt->kind) {
	case SQL_STMT_INSERT:
		return stmt->u.insert->on_duplicate || (stmt->u.insert->flags & SQL_DML_IGNORE)
			       ? PLAN_LOG_UNCOUNTED
			       : PLAN_LOG_AFFECTED;
	case SQL_STMT_UPDATE:
		return !plan_only_table(stmt->u.update->tables) ||
				       (stmt->u.update->flags & SQL_DML_IGNORE)
			       ? PLAN_LOG_UNCOUNTED
			       : PLAN_LOG_MATCHED;
	case SQL_STMT_DELETE:
		return !plan_only_table(stmt->u.del->from) || (stmt->u.del->flags & SQL_DML_IGNORE)
			       ? PLAN_LOG_UNCOUNTED
			       : PLAN_LOG_AFFECTED;
	default:
		return PLAN_LOG_UNCOUNTED;
	}
}

/* ---- all ---- */

static struct buf *buffers_of(struct stmt_plan *plan, size_t index)
{
	struct buf *const all[] = {&plan->text, &plan->predicate.text, &plan->first_rows.text,
		&plan->columns, &plan->tail.text, &plan->source, &plan->row, &plan->keys.text,
		&plan->temporary, &plan->named, &plan->beside.text,
		&plan->beside_predicate.text};

	return index < ARRAY_LEN(all) ? all[index] : NULL;
}

/* Keeps the buffers' memory. */
static void plan_clear(struct stmt_plan *plan)
{
	struct stmt_plan empty = {0};

	for (size_t i = 0; buffers_of(plan, i); i++) {
		buf_clear(buffers_of(plan, i));
		*buffers_of(&empty, i) = *buffers_of(plan, i);
	}
	*plan = empty;
}

static struct span trim(struct span text)
{
	while (text.len && char_is_blank(*text.ptr))
		text = span_of(text.ptr + 1, text.len - 1);
	while (text.len && char_is_blank(text.ptr[text.len - 1]))
		text.len--;
	return text;
}

/* The comment that a statement begins with, where it says that the statement is a probe. */
static int client_probe_of(struct span text)
{
	static const char *const marks[] = {"BWR", "AWR", "VSR", "PM", "BPM", "APM"};
	struct span word;
	size_t len;
	bool open;

	text = trim(text);
	len = raw_comment(text, 0, &open);
	if (len < 4 || text.ptr[0] != '/' || open)
		return 0;
	word = trim(span_of(text.ptr + 2, len - 4));
	if (span_istarts(word, "isorec:"))
		word = trim(span_of(word.ptr + 7, word.len - 7));
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (span_eq_str(word, marks[i]))
			return (int)(PROBE_BWR + i) + 1;
	return 0;
}

void plan_statement(struct stmt_plan *plan, const struct plan_context *context, struct span text)
{
	const struct instrument_tables *tables = context->tables;
	struct arena arena = ARENA_INIT;
	struct sql_stmt *stmt;
	struct planner p = {.plan = plan,
		.tables = tables,
		.database = context->database,
		.temporary = context->temporary,
		.context = context,
		.locks = context->locks,
		.options = *context->options};

	plan_clear(plan);
	plan->client_probe = tables->mode == INSTRUMENT_SELECT ? client_probe_of(text) : 0;
	/* What an executable comment holds depends on the server. */
	if (memmem(text.ptr, text.len, "/*!", 3) || memmem(text.ptr, text.len, "/*M!", 4) ||
		!sql_parse(&arena, text, context->options, &stmt, NULL)) {
		plan->writes = plan->vague = plan->anywhere = true;
	} else {
		struct look_state state = plan_look_at_all(stmt, tables);

		p.stmt = stmt;
		p.arena = &arena;
		plan_resolve_views(&p);
		plan->plain = !state.active && !state.stored;
		plan_parsed(&p);
		if (plan->writes && !plan->temporary.len)
			sql_stmt_tables(stmt, note_written, &p);
		if (plan->writes && tables->action_count)
			sql_stmt_tables(stmt, fire_keys, &p);
		plan->elsewhere = may_be_elsewhere(&p);
		if (plan->elsewhere)
			sql_stmt_tables(stmt, note_elsewhere, &p);
		/* What writes temporary tables alone writes nothing that another session sees. */
		if (plan->writes && !plan->vague && !plan->whole && p.temporary.len &&
			plan_names_no_table(&p, stmt)) {
			plan->writes = false;
			plan->no_tables = true;
		}
		if (!state.stored)
			plan->log_count = log_count_of(&p);
	}
	/* Functions define nothing. */
	if ((plan->anywhere && !(p.stmt && p.stmt->kind == SQL_STMT_SELECT)) ||
		(p.stmt && p.stmt->kind == SQL_STMT_RENAME_TABLE))
		atomic_store(&((struct instrument_tables *)(uintptr_t)tables)->views_changed, true);
	if (plan->anywhere && tables->action_count)
		plan->fires |=
			instrument_tables_disturb_children(tables, SPAN_NONE, SPAN_NONE, SPAN_NONE);
	/* Whatever it is set to, and for whom. */
	if (tables->action_count && span_ihas(text, "foreign_key_checks")) {
		instrument_tables_unfollow(tables);
		plan->fires = true;
	}
	arena_release(&arena);
}

void plan_copy(struct stmt_plan *to, const struct stmt_plan *from)
{
	struct stmt_plan copy = *from;

	for (size_t i = 0; buffers_of(to, i); i++) {
		struct buf kept = *buffers_of(to, i);

		buf_clear(&kept);
		buf_add_span(&kept, buf_span(buffers_of(&copy, i)));
		*buffers_of(&copy, i) = kept;
	}
	*to = copy;
}

void plan_release(struct stmt_plan *plan)
{
	for (size_t i = 0; buffers_of(plan, i); i++)
		buf_release(buffers_of(plan, i));
	*plan = (struct stmt_plan){0};
}

void plan_fill(const struct plan_template *template, const struct span *literals, size_t count,
	struct buf *out)
{
	struct span text = buf_span(&template->text);
	size_t at = 0;

	for (size_t i = 0; i < template->count; i++) {
		const struct plan_param *param = &template->params[i];

		buf_add(out, text.ptr + at, param->offset - at);
		if (param->index < count)
			buf_add_span(out, literals[param->index]);
		else
			buf_add_char(out, '?');
		at = param->offset + 1;
	}
	buf_add(out, text.ptr + at, text.len - at);
}
