/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracle `sync` on made traces: each class of finding, and beside each the innocent twin that must not be reported;
 * then random executions on a model of one table, as they happened and with one thing planted.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "random.h"
#include "sync/sync.h"
#include "trace/pack.h"
#include "trace/writer.h"
#include "trace_util.h"

/* ---- a made trace ---- */

static const uint64_t second = 1000000000u;

struct made {
	char *dir, *path;
	struct trace_writer *writer;
	struct trace_producer *producer;
	uint64_t at, next_txn;
	uint32_t numbers[16]; /* of statements, by session */
	const char *flush;
	bool all_sessions;
};

enum { NODES = 3, PARENT = 0, CHILD = 1 };

static void pack_column(msgpack_packer *pk, const char *name, const char *type)
{
	msgpack_pack_array(pk, 7);
	pack_str(pk, span_str(name));
	pack_str(pk, span_str(type));
	for (int i = 2; i < 7; i++)
		msgpack_pack_nil(pk);
}

/* parent(id, v), child(id, p, v): p references parent(id) on delete `action`. */
static void schema(struct made *m, uint32_t table, const char *action)
{
	struct buf columns = BUF_INIT, key = BUF_INIT, foreign = BUF_INIT;
	msgpack_packer pk = pack_into(&columns);
	struct record_schema record = {.at = ++m->at, .table = table, .node = SPAN_LIT("n1"), .database = SPAN_LIT("d"),
		.name = table == PARENT ? SPAN_LIT("parent") : SPAN_LIT("child")};

	msgpack_pack_array(&pk, table == PARENT ? 2 : 3);
	pack_column(&pk, "id", "bigint");
	if (table == CHILD)
		pack_column(&pk, "p", "bigint");
	pack_column(&pk, "v", "bigint");
	pk = pack_into(&key);
	msgpack_pack_array(&pk, 1);
	pack_uint(&pk, 0);
	pk = pack_into(&foreign);
	msgpack_pack_array(&pk, 1);
	msgpack_pack_array(&pk, 7);
	pack_str(&pk, SPAN_LIT("fk"));
	msgpack_pack_array(&pk, 1);
	pack_uint(&pk, 1);
	pack_str(&pk, SPAN_LIT("d"));
	pack_str(&pk, SPAN_LIT("parent"));
	msgpack_pack_array(&pk, 1);
	pack_str(&pk, SPAN_LIT("id"));
	pack_str(&pk, span_str(action));
	pack_str(&pk, SPAN_LIT("RESTRICT"));
	record.columns = buf_span(&columns);
	record.primary_key = buf_span(&key);
	if (table == CHILD)
		record.foreign_keys = buf_span(&foreign);
	trace_emit_schema(m->producer, &record);
	buf_release(&columns);
	buf_release(&key);
	buf_release(&foreign);
}

static void server(struct made *m, const char *node)
{
	struct buf map = BUF_INIT;
	msgpack_packer pk = pack_into(&map);
	struct record_server record = {.at = ++m->at, .node = span_str(node), .version = SPAN_LIT("11.8.6-MariaDB"), .flavour = SPAN_LIT("mariadb")};

	msgpack_pack_map(&pk, 2);
	pack_str(&pk, SPAN_LIT("wsrep_on"));
	pack_str(&pk, SPAN_LIT("ON"));
	pack_str(&pk, SPAN_LIT("innodb_flush_log_at_trx_commit"));
	pack_str(&pk, span_str(m->flush));
	record.variables = buf_span(&map);
	trace_emit_server(m->producer, &record);
	buf_release(&map);
}

/* Sessions 1 to 3 are on n1 to n3. */
static void begin(struct made *m, const char *action)
{
	struct trace_writer_options options;
	struct err err;

	m->dir = temp_dir();
	m->path = temp_path(m->dir, "x.itr");
	trace_writer_defaults(&options);
	options.recorder = "test";
	m->writer = trace_writer_open(m->path, &options, &err);
	ck_assert(m->writer);
	m->producer = trace_producer_open(m->writer);
	m->at = second;
	if (!m->flush)
		m->flush = "1";
	for (int n = 0; n < NODES; n++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", n + 1);
		server(m, name);
	}
	schema(m, PARENT, action);
	schema(m, CHILD, action);
	for (uint32_t s = 1; s <= NODES; s++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", s);
		trace_emit_session(m->producer, &(struct record_session){.at = ++m->at, .session = s, .node = span_str(name), .database = SPAN_LIT("d")});
	}
	if (m->all_sessions)
		trace_emit_note(m->producer, &(struct record_note){.at = ++m->at, .source = SPAN_LIT("driver"), .topic = SPAN_LIT("sessions"), .text = SPAN_LIT("all")});
}

/* A statement that lasts `ns`. */
struct sent {
	uint64_t begin_seq, begin;
};

static struct sent send_now(struct made *m)
{
	return (struct sent){trace_seq(m->writer), ++m->at};
}

