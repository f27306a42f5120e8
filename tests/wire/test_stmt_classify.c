/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes of SQL texts: kinds of statements, isolation levels, passwords. */
#include "../unit/unit.h"

#include <stdio.h>

#include "base/arena.h"
#include "sql/sql.h"
#include "sql/text/stmt_classify.h"
#include "trace/record.h"

static const struct text_dialect usual = {0};

START_TEST(kinds_of_statements)
{
	static const struct {
		const char *text;
		enum stmt_class_kind class;
		const char *name;
	} cases[] = {
		{"select 1", CLASS_READ, NULL},
		{"  \n(select 1) union (select 2)", CLASS_READ, NULL},
		{"with x as (select 1) select * from x", CLASS_READ, NULL},
		{"with x as (select 1) delete from t where a in (select * from x)", CLASS_WRITE,
			NULL},
		{"INSERT INTO t VALUES (1)", CLASS_WRITE, NULL},
		{"load data infile 'x' into table t", CLASS_WRITE, NULL},
		{"begin", CLASS_BEGIN, NULL},
		{"begin work", CLASS_BEGIN, NULL},
		{"begin not atomic commit; select 1; end", CLASS_CALL, NULL},
		{"start transaction read only", CLASS_BEGIN, NULL},
		{"start slave", CLASS_DEFINE, NULL},
		{"-- a comment\ncommit", CLASS_COMMIT, NULL},
		{"# a comment\ncommit", CLASS_COMMIT, NULL},
		{"/* a ; comment */ commit", CLASS_COMMIT, NULL},
		{"/*!50000 commit */", CLASS_COMMIT, NULL},
		{"/*M!100100 commit */", CLASS_COMMIT, NULL},
		{"rollback", CLASS_ROLLBACK, NULL},
		{"rollback to sp", CLASS_ROLLBACK_TO, "sp"},
		{"ROLLBACK WORK TO SAVEPOINT `a``b`", CLASS_ROLLBACK_TO, "a``b"},
		{"savepoint x", CLASS_SAVEPOINT, "x"},
		{"release savepoint x", CLASS_RELEASE, "x"},
		{"xa start 'id'", CLASS_XA_BEGIN, "id"},
		{"xa prepare 'id'", CLASS_XA_PREPARE, "id"},
		{"xa recover", CLASS_NEUTRAL, NULL},
		{"analyze format=json update t set a=1", CLASS_WRITE, NULL},
		{"analyze select 1", CLASS_READ, NULL},
		{"analyze table t", CLASS_DEFINE, NULL},
		{"create table t (a int)", CLASS_DEFINE, NULL},
		{"set password = 'x'", CLASS_DEFINE, NULL},
		{"set names utf8", CLASS_SET, NULL},
		{"set statement max_statement_time=1 for commit", CLASS_UNKNOWN, NULL},
		{"call p()", CLASS_CALL, NULL},
		{"execute immediate 'commit'", CLASS_CALL, NULL},
		{"show tables", CLASS_NEUTRAL, NULL},
		{"selector", CLASS_UNKNOWN, NULL},
		{"", CLASS_NEUTRAL, NULL},
		{"/* only a comment", CLASS_NEUTRAL, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stmt_class class;
		struct span rest, name;

		stmt_classify(span_str(cases[i].text), usual, &class, &rest, &name);
		ck_assert_msg(
			class.kind == cases[i].class, "%s: class %d", cases[i].text, class.kind);
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
		{"set tx_isolation = @old", CLASS_LEVEL_UNREADABLE, 0, 0},
		{"set tx_isolation = default", CLASS_LEVEL_DEFAULT, 0, 0},
		{"set x = 'tx_isolation=2'", 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stmt_class class;
		struct span rest, name;

		stmt_classify(span_str(cases[i].text), usual, &class, &rest, &name);
		ck_assert_int_eq(class.kind, CLASS_SET);
		ck_assert_msg(class.level_session == cases[i].session &&
				      class.level_next == cases[i].next &&
				      class.level_global == cases[i].global,
			"%s: session %d next %d global %d", cases[i].text, class.level_session,
			class.level_next, class.level_global);
	}
}
END_TEST

START_TEST(hidden_levels)
{
	static const struct {
		const char *text;
		bool hides;
	} cases[] = {
		{"prepare s from 'set session transaction isolation level read committed'", true},
		{"execute immediate concat('SET tx_', 'ISOLATION = 1')", true},
		{"create procedure p() set @@session.Transaction_Isolation = @x", true},
		{"isolation set", true},
		{"set isolation", true},
		{"select @@transaction_isolation, @@character_set_client", false},
		{"select isolatio, isolatin, iisolatio from `set`", false},
		{"set innodb_snapshot_isolation = on", false},
		{"set innodb_snapshot_isolation = on, a = 'isolation'", true},
		{"iisolation settt", false},
		{"isoisolation(set)", true},
		{"", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(text_hides_level(span_str(cases[i].text)) == cases[i].hides, "%s",
			cases[i].text);
}
END_TEST

START_TEST(several_statements)
{
	struct span rest =
		SPAN_LIT("select ';' , \"a;\" , `;` /* ; */ -- ;\n ; commit;select\\';' ");
	static const char *const rests[] = {" commit;select\\';' ", "select\\';' ", ""};
	static const uint8_t classes[] = {CLASS_READ, CLASS_COMMIT, CLASS_READ};
	struct stmt_class class;
	struct span name;

	for (size_t i = 0; i < 3; i++) {
		stmt_classify(rest, usual, &class, &rest, &name);
		ck_assert_int_eq(class.kind, classes[i]);
		ck_assert_msg(span_eq_str(rest, rests[i]), "%zu: %.*s", i, SPAN_ARG(rest));
	}
	/* A stored program's semicolons do not end it. */
	stmt_classify(SPAN_LIT("create procedure p() begin select 1; commit; end"), usual, &class,
		&rest, &name);
	ck_assert_uint_eq(rest.len, 0);
	stmt_classify(SPAN_LIT("create procedure p() begin select 1; commit; end"),
		(struct text_dialect){.no_backslash_escapes = true}, &class, &rest, &name);
	ck_assert_uint_eq(rest.len, 0);
	/* Multiplied, not the end of a comment. */
	stmt_classify(SPAN_LIT("select 2*/*';*/3; commit"), usual, &class, &rest, &name);
	ck_assert(span_eq_str(rest, " commit"));
	/* Backslashes and double quotes mean something else in other modes. */
	stmt_classify(SPAN_LIT("select 'a\\'; commit"),
		(struct text_dialect){.no_backslash_escapes = true}, &class, &rest, &name);
	ck_assert(span_eq_str(rest, " commit"));
	stmt_classify(SPAN_LIT("select \"a\\\"; commit"),
		(struct text_dialect){.ansi_quotes = true}, &class, &rest, &name);
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
		{"set password = password(concat('a', \"b\"))",
			"set password = password(concat('***', '***'))"},
		{"select old_password(_utf8'x'), 'y'", "select old_password(_utf8'***'), 'y'"},
		{"insert into u values (1, PASSWORD ('x'), 'y')",
			"insert into u values (1, PASSWORD ('***'), 'y')"},
		{"update u set password = md5(concat('salt', 'x')), a = 'b' where c = 'd'",
			"update u set password = md5(concat('***', '***')), a = 'b' where c = 'd'"},
		{"update u set `password` = 'a' 'b', a = 'c'",
			"update u set `password` = '***' '***', a = 'c'"},
		{"update mysql.user set authentication_string = 'x' where user = 'y'",
			"update mysql.user set authentication_string = '***' where user = '***'"},
		{"insert into `mysql` . servers values ('s', 'h', 'x', 5)",
			"insert into `mysql` . servers values ('***', '***', '***', 5)"},
		{"select 'a' from mysql.time_zone_name where name = 'b'", NULL},
		{"select 'a' from shop.user where name = 'b' -- of mysql", NULL},
		{"execute immediate concat('insert into mysql.', 'servers')",
			"execute immediate concat('***', '***')"},
		{"select 1 /* identified by 'x' */ from t", "select 1 from t"},
		{"select 1 -- password=x", "select 1 "},
		{"select 1 /* resets the password */ from t", NULL},
		{"alter user u identified with caching_sha2_password as X'2441'",
			"alter user u identified with caching_sha2_password as X'***'"},
		{"alter user u identified with caching_sha2_password as 0x2441",
			"alter user u identified with caching_sha2_password as '***'"},
		{"alter user u identified via mysql_native_password as 'a' or ed25519 using 'b'",
			"alter user u identified via mysql_native_password as '***' or ed25519 "
			"using '***'"},
		{"alter user u 2 factor finish registration set challenge_response as 'x'",
			"alter user u 2 factor finish registration set challenge_response as "
			"'***'"},
		{"set password for current_user() = 'new' replace 'old' retain current password",
			"set password for current_user() = '***' replace '***' retain current "
			"password"},
		{"change master 'm' to master_host='h', master_password='x', master_port=3306",
			"change master 'm' to master_host='h', master_password='***', "
			"master_port=3306"},
		{"start group_replication user='u', password='x', default_auth='p'",
			"start group_replication user='u', password='***', default_auth='p'"},
		{"alter server s options (user 'u', password 'x', host 'h')",
			"alter server s options (user 'u', password '***', host 'h')"},
		{"clone instance from 'u'@'h':3306 identified by 'x' data directory = '/d'",
			"clone instance from 'u'@'h':3306 identified by '***' data directory = "
			"'/d'"},
		{"set global wsrep_sst_auth = 'root:x', global a = 'b'",
			"set global wsrep_sst_auth = '***', global a = 'b'"},
		{"set persist authentication_ldap_simple_bind_root_pwd = 'x'",
			"set persist authentication_ldap_simple_bind_root_pwd = '***'"},
		{"set @@global.s3_secret_key = 'x'", "set @@global.s3_secret_key = '***'"},
		{"create table f (a int) engine=federated connection='mysql://u:p@h/d/t'",
			"create table f (a int) engine=federated connection='***'"},
		{"create table s (a int) engine=spider comment='user \"u\", password \"p\"'",
			"create table s (a int) engine=spider comment='***'"},
		{"create table t (password varchar(9) default 'x' comment 'their password')", NULL},
		{"create table t (a int) connection='s/t'", NULL},
		{"select validate_password_strength('x')",
			"select validate_password_strength('***')"},
		{"select keyring_key_store('id', 'AES', 'x')",
			"select keyring_key_store('***', '***', '***')"},
		{"select aes_encrypt(a, 12345), 5 from t",
			"select aes_encrypt(a, '***'), 5 from t"},
		{"set @q = 'alter user u identified by ''x''', @r = 'y'",
			"set @q = '***', @r = 'y'"},
		{"select 1 /*!99999 identified by 'x' */", "select 1 /*!99999 identified by '***' */"},
		{"call run('set password = \\'x\\'')", "call run('***')"},
		{"create procedure p() begin select 1; alter user u identified by 'x'; end",
			"create procedure p() begin select 1; alter user u identified by '***'; "
			"end"},
		{"select password as 'p', replace(a, 'b', 'c') from t", NULL},
		{"select connection_id(), 'a:b@c'", NULL},
		{"alter user u password expire interval 90 day comment 'x'", NULL},
		{"select password, name from users where name = 'bob'", NULL},
		{"insert into users (name, password) values ('bob', 'x')", NULL},
		{"select 'identified by' , 'x'", NULL},
		{"select 1", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT;
		struct text_secrets params;
		bool found;

		found = text_mask_passwords(span_str(cases[i].text), usual, false, &out, &params);
		ck_assert_msg(found == (cases[i].masked != NULL), "%s", cases[i].text);
		if (found)
			ck_assert_str_eq(out.data, cases[i].masked);
		ck_assert(!params.params);
		buf_release(&out);
	}
}
END_TEST

/* In sjis the second byte of many characters is a backslash, or a quote mark of names. */
START_TEST(character_sets)
{
	static const struct {
		enum client_charset set;
		const char *text, *rest;
	} cases[] = {
		{CLIENT_CHARSET_PLAIN, "select '\x95\\'; commit", ""},
		{CLIENT_CHARSET_SJIS, "select '\x95\\'; commit", " commit"},
		{CLIENT_CHARSET_SJIS, "select '\\\x95\\'; commit", " commit"},
		{CLIENT_CHARSET_SJIS, "select `\x83`\x83\\`; commit", " commit"},
		{CLIENT_CHARSET_SJIS, "select \x83`, 1; commit", " commit"},
		/* One byte each: half-width characters, and what is no character. */
		{CLIENT_CHARSET_SJIS, "select '\xb1\\'; commit", ""},
		{CLIENT_CHARSET_SJIS, "select '\x95'; commit", " commit"},
		{CLIENT_CHARSET_BIG5, "select '\xa5\\'; commit", " commit"},
		{CLIENT_CHARSET_BIG5, "select '\x95\\'; commit", ""},
		{CLIENT_CHARSET_GBK, "select '\xbf\\'; commit", " commit"},
		{CLIENT_CHARSET_GB18030, "select '\xbf\\'; commit", " commit"},
		{CLIENT_CHARSET_GB18030, "select '\x81\x30\x81\x30\\'; commit", ""},
	};
	struct text_dialect dialect = usual;
	struct buf out = BUF_INIT;
	struct span rest, name;
	struct stmt_class class;
	struct text_secrets params;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		dialect.charset = (uint8_t)cases[i].set;
		stmt_classify(span_str(cases[i].text), dialect, &class, &rest, &name);
		ck_assert_msg(span_eq_str(rest, cases[i].rest), "%zu: %.*s", i, SPAN_ARG(rest));
	}
	dialect.charset = CLIENT_CHARSET_SJIS;
	ck_assert(text_mask_passwords(
		SPAN_LIT("create user '\x95\\' identified by 'x'"), dialect, false, &out, &params));
	ck_assert_str_eq(out.data, "create user '\x95\\' identified by '***'");
	buf_release(&out);
	ck_assert(client_charset_reads_plain(CLIENT_CHARSET_SJIS, SPAN_LIT("select 'a\\'")));
	ck_assert(!client_charset_reads_plain(CLIENT_CHARSET_SJIS, SPAN_LIT("select '\x95\\'")));
	ck_assert(client_charset_reads_plain(CLIENT_CHARSET_PLAIN, SPAN_LIT("select '\x95\\'")));
}
END_TEST

START_TEST(statements_that_set_the_character_set)
{
	static const struct {
		const char *text;
		unsigned set; /* + 1; 0: none */
	} cases[] = {
		{"set names sjis", CLIENT_CHARSET_SJIS + 1},
		{"SET NAMES 'cp932' COLLATE 'cp932_bin'", CLIENT_CHARSET_SJIS + 1},
		{"set a = 1, names gbk", CLIENT_CHARSET_GBK + 1},
		{"set character set big5", CLIENT_CHARSET_BIG5 + 1},
		{"set charset 'gb18030'", CLIENT_CHARSET_GB18030 + 1},
		{"set names utf8mb4", CLIENT_CHARSET_PLAIN + 1},
		{"set names default", CLIENT_CHARSET_UNKNOWN + 1},
		{"set character_set_client = sjis, a = 1", CLIENT_CHARSET_SJIS + 1},
		{"set @@session.character_set_client := 'latin1'", CLIENT_CHARSET_PLAIN + 1},
		{"/*!40101 SET character_set_client = @saved */", CLIENT_CHARSET_UNKNOWN + 1},
		{"set character_set_client = 33", CLIENT_CHARSET_UNKNOWN + 1},
		{"set global character_set_client = sjis", 0},
		{"set character_set_results = sjis", 0},
		{"set @character_set_client = 'sjis'", 0},
		{"set a = 'names sjis'", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stmt_class class;
		struct span rest, name;

		stmt_classify(span_str(cases[i].text), usual, &class, &rest, &name);
		ck_assert_msg(
			class.charset == cases[i].set, "%s: %u", cases[i].text, class.charset);
	}
	ck_assert_int_eq(
		client_charset_of_collation(13, CLIENT_CHARSET_PLAIN), CLIENT_CHARSET_SJIS);
	ck_assert_int_eq(
		client_charset_of_collation(1024 + 96, CLIENT_CHARSET_PLAIN), CLIENT_CHARSET_SJIS);
	ck_assert_int_eq(client_charset_of_collation(0, CLIENT_CHARSET_GBK), CLIENT_CHARSET_GBK);
	ck_assert_int_eq(
		client_charset_of_collation(255, CLIENT_CHARSET_GBK), CLIENT_CHARSET_PLAIN);
}
END_TEST

/* Comments with a version: only those that this server executes count. */
START_TEST(executable_comments)
{
	static const struct {
		const char *version, *text;
		enum stmt_class_kind class;
	} cases[] = {
		{"8.0.45", "/*!99999 commit */", CLASS_NEUTRAL},
		{"8.0.45", "/*!80045 commit */", CLASS_COMMIT},
		{"8.0.45", "/*!80046 commit */ select 1", CLASS_READ},
		{"8.0.45", "/*!080045 commit */", CLASS_COMMIT},
		{"8.0.45", "/*!100100 commit */", CLASS_NEUTRAL},
		{"8.0.45", "/*M!50000 commit */", CLASS_NEUTRAL},
		{"8.0.45", "/*! commit */", CLASS_COMMIT},
		{"9.7.0", "/*!90700commit */", CLASS_COMMIT},
		{"5.6.24", "/*!50700 commit */", CLASS_NEUTRAL},
		{"5.6.24", "/*!080000 commit */", CLASS_UNKNOWN}, /* a 0, then commit */
		{"10.11.19-MariaDB", "/*!50701 commit */", CLASS_NEUTRAL},
		{"10.11.19-MariaDB", "/*!99999 commit */", CLASS_NEUTRAL},
		{"10.11.19-MariaDB", "/*!50699 commit */", CLASS_COMMIT},
		{"10.11.19-MariaDB", "/*M!50701 commit */", CLASS_COMMIT},
		{"10.11.19-MariaDB", "/*!101119 commit */", CLASS_COMMIT},
		{"10.11.19-MariaDB", "/*!101120 commit */", CLASS_NEUTRAL},
		{"10.11.19-MariaDB", "/*M!110000 commit */ rollback", CLASS_ROLLBACK},
		{"10.11.19-MariaDB", "/*!110000 commit /* inside */ ; */ rollback", CLASS_ROLLBACK},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sql_options options = sql_options_for_server(span_str(cases[i].version));
		struct text_dialect dialect = {
			.flavour = options.flavour, .version = options.version};
		struct stmt_class class;
		struct span rest, name;

		stmt_classify(span_str(cases[i].text), dialect, &class, &rest, &name);
		ck_assert_msg(class.kind == cases[i].class, "%s: %s: class %d", cases[i].version,
			cases[i].text, class.kind);
	}
}
END_TEST

START_TEST(passwords_as_parameters)
{
	struct buf out = BUF_INIT;
	struct text_secrets params;

	ck_assert(
		!text_mask_passwords(SPAN_LIT("set password = password(?)"), usual, false, &out, &params));
	ck_assert(params.params);
	ck_assert(!text_mask_passwords(SPAN_LIT("select aes_encrypt(a, ?)"), usual, false, &out, &params));
	ck_assert(params.params);
	ck_assert(!text_mask_passwords(
		SPAN_LIT("select password from t where a = ?"), usual, false, &out, &params));
	ck_assert(!params.params);
	buf_release(&out);
}
END_TEST

/* Whether the class may say so of a statement that the parser read.  It may always say that it does
 * not know; what it knows must be true. */
static bool agrees(
	enum stmt_class_kind class, const struct sql_stmt *stmt, const struct sql_options *opt)
{
	/* MariaDB's ANALYZE runs what stands after it. */
	if (stmt->kind == SQL_STMT_EXPLAIN && stmt->u.explain->statement &&
		span_ieq_str(span_of(stmt->text.ptr, 7), "analyze"))
		stmt = stmt->u.explain->statement;
	switch (class) {
	case CLASS_UNKNOWN:
	case CLASS_CALL:
		return true;
	case CLASS_READ:
		return sql_stmt_is_read(stmt) || stmt->kind == SQL_STMT_SELECT ||
		       stmt->kind == SQL_STMT_DO || stmt->kind == SQL_STMT_HANDLER;
	case CLASS_WRITE:
		return sql_stmt_is_write(stmt) || stmt->kind == SQL_STMT_CACHE_INDEX;
	case CLASS_BEGIN:
		return stmt->kind == SQL_STMT_BEGIN;
	case CLASS_COMMIT:
		return stmt->kind == SQL_STMT_COMMIT;
	case CLASS_ROLLBACK:
		return stmt->kind == SQL_STMT_ROLLBACK;
	case CLASS_SAVEPOINT:
		return stmt->kind == SQL_STMT_SAVEPOINT;
	case CLASS_ROLLBACK_TO:
		return stmt->kind == SQL_STMT_ROLLBACK_TO;
	case CLASS_RELEASE:
		return stmt->kind == SQL_STMT_RELEASE_SAVEPOINT;
	case CLASS_XA_BEGIN:
	case CLASS_XA_END:
	case CLASS_XA_PREPARE:
	case CLASS_XA_COMMIT:
	case CLASS_XA_ROLLBACK:
		return stmt->kind == SQL_STMT_XA;
	case CLASS_SET:
		return stmt->kind == SQL_STMT_SET || stmt->kind == SQL_STMT_SET_TRANSACTION;
	case CLASS_NEUTRAL:
		return !sql_stmt_is_write(stmt) && !sql_stmt_implicit_commit(stmt, opt) &&
		       (!sql_stmt_is_transaction_control(stmt) ||
			       stmt->kind == SQL_STMT_XA); /* XA RECOVER */
	case CLASS_DEFINE: /* may commit: the server's flags tell whether it did */
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
		struct stmt_class class;
		struct err err;

		arena_clear(&arena);
		if (!sql_parse(&arena, text, &opt, &stmt, &err) || stmt->kind == SQL_STMT_EMPTY)
			continue;
		stmt_classify(text, usual, &class, &rest, &name);
		if (!agrees(class.kind, stmt, &opt))
			ck_abort_msg("%s: class %d, parser %s", line, class.kind,
				sql_stmt_kind_name(stmt->kind));
		compared++;
		known += class.kind != CLASS_UNKNOWN;
	}
	fclose(file);
	arena_release(&arena);
	ck_assert_uint_gt(compared, 500);
	ck_assert_uint_gt(known, compared * 9 / 10);
}
END_TEST

UNIT_MAIN("stmt_classify", agrees_with_the_parser, kinds_of_statements, levels, hidden_levels,
	several_statements, passwords, passwords_as_parameters, character_sets,
	statements_that_set_the_character_set, executable_comments)
