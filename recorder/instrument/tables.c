/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/mem.h"
#include "instrument/recorder_tag.h"
#include "instrument/trigger_log.h"
#include "sql/sql.h"
#include "sql/text/raw_token.h"
#include "trace/pack.h"
#include "trace/record.h"
#include "trace/value.h"

enum { CHARSET_UTF8MB4 = 45 };

const char *const instrument_mode_words[] = {"off", "trigger", "select", NULL};

/* ---- asking ---- */

MYSQL_RES *instrument_query(MYSQL *mysql, const char *sql, struct err *err)
{
	MYSQL_RES *result = NULL;

	if (mysql_query(mysql, sql) == 0)
		result = mysql_store_result(mysql);
	if (!result)
		err_set(err, ERR_SERVER, "%.200s: %s", sql, mysql_error(mysql));
	return result;
}

bool instrument_execute(MYSQL *mysql, const char *sql, struct err *err)
{
	if (mysql_query(mysql, sql))
		return err_set(err, ERR_SERVER, "%.200s: %s", sql, mysql_error(mysql));
	return true;
}

/* As hexadecimal digits: the same in every sql_mode and character set. */
void instrument_add_string(struct buf *out, struct span text)
{
	buf_add_str(out, "_utf8mb4 X'");
	for (size_t i = 0; i < text.len; i++)
		buf_printf(out, "%02X", (unsigned)(unsigned char)text.ptr[i]);
	buf_add_char(out, '\'');
}

/* ---- columns ---- */

struct type_row {
	const char *name;
	enum column_kind kind;
	uint8_t wire;
};

static const struct type_row types[] = {
	{"tinyint", COLUMN_NUMBER, TYPE_LONGLONG},
	{"smallint", COLUMN_NUMBER, TYPE_LONGLONG},
	{"mediumint", COLUMN_NUMBER, TYPE_LONGLONG},
	{"int", COLUMN_NUMBER, TYPE_LONGLONG},
	{"bigint", COLUMN_NUMBER, TYPE_LONGLONG},
	{"year", COLUMN_NUMBER, TYPE_LONGLONG},
	{"float", COLUMN_REAL, TYPE_FLOAT},
	{"double", COLUMN_REAL, TYPE_DOUBLE},
	{"decimal", COLUMN_DECIMAL, TYPE_NEWDECIMAL},
	{"date", COLUMN_TIME, TYPE_DATE},
	{"time", COLUMN_TIME, TYPE_TIME},
	{"datetime", COLUMN_TIME, TYPE_DATETIME},
	{"timestamp", COLUMN_TIMESTAMP, TYPE_TIMESTAMP},
	{"bit", COLUMN_BIT, TYPE_BIT},
	{"char", COLUMN_TEXT, TYPE_VAR_STRING},
	{"varchar", COLUMN_TEXT, TYPE_VAR_STRING},
	{"tinytext", COLUMN_TEXT, TYPE_VAR_STRING},
	{"text", COLUMN_TEXT, TYPE_VAR_STRING},
	{"mediumtext", COLUMN_TEXT, TYPE_VAR_STRING},
	{"longtext", COLUMN_TEXT, TYPE_VAR_STRING},
	{"enum", COLUMN_ENUM, TYPE_VAR_STRING},
	{"set", COLUMN_ENUM, TYPE_VAR_STRING},
	{"binary", COLUMN_BYTES, TYPE_VAR_STRING},
	{"varbinary", COLUMN_BYTES, TYPE_VAR_STRING},
	{"tinyblob", COLUMN_BYTES, TYPE_VAR_STRING},
	{"blob", COLUMN_BYTES, TYPE_VAR_STRING},
	{"mediumblob", COLUMN_BYTES, TYPE_VAR_STRING},
	{"longblob", COLUMN_BYTES, TYPE_VAR_STRING},
	{"json", COLUMN_JSON, TYPE_JSON},
	{"geometry", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"point", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"linestring", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"polygon", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"multipoint", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"multilinestring", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"multipolygon", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"geometrycollection", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"geomcollection", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"vector", COLUMN_GEOMETRY, TYPE_VAR_STRING},
};

