/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser's verbs, the choice of a statement by its first words, the statements that are only
 * recognised, and the public entry points.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "sql/parse.h"

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
		/* Nothing is scanned behind the end or an error: the same again. */
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
	if (p->tok.kind == T_DOT && (is_maria(p) || p->opt.version < 80000))
		parse_advance(p);
	t.name = parse_name(p);
	if (p->tok.kind == T_DOT) {
		parse_advance(p);
		t.db = t.name;
		t.name = parse_name(p);
	}
	t.loc = loc_from(p, start);
	return t;
}

/* ------------------------------------------------------------------ text kept as written */

/* Two minus signs, which begin a comment where a blank or the end of the text follows them. */
static bool ends_in_dashes(struct span text)
{
	return text.len >= 2 && memcmp(text.ptr + text.len - 2, "--", 2) == 0;
}

/* Source text from `start` to the last token read.  Where comments stand in it, it is put together
 * again from its tokens, so that it means the same outside of an executable comment. */
struct span parse_text(struct parser *p, uint32_t start)
{
	struct span raw = text_from(p, start);
	struct scanner s;
	struct buf out = BUF_INIT;
	struct token tok;

	if (p->scan.comment_end <= start && !ends_in_dashes(raw))
		return raw;
	scan_init(&s, p->text, p->scan.len, &p->opt);
	s.at = start;
	s.lenient = true;
	while ((tok = scan_next(&s)).kind != T_EOF && tok.kind != T_ERROR &&
		tok.end <= p->last_end) {
		if (out.len && ((tok.flags & TF_SPACE) ||
				       (out.data[out.len - 1] == '-' && p->text[tok.start] == '-')))
			buf_add_char(&out, ' ');
		buf_add(&out, p->text + tok.start, tok.end - tok.start);
	}
	raw = arena_copy(p->arena, buf_span(&out));
	buf_release(&out);
	return raw;
}

static void skip_to_end(struct parser *p)
{
	while (p->tok.kind != T_EOF && p->tok.kind != T_SEMICOLON && p->tok.kind != T_ERROR)
		parse_advance(p);
}

/* ------------------------------------------------------------------ stored programs */

/* Where a statement of a stored program's body may start. */
static bool starts_statement(enum token_kind before)
{
	return before == T_SEMICOLON || before == T_BEGIN || before == T_THEN || before == T_ELSE ||
	       before == T_DO || before == T_LOOP || before == T_REPEAT || before == T_COLON ||
	       before == T_EOF || before == T_ATOMIC || before == T_ROW;
}

struct block_tracker {
	uint32_t depth;
	enum token_kind before;
};

/* BEGIN, CASE, IF, LOOP, WHILE, REPEAT open a block, END closes one.  A `;` ends the statement
 * where none is open. */
static void track_block(struct block_tracker *b, struct token tok)
{
	enum token_kind kind = tok.kind;

	switch (kind) {
	case T_CASE:
		if (b->before != T_END)
			b->depth++;
		break;
	case T_BEGIN:
		if (b->before != T_XA)
			b->depth++;
		break;
	case T_IF:
	case T_LOOP:
	case T_WHILE:
	case T_REPEAT:
		if (b->before != T_END && starts_statement(b->before) &&
			!(tok.flags & TF_CALL && kind == T_REPEAT))
			b->depth++;
		break;
	case T_END:
		if (b->depth && b->before != T_XA)
			b->depth--;
		break;
	default:
		break;
	}
	b->before = kind;
}

static void skip_program(struct parser *p, enum token_kind before)
{
	struct block_tracker b = {0, before};

	while (p->tok.kind != T_EOF && p->tok.kind != T_ERROR) {
		track_block(&b, p->tok);
		if (p->tok.kind == T_SEMICOLON && b.depth == 0) {
			/* A lone statement is all of the text, whatever stands in it. */
			if (!p->single || parse_peek(p, 1).kind == T_EOF)
				return;
		}
		parse_advance(p);
	}
}

/* ------------------------------------------------------------------ recognised statements */

static struct sql_table_name **add_table(struct parser *p, struct sql_table_name **tail)
{
	struct sql_table_name *table = NEW(p, struct sql_table_name);

	*table = parse_table_name(p);
	*tail = table;
	return &table->next;
}

static void add_tables(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_table_name **tail = &stmt->tables;

	do {
		tail = add_table(p, tail);
	} while (accept(p, T_COMMA));
}

