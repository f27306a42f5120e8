/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of scenarios that can go, and what can be made simpler in statements: what comes out is a scenario. */
#include <string.h>

#include "base/mem.h"
#include "random.h"
#include "reduce/edits.h"
#include "reduce/parts.h"
#include "reduce/tidy.h"
#include "unit.h"

static const char sample[] =
	"# id: sample\n"
	"# isolation: RR\n"
	"[setup]\n"
	"create table Account (id int primary key, owner varchar(20) not null default 'x', balance bigint, note text,\n"
	"  key by_owner (owner, balance)) engine=InnoDB;\n"
	"create table log (n int, account int);\n"
	"create view rich as select id from Account where balance > 100;\n"
	"insert into Account (id, owner, balance, note) values (10,'ann',700,'q'),(20,'bob',800,null),(30,'cid',900,'r');\n"
	"insert into log values (1, 10);\n"
	"create index on_n on log (n);\n"
	"[schedule]\n"
	"A> start transaction;\n"
	"B> begin;\n"
	"A> select owner, balance from Account where (id = 10 and balance > 5) or id in (20, 30) order by owner limit 7;\n"
	"B> update Account set balance = balance + 50, note = 'z' where id = 10;\n"
	"C> insert into log values (2, 20), (3, 30);\n"
	"B> savepoint s;\n"
	"B> delete from log where n = 1;\n"
	"B> rollback to s;\n"
	"A> select count(*) from rich;\n"
	"B> commit;\n"
	"A> select a.owner from Account a join log l on a.id = l.account for update;\n"
	"A> commit;\n"
	"[final]\n"
	"select * from log;\n";

static struct sql_options options;

static void open_sample(struct scenario *s, const char *text)
{
	struct err err;

	options = sql_options_default();
	ck_assert_msg(scenario_parse(s, span_str(text), "sample", &err), "%s", err.text);
}

static char *text_of(const struct scenario *s)
{
	struct buf out = BUF_INIT;

	scenario_print(s, &out);
	return out.data;
}

/* The text is a scenario whose statements parse. */
static void require_sound(const struct scenario *s)
{
	char *text = text_of(s);
	struct scenario again;
	struct script script;
	struct err err;

	if (!scenario_parse(&again, span_str(text), "built", &err))
		ck_abort_msg("%s\n%s", err.text, text);
	script_open(&script, &again, &options);
	for (size_t i = 0; i < script.count; i++)
		if (!script.stmts[i].tree)
			ck_abort_msg("does not parse: %.*s", SPAN_ARG(script.stmts[i].text));
	script_release(&script);
	scenario_release(&again);
	free(text);
}

static void take_out(const struct parts *p, bool *kept, uint32_t unit)
{
	kept[unit] = false;
	for (size_t i = 0; i < p->need_count; i++)
		if (p->needs[i].needed == unit && kept[p->needs[i].unit])
			take_out(p, kept, p->needs[i].unit);
}

START_TEST(parts_that_are_left_make_a_scenario)
{
	struct random source = {7};
	struct scenario s;
	struct parts p;
	unsigned built = 0;

	open_sample(&s, sample);
	parts_open(&p, &s, &options, NULL);
	ck_assert_uint_gt(p.unit_count, 25);
	for (unsigned n = 0; n < 3000; n++) {
		bool *kept = mem_alloc(p.unit_count);
		struct scenario out;
		struct err err;

		memset(kept, true, p.unit_count);
		for (uint64_t k = random_below(&source, 8); k--;)
			take_out(&p, kept, (uint32_t)random_below(&source, p.unit_count));
		if (parts_build(&p, kept, &out, &err)) {
			struct script script;

			built++;
			require_sound(&out);
			/* What names a table comes with the table. */
			script_open(&script, &out, &options);
			for (size_t i = 0; i < script.count; i++)
				for (unsigned t = 0; t < 2; t++) {
					struct span table = t ? SPAN_LIT("log") : SPAN_LIT("Account");
					bool made = false;

					for (size_t k = 0; k < script.setup_count; k++)
						made |= script.stmts[k].tree->kind == SQL_STMT_CREATE_TABLE &&
							span_ieq(script.stmts[k].tree->u.create_table->table.name, table);
					UNIT_REQUIRE(made || !script_names_table(script.stmts[i].tree, table));
				}
			script_release(&script);
			scenario_release(&out);
		}
		free(kept);
	}
	ck_assert_uint_gt(built, 1000);
	parts_release(&p);
	scenario_release(&s);
}
END_TEST

