/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <stdio.h>

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
