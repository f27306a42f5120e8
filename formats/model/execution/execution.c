/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/execution/execution.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/interrupt.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/text.h"
#include "model/execution/results.h"
#include "server/commands.h"
#include "trace/doubts.h"

enum { ASKED_EVERY = 1024 }; /* items between two looks at how far it is */

struct result_part {
	struct record_result record;
	uint32_t next; /* of the same statement, or NONE */
};

struct loader {
	struct execution *e;
	struct map sessions; /* number to index */
	struct map stmts;    /* session << 32 | number to index, before sorting */
	struct map parts;    /* the same key to the newest part */
	struct map prepared; /* the same key to index of the PREPARE's text in texts */
	struct span *texts;
	size_t text_count, text_capacity;
	struct result_part *results;
	size_t result_count, result_capacity;
	struct map tables; /* number to index */
	struct trace_place place; /* of the record that is taken */
	struct doubts doubts;
};

static uint64_t stmt_key(uint32_t session, uint32_t number)
{
	return (uint64_t)session << 32 | number;
}

/* ---- sessions ---- */

static uint32_t find_or_add_session(struct loader *l, uint32_t number)
{
	struct execution *e = l->e;
	uint32_t *slot = map_at(&l->sessions, number);

	if (*slot == MAP_NONE) {
		*slot = (uint32_t)e->session_count;
		MEM_RESERVE(e->sessions, e->session_count + 1, e->session_capacity);
		e->sessions[e->session_count++] = (struct execution_session){
			.number = number,
			.first_stmt = EXECUTION_NONE,
			.last_stmt = EXECUTION_NONE,
			.last_change = EXECUTION_NONE,
		};
	}
	return *slot;
}

/* What `isorec run` calls a session; the proxy gives an address, which is no name, nor is what it
 * calls all clients of a socket file. */
static bool is_name(struct span s)
{
	if (span_eq_str(s, "unix"))
		return false;
	if (!s.len || s.len > 64 || !(isalpha((unsigned char)s.ptr[0]) || s.ptr[0] == '_'))
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!isalnum((unsigned char)s.ptr[i]) && !strchr("_-.", s.ptr[i]))
			return false;
	return true;
}

static void take_session(struct loader *l, const struct record_session *r)
{
	uint32_t index = find_or_add_session(l, r->session);
	struct execution_session *s = &l->e->sessions[index];

	switch ((enum session_event)r->event) {
	case SESSION_OPENED:
		s->node = r->node;
		s->user = r->user;
		s->database = r->database;
		s->collation = r->collation;
		s->opened_at = r->at;
		/* Later segments repeat it without a time. */
		if (r->at > s->started_at)
			s->started_at = r->at;
		s->capabilities = r->capabilities;
		s->named = is_name(r->client);
		s->name = s->named ? r->client : SPAN_NONE;
		break;
	case SESSION_OPAQUE:
		s->opaque = true;
		break;
	case SESSION_CLOSED:
		s->closed_seq = r->seq;
		break;
	case SESSION_ENDED:
		s->ended_seq = r->seq;
		break;
	case SESSION_RELEASED:
		s->released_seq = r->seq;
		break;
	case SESSION_CHANGED:
		if (!span_eq_str(r->reason, "database"))
			s->started_at = r->at;
		if (span_eq_str(r->reason, "change user") && s->last_change < l->e->stmt_count) {
			l->e->stmts[s->last_change].sql = r->database;
			l->e->stmts[s->last_change].collation = r->collation;
		}
		break;
	}
}

/* ---- statements ---- */

/* A command that carries work; all others are housekeeping. */
static bool is_work(uint8_t command)
{
	return command == CMD_SLEEP || command == CMD_INIT_DB || command == CMD_QUERY ||
	       command == CMD_CHANGE_USER || command == CMD_STMT_PREPARE ||
	       command == CMD_STMT_EXECUTE || command == CMD_RESET_CONNECTION || command == CMD_STMT_BULK_EXECUTE;
}

