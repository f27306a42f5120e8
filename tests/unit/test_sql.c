/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SQL parser: canonical prints, precedence, errors, limits, classification, tables. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "random_tree.h"
#include "sql/program.h"
#include "sql/sql.h"

static struct sql_options maria(void)
{
	return sql_options_default();
}

static struct sql_options mysql(void)
{
	return sql_options_for_server(SPAN_LIT("8.0.45"));
}

static struct sql_stmt *parse(struct arena *arena, const char *text, const struct sql_options *opt)
{
	struct sql_stmt *stmt;
	struct err err;

	if (!sql_parse(arena, span_str(text), opt, &stmt, &err))
		ck_abort_msg("%s: %s", text, err.text);
	return stmt;
}

/* text -> print, and the print is a fixed point. */
static void prints(const char *text, const char *expected, const struct sql_options *opt)
{
	struct arena arena = ARENA_INIT;
	struct buf out = BUF_INIT, again = BUF_INIT;

	sql_print(parse(&arena, text, opt), opt, &out);
	if (strcmp(out.data ? out.data : "", expected) != 0)
		ck_abort_msg("%s\n  printed  %s\n  expected %s", text, out.data, expected);
	sql_print(parse(&arena, expected, opt), opt, &again);
	ck_assert_str_eq(out.data ? out.data : "", again.data ? again.data : "");
	buf_release(&out);
	buf_release(&again);
	arena_release(&arena);
}

static void refuses(const char *text, const char *message, const struct sql_options *opt)
{
	struct arena arena = ARENA_INIT;
	struct sql_stmt *stmt;
	struct err err;

	if (sql_parse(&arena, span_str(text), opt, &stmt, &err))
		ck_abort_msg("accepted: %s", text);
	if (message && strcmp(err.text, message) != 0)
		ck_abort_msg("%s\n  said     %s\n  expected %s", text, err.text, message);
	arena_release(&arena);
}

struct row {
	const char *text, *print;
};

static void all_print(const struct row *rows, size_t count, const struct sql_options *opt)
{
	for (size_t i = 0; i < count; i++)
		prints(rows[i].text, rows[i].print, opt);
}

START_TEST(queries_print)
{
	static const struct row rows[] = {
		{"select 1", "SELECT 1"},
		{"SELECT a, t.b AS x, db.t.c 'y', * FROM t", NULL},
		{"select a x from db.t as u where a=1 and b<>2",
			"SELECT `a` AS `x` FROM `db`.`t` AS `u` WHERE `a` = 1 AND `b` <> 2"},
		{"select * from t limit 1, 2", "SELECT * FROM `t` LIMIT 2 OFFSET 1"},
		{"select distinct a from t group by a having count(*)>1 order by a desc, b",
			"SELECT DISTINCT `a` FROM `t` GROUP BY `a` HAVING count(*) > 1 ORDER BY "
			"`a` DESC, `b`"},
		{"select * from a join b join c on 1 on 2",
			"SELECT * FROM `a` JOIN (`b` JOIN `c` ON 1) ON 2"},
		{"select * from (a join b) join c on 1",
			"SELECT * FROM (`a` JOIN `b`) JOIN `c` ON 1"},
		{"select * from a left join (b, c) using (x)",
			"SELECT * FROM `a` LEFT JOIN (`b`, `c`) USING (`x`)"},
		{"select * from a natural left outer join b",
			"SELECT * FROM `a` NATURAL LEFT JOIN `b`"},
		{"select 1 union select 2 intersect select 3",
			"SELECT 1 UNION SELECT 2 INTERSECT SELECT 3"},
		{"(select 1 union select 2) intersect select 3 limit 1",
			"(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3 LIMIT 1"},
		{"((select 1 limit 1)) limit 2", "(SELECT 1 LIMIT 1) LIMIT 2"},
		{"((select 1)) limit 2", "SELECT 1 LIMIT 2"},
		{"select 1 union (select 2 union all select 3)",
			"SELECT 1 UNION (SELECT 2 UNION ALL SELECT 3)"},
		{"with recursive x(a) as (select 1 union all select a+1 from x) select * from x",
			"WITH RECURSIVE `x` (`a`) AS (SELECT 1 UNION ALL SELECT `a` + 1 FROM `x`) "
			"SELECT * FROM `x`"},
		{"select * from ((select 1) union select 2) x, ((select 3) y)",
			"SELECT * FROM (SELECT 1 UNION SELECT 2) AS `x`, (SELECT 3) AS `y`"},
		{"select a from t for update skip locked",
			"SELECT `a` FROM `t` FOR UPDATE SKIP LOCKED"},
		{"select a from t lock in share mode nowait",
			"SELECT `a` FROM `t` LOCK IN SHARE MODE NOWAIT"},
		{"select a from t for update wait 5", "SELECT `a` FROM `t` FOR UPDATE WAIT 5"},
		{"select a from t use index (i, primary) ignore key for order by (j)",
			"SELECT `a` FROM `t` USE INDEX (`i`, `PRIMARY`) IGNORE INDEX FOR ORDER BY "
			"(`j`)"},
		{"select /*+ BKA(t) */ a from t", "SELECT /*+ BKA(t) */ `a` FROM `t`"},
		{"select a from t for system_time as of now() x",
			"SELECT `a` FROM `t` FOR SYSTEM_TIME AS OF now() AS `x`"},
		{"select a from (select 1 a) for system_time from '2020-01-01' to timestamp @x = d",
			"SELECT `a` FROM (SELECT 1 AS `a`) FOR SYSTEM_TIME FROM '2020-01-01' TO "
			"TIMESTAMP @`x` AS `d`"},
		{"select unique db.pkg.f(1), mariadb_schema.trim(leading 'x' from a) from t",
			"SELECT DISTINCT `db`.`pkg`.`f`(1), "
			"`mariadb_schema`.trim( leading 'x' from a) FROM `t`"},
		{"select sum(a) over (partition by b order by c rows 1 preceding) from t",
			"SELECT sum(`a`) OVER (PARTITION BY `b` ORDER BY `c` rows 1 preceding) "
			"FROM `t`"},
		{"values (1, 2), (3, 4) order by 1", "VALUES (1, 2), (3, 4) ORDER BY 1"},
		{"select ((select 1) + 1), ((select 1) union select 2)",
			"SELECT (SELECT 1) + 1, (SELECT 1 UNION SELECT 2)"},
		{"select a from t where (a, b) in ((1, 2)) and c in (3)",
			"SELECT `a` FROM `t` WHERE (`a`, `b`) IN ((1, 2)) AND `c` IN (3)"},
	};
	struct sql_options opt = maria();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].print)
			prints(rows[i].text, rows[i].print, &opt);
		else
			refuses(rows[i].text, NULL, &opt);
	}
}
END_TEST

