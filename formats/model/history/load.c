/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a trace into a history.  history.md has the rules by number.
 *
 * The records come decoded (decode.h).  The rows of READ and WRITE probes are most of them; each
 * costs two or three lookups in tables far larger than the cache, so they are gathered in small
 * batches: the slots of a whole batch are fetched before the first one is looked at.
 */
#include "model/history/load.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/interrupt.h"
#include "base/mem.h"
#include "model/history/build.h"
#include "model/history/decode.h"
#include "model/history/foreign_key_cascade.h"
#include "model/history/probe_group.h"
#include "model/history/image_chain.h"
#include "model/history/logged.h"
#include "model/history/read_ahead.h"
#include "model/history/source.h"
#include "model/history/table_contents.h"
#include "trace/doubts.h"

enum { BATCH_ROWS = 64, GROUP_ROWS = 16, TEXTS_AHEAD = 8 };

/* A probe row on its way into the history. */
struct batch_row {
	struct history_op op; /* object and version not yet filled */
	uint32_t table;
	uint32_t previous; /* version; NONE: nil, or not said */
	struct build_key key;
	uint64_t name, previous_name;
	bool key_ready;    /* key is filled; else from row.key */
	bool has_name;     /* version is an integer: name */
	bool has_previous; /* previous is an integer of this object: previous_name */
	bool has_version;  /* it is not nil */
	/* key, version, previous and old_key only where key_ready is false. */
	struct probe_row row;
};

struct loader {
	struct history_build build;
	struct history *history;
	const struct history_load_options *options;
	struct contents contents;
	uint32_t block;
	struct batch_row batch[BATCH_ROWS];
	unsigned batch_count;
	bool seq_known, context;
	bool expected;       /* room for the whole trace was made */
	struct pages *pages; /* for it; NULL: none */
	uint64_t lost_records, removed_records;
	struct doubts doubts;
	struct image_chain chain;
	struct logged *logged; /* writes are told by the binary log, beside the sessions; NULL: they are not */
};

/* ---- operations from probe rows ---- */

/* A version by its encoded name, in a known object; NONE for nil. */
static uint32_t version_named(struct loader *loader, uint32_t object, struct span name)
{
	return name.ptr ? build_version_at(&loader->build, object, name) : HISTORY_NONE;
}

static void row_image(struct loader *loader, uint32_t version, struct span image)
{
	if (image.ptr && version < BUILD_NIL && loader->contents.images)
		build_image(&loader->build, version, image);
}

static bool is_rekey(const struct probe_row *row)
{
	return row->old_key.ptr && !span_eq(row->old_key, row->key);
}

static void row_delete(struct loader *loader, const struct batch_row *b)
{
	struct history_op op = b->op;
	uint32_t previous = b->previous;

	if (loader->chain.on)
		previous = image_chain_previous(
			&loader->chain, &loader->build, op.object, b->row.old_image, false);
	if (op.version == HISTORY_NONE)
		op.version = build_dead(&loader->build, op.object);
	else
		loader->history->versions[op.version].flags |= HISTORY_VERSION_DEAD;
	row_image(loader, previous, b->row.old_image);
	build_write(&loader->build, &op, previous);
	if (loader->chain.on)
		image_chain_left(&loader->chain, op.object, op.version);
}

/* Rule 7: the old object dies, the new one is born, by one write. */
static void row_rekey(struct loader *loader, const struct batch_row *b)
{
	struct history_op old = b->op;
	uint32_t previous;

	old.object = build_object_at(&loader->build, b->table, b->row.old_key);
	previous = loader->chain.on ? image_chain_previous(&loader->chain, &loader->build, old.object,
					      b->row.old_image, false)
				    : version_named(loader, old.object, b->row.previous);
	row_image(loader, previous, b->row.old_image);
	old.version = build_dead(&loader->build, old.object);
	loader->history->versions[old.version].flags |= HISTORY_VERSION_MOVED;
	build_write(&loader->build, &old, previous);
	row_image(loader, b->op.version, b->row.image);
	build_write(&loader->build, &b->op, BUILD_NIL);
	if (loader->chain.on) {
		image_chain_left(&loader->chain, old.object, old.version);
		image_chain_left(&loader->chain, b->op.object, b->op.version);
	}
}

static void row_write(struct loader *loader, const struct batch_row *b)
{
	const struct probe_row *row = &b->row;
	uint32_t previous = b->previous;

	if (row->op == PROBE_OP_DELETE || (row->op == PROBE_OP_NONE && !b->has_version)) {
		row_delete(loader, b);
		return;
	}
	if (!b->has_version) {
		/* A row without a version: no transaction can be known to have read it. */
		loader->history->counts.rows_skipped++;
		return;
	}
	if (is_rekey(row)) {
		row_rekey(loader, b);
		return;
	}
	if (loader->chain.on) {
		previous = image_chain_previous(&loader->chain, &loader->build, b->op.object, row->old_image,
			row->op == PROBE_OP_INSERT);
		image_chain_left(&loader->chain, b->op.object, b->op.version);
	}
	row_image(loader, b->op.version, row->image);
	if (previous < BUILD_NIL)
		row_image(loader, previous, row->old_image);
	if (previous == b->op.version) {
		/* Rule 5: an UPDATE that changed nothing only looked. */
		build_read(&loader->build, &b->op);
		return;
	}
	/* Rule 6: nil is unborn or dead for an INSERT; an UPDATE of a row without a version is an
	 * UPDATE of something not known. */
	if (previous == HISTORY_NONE && row->op != PROBE_OP_UPDATE &&
		(row->has_previous || row->op == PROBE_OP_INSERT))
		previous = BUILD_NIL;
	build_write(&loader->build, &b->op, previous);
}

