/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statements of a history read again from the trace, with their texts.  The text of one that was prepared stands with
 * its PREPARE, earlier in the session.
 */
#ifndef MODEL_HISTORY_STMT_TEXT_H
#define MODEL_HISTORY_STMT_TEXT_H

#include "base/arena.h"
#include "base/map.h"
#include "model/history/history.h"

struct stmt_texts {
	const struct history *history;
	struct arena arena;
	struct map by_number; /* session and number to statement; made when first needed */
	struct map prepared;  /* statement that prepares to its text */
	struct span *texts;
	size_t count, capacity;
};

void stmt_texts_init(struct stmt_texts *texts, const struct history *history);
void stmt_texts_release(struct stmt_texts *texts);
/* As history_fetch_stmt(), with the text of the PREPARE where the statement has none. */
bool stmt_texts_fetch(struct stmt_texts *texts, uint32_t stmt, struct arena *arena, struct record_stmt *out,
	struct err *err) MUST_CHECK;

#endif
