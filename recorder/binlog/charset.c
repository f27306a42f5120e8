/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of row images are in their column's character set.  The trace has them as the recorder's
 * own connection would get them, in UTF-8.
 *
 * Numbers of collations: information_schema.COLLATIONS of the servers.  The test compares this
 * table with what each server says.
 */
#include "binlog/binlog_internal.h"

#include <iconv.h>
#include <stdlib.h>

#include "base/mem.h"

struct charset {
	const char *server, *iconv; /* iconv NULL: not converted */
};

enum charset_number {
	CS_NONE,
	CS_ARMSCII8,
	CS_ASCII,
	CS_BIG5,
	CS_BINARY,
	CS_CP1250,
	CS_CP1251,
	CS_CP1256,
	CS_CP1257,
	CS_CP850,
	CS_CP852,
	CS_CP866,
	CS_CP932,
	CS_DEC8,
	CS_EUCJPMS,
	CS_EUCKR,
	CS_GB18030,
	CS_GB2312,
	CS_GBK,
	CS_GEOSTD8,
	CS_GREEK,
	CS_HEBREW,
	CS_HP8,
	CS_KEYBCS2,
	CS_KOI8R,
	CS_KOI8U,
	CS_LATIN1,
	CS_LATIN2,
	CS_LATIN5,
	CS_LATIN7,
	CS_MACCE,
	CS_MACROMAN,
	CS_SJIS,
	CS_SWE7,
	CS_TIS620,
	CS_UCS2,
	CS_UJIS,
	CS_UTF16,
	CS_UTF16LE,
	CS_UTF32,
	CS_UTF8MB3,
	CS_UTF8MB4,
	CS_COUNT,
};

/* Those without a name for iconv differ from its set of that name, or it has none. */
static const struct charset charsets[CS_COUNT] = {
	[CS_ARMSCII8] = {"armscii8", NULL},
	[CS_ASCII] = {"ascii", "UTF-8"},
	[CS_BIG5] = {"big5", NULL},
	[CS_BINARY] = {"binary", NULL},
	[CS_CP1250] = {"cp1250", "CP1250"},
	[CS_CP1251] = {"cp1251", "CP1251"},
	[CS_CP1256] = {"cp1256", "CP1256"},
	[CS_CP1257] = {"cp1257", "CP1257"},
	[CS_CP850] = {"cp850", "CP850"},
	[CS_CP852] = {"cp852", "CP852"},
	[CS_CP866] = {"cp866", "CP866"},
	[CS_CP932] = {"cp932", NULL},
	[CS_DEC8] = {"dec8", NULL},
	[CS_EUCJPMS] = {"eucjpms", NULL},
	[CS_EUCKR] = {"euckr", "EUC-KR"},
	[CS_GB18030] = {"gb18030", "GB18030"},
	[CS_GB2312] = {"gb2312", "EUC-CN"},
	[CS_GBK] = {"gbk", "GBK"},
	[CS_GEOSTD8] = {"geostd8", NULL},
	[CS_GREEK] = {"greek", "ISO-8859-7"},
	[CS_HEBREW] = {"hebrew", "ISO-8859-8"},
	[CS_HP8] = {"hp8", NULL},
	[CS_KEYBCS2] = {"keybcs2", NULL},
	[CS_KOI8R] = {"koi8r", "KOI8-R"},
	[CS_KOI8U] = {"koi8u", "KOI8-U"},
	[CS_LATIN1] = {"latin1", "CP1252"},
	[CS_LATIN2] = {"latin2", "ISO-8859-2"},
	[CS_LATIN5] = {"latin5", "ISO-8859-9"},
	[CS_LATIN7] = {"latin7", "ISO-8859-13"},
	[CS_MACCE] = {"macce", NULL},
	[CS_MACROMAN] = {"macroman", NULL},
	[CS_SJIS] = {"sjis", NULL},
	[CS_SWE7] = {"swe7", NULL},
	[CS_TIS620] = {"tis620", "TIS-620"},
	[CS_UCS2] = {"ucs2", "UTF-16BE"},
	[CS_UJIS] = {"ujis", NULL},
	[CS_UTF16] = {"utf16", "UTF-16BE"},
	[CS_UTF16LE] = {"utf16le", "UTF-16LE"},
	[CS_UTF32] = {"utf32", "UTF-32BE"},
	[CS_UTF8MB3] = {"utf8mb3", "UTF-8"},
	[CS_UTF8MB4] = {"utf8mb4", "UTF-8"},
};

