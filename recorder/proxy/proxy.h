/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The proxy as a whole: listening sockets, workers, the trace's writer, signals.  The main thread
 * accepts connections and hands each to the worker with the fewest sessions.
 *
 * Signals: TERM and INT drain (sessions end when they are at rest, outside a transaction), the
 * second one stops at once; HUP begins a new segment of the trace; USR1 prints statistics.
 */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include "proxy/relay.h"

enum { PROXY_NODES_MAX = 64, PROXY_WORKERS_MAX = 64 };

struct proxy {
	struct relay_options relay;
	struct capture_config capture;
	struct relay_node nodes[PROXY_NODES_MAX];
	size_t node_count;
	unsigned worker_count;
	struct trace_writer *writer; /* the caller's; may be NULL */
	/* Prints a line for people; NULL: silent. */
	void (*say)(const char *fmt, ...) PRINTF_LIKE(1, 2);
	bool status_line; /* draw one on standard error */
	struct address metrics; /* where figures are told (proxy/metrics.h); without text: nowhere */
	char advice[320]; /* told after the addresses; "": none */
	/* Called when all listen, before the first connection is taken. */
	void (*ready)(const struct proxy *proxy);
	/* Called at SIGHUP, before the trace is rotated; NULL: nothing more. */
	void (*hangup)(struct proxy *proxy, void *data);
	void *hangup_data;

	bool served; /* proxy_run got as far as taking connections */

	/* proxy_run's own. */
	struct relay_worker *workers;
	uint32_t sessions;
	int spare_fd; /* for clients that come when there is no other */
	/* Sockets of clients with a higher number are turned away: the rest is for their servers, the
	 * trace and connections of the recorder's own. */
	int fd_max;
	uint64_t descriptors_said;
};

/* Sums of all workers. */
struct proxy_totals {
	uint64_t sessions, opened, opaque, refused, statements, bytes_to_server, bytes_to_client;
};

void proxy_totals(const struct proxy *proxy, struct proxy_totals *out);
/* Listens; then returns when it was told to end and all sessions are gone.  Blocks the signals
 * above in the calling thread: start other threads later or with them blocked. */
bool proxy_run(struct proxy *proxy, struct err *err) MUST_CHECK;

#endif
