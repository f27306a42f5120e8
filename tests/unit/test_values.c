/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values oracle on histories whose verdicts are published or can be seen by eye. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "import/import.h"
#include "random.h"
#include "values/check.h"
#include "values/levels.h"

static const char *const plain_levels[] = {
	"PL-1", "PL-2", "PL-2+", "PL-2.99", "PL-SI", "PL-3", NULL};
static const char *const between_levels[] = {"PL-2", "PL-CS", "PL-2L", "PL-2+", NULL};
static const char *const weak_levels[] = {"be-RC", "be-RA", "be-CC", NULL};
static const char *const be_levels[] = {
	"be-RC", "be-RA", "be-CC", "be-prefix", "be-SI", "be-SER", NULL};
static const char *const session_levels[] = {"read-your-writes", "monotonic-reads",
	"monotonic-writes", "writes-follow-reads", "PRAM", NULL};

static char answer_of(const struct verdict *verdict, const char *prefix, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (strcmp(verdict->levels[i].name, full) == 0)
			return "+-?"[verdict->levels[i].answer];
	}
	return ' ';
}

/* "++----" and so on: + holds, - fails, ? undecided, in the order of the names. */
static void answers(
	const struct verdict *verdict, const char *prefix, const char *const *names, char *out)
{
	while (*names)
		*out++ = answer_of(verdict, prefix, *names++);
	*out = '\0';
}

static void judge(
	enum import_format format, const char *text, struct values *v, struct verdict *out)
{
	struct err err = {0};
	struct values_options options = {0};

	ck_assert_msg(import_memory(format, "in", span_str(text), 0, v, &err), "%s", err.text);
	verdict_init(out);
	values_judge(v, &options, out);
}

/* Classes of the findings, each once, in order. */
static void classes(const struct verdict *verdict, struct buf *out)
{
	buf_add_str(out, "");
	for (size_t i = 0; i < verdict->finding_count; i++) {
		const char *name = finding_name(&verdict->findings[i]);
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= strcmp(finding_name(&verdict->findings[k]), name) == 0;
		if (!seen)
			buf_printf(out, "%s%s", out->len ? " " : "", name);
	}
}

static void expect(enum import_format format, const char *text, const char *prefix,
	const char *const *names, const char *expected, const char *expected_classes)
{
	struct values v;
	struct verdict verdict;
	char got[16];
	struct buf found = BUF_INIT;

	judge(format, text, &v, &verdict);
	answers(&verdict, prefix, names, got);
	classes(&verdict, &found);
	ck_assert_msg(strcmp(got, expected) == 0, "levels %s, expected %s (%s) of\n%s", got,
		expected, found.data, text);
	if (expected_classes)
		ck_assert_msg(strcmp(found.data, expected_classes) == 0,
			"found %s, expected %s of\n%s", found.data, expected_classes, text);
	for (size_t i = 0; i < verdict.finding_count; i++)
		ck_assert_msg(verdict.findings[i].explanation.len > 10, "no explanation");
	buf_release(&found);
	verdict_release(&verdict);
	values_release(&v);
}

#define OK(process, ops)   "{:type :ok :process " #process " :value [" ops "]}\n"
#define FAIL(process, ops) "{:type :fail :process " #process " :value [" ops "]}\n"

static void plain(const char *text, const char *expected, const char *expected_classes)
{
	expect(IMPORT_ELLE, text, "", plain_levels, expected, expected_classes);
}

START_TEST(lists_without_anomaly)
{
	plain(OK(0, "[:append 1 1]") OK(1, "[:r 1 [1]] [:append 1 2]") OK(2, "[:r 1 [1 2]]"),
		"++++++", "");
	plain("", "++++++", "");
	/* Unread appends: their order does not matter. */
	plain(OK(0, "[:append 1 1]") OK(1, "[:append 1 2]") OK(2, "[:r 1 []]"), "++++++", "");
}
END_TEST

/* The same twice is said once, and counted: every finding has an id of its own. */
START_TEST(ids)
{
	struct values v;
	struct verdict verdict;

	judge(IMPORT_ELLE,
		FAIL(0, "[:w 1 1]") OK(1, "[:r 1 1] [:r 1 1] [:r 1 1]") OK(2, "[:r 1 1] [:r 2 9]"), &v,
		&verdict);
	for (size_t i = 0; i < verdict.finding_count; i++) {
		const struct finding *f = &verdict.findings[i];

		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(f->id, verdict.findings[k].id);
	}
	ck_assert_uint_eq(verdict.finding_count, 3);
	ck_assert_uint_eq(verdict.findings[0].similar + verdict.findings[1].similar +
				  verdict.findings[2].similar,
		2);
	verdict_release(&verdict);
	values_release(&v);
}
END_TEST

