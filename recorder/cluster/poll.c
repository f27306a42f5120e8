/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/poll.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <mysql.h>

#include "base/clock.h"
#include "base/mem.h"
#include "capture/cluster_event.h"
#include "db/levels_in_programs.h"
#include "db/query.h"
#include "server/errors.h"
#include "sql/text/stmt_classify.h"
#include "trace/doubts.h"
#include "trace/pack.h"

/* How much a start may seem to move before it is a restart: the server counts whole seconds. */
enum { START_SLACK_S = 3 };

enum view {
	VIEW_GALERA,
	VIEW_GROUP,
	VIEW_TIDB,
	VIEW_COUNT,
};

enum { FACTS_MAX = 64 };

/* A name and value that are watched. */
struct fact {
	char *name, *value;
	bool seen; /* in this look */
};

struct poller_state {
	struct trace_producer *producer;
	MYSQL *db;
	bool known, reachable; /* known: reachable says something */
	bool views_known, view[VIEW_COUNT];
	uint64_t started;   /* the server, by the monotonic clock in seconds; 0: not known */
	uint64_t last_look; /* monotonic */
	uint64_t level_agreed; /* the global level was last seen to be what is believed; monotonic */
	struct fact facts[FACTS_MAX];
	size_t fact_count;
	/* What this look found changed. */
	struct buf state_changes, member_changes;
	struct event_data state_data, member_data;
	bool first; /* nothing was known before this look */
};

/* ---- facts ---- */

static struct fact *find_fact(struct poller_state *s, const char *name)
{
	for (size_t i = 0; i < s->fact_count; i++)
		if (strcmp(s->facts[i].name, name) == 0)
			return &s->facts[i];
	return NULL;
}

static void forget_fact(struct poller_state *s, size_t i)
{
	mem_free(s->facts[i].name);
	mem_free(s->facts[i].value);
	s->facts[i] = s->facts[--s->fact_count];
}

static void note_change(struct poller_state *s, bool membership, const char *name,
	const char *value, const char *before)
{
	struct buf *text = membership ? &s->member_changes : &s->state_changes;
	struct event_data *data = membership ? &s->member_data : &s->state_data;

	buf_printf(text, "%s%s %s", text->len ? "; " : "", name, *value ? value : "''");
	if (before)
		buf_printf(text, ", was %s", *before ? before : "''");
	event_data_add(data, name, span_str(value));
}

static void fact(struct poller_state *s, bool membership, const char *name, const char *value)
{
	struct fact *f = find_fact(s, name);

	if (!f) {
		if (s->fact_count == FACTS_MAX)
			return;
		f = &s->facts[s->fact_count++];
		*f = (struct fact){mem_strdup(name), mem_strdup(value), true};
		note_change(s, membership, name, value, NULL);
		return;
	}
	f->seen = true;
	if (strcmp(f->value, value) == 0)
		return;
	note_change(s, membership, name, value, f->value);
	mem_free(f->value);
	f->value = mem_strdup(value);
}

/* Members that the list no longer has. */
static void drop_unseen(struct poller_state *s)
{
	for (size_t i = 0; i < s->fact_count; i++) {
		if (s->facts[i].seen || strncmp(s->facts[i].name, "member ", 7) != 0)
			continue;
		note_change(s, true, s->facts[i].name, "gone", s->facts[i].value);
		forget_fact(s, i--);
	}
}

/* ---- questions ---- */

static MYSQL_RES *ask(struct poller_state *s, const char *sql)
{
	if (db_send(s->db, sql))
		return NULL;
	return db_result(s->db);
}

static bool is_connection_error(MYSQL *db)
{
	/* The client library's own errors, and those of a server that is going down. */
	return mysql_errno(db) >= 2000 || mysql_errno(db) == ER_SERVER_SHUTDOWN;
}

/* "start" of the server from its uptime: a restart between two looks shows in it. */
static bool ask_uptime(struct poller *p)
{
	struct poller_state *s = p->state;
	MYSQL_RES *result = ask(s, "show global status like 'Uptime'");
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
	uint64_t now = clock_mono_ns() / 1000000000u, started;

	if (row && row[1]) {
		started = now - strtoull(row[1], NULL, 10);
		if (s->started && started > s->started + START_SLACK_S)
			note_change(s, false, "server", "restarted", NULL);
		s->started = started;
	}
	if (result)
		mysql_free_result(result);
	return result != NULL;
}

static bool ask_read_only(struct poller *p)
{
	MYSQL_RES *result = ask(p->state, "select @@global.read_only");
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;

	if (row && row[0])
		fact(p->state, false, "read_only", row[0]);
	if (result)
		mysql_free_result(result);
	return result != NULL;
}

