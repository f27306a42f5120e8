/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See temporal.h.  The calendar is the proleptic Gregorian one, as in the servers. */
#include "base/chars.h"
#include "eval/value/temporal.h"

#include <string.h>

#include "eval/limits/value_guards.h"
#include "eval/value/release.h"

static const uint32_t pow10_table[7] = {1, 10, 100, 1000, 10000, 100000, 1000000};

/* ---- calendar ---- */

static bool is_leap(uint32_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || (year % 400 == 0 && year != 0));
}

uint32_t days_in_year(uint32_t year)
{
	return is_leap(year) ? 366 : 365;
}

uint32_t days_in_month(uint32_t year, uint32_t month)
{
	static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	if (month < 1 || month > 12)
		return 31;
	return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* The servers count from year 0, which has no leap day for them. */
int64_t days_of(uint32_t year, uint32_t month, uint32_t day)
{
	int64_t days, y = year;

	if (year == 0 && month == 0)
		return 0;
	days = 365 * y + 31 * ((int64_t)month - 1) + day;
	if (month <= 2)
		y--;
	else
		days -= ((int64_t)month * 4 + 23) / 10;
	return days + y / 4 - ((y / 100 + 1) * 3) / 4;
}

void days_to_date(int64_t days, struct eval_time *t)
{
	uint32_t year, month = 1;
	int64_t left;

	t->year = t->month = t->day = 0;
	if (days <= 365 || days >= 3652500)
		return;
	year = (uint32_t)(days * 100 / 36525);
	left = days - days_of(year, 1, 1) + 1;
	while (left > days_in_year(year)) {
		left -= days_in_year(year);
		year++;
	}
	while (left < 1) {
		year--;
		left += days_in_year(year);
	}
	while (left > days_in_month(year, month)) {
		left -= days_in_month(year, month);
		month++;
	}
	t->year = (uint16_t)year;
	t->month = (uint8_t)month;
	t->day = (uint8_t)left;
}

uint32_t weekday_of(int64_t days, bool sunday_first)
{
	return (uint32_t)((days + 5 + sunday_first) % 7);
}

bool date_is_zero(const struct eval_time *t)
{
	return !t->year && !t->month && !t->day;
}

bool date_is_zeroish(const struct eval_time *t)
{
	return !t->month || !t->day;
}

bool date_allowed(const struct eval_env *env, const struct eval_time *t)
{
	if (t->month > 12 || t->day > 31 || t->year > 9999)
		return false;
	if (!(env->mode & EVAL_MODE_ALLOW_INVALID_DATES) && t->month &&
		t->day > days_in_month(t->year, t->month))
		return false;
	if (date_is_zero(t))
		return !(env->mode & EVAL_MODE_NO_ZERO_DATE);
	if (date_is_zeroish(t))
		return !(env->mode & EVAL_MODE_NO_ZERO_IN_DATE);
	return true;
}

bool date_is_doubtful(const struct eval_env *env, const struct eval_time *t)
{
	return date_is_zeroish(t) && (env->mode & (EVAL_MODE_NO_ZERO_DATE | EVAL_MODE_NO_ZERO_IN_DATE));
}

/* ---- numbers and text ---- */

static int64_t date_number(const struct eval_time *t)
{
	return t->year * 10000 + t->month * 100 + t->day;
}

static int64_t clock_number(const struct eval_time *t)
{
	return t->hour * 10000 + t->minute * 100 + t->second;
}

int64_t time_to_int(const struct eval_value *v)
{
	switch (v->kind) {
	case EVAL_DATE:
		return date_number(&v->t);
	case EVAL_TIME:
		return v->t.neg ? -clock_number(&v->t) : clock_number(&v->t);
	default:
		return date_number(&v->t) * 1000000 + clock_number(&v->t);
	}
}

struct decimal time_to_decimal(const struct eval_value *v)
{
	int64_t number = time_to_int(v);
	struct decimal whole = decimal_from_int(number < 0 ? -number : number), micros, sum;

	/* Six digits whatever the type, or none: it shows in the digits of quotients. */
	if (!v->t.micro || v->kind == EVAL_DATE)
		return decimal_from_int(number);
	micros = decimal_from_uint(v->t.micro);
	micros.scale = 6;
	if (!decimal_add(&whole, &micros, &sum))
		return whole;
	sum.neg = sum.count && v->kind == EVAL_TIME && v->t.neg;
	return sum;
}

double time_to_double(const struct eval_value *v)
{
	double d = (double)time_to_int(v), f = v->kind == EVAL_DATE ? 0 : v->t.micro / 1e6;

	return v->kind == EVAL_TIME && v->t.neg ? d - f : d + f;
}

int64_t time_micros(const struct eval_time *t)
{
	int64_t m = ((t->hour * 60 + t->minute) * 60 + t->second) * 1000000ll + t->micro;

	return t->neg ? -m : m;
}

int64_t time_pack(const struct eval_value *v)
{
	const struct eval_time *t = &v->t;
	int64_t days;

	if (v->kind == EVAL_TIME)
		return time_micros(t);
	days = ((int64_t)t->year * 13 + t->month) * 32 + t->day;
	if (v->kind == EVAL_DATE)
		return days * 86400000000ll;
	return days * 86400000000ll + ((t->hour * 60 + t->minute) * 60 + t->second) * 1000000ll +
	       t->micro;
}

static void print_fraction(uint32_t micro, uint32_t decimals, struct buf *out)
{
	if (decimals > 6)
		decimals = 6;
	if (decimals)
		buf_printf(out, ".%0*u", (int)decimals, micro / pow10_table[6 - decimals]);
}

void time_print(const struct eval_value *v, uint32_t decimals, struct buf *out)
{
	const struct eval_time *t = &v->t;

	if (v->kind == EVAL_TIME) {
		buf_printf(
			out, "%s%02u:%02u:%02u", t->neg ? "-" : "", t->hour, t->minute, t->second);
		print_fraction(t->micro, decimals, out);
		return;
	}
	buf_printf(out, "%04u-%02u-%02u", t->year, t->month, t->day);
	if (v->kind == EVAL_DATETIME) {
		buf_printf(out, " %02u:%02u:%02u", t->hour, t->minute, t->second);
		print_fraction(t->micro, decimals, out);
	}
}

struct eval_value time_from_micros(int64_t micros, uint32_t decimals)
{
	struct eval_value v = {.kind = EVAL_TIME, .decimals = (uint8_t)decimals};
	uint64_t m = micros < 0 ? 0 - (uint64_t)micros : (uint64_t)micros;
	const uint64_t most = ((TIME_HOUR_MAX * 60ull + 59) * 60 + 59) * 1000000;

	v.t.neg = micros < 0;
	if (m > most)
		m = most;
	v.t.micro = (uint32_t)(m % 1000000);
	m /= 1000000;
	v.t.second = (uint8_t)(m % 60);
	v.t.minute = (uint8_t)(m / 60 % 60);
	v.t.hour = (uint16_t)(m / 3600);
	return v;
}

bool time_set_decimals(struct eval_value *v, uint32_t decimals, bool round)
{
	uint32_t unit = pow10_table[6 - (decimals > 6 ? 6 : decimals)], rest;

	v->decimals = (uint8_t)(decimals > 6 ? 6 : decimals);
	if (v->kind == EVAL_DATE)
		return true;
	rest = v->t.micro % unit;
	v->t.micro -= rest;
	if (!round || rest < unit / 2 || unit == 1) {
		if (v->kind == EVAL_TIME && !time_micros(&v->t))
			v->t.neg = false;
		return true;
	}
	if (v->kind == EVAL_TIME) {
		bool neg = v->t.neg;

		v->t.neg = false;
		*v = time_from_micros(time_micros(&v->t) + unit, v->decimals);
		v->t.neg = neg;
		return true;
	}
	v->t.micro += unit;
	if (v->t.micro < 1000000)
		return true;
	v->t.micro = 0;
	if (++v->t.second < 60)
		return true;
	v->t.second = 0;
	if (++v->t.minute < 60)
		return true;
	v->t.minute = 0;
	if (++v->t.hour < 24)
		return true;
	v->t.hour = 0;
	if (date_is_zeroish(&v->t))
		return false;
	days_to_date(days_of(v->t.year, v->t.month, v->t.day) + 1, &v->t);
	return v->t.year != 0 && v->t.year <= 9999;
}

bool time_round(const struct eval_env *env, struct eval_value *v, uint32_t decimals)
{
	uint8_t second = v->t.second;

	if (!time_set_decimals(v, decimals, true))
		return false;
	return v->kind != EVAL_DATETIME || env->flavour == SQL_MARIADB || !date_is_zeroish(&v->t) ||
	       v->t.second == second;
}

/* ---- reading strings ---- */

struct time_reader {
	const char *p, *end;
};

static uint32_t digits_ahead(const struct time_reader *r)
{
	uint32_t n = 0;

	while (r->p + n < r->end && char_is_digit(r->p[n]))
		n++;
	return n;
}

static uint32_t take(struct time_reader *r, uint32_t digits)
{
	uint32_t n = 0;

	for (; digits; digits--)
		n = n * 10 + (uint32_t)(*r->p++ - '0');
	return n;
}

static bool take_char(struct time_reader *r, char c)
{
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static void skip_blanks(struct time_reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || (*r->p >= '\t' && *r->p <= '\r')))
		r->p++;
}

