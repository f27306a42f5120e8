/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/page_data.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "common/read_view.h"
#include "model/execution/execution.h"
#include "report/describe_record.h"
#include "report/node_lanes.h"
#include "report/page_data_internal.h"
#include "trace/reader.h"
#include "trace/value.h"

/* ---- which statements ---- */

static void choose_stmts(struct report_facts *d)
{
	const struct history *h = &d->judged->history;
	const struct verdict *v = &d->judged->verdict;
	struct map txns = MAP_INIT;

	d->involved = mem_zero((size_t)h->txn_count + 1, sizeof(*d->involved));
	d->has_snapshot = mem_zero((size_t)h->txn_count + 1, sizeof(*d->has_snapshot));
	for (uint32_t t = 0; t < h->txn_count; t++)
		map_put(&txns, h->txns[t].number, t);
	for (size_t f = 0; f < v->finding_count; f++) {
		struct span concerned[FINDING_CONCERNED_MAX];
		uint32_t count = finding_concerned(&v->findings[f], concerned);

		for (uint32_t i = 0; i < count; i++) {
			uint64_t number;
			uint32_t t = txn_number(concerned[i], &number)
					     ? map_get(&txns, number)
					     : MAP_NONE;

			if (t != MAP_NONE)
				d->involved[t] = true;
		}
	}
	map_release(&txns);
	for (uint32_t s = 0; s < h->stmt_count; s++) {
		const struct history_stmt *stmt = &h->stmts[s];
		uint32_t session = h->sessions[stmt->session].number;

		if (stmt->txn == HISTORY_NONE || !d->involved[stmt->txn] ||
			stmt->flags & HISTORY_STMT_INJECTED)
			continue;
		if (d->stmt_count == STMTS_MAX) {
			d->stmts_left_out++;
			continue;
		}
		MEM_RESERVE(d->stmts, d->stmt_count + 1, d->stmt_capacity);
		map_put(&d->by_number, (uint64_t)session << 32 | stmt->number,
			(uint32_t)d->stmt_count);
		d->stmts[d->stmt_count++] = (struct shown_stmt){
			.txn = stmt->txn, .session = session, .number = stmt->number};
	}
}

static struct shown_stmt *shown(struct report_facts *d, uint32_t session, uint32_t number)
{
	uint32_t i = map_get(&d->by_number, (uint64_t)session << 32 | number);

	return i == MAP_NONE ? NULL : &d->stmts[i];
}

/* ---- the trace once more ---- */

/* Into its bucket; when time has outgrown them, pairs become one. */
static void count_stmt(struct report_facts *d, const struct record_stmt *stmt)
{
	struct bucket *bucket;

	if (!d->width_ns) {
		d->first_ns = stmt->at;
		d->width_ns = 1000;
	}
	if (stmt->at < d->first_ns)
		return;
	while ((stmt->at - d->first_ns) / d->width_ns >= BUCKETS) {
		for (size_t i = 0; i < BUCKETS; i++) {
			struct bucket a = {0}, b = {0};

			if (2 * i + 1 < BUCKETS) {
				a = d->buckets[2 * i];
				b = d->buckets[2 * i + 1];
			}
			d->buckets[i] = (struct bucket){a.stmts + b.stmts, a.errors + b.errors,
				a.sum_ns + b.sum_ns, a.max_ns > b.max_ns ? a.max_ns : b.max_ns};
		}
		d->width_ns *= 2;
	}
	bucket = &d->buckets[(stmt->at - d->first_ns) / d->width_ns];
	bucket->stmts++;
	bucket->errors += stmt->error != 0;
	if (stmt->at > stmt->begin && stmt->begin) {
		uint64_t took = stmt->at - stmt->begin;

		bucket->sum_ns += took;
		bucket->max_ns = took > bucket->max_ns ? took : bucket->max_ns;
	}
}

