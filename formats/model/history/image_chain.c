/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/image_chain.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trace/value.h"

/* Names of rows that were there before the first write that is known, and of rows that should not
 * have been there; the recorder counts from 1. */
enum { NAME_BEFORE = 0 };
#define NAME_MISSING (UINT64_C(1) << 62)

void image_chain_release(struct image_chain *chain)
{
	mem_free(chain->last);
}

static uint32_t *last_of(struct image_chain *chain, uint32_t object)
{
	size_t before = chain->count;

	if (object >= chain->count) {
		MEM_RESERVE(chain->last, object + 1, chain->capacity);
		chain->count = object + 1;
		for (size_t i = before; i < chain->count; i++)
			chain->last[i] = HISTORY_NONE;
	}
	return &chain->last[object];
}

bool image_value_same(const struct value *a, const struct value *b)
{
	bool floats = (a->type == VALUE_FLOAT || a->type == VALUE_DOUBLE) &&
		      (b->type == VALUE_FLOAT || b->type == VALUE_DOUBLE);

	if (value_eq(a, b))
		return true;
	if (floats) /* a FLOAT has fewer digits in an answer than it has in the log */
		return (float)a->d == (float)b->d;
	/* Texts are kept by several types; a moment is printed in the time zone of who asks. */
	return a->type >= VALUE_TEXT && b->type >= VALUE_TEXT &&
	       (span_eq(a->bytes, b->bytes) ||
		       (a->type == VALUE_DATETIME && b->type == VALUE_DATETIME) ||
		       a->type >= VALUE_HASHED || b->type >= VALUE_HASHED);
}

bool image_chain_same(struct span a, struct span b)
{
	struct mp x = mp_over(a), y = mp_over(b);
	uint32_t count;

	if (span_eq(a, b))
		return true;
	count = mp_array(&x);
	if (mp_array(&y) != count || x.bad || y.bad)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct value left, right;

		if (!value_read(&x, &left) || !value_read(&y, &right) || !image_value_same(&left, &right))
			return false;
	}
	return true;
}

void image_chain_left(struct image_chain *chain, uint32_t object, uint32_t version)
{
	*last_of(chain, object) = version;
}

uint32_t image_chain_previous(struct image_chain *chain, struct history_build *build,
	uint32_t object, struct span old_image, bool insert)
{
	uint32_t last = *last_of(chain, object), version;
	const struct history *history = build->history;

	if (insert)
		return BUILD_NIL;
	if (last == HISTORY_NONE) {
		version = build_version_int(build, object, NAME_BEFORE);
		if (!history->versions[version].image)
			build_image(build, version, old_image);
	} else {
		version = last;
	}
	if (!(history->versions[version].flags & HISTORY_VERSION_DEAD) &&
		(!history->versions[version].image || !old_image.ptr ||
			image_chain_same(history_bytes(history, history->versions[version].image),
				old_image)))
		return version;
	/* No write left this row: the one that did is missing. */
	version = build_version_int(build, object, NAME_MISSING + chain->missing++);
	build_image(build, version, old_image);
	return version;
}
