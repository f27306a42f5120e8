/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/mvcc.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mvcc/execute/disconnects.h"
#include "mvcc/execute/execute.h"
#include "mvcc/execute/final_rows.h"
#include "mvcc/execute/untold_numbers.h"
#include "mvcc/explain/accesses.h"
#include "mvcc/explain/explain.h"
#include "mvcc/explain/findings.h"
#include "mvcc/plan/concurrent_ddl.h"
#include "mvcc/plan/definitions.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/last_insert_id.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/prepared_text.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/read/serializable_reads.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/first_committer_wins.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"
#include "mvcc/unknown/unknown_rows.h"
#include "server/commands.h"
#include "server/flavour.h"

/* ---- the server ---- */

static enum mvcc_engine engine_of(const struct execution *s, const struct contract *contract)
{
	if (contract->engine == CONTRACT_ENGINE_TIDB ||
		server_flavour_named(s->server.flavour) == SERVER_TIDB)
		return ENGINE_TIDB;
	return execution_is_on(s, "innodb_snapshot_isolation") ? ENGINE_INNODB_SI : ENGINE_INNODB;
}

static void open_env(struct mvcc *m)
{
	const struct execution *s = m->schedule->execution;
	struct span mode = execution_variable(s, "sql_mode");

	m->now.env = eval_env_for_server(s->server.version);
	m->now.env.opaque_count = &m->opaque_count;
	m->sql = sql_options_for_server(s->server.version);
	if (mode.ptr) {
		m->now.env.mode = eval_mode_flags(mode);
		m->sql.mode = sql_mode_flags(mode);
	}
	settings_of_server(m);
	m->source = (struct eval_source){table_named, rows_of, m};
}

/* ---- tables ---- */

/* SHOW CREATE TABLE, as the recorder asks for it: without any sql_mode, in older traces with the server's. */
static const struct sql_create_table *read_definition(struct mvcc *m, struct span text)
{
	struct sql_options plain = m->sql;
	struct sql_stmt *stmt = NULL;
	struct err err;

	plain.mode = 0;
	if (!text.ptr || (!sql_parse(&m->catalog.arena, text, &plain, &stmt, &err) &&
				 !sql_parse(&m->catalog.arena, text, &m->sql, &stmt, &err)))
		return NULL;
	return stmt->kind == SQL_STMT_CREATE_TABLE ? stmt->u.create_table : NULL;
}

/* The table whose initial rows are read. */
struct opening {
	struct mvcc *m;
	struct store_table *table;
};

static void add_initial(void *ctx, const struct eval_value *row)
{
	struct opening *o = ctx;
	struct store *s = &o->m->store;

	store_write(s, 0, STORE_NONE, store_record_for(s, o->table, row), row);
}

static uint32_t open_table(struct mvcc *m, uint32_t number)
{
	const struct execution_table *in = &m->schedule->execution->tables[number];
	struct store_table *table = &m->store.tables[number];
	struct eval_outcome outcome = {0};
	struct opening opening = {m, table};
	struct eval_table *def;
	bool whole;

	table->database = in->schema.database;
	table->name = in->schema.name;
	table->made_by = STORE_NONE;
	table->born = 1;
	table->create = read_definition(m, in->schema.create_text);
	if (!table->create)
		return REASON_DEFINITION_UNREADABLE;
	/* Under sql_mode ANSI it says nothing of engine and collations. */
	if (!define_names_engine(table->create))
		return REASON_DEFINITION_WITHOUT_ENGINE;
	def = eval_table_create(&m->catalog.arena, table->create, &m->now.env, &outcome);
	if (!def) {
		/* The reason is about the definition. */
		return reason_of_text(&m->reasons, outcome.reason);
	}
	/* Another engine has other rules, or no transactions at all: nothing of it is modelled. */
	table->alien = !def->transactional;
	if (table->alien)
		return REASON_OTHER_ENGINE;
	store_table_init(table, def, &m->catalog.arena);
	for (uint32_t i = 0; i < def->column_count; i++)
		table->hidden_key |= span_eq_str(def->columns[i].name, HIDDEN_KEY_COLUMN);
	if (in->initial.columns.ptr)
		return REASON_HIDDEN_COLUMN_MISSING;
	whole = content_rows(m, &m->store.arena, def, &in->initial, add_initial, &opening) && in->has_initial;
	/* Without a key it is not known which rows are among those that are missing. */
	if (!whole && (!table->cluster || table->hidden_key)) {
		table->count = 0;
		return in->has_initial ? REASON_INITIAL_VALUES_NOT_KEPT
				       : REASON_NO_INITIAL_ROWS;
	}
	if (!whole)
		make_initial_unknown(m, table);
	return REASON_NONE;
}

