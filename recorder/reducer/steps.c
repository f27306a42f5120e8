/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a reduction: what can be left out or made simpler, as candidates. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/siphash.h"
#include "reduce/edits.h"
#include "reduce/parts.h"
#include "reduce/tidy.h"
#include "reducer/reducer_internal.h"

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
	found = reduction_test(step->r, candidates, made, count);
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
	mem_free(run.kept);
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

bool reduction_parts(struct reduction *r, const uint8_t *doubts, bool no_singles)
{
	struct step step = {.r = r, .build = build_parts, .kinds = part_kinds};
	struct scenario base;
	struct parts parts;
	bool changed;

	if (reduction_is_over(r) || !copy_best(r, &base))
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

bool reduction_edits(struct reduction *r)
{
	struct step step = {.r = r, .build = build_edits, .kinds = edit_kinds};
	struct ddmin_unit *units;
	struct scenario base;
	struct script script;
	struct edits edits;
	bool changed;

	if (reduction_is_over(r) || !copy_best(r, &base))
		return false;
	script_open(&script, &base, &r->sql);
	edits_list(&script, &edits);
	units = mem_zero(edits.count + 1, sizeof(*units));
	for (size_t i = 0; i < edits.count; i++)
		units[i] = (struct ddmin_unit){.level = (uint8_t)edits.items[i].level, .doubt = edits.items[i].doubt};
	step.base = &base;
	changed = run_step(&step, units, edits.count, NULL, 0, false);
	mem_free(units);
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
	if (!reduction_is_over(r) && copy_best(r, &base)) {
		step.base = &base;
		(void)run_step(&step, units, count, NULL, 0, false);
		scenario_release(&base);
	}
	mem_free(units);
}

void reduction_constants(struct reduction *r)
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

void reduction_names(struct reduction *r)
{
	reduce_simple(r, NAMES_COUNT, build_names, name_kinds);
}

/* ---- order and levels ---- */

bool reduction_order(struct reduction *r)
{
	bool changed = false;

	r->kind = "order";
	r->blocked_max = r->blocked; /* fewer changes between sessions are no gain where one has to wait for another then */
	for (size_t number = 0; !reduction_is_over(r);) {
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
		found = reduction_test(r, &candidate, &made, 1);
		if (found == 0) {
			changed = true;
			number = 0;
			r->blocked_max = r->blocked;
		}
	}
	r->blocked_max = UINT32_MAX;
	return changed;
}

/* The server's own, where the failure is none of a level. */
static bool forget_levels(struct reduction *r)
{
	struct scenario candidate;
	bool made = true;

	if (r->target.id[0] || reduction_is_over(r) || !copy_best(r, &candidate))
		return false;
	candidate.level = LEVEL_UNKNOWN;
	for (uint32_t i = 0; i < candidate.session_count; i++)
		candidate.sessions[i].level = LEVEL_UNKNOWN;
	return reduction_test(r, &candidate, &made, 1) == 0;
}

/* One level for all, where sessions have their own. */
void reduction_levels(struct reduction *r)
{
	enum txn_level first = r->best.session_count ? scenario_level(&r->best, 0) : LEVEL_UNKNOWN;
	struct scenario candidate;
	bool made = true, own = false;

	for (uint32_t i = 0; i < r->best.session_count; i++)
		own |= r->best.sessions[i].level != LEVEL_UNKNOWN;
	r->kind = "level";
	if (forget_levels(r))
		return;
	for (uint32_t i = 0; own && !reduction_is_over(r) && i < r->best.session_count; i++) {
		enum txn_level level = scenario_level(&r->best, i);

		if ((i && level == first) || !level || !copy_best(r, &candidate))
			continue;
		candidate.level = level;
		for (uint32_t k = 0; k < candidate.session_count; k++)
			candidate.sessions[k].level = LEVEL_UNKNOWN;
		if (reduction_test(r, &candidate, &made, 1) == 0)
			return;
	}
}

/* ---- options of the server ---- */

static bool without_settings(struct reduction *r, const struct span *settings, size_t count)
{
	struct scenario candidate;
	struct script script;
	bool made;

	if (reduction_is_over(r))
		return false;
	r->kind = "option";
	script_open(&script, &r->best, &r->sql);
	memcpy(script.settings, settings, count * sizeof(*settings));
	script.setting_count = count;
	made = script_build(&script, &candidate, r->err);
	script_release(&script);
	return made && reduction_test(r, &candidate, &made, 1) == 0;
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
	mem_free(fewer);
	buf_release(&shorter);
	return done;
}

/* Each candidate may take a new start of the server, so these come late. */
void reduction_settings(struct reduction *r)
{
	bool changed = true;

	while (changed && !reduction_is_over(r)) {
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
