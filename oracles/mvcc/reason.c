/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/reason.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"

static const char *const known_texts[] = {
	NULL,
#define REASON_TEXT(name, text) text,
	MVCC_REASONS(REASON_TEXT)
#undef REASON_TEXT
};

uint32_t reason_of_text(struct reasons *reasons, const char *text)
{
	/* A text that both the evaluator and the solver use is one reason in a verdict. */
	for (uint32_t i = 1; i < REASON_COUNT; i++) {
		if (strcmp(known_texts[i], text) == 0)
			return i;
	}
	for (size_t i = 0; i < reasons->count; i++) {
		if (strcmp(reasons->texts[i], text) == 0)
			return REASON_COUNT + (uint32_t)i;
	}
	MEM_RESERVE(reasons->texts, reasons->count + 1, reasons->capacity);
	reasons->texts[reasons->count] = arena_copy(reasons->arena, span_str(text)).ptr;
	return REASON_COUNT + (uint32_t)reasons->count++;
}

const char *reason_text(const struct reasons *reasons, uint32_t reason)
{
	if (reason < REASON_COUNT)
		return known_texts[reason];
	CHECK(reason - REASON_COUNT < reasons->count);
	return reasons->texts[reason - REASON_COUNT];
}

void reasons_release(struct reasons *reasons)
{
	mem_free(reasons->texts);
	*reasons = (struct reasons){0};
}