START_TEST(changes_print)
{
	static const struct row rows[] = {
		{"insert t values (1, default), ()", "INSERT INTO `t` VALUES (1, DEFAULT), ()"},
		{"insert ignore into db.t (a) select 1 on duplicate key update a=values(a)+1",
			"INSERT IGNORE INTO `db`.`t` (`a`) SELECT 1 ON DUPLICATE KEY UPDATE `a` = "
			"VALUE(`a`) + 1"},
		{"insert into t set a=1, b:=2 returning *",
			"INSERT INTO `t` SET `a` = 1, `b` = 2 RETURNING *"},
		{"replace into t value (1)", "REPLACE INTO `t` VALUES (1)"},
		{"update t set a=a+1 where b=2 order by c limit 1",
			"UPDATE `t` SET `a` = `a` + 1 WHERE `b` = 2 ORDER BY `c` LIMIT 1"},
		{"update t join u using(a) set t.b=1, u.c=default",
			"UPDATE `t` JOIN `u` USING (`a`) SET `t`.`b` = 1, `u`.`c` = DEFAULT"},
		{"delete from t where a=1 order by b limit 2 returning a",
			"DELETE FROM `t` WHERE `a` = 1 ORDER BY `b` LIMIT 2 RETURNING `a`"},
		{"delete t.*, x from t join u x", "DELETE `t`, `x` FROM `t` JOIN `u` AS `x`"},
		{"delete from t, u using t, u", "DELETE FROM `t`, `u` USING `t`, `u`"},
		{"delete quick ignore from t", "DELETE QUICK IGNORE FROM `t`"},
	};
	struct sql_options opt = maria();

	all_print(rows, ARRAY_LEN(rows), &opt);
}
END_TEST

START_TEST(control_prints)
{
	static const struct row rows[] = {
		{"begin", "BEGIN"},
		{"start transaction read only, with consistent snapshot",
			"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"},
		{"commit work and no chain release", "COMMIT WORK AND NO CHAIN RELEASE"},
		{"rollback to savepoint x", "ROLLBACK TO SAVEPOINT `x`"},
		{"rollback to savepoint", "ROLLBACK TO `savepoint`"},
		{"release savepoint x", "RELEASE SAVEPOINT `x`"},
		{"set local transaction isolation level repeatable read, read write",
			"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE"},
		{"xa start 'a', x'41', 7 join", "XA START 'a', x'41', 7 JOIN"},
		{"xa commit 'a' one phase", "XA COMMIT 'a' ONE PHASE"},
		{"set global x=1, y=on, @a:=2, @@session.z=default",
			"SET GLOBAL `x` = 1, GLOBAL `y` = on, @`a` = 2, @@SESSION.`z` = DEFAULT"},
		{"set names utf8 collate utf8_bin", "SET NAMES 'utf8' COLLATE 'utf8_bin'"},
		{"lock table a read, b as c write", "LOCK TABLES `a` READ, `b` AS `c` WRITE"},
		{"set statement a=1 for select 2", "SET STATEMENT `a` = 1 FOR SELECT 2"},
		{"/*!40101 SET NAMES utf8 */", "SET NAMES 'utf8'"},
		{"/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`h`*/ /*!50003 PROCEDURE p() select 1 */",
			"CREATE DEFINER=`r`@`h` PROCEDURE p() select 1"},
	};
	struct sql_options opt = maria();

	all_print(rows, ARRAY_LEN(rows), &opt);
}
END_TEST

START_TEST(definitions_print)
{
	static const struct row rows[] = {
		{"create table t (a int primary key, b varchar(9) charset utf8 not null default "
		 "'x')",
			"CREATE TABLE `t` (`a` INT PRIMARY KEY, `b` VARCHAR(9) CHARACTER SET "
			"`utf8` "
			"NOT NULL DEFAULT 'x')"},
		{"create table t (a int, key k (a desc), constraint f foreign key (a) references u "
		 "(b) "
		 "on delete cascade) engine=innodb",
			"CREATE TABLE `t` (`a` INT, INDEX `k` (`a` DESC), CONSTRAINT `f` FOREIGN "
			"KEY (`a`) "
			"REFERENCES `u` (`b`) ON DELETE CASCADE) engine = innodb"},
		{"create table t (a int, b int as (a + 1) stored, c datetime default now() on "
		 "update now())",
			"CREATE TABLE `t` (`a` INT, `b` INT GENERATED ALWAYS AS (`a` + 1) STORED, "
			"`c` DATETIME DEFAULT now() ON UPDATE now())"},
		{"create table t (a int) partition by range (a) (partition p values less than (1), "
		 "partition q values less than maxvalue)",
			"CREATE TABLE `t` (`a` INT) PARTITION BY RANGE (`a`) (PARTITION `p` VALUES "
			"LESS "
			"THAN (1), PARTITION `q` VALUES LESS THAN MAXVALUE)"},
		{"alter table t add b int after a, drop key k, engine innodb",
			"ALTER TABLE `t` ADD COLUMN `b` INT AFTER `a`, DROP INDEX `k`, engine = "
			"innodb"},
		{"create unique index i on t (a, b(3))",
			"CREATE UNIQUE INDEX `i` ON `t` (`a`, `b`(3))"},
		{"drop index i on db.t", "DROP INDEX `i` ON `db`.`t`"},
		{"drop table if exists a, b", "DROP TABLE IF EXISTS `a`, `b`"},
		{"rename table a to b, c to d.e", "RENAME TABLE `a` TO `b`, `c` TO `d`.`e`"},
		{"truncate t", "TRUNCATE `t`"},
	};
	struct sql_options opt = maria();

	all_print(rows, ARRAY_LEN(rows), &opt);
}
END_TEST

