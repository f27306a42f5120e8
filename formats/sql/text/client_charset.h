/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The character set in which a session's statements are written (character_set_client), as far as it
 * changes how text is taken apart: in five of the servers' sets the second byte of a character may be
 * that of a backslash, a quote mark of names or a letter.  All others keep bytes below 0x80 for
 * themselves.
 *
 * A text without a byte above 0x7f reads the same in all of them.
 */
#ifndef SQL_TEXT_CLIENT_CHARSET_H
#define SQL_TEXT_CLIENT_CHARSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum text_set {
	TEXT_SET_PLAIN,
	TEXT_SET_SJIS, /* cp932 too */
	TEXT_SET_BIG5,
	TEXT_SET_GBK,
	TEXT_SET_GB18030,
	TEXT_SET_UNKNOWN, /* not told */
};

/* By the number of a collation, as clients send it; 0: the server's own. */
enum text_set text_set_of_collation(uint16_t number, enum text_set of_server);
/* By its name, "gbk"; "default" and whatever is no name of a set is unknown. */
enum text_set text_set_of_name(struct span name);
/* Bytes of the character at p; 1 where no character of several bytes is there. */
unsigned text_set_character(enum text_set set, const char *p, const char *end);
/* Whether the text reads the same as in a plain set. */
bool text_set_reads_plain(enum text_set set, struct span text);

#endif
