/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/record_filter.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "sql/sql.h"

/* Longer statements are searched for the word alone. */
enum { PARSE_BYTES_MAX = 1024 * 1024 };

struct table_name {
	struct span database, name; /* database: SPAN_NONE when not given; point into argv */
};

struct record_filter {
	struct map sessions, txns;
	struct table_name tables[OPTION_STRINGS_MAX];
	size_t table_count;
	struct arena arena; /* of the statement being parsed */
	struct pattern *match;
	uint64_t from, to;
	bool errors_only;
	bool by_session, by_txn;
};

/* "1,S3,5": numbers, with or without the letter that `show` puts before them. */
bool filter_add_numbers(struct map *map, const struct option_strings *strings, char letter,
	uint64_t max, const char *what, struct err *err)
{
	for (size_t i = 0; i < strings->count; i++) {
		const char *p = strings->items[i];

		while (true) {
			size_t len = strcspn(p, ",");
			char word[24];
			uint64_t number;

			if (*p == letter || *p == letter + ('a' - 'A')) {
				p++;
				len--;
			}
			snprintf(word, sizeof(word), "%.*s", (int)(len < 23 ? len : 23), p);
			if (!parse_uint(word, 0, max, what, &number, err))
				return false;
			map_put(map, number, 1);
			p += len;
			if (!*p)
				break;
			p++;
		}
	}
	return true;
}

static void add_tables(struct record_filter *filter, const struct option_strings *strings)
{
	for (size_t i = 0; i < strings->count; i++) {
		const char *text = strings->items[i], *dot = strchr(text, '.');
		struct table_name *table = &filter->tables[filter->table_count++];

		*table = (struct table_name){SPAN_NONE, span_str(text)};
		if (dot)
			*table = (struct table_name){
				span_of(text, (size_t)(dot - text)), span_str(dot + 1)};
	}
}

/* An offset from the anchor, or a moment on the wall clock. */
bool filter_parse_moment(const char *text, const char *what, uint64_t mono_ns, uint64_t wall_ns,
	uint64_t *out, struct err *err)
{
	uint64_t value;
	struct err ignored;

	if (strlen(text) > 10 && text[4] == '-') {
		if (!clock_parse_rfc3339(text, &value))
			return err_set(err, ERR_USAGE,
				"%s: '%s' is not a moment; write it like 2026-11-16T01:58:00Z or "
				"2026-11-16T01:58:00.5+01:00",
				what, text);
		/* Before the beginning of the monotonic clock: everything is later. */
		if (value < wall_ns && wall_ns - value > mono_ns)
			*out = 0;
		else
			*out = mono_ns + (value - wall_ns);
		return true;
	}
	if (!parse_duration(text, what, &value, &ignored))
		return err_set(err, ERR_USAGE,
			"%s: '%s' is neither an offset (1.5s, 200ms) nor a moment "
			"(2026-11-16T01:58:00Z)",
			what, text);
	*out = mono_ns + value;
	return true;
}

struct record_filter *filter_new(const struct filter_options *options, uint64_t anchor_mono_ns,
	uint64_t anchor_wall_ns, struct err *err)
{
	struct record_filter *filter = mem_zero(1, sizeof(*filter));

	filter->arena = ARENA_INIT;
	filter->to = UINT64_MAX;
	filter->errors_only = options->errors_only;
	filter->by_session = options->session.count > 0;
	filter->by_txn = options->txn.count > 0;
	add_tables(filter, &options->table);
	if (!filter_add_numbers(
		    &filter->sessions, &options->session, 'S', UINT32_MAX, "--session", err) ||
		!filter_add_numbers(&filter->txns, &options->txn, 'T', UINT64_MAX, "--txn", err) ||
		(options->match &&
			!(filter->match = pattern_new(options->match, "--match", err))) ||
		(options->from && !filter_parse_moment(options->from, "--from", anchor_mono_ns,
					  anchor_wall_ns, &filter->from, err)) ||
		(options->to && !filter_parse_moment(options->to, "--to", anchor_mono_ns, anchor_wall_ns,
					&filter->to, err))) {
		filter_free(filter);
		return NULL;
	}
	return filter;
}

void filter_free(struct record_filter *filter)
{
	if (!filter)
		return;
	map_release(&filter->sessions);
	map_release(&filter->txns);
	arena_release(&filter->arena);
	pattern_free(filter->match);
	mem_free(filter);
}

