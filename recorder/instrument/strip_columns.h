/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking the columns that instrumentation appended out of an answer, packet by packet: column
 * counts, definitions, rows of the text and the binary protocol.
 */
#ifndef INSTRUMENT_STRIP_COLUMNS_H
#define INSTRUMENT_STRIP_COLUMNS_H

#include "wire/wire.h"

/* Appends a packet with its header; in several parts where it is long.  Returns how many. */
unsigned strip_put(struct buf *out, struct span payload, uint8_t seq);

/* The payload with the count lowered by `appended`.  False: it has fewer. */
bool strip_count(struct span payload, uint64_t caps, uint32_t appended, struct buf *out,
	uint32_t *columns) MUST_CHECK;
/* The same for the answer to PREPARE. */
bool strip_prepared(
	struct span payload, uint32_t appended, struct buf *out, uint32_t *columns) MUST_CHECK;

/* An OK with another insert id. */
void strip_set_id(struct span ok, uint64_t id, struct buf *out);

/* A row without its last values, which go into `values` (SPAN_NONE: NULL; in the row's bytes). */
bool strip_text_row(struct span row, uint32_t columns, uint32_t appended, struct buf *out,
	struct span *values) MUST_CHECK;
bool strip_binary_row(struct span row, const struct wire_columns *columns, uint32_t appended,
	struct buf *out, struct span *values) MUST_CHECK;

#endif
