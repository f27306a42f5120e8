/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/slice_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/version.h"
#include "server/commands.h"
#include "sql/sql.h"
#include "trace/pack.h"
#include "trace/reader.h"
#include "trace/writer.h"

/* Tables by bit; the last one stands for all others, and for those that are not known. */
enum { TABLE_BITS = 64, OTHER_TABLES = TABLE_BITS - 1 };

/* How much of a transaction stays. */
enum keeping { KEEP_NOTHING, KEEP_WRITES, KEEP_WHOLE };

struct slice_txn {
	uint32_t session;
	uint64_t begin, end;
	uint64_t touched, written; /* tables */
	bool named;       /* a statement of it names a table that is asked for */
	bool aborted;
	enum keeping kept;
};

struct table {
	uint32_t number;
	struct span name;
};

struct slicing {
	const struct slice_conditions *conditions;
	struct slice_summary *summary;
	struct arena arena;
	struct sql_options sql;
	struct table tables[TABLE_BITS];
	size_t table_count;
	struct map txn_of; /* id: index */
	struct map txn_of_stmt; /* slice_stmt_key(): id, where it has one below MAP_NONE */
	struct slice_txn *txns;
	size_t txn_count, txn_capacity;
	struct map prepared;  /* session and number of a PREPARE: index of its text */
	struct span *texts;
	size_t text_count, text_capacity;
	struct map dropped;   /* statements without an answer: slice_stmt_key() */
	struct map places;    /* table: its rows so far */
	struct map sessions;  /* those with a transaction that is kept */
	uint64_t without_rows; /* tables */
	bool all_rows;         /* no transaction that wrote was left out */
	bool whole;            /* nothing was left out */
	bool chained;          /* triggers or foreign keys: a write may change other tables than its text names */
	uint64_t last_at;
	struct trace_writer *writer;
	struct trace_producer *producer;
	struct err *err;
};

static struct slice_txn *txn_at(struct slicing *s, uint64_t id, uint32_t session)
{
	uint32_t *slot = map_at(&s->txn_of, id);

	if (*slot == MAP_NONE) {
		*slot = (uint32_t)s->txn_count;
		MEM_RESERVE(s->txns, s->txn_count + 1, s->txn_capacity);
		s->txns[s->txn_count++] = (struct slice_txn){.session = session, .begin = UINT64_MAX};
	}
	return &s->txns[*slot];
}

/* ---- what statements touch ---- */

static unsigned table_bit(const struct slicing *s, struct span name)
{
	for (size_t i = 0; i < s->table_count; i++)
		if (span_ieq(s->tables[i].name, name))
			return (unsigned)i;
	return OTHER_TABLES;
}

struct touching {
	struct slicing *s;
	uint64_t tables;
	bool named;
};

static void touch(void *ctx, const struct sql_table_name *table, const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct touching *t = ctx;

	(void)ref;
	(void)access;
	t->tables |= UINT64_C(1) << table_bit(t->s, table->name);
	for (size_t i = 0; i < t->s->conditions->table_count; i++)
		t->named |= span_ieq(t->s->conditions->tables[i], table->name);
}

/* A statement whose text is not known may have written anything. */
static void look_at_sql(struct slicing *s, struct span sql, struct slice_txn *txn)
{
	struct touching t = {.s = s};
	struct sql_stmt *tree;
	struct err err;

	arena_clear(&s->arena);
	if (!sql.ptr || !sql_parse(&s->arena, sql, &s->sql, &tree, &err)) {
		txn->written |= UINT64_C(1) << OTHER_TABLES;
		txn->touched |= UINT64_C(1) << OTHER_TABLES;
		return;
	}
	sql_stmt_tables(tree, touch, &t);
	txn->named |= t.named;
	txn->touched |= t.tables;
	if (sql_stmt_is_read(tree) || sql_stmt_is_transaction_control(tree) || tree->kind == SQL_STMT_SET ||
		tree->kind == SQL_STMT_USE || tree->kind == SQL_STMT_SHOW)
		return;
	txn->written |= t.tables;
	if (tree->kind != SQL_STMT_INSERT && tree->kind != SQL_STMT_REPLACE && tree->kind != SQL_STMT_UPDATE &&
		tree->kind != SQL_STMT_DELETE)
		txn->written |= UINT64_C(1) << OTHER_TABLES; /* a CALL may write any */
}

