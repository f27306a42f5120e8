/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a SQL statement ends: at the first delimiter outside quotes and comments.
 *
 * Follows the server's lexer and the `mysql` client: '…' and "…" know backslash escapes and doubled
 * quotes, `…` doubled ones only; a comment is "-- " (the blank is part of it), # and slash-star.
 * The SQL modes NO_BACKSLASH_ESCAPES and ANSI_QUOTES are not known here: text does not tell them.
 */
#ifndef SQL_TEXT_SPLIT_H
#define SQL_TEXT_SPLIT_H

#include <stdbool.h>

#include "base/span.h"

enum split_state {
	SPLIT_FOUND,        /* a delimiter begins at `end` */
	SPLIT_END,          /* the text ended, outside everything or in a line comment */
	SPLIT_OPEN_QUOTE,   /* the text ended in the quote that opens at `end` */
	SPLIT_OPEN_COMMENT, /* ... in the comment that opens at `end` */
};

struct split {
	enum split_state state;
	size_t end;
	size_t code_end;   /* after the last byte that is neither blank nor in a comment */
	bool line_comment; /* nothing but blanks stands after a line comment's text */
};

struct split split_statement(struct span text, size_t from, struct span delimiter);

#endif
