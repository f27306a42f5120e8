/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "db/query.h"
#include "run/expect.h"
#include "run/settings.h"

struct run {
	struct engine engine;
	const struct scenario *scenario;
	const struct run_options *options;
	struct run_summary *summary;
	const struct scenario_section *section; /* being run */
	bool *sent;
	size_t first_unsent;
};

static void tell(struct run *r, enum run_event_kind kind, const struct client *client,
	const char *session, const struct scenario_stmt *stmt, const char *unmet)
{
	struct run_event event = {
		.kind = kind, .session = session, .stmt = stmt, .client = client, .unmet = unmet};

	if (r->options->tell)
		r->options->tell(r->options->ctx, &event);
}

/* ---- before and after ---- */

static bool run_setup(struct run *r)
{
	MYSQL *control = r->engine.control;

	for (size_t i = 0; i < r->scenario->setup.count; i++) {
		const struct scenario_stmt *stmt = &r->scenario->setup.stmts[i];

		if (!engine_query(&r->engine, stmt->sql))
			return err_set(r->engine.err, ERR_SERVER, "setup, line %u: error %u: %s",
				stmt->place.line, mysql_errno(control), mysql_error(control));
	}
	return true;
}

static bool begin_trace(struct run *r)
{
	const char *facts[] = {"scenario", NULL, NULL};
	struct span id = scenario_meta(r->scenario, "id");
	struct buf text = BUF_INIT;

	facts[1] = id.ptr; /* the arena's spans end in a NUL */
	if (!engine_open_trace(&r->engine, id.ptr ? facts : NULL))
		return false;
	scenario_print(r->scenario, &text);
	engine_note(&r->engine, "scenario", buf_span(&text));
	buf_release(&text);
	return engine_begin_trace(&r->engine);
}

/* From 0. */
static size_t node_of(const struct scenario *scenario, size_t session)
{
	uint32_t node = scenario->sessions[session].node;

	return node ? node - 1 : 0;
}

static bool open_sessions(struct run *r)
{
	for (uint32_t i = 0; i < r->scenario->session_count; i++) {
		enum txn_level level =
			r->options->level ? r->options->level : scenario_level(r->scenario, i);

		if (!engine_open_session(&r->engine, i, node_of(r->scenario, i), i + 1,
			    r->scenario->sessions[i].name.ptr, r->options->target.database, level))
			return false;
	}
	return true;
}

/* ---- events ---- */

static void answered(void *ctx, struct client *c)
{
	struct run *r = ctx;
	const struct scenario_stmt *stmt = &r->section->stmts[c->stmt];
	struct buf why = BUF_INIT;
	/* What sessions are answered that do not wait for each other is a matter of chance. */
	bool met = (scenario_rounds(r->scenario) && r->section == &r->scenario->schedule) || expect_met(&stmt->expect, c, &why);

	r->summary->statements++;
	r->summary->blocked += c->blocked;
	r->summary->errors += c->error && !c->dead;
	r->summary->lost += c->dead;
	r->summary->unmet += !met;
	tell(r, RUN_ANSWERED, c, c->name, stmt, met ? NULL : why.data);
	buf_release(&why);
}

/* Blocked is what the schedule cannot wait for.  A session that was only seen waiting for a moment is
 * not: how often that is seen depends on the machine, this does not. */
static void go_on_without(struct run *r)
{
	for (size_t i = 0; i < r->engine.client_count; i++) {
		struct client *c = &r->engine.clients[i];

		if (c->state == CLIENT_IDLE || c->blocked)
			continue;
		c->blocked = true;
		tell(r, RUN_BLOCKED, c, c->name, &r->section->stmts[c->stmt], NULL);
	}
}

/* ---- the schedule ---- */

static struct client *client_of(struct run *r, const struct scenario_stmt *stmt)
{
	return &r->engine.clients[stmt->session == SCENARIO_NO_SESSION ? 0 : stmt->session];
}

/* The first statement that is not sent and whose session is free; those of dead ones are reported. */
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

static bool run_section(struct run *r, const struct scenario_section *section)
{
	struct engine *e = &r->engine;

	r->section = section;
	r->first_unsent = 0;
	mem_free(r->sent);
	r->sent = mem_zero(section->count + 1, sizeof(*r->sent));
	for (;;) {
		size_t next;

		engine_settle(e, NULL);
		if (engine_stopped(e)) {
			engine_note(e, "interrupted", SPAN_LIT("the user ended the run"));
			engine_abandon_all(e);
			return err_set(e->err, ERR_SERVER, "interrupted");
		}
		go_on_without(r);
		if (next_statement(r, &next)) {
			struct client *c = client_of(r, &section->stmts[next]);

			r->sent[next] = true;
			c->stmt = (uint32_t)next;
			engine_sending(e, c);
			client_send(c, section->stmts[next].sql);
		} else if (!engine_any_busy(e)) {
			return true;
		} else if (!engine_serve(e, (int)(r->options->hang_timeout_ns / 1000000)) &&
			   !engine_stopped(e)) {
			/* Not even the server's own lock wait timeout ended it. */
			engine_note(e, "hang",
				SPAN_LIT("nothing moves any more; sessions were killed"));
			r->summary->hung = true;
			engine_abandon_all(e);
		}
	}
}

