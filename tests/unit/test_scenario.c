/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scenario language: reading, every error, printing, importing, and what random input does. */
#include <stdio.h>

#include "scenario/scenario.h"
#include "sql/text/split.h"
#include "unit.h"

#define EXAMPLE                                                                                    \
	"# id: mdev-32898\n"                                                                       \
	"# link: https://jira.mariadb.org/browse/MDEV-32898\n"                                     \
	"# isolation: T1=RR, T2=RC   (RR alone: for all)\n"                                        \
	"# who knows: this is no key, because of the blank\n"                                      \
	"# x-colour: blue: and green\n"                                                            \
	"# https://example.org is no key either\n"                                                 \
	"[setup]\n"                                                                                \
	"create table t(a int primary key, b int);\n"                                              \
	"insert into t values (1,1),(2,2);\n"                                                      \
	"[schedule]\n"                                                                             \
	"T1> begin;\n"                                                                             \
	"T2> begin;\n"                                                                             \
	"T2> select * from t;               -- => (1,1) (2,2)\n"                                   \
	"T1> update t set a=3\n"                                                                   \
	"    where b=2;   -- a remark\n"                                                           \
	"T1> commit; begin; rollback;       -- => ok\n"                                            \
	"# a comment\n"                                                                            \
	"T2> update t set b=3;              -- => blocked, error 1213\n"                           \
	"[final]\n"                                                                                \
	"select * from t;\n"                                                                       \
	"-- => (1,'a;b')\n"                                                                        \
	"-- => (NULL,*)\n"

static struct scenario parse(const char *text)
{
	struct scenario s;
	struct err err;

	if (!scenario_parse(&s, span_str(text), "x.scn", &err))
		ck_abort_msg("%s\nin\n%s", err.text, text);
	return s;
}

static void check_span(struct span s, const char *expected)
{
	if (!span_eq_str(s, expected))
		ck_abort_msg("'%.*s' instead of '%s'", SPAN_ARG(s), expected);
}

START_TEST(the_example_of_the_design)
{
	struct scenario s = parse(EXAMPLE);

	check_span(scenario_meta(&s, "id"), "mdev-32898");
	check_span(scenario_meta(&s, "x-colour"), "blue: and green");
	ck_assert_uint_eq(s.meta_count, 4);
	check_span(s.meta[1].key, "link");
	ck_assert_uint_eq(s.meta[3].place.line, 5);
	ck_assert_uint_eq(s.meta[3].place.column, 3);
	ck_assert_uint_eq(s.setup.count, 2);
	check_span(s.setup.stmts[1].sql, "insert into t values (1,1),(2,2)");
	ck_assert_uint_eq(s.setup.stmts[1].session, SCENARIO_NO_SESSION);
	ck_assert_uint_eq(s.session_count, 2);
	check_span(s.sessions[1].name, "T2");
	ck_assert_int_eq(scenario_level(&s, 0), LEVEL_REPEATABLE_READ);
	ck_assert_int_eq(scenario_level(&s, 1), LEVEL_READ_COMMITTED);
	ck_assert_uint_eq(s.schedule.count, 8);
	check_span(s.schedule.stmts[3].sql, "update t set a=3\n    where b=2");
	ck_assert_uint_eq(s.schedule.stmts[3].place.line, 14);
	ck_assert_uint_eq(s.schedule.stmts[3].place.column, 5);
	ck_assert_int_eq(s.schedule.stmts[3].expect.outcome, SCENARIO_OUTCOME_ANY);
	check_span(s.schedule.stmts[6].sql, "rollback");
	ck_assert_uint_eq(s.schedule.stmts[6].session, 0);
	ck_assert_int_eq(s.schedule.stmts[6].expect.outcome, SCENARIO_OUTCOME_OK);
	ck_assert_uint_eq(s.schedule.stmts[6].expect.count, SCENARIO_ANY_COUNT);
	ck_assert_int_eq(s.schedule.stmts[5].expect.outcome, SCENARIO_OUTCOME_ANY);
	ck_assert_int_eq(s.schedule.stmts[7].expect.blocking, SCENARIO_BLOCKED);
	ck_assert_int_eq(s.schedule.stmts[7].expect.outcome, SCENARIO_OUTCOME_ERROR);
	ck_assert_uint_eq(s.schedule.stmts[7].expect.count, 1213);
	ck_assert_uint_eq(s.final.count, 1);
	ck_assert_uint_eq(s.final.stmts[0].expect.row_count, 2);
	check_span(s.final.stmts[0].expect.rows[0].values[1].bytes, "a;b");
	ck_assert_int_eq(s.final.stmts[0].expect.rows[1].values[0].kind, SCENARIO_VALUE_NULL);
	ck_assert_int_eq(s.final.stmts[0].expect.rows[1].values[1].kind, SCENARIO_VALUE_ANY);
	scenario_release(&s);
}
END_TEST

START_TEST(windows_line_ends_and_a_byte_order_mark)
{
	struct scenario s = parse("\xEF\xBB\xBF# id: a\r\n[schedule]\r\nT1> select 1;  \r\n"
				  "T1> select 2; -- => (2)\r\n");

	check_span(scenario_meta(&s, "id"), "a");
	ck_assert_uint_eq(s.schedule.count, 2);
	check_span(s.schedule.stmts[0].sql, "select 1");
	ck_assert_uint_eq(s.schedule.stmts[1].expect.row_count, 1);
	scenario_release(&s);
	s = parse("\xEF\xBB\xBF[schedule]\nT1> select 1;");
	scenario_release(&s);
}
END_TEST

/* As people write them: remarks after a statement and between two, levels in quotes. */
START_TEST(remarks_are_no_statements)
{
	static const char text[] = "# isolation: \"read committed\"\n"
				   "[setup]\ncreate table t(a int); /* c; */\n"
				   "/* kept */ insert into t values (1); /* d */ -- e\n"
				   "[schedule]\n/* f */\nT1> begin; /* g */\n"
				   "T2> select 1 /* h */ -- i; j\n  where 'x\nT9> select' > a\nand\n"
				   "b> 5; /* k */ # l\nT1> /*! m */;\nT1> /* n */ commit;\n";
	struct scenario s;
	struct err err;

	ck_assert_msg(scenario_parse(&s, span_str(text), "x", &err), "%s", err.text);
	ck_assert_uint_eq(s.level, LEVEL_READ_COMMITTED);
	ck_assert_uint_eq(s.setup.count, 2);
	ck_assert(span_eq_str(s.setup.stmts[1].sql, "/* kept */ insert into t values (1)"));
	ck_assert_uint_eq(s.schedule.count, 4);
	ck_assert_uint_eq(s.session_count, 2);
	ck_assert(span_eq_str(s.schedule.stmts[1].sql,
		"select 1 /* h */ -- i; j\n  where 'x\nT9> select' > a\nand\nb> 5"));
	ck_assert(span_eq_str(s.schedule.stmts[2].sql, "/*! m */"));
	ck_assert(span_eq_str(s.schedule.stmts[3].sql, "/* n */ commit"));
	scenario_release(&s);
}
END_TEST

