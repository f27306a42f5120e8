/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reducer/reducer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/siphash.h"
#include "base/text.h"
#include "reduce/edits.h"
#include "reduce/parts.h"
#include "reduce/tidy.h"
#include "reducer/doubts.h"
#include "reducer/experience.h"

enum {
	ESTIMATE_MAX = 20, /* executions for a first estimate of the rate */
	ESTIMATE_AGAIN = 10,
	ROUNDS_MAX = 8,
	SLIPPED_MAX = 16,
	FREE_STATEMENTS_MAX = 40000, /* of an execution with rounds */
	TRIED_LOST = 0,
	TRIED_HOLDS = 1,
};

/* At this rate a candidate is given up after five executions. */
static const double RATE_GOOD = 0.5;

struct reduction {
	const struct reducer_options *o;
	struct reducer_summary *summary;
	struct err *err;
	struct failure target;
	struct sql_options sql;
	struct scenario best;
	struct map tried;          /* digests of texts: TRIED_... */
	struct outcome *outcomes;  /* of one batch */
	struct outcome first;      /* what the scenario showed to begin with */
	char slipped[SLIPPED_MAX][FAILURE_TEXT_MAX];
	size_t slipped_count;
	uint64_t begin_ns;
	double rate, floor;
	uint32_t blocked, blocked_max; /* statements of the best that waited; more than so many are not accepted */
	unsigned misses; /* executions after which a candidate is given up */
	struct experience experience;
	const char *kind; /* of what is being tried */
	bool stopped, failed; /* failed: the result cannot be written */
};

/* ---- telling ---- */

static void say(struct reduction *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say(struct reduction *r, const char *fmt, ...)
{
	struct buf line = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&line, fmt, ap);
	va_end(ap);
	if (r->o->say)
		r->o->say(r->o->say_ctx, line.data);
	if (r->o->log)
		fprintf(r->o->log, "# %s\n", line.data);
	buf_release(&line);
}

static double seconds(const struct reduction *r)
{
	return (double)(clock_mono_ns() - r->begin_ns) / 1e9;
}

void reducer_measure(const struct scenario *s, struct reducer_size *out)
{
	struct sql_options sql = sql_options_default();
	struct script script;
	struct buf text = BUF_INIT;
	bool *seen = mem_zero(s->session_count + 1, sizeof(*seen));

	*out = (struct reducer_size){.statements = s->schedule.count};
	for (size_t i = 0; i < s->schedule.count; i++) {
		out->sessions += !seen[s->schedule.stmts[i].session];
		seen[s->schedule.stmts[i].session] = true;
	}
	script_open(&script, s, &sql);
	for (size_t i = 0; i < script.setup_count; i++) {
		const struct sql_stmt *tree = script.stmts[i].tree;

		if (tree && (tree->kind == SQL_STMT_INSERT || tree->kind == SQL_STMT_REPLACE))
			for (const struct sql_values_row *row = tree->u.insert->rows; row; row = row->next)
				out->rows++;
	}
	script_release(&script);
	scenario_print(s, &text);
	out->bytes = text.len;
	buf_release(&text);
	free(seen);
}

/* ---- files ---- */

static bool write_text(const char *folder, const char *name, struct span text, struct err *err)
{
	struct buf path = BUF_INIT;
	bool ok;

	buf_printf(&path, "%s/%s", folder, name);
	ok = file_replace(path.data, text, err);
	buf_release(&path);
	return ok;
}

