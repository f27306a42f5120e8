/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/mem.h"
#include "db/query.h"
#include "instrument/recorder_tag.h"
#include "instrument/row_sql.h"
#include "instrument/tables_internal.h"
#include "trace/pack.h"
#include "trace/record.h"

const char *const instrument_mode_words[] = {"off", "trigger", "select", "binlog", NULL};

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

static bool read_case(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = db_query(mysql, "select @@lower_case_table_names", err);
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
	MYSQL_RES *result = db_query(mysql,
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
	result = db_query(mysql, sql.data, err);
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
	return ok && tables_read_functions(tables, mysql, err) &&
	       tables_read_routines(tables, mysql, err) && tables_read_views(tables, mysql, err) &&
	       tables_read_cascades(tables, mysql, err) && tables_note_triggers(tables, mysql, err);
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
	result = db_query(mysql,
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
		mem_free(tables->nodes[i].name);
		mem_free(tables->nodes[i].server);
	}
	mem_free(tables->nodes);
	for (size_t i = 0; i < tables->count; i++)
		instrument_table_release(&tables->list[i]);
	for (size_t i = 0; i < tables->function_count; i++)
		mem_free(tables->functions[i]);
	mem_free(tables->functions);
	for (size_t i = 0; i < tables->routine_count; i++) {
		mem_free(tables->routines[i].database);
		mem_free(tables->routines[i].name);
		mem_free(tables->routines[i].body);
	}
	mem_free(tables->routines);
	for (size_t i = 0; i < tables->view_count; i++) {
		mem_free(tables->views[i].database);
		mem_free(tables->views[i].name);
		mem_free(tables->views[i].definition);
		mem_free(tables->views[i].columns);
	}
	mem_free(tables->views);
	for (size_t i = 0; i < tables->action_count; i++) {
		mem_free(tables->actions[i].database);
		mem_free(tables->actions[i].parent);
		mem_free(tables->actions[i].column);
	}
	mem_free(tables->actions);
	predicates_free(tables->predicates);
	tag_release(tables);
	mem_free(tables->list);
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