/* MySQL manual, "Operator Precedence".  The right side says what the left means. */
START_TEST(precedence)
{
	static const struct {
		const char *text, *means;
		uint32_t mode;
	} rows[] = {
		{"1 or 2 xor 3 and not 4", "1 or (2 xor (3 and (not 4)))", 0},
		{"not 1 = 2", "not (1 = 2)", 0},
		{"not 1 = 2", "(not 1) = 2", SQL_MODE_HIGH_NOT_PRECEDENCE},
		{"not a between 1 and 2", "not (a between 1 and 2)", 0},
		{"not a between 1 and 2", "(not a) between 1 and 2", SQL_MODE_HIGH_NOT_PRECEDENCE},
		{"! 1 = 2", "(! 1) = 2", 0},
		{"1 = 2 = 3", "(1 = 2) = 3", 0},
		{"1 = 2 is null", "(1 = 2) is null", 0},
		{"a and b between 1 and 2 and c", "(a and (b between 1 and 2)) and c", 0},
		{"a in (1) = b", "(a in (1)) = b", 0},
		{"a = b in (1)", "a = (b in (1))", 0},
		{"a | b & c << d + e * f ^ g", "a | (b & (c << (d + (e * (f ^ g)))))", 0},
		{"a - b - c", "(a - b) - c", 0},
		{"a * b / c % d div e", "(((a * b) / c) % d) div e", 0},
		{"- a ^ b", "(- a) ^ b", 0},
		{"- a collate x", "- (a collate x)", 0},
		{"a || b and c", "a or (b and c)", 0},
		{"a || b = c", "(a || b) = c", SQL_MODE_PIPES_AS_CONCAT},
		{"a || b ^ c", "(a || b) ^ c", SQL_MODE_PIPES_AS_CONCAT},
		{"binary a = b", "(binary a) = b", 0},
		{"a + interval 1 day + interval 2 day", "(a + interval 1 day) + interval 2 day", 0},
		{"interval 1 day + a", "a + interval 1 day", 0},
		{"a like b = c", "(a like b) = c", 0},
		{"@a := 1 or 2", "@a := (1 or 2)", 0},
		{"a and @b := c and d", "a and (@b := (c and d))", 0},
		{"case a when 1 then 2 end + 1", "(case a when 1 then 2 end) + 1", 0},
		{"a is true is false", "(a is true) is false", 0},
		{"a between 1 and 2 between 3 and 4", "a between 1 and (2 between 3 and 4)", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sql_options opt = maria();
		struct arena arena = ARENA_INIT;
		struct buf a = BUF_INIT, b = BUF_INIT, text = BUF_INIT;

		opt.mode = rows[i].mode;
		buf_printf(&text, "do %s", rows[i].text);
		sql_print(parse(&arena, text.data, &opt), &opt, &a);
		buf_clear(&text);
		buf_printf(&text, "do %s", rows[i].means);
		sql_print(parse(&arena, text.data, &opt), &opt, &b);
		if (strcmp(a.data, b.data) != 0)
			ck_abort_msg("%s: %s against %s", rows[i].text, a.data, b.data);
		buf_release(&a);
		buf_release(&b);
		buf_release(&text);
		arena_release(&arena);
	}
}
END_TEST

START_TEST(modes_change_the_reading)
{
	struct sql_options opt = maria();

	prints("select \"a\"", "SELECT 'a'", &opt);
	prints("select 'a\\'b', 'c''d', '\\%\\_\\n\\q'", "SELECT 'a''b', 'c''d', '\\\\%\\\\_\nq'",
		&opt);
	opt.mode = SQL_MODE_ANSI_QUOTES;
	prints("select \"a\"\"b\"", "SELECT `a\"b`", &opt);
	opt.mode = SQL_MODE_NO_BACKSLASH_ESCAPES;
	prints("select 'a\\', '\\n'", "SELECT 'a\\', '\\n'", &opt);
	opt.mode = 0;
	refuses("select count (*) from t", NULL, &opt);
	opt.mode = SQL_MODE_IGNORE_SPACE;
	prints("select count (*) from t", "SELECT count(*) FROM `t`", &opt);
	ck_assert_uint_eq(
		sql_mode_flags(SPAN_LIT("STRICT_TRANS_TABLES,ANSI_QUOTES")), SQL_MODE_ANSI_QUOTES);
	ck_assert_uint_eq(sql_mode_flags(SPAN_LIT("")), 0);
}
END_TEST

START_TEST(executable_comments)
{
	struct sql_options m = sql_options_for_server(SPAN_LIT("10.11.19-MariaDB-log"));
	struct sql_options y = sql_options_for_server(SPAN_LIT("8.0.45"));

	ck_assert_uint_eq(m.version, 101119);
	ck_assert_uint_eq(y.version, 80045);
	ck_assert_uint_eq(y.flavour, SQL_MYSQL);
	ck_assert_uint_eq(
		sql_options_for_server(SPAN_LIT("5.5.5-10.5.29-MariaDB")).version, 100529);
	prints("select 1 /*!50000 + 2 */", "SELECT 1 + 2", &m);
	prints("select 1 /*!50700 + 2 */", "SELECT 1", &m);
	prints("select 1 /*!50700 + 2 */", "SELECT 1 + 2", &y);
	prints("select 1 /*!80046 + 2 */", "SELECT 1", &y);
	prints("select 1 /*M!100000 + 2 */", "SELECT 1 + 2", &m);
	prints("select 1 /*M!100000 + 2 */", "SELECT 1", &y);
	prints("select 1 /*!101118 + 2 */", "SELECT 1 + 2", &m);
	prints("select 1 /*! + 2 */ /* + 3 */ -- + 4\n # + 5\n", "SELECT 1 + 2", &m);
	refuses("select 1 /*!50000 + 2", NULL, &m);
	refuses("select 1 /* + 2", NULL, &m);
}
END_TEST

START_TEST(literals_keep_their_kind)
{
	static const struct {
		const char *text, *value;
		enum sql_literal_kind kind;
	} rows[] = {
		{"12", "12", SQL_LIT_INT},
		{"1.50", "1.50", SQL_LIT_DECIMAL},
		{".5", ".5", SQL_LIT_DECIMAL},
		{"1e5", "1e5", SQL_LIT_FLOAT},
		{"1.5E-3", "1.5E-3", SQL_LIT_FLOAT},
		{"'a' 'b'", "ab", SQL_LIT_STRING},
		{"_latin1'a'", "a", SQL_LIT_STRING},
		{"n'a'", "a", SQL_LIT_NSTRING},
		{"x'4f'", "4f", SQL_LIT_HEX},
		{"0x4f", "4f", SQL_LIT_HEX},
		{"b'01'", "01", SQL_LIT_BIT},
		{"0b1", "1", SQL_LIT_BIT},
		{"date '2020-01-01'", "2020-01-01", SQL_LIT_DATE},
		{"{ts '2020-01-01 00:00:00'}", "2020-01-01 00:00:00", SQL_LIT_TIMESTAMP},
		{"time'10:00'", "10:00", SQL_LIT_TIME},
		{"null", "", SQL_LIT_NULL},
		{"\\N", "", SQL_LIT_NULL},
		{"true", "", SQL_LIT_TRUE},
	};
	struct sql_options opt = maria();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena arena = ARENA_INIT;
		struct buf text = BUF_INIT;
		struct sql_stmt *stmt;
		struct sql_expr *e;

		buf_printf(&text, "select %s", rows[i].text);
		stmt = parse(&arena, text.data, &opt);
		e = stmt->u.query->u.select.items->expr;
		ck_assert_uint_eq(e->kind, SQL_EXPR_LITERAL);
		ck_assert_uint_eq(e->u.literal.kind, rows[i].kind);
		ck_assert(span_eq_str(e->u.literal.text, rows[i].value) ||
			  (!e->u.literal.text.ptr && !*rows[i].value));
		ck_assert_uint_eq(e->loc.start, 7);
		ck_assert_uint_eq(e->loc.end, text.len);
		if (rows[i].text[0] == '_')
			ck_assert(span_eq_str(e->u.literal.charset, "latin1"));
		buf_release(&text);
		arena_release(&arena);
	}
}
END_TEST