/* What one would ask of the scenario in a corpus. */
static void add_expectation(const struct reduction *r, struct scenario *s)
{
	const struct failure *f = &r->target;
	enum txn_level level = s->level;
	bool error = strncmp(f->class_, "error-", 6) == 0;
	struct buf line = BUF_INIT;
	struct err err;

	buf_printf(&line, "%s%s%s = ", r->first.label, level ? " " : "", level ? txn_level_short((uint8_t)level) : "");
	if (f->violation && f->id[0])
		buf_printf(&line, "violated %s", f->class_);
	else
		buf_printf(&line, "%s", error ? f->class_ : r->o->same == SAME_OUTPUT ? "bug" : "ok");
	if (error)
		line.data[line.len - strlen(f->class_) + strlen("error")] = ' ';
	(void)!scenario_add_meta(s, SPAN_LIT("expect"), buf_span(&line), &err);
	buf_clear(&line);
	buf_printf(&line, "%s%s%s", f->shape, f->known[0] ? " known:" : "", f->known);
	(void)!scenario_add_meta(s, SPAN_LIT("finding"), buf_span(&line), &err);
	if (r->rate < 1) {
		buf_clear(&line);
		buf_printf(&line, "%.2f", r->rate);
		(void)!scenario_add_meta(s, SPAN_LIT("rate"), buf_span(&line), &err);
	}
	buf_release(&line);
}

/* The best so far, with the answers of its recording as expectations where it fails each time. */
static bool write_best(struct reduction *r)
{
	struct execution_scenario_options how = {.expect = true, .skip = true};
	struct buf path = BUF_INIT, text = BUF_INIT;
	struct scenario told;
	struct execution e;
	uint64_t skipped;
	struct err err;
	bool ok = false;

	buf_printf(&path, "%s/reduced.itr", r->o->folder);
	if (r->rate >= 1 && !scenario_rounds(&r->best) && execution_load(&e, path.data, NULL, &err)) {
		ok = execution_to_scenario(&e, &how, &told, &skipped, &err);
		execution_release(&e);
	}
	/* A server that died, a session that was killed: what came back is not all of it. */
	if (ok && told.schedule.count != r->best.schedule.count) {
		scenario_release(&told);
		ok = false;
	}
	if (!ok) {
		struct script script;

		script_open(&script, &r->best, &r->sql);
		ok = script_build(&script, &told, r->err);
		script_release(&script);
	}
	if (ok) {
		add_expectation(r, &told);
		scenario_print(&told, &text);
		scenario_release(&told);
		ok = write_text(r->o->folder, "reduced.scn", buf_span(&text), r->err);
	}
	buf_release(&path);
	buf_release(&text);
	r->failed |= !ok;
	return ok;
}

/* A violation that was not there to begin with, of a candidate that was not accepted. */
static void note_slippage(struct reduction *r, const struct outcome *outcome, struct span text)
{
	for (uint32_t i = 0; i < outcome->count; i++) {
		const struct failure *f = &outcome->failures[i];
		bool there = !f->violation || outcome_shows(&r->first, f, SAME_SHAPE);
		char name[40];
		struct err err;

		for (size_t k = 0; k < r->slipped_count; k++)
			there |= strcmp(r->slipped[k], f->shape) == 0;
		if (there || r->slipped_count == SLIPPED_MAX)
			continue;
		memcpy(r->slipped[r->slipped_count++], f->shape, sizeof(f->shape));
		snprintf(name, sizeof(name), "slipped-%zu.scn", r->slipped_count);
		if (write_text(r->o->folder, name, text, &err))
			say(r, "a different finding turned up: %s: kept as %s/%s", f->shape, r->o->folder, name);
	}
}

/* ---- executing ---- */

static bool is_over(struct reduction *r)
{
	const struct reducer_options *o = r->o;

	r->stopped |= r->failed || (o->stop && *o->stop) || (o->time_ns && clock_mono_ns() - r->begin_ns >= o->time_ns) ||
		      (o->executions_max && r->summary->executions >= o->executions_max);
	return r->stopped;
}

static bool holds(struct reduction *r, const struct outcome *outcome)
{
	return outcome->ran && outcome->blocked <= r->blocked_max && outcome_shows(outcome, &r->target, r->o->same);
}

