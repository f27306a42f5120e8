/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "describe.h"
#include "execution/execution.h"
#include "names.h"
#include "trace/reader.h"
#include "trace/value.h"

enum {
	STMTS_MAX = 20000, /* of the transactions in findings */
	BUCKETS = 240,     /* of the overview */
	EVENTS_MAX = 500,  /* of the cluster, and notes */
	SQL_MAX = 2000,    /* bytes of one statement */
	ANSWER_MAX = 600,  /* ... of its rows */
	VARIABLES_MAX = 200,
	TABLES_MAX = 50,
	INITIAL_ROWS_MAX = 50, /* of a table */
	INITIAL_BYTES_MAX = 8000,
};

struct shown_stmt {
	uint32_t txn; /* in the history */
	uint32_t session, number;
	uint64_t begin, end, blocked;
	uint32_t error;
	bool seen;
	struct span sql;
	struct buf answer;
};

struct bucket {
	uint64_t stmts, errors, sum_ns, max_ns;
};

struct event {
	uint64_t begin, at;
	struct span text;
};

/* A table's rows before the recording, as the VALUES of an INSERT. */
struct initial {
	uint32_t table; /* number in the trace */
	struct buf values;
	uint64_t rows, left_out;
};

struct data {
	const struct judged *judged;
	struct arena arena;
	struct names *names;
	bool *involved; /* by transaction */
	struct shown_stmt *stmts;
	size_t stmt_count, stmt_capacity;
	uint64_t stmts_left_out;
	struct map by_number; /* (session, number): index of stmts */
	struct bucket buckets[BUCKETS];
	uint64_t first_ns, width_ns;
	struct event events[EVENTS_MAX];
	size_t event_count;
	struct initial initial[TABLES_MAX];
	size_t initial_count;
};

/* ---- which statements ---- */

static void choose_stmts(struct data *d)
{
	const struct history *h = &d->judged->history;
	const struct verdict *v = &d->judged->verdict;
	struct map txns = MAP_INIT;

	d->involved = mem_zero((size_t)h->txn_count + 1, sizeof(*d->involved));
	for (uint32_t t = 0; t < h->txn_count; t++)
		map_put(&txns, h->txns[t].number, t);
	for (size_t f = 0; f < v->finding_count; f++) {
		for (uint32_t i = 0; i < v->findings[f].transaction_count; i++) {
			uint64_t number;
			uint32_t t = txn_number(v->findings[f].transactions[i], &number)
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

static struct shown_stmt *shown(struct data *d, uint32_t session, uint32_t number)
{
	uint32_t i = map_get(&d->by_number, (uint64_t)session << 32 | number);

	return i == MAP_NONE ? NULL : &d->stmts[i];
}

/* ---- the trace once more ---- */

/* Into its bucket; when time has outgrown them, pairs become one. */
static void count_stmt(struct data *d, const struct record_stmt *stmt)
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

static void take_stmt(struct data *d, const struct record_stmt *record)
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
	describe_stmt(&text, d->names, record, SQL_MAX);
	stmt->sql = arena_copy(&d->arena, buf_span(&text));
	buf_clear(&text);
	rows = stmt->answer.len ? buf_span(&stmt->answer) : SPAN_NONE;
	describe_outcome(&text, record, rows, ANSWER_MAX);
	buf_clear(&stmt->answer);
	buf_add_span(&stmt->answer, buf_span(&text));
	buf_release(&text);
}

static void take_result(struct data *d, const struct record_result *record)
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

static struct initial *initial_of(struct data *d, uint32_t table)
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

static void take_rows(struct data *d, const struct record_rows *record)
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
			/* Redacted, or cut: nobody can say what it was. */
			if (!execution_literal(&value, &initial->values, &err))
				buf_add_str(&initial->values, "NULL /* not recorded */");
		}
		if (keep)
			buf_add_char(&initial->values, ')');
	}
}

static void add_event(struct data *d, uint64_t begin, uint64_t at, struct buf *text)
{
	if (d->event_count < EVENTS_MAX)
		d->events[d->event_count++] =
			(struct event){begin, at, arena_copy(&d->arena, buf_span(text))};
}

static void take(struct data *d, const struct trace_item *item)
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
			add_event(d, r.cluster.begin, r.cluster.at, &text);
		}
		break;
	case RECORD_NOTE:
		if (record_note_read(&mp, item->left, &r.note)) {
			describe_note(&text, &r.note, 200);
			add_event(d, 0, r.note.at, &text);
		}
		break;
	}
	buf_release(&text);
}

static bool read_trace(struct data *d, const char *path, bool salvage, struct err *err)
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

/* ---- JSON ---- */