static void answer(struct made *m, uint32_t session, uint64_t txn, const char *text, uint64_t affected, uint32_t error, uint32_t flags, struct sent sent)
{
	trace_emit_stmt(m->producer, &(struct record_stmt){.at = ++m->at, .session = session, .number = ++m->numbers[session], .txn = txn,
					     .begin_seq = sent.begin_seq, .begin = sent.begin, .command = 3, .text = span_str(text),
					     .affected = affected, .error = error, .flags = flags});
}

static void txn_end(struct made *m, uint32_t session, uint64_t txn, enum txn_outcome outcome, struct sent begun)
{
	trace_emit_txn(m->producer, &(struct record_txn){.at = ++m->at, .session = session, .txn = txn, .event = TXN_END, .level = 3,
					    .outcome = (uint8_t)outcome, .begin_seq = begun.begin_seq, .begin = begun.begin});
}

/* A transaction of one statement, from begin to end. */
static uint64_t does(struct made *m, uint32_t session, const char *text, enum txn_outcome outcome)
{
	uint64_t txn = ++m->next_txn;
	struct sent begun = send_now(m);

	answer(m, session, txn, text, 1, 0, outcome == TXN_UNKNOWN ? STMT_NO_REPLY : 0, begun);
	txn_end(m, session, txn, outcome, begun);
	return txn;
}

struct pairs {
	const char *name, *value;
};

static void event(struct made *m, const char *node, const char *what, const char *detail, uint64_t begun, const struct pairs *pairs)
{
	struct buf map = BUF_INIT;
	msgpack_packer pk = pack_into(&map);
	uint32_t count = 0;

	while (pairs && pairs[count].name)
		count++;
	msgpack_pack_map(&pk, count);
	for (uint32_t i = 0; i < count; i++) {
		pack_str(&pk, span_str(pairs[i].name));
		pack_str(&pk, span_str(pairs[i].value));
	}
	trace_emit_cluster(m->producer, &(struct record_cluster){.at = ++m->at, .begin = begun, .node = span_str(node), .what = span_str(what),
						.detail = span_str(detail), .data = buf_span(&map)});
	buf_release(&map);
}
#define EVENT(m, node, what, detail, begun, ...) event(m, node, what, detail, begun, (const struct pairs[]){__VA_ARGS__, {NULL, NULL}})

struct row {
	int64_t id, p, v; /* p of a child; p -1: NULL */
};

static void rows(struct made *m, const char *node, const char *point, uint32_t table, const struct row *all, size_t count, const char *definition)
{
	struct buf out = BUF_INIT;
	msgpack_packer pk = pack_into(&out);

	msgpack_pack_array(&pk, count);
	for (size_t i = 0; i < count; i++) {
		msgpack_pack_array(&pk, table == PARENT ? 2 : 3);
		msgpack_pack_int64(&pk, all[i].id);
		if (table == CHILD && all[i].p < 0)
			msgpack_pack_nil(&pk);
		else if (table == CHILD)
			msgpack_pack_int64(&pk, all[i].p);
		msgpack_pack_int64(&pk, all[i].v);
	}
	trace_emit_rows(m->producer, &(struct record_rows){.at = ++m->at, .table = table, .node = span_str(node), .moment = span_str(point),
					     .last = true, .complete = true, .rows = buf_span(&out), .definition = span_str(definition)});
	buf_release(&out);
}

static void look(struct made *m, const char *node, const char *point, const char *position, const char *ready, const char *waited)
{
	EVENT(m, node, "point", point, 0, {"state", "Synced"}, {"position", position}, {"ready", ready}, {"expected", "yes"}, {"waited_ms", waited});
}

/* All nodes hold the same. */
static void point(struct made *m, const char *name, const struct row *parents, size_t parent_count, const struct row *children, size_t child_count)
{
	for (int n = 0; n < NODES; n++) {
		char node[16];

		snprintf(node, sizeof(node), "n%d", n + 1);
		rows(m, node, name, PARENT, parents, parent_count, NULL);
		rows(m, node, name, CHILD, children, child_count, NULL);
		look(m, node, name, "7", "yes", "0");
	}
}
#define POINT(m, name, ...) \
	do { \
		const struct row point_rows[] = {__VA_ARGS__}; \
		point(m, name, point_rows, sizeof(point_rows) / sizeof(point_rows[0]), NULL, 0); \
	} while (0)

/* ---- judging ---- */

struct judged {
	struct verdict verdict;
	struct life life;
	struct execution execution;
};

static void judge_by(struct made *m, struct judged *j, const char *contract_text)
{
	struct contract contract;
	struct err err;

	trace_producer_close(m->producer);
	ck_assert(trace_writer_close(m->writer, &err));
	ck_assert_msg(life_load(&j->life, m->path, false, &err), "%s", err.text);
	ck_assert_msg(execution_load(&j->execution, m->path, NULL, &err), "%s", err.text);
	verdict_init(&j->verdict);
	ck_assert_msg(contract_text ? contract_parse(&contract, span_str(contract_text), "test", &err) : contract_builtin(&contract, "galera", &err),
		"%s", err.text);
	sync_check(&j->life, &j->execution, &(struct sync_options){.contract = &contract}, &j->verdict);
	verdict_sort(&j->verdict);
	temp_dir_remove(m->dir);
	free(m->path);
}

