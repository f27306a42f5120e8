/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "db/levels_in_programs.h"
#include "db/query.h"
#include "instrument/prepare.h"
#include "run/disconnects.h"
#include "scenario/scenario.h"
#include "server/errors.h"
#include "server/flavour.h"
#include "sql/sql.h"
#include "trace/pack.h"

enum {
	/* A deadlock's victim may be seen waiting for the moment until it is chosen. */
	GRACE_MS = 5,
	ENDING_WAIT_MS = 1,
	SLICE_MS = 100,
	FINAL_SESSION_WAIT_MS = 20000,
	CONTROL_TIMEOUT_S = 30,
};

bool engine_fail(struct engine *e, const char *what)
{
	return err_set(e->err, ERR_SERVER, "%s: %s", what, mysql_error(e->control));
}

void engine_note(struct engine *e, const char *topic, struct span text)
{
	struct record_note record = {
		.source = span_str(e->source), .topic = span_str(topic), .text = text};

	trace_emit_note(e->worker.producer, &record);
}

/* ---- the control connection ---- */

bool engine_query(struct engine *e, struct span sql)
{
	if (db_send_bytes(e->control, sql.ptr, sql.len)) {
		unsigned error = mysql_errno(e->control);

		/* Errors of the library itself: no server answers. */
		e->control_dead = error >= 2000 && error < 3000;
		return false;
	}
	do {
		MYSQL_RES *result = db_result(e->control);

		if (result)
			mysql_free_result(result);
		else if (mysql_errno(e->control))
			return false;
	} while (mysql_next_result(e->control) == 0);
	return mysql_errno(e->control) == 0;
}

static bool control_statement(struct engine *e, const char *verb, const char *name)
{
	struct buf sql = BUF_INIT;
	bool ok;

	buf_printf(&sql, "%s ", verb);
	sql_print_name(span_str(name), &sql);
	ok = engine_query(e, buf_span(&sql));
	buf_release(&sql);
	return ok;
}

bool engine_make_database(struct engine *e, const char *name)
{
	if (e->options->drop_database && !control_statement(e, "drop database if exists", name))
		return engine_fail(e, "the database cannot be dropped");
	if (!control_statement(e, "create database", name)) {
		if (mysql_errno(e->control) == ER_DB_CREATE_EXISTS)
			return err_set(e->err, ERR_SERVER,
				"the database %s exists: choose another with --database, or let it "
				"be dropped with --drop-database",
				name);
		return engine_fail(e, "the database cannot be made");
	}
	MEM_RESERVE(e->databases, e->database_count + 1, e->database_capacity);
	e->databases[e->database_count++] = mem_strdup(name);
	if (!control_statement(e, "use", name))
		return engine_fail(e, "the database cannot be used");
	return true;
}

/* ---- the trace ---- */

static void on_prepared(void *ctx, const char *database, const char *table,
	enum prepare_outcome outcome, const char *why)
{
	struct engine *e = ctx;
	struct buf text = BUF_INIT;

	(void)database;
	if (outcome == PREPARE_DONE && strcmp(why, "is prepared") == 0)
		return;
	buf_printf(&text, "%s %s", table, why);
	engine_note(e, "instrumentation", buf_span(&text));
	buf_release(&text);
}

/* Tables without a key get a hidden one: scenarios have many of them. */
static bool instrument_database(struct engine *e)
{
	struct prepare_options options = {.database = e->options->target.database,
		.add_key = true,
		.mode = e->options->instrument,
		.tell = on_prepared,
		.ctx = e};
	struct prepare_summary summary;

	if (!e->options->instrument)
		return true;
	engine_note(e, "instrumentation", span_str(instrument_mode_words[e->options->instrument]));
	return prepare_database(e->control, &options, &summary, e->err) &&
	       instrument_tables_load(&e->tables, e->control, e->options->target.database, e->err);
}

static enum txn_level level_of(MYSQL *mysql, const char *scope)
{
	static const char *const names[] = {"transaction_isolation", "tx_isolation"};
	enum txn_level level = LEVEL_UNKNOWN;

	for (size_t i = 0; i < ARRAY_LEN(names) && level == LEVEL_UNKNOWN; i++) {
		char sql[80];
		MYSQL_RES *result = NULL;
		MYSQL_ROW row;

		snprintf(sql, sizeof(sql), "select @@%s.%s", scope, names[i]);
		if (db_send(mysql, sql) == 0)
			result = db_result(mysql);
		row = result ? mysql_fetch_row(result) : NULL;
		if (row && row[0])
			level = scenario_level_word(span_str(row[0]));
		if (result)
			mysql_free_result(result);
	}
	return level;
}

