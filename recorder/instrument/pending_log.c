/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes whose logs were not read yet, and what becomes of them when they are. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "instrument/session.h"

/* ---- the queries ---- */

void instrument_log_query(const struct instrument_session *s, struct buf *sql)
{
	if (!s->log_read) {
		buf_add_str(sql, LOG_READ_SQL);
		return;
	}
	/* From the newline on that ended what was read: where it is missing, the log is another. */
	buf_printf(sql, LOG_READ_ON_SQL, s->log_read);
}

bool instrument_log_is_full(const struct instrument_session *s)
{
	enum { FEW_ROWS = 20 };

	if (!s->log_ready || s->log_read > LOG_KEPT)
		return true;
	return s->waiting_count &&
	       (!s->waiting[s->waiting_count - 1].counted || s->waiting_rows > FEW_ROWS);
}

void instrument_log_emptied(struct instrument_session *s, bool ok)
{
	s->log_ready = ok;
	s->log_read = 0;
}

/* ---- the probes of one write ---- */

/* Several statements in one, of which the last one failed: what those before it wrote may have
 * stayed, what it wrote itself did not, and the log does not tell them apart.  So no rows, only
 * that they may have been written. */
static void emit_failed(struct instrument_session *s, struct capture *capture,
	const struct pending_write *w, bool complete)
{
	struct record_probe probe = {.read_kind = PROBE_READ_CURRENT};

	for (size_t i = 0; i < s->tables->count; i++) {
		const struct instrument_table *table = &s->tables->list[i];

		if (!complete || probed_rows(&s->writes, table))
			probed_emit(capture, &w->stmt, PROBE_WRITE, table, probe, NULL, 0);
	}
}

/* With IGNORE: does the log say what was changed? */
static bool log_is_right(const struct instrument_session *s, const struct pending_write *w)
{
	const struct table_probes *rows = probed_rows(&s->writes, w->plan.skips);

	return w->stmt.changed_known && w->stmt.changed == (rows ? rows->update_count : 0);
}

/* Was a row perhaps changed by which the triggers say that it stayed as it was (add_renewed in
 * prepare.c)?  An INSERT counts a row that it updated twice. */
static bool log_misses_rows(const struct instrument_session *s, const struct pending_write *w)
{
	for (size_t i = 0; i < s->writes.count; i++) {
		const struct table_probes *rows = &s->writes.list[i];
		uint64_t counted = rows->update_count;

		if (!rows->table->renews || !rows->looked_count)
			continue;
		if (w->plan.upserts)
			counted = rows->write_count - rows->looked_count + rows->update_count;
		if (!w->stmt.changed_known || w->stmt.changed > counted)
			return true;
	}
	return false;
}

static void take_rows(struct instrument_session *s, const struct capture *capture,
	struct pending_write *w, struct span log)
{
	statement_probes_clear(&s->writes);
	if (w->stmt.changed_known && !w->stmt.changed)
		s->writes.unchanged = w->plan.skips;
	if (!log_take(&s->writes, s->tables, log, &capture->worker->config->values))
		w->stmt.lost = true;
	if ((w->plan.skips && !log_is_right(s, w)) || log_misses_rows(s, w))
		w->plan.vague = true;
	/* A statement that passes over a row and fires nothing says so. */
	if (w->plan.skips && (w->plan.vague || w->stmt.warnings))
		probed_forget_predicate(&w->stmt, &w->plan);
	if (w->plan.limited) {
		const struct table_probes *rows = probed_rows(&s->writes, w->plan.predicate_of);

		if (rows && rows->match_count >= w->plan.limit)
			probed_take_first_rows(&w->stmt, &w->plan, &w->first_rows);
	}
}

/* `log`: its part; SPAN_NONE: not known. */
static void emit_write(struct instrument_session *s, struct capture *capture,
	struct pending_write *w, struct span log)
{
	bool complete = log.ptr != NULL, unseen;

	w->stmt.lost |= !complete;
	take_rows(s, capture, w, log);
	if (w->stmt.failed) {
		emit_failed(s, capture, w, !w->stmt.lost);
		return;
	}
	if (complete)
		probed_emit_writes(capture, &w->stmt, &w->plan, &s->writes);
	for (size_t i = 0; w->plan.reads_anywhere && i < s->tables->count; i++)
		probed_emit_unknown(capture, &w->stmt, &s->tables->list[i]);
	/* Definitions change tables without a log. */
	unseen = !complete || (w->plan.vague && !w->plan.anywhere);
	/* Without its log it is not known what triggers did. */
	if (w->plan.elsewhere && w->stmt.lost)
		unseen = w->plan.anywhere = true;
	if (unseen)
		probed_emit_unseen(capture, &w->stmt, &w->plan, s->tables);
}

/* ---- logs of several writes ---- */

static bool may_log(enum plan_log_count kind, bool passes, char letter)
{
	if (kind == PLAN_LOG_MATCHED)
		return letter == LOG_UPDATE || letter == LOG_LOOKED;
	return letter == (passes ? LOG_DELETE : LOG_INSERT);
}

/* Are these entries what the write must have logged? */
static bool is_log_of(const struct pending_write *w, struct span log)
{
	size_t name = strlen(w->plan.written[0]->log_name);
	uint64_t rows = 0;

	for (struct span entry; log_split(&log, 1, &entry); rows++)
		if (entry.len < name + 2 || entry.ptr[name + 1] != '|' ||
			memcmp(entry.ptr + 1, w->plan.written[0]->log_name, name) != 0 ||
			!may_log(w->plan.log_count, w->plan.passes, entry.ptr[0]))
			return false;
	return rows == w->rows;
}

/* Can the log be told apart: does each write that says how many entries it has have those, and
 * does none have what no write is left for? */
