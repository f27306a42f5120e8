/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When InnoDB makes a read view, by the words of a statement alone (the manuals, "Consistent
 * Nonlocking Reads"): at READ COMMITTED each plain SELECT has its own; at REPEATABLE READ the
 * transaction's first one makes it, or START TRANSACTION WITH CONSISTENT SNAPSHOT.  For drawings:
 * no verdict rests on it.  The oracle mvcc knows it from parsed statements.
 */
#ifndef COMMON_READ_VIEW_H
#define COMMON_READ_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct read_view_txn {
	uint8_t level;            /* enum txn_level */
	bool consistent_snapshot; /* it began WITH CONSISTENT SNAPSHOT */
	bool has_view;            /* at REPEATABLE READ: a statement made it */
};

/* Does the view of the statement, which succeeded, begin with it?  Notes in `txn` that it has one.
 */
bool read_view_begins(struct read_view_txn *txn, struct span sql);

#endif
