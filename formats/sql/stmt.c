/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The choice of a statement by its first words, the statements that are only recognised, and text
 * that is kept as written.
 */
#include <ctype.h>
#include <string.h>

#include "sql/parse.h"

/* ------------------------------------------------------------------ text kept as written */

/* Semicolons after a stored program are not its own, however many; printed without them it must be
 * the same statement. */
static struct span without_ends(struct span text)
{
	while (text.len && (text.ptr[text.len - 1] == ';' || isspace((unsigned char)text.ptr[text.len - 1])))
		text.len--;
	return text;
}

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

	if (p->scan.comment_end <= start && !ends_in_dashes(without_ends(raw)))
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

void track_block(struct block_tracker *b, struct token tok)
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

void parse_program(struct parser *p, enum token_kind before)
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

struct sql_table_name **parse_add_table(struct parser *p, struct sql_table_name **tail)
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
		tail = parse_add_table(p, tail);
	} while (accept(p, T_COMMA));
}

void parse_opaque(struct parser *p, struct sql_stmt *stmt, enum sql_stmt_kind kind)
{
	stmt->kind = kind;
	skip_to_end(p);
}

/* LOAD DATA|XML ... INTO TABLE t. */
static void parse_load(struct parser *p, struct sql_stmt *stmt)
{
	parse_advance(p);
	if (p->tok.kind == T_INDEX) {
		parse_opaque(p, stmt, SQL_STMT_CACHE_INDEX);
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
	parse_add_table(p, &stmt->tables);
	skip_to_end(p);
}

static void parse_handler(struct parser *p, struct sql_stmt *stmt)
{
	stmt->kind = SQL_STMT_HANDLER;
	parse_advance(p);
	parse_add_table(p, &stmt->tables);
	if (p->tok.kind != T_OPEN && p->tok.kind != T_READ)
		expect(p, T_CLOSE);
	skip_to_end(p);
}

static void parse_lock_tables(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_lock_table **tail = &stmt->u.locks;

	parse_advance(p);
	if (p->tok.kind == T_INSTANCE) {
		parse_opaque(p, stmt, SQL_STMT_BACKUP);
		return;
	}
	stmt->kind = SQL_STMT_LOCK_TABLES;
	if (!accept(p, T_TABLES))
		expect(p, T_TABLE);
	do {
		struct sql_lock_table *lock = NEW(p, struct sql_lock_table);

		lock->table = parse_table_name(p);
		/* MariaDB still takes `=` for AS. */
		if (accept(p, T_AS) || (is_maria(p) && accept(p, T_EQ)) || (p->tok.flags & TF_NAME))
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

/* EXTENDED [ALL], PARTITIONS or FORMAT = JSON; MySQL also ANALYZE, and a FORMAT after that. */
static void parse_explain_words(struct parser *p)
{
	bool old_words = is_maria(p) || p->opt.version < 80000, analyze = p->tok.kind == T_ANALYZE && !is_maria(p);

	/* (Looking past SELECT would lose its hint.) */
	if (analyze || (old_words && (p->tok.kind == T_EXTENDED || p->tok.kind == T_PARTITIONS))) {
		enum token_kind next = parse_peek(p, 1).kind;

		if (next == T_EOF || next == T_SEMICOLON || next == T_DOT)
			return; /* a table of that name */
		if (is_maria(p) && p->tok.kind == T_EXTENDED && next == T_ALL)
			parse_advance(p);
		parse_advance(p);
		if (p->tok.kind == T_FOR)
			parse_fail(p);
		if (!analyze)
			return;
	}
	if (p->tok.kind == T_FORMAT && parse_peek(p, 1).kind == T_EQ) {
		parse_advance(p);
		parse_advance(p);
		parse_name_or_string(p);
		if (!is_maria(p) && accept(p, T_INTO))
			parse_simple_expr(p);
	}
}

/* EXPLAIN [words] statement | FOR CONNECTION n; DESCRIBE table; ANALYZE statement. */
static void parse_explain(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_explain *ex = NEW(p, struct sql_explain);
	uint32_t start = p->tok.start;

	parse_advance(p);
	parse_explain_words(p);
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
	parse_add_table(p, &stmt->tables);
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

void parse_deallocate(struct parser *p, struct sql_stmt *stmt)
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

/* ------------------------------------------------------------------ the choice */

static void parse_start(struct parser *p, struct sql_stmt *stmt)
{
	parse_advance(p);
	if (at(p, T_TRANSACTION))
		parse_start_transaction(p, stmt);
	else if (at(p, T_SLAVE) || at(p, T_REPLICA) || p->tok.kind == T_ALL ||
		 p->tok.kind == T_GROUP_REPLICATION)
		parse_opaque(p, stmt, SQL_STMT_REPLICATION);
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
			parse_opaque(p, stmt, (enum sql_stmt_kind)opaque_words[i].kind);
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
	parse_program(p, T_SEMICOLON);
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
	case T_CALL:
		parse_call_statement(p, stmt);
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
			parse_opaque(p, stmt, SQL_STMT_BACKUP);
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
		stmt->opaque = without_ends(parse_text(p, start));
	return stmt;
}