bool engine_open_trace(struct engine *e, const char *const *facts)
{
	struct trace_writer_options options;
	struct stat st;

	if (!e->options->overwrite && stat(e->options->output, &st) == 0 && S_ISREG(st.st_mode) &&
		st.st_size)
		return err_set(e->err, ERR_USAGE,
			"%s exists: choose another --output, or let it be replaced with "
			"--overwrite",
			e->options->output);
	trace_writer_defaults(&options);
	options.recorder = "isorec " ISOTRACE_VERSION;
	options.overwrite = e->options->overwrite;
	options.facts = facts;
	options.policy = TRACE_POLICY_WAIT;
	e->writer = trace_writer_open(e->options->output, &options, e->err);
	if (!e->writer)
		return false;
	e->config = (struct capture_config){
		.levels = CAPTURE_PARAMS | CAPTURE_RESULTS, .values.value_keep_max = 16 << 20};
	capture_worker_open(&e->worker, &e->config, e->writer, 0, 1);
	return true;
}

/* ---- the binary log ---- */

enum { REPLICA_NUMBER = 0x69736f00 }; /* no server of a cluster has it: the recorder's own */

static bool begin_binlog(struct engine *e)
{
	const struct run_target *target = &e->nodes[0].target;
	struct binlog_beside_options options = {
		.login = {.user = target->user, .password = target->password,
			.connect_timeout_ns = (uint64_t)target->timeout_s * 1000000000u},
		.address = {.host = target->host, .port = target->port, .socket = target->socket},
		.node = e->nodes[0].name,
		.writer = e->writer,
		.values = e->config.values,
		.server_id = REPLICA_NUMBER | ((uint32_t)getpid() & 0xff),
		.first_table = SNAPSHOT_TABLES_MAX,
	};

	if (!e->options->binlog)
		return true;
	if (e->node_count > 1)
		return err_set(e->err, ERR_UNSUPPORTED,
			"--instrument=binlog reads the log of one server: not with several nodes");
	e->beside = binlog_beside_new(&options, e->err);
	if (!e->beside)
		return false;
	for (size_t i = 0; i < e->snapshot.table_count; i++)
		binlog_beside_table(e->beside, span_str(e->options->target.database),
			span_str(e->snapshot.tables[i]), (uint32_t)i);
	return binlog_beside_start(e->beside, e->err);
}

void engine_end_binlog(struct engine *e)
{
	struct binlog_beside_summary summary;

	if (e->beside)
		binlog_beside_end(e->beside, &summary);
	e->beside = NULL;
}

static void number_tables(struct engine *e)
{
	for (size_t i = 0; i < e->snapshot.table_count; i++) {
		struct instrument_table *table = instrument_tables_find(&e->tables,
			span_str(e->options->target.database), span_str(e->snapshot.tables[i]));

		if (table)
			table->number = (uint32_t)i;
	}
}

/* Waits until the node has what all nodes committed before.  The connection waits for this once
 * only: the views of a node that is held back must be readable. */
static bool sync_node(MYSQL *control)
{
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;
	bool ok;

	if (db_send(control, "set session wsrep_sync_wait = 15") ||
		db_send(control, "select @@wsrep_on, count(*) from mysql.user") ||
		!(result = db_result(control)))
		return false;
	row = mysql_fetch_row(result);
	ok = row && row[0] && !strcmp(row[0], "1");
	mysql_free_result(result);
	return ok && db_send(control, "set session wsrep_sync_wait = 0") == 0;
}

bool engine_sync_nodes(struct engine *e)
{
	for (size_t i = 0; e->node_count > 1 && i < e->node_count; i++) {
		MYSQL *control = e->nodes[i].control;

		if (sync_node(control))
			continue;
		return err_set(e->err, ERR_SERVER, "node %zu cannot wait for the others: %s", i + 1,
			*mysql_error(control) ? mysql_error(control)
					      : "it is in no Galera cluster (wsrep_on is off)");
	}
	return true;
}

/* The server records of the other nodes. */
static bool announce_others(struct engine *e)
{
	for (size_t i = 1; i < e->node_count; i++) {
		struct snapshot snapshot = {.control = e->nodes[i].control,
			.producer = e->worker.producer,
			.node = e->nodes[i].name,
			.address = e->nodes[i].capture.address,
			.database = e->options->target.database};
		bool ok = snapshot_server(&snapshot, e->err);

		snapshot_release(&snapshot);
		if (!ok)
			return false;
	}
	return true;
}

