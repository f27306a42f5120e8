/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fixed-width numbers of the binary formats.  The caller has checked that the bytes are there. */
#ifndef IMPORT_BINARY_H
#define IMPORT_BINARY_H

#include <stdint.h>
#include <string.h>

static inline uint64_t get_le64(const char *p)
{
	uint64_t x;

	memcpy(&x, p, 8);
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? x : __builtin_bswap64(x);
}

static inline uint64_t get_be64(const char *p)
{
	return __builtin_bswap64(get_le64(p));
}

#endif