/* ".123456": false when there are more digits than a value holds. */
static bool take_fraction(struct time_reader *r, struct eval_value *out)
{
	uint32_t n;

	out->decimals = 0;
	if (!take_char(r, '.'))
		return true;
	n = digits_ahead(r);
	if (n == 0 || n > 6)
		return false;
	out->decimals = (uint8_t)n;
	out->t.micro = take(r, n) * pow10_table[6 - n];
	return true;
}

static bool take_clock(struct time_reader *r, struct eval_value *out)
{
	uint32_t n = digits_ahead(r);

	if (n == 0 || n > 2)
		return false;
	out->t.hour = (uint16_t)take(r, n);
	if (!take_char(r, ':') || (n = digits_ahead(r)) == 0 || n > 2)
		return false;
	out->t.minute = (uint8_t)take(r, n);
	if (!take_char(r, ':'))
		return true;
	if ((n = digits_ahead(r)) == 0 || n > 2)
		return false;
	out->t.second = (uint8_t)take(r, n);
	return take_fraction(r, out);
}

static uint16_t two_digit_year(uint32_t year)
{
	return (uint16_t)(year < 70 ? 2000 + year : 1900 + year);
}

/* What begins with other than a digit: nothing when a letter stands there or no digit follows; the
 * servers skip some signs. */
