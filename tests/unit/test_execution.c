/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executions: what is read from records, what the digest depends on, literals, hostile records.
 * That they are read from real traces as a server made them is tested by tests/corpus.
 */
#include <string.h>

#include "common/known/known_bugs.h"
#include "differential/differential.h"
#include "model/execution/execution.h"
#include "trace/doubts.h"
#include "trace/pack.h"
#include "unit.h"

/* ---- a small trace ---- */

struct story {
	uint64_t time;       /* added to all times */
	uint64_t ids;        /* added to transaction and connection numbers */
	uint32_t session;    /* added to session numbers */
	bool swapped;        /* T1's COMMIT is answered before T2's UPDATE, or after */
	uint64_t row;        /* what T1 reads */
	const char *version; /* of the server */
};

static void add_rows(struct buf *out, uint64_t value)
{
	msgpack_packer pk = pack_into(out);

	msgpack_pack_array(&pk, 1);
	msgpack_pack_array(&pk, 2);
	pack_uint(&pk, 1);
	pack_uint(&pk, value);
}

static void add_columns(struct buf *out)
{
	static const char *const names[] = {"a", "b"};
	msgpack_packer pk = pack_into(out);

	msgpack_pack_array(&pk, 2);
	for (int i = 0; i < 2; i++) {
		msgpack_pack_array(&pk, 7);
		pack_str(&pk, span_str(names[i]));
		pack_str(&pk, SPAN_LIT("int"));
		for (int k = 2; k < 7; k++)
			msgpack_pack_nil(&pk);
	}
}

static void session(struct buf *out, const struct story *s, uint32_t number, const char *name)
{
	record_session_pack(out, &(struct record_session){.seq = number,
					 .at = s->time,
					 .session = s->session + number,
					 .client = span_str(name),
					 .thread = s->ids + number,
					 .database = SPAN_LIT("d")});
}

static void stmt(struct buf *out, const struct story *s, uint32_t of, uint32_t number,
	uint64_t begin, uint64_t end, const char *text, uint64_t blocked)
{
	struct buf blockers = BUF_INIT;
	msgpack_packer pk = pack_into(&blockers);

	msgpack_pack_array(&pk, 1);
	pack_uint(&pk, s->session + 1);
	record_stmt_pack(out, &(struct record_stmt){.seq = end,
				      .at = s->time + end,
				      .session = s->session + of,
				      .number = number,
				      .txn = s->ids + of,
				      .begin_seq = begin,
				      .begin = s->time + begin,
				      .command = 3,
				      .text = span_str(text),
				      .blocked_ns = blocked ? blocked + s->time : 0,
				      .blockers = blocked ? buf_span(&blockers) : SPAN_NONE});
	buf_release(&blockers);
}

static void make(struct buf *out, const struct story *s)
{
	struct buf rows = BUF_INIT, columns = BUF_INIT;

	add_rows(&rows, s->row);
	add_columns(&columns);
	record_server_pack(out,
		&(struct record_server){
			.seq = 1, .version = span_str(s->version), .flavour = SPAN_LIT("mariadb")});
	record_schema_pack(
		out, &(struct record_schema){.seq = 2,
			     .name = SPAN_LIT("t"),
			     .database = SPAN_LIT("d"),
			     .columns = buf_span(&columns),
			     .create_text = SPAN_LIT("CREATE TABLE `t` (`a` int, `b` int)")});
	record_rows_pack(out, &(struct record_rows){.seq = 3,
				      .moment = SPAN_LIT("initial"),
				      .last = true,
				      .complete = true,
				      .rows = buf_span(&rows)});
	session(out, s, 1, "T1");
	session(out, s, 2, "T2");
	stmt(out, s, 1, 1, 10, 11, "select * from t", 0);
	record_result_pack(out, &(struct record_result){.seq = 11,
					.session = s->session + 1,
					.number = 1,
					.last = true,
					.rows = buf_span(&rows),
					.total = 1});
	stmt(out, s, 2, 1, 12, s->swapped ? 15 : 14, "update t set b=2", 5);
	stmt(out, s, 1, 2, 13, s->swapped ? 14 : 15, "commit", 0);
	stmt(out, s, 2, 2, 16, 17, "commit", 0);
	buf_release(&rows);
	buf_release(&columns);
}

