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
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *ptr,
	size_t len)
{
	const unsigned char *p = (const unsigned char *)ptr;
	uint64_t c = (uint32_t)~crc;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		c = __builtin_ia32_crc32di(c, word);
	}
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
