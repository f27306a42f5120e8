/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The quick look at SQL: kinds of statements, isolation levels, passwords. */
#include "../unit/unit.h"

#include <stdio.h>

#include "base/arena.h"
#include "capture/look.h"
#include "sql/sql.h"
#include "trace/record.h"

static const struct look_dialect usual = {false, false};

START_TEST(kinds_of_statements)
{
	static const struct {
		const char *text;
		enum look_class class;
		const char *name;
	} cases[] = {
		{"select 1", LOOK_READ, NULL},
		{"  \n(select 1) union (select 2)", LOOK_READ, NULL},
		{"with x as (select 1) select * from x", LOOK_READ, NULL},
		{"with x as (select 1) delete from t where a in (select * from x)", LOOK_WRITE,
			NULL},
		{"INSERT INTO t VALUES (1)", LOOK_WRITE, NULL},
		{"load data infile 'x' into table t", LOOK_WRITE, NULL},
		{"begin", LOOK_BEGIN, NULL},
		{"begin work", LOOK_BEGIN, NULL},
		{"begin not atomic commit; select 1; end", LOOK_CALL, NULL},
		{"start transaction read only", LOOK_BEGIN, NULL},
		{"start slave", LOOK_DEFINE, NULL},
		{"-- a comment\ncommit", LOOK_COMMIT, NULL},
		{"# a comment\ncommit", LOOK_COMMIT, NULL},
		{"/* a ; comment */ commit", LOOK_COMMIT, NULL},
		{"/*!50000 commit */", LOOK_COMMIT, NULL},
		{"/*M!100100 commit */", LOOK_COMMIT, NULL},
		{"rollback", LOOK_ROLLBACK, NULL},
		{"rollback to sp", LOOK_ROLLBACK_TO, "sp"},
		{"ROLLBACK WORK TO SAVEPOINT `a``b`", LOOK_ROLLBACK_TO, "a``b"},
		{"savepoint x", LOOK_SAVEPOINT, "x"},
		{"release savepoint x", LOOK_RELEASE, "x"},
		{"xa start 'id'", LOOK_XA_BEGIN, "id"},
		{"xa prepare 'id'", LOOK_XA_PREPARE, "id"},
		{"xa recover", LOOK_NEUTRAL, NULL},
		{"analyze format=json update t set a=1", LOOK_WRITE, NULL},
		{"analyze select 1", LOOK_READ, NULL},
		{"analyze table t", LOOK_DEFINE, NULL},
		{"create table t (a int)", LOOK_DEFINE, NULL},
		{"set password = 'x'", LOOK_DEFINE, NULL},
		{"set names utf8", LOOK_SET, NULL},
		{"set statement max_statement_time=1 for commit", LOOK_UNKNOWN, NULL},
		{"call p()", LOOK_CALL, NULL},
		{"execute immediate 'commit'", LOOK_CALL, NULL},
		{"show tables", LOOK_NEUTRAL, NULL},
		{"selector", LOOK_UNKNOWN, NULL},
		{"", LOOK_NEUTRAL, NULL},
		{"/* only a comment", LOOK_NEUTRAL, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct look look;
		struct span rest, name;

		look_at(span_str(cases[i].text), usual, &look, &rest, &name);
		ck_assert_msg(
			look.class == cases[i].class, "%s: class %d", cases[i].text, look.class);
		ck_assert_msg(rest.len == 0, "%s", cases[i].text);
		if (cases[i].name)
			ck_assert_msg(span_eq_str(name, cases[i].name), "%s: %.*s", cases[i].text,
				SPAN_ARG(name));
	}
}
END_TEST

START_TEST(levels)
{
	static const struct {
		const char *text;
		uint8_t session, next, global;
	} cases[] = {
		{"set transaction isolation level read committed", 0, LEVEL_READ_COMMITTED, 0},
		{"set session transaction isolation level serializable", LEVEL_SERIALIZABLE, 0, 0},
		{"SET LOCAL TRANSACTION READ ONLY, ISOLATION LEVEL REPEATABLE\n READ",
			LEVEL_REPEATABLE_READ, 0, 0},
		{"set global transaction isolation level read uncommitted", 0, 0,
			LEVEL_READ_UNCOMMITTED},
		{"set tx_isolation = 'READ-COMMITTED'", LEVEL_READ_COMMITTED, 0, 0},
		{"set transaction_isolation := 'SERIALIZABLE'", LEVEL_SERIALIZABLE, 0, 0},
		{"set @@tx_isolation = 'READ-COMMITTED'", 0, LEVEL_READ_COMMITTED, 0},
		{"set @@session.tx_isolation = 'READ-COMMITTED'", LEVEL_READ_COMMITTED, 0, 0},
		{"set @@global.tx_isolation = 'READ-COMMITTED'", 0, 0, LEVEL_READ_COMMITTED},
		{"set @tx_isolation = 'READ-COMMITTED'", 0, 0, 0},
		{"set a=1, session tx_isolation=2, autocommit=0", LEVEL_REPEATABLE_READ, 0, 0},
		{"set a=f(1,2), tx_isolation=serializable", LEVEL_SERIALIZABLE, 0, 0},
		{"set global a=1, tx_isolation='SERIALIZABLE'", 0, 0, LEVEL_SERIALIZABLE},
		{"set tx_isolation = @old", LOOK_LEVEL_UNREADABLE, 0, 0},
		{"set tx_isolation = default", LOOK_LEVEL_DEFAULT, 0, 0},
		{"set x = 'tx_isolation=2'", 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct look look;
		struct span rest, name;

		look_at(span_str(cases[i].text), usual, &look, &rest, &name);
		ck_assert_int_eq(look.class, LOOK_SET);
		ck_assert_msg(look.level_session == cases[i].session &&
				      look.level_next == cases[i].next &&
				      look.level_global == cases[i].global,
			"%s: session %d next %d global %d", cases[i].text, look.level_session,
			look.level_next, look.level_global);
	}
}
END_TEST

START_TEST(several_statements)
{
	struct span rest =
		SPAN_LIT("select ';' , \"a;\" , `;` /* ; */ -- ;\n ; commit;select\\';' ");
	static const char *const rests[] = {" commit;select\\';' ", "select\\';' ", ""};
	static const uint8_t classes[] = {LOOK_READ, LOOK_COMMIT, LOOK_READ};
	struct look look;
	struct span name;

	for (size_t i = 0; i < 3; i++) {
		look_at(rest, usual, &look, &rest, &name);
		ck_assert_int_eq(look.class, classes[i]);
		ck_assert_msg(span_eq_str(rest, rests[i]), "%zu: %.*s", i, SPAN_ARG(rest));
	}
	/* A stored program's semicolons do not end it. */
	look_at(SPAN_LIT("create procedure p() begin select 1; commit; end"), usual, &look, &rest,
		&name);
	ck_assert_uint_eq(rest.len, 0);
	/* Backslashes and double quotes mean something else in other modes. */
	look_at(SPAN_LIT("select 'a\\'; commit"), (struct look_dialect){true, false}, &look, &rest,
		&name);
	ck_assert(span_eq_str(rest, " commit"));
	look_at(SPAN_LIT("select \"a\\\"; commit"), (struct look_dialect){false, true}, &look,
		&rest, &name);
	ck_assert(span_eq_str(rest, " commit"));
}
END_TEST

START_TEST(passwords)
{
	static const struct {
		const char *text, *masked; /* NULL: nothing to mask */
	} cases[] = {
		{"create user a identified by 'x'", "create user a identified by '***'"},
		{"create user a identified by password '*HASH'",
			"create user a identified by password '***'"},
		{"create user a identified with ed25519 as 'x' require ssl",
			"create user a identified with ed25519 as '***' require ssl"},
		{"create user a identified via ed25519 using password('x') or unix_socket, 'b'@'h' "
		 "identified by \"it''s \\\" y\"",
			"create user a identified via ed25519 using password('***') or "
			"unix_socket, "
			"'b'@'h' identified by '***'"},
		{"alter user a identified by 'new' replace 'old'",
			"alter user a identified by '***' replace '***'"},
		{"grant all on *.* to a identified by 'x' with grant option",
			"grant all on *.* to a identified by '***' with grant option"},
		{"set password = 'x'", "set password = '***'"},
		{"SET PASSWORD FOR 'a'@'b' = PASSWORD('x')",
			"SET PASSWORD FOR 'a'@'b' = PASSWORD('***')"},
		{"change replication source to source_user='u', source_password='x'",
			"change replication source to source_user='u', source_password='***'"},
		{"start slave user='u' password='x'", "start slave user='u' password='***'"},
		{"create server s foreign data wrapper mysql options (password 'x', user 'u')",
			"create server s foreign data wrapper mysql options (password '***', user "
			"'u')"},
		{"select aes_encrypt('text', 'key'), 'other'",
			"select aes_encrypt('***', '***'), 'other'"},
		{"select hex(aes_decrypt(unhex('00'), 0x1234)), 'other'",
			"select hex(aes_decrypt(unhex('***'), '***')), 'other'"},
		{"prepare p from 'set password = ''x'''", "prepare p from '***'"},
		{"create user a identified by 'cut off in the mid",
			"create user a identified by '***'"},
		{"select password, name from users where name = 'bob'", NULL},
		{"insert into users (name, password) values ('bob', 'x')", NULL},
		{"select 'identified by' , 'x'", NULL},
		{"select 1", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT;
		bool params, found;

		found = look_mask(span_str(cases[i].text), usual, &out, &params);
		ck_assert_msg(found == (cases[i].masked != NULL), "%s", cases[i].text);
		if (found)
			ck_assert_str_eq(out.data, cases[i].masked);
		ck_assert(!params);
		buf_release(&out);
	}
}
END_TEST

START_TEST(passwords_as_parameters)
{
	struct buf out = BUF_INIT;
	bool params;

	ck_assert(!look_mask(SPAN_LIT("set password = password(?)"), usual, &out, &params));
	ck_assert(params);
	ck_assert(!look_mask(SPAN_LIT("select aes_encrypt(a, ?)"), usual, &out, &params));
	ck_assert(params);
	ck_assert(!look_mask(SPAN_LIT("select password from t where a = ?"), usual, &out, &params));
	ck_assert(!params);
	buf_release(&out);
}
END_TEST

/* Whether the look may say so of a statement that the parser read.  It may always say that it does
 * not know; what it knows must be true. */
static bool agrees(
	enum look_class class, const struct sql_stmt *stmt, const struct sql_options *opt)
{
	/* MariaDB's ANALYZE runs what stands behind it. */
	if (stmt->kind == SQL_STMT_EXPLAIN && stmt->u.explain->statement &&
		span_ieq_str(span_of(stmt->text.ptr, 7), "analyze"))
		stmt = stmt->u.explain->statement;
	switch (class) {
	case LOOK_UNKNOWN:
	case LOOK_CALL:
		return true;
	case LOOK_READ:
		return sql_stmt_is_read(stmt) || stmt->kind == SQL_STMT_SELECT ||
		       stmt->kind == SQL_STMT_DO || stmt->kind == SQL_STMT_HANDLER;
	case LOOK_WRITE:
		return sql_stmt_is_write(stmt) || stmt->kind == SQL_STMT_CACHE_INDEX;
	case LOOK_BEGIN:
		return stmt->kind == SQL_STMT_BEGIN;
	case LOOK_COMMIT:
		return stmt->kind == SQL_STMT_COMMIT;
	case LOOK_ROLLBACK:
		return stmt->kind == SQL_STMT_ROLLBACK;
	case LOOK_SAVEPOINT:
		return stmt->kind == SQL_STMT_SAVEPOINT;
	case LOOK_ROLLBACK_TO:
		return stmt->kind == SQL_STMT_ROLLBACK_TO;
	case LOOK_RELEASE:
		return stmt->kind == SQL_STMT_RELEASE_SAVEPOINT;
	case LOOK_XA_BEGIN:
	case LOOK_XA_END:
	case LOOK_XA_PREPARE:
	case LOOK_XA_COMMIT:
	case LOOK_XA_ROLLBACK:
		return stmt->kind == SQL_STMT_XA;
	case LOOK_SET:
		return stmt->kind == SQL_STMT_SET || stmt->kind == SQL_STMT_SET_TRANSACTION;
	case LOOK_NEUTRAL:
		return !sql_stmt_is_write(stmt) && !sql_stmt_implicit_commit(stmt, opt) &&
		       (!sql_stmt_is_transaction_control(stmt) ||
			       stmt->kind == SQL_STMT_XA); /* XA RECOVER */
	case LOOK_DEFINE: /* may commit: the server's flags tell whether it did */
		return !sql_stmt_is_transaction_control(stmt) &&
		       (!sql_stmt_is_write(stmt) || sql_stmt_implicit_commit(stmt, opt));
	}
	return false;
}

START_TEST(agrees_with_the_parser)
{
	struct sql_options opt = sql_options_default();
	struct arena arena = ARENA_INIT;
	FILE *file = fopen(STATEMENTS, "r");
	char line[4096];
	unsigned compared = 0, known = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		struct span text = span_of(line, strcspn(line, "\n")), rest, name;
		struct sql_stmt *stmt;
		struct look look;
		struct err err;

		arena_clear(&arena);
		if (!sql_parse(&arena, text, &opt, &stmt, &err) || stmt->kind == SQL_STMT_EMPTY)
			continue;
		look_at(text, usual, &look, &rest, &name);
		if (!agrees(look.class, stmt, &opt))
			ck_abort_msg("%s: look %d, parser %s", line, look.class,
				sql_stmt_kind_name(stmt->kind));
		compared++;
		known += look.class != LOOK_UNKNOWN;
	}
	fclose(file);
	arena_release(&arena);
	ck_assert_uint_gt(compared, 500);
	ck_assert_uint_gt(known, compared * 9 / 10);
}
END_TEST

UNIT_MAIN("look", agrees_with_the_parser, kinds_of_statements, levels, several_statements,
	passwords, passwords_as_parameters)