static void take_stmt(struct loader *l, const struct record_stmt *r)
{
	struct execution *e = l->e;
	uint64_t key = stmt_key(r->session, r->number);
	uint32_t session = find_or_add_session(l, r->session);

	if (r->flags & STMT_INJECTED) {
		e->injected++;
		return;
	}
	if (!is_work(r->command) || map_get(&l->stmts, key) != MAP_NONE)
		return;
	if (r->command == CMD_STMT_PREPARE) {
		MEM_RESERVE(l->texts, l->text_count + 1, l->text_capacity);
		map_put(&l->prepared, key, (uint32_t)l->text_count);
		l->texts[l->text_count++] = r->text;
	}
	if (r->command == CMD_CHANGE_USER)
		e->sessions[session].last_change = (uint32_t)e->stmt_count;
	map_put(&l->stmts, key, (uint32_t)e->stmt_count);
	MEM_RESERVE(e->stmts, e->stmt_count + 1, e->stmt_capacity);
	e->stmts[e->stmt_count++] = (struct execution_stmt){
		.record = *r,
		.session = session,
		.next_in_session = EXECUTION_NONE,
		.first_part = EXECUTION_NONE,
		.sql = r->text,
	};
}

static void take_result(struct loader *l, const struct record_result *r)
{
	uint32_t *slot = map_at(&l->parts, stmt_key(r->session, r->number));

	if (l->e->results) {
		*slot = results_add(l->e->results, l->place, *slot == MAP_NONE ? EXECUTION_NONE : *slot);
		return;
	}
	MEM_RESERVE(l->results, l->result_count + 1, l->result_capacity);
	l->results[l->result_count] = (struct result_part){.record = *r, .next = *slot};
	*slot = (uint32_t)l->result_count++;
}

static void take_txn(struct loader *l, const struct record_txn *r)
{
	struct execution *e = l->e;
	uint32_t session = find_or_add_session(l, r->session);

	MEM_RESERVE(e->txns, e->txn_count + 1, e->txn_capacity);
	e->txns[e->txn_count++] = (struct execution_txn){.record = *r, .session = session};
}

/* ---- tables ---- */

static uint32_t find_or_add_table(struct loader *l, uint32_t number)
{
	struct execution *e = l->e;
	uint32_t *slot = map_at(&l->tables, number);

	if (*slot == MAP_NONE) {
		*slot = (uint32_t)e->table_count;
		MEM_RESERVE(e->tables, e->table_count + 1, e->table_capacity);
		e->tables[e->table_count++] = (struct execution_table){.schema = {.table = number},
			.initial = {.first_part = EXECUTION_NONE},
			.final = {.first_part = EXECUTION_NONE}};
	}
	return *slot;
}

static void take_rows(struct loader *l, const struct record_rows *r)
{
	uint32_t index = find_or_add_table(l, r->table);
	struct execution_table *t = &l->e->tables[index];
	bool initial = span_eq_str(r->moment, "initial"), final = span_eq_str(r->moment, "final");
	struct execution_rows *out = initial ? &t->initial : &t->final;

	if (!initial && !final)
		return;
	if (r->part == 0) { /* a later content replaces an earlier one */
		out->count = 0;
		out->complete = false;
		out->first_part = EXECUTION_NONE;
		out->columns = l->e->results && r->columns.ptr ? arena_copy(&l->e->arena, r->columns) : r->columns;
	}
	if (l->e->results) {
		struct mp mp = mp_over(r->rows);

		out->count += r->rows.ptr ? mp_array(&mp) : 0;
		out->first_part = results_add(l->e->results, l->place, out->first_part);
	} else {
		rows_add(out, r->rows);
	}
	*(initial ? &t->has_initial : &t->has_final) = true;
	if (r->last)
		out->complete = r->complete;
	out->total = out->count;
}

static void take_schema(struct loader *l, const struct record_schema *r)
{
	uint32_t index = find_or_add_table(l, r->table);

	l->e->tables[index].schema = *r;
}

static void take_program(struct loader *l, const struct record_program *r)
{
	struct execution *e = l->e;

	/* The start of a later segment has it again. */
	for (size_t i = 0; i < e->program_count; i++) {
		if (e->programs[i].type == r->type && span_eq(e->programs[i].node, r->node) &&
			span_eq(e->programs[i].database, r->database) &&
			span_eq(e->programs[i].name, r->name))
			return;
	}
	MEM_RESERVE(e->programs, e->program_count + 1, e->program_capacity);
	e->programs[e->program_count++] = *r;
}

