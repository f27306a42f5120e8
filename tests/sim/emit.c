/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of a run, as a recorder would have written them. */
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/version.h"
#include "sim/run.h"
#include "trace/pack.h"

/* ---- arrays of rows ---- */

enum { ROWS_HEAD = 5, ROWS_PER_RECORD = 1000 };

void sim_rows_clear(struct sim_rows *rows)
{
	buf_clear(&rows->buf);
	memset(buf_reserve(&rows->buf, ROWS_HEAD), 0, ROWS_HEAD);
	rows->buf.len = ROWS_HEAD;
	rows->count = 0;
}

void sim_rows_release(struct sim_rows *rows)
{
	buf_release(&rows->buf);
	rows->count = 0;
}

/* The array head goes right before the first row, in its shortest form. */
struct span sim_rows_span(struct sim_rows *rows)
{
	unsigned char *body = (unsigned char *)rows->buf.data + ROWS_HEAD;
	uint32_t n = rows->count;
	size_t head;

	if (n < 16) {
		body[-1] = (unsigned char)(0x90 | n);
		head = 1;
	} else if (n < 65536) {
		body[-3] = 0xdc;
		body[-2] = (unsigned char)(n >> 8);
		body[-1] = (unsigned char)n;
		head = 3;
	} else {
		body[-5] = 0xdd;
		for (int i = 0; i < 4; i++)
			body[i - 4] = (unsigned char)(n >> (24 - 8 * i));
		head = 5;
	}
	return span_of(body - head, rows->buf.len - ROWS_HEAD + head);
}

static void pack_image(msgpack_packer *pk, int64_t key, int64_t value)
{
	msgpack_pack_array(pk, 2);
	pack_int(pk, key);
	pack_int(pk, value);
}

void sim_rows_add_row(struct sim_rows *rows, int64_t key, int64_t value)
{
	msgpack_packer pk = pack_into(&rows->buf);

	pack_image(&pk, key, value);
	rows->count++;
}

static void pack_version(msgpack_packer *pk, uint64_t version)
{
	if (version)
		pack_uint(pk, version);
	else
		msgpack_pack_nil(pk);
}

/* As probe_row_pack() has it, without encoding every field on its own first. */
void sim_rows_add_probe(struct sim_rows *rows, const struct sim_probe_row *row)
{
	msgpack_packer pk = pack_into(&rows->buf);
	uint32_t count = 2;

	if (row->has_previous)
		count = 3;
	if (row->has_image)
		count = 4;
	if (row->op != PROBE_OP_NONE)
		count = 5;
	if (row->has_old_key)
		count = 6;
	if (row->has_old_image)
		count = 7;
	msgpack_pack_array(&pk, count);
	pack_int(&pk, row->key);
	pack_version(&pk, row->version);
	if (count > 2) {
		if (row->has_previous)
			pack_version(&pk, row->previous);
		else
			pack_bool(&pk, false);
	}
	if (count > 3) {
		if (row->has_image)
			pack_image(&pk, row->key, row->value);
		else
			msgpack_pack_nil(&pk);
	}
	if (count > 4)
		pack_uint(&pk, row->op);
	if (count > 5) {
		if (row->has_old_key)
			pack_int(&pk, row->old_key);
		else
			msgpack_pack_nil(&pk);
	}
	if (count > 6)
		pack_image(&pk, row->has_old_key ? row->old_key : row->key, row->old_value);
	rows->count++;
}

/* ---- before and after ---- */

static void emit(struct sim *sim, enum record_kind kind, void *record)
{
	sim->stats.records++;
	sim->sink->emit(sim->sink->data, kind, record);
}

uint8_t sim_level(enum sim_discipline discipline)
{
	switch (discipline) {
	case SIM_SERIALIZABLE:
		return LEVEL_SERIALIZABLE;
	case SIM_SNAPSHOT:
	case SIM_REPEATABLE_READ:
		return LEVEL_REPEATABLE_READ;
	case SIM_READ_COMMITTED:
		return LEVEL_READ_COMMITTED;
	case SIM_READ_UNCOMMITTED:
		return LEVEL_READ_UNCOMMITTED;
	}
	BUG("discipline %d", (int)discipline);
}

