/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transactions, XA, SET.  MySQL manual: "Transactional and Locking Statements", "SET". */
#include <string.h>

#include "sql/parse.h"

static struct sql_txn *txn_new(struct parser *p, struct sql_stmt *stmt, enum sql_stmt_kind kind)
{
	stmt->kind = kind;
	stmt->u.txn = NEW(p, struct sql_txn);
	return stmt->u.txn;
}

void parse_begin(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_txn *txn = txn_new(p, stmt, SQL_STMT_BEGIN);

	parse_advance(p);
	txn->work = accept(p, T_WORK);
}

/* START is read, TRANSACTION is current. */
void parse_start_transaction(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_txn *txn = txn_new(p, stmt, SQL_STMT_BEGIN);

	txn->start_transaction = true;
	parse_advance(p);
	if (p->tok.kind != T_WITH && p->tok.kind != T_READ) {
		if (UNLIKELY(p->track)) {
			parse_want(p, T_WITH);
			parse_want(p, T_READ);
		}
		return;
	}
	do {
		if (accept(p, T_WITH)) {
			expect(p, T_CONSISTENT);
			expect(p, T_SNAPSHOT);
			txn->snapshot = true;
			continue;
		}
		expect(p, T_READ);
		enum sql_access access = SQL_ACCESS_READ_ONLY;
		if (!accept(p, T_ONLY)) {
			expect(p, T_WRITE);
			access = SQL_ACCESS_READ_WRITE;
		}
		/* READ ONLY, READ WRITE is refused by the grammar's own check. */
		if (txn->access != SQL_ACCESS_NONE && txn->access != access)
			parse_fail_why(
				p, "READ ONLY and READ WRITE exclude each other, before this");
		txn->access = access;
	} while (accept(p, T_COMMA));
}

/* [AND [NO] CHAIN] [[NO] RELEASE] */
static void parse_completion(struct parser *p, struct sql_txn *txn)
{
	if (accept(p, T_AND)) {
		txn->chain = accept(p, T_NO) ? SQL_NO : SQL_YES;
		expect(p, T_CHAIN);
	}
	if (p->tok.kind == T_NO) {
		parse_advance(p);
		expect(p, T_RELEASE);
		txn->release = SQL_NO;
	} else if (accept(p, T_RELEASE)) {
		if (txn->chain == SQL_YES)
			parse_fail_why(p, "AND CHAIN and RELEASE exclude each other, before this");
		txn->release = SQL_YES;
	}
}

void parse_commit(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_txn *txn = txn_new(p, stmt, SQL_STMT_COMMIT);

	parse_advance(p);
	txn->work = accept(p, T_WORK);
	parse_completion(p, txn);
}

void parse_rollback(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_txn *txn = txn_new(p, stmt, SQL_STMT_ROLLBACK);

	parse_advance(p);
	txn->work = accept(p, T_WORK);
	if (accept(p, T_TO)) {
		stmt->kind = SQL_STMT_ROLLBACK_TO;
		/* SAVEPOINT is not reserved: ROLLBACK TO savepoint may name one. */
		if (p->tok.kind == T_SAVEPOINT && (!is_maria(p) || parse_peek(p, 1).flags & TF_NAME)) {
			parse_advance(p);
			txn->savepoint_word = true;
		}
		txn->savepoint = parse_name(p);
		return;
	}
	parse_completion(p, txn);
}

void parse_savepoint(struct parser *p, struct sql_stmt *stmt)
{
	bool release = p->tok.kind == T_RELEASE;
	struct sql_txn *txn =
		txn_new(p, stmt, release ? SQL_STMT_RELEASE_SAVEPOINT : SQL_STMT_SAVEPOINT);

	parse_advance(p);
	if (release)
		expect(p, T_SAVEPOINT);
	txn->savepoint = parse_name(p);
}

/* ------------------------------------------------------------------ XA */

#define XID_PART_MAX 64 /* bytes of gtrid and of bqual: manual, "XA Transaction SQL Statements" */

static struct sql_expr *parse_xid_part(struct parser *p, bool bounded)
{
	struct sql_expr *e;

	if (p->tok.kind != T_STRING && p->tok.kind != T_L_HEX && p->tok.kind != T_HEX_STR &&
		p->tok.kind != T_L_BIT && p->tok.kind != T_BIT_STR) {
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_STRING);
		parse_fail(p);
	}
	/* No strings in a row here. */
	if (p->tok.kind == T_STRING && parse_peek(p, 1).kind == T_STRING) {
		parse_advance(p);
		parse_fail(p);
	}
	e = parse_literal(p);
	if (bounded && e->u.literal.kind == SQL_LIT_STRING && e->u.literal.text.len > XID_PART_MAX)
		parse_fail_why(p, "more than 64 bytes in a part of an XA id, before this");
	return e;
}