/* The recorder's options that leave whole sessions out, as its note has them. */
static bool leaves_sessions_out(struct span text)
{
	static const char *const options[] = {
		"--sample=", "--only-user=", "--skip-user=", "--only-database=", "--skip-database="};

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		if (text.len && memmem(text.ptr, text.len, options[i], strlen(options[i])))
			return true;
	}
	return false;
}

static void take_note(struct loader *l, const struct record_note *r)
{
	struct execution *e = l->e;

	doubts_take(&l->doubts, r);
	if (span_eq_str(r->topic, "sessions") && span_eq_str(r->text, "all"))
		e->all_sessions = true;
	if (span_eq_str(r->source, "recorder") && span_eq_str(r->topic, "left out"))
		e->some_sessions |= leaves_sessions_out(r->text);
	if (span_eq_str(r->source, "slice")) {
		e->is_part = true;
		e->some_sessions |= span_eq_str(r->topic, "left out");
	}
	if (!span_eq_str(r->source, "run") && !span_eq_str(r->source, "replay"))
		return;
	if (span_eq_str(r->topic, "scenario") && !e->scenario.ptr)
		e->scenario = r->text;
	else if (span_eq_str(r->topic, "hang"))
		e->hang = true;
	else if (span_eq_str(r->topic, "server"))
		e->server_gone = true;
	else if (span_eq_str(r->topic, "interrupted"))
		e->interrupted = true;
}

/* ---- reading ---- */

static void take(struct loader *l, const struct trace_item *item)
{
	struct execution *e = l->e;
	struct span copy;
	struct mp mp;
	uint32_t kind, left;
	bool ok = true;

	e->records++;
	if (item->kind == RECORD_PROBE)
		e->probes++;
	if (item->kind != RECORD_SERVER && item->kind != RECORD_SCHEMA &&
		item->kind != RECORD_ROWS && item->kind != RECORD_SESSION &&
		item->kind != RECORD_STMT && item->kind != RECORD_RESULT &&
		item->kind != RECORD_TXN && item->kind != RECORD_NOTE &&
		item->kind != RECORD_PROGRAM)
		return;
	/* What stays in the trace is looked at where it is. */
	if ((item->kind == RECORD_RESULT || item->kind == RECORD_ROWS) && e->results) {
		copy = item->whole;
	} else {
		copy = arena_copy(&e->arena, item->whole);
	}
	mp = mp_over(copy);
	if (!record_begin(&mp, &kind, &left)) {
		e->malformed++;
		return;
	}
#define TAKE(name, call)                                                                           \
	{                                                                                          \
		struct record_##name record;                                                       \
                                                                                                   \
		ok = record_##name##_read(&mp, left, &record);                                     \
		if (ok)                                                                            \
			call;                                                                      \
		break;                                                                             \
	}
	switch (kind) {
	case RECORD_SERVER:
		TAKE(
			server, if (!e->has_server) {
				e->server = record;
				e->has_server = true;
			});
	case RECORD_SCHEMA:
		TAKE(schema, take_schema(l, &record));
	case RECORD_ROWS:
		TAKE(rows, take_rows(l, &record));
	case RECORD_SESSION:
		TAKE(session, take_session(l, &record));
	case RECORD_STMT:
		TAKE(stmt, take_stmt(l, &record));
	case RECORD_RESULT:
		TAKE(result, take_result(l, &record));
	case RECORD_TXN:
		TAKE(txn, take_txn(l, &record));
	case RECORD_NOTE:
		TAKE(note, take_note(l, &record));
	case RECORD_PROGRAM:
		TAKE(program, take_program(l, &record));
	}
#undef TAKE
	if (!ok)
		e->malformed++;
}

static int by_begin(const void *a, const void *b)
{
	const struct execution_stmt *x = a, *y = b;

	if (x->record.begin_seq != y->record.begin_seq)
		return x->record.begin_seq < y->record.begin_seq ? -1 : 1;
	return (x->record.seq > y->record.seq) - (x->record.seq < y->record.seq);
}

