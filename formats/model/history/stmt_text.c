/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/stmt_text.h"

#include <stdlib.h>

#include "base/mem.h"
#include "model/history/load.h"

void stmt_texts_init(struct stmt_texts *texts, const struct history *history)
{
	*texts = (struct stmt_texts){.history = history};
}

void stmt_texts_release(struct stmt_texts *texts)
{
	arena_release(&texts->arena);
	map_release(&texts->by_number);
	map_release(&texts->prepared);
	mem_free(texts->texts);
}

static uint64_t number_key(uint32_t session, uint32_t number)
{
	return (uint64_t)session << 32 | number;
}

static uint32_t stmt_of(struct stmt_texts *texts, uint32_t session, uint32_t number)
{
	const struct history *h = texts->history;

	if (!texts->by_number.count) {
		map_reserve(&texts->by_number, h->stmt_count);
		for (uint32_t i = 0; i < h->stmt_count; i++)
			map_put(&texts->by_number, number_key(h->stmts[i].session, h->stmts[i].number), i);
	}
	return map_get(&texts->by_number, number_key(session, number));
}

/* SPAN_NONE: the PREPARE is not in the trace. */
static struct span prepared_text(struct stmt_texts *texts, uint32_t session, uint32_t number)
{
	uint32_t stmt = stmt_of(texts, session, number), *at;
	struct arena scratch = ARENA_INIT;
	struct span text = SPAN_NONE;
	struct record_stmt record;
	struct err err;

	if (stmt == MAP_NONE)
		return SPAN_NONE;
	at = map_at(&texts->prepared, stmt);
	if (*at != MAP_NONE)
		return texts->texts[*at];
	if (history_fetch_stmt(texts->history, stmt, &scratch, &record, &err) && record.text.ptr)
		text = arena_copy(&texts->arena, record.text);
	arena_release(&scratch);
	MEM_RESERVE(texts->texts, texts->count + 1, texts->capacity);
	*at = (uint32_t)texts->count;
	texts->texts[texts->count++] = text;
	return text;
}

bool stmt_texts_fetch(struct stmt_texts *texts, uint32_t stmt, struct arena *arena, struct record_stmt *out, struct err *err)
{
	if (!history_fetch_stmt(texts->history, stmt, arena, out, err))
		return false;
	if (!out->text.ptr && out->prepared)
		out->text = prepared_text(texts, texts->history->stmts[stmt].session, out->prepared);
	return true;
}