/* The format is a number below 2^31. */
static bool xid_format_fits(struct span text)
{
	bool hex = text.len > 2 && (text.ptr[1] == 'x' || text.ptr[1] == 'X');
	uint64_t value = 0;

	for (size_t i = hex ? 2 : 0; i < text.len && value <= INT32_MAX; i++) {
		int c = text.ptr[i] | 0x20;

		value = value * (hex ? 16 : 10) + (uint64_t)(c >= 'a' ? c - 'a' + 10 : text.ptr[i] - '0');
	}
	return value <= INT32_MAX;
}

static void parse_xid(struct parser *p, struct sql_xa *xa)
{
	xa->gtrid = parse_xid_part(p, true);
	if (!accept(p, T_COMMA))
		return;
	xa->bqual = parse_xid_part(p, true);
	if (!accept(p, T_COMMA))
		return;
	if (p->tok.kind != T_L_INT && p->tok.kind != T_L_HEX) {
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_NUMBER);
		parse_fail(p);
	}
	xa->format_id = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);
	if (!xid_format_fits(xa->format_id))
		parse_fail(p);
	parse_advance(p);
}

void parse_xa(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_xa *xa = NEW(p, struct sql_xa);

	stmt->kind = SQL_STMT_XA;
	stmt->u.xa = xa;
	parse_advance(p);
	if (at(p, T_START) || at(p, T_BEGIN)) {
		xa->kind = SQL_XA_START;
		xa->begin = p->tok.kind == T_BEGIN;
		parse_advance(p);
		parse_xid(p, xa);
		if (accept(p, T_JOIN))
			xa->join = true;
		else if (accept(p, T_RESUME))
			xa->resume = true;
	} else if (accept(p, T_END)) {
		xa->kind = SQL_XA_END;
		parse_xid(p, xa);
		if (accept(p, T_SUSPEND)) {
			xa->suspend = true;
			if (accept(p, T_FOR)) {
				expect(p, T_MIGRATE);
				xa->for_migrate = true;
			}
		}
	} else if (accept(p, T_PREPARE)) {
		xa->kind = SQL_XA_PREPARE;
		parse_xid(p, xa);
	} else if (accept(p, T_COMMIT)) {
		xa->kind = SQL_XA_COMMIT;
		parse_xid(p, xa);
		if (accept(p, T_ONE)) {
			expect(p, T_PHASE);
			xa->one_phase = true;
		}
	} else if (accept(p, T_ROLLBACK)) {
		xa->kind = SQL_XA_ROLLBACK;
		parse_xid(p, xa);
	} else {
		expect(p, T_RECOVER);
		xa->kind = SQL_XA_RECOVER;
		if (is_maria(p) && accept(p, T_FORMAT)) {
			expect(p, T_EQ);
			xa->gtrid = parse_xid_part(p, false);
		} else if (!is_maria(p) && accept(p, T_CONVERT)) {
			expect(p, T_XID);
			xa->convert_xid = true;
		}
	}
}

/* ------------------------------------------------------------------ SET TRANSACTION */

static enum sql_isolation parse_isolation(struct parser *p)
{
	if (accept(p, T_SERIALIZABLE))
		return SQL_ISOLATION_SERIALIZABLE;
	if (accept(p, T_REPEATABLE)) {
		expect(p, T_READ);
		return SQL_ISOLATION_REPEATABLE_READ;
	}
	expect(p, T_READ);
	if (accept(p, T_COMMITTED))
		return SQL_ISOLATION_READ_COMMITTED;
	expect(p, T_UNCOMMITTED);
	return SQL_ISOLATION_READ_UNCOMMITTED;
}

/* TRANSACTION is current. */
static void parse_set_transaction(struct parser *p, struct sql_stmt *stmt, enum sql_scope scope)
{
	struct sql_txn *txn = txn_new(p, stmt, SQL_STMT_SET_TRANSACTION);

	txn->scope = scope;
	parse_advance(p);
	do {
		if (txn->isolation == SQL_ISOLATION_NONE && accept(p, T_ISOLATION)) {
			expect(p, T_LEVEL);
			txn->isolation = parse_isolation(p);
		} else if (txn->access == SQL_ACCESS_NONE) {
			expect(p, T_READ);
			if (accept(p, T_ONLY)) {
				txn->access = SQL_ACCESS_READ_ONLY;
			} else {
				expect(p, T_WRITE);
				txn->access = SQL_ACCESS_READ_WRITE;
			}
		} else {
			parse_fail(p);
		}
	} while (accept(p, T_COMMA));
}

