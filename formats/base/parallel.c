/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/parallel.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/bug.h"

struct part {
	void (*fn)(void *data, unsigned part);
	void *data;
	unsigned number;
	pthread_t thread;
	bool running;
};

static void *part_run(void *data)
{
	struct part *part = data;

	part->fn(part->data, part->number);
	return NULL;
}

void parallel_run(void (*fn)(void *data, unsigned part), void *data, unsigned parts)
{
	struct part part[PARALLEL_PARTS_MAX];

	CHECK(parts >= 1 && parts <= PARALLEL_PARTS_MAX);
	for (unsigned i = 1; i < parts; i++) {
		part[i] = (struct part){.fn = fn, .data = data, .number = i};
		part[i].running = pthread_create(&part[i].thread, NULL, part_run, &part[i]) == 0;
	}
	fn(data, 0);
	for (unsigned i = 1; i < parts; i++) {
		if (part[i].running)
			pthread_join(part[i].thread, NULL);
		else
			fn(data, i);
	}
}
