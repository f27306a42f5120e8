/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012), 64-bit and 128-bit output, fed in any pieces.  Unlike
 * base/hash.h its values are the same in every run and may be stored: digests of what a trace
 * leaves out (with the all-zero key) and keyed hashes of redacted values.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct siphash {
	uint64_t v0, v1, v2, v3;
	uint64_t total; /* bytes fed */
	uint64_t tail;  /* the last total % 8 of them */
	bool wide;
};

void siphash_init(struct siphash *sip, const unsigned char key[16], bool wide);
void siphash_add(struct siphash *sip, const void *ptr, size_t len);
/* 8 bytes, or 16 when wide, little-endian as the reference prints them.  `sip` stays usable. */
void siphash_final(const struct siphash *sip, unsigned char *out);
/* All at once, the all-zero key, as a number. */
uint64_t siphash_digest(const void *ptr, size_t len);

#endif