/* (name, data type, bits, extra, digits of the fraction) of information_schema.columns. */
static void column_fill(struct instrument_column *column, MYSQL_ROW row, bool mariadb)
{
	struct type_row type = {"", COLUMN_OTHER, TYPE_VAR_STRING};
	bool bytes;

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (row[1] && strcasecmp(types[i].name, row[1]) == 0)
			type = types[i];
	bytes = type.kind == COLUMN_BYTES || type.kind == COLUMN_GEOMETRY;
	*column = (struct instrument_column){
		.name = mem_strdup(row[0]),
		.kind = type.kind,
		.wire = {.type = type.wire,
			.charset = (uint16_t)(bytes ? CHARSET_BINARY : CHARSET_UTF8MB4),
			.length = row[2] ? (uint32_t)strtoul(row[2], NULL, 10) : 0},
		.generated = row[3] && strcasestr(row[3], "GENERATED") &&
			     !strcasestr(row[3], "DEFAULT_GENERATED"),
		.counts = row[3] && strcasestr(row[3], "auto_increment"),
		.renewed = mariadb && row[3] && strcasestr(row[3], "on update "),
		.decimals = (uint8_t)(row[4] ? strtoul(row[4], NULL, 10) : 0),
	};
}

static void add_where(
	struct buf *sql, const struct instrument_table *t, const char *schema, const char *table)
{
	buf_printf(sql, " where %s = ", schema);
	instrument_add_string(sql, span_str(t->database));
	buf_printf(sql, " and %s = ", table);
	instrument_add_string(sql, span_str(t->name));
}

static bool read_columns(struct instrument_table *t, MYSQL *mysql, struct err *err)
{
	bool mariadb = strstr(mysql_get_server_info(mysql), "MariaDB") != NULL;
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql, "select column_name, data_type, numeric_precision, extra, "
			  "datetime_precision from information_schema.columns");
	add_where(&sql, t, "table_schema", "table_name");
	buf_add_str(&sql, " order by ordinal_position");
	result = instrument_query(mysql, sql.data, err);
	buf_release(&sql);
	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		if (strcmp(row[0], VERSION_COLUMN) == 0) {
			t->for_select = strcasecmp(row[1], "bigint") != 0;
			continue;
		}
		MEM_RESERVE(t->columns, t->column_count + 1, t->column_capacity);
		column_fill(&t->columns[t->column_count++], row, mariadb);
		t->renews |= t->columns[t->column_count - 1].renewed;
	}
	mysql_free_result(result);
	return true;
}

static uint32_t find_column(const struct instrument_table *t, const char *name)
{
	for (uint32_t i = 0; name && i < t->column_count; i++)
		if (strcasecmp(t->columns[i].name, name) == 0)
			return i;
	return INSTRUMENT_NO_NUMBER;
}

static bool read_key(struct instrument_table *t, MYSQL *mysql, struct err *err)
{
	struct buf sql = BUF_INIT;
	uint32_t key = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql,
		"select column_name, index_name, seq_in_index from information_schema.statistics");
	add_where(&sql, t, "table_schema", "table_name");
	buf_add_str(&sql, " and non_unique = 0 order by index_name, seq_in_index");
	result = instrument_query(mysql, sql.data, err);
	buf_release(&sql);
	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL && t->key_count < INSTRUMENT_KEY_MAX) {
		uint32_t column = find_column(t, row[0]);

		if (!row[1] || strcmp(row[1], "PRIMARY") != 0) {
			key += row[2] && strcmp(row[2], "1") == 0;
			MEM_RESERVE(t->uniques, t->unique_count + 1, t->unique_capacity);
			t->uniques[t->unique_count++] = (struct instrument_unique){key, column};
		} else if (column != INSTRUMENT_NO_NUMBER) {
			t->columns[column].key = true;
			t->key[t->key_count++] = column;
		}
	}
	mysql_free_result(result);
	t->auto_key = t->key_count == 1 && t->columns[t->key[0]].counts;
	return true;
}

#define REWRITES "('SET NULL', 'SET DEFAULT')"
#define ACTIONS  "('CASCADE', 'SET NULL', 'SET DEFAULT')"

static bool read_follows(struct instrument_table *t, MYSQL *mysql, struct err *err)
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql, "select delete_rule in " REWRITES " or update_rule in " ACTIONS
			  " from information_schema.referential_constraints");
	add_where(&sql, t, "constraint_schema", "table_name");
	buf_add_str(&sql, " and (delete_rule in " ACTIONS " or update_rule in " ACTIONS ")");
	result = instrument_query(mysql, sql.data, err);
	buf_release(&sql);
	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		t->follows = true;
		t->rewritten |= row[0] && strcmp(row[0], "0") != 0;
	}
	mysql_free_result(result);
	return true;
}

