/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/filter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/buf.h"

enum { FILTER_MATCH_MAX = 100000, FILTER_HEAP_KIB_MAX = 1024 };

bool filter_compile(
	struct filter_pattern *pattern, const char *option, const char *text, struct err *err)
{
	PCRE2_SIZE at;
	int code;

	pattern->code = NULL;
	if (!text)
		return true;
	pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
	if (!pattern->code) {
		PCRE2_UCHAR reason[120];

		pcre2_get_error_message(code, reason, sizeof(reason));
		return err_set(err, ERR_USAGE, "%s: the pattern is wrong at character %zu: %s",
			option, (size_t)at + 1, (const char *)reason);
	}
	return true;
}

bool filter_matches(const struct filter_pattern *pattern, struct span text)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	int count;

	/* A user's name comes from outside: it must not cost more than this. */
	pcre2_set_match_limit(limits, FILTER_MATCH_MAX);
	pcre2_set_heap_limit(limits, FILTER_HEAP_KIB_MAX);
	count = pcre2_match((const pcre2_code *)pattern->code,
		(PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.len, 0, 0, data, limits);
	pcre2_match_context_free(limits);
	pcre2_match_data_free(data);
	return count >= 0;
}

bool filter_wants(const struct filter *filter, struct span user, struct span database)
{
	if (filter->user.code && !filter_matches(&filter->user, user))
		return false;
	if (filter->not_user.code && filter_matches(&filter->not_user, user))
		return false;
	if (filter->database.code && !filter_matches(&filter->database, database))
		return false;
	return !(filter->not_database.code && filter_matches(&filter->not_database, database));
}

bool filter_wants_table(const struct filter *filter, struct span database, struct span table)
{
	struct buf name = BUF_INIT;
	bool wanted;

	buf_add_span(&name, database);
	buf_add_char(&name, '.');
	buf_add_span(&name, table);
	wanted = (!filter->table.code || filter_matches(&filter->table, buf_span(&name))) &&
		 !(filter->not_table.code && filter_matches(&filter->not_table, buf_span(&name)));
	buf_release(&name);
	return wanted;
}

struct search {
	const struct filter *filter;
	struct span database;
	bool named, wanted;
};

static void see_table(void *ctx, const struct sql_table_name *table,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct search *search = ctx;
	struct span database = table->db.len ? table->db : search->database;

	(void)ref;
	(void)access;
	search->named = true;
	search->wanted |= filter_wants_table(search->filter, database, table->name);
}

bool filter_wants_statement(const struct filter *filter, struct span text, struct span database,
	const struct sql_options *options)
{
	struct search search = {.filter = filter, .database = database};
	struct arena arena = ARENA_INIT;
	struct sql_stmt *first = NULL;
	struct err err;
	bool ok;

	if (!filter->table.code && !filter->not_table.code)
		return true;
	ok = sql_parse_multi(&arena, text, options, &first, &err);
	for (; first && !search.wanted; first = first->next) {
		search.named = false;
		sql_stmt_tables(first, see_table, &search);
		if (!search.named)
			search.wanted = true; /* of what it does the text does not tell */
	}
	arena_release(&arena);
	return search.wanted || !ok || !search.named;
}

void filter_pattern_release(struct filter_pattern *pattern)
{
	pcre2_code_free((pcre2_code *)pattern->code);
	pattern->code = NULL;
}

void filter_release(struct filter *filter)
{
	filter_pattern_release(&filter->user);
	filter_pattern_release(&filter->not_user);
	filter_pattern_release(&filter->database);
	filter_pattern_release(&filter->not_database);
	filter_pattern_release(&filter->table);
	filter_pattern_release(&filter->not_table);
}
