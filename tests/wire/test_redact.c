/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redaction and the filter of tables. */
#include "../unit/unit.h"

#include <stdio.h>

#include "base/mem.h"
#include "capture/filter.h"
#include "capture/capture_internal.h"
#include "capture/redact.h"
#include "sql/token.h"
#include "trace/pack.h"
#include "trace/value.h"

static const struct text_dialect usual = {0};

static void init(struct redact *redact, const char *what, enum redact_how how)
{
	struct err err;

	ck_assert_msg(redact_init(redact, what, how, NULL, &err), "%s", err.text);
	memcpy(redact->key, "0123456789abcdef", 16);
}

static char *text_of(const struct redact *redact, const char *sql, bool *ok)
{
	struct buf out = BUF_INIT;

	buf_add_str(&out, "");
	*ok = redact_text(redact, span_str(sql), usual, &out);
	return out.data;
}

START_TEST(literals_are_dropped)
{
	static const struct {
		const char *sql, *left;
		bool ok;
	} cases[] = {
		{"select 1", "select '***'", true},
		{"select a,b from t where c = 'it''s' and d=\"x\\\"y\" and e>1.5e3",
			"select a,b from t where c = '***' and d='***' and e>'***'", true},
		{"insert into t values (-5, +6, 7 - 8, x'41', 0x42, b'1', n'u', _utf8'v', null)",
			"insert into t values ('***', +'***', '***' - '***', '***', '***', '***', "
			"'***', "
			"_utf8'***', null)",
			true},
		{"select a /* secret 'c' */ from t -- secret\n where b in (1,2)",
			"select a from t where b in ('***','***')", true},
		{"select /*!50000 'x', */ a /*!101100 , 'y' */ from t",
			"select '***', a , '***' from t", true},
		{"select - a, -(3) from t", "select - a, -('***') from t", true},
		{"select a from t order by a limit 5, 10", "select a from t order by a limit 5, 10",
			true},
		{"select a from t limit 5; select 5", "select a from t limit 5; select '***'",
			true},
		{"create table t (a varchar(10) default 'x', b decimal(5,2))",
			"create table t (a varchar(10) default '***', b decimal(5,2))", true},
		{"create table t as select 10 as a", "create table t as select '***' as a", true},
		{"set password = '***'", "set password = '***'", true},
		{"select a from t where b = ? and c = 'open",
			"select a from t where b = ? and c =", false},
		{"", "", true},
	};
	struct redact redact;

	init(&redact, "all", REDACT_DROP);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool ok;
		char *text = text_of(&redact, cases[i].sql, &ok);

		ck_assert_str_eq(text ? text : "", cases[i].left);
		ck_assert_msg(ok == cases[i].ok, "%s", cases[i].sql);
		free(text);
	}
	redact_release(&redact);
}
END_TEST

/* Whatever the statement, no string is left in it, and what is left is read the same way again. */
START_TEST(no_string_survives)
{
	struct sql_options opt = sql_options_default();
	FILE *file = fopen(STATEMENTS, "r");
	struct redact redact;
	char line[4096];
	unsigned strings = 0;

	ck_assert_ptr_nonnull(file);
	init(&redact, "all", REDACT_DROP);
	while (fgets(line, sizeof(line), file)) {
		struct buf once = BUF_INIT, twice = BUF_INIT;
		struct scanner scanner;
		struct token t;

		buf_add_str(&once, "");
		if (redact_text(&redact, span_of(line, strcspn(line, "\n")), usual, &once)) {
			opt.version = 999999;
			scan_init(&scanner, once.data, (uint32_t)once.len, &opt);
			while ((t = scan_next(&scanner)).kind != T_EOF && t.kind != T_ERROR) {
				if (t.kind != T_STRING)
					continue;
				strings++;
				if (t.end - t.start != 5 ||
					memcmp(once.data + t.start, "'***'", 5) != 0)
					ck_abort_msg("%s: %s", line, once.data);
			}
			if (!redact_text(&redact, buf_span(&once), usual, &twice) ||
				!span_eq(buf_span(&once), buf_span(&twice)))
				ck_abort_msg("%s: %s, then %s", line, once.data,
					twice.data ? twice.data : "");
		}
		buf_release(&once);
		buf_release(&twice);
	}
	fclose(file);
	redact_release(&redact);
	ck_assert_uint_gt(strings, 300);
}
END_TEST