/* A drawing's mark. */
static bool takes_snapshot(struct report_facts *d, const struct shown_stmt *stmt,
	const struct record_stmt *record)
{
	const struct history_txn *txn = &d->judged->history.txns[stmt->txn];
	struct span text = names_stmt_text(d->names, record);
	struct read_view_txn view = {.level = txn->level,
		.consistent_snapshot = txn->flags & HISTORY_TXN_SNAPSHOT,
		.has_view = d->has_snapshot[stmt->txn]};
	bool begins;

	if (record->error || !text.ptr)
		return false;
	begins =
		read_view_begins(&view, span_of(text.ptr, text.len < SQL_MAX ? text.len : SQL_MAX));
	d->has_snapshot[stmt->txn] = view.has_view;
	return begins;
}

static void take_stmt(struct report_facts *d, const struct record_stmt *record)
{
	struct shown_stmt *stmt;
	struct buf text = BUF_INIT;
	struct span rows;

	if (record->flags & STMT_INJECTED)
		return;
	names_learn_stmt(d->names, record);
	count_stmt(d, record);
	stmt = shown(d, record->session, record->number);
	if (!stmt || stmt->seen)
		return;
	stmt->seen = true;
	stmt->begin = record->begin;
	stmt->end = record->at;
	stmt->blocked = record->blocked_ns;
	stmt->error = record->error;
	stmt->snapshot = takes_snapshot(d, stmt, record);
	describe_stmt(&text, d->names, record, SQL_MAX);
	stmt->sql = arena_copy(&d->arena, buf_span(&text));
	buf_clear(&text);
	rows = stmt->answer.len ? buf_span(&stmt->answer) : SPAN_NONE;
	describe_outcome(&text, record, rows, ANSWER_MAX);
	buf_clear(&stmt->answer);
	buf_add_span(&stmt->answer, buf_span(&text));
	buf_release(&text);
}

static void take_result(struct report_facts *d, const struct record_result *record)
{
	struct shown_stmt *stmt = shown(d, record->session, record->number);

	if (stmt && !stmt->seen && stmt->answer.len < ANSWER_MAX) {
		struct buf part = BUF_INIT;

		(void)describe_rows(&part, record->rows, ANSWER_MAX - stmt->answer.len);
		if (part.len)
			buf_printf(&stmt->answer, "%s%s", stmt->answer.len ? " " : "", part.data);
		buf_release(&part);
	}
}

static struct initial *initial_of(struct report_facts *d, uint32_t table)
{
	for (size_t i = 0; i < d->initial_count; i++) {
		if (d->initial[i].table == table)
			return &d->initial[i];
	}
	if (d->initial_count == TABLES_MAX)
		return NULL;
	d->initial[d->initial_count].table = table;
	return &d->initial[d->initial_count++];
}

static void take_rows(struct report_facts *d, const struct record_rows *record)
{
	struct initial *initial;
	struct mp mp = mp_over(record->rows);
	uint32_t count;

	if (!span_eq_str(record->moment, "initial") || !record->rows.ptr)
		return;
	initial = initial_of(d, record->table);
	count = mp_array(&mp);
	for (uint32_t i = 0; initial && i < count && !mp.bad; i++) {
		uint32_t columns = mp_array(&mp);
		bool keep =
			initial->rows < INITIAL_ROWS_MAX && initial->values.len < INITIAL_BYTES_MAX;

		initial->rows += keep;
		initial->left_out += !keep;
		if (keep)
			buf_add_str(&initial->values, initial->values.len ? ", (" : "(");
		for (uint32_t c = 0; c < columns && !mp.bad; c++) {
			struct value value;
			struct err err;

			if (!value_read(&mp, &value) || !keep)
				continue;
			buf_add_str(&initial->values, c ? ", " : "");
			/* Redacted, or cut: it is not known what it was. */
			if (!execution_literal(&value, &initial->values, &err))
				buf_add_str(&initial->values, "NULL /* not recorded */");
		}
		if (keep)
			buf_add_char(&initial->values, ')');
	}
}

static void add_event(struct report_facts *d, uint64_t begin, uint64_t at, struct buf *text)
{
	if (d->event_count < EVENTS_MAX)
		d->events[d->event_count++] =
			(struct event){begin, at, arena_copy(&d->arena, buf_span(text))};
}

