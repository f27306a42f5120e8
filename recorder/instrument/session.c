/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/session.h"

#include <string.h>

#include "trace/doubts.h"

enum {
	TEMPORARY_MAX = 16 * 1024, /* bytes of names of temporary tables */
	NAMED_MAX = 64 * 1024,     /* ... of statements that were prepared by text */
};

void instrument_session_init(struct instrument_session *s, const struct instrument_tables *tables,
	const struct sql_options *options)
{
	*s = (struct instrument_session){.tables = tables, .options = *options};
}

void instrument_session_release(struct instrument_session *s)
{
	plan_release(&s->plan);
	buf_release(&s->predicate);
	buf_release(&s->first_rows);
	buf_release(&s->beside_predicate);
	instrument_waiting_release(s);
	buf_release(&s->temporary);
	buf_release(&s->named);
	statement_probes_release(&s->reads);
	statement_probes_release(&s->writes);
	select_release(&s->select);
}

struct plan_context instrument_context(
	const struct instrument_session *s, const struct capture *capture, bool prepares)
{
	uint8_t level = capture_level(capture);
	bool in_txn = capture->txn.open || !(capture->status & STATUS_AUTOCOMMIT);

	return (struct plan_context){.tables = s->tables,
		.database = buf_span(&capture->database),
		.temporary = buf_span(&s->temporary),
		.named = buf_span(&s->named),
		.options = &s->options,
		.locks = prepares || level == LEVEL_UNKNOWN ||
			 (level == LEVEL_SERIALIZABLE && in_txn)};
}

/* Rows of a table came by the snapshot: the transaction has one. */
static bool has_read_rows(const struct instrument_session *s)
{
	for (size_t i = 0; i < s->reads.count; i++)
		if (s->reads.list[i].read_count)
			return s->stmt.read_kind == PROBE_READ_SNAPSHOT && !s->stmt.lost;
	return false;
}

/* A query of its rows beside a read is exact where both see one snapshot, and only there it is
 * asked: REPEATABLE READ in a transaction that is open (semantics.md, section 9).  It has one
 * already, as the read itself would make none if it fails, or finds that no row can satisfy it. */
static void begin_beside(struct instrument_session *s, const struct capture *capture,
	const struct span *literals, size_t count)
{
	const struct stmt_plan *plan = &s->plan;
	bool view = capture->txn.consistent_snapshot || s->select.view_txn == capture->txn.id;

	s->select.count = s->select.at = 0;
	if (!plan->beside.text.len || plan->diagnostics || s->cut || capture->now.secret ||
		!capture->txn.open || !view ||
		capture_level(capture) != LEVEL_REPEATABLE_READ ||
		s->stmt.read_kind != PROBE_READ_SNAPSHOT)
		return;
	for (size_t i = 0; i < plan->beside.count; i++)
		if (plan->beside.params[i].index >= count)
			return;
	buf_clear(&s->beside_predicate);
	plan_fill(&plan->beside_predicate, literals, count, &s->beside_predicate);
	select_ask_beside(s, literals, count);
}

static void begin(struct instrument_session *s, struct capture *capture, uint32_t number,
	const struct span *literals, size_t count)
{
	capture->now.no_tables = s->plan.no_tables;
	capture->now.whole = s->plan.whole;
	capture->now.elsewhere = s->plan.elsewhere;
	buf_clear(&s->predicate);
	buf_clear(&s->first_rows);
	s->row_count = 0;
	s->by_itself = !capture->txn.open && capture->status & STATUS_AUTOCOMMIT;
	s->cut |= s->plan.cuts;
	/* The condition of a secret one would tell a password, or the key of a function. */
	if ((s->cut && (s->plan.reads || s->plan.parts)) || capture->now.secret)
		plan_forget_predicate(&s->plan);
	statement_probes_clear(&s->reads);
	s->stmt =
		(struct probed){.number = number, .read_kind = probed_read_kind(capture, &s->plan)};
	if (s->plan.predicate_of && s->plan.first_rows.text.len)
		plan_fill(&s->plan.first_rows, literals, count, &s->first_rows);
	if (s->plan.predicate_of || s->plan.parts) {
		plan_fill(&s->plan.predicate, literals, count, &s->predicate);
		s->stmt.predicate = buf_span(&s->predicate);
	}
	if (instrument_in_select_mode(s)) {
		select_begin(s, capture, literals, count);
		return;
	}
	begin_beside(s, capture, literals, count);
}

void instrument_begin(
	struct instrument_session *s, struct capture *capture, uint32_t number, struct span text)
{
	struct plan_context context = instrument_context(s, capture, false);

	plan_statement(&s->plan, &context,
		capture_can_parse(capture, text) ? text : INSTRUMENT_ANYTHING);
	begin(s, capture, number, NULL, 0);
}

void instrument_begin_planned(struct instrument_session *s, struct capture *capture,
	uint32_t number, const struct stmt_plan *plan, const struct span *literals, size_t count)
{
	plan_copy(&s->plan, plan);
	/* It was planned for views as they were. */
	if (s->plan.through_view && atomic_load(&s->tables->views_changed)) {
		plan_forget_predicate(&s->plan);
		buf_clear(&s->plan.beside.text);
	}
	begin(s, capture, number, literals, count);
}

void instrument_leave_alone(struct instrument_session *s)
{
	plan_leave_alone(&s->plan);
	s->stmt.predicate = SPAN_NONE;
}

void instrument_abandon(struct instrument_session *s, struct capture *capture)
{
	if (!s->tables || instrument_in_select_mode(s))
		return;
	if (s->pending)
		instrument_take_log(s, capture, false, SPAN_NONE, SPAN_NONE, SPAN_NONE);
	/* In a transaction the server takes it back. */
	if (s->plan.writes && s->by_itself && !s->plan.vague) {
		probed_emit_unseen(capture, &s->stmt, &s->plan, s->tables);
		if (s->plan.fires)
			probed_emit_fired(capture, &s->stmt, s->tables);
	}
}

