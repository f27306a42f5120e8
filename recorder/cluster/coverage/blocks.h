/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The basic blocks of a stripped x86-64 library: functions from .eh_frame, blocks from their instructions.  A block begins at
 * a function's entry, where a jump within the function leads, and after a conditional jump.
 */
#ifndef CLUSTER_COVERAGE_BLOCKS_H
#define CLUSTER_COVERAGE_BLOCKS_H

#include "base/attr.h"
#include "base/err.h"
#include "cluster/coverage/map.h"

struct blocks {
	uint64_t *addresses; /* ascending */
	uint32_t count, functions;
	char build_id[COVERAGE_ID_SIZE];
};

/* False: not such a library, or this program was built without a disassembler. */
bool blocks_find(struct blocks *out, const char *path, struct err *err) MUST_CHECK;
void blocks_release(struct blocks *blocks);

#endif
