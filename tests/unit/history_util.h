/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small traces by hand, for tests of the history: each call appends one record; seq counts up by
 * ten, so that a test can place one between two others.  Versions and keys are integers here; NIL
 * and UNSAID stand for nil and for a row that does not have the field.
 */
#ifndef HISTORY_UTIL_H
#define HISTORY_UTIL_H

#include <string.h>

#include "model/history/load.h"
#include "trace/pack.h"
#include "trace/value.h"

enum { NIL = -1, UNSAID = -2 };

static struct buf script;
static uint64_t script_seq;

static inline void script_reset(void)
{
	buf_clear(&script);
	script_seq = 0;
}

static inline uint64_t next_seq(void)
{
	return script_seq += 10;
}

/* Table `number` with columns a, b, c and primary key a (or a, b). */
static inline void add_schema_keyed(
	uint32_t number, const char *name, uint32_t key_columns, struct span foreign_keys)
{
	struct record_schema record = {
		.seq = next_seq(), .table = number, .foreign_keys = foreign_keys};
	struct buf columns = BUF_INIT, key = BUF_INIT;
	msgpack_packer pk = pack_into(&columns);

	record.database = SPAN_LIT("d");
	record.name = span_str(name);
	msgpack_pack_array(&pk, 3);
	for (int i = 0; i < 3; i++) {
		const char *names[] = {"a", "b", "c"};

		msgpack_pack_array(&pk, 7);
		pack_str(&pk, span_str(names[i]));
		for (int k = 0; k < 6; k++)
			msgpack_pack_nil(&pk);
	}
	pk = pack_into(&key);
	msgpack_pack_array(&pk, key_columns);
	for (uint32_t i = 0; i < key_columns; i++)
		pack_uint(&pk, i);
	record.columns = buf_span(&columns);
	record.primary_key = buf_span(&key);
	record_schema_pack(&script, &record);
	buf_release(&columns);
	buf_release(&key);
}

static inline void add_schema(uint32_t number, const char *name, uint32_t key_columns)
{
	add_schema_keyed(number, name, key_columns, SPAN_NONE);
}

/* ... whose column b refers to its column a, with ON DELETE CASCADE. */
static inline void add_schema_following(uint32_t number, const char *name)
{
	const char *words[] = {"d", name, "a", "CASCADE", "RESTRICT"};
	struct buf keys = BUF_INIT;
	msgpack_packer pk = pack_into(&keys);

	msgpack_pack_array(&pk, 1);
	msgpack_pack_array(&pk, 7);
	pack_str(&pk, SPAN_LIT("up"));
	msgpack_pack_array(&pk, 1);
	pack_uint(&pk, 1);
	for (int i = 0; i < 5; i++) {
		if (i == 2)
			msgpack_pack_array(&pk, 1);
		pack_str(&pk, span_str(words[i]));
	}
	add_schema_keyed(number, name, 1, buf_span(&keys));
	buf_release(&keys);
}

static inline void add_begin(uint32_t session, uint64_t txn)
{
	struct record_txn record = {.seq = next_seq(), .session = session, .txn = txn};

	record.at = record.seq * 1000;
	record.event = TXN_BEGIN;
	record.level = LEVEL_REPEATABLE_READ;
	record_txn_pack(&script, &record);
}

static inline void add_end_at(
	uint32_t session, uint64_t txn, enum txn_outcome outcome, uint64_t begin_seq)
{
	struct record_txn record = {.seq = next_seq(), .session = session, .txn = txn};

	record.at = record.seq * 1000;
	record.event = TXN_END;
	record.outcome = (uint8_t)outcome;
	record.begin_seq = begin_seq;
	record_txn_pack(&script, &record);
}

static inline void add_end(uint32_t session, uint64_t txn, enum txn_outcome outcome)
{
	add_end_at(session, txn, outcome, 0);
}

static inline void add_savepoint(
	uint32_t session, uint64_t txn, enum txn_event event, const char *name, uint32_t number)
{
	struct record_txn record = {.seq = next_seq(), .session = session, .txn = txn};

	record.event = (uint8_t)event;
	record.name = span_str(name);
	record.number = number;
	record_txn_pack(&script, &record);
}

static inline void add_stmt_at(uint32_t session, uint32_t number, uint64_t txn, uint32_t error,
	uint64_t begin_seq, uint64_t seq)
{
	struct record_stmt record = {.seq = seq, .session = session, .number = number, .txn = txn};

	record.begin_seq = begin_seq;
	record.error = error;
	record.text = SPAN_LIT("select 1");
	record.command = 3;
	record_stmt_pack(&script, &record);
}

static inline void add_stmt(uint32_t session, uint32_t number, uint64_t txn, uint32_t error)
{
	uint64_t begin = next_seq();

	add_stmt_at(session, number, txn, error, begin, next_seq());
}

struct row {
	int key, version, previous;
	enum probe_op op;
	int old_key; /* 0: none */
};

static inline struct span encode_int(char *out, int value)
{
	struct buf buf = BUF_INIT;
	struct value v = value_int(value);
	struct span s;

	if (value == NIL || value == UNSAID)
		return SPAN_NONE;
	value_pack(&buf, &v);
	memcpy(out, buf.data, buf.len);
	s = span_of(out, buf.len);
	buf_release(&buf);
	return s;
}

