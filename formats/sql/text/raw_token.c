/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sql/text/raw_token.h"

static bool starts(const struct raw_scan *s, const char *what, size_t len)
{
	return (size_t)(s->end - s->p) >= len && memcmp(s->p, what, len) == 0;
}

/* After the ! of a comment: does the server execute it?  p moves past the version.  The manuals'
 * "Comments", "Comment Syntax": 5 or 6 digits (5 before MySQL 8.0), fewer are none; MariaDB leaves
 * those of MySQL 5.7 to 9 alone unless they are its own. */
static bool executes(struct raw_scan *s, bool maria_own)
{
	bool five =
		s->dialect.flavour == SQL_MYSQL && s->dialect.version && s->dialect.version < 80000;
	uint32_t version = 0;
	int digits = 0;

	while (digits < (five ? 5 : 6) && s->p + digits < s->end && char_is_digit(s->p[digits]))
		version = version * 10 + (uint32_t)(s->p[digits++] - '0');
	if (digits < 5)
		return true;
	s->p += digits;
	if (!s->dialect.version)
		return true;
	return version <= s->dialect.version &&
	       (s->dialect.flavour == SQL_MYSQL || maria_own || version < 50700 || version > 99999);
}

/* To after the end of a comment; of one that is not executed others may stand inside. */
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

/* "--" needs a blank or the end after it: 5--3 is arithmetic. */
static bool begins_line_comment(const char *p, size_t left)
{
	return left &&
	       (*p == '#' || (left >= 2 && p[0] == '-' && p[1] == '-' &&
				     (left == 2 || (unsigned char)p[2] <= ' ' || p[2] == 0x7f)));
}

/* Comments; those that the server executes are opened and their content looked at. */
static bool skip_comment(struct raw_scan *s)
{
	size_t left = (size_t)(s->end - s->p);
	bool maria;

	if (begins_line_comment(s->p, left)) {
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

/* To the quote that closes the text, whose opening one was stepped over; or to the end. */
static void find_closing(struct raw_scan *s, char quote, bool escapes)
{
	while (s->p < s->end) {
		if (escapes && *s->p == '\\' && s->p + 1 < s->end) {
			s->p++;
			step(s);
		} else if (*s->p == quote) {
			if (s->p + 1 >= s->end || s->p[1] != quote)
				return;
			s->p += 2; /* doubled */
		} else {
			step(s);
		}
	}
}

static struct raw_token read_quoted(struct raw_scan *s)
{
	char quote = *s->p;
	const char *start = s->p++;
	bool string = quote == '\'' || (quote == '"' && !s->dialect.ansi_quotes);
	struct raw_token t = {string ? RAW_STRING : RAW_QUOTED, SPAN_NONE, SPAN_NONE};

	find_closing(s, quote, string && !s->dialect.no_backslash_escapes);
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

	while (s->p < s->end && (char_is_blank(*s->p) || skip_comment(s)))
		if (s->p < s->end && char_is_blank(*s->p))
			s->p++;
	if (s->p >= s->end)
		return t;
	start = s->p;
	if (raw_is_quote(*s->p))
		return read_quoted(s);
	if (char_is_name(*s->p)) {
		while (s->p < s->end && char_is_name(*s->p))
			step(s);
		t.kind = char_is_digit(*start) ? RAW_NUMBER : RAW_WORD;
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

/* ---- pieces of text ---- */

size_t raw_quoted(struct span text, size_t at)
{
	struct raw_scan s = {text.ptr + at + 1, text.ptr + text.len, {0}, false};
	char quote = text.ptr[at];

	find_closing(&s, quote, quote != '`');
	return s.p < s.end ? (size_t)(s.p + 1 - (text.ptr + at)) : 0;
}

size_t raw_comment(struct span text, size_t at, bool *open)
{
	const char *p = text.ptr + at, *end;
	size_t left = text.len - at;

	*open = false;
	if (left >= 2 && p[0] == '/' && p[1] == '*') {
		end = left > 2 ? memmem(p + 2, left - 2, "*/", 2) : NULL;
		*open = end == NULL;
		return end ? (size_t)(end - p) + 2 : left;
	}
	if (!begins_line_comment(p, left))
		return 0;
	end = memchr(p, '\n', left);
	return end ? (size_t)(end - p) : left;
}

bool raw_comment_is_executed(struct span text, size_t at)
{
	struct span rest = span_of(text.ptr + at, text.len - at);

	return (rest.len >= 3 && memcmp(rest.ptr, "/*!", 3) == 0) ||
	       (rest.len >= 4 && memcmp(rest.ptr, "/*M!", 4) == 0);
}

bool raw_take_word(struct span *text, struct span *word)
{
	size_t begin = 0, end;

	while (begin < text->len && !char_is_name(text->ptr[begin]))
		begin++;
	for (end = begin; end < text->len && char_is_name(text->ptr[end]); end++)
		;
	*word = span_of(text->ptr + begin, end - begin);
	*text = span_of(text->ptr + end, text->len - end);
	return word->len > 0;
}

bool text_holds_word(struct span text, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
		if (span_ieq_str(span_of(text.ptr + i, len), word) &&
			(i == 0 || !char_is_name(text.ptr[i - 1])) &&
			(i + len == text.len || !char_is_name(text.ptr[i + len])))
			return true;
	return false;
}

void text_keyword(struct span sql, char out[TEXT_KEYWORD_SIZE])
{
	struct raw_scan s = raw_scan_over(sql, (struct text_dialect){0});
	struct raw_token t = raw_next(&s);
	size_t len = 0;

	while (raw_is_char(&t, '(') || raw_is_char(&t, ';'))
		t = raw_next(&s);
	for (; t.kind == RAW_WORD && len < t.text.len && len < TEXT_KEYWORD_SIZE - 1; len++) {
		char c = t.text.ptr[len];

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 32);
		if (c < 'A' || c > 'Z')
			break;
		out[len] = c;
	}
	out[len] = '\0';
}

bool text_has_several(struct span text, struct text_dialect dialect)
{
	struct raw_scan s = raw_scan_over(text, dialect);
	struct raw_token t;

	/* Most texts have no semicolon: not worth scanning. */
	if (!text.len || !memchr(text.ptr, ';', text.len))
		return false;
	do
		t = raw_next(&s);
	while (t.kind != RAW_END && !raw_is_char(&t, ';'));
	while (raw_is_char(&t, ';'))
		t = raw_next(&s);
	return t.kind != RAW_END;
}