/* The hash that a literal becomes, as bytes. */
static void literal_hash(const struct redact *redact, const char *literal, unsigned char out[16])
{
	char sql[200], *text, *hex;
	bool ok;

	snprintf(sql, sizeof(sql), "select (%s)", literal);
	text = text_of(redact, sql, &ok);
	hex = strstr(text, "'redacted:");
	ck_assert_msg(ok && hex && strlen(hex) == 10 + 32 + 2, "%s", text);
	for (int i = 0; i < 16; i++) {
		unsigned byte;

		ck_assert_int_eq(sscanf(hex + 10 + 2 * i, "%2x", &byte), 1);
		out[i] = (unsigned char)byte;
	}
	free(text);
}

START_TEST(equal_values_have_equal_hashes)
{
	static const struct {
		const char *literal;
		struct value value;
		bool equal;
	} cases[] = {
		{"5", {.type = VALUE_UINT, .u = 5}, true},
		{"'5'", {.type = VALUE_UINT, .u = 5}, true},
		{"005", {.type = VALUE_UINT, .u = 5}, true},
		{"'05'", {.type = VALUE_UINT, .u = 5}, false},
		{"-5", {.type = VALUE_INT, .i = -5}, true},
		{"- 5", {.type = VALUE_INT, .i = -5}, true},
		{"5", {.type = VALUE_INT, .i = -5}, false},
		{"1.50", {.type = VALUE_DECIMAL, .bytes = {"1.5", 3}}, true},
		{"1.5", {.type = VALUE_DECIMAL, .bytes = {"1.500", 5}}, true},
		{"-.5", {.type = VALUE_DECIMAL, .bytes = {"-0.50", 5}}, true},
		{"3", {.type = VALUE_DECIMAL, .bytes = {"3.00", 4}}, true},
		{"0", {.type = VALUE_DECIMAL, .bytes = {"0.00", 4}}, true},
		{"2.5e3", {.type = VALUE_DOUBLE, .d = 2500}, true},
		{"2500", {.type = VALUE_DOUBLE, .d = 2500}, true},
		{"'a\\'b'", {.type = VALUE_TEXT, .bytes = {"a'b", 3}}, true},
		{"'a''b'", {.type = VALUE_TEXT, .bytes = {"a'b", 3}}, true},
		{"'A'", {.type = VALUE_TEXT, .bytes = {"a", 1}}, false},
		{"x'0041'", {.type = VALUE_BYTES, .bytes = {"\0A", 2}}, true},
		{"0x141", {.type = VALUE_BYTES, .bytes = {"\1A", 2}}, true},
		{"'2026-01-02'", {.type = VALUE_DATE, .bytes = {"2026-01-02", 10}}, true},
	};
	struct redact redact, other;

	init(&redact, "all", REDACT_HASH);
	init(&other, "all", REDACT_HASH);
	other.key[0] ^= 1;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf packed = BUF_INIT;
		unsigned char hash[16], elsewhere[16];
		struct value value;
		struct mp mp;

		literal_hash(&redact, cases[i].literal, hash);
		literal_hash(&other, cases[i].literal, elsewhere);
		ck_assert(memcmp(hash, elsewhere, 16) != 0);
		buf_add_str(&packed, "before");
		value_pack(&packed, &cases[i].value);
		redact_packed(&redact, &packed, 6);
		mp = mp_over(span_of(packed.data + 6, packed.len - 6));
		ck_assert(value_read(&mp, &value) && mp.p == mp.end);
		ck_assert_int_eq(value.type, VALUE_HASHED);
		ck_assert_uint_eq(value.bytes.len, 16);
		ck_assert_msg((memcmp(hash, value.bytes.ptr, 16) == 0) == cases[i].equal, "%s",
			cases[i].literal);
		buf_release(&packed);
	}
	redact_release(&redact);
	redact_release(&other);
}
END_TEST

/* A worker that writes nothing, and a session of it. */
static void session_of(struct capture *c, struct capture_worker *worker, struct capture_config *config)
{
	static struct capture_node node = {.name = "n"};

	capture_worker_open(worker, config, NULL, 0, 1);
	capture_open(c, worker, &node, 1, "client");
}

static void end_session(struct capture *c, struct capture_worker *worker)
{
	c->muted = true;
	capture_close(c, CLOSE_QUIT, NULL);
	capture_worker_close(worker);
}

