/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session's SET, USE, CREATE TEMPORARY TABLE and resets make of the statements after them.
 * A session's statements follow one another, so this is known before the search. */
#include "mvcc/plan/session_settings.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "eval/value/collation.h"
#include "mvcc/plan/definitions.h"
#include "mvcc/plan/last_insert_id.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/prepared_text.h"
#include "mvcc/plan/session_variables.h"
#include "mvcc/solver.h"
#include "server/commands.h"


enum { MYSQL_COLLATIONS = 255 }; /* from here on those that MariaDB has no such number for */
enum { MODE_DEPTH = 8, MODE_MAX = 4096 };
enum { DIV_PRECISION_MAX = 30 }; /* as the manuals say */

static bool set_mode(struct session_settings *s, struct span text)
{
	if (text.len > MODE_MAX)
		return false;
	s->mode_text = text;
	s->eval_mode = eval_mode_flags(text);
	s->sql_mode = sql_mode_flags(text);
	return true;
}

/* ---- the connection's collation ---- */

/* Numbers of the collations that clients log in with: those of utf8mb4, and binary, by which every text is its bytes.  In
 * other character sets texts are not what the trace has, so literals among themselves are left alone. */
static uint16_t collation_numbered(const struct mvcc *m, uint32_t number)
{
	static const struct {
		uint32_t number;
		uint16_t collation;
	} known[] = {
		{63, COLLATION_BINARY},
		{45, COLLATION_UTF8MB4_GENERAL_CI},
		{46, COLLATION_UTF8MB4_BIN},
		{224, COLLATION_UTF8MB4_UNICODE_CI},
		{246, COLLATION_UTF8MB4_UNICODE_520_CI},
		{255, COLLATION_UTF8MB4_0900_AI_CI},
		{309, COLLATION_UTF8MB4_0900_BIN},
	};

	/* To MariaDB with character_set_collations that is utf8mb4, whatever collation this has by default. */
	if (number == 45 && m->now.env.flavour == SQL_MARIADB && m->now.env.version >= 110200)
		return COLLATION_NONE;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (known[i].number == number &&
			(m->now.env.flavour == SQL_MYSQL || number < MYSQL_COLLATIONS))
			return known[i].collation;
	}
	return COLLATION_NONE;
}

/* The same of their character set, by number: the manual's table of collations
 * (INFORMATION_SCHEMA.COLLATIONS). */
enum text_width settings_width_numbered(uint32_t number)
{
	enum { BINARY = 63, MARIADB_UTF8MB3 = 2048, MARIADB_UTF8MB4 = 2304, MARIADB_END = 2560 };

	if (number == 45 || number == 46 || number == BINARY || (number >= 224 && number <= 247) ||
		(number >= 255 && number <= 323) ||
		(number >= MARIADB_UTF8MB4 && number < MARIADB_END))
		return TEXT_WIDE;
	if (number == 33 || number == 76 || number == 83 || (number >= 192 && number <= 215) ||
		number == 223 || (number >= MARIADB_UTF8MB3 && number < MARIADB_UTF8MB4))
		return TEXT_NARROW;
	return TEXT_ASCII;
}

enum text_width settings_width_named(struct span charset)
{
	return span_ieq_str(charset, "utf8mb4") || span_ieq_str(charset, "binary") ? TEXT_WIDE
	       : span_ieq_str(charset, "utf8") || span_ieq_str(charset, "utf8mb3") ? TEXT_NARROW
										   : TEXT_ASCII;
}

static uint16_t only_utf8mb4(uint16_t collation)
{
	return collation != COLLATION_NONE && collation_charset(collation) == CHARSET_UTF8MB4
		       ? collation
		       : COLLATION_NONE;
}

uint16_t settings_collation_named(struct span name)
{
	return only_utf8mb4(collation_find(name));
}

struct span settings_word(const struct sql_expr *value)
{
	return value->kind == SQL_EXPR_LITERAL  ? value->u.literal.text
	       : value->kind == SQL_EXPR_COLUMN ? value->u.column.name
						: SPAN_NONE;
}