static enum time_parse no_digits(const struct time_reader *r)
{
	if (r->p == r->end || (*r->p | 32) >= 'a')
		return TIME_INVALID;
	if (*r->p == '.') /* no seconds, to MySQL */
		return TIME_UNSURE;
	for (const char *p = r->p; p < r->end; p++) {
		if (char_is_digit(*p))
			return TIME_UNSURE;
	}
	return TIME_INVALID;
}

enum time_parse time_parse_datetime(
	const struct eval_env *env, struct span s, struct eval_value *out)
{
	struct time_reader r = {s.ptr, s.ptr + s.len};
	struct eval_value v = {.kind = EVAL_DATE};
	const char *clock;
	bool short_year;
	uint32_t n;

	skip_blanks(&r);
	while (r.end > r.p && r.end[-1] == ' ')
		r.end--;
	n = digits_ahead(&r);
	if (n == 0)
		return no_digits(&r);
	if (r.p + n == r.end) {
		/* MySQL takes no blank after digits alone. */
		if (env->flavour == SQL_MYSQL && r.end != s.ptr + s.len)
			return TIME_UNSURE;
		if (n != 6 && n != 8 && n != 12 && n != 14)
			return TIME_UNSURE;
		short_year = n == 6 || n == 12;
		v.t.year = short_year ? two_digit_year(take(&r, 2)) : (uint16_t)take(&r, 4);
		v.t.month = (uint8_t)take(&r, 2);
		v.t.day = (uint8_t)take(&r, 2);
		if (n > 8) {
			v.kind = EVAL_DATETIME;
			v.t.hour = (uint16_t)take(&r, 2);
			v.t.minute = (uint8_t)take(&r, 2);
			v.t.second = (uint8_t)take(&r, 2);
		}
	} else {
		char sep = r.p[n];

		if ((n != 4 && n != 2) || (sep != '-' && sep != '/'))
			return TIME_UNSURE;
		short_year = n == 2;
		v.t.year = short_year ? two_digit_year(take(&r, 2)) : (uint16_t)take(&r, 4);
		r.p++;
		n = digits_ahead(&r);
		if (n == 0 || n > 2)
			return TIME_UNSURE;
		v.t.month = (uint8_t)take(&r, n);
		if (!take_char(&r, sep) || (n = digits_ahead(&r)) == 0 || n > 2)
			return TIME_UNSURE;
		v.t.day = (uint8_t)take(&r, n);
		if (r.p < r.end) {
			if (!take_char(&r, ' ') && !take_char(&r, 'T'))
				return TIME_UNSURE;
			v.kind = EVAL_DATETIME;
			clock = r.p;
			if (!take_clock(&r, &v) || r.p != r.end)
				return TIME_UNSURE;
			/* MySQL takes no blank after a clock without seconds. */
			if (env->flavour == SQL_MYSQL && r.end != s.ptr + s.len &&
				memchr(clock, ':', (size_t)(r.end - clock)) ==
					memrchr(clock, ':', (size_t)(r.end - clock)))
				return TIME_UNSURE;
		}
	}
	if (v.t.month > 12 || v.t.day > 31 || v.t.hour > 23 || v.t.minute > 59 || v.t.second > 59)
		return TIME_INVALID;
	/* '00-00-00' is no day of the year 2000: the zero date. */
	if (v.t.year == 2000 && !v.t.month && !v.t.day && short_year) {
		if (v.t.hour || v.t.minute || v.t.second || v.t.micro)
			return TIME_UNSURE;
		v.t.year = 0;
	}
	*out = v;
	return TIME_PARSED;
}

