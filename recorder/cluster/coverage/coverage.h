/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks of a library the servers of a cluster reached, by an agent that is preloaded into them (agent.c).
 *
 * The agent says where the library is; a thread here finds its blocks and gives it a map, which all nodes share.
 */
#ifndef CLUSTER_COVERAGE_COVERAGE_H
#define CLUSTER_COVERAGE_COVERAGE_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "cluster/coverage/map.h"

struct coverage;

/* library: the name of its file.  False, with the reason: it cannot be had here. */
bool coverage_open(struct coverage **out, const char *library, struct err *err) MUST_CHECK;
void coverage_close(struct coverage *coverage);
/* The variables of the servers' environment, NULL at the end. */
const char *const *coverage_environment(const struct coverage *coverage);
/* NULL: no server has loaded the library yet, or its blocks are not known; *why then says so. */
const struct coverage_header *coverage_map(struct coverage *coverage, const char **why);

/* A map as text: "BUILD-ID FUNCTIONS COUNT BITS", BITS in hexadecimal digits, four blocks a digit. */
void coverage_print(const struct coverage_header *map, struct buf *out);

struct coverage_read {
	char build_id[COVERAGE_ID_SIZE];
	uint32_t count, functions, reached;
	unsigned char *bits; /* a byte a block */
};
bool coverage_parse(struct coverage_read *out, struct span text) MUST_CHECK;
void coverage_read_release(struct coverage_read *read);

static inline const uint64_t *coverage_addresses(const struct coverage_header *map)
{
	return (const uint64_t *)(const void *)(map + 1);
}

static inline const unsigned char *coverage_reached(const struct coverage_header *map)
{
	return (const unsigned char *)(map + 1) + (size_t)map->count * sizeof(uint64_t);
}

#endif