bool instrument_table_describe(struct instrument_table *table, MYSQL *mysql, struct err *err)
{
	struct buf name = BUF_INIT;

	log_add_table(&name, table);
	table->log_name = mem_strdup(name.data);
	buf_release(&name);
	return read_columns(table, mysql, err) && read_key(table, mysql, err) &&
	       read_follows(table, mysql, err);
}

void instrument_table_release(struct instrument_table *t)
{
	for (size_t i = 0; i < t->column_count; i++)
		free(t->columns[i].name);
	free(t->columns);
	free(t->uniques);
	free(t->database);
	free(t->name);
	free(t->log_name);
	*t = (struct instrument_table){.number = INSTRUMENT_NO_NUMBER};
}

/* ---- all tables ---- */

bool instrument_tables_init(struct instrument_tables *tables, enum instrument_mode mode,
	bool all_writers, bool predicates, struct err *err)
{
	uint32_t random;

	*tables = (struct instrument_tables){.mode = mode, .all_writers = all_writers};
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_set_errno(err, errno, "getrandom");
	tag_set(tables, 1 + random % INSTRUMENT_TAG_MAX);
	if (predicates)
		tables->predicates = predicates_new();
	/* Rows may still have names from an earlier recording with the same tag. */
	tables->first_mark = (uint64_t)time(NULL) << 20;
	return true;
}

uint64_t instrument_next_mark(const struct instrument_tables *tables)
{
	static atomic_uint_fast64_t given;
	uint64_t number = tables->first_mark + atomic_fetch_add(&given, 1);

	return (uint64_t)tables->tag << VERSION_TAG_SHIFT |
	       (number & ((UINT64_C(1) << VERSION_TAG_SHIFT) - 1));
}

uint32_t instrument_add_variables(const struct instrument_tables *tables, struct buf *pairs)
{
	msgpack_packer pk = pack_into(pairs);

	pack_str(&pk, SPAN_LIT(VERSION_TAG_VARIABLE));
	pack_uint(&pk, tables->tag);
	pack_str(&pk, SPAN_LIT(WRITERS_VARIABLE));
	pack_str(&pk, span_str(tables->all_writers ? WRITERS_ALL : WRITERS_SOME));
	return 2;
}

static int compare_names(
	struct span database, struct span name, const struct instrument_table *table)
{
	int order = span_cmp(database, span_str(table->database));

	return order ? order : span_cmp(name, span_str(table->name));
}

/* Select mode sees only what a statement writes itself: what triggers of the application write
 * beside it, and tables whose rows they change, is not known. */