/* [[name, timing, event], ...] */
static uint32_t trigger_events(struct span triggers)
{
	static const struct {
		const char *word;
		enum write_event event;
	} words[] = {{"INSERT", WRITE_INSERT}, {"UPDATE", WRITE_UPDATE}, {"DELETE", WRITE_DELETE}};
	struct mp mp = mp_over(triggers);
	uint32_t count = mp_array(&mp), events = 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint32_t fields = mp_array(&mp), found = 0;

		for (uint32_t f = 0; f < fields && !mp.bad; f++) {
			struct span text = f == 2 ? mp_bytes(&mp) : SPAN_NONE;

			if (f != 2)
				mp_skip(&mp);
			for (size_t w = 0; w < ARRAY_LEN(words) && text.ptr; w++) {
				if (memmem(text.ptr, text.len, words[w].word, 6))
					found |= words[w].event;
			}
		}
		events |= found ? found : WRITE_ANY; /* one that is not known yet */
	}
	return mp.bad ? WRITE_ANY : events;
}

/* One store does not model several that follow each other. */
static bool several_nodes(const struct execution *e)
{
	for (size_t i = 1; i < e->session_count; i++) {
		if (!span_eq(e->sessions[i].node, e->sessions[0].node))
			return true;
	}
	return false;
}

static void open_tables(struct mvcc *m)
{
	/* Old traces do not tell of triggers, but the scenario that made one does. */
	bool triggers = span_ihas(m->schedule->execution->scenario, "trigger");
	bool nodes = several_nodes(m->schedule->execution);

	for (uint32_t i = 0; i < m->store.table_count; i++) {
		struct span told = m->schedule->execution->tables[i].schema.triggers;
		uint32_t problem = open_table(m, i);

		if (told.ptr)
			m->store.tables[i].triggers = trigger_events(told);
		m->store.tables[i].alien &= told.ptr && !m->store.tables[i].triggers;
		if (!problem && triggers && !told.ptr) {
			problem = REASON_TABLE_WITH_TRIGGERS;
			m->store.tables[i].redefined = true;
		}
		if (!problem && nodes) {
			problem = REASON_SEVERAL_NODES;
			m->store.tables[i].redefined = true;
		}
		if (problem)
			m->store.tables[i].unknown = problem;
	}
	label_tables(m);
	foreign_init(m);
}

static bool is_chained(const struct sql_stmt *stmt)
{
	return stmt->u.txn->chain == SQL_YES;
}

/* After an error that ended the transaction, what follows runs at the level of the dead one, not of
 * the session, where SET TRANSACTION was for that one only (seen on 10.5 to 11.8 and 9.7; MDEV-27922
 * goes further: it runs in the dead transaction).  BEGIN, COMMIT and ROLLBACK put an end to it.
 * Where the levels differ, it is not known. */
static void doubt_levels(struct mvcc *m)
{
	const struct schedule *s = m->schedule;
	uint8_t *dead = mem_zero(s->execution->session_count + 1, sizeof(*dead));

	for (size_t i = 0; i < s->stmt_count; i++) {
		const struct schedule_stmt *stmt = &s->stmts[i];
		const struct sql_stmt *tree = m->runs[i].plan->stmt;
		uint8_t *level = &dead[stmt->in->session];

		if (tree && !stmt->in->record.error &&
			(tree->kind == SQL_STMT_BEGIN ||
				((tree->kind == SQL_STMT_COMMIT || tree->kind == SQL_STMT_ROLLBACK) &&
					!is_chained(tree))))
			*level = 0;
		if (*level && stmt->txn != SCHEDULE_NONE && s->txns[stmt->txn].level != *level) {
			m->store.txns[stmt->txn + 1].level_unknown = true;
			m->store.txns[stmt->txn + 1].level_other = *level;
		}
		for (const struct schedule_txn_event *e = stmt->txn_events;
			e && stmt->in->record.error; e = e->next) {
			if (e->event == TXN_END)
				*level = s->txns[e->txn].level;
		}
	}
	mem_free(dead);
}

/* What may have ended a transaction inside, where the recorder does not tell; or tells because of an
 * EXECUTE whose text is known here. */