/* Levels that sessions began with since then are not known; the trace's readers take them back. */
static void doubt_levels(struct poller *p)
{
	struct poller_state *s = p->state;
	struct record_note note = {.source = SPAN_LIT("recorder"),
		.topic = SPAN_LIT(NOTE_LEVELS_DOUBTED),
		.text = SPAN_LIT("a session that is not recorded changed the global isolation level or init_connect")};
	struct buf data = BUF_INIT;
	msgpack_packer pk = pack_into(&data);

	if (atomic_fetch_or(&p->node->hidden_levels, HIDDEN_FROM_START) & HIDDEN_FROM_START)
		return; /* they were not written */
	msgpack_pack_map(&pk, 2);
	pack_str(&pk, SPAN_LIT("node"));
	pack_str(&pk, span_str(p->node->name));
	pack_str(&pk, SPAN_LIT("since"));
	pack_uint(&pk, s->level_agreed);
	note.data = buf_span(&data);
	trace_emit_note(s->producer, &note);
	buf_release(&data);
}

/* Whether new sessions still get the level that they are believed to have. */
static bool ask_level(struct poller *p)
{
	struct poller_state *s = p->state;
	uint64_t now = clock_mono_ns();
	uint8_t before = (uint8_t)atomic_load(&p->node->level), after;
	MYSQL_RES *result = ask(s, "show global variables where variable_name in "
				   "('transaction_isolation', 'tx_isolation', 'init_connect')");
	bool doubt = false;
	MYSQL_ROW row;

	if (!result)
		return false;
	after = (uint8_t)atomic_load(&p->node->level);
	while ((row = mysql_fetch_row(result))) {
		if (!row[0] || !row[1])
			continue;
		if (strcasecmp(row[0], "init_connect") == 0)
			doubt |= text_hides_level(span_str(row[1]));
		else /* SET GLOBAL of a recorded session makes it unknown, then another one */
			doubt |= before == after && before != LEVEL_UNKNOWN &&
				 text_level(span_str(row[1])) != before;
	}
	mysql_free_result(result);
	if (doubt)
		doubt_levels(p);
	else
		s->level_agreed = now;
	return true;
}

/* Galera: state of the node, and the component it belongs to. */
static bool ask_galera(struct poller *p)
{
	static const char *const membership[] = {"wsrep_cluster_size", "wsrep_cluster_conf_id",
		"wsrep_incoming_addresses", "wsrep_cluster_state_uuid"};
	struct poller_state *s = p->state;
	MYSQL_RES *result =
		ask(s, "show global status where variable_name in ('wsrep_cluster_status', "
		       "'wsrep_cluster_size', 'wsrep_cluster_conf_id', 'wsrep_cluster_state_uuid', "
		       "'wsrep_connected', 'wsrep_ready', 'wsrep_local_state_comment', "
		       "'wsrep_incoming_addresses', 'wsrep_evs_evict_list', 'wsrep_desync_count')");
	MYSQL_ROW row;

	if (!result)
		return false;
	/* A MariaDB that could join a cluster, and has not, shows them too. */
	if (!s->views_known) {
		s->view[VIEW_GALERA] = false;
		while ((row = mysql_fetch_row(result)))
			s->view[VIEW_GALERA] |= row[0] && row[1] &&
						strcmp(row[0], "wsrep_connected") == 0 &&
						strcmp(row[1], "ON") == 0;
		mysql_data_seek(result, 0);
	}
	while ((row = mysql_fetch_row(result))) {
		bool member = false;

		if (!row[0] || !row[1])
			continue;
		for (size_t i = 0; i < ARRAY_LEN(membership); i++)
			member |= strcmp(row[0], membership[i]) == 0;
		if (s->view[VIEW_GALERA])
			fact(s, member, row[0], row[1]);
	}
	mysql_free_result(result);
	return true;
}

/* A list of members: name and what is said of it. */
static bool ask_members(struct poller *p, const char *sql)
{
	MYSQL_RES *result = ask(p->state, sql);
	MYSQL_ROW row;
	size_t count = 0;

	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) && count++ < POLL_MEMBERS_MAX) {
		char name[160];

		if (!row[0])
			continue;
		snprintf(name, sizeof(name), "member %s", row[0]);
		fact(p->state, true, name, row[1] ? row[1] : "");
	}
	mysql_free_result(result);
	return true;
}

static bool ask_group(struct poller *p)
{
	struct poller_state *s = p->state;
	MYSQL_RES *result;
	MYSQL_ROW row;

	if (!ask_members(p,
		    "select concat(member_host, ':', member_port), concat(member_state, ' ', "
		    "member_role) from performance_schema.replication_group_members "
		    "where member_id <> '' order by 1"))
		return false;
	result = ask(s, "select member_state from performance_schema.replication_group_members "
			"where member_id = @@server_uuid");
	row = result ? mysql_fetch_row(result) : NULL;
	/* Outside a group the list has one row without an id, or none. */
	if (row && row[0])
		fact(s, false, "member_state", row[0]);
	else if (result && find_fact(s, "member_state"))
		fact(s, false, "member_state", "OFFLINE");
	if (result)
		mysql_free_result(result);
	return result != NULL;
}

static bool ask_tidb(struct poller *p)
{
	return ask_members(p, "select concat(type, ' ', instance), concat(version, ' since ', "
			      "start_time) from information_schema.cluster_info order by 1");
}

