/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log of a hunt: lines survive writing and reading, torn ones are noticed, and all of them come to the same state. */
#include <stdio.h>
#include <string.h>

#include "../unit/unit.h"
#include "hunt/hunt_internal.h"

static struct hunt_result some_result(uint64_t number, const char *signature)
{
	struct hunt_result r = {.number = number, .server = 0, .run_ns = 17, .finding_count = signature ? 1 : 0};

	r.tags.bits[0] = 0xdeadbeef;
	r.tags.bits[2] = 1;
	r.figures.statements = 12;
	r.figures.decided = 11;
	r.figures.unsupported = 1;
	r.figures.operations[OPERATION_DELETE] = 3;
	r.figures.touched[OPERATION_DELETE] = 2;
	snprintf(r.reason, sizeof(r.reason), "a reason\twith a tab");
	if (signature) {
		snprintf(r.findings[0].signature, HUNT_SIGNATURE_MAX, "%s", signature);
		r.findings[0].kind = HUNT_NEW;
		r.findings[0].count = 2;
	}
	return r;
}

START_TEST(lines_are_read_back)
{
	struct hunt_result in = some_result(77, "wrong-result violation RR update"), out;
	struct buf line = BUF_INIT, again = BUF_INIT;

	result_print(&in, &line);
	ck_assert(result_parse(span_of(line.data, line.len - 1), &out));
	ck_assert_uint_eq(out.number, 77);
	ck_assert_uint_eq(out.figures.touched[OPERATION_DELETE], 2);
	ck_assert_str_eq(out.reason, "a reason with a tab");
	ck_assert_str_eq(out.findings[0].signature, "wrong-result violation RR update");
	result_print(&out, &again);
	ck_assert_str_eq(line.data, again.data);
	buf_release(&line);
	buf_release(&again);
}
END_TEST

/* A hunt may be killed while it writes: no part of a line is a line. */
START_TEST(torn_lines_are_refused)
{
	struct hunt_result in = some_result(5, "crash"), out;
	struct buf line = BUF_INIT;

	result_print(&in, &line);
	for (size_t len = 0; len + 1 < line.len; len++)
		ck_assert_msg(!result_parse(span_of(line.data, len), &out), "%zu of %zu bytes", len, line.len);
	buf_release(&line);
}
END_TEST

START_TEST(groups_are_counted)
{
	struct hunt_options options = {.server_count = 1};
	struct hunt_state state = {.options = &options};
	struct hunt_result a = some_result(3, "crash"), b = some_result(4, "crash"), c = some_result(5000, NULL);

	state_add(&state, &a);
	ck_assert_uint_eq(state.group_count, 1);
	ck_assert_str_eq(state.groups[0].signature, "crash");
	state_add(&state, &b);
	state_add(&state, &c);
	ck_assert_uint_eq(state.group_count, 1);
	ck_assert_uint_eq(state.groups[0].count, 4);
	ck_assert_uint_eq(state.groups[0].cases, 2);
	ck_assert_uint_eq(state.groups[0].first_case, 3);
	ck_assert_uint_eq(state.cases, 3);
	ck_assert_uint_eq(state_count(&state, HUNT_NEW), 1);
	ck_assert(state_is_done(&state, 3) && state_is_done(&state, 5000));
	ck_assert(!state_is_done(&state, 0) && !state_is_done(&state, 4999) && !state_is_done(&state, 1 << 20));
	ck_assert_uint_eq(state.total.statements, 36);
	ck_assert_uint_eq(state.reasons[0].count, 3);
	state_release(&state);
}
END_TEST

/* Of a case on two servers only the second result ends it. */
START_TEST(a_case_ends_on_its_last_server)
{
	struct hunt_options options = {.server_count = 2};
	struct hunt_state state = {.options = &options};
	struct hunt_result r = some_result(9, NULL);

	state_add(&state, &r);
	ck_assert(!state_is_done(&state, 9));
	r.server = 1;
	state_add(&state, &r);
	ck_assert(state_is_done(&state, 9));
	ck_assert_uint_eq(state.cases, 1);
	state_release(&state);
}
END_TEST

/* A server that cannot be used ends no case: it is run when the hunt goes on. */
START_TEST(a_case_that_failed_is_not_done)
{
	struct hunt_options options = {.server_count = 1};
	struct hunt_state state = {.options = &options};
	struct hunt_result r = some_result(2, NULL);

	snprintf(r.failure, sizeof(r.failure), "no server");
	state_add(&state, &r);
	ck_assert(!state_is_done(&state, 2));
	ck_assert_uint_eq(state.failed, 1);
	ck_assert_uint_eq(state.cases, 0);
	state_release(&state);
}
END_TEST

UNIT_MAIN("hunt_state", lines_are_read_back, torn_lines_are_refused, groups_are_counted, a_case_ends_on_its_last_server,
	a_case_that_failed_is_not_done)
