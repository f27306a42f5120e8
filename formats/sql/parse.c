/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser's verbs (tokens, names, values), its messages, and the public entry points.
 */
#include <string.h>

#include "base/bug.h"
#include "sql/parse.h"
#include "sql/program.h"

/* ------------------------------------------------------------------ tokens */

void parse_advance(struct parser *p)
{
	if (p->failure)
		return;
	p->last_end = p->tok.end;
	if (p->ahead_count) {
		p->tok = p->ahead[p->ahead_first];
		p->ahead_first = (uint8_t)((p->ahead_first + 1) % PARSE_AHEAD);
		p->ahead_count--;
	} else {
		p->tok = scan_next(&p->scan);
	}
	if (UNLIKELY(p->track))
		memset(p->wanted, 0, sizeof(p->wanted));
	if (UNLIKELY(p->tok.kind == T_ERROR)) {
		p->failure = PARSE_LEXICAL;
		p->fail_tok = p->tok;
	}
}

struct token parse_peek(struct parser *p, unsigned n)
{
	CHECK(n >= 1 && n <= PARSE_AHEAD);
	if (p->failure)
		return (struct token){T_ERROR, 0, p->tok.end, p->tok.end};
	while (p->ahead_count < n) {
		/* Nothing is scanned after the end or an error: the same again. */
		struct token last =
			p->ahead_count
				? p->ahead[(p->ahead_first + p->ahead_count - 1u) % PARSE_AHEAD]
				: p->tok;

		if (last.kind != T_EOF && last.kind != T_ERROR)
			last = scan_next(&p->scan);
		p->ahead[(p->ahead_first + p->ahead_count) % PARSE_AHEAD] = last;
		p->ahead_count++;
	}
	return p->ahead[(p->ahead_first + n - 1) % PARSE_AHEAD];
}

void parse_fail(struct parser *p)
{
	if (p->failure)
		return;
	p->failure = PARSE_SYNTAX;
	p->fail_tok = p->tok;
	p->tok.kind = T_ERROR;
	p->tok.flags = 0;
}

void parse_fail_why(struct parser *p, const char *why)
{
	if (!p->failure)
		p->why = why;
	parse_fail(p);
}

void parse_want(struct parser *p, unsigned kind)
{
	if (!p->failure)
		p->wanted[kind / 64] |= (uint64_t)1 << (kind % 64);
}

/* ------------------------------------------------------------------ values */

static char unescape(char c)
{
	switch (c) {
	case '0':
		return '\0';
	case 'b':
		return '\b';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'Z':
		return '\032';
	default:
		return c;
	}
}

struct span parse_value(struct parser *p, struct token tok)
{
	return token_value(p->text, tok, p->opt.mode, p->arena);
}

struct span token_value(const char *base, struct token tok, uint32_t mode, struct arena *arena)
{
	const char *from = base + tok.start;
	size_t len = tok.end - tok.start;
	char quote;

	if (tok.kind == T_NSTRING) {
		from++;
		len--;
	} else if (tok.kind != T_STRING && tok.kind != T_QUOTED) {
		return span_of(from, len);
	}
	if (len < 2) /* after an error */
		return span_of(from, 0);
	quote = *from++;
	len -= 2;
	if (!(tok.flags & TF_ESCAPED))
		return span_of(from, len);
	bool backslash = quote != '`' && !(mode & SQL_MODE_NO_BACKSLASH_ESCAPES) &&
			 !(quote == '"' && tok.kind == T_QUOTED);
	char *out = arena_alloc(arena, len + 1), *to = out;
	for (size_t i = 0; i < len; i++) {
		char c = from[i];

		if (c == quote) {
			i++; /* doubled */
		} else if (c == '\\' && backslash && i + 1 < len) {
			c = from[++i];
			if (c == '%' || c == '_')
				*to++ = '\\';
			c = unescape(c);
		}
		*to++ = c;
	}
	*to = '\0';
	return span_of(out, (size_t)(to - out));
}

bool at_name(struct parser *p)
{
	if (p->tok.flags & TF_NAME)
		return true;
	if (UNLIKELY(p->track))
		parse_want(p, T_WANT_NAME);
	return false;
}

struct span parse_name(struct parser *p)
{
	struct span name;

	if (UNLIKELY(!at_name(p))) {
		parse_fail(p);
		return SPAN_LIT("");
	}
	if (p->tok.kind == T_QUOTED) {
		name = parse_value(p, p->tok);
		/* The servers refuse names that end in a space where they make objects only; here
		 * every name is taken. */
	} else {
		name = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);
	}
	parse_advance(p);
	return name;
}

