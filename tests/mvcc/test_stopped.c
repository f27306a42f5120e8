/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The solver is stopped somewhere in a schedule, as by an interruption: what it then says is no more than what it says of
 * the whole, and it says that something is left.  RECORDED names a folder of recordings, STOP_EVERY the events
 * between two places to stop.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mvcc/mvcc.h"
#include "unit.h"

enum { EVENTS_NONE = -1 };

struct stop {
	int64_t after; /* so many events; EVENTS_NONE: never */
	bool stopped;
	uint64_t all;
};

static bool goes_on(void *context, uint64_t done, uint64_t all)
{
	struct stop *stop = context;

	stop->all = all;
	stop->stopped |= stop->after != EVENTS_NONE && (int64_t)done >= stop->after;
	return !stop->stopped;
}

static void judge(struct verdict *verdict, const struct schedule *schedule, struct stop *stop)
{
	struct contract contract;
	struct err err;

	ck_assert(contract_builtin(&contract, "innodb", &err));
	verdict_init(verdict);
	mvcc_check(schedule,
		&(struct mvcc_options){.contract = &contract, .per_class_max = 1000, .goes_on = goes_on, .context = stop}, verdict);
}

static bool has(const struct verdict *verdict, const char *id)
{
	for (size_t i = 0; i < verdict->finding_count; i++)
		if (strcmp(verdict->findings[i].id, id) == 0)
			return true;
	return false;
}

/* Returns how often it was stopped. */
static unsigned stop_everywhere(const char *path, uint64_t every)
{
	struct execution execution = {0};
	struct schedule schedule;
	struct verdict whole, part;
	struct stop stop = {.after = EVENTS_NONE};
	unsigned stops = 0;
	struct err err;

	if (!execution_load(&execution, path, NULL, &err))
		return 0;
	schedule_init(&schedule, &execution);
	judge(&whole, &schedule, &stop);
	for (uint64_t after = 0; after <= stop.all; after += every) {
		struct stop here = {.after = (int64_t)after};

		judge(&part, &schedule, &here);
		stops += here.stopped;
		for (size_t i = 0; i < part.finding_count; i++)
			if (part.findings[i].severity == SEVERITY_VIOLATION && !has(&whole, part.findings[i].id))
				ck_abort_msg("%s: after %llu events %s, which the whole does not have: %s", path,
					(unsigned long long)after, finding_name(&part.findings[i]),
					part.findings[i].explanation.ptr);
		if (here.stopped)
			ck_assert_uint_le(part.decided, whole.decided + whole.undecided + whole.unsupported);
		if (here.stopped && after == 0)
			ck_assert_uint_eq(part.decided, 0);
		verdict_release(&part);
	}
	verdict_release(&whole);
	schedule_release(&schedule);
	execution_release(&execution);
	return stops;
}

START_TEST(a_stopped_run_says_no_more_than_a_whole_one)
{
	const char *folder = getenv("RECORDED"), *asked = getenv("STOP_EVERY");
	unsigned every = asked ? (unsigned)strtoul(asked, NULL, 10) : 16, stops = 0;
	char pattern[4096];
	glob_t found;

	ck_assert_ptr_nonnull(folder);
	snprintf(pattern, sizeof(pattern), "%s/*.itr", folder);
	ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		stops += stop_everywhere(found.gl_pathv[i], every);
	globfree(&found);
	ck_assert_uint_gt(stops * every, 1600);
}
END_TEST

UNIT_MAIN("stopped", a_stopped_run_says_no_more_than_a_whole_one)
