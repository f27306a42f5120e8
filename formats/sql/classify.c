/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a statement does to rows, schema and transactions, as far as its text tells. */
#include <stdlib.h>
#include <string.h>

#include "server/flavour.h"
#include "sql/sql.h"

struct sql_options sql_options_default(void)
{
	return (struct sql_options){SQL_MARIADB, 101100, 0, SQL_DEPTH_DEFAULT};
}

struct sql_options sql_options_for_server(struct span version_string)
{
	struct server_release release = server_release_of(version_string);
	struct sql_options opt = sql_options_default();

	opt.flavour = release.flavour == SERVER_MARIADB ? SQL_MARIADB : SQL_MYSQL;
	if (release.version)
		opt.version = release.version;
	/* TiDB calls itself 5.7.25 and has windows and WITH. */
	if (release.flavour == SERVER_TIDB && opt.version < 80011)
		opt.version = 80011;
	return opt;
}

uint32_t sql_mode_flags(struct span sql_mode)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} modes[] = {
		{"ANSI_QUOTES", SQL_MODE_ANSI_QUOTES},
		{"NO_BACKSLASH_ESCAPES", SQL_MODE_NO_BACKSLASH_ESCAPES},
		{"PIPES_AS_CONCAT", SQL_MODE_PIPES_AS_CONCAT},
		{"HIGH_NOT_PRECEDENCE", SQL_MODE_HIGH_NOT_PRECEDENCE},
		{"IGNORE_SPACE", SQL_MODE_IGNORE_SPACE},
		/* A server that is given one of these lists the parts too; a user may not. */
		{"ANSI", SQL_MODE_ANSI_QUOTES | SQL_MODE_PIPES_AS_CONCAT | SQL_MODE_IGNORE_SPACE},
		{"DB2", SQL_MODE_ANSI_QUOTES | SQL_MODE_PIPES_AS_CONCAT | SQL_MODE_IGNORE_SPACE},
		{"MAXDB", SQL_MODE_ANSI_QUOTES | SQL_MODE_PIPES_AS_CONCAT | SQL_MODE_IGNORE_SPACE},
		{"MSSQL", SQL_MODE_ANSI_QUOTES | SQL_MODE_PIPES_AS_CONCAT | SQL_MODE_IGNORE_SPACE},
		{"ORACLE", SQL_MODE_ANSI_QUOTES | SQL_MODE_PIPES_AS_CONCAT | SQL_MODE_IGNORE_SPACE},
		{"POSTGRESQL",
			SQL_MODE_ANSI_QUOTES | SQL_MODE_PIPES_AS_CONCAT | SQL_MODE_IGNORE_SPACE},
		{"MYSQL323", SQL_MODE_HIGH_NOT_PRECEDENCE},
		{"MYSQL40", SQL_MODE_HIGH_NOT_PRECEDENCE},
	};
	uint32_t flags = 0;
	size_t from = 0;

	for (size_t i = 0; i <= sql_mode.len; i++) {
		if (i < sql_mode.len && sql_mode.ptr[i] != ',')
			continue;
		for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
			if (span_ieq_str(span_of(sql_mode.ptr + from, i - from), modes[m].name))
				flags |= modes[m].flags;
		}
		from = i + 1;
	}
	return flags;
}

