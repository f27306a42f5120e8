/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRC-32C (Castagnoli, RFC 3720 appendix B.4; reflected, initial and final value all ones), by the
 * processor's instruction where it has one and by table elsewhere.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* crc: 0 to begin, or the result for the bytes before, to go on. */
uint32_t crc32c(uint32_t crc, const void *ptr, size_t len);
/* The table alone, for machines without the instruction and as its test twin. */
uint32_t crc32c_table(uint32_t crc, const void *ptr, size_t len);

#endif