static void find_mixed(struct mvcc *m)
{
	const struct schedule *s = m->schedule;
	bool *looked = mem_zero(s->txn_count + 1, sizeof(*looked));

	for (uint32_t i = 0; i < s->txn_count; i++)
		looked[i] = s->txns[i].mixed == TXN_MIXED_NOT_TOLD;
	for (size_t i = 0; i < s->stmt_count; i++) {
		if (s->stmts[i].txn != SCHEDULE_NONE)
			looked[s->stmts[i].txn] |= m->runs[i].executes || plan_is_call(m->runs[i].plan) ||
						   refused_whole(m->runs[i].plan, &s->stmts[i].in->record);
	}
	for (uint32_t i = 0; i < s->txn_count; i++)
		m->store.txns[i + 1].mixed = s->txns[i].mixed == TXN_MIXED_YES && !looked[i];
	for (size_t i = 0; i < s->stmt_count; i++) {
		const struct record_stmt *r = &s->stmts[i].in->record;
		uint32_t txn = s->stmts[i].txn;

		if (txn == SCHEDULE_NONE || !looked[txn] || s->txns[txn].autocommit ||
			!(r->error || r->status & STATUS_IN_TRANS))
			continue;
		m->store.txns[txn + 1].mixed |= plan_mixes(m->runs[i].plan) && !refused_whole(m->runs[i].plan, r);
	}
	mem_free(looked);
}

/* A CALL outside of a transaction: each of its statements is one. */
static bool commits_inside(const struct mvcc *m, uint32_t stmt)
{
	uint32_t txn = m->schedule->stmts[stmt].txn;

	return plan_is_call(m->runs[stmt].plan) &&
	       (txn == SCHEDULE_NONE || m->schedule->txns[txn].autocommit);
}

/* A CALL, or several statements in one text, beside which others ran. */
static void find_concurrent_mixed(struct mvcc *m)
{
	struct seen {
		uint32_t events, own; /* of all sessions, and of its own, when it was sent */
	};
	const struct schedule *s = m->schedule;
	size_t sessions = s->execution->session_count;
	struct seen *sent = mem_zero(s->stmt_count + 1, sizeof(*sent));
	uint32_t *events = mem_zero(sessions + 1, sizeof(*events)), *under_way = mem_zero(sessions + 1, sizeof(*events));
	uint32_t open = 0, all = 0;

	for (uint32_t e = 0; e < s->event_count; e++) {
		uint32_t i = s->events[e].index, session;

		all += s->events[e].kind == EVENT_TXN;
		if (s->events[e].kind == EVENT_TXN)
			continue;
		session = s->stmts[i].in->session;
		if (s->events[e].kind == EVENT_SENT) {
			m->runs[i].mixes = open > under_way[session];
			open++;
			under_way[session]++;
			all++;
			events[session]++;
			sent[i] = (struct seen){all, events[session]};
		} else {
			open--;
			under_way[session]--;
			m->runs[i].mixes |= all - sent[i].events > events[session] - sent[i].own;
			m->runs[i].mixes &= (plan_mixes(m->runs[i].plan) || commits_inside(m, i)) &&
					    !refused_whole(m->runs[i].plan, &s->stmts[i].in->record);
			all++;
			events[session]++;
		}
	}
	mem_free(sent);
	mem_free(events);
	mem_free(under_way);
}

static void make_plans(struct mvcc *m)
{
	size_t count = m->schedule->execution->session_count;
	bool *off = mem_zero(count + 1, sizeof(*off)), *opened = mem_zero(count + 1, sizeof(*opened));
	struct session_settings *settings = mem_zero(count + 1, sizeof(*settings));
	uint32_t *order = definition_order(m);

	for (size_t n = 0; n < m->schedule->stmt_count; n++) {
		uint32_t i = order[n];
		const struct schedule_stmt *stmt = &m->schedule->stmts[i];
		struct session_settings *session = &settings[stmt->in->session];
		uint8_t command = stmt->in->record.command;
		struct span executed;

		if (!opened[stmt->in->session])
			settings_first(m, session, stmt->in->session);
		opened[stmt->in->session] = true;
		m->now.stmt = i;
		m->runs[i].plan = plan_of(m, plan_text(stmt), session);
		executed = prepared_text(m, session, m->runs[i].plan);
		m->runs[i].executes = executed.ptr != NULL;
		if (executed.ptr)
			m->runs[i].plan = plan_of(m, executed, session);
		m->runs[i].has_last_insert_id = session->has_last_insert_id;
		m->runs[i].number = session->number;
		if (settings_has_text(command) && command != CMD_STMT_PREPARE)
			last_insert_id_after(m, session, stmt->in, m->runs[i].plan);
		m->runs[i].unknown_foreign = unknown_foreign_key(m, &stmt->in->record);
		prepared_after(m, session, m->runs[i].plan, stmt->in->record.error != 0);
		concurrent_ddl_before(m, i, settings, opened);
		define_after(m, i, session);
		concurrent_ddl_after(m, i, settings);
		settings_after(m, session, stmt->in, m->runs[i].plan);
		/* Definitions that change, and table locks, make waits that are none of ours. */
		m->catalog.any_ddl |= m->runs[i].plan->ddl;
		/* With autocommit off, the first statement of a transaction keeps its locks when it
		 * fails, and no answer tells of that transaction. */
		if (!stmt->in->record.error)
			off[stmt->in->session] = !(stmt->in->record.status & STATUS_AUTOCOMMIT);
		else
			m->catalog.any_ddl |= off[stmt->in->session] && stmt->txn_events &&
				      stmt->txn_events->event == TXN_END;
	}
	m->now.stmt = STORE_NONE;
	m->now.env.database = SPAN_NONE;
	foreign_arrange(m);
	concurrent_ddl_begin(m);
	mem_free(order);
	mem_free(opened);
	mem_free(settings);
	mem_free(off);
}