static void row_read(struct loader *loader, struct batch_row *b)
{
	if (b->op.version == HISTORY_NONE)
		b->op.flags |= HISTORY_OP_ABSENT;
	else
		row_image(loader, b->op.version, b->row.image);
	build_read(&loader->build, &b->op);
}

/* ---- batches ---- */

static void batch_objects(struct loader *loader)
{
	struct history_build *build = &loader->build;

	for (unsigned i = 0; i < loader->batch_count; i++) {
		struct batch_row *b = &loader->batch[i];

		b->op.object = b->key_ready ? build_object_find(build, &b->key)
					    : build_object_at(build, b->table, b->row.key);
		__builtin_prefetch(&build->states[b->op.object], 1);
	}
	for (unsigned i = 0; i < loader->batch_count; i++) {
		const struct batch_row *b = &loader->batch[i];

		if (b->has_previous)
			build_version_prefetch(build, b->op.object, b->previous_name);
		else if (b->has_version)
			build_version_prefetch(build, b->op.object, b->name);
	}
	for (unsigned i = 0; i < loader->batch_count; i++) {
		const struct batch_row *b = &loader->batch[i];

		if (b->has_previous)
			build_version_prefetch_older(build, b->op.object, b->previous_name);
		else if (b->has_version)
			build_version_prefetch_older(build, b->op.object, b->name);
	}
}

/* A version by a name that is an integer.  Its image is wanted no more where it is known. */
static uint32_t version_numbered(
	struct loader *loader, uint32_t object, uint64_t name, struct span *image)
{
	uint32_t version = build_version_whole(&loader->build, object, name);

	if (version == HISTORY_NONE)
		return build_version_int(&loader->build, object, name);
	*image = SPAN_NONE;
	return version;
}

static void batch_versions(struct loader *loader)
{
	for (unsigned i = 0; i < loader->batch_count; i++) {
		struct batch_row *b = &loader->batch[i];
		struct probe_row *row = &b->row;

		/* What was overwritten is looked for while it is the newest; where that does not
		 * tell, after the new one: ids are given out in this order. */
		b->previous = HISTORY_NONE;
		if (b->has_previous)
			b->previous =
				build_version_whole(&loader->build, b->op.object, b->previous_name);
		if (b->previous != HISTORY_NONE)
			row->old_image = SPAN_NONE;
		b->op.version =
			b->has_name ? version_numbered(loader, b->op.object, b->name, &row->image)
				    : version_named(loader, b->op.object, row->version);
		if (b->previous != HISTORY_NONE)
			continue;
		if (b->has_previous)
			b->previous =
				build_version_int(&loader->build, b->op.object, b->previous_name);
		else if (row->previous.ptr && !is_rekey(row))
			b->previous = version_named(loader, b->op.object, row->previous);
	}
}

static void batch_flush(struct loader *loader)
{
	batch_objects(loader);
	batch_versions(loader);
	for (unsigned i = 0; i < loader->batch_count; i++) {
		struct batch_row *b = &loader->batch[i];

		if (b->op.probe == PROBE_WRITE)
			row_write(loader, b);
		else
			row_read(loader, b);
	}
	loader->batch_count = 0;
}

/* An ordinary row: integers for versions, a short key that stays the same. */
ALWAYS_INLINE void batch_plain(
	struct loader *loader, struct batch_row *b, const struct decoded_row *row)
{
	build_key_again(b->table, &row->key, &b->key);
	build_prefetch(&loader->build.objects, b->key.hash);
	b->key_ready = true;
	b->name = row->name;
	b->previous_name = row->previous;
	b->has_version = b->has_name = row->flags & DECODED_ROW_NAME;
	b->has_previous = row->flags & DECODED_ROW_PREVIOUS;
	b->row.version = b->row.previous = b->row.old_key = SPAN_NONE;
	b->row.image = span_of(row->image, row->image_len);
	b->row.old_image = span_of(row->old_image, row->old_image_len);
	b->row.op = (enum probe_op)row->op;
	b->row.has_previous = row->flags & DECODED_ROW_SAYS;
}

/* Any other: looked up without fetching ahead, since long keys are compared in the pool. */
static void batch_long(struct batch_row *b, const struct decoded_row *row, const char *end)
{
	struct mp mp = mp_over(span_of(row->image, (size_t)(end - row->image)));
	bool ok = decode_row(&mp, &b->row);

	CHECK(ok);
	b->key_ready = b->has_name = b->has_previous = false;
	b->has_version = b->row.version.ptr != NULL;
}

static void batch_add(struct loader *loader, const struct history_op *op, uint32_t table,
	const struct decoded_row *row, const char *end)
{
	struct batch_row *b = &loader->batch[loader->batch_count];

	/* One by one: they were just written, and the processor would wait for them to be in memory
	 * before it could copy them together. */
	b->op.txn = op->txn;
	b->op.stmt = op->stmt;
	b->op.read_kind = op->read_kind;
	b->op.flags = op->flags;
	b->op.probe = op->probe;
	b->table = table;
	if (UNLIKELY(row->flags & DECODED_ROW_LONG))
		batch_long(b, row, end);
	else
		batch_plain(loader, b, row);
	if (++loader->batch_count == BATCH_ROWS)
		batch_flush(loader);
}

/* ---- probes ---- */

/* Rows of a probe that waits for others, as many as are looked up together. */
struct group_batch {
	struct probe_row rows[GROUP_ROWS];
	struct build_key keys[GROUP_ROWS];
	bool key_ready[GROUP_ROWS];
	uint32_t objects[GROUP_ROWS];
	unsigned count;
};

/* Fetches ahead as batches do. */
static void group_batch_add(
	struct loader *loader, struct group *group, uint32_t table, struct group_batch *batch)
{
	struct history_build *build = &loader->build;