static void log_try(struct reduction *r, const char *what, const struct outcome *outcome)
{
	if (!r->o->log)
		return;
	fprintf(r->o->log, "%7.2f s %5" PRIu64 " %-12s %-9s", seconds(r), r->summary->executions, r->kind, what);
	if (!outcome->ran)
		fprintf(r->o->log, " %s", outcome->why);
	for (uint32_t i = 0; i < outcome->count; i++)
		fprintf(r->o->log, "%s%s", i ? ", " : " ", outcome->failures[i].class_);
	fputc('\n', r->o->log);
}

/* Executes texts at once; the outcomes are in r->outcomes. */
static void execute(struct reduction *r, const struct span *texts, size_t count)
{
	r->o->execute(r->o->ctx, texts, count, r->outcomes);
	r->summary->executions += count;
	for (size_t i = 0; i < count; i++) {
		r->summary->not_run += !r->outcomes[i].ran;
		log_try(r, holds(r, &r->outcomes[i]) ? "fails" : r->outcomes[i].ran ? "passes" : "not run", &r->outcomes[i]);
	}
}

/* Takes the recording of that number of the batch over. */
static void keep_trace(struct reduction *r, size_t number)
{
	struct buf path = BUF_INIT;

	buf_printf(&path, "%s/reduced.itr", r->o->folder);
	if (rename(r->o->trace(r->o->ctx, number), path.data) != 0 && errno != ENOENT)
		r->failed = !err_set_errno(r->err, errno, "cannot write %s", path.data) || r->failed;
	buf_release(&path);
}

static unsigned misses_for(double rate)
{
	return rate >= 0.999 ? 1 : (unsigned)ceil(log(0.05) / log(1 - (rate < 0.01 ? 0.01 : rate)));
}

/* The same text again and again, until it fails (*number of the batch) or was tried often enough. */
static bool fails_in_time(struct reduction *r, struct span text, unsigned most, size_t *number)
{
	struct span copies[64];

	for (unsigned done = 0; done < most && !is_over(r);) {
		size_t count = r->o->jobs < most - done ? r->o->jobs : most - done;

		for (size_t i = 0; i < count; i++)
			copies[i] = text;
		execute(r, copies, count);
		done += (unsigned)count;
		for (*number = 0; *number < count; ++*number)
			if (holds(r, &r->outcomes[*number]))
				return true;
	}
	return false;
}

/* How often it fails, of some executions more. */
static double estimate(struct reduction *r, struct span text, unsigned count)
{
	unsigned hits = 0, done = 0;
	size_t number;

	while (done < count && !is_over(r)) {
		hits += fails_in_time(r, text, 1, &number);
		done++;
	}
	return done ? (double)hits / done : 0;
}

/* Accepts a candidate that failed at a rate below 1; false: it is too rare. */
static bool rate_is_enough(struct reduction *r, struct span text)
{
	double rate;

	if (r->rate >= 1)
		return true;
	/* The execution that failed is what chose it: it does not count. */
	rate = estimate(r, text, ESTIMATE_AGAIN);
	if (is_over(r))
		return false;
	if (rate < r->floor) {
		say(r, "a smaller case fails in %.0f %% only: not taken (--floor)", rate * 100);
		return false;
	}
	r->rate = rate > 0.95 ? 0.95 : rate;
	r->misses = misses_for(r->rate);
	return true;
}

static void accept(struct reduction *r, struct scenario *candidate)
{
	struct buf line = BUF_INIT;
	struct reducer_size size;

	scenario_release(&r->best);
	r->best = *candidate;
	scenario_init(candidate);
	r->summary->accepted++;
	reducer_measure(&r->best, &size);
	(void)!write_best(r);
	text_add_counted(&line, size.statements, "statement", "statements");
	buf_add_str(&line, ", ");
	text_add_counted(&line, size.rows, "row", "rows");
	buf_add_str(&line, ", ");
	text_add_counted(&line, size.sessions, "session", "sessions");
	buf_printf(&line, " (%s)", r->kind);
	if (r->rate < 1)
		buf_printf(&line, "; it fails in %.0f %%", r->rate * 100);
	say(r, "%.0f s, %" PRIu64 " executions: %s", seconds(r), r->summary->executions, line.data);
	buf_release(&line);
}

