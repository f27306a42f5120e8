/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/replay.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "run/prepared.h"
#include "server/commands.h"
#include "server/errors.h"

enum event_kind { EVENT_BEGIN, EVENT_END, EVENT_CLOSE };

struct event {
	uint64_t seq;
	enum event_kind kind;
	uint32_t index; /* statement or session */
};

/* A session of the recording while it is replayed. */
struct player {
	uint32_t client;  /* index in the engine, or EXECUTION_NONE: it sends nothing */
	uint32_t next;    /* statement to send: index, or NONE */
	uint32_t begun;   /* the last statement whose recorded begin has come */
	uint32_t due;     /* the last statement that is to be sent */
	uint32_t current; /* under way, or NONE */
	uint32_t rows;    /* of the bulk execution under way that have yet to be sent one by one */
	uint32_t row;     /* the next of them */
	bool opened, gone;
};

struct player_name {
	char text[80];
};

struct replayer {
	struct engine engine;
	const struct execution *e;
	const struct replay_options *options;
	struct run_options run; /* with the database's name as it is here */
	struct replay_summary *summary;
	struct player *players;
	struct player_name *names; /* of sessions, as strings */
	uint32_t *player_of;       /* by client */
	bool *told_blocked;        /* by statement */
	uint64_t start_ns, recorded_start_ns;
};

static void diverged(struct replayer *r, enum divergence_kind kind, uint32_t stmt, uint32_t error,
	const char *why)
{
	struct divergence d = {.kind = kind,
		.stmt = &r->e->stmts[stmt],
		.session = r->e->sessions[r->e->stmts[stmt].session].name,
		.error = error,
		.why = why};
	static const char *const topics[] = {
		"blocked here", "not blocked here", "another answer", "not sent", "row by row"};
	char text[200];

	r->summary->diverged[kind]++;
	snprintf(text, sizeof(text), "%.*s, statement %u", SPAN_ARG(d.session), d.stmt->ordinal);
	engine_note(&r->engine, topics[kind], span_str(text));
	if (r->options->diverged)
		r->options->diverged(r->options->ctx, &d);
}

static struct client *client_of(struct replayer *r, const struct player *p)
{
	return &r->engine.clients[p->client];
}

/* ---- answers ---- */

static void answered(void *ctx, struct client *c)
{
	struct replayer *r = ctx;
	struct player *p = &r->players[r->player_of[c - r->engine.clients]];
	const struct execution_stmt *stmt = &r->e->stmts[p->current];
	uint32_t index = p->current;

	p->current = EXECUTION_NONE;
	if (c->dead) {
		r->summary->statements++;
		r->summary->lost++;
		p->next = stmt->next_in_session;
		p->rows = 0;
		p->gone = true;
		return;
	}
	if (p->rows && c->error)
		p->rows = 0; /* as one execution ends at the row that fails */
	if (p->rows)
		return;
	r->summary->statements++;
	p->next = stmt->next_in_session;
	if (execution_blocked(stmt) && !c->waiting)
		diverged(r, DIVERGED_NOT_BLOCKED, index, 0, NULL);
	if (c->error != stmt->record.error && !(stmt->record.flags & STMT_NO_REPLY))
		diverged(r, DIVERGED_ERROR, index, c->error, NULL);
}

/* ---- sending ---- */

static bool open_player(struct replayer *r, uint32_t session)
{
	struct player *p = &r->players[session];
	const struct execution_session *s = &r->e->sessions[session];
	const char *database = NULL;

	if (p->opened)
		return true;
	p->opened = true;
	/* Its database, by the name that it has here. */
	if (s->database.len)
		database = r->run.target.database;
	for (size_t i = 0; i < r->engine.database_count; i++)
		if (span_eq_str(s->database, r->engine.databases[i]))
			database = r->engine.databases[i];
	return engine_open_session(&r->engine, p->client, 0, p->client + 1, r->names[session].text,
		database, (enum txn_level)s->level);
}

static bool loads_local_file(struct span sql)
{
	static const char *const words[] = {"load", "local", "infile"};
	size_t found = 0, at = 0;

	while (at < sql.len && found < ARRAY_LEN(words)) {
		size_t len = 0;

		while (at + len < sql.len && isalpha((unsigned char)sql.ptr[at + len]))
			len++;
		if (len && span_ieq_str(span_of(sql.ptr + at, len), words[found]))
			found++;
		else if (len && !found)
			return false;
		at += len ? len : 1;
	}
	return found == ARRAY_LEN(words);
}

/* Also for what the recorded server could prepare and this one cannot (MySQL: BEGIN); that the
 * PREPARE failed was reported. */
