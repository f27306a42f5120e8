/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is watched beside the sessions: each node by asking it, logs of the nodes, and a socket for
 * events from outside.  All threads are started and stopped here.
 */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "cluster/control.h"
#include "cluster/logs.h"
#include "cluster/poll.h"

enum { CLUSTER_NODES_MAX = 64 };

struct cluster {
	struct db_login login;
	struct poller pollers[CLUSTER_NODES_MAX];
	size_t poller_count, poller_running;
	struct logs logs;
	struct control control;
};

/* Logs and patterns are added to cluster->logs, nodes to be asked with cluster_add_node, before. */
void cluster_add_node(struct cluster *cluster, struct capture_node *node,
	const struct db_address *address, uint64_t interval_ns);
/* control_path NULL: no socket.  On failure what was started is stopped. */
bool cluster_start(struct cluster *cluster, const char *control_path, struct trace_writer *writer,
	struct err *err) MUST_CHECK;
void cluster_stop(struct cluster *cluster);

#endif