static void pack_pair(msgpack_packer *pk, const char *name, const char *value)
{
	pack_str(pk, span_str(name));
	pack_str(pk, span_str(value));
}

static void emit_server(struct sim *sim)
{
	struct record_server record = {.seq = sim_tick(sim), .at = sim->now};
	enum sim_discipline discipline = sim->options->discipline;
	char level[32];
	msgpack_packer pk;

	snprintf(level, sizeof(level), "%s", txn_level_name(sim_level(discipline)));
	for (char *p = level; *p; p++)
		if (*p == ' ')
			*p = '-';
	buf_clear(&sim->scratch);
	pk = pack_into(&sim->scratch);
	msgpack_pack_map(&pk, 5);
	pack_pair(&pk, "transaction_isolation", level);
	pack_pair(&pk, "autocommit", "ON");
	pack_pair(&pk, "innodb_snapshot_isolation", discipline == SIM_SNAPSHOT ? "ON" : "OFF");
	pack_pair(&pk, "innodb_deadlock_detect", "ON");
	pack_pair(&pk, "simulator_discipline", sim_discipline_name(discipline));
	record.node = SPAN_LIT("n1");
	record.version = SPAN_LIT("simulator-" ISOTRACE_VERSION);
	record.flavour = SPAN_LIT("simulator");
	record.address = SPAN_LIT("simulator");
	record.variables = buf_span(&sim->scratch);
	emit(sim, RECORD_SERVER, &record);
}

static void pack_column(msgpack_packer *pk, const char *name, bool nullable)
{
	msgpack_pack_array(pk, 7);
	pack_str(pk, span_str(name));
	pack_str(pk, SPAN_LIT("bigint(20)"));
	pack_bool(pk, nullable);
	msgpack_pack_nil(pk); /* collation */
	msgpack_pack_nil(pk); /* default */
	msgpack_pack_nil(pk); /* generated */
	pack_str(pk, SPAN_LIT(""));
}

static void emit_schema(struct sim *sim, uint32_t table)
{
	struct sim_table *t = &sim->tables[table];
	struct record_schema record = {.seq = sim_tick(sim), .at = sim->now, .table = table};
	struct buf text = BUF_INIT;
	msgpack_packer pk;

	buf_clear(&sim->scratch);
	pk = pack_into(&sim->scratch);
	msgpack_pack_array(&pk, 2);
	pack_column(&pk, "k", false);
	pack_column(&pk, "v", true);
	buf_printf(&text,
		"CREATE TABLE `%s` (\n  `k` bigint(20) NOT NULL,\n  `v` bigint(20) DEFAULT NULL,\n"
		"  PRIMARY KEY (`k`)\n) ENGINE=InnoDB",
		t->name);
	record.node = SPAN_LIT("n1");
	record.database = SPAN_LIT("test");
	record.name = span_str(t->name);
	record.columns = buf_span(&sim->scratch);
	record.primary_key = SPAN_LIT("\x91\x00");
	record.keys = SPAN_LIT("\x90");
	record.foreign_keys = SPAN_LIT("\x90");
	record.create_text = buf_span(&text);
	emit(sim, RECORD_SCHEMA, &record);
	buf_release(&text);
}

/* What the server says of the columns of SELECT k, v. */
static void make_result_columns(struct sim *sim, struct sim_table *t)
{
	static const char *const names[] = {"k", "v"};
	msgpack_packer pk;

	(void)sim;
	buf_clear(&t->result_columns);
	pk = pack_into(&t->result_columns);
	msgpack_pack_array(&pk, 2);
	for (int i = 0; i < 2; i++) {
		msgpack_pack_array(&pk, 10);
		pack_str(&pk, span_str(names[i]));
		pack_str(&pk, span_str(t->name));
		pack_uint(&pk, 8);                   /* MYSQL_TYPE_LONGLONG */
		pack_uint(&pk, i == 0 ? 0x1003 : 0); /* NOT_NULL, PRI_KEY, NO_DEFAULT_VALUE */
		pack_uint(&pk, 63);                  /* binary */
		pack_uint(&pk, 20);
		pack_uint(&pk, 0);
		pack_str(&pk, SPAN_LIT("test"));
		pack_str(&pk, span_str(t->name));
		pack_str(&pk, span_str(names[i]));
	}
}