	for (unsigned i = 0; i < batch->count; i++) {
		batch->objects[i] = batch->key_ready[i]
					    ? build_object_find(build, &batch->keys[i])
					    : build_object_at(build, table, batch->rows[i].key);
		__builtin_prefetch(&build->states[batch->objects[i]], 1);
	}
	for (unsigned i = 0; i < batch->count; i++) {
		uint64_t name;

		if (batch->rows[i].version.ptr && build_name_int(batch->rows[i].version, &name))
			build_version_prefetch(build, batch->objects[i], name);
	}
	for (unsigned i = 0; i < batch->count; i++) {
		struct probe_row *row = &batch->rows[i];
		struct group_row to = {.object = batch->objects[i], .previous = HISTORY_NONE};
		uint64_t name;

		to.version = row->version.ptr && build_name_int(row->version, &name)
				     ? version_numbered(loader, to.object, name, &row->image)
				     : version_named(loader, to.object, row->version);
		if (row->previous.ptr)
			to.previous = version_named(loader, to.object, row->previous);
		else if (row->has_previous || row->op == PROBE_OP_INSERT)
			to.previous = BUILD_NIL;
		row_image(loader, to.version, row->image);
		group_row_add(group, build, &to);
	}
	batch->count = 0;
}

/* Probes that wait for others of their statement; READ comes here for its predicate only. */
static void probe_group(struct loader *loader, const struct group_probe *from, uint32_t session,
	uint32_t number, struct mp mp)
{
	struct build_session *state = &loader->build.sessions[session];
	uint32_t count = mp_array(&mp);
	struct group_probe *probe;
	struct group_batch batch;
	struct group *group;

	if (!state->group)
		state->group = mem_zero(1, sizeof(struct group));
	group = state->group;
	if (group->number != number && group->number)
		group_finish(group, &loader->build);
	group->number = number;
	probe = group_probe_add(group);
	if (!probe) {
		loader->history->counts.records_skipped++;
		return;
	}
	probe->op = from->op;
	probe->table = from->table;
	probe->text = from->text;
	batch.count = 0;
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct probe_row *row = &batch.rows[batch.count];
		struct build_key *key = &batch.keys[batch.count];

		if (!decode_row(&mp, row)) {
			loader->history->counts.rows_skipped++;
			continue;
		}
		batch.key_ready[batch.count] = build_key_short(from->table, row->key, key);
		if (batch.key_ready[batch.count])
			build_prefetch(&loader->build.objects, key->hash);
		if (++batch.count == GROUP_ROWS)
			group_batch_add(loader, group, from->table, &batch);
	}
	group_batch_add(loader, group, from->table, &batch);
}

/* A probe, with its decoded rows. */
static void take_probe(
	struct loader *loader, const struct decoded_probe *probe, const struct decoded_row *rows)
{
	struct history_build *build = &loader->build;
	struct history_counts *counts = &loader->history->counts;
	struct history_op op = {.object = HISTORY_NONE, .version = HISTORY_NONE};
	uint32_t session, table;
	struct history_stmt *stmt;

	counts->probes++;
	counts->inexact_probes += !probe->exact;
	if (probe->probe == PROBE_BPM || probe->probe == PROBE_APM) {
		counts->predicate_probes_skipped++;
		return;
	}
	session = build_session_at(build, probe->session);
	table = build_table_at(build, probe->table);
	if (session == HISTORY_NONE || table == HISTORY_NONE || !probe->sound) {
		counts->records_skipped++;
		return;
	}
	op.txn = build_txn_at(build, session, probe->txn, probe->seq);
	op.stmt = build_stmt_at(build, session, probe->number);
	op.probe = probe->probe;
	op.read_kind = probe->read_kind <= PROBE_READ_DIRTY ? probe->read_kind : PROBE_READ_UNKNOWN;
	op.flags = probe->exact ? HISTORY_OP_EXACT : 0;
	stmt = &loader->history->stmts[op.stmt];
	stmt->flags |= HISTORY_STMT_PROBE;
	if (probe->probe == PROBE_BWR || probe->probe == PROBE_AWR || probe->probe == PROBE_WRITE)
		stmt->flags |= HISTORY_STMT_WRITES;
	if (!probe->exact && (probe->probe == PROBE_AWR || probe->probe == PROBE_WRITE)) {
		counts->unseen_writes++;
		stmt->flags |= HISTORY_STMT_UNSEEN;
		if (probe->predicate.ptr && !probe->row_count)
			build_unseen(build, table,
				build_text(build, probe->predicate, probe->predicate_hash));
		else
			loader->history->tables[table].unseen_writes = true;
	}
	if (UNLIKELY(probe->probe < PROBE_READ ||
		     (probe->probe == PROBE_READ && probe->predicate.ptr))) {
		struct group_probe from = {.op = op, .table = table};

		batch_flush(loader);
		if (probe->predicate.ptr)
			from.text = build_text(build, probe->predicate, probe->predicate_hash);
		probe_group(loader, &from, session, probe->number, mp_over(probe->rows));
	}
	for (uint32_t i = 0; i < probe->row_count; i++)
		batch_add(loader, &op, table, &rows[i], probe->rows.ptr + probe->rows.len);
}

/* ---- statements and transactions ---- */

/* Rule 18, where the recorder does not tell: take_end takes it back where it does. */
static void note_mix(struct loader *loader, uint32_t session, uint32_t txn, enum decoded_mix mix)
{
	struct build_session *state = &loader->build.sessions[session];

	if (mix == DECODED_MIX_PREPARES)
		state->prepares_mixing = true;
	else if (txn != HISTORY_NONE && (mix == DECODED_MIX_YES || state->prepares_mixing))
		loader->history->txns[txn].flags |= HISTORY_TXN_MIXED;
}