static bool is_statement(uint8_t command)
{
	return command == CMD_QUERY || command == CMD_STMT_EXECUTE || command == CMD_STMT_BULK_EXECUTE;
}

static void note_prepared(struct slicing *s, const struct record_stmt *r)
{
	MEM_RESERVE(s->texts, s->text_count + 1, s->text_capacity);
	s->texts[s->text_count] = span_of(mem_dup(r->text.ptr, r->text.len + 1), r->text.len);
	map_put(&s->prepared, slice_stmt_key(r->session, r->number), (uint32_t)s->text_count++);
}

static struct span text_of(const struct slicing *s, const struct record_stmt *r)
{
	uint32_t at;

	if (!r->prepared)
		return r->text;
	at = map_get(&s->prepared, slice_stmt_key(r->session, r->prepared));
	return at == MAP_NONE ? SPAN_NONE : s->texts[at];
}

static void look_at_stmt(struct slicing *s, const struct record_stmt *r)
{
	struct slice_txn *txn;

	if (r->command == CMD_STMT_PREPARE && r->text.ptr)
		note_prepared(s, r);
	if (!r->txn)
		return;
	if (r->txn < MAP_NONE)
		map_put(&s->txn_of_stmt, slice_stmt_key(r->session, r->number), (uint32_t)r->txn);
	txn = txn_at(s, r->txn, r->session);
	if (r->begin < txn->begin)
		txn->begin = r->begin;
	if (r->at > txn->end)
		txn->end = r->at;
	if (is_statement(r->command) && !(r->flags & STMT_INJECTED))
		look_at_sql(s, text_of(s, r), txn);
}

static void look_at_txn(struct slicing *s, const struct record_txn *r)
{
	struct slice_txn *txn = txn_at(s, r->txn, r->session);
	uint64_t begin = r->event == TXN_BEGIN || !r->begin ? r->at : r->begin;

	if (begin < txn->begin)
		txn->begin = begin;
	if (r->at > txn->end)
		txn->end = r->at;
	if (r->event == TXN_END)
		txn->aborted = r->outcome == TXN_ABORTED;
}

static bool has_elements(struct span array)
{
	struct mp mp = mp_over(array);

	return array.ptr && mp_array(&mp) > 0;
}

static bool look_at(struct slicing *s, struct trace_item *item)
{
	struct record_schema schema;
	struct record_server server;
	struct record_stmt stmt;
	struct record_txn txn;

	switch (item->kind) {
	case RECORD_SERVER:
		if (!record_server_read(&item->mp, item->left, &server))
			return false;
		s->sql = sql_options_for_server(server.version);
		return true;
	case RECORD_SCHEMA:
		if (!record_schema_read(&item->mp, item->left, &schema))
			return false;
		s->chained |= has_elements(schema.foreign_keys) || has_elements(schema.triggers);
		if (s->table_count < OTHER_TABLES && table_bit(s, schema.name) == OTHER_TABLES)
			s->tables[s->table_count++] = (struct table){
				schema.table, span_of(mem_dup(schema.name.ptr, schema.name.len + 1), schema.name.len)};
		return true;
	case RECORD_STMT:
		if (!record_stmt_read(&item->mp, item->left, &stmt))
			return false;
		look_at_stmt(s, &stmt);
		return true;
	case RECORD_TXN:
		if (!record_txn_read(&item->mp, item->left, &txn))
			return false;
		look_at_txn(s, &txn);
		return true;
	default:
		return true;
	}
}

/* ---- reading ---- */