static inline void add_probe_full(uint32_t session, uint32_t number, uint64_t txn,
	enum probe_kind kind, bool exact, enum probe_read_kind read_kind, const char *predicate,
	const struct row *rows, uint32_t count)
{
	struct record_probe record = {.seq = next_seq(), .session = session, .number = number};
	struct buf packed = BUF_INIT;
	msgpack_packer pk = pack_into(&packed);

	record.txn = txn;
	record.probe = (uint8_t)kind;
	record.table = 1;
	record.exact = exact;
	record.read_kind = (uint8_t)read_kind;
	record.predicate = span_str(predicate);
	msgpack_pack_array(&pk, count);
	for (uint32_t i = 0; i < count; i++) {
		char bytes[4][16];
		struct probe_row row = {
			.key = encode_int(bytes[0], rows[i].key),
			.version = encode_int(bytes[1], rows[i].version),
			.previous = encode_int(bytes[2], rows[i].previous),
			.has_previous = rows[i].previous != UNSAID,
			.op = rows[i].op,
		};

		if (rows[i].old_key)
			row.old_key = encode_int(bytes[3], rows[i].old_key);
		probe_row_pack(&packed, &row);
	}
	record.rows = buf_span(&packed);
	record_probe_pack(&script, &record);
	buf_release(&packed);
}

#define ROWS(...)                                                                                  \
	(const struct row[]){__VA_ARGS__},                                                         \
		(uint32_t)(sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

#define add_probe(session, number, txn, kind, ...)                                                 \
	add_probe_full(                                                                            \
		session, number, txn, kind, true, PROBE_READ_SNAPSHOT, NULL, ROWS(__VA_ARGS__))

/* Rows of table 1 with versions: (key, version) pairs. */
static inline void add_rows(
	const char *moment, bool complete, const int (*pairs)[2], uint32_t count)
{
	struct record_rows record = {.seq = next_seq(), .table = 1};
	struct buf rows = BUF_INIT, versions = BUF_INIT;
	msgpack_packer pk = pack_into(&rows), vk = pack_into(&versions);

	record.moment = span_str(moment);
	record.last = true;
	record.complete = complete;
	msgpack_pack_array(&pk, count);
	msgpack_pack_array(&vk, count);
	for (uint32_t i = 0; i < count; i++) {
		msgpack_pack_array(&pk, 3);
		msgpack_pack_int(&pk, pairs[i][0]);
		msgpack_pack_int(&pk, 7);
		msgpack_pack_int(&pk, 8);
		msgpack_pack_int(&vk, pairs[i][1]);
	}
	record.rows = buf_span(&rows);
	record.versions = buf_span(&versions);
	record_rows_pack(&script, &record);
	buf_release(&rows);
	buf_release(&versions);
}

#define PAIRS(...)                                                                                 \
	(const int[][2]){__VA_ARGS__},                                                             \
		(uint32_t)(sizeof((const int[][2]){__VA_ARGS__}) / sizeof(int[2]))

/* A transaction of one statement that writes rows, begun, committed or not. */
#define add_write_txn(session, number, txn, outcome, ...)                                          \
	do {                                                                                       \
		add_begin(session, txn);                                                           \
		add_probe(session, number, txn, PROBE_WRITE, __VA_ARGS__);                         \
		add_stmt(session, number, txn, 0);                                                 \
		add_end(session, txn, outcome);                                                    \
	} while (0)

/* ---- looking at the result ---- */

static inline uint32_t find_object(const struct history *history, int key)
{
	char bytes[16];
	struct span want = encode_int(bytes, key);

	for (uint32_t o = 0; o < history->object_count; o++) {
		if (span_eq(history_bytes(history, history->objects[o].key), want))
			return o;
	}
	return HISTORY_NONE;
}

static inline uint32_t find_version(const struct history *history, int key, uint64_t name)
{
	uint32_t o = find_object(history, key);

	for (uint32_t v = 0; v < history->version_count; v++) {
		const struct history_version *version = &history->versions[v];

		if (version->object == o && version->name == name && !version->name_is_bytes &&
			!(version->flags & HISTORY_VERSION_NAMELESS))
			return v;
	}
	return HISTORY_NONE;
}

static inline uint32_t find_txn(const struct history *history, uint64_t number)
{
	for (uint32_t t = 0; t < history->txn_count; t++) {
		if (history->txns[t].number == number)
			return t;
	}
	return HISTORY_NONE;
}

/* "U 1 2 D(3) | 4": the order of an object: unborn, names, deletions by their previous; after the
 * bar what does not stand; "fork@2" and so on for a problem. */
static inline const char *order_text(const struct history *history, int key)
{
	static struct buf out;
	uint32_t o = find_object(history, key);
	const struct history_object *object;

	buf_clear(&out);
	if (o == HISTORY_NONE)
		return "none";
	object = &history->objects[o];
	if (!object->order_known)
		buf_printf(&out, "%s@%u ", history_order_problem_name(object->order_problem),
			(unsigned)history->versions[object->problem_version].name);
	for (uint32_t k = 0; k < object->order_count; k++) {
		const struct history_version *v =
			&history->versions[history->order[object->first_order + k]];

		buf_printf(&out, "%s%s", k ? " " : "", k == object->installed_count ? "| " : "");
		if (v->flags & HISTORY_VERSION_UNBORN)
			buf_printf(&out, "U");
		else if ((v->flags & HISTORY_VERSION_NAMELESS) && v->previous == HISTORY_NONE)
			buf_printf(&out, "D(?)");
		else if (v->flags & HISTORY_VERSION_NAMELESS)
			buf_printf(&out, "D(%u)", (unsigned)history->versions[v->previous].name);
		else
			buf_printf(&out, "%u", (unsigned)v->name);
	}
	return out.data;
}

#endif
