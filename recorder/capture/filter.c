/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/filter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

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

static bool matches(const struct filter_pattern *pattern, struct span text)
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
	if (filter->user.code && !matches(&filter->user, user))
		return false;
	if (filter->not_user.code && matches(&filter->not_user, user))
		return false;
	if (filter->database.code && !matches(&filter->database, database))
		return false;
	return !(filter->not_database.code && matches(&filter->not_database, database));
}

void filter_release(struct filter *filter)
{
	pcre2_code_free((pcre2_code *)filter->user.code);
	pcre2_code_free((pcre2_code *)filter->not_user.code);
	pcre2_code_free((pcre2_code *)filter->database.code);
	pcre2_code_free((pcre2_code *)filter->not_database.code);
}
