/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sql/text/client_charset.h"

#include "base/attr.h"

/* Numbers of information_schema.collations, the same in all servers; MariaDB's NOPAD collations
 * have 1024 more. */
enum client_charset client_charset_of_collation(uint16_t number, enum client_charset of_server)
{
	if (number >= 1024 && number < 2048)
		number -= 1024;
	switch (number) {
	case 0:
		return of_server;
	case 13:
	case 88:
	case 95:
	case 96:
		return CLIENT_CHARSET_SJIS;
	case 1:
	case 84:
		return CLIENT_CHARSET_BIG5;
	case 28:
	case 87:
		return CLIENT_CHARSET_GBK;
	case 248:
	case 249:
	case 250:
		return CLIENT_CHARSET_GB18030;
	default:
		return CLIENT_CHARSET_PLAIN;
	}
}

enum client_charset client_charset_of_name(struct span name)
{
	static const struct {
		const char *name;
		enum client_charset set;
	} names[] = {
		{"sjis", CLIENT_CHARSET_SJIS},
		{"cp932", CLIENT_CHARSET_SJIS},
		{"big5", CLIENT_CHARSET_BIG5},
		{"gbk", CLIENT_CHARSET_GBK},
		{"gb18030", CLIENT_CHARSET_GB18030},
		{"default", CLIENT_CHARSET_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_ieq_str(name, names[i].name))
			return names[i].set;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		/* A name, not an expression or a number. */
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
			!(i && ((c >= '0' && c <= '9') || c == '_')))
			return CLIENT_CHARSET_UNKNOWN;
	}
	return name.len ? CLIENT_CHARSET_PLAIN : CLIENT_CHARSET_UNKNOWN;
}

static bool between(unsigned char c, unsigned char low, unsigned char high)
{
	return c >= low && c <= high;
}

/* The servers' strings/ctype-*.c: what is a character of several bytes. */
unsigned client_charset_character(enum client_charset set, const char *at, const char *end)
{
	const unsigned char *p = (const unsigned char *)at;
	bool two = false;

	if (p[0] < 0x80 || end - at < 2)
		return 1;
	switch (set) {
	case CLIENT_CHARSET_PLAIN:
	case CLIENT_CHARSET_UNKNOWN:
		return 1;
	case CLIENT_CHARSET_SJIS:
		two = (between(p[0], 0x81, 0x9f) || between(p[0], 0xe0, 0xfc)) &&
		      (between(p[1], 0x40, 0x7e) || between(p[1], 0x80, 0xfc));
		break;
	case CLIENT_CHARSET_BIG5:
		two = between(p[0], 0xa1, 0xf9) &&
		      (between(p[1], 0x40, 0x7e) || between(p[1], 0xa1, 0xfe));
		break;
	case CLIENT_CHARSET_GB18030: /* GBK, and characters of four bytes */
	case CLIENT_CHARSET_GBK:
		if (set == CLIENT_CHARSET_GB18030 && end - at >= 4 && between(p[0], 0x81, 0xfe) &&
			between(p[1], '0', '9') && between(p[2], 0x81, 0xfe) &&
			between(p[3], '0', '9'))
			return 4;
		two = between(p[0], 0x81, 0xfe) &&
		      (between(p[1], 0x40, 0x7e) || between(p[1], 0x80, 0xfe));
		break;
	}
	return two ? 2 : 1;
}

bool client_charset_reads_plain(enum client_charset set, struct span text)
{
	if (set == CLIENT_CHARSET_PLAIN)
		return true;
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] >= 0x80)
			return false;
	return true;
}
