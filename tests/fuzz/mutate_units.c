/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mutate_units.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "random.h"

enum { UNITS_MAX = 4096 };

struct unit {
	size_t at, size;
};

static size_t split(const struct unit_shape *shape, const uint8_t *data, size_t size, struct unit *units)
{
	size_t count = 0;

	for (size_t at = 0; at < size && count < UNITS_MAX; at += units[count++].size)
		units[count] = (struct unit){at, shape->length(data + at, size - at)};
	return count;
}

/* The unit with its inside changed by libFuzzer. */
static void add_changed(struct buf *out, const struct unit_shape *shape, const uint8_t *unit, size_t size)
{
	size_t inside = size > shape->head ? size - shape->head : 0;
	size_t room = shape->head + (inside < 16 ? 64 : 4 * inside), at = out->len;
	uint8_t *copy;

	if (room > shape->head + shape->inside_max)
		room = shape->head + shape->inside_max;
	if (size < shape->head || size > room) {
		buf_add(out, unit, size);
		return;
	}
	copy = (uint8_t *)buf_reserve(out, room);
	memcpy(copy, unit, size);
	inside = LLVMFuzzerMutate(copy + shape->head, inside, room - shape->head);
	if (shape->mend)
		shape->mend(copy, size, shape->head + inside);
	out->len = at + shape->head + inside;
}

enum edit { EDIT_CHANGE, EDIT_COPY, EDIT_DROP, EDIT_DOUBLE, EDIT_EXCHANGE, EDIT_COUNT };

size_t mutate_units(
	const struct unit_shape *shape, uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
	struct random random = {seed};
	struct unit *units;
	struct buf out = BUF_INIT;
	size_t count, first, second;
	enum edit edit;

	if (size == 0 || random_below(&random, 4) == 0)
		return LLVMFuzzerMutate(data, size, size_max);
	units = mem_realloc(NULL, UNITS_MAX, sizeof(*units));
	count = split(shape, data, size, units);
	first = random_below(&random, count);
	second = random_below(&random, count);
	edit = (enum edit)random_below(&random, EDIT_COUNT);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *unit = data + units[i].at;
		const struct unit *other = &units[i == first ? second : first];

		if (i != first && !(edit == EDIT_EXCHANGE && i == second))
			buf_add(&out, unit, units[i].size);
		else if (edit == EDIT_CHANGE)
			add_changed(&out, shape, unit, units[i].size);
		else if (edit == EDIT_COPY || edit == EDIT_EXCHANGE)
			buf_add(&out, data + other->at, other->size);
		for (int n = 0; i == first && edit == EDIT_DOUBLE && n < 2; n++)
			buf_add(&out, unit, units[i].size);
	}
	size = out.len < size_max ? out.len : size_max;
	if (size)
		memcpy(data, out.data, size);
	buf_release(&out);
	free(units);
	return size;
}