struct collations {
	uint16_t first, last;
	uint8_t charset;
};

/* The old ones, number by number. */
static const uint8_t first_collations[] = {
	CS_NONE,
	CS_BIG5,
	CS_LATIN2,
	CS_DEC8,
	CS_CP850,
	CS_LATIN1,
	CS_HP8,
	CS_KOI8R,
	CS_LATIN1,
	CS_LATIN2,
	CS_SWE7,
	CS_ASCII,
	CS_UJIS,
	CS_SJIS,
	CS_CP1251,
	CS_LATIN1,
	CS_HEBREW,
	CS_NONE,
	CS_TIS620,
	CS_EUCKR,
	CS_LATIN7,
	CS_LATIN2,
	CS_KOI8U,
	CS_CP1251,
	CS_GB2312,
	CS_GREEK,
	CS_CP1250,
	CS_LATIN2,
	CS_GBK,
	CS_CP1257,
	CS_LATIN5,
	CS_LATIN1,
	CS_ARMSCII8,
	CS_UTF8MB3,
	CS_CP1250,
	CS_UCS2,
	CS_CP866,
	CS_KEYBCS2,
	CS_MACCE,
	CS_MACROMAN,
	CS_CP852,
	CS_LATIN7,
	CS_LATIN7,
	CS_MACCE,
	CS_CP1250,
	CS_UTF8MB4,
	CS_UTF8MB4,
	CS_LATIN1,
	CS_LATIN1,
	CS_LATIN1,
	CS_CP1251,
	CS_CP1251,
	CS_CP1251,
	CS_MACROMAN,
	CS_UTF16,
	CS_UTF16,
	CS_UTF16LE,
	CS_CP1256,
	CS_CP1257,
	CS_CP1257,
	CS_UTF32,
	CS_UTF32,
	CS_UTF16LE,
	CS_BINARY,
	CS_ARMSCII8,
	CS_ASCII,
	CS_CP1250,
	CS_CP1256,
	CS_CP866,
	CS_DEC8,
	CS_GREEK,
	CS_HEBREW,
	CS_HP8,
	CS_KEYBCS2,
	CS_KOI8R,
	CS_KOI8U,
	CS_UTF8MB3,
	CS_LATIN2,
	CS_LATIN5,
	CS_LATIN7,
	CS_CP850,
	CS_CP852,
	CS_SWE7,
	CS_UTF8MB3,
	CS_BIG5,
	CS_EUCKR,
	CS_GB2312,
	CS_GBK,
	CS_SJIS,
	CS_TIS620,
	CS_UCS2,
	CS_UJIS,
	CS_GEOSTD8,
	CS_GEOSTD8,
	CS_LATIN1,
	CS_CP932,
	CS_CP932,
	CS_EUCJPMS,
	CS_EUCJPMS,
	CS_CP1250,
};

static const struct collations ranges[] = {
	{101, 127, CS_UTF16},
	{128, 159, CS_UCS2},
	{160, 191, CS_UTF32},
	{192, 223, CS_UTF8MB3},
	{224, 247, CS_UTF8MB4},
	{248, 250, CS_GB18030},
	{255, 323, CS_UTF8MB4},
	/* MariaDB's */
	{576, 607, CS_UTF8MB3},
	{608, 639, CS_UTF8MB4},
	{640, 671, CS_UCS2},
	{672, 703, CS_UTF16},
	{736, 767, CS_UTF32},
	{2048, 2303, CS_UTF8MB3},
	{2304, 2559, CS_UTF8MB4},
	{2560, 2815, CS_UCS2},
	{2816, 3071, CS_UTF16},
	{3072, 3327, CS_UTF32},
};