START_TEST(rows_keep_null_and_other_columns)
{
	struct buf row = BUF_INIT;
	msgpack_packer pk = pack_into(&row);
	struct capture_config config = {.levels = CAPTURE_RESULTS};
	struct capture_worker worker;
	struct capture c;
	struct value value;
	struct mp mp;

	init(&config.redact, "^email$", REDACT_HASH);
	session_of(&c, &worker, &config);
	buf_add_char(&row, 'x');
	msgpack_pack_array(&pk, 7);
	pack_uint(&pk, 7);
	pack_str(&pk, SPAN_LIT("a@b"));
	msgpack_pack_nil(&pk);
	pack_str(&pk, SPAN_LIT("kept"));
	pack_str(&pk, SPAN_LIT("hash"));
	pack_str(&pk, SPAN_LIT("set password = 'x'"));
	pack_str(&pk, SPAN_LIT("insert into mysqldump values ('x')"));
	for (int i = 0; i < 7; i++)
		buf_add_char(&c.result.hidden, "\0\5\5\0\4\1\1"[i]);
	secrets_row(&c, &row, 1);
	mp = mp_over(span_of(row.data + 1, row.len - 1));
	ck_assert_uint_eq(mp_array(&mp), 7);
	ck_assert(value_read(&mp, &value) && value.type == VALUE_UINT && value.u == 7);
	ck_assert(value_read(&mp, &value) && value.type == VALUE_HASHED);
	ck_assert(value_read(&mp, &value) && value.type == VALUE_NULL);
	ck_assert(value_read(&mp, &value) && span_eq_str(value.bytes, "kept"));
	ck_assert(value_read(&mp, &value) && value.type == VALUE_DROPPED);
	ck_assert(value_read(&mp, &value) && value.type == VALUE_DROPPED);
	ck_assert(value_read(&mp, &value) && value.type == VALUE_TEXT);
	ck_assert(mp.p == mp.end);
	ck_assert_uint_eq(worker.left_out.values, 2);
	buf_release(&row);
	redact_release(&config.redact);
	end_session(&c, &worker);
}
END_TEST

START_TEST(origins_of_columns)
{
	static const struct {
		const char *schema, *table, *name;
		enum column_secrecy secrecy;
	} cases[] = {
		{"d", "t", "password", COLUMN_OPEN},
		{"", "", "id", COLUMN_OPEN},
		{"", "", "Info", COLUMN_QUOTES},
		{"", "", "Message", COLUMN_MESSAGE},
		{"", "", "Create Procedure", COLUMN_QUOTES},
		{"", "", "CREATE USER for a@b", COLUMN_QUOTES},
		{"mysql", "servers", "Password", COLUMN_CLOSED},
		{"mysql", "servers", "Host", COLUMN_QUOTES},
		{"mysql", "global_priv", "Priv", COLUMN_CLOSED},
		{"mysql", "user", "Select_priv", COLUMN_QUOTES},
		{"mysql", "general_log", "argument", COLUMN_QUOTES},
		{"information_schema", "PROCESSLIST", "INFO", COLUMN_QUOTES},
		{"performance_schema", "session_variables", "Value", COLUMN_SETTING},
		{"sys", "session", "current_statement", COLUMN_QUOTES},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_column_names names = {.schema = span_str(cases[i].schema),
			.table_original = span_str(cases[i].table),
			.name = span_str(cases[i].name),
			.name_original = span_str(cases[i].name)};

		ck_assert_msg(secrets_of_origin(&names) == cases[i].secrecy, "%zu", i);
	}
}
END_TEST

/* Tables that are no views: t and s of d. */
static void know(struct base_tables *base_tables)
{
	base_tables_add(base_tables, SPAN_LIT("d"), SPAN_LIT("t"));
	base_tables_add(base_tables, SPAN_LIT("d"), SPAN_LIT("s"));
	base_tables_add(base_tables, SPAN_LIT("c"), SPAN_LIT("zz"));
	base_tables_sort(base_tables);
}

static enum redact_reach reach(const struct redact *redact, const char *sql)
{
	return redact_statement(redact, span_str(sql), SPAN_LIT("d"), usual);
}