static void take_stmt(struct loader *loader, const struct decoded_stmt *record)
{
	struct history_build *build = &loader->build;
	struct history_stmt *stmt;
	uint32_t session = build_session_at(build, record->session);
	uint32_t txn, id;

	if (session == HISTORY_NONE || record->number == 0) {
		loader->history->counts.records_skipped++;
		return;
	}
	txn = build_txn_at(
		build, session, record->txn, record->begin_seq ? record->begin_seq : record->seq);
	id = build_stmt_at(build, session, record->number);
	stmt = &loader->history->stmts[id];
	if (stmt->flags & HISTORY_STMT_RECORD) {
		/* A prepared statement that a later segment repeats, or a forgery. */
		loader->history->counts.records_skipped++;
		return;
	}
	stmt->txn = txn;
	stmt->begin_seq = build_seq(build, record->begin_seq, 0);
	stmt->end_seq = build_seq(build, record->seq, HISTORY_NONE);
	stmt->block = loader->block;
	stmt->index = (uint16_t)(record->index < UINT16_MAX ? record->index : UINT16_MAX);
	stmt->error = record->error;
	stmt->flags |= record->flags & 0xffu;
	if (UNLIKELY(record->mix != DECODED_MIX_NO))
		note_mix(loader, session, txn, (enum decoded_mix)record->mix);
}

static void take_begin(struct loader *loader, uint32_t id, const struct record_txn *record)
{
	struct history_txn *txn = &loader->history->txns[id];

	if (!(txn->flags & HISTORY_TXN_NO_BEGIN)) {
		loader->history->counts.records_skipped++;
		return;
	}
	txn->flags &= (uint16_t)~HISTORY_TXN_NO_BEGIN;
	txn->begin_seq = build_seq(&loader->build, record->seq, 0);
	txn->begin_ns = record->at;
	txn->level = record->level <= LEVEL_SERIALIZABLE ? record->level : LEVEL_UNKNOWN;
	if (record->read_only)
		txn->flags |= HISTORY_TXN_READ_ONLY;
	if (record->consistent_snapshot)
		txn->flags |= HISTORY_TXN_SNAPSHOT;
}

/* The recorder's word for an end inside a CALL. */
#define ENDED_INSIDE "ended inside the statement"

static void take_end(struct loader *loader, uint32_t id, const struct record_txn *record)
{
	struct history_txn *txn = &loader->history->txns[id];

	if (!(txn->flags & HISTORY_TXN_NO_END)) {
		loader->history->counts.records_skipped++;
		return;
	}
	txn->flags &= (uint16_t)~HISTORY_TXN_NO_END;
	txn->end_seq = build_seq(&loader->build, record->seq, HISTORY_NONE);
	txn->end_ns = record->at;
	txn->outcome = record->outcome <= TXN_ABORTED ? record->outcome : TXN_UNKNOWN;
	if (txn->level == LEVEL_UNKNOWN && record->level <= LEVEL_SERIALIZABLE)
		txn->level = record->level;
	if (record->begin_seq) {
		uint32_t begin = build_seq(&loader->build, record->begin_seq, 0);

		/* The earlier of two says: nothing may be concluded from a begin too late. */
		if ((txn->flags & HISTORY_TXN_NO_BEGIN) || begin < txn->begin_seq) {
			txn->begin_seq = begin;
			txn->begin_ns = record->begin;
		}
		txn->flags &= (uint16_t)~HISTORY_TXN_NO_BEGIN;
	}
	if (record->read_only)
		txn->flags |= HISTORY_TXN_READ_ONLY;
	if (record->consistent_snapshot)
		txn->flags |= HISTORY_TXN_SNAPSHOT;
	if (record->autocommit)
		txn->flags |= HISTORY_TXN_AUTOCOMMIT;
	if (record->mixed == TXN_MIXED_YES || span_eq_str(record->reason, ENDED_INSIDE))
		txn->flags |= HISTORY_TXN_MIXED;
	else if (record->mixed == TXN_MIXED_NO || record->autocommit)
		txn->flags &= (uint16_t)~HISTORY_TXN_MIXED;
	if (record->gtid.ptr && record->gtid.len)
		txn->gtid = strtab_add(&loader->history->strings, record->gtid);
}

struct savepoint_event {
	uint64_t txn;
	enum txn_event event;
	uint32_t number;
	struct span name;
};

/* Rule 9.  As the server has it: SAVEPOINT of a name that exists replaces that one alone; ROLLBACK
 * TO forgets the later ones, RELEASE it and the later ones (sql/transaction.cc). */
static void take_savepoint(
	struct loader *loader, uint32_t session, uint32_t txn, struct savepoint_event record)
{
	struct build_session *state = &loader->build.sessions[session];
	uint32_t name = strtab_add(&loader->history->strings, record.name);
	size_t i;

	if (state->savepoint_txn != record.txn) {
		state->savepoint_txn = record.txn;
		state->savepoint_count = 0;
	}
	for (i = state->savepoint_count; i > 0 && state->savepoints[i - 1].name != name; i--)
		;
	if (record.event == TXN_SAVEPOINT) {
		if (i > 0) {
			memmove(&state->savepoints[i - 1], &state->savepoints[i],
				(state->savepoint_count - i) * sizeof(*state->savepoints));
			state->savepoint_count--;
		}
		if (state->savepoint_count == HISTORY_SAVEPOINTS_MAX) {
			loader->history->counts.records_skipped++;
			return;
		}
		MEM_RESERVE(
			state->savepoints, state->savepoint_count + 1, state->savepoint_capacity);
		state->savepoints[state->savepoint_count++] =
			(struct build_savepoint){name, record.number};
		return;
	}
	if (i == 0) {
		loader->history->counts.records_skipped++;
		return;
	}
	if (record.event == TXN_ROLLBACK_TO) {
		build_undo_between(
			&loader->build, txn, state->savepoints[i - 1].number, record.number);
		state->savepoint_count = i;
	} else {
		state->savepoint_count = i - 1;
	}
}