enum time_parse time_parse_time(const struct eval_env *env, struct span s, struct eval_value *out)
{
	enum { SHORTEST_DATETIME = 12 }; /* 240229101112 */
	struct time_reader r = {s.ptr, s.ptr + s.len};
	struct eval_value v = {.kind = EVAL_TIME};
	uint32_t n, days = 0;
	enum time_parse whole;

	skip_blanks(&r);
	while (r.end > r.p && r.end[-1] == ' ')
		r.end--;
	/* So long with its blanks, MySQL takes it for a date. */
	if (env->flavour == SQL_MYSQL && r.end < s.ptr + s.len && s.ptr + s.len - r.p >= SHORTEST_DATETIME)
		return TIME_UNSURE;
	v.t.neg = take_char(&r, '-');
	n = digits_ahead(&r);
	/* MySQL takes 'e1' for 0. */
	if (n == 0)
		return v.t.neg || r.p == r.end || *r.p == 'e' || *r.p == 'E' ? TIME_UNSURE : no_digits(&r);
	if (n == 4 && r.p + 4 < r.end && (r.p[4] == '-' || r.p[4] == '/')) {
		if (v.t.neg)
			return TIME_UNSURE;
		whole = time_parse_datetime(env, s, &v);
		if (whole != TIME_PARSED)
			return TIME_UNSURE;
		if (v.kind == EVAL_DATE)
			return TIME_UNSURE;
		v.kind = EVAL_TIME;
		v.t.year = 0;
		v.t.month = v.t.day = 0;
		*out = v;
		return TIME_PARSED;
	}
	if (r.p + n == r.end || r.p[n] == '.') {
		uint32_t number;

		if (n > 7)
			return TIME_UNSURE;
		number = take(&r, n);
		v.t.hour = (uint16_t)(number / 10000);
		v.t.minute = (uint8_t)(number / 100 % 100);
		v.t.second = (uint8_t)(number % 100);
		if (!take_fraction(&r, &v) || r.p != r.end)
			return TIME_UNSURE;
	} else {
		if (r.p[n] == ' ' && n <= 2) {
			days = take(&r, n);
			r.p++;
			n = digits_ahead(&r);
			if (n == 0 || n > 2 || r.p + n == r.end)
				return TIME_UNSURE;
		}
		if (n > 3 || r.p + n == r.end || r.p[n] != ':')
			return TIME_UNSURE;
		v.t.hour = (uint16_t)(take(&r, n) + days * 24);
		r.p++;
		n = digits_ahead(&r);
		if (n == 0 || n > 2)
			return TIME_UNSURE;
		v.t.minute = (uint8_t)take(&r, n);
		if (take_char(&r, ':')) {
			n = digits_ahead(&r);
			if (n == 0 || n > 2)
				return TIME_UNSURE;
			v.t.second = (uint8_t)take(&r, n);
			if (!take_fraction(&r, &v))
				return TIME_UNSURE;
		}
		if (r.p != r.end)
			return TIME_UNSURE;
	}
	if (v.t.minute > 59 || v.t.second > 59)
		return TIME_INVALID;
	if (v.t.hour > TIME_HOUR_MAX)
		return TIME_UNSURE;
	if (!time_micros(&v.t)) {
		if (v.t.neg && env->flavour == SQL_MYSQL && mysql_has(env, MYSQL_NO_MINUS_ZERO) != 1)
			return TIME_UNSURE;
		v.t.neg = false;
	}
	*out = v;
	return TIME_PARSED;
}