static void judged_release(struct judged *j)
{
	verdict_release(&j->verdict);
	execution_release(&j->execution);
	life_release(&j->life);
}

static const struct finding *the_finding(struct judged *j, enum finding_class class)
{
	ck_assert_msg(j->verdict.finding_count == 1, "%zu findings%s%s", j->verdict.finding_count, j->verdict.finding_count ? ": " : "",
		j->verdict.finding_count ? j->verdict.findings[0].explanation.ptr : "");
	ck_assert_str_eq(finding_name(&j->verdict.findings[0]), finding_class_name(class));
	return &j->verdict.findings[0];
}

static void expect(struct made *m, enum finding_class class, enum severity severity, uint64_t txn)
{
	const struct finding *f;
	struct judged j;
	char name[24];

	judge_by(m, &j, NULL);
	f = the_finding(&j, class);
	ck_assert_str_eq(severity_name(f->severity), severity_name(severity));
	if (txn) {
		snprintf(name, sizeof(name), "T%llu", (unsigned long long)txn);
		ck_assert_uint_eq(f->transaction_count, 1);
		ck_assert(span_eq_str(f->transactions[0], name));
	}
	ck_assert(f->place && f->place->phase.len && f->place->node_count);
	judged_release(&j);
}

static void expect_nothing(struct made *m, bool decided)
{
	struct judged j;

	judge_by(m, &j, NULL);
	ck_assert_msg(j.verdict.finding_count == 0, "%s", j.verdict.finding_count ? j.verdict.findings[0].explanation.ptr : "");
	ck_assert_msg((j.verdict.undecided == 0) == decided, "%llu undecided: %s", (unsigned long long)j.verdict.undecided,
		j.verdict.reason_count ? j.verdict.reasons[0].name : "");
	judged_release(&j);
}

/* ---- lost-commit ---- */

START_TEST(a_lost_insert_is_found)
{
	struct made m = {0};
	uint64_t txn;

	begin(&m, "RESTRICT");
	POINT(&m, "start", {1, 0, 10});
	does(&m, 1, "insert into parent(id, v) values (2, 20)", TXN_COMMITTED);
	txn = does(&m, 2, "insert into parent values (3, 30)", TXN_COMMITTED);
	POINT(&m, "end", {1, 0, 10}, {2, 0, 20});
	expect(&m, CLASS_LOST_COMMIT, SEVERITY_VIOLATION, txn);
}
END_TEST

START_TEST(an_insert_of_unknown_outcome_may_be_gone_or_there)
{
	for (int there = 0; there < 2; there++) {
		struct made m = {0};

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		does(&m, 1, "insert into parent values (3, 30)", TXN_UNKNOWN);
		if (there)
			POINT(&m, "end", {1, 0, 10}, {3, 0, 30});
		else
			POINT(&m, "end", {1, 0, 10});
		expect_nothing(&m, true);
	}
}
END_TEST

START_TEST(a_later_delete_explains_it)
{
	for (int outcome = TXN_UNKNOWN; outcome <= TXN_COMMITTED; outcome++) {
		struct made m = {0};

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		does(&m, 1, "insert into parent values (3, 30)", TXN_COMMITTED);
		does(&m, 2, "delete from parent where id = 3", (enum txn_outcome)outcome);
		POINT(&m, "end", {1, 0, 10});
		expect_nothing(&m, true);
	}
}
END_TEST

START_TEST(an_aborted_delete_explains_nothing)
{
	struct made m = {0};
	uint64_t txn;

	begin(&m, "RESTRICT");
	POINT(&m, "start", {1, 0, 10});
	txn = does(&m, 1, "insert into parent values (3, 30)", TXN_COMMITTED);
	does(&m, 2, "delete from parent where id = 3", TXN_ABORTED);
	POINT(&m, "end", {1, 0, 10});
	expect(&m, CLASS_LOST_COMMIT, SEVERITY_VIOLATION, txn);
}
END_TEST

START_TEST(an_earlier_delete_explains_nothing)
{
	struct made m = {0};
	uint64_t txn;

	begin(&m, "RESTRICT");
	POINT(&m, "start", {1, 0, 10}, {3, 0, 1});
	does(&m, 2, "delete from parent where id = 3", TXN_COMMITTED);
	txn = does(&m, 1, "insert into parent values (3, 30)", TXN_COMMITTED);
	POINT(&m, "end", {1, 0, 10});
	expect(&m, CLASS_LOST_COMMIT, SEVERITY_VIOLATION, txn);
}
END_TEST

