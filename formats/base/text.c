/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <wchar.h>

#include "base/chars.h"
#include "base/json.h"

/* Marks that combine with the character before take no column; this many in a row are believed. */
enum { COMBINING_MAX = 4 };

static const char ellipsis[] = "\xe2\x80\xa6";

/* wcwidth answers by the thread's locale.  C.UTF-8 is part of glibc itself since 2.35. */
static int width_of(uint32_t code)
{
	static locale_t utf8;
	locale_t before;
	int width;

	if (!utf8) {
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
		if (!utf8)
			return -1;
	}
	before = uselocale(utf8);
	width = wcwidth((wchar_t)code);
	uselocale(before);
	return width;
}

/* Characters that are printable by the tables and still not shown as themselves: they steer the
 * direction of text (U+202E is the classic disguise) or are invisible. */
static bool is_steering(uint32_t code)
{
	return code == 0x00ad || code == 0x061c || code == 0x180e ||
	       (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff9 && code <= 0xfffb) || code >= 0xe0000;
}

static uint32_t decode(const unsigned char *p, size_t len)
{
	uint32_t code;

	if (len == 1)
		return p[0];
	code = p[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++)
		code = code << 6 | (p[i] & 0x3f);
	return code;
}

/* One character of the input: its bytes, and how it is shown. */
struct glyph {
	size_t len;       /* bytes of input */
	size_t columns;   /* 0: combines with the one before */
	char escaped[16]; /* shown instead; empty: shown as it is */
};

static void next_glyph(struct glyph *glyph, const unsigned char *p, size_t left, unsigned combined)
{
	uint32_t code;
	int width;

	glyph->escaped[0] = '\0';
	if (p[0] >= 0x20 && p[0] < 0x7f) {
		glyph->len = 1;
		glyph->columns = 1;
		return;
	}
	glyph->len = utf8_step(p, left);
	if (glyph->len <= 1) {
		int len = p[0] == '\n'   ? snprintf(glyph->escaped, sizeof(glyph->escaped), "\\n")
			  : p[0] == '\t' ? snprintf(glyph->escaped, sizeof(glyph->escaped), "\\t")
					 : snprintf(glyph->escaped, sizeof(glyph->escaped),
						   "\\x%02x", p[0]);
		glyph->len = 1;
		glyph->columns = (size_t)len;
		return;
	}
	code = decode(p, glyph->len);
	width = is_steering(code) ? -1 : width_of(code);
	if (width < 0 || (width == 0 && combined >= COMBINING_MAX))
		glyph->columns = (size_t)snprintf(
			glyph->escaped, sizeof(glyph->escaped), "\\u{%" PRIx32 "}", code);
	else
		glyph->columns = (size_t)width;
}

size_t text_add(struct buf *out, struct span s, size_t columns_max, unsigned flags)
{
	const unsigned char *p = (const unsigned char *)s.ptr, *end = p ? p + s.len : p;
	size_t columns = 0;
	size_t cut_len = out->len, cut_columns = 0; /* where the ellipsis goes when it must */
	unsigned combined = 0;
	bool blank = false;

	if (flags & TEXT_FOLD) {
		while (p < end && char_is_blank((char)*p))
			p++;
		while (end > p && char_is_blank((char)end[-1]))
			end--;
	}
	while (p < end) {
		struct glyph glyph;

		if (flags & TEXT_FOLD && char_is_blank((char)*p)) {
			if (blank) {
				p++;
				continue;
			}
			blank = true;
			glyph = (struct glyph){.len = 1, .columns = 1, .escaped = " "};
		} else {
			blank = false;
			next_glyph(&glyph, p, (size_t)(end - p), combined);
		}
		combined = glyph.columns ? 0 : combined + 1;
		if (glyph.columns > columns_max || columns > columns_max - glyph.columns) {
			out->len = cut_len;
			if (columns_max == 0) {
				buf_add_str(out, "");
				return 0;
			}
			buf_add_str(out, ellipsis);
			return cut_columns + 1;
		}
		if (glyph.escaped[0])
			buf_add_str(out, glyph.escaped);
		else
			buf_add(out, p, glyph.len);
		columns += glyph.columns;
		if (columns < columns_max) {
			cut_len = out->len;
			cut_columns = columns;
		}
		p += glyph.len;
	}
	return columns;
}

void text_add_blanks(struct buf *out, size_t count)
{
	char *to = buf_reserve(out, count);

	memset(to, ' ', count);
	to[count] = '\0';
	out->len += count;
}

void text_add_padded(struct buf *out, struct span s, size_t columns, unsigned flags)
{
	size_t used = text_add(out, s, columns, flags);

	text_add_blanks(out, columns - used);
}