/* ---- reading numbers ---- */

/* 20240229, 240229, 20240229101112, 240229101112 (the manual, "Date and Time Literals"). */
static bool datetime_from_number(uint64_t n, struct eval_value *out)
{
	struct eval_value v = {.kind = EVAL_DATE};

	if (n == 0) {
		*out = v;
		return true;
	}
	if (n < 10000101000000ull) {
		if (n < 101)
			return false;
		if (n <= 691231)
			n += 20000000;
		else if (n < 700101)
			return false;
		else if (n <= 991231)
			n += 19000000;
		else if (n < 10000101 && n > 991231)
			return false;
		else if (n > 99991231) {
			if (n < 101000000)
				return false;
			v.kind = EVAL_DATETIME;
			if (n <= 691231235959ull)
				n += 20000000000000ull;
			else if (n < 700101000000ull)
				return false;
			else if (n <= 991231235959ull)
				n += 19000000000000ull;
			else
				return false;
		}
	} else {
		v.kind = EVAL_DATETIME;
	}
	if (v.kind == EVAL_DATETIME) {
		v.t.second = (uint8_t)(n % 100);
		v.t.minute = (uint8_t)(n / 100 % 100);
		v.t.hour = (uint16_t)(n / 10000 % 100);
		n /= 1000000;
	}
	if (n > 99991231)
		return false;
	v.t.day = (uint8_t)(n % 100);
	v.t.month = (uint8_t)(n / 100 % 100);
	v.t.year = (uint16_t)(n / 10000);
	if (v.t.month > 12 || v.t.day > 31 || v.t.hour > 23 || v.t.minute > 59 || v.t.second > 59)
		return false;
	*out = v;
	return true;
}

static bool time_from_number(bool neg, uint64_t n, struct eval_value *out, bool *unsure)
{
	struct eval_value v = {.kind = EVAL_TIME};

	if (n > 8385959) {
		*unsure = true;
		return false;
	}
	v.t.neg = neg && n;
	v.t.hour = (uint16_t)(n / 10000);
	v.t.minute = (uint8_t)(n / 100 % 100);
	v.t.second = (uint8_t)(n % 100);
	*out = v;
	return v.t.minute < 60 && v.t.second < 60;
}

/* A number with or without fraction. */
static bool from_number(struct run *run, const struct eval_type *type, const struct eval_value *v,
	enum eval_kind kind, struct eval_value *out)
{
	struct decimal d = to_decimal(run, type, v), whole, fraction;
	uint32_t micro = 0, decimals = 0;
	bool overflow, unsure = false;
	uint64_t n;
	bool neg = d.neg;

