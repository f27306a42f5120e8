/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sessions of one thread share: how much is recorded, and the thread's trace producer,
 * which never blocks on the disk unless the user chose that policy.
 */
#ifndef CAPTURE_WORKER_H
#define CAPTURE_WORKER_H

#include <stdatomic.h>

#include "capture/filter.h"
#include "capture/redact.h"
#include "trace/writer.h"
#include "wire/values.h"

enum {
	CAPTURE_PARAMS = 1,
	CAPTURE_RESULTS = 2,
	/* Bytes of rows after which a part of a result is handed on. */
	CAPTURE_PART_SIZE = 64 * 1024,
};

struct capture_config {
	unsigned levels;           /* CAPTURE_* */
	uint64_t rows_max;         /* kept of one result; 0: all */
	uint64_t result_bytes_max; /* ... 0: no limit */
	struct values_limits values;
	_Atomic(const struct filter *) filter; /* may be exchanged at any time; NULL: all */
	struct redact redact;
	bool segments; /* the trace has several: later ones repeat prepared statements */
};

struct capture_worker {
	const struct capture_config *config;
	struct trace_writer *writer;
	struct trace_producer *producer; /* NULL: nothing is recorded */
	uint64_t next_txn, txn_step;
	/* For the rows of one result after the other, whatever their sessions: memory that is in
	 * the processor's caches.  Empty while a session has it. */
	struct buf spare_rows;
	/* What capture/secrets.h took out. */
	struct {
		uint64_t values, names, messages;
	} left_out;
};

void capture_worker_open(struct capture_worker *worker, const struct capture_config *config,
	struct trace_writer *writer, unsigned index, unsigned count);
void capture_worker_close(struct capture_worker *worker);
uint64_t capture_begin_seq(struct capture_worker *worker);
/* For answers that are parsed later: see trace_producer_reserve. */
uint64_t capture_reserve_seqs(struct capture_worker *worker, unsigned count);
void capture_use_seqs(struct capture_worker *worker, uint64_t first, unsigned count);
/* Around several answers that are parsed one after the other: see trace_producer_hold. */
void capture_hold(struct capture_worker *worker);
void capture_let_go(struct capture_worker *worker);
size_t capture_row_keep_max(const struct capture_worker *worker, size_t keep_max);

/* What happened to a connection with a node: a cluster record. */
void capture_connection_event(struct capture_worker *worker, const char *node, uint32_t session,
	const char *what, const char *reason);

#endif