/* ---- the end ---- */

static void tell(const struct mvcc *m, const struct mvcc_judged *judged)
{
	if (m->options->judged)
		m->options->judged(m->options->context, judged);
}

static void final_undecided(struct mvcc *m, uint32_t table, uint32_t reason)
{
	const char *text = reason_text(&m->reasons, reason);

	verdict_undecided(m->verdict, text, 1);
	tell(m, &(struct mvcc_judged){.table = &m->schedule->execution->tables[table],
			.verdict = "undecided",
			.reason = text});
}

static void final_decided(struct mvcc *m, uint32_t table)
{
	m->verdict->decided++;
	tell(m, &(struct mvcc_judged){
			.table = &m->schedule->execution->tables[table], .verdict = "decided"});
}

static void judge_final(struct mvcc *m)
{
	for (uint32_t i = 0; i < m->schedule->execution->table_count; i++) {
		uint32_t reason = REASON_FINAL_ROWS_NOT_WHOLE;
		struct execution_rows whole;
		struct eval_result expected;
		uint32_t number;

		switch (final_of(m, i, &number, &expected)) {
		case FINAL_NONE:
			break;
		case FINAL_UNKNOWN:
			if (number != STORE_NONE && define_lacks_transactions(m, &m->store.tables[number]))
				break;
			reason = number != STORE_NONE && m->store.tables[number].unknown
					 ? m->store.tables[number].unknown
				 : number == STORE_NONE || !m->store.tables[number].def ||
						 !m->store.tables[number].born
					 ? REASON_DEFINITION_UNKNOWN
					 : REASON_ROWS_UNKNOWN_AT_END;
			/* fall through */
		case FINAL_OPEN:
			final_undecided(m, i, m->now.uncomputed ? (uint32_t)REASON_VALUE_NOT_COMPUTED : reason);
			break;
		case FINAL_DIFFERS:
			if (m->search.uncertain) {
				final_undecided(m, i, REASON_MORE_ORDERS_THAN_TRIED);
				break;
			}
			if (!execution_whole_content(m->schedule->execution, &m->schedule->execution->tables[i].final,
				    &m->scratch, &whole)) {
				final_undecided(m, i, REASON_FINAL_ROWS_NOT_WHOLE);
				break;
			}
			m->search.mismatch = (struct mismatch){.kind = MISMATCH_FINAL,
				.stmt = STORE_NONE,
				.table = number,
				.other_txn = STORE_NONE,
				.expected = expected,
				.final = &whole};
			m->now.stmt = m->now.txn = STORE_NONE;
			note_mismatch(m);
			if (m->unrecorded_writers)
				final_undecided(m, i, unrecorded_reason(m));
			else
				final_decided(m, i);
			break;
		case FINAL_FITS:
			final_decided(m, i);
			break;
		}
	}
}

static struct finding_step step_of(struct mvcc *m, size_t at)
{
	enum { TEXT_MAX = 4096 };
	const struct execution_stmt *stmt = m->schedule->stmts[at].in;
	size_t len = stmt->sql.len < TEXT_MAX ? stmt->sql.len : TEXT_MAX;

	return (struct finding_step){.stmt = UINT32_MAX,
		.session = m->schedule->execution->sessions[stmt->session].number,
		.number = stmt->record.number,
		.text = arena_copy(&m->verdict->arena, span_of(stmt->sql.ptr, len)),
		.begin_ns = stmt->record.begin,
		.end_ns = stmt->record.at,
		.error = stmt->record.error};
}

/* The first statement of each reason is its example.  What made its rows unknown may have been about
 * rows that were unknown already: the one at the beginning is named, since it is the one to change. */
