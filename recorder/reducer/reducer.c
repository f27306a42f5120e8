/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reducer/reducer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "reducer/doubts.h"
#include "reducer/reducer_internal.h"

enum { ROUNDS_MAX = 8 }; /* of edits, orders and parts */

/* ---- the beginning ---- */

static bool is_wanted(const struct reduction *r, const struct failure *f)
{
	const char *wanted = r->o->finding;

	if (wanted)
		return strcmp(f->class_, wanted) == 0 || strcmp(f->id, wanted) == 0;
	if (r->o->same == SAME_OUTPUT)
		return strcmp(f->class_, "shows") == 0;
	return f->violation || (f->id[0] && (r->o->same != SAME_KNOWN || f->known[0]));
}

/* What is rather wanted: what is most like the failure that was seen; violations, known bugs, what the manual documents. */
static unsigned rank(const struct reduction *r, const struct failure *f)
{
	unsigned likeness = r->o->like ? failure_likeness(r->o->like, f) : 0;

	return likeness * 4 + (f->violation ? 2 : f->known[0] != '\0');
}

static const struct failure *choose_target(const struct reduction *r, const struct outcome *outcome)
{
	const struct failure *best = NULL;

	for (uint32_t i = 0; i < outcome->count; i++) {
		const struct failure *f = &outcome->failures[i];

		if (is_wanted(r, f) && (!best || rank(r, f) > rank(r, best)))
			best = f;
	}
	return best;
}

/* Executes the scenario as it is until it fails; false: it does not. */
static bool reproduce(struct reduction *r, struct span text)
{
	unsigned most = r->o->first_max ? r->o->first_max : ESTIMATE_MAX;

	for (unsigned i = 0; i < most && !reduction_is_over(r); i++) {
		const struct failure *f;

		reduction_execute(r, &text, 1);
		f = r->outcomes[0].ran ? choose_target(r, &r->outcomes[0]) : NULL;
		if (!r->outcomes[0].ran && i == 0)
			return err_set(r->err, ERR_SERVER, "the scenario cannot be run: %s", r->outcomes[0].why);
		if (!f)
			continue;
		r->target = *f;
		r->first = r->outcomes[0];
		r->blocked = r->first.blocked;
		r->rate = i ? 1.0 / (i + 1) : 1;
		r->summary->reproduced = true;
		reduction_keep_trace(r, 0);
		return true;
	}
	return true;
}

/* Once more: does it fail each time? */
static void measure_rate(struct reduction *r, struct span text)
{
	double again;

	if (r->rate >= 1 && !scenario_rounds(&r->best)) {
		size_t number;

		if (reduction_fails(r, text, 1, &number) || reduction_is_over(r))
			return;
	}
	again = reduction_estimate(r, text, ESTIMATE_MAX);
	r->rate = again > 0.95 ? 0.95 : again < 0.02 ? 0.02 : again;
	r->misses = reduction_misses(r->rate);
	reduction_say(r, "it fails in about %.0f %% of executions: a candidate is given up after %u", r->rate * 100, r->misses);
}

/* What the recording of the first failure tells: the server's SQL, and which statements matter. */
static bool read_first(struct reduction *r, uint8_t *doubts)
{
	struct buf path = BUF_INIT;
	struct execution e;
	struct err err;
	bool known;

	buf_printf(&path, "%s/reduced.itr", r->o->folder);
	if (!execution_load(&e, path.data, NULL, &err)) {
		buf_release(&path);
		return false;
	}
	r->sql = sql_options_for_server(e.server.version);
	known = doubts_of_run(&r->target, &r->best, &e, path.data, doubts);
	execution_release(&e);
	buf_release(&path);
	return known;
}

/* ---- all of it ---- */

