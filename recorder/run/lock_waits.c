/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/lock_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "db/query.h"

/* Twice what the server's deadlock thread sleeps at most, and some time for it to run. */
#define CIRCLE_STANDS_NS UINT64_C(2500000000)

#define PROCESS_LIST                                                                               \
	"select id, 0 from information_schema.processlist "                                        \
	"where state like 'Waiting for%lock%' or state = 'User lock'"

static const char *const queries[] = {
	[WATCH_NONE] = NULL,
	/* The state says which session waits; the join, which it waits for, where both have an id. */
	[WATCH_INNODB_TRX] =
		"select trx_mysql_thread_id, 0 from information_schema.innodb_trx "
		"where trx_state = 'LOCK WAIT' union all "
		"select r.trx_mysql_thread_id, b.trx_mysql_thread_id "
		"from information_schema.innodb_lock_waits w "
		"join information_schema.innodb_trx r on r.trx_id = w.requesting_trx_id "
		"join information_schema.innodb_trx b on b.trx_id = w.blocking_trx_id "
		"where r.trx_state = 'LOCK WAIT' union all " PROCESS_LIST,
	/* The thread of a lock is the one that made its entry, and a thread that changes a row's
	 * place in the page makes new entries for those that wait for it.  The transaction is right;
	 * its own thread is that of its intention lock on the table. */
	[WATCH_DATA_LOCKS] = "select r.processlist_id, b.processlist_id "
			     "from performance_schema.data_lock_waits w "
			     "join performance_schema.data_locks rl on rl.lock_type = 'TABLE' "
			     "and rl.engine_transaction_id = w.requesting_engine_transaction_id "
			     "join performance_schema.threads r on r.thread_id = rl.thread_id "
			     "left join performance_schema.data_locks bl on bl.lock_type = 'TABLE' "
			     "and bl.engine_transaction_id = w.blocking_engine_transaction_id "
			     "left join performance_schema.threads b on b.thread_id = bl.thread_id "
			     "union all " PROCESS_LIST,
	/* The rest of what it takes: innodb_status_waits(). */
	[WATCH_INNODB_STATUS] = PROCESS_LIST,
};

static MYSQL_RES *ask(MYSQL *control, const char *sql)
{
	return db_send(control, sql) ? NULL : db_result(control);
}

/* innodb_deadlock_detect=OFF; servers that do not know the variable always look. */
static bool detects_deadlocks(MYSQL *control)
{
	MYSQL_RES *result = ask(control, "select @@global.innodb_deadlock_detect");
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
	bool on = !row || !row[0] || strcmp(row[0], "0") != 0;

	if (result)
		mysql_free_result(result);
	return on;
}

static bool has_innodb_status(MYSQL *control)
{
	MYSQL_RES *result = ask(control, "show engine innodb status");
	bool has = result && mysql_num_rows(result);

	if (result)
		mysql_free_result(result);
	return has;
}

void watch_open(struct watch *watch, MYSQL *control, bool quick)
{
	*watch = (struct watch){.control = control};
	for (int kind = WATCH_DATA_LOCKS; kind > WATCH_NONE; kind--) { /* that is tried; INNODB_STATUS is chosen */
		MYSQL_RES *result = ask(control, queries[kind]);

		if (!result)
			continue;
		mysql_free_result(result);
		watch->kind = (enum watch_kind)kind;
		watch->interval_ns = kind == WATCH_DATA_LOCKS ? 5000000 : 150000000;
		watch->last_ns = clock_mono_ns();
		watch->circles_stand = !detects_deadlocks(control);
		watch->first_look_ns = quick ? 2000000 : 10000000;
		if (quick && kind == WATCH_INNODB_TRX && has_innodb_status(control)) {
			watch->kind = WATCH_INNODB_STATUS;
			watch->interval_ns = 3000000;
		}
		return;
	}
}

uint64_t watch_next_ns(const struct watch *watch)
{
	return watch->last_ns + watch->interval_ns;
}

const char *watch_name(enum watch_kind kind)
{
	switch (kind) {
	case WATCH_NONE:
		return "time";
	case WATCH_INNODB_TRX:
		return "information_schema.innodb_trx";
	case WATCH_DATA_LOCKS:
		return "performance_schema.data_lock_waits";
	case WATCH_INNODB_STATUS:
		return "SHOW ENGINE INNODB STATUS";
	}
	return "?";
}

static struct client *by_thread(
	struct client *clients, size_t count, size_t node, const char *thread)
{
	unsigned long id = thread ? strtoul(thread, NULL, 10) : 0;

	for (size_t i = 0; id && i < count; i++)
		if (clients[i].mysql && !clients[i].dead && clients[i].node == node &&
			mysql_thread_id(clients[i].mysql) == id)
			return &clients[i];
	return NULL;
}

static bool waits_for(const struct client *c, size_t other)
{
	return c->waits_for[other / 64] >> (other % 64) & 1;
}

/* Whether `from` waits for `to`, perhaps through others; *since: when the last of those that it
 * waits for, in any number of steps, was first seen to wait as it does. */