/* A view that the server does not have, or does not show us, is not asked for again. */
static bool ask_views(struct poller *p)
{
	static bool (*const look[VIEW_COUNT])(struct poller *) = {
		[VIEW_GALERA] = ask_galera,
		[VIEW_GROUP] = ask_group,
		[VIEW_TIDB] = ask_tidb,
	};
	struct poller_state *s = p->state;

	for (size_t i = 0; i < VIEW_COUNT; i++) {
		if (s->views_known && !s->view[i])
			continue;
		s->view[i] = true;
		if (!look[i](p)) {
			if (is_connection_error(s->db))
				return false;
			s->view[i] = false;
		}
	}
	s->views_known = true;
	return true;
}

/* ---- a look ---- */

static void emit(struct poller *p, const char *what, struct buf *text, struct event_data *data)
{
	struct poller_state *s = p->state;
	char before[24];

	if (text->len) {
		if (s->last_look && !s->first) {
			snprintf(before, sizeof(before), "%llu", (unsigned long long)s->last_look);
			event_data_add(data, "unchanged_at", span_str(before));
		}
		if (text->len > POLL_TEXT_MAX)
			text->len = POLL_TEXT_MAX;
		event_emit(s->producer, p->node->name, what, buf_span(text), 0, data);
	}
	buf_clear(text);
}

static void lost(struct poller *p, const char *reason)
{
	struct poller_state *s = p->state;

	if (!s->known || s->reachable) {
		buf_printf(&s->state_changes, "unreachable: %s", reason);
		emit(p, "state", &s->state_changes, &s->state_data);
	}
	s->known = true;
	s->reachable = false;
	/* When it is back all of its state is recorded anew. */
	while (s->fact_count)
		forget_fact(s, 0);
	if (s->db)
		mysql_close(s->db);
	s->db = NULL;
}

static void look(struct poller *p)
{
	struct poller_state *s = p->state;
	struct err err;

	s->first = !s->known;
	if (!s->db) {
		s->db = db_connect(p->login, p->node->name, &p->address, &err);
		if (!s->db) {
			lost(p, err.text);
			s->last_look = clock_mono_ns();
			return;
		}
		s->views_known = false;
	}
	if (!s->known || !s->reachable)
		buf_add_str(&s->state_changes, "reachable");
	for (size_t i = 0; i < s->fact_count; i++)
		s->facts[i].seen = false;
	if (!ask_uptime(p) || !ask_read_only(p) || !ask_level(p) || !ask_views(p)) {
		buf_clear(&s->state_changes);
		buf_clear(&s->member_changes);
		lost(p, mysql_error(s->db));
	} else {
		drop_unseen(s);
		s->known = s->reachable = true;
		emit(p, "state", &s->state_changes, &s->state_data);
		emit(p, "membership", &s->member_changes, &s->member_data);
	}
	s->last_look = clock_mono_ns();
}

static void *poller_main(void *arg)
{
	struct poller *p = arg;
	struct timespec until;
	uint64_t next;

	mysql_thread_init();
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		pthread_mutex_unlock(&p->lock);
		look(p);
		pthread_mutex_lock(&p->lock);
		next = clock_mono_ns() + p->interval_ns;
		until = (struct timespec){(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
		while (!p->stop && pthread_cond_timedwait(&p->wake, &p->lock, &until) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&p->lock);
	/* Of the sessions since the last look. */
	if (p->state->db)
		(void)ask_level(p);
	mysql_thread_end();
	return NULL;
}

bool poller_start(struct poller *poller, struct err *err)
{
	pthread_condattr_t attr;
	sigset_t all, before;
	int code;

	poller->state = mem_zero(1, sizeof(*poller->state));
	poller->state->producer = trace_producer_open(poller->writer);
	poller->stop = false;
	pthread_mutex_init(&poller->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&poller->wake, &attr);
	pthread_condattr_destroy(&attr);
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&poller->thread, NULL, poller_main, poller);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (code) {
		trace_producer_close(poller->state->producer);
		mem_free(poller->state);
		poller->state = NULL;
		return err_set_errno(err, code, "cannot start a thread that watches a node");
	}
	return true;
}

void poller_stop(struct poller *poller)
{
	struct poller_state *s = poller->state;

	if (!s)
		return;
	pthread_mutex_lock(&poller->lock);
	poller->stop = true;
	pthread_cond_signal(&poller->wake);
	pthread_mutex_unlock(&poller->lock);
	pthread_join(poller->thread, NULL);
	if (s->db)
		mysql_close(s->db);
	trace_producer_close(s->producer);
	while (s->fact_count)
		forget_fact(s, 0);
	buf_release(&s->state_changes);
	buf_release(&s->member_changes);
	buf_release(&s->state_data.pairs);
	buf_release(&s->member_data.pairs);
	pthread_cond_destroy(&poller->wake);
	pthread_mutex_destroy(&poller->lock);
	mem_free(s);
	poller->state = NULL;
}
