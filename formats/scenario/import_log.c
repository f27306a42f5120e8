/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs of what was sent, without what came back (docs/scenario-format.md, "Importing"): a server's general log, and what
 * the Random Query Generator prints with --sqltrace.
 *
 *	261119 22:20:53 TAB     5 Query TAB select 1            MariaDB, MySQL 5.6; no time where it is the last one's
 *	2026-11-19T22:20:58.268609Z TAB    9 Query TAB begin    MySQL 5.7 and newer
 *	[4711] select 1;                                        RQG: the process; a # before it, and ERROR, where it failed
 *
 * What stands in lines that do not begin like this belongs to the statement before it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "scenario/scenario_internal.h"

struct entry {
	uint64_t connection;
	struct span sql;
	bool failed;
};

struct log {
	struct entry *entries;
	size_t count, capacity;
};

static bool take_number(struct span *s, uint64_t *out)
{
	size_t len = 0;

	for (*out = 0; len < s->len && len < 18 && isdigit((unsigned char)s->ptr[len]); len++)
		*out = *out * 10 + (uint64_t)(s->ptr[len] - '0');
	*s = span_of(s->ptr + len, s->len - len);
	return len > 0;
}

static bool take_text(struct span *s, const char *text)
{
	size_t len = strlen(text);

	if (s->len < len || memcmp(s->ptr, text, len) != 0)
		return false;
	*s = span_of(s->ptr + len, s->len - len);
	return true;
}

static void skip(struct span *s, const char *characters)
{
	while (s->len && strchr(characters, s->ptr[0]) && s->ptr[0])
		*s = span_of(s->ptr + 1, s->len - 1);
}

/* The head of a line of the general log.  *sql: the argument of a command that is a statement, else SPAN_NONE. */
static bool general_head(struct span line, uint64_t *connection, struct span *sql)
{
	struct span rest = line, word;

	skip(&rest, "0123456789-:.TZ+ ");
	if (!rest.len || rest.ptr[0] != '\t' || (rest.len < line.len && line.len - rest.len < 13))
		return false;
	skip(&rest, "\t ");
	if (!take_number(&rest, connection) || !take_text(&rest, " "))
		return false;
	word = rest;
	while (rest.len && (isalpha((unsigned char)rest.ptr[0]) || rest.ptr[0] == ' '))
		rest = span_of(rest.ptr + 1, rest.len - 1);
	word = span_of(word.ptr, word.len - rest.len);
	if (!word.len || !take_text(&rest, "\t"))
		return false;
	*sql = span_eq_str(word, "Query") || span_eq_str(word, "Execute") ? rest : SPAN_NONE;
	return true;
}

/* The head of a line of RQG's: of a statement, or (connection 0) of a remark. */
static bool rqg_head(struct span line, uint64_t *connection, struct span *sql, bool *failed)
{
	struct span rest = line;
	bool remark = take_text(&rest, "# ");
	uint64_t error;

	*connection = 0;
	*sql = SPAN_NONE;
	if (remark && !(take_text(&rest, "[") && take_number(&rest, connection) && take_text(&rest, "] [sqltrace] ERROR ") &&
			      take_number(&rest, &error) && take_text(&rest, ": "))) {
		*connection = 0;
		return true;
	}
	if (!remark && !(take_text(&rest, "[") && take_number(&rest, connection) && take_text(&rest, "] ")))
		return false;
	*sql = rest;
	*failed = remark;
	return true;
}

static bool line_head(struct span line, bool rqg, uint64_t *connection, struct span *sql, bool *failed)
{
	*failed = false;
	return rqg ? rqg_head(line, connection, sql, failed) : general_head(line, connection, sql);
}

static bool next_line(struct span text, size_t *at, struct span *line)
{
	const char *newline;
	size_t end;

	if (*at >= text.len)
		return false;
	newline = memchr(text.ptr + *at, '\n', text.len - *at);
	end = newline ? (size_t)(newline - text.ptr) : text.len;
	*line = span_of(text.ptr + *at, end - *at);
	*at = end + 1;
	return true;
}

enum scenario_shape scenario_log_shape(struct span text)
{
	unsigned general = 0, rqg = 0;
	struct span line, sql;
	uint64_t connection;
	bool failed;

	for (size_t at = 0; next_line(text, &at, &line);) {
		general += general_head(line, &connection, &sql) && sql.ptr;
		rqg += rqg_head(line, &connection, &sql, &failed) && sql.ptr;
	}
	return general > 1 && general >= rqg ? SCENARIO_SHAPE_GENERAL_LOG : rqg > 1 ? SCENARIO_SHAPE_RQG : SCENARIO_SHAPE_SCN;
}

