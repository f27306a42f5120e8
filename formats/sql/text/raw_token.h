/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words, strings and comments of SQL, for the quick look (sql/text/stmt_classify.h).  Internal to it. */
#ifndef SQL_TEXT_RAW_TOKEN_H
#define SQL_TEXT_RAW_TOKEN_H

#include "sql/text/stmt_classify.h"

enum look_token_kind {
	LOOK_TOKEN_END,
	LOOK_TOKEN_WORD,
	LOOK_TOKEN_STRING,
	LOOK_TOKEN_QUOTED,
	LOOK_TOKEN_NUMBER,
	LOOK_TOKEN_OTHER,
};

struct look_token {
	enum look_token_kind kind;
	struct span text;    /* as it stands, quotes included */
	struct span content; /* of strings, without the quotes */
};

struct look_scan {
	const char *p, *end;
	struct look_dialect dialect;
	bool in_comment; /* in one that the server executes */
};

struct look_scan look_over(struct span text, struct look_dialect dialect);
struct look_token look_next(struct look_scan *s);

static inline bool look_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* May stand in a name without quotes. */
bool look_is_word(unsigned char c);

static inline bool look_is(const struct look_token *t, const char *word)
{
	return t->kind == LOOK_TOKEN_WORD && span_ieq_str(t->text, word);
}

static inline bool look_is_char(const struct look_token *t, char c)
{
	return t->kind == LOOK_TOKEN_OTHER && t->text.ptr[0] == c;
}

#endif
