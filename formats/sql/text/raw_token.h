/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scanner of SQL text that is not parsed: tokens, quotes and comments, as the servers' lexers
 * have them.  Everything outside the parser (sql/scan.re) that has to know where a word, a quoted
 * text or a comment begins and ends asks here.
 */
#ifndef SQL_TEXT_RAW_TOKEN_H
#define SQL_TEXT_RAW_TOKEN_H

#include "base/chars.h"
#include "sql/text/dialect.h"

enum raw_token_kind {
	RAW_END,
	RAW_WORD,
	RAW_STRING,
	RAW_QUOTED, /* a name in quotes */
	RAW_NUMBER,
	RAW_OTHER, /* one character */
};

struct raw_token {
	enum raw_token_kind kind;
	struct span text;    /* as it stands, quotes included */
	struct span content; /* of strings, without the quotes */
};

struct raw_scan {
	const char *p, *end;
	struct text_dialect dialect;
	bool in_comment; /* in one that the server executes */
};

/* Comments are stepped over; of one that the server executes the content is scanned. */
struct raw_scan raw_scan_over(struct span text, struct text_dialect dialect);
struct raw_token raw_next(struct raw_scan *s);

static inline bool raw_is(const struct raw_token *t, const char *word)
{
	return t->kind == RAW_WORD && span_ieq_str(t->text, word);
}

static inline bool raw_is_char(const struct raw_token *t, char c)
{
	return t->kind == RAW_OTHER && t->text.ptr[0] == c;
}

static inline bool raw_is_quote(char c)
{
	return c == '\'' || c == '"' || c == '`';
}

/* The length of the quoted text that begins at text[at], both quotes included; 0: it is not closed.
 * Backslashes escape in strings, as they do in the servers' default mode. */
size_t raw_quoted(struct span text, size_t at);
/* The length of the comment that begins at text[at], up to and without the newline that ends a
 * line comment; 0: none begins there.  One that is not closed reaches to the end of the text, and
 * *open is then set. */
size_t raw_comment(struct span text, size_t at, bool *open);
/* The comment that begins at text[at] is one whose content some server executes. */
bool raw_comment_is_executed(struct span text, size_t at);

/* Takes the next run of name characters off the text, in a quoted text or a comment, too.  False:
 * there is none. */
bool raw_take_word(struct span *text, struct span *word);
/* Whether `word` stands in the text as a word of its own, in any case, be it in a string or
 * comment. */
bool text_holds_word(struct span text, const char *word);

enum { TEXT_KEYWORD_SIZE = 16 };
/* The first word of a statement, in upper case and cut to fit: blanks, comments, brackets and
 * semicolons before it are stepped over.  Empty: it begins with something else. */
void text_keyword(struct span sql, char out[TEXT_KEYWORD_SIZE]);
/* Whether something stands after a semicolon: blanks, comments and semicolons do not count. */
bool text_has_several(struct span text, struct text_dialect dialect);

#endif
