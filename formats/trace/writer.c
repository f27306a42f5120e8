/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a trace: see writer.h for the use.  How it works inside:
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
#include "trace/writer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "trace/context.h"
#include "trace/format.h"
#include "trace/pack.h"
#include "trace/segment.h"

enum {
	/* A block of one record, its block record and its frame stay below the reader's limit. */
	RECORD_SIZE_MAX = TRACE_BLOCK_RAW_MAX - 1024,
	BLOCK_SIZE_MIN = 256,
	FREE_BLOCKS_MAX = 16,
};

/* Records on their way: filled by a producer, then queued, then written, then recycled. */
struct block {
	struct block *next;
	struct buf body; /* SEGMENT_ROOM free bytes, then records */
	struct segment_block head;
};

/* Records that did not make it, until a gap record tells of them. */
struct loss {
	uint64_t records, bytes, first_seq, last_seq, begin;
};

struct trace_producer {
	struct trace_writer *writer;
	struct trace_producer *next; /* writer->producers_lock */
	uint32_t id;
	pthread_mutex_t lock;    /* guards all below */
	struct block *block;     /* being filled; NULL: none yet */
	size_t start;            /* where the record being packed begins */
	uint64_t held_first_seq; /* of a full block in the waiting owner's hands; 0: none */
	_Atomic uint64_t reserved; /* no seq that the owner may still use is older; 0: none is */
	uint64_t use, use_end;   /* of the reserved ones, those for the records that come now */
	uint64_t last_seq;       /* of what was packed so far */
	uint64_t deadline_ns;    /* until when the emission under way may wait; 0: not waited yet */
	struct loss loss;
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
	pthread_t thread;

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

	/* The background thread's. */
	struct segment segment;
	struct segment_codec codec;
	struct old_segment *old;
	size_t old_count, old_capacity, old_first;
	uint64_t old_bytes;
	struct loss removed; /* by --max-total, since the trace began */
	uint32_t removed_last;
	uint64_t watermark;
	uint64_t flush_ns, sync_ns; /* when the next is due */
	bool failed;                /* the disk refused; only small records are still tried */
	bool paused;                /* ... for want of room: it is tried again */
	uint64_t retry_ns;          /* when */
	bool stop_noted;            /* the gap record of the stop is written */
	struct buf facts;
	bool ended_well; /* once the thread is joined */
	struct err end_err;
};

/* ---- blocks in memory ---- */

static void block_reset(struct block *block, uint32_t producer)
{
	block->next = NULL;
	memset(&block->head, 0, sizeof(block->head));
	block->head.info.producer = producer;
	buf_clear(&block->body);
	memset(buf_reserve(&block->body, SEGMENT_ROOM), 0, SEGMENT_ROOM);
	block->body.len = SEGMENT_ROOM;
}

static void block_free(struct block *block)
{
	buf_release(&block->body);
	free(block);
}

static size_t block_memory(const struct block *block)
{
	return sizeof(*block) + block->body.capacity;
}

/* With writer->lock held. */
static struct block *block_take_locked(struct trace_writer *writer, uint32_t producer)
{
	struct block *block = writer->free_blocks;

	if (block) {
		writer->free_blocks = block->next;
		writer->free_count--;
	} else {
		block = mem_zero(1, sizeof(*block));
		/* The whole of it now: no growing, and no page faults later when it is recycled. */
		buf_reserve(&block->body, SEGMENT_ROOM + writer->options.block_size);
	}
	block_reset(block, producer);
	return block;
}

static struct block *block_take(struct trace_writer *writer, uint32_t producer)
{
	struct block *block;

	pthread_mutex_lock(&writer->lock);
	block = block_take_locked(writer, producer);
	pthread_mutex_unlock(&writer->lock);
	return block;
}

/* With writer->lock held. */
static void block_recycle_locked(struct trace_writer *writer, struct block *block)
{
	/* One huge statement must not keep its memory for ever. */
	if (writer->free_count >= FREE_BLOCKS_MAX ||
		block->body.capacity > 4 * (writer->options.block_size + SEGMENT_ROOM)) {
		block_free(block);
		return;
	}
	block->next = writer->free_blocks;
	writer->free_blocks = block;
	writer->free_count++;
}

/* The record at the end of the block, counted. */
static void block_count(struct block *block, enum record_kind kind, uint64_t seq, uint64_t at)
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

static void queue_push_locked(struct trace_writer *writer, struct block *block)
{
	block->next = NULL;
	if (writer->queue_last)
		writer->queue_last->next = block;
	else
		writer->queue_first = block;
	writer->queue_last = block;
	writer->queued_bytes += block_memory(block);
	if (writer->thread_waits)
		pthread_cond_signal(&writer->work);
}

/* ---- losses and gap records ---- */

static void loss_add(
	struct loss *loss, uint64_t records, uint64_t bytes, uint64_t first_seq, uint64_t last_seq)
{
	if (!records)
		return;
	if (!loss->records) {
		loss->begin = clock_mono_ns();
		loss->first_seq = first_seq;
		loss->last_seq = last_seq;
	}
	if (first_seq < loss->first_seq)
		loss->first_seq = first_seq;
	if (last_seq > loss->last_seq)
		loss->last_seq = last_seq;
	loss->records += records;
	loss->bytes += bytes;
}

static uint64_t next_seq(struct trace_writer *writer)
{
	return atomic_fetch_add_explicit(&writer->next_seq, 1, memory_order_relaxed);
}

/* Returns its seq. */
static uint64_t gap_pack(struct trace_writer *writer, struct block *block, uint32_t producer,
	const char *reason, const struct loss *loss, const char *detail)
{
	struct record_gap gap = {
		.seq = next_seq(writer),
		.at = clock_mono_ns(),
		.begin = loss->begin,
		.producer = producer,
		.reason = span_str(reason),
		.records = loss->records,
		.bytes = loss->bytes,
		.first_seq = loss->first_seq,
		.last_seq = loss->last_seq,
		.detail = span_str(detail),
	};

	record_gap_pack(&block->body, &gap);
	block_count(block, RECORD_GAP, gap.seq, gap.at);
	return gap.seq;
}

