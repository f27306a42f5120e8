/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulator's records say what really happened: each statement's probes and rows are compared
 * with the ground truth, operation by operation, and the stream keeps the rules of trace/record.h.
 */
#include "unit/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/sim.h"
#include "trace/reader.h"
#include "trace/value.h"

/* Check notes every assertion that holds in a file; these are too many for that. */
#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s", #cond);                                                 \
	} while (0)
#define MUST_EQ(a, b)                                                                              \
	do {                                                                                       \
		uint64_t a_ = (uint64_t)(a), b_ = (uint64_t)(b);                                   \
                                                                                                   \
		if (a_ != b_)                                                                      \
			ck_abort_msg("%s == %s: %llu, %llu", #a, #b, (unsigned long long)a_,       \
				(unsigned long long)b_);                                           \
	} while (0)
#define MUST_LT(a, b) MUST((a) < (b))

enum { SESSIONS_MAX = 200, PENDING = 8 };

/* What was seen of a session's current statement before its own record came. */
struct pending {
	struct record_probe probes[PENDING];
	size_t probe_count;
	struct record_result result;
	bool has_result;
};

struct session {
	uint32_t stmts;
	bool open;
	uint64_t txn;
	struct pending pending;
};

struct stream {
	const struct sim_options *options;
	const struct twin_history *truth;
	struct session sessions[SESSIONS_MAX];
	uint64_t seq, at, txns_ended;
	size_t next_op; /* count of truth operations that some record confirmed */
};

static struct value one_value(struct span raw)
{
	struct mp mp = mp_over(raw);
	struct value value = {.type = VALUE_NULL};

	if (raw.ptr)
		MUST(value_read(&mp, &value));
	return value;
}

/* nil is 0; no version has that name. */
static uint64_t number_of(struct span raw)
{
	struct value value = one_value(raw);

	MUST(value.type == VALUE_UINT || value.type == VALUE_NULL);
	return value.type == VALUE_NULL ? 0 : value.u;
}

/* Column v of an image or a row [k, v]. */
static uint64_t image_value(struct span raw, uint64_t key)
{
	struct mp mp = mp_over(raw);

	MUST_EQ(mp_array(&mp), 2);
	MUST_EQ(mp_uint(&mp), key);
	return mp_uint(&mp);
}

static const struct record_probe *probe_of(const struct pending *p, enum probe_kind kind)
{
	for (size_t i = 0; i < p->probe_count; i++)
		if (p->probes[i].probe == kind)
			return &p->probes[i];
	return NULL;
}

static const struct twin_version *version_of(const struct stream *s, uint32_t v)
{
	return &s->truth->versions[v];
}

static uint64_t key_of(const struct stream *s, uint32_t v)
{
	return (uint64_t)s->truth->objects[version_of(s, v)->object].key;
}

static uint64_t name_of(const struct stream *s, uint32_t v)
{
	return version_of(s, v)->exists ? version_of(s, v)->name : 0;
}

/* One row of a READ, PM or VSR probe is this version. */
static void check_row(const struct stream *s, struct mp *rows, uint32_t v)
{
	struct probe_row row;

	MUST(probe_row_read(rows, &row));
	MUST_EQ(number_of(row.key), key_of(s, v));
	MUST_EQ(number_of(row.version), name_of(s, v));
	if (version_of(s, v)->exists)
		MUST_EQ(image_value(row.image, key_of(s, v)), version_of(s, v)->value);
	else
		MUST(!row.image.ptr);
}

static bool satisfies(const struct stream *s, const struct twin_predicate *p, uint32_t v)
{
	int64_t tested = p->by_key ? (int64_t)key_of(s, v) : version_of(s, v)->value;

	return version_of(s, v)->exists && tested >= p->low && tested <= p->high;
}