static bool note_triggers(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = instrument_query(mysql,
		"select event_object_schema, event_object_table, action_statement from "
		"information_schema.triggers where left(trigger_name, 7) <> '" TRIGGER_PREFIX
		"' and trigger_schema not in ('sys', 'mysql')",
		err);
	MYSQL_ROW row;

	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		tables->triggers = true;
		for (size_t i = 0; i < tables->count && tables->mode == INSTRUMENT_SELECT; i++) {
			struct instrument_table *t = &tables->list[i];

			if (text_holds_word(span_str(row[2] ? row[2] : ""), t->name) ||
				(strcmp(row[0], t->database) == 0 && strcmp(row[1], t->name) == 0))
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

/* A row of read_cascades(): does the log tell what the foreign key deletes? */
static bool is_followed(const struct instrument_tables *tables, const struct instrument_table *child,
	MYSQL_ROW row)
{
	const struct instrument_table *parent =
		instrument_tables_find(tables, span_str(row[2]), span_str(row[3]));

	return tables->mode == INSTRUMENT_TRIGGER && strcmp(row[7], "CASCADE") == 0 &&
	       strcmp(row[6], "0") == 0 && parent && is_comparable(parent, row[4]) &&
	       is_comparable(child, row[5]);
}

/* Foreign keys fire no triggers.  Rows that they delete with a prepared one are found by the analyzer.
 * Of other changes it is known who fires them only where every writer is recorded, and where no
 * trigger of the application does: else the child is never exact. */
static bool read_cascades(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = instrument_query(mysql,
		"select r.constraint_schema, r.table_name, k.referenced_table_schema, "
		"k.referenced_table_name, k.referenced_column_name, k.column_name, "
		/* Are there sessions in which foreign keys do nothing? */
		"not @@global.foreign_key_checks or @@global.init_connect like '%" FOREIGN_KEY_CHECKS
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
struct firing {
	struct span database, name;
	struct span column; /* of an update; SPAN_NONE: any */
	bool deletes, updates;
};

static bool fire(const struct instrument_tables *tables, struct firing what, unsigned depth)
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
			any |= fire(tables,
				(struct firing){.database = span_str(child->database),
					.name = span_str(child->name),
					.deletes = deletes,
					.updates = updates || !action->followed},
				depth - 1);
	}
	return any;
}

bool instrument_tables_fire(const struct instrument_tables *tables, struct span database,
	struct span name, struct span column)
{
	enum { DEPTH_MAX = 16 }; /* the servers go 15 levels deep */

	return fire(tables,
		(struct firing){.database = database,
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

/* Words that a body without transaction control does not have, be it in a comment: what ends a
 * transaction, also by implication (manuals, "Statements That Cause an Implicit Commit"); SQL that
 * is not in the text; and what hides an error, whose statement is then undone while its log stays. */
static const char *const mixing_words[] = {"ALTER", "ANALYZE", "AUTOCOMMIT", "BINLOG", "CACHE", "CALL",
	"CHANGE", "CHECK", "COMMIT", "CREATE", "DROP", "EXECUTE", "FLUSH", "GRANT", "HANDLER", "IGNORE",
	"IMMEDIATE", "IMPORT", "INSTALL", "LOAD", "LOCK", "OPTIMIZE", "PREPARE", "RENAME", "REPAIR",
	"RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SHUTDOWN", "START", "STOP", "TRANSACTION",
	"TRUNCATE", "UNINSTALL", "UNLOCK", "XA"};

static bool is_mixing_word(const struct instrument_tables *tables, struct span word)
{
	for (size_t i = 0; i < ARRAY_LEN(mixing_words); i++)
		if (span_ieq_str(word, mixing_words[i]))
			return true;
	for (size_t i = 0; i < tables->function_count; i++)
		if (span_ieq_str(word, tables->functions[i]))
			return true;
	return false;
}

static bool is_whole_body(const struct instrument_tables *tables, const char *body)
{
	struct span rest = span_str(body), word;

	while (raw_take_word(&rest, &word))
		if (is_mixing_word(tables, word))
			return false;
	return true;
}

static bool read_routines(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = instrument_query(mysql,
		"select routine_schema, routine_name, routine_definition from "
		"information_schema.routines where routine_type = 'PROCEDURE' and routine_schema "
		"not in ('mysql', 'sys') and routine_definition is not null",
		err);
	MYSQL_ROW row;

	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		if (!is_whole_body(tables, row[2]))
			continue;
		MEM_RESERVE(tables->routines, tables->routine_count + 1, tables->routine_capacity);
		tables->routines[tables->routine_count++] = (struct instrument_routine){
			mem_strdup(row[0]), mem_strdup(row[1]), mem_strdup(row[2])};
	}
	mysql_free_result(result);
	return true;
}

static bool read_view_columns(struct instrument_view *view, MYSQL *mysql, struct err *err)
{
	struct buf sql = BUF_INIT, names = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql, "select column_name from information_schema.columns where table_schema = ");
	instrument_add_string(&sql, span_str(view->database));
	buf_add_str(&sql, " and table_name = ");
	instrument_add_string(&sql, span_str(view->name));
	buf_add_str(&sql, " order by ordinal_position");
	result = instrument_query(mysql, sql.data, err);
	buf_release(&sql);
	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL)
		buf_add(&names, row[0], strlen(row[0]) + 1);
	mysql_free_result(result);
	view->columns_len = names.len;
	view->columns = names.data; /* and the view has it now */
	return true;
}

static bool read_views(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = instrument_query(mysql,
		"select table_schema, table_name, view_definition from information_schema.views "
		"where table_schema not in ('mysql', 'sys', 'information_schema', "
		"'performance_schema')",
		err);
	MYSQL_ROW row;
	bool ok = true;

	if (!result)
		return false;
	while (ok && (row = mysql_fetch_row(result)) != NULL) {
		struct instrument_view *view;

		MEM_RESERVE(tables->views, tables->view_count + 1, tables->view_capacity);
		view = &tables->views[tables->view_count++];
		*view = (struct instrument_view){.database = mem_strdup(row[0]),
			.name = mem_strdup(row[1]),
			.definition = row[2] ? mem_strdup(row[2]) : NULL};
		ok = read_view_columns(view, mysql, err);
	}
	mysql_free_result(result);
	return ok;
}

const struct instrument_routine *instrument_routine_find(
	const struct instrument_tables *tables, struct span database, struct span name)
{
	for (size_t i = 0; i < tables->routine_count && !atomic_load(&tables->routines_changed); i++)
		if (span_ieq_str(database, tables->routines[i].database) &&
			span_ieq_str(name, tables->routines[i].name))
			return &tables->routines[i];
	return NULL;
}

static bool read_functions(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = instrument_query(mysql,
		"select distinct routine_name from information_schema.routines where "
		"routine_type = 'FUNCTION' and routine_schema not in ('mysql', 'sys')",
		err);
	MYSQL_ROW row;

	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		MEM_RESERVE(
			tables->functions, tables->function_count + 1, tables->function_capacity);
		tables->functions[tables->function_count++] = mem_strdup(row[0]);
	}
	mysql_free_result(result);
	return true;
}

/* 1: names are stored in lower case, 2: as they were given; both are compared in lower case. */
static bool read_case(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = instrument_query(mysql, "select @@lower_case_table_names", err);
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;

	tables->any_case = row && row[0] && strcmp(row[0], "0") != 0;
	mysql_free_result(result);
	return result != NULL;
}

/* Galera: a transaction that another node's write set meets is rolled back at once, and its session
 * is told at its next command, whatever that is.  (Group Replication tells it only where a table is
 * used, or at COMMIT.) */
static bool read_galera(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = instrument_query(mysql,
		"show global variables where variable_name = 'wsrep_on' and value = 'ON'", err);

	tables->galera = result && mysql_num_rows(result) > 0;
	mysql_free_result(result);
	return result != NULL;
}

static bool is_recorded(const struct instrument_tables *tables, const char *database)
{
	for (size_t i = 0; i < tables->database_count; i++)
		if (strcmp(tables->databases[i], database) == 0)
			return true;
	return !tables->database_count;
}

bool instrument_tables_load(
	struct instrument_tables *tables, MYSQL *mysql, const char *database, struct err *err)
{
	bool select = tables->mode == INSTRUMENT_SELECT;
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool ok = true;

	snprintf(tables->version, sizeof(tables->version), "%s", mysql_get_server_info(mysql));
	if (!read_case(tables, mysql, err) || !read_galera(tables, mysql, err))
		return false;
	buf_add_str(&sql,
		"select table_schema, table_name from information_schema.columns where "
		"column_name = '" VERSION_COLUMN "' and column_comment = '" VERSION_COMMENT "'");
	if (database) {
		buf_add_str(&sql, " and table_schema = ");
		instrument_add_string(&sql, span_str(database));
	}
	buf_add_str(&sql, " order by binary table_schema, binary table_name");
	result = instrument_query(mysql, sql.data, err);
	buf_release(&sql);
	if (!result)
		return false;
	while (ok && (row = mysql_fetch_row(result)) != NULL &&
		tables->count < INSTRUMENT_TABLES_MAX) {
		struct instrument_table *t;

		MEM_RESERVE(tables->list, tables->count + 1, tables->capacity);
		t = &tables->list[tables->count++];
		*t = (struct instrument_table){.number = INSTRUMENT_NO_NUMBER,
			.database = mem_strdup(row[0]),
			.name = mem_strdup(row[1])};
		ok = instrument_table_describe(t, mysql, err);
		if (ok && t->for_select != select && !is_recorded(tables, t->database)) {
			instrument_table_release(t);
			tables->count--;
		} else if (ok && t->for_select != select) {
			ok = err_set(err, ERR_UNSUPPORTED,
				"%s.%s is prepared for %s mode: isorec unprepare, then isorec "
				"prepare --mode %s",
				t->database, t->name,
				instrument_mode_words[select ? INSTRUMENT_TRIGGER
							     : INSTRUMENT_SELECT],
				instrument_mode_words[tables->mode]);
		}
	}
	mysql_free_result(result);
	return ok && read_functions(tables, mysql, err) && read_routines(tables, mysql, err) &&
	       read_views(tables, mysql, err) && read_cascades(tables, mysql, err) &&
	       note_triggers(tables, mysql, err);
}

/* UUID_SHORT(): 8 bits of the server id, the second in which the server started, 24 bits that count
 * (manuals of both). */
bool instrument_tables_add_node(
	struct instrument_tables *tables, MYSQL *mysql, const char *name, struct err *err)
{
	MYSQL_RES *result;
	MYSQL_ROW row;
	uint64_t range;

	if (tables->mode != INSTRUMENT_TRIGGER)
		return true;
	result = instrument_query(mysql, 
		"select uuid_short() >> 24, @@server_id, "
		"concat(@@hostname, ' ', @@port, ' ', @@datadir)",
		err);
	row = result ? mysql_fetch_row(result) : NULL;
	if (!row || !row[0] || !row[2]) {
		mysql_free_result(result);
		return result ? err_set(err, ERR_UNSUPPORTED, "node %s has no UUID_SHORT()", name)
			      : false;
	}
	range = strtoull(row[0], NULL, 10);
	for (size_t i = 0; i < tables->node_count; i++) {
		if (tables->nodes[i].range != range ||
			strcmp(tables->nodes[i].server, row[2]) == 0)
			continue;
		err_set(err, ERR_UNSUPPORTED,
			"nodes %s and %s have the same server_id (%s) and started in the same "
			"second: their triggers would give two versions one name; give them server "
			"ids of their own, or restart one of them",
			tables->nodes[i].name, name, row[1] ? row[1] : "?");
		mysql_free_result(result);
		return false;
	}
	MEM_RESERVE(tables->nodes, tables->node_count + 1, tables->node_capacity);
	tables->nodes[tables->node_count++] =
		(struct instrument_node){mem_strdup(name), mem_strdup(row[2]), range};
	mysql_free_result(result);
	return true;
}

void instrument_tables_release(struct instrument_tables *tables)
{
	for (size_t i = 0; i < tables->node_count; i++) {
		free(tables->nodes[i].name);
		free(tables->nodes[i].server);
	}
	free(tables->nodes);
	for (size_t i = 0; i < tables->count; i++)
		instrument_table_release(&tables->list[i]);
	for (size_t i = 0; i < tables->function_count; i++)
		free(tables->functions[i]);
	free(tables->functions);
	for (size_t i = 0; i < tables->routine_count; i++) {
		free(tables->routines[i].database);
		free(tables->routines[i].name);
		free(tables->routines[i].body);
	}
	free(tables->routines);
	for (size_t i = 0; i < tables->view_count; i++) {
		free(tables->views[i].database);
		free(tables->views[i].name);
		free(tables->views[i].definition);
		free(tables->views[i].columns);
	}
	free(tables->views);
	for (size_t i = 0; i < tables->action_count; i++) {
		free(tables->actions[i].database);
		free(tables->actions[i].parent);
		free(tables->actions[i].column);
	}
	free(tables->actions);
	predicates_free(tables->predicates);
	tag_release(tables);
	free(tables->list);
	*tables = (struct instrument_tables){0};
}

struct instrument_table *instrument_tables_find(
	const struct instrument_tables *tables, struct span database, struct span name)
{
	size_t low = 0, high = tables->count;

	for (size_t i = 0; tables->any_case && i < tables->count; i++) {
		struct instrument_table *t = &tables->list[i];

		if (span_ieq(name, span_str(t->name)) && span_ieq(database, span_str(t->database)))
			return t;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_names(database, name, &tables->list[middle]);

		if (order == 0)
			return &tables->list[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* ---- values as text ---- */

static void add_field(struct buf *out, const struct instrument_column *column, const char *row)
{
	buf_printf(out, "%s.", row);
	sql_print_name(span_str(column->name), out);
}

/* Hexadecimal digits of what `before` and `behind` make of the field; or its length and digest. */
static void add_hex(struct buf *out, const struct instrument_column *column, const char *row,
	const char *before, const char *behind)
{
	bool may_be_long = column->kind != COLUMN_ENUM && !column->key;

	if (may_be_long) {
		buf_add_str(out, "IF(OCTET_LENGTH(");
		buf_add_str(out, before);
		add_field(out, column, row);
		buf_printf(out, "%s)>%d,CONCAT('C',OCTET_LENGTH(%s", behind,
			(int)INSTRUMENT_LONG_VALUE, before);
		add_field(out, column, row);
		buf_printf(out, "%s),':',LEFT(SHA2(%s", behind, before);
		add_field(out, column, row);
		buf_printf(out, "%s,256),16)),", behind);
	}
	buf_printf(out, "IFNULL(HEX(%s", before);
	add_field(out, column, row);
	buf_printf(out, "%s),'N')%s", behind, may_be_long ? ")" : "");
}

void instrument_add_value(struct buf *out, const struct instrument_column *column, const char *row)
{
	switch (column->kind) {
	case COLUMN_NUMBER:
	case COLUMN_REAL:
	case COLUMN_DECIMAL:
	case COLUMN_TIME:
	case COLUMN_TIMESTAMP:
		buf_add_str(out, "IFNULL(");
		add_field(out, column, row);
		buf_add_str(out, ",'N')");
		return;
	case COLUMN_BIT:
		buf_add_str(out, "IFNULL(");
		add_field(out, column, row);
		buf_add_str(out, "+0,'N')");
		return;
	case COLUMN_TEXT:
	case COLUMN_ENUM:
		add_hex(out, column, row, "CONVERT(", " USING utf8mb4)");
		return;
	case COLUMN_BYTES:
	case COLUMN_GEOMETRY:
		add_hex(out, column, row, "", "");
		return;
	case COLUMN_JSON:
	case COLUMN_OTHER:
		add_hex(out, column, row, "CAST(", " AS CHAR CHARACTER SET utf8mb4)");
		return;
	}
}

void instrument_add_key(struct buf *out, const struct instrument_table *table, const char *row)
{
	for (size_t i = 0; i < table->key_count; i++) {
		if (i)
			buf_add_str(out, ",',',");
		instrument_add_value(out, &table->columns[table->key[i]], row);
	}
}

void instrument_add_whole(struct buf *out, const struct instrument_table *table, const char *row)
{
	buf_add_str(out, "cast(concat(");
	for (size_t i = 0; i < table->column_count; i++) {
		buf_add_str(out, i ? ",','," : "");
		instrument_add_value(out, &table->columns[i], row);
	}
	/* Character sets of columns, literals and the session do not always mix. */
	buf_printf(out, ",'|',cast(%s." VERSION_COLUMN " as binary)) as binary)", row);
}

/* All columns of a table that is not instrumented: * leaves out those that are invisible. */
static void add_all_columns(struct buf *out, MYSQL *mysql, struct span name)
{
	struct buf sql = BUF_INIT, list = BUF_INIT;
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;
	bool invisible = false;

	buf_add_str(&sql, "show columns from ");
	buf_add_span(&sql, name);
	if (mysql_query(mysql, sql.data) == 0)
		result = mysql_store_result(mysql);
	while (result && (row = mysql_fetch_row(result))) {
		enum { FIELD = 0, EXTRA = 5 };

		invisible |= row[EXTRA] && strcasestr(row[EXTRA], "invisible");
		buf_add_str(&list, list.len ? ", " : "");
		sql_print_name(span_str(row[FIELD]), &list);
	}
	if (invisible)
		buf_add_span(out, buf_span(&list));
	else
		buf_add_char(out, '*');
	mysql_free_result(result);
	buf_release(&list);
	buf_release(&sql);
}

static void add_plain_select(
	struct buf *out, MYSQL *mysql, const struct instrument_table *table, struct span name)
{
	buf_add_str(out, "select ");
	for (size_t i = 0; table && i < table->column_count; i++) {
		sql_print_name(span_str(table->columns[i].name), out);
		buf_add_str(out, ", ");
	}
	if (table)
		buf_add_str(out, VERSION_COLUMN);
	else
		add_all_columns(out, mysql, name);
	buf_add_str(out, " from ");
	buf_add_span(out, name);
}

static bool has_float(MYSQL_RES *result)
{
	for (unsigned i = 0; i < mysql_num_fields(result); i++) {
		if (mysql_fetch_field_direct(result, i)->type == MYSQL_TYPE_FLOAT)
			return true;
	}
	return false;
}

void instrument_add_select(
	struct buf *out, MYSQL *mysql, const struct instrument_table *table, struct span name)
{
	struct buf sql = BUF_INIT;
	struct span plain;
	MYSQL_RES *result = NULL;

	add_plain_select(&sql, mysql, table, name);
	buf_add_str(&sql, " limit 0");
	plain = span_of(sql.data, sql.len - strlen(" limit 0"));
	if (mysql_query(mysql, sql.data) == 0)
		result = mysql_store_result(mysql);
	if (!result || !has_float(result)) {
		buf_add_span(out, plain); /* what is wrong will be said then */
		mysql_free_result(result);
		buf_release(&sql);
		return;
	}
	buf_release(&sql);
	for (unsigned i = 0; i < mysql_num_fields(result); i++) {
		const MYSQL_FIELD *field = mysql_fetch_field_direct(result, i);
		struct span column = span_of(field->name, field->name_length);

		buf_add_str(out, i ? ", " : "select ");
		sql_print_name(column, out);
		if (field->type == MYSQL_TYPE_FLOAT) {
			buf_add_str(out, " * 1e0 as ");
			sql_print_name(column, out);
		}
	}
	buf_add_str(out, " from ");
	buf_add_span(out, name);
	mysql_free_result(result);
}

void instrument_add_create(struct buf *out, struct span text)
{
	static const char ours[] = "  `" VERSION_COLUMN "`";
	size_t start = out->len;

	while (text.len) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;

		if (len < sizeof(ours) || memcmp(text.ptr, ours, sizeof(ours) - 1) != 0) {
			if (out->len > start)
				buf_add_char(out, '\n');
			buf_add(out, text.ptr, len);
		}
		text = end ? span_of(end + 1, text.len - len - 1) : SPAN_LIT("");
	}
}

bool instrument_pack_version(struct buf *out, struct span digits)
{
	msgpack_packer pk = pack_into(out);
	uint64_t value = 0;

	const char *slash = digits.len ? memchr(digits.ptr, '/', digits.len) : NULL;

	if (slash)
		digits.len = (size_t)(slash - digits.ptr);
	if (!digits.len || digits.len > 20)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		unsigned digit = (unsigned)(unsigned char)digits.ptr[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return false;
	}
	pack_uint(&pk, value);
	return true;
}

bool instrument_add_unhex(struct buf *out, struct span digits)
{
	if (digits.len % 2)
		return false;
	for (size_t i = 0; i < digits.len; i += 2) {
		int high = char_hex_value(digits.ptr[i]), low = char_hex_value(digits.ptr[i + 1]);

		if (high < 0 || low < 0)
			return false;
		buf_add_char(out, (char)(high << 4 | low));
	}
	return true;
}

/* C, length, ':', 16 digits: VALUE_CUT without any of its bytes. */
static bool pack_long(struct buf *out, struct span text)
{
	msgpack_packer pk = pack_into(out);
	struct buf body = BUF_INIT;
	uint64_t length = 0;
	size_t i = 1;
	bool ok;

	for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && i < 20; i++)
		length = length * 10 + (uint64_t)(text.ptr[i] - '0');
	if (i + 17 != text.len || text.ptr[i] != ':')
		return false;
	for (int k = 0; k < 8; k++)
		buf_add_char(&body, (char)(length >> (56 - 8 * k)));
	ok = instrument_add_unhex(&body, span_of(text.ptr + i + 1, 16));
	if (ok) {
		msgpack_pack_ext(&pk, body.len, VALUE_CUT);
		msgpack_pack_ext_body(&pk, body.data, body.len);
	}
	buf_release(&body);
	return ok;
}

static bool pack_bits(struct buf *out, const struct instrument_column *column, struct span text,
	const struct values_limits *limits)
{
	uint64_t value = 0;
	char bytes[8];
	size_t size = (column->wire.length + 7) / 8;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9' || i >= 20)
			return false;
		value = value * 10 + (uint64_t)(text.ptr[i] - '0');
	}
	size = size == 0 ? 1 : size > 8 ? 8 : size;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(value >> (8 * (size - 1 - i)));
	values_pack_text(out, &column->wire, span_of(bytes, size), limits);
	return true;
}

bool instrument_pack_value(struct buf *out, const struct instrument_column *column,
	struct span text, const struct values_limits *limits)
{
	struct buf bytes = BUF_INIT;
	bool ok;

	if (span_eq_str(text, "N")) {
		values_pack_text(out, &column->wire, SPAN_NONE, limits);
		return true;
	}
	switch (column->kind) {
	case COLUMN_NUMBER:
	case COLUMN_REAL:
	case COLUMN_DECIMAL:
	case COLUMN_TIME:
	case COLUMN_TIMESTAMP:
		values_pack_text(out, &column->wire, text, limits);
		return text.len != 0;
	case COLUMN_BIT:
		return pack_bits(out, column, text, limits);
	case COLUMN_TEXT:
	case COLUMN_ENUM:
	case COLUMN_BYTES:
	case COLUMN_GEOMETRY:
	case COLUMN_JSON:
	case COLUMN_OTHER:
		break;
	}
	/* No hexadecimal digits of whole bytes begin with C and have a colon. */
	if (text.len > 17 && text.ptr[0] == 'C' && text.ptr[text.len - 17] == ':')
		return pack_long(out, text);
	ok = instrument_add_unhex(&bytes, text);
	if (ok)
		values_pack_text(out, &column->wire, buf_span(&bytes), limits);
	buf_release(&bytes);
	return ok;
}