static void loss_join(struct loss *into, const struct loss *loss)
{
	uint64_t begin = into->records ? into->begin : loss->begin;

	loss_add(into, loss->records, loss->bytes, loss->first_seq, loss->last_seq);
	into->begin = begin;
}

/* With writer->lock held: counts records that no gap record tells of yet. */
static void lose_locked(struct trace_writer *writer, const struct loss *loss)
{
	writer->stats.lost_records += loss->records;
	writer->stats.lost_bytes += loss->bytes;
}

/* A block that cannot be kept.  Gap records in it are no loss of their own, but what they told is
 * untold again: `accounted` was not raised for them. */
static struct loss block_loss(const struct block *block)
{
	struct loss loss = {0};

	loss_add(&loss, block->head.records - block->head.counts[RECORD_GAP],
		block->body.len - SEGMENT_ROOM, block->head.info.first_seq,
		block->head.info.last_seq);
	return loss;
}

/* With writer->lock held. */
static void stop_locked(struct trace_writer *writer, const struct err *why)
{
	if (atomic_load(&writer->stopped))
		return;
	writer->stop_why = *why;
	writer->stats.stopped = true;
	atomic_store(&writer->stopped, true);
}

/* ---- handing over ---- */

enum handing { HANDED, WAIT_FOR_ROOM, DROP_IT };

/* With writer->lock held: may this block join the queue? */
static enum handing room_for(struct trace_writer *writer, const struct block *block)
{
	struct err why;

	if (atomic_load_explicit(&writer->stopped, memory_order_relaxed))
		return DROP_IT;
	/* An empty queue takes any block, or a huge statement could never be recorded. */
	if (writer->queued_bytes == 0 ||
		writer->queued_bytes + block_memory(block) <= writer->options.buffer_size_max) {
		writer->overloaded = false;
		return HANDED;
	}
	switch (writer->options.policy) {
	case TRACE_POLICY_WAIT:
		/* Having waited in vain once is enough until there is room again. */
		return writer->overloaded ? DROP_IT : WAIT_FOR_ROOM;
	case TRACE_POLICY_DROP:
		return DROP_IT;
	case TRACE_POLICY_STOP:
		err_set(&why, ERR_LIMIT,
			"recording to %s stopped: %zu bytes wait for the disk and more do not fit "
			"(policy stop). Use a larger buffer, a faster disk, or another policy",
			writer->path, writer->queued_bytes);
		stop_locked(writer, &why);
		return DROP_IT;
	}
	BUG("policy %d", (int)writer->options.policy);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

/* Both locks held on entry, writer->lock on return: the producer's is free while it waits. */
static enum handing wait_for_room(struct trace_producer *producer, struct block *block)
{
	struct trace_writer *writer = producer->writer;
	enum handing handing = WAIT_FOR_ROOM;
	struct timespec until;

	if (!producer->deadline_ns)
		producer->deadline_ns =
			clock_mono_ns() + (uint64_t)writer->options.wait_ms_max * 1000000u;
	until = timespec_of(producer->deadline_ns);
	producer->held_first_seq = block->head.info.first_seq;
	pthread_mutex_unlock(&producer->lock);
	while (handing == WAIT_FOR_ROOM) {
		int result = pthread_cond_timedwait(&writer->room, &writer->lock, &until);

		handing = room_for(writer, block);
		if (handing == WAIT_FOR_ROOM && result == ETIMEDOUT) {
			writer->overloaded = true;
			handing = DROP_IT;
		}
	}
	return handing;
}

/* The news of a loss goes to the writer when no block of this producer will carry it. */
static void leave_loss(struct trace_producer *producer)
{
	struct trace_writer *writer = producer->writer;

	pthread_mutex_lock(&writer->lock);
	if (producer->loss.records)
		loss_join(&writer->lost, &producer->loss);
	pthread_mutex_unlock(&writer->lock);
	producer->loss = (struct loss){0};
}

/* Gives a full block to the background thread, or does what the policy says.  Called and left with
 * the producer's lock, which is let go while waiting. */
static void hand_over(struct trace_producer *producer, struct block *block)
{
	struct trace_writer *writer = producer->writer;
	struct loss loss = block_loss(block);
	uint64_t begin = 0;
	enum handing handing;

	if (producer->loss.records) {
		producer->last_seq = gap_pack(writer, block, producer->id, "dropped",
			&producer->loss, "the disk did not keep up and the buffer was full");
		block->head.lost += producer->loss.records;
	}
	pthread_mutex_lock(&writer->lock);
	handing = room_for(writer, block);
	if (handing == WAIT_FOR_ROOM) {
		begin = clock_mono_ns();
		handing = wait_for_room(producer, block);
		writer->stats.waited_ns += clock_mono_ns() - begin;
	}
	if (handing == HANDED) {
		queue_push_locked(writer, block);
	} else {
		lose_locked(writer, &loss);
		block_recycle_locked(writer, block);
	}
	pthread_mutex_unlock(&writer->lock);
	if (begin)
		pthread_mutex_lock(&producer->lock);
	producer->held_first_seq = 0;
	if (handing != HANDED) {
		loss_join(&producer->loss, &loss);
		if (atomic_load(&writer->stopped))
			leave_loss(producer);
		return;
	}
	producer->loss = (struct loss){0};
	if (begin) {
		struct loss none = {.begin = begin};

		if (!producer->block)
			producer->block = block_take(writer, producer->id);
		producer->last_seq = gap_pack(writer, producer->block, producer->id, "waited",
			&none, "the buffer was full; nothing was lost");
	}
}

static bool block_is_empty(const struct block *block)
{
	return !block || block->head.records == 0;
}

/* With the producer's lock: hands over what it has, be it only the news of a loss. */
static void hand_over_current(struct trace_producer *producer)
{
	struct block *block = producer->block;

	if (block_is_empty(block))
		return;
	producer->block = NULL;
	hand_over(producer, block);
}

/* ---- emitting ---- */

/* A seq of the caller's own: later ones must be larger. */
static void seq_raise(struct trace_writer *writer, uint64_t seq)
{
	uint64_t next = atomic_load(&writer->next_seq);

	while (next <= seq && seq < UINT64_MAX &&
		!atomic_compare_exchange_weak(&writer->next_seq, &next, seq + 1))
		;
}

static void lose_record(struct trace_producer *producer, uint64_t seq, size_t size)
{
	struct trace_writer *writer = producer->writer;
	struct loss loss = {0};

	loss_add(&loss, 1, size, seq, seq);
	pthread_mutex_lock(&writer->lock);
	lose_locked(writer, &loss);
	pthread_mutex_unlock(&writer->lock);
	loss_join(&producer->loss, &loss);
	if (atomic_load(&writer->stopped))
		leave_loss(producer);
}

/* The owner's way to its lock, which it may have already. */
static void owner_lock(struct trace_producer *producer)
{
	if (!producer->held)
		pthread_mutex_lock(&producer->lock);
}

static void owner_unlock(struct trace_producer *producer)
{
	if (!producer->held)
		pthread_mutex_unlock(&producer->lock);
}

void trace_producer_hold(struct trace_producer *producer)
{
	owner_lock(producer);
	producer->held = true;
}

void trace_producer_let_go(struct trace_producer *producer)
{
	producer->held = false;
	owner_unlock(producer);
}

/* Takes the producer's lock and fills seq and at; the block to pack into, or NULL when the record
 * is not to be kept. */
static struct buf *emit_begin(struct trace_producer *producer, uint64_t *seq, uint64_t *at)
{
	struct trace_writer *writer = producer->writer;