static void check_predicate(
	const struct stream *s, const struct pending *pending, const struct twin_op *op)
{
	const struct twin_predicate *p = &s->truth->predicates[op->predicate];
	const struct record_probe *pm = probe_of(pending, PROBE_PM);
	const struct record_probe *vsr = probe_of(pending, PROBE_VSR);
	uint32_t matched = 0, existing = 0;
	struct mp pm_rows, vsr_rows;
	char text[80];

	MUST(pm && vsr);
	MUST(pm->exact && vsr->exact);
	MUST_EQ(pm->read_kind, op->read_kind);
	snprintf(text, sizeof(text), "%c between %lld and %lld", p->by_key ? 'k' : 'v',
		(long long)p->low, (long long)p->high);
	MUST(span_eq_str(pm->predicate, text));
	pm_rows = mp_over(pm->rows);
	vsr_rows = mp_over(vsr->rows);
	for (uint32_t i = p->first; i < p->first + p->count; i++) {
		existing += version_of(s, s->truth->set[i])->exists;
		matched += satisfies(s, p, s->truth->set[i]);
	}
	MUST_EQ(mp_array(&pm_rows), matched);
	MUST_EQ(mp_array(&vsr_rows), existing);
	for (uint32_t i = p->first; i < p->first + p->count; i++) {
		if (version_of(s, s->truth->set[i])->exists)
			check_row(s, &vsr_rows, s->truth->set[i]);
		if (satisfies(s, p, s->truth->set[i]))
			check_row(s, &pm_rows, s->truth->set[i]);
	}
}

static uint32_t table_of(const struct stream *s, uint32_t v)
{
	return s->truth->objects[version_of(s, v)->object].table;
}

/* One row of a WRITE probe is this operation, or two where the key changed; how many. */
static size_t check_write(const struct stream *s, const struct record_probe *probe, struct mp *rows,
	const struct twin_op *const *ops)
{
	struct probe_row row;
	uint32_t v = ops[0]->version, old = version_of(s, v)->previous;
	size_t taken = 1;

	MUST(probe_row_read(rows, &row));
	if (row.old_key.ptr) {
		/* The old key's row dies, the new key's is born. */
		MUST(!version_of(s, v)->exists);
		MUST_EQ(number_of(row.old_key), key_of(s, v));
		MUST(ops[1] && ops[1]->kind == TWIN_WRITE);
		v = ops[1]->version;
		taken = 2;
	}
	MUST_EQ(probe->table, table_of(s, v));
	MUST_EQ(number_of(row.key), key_of(s, v));
	MUST_EQ(number_of(row.version), name_of(s, v));
	MUST(row.has_previous);
	MUST_EQ(number_of(row.previous), name_of(s, old));
	if (version_of(s, v)->exists)
		MUST_EQ(image_value(row.image, key_of(s, v)), version_of(s, v)->value);
	if (version_of(s, old)->exists)
		MUST_EQ(image_value(row.old_image, key_of(s, old)), version_of(s, old)->value);
	if (!version_of(s, v)->exists)
		MUST_EQ(row.op, PROBE_OP_DELETE);
	else
		MUST_EQ(row.op, version_of(s, old)->exists ? PROBE_OP_UPDATE : PROBE_OP_INSERT);
	return taken;
}

static uint32_t array_count(struct span raw)
{
	struct mp mp = mp_over(raw);

	return mp_array(&mp);
}

/* The truth's operations of this statement against its probes and rows. */
static void check_stmt(
	struct stream *s, const struct session *session, const struct record_stmt *stmt)
{
	const struct twin_op *ops[300];
	const struct record_probe *reads = probe_of(&session->pending, PROBE_READ);
	const struct record_probe *writes = probe_of(&session->pending, PROBE_WRITE);
	struct mp read_rows = mp_over(reads ? reads->rows : SPAN_LIT("\x90"));
	struct mp write_rows = mp_over(writes ? writes->rows : SPAN_LIT("\x90"));
	struct mp result_rows = mp_over(
		session->pending.has_result ? session->pending.result.rows : SPAN_LIT("\x90"));
	uint32_t read_count = mp_array(&read_rows), write_count = mp_array(&write_rows);
	uint32_t result_count = mp_array(&result_rows);
	size_t count = 0;

	for (size_t i = 0; i < s->truth->op_count; i++) {
		if (s->truth->ops[i].begin_seq != stmt->begin_seq)
			continue;
		MUST_LT(count, 299);
		ops[count++] = &s->truth->ops[i];
	}
	ops[count] = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct twin_op *op = ops[i];

