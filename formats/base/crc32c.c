/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/crc32c.h"

#include <string.h>

/* The polynomial 0x1EDC6F41 with its bits reversed. */
#define POLYNOMIAL 0x82f63b78u

static uint32_t table[256];

__attribute__((constructor)) static void fill_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? (c >> 1) ^ POLYNOMIAL : c >> 1;
		table[i] = c;
	}
}

uint32_t crc32c_table(uint32_t crc, const void *ptr, size_t len)
{
	const unsigned char *p = (const unsigned char *)ptr;

	crc = ~crc;
	while (len--)
		crc = (crc >> 8) ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

#if defined(__x86_64__)
/*
 * The instruction takes three cycles and one can begin each cycle: so three stretches go side by
 * side.  A CRC without the final inversion is linear: that of A followed by B is that of A followed
 * by as many zero bytes as B has, XOR that of B begun with 0.  Appending STRETCH zero bytes is a
 * linear map of 32 bits, kept as a table a byte.
 */
enum { STRETCH = 1024 };
static uint32_t zeros[4][256];

__attribute__((constructor)) static void fill_zeros(void)
{
	for (unsigned bit = 0; bit < 32; bit++) {
		uint32_t c = UINT32_C(1) << bit, *of = zeros[bit / 8];

		for (int i = 0; i < STRETCH; i++)
			for (int k = 0; k < 8; k++)
				c = c & 1 ? (c >> 1) ^ POLYNOMIAL : c >> 1;
		for (unsigned n = 0; n < 256; n++)
			if (n >> bit % 8 & 1)
				of[n] ^= c;
	}
}

static uint32_t append_zeros(uint32_t c)
{
	return zeros[0][c & 0xff] ^ zeros[1][c >> 8 & 0xff] ^ zeros[2][c >> 16 & 0xff] ^
	       zeros[3][c >> 24];
}

static inline uint64_t load_word(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *ptr,
	size_t len)
{
	const unsigned char *p = (const unsigned char *)ptr;
	uint64_t c = (uint32_t)~crc;

	for (; len >= 3 * STRETCH; p += 3 * STRETCH, len -= 3 * STRETCH) {
		uint64_t second = 0, third = 0;

		for (size_t i = 0; i < STRETCH; i += 8) {
			c = __builtin_ia32_crc32di(c, load_word(p + i));
			second = __builtin_ia32_crc32di(second, load_word(p + STRETCH + i));
			third = __builtin_ia32_crc32di(third, load_word(p + 2 * STRETCH + i));
		}
		c = append_zeros(append_zeros((uint32_t)c) ^ (uint32_t)second) ^ (uint32_t)third;
	}
	for (; len >= 8; p += 8, len -= 8)
		c = __builtin_ia32_crc32di(c, load_word(p));
	while (len--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return ~(uint32_t)c;
}

uint32_t crc32c(uint32_t crc, const void *ptr, size_t len)
{
	return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(crc, ptr, len)
						: crc32c_table(crc, ptr, len);
}
#else
uint32_t crc32c(uint32_t crc, const void *ptr, size_t len)
{
	return crc32c_table(crc, ptr, len);
}
#endif
