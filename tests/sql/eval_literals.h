/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Literals that rows and expressions have in common, so that they meet. */
#ifndef EVAL_LITERALS_H
#define EVAL_LITERALS_H

static const char *const doubles[] = {"0e0", "1e0", "1.5e0", "2.5e0", "1e-3", "1e10", "1.1e0",
	"3e15", "1.7e308", "4.9e-320", "1e-20", "123456.789e0", "0.1e0", "9007199254740993e0",
	"5.6843418860808015e-14", "1e20"};
static const char *const strings[] = {"", "a", "A", "b", "abc", "ABC", "abcdef", "0", "1", "-1",
	"1.5", "10", "1e2", " 1", "1 ", "1abc", "abc1", "a b", "a%c", "a_c", "%", "_", "\\\\",
	"a\\\\b", "''", "Hello World", "x,y", "x", ",", "9223372036854775808", "0x41", "  ", "a ",
	"a  ", "-0", "+5", ".5", "5.", "1e", "1e400", "null", "TRUE", "z", "2024-02-29",
	"2023-12-31 23:59:59", "12:34:56", "20240229", "99", "-12.75", "\\t", "~", "`", "^", "[",
	"{", "1.00000000000000001", "9007199254740992", "9007199254740993", "2.5", "1.49", "1e-30",
	"18446744073709551615", "-9223372036854775808", "aB", "Ab", "ab", "\xc3\xa9", "\xc3\xa4" "b", "AB\xc3\x9f", "\xc3\x9c", "stra\xc3\x9f" "e",
	/* from here on not of latin1 */
	"\xd0\x96\xd0\xb6", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80", "\xc5\x82"};
enum { BEYOND_LATIN1 = 4, BEYOND_ASCII = BEYOND_LATIN1 + 5 };
static const char *const dates[] = {"2024-02-29", "2023-12-31", "2000-01-01", "1999-12-31",
	"1970-01-01", "2038-01-19", "9999-12-31", "1000-01-01", "2024-03-31", "2023-02-28",
	"2024-01-31"};
static const char *const times[] = {"00:00:00", "12:34:56", "23:59:59", "-01:30:00", "838:59:59",
	"-838:59:59", "100:00:00", "00:00:01", "01:02:03"};

#endif
