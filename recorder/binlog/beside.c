/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binlog/beside.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/flavour.h"
#include "trace/doubts.h"
#include "trace/pack.h"

enum {
	MYSQL_LOGS_CASCADES = 90700,
	MYSQL_TRACKS_GTIDS = 50700,
	RETRY_FIRST_MS = 100,
	RETRY_MAX_MS = 2000,
	LOG_IS_GONE = 1236, /* ER_MASTER_FATAL_ERROR_READING_BINLOG */
};

struct binlog_beside {
	struct binlog_beside_options options;
	struct binlog_state state;
	struct binlog_place place;
	struct binlog_tables *tables;
	struct binlog_txns *txns;
	MYSQL *db; /* for definitions; its thread's */
	struct binlog_stream stream;
	struct trace_producer *producer;
	struct binlog_beside_summary summary;
	uint32_t group;  /* of the transaction being read */
	bool group_open; /* a piece of it was handed on, and there is more */
	pthread_t thread;
	bool started;
	/* `stop` was set: the stream's socket is shut down, and a pause is cut short. */
	atomic_bool stop;
	int wake_fd;
	pthread_mutex_t lock; /* guards stream.db against being closed while it is shut down */
};

const char *binlog_track_sql(const struct binlog_state *state)
{
	if (state->mariadb)
		return "set session session_track_system_variables = if("
		       "@@session.session_track_system_variables = '*', '*', concat_ws(',', "
		       "nullif(@@session.session_track_system_variables, ''), 'last_gtid'))";
	return state->version >= MYSQL_TRACKS_GTIDS ? "set session session_track_gtids = own_gtid" : NULL;
}

uint32_t binlog_beside_variables(struct buf *pairs, bool all_writers)
{
	msgpack_packer pk = pack_into(pairs);

	pack_str(&pk, SPAN_LIT(EVIDENCE_VARIABLE));
	pack_str(&pk, SPAN_LIT(EVIDENCE_LOGGED));
	pack_str(&pk, SPAN_LIT(WRITERS_VARIABLE));
	pack_str(&pk, all_writers ? SPAN_LIT(WRITERS_ALL) : SPAN_LIT(WRITERS_SOME));
	return 2;
}

const struct binlog_state *binlog_beside_state(const struct binlog_beside *beside)
{
	return &beside->state;
}

/* ---- the trace ---- */

static void gap(struct binlog_beside *b, struct span what)
{
	struct record_note record = {.source = SPAN_LIT("recorder"),
		.topic = SPAN_LIT(NOTE_BINLOG_GAP),
		.text = what};

	b->summary.gaps++;
	(void)trace_emit_note(b->producer, &record);
}

static void on_gap(void *ctx, struct span what)
{
	gap(ctx, what);
}

static void on_define(void *ctx, struct record_schema *record)
{
	struct binlog_beside *b = ctx;

	record->node = span_str(b->options.node);
	(void)trace_emit_schema(b->producer, record);
}

static void on_format(void *ctx, struct span version)
{
	struct binlog_beside *b = ctx;
	struct server_release release = server_release_of(version);

	if (release.flavour == SERVER_MYSQL && release.version >= MYSQL_LOGS_CASCADES)
		binlog_tables_log_cascades(b->tables);
}

static void emit_group(struct binlog_beside *b, const struct binlog_txn *txn, struct binlog_group *group)
{
	for (size_t i = 0; i < group->table_count; i++) {
		struct binlog_table_rows *rows = &group->tables[i];
		struct record_logged record = {.node = span_str(b->options.node),
			.gtid = span_str(txn->gtid),
			.event = LOGGED_ROWS,
			.group = b->group,
			.table = rows->table,
			.exact = group->whole && !rows->keyless && !rows->silent,
			.server = txn->server_id,
			.thread = txn->thread,
			.wall = txn->wall_ns};

		pack_array_close(&rows->rows, 0, rows->count);
		record.rows = buf_span(&rows->rows);
		(void)trace_emit_logged(b->producer, &record);
	}
	/* Nothing is known of what a statement that is not logged as rows did. */
	if (!group->table_count)
		gap(b, SPAN_LIT("a statement is logged as a text, not as rows: which it changed is not known"));
}