/* A batch of candidates of which none was tried, in one go.  The first that fails, or `count`. */
static size_t test_batch(struct reduction *r, struct scenario *const *candidates, const struct buf *texts, size_t count)
{
	struct span spans[64];
	size_t found = count, number = 0;
	uint32_t blocked = 0;

	if (r->rate < 1) {
		for (size_t i = 0; i < count && found == count && !is_over(r); i++) {
			if (!fails_in_time(r, buf_span(&texts[i]), r->misses, &number))
				continue;
			keep_trace(r, number);
			blocked = r->outcomes[number].blocked;
			if (rate_is_enough(r, buf_span(&texts[i])))
				found = i;
		}
	} else {
		for (size_t i = 0; i < count; i++)
			spans[i] = buf_span(&texts[i]);
		execute(r, spans, count);
		for (size_t i = count; i--;) {
			if (holds(r, &r->outcomes[i]))
				found = i;
			else
				note_slippage(r, &r->outcomes[i], spans[i]);
		}
		if (found < count) {
			keep_trace(r, found);
			blocked = r->outcomes[found].blocked;
		}
	}
	for (size_t i = 0; i < count && i <= found && !r->stopped; i++)
		map_put(&r->tried, siphash_digest(texts[i].data, texts[i].len), i == found ? TRIED_HOLDS : TRIED_LOST);
	if (found < count) {
		r->blocked = blocked;
		accept(r, candidates[found]);
	}
	return found;
}

/* The first of the candidates that fails as the case does, which is then the best; DDMIN_NONE, DDMIN_STOP.  Releases
 * them all; NULL: one that could not be made. */
static size_t test_candidates(struct reduction *r, struct scenario *candidates, const bool *made, size_t count)
{
	struct scenario *fresh[64];
	size_t origin[64], fresh_count = 0, found = DDMIN_NONE;
	struct buf texts[64];

	for (size_t i = 0; i < count && fresh_count < 64; i++) {
		struct buf text = BUF_INIT;

		if (!made[i])
			continue;
		scenario_print(&candidates[i], &text);
		if (map_get(&r->tried, siphash_digest(text.data, text.len)) != MAP_NONE) {
			buf_release(&text);
			continue;
		}
		texts[fresh_count] = text;
		origin[fresh_count] = i;
		fresh[fresh_count++] = &candidates[i];
	}
	for (size_t at = 0; at < fresh_count && found == DDMIN_NONE;) {
		size_t batch = fresh_count - at < r->o->jobs ? fresh_count - at : r->o->jobs, got;

		if (is_over(r))
			break;
		got = test_batch(r, fresh + at, texts + at, batch);
		if (got < batch)
			found = origin[at + got];
		at += batch;
	}
	for (size_t i = 0; i < fresh_count; i++)
		buf_release(&texts[i]);
	for (size_t i = 0; i < count; i++)
		if (made[i])
			scenario_release(&candidates[i]);
	return found == DDMIN_NONE && is_over(r) ? DDMIN_STOP : found;
}

/* ---- steps over units ---- */

/* Something that can be left out or made simpler in many places at once. */
struct step {
	struct reduction *r;
	bool (*build)(struct step *step, const bool *kept, struct scenario *out, struct err *err);
	const char *const *kinds; /* by level */
	const struct scenario *base;
	const struct parts *parts;
	const struct ddmin_unit *units;
	size_t count;
};

static const char *kind_of(const struct step *step, const bool *candidate, const bool *kept)
{
	const char *kind = NULL;

	for (size_t i = 0; i < step->count; i++) {
		if (candidate[i] || !kept[i])
			continue;
		if (kind && kind != step->kinds[step->units[i].level])
			return kind; /* the coarsest, with what went with it */
		kind = step->kinds[step->units[i].level];
	}
	return kind ? kind : "all";
}

struct step_run {
	struct step *step;
	bool *kept; /* as ddmin_run has it */
};

