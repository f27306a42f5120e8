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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