	owner_lock(producer);
	if (UNLIKELY(*seq != 0))
		seq_raise(writer, *seq);
	else if (producer->use < producer->use_end && producer->use > producer->last_seq)
		*seq = producer->use++;
	else
		*seq = next_seq(writer);
	if (*seq > producer->last_seq)
		producer->last_seq = *seq;
	if (!*at)
		*at = clock_mono_ns();
	if (UNLIKELY(atomic_load_explicit(&writer->stopped, memory_order_relaxed))) {
		lose_record(producer, *seq, 0);
		return NULL;
	}
	if (!producer->block)
		producer->block = block_take(writer, producer->id);
	producer->deadline_ns = 0;
	producer->start = producer->block->body.len;
	return &producer->block->body;
}

/* The record just packed does not fit: it moves to a block of its own, and the rest goes. */
static void emit_split(
	struct trace_producer *producer, enum record_kind kind, uint64_t seq, uint64_t at)
{
	struct block *full = producer->block;
	struct block *fresh = block_take(producer->writer, producer->id);

	buf_add(&fresh->body, full->body.data + producer->start, full->body.len - producer->start);
	full->body.len = producer->start;
	block_count(fresh, kind, seq, at);
	producer->block = fresh;
	hand_over(producer, full);
}

/* Counts the record, hands over what is full, and gives the producer's lock back. */
static void emit_end(
	struct trace_producer *producer, enum record_kind kind, uint64_t seq, uint64_t at)
{
	struct trace_writer *writer = producer->writer;
	struct block *block = producer->block;
	size_t size = block->body.len - producer->start;

	if (UNLIKELY(size > RECORD_SIZE_MAX)) {
		block->body.len = producer->start;
		lose_record(producer, seq, size);
	} else if (block->body.len - SEGMENT_ROOM > writer->options.block_size &&
		   producer->start > SEGMENT_ROOM) {
		emit_split(producer, kind, seq, at);
	} else {
		block_count(block, kind, seq, at);
	}
	if (producer->block &&
		producer->block->body.len - SEGMENT_ROOM >= writer->options.block_size)
		hand_over_current(producer);
	owner_unlock(producer);
}

/* The struct is filled for the packing and then given back as it came: a caller that emits one
 * struct twice must not repeat a seq. */
#define DEFINE_EMIT(lower, upper)                                                                  \
	uint64_t trace_emit_##lower(                                                               \
		struct trace_producer *producer, struct record_##lower *record)                    \
	{                                                                                          \
		uint64_t old_seq = record->seq, old_at = record->at, seq;                          \
		struct buf *out = emit_begin(producer, &record->seq, &record->at);                 \
                                                                                                   \
		seq = record->seq;                                                                 \
		if (out) {                                                                         \
			record_##lower##_pack(out, record);                                        \
			emit_end(producer, RECORD_##upper, seq, record->at);                       \
		} else {                                                                           \
			owner_unlock(producer);                                                    \
		}                                                                                  \
		record->seq = old_seq;                                                             \
		record->at = old_at;                                                               \
		return seq;                                                                        \
	}
TRACE_EMIT_KINDS(DEFINE_EMIT)

uint64_t trace_producer_reserve(struct trace_producer *producer, unsigned count)
{
	_Atomic uint64_t *next = &producer->writer->next_seq;

	/* Before the counter moves, so that whoever sees it past them sees that they are reserved:
	 * see watermark_now. */
	if (!atomic_load_explicit(&producer->reserved, memory_order_relaxed))
		atomic_store(&producer->reserved, atomic_load(next));
	return atomic_fetch_add(next, count);
}

void trace_producer_use(struct trace_producer *producer, uint64_t first, unsigned count)
{
	owner_lock(producer);
	producer->use = first;
	producer->use_end = first + count;
	if (!first)
		atomic_store(&producer->reserved, 0);
	owner_unlock(producer);
}

uint64_t trace_seq(struct trace_writer *writer)
{
	return next_seq(writer);
}

/* ---- producers ---- */

struct trace_producer *trace_producer_open(struct trace_writer *writer)
{
	struct trace_producer *producer = mem_zero(1, sizeof(*producer));

