/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a write overwrote, where no row has a name for its version: writes told by the binary log
 * come in the order of commits, so it is the object's row that came last (history.md, rule 22).
 */
#ifndef MODEL_HISTORY_IMAGE_CHAIN_H
#define MODEL_HISTORY_IMAGE_CHAIN_H

#include "model/history/build.h"

struct image_chain {
	bool on;        /* the trace's writes are told so */
	uint32_t *last; /* by object: the version that the last row left; NONE */
	size_t count, capacity;
	uint64_t missing; /* rows that were overwritten and that no write had left */
};

void image_chain_release(struct image_chain *chain);
/* The version that a row with this image before overwrote: BUILD_NIL where the row is an INSERT's.
 */
uint32_t image_chain_previous(struct image_chain *chain, struct history_build *build,
	uint32_t object, struct span old_image, bool insert);
/* The row left this version. */
void image_chain_left(struct image_chain *chain, uint32_t object, uint32_t version);
/* Are two images the same row?  Answers and logs may have a value in two forms. */
bool image_chain_same(struct span a, struct span b);
bool image_value_same(const struct value *a, const struct value *b);

#endif