static int by_seq(const void *a, const void *b)
{
	const struct execution_txn *x = a, *y = b;

	return (x->record.seq > y->record.seq) - (x->record.seq < y->record.seq);
}

/* The sets of a statement from its parts, in order. */
static void join_sets(struct loader *l, struct execution_stmt *stmt)
{
	const struct record_result **parts = NULL;
	size_t count = 0, capacity = 0;
	uint32_t at = map_get(&l->parts, stmt_key(stmt->record.session, stmt->record.number));

	if (l->e->results) {
		stmt->first_part = at == MAP_NONE ? EXECUTION_NONE : at;
		return;
	}
	for (; at != MAP_NONE; at = l->results[at].next) {
		MEM_RESERVE(parts, count + 1, capacity);
		parts[count++] = &l->results[at].record;
	}
	if (!count)
		return;
	stmt->set_count = results_count(parts, count);
	stmt->sets = mem_zero(stmt->set_count, sizeof(*stmt->sets));
	results_join(&stmt->record, parts, count, stmt->sets);
	mem_free(parts);
}

/* Columns that the recorder added to the end of the table (isorec prepare): how many are the
 * application's own. */
static uint32_t own_columns(const struct record_schema *schema)
{
	struct mp mp = mp_over(schema->columns);
	uint32_t count = schema->columns.ptr ? mp_array(&mp) : 0, own = 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct mp column = mp_over(mp_raw(&mp));
		struct span name;

		(void)mp_array(&column);
		name = mp_bytes(&column);
		if (name.len < 7 || !span_eq_str(span_of(name.ptr, 7), "isorec_"))
			own = i + 1;
	}
	return own;
}

/* Leaves the first `own` values of each row. */
static void cut_rows(struct execution *e, struct execution_rows *rows, uint32_t own)
{
	struct buf bytes = BUF_INIT;

	rows->own = own;
	for (size_t i = 0; i < rows->count && !e->results; i++) {
		struct span row = row_cut(rows->rows[i], own, &bytes);

		if (row.ptr != rows->rows[i].ptr)
			rows->rows[i] = arena_copy(&e->arena, row);
	}
	buf_release(&bytes);
}

/* An instrumented table reads as the application sees it. */
static void hide_added_columns(struct execution *e)
{
	for (size_t i = 0; i < e->table_count; i++) {
		struct execution_table *t = &e->tables[i];
		uint32_t own = own_columns(&t->schema);

		if (own && !t->initial.columns.ptr && !t->final.columns.ptr) {
			cut_rows(e, &t->initial, own);
			cut_rows(e, &t->final, own);
		}
	}
}

static void name_sessions(struct execution *e)
{
	for (size_t i = 0; i < e->session_count; i++) {
		struct execution_session *s = &e->sessions[i];
		bool taken = !s->named;

		for (size_t j = 0; j < i && !taken && e->session_count < 1000; j++)
			taken = e->sessions[j].named && span_eq(e->sessions[j].name, s->name);
		if (taken) {
			s->named = false;
			s->name = span_str(arena_printf(&e->arena, "S%u", s->number));
		}
	}
}

/* A recorder that is late with its records numbers them late.  What was answered before its session sent the
 * next statement, by the clock, has its end before that. */
static void end_in_time(struct execution *e, struct execution_stmt *stmt)
{
	const struct record_stmt *next;

	if (stmt->next_in_session == EXECUTION_NONE || stmt->record.flags & STMT_NO_REPLY)
		return;
	next = &e->stmts[stmt->next_in_session].record;
	if (stmt->record.seq > next->begin_seq && stmt->record.at && stmt->record.at <= next->begin)
		stmt->record.seq = next->begin_seq - 1;
}