	producer->writer = writer;
	pthread_mutex_init(&producer->lock, NULL);
	pthread_mutex_lock(&writer->producers_lock);
	producer->id = writer->next_producer++;
	producer->next = writer->producers;
	writer->producers = producer;
	pthread_mutex_unlock(&writer->producers_lock);
	return producer;
}

void trace_producer_flush(struct trace_producer *producer)
{
	owner_lock(producer);
	producer->deadline_ns = 0;
	hand_over_current(producer);
	owner_unlock(producer);
}

void trace_producer_close(struct trace_producer *producer)
{
	struct trace_writer *writer;
	struct trace_producer **at;

	if (!producer)
		return;
	writer = producer->writer;
	trace_producer_flush(producer);
	pthread_mutex_lock(&writer->producers_lock);
	pthread_mutex_lock(&producer->lock);
	/* A "waited" record may have been left behind by the flush; the policy does not matter for
	 * so little. */
	if (!block_is_empty(producer->block)) {
		pthread_mutex_lock(&writer->lock);
		queue_push_locked(writer, producer->block);
		pthread_mutex_unlock(&writer->lock);
		producer->block = NULL;
	}
	leave_loss(producer);
	for (at = &writer->producers; *at != producer; at = &(*at)->next)
		;
	*at = producer->next;
	pthread_mutex_unlock(&producer->lock);
	pthread_mutex_unlock(&writer->producers_lock);
	if (producer->block)
		block_free(producer->block);
	pthread_mutex_destroy(&producer->lock);
	free(producer);
}

void trace_context_set(struct trace_writer *writer, struct span key, struct span record)
{
	if (!writer->directory)
		return;
	pthread_mutex_lock(&writer->lock);
	context_set(&writer->context, key, record, atomic_load(&writer->next_seq));
	pthread_mutex_unlock(&writer->lock);
}

/* ---- the background thread: watermarks and stale blocks ---- */

static void lower(uint64_t *value, uint64_t seq)
{
	if (seq && seq < *value)
		*value = seq;
}

static uint64_t watermark_now(struct trace_writer *writer)
{
	uint64_t low = atomic_load(&writer->next_seq);

	pthread_mutex_lock(&writer->producers_lock);
	for (struct trace_producer *p = writer->producers; p; p = p->next) {
		pthread_mutex_lock(&p->lock);
		lower(&low, p->held_first_seq);
		lower(&low, p->reserved);
		if (p->block)
			lower(&low, p->block->head.info.first_seq);
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&writer->producers_lock);
	pthread_mutex_lock(&writer->lock);
	for (const struct block *b = writer->queue_first; b; b = b->next)
		lower(&low, b->head.info.first_seq);
	pthread_mutex_unlock(&writer->lock);
	return low;
}

/* Queues what idle producers hold.  The limit does not apply: it is one block a producer. */
static void take_stale(struct trace_writer *writer)
{
	pthread_mutex_lock(&writer->producers_lock);
	for (struct trace_producer *p = writer->producers; p; p = p->next) {
		pthread_mutex_lock(&p->lock);
		/* A waiting owner has an older block in its hands, which must come first. */
		if (!p->held_first_seq && (!block_is_empty(p->block) || p->loss.records)) {
			if (!p->block)
				p->block = block_take(writer, p->id);
			if (p->loss.records) {
				p->last_seq = gap_pack(writer, p->block, p->id, "dropped", &p->loss,
					"the disk did not keep up and the buffer was full");
				p->block->head.lost += p->loss.records;
				p->loss = (struct loss){0};
			}
			pthread_mutex_lock(&writer->lock);
			queue_push_locked(writer, p->block);
			pthread_mutex_unlock(&writer->lock);
			p->block = NULL;
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&writer->producers_lock);
}

/* ---- the background thread: the disk ---- */

/* Who drops what does not fit records again when there is room. */
static bool may_pause(const struct trace_writer *writer, const struct err *why)
{
	return writer->options.policy == TRACE_POLICY_DROP &&
	       (why->errnum == ENOSPC || why->errnum == EDQUOT);
}

/* The disk refused bytes; sync: it refused to keep those that it had taken, and which of them are
 * there is not known. */
static void note_failure(struct trace_writer *writer, const struct err *why, bool sync)
{
	struct err text = *why;

	writer->failed = true;
	writer->paused = !sync && may_pause(writer, why);
	writer->retry_ns =
		clock_mono_ns() + (uint64_t)writer->options.flush_interval_ms * 1000000u;
	err_set_errno(&text, why->errnum,
		"recording stopped: cannot write to %s after %" PRIu64 " bytes (%" PRIu64
		" blocks, %" PRIu64 " records), which stay readable",
		writer->segment.path, writer->segment.offset, writer->segment.blocks,
		writer->segment.records);
	pthread_mutex_lock(&writer->lock);
	writer->stats.paused = writer->paused;
	if (writer->paused)
		writer->stop_why = text;
	else
		stop_locked(writer, &text);
	pthread_mutex_unlock(&writer->lock);
}

/* Writes one block.  False: the disk refused, and the failure is noted. */
static bool write_block(struct trace_writer *writer, struct block *block)
{
	struct segment *segment = &writer->segment;
	uint64_t before = segment->offset;
	struct err err;

	if (!segment_write(segment, &writer->codec, &block->head, &block->body, &err)) {
		note_failure(writer, &err, false);
		return false;
	}
	pthread_mutex_lock(&writer->lock);
	writer->stats.blocks++;
	writer->stats.bytes_written += segment->offset - before;
	if (!block->head.info.context) {
		writer->stats.records += block->head.records;
		writer->stats.bytes_raw += block->body.len - SEGMENT_ROOM;
	}
	writer->accounted += block->head.lost;
	if (writer->directory)
		context_advance(&writer->context, block->head.info.watermark);
	pthread_mutex_unlock(&writer->lock);
	if (writer->options.sync == TRACE_SYNC_ALWAYS && !segment_sync(segment, &err)) {
		note_failure(writer, &err, true);
		return false;
	}
	if (writer->options.sync == TRACE_SYNC_INTERVAL)
		segment_start_writing(segment);
	return true;
}

/* A block of the writer's own with one gap record. */
static bool write_gap(struct trace_writer *writer, const char *reason, const struct loss *loss,
	uint64_t accounts, const char *detail)
{
	struct block *block = block_take(writer, 0);
	bool ok;

	(void)gap_pack(writer, block, 0, reason, loss, detail);
	block->head.lost = accounts;
	block->head.info.watermark = watermark_now(writer);
	lower(&block->head.info.watermark, writer->watermark);
	ok = write_block(writer, block);
	pthread_mutex_lock(&writer->lock);
	block_recycle_locked(writer, block);
	pthread_mutex_unlock(&writer->lock);
	return ok;
}

/* What was lost and stands in no gap record yet, after a stop. */
static bool write_stop_gap(struct trace_writer *writer)
{
	struct loss loss;
	const char *detail;
	char text[sizeof(writer->stop_why.text)];

	pthread_mutex_lock(&writer->lock);
	loss = writer->lost;
	loss.records = writer->stats.lost_records - writer->accounted;
	writer->lost = (struct loss){0};
	memcpy(text, writer->stop_why.text, sizeof(text));
	detail = atomic_load(&writer->stopped) ? text
		 : writer->paused              ? "there was no room for the trace"
					       : "the buffer was full to the end";
	pthread_mutex_unlock(&writer->lock);
	if (write_gap(writer, atomic_load(&writer->stopped) ? "stopped" : "dropped", &loss,
		    loss.records, detail))
		return true;
	pthread_mutex_lock(&writer->lock);
	loss_join(&writer->lost, &loss);
	pthread_mutex_unlock(&writer->lock);
	return false;
}

/* ---- the background thread: segments ---- */

static char *segment_path(const struct trace_writer *writer, uint32_t number)
{
	char *path;

	if (!writer->directory)
		return mem_strdup(writer->path);
	if (asprintf(&path, "%s/%06" PRIu32 ".itr", writer->path, number) < 0)
		BUG("asprintf");
	return path;
}

static bool segment_open(struct trace_writer *writer, uint32_t number, struct err *err)
{
	struct segment *segment = &writer->segment;
	char *path = segment_path(writer, number);
	unsigned char id[16];
	bool ok;

	memcpy(id, segment->header.trace_id, sizeof(id));
	segment_release(segment);
	memcpy(segment->header.trace_id, id, sizeof(id));
	segment->header.segment = number;
	segment->header.recorder_ref = span_str(writer->options.recorder);
	segment->header.facts_ref = buf_span(&writer->facts);
	segment->anchored = writer->options.anchor_mono_ns != 0;
	if (segment->anchored) {
		segment->header.clock_mono_ns = writer->options.anchor_mono_ns;
		segment->header.clock_wall_ns = writer->options.anchor_wall_ns;
	}
	ok = segment_create(segment, path, writer->options.overwrite && !writer->directory, err);
	free(path);
	if (ok) {
		pthread_mutex_lock(&writer->lock);
		writer->stats.segments++;
		writer->stats.bytes_written += segment->offset;
		pthread_mutex_unlock(&writer->lock);
	}
	return ok;
}

struct context_run {
	struct trace_writer *writer;
	struct block *block;
	struct block *first, *last; /* finished ones */
};

static void context_take(void *arg, struct span record)
{
	struct context_run *run = arg;
	struct mp mp = mp_over(record);
	uint32_t kind, left;
	uint64_t seq, at;

	/* What is no record with seq and at is not repeated: it would spoil the block. */
	if (!record_begin(&mp, &kind, &left) || left < 2 || kind >= RECORD_KIND_COUNT)
		return;
	seq = mp_uint(&mp);
	at = mp_uint(&mp);
	if (mp.bad || !record_skip_fields(&mp, left - 2) || mp.p != mp.end)
		return;
	if (run->block->head.records &&
		run->block->body.len + record.len > run->writer->options.block_size) {
		if (run->last)
			run->last->next = run->block;
		else
			run->first = run->block;
		run->last = run->block;
		run->block = block_take_locked(run->writer, 0);
	}
	buf_add_span(&run->block->body, record);
	block_count(run->block, (enum record_kind)kind, seq, at);
}

static bool write_context(struct trace_writer *writer)
{
	struct context_run run = {.writer = writer};
	bool ok = true;

	pthread_mutex_lock(&writer->lock);
	run.block = block_take_locked(writer, 0);
	context_each(&writer->context, context_take, &run);
	pthread_mutex_unlock(&writer->lock);
	if (run.last)
		run.last->next = run.block;
	else
		run.first = run.block;
	while (run.first) {
		struct block *block = run.first;

		run.first = block->next;
		block->head.info.context = true;
		block->head.info.watermark = writer->watermark;
		ok = ok && (!block->head.records || write_block(writer, block));
		pthread_mutex_lock(&writer->lock);
		block_recycle_locked(writer, block);
		pthread_mutex_unlock(&writer->lock);
	}
	return ok;
}

/* Removes the oldest segments until one more of full size fits; tells of all removed so far. */
static bool remove_old(struct trace_writer *writer)
{
	uint64_t limit = writer->options.total_size_max;
	char detail[96];

	while (limit && writer->old_first < writer->old_count &&
		writer->old_bytes + writer->options.segment_size_max > limit) {
		const struct old_segment *old = &writer->old[writer->old_first++];
		char *path = segment_path(writer, old->number);

		if (unlink(path) == 0 || errno == ENOENT) {
			loss_add(&writer->removed, old->records, old->bytes, old->first_seq,
				old->last_seq);
			writer->removed_last = old->number;
		}
		writer->old_bytes -= old->size;
		free(path);
	}
	if (!writer->removed_last)
		return true;
	snprintf(detail, sizeof(detail),
		"segments 1 to %" PRIu32 " were removed by the limit on the "
		"total size",
		writer->removed_last);
	return write_gap(writer, "rotated", &writer->removed, 0, detail);
}

static bool end_segment(struct trace_writer *writer, const char *reason, struct err *err)
{
	struct segment *segment = &writer->segment;
	uint64_t before = segment->offset;
	bool sync = writer->options.sync != TRACE_SYNC_NEVER;

	if (!segment_footer(
		    segment, &writer->codec, reason, next_seq(writer), writer->watermark, err))
		return false;
	pthread_mutex_lock(&writer->lock);
	writer->stats.bytes_written += segment->offset - before;
	writer->stats.blocks++;
	pthread_mutex_unlock(&writer->lock);
	return segment_end(segment, sync, err);
}

static bool rotate(struct trace_writer *writer)
{
	struct segment *segment = &writer->segment;
	struct old_segment old = {segment->header.segment, 0,
		segment->records - segment->repeated + segment->lost, segment->bytes_raw,
		segment->first_seq, segment->last_seq};
	struct err err;

	if (!end_segment(writer, "rotated", &err)) {
		note_failure(writer, &err, segment->fd < 0);
		return false;
	}
	old.size = segment->offset;
	/* Those removed leave room at the front once in a while. */
	if (writer->old_first > 64 && writer->old_first * 2 > writer->old_count) {
		memmove(writer->old, writer->old + writer->old_first,
			(writer->old_count - writer->old_first) * sizeof(*writer->old));
		writer->old_count -= writer->old_first;
		writer->old_first = 0;
	}
	MEM_RESERVE(writer->old, writer->old_count + 1, writer->old_capacity);
	writer->old[writer->old_count++] = old;
	writer->old_bytes += old.size;
	if (!segment_open(writer, old.number + 1, &err)) {
		note_failure(writer, &err, false);
		return false;
	}
	return write_context(writer) && remove_old(writer);
}

static bool rotation_due(struct trace_writer *writer, const struct block *block)
{
	uint64_t limit = writer->options.segment_size_max;
	bool wanted;

	if (!writer->directory || writer->segment.records == 0)
		return false;
	pthread_mutex_lock(&writer->lock);
	wanted = writer->rotate_wanted;
	writer->rotate_wanted = false;
	pthread_mutex_unlock(&writer->lock);
	/* Some room for the footer. */
	return wanted ||
	       (limit && writer->segment.offset + segment_block_size_max(block->body.len) + 512 +
					 32 * (uint64_t)writer->segment.run_count >
				 limit);
}

/* ---- the background thread: its loop ---- */

static void resumed(struct trace_writer *writer)
{
	writer->paused = false;
	pthread_mutex_lock(&writer->lock);
	writer->stats.paused = false;
	pthread_mutex_unlock(&writer->lock);
}

/* Is there room again?  First of all the trace tells what was lost. */
static bool resume(struct trace_writer *writer)
{
	struct segment *segment = &writer->segment;
	struct loss loss;
	struct err err;

	if (!writer->paused || clock_mono_ns() < writer->retry_ns)
		return false;
	writer->failed = false;
	/* The disk was full when the next segment was due. */
	if (segment->fd < 0) {
		if (!segment_open(writer, segment->header.segment, &err)) {
			note_failure(writer, &err, false);
			return false;
		}
		if (!write_context(writer))
			return false;
	}
	pthread_mutex_lock(&writer->lock);
	loss = writer->lost;
	writer->lost = (struct loss){0};
	pthread_mutex_unlock(&writer->lock);
	if (loss.records &&
		!write_gap(writer, "dropped", &loss, loss.records, "there was no room for the trace")) {
		pthread_mutex_lock(&writer->lock);
		loss_join(&writer->lost, &loss);
		pthread_mutex_unlock(&writer->lock);
		return false;
	}
	resumed(writer);
	return true;
}

/* Writes a queued block or counts it as lost. */
static void process_block(struct trace_writer *writer, struct block *block)
{
	bool ok = !writer->failed || resume(writer);

	if (ok && rotation_due(writer, block))
		ok = rotate(writer);
	if (ok) {
		uint64_t low = watermark_now(writer);

		/* Never back: what was promised holds for all later blocks. */
		if (low > writer->watermark)
			writer->watermark = low;
		block->head.info.watermark = writer->watermark;
		ok = write_block(writer, block);
	}
	if (!ok) {
		struct loss loss = block_loss(block);

		pthread_mutex_lock(&writer->lock);
		lose_locked(writer, &loss);
		loss_join(&writer->lost, &loss);
		pthread_mutex_unlock(&writer->lock);
	}
}

static void sync_if_due(struct trace_writer *writer, uint64_t now)
{
	struct err err;

	if (writer->options.sync != TRACE_SYNC_INTERVAL || writer->failed || now < writer->sync_ns)
		return;
	writer->sync_ns = now + (uint64_t)writer->options.sync_interval_ms * 1000000u;
	if (!segment_sync(&writer->segment, &err))
		note_failure(writer, &err, true);
}

/* What is due by the clock.  With writer->lock held, let go in between. */
static void on_tick(struct trace_writer *writer)
{
	uint64_t now = clock_mono_ns();

	if (now < writer->flush_ns)
		return;
	writer->flush_ns = now + (uint64_t)writer->options.flush_interval_ms * 1000000u;
	pthread_mutex_unlock(&writer->lock);
	take_stale(writer);
	sync_if_due(writer, now);
	pthread_mutex_lock(&writer->lock);
}

static struct block *queue_pop_locked(struct trace_writer *writer)
{
	struct block *block = writer->queue_first;

	if (!block)
		return NULL;
	writer->queue_first = block->next;
	if (!writer->queue_first)
		writer->queue_last = NULL;
	return block;
}

static void process_queue(struct trace_writer *writer)
{
	struct block *block = queue_pop_locked(writer);

	while (block) {
		size_t memory = block_memory(block);

		pthread_mutex_unlock(&writer->lock);
		process_block(writer, block);
		pthread_mutex_lock(&writer->lock);
		writer->queued_bytes -= memory;
		block_recycle_locked(writer, block);
		pthread_cond_broadcast(&writer->room);
		on_tick(writer);
		block = queue_pop_locked(writer);
	}
}

/* Everything is written: the last gap record and the footer.  After a failure there may be room
 * again for so little; if not, the trace ends without a footer. */
static bool finish(struct trace_writer *writer, struct err *err)
{
	bool stopped = atomic_load(&writer->stopped);
	bool ok = true;

	if (writer->segment.fd < 0)
		return false;
	if (writer->stats.lost_records > writer->accounted)
		ok = write_stop_gap(writer);
	ok = ok && end_segment(writer, stopped ? "stopped" : "end", err);
	if (ok)
		resumed(writer);
	return ok;
}

static void *writer_thread(void *arg)
{
	struct trace_writer *writer = arg;

	pthread_setname_np(pthread_self(), "trace writer");
	pthread_mutex_lock(&writer->lock);
	for (;;) {
		bool closing = writer->closing;
		struct timespec until;

		process_queue(writer);
		if (atomic_load(&writer->stopped) && !writer->stop_noted) {
			pthread_mutex_unlock(&writer->lock);
			writer->stop_noted = true;
			(void)write_stop_gap(writer);
			pthread_mutex_lock(&writer->lock);
			continue;
		}
		/* `closing` was seen before the queue was emptied: nothing can have come since. */
		if (closing)
			break;
		on_tick(writer);
		if (writer->queue_first || writer->closing)
			continue;
		until = timespec_of(writer->flush_ns);
		writer->thread_waits = true;
		pthread_cond_timedwait(&writer->work, &writer->lock, &until);
		writer->thread_waits = false;
	}
	pthread_mutex_unlock(&writer->lock);
	/* Here and not in trace_writer_close: this thread has SIGXFSZ and SIGPIPE blocked. */
	err_clear(&writer->end_err);
	writer->ended_well = finish(writer, &writer->end_err);
	return NULL;
}

/* ---- opening ---- */

void trace_writer_defaults(struct trace_writer_options *options)
{
	*options = (struct trace_writer_options){
		.block_size = TRACE_BLOCK_SIZE_DEFAULT,
		.buffer_size_max = 64 * 1024 * 1024,
		.flush_interval_ms = 100,
		.sync_interval_ms = 1000,
		.sync = TRACE_SYNC_INTERVAL,
		.policy = TRACE_POLICY_WAIT,
		.wait_ms_max = 1000,
		.compression_level = 1,
		.recorder = "isorec " ISOTRACE_VERSION,
	};
}

bool trace_compression_level(const char *word, int *level)
{
	char *end;
	long number;

	if (strcmp(word, "off") == 0) {
		*level = 0;
		return true;
	}
	if (strcmp(word, "fast") == 0) {
		*level = TRACE_COMPRESSION_FAST;
		return true;
	}
	number = strtol(word, &end, 10);
	*level = (int)number;
	return end != word && !*end && number >= 0 && number <= 19;
}

static void options_complete(struct trace_writer_options *options)
{
	if (options->block_size < BLOCK_SIZE_MIN)
		options->block_size = BLOCK_SIZE_MIN;
	if (options->block_size > TRACE_BLOCK_RAW_MAX / 2)
		options->block_size = TRACE_BLOCK_RAW_MAX / 2;
	if (!options->flush_interval_ms)
		options->flush_interval_ms = 1;
	if (options->total_size_max && !options->segment_size_max)
		options->segment_size_max = options->total_size_max / 8;
	if (!options->recorder)
		options->recorder = "";
}

static void pack_facts(struct buf *out, const char *const *facts)
{
	msgpack_packer pk = pack_into(out);
	uint32_t count = 0;

	while (facts && facts[2 * count] && facts[2 * count + 1])
		count++;
	msgpack_pack_map(&pk, count);
	for (uint32_t i = 0; i < 2 * count; i++)
		pack_str(&pk, span_str(facts[i]));
}

/* The directory of a rotated trace: made here, or empty of segments. */
static bool make_directory(const char *path, struct err *err)
{
	struct dirent *entry;
	bool used = false;
	DIR *dir;

	if (mkdir(path, 0700) == 0)
		return true;
	if (errno != EEXIST)
		return err_set_errno(err, errno,
			"cannot create the directory %s for the trace's segments", path);
	dir = opendir(path);
	if (!dir)
		return err_set_errno(
			err, errno, "cannot use %s as the directory of the trace's segments", path);
	while (!used && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		used = len > 4 && strcmp(entry->d_name + len - 4, ".itr") == 0;
	}
	closedir(dir);
	if (used)
		return err_set(err, ERR_USAGE,
			"%s holds segments of a trace already: choose another directory", path);
	return true;
}

static void writer_free(struct trace_writer *writer)
{
	struct block *block;

	segment_release(&writer->segment);
	ZSTD_freeCCtx(writer->codec.zstd);
	buf_release(&writer->codec.frame);
	buf_release(&writer->facts);
	context_release(&writer->context);
	while ((block = writer->free_blocks)) {
		writer->free_blocks = block->next;
		block_free(block);
	}
	pthread_mutex_destroy(&writer->producers_lock);
	pthread_mutex_destroy(&writer->lock);
	pthread_cond_destroy(&writer->work);
	pthread_cond_destroy(&writer->room);
	free(writer->old);
	free(writer->path);
	free(writer);
}

static struct trace_writer *writer_new(const char *path, const struct trace_writer_options *options)
{
	struct trace_writer *writer = mem_zero(1, sizeof(*writer));
	pthread_condattr_t attr;

	writer->options = *options;
	options_complete(&writer->options);
	writer->path = mem_strdup(path);
	writer->directory = writer->options.segment_size_max != 0;
	writer->next_producer = 1; /* 0 is the writer itself */
	atomic_init(&writer->next_seq, 1);
	atomic_init(&writer->stopped, false);
	pthread_mutex_init(&writer->producers_lock, NULL);
	pthread_mutex_init(&writer->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&writer->work, &attr);
	pthread_cond_init(&writer->room, &attr);
	pthread_condattr_destroy(&attr);
	segment_init(&writer->segment, options->io);
	pack_facts(&writer->facts, options->facts);
	if (writer->options.compression_level) {
		writer->codec.zstd = ZSTD_createCCtx();
		CHECK(writer->codec.zstd);
		ZSTD_CCtx_setParameter(writer->codec.zstd, ZSTD_c_compressionLevel,
			writer->options.compression_level);
		writer->codec.saving_min = writer->options.compression_level < 0
						   ? SEGMENT_SAVING_MIN_FAST
						   : SEGMENT_SAVING_MIN;
	}
	return writer;
}

/* Signals are the program's business, not this thread's; and with SIGXFSZ and SIGPIPE blocked a
 * refused write comes back as an error. */
static bool start_thread(struct trace_writer *writer, struct err *err)
{
	sigset_t all, old;
	int errnum;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errnum = pthread_create(&writer->thread, NULL, writer_thread, writer);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errnum)
		return err_set_errno(err, errnum, "cannot start the trace writer's thread");
	return true;
}

struct trace_writer *trace_writer_open(
	const char *path, const struct trace_writer_options *options, struct err *err)
{
	struct trace_writer *writer = writer_new(path, options);
	struct trace_header *header = &writer->segment.header;
	uint64_t now = clock_mono_ns();

	writer->flush_ns = now + (uint64_t)writer->options.flush_interval_ms * 1000000u;
	writer->sync_ns = now + (uint64_t)writer->options.sync_interval_ms * 1000000u;
	if (getrandom(header->trace_id, sizeof(header->trace_id), 0) !=
		(ssize_t)sizeof(header->trace_id)) {
		err_set_errno(err, errno, "cannot get random bytes for the trace's name");
	} else if ((!writer->directory || make_directory(path, err)) &&
		   segment_open(writer, 1, err) && start_thread(writer, err)) {
		return writer;
	}
	writer_free(writer);
	return NULL;
}

/* ---- closing ---- */

void trace_writer_rotate(struct trace_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->rotate_wanted = true;
	pthread_mutex_unlock(&writer->lock);
}

bool trace_writer_stopped(struct trace_writer *writer, struct err *why)
{
	bool stopped = atomic_load(&writer->stopped);

	if (stopped && why) {
		pthread_mutex_lock(&writer->lock);
		*why = writer->stop_why;
		pthread_mutex_unlock(&writer->lock);
	}
	return stopped;
}

void trace_writer_stats(struct trace_writer *writer, struct trace_writer_stats *out)
{
	pthread_mutex_lock(&writer->lock);
	*out = writer->stats;
	out->backlog_bytes = writer->queued_bytes;
	pthread_mutex_unlock(&writer->lock);
}

static bool end(struct trace_writer *writer, struct err *err)
{
	bool ok;

	pthread_mutex_lock(&writer->producers_lock);
	CHECK(!writer->producers);
	pthread_mutex_unlock(&writer->producers_lock);
	pthread_mutex_lock(&writer->lock);
	writer->closing = true;
	pthread_cond_signal(&writer->work);
	pthread_mutex_unlock(&writer->lock);
	pthread_join(writer->thread, NULL);
	ok = writer->ended_well;
	if (atomic_load(&writer->stopped) || writer->paused) {
		err_set(err, writer->stop_why.code, "%s; %" PRIu64 " records were lost%s",
			writer->stop_why.text, writer->stats.lost_records,
			ok ? "" : ", and the trace ends without a footer");
		if (err)
			err->errnum = writer->stop_why.errnum;
		ok = false;
	} else if (!ok) {
		err_set_errno(err, writer->end_err.errnum,
			"the trace %s ends without a footer after %" PRIu64
			" bytes, which are readable",
			writer->segment.path, writer->segment.offset);
	}
	return ok;
}

bool trace_writer_end(struct trace_writer *writer, struct trace_writer_stats *stats, struct err *err)
{
	bool ok = end(writer, err);

	*stats = writer->stats;
	writer_free(writer);
	return ok;
}

bool trace_writer_close(struct trace_writer *writer, struct err *err)
{
	struct trace_writer_stats stats;

	return trace_writer_end(writer, &stats, err);
}

void trace_writer_discard(struct trace_writer *writer)
{
	(void)!end(writer, NULL);
	if (writer->segment.cuttable && writer->segment.header.segment == 1)
		(void)unlink(writer->segment.path);
	writer_free(writer);
}
