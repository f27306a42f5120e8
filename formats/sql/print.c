/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree back to text: names and strings, and the statements that control (transactions, SET,
 * LOCK TABLES, PREPARE ...).  The form is canonical: keywords in upper case, every name in
 * backticks, parentheses only where the grammar needs them, synonyms written one way
 * (FROM t LIMIT 1, 2 comes out as LIMIT 2 OFFSET 1).
 */
#include "sql/print.h"

#include "base/bug.h"
#include "sql/token.h"

void put(struct printer *p, const char *s)
{
	buf_add_str(p->out, s);
}

void put_span(struct printer *p, struct span s)
{
	buf_add_span(p->out, s);
}

void sql_print_name(struct span name, struct buf *out)
{
	buf_add_char(out, '`');
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '`')
			buf_add_char(out, '`');
		buf_add_char(out, name.ptr[i]);
	}
	buf_add_char(out, '`');
}

void put_name(struct printer *p, struct span name)
{
	sql_print_name(name, p->out);
}

void sql_print_string(struct span value, const struct sql_options *opt, struct buf *out)
{
	bool escapes = !(opt->mode & SQL_MODE_NO_BACKSLASH_ESCAPES);

	buf_add_char(out, '\'');
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];

		if (c == '\'') {
			buf_add_str(out, "''");
		} else if (c == '\\' && escapes) {
			buf_add_str(out, "\\\\");
		} else if (c == '\0' && escapes) {
			buf_add_str(out, "\\0");
		} else {
			buf_add_char(out, c);
		}
	}
	buf_add_char(out, '\'');
}

void put_string(struct printer *p, struct span value)
{
	sql_print_string(value, &p->opt, p->out);
}

void put_names(struct printer *p, const struct sql_names *names)
{
	put(p, "(");
	for (const struct sql_names *n = names; n; n = n->next) {
		put_name(p, n->name);
		if (n->next)
			put(p, ", ");
	}
	put(p, ")");
}

void put_table(struct printer *p, const struct sql_table_name *table)
{
	if (table->db.ptr) {
		put_name(p, table->db);
		put(p, ".");
	}
	put_name(p, table->name);
}

/* ------------------------------------------------------------------ control */

const char *sql_isolation_name(enum sql_isolation level)
{
	switch (level) {
	case SQL_ISOLATION_READ_UNCOMMITTED:
		return "READ UNCOMMITTED";
	case SQL_ISOLATION_READ_COMMITTED:
		return "READ COMMITTED";
	case SQL_ISOLATION_REPEATABLE_READ:
		return "REPEATABLE READ";
	case SQL_ISOLATION_SERIALIZABLE:
		return "SERIALIZABLE";
	case SQL_ISOLATION_DEFAULT:
		return "DEFAULT";
	case SQL_ISOLATION_NONE:
	case SQL_ISOLATION_UNKNOWN:
		break;
	}
	return "unknown";
}

static void put_completion(struct printer *p, const struct sql_txn *txn)
{
	if (txn->chain != SQL_UNSAID)
		put(p, txn->chain == SQL_YES ? " AND CHAIN" : " AND NO CHAIN");
	if (txn->release != SQL_UNSAID)
		put(p, txn->release == SQL_YES ? " RELEASE" : " NO RELEASE");
}

static void put_begin(struct printer *p, const struct sql_txn *txn)
{
	const char *sep = " ";

	if (!txn->start_transaction) {
		put(p, txn->work ? "BEGIN WORK" : "BEGIN");
		return;
	}
	put(p, "START TRANSACTION");
	if (txn->snapshot) {
		put(p, " WITH CONSISTENT SNAPSHOT");
		sep = ", ";
	}
	if (txn->access != SQL_ACCESS_NONE) {
		put(p, sep);
		put(p, txn->access == SQL_ACCESS_READ_ONLY ? "READ ONLY" : "READ WRITE");
	}
}

static void put_set_transaction(struct printer *p, const struct sql_txn *txn)
{
	const char *sep = " ";

	put(p, "SET ");
	put_scope(p, txn->scope, " ");
	put(p, "TRANSACTION");
	if (txn->isolation != SQL_ISOLATION_NONE) {
		put(p, " ISOLATION LEVEL ");
		put(p, sql_isolation_name(txn->isolation));
		sep = ", ";
	}
	if (txn->access != SQL_ACCESS_NONE) {
		put(p, sep);
		put(p, txn->access == SQL_ACCESS_READ_ONLY ? "READ ONLY" : "READ WRITE");
	}
}

