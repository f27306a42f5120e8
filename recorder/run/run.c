/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <mysqld_error.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "instrument/prepare.h"
#include "run/expect.h"
#include "run/snapshot.h"
#include "trace/pack.h"

enum {
	/* A statement that answers at once needs no look at the lock views. */
	FIRST_LOOK_NS = 10 * 1000 * 1000,
	/* A deadlock's victim may be seen waiting for the moment until it is chosen. */
	GRACE_MS = 5,
	FINAL_SESSION_WAIT_MS = 20000,
};

struct run {
	const struct scenario *scenario;
	const struct run_options *options;
	struct run_summary *summary;
	struct err *err;
	MYSQL *control;
	bool made_database;
	struct trace_writer *writer;
	struct capture_config config;
	struct capture_worker worker;
	struct capture_node node;
	struct snapshot snapshot;
	struct instrument_tables tables; /* prepared ones */
	struct watch watch;
	struct client *clients;
	size_t client_count; /* open ones come first */
	struct pollfd *fds;
	const struct scenario_section *section; /* being run */
	bool *sent;
	size_t first_unsent;
	uint64_t event_ns; /* when something was last sent or answered */
};

static bool fail(struct run *r, const char *what)
{
	return err_set(r->err, ERR_SERVER, "%s: %s", what, mysql_error(r->control));
}

static void tell(struct run *r, enum run_event_kind kind, const struct client *client,
	const char *session, const struct scenario_stmt *stmt, const char *unmet)
{
	struct run_event event = {
		.kind = kind, .session = session, .stmt = stmt, .client = client, .unmet = unmet};

	if (r->options->tell)
		r->options->tell(r->options->ctx, &event);
}

static void note(struct run *r, const char *topic, struct span text)
{
	struct record_note record = {
		.source = SPAN_LIT("run"), .topic = span_str(topic), .text = text};

	trace_emit_note(r->worker.producer, &record);
}

/* ---- before and after ---- */

static bool control_query(struct run *r, const char *sql, size_t len)
{
	if (mysql_real_query(r->control, sql, len))
		return false;
	do {
		MYSQL_RES *result = mysql_store_result(r->control);

		if (result)
			mysql_free_result(result);
		else if (mysql_errno(r->control))
			return false;
	} while (mysql_next_result(r->control) == 0);
	return mysql_errno(r->control) == 0;
}

static bool control_format(struct run *r, const char *fmt, const char *name)
{
	struct buf sql = BUF_INIT, quoted = BUF_INIT;
	bool ok;

	for (; *name; name++) {
		if (*name == '`')
			buf_add_char(&quoted, '`');
		buf_add_char(&quoted, *name);
	}
	buf_add_str(&sql, fmt);
	buf_printf(&sql, " `%s`", quoted.len ? quoted.data : "");
	ok = control_query(r, sql.data, sql.len);
	buf_release(&sql);
	buf_release(&quoted);
	return ok;
}

static bool make_database(struct run *r)
{
	const char *name = r->options->target.database;

	if (r->options->drop_database && !control_format(r, "drop database if exists", name))
		return fail(r, "the database cannot be dropped");
	if (!control_format(r, "create database", name)) {
		if (mysql_errno(r->control) == ER_DB_CREATE_EXISTS)
			return err_set(r->err, ERR_SERVER,
				"the database %s exists: choose another with --database, or let it "
				"be dropped with --drop-database",
				name);
		return fail(r, "the database cannot be made");
	}
	r->made_database = true;
	if (!control_format(r, "use", name))
		return fail(r, "the database cannot be used");
	return true;
}

static bool run_setup(struct run *r)
{
	for (size_t i = 0; i < r->scenario->setup.count; i++) {
		const struct scenario_stmt *stmt = &r->scenario->setup.stmts[i];

		if (!control_query(r, stmt->sql.ptr, stmt->sql.len))
			return err_set(r->err, ERR_SERVER, "setup, line %u: error %u: %s",
				stmt->place.line, mysql_errno(r->control), mysql_error(r->control));
	}
	return true;
}

static void on_prepared(void *ctx, const char *database, const char *table,
	enum prepare_outcome outcome, const char *why)
{
	struct run *r = ctx;
	struct buf text = BUF_INIT;