START_TEST(errors_name_the_place)
{
	struct sql_options opt = maria();

	refuses("select from t", "line 1, column 8: expected an expression, found \"from\"", &opt);
	refuses("select *\nfrom t\nwhere",
		"line 3, column 6: expected an expression, found the end", &opt);
	refuses("start transaction with snapshot",
		"line 1, column 24: expected CONSISTENT, found \"snapshot\"", &opt);
	refuses("select '\xc3\xa4', (1",
		"line 1, column 15: expected \")\", \",\", AND, BETWEEN, IN, IS, LIKE, OR ..., "
		"found the end",
		&opt);
	refuses("select 'abc", "line 1, column 8: a quote that opens here is not closed", &opt);
	refuses("select 1; select 2",
		"line 1, column 11: expected one statement only, found \"select\"", &opt);
	refuses("frobnicate", "line 1, column 1: expected a statement, found \"frobnicate\"", &opt);
	refuses("select x'123'",
		"line 1, column 8: wrong or missing digits in a hexadecimal or bit literal", &opt);
}
END_TEST

static void nested(
	const char *open, const char *middle, const char *close, unsigned depth, bool fits)
{
	struct sql_options opt = maria();
	struct arena arena = ARENA_INIT;
	struct buf text = BUF_INIT, out = BUF_INIT;
	struct sql_stmt *stmt;
	struct err err;

	buf_add_str(&text, "select ");
	for (unsigned i = 0; i < depth; i++)
		buf_add_str(&text, open);
	buf_add_str(&text, middle);
	for (unsigned i = 0; i < depth; i++)
		buf_add_str(&text, close);
	if (sql_parse(&arena, buf_span(&text), &opt, &stmt, &err)) {
		ck_assert_msg(fits, "%s x %u fits", open, depth);
		sql_print(stmt, &opt, &out);
	} else {
		ck_assert_msg(!fits, "%s x %u: %s", open, depth, err.text);
		ck_assert_int_eq(err.code, ERR_LIMIT);
	}
	buf_release(&text);
	buf_release(&out);
	arena_release(&arena);
}

