/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Character sets and collations: order, equality, case, and where characters begin.
 *
 * Known exactly: the binary ones for every text; latin1_swedish_ci and latin1_general_ci for every
 * byte; general_ci, 0900_ai_ci and uca1400_ai_ci for ASCII, Latin, Greek, Cyrillic, kana, Han, common
 * punctuation and pictures; unicode_ci and unicode_520_ci for ASCII, accented Latin letters and Han.
 * Combining marks and all else: where a text has characters whose weight is not known, the functions
 * set *unknown and the caller's outcome is unsupported.  A test compares them with the servers.
 */
#ifndef EVAL_VALUE_COLLATION_H
#define EVAL_VALUE_COLLATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"

enum charset {
	CHARSET_BINARY,
	CHARSET_ASCII,
	CHARSET_LATIN1,
	CHARSET_UTF8MB3,
	CHARSET_UTF8MB4,
};

enum collation {
	COLLATION_BINARY,
	COLLATION_ASCII_GENERAL_CI,
	COLLATION_ASCII_BIN,
	COLLATION_LATIN1_SWEDISH_CI,
	COLLATION_LATIN1_GENERAL_CI,
	COLLATION_LATIN1_BIN,
	COLLATION_UTF8MB3_GENERAL_CI,
	COLLATION_UTF8MB3_UNICODE_CI,
	COLLATION_UTF8MB3_BIN,
	COLLATION_UTF8MB4_GENERAL_CI,
	COLLATION_UTF8MB4_UNICODE_CI,
	COLLATION_UTF8MB4_UNICODE_520_CI,
	COLLATION_UTF8MB4_BIN,
	COLLATION_UTF8MB4_0900_AI_CI,
	COLLATION_UTF8MB4_0900_BIN,
	COLLATION_UTF8MB4_UCA1400_AI_CI,
	COLLATION_UTF8MB4_GENERAL_NOPAD_CI,
	COLLATION_UTF8MB4_NOPAD_BIN,
	COLLATION_COUNT,
	COLLATION_NONE = UINT16_MAX, /* not modelled */
};

enum charset collation_charset(uint16_t collation);
const char *collation_name(uint16_t collation);
bool collation_is_bin(uint16_t collation); /* the _bin ones and binary */
bool collation_pads(uint16_t collation);   /* trailing blanks do not count */
/* By name, any case; COLLATION_NONE. */
uint16_t collation_find(struct span name);
/* The collation that a character set has when none is named. */
uint16_t collation_of_charset(struct span name, bool mysql, uint32_t version);
uint16_t collation_bin_of(enum charset charset);
const char *charset_name(enum charset charset);
uint32_t charset_max_bytes(enum charset charset);

/* Bytes of the character at s.ptr[0] (s not empty); 0: not one. */
uint32_t char_bytes(enum charset charset, struct span s);
/* The code point of the character of `bytes` bytes at p. */
uint32_t char_code(enum charset charset, const char *p, uint32_t bytes);
uint32_t char_put(enum charset charset, uint32_t code, char out[4]); /* 0: has none */
bool text_is_ascii(struct span s);
bool text_is_valid(enum charset charset, struct span s);
/* Characters; bytes that are none count as one each. */
size_t text_chars(enum charset charset, struct span s);
/* The offset of character number `index`, or s.len. */
size_t text_offset(enum charset charset, struct span s, size_t index);

int collation_compare(uint16_t collation, struct span a, struct span b, bool *unknown);
/* Equal keys for equal texts. */
void collation_key(uint16_t collation, struct span s, struct buf *out, bool *unknown);
/* The first place of `needle` from byte `from` on; SIZE_MAX: none. */
size_t collation_locate(
	uint16_t collation, struct span text, struct span needle, size_t from, bool *unknown);
/* escape < 0: none. */
bool collation_like(
	uint16_t collation, struct span text, struct span pattern, int escape, bool *unknown);
void collation_fold(uint16_t collation, struct span s, bool upper, struct buf *out, bool *unknown);

#endif