static void reduce_all(struct reduction *r, const uint8_t *doubts)
{
	size_t statements = 0;
	bool changed;

	for (size_t i = 0; doubts && i < r->best.schedule.count; i++)
		statements += !doubts[i];
	/* Where the witness's statements alone fail, each of them goes alone only once the rest is done. */
	changed = reduction_parts(r, doubts, true);
	if (!changed || !doubts || r->best.schedule.count > statements + 2)
		(void)reduction_parts(r, NULL, false);
	for (unsigned round = 0; round < ROUNDS_MAX && !reduction_is_over(r); round++) {
		reduction_raise_rounds(r);
		changed = reduction_edits(r);
		changed |= !scenario_rounds(&r->best) && reduction_order(r);
		changed |= reduction_parts(r, NULL, false);
		if (!changed)
			break;
	}
	reduction_raise_rounds(r);
	reduction_settings(r);
	reduction_constants(r);
	reduction_levels(r);
	if (r->o->same != SAME_OUTPUT)
		reduction_names(r);
	reduction_raise_rounds(r);
	reduction_lower_rounds(r);
}

/* What nearly always fails may do so each time: the flaky part has gone. */
static void settle_rate(struct reduction *r)
{
	struct buf text = BUF_INIT;

	if (r->rate >= 1 || r->rate < 0.95 || reduction_is_over(r))
		return;
	r->kind = "rate";
	scenario_print(&r->best, &text);
	if (reduction_estimate(r, buf_span(&text), ESTIMATE_MAX) >= 1) {
		r->rate = 1;
		(void)!reduction_write_best(r);
	}
	buf_release(&text);
}

static bool prepare(struct reduction *r, const struct scenario *scenario)
{
	struct script script;
	bool ok;

	script_open(&script, scenario, &r->sql);
	script.forget_shows = r->o->same != SAME_OUTPUT;
	ok = script_build(&script, &r->best, r->err);
	script_release(&script);
	return ok;
}

bool reducer_run(const struct reducer_options *options, const struct scenario *scenario, struct reducer_summary *summary,
	struct err *err)
{
	struct reduction r = {.o = options, .summary = summary, .err = err, .sql = sql_options_default(),
		.begin_ns = clock_mono_ns(), .rate = 1, .floor = options->floor,
		.blocked_max = UINT32_MAX, .misses = 1, .kind = "first", .tried = MAP_INIT};
	struct buf text = BUF_INIT;
	uint8_t *doubts;
	bool ok, known;

	*summary = (struct reducer_summary){
		.rate = 1, .executions = summary->executions, .seconds = summary->seconds};
	if (!prepare(&r, scenario))
		return false;
	r.outcomes = mem_zero(options->jobs ? options->jobs : 1, sizeof(*r.outcomes));
	doubts = mem_zero(r.best.schedule.count + 1, 1);
	experience_open(&r.experience, options->experience);
	reducer_measure(&r.best, &summary->before);
	scenario_print(&r.best, &text);
	ok = reproduce(&r, buf_span(&text));
	if (ok && summary->reproduced) {
		reduction_say(&r, "%s: %s%s%s", r.first.label, r.target.shape, r.target.known[0] ? " known:" : "", r.target.known);
		measure_rate(&r, buf_span(&text));
		reduction_raise_rounds(&r);
		/* More rounds make up for what is rare, executions alone do not. */
		if (scenario_rounds(&r.best) && r.floor < RATE_GOOD / 2 && r.rate >= RATE_GOOD)
			r.floor = RATE_GOOD / 2;
		known = read_first(&r, doubts);
		experience_class(&r.experience, r.target.class_);
		ok = reduction_write_best(&r);
		if (ok)
			reduce_all(&r, known ? doubts : NULL);
		settle_rate(&r);
		ok = ok && !r.failed;
		if (ok && !experience_write(&r.experience, options->experience, err))
			ok = false;
	}
	summary->target = r.target;
	summary->rate = r.rate;
	summary->seconds += reduction_seconds(&r);
	summary->whole = !r.stopped;
	summary->slipped = r.slipped_count;
	reducer_measure(&r.best, &summary->after);
	scenario_release(&r.best);
	experience_release(&r.experience);
	map_release(&r.tried);
	buf_release(&text);
	mem_free(r.outcomes);
	mem_free(doubts);
	return ok;
}