const char *sql_stmt_kind_name(enum sql_stmt_kind kind)
{
	switch (kind) {
	case SQL_STMT_EMPTY:
		return "empty";
	case SQL_STMT_SELECT:
		return "select";
	case SQL_STMT_INSERT:
		return "insert";
	case SQL_STMT_REPLACE:
		return "replace";
	case SQL_STMT_UPDATE:
		return "update";
	case SQL_STMT_DELETE:
		return "delete";
	case SQL_STMT_DO:
		return "do";
	case SQL_STMT_SET:
		return "set";
	case SQL_STMT_BEGIN:
		return "begin";
	case SQL_STMT_COMMIT:
		return "commit";
	case SQL_STMT_ROLLBACK:
		return "rollback";
	case SQL_STMT_SAVEPOINT:
		return "savepoint";
	case SQL_STMT_ROLLBACK_TO:
		return "rollback to savepoint";
	case SQL_STMT_RELEASE_SAVEPOINT:
		return "release savepoint";
	case SQL_STMT_SET_TRANSACTION:
		return "set transaction";
	case SQL_STMT_XA:
		return "xa";
	case SQL_STMT_CREATE_TABLE:
		return "create table";
	case SQL_STMT_ALTER_TABLE:
		return "alter table";
	case SQL_STMT_DROP_TABLE:
		return "drop table";
	case SQL_STMT_RENAME_TABLE:
		return "rename table";
	case SQL_STMT_TRUNCATE:
		return "truncate";
	case SQL_STMT_CREATE_INDEX:
		return "create index";
	case SQL_STMT_DROP_INDEX:
		return "drop index";
	case SQL_STMT_CREATE_DATABASE:
		return "create database";
	case SQL_STMT_DROP_DATABASE:
		return "drop database";
	case SQL_STMT_USE:
		return "use";
	case SQL_STMT_LOCK_TABLES:
		return "lock tables";
	case SQL_STMT_UNLOCK_TABLES:
		return "unlock tables";
	case SQL_STMT_EXPLAIN:
		return "explain";
	case SQL_STMT_PREPARE:
		return "prepare";
	case SQL_STMT_EXECUTE:
		return "execute";
	case SQL_STMT_DEALLOCATE:
		return "deallocate prepare";
	case SQL_STMT_KILL:
		return "kill";
	case SQL_STMT_HANDLER:
		return "handler";
	case SQL_STMT_LOAD_DATA:
		return "load data";
	case SQL_STMT_CREATE_VIEW:
		return "create view";
	case SQL_STMT_DROP_VIEW:
		return "drop view";
	case SQL_STMT_CREATE_TRIGGER:
		return "create trigger";
	case SQL_STMT_DROP_TRIGGER:
		return "drop trigger";
	case SQL_STMT_CREATE_SEQUENCE:
		return "create sequence";
	case SQL_STMT_DROP_SEQUENCE:
		return "drop sequence";
	case SQL_STMT_CREATE_ROUTINE:
		return "create routine";
	case SQL_STMT_DROP_ROUTINE:
		return "drop routine";
	case SQL_STMT_CREATE_OTHER:
		return "create";
	case SQL_STMT_DROP_OTHER:
		return "drop";
	case SQL_STMT_ALTER_OTHER:
		return "alter";
	case SQL_STMT_TABLE_ADMIN:
		return "table administration";
	case SQL_STMT_ACCOUNT:
		return "account management";
	case SQL_STMT_SHOW:
		return "show";
	case SQL_STMT_HELP:
		return "help";
	case SQL_STMT_CALL:
		return "call";
	case SQL_STMT_COMPOUND:
		return "compound";
	case SQL_STMT_FLUSH:
		return "flush";
	case SQL_STMT_RESET:
		return "reset";
	case SQL_STMT_PURGE:
		return "purge";
	case SQL_STMT_REPLICATION:
		return "replication";
	case SQL_STMT_BINLOG:
		return "binlog";
	case SQL_STMT_CACHE_INDEX:
		return "cache index";
	case SQL_STMT_SIGNAL:
		return "signal";
	case SQL_STMT_GET_DIAGNOSTICS:
		return "get diagnostics";
	case SQL_STMT_PLUGIN:
		return "plugin";
	case SQL_STMT_BACKUP:
		return "backup";
	case SQL_STMT_SHUTDOWN:
		return "shutdown";
	case SQL_STMT_OTHER:
		return "other";
	}
	return "unknown";
}

