/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sql/text/split.h"

size_t split_comment(struct span text, size_t at, bool *open)
{
	const char *p = text.ptr + at;
	size_t left = text.len - at;
	const char *end = NULL;

	*open = false;
	if (left >= 2 && p[0] == '/' && p[1] == '*') {
		end = left > 2 ? memmem(p + 2, left - 2, "*/", 2) : NULL;
		*open = end == NULL;
		return end ? (size_t)(end - p) + 2 : left;
	}
	/* "--" needs a blank or the end behind it: 5--3 is arithmetic. */
	if ((left >= 1 && p[0] == '#') || (left >= 2 && p[0] == '-' && p[1] == '-' &&
						  (left == 2 || (unsigned char)p[2] <= ' '))) {
		end = memchr(p, '\n', left);
		return end ? (size_t)(end - p) : left;
	}
	return 0;
}

/* Behind the quote that opens at text[at], or text.len + 1 when it is not closed. */
static size_t skip_quoted(struct span text, size_t at)
{
	char quote = text.ptr[at];

	for (size_t i = at + 1; i < text.len; i++) {
		if (text.ptr[i] == '\\' && quote != '`') {
			i++;
		} else if (text.ptr[i] == quote) {
			if (i + 1 < text.len && text.ptr[i + 1] == quote)
				i++;
			else
				return i + 1;
		}
	}
	return text.len + 1;
}

/* MySQL and MariaDB execute what stands in slash-star-! and slash-star-M! comments. */
static bool is_executable(struct span text, size_t at)
{
	size_t left = text.len - at;
	const char *p = text.ptr + at;

	return left > 4 && p[0] == '/' && (p[2] == '!' || (p[2] == 'M' && p[3] == '!'));
}

struct split split_statement(struct span text, size_t from, struct span delimiter)
{
	struct split out = {.state = SPLIT_END, .end = text.len, .code_end = from};
	size_t at = from;

	while (at < text.len) {
		char c = text.ptr[at];
		size_t comment;
		bool open;

		if (delimiter.len <= text.len - at &&
			memcmp(text.ptr + at, delimiter.ptr, delimiter.len) == 0) {
			out.state = SPLIT_FOUND;
			out.end = at;
			return out;
		}
		if (c == '\'' || c == '"' || c == '`') {
			size_t behind = skip_quoted(text, at);

			if (behind > text.len) {
				out.state = SPLIT_OPEN_QUOTE;
				out.end = at;
				return out;
			}
			at = out.code_end = behind;
			out.line_comment = false;
		} else if ((comment = split_comment(text, at, &open)) > 0) {
			if (open) {
				out.state = SPLIT_OPEN_COMMENT;
				out.end = at;
				return out;
			}
			out.line_comment = c != '/';
			at += comment;
			if (is_executable(text, at - comment))
				out.code_end = at;
		} else {
			at++;
			if (!split_is_blank(c)) {
				out.code_end = at;
				out.line_comment = false;
			}
		}
	}
	return out;
}