	if (number_as_time_refused(run, type, v, &d))
		return false;
	d.neg = false;
	if (!decimal_round(&d, 0, DECIMAL_TRUNCATE, &whole))
		return false;
	n = decimal_to_uint(&whole, &overflow);
	if (overflow && kind == EVAL_TIME)
		run_gives_up(run, LIMIT_LARGE_NUMBER_AS_TIME);
	if (overflow)
		return false;
	if (d.scale && decimal_sub(&d, &whole, &fraction) && fraction.count) {
		if (!decimal_round(&fraction, 6, DECIMAL_TRUNCATE, &fraction))
			return false;
		fraction.scale = 0;
		micro = (uint32_t)decimal_to_uint(&fraction, &overflow);
		if (fraction_as_time_refused(run, kind, &d, micro))
			return false;
		decimals = d.scale > 6 ? 6 : d.scale;
	}
	if (small_number_as_date_refused(run, kind, n))
		return false;
	if (kind == EVAL_TIME) {
		if (!time_from_number(neg, n, out, &unsure)) {
			if (unsure)
				run_gives_up(run, LIMIT_LARGE_NUMBER_AS_TIME);
			return false;
		}
		out->t.neg = neg && (n || micro);
		if (neg && !out->t.neg && d.count)
			minus_zero_refused(run);
	} else {
		if (neg || large_number_as_date_refused(run, n))
			return false;
		if (!datetime_from_number(n, out)) {
			no_date_number_refused(run);
			return false;
		}
		if (fraction_as_date_refused(run, out, micro))
			return false;
	}
	out->t.micro = micro;
	out->decimals = (uint8_t)decimals;
	return true;
}

static bool time_value(struct run *run, const struct eval_type *type, const struct eval_value *v,
	enum eval_kind kind, struct eval_value *out)
{
	struct eval_value r = *v;
	enum time_parse parsed;

	if (v->kind == EVAL_NULL || as_time_refused(run, type, v))
		return false;
	if (type->kind == EVAL_T_YEAR) /* a date without month and day */
		r = (struct eval_value){.kind = EVAL_DATE, .t.year = (uint16_t)v->u};
	if (r.kind == EVAL_STRING) {
		parsed = kind == EVAL_TIME ? time_parse_time(run->env, v->s, &r)
					   : time_parse_datetime(run->env, v->s, &r);
		if (parsed == TIME_UNSURE)
			run_gives_up(run, LIMIT_STRING_IN_ANOTHER_FORM_AS_DATE_OR_TIME);
		if (parsed == TIME_INVALID)
			no_time_text_refused(run, kind);
		if (parsed != TIME_PARSED)
			return false;
	} else if (r.kind < EVAL_DATE) {
		if (!from_number(run, type, v, kind, &r))
			return false;
	}
	if (kind == EVAL_TIME) {
		if (r.kind == EVAL_DATE) {
			r.t = (struct eval_time){0};
			r.decimals = 0;
		} else if (r.kind == EVAL_DATETIME) {
			r.t.year = 0;
			r.t.month = r.t.day = 0;
		}
	} else {
		if (r.kind == EVAL_TIME) {
			struct eval_value base = {.kind = EVAL_DATE, .t = run->env->now};
			int64_t days, micros = time_micros(&r.t);

			if (time_as_date_refused(run, type, &r.t))
				return false;
			if (!run->env->has_now) {
				run_gives_up(run, LIMIT_TIME_AS_DATE_CURRENT_DATE_IS_NOT_KNOWN);
				return false;
			}
			days = days_of(base.t.year, base.t.month, base.t.day);
			days += micros / 86400000000ll;
			micros %= 86400000000ll;
			if (micros < 0) {
				days--;
				micros += 86400000000ll;
			}
			{
				uint8_t decimals = r.decimals;

				r = time_from_micros(micros, decimals);
			}
			days_to_date(days, &r.t);
		}
		if (doubtful_date_refused(run, v, &r.t))
			return false;
		if (!date_allowed(run->env, &r.t)) {
			if (v->kind < EVAL_STRING)
				no_date_number_refused(run);
			return false;
		}
		if (kind == EVAL_DATE) {
			r.t.hour = 0;
			r.t.minute = r.t.second = 0;
			r.t.micro = 0;
			r.decimals = 0;
		}
	}
	r.kind = (uint8_t)kind;
	*out = r;
	return true;
}

bool time_from_value(struct run *run, const struct eval_type *type, const struct eval_value *v,
	enum eval_kind kind, struct eval_value *out)
{
	if (time_value(run, type, v, kind, out))
		return true;
	if (v->kind != EVAL_NULL && !run->failed)
		run_truncated(run);
	return false;
}

struct eval_value no_date(const struct node *n, struct frame *f)
{
	nested_no_date_refused(f->run, n);
	return EVAL_NULL_VALUE;
}
