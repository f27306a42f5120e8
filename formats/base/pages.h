/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages made ready before they are filled.
 *
 * The first touch of memory waits until the kernel has cleared a page, and in a virtual machine
 * that gives free memory back, until its host has found one: for a large history a third of the
 * time. One thread does that here for arrays that are filled from their beginning to their end, a
 * few MiB ahead of the end of what is filled: more would be memory that is perhaps not needed.
 *
 * Threads: one caller.  Contents are never touched (madvise(2), MADV_POPULATE_WRITE, Linux 5.14; an
 * older kernel refuses it, and everything stays as it is without), so it does no harm when an array
 * moved since the thread learned where it is.
 */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stddef.h>

enum {
	PAGES_ARRAYS_MAX = 8,
	PAGES_AHEAD = 4 << 20, /* bytes */
};

struct pages;

/* NULL when no thread can be had; pages_at and pages_end take that. */
struct pages *pages_begin(void);
/* Array number `array` is at ptr, filled up to `used` of its `capacity` bytes. */
void pages_at(struct pages *pages, unsigned array, void *ptr, size_t used, size_t capacity);
void pages_end(struct pages *pages);

#endif