bool settings_collation(const struct mvcc *m, const struct session_settings *s,
	const struct sql_set_item *item, struct session_settings *out)
{
	bool charset = item->kind != SQL_SET_VARIABLE ||
		       span_ieq_str(item->name, "character_set_connection");
	struct span word = item->value ? settings_word(item->value) : SPAN_NONE;

	*out = *s;
	/* It is never wider than it was, as that of the connection may be narrower. */
	if (item->kind == SQL_SET_VARIABLE && span_ieq_str(item->name, "character_set_client")) {
		if (settings_width_named(word) > out->text_width)
			out->text_width = settings_width_named(word);
		return true;
	}
	if (item->kind == SQL_SET_USER_VAR ||
		(!charset && !span_ieq_str(item->name, "collation_connection")))
		return false;
	/* SET CHARACTER SET takes the collation of the database. */
	if (item->kind == SQL_SET_CHARSET || !word.ptr)
		out->collation = COLLATION_NONE;
	else if (item->kind == SQL_SET_NAMES && item->collation.ptr)
		out->collation = only_utf8mb4(collation_find(item->collation));
	else if (!charset)
		out->collation = only_utf8mb4(collation_find(word));
	else if (span_ieq_str(word, "binary"))
		out->collation = COLLATION_BINARY;
	else if (span_ieq_str(word, "utf8mb4"))
		out->collation = collation_of_charset(
			word, m->now.env.flavour == SQL_MYSQL, m->now.env.version);
	else
		out->collation = COLLATION_NONE;
	/* The character set of the connection may lack what that of the client has. */
	if (item->kind == SQL_SET_NAMES)
		out->text_width = settings_width_named(word);
	else if (item->kind == SQL_SET_CHARSET || (out->collation == COLLATION_NONE && !charset))
		out->text_width = TEXT_ASCII;
	else if (charset && settings_width_named(word) > out->text_width)
		out->text_width = settings_width_named(word);
	return true;
}

/* A session that begins with what `base` says; `collation` is the server's number of one, 0: not
 * recorded. */
static void open_with(const struct mvcc *m, const struct session_settings *base,
	struct session_settings *s, struct span database, uint32_t collation)
{
	*s = *base;
	s->database = database;
	if (collation && !m->login_ignored) {
		s->collation = collation_numbered(m, collation);
		s->text_width = settings_width_numbered(collation);
	}
}

/* Variables of the server that change answers; traces that do not have one of them are taken to have its preset. */
static bool is_odd_server(const struct execution *e)
{
	return execution_is_on(e, "sql_auto_is_null");
}

