/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks of a trace in memory, and what they say of records that were lost. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "trace/writer_internal.h"

enum { FREE_BLOCKS_MAX = 16 };

/* ---- blocks in memory ---- */

static void block_reset(struct block *block, uint32_t producer)
{
	block->next = NULL;
	memset(&block->head, 0, sizeof(block->head));
	block->head.info.producer = producer;
	block->born_ns = clock_mono_ns();
	buf_clear(&block->body);
	memset(buf_reserve(&block->body, SEGMENT_ROOM), 0, SEGMENT_ROOM);
	block->body.len = SEGMENT_ROOM;
}

void block_free(struct block *block)
{
	buf_release(&block->body);
	mem_free(block);
}

struct block *block_take_locked(struct trace_writer *writer, uint32_t producer)
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

struct block *block_take(struct trace_writer *writer, uint32_t producer)
{
	struct block *block;

	pthread_mutex_lock(&writer->lock);
	block = block_take_locked(writer, producer);
	pthread_mutex_unlock(&writer->lock);
	return block;
}

void block_recycle_locked(struct trace_writer *writer, struct block *block)
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

void block_queue_locked(struct trace_writer *writer, struct block *block)
{
	block->next = NULL;
	if (writer->queue_last)
		writer->queue_last->next = block;
	else
		writer->queue_first = block;
	writer->queue_last = block;
	writer->queued_count++;
	writer->queued_bytes += block_memory(block);
	if (writer->thread_waits)
		pthread_cond_signal(&writer->work);
}

/* ---- losses and gap records ---- */

void loss_add(
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

uint64_t block_add_gap(struct trace_writer *writer, struct block *block, uint32_t producer,
	const char *reason, const struct loss *loss, const char *detail)
{
	struct record_gap gap = {
		.seq = writing_seq(writer),
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

void loss_join(struct loss *into, const struct loss *loss)
{
	uint64_t begin = into->records ? into->begin : loss->begin;

	loss_add(into, loss->records, loss->bytes, loss->first_seq, loss->last_seq);
	into->begin = begin;
}

void writing_lose_locked(struct trace_writer *writer, const struct loss *loss)
{
	writer->stats.lost_records += loss->records;
	writer->stats.lost_bytes += loss->bytes;
}

struct loss block_loss(const struct block *block)
{
	struct loss loss = {0};

	loss_add(&loss, block->head.records - block->head.counts[RECORD_GAP],
		block->body.len - SEGMENT_ROOM, block->head.info.first_seq,
		block->head.info.last_seq);
	return loss;
}

void writing_stop_locked(struct trace_writer *writer, const struct err *why)
{
	if (atomic_load(&writer->stopped))
		return;
	writer->stop_why = *why;
	writer->stats.stopped = true;
	atomic_store(&writer->stopped, true);
}
