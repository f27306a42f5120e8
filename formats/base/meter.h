/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far long work has come.  The work names its phase and counts; a command draws that (base/output.h), and other
 * callers leave the meter out.  For the main thread.
 */
#ifndef BASE_METER_H
#define BASE_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct meter {
	/* `phase` is a constant, the same one while the phase lasts.  all 0: not known. */
	void (*show)(void *context, const char *phase, uint64_t done, uint64_t all, bool bytes);
	void *context;
};

/* meter may be NULL. */
static inline void meter_bytes(const struct meter *meter, const char *phase, uint64_t done, uint64_t all)
{
	if (meter && meter->show)
		meter->show(meter->context, phase, done, all, true);
}

static inline void meter_things(const struct meter *meter, const char *phase, uint64_t done, uint64_t all)
{
	if (meter && meter->show)
		meter->show(meter->context, phase, done, all, false);
}

#endif
