/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Grammars of the Random Query Generator and their table files: the languages, their errors, and what is drawn. */
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "workload/grammar.h"
#include "workload/table_plan.h"

/* ---- errors ---- */

static const char *grammar_error(const char *text)
{
	static struct err err;
	struct grammar g;

	if (grammar_parse(&g, span_str(text), "x.yy", &err)) {
		grammar_release(&g);
		return "none";
	}
	return err.text;
}

static const char *plan_error(const char *text)
{
	static struct err err;
	struct table_plan plan;

	if (table_plan_parse(&plan, span_str(text), "x.zz", &err)) {
		table_plan_release(&plan);
		return "none";
	}
	return err.text;
}

#define ASSERT_BEGINS(text, begin) ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0, "%s", text)

START_TEST(wrong_grammars_are_told_where)
{
	ASSERT_BEGINS(grammar_error(""), "x.yy: there is no rule `query`");
	ASSERT_BEGINS(grammar_error("other:\n\tA ;\n"), "x.yy: there is no rule `query`");
	ASSERT_BEGINS(grammar_error("query:\n\tSELECT 1 { return 5 } ;\n"), "x.yy:2:11: Perl code");
	ASSERT_BEGINS(grammar_error("query:\n\tSELECT $table ;\n"), "x.yy:2:9: Perl variables");
	ASSERT_BEGINS(grammar_error("query:\n\tSELECT 'a ;\n"), "x.yy:2:9: the quote");
	ASSERT_BEGINS(grammar_error("query:\n\tSELECT \xc3\xa4 _nothing ;\n"), "x.yy:2:11: _nothing is neither");
	ASSERT_BEGINS(grammar_error("query\n\tSELECT 1 ;\n"), "x.yy:1:1: query: a colon");
	ASSERT_BEGINS(grammar_error("query: A ;\n| B ;\n"), "x.yy:2:1: a rule is expected");
	ASSERT_BEGINS(grammar_error("query: A ;\nquery: B ;\n"), "x.yy:2:1: the rule query is there already");
	ASSERT_BEGINS(grammar_error("query: a ;\na: b | a ;\nb: a ;\n"), "x.yy:1: the rule query never ends");
	ASSERT_BEGINS(grammar_error("query: _varchar(0) ;\n"), "x.yy:1:17: a length");
	ASSERT_BEGINS(grammar_error("#include \"x\"\nquery: A ;\n"), "x.yy:1:1: a grammar that is no file");
}
END_TEST

START_TEST(wrong_table_files_are_told_where)
{
	ASSERT_BEGINS(plan_error("$tables = { rows => [0 .. 3] };"), "x.zz:1:24: ] is expected");
	ASSERT_BEGINS(plan_error("my $x = 1;"), "x.zz:1:1: $ is expected");
	ASSERT_BEGINS(plan_error("$views = { };"), "x.zz:1:1: $tables, $fields or $data");
	ASSERT_BEGINS(plan_error("$tables = {\n sizes => [1] };"), "x.zz:2:2: sizes is no property of tables");
	ASSERT_BEGINS(plan_error("$fields = { types => [\"$x\"] };"), "x.zz:1:24: variables");
	ASSERT_BEGINS(plan_error("$fields = { types => [int] };"), "x.zz:1:23: a text in quotes");
	ASSERT_BEGINS(plan_error("$tables = { rows => ['many'] };"), "x.zz: rows are numbers");
	ASSERT_BEGINS(plan_error("$tables = { rows => [1001] };"), "x.zz: a table of a scenario has at most 1000 rows");
	ASSERT_BEGINS(plan_error("$tables = { rows => [1,2,3,4,5,6,7], pk => [undef,'int','char(3)','date','int unsigned'] };"),
		"x.zz: the combinations of $tables are 35 tables");
	ck_assert_str_eq(plan_error(""), "none");
	ck_assert_str_eq(plan_error("# all\n$data = { 'numbers' => ['digit', undef,], strings => 'letter' }"), "none");
}
END_TEST

START_TEST(table_files_are_read)
{
	struct table_plan plan;
	struct err err;
	struct table_plan_list *types;

	ck_assert_msg(table_plan_parse(&plan,
		SPAN_LIT("$tables = {\n names => [ 'A', \"B\" ], # two\n rows => [ 3 ],\n};\n$fields = { types => ['int', 'enum(\\'x\\')'], null => [undef] };"),
		"x.zz", &err), "%s", err.text);
	types = &plan.lists[TABLE_PLAN_TYPES];
	ck_assert_uint_eq(types->count, 2);
	ck_assert(span_eq_str(types->values[0], "int") && span_eq_str(types->values[1], "enum('x')"));
	ck_assert_uint_eq(plan.lists[TABLE_PLAN_NAMES].count, 2);
	ck_assert(span_eq_str(plan.lists[TABLE_PLAN_NAMES].values[1], "B"));
	ck_assert(plan.lists[TABLE_PLAN_NULL].count == 1 && !plan.lists[TABLE_PLAN_NULL].values[0].ptr);
	/* What the file does not name has a preset. */
	for (unsigned k = 0; k < TABLE_PLAN_KEY_COUNT; k++)
		ck_assert_uint_gt(plan.lists[k].count, 0);
	table_plan_release(&plan);
}
END_TEST

/* ---- texts ---- */

/* Each word in angle brackets, with a number that counts up, so that what is the same shows. */
struct counting {
	unsigned next;
};