/* What is believed to matter alone. */
START_TEST(doubts_name_the_rest)
{
	/* Only B's UPDATE and what begins and ends its transaction. */
	static const uint8_t doubts[] = {4, 0, 4, 0, 4, 1, 2, 1, 4, 0, 4, 4};
	struct scenario s, out;
	struct parts p;
	struct err err;
	bool *kept;
	char *text;

	open_sample(&s, sample);
	parts_open(&p, &s, &options, doubts);
	kept = mem_alloc(p.unit_count);
	memset(kept, true, p.unit_count);
	for (uint32_t i = 0; i < p.unit_count; i++)
		if (p.units[i].doubt)
			take_out(&p, kept, i);
	ck_assert(parts_build(&p, kept, &out, &err));
	text = text_of(&out);
	ck_assert_str_eq(text,
		"# id: sample\n"
		"# isolation: RR\n"
		"[setup]\n"
		"create table Account (id int primary key, owner varchar(20) not null default 'x', balance bigint, note text,\n"
		"  key by_owner (owner, balance)) engine=InnoDB;\n"
		"insert into Account (id, owner, balance, note) values (10, 'ann', 700, 'q');\n"
		"[schedule]\n"
		"B> begin;\n"
		"B> update Account set balance = balance + 50, note = 'z' where id = 10;\n"
		"B> commit;\n");
	free(text);
	free(kept);
	scenario_release(&out);
	parts_release(&p);
	scenario_release(&s);
}
END_TEST

/* Builds the scenario with those edits made; false: they do not go together. */
static bool build_edited(const struct scenario *s, const bool *kept, struct scenario *out)
{
	struct script script;
	struct edits edits;
	struct err err;
	bool ok;

	script_open(&script, s, &options);
	edits_list(&script, &edits);
	ok = edits_apply(&script, &edits, kept) && script_build(&script, out, &err);
	edits_release(&edits);
	script_release(&script);
	return ok;
}

static size_t count_edits(const struct scenario *s)
{
	struct script script;
	struct edits edits;
	size_t count;

	script_open(&script, s, &options);
	edits_list(&script, &edits);
	count = edits.count;
	edits_release(&edits);
	script_release(&script);
	return count;
}

START_TEST(every_edit_and_many_at_once_leave_sql)
{
	struct random source = {11};
	struct scenario s, out;
	size_t count;
	unsigned changed = 0;
	char *before;

	open_sample(&s, sample);
	before = text_of(&s);
	count = count_edits(&s);
	ck_assert_uint_gt(count, 30);
	for (size_t n = 0; n < 5000; n++) {
		bool *kept = mem_alloc(count);
		char *text;

		memset(kept, true, count);
		if (n < count)
			kept[n] = false;
		else
			for (uint64_t k = 1 + random_below(&source, 6); k--;)
				kept[random_below(&source, count)] = false;
		if (build_edited(&s, kept, &out)) {
			require_sound(&out);
			text = text_of(&out);
			changed += strcmp(text, before) != 0;
			free(text);
			scenario_release(&out);
		}
		free(kept);
	}
	ck_assert_uint_gt(changed, 2500);
	free(before);
	scenario_release(&s);
}
END_TEST

/* A column leaves its table, the rows, lists of columns and what is read; where a condition needs it, it stays. */
START_TEST(columns_go_everywhere_or_nowhere)
{
	static const char text[] = "[setup]\n"
				   "create table t (a int, b int, c int, key (b, c), key (c));\n"
				   "insert into t values (1, 2, 3), (4, 5, 6);\n"
				   "insert into t (c, a) values (7, 8);\n"
				   "[schedule]\n"
				   "T1> select c, a from t where a = 1;\n"
				   "T1> update t set c = 9, b = 1;\n";
	struct scenario s, out;
	struct script script;
	struct edits edits;
	bool *kept;
	unsigned dropped = 0;

	open_sample(&s, text);
	script_open(&script, &s, &options);
	edits_list(&script, &edits);
	kept = mem_alloc(edits.count);
	for (size_t i = 0; i < edits.count; i++) {
		char *built;

		if (edits.items[i].way != EDIT_DROP_COLUMN)
			continue;
		memset(kept, true, edits.count);
		kept[i] = false;
		if (!build_edited(&s, kept, &out)) {
			ck_assert(span_eq_str(edits.items[i].column, "a")); /* WHERE a = 1 */
			continue;
		}
		dropped++;
		built = text_of(&out);
		if (span_eq_str(edits.items[i].column, "c"))
			ck_assert_str_eq(built, "[setup]\n"
						"create table t (a int, b int, index (b));\n"
						"insert into t values (1, 2), (4, 5);\n"
						"insert into t (a) values (8);\n"
						"[schedule]\n"
						"T1> select a from t where a = 1;\n"
						"T1> update t set b = 1;\n");
		free(built);
		scenario_release(&out);
	}
	ck_assert_uint_eq(dropped, 2);
	free(kept);
	edits_release(&edits);
	script_release(&script);
	scenario_release(&s);
}
END_TEST