static bool send_text(struct client *c, const struct execution_stmt *stmt, struct err *err)
{
	struct buf sql = BUF_INIT;
	bool ok = execution_sql(stmt, MOMENTS_AS_TEXTS, &sql, err);

	if (ok && loads_local_file(buf_span(&sql)))
		ok = err_set(err, ERR_UNSUPPORTED,
			"LOAD DATA LOCAL: of the client's file a trace has name, size and digest, "
			"not the content");
	if (ok)
		client_send(c, buf_span(&sql));
	buf_release(&sql);
	return ok;
}

/* The next row of an execution of which the first rows were sent. */
static bool send_row(
	struct player *p, struct client *c, const struct execution_stmt *stmt, struct err *err)
{
	p->rows--;
	return client_execute_row(c, stmt->record.prepared, stmt->record.params, p->row++, err);
}

static bool send_bulk(struct replayer *r, struct player *p, uint32_t index, struct err *err)
{
	const struct execution_stmt *stmt = &r->e->stmts[index];
	struct client *c = client_of(r, p);
	uint32_t name = stmt->record.prepared, rows;
	const char *why = "this server has no bulk executions";

	if (p->rows)
		return send_row(p, c, stmt, err);
	if (!client_bulk_rows(c, name, stmt->record.params, &rows, err))
		return false;
	if (client_can_bulk(c)) {
		if (client_execute_bulk(c, name, stmt->record.params, err))
			return true;
		why = err->text;
	}
	diverged(r, DIVERGED_ROW_BY_ROW, index, 0, why);
	p->rows = rows;
	p->row = 0;
	return send_row(p, c, stmt, err);
}

static void send_stmt(struct replayer *r, uint32_t index)
{
	const struct execution_stmt *stmt = &r->e->stmts[index];
	struct player *p = &r->players[stmt->session];
	struct client *c = client_of(r, p);
	struct err err;
	bool ok = true;

	engine_sending(&r->engine, c);
	switch (stmt->record.command) {
	case CMD_STMT_PREPARE:
		client_prepare(c, stmt->record.number, stmt->sql);
		break;
	case CMD_STMT_EXECUTE:
		ok = client_execute(c, stmt->record.prepared, stmt->record.params, &err);
		if (!ok && !client_is_prepared(c, stmt->record.prepared))
			ok = send_text(c, stmt, &err);
		break;
	case CMD_STMT_BULK_EXECUTE:
		ok = send_bulk(r, p, index, &err);
		break;
	default:
		ok = send_text(c, stmt, &err);
	}
	if (ok) {
		p->current = index;
		return;
	}
	p->rows = 0;
	p->next = stmt->next_in_session;
	diverged(r, DIVERGED_NOT_SENT, index, 0, err.text);
}

/* Sends what is due in a session that is free; true when something went out. */
static bool send_due(struct replayer *r, struct player *p)
{
	bool any = false;

	while (p->current == EXECUTION_NONE && p->next != EXECUTION_NONE &&
		p->due != EXECUTION_NONE && p->next <= p->due && !p->gone) {
		send_stmt(r, p->next);
		any = true;
	}
	return any;
}

/* Sessions that were held up and are free again catch up first. */
static void catch_up(struct replayer *r)
{
	for (size_t i = 0; i < r->engine.client_count; i++)
		(void)send_due(r, &r->players[r->player_of[i]]);
}

static void drop_gone(struct replayer *r, struct player *p, uint32_t index)
{
	if (p->gone && p->next == index) {
		p->next = r->e->stmts[index].next_in_session;
		diverged(r, DIVERGED_NOT_SENT, index, 0, "the session is gone");
	}
}

/* ---- the walk ---- */

static void keep_pace(struct replayer *r, uint64_t recorded_ns)
{
	uint64_t due = r->start_ns + (recorded_ns - r->recorded_start_ns), now = clock_mono_ns();

	if (!r->options->as_recorded || recorded_ns < r->recorded_start_ns)
		return;
	while (now < due && !engine_stopped(&r->engine)) {
		int left_ms = (int)((due - now) / 1000000 < 1000 ? (due - now) / 1000000 : 1000);

		if (engine_serve(&r->engine, left_ms))
			catch_up(r);
		now = clock_mono_ns();
		if (left_ms == 0)
			break;
	}
}

/* Until the session has answered or waits for a lock; each row counts where they go one by one. */
static void settle(struct replayer *r, struct player *p)
{
	uint32_t index = p->current, row;

	do {
		row = p->row;
		engine_settle(&r->engine, client_of(r, p));
		catch_up(r);
	} while (index != EXECUTION_NONE && p->current == index && p->row != row);
}

/* Does it go out at its recorded begin?  Where statements overlapped, the one that ended first was
 * most likely executed first; so the others are held until their ends (rule 3), unless it is known
 * that they were at work before: they waited, they sent much, or nothing is known of their end. */