struct span parse_string(struct parser *p)
{
	struct span value;

	if (p->tok.kind != T_STRING) {
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_STRING);
		parse_fail(p);
		return SPAN_LIT("");
	}
	value = parse_value(p, p->tok);
	parse_advance(p);
	return value;
}

struct span parse_name_or_string(struct parser *p)
{
	struct span name;

	if (p->tok.kind != T_STRING)
		return parse_name(p);
	name = parse_string(p);
	/* As in quoted names; the alias of a column, which may have one, is read elsewhere. */
	if (name.len && memchr(name.ptr, '\0', name.len))
		parse_fail_why(p, "a name must not contain a NUL character, before this");
	return name;
}

struct span parse_charset_name(struct parser *p)
{
	if (p->tok.kind == T_BINARY) {
		struct span name = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);

		parse_advance(p);
		return name;
	}
	return parse_name_or_string(p);
}

struct span parse_length(struct parser *p)
{
	if (p->tok.kind == T_L_HEX)
		parse_fail(p);
	return parse_number(p);
}

struct span parse_number(struct parser *p)
{
	struct span value = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);

	if (p->tok.kind != T_L_INT && p->tok.kind != T_L_HEX) {
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_NUMBER);
		parse_fail(p);
		return SPAN_LIT("0");
	}
	parse_advance(p);
	return value;
}

/* To the servers a larger number is a DECIMAL, which few clauses take. */
bool parse_digits(struct span digits, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < digits.len; i++) {
		if (__builtin_mul_overflow(*out, 10u, out) ||
			__builtin_add_overflow(*out, (uint64_t)(digits.ptr[i] - '0'), out))
			return false;
	}
	return true;
}

struct sql_names *parse_names(struct parser *p)
{
	struct sql_names *list = NULL, **tail = &list;

	do {
		struct sql_names *name = NEW(p, struct sql_names);
		uint32_t start = p->tok.start;

		name->name = parse_name(p);
		name->loc = loc_from(p, start);
		APPEND(tail, name);
	} while (accept(p, T_COMMA));
	return list;
}

struct sql_names *parse_paren_names(struct parser *p)
{
	struct sql_names *list;

	expect(p, T_LPAREN);
	list = parse_names(p);
	expect(p, T_RPAREN);
	return list;
}

struct sql_table_name parse_table_name(struct parser *p)
{
	struct sql_table_name t = {.db = SPAN_NONE};
	uint32_t start = p->tok.start;

	/* .t, an ODBC spelling that MySQL 8 dropped */
	if (p->tok.kind == T_DOT && (is_maria(p) || p->opt.version < 80000)) {
		parse_advance(p);
		t.name = parse_name(p);
		if (p->tok.kind == T_DOT)
			parse_fail(p);
		t.loc = loc_from(p, start);
		return t;
	}
	t.name = parse_name(p);
	if (p->tok.kind == T_DOT) {
		parse_advance(p);
		t.db = t.name;
		t.name = parse_name(p);
	}
	t.loc = loc_from(p, start);
	return t;
}

/* ------------------------------------------------------------------ errors */

static void position(const char *text, uint32_t at, unsigned *line, unsigned *column)
{
	*line = 1;
	*column = 1;
	for (uint32_t i = 0; i < at; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\n') {
			++*line;
			*column = 1;
		} else if ((c & 0xc0) != 0x80) { /* columns count characters of UTF-8 */
			++*column;
		}
	}
}

static const char *lexical_message(enum scan_error error)
{
	switch (error) {
	case SCAN_COMMENT:
		return "a comment that starts here or before is not closed";
	case SCAN_STRING:
		return "a quote that opens here is not closed";
	case SCAN_CHAR:
		return "no SQL token starts with this character";
	case SCAN_NUMBER:
		return "digits are missing behind the exponent";
	case SCAN_HEX:
		return "wrong or missing digits in a hexadecimal or bit literal";
	case SCAN_BAD_NAME:
		return "a name must not contain a NUL character";
	case SCAN_OK:
		break;
	}
	return "not a token";
}

/* "expected A, B or C" from the set. */
static void describe_wanted(const struct parser *p, struct buf *out)
{
	unsigned kinds[T_WANT_COUNT], count = 0, shown;
	const unsigned most = 8;

	/* The general (a name, an expression) before the words. */
	for (unsigned k = T_WANT_NAME; k < T_WANT_COUNT; k++) {
		if (p->wanted[k / 64] >> (k % 64) & 1)
			kinds[count++] = k;
	}
	for (unsigned k = 0; k < T_COUNT_OF_KINDS; k++) {
		if (p->wanted[k / 64] >> (k % 64) & 1)
			kinds[count++] = k;
	}
	if (!count) {
		buf_add_str(out, "expected something else");
		return;
	}
	shown = count > most ? most : count;
	buf_add_str(out, "expected ");
	for (unsigned i = 0; i < shown; i++) {
		if (i)
			buf_add_str(out, i + 1 == shown && shown == count ? " or " : ", ");
		buf_add_str(out, keyword_text((enum token_kind)kinds[i]));
	}
	if (shown < count)
		buf_add_str(out, " ...");
}

