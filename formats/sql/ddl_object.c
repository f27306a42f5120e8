/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CREATE, DROP, ALTER, RENAME, TRUNCATE: which kind of object is meant.  Tables and indexes are in
 * ddl.c; the others (views, triggers, routines, users ...) are only recognised.
 */
#include "sql/ddl.h"

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

/* None of the objects that CREATE and DROP know. */
static void fail_at_object(struct parser *p)
{
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

static void parse_create_view(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_create_view *view = NEW(p, struct sql_create_view);

	stmt->kind = SQL_STMT_CREATE_VIEW;
	parse_advance(p);
	accept_if_not_exists(p);
	parse_add_table(p, &stmt->tables);
	stmt->u.view = view;
	if (p->tok.kind == T_LPAREN)
		view->columns = parse_paren_names(p);
	expect(p, T_AS);
	view->query = parse_query(p);
	if (accept(p, T_WITH)) {
		view->check = SQL_CHECK_CASCADED;
		if (!accept(p, T_CASCADED) && accept(p, T_LOCAL))
			view->check = SQL_CHECK_LOCAL;
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
	parse_add_table(p, &stmt->tables);
	parse_program(p, T_ROW);
}

static void parse_create_database(struct parser *p, struct sql_stmt *stmt)
{
	parse_advance(p);
	accept_if_not_exists(p);
	parse_name(p);
	parse_opaque(p, stmt, SQL_STMT_CREATE_DATABASE);
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
		parse_program(p, T_PROCEDURE);
		return;
	case T_EVENT:
		stmt->kind = SQL_STMT_CREATE_OTHER;
		parse_program(p, T_EVENT);
		return;
	case T_DATABASE:
	case T_SCHEMA:
		parse_create_database(p, stmt);
		return;
	case T_USER:
	case T_ROLE:
		parse_opaque(p, stmt, SQL_STMT_ACCOUNT);
		return;
	case T_SEQUENCE:
		parse_advance(p);
		accept_if_not_exists(p);
		parse_add_table(p, &stmt->tables);
		parse_opaque(p, stmt, SQL_STMT_CREATE_SEQUENCE);
		return;
	case T_IDENT:
		/* MySQL 9: CREATE MATERIALIZED VIEW */
		if (is_maria(p) || p->opt.version < 90000 || parse_peek(p, 1).kind != T_VIEW ||
			!span_ieq_str(parse_value(p, p->tok), "materialized"))
			parse_fail(p);
		parse_advance(p);
		parse_create_view(p, stmt);
		return;
	case T_SERVER:
	case T_TABLESPACE:
	case T_UNDO:
	case T_LOGFILE:
	case T_SPATIAL:
	case T_RESOURCE:
	case T_LIBRARY:
		parse_opaque(p, stmt, SQL_STMT_CREATE_OTHER);
		return;
	default:
		fail_at_object(p);
	}
}

void parse_create(struct parser *p, struct sql_stmt *stmt)
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
		tail = parse_add_table(p, tail);
	} while (accept(p, T_COMMA));
	drop->wait = parse_lock_wait_clause(p);
	if (accept(p, T_CASCADE))
		drop->cascade = true;
	else if (accept(p, T_RESTRICT))
		drop->restrict_word = true;
}

void parse_drop(struct parser *p, struct sql_stmt *stmt)
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
		parse_opaque(p, stmt, SQL_STMT_DROP_TRIGGER);
		return;
	case T_PROCEDURE:
	case T_FUNCTION:
	case T_PACKAGE:
		parse_opaque(p, stmt, SQL_STMT_DROP_ROUTINE);
		return;
	case T_USER:
	case T_ROLE:
		parse_opaque(p, stmt, SQL_STMT_ACCOUNT);
		return;
	case T_EVENT:
	case T_SERVER:
	case T_TABLESPACE:
	case T_UNDO:
	case T_LOGFILE:
	case T_SPATIAL:
	case T_RESOURCE:
	case T_LIBRARY:
		parse_opaque(p, stmt, SQL_STMT_DROP_OTHER);
		return;
	default:
		fail_at_object(p);
	}
}

void parse_alter(struct parser *p, struct sql_stmt *stmt)
{
	bool online = false, ignore = false;

	parse_advance(p);
	if (is_maria(p)) { /* in any order, and any number of times */
		for (;;) {
			if (accept(p, T_ONLINE))
				online = true;
			else if (accept(p, T_IGNORE))
				ignore = true;
			else
				break;
		}
	} else {
		ignore = p->opt.version < 50700 && accept(p, T_IGNORE);
	}
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
		parse_opaque(p, stmt, SQL_STMT_ACCOUNT);
		return;
	case T_EVENT:
		stmt->kind = SQL_STMT_ALTER_OTHER;
		parse_program(p, T_EVENT);
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
		parse_opaque(p, stmt, SQL_STMT_ALTER_OTHER);
		return;
	default:
		if (UNLIKELY(p->track))
			parse_want(p, T_TABLE);
		parse_fail(p);
	}
}

void parse_rename(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_rename **tail = &stmt->u.rename;

	parse_advance(p);
	if (p->tok.kind == T_USER) {
		parse_opaque(p, stmt, SQL_STMT_ACCOUNT);
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

void parse_truncate(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_drop *drop = NEW(p, struct sql_drop);

	stmt->kind = SQL_STMT_TRUNCATE;
	stmt->u.drop = drop;
	parse_advance(p);
	drop->table_word = accept(p, T_TABLE);
	parse_add_table(p, &drop->tables);
	drop->wait = parse_lock_wait_clause(p);
	if (is_maria(p) && !accept(p, T_CASCADE))
		accept(p, T_RESTRICT);
}