START_TEST(classic_lists)
{
	/* G0: two transactions append to two lists in opposite orders. */
	plain(OK(0, "[:append :x 1] [:append :y 1]") OK(1, "[:append :x 2] [:append :y 2]")
			OK(2, "[:r :x [1 2]] [:r :y [2 1]]"),
		"------", "G0");
	/* G1a */
	plain(FAIL(0, "[:append :x 1]") OK(1, "[:r :x [1]]"), "+-----", "G1a");
	/* G1b */
	plain(OK(0, "[:append :x 1] [:append :x 2]") OK(1, "[:r :x [1]]") OK(2, "[:r :x [1 2]]"),
		"+-----", NULL);
	/* ... of an element that its writer appended twice, and no read saw the second. */
	plain(OK(0, "[:append :x 1] [:append :x 1]") OK(1, "[:r :x [1]]"), "+-----", "not-PL-2");
	plain(OK(0, "[:append :x 1] [:append :x 2] [:append :x 1]") OK(1, "[:r :x [1 2]]"),
		"+-----", NULL);
	plain(OK(0, "[:append :x 1] [:append :x 1]") OK(1, "[:r :x [1 1]]"), "++++++", "");
	/* G1c */
	plain(OK(0, "[:append :x 1] [:r :y [1]]") OK(1, "[:append :y 1] [:r :x [1]]"), "+-----",
		"G1c");
	/* Read skew. */
	plain(OK(0, "[:append :x 1] [:append :y 1]") OK(1, "[:r :x [1]] [:r :y nil]")
			OK(2, "[:r :x [1]] [:r :y [1]]"),
		"++----", "G-monotonic G-single");
	/* Write skew. */
	plain(OK(0, "[:r :x nil] [:append :y 1]") OK(1, "[:r :y nil] [:append :x 1]")
			OK(2, "[:r :x [1]] [:r :y [1]]"),
		"+++-+-", "G2-item");
	/* Long fork. */
	plain(OK(0, "[:append :x 1]") OK(1, "[:append :y 1]") OK(2, "[:r :x [1]] [:r :y nil]")
			OK(3, "[:r :x nil] [:r :y [1]]"),
		"+++---", "G-nonadjacent");
	/* Lost update. */
	plain(OK(0, "[:r :x nil] [:append :x 1]") OK(1, "[:r :x nil] [:append :x 2]")
			OK(2, "[:r :x [1 2]]"),
		"++----", "G-single lost-update");
	/* Two reads, neither a prefix of the other. */
	plain(OK(0, "[:append :x 1]") OK(1, "[:append :x 2]") OK(2, "[:r :x [1 2]]")
			OK(3, "[:r :x [2]]"),
		"+-----", "incompatible-order");
	plain(OK(0, "[:append :x 1]") OK(2, "[:r :x [1 1]]"), "------", "duplicate-elements");
	plain(OK(0, "[:r :x [7]]"), "+-----", "garbage-read");
	plain(FAIL(0, "[:append :x 1]") OK(1, "[:append :x 2]") OK(2, "[:r :x [1 2]]"), "+-----",
		"G1a dirty-update");
	plain(OK(0, "[:append :x 1] [:r :x [1 2]] [:append :x 2]"), "+-----", "future-read");
	plain(OK(0, "[:append :x 1] [:r :x []]"), "++++--", "internal");
	plain(OK(0, "[:append :x 1]") OK(1, "[:r :x []] [:r :x [1]]"), "++----",
		"G-single internal");
}
END_TEST

START_TEST(elle_paper)
{
	/* Kingsbury and Alvaro, VLDB 2020, section 1: T1 = r(34,[2 1]) a(36,5) a(34,4);
	 * T2 = r(34,[2 1 5]) ...; the example of G-single in TiDB: T1 misses T2's append of 5 to 34
	 * which comes before T1's own 4. */
	plain(OK(0, "[:r 34 [2 1]] [:append 36 5] [:append 34 4]") OK(1, "[:append 34 5]")
			OK(2, "[:r 34 [2 1 5 4]]") OK(3, "[:append 34 2]") OK(4, "[:append 34 1]"),
		"++----", "G-cursor G-single");
}
END_TEST