static void opaque(struct parser *p, struct sql_stmt *stmt, enum sql_stmt_kind kind)
{
	stmt->kind = kind;
	skip_to_end(p);
}

/* LOAD DATA|XML ... INTO TABLE t. */
static void parse_load(struct parser *p, struct sql_stmt *stmt)
{
	parse_advance(p);
	if (p->tok.kind == T_INDEX) {
		opaque(p, stmt, SQL_STMT_CACHE_INDEX);
		return;
	}
	if (p->tok.kind != T_DATA && p->tok.kind != T_XML) {
		expect(p, T_DATA);
		return;
	}
	stmt->kind = SQL_STMT_LOAD_DATA;
	while (p->tok.kind != T_EOF && p->tok.kind != T_SEMICOLON && p->tok.kind != T_ERROR &&
		p->tok.kind != T_TABLE)
		parse_advance(p);
	expect(p, T_TABLE);
	add_table(p, &stmt->tables);
	skip_to_end(p);
}

static void parse_handler(struct parser *p, struct sql_stmt *stmt)
{
	stmt->kind = SQL_STMT_HANDLER;
	parse_advance(p);
	add_table(p, &stmt->tables);
	if (p->tok.kind != T_OPEN && p->tok.kind != T_READ)
		expect(p, T_CLOSE);
	skip_to_end(p);
}

static void parse_lock_tables(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_lock_table **tail = &stmt->u.locks;

	parse_advance(p);
	if (p->tok.kind == T_INSTANCE) {
		opaque(p, stmt, SQL_STMT_BACKUP);
		return;
	}
	stmt->kind = SQL_STMT_LOCK_TABLES;
	if (!accept(p, T_TABLES))
		expect(p, T_TABLE);
	do {
		struct sql_lock_table *lock = NEW(p, struct sql_lock_table);

		lock->table = parse_table_name(p);
		if (accept(p, T_AS) || (p->tok.flags & TF_NAME))
			lock->alias = parse_name(p);
		if (accept(p, T_READ)) {
			lock->lock = accept(p, T_LOCAL) ? SQL_TABLE_LOCK_READ_LOCAL
							: SQL_TABLE_LOCK_READ;
		} else if ((is_maria(p) || p->opt.version < 90000) && accept(p, T_LOW_PRIORITY)) {
			expect(p, T_WRITE);
			lock->lock = SQL_TABLE_LOCK_WRITE_LOW;
		} else {
			expect(p, T_WRITE);
			lock->lock = is_maria(p) && accept(p, T_CONCURRENT)
					     ? SQL_TABLE_LOCK_WRITE_CONCURRENT
					     : SQL_TABLE_LOCK_WRITE;
		}
		APPEND(tail, lock);
	} while (accept(p, T_COMMA));
	if (is_maria(p) && (p->tok.kind == T_NOWAIT || p->tok.kind == T_WAIT))
		parse_lock_wait_clause(p);
}

/* [NOWAIT | WAIT n] of MariaDB's DDL, as text. */
struct span parse_lock_wait_clause(struct parser *p)
{
	uint32_t start = p->tok.start;

	if (!is_maria(p))
		return SPAN_NONE;
	if (accept(p, T_NOWAIT))
		return SPAN_LIT("NOWAIT");
	if (p->tok.kind == T_WAIT && parse_peek(p, 1).kind == T_L_INT) {
		parse_advance(p);
		parse_advance(p);
		return parse_text(p, start);
	}
	return SPAN_NONE;
}

static bool starts_explainable(struct parser *p)
{
	switch (p->tok.kind) {
	case T_SELECT:
	case T_INSERT:
	case T_REPLACE:
	case T_UPDATE:
	case T_DELETE:
	case T_WITH:
	case T_LPAREN:
		return true;
	case T_VALUES:
	case T_TABLE:
		return at_query(p);
	default:
		return false;
	}
}