	(void)database;
	if (outcome == PREPARE_DONE && strcmp(why, "is prepared") == 0)
		return;
	buf_printf(&text, "%s %s", table, why);
	note(r, "instrumentation", buf_span(&text));
	buf_release(&text);
}

/* Tables without a key get a hidden one: scenarios have many of them. */
static bool instrument_database(struct run *r)
{
	struct prepare_options options = {.database = r->options->target.database,
		.add_key = true,
		.tell = on_prepared,
		.ctx = r};
	struct prepare_summary summary;

	if (!r->options->instrument)
		return true;
	note(r, "instrumentation", SPAN_LIT("trigger"));
	return prepare_database(r->control, &options, &summary, r->err) &&
	       instrument_tables_load(
		       &r->tables, r->control, r->options->target.database, r->err);
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
		if (mysql_query(mysql, sql) == 0)
			result = mysql_store_result(mysql);
		row = result ? mysql_fetch_row(result) : NULL;
		if (row && row[0])
			level = scenario_level_word(span_str(row[0]));
		if (result)
			mysql_free_result(result);
	}
	return level;
}

static bool open_trace(struct run *r)
{
	const char *facts[] = {"scenario", NULL, NULL};
	struct trace_writer_options options;
	struct span id = scenario_meta(r->scenario, "id");
	char *name = id.ptr ? mem_strdup(id.ptr) : NULL; /* the arena's spans end in a NUL */

	trace_writer_defaults(&options);
	options.recorder = "isorec " ISOTRACE_VERSION;
	options.overwrite = r->options->overwrite;
	facts[1] = name;
	options.facts = name ? facts : NULL;
	options.policy = TRACE_POLICY_WAIT;
	r->writer = trace_writer_open(r->options->output, &options, r->err);
	free(name);
	if (!r->writer)
		return false;
	r->config = (struct capture_config){
		.levels = CAPTURE_PARAMS | CAPTURE_RESULTS, .values.value_keep_max = 16 << 20};
	capture_worker_open(&r->worker, &r->config, r->writer, 0, 1);
	return true;
}

static bool number_tables(struct run *r)
{
	for (size_t i = 0; i < r->snapshot.table_count; i++) {
		struct instrument_table *table = instrument_tables_find(&r->tables,
			span_str(r->options->target.database), span_str(r->snapshot.tables[i]));

		if (table)
			table->number = (uint32_t)i;
	}
	return true;
}

static bool begin_trace(struct run *r)
{
	struct buf text = BUF_INIT;

	r->node = (struct capture_node){.name = "n1",
		.address = r->options->target.socket ? r->options->target.socket
						     : r->options->target.host};
	atomic_store(&r->node.announced, true); /* the snapshot's server record says more */
	atomic_store(&r->node.level, (uint8_t)level_of(r->control, "global"));
	r->snapshot = (struct snapshot){.control = r->control,
		.producer = r->worker.producer,
		.node = r->node.name,
		.address = r->node.address,
		.database = r->options->target.database,
		.rows_max = r->options->rows_max,
		.limits = r->config.values,
		.instrument = r->options->instrument ? &r->tables : NULL};
	scenario_print(r->scenario, &text);
	note(r, "scenario", buf_span(&text));
	buf_release(&text);
	return snapshot_server(&r->snapshot, r->err) && instrument_database(r) &&
	       snapshot_schema(&r->snapshot, r->err) && number_tables(r) &&
	       snapshot_rows(&r->snapshot, "initial", r->err);
}

/* Connects a session and gives it its level, before anything of it is recorded as a statement. */
static bool open_session(
	struct run *r, size_t index, uint32_t id, const char *name, enum txn_level level)
{
	struct client *c = &r->clients[index];

	if (!client_open(c, &r->options->target, &r->worker, &r->node, id, name, r->err))
		return false;
	r->client_count = index + 1;
	if (level) {
		char sql[80];

		snprintf(sql, sizeof(sql), "set session transaction isolation level %s",
			txn_level_name((uint8_t)level));
		if (mysql_query(c->mysql, sql))
			return err_set(r->err, ERR_SERVER, "session %s: %s: %s", name, sql,
				mysql_error(c->mysql));
	}
	/* What the server says, not what was asked for. */
	c->capture.level_session = (uint8_t)level_of(c->mysql, "session");
	if (r->options->instrument)
		client_instrument(c, &r->tables);
	return true;
}

