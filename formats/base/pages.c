/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/pages.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bug.h"
#include "base/mem.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { STEP = 2 << 20 }; /* a large page */

struct array {
	uintptr_t ready;  /* up to here, from `from` */
	uintptr_t wanted; /* and so far it should be */
	uintptr_t from;
};

struct pages {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool stop;
	struct array arrays[PAGES_ARRAYS_MAX];
};

/* The one that the caller reaches first. */
static struct array *most_urgent(struct pages *pages)
{
	struct array *best = NULL;

	for (unsigned i = 0; i < PAGES_ARRAYS_MAX; i++) {
		struct array *array = &pages->arrays[i];

		if (array->ready < array->wanted &&
			(!best || array->wanted - array->ready > best->wanted - best->ready))
			best = array;
	}
	return best;
}

static void *pages_run(void *data)
{
	struct pages *pages = data;

	pthread_mutex_lock(&pages->mutex);
	while (!pages->stop) {
		struct array *array = most_urgent(pages);
		uintptr_t begin, end;
		int rc;

		if (!array) {
			pthread_cond_wait(&pages->changed, &pages->mutex);
			continue;
		}
		begin = array->ready;
		end = (begin + STEP) & ~(uintptr_t)(STEP - 1);
		if (end > array->wanted)
			end = array->wanted;
		array->ready = end;
		pthread_mutex_unlock(&pages->mutex);
		rc = madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
		pthread_mutex_lock(&pages->mutex);
		(void)rc; /* the caller's own touch does what was refused */
	}
	pthread_mutex_unlock(&pages->mutex);
	return NULL;
}

struct pages *pages_begin(void)
{
	struct pages *pages = mem_zero(1, sizeof(*pages));

	pthread_mutex_init(&pages->mutex, NULL);
	pthread_cond_init(&pages->changed, NULL);
	if (pthread_create(&pages->thread, NULL, pages_run, pages) != 0) {
		pthread_cond_destroy(&pages->changed);
		pthread_mutex_destroy(&pages->mutex);
		mem_free(pages);
		return NULL;
	}
	pthread_setname_np(pages->thread, "pages");
	return pages;
}

void pages_at(struct pages *pages, unsigned array, void *ptr, size_t used, size_t capacity)
{
	enum { PAGE = 4096 };
	uintptr_t base = (uintptr_t)ptr, at, wanted;
	struct array *a;

	CHECK(array < PAGES_ARRAYS_MAX && used <= capacity);
	if (!pages)
		return;
	at = (base + used + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	wanted = base + (capacity - used > PAGES_AHEAD ? used + PAGES_AHEAD : capacity);
	wanted &= ~(uintptr_t)(PAGE - 1);
	pthread_mutex_lock(&pages->mutex);
	a = &pages->arrays[array];
	if (a->from != base)
		*a = (struct array){.from = base};
	if (a->ready < at)
		a->ready = at;
	/* Half the way at once: not a word to the thread for each block. */
	if (wanted > a->ready && (wanted - a->ready >= PAGES_AHEAD / 2)) {
		a->wanted = wanted;
		pthread_cond_signal(&pages->changed);
	}
	pthread_mutex_unlock(&pages->mutex);
}

void pages_end(struct pages *pages)
{
	if (!pages)
		return;
	pthread_mutex_lock(&pages->mutex);
	pages->stop = true;
	pthread_cond_signal(&pages->changed);
	pthread_mutex_unlock(&pages->mutex);
	pthread_join(pages->thread, NULL);
	pthread_cond_destroy(&pages->changed);
	pthread_mutex_destroy(&pages->mutex);
	mem_free(pages);
}