static void take_txn(struct loader *loader, const struct record_txn *record)
{
	uint32_t session = build_session_at(&loader->build, record->session);
	uint32_t txn;

	if (session == HISTORY_NONE || record->txn == 0 || record->event > TXN_RELEASE) {
		loader->history->counts.records_skipped++;
		return;
	}
	txn = build_txn_at(&loader->build, session, record->txn, record->seq);
	if (record->event == TXN_BEGIN) {
		take_begin(loader, txn, record);
	} else if (record->event == TXN_END) {
		take_end(loader, txn, record);
	} else {
		take_savepoint(loader, session, txn,
			(struct savepoint_event){record->txn, (enum txn_event)record->event,
				record->number, record->name});
	}
}

static bool take_session(struct loader *loader, struct mp *mp, uint32_t left)
{
	struct history *history = loader->history;
	struct record_session record;
	struct history_session *session;
	uint32_t id;

	if (!record_session_read(mp, left, &record))
		return false;
	id = build_session_at(&loader->build, record.session);
	if (id == HISTORY_NONE) {
		history->counts.records_skipped++;
		return true;
	}
	session = &history->sessions[id];
	if (record.node.ptr && !session->node)
		session->node = strtab_add(&history->strings, record.node);
	if (record.user.ptr && !session->user)
		session->user = strtab_add(&history->strings, record.user);
	if (record.thread)
		session->thread = record.thread;
	/* Later segments repeat that it was opened, without a time. */
	if ((record.event == SESSION_OPENED ||
		    (record.event == SESSION_CHANGED && !span_eq_str(record.reason, "database"))) &&
		record.at > loader->build.sessions[id].started)
		loader->build.sessions[id].started = record.at;
	session->closed |= record.event == SESSION_CLOSED;
	session->opaque |= record.event == SESSION_OPAQUE;
	return true;
}

/* What tells the writes: a name of EVIDENCE_VARIABLE; empty: probes. */
static struct span evidence_of(const struct record_server *server)
{
	struct mp mp = mp_over(server->variables);
	uint32_t count = mp_map(&mp);

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct value name, value;

		if (!value_read(&mp, &name) || !value_read(&mp, &value))
			break;
		if (span_eq_str(name.bytes, EVIDENCE_VARIABLE))
			return value.bytes;
	}
	return SPAN_LIT("");
}

/* The server's record says so, but may stand behind the first record of the log. */
static void begin_logged(struct loader *loader)
{
	if (loader->logged)
		return;
	loader->logged = logged_new(&loader->build);
	loader->chain.on = true;
	loader->contents.images = true; /* they tell reads from each other */
}

static bool take_server(struct loader *loader, struct mp *mp, uint32_t left, struct span whole)
{
	struct history *history = loader->history;
	struct record_server record;

	if (!record_server_read(mp, left, &record))
		return false;
	if (!loader->build.server) {
		loader->build.server = build_bytes(&loader->build, whole);
		history->server_version = strtab_add(&history->strings, record.version);
		history->flavour = strtab_add(&history->strings, record.flavour);
		struct span evidence = evidence_of(&record);

		loader->chain.on |= span_eq_str(evidence, EVIDENCE_BINLOG);
		if (span_eq_str(evidence, EVIDENCE_LOGGED))
			begin_logged(loader);
	}
	return true;
}

static bool take_schema(struct loader *loader, struct mp *mp, uint32_t left, struct span whole)
{
	struct history *history = loader->history;
	struct record_schema record;
	uint32_t table;

	if (!record_schema_read(mp, left, &record))
		return false;
	table = build_table_at(&loader->build, record.table);
	if (table == HISTORY_NONE) {
		history->counts.records_skipped++;
	} else if (!loader->build.schemas[table]) {
		/* The first one counts: a number names one table for a whole trace. */
		loader->build.schemas[table] = build_bytes(&loader->build, whole);
		history->tables[table].database = strtab_add(&history->strings, record.database);
		history->tables[table].name = strtab_add(&history->strings, record.name);
	}
	return true;
}

/* What the recorder could not keep.  `rotated` says how much was removed since the trace began. */
static bool take_gap(struct loader *loader, struct mp *mp, uint32_t left)
{
	struct record_gap record;

	if (!record_gap_read(mp, left, &record))
		return false;
	if (loader->context)
		return true;
	if (span_eq_str(record.reason, "rotated"))
		loader->removed_records = record.records;
	else
		loader->lost_records += record.records;
	return true;
}

static bool take_note(struct loader *loader, struct mp *mp, uint32_t left)
{
	struct record_note record;

	if (!record_note_read(mp, left, &record))
		return false;
	doubts_take(&loader->doubts, &record);
	loader->history->counts.answers_doubted += !loader->context && note_is(&record, NOTE_ANSWER_DOUBTED);
	/* What is missing there are records that could not be made. */
	loader->lost_records += !loader->context && note_is(&record, NOTE_BINLOG_GAP);
	return true;
}

/* A prepared transaction was rolled back: its rows are again what they were before. */
static void take_back(struct loader *loader, uint32_t txn)
{
	const struct history *history = loader->history;

	if (txn == HISTORY_NONE)
		return;
	for (uint32_t i = history->op_count; i-- > logged_first_op(loader->logged, txn);) {
		const struct history_op *op = &history->ops[i];
		uint32_t previous = history->versions[op->version].previous;

		if (op->txn == txn && op->kind == HISTORY_WRITE)
			image_chain_left(&loader->chain, op->object, previous < BUILD_NIL ? previous : HISTORY_NONE);
	}
}