static void finish(struct loader *l)
{
	struct execution *e = l->e;

	sort_large(e->stmts, e->stmt_count, sizeof(*e->stmts), by_begin);
	sort_large(e->txns, e->txn_count, sizeof(*e->txns), by_seq);
	name_sessions(e);
	hide_added_columns(e);
	for (size_t i = 0; i < e->stmt_count; i++) {
		struct execution_stmt *stmt = &e->stmts[i];
		struct execution_session *s = &e->sessions[stmt->session];
		uint32_t text = stmt->record.prepared
					? map_get(&l->prepared, stmt_key(stmt->record.session,
									stmt->record.prepared))
					: MAP_NONE;

		if (text != MAP_NONE)
			stmt->sql = l->texts[text];
		stmt->ordinal = ++s->stmt_count;
		if (s->last_stmt == EXECUTION_NONE)
			s->first_stmt = (uint32_t)i;
		else
			e->stmts[s->last_stmt].next_in_session = (uint32_t)i;
		s->last_stmt = (uint32_t)i;
		join_sets(l, stmt);
	}
	for (size_t i = 0; i < e->stmt_count; i++)
		end_in_time(e, &e->stmts[i]);
	for (size_t i = 0; i < e->txn_count; i++) {
		struct execution_session *s = &e->sessions[e->txns[i].session];

		if (doubts_session(&l->doubts, s->node, s->started_at))
			e->txns[i].record.level = LEVEL_UNKNOWN;
		if (!s->level)
			s->level = e->txns[i].record.level;
	}
}

static void note_damage(struct execution *e, const struct trace_reader *reader)
{
	struct trace_totals totals;

	trace_reader_totals(reader, &totals);
	e->complete = totals.clean && !totals.lost_records && !e->malformed && !e->interrupted;
	if (e->interrupted)
		snprintf(e->damage, sizeof(e->damage), "the user ended the run");
	else if (!e->complete)
		snprintf(e->damage, sizeof(e->damage),
			"%llu bytes damaged, %llu torn off, %llu records lost, %llu malformed%s",
			(unsigned long long)totals.bytes_damaged,
			(unsigned long long)totals.bytes_torn,
			(unsigned long long)totals.lost_records, (unsigned long long)e->malformed,
			totals.clean ? "" : ", no clean end");
}

static void loader_release(struct loader *l)
{
	map_release(&l->sessions);
	map_release(&l->stmts);
	map_release(&l->parts);
	map_release(&l->prepared);
	map_release(&l->tables);
	mem_free(l->texts);
	mem_free(l->results);
}

/* Says how far it is.  False: it is to end here. */
static bool go_on(const struct execution_load_options *options, const struct trace_reader *reader, struct err *err)
{
	uint64_t done, all;

	trace_reader_progress(reader, &done, &all);
	meter_bytes(options->meter, "reading statements", done, all);
	if (options->may_stop && interrupt_seen())
		return err_set(err, ERR_INTERRUPTED, "interrupted while the trace was read: nothing was judged");
	return true;
}

bool execution_load(struct execution *out, const char *path,
	const struct execution_load_options *options, struct err *err)
{
	const struct trace_reader_options reading = {.salvage = options && options->salvage};
	bool apart = options && options->results_apart;
	struct loader l = {.e = out};
	struct trace_reader *reader;
	struct trace_item item;
	enum trace_next next;
	uint64_t taken = 0;
	bool ok;

	*out = (struct execution){.arena = ARENA_INIT};
	reader = trace_reader_open(path, &reading, err);
	if (!reader)
		return false;
	out->wall_ns = trace_reader_header(reader)->clock_wall_ns;
	out->mono_ns = trace_reader_header(reader)->clock_mono_ns;
	out->results = apart ? results_open(path) : NULL;
	while ((next = trace_next_item(reader, &item, err)) == TRACE_NEXT_OK) {
		if (out->results)
			l.place = trace_item_place(reader, &item);
		take(&l, &item);
		if (options && taken++ % ASKED_EVERY == 0 && !go_on(options, reader, err)) {
			next = TRACE_NEXT_ERROR;
			break;
		}
	}
	ok = next != TRACE_NEXT_ERROR;
	if (ok) {
		finish(&l);
		note_damage(out, reader);
	}
	trace_reader_close(reader);
	loader_release(&l);
	if (!ok)
		execution_release(out);
	return ok;
}

void execution_load_records(struct execution *out, struct span records)
{
	struct loader l = {.e = out};
	struct mp mp = mp_over(records);

	*out = (struct execution){.arena = ARENA_INIT};
	while (mp_left(&mp)) {
		struct trace_item item = {.whole = mp_raw(&mp)};

		item.mp = mp_over(item.whole);
		if (!item.whole.ptr || !record_begin(&item.mp, &item.kind, &item.left))
			break;
		take(&l, &item);
	}
	finish(&l);
	out->complete = !mp_left(&mp) && !out->malformed;
	loader_release(&l);
}

