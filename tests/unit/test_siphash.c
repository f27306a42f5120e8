/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SipHash against the vectors of the paper (appendix A) and of OpenSSL's MAC of the same name. */
#include <string.h>

#include "base/siphash.h"
#include "unit.h"

static void fill(unsigned char *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (unsigned char)i;
}

START_TEST(vector_of_the_paper)
{
	/* 0xa129ca6149be45e5 */
	static const unsigned char expected[8] = {0xe5, 0x45, 0xbe, 0x49, 0x61, 0xca, 0x29, 0xa1};
	unsigned char key[16], input[15], out[8];
	struct siphash s;

	fill(key, 16);
	fill(input, 15);
	for (size_t at = 0; at <= 15; at++) {
		siphash_init(&s, key, false);
		siphash_add(&s, input, at);
		siphash_add(&s, input + at, 15 - at);
		siphash_final(&s, out);
		ck_assert_mem_eq(out, expected, 8);
	}
}
END_TEST

START_TEST(wide_vector)
{
	/* openssl mac -macopt hexkey:000102...0f -macopt size:16 siphash, of bytes 00 to 0e */
	static const unsigned char expected[16] = {0x54, 0x93, 0xE9, 0x99, 0x33, 0xB0, 0xA8, 0x11,
		0x7E, 0x08, 0xEC, 0x0F, 0x97, 0xCF, 0xC3, 0xD9};
	unsigned char key[16], input[15], out[16];
	struct siphash s;

	fill(key, 16);
	fill(input, 15);
	siphash_init(&s, key, true);
	for (size_t i = 0; i < 15; i++)
		siphash_add(&s, input + i, 1);
	siphash_final(&s, out);
	ck_assert_mem_eq(out, expected, 16);
}
END_TEST

UNIT_MAIN("siphash", vector_of_the_paper, wide_vector)
