/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two clocks of a trace, in nanoseconds, and a moment written for people. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attr.h"

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The one clock all times of a recorder process are taken from. */
static inline uint64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Since 1970, for the anchor in the trace's header only. */
static inline uint64_t clock_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

enum { CLOCK_RFC3339_SIZE = 48 };
/* "2026-11-16T01:58:00.123456789Z"; returns out. */
char *clock_rfc3339(uint64_t wall_ns, char out[CLOCK_RFC3339_SIZE]);
/* The other way, with or without fraction, Z or an offset, from 1970 on; false when it is none. */
bool clock_parse_rfc3339(const char *text, uint64_t *wall_ns) MUST_CHECK;

#endif