		MUST_EQ(op->end_seq, stmt->seq);
		MUST_EQ(s->truth->txns[op->txn].number, stmt->txn);
		if (op->kind == TWIN_PREDICATE) {
			check_predicate(s, &session->pending, op);
		} else if (op->kind == TWIN_READ) {
			MUST(read_count-- > 0);
			MUST(reads->exact);
			MUST_EQ(reads->read_kind, op->read_kind);
			check_row(s, &read_rows, op->version);
			if (version_of(s, op->version)->exists && session->pending.has_result) {
				MUST(result_count-- > 0);
				MUST_EQ(image_value(mp_raw(&result_rows), key_of(s, op->version)),
					version_of(s, op->version)->value);
			}
		} else {
			MUST(write_count-- > 0);
			MUST(writes->exact);
			i += check_write(s, writes, &write_rows, ops + i) - 1;
		}
	}
	MUST_EQ(read_count + write_count + result_count, 0);
	if (writes)
		MUST_EQ(stmt->affected, array_count(writes->rows));
	s->next_op += count;
}

static void take_order(struct stream *s, uint64_t seq, uint64_t at)
{
	MUST_LT(s->seq, seq);
	MUST_LT(s->at, at);
	s->seq = seq;
	s->at = at;
}

static struct session *session_of(struct stream *s, uint32_t number)
{
	MUST_LT(number, SESSIONS_MAX);
	MUST(s->sessions[number].open);
	return &s->sessions[number];
}

static void take_txn(struct stream *s, const struct record_txn *r)
{
	struct session *session = session_of(s, r->session);
	const struct twin_txn *t = NULL;

	take_order(s, r->seq, r->at);
	for (size_t i = 0; i < s->truth->txn_count; i++)
		if (s->truth->txns[i].number == r->txn)
			t = &s->truth->txns[i];
	MUST(t);
	MUST_EQ(r->number, session->stmts);
	MUST_EQ(r->level, t->level);
	MUST_EQ(r->begin_seq, t->begin_seq);
	if (r->event == TXN_BEGIN) {
		MUST_EQ(session->txn, 0);
		session->txn = r->txn;
	} else if (r->event == TXN_END) {
		MUST(session->txn == r->txn || (r->autocommit && !session->txn));
		MUST_EQ(r->outcome, t->outcome);
		if (r->outcome != TXN_UNKNOWN)
			MUST_EQ(r->seq, t->end_seq + 1);
		session->txn = 0;
		s->txns_ended++;
	}
}

static void take_stmt(struct stream *s, const struct record_stmt *r)
{
	struct session *session = session_of(s, r->session);

	take_order(s, r->seq, r->at);
	MUST_EQ(r->number, ++session->stmts);
	MUST_LT(r->begin_seq, r->seq);
	MUST_LT(r->begin, r->at);
	MUST_EQ(r->result_sets, session->pending.has_result);
	check_stmt(s, session, r);
	memset(&session->pending, 0, sizeof(session->pending));
}

static void take_rows(struct stream *s, const struct record_rows *r)
{
	bool final = span_eq_str(r->moment, "final");
	struct mp rows = mp_over(r->rows), versions = mp_over(r->versions);
	uint32_t count = mp_array(&rows);

	take_order(s, r->seq, r->at);
	MUST_EQ(mp_array(&versions), count);
	for (size_t i = 0; i < s->truth->object_count; i++) {
		const struct twin_object *o = &s->truth->objects[i];
		uint64_t expected = final ? name_of(s, o->final) : 0, found = 0;
		struct mp all = mp_over(r->rows), names = mp_over(r->versions);

		for (uint32_t v = 0; v < s->truth->version_count && !final; v++)
			if (version_of(s, v)->initial && version_of(s, v)->object == i)
				expected = version_of(s, v)->name;
		if (o->table != r->table)
			continue;
		(void)mp_array(&all);
		(void)mp_array(&names);
		for (uint32_t k = 0; k < count; k++) {
			MUST_EQ(mp_array(&all), 2);
			uint64_t key = mp_uint(&all), value = mp_uint(&all), name = mp_uint(&names);

			(void)value;
			if (key == (uint64_t)o->key)
				found = name;
		}
		MUST_EQ(found, expected);
	}
}

