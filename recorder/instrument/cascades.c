/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that change without firing our triggers: by foreign keys, and by triggers of the
 * application. */
#include "base/mem.h"
#include "db/query.h"
#include "instrument/tables_internal.h"
#include "sql/text/raw_token.h"

/* Select mode sees only what a statement writes itself: what triggers of the application write
 * beside it, and tables whose rows they change, is not known. */
bool tables_note_triggers(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = db_query(mysql,
		"select event_object_schema, event_object_table, action_statement from "
		"information_schema.triggers where left(trigger_name, 7) <> '" TRIGGER_PREFIX
		"' and trigger_schema not in ('sys', 'mysql')",
		err);
	MYSQL_ROW row;

	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		tables->triggers = true;
		for (size_t i = 0; i < tables->count; i++) {
			struct instrument_table *t = &tables->list[i];
			bool own = strcmp(row[0], t->database) == 0 && strcmp(row[1], t->name) == 0;

			t->triggered |= own;
			if (tables->mode == INSTRUMENT_SELECT &&
				(own || text_holds_word(span_str(row[2] ? row[2] : ""), t->name)))
				t->cascades = true;
		}
	}
	mysql_free_result(result);
	return true;
}

#define FOREIGN_KEY_CHECKS "foreign_key_checks"

/* Values that the analyzer can compare. */
static bool is_comparable(const struct instrument_table *t, const char *name)
{
	for (size_t i = 0; i < t->column_count; i++)
		if (strcasecmp(t->columns[i].name, name) == 0)
			return t->columns[i].kind == COLUMN_NUMBER ||
			       t->columns[i].kind == COLUMN_TEXT ||
			       t->columns[i].kind == COLUMN_BYTES;
	return false;
}

/* A row of tables_read_cascades(): does the log tell what the foreign key deletes? */
static bool is_followed(
	const struct instrument_tables *tables, const struct instrument_table *child, MYSQL_ROW row)
{
	const struct instrument_table *parent =
		instrument_tables_find(tables, span_str(row[2]), span_str(row[3]));

	return tables->mode == INSTRUMENT_TRIGGER && strcmp(row[7], "CASCADE") == 0 &&
	       strcmp(row[6], "0") == 0 && parent && is_comparable(parent, row[4]) &&
	       is_comparable(child, row[5]);
}

/* Foreign keys fire no triggers.  Rows that they delete with a prepared one are found by the
 * analyzer. Of other changes it is known which statement causes them only where every writer is recorded, and
 * where no trigger of the application does: else the child is never exact. */
bool tables_read_cascades(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = db_query(mysql,
		"select r.constraint_schema, r.table_name, k.referenced_table_schema, "
		"k.referenced_table_name, k.referenced_column_name, k.column_name, "
		/* Are there sessions in which foreign keys do nothing? */
		"not @@global.foreign_key_checks or @@global.init_connect like "
		"'%" FOREIGN_KEY_CHECKS
		"%' or exists (select 1 from information_schema.routines where "
		"routine_definition like '%" FOREIGN_KEY_CHECKS "%' and routine_schema not in "
		"('sys', 'mysql')) or exists (select 1 from information_schema.triggers where "
		"action_statement like '%" FOREIGN_KEY_CHECKS "%'), "
		"r.delete_rule, r.update_rule in " ACTIONS ", (select count(*) from "
		"information_schema.triggers where left(trigger_name, 7) <> '" TRIGGER_PREFIX
		"' and trigger_schema not in ('sys', 'mysql')), r.delete_rule in " ACTIONS " from "
		"information_schema.referential_constraints r join "
		"information_schema.key_column_usage k on k.constraint_schema = "
		"r.constraint_schema and k.constraint_name = r.constraint_name and k.table_name = "
		"r.table_name where r.delete_rule in " ACTIONS " or r.update_rule in " ACTIONS,
		err);
	MYSQL_ROW row;

	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		struct instrument_table *child =
			instrument_tables_find(tables, span_str(row[0]), span_str(row[1]));
		struct instrument_cascade action = {.on_update = strcmp(row[8], "0") != 0,
			.on_delete = strcmp(row[10], "0") != 0};

		if (!child)
			continue;
		action.followed = row[2] && row[3] && row[4] && is_followed(tables, child, row);
		if ((action.on_update || !action.followed) &&
			(!tables->all_writers || !row[2] || !row[3] || !row[4] ||
				strcmp(row[9], "0") != 0)) {
			child->cascades = true;
			continue;
		}
		action.database = mem_strdup(row[2]);
		action.parent = mem_strdup(row[3]);
		action.column = mem_strdup(row[4]);
		action.child = (uint32_t)(child - tables->list);
		MEM_RESERVE(tables->actions, tables->action_count + 1, tables->action_capacity);
		tables->actions[tables->action_count++] = action;
	}
	mysql_free_result(result);
	return true;
}

/* What is done to rows of a table. */
struct row_change {
	struct span database, name;
	struct span column; /* of an update; SPAN_NONE: any */
	bool deletes, updates;
};

static bool disturb_children(
	const struct instrument_tables *tables, struct row_change what, unsigned depth)
{
	bool any = false;

	for (size_t i = 0; i < tables->action_count && depth; i++) {
		const struct instrument_cascade *action = &tables->actions[i];
		struct instrument_table *child = &tables->list[action->child];
		bool deletes = what.deletes && action->on_delete, updates;

		if (what.database.ptr && (!span_ieq_str(what.database, action->database) ||
						 !span_ieq_str(what.name, action->parent)))
			continue;
		updates = what.updates && action->on_update &&
			  (!what.column.ptr || span_ieq_str(what.column, action->column));
		if (updates || (deletes && !action->followed)) {
			atomic_store(&child->disturbed, true);
			any = true;
		}
		if ((updates || deletes) && what.database.ptr)
			any |= disturb_children(tables,
				(struct row_change){.database = span_str(child->database),
					.name = span_str(child->name),
					.deletes = deletes,
					.updates = updates || !action->followed},
				depth - 1);
	}
	return any;
}

bool instrument_tables_disturb_children(const struct instrument_tables *tables,
	struct span database, struct span name, struct span column)
{
	enum { DEPTH_MAX = 16 }; /* the servers go 15 levels deep */

	return disturb_children(tables,
		(struct row_change){.database = database,
			.name = name,
			.column = column,
			.deletes = !column.ptr,
			.updates = column.ptr || !database.ptr},
		DEPTH_MAX);
}

void instrument_tables_unfollow(const struct instrument_tables *tables)
{
	for (size_t i = 0; i < tables->action_count; i++)
		atomic_store(&tables->list[tables->actions[i].child].disturbed, true);
}