START_TEST(nesting_is_bounded)
{
	static const struct {
		const char *open, *middle, *close;
	} rows[] = {
		{"(", "1", ")"},
		{"- ", "1", ""},
		{"not ", "1", ""},
		{"f(", "1", ")"},
		{"(select ", "1", ")"},
		{"case when ", "1", " then 1 end"},
		{"exists (select ", "1", ")"},
		{"1 in (", "1", ")"},
		{"@a := ", "1", ""},
		{"1 from (select ", "1 from t", ") x"},
		{"* from (", "t", ")"},
		{"1 between 1 and ", "1", ""},
		{"{x ", "1", "}"},
		{"a + interval ", "1", " day"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].open, "* from (") != 0) {
			nested(rows[i].open, rows[i].middle, rows[i].close, 50, true);
			nested(rows[i].open, rows[i].middle, rows[i].close, 100000, false);
		}
	}
}
END_TEST

/* Chains are not nesting: an ORM writes thousands of ORs, and printing or walking them must not
 * depend on the C stack. */
START_TEST(chains_may_be_long)
{
	static const struct {
		const char *first, *more;
	} rows[] = {
		{"select 1", " or 1"},
		{"select 1", " + 1"},
		{"select a", " = b"},
		{"select a", " + interval 1 day"},
		{"select 1", " union select 1"},
		{"select * from t", " join t on 1"},
		{"select * from t", ", t"},
		{"select 1", ", 1"},
		{"insert into t values (1)", ", (1)"},
		{"select a", " | 1 & 2"},
	};
	struct sql_options opt = maria();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena arena = ARENA_INIT;
		struct buf text = BUF_INIT, out = BUF_INIT, again = BUF_INIT;
		struct sql_visitor none = {.expr = NULL};
		struct sql_stmt *stmt;

		buf_add_str(&text, rows[i].first);
		for (int n = 0; n < 200000; n++)
			buf_add_str(&text, rows[i].more);
		stmt = parse(&arena, text.data, &opt);
		sql_walk_stmt(stmt, &none);
		sql_print(stmt, &opt, &out);
		sql_print(parse(&arena, out.data, &opt), &opt, &again);
		ck_assert(span_eq(buf_span(&out), buf_span(&again)));
		buf_release(&text);
		buf_release(&out);
		buf_release(&again);
		arena_release(&arena);
	}
}
END_TEST

/* Two minus signs before what is dropped do not become a comment; semicolons after a program are none of
 * it. */
START_TEST(text_kept_as_written)
{
	static const char *const texts[] = {
		"create procedure a --/*c*/", "create procedure a --;", "create procedure a --/*c*/ x",
		"create procedure a();;", "create procedure a() begin select 1; end ; ;",
		"create procedure a() begin select 1;;"};
	static const char *const printed[] = {"create procedure a - -", "create procedure a - -",
		"create procedure a - - x", "create procedure a()",
		"create procedure a() begin select 1; end", "create procedure a() begin select 1"};
	struct sql_options opt = maria();

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct arena arena = ARENA_INIT;
		struct buf once = BUF_INIT, again = BUF_INIT;
		struct sql_stmt *s;
		struct err err;

		ck_assert(sql_parse(&arena, span_str(texts[i]), &opt, &s, &err));
		sql_print(s, &opt, &once);
		ck_assert_str_eq(once.data, printed[i]);
		ck_assert(sql_parse(&arena, buf_span(&once), &opt, &s, &err));
		sql_print(s, &opt, &again);
		ck_assert_str_eq(once.data, again.data);
		buf_release(&once);
		buf_release(&again);
		arena_release(&arena);
	}
}
END_TEST

/* As the servers do (asked of 10.11 and 8.0). */
START_TEST(a_nul_at_the_end)
{
	static const struct {
		const char *text;
		size_t len;
		bool accepted;
	} texts[] = {{"select 1", 9, true}, {"select 1 \0 ;", 12, true}, {"select 1 -- x", 14, true},
		{"select 'a\0'", 11, true}, {"select 1\0", 10, false}, {"select 1\0;", 11, false},
		{"select 1\0 + 1", 13, false}, {"select 1\0select 2", 17, false}};
	struct sql_options opt = sql_options_for_server(SPAN_LIT("8.0.45"));

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct arena arena = ARENA_INIT;
		struct sql_stmt *stmt;
		struct err err;

		ck_assert_msg(sql_parse(&arena, span_of(texts[i].text, texts[i].len), &opt, &stmt, &err) ==
				      texts[i].accepted,
			"text %zu", i);
		arena_release(&arena);
	}
}
END_TEST

START_TEST(several_statements)
{
	struct sql_options opt = maria();
	struct arena arena = ARENA_INIT;
	struct sql_stmt *s;
	struct err err;
	const char *text =
		"select ?, ';' ; ;update t set a=? where b=?;"
		"create procedure p() begin if a then select 1; end if; select 2; end;commit";

	ck_assert(sql_parse_multi(&arena, span_str(text), &opt, &s, &err));
	ck_assert_uint_eq(s->kind, SQL_STMT_SELECT);
	ck_assert_uint_eq(s->params, 1);
	ck_assert(span_eq_str(s->text, "select ?, ';'"));
	s = s->next;
	ck_assert_uint_eq(s->kind, SQL_STMT_UPDATE);
	ck_assert_uint_eq(s->params, 2);
	ck_assert_uint_eq(s->offset, 17);
	ck_assert_uint_eq(s->u.update->where->u.binary.right->u.param, 1);
	s = s->next;
	ck_assert_uint_eq(s->kind, SQL_STMT_CREATE_ROUTINE);
	s = s->next;
	ck_assert_uint_eq(s->kind, SQL_STMT_COMMIT);
	ck_assert_ptr_null(s->next);
	ck_assert(!sql_parse_multi(&arena, SPAN_LIT("select 1;\nselect from"), &opt, &s, &err));
	ck_assert_uint_eq(s->kind, SQL_STMT_SELECT);
	ck_assert_str_eq(err.text, "line 2, column 8: expected an expression, found \"from\"");
	ck_assert_uint_eq(err.offset, 17);
	ck_assert_uint_eq(sql_statement_end(SPAN_LIT("select foo bar baz ';'; next"), &opt), 23);
	ck_assert(sql_parse_multi(&arena, SPAN_LIT(" ; ; "), &opt, &s, &err));
	ck_assert_ptr_null(s);
	arena_release(&arena);
}
END_TEST

