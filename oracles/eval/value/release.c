/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See release.h. */
#include "eval/value/release.h"

/* The last release that is known to lack it, the first that is known to have it. */
static const struct {
	uint32_t last_without, first_with;
	enum eval_limit between; /* refused in the releases between them */
} changes[MYSQL_CHANGES] = {
	[MYSQL_QUOTIENT_ROUNDED] = {80099, 90700, LIMIT_MYSQL81_DIGITS_OF_QUOTIENT_IN_LATER_OPERATIONS},
	[MYSQL_DAYNAME_IS_TEXT] = {80099, 90700, LIMIT_NONE /* never asked: the node is text_only */},
	[MYSQL_YEAR_UNSIGNED] = {80099, 90700, LIMIT_MYSQL81_YEAR_SIGNED_OR_UNSIGNED},
	[MYSQL_INSERT_BY_CHAR] = {80099, 90700, LIMIT_MYSQL81_INSERT_BEHIND_TEXT},
	[MYSQL_EXTRACT_DAY] = {80099, 90700, LIMIT_MYSQL81_EXTRACT_OF_DAYS_AND_HOURS},
	[MYSQL_NO_MINUS_ZERO] = {80099, 90700, LIMIT_MYSQL81_TIME_OF_MINUS_ZERO},
	[MYSQL_DOUBLE_ROUNDED] = {80099, 90700, LIMIT_NONE /* never asked: the node is not_int */},
	[MYSQL_DATE_AS_INTEGER] = {80099, 90700, LIMIT_MYSQL81_DATE_STORED_AS_INTEGER},
	[MYSQL_VARCHAR_AS_DOUBLE] = {80099, 90700, LIMIT_MYSQL81_ERROR_OF_NOT_NUMBER_IN_VARCHAR},
	[MYSQL_NO_DOUBLE_1366] = {80099, 90700, LIMIT_MYSQL81_ERROR_OF_NOT_DOUBLE},
	[MYSQL_NULLIF_AS_DATE] = {80099, 90700, LIMIT_MYSQL81_NULLIF_AS_DATE},
	[MYSQL_MAX_OF_FOLLOWING] = {80099, 90700, LIMIT_MYSQL81_MIN_OR_MAX_OF_ROWS_THAT_FOLLOW},
	[MYSQL_REPEAT_TEXT_FIRST] = {80099, 90700, LIMIT_MYSQL81_ERROR_IN_REPEAT},
	[MYSQL_NO_MD5] = {80099, 90700, LIMIT_MYSQL81_MD5_OR_SHA1},
	[MYSQL_DATE_RANGE_6527] = {80099, 90700, LIMIT_MYSQL81_ERROR_OF_DATE_OUT_OF_RANGE},
};

int mysql_has(const struct eval_env *env, enum mysql_change change)
{
	if (env->flavour != SQL_MYSQL || env->version <= changes[change].last_without)
		return 0;
	return env->version >= changes[change].first_with ? 1 : -1;
}

enum eval_limit mysql_change_limit(enum mysql_change change)
{
	return changes[change].between;
}

bool run_mysql_has(struct run *run, enum mysql_change change)
{
	int has = mysql_has(run->env, change);

	if (has < 0)
		run_unsupported(run, changes[change].between);
	return has > 0;
}

bool mysql_5(const struct eval_env *env)
{
	return env->flavour == SQL_MYSQL && env->version < 80000;
}

bool mysql_5_function(struct span name)
{
	static const char *const names[] = {"addtime", "ceil", "ceiling", "floor", "greatest", "insert",
		"least", "regexp_instr", "regexp_like", "regexp_replace", "regexp_substr", "replace", "round",
		"sec_to_time", "subtime", "timediff", "truncate"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (span_ieq_str(name, names[i]))
			return true;
	}
	return false;
}

int mariadb_2026(const struct eval_env *env)
{
	uint32_t series = env->version / 100, patch = env->version % 100;

	if (env->flavour == SQL_MYSQL || series < 1011)
		return 0;
	if (series == 1011)
		return patch >= 19 ? 1 : patch <= 14 ? 0 : -1;
	if (series == 1108)
		return patch >= 9 ? 1 : patch <= 6 ? 0 : -1;
	return -1;
}