/* The word before sql[at], if a dot and perhaps backquotes stand between: "`db`." */
static struct span qualifier(struct span sql, size_t at)
{
	size_t end, begin;

	if (at > 0 && sql.ptr[at - 1] == '`')
		at--;
	if (at == 0 || sql.ptr[at - 1] != '.')
		return SPAN_NONE;
	end = at - 1;
	if (end > 0 && sql.ptr[end - 1] == '`')
		end--;
	for (begin = end; begin > 0 && char_is_name(sql.ptr[begin - 1]); begin--)
		;
	return span_of(sql.ptr + begin, end - begin);
}

/* The name stands in the text as a word of its own (ASCII letters in either case), be it in a
 * string or as an alias. */
static bool mentions(struct span sql, const struct table_name *table)
{
	struct span name = table->name;

	for (size_t at = 0; name.len && at + name.len <= sql.len; at++) {
		if ((at > 0 && char_is_name(sql.ptr[at - 1])) ||
			(at + name.len < sql.len && char_is_name(sql.ptr[at + name.len])) ||
			!span_ieq(span_of(sql.ptr + at, name.len), name))
			continue;
		struct span database = qualifier(sql, at);

		if (!table->database.ptr || !database.ptr || span_ieq(database, table->database))
			return true;
	}
	return false;
}

struct wanted {
	const struct table_name *table;
	bool found;
};

static void compare_table(void *ctx, const struct sql_table_name *table,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct wanted *wanted = ctx;
	const struct table_name *name = wanted->table;

	(void)ref;
	(void)access;
	if (span_ieq(table->name, name->name) &&
		(!name->database.ptr || !table->db.ptr || span_ieq(table->db, name->database)))
		wanted->found = true;
}

/* The statement uses the table.  Where we cannot parse it, the word decides: showing too much is
 * better than too little. */
static bool uses_table(
	struct record_filter *filter, struct span sql, const struct table_name *table)
{
	const struct sql_options options = sql_options_default();
	struct wanted wanted = {table, false};
	struct sql_stmt *stmt;
	struct err ignored;

	if (!mentions(sql, table))
		return false;
	if (sql.len > PARSE_BYTES_MAX)
		return true;
	arena_clear(&filter->arena);
	if (!sql_parse_multi(&filter->arena, sql, &options, &stmt, &ignored))
		return true;
	for (; stmt && !wanted.found; stmt = stmt->next)
		sql_stmt_tables(stmt, compare_table, &wanted);
	return wanted.found;
}

static bool concerns_table(struct record_filter *filter, const struct filter_facts *facts)
{
	for (size_t i = 0; i < filter->table_count; i++) {
		const struct table_name *wanted = &filter->tables[i];

		if (facts->table && span_ieq(facts->table->name_ref, wanted->name) &&
			(!wanted->database.ptr ||
				span_ieq(facts->table->database_ref, wanted->database)))
			return true;
		if (facts->sql.ptr && uses_table(filter, facts->sql, wanted))
			return true;
	}
	return false;
}

bool filter_passes(struct record_filter *filter, const struct filter_facts *facts)
{
	if (facts->at < filter->from || (facts->begin ? facts->begin : facts->at) > filter->to)
		return false;
	if (facts->is_gap)
		return true;
	if (filter->errors_only && !facts->is_error)
		return false;
	if (filter->by_session &&
		!(facts->has_session && map_get(&filter->sessions, facts->session) != MAP_NONE))
		return false;
	if (filter->by_txn && !(facts->txn && map_get(&filter->txns, facts->txn) != MAP_NONE))
		return false;
	if (filter->table_count && !concerns_table(filter, facts))
		return false;
	if (filter->match) {
		for (size_t i = 0; i < ARRAY_LEN(facts->texts); i++) {
			if (pattern_matches(filter->match, facts->texts[i]))
				return true;
		}
		return false;
	}
	return true;
}

bool filter_needs_stmt(const struct record_filter *filter)
{
	return filter->by_txn || filter->table_count || filter->match || filter->errors_only;
}

bool filter_any(const struct filter_options *options)
{
	return options->session.count || options->txn.count || options->table.count ||
	       options->match || options->from || options->to || options->errors_only;
}

uint64_t filter_match_failures(const struct record_filter *filter)
{
	return filter->match ? pattern_failures(filter->match) : 0;
}