START_TEST(every_error_has_its_place)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "x:1:1: there is no [schedule]"},
		{"# id: a\n", "x:2:1: there is no [schedule]"},
		{"hello\n", "x:1:1: a line `# key: value`"},
		{"\n  /* c */\n[schedule]\n", "x:2:3: a line `# key: value`"},
		{"[schedule]\n", "x:2:1: the [schedule] is missing or empty"},
		{"[setup]\nselect 1;\n", "x:3:1: the [schedule] is missing or empty"},
		{"[schedule]\nT1> a;\n[schedule]\nT1> a;", "x:3:1: the file has this section"},
		{"[schedule\nT1> a;", "x:1:1: ']' is missing"},
		{"[schedule] T1> a;", "x:1:12: nothing may follow"},
		{"[nonsense]\n", "x:1:1: no section is called so"},
		{"[schedule]\nselect 1;\n", "x:2:1: a schedule line begins with the session"},
		{"[schedule]\nT1>select 1;\n", "x:2:1: a schedule line begins with the session"},
		{"[schedule]\n1T> select 1;\n", "x:2:1: a schedule line begins with the session"},
		{"[schedule]\n/*t*/--!r=: select 1;\n", "x:2:1: a schedule line begins with the session"},
		{"[schedule]\n/*t*/ /*u*/ -- v\nselect 1;\n", "x:2:1: a schedule line begins with the session"},
		{"[schedule]\nT1> ;\n", "x:2:5: an empty statement"},
		{"[schedule]\nT1> /* c */;\n", "x:2:5: an empty statement"},
		{"[schedule]\nT1> a;;\n", "x:2:7: an empty statement"},
		{"[schedule]\nT1> select 1\n", "x:2:5: this statement has no ';'"},
		{"[schedule]\nT1> select 1\nT2> select 2;\n[",
			"x:2:5: this statement has no ';' at its end; line 3 seems"},
		{"[schedule]\nT1> a;\nT1> select 1\nT2> b\n",
			"x:3:5: this statement has no ';' at its end; line 4 seems"},
		{"[schedule]\nT1> a\n[final]\nselect 'x'\n", "x:2:5: this statement has no ';' at "
							     "its end; line 3 seems"},
		{"[schedule]\nT1> select 'a;\n", "x:2:12: this quote is not closed"},
		{"[schedule]\nT1> \xC3\xA4\xC3\xB6 'a;\n", "x:2:8: this quote is not closed"},
		{"[schedule]\nT1> select /* a;\n", "x:2:12: this comment is not closed"},
		{"[schedule]\nT1> delimiter x;\n", "x:2:5: no SQL statement begins like this"},
		{"[schedule]\nT1> [a];\n", "x:2:5: no SQL statement begins like this"},
		{"[setup]\nT1> a;\n", "x:2:1: a session's statement"},
		{"[schedule]\ndelimiter \n", "x:2:1: a delimiter must follow"},
		{"[schedule]\ndelimiter //'\n", "x:2:13: this character cannot"},
		{"[schedule]\ndelimiter /*\n", "x:2:11: the delimiter looks like a comment"},
		{"[schedule]\ndelimiter //\nT1> a;\n", "x:3:5: this statement has no '//'"},
		{"[schedule]\n-- => ok\nT1> a;\n", "x:2:1: an expectation without a statement"},
		{"[setup]\na; -- => ok\n", "x:2:4: statements of the setup have no"},
		{"[schedule]\nT1> a; -- =>\n", "x:2:13: an expectation is `blocked`"},
		{"[schedule]\nT1> a; -- => nonsense\n", "x:2:14: an expectation is `blocked`"},
		{"[schedule]\nT1> a; -- => not\n", "x:2:17: `blocked` must follow"},
		{"[schedule]\nT1> a; -- => blocked,\n", "x:2:22: an expectation is"},
		{"[schedule]\nT1> a; -- => blocked blocked\n", "x:2:22: an expectation is"},
		{"[schedule]\nT1> a; -- => ok 1 2\n", "x:2:19: nothing more is understood"},
		{"[schedule]\nT1> a; -- => ok 99999999999999999999\n", "x:2:17: the number is too"},
		{"[schedule]\nT1> a; -- => error x\n", "x:2:20: nothing more is understood"},
		{"[schedule]\nT1> a; -- => ordered\n", "x:2:21: rows must follow"},
		{"[schedule]\nT1> a; -- => (1,\n", "x:2:17: a value must stand here"},
		{"[schedule]\nT1> a; -- => (,)\n", "x:2:15: a value must stand here"},
		{"[schedule]\nT1> a; -- => (1 2)\n", "x:2:17: ',' or ')' must"},
		{"[schedule]\nT1> a; -- => (1,2) (3)\n", "x:2:22: this row has 1 values"},
		{"[schedule]\nT1> a; -- => (1,2),\n", "x:2:20: a row must stand here"},
		{"[schedule]\nT1> a; -- => ('x)\n", "x:2:15: the string is not closed"},
		{"[schedule]\nT1> a; -- => (x'6')\n", "x:2:17: a pair of hexadecimal"},
		{"[schedule]\nT1> a; -- => (x'61)\n", "x:2:15: the string is not closed"},
		{"[schedule]\nT1> a; -- => (x'61\n", "x:2:15: the string is not closed"},
		{"[schedule]\nT1> a; -- => (-)\n", "x:2:15: a value must stand here"},
		{"[schedule]\nT1> a; -- => ok\n-- => ok\n", "x:3:6: the statement has an exp"},
		{"[schedule]\nT1> a; -- => (1)\n-- => ok\n", "x:3:6: the statement has an exp"},
		{"[schedule]\nT1> a; -- => empty\n-- => (1)\n", "x:3:6: the statement has an exp"},
		{"[schedule]\nT1> a; -- => (1)\n-- => (1,2)\n", "x:3:11: this row has 2 values"},
		{"# isolation: XX\n[schedule]\nT1> a;", "x:1:14: no isolation level"},
		{"# isolation:\n[schedule]\nT1> a;", "x:1:3: no isolation level"},
		{"# isolation: T1=\n[schedule]\nT1> a;", "x:1:17: no isolation level"},
		{"# isolation: RR,\n[schedule]\nT1> a;", "x:1:17: no isolation level"},
		{"# isolation: T9=RR\n[schedule]\nT1> a;", "x:1:14: no session of that name"},
		{"# isolation: RR, T1=RC, T1=RR\n[schedule]\nT1> a;", "x:1:25: the level was"},
		{"# isolation: RR, RC\n[schedule]\nT1> a;", "x:1:18: the level was"},
		{"# node: T9=2\n[schedule]\nT1> a;", "x:1:9: no session of that name"},
		{"# node: T1\n[schedule]\nT1> a;", "x:1:9: a session and the number"},
		{"# node: T1=\n[schedule]\nT1> a;", "x:1:9: a session and the number"},
		{"# node: T1=0\n[schedule]\nT1> a;", "x:1:9: a session and the number"},
		{"# node: T1=1, T2=17\n[schedule]\nT1> a;\nT2> a;", "x:1:15: a session and the"},
		{"# node: T1=x2\n[schedule]\nT1> a;", "x:1:9: a session and the number"},
		{"# node: T1=002\n[schedule]\nT1> a;", "x:1:9: a session and the number"},
		{"# node: T1=1, T1=2\n[schedule]\nT1> a;", "x:1:15: the node was given"},
		{"# node: T1=1\n# node: T1=1\n[schedule]\nT1> a;", "x:2:3: `node` was given"},
		{"# isolation: RR\n# isolation: RR\n[schedule]\nT1> a;", "x:2:3: `isolation` was"},
		{"# server: sql_mode\n[schedule]\nT1> a;", "x:1:11: an option of the server is NAME=VALUE"},
		{"# server: =1\n[schedule]\nT1> a;", "x:1:11: an option of the server"},
		{"# rounds: 0\n[schedule]\nT1> a;", "x:1:11: rounds are a number from 1 to 1000000"},
		{"# rounds: 1000001\n[schedule]\nT1> a;", "x:1:11: rounds are"},
		{"# rounds: 7x\n[schedule]\nT1> a;", "x:1:11: rounds are"},
		{"# rounds: 2\n# rounds: 2\n[schedule]\nT1> a;", "x:2:3: `rounds` was given"},
		{"# id: a\n# id: b\n[schedule]\nT1> a;", "x:2:3: `id` was given already"},
		{"# expect: violated\n[schedule]\nT1> a;", "x:1:11: an expected verdict is"},
		{"# expect: = ok\n[schedule]\nT1> a;", "x:1:11: a release must stand"},
		{"# expect: * = fine\n[schedule]\nT1> a;", "x:1:15: a verdict is"},
		{"# expect: * =\n[schedule]\nT1> a;", "x:1:14: a verdict is"},
		{"# expect: * RR,XX = ok\n[schedule]\nT1> a;", "x:1:16: no isolation level"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scenario s;
		struct err err;

		if (scenario_parse(&s, span_str(cases[i].text), "x", &err)) {
			/* The statement that swallows the next line is legal SQL text. */
			ck_abort_msg("no error in\n%s", cases[i].text);
		}
		if (strncmp(err.text, cases[i].message, strlen(cases[i].message)) != 0)
			ck_abort_msg("'%s' instead of '%s' for\n%s", err.text, cases[i].message,
				cases[i].text);
		ck_assert_int_eq(err.code, ERR_FORMAT);
		ck_assert_uint_eq(s.schedule.count, 0); /* released */
		/* Without a place for the message it still fails. */
		ck_assert(!scenario_parse(&s, span_str(cases[i].text), "x", NULL));
	}
}
END_TEST