/* ------------------------------------------------------------------ SET */

static enum sql_scope parse_scope(struct parser *p)
{
	enum token_kind next = parse_peek(p, 1).kind;

	/* The words are not reserved: SET global = 1 would be a variable of that name in MariaDB. */
	if (is_maria(p) && (next == T_EQ || next == T_ASSIGN || next == T_DOT))
		return SQL_SCOPE_NONE;
	if (accept(p, T_GLOBAL))
		return SQL_SCOPE_GLOBAL;
	if (accept(p, T_SESSION) || accept(p, T_LOCAL))
		return SQL_SCOPE_SESSION;
	if (!is_maria(p) && accept(p, T_PERSIST))
		return SQL_SCOPE_PERSIST;
	if (!is_maria(p) && accept(p, T_PERSIST_ONLY))
		return SQL_SCOPE_PERSIST_ONLY;
	return SQL_SCOPE_NONE;
}

static struct sql_expr *word_value(struct parser *p)
{
	struct sql_expr *e;
	uint32_t start = p->tok.start;
	struct span word = span_of(p->text + start, p->tok.end - start);

	parse_advance(p);
	e = expr_new(p, SQL_EXPR_COLUMN, start);
	e->u.column.name = word;
	e->negated = true; /* printed as it is */
	return e;
}

/* An expression, or one of the reserved words that SET takes for values. */
static struct sql_expr *parse_set_value(struct parser *p)
{
	switch (p->tok.kind) {
	case T_DEFAULT:
		if (parse_peek(p, 1).kind == T_LPAREN)
			break;
		parse_advance(p);
		return expr_new(p, SQL_EXPR_DEFAULT, p->last_end - 7);
	case T_ON:
	case T_ALL:
		return word_value(p);
	case T_BINARY: {
		enum token_kind next = parse_peek(p, 1).kind;

		if (next == T_EOF || next == T_COMMA || next == T_SEMICOLON || next == T_FOR)
			return word_value(p);
		break;
	}
	case T_ROW:
	case T_SYSTEM:
		if (!(p->tok.flags & TF_NAME))
			return word_value(p);
		break;
	default:
		break;
	}
	return parse_expr(p);
}

static void parse_set_names(struct parser *p, struct sql_set_item *item)
{
	uint32_t start;

	item->kind = SQL_SET_NAMES;
	parse_advance(p);
	if (!accept(p, T_DEFAULT)) {
		start = p->tok.start;
		struct span name = parse_charset_name(p);
		item->value = expr_new(p, SQL_EXPR_LITERAL, start);
		item->value->u.literal.kind = SQL_LIT_STRING;
		item->value->u.literal.text = name;
	} else if (!is_maria(p)) {
		return;
	}
	if (accept(p, T_COLLATE)) {
		if (!is_maria(p) || !accept(p, T_DEFAULT))
			item->collation = parse_charset_name(p);
	}
}

static void parse_set_charset(struct parser *p, struct sql_set_item *item)
{
	uint32_t start;

	item->kind = SQL_SET_CHARSET;
	if (p->tok.kind == T_CHARACTER || p->tok.kind == T_CHAR) {
		parse_advance(p);
		expect(p, T_SET);
	} else {
		parse_advance(p);
	}
	if (accept(p, T_DEFAULT))
		return;
	start = p->tok.start;
	struct span name = parse_charset_name(p);
	item->value = expr_new(p, SQL_EXPR_LITERAL, start);
	item->value->u.literal.kind = SQL_LIT_STRING;
	item->value->u.literal.text = name;
}

static void parse_set_equals(struct parser *p)
{
	if (!accept(p, T_EQ))
		expect(p, T_ASSIGN);
}

/* One assignment; `scope` is the last one said, which holds on for names without @@. */
static struct sql_set_item *parse_set_item(struct parser *p, enum sql_scope *scope)
{
	struct sql_set_item *item = NEW(p, struct sql_set_item);
	enum token_kind next = parse_peek(p, 1).kind;
	bool assigns = next == T_EQ || next == T_ASSIGN || next == T_DOT;

