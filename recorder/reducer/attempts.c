/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes and judges candidates, accepts them, and leaves the best so far in files. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/siphash.h"
#include "base/text.h"
#include "reducer/reducer_internal.h"

enum { TRIED_LOST, TRIED_HOLDS };

/* ---- telling ---- */

void reduction_say(struct reduction *r, const char *fmt, ...)
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

double reduction_seconds(const struct reduction *r)
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
	mem_free(seen);
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
bool reduction_write_best(struct reduction *r)
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
			reduction_say(r, "a different finding turned up: %s: kept as %s/%s", f->shape, r->o->folder, name);
	}
}

/* ---- executing ---- */

bool reduction_is_over(struct reduction *r)
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
	fprintf(r->o->log, "%7.2f s %5" PRIu64 " %-12s %-9s", reduction_seconds(r), r->summary->executions, r->kind, what);
	if (!outcome->ran)
		fprintf(r->o->log, " %s", outcome->why);
	for (uint32_t i = 0; i < outcome->count; i++)
		fprintf(r->o->log, "%s%s", i ? ", " : " ", outcome->failures[i].class_);
	fputc('\n', r->o->log);
}

/* Executes texts at once; the outcomes are in r->outcomes. */
void reduction_execute(struct reduction *r, const struct span *texts, size_t count)
{
	r->o->execute(r->o->ctx, texts, count, r->outcomes);
	r->summary->executions += count;
	for (size_t i = 0; i < count; i++) {
		r->summary->not_run += !r->outcomes[i].ran;
		log_try(r, holds(r, &r->outcomes[i]) ? "fails" : r->outcomes[i].ran ? "passes" : "not run", &r->outcomes[i]);
	}
}

/* Takes the recording of that number of the batch over. */
void reduction_keep_trace(struct reduction *r, size_t number)
{
	struct buf path = BUF_INIT;

	buf_printf(&path, "%s/reduced.itr", r->o->folder);
	if (rename(r->o->trace(r->o->ctx, number), path.data) != 0 && errno != ENOENT)
		r->failed = !err_set_errno(r->err, errno, "cannot write %s", path.data) || r->failed;
	buf_release(&path);
}

unsigned reduction_misses(double rate)
{
	return rate >= 0.999 ? 1 : (unsigned)ceil(log(0.05) / log(1 - (rate < 0.01 ? 0.01 : rate)));
}

/* The same text again and again, until it fails (*number of the batch) or was tried often enough. */
bool reduction_fails(struct reduction *r, struct span text, unsigned most, size_t *number)
{
	struct span copies[64];

	for (unsigned done = 0; done < most && !reduction_is_over(r);) {
		size_t count = r->o->jobs < most - done ? r->o->jobs : most - done;

		for (size_t i = 0; i < count; i++)
			copies[i] = text;
		reduction_execute(r, copies, count);
		done += (unsigned)count;
		for (*number = 0; *number < count; ++*number)
			if (holds(r, &r->outcomes[*number]))
				return true;
	}
	return false;
}

/* How often it fails, of some executions more. */
double reduction_estimate(struct reduction *r, struct span text, unsigned count)
{
	unsigned hits = 0, done = 0;
	size_t number;

	while (done < count && !reduction_is_over(r)) {
		hits += reduction_fails(r, text, 1, &number);
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
	rate = reduction_estimate(r, text, ESTIMATE_AGAIN);
	if (reduction_is_over(r))
		return false;
	if (rate < r->floor) {
		reduction_say(r, "a smaller case fails in %.0f %% only: not taken (--floor)", rate * 100);
		return false;
	}
	r->rate = rate > 0.95 ? 0.95 : rate;
	r->misses = reduction_misses(r->rate);
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
	(void)!reduction_write_best(r);
	text_add_counted(&line, size.statements, "statement", "statements");
	buf_add_str(&line, ", ");
	text_add_counted(&line, size.rows, "row", "rows");
	buf_add_str(&line, ", ");
	text_add_counted(&line, size.sessions, "session", "sessions");
	buf_printf(&line, " (%s)", r->kind);
	if (r->rate < 1)
		buf_printf(&line, "; it fails in %.0f %%", r->rate * 100);
	reduction_say(r, "%.0f s, %" PRIu64 " executions: %s", reduction_seconds(r), r->summary->executions, line.data);
	buf_release(&line);
}

/* A batch of candidates of which none was tried, in one go.  The first that fails, or `count`. */
static size_t test_batch(struct reduction *r, struct scenario *const *candidates, const struct buf *texts, size_t count)
{
	struct span spans[64];
	size_t found = count, number = 0;
	uint32_t blocked = 0;

	if (r->rate < 1) {
		for (size_t i = 0; i < count && found == count && !reduction_is_over(r); i++) {
			if (!reduction_fails(r, buf_span(&texts[i]), r->misses, &number))
				continue;
			reduction_keep_trace(r, number);
			blocked = r->outcomes[number].blocked;
			if (rate_is_enough(r, buf_span(&texts[i])))
				found = i;
		}
	} else {
		for (size_t i = 0; i < count; i++)
			spans[i] = buf_span(&texts[i]);
		reduction_execute(r, spans, count);
		for (size_t i = count; i--;) {
			if (holds(r, &r->outcomes[i]))
				found = i;
			else
				note_slippage(r, &r->outcomes[i], spans[i]);
		}
		if (found < count) {
			reduction_keep_trace(r, found);
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
size_t reduction_test(struct reduction *r, struct scenario *candidates, const bool *made, size_t count)
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

		if (reduction_is_over(r))
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
	return found == DDMIN_NONE && reduction_is_over(r) ? DDMIN_STOP : found;
}
