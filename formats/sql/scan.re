/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scanner (re2c).  It follows the servers' own: MySQL manual, chapter "Language Structure"
 * (literals, comments, schema object names), and where the manual is silent what the servers do:
 *
 *  - a word directly followed by a dot and another word is a name even if reserved, and so is the
 *    word after such a dot: `select.from`;
 *  - a word may start with a digit (1a is a name, 1e5 a number, 1e5a a number and a name);
 *  - an executable comment is opened here and its tokens are handed out as if it were not there;
 *    whether it is opened depends on its version number, the flavour and the version;
 *  - `--` starts a comment only before white space, a control character or the end.
 *
 * The text ends in a NUL that is not part of it (sql_parse copies it); a NUL inside is a
 * character like another, and one at its end is the end.
 */
#include "sql/token.h"

#include <string.h>

#include "base/bug.h"

void scan_init(struct scanner *s, const char *base, uint32_t len, const struct sql_options *opt)
{
	*s = (struct scanner){.base = base, .len = len, .opt = *opt};
	CHECK(base[len] == '\0');
}

static bool is_word_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_' || c == '$' || c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct token make(const struct scanner *s, enum token_kind kind, unsigned flags,
	const char *from, const char *to)
{
	return (struct token){(uint16_t)kind, (uint16_t)flags, (uint32_t)(from - s->base),
		(uint32_t)(to - s->base)};
}

static struct token fail(struct scanner *s, enum scan_error error, const char *from, const char *to)
{
	s->error = error;
	s->at = (uint32_t)(to - s->base);
	return make(s, T_ERROR, 0, from, to);
}

/* What stands after a word decides whether it may be a function's name. */
static bool call_follows(const struct scanner *s, const char *p)
{
	if (s->opt.mode & SQL_MODE_IGNORE_SPACE) {
		while (is_space(*p))
			p++;
	}
	return *p == '(';
}

static struct token word(struct scanner *s, const char *from, const char *to, unsigned flags)
{
	const struct keyword_info *info;
	struct token tok;

	if (call_follows(s, to))
		flags |= TF_CALL;
	s->at = (uint32_t)(to - s->base);
	if (*to == '.' && is_word_char((unsigned char)to[1])) {
		s->dot = 1;
		return make(s, T_IDENT, flags | TF_NAME, from, to);
	}
	info = keyword_find(from, (size_t)(to - from));
	bool reserved = info && keyword_reserved(info, &s->opt);
	if (info && !reserved && (!keyword_known(info, &s->opt) ||
			((info->flags & KF_FUNC) && !(flags & TF_CALL))))
		info = NULL;
	if (info) {
		bool maria = s->opt.flavour == SQL_MARIADB, new = s->opt.version >= 100600;
		/* A function word before `(` cannot name anything else: CREATE TABLE count(a INT). */
		if (!reserved && (!(info->flags & KF_FUNC) || info->kind == T_ADDDATE ||
				info->kind == T_SUBDATE || info->kind == T_ADD_MONTHS ||
				(info->kind == T_SYSDATE && maria && new) ||
				info->kind == T_SESSION_USER || info->kind == T_ST_COLLECT || info->kind == T_SYSTEM_USER))
			flags |= TF_NAME;
		/* Which keywords may name a function differs; these two were functions once. */
		unsigned no_call = !maria ? KF_NO_CALL_MYSQL
				 : new  ? TF_NO_CALL
					: TF_NO_CALL | KF_NO_CALL_OLD;
		if (!maria && s->opt.version < 80000 &&
			(info->kind == T_PASSWORD || info->kind == T_CONTAINS))
			no_call = 0;
		tok = make(s, info->kind, flags | (info->flags & KF_FUNC) |
			(info->flags & no_call ? TF_NO_CALL : 0), from, to);
		s->hint_place = info->kind == T_SELECT || info->kind == T_INSERT ||
			info->kind == T_UPDATE || info->kind == T_DELETE || info->kind == T_REPLACE;
		return tok;
	}
	if (*from == '_' && charset_known(from + 1, (size_t)(to - from - 1), &s->opt))
		return make(s, T_INTRODUCER, flags, from, to);
	return make(s, T_IDENT, flags | TF_NAME, from, to);
}