static void put_uint(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

static void put_text(struct json *json, const char *key, struct span text)
{
	json_key(json, key);
	json_string(json, text);
}

static int by_txn_and_begin(const void *a, const void *b)
{
	const struct shown_stmt *x = a, *y = b;

	if (x->txn != y->txn)
		return x->txn < y->txn ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return 0;
}

static void stmt_json(struct json *json, const struct shown_stmt *stmt)
{
	json_begin_object(json);
	put_uint(json, "number", stmt->number);
	put_uint(json, "begin", stmt->begin);
	put_uint(json, "end", stmt->end);
	if (stmt->blocked)
		put_uint(json, "blocked", stmt->blocked);
	if (stmt->error)
		put_uint(json, "error", stmt->error);
	put_text(json, "sql", stmt->sql);
	put_text(json, "answer", buf_span(&stmt->answer));
	json_end_object(json);
}

static void transactions_json(struct json *json, struct data *d)
{
	static const char *const outcomes[] = {"unknown", "committed", "rolled back"};
	const struct history *h = &d->judged->history;
	size_t next = 0;

	if (d->stmt_count)
		qsort(d->stmts, d->stmt_count, sizeof(*d->stmts), by_txn_and_begin);
	json_key(json, "transactions");
	json_begin_object(json);
	for (uint32_t t = 0; t < h->txn_count; t++) {
		char name[32];

		if (!d->involved[t])
			continue;
		snprintf(name, sizeof(name), "T%llu", (unsigned long long)h->txns[t].number);
		json_key(json, name);
		json_begin_object(json);
		put_uint(json, "session", h->sessions[h->txns[t].session].number);
		put_text(json, "level", span_str(txn_level_name(h->txns[t].level)));
		put_text(json, "outcome", span_str(outcomes[h->txns[t].outcome]));
		put_uint(json, "begin", h->txns[t].begin_ns);
		put_uint(json, "end", h->txns[t].end_ns);
		json_key(json, "statements");
		json_begin_array(json);
		while (next < d->stmt_count && d->stmts[next].txn < t)
			next++;
		for (; next < d->stmt_count && d->stmts[next].txn == t; next++) {
			if (d->stmts[next].seen)
				stmt_json(json, &d->stmts[next]);
		}
		json_end_array(json);
		json_end_object(json);
	}
	json_end_object(json);
	put_uint(json, "statements_left_out", d->stmts_left_out);
}

static void overview_json(struct json *json, const struct data *d)
{
	size_t last = BUCKETS;

	while (last && !d->buckets[last - 1].stmts)
		last--;
	json_key(json, "overview");
	json_begin_object(json);
	put_uint(json, "begin", d->first_ns);
	put_uint(json, "width", d->width_ns);
	json_key(json, "buckets");
	json_begin_array(json);
	for (size_t i = 0; i < last; i++) {
		const struct bucket *b = &d->buckets[i];

		json_begin_array(json);
		json_uint(json, b->stmts);
		json_uint(json, b->errors);
		json_uint(json, b->stmts ? b->sum_ns / b->stmts : 0);
		json_uint(json, b->max_ns);
		json_end_array(json);
	}
	json_end_array(json);
	json_end_object(json);
	json_key(json, "events");
	json_begin_array(json);
	for (size_t i = 0; i < d->event_count; i++) {
		json_begin_object(json);
		put_uint(json, "begin", d->events[i].begin);
		put_uint(json, "at", d->events[i].at);
		put_text(json, "text", d->events[i].text);
		json_end_object(json);
	}
	json_end_array(json);
}

/* The server's variables that change what statements mean, for the bug report. */
static void server_json(struct json *json, const struct history *h)
{
	struct mp mp = mp_over(h->server_ref);
	struct record_server server = {.seq = 0};
	struct buf text = BUF_INIT;
	uint32_t kind, left, count = 0;

	json_key(json, "variables");
	json_begin_object(json);
	if (h->server_ref.ptr && record_begin(&mp, &kind, &left) && kind == RECORD_SERVER &&
		record_server_read(&mp, left, &server)) {
		mp = mp_over(server.variables);
		count = mp_map(&mp);
	}
	for (uint32_t i = 0; i < count && i < VARIABLES_MAX && !mp.bad; i++) {
		struct value key, value;

		if (!value_read(&mp, &key) || !value_read(&mp, &value))
			break;
		buf_clear(&text);
		text_add(&text, key.bytes, 100, TEXT_FOLD);
		json_key_span(json, buf_span(&text));
		buf_clear(&text);
		value_print(&text, &value, 200);
		json_string(json, buf_span(&text));
	}
	json_end_object(json);
	buf_release(&text);
}

static void tables_json(struct json *json, struct data *d)
{
	const struct history *h = &d->judged->history;

	json_key(json, "tables");
	json_begin_array(json);
	for (uint32_t t = 0; t < h->table_count && t < TABLES_MAX; t++) {
		struct mp mp = mp_over(h->tables[t].schema_ref);
		struct record_schema schema;
		uint32_t kind, left;

		if (!h->tables[t].schema_ref.ptr || !record_begin(&mp, &kind, &left) ||
			!record_schema_read(&mp, left, &schema) || !schema.create_text.ptr)
			continue;
		if (schema.create_text.len > 10000)
			schema.create_text.len = 10000;
		json_begin_object(json);
		put_text(json, "name", schema.name);
		put_text(json, "create", schema.create_text);
		for (size_t i = 0; i < d->initial_count; i++) {
			if (d->initial[i].table != schema.table || !d->initial[i].rows)
				continue;
			put_text(json, "values", buf_span(&d->initial[i].values));
			put_uint(json, "rows_left_out", d->initial[i].left_out);
		}
		json_end_object(json);
	}
	json_end_array(json);
}

bool report_data(
	struct json *json, struct judged *judged, const char *path, bool salvage, struct err *err)
{
	struct data *d = mem_zero(1, sizeof(*d));
	bool ok;

	d->judged = judged;
	d->names = names_new();
	choose_stmts(d);
	ok = read_trace(d, path, salvage, err);
	if (ok) {
		json_begin_object(json);
		json_key(json, "check");
		verdict_json(json, &judged->context, &judged->verdict);
		transactions_json(json, d);
		overview_json(json, d);
		server_json(json, &judged->history);
		tables_json(json, d);
		json_end_object(json);
	}
	for (size_t i = 0; i < d->stmt_count; i++)
		buf_release(&d->stmts[i].answer);
	for (size_t i = 0; i < d->initial_count; i++)
		buf_release(&d->initial[i].values);
	free(d->stmts);
	free(d->involved);
	map_release(&d->by_number);
	names_free(d->names);
	arena_release(&d->arena);
	free(d);
	return ok;
}