START_TEST(limits)
{
	struct scenario s;
	struct err err;
	struct buf text = BUF_INIT;
	uint32_t session;

	ck_assert(!scenario_parse(&s, SPAN_LIT("[schedule]\nT1> a\0b;"), "x", &err));
	ck_assert_str_eq(err.text, "x:2:6: a zero byte: this is not a text file");

	buf_reserve(&text, SCENARIO_TEXT_MAX + 1);
	memset(text.data, ' ', SCENARIO_TEXT_MAX + 1);
	text.len = SCENARIO_TEXT_MAX + 1;
	ck_assert(!scenario_parse(&s, buf_span(&text), "x", &err));
	ck_assert_int_eq(err.code, ERR_LIMIT);

	buf_clear(&text);
	buf_add_str(&text, "[schedule]\n");
	for (int i = 0; i < SCENARIO_SESSION_MAX; i++)
		buf_printf(&text, "T%d> a;\n", i);
	ck_assert(scenario_parse(&s, buf_span(&text), "x", &err));
	ck_assert_uint_eq(s.session_count, SCENARIO_SESSION_MAX);
	ck_assert(!scenario_session(&s, SPAN_LIT("more"), &session, &err));
	ck_assert_int_eq(err.code, ERR_LIMIT);
	scenario_release(&s);
	buf_add_str(&text, "T> a;\n");
	ck_assert(!scenario_parse(&s, buf_span(&text), "x", &err));
	ck_assert_str_eq(err.text, "x:252:1: more than 250 sessions");

	buf_clear(&text);
	buf_add_str(&text, "[schedule]\nT");
	for (int i = 0; i < SCENARIO_NAME_MAX; i++)
		buf_add_char(&text, '1');
	buf_add_str(&text, "> a;\n");
	ck_assert(!scenario_parse(&s, buf_span(&text), "x", &err));
	ck_assert_int_eq(err.code, ERR_LIMIT);

	/* A million statements on one line, and a million lines: linear, or this test is late. */
	buf_clear(&text);
	buf_add_str(&text, "[schedule]\nT1> ");
	for (int i = 0; i < SCENARIO_STMT_MAX; i++)
		buf_add_str(&text, "a;");
	ck_assert(scenario_parse(&s, buf_span(&text), "x", &err));
	ck_assert_uint_eq(s.schedule.count, SCENARIO_STMT_MAX);
	scenario_release(&s);
	buf_add_str(&text, "a;");
	ck_assert(!scenario_parse(&s, buf_span(&text), "x", &err));
	ck_assert_int_eq(err.code, ERR_LIMIT);
	buf_clear(&text);
	buf_add_str(&text, "[schedule]\nT1> a; -- => (1)\n");
	for (int i = 0; i < SCENARIO_STMT_MAX; i++)
		buf_add_str(&text, "-- => (1)\n");
	ck_assert(scenario_parse(&s, buf_span(&text), "x", &err));
	ck_assert_uint_eq(s.schedule.stmts[0].expect.row_count, SCENARIO_STMT_MAX + 1);
	scenario_release(&s);
	buf_release(&text);
}
END_TEST

