/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What isorec and the preloaded agent share: a file, mapped by both.
 *
 *	header, count addresses (ascending, as the library's file has them), count bytes (1: the block was reached)
 *
 * Who makes it writes it under another name and renames it.
 */
#ifndef CLUSTER_COVERAGE_MAP_H
#define CLUSTER_COVERAGE_MAP_H

#include <stdint.h>

#define COVERAGE_MAGIC 0x31766f6372736900ull
enum { COVERAGE_ID_SIZE = 64, COVERAGE_BLOCKS_MAX = 4 << 20 };
/* The agent's environment: the folder, and the name of the library's file. */
#define COVERAGE_FOLDER "ISOREC_COVERAGE"
#define COVERAGE_LIBRARY "ISOREC_COVERAGE_LIBRARY"

struct coverage_header {
	uint64_t magic;
	uint64_t hits; /* blocks that were reached, counted as it happens */
	uint32_t count, functions;
	char build_id[COVERAGE_ID_SIZE]; /* in hexadecimal digits */
};

#endif