/* SET STATEMENT x = 1 FOR stmt and ANALYZE stmt do what the statement does. */
static const struct sql_stmt *inner_statement(const struct sql_stmt *stmt)
{
	for (;;) {
		if (stmt->kind == SQL_STMT_SET && stmt->u.set->statement)
			stmt = stmt->u.set->statement;
		else if (stmt->kind == SQL_STMT_EXPLAIN && stmt->u.explain->statement &&
			 stmt->u.explain->words.len >= 7 &&
			 span_ieq_str(span_of(stmt->u.explain->words.ptr, 7), "analyze"))
			stmt = stmt->u.explain->statement;
		else
			return stmt;
	}
}

bool sql_stmt_is_read(const struct sql_stmt *stmt)
{
	stmt = inner_statement(stmt);
	return stmt->kind == SQL_STMT_SELECT &&
	       !(stmt->u.query->into && stmt->u.query->into->is_file);
}

bool sql_stmt_is_write(const struct sql_stmt *stmt)
{
	stmt = inner_statement(stmt);
	return stmt->kind == SQL_STMT_INSERT || stmt->kind == SQL_STMT_REPLACE ||
	       stmt->kind == SQL_STMT_UPDATE || stmt->kind == SQL_STMT_DELETE ||
	       stmt->kind == SQL_STMT_LOAD_DATA || stmt->kind == SQL_STMT_TRUNCATE;
}

static bool strongest_lock(void *ctx, const struct sql_query *q)
{
	const struct sql_lock **best = ctx;

	for (const struct sql_lock *lock = q->locks; lock; lock = lock->next) {
		if (!*best ||
			((*best)->mode != SQL_LOCK_FOR_UPDATE && lock->mode == SQL_LOCK_FOR_UPDATE))
			*best = lock;
	}
	return true;
}

const struct sql_lock *sql_stmt_locking_read(const struct sql_stmt *stmt)
{
	const struct sql_lock *best = NULL;
	struct sql_visitor v = {.query = strongest_lock, .ctx = &best};

	stmt = inner_statement(stmt);
	if (stmt->kind == SQL_STMT_SELECT)
		sql_walk_stmt(stmt, &v);
	return best;
}

bool sql_stmt_is_ddl(const struct sql_stmt *stmt)
{
	switch (inner_statement(stmt)->kind) {
	case SQL_STMT_CREATE_TABLE:
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_DROP_TABLE:
	case SQL_STMT_RENAME_TABLE:
	case SQL_STMT_TRUNCATE:
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
	case SQL_STMT_CREATE_DATABASE:
	case SQL_STMT_DROP_DATABASE:
	case SQL_STMT_CREATE_VIEW:
	case SQL_STMT_DROP_VIEW:
	case SQL_STMT_CREATE_TRIGGER:
	case SQL_STMT_DROP_TRIGGER:
	case SQL_STMT_CREATE_SEQUENCE:
	case SQL_STMT_DROP_SEQUENCE:
	case SQL_STMT_CREATE_ROUTINE:
	case SQL_STMT_DROP_ROUTINE:
	case SQL_STMT_CREATE_OTHER:
	case SQL_STMT_DROP_OTHER:
	case SQL_STMT_ALTER_OTHER:
		return true;
	default:
		return false;
	}
}

bool sql_kind_controls_transactions(enum sql_stmt_kind kind)
{
	switch (kind) {
	case SQL_STMT_BEGIN:
	case SQL_STMT_COMMIT:
	case SQL_STMT_ROLLBACK:
	case SQL_STMT_SAVEPOINT:
	case SQL_STMT_ROLLBACK_TO:
	case SQL_STMT_RELEASE_SAVEPOINT:
	case SQL_STMT_SET_TRANSACTION:
	case SQL_STMT_XA:
		return true;
	default:
		return false;
	}
}