size_t text_columns(struct span s)
{
	const unsigned char *p = (const unsigned char *)s.ptr, *end = p ? p + s.len : p;
	size_t columns = 0;

	while (p < end) {
		struct glyph glyph;

		next_glyph(&glyph, p, (size_t)(end - p), 0);
		columns += glyph.columns;
		p += glyph.len;
	}
	return columns;
}

struct span text_wrap(struct span s, size_t columns, struct span *rest)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t used = 0, at = 0, blank = 0;

	while (at < s.len) {
		struct glyph glyph;

		next_glyph(&glyph, p + at, s.len - at, 0);
		if (p[at] == ' ')
			blank = at;
		if (used + glyph.columns > columns && at > 0) {
			size_t end = blank ? blank : at;
			size_t next = end;

			while (next < s.len && p[next] == ' ')
				next++;
			*rest = span_of(s.ptr + next, s.len - next);
			return span_of(s.ptr, end);
		}
		used += glyph.columns;
		at += glyph.len;
	}
	*rest = span_of(s.ptr + s.len, 0);
	return s;
}

void text_add_shell_word(struct buf *out, const char *word)
{
	bool plain = word[0] != '\0' &&
		     word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_./:=,+@%-")] == '\0';

	if (plain) {
		buf_add_str(out, word);
		return;
	}
	buf_add_char(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_add_str(out, "'\\''");
		else
			buf_add_char(out, *word);
	}
	buf_add_char(out, '\'');
}

void text_add_dot(struct buf *out, struct span s)
{
	struct buf clean = BUF_INIT;

	text_add(&clean, s, 400, TEXT_FOLD);
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, clean.data[i]);
	}
	buf_release(&clean);
}

void text_add_count(struct buf *out, uint64_t count)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_add_char(out, ',');
		buf_add_char(out, digits[i]);
	}
}

void text_add_counted(struct buf *out, uint64_t count, const char *one, const char *many)
{
	text_add_count(out, count);
	buf_printf(out, " %s", count == 1 ? one : many);
}

/* value in three significant digits, at least 1 and below 1000. */
static void add_three_digits(struct buf *out, double value)
{
	buf_printf(out, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
}

void text_add_duration(struct buf *out, uint64_t ns)
{
	static const struct {
		double unit, below;
		const char *name;
	} units[] = {{1e3, 999.5e3, "us"}, {1e6, 999.5e6, "ms"}, {1e9, 119.5e9, "s"}};

	if (ns == 0) {
		buf_add_char(out, '0');
		return;
	}
	if (ns < 1000) {
		buf_printf(out, "%" PRIu64 " ns", ns);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if ((double)ns < units[i].below) {
			add_three_digits(out, (double)ns / units[i].unit);
			buf_printf(out, " %s", units[i].name);
			return;
		}
	}
	uint64_t seconds = ns / 1000000000 + (ns % 1000000000 >= 500000000);

	if (seconds < 3600)
		buf_printf(out, "%" PRIu64 " m %02" PRIu64 " s", seconds / 60, seconds % 60);
	else if (seconds < 100 * 3600)
		buf_printf(out, "%" PRIu64 " h %02" PRIu64 " m", seconds / 3600, seconds / 60 % 60);
	else
		buf_printf(
			out, "%" PRIu64 " d %02" PRIu64 " h", seconds / 86400, seconds / 3600 % 24);
}

void text_add_size(struct buf *out, uint64_t bytes)
{
	static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		buf_printf(out, "%" PRIu64 " B", bytes);
		return;
	}
	while (value >= 999.5 && i + 1 < ARRAY_LEN(names)) {
		value /= 1024;
		i++;
	}
	add_three_digits(out, value);
	buf_printf(out, " %s", names[i]);
}

void text_add_xml(struct buf *out, struct span s)
{
	struct buf clean = BUF_INIT;

	text_add(&clean, s, TEXT_NO_LIMIT, TEXT_PLAIN);
	for (size_t i = 0; i < clean.len; i++) {
		switch (clean.data[i]) {
		case '<':
			buf_add_str(out, "&lt;");
			break;
		case '>':
			buf_add_str(out, "&gt;");
			break;
		case '&':
			buf_add_str(out, "&amp;");
			break;
		case '"':
			buf_add_str(out, "&quot;");
			break;
		default:
			buf_add_char(out, clean.data[i]);
		}
	}
	buf_release(&clean);
}

void text_add_xml_lines(struct buf *out, struct span text)
{
	while (text.len) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;

		text_add_xml(out, span_of(text.ptr, len));
		if (end)
			buf_add_char(out, '\n');
		text = span_of(text.ptr + len + (end != NULL), text.len - len - (end != NULL));
	}
}

bool text_number(struct span s, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9' || __builtin_mul_overflow(*out, (uint64_t)10, out) ||
			__builtin_add_overflow(*out, (uint64_t)(s.ptr[i] - '0'), out))
			return false;
	}
	return s.len > 0;
}