bool engine_begin_trace(struct engine *e)
{
	/* The database is the run's own: no other session writes. */
	if (e->options->instrument &&
		!instrument_tables_init(&e->tables, e->options->instrument, true,
			e->options->predicate_probes, e->err))
		return false;
	for (size_t i = 0; i < e->node_count; i++) {
		struct engine_node *node = &e->nodes[i];

		snprintf(node->name, sizeof(node->name), "n%zu", i + 1);
		node->capture = (struct capture_node){.name = node->name,
			.address = node->target.socket ? node->target.socket : node->target.host};
		/* The snapshot's server record says more. */
		atomic_store(&node->capture.announced, true);
		atomic_store(&node->capture.level, (uint8_t)level_of(node->control, "global"));
		atomic_store(&node->capture.flavour, (uint_fast8_t)server_release_of(
							     span_str(mysql_get_server_info(node->control)))
							     .flavour);
	}
	if (!engine_sync_nodes(e) || !announce_others(e))
		return false;
	for (size_t i = 0; i < e->node_count; i++)
		atomic_fetch_or(&e->nodes[i].capture.hidden_levels,
			hidden_levels_read(e->nodes[i].control));
	e->snapshot = (struct snapshot){.control = e->control,
		.producer = e->worker.producer,
		.node = e->nodes[0].name,
		.address = e->nodes[0].capture.address,
		.database = e->options->target.database,
		.rows_max = e->options->rows_max,
		.limits = e->config.values,
		.instrument = e->options->instrument ? &e->tables : NULL,
		.logged = e->options->binlog};
	if (!snapshot_server(&e->snapshot, e->err) || !instrument_database(e) ||
		!snapshot_schema(&e->snapshot, e->err))
		return false;
	number_tables(e);
	return snapshot_rows(&e->snapshot, "initial", e->err) && begin_binlog(e);
}

void engine_watch(struct engine *e)
{
	for (size_t i = 0; i < e->node_count; i++)
		watch_open(&e->nodes[i].watch, e->nodes[i].control, e->options->quick_watch);
	engine_note(e, "blocked is known from", span_str(watch_name(e->nodes[0].watch.kind)));
}

/* ---- sessions ---- */

static bool is_alone(const struct client *c)
{
	const struct engine *e = c->engine;

	for (size_t i = 0; i < e->client_count; i++) {
		const struct client *other = &e->clients[i];

		/* A session that waits for a lock does nothing; by time alone that is not known. */
		if (other != c && other->state != CLIENT_IDLE && !other->held &&
			(!other->settled || other->by_time))
			return false;
	}
	return true;
}

bool engine_open_session(struct engine *e, size_t index, size_t node, uint32_t id, const char *name,
	const char *database, enum txn_level level)
{
	struct client *c = &e->clients[index];
	struct run_target target = e->nodes[node].target;

	CHECK(index < e->client_max && node < e->node_count);
	target.database = database;
	target.read_timeout_s = 0;
	if (!client_open(c, &target, &e->worker, &e->nodes[node].capture, id, name, e->err))
		return false;
	c->node = node;
	if (e->client_count < index + 1)
		e->client_count = index + 1;
	c->engine = e;
	c->is_alone = is_alone;
	c->aside = e->nodes[node].control;
	if (level) {
		char sql[80];

		snprintf(sql, sizeof(sql), "set session transaction isolation level %s",
			txn_level_name((uint8_t)level));
		if (db_send(c->mysql, sql))
			return err_set(e->err, ERR_SERVER, "session %s: %s: %s", name, sql,
				mysql_error(c->mysql));
	}
	if (e->beside) {
		const char *sql = binlog_track_sql(binlog_beside_state(e->beside));

		if (db_send(c->mysql, sql))
			return err_set(e->err, ERR_SERVER, "session %s: %s: %s", name, sql,
				mysql_error(c->mysql));
		c->tracked = true;
	}
	/* What the server says, not what was asked for. */
	c->capture.level_session = (uint8_t)level_of(c->mysql, "session");
	if (e->options->instrument)
		client_instrument(c, &e->tables, &e->ended);
	return true;
}

/* The server rolls back behind our back when a connection ends; the final state is the one after
 * that. */
