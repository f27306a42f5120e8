/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what the solver noted to findings: severity by the contract, the statements as witness. */
#include "mvcc/explain/findings.h"

#include "base/buf.h"
#include "mvcc/execute/transaction_control.h"
#include "mvcc/explain/explain.h"
#include "mvcc/solver.h"
#include "trace/msgpack_cursor.h"

enum { STEPS_MAX = 60, STEPS_FIRST = 10 };

/* By enum note_kind. */
static const struct {
	enum finding_class class;
	bool suspicion;
} kinds[NOTE_COUNT] = {
	[NOTE_CURRENT_WRITE] = {CLASS_CURRENT_WRITE, false},
	[NOTE_CURRENT_SOURCE] = {CLASS_CURRENT_WRITE, false},
	[NOTE_OWN_WRITE_SHOWS] = {CLASS_OWN_WRITE_SHOWS, false},
	[NOTE_NOOP_UPDATE] = {CLASS_NOOP_UPDATE, false},
	[NOTE_DELETED_ROW] = {CLASS_DELETED_ROW_STAYS, false},
	[NOTE_SPLIT] = {CLASS_SPLIT_STATEMENT, false},
	[NOTE_SPLIT_GAP] = {CLASS_SPLIT_STATEMENT_GAP, false},
	[NOTE_DIRTY_READ] = {CLASS_DIRTY_READ, false},
	[NOTE_NEEDLESS_BLOCK] = {CLASS_NEEDLESS_BLOCK, true},
	[NOTE_NEEDLESS_DEADLOCK] = {CLASS_NEEDLESS_DEADLOCK, true},
	[NOTE_NO_AUTOCOMMIT] = {CLASS_NO_AUTOCOMMIT, false},
	[NOTE_MISMATCH] = {CLASS_WRONG_RESULT, false}, /* the mismatch says which */
};

enum finding_class note_class(enum note_kind kind)
{
	return kinds[kind].class;
}

struct limiter {
	enum finding_class class;
	enum severity severity;
	size_t last; /* finding */
	uint32_t listed;
};

static void set_transactions(struct mvcc *m, struct finding *finding, const struct note *note)
{
	struct arena *arena = &m->verdict->arena;
	uint32_t txns[2] = {note->txn, note->other_txn};

	finding->transactions = arena_alloc(arena, 2 * sizeof(*finding->transactions));
	for (uint32_t i = 0; i < 2; i++) {
		if (txns[i] == STORE_NONE || txns[i] == 0)
			continue;
		finding->transactions[finding->transaction_count++] = span_str(arena_printf(
			arena, "T%llu", (unsigned long long)m->schedule->txns[txns[i] - 1].number));
	}
}

/* "3 rows", "ok 2, waited", "error 1213" */
static struct span outcome_of(struct mvcc *m, const struct schedule_stmt *stmt)
{
	const struct record_stmt *r = &stmt->in->record;
	const char *waited = r->blocked_ns ? ", waited" : "";
	const struct execution_rows *result;

	if (r->flags & STMT_NO_REPLY)
		return SPAN_LIT("no answer");
	if (r->error)
		return span_str(arena_printf(&m->verdict->arena, "error %u%s", r->error, waited));
	result = schedule_result(m->schedule, stmt);
	if (result)
		return span_str(arena_printf(&m->verdict->arena, "%llu row%s%s",
			(unsigned long long)result->total,
			result->total == 1 ? "" : "s", waited));
	return span_str(arena_printf(
		&m->verdict->arena, "ok %llu%s", (unsigned long long)r->affected, waited));
}

/* A transaction of a session that the statement was seen waiting for. */
static bool blocked(const struct mvcc *m, uint32_t txn, uint32_t stmt)
{
	const struct schedule_txn *t = &m->schedule->txns[txn];
	const struct record_stmt *r = &m->schedule->stmts[stmt].in->record;
	struct mp mp = mp_over(r->blockers);
	uint32_t count = r->blockers.ptr ? mp_array(&mp) : 0;

	if (t->begin_seq > r->seq || (t->end_seq && t->end_seq < r->begin_seq))
		return false;
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		if (mp_u32(&mp) == m->schedule->execution->sessions[t->session].number)
			return true;
	}
	return false;
}

/* Made a version that the finding shows, or ended the transaction of such a statement. */
static bool made_version(const struct mvcc *m, const struct note *note, uint32_t stmt)
{
	for (uint32_t i = 0; i < note->writer_count; i++) {
		if (note->writers[i] == stmt ||
			(m->schedule->stmts[note->writers[i]].txn == m->schedule->stmts[stmt].txn &&
				ends_txn(m, stmt)))
			return true;
	}
	return false;
}

/* What the transactions concerned did up to the statement in question; of others only what made the
 * versions that are shown, and what kept the statement waiting. */