/* ---- statements ---- */

/* Without blanks and delimiters at its end. */
static struct span trim(struct span sql)
{
	sql = span_trim(sql);
	while (sql.len && sql.ptr[sql.len - 1] == ';')
		sql = span_trim(span_of(sql.ptr, sql.len - 1));
	return sql;
}

/* Which database is in use, and the like: the scenario has one of its own. */
static bool is_housekeeping(struct span sql)
{
	static const char *const words[] = {"use ", "select database()", "create database ", "drop database ",
		"create schema ", "drop schema "};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_istarts(sql, words[i]))
			return true;
	return false;
}

static void read_entries(struct log *log, struct span text, bool rqg)
{
	const char *begin = NULL;
	struct span line, sql;
	bool failed;

	for (size_t at = 0;;) {
		const char *here = text.ptr + at;
		uint64_t connection;
		bool more = next_line(text, &at, &line);

		if (more && !line_head(line, rqg, &connection, &sql, &failed))
			continue;
		if (begin) {
			struct entry *last = &log->entries[log->count - 1];

			last->sql = trim(span_of(begin, (size_t)((more ? here : text.ptr + text.len) - begin)));
			log->count -= !last->sql.len || is_housekeeping(last->sql);
		}
		if (!more)
			return;
		begin = NULL;
		if (!sql.ptr || !connection)
			continue;
		begin = sql.ptr;
		MEM_RESERVE(log->entries, log->count + 1, log->capacity);
		log->entries[log->count++] = (struct entry){.connection = connection, .failed = failed};
	}
}

/* ---- what comes before clients run at once ---- */

struct use {
	uint64_t connection;
	size_t at;
};

static int compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->connection != y->connection)
		return x->connection < y->connection ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Entries of connections that were through before another one sent anything.  Where that is all, it is none.  A log may have
 * as many connections as entries, so each entry is looked at once. */
static size_t count_setup(const struct log *log)
{
	struct use *uses = mem_realloc(NULL, log->count + 1, sizeof(*uses));
	size_t *behind = mem_zero(log->count + 1, sizeof(*behind)); /* by the first entry of a connection: what is behind its last */
	size_t at = 0;

	for (size_t i = 0; i < log->count; i++)
		uses[i] = (struct use){log->entries[i].connection, i};
	qsort(uses, log->count, sizeof(*uses), compare_uses);
	for (size_t i = 0, first = 0; i < log->count; i++) {
		if (uses[i].connection != uses[first].connection)
			first = i;
		behind[uses[first].at] = uses[i].at + 1;
	}
	while (at < log->count) {
		size_t end = at;

		while (end < log->count && log->entries[end].connection == log->entries[at].connection)
			end++;
		if (behind[at] != end)
			break;
		at = end;
	}
	mem_free(behind);
	mem_free(uses);
	return at < log->count ? at : 0;
}

/* Definitions and rows; no SELECT, no SET, which would hold for one connection. */
static bool makes_tables(struct span sql)
{
	static const char *const words[] = {"create ", "alter ", "insert ", "replace ", "update ", "delete ", "drop ", "truncate ",
		"rename ", "analyze "};

	while (sql.len > 4 && sql.ptr[0] == '/' && sql.ptr[1] == '*') {
		const char *end = memmem(sql.ptr + 2, sql.len - 2, "*/", 2);

		if (!end)
			return false;
		sql = span_trim(span_of(end + 2, sql.len - (size_t)(end + 2 - (const char *)sql.ptr)));
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_istarts(sql, words[i]))
			return true;
	return false;
}

static bool add_entry(struct scenario *s, const struct entry *entry, bool setup, struct err *err)
{
	uint32_t session = SCENARIO_NO_SESSION;
	char name[32];

	if (setup)
		return entry->failed || !makes_tables(entry->sql) || scenario_add(s, &s->setup, session, entry->sql, err);
	snprintf(name, sizeof(name), "c%llu", (unsigned long long)entry->connection);
	return scenario_session(s, span_str(name), &session, err) && scenario_add(s, &s->schedule, session, entry->sql, err);
}

bool scenario_import_log(struct scenario *s, struct span text, bool rqg, struct err *err)
{
	struct log log = {.count = 0};
	size_t setup, i = 0;
	bool ok = true;

	read_entries(&log, text, rqg);
	setup = count_setup(&log);
	for (; i < log.count && ok; i++)
		ok = add_entry(s, &log.entries[i], i < setup, err);
	if (!ok)
		(void)shift_error(err, (size_t)((const char *)log.entries[i - 1].sql.ptr - (const char *)text.ptr));
	mem_free(log.entries);
	return ok;
}
