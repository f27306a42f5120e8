/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qsort() for large arrays of large elements.  qsort() takes as much memory again as the array has, from malloc(); this takes
 * eight bytes an element, and memory that may be in the temporary file (spill.h).  Elements that compare as equal stay in order.
 */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>

void sort_large(void *base, size_t count, size_t size, int (*compare)(const void *a, const void *b));

#endif