START_TEST(constants_become_small_and_keep_their_order)
{
	static const char text[] = "[setup]\n"
				   "create table t (a int, b varchar(20));\n"
				   "insert into t values (500, 'pear'), (70, 'fig'), (0, 'a b');\n"
				   "[schedule]\n"
				   "T1> select * from t where a > 70 and a < 900 limit 500;\n";
	struct scenario s, out;
	struct script script;
	struct constants constants;
	bool kept[8] = {false};
	struct err err;
	char *built;

	open_sample(&s, text);
	for (unsigned round = 0; round < 2; round++) {
		script_open(&script, &s, &options);
		constants_list(&script, &constants);
		ck_assert_uint_eq(constants.count, 5); /* 70, 500, 900, fig, pear */
		kept[1] = round == 1;                  /* 500 stays */
		constants_apply(&script, &constants, kept);
		ck_assert(script_build(&script, &out, &err));
		built = text_of(&out);
		ck_assert_str_eq(built, round ? "[setup]\n"
						"create table t (a int, b varchar(20));\n"
						"insert into t values (500, 'b'), (1, 'a'), (0, 'a b');\n"
						"[schedule]\n"
						"T1> select * from t where a > 1 and a < 501 limit 500;\n"
					      : "[setup]\n"
						"create table t (a int, b varchar(20));\n"
						"insert into t values (2, 'b'), (1, 'a'), (0, 'a b');\n"
						"[schedule]\n"
						"T1> select * from t where a > 1 and a < 3 limit 2;\n");
		free(built);
		scenario_release(&out);
		constants_release(&constants);
		script_release(&script);
	}
	scenario_release(&s);
}
END_TEST

START_TEST(names_become_short_everywhere)
{
	struct scenario s, out;
	struct script script;
	bool kept[NAMES_COUNT] = {false};
	struct err err;
	char *built;

	struct buf text = BUF_INIT;
	const char *view = strstr(sample, "create view"), *reads = strstr(sample, "A> select count(*)");

	/* Without the view, whose text stays as it is. */
	buf_add(&text, sample, (size_t)(view - sample));
	view = strchr(view, '\n') + 1;
	buf_add(&text, view, (size_t)(reads - view));
	buf_add_str(&text, strchr(reads, '\n') + 1);
	open_sample(&s, text.data);
	buf_release(&text);
	script_open(&script, &s, &options);
	names_apply(&script, kept);
	ck_assert(script_build(&script, &out, &err));
	require_sound(&out);
	built = text_of(&out);
	ck_assert_ptr_null(strstr(built, "Account"));
	ck_assert_ptr_null(strstr(built, "balance"));
	ck_assert_ptr_null(strstr(built, "by_owner"));
	ck_assert_ptr_nonnull(strstr(built, "create table t (a int primary key, b varchar(20) not null default 'x', c bigint, "
					    "d text, index (b, c)) engine = InnoDB;\n"));
	ck_assert_ptr_nonnull(strstr(built, "T2> update t set c = c + 50, d = 'z' where a = 10;\n"));
	ck_assert_ptr_nonnull(strstr(built, "T3> insert into u values (2, 20), (3, 30);\n"));
	free(built);
	scenario_release(&out);
	script_release(&script);
	scenario_release(&s);
}
END_TEST

/* Each way has all statements, each session's in its order. */
START_TEST(orders_keep_each_sessions_own)
{
	struct scenario s, out;
	struct err err;
	size_t better = 0, number = 0;

	open_sample(&s, sample);
	for (; order_candidate(&s, number, &out, &err); number++) {
		ck_assert_uint_eq(out.schedule.count, s.schedule.count);
		for (uint32_t session = 0; session < s.session_count; session++) {
			size_t at = 0;

			for (size_t i = 0; i < s.schedule.count; i++) {
				if (s.schedule.stmts[i].session != session)
					continue;
				while (!span_eq(out.sessions[out.schedule.stmts[at].session].name, s.sessions[session].name))
					at++;
				ck_assert(span_eq(out.schedule.stmts[at++].sql, s.schedule.stmts[i].sql));
			}
		}
		better += order_switches(&out) < order_switches(&s);
		scenario_release(&out);
	}
	ck_assert_uint_gt(number, 8);
	ck_assert_uint_gt(better, 4);
	scenario_release(&s);
}
END_TEST

UNIT_MAIN("reduce", parts_that_are_left_make_a_scenario, doubts_name_the_rest, every_edit_and_many_at_once_leave_sql,
	columns_go_everywhere_or_nowhere, constants_become_small_and_keep_their_order, names_become_short_everywhere,
	orders_keep_each_sessions_own)