static bool report(const struct parser *p, uint32_t base, const char *whole, struct err *err)
{
	struct buf message = BUF_INIT;
	uint32_t at = base + p->fail_tok.start;
	unsigned line, column;
	size_t found = p->fail_tok.end - p->fail_tok.start;
	enum err_code code = ERR_FORMAT;

	position(whole, at, &line, &column);
	buf_printf(&message, "line %u, column %u: ", line, column);
	switch (p->failure) {
	case PARSE_LEXICAL:
		buf_add_str(&message, lexical_message(p->scan.error));
		break;
	case PARSE_TOO_DEEP:
		code = ERR_LIMIT;
		buf_printf(&message, "nested deeper than the limit of %u", p->opt.depth_max);
		break;
	case PARSE_SYNTAX:
	case PARSE_OK:
		if (p->why)
			buf_add_str(&message, p->why);
		else
			describe_wanted(p, &message);
		break;
	}
	if (found == 0)
		buf_add_str(&message, ", found the end");
	else if (p->failure == PARSE_SYNTAX)
		buf_printf(&message, ", found \"%.*s\"%s", (int)(found > 40 ? 40 : found),
			p->text + p->fail_tok.start, found > 40 ? "..." : "");
	err_set_at(err, code, at, "%s", message.data);
	buf_release(&message);
	return false;
}

/* ------------------------------------------------------------------ entry points */

static void parser_init(struct parser *p, struct arena *arena, const char *text, uint32_t len,
	const struct sql_options *opt, bool single)
{
	/* Not memset: most of it is written before it is read. */
	p->arena = arena;
	p->opt = *opt;
	p->text = text;
	p->last_end = 0;
	p->depth = 0;
	p->params = 0;
	p->ahead_count = p->ahead_first = 0;
	p->pending = NULL;
	p->in_duplicate = p->no_query = false;
	p->failure = PARSE_OK;
	p->why = NULL;
	p->track = false;
	p->single = single;
	scan_init(&p->scan, text, len, opt);
	p->tok = (struct token){T_SEMICOLON, 0, 0, 0};
	parse_advance(p);
}

/* One statement up to its `;`, which stays the current token. */
static struct sql_stmt *parse_one(struct parser *p)
{
	struct sql_stmt *stmt;
	uint32_t params = p->params, start = p->tok.start;

	stmt = parse_statement(p);
	if (p->tok.kind != T_SEMICOLON && p->tok.kind != T_EOF) {
		if (UNLIKELY(p->track)) {
			parse_want(p, T_WANT_END);
		}
		parse_fail(p);
	}
	stmt->params = p->params - params;
	stmt->text = text_from(p, start);
	stmt->offset = start;
	return stmt;
}

/* Parses again to learn what was expected. */
static bool explain_failure(struct arena *arena, const char *text, uint32_t len,
	const struct sql_options *opt, bool single, struct err *err)
{
	struct parser p;

	parser_init(&p, arena, text, len, opt, single);
	p.track = true;
	memset(p.wanted, 0, sizeof(p.wanted));
	do {
		parse_one(&p);
	} while (!single && p.tok.kind == T_SEMICOLON && (parse_advance(&p), true) &&
		 p.tok.kind != T_EOF);
	if (single && p.tok.kind == T_SEMICOLON) {
		while (p.tok.kind == T_SEMICOLON)
			parse_advance(&p);
		if (p.tok.kind != T_EOF)
			parse_fail_why(&p, "expected one statement only");
	}
	CHECK(p.failure != PARSE_OK);
	return report(&p, 0, text, err);
}

static bool too_long(struct span text, struct err *err)
{
	if (text.len < SQL_TEXT_MAX)
		return false;
	err_set(err, ERR_LIMIT, "SQL text of %zu bytes: longer than the limit of %u", text.len,
		SQL_TEXT_MAX);
	return true;
}

/* The parser's own copy of it: trees point into it. */
static bool take_text(struct parser *p, struct arena *arena, struct span *text,
	const struct sql_options *opt, struct err *err)
{
	if (too_long(*text, err))
		return false;
	*text = arena_copy(arena, text->ptr ? *text : SPAN_LIT(""));
	parser_init(p, arena, text->ptr, (uint32_t)text->len, opt, true);
	return true;
}

