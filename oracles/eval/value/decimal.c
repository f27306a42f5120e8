/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Schoolbook arithmetic on words of nine digits; numbers are short. */
#include "base/chars.h"
#include "eval/value/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

enum { BASE = 1000000000, WORD_DIGITS = 9 };

static const uint32_t powers[10] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

static void trim(struct decimal *a)
{
	while (a->count && a->words[a->count - 1] == 0)
		a->count--;
	if (!a->count)
		a->neg = false;
}

struct decimal decimal_from_uint(uint64_t u)
{
	struct decimal a = {0};

	for (; u; u /= BASE)
		a.words[a.count++] = (uint32_t)(u % BASE);
	return a;
}

struct decimal decimal_from_int(int64_t i)
{
	struct decimal a = decimal_from_uint(i < 0 ? 0 - (uint64_t)i : (uint64_t)i);

	a.neg = i < 0;
	return a;
}

uint32_t decimal_digits(const struct decimal *a)
{
	uint32_t top, digits;

	if (!a->count)
		return 0;
	top = a->words[a->count - 1];
	digits = (uint32_t)(a->count - 1) * WORD_DIGITS;
	for (; top; top /= 10)
		digits++;
	return digits;
}

uint32_t decimal_int_digits(const struct decimal *a)
{
	uint32_t digits = decimal_digits(a);

	return digits > a->scale ? digits - a->scale : 0;
}

/* Multiplies the magnitude; false when the words do not suffice. */
static bool multiply_small(struct decimal *a, uint32_t factor)
{
	uint64_t carry = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		carry += (uint64_t)a->words[i] * factor;
		a->words[i] = (uint32_t)(carry % BASE);
		carry /= BASE;
	}
	if (carry) {
		if (a->count == DECIMAL_WORDS)
			return false;
		a->words[a->count++] = (uint32_t)carry;
	}
	return true;
}

/* Times 10^digits. */
static bool shift_up(struct decimal *a, uint32_t digits)
{
	uint32_t whole = digits / WORD_DIGITS;

	if (!a->count)
		return true;
	if (a->count + whole > DECIMAL_WORDS)
		return false;
	memmove(a->words + whole, a->words, a->count * sizeof(a->words[0]));
	memset(a->words, 0, whole * sizeof(a->words[0]));
	a->count = (uint8_t)(a->count + whole);
	return multiply_small(a, powers[digits % WORD_DIGITS]);
}

static uint32_t divide_small(struct decimal *a, uint32_t divisor)
{
	uint64_t rest = 0;

	for (uint32_t i = a->count; i-- > 0;) {
		rest = rest * BASE + a->words[i];
		a->words[i] = (uint32_t)(rest / divisor);
		rest %= divisor;
	}
	trim(a);
	return (uint32_t)rest;
}

/* Divides by 10^digits, cutting; *half compares what was cut with a half: <0, 0, >0; *any: it was
 * not zero. */
static void shift_down(struct decimal *a, uint32_t digits, int *half, bool *any)
{
	bool neg = a->neg, below = false;
	uint32_t last = 0;

	*half = -1;
	*any = false;
	for (uint32_t i = 0; i < digits; i++) {
		if (last)
			below = true;
		last = divide_small(a, 10);
	}
	*any = last || below;
	*half = last > 5 || (last == 5 && below) ? 1 : last == 5 ? 0 : -1;
	a->neg = neg && a->count;
}

static int compare_magnitude(const struct decimal *a, const struct decimal *b)
{
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	for (uint32_t i = a->count; i-- > 0;) {
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	}
	return 0;
}

static bool add_magnitude(const struct decimal *a, const struct decimal *b, struct decimal *out)
{
	uint32_t count = a->count > b->count ? a->count : b->count, carry = 0;

	out->count = (uint8_t)count;
	for (uint32_t i = 0; i < count; i++) {
		carry += (i < a->count ? a->words[i] : 0) + (i < b->count ? b->words[i] : 0);
		out->words[i] = carry % BASE;
		carry /= BASE;
	}
	if (carry) {
		if (count == DECIMAL_WORDS)
			return false;
		out->words[out->count++] = carry;
	}
	return true;
}

