/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/prepare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/siphash.h"
#include "db/query.h"
#include "instrument/row_sql.h"
#include "instrument/trigger_log.h"
#include "server/flavour.h"
#include "sql/sql.h"

/* The recorder's tag, the node, and 44 bits of UUID_SHORT(): a counter that begins with the time of
 * the server's start. */
#define NEW_VERSION_SQL                                                                            \
	"(ifnull(cast(" TAG_VARIABLE " as unsigned), 0) << 52) | ((@@server_id & 255) << 44) | "   \
	"(uuid_short() & 17592186044415)"

/* In select mode the recorder gives the name; a statement that writes a row twice makes one
 * version. As bytes: character sets of variables, columns and literals do not always mix. */
#define NEW_MARK_SQL "cast(ifnull(" MARK_VARIABLE ", " NEW_VERSION_SQL ") as binary)"
#define OLD_MARK_SQL "cast(substring_index(OLD." VERSION_COLUMN ", '/', 1) as binary)"

enum { NAME_MAX_LEN = 64, WHY_SIZE = 400 };

struct preparer {
	MYSQL *mysql;
	const struct prepare_options *options;
	struct prepare_summary *summary;
	struct err *err;
	uint64_t log_max; /* bytes of a log; more and the server could not send it */
	bool mariadb;
};

static void outcome(struct preparer *p, const struct instrument_table *t,
	enum prepare_outcome outcome, const char *why)
{
	switch (outcome) {
	case PREPARE_DONE:
		p->summary->done++;
		break;
	case PREPARE_ALREADY:
		p->summary->already++;
		break;
	case PREPARE_SKIPPED:
		p->summary->skipped++;
		break;
	case PREPARE_REFUSED:
		p->summary->refused++;
		break;
	}
	if (p->options->tell)
		p->options->tell(p->options->ctx, t->database, t->name, outcome, why);
}

static bool execute(struct preparer *p, const struct instrument_table *t, const struct buf *sql)
{
	if (p->options->dry_run) {
		if (p->options->tell_sql)
			p->options->tell_sql(p->options->ctx, sql->data);
		return true;
	}
	if (db_send_bytes(p->mysql, sql->data, sql->len) == 0)
		return true;
	return err_set(p->err, ERR_SERVER, "table %s.%s: %.200s: error %u: %s", t->database,
		t->name, sql->data, mysql_errno(p->mysql), mysql_error(p->mysql));
}

static void add_table(struct buf *sql, const struct instrument_table *t)
{
	sql_print_name(span_str(t->database), sql);
	buf_add_char(sql, '.');
	sql_print_name(span_str(t->name), sql);
}

/* ---- the server ---- */

static bool one_number(struct preparer *p, const char *sql, uint64_t *out)
{
	MYSQL_RES *result = db_query(p->mysql, sql, p->err);
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;

	if (!result)
		return false;
	*out = row && row[0] ? strtoull(row[0], NULL, 10) : 0;
	mysql_free_result(result);
	return true;
}

/* The server's version as one number: 101119, 90704. */
static bool check_server(struct preparer *p)
{
	const char *info = mysql_get_server_info(p->mysql);
	unsigned long version = mysql_get_server_version(p->mysql);
	uint64_t packet, statement;

	p->mariadb = server_release_of(span_str(info)).flavour == SERVER_MARIADB;
	if (p->mariadb ? version < 100300 : version < 80023)
		return err_set(p->err, ERR_UNSUPPORTED,
			"server %s has no invisible columns: instrumentation needs MariaDB 10.3 or "
			"MySQL 8.0.23, or later ones; it can be recorded without",
			info);
	/* In trigger bodies '' and "" and backslashes shall mean one thing. */
	if (!db_execute(p->mysql, "set session sql_mode = ''", p->err) ||
		!one_number(p, "select @@global.max_allowed_packet", &packet) ||
		!one_number(p, "select @@global.log_bin and @@global.binlog_format = 'STATEMENT'",
			&statement))
		return false;
	if (statement)
		return err_set(p->err, ERR_UNSUPPORTED,
			"binlog_format is STATEMENT: versions differ between a server and its "
			"replicas "
			"then; set it to MIXED or ROW");
	p->log_max = packet / 4 < INSTRUMENT_LOG_MAX ? packet / 4 : INSTRUMENT_LOG_MAX;
	return true;
}

