/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words, strings and comments of SQL text that is not parsed. */
#ifndef SQL_TEXT_RAW_TOKEN_H
#define SQL_TEXT_RAW_TOKEN_H

#include "sql/text/stmt_classify.h"

enum raw_token_kind {
	RAW_END,
	RAW_WORD,
	RAW_STRING,
	RAW_QUOTED,
	RAW_NUMBER,
	RAW_OTHER,
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

struct raw_scan raw_scan_over(struct span text, struct text_dialect dialect);
struct raw_token raw_next(struct raw_scan *s);

static inline bool text_is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* May stand in a name without quotes. */
bool text_is_name_char(unsigned char c);

static inline bool raw_is(const struct raw_token *t, const char *word)
{
	return t->kind == RAW_WORD && span_ieq_str(t->text, word);
}

static inline bool raw_is_char(const struct raw_token *t, char c)
{
	return t->kind == RAW_OTHER && t->text.ptr[0] == c;
}

#endif