/* EXPLAIN [words] statement | FOR CONNECTION n; DESCRIBE table; ANALYZE statement. */
static void parse_explain(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_explain *ex = NEW(p, struct sql_explain);
	uint32_t start = p->tok.start;

	/* All words before the statement: EXTENDED, PARTITIONS, FORMAT = JSON, ANALYZE. */
	parse_advance(p);
	bool old_words = is_maria(p) || p->opt.version < 80000;
	if (is_maria(p) && p->tok.kind == T_EXTENDED && parse_peek(p, 1).kind == T_ALL) {
		parse_advance(p);
		parse_advance(p);
	}
	while ((old_words && (p->tok.kind == T_EXTENDED || p->tok.kind == T_PARTITIONS)) ||
		p->tok.kind == T_ANALYZE || p->tok.kind == T_FORMAT) {
		enum token_kind next = parse_peek(p, 1).kind;

		if (p->tok.kind == T_FORMAT) {
			if (next != T_EQ)
				break;
			parse_advance(p);
			parse_advance(p);
			parse_name_or_string(p);
			if (!is_maria(p) && accept(p, T_INTO))
				parse_simple_expr(p);
			continue;
		}
		if (next == T_EOF || next == T_SEMICOLON || next == T_DOT)
			break;
		parse_advance(p);
	}
	ex->words = parse_text(p, start);
	stmt->kind = SQL_STMT_EXPLAIN;
	stmt->u.explain = ex;
	if (starts_explainable(p)) {
		if (parse_enter(p))
			ex->statement = parse_statement(p);
		else
			ex->statement = NEW(p, struct sql_stmt);
		parse_leave(p);
		return;
	}
	if (accept(p, T_FOR)) {
		expect(p, T_CONNECTION);
		if (is_maria(p)) {
			ex->connection = parse_expr(p);
		} else {
			if (p->tok.kind != T_L_INT && p->tok.kind != T_L_HEX && !at(p, T_L_INT))
				parse_fail(p);
			ex->connection = parse_literal(p);
		}
		return;
	}
	/* DESCRIBE t [column | 'pattern'] */
	stmt->kind = SQL_STMT_SHOW;
	add_table(p, &stmt->tables);
	if (p->tok.kind == T_STRING || (p->tok.flags & TF_NAME))
		parse_name_or_string(p);
}

static void parse_table_admin(struct parser *p, struct sql_stmt *stmt)
{
	stmt->kind = SQL_STMT_TABLE_ADMIN;
	parse_advance(p);
	if (!accept(p, T_NO_WRITE_TO_BINLOG))
		accept(p, T_LOCAL);
	if (is_maria(p) && p->tok.kind == T_VIEW)
		parse_advance(p);
	else if (!accept(p, T_TABLE))
		expect(p, T_TABLES);
	add_tables(p, stmt);
	skip_to_end(p);
}

static void parse_prepare(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_prepared *prep = NEW(p, struct sql_prepared);

	stmt->kind = SQL_STMT_PREPARE;
	stmt->u.prepared = prep;
	parse_advance(p);
	prep->name = parse_name(p);
	expect(p, T_FROM);
	if (is_maria(p)) {
		prep->source = parse_expr(p);
	} else {
		if ((!at(p, T_STRING) || parse_peek(p, 1).kind == T_STRING) && !at(p, T_USER_VAR))
			parse_fail(p);
		prep->source = parse_operand(p);
		if (prep->source->kind == SQL_EXPR_ASSIGN)
			parse_fail(p);
	}
}

static void parse_execute(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_prepared *prep = NEW(p, struct sql_prepared);

	stmt->kind = SQL_STMT_EXECUTE;
	stmt->u.prepared = prep;
	parse_advance(p);
	if (is_maria(p) && accept(p, T_IMMEDIATE)) {
		prep->immediate = true;
		prep->source = parse_expr(p);
	} else {
		prep->name = parse_name(p);
	}
	if (accept(p, T_USING)) {
		struct sql_expr **tail = &prep->using_args.first;

		do {
			/* MySQL takes variables only. */
			if (!is_maria(p) && !at(p, T_USER_VAR))
				parse_fail(p);
			exprs_add(&prep->using_args, &tail,
				is_maria(p) ? parse_expr_or_default(p) : parse_operand(p));
		} while (accept(p, T_COMMA));
	}
}

static void parse_deallocate(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_prepared *prep = NEW(p, struct sql_prepared);

	stmt->kind = SQL_STMT_DEALLOCATE;
	stmt->u.prepared = prep;
	prep->drop = p->tok.kind == T_DROP;
	parse_advance(p);
	expect(p, T_PREPARE);
	prep->name = parse_name(p);
}