START_TEST(a_cascade_explains_it)
{
	static const char *const actions[] = {"CASCADE", "RESTRICT"};

	for (int i = 0; i < 2; i++) {
		struct made m = {0};
		struct row parent = {1, 0, 10};
		uint64_t txn;

		begin(&m, actions[i]);
		point(&m, "start", &parent, 1, NULL, 0);
		txn = does(&m, 1, "insert into child values (5, 1, 50)", TXN_COMMITTED);
		does(&m, 2, "delete from parent where id = 1", TXN_COMMITTED);
		point(&m, "end", NULL, 0, NULL, 0);
		if (i == 0)
			expect_nothing(&m, true);
		else
			expect(&m, CLASS_LOST_COMMIT, SEVERITY_VIOLATION, txn);
	}
}
END_TEST

START_TEST(what_cannot_be_followed_is_undecided)
{
	static const char *const texts[] = {"delete from parent where v > 5", "truncate table parent", "call p()",
		"update parent set id = id + 1 where id = 3", "replace into parent select 1, 1", "this is no SQL"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct made m = {0};

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		does(&m, 1, "insert into parent values (3, 30)", TXN_COMMITTED);
		does(&m, 2, texts[i], TXN_COMMITTED);
		POINT(&m, "end", {1, 0, 10});
		expect_nothing(&m, false);
	}
}
END_TEST

START_TEST(a_lost_update_is_found)
{
	for (int surely_after = 0; surely_after < 2; surely_after++) {
		struct made m = {0};
		struct sent first, second_;
		uint64_t txn;

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		if (surely_after) {
			does(&m, 1, "update parent set v = 11 where id = 1", TXN_COMMITTED);
			txn = does(&m, 2, "update parent set v = 12 where id = 1", TXN_COMMITTED);
			POINT(&m, "end", {1, 0, 11});
			expect(&m, CLASS_LOST_COMMIT, SEVERITY_VIOLATION, txn);
			continue;
		}
		/* At the same time: either may be the last. */
		first = send_now(&m);
		second_ = send_now(&m);
		answer(&m, 1, 1, "update parent set v = 11 where id = 1", 1, 0, 0, first);
		answer(&m, 2, 2, "update parent set v = 12 where id = 1", 1, 0, 0, second_);
		txn_end(&m, 1, 1, TXN_COMMITTED, first);
		txn_end(&m, 2, 2, TXN_COMMITTED, second_);
		m.next_txn = 2;
		POINT(&m, "end", {1, 0, 11});
		expect_nothing(&m, true);
	}
}
END_TEST

/* ---- sums ---- */

START_TEST(sums_are_bounded)
{
	/* Two certain additions and a possible one to 10. */
	static const int64_t values[] = {11, 12, 13, 14};
	static const int wanted[] = {CLASS_LOST_COMMIT, -1, -1, CLASS_DUPLICATE_APPLY};

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		struct made m = {.all_sessions = true};

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		does(&m, 1, "update parent set v = v + 1 where id = 1", TXN_COMMITTED);
		does(&m, 2, "update parent set v = 1 + v where id = 1", TXN_COMMITTED);
		does(&m, 3, "update parent set v = v + 1 where id = 1", TXN_UNKNOWN);
		does(&m, 3, "update parent set v = v + 1 where id = 1", TXN_ABORTED);
		POINT(&m, "end", {1, 0, values[i]});
		if (wanted[i] < 0)
			expect_nothing(&m, true);
		else
			expect(&m, (enum finding_class)wanted[i], SEVERITY_VIOLATION, 0);
	}
}
END_TEST

/* ---- resurrected ---- */

START_TEST(an_aborted_insert_that_is_there_is_found)
{
	for (int again = 0; again < 2; again++) {
		struct made m = {0};
		uint64_t txn;

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		txn = does(&m, 1, "insert into parent values (3, 30)", TXN_ABORTED);
		if (again)
			does(&m, 2, "insert into parent values (3, 30)", TXN_COMMITTED);
		POINT(&m, "end", {1, 0, 10}, {3, 0, 30});
		if (again)
			expect_nothing(&m, true);
		else
			expect(&m, CLASS_RESURRECTED, SEVERITY_VIOLATION, txn);
	}
}
END_TEST

START_TEST(an_aborted_update_that_is_there_is_found)
{
	struct made m = {0};
	uint64_t txn;

	begin(&m, "RESTRICT");
	POINT(&m, "start", {1, 0, 10});
	does(&m, 2, "update parent set v = 12 where id = 1", TXN_COMMITTED);
	txn = does(&m, 1, "update parent set v = 11 where id = 1", TXN_ABORTED);
	POINT(&m, "end", {1, 0, 11});
	expect(&m, CLASS_RESURRECTED, SEVERITY_VIOLATION, txn);
}
END_TEST

/* ---- divergent ---- */