static void take_record(struct stream *s, uint32_t kind, uint32_t left, struct mp *mp)
{
	union {
		struct record_server server;
		struct record_schema schema;
		struct record_rows rows;
		struct record_session session;
		struct record_stmt stmt;
		struct record_result result;
		struct record_probe probe;
		struct record_txn txn;
	} r;

	switch (kind) {
	case RECORD_SERVER:
		MUST(record_server_read(mp, left, &r.server));
		take_order(s, r.server.seq, r.server.at);
		break;
	case RECORD_SCHEMA:
		MUST(record_schema_read(mp, left, &r.schema));
		take_order(s, r.schema.seq, r.schema.at);
		break;
	case RECORD_ROWS:
		MUST(record_rows_read(mp, left, &r.rows));
		take_rows(s, &r.rows);
		break;
	case RECORD_SESSION:
		MUST(record_session_read(mp, left, &r.session));
		take_order(s, r.session.seq, r.session.at);
		MUST_LT(r.session.session, SESSIONS_MAX);
		s->sessions[r.session.session].open = r.session.event == SESSION_OPENED;
		break;
	case RECORD_STMT:
		MUST(record_stmt_read(mp, left, &r.stmt));
		take_stmt(s, &r.stmt);
		break;
	case RECORD_RESULT: {
		MUST(record_result_read(mp, left, &r.result));
		take_order(s, r.result.seq, r.result.at);
		struct session *session = session_of(s, r.result.session);

		MUST_EQ(r.result.number, session->stmts + 1);
		MUST_EQ(r.result.total, array_count(r.result.rows));
		session->pending.result = r.result;
		session->pending.has_result = true;
		break;
	}
	case RECORD_PROBE: {
		MUST(record_probe_read(mp, left, &r.probe));
		take_order(s, r.probe.seq, r.probe.at);
		struct session *session = session_of(s, r.probe.session);

		MUST_EQ(r.probe.number, session->stmts + 1);
		MUST_LT(session->pending.probe_count, PENDING);
		session->pending.probes[session->pending.probe_count++] = r.probe;
		break;
	}
	case RECORD_TXN:
		MUST(record_txn_read(mp, left, &r.txn));
		take_txn(s, &r.txn);
		break;
	default:
		ck_abort_msg("a record of kind %u", kind);
	}
}

static void check_stream(
	const struct sim_options *options, const struct twin_history *truth, struct span records)
{
	static struct stream s;
	struct mp mp = mp_over(records);
	uint32_t kind, left;

	memset(&s, 0, sizeof(s));
	s.options = options;
	s.truth = truth;
	while (mp_left(&mp)) {
		MUST(record_begin(&mp, &kind, &left));
		take_record(&s, kind, left, &mp);
	}
	MUST_EQ(s.next_op, truth->op_count);
	MUST_EQ(s.txns_ended, truth->txn_count);
	for (int i = 0; i < SESSIONS_MAX; i++)
		MUST(!s.sessions[i].open);
}

static void run_options(struct sim_options *o)
{
	struct twin_history truth = TWIN_HISTORY_INIT;
	struct buf records = BUF_INIT;
	struct sim_sink sink = sim_sink_memory(&records);
	struct err err;

	ck_assert_msg(sim_run(o, &sink, &truth, NULL, NULL, &err), "%s", err.text);
	check_stream(o, &truth, buf_span(&records));
	twin_history_release(&truth);
	buf_release(&records);
}

START_TEST(records_say_what_happened)
{
	for (int d = 0; d < SIM_DISCIPLINE_COUNT; d++) {
		for (uint64_t seed = 1; seed <= 40; seed++) {
			struct sim_options o;

			sim_defaults(&o);
			o.discipline = (enum sim_discipline)d;
			o.seed = seed;
			o.transactions = 60;
			o.keys = 10 + (uint32_t)seed;
			o.tables = 1 + seed % 3;
			o.predicate_keys = seed % 2 ? 5 : 0;
			o.predicate = 0.15;
			o.pk_update = 0.1;
			o.savepoint = 0.1;
			o.unknown = 0.05;
			o.lock_timeout_ns = seed % 4 ? 0 : 20000;
			o.values = seed % 5 == 0 ? 0 : 50;
			run_options(&o);
		}
	}
}
END_TEST