static void wait_closed(MYSQL *control, const struct buf *threads)
{
	struct buf sql = BUF_INIT;

	if (!threads->len)
		return;
	buf_printf(&sql, "select 1 from information_schema.processlist where id in (%s) limit 1",
		threads->data);
	for (int waited_ms = 0; waited_ms < FINAL_SESSION_WAIT_MS; waited_ms += 5) {
		MYSQL_RES *result = NULL;
		bool some;

		if (db_send(control, sql.data) == 0)
			result = db_result(control);
		some = result && mysql_num_rows(result);
		if (result)
			mysql_free_result(result);
		if (!some)
			break;
		poll(NULL, 0, 5);
	}
	buf_release(&sql);
}

enum close_reason engine_end_reason(const struct client *c)
{
	if (c->capture.ended)
		return CLOSE_SERVER_CLOSED;
	return c->dead ? CLOSE_LOST : CLOSE_QUIT;
}

void engine_close_sessions(struct engine *e)
{
	struct buf threads[RUN_NODES_MAX] = {BUF_INIT};

	for (size_t i = 0; i < e->client_count; i++) {
		struct client *c = &e->clients[i];
		struct buf *of_node = &threads[c->node];

		if (c->mysql)
			buf_printf(of_node, "%s%lu", of_node->len ? "," : "",
				mysql_thread_id(c->mysql));
		client_close(c, engine_end_reason(c));
	}
	e->client_count = 0;
	for (size_t i = 0; i < e->node_count; i++) {
		if (e->control && !e->control_dead)
			wait_closed(e->nodes[i].control, &threads[i]);
		buf_release(&threads[i]);
	}
}

void engine_sending(struct engine *e, struct client *c)
{
	c->blocked = c->waiting = c->settled = c->by_time = c->held = false;
	e->event_ns = clock_mono_ns();
	c->alone = is_alone(c);
}

/* ---- answers ---- */

/* A prepared transaction outlives its session, and its locks keep the database from being dropped. */
static void note_prepared(struct engine *e, const struct client *c)
{
	struct sql_options options = sql_options_default();
	struct arena arena = ARENA_INIT;
	struct sql_stmt *stmt;

	if (!c->error && sql_parse(&arena, buf_span(&c->sql), &options, &stmt, NULL) &&
		stmt->kind == SQL_STMT_XA && stmt->u.xa->kind == SQL_XA_PREPARE) {
		stmt->u.xa->kind = SQL_XA_ROLLBACK;
		sql_print(stmt, &options, &e->prepared);
		buf_add_char(&e->prepared, 0);
	}
	arena_release(&arena);
}

/* Those that were ended, by whomever, the server does not know any more. */
static void end_prepared(struct engine *e)
{
	for (size_t at = 0; at < e->prepared.len; at += strlen(e->prepared.data + at) + 1) {
		if (e->control_dead || (!engine_query(e, span_str(e->prepared.data + at)) && e->control_dead))
			break;
	}
	buf_release(&e->prepared);
}

static void complete(struct engine *e, struct client *c)
{
	e->event_ns = clock_mono_ns();
	e->ended++;
	note_prepared(e, c);
	e->answered(e->ctx, c);
	ends_answered(c);
	c->blocked = c->waiting = c->settled = c->by_time = c->held = false;
	/* A statement that waits may be released now: what is known of the others is out of date. */
	for (size_t i = 0; i < e->client_count; i++)
		e->clients[i].settled = false;
}

/* Before the reply's record is made. */
static void fill_blocked(struct client *c)
{
	/* Known even without looking: it answered while all sessions that could hold a lock were idle. */
	capture_set_blocked(&c->capture, c->blocked,
		c->blocked ? clock_mono_ns() - c->waiting_since + 1 : 0);
}

static int ready_of(short revents)
{
	int ready = 0;

	if (revents & (POLLIN | POLLHUP | POLLERR))
		ready |= MYSQL_WAIT_READ;
	if (revents & (POLLOUT | POLLHUP | POLLERR))
		ready |= MYSQL_WAIT_WRITE;
	if (revents & POLLPRI)
		ready |= MYSQL_WAIT_EXCEPT;
	return ready;
}

static short events_of(int wait)
{
	short events = 0;

	if (wait & MYSQL_WAIT_READ)
		events |= POLLIN;
	if (wait & MYSQL_WAIT_WRITE)
		events |= POLLOUT;
	if (wait & MYSQL_WAIT_EXCEPT)
		events |= POLLPRI;
	return events;
}