void execution_release(struct execution *e)
{
	for (size_t i = 0; i < e->stmt_count; i++) {
		for (uint32_t j = 0; j < e->stmts[i].set_count; j++)
			mem_free(e->stmts[i].sets[j].rows);
		mem_free(e->stmts[i].sets);
	}
	for (size_t i = 0; i < e->table_count; i++) {
		mem_free(e->tables[i].initial.rows);
		mem_free(e->tables[i].final.rows);
	}
	mem_free(e->sessions);
	mem_free(e->stmts);
	mem_free(e->txns);
	mem_free(e->tables);
	mem_free(e->programs);
	results_close(e->results);
	arena_release(&e->arena);
	*e = (struct execution){.arena = ARENA_INIT};
}

/* ---- asking ---- */

struct span execution_variable(const struct execution *e, const char *name)
{
	struct mp mp = mp_over(e->server.variables);
	uint32_t count = e->server.variables.ptr ? mp_map(&mp) : 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct span key = mp_bytes(&mp);

		if (span_ieq_str(key, name))
			return mp_bytes(&mp);
		if (!mp_skip(&mp))
			break;
	}
	return SPAN_NONE;
}

bool execution_number(const struct execution *e, const char *name, uint64_t *out)
{
	return text_number(execution_variable(e, name), out);
}

bool execution_is_on(const struct execution *e, const char *name)
{
	struct span value = execution_variable(e, name);

	return span_ieq_str(value, "ON") || span_eq_str(value, "1");
}

void execution_label(const struct execution *e, struct buf *out)
{
	struct span version = e->server.version;
	size_t len = 0;

	if (!e->has_server) {
		buf_add_str(out, "unknown");
		return;
	}
	while (len < version.len &&
		(isdigit((unsigned char)version.ptr[len]) || (version.ptr[len] == '.' && len)))
		len++;
	buf_add_span(out, e->server.flavour.len ? e->server.flavour : SPAN_LIT("server"));
	buf_add_char(out, '-');
	buf_add_span(out, span_of(version.ptr, len));
	if (execution_is_on(e, "innodb_snapshot_isolation"))
		buf_add_str(out, "+si");
	if (span_ieq_str(execution_variable(e, "default_storage_engine"), "ROCKSDB"))
		buf_add_str(out, "+rocksdb");
	if (execution_is_on(e, "wsrep_on"))
		buf_add_str(out, "+wsrep");
}

uint32_t execution_session(const struct execution *e, struct span name)
{
	for (size_t i = 0; i < e->session_count; i++)
		if (span_eq(e->sessions[i].name, name))
			return (uint32_t)i;
	return EXECUTION_NONE;
}

const struct execution_stmt *execution_stmt(
	const struct execution *e, uint32_t session, uint32_t ordinal)
{
	uint32_t at = session < e->session_count ? e->sessions[session].first_stmt : EXECUTION_NONE;

	while (at != EXECUTION_NONE && e->stmts[at].ordinal != ordinal)
		at = e->stmts[at].next_in_session;
	return at == EXECUTION_NONE ? NULL : &e->stmts[at];
}

size_t execution_row(struct span row, struct value *values, size_t max)
{
	struct mp mp = mp_over(row);
	uint32_t count = mp_array(&mp);

	if (mp.bad)
		return SIZE_MAX;
	for (uint32_t i = 0; i < count && i < max; i++)
		if (!value_read(&mp, &values[i]))
			return SIZE_MAX;
	return count;
}

void execution_rows_json(struct json *json, const struct execution_rows *rows)
{
	json_begin_array(json);
	for (size_t i = 0; i < rows->count; i++) {
		struct mp mp = mp_over(rows->rows[i]);
		uint32_t count = mp_array(&mp);

		json_begin_array(json);
		for (uint32_t k = 0; k < count; k++) {
			struct value value;

			if (!value_read(&mp, &value))
				break;
			value_json(json, &value);
		}
		json_end_array(json);
	}
	json_end_array(json);
}