/* ---- triggers ---- */

/* Names are unique in a database; long ones are cut and get a digest. */
static void add_trigger_name(struct buf *sql, const struct instrument_table *t, const char *event)
{
	struct buf name = BUF_INIT;
	struct span table = span_str(t->name);

	buf_printf(&name, TRIGGER_PREFIX "%s_", event);
	if (name.len + table.len <= NAME_MAX_LEN / 4) { /* in characters it is no more */
		buf_add_span(&name, table);
	} else {
		for (size_t i = 0; i < table.len && i < 30; i++) {
			char c = table.ptr[i];
			bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				    (c >= '0' && c <= '9');

			buf_add_char(&name, fine ? c : '_');
		}
		buf_printf(&name, "_%016" PRIx64, siphash_digest(table.ptr, table.len));
	}
	sql_print_name(span_str(t->database), sql);
	buf_add_char(sql, '.');
	sql_print_name(buf_span(&name), sql);
	buf_release(&name);
}

static void begin_trigger(
	struct buf *sql, const struct instrument_table *t, const char *name, const char *event)
{
	buf_clear(sql);
	buf_add_str(sql, "create trigger ");
	add_trigger_name(sql, t, name);
	buf_printf(sql, " %s on ", event);
	add_table(sql, t);
	buf_add_str(sql, " for each row ");
}

/* MariaDB has set ON UPDATE CURRENT_TIMESTAMP columns when a BEFORE UPDATE trigger runs, and leaves the
 * row as it was if nothing else has changed (seen on 10.5, 10.11, 11.8).  A statement that sets one to that very
 * moment itself, and nothing else, changes the row, and the trigger cannot tell:
 * instrument_take_log compares the counts. */
static void add_renewed(struct buf *sql, const struct instrument_column *column)
{
	buf_add_str(sql, " or NEW.");
	sql_print_name(span_str(column->name), sql);
	buf_printf(sql, " <=> CURRENT_TIMESTAMP(%u))", column->decimals);
}

/* Whether the server would find the column changed: it compares the bytes of the record. */
static void add_same(struct buf *sql, const struct instrument_column *column)
{
	static const char *const rows[] = {"NEW.", "OLD."};
	const char *before = "", *behind = "";

	switch (column->kind) {
	case COLUMN_NUMBER:
	case COLUMN_DECIMAL:
	case COLUMN_TIME:
	case COLUMN_BIT:
		break;
	case COLUMN_TIMESTAMP: /* two moments may print alike, when clocks are put back */
		before = "UNIX_TIMESTAMP(", behind = ")";
		break;
	case COLUMN_ENUM: /* by number */
		behind = "+0";
		break;
	case COLUMN_REAL: /* 0 and -0 */
	case COLUMN_JSON:
	case COLUMN_OTHER:
		before = "CAST(", behind = " AS CHAR)";
		break;
	case COLUMN_TEXT:
	case COLUMN_BYTES:
		before = "CAST(", behind = " AS BINARY)";
		break;
	case COLUMN_GEOMETRY:
		before = "HEX(", behind = ")";
		break;
	}
	for (int i = 0; i < 2; i++) {
		buf_printf(sql, "%s%s%s", i ? " <=> " : "", before, rows[i]);
		sql_print_name(span_str(column->name), sql);
		buf_add_str(sql, behind);
	}
	if (column->kind == COLUMN_REAL) {
		buf_add_str(sql, " and NEW.");
		sql_print_name(span_str(column->name), sql);
		buf_add_str(sql, " <=> OLD.");
		sql_print_name(span_str(column->name), sql);
	}
}