static size_t test_step(void *ctx, bool *const *sets, size_t count)
{
	struct step_run *run = ctx;
	struct step *step = run->step;
	struct scenario candidates[DDMIN_WIDTH_MAX];
	bool made[DDMIN_WIDTH_MAX];
	uint64_t before = step->r->summary->executions;
	size_t found;
	struct err err;

	for (size_t i = 0; i < count; i++)
		made[i] = step->build(step, sets[i], &candidates[i], &err);
	step->r->kind = kind_of(step, sets[0], run->kept);
	found = test_candidates(step->r, candidates, made, count);
	experience_add(&step->r->experience, step->r->kind, step->r->summary->executions - before, found < count);
	return found;
}

/* For comparisons only: what the order of kinds is worth. */
static void shuffle(const struct reduction *r, uint8_t *order, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		uint64_t seed[2] = {r->begin_ns, r->summary->executions * 16 + i};
		size_t other = (size_t)(siphash_digest(seed, sizeof(seed)) % i);
		uint8_t was = order[i - 1];

		order[i - 1] = order[other];
		order[other] = was;
	}
}

/* Runs delta debugging over the step's units; true: something was accepted. */
static bool run_step(struct step *step, const struct ddmin_unit *units, size_t count, const struct ddmin_need *needs,
	size_t need_count, bool no_singles)
{
	struct step_run run = {.step = step, .kept = mem_alloc(count + 1)};
	uint64_t before = step->r->summary->accepted;
	uint8_t order[DDMIN_LEVELS_MAX];
	size_t levels = 0;

	while (step->kinds[levels])
		levels++;
	experience_order(&step->r->experience, step->kinds, levels, order);
	if (step->r->o->at_random)
		shuffle(step->r, order, levels);
	step->units = units;
	step->count = count;
	memset(run.kept, true, count + 1);
	(void)ddmin_run(&(struct ddmin){.units = units,
				.count = count,
				.needs = needs,
				.need_count = need_count,
				.order = order,
				.order_count = levels,
				.no_singles = no_singles,
				.width = step->r->o->jobs,
				.test = test_step,
				.ctx = &run},
		run.kept);
	free(run.kept);
	return step->r->summary->accepted != before;
}

/* A copy, because the best is replaced while a step goes on. */
static bool copy_best(struct reduction *r, struct scenario *out)
{
	struct script script;
	bool ok;

	script_open(&script, &r->best, &r->sql);
	ok = script_build(&script, out, r->err);
	script_release(&script);
	return ok;
}

/* ---- parts ---- */

static const char *const part_kinds[] = {
	"session", "table", "transaction", "brackets", "statement", "final", "setup", "row", NULL};

static bool build_parts(struct step *step, const bool *kept, struct scenario *out, struct err *err)
{
	return parts_build(step->parts, kept, out, err);
}

static bool reduce_parts(struct reduction *r, const uint8_t *doubts, bool no_singles)
{
	struct step step = {.r = r, .build = build_parts, .kinds = part_kinds};
	struct scenario base;
	struct parts parts;
	bool changed;

	if (is_over(r) || !copy_best(r, &base))
		return false;
	parts_open(&parts, &base, &r->sql, doubts);
	step.parts = &parts;
	changed = run_step(&step, parts.units, parts.unit_count, parts.needs, parts.need_count, no_singles);
	parts_release(&parts);
	scenario_release(&base);
	return changed;
}

/* ---- edits ---- */

static const char *const edit_kinds[] = {"definition", "column", "clause", "expression", NULL};

static bool build_edits(struct step *step, const bool *kept, struct scenario *out, struct err *err)
{
	struct script script;
	struct edits edits;
	bool ok;

	script_open(&script, step->base, &step->r->sql);
	edits_list(&script, &edits);
	ok = edits_apply(&script, &edits, kept) && script_build(&script, out, err);
	edits_release(&edits);
	script_release(&script);
	return ok;
}

