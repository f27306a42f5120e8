/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many rounds sessions have that do not wait for each other. */
#include "reducer/reducer_internal.h"

enum { FREE_STATEMENTS_MAX = 40000 }; /* of an execution with rounds */

/* The best with other rounds. */
static bool with_rounds(struct reduction *r, uint32_t rounds, struct scenario *out)
{
	struct script script;
	bool ok;

	script_open(&script, &r->best, &r->sql);
	script.rounds = rounds;
	ok = script_build(&script, out, r->err);
	script_release(&script);
	return ok;
}

/* A candidate was accepted because it was seen to fail, and taken when an estimate was good enough: both flatter it. */
static void estimate_anew(struct reduction *r)
{
	struct buf text = BUF_INIT;
	double rate;

	r->kind = "rate";
	scenario_print(&r->best, &text);
	rate = reduction_estimate(r, buf_span(&text), ESTIMATE_MAX);
	buf_release(&text);
	if (reduction_is_over(r))
		return;
	r->rate = rate > 0.95 ? 0.95 : rate < 0.02 ? 0.02 : rate;
	r->misses = reduction_misses(r->rate);
}

void reduction_raise_rounds(struct reduction *r)
{
	uint32_t rounds;

	if (scenario_rounds(&r->best) && r->summary->accepted)
		estimate_anew(r);
	while ((rounds = scenario_rounds(&r->best)) != 0 && r->rate < RATE_GOOD && !reduction_is_over(r) &&
		(uint64_t)rounds * 4 * r->best.schedule.count <= FREE_STATEMENTS_MAX) {
		struct buf text = BUF_INIT;
		struct scenario more;
		double rate;

		if (!with_rounds(r, rounds * 4, &more))
			return;
		scenario_print(&more, &text);
		r->kind = "rounds";
		rate = reduction_estimate(r, buf_span(&text), ESTIMATE_AGAIN);
		buf_release(&text);
		if (rate <= r->rate) {
			scenario_release(&more);
			return;
		}
		scenario_release(&r->best);
		r->best = more;
		r->rate = rate > 0.95 ? 0.95 : rate;
		r->misses = reduction_misses(r->rate);
		reduction_say(r, "with %u rounds it fails in about %.0f %%", rounds * 4, r->rate * 100);
	}
}

void reduction_lower_rounds(struct reduction *r)
{
	bool made = true;

	if (r->rate >= RATE_GOOD && r->floor < RATE_GOOD)
		r->floor = RATE_GOOD;
	while (scenario_rounds(&r->best) > 1 && !reduction_is_over(r)) {
		struct scenario fewer;

		r->kind = "rounds";
		if (!with_rounds(r, scenario_rounds(&r->best) / 2, &fewer) || reduction_test(r, &fewer, &made, 1) != 0)
			return;
	}
}