START_TEST(sessions_and_time)
{
	/* A session does not see its own write: only the strong session levels say no. */
	static const char stale[] =
		OK(0, "[:append :x 1]") OK(0, "[:r :x nil]") OK(1, "[:r :x [1]]");
	static const char late[] = "{:type :invoke :process 0 :value [[:append :x 1]]}\n" OK(
		0, "[:append :x 1]") "{:type :invoke :process 1 :value [[:r :x nil]]}\n" OK(1,
		"[:r :x []]") "{:type :invoke :process 2 :value [[:r :x nil]]}\n" OK(2,
		"[:r :x [1]]");

	expect(IMPORT_ELLE, stale, "", plain_levels, "++++++", "G-single-session read-your-writes");
	expect(IMPORT_ELLE, stale, "strong-session-", plain_levels, "++----", NULL);
	expect(IMPORT_ELLE, late, "", plain_levels, "++++++", "G-single-realtime G-SIb");
	expect(IMPORT_ELLE, late, "strong-session-", plain_levels, "++++++", NULL);
	expect(IMPORT_ELLE, late, "strong-", plain_levels, "++----", NULL);
}
END_TEST

static void registers(const char *text, const char *expected, const char *expected_weak)
{
	expect(IMPORT_PLUME, text, "", plain_levels, expected, NULL);
	expect(IMPORT_PLUME, text, "", weak_levels, expected_weak, NULL);
}

START_TEST(classic_registers)
{
	registers("w(1,1,0,1)\nr(1,1,1,2)\n", "++++++", "+++");
	registers("", "++++++", "+++");
	/* Every write reads before: the order is known. */
	registers("r(1,0,0,1)\nw(1,1,0,1)\nr(1,1,1,2)\nw(1,2,1,2)\nr(1,2,2,3)\n", "++++++", "+++");
	/* Lost update. */
	registers("r(1,0,0,1)\nw(1,1,0,1)\nr(1,0,1,2)\nw(1,2,1,2)\n", "++----", "+++");
	/* Write skew. */
	registers("r(1,0,0,1)\nr(2,0,0,1)\nw(1,1,0,1)\nr(1,0,1,2)\nr(2,0,1,2)\nw(2,2,1,2)\n",
		"+++-+-", "+++");
	/* A read of an aborted transaction's write; of one that was never written. */
	registers("w(1,1,0,-1)\nr(1,1,1,2)\n", "+-----", "---");
	registers("r(1,1,1,2)\n", "+-----", "---");
	/* An intermediate read. */
	registers("w(1,1,0,1)\nw(1,2,0,1)\nr(1,1,1,2)\n", "+-----", "---");
	/* A fractured read. */
	registers("w(1,1,0,1)\nw(2,1,0,1)\nr(1,1,1,2)\nr(2,0,1,2)\n", "++----", "---");
	registers("w(1,1,0,1)\nw(2,1,0,1)\nr(2,0,1,2)\nr(1,1,1,2)\n", "++----", "+--");
	/* A session that does not see its own write. */
	registers("w(1,1,0,1)\nr(1,0,0,2)\n", "++++++", "+--");
	/* Causality: 3 saw 2 saw 1, and 3 does not see 1. */
	registers("w(1,1,0,1)\nr(1,1,1,2)\nw(2,1,1,2)\nr(2,1,2,3)\nr(1,0,2,3)\n", "++----", "++-");
}
END_TEST

/* Between PL-2 and PL-2+: Adya's thesis, sections 4.1 and 4.2. */
START_TEST(cursor_and_monotonic_view)
{
	/* Lost update: no transaction's cursor is stable. */
	expect(IMPORT_ELLE,
		OK(0, "[:r :x nil] [:append :x 1]") OK(1, "[:r :x nil] [:append :x 2]")
			OK(2, "[:r :x [1 2]]"),
		"", between_levels, "+-+-", NULL);
	/* Read skew, x first: the view goes back.  y first: it does not. */
	expect(IMPORT_ELLE,
		OK(0, "[:append :x 1] [:append :y 1]") OK(1, "[:r :x [1]] [:r :y nil]")
			OK(2, "[:r :y [1]]"),
		"", between_levels, "++--", NULL);
	expect(IMPORT_ELLE,
		OK(0, "[:append :x 1] [:append :y 1]") OK(1, "[:r :y nil] [:r :x [1]]")
			OK(2, "[:r :y [1]]"),
		"", between_levels, "+++-", NULL);
	/* The same with registers, whose order is forced by the reads. */
	expect(IMPORT_PLUME, "w(1,1,0,1)\nw(2,1,0,1)\nr(1,1,1,2)\nr(2,0,1,2)\n", "", between_levels,
		"++--", NULL);
	expect(IMPORT_PLUME, "r(1,0,0,1)\nw(1,1,0,1)\nr(1,0,1,2)\nw(1,2,1,2)\n", "", between_levels,
		"+-+-", NULL);
}
END_TEST

