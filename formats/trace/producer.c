/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Producers: records are packed into a block, and full blocks are handed over to the background
 * thread. */
#include <errno.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/writer_internal.h"

/* A block of one record, its block record and its frame stay below the reader's limit. */
enum { RECORD_SIZE_MAX = TRACE_BLOCK_RAW_MAX - 1024 };

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
		writing_stop_locked(writer, &why);
		return DROP_IT;
	}
	BUG("policy %d", (int)writer->options.policy);
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
		producer->last_seq = block_add_gap(writer, block, producer->id, "dropped",
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
		block_queue_locked(writer, block);
	} else {
		writing_lose_locked(writer, &loss);
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
		producer->last_seq = block_add_gap(writer, producer->block, producer->id, "waited",
			&none, "the buffer was full; nothing was lost");
	}
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
	writing_lose_locked(writer, &loss);
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

void trace_producer_clock(struct trace_producer *producer, const uint64_t *clock)
{
	producer->clock = clock;
}

uint64_t trace_producer_now(const struct trace_producer *producer)
{
	if (LIKELY(!producer->clock))
		return clock_mono_ns();
	return *producer->clock ? *producer->clock : clock_wall_ns();
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
		*seq = writing_seq(writer);
	if (*seq > producer->last_seq)
		producer->last_seq = *seq;
	if (!*at)
		*at = trace_producer_now(producer);
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

	/* Before the counter moves, so that a reader that sees it past them sees that they are reserved:
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
	return writing_seq(writer);
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

uint64_t trace_producer_durable(struct trace_producer *producer)
{
	struct trace_writer *writer = producer->writer;
	uint64_t ticket;
	bool lost;

	trace_producer_flush(producer);
	owner_lock(producer);
	lost = producer->loss.records != 0 || atomic_load(&writer->stopped);
	owner_unlock(producer);
	pthread_mutex_lock(&writer->lock);
	ticket = lost ? 0 : writer->queued_count;
	if (ticket > writer->durable_wanted) {
		writer->durable_wanted = ticket;
		if (writer->thread_waits)
			pthread_cond_signal(&writer->work);
	}
	pthread_mutex_unlock(&writer->lock);
	return ticket;
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
		block_queue_locked(writer, producer->block);
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
	mem_free(producer);
}
