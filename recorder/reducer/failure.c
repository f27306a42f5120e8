/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reducer/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/contract.h"
#include "common/known/known_bugs.h"
#include "common/shape.h"
#include "reducer/judge.h"

const char *const failure_same_words[] = {"class", "shape", "known", "output", NULL};

/* ---- findings as failures ---- */

static void keep(char *out, size_t size, struct buf *text)
{
	snprintf(out, size, "%s", text->data ? text->data : "");
	buf_clear(text);
}

/* Whether mvcc says something of the same transactions, too, makes no other failure of what adya found. */
static void fill(const struct finding *found, struct failure *out)
{
	struct finding copy = *found, *f = &copy;
	struct buf text = BUF_INIT;

	*out = (struct failure){.violation = f->severity == SEVERITY_VIOLATION, .needs_versions = finding_needs_versions(f)};
	if (f->oracle == FOUND_BY_ADYA_AND_MVCC)
		f->oracle = FOUND_BY_ADYA;
	memcpy(out->id, f->id, sizeof(out->id));
	snprintf(out->class_, sizeof(out->class_), "%s", finding_name(f));
	finding_print_kind(f, &text);
	keep(out->kind, sizeof(out->kind), &text);
	finding_print_shape(f, &text);
	keep(out->shape, sizeof(out->shape), &text);
	for (uint32_t i = 0; i < f->known_count; i++)
		buf_printf(&text, "%s%s", i ? "," : "", f->known[i].id);
	keep(out->known, sizeof(out->known), &text);
	buf_release(&text);
}

static void add_simple(struct outcome *out, const char *class_)
{
	struct failure *f;

	for (uint32_t i = 0; i < out->count; i++)
		if (strcmp(out->failures[i].class_, class_) == 0)
			return;
	if (out->count == OUTCOME_MAX)
		return;
	f = &out->failures[out->count++];
	*f = (struct failure){.violation = false};
	snprintf(f->class_, sizeof(f->class_), "%s", class_);
	snprintf(f->kind, sizeof(f->kind), "%s", class_);
	snprintf(f->shape, sizeof(f->shape), "%s", class_);
}

void outcome_add_accident(struct outcome *out, const char *class_)
{
	if (out->count == OUTCOME_MAX)
		out->count--;
	memmove(out->failures + 1, out->failures, out->count * sizeof(*out->failures));
	out->count++;
	out->failures[0] = (struct failure){.violation = true};
	snprintf(out->failures[0].class_, sizeof(out->failures[0].class_), "%s", class_);
	snprintf(out->failures[0].kind, sizeof(out->failures[0].kind), "%s", class_);
	snprintf(out->failures[0].shape, sizeof(out->failures[0].shape), "%s", class_);
}

/* ---- judging ---- */

static void begin_outcome(const struct execution *e, struct outcome *out)
{
	struct buf label = BUF_INIT;

	*out = (struct outcome){.ran = true};
	execution_label(e, &label);
	snprintf(out->label, sizeof(out->label), "%s", label.data ? label.data : "?");
	buf_release(&label);
}

static bool add_answers(const struct scenario *scenario, const struct execution *e, struct outcome *out, struct err *err)
{
	struct known_answer answer;

	if (!known_judge(scenario, e, &answer, err))
		return false;
	if (answer.state == KNOWN_SHOWN)
		add_simple(out, "shows");
	for (size_t i = 0; i < e->stmt_count; i++) {
		const struct execution_stmt *s = &e->stmts[i];
		char name[32];

		out->statements++;
		out->blocked += execution_blocked(s);
		if (!s->record.error)
			continue;
		snprintf(name, sizeof(name), "error-%u", s->record.error);
		add_simple(out, name);
	}
	return true;
}

bool outcome_take_answers(const struct scenario *scenario, const struct execution *e, struct outcome *out, struct err *err)
{
	begin_outcome(e, out);
	return add_answers(scenario, e, out, err);
}

bool outcome_judge(const struct scenario *scenario, const struct execution *e, const char *path, struct outcome *out,
	struct err *err)
{
	char contract[CONTRACT_NAME_MAX];
	struct verdict verdict;

	begin_outcome(e, out);
	if (!judge_recording(e, path, judge_contract(scenario, contract), &verdict, err))
		return false;
	for (size_t i = 0; i < verdict.finding_count && out->count < OUTCOME_MAX; i++)
		fill(&verdict.findings[i], &out->failures[out->count++]);
	verdict_release(&verdict);
	return add_answers(scenario, e, out, err);
}

static const char *in_respect(const struct failure *f, enum failure_same same)
{
	switch (same) {
	case SAME_CLASS:
		return f->kind;
	case SAME_SHAPE:
		return f->shape;
	case SAME_KNOWN:
		return f->known;
	case SAME_OUTPUT:
		return f->class_;
	}
	return "";
}

unsigned failure_likeness(const struct failure *a, const struct failure *b)
{
	return strcmp(a->shape, b->shape) == 0   ? 3
	       : strcmp(a->kind, b->kind) == 0 ? 2
	       : strcmp(a->class_, b->class_) == 0;
}

bool outcome_shows(const struct outcome *outcome, const struct failure *failure, enum failure_same same)
{
	const char *wanted = in_respect(failure, same);

	for (uint32_t i = 0; i < outcome->count; i++)
		if (*wanted && strcmp(in_respect(&outcome->failures[i], same), wanted) == 0)
			return true;
	return false;
}

/* "error-1213": whether a statement got that one. */
static bool got_error(const struct execution *e, const char *wanted)
{
	unsigned number;

	if (sscanf(wanted, "error-%u", &number) != 1 || !number)
		return false;
	for (size_t i = 0; i < e->stmt_count; i++)
		if (e->stmts[i].record.error == number)
			return true;
	return false;
}

bool failure_of_trace(const struct execution *e, const char *path, const char *contract, const char *wanted,
	struct failure *out, struct err *err)
{
	struct verdict verdict;
	const struct finding *best = NULL;

	if (!judge_recording(e, path, contract, &verdict, err))
		return false;
	for (size_t i = 0; i < verdict.finding_count; i++) {
		const struct finding *f = &verdict.findings[i];

		if (wanted && strcmp(finding_name(f), wanted) != 0 && strcmp(f->id, wanted) != 0)
			continue;
		/* Violations come first; then known bugs before what is only documented. */
		if (!best || (best->severity != SEVERITY_VIOLATION && !best->known_count && f->known_count))
			best = f;
	}
	if (best)
		fill(best, out);
	verdict_release(&verdict);
	if (!best && wanted && got_error(e, wanted)) {
		struct outcome one = {.count = 0};

		add_simple(&one, wanted);
		*out = one.failures[0];
		return true;
	}
	return best || err_set(err, ERR_EMPTY, "the trace shows no finding%s%s", wanted ? " of the class or id " : "",
				wanted ? wanted : "");
}