START_TEST(classification)
{
	static const struct {
		const char *text;
		bool read, write, locking, ddl, commits, control;
	} rows[] = {
		{"select 1", 1, 0, 0, 0, 0, 0},
		{"select * from t for update", 1, 0, 1, 0, 0, 0},
		{"select * from (select * from t lock in share mode) x", 1, 0, 1, 0, 0, 0},
		{"select 1 into outfile 'x'", 0, 0, 0, 0, 0, 0},
		{"insert into t values (1)", 0, 1, 0, 0, 0, 0},
		{"load data infile 'x' into table t", 0, 1, 0, 0, 0, 0},
		{"set statement a=1 for delete from t", 0, 1, 0, 0, 0, 0},
		{"analyze update t set a=1", 0, 1, 0, 0, 0, 0},
		{"explain update t set a=1", 0, 0, 0, 0, 0, 0},
		{"create table t (a int)", 0, 0, 0, 1, 1, 0},
		{"create temporary table t (a int)", 0, 0, 0, 1, 0, 0},
		{"drop temporary table t", 0, 0, 0, 1, 0, 0},
		{"truncate t", 0, 1, 0, 1, 1, 0},
		{"begin", 0, 0, 0, 0, 1, 1},
		{"commit", 0, 0, 0, 0, 0, 1},
		{"savepoint a", 0, 0, 0, 0, 0, 1},
		{"set autocommit=1", 0, 0, 0, 0, 1, 1},
		{"set autocommit=0", 0, 0, 0, 0, 0, 1},
		{"set @@global.autocommit=1", 0, 0, 0, 0, 0, 1},
		{"set names utf8", 0, 0, 0, 0, 0, 0},
		{"lock tables t read", 0, 0, 0, 0, 1, 0},
		{"flush tables", 0, 0, 0, 0, 1, 0},
		{"grant all on *.* to x", 0, 0, 0, 0, 1, 0},
		{"create user x", 0, 0, 0, 0, 1, 0},
		{"analyze table t", 0, 0, 0, 0, 1, 0},
		{"show tables", 0, 0, 0, 0, 0, 0},
		{"xa start 'a'", 0, 0, 0, 0, 0, 1},
		{"create trigger x before insert on t for each row set @a=1", 0, 0, 0, 1, 1, 0},
	};
	struct sql_options opt = maria();
	struct arena arena = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sql_stmt *s = parse(&arena, rows[i].text, &opt);

		ck_assert_msg(sql_stmt_is_read(s) == rows[i].read, "read: %s", rows[i].text);
		ck_assert_msg(sql_stmt_is_write(s) == rows[i].write, "write: %s", rows[i].text);
		ck_assert_msg(
			!!sql_stmt_locking_read(s) == rows[i].locking, "lock: %s", rows[i].text);
		ck_assert_msg(sql_stmt_is_ddl(s) == rows[i].ddl, "ddl: %s", rows[i].text);
		ck_assert_msg(sql_stmt_implicit_commit(s, &opt) == rows[i].commits, "commit: %s",
			rows[i].text);
		ck_assert_msg(sql_stmt_is_transaction_control(s) == rows[i].control, "control: %s",
			rows[i].text);
	}
	arena_release(&arena);
}
END_TEST

START_TEST(transaction_settings)
{
	static const struct {
		const char *text;
		enum sql_isolation level;
		enum sql_scope scope;
		enum sql_choice autocommit;
		enum sql_access access;
	} rows[] = {
		{"set transaction isolation level serializable", SQL_ISOLATION_SERIALIZABLE,
			SQL_SCOPE_NONE, SQL_UNSAID, SQL_ACCESS_NONE},
		{"set session transaction isolation level read committed, read only",
			SQL_ISOLATION_READ_COMMITTED, SQL_SCOPE_SESSION, SQL_UNSAID,
			SQL_ACCESS_READ_ONLY},
		{"set tx_isolation='REPEATABLE-READ'", SQL_ISOLATION_REPEATABLE_READ,
			SQL_SCOPE_SESSION, SQL_UNSAID, SQL_ACCESS_NONE},
		{"set @@tx_isolation='read-uncommitted'", SQL_ISOLATION_READ_UNCOMMITTED,
			SQL_SCOPE_NONE, SQL_UNSAID, SQL_ACCESS_NONE},
		{"set @@session.transaction_isolation=serializable", SQL_ISOLATION_SERIALIZABLE,
			SQL_SCOPE_SESSION, SQL_UNSAID, SQL_ACCESS_NONE},
		{"set global tx_isolation=1", SQL_ISOLATION_READ_COMMITTED, SQL_SCOPE_GLOBAL,
			SQL_UNSAID, SQL_ACCESS_NONE},
		{"set local transaction_isolation=default", SQL_ISOLATION_DEFAULT,
			SQL_SCOPE_SESSION, SQL_UNSAID, SQL_ACCESS_NONE},
		{"set tx_isolation=@x", SQL_ISOLATION_UNKNOWN, SQL_SCOPE_SESSION, SQL_UNSAID,
			SQL_ACCESS_NONE},
		{"set autocommit=off", SQL_ISOLATION_NONE, SQL_SCOPE_NONE, SQL_NO, SQL_ACCESS_NONE},
		{"set @a=1, session autocommit='ON', tx_read_only=0", SQL_ISOLATION_NONE,
			SQL_SCOPE_NONE, SQL_YES, SQL_ACCESS_READ_WRITE},
		{"set autocommit=1, autocommit=false", SQL_ISOLATION_NONE, SQL_SCOPE_NONE, SQL_NO,
			SQL_ACCESS_NONE},
		{"start transaction read write", SQL_ISOLATION_NONE, SQL_SCOPE_NONE, SQL_UNSAID,
			SQL_ACCESS_READ_WRITE},
	};
	struct sql_options opt = maria();
	struct arena arena = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sql_txn_setting s = sql_stmt_txn_setting(parse(&arena, rows[i].text, &opt));

		ck_assert_msg(s.isolation == rows[i].level, "level: %s", rows[i].text);
		ck_assert_msg(s.isolation_scope == rows[i].scope, "scope: %s", rows[i].text);
		ck_assert_msg(s.autocommit == rows[i].autocommit, "autocommit: %s", rows[i].text);
		ck_assert_msg(s.access == rows[i].access, "access: %s", rows[i].text);
	}
	arena_release(&arena);
}
END_TEST