static void put_txn(struct printer *p, const struct sql_stmt *stmt)
{
	const struct sql_txn *txn = stmt->u.txn;

	switch (stmt->kind) {
	case SQL_STMT_BEGIN:
		put_begin(p, txn);
		return;
	case SQL_STMT_COMMIT:
		put(p, txn->work ? "COMMIT WORK" : "COMMIT");
		put_completion(p, txn);
		return;
	case SQL_STMT_ROLLBACK:
		put(p, txn->work ? "ROLLBACK WORK" : "ROLLBACK");
		put_completion(p, txn);
		return;
	case SQL_STMT_ROLLBACK_TO:
		put(p, txn->work ? "ROLLBACK WORK TO " : "ROLLBACK TO ");
		put(p, txn->savepoint_word ? "SAVEPOINT " : "");
		put_name(p, txn->savepoint);
		return;
	case SQL_STMT_SAVEPOINT:
		put(p, "SAVEPOINT ");
		put_name(p, txn->savepoint);
		return;
	case SQL_STMT_RELEASE_SAVEPOINT:
		put(p, "RELEASE SAVEPOINT ");
		put_name(p, txn->savepoint);
		return;
	case SQL_STMT_SET_TRANSACTION:
		put_set_transaction(p, txn);
		return;
	default:
		BUG("not a transaction statement: %d", stmt->kind);
	}
}

static void put_xa(struct printer *p, const struct sql_xa *xa)
{
	static const char *const verbs[] = {
		"XA START", "XA END", "XA PREPARE", "XA COMMIT", "XA ROLLBACK", "XA RECOVER"};

	put(p, xa->begin ? "XA BEGIN" : verbs[xa->kind]);
	if (xa->gtrid) {
		put(p, xa->kind == SQL_XA_RECOVER ? " FORMAT = " : " ");
		put_expr(p, xa->gtrid);
	}
	if (xa->bqual) {
		put(p, ", ");
		put_expr(p, xa->bqual);
	}
	if (xa->format_id.ptr) {
		put(p, ", ");
		put_span(p, xa->format_id);
	}
	put(p, xa->join ? " JOIN" : "");
	put(p, xa->resume ? " RESUME" : "");
	put(p, xa->suspend ? " SUSPEND" : "");
	put(p, xa->for_migrate ? " FOR MIGRATE" : "");
	put(p, xa->one_phase ? " ONE PHASE" : "");
	put(p, xa->convert_xid ? " CONVERT XID" : "");
}

static void put_set_item(struct printer *p, const struct sql_set_item *item)
{
	switch (item->kind) {
	case SQL_SET_NAMES:
	case SQL_SET_CHARSET:
		put(p, item->kind == SQL_SET_NAMES ? "NAMES " : "CHARACTER SET ");
		if (item->value)
			put_expr(p, item->value);
		else
			put(p, "DEFAULT");
		if (item->collation.ptr) {
			put(p, " COLLATE ");
			put_string(p, item->collation);
		}
		return;
	case SQL_SET_USER_VAR:
		put(p, "@");
		put_name(p, item->name);
		break;
	case SQL_SET_VARIABLE:
		put(p, item->at_at ? "@@" : "");
		put_scope(p, item->scope, item->at_at ? "." : " ");
		if (item->base.ptr) {
			if (span_ieq_str(item->base, "default"))
				put(p, "DEFAULT");
			else
				put_name(p, item->base);
			put(p, ".");
		}
		put_name(p, item->name);
		break;
	}
	put(p, " = ");
	put_expr(p, item->value);
}

static void put_set(struct printer *p, const struct sql_set *set)
{
	put(p, set->statement ? "SET STATEMENT " : "SET ");
	for (const struct sql_set_item *item = set->items; item; item = item->next) {
		put_set_item(p, item);
		if (item->next)
			put(p, ", ");
	}
	if (set->statement) {
		put(p, " FOR ");
		put_stmt(p, set->statement);
	}
}

static void put_locks_tables(struct printer *p, const struct sql_lock_table *lock)
{
	static const char *const locks[] = {
		" READ", " READ LOCAL", " WRITE", " LOW_PRIORITY WRITE", " WRITE CONCURRENT"};

	put(p, "LOCK TABLES ");
	for (; lock; lock = lock->next) {
		put_table(p, &lock->table);
		if (lock->alias.ptr) {
			put(p, " AS ");
			put_name(p, lock->alias);
		}
		put(p, locks[lock->lock]);
		if (lock->next)
			put(p, ", ");
	}
}

static void put_prepared(struct printer *p, const struct sql_stmt *stmt)
{
	const struct sql_prepared *prep = stmt->u.prepared;

	if (stmt->kind == SQL_STMT_PREPARE) {
		put(p, "PREPARE ");
		put_name(p, prep->name);
		put(p, " FROM ");
		put_expr(p, prep->source);
	} else if (stmt->kind == SQL_STMT_DEALLOCATE) {
		put(p, prep->drop ? "DROP PREPARE " : "DEALLOCATE PREPARE ");
		put_name(p, prep->name);
	} else {
		put(p, prep->immediate ? "EXECUTE IMMEDIATE " : "EXECUTE ");
		if (prep->immediate)
			put_expr(p, prep->source);
		else
			put_name(p, prep->name);
		if (prep->using_args.count) {
			put(p, " USING ");
			put_exprs(p, prep->using_args);
		}
	}
}