/* a >= b in magnitude. */
static void subtract_magnitude(
	const struct decimal *a, const struct decimal *b, struct decimal *out)
{
	int64_t borrow = 0;

	out->count = a->count;
	for (uint32_t i = 0; i < a->count; i++) {
		int64_t word = (int64_t)a->words[i] - (i < b->count ? b->words[i] : 0) + borrow;

		borrow = word < 0 ? -1 : 0;
		out->words[i] = (uint32_t)(word < 0 ? word + BASE : word);
	}
	trim(out);
}

static bool fits(const struct decimal *a)
{
	uint32_t whole = (decimal_int_digits(a) + 8) / 9, fraction = (a->scale + 8u) / 9;

	return whole + fraction <= DECIMAL_DIGITS / WORD_DIGITS;
}

static bool align(struct decimal *a, struct decimal *b)
{
	uint8_t scale = a->scale > b->scale ? a->scale : b->scale;

	if (!shift_up(a, (uint32_t)(scale - a->scale)) ||
		!shift_up(b, (uint32_t)(scale - b->scale)))
		return false;
	a->scale = b->scale = scale;
	return true;
}

bool decimal_add(const struct decimal *a, const struct decimal *b, struct decimal *out)
{
	struct decimal x = *a, y = *b, r = {0};

	if (!align(&x, &y))
		return false;
	r.scale = x.scale;
	if (x.neg == y.neg) {
		if (!add_magnitude(&x, &y, &r))
			return false;
		r.neg = x.neg;
	} else if (compare_magnitude(&x, &y) >= 0) {
		subtract_magnitude(&x, &y, &r);
		r.neg = x.neg;
	} else {
		subtract_magnitude(&y, &x, &r);
		r.neg = y.neg;
	}
	trim(&r);
	*out = r;
	return fits(out);
}

bool decimal_sub(const struct decimal *a, const struct decimal *b, struct decimal *out)
{
	struct decimal y = *b;

	y.neg = y.count && !y.neg;
	return decimal_add(a, &y, out);
}

bool decimal_mul(const struct decimal *a, const struct decimal *b, struct decimal *out)
{
	struct decimal r = {0};

	if (a->count + b->count > DECIMAL_WORDS)
		return false;
	r.count = (uint8_t)(a->count + b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		uint64_t carry = 0;

		for (uint32_t j = 0; j < b->count; j++) {
			carry += r.words[i + j] + (uint64_t)a->words[i] * b->words[j];
			r.words[i + j] = (uint32_t)(carry % BASE);
			carry /= BASE;
		}
		r.words[i + b->count] = (uint32_t)carry;
	}
	r.scale = (uint8_t)(a->scale + b->scale);
	r.neg = a->neg != b->neg;
	trim(&r);
	*out = r;
	return fits(out);
}

/* Long division of magnitudes, digit words by binary search: enough for numbers this short. */
static void divide(const struct decimal *a, const struct decimal *b, struct decimal *quotient,
	struct decimal *rest)
{
	struct decimal r = {0}, q = {0};

	q.count = a->count;
	for (uint32_t i = a->count; i-- > 0;) {
		uint32_t low = 0, high = BASE - 1;

		if (r.count || a->words[i]) {
			memmove(r.words + 1, r.words, r.count * sizeof(r.words[0]));
			r.words[0] = a->words[i];
			r.count++;
		}
		trim(&r);
		if (compare_magnitude(&r, b) < 0)
			high = 0;
		else {
			/* A bound from the leading words narrows the search. */
			double rn = 0, bn = 0;
			double guess;

			for (uint32_t k = r.count; k-- > 0;)
				rn = rn * BASE + r.words[k];
			for (uint32_t k = b->count; k-- > 0;)
				bn = bn * BASE + b->words[k];
			guess = rn / bn;
			low = guess > 2 ? (uint32_t)(guess - 2) : 0;
			if (guess + 2 < BASE - 1)
				high = (uint32_t)(guess + 2);
		}
		while (low < high) {
			uint32_t middle = low + (high - low + 1) / 2;
			struct decimal product = *b;

			if (!multiply_small(&product, middle) ||
				compare_magnitude(&product, &r) > 0)
				high = middle - 1;
			else
				low = middle;
		}
		q.words[i] = low;
		if (low) {
			struct decimal product = *b, left = {0};

			CHECK(multiply_small(&product, low));
			subtract_magnitude(&r, &product, &left);
			r = left;
		}
	}
	trim(&q);
	*quotient = q;
	*rest = r;
}