static const struct story plain = {.row = 7, .version = "10.11.6-MariaDB"};

static void load(struct execution *e, const struct story *s)
{
	struct buf records = BUF_INIT;

	make(&records, s);
	execution_load_records(e, buf_span(&records));
	buf_release(&records);
	ck_assert(e->complete);
}

START_TEST(what_is_read)
{
	struct execution e;
	struct buf text = BUF_INIT;
	struct value values[2];

	load(&e, &plain);
	ck_assert_uint_eq(e.session_count, 2);
	ck_assert_uint_eq(e.stmt_count, 4);
	ck_assert(span_eq_str(e.sessions[e.stmts[1].session].name, "T2"));
	ck_assert(execution_blocked(&e.stmts[1]) && !execution_blocked(&e.stmts[0]));
	ck_assert_uint_eq(e.stmts[0].set_count, 1);
	ck_assert_uint_eq(execution_row(e.stmts[0].sets[0].rows[0], values, 2), 2);
	ck_assert_uint_eq(values[1].u, 7);
	ck_assert(e.stmts[0].sets[0].complete && e.tables[0].has_initial);
	ck_assert_ptr_eq(execution_stmt(&e, execution_session(&e, SPAN_LIT("T1")), 2), &e.stmts[2]);
	ck_assert_ptr_null(execution_stmt(&e, 0, 3));
	execution_label(&e, &text);
	ck_assert_str_eq(text.data, "mariadb-10.11.6");
	buf_release(&text);
	execution_release(&e);
}
END_TEST

/* ---- the digest ---- */

static void digest_of(const struct story *s, char out[33])
{
	struct execution e;

	load(&e, s);
	execution_digest(&e, out);
	execution_release(&e);
}

START_TEST(doubted_levels)
{
	static const struct {
		const char *node;
		uint64_t opened, reset;
		uint8_t level; /* as it is read */
	} sessions[] = {
		{"n1", 5, 0, LEVEL_SERIALIZABLE},
		{"n1", 7, 0, LEVEL_UNKNOWN},
		{"n1", 5, 9, LEVEL_UNKNOWN},
		{"n2", 9, 0, LEVEL_SERIALIZABLE},
	};
	struct buf records = BUF_INIT, data = BUF_INIT;
	msgpack_packer pk = pack_into(&data);
	struct execution e;

	for (uint32_t i = 0; i < ARRAY_LEN(sessions); i++) {
		struct record_session session = {.seq = 10 * i + 1,
			.at = sessions[i].opened,
			.session = i + 1,
			.node = span_str(sessions[i].node)};

		record_session_pack(&records, &session);
		session.seq++;
		session.event = SESSION_CHANGED;
		session.at = sessions[i].reset ? sessions[i].reset : 9;
		session.reason = span_str(sessions[i].reset ? "reset" : "database");
		record_session_pack(&records, &session);
		record_txn_pack(&records, &(struct record_txn){.seq = 10 * i + 3,
						  .at = 20,
						  .session = i + 1,
						  .txn = i + 1,
						  .event = TXN_END,
						  .level = LEVEL_SERIALIZABLE,
						  .outcome = TXN_COMMITTED});
	}
	msgpack_pack_map(&pk, 2);
	pack_str(&pk, SPAN_LIT("node"));
	pack_str(&pk, SPAN_LIT("n1"));
	pack_str(&pk, SPAN_LIT("since"));
	pack_uint(&pk, 7);
	record_note_pack(&records, &(struct record_note){.seq = 90,
					   .at = 30,
					   .source = SPAN_LIT("recorder"),
					   .topic = SPAN_LIT(NOTE_LEVELS_DOUBTED),
					   .data = buf_span(&data)});
	execution_load_records(&e, buf_span(&records));
	ck_assert_uint_eq(e.txn_count, ARRAY_LEN(sessions));
	for (size_t i = 0; i < e.txn_count; i++)
		ck_assert_msg(e.txns[i].record.level == sessions[e.txns[i].session].level,
			"session %zu: level %u", i, e.txns[i].record.level);
	execution_release(&e);
	buf_release(&records);
	buf_release(&data);
}
END_TEST