static void parse_kill(struct parser *p, struct sql_stmt *stmt)
{
	stmt->kind = SQL_STMT_KILL;
	parse_advance(p);
	if (is_maria(p) && (p->tok.kind == T_HARD || p->tok.kind == T_SOFT))
		parse_advance(p);
	if (p->tok.kind == T_CONNECTION) {
		parse_advance(p);
	} else if (p->tok.kind == T_QUERY) {
		parse_advance(p);
		if (is_maria(p))
			accept(p, T_ID);
	}
	if (is_maria(p) && p->tok.kind == T_USER && parse_peek(p, 1).kind != T_LPAREN) {
		skip_to_end(p);
		return;
	}
	stmt->u.kill = parse_expr(p);
}

static void parse_do(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_expr **tail = &stmt->u.exprs.first;

	stmt->kind = SQL_STMT_DO;
	parse_advance(p);
	do {
		exprs_add(&stmt->u.exprs, &tail, parse_expr(p));
		/* MySQL: an alias is allowed and means nothing. */
		if (!is_maria(p) &&
			(accept(p, T_AS) || p->tok.flags & TF_NAME || p->tok.kind == T_STRING))
			parse_name_or_string(p);
	} while (accept(p, T_COMMA));
}

/* ------------------------------------------------------------------ CREATE, DROP, ALTER ... */

/* The words between CREATE and VIEW, TRIGGER, PROCEDURE ...: ALGORITHM = x, DEFINER = user,
 * SQL SECURITY x, AGGREGATE. */
static bool skip_definer(struct parser *p)
{
	for (;;) {
		if (p->tok.kind == T_ALGORITHM) {
			parse_advance(p);
			expect(p, T_EQ);
			parse_advance(p);
		} else if (p->tok.kind == T_DEFINER) {
			parse_advance(p);
			expect(p, T_EQ);
			parse_advance(p);
			/* user@host is a name or string and one token for @host */
			if (p->tok.kind == T_USER_VAR)
				parse_advance(p);
			else if (p->tok.kind == T_LPAREN)
				parse_advance(p), expect(p, T_RPAREN);
		} else if (p->tok.kind == T_SQL) {
			parse_advance(p);
			expect(p, T_SECURITY);
			parse_advance(p);
		} else if (p->tok.kind == T_AGGREGATE) {
			parse_advance(p);
		} else {
			return !p->failure;
		}
	}
}

static bool accept_if_not_exists(struct parser *p)
{
	if (p->tok.kind != T_IF)
		return false;
	parse_advance(p);
	expect(p, T_NOT);
	expect(p, T_EXISTS);
	return true;
}

static bool accept_if_exists(struct parser *p)
{
	if (p->tok.kind != T_IF)
		return false;
	parse_advance(p);
	expect(p, T_EXISTS);
	return true;
}

static void parse_create_view(struct parser *p, struct sql_stmt *stmt)
{
	stmt->kind = SQL_STMT_CREATE_VIEW;
	parse_advance(p);
	accept_if_not_exists(p);
	add_table(p, &stmt->tables);
	if (p->tok.kind == T_LPAREN)
		parse_paren_names(p);
	expect(p, T_AS);
	stmt->u.query = parse_query(p);
	if (accept(p, T_WITH)) {
		if (!accept(p, T_CASCADED))
			accept(p, T_LOCAL);
		expect(p, T_CHECK);
		expect(p, T_OPTION);
	}
}

/* CREATE TRIGGER name BEFORE|AFTER event ON t ... */
static void parse_create_trigger(struct parser *p, struct sql_stmt *stmt)
{
	stmt->kind = SQL_STMT_CREATE_TRIGGER;
	while (p->tok.kind != T_ON && p->tok.kind != T_EOF && p->tok.kind != T_ERROR &&
		p->tok.kind != T_SEMICOLON)
		parse_advance(p);
	expect(p, T_ON);
	add_table(p, &stmt->tables);
	skip_program(p, T_ROW);
}

static void parse_create_database(struct parser *p, struct sql_stmt *stmt)
{
	parse_advance(p);
	accept_if_not_exists(p);
	parse_name(p);
	opaque(p, stmt, SQL_STMT_CREATE_DATABASE);
}