static void list_table(void *ctx, const struct sql_table_name *table,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	static const char *const kinds[] = {"r", "w", "d"};
	struct buf *out = ctx;

	(void)ref;
	buf_printf(out, "%s%s:%.*s", out->len ? " " : "", kinds[access], SPAN_ARG(table->name));
}

START_TEST(tables_are_named)
{
	static const struct row rows[] = {
		{"select * from a, b join (select * from c) x on a.i in (select i from d)",
			"r:a r:b r:c r:d"},
		{"with a as (select * from b) select * from a, c where exists (select 1 from a)",
			"r:b r:c"},
		{"with a as (select * from a) select * from a", "r:a"},
		{"with recursive a as (select * from a) select * from a", ""},
		{"select * from (with x as (select 1) select * from x) y, x", "r:x"},
		{"insert into a select * from b where c=(select d from e)", "w:a r:b r:e"},
		{"update a join b on a.i=b.i set a.x=b.y", "w:a r:b"},
		{"update a, b set x=1", "w:a w:b"},
		{"delete x from a x join b", "w:a r:b"},
		{"delete from a where i in (select i from b)", "w:a r:b"},
		{"create table a (i int references b(i), foreign key (i) references c(i)) select * "
		 "from d",
			"d:a d:b d:c r:d"},
		{"create view v as select * from t union select * from u", "d:v r:t r:u"},
		{"create trigger x before insert on t for each row set @a=1", "d:t"},
		{"lock tables a read, b write", "d:a d:b"},
		{"load data infile 'x' into table t (a)", "w:t"},
		{"handler t open", "r:t"},
		{"truncate table t", "d:t"},
		{"explain select * from t", "r:t"},
		{"select 1 union select * from a union select * from b order by (select 1 from c)",
			"r:a r:b r:c"},
	};
	struct sql_options opt = maria();
	struct arena arena = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf out = BUF_INIT;

		sql_stmt_tables(parse(&arena, rows[i].text, &opt), list_table, &out);
		ck_assert_msg(strcmp(out.data ? out.data : "", rows[i].print) == 0, "%s: %s",
			rows[i].text, out.data);
		buf_release(&out);
	}
	arena_release(&arena);
}
END_TEST

START_TEST(flavours_differ)
{
	struct sql_options m = maria(), y = mysql();

	prints("select a->'$.x' from t for share of t nowait",
		"SELECT `a`->'$.x' FROM `t` FOR SHARE OF `t` NOWAIT", &y);
	refuses("select a from t for share", NULL, &m);
	prints("insert into t values (1) as n on duplicate key update a=n.a",
		"INSERT INTO `t` VALUES (1) AS `n` ON DUPLICATE KEY UPDATE `a` = `n`.`a`", &y);
	refuses("insert into t values (1) returning a", NULL, &y);
	prints("with x as (select 1) delete from t where a in (table x)",
		"WITH `x` AS (SELECT 1) DELETE FROM `t` WHERE `a` IN (TABLE `x`)", &y);
	prints("values row(1, 2)", "VALUES ROW(1, 2)", &y);
	prints("select rank from t", "SELECT `rank` FROM `t`", &m);
	refuses("select rank from t", NULL, &y);
	refuses("select offset from t", NULL, &m);
	prints("select offset from t", "SELECT `offset` FROM `t`", &y);
	refuses("select a is true is false from t", NULL, &y);
	refuses("select a in (1) in (2) from t", NULL, &y);
	/* MySQL reads two of = < > ! together, and forgets a number without an exponent. */
	prints("select !!1, 1 1.e*2", "SELECT ! 1, 1 * 2", &y);
	prints("select ! !1, 1=!0, 2<=!1", "SELECT ! ! 1, 1 = ! 0, 2 <= ! 1", &m);
	refuses("select 1=!0", NULL, &y);
	refuses("select 2<=!1", NULL, &y);
	struct sql_options nine = sql_options_for_server(SPAN_LIT("9.7.4"));
	prints("select a from t group by cube (a, b)", "SELECT `a` FROM `t` GROUP BY CUBE (`a`, `b`)",
		&nine);
	/* A keyword is no function's name, with a space before `(` either. */
	refuses("select zone(1)", NULL, &nine);
	refuses("select zone ((1,2))", NULL, &nine);
	prints("select zone ((1,2))", "SELECT zone((1, 2))", &m);
	prints("create table t (a int, b int references u (c))",
		"CREATE TABLE `t` (`a` INT, `b` INT REFERENCES `u` (`c`))", &y);
	refuses("create table t (a int, b int references u (c) not null)", NULL, &y);
	refuses("xa start '" "0123456789012345678901234567890123456789012345678901234567890123x'",
		NULL, &m);
}
END_TEST

