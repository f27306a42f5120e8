/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mutator of libFuzzer for inputs that are a row of units: lines, packets, values.  It leaves units
 * out, doubles, exchanges and copies them, and changes the inside of one, so that what comes out
 * still reads well most of the time and reaches what is after the reader's checks.
 */
#ifndef MUTATE_UNITS_H
#define MUTATE_UNITS_H

#include <stddef.h>
#include <stdint.h>

struct unit_shape {
	/* How long the unit is that begins here: 1 to `left`. */
	size_t (*length)(const uint8_t *data, size_t left);
	/* Makes lengths in the unit's head right again after its inside has changed; NULL: it has none. */
	void (*mend)(uint8_t *unit, size_t old_size, size_t new_size);
	size_t head;       /* bytes of a unit that are not changed as its inside */
	size_t inside_max; /* bytes after the head, at most */
};

/* What LLVMFuzzerCustomMutator returns. */
size_t mutate_units(
	const struct unit_shape *shape, uint8_t *data, size_t size, size_t size_max, unsigned seed);

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed);

#endif
