/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statements beside a change of definitions, where clients ran at once.  A statement that was under way when a table
 * was altered, made, dropped or renamed used the one that the name stood for before, or the one after; its metadata lock lets
 * nothing else be (MySQL manual, "Metadata Locking").  So it has a plan for either, and which one counts is a matter
 * of the order that the search tries: once the change is executed, those that are not executed yet go on with the other plan.
 *
 * Two changes of one name that overlap may have come in either order, and each depends on what it found: nothing is
 * known of the table afterwards (`contested`).
 */
#include "mvcc/plan/concurrent_ddl.h"

#include "base/search.h"
#include "mvcc/plan/definitions.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/solver.h"
#include "server/commands.h"

enum { NAMES_MAX = 32 };

struct replan {
	struct replan *next; /* in the order of the changes */
	uint32_t by;         /* once this statement is executed */
	const struct plan *plan;
};

struct names {
	struct span list[NAMES_MAX];
	bool changed[NAMES_MAX];
	uint32_t count;
	bool more; /* there were too many: any */
};

static void add_name(
	void *ctx, const struct sql_table_name *table, const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct names *names = ctx;

	(void)ref;
	if (names->count == NAMES_MAX) {
		names->more = true;
		return;
	}
	names->list[names->count] = table->name;
	names->changed[names->count++] = access != SQL_TABLE_READ;
}

static struct names names_of(const struct plan *plan)
{
	struct names names = {.count = 0};

	if (plan->stmt)
		sql_stmt_tables(plan->stmt, add_name, &names);
	names.more |= plan->stmt && plan->stmt->kind == SQL_STMT_DROP_DATABASE;
	return names;
}

/* Is a name among those that the first changes?  Databases, and upper and lower case, are not distinguished. */
static bool changes_name_of(const struct names *by, const struct names *of)
{
	if (by->more || of->more)
		return true;
	for (uint32_t i = 0; i < by->count; i++) {
		for (uint32_t k = 0; by->changed[i] && k < of->count; k++) {
			if (span_ieq(by->list[i], of->list[k]))
				return true;
		}
	}
	return false;
}

struct span plan_text(const struct schedule_stmt *stmt)
{
	uint8_t command = stmt->in->record.command;

	/* Preparing a statement does nothing yet. */
	return command == CMD_STMT_PREPARE || !settings_has_text(command) ? span_str("") : stmt->text;
}

/* What its session had set when a plan was made, as far as plans depend on it. */
static struct session_settings settings_of(const struct mvcc *m, const struct plan *plan)
{
	return (struct session_settings){.database = plan->key.database,
		.temporary = plan->key.temporary,
		.any_case = m->now.env.any_case,
		.eval_mode = plan->key.eval_mode,
		.sql_mode = plan->key.sql_mode,
		.collation = plan->key.collation,
		.text_width = plan->key.text_width,
		.own_time_zone = plan->key.own_time_zone,
		.zone_seconds = plan->key.zone_seconds,
		.no_foreign_checks = plan->key.no_foreign_checks,
		.no_unique_checks = plan->key.no_unique_checks,
		.group_concat_max_len = plan->key.group_concat_max_len,
		.altered = plan->key.altered,
		.select_limited = plan->key.select_limited,
		.engine = plan->key.engine,
		.auto_increment_step = plan->key.auto_increment_step};
}

static const struct plan *plan_now(struct mvcc *m, uint32_t stmt, const struct session_settings *settings)
{
	uint32_t now = m->now.stmt;
	const struct plan *plan;

	m->now.stmt = stmt;
	plan = plan_of(m, plan_text(&m->schedule->stmts[stmt]), settings);
	m->now.stmt = now;
	return plan;
}

/* For each statement the last answer to it or to one before: the first that may still have run at a
 * moment is found by halving. */
static void find_last_answers(struct mvcc *m)
{
	const struct schedule *s = m->schedule;
	uint64_t max = 0;

	if (m->last_answers)
		return;
	m->last_answers = arena_alloc(&m->catalog.arena, (s->stmt_count + 1) * sizeof(*m->last_answers));
	for (size_t i = 0; i < s->stmt_count; i++) {
		if (s->stmts[i].in->record.seq > max)
			max = s->stmts[i].in->record.seq;
		m->last_answers[i] = max;
	}
}

static bool overlaps(const struct mvcc *m, uint32_t change, uint32_t stmt)
{
	const struct record_stmt *by = &m->schedule->stmts[change].in->record, *r = &m->schedule->stmts[stmt].in->record;

	return r->begin_seq < by->seq && r->seq > by->begin_seq &&
	       m->schedule->stmts[change].in->session != m->schedule->stmts[stmt].in->session;
}

/* The first statement that can overlap the change. */
static uint32_t first_beside(struct mvcc *m, uint32_t change)
{
	uint64_t begin = m->schedule->stmts[change].in->record.begin_seq;

	find_last_answers(m);
	return (uint32_t)FIRST_WHERE(i, 0, m->schedule->stmt_count, m->last_answers[i] > begin);
}

static bool is_before(const struct mvcc *m, uint32_t stmt, uint32_t change)
{
	return m->schedule->stmts[stmt].in->record.begin_seq < m->schedule->stmts[change].in->record.seq;
}

/* Came the statement before the change in the order in which plans are made (definition_order)?  Numbers of records do not
 * say so: a change without a reply stands where it was sent, before statements whose records are earlier. */
static bool is_planned(const struct mvcc *m, uint32_t stmt)
{
	return m->runs[stmt].plan != NULL;
}

