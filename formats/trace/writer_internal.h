/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What writer.c, producer.c, blocks.c and writer_thread.c share: the writer, from the inside.  See
 * writer.h for the use.
 *
 * Locks, always taken in this order: producers_lock, a producer's lock, `lock` (the queue).
 * - A producer's lock is held while one record is packed, or the records of a short run that its
 *   owner announced.  Only the owner thread and the background thread take it, so it is nearly
 *   always free.
 * - While a producer waits for room it holds its full block in its own hands, with its lock free
 * and held_first_seq set, so that the background thread can go on computing watermarks.
 *
 * The watermark of a block is the smallest seq that may still come in a later block.  It is found
 * by reading the seq counter first, then looking into every producer, then into the queue: a seq is
 * taken and its record packed under the producer's lock, and blocks move from producers to the
 * queue only, so a record that was missed at its producer is found in the queue.  Numbers that a
 * producer has reserved count as if their records were there.
 *
 * The file is the background thread's alone.
 */
#ifndef TRACE_WRITER_INTERNAL_H
#define TRACE_WRITER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "trace/context.h"
#include "trace/segment.h"
#include "trace/writer.h"

/* Records on their way: filled by a producer, then queued, then written, then recycled. */
struct block {
	struct block *next;
	struct buf body; /* SEGMENT_ROOM free bytes, then records */
	struct segment_block head;
	uint64_t born_ns; /* when it began to be filled */
};

/* For the thread that syncs. */
struct sync_request {
	const struct trace_io *io;
	struct sync_request *next;
	int fd;
	char *path;
	bool close;     /* afterwards: the segment is rotated */
	bool directory; /* the folder, which has the name of a new segment */
	uint64_t ticket; /* what is written is durable up to here once this is done; 0: not asked for */
};

/* Records that did not make it, until a gap record tells of them. */
struct loss {
	uint64_t records, bytes, first_seq, last_seq, begin;
};

struct trace_producer {
	struct trace_writer *writer;
	struct trace_producer *next; /* writer->producers_lock */
	uint32_t id;
	pthread_mutex_t lock;      /* guards all below */
	struct block *block;       /* being filled; NULL: none yet */
	size_t start;              /* where the record being packed begins */
	uint64_t held_first_seq;   /* of a full block in the waiting owner's hands; 0: none */
	_Atomic uint64_t reserved; /* no seq that the owner may still use is older; 0: none is */
	uint64_t use, use_end;     /* of the reserved ones, those for the records that come now */
	uint64_t last_seq;         /* of what was packed so far */
	uint64_t deadline_ns; /* until when the emission under way may wait; 0: not waited yet */
	struct loss loss;
	const uint64_t *clock; /* NULL: the monotonic clock */
	bool held; /* by the owner, for a run of records; the owner's alone */
};

/* A closed segment that is still there. */
struct old_segment {
	uint32_t number;
	uint64_t size, records, bytes, first_seq, last_seq;
};

struct trace_writer {
	struct trace_writer_options options;
	char *path;
	bool directory;
	_Atomic uint64_t next_seq;
	_Atomic bool stopped; /* records are counted, and not kept */
	pthread_t thread, sync_thread;

	pthread_mutex_t producers_lock;
	struct trace_producer *producers;
	uint32_t next_producer;

	pthread_mutex_t lock; /* guards all below, up to the background thread's part */
	pthread_cond_t work, room;
	struct block *queue_first, *queue_last;
	struct block *free_blocks;
	unsigned free_count;
	size_t queued_bytes; /* memory of queued blocks and of the one being written */
	bool closing, rotate_wanted, overloaded, thread_waits;
	struct trace_writer_stats stats;
	uint64_t accounted; /* lost records that written gap records tell of */
	struct loss lost;   /* since the last gap record of the writer's own */
	struct err stop_why;
	struct context context;
	uint64_t writing_ns; /* since when the background thread writes a block; 0: it does not */
	pthread_cond_t sync_work, sync_done;
	struct sync_request *sync_first, *sync_last;
	unsigned sync_count; /* the one under way among them */
	bool sync_closing, sync_failed;
	struct err sync_err;
	uint64_t syncing_ns; /* since when a sync runs; 0: none does */
	/* Tickets are numbers of queued blocks. */
	uint64_t queued_count, processed_count;
	uint64_t durable_wanted, durable_asked; /* by producers; of the thread that syncs */
	uint64_t durable_lost; /* lost records when it was last asked */
	_Atomic uint64_t durable_done;
	_Atomic uint64_t durable_broken; /* the last ticket that was not kept */
	void (*durable_wake)(void *data);
	void *durable_data;