static void doubt(struct doubts *doubts, const char *node, uint64_t since)
{
	struct buf data = BUF_INIT;
	msgpack_packer pk = pack_into(&data);

	msgpack_pack_map(&pk, 2);
	pack_str(&pk, SPAN_LIT("since"));
	pack_uint(&pk, since);
	pack_str(&pk, SPAN_LIT("node"));
	pack_str(&pk, span_str(node));
	doubts_take(doubts, &(struct record_note){.source = SPAN_LIT("recorder"),
				    .topic = SPAN_LIT(NOTE_LEVELS_DOUBTED),
				    .data = buf_span(&data)});
	buf_release(&data);
}

/* The earliest moment of a node counts; with more nodes than are kept, all are doubted. */
START_TEST(doubts_are_bounded)
{
	struct doubts doubts = {0};
	char node[16];

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < DOUBTS_MAX; i++) {
			snprintf(node, sizeof(node), "n%u", i);
			doubt(&doubts, node, 100 + i + (round == 1 ? 0 : 50));
		}
	}
	ck_assert(!doubts_session(&doubts, SPAN_LIT("n3"), 102));
	ck_assert(doubts_session(&doubts, SPAN_LIT("n3"), 103));
	ck_assert(!doubts_session(&doubts, SPAN_LIT("another"), UINT64_MAX));
	doubt(&doubts, "one too many", 90);
	ck_assert(!doubts_session(&doubts, SPAN_LIT("another"), 89));
	ck_assert(doubts_session(&doubts, SPAN_LIT("another"), 90));
	ck_assert(doubts_session(&doubts, SPAN_LIT("n3"), 90));
}
END_TEST

/* A recorder that is late: by the clock the first was answered before the second was sent. */
START_TEST(ends_that_were_numbered_late)
{
	static const struct {
		uint64_t begin_seq, seq, begin, at, read; /* `read`: the end as it is read */
	} stmts[] = {
		{10, 90, 1000, 2000, 19},
		{20, 91, 2000, 3000, 29},
		{30, 92, 3000, 5000, 92}, /* sent before the answer came: both are as they say */
		{40, 93, 4000, 6000, 93},
	};
	struct buf records = BUF_INIT;
	struct execution e;

	record_session_pack(&records, &(struct record_session){.seq = 1, .at = 1, .session = 1});
	for (uint32_t i = 0; i < ARRAY_LEN(stmts); i++)
		record_stmt_pack(&records, &(struct record_stmt){.seq = stmts[i].seq,
						   .at = stmts[i].at,
						   .session = 1,
						   .number = i + 1,
						   .begin_seq = stmts[i].begin_seq,
						   .begin = stmts[i].begin,
						   .command = 3,
						   .text = SPAN_LIT("select 1")});
	execution_load_records(&e, buf_span(&records));
	ck_assert_uint_eq(e.stmt_count, ARRAY_LEN(stmts));
	for (size_t i = 0; i < e.stmt_count; i++)
		ck_assert_uint_eq(e.stmts[i].record.seq, stmts[i].read);
	execution_release(&e);
	buf_release(&records);
}
END_TEST

START_TEST(digest_leaves_out_times_and_ids)
{
	struct story other = plain;
	char first[33], second[33];

	digest_of(&plain, first);
	other.time = 1234567;
	other.ids = 99;
	other.session = 40;
	other.version = "11.8.6-MariaDB";
	digest_of(&other, second);
	ck_assert_str_eq(first, second);
	/* Which of two answers between two begins came first is chance. */
	other.swapped = true;
	digest_of(&other, second);
	ck_assert_str_eq(first, second);
	other.row = 8;
	digest_of(&other, second);
	ck_assert_str_ne(first, second);
}
END_TEST

/* ---- literals ---- */