void concurrent_ddl_before(struct mvcc *m, uint32_t change, struct session_settings *settings, bool *opened)
{
	struct names names = names_of(m->runs[change].plan);

	if (m->schedule->one_at_a_time || !define_may_change(m, change, m->runs[change].plan))
		return;
	for (uint32_t i = first_beside(m, change); i < m->schedule->stmt_count && is_before(m, i, change); i++) {
		uint32_t session = m->schedule->stmts[i].in->session;
		const struct plan *plan = m->runs[i].plan;
		struct names others;

		if (!overlaps(m, change, i))
			continue;
		if (!is_planned(m, i)) {
			if (!opened[session])
				settings_first(m, &settings[session], session);
			opened[session] = true;
			plan = plan_now(m, i, &settings[session]);
			if (!m->runs[i].first)
				m->runs[i].first = plan;
		}
		others = names_of(plan);
		m->runs[change].contested |= define_may_change(m, i, plan) && changes_name_of(&others, &names);
	}
}

/* Stored programs may use any table, and an EXECUTE or a variable is not looked into again. */
static bool cannot_be_planned(const struct mvcc *m, uint32_t stmt, const struct plan *plan)
{
	return plan->effects || plan->procedure || plan_is_call(plan) || m->runs[stmt].executes || plan->key.variables.len ||
	       (plan->stmt && plan->stmt->kind == SQL_STMT_EXECUTE);
}

void concurrent_ddl_after(struct mvcc *m, uint32_t change, const struct session_settings *settings)
{
	struct names names = names_of(m->runs[change].plan);

	if (m->schedule->one_at_a_time || !define_may_change(m, change, m->runs[change].plan))
		return;
	for (uint32_t i = first_beside(m, change); i < m->schedule->stmt_count && is_before(m, i, change); i++) {
		bool planned = is_planned(m, i);
		const struct plan *plan = planned ? m->runs[i].plan : m->runs[i].first;
		struct replan *r, **end = &m->runs[i].replans;
		struct session_settings then;
		struct names others;

		if (!overlaps(m, change, i))
			continue;
		if (cannot_be_planned(m, i, plan)) {
			m->runs[i].beside = true;
			continue;
		}
		others = names_of(plan);
		if (!changes_name_of(&names, &others))
			continue;
		then = planned ? settings_of(m, plan) : settings[m->schedule->stmts[i].in->session];
		r = arena_zero(&m->catalog.arena, sizeof(*r));
		*r = (struct replan){.by = change, .plan = plan_now(m, i, &then)};
		while (*end)
			end = &(*end)->next;
		*end = r;
	}
}

/* Where everything is recorded one after the other, what a name stood for is known but beside two changes. */
static void find_beside_two(struct mvcc *m)
{
	for (uint32_t d = 0; d < m->schedule->stmt_count; d++) {
		if (!m->runs[d].redefinitions)
			continue;
		for (uint32_t i = first_beside(m, d); i < m->schedule->stmt_count && is_before(m, i, d); i++) {
			bool other = m->schedule->stmts[i].in->record.seq > m->schedule->stmts[d].in->record.begin_seq &&
				     i != d && define_changes_table_of(m, d, i);

			m->runs[i].beside |= other && m->runs[i].near;
			m->runs[i].near |= other;
		}
	}
}

void concurrent_ddl_begin(struct mvcc *m)
{
	for (size_t i = 0; i < m->schedule->stmt_count; i++) {
		if (m->runs[i].first)
			m->runs[i].plan = m->runs[i].first;
	}
	if (m->schedule->one_at_a_time)
		find_beside_two(m);
}

static const struct replan *replan_by(const struct mvcc *m, uint32_t stmt, uint32_t change)
{
	const struct replan *r = m->runs[stmt].replans;

	while (r && r->by != change)
		r = r->next;
	return r;
}

void concurrent_ddl_replan(struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = NULL;

	for (const struct replan *r = m->runs[stmt].replans; r; r = r->next) {
		if (m->runs[r->by].state == STMT_DONE)
			plan = r->plan;
	}
	if (plan && plan != m->runs[stmt].plan)
		TRAIL_SET(&m->store.trail, RUN, &m->runs[stmt], plan, plan);
}

bool concurrent_ddl_matters(const struct mvcc *m, uint32_t stmt, uint32_t change)
{
	return replan_by(m, stmt, change) != NULL;
}

static bool has_name(const struct names *names, struct span name)
{
	for (uint32_t i = 0; i < names->count; i++) {
		if (span_eq(names->list[i], name))
			return true;
	}
	return false;
}

/* Is one of the names nothing any more after the change? */
static bool takes_name(const struct sql_stmt *change, const struct names *names)
{
	if (change->kind == SQL_STMT_DROP_TABLE) {
		for (const struct sql_table_name *t = change->u.drop->tables; t; t = t->next) {
			if (has_name(names, t->name))
				return true;
		}
	}
	if (change->kind == SQL_STMT_RENAME_TABLE && !change->u.rename->next)
		return has_name(names, change->u.rename->from.name) &&
		       !span_eq(change->u.rename->from.name, change->u.rename->to.name);
	return false;
}

bool concurrent_ddl_must_precede(const struct mvcc *m, uint32_t stmt, uint32_t change)
{
	const struct replan *r = replan_by(m, stmt, change);
	const struct record_stmt *record = &m->schedule->stmts[stmt].in->record;
	struct names names;

	if (!r || r->next || record->error || record->flags & STMT_NO_REPLY || m->runs[change].contested ||
		r->plan->redefines)
		return false;
	names = names_of(r->plan);
	return takes_name(m->runs[change].plan->stmt, &names);
}