static bool each_record(struct slicing *s, const char *path, bool (*each)(struct slicing *s, struct trace_item *item))
{
	struct trace_reader_options options = {.ordered = true};
	struct trace_reader *reader = trace_reader_open(path, &options, s->err);
	struct trace_totals totals;
	struct trace_item item;
	enum trace_next next;
	bool ok = reader != NULL;

	while (ok && (next = trace_next_item(reader, &item, s->err)) != TRACE_NEXT_END) {
		ok = next == TRACE_NEXT_OK;
		if (ok && !each(s, &item))
			ok = err_set(s->err, ERR_FORMAT, "%s: a record cannot be read", path);
	}
	if (ok) {
		trace_reader_totals(reader, &totals);
		if (!totals.clean || totals.lost_records)
			ok = err_set(s->err, ERR_UNSUPPORTED,
				"%s is incomplete: it is damaged, was not ended, or records were lost; a part of it would not say so",
				path);
	}
	if (reader)
		trace_reader_close(reader);
	return ok;
}

/* ---- choosing ---- */

static bool is_asked_for(const struct slicing *s, const struct slice_txn *txn, uint64_t id)
{
	const struct slice_conditions *c = s->conditions;

	return (!c->sessions.count || map_get(&c->sessions, txn->session) != MAP_NONE) &&
	       (!c->txns.count || map_get(&c->txns, id) != MAP_NONE) && (!c->table_count || txn->named) && txn->end >= c->from &&
	       (txn->begin == UINT64_MAX || txn->begin <= c->to);
}

/* Those that are asked for, and which tables they touch. */
static uint64_t choose_whole(struct slicing *s)
{
	uint64_t touched = 0;

	for (size_t i = 0; s->txn_of.slots && i <= s->txn_of.mask; i++) {
		const struct map_slot *slot = &s->txn_of.slots[i];
		struct slice_txn *txn = slot->value == MAP_NONE ? NULL : &s->txns[slot->value];

		if (!txn || !is_asked_for(s, txn, slot->key))
			continue;
		txn->kept = KEEP_WHOLE;
		touched |= txn->touched | txn->written;
	}
	/* By a trigger, a cascade or a statement that is not understood all tables hang together. */
	return s->chained || touched >> OTHER_TABLES ? UINT64_MAX : touched;
}

/* What others wrote into these tables explains what is read there.  What they read does not. */
static void choose(struct slicing *s)
{
	uint64_t touched = choose_whole(s);

	if (s->conditions->exact)
		touched = 0;
	s->all_rows = true;
	for (size_t i = 0; i < s->txn_count; i++) {
		struct slice_txn *txn = &s->txns[i];

		if (!txn->kept && !s->conditions->exact && txn->written & (touched | UINT64_C(1) << OTHER_TABLES))
			txn->kept = KEEP_WRITES;
		s->summary->txns++;
		s->summary->txns_kept += txn->kept == KEEP_WHOLE;
		s->summary->writers += txn->kept == KEEP_WRITES;
		if (txn->kept) {
			map_put(&s->sessions, txn->session, 1);
		} else if (txn->written) {
			s->without_rows |= txn->written;
			s->all_rows = false;
		}
	}
	s->whole = s->summary->txns_kept == s->summary->txns && !s->conditions->no_stmts.count && !s->conditions->no_rows.count;
}

static enum keeping keeping_of(const struct slicing *s, uint64_t txn)
{
	uint32_t at = map_get(&s->txn_of, txn);

	return at == MAP_NONE ? KEEP_NOTHING : s->txns[at].kept;
}

/* What was written beside the tables that the texts name is not known: then no table's content is certain. */
static bool has_rows(const struct slicing *s, uint32_t table, struct span moment)
{
	if (s->conditions->exact)
		return s->all_rows || span_eq_str(moment, "initial");
	if (s->without_rows >> OTHER_TABLES)
		return false;
	for (size_t i = 0; i < s->table_count; i++)
		if (s->tables[i].number == table)
			return !(s->without_rows >> i & 1);
	return s->all_rows;
}

/* ---- writing ---- */

/* Records keep their numbers; the writer's own counter keeps up, so that its watermarks hold. */
static void keep_up(struct slicing *s, uint64_t seq)
{
	while (trace_seq(s->writer) < seq)
		;
}