static bool open_sessions(struct run *r)
{
	for (uint32_t i = 0; i < r->scenario->session_count; i++) {
		enum txn_level level =
			r->options->level ? r->options->level : scenario_level(r->scenario, i);

		if (!open_session(r, i, i + 1, r->scenario->sessions[i].name.ptr, level))
			return false;
	}
	return true;
}

/* The server rolls back behind our back when a connection ends; the final state is the one after
 * that. */
static void wait_closed(struct run *r, const struct buf *threads)
{
	struct buf sql = BUF_INIT;

	if (!threads->len)
		return;
	buf_printf(&sql, "select 1 from information_schema.processlist where id in (%s) limit 1",
		threads->data);
	for (int waited_ms = 0; waited_ms < FINAL_SESSION_WAIT_MS; waited_ms += 5) {
		MYSQL_RES *result = NULL;
		bool some;

		if (mysql_query(r->control, sql.data) == 0)
			result = mysql_store_result(r->control);
		some = result && mysql_num_rows(result);
		if (result)
			mysql_free_result(result);
		if (!some)
			break;
		poll(NULL, 0, 5);
	}
	buf_release(&sql);
}

static void close_sessions(struct run *r)
{
	struct buf threads = BUF_INIT;

	for (size_t i = 0; i < r->client_count; i++) {
		struct client *c = &r->clients[i];

		if (c->mysql)
			buf_printf(&threads, "%s%lu", threads.len ? "," : "",
				mysql_thread_id(c->mysql));
		client_close(c, c->dead ? "lost" : NULL);
	}
	r->client_count = 0;
	if (r->control)
		wait_closed(r, &threads);
	buf_release(&threads);
}

/* ---- events ---- */

static void answered(struct run *r, struct client *c)
{
	const struct scenario_stmt *stmt = &r->section->stmts[c->stmt];
	struct buf why = BUF_INIT;
	bool met = expect_met(&stmt->expect, c, &why);

	r->event_ns = clock_mono_ns();
	r->summary->statements++;
	r->summary->blocked += c->blocked;
	r->summary->errors += c->error && !c->dead;
	r->summary->lost += c->dead;
	r->summary->unmet += !met;
	tell(r, RUN_ANSWERED, c, c->name, stmt, met ? NULL : why.data);
	buf_release(&why);
	c->blocked = c->waiting = c->settled = c->by_time = false;
	/* Whoever waits may go on now: what is known of the others is out of date. */
	for (size_t i = 0; i < r->client_count; i++)
		r->clients[i].settled = false;
}

