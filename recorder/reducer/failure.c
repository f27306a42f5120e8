/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reducer/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "common/contract.h"
#include "common/known/known_bugs.h"
#include "common/known/signature.h"
#include "common/known/violations.h"
#include "common/merge_findings.h"
#include "common/shape.h"
#include "mvcc/mvcc.h"
#include "reduce/script.h"

const char *const failure_same_words[] = {"class", "shape", "known", "output", NULL};

/* ---- findings as failures ---- */

static void keep(char *out, size_t size, struct buf *text)
{
	snprintf(out, size, "%s", text->data ? text->data : "");
	buf_clear(text);
}

static void fill(const struct finding *f, struct failure *out)
{
	struct buf text = BUF_INIT;

	*out = (struct failure){.violation = f->severity == SEVERITY_VIOLATION};
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

static bool judge(const struct execution *e, struct verdict *verdict, struct err *err)
{
	struct contract contract;
	struct schedule schedule;

	if (!contract_builtin(&contract, known_contract(e), err))
		return false;
	verdict_init(verdict);
	schedule_init(&schedule, e);
	mvcc_check(&schedule, &(struct mvcc_options){.contract = &contract, .all_sessions = e->scenario.ptr}, verdict);
	known_attach(verdict, e);
	schedule_release(&schedule);
	verdict_join(verdict);
	verdict_sort(verdict);
	return true;
}

bool outcome_judge(const struct scenario *scenario, const struct execution *e, struct outcome *out, struct err *err)
{
	struct buf label = BUF_INIT;
	struct known_answer answer;
	struct verdict verdict;

	*out = (struct outcome){.ran = true};
	execution_label(e, &label);
	snprintf(out->label, sizeof(out->label), "%s", label.data ? label.data : "?");
	buf_release(&label);
	if (!judge(e, &verdict, err))
		return false;
	for (size_t i = 0; i < verdict.finding_count && out->count < OUTCOME_MAX; i++)
		fill(&verdict.findings[i], &out->failures[out->count++]);
	verdict_release(&verdict);
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

bool outcome_shows(const struct outcome *outcome, const struct failure *failure, enum failure_same same)
{
	const char *wanted = in_respect(failure, same);

	for (uint32_t i = 0; i < outcome->count; i++)
		if (*wanted && strcmp(in_respect(&outcome->failures[i], same), wanted) == 0)
			return true;
	return false;
}

/* ---- the witness ---- */

enum { TABLES_MAX = 16 };

struct doubting {
	const struct scenario *scenario;
	const struct execution *e;
	const struct finding *finding;
	struct arena arena;
	struct sql_options sql;
	struct span names[FINDING_CONCERNED_MAX]; /* of the transactions */
	uint32_t name_count;
	struct span tables[TABLES_MAX]; /* of the statement that the finding is about */
	size_t table_count;
};

/* The statement that the finding is about. */
static bool is_subject(const struct doubting *d, const struct execution_stmt *s)
{
	const struct finding *f = d->finding;

	return f->number == s->record.number && f->session == d->e->sessions[s->session].number;
}

static bool is_concerned(const struct doubting *d, const struct execution_stmt *s)
{
	const struct finding *f = d->finding;
	char name[32];

	for (uint32_t i = 0; i < f->step_count; i++)
		if (f->steps[i].number == s->record.number && f->steps[i].session == d->e->sessions[s->session].number)
			return true;
	snprintf(name, sizeof(name), "T%llu", (unsigned long long)s->record.txn);
	for (uint32_t i = 0; s->record.txn && i < d->name_count; i++)
		if (span_eq_str(d->names[i], name))
			return true;
	return false;
}

static struct sql_stmt *parse(struct doubting *d, struct span sql)
{
	struct sql_stmt *tree;
	struct err err;

	return sql_parse(&d->arena, sql, &d->sql, &tree, &err) ? tree : NULL;
}

static void note_table(
	void *ctx, const struct sql_table_name *table, const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct doubting *d = ctx;

	(void)ref;
	(void)access;
	if (d->table_count < TABLES_MAX)
		d->tables[d->table_count++] = table->name;
}

static void find_tables(struct doubting *d)
{
	for (size_t i = 0; i < d->e->stmt_count; i++) {
		struct sql_stmt *tree = is_subject(d, &d->e->stmts[i]) ? parse(d, d->e->stmts[i].sql) : NULL;

		if (tree)
			sql_stmt_tables(tree, note_table, d);
	}
}

/* Without any table known, every statement may be about it. */
static bool is_about(const struct doubting *d, const struct sql_stmt *tree)
{
	bool about = !d->table_count || !tree;

	for (size_t i = 0; i < d->table_count && !about; i++)
		about = script_names_table(tree, d->tables[i]);
	return about;
}

static bool is_session_concerned(const struct doubting *d, uint32_t session)
{
	for (size_t i = 0; i < d->e->stmt_count; i++)
		if (d->e->stmts[i].session == session && is_concerned(d, &d->e->stmts[i]))
			return true;
	return false;
}

/* Whether the transaction has an earlier read of these tables: the first one may make its snapshot. */
static bool is_first_read(struct doubting *d, const struct execution_stmt *s)
{
	for (const struct execution_stmt *other = d->e->stmts; other < s; other++) {
		struct sql_stmt *tree;

		if (other->session != s->session || other->record.txn != s->record.txn)
			continue;
		tree = parse(d, other->sql);
		if (tree && sql_stmt_is_read(tree) && is_about(d, tree))
			return false;
	}
	return true;
}

static uint8_t doubt_of(struct doubting *d, const struct execution_stmt *s)
{
	const struct sql_stmt *tree = parse(d, s->sql);
	bool control = tree && sql_stmt_is_transaction_control(tree);
	bool about = is_about(d, tree), concerned = is_concerned(d, s);
	bool writes = !tree || (!control && !sql_stmt_is_read(tree));

	if (is_subject(d, s) || (concerned && (control || (about && (writes || is_first_read(d, s))))))
		return 0;
	if (concerned && about)
		return 1;
	if (concerned || (about && writes))
		return 2;
	return is_session_concerned(d, s->session) ? 3 : 4;
}

static void fill_doubts(struct doubting *d, uint8_t *doubts)
{
	uint32_t *ordinals = mem_zero(d->scenario->session_count + 1, sizeof(*ordinals));

	d->name_count = finding_concerned(d->finding, d->names);
	find_tables(d);
	for (size_t i = 0; i < d->scenario->schedule.count; i++) {
		uint32_t session = d->scenario->schedule.stmts[i].session;
		uint32_t index = execution_session(d->e, d->scenario->sessions[session].name);
		const struct execution_stmt *s =
			index == EXECUTION_NONE ? NULL : execution_stmt(d->e, index, ++ordinals[session]);

		doubts[i] = s ? doubt_of(d, s) : 4;
	}
	free(ordinals);
}

bool failure_of_trace(const struct execution *e, const char *wanted, struct failure *out, struct err *err)
{
	struct verdict verdict;
	const struct finding *best = NULL;

	if (!judge(e, &verdict, err))
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
	return best || err_set(err, ERR_EMPTY, "the trace shows no finding%s%s", wanted ? " of the class or id " : "",
				wanted ? wanted : "");
}

bool failure_doubts(
	const struct failure *failure, const struct scenario *scenario, const struct execution *e, uint8_t *doubts)
{
	struct doubting d = {.scenario = scenario, .e = e, .arena = ARENA_INIT,
		.sql = sql_options_for_server(e->server.version)};
	struct verdict verdict;
	struct err err;

	if (!failure->id[0] || !judge(e, &verdict, &err))
		return false;
	for (size_t i = 0; i < verdict.finding_count && !d.finding; i++)
		if (strcmp(verdict.findings[i].id, failure->id) == 0)
			d.finding = &verdict.findings[i];
	if (d.finding)
		fill_doubts(&d, doubts);
	verdict_release(&verdict);
	arena_release(&d.arena);
	return d.finding != NULL;
}