bool decimal_div(
	const struct decimal *a, const struct decimal *b, uint32_t scale, struct decimal *out)
{
	struct decimal x = *a, y = *b, rest;
	/* x / 10^xs / (y / 10^ys) * 10^scale = x * 10^(scale + ys - xs) / y */
	int shift = (int)scale + b->scale - a->scale;
	bool neg = a->neg != b->neg; /* out may be one of them */

	x.neg = y.neg = false;
	if (shift >= 0 ? !shift_up(&x, (uint32_t)shift) : !shift_up(&y, (uint32_t)-shift))
		return false;
	divide(&x, &y, out, &rest);
	out->scale = (uint8_t)scale;
	out->neg = out->count && neg;
	return fits(out);
}

bool decimal_mod(const struct decimal *a, const struct decimal *b, struct decimal *out)
{
	struct decimal x = *a, y = *b, quotient;
	bool neg = a->neg; /* out may be a */

	if (!align(&x, &y))
		return false;
	divide(&x, &y, &quotient, out);
	out->scale = x.scale;
	out->neg = neg && out->count;
	return true;
}

int decimal_compare(const struct decimal *a, const struct decimal *b)
{
	struct decimal x = *a, y = *b;
	int c;

	if (x.neg != y.neg)
		return x.neg ? -1 : 1;
	if (x.scale != y.scale && !align(&x, &y)) {
		/* One has far more digits before the point. */
		c = decimal_int_digits(a) < decimal_int_digits(b) ? -1 : 1;
	} else {
		c = compare_magnitude(&x, &y);
	}
	return x.neg ? -c : c;
}

bool decimal_round(const struct decimal *a, int scale, enum decimal_round mode, struct decimal *out)
{
	struct decimal r = *a;
	bool any, up = false;
	int half;

	if (scale >= r.scale) {
		if (scale > 120 || !shift_up(&r, (uint32_t)(scale - r.scale)))
			return false;
		r.scale = (uint8_t)scale;
		*out = r;
		return fits(out);
	}
	if (scale < -DECIMAL_DIGITS) {
		*out = (struct decimal){0};
		return true;
	}
	shift_down(&r, (uint32_t)(r.scale - scale), &half, &any);
	switch (mode) {
	case DECIMAL_HALF_UP:
		up = half >= 0;
		break;
	case DECIMAL_TRUNCATE:
		break;
	case DECIMAL_CEILING:
		up = any && !a->neg;
		break;
	case DECIMAL_FLOOR:
		up = any && a->neg;
		break;
	}
	r.scale = 0;
	if (up) {
		struct decimal one = decimal_from_uint(1), sum = {0};

		if (!add_magnitude(&r, &one, &sum))
			return false;
		sum.neg = a->neg;
		r = sum;
	}
	if (scale < 0) {
		if (!shift_up(&r, (uint32_t)-scale))
			return false;
		scale = 0;
	}
	r.scale = (uint8_t)scale;
	trim(&r);
	*out = r;
	return fits(out);
}

struct decimal decimal_max(uint32_t precision, uint32_t scale, bool neg)
{
	struct decimal a = {.neg = neg, .scale = (uint8_t)scale};

	for (; precision >= WORD_DIGITS; precision -= WORD_DIGITS)
		a.words[a.count++] = BASE - 1;
	if (precision)
		a.words[a.count++] = powers[precision] - 1;
	trim(&a);
	return a;
}

static bool is_digit(struct span s, size_t i)
{
	return i < s.len && char_is_digit(s.ptr[i]);
}

/* A text while it is read as digits without an exponent. */
struct digits {
	struct decimal value; /* without its scale */
	uint32_t scale;
	size_t count, significant;
	bool overflow;
};