START_TEST(nodes_that_differ_are_found)
{
	for (int equal = 0; equal < 2; equal++) {
		struct made m = {0};
		struct row parent = {1, 0, 10}, other = {1, 0, 11};

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		for (int n = 0; n < NODES; n++) {
			char node[16];

			snprintf(node, sizeof(node), "n%d", n + 1);
			rows(&m, node, "end", PARENT, n == 1 && !equal ? &other : &parent, 1, NULL);
			rows(&m, node, "end", CHILD, NULL, 0, NULL);
			look(&m, node, "end", "7", "yes", "0");
		}
		if (equal) {
			expect_nothing(&m, true);
		} else {
			struct judged j;
			const struct finding *f;

			judge_by(&m, &j, NULL);
			f = the_finding(&j, CLASS_DIVERGENT);
			ck_assert_int_eq(f->severity, SEVERITY_VIOLATION);
			ck_assert_uint_eq(f->place->node_count, 1);
			ck_assert(span_eq_str(f->place->nodes[0], "n2"));
			judged_release(&j);
		}
	}
}
END_TEST

START_TEST(at_different_positions_it_is_a_suspicion)
{
	struct made m = {0};
	struct row parent = {1, 0, 10};

	begin(&m, "RESTRICT");
	POINT(&m, "start", {1, 0, 10});
	for (int n = 0; n < NODES; n++) {
		char node[16];

		snprintf(node, sizeof(node), "n%d", n + 1);
		rows(&m, node, "end", PARENT, &parent, n == 1 ? 0 : 1, NULL);
		rows(&m, node, "end", CHILD, NULL, 0, NULL);
		look(&m, node, "end", n == 1 ? "6" : "7", "yes", "0");
	}
	expect(&m, CLASS_DIVERGENT, SEVERITY_SUSPICION, 0);
}
END_TEST

START_TEST(definitions_are_compared)
{
	static const char *const others[] = {"create table parent(id int, v int, x int)", "create table parent(id int, v int) AUTO_INCREMENT=17 x"};

	for (int i = 0; i < 2; i++) {
		struct made m = {0};
		struct row parent = {1, 0, 10};

		begin(&m, "RESTRICT");
		for (int n = 0; n < NODES; n++) {
			char node[16];

			snprintf(node, sizeof(node), "n%d", n + 1);
			rows(&m, node, "end", PARENT, &parent, 1, n == 2 ? others[i] : i ? "create table parent(id int, v int) AUTO_INCREMENT=9 x" : "create table parent(id int, v int)");
			rows(&m, node, "end", CHILD, NULL, 0, NULL);
			look(&m, node, "end", "7", "yes", "0");
		}
		if (i)
			expect_nothing(&m, true);
		else
			expect(&m, CLASS_DIVERGENT, SEVERITY_VIOLATION, 0);
	}
}
END_TEST

/* ---- broken-constraint ---- */

START_TEST(orphans_are_found)
{
	const struct row parents[] = {{1, 0, 10}}, good[] = {{5, 1, 50}, {6, -1, 60}}, bad[] = {{5, 2, 50}, {6, -1, 60}};

	for (int i = 0; i < 2; i++) {
		struct made m = {0};
		struct judged j;

		begin(&m, "RESTRICT");
		point(&m, "start", parents, 1, i ? bad : good, 2);
		point(&m, "end", parents, 1, i ? bad : good, 2);
		if (!i) {
			expect_nothing(&m, true);
			continue;
		}
		judge_by(&m, &j, NULL);
		ck_assert_uint_eq(j.verdict.finding_count, 3); /* on each node */
		for (size_t f = 0; f < 3; f++)
			ck_assert_int_eq(j.verdict.findings[f].class, CLASS_BROKEN_CONSTRAINT);
		judged_release(&j);
	}
}
END_TEST

/* ---- crash ---- */

START_TEST(exits_are_judged)
{
	static const struct {
		const char *kind, *number, *asked;
		int class;
		enum severity severity;
	} cases[] = {{"signal", "6", "", CLASS_CRASH, SEVERITY_VIOLATION}, {"signal", "11", "", CLASS_CRASH, SEVERITY_VIOLATION},
		{"signal", "9", "", CLASS_CRASH, SEVERITY_SUSPICION}, {"signal", "9", "kill", -1, SEVERITY_VIOLATION},
		{"signal", "6", "abort", -1, SEVERITY_VIOLATION}, {"status", "1", "", CLASS_CRASH, SEVERITY_VIOLATION},
		{"status", "0", "", -1, SEVERITY_VIOLATION}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct made m = {0};

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		EVENT(&m, "n2", "exit", "ended", 0, {cases[i].kind, cases[i].number}, {"asked", cases[i].asked});
		EVENT(&m, "n2", "log", "mariadbd: Assertion failure", 0, {"pattern", *cases[i].asked ? "view" : "crash"});
		POINT(&m, "end", {1, 0, 10});
		if (cases[i].class < 0)
			expect_nothing(&m, true);
		else
			expect(&m, (enum finding_class)cases[i].class, cases[i].severity, 0);
	}
}
END_TEST

/* ---- hang ---- */