/* Rules 22 and 23: its writes become operations of the log's transaction for now. */
static bool take_logged(struct loader *loader, struct mp *mp, uint32_t left)
{
	struct history_build *build = &loader->build;
	struct record_logged record;
	struct logged_names names;
	uint32_t table, count;
	struct mp rows;

	if (!record_logged_read(mp, left, &record))
		return false;
	if (loader->context)
		return true;
	begin_logged(loader);
	if (record.event != LOGGED_ROWS) {
		take_back(loader, logged_end(loader->logged, &record));
		return true;
	}
	rows = mp_over(record.rows);
	count = record.rows.ptr ? mp_array(&rows) : 0;
	table = build_table_at(build, record.table);
	if (rows.bad || table == HISTORY_NONE) {
		loader->history->counts.records_skipped++;
		return true;
	}
	loader->history->counts.probes++;
	loader->history->counts.probe_rows += count;
	if (!record.exact) {
		loader->history->counts.inexact_probes++;
		loader->history->counts.unseen_writes++;
		loader->history->tables[table].unseen_writes = true;
	}
	names = logged_rows(loader->logged, &record, count);
	for (uint32_t i = 0; i < count && !rows.bad; i++) {
		struct batch_row b = {.op = {.txn = names.txn,
					      .stmt = names.stmt,
					      .version = HISTORY_NONE,
					      .flags = record.exact ? HISTORY_OP_EXACT : 0,
					      .probe = PROBE_WRITE},
			.table = table,
			.previous = HISTORY_NONE};

		if (!decode_row(&rows, &b.row)) {
			loader->history->counts.rows_skipped++;
			continue;
		}
		b.has_version = b.row.version.ptr != NULL;
		b.op.object = build_object_at(build, table, b.row.key);
		b.op.version = version_named(loader, b.op.object, b.row.version);
		row_write(loader, &b);
	}
	return true;
}

/* ---- records ---- */

/* False: its fields are not what its kind has. */
static bool take_other(struct loader *loader, const struct decoded_other *other)
{
	struct mp mp = mp_over(other->whole);
	uint32_t kind, left;
	bool ok = record_begin(&mp, &kind, &left);

	switch (other->kind) {
	case RECORD_SESSION:
		ok &= take_session(loader, &mp, left);
		break;
	case RECORD_SERVER:
		ok &= take_server(loader, &mp, left, other->whole);
		break;
	case RECORD_SCHEMA:
		ok &= take_schema(loader, &mp, left, other->whole);
		break;
	case RECORD_GAP:
		ok &= take_gap(loader, &mp, left);
		break;
	case RECORD_NOTE:
		ok &= take_note(loader, &mp, left);
		break;
	case RECORD_ROWS:
		ok &= contents_take(&loader->contents, &mp, left, other->whole);
		break;
	case RECORD_LOGGED:
		ok &= take_logged(loader, &mp, left);
		break;
	}
	return ok;
}

/* The predicates of probes to come: where they are said to be, and of nearer ones what is there. */
static void prefetch_texts(const struct history_build *build, const struct decoded_probe *probe)
{
	const struct decoded_probe *far = &probe[TEXTS_AHEAD], *near = &probe[TEXTS_AHEAD / 2];

	if (far->predicate.ptr)
		build_text_prefetch(build, far->predicate_hash);
	if (near->predicate.ptr)
		build_text_prefetch_bytes(build, near->predicate_hash);
}

/* What was decoded of a block: how many records were sound, and where they end. */
static uint32_t take_decoded(struct loader *loader, const struct decoded *decoded, const char **end)
{
	const struct decoded_stmt *stmt = decoded->stmts;
	const struct record_txn *txn = decoded->txns;
	const struct decoded_probe *probe = decoded->probes;
	const struct decoded_row *row = decoded->rows;
	const struct decoded_other *other = decoded->others;
	struct history_counts *counts = &loader->history->counts;
	uint32_t taken = decoded->taken;

	*end = (const char *)decoded->end;
	counts->probe_rows += decoded->probe_rows;
	counts->rows_skipped += decoded->rows_skipped;
	counts->records_skipped += decoded->records_skipped;
	loader->history->sets_snapshots |= decoded->sets_snapshots;
	for (size_t i = 0; i < decoded->kind_count && taken == decoded->taken; i++) {
		switch ((enum decoded_kind)decoded->kinds[i]) {
		case DECODED_STMT:
			take_stmt(loader, stmt++);
			break;
		case DECODED_TXN:
			take_txn(loader, txn++);
			break;
		case DECODED_PROBE:
			if (decoded->probes + decoded->probe_count - probe > TEXTS_AHEAD)
				prefetch_texts(&loader->build, probe);
			take_probe(loader, probe, row);
			row += probe++->row_count;
			break;
		case DECODED_OTHER:
			if (!take_other(loader, other)) {
				taken = other->index;
				*end = other->whole.ptr;
			}
			other++;
			break;
		}
	}
	batch_flush(loader);
	return taken;
}

/* ---- begin and end ---- */

static void loader_init(
	struct loader *loader, struct history *history, const struct history_load_options *options)
{
	memset(loader, 0, sizeof(*loader));
	build_init(&loader->build, history);
	loader->history = history;
	loader->options = options;
	loader->contents = (struct contents){
		.build = &loader->build, .images = !options || !options->no_images};
}