bool engine_stopped(const struct engine *e)
{
	return e->options->stop && *e->options->stop;
}

/* In slices: a signal that comes just before poll(2) does not wake it. */
static int wait_ms(uint64_t deadline)
{
	uint64_t now = clock_mono_ns();
	uint64_t ms = now < deadline ? (deadline - now) / 1000000 + 1 : 0;

	return ms < SLICE_MS ? (int)ms : SLICE_MS;
}

/* A query of select mode that waited for another session's lock may be answered before that
 * session's COMMIT is.  The statement goes on when that is done: else it would not be alone, though
 * the schedule has one statement at a time.  Of several such the one that was sent first goes on.
 * Not with rounds: statements are not alone there, and another session may wait for this one's lock. */
static bool must_hold(const struct engine *e, const struct client *c)
{
	if (e->free)
		return false;
	for (size_t i = 0; c->state == CLIENT_OWN_QUERY && i < e->client_count; i++) {
		const struct client *other = &e->clients[i];
		bool later = other->command.begin.seq > c->command.begin.seq;

		if (other != c && other->state != CLIENT_IDLE && !other->settled &&
			!(other->held && later))
			return true;
	}
	return false;
}

bool engine_serve(struct engine *e, int timeout_ms)
{
	uint64_t deadline = clock_mono_ns() + (uint64_t)timeout_ms * 1000000;
	bool any = false;

	for (;;) {
		nfds_t count = 0;
		bool at_once = any;

		for (size_t i = 0; i < e->client_count; i++) {
			struct client *c = &e->clients[i];

			e->fds[i] = (struct pollfd){.fd = -1};
			e->fds[i].events =
				c->state == CLIENT_IDLE ? ends_events(c) : events_of(c->wait);
			if (c->state == CLIENT_IDLE && !e->fds[i].events)
				continue;
			if ((c->held || !c->wait) && must_hold(e, c)) {
				c->held = true;
				continue;
			}
			e->fds[i].fd = mysql_get_socket(c->mysql);
			count = i + 1;
			/* The library had the answer before it had to wait. */
			at_once |= c->state != CLIENT_IDLE && !c->wait;
		}
		if (poll(e->fds, count, at_once ? 0 : wait_ms(deadline)) < 0)
			count = 0; /* a signal */
		for (size_t i = 0; i < count; i++) {
			struct client *c = &e->clients[i];
			int ready = e->fds[i].fd < 0 ? 0 : ready_of(e->fds[i].revents) & c->wait;

			if (c->state == CLIENT_IDLE && e->fds[i].fd >= 0 && e->fds[i].revents)
				ends_tell(e, c);
			if (c->state == CLIENT_IDLE || (c->wait && !ready))
				continue;
			if (must_hold(e, c)) {
				c->held = true;
				continue;
			}
			fill_blocked(c);
			if (client_step(c, ready)) {
				complete(e, c);
				any = true;
			}
		}
		if (any || engine_stopped(e) || clock_mono_ns() >= deadline)
			return any;
	}
}

/* ---- settling ---- */

static void mark_by_time(struct engine *e, struct client *c)
{
	c->settled = true;
	if (!c->waiting)
		c->waiting_since = c->command.begin.at;
	c->waiting = c->by_time = true;
	e->by_time = true;
}

/* The views say which sessions wait.  True: one was answered meanwhile. */
static bool look_at_node(struct engine *e, size_t node, uint64_t now)
{
	struct watch *watch = &e->nodes[node].watch;

	if (!watch->kind || now < watch_next_ns(watch) || now < e->event_ns + watch->first_look_ns)
		return false;
	if (watch_look(watch, e->clients, e->client_count, node))
		return engine_serve(e, GRACE_MS);
	watch->kind = WATCH_NONE;
	return false;
}

/* ... and what neither waits nor answers is given its time. */
static void look(struct engine *e)
{
	uint64_t now = clock_mono_ns();

	for (size_t i = 0; i < e->node_count; i++) {
		if (look_at_node(e, i, now))
			return;
	}
	for (size_t i = 0; i < e->client_count; i++) {
		struct client *c = &e->clients[i];
		uint64_t limit = e->nodes[c->node].watch.kind ? e->options->answer_timeout_ns
							      : e->options->blocked_timeout_ns;

		if (c->state != CLIENT_IDLE && !c->settled && now >= e->event_ns + limit)
			mark_by_time(e, c);
	}
}

