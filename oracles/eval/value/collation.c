/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collations that are known here are, on the texts where they are known, functions from
 * characters to weights: one number for most, several for a few (German sharp s is two s to the
 * UCA), none for a character that is skipped (UCA control characters).  Nothing else is needed to
 * compare, search and match.  Weights beyond ASCII are in collation_weights.c.
 */
#include "eval/value/collation.h"

#include <string.h>

#include "eval/value/collation_weights.h"

enum weights { W_BYTES, W_LATIN1_SWEDISH, W_LATIN1_GENERAL, W_GENERAL, W_UCA, W_UCA9 };

static const struct {
	const char *name;
	enum charset charset;
	enum weights weights;
	bool pad, bin;
} infos[COLLATION_COUNT] = {
	[COLLATION_BINARY] = {"binary", CHARSET_BINARY, W_BYTES, false, true},
	[COLLATION_ASCII_GENERAL_CI] = {"ascii_general_ci", CHARSET_ASCII, W_GENERAL, true, false},
	[COLLATION_ASCII_BIN] = {"ascii_bin", CHARSET_ASCII, W_BYTES, true, true},
	[COLLATION_LATIN1_SWEDISH_CI] = {"latin1_swedish_ci", CHARSET_LATIN1, W_LATIN1_SWEDISH,
		true, false},
	[COLLATION_LATIN1_GENERAL_CI] = {"latin1_general_ci", CHARSET_LATIN1, W_LATIN1_GENERAL,
		true, false},
	[COLLATION_LATIN1_BIN] = {"latin1_bin", CHARSET_LATIN1, W_BYTES, true, true},
	[COLLATION_UTF8MB3_GENERAL_CI] = {"utf8mb3_general_ci", CHARSET_UTF8MB3, W_GENERAL, true,
		false},
	[COLLATION_UTF8MB3_UNICODE_CI] = {"utf8mb3_unicode_ci", CHARSET_UTF8MB3, W_UCA, true,
		false},
	[COLLATION_UTF8MB3_BIN] = {"utf8mb3_bin", CHARSET_UTF8MB3, W_BYTES, true, true},
	[COLLATION_UTF8MB4_GENERAL_CI] = {"utf8mb4_general_ci", CHARSET_UTF8MB4, W_GENERAL, true,
		false},
	[COLLATION_UTF8MB4_UNICODE_CI] = {"utf8mb4_unicode_ci", CHARSET_UTF8MB4, W_UCA, true,
		false},
	[COLLATION_UTF8MB4_UNICODE_520_CI] = {"utf8mb4_unicode_520_ci", CHARSET_UTF8MB4, W_UCA,
		true, false},
	[COLLATION_UTF8MB4_BIN] = {"utf8mb4_bin", CHARSET_UTF8MB4, W_BYTES, true, true},
	[COLLATION_UTF8MB4_0900_AI_CI] = {"utf8mb4_0900_ai_ci", CHARSET_UTF8MB4, W_UCA9, false,
		false},
	[COLLATION_UTF8MB4_0900_BIN] = {"utf8mb4_0900_bin", CHARSET_UTF8MB4, W_BYTES, false, true},
	[COLLATION_UTF8MB4_UCA1400_AI_CI] = {"utf8mb4_uca1400_ai_ci", CHARSET_UTF8MB4, W_UCA9, true,
		false},
	[COLLATION_UTF8MB4_GENERAL_NOPAD_CI] = {"utf8mb4_general_nopad_ci", CHARSET_UTF8MB4,
		W_GENERAL, false, false},
	[COLLATION_UTF8MB4_NOPAD_BIN] = {"utf8mb4_nopad_bin", CHARSET_UTF8MB4, W_BYTES, false,
		true},
};

enum charset collation_charset(uint16_t collation)
{
	return collation < COLLATION_COUNT ? infos[collation].charset : CHARSET_BINARY;
}

const char *collation_name(uint16_t collation)
{
	return collation < COLLATION_COUNT ? infos[collation].name : "unknown";
}

bool collation_is_bin(uint16_t collation)
{
	return collation < COLLATION_COUNT && infos[collation].bin;
}

bool collation_pads(uint16_t collation)
{
	return collation < COLLATION_COUNT && infos[collation].pad;
}