static void parse_create_other(struct parser *p, struct sql_stmt *stmt)
{
	switch (p->tok.kind) {
	case T_VIEW:
		parse_create_view(p, stmt);
		return;
	case T_TRIGGER:
		parse_create_trigger(p, stmt);
		return;
	case T_PROCEDURE:
	case T_FUNCTION:
	case T_PACKAGE:
		stmt->kind = SQL_STMT_CREATE_ROUTINE;
		skip_program(p, T_PROCEDURE);
		return;
	case T_EVENT:
		stmt->kind = SQL_STMT_CREATE_OTHER;
		skip_program(p, T_EVENT);
		return;
	case T_DATABASE:
	case T_SCHEMA:
		parse_create_database(p, stmt);
		return;
	case T_USER:
	case T_ROLE:
		opaque(p, stmt, SQL_STMT_ACCOUNT);
		return;
	case T_SEQUENCE:
		parse_advance(p);
		accept_if_not_exists(p);
		add_table(p, &stmt->tables);
		opaque(p, stmt, SQL_STMT_CREATE_SEQUENCE);
		return;
	case T_SERVER:
	case T_TABLESPACE:
	case T_UNDO:
	case T_LOGFILE:
	case T_SPATIAL:
	case T_RESOURCE:
	case T_LIBRARY:
		opaque(p, stmt, SQL_STMT_CREATE_OTHER);
		return;
	default:
		if (UNLIKELY(p->track)) {
			parse_want(p, T_TABLE);
			parse_want(p, T_INDEX);
			parse_want(p, T_VIEW);
			parse_want(p, T_DATABASE);
			parse_want(p, T_PROCEDURE);
			parse_want(p, T_TRIGGER);
		}
		parse_fail(p);
	}
}

static void parse_create(struct parser *p, struct sql_stmt *stmt)
{
	bool or_replace, temporary;

	parse_advance(p);
	or_replace = accept2(p, T_OR, T_REPLACE);
	if (or_replace && !is_maria(p) &&
		(p->tok.kind == T_TABLE || p->tok.kind == T_INDEX || p->tok.kind == T_TEMPORARY ||
			p->tok.kind == T_UNIQUE))
		parse_fail(p);
	temporary = accept(p, T_TEMPORARY);
	if (p->tok.kind == T_TABLE) {
		parse_create_table(p, stmt, or_replace, temporary);
		return;
	}
	switch (p->tok.kind) {
	case T_UNIQUE:
	case T_FULLTEXT:
	case T_INDEX:
	case T_VECTOR:
		parse_create_index(p, stmt, or_replace);
		return;
	case T_SPATIAL:
		if (parse_peek(p, 1).kind != T_REFERENCE) {
			parse_create_index(p, stmt, or_replace);
			return;
		}
		break;
	default:
		break;
	}
	if (skip_definer(p))
		parse_create_other(p, stmt);
}

/* TABLES, VIEWS and SEQUENCES: [IF EXISTS] names [RESTRICT | CASCADE]. */
static void parse_drop_list(
	struct parser *p, struct sql_stmt *stmt, enum sql_stmt_kind kind, bool temporary)
{
	struct sql_drop *drop = NEW(p, struct sql_drop);
	struct sql_table_name **tail = &drop->tables;

	stmt->kind = kind;
	stmt->u.drop = drop;
	drop->temporary = temporary;
	parse_advance(p);
	drop->if_exists = accept_if_exists(p);
	do {
		tail = add_table(p, tail);
	} while (accept(p, T_COMMA));
	drop->wait = parse_lock_wait_clause(p);
	if (accept(p, T_CASCADE))
		drop->cascade = true;
	else if (accept(p, T_RESTRICT))
		drop->restrict_word = true;
}