static void append_digit(struct digits *d, uint32_t digit, bool behind_point)
{
	enum { DIGITS_MAX = 160 };

	d->count++;
	if (behind_point && d->significant >= DECIMAL_DIGITS + 9)
		return; /* beyond what is kept */
	if (d->significant || digit)
		d->significant++;
	if (d->significant > DIGITS_MAX) {
		d->overflow = true;
		return;
	}
	if (behind_point && d->scale == DIGITS_MAX)
		return;
	d->scale += behind_point;
	if (!multiply_small(&d->value, 10))
		d->overflow = true;
	if (digit) {
		struct decimal one = decimal_from_uint(digit), sum = {0};

		if (!add_magnitude(&d->value, &one, &sum))
			d->overflow = true;
		d->value = sum;
	}
}

/* "123.45" from `i` on; returns where it ends. */
static size_t read_digits(struct span s, size_t i, struct digits *d)
{
	bool point = false;

	for (; is_digit(s, i) || (i < s.len && s.ptr[i] == '.' && !point); i++) {
		if (s.ptr[i] == '.')
			point = true;
		else
			append_digit(d, (uint32_t)(s.ptr[i] - '0'), point);
	}
	return i;
}

/* "e-5" at `i`, if there is one; returns where it ends. */
static size_t read_exponent(struct span s, size_t i, long *exponent)
{
	size_t j = i + 1;
	bool minus = false;

	*exponent = 0;
	if (i >= s.len || (s.ptr[i] != 'e' && s.ptr[i] != 'E'))
		return i;
	while (j < s.len && (s.ptr[j] == ' ' || s.ptr[j] == '\t')) /* as strtoll() does */
		j++;
	if (j < s.len && (s.ptr[j] == '-' || s.ptr[j] == '+'))
		minus = s.ptr[j++] == '-';
	if (!is_digit(s, j))
		return i;
	for (; is_digit(s, j); j++) {
		if (*exponent < 100000)
			*exponent = *exponent * 10 + (s.ptr[j] - '0');
	}
	if (minus)
		*exponent = -*exponent;
	return j;
}

/* Moves the point; false: too large. */
static bool apply_exponent(struct decimal *a, uint32_t scale, long exponent)
{
	long places = (long)scale - exponent;

	if (places < 0) {
		if (places < -DECIMAL_DIGITS || !shift_up(a, (uint32_t)-places))
			return false;
		places = 0;
	}
	if (places > 250) {
		int half;
		bool any;
		uint32_t drop = places - 80 > 400 ? 400 : (uint32_t)(places - 80);

		shift_down(a, drop, &half, &any);
		places = 80;
	}
	a->scale = (uint8_t)places;
	return true;
}

/* The fraction is cut to the words that are left; false: none are. */
static bool cut_to_fit(struct decimal *a)
{
	uint32_t whole = (decimal_int_digits(a) + 8) / 9;

	if (fits(a))
		return true;
	return whole <= DECIMAL_DIGITS / 9 &&
	       decimal_round(a, (int)(DECIMAL_DIGITS - whole * 9), DECIMAL_TRUNCATE, a);
}

size_t decimal_parse(struct span s, struct decimal *out, bool *overflow)
{
	struct digits d = {0};
	struct decimal *a = &d.value;
	bool neg = s.len && s.ptr[0] == '-';
	size_t i = s.len && (s.ptr[0] == '-' || s.ptr[0] == '+');
	long exponent;

	*overflow = false;
	i = read_digits(s, i, &d);
	if (!d.count)
		return 0;
	i = read_exponent(s, i, &exponent);
	if (a->count && !d.overflow)
		d.overflow = !apply_exponent(a, d.scale, exponent);
	else if (exponent > 0 && (uint32_t)exponent < d.scale)
		a->scale = (uint8_t)(d.scale - (uint32_t)exponent);
	else
		a->scale = (uint8_t)d.scale;
	a->neg = neg && a->count;
	*overflow = d.overflow || !cut_to_fit(a);
	*out = *overflow ? decimal_max(DECIMAL_DIGITS, 0, neg) : *a;
	return i;
}

