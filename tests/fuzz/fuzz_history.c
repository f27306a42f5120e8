/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer target: the input's bytes are the records of a block.  Whatever they say, the loader
 * ends, stays in bounds, and its history keeps the invariants (asserted inside, and once more as a
 * whole).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/history/load.h"
#include "mutate_units.h"
#include "trace/msgpack_cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A value, or the head of an array, whose values are units of their own. */
static size_t value_length(const uint8_t *data, size_t left)
{
	struct mp whole = mp_over(span_of((const char *)data, left)), inner = whole;

	mp_array(&inner);
	if (!inner.bad)
		return (size_t)(inner.p - whole.p);
	return mp_skip(&whole) ? (size_t)(whole.p - data) : 1;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
	static const struct unit_shape values = {value_length, NULL, 0, 1024};

	return mutate_units(&values, data, size, size_max, seed);
}


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct history history;
	struct err err;

	if (!history_load_records(&history, span_of(data, size), NULL, &err))
		abort(); /* no input of a fuzzer's size meets a limit */
	history_check(&history);
	history_release(&history);
	return 0;
}