static bool reaches(const struct client *clients, size_t count, size_t from, size_t to,
	bool *visited, uint64_t *since)
{
	bool found = false;

	if (clients[from].waits_since > *since)
		*since = clients[from].waits_since;
	for (size_t i = 0; i < count; i++) {
		if (visited[i] || !waits_for(&clients[from], i))
			continue;
		visited[i] = true;
		found = reaches(clients, count, i, to, visited, since) || i == to || found;
	}
	return found;
}

/* MySQL 8 looks for deadlocks in a thread of its own (WL#11734): for some milliseconds all of a
 * circle are seen waiting, and which of them is blocked is not known before the circle is broken.  It
 * looks when a session begins to wait, or waits for another session, and at the latest after a second;
 * and it follows only one of those that a session waits for.  So a circle that stays is one that it
 * does not see, while a session outside holds a lock that all in it want. */
static void unsettle_circles(struct client *clients, size_t count, uint64_t now)
{
	for (size_t i = 0; i < count; i++) {
		bool visited[CLIENT_SET_WORDS * 64] = {false};
		uint64_t since = 0;

		if (clients[i].settled && reaches(clients, count, i, i, visited, &since) &&
			now - since < CIRCLE_STANDS_NS)
			clients[i].settled = false;
	}
}

static void mark_waiting(struct client *waiter, uint64_t now)
{
	waiter->settled = true;
	if (!waiter->waiting)
		waiter->waiting_since = now;
	waiter->waiting = true;
}

/* Each transaction has lines of its own:
 *
 *	---TRANSACTION 24, ACTIVE 1 sec starting index read
 *	LOCK WAIT 2 lock struct(s), heap size 1120, 1 row lock(s)
 *	MariaDB thread id 6, OS thread handle ...
 *	the statement
 *	------- TRX HAS BEEN WAITING 407896 us FOR THIS LOCK TO BE GRANTED:
 *
 * Both lines about waiting must be there, the first before the statement's text, which may hold anything. */
static void innodb_status_waits(struct span status, struct client *clients, size_t count, size_t node, uint64_t now)
{
	static const char head[] = "LIST OF TRANSACTIONS FOR EACH SESSION:";
	const char *list = memmem(status.ptr, status.len, head, sizeof(head) - 1);
	struct client *of = NULL;
	bool waits = false;
	struct span line;

	if (!list)
		return;
	status = span_of(list, status.len - (size_t)(list - status.ptr));
	while (span_next_line(&status, &line)) {
		const char *id;

		if (span_starts(line, "---TRANSACTION ")) {
			of = NULL;
			waits = false;
		} else if (span_starts(line, "LOCK WAIT ") && !of) {
			waits = true;
		} else if (!of && (id = memmem(line.ptr, line.len, " thread id ", 11)) != NULL) {
			of = by_thread(clients, count, node, id + 11);
		} else if (of && waits && of->state != CLIENT_IDLE && span_starts(line, "------- TRX HAS BEEN WAITING ")) {
			mark_waiting(of, now);
		}
	}
}

static bool look_at_innodb_status(struct watch *watch, struct client *clients, size_t count, size_t node, uint64_t now)
{
	MYSQL_RES *result = ask(watch->control, "show engine innodb status");
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
	bool ok = row && mysql_num_fields(result) > 2 && row[2];

	if (ok)
		innodb_status_waits(span_str(row[2]), clients, count, node, now);
	if (result)
		mysql_free_result(result);
	return ok;
}

bool watch_look(struct watch *watch, struct client *clients, size_t count, size_t node)
{
	uint64_t before[CLIENT_SET_WORDS * 64][CLIENT_SET_WORDS];
	uint64_t now = clock_mono_ns();
	MYSQL_RES *result;
	MYSQL_ROW row;

	result = ask(watch->control, queries[watch->kind]);
	watch->last_ns = clock_mono_ns();
	if (!result)
		return false;
	for (size_t i = 0; i < count; i++) {
		memcpy(before[i], clients[i].waits_for, sizeof(before[i]));
		if (clients[i].node != node)
			continue;
		clients[i].settled = false;
		memset(clients[i].waits_for, 0, sizeof(clients[i].waits_for));
	}
	while ((row = mysql_fetch_row(result)) != NULL) {
		struct client *waiter = by_thread(clients, count, node, row[0]);
		struct client *blocker = by_thread(clients, count, node, row[1]);

		if (!waiter || waiter->state == CLIENT_IDLE)
			continue;
		mark_waiting(waiter, now);
		if (blocker && blocker != waiter) {
			size_t index = (size_t)(blocker - clients);

			waiter->waits_for[index / 64] |= (uint64_t)1 << index % 64;
			capture_add_blocker(&waiter->capture, blocker->capture.id);
		}
	}
	mysql_free_result(result);
	if (watch->kind == WATCH_INNODB_STATUS && !look_at_innodb_status(watch, clients, count, node, now))
		return false;
	watch->last_ns = clock_mono_ns();
	for (size_t i = 0; i < count; i++)
		if (memcmp(before[i], clients[i].waits_for, sizeof(before[i])) != 0)
			clients[i].waits_since = now;
	/* The others look for deadlocks before a session waits, and their view names sessions that
	 * wait behind the waiter as well: circles in it are none. */
	if (watch->kind == WATCH_DATA_LOCKS && !watch->circles_stand)
		unsettle_circles(clients, count, now);
	return true;
}