START_TEST(statements_end_where_the_server_ends_them)
{
	static const struct {
		const char *text, *first;
	} cases[] = {
		{"a;b", "a"},
		{"select 'x;y'; b", "select 'x;y'"},
		{"select 'it''s;'; b", "select 'it''s;'"},
		{"select 'it\\'s;'; b", "select 'it\\'s;'"},
		{"select 'x\\\\'; b", "select 'x\\\\'"},
		{"select \"x;\\\";\"; b", "select \"x;\\\";\""},
		{"select `x;\\`; b", "select `x;\\`"}, /* no escapes in names */
		{"select `x``;`; b", "select `x``;`"},
		{"select 1 -- ;\n; b", "select 1 -- ;\n"},
		{"select 1 --;\n; b", "select 1 --"}, /* two minus signs */
		{"select 1 # ;\n; b", "select 1 # ;\n"},
		{"select 1 /* ; */; b", "select 1 /* ; */"},
		{"select /*! 1; */ 2; b", "select /*! 1; */ 2"},
		{"select 1 /* ' */; b", "select 1 /* ' */"},
		{"select 1 -- '\n; b", "select 1 -- '\n"},
		{"select '/*'; b */", "select '/*'"},
		{"select '-- '; b", "select '-- '"},
		{"select 4/2; b", "select 4/2"},
		{"select 4-1; b", "select 4-1"},
		{"select 1 /*/; */; b", "select 1 /*/; */"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct split split = split_statement(span_str(cases[i].text), 0, SPAN_LIT(";"));

		ck_assert_int_eq(split.state, SPLIT_FOUND);
		check_span(span_of(cases[i].text, split.end), cases[i].first);
	}
	ck_assert_int_eq(
		split_statement(SPAN_LIT("a 'b"), 0, SPAN_LIT(";")).state, SPLIT_OPEN_QUOTE);
	ck_assert_int_eq(
		split_statement(SPAN_LIT("a 'b\\"), 0, SPAN_LIT(";")).state, SPLIT_OPEN_QUOTE);
	ck_assert_int_eq(
		split_statement(SPAN_LIT("a /*"), 0, SPAN_LIT(";")).state, SPLIT_OPEN_COMMENT);
	ck_assert_int_eq(split_statement(SPAN_LIT("a --"), 0, SPAN_LIT(";")).state, SPLIT_END);
	ck_assert(split_statement(SPAN_LIT("a -- b \n "), 0, SPAN_LIT(";")).line_comment);
	ck_assert(!split_statement(SPAN_LIT("a -- b\n c"), 0, SPAN_LIT(";")).line_comment);
}
END_TEST

START_TEST(the_canonical_text)
{
	static const char canonical[] = "# id: mdev-32898\n"
					"# link: https://jira.mariadb.org/browse/MDEV-32898\n"
					"# isolation: T1=RR, T2=RC\n"
					"# x-colour: blue: and green\n"
					"[setup]\n"
					"create table t(a int primary key, b int);\n"
					"insert into t values (1,1),(2,2);\n"
					"[schedule]\n"
					"T1> begin;\n"
					"T2> begin;\n"
					"T2> select * from t; -- => (1,1) (2,2)\n"
					"T1> update t set a=3\n"
					"    where b=2;\n"
					"T1> commit;\n"
					"T1> begin;\n"
					"T1> rollback; -- => ok\n"
					"T2> update t set b=3; -- => blocked, error 1213\n"
					"[final]\n"
					"select * from t; -- => (1,'a;b') (NULL,*)\n";
	struct scenario s = parse(EXAMPLE);
	struct buf out = BUF_INIT;

	scenario_print(&s, &out);
	ck_assert_str_eq(out.data, canonical);
	scenario_release(&s);

	/* A compound statement gets a delimiter of its own. */
	s = parse("[setup]\ndelimiter $$\ncreate trigger x before insert on t for each row begin "
		  "set @a=1; set @b='$$'; end$$\ndelimiter ;\n[schedule]\nT1> select 1 -- x\n;\n");
	buf_clear(&out);
	scenario_print(&s, &out);
	ck_assert_str_eq(out.data,
		"[setup]\ndelimiter //\ncreate trigger x before insert on t for each row begin "
		"set @a=1; set @b='$$'; end\n//\ndelimiter ;\n[schedule]\nT1> select 1 -- x\n;\n");
	scenario_release(&s);

	/* Levels of sessions that send nothing are not in the text; the others in its order. */
	struct scenario_list list;

	ck_assert(scenario_import(&list, SCENARIO_SHAPE_CASE,
		SPAN_LIT("a\n\nRR\nb\n\nRC\nc\n\nSER\n\n2-1\n"), "x", NULL));
	buf_clear(&out);
	scenario_print(&list.scenarios[0], &out);
	ck_assert_str_eq(
		out.data, "# isolation: T2=RC, T1=RR\n[setup]\na;\n[schedule]\nT2> c;\nT1> b;\n");
	scenario_list_release(&list);

	/* Levels that were set after reading are printed. */
	s = parse("# isolation: RR, T2=SER\n# note: n\n[schedule]\nT1> a;\nT2> b;\n");
	s.level = LEVEL_READ_COMMITTED;
	buf_clear(&out);
	scenario_print(&s, &out);
	ck_assert_str_eq(
		out.data, "# isolation: RC, T2=SER\n# note: n\n[schedule]\nT1> a;\nT2> b;\n");
	scenario_release(&s);

	/* Nodes in the same way. */
	s = parse("# node: T1=1,T2=3\n# note: n\n[schedule]\nT2> a;\nT1> b;\nT3> c;\n");
	ck_assert_uint_eq(scenario_nodes(&s), 3);
	s.sessions[2].node = 2;
	buf_clear(&out);
	scenario_print(&s, &out);
	ck_assert_str_eq(out.data,
		"# node: T2=3, T1=1, T3=2\n# note: n\n[schedule]\nT2> a;\nT1> b;\nT3> c;\n");
	scenario_release(&s);
	buf_release(&out);
}
END_TEST

START_TEST(expected_verdicts_by_release)
{
	struct scenario s = parse("# expect: * = ok\n"
				  "# expect: mysql-* RR = violated G-single\n"
				  "# expect: mariadb-10.5 RU,RC,RR = violated G2-item MDEV-1\n"
				  "# expect: mariadb-11.8* repeatable-read = incomplete\n"
				  "[schedule]\nT1> a;\n");
	static const struct {
		const char *release;
		enum txn_level level;
		const char *verdict, *detail;
	} cases[] = {
		{"mysql-9.7", LEVEL_REPEATABLE_READ, "violated", "G-single"},
		{"mysql-9.7", LEVEL_READ_COMMITTED, "ok", ""},
		{"mariadb-10.5", LEVEL_READ_COMMITTED, "violated", "G2-item MDEV-1"},
		{"mariadb-10.5", LEVEL_SERIALIZABLE, "ok", ""},
		{"mariadb-10.5.23", LEVEL_READ_COMMITTED, "ok", ""},
		{"mariadb-11.8", LEVEL_REPEATABLE_READ, "incomplete", ""},
		{"mariadb-11.8-sid", LEVEL_REPEATABLE_READ, "incomplete", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct scenario_verdict *v =
			scenario_verdict(&s, span_str(cases[i].release), cases[i].level);

		ck_assert_ptr_nonnull(v);
		check_span(v->verdict, cases[i].verdict);
		check_span(v->detail, cases[i].detail);
	}
	ck_assert_uint_eq(s.verdicts[2].place.line, 3);
	scenario_release(&s);
	s = parse("# expect: a*b*c = ok\n[schedule]\nT1> a;\n");
	ck_assert_ptr_nonnull(scenario_verdict(&s, SPAN_LIT("aXbXbc"), LEVEL_UNKNOWN));
	ck_assert_ptr_null(scenario_verdict(&s, SPAN_LIT("aXbXb"), LEVEL_UNKNOWN));
	ck_assert_ptr_null(scenario_verdict(&s, SPAN_LIT(""), LEVEL_UNKNOWN));
	scenario_release(&s);
}
END_TEST

START_TEST(level_words)
{
	ck_assert_int_eq(scenario_level_word(SPAN_LIT("rr")), LEVEL_REPEATABLE_READ);
	ck_assert_int_eq(scenario_level_word(SPAN_LIT("READ committed")), LEVEL_READ_COMMITTED);
	ck_assert_int_eq(scenario_level_word(SPAN_LIT("Read_Uncommitted")), LEVEL_READ_UNCOMMITTED);
	ck_assert_int_eq(scenario_level_word(SPAN_LIT("SERIALIZABLE")), LEVEL_SERIALIZABLE);
	ck_assert_int_eq(scenario_level_word(SPAN_LIT("SER")), LEVEL_SERIALIZABLE);
	ck_assert_int_eq(scenario_level_word(SPAN_LIT("")), LEVEL_UNKNOWN);
	ck_assert_int_eq(scenario_level_word(SPAN_LIT("?")), LEVEL_UNKNOWN);
	ck_assert_int_eq(
		scenario_level_word(SPAN_LIT("serializable-but-far-too-long")), LEVEL_UNKNOWN);
}
END_TEST

START_TEST(values_are_compared_as_what_they_are)
{
	struct value text = value_bytes(VALUE_TEXT, SPAN_LIT("abc"));
	struct value number = value_bytes(VALUE_TEXT, SPAN_LIT("1"));
	struct value decimal = value_bytes(VALUE_DECIMAL, SPAN_LIT("-1.50"));
	struct value zero = value_bytes(VALUE_DECIMAL, SPAN_LIT("-0.00"));
	struct value date = value_bytes(VALUE_DATE, SPAN_LIT("2026-11-16"));
	struct value bit = value_bytes(VALUE_BIT, SPAN_LIT("\x01\x02"));
	struct value hashed = value_bytes(VALUE_HASHED, SPAN_LIT("abc"));
	struct value large = value_uint(UINT64_MAX), small = value_int(INT64_MIN);
	struct value real = {.type = VALUE_DOUBLE, .d = 0.1};
	struct value single = {.type = VALUE_FLOAT, .d = (double)0.1f};
	struct value null = {.type = VALUE_NULL};
	const struct {
		const char *expected;
		const struct value *got;
		bool matches;
	} cases[] = {
		{"(NULL)", &null, true},
		{"(NULL)", &text, false},
		{"('')", &null, false},
		{"(0)", &null, false},
		{"(*)", &null, true},
		{"(*)", &hashed, true},
		{"('abc')", &text, true},
		{"(\"abc\")", &text, true},
		{"(x'616263')", &text, true},
		{"('ABC')", &text, false},
		{"('abc')", &hashed, false},
		{"(1)", &number, true},
		{"('1')", &number, true},
		{"(18446744073709551615)", &large, true},
		{"(18446744073709551614)", &large, false},
		{"('18446744073709551615')", &large, true},
		{"(-9223372036854775808)", &small, true},
		{"(9223372036854775808)", &small, false},
		{"(-1.5)", &decimal, true},
		{"(-01.500)", &decimal, true},
		{"('-1.50')", &decimal, true},
		{"(1.5)", &decimal, false},
		{"(-1.51)", &decimal, false},
		{"(-15e-1)", &decimal, true},
		{"(0)", &zero, true},
		{"(-0.0)", &zero, true},
		{"(0.1)", &real, true},
		{"(1e-1)", &real, true},
		{"(0.1000001)", &real, false},
		{"(0.1)", &single, true},
		{"('2026-11-16')", &date, true},
		{"(258)", &bit, true},
		{"(x'0102')", &bit, true},
		{"(257)", &bit, false},
	};
	struct scenario s;

	scenario_init(&s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scenario_expect expect;

		ck_assert(scenario_expect_parse(&s, &expect, span_str(cases[i].expected), NULL));
		if (scenario_value_matches(&expect.rows[0].values[0], cases[i].got) !=
			cases[i].matches)
			ck_abort_msg("case %zu: %s", i, cases[i].expected);
	}
	scenario_release(&s);
}
END_TEST

/* ---- importing ---- */

static struct scenario_list import(enum scenario_shape shape, const char *text)
{
	struct scenario_list list;
	struct err err;

	ck_assert_int_eq(scenario_guess(span_str(text)), shape);
	if (!scenario_import(&list, shape, span_str(text), "x", &err))
		ck_abort_msg("%s\nin\n%s", err.text, text);
	return list;
}

static void check_canonical(const struct scenario *s, const char *expected)
{
	struct buf out = BUF_INIT;

	scenario_print(s, &out);
	ck_assert_str_eq(out.data, expected);
	buf_release(&out);
}

START_TEST(case_files)
{
	struct scenario_list list = import(SCENARIO_SHAPE_CASE,
		"\r\nCREATE TABLE t(a INT)\r\nINSERT INTO t VALUES (1);\r\n\r\n"
		"RR\r\nBEGIN\r\nSELECT * FROM t\r\nCOMMIT\r\n\r\n"
		"SER\r\nBEGIN;\r\nCOMMIT;\r\n\r\n"
		"1-2-1-1-2\r\nEND\r\n\r\n"
		"CREATE TABLE u(b INT)\r\n\r\n"
		"BEGIN\r\nCOMMIT\r\n\r\nROLLBACK\r\n\r\nBEGIN\r\n\r\n1-3-2-1\r\nEND\r\n\r\n"
		"Wrong: something\r\n\r\nseen");

	ck_assert_uint_eq(list.count, 2);
	check_canonical(&list.scenarios[0],
		"# isolation: T1=RR, T2=SER\n[setup]\nCREATE TABLE t(a INT);\n"
		"INSERT INTO t VALUES (1);\n[schedule]\nT1> BEGIN;\nT2> BEGIN;\n"
		"T1> SELECT * FROM t;\nT1> COMMIT;\nT2> COMMIT;\n");
	ck_assert_uint_eq(list.scenarios[0].schedule.stmts[1].place.line, 11);
	ck_assert_uint_eq(list.scenarios[0].schedule.stmts[2].place.line, 7);
	check_canonical(&list.scenarios[1],
		"# note: Wrong: something\n# note: seen\n[setup]\nCREATE TABLE u(b INT);\n"
		"[schedule]\nT1> BEGIN;\nT3> BEGIN;\nT2> ROLLBACK;\nT1> COMMIT;\n");
	scenario_list_release(&list);

	/* Each transaction after its number; a schedule of one number only; then one more case. */
	list = import(SCENARIO_SHAPE_CASE,
		"create table t(a int);\n\n1\nBEGIN;\nCOMMIT;\n\n2\nRC\nBEGIN;\n\n1-2-1\nEND\n\n"
		"create table u(a int);\n\n1\nselect 1;\n\n1\nEND\n");
	ck_assert_uint_eq(list.count, 2);
	check_canonical(&list.scenarios[0],
		"# isolation: T2=RC\n[setup]\ncreate table t(a int);\n"
		"[schedule]\nT1> BEGIN;\nT2> BEGIN;\nT1> COMMIT;\n");
	check_canonical(&list.scenarios[1],
		"[setup]\ncreate table u(a int);\n[schedule]\nT1> select 1;\n");
	scenario_list_release(&list);
}
END_TEST

/* What MariaDB 10.11.19 and MySQL 8.0.45 wrote, and what RQG's executor prints. */
START_TEST(logs_of_what_was_sent)
{
	static const char from_log[] = "[setup]\ncreate table t(a int);\ninsert into t values (1),\n(2);\n[schedule]\n"
				       "c5> begin;\nc6> begin;\nc6> update t set a=3;\nc5> select 1\n + 2;\nc6> commit;\n";
	static const char mariadb[] =
		"/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-0+deb12u1-log (Debian 12). started with:\n"
		"Tcp port: 21068  Unix socket: /run/s.sock\nTime\t\t    Id Command\tArgument\n"
		"261119 22:20:53\t     4 Connect\troot@localhost on  using TCP/IP\n\t\t     4 Query\tcreate database test\n"
		"\t\t     4 Query\tSELECT DATABASE()\n\t\t     4 Init DB\ttest\n\t\t     4 Query\tcreate table t(a int)\n"
		"\t\t     4 Query\tset autocommit=1\n\t\t     4 Query\tinsert into t values (1),\n(2);\n\t\t     4 Quit\t\n"
		"\t\t     5 Connect\troot@localhost on test\n\t\t     5 Query\tbegin\n\t\t     6 Query\tbegin\n"
		"261119 22:20:54\t     6 Query\tupdate t set a=3\n\t\t     5 Query\tselect 1\n + 2\n\t\t     6 Query\tcommit\n";
	static const char mysql[] =
		"2026-11-19T22:20:58.070763Z\t    0 Execute\tCREATE TABLE performance_schema.f(\n`a` BIGINT)\n"
		"2026-11-19T22:20:58.174807Z\t    8 Query\tcreate table t(a int)\n"
		"2026-11-19T22:20:58.180347Z\t    8 Execute\tinsert into t values (1),\n(2)\n"
		"2026-11-19T22:20:58.268609Z\t    5 Query\tbegin\n2026-11-19T22:20:58.344627Z\t    6 Query\tbegin\n"
		"2026-11-19T22:20:58.347985Z\t    6 Query\tupdate t set a=3\n"
		"2026-11-19T22:20:59.049007Z\t    5 Query\tselect 1\n + 2\n2026-11-19T22:20:59.049107Z\t    6 Query\tcommit";
	static const char rqg[] =
		"# 2026-11-19T22:20:58 [4] Starting\n[4] create table t(a int);\n# [4] [sqltrace] ERROR 1062: insert into t values (0);\n"
		"[4] insert into t values (1),\n(2);\n[5] begin;\n[6] begin;\n# 2026-11-19T22:20:59 [6] a remark\n"
		"# [6] [sqltrace] ERROR 1213: update t set a=3;\n[5] select 1\n + 2;\n[6] commit;\n";
	static const struct {
		enum scenario_shape shape;
		const char *text;
	} logs[] = {{SCENARIO_SHAPE_GENERAL_LOG, mariadb}, {SCENARIO_SHAPE_GENERAL_LOG, mysql}, {SCENARIO_SHAPE_RQG, rqg}};
	struct scenario_list list;

	for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
		ck_assert_int_eq(scenario_guess(span_str(logs[i].text)), logs[i].shape);
		list = import(logs[i].shape, logs[i].text);
		check_canonical(&list.scenarios[0], from_log);
		scenario_list_release(&list);
	}
	/* One connection after the other: nothing says what is only preparation. */
	list = import(SCENARIO_SHAPE_RQG, "[1] create table t(a int);\n[2] select 1;\n");
	check_canonical(&list.scenarios[0], "[schedule]\nc1> create table t(a int);\nc2> select 1;\n");
	scenario_list_release(&list);
}
END_TEST

/* As of a program that connects for each statement; in time that grows with their number, not with its square. */
START_TEST(a_log_of_many_connections)
{
	enum { CONNECTIONS = 500000 };
	struct buf text = BUF_INIT;
	struct scenario_list list;

	for (unsigned i = 1; i <= CONNECTIONS; i++)
		buf_printf(&text, "\t\t%u Query\tdelete from t\n", i);
	buf_add_str(&text, "\t\t999998 Query\tbegin\n\t\t999999 Query\tbegin\n\t\t999998 Query\tselect 1\n\t\t999999 Query\tcommit\n");
	buf_add_char(&text, 0);
	list = import(SCENARIO_SHAPE_GENERAL_LOG, text.data);
	ck_assert_uint_eq(list.scenarios[0].setup.count, CONNECTIONS);
	ck_assert_uint_eq(list.scenarios[0].schedule.count, 4);
	scenario_list_release(&list);
	buf_release(&text);
}
END_TEST

START_TEST(prompts)
{
	struct scenario_list list = import(SCENARIO_SHAPE_PROMPT,
		"create table t(a int, b int);\n-- a remark; with a semicolon\n"
		"insert into t values (1,1);\n"
		"   conn_0> SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;\n"
		"   conn_0> begin; select * from t     -- [(1, 1)]\n"
		"        where a\n"
		"        > 0\n"
		"\n"
		"   conn_1> update t set a = 'x;y';  -- done; here\n"
		"conn_0> commit\n");

	ck_assert_uint_eq(list.count, 1);
	check_canonical(&list.scenarios[0],
		"[setup]\ncreate table t(a int, b int);\ninsert into t values (1,1);\n"
		"[schedule]\n"
		"conn_0> SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;\n"
		"conn_0> begin;\n"
		"conn_0> select * from t     -- [(1, 1)]\n        where a\n        > 0;\n"
		"conn_1> update t set a = 'x;y';\n"
		"conn_0> commit;\n");
	ck_assert_uint_eq(list.scenarios[0].schedule.stmts[3].place.line, 9);
	scenario_list_release(&list);
}
END_TEST

START_TEST(marked_sql)
{
	struct scenario_list list =
		import(SCENARIO_SHAPE_MARKED, "create table t(a int); -- the table\n"
					      "/* T1 */ begin;\n/*T2*/ begin;\n"
					      "/* T1: */ update t set a = 1 /* not a mark: T2 */;\n"
					      "-- a remark\n/* session 2 */ select /*+ hint */ 1;\n"
					      "/* T2 */ commit; /* T1 */ commit;\n"
					      "select * from t;\n");

	ck_assert_uint_eq(list.count, 1);
	check_canonical(&list.scenarios[0],
		"[setup]\ncreate table t(a int);\n[schedule]\nT1> begin;\nT2> begin;\n"
		"T1> update t set a = 1 /* not a mark: T2 */;\nsession2> select /*+ hint */ 1;\n"
		"T2> commit;\nT1> commit;\n[final]\nselect * from t;\n");
	scenario_list_release(&list);

	list = import(SCENARIO_SHAPE_MARKED,
		"create table test (id int primary key, v int) engine=innodb;\n\n"
		"set session transaction isolation level read committed; begin; -- T1\n"
		"set session transaction isolation level read committed; begin; -- T2\n"
		"update test set v = ';-- T9' where id = 1; -- T1, BLOCKS\n"
		"commit; # T1. This unblocks T2\n"
		"select * from test; -- T2. Shows 1 => 12\n"
		"commit; -- T2\n");
	check_canonical(&list.scenarios[0],
		"[setup]\ncreate table test (id int primary key, v int) engine=innodb;\n"
		"[schedule]\n"
		"T1> set session transaction isolation level read committed;\nT1> begin;\n"
		"T2> set session transaction isolation level read committed;\nT2> begin;\n"
		"T1> update test set v = ';-- T9' where id = 1;\nT1> commit;\n"
		"T2> select * from test;\nT2> commit;\n");
	scenario_list_release(&list);
}
END_TEST

START_TEST(import_errors_have_their_place)
{
	static const struct {
		enum scenario_shape shape;
		const char *text, *message;
	} cases[] = {
		{SCENARIO_SHAPE_CASE, "", "x:1:1: the case has no schedule"},
		{SCENARIO_SHAPE_CASE, "a\n\nb\n\nEND\n", "x:5:1: the case has no schedule such as"},
		{SCENARIO_SHAPE_CASE, "a\n\nb\n", "x:4:1: the case has no schedule"},
		{SCENARIO_SHAPE_CASE, "a\n\nb\n\n1-3\n", "x:5:3: the case has 1 transactions"},
		{SCENARIO_SHAPE_CASE, "a\n\nb\n\n1-1\n", "x:5:3: transaction 1 has no statement"},
		{SCENARIO_SHAPE_CASE, "a\n\nb\n\n0\n", "x:5:1: the case has 1 transactions"},
		{SCENARIO_SHAPE_CASE, "a\n\nb\nb\n\n1-\n", "x:6:2: a transaction's number must"},
		{SCENARIO_SHAPE_CASE, "a\n\nb\nb\n\n1--1\n", "x:6:3: a transaction's number must"},
		{SCENARIO_SHAPE_CASE, "a\n\nb\nccc\n\n1\n",
			"x:6:1: the schedule leaves out statements of transaction 1, from \"ccc\""},
		{SCENARIO_SHAPE_CASE, "a 'b\n\nb\n\n1\n", "x:1:3: this quote is not closed"},
		{SCENARIO_SHAPE_CASE, "a\n\nb /*\n\n1\n", "x:3:3: this comment is not closed"},
		{SCENARIO_SHAPE_CASE, "a\n\n;\n\n1\n", "x:3:1: an empty statement"},
		{SCENARIO_SHAPE_PROMPT, "create table t(a int);\n", "x:2:1: no statement of a"},
		{SCENARIO_SHAPE_PROMPT, "a;\nT1> 'b\n", "x:2:5: this quote is not closed"},
		{SCENARIO_SHAPE_PROMPT, "a /*\nT1> b\n", "x:1:3: this comment is not closed"},
		{SCENARIO_SHAPE_MARKED, "a;\n", "x:2:1: no statement of a session"},
		{SCENARIO_SHAPE_MARKED, "/* T1 */ a;\nb;\n/* T1 */ c;\n",
			"x:3:10: a session's statement after one without a mark"},
		{SCENARIO_SHAPE_MARKED, "/* T1 */ a 'b;\n", "x:1:12: this quote is not closed"},
		{SCENARIO_SHAPE_MARKED, "/* T1 */ a /*;\n", "x:1:12: this comment is not closed"},
		{SCENARIO_SHAPE_RQG, "# nothing\n", "x:2:1: no statement of a session"},
		{SCENARIO_SHAPE_RQG, "[1] select 1;\n[2] select 'b;\n[1] a;\n", "x:2:12: this quote is not closed"},
		{SCENARIO_SHAPE_SCN, "[schedule]\nT1> ;\n", "x:2:5: an empty statement"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scenario_list list;
		struct err err;

		ck_assert_msg(
			!scenario_import(&list, cases[i].shape, span_str(cases[i].text), "x", &err),
			"no error in\n%s", cases[i].text);
		if (strncmp(err.text, cases[i].message, strlen(cases[i].message)) != 0)
			ck_abort_msg("'%s' instead of '%s' for\n%s", err.text, cases[i].message,
				cases[i].text);
		ck_assert_uint_eq(list.count, 0);
	}
}
END_TEST

/* ---- random ---- */

static uint64_t random_state = 42;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % n);
}