static void loader_release(struct loader *loader)
{
	for (uint32_t i = 0; i < loader->history->session_count; i++) {
		group_free(loader->build.sessions[i].group);
		loader->build.sessions[i].group = NULL;
	}
	contents_release(&loader->contents);
	image_chain_release(&loader->chain);
	logged_free(loader->logged);
}

/* A session that set its level openly is among them: the records do not tell where a level is from. */
static void forget_levels(struct loader *loader)
{
	struct history *history = loader->history;
	bool *doubted;

	if (!loader->doubts.count)
		return;
	doubted = mem_zero(history->session_count, sizeof(*doubted));
	for (uint32_t i = 0; i < history->session_count; i++)
		doubted[i] = doubts_session(&loader->doubts,
			strtab_get(&history->strings, history->sessions[i].node),
			loader->build.sessions[i].started);
	for (uint32_t i = 0; i < history->txn_count; i++)
		if (doubted[history->txns[i].session])
			history->txns[i].level = LEVEL_UNKNOWN;
	mem_free(doubted);
}

struct numbered {
	uint64_t place; /* session, number */
	uint32_t stmt;
};

static int by_place(const void *a, const void *b)
{
	uint64_t x = ((const struct numbered *)a)->place, y = ((const struct numbered *)b)->place;

	return x < y ? -1 : x > y;
}

static void doubt_txn(struct history *history, uint32_t txn)
{
	if (txn == HISTORY_NONE || history->txns[txn].flags & HISTORY_TXN_MIXED)
		return;
	history->txns[txn].flags |= HISTORY_TXN_MIXED;
	history->counts.txns_holed++;
}

/* Rule 20.  A session numbers its statements without a gap: after one that has no follower, a
 * ROLLBACK TO or the transaction's end may be lost. */
static void doubt_holes(struct history *history)
{
	struct numbered *all = mem_realloc(NULL, history->stmt_count + 1, sizeof(*all));
	uint32_t count = 0;

	for (uint32_t i = 0; i < history->stmt_count; i++) {
		const struct history_stmt *stmt = &history->stmts[i];

		if (stmt->flags & HISTORY_STMT_RECORD)
			all[count++] = (struct numbered){
				(uint64_t)stmt->session << 32 | stmt->number, i};
	}
	qsort(all, count, sizeof(*all), by_place);
	for (uint32_t i = 0; i < count; i++) {
		const struct history_stmt *stmt = &history->stmts[all[i].stmt];

		if (i + 1 == count || all[i + 1].place >> 32 != stmt->session) {
			if (stmt->txn != HISTORY_NONE &&
				history->txns[stmt->txn].flags & HISTORY_TXN_NO_END)
				doubt_txn(history, stmt->txn);
		} else if (all[i + 1].place != all[i].place + 1) {
			doubt_txn(history, stmt->txn);
		}
	}
	mem_free(all);
}

static void loader_finish(struct loader *loader)
{
	struct history *history = loader->history;

	if (loader->logged)
		logged_finish(loader->logged);
	if (!history->complete)
		doubt_holes(history);
	contents_finish(&loader->contents);
	forget_levels(loader);
	for (uint32_t i = 0; i < history->session_count; i++) {
		struct group *group = loader->build.sessions[i].group;

		if (group)
			group_finish(group, &loader->build);
	}
	loader_release(loader);
	cascade_deletes(&loader->build);
	build_finish(&loader->build);
}

/* ---- the second pass of a trace whose writes the binary log tells ---- */

static void read_again(struct logged *logged, struct span records)
{
	struct mp mp = mp_over(records);
	uint32_t kind, left;

	while (mp.p < mp.end && record_begin(&mp, &kind, &left)) {
		struct mp fields = mp;

		if (!record_skip_fields(&mp, left))
			break;
		if (logged_wants(kind))
			logged_take(logged, kind, &fields, left);
	}
}

static bool read_source_again(struct loader *loader, const struct history_source *source, struct err *err)
{
	struct trace_reader_options reading = {.salvage = source->salvage, .unwalked = true};
	struct trace_reader *reader;
	struct trace_block block;
	enum trace_next next;

	if (!loader->logged)
		return true;
	reader = trace_reader_open(source->path, &reading, err);
	if (!reader)
		return false;
	while ((next = trace_next_block(reader, &block, err)) == TRACE_NEXT_OK && !interrupt_seen())
		if (!block.info.context)
			read_again(loader->logged, block.records);
	trace_reader_close(reader);
	return next != TRACE_NEXT_ERROR;
}

/* A chunk at a time: room for all of it at once might not fit the ids. */
static bool load_memory(
	struct loader *loader, struct read_ahead *ahead, struct span records, struct err *err)
{
	struct decoded own = {.kinds = NULL};
	bool ok = true;

	while (records.len) {
		const struct decoded *decoded = ahead ? read_ahead_decoded(ahead) : &own;
		const char *end;
		bool all;

		if (!ahead)
			decode_records(&own, records, AHEAD_RECORDS);
		ok = build_room(
			&loader->build, (size_t)((const char *)decoded->end - records.ptr), err);
		if (!ok)
			break;
		all = decoded->taken && take_decoded(loader, decoded, &end) == decoded->taken;
		if (decoded->taken)
			records = span_of(end, (size_t)(records.ptr + records.len - end));
		if (!all)
			break;
	}
	decoded_release(&own);
	if (ok)
		loader->history->counts.damaged_bytes += records.len;
	return ok;
}