/* Trees that no parser made: printed, parsed and written out in full they are the same. */
static void round_trips(const struct sql_options *opt, uint64_t seed, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct arena arena = ARENA_INIT;
		struct random_tree r = {&arena, *opt, seed + i, 2 + (int)(i % 5)};
		struct buf text = BUF_INIT, before = BUF_INIT, after = BUF_INIT;
		struct sql_stmt *made = rt_stmt(&r), *read;
		struct err err;

		sql_print(made, opt, &text);
		if (!sql_parse(&arena, buf_span(&text), opt, &read, &err))
			ck_abort_msg("seed %u: %s: %s", i, text.data, err.text);
		sql_print_explicit(made, opt, &before);
		sql_print_explicit(read, opt, &after);
		if (strcmp(before.data, after.data) != 0)
			ck_abort_msg("seed %u: %s\n  made %s\n  read %s", i, text.data, before.data,
				after.data);
		/* The explicit form is SQL too, and says the same. */
		if (!sql_parse(&arena, buf_span(&before), opt, &read, &err))
			ck_abort_msg("seed %u: %s: %s", i, before.data, err.text);
		buf_clear(&after);
		sql_print(read, opt, &after);
		ck_assert_str_eq(text.data, after.data);
		buf_release(&text);
		buf_release(&before);
		buf_release(&after);
		arena_release(&arena);
	}
}

START_TEST(random_trees_survive)
{
	static const uint32_t modes[] = {0, SQL_MODE_ANSI_QUOTES, SQL_MODE_NO_BACKSLASH_ESCAPES,
		SQL_MODE_PIPES_AS_CONCAT, SQL_MODE_HIGH_NOT_PRECEDENCE, SQL_MODE_IGNORE_SPACE, 31};

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct sql_options m = maria(), y = mysql();

		m.mode = y.mode = modes[i];
		round_trips(&m, 1000 * i, 3000);
		round_trips(&y, 1000 * i, 3000);
	}
}
END_TEST

START_TEST(programs_are_read)
{
	static const char text[] =
		"CREATE DEFINER=`root`@`localhost` PROCEDURE `p`(IN `a` INT) BEGIN DECLARE `x` INT DEFAULT 1; "
		"DECLARE CONTINUE HANDLER FOR NOT FOUND SET `x` = 0; `l`: WHILE `x` DO IF `x` > 2 THEN LEAVE `l`; "
		"ELSE CALL q(x); END IF; END WHILE; END";
	struct sql_options opt = maria();
	struct arena arena = ARENA_INIT;
	struct buf deep = BUF_INIT, printed = BUF_INIT;
	struct sql_program *program;
	struct err err;

	if (!sql_parse_program(&arena, span_str(text), &opt, &program, &err))
		ck_abort_msg("%s", err.text);
	sql_print_program(program, &opt, false, &printed);
	ck_assert_str_eq(printed.data, text);
	ck_assert_int_eq(program->kind, SQL_PROGRAM_PROCEDURE);
	ck_assert(!sql_parse_program(&arena, SPAN_LIT("create procedure p() begin select 1 end"), &opt,
		&program, &err));
	ck_assert_int_eq(err.offset, 39); /* END could be an alias */
	buf_add_str(&deep, "create procedure p() ");
	for (unsigned i = 0; i < 100000; i++)
		buf_add_str(&deep, "begin ");
	ck_assert(!sql_parse_program(&arena, buf_span(&deep), &opt, &program, &err));
	ck_assert_int_eq(err.code, ERR_LIMIT);
	buf_release(&deep);
	buf_release(&printed);
	arena_release(&arena);
}
END_TEST

START_TEST(views_keep_their_columns)
{
	static const struct {
		const char *text;
		const char *first;
		enum sql_check_option check;
	} cases[] = {
		{"create or replace view v (k, l) as select 1, 2", "k", SQL_CHECK_NONE},
		{"alter view v as select a from t with local check option", NULL, SQL_CHECK_LOCAL},
		{"create view v as select a from t with check option", NULL, SQL_CHECK_CASCADED},
		{"create view v(x) as (select a from t) with cascaded check option", "x",
			SQL_CHECK_CASCADED},
	};
	struct sql_options opt = maria();
	struct arena arena = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct sql_names *columns;
		struct sql_stmt *stmt;
		struct err err;

		if (!sql_parse(&arena, span_str(cases[i].text), &opt, &stmt, &err))
			ck_abort_msg("%s: %s", cases[i].text, err.text);
		ck_assert_int_eq(stmt->kind, SQL_STMT_CREATE_VIEW);
		ck_assert_int_eq(stmt->u.view->check, cases[i].check);
		columns = stmt->u.view->columns;
		ck_assert(cases[i].first ? columns && span_eq_str(columns->name, cases[i].first) : !columns);
	}
	arena_release(&arena);
}
END_TEST

UNIT_MAIN("sql", queries_print, views_keep_their_columns, changes_print, control_prints, definitions_print, precedence,
	modes_change_the_reading, executable_comments, literals_keep_their_kind,
	errors_name_the_place, nesting_is_bounded, chains_may_be_long, text_kept_as_written,
	several_statements,
	a_nul_at_the_end,
	classification, transaction_settings, tables_are_named, flavours_differ,
	random_trees_survive, programs_are_read)
