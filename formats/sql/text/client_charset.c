/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sql/text/client_charset.h"

#include "base/attr.h"

/* Numbers of information_schema.collations, the same in all servers; MariaDB's NOPAD collations
 * have 1024 more. */
enum text_set text_set_of_collation(uint16_t number, enum text_set of_server)
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
		return TEXT_SET_SJIS;
	case 1:
	case 84:
		return TEXT_SET_BIG5;
	case 28:
	case 87:
		return TEXT_SET_GBK;
	case 248:
	case 249:
	case 250:
		return TEXT_SET_GB18030;
	default:
		return TEXT_SET_PLAIN;
	}
}

enum text_set text_set_of_name(struct span name)
{
	static const struct {
		const char *name;
		enum text_set set;
	} names[] = {
		{"sjis", TEXT_SET_SJIS},
		{"cp932", TEXT_SET_SJIS},
		{"big5", TEXT_SET_BIG5},
		{"gbk", TEXT_SET_GBK},
		{"gb18030", TEXT_SET_GB18030},
		{"default", TEXT_SET_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_ieq_str(name, names[i].name))
			return names[i].set;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		/* A name, not an expression or a number. */
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
			!(i && ((c >= '0' && c <= '9') || c == '_')))
			return TEXT_SET_UNKNOWN;
	}
	return name.len ? TEXT_SET_PLAIN : TEXT_SET_UNKNOWN;
}

static bool between(unsigned char c, unsigned char low, unsigned char high)
{
	return c >= low && c <= high;
}

/* The servers' strings/ctype-*.c: what is a character of several bytes. */
unsigned text_set_character(enum text_set set, const char *at, const char *end)
{
	const unsigned char *p = (const unsigned char *)at;
	bool two = false;

	if (p[0] < 0x80 || end - at < 2)
		return 1;
	switch (set) {
	case TEXT_SET_PLAIN:
	case TEXT_SET_UNKNOWN:
		return 1;
	case TEXT_SET_SJIS:
		two = (between(p[0], 0x81, 0x9f) || between(p[0], 0xe0, 0xfc)) &&
		      (between(p[1], 0x40, 0x7e) || between(p[1], 0x80, 0xfc));
		break;
	case TEXT_SET_BIG5:
		two = between(p[0], 0xa1, 0xf9) &&
		      (between(p[1], 0x40, 0x7e) || between(p[1], 0xa1, 0xfe));
		break;
	case TEXT_SET_GB18030: /* GBK, and characters of four bytes */
	case TEXT_SET_GBK:
		if (set == TEXT_SET_GB18030 && end - at >= 4 && between(p[0], 0x81, 0xfe) &&
			between(p[1], '0', '9') && between(p[2], 0x81, 0xfe) &&
			between(p[3], '0', '9'))
			return 4;
		two = between(p[0], 0x81, 0xfe) &&
		      (between(p[1], 0x40, 0x7e) || between(p[1], 0x80, 0xfe));
		break;
	}
	return two ? 2 : 1;
}

bool text_set_reads_plain(enum text_set set, struct span text)
{
	if (set == TEXT_SET_PLAIN)
		return true;
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] >= 0x80)
			return false;
	return true;
}