/* ---- sessions that do not wait for each other ---- */

/* What a session has sent of its part of the schedule. */
struct free_session {
	size_t next;     /* index in the section; its count: nothing is left of this round */
	uint32_t rounds; /* that are over */
};

static size_t next_of_session(const struct scenario_section *section, size_t at, uint32_t session)
{
	while (at < section->count && section->stmts[at].session != session)
		at++;
	return at;
}

/* Sends the session's next statement, or ends it: what it holds would keep the others waiting. */
static void go_on_freely(struct run *r, uint32_t session, struct free_session *mine)
{
	const struct scenario_section *section = r->section;
	struct client *c = &r->engine.clients[session];

	if (mine->next == section->count) {
		mine->rounds++;
		mine->next = next_of_session(section, 0, session);
	}
	if (c->dead || mine->next == section->count || mine->rounds == scenario_rounds(r->scenario)) {
		client_close(c, engine_end_reason(c));
		return;
	}
	c->stmt = (uint32_t)mine->next;
	mine->next = next_of_session(section, mine->next + 1, session);
	engine_sending(&r->engine, c);
	client_send(c, section->stmts[c->stmt].sql);
}

/* Versions are read beside the sessions, and none of them is served meanwhile: not for long behind an ALTER TABLE, which itself waits
 * for a session that would have to go on. */
static void bound_own_waits(struct engine *e, const char *sql)
{
	for (size_t i = 0; i < e->node_count; i++)
		(void)!db_send(e->nodes[i].control, sql);
}

/* Each session sends its statements one after the other, all of them as often as `# rounds:` says. */
static bool run_freely(struct run *r, const struct scenario_section *section)
{
	struct free_session *sessions = mem_zero(r->scenario->session_count + 1, sizeof(*sessions));
	struct engine *e = &r->engine;
	bool ok = true;

	r->section = section;
	e->free = true;
	bound_own_waits(e, "set session lock_wait_timeout = 1");
	for (uint32_t i = 0; i < r->scenario->session_count; i++)
		sessions[i].next = next_of_session(section, 0, i);
	for (;;) {
		for (uint32_t i = 0; i < r->scenario->session_count; i++)
			if (e->clients[i].mysql && e->clients[i].state == CLIENT_IDLE)
				go_on_freely(r, i, &sessions[i]);
		if (engine_stopped(e)) {
			engine_note(e, "interrupted", SPAN_LIT("the user ended the run"));
			engine_abandon_all(e);
			ok = err_set(e->err, ERR_SERVER, "interrupted");
			break;
		}
		if (!engine_any_busy(e))
			break;
		if (!engine_serve(e, (int)(r->options->hang_timeout_ns / 1000000)) && !engine_stopped(e)) {
			engine_note(e, "hang", SPAN_LIT("nothing moves any more; sessions were killed"));
			r->summary->hung = true;
			engine_abandon_all(e);
		}
	}
	bound_own_waits(e, "set session lock_wait_timeout = default");
	e->free = false;
	mem_free(sessions);
	return ok;
}

static bool run_final(struct run *r)
{
	engine_end_binlog(&r->engine);
	if (!engine_sync_nodes(&r->engine) ||
		!snapshot_rows(&r->engine.snapshot, "final", r->engine.err))
		return false;
	if (!r->scenario->final.count)
		return true;
	if (!engine_open_session(&r->engine, 0, 0, (uint32_t)r->scenario->session_count + 1,
		    "final", r->options->target.database, LEVEL_UNKNOWN))
		return false;
	return run_section(r, &r->scenario->final);
}

static bool run_all(struct run *r)
{
	struct engine *e = &r->engine;

	if (!settings_check(e, r->scenario) || !engine_make_database(e, r->options->target.database) || !run_setup(r) ||
		!begin_trace(r) || !open_sessions(r))
		return false;
	engine_watch(e);
	r->summary->watch = e->nodes[0].watch.kind;
	if (!(scenario_rounds(r->scenario) ? run_freely : run_section)(r, &r->scenario->schedule))
		return false;
	r->summary->server_gone = !engine_server_alive(e);
	engine_close_sessions(e);
	if (r->summary->server_gone) {
		engine_note(e, "server", SPAN_LIT("the server is gone"));
		return true;
	}
	return run_final(r);
}

bool run_scenario(const struct scenario *scenario, const struct run_options *options,
	struct run_summary *summary, struct err *err)
{
	_Static_assert(SCENARIO_SESSION_MAX < CLIENT_SET_WORDS * 64, "a set holds all sessions");
	struct run r = {.scenario = scenario, .options = options, .summary = summary};
	bool ok;

	*summary = (struct run_summary){0};
	r.engine = (struct engine){
		.options = options, .source = "run", .err = err, .answered = answered, .ctx = &r};
	if (!engine_open(&r.engine, scenario->session_count + 1, scenario_nodes(scenario)))
		return false;
	summary->opened = true;
	ok = run_all(&r);
	summary->by_time = r.engine.by_time;
	ok = engine_close(&r.engine, ok);
	mem_free(r.sent);
	return ok;
}