static bool expect_eq(const struct scenario_expect *a, const struct scenario_expect *b)
{
	if (a->blocking != b->blocking || a->outcome != b->outcome || a->ordered != b->ordered ||
		a->count != b->count || a->row_count != b->row_count)
		return false;
	for (uint32_t i = 0; i < a->row_count; i++) {
		if (a->rows[i].count != b->rows[i].count)
			return false;
		for (uint32_t j = 0; j < a->rows[i].count; j++)
			if (a->rows[i].values[j].kind != b->rows[i].values[j].kind ||
				!span_eq(a->rows[i].values[j].bytes, b->rows[i].values[j].bytes))
				return false;
	}
	return true;
}

static bool section_eq(const struct scenario_section *a, const struct scenario_section *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!span_eq(a->stmts[i].sql, b->stmts[i].sql) ||
			a->stmts[i].session != b->stmts[i].session ||
			!expect_eq(&a->stmts[i].expect, &b->stmts[i].expect))
			return false;
	return true;
}

static bool scenario_eq(const struct scenario *a, const struct scenario *b)
{
	if (a->meta_count != b->meta_count || a->session_count != b->session_count ||
		a->level != b->level || a->verdict_count != b->verdict_count)
		return false;
	for (size_t i = 0; i < a->meta_count; i++)
		if (!span_eq(a->meta[i].key, b->meta[i].key) ||
			(!span_eq_str(a->meta[i].key, "isolation") &&
				!span_eq(a->meta[i].value, b->meta[i].value)))
			return false;
	for (size_t i = 0; i < a->session_count; i++)
		if (!span_eq(a->sessions[i].name, b->sessions[i].name) ||
			a->sessions[i].level != b->sessions[i].level)
			return false;
	for (size_t i = 0; i < a->verdict_count; i++)
		if (!span_eq(a->verdicts[i].release, b->verdicts[i].release) ||
			a->verdicts[i].levels != b->verdicts[i].levels ||
			!span_eq(a->verdicts[i].verdict, b->verdicts[i].verdict) ||
			!span_eq(a->verdicts[i].detail, b->verdicts[i].detail))
			return false;
	return section_eq(&a->setup, &b->setup) && section_eq(&a->schedule, &b->schedule) &&
	       section_eq(&a->final, &b->final);
}