static uint32_t length_of(uint64_t number)
{
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* Traces that do not have it are taken to have the server's preset. */
static uint32_t group_concat_length(const struct execution *e, uint32_t preset)
{
	uint64_t number;

	return execution_number(e, "group_concat_max_len", &number) ? length_of(number) : preset;
}

/* A zone's seconds to the east of UTC.  What the system calls GMT may be British, with summer time. */
static int32_t seconds_of_zone(const struct execution *e, struct span zone)
{
	int32_t seconds;

	if (span_ieq_str(zone, "SYSTEM"))
		zone = execution_variable(e, "system_time_zone");
	if (span_ieq_str(zone, "UTC") || span_ieq_str(zone, "Etc/UTC"))
		return 0;
	return eval_zone_offset(zone, &seconds) ? seconds : ZONE_UNKNOWN;
}

void settings_of_server(struct mvcc *m)
{
	const struct execution *e = m->schedule->execution;
	struct span names = execution_variable(e, "lc_time_names");
	uint64_t number;

	m->login_ignored = span_ieq_str(execution_variable(e, "character_set_client_handshake"), "OFF");
	m->now.env.any_case = execution_number(e, "lower_case_table_names", &number) && number;
	m->settings_of_new = (struct session_settings){.mode_text = execution_variable(e, "sql_mode"),
		.eval_mode = m->now.env.mode,
		.sql_mode = m->sql.mode,
		.collation = m->login_ignored ? COLLATION_NONE : m->now.env.collation_connection,
		.text_width = m->login_ignored ? TEXT_ASCII : TEXT_WIDE,
		.zone_seconds = seconds_of_zone(e, execution_variable(e, "time_zone")),
		.no_foreign_checks = execution_variable(e, "foreign_key_checks").ptr &&
				     !execution_is_on(e, "foreign_key_checks"),
		.no_unique_checks = execution_variable(e, "unique_checks").ptr && !execution_is_on(e, "unique_checks"),
		.group_concat_max_len = group_concat_length(e, m->now.env.group_concat_max_len),
		.select_limited = execution_number(e, "sql_select_limit", &number) && number != UINT64_MAX,
		.sets_unmodelled = is_odd_server(e),
		.engine = m->now.engine,
		.any_case = m->now.env.any_case,
		.auto_increment_step = auto_increment_step_of(e)};
	m->settings_at_start = m->settings_of_new;
	m->now.env.group_concat_max_len = m->settings_of_new.group_concat_max_len;
	if (execution_number(e, "default_week_format", &number))
		m->now.env.default_week_format = number & 7;
	if (execution_number(e, "div_precision_increment", &number))
		m->now.env.div_precision_increment = (uint8_t)(number < DIV_PRECISION_MAX ? number : DIV_PRECISION_MAX);
	m->now.env.other_names = names.len && !(names.len > 3 && span_ieq_str(span_of(names.ptr, 3), "en_"));
}

void settings_first(struct mvcc *m, struct session_settings *s, uint32_t session)
{
	const struct execution_session *in = &m->schedule->execution->sessions[session];
	struct session_settings base = m->settings_of_new;

	/* A session that logged in while the settings of new sessions changed has the one or the other. */
	if (m->global_from && in->opened_at < m->global_from)
		base = m->settings_at_start;
	else if (m->global_from && in->opened_at <= m->global_to)
		base.sets_unmodelled = true;
	open_with(m, &base, s, in->database, in->collation);
	/* Its login was seen, so nothing came before. */
	s->has_last_insert_id = in->capabilities && !in->opaque;
	if (s->sets_unmodelled)
		m->sessions[session].unmodelled = SESSION_VARIABLES;
}

void settings_apply(struct mvcc *m, const struct plan *plan)
{
	m->now.env.database = plan->key.database;
	m->now.temporary = plan->key.temporary;
	m->now.env.mode = plan->key.eval_mode;
	m->now.no_foreign_checks = plan->key.no_foreign_checks;
	m->now.no_unique_checks = plan->key.no_unique_checks;
	m->now.env.group_concat_max_len = plan->key.group_concat_max_len;
	m->now.engine = plan->key.engine;
	m->now.env.zone_known = plan->key.zone_seconds != ZONE_UNKNOWN;
	m->now.env.zone_seconds = plan->key.zone_seconds;
	m->now.env.masked = plan->masks == MASKS_ASSIGNED;
	m->now.env.literals_uncertain = plan->key.collation == COLLATION_NONE || plan->other_texts;
	m->now.env.collation_connection =
		plan->key.collation == COLLATION_NONE ? m->settings_of_new.collation : plan->key.collation;
}

/* ---- sql_mode ---- */

static bool add_mode(const struct session_settings *s, struct span global, const struct sql_expr *e,
	struct buf *out, unsigned depth);

/* REPLACE(mode, what, with), as applications write it to take one word out. */
static bool add_replaced(const struct session_settings *s, struct span global,
	const struct sql_expr *e, struct buf *out, unsigned depth)
{
	struct buf text[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
	const struct sql_expr *arg = e->u.call.args.first;
	struct span subject, what;
	bool ok = true;

	for (unsigned i = 0; i < 3; i++, arg = arg->next)
		ok &= add_mode(s, global, arg, &text[i], depth);
	subject = buf_span(&text[0]);
	what = buf_span(&text[1]);
	for (size_t at = 0; ok && at < subject.len;) {
		if (what.len && subject.len - at >= what.len &&
			span_eq(span_of(subject.ptr + at, what.len), what)) {
			buf_add_span(out, buf_span(&text[2]));
			at += what.len;
		} else {
			buf_add_char(out, subject.ptr[at++]);
		}
	}
	for (unsigned i = 0; i < 3; i++)
		buf_release(&text[i]);
	return ok && out->len <= MODE_MAX;
}

/* The value that SET gives to sql_mode; false: not one of the usual ways to write it. */
static bool add_mode(const struct session_settings *s, struct span global, const struct sql_expr *e,
	struct buf *out, unsigned depth)
{
	const struct sql_query *query;
	struct span known;

	if (depth > MODE_DEPTH || out->len > MODE_MAX)
		return false;
	switch (e->kind) {
	case SQL_EXPR_LITERAL:
		if (e->u.literal.kind != SQL_LIT_STRING)
			return false;
		buf_add_span(out, e->u.literal.text);
		return true;
	case SQL_EXPR_COLUMN: /* SET sql_mode = ANSI */
		if (depth || e->u.column.table.ptr)
			return false;
		buf_add_span(out, e->u.column.name);
		return true;
	case SQL_EXPR_DEFAULT:
	case SQL_EXPR_SYSTEM_VAR:
		if (e->kind == SQL_EXPR_SYSTEM_VAR &&
			(e->u.var.base.ptr || !span_ieq_str(e->u.var.name, "sql_mode")))
			return false;
		known = e->kind == SQL_EXPR_DEFAULT || e->u.var.scope == SQL_SCOPE_GLOBAL
				? global
				: s->mode_text;
		if (!known.ptr)
			return false;
		buf_add_span(out, known);
		return true;
	case SQL_EXPR_SUBQUERY: /* (SELECT CONCAT(@@sql_mode, ',...')) */
		query = e->u.in.query;
		if (query->kind != SQL_QUERY_SELECT || query->u.select.from ||
			query->u.select.where || query->limit || !query->u.select.items ||
			query->u.select.items->next)
			return false;
		return add_mode(s, global, query->u.select.items->expr, out, depth + 1);
	case SQL_EXPR_CALL:
		if (e->u.call.db.ptr)
			return false;
		if (span_ieq_str(e->u.call.name, "replace") && e->u.call.args.count == 3)
			return add_replaced(s, global, e, out, depth + 1);
		if (!span_ieq_str(e->u.call.name, "concat"))
			return false;
		for (const struct sql_expr *arg = e->u.call.args.first; arg; arg = arg->next) {
			if (!add_mode(s, global, arg, out, depth + 1))
				return false;
		}
		return true;
	default:
		return false;
	}
}

bool settings_mode(struct mvcc *m, const struct session_settings *s, const struct sql_expr *value,
	struct session_settings *out)
{
	struct buf text = BUF_INIT;
	bool ok = value &&
		  add_mode(s, m->settings_of_new.mode_text, value, &text, 0);

	*out = *s;
	ok = ok && set_mode(out, arena_copy(&m->catalog.arena, buf_span(&text)));
	buf_release(&text);
	/* Parameters are put into texts as literals with backslashes. */
	return ok && !((out->sql_mode ^ m->sql.mode) & SQL_MODE_NO_BACKSLASH_ESCAPES);
}

/* ---- temporary tables ---- */

static void add_temporary(struct buf *out, struct span database, struct span name, uint32_t number)
{
	buf_add_span(out, database);
	buf_add_char(out, '\0');
	buf_add_span(out, name);
	buf_add_char(out, '\0');
	if (number != STORE_NONE)
		buf_printf(out, "%u", number);
	buf_add_char(out, '\0');
}

/* The next of a list, of which *at is the place. */
struct temporary {
	struct span database, name;
	uint32_t number;
};

static struct temporary next_temporary(struct span list, size_t *at)
{
	struct temporary t;
	struct span digits;
	uint64_t number;

	t.database = span_str(list.ptr + *at);
	t.name = span_str(list.ptr + *at + t.database.len + 1);
	digits = span_str(list.ptr + *at + t.database.len + t.name.len + 2);
	t.number = text_number(digits, &number) ? (uint32_t)number : STORE_NONE;
	*at += t.database.len + t.name.len + digits.len + 3;
	return t;
}

static bool is_named(const struct temporary *t, bool any_case, struct span database, struct span name)
{
	return any_case ? span_ieq(t->database, database) && span_ieq(t->name, name)
			: span_eq(t->database, database) && span_eq(t->name, name);
}

bool temporary_find(struct span list, bool any_case, struct span database, struct span name, uint32_t *number)
{
	for (size_t at = 0; at < list.len;) {
		struct temporary t = next_temporary(list, &at);

		if (!is_named(&t, any_case, database, name))
			continue;
		*number = t.number;
		return true;
	}
	return false;
}

bool settings_temporary(const struct session_settings *s, const struct sql_table_name *table)
{
	uint32_t number;

	return temporary_find(s->temporary, s->any_case, table->db.ptr ? table->db : s->database, table->name, &number);
}

static bool has_zero(struct span s)
{
	return s.len && memchr(s.ptr, 0, s.len);
}

/* The list with the table, which is another one than before, or without it. */
static void change_temporary(struct mvcc *m, struct session_settings *s,
	const struct sql_table_name *table, bool add, uint32_t number)
{
	struct span database = table->db.ptr ? table->db : s->database;
	struct buf list = BUF_INIT;

	if (has_zero(database) || has_zero(table->name))
		return;
	for (size_t at = 0; at < s->temporary.len;) {
		struct temporary t = next_temporary(s->temporary, &at);

		if (!is_named(&t, s->any_case, database, table->name))
			add_temporary(&list, t.database, t.name, t.number);
	}
	if (add)
		add_temporary(&list, database, table->name, number);
	s->temporary = list.len ? arena_copy(&m->catalog.arena, buf_span(&list)) : SPAN_NONE;
	buf_release(&list);
}

static void create_temporary(struct mvcc *m, struct session_settings *s, const struct execution_stmt *in,
	const struct sql_create_table *create)
{
	bool there = settings_temporary(s, &create->table);

	if (create->if_not_exists && there)
		return;
	/* It may have been there before the trace began. */
	change_temporary(m, s, &create->table, true,
		create->if_not_exists && in->record.warnings ? STORE_NONE : define_temporary(m, s, create));
}

struct temporary_walk {
	struct mvcc *m;
	struct session_settings *settings;
	bool empties; /* TRUNCATE */
	bool found;
};

static void see_temporary(void *ctx, const struct sql_table_name *name, const struct sql_table_ref *ref,
	enum sql_access_kind access)
{
	struct temporary_walk *see = ctx;

	(void)ref;
	(void)access;
	see->found |= settings_temporary(see->settings, name);
}

/* One that was emptied is another one of the same definition.  Of one that was altered or renamed nothing is known. */
static void redo_temporary(void *ctx, const struct sql_table_name *name, const struct sql_table_ref *ref,
	enum sql_access_kind access)
{
	struct temporary_walk *see = ctx;
	struct session_settings *s = see->settings;
	uint32_t number = STORE_NONE;

	(void)ref;
	(void)access;
	if (temporary_find(s->temporary, s->any_case, name->db.ptr ? name->db : s->database, name->name, &number) &&
		see->empties && number != STORE_NONE)
		number = define_temporary(see->m, s, see->m->store.tables[number].create);
	else
		number = STORE_NONE;
	change_temporary(see->m, s, name, true, number);
}

static void follow_temporary(struct mvcc *m, struct session_settings *s, const struct execution_stmt *in,
	const struct sql_stmt *stmt)
{
	struct temporary_walk see = {.m = m, .settings = s, .empties = stmt->kind == SQL_STMT_TRUNCATE};

	switch (stmt->kind) {
	case SQL_STMT_CREATE_TABLE:
		if (stmt->u.create_table->temporary)
			create_temporary(m, s, in, stmt->u.create_table);
		break;
	case SQL_STMT_DROP_TABLE:
		for (const struct sql_table_name *t = stmt->u.drop->tables; t; t = t->next)
			change_temporary(m, s, t, false, STORE_NONE);
		break;
	case SQL_STMT_TRUNCATE:
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_RENAME_TABLE:
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
		sql_stmt_tables(stmt, see_temporary, &see);
		if (see.found)
			sql_stmt_tables(stmt, redo_temporary, &see);
		break;
	default:
		break;
	}
}

/* ---- other variables ---- */

static bool is_default(const struct sql_expr *value)
{
	return value->kind == SQL_EXPR_DEFAULT;
}

/* On or off; false: not known. */
static bool read_switch(const struct sql_expr *value, bool by_default, bool *on)
{
	struct span word = settings_word(value);

	if (is_default(value))
		*on = by_default;
	else if (span_eq_str(word, "1") || span_ieq_str(word, "on") || span_ieq_str(word, "true"))
		*on = true;
	else if (span_eq_str(word, "0") || span_ieq_str(word, "off") || span_ieq_str(word, "false"))
		*on = false;
	else
		return false;
	return true;
}

static bool set_checks(const struct mvcc *m, struct session_settings *s, const struct sql_expr *value)
{
	bool on;

	if (!read_switch(value, !m->settings_of_new.no_foreign_checks, &on))
		return false;
	s->no_foreign_checks = !on;
	return true;
}

/* An engine may still notice duplicates, as InnoDB does of the primary key (MySQL manual, "unique_checks").  What cannot
 * be read may have switched it off. */
static bool set_unique(const struct mvcc *m, struct session_settings *s, const struct sql_expr *value)
{
	bool on;

	s->no_unique_checks = !read_switch(value, !m->settings_of_new.no_unique_checks, &on) || !on;
	return true;
}

static bool set_list_length(const struct mvcc *m, struct session_settings *s, const struct sql_expr *value)
{
	enum { SHORTEST = 4 }; /* less is taken as this (both manuals) */
	uint64_t number;

	s->altered &= ~(uint32_t)DEPENDS_GROUP_CONCAT;
	if (is_default(value))
		s->group_concat_max_len = m->settings_of_new.group_concat_max_len;
	else if (text_number(settings_word(value), &number))
		s->group_concat_max_len = number < SHORTEST ? SHORTEST : length_of(number);
	else
		s->altered |= DEPENDS_GROUP_CONCAT;
	return true;
}

/* Each statement asks for it anew, in an open transaction as well (seen on 10.11 and 11.8). */
static bool set_snapshots(const struct mvcc *m, struct session_settings *s, const struct sql_expr *value)
{
	bool on;

	if (m->settings_of_new.engine == ENGINE_TIDB ||
		!read_switch(value, m->settings_of_new.engine == ENGINE_INNODB_SI, &on))
		return false;
	s->engine = on ? ENGINE_INNODB_SI : ENGINE_INNODB;
	return true;
}

static bool set_step(const struct mvcc *m, struct session_settings *s, const struct sql_expr *value)
{
	enum { STEP_MAX = 65535 };
	uint64_t step;

	if (is_default(value)) {
		s->auto_increment_step = m->settings_of_new.auto_increment_step;
		return true;
	}
	if (!text_number(settings_word(value), &step))
		return false;
	/* 0 is taken as 1, and what is too large as the largest. */
	s->auto_increment_step = step == 0 ? 1 : step < STEP_MAX ? (uint32_t)step : STEP_MAX;
	/* On Galera the node changes it. */
	if (!m->settings_at_start.auto_increment_step)
		s->auto_increment_step = 0;
	return true;
}

static bool set_limit(const struct mvcc *m, struct session_settings *s, const struct sql_expr *value)
{
	struct span word = settings_word(value);

	s->select_limited = is_default(value) ? m->settings_of_new.select_limited : !span_eq_str(word, "18446744073709551615");
	return is_default(value) || word.ptr;
}

/* Not GMT: a server in London calls its zone so when it starts in winter (system_time_zone), and has summer time. */
static bool is_utc(struct span zone)
{
	return span_ieq_str(zone, "UTC") || span_eq_str(zone, "+00:00") || span_eq_str(zone, "-00:00") ||
	       span_ieq_str(zone, "Etc/UTC");
}

/* Is it the zone that the recorder saw the tables' TIMESTAMPs in, the server's own? */
static bool is_zone_of_server(const struct mvcc *m, struct span zone)
{
	struct span own = execution_variable(m->schedule->execution, "time_zone");
	struct span system = execution_variable(m->schedule->execution, "system_time_zone");

	if (!own.ptr || !zone.ptr)
		return false;
	if (span_ieq(zone, own))
		return true;
	if (span_ieq_str(own, "SYSTEM"))
		own = system;
	if (span_ieq_str(zone, "SYSTEM"))
		zone = system;
	return is_utc(own) && is_utc(zone);
}

/* DEFAULT is that of the server, too, until SET GLOBAL. */
static void set_zone(const struct mvcc *m, struct session_settings *s, const struct sql_expr *value)
{
	struct span word = value ? settings_word(value) : SPAN_NONE;

	if (value && is_default(value)) {
		s->own_time_zone = m->settings_of_new.own_time_zone;
		s->zone_seconds = m->settings_of_new.zone_seconds;
		return;
	}
	s->own_time_zone = !is_zone_of_server(m, word);
	s->zone_seconds = seconds_of_zone(m->schedule->execution, word);
}

bool settings_variable(const struct mvcc *m, const struct session_settings *s,
	const struct sql_set_item *item, struct session_settings *out)
{
	*out = *s;
	if (item->kind != SQL_SET_VARIABLE || !item->value)
		return false;
	if (span_ieq_str(item->name, "foreign_key_checks"))
		return set_checks(m, out, item->value);
	if (span_ieq_str(item->name, "unique_checks"))
		return set_unique(m, out, item->value);
	if (span_ieq_str(item->name, "group_concat_max_len"))
		return set_list_length(m, out, item->value);
	if (span_ieq_str(item->name, "sql_select_limit"))
		return set_limit(m, out, item->value);
	if (span_ieq_str(item->name, "innodb_snapshot_isolation"))
		return set_snapshots(m, out, item->value);
	if (span_ieq_str(item->name, "auto_increment_increment"))
		return set_step(m, out, item->value);
	return variable_alters(m, s, item, out);
}

static struct sql_expr *literal(struct mvcc *m, enum sql_literal_kind kind, struct span text)
{
	struct sql_expr *e = arena_zero(&m->catalog.arena, sizeof(*e));

	e->kind = SQL_EXPR_LITERAL;
	e->u.literal.kind = (uint8_t)kind;
	e->u.literal.text = text;
	return e;
}

struct sql_expr *settings_system_variable(struct mvcc *m, const struct session_settings *s, const struct sql_expr *e)
{
	bool session = e->kind == SQL_EXPR_SYSTEM_VAR && e->u.var.scope != SQL_SCOPE_GLOBAL && !e->u.var.base.ptr;

	if (session && span_ieq_str(e->u.var.name, "foreign_key_checks"))
		return literal(m, SQL_LIT_INT, s->no_foreign_checks ? SPAN_LIT("0") : SPAN_LIT("1"));
	if (session && span_ieq_str(e->u.var.name, "unique_checks"))
		return literal(m, SQL_LIT_INT, s->no_unique_checks ? SPAN_LIT("0") : SPAN_LIT("1"));
	if (session && span_ieq_str(e->u.var.name, "sql_mode") && s->mode_text.ptr)
		return literal(m, SQL_LIT_STRING, s->mode_text);
	return NULL;
}

struct sql_set_item settings_resolved(struct mvcc *m, const struct session_settings *s, const struct sql_set_item *item)
{
	struct sql_set_item resolved = *item;
	struct span text;
	bool string;

	if (item->kind == SQL_SET_VARIABLE && item->value && item->value->kind == SQL_EXPR_USER_VAR &&
		variable_text(s, item->value->u.var.name, &text, &string))
		resolved.value = literal(m, string ? SQL_LIT_STRING : SQL_LIT_INT, text);
	return resolved;
}

/* What sessions begin with from now on. */
static void follow_global(struct mvcc *m, const struct sql_set_item *item, const struct execution_stmt *in)
{
	struct session_settings then;

	if (!m->global_from)
		m->global_from = in->record.begin;
	m->global_to = in->record.at;
	if (settings_variable(m, &m->settings_of_new, item, &then) ||
		(span_ieq_str(item->name, "sql_mode") && settings_mode(m, &m->settings_of_new, item->value, &then)))
		m->settings_of_new = then;
	else if (span_ieq_str(item->name, "time_zone"))
		set_zone(m, &m->settings_of_new, item->value);
	else if (!variable_is_followed(m, item, &m->settings_of_new) &&
		 !(item->name.len > 7 && span_ieq_str(span_of(item->name.ptr, 7), "innodb_") &&
			 !span_ieq_str(item->name, "innodb_snapshot_isolation")))
		m->settings_of_new.sets_unmodelled = true;
}

/* ---- all of it ---- */

void settings_after(struct mvcc *m, struct session_settings *s, const struct execution_stmt *in,
	const struct plan *plan)
{
	struct session_settings before;

	if (in->record.error || in->record.flags & STMT_NO_REPLY)
		return;
	switch (in->record.command) {
	case CMD_INIT_DB:
		s->database = in->sql;
		return;
	case CMD_CHANGE_USER:
		open_with(m, &m->settings_of_new, s, in->sql, in->collation);
		s->has_last_insert_id = true;
		return;
	case CMD_RESET_CONNECTION:
		/* The server's own collation, which was not recorded. */
		open_with(m, &m->settings_of_new, s, s->database, UINT32_MAX);
		s->has_last_insert_id = true;
		return;
	default:
		break;
	}
	if (!plan->stmt)
		return;
	before = *s;
	s->sets_unmodelled |= plan->sets_unmodelled;
	if (plan->stmt->kind == SQL_STMT_USE)
		s->database = plan->stmt->u.name;
	if (!plan->sets_unmodelled)
		follow_temporary(m, s, in, plan->stmt);
	if (plan->stmt->kind != SQL_STMT_SET || plan->sets_unmodelled)
		return;
	for (const struct sql_set_item *as_written = plan->stmt->u.set->items; as_written; as_written = as_written->next) {
		struct sql_set_item resolved = settings_resolved(m, &before, as_written);
		const struct sql_set_item *item = &resolved;
		struct session_settings then;

		if (settings_is_global(item)) {
			follow_global(m, item, in);
			continue;
		}
		if (item->kind == SQL_SET_VARIABLE && span_ieq_str(item->name, "time_zone"))
			set_zone(m, s, item->value);
		if (settings_collation(m, s, item, &then) || settings_variable(m, s, item, &then) ||
			(item->kind == SQL_SET_VARIABLE && span_ieq_str(item->name, "sql_mode") &&
				settings_mode(m, s, item->value, &then)))
			*s = then;
	}
}

bool settings_has_text(uint8_t command)
{
	return command != CMD_INIT_DB && command != CMD_CHANGE_USER;
}
