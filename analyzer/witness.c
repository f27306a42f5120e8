/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "witness.h"

#include <stdlib.h>

#include "base/mem.h"
#include "history/load.h"

enum { TEXT_MAX = 4096 };

static int by_place(const void *a, const void *b, void *data)
{
	const struct finding_step *x = *(struct finding_step *const *)a;
	const struct finding_step *y = *(struct finding_step *const *)b;
	const struct history *history = data;
	const struct history_stmt *s = &history->stmts[x->stmt], *t = &history->stmts[y->stmt];

	if (s->block != t->block)
		return s->block < t->block ? -1 : 1;
	return (s->index > t->index) - (s->index < t->index);
}

static struct span keep(struct span text, struct arena *arena)
{
	if (text.len > TEXT_MAX)
		text.len = TEXT_MAX;
	return text.ptr ? arena_copy(arena, text) : SPAN_NONE;
}

static void fill(struct finding_step *step, const struct record_stmt *record, struct arena *arena)
{
	step->text = keep(record->text, arena);
	step->begin_ns = record->begin;
	step->end_ns = record->at;
	step->error = record->error;
}

void witness_fetch(const struct history *history, struct verdict *verdict)
{
	struct finding_step **steps = NULL;
	size_t count = 0, capacity = 0;

	for (size_t f = 0; f < verdict->finding_count; f++) {
		struct finding *finding = &verdict->findings[f];

		for (uint32_t i = 0; i < finding->step_count; i++) {
			if (finding->steps[i].stmt >= history->stmt_count)
				continue;
			MEM_RESERVE(steps, count + 1, capacity);
			steps[count++] = &finding->steps[i];
		}
	}
	for (size_t r = 0; r < verdict->reason_count; r++) {
		struct verdict_reason *reason = &verdict->reasons[r];

		if (!reason->has_example || reason->example.stmt >= history->stmt_count)
			continue;
		MEM_RESERVE(steps, count + 1, capacity);
		steps[count++] = &reason->example;
	}
	if (count)
		qsort_r(steps, count, sizeof(*steps), by_place, (void *)(uintptr_t)history);
	for (size_t i = 0; i < count; i++) {
		struct arena scratch = ARENA_INIT;
		struct record_stmt record;
		struct err err;

		if (i && steps[i]->stmt == steps[i - 1]->stmt) {
			steps[i]->text = steps[i - 1]->text;
			steps[i]->begin_ns = steps[i - 1]->begin_ns;
			steps[i]->end_ns = steps[i - 1]->end_ns;
			steps[i]->error = steps[i - 1]->error;
			continue;
		}
		if (history_fetch_stmt(history, steps[i]->stmt, &scratch, &record, &err))
			fill(steps[i], &record, &verdict->arena);
		arena_release(&scratch);
	}
	free(steps);
}
