/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UNIX_TIMESTAMP, FROM_UNIXTIME, CONVERT_TZ, where zones are offsets from UTC.  What a named zone is only the
 * server's tables know, and clocks that are put back make two moments of one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "eval/compile.h"
#include "eval/function/time.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"

enum { SECONDS_A_DAY = 86400 };

static int64_t epoch_seconds(const struct eval_value *v)
{
	return (days_in(v) - days_of(1970, 1, 1)) * SECONDS_A_DAY + (v->t.hour * 60 + v->t.minute) * 60 + v->t.second;
}

struct eval_value eval_moment(int64_t seconds, uint32_t micro, uint32_t decimals)
{
	struct eval_value v = {.kind = EVAL_DATETIME, .decimals = (uint8_t)decimals};
	int64_t days = seconds / SECONDS_A_DAY, rest = seconds % SECONDS_A_DAY;

	if (rest < 0)
		days--, rest += SECONDS_A_DAY;
	days_to_date(days + days_of(1970, 1, 1), &v.t);
	v.t.hour = (uint16_t)(rest / 3600);
	v.t.minute = (uint8_t)(rest / 60 % 60);
	v.t.second = (uint8_t)(rest % 60);
	v.t.micro = micro;
	return v;
}

/* The digits of the fraction that the result has: those of the type, those that a literal has, six of a column of
 * texts (Item::datetime_precision of both servers). */
static uint32_t fraction_of(const struct node *arg)
{
	uint32_t digits = 0;
	struct span s;
	const char *dot;

	if (type_is_temporal(&arg->type))
		return arg->type.decimals;
	if (!arg->literal || arg->u.value.kind != EVAL_STRING)
		return arg->type.kind == EVAL_T_NULL ? 0 : 6;
	s = arg->u.value.s;
	dot = s.len ? memchr(s.ptr, '.', s.len) : NULL;
	while (dot && ++dot < s.ptr + s.len && char_is_digit(*dot) && digits < 6)
		digits++;
	return digits;
}

/* The first argument as a moment on the clock; false: NULL. */
static bool clock_time(const struct node *n, struct frame *f, struct eval_value *out)
{
	struct eval_value v = node_run(n->args[0], f);
	bool is_date;

	if (v.kind == EVAL_NULL || f->run->failed)
		return false;
	is_date = time_from_value(f->run, &n->args[0]->type, &v, EVAL_DATETIME, out);
	return !no_date_in_zone_refused(f->run, is_date) && !has_zeros(f->run, out);
}

/* ---- UNIX_TIMESTAMP ---- */

static struct node *compile_unix_timestamp(struct compiler *c, struct node *n, const struct function *function)
{
	uint32_t decimals = fraction_of(n->args[0]);

	(void)function;
	if (moment_type_refused(c, n->args[0]))
		return NULL;
	n->type = decimals ? type_decimal(16 + decimals, decimals) : type_int(false);
	/* Item_timeval_func::val_int of MySQL cuts what others round. */
	n->type.not_int = decimals && c->env->flavour == SQL_MYSQL;
	return n;
}

static struct eval_value run_unix_timestamp(const struct node *n, struct frame *f)
{
	uint32_t decimals = n->type.kind == EVAL_T_DECIMAL ? n->type.decimals : 0;
	struct eval_value v;
	struct decimal d, digits;
	int64_t seconds;

	if (!clock_time(n, f, &v) || zone_refused(f->run))
		return EVAL_NULL_VALUE;
	seconds = epoch_seconds(&v) - f->run->env->zone_seconds;
	if (moment_refused(f->run, seconds))
		return EVAL_NULL_VALUE;
	if (!decimals)
		return eval_int(seconds);
	d = decimal_from_int(seconds * 1000000 + v.t.micro);
	d.scale = 6;
	if (!decimal_round(&d, decimals, DECIMAL_TRUNCATE, &digits))
		return run_gives_up(f->run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
	return make_decimal(f->run, &digits);
}

/* ---- FROM_UNIXTIME ---- */

static struct node *compile_from_unixtime(struct compiler *c, struct node *n, const struct function *function)
{
	const struct eval_type *t = &n->args[0]->type;