static bool reduce_edits(struct reduction *r)
{
	struct step step = {.r = r, .build = build_edits, .kinds = edit_kinds};
	struct ddmin_unit *units;
	struct scenario base;
	struct script script;
	struct edits edits;
	bool changed;

	if (is_over(r) || !copy_best(r, &base))
		return false;
	script_open(&script, &base, &r->sql);
	edits_list(&script, &edits);
	units = mem_zero(edits.count + 1, sizeof(*units));
	for (size_t i = 0; i < edits.count; i++)
		units[i] = (struct ddmin_unit){.level = (uint8_t)edits.items[i].level, .doubt = edits.items[i].doubt};
	step.base = &base;
	changed = run_step(&step, units, edits.count, NULL, 0, false);
	free(units);
	edits_release(&edits);
	script_release(&script);
	scenario_release(&base);
	return changed;
}

/* ---- constants, names ---- */

static const char *const constant_kinds[] = {"constant", NULL}, *const name_kinds[] = {"name", NULL};

static bool build_constants(struct step *step, const bool *kept, struct scenario *out, struct err *err)
{
	struct constants constants;
	struct script script;
	bool ok;

	script_open(&script, step->base, &step->r->sql);
	constants_list(&script, &constants);
	constants_apply(&script, &constants, kept);
	ok = script_build(&script, out, err);
	constants_release(&constants);
	script_release(&script);
	return ok;
}

static bool build_names(struct step *step, const bool *kept, struct scenario *out, struct err *err)
{
	struct script script;
	bool ok;

	script_open(&script, step->base, &step->r->sql);
	names_apply(&script, kept);
	ok = script_build(&script, out, err);
	script_release(&script);
	return ok;
}

static void reduce_simple(struct reduction *r, size_t count,
	bool (*build)(struct step *step, const bool *kept, struct scenario *out, struct err *err), const char *const *kinds)
{
	struct step step = {.r = r, .build = build, .kinds = kinds};
	struct ddmin_unit *units = mem_zero(count + 1, sizeof(*units));
	struct scenario base;

	for (size_t i = 0; i < count; i++)
		units[i].doubt = 1;
	if (!is_over(r) && copy_best(r, &base)) {
		step.base = &base;
		(void)run_step(&step, units, count, NULL, 0, false);
		scenario_release(&base);
	}
	free(units);
}

static void reduce_constants(struct reduction *r)
{
	struct constants constants;
	struct script script;
	size_t count;

	script_open(&script, &r->best, &r->sql);
	constants_list(&script, &constants);
	count = constants.count;
	constants_release(&constants);
	script_release(&script);
	reduce_simple(r, count, build_constants, constant_kinds);
}

/* ---- order and levels ---- */

static bool reduce_order(struct reduction *r)
{
	bool changed = false;

	r->kind = "order";
	r->blocked_max = r->blocked; /* fewer changes between sessions are no gain where one has to wait for another then */
	for (size_t number = 0; !is_over(r);) {
		struct scenario candidate;
		bool made = order_candidate(&r->best, number, &candidate, r->err);
		size_t found;

		if (!made)
			break;
		number++;
		if (order_switches(&candidate) >= order_switches(&r->best)) {
			scenario_release(&candidate);
			continue;
		}
		found = test_candidates(r, &candidate, &made, 1);
		if (found == 0) {
			changed = true;
			number = 0;
			r->blocked_max = r->blocked;
		}
	}
	r->blocked_max = UINT32_MAX;
	return changed;
}

/* One level for all, where sessions have their own. */
static void reduce_levels(struct reduction *r)
{
	enum txn_level first = r->best.session_count ? scenario_level(&r->best, 0) : LEVEL_UNKNOWN;
	struct scenario candidate;
	bool made = true, own = false;

	for (uint32_t i = 0; i < r->best.session_count; i++)
		own |= r->best.sessions[i].level != LEVEL_UNKNOWN;
	r->kind = "level";
	for (uint32_t i = 0; own && !is_over(r) && i < r->best.session_count; i++) {
		enum txn_level level = scenario_level(&r->best, i);

		if ((i && level == first) || !level || !copy_best(r, &candidate))
			continue;
		candidate.level = level;
		for (uint32_t k = 0; k < candidate.session_count; k++)
			candidate.sessions[k].level = LEVEL_UNKNOWN;
		if (test_candidates(r, &candidate, &made, 1) == 0)
			return;
	}
}