struct rows_parts {
	struct sim_rows rows, versions;
	uint32_t part;
};

static void emit_rows_part(
	struct sim *sim, uint32_t table, const char *moment, struct rows_parts *parts, bool last)
{
	struct record_rows record = {.seq = sim_tick(sim), .at = sim->now, .table = table};

	record.node = SPAN_LIT("n1");
	record.moment = span_str(moment);
	record.part = parts->part++;
	record.last = last;
	record.complete = last;
	record.rows = sim_rows_span(&parts->rows);
	if (sim->options->probes != SIM_PROBES_OFF)
		record.versions = sim_rows_span(&parts->versions);
	emit(sim, RECORD_ROWS, &record);
	sim_rows_clear(&parts->rows);
	sim_rows_clear(&parts->versions);
}

static void emit_rows(struct sim *sim, uint32_t table, const char *moment)
{
	struct sim_table *t = &sim->tables[table];
	struct rows_parts parts = {0};

	sim_rows_clear(&parts.rows);
	sim_rows_clear(&parts.versions);
	for (uint32_t key = 0; key < t->keys; key++) {
		uint32_t v = store_newest(&sim->store, t->first_object + key);
		msgpack_packer pk = pack_into(&parts.versions.buf);

		if (!store_exists(&sim->store, v))
			continue;
		if (parts.rows.count == ROWS_PER_RECORD)
			emit_rows_part(sim, table, moment, &parts, false);
		sim_rows_add_row(&parts.rows, key, sim->store.versions[v].value);
		pack_uint(&pk, sim->store.versions[v].name);
		parts.versions.count++;
	}
	emit_rows_part(sim, table, moment, &parts, true);
	sim_rows_release(&parts.rows);
	sim_rows_release(&parts.versions);
}

void sim_emit_prologue(struct sim *sim)
{
	emit_server(sim);
	for (uint32_t i = 0; i < sim->table_count; i++) {
		make_result_columns(sim, &sim->tables[i]);
		emit_schema(sim, i);
	}
	for (uint32_t i = 0; i < sim->table_count; i++)
		emit_rows(sim, i, "initial");
}

void sim_emit_epilogue(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->table_count; i++)
		emit_rows(sim, i, "final");
}

/* ---- sessions, transactions, statements ---- */

void sim_emit_session(struct sim *sim, const struct sim_session *session, enum session_event event,
	const char *reason)
{
	struct record_session record = {.seq = sim_tick(sim), .at = sim->now};

	record.session = session->number;
	record.event = (uint8_t)event;
	record.node = SPAN_LIT("n1");
	record.client = SPAN_LIT("simulator");
	record.user = SPAN_LIT("sim");
	record.database = SPAN_LIT("test");
	record.thread = session->number + 10u;
	record.reason = span_str(reason);
	emit(sim, RECORD_SESSION, &record);
}

static const char *end_reason(const struct sim_session *session)
{
	if (session->no_reply)
		return "no reply";
	if (session->error == 1213)
		return "error 1213";
	if (session->error == 1020)
		return "error 1020";
	if (session->error == 1205)
		return "error 1205";
	if (session->txn_outcome == TXN_ABORTED)
		return session->autocommit ? "error" : "rollback";
	return session->autocommit ? "autocommit" : "commit";
}

void sim_emit_txn(struct sim *sim, const struct sim_session *session, enum txn_event event)
{
	struct record_txn record = {.seq = sim_tick(sim), .at = sim->now};

	record.session = session->number;
	record.txn = session->txn;
	record.event = (uint8_t)event;
	record.number = session->stmt_number;
	record.level = session->level;
	record.consistent_snapshot = session->consistent_snapshot;
	record.autocommit = session->autocommit;
	record.begin_seq = session->txn_begin_seq;
	record.begin = session->txn_begin_at;
	if (event == TXN_SAVEPOINT || event == TXN_ROLLBACK_TO)
		record.name = SPAN_LIT("s1");
	if (event == TXN_END) {
		record.outcome = session->txn_outcome;
		record.reason = span_str(end_reason(session));
	}
	emit(sim, RECORD_TXN, &record);
}