/* Prints s, reads it, and compares; then prints again and compares the text. */
static void check_round_trip(const struct scenario *s)
{
	struct scenario again;
	struct buf first = BUF_INIT, second = BUF_INIT;
	struct err err;

	scenario_print(s, &first);
	if (!scenario_parse(&again, buf_span(&first), "again", &err))
		ck_abort_msg("%s\nin\n%s", err.text, first.data);
	if (!scenario_eq(s, &again))
		ck_abort_msg("not the same:\n%s", first.data);
	scenario_print(&again, &second);
	ck_assert_str_eq(first.data, second.data);
	scenario_release(&again);
	buf_release(&first);
	buf_release(&second);
}

/* Pieces that are awkward next to each other. */
static const char *const pieces[] = {"select", " ", "\n", "'a;b'", "\"x\\\"\"", "`q;`", ";", "//",
	"-- c\n", "# c\n", "/* ; */", "/*! 1 */", "1", "--2", "T1> ", "[final]\n", "\r\n",
	"delimiter ;\n", "-- => ok\n", "'it''s'", "\\", "\t", "\xC3\xA4", "/", "-", "a=b", "=>",
	"//1", "*/", "(", ")"};

static void random_sql(struct buf *out)
{
	uint32_t count = 1 + random_below(8);

	buf_clear(out);
	while (count--)
		buf_add_str(out, pieces[random_below(sizeof(pieces) / sizeof(pieces[0]))]);
}