static void on_txn(void *ctx, struct binlog_txn *txn)
{
	struct binlog_beside *b = ctx;
	struct record_logged end = {.node = span_str(b->options.node),
		.gtid = span_str(txn->gtid),
		.event = LOGGED_END,
		.text = txn->statement.len ? buf_span(&txn->statement) : SPAN_NONE,
		.end = txn->end == BINLOG_END_PREPARED   ? LOGGED_PREPARED
		       : txn->end == BINLOG_END_ROLLBACK ? LOGGED_ROLLED_BACK
							 : LOGGED_COMMITTED,
		.server = txn->server_id,
		.thread = txn->thread,
		.wall = txn->wall_ns,
		.xid = txn->xid.len ? buf_span(&txn->xid) : SPAN_NONE};

	if (txn->first) {
		b->group = 0;
		b->group_open = false;
	}
	for (size_t i = 0; i < txn->group_count; i++) {
		emit_group(b, txn, &txn->groups[i]);
		b->group_open = !txn->groups[i].ended;
		b->group += txn->groups[i].ended;
	}
	if (!txn->last)
		return;
	end.group = b->group + b->group_open;
	(void)trace_emit_logged(b->producer, &end);
	binlog_gtids_add(&b->place.gtids, txn->gtid);
}

/* There may be nothing more to hand over for long. */
static void on_alive(void *ctx)
{
	struct binlog_beside *b = ctx;

	trace_producer_flush(b->producer);
}

static const struct binlog_txns_sink sink = {
	.txn = on_txn, .gap = on_gap, .format = on_format, .alive = on_alive};

/* ---- the log ---- */

static bool stream_open(struct binlog_beside *b, bool wait, struct err *err)
{
	struct binlog_stream stream;
	bool good;

	binlog_txns_reset(b->txns);
	good = binlog_stream_open(&stream, &b->options.login, b->options.node, &b->options.address, &b->state,
		&b->place, b->options.server_id, wait ? BINLOG_WAIT : 0, err);
	if (!good)
		return false;
	pthread_mutex_lock(&b->lock);
	b->stream = stream;
	/* Told to stop meanwhile: a stream that waits for more would not hear of it. */
	if (wait && atomic_load(&b->stop))
		(void)shutdown(binlog_stream_fd(&b->stream), SHUT_RDWR);
	pthread_mutex_unlock(&b->lock);
	return true;
}

static void stream_close(struct binlog_beside *b)
{
	pthread_mutex_lock(&b->lock);
	binlog_stream_close(&b->stream);
	pthread_mutex_unlock(&b->lock);
}

enum followed { FOLLOWED_LOST, FOLLOWED_TO_END, FOLLOWED_DAMAGE };

/* Until the connection is lost, or the log has ended. */
static enum followed follow(struct binlog_beside *b, struct err *err)
{
	for (;;) {
		struct span event;

		if (!binlog_stream_next(&b->stream, &event, err))
			return mysql_errno(b->stream.db) == LOG_IS_GONE ? FOLLOWED_DAMAGE : FOLLOWED_LOST;
		if (!event.len)
			return FOLLOWED_TO_END;
		b->summary.bytes += event.len;
		if (!binlog_txns_event(b->txns, event, err))
			return FOLLOWED_DAMAGE;
	}
}

/* Until it is time, or to stop. */
static void pause_for(struct binlog_beside *b, int ms)
{
	struct pollfd fd = {.fd = b->wake_fd, .events = POLLIN};

	(void)poll(&fd, 1, ms);
}

/* What the server has now, to its end. */
static bool read_rest(struct binlog_beside *b, struct err *err)
{
	bool ended;

	if (!stream_open(b, false, err))
		return false;
	ended = follow(b, err) == FOLLOWED_TO_END;
	stream_close(b);
	return ended;
}