enum twin { HANG, HANG_OPERATION, HANG_GOES_ON, HANG_BAD_STATE, HANG_SHORT, HANG_LOCK, HANG_LINK, HANG_NOT_READY, HANG_READY, HANG_TWINS };

START_TEST(hangs_are_judged)
{
	for (int twin = HANG; twin < HANG_TWINS; twin++) {
		struct made m = {0};
		struct sent sent;

		begin(&m, "RESTRICT");
		EVENT(&m, "n1", "state", "reachable", 0, {"wsrep_cluster_status", twin == HANG_BAD_STATE ? "non-Primary" : "Primary"},
			{"wsrep_local_state_comment", "Synced"});
		/* What the driver says counts, whatever a poll saw before. */
		if (twin == HANG_NOT_READY || twin == HANG_READY) {
			EVENT(&m, "n1", "state", "reachable", 0, {"wsrep_cluster_status", twin == HANG_READY ? "non-Primary" : "Primary"},
				{"wsrep_local_state_comment", "Synced"});
			EVENT(&m, "n1", "state", "reachable", 0, {"state", "Synced"}, {"ready", twin == HANG_READY ? "yes" : "no"});
		}
		POINT(&m, "start", {1, 0, 10});
		sent = send_now(&m);
		if (twin == HANG_LINK)
			EVENT(&m, "n1", "link", "n1>n2 cut", 0, {"from", "n1"}, {"to", "n2"}, {"state", "cut"});
		if (twin == HANG_OPERATION)
			EVENT(&m, "", "operation", "kill n2", m.at, {"name", "kill"}, {"phase", "end"});
		m.at += twin == HANG_SHORT ? 10 * second : 15 * second;
		if (twin == HANG_OPERATION)
			EVENT(&m, "", "operation", "start n2", m.at, {"name", "start"}, {"phase", "end"});
		if (twin == HANG_LINK)
			EVENT(&m, "n1", "link", "n1>n2 up", 0, {"from", "n1"}, {"to", "n2"}, {"state", "up"});
		if (twin == HANG_GOES_ON)
			does(&m, 1, "update parent set v = 10 where id = 1", TXN_COMMITTED);
		m.at += twin == HANG_SHORT ? 5 * second : 15 * second;
		answer(&m, 1, 0, "select 1", 0, twin == HANG_LOCK ? 1205 : 0, twin == HANG_LOCK ? 0 : STMT_NO_REPLY, sent);
		POINT(&m, "end", {1, 0, 10});
		if (twin == HANG || twin == HANG_READY)
			expect(&m, CLASS_HANG, SEVERITY_VIOLATION, 0);
		else
			expect_nothing(&m, true);
	}
}
END_TEST

/* ---- no-recovery ---- */

START_TEST(recovery_is_judged)
{
	static const struct {
		const char *expected, *waited;
		bool found, decided;
	} cases[] = {{"yes", "60000", true, true}, {"no", "60000", false, true}, {"yes", "1000", false, false}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct made m = {0};
		struct row parent = {1, 0, 10};

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		for (int n = 0; n < 2; n++) {
			rows(&m, n ? "n2" : "n1", "end", PARENT, &parent, 1, NULL);
			rows(&m, n ? "n2" : "n1", "end", CHILD, NULL, 0, NULL);
			look(&m, n ? "n2" : "n1", "end", "7", "yes", cases[i].waited);
		}
		EVENT(&m, "n3", "point", "end", 0, {"state", "Joined"}, {"ready", "no"}, {"expected", cases[i].expected},
			{"waited_ms", cases[i].waited}, {"unread", "no answer"});
		if (cases[i].found)
			expect(&m, CLASS_NO_RECOVERY, SEVERITY_VIOLATION, 0);
		else
			expect_nothing(&m, cases[i].decided);
	}
}
END_TEST

/* The phase is that in which the node was lost, long before the point. */
START_TEST(recovery_has_its_phase)
{
	struct made m = {0};
	struct row parent = {1, 0, 10};
	struct judged j;

	begin(&m, "RESTRICT");
	POINT(&m, "start", {1, 0, 10});
	EVENT(&m, "n3", "state", "reachable; state Synced", 0, {"state", "Synced"}, {"ready", "yes"});
	EVENT(&m, "n3", "operation", "address n3 begins", 0, {"name", "address"}, {"phase", "begin"}, {"nodes", "n3"});
	EVENT(&m, "n3", "state", "reachable; state Donor", 0, {"state", "Donor"}, {"ready", "no"});
	EVENT(&m, "n3", "operation", "address n3", m.at, {"name", "address"}, {"phase", "end"}, {"nodes", "n3"}, {"result", "done"});
	m.at += 60 * second;
	for (int n = 0; n < 2; n++) {
		rows(&m, n ? "n2" : "n1", "end", PARENT, &parent, 1, NULL);
		rows(&m, n ? "n2" : "n1", "end", CHILD, NULL, 0, NULL);
		look(&m, n ? "n2" : "n1", "end", "7", "yes", "60000");
	}
	EVENT(&m, "n3", "point", "end", 0, {"state", "Donor"}, {"ready", "no"}, {"expected", "yes"}, {"waited_ms", "60000"},
		{"unread", "no answer"});
	judge_by(&m, &j, NULL);
	ck_assert(memmem(the_finding(&j, CLASS_NO_RECOVERY)->place->phase.ptr, the_finding(&j, CLASS_NO_RECOVERY)->place->phase.len,
		"address n3", strlen("address n3")));
	judged_release(&j);
}
END_TEST