bool sql_stmt_is_transaction_control(const struct sql_stmt *stmt)
{
	struct sql_txn_setting s;

	if (stmt->kind != SQL_STMT_SET)
		return sql_kind_controls_transactions(stmt->kind);
	s = sql_stmt_txn_setting(stmt);
	return s.autocommit != SQL_UNSAID || s.autocommit_unknown ||
	       s.isolation != SQL_ISOLATION_NONE || s.access != SQL_ACCESS_NONE || s.access_unknown;
}

/* CREATE TEMPORARY TABLE and DROP TEMPORARY TABLE do not commit.  Other DDL on a temporary table
 * (ALTER, TRUNCATE, CREATE INDEX) cannot be distinguished by the text and is said to commit. */
static bool temporary(const struct sql_stmt *stmt)
{
	if (stmt->kind == SQL_STMT_CREATE_TABLE)
		return stmt->u.create_table->temporary;
	if (stmt->kind == SQL_STMT_DROP_TABLE || stmt->kind == SQL_STMT_DROP_SEQUENCE)
		return stmt->u.drop->temporary;
	return false;
}

bool sql_stmt_implicit_commit(const struct sql_stmt *stmt, const struct sql_options *opt)
{
	struct sql_txn_setting setting;

	stmt = inner_statement(stmt);
	if (sql_stmt_is_ddl(stmt))
		return !temporary(stmt);
	switch (stmt->kind) {
	case SQL_STMT_BEGIN:
	case SQL_STMT_LOCK_TABLES:
	case SQL_STMT_ACCOUNT:
	case SQL_STMT_PLUGIN:
	case SQL_STMT_CACHE_INDEX:
	case SQL_STMT_FLUSH:
	case SQL_STMT_RESET:
	case SQL_STMT_TABLE_ADMIN:
	case SQL_STMT_REPLICATION:
	case SQL_STMT_BACKUP:
		return true;
	case SQL_STMT_UNLOCK_TABLES:
		/* Only if tables are locked; the text cannot tell.  Without locks nothing happens,
		 * so saying no is the answer that loses no transaction. */
		return false;
	case SQL_STMT_SET:
		/* autocommit from 0 to 1; a 1 that was 1 changes nothing. */
		setting = sql_stmt_txn_setting(stmt);
		return setting.autocommit == SQL_YES &&
		       setting.autocommit_scope != SQL_SCOPE_GLOBAL;
	case SQL_STMT_LOAD_DATA:
		/* Only tables of the NDB engine, in MySQL. */
		(void)opt;
		return false;
	default:
		return false;
	}
}

/* ------------------------------------------------------------------ SET */

/* The value of a setting as a word: a name, a string or a number.  False: an expression. */
static bool setting_word(const struct sql_expr *e, struct span *word)
{
	if (e->kind == SQL_EXPR_COLUMN && !e->u.column.table.ptr) {
		*word = e->u.column.name;
		return true;
	}
	if (e->kind == SQL_EXPR_LITERAL) {
		switch ((enum sql_literal_kind)e->u.literal.kind) {
		case SQL_LIT_TRUE:
			*word = SPAN_LIT("1");
			return true;
		case SQL_LIT_FALSE:
			*word = SPAN_LIT("0");
			return true;
		case SQL_LIT_INT:
		case SQL_LIT_STRING:
		case SQL_LIT_NSTRING:
			*word = e->u.literal.text;
			return true;
		default:
			return false;
		}
	}
	return false;
}

static enum sql_choice boolean_setting(const struct sql_expr *e, bool *unknown)
{
	struct span word;

	if (e->kind == SQL_EXPR_DEFAULT) {
		/* The global value, or for GLOBAL the compiled one: 1 unless configured. */
		*unknown = true;
		return SQL_UNSAID;
	}
	if (setting_word(e, &word)) {
		if (span_ieq_str(word, "1") || span_ieq_str(word, "on") ||
			span_ieq_str(word, "true"))
			return SQL_YES;
		if (span_ieq_str(word, "0") || span_ieq_str(word, "off") ||
			span_ieq_str(word, "false"))
			return SQL_NO;
	}
	*unknown = true;
	return SQL_UNSAID;
}