static void *run(void *data)
{
	struct binlog_beside *b = data;
	enum followed how = FOLLOWED_LOST;
	int wait_ms = RETRY_FIRST_MS;
	struct err err = {.code = ERR_NONE};

	mysql_thread_init();
	while (!atomic_load(&b->stop) && how == FOLLOWED_LOST) {
		if (!b->stream.db && !stream_open(b, true, &err)) {
			pause_for(b, wait_ms);
			wait_ms = wait_ms * 2 < RETRY_MAX_MS ? wait_ms * 2 : RETRY_MAX_MS;
			continue;
		}
		wait_ms = RETRY_FIRST_MS;
		how = follow(b, &err);
		stream_close(b);
		b->summary.reconnects += how == FOLLOWED_LOST && !atomic_load(&b->stop);
	}
	/* A log that cannot be read on is not read: nothing in it may be taken for the whole. */
	if (how == FOLLOWED_DAMAGE || !read_rest(b, &err))
		gap(b, span_str(err.text));
	mysql_thread_end();
	return NULL;
}

/* ---- beginning and end ---- */

static void release(struct binlog_beside *b)
{
	binlog_txns_free(b->txns);
	binlog_tables_free(b->tables);
	binlog_state_release(&b->state);
	buf_release(&b->place.gtids);
	buf_release(&b->place.file);
	if (b->db)
		mysql_close(b->db);
	if (b->producer)
		trace_producer_close(b->producer);
	if (b->wake_fd >= 0)
		(void)close(b->wake_fd);
	pthread_mutex_destroy(&b->lock);
	mem_free(b);
}

static bool can_be_joined(const struct binlog_state *state, const char *node, struct err *err)
{
	if (!binlog_track_sql(state))
		return err_set(err, ERR_UNSUPPORTED,
			"node %s: this release does not tell a session the names of its commits (MySQL does from "
			"5.7 on): use --instrument=trigger, or record its binary log alone with isorec binlog",
			node);
	if (!state->gtids)
		return err_set(err, ERR_UNSUPPORTED,
			"node %s: its transactions have no names in the binary log: start it with gtid_mode = ON "
			"and enforce_gtid_consistency = ON",
			node);
	if (!state->ordered)
		return err_set(err, ERR_UNSUPPORTED,
			"node %s: its binary log is not in the order of the commits: set global "
			"binlog_order_commits = ON",
			node);
	return true;
}

struct binlog_beside *binlog_beside_new(const struct binlog_beside_options *options, struct err *err)
{
	struct binlog_beside *b = mem_zero(1, sizeof(*b));
	struct binlog_options decoding = {.values = options->values};

	b->options = *options;
	b->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&b->lock, NULL);
	b->db = db_connect(&options->login, options->node, &options->address, err);
	if (!b->db || !binlog_state_read(b->db, options->node, &b->state, err) ||
		!binlog_state_check(&b->state, options->node, err) ||
		!can_be_joined(&b->state, options->node, err)) {
		release(b);
		return NULL;
	}
	buf_add_span(&b->place.gtids, buf_span(&b->state.executed));
	b->tables = binlog_tables_new(b->db, options->first_table, on_define, b);
	b->txns = binlog_txns_new(&sink, b, b->tables, &decoding);
	return b;
}

void binlog_beside_table(struct binlog_beside *b, struct span database, struct span name, uint32_t number)
{
	binlog_tables_known(b->tables, database, name, number);
}

bool binlog_beside_start(struct binlog_beside *b, struct err *err)
{
	sigset_t all, before;
	int failed;

	if (!stream_open(b, true, err))
		return false;
	b->producer = trace_producer_open(b->options.writer);
	sigfillset(&all); /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&b->thread, NULL, run, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	b->started = !failed;
	return b->started || err_set_errno(err, failed, "cannot start a thread for the binary log");
}

void binlog_beside_free(struct binlog_beside *b)
{
	if (b->stream.db)
		binlog_stream_close(&b->stream);
	release(b);
}

void binlog_beside_end(struct binlog_beside *b, struct binlog_beside_summary *summary)
{
	uint64_t one = 1;

	if (b->started) {
		pthread_mutex_lock(&b->lock);
		atomic_store(&b->stop, true);
		if (b->stream.db)
			(void)shutdown(binlog_stream_fd(&b->stream), SHUT_RDWR);
		pthread_mutex_unlock(&b->lock);
		(void)!write(b->wake_fd, &one, sizeof(one));
		(void)pthread_join(b->thread, NULL);
	}
	b->summary.counts = *binlog_txns_counts(b->txns);
	*summary = b->summary;
	binlog_beside_free(b);
}