/* None is well: they should be where most of them run, or where an operation for that failed. */
START_TEST(recovery_of_all_is_judged)
{
	static const char *const names[] = {"n1", "n2", "n3"};
	static const struct {
		const char *running[3], *result;
		bool found;
	} cases[] = {{{"yes", "yes", "yes"}, "done", true}, {{"yes", "yes", "no"}, "done", true}, {{"yes", "no", "no"}, "done", false},
		{{"no", "no", "no"}, "done", false}, {{"no", "no", "no"}, "failed", true}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct made m = {0};

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		EVENT(&m, "n2", "operation", "kill n2", 0, {"name", "kill"}, {"phase", "end"}, {"nodes", "n2,n3"},
			{"result", cases[i].result});
		for (int n = 0; n < 3; n++)
			EVENT(&m, names[n], "point", "end", 0, {"state", "Initialized"}, {"ready", "no"},
				{"running", cases[i].running[n]}, {"expected", "yes"}, {"waited_ms", "60000"}, {"unread", "no answer"});
		if (cases[i].found)
			expect(&m, CLASS_NO_RECOVERY, SEVERITY_VIOLATION, 0);
		else
			expect_nothing(&m, false);
	}
}
END_TEST

/* ---- documented ---- */

static void all_end(struct made *m, int nodes)
{
	for (int n = 0; n < nodes; n++) {
		char node[16];

		snprintf(node, sizeof(node), "n%d", n + 1);
		EVENT(m, node, "exit", "ended", 0, {"signal", "9"}, {"asked", "kill"});
	}
}

START_TEST(what_the_engine_documents_is_said)
{
	static const char durable[] = "contract durable\ncluster\nforbids lost-commit\n";
	static const struct {
		const char *flush, *behind, *contract, *rule;
		int down;
	} cases[] = {{"0", "no", NULL, "flush-log-0", 3}, {"0", "no", NULL, NULL, 2}, {"1", "no", NULL, NULL, 3}, {"2", "no", NULL, NULL, 3},
		{"1", "yes", NULL, "bootstrap-behind", 3}, {"0", "no", durable, NULL, 3}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct made m = {.flush = cases[i].flush};
		const struct finding *f;
		struct judged j;

		begin(&m, "RESTRICT");
		POINT(&m, "start", {1, 0, 10});
		does(&m, 1, "insert into parent values (3, 30)", TXN_COMMITTED);
		all_end(&m, cases[i].down);
		EVENT(&m, "n2", "bootstrap", "bootstrap", 0, {"position", "u:5"},
			{"positions", strcmp(cases[i].behind, "yes") == 0 ? "n1=u:6 n2=u:5 n3=u:5" : "n1=u:5 n2=u:5 n3=u:4"});
		POINT(&m, "end", {1, 0, 10});
		judge_by(&m, &j, cases[i].contract);
		f = the_finding(&j, CLASS_LOST_COMMIT);
		ck_assert_int_eq(f->severity, cases[i].rule ? SEVERITY_DOCUMENTED : SEVERITY_VIOLATION);
		if (cases[i].rule)
			ck_assert_str_eq(f->rule, cases[i].rule);
		judged_release(&j);
	}
}
END_TEST

/* ---- undecided ---- */

START_TEST(without_a_point_nothing_is_decided)
{
	struct made m = {0};

	begin(&m, "RESTRICT");
	does(&m, 1, "insert into parent values (3, 30)", TXN_COMMITTED);
	expect_nothing(&m, false);
}
END_TEST

START_TEST(what_comes_after_the_last_point_is_undecided)
{
	struct made m = {0};

	begin(&m, "RESTRICT");
	POINT(&m, "start", {1, 0, 10});
	POINT(&m, "end", {1, 0, 10});
	does(&m, 1, "insert into parent values (3, 30)", TXN_COMMITTED);
	expect_nothing(&m, false);
}
END_TEST

/* ---- random executions ---- */

enum { KEYS = 6, RANDOM_TXNS = 24, RANDOM_CASES = 400 };

/* A table of one column and an open number of sessions, as a cluster would have it: statements take effect one after the
 * other at some moment between their begin and the end of their transaction; what has an unknown outcome may do so. */
struct world {
	bool there[KEYS];
	int64_t v[KEYS];
	bool sums[KEYS];   /* the key's value is only added to */
	int last_certain[KEYS]; /* the transaction that surely wrote it last; 0: none */
};

