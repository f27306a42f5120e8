/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows that foreign keys deleted (ON DELETE CASCADE).  They fire no triggers, so no probe tells of
 * them; but they follow from what is known: who deleted the row that they referred to, and which
 * rows referred to it then (history.md, rule 19).
 */
#ifndef MODEL_HISTORY_FOREIGN_KEY_CASCADE_H
#define MODEL_HISTORY_FOREIGN_KEY_CASCADE_H

#include "model/history/build.h"

/* Adds the deletions, as if the statements that caused them had reported them.  Where it cannot be said which
 * rows there were, the table gets unseen_writes.  When all else is there, before build_finish(). */
void cascade_deletes(struct history_build *build);

#endif