void instrument_take_row(struct instrument_session *s, const struct capture *capture, size_t index,
	struct span value)
{
	const struct values_limits *limits = &capture->worker->config->values;
	bool ok = true;

	s->row_count += index == 0;
	if (s->plan.client_probe)
		select_take_client_row(s, capture, index, value);
	else if (s->plan.grouped)
		ok = log_take_reads(&s->reads, s->plan.tables[index], value, limits);
	else
		ok = log_take_read(&s->reads, s->plan.tables[index], value, limits);
	if (!ok)
		s->stmt.lost = true;
}

void instrument_query_row(
	struct instrument_session *s, const struct capture *capture, const struct span *values)
{
	select_take_row(s, capture, &s->select.queue[s->select.at], values);
}

bool instrument_query_end(
	struct instrument_session *s, struct capture *capture, unsigned error, bool quiet)
{
	const struct own_query *query = &s->select.queue[s->select.at++];
	bool is_the_answer = (error && query->locks && select_is_lock_error(error)) ||
			     select_is_late_abort(error);

	select_query_end(s, capture, query, !error, quiet);
	if (is_the_answer)
		s->select.at = s->select.count;
	return is_the_answer;
}

void instrument_reset(struct instrument_session *s)
{
	buf_clear(&s->temporary);
	buf_clear(&s->named);
	s->cut = s->log_ready = false;
	s->log_read = 0;
}

/* The last one of a name counts. */
static void note_named(struct instrument_session *s)
{
	/* Without all of them none is known. */
	if (s->named.len > NAMED_MAX)
		buf_clear(&s->named);
	buf_add_span(&s->named, buf_span(&s->plan.named));
}

/* Its temporary tables, one name after the other; one that was dropped is taken out. */
static void note_temporary(struct instrument_session *s)
{
	struct span rest = buf_span(&s->plan.temporary);
	struct buf kept = BUF_INIT;

	if (!rest.len)
		return;
	if (!s->plan.drops_temporary) {
		if (s->temporary.len < TEMPORARY_MAX)
			buf_add_span(&s->temporary, rest);
		return;
	}
	for (size_t at = 0; at < s->temporary.len;) {
		const char *entry = s->temporary.data + at;
		size_t len = strlen(entry) + 1;

		len += strlen(entry + len) + 1;
		if (!memmem(rest.ptr, rest.len, entry, len))
			buf_add(&kept, entry, len);
		at += len;
	}
	buf_clear(&s->temporary);
	buf_add_span(&s->temporary, buf_span(&kept));
	buf_release(&kept);
}

/* Its rows are known by the query beside it. */
static void take_beside(struct instrument_session *s)
{
	plan_take_beside(&s->plan);
	s->stmt.predicate =
		s->plan.predicate_of ? buf_span(&s->beside_predicate) : SPAN_NONE;
}

/* A BEFORE UPDATE trigger reads NEW of the keys, so MariaDB takes them for changed and collects the rows of a scan
 * by a key first, outside of strict mode: what is an error without triggers is a warning. */
static void note_changed_answer(struct instrument_session *s, struct capture *capture, const struct instrument_outcome *outcome)
{
	if (!outcome->ok || !outcome->warnings || !s->plan.converts || s->options.flavour != SQL_MARIADB)
		return;
	capture_note_statement(capture, SPAN_LIT(NOTE_ANSWER_DOUBTED),
		SPAN_LIT("in strict mode the server may refuse this UPDATE where it has no triggers"), s->stmt.number);
}

void instrument_end(struct instrument_session *s, struct capture *capture,
	const struct instrument_outcome *outcome)
{
	bool ok = outcome->ok,
	     cursor = (capture->status & (STATUS_CURSOR_EXISTS | STATUS_LAST_ROW_SENT)) ==
		      STATUS_CURSOR_EXISTS;

	if (ok) {
		note_temporary(s);
		note_named(s);
	}
	note_changed_answer(s, capture, outcome);
	/* Outside of a transaction each of its statements is one. */
	if (ok && s->plan.calls && capture->txn.open)
		s->plan.vague = false;
	if (ok && s->plan.fires)
		probed_emit_fired(capture, &s->stmt, s->tables);
	/* A cursor gives its rows later. */
	if (cursor)
		probed_forget_predicate(&s->stmt, &s->plan);
	else if (s->plan.reads && s->plan.limited && s->row_count >= s->plan.limit)
		probed_take_first_rows(&s->stmt, &s->plan, &s->first_rows);
	if (instrument_in_select_mode(s)) {
		select_end(s, capture, outcome);
	} else if (s->plan.writes && (ok || (s->plan.vague && !s->pending))) {
		s->stmt.failed = !ok;
		s->stmt.changed_known = outcome->affected_known;
		s->stmt.changed = outcome->affected;
		s->stmt.warnings = outcome->warnings;
		if (ok && s->plan.reads)
			probed_emit_reads(capture, &s->stmt, &s->plan, &s->reads);
		instrument_await_log(s, outcome);
	} else if (ok) {
		if (s->select.count && s->select.at == s->select.count && s->select.matches_done && !cursor)
			take_beside(s);
		probed_emit_reads(capture, &s->stmt, &s->plan, &s->reads);
		if (capture->txn.open && has_read_rows(s))
			s->select.view_txn = capture->txn.id;
	} else if (s->plan.writes) {
		instrument_write_failed(s);
	}
	s->plan.writes = s->plan.diagnostics = s->plan.reads = s->plan.converts = false;
}