START_TEST(statements_that_touch_a_column)
{
	static const struct {
		const char *sql;
		bool touched;
	} cases[] = {
		{"select name from t where id = 4", false},
		{"select email from t", true},
		{"select * from t where `EMAIL` = 'x'", true},
		{"select * from t where id = 'email'", false},
		{"select 1 /* email */", false},
		{"insert into t (id, name) values (1, 'x')", false},
		{"insert into t (id, email) values (1, 'x')", true},
		{"insert into t values (1, 'x')", true},
		{"insert t () values ()", true},
		{"insert into d.t select * from s", true},
		{"insert into t (select * from s)", true},
		{"insert ignore into t set id = 1, name = 'x'", false},
		{"insert into t partition (p) (id) values (1)", false},
		{"insert into t partition (p) values (1)", true},
		{"replace into t values (1, 'x')", true},
		{"select replace(name, 'a', 'b') from t", false},
		{"update t set name = 'x'; insert into t values (1)", true},
		{"call p('x')", true},
		{"load data local infile 'f' into table t", true},
		{"prepare s from 'select 1'", true},
		{"select 'open", true},
		{"begin", false},
		{"set @x = 'secret'", true},
		{"select @x", true},
		{"select @@version", false},
	};
	struct base_tables base_tables = {0};
	struct redact redact;

	know(&base_tables);
	init(&redact, "(?i)^email$", REDACT_HASH);
	redact.base_tables = &base_tables;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg((reach(&redact, cases[i].sql) != REDACT_NOTHING) == cases[i].touched,
			"%s", cases[i].sql);
	ck_assert_int_eq(reach(&redact, "select id, email from t"), REDACT_COMPUTED);
	ck_assert_int_eq(reach(&redact, "select x from (select email x from t) d"), REDACT_WHOLE);
	ck_assert_int_eq(
		reach(&redact, "select 1, 2 union select id, name from t"), REDACT_RENAMED);
	base_tables_release(&base_tables);
	redact_release(&redact);
}
END_TEST

START_TEST(what_is_not_certain_is_redacted)
{
	static const struct {
		const char *sql;
		enum redact_reach reach;
	} cases[] = {
		{"select x from v", REDACT_WHOLE},
		{"select x from c.t", REDACT_WHOLE},
		{"select x from c.zz", REDACT_NOTHING},
		{"select t.id from t join v using (id)", REDACT_WHOLE},
		{"update v set x = 'secret'", REDACT_WHOLE},
		{"insert into v (x) values ('secret')", REDACT_WHOLE},
		{"delete from v where x = 'secret'", REDACT_WHOLE},
		{"select f(1)", REDACT_WHOLE},
		{"select d.f(1)", REDACT_WHOLE},
		{"select `count`(name) from t", REDACT_NOTHING},
		{"select d.count(name) from t", REDACT_WHOLE},
		{"select count(*), max(id), upper(name) from t group by name", REDACT_NOTHING},
		{"select id from t where id > (select f(2))", REDACT_WHOLE},
		{"select load_file('/etc/passwd')", REDACT_WHOLE},
		{"with c as (select id from t) select id from c", REDACT_RENAMED},
		{"show warnings", REDACT_WHOLE},
		{"show full processlist", REDACT_WHOLE},
		{"show engine innodb status", REDACT_WHOLE},
		{"show tables", REDACT_NOTHING},
		{"show global variables like 'x'", REDACT_NOTHING},
		{"select * from information_schema.processlist", REDACT_WHOLE},
		{"get diagnostics condition 1 @p = message_text", REDACT_WHOLE},
		{"explain select * from t where id = 3", REDACT_NOTHING},
		{"this is no statement", REDACT_WHOLE},
		{"alter table t add index (name)", REDACT_NOTHING},
		{"create view w as select id from t", REDACT_WHOLE},
		{"set @@sql_mode = ''", REDACT_NOTHING},
		{"commit", REDACT_NOTHING},
	};
	/* Each makes something else of a name that was known. */
	static const char *const doubts[] = {"rename table t to u", "alter table t rename to u",
		"alter table t change name nick varchar(9)", "create view t as select email x from s",
		"create or replace table t as select email x from s",
		"create temporary table s (a int)"};
	struct base_tables base_tables = {0};
	struct redact redact;

	know(&base_tables);
	init(&redact, "(?i)^email$", REDACT_HASH);
	ck_assert_int_eq(reach(&redact, "select name from t"), REDACT_WHOLE);
	redact.base_tables = &base_tables;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(reach(&redact, cases[i].sql) == cases[i].reach, "%s: %d",
			cases[i].sql, (int)reach(&redact, cases[i].sql));
	ck_assert_int_eq(redact_statement(&redact, SPAN_LIT("select 1 from t"), SPAN_NONE, usual),
		REDACT_WHOLE);
	for (size_t i = 0; i < ARRAY_LEN(doubts); i++) {
		ck_assert_int_eq(reach(&redact, "select name from t"), REDACT_NOTHING);
		(void)reach(&redact, doubts[i]);
		ck_assert_msg(reach(&redact, "select name from t") == REDACT_WHOLE, "%s", doubts[i]);
		atomic_store(&base_tables.doubt, false);
	}
	base_tables_release(&base_tables);
	redact_release(&redact);
}
END_TEST