/* ---- options of the server ---- */

static bool without_settings(struct reduction *r, const struct span *settings, size_t count)
{
	struct scenario candidate;
	struct script script;
	bool made;

	if (is_over(r))
		return false;
	r->kind = "option";
	script_open(&script, &r->best, &r->sql);
	memcpy(script.settings, settings, count * sizeof(*settings));
	script.setting_count = count;
	made = script_build(&script, &candidate, r->err);
	script_release(&script);
	return made && test_candidates(r, &candidate, &made, 1) == 0;
}

/* One of the options, or one word of one that is a list, as sql_mode. */
static bool shorten_settings(struct reduction *r, const struct span *settings, size_t count)
{
	struct span *fewer = mem_zero(count + 1, sizeof(*fewer));
	struct buf shorter = BUF_INIT;
	bool done = false;

	for (size_t i = 0; i < count && !done; i++) {
		memcpy(fewer, settings, i * sizeof(*fewer));
		memcpy(fewer + i, settings + i + 1, (count - i - 1) * sizeof(*fewer));
		done = without_settings(r, fewer, count - 1);
	}
	for (size_t i = 0; i < count && !done; i++) {
		const char *end = settings[i].ptr + settings[i].len, *equals = memchr(settings[i].ptr, '=', settings[i].len);
		const char *word = equals + 1;

		memcpy(fewer, settings, count * sizeof(*fewer));
		while (!done && memchr(settings[i].ptr, ',', settings[i].len) && word < end) {
			const char *comma = memchr(word, ',', (size_t)(end - word)), *rest = comma ? comma + 1 : end;

			buf_clear(&shorter);
			buf_add(&shorter, settings[i].ptr, (size_t)(word - settings[i].ptr));
			buf_add(&shorter, rest, (size_t)(end - rest));
			if (!comma)
				shorter.len--; /* the comma before the last word */
			fewer[i] = buf_span(&shorter);
			done = without_settings(r, fewer, count);
			word = rest;
		}
	}
	free(fewer);
	buf_release(&shorter);
	return done;
}

/* Each candidate may take a new start of the server, so these come late. */
static void reduce_settings(struct reduction *r)
{
	bool changed = true;

	while (changed && !is_over(r)) {
		struct scenario base;
		struct script script;

		if (!copy_best(r, &base))
			return;
		script_open(&script, &base, &r->sql);
		changed = script.setting_count && (without_settings(r, script.settings, 0) ||
							  shorten_settings(r, script.settings, script.setting_count));
		script_release(&script);
		scenario_release(&base);
	}
}

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

	for (unsigned i = 0; i < most && !is_over(r); i++) {
		const struct failure *f;

		execute(r, &text, 1);
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
		keep_trace(r, 0);
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

		if (fails_in_time(r, text, 1, &number) || is_over(r))
			return;
	}
	again = estimate(r, text, ESTIMATE_MAX);
	r->rate = again > 0.95 ? 0.95 : again < 0.02 ? 0.02 : again;
	r->misses = misses_for(r->rate);
	say(r, "it fails in about %.0f %% of executions: a candidate is given up after %u", r->rate * 100, r->misses);
}

/* ---- rounds, of sessions that do not wait for each other ---- */

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
	rate = estimate(r, buf_span(&text), ESTIMATE_MAX);
	buf_release(&text);
	if (is_over(r))
		return;
	r->rate = rate > 0.95 ? 0.95 : rate < 0.02 ? 0.02 : rate;
	r->misses = misses_for(r->rate);
}