static void emit_result(struct sim *sim, struct sim_session *session)
{
	struct record_result record = {.seq = sim_tick(sim), .at = sim->now};

	record.session = session->number;
	record.number = session->stmt_number;
	record.last = true;
	record.columns = buf_span(&sim->tables[session->stmt.table].result_columns);
	record.total = session->result.count;
	record.rows = sim_rows_span(&session->result);
	emit(sim, RECORD_RESULT, &record);
}

static void emit_probe(struct sim *sim, struct sim_session *session, enum probe_kind kind)
{
	struct record_probe record = {.seq = sim_tick(sim), .at = sim->now};
	bool tests = kind == PROBE_PM || kind == PROBE_VSR;

	record.session = session->number;
	record.number = session->stmt_number;
	record.txn = session->txn;
	record.probe = (uint8_t)kind;
	record.table = session->stmt.table;
	record.exact = session->probe_exact[kind];
	record.read_kind = session->probe_read_kind[kind];
	record.predicate =
		tests && session->predicate.len ? buf_span(&session->predicate) : SPAN_NONE;
	record.rows = sim_rows_span(&session->probes[kind]);
	record.begin = session->begin_at;
	emit(sim, RECORD_PROBE, &record);
}

static void fill_error(struct record_stmt *record, uint32_t error)
{
	record->error = error;
	if (error == 1213) {
		record->sqlstate = SPAN_LIT("40001");
		record->error_text = SPAN_LIT(
			"Deadlock found when trying to get lock; try restarting transaction");
	} else if (error == 1205) {
		record->sqlstate = SPAN_LIT("HY000");
		record->error_text =
			SPAN_LIT("Lock wait timeout exceeded; try restarting transaction");
	} else if (error == 1020) {
		record->sqlstate = SPAN_LIT("HY000");
		record->error_text = SPAN_LIT("Record has changed since last read");
	} else if (error == 1062) {
		record->sqlstate = SPAN_LIT("23000");
		record->error_text = SPAN_LIT("Duplicate entry for key 'PRIMARY'");
	}
}

void sim_emit_stmt(struct sim *sim, struct sim_session *session)
{
	/* In the order in which the recorder learns of them. */
	static const enum probe_kind order[] = {
		PROBE_BWR, PROBE_VSR, PROBE_PM, PROBE_READ, PROBE_WRITE, PROBE_AWR};
	struct record_stmt record = {0};
	struct buf blockers = BUF_INIT;

	record.first_byte = session->no_reply ? 0 : sim->now;
	if (session->has_result && !session->no_reply && !sim->options->no_results)
		emit_result(sim, session);
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (session->probe_used[order[i]])
			emit_probe(sim, session, order[i]);
	record.seq = sim_tick(sim);
	record.at = sim->now;
	record.session = session->number;
	record.number = session->stmt_number;
	record.txn = session->txn;
	record.begin_seq = session->begin_seq;
	record.begin = session->begin_at;
	record.command = 3;
	record.flags = STMT_BLOCKED_SEEN | (session->no_reply ? STMT_NO_REPLY : 0);
	record.text = buf_span(&session->text);
	if (!session->no_reply) {
		bool open = session->txn && !session->txn_ended;

		record.status = 2u | (open ? 1u : 0u);
		record.affected = session->affected;
		record.result_sets = session->has_result;
		record.rows = session->has_result ? session->result.count : 0;
		if (session->has_result && sim->options->no_results) {
			record.flags |= STMT_NOT_KEPT;
			record.result_sets = 0;
		}
		fill_error(&record, session->error);
	}
	record.blocked_ns = session->blocked_ns;
	if (session->blocker) {
		msgpack_packer pk = pack_into(&blockers);

		msgpack_pack_array(&pk, 1);
		pack_uint(&pk, session->blocker);
		record.blockers = buf_span(&blockers);
	}
	record.client_begin = session->begin_at;
	record.client_end = record.at;
	emit(sim, RECORD_STMT, &record);
	buf_release(&blockers);
}
