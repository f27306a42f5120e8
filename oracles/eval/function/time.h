/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files with date and time functions share. */
#ifndef EVAL_FUNCTION_TIME_H
#define EVAL_FUNCTION_TIME_H

#include "eval/value/temporal.h"

#define DAY_MICROS 86400000000ll

/* An argument as a DATE, TIME or DATETIME; false: NULL. */
bool time_arg(const struct node *n, struct frame *f, uint32_t i, enum eval_kind kind,
	struct eval_value *out) MUST_CHECK;
/* Dates that calendars know; the others make the function unsupported. */
bool whole_date(const struct node *n, struct frame *f, uint32_t i, enum eval_kind kind,
	struct eval_value *out) MUST_CHECK;
int64_t days_in(const struct eval_value *v);
/* The time of day, or the TIME without its sign. */
int64_t clock_micros(const struct eval_value *v);
/* Smaller than a day. */
bool unit_is_time(enum sql_unit unit);
/* Do the amounts of INTERVAL in this unit change more than the date? */
bool interval_has_time(enum sql_unit unit);
/* Digits of the fraction of seconds that a value of this type may have. */
uint32_t time_decimals(const struct eval_type *type);
node_fn run_timestampdiff;
/* TIMEDIFF: as a date it is NULL to some functions of MariaDB and none to others. */
bool node_is_timediff(const struct node *n);

enum { WEEK_MONDAY = 1, WEEK_YEAR = 2, WEEK_FIRST_WEEKDAY = 4 };

/* A date with zeros has rules of its own in some functions. */
bool has_zeros(struct run *run, const struct eval_value *v);
bool part_arg(
	const struct node *n, struct frame *f, enum eval_kind kind, struct eval_value *out);
bool date_wanted(const struct node *n, struct frame *f, uint32_t i);
/* The manual's table of modes for WEEK(), as three properties: which day weeks begin with, whether
 * days before the first week count as week 0 or as the last week of the year before, and whether
 * the first week is that with the first such day or with four days of the year. */
uint32_t week_of(const struct eval_time *t, uint32_t behaviour, uint32_t *year);

#endif