static bool is_settled(const struct client *c)
{
	return c->state == CLIENT_IDLE || c->settled;
}

static bool all_settled(const struct engine *e)
{
	for (size_t i = 0; i < e->client_count; i++)
		if (!is_settled(&e->clients[i]))
			return false;
	return true;
}

void engine_settle(struct engine *e, const struct client *c)
{
	while (!engine_stopped(e)) {
		bool ending = ends_look(e), settled = c ? is_settled(c) : all_settled(e);
		uint64_t now = clock_mono_ns(), next = e->event_ns + e->nodes[0].watch.first_look_ns;

		if (settled && !ending)
			break;
		if (ending) {
			if (!engine_serve(e, ENDING_WAIT_MS))
				ends_ask(e);
			continue;
		}
		for (size_t i = 0; i < e->node_count; i++) {
			const struct watch *watch = &e->nodes[i].watch;

			if (watch->kind && watch_next_ns(watch) > next)
				next = watch_next_ns(watch);
		}
		if (next <= now)
			next = now + 10000000; /* only time can tell more */
		if (!engine_serve(e, (int)((next - now) / 1000000 + 1)))
			look(e);
	}
}

bool engine_any_busy(const struct engine *e)
{
	for (size_t i = 0; i < e->client_count; i++)
		if (e->clients[i].state != CLIENT_IDLE)
			return true;
	return false;
}

void engine_abandon_all(struct engine *e)
{
	for (size_t i = 0; i < e->client_count; i++) {
		struct client *c = &e->clients[i];
		char sql[40];

		if (c->state == CLIENT_IDLE)
			continue;
		/* Else it would hold its locks until it notices that the client has gone. */
		snprintf(sql, sizeof(sql), "kill %lu", mysql_thread_id(c->mysql));
		if (!e->control_dead)
			(void)!db_send(e->nodes[c->node].control, sql);
		fill_blocked(c);
		client_abandon(c, "it was given up");
		complete(e, c);
	}
}

bool engine_server_alive(struct engine *e)
{
	bool alive = true;

	e->control_dead = e->control_dead || mysql_ping(e->control);
	for (size_t i = 1; i < e->node_count; i++)
		alive = mysql_ping(e->nodes[i].control) == 0 && alive;
	return alive && !e->control_dead;
}

/* ---- beginning and end ---- */

static void close_nodes(struct engine *e)
{
	for (size_t i = 0; i < e->node_count; i++)
		mysql_close(e->nodes[i].control);
}

bool engine_open(struct engine *e, size_t client_max, size_t nodes)
{
	if (nodes > e->options->node_count + 1)
		return err_set(e->err, ERR_USAGE,
			"sessions on %zu nodes of a cluster, and %zu are known: name them with "
			"--node, or a cluster with --server",
			nodes, e->options->node_count + 1);
	for (; e->node_count < nodes; e->node_count++) {
		struct engine_node *node = &e->nodes[e->node_count];

		node->target = e->options->target;
		node->target.database = NULL;
		node->target.read_timeout_s = CONTROL_TIMEOUT_S;
		if (e->node_count) {
			node->target.host = e->options->nodes[e->node_count - 1].host;
			node->target.port = e->options->nodes[e->node_count - 1].port;
			node->target.socket = NULL;
		}
		node->control = client_dial(&node->target, e->err);
		if (!node->control) {
			close_nodes(e);
			return false;
		}
	}
	e->control = e->nodes[0].control;
	e->client_max = client_max;
	e->clients = mem_zero(client_max, sizeof(*e->clients));
	e->fds = mem_zero(client_max, sizeof(*e->fds));
	return true;
}

bool engine_close(struct engine *e, bool ok)
{
	engine_close_sessions(e);
	end_prepared(e);
	engine_end_binlog(e);
	for (size_t i = 0; i < e->database_count; i++) {
		if (!e->options->keep_database && !e->control_dead &&
			!control_statement(e, "drop database if exists", e->databases[i]) && ok)
			ok = engine_fail(e, "the database cannot be dropped");
		mem_free(e->databases[i]);
	}
	mem_free(e->databases);
	snapshot_release(&e->snapshot);
	instrument_tables_release(&e->tables);
	if (e->writer) {
		struct err local;

		capture_worker_close(&e->worker);
		if (!trace_writer_close(e->writer, ok ? e->err : &local))
			ok = false;
	}
	close_nodes(e);
	mem_free(e->clients);
	mem_free(e->fds);
	return ok;
}