	if (p->tok.kind == T_USER_VAR) {
		item->kind = SQL_SET_USER_VAR;
		if (next == T_ASSIGN) {
			/* @x := 1 would be read as one operand. */
			struct sql_expr *e = parse_simple_expr(p);

			if (e->kind == SQL_EXPR_ASSIGN) {
				item->name = e->u.binary.left->u.var.name;
				item->value = e->u.binary.right;
			}
			return item;
		}
		struct sql_expr *e = parse_simple_expr(p);
		item->name = e->u.var.name;
		parse_set_equals(p);
		item->value = parse_expr(p);
		return item;
	}
	if (p->tok.kind == T_AT_AT) {
		struct sql_expr *e = parse_system_var(p, true);

		item->kind = SQL_SET_VARIABLE;
		item->at_at = true;
		if (e->kind == SQL_EXPR_SYSTEM_VAR) {
			item->scope = (enum sql_scope)e->u.var.scope;
			item->base = e->u.var.base;
			item->name = e->u.var.name;
		}
		parse_set_equals(p);
		item->value = parse_set_value(p);
		return item;
	}
	if (p->tok.kind == T_NAMES && next != T_DOT) {
		parse_set_names(p, item);
		return item;
	}
	if (p->tok.kind == T_CHARACTER || p->tok.kind == T_CHAR ||
		(!assigns && p->tok.kind == T_CHARSET)) {
		parse_set_charset(p, item);
		return item;
	}
	item->kind = SQL_SET_VARIABLE;
	enum sql_scope said = parse_scope(p);
	if (said != SQL_SCOPE_NONE) {
		*scope = said;
		/* MySQL: no variable is called like a scope. */
		if (!is_maria(p) && parse_scope(p) != SQL_SCOPE_NONE)
			parse_fail(p);
	}
	item->scope = *scope;
	if (p->tok.kind == T_DEFAULT && parse_peek(p, 1).kind == T_DOT) {
		item->base = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);
		parse_advance(p);
		parse_advance(p);
		item->name = parse_name(p);
	} else {
		/* OFFSET and the like are variables of plugins only; names are names. */
		item->name = parse_name(p);
		if (accept(p, T_DOT)) {
			item->base = item->name;
			item->name = parse_name(p);
			if (!is_maria(p) && (span_ieq_str(item->base, "global") ||
						    span_ieq_str(item->base, "session") ||
						    span_ieq_str(item->base, "local")))
				parse_fail(p);
		}
	}
	parse_set_equals(p);
	item->value = parse_set_value(p);
	return item;
}

static void opaque_set(struct parser *p, struct sql_stmt *stmt, enum sql_stmt_kind kind)
{
	stmt->kind = kind;
	while (p->tok.kind != T_EOF && p->tok.kind != T_SEMICOLON && p->tok.kind != T_ERROR)
		parse_advance(p);
}

void parse_set(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_set_item **tail;
	enum sql_scope scope = SQL_SCOPE_NONE;
	enum token_kind next;

	parse_advance(p);
	next = parse_peek(p, 1).kind;
	if (p->tok.kind == T_TRANSACTION && next != T_EQ && next != T_ASSIGN) {
		parse_set_transaction(p, stmt, SQL_SCOPE_NONE);
		return;
	}
	if (next == T_TRANSACTION &&
		(p->tok.kind == T_GLOBAL || p->tok.kind == T_SESSION || p->tok.kind == T_LOCAL)) {
		scope = p->tok.kind == T_GLOBAL ? SQL_SCOPE_GLOBAL : SQL_SCOPE_SESSION;
		parse_advance(p);
		parse_set_transaction(p, stmt, scope);
		return;
	}
	if (p->tok.kind == T_PASSWORD || (p->tok.kind == T_ROLE && next != T_EQ) ||
		(p->tok.kind == T_DEFAULT && next == T_ROLE)) {
		opaque_set(p, stmt, SQL_STMT_ACCOUNT);
		return;
	}
	if (p->tok.kind == T_RESOURCE && next == T_GROUP) {
		opaque_set(p, stmt, SQL_STMT_OTHER);
		return;
	}
	stmt->kind = SQL_STMT_SET;
	stmt->u.set = NEW(p, struct sql_set);
	tail = &stmt->u.set->items;
	bool statement = is_maria(p) && p->tok.kind == T_STATEMENT && next != T_EQ &&
			 next != T_ASSIGN && next != T_DOT;
	if (statement)
		parse_advance(p);
	do {
		/* SET STATEMENT takes plain names of variables only. */
		if (statement && (p->tok.kind == T_AT_AT || p->tok.kind == T_USER_VAR))
			parse_fail(p);
		struct sql_set_item *item = parse_set_item(p, &scope);

		if (statement && scope != SQL_SCOPE_NONE)
			parse_fail(p);
		APPEND(tail, item);
	} while (accept(p, T_COMMA));
	if (statement) {
		expect(p, T_FOR);
		if (p->tok.kind == T_EOF || p->tok.kind == T_SEMICOLON)
			parse_fail(p);
		if (parse_enter(p)) {
			stmt->u.set->statement = parse_statement(p);
		} else {
			stmt->u.set->statement = NEW(p, struct sql_stmt);
		}
		parse_leave(p);
	}
}
