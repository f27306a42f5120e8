/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Error logs of the nodes, followed as they grow: lines that match a pattern become events.  The
 * patterns are a built-in set for each flavour (crashes, shutdowns and starts, state transfers,
 * views and evictions), and the user's own.
 *
 * A log is read from its end at the start on; when it is replaced or cut (log rotation) from the
 * beginning of the new one.  One thread for all logs.
 */
#ifndef CLUSTER_LOGS_H
#define CLUSTER_LOGS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"
#include "capture/node.h"
#include "trace/writer.h"

enum {
	LOGS_MAX = 64,
	LOGS_PATTERNS_MAX = 64,
	LOGS_LINE_MAX = 4096,        /* of a longer line the beginning is looked at */
	LOGS_EVENTS_IN_LOOK = 1000,  /* of one log; more are counted */
	LOGS_READ_IN_LOOK = 1 << 22, /* bytes of one log; the rest is for the next look */
	LOGS_INTERVAL_MS = 200,
};

struct logs_file {
	const struct capture_node *node;
	const char *path;
	int fd; /* -1: not there */
	uint64_t inode, offset;
	struct buf line;
	bool line_long;
};

struct logs {
	struct logs_file files[LOGS_MAX];
	size_t count;
	struct pattern *own[LOGS_PATTERNS_MAX]; /* the user's */
	const char *own_text[LOGS_PATTERNS_MAX];
	size_t own_count;

	bool hides_values; /* --redact: lines quote values */
	struct pattern **built_in;
	struct trace_producer *producer;
	pthread_t thread;
	int stop_fd; /* eventfd */
	bool running;
};

bool logs_add_pattern(struct logs *logs, const char *text, struct err *err) MUST_CHECK;
/* The file need not be there yet. */
bool logs_add(struct logs *logs, const struct capture_node *node, const char *path,
	struct err *err) MUST_CHECK;
bool logs_start(struct logs *logs, struct trace_writer *writer, struct err *err) MUST_CHECK;
/* Reads what is there, then ends. */
void logs_stop(struct logs *logs);
/* Which built-in pattern a line matches, by name; NULL: none.  For tests. */
const char *logs_built_in(
	const struct logs *logs, const struct capture_node *node, struct span line);

#endif