#define COPY(lower)                                                                                                    \
	do {                                                                                                           \
		struct record_##lower copied;                                                                            \
		if (!record_##lower##_read(&item->mp, item->left, &copied))                                            \
			return false;                                                                                  \
		keep_up(s, copied.seq);                                                                                \
		(void)trace_emit_##lower(s->producer, &copied);                                                        \
		return true;                                                                                           \
	} while (0)

/* The variables, with the word that others may have written. */
static void mark_writers(struct span variables, struct buf *out)
{
	msgpack_packer pk = pack_into(out);
	struct mp mp = mp_over(variables);
	uint32_t count = variables.ptr ? mp_map(&mp) : 0, kept = 0;
	struct buf pairs = BUF_INIT;
	msgpack_packer more = pack_into(&pairs);

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct span name = mp_raw(&mp), value = mp_raw(&mp);
		struct mp word = mp_over(name);

		if (span_eq_str(mp_bytes(&word), WRITERS_VARIABLE))
			continue;
		buf_add_span(&pairs, name);
		if (value.ptr)
			buf_add_span(&pairs, value);
		else
			pack_nil(&more);
		kept++;
	}
	msgpack_pack_map(&pk, kept + 1);
	buf_add_span(out, buf_span(&pairs));
	pack_str(&pk, SPAN_LIT(WRITERS_VARIABLE));
	pack_str(&pk, SPAN_LIT(WRITERS_SOME));
	buf_release(&pairs);
}

static bool write_server(struct slicing *s, struct trace_item *item)
{
	struct buf variables = BUF_INIT;
	struct record_server r;

	if (!record_server_read(&item->mp, item->left, &r))
		return false;
	if (!s->all_rows && !s->conditions->exact) {
		mark_writers(r.variables, &variables);
		r.variables = buf_span(&variables);
	}
	keep_up(s, r.seq);
	(void)trace_emit_server(s->producer, &r);
	buf_release(&variables);
	return true;
}

/* The rows of a part, and their versions, without those that are left out. */
static void choose_rows(struct slicing *s, struct record_rows *r, struct buf *rows, struct buf *versions)
{
	uint32_t *place = map_at(&s->places, r->table);
	struct mp row = mp_over(r->rows), version = mp_over(r->versions);
	uint32_t count = mp_array(&row), kept = 0;
	struct buf kept_rows = BUF_INIT, kept_versions = BUF_INIT;
	msgpack_packer pk = pack_into(rows), version_pk = pack_into(versions), no_version = pack_into(&kept_versions);

	if (*place == MAP_NONE)
		*place = 0;
	if (r->versions.ptr)
		(void)mp_array(&version);
	for (uint32_t i = 0; i < count && !row.bad; i++) {
		struct span one = mp_raw(&row), its_version = r->versions.ptr ? mp_raw(&version) : SPAN_NONE;

		if (map_get(&s->conditions->no_rows, slice_row_key(r->table, (*place)++)) != MAP_NONE)
			continue;
		buf_add_span(&kept_rows, one);
		if (its_version.ptr)
			buf_add_span(&kept_versions, its_version);
		else
			pack_nil(&no_version);
		kept++;
	}
	s->summary->rows_kept += kept;
	msgpack_pack_array(&pk, kept);
	buf_add_span(rows, buf_span(&kept_rows));
	msgpack_pack_array(&version_pk, kept);
	buf_add_span(versions, buf_span(&kept_versions));
	buf_release(&kept_rows);
	buf_release(&kept_versions);
	r->rows = buf_span(rows);
	if (r->versions.ptr)
		r->versions = buf_span(versions);
}

static bool write_rows(struct slicing *s, struct trace_item *item)
{
	struct buf rows = BUF_INIT, versions = BUF_INIT;
	struct record_rows r;

	if (!record_rows_read(&item->mp, item->left, &r))
		return false;
	if (!has_rows(s, r.table, r.moment))
		return true;
	if (span_eq_str(r.moment, "initial") && r.rows.ptr)
		choose_rows(s, &r, &rows, &versions);
	keep_up(s, r.seq);
	(void)trace_emit_rows(s->producer, &r);
	buf_release(&rows);
	buf_release(&versions);
	return true;
}

/* SET, USE, PREPARE and the like change the session, not rows: they stay, outside of the transaction that is gone. */
static bool is_of_session(struct slicing *s, const struct record_stmt *r)
{
	struct sql_stmt *tree;
	struct err err;

	if (!is_statement(r->command))
		return true;
	arena_clear(&s->arena);
	return r->text.ptr && sql_parse(&s->arena, r->text, &s->sql, &tree, &err) &&
	       (tree->kind == SQL_STMT_SET || tree->kind == SQL_STMT_USE || tree->kind == SQL_STMT_SET_TRANSACTION);
}