	(void)function;
	if (from_unixtime_refused(c, n))
		return NULL;
	n->type = type_temporal(EVAL_T_DATETIME, t->kind == EVAL_T_DECIMAL ? t->decimals : 0);
	return n;
}

static struct eval_value run_from_unixtime(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct decimal d;
	int64_t micros;
	bool overflow;

	if (v.kind == EVAL_NULL || f->run->failed || zone_refused(f->run))
		return EVAL_NULL_VALUE;
	d = to_decimal(f->run, &n->args[0]->type, &v);
	if (!decimal_round(&d, 6, DECIMAL_TRUNCATE, &d))
		return run_gives_up(f->run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
	d.scale = 0;
	micros = decimal_to_int(&d, &overflow);
	if (moment_refused(f->run, overflow ? -1 : micros / 1000000))
		return EVAL_NULL_VALUE;
	return eval_moment(micros / 1000000 + f->run->env->zone_seconds, (uint32_t)(micros % 1000000), n->type.decimals);
}

/* ---- CONVERT_TZ ---- */

struct shift {
	int32_t from, to; /* seconds east of UTC */
};

bool eval_zone_offset(struct span s, int32_t *seconds)
{
	bool west = s.len && s.ptr[0] == '-';
	size_t digits = s.len == 6 ? 2 : 1;
	int32_t hours = 0, minutes;

	if ((s.len != 5 && s.len != 6) || (!west && s.ptr[0] != '+') || s.ptr[digits + 1] != ':')
		return false;
	for (size_t i = 1; i < s.len; i++) {
		if (i != digits + 1 && !char_is_digit(s.ptr[i]))
			return false;
	}
	for (size_t i = 1; i <= digits; i++)
		hours = hours * 10 + (s.ptr[i] - '0');
	minutes = (s.ptr[s.len - 2] - '0') * 10 + (s.ptr[s.len - 1] - '0');
	*seconds = (hours * 60 + minutes) * 60 * (west ? -1 : 1);
	return hours <= 14 && minutes < 60 && !(west && !*seconds);
}

/* All releases have these. */
static bool zone_of(const struct node *arg, int32_t *seconds)
{
	return arg->literal && arg->u.value.kind == EVAL_STRING && eval_zone_offset(arg->u.value.s, seconds) &&
	       abs(*seconds) < 13 * 3600;
}

static struct node *compile_convert_tz(struct compiler *c, struct node *n, const struct function *function)
{
	struct shift *shift = arena_zero(c->arena, sizeof(*shift));
	bool known = zone_of(n->args[1], &shift->from) && zone_of(n->args[2], &shift->to);

	(void)function;
	if (named_zone_refused(c, known) || moment_type_refused(c, n->args[0]))
		return NULL;
	n->u.data = shift;
	n->type = type_temporal(EVAL_T_DATETIME, fraction_of(n->args[0]));
	return n;
}

static struct eval_value run_convert_tz(const struct node *n, struct frame *f)
{
	const struct shift *shift = n->u.data;
	struct eval_value v;
	int64_t seconds;

	if (!clock_time(n, f, &v))
		return EVAL_NULL_VALUE;
	seconds = epoch_seconds(&v) - shift->from;
	if (moment_refused(f->run, seconds))
		return EVAL_NULL_VALUE;
	return eval_moment(seconds + shift->to, v.t.micro, n->type.decimals);
}

const struct function functions_time_zone[] = {
	{"unix_timestamp", 1, 1, compile_unix_timestamp, run_unix_timestamp, 0},
	{"from_unixtime", 1, 2, compile_from_unixtime, run_from_unixtime, 0},
	{"convert_tz", 3, 3, compile_convert_tz, run_convert_tz, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
