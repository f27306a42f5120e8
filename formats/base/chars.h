/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of characters, in ASCII and whatever the locale. */
#ifndef BASE_CHARS_H
#define BASE_CHARS_H

#include <stdbool.h>

/* Space, tab, line feed, vertical tab, form feed, carriage return: what SQL takes for a blank, too.
 */
static inline bool char_is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool char_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* May stand in an SQL name without quotes; every character of several bytes may. */
static inline bool char_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || char_is_digit(c) || c == '_' ||
	       c == '$' || (unsigned char)c >= 0x80;
}

/* -1: no hexadecimal digit. */
static inline int char_hex_value(char c)
{
	if (char_is_digit(c))
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

#endif
