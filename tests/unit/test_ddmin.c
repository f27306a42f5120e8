/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delta debugging against the definitions: what is left holds, no unit of it can go alone, and of a predicate that more
 * units never break, no smaller set holds at all (brute force over all sets).
 */
#include "reduce/ddmin.h"

#include <string.h>

#include "random.h"
#include "unit.h"

enum { UNITS = 12, TERMS_MAX = 4 };

static struct random source;

static uint32_t draw(uint32_t below)
{
	return (uint32_t)random_below(&source, below);
}

/* Something holds of a set when one of the terms is in it, and, where it is not monotone, none of the spoilers is alone
 * in it: a set with the spoiler and without its antidote does not hold. */
struct world {
	struct ddmin_unit units[UNITS];
	struct ddmin_need needs[2 * UNITS];
	size_t need_count;
	uint32_t terms[TERMS_MAX];
	unsigned term_count;
	uint32_t spoiler, antidote; /* bits; 0: none */
	unsigned tests, accepted;
	size_t width, stop_after;
	bool seen[1 << UNITS];
};

static uint32_t bits_of(const bool *set)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < UNITS; i++)
		bits |= (uint32_t)set[i] << i;
	return bits;
}

static bool holds(const struct world *w, uint32_t set)
{
	if (set & w->spoiler && !(set & w->antidote))
		return false;
	for (unsigned i = 0; i < w->term_count; i++)
		if ((set & w->terms[i]) == w->terms[i])
			return true;
	return false;
}

static bool is_closed(const struct world *w, uint32_t set)
{
	for (size_t i = 0; i < w->need_count; i++)
		if (set >> w->needs[i].unit & 1 && !(set >> w->needs[i].needed & 1))
			return false;
	return true;
}

/* The set without a unit and all that needs it. */
static uint32_t without(const struct world *w, uint32_t set, unsigned unit)
{
	uint32_t before;

	set &= ~(1u << unit);
	do {
		before = set;
		for (size_t i = 0; i < w->need_count; i++)
			if (!(set >> w->needs[i].needed & 1))
				set &= ~(1u << w->needs[i].unit);
	} while (set != before);
	return set;
}

static size_t test_sets(void *ctx, bool *const *candidates, size_t count)
{
	struct world *w = ctx;

	UNIT_REQUIRE(count >= 1 && count <= (w->width ? w->width : 1));
	for (size_t i = 0; i < count; i++) {
		uint32_t set = bits_of(candidates[i]);

		UNIT_REQUIRE(is_closed(w, set));
		if (w->stop_after && w->tests == w->stop_after)
			return DDMIN_STOP;
		w->tests++;
		/* A set that did not hold is not asked for again. */
		UNIT_REQUIRE(!w->seen[set] || holds(w, set));
		w->seen[set] = true;
		for (unsigned u = 0; u < UNITS; u++)
			UNIT_REQUIRE(!w->units[u].fixed || set >> u & 1);
		if (holds(w, set))
			return i;
	}
	return DDMIN_NONE;
}

static void on_accepted(void *ctx, const bool *kept, uint8_t level)
{
	struct world *w = ctx;

	(void)level;
	UNIT_REQUIRE(holds(w, bits_of(kept)));
	w->accepted++;
}

static void make_world(struct world *w, bool monotone)
{
	memset(w, 0, sizeof(*w));
	for (unsigned i = 0; i < UNITS; i++) {
		w->units[i].level = (uint8_t)draw(3);
		w->units[i].doubt = (uint8_t)draw(4);
		w->units[i].fixed = draw(12) == 0;
		/* Needs go down only, so there is no circle. */
		if (i && draw(3) == 0)
			w->needs[w->need_count++] = (struct ddmin_need){i, draw(i)};
	}
	w->term_count = 1 + draw(TERMS_MAX);
	for (unsigned i = 0; i < w->term_count; i++)
		for (unsigned k = 1 + draw(4); k--;)
			w->terms[i] |= 1u << draw(UNITS);
	if (!monotone) {
		w->spoiler = 1u << draw(UNITS);
		w->antidote = 1u << draw(UNITS);
	}
	w->width = draw(4);
}