static void put_explain(struct printer *p, const struct sql_explain *ex)
{
	put_span(p, ex->words);
	put(p, " ");
	if (ex->statement) {
		put_stmt(p, ex->statement);
	} else {
		put(p, "FOR CONNECTION ");
		put_expr(p, ex->connection);
	}
}

void put_stmt(struct printer *p, const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_EMPTY:
		return;
	case SQL_STMT_SELECT:
		put_query(p, stmt->u.query);
		return;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		put_insert(p, stmt->u.insert, stmt->kind == SQL_STMT_REPLACE);
		return;
	case SQL_STMT_UPDATE:
		put_update(p, stmt->u.update);
		return;
	case SQL_STMT_DELETE:
		put_delete(p, stmt->u.del);
		return;
	case SQL_STMT_DO:
		put(p, "DO ");
		put_exprs(p, stmt->u.exprs);
		return;
	case SQL_STMT_SET:
		put_set(p, stmt->u.set);
		return;
	case SQL_STMT_BEGIN:
	case SQL_STMT_COMMIT:
	case SQL_STMT_ROLLBACK:
	case SQL_STMT_SAVEPOINT:
	case SQL_STMT_ROLLBACK_TO:
	case SQL_STMT_RELEASE_SAVEPOINT:
	case SQL_STMT_SET_TRANSACTION:
		put_txn(p, stmt);
		return;
	case SQL_STMT_XA:
		put_xa(p, stmt->u.xa);
		return;
	case SQL_STMT_CREATE_TABLE:
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_DROP_TABLE:
	case SQL_STMT_DROP_VIEW:
	case SQL_STMT_DROP_SEQUENCE:
	case SQL_STMT_RENAME_TABLE:
	case SQL_STMT_TRUNCATE:
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
		put_ddl(p, stmt);
		return;
	case SQL_STMT_USE:
		put(p, "USE ");
		put_name(p, stmt->u.name);
		return;
	case SQL_STMT_LOCK_TABLES:
		put_locks_tables(p, stmt->u.locks);
		return;
	case SQL_STMT_UNLOCK_TABLES:
		put(p, "UNLOCK TABLES");
		return;
	case SQL_STMT_EXPLAIN:
		put_explain(p, stmt->u.explain);
		return;
	case SQL_STMT_PREPARE:
	case SQL_STMT_EXECUTE:
	case SQL_STMT_DEALLOCATE:
		put_prepared(p, stmt);
		return;
	case SQL_STMT_CREATE_DATABASE:
	case SQL_STMT_DROP_DATABASE:
	case SQL_STMT_KILL:
	case SQL_STMT_HANDLER:
	case SQL_STMT_LOAD_DATA:
	case SQL_STMT_CREATE_VIEW:
	case SQL_STMT_CREATE_TRIGGER:
	case SQL_STMT_DROP_TRIGGER:
	case SQL_STMT_CREATE_SEQUENCE:
	case SQL_STMT_CREATE_ROUTINE:
	case SQL_STMT_DROP_ROUTINE:
	case SQL_STMT_CREATE_OTHER:
	case SQL_STMT_DROP_OTHER:
	case SQL_STMT_ALTER_OTHER:
	case SQL_STMT_TABLE_ADMIN:
	case SQL_STMT_ACCOUNT:
	case SQL_STMT_SHOW:
	case SQL_STMT_HELP:
	case SQL_STMT_CALL:
	case SQL_STMT_COMPOUND:
	case SQL_STMT_FLUSH:
	case SQL_STMT_RESET:
	case SQL_STMT_PURGE:
	case SQL_STMT_REPLICATION:
	case SQL_STMT_BINLOG:
	case SQL_STMT_CACHE_INDEX:
	case SQL_STMT_SIGNAL:
	case SQL_STMT_GET_DIAGNOSTICS:
	case SQL_STMT_PLUGIN:
	case SQL_STMT_BACKUP:
	case SQL_STMT_SHUTDOWN:
	case SQL_STMT_OTHER:
		put_span(p, stmt->opaque);
		return;
	}
}

void sql_print(const struct sql_stmt *stmt, const struct sql_options *opt, struct buf *out)
{
	struct printer p = {out, *opt, false};

	put_stmt(&p, stmt);
}

void sql_print_explicit(const struct sql_stmt *stmt, const struct sql_options *opt, struct buf *out)
{
	struct printer p = {out, *opt, true};

	put_stmt(&p, stmt);
}
