/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histories of a simulated store, for measuring: list-append as Elle's EDN, registers as Plume's
 * text.  Deterministic for a seed.
 */
#ifndef BENCH_HISTORIES_H
#define BENCH_HISTORIES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum store_kind {
	STORE_SERIAL,   /* every transaction at one moment */
	STORE_SNAPSHOT, /* reads at its start, first committer wins */
	STORE_NONE,     /* every operation at its own moment, nothing taken back */
};

struct history_shape {
	bool lists;
	enum store_kind store;
	uint32_t txns, processes;
	uint32_t keys;           /* in use at a time */
	uint32_t writes_per_key; /* then a key is replaced by a fresh one; 0: never */
	uint32_t ops_max;        /* a transaction has 1 to ops_max */
	uint32_t read_percent;
	uint32_t fail_percent; /* aborted for no reason */
	uint32_t same_percent; /* writes of a value that was written before */
	bool zipf;             /* keys by Zipf's law (exponent 0.99), not all alike */
	bool by_session;       /* registers: one session after the other, not as they ended */
	uint64_t seed;
};

void history_write(const struct history_shape *shape, FILE *out);

#endif
