/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sql/text/split.h"

#include "sql/text/raw_token.h"

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
		if (raw_is_quote(c)) {
			size_t quoted = raw_quoted(text, at);

			if (!quoted) {
				out.state = SPLIT_OPEN_QUOTE;
				out.end = at;
				return out;
			}
			at = out.code_end = at + quoted;
			out.line_comment = false;
		} else if ((comment = raw_comment(text, at, &open)) > 0) {
			if (open) {
				out.state = SPLIT_OPEN_COMMENT;
				out.end = at;
				return out;
			}
			out.line_comment = c != '/';
			at += comment;
			if (raw_comment_is_executed(text, at - comment))
				out.code_end = at;
		} else {
			at++;
			if (!char_is_blank(c)) {
				out.code_end = at;
				out.line_comment = false;
			}
		}
	}
	return out;
}
