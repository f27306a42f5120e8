/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/worker.h"

#include <stdio.h>

#include "capture/cluster_event.h"
#include "wire/limits.h"

void capture_worker_open(struct capture_worker *worker, const struct capture_config *config,
	struct trace_writer *writer, unsigned index, unsigned count)
{
	*worker = (struct capture_worker){.config = config, .writer = writer};
	/* Numbers unique in the trace without sharing a counter. */
	worker->next_txn = 1 + index;
	worker->txn_step = count;
	if (writer)
		worker->producer = trace_producer_open(writer);
}

static void note_left_out(struct capture_worker *worker)
{
	struct record_note note = {
		.source = SPAN_LIT("recorder"), .topic = SPAN_LIT("secrets left out")};
	char text[160];

	if (!worker->left_out.values && !worker->left_out.names && !worker->left_out.messages)
		return;
	note.text = span_of(text,
		(size_t)snprintf(text, sizeof(text),
			"%llu values, %llu names of columns and %llu messages that hold or may "
			"hold a password or a redacted value",
			(unsigned long long)worker->left_out.values,
			(unsigned long long)worker->left_out.names,
			(unsigned long long)worker->left_out.messages));
	trace_emit_note(worker->producer, &note);
}

void capture_worker_close(struct capture_worker *worker)
{
	if (worker->producer)
		note_left_out(worker);
	if (worker->producer)
		trace_producer_close(worker->producer);
	worker->producer = NULL;
	buf_release(&worker->spare_rows);
}

uint64_t capture_begin_seq(struct capture_worker *worker)
{
	return trace_seq(worker->writer);
}

uint64_t capture_reserve_seqs(struct capture_worker *worker, unsigned count)
{
	return trace_producer_reserve(worker->producer, count);
}

void capture_use_seqs(struct capture_worker *worker, uint64_t first, unsigned count)
{
	trace_producer_use(worker->producer, first, count);
}

void capture_hold(struct capture_worker *worker)
{
	trace_producer_hold(worker->producer);
}

void capture_let_go(struct capture_worker *worker)
{
	trace_producer_let_go(worker->producer);
}

size_t capture_row_keep_max(const struct capture_worker *worker, size_t keep_max)
{
	if (!(worker->config->levels & CAPTURE_RESULTS) && keep_max > WIRE_PACKET_KEEP_SMALL)
		return WIRE_PACKET_KEEP_SMALL;
	return keep_max;
}

void capture_connection_event(struct capture_worker *worker, const char *node, uint32_t session,
	const char *what, const char *reason)
{
	struct event_data data = {.pairs = BUF_INIT};
	struct buf detail = BUF_INIT;
	char id[16];

	if (!worker->producer)
		return;
	buf_printf(&detail, "%s%s%s", what, reason ? ": " : "", reason ? reason : "");
	snprintf(id, sizeof(id), "%u", session);
	event_data_add(&data, "session", span_str(id));
	event_emit(worker->producer, node, "connection", buf_span(&detail), 0, &data);
	buf_release(&detail);
}