bool sql_parse(struct arena *arena, struct span text, const struct sql_options *opt,
	struct sql_stmt **stmt, struct err *err)
{
	struct parser p;

	if (!take_text(&p, arena, &text, opt, err))
		return false;
	*stmt = parse_one(&p);
	if (LIKELY(!p.failure)) {
		while (p.tok.kind == T_SEMICOLON)
			parse_advance(&p);
		if (p.tok.kind == T_EOF && !p.failure)
			return true;
	}
	return explain_failure(arena, text.ptr, (uint32_t)text.len, opt, true, err);
}

static struct sql_program *parse_whole_program(struct parser *p)
{
	struct sql_program *program = parse_create_program(p);

	while (p->tok.kind == T_SEMICOLON)
		parse_advance(p);
	if (p->tok.kind != T_EOF)
		parse_fail(p);
	return program;
}

bool sql_parse_program(struct arena *arena, struct span text, const struct sql_options *opt,
	struct sql_program **program, struct err *err)
{
	struct parser p;

	if (!take_text(&p, arena, &text, opt, err))
		return false;
	*program = parse_whole_program(&p);
	if (!p.failure)
		return true;
	parser_init(&p, arena, text.ptr, (uint32_t)text.len, opt, true);
	p.track = true;
	memset(p.wanted, 0, sizeof(p.wanted));
	(void)parse_whole_program(&p);
	return report(&p, 0, text.ptr, err);
}

/* Trees count from their own statement, so its text is parsed by itself: first the ends are
 * found by the parser, then offsets are made relative by parsing from the statement's start. */
bool sql_parse_multi(struct arena *arena, struct span text, const struct sql_options *opt,
	struct sql_stmt **first, struct err *err)
{
	struct sql_stmt **tail = first;
	struct span copy;
	size_t at = 0;

	*first = NULL;
	if (too_long(text, err))
		return false;
	copy = arena_copy(arena, text.ptr ? text : SPAN_LIT(""));
	while (at < copy.len) {
		struct span rest = span_of(copy.ptr + at, copy.len - at);
		struct parser p;
		struct sql_stmt *stmt;

		parser_init(&p, arena, rest.ptr, (uint32_t)rest.len, opt, false);
		stmt = parse_one(&p);
		if (p.failure) {
			struct err inner;
			unsigned line, column;

			explain_failure(arena, rest.ptr, (uint32_t)rest.len, opt, false, &inner);
			if (err) {
				/* The place counts from the start of the whole text. */
				uint64_t where = at + inner.offset;
				const char *message = strstr(inner.text, ": ");

				position(copy.ptr, (uint32_t)where, &line, &column);
				err_set_at(err, inner.code, where, "line %u, column %u%s", line,
					column, message ? message : "");
			}
			return false;
		}
		if (stmt->kind != SQL_STMT_EMPTY) {
			stmt->offset += (uint32_t)at;
			APPEND(tail, stmt);
		}
		if (p.tok.kind == T_EOF)
			break;
		at += p.tok.end;
	}
	return true;
}

size_t sql_statement_end(struct span text, const struct sql_options *opt)
{
	struct arena arena = ARENA_INIT;
	struct parser p;
	struct span copy;
	size_t end = text.len;
	bool program = false, create = false;
	struct block_tracker b = {0, T_EOF};

	if (text.len >= SQL_TEXT_MAX)
		return text.len;
	copy = arena_copy(&arena, text.ptr ? text : SPAN_LIT(""));
	parser_init(&p, &arena, copy.ptr, (uint32_t)copy.len, opt, false);
	for (unsigned n = 0; p.tok.kind != T_EOF && !p.failure; n++) {
		if (n == 0) {
			create = p.tok.kind == T_CREATE || p.tok.kind == T_ALTER;
			program = p.tok.kind == T_BEGIN && parse_peek(&p, 1).kind == T_NOT;
		}
		if (create && (p.tok.kind == T_PROCEDURE || p.tok.kind == T_FUNCTION ||
				      p.tok.kind == T_TRIGGER || p.tok.kind == T_EVENT ||
				      p.tok.kind == T_PACKAGE)) {
			program = true;
			create = false;
		}
		if (program)
			track_block(&b, p.tok);
		if (p.tok.kind == T_SEMICOLON && b.depth == 0) {
			end = p.tok.end;
			break;
		}
		parse_advance(&p);
	}
	arena_release(&arena);
	return end;
}
