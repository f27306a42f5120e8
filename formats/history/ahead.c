/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "history/ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

struct ahead_slot {
	enum trace_next next;
	struct trace_block block;
	struct buf bytes; /* of block.records */
	struct err err;
	struct ahead_place place;
};

struct ahead {
	struct trace_reader *reader;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t filled, taken; /* slots so far; slot n % AHEAD_BLOCKS */
	bool stop;
	bool holding; /* the caller still looks at slot `taken` */
	struct ahead_slot slots[AHEAD_BLOCKS];
};

struct ahead_place ahead_place_of(const struct trace_reader *reader)
{
	const struct trace_header *header = trace_reader_header(reader);
	struct ahead_place place = {
		.wall_ns = header->clock_wall_ns, .mono_ns = header->clock_mono_ns};

	trace_reader_progress(reader, &place.done, &place.all);
	return place;
}

static void *ahead_run(void *data)
{
	struct ahead *ahead = data;
	enum trace_next next = TRACE_NEXT_OK;

	while (next == TRACE_NEXT_OK) {
		struct ahead_slot *slot;

		pthread_mutex_lock(&ahead->mutex);
		while (!ahead->stop && ahead->filled - ahead->taken == AHEAD_BLOCKS)
			pthread_cond_wait(&ahead->changed, &ahead->mutex);
		slot = ahead->stop ? NULL : &ahead->slots[ahead->filled % AHEAD_BLOCKS];
		pthread_mutex_unlock(&ahead->mutex);
		if (!slot)
			break;
		next = slot->next = trace_next_block(ahead->reader, &slot->block, &slot->err);
		if (next == TRACE_NEXT_OK) {
			buf_clear(&slot->bytes);
			buf_add_span(&slot->bytes, slot->block.records);
			slot->block.records = buf_span(&slot->bytes);
			slot->place = ahead_place_of(ahead->reader);
		}
		pthread_mutex_lock(&ahead->mutex);
		ahead->filled++;
		pthread_cond_signal(&ahead->changed);
		pthread_mutex_unlock(&ahead->mutex);
	}
	return NULL;
}

struct ahead *ahead_begin(struct trace_reader *reader)
{
	struct ahead *ahead = mem_zero(1, sizeof(*ahead));

	ahead->reader = reader;
	pthread_mutex_init(&ahead->mutex, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	if (pthread_create(&ahead->thread, NULL, ahead_run, ahead) != 0) {
		pthread_cond_destroy(&ahead->changed);
		pthread_mutex_destroy(&ahead->mutex);
		free(ahead);
		return NULL;
	}
	return ahead;
}

enum trace_next ahead_next(struct ahead *ahead, struct trace_block *block, struct err *err)
{
	const struct ahead_slot *slot;

	pthread_mutex_lock(&ahead->mutex);
	if (ahead->holding) {
		ahead->taken++;
		pthread_cond_signal(&ahead->changed);
	}
	while (ahead->filled == ahead->taken)
		pthread_cond_wait(&ahead->changed, &ahead->mutex);
	slot = &ahead->slots[ahead->taken % AHEAD_BLOCKS];
	/* The last one is not given back: it says END or ERROR however often it is asked. */
	ahead->holding = slot->next == TRACE_NEXT_OK;
	pthread_mutex_unlock(&ahead->mutex);
	if (slot->next == TRACE_NEXT_ERROR)
		*err = slot->err;
	*block = slot->block;
	return slot->next;
}

struct ahead_place ahead_place(const struct ahead *ahead)
{
	return ahead->slots[ahead->taken % AHEAD_BLOCKS].place;
}

void ahead_end(struct ahead *ahead)
{
	pthread_mutex_lock(&ahead->mutex);
	ahead->stop = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->mutex);
	pthread_join(ahead->thread, NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->mutex);
	for (size_t i = 0; i < AHEAD_BLOCKS; i++)
		buf_release(&ahead->slots[i].bytes);
	free(ahead);
}