START_TEST(session_guarantees)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"w(1,1,0,1)\nr(1,1,0,2)\nw(1,2,0,3)\nr(1,2,1,4)\n", "+++++"},
		/* A session misses its own write. */
		{"w(1,1,0,1)\nr(1,0,0,2)\n", "-+++-"},
		/* It reads an old version after a new one: which is old is forced by the writer. */
		{"r(1,0,0,1)\nw(1,1,0,1)\nr(1,1,1,2)\nr(1,0,1,3)\n", "+-++-"},
		/* One sees 1 then 2, the other 2 then 1: no order fits both. */
		{"w(1,1,0,1)\nw(1,2,1,2)\nr(1,1,2,3)\nr(1,2,2,4)\nr(1,2,3,5)\nr(1,1,3,6)\n",
			"+-++-"},
		/* Nothing that a guarantee speaks of. */
		{"r(1,1,0,1)\n", "+++++"},
		/* It reads what it writes later. */
		{"r(1,1,0,1)\nw(1,1,0,2)\n", "+++-+"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect(IMPORT_PLUME, cases[i].text, "", session_levels, cases[i].expected, NULL);
	/* Lists show the order of writes. */
	expect(IMPORT_ELLE, OK(0, "[:append 1 1]") OK(0, "[:append 1 2]") OK(1, "[:r 1 [2 1]]"), "",
		session_levels, "++-+-", NULL);
	expect(IMPORT_ELLE, OK(1, "[:append 1 1]") OK(0, "[:r 1 [2 1]]") OK(0, "[:append 1 2]"), "",
		session_levels, "+++-+", NULL);
}
END_TEST

/* Registers that only a solver decides, and values that several wrote. */
START_TEST(open_orders)
{
	/* Long fork: prefix consistency and SI say no, causal yes. */
	expect(IMPORT_PLUME,
		"w(1,1,0,1)\nw(2,1,1,2)\nr(1,1,2,3)\nr(2,0,2,3)\nr(1,0,3,4)\nr(2,1,3,4)\n", "",
		be_levels, "+++---", NULL);
	/* Lost update: prefix consistency allows it, SI does not. */
	expect(IMPORT_PLUME, "r(1,0,0,1)\nw(1,1,0,1)\nr(1,0,1,2)\nw(1,2,1,2)\n", "", be_levels,
		"++++--", NULL);
	/* Write skew: SI allows it. */
	expect(IMPORT_PLUME,
		"r(1,0,0,1)\nr(2,0,0,1)\nw(1,1,0,1)\nr(1,0,1,2)\nr(2,0,1,2)\nw(2,2,1,2)\n", "",
		be_levels, "+++++-", NULL);
	/* Two wrote 5; with the one it is a fractured read, with the other it is not. */
	expect(IMPORT_PLUME, "w(1,5,0,1)\nw(2,1,0,1)\nw(1,5,1,2)\nr(1,5,2,3)\nr(2,0,2,3)\n", "",
		be_levels, "++++++", NULL);
	/* Both of them wrote the other key too. */
	expect(IMPORT_PLUME,
		"w(1,5,0,1)\nw(2,1,0,1)\nw(1,5,1,2)\nw(2,2,1,2)\nr(1,5,2,3)\nr(2,0,2,3)\n", "",
		be_levels, "------", NULL);
	/* A first transaction that writes 0 everywhere is the initial state and no other writer of 0:
	 * with it as one, the write skew after it could be explained. */
	expect(IMPORT_PLUME,
		"w(1,0,0,0)\nw(2,0,0,0)\nw(2,1,1,1)\nr(1,0,1,1)\nw(1,1,2,2)\nr(2,0,2,2)\n", "",
		be_levels, "+++++-", "G2-item");
	expect(IMPORT_PLUME,
		"w(3,1,3,3)\nw(1,0,0,0)\nw(2,0,0,0)\nw(2,1,1,1)\nr(1,0,1,1)\nw(1,1,2,2)\n"
		"r(2,0,2,2)\n",
		"", be_levels, "++++++", "");
	/* An element that two appended may be there twice. */
	plain(OK(0, "[:append :x 1]") OK(1, "[:append :x 1]") OK(2, "[:r :x [1 1]]"), "++++++", "");
}
END_TEST