uint16_t collation_find(struct span name)
{
	for (uint16_t i = 0; i < COLLATION_COUNT; i++) {
		if (span_ieq_str(name, infos[i].name))
			return i;
	}
	if (span_ieq_str(name, "utf8_general_ci"))
		return COLLATION_UTF8MB3_GENERAL_CI;
	if (span_ieq_str(name, "utf8_unicode_ci"))
		return COLLATION_UTF8MB3_UNICODE_CI;
	if (span_ieq_str(name, "utf8_bin"))
		return COLLATION_UTF8MB3_BIN;
	return COLLATION_NONE;
}

uint16_t collation_of_charset(struct span name, bool mysql, uint32_t version)
{
	if (span_ieq_str(name, "binary"))
		return COLLATION_BINARY;
	if (span_ieq_str(name, "ascii"))
		return COLLATION_ASCII_GENERAL_CI;
	if (span_ieq_str(name, "latin1"))
		return COLLATION_LATIN1_SWEDISH_CI;
	/* MariaDB 11.6 made the UCA 14.0.0 collations the default of the Unicode sets. */
	if (span_ieq_str(name, "utf8mb3") || span_ieq_str(name, "utf8"))
		return !mysql && version >= 110600 ? COLLATION_NONE : COLLATION_UTF8MB3_GENERAL_CI;
	if (span_ieq_str(name, "utf8mb4")) {
		if (mysql)
			return version >= 80000 ? COLLATION_UTF8MB4_0900_AI_CI
						: COLLATION_UTF8MB4_GENERAL_CI;
		return version >= 110600 ? COLLATION_UTF8MB4_UCA1400_AI_CI
					 : COLLATION_UTF8MB4_GENERAL_CI;
	}
	return COLLATION_NONE;
}

uint16_t collation_bin_of(enum charset charset)
{
	switch (charset) {
	case CHARSET_BINARY:
		return COLLATION_BINARY;
	case CHARSET_ASCII:
		return COLLATION_ASCII_BIN;
	case CHARSET_LATIN1:
		return COLLATION_LATIN1_BIN;
	case CHARSET_UTF8MB3:
		return COLLATION_UTF8MB3_BIN;
	case CHARSET_UTF8MB4:
		return COLLATION_UTF8MB4_BIN;
	}
	return COLLATION_BINARY;
}

const char *charset_name(enum charset charset)
{
	static const char *const names[] = {"binary", "ascii", "latin1", "utf8mb3", "utf8mb4"};

	return names[charset];
}

uint32_t charset_max_bytes(enum charset charset)
{
	return charset == CHARSET_UTF8MB4 ? 4 : charset == CHARSET_UTF8MB3 ? 3 : 1;
}

/* ---- characters ---- */

