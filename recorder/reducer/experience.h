/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What earlier reductions tell: for each class of failure and kind of change, how many executions it took and how many
 * changes were accepted.  A file of lines, which several reductions may add to:
 *
 *	CLASS KIND EXECUTIONS ACCEPTED
 *
 * It decides the order in which kinds are tried, and nothing else: what comes out is as small with it as without.
 */
#ifndef REDUCER_EXPERIENCE_H
#define REDUCER_EXPERIENCE_H

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

enum { EXPERIENCE_MAX = 4096 };

struct experience_line {
	char class_[64], kind[24];
	uint64_t executions, accepted;
};

struct experience {
	struct experience_line *lines;
	size_t count, capacity;
	char class_[64];
};

/* path NULL: nothing is known.  What cannot be read is left out. */
void experience_open(struct experience *out, const char *path);
void experience_release(struct experience *e);
/* The class of the reduction that begins. */
void experience_class(struct experience *e, const char *class_);
void experience_add(struct experience *e, const char *kind, uint64_t executions, bool accepted);
/* Numbers of the kinds in the order in which they pay; those of which nothing is known stay where they were. */
void experience_order(const struct experience *e, const char *const *kinds, size_t count, uint8_t *order);
/* path NULL: nothing is written. */
bool experience_write(const struct experience *e, const char *path, struct err *err) MUST_CHECK;

#endif