/* Did something happen then?  Other notes of the recorder say how it records. */
static bool note_is_event(const struct record_note *note)
{
	static const char *const settings[] = {"scenario", "replay of scenario", "sessions",
		"instrumentation", "blocked is known from", "left out", "operations", "coverage"};

	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		if (span_eq_str(note->topic, settings[i]))
			return false;
	}
	return true;
}

static void take(struct report_facts *d, const struct trace_item *item)
{
	struct mp mp = item->mp;
	struct buf text = BUF_INIT;
	union {
		struct record_stmt stmt;
		struct record_result result;
		struct record_session session;
		struct record_cluster cluster;
		struct record_note note;
		struct record_rows rows;
	} r;

	switch (item->kind) {
	case RECORD_STMT:
		if (record_stmt_read(&mp, item->left, &r.stmt))
			take_stmt(d, &r.stmt);
		break;
	case RECORD_RESULT:
		if (record_result_read(&mp, item->left, &r.result))
			take_result(d, &r.result);
		break;
	case RECORD_ROWS:
		if (record_rows_read(&mp, item->left, &r.rows))
			take_rows(d, &r.rows);
		break;
	case RECORD_SESSION:
		if (record_session_read(&mp, item->left, &r.session))
			names_learn_session(d->names, &r.session);
		break;
	case RECORD_CLUSTER:
		if (record_cluster_read(&mp, item->left, &r.cluster)) {
			describe_cluster(&text, &r.cluster, 200);
			node_lanes_take(d->lanes, &r.cluster);
			add_event(d, r.cluster.begin, r.cluster.at, &text);
		}
		break;
	case RECORD_NOTE:
		if (record_note_read(&mp, item->left, &r.note) && note_is_event(&r.note)) {
			describe_note(&text, &r.note, 200);
			add_event(d, 0, r.note.at, &text);
		}
		break;
	}
	buf_release(&text);
}

static bool read_trace(struct report_facts *d, const char *path, bool salvage, struct err *err)
{
	struct trace_reader_options options = {.salvage = salvage};
	struct trace_reader *reader = trace_reader_open(path, &options, err);
	struct trace_item item;
	enum trace_next next = TRACE_NEXT_ERROR;

	while (reader && (next = trace_next_item(reader, &item, err)) == TRACE_NEXT_OK)
		take(d, &item);
	trace_reader_close(reader);
	return next == TRACE_NEXT_END;
}

/* The earliest moment that is shown. */
static void find_base(struct report_facts *d)
{
	const struct history *h = &d->judged->history;

	d->base_ns = d->first_ns;
	for (size_t i = 0; i < d->stmt_count; i++) {
		if (d->stmts[i].begin && d->stmts[i].begin < d->base_ns)
			d->base_ns = d->stmts[i].begin;
	}
	for (uint32_t t = 0; t < h->txn_count; t++) {
		if (d->involved[t] && h->txns[t].begin_ns && h->txns[t].begin_ns < d->base_ns)
			d->base_ns = h->txns[t].begin_ns;
	}
}

bool report_data(struct json *json, struct judged *judged, const struct verdict_context *context,
	struct err *err)
{
	struct report_facts *d = mem_zero(1, sizeof(*d));
	bool ok;

	d->judged = judged;
	d->names = names_new();
	d->lanes = node_lanes_new();
	choose_stmts(d);
	ok = read_trace(d, context->input, judged->salvage, err);
	if (ok) {
		find_base(d);
		report_facts_json(json, d, context);
	}
	for (size_t i = 0; i < d->stmt_count; i++)
		buf_release(&d->stmts[i].answer);
	for (size_t i = 0; i < d->initial_count; i++)
		buf_release(&d->initial[i].values);
	mem_free(d->stmts);
	mem_free(d->involved);
	mem_free(d->has_snapshot);
	map_release(&d->by_number);
	names_free(d->names);
	node_lanes_free(d->lanes);
	arena_release(&d->arena);
	mem_free(d);
	return ok;
}
