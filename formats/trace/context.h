/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records that later segments repeat: an ordered map from keys to encoded records, whose
 * changes take effect only once everything emitted before them has been written.
 *
 * A change carries the sequence number at which it was made.  Records with smaller numbers may
 * still wait in other producers' buffers when a new segment begins, and they need what a later
 * change forgets.  So a forgotten or replaced record is repeated until the watermark has passed the
 * change, and a new one is repeated from the change on.
 *
 * Locking is the caller's.
 */
#ifndef TRACE_CONTEXT_H
#define TRACE_CONTEXT_H

#include <stdint.h>

#include "base/span.h"

struct context_entry;

struct context {
	struct context_entry **buckets;     /* by hash of the key; only entries in force */
	size_t mask, count;                 /* count: entries in all, dying ones too */
	struct context_entry *first, *last; /* in the order they were set */
	struct context_entry *dying;        /* ended, and waiting for the watermark */
};

#define CONTEXT_INIT ((struct context){NULL, 0, 0, NULL, NULL, NULL})

/* SPAN_NONE as record forgets. */
void context_set(struct context *context, struct span key, struct span record, uint64_t seq);
/* Drops what ended before the watermark. */
void context_advance(struct context *context, uint64_t watermark);
/* Calls visit for every record to be repeated, in the order they were set. */
void context_each(
	const struct context *context, void (*visit)(void *arg, struct span record), void *arg);
void context_release(struct context *context);

#endif
