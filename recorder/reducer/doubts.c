/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reducer/doubts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "reduce/script.h"
#include "reducer/judge.h"

enum { TABLES_MAX = 16 };

struct doubting {
	const struct execution *e;
	const struct finding *finding; /* NULL: an error of the server's */
	const struct execution_stmt *failed; /* ... which this statement got */
	uint64_t since;                      /* when its transaction began */
	bool *sessions;                      /* that have a statement of the finding's transactions */
	struct arena arena;
	struct sql_options sql;
	struct span names[FINDING_CONCERNED_MAX]; /* of the transactions */
	uint32_t name_count;
	struct span tables[TABLES_MAX]; /* of the statements that the finding is about */
	size_t table_count;
};

/* The statement that the finding is about. */
static bool is_subject(const struct doubting *d, const struct execution_stmt *s)
{
	const struct finding *f = d->finding;

	return f->number == s->record.number && f->session == d->e->sessions[s->session].number;
}

static bool is_step(const struct doubting *d, const struct execution_stmt *s)
{
	const struct finding *f = d->finding;

	for (uint32_t i = 0; i < f->step_count; i++)
		if (f->steps[i].number == s->record.number && f->steps[i].session == d->e->sessions[s->session].number)
			return true;
	return false;
}

static bool is_concerned(const struct doubting *d, const struct execution_stmt *s)
{
	char name[32];

	if (is_step(d, s))
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

/* Of the statement that the finding is about; of a cycle, of all that its witness names. */
static void find_tables(struct doubting *d)
{
	for (size_t i = 0; i < d->e->stmt_count; i++) {
		const struct execution_stmt *s = &d->e->stmts[i];
		struct sql_stmt *tree = (d->finding->number ? is_subject(d, s) : is_step(d, s)) ? parse(d, s->sql) : NULL;

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

static void find_sessions(struct doubting *d)
{
	d->sessions = mem_zero(d->e->session_count + 1, sizeof(*d->sessions));
	for (size_t i = 0; i < d->e->stmt_count; i++)
		if (!d->sessions[d->e->stmts[i].session])
			d->sessions[d->e->stmts[i].session] = is_concerned(d, &d->e->stmts[i]);
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

	if (is_subject(d, s) || (!d->finding->number && is_step(d, s)) ||
		(concerned && (control || (about && (writes || is_first_read(d, s))))))
		return 0;
	if (concerned && about)
		return 1;
	if (concerned || (about && writes))
		return 2;
	return d->sessions[s->session] ? 3 : 4;
}

static void fill_doubts(struct doubting *d, uint8_t *doubts)
{
	d->name_count = finding_concerned(d->finding, d->names);
	find_tables(d);
	find_sessions(d);
	for (size_t i = 0; i < d->e->stmt_count; i++)
		doubts[i] = doubt_of(d, &d->e->stmts[i]);
}

/* ---- an error of the server's: who was under way meanwhile ---- */

static bool is_same_transaction(const struct execution_stmt *a, const struct execution_stmt *b)
{
	return a == b || (a->session == b->session && a->record.txn && a->record.txn == b->record.txn);
}

static bool find_failed(struct doubting *d, uint32_t error)
{
	for (size_t i = 0; i < d->e->stmt_count && !d->failed; i++)
		if (d->e->stmts[i].record.error == error)
			d->failed = &d->e->stmts[i];
	if (!d->failed)
		return false;
	d->since = d->failed->record.begin;
	for (size_t i = 0; i < d->e->stmt_count; i++) {
		const struct execution_stmt *s = &d->e->stmts[i];
		struct sql_stmt *tree;

		if (!is_same_transaction(s, d->failed))
			continue;
		if (s->record.begin < d->since)
			d->since = s->record.begin;
		tree = parse(d, s->sql);
		if (tree)
			sql_stmt_tables(tree, note_table, d);
	}
	return true;
}

/* Others' statements of these tables that ran while the transaction that failed was under way; writes and locks most. */
static uint8_t doubt_of_meanwhile(struct doubting *d, const struct execution_stmt *s)
{
	const struct sql_stmt *tree;

	if (is_same_transaction(s, d->failed))
		return 0;
	if (s->record.at < d->since || s->record.begin > d->failed->record.at)
		return 4;
	tree = parse(d, s->sql);
	if (tree && (sql_stmt_is_transaction_control(tree) || !is_about(d, tree)))
		return 3;
	return !tree || !sql_stmt_is_read(tree) ? 1 : 2;
}

/* The rest of the transactions of these statements. */
static void doubt_transactions(struct doubting *d, uint8_t *doubts)
{
	struct map least = MAP_INIT;

	for (size_t i = 0; i < d->e->stmt_count; i++)
		if (d->e->stmts[i].record.txn && doubts[i] <= 2)
			map_put(&least, d->e->stmts[i].record.txn, 1);
	for (size_t i = 0; i < d->e->stmt_count; i++)
		if (doubts[i] > 2 && d->e->stmts[i].record.txn && map_get(&least, d->e->stmts[i].record.txn) != MAP_NONE)
			doubts[i] = 2;
	map_release(&least);
}

static bool fill_error_doubts(struct doubting *d, const char *class_, uint8_t *doubts)
{
	unsigned number;

	if (sscanf(class_, "error-%u", &number) != 1 || !find_failed(d, number))
		return false;
	for (size_t i = 0; i < d->e->stmt_count; i++)
		doubts[i] = doubt_of_meanwhile(d, &d->e->stmts[i]);
	doubt_transactions(d, doubts);
	return true;
}

/* ---- both ---- */

static bool fill_finding_doubts(struct doubting *d, const struct failure *failure, const char *path, const char *contract,
	uint8_t *doubts)
{
	struct verdict verdict;
	struct err err;

	if (!judge_recording(d->e, path, contract, &verdict, &err))
		return false;
	for (size_t i = 0; i < verdict.finding_count && !d->finding; i++)
		if (strcmp(verdict.findings[i].id, failure->id) == 0)
			d->finding = &verdict.findings[i];
	if (d->finding)
		fill_doubts(d, doubts);
	verdict_release(&verdict);
	return d->finding != NULL;
}

bool doubts_of_trace(const struct failure *failure, const struct execution *e, const char *path, const char *contract,
	uint8_t *doubts)
{
	struct doubting d = {.e = e, .arena = ARENA_INIT, .sql = sql_options_for_server(e->server.version)};
	bool ok = failure->id[0] ? fill_finding_doubts(&d, failure, path, contract, doubts)
				 : fill_error_doubts(&d, failure->class_, doubts);

	arena_release(&d.arena);
	mem_free(d.sessions);
	return ok;
}

/* The doubts of what a session executed are those of its statements, which with rounds come again and again. */
static void spread_doubts(const struct scenario *scenario, uint32_t s, const struct execution *e, const uint8_t *of_executed,
	uint8_t *doubts)
{
	uint32_t session = execution_session(e, scenario->sessions[s].name);
	uint32_t at = session == EXECUTION_NONE ? EXECUTION_NONE : e->sessions[session].first_stmt;
	bool any = false;

	while (at != EXECUTION_NONE) {
		for (size_t i = 0; i < scenario->schedule.count && at != EXECUTION_NONE; i++) {
			if (scenario->schedule.stmts[i].session != s)
				continue;
			any = true;
			if (of_executed[at] < doubts[i])
				doubts[i] = of_executed[at];
			at = e->stmts[at].next_in_session;
		}
		if (!any)
			return;
	}
}

bool doubts_of_run(const struct failure *failure, const struct scenario *scenario, const struct execution *e, const char *path,
	uint8_t *doubts)
{
	uint8_t *of_executed = mem_zero(e->stmt_count + 1, 1);
	char contract[CONTRACT_NAME_MAX];
	bool ok = doubts_of_trace(failure, e, path, judge_contract(scenario, contract), of_executed);

	memset(doubts, 4, scenario->schedule.count);
	for (uint32_t i = 0; ok && i < scenario->session_count; i++)
		spread_doubts(scenario, i, e, of_executed, doubts);
	mem_free(of_executed);
	return ok;
}