static void add_example(struct mvcc *m, const char *reason, size_t at)
{
	struct finding_step step, culprit;
	size_t from = at, steps = 0;

	if (verdict_has_example(m->verdict, reason))
		return;
	while (m->runs[from].culprit && steps++ < m->schedule->stmt_count)
		from = m->runs[from].culprit - 1;
	step = step_of(m, at);
	if (from != at)
		culprit = step_of(m, from);
	verdict_example(m->verdict, reason, &step, from != at ? &culprit : NULL);
}

static void count_statements(struct mvcc *m)
{
	bool *open = mem_zero(m->schedule->execution->session_count + 1, sizeof(*open));

	for (size_t i = 0; i < m->schedule->stmt_count; i++) {
		const struct stmt_run *run = &m->runs[i];
		struct mvcc_judged judged = {.stmt = m->schedule->stmts[i].in};
		const char *reason = reason_text(&m->reasons, run->reason);

		switch ((enum stmt_verdict)run->verdict) {
		case STMT_DECIDED:
			m->verdict->decided++;
			judged.verdict = "decided";
			break;
		case STMT_UNJUDGED:
			reason = reason_text(&m->reasons, m->search.stopped ? REASON_STOPPED : REASON_NO_ANSWER);
			/* fall through */
		case STMT_UNDECIDED:
			verdict_undecided(m->verdict, reason, 1);
			add_example(m, reason, i);
			judged.verdict = "undecided";
			judged.reason = reason;
			break;
		case STMT_UNSUPPORTED:
			verdict_unsupported(m->verdict, reason, 1);
			add_example(m, reason, i);
			judged.verdict = "unsupported";
			judged.reason = reason;
			break;
		case STMT_HARMLESS:
			judged.verdict = "not judged";
			break;
		}
		tell(m, &judged);
		m->verdict->open_sessions += judged.reason && !open[judged.stmt->session];
		open[judged.stmt->session] |= judged.reason != NULL;
	}
	mem_free(open);
}

void mvcc_check(const struct schedule *schedule, const struct mvcc_options *options,
	struct verdict *verdict)
{
	struct mvcc *m = mem_zero(1, sizeof(*m));

	m->schedule = schedule;
	m->options = options;
	m->verdict = verdict;
	m->reasons.arena = &verdict->arena;
	m->now.stmt = STORE_NONE;
	m->now.engine = engine_of(schedule->execution, options->contract);
	/* A scenario's run has a database of its own. */
	m->unrecorded_writers = !schedule->one_at_a_time && !options->all_sessions &&
		       !schedule->execution->all_sessions;
	m->unrecorded_writers |= events_may_write(schedule);
	m->some_not_recorded = m->unrecorded_writers && schedule->execution->some_sessions;
	verdict->contract = options->contract->name;
	store_init(&m->store, (uint32_t)schedule->execution->table_count,
		(uint32_t)schedule->txn_count);
	m->runs = mem_zero(schedule->stmt_count + 1, sizeof(*m->runs));
	m->sessions =
		mem_zero(schedule->execution->session_count + 1, sizeof(*m->sessions));
	open_env(m);
	open_tables(m);
	programs_open(m);
	make_plans(m);
	doubt_levels(m);
	find_mixed(m);
	find_concurrent_mixed(m);
	find_loose_ends(m);
	serializable_reads_open(m);
	m->untold = mem_zero(m->store.table_count + 1, sizeof(*m->untold));
	solver_search(m);
	/* Final rows are those of a schedule that was executed whole. */
	if (!m->search.stopped)
		judge_final(m);
	judge_concurrent(m);
	count_statements(m);
	notes_report(m);
	if (options->accesses && !m->search.stopped)
		accesses_report(m);
	verdict_sort(verdict);
	untold_numbers_release(m);
	store_release(&m->store);
	arena_release(&m->catalog.arena);
	query_memo_release(&m->memo);
	arena_release(&m->scratch);
	reasons_release(&m->reasons);
	map_release(&m->catalog.plans);
	mem_free(m->catalog.plan_list);
	mem_free(m->runs);
	mem_free(m->sessions);
	mem_free(m->notes);
	mem_free(m->search.choices);
	mem_free(m->search.live);
	mem_free(m->search.in_flight);
	mem_free(m->catalog.foreign_keys);
	mem_free(m->catalog.children);
	mem_free(m->catalog.labels);
	map_release(&m->catalog.label_heads);
	mem_free(m->loose_ends);
	mem_free(m->wanted.locks);
	mem_free(m->next_stmts);
	mem_free(m);
}
