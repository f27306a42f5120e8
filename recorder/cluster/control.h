/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events from outside: a Unix socket at which a test harness says what it does ("node2 stop
 *begins").
 *
 * A request is lines of a word, a space and text, ended by an empty line; a connection may make
 * several.  The answer is one line: `ok SEQ AT` when the record is made (its sequence number and
 * monotonic time: what begins later than the answer has a larger number), or `error` and why.
 *
 *	topic TEXT      of a note
 *	text TEXT       of a note; or more about an operation
 *	node NAME       the event belongs to this node
 *	event NAME      something happened to the node
 *	begin NAME      an operation on the node begins
 *	end NAME        ... and has ended
 *
 * With event, begin or end it becomes a cluster record, else a note.  `isorec note` speaks this.
 */
#ifndef CLUSTER_CONTROL_H
#define CLUSTER_CONTROL_H

#include <pthread.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "trace/writer.h"

enum {
	CONTROL_REQUEST_MAX = 64 * 1024,
	CONTROL_CONNECTIONS_MAX = 32,
	CONTROL_OPERATIONS_MAX = 256, /* begun and not ended that are remembered */
	CONTROL_WAIT_MS = 10000,      /* for a client's answer or the rest of its request */
};

struct control_operation {
	char *node, *name;
	uint64_t begin;
};

struct control {
	const char *path;
	int listen_fd, stop_fd;
	struct trace_producer *producer;
	struct control_operation operations[CONTROL_OPERATIONS_MAX];
	size_t operation_count;
	pthread_t thread;
	bool running;
};

bool control_start(struct control *control, const char *path, struct trace_writer *writer,
	struct err *err) MUST_CHECK;
void control_stop(struct control *control);
/* The other side: sends a request and takes the answer's line. */
bool control_ask(
	const char *path, struct span request, struct buf *answer, struct err *err) MUST_CHECK;

#endif
