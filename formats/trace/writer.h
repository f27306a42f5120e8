/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a trace: producers fill blocks, one background thread compresses and writes them.
 *
 * Threads: each recording thread makes its own producer and is the only one to use it.  The writer
 * may be shared.  A producer never touches the disk; it hands over a block when the block is full,
 * when the flush interval has passed (noticed by the background thread as well, so an idle
 * producer's records reach the disk too) or at trace_producer_flush.
 *
 * When blocks come faster than the disk takes them, at most `buffer_size_max` bytes wait.  Past
 * that the policy decides: wait (at most wait_ms_max, then drop), drop with a gap record, or stop
 * recording; what was done stands in the trace as gap records, and nothing else is ever lost.
 *
 * Context records (server, schema, open sessions, prepared statements) are repeated at the start of
 * every later segment, so that a segment can be read when older ones were removed.
 *
 * Files are created with mode 0600.  One segment: the path itself; with rotation the path is a
 * directory of segments 000001.itr, 000002.itr ...
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"
#include "trace/record.h"

enum trace_policy {
	TRACE_POLICY_WAIT, /* the producer waits, up to wait_ms_max, then drops */
	TRACE_POLICY_DROP, /* drop at once; a gap record says how much.  Also when the disk is full,
			    * until there is room: the other two stop then */
	TRACE_POLICY_STOP, /* stop recording; the traffic goes on */
};

enum trace_sync {
	TRACE_SYNC_NEVER,    /* leave it to the kernel */
	TRACE_SYNC_INTERVAL, /* fdatasync every sync_interval_ms */
	TRACE_SYNC_ALWAYS,   /* fdatasync after each block */
};

/* Measured on sysbench's statements and rows: a third of level 1's time, and twice its bytes. */
enum { TRACE_COMPRESSION_FAST = -10 };
/* Level 1 with what processor time is left (trace/idle_compress.h). */
enum { TRACE_COMPRESSION_AUTO = 100 };

struct trace_writer_options {
	size_t block_size;          /* uncompressed bytes that fill a block */
	size_t buffer_size_max;     /* bytes in blocks waiting for the disk */
	unsigned flush_interval_ms; /* a record waits no longer than this in memory */
	unsigned sync_interval_ms;
	enum trace_sync sync;
	enum trace_policy policy;
	unsigned wait_ms_max;
	int compression_level;     /* zstd; 0: raw blocks, negative: its fast levels; or AUTO */
	uint64_t segment_size_max; /* --max-size: rotate past this; 0: one file */
	uint64_t total_size_max;  /* --max-total: oldest segments are removed past this; 0: never */
	bool overwrite;           /* an existing file; else only an empty one is taken */
	const char *recorder;     /* "isorec 0.1.0" */
	const char *const *facts; /* NULL or name, value, name, value ..., NULL for the header */
	/* The clock anchor, where `at` of the records is not the system's monotonic clock (a
	 * simulation, an importer); mono 0: it is. */
	uint64_t anchor_mono_ns, anchor_wall_ns;
	const struct trace_io *io; /* tests only; NULL: the system's calls */
};

/* The system calls that write, for tests that make them fail.  Results as of the real ones. */
struct trace_io {
	ssize_t (*write)(void *data, int fd, const void *ptr, size_t len);
	int (*datasync)(void *data, int fd);
	int (*truncate)(void *data, int fd, uint64_t size);
	void *data;
};

struct trace_writer_stats {
	uint64_t records, blocks, bytes_raw, bytes_written, lost_records, lost_bytes, waited_ns;
	uint64_t backlog_bytes;
	uint64_t compression_ns; /* processor time, with AUTO */
	uint32_t segments;
	bool stopped; /* by the policy or the disk */
	bool paused;  /* until there is room on the disk again */
	/* Past the flush interval: how long the oldest record waits for the disk now, 0: none does;
	 * and the longest that one ever waited. */
	uint64_t late_ns, late_ns_max;
	/* The same of a sync: how long one takes already that should be over, and the longest. */
	uint64_t sync_late_ns, sync_late_ns_max;
};

struct trace_writer;
struct trace_producer;

void trace_writer_defaults(struct trace_writer_options *options);
/* auto, off, fast, or a level of zstd from 0 to 19: false when the word is none of them. */
bool trace_compression_level(const char *word, int *level) MUST_CHECK;
/* NULL and err when the file cannot be made. */
struct trace_writer *trace_writer_open(
	const char *path, const struct trace_writer_options *options, struct err *err) MUST_CHECK;
/* Flushes everything, writes the footer, joins the thread and frees.  False when anything could not
 * be written; err says what and where the readable part ends.  All producers must be done. */
bool trace_writer_close(struct trace_writer *writer, struct err *err) MUST_CHECK;
/* ... and tells what it came to, the last blocks among it. */
bool trace_writer_end(struct trace_writer *writer, struct trace_writer_stats *stats,
	struct err *err) MUST_CHECK;
/* Closes it and removes the file: there was nothing to record after all, and an empty trace would
 * stand in the way of the next try.  Segments after the first stay. */
void trace_writer_discard(struct trace_writer *writer);
/* Ends the segment and begins the next one (SIGHUP); nothing when the trace is one file. */
void trace_writer_rotate(struct trace_writer *writer);
/* True, and why, once recording has stopped: the disk, or the policy.  To be polled. */
bool trace_writer_stopped(struct trace_writer *writer, struct err *why);
void trace_writer_stats(struct trace_writer *writer, struct trace_writer_stats *out);

struct trace_producer *trace_producer_open(struct trace_writer *writer);
/* Hands over what is left. */
void trace_producer_close(struct trace_producer *producer);
void trace_producer_flush(struct trace_producer *producer);
/* Records without a time get this one, where `at` is not the system's monotonic clock; NULL: that.  Zero in it: none
 * yet, and the system's wall clock counts. */
void trace_producer_clock(struct trace_producer *producer, const uint64_t *clock);
/* What a record made now would get. */
uint64_t trace_producer_now(const struct trace_producer *producer);
/* Hands over what the producer has and has it synced at once, whatever the interval.  Returns a
 * ticket for trace_writer_is_durable(); 0: records were lost, or recording has stopped. */
uint64_t trace_producer_durable(struct trace_producer *producer);
/* Is all on the disk that was emitted before the ticket was taken?  *kept: false when it will never
 * be: records were lost, or the disk refused.  Where losses of others cannot be told apart from it,
 * it counts as lost, too. */
bool trace_writer_is_durable(struct trace_writer *writer, uint64_t ticket, bool *kept);
/* Has `wake` called when tickets have become durable, or will never be; NULL: no more, and it is not
 * running any more either.  It is called with a lock held: it must not wait, nor call the writer. */
void trace_writer_watch_durable(struct trace_writer *writer, void (*wake)(void *data), void *data);
/* For records that are made later than what they tell of: reserves `count` numbers in a row now, and
 * returns the first.  Then, in the order in which they were reserved, trace_producer_use() before
 * the records are emitted: those without a seq get these numbers, and once they are used up fresh
 * ones.  At the end trace_producer_use(producer, 0, 0): none is reserved any more; until then
 * readers wait for them. */
uint64_t trace_producer_reserve(struct trace_producer *producer, unsigned count);
void trace_producer_use(struct trace_producer *producer, uint64_t first, unsigned count);
/* Around a run of records that is emitted without a pause: the producer's lock is taken once.  The
 * background thread may have to wait that long. */
void trace_producer_hold(struct trace_producer *producer);
void trace_producer_let_go(struct trace_producer *producer);
/* The next sequence number; taken at the beginning of things that take time. */
uint64_t trace_seq(struct trace_writer *writer);

/* Emitting: trace_emit_stmt(producer, &record) and so on for each kind.  A record whose seq is 0
 * gets the next one, whose `at` is 0 the clock's; the struct itself is left as it was.  Returns the
 * seq. Never fails: what cannot be kept is counted in a gap record.  A seq of the caller's own
 * should be a fresh one of trace_seq(): an older one may come too late to be read in order. */
#define TRACE_DECLARE_EMIT(lower, upper)                                                           \
	uint64_t trace_emit_##lower(struct trace_producer *producer, struct record_##lower *record);
#define TRACE_EMIT_KINDS(K)                                                                        \
	K(server, SERVER)                                                                          \
	K(schema, SCHEMA)                                                                          \
	K(rows, ROWS)                                                                              \
	K(session, SESSION)                                                                        \
	K(stmt, STMT)                                                                              \
	K(result, RESULT)                                                                          \
	K(probe, PROBE)                                                                            \
	K(txn, TXN)                                                                                \
	K(cluster, CLUSTER)                                                                        \
	K(note, NOTE)                                                                              \
	K(program, PROGRAM)                                                                        \
	K(logged, LOGGED)
TRACE_EMIT_KINDS(TRACE_DECLARE_EMIT)
#undef TRACE_DECLARE_EMIT

/* Remembers an encoded record under a key (any bytes), to be repeated at the start of later
 * segments; SPAN_NONE forgets it.  Call it after the record was emitted (with the seq that emit
 * returned), and forget after the last record that needs it: a forgotten record is repeated until
 * everything emitted before has been written. */
void trace_context_set(struct trace_writer *writer, struct span key, struct span record);

#endif
