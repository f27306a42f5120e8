/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks a node how it and its cluster are, again and again, and records what changed: whether it
 * answers, restarts and read_only of any server, Galera's wsrep status, the members of MySQL's
 * group replication, TiDB's cluster_info.  One thread and one connection a node, as libmysqlclient
 * waits.
 *
 * A change lies between the look before ("unchanged_at" of the event's data) and its record.
 */
#ifndef CLUSTER_POLL_H
#define CLUSTER_POLL_H

#include <pthread.h>

#include "capture/node.h"
#include "db/connect.h"

/* Rows of the members' list that are looked at, and bytes of it. */
enum { POLL_MEMBERS_MAX = 1000, POLL_TEXT_MAX = 64 * 1024 };

struct poller {
	const struct db_login *login;
	struct capture_node *node;
	struct db_address address;
	uint64_t interval_ns;
	struct trace_writer *writer;

	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under the lock */
	struct poller_state *state;
};

/* Starts the thread; all but the part after the empty line is set, and outlives it. */
bool poller_start(struct poller *poller, struct err *err) MUST_CHECK;
/* Waits for the thread, at most as long as a connection may take. */
void poller_stop(struct poller *poller);

#endif