/* Before the reply's record is made. */
static void fill_blocked(struct client *c)
{
	struct capture *capture = &c->capture;

	/* Seen even when nobody looked: it answered while all who could hold a lock were idle. */
	capture->now.blocked_seen = true;
	capture->now.blocked_ns = c->blocked ? clock_mono_ns() - c->waiting_since + 1 : 0;
	if (!c->blocked)
		buf_clear(&capture->now.blockers);
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

static bool stopped(const struct run *r)
{
	return r->options->stop && *r->options->stop;
}

/* Serves the sessions until at least one has its answer, or the time is over, or the user wants no
 * more.  True: one has. */
static bool serve(struct run *r, int timeout_ms)
{
	uint64_t deadline = clock_mono_ns() + (uint64_t)timeout_ms * 1000000;
	bool any = false;

	for (;;) {
		nfds_t count = 0;
		uint64_t now;

		for (size_t i = 0; i < r->client_count; i++) {
			struct client *c = &r->clients[i];

			r->fds[i] = (struct pollfd){.fd = -1};
			if (c->state == CLIENT_IDLE)
				continue;
			r->fds[i].fd = mysql_get_socket(c->mysql);
			r->fds[i].events = events_of(c->wait);
			count = i + 1;
		}
		now = clock_mono_ns();
		if (poll(r->fds, count,
			    any || now >= deadline ? 0 : (int)((deadline - now) / 1000000 + 1)) < 0)
			count = 0; /* a signal */
		for (size_t i = 0; i < count; i++) {
			struct client *c = &r->clients[i];
			int ready = r->fds[i].fd < 0 ? 0 : ready_of(r->fds[i].revents) & c->wait;

			if (c->state == CLIENT_IDLE || (c->wait && !ready))
				continue;
			fill_blocked(c);
			if (client_step(c, ready)) {
				answered(r, c);
				any = true;
			}
		}
		if (any || stopped(r) || clock_mono_ns() >= deadline)
			return any;
	}
}

/* ---- settling ---- */

static void mark_by_time(struct run *r, struct client *c)
{
	c->settled = true;
	if (!c->waiting)
		c->waiting_since = c->command.begin.at;
	c->waiting = c->by_time = true;
	r->summary->by_time = true;
}

/* The views say who waits; what neither waits nor answers is given its time. */
static void look(struct run *r)
{
	uint64_t now = clock_mono_ns();
	uint64_t limit =
		r->watch.kind ? r->options->answer_timeout_ns : r->options->blocked_timeout_ns;

	if (r->watch.kind && now >= watch_next_ns(&r->watch) &&
		now >= r->event_ns + FIRST_LOOK_NS) {
		if (!watch_look(&r->watch, r->clients, r->client_count))
			r->watch.kind = WATCH_NONE;
		else if (serve(r, GRACE_MS))
			return;
	}
	for (size_t i = 0; i < r->client_count; i++) {
		struct client *c = &r->clients[i];

		if (c->state != CLIENT_IDLE && !c->settled && now >= r->event_ns + limit)
			mark_by_time(r, c);
	}
}

/* Blocked is what the schedule cannot wait for.  Whoever was only seen waiting for a moment is
 * not: how often that is seen depends on the machine, this does not. */
static void go_on_without(struct run *r)
{
	for (size_t i = 0; i < r->client_count; i++) {
		struct client *c = &r->clients[i];

		if (c->state == CLIENT_IDLE || c->blocked)
			continue;
		c->blocked = true;
		tell(r, RUN_BLOCKED, c, c->name, &r->section->stmts[c->stmt], NULL);
	}
}

static bool all_settled(const struct run *r)
{
	for (size_t i = 0; i < r->client_count; i++)
		if (r->clients[i].state != CLIENT_IDLE && !r->clients[i].settled)
			return false;
	return true;
}

/* Until every session is idle or known to wait (rule 1). */
static void settle(struct run *r)
{
	while (!all_settled(r) && !stopped(r)) {
		uint64_t now = clock_mono_ns(), next = r->event_ns + FIRST_LOOK_NS;

		if (r->watch.kind && watch_next_ns(&r->watch) > next)
			next = watch_next_ns(&r->watch);
		if (next <= now)
			next = now + 10000000; /* only time can tell more */
		if (!serve(r, (int)((next - now) / 1000000 + 1)))
			look(r);
	}
}

/* ---- the schedule ---- */

static struct client *client_of(struct run *r, const struct scenario_stmt *stmt)
{
	return &r->clients[stmt->session == SCENARIO_NOBODY ? 0 : stmt->session];
}

/* The first statement that is not sent and whose session is free; those of dead ones are told. */
static bool next_statement(struct run *r, size_t *out)
{
	while (r->first_unsent < r->section->count && r->sent[r->first_unsent])
		r->first_unsent++;
	for (size_t i = r->first_unsent; i < r->section->count; i++) {
		struct client *c = client_of(r, &r->section->stmts[i]);

		if (r->sent[i])
			continue;
		if (c->dead) {
			r->sent[i] = true;
			r->summary->not_sent++;
			tell(r, RUN_NOT_SENT, NULL, c->name, &r->section->stmts[i], NULL);
		} else if (c->state == CLIENT_IDLE) {
			*out = i;
			return true;
		}
	}
	return false;
}

static bool any_busy(const struct run *r)
{
	for (size_t i = 0; i < r->client_count; i++)
		if (r->clients[i].state != CLIENT_IDLE)
			return true;
	return false;
}

static void abandon_all(struct run *r)
{
	for (size_t i = 0; i < r->client_count; i++) {
		struct client *c = &r->clients[i];
		char sql[40];

		if (c->state == CLIENT_IDLE)
			continue;
		/* Else it would hold its locks until it notices that nobody is there. */
		snprintf(sql, sizeof(sql), "kill %lu", mysql_thread_id(c->mysql));
		(void)control_query(r, sql, strlen(sql));
		fill_blocked(c);
		client_abandon(c, "no answer came");
		answered(r, c);
	}
}

static bool run_section(struct run *r, const struct scenario_section *section)
{
	r->section = section;
	r->first_unsent = 0;
	free(r->sent);
	r->sent = mem_zero(section->count + 1, sizeof(*r->sent));
	for (;;) {
		size_t next;

		settle(r);
		if (stopped(r)) {
			note(r, "interrupted", SPAN_LIT("the user ended the run"));
			abandon_all(r);
			return err_set(r->err, ERR_SERVER, "interrupted");
		}
		go_on_without(r);
		if (next_statement(r, &next)) {
			struct client *c = client_of(r, &section->stmts[next]);

			r->sent[next] = true;
			c->stmt = (uint32_t)next;
			c->blocked = c->waiting = c->settled = c->by_time = false;
			r->event_ns = clock_mono_ns();
			client_send(c, section->stmts[next].sql);
		} else if (!any_busy(r)) {
			return true;
		} else if (!serve(r, (int)(r->options->hang_timeout_ns / 1000000)) && !stopped(r)) {
			/* Not even the server's own lock wait timeout ended it. */
			note(r, "hang", SPAN_LIT("nothing moves any more; sessions were killed"));
			abandon_all(r);
		}
	}
}

static bool server_alive(struct run *r)
{
	return mysql_ping(r->control) == 0;
}

static bool run_final(struct run *r)
{
	if (!snapshot_rows(&r->snapshot, "final", r->err))
		return false;
	if (!r->scenario->final.count)
		return true;
	if (!open_session(r, 0, (uint32_t)r->scenario->session_count + 1, "final", LEVEL_UNKNOWN))
		return false;
	return run_section(r, &r->scenario->final);
}

static bool run_all(struct run *r)
{
	if (!make_database(r) || !run_setup(r) || !open_trace(r) || !begin_trace(r) ||
		!open_sessions(r))
		return false;
	watch_open(&r->watch, r->control);
	r->summary->watch = r->watch.kind;
	note(r, "blocked is known from", span_str(watch_name(r->watch.kind)));
	if (!run_section(r, &r->scenario->schedule))
		return false;
	r->summary->server_gone = !server_alive(r);
	close_sessions(r);
	if (r->summary->server_gone) {
		note(r, "server", SPAN_LIT("the server is gone"));
		return true;
	}
	return run_final(r);
}

bool run_scenario(const struct scenario *scenario, const struct run_options *options,
	struct run_summary *summary, struct err *err)
{
	struct run_target control = options->target;
	size_t sessions = scenario->session_count + 1;
	_Static_assert(SCENARIO_SESSION_MAX < CLIENT_SET_WORDS * 64, "a set holds all sessions");
	struct run r = {.scenario = scenario, .options = options, .summary = summary, .err = err};
	bool ok;

	*summary = (struct run_summary){0};
	control.database = NULL;
	control.read_timeout_s = 30;
	r.control = client_dial(&control, err);
	if (!r.control)
		return false;
	r.clients = mem_zero(sessions, sizeof(*r.clients));
	r.fds = mem_zero(sessions, sizeof(*r.fds));
	ok = run_all(&r);
	close_sessions(&r);
	if (r.made_database && !options->keep_database && !summary->server_gone &&
		!control_format(&r, "drop database if exists", options->target.database) && ok)
		ok = fail(&r, "the database cannot be dropped");
	snapshot_release(&r.snapshot);
	instrument_tables_release(&r.tables);
	if (r.writer) {
		struct err local;

		capture_worker_close(&r.worker);
		if (!trace_writer_close(r.writer, ok ? err : &local))
			ok = false;
	}
	mysql_close(r.control);
	free(r.sent);
	free(r.clients);
	free(r.fds);
	return ok;
}