static void parse_drop(struct parser *p, struct sql_stmt *stmt)
{
	bool temporary;
	enum token_kind next = parse_peek(p, 1).kind;

	if (next == T_PREPARE) {
		parse_deallocate(p, stmt);
		return;
	}
	parse_advance(p);
	temporary = accept(p, T_TEMPORARY);
	switch (p->tok.kind) {
	case T_TABLE:
	case T_TABLES:
		parse_drop_list(p, stmt, SQL_STMT_DROP_TABLE, temporary);
		return;
	case T_VIEW:
		parse_drop_list(p, stmt, SQL_STMT_DROP_VIEW, false);
		return;
	case T_SEQUENCE:
		if (!is_maria(p))
			parse_fail(p);
		parse_drop_list(p, stmt, SQL_STMT_DROP_SEQUENCE, temporary);
		return;
	case T_INDEX:
		parse_drop_index(p, stmt);
		return;
	case T_DATABASE:
	case T_SCHEMA:
		parse_advance(p);
		accept_if_exists(p);
		parse_name(p);
		stmt->kind = SQL_STMT_DROP_DATABASE;
		return;
	case T_TRIGGER:
		opaque(p, stmt, SQL_STMT_DROP_TRIGGER);
		return;
	case T_PROCEDURE:
	case T_FUNCTION:
	case T_PACKAGE:
		opaque(p, stmt, SQL_STMT_DROP_ROUTINE);
		return;
	case T_USER:
	case T_ROLE:
		opaque(p, stmt, SQL_STMT_ACCOUNT);
		return;
	case T_EVENT:
	case T_SERVER:
	case T_TABLESPACE:
	case T_UNDO:
	case T_LOGFILE:
	case T_SPATIAL:
	case T_RESOURCE:
	case T_LIBRARY:
		opaque(p, stmt, SQL_STMT_DROP_OTHER);
		return;
	default:
		if (UNLIKELY(p->track)) {
			parse_want(p, T_TABLE);
			parse_want(p, T_INDEX);
			parse_want(p, T_VIEW);
			parse_want(p, T_DATABASE);
			parse_want(p, T_PROCEDURE);
			parse_want(p, T_TRIGGER);
		}
		parse_fail(p);
	}
}

static void parse_alter(struct parser *p, struct sql_stmt *stmt)
{
	bool online, ignore;

	parse_advance(p);
	online = is_maria(p) && accept(p, T_ONLINE);
	ignore = (is_maria(p) || p->opt.version < 50700) && accept(p, T_IGNORE);
	if (p->tok.kind == T_TABLE) {
		parse_alter_table(p, stmt, online, ignore);
		return;
	}
	if (!skip_definer(p))
		return;
	switch (p->tok.kind) {
	case T_VIEW:
		parse_create_view(p, stmt);
		stmt->kind = SQL_STMT_CREATE_VIEW;
		return;
	case T_USER:
	case T_ROLE:
		opaque(p, stmt, SQL_STMT_ACCOUNT);
		return;
	case T_EVENT:
		stmt->kind = SQL_STMT_ALTER_OTHER;
		skip_program(p, T_EVENT);
		return;
	case T_SEQUENCE:
	case T_DATABASE:
	case T_SCHEMA:
	case T_PROCEDURE:
	case T_FUNCTION:
	case T_SERVER:
	case T_TABLESPACE:
	case T_UNDO:
	case T_LOGFILE:
	case T_INSTANCE:
	case T_RESOURCE:
	case T_LIBRARY:
		opaque(p, stmt, SQL_STMT_ALTER_OTHER);
		return;
	default:
		if (UNLIKELY(p->track))
			parse_want(p, T_TABLE);
		parse_fail(p);
	}
}

static void parse_rename(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_rename **tail = &stmt->u.rename;

	parse_advance(p);
	if (p->tok.kind == T_USER) {
		opaque(p, stmt, SQL_STMT_ACCOUNT);
		return;
	}
	stmt->kind = SQL_STMT_RENAME_TABLE;
	if (!accept(p, T_TABLES))
		expect(p, T_TABLE);
	if (is_maria(p))
		accept_if_exists(p);
	do {
		struct sql_rename *r = NEW(p, struct sql_rename);

		r->from = parse_table_name(p);
		r->wait = parse_lock_wait_clause(p);
		expect(p, T_TO);
		r->to = parse_table_name(p);
		APPEND(tail, r);
	} while (accept(p, T_COMMA));
}

static void parse_truncate(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_drop *drop = NEW(p, struct sql_drop);

	stmt->kind = SQL_STMT_TRUNCATE;
	stmt->u.drop = drop;
	parse_advance(p);
	drop->table_word = accept(p, T_TABLE);
	add_table(p, &drop->tables);
	drop->wait = parse_lock_wait_clause(p);
	if (is_maria(p) && !accept(p, T_CASCADE))
		accept(p, T_RESTRICT);
}

/* ------------------------------------------------------------------ the choice */

static void parse_start(struct parser *p, struct sql_stmt *stmt)
{
	parse_advance(p);
	if (at(p, T_TRANSACTION))
		parse_start_transaction(p, stmt);
	else if (at(p, T_SLAVE) || at(p, T_REPLICA) || p->tok.kind == T_ALL ||
		 p->tok.kind == T_GROUP_REPLICATION)
		opaque(p, stmt, SQL_STMT_REPLICATION);
	else
		parse_fail(p);
}