static uint32_t reduce(struct world *w, bool *whole)
{
	struct ddmin d = {.units = w->units, .count = UNITS, .needs = w->needs, .need_count = w->need_count, .width = w->width,
		.test = test_sets, .accepted = on_accepted, .ctx = w};
	bool kept[UNITS];

	memset(kept, true, sizeof(kept));
	*whole = ddmin_run(&d, kept);
	return bits_of(kept);
}

static uint32_t fixed_bits(const struct world *w)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < UNITS; i++)
		bits |= (uint32_t)w->units[i].fixed << i;
	return bits;
}

static void require_one_minimal(const struct world *w, uint32_t left)
{
	uint32_t fixed = fixed_bits(w);

	for (unsigned u = 0; u < UNITS; u++) {
		uint32_t less = without(w, left, u);

		if (less == left || (less & fixed) != fixed)
			continue;
		UNIT_REQUIRE(!holds(w, less));
	}
}

START_TEST(monotone_predicates_end_with_no_smaller_set)
{
	source.state = 1;
	for (unsigned n = 0; n < 20000; n++) {
		static struct world w;
		uint32_t left, fixed;
		bool whole;

		make_world(&w, true);
		left = reduce(&w, &whole);
		fixed = fixed_bits(&w);
		UNIT_REQUIRE(whole && holds(&w, left) && is_closed(&w, left));
		/* All proper subsets. */
		for (uint32_t set = (left - 1) & left; set; set = (set - 1) & left)
			UNIT_REQUIRE(!is_closed(&w, set) || (set & fixed) != fixed || !holds(&w, set));
	}
}
END_TEST

START_TEST(other_predicates_end_where_no_unit_can_go_alone)
{
	unsigned done = 0;

	source.state = 2;
	for (unsigned n = 0; n < 40000; n++) {
		static struct world w;
		uint32_t left;
		bool whole;

		make_world(&w, false);
		if (!holds(&w, (1u << UNITS) - 1))
			continue;
		done++;
		left = reduce(&w, &whole);
		UNIT_REQUIRE(whole && holds(&w, left) && is_closed(&w, left));
		require_one_minimal(&w, left);
	}
	ck_assert_uint_gt(done, 20000);
}
END_TEST

START_TEST(what_is_stopped_keeps_the_best)
{
	source.state = 3;
	for (unsigned n = 0; n < 5000; n++) {
		static struct world w;
		uint32_t left;
		bool whole;

		make_world(&w, true);
		w.stop_after = 1 + draw(8);
		left = reduce(&w, &whole);
		UNIT_REQUIRE(holds(&w, left));
		UNIT_REQUIRE(w.tests <= w.stop_after);
	}
}
END_TEST

/* Where doubts are right, the first test does it, and each unit that is left costs one more. */
START_TEST(right_doubts_cost_little)
{
	static struct world w;
	uint32_t left;
	bool whole;

	memset(&w, 0, sizeof(w));
	w.terms[0] = 1 << 3 | 1 << 7;
	w.term_count = 1;
	for (unsigned i = 0; i < UNITS; i++)
		w.units[i].doubt = i != 3 && i != 7;
	left = reduce(&w, &whole);
	ck_assert(whole);
	ck_assert_uint_eq(left, w.terms[0]);
	ck_assert_uint_eq(w.tests, 3);
	ck_assert_uint_eq(w.accepted, 1);
}
END_TEST

UNIT_MAIN("ddmin", monotone_predicates_end_with_no_smaller_set, other_predicates_end_where_no_unit_can_go_alone,
	what_is_stopped_keeps_the_best, right_doubts_cost_little)