/* Elle's closed predicates: what was not returned counts too. */
START_TEST(closed_predicates)
{
#define INIT "{:type :ok :f :init :value {:x 1, :y nil}}\n"
	/* A phantom: both count the odd ones and insert another.  Only PL-3 forbids it. */
	plain(INIT OK(0, "[:rp [:mod 2 1] {:x 1}] [:insert :y 3]")
			OK(1, "[:rp [:mod 2 1] {:x 1}] [:insert :z 5]")
				OK(2, "[:rp :true {:x 1 :y 3 :z 5}]"),
		"+++++-", "not-serializable");
	plain(INIT OK(0, "[:rp [:mod 2 1] {:x 1}] [:insert :y 3]")
			OK(1, "[:rp [:mod 2 1] {:x 1, :y 3}] [:insert :z 5]"),
		"++++++", "");
	/* Every version of x matches, and x was not returned. */
	plain(INIT OK(0, "[:w :x 3]") OK(1, "[:rp [:mod 2 1] {}]"), "++++--", "be-prefix not-SI");
	/* Deleted: then it need not be. */
	plain(INIT OK(0, "[:delete :x]") OK(1, "[:rp [:mod 2 1] {}]"), "++++++", "");
	/* Its own insert is missing. */
	plain(INIT OK(0, "[:insert :y 3] [:rp [:= 3] {}]"), "++++--", "be-prefix not-SI");
#undef INIT
}
END_TEST

/* The fourteen patterns of Plume (OOPSLA 2024), each as a smallest history; the verdicts are those
 * of Biswas and Enea's axioms.  Where Plume itself answers otherwise is in docs/oracles/values.md.
 */
