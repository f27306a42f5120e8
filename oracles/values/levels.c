/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/levels.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/attr.h"

const char *const adya_level_names[CYCLE_ORDER_COUNT][CYCLE_LEVEL_COUNT] = {
	{"PL-1", "PL-2", "PL-2+", "PL-2.99", "PL-SI", "PL-3"},
	{"strong-session-PL-1", "strong-session-PL-2", "strong-session-PL-2+",
		"strong-session-PL-2.99", "strong-session-PL-SI", "strong-session-PL-3"},
	{"strong-PL-1", "strong-PL-2", "strong-PL-2+", "strong-PL-2.99", "strong-PL-SI",
		"strong-PL-3"},
};

/* The first implies the second; what follows from several of these is not repeated. */
static const struct {
	const char *stronger, *weaker;
} implications[] = {
	{"PL-2", "PL-1"},
	{"PL-CS", "PL-2"},
	{"PL-2L", "PL-2"},
	{"PL-2+", "PL-CS"},
	{"PL-2+", "PL-2L"},
	{"PL-FCV", "PL-2+"},
	{"PL-2.99", "PL-2+"},
	{"PL-SI", "PL-2+"},
	{"timed-PL-SI", "PL-SI"},
	{"PL-3", "PL-2.99"},
	{"PL-3", "PL-SI"},
	{"strong-session-PL-1", "PL-1"},
	{"strong-session-PL-2", "PL-2"},
	{"strong-session-PL-2", "strong-session-PL-1"},
	{"strong-session-PL-2", "monotonic-writes"},
	{"strong-session-PL-2", "writes-follow-reads"},
	{"strong-session-PL-2+", "PL-2+"},
	{"strong-session-PL-2+", "strong-session-PL-2"},
	{"strong-session-PL-2+", "PRAM"},
	{"strong-session-PL-2.99", "PL-2.99"},
	{"strong-session-PL-2.99", "strong-session-PL-2+"},
	{"strong-session-PL-SI", "PL-SI"},
	{"strong-session-PL-SI", "strong-session-PL-2+"},
	{"strong-session-PL-3", "PL-3"},
	{"strong-session-PL-3", "strong-session-PL-2.99"},
	{"strong-session-PL-3", "strong-session-PL-SI"},
	{"strong-PL-1", "strong-session-PL-1"},
	{"strong-PL-2", "strong-session-PL-2"},
	{"strong-PL-2", "strong-PL-1"},
	{"strong-PL-2+", "strong-session-PL-2+"},
	{"strong-PL-2+", "strong-PL-2"},
	{"strong-PL-2+", "PL-FCV"},
	{"strong-PL-2.99", "strong-session-PL-2.99"},
	{"strong-PL-2.99", "strong-PL-2+"},
	{"strong-PL-SI", "strong-session-PL-SI"},
	{"strong-PL-SI", "strong-PL-2+"},
	{"strong-PL-3", "strong-session-PL-3"},
	{"strong-PL-3", "strong-PL-2.99"},
	{"strong-PL-3", "strong-PL-SI"},
	{"be-RA", "be-RC"},
	{"be-CC", "be-RA"},
	{"be-CC", "PRAM"},
	{"be-CC", "writes-follow-reads"},
	{"be-prefix", "be-CC"},
	{"be-SI", "be-prefix"},
	{"be-SI", "strong-session-PL-SI"},
	{"be-SER", "be-SI"},
	{"be-SER", "strong-session-PL-3"},
	{"PRAM", "read-your-writes"},
	{"PRAM", "monotonic-reads"},
	{"PRAM", "monotonic-writes"},
};

bool values_level_implies(const char *a, const char *b)
{
	uint64_t taken[(ARRAY_LEN(implications) + 63) / 64] = {0};
	const char *reached[ARRAY_LEN(implications) + 1];
	size_t count = 0;

	reached[count++] = a;
	for (size_t at = 0; at < count; at++) {
		if (strcmp(reached[at], b) == 0)
			return true;
		for (size_t i = 0; i < ARRAY_LEN(implications); i++) {
			if ((taken[i / 64] >> i % 64 & 1) ||
				strcmp(implications[i].stronger, reached[at]) != 0)
				continue;
			taken[i / 64] |= (uint64_t)1 << i % 64;
			reached[count++] = implications[i].weaker;
		}
	}
	return false;
}

const char *values_level_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(implications); i++) {
		if (strcasecmp(implications[i].stronger, name) == 0)
			return implications[i].stronger;
		if (strcasecmp(implications[i].weaker, name) == 0)
			return implications[i].weaker;
	}
	return NULL;
}

/* Two names of one level. */
static bool is_equal(const char *a, const char *b)
{
	static const char *const pairs[][2] = {
		{"be-SI", "strong-session-PL-SI"}, {"be-SER", "strong-session-PL-3"}};

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		if ((strcmp(a, pairs[i][0]) == 0 && strcmp(b, pairs[i][1]) == 0) ||
			(strcmp(a, pairs[i][1]) == 0 && strcmp(b, pairs[i][0]) == 0))
			return true;
	return false;
}

/* What one level's answer says of another. */
static bool follows(const struct verdict_level *from, const struct verdict_level *to)
{
	if (from->answer == LEVEL_UNDECIDED)
		return false;
	if (is_equal(from->name, to->name))
		return true;
	return from->answer == LEVEL_FAILS ? values_level_implies(to->name, from->name)
					   : values_level_implies(from->name, to->name);
}

void levels_complete(struct verdict *verdict)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < verdict->level_count; i++) {
			struct verdict_level *open = &verdict->levels[i];

			for (size_t k = 0; k < verdict->level_count && open->answer == LEVEL_UNDECIDED; k++) {
				if (!follows(&verdict->levels[k], open))
					continue;
				open->answer = verdict->levels[k].answer;
				more = true;
			}
		}
	}
}

bool levels_are_decided(const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->level_count; i++)
		if (verdict->levels[i].answer == LEVEL_UNDECIDED)
			return false;
	return true;
}

bool level_is_extreme(const struct verdict *verdict, size_t level)
{
	const struct verdict_level *me = &verdict->levels[level];

	for (size_t i = 0; i < verdict->level_count; i++) {
		const struct verdict_level *other = &verdict->levels[i];

		if (i == level || other->answer != me->answer)
			continue;
		if (me->answer == LEVEL_HOLDS ? values_level_implies(other->name, me->name)
					      : values_level_implies(me->name, other->name))
			return false;
	}
	return true;
}
