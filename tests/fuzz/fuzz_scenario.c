/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scenario language and the shapes that are imported, on arbitrary bytes.  The first byte
 * chooses the shape.  Beyond not crashing: what was read survives printing and reading again, and
 * the second printing is the first.
 */
#include <string.h>

#include "base/bug.h"
#include "mutate_units.h"
#include "scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t line_length(const uint8_t *data, size_t left)
{
	const uint8_t *end = memchr(data, '\n', left);

	return end ? (size_t)(end - data) + 1 : left;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
	static const struct unit_shape lines = {line_length, NULL, 0, 4096};

	return mutate_units(&lines, data, size, size_max, seed);
}


static void check_printing(const struct scenario *s)
{
	struct buf first = BUF_INIT, second = BUF_INIT;
	struct scenario again;
	struct err err;

	scenario_print(s, &first);
	/* The canonical text has a ';' and a session for each statement, so it may outgrow the
	 * limit where the input did not. */
	if (first.len <= SCENARIO_TEXT_MAX) {
		CHECK(scenario_parse(&again, buf_span(&first), "printed", &err));
		CHECK(again.setup.count == s->setup.count);
		CHECK(again.schedule.count == s->schedule.count);
		CHECK(again.final.count == s->final.count);
		for (size_t i = 0; i < s->schedule.count; i++)
			CHECK(span_eq(again.schedule.stmts[i].sql, s->schedule.stmts[i].sql));
		scenario_print(&again, &second);
		CHECK(span_eq(buf_span(&first), buf_span(&second)));
		scenario_release(&again);
	}
	buf_release(&first);
	buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scenario_list list;
	struct err err;

	if (!size)
		return 0;
	if (scenario_import(&list, (enum scenario_shape)(data[0] % (SCENARIO_SHAPE_RQG + 1)), span_of(data + 1, size - 1),
		    "fuzz", &err)) {
		for (size_t i = 0; i < list.count; i++)
			check_printing(&list.scenarios[i]);
		scenario_list_release(&list);
	} else {
		CHECK(err.code != ERR_NONE && err.text[0]);
	}
	(void)scenario_guess(span_of(data, size));
	return 0;
}