static bool is_left_out(const struct slicing *s, uint32_t session, uint32_t number)
{
	return map_get(&s->conditions->no_stmts, slice_stmt_key(session, number)) != MAP_NONE;
}

static bool write_stmt(struct slicing *s, struct trace_item *item)
{
	struct record_stmt r;

	if (!record_stmt_read(&item->mp, item->left, &r))
		return false;
	s->last_at = r.at > s->last_at ? r.at : s->last_at;
	s->summary->stmts++;
	if (is_left_out(s, r.session, r.number))
		return true;
	if (r.txn && keeping_of(s, r.txn) == KEEP_NOTHING) {
		if (r.flags & STMT_INJECTED || map_get(&s->sessions, r.session) == MAP_NONE || !is_of_session(s, &r))
			return true;
		r.txn = 0;
	} else if (!r.txn && map_get(&s->sessions, r.session) == MAP_NONE) {
		return true;
	}
	/* Its answer is not in the trace. */
	if (r.txn && keeping_of(s, r.txn) == KEEP_WRITES && r.result_sets) {
		r.flags |= STMT_NOT_KEPT;
		r.result_sets = 0;
	}
	s->summary->stmts_kept++;
	keep_up(s, r.seq);
	(void)trace_emit_stmt(s->producer, &r);
	return true;
}

static bool write_note(struct slicing *s, struct trace_item *item)
{
	struct mp mp = item->mp;
	struct record_note r;

	if (!record_note_read(&mp, item->left, &r))
		return false;
	/* The scenario is that of the whole.  An exact part keeps it: it tells that its statements were sent one at a time. */
	if (span_eq_str(r.topic, "scenario") && !s->whole && !s->conditions->exact)
		return true;
	/* That all writers were recorded no longer holds. */
	if (span_eq_str(r.topic, "sessions") && !s->all_rows && !s->conditions->exact)
		return true;
	COPY(note);
}

/* A recorder that reads the probe before the statement's transaction is known leaves it out. */
static enum keeping keeping_of_probe(const struct slicing *s, const struct record_probe *r)
{
	uint32_t txn = map_get(&s->txn_of_stmt, slice_stmt_key(r->session, r->number));

	return keeping_of(s, r->txn || txn == MAP_NONE ? r->txn : txn);
}

static bool is_of_write(uint8_t probe)
{
	return probe == PROBE_WRITE || probe == PROBE_BWR || probe == PROBE_AWR;
}

static bool write_item(struct slicing *s, struct trace_item *item)
{
	struct mp mp = item->mp;
	struct record_session session;
	struct record_result result;
	struct record_probe probe;
	struct record_txn txn;

	switch (item->kind) {
	case RECORD_SERVER:
		return write_server(s, item);
	case RECORD_SCHEMA:
		COPY(schema);
	case RECORD_ROWS:
		return write_rows(s, item);
	case RECORD_SESSION:
		if (!record_session_read(&mp, item->left, &session))
			return false;
		s->last_at = session.at > s->last_at ? session.at : s->last_at;
		if (map_get(&s->sessions, session.session) == MAP_NONE)
			return true;
		COPY(session);
	case RECORD_STMT:
		return write_stmt(s, item);
	case RECORD_RESULT:
		if (!record_result_read(&mp, item->left, &result))
			return false;
		if (map_get(&s->dropped, slice_stmt_key(result.session, result.number)) != MAP_NONE)
			return true;
		COPY(result);
	case RECORD_PROBE:
		if (!record_probe_read(&mp, item->left, &probe))
			return false;
		if (keeping_of_probe(s, &probe) == KEEP_NOTHING ||
			(keeping_of_probe(s, &probe) == KEEP_WRITES && !is_of_write(probe.probe)) ||
			is_left_out(s, probe.session, probe.number))
			return true;
		COPY(probe);
	case RECORD_TXN:
		if (!record_txn_read(&mp, item->left, &txn))
			return false;
		if (keeping_of(s, txn.txn) == KEEP_NOTHING)
			return true;
		COPY(txn);
	case RECORD_CLUSTER:
		COPY(cluster);
	case RECORD_NOTE:
		return write_note(s, item);
	case RECORD_PROGRAM:
		COPY(program);
	case RECORD_LOGGED: /* also of transactions that are left out: what they wrote stays known */
		COPY(logged);
	default: /* blocks and footers are the writer's; a gap ends this (each_record) */
		return true;
	}
}