static bool is_step(const struct mvcc *m, const struct note *note, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	uint64_t last = note->stmt == STORE_NONE ? UINT64_MAX
						 : m->schedule->stmts[note->stmt].in->record.seq;

	if (s->txn == SCHEDULE_NONE || s->in->record.begin_seq > last)
		return false;
	return s->txn + 1 == note->txn || s->txn + 1 == note->other_txn ||
	       made_version(m, note, stmt) ||
	       (note->stmt != STORE_NONE && blocked(m, s->txn, note->stmt));
}

static struct finding_step step_of(struct mvcc *m, const struct schedule_stmt *stmt)
{
	struct arena *arena = &m->verdict->arena;

	return (struct finding_step){
		.transaction = span_str(arena_printf(arena, "T%llu",
			(unsigned long long)m->schedule->txns[stmt->txn].number)),
		.session = m->schedule->execution->sessions[stmt->in->session].number,
		.number = stmt->in->record.number,
		.stmt = UINT32_MAX,
		.what = outcome_of(m, stmt),
		.text = arena_copy(arena, stmt->text),
		.begin_ns = stmt->in->record.begin,
		.end_ns = stmt->in->record.at,
		.error = stmt->in->record.error};
}

/* Of many the first, which make the read view, and the last, where it went wrong. */
static void set_steps(struct mvcc *m, struct finding *finding, const struct note *note)
{
	const struct schedule *s = m->schedule;
	uint32_t count = 0, at = 0;

	for (uint32_t i = 0; i < s->stmt_count; i++)
		count += is_step(m, note, i);
	finding->steps = arena_zero(&m->verdict->arena, STEPS_MAX * sizeof(*finding->steps));
	for (uint32_t i = 0; i < s->stmt_count; i++) {
		if (!is_step(m, note, i))
			continue;
		if (at < STEPS_FIRST || count - at <= STEPS_MAX - STEPS_FIRST)
			finding->steps[finding->step_count++] = step_of(m, &s->stmts[i]);
		at++;
	}
}

static void set_statement(struct mvcc *m, struct finding *finding, const struct note *note)
{
	const struct execution_stmt *stmt;

	if (note->stmt == STORE_NONE)
		return;
	stmt = m->schedule->stmts[note->stmt].in;
	finding->session = m->schedule->execution->sessions[stmt->session].number;
	finding->number = stmt->record.number;
}

static void set_rows(struct mvcc *m, struct finding *finding, const struct note *note)
{
	struct arena *arena = &m->verdict->arena;

	finding->rows = arena_zero(arena, (note->row_count + 1) * sizeof(*finding->rows));
	for (uint32_t i = 0; i < note->row_count; i++)
		finding->rows[finding->row_count++] =
			(struct finding_row){.object = arena_copy(arena, note->rows[i].object),
				.chain = arena_copy(arena, note->rows[i].chain)};
}

static struct span explanation_of(struct mvcc *m, const struct note *note, bool torn)
{
	struct buf text = BUF_INIT;
	struct span out;

	buf_add(&text, note->text.ptr, note->text.len);
	if (torn)
		buf_add_str(&text, " The trace is not complete, and the missing records may explain it.");
	out = arena_copy(&m->verdict->arena, buf_span(&text));
	buf_release(&text);
	return out;
}

void notes_report(struct mvcc *m)
{
	struct limiter limiters[64];
	uint32_t limiter_count = 0;

	for (size_t i = 0; i < m->note_count; i++) {
		const struct note *note = &m->notes[i];
		uint8_t level = note->txn == STORE_NONE ? LEVEL_READ_COMMITTED : note->level;
		const char *rule = NULL;
		enum severity severity = kinds[note->kind].suspicion || note->by_unrecorded_writer
						 ? SEVERITY_SUSPICION
						 : contract_judge(m->options->contract, level,
							   note->class, &rule);
		/* A trace does not end, or break off, at one moment for all sessions: a commit that
		 * was lost would explain what another session saw. */
		bool torn = severity == SEVERITY_VIOLATION && !m->schedule->execution->complete;
		struct limiter *limiter = NULL;
		struct finding *finding;

		if (torn)
			severity = SEVERITY_SUSPICION;
		for (uint32_t l = 0; l < limiter_count; l++) {
			if (limiters[l].severity == severity &&
				limiters[l].class == note->class)
				limiter = &limiters[l];
		}
		if (!limiter) {
			limiter = &limiters[limiter_count++];
			*limiter = (struct limiter){note->class, severity, 0, 0};
		}
		if (limiter->listed &&
			(limiter->listed >= notes_listed_max(m) || !note->text.ptr)) {
			m->verdict->findings[limiter->last].similar++;
			continue;
		}
		limiter->listed++;
		limiter->last = m->verdict->finding_count;
		finding = verdict_add(m->verdict, FOUND_BY_MVCC, note->class);
		finding->severity = severity;
		finding->rule = rule;
		finding->traits = note->traits;
		if (note->txn != STORE_NONE) /* final rows are of no level */
			finding->level = txn_level_name(level);
		set_transactions(m, finding, note);
		set_steps(m, finding, note);
		set_rows(m, finding, note);
		set_statement(m, finding, note);
		finding->answer = note->answer;
		finding->explanation = explanation_of(m, note, torn);
		finding_seal(finding);
	}
}
