/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

char *clock_rfc3339(uint64_t wall_ns, char out[CLOCK_RFC3339_SIZE])
{
	time_t seconds = (time_t)(wall_ns / 1000000000u);
	struct tm tm;
	char day[32];

	if (!gmtime_r(&seconds, &tm) || !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm))
		snprintf(day, sizeof(day), "1970-01-01T00:00:00");
	snprintf(out, CLOCK_RFC3339_SIZE, "%s.%09uZ", day, (unsigned)(wall_ns % 1000000000u));
	return out;
}

/* Exactly `count` digits at *p. */
static bool take_digits(const char **p, int count, int *out)
{
	*out = 0;
	for (int i = 0; i < count; i++, (*p)++) {
		if (**p < '0' || **p > '9')
			return false;
		*out = *out * 10 + (**p - '0');
	}
	return true;
}

static bool take_char(const char **p, const char *allowed)
{
	if (!**p || !strchr(allowed, **p))
		return false;
	(*p)++;
	return true;
}

/* "Z", "+02:00" or "-02:00", in seconds. */
static bool take_zone(const char **p, int *seconds)
{
	int hours, minutes, sign;

	*seconds = 0;
	if (take_char(p, "Zz"))
		return true;
	sign = **p == '-' ? -1 : 1;
	if (!take_char(p, "+-") || !take_digits(p, 2, &hours) || !take_char(p, ":") ||
		!take_digits(p, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* RFC 3339, section 5.6. */
bool clock_parse_rfc3339(const char *text, uint64_t *wall_ns)
{
	struct tm tm = {0};
	const char *p = text;
	uint64_t fraction = 0, unit = 100000000;
	int zone;
	time_t seconds;

	if (!take_digits(&p, 4, &tm.tm_year) || !take_char(&p, "-") ||
		!take_digits(&p, 2, &tm.tm_mon) || !take_char(&p, "-") ||
		!take_digits(&p, 2, &tm.tm_mday) || !take_char(&p, "Tt ") ||
		!take_digits(&p, 2, &tm.tm_hour) || !take_char(&p, ":") ||
		!take_digits(&p, 2, &tm.tm_min) || !take_char(&p, ":") ||
		!take_digits(&p, 2, &tm.tm_sec))
		return false;
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
			fraction += (uint64_t)(*p - '0') * unit;
	}
	if (!take_zone(&p, &zone) || *p || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
		tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	seconds = timegm(&tm) - zone;
	/* 64 bits of nanoseconds end in 2554. */
	if (seconds < 0 || seconds > 18446744072)
		return false;
	*wall_ns = (uint64_t)seconds * 1000000000u + fraction;
	return true;
}