static bool goes_at_once(const struct replayer *r, const struct execution_stmt *stmt)
{
	enum { NET_BUFFER = 16384 }; /* net_buffer_length: a server sends when so much is ready */

	return r->options->as_recorded || execution_blocked(stmt) ||
	       stmt->record.error == ER_LOCK_WAIT_TIMEOUT ||
	       stmt->record.reply_bytes > NET_BUFFER || (stmt->record.flags & STMT_NO_REPLY);
}

/* Of the sessions whose next statement is held: that whose recorded end comes first. */
static struct player *first_held(const struct replayer *r)
{
	struct player *first = NULL;

	for (size_t i = 0; i < r->engine.client_count; i++) {
		struct player *p = &r->players[r->player_of[i]];

		if (p->current == EXECUTION_NONE && p->next != EXECUTION_NONE && !p->gone &&
			p->begun == p->next && p->due != p->begun &&
			(!first || r->e->stmts[p->begun].record.seq <
					   r->e->stmts[first->begun].record.seq))
			first = p;
	}
	return first;
}

/* Sends it, and waits until it has an answer or waits for a lock. */
static void send_held(struct replayer *r, struct player *held)
{
	held->due = held->begun;
	(void)send_due(r, held);
	settle(r, held);
}

/* Waits for the session's answer.  When it waits for a lock, those that were under way beside it may
 * have let it go on; gives up when they do not. */
static void await(struct replayer *r, struct player *p)
{
	uint32_t index = p->current;
	struct player *held;

	settle(r, p);
	while (p->current == index && index != EXECUTION_NONE && (held = first_held(r))) {
		send_held(r, held);
		settle(r, p);
	}
	if (p->current == index && index != EXECUTION_NONE && !r->told_blocked[index]) {
		client_of(r, p)->blocked = true;
		if (!execution_blocked(&r->e->stmts[index]))
			diverged(r, DIVERGED_BLOCKED, index, 0, NULL);
		r->told_blocked[index] = true;
	}
}

static bool at_begin(struct replayer *r, uint32_t index)
{
	const struct execution_stmt *stmt = &r->e->stmts[index];
	struct player *p = &r->players[stmt->session];

	if (!open_player(r, stmt->session))
		return false;
	keep_pace(r, stmt->record.begin);
	if (p->current != EXECUTION_NONE)
		await(r, p);
	p->begun = index;
	drop_gone(r, p, index);
	if (!goes_at_once(r, stmt))
		return true;
	p->due = index;
	(void)send_due(r, p);
	/* Rule 2. */
	if (p->current == index && execution_blocked(stmt)) {
		settle(r, p);
		if (p->current == index)
			client_of(r, p)->blocked = true;
	}
	return true;
}

static void at_end(struct replayer *r, uint32_t index)
{
	struct player *p = &r->players[r->e->stmts[index].session], *held;

	if (p->due == EXECUTION_NONE || p->due < index) {
		p->due = index;
		/* The sessions that closed the circle were waiting already, or are the ones that went on. */
		while (r->e->stmts[index].record.error == ER_LOCK_DEADLOCK &&
			p->current == EXECUTION_NONE && p->next == index && (held = first_held(r)))
			send_held(r, held);
		(void)send_due(r, p);
	}
	if (p->current == index && !(r->e->stmts[index].record.flags & STMT_NO_REPLY))
		await(r, p);
}

static void at_close(struct replayer *r, uint32_t session)
{
	struct player *p = &r->players[session];

	if (p->client == EXECUTION_NONE || !p->opened || p->current != EXECUTION_NONE ||
		p->next != EXECUTION_NONE)
		return;
	client_close(client_of(r, p), engine_end_reason(client_of(r, p)));
}

/* What is still under way or was held up. */
static void drain(struct replayer *r)
{
	struct engine *e = &r->engine;

	catch_up(r);
	while (engine_any_busy(e) && !engine_stopped(e)) {
		engine_settle(e, NULL);
		catch_up(r);
		for (size_t i = 0; i < e->client_count; i++)
			if (e->clients[i].state != CLIENT_IDLE)
				e->clients[i].blocked = true;
		if (engine_any_busy(e) &&
			!engine_serve(e, (int)(r->run.hang_timeout_ns / 1000000)) &&
			!engine_stopped(e)) {
			engine_note(e, "hang",
				SPAN_LIT("nothing moves any more; sessions were killed"));
			engine_abandon_all(e);
		}
		catch_up(r);
	}
}