static void parse_query_statement(struct parser *p, struct sql_stmt *stmt)
{
	stmt->kind = SQL_STMT_SELECT;
	stmt->u.query = parse_query(p);
}

/* WITH before UPDATE and DELETE, where the server has it (MySQL 8, MariaDB 12). */
static void parse_with_statement(struct parser *p, struct sql_stmt *stmt)
{
	struct parser saved = *p;
	struct sql_with *with;

	if (is_maria(p) && p->opt.version < 120000) {
		parse_query_statement(p, stmt);
		return;
	}
	with = parse_with(p);
	if (p->tok.kind == T_UPDATE) {
		parse_update(p, stmt, with);
	} else if (p->tok.kind == T_DELETE) {
		parse_delete(p, stmt, with);
	} else {
		/* Read again as a query: WITH is short and this is not nested. */
		*p = saved;
		parse_query_statement(p, stmt);
	}
}

static const struct {
	uint16_t word;
	uint16_t kind;
} opaque_words[] = {
	{T_SHOW, SQL_STMT_SHOW},
	{T_HELP, SQL_STMT_HELP},
	{T_CALL, SQL_STMT_CALL},
	{T_GRANT, SQL_STMT_ACCOUNT},
	{T_REVOKE, SQL_STMT_ACCOUNT},
	{T_FLUSH, SQL_STMT_FLUSH},
	{T_RESET, SQL_STMT_RESET},
	{T_PURGE, SQL_STMT_PURGE},
	{T_CHANGE, SQL_STMT_REPLICATION},
	{T_STOP, SQL_STMT_REPLICATION},
	{T_BINLOG, SQL_STMT_BINLOG},
	{T_CACHE, SQL_STMT_CACHE_INDEX},
	{T_SIGNAL, SQL_STMT_SIGNAL},
	{T_RESIGNAL, SQL_STMT_SIGNAL},
	{T_GET, SQL_STMT_GET_DIAGNOSTICS},
	{T_INSTALL, SQL_STMT_PLUGIN},
	{T_UNINSTALL, SQL_STMT_PLUGIN},
	{T_BACKUP, SQL_STMT_BACKUP},
	{T_CLONE, SQL_STMT_BACKUP},
	{T_SHUTDOWN, SQL_STMT_SHUTDOWN},
	{T_RESTART, SQL_STMT_SHUTDOWN},
	{T_IMPORT, SQL_STMT_OTHER},
	{T_RETURN, SQL_STMT_OTHER},
};

static void parse_rare(struct parser *p, struct sql_stmt *stmt)
{
	for (size_t i = 0; i < ARRAY_LEN(opaque_words); i++) {
		if (p->tok.kind == opaque_words[i].word) {
			opaque(p, stmt, (enum sql_stmt_kind)opaque_words[i].kind);
			return;
		}
	}
	if (UNLIKELY(p->track))
		parse_want(p, T_WANT_STATEMENT);
	parse_fail(p);
}

/* A block of MariaDB's compound statements outside of stored programs. */
static void parse_compound(struct parser *p, struct sql_stmt *stmt)
{
	if (!is_maria(p)) {
		parse_rare(p, stmt);
		return;
	}
	stmt->kind = SQL_STMT_COMPOUND;
	skip_program(p, T_SEMICOLON);
}

static void parse_administration(struct parser *p, struct sql_stmt *stmt)
{
	enum token_kind next = parse_peek(p, 1).kind;

	switch (p->tok.kind) {
	case T_EXPLAIN:
	case T_DESCRIBE:
	case T_DESC:
		parse_explain(p, stmt);
		return;
	case T_ANALYZE:
		if (next == T_TABLE || next == T_TABLES || next == T_LOCAL ||
			next == T_NO_WRITE_TO_BINLOG || !is_maria(p))
			parse_table_admin(p, stmt);
		else
			parse_explain(p, stmt);
		return;
	case T_CHECK:
	case T_OPTIMIZE:
	case T_REPAIR:
	case T_CHECKSUM:
		parse_table_admin(p, stmt);
		return;
	case T_PREPARE:
		parse_prepare(p, stmt);
		return;
	case T_EXECUTE:
		parse_execute(p, stmt);
		return;
	case T_DEALLOCATE:
		parse_deallocate(p, stmt);
		return;
	case T_KILL:
		parse_kill(p, stmt);
		return;
	case T_DO:
		parse_do(p, stmt);
		return;
	case T_USE:
		parse_advance(p);
		stmt->kind = SQL_STMT_USE;
		stmt->u.name = parse_name(p);
		return;
	case T_HANDLER:
		parse_handler(p, stmt);
		return;
	case T_LOAD:
		parse_load(p, stmt);
		return;
	case T_LOCK:
		parse_lock_tables(p, stmt);
		return;
	case T_UNLOCK:
		parse_advance(p);
		stmt->kind = SQL_STMT_UNLOCK_TABLES;
		if (p->tok.kind == T_INSTANCE)
			opaque(p, stmt, SQL_STMT_BACKUP);
		else if (!accept(p, T_TABLES))
			expect(p, T_TABLE);
		return;
	case T_IF:
	case T_CASE:
	case T_LOOP:
	case T_WHILE:
	case T_REPEAT:
	case T_FOR:
		parse_compound(p, stmt);
		return;
	default:
		parse_rare(p, stmt);
	}
}