START_TEST(columns_of_results)
{
	static const struct {
		const char *name, *original, *table, *schema;
		enum redact_reach reach;
		bool hidden;
	} cases[] = {
		{"id", "id", "t", "d", REDACT_NOTHING, false},
		{"email", "email", "t", "d", REDACT_NOTHING, true},
		{"x", "email", "t", "d", REDACT_NOTHING, true},
		{"email", "id", "t", "d", REDACT_NOTHING, true},
		{"x", "x", "v", "d", REDACT_NOTHING, true},
		{"x", "x", "t", "c", REDACT_NOTHING, true},
		{"x", "x", "", "", REDACT_NOTHING, false},
		{"x", "", "", "", REDACT_NOTHING, false},
		{"x", "", "", "", REDACT_RENAMED, true},
		{"x", "", "", "", REDACT_COMPUTED, true},
		{"id", "id", "t", "d", REDACT_COMPUTED, false},
		{"id", "id", "t", "d", REDACT_WHOLE, true},
	};
	struct base_tables base_tables = {0};
	struct redact redact;

	know(&base_tables);
	init(&redact, "(?i)^email$", REDACT_HASH);
	redact.base_tables = &base_tables;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_column_names names = {.name = span_str(cases[i].name),
			.name_original = span_str(cases[i].original),
			.table = SPAN_LIT("alias"),
			.table_original = span_str(cases[i].table),
			.schema = span_str(cases[i].schema)};

		ck_assert_msg(redact_result_column(&redact, cases[i].reach, &names) ==
				      cases[i].hidden,
			"%zu", i);
	}
	ck_assert(redact_is_harmless_error(1213) && !redact_is_harmless_error(1062));
	base_tables_release(&base_tables);
	redact_release(&redact);
}
END_TEST

START_TEST(statements_by_their_tables)
{
	static const struct {
		const char *only, *skip, *sql;
		bool wanted;
	} cases[] = {
		{NULL, NULL, "select * from a", true},
		{"^shop\\.a$", NULL, "select * from a", true},
		{"^shop\\.a$", NULL, "select * from b", false},
		{"^shop\\.a$", NULL, "select * from other.a", false},
		{"^shop\\.a$", NULL, "select * from b join shop.a", true},
		{"^shop\\.a$", NULL, "insert into b select * from a", true},
		{"^shop\\.a$", NULL, "update b set x = 1", false},
		{"^shop\\.a$", NULL, "commit", true},
		{"^shop\\.a$", NULL, "select 1", true},
		{"^shop\\.a$", NULL, "call p()", true},
		{"^shop\\.a$", NULL, "select * from b; select * from a", true},
		{"^shop\\.a$", NULL, "select * from b; select * from c", false},
		{"^shop\\.a$", NULL, "with a as (select * from b) select * from a", false},
		{"^shop\\.a$", NULL, "this is no statement", true},
		{NULL, "log", "insert into log_2026 values (1)", false},
		{NULL, "log", "insert into log_2026 select * from t", true},
		{"^shop\\.", "log", "insert into log values (1)", false},
	};
	struct sql_options options = sql_options_default();

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct filter filter = {.user = {NULL}};
		struct err err;

		ck_assert(filter_compile(&filter.table, "x", cases[i].only, &err));
		ck_assert(filter_compile(&filter.not_table, "x", cases[i].skip, &err));
		ck_assert_msg(filter_wants_statement(&filter, span_str(cases[i].sql),
				      SPAN_LIT("shop"), &options) == cases[i].wanted,
			"%s", cases[i].sql);
		filter_release(&filter);
	}
}
END_TEST

UNIT_MAIN("redact", origins_of_columns, literals_are_dropped, no_string_survives, equal_values_have_equal_hashes,
	rows_keep_null_and_other_columns, statements_that_touch_a_column,
	what_is_not_certain_is_redacted, columns_of_results,
	statements_by_their_tables)
