/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DATE, TIME and DATETIME values: reading, printing, numbers, calendar.  Strings are read where
 * their form leaves no doubt (docs/sql-evaluator.md); other forms, of which the servers accept
 * many, are unsupported.
 */
#ifndef EVAL_VALUE_TEMPORAL_H
#define EVAL_VALUE_TEMPORAL_H

#include "eval/node.h"

enum { TIME_HOUR_MAX = 838 };

void time_print(const struct eval_value *v, uint32_t decimals, struct buf *out);
/* 20240229, 101112, 20240229101112; the fraction cut. */
int64_t time_to_int(const struct eval_value *v);
double time_to_double(const struct eval_value *v);
struct decimal time_to_decimal(const struct eval_value *v);
/* Numbers in the order of time; TIMEs among TIMEs, all others among themselves. */
int64_t time_pack(const struct eval_value *v);
/* Any value as a DATE, TIME or DATETIME; false: NULL (no date, or the run failed). */
bool time_from_value(struct run *run, const struct eval_type *type, const struct eval_value *v,
	enum eval_kind kind, struct eval_value *out) MUST_CHECK;

/* NULL for a cast of what is no date.  Inside a comparison, IF() or MIN() MariaDB asks the cast in
 * another way, and gets 0000-00-00: there it is unsupported. */
struct eval_value no_date(const struct node *n, struct frame *f);

enum time_parse { TIME_PARSED, TIME_INVALID, TIME_UNSURE };
/* A string as a date with or without time.  A string without a time is a DATE. */
enum time_parse time_parse_datetime(
	const struct eval_env *env, struct span s, struct eval_value *out);
enum time_parse time_parse_time(const struct eval_env *env, struct span s, struct eval_value *out);

/* Days since year 0, as TO_DAYS() counts; 0 for 0000-00-00. */
int64_t days_of(uint32_t year, uint32_t month, uint32_t day);
void days_to_date(int64_t days, struct eval_time *t); /* all zero when out of range */
uint32_t days_in_month(uint32_t year, uint32_t month);
uint32_t days_in_year(uint32_t year);
/* 0: Monday */
uint32_t weekday_of(int64_t days, bool sunday_first);
/* A date with month or day 0, or all 0. */
bool date_is_zeroish(const struct eval_time *t);
bool date_is_zero(const struct eval_time *t);
/* Allowed by sql_mode as a value in a query. */
bool date_allowed(const struct eval_env *env, const struct eval_time *t);
/* A zero in it where sql_mode has something against them: NULL to some functions, also where it is stored. */
bool date_is_doubtful(const struct eval_env *env, const struct eval_time *t);
/* Microseconds of a TIME or of the time of day. */
int64_t time_micros(const struct eval_time *t);
struct eval_value time_from_micros(int64_t micros, uint32_t decimals); /* TIME; capped */
/* To fewer digits of the fraction; rounds when asked, else cuts.  False: beyond the last day. */
bool time_set_decimals(struct eval_value *v, uint32_t decimals, bool round) MUST_CHECK;
/* Rounds as the server does: MySQL adds a full second by the calendar, so not to a date with a zero in it. */
bool time_round(const struct eval_env *env, struct eval_value *v, uint32_t decimals) MUST_CHECK;

#endif
