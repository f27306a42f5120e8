/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classifies the text of a statement: what kind it is, what it does to transactions and to the
 * isolation level, and where passwords stand in it.  Not a parser: it knows words, strings,
 * comments and brackets, in MySQL's and MariaDB's dialects.  Whether a transaction is open is never
 * taken from here, but from the server's status flags; the class only explains a change of them.
 *
 * Why not formats/sql: the recorder classifies every statement before it passes on.  Of a SELECT,
 * INSERT or UPDATE it needs the first word and one search for "passw" and the like; parsing costs 2
 * to 3 times as much CPU (sysbench's point select: 0.8 us against 0.3 us).  It must say something
 * of a text that is cut off, and of one that the parser refuses; and SET may give three levels at
 * once, or one that only the server knows, which sql_stmt_txn_setting does not tell.  The test
 * `stmt_classify` holds it to the parser: what it says of a statement that parses must be true.
 */
#ifndef SQL_TEXT_STMT_CLASSIFY_H
#define SQL_TEXT_STMT_CLASSIFY_H

#include "base/buf.h"
#include "sql/text/dialect.h"

enum stmt_class_kind {
	CLASS_UNKNOWN, /* may do anything, ending transactions included */
	CLASS_READ,    /* SELECT, VALUES, TABLE, WITH, HANDLER, DO */
	CLASS_WRITE,   /* INSERT, UPDATE, DELETE, REPLACE, LOAD */
	CLASS_DEFINE,  /* DDL, account management, LOCK TABLES: commits before and after */
	CLASS_CALL,    /* CALL and EXECUTE: their content is not known */
	CLASS_BEGIN,
	CLASS_COMMIT,
	CLASS_ROLLBACK,
	CLASS_SAVEPOINT,
	CLASS_ROLLBACK_TO,
	CLASS_RELEASE,
	CLASS_XA_BEGIN,
	CLASS_XA_END,
	CLASS_XA_PREPARE,
	CLASS_XA_COMMIT,
	CLASS_XA_ROLLBACK,
	CLASS_SET,
	CLASS_NEUTRAL, /* SHOW, USE, EXPLAIN, KILL ...: no transaction of its own */
};

/* Packs into 64 bits, to stand beside a prepared statement. */
struct stmt_class {
	uint8_t kind;          /* enum stmt_class_kind */
	uint8_t level_session; /* enum txn_level that a SET gives; 0: none; CLASS_LEVEL_* too */
	uint8_t level_next;
	uint8_t level_global;
	uint8_t charset; /* enum client_charset that a SET NAMES gives + 1; 0: none */
	bool consistent_snapshot : 1;
	bool chain : 1;
	bool sets_autocommit : 1;
	bool locks_tables : 1; /* commits and, without autocommit, begins anew */
	bool secret : 1; /* has or takes a password: parameters are not recorded */
	/* Not from the text: what the options make of it. */
	uint8_t redacted : 2; /* enum redact_reach */
	bool filtered : 1;
	bool hides_level : 1; /* text_hides_level(), and no SET that is understood */
	bool accounts : 1; /* names a table of accounts: text_secrets */
	bool one_query : 1; /* has no query in another: no column of a result is renamed out of sight */
	uint8_t unused[1];
};

enum {
	CLASS_LEVEL_UNREADABLE = 0x40, /* set to something that only the server knows */
	CLASS_LEVEL_DEFAULT = 0x41,    /* set to the global value */
};

/* Classifies the first statement of `text`; *rest is what stands after its semicolon, or empty.
 * *name: of the savepoint or XA transaction, as written; SPAN_NONE: none. */
void stmt_classify(struct span text, struct text_dialect dialect, struct stmt_class *out,
	struct span *rest, struct span *name);
struct text_secrets {
	bool masked;   /* a literal is '***' in place of a password */
	bool params;   /* a parameter is a password */
	bool accounts; /* it names a table of the schema mysql that holds accounts */
};
/* The text without its passwords (sql/text/mask_passwords.c).  Returns false, and leaves `out` alone, when there
 * are none.  A comment that may hold one is left out.  in_mysql: tables without a schema are mysql's. */
bool text_mask_passwords(struct span text, struct text_dialect dialect, bool in_mysql,
	struct buf *out, struct text_secrets *secrets);
/* False: it holds none, in whatever way it is read. */
bool text_may_hold_password(struct span text);
/* The same; texts that name the schema mysql may be about accounts. */
bool text_may_hold_account(struct span text);
/* Whether the schema mysql has a table of this name that holds accounts. */
bool text_is_account_table(struct span name);
/* Whether a text touches a table.  A routine may, and its name may be written like a function's. */
enum text_tables { TEXT_TABLES_NONE, TEXT_TABLES_PERHAPS, TEXT_TABLES_SURE };
enum text_tables text_touches_tables(struct span text, struct text_dialect dialect);
/* Whether the text may hold another one that sets an isolation level, in a string or in a body. */
bool text_hides_level(struct span text);
/* "READ-COMMITTED", "read committed": enum txn_level; CLASS_LEVEL_UNREADABLE when it is none. */
uint8_t text_level(struct span text);

#endif