static bool is_tail(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

uint32_t char_bytes(enum charset charset, struct span s)
{
	unsigned char c = (unsigned char)s.ptr[0];

	if (charset == CHARSET_ASCII)
		return c < 0x80;
	if (charset != CHARSET_UTF8MB3 && charset != CHARSET_UTF8MB4)
		return 1;
	if (c < 0x80)
		return 1;
	if (c < 0xc2)
		return 0;
	if (c < 0xe0)
		return s.len >= 2 && is_tail(s.ptr[1]) ? 2 : 0;
	if (c < 0xf0) {
		if (s.len < 3 || !is_tail(s.ptr[1]) || !is_tail(s.ptr[2]))
			return 0;
		return c == 0xe0 && (unsigned char)s.ptr[1] < 0xa0 ? 0 : 3;
	}
	if (charset == CHARSET_UTF8MB3 || c > 0xf4 || s.len < 4 || !is_tail(s.ptr[1]) ||
		!is_tail(s.ptr[2]) || !is_tail(s.ptr[3]))
		return 0;
	if ((c == 0xf0 && (unsigned char)s.ptr[1] < 0x90) ||
		(c == 0xf4 && (unsigned char)s.ptr[1] > 0x8f))
		return 0;
	return 4;
}

/* The servers' latin1 is cp1252; bytes without a character there keep their number. */
static const uint16_t cp1252[32] = {0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,
	0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d,
	0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178};

/* The byte of a character in latin1; 0: none (no caller asks for U+0000 here). */
static uint32_t latin1_byte(uint32_t code)
{
	if (code < 0x80 || (code >= 0xa0 && code <= 0xff))
		return code;
	for (uint32_t i = 0; i < ARRAY_LEN(cp1252); i++) {
		if (cp1252[i] == code)
			return 0x80 + i;
	}
	return 0;
}

uint32_t char_code(enum charset charset, const char *p, uint32_t bytes)
{
	const unsigned char *c = (const unsigned char *)p;

	if (charset == CHARSET_LATIN1 && c[0] >= 0x80 && c[0] < 0xa0)
		return cp1252[c[0] - 0x80];
	if (charset != CHARSET_UTF8MB3 && charset != CHARSET_UTF8MB4)
		return c[0];
	switch (bytes) {
	case 1:
		return c[0];
	case 2:
		return (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
	case 3:
		return (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
	default:
		return (c[0] & 0x7u) << 18 | (c[1] & 0x3fu) << 12 | (c[2] & 0x3fu) << 6 |
		       (c[3] & 0x3fu);
	}
}

uint32_t char_put(enum charset charset, uint32_t code, char out[4])
{
	if (charset == CHARSET_ASCII && code > 0x7f)
		return 0;
	if (charset == CHARSET_LATIN1 && code >= 0x80) {
		out[0] = (char)latin1_byte(code);
		return out[0] ? 1 : 0;
	}
	if (charset == CHARSET_BINARY && code > 0xff)
		return 0;
	if (code < 0x80 || (charset != CHARSET_UTF8MB3 && charset != CHARSET_UTF8MB4)) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	if (charset == CHARSET_UTF8MB3 || code > 0x10ffff)
		return 0;
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* How many bytes from the beginning on are ASCII, eight at a time as long as that goes. */
static size_t ascii_prefix(struct span s)
{
	size_t i = 0;

	for (; i + 8 <= s.len; i += 8) {
		uint64_t word;

		memcpy(&word, s.ptr + i, 8);
		if (word & 0x8080808080808080u)
			break;
	}
	while (i < s.len && (unsigned char)s.ptr[i] < 0x80)
		i++;
	return i;
}

bool text_is_ascii(struct span s)
{
	return ascii_prefix(s) == s.len;
}

static struct span rest_of(struct span s, size_t from)
{
	return span_of(s.ptr + from, s.len - from);
}

/* The next character, or one byte that is none. */
static uint32_t step(enum charset charset, struct span s, size_t at)
{
	uint32_t n = char_bytes(charset, rest_of(s, at));

	return n ? n : 1;
}

bool text_is_valid(enum charset charset, struct span s)
{
	for (size_t i = ascii_prefix(s); i < s.len;) {
		uint32_t n = char_bytes(charset, rest_of(s, i));

		if (!n)
			return false;
		i += n;
	}
	return true;
}

size_t text_chars(enum charset charset, struct span s)
{
	size_t count = 0;

	if (charset_max_bytes(charset) == 1)
		return s.len;
	for (size_t i = 0; i < s.len; i += step(charset, s, i))
		count++;
	return count;
}

size_t text_offset(enum charset charset, struct span s, size_t index)
{
	size_t i = 0;

	if (charset_max_bytes(charset) == 1)
		return index < s.len ? index : s.len;
	for (; i < s.len && index; index--)
		i += step(charset, s, i);
	return i;
}

/* ---- weights ---- */

/* The capitals and small letters above 0xbf; 0xd7, 0xdf, 0xf7 and 0xff stand for themselves. */
static const unsigned char swedish_high[33] = "AAAA\\[\\CEEEEIIIIDNOOOO]\xd7\xd8UUUYY\xde\xdf";

static const unsigned char latin1_general[] =
	"\x40\x41\x51\x53\x57\x5b\x65\x67\x69\x6b\x75\x77\x79\x7b\x7d\x81\x8f\x91\x93\x95\x98\x9a"
	"\xa4\xa6\xa8\xaa\xaf\xb3\xb4\xb5\xb6\xb7\xb8\x41\x51\x53\x57\x5b\x65\x67\x69\x6b\x75\x77"
	"\x79\x7b\x7d\x81\x8f\x91\x93\x95\x98\x9a\xa4\xa6\xa8\xaa\xaf\xb9\xba\xbb\xbc\xbf\xc0\xc1"
	"\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xcb\xcc\xcd\xce\xcf\xd0\xd1\xd2\xd3\xd4\xd5\xd6\xd7"
	"\xd8\xd9\xda\xdb\xdc\xdd\xde\xdf\xe0\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xeb\xec\xed"
	"\xee\xef\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff\x43\x45\x47\x49"
	"\x4b\x4d\x4f\x55\x5d\x5f\x61\x63\x6d\x6f\x71\x73\x59\x7f\x83\x85\x87\x89\x8b\xbd\x8d\x9c"
	"\x9e\xa0\xa2\xac\xb1\x97\x43\x45\x47\x49\x4b\x4d\x4f\x55\x5d\x5f\x61\x63\x6d\x6f\x71\x73"
	"\x59\x7f\x83\x85\x87\x89\x8b\xbe\x8d\x9c\x9e\xa0\xa2\xac\xb1\xae";

/* The order of ASCII in UCA 4.0.0 and 5.2.0; in 9.0.0 and 14.0.0 ` and ^ moved. */
static const char uca_order[] = "\t\n\v\f\r `^_-,;:!?.'\"()[]{}@*/\\&#%+<=>|~$0123456789"
				"abcdefghijklmnopqrstuvwxyz";

static int ascii_lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

static int ascii_upper(int c)
{
	return c >= 'a' && c <= 'z' ? c - 32 : c;
}

static int uca_weight(const char *order, int c)
{
	const char *found;

	if (c == 0)
		return 0;
	found = strchr(order, ascii_lower(c));
	return found ? (int)(found - order) + 1 : 0;
}

/* The weight of a byte below 0x80, or of any byte of a one-byte set. */
static int byte_weight(enum weights weights, unsigned char c)
{
	switch (weights) {
	case W_BYTES:
		return c;
	case W_LATIN1_SWEDISH:
		if (c == 0xf7 || c == 0xff)
			return c;
		return c < 0x80 ? ascii_upper(c) : c < 0xc0 ? c : swedish_high[c & 0x1f];
	case W_LATIN1_GENERAL:
		return c < 0x40 ? c : latin1_general[c - 0x40];
	case W_GENERAL:
		return ascii_upper(c);
	case W_UCA:
		return uca_weight(uca_order, c);
	case W_UCA9:
		return weight_uca[c]; /* ASCII is the first of the ranges */
	}
	return c;
}

/* ---- weights beyond ASCII ---- */

enum { CHAR_WEIGHTS = 4, HAN_FIRST = 0x4e00, HAN_LAST = 0x9fa5, HANGUL_FIRST = 0xac00,
	HANGUL_LAST = 0xd7a3, GENERAL_BEYOND_BMP = 0xfffd };

/* The place of a character in the tables, or -1. */
static int weight_place(uint32_t code)
{
	for (size_t i = 0; i < WEIGHT_RANGES; i++) {
		const struct weight_range *range = &weight_ranges[i];

		if (code < range->low)
			return -1;
		if (code <= range->high)
			return (int)(range->at + code - range->low);
	}
	return -1;
}

static int uca_weights(int place, int out[CHAR_WEIGHTS])
{
	int n = 0;

	if (weight_uca[place] == 0 || weight_uca[place] == WEIGHT_UNKNOWN)
		return weight_uca[place] == 0 ? 0 : -1;
	if (weight_uca[place] < WEIGHT_MANY) {
		out[0] = weight_uca[place];
		return 1;
	}
	const uint16_t *many = weight_many[weight_uca[place] - WEIGHT_MANY];
	while (n < CHAR_WEIGHTS && many[n]) {
		out[n] = many[n];
		n++;
	}
	return n;
}

/* The weights of a character beyond ASCII of a Unicode set; how many, or -1: not known. */
static int code_weights(enum weights weights, uint32_t code, int out[CHAR_WEIGHTS])
{
	int place = weight_place(code);
	bool han = code >= HAN_FIRST && code <= HAN_LAST;

	switch (weights) {
	case W_GENERAL:
		if (code > 0xffff)
			out[0] = GENERAL_BEYOND_BMP;
		else if (han || (code >= HANGUL_FIRST && code <= HANGUL_LAST))
			out[0] = (int)code;
		else if (place >= 0 && weight_general[place] != WEIGHT_UNKNOWN)
			out[0] = weight_general[place];
		else
			return -1;
		return 1;
	case W_UCA:
	case W_UCA9:
		if (han) {
			/* UTS 10, "Implicit Weights". */
			out[0] = (int)(0xfb40 + (code >> 15));
			out[1] = (int)((code & 0x7fff) | 0x8000);
			return 2;
		}
		if (place < 0)
			return -1;
		if (weights == W_UCA9)
			return uca_weights(place, out);
		if (!weight_base[place])
			return -1;
		out[0] = uca_weight(uca_order, weight_base[place]);
		return 1;
	case W_BYTES:
	case W_LATIN1_SWEDISH:
	case W_LATIN1_GENERAL:
		break;
	}
	return -1;
}

/* A walk over the weights of a text. */
struct walk {
	enum weights weights;
	enum charset charset;
	struct span s;
	size_t at;
	bool *unknown;
	int more[CHAR_WEIGHTS]; /* of the character before `at` */
	int more_at, more_count;
};

static struct walk walk_of(uint16_t collation, struct span s, bool *unknown)
{
	return (struct walk){infos[collation].weights, infos[collation].charset, s, 0, unknown,
		{0}, 0, 0};
}

/* The next weight; -1 at the end. */
static int next_weight(struct walk *w)
{
	if (w->more_at < w->more_count)
		return w->more[w->more_at++];
	while (w->at < w->s.len) {
		unsigned char c = (unsigned char)w->s.ptr[w->at];
		int weight;

		if (c >= 0x80 && charset_max_bytes(w->charset) > 1 && w->weights != W_BYTES) {
			uint32_t n = char_bytes(w->charset, rest_of(w->s, w->at));

			w->more_at = 0;
			w->more_count = n ? code_weights(w->weights,
						    char_code(w->charset, w->s.ptr + w->at, n),
						    w->more)
					  : -1;
			if (w->more_count < 0) {
				w->more_count = 0;
				*w->unknown = true;
				return -1;
			}
			w->at += n;
			if (w->more_count)
				return w->more[w->more_at++];
			continue;
		}
		if (c >= 0x80 && w->charset == CHARSET_ASCII)
			*w->unknown = true;
		weight = byte_weight(w->weights, c);
		w->at++;
		if (weight || w->weights == W_BYTES || w->weights == W_LATIN1_SWEDISH ||
			w->weights == W_LATIN1_GENERAL || w->weights == W_GENERAL)
			return weight;
	}
	return -1;
}

int collation_compare(uint16_t collation, struct span a, struct span b, bool *unknown)
{
	struct walk x = walk_of(collation, a, unknown), y = walk_of(collation, b, unknown);
	int blank = byte_weight(x.weights, ' ');

	for (;;) {
		int wx = next_weight(&x), wy = next_weight(&y);

		if (*unknown || (wx < 0 && wy < 0))
			return 0;
		if (wx < 0 || wy < 0) {
			if (!infos[collation].pad)
				return wx < 0 ? -1 : 1;
			wx = wx < 0 ? blank : wx;
			wy = wy < 0 ? blank : wy;
		}
		if (wx != wy)
			return wx < wy ? -1 : 1;
	}
}

static void key_weight(struct buf *out, int weight)
{
	buf_add_char(out, (char)(weight >> 8));
	buf_add_char(out, (char)weight);
}

void collation_key(uint16_t collation, struct span s, struct buf *out, bool *unknown)
{
	struct walk w = walk_of(collation, s, unknown);
	int weight, blank = byte_weight(w.weights, ' ');
	size_t blanks = 0;

	while ((weight = next_weight(&w)) >= 0) {
		if (infos[collation].pad && weight == blank) {
			blanks++;
			continue;
		}
		for (; blanks; blanks--)
			key_weight(out, blank);
		key_weight(out, weight);
	}
}

static bool has_skipped(enum weights weights, struct span ascii)
{
	for (size_t i = 0; i < ascii.len; i++) {
		if (byte_weight(weights, (unsigned char)ascii.ptr[i]) == 0)
			return true;
	}
	return false;
}

size_t collation_locate(
	uint16_t collation, struct span text, struct span needle, size_t from, bool *unknown)
{
	enum charset charset = infos[collation].charset;
	enum weights weights = infos[collation].weights;

	/* The servers compare as many bytes as the needle has, and the UCA skips characters. */
	if (weights != W_BYTES && charset_max_bytes(charset) > 1 &&
		(!text_is_ascii(text) || !text_is_ascii(needle) ||
			(weights != W_GENERAL && (has_skipped(weights, text) ||
							 has_skipped(weights, needle))))) {
		*unknown = true;
		return SIZE_MAX;
	}
	for (size_t at = from; at + needle.len <= text.len; at += step(charset, text, at)) {
		size_t i = 0;

		while (i < needle.len && byte_weight(weights, (unsigned char)text.ptr[at + i]) ==
						 byte_weight(weights, (unsigned char)needle.ptr[i]))
			i++;
		if (i == needle.len)
			return at;
	}
	return SIZE_MAX;
}

static bool same_char(uint16_t collation, struct span a, struct span b, bool *unknown)
{
	enum weights weights = infos[collation].weights;

	if (a.len == 1 && b.len == 1)
		return byte_weight(weights, (unsigned char)a.ptr[0]) ==
		       byte_weight(weights, (unsigned char)b.ptr[0]);
	if (weights == W_BYTES || span_eq(a, b))
		return span_eq(a, b);
	struct walk x = walk_of(collation, a, unknown), y = walk_of(collation, b, unknown);
	for (;;) {
		int wx = next_weight(&x), wy = next_weight(&y);

		if (*unknown || wx != wy)
			return false;
		if (wx < 0)
			return true;
	}
}

/* Backtracks to the last % only, which is enough: an earlier one never needs to take more. */
bool collation_like(
	uint16_t collation, struct span text, struct span pattern, int escape, bool *unknown)
{
	enum charset charset = infos[collation].charset;
	size_t t = 0, p = 0, star_p = SIZE_MAX, star_t = 0;

	for (;;) {
		if (p < pattern.len && pattern.ptr[p] == '%' && escape != '%') {
			star_p = ++p;
			star_t = t;
			continue;
		}
		if (t == text.len && p == pattern.len)
			return true;
		if (t < text.len && p < pattern.len) {
			uint32_t nt = step(charset, text, t), np;

			if (pattern.ptr[p] == '_' && escape != '_') {
				t += nt;
				p++;
				continue;
			}
			np = (unsigned char)pattern.ptr[p] == escape && p + 1 < pattern.len;
			np += step(charset, pattern, p + np);
			if (same_char(collation, span_of(text.ptr + t, nt),
				    span_of(pattern.ptr + p +
						    (((unsigned char)pattern.ptr[p] == escape &&
							     p + 1 < pattern.len)
								    ? 1
								    : 0),
					    np - ((unsigned char)pattern.ptr[p] == escape &&
							 p + 1 < pattern.len)),
				    unknown)) {
				t += nt;
				p += np;
				continue;
			}
			if (*unknown)
				return false;
		}
		if (star_p == SIZE_MAX || star_t >= text.len)
			return false;
		star_t += step(charset, text, star_t);
		t = star_t;
		p = star_p;
	}
}

void collation_fold(uint16_t collation, struct span s, bool upper, struct buf *out, bool *unknown)
{
	enum charset charset = infos[collation].charset;

	for (size_t i = 0; i < s.len; i++) {
		int c = (unsigned char)s.ptr[i];

		if (charset == CHARSET_BINARY) {
			buf_add_char(out, (char)c);
			continue;
		}
		if (c >= 0x80 && charset != CHARSET_LATIN1) {
			*unknown = true;
			return;
		}
		if (c < 0x80)
			c = upper ? ascii_upper(c) : ascii_lower(c);
		else if (upper && c >= 0xe0 && c != 0xf7 && c != 0xff)
			c -= 32;
		else if (!upper && c >= 0xc0 && c <= 0xde && c != 0xd7)
			c += 32;
		buf_add_char(out, (char)c);
	}
}
