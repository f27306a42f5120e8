/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tokens: what the scanner hands to the parser.  Internal to formats/sql.
 *
 * A keyword keeps its own kind whether it is reserved or not; TF_NAME says that it may stand where
 * a name is wanted.  That is decided for each flavour and version from keyword.def, so the parser
 * asks for the word where the grammar has one and for TF_NAME where it has a name.
 */
#ifndef SQL_TOKEN_H
#define SQL_TOKEN_H

#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"
#include "sql/sql.h"

enum token_kind {
	T_EOF,
	T_ERROR, /* nothing matches it: the state after the first error */
	/* With a value. */
	T_IDENT,
	T_QUOTED, /* `x`, or "x" under ANSI_QUOTES */
	T_L_INT,
	T_L_DECIMAL,
	T_L_FLOAT,
	T_L_HEX,   /* 0x41 */
	T_HEX_STR, /* x'41' */
	T_L_BIT,
	T_BIT_STR,
	T_STRING,
	T_NSTRING,
	T_INTRODUCER, /* _utf8mb4 */
	T_USER_VAR,   /* @x, @'x' */
	/* Punctuation. */
	T_AT,
	T_AT_AT,
	T_PARAM,
	T_LPAREN,
	T_RPAREN,
	T_COMMA,
	T_SEMICOLON,
	T_DOT,
	T_STAR,
	T_PLUS,
	T_MINUS,
	T_SLASH,
	T_PERCENT,
	T_CARET,
	T_TILDE,
	T_AMPERSAND,
	T_AND_AND,
	T_PIPE,
	T_OR_OR,
	T_BANG,
	T_EQ,
	T_NULL_EQ,
	T_NE,
	T_LT,
	T_LE,
	T_GT,
	T_GE,
	T_SHIFT_LEFT,
	T_SHIFT_RIGHT,
	T_ASSIGN,
	T_COLON,
	T_ARROW,
	T_ARROW2,
	T_LBRACE,
	T_RBRACE,
	T_NULL_N, /* \N */
	T_DOLLAR, /* $$...$$, $tag$...$tag$: a routine's body in MySQL 9, and nothing else */
	T_FIRST_KEYWORD,
	T_BEFORE_KEYWORDS = T_FIRST_KEYWORD - 1,
#define KEYWORD(name, maria, mysql, flags) T_##name,
#define KNOWN_SINCE(name, maria, mysql)
#define RESERVED_BEFORE(name, maria, mysql)
#define UNCALLABLE(name, servers)
#include "sql/keyword.def"
#undef KEYWORD
#undef KNOWN_SINCE
#undef RESERVED_BEFORE
#undef UNCALLABLE
	T_COUNT_OF_KINDS,
	/* Not tokens: what an error message may say was expected. */
	T_WANT_NAME = T_COUNT_OF_KINDS,
	T_WANT_EXPR,
	T_WANT_STRING,
	T_WANT_NUMBER,
	T_WANT_TABLE,
	T_WANT_QUERY,
	T_WANT_STATEMENT,
	T_WANT_TYPE,
	T_WANT_END,
	T_WANT_COUNT,
};

enum token_flag {
	TF_NAME = 1 << 0,    /* may be a name */
	TF_CALL = 1 << 1,    /* `(` follows at once (or after space under IGNORE_SPACE) */
	TF_ESCAPED = 1 << 2, /* a string with something to resolve */
	TF_DQUOTE = 1 << 3,  /* in double quotes */
	TF_NO_CALL = 1 << 4, /* a keyword that cannot name a function; in keyword.def: in MariaDB */
	TF_SPACE = 1 << 5,   /* white space or a comment stood before it */
	KF_FUNC = 1 << 6,    /* in keyword.def: a keyword only where TF_CALL holds */
	KF_NO_CALL_MYSQL = 1 << 7, /* in keyword.def: TF_NO_CALL in MySQL */
	KF_NO_CALL_OLD = 1 << 8,   /* in keyword.def: TF_NO_CALL in MariaDB before 10.6 */
};

struct token {
	uint16_t kind; /* enum token_kind */
	uint16_t flags;
	uint32_t start, end;
};

enum scan_error {
	SCAN_OK,
	SCAN_COMMENT,  /* unclosed comment */
	SCAN_STRING,   /* unclosed string or quoted name */
	SCAN_CHAR,     /* no token starts like this */
	SCAN_NUMBER,   /* 1.5e without digits */
	SCAN_HEX,      /* x'1': odd or wrong digits */
	SCAN_BAD_NAME, /* a quoted name with a NUL in it */
};

struct scanner {
	const char *base; /* text; base[len] is NUL */
	uint32_t len;
	uint32_t at;
	struct sql_options opt;
	uint8_t dot;          /* 1: a `.` that separates names is next; 2: then a name */
	bool in_comment;      /* inside an executed comment */
	bool lenient;         /* a closing of a comment that was not opened is skipped */
	uint32_t comment_end; /* offset after the last comment, or opening of an executed one */
	bool hint_place;      /* the token before was SELECT, INSERT, UPDATE, DELETE, REPLACE */
	struct span hint;     /* the last hint found in such a place */
	enum scan_error error;
};

void scan_init(struct scanner *s, const char *base, uint32_t len, const struct sql_options *opt);
/* T_ERROR with s->error set when the text has no token here. */
struct token scan_next(struct scanner *s);
/* Quotes away, doubled quotes single, backslashes resolved ("String Literals": \% and \_ stay as
 * they are, any other unknown escape is its character).  Points into the text or the arena. */
struct span token_value(const char *base, struct token tok, uint32_t mode, struct arena *arena);

/* T_IDENT when the word is no keyword. */
struct keyword_info {
	uint16_t kind;
	uint16_t flags;
	uint32_t maria, mysql; /* reserved since this version; 0 never, 1 always */
};
/* Whether the word is a keyword in that server at all, and whether it may not be a name there. */
bool keyword_known(const struct keyword_info *info, const struct sql_options *opt);
bool keyword_reserved(const struct keyword_info *info, const struct sql_options *opt);
const struct keyword_info *keyword_find(const char *word, size_t len);
const char *keyword_text(enum token_kind kind); /* "SELECT", or "`;`", or "a name" */
/* In keyword.def: before 10.6, since 11.8; before 8.0, since; 8.0 only, 8.4 and 9 only. */
enum {
	UC_MARIA_OLD = 1,
	UC_MARIA = 2,
	UC_MYSQL_OLD = 4,
	UC_MYSQL = 8,
	UC_MYSQL_8 = 16,
	UC_MYSQL_9 = 32,
};
/* Keywords of a server that the grammar here has no use for: names, but not of functions. */
bool uncallable(const char *word, size_t len, const struct sql_options *opt);
/* Whether MariaDB has a keyword that the grammar here has no use for: no name of an option. */
bool keyword_elsewhere(const char *word, size_t len, const struct sql_options *opt);
bool charset_known(const char *name, size_t len, const struct sql_options *opt);

#endif