static bool create_before(struct preparer *p, const struct instrument_table *t, bool hidden_key)
{
	struct buf sql = BUF_INIT;
	bool ok, any = false, marks = p->options->mode == INSTRUMENT_SELECT;

	begin_trigger(&sql, t, "bi", "before insert");
	buf_printf(&sql, "set NEW." VERSION_COLUMN " = %s",
		marks ? "concat(" NEW_MARK_SQL ", '/')" : NEW_VERSION_SQL);
	if (hidden_key)
		buf_add_str(&sql, ", NEW." KEY_COLUMN " = uuid_short()");
	ok = execute(p, t, &sql);
	begin_trigger(&sql, t, "bu", "before update");
	buf_add_str(&sql, "begin if not (");
	for (size_t i = 0; i < t->column_count; i++) {
		if (t->columns[i].generated)
			continue;
		if (any)
			buf_add_str(&sql, " and ");
		any = true;
		buf_add_str(&sql, t->columns[i].renewed ? "(" : "");
		add_same(&sql, &t->columns[i]);
		if (t->columns[i].renewed)
			add_renewed(&sql, &t->columns[i]);
	}
	if (marks)
		buf_add_str(
			&sql, ") and not (" OLD_MARK_SQL " <=> cast(" MARK_VARIABLE " as binary)");
	buf_printf(&sql, ") then set NEW." VERSION_COLUMN " = %s; end if; end",
		marks ? "concat(" NEW_MARK_SQL ", '/', " OLD_MARK_SQL ")" : NEW_VERSION_SQL);
	ok = ok && execute(p, t, &sql);
	buf_release(&sql);
	return ok;
}

static void add_row(struct buf *sql, const struct instrument_table *t, const char *row)
{
	for (size_t i = 0; i < t->column_count; i++) {
		buf_add_str(sql, i ? ",','," : "");
		instrument_add_value(sql, &t->columns[i], row);
	}
}

/* The statement that appends the entry, whose parts `entry` holds as arguments of CONCAT. Appending
 * copies the string: a short one that spills into a longer one, and that into the longest, keep a
 * long log cheap. */
static void add_append(struct preparer *p, struct buf *sql, const struct buf *entry)
{
	buf_printf(sql,
		"if length(" LOG_VARIABLE ") > %d then set " LOG_MIDDLE_VARIABLE
		" = concat(" LOG_MIDDLE_VARIABLE ", " LOG_VARIABLE "), " LOG_VARIABLE " = ''; "
		"if length(" LOG_MIDDLE_VARIABLE ") > %d then "
		"if length(" LOG_LONG_VARIABLE ") > %" PRIu64 " then set " LOG_LOST_VARIABLE
		" = 1; "
		"else set " LOG_LONG_VARIABLE " = concat(" LOG_LONG_VARIABLE
		", " LOG_MIDDLE_VARIABLE "); end if; set " LOG_MIDDLE_VARIABLE " = ''; "
		"end if; end if; set " LOG_VARIABLE " = concat(" LOG_VARIABLE ", %s);",
		(int)INSTRUMENT_LOG_SHORT, (int)INSTRUMENT_LOG_MIDDLE, p->log_max, entry->data);
}

static void begin_entry(struct buf *entry, const struct instrument_table *t, char letter)
{
	buf_clear(entry);
	buf_printf(entry, "'%c%s|'", letter, t->log_name);
}

static bool create_after(struct preparer *p, const struct instrument_table *t)
{
	static const char guard[] = "begin if " LOG_VARIABLE " is not null then ";
	static const char end[] = " end if; end";
	struct buf sql = BUF_INIT, entry = BUF_INIT;
	bool ok;

	begin_trigger(&sql, t, "ai", "after insert");
	buf_add_str(&sql, guard);
	begin_entry(&entry, t, LOG_INSERT);
	buf_add_str(&entry, ",NEW." VERSION_COLUMN ",'|',");
	add_row(&entry, t, "NEW");
	buf_add_str(&entry, ",'\n'");
	add_append(p, &sql, &entry);
	buf_add_str(&sql, end);
	ok = execute(p, t, &sql);

	begin_trigger(&sql, t, "ad", "after delete");
	buf_add_str(&sql, guard);
	begin_entry(&entry, t, LOG_DELETE);
	buf_add_str(&entry, ",OLD." VERSION_COLUMN ",'|',");
	add_row(&entry, t, "OLD");
	buf_add_str(&entry, ",'\n'");
	add_append(p, &sql, &entry);
	buf_add_str(&sql, end);
	ok = ok && execute(p, t, &sql);

	begin_trigger(&sql, t, "au", "after update");
	buf_add_str(&sql, guard);
	buf_add_str(&sql, "if NEW." VERSION_COLUMN " = OLD." VERSION_COLUMN " then ");
	begin_entry(&entry, t, LOG_LOOKED);
	buf_add_str(&entry, ",OLD." VERSION_COLUMN ",'|',");
	add_row(&entry, t, "OLD");
	buf_add_str(&entry, ",'\n'");
	add_append(p, &sql, &entry);
	buf_add_str(&sql, " else ");
	begin_entry(&entry, t, LOG_UPDATE);
	buf_add_str(&entry, ",OLD." VERSION_COLUMN ",'|',NEW." VERSION_COLUMN ",'|',");
	add_row(&entry, t, "OLD");
	buf_add_str(&entry, ",'|',");
	add_row(&entry, t, "NEW");
	buf_add_str(&entry, ",'\n'");
	add_append(p, &sql, &entry);
	buf_add_str(&sql, " end if;");
	buf_add_str(&sql, end);
	ok = ok && execute(p, t, &sql);
	buf_release(&sql);
	buf_release(&entry);
	return ok;
}