static bool can_split(const struct instrument_session *s, struct span log)
{
	struct span part;

	if (s->mixed)
		return false;
	for (size_t i = 0; i < s->waiting_count; i++) {
		const struct pending_write *w = &s->waiting[i];

		if (!w->counted)
			return i + 1 == s->waiting_count && !s->failed_last;
		if (!log_split(&log, w->rows, &part) || !is_log_of(w, part))
			return false;
	}
	return !log.len || s->failed_last;
}

/* The log of writes that cannot be told apart: its rows, not exact, go with the last one. */
static void emit_mixed(struct instrument_session *s, struct capture *capture, struct span log)
{
	for (size_t i = 0; i < s->waiting_count; i++) {
		s->waiting[i].stmt.lost = true;
		emit_write(s, capture, &s->waiting[i],
			i + 1 == s->waiting_count ? log : SPAN_NONE);
	}
}

static void emit_waiting(struct instrument_session *s, struct capture *capture, struct span log)
{
	if (!log.ptr || !can_split(s, log)) {
		emit_mixed(s, capture, log);
		return;
	}
	for (size_t i = 0; i < s->waiting_count; i++) {
		struct span part = log;

		if (s->waiting[i].counted)
			(void)!log_split(&log, s->waiting[i].rows, &part);
		emit_write(s, capture, &s->waiting[i], part);
	}
}

/* What was not read before, in one piece; SPAN_NONE: the log is not the one that was begun. */
static struct span whole_log(struct instrument_session *s, struct span first, struct span second)
{
	struct span log = second;

	if (first.len) {
		buf_clear(&s->joined);
		buf_add_span(&s->joined, first);
		buf_add_span(&s->joined, second);
		log = buf_span(&s->joined);
	}
	if (!s->log_read)
		return log;
	if (!log.len || *log.ptr != '\n')
		return SPAN_NONE;
	return span_of(log.ptr + 1, log.len - 1);
}

void instrument_take_log(struct instrument_session *s, struct capture *capture, bool complete,
	struct span lost, struct span first, struct span second)
{
	struct span log = complete ? whole_log(s, first, second) : SPAN_NONE;

	s->log_read += log.len;
	if (!log.ptr || (lost.len && !span_eq_str(lost, "0"))) {
		s->mixed = true;
		s->log_ready = false;
	}
	emit_waiting(s, capture, log);
	s->waiting_count = 0;
	s->waiting_rows = 0;
	s->pending = s->mixed = s->failed_last = false;
}

/* ---- the list ---- */

bool instrument_can_wait(const struct instrument_session *s)
{
	const struct pending_write *last = &s->waiting[s->waiting_count - 1];

	if (!s->defers || !s->waiting_count || !last->counted || s->mixed || s->failed_last)
		return false;
	if (s->by_itself || s->waiting_rows > SESSION_PENDING_ROWS ||
		s->stmt.number - s->waiting[0].stmt.number > SESSION_PENDING_STMTS)
		return false;
	return s->plan.stays || (s->plan.log_count != PLAN_LOG_UNCOUNTED &&
					s->waiting_count < SESSION_PENDING_MAX);
}

/* The number of entries that the server's answer tells. */
static bool count_entries(struct pending_write *w, const struct instrument_outcome *outcome)
{
	switch (w->plan.log_count) {
	case PLAN_LOG_UNCOUNTED:
		return false;
	case PLAN_LOG_AFFECTED:
		w->rows = outcome->affected;
		return outcome->affected_known;
	case PLAN_LOG_MATCHED:
		w->rows = outcome->matched;
		return outcome->matched_known;
	}
	return false;
}

/* A statement that asks for what the last one left (INSERT ... ROW_COUNT()) comes without the log being
 * read first.  After one that does not say how many entries are its own they cannot be told apart. */
static struct pending_write *room(struct instrument_session *s)
{
	if (s->waiting_count && !s->waiting[s->waiting_count - 1].counted) {
		s->waiting_count--;
		s->mixed = true;
	}
	s->mixed |= s->failed_last;
	if (s->waiting_count == s->waiting_capacity) {
		size_t before = s->waiting_capacity;

		MEM_RESERVE(s->waiting, s->waiting_count + 1, s->waiting_capacity);
		memset(&s->waiting[before], 0,
			(s->waiting_capacity - before) * sizeof(*s->waiting));
	}
	return &s->waiting[s->waiting_count++];
}

void instrument_await_log(struct instrument_session *s, const struct instrument_outcome *outcome)
{
	struct pending_write *w = room(s);

	plan_copy(&w->plan, &s->plan);
	w->stmt = s->stmt;
	buf_clear(&w->predicate);
	buf_add_span(&w->predicate, buf_span(&s->predicate));
	buf_clear(&w->first_rows);
	buf_add_span(&w->first_rows, buf_span(&s->first_rows));
	if (s->stmt.predicate.ptr)
		w->stmt.predicate = buf_span(&w->predicate);
	w->counted = count_entries(w, outcome);
	s->waiting_rows += w->counted ? w->rows : 0;
	s->pending = true;
}

void instrument_write_failed(struct instrument_session *s)
{
	if (s->waiting_count && !s->waiting[s->waiting_count - 1].counted)
		s->mixed = true;
	s->failed_last = s->waiting_count > 0;
	s->log_ready &= s->waiting_count > 0;
}

void instrument_waiting_release(struct instrument_session *s)
{
	for (size_t i = 0; i < s->waiting_capacity; i++) {
		plan_release(&s->waiting[i].plan);
		buf_release(&s->waiting[i].predicate);
		buf_release(&s->waiting[i].first_rows);
	}
	mem_free(s->waiting);
	buf_release(&s->joined);
}