START_TEST(records_of_plants_say_what_happened)
{
	for (int d = 0; d < SIM_DISCIPLINE_COUNT; d++) {
		for (int plant = 0; plant < SIM_PLANT_KINDS; plant++) {
			struct sim_options o;

			sim_defaults(&o);
			o.discipline = (enum sim_discipline)d;
			o.seed = (uint64_t)plant;
			o.transactions = 20;
			o.plants[plant] = 3;
			o.tangle = plant % 2;
			run_options(&o);
		}
	}
}
END_TEST

/* What a SELECT of its own says is marked exact only where it cannot be wrong. */
START_TEST(exact_probes_are_right)
{
	for (int d = 0; d < SIM_DISCIPLINE_COUNT; d++) {
		struct twin_history truth = TWIN_HISTORY_INIT;
		struct buf records = BUF_INIT;
		struct sim_sink sink = sim_sink_memory(&records);
		unsigned exact = 0, inexact = 0;
		struct sim_options o;
		struct mp mp;
		struct err err;
		uint32_t kind, left;

		sim_defaults(&o);
		o.discipline = (enum sim_discipline)d;
		o.probes = SIM_PROBES_SELECT;
		o.transactions = 300;
		o.keys = 20;
		ck_assert(sim_run(&o, &sink, &truth, NULL, NULL, &err));
		mp = mp_over(buf_span(&records));
		while (mp_left(&mp)) {
			struct record_probe probe;

			MUST(record_begin(&mp, &kind, &left));
			if (kind != RECORD_PROBE) {
				MUST(record_skip_fields(&mp, left));
				continue;
			}
			MUST(record_probe_read(&mp, left, &probe));
			MUST(probe.probe != PROBE_READ && probe.probe != PROBE_WRITE);
			exact += probe.exact;
			inexact += !probe.exact;
			/* At these levels nothing keeps others away between the two. */
			if (d == SIM_READ_COMMITTED || d == SIM_READ_UNCOMMITTED)
				ck_assert(!probe.exact || probe.probe == PROBE_AWR);
			/* A plain SELECT reads the snapshot, the UPDATE the newest version. */
			if (d == SIM_REPEATABLE_READ && probe.probe == PROBE_BWR)
				ck_assert(!probe.exact);
		}
		ck_assert_uint_gt(exact, 0);
		if (d == SIM_SERIALIZABLE || d == SIM_SNAPSHOT)
			ck_assert_uint_eq(inexact, 0);
		else
			ck_assert_uint_gt(inexact, 0);
		twin_history_release(&truth);
		buf_release(&records);
	}
}
END_TEST

/* Through the writer and the reader, the same records come out. */
START_TEST(a_file_holds_the_same_records)
{
	char path[] = "/tmp/isosim-test-XXXXXX";
	struct buf records = BUF_INIT, from_file = BUF_INIT;
	struct sim_sink sink = sim_sink_memory(&records);
	struct trace_reader_options reading = {0};
	struct trace_reader *reader;
	struct trace_item item;
	struct trace_totals totals;
	struct sim_options o;
	struct err err;
	enum trace_next next;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	sim_defaults(&o);
	o.discipline = SIM_SNAPSHOT;
	o.plants[SIM_PLANT_G_SINGLE] = 2;
	ck_assert(sim_run(&o, &sink, NULL, NULL, NULL, &err));
	ck_assert_msg(sim_write(&o, path, 1, NULL, NULL, NULL, &err), "%s", err.text);
	reader = trace_reader_open(path, &reading, &err);
	ck_assert_msg(reader != NULL, "%s", err.text);
	ck_assert_uint_eq(trace_reader_header(reader)->clock_mono_ns, SIM_CLOCK_START_NS);
	while ((next = trace_next_item(reader, &item, &err)) == TRACE_NEXT_OK)
		if (item.kind != RECORD_FOOTER)
			buf_add_span(&from_file, item.whole);
	ck_assert_int_eq(next, TRACE_NEXT_END);
	trace_reader_totals(reader, &totals);
	ck_assert(totals.clean);
	ck_assert(span_eq(buf_span(&records), buf_span(&from_file)));
	trace_reader_close(reader);
	buf_release(&records);
	buf_release(&from_file);
	remove(path);
	close(fd);
}
END_TEST

UNIT_MAIN("sim_records", records_say_what_happened, records_of_plants_say_what_happened,
	exact_probes_are_right, a_file_holds_the_same_records)