/* Triggers of ours on the table. */
static bool our_triggers(struct preparer *p, const struct instrument_table *t, MYSQL_RES **out)
{
	struct buf sql = BUF_INIT;

	buf_add_str(&sql, "select trigger_name from information_schema.triggers where "
			  "event_object_schema = ");
	instrument_add_string(&sql, span_str(t->database));
	buf_add_str(&sql, " and event_object_table = ");
	instrument_add_string(&sql, span_str(t->name));
	buf_add_str(&sql, " and left(trigger_name, 7) = '" TRIGGER_PREFIX "'");
	*out = db_query(p->mysql, sql.data, p->err);
	buf_release(&sql);
	return *out != NULL;
}

static bool drop_triggers(struct preparer *p, const struct instrument_table *t, size_t *count)
{
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool ok = our_triggers(p, t, &result);

	*count = 0;
	while (ok && (row = mysql_fetch_row(result)) != NULL) {
		struct buf sql = BUF_INIT;

		buf_add_str(&sql, "drop trigger ");
		sql_print_name(span_str(t->database), &sql);
		buf_add_char(&sql, '.');
		sql_print_name(span_str(row[0]), &sql);
		ok = execute(p, t, &sql);
		buf_release(&sql);
		(*count)++;
	}
	mysql_free_result(result);
	return ok;
}

/* ---- columns ---- */

struct table_state {
	bool version, version_foreign; /* there; by that name and not ours */
	bool for_select;
	bool key, key_foreign;
};

static bool read_state(
	struct preparer *p, const struct instrument_table *t, struct table_state *state)
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;

	*state = (struct table_state){0};
	buf_add_str(&sql, "select column_name, column_comment, data_type from "
			  "information_schema.columns where table_schema = ");
	instrument_add_string(&sql, span_str(t->database));
	buf_add_str(&sql, " and table_name = ");
	instrument_add_string(&sql, span_str(t->name));
	result = db_query(p->mysql, sql.data, p->err);
	buf_release(&sql);
	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		if (strcasecmp(row[0], VERSION_COLUMN) == 0) {
			state->version = strcmp(row[1], VERSION_COMMENT) == 0;
			state->version_foreign = !state->version;
			state->for_select = state->version && strcasecmp(row[2], "bigint") != 0;
		} else if (strcasecmp(row[0], KEY_COLUMN) == 0) {
			state->key = strcmp(row[1], KEY_COMMENT) == 0;
			state->key_foreign = !state->key;
		}
	}
	mysql_free_result(result);
	return true;
}

static bool add_columns(struct preparer *p, const struct instrument_table *t, bool hidden_key)
{
	struct buf sql = BUF_INIT;
	bool ok = true;

	if (hidden_key) {
		buf_add_str(&sql, "alter table ");
		add_table(&sql, t);
		buf_add_str(&sql, " add column " KEY_COLUMN " bigint unsigned not null default 0 "
				  "invisible comment '" KEY_COMMENT "'");
		ok = execute(p, t, &sql);
		buf_clear(&sql);
		buf_add_str(&sql, "update ");
		add_table(&sql, t);
		buf_add_str(&sql, " set " KEY_COLUMN " = uuid_short()");
		ok = ok && execute(p, t, &sql);
		buf_clear(&sql);
	}
	buf_add_str(&sql, "alter table ");
	add_table(&sql, t);
	if (hidden_key)
		buf_add_str(&sql, " add primary key (" KEY_COLUMN "),");
	buf_printf(&sql,
		" add column " VERSION_COLUMN " %s invisible comment '" VERSION_COMMENT "'",
		p->options->mode == INSTRUMENT_SELECT
			? "varchar(41) character set ascii collate ascii_bin not null default '0/'"
			: "bigint unsigned not null default 0");
	ok = ok && execute(p, t, &sql);
	buf_release(&sql);
	return ok;
}

