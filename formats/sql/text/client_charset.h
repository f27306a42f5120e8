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

enum client_charset {
	CLIENT_CHARSET_PLAIN,
	CLIENT_CHARSET_SJIS, /* cp932 too */
	CLIENT_CHARSET_BIG5,
	CLIENT_CHARSET_GBK,
	CLIENT_CHARSET_GB18030,
	CLIENT_CHARSET_UNKNOWN, /* not known */
};

/* By the number of a collation, as clients send it; 0: the server's own. */
enum client_charset client_charset_of_collation(uint16_t number, enum client_charset of_server);
/* By its name, "gbk"; "default" and whatever is no name of a set is unknown. */
enum client_charset client_charset_of_name(struct span name);
/* Bytes of the character at p; 1 where no character of several bytes is there. */
unsigned client_charset_character(enum client_charset set, const char *p, const char *end);
/* Whether the text reads the same as in a plain set. */
bool client_charset_reads_plain(enum client_charset set, struct span text);

#endif