/* A word that starts with a digit: a number, or a number and more, or a name. */
static struct token digits(struct scanner *s, const char *from, const char *to, unsigned flags)
{
	const char *p = from;

	if (from[0] == '0' && (from[1] == 'x' || from[1] == 'b') && to - from > 2) {
		bool hex = from[1] == 'x';

		for (p = from + 2; p < to; p++) {
			char c = *p;
			bool ok = hex ? is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f')
				      : c == '0' || c == '1';
			if (!ok)
				break;
		}
		if (p == to) {
			s->at = (uint32_t)(to - s->base);
			return make(s, hex ? T_L_HEX : T_L_BIT, flags, from, to);
		}
		p = from;
	}
	while (p < to && is_digit(*p))
		p++;
	if (p == to) {
		s->at = (uint32_t)(to - s->base);
		return make(s, T_L_INT, flags, from, to);
	}
	if ((*p | 32) == 'e' && p + 1 < to && is_digit(p[1])) {
		for (p++; p < to && is_digit(*p); p++)
			;
		s->at = (uint32_t)(p - s->base);
		return make(s, T_L_FLOAT, flags, from, p);
	}
	return word(s, from, to, flags);
}

/* Reads up to the closing quote, doubled quotes and backslashes skipped.  Returns the position
 * after it, or NULL. */
static const char *quoted(struct scanner *s, const char *p, char quote, bool backslash,
	unsigned *flags)
{
	const char *end = s->base + s->len;

	while (p < end) {
		char c = *p++;

		if (c == quote) {
			if (p >= end || *p != quote)
				return p;
			p++;
			*flags |= TF_ESCAPED;
		} else if (c == '\\' && backslash) {
			if (p >= end)
				return NULL;
			p++;
			*flags |= TF_ESCAPED;
		}
	}
	return NULL;
}

static struct token string(struct scanner *s, enum token_kind kind, const char *from,
	const char *body, char quote, unsigned flags)
{
	bool backslash = !(s->opt.mode & SQL_MODE_NO_BACKSLASH_ESCAPES);
	bool name = quote == '`' || (quote == '"' && (s->opt.mode & SQL_MODE_ANSI_QUOTES) != 0);
	const char *end;

	if (quote == '"')
		flags |= TF_DQUOTE;
	end = quoted(s, body, quote, backslash && !name, &flags);
	if (!end)
		return fail(s, SCAN_STRING, from, s->base + s->len);
	if (name && kind == T_STRING) {
		kind = T_QUOTED;
		flags |= TF_NAME;
		if (memchr(body, '\0', (size_t)(end - body)))
			return fail(s, SCAN_BAD_NAME, from, end);
		if (call_follows(s, end))
			flags |= TF_CALL;
	}
	s->at = (uint32_t)(end - s->base);
	return make(s, kind, flags, from, end);
}

/* $tag$ ... $tag$ */
static struct token dollar(struct scanner *s, const char *from, size_t tag, unsigned flags)
{
	const char *end = s->base + s->len;
	const char *close = memmem(from + tag, (size_t)(end - from) - tag, from, tag);

	if (!close)
		return fail(s, SCAN_STRING, from, end);
	s->at = (uint32_t)(close + tag - s->base);
	return make(s, T_DOLLAR, flags, from, close + tag);
}

/* After the two characters that open it.  Comments nest one level in a skipped executable
 * comment, as in the servers. */