/* What fails too rarely is given more time to: with a small rate each candidate takes many executions. */
static void raise_rounds(struct reduction *r)
{
	uint32_t rounds;

	if (scenario_rounds(&r->best) && r->summary->accepted)
		estimate_anew(r);
	while ((rounds = scenario_rounds(&r->best)) != 0 && r->rate < RATE_GOOD && !is_over(r) &&
		(uint64_t)rounds * 4 * r->best.schedule.count <= FREE_STATEMENTS_MAX) {
		struct buf text = BUF_INIT;
		struct scenario more;
		double rate;

		if (!with_rounds(r, rounds * 4, &more))
			return;
		scenario_print(&more, &text);
		r->kind = "rounds";
		rate = estimate(r, buf_span(&text), ESTIMATE_AGAIN);
		buf_release(&text);
		if (rate <= r->rate) {
			scenario_release(&more);
			return;
		}
		scenario_release(&r->best);
		r->best = more;
		r->rate = rate > 0.95 ? 0.95 : rate;
		r->misses = misses_for(r->rate);
		say(r, "with %u rounds it fails in about %.0f %%", rounds * 4, r->rate * 100);
	}
}

/* At the end as few as will do, as long as it fails as often as not. */
static void lower_rounds(struct reduction *r)
{
	bool made = true;

	if (r->rate >= RATE_GOOD && r->floor < RATE_GOOD)
		r->floor = RATE_GOOD;
	while (scenario_rounds(&r->best) > 1 && !is_over(r)) {
		struct scenario fewer;

		r->kind = "rounds";
		if (!with_rounds(r, scenario_rounds(&r->best) / 2, &fewer) || test_candidates(r, &fewer, &made, 1) != 0)
			return;
	}
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
	changed = reduce_parts(r, doubts, true);
	if (!changed || !doubts || r->best.schedule.count > statements + 2)
		(void)reduce_parts(r, NULL, false);
	for (unsigned round = 0; round < ROUNDS_MAX && !is_over(r); round++) {
		raise_rounds(r);
		changed = reduce_edits(r);
		changed |= !scenario_rounds(&r->best) && reduce_order(r);
		changed |= reduce_parts(r, NULL, false);
		if (!changed)
			break;
	}
	raise_rounds(r);
	reduce_settings(r);
	reduce_constants(r);
	reduce_levels(r);
	if (r->o->same != SAME_OUTPUT)
		reduce_simple(r, NAMES_COUNT, build_names, name_kinds);
	raise_rounds(r);
	lower_rounds(r);
}

/* What nearly always fails may do so each time: the flaky part has gone. */
static void settle_rate(struct reduction *r)
{
	struct buf text = BUF_INIT;

	if (r->rate >= 1 || r->rate < 0.95 || is_over(r))
		return;
	r->kind = "rate";
	scenario_print(&r->best, &text);
	if (estimate(r, buf_span(&text), ESTIMATE_MAX) >= 1) {
		r->rate = 1;
		(void)!write_best(r);
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
		say(&r, "%s: %s%s%s", r.first.label, r.target.shape, r.target.known[0] ? " known:" : "", r.target.known);
		measure_rate(&r, buf_span(&text));
		raise_rounds(&r);
		/* More rounds make up for what is rare, executions alone do not. */
		if (scenario_rounds(&r.best) && r.floor < RATE_GOOD / 2 && r.rate >= RATE_GOOD)
			r.floor = RATE_GOOD / 2;
		known = read_first(&r, doubts);
		experience_class(&r.experience, r.target.class_);
		ok = write_best(&r);
		if (ok)
			reduce_all(&r, known ? doubts : NULL);
		settle_rate(&r);
		ok = ok && !r.failed;
		if (ok && !experience_write(&r.experience, options->experience, err))
			ok = false;
	}
	summary->target = r.target;
	summary->rate = r.rate;
	summary->seconds += seconds(&r);
	summary->whole = !r.stopped;
	summary->slipped = r.slipped_count;
	reducer_measure(&r.best, &summary->after);
	scenario_release(&r.best);
	experience_release(&r.experience);
	map_release(&r.tried);
	buf_release(&text);
	free(r.outcomes);
	free(doubts);
	return ok;
}
