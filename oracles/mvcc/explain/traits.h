/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a note is like beyond its class. */
#ifndef MVCC_EXPLAIN_TRAITS_H
#define MVCC_EXPLAIN_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "mvcc/explain/note.h"

struct mvcc;
struct store_record;

/* Bits of enum finding_trait, of a note that is being made */
uint32_t note_traits(
	struct mvcc *m, enum note_kind kind, uint32_t table, const struct store_record *record);

#endif