static void random_case(struct random *r, struct made *m, struct world *w)
{
	struct row start[KEYS];
	size_t count = 0;

	memset(w, 0, sizeof(*w));
	begin(m, "RESTRICT");
	for (int k = 0; k < KEYS; k++) {
		w->sums[k] = k < 2;
		w->there[k] = w->sums[k] || random_below(r, 2);
		w->v[k] = 100 + k;
		if (w->there[k])
			start[count++] = (struct row){k + 1, 0, w->v[k]};
	}
	point(m, "start", start, count, NULL, 0);
	for (int i = 0; i < RANDOM_TXNS; i++) {
		int k = (int)random_below(r, KEYS);
		unsigned draw = (unsigned)random_below(r, 10);
		enum txn_outcome outcome = draw == 0 ? TXN_UNKNOWN : draw == 1 ? TXN_ABORTED : TXN_COMMITTED;
		bool effect = outcome == TXN_COMMITTED || (outcome == TXN_UNKNOWN && random_below(r, 2));
		int64_t value = 1000 + i;
		char text[100];

		if (w->sums[k])
			snprintf(text, sizeof(text), "update parent set v = v + 1 where id = %d", k + 1);
		else if (!w->there[k])
			snprintf(text, sizeof(text), "insert into parent values (%d, %lld)", k + 1, (long long)value);
		else if (random_below(r, 3))
			snprintf(text, sizeof(text), "update parent set v = %lld where id = %d", (long long)value, k + 1);
		else
			snprintf(text, sizeof(text), "delete from parent where id = %d", k + 1);
		does(m, 1 + (uint32_t)random_below(r, NODES), text, outcome);
		/* It may be the last one. */
		if (outcome == TXN_UNKNOWN)
			w->last_certain[k] = 0;
		if (!effect)
			continue;
		w->v[k] = w->sums[k] ? w->v[k] + 1 : value;
		w->there[k] = text[0] != 'd';
		w->last_certain[k] = outcome == TXN_COMMITTED ? (int)m->next_txn : 0;
	}
}

static void end_point(struct made *m, const struct world *w)
{
	struct row end[KEYS];
	size_t count = 0;

	for (int k = 0; k < KEYS; k++)
		if (w->there[k])
			end[count++] = (struct row){k + 1, 0, w->v[k]};
	point(m, "end", end, count, NULL, 0);
}

START_TEST(random_executions_have_no_findings)
{
	for (uint64_t i = 0; i < RANDOM_CASES; i++) {
		struct random r = {i * 77 + 5};
		struct made m = {.all_sessions = true};
		struct world w;

		random_case(&r, &m, &w);
		end_point(&m, &w);
		expect_nothing(&m, true);
	}
}
END_TEST

/* One key is planted upon: its last write, which was acknowledged and surely the last, is taken back. */
START_TEST(what_is_planted_is_found)
{
	unsigned planted = 0;

	for (uint64_t i = 0; i < RANDOM_CASES; i++) {
		struct random r = {i * 91 + 7};
		struct made m = {.all_sessions = true};
		struct judged j;
		struct world w;
		int k = (int)random_below(&r, KEYS);

		random_case(&r, &m, &w);
		if (w.last_certain[k]) {
			bool sum = w.sums[k];

			planted++;
			if (sum)
				w.v[k] = 100 + k - 1;
			else
				w.there[k] = !w.there[k];
			end_point(&m, &w);
			judge_by(&m, &j, NULL);
			the_finding(&j, CLASS_LOST_COMMIT);
			if (!sum) {
				char name[24];

				snprintf(name, sizeof(name), "T%d", w.last_certain[k]);
				ck_assert(j.verdict.findings[0].transaction_count == 1 && span_eq_str(j.verdict.findings[0].transactions[0], name));
			}
		} else {
			end_point(&m, &w);
			judge_by(&m, &j, NULL);
		}
		judged_release(&j);
	}
	ck_assert_uint_gt(planted, RANDOM_CASES / 4);
}
END_TEST

UNIT_MAIN("sync", a_lost_insert_is_found, an_insert_of_unknown_outcome_may_be_gone_or_there, a_later_delete_explains_it,
	an_aborted_delete_explains_nothing, an_earlier_delete_explains_nothing, a_cascade_explains_it, what_cannot_be_followed_is_undecided,
	a_lost_update_is_found, sums_are_bounded, an_aborted_insert_that_is_there_is_found, an_aborted_update_that_is_there_is_found,
	nodes_that_differ_are_found, at_different_positions_it_is_a_suspicion, definitions_are_compared, orphans_are_found, exits_are_judged,
	hangs_are_judged, recovery_is_judged, recovery_has_its_phase, recovery_of_all_is_judged, what_the_engine_documents_is_said, without_a_point_nothing_is_decided,
	what_comes_after_the_last_point_is_undecided, random_executions_have_no_findings, what_is_planted_is_found)
