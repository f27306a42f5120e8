/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which session waits for which: the server's own lock-wait views, asked on the control connection.
 *
 * MySQL 8 and later have performance_schema.data_lock_waits, which is always fresh.  MariaDB and
 * MySQL 5.x have information_schema.innodb_trx and innodb_lock_waits, which the server caches: they
 * are renewed only when they were not read for 0.1 s, so asking more often shows the same picture for
 * ever.  Metadata, table and user-level locks show in the process list.
 *
 * Where speed counts and it is enough to know that a session waits, SHOW ENGINE INNODB STATUS says it on those servers,
 * fresh at every look (under a millisecond; asking the views for the same takes 0.15 s).  It prints a transaction's
 * waiting lock from the transaction itself, which loses it when the lock is granted, not when its thread wakes up
 * (lock_trx_print_wait_and_mvcc_state), and a COMMIT grants before it answers.  It does not say whom the session waits
 * for.
 */
#ifndef RUN_LOCK_WAITS_H
#define RUN_LOCK_WAITS_H

#include <mysql.h>

#include "run/client.h"

enum watch_kind {
	WATCH_NONE, /* no view can be read: only time tells */
	WATCH_INNODB_TRX,
	WATCH_DATA_LOCKS,
	WATCH_INNODB_STATUS,
};

struct watch {
	MYSQL *control;
	enum watch_kind kind;
	uint64_t interval_ns; /* between two looks that can differ */
	uint64_t first_look_ns; /* a statement that answers sooner needs no look */
	uint64_t last_ns;     /* when the last look ended */
	bool circles_stand;   /* the server looks for no deadlocks */
};

/* quick: it need not be known which session waits for which. */
void watch_open(struct watch *watch, MYSQL *control, bool quick);
/* When the next look makes sense. */
uint64_t watch_next_ns(const struct watch *watch);
/* Looks once: for each busy client on the node, whether it waits (settled, waiting) and for whom.
 * Those that, in performance_schema, wait for each other in a circle are not settled until the
 * circle has stood for longer than the server needs to find deadlocks: before that it may be about
 * to end one of them.  False when the view could not be read. */
bool watch_look(struct watch *watch, struct client *clients, size_t count, size_t node) MUST_CHECK;
const char *watch_name(enum watch_kind kind);

#endif