void decimal_print(const struct decimal *a, struct buf *out)
{
	char text[DECIMAL_WORDS * WORD_DIGITS + 1];
	uint32_t digits = decimal_digits(a), at = 0;

	for (uint32_t i = a->count; i-- > 0;) {
		if (at == 0)
			at += (uint32_t)sprintf(text, "%u", a->words[i]);
		else
			at += (uint32_t)sprintf(text + at, "%09u", a->words[i]);
	}
	text[at] = '\0';
	CHECK(at == digits);
	if (a->neg)
		buf_add_char(out, '-');
	if (digits > a->scale)
		buf_add(out, text, digits - a->scale);
	else
		buf_add_char(out, '0');
	if (a->scale) {
		buf_add_char(out, '.');
		for (uint32_t i = digits; i < a->scale; i++)
			buf_add_char(out, '0');
		buf_add(out, text + (digits > a->scale ? digits - a->scale : 0),
			digits > a->scale ? a->scale : digits);
	}
}

double decimal_to_double(const struct decimal *a)
{
	char text[DECIMAL_WORDS * WORD_DIGITS + 40];
	size_t at = 0;

	if (!a->count)
		return 0;
	if (a->neg)
		text[at++] = '-';
	for (uint32_t i = a->count; i-- > 0;)
		at += (size_t)sprintf(text + at, i + 1u == a->count ? "%u" : "%09u", a->words[i]);
	sprintf(text + at, "e-%u", a->scale);
	return strtod(text, NULL);
}

void double_shortest(double d, char text[DOUBLE_TEXT_MAX])
{
	char above[DOUBLE_TEXT_MAX];
	int exponent;

	/* Tiny ones have fewer digits. */
	for (int digits = fabs(d) < 1e-290 ? 1 : 15; digits <= 17; digits++) {
		snprintf(text, DOUBLE_TEXT_MAX, "%.*e", digits - 1, d);
		if (strtod(text, NULL) == d)
			return;
		/* The doubles below a power of two lie nearer than those above it, so that 16
		 * digits may be enough although the nearest 16 are another double's: 2^-44 is
		 * 5.684341886080802e-14. */
		if (digits == 16 && fabs(frexp(d, &exponent)) == 0.5) {
			char *last = strchr(memcpy(above, text, sizeof(above)), 'e') - 1;

			if (*last < '9' && (++*last, strtod(above, NULL) == d)) {
				memcpy(text, above, sizeof(above));
				return;
			}
		}
	}
}

bool decimal_from_double(double d, struct decimal *out)
{
	char text[DOUBLE_TEXT_MAX];
	bool overflow;

	if (!isfinite(d))
		return false;
	double_shortest(d, text);
	if (!decimal_parse(span_str(text), out, &overflow) || overflow)
		return false;
	/* The shortest digits: 1.50000e0 is 1.5. */
	while (out->scale && out->count && out->words[0] % 10 == 0) {
		divide_small(out, 10);
		out->scale--;
	}
	if (!out->count)
		out->scale = 0;
	return true;
}

uint64_t decimal_to_uint(const struct decimal *a, bool *overflow)
{
	struct decimal r;
	uint64_t u = 0;

	*overflow = false;
	if (!decimal_round(a, 0, DECIMAL_HALF_UP, &r))
		r = *a;
	if (r.neg) {
		*overflow = true;
		return 0;
	}
	for (uint32_t i = r.count; i-- > 0;) {
		if (__builtin_mul_overflow(u, (uint64_t)BASE, &u) ||
			__builtin_add_overflow(u, (uint64_t)r.words[i], &u)) {
			*overflow = true;
			return UINT64_MAX;
		}
	}
	return u;
}

int64_t decimal_to_int(const struct decimal *a, bool *overflow)
{
	struct decimal magnitude = *a;
	uint64_t u;

	magnitude.neg = false;
	u = decimal_to_uint(&magnitude, overflow);
	if (*overflow || u > (uint64_t)INT64_MAX + a->neg) {
		*overflow = true;
		return a->neg ? INT64_MIN : INT64_MAX;
	}
	return a->neg ? (int64_t)(0 - u) : (int64_t)u;
}