static void count_word(void *context, const struct grammar_item *item, struct buf *out)
{
	struct counting *c = context;

	buf_printf(out, "<%s %u%s>", grammar_word_name(item->word) + 1, c->next++, item->quoted ? " quoted" : "");
}

static const char *draw(const char *text, const char *rule, uint64_t seed)
{
	static struct buf out;
	struct counting counting = {0};
	struct random_source random;
	struct grammar g;
	struct err err;
	struct grammar_expansion how = {.grammar = &g, .random = &random, .word = count_word, .context = &counting};

	random_seed(&random, seed, 0);
	ck_assert_msg(grammar_parse(&g, span_str(text), "x.yy", &err), "%s", err.text);
	buf_clear(&out);
	if (!grammar_expand(&how, grammar_rule(&g, rule), &out))
		buf_add_str(&out, "too long");
	grammar_release(&g);
	return out.data ? out.data : "";
}

START_TEST(texts_are_as_written)
{
	ck_assert_str_eq(draw("query:\n  SELECT   a,b\n FROM t # comment\n WHERE x || 'y;' ;\n", "query", 1), "SELECT a,b FROM t WHERE x || 'y;' ");
	/* A semicolon that is not the last of its line stands between statements. */
	ck_assert_str_eq(draw("query: BEGIN ; s ; COMMIT ;\ns: SELECT 1 ;  # end\n", "query", 1), "BEGIN ; SELECT 1  ; COMMIT ");
	/* Names of rules are as they are written; words of SQL are not. */
	ck_assert_str_eq(draw("query: select SELECT ;\nselect: x ;\n", "query", 1), "x  SELECT ");
	ck_assert_str_eq(draw("query: '_digit' \"_letter x\" '_x' ;\n", "query", 1), "'<digit 0 quoted>' \"<letter 1 quoted> x\" '_x' ");
	ck_assert_str_eq(draw("query: _varchar(12) _int (3) _utf8'x' a_table ;\n", "query", 1), "<varchar 0> <int 1> (3) _utf8'x' a_table ");
	ck_assert_str_eq(draw("query:\n\t ;\n", "query", 1), "");
	ck_assert_str_eq(draw("query: _table ;\n_table: t1 ;\n", "query", 1), "t1  ");
}
END_TEST

START_TEST(invariants_stay)
{
	ck_assert_str_eq(draw("query: _table[invariant] _table _table[invariant] other ;\nother: _table[invariant] ;\n", "query", 1),
		"<table 0> <table 1> <table 0> <table 0>  ");
}
END_TEST

START_TEST(every_alternative_is_drawn)
{
	unsigned seen[3] = {0};

	for (uint64_t seed = 0; seed < 600; seed++) {
		const char *text = draw("query: a | b | ;\n", "query", seed);

		seen[text[0] == 'a' ? 0 : text[0] == 'b' ? 1 : 2]++;
	}
	for (unsigned i = 0; i < 3; i++)
		ck_assert_msg(seen[i] > 140 && seen[i] < 260, "alternative %u: %u of 600", i, seen[i]);
}
END_TEST

START_TEST(recursion_is_bounded)
{
	/* Twice the same alternative leads to itself; past the depth, the one that ends is taken. */
	const char *text = draw("query: ( query ) | ( query ) | ( query ) | x ;\n", "query", 11);
	char deep[8192] = "query: a0 a0 ;\n";

	ck_assert(strlen(text) < 4 * (GRAMMAR_DEPTH + 2) * 2);
	ck_assert(strchr(text, 'x') != NULL);
	/* Two to the power of forty texts are not made. */
	for (unsigned i = 0; i < 40; i++)
		snprintf(deep + strlen(deep), 60, "a%u: a%u a%u ;\n", i, i + 1, i + 1);
	strcat(deep, "a40: ;\n");
	ck_assert_str_eq(draw(deep, "query", 1), "too long");
}
END_TEST

START_TEST(masks_leave_something)
{
	const char *text = "query: a | b | c | d | query query ;\na: x | y | a ;\nb: 1 ;\nc: 2 ;\nd: 3 ;\n";
	unsigned sizes[6] = {0};

	for (uint64_t mask = 1; mask <= 200; mask++) {
		struct counting counting = {0};
		struct random_source random;
		struct grammar g;
		struct err err;
		struct buf out = BUF_INIT;
		struct grammar_expansion how = {.grammar = &g, .random = &random, .word = count_word, .context = &counting};

		random_seed(&random, mask, 1);
		ck_assert(grammar_parse(&g, span_str(text), "x.yy", &err));
		grammar_mask(&g, mask, 1 + mask % 2);
		ck_assert_uint_ge(g.rules[0].count, 1);
		ck_assert_uint_le(g.rules[0].count, 5);
		if (mask % 2 == 0) /* level 1: other rules are whole */
			ck_assert_uint_eq(g.rules[grammar_rule(&g, "a")].count, 3);
		sizes[g.rules[0].count]++;
		for (unsigned i = 0; i < 20; i++)
			ck_assert(grammar_expand(&how, 0, &out));
		buf_release(&out);
		grammar_release(&g);
	}
	for (unsigned i = 1; i <= 5; i++)
		ck_assert_msg(sizes[i], "no mask leaves %u alternatives", i);
}
END_TEST

UNIT_MAIN("grammar", wrong_grammars_are_told_where, wrong_table_files_are_told_where, table_files_are_read, texts_are_as_written,
	invariants_stay, every_alternative_is_drawn, recursion_is_bounded, masks_leave_something)