static void parse_chosen(struct parser *p, struct sql_stmt *stmt)
{
	switch (p->tok.kind) {
	case T_SELECT:
	case T_LPAREN:
		parse_query_statement(p, stmt);
		return;
	case T_VALUES:
	case T_TABLE:
		if (at_query(p))
			parse_query_statement(p, stmt);
		else
			parse_rare(p, stmt);
		return;
	case T_WITH:
		parse_with_statement(p, stmt);
		return;
	case T_INSERT:
	case T_REPLACE:
		parse_insert(p, stmt);
		return;
	case T_UPDATE:
		parse_update(p, stmt, NULL);
		return;
	case T_DELETE:
		parse_delete(p, stmt, NULL);
		return;
	case T_SET:
		parse_set(p, stmt);
		return;
	case T_BEGIN:
		if (is_maria(p) && parse_peek(p, 1).kind == T_NOT)
			parse_compound(p, stmt);
		else
			parse_begin(p, stmt);
		return;
	case T_START:
		parse_start(p, stmt);
		return;
	case T_COMMIT:
		parse_commit(p, stmt);
		return;
	case T_ROLLBACK:
		parse_rollback(p, stmt);
		return;
	case T_SAVEPOINT:
	case T_RELEASE:
		parse_savepoint(p, stmt);
		return;
	case T_XA:
		parse_xa(p, stmt);
		return;
	case T_CREATE:
		parse_create(p, stmt);
		return;
	case T_ALTER:
		parse_alter(p, stmt);
		return;
	case T_DROP:
		parse_drop(p, stmt);
		return;
	case T_RENAME:
		parse_rename(p, stmt);
		return;
	case T_TRUNCATE:
		parse_truncate(p, stmt);
		return;
	case T_EOF:
	case T_SEMICOLON:
		stmt->kind = SQL_STMT_EMPTY;
		return;
	default:
		parse_administration(p, stmt);
	}
}

static bool keeps_text(enum sql_stmt_kind kind)
{
	return kind >= SQL_STMT_KILL || kind == SQL_STMT_CREATE_DATABASE ||
	       kind == SQL_STMT_DROP_DATABASE;
}

struct sql_stmt *parse_statement(struct parser *p)
{
	struct sql_stmt *stmt = NEW(p, struct sql_stmt);
	uint32_t start = p->tok.start;

	parse_chosen(p, stmt);
	if (keeps_text(stmt->kind) && stmt->kind != SQL_STMT_DROP_VIEW &&
		stmt->kind != SQL_STMT_DROP_SEQUENCE)
		stmt->opaque = parse_text(p, start);
	return stmt;
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

bool sql_parse(struct arena *arena, struct span text, const struct sql_options *opt,
	struct sql_stmt **stmt, struct err *err)
{
	struct parser p;
	struct span copy;

	if (too_long(text, err))
		return false;
	copy = arena_copy(arena, text.ptr ? text : SPAN_LIT(""));
	parser_init(&p, arena, copy.ptr, (uint32_t)copy.len, opt, true);
	*stmt = parse_one(&p);
	if (LIKELY(!p.failure)) {
		while (p.tok.kind == T_SEMICOLON)
			parse_advance(&p);
		if (p.tok.kind == T_EOF && !p.failure)
			return true;
	}
	return explain_failure(arena, copy.ptr, (uint32_t)copy.len, opt, true, err);
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