START_TEST(literals)
{
	static const struct {
		struct value value;
		const char *text; /* NULL: cannot be said */
	} cases[] = {
		{{.type = VALUE_NULL}, "NULL"},
		{{.type = VALUE_INT, .i = -5}, "-5"},
		{{.type = VALUE_UINT, .u = UINT64_MAX}, "18446744073709551615"},
		{{.type = VALUE_DOUBLE, .d = 0.5}, "0.5e0"},
		{{.type = VALUE_TEXT, .bytes = {"it's \\ \n", 8}}, "'it''s \\\\ \\n'"},
		{{.type = VALUE_TEXT, .bytes = {"\0", 1}}, "'\\0'"},
		{{.type = VALUE_BYTES, .bytes = {"\0\xff", 2}}, "x'00ff'"},
		{{.type = VALUE_BYTES, .bytes = {"", 0}}, "x''"},
		{{.type = VALUE_DECIMAL, .bytes = {"-1.50", 5}}, "-1.50"},
		{{.type = VALUE_DATE, .bytes = {"2026-11-16", 10}}, "'2026-11-16'"},
		{{.type = VALUE_HASHED, .bytes = {"x", 1}}, NULL},
		{{.type = VALUE_CUT, .bytes = {"x", 1}}, NULL},
		{{.type = VALUE_DROPPED, .bytes = {"", 0}}, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = BUF_INIT;
		struct err err;
		bool ok = execution_literal(&cases[i].value, &out, &err);

		ck_assert_int_eq(ok, cases[i].text != NULL);
		if (ok)
			ck_assert_str_eq(out.data, cases[i].text);
		buf_release(&out);
	}
}
END_TEST

/* Of what type a parameter is shows where it is computed with: ? + 1 of a DATETIME is a number of
 * 14 digits. */
START_TEST(parameters_keep_their_types)
{
	static const struct {
		enum execution_moments moments;
		const char *moment, *day, *never, *number;
	} cases[] = {
		{MOMENTS_AS_TEXTS, "'2024-01-02 03:04:05'", "'2024-01-02'", "'0000-00-00'",
			"0.100000001e0"},
		{MOMENTS_TYPED, "TIMESTAMP'2024-01-02 03:04:05'", "DATE'2024-01-02'",
			"'0000-00-00'", "0.10000000149011612e0"},
		{MOMENTS_MICROS, "TIMESTAMP'2024-01-02 03:04:05.000000'", "DATE'2024-01-02'",
			"'0000-00-00'", "0.10000000149011612e0"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct execution_stmt s = {.sql = SPAN_LIT("select ?, ?, ?, ?")};
		struct value values[] = {
			{.type = VALUE_DATETIME, .bytes = SPAN_LIT("2024-01-02 03:04:05")},
			{.type = VALUE_DATE, .bytes = SPAN_LIT("2024-01-02")},
			{.type = VALUE_DATE, .bytes = SPAN_LIT("0000-00-00")},
			{.type = VALUE_FLOAT, .d = 0.1F}};
		struct buf params = BUF_INIT, out = BUF_INIT, expected = BUF_INIT;
		struct err err;

		buf_add_char(&params, (char)(0x90 + ARRAY_LEN(values)));
		for (size_t v = 0; v < ARRAY_LEN(values); v++)
			value_pack(&params, &values[v]);
		s.record.command = 0x17;
		s.record.params = buf_span(&params);
		ck_assert(execution_sql(&s, cases[i].moments, &out, &err));
		buf_printf(&expected, "select %s, %s, %s, %s", cases[i].moment, cases[i].day,
			cases[i].never, cases[i].number);
		ck_assert_str_eq(out.data, expected.data);
		buf_release(&params);
		buf_release(&out);
		buf_release(&expected);
	}
}
END_TEST

/* One statement for each set; not where a value was not kept, a set is not whole, or there are too many. */
START_TEST(bulk_executions_as_statements)
{
	struct execution_stmt s = {.sql = SPAN_LIT("insert into t values (?, '?', ?)")};
	static const struct {
		uint32_t values;
		bool can;
	} cases[] = {{4, true}, {3, false}, {0, false}, {2000, true}, {2002, false}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf params = BUF_INIT, out = BUF_INIT;
		msgpack_packer pk = pack_into(&params);

		msgpack_pack_array(&pk, cases[i].values);
		for (uint32_t v = 0; v < cases[i].values; v++)
			pack_uint(&pk, v);
		s.record.params = buf_span(&params);
		ck_assert_int_eq(execution_bulk_sql(&s, MOMENTS_TYPED, &out), cases[i].can);
		if (cases[i].values == 4)
			ck_assert_str_eq(out.data,
				"insert into t values (0, '?', 1); insert into t values (2, '?', 3)");
		buf_clear(&out);
		s.record.flags = STMT_TEXT_CUT;
		ck_assert(!execution_bulk_sql(&s, MOMENTS_TYPED, &out));
		s.record.flags = 0;
		buf_release(&params);
		buf_release(&out);
	}
}
END_TEST

START_TEST(parameters_go_where_the_marks_are)
{
	struct execution_stmt s = {.sql = SPAN_LIT("select '?', `?`, ? /* ? */ , ? -- ?")};
	struct buf params = BUF_INIT, out = BUF_INIT;
	msgpack_packer pk = pack_into(&params);
	struct err err;

	msgpack_pack_array(&pk, 2);
	pack_uint(&pk, 1);
	pack_str(&pk, SPAN_LIT("a"));
	s.record.command = 0x17;
	s.record.params = buf_span(&params);
	ck_assert(execution_sql(&s, MOMENTS_AS_TEXTS, &out, &err));
	ck_assert_str_eq(out.data, "select '?', `?`, 1 /* ? */ , 'a' -- ?");
	buf_clear(&out);
	s.sql = SPAN_LIT("select ?, ?, ?");
	ck_assert(!execution_sql(&s, MOMENTS_AS_TEXTS, &out, &err));
	buf_clear(&out);
	s.sql = SPAN_LIT("select ?");
	ck_assert(!execution_sql(&s, MOMENTS_AS_TEXTS, &out, &err));
	s.record.flags = STMT_TEXT_CUT;
	ck_assert(!execution_sql(&s, MOMENTS_AS_TEXTS, &out, &err));
	buf_release(&out);
	buf_release(&params);
}
END_TEST

/* ---- hostile records ---- */

/* Whatever the bytes say: everything that reads an execution ends and stays in bounds. */
static void use(const struct execution *e, const struct scenario *scenario)
{
	struct execution_scenario_options how = {.expect = true, .skip = true};
	struct diff_side sides[2] = {
		{.e = e, .contract = "innodb"}, {.e = e, .contract = "innodb"}};
	struct differential d;
	struct known_answer answer;
	struct scenario told;
	struct buf text = BUF_INIT;
	uint64_t skipped;
	struct err err;
	char digest[33];

	execution_digest(e, digest);
	UNIT_REQUIRE(strlen(digest) == 32);
	execution_label(e, &text);
	if (execution_to_scenario(e, &how, &told, &skipped, &err)) {
		scenario_print(&told, &text);
		scenario_release(&told);
	}
	if (differential_compare(&d, sides, &err)) {
		UNIT_REQUIRE(d.item_count == 0); /* with itself */
		differential_release(&d);
	}
	UNIT_REQUIRE(known_judge(scenario, e, &answer, &err));
	buf_release(&text);
}

START_TEST(any_bytes)
{
	static const char text[] = "# shows: T1.1 has (1,7) and T2.1 is blocked\n"
				   "# shows: final t lacks (1,7)\n[schedule]\nT1> select 1;\n";
	struct scenario scenario;
	struct buf good = BUF_INIT, bad = BUF_INIT;
	uint64_t random = 88172645463325252u;
	struct err err;

	ck_assert(scenario_parse(&scenario, span_str(text), "test", &err));
	make(&good, &plain);
	for (int i = 0; i < 20000; i++) {
		struct execution e;

		buf_clear(&bad);
		buf_add_span(&bad, buf_span(&good));
		for (int k = 0; k <= i % 4; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bad.data[random % bad.len] = (char)(random >> 32);
		}
		if (i % 7 == 0)
			bad.len = random % bad.len;
		execution_load_records(&e, buf_span(&bad));
		use(&e, &scenario);
		execution_release(&e);
	}
	scenario_release(&scenario);
	buf_release(&good);
	buf_release(&bad);
}
END_TEST

UNIT_MAIN("execution", what_is_read, doubted_levels, doubts_are_bounded,
	ends_that_were_numbered_late, digest_leaves_out_times_and_ids, literals,
	parameters_go_where_the_marks_are, bulk_executions_as_statements, parameters_keep_their_types, any_bytes)