static int by_seq(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static struct event *collect(const struct execution *e, size_t *count)
{
	struct event *events = mem_zero(2 * e->stmt_count + e->session_count + 1, sizeof(*events));
	size_t n = 0;

	for (size_t i = 0; i < e->stmt_count; i++) {
		events[n++] =
			(struct event){e->stmts[i].record.begin_seq, EVENT_BEGIN, (uint32_t)i};
		events[n++] = (struct event){e->stmts[i].record.seq, EVENT_END, (uint32_t)i};
	}
	for (size_t i = 0; i < e->session_count; i++)
		if (e->sessions[i].closed_seq)
			events[n++] =
				(struct event){e->sessions[i].closed_seq, EVENT_CLOSE, (uint32_t)i};
	qsort(events, n, sizeof(*events), by_seq);
	*count = n;
	return events;
}

static bool walk(struct replayer *r)
{
	size_t count;
	struct event *events = collect(r->e, &count);
	bool ok = true;

	r->start_ns = clock_mono_ns();
	r->recorded_start_ns = r->e->stmts[0].record.begin;
	for (size_t i = 0; i < count && ok && !engine_stopped(&r->engine); i++) {
		switch (events[i].kind) {
		case EVENT_BEGIN:
			ok = at_begin(r, events[i].index);
			break;
		case EVENT_END:
			at_end(r, events[i].index);
			break;
		case EVENT_CLOSE:
			at_close(r, events[i].index);
			break;
		}
	}
	if (ok)
		drain(r);
	mem_free(events);
	if (ok && engine_stopped(&r->engine)) {
		engine_note(&r->engine, "interrupted", SPAN_LIT("the user ended the replay"));
		engine_abandon_all(&r->engine);
		ok = err_set(r->engine.err, ERR_SERVER, "interrupted");
	}
	return ok;
}

/* ---- beginning and end ---- */

static bool make_players(struct replayer *r, struct err *err)
{
	const struct execution *e = r->e;

	r->players = mem_zero(e->session_count + 1, sizeof(*r->players));
	r->names = mem_zero(e->session_count + 1, sizeof(*r->names));
	r->player_of = mem_zero(REPLAY_SESSIONS_MAX + 1, sizeof(*r->player_of));
	r->told_blocked = mem_zero(e->stmt_count + 1, sizeof(*r->told_blocked));
	for (size_t i = 0; i < e->session_count; i++) {
		struct player *p = &r->players[i];

		snprintf(r->names[i].text, sizeof(r->names[i].text), "%.*s",
			SPAN_ARG(e->sessions[i].name));
		*p = (struct player){.client = EXECUTION_NONE,
			.next = e->sessions[i].first_stmt,
			.begun = EXECUTION_NONE,
			.due = EXECUTION_NONE,
			.current = EXECUTION_NONE};
		if (!e->sessions[i].stmt_count)
			continue;
		if (r->summary->sessions == REPLAY_SESSIONS_MAX)
			return err_set(err, ERR_LIMIT,
				"more than %d sessions send statements: too many to replay",
				REPLAY_SESSIONS_MAX);
		r->player_of[r->summary->sessions] = (uint32_t)i;
		p->client = (uint32_t)r->summary->sessions++;
	}
	return true;
}

static bool replay_all(struct replayer *r)
{
	struct engine *e = &r->engine;
	const char *database;

	if (!replay_restore(e, r->e, r->options->run.target.database, r->summary, &database))
		return false;
	r->run.target.database = database ? database : "";
	if (!engine_open_trace(e, NULL) || !engine_begin_trace(e))
		return false;
	/* The databases were made for this: no other session writes there. */
	engine_note(e, "sessions", SPAN_LIT("all"));
	if (r->e->scenario.ptr)
		engine_note(e, "replay of scenario", r->e->scenario);
	engine_watch(e);
	if (!walk(r))
		return false;
	r->summary->server_gone = !engine_server_alive(e);
	engine_close_sessions(e);
	if (r->summary->server_gone) {
		engine_note(e, "server", SPAN_LIT("the server is gone"));
		return true;
	}
	return snapshot_rows(&e->snapshot, "final", e->err);
}

bool replay(const struct execution *e, const struct replay_options *options,
	struct replay_summary *summary, struct err *err)
{
	struct replayer r = {.e = e, .options = options, .run = options->run, .summary = summary};
	bool ok;

	*summary = (struct replay_summary){0};
	if (!e->stmt_count)
		return err_set(err, ERR_UNSUPPORTED, "the trace has no statement to replay");
	r.engine = (struct engine){
		.options = &r.run, .source = "replay", .err = err, .answered = answered, .ctx = &r};
	ok = make_players(&r, err) && engine_open(&r.engine, REPLAY_SESSIONS_MAX + 1, 1);
	if (ok) {
		ok = replay_all(&r);
		summary->by_time = r.engine.by_time;
		ok = engine_close(&r.engine, ok);
	}
	mem_free(r.players);
	mem_free(r.names);
	mem_free(r.player_of);
	mem_free(r.told_blocked);
	return ok;
}
