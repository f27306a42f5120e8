/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sql/text/raw_token.h"

bool text_is_name_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool starts(const struct raw_scan *s, const char *what, size_t len)
{
	return (size_t)(s->end - s->p) >= len && memcmp(s->p, what, len) == 0;
}

/* Behind the ! of a comment: does the server execute it?  p moves behind the version.  The manuals'
 * "Comments", "Comment Syntax": 5 or 6 digits (5 before MySQL 8.0), fewer are none; MariaDB leaves
 * those of MySQL 5.7 to 9 alone unless they are its own. */
static bool executes(struct raw_scan *s, bool maria_own)
{
	bool five =
		s->dialect.flavour == SQL_MYSQL && s->dialect.version && s->dialect.version < 80000;
	uint32_t version = 0;
	int digits = 0;

	while (digits < (five ? 5 : 6) && s->p + digits < s->end && is_digit(s->p[digits]))
		version = version * 10 + (uint32_t)(s->p[digits++] - '0');
	if (digits < 5)
		return true;
	s->p += digits;
	if (!s->dialect.version)
		return true;
	return version <= s->dialect.version &&
	       (s->dialect.flavour == SQL_MYSQL || maria_own || version < 50700 || version > 99999);
}

/* To behind the end of a comment; of one that is not executed others may stand inside. */
static void skip_to_end(struct raw_scan *s, bool nests)
{
	while (s->p < s->end) {
		if (starts(s, "*/", 2)) {
			s->p += 2;
			return;
		}
		if (nests && starts(s, "/*", 2)) {
			s->p += 2;
			skip_to_end(s, false);
		} else {
			s->p++;
		}
	}
}

/* Comments; those that the server executes are opened and their content looked at. */
static bool skip_comment(struct raw_scan *s)
{
	size_t left = (size_t)(s->end - s->p);
	bool maria;

	if (*s->p == '#' || (starts(s, "--", 2) && (left == 2 || (unsigned char)s->p[2] <= ' ' ||
							   s->p[2] == 0x7f))) {
		const char *newline = memchr(s->p, '\n', left);

		s->p = newline ? newline + 1 : s->end;
		return true;
	}
	if (s->in_comment && starts(s, "*/", 2)) {
		s->p += 2;
		s->in_comment = false;
		return true;
	}
	if (!starts(s, "/*", 2))
		return false;
	maria = starts(s, "/*M!", 4) && (s->dialect.flavour == SQL_MARIADB || !s->dialect.version);
	/* In an executed comment another one is an ordinary comment. */
	if (s->in_comment || !(maria || starts(s, "/*!", 3))) {
		s->p += 2;
		skip_to_end(s, false);
		return true;
	}
	s->p += maria ? 4 : 3;
	if (executes(s, maria))
		s->in_comment = true;
	else
		skip_to_end(s, true);
	return true;
}

/* One character on. */
static void step(struct raw_scan *s)
{
	s->p += s->dialect.charset == CLIENT_CHARSET_PLAIN
			? 1
			: client_charset_character(
				  (enum client_charset)s->dialect.charset, s->p, s->end);
}

static struct raw_token read_quoted(struct raw_scan *s)
{
	char quote = *s->p;
	const char *start = s->p++;
	bool string = quote == '\'' || (quote == '"' && !s->dialect.ansi_quotes);
	bool escapes = string && !s->dialect.no_backslash_escapes;
	struct raw_token t = {string ? RAW_STRING : RAW_QUOTED, SPAN_NONE, SPAN_NONE};

	while (s->p < s->end) {
		if (escapes && *s->p == '\\' && s->p + 1 < s->end) {
			s->p++;
			step(s);
		} else if (*s->p == quote) {
			if (s->p + 1 >= s->end || s->p[1] != quote)
				break;
			s->p += 2; /* doubled */
		} else {
			step(s);
		}
	}
	t.content = span_of(start + 1, (size_t)(s->p - start - 1));
	if (s->p < s->end)
		s->p++;
	t.text = span_of(start, (size_t)(s->p - start));
	return t;
}

struct raw_token raw_next(struct raw_scan *s)
{
	struct raw_token t = {RAW_END, SPAN_NONE, SPAN_NONE};
	const char *start;

	while (s->p < s->end && (text_is_blank(*s->p) || skip_comment(s)))
		if (s->p < s->end && text_is_blank(*s->p))
			s->p++;
	if (s->p >= s->end)
		return t;
	start = s->p;
	if (*s->p == '\'' || *s->p == '"' || *s->p == '`')
		return read_quoted(s);
	if (text_is_name_char((unsigned char)*s->p)) {
		while (s->p < s->end && text_is_name_char((unsigned char)*s->p))
			step(s);
		t.kind = is_digit(*start) ? RAW_NUMBER : RAW_WORD;
	} else {
		s->p++;
		t.kind = RAW_OTHER;
	}
	t.text = t.content = span_of(start, (size_t)(s->p - start));
	return t;
}

struct raw_scan raw_scan_over(struct span text, struct text_dialect dialect)
{
	const char *p = text.ptr ? text.ptr : "";

	return (struct raw_scan){p, p + text.len, dialect, false};
}