/* Marks the statements without an answer: results may come before their statement. */
static bool mark_dropped(struct slicing *s, struct trace_item *item)
{
	struct record_stmt r;

	if (item->kind != RECORD_STMT)
		return true;
	if (!record_stmt_read(&item->mp, item->left, &r))
		return false;
	if (is_left_out(s, r.session, r.number) ||
		(r.txn ? keeping_of(s, r.txn) != KEEP_WHOLE : map_get(&s->sessions, r.session) == MAP_NONE))
		map_put(&s->dropped, slice_stmt_key(r.session, r.number), 1);
	return true;
}

static void add_note(struct slicing *s, const char *words)
{
	bool told_all = s->all_rows || s->conditions->exact;
	const char *text = s->conditions->exact ? words
						: arena_printf(&s->arena,
							  "%s: %" PRIu64 " of %" PRIu64 " transactions, and what %" PRIu64 " others wrote",
							  words, s->summary->txns_kept, s->summary->txns, s->summary->writers);
	struct record_note note = {.at = s->last_at,
		.source = SPAN_LIT("slice"),
		.topic = told_all ? SPAN_LIT("slice") : SPAN_LIT("left out"),
		.text = span_str(text)};

	(void)trace_emit_note(s->producer, &note);
}

static bool write_all(struct slicing *s, const char *path, const char *output, const char *words)
{
	struct trace_writer_options options;
	struct trace_reader *reader = trace_reader_open(path, &(struct trace_reader_options){.ordered = true}, s->err);
	const struct trace_header *header;
	bool ok;

	if (!reader)
		return false;
	header = trace_reader_header(reader);
	trace_writer_defaults(&options);
	options.recorder = "isotrace " ISOTRACE_VERSION;
	options.anchor_mono_ns = header->clock_mono_ns;
	options.anchor_wall_ns = header->clock_wall_ns;
	options.wait_ms_max = 3600u * 1000;
	trace_reader_close(reader);
	s->writer = trace_writer_open(output, &options, s->err);
	if (!s->writer)
		return false;
	s->producer = trace_producer_open(s->writer);
	ok = each_record(s, path, write_item);
	arena_clear(&s->arena);
	if (words)
		add_note(s, words);
	trace_producer_close(s->producer);
	if (!ok) {
		trace_writer_discard(s->writer);
		return false;
	}
	return trace_writer_close(s->writer, s->err);
}

bool slice_trace(const char *path, const char *output, const struct slice_conditions *conditions, const char *words,
	struct slice_summary *summary, struct err *err)
{
	struct slicing s = {.conditions = conditions, .summary = summary, .arena = ARENA_INIT, .sql = sql_options_default(),
		.err = err};
	bool ok;

	*summary = (struct slice_summary){.txns = 0};
	ok = each_record(&s, path, look_at);
	if (ok) {
		choose(&s);
		ok = summary->txns_kept > 0 ? each_record(&s, path, mark_dropped) && write_all(&s, path, output, words)
					    : err_set(err, ERR_EMPTY, "%s: no transaction is as asked for", path);
	}
	for (size_t i = 0; i < s.table_count; i++)
		mem_free((void *)(uintptr_t)s.tables[i].name.ptr);
	for (size_t i = 0; i < s.text_count; i++)
		mem_free((void *)(uintptr_t)s.texts[i].ptr);
	mem_free(s.texts);
	mem_free(s.txns);
	map_release(&s.txn_of);
	map_release(&s.txn_of_stmt);
	map_release(&s.prepared);
	map_release(&s.dropped);
	map_release(&s.places);
	map_release(&s.sessions);
	arena_release(&s.arena);
	return ok;
}
