/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From notes to findings. */
#ifndef MVCC_EXPLAIN_FINDINGS_H
#define MVCC_EXPLAIN_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "mvcc/explain/note.h"

struct mvcc;

enum finding_class note_class(enum note_kind kind);
void notes_report(struct mvcc *m);

#endif
