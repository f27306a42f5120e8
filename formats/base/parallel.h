/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work in a few equal parts at the same time. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

enum { PARALLEL_PARTS_MAX = 8 };

/* Calls fn(data, part) for each part below `parts`, and returns when all have returned.  Part 0 is
 * called here; so is every part for which no thread can be had, and then one after the other: parts
 * must not wait for each other. */
void parallel_run(void (*fn)(void *data, unsigned part), void *data, unsigned parts);

#endif