static const char *skip_comment(const struct scanner *s, const char *p, int nest)
{
	const char *end = s->base + s->len;

	while (p < end) {
		if (nest > 0 && p[0] == '/' && p[1] == '*') {
			p = skip_comment(s, p + 2, nest - 1);
			if (!p)
				return NULL;
			continue;
		}
		if (p[0] == '*' && p[1] == '/')
			return p + 2;
		p++;
	}
	return NULL;
}

/* p is after the comment's `!`.  Returns how many digits of version there are, and whether the
 * server would execute the comment.  MariaDB leaves MySQL's comments of 5.7 to 9 alone. */
static bool executes(const struct scanner *s, const char *p, bool maria_only, int *digit_count)
{
	int most = s->opt.flavour == SQL_MYSQL && s->opt.version < 80100 ? 5 : 6;
	uint32_t version = 0;
	int n = 0;

	while (n < most && is_digit(p[n]))
		n++;
	if (n < 5)
		n = 0; /* fewer digits are no version */
	/* MySQL since 8.1: a sixth digit only where a blank follows. */
	if (n == 6 && s->opt.flavour == SQL_MYSQL && p[6] != ' ' &&
		(p[6] < '\t' || p[6] > '\r'))
		n = 5;
	for (int i = 0; i < n; i++)
		version = version * 10 + (uint32_t)(p[i] - '0');
	*digit_count = n;
	if (n == 0)
		return true;
	if (version > s->opt.version)
		return false;
	return s->opt.flavour == SQL_MYSQL || maria_only || version < 50700 || version > 99999;
}

/* A client may send the NUL after a text with it.  To the servers it is the end where nothing follows but blanks and
 * semicolons, which they cut off before they read (MY_LEX_EOL in sql_lex.cc; seen on all). */
static bool is_end(const char *p, const char *end)
{
	while (p < end && (*p == ';' || *p == ' ' || (*p >= '\t' && *p <= '\r')))
		p++;
	return p == end;
}

struct token scan_next(struct scanner *s)
{
	const unsigned char *cursor, *marker = NULL, *begin;
	const char *from, *end = s->base + s->len;
	unsigned flags = 0;
	bool hint_place = s->hint_place;