START_TEST(plume_patterns)
{
	static const struct {
		const char *name, *text, *weak;
	} patterns[] = {
		{"a thin air read", "r(1,7,0,1)\n", "---"},
		{"b aborted read", "w(1,7,0,-1)\nr(1,7,1,2)\n", "---"},
		{"c future read", "r(1,7,0,1)\nw(1,7,0,1)\n", "---"},
		{"d not my own write", "w(1,1,0,1)\nw(1,2,1,2)\nr(1,1,1,2)\n", "---"},
		{"e not my last write", "w(1,1,0,1)\nw(1,2,0,1)\nr(1,1,0,1)\n", "---"},
		{"f intermediate read", "w(1,1,0,1)\nw(1,2,0,1)\nr(1,1,1,2)\n", "---"},
		{"g cyclic causality", "r(2,1,0,1)\nw(1,1,0,1)\nr(1,1,1,2)\nw(2,1,1,2)\n", "---"},
		{"h non-monotonic read, causal",
			/* t1 before t2 in a session; t3 reads y of t2, then x of t1, which t2
			   overwrote. */
			"w(1,1,0,1)\nw(1,2,0,2)\nw(2,2,0,2)\nr(2,2,1,3)\nr(1,1,1,3)\n", "---"},
		{"i non-monotonic read, arbitration",
			/* The same, t1 and t2 ordered only by what another transaction saw of both.
			 */
			"w(1,1,0,1)\nw(3,1,0,1)\nw(1,2,1,2)\nw(2,2,1,2)\nr(2,2,2,3)\nr(1,1,2,3)\n"
			"r(1,2,3,4)\nr(3,1,3,4)\n",
			"+--"},
		{"j non-repeatable read", "w(1,1,0,1)\nw(1,2,1,2)\nr(1,1,2,3)\nr(1,2,2,3)\n",
			"+--"},
		{"k fractured read, causal",
			"w(1,1,0,1)\nw(1,2,0,2)\nw(2,2,0,2)\nr(1,1,1,3)\nr(2,2,1,3)\n", "+--"},
		{"l fractured read, arbitration",
			"w(1,1,0,1)\nr(1,1,1,2)\nw(1,2,1,2)\nw(2,2,1,2)\nr(1,1,2,3)\nr(2,2,2,3)\n",
			"+--"},
		{"m conflict of causality",
			/* t3 sees t2 by way of t4, and reads what t2 overwrote. */
			"w(1,1,0,1)\nw(1,2,0,2)\nr(1,2,1,4)\nw(3,1,1,4)\nr(3,1,2,3)\nr(1,1,2,3)\n",
			"++-"},
		{"n conflict of arbitration",
			/* Two readers see the two writes of x in opposite orders. */
			"w(1,1,0,1)\nw(1,2,1,2)\nr(1,1,2,3)\nr(1,2,2,4)\nr(1,2,3,5)\nr(1,1,3,6)\n",
			"++-"},
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		expect(IMPORT_PLUME, patterns[i].text, "", weak_levels, patterns[i].weak, NULL);
}
END_TEST

/* Small histories that AWDIT's and dbcop's tests judge, written down here in AWDIT's form; `.' stands for
 * a level that they say nothing about.  be_levels: RC, RA, causal, prefix, SI, SER. */
START_TEST(other_tools_tests)
{
	static const struct {
		const char *name, *text, *levels;
	} cases[] = {
		{"AWDIT: serial", "w 0 0\nw 1 1\n=====\nw 0 2\n=====\nr 0 2\n-----\nr 1 1\n", "+++..."},
		{"AWDIT: long fork",
			"w 0 0\nw 1 0\n=====\nw 0 1\n-----\nr 0 1\nr 1 0\n=====\nw 1 1\n-----\n"
			"r 1 1\nr 0 0\n",
			"+++..."},
		{"AWDIT: lost update",
			"w 0 0\n=====\nr 0 0\nw 0 1\n=====\nr 0 0\nw 0 2\n", "+++..."},
		{"AWDIT: cycle of happens-before",
			"r 1 1\n-----\nw 0 0\n=====\nr 0 0\n-----\nw 1 1\n", "---..."},
		{"AWDIT: stale through a third",
			"w 0 1\n-----\nw 0 2\n=====\nr 0 2\nw 1 1\n=====\nr 0 1\nr 1 1\n",
			"++-..."},
		{"AWDIT: a session reads behind what it read",
			"w 0 0\nw 1 0\nw 2 0\nw 3 0\nw 4 0\n=====\nr 0 0\n=====\nr 2 2\nr 4 0\n"
			"=====\nr 3 0\nw 2 1\n-----\nr 1 0\n-----\nw 2 2\n=====\nr 2 1\n-----\n"
			"r 2 0\nr 2 0\n",
			"++-..."},
		{"AWDIT: half of two writers",
			"w 0 1\nw 1 1\n=====\nw 0 2\nw 1 2\n=====\nw 2 2\n=====\nr 0 1\nr 1 2\n"
			"r 2 2\n",
			"+--..."},
		{"AWDIT, dbcop: non-repeatable read", "w 0 0\n=====\nw 0 1\n=====\nr 0 0\nr 0 1\n",
			"+--..."},
		{"AWDIT: read atomic fails in a session",
			"w 0 0\nw 1 0\nw 2 0\nw 3 0\nw 4 0\n=====\nr 0 0\n=====\nr 2 1\nr 2 2\n"
			"=====\nw 2 1\n-----\nr 1 0\n-----\nw 2 2\n=====\nr 2 1\n-----\n"
			"r 2 0\nr 2 1\n",
			"+--..."},
		{"dbcop: all of one writer", "w 1 1\nw 2 1\n=====\nr 1 1\nr 2 1\n", "++++++"},
		{"dbcop: order of commits is a circle",
			"w 1 2\nw 2 1\n=====\nw 1 3\nr 2 1\n=====\nr 1 3\nr 1 2\n", "-....."},
		{"dbcop: twice, in transactions of their own",
			"w 1 5\n=====\nr 1 5\n-----\nr 1 5\n", "++...."},
		{"dbcop: stale beside what overwrote it",
			"w 1 1\nw 2 1\n=====\nr 2 1\nw 1 2\nw 3 1\n=====\nr 1 1\nr 3 1\n",
			"+-...."},
		{"dbcop: newer, then older, in two transactions",
			"w 1 1\n-----\nw 1 2\n=====\nr 1 2\n-----\nr 1 1\n", ".+...."},
		{"dbcop: a chain", "w 1 1\n=====\nr 1 1\nw 2 2\n=====\nr 2 2\n", "..+..."},
		{"dbcop: stale at the end of a long chain",
			"w 1 1\nw 9 1\n=====\nr 1 1\nw 2 1\n=====\nr 2 1\nw 3 1\n=====\nr 3 1\nw 9 2\n"
			"=====\nr 9 2\nw 4 1\n=====\nr 4 1\nw 5 1\n=====\nr 5 1\nr 9 1\n",
			".+-..."},
		{"dbcop: the same with six",
			"w 1 1\nw 9 1\n=====\nr 1 1\nw 2 1\n=====\nr 2 1\nw 3 1\n=====\nr 3 1\nw 9 2\n"
			"=====\nr 9 2\nw 4 1\n=====\nr 4 1\nr 9 1\n",
			"..-..."},
		{"dbcop: independent sessions",
			"w 1 1\n=====\nw 2 1\n=====\nw 3 1\n=====\nr 1 1\n=====\nr 2 1\n=====\nr 3 1\n",
			"..+..."},
		{"dbcop: three writers, one reader",
			"w 1 1\n=====\nw 2 1\n=====\nw 3 1\n=====\nr 1 1\nr 2 1\nr 3 1\n", "..++.."},
		{"dbcop: lost update", "w 1 1\n=====\nr 1 1\nw 1 2\n=====\nr 1 1\nw 1 3\n", "..++--"},
		{"dbcop: write skew",
			"w 1 1\nw 2 1\n=====\nr 1 1\nw 2 2\n=====\nr 2 1\nw 1 2\n", "+.+++-"},
		{"dbcop: writers of two keys", "w 1 1\n=====\nw 2 1\n", "....+."},
		{"dbcop: one after the other", "w 1 1\n=====\nr 1 1\nw 2 1\n=====\nr 2 1\n", ".....+"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct values v;
		struct verdict verdict;
		char got[16];

		judge(IMPORT_AWDIT, cases[i].text, &v, &verdict);
		answers(&verdict, "", be_levels, got);
		for (size_t l = 0; cases[i].levels[l]; l++)
			ck_assert_msg(cases[i].levels[l] == '.' || cases[i].levels[l] == got[l],
				"%s: %s, expected %s", cases[i].name, got, cases[i].levels);
		verdict_release(&verdict);
		values_release(&v);
	}
}
END_TEST

static void judge_with(enum import_format format, const char *text,
	const struct values_options *options, struct values *v, struct verdict *out)
{
	struct err err = {0};

	ck_assert_msg(import_memory(format, "in", span_str(text), 0, v, &err), "%s", err.text);
	verdict_init(out);
	values_judge(v, options, out);
}

/* elle-cli's example: Elle finds nothing wrong with a value that no transaction wrote. */
START_TEST(unwritten_values)
{
	static const char text[] = "{:type :invoke :process 0 :value [[:w :x 2]]}\n" OK(0, "[:w :x 2]")
		"{:type :invoke :process 0 :value [[:r :x nil]]}\n" OK(0, "[:r :x 3]")
		"{:type :invoke :process 0 :value [[:r :x nil]]}\n" OK(0, "[:r :x 2]");
	struct values_options any = {.any_initial = true};
	struct values v;
	struct verdict verdict;
	char got[16];

	judge(IMPORT_ELLE, text, &v, &verdict);
	answers(&verdict, "", plain_levels, got);
	ck_assert_str_eq(got, "+-----");
	ck_assert(strstr(verdict.findings[0].explanation.ptr, "--initial=any") != NULL);
	verdict_release(&verdict);
	values_release(&v);
	judge_with(IMPORT_ELLE, text, &any, &v, &verdict);
	answers(&verdict, "strong-", plain_levels, got);
	ck_assert_str_eq(got, "++++++");
	ck_assert_uint_eq(verdict.finding_count, 0);
	verdict_release(&verdict);
	values_release(&v);
	/* What other reads and writes show, they show still; lists have no such values. */
	judge_with(IMPORT_ELLE,
		OK(0, "[:r :x 1] [:r :y 7] [:w :y 1]") OK(1, "[:r :y 1] [:r :z 8] [:w :x 1]"), &any, &v,
		&verdict);
	answers(&verdict, "", plain_levels, got);
	ck_assert_str_eq(got, "+-----");
	verdict_release(&verdict);
	values_release(&v);
	judge_with(IMPORT_ELLE, OK(0, "[:r :x [7]]"), &any, &v, &verdict);
	ck_assert_uint_eq(verdict.finding_count, 1);
	verdict_release(&verdict);
	values_release(&v);
}
END_TEST

/* Of what was asked for one violation is found, and nothing that is not there. */
START_TEST(first_violation)
{
	static const char skew[] = "w(1,1,0,1)\nw(2,1,0,1)\nr(1,1,1,2)\nw(2,2,1,2)\nr(2,1,2,3)\nw(1,2,2,3)\n";
	static const char stale[] = "w(1,1,0,1)\nw(2,1,0,1)\nr(1,1,1,2)\nr(2,0,1,2)\n";
	struct values_options options = {.first = true};
	struct values v;
	struct verdict verdict;

	judge_with(IMPORT_PLUME, skew, &options, &v, &verdict);
	ck_assert_uint_eq(verdict.finding_count, 1);
	ck_assert_int_eq(answer_of(&verdict, "", "strong-session-PL-3"), '-');
	ck_assert_ptr_nonnull(verdict.note);
	verdict_release(&verdict);
	values_release(&v);
	options.level = "be-RA";
	judge_with(IMPORT_PLUME, stale, &options, &v, &verdict);
	ck_assert_uint_eq(verdict.finding_count, 1);
	ck_assert_int_eq(answer_of(&verdict, "", "be-RA"), '-');
	ck_assert_uint_eq(verdict.findings[0].edge_count, 2);
	verdict_release(&verdict);
	values_release(&v);
	/* All transactions, and the initial state, on cycles. */
	judge_with(IMPORT_PLUME,
		"w(1,1,0,1)\nw(2,1,0,1)\nr(3,1,0,1)\nw(3,1,1,2)\nr(2,1,1,2)\nr(1,0,1,2)\n", &options, &v,
		&verdict);
	ck_assert_int_eq(answer_of(&verdict, "", "be-RA"), '-');
	verdict_release(&verdict);
	values_release(&v);
	judge_with(IMPORT_PLUME, skew, &options, &v, &verdict);
	ck_assert_uint_eq(verdict.finding_count, 0);
	ck_assert_int_eq(answer_of(&verdict, "", "be-RA"), '+');
	verdict_release(&verdict);
	values_release(&v);
}
END_TEST

enum { LONG_TXNS = 25000, LONG_SESSIONS = 20, LONG_KEYS = 5000, LONG_OPS = 8 };

/* Transactions one after the other, sessions in turn, written session by session; with `stale` one
 * read of an older version near the end. */
static void long_history(struct buf *out, bool stale)
{
	static uint32_t now[LONG_KEYS], older[LONG_KEYS];
	struct buf sessions[LONG_SESSIONS], empty = BUF_INIT;
	struct random random = {3};

	memset(now, 0, sizeof(now));
	for (uint32_t s = 0; s < LONG_SESSIONS; s++)
		sessions[s] = empty;
	for (uint32_t t = 1; t <= LONG_TXNS; t++) {
		uint32_t s = (uint32_t)random_below(&random, LONG_SESSIONS);

		for (int i = 0; i < LONG_OPS; i++) {
			uint32_t key = (uint32_t)(i * LONG_KEYS + random_below(&random, LONG_KEYS)) /
				       LONG_OPS;
			bool late = stale && t > LONG_TXNS - 100 && older[key];

			if (random_below(&random, 2)) {
				buf_printf(&sessions[s], "r(%u,%u,%u,%u)\n", key,
					late ? older[key] : now[key], s, t);
				stale &= !late;
			} else {
				older[key] = now[key];
				now[key] = t;
				buf_printf(&sessions[s], "w(%u,%u,%u,%u)\n", key, t, s, t);
			}
		}
	}
	for (uint32_t s = 0; s < LONG_SESSIONS; s++) {
		buf_add(out, sessions[s].data, sessions[s].len);
		buf_release(&sessions[s]);
	}
}

/* What small histories have decided, long ones have too, by default. */
START_TEST(long_histories)
{
	for (int stale = 0; stale < 2; stale++) {
		struct values_options options = {.level = "strong-session-PL-3"};
		struct buf text = BUF_INIT;
		struct values v;
		struct verdict verdict;

		long_history(&text, stale);
		judge_with(IMPORT_PLUME, text.data, &options, &v, &verdict);
		ck_assert_int_eq(answer_of(&verdict, "", "strong-session-PL-3"), stale ? '-' : '+');
		verdict_release(&verdict);
		values_release(&v);
		buf_release(&text);
	}
}
END_TEST

/* A level that the solver left open is decided by one that it implies, or that implies it. */
START_TEST(levels_follow)
{
	static const char *const fail[] = {"strong-session-PL-2+", "strong-session-PL-SI", "be-SI", "be-prefix"};
	struct verdict verdict;

	verdict_init(&verdict);
	for (size_t i = 0; i < ARRAY_LEN(fail); i++)
		verdict_level(&verdict, fail[i], LEVEL_UNDECIDED);
	verdict_level(&verdict, "PL-3", LEVEL_UNDECIDED);
	verdict_level(&verdict, "be-RC", LEVEL_UNDECIDED);
	verdict_level(&verdict, "monotonic-reads", LEVEL_UNDECIDED);
	levels_complete(&verdict);
	ck_assert_int_eq(answer_of(&verdict, "", "be-SI"), '?');
	verdict_level(&verdict, "be-CC", LEVEL_FAILS);
	verdict_level(&verdict, "be-RA", LEVEL_HOLDS);
	levels_complete(&verdict);
	/* be-SI is another name of strong-session-PL-SI, which alone does not imply be-CC. */
	for (size_t i = 1; i < ARRAY_LEN(fail); i++)
		ck_assert_int_eq(answer_of(&verdict, "", fail[i]), '-');
	ck_assert_int_eq(answer_of(&verdict, "", "strong-session-PL-2+"), '?');
	ck_assert_int_eq(answer_of(&verdict, "", "PL-3"), '?');
	ck_assert_int_eq(answer_of(&verdict, "", "be-RC"), '+');
	verdict_level(&verdict, "PRAM", LEVEL_FAILS);
	levels_complete(&verdict);
	ck_assert_int_eq(answer_of(&verdict, "", "strong-session-PL-2+"), '-');
	ck_assert_int_eq(answer_of(&verdict, "", "monotonic-reads"), '?');
	ck_assert(!levels_are_decided(&verdict));
	verdict_release(&verdict);
}
END_TEST

UNIT_MAIN("values", lists_without_anomaly, ids, classic_lists, elle_paper, sessions_and_time,
	classic_registers, closed_predicates, cursor_and_monotonic_view, session_guarantees,
	open_orders, plume_patterns, other_tools_tests, unwritten_values, first_violation, long_histories,
	levels_follow)
