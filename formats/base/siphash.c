/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/siphash.h"

#include <string.h>

static inline uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void rounds(struct siphash *s, int count)
{
	for (int i = 0; i < count; i++) {
		s->v0 += s->v1;
		s->v1 = rotate(s->v1, 13) ^ s->v0;
		s->v0 = rotate(s->v0, 32);
		s->v2 += s->v3;
		s->v3 = rotate(s->v3, 16) ^ s->v2;
		s->v0 += s->v3;
		s->v3 = rotate(s->v3, 21) ^ s->v0;
		s->v2 += s->v1;
		s->v1 = rotate(s->v1, 17) ^ s->v2;
		s->v2 = rotate(s->v2, 32);
	}
}

static inline uint64_t load(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static inline void word_add(struct siphash *s, uint64_t word)
{
	s->v3 ^= word;
	rounds(s, 2);
	s->v0 ^= word;
}

void siphash_init(struct siphash *sip, const unsigned char key[16], bool wide)
{
	uint64_t k0 = key ? load(key) : 0, k1 = key ? load(key + 8) : 0;

	*sip = (struct siphash){
		.v0 = k0 ^ 0x736f6d6570736575u,
		.v1 = k1 ^ 0x646f72616e646f6du ^ (wide ? 0xee : 0),
		.v2 = k0 ^ 0x6c7967656e657261u,
		.v3 = k1 ^ 0x7465646279746573u,
		.wide = wide,
	};
}

void siphash_add(struct siphash *sip, const void *ptr, size_t len)
{
	const unsigned char *p = (const unsigned char *)ptr;

	while (len && (sip->total & 7)) {
		sip->tail |= (uint64_t)*p++ << (8 * (sip->total & 7));
		sip->total++;
		len--;
		if ((sip->total & 7) == 0) {
			word_add(sip, sip->tail);
			sip->tail = 0;
		}
	}
	for (; len >= 8; p += 8, len -= 8) {
		word_add(sip, load(p));
		sip->total += 8;
	}
	while (len--) {
		sip->tail |= (uint64_t)*p++ << (8 * (sip->total & 7));
		sip->total++;
	}
}

static void store(unsigned char *out, uint64_t word)
{
	for (int i = 0; i < 8; i++)
		out[i] = (unsigned char)(word >> (8 * i));
}

void siphash_final(const struct siphash *sip, unsigned char *out)
{
	struct siphash s = *sip;

	word_add(&s, s.tail | s.total << 56);
	s.v2 ^= s.wide ? 0xee : 0xff;
	rounds(&s, 4);
	store(out, s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
	if (s.wide) {
		s.v1 ^= 0xdd;
		rounds(&s, 4);
		store(out + 8, s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
	}
}

uint64_t siphash_digest(const void *ptr, size_t len)
{
	struct siphash s;
	unsigned char out[8];

	siphash_init(&s, NULL, false);
	siphash_add(&s, ptr, len);
	siphash_final(&s, out);
	return load(out);
}