bool history_load_records(struct history *history, struct span records,
	const struct history_load_options *options, struct err *err)
{
	struct loader *loader = mem_alloc(sizeof(*loader));
	struct read_ahead *ahead = read_ahead_begin_memory(records);
	bool ok;

	loader_init(loader, history, options);
	loader->block = HISTORY_NONE;
	ok = load_memory(loader, ahead, records, err);
	read_ahead_end(ahead);
	if (ok && loader->logged)
		read_again(loader->logged, records);
	if (ok) {
		history->counts.lost_records = loader->lost_records + loader->removed_records;
		history->complete = history->counts.damaged_bytes == 0 && history->counts.lost_records == 0;
		loader_finish(loader);
	} else {
		loader_release(loader);
		build_abandon(&loader->build);
	}
	mem_free(loader);
	return ok;
}

/* ---- files ---- */

/* Sequence numbers are kept in 32 bits, relative to the smallest that can come. */
static void choose_base(struct loader *loader, const struct record_block *info)
{
	uint64_t least = info->watermark && info->watermark < info->first_seq ? info->watermark
									      : info->first_seq;

	if (loader->seq_known || !info->first_seq || info->context)
		return;
	loader->seq_known = true;
	if (least > INT32_MAX)
		loader->history->seq_base = least - 1;
}

/* Takes one block.  A malformed record makes *bad true; with a reader ahead nothing can be done
 * about it here. */
static bool load_block(struct loader *loader, const struct trace_block *block,
	const struct decoded *decoded, struct trace_reader *reader, bool *bad, struct err *err)
{
	const char *end;
	uint32_t taken;

	choose_base(loader, &block->info);
	if (!build_room(&loader->build, block->records.len, err))
		return false;
	loader->context = block->info.context;
	taken = take_decoded(loader, decoded, &end);
	loader->block++;
	*bad = taken < block->record_count || end < block->records.ptr + block->records.len;
	return !*bad || (reader && trace_block_bad(reader, block, taken, err) == TRACE_NEXT_OK);
}

/* Once, when some blocks are there to tell by, and not so few that they are like no others. */
static void expect_rest(struct loader *loader, const struct read_ahead_place *place)
{
	enum { BLOCKS = 8, PARTS = 48 };

	if (loader->expected) {
		build_pages(&loader->build, loader->pages);
		return;
	}
	if (loader->block < BLOCKS || place->done < place->all / PARTS)
		return;
	loader->expected = true;
	if (place->done < place->all) {
		build_expect(&loader->build, place->all / place->done + 1);
		loader->pages = pages_begin();
	}
}

static bool load_blocks(
	struct loader *loader, struct trace_reader *reader, bool alone, bool *bad, struct err *err)
{
	const struct history_load_options *options = loader->options;
	struct read_ahead *ahead = alone ? NULL : read_ahead_begin(reader);
	struct decoded own = {.kinds = NULL};
	struct trace_block block;
	enum trace_next next;

	*bad = false;
	for (;;) {
		const struct decoded *decoded = &own;
		struct read_ahead_place place;

		next = ahead ? read_ahead_next(ahead, &block, err)
			     : trace_next_block(reader, &block, err);
		if (next != TRACE_NEXT_OK)
			break;
		if (ahead)
			decoded = read_ahead_decoded(ahead);
		else
			decode_records(&own, block.records, block.record_count);
		place = ahead ? read_ahead_place(ahead) : read_ahead_place_of(reader);
		if (loader->block == 0) {
			loader->history->wall_ns = place.wall_ns;
			loader->history->mono_ns = place.mono_ns;
		}
		if (!load_block(loader, &block, decoded, ahead ? NULL : reader, bad, err)) {
			next = TRACE_NEXT_ERROR;
			break;
		}
		expect_rest(loader, &place);
		meter_bytes(options ? options->meter : NULL, "reading", place.done, place.all);
		if (interrupt_seen()) {
			err_set(err, ERR_INTERRUPTED, "interrupted while the trace was read: nothing was judged");
			next = TRACE_NEXT_ERROR;
			break;
		}
	}
	read_ahead_end(ahead);
	pages_end(loader->pages);
	decoded_release(&own);
	return next == TRACE_NEXT_END;
}

/* One attempt.  *bad: a record is malformed; only a load without a reader ahead can tell which, and
 * go on where salvage is wanted. */
static bool load_source(struct history *history, struct history_source *source,
	const struct history_load_options *options, bool alone, bool *bad, struct err *err)
{
	struct trace_reader_options reading = {.salvage = source->salvage, .unwalked = true};
	struct loader *loader = mem_alloc(sizeof(*loader));
	struct trace_reader *reader = trace_reader_open(source->path, &reading, err);
	struct trace_totals totals;
	bool ok;

	*bad = false;
	loader_init(loader, history, options);
	ok = reader && load_blocks(loader, reader, alone, bad, err);
	if (ok) {
		trace_reader_totals(reader, &totals);
		history->counts.lost_records = loader->lost_records + loader->removed_records;
		history->counts.damaged_bytes = totals.bytes_damaged;
		history->counts.torn_bytes = totals.bytes_torn;
		history->complete = totals.clean && history->counts.lost_records == 0;
	}
	trace_reader_close(reader);
	ok = ok && read_source_again(loader, source, err);
	if (ok) {
		meter_things(options ? options->meter : NULL, "ordering versions", 0, 0);
		loader_finish(loader);
	} else {
		loader_release(loader);
		build_abandon(&loader->build);
	}
	mem_free(loader);
	return ok;
}

bool history_load(struct history *history, const char *path,
	const struct history_load_options *options, struct err *err)
{
	struct history_source *source = history_source_open(path, options && options->salvage, err);
	bool ok, bad;

	memset(history, 0, sizeof(*history));
	if (!source)
		return false;
	ok = load_source(history, source, options, false, &bad, err);
	if (!ok && bad)
		ok = load_source(history, source, options, true, &bad, err);
	if (ok)
		history->source = source;
	else
		history_source_free(source);
	return ok;
}
