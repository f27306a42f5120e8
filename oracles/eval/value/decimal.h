/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact decimals as DECIMAL and its operators have them: up to 81 digits (nine words of nine
 * digits, the servers' working size), of which the scale is part of the value: 1.50 is not 1.5
 * when printed, and equal when compared.
 *
 * Invariant: words[] is little-endian in base 1e9 without leading zero words; zero has count 0 and
 * is not negative.
 */
#ifndef EVAL_VALUE_DECIMAL_H
#define EVAL_VALUE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/span.h"

enum {
	DECIMAL_WORDS = 20,  /* room for a product before it is cut */
	DECIMAL_DIGITS = 81, /* what the servers' working format holds */
	DECIMAL_PRECISION_MAX = 65,
};

struct decimal {
	bool neg;
	bool led;      /* a difference: with zeros before it, as many as its operands have digits, beyond 18 */
	uint8_t scale; /* digits after the point */
	uint8_t count; /* of words in use */
	uint32_t words[DECIMAL_WORDS];
};

enum decimal_round { DECIMAL_HALF_UP, DECIMAL_TRUNCATE, DECIMAL_CEILING, DECIMAL_FLOOR };

struct decimal decimal_from_int(int64_t i);
struct decimal decimal_from_uint(uint64_t u);
/* Digits with sign, point and exponent at the start of s; returns the bytes used, 0: no number.
 * More digits than fit: *overflow, and the largest value there is. */
size_t decimal_parse(struct span s, struct decimal *out, bool *overflow);
/* The fewest digits that are this double and no other, as %e prints them. */
enum { DOUBLE_TEXT_MAX = 40 };
void double_shortest(double d, char text[DOUBLE_TEXT_MAX]);
/* False: infinite or too large. */
bool decimal_from_double(double d, struct decimal *out) MUST_CHECK;
void decimal_print(const struct decimal *a, struct buf *out);
double decimal_to_double(const struct decimal *a);
/* Rounded half away from zero; *overflow and the nearest bound when it does not fit. */
int64_t decimal_to_int(const struct decimal *a, bool *overflow);
uint64_t decimal_to_uint(const struct decimal *a, bool *overflow);

int decimal_compare(const struct decimal *a, const struct decimal *b);
uint32_t decimal_digits(const struct decimal *a);     /* all significant ones; 0 for zero */
uint32_t decimal_int_digits(const struct decimal *a); /* before the point, without zeros */

/* False: the result does not fit into 81 digits. */
bool decimal_add(const struct decimal *a, const struct decimal *b, struct decimal *out) MUST_CHECK;
bool decimal_sub(const struct decimal *a, const struct decimal *b, struct decimal *out) MUST_CHECK;
bool decimal_mul(const struct decimal *a, const struct decimal *b, struct decimal *out) MUST_CHECK;
/* The quotient cut to `scale` digits.  b is not zero. */
bool decimal_div(const struct decimal *a, const struct decimal *b, uint32_t scale,
	struct decimal *out) MUST_CHECK;
bool decimal_mod(const struct decimal *a, const struct decimal *b, struct decimal *out) MUST_CHECK;
/* To `scale` digits, which may be negative (tens, hundreds); pads with zeros when there are fewer.
 */
bool decimal_round(const struct decimal *a, int scale, enum decimal_round mode,
	struct decimal *out) MUST_CHECK;
/* 99.99 for precision 4, scale 2. */
struct decimal decimal_max(uint32_t precision, uint32_t scale, bool neg);

#endif