static const char *const expectations[] = {"blocked", "not blocked", "ok", "ok 3", "error",
	"error 1213", "blocked, error 1020", "not blocked, (1)", "empty", "(1,'a\\n''b',NULL,*)",
	"ordered (1) (-2.5e3) (.5)", "blocked empty", "('')", "(x'00ff5c27')", "()", "[ ]",
	"empty set", "[(1, 2), (3, 4)]", "blocked, then ok 1", "blocked then (1)",
	"error 1213: Deadlock found (1"};

START_TEST(random_scenarios_survive_printing)
{
	struct buf sql = BUF_INIT;
	size_t added = 0;

	for (int round = 0; round < 3000; round++) {
		struct scenario s;
		uint32_t session, statements = 1 + random_below(10);
		struct err err;

		scenario_init(&s);
		for (uint32_t i = 0; i < statements; i++) {
			struct scenario_section *section = random_below(3)   ? &s.schedule
							   : random_below(2) ? &s.setup
									     : &s.final;
			char name[16];

			snprintf(name, sizeof(name), "T%u", random_below(4));
			random_sql(&sql);
			session = SCENARIO_NO_SESSION;
			if (section == &s.schedule)
				ck_assert(scenario_session(&s, span_str(name), &session, &err));
			if (!scenario_add(&s, section, session, buf_span(&sql), &err))
				continue; /* an open quote, nothing at all … */
			added++;
			if (section != &s.setup && random_below(2))
				ck_assert(scenario_expect_parse(&s,
					&section->stmts[section->count - 1].expect,
					span_str(expectations[random_below(
						sizeof(expectations) / sizeof(expectations[0]))]),
					&err));
		}
		ck_assert(scenario_session(&s, SPAN_LIT("T0"), &session, &err));
		ck_assert(scenario_add(&s, &s.schedule, session, SPAN_LIT("end"), &err));
		if (random_below(2))
			ck_assert(scenario_add_meta(&s, SPAN_LIT("k"), SPAN_LIT(" v: w "), &err));
		if (random_below(2))
			ck_assert(scenario_add_meta(
				&s, SPAN_LIT("isolation"), SPAN_LIT("RR, T0=RC"), &err));
		if (random_below(2))
			ck_assert(scenario_add_meta(
				&s, SPAN_LIT("expect"), SPAN_LIT("* RR = violated x"), &err));
		/* Sessions are numbered by appearance: one whose statement was refused, or that
		 * appeared first in a refused one, would be numbered otherwise. */
		struct scenario sorted;
		struct buf text = BUF_INIT;

		scenario_print(&s, &text);
		if (!scenario_parse(&sorted, buf_span(&text), "sorted", &err))
			ck_abort_msg("%s\nin\n%s", err.text, text.data);
		ck_assert_uint_eq(sorted.schedule.count, s.schedule.count);
		for (size_t i = 0; i < s.schedule.count; i++) {
			ck_assert(span_eq(sorted.schedule.stmts[i].sql, s.schedule.stmts[i].sql));
			ck_assert(span_eq(sorted.sessions[sorted.schedule.stmts[i].session].name,
				s.sessions[s.schedule.stmts[i].session].name));
			ck_assert(expect_eq(
				&sorted.schedule.stmts[i].expect, &s.schedule.stmts[i].expect));
		}
		ck_assert(section_eq(&sorted.setup, &s.setup));
		ck_assert(section_eq(&sorted.final, &s.final));
		check_round_trip(&sorted);
		scenario_release(&sorted);
		scenario_release(&s);
		buf_release(&text);
	}
	ck_assert_uint_gt(added, 3000);
	buf_release(&sql);
}
END_TEST

