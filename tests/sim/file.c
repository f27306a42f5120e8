/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulator's records into a trace file. */
#include <time.h>

#include "base/version.h"
#include "sim/run.h"

struct file_sink {
	struct trace_writer *writer;
	struct trace_producer *producer;
	uint64_t emitted;
};

enum { BUFFER_MAX = 256 << 20, BACKLOG_MAX = 64 << 20, BACKLOG_LOOK = 4096 };

/* The writer drops records when the disk is slow for too long, or notes that it waited.  A
 * simulation can wait by itself, and leaves no trace of it. */
static void wait_for_disk(struct file_sink *sink)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	struct trace_writer_stats stats;

	for (;;) {
		trace_writer_stats(sink->writer, &stats);
		if (stats.backlog_bytes < BACKLOG_MAX || stats.stopped)
			return;
		nanosleep(&pause, NULL);
	}
}

#define FILE_EMIT(lower, upper)                                                                    \
	case RECORD_##upper:                                                                       \
		seq = ((struct record_##lower *)record)->seq;                                      \
		while (trace_seq(sink->writer) < seq)                                              \
			;                                                                          \
		(void)trace_emit_##lower(sink->producer, record);                                  \
		break;

static void file_emit(void *data, enum record_kind kind, void *record)
{
	struct file_sink *sink = data;
	uint64_t seq;

	if (++sink->emitted % BACKLOG_LOOK == 0)
		wait_for_disk(sink);
	/* The simulator numbers for itself; the writer's own counter keeps up, so that its
	 * watermarks hold. */
	switch (kind) {
		TRACE_EMIT_KINDS(FILE_EMIT)
	case RECORD_BLOCK:
	case RECORD_GAP:
	case RECORD_FOOTER:
		break;
	}
}

bool sim_write(const struct sim_options *sim, const char *path, int compression,
	struct twin_history *truth, struct buf *plants, struct sim_stats *stats, struct err *err)
{
	struct trace_writer_options options;
	struct file_sink file = {0};
	struct sim_sink sink = {file_emit, &file};
	bool good;

	trace_writer_defaults(&options);
	options.recorder = "isosim " ISOTRACE_VERSION;
	options.overwrite = true;
	options.compression_level = compression;
	options.buffer_size_max = BUFFER_MAX;
	options.wait_ms_max = 3600u * 1000;
	options.flush_interval_ms = 3600u * 1000;
	options.sync = TRACE_SYNC_NEVER;
	/* The clock is logical; it began at a moment that is the same in every run. */
	options.anchor_mono_ns = SIM_CLOCK_START_NS;
	options.anchor_wall_ns = 1767225600u * UINT64_C(1000000000); /* 2026-01-01 */
	if (!sim_options_check(sim, err))
		return false;
	file.writer = trace_writer_open(path, &options, err);
	if (!file.writer)
		return false;
	file.producer = trace_producer_open(file.writer);
	good = sim_run(sim, &sink, truth, plants, stats, err);
	trace_producer_close(file.producer);
	return trace_writer_close(file.writer, good ? err : NULL) && good;
}