static enum sql_isolation isolation_setting(const struct sql_expr *e)
{
	static const struct {
		const char *name, *number;
		enum sql_isolation level;
	} levels[] = {
		{"READ-UNCOMMITTED", "0", SQL_ISOLATION_READ_UNCOMMITTED},
		{"READ-COMMITTED", "1", SQL_ISOLATION_READ_COMMITTED},
		{"REPEATABLE-READ", "2", SQL_ISOLATION_REPEATABLE_READ},
		{"SERIALIZABLE", "3", SQL_ISOLATION_SERIALIZABLE},
	};
	struct span word;

	if (e->kind == SQL_EXPR_DEFAULT)
		return SQL_ISOLATION_DEFAULT;
	if (setting_word(e, &word)) {
		for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
			if (span_ieq_str(word, levels[i].name) ||
				span_eq_str(word, levels[i].number))
				return levels[i].level;
		}
	}
	return SQL_ISOLATION_UNKNOWN;
}

static void apply_item(struct sql_txn_setting *out, const struct sql_set_item *item)
{
	enum sql_scope scope = item->scope;

	if (item->kind != SQL_SET_VARIABLE || item->base.ptr)
		return;
	if (span_ieq_str(item->name, "autocommit")) {
		out->autocommit_unknown = false;
		out->autocommit = boolean_setting(item->value, &out->autocommit_unknown);
		out->autocommit_scope = scope == SQL_SCOPE_NONE ? SQL_SCOPE_SESSION : scope;
		return;
	}
	/* SET x is SET SESSION x; SET @@x is the next transaction only, as SET TRANSACTION
	 * without a scope ("SET TRANSACTION", table of scopes). */
	if (scope == SQL_SCOPE_NONE && !item->at_at)
		scope = SQL_SCOPE_SESSION;
	if (span_ieq_str(item->name, "transaction_isolation") ||
		span_ieq_str(item->name, "tx_isolation")) {
		out->isolation = isolation_setting(item->value);
		out->isolation_scope = scope;
	} else if (span_ieq_str(item->name, "transaction_read_only") ||
		   span_ieq_str(item->name, "tx_read_only")) {
		out->access_unknown = false;
		switch (boolean_setting(item->value, &out->access_unknown)) {
		case SQL_YES:
			out->access = SQL_ACCESS_READ_ONLY;
			break;
		case SQL_NO:
			out->access = SQL_ACCESS_READ_WRITE;
			break;
		case SQL_UNSAID:
			out->access = SQL_ACCESS_NONE;
			break;
		}
		out->access_scope = scope;
	}
}

struct sql_txn_setting sql_stmt_txn_setting(const struct sql_stmt *stmt)
{
	struct sql_txn_setting out = {.autocommit = SQL_UNSAID};

	if (stmt->kind == SQL_STMT_SET_TRANSACTION) {
		out.isolation = stmt->u.txn->isolation;
		out.isolation_scope = stmt->u.txn->scope;
		out.access = stmt->u.txn->access;
		out.access_scope = stmt->u.txn->scope;
	} else if (stmt->kind == SQL_STMT_BEGIN) {
		out.access = stmt->u.txn->access;
	} else if (stmt->kind == SQL_STMT_SET && !stmt->u.set->statement) {
		/* In order: the last one of a kind wins. */
		for (const struct sql_set_item *i = stmt->u.set->items; i; i = i->next)
			apply_item(&out, i);
	}
	return out;
}

bool sql_expr_compares(const struct sql_expr *e)
{
	switch (e->op) {
	case SQL_OP_EQ:
	case SQL_OP_NULL_EQ:
	case SQL_OP_NE:
	case SQL_OP_LT:
	case SQL_OP_LE:
	case SQL_OP_GT:
	case SQL_OP_GE:
		return e->kind == SQL_EXPR_BINARY;
	default:
		return false;
	}
}