/* Damaged files: an error, or a scenario that survives printing. */
START_TEST(damaged_text)
{
	static const char *const seeds[] = {EXAMPLE, "a\n\nRR\nb\nb2\n\nc\n\n1-2-1\nEND\n\nx\n",
		"a;\nconn_0> b; c\nconn_1> d\n", "a;\n/* T1 */ b;\n/* T2 */ c; -- d\ne; -- T1\n",
		"[1] create a;\n[2] b;\nc\n# [3] [sqltrace] ERROR 7: d;\n[2] e;\n",
		"\t\t 4 Query\tcreate a\n261119 22:20:53\t 5 Query\tb\nc\n\t\t 6 Execute\td\n\t\t 5 Query\te\n"};
	size_t good = 0, bad = 0;

	for (int round = 0; round < 20000; round++) {
		struct scenario_list list;
		struct err err;
		struct buf text = BUF_INIT;
		uint32_t changes = 1 + random_below(4);

		buf_add_str(&text, seeds[random_below(ARRAY_LEN(seeds))]);
		while (changes--) {
			size_t at = random_below((uint32_t)text.len);

			if (random_below(2)) {
				text.data[at] = "\n;'\"#-/[]>=( a1"[random_below(15)];
			} else {
				size_t cut = random_below(8);

				cut = cut < text.len - at ? cut : text.len - at - 1;
				memmove(text.data + at, text.data + at + cut, text.len - at - cut);
				text.len -= cut;
			}
		}
		for (int shape = SCENARIO_SHAPE_SCN; shape <= SCENARIO_SHAPE_RQG; shape++) {
			if (!scenario_import(&list, (enum scenario_shape)shape, buf_span(&text),
				    "x", &err)) {
				ck_assert_msg(strncmp(err.text, "x:", 2) == 0, "%s", err.text);
				bad++;
				continue;
			}
			for (size_t i = 0; i < list.count; i++) {
				struct scenario again;
				struct buf out = BUF_INIT;

				scenario_print(&list.scenarios[i], &out);
				if (!scenario_parse(&again, buf_span(&out), "x", &err))
					ck_abort_msg("%s\nin\n%s\nfrom\n%.*s", err.text, out.data,
						SPAN_ARG(buf_span(&text)));
				check_round_trip(&again);
				scenario_release(&again);
				buf_release(&out);
				good++;
			}
			scenario_list_release(&list);
		}
		buf_release(&text);
	}
	ck_assert_uint_gt(good, 1000);
	ck_assert_uint_gt(bad, 1000);
}
END_TEST

UNIT_MAIN("scenario", the_example_of_the_design, windows_line_ends_and_a_byte_order_mark,
	remarks_are_no_statements,
	every_error_has_its_place, limits, statements_end_where_the_server_ends_them,
	the_canonical_text, expected_verdicts_by_release, level_words,
	values_are_compared_as_what_they_are, case_files, logs_of_what_was_sent, a_log_of_many_connections, prompts, marked_sql,
	import_errors_have_their_place, random_scenarios_survive_printing, damaged_text)