	if (s->dot == 1) {
		s->dot = 2;
		s->at++;
		return make(s, T_DOT, 0, s->base + s->at - 1, s->base + s->at);
	}
	if (s->dot == 2) {
		const char *p;

		from = p = s->base + s->at;
		while (is_word_char((unsigned char)*p))
			p++;
		s->at = (uint32_t)(p - s->base);
		s->dot = *p == '.' && is_word_char((unsigned char)p[1]);
		if (p > from) {
			if (call_follows(s, p))
				flags |= TF_CALL;
			return make(s, T_IDENT, flags | TF_NAME, from, p);
		}
		s->dot = 0;
	}
	s->hint_place = false;
	cursor = (const unsigned char *)s->base + s->at;

again:
	begin = cursor;
	from = (const char *)begin;
#define HERE ((const char *)cursor)
#define TOKEN(kind)                                                                              \
	do {                                                                                     \
		s->at = (uint32_t)(HERE - s->base);                                              \
		return make(s, (kind), flags, from, HERE);                                       \
	} while (0)
	/*!re2c
	re2c:define:YYCTYPE = "unsigned char";
	re2c:define:YYCURSOR = cursor;
	re2c:define:YYMARKER = marker;
	re2c:yyfill:enable = 0;
	re2c:indent:string = "\t";

	word  = [a-zA-Z_$\x80-\xff] [a-zA-Z0-9_$\x80-\xff]*;
	digit = [0-9];
	space = [ \t\n\v\f\r];

	space+ { flags |= TF_SPACE; goto again; }
	"\x00" {
		if (from < end && !is_end(from + 1, end))
			return fail(s, SCAN_CHAR, from, HERE);
		s->at = s->len;
		if (s->in_comment)
			return fail(s, SCAN_COMMENT, from, from);
		return make(s, T_EOF, flags, end, end);
	}
	"#" [^\n\x00]* { flags |= TF_SPACE; goto line_comment; }
	"--" [\x01-\x20\x7f] {
		flags |= TF_SPACE;
		cursor--;
		goto line_comment;
	}
	"--" [\x00] {
		flags |= TF_SPACE;
		cursor--;
		goto line_comment;
	}
	"/*!" | "/*M!" {
		int n;
		bool maria = HERE[-2] == 'M';

		flags |= TF_SPACE;
		if (maria && s->opt.flavour == SQL_MYSQL)
			goto comment;
		/* In an executed comment another one is an ordinary comment. */
		if (s->in_comment)
			goto comment;
		if (executes(s, HERE, maria, &n)) {
			cursor += n;
			s->comment_end = (uint32_t)(HERE - s->base);
			s->in_comment = true;
			goto again;
		}
		const char *past = skip_comment(s, HERE, 1);
		if (!past)
			return fail(s, SCAN_COMMENT, from, end);
		cursor = (const unsigned char *)past;
		s->comment_end = (uint32_t)(HERE - s->base);
		goto again;
	}
	"/*" { flags |= TF_SPACE; goto comment; }
	"*/" {
		if (s->in_comment || s->lenient) {
			s->in_comment = false;
			s->comment_end = (uint32_t)(HERE - s->base);
			flags |= TF_SPACE;
			goto again;
		}
		cursor--;
		TOKEN(T_STAR);
	}
	"N'" | "n'" { return string(s, T_NSTRING, from, HERE, '\'', flags); }
	[xX] "'" [0-9a-fA-F]* "'" {
		if ((HERE - from) % 2 == 0)
			return fail(s, SCAN_HEX, from, HERE);
		TOKEN(T_HEX_STR);
	}
	[bB] "'" [01]* "'" { TOKEN(T_BIT_STR); }
	[xXbB] "'" { return fail(s, SCAN_HEX, from, HERE); }
	word {
		if (*from == '$' && s->opt.flavour == SQL_MYSQL && s->opt.version >= 90000) {
			const char *tag = memchr(from + 1, '$', (size_t)(HERE - from - 1));

			if (tag)
				return dollar(s, from, (size_t)(tag + 1 - from), flags);
		}
		return word(s, from, HERE, flags);
	}
	digit [a-zA-Z0-9_$\x80-\xff]* { return digits(s, from, HERE, flags); }
	digit+ [eE] [+-] digit+ { TOKEN(T_L_FLOAT); }
	digit* "." digit* {
		if (HERE - from == 1) {
			if (is_word_char(*cursor))
				s->dot = 2;
			TOKEN(T_DOT);
		}
		TOKEN(T_L_DECIMAL);
	}
	digit+ "." digit* [eE] [+-]? digit+ | "." digit+ [eE] [+-]? digit+ { TOKEN(T_L_FLOAT); }
	digit+ "." digit* [eE] [+-]? | "." digit+ [eE] [+-]? {
		/* MySQL forgets such a number and goes on with the character after it, as long as
		 * that is a token by itself: SELECT 1 1.e*2 is 1*2 there, SELECT 1.e++2 is +2. */
		const char *goes_on = HERE[-1] == '+' || HERE[-1] == '-' ? "*/^%&|(),.~+-" : "*/^%&|(),.~";

		if (s->opt.flavour == SQL_MYSQL && *cursor && strchr(goes_on, *cursor)) {
			flags |= TF_SPACE;
			goto again;
		}
		return fail(s, SCAN_NUMBER, from, HERE);
	}
	"'"  { return string(s, T_STRING, from, HERE, '\'', flags); }
	"\"" { return string(s, T_STRING, from, HERE, '"', flags); }
	"`"  { return string(s, T_STRING, from, HERE, '`', flags); }
	"@" [a-zA-Z0-9_.$\x80-\xff]+ { TOKEN(T_USER_VAR); }
	"@" ['"`] { return string(s, T_USER_VAR, from, HERE, HERE[-1], flags); }
	"@@" { TOKEN(T_AT_AT); }
	"@" { TOKEN(T_AT); }
	"?" { TOKEN(T_PARAM); }
	"?" [a-zA-Z0-9_$\x80-\xff] { return fail(s, SCAN_CHAR, from, HERE); }
	"(" { TOKEN(T_LPAREN); }
	")" { TOKEN(T_RPAREN); }
	"," { TOKEN(T_COMMA); }
	";" { TOKEN(T_SEMICOLON); }
	"*" { TOKEN(T_STAR); }
	"+" { TOKEN(T_PLUS); }
	"-" { TOKEN(T_MINUS); }
	"/" { TOKEN(T_SLASH); }
	"%" { TOKEN(T_PERCENT); }
	"^" { TOKEN(T_CARET); }
	"~" { TOKEN(T_TILDE); }
	"&" { TOKEN(T_AMPERSAND); }
	"&&" { TOKEN(T_AND_AND); }
	"|" { TOKEN(T_PIPE); }
	"||" { TOKEN(T_OR_OR); }
	"!" { TOKEN(T_BANG); }
	"!" [!<>] {
		/* MySQL takes any two of = < > ! together; what is no operator then counts as its
		 * first character: !!1 is !1 there, and =! is nothing. */
		if (s->opt.flavour == SQL_MARIADB)
			cursor--;
		TOKEN(T_BANG);
	}
	"=!" | ">!" | "<!" | "<=!" | "<>!" | "<<!" {
		if (s->opt.flavour == SQL_MYSQL)
			return fail(s, SCAN_CHAR, from, HERE);
		cursor--;
		switch (HERE - from == 2 ? from[1] : from[0]) {
		case '=':
			TOKEN(from[0] == '=' ? T_EQ : T_LE);
		case '>':
			TOKEN(HERE - from == 2 ? T_NE : T_GT);
		default:
			TOKEN(HERE - from == 2 ? T_SHIFT_LEFT : T_LT);
		}
	}
	"=" { TOKEN(T_EQ); }
	"<=>" { TOKEN(T_NULL_EQ); }
	"<>" | "!=" { TOKEN(T_NE); }
	"<" { TOKEN(T_LT); }
	"<=" { TOKEN(T_LE); }
	">" { TOKEN(T_GT); }
	">=" { TOKEN(T_GE); }
	"<<" { TOKEN(T_SHIFT_LEFT); }
	">>" { TOKEN(T_SHIFT_RIGHT); }
	":=" { TOKEN(T_ASSIGN); }
	":" { TOKEN(T_COLON); }
	"->" {
		if (s->opt.flavour == SQL_MARIADB) {
			cursor--;
			TOKEN(T_MINUS);
		}
		TOKEN(T_ARROW);
	}
	"->>" {
		if (s->opt.flavour == SQL_MARIADB) {
			cursor -= 2;
			TOKEN(T_MINUS);
		}
		TOKEN(T_ARROW2);
	}
	"{" { TOKEN(T_LBRACE); }
	"}" { TOKEN(T_RBRACE); }
	"\\N" { TOKEN(T_NULL_N); }
	* { return fail(s, SCAN_CHAR, from, HERE); }
	*/

line_comment:
	while (HERE < end && *cursor != '\n')
		cursor++;
	goto again;

comment: {
	const char *body = from + 2, *past = skip_comment(s, body, 0);

	if (!past)
		return fail(s, SCAN_COMMENT, from, end);
	if (hint_place && *body == '+')
		s->hint = span_of(body + 1, (size_t)(past - 2 - body - 1));
	cursor = (const unsigned char *)past;
	s->comment_end = (uint32_t)(HERE - s->base);
	goto again;
}
#undef TOKEN
#undef HERE
}