	/* The background thread's. */
	struct segment segment;
	struct segment_codec codec;
	struct old_segment *old;
	size_t old_count, old_capacity, old_first;
	uint64_t old_bytes;
	struct loss removed; /* by --max-total, since the trace began */
	uint32_t removed_last;
	uint64_t watermark;
	uint64_t late_ns, late_since; /* how long a record waited past the bound, and from when on */
	uint64_t flush_ns, sync_ns; /* when the next is due */
	uint64_t closing_until_ns;  /* blocks may wait for their compression; 0: not closing */
	bool failed;                /* the disk refused; only small records are still tried */
	bool paused;                /* ... for want of room: it is tried again */
	uint64_t retry_ns;          /* when */
	bool stop_noted;            /* the gap record of the stop is written */
	struct buf facts;
	bool ended_well; /* once the thread is joined */
	struct err end_err;
};

/* ---- small things that all files need ---- */

static inline uint64_t writing_seq(struct trace_writer *writer)
{
	return atomic_fetch_add_explicit(&writer->next_seq, 1, memory_order_relaxed);
}

static inline struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

static inline size_t block_memory(const struct block *block)
{
	return sizeof(*block) + block->body.capacity;
}

static inline bool block_is_empty(const struct block *block)
{
	return !block || block->head.records == 0;
}

/* The record at the end of the block, counted. */
static inline void block_count(
	struct block *block, enum record_kind kind, uint64_t seq, uint64_t at)
{
	struct record_block *info = &block->head.info;

	if (!block->head.records++) {
		info->first_seq = info->last_seq = seq;
		info->first_at = info->last_at = at;
	} else {
		if (seq < info->first_seq)
			info->first_seq = seq;
		if (seq > info->last_seq)
			info->last_seq = seq;
		if (at < info->first_at)
			info->first_at = at;
		if (at > info->last_at)
			info->last_at = at;
	}
	block->head.counts[kind]++;
}

/* ---- blocks.c: blocks in memory, losses and gap records; _locked: with writer->lock held ---- */

struct block *block_take_locked(struct trace_writer *writer, uint32_t producer);
struct block *block_take(struct trace_writer *writer, uint32_t producer);
void block_recycle_locked(struct trace_writer *writer, struct block *block);
void block_free(struct block *block);
/* After all others on their way to the disk. */
void block_queue_locked(struct trace_writer *writer, struct block *block);
/* Returns the gap record's seq. */
uint64_t block_add_gap(struct trace_writer *writer, struct block *block, uint32_t producer,
	const char *reason, const struct loss *loss, const char *detail);
/* What is lost with a block that cannot be kept.  Gap records in it are no loss of their own, but
 * what they counted does not count any more: `accounted` was not raised for them. */
struct loss block_loss(const struct block *block);

void loss_add(
	struct loss *loss, uint64_t records, uint64_t bytes, uint64_t first_seq, uint64_t last_seq);
void loss_join(struct loss *into, const struct loss *loss);
/* Counts records that no gap record tells of yet. */
void writing_lose_locked(struct trace_writer *writer, const struct loss *loss);
void writing_stop_locked(struct trace_writer *writer, const struct err *why);

/* ---- writer_thread.c ---- */

bool writing_open_segment(struct trace_writer *writer, uint32_t number, struct err *err) MUST_CHECK;
/* The background thread: its argument is the writer. */
void *writing_thread(void *arg);
/* A record that waits longer than this for the disk is at risk past what was promised.  The flush
 * interval, and time for a busy machine to come to it. */
enum { WRITING_BUSY_MS = 200 };

static inline uint64_t writing_bound_ns(const struct trace_writer *writer)
{
	return ((uint64_t)writer->options.flush_interval_ms + WRITING_BUSY_MS) * 1000000u;
}

/* ... and a sync that takes longer than this, past what --sync promises for a loss of power. */
static inline uint64_t syncing_bound_ns(const struct trace_writer *writer)
{
	return ((uint64_t)writer->options.sync_interval_ms + WRITING_BUSY_MS) * 1000000u;
}

/* ---- sync_thread.c ---- */

void *syncing_thread(void *arg);
/* Has the segment synced without waiting for it.  close: it is rotated, and its descriptor goes. */
void syncing_ask(struct trace_writer *writer, bool close);
/* As many rotated segments wait as may: the next one goes on until the disk has caught up.  Waits for
 * that instead where the trace has a limit in all, which such a segment would break. */
bool syncing_is_behind_locked(struct trace_writer *writer);
/* Has the folder synced, in which a segment was made. */
void syncing_ask_folder(struct trace_writer *writer);
/* Sees to the tickets of what is written by now; with writer->lock held, by the background thread. */
void syncing_serve_tickets_locked(struct trace_writer *writer);
bool syncing_failed(struct trace_writer *writer, struct err *err);
/* Until all that was asked for is done. */
void syncing_wait(struct trace_writer *writer);

#endif