/* ---- tables ---- */

static bool refuse(struct preparer *p, const struct instrument_table *t, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

static bool refuse(struct preparer *p, const struct instrument_table *t, const char *fmt, ...)
{
	char why[WHY_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	outcome(p, t, PREPARE_REFUSED, why);
	return true;
}

/* A key whose text depends on the session, or does not say the value, would name one row in two
 * ways. */
static const struct instrument_column *bad_key(const struct instrument_table *t)
{
	for (size_t i = 0; i < t->key_count; i++) {
		const struct instrument_column *column = &t->columns[t->key[i]];

		if (column->kind == COLUMN_TIMESTAMP || column->kind == COLUMN_REAL)
			return column;
	}
	return NULL;
}

/* Undoes a half-made preparation, so that a failure leaves the table as it was. */
static bool remove_all(struct preparer *p, const struct instrument_table *t, bool *any)
{
	struct table_state state;
	struct buf sql = BUF_INIT;
	size_t triggers;
	bool ok = drop_triggers(p, t, &triggers) && read_state(p, t, &state);

	*any = ok && (triggers || state.version || state.key);
	if (ok && (state.version || state.key)) {
		buf_add_str(&sql, "alter table ");
		add_table(&sql, t);
		if (state.key && t->key_count == 1 &&
			strcmp(t->columns[t->key[0]].name, KEY_COLUMN) == 0)
			buf_add_str(&sql, " drop primary key,");
		if (state.key)
			buf_add_str(&sql, " drop column " KEY_COLUMN);
		if (state.version)
			buf_printf(&sql, "%s drop column " VERSION_COLUMN, state.key ? "," : "");
		ok = execute(p, t, &sql);
	}
	buf_release(&sql);
	return ok;
}

static bool describe_again(struct preparer *p, struct instrument_table *t)
{
	struct instrument_table again = {.database = mem_strdup(t->database),
		.name = mem_strdup(t->name),
		.number = INSTRUMENT_NO_NUMBER};

	instrument_table_release(t);
	*t = again;
	return instrument_table_describe(t, p->mysql, p->err);
}

static bool is_whole(struct preparer *p, const struct instrument_table *t, bool *whole)
{
	MYSQL_RES *result;

	if (!our_triggers(p, t, &result))
		return false;
	*whole = mysql_num_rows(result) == (p->options->mode == INSTRUMENT_SELECT ? 2 : 5);
	mysql_free_result(result);
	return true;
}

static bool prepare_table(struct preparer *p, struct instrument_table *t, MYSQL_ROW row)
{
	const char *kind = row[1] ? row[1] : "", *engine = row[2] ? row[2] : "";
	bool partitioned = row[3] && strcasestr(row[3], "partitioned");
	const struct instrument_column *bad;
	struct table_state state;
	bool hidden_key, ok;

	if (strcmp(kind, "BASE TABLE") != 0) {
		if (strcmp(kind, "SYSTEM VERSIONED") == 0)
			return refuse(p, t,
				"is system-versioned: its history would have to change "
				"with it");
		outcome(p, t, PREPARE_SKIPPED,
			strcasestr(kind, "VIEW") ? "is a view: reads through it are not seen"
						 : "is no table");
		return true;
	}
	if (strcasecmp(engine, "InnoDB") != 0 && strcasecmp(engine, "ROCKSDB") != 0)
		return refuse(p, t, "has the engine %s, which knows no transactions", engine);
	if (!read_state(p, t, &state) || !instrument_table_describe(t, p->mysql, p->err))
		return false;
	if (state.version_foreign || state.key_foreign)
		return refuse(p, t, "has a column %s that isorec did not make",
			state.version_foreign ? VERSION_COLUMN : KEY_COLUMN);
	if (state.version && state.for_select != (p->options->mode == INSTRUMENT_SELECT))
		return refuse(p, t, "is prepared for %s mode: unprepare it first",
			instrument_mode_words[state.for_select ? INSTRUMENT_SELECT
							       : INSTRUMENT_TRIGGER]);
	if (state.version || state.key) {
		bool whole;

		if (!is_whole(p, t, &whole))
			return false;
		if (whole) {
			outcome(p, t, PREPARE_ALREADY, "is prepared already");
			return true;
		}
		/* An earlier preparation was cut short. */
		if (!remove_all(p, t, &whole) || !describe_again(p, t))
			return false;
	}
	bad = bad_key(t);
	if (bad)
		return refuse(p, t,
			"has the column %s in its primary key: a %s does not name a row exactly",
			bad->name,
			bad->kind == COLUMN_REAL ? "floating-point number" : "TIMESTAMP");
	hidden_key = t->key_count == 0;
	if (hidden_key && !p->options->add_key)
		return refuse(p, t,
			"has no primary key: rows have no name; --add-key adds a hidden "
			"one (which changes what the server locks)");
	if (hidden_key && partitioned)
		return refuse(p, t,
			"is partitioned and has no primary key: a key would have to "
			"contain the partitioning columns");
	ok = add_columns(p, t, hidden_key);
	if (ok && hidden_key && !p->options->dry_run)
		ok = describe_again(p, t);
	ok = ok && create_before(p, t, hidden_key) &&
	     (p->options->mode == INSTRUMENT_SELECT || create_after(p, t));
	if (!ok) {
		struct err *first = p->err, second;
		bool any;

		p->err = &second;
		(void)!remove_all(p, t, &any);
		p->err = first;
		return false;
	}
	outcome(p, t, PREPARE_DONE,
		(p->options->mode == INSTRUMENT_SELECT ? t->follows : t->rewritten)
			? "is prepared; a foreign key changes its rows without triggers: what is "
			  "recorded of them is not exact"
		: hidden_key ? "is prepared, with a hidden primary key"
			     : "is prepared");
	return true;
}

static bool unprepare_table(struct preparer *p, struct instrument_table *t, MYSQL_ROW row)
{
	bool any;

	if (!row[1] || strcmp(row[1], "BASE TABLE") != 0)
		return true;
	if (!instrument_table_describe(t, p->mysql, p->err) || !remove_all(p, t, &any))
		return false;
	if (any)
		outcome(p, t, PREPARE_DONE, "is as it was");
	else
		outcome(p, t, PREPARE_SKIPPED, "was not prepared");
	return true;
}

static bool each_table(struct preparer *p,
	bool (*work)(struct preparer *p, struct instrument_table *t, MYSQL_ROW row))
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool ok = true;

	buf_add_str(&sql, "select table_name, table_type, engine, create_options from "
			  "information_schema.tables where table_schema = ");
	instrument_add_string(&sql, span_str(p->options->database));
	if (p->options->table) {
		buf_add_str(&sql, " and table_name = ");
		instrument_add_string(&sql, span_str(p->options->table));
	}
	buf_add_str(&sql, " order by binary table_name");
	result = db_query(p->mysql, sql.data, p->err);
	buf_release(&sql);
	if (!result)
		return false;
	if (!mysql_num_rows(result))
		ok = err_set(p->err, ERR_SERVER, "there is no %s %s%s%s",
			p->options->table ? "table" : "table in the database", p->options->database,
			p->options->table ? "." : "", p->options->table ? p->options->table : "");
	while (ok && (row = mysql_fetch_row(result)) != NULL) {
		struct instrument_table t = {.database = mem_strdup(p->options->database),
			.name = mem_strdup(row[0]),
			.number = INSTRUMENT_NO_NUMBER};

		ok = work(p, &t, row);
		instrument_table_release(&t);
	}
	mysql_free_result(result);
	return ok;
}

bool prepare_database(MYSQL *mysql, const struct prepare_options *options,
	struct prepare_summary *summary, struct err *err)
{
	struct preparer p = {.mysql = mysql, .options = options, .summary = summary, .err = err};

	*summary = (struct prepare_summary){0};
	return check_server(&p) && each_table(&p, prepare_table);
}

bool unprepare_database(MYSQL *mysql, const struct prepare_options *options,
	struct prepare_summary *summary, struct err *err)
{
	struct preparer p = {.mysql = mysql, .options = options, .summary = summary, .err = err};

	*summary = (struct prepare_summary){0};
	return each_table(&p, unprepare_table);
}
