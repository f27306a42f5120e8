/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/read_ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

struct read_ahead_slot {
	enum trace_next next;
	struct trace_block block;
	struct buf bytes; /* of block.records */
	bool is_decoded;
	struct decoded decoded;
	struct err err;
	struct read_ahead_place place;
};

struct read_ahead {
	struct trace_reader *reader; /* NULL: records in memory */
	struct span records;         /* the rest of them */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t filled, taken; /* slots so far; slot n % AHEAD_BLOCKS */
	bool stop;
	bool holding; /* the caller still looks at slot `taken` */
	bool waiting; /* the caller has nothing to do */
	struct read_ahead_slot slots[AHEAD_BLOCKS];
};

struct read_ahead_place read_ahead_place_of(const struct trace_reader *reader)
{
	const struct trace_header *header = trace_reader_header(reader);
	struct read_ahead_place place = {
		.wall_ns = header->clock_wall_ns, .mono_ns = header->clock_mono_ns};

	trace_reader_progress(reader, &place.done, &place.all);
	return place;
}

static struct read_ahead_slot *slot_at(struct read_ahead *ahead, uint64_t number)
{
	return &ahead->slots[number % AHEAD_BLOCKS];
}

static enum trace_next fill_memory(struct read_ahead *ahead, struct read_ahead_slot *slot)
{
	size_t size;

	decode_records(&slot->decoded, ahead->records, AHEAD_RECORDS);
	slot->is_decoded = true;
	size = (size_t)((const char *)slot->decoded.end - ahead->records.ptr);
	ahead->records = span_of(ahead->records.ptr + size, ahead->records.len - size);
	/* The caller stops where nothing more is sound. */
	return size && ahead->records.len ? TRACE_NEXT_OK : TRACE_NEXT_END;
}

static enum trace_next fill(struct read_ahead *ahead, struct read_ahead_slot *slot, bool waiting)
{
	if (!ahead->reader)
		return fill_memory(ahead, slot);
	slot->next = trace_next_block(ahead->reader, &slot->block, &slot->err);
	if (slot->next != TRACE_NEXT_OK)
		return slot->next;
	slot->block.records = trace_block_keep(ahead->reader, &slot->block, &slot->bytes);
	slot->place = read_ahead_place_of(ahead->reader);
	slot->is_decoded = !waiting;
	if (slot->is_decoded)
		decode_records(&slot->decoded, slot->block.records, slot->block.record_count);
	return TRACE_NEXT_OK;
}

static void *read_ahead_run(void *data)
{
	struct read_ahead *ahead = data;
	enum trace_next next = TRACE_NEXT_OK;

	while (next == TRACE_NEXT_OK) {
		struct read_ahead_slot *slot;
		bool waiting;

		pthread_mutex_lock(&ahead->mutex);
		while (!ahead->stop && ahead->filled - ahead->taken == AHEAD_BLOCKS)
			pthread_cond_wait(&ahead->changed, &ahead->mutex);
		slot = ahead->stop ? NULL : slot_at(ahead, ahead->filled);
		waiting = ahead->waiting;
		pthread_mutex_unlock(&ahead->mutex);
		if (!slot)
			break;
		next = fill(ahead, slot, waiting);
		pthread_mutex_lock(&ahead->mutex);
		ahead->filled++;
		pthread_cond_signal(&ahead->changed);
		pthread_mutex_unlock(&ahead->mutex);
	}
	return NULL;
}

static struct read_ahead *begin(struct trace_reader *reader, struct span records)
{
	struct read_ahead *ahead = mem_zero(1, sizeof(*ahead));

	ahead->reader = reader;
	ahead->records = records;
	pthread_mutex_init(&ahead->mutex, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	if (pthread_create(&ahead->thread, NULL, read_ahead_run, ahead) != 0) {
		pthread_cond_destroy(&ahead->changed);
		pthread_mutex_destroy(&ahead->mutex);
		mem_free(ahead);
		return NULL;
	}
	pthread_setname_np(ahead->thread, "ahead");
	return ahead;
}

struct read_ahead *read_ahead_begin(struct trace_reader *reader)
{
	return begin(reader, SPAN_NONE);
}

struct read_ahead *read_ahead_begin_memory(struct span records)
{
	return records.len ? begin(NULL, records) : NULL;
}

/* The slot after the one that the caller was given before. */
static struct read_ahead_slot *slot_next(struct read_ahead *ahead)
{
	struct read_ahead_slot *slot;

	pthread_mutex_lock(&ahead->mutex);
	if (ahead->holding) {
		ahead->taken++;
		pthread_cond_signal(&ahead->changed);
	}
	while (ahead->filled == ahead->taken) {
		ahead->waiting = true;
		pthread_cond_wait(&ahead->changed, &ahead->mutex);
	}
	ahead->waiting = false;
	slot = slot_at(ahead, ahead->taken);
	/* The last one is not given back: it says END or ERROR however often it is asked. */
	ahead->holding = !ahead->reader || slot->next == TRACE_NEXT_OK;
	pthread_mutex_unlock(&ahead->mutex);
	return slot;
}

enum trace_next read_ahead_next(struct read_ahead *ahead, struct trace_block *block, struct err *err)
{
	const struct read_ahead_slot *slot = slot_next(ahead);

	if (slot->next == TRACE_NEXT_ERROR)
		*err = slot->err;
	*block = slot->block;
	return slot->next;
}

const struct decoded *read_ahead_decoded(struct read_ahead *ahead)
{
	struct read_ahead_slot *slot = ahead->reader ? slot_at(ahead, ahead->taken) : slot_next(ahead);

	if (!slot->is_decoded)
		decode_records(&slot->decoded, slot->block.records, slot->block.record_count);
	slot->is_decoded = true;
	return &slot->decoded;
}

struct read_ahead_place read_ahead_place(const struct read_ahead *ahead)
{
	return ahead->slots[ahead->taken % AHEAD_BLOCKS].place;
}

void read_ahead_end(struct read_ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->mutex);
	ahead->stop = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->mutex);
	pthread_join(ahead->thread, NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->mutex);
	for (size_t i = 0; i < AHEAD_BLOCKS; i++) {
		buf_release(&ahead->slots[i].bytes);
		decoded_release(&ahead->slots[i].decoded);
	}
	mem_free(ahead);
}
