/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons are numbers inside the solver, and no number ever stands for another reason's text. */
#include "mvcc/reason.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 2000 }; /* more than any table of them had room for */

START_TEST(many_texts_stay_apart)
{
	struct arena arena = ARENA_INIT;
	struct reasons reasons = {.arena = &arena};
	uint32_t numbers[MANY];
	char text[32];

	for (int i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "the function F%d()", i);
		numbers[i] = reason_of_text(&reasons, text);
	}
	for (int i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "the function F%d()", i);
		ck_assert_str_eq(reason_text(&reasons, numbers[i]), text);
		ck_assert_uint_eq(reason_of_text(&reasons, text), numbers[i]);
	}
	reasons_release(&reasons);
	arena_release(&arena);
}
END_TEST

START_TEST(a_text_of_ours_is_our_reason)
{
	struct arena arena = ARENA_INIT;
	struct reasons reasons = {.arena = &arena};

	ck_assert_uint_eq(reason_of_text(&reasons, "SKIP LOCKED"), REASON_SKIP_LOCKED);
	ck_assert_str_eq(reason_text(&reasons, REASON_NO_ANSWER), "statements that got no answer");
	ck_assert_ptr_null(reason_text(&reasons, REASON_NONE));
	ck_assert_uint_eq(reasons.count, 0);
	reasons_release(&reasons);
	arena_release(&arena);
}
END_TEST

START_TEST(our_texts_differ)
{
	struct reasons reasons = {0};

	for (uint32_t i = 1; i < REASON_COUNT; i++) {
		for (uint32_t j = i + 1; j < REASON_COUNT; j++)
			ck_assert_str_ne(reason_text(&reasons, i), reason_text(&reasons, j));
	}
}
END_TEST

UNIT_MAIN("reason", many_texts_stay_apart, a_text_of_ours_is_our_reason, our_texts_differ)