enum { NOPAD_ADDS = 1024, PLAIN_MAX = 1023 };

static uint8_t charset_number(uint16_t collation)
{
	/* MariaDB: the same collation without padding. */
	if (collation > NOPAD_ADDS && collation <= NOPAD_ADDS + PLAIN_MAX)
		collation = (uint16_t)(collation - NOPAD_ADDS);
	if (collation < sizeof(first_collations))
		return first_collations[collation];
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (collation >= ranges[i].first && collation <= ranges[i].last)
			return ranges[i].charset;
	return CS_NONE;
}

const char *charset_of_collation(uint16_t collation)
{
	return charsets[charset_number(collation)].server;
}

uint16_t charset_collation_like(struct span collation)
{
	const char *underscore = memchr(collation.ptr, '_', collation.len);
	struct span name = span_of(
		collation.ptr, underscore ? (size_t)(underscore - collation.ptr) : collation.len);

	if (span_ieq_str(name, "utf8"))
		name = SPAN_LIT("utf8mb3");
	for (uint16_t number = 1; number <= PLAIN_MAX; number++)
		if (charset_of_collation(number) &&
			span_ieq_str(name, charset_of_collation(number)))
			return number;
	return 0;
}

bool charset_is_utf8(uint16_t collation)
{
	uint8_t number = charset_number(collation);

	return number == CS_UTF8MB3 || number == CS_UTF8MB4 || number == CS_ASCII;
}

/* Opened when first needed. */
struct iconv_cache {
	iconv_t open[CS_COUNT];
	bool tried[CS_COUNT];
};

/* latin1 of the servers is Windows-1252 in which no byte is undefined. */
static void latin1_to_utf8(struct span text, struct buf *out)
{
	static const uint16_t upper[32] = {0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020,
		0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f, 0x90, 0x2018,
		0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153,
		0x9d, 0x17e, 0x178};

	for (size_t i = 0; i < text.len; i++) {
		unsigned c = (unsigned char)text.ptr[i];

		if (c >= 0x80 && c < 0xa0)
			c = upper[c - 0x80];
		if (c < 0x80) {
			buf_add_char(out, (char)c);
		} else if (c < 0x800) {
			buf_add_char(out, (char)(0xc0 | c >> 6));
			buf_add_char(out, (char)(0x80 | (c & 63)));
		} else {
			buf_add_char(out, (char)(0xe0 | c >> 12));
			buf_add_char(out, (char)(0x80 | (c >> 6 & 63)));
			buf_add_char(out, (char)(0x80 | (c & 63)));
		}
	}
}

bool charset_to_utf8(struct binlog *b, uint16_t collation, struct span text, struct buf *out)
{
	enum { GROWTH = 4, ROOM = 16 };
	uint8_t number = charset_number(collation);
	char *from = (char *)(uintptr_t)text.ptr, *to;
	size_t left = text.len, room = text.len * GROWTH + ROOM, wanted = room;

	if (number == CS_LATIN1) {
		latin1_to_utf8(text, out);
		return true;
	}
	if (!charsets[number].iconv)
		return false;
	if (!b->charsets)
		b->charsets = mem_zero(1, sizeof(*b->charsets));
	if (!b->charsets->tried[number]) {
		b->charsets->tried[number] = true;
		b->charsets->open[number] = iconv_open("UTF-8", charsets[number].iconv);
	}
	if (b->charsets->open[number] == (iconv_t)-1)
		return false;
	to = buf_reserve(out, room);
	(void)iconv(b->charsets->open[number], NULL, NULL, NULL, NULL);
	if (iconv(b->charsets->open[number], &from, &left, &to, &room) == (size_t)-1 || left)
		return false;
	out->len += wanted - room;
	return true;
}

void charset_release(struct binlog *b)
{
	if (!b->charsets)
		return;
	for (unsigned i = 0; i < CS_COUNT; i++)
		if (b->charsets->tried[i] && b->charsets->open[i] != (iconv_t)-1)
			(void)iconv_close(b->charsets->open[i]);
	mem_free(b->charsets);
	b->charsets = NULL;
}
