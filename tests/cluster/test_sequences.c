/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exploring without a cluster: what lines of logs have in common, sequences that can be done, and the words of links.
 * Whether an operation of a sequence can be done is followed here by rules of the test's own.
 */
#include <stdio.h>

#include "../unit/unit.h"
#include "cluster/drive/ops.h"
#include "cluster/explore/mutate.h"
#include "cluster/explore/signals.h"
#include "cluster/net/change.h"

START_TEST(lines_of_one_kind_are_equal)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} cases[] = {
		{"[Note] WSREP: Member 1.0 (n2) synced with group.", "[Note] WSREP: Member 0.0 (n3) synced with group.", true},
		{"view 3ecd458a-e3da-11f1-b5a1-a6b739883326:4697", "view 0dfdc75c-e3db-11f1-bb38-3f04cd7ff58e:5", true},
		{"cannot open '/tmp/a b/x.dat'", "cannot open '/var/y'", true},
		{"Loading /usr/lib/galera/libgalera_smm.so", "Loading /tmp/x/libgalera_smm.so", true},
		{"server_uid 7HYbechkmhXbuPvRsQY9cPK4/qc= as", "server_uid aB1ZZchkmhXbuPvRsQY9cPK5/qd= as", true},
		{"Shifting JOINER -> JOINED (TO: 35734)", "Shifting JOINED -> SYNCED (TO: 35734)", false},
		{"state transfer failed", "state transfer done", false},
		{"facade of a decade", "facade of a cafe", false}, /* hexadecimal letters alone are words */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf a = BUF_INIT, b = BUF_INIT;

		signals_mask(span_str(cases[i].a), &a);
		signals_mask(span_str(cases[i].b), &b);
		ck_assert_msg((strcmp(a.data, b.data) == 0) == cases[i].equal, "%s | %s", a.data, b.data);
		buf_release(&a);
		buf_release(&b);
	}
}
END_TEST

/* Nodes that are down by what the text says; false: the step could never be done. */
static bool follow(const struct ops_step *step, unsigned nodes, uint32_t *down)
{
	uint32_t all = (1u << nodes) - 1, meant = step->all ? all : step->targets;
	const char *name = step->operation->name;
	bool starts = strncmp(name, "start", 5) == 0, recovers = strncmp(name, "recover", 7) == 0;

	if (step->change)
		return true;
	if (recovers) {
		if (*down != all)
			return false;
		*down = 0;
		return true;
	}
	if (starts) {
		/* On a majority that is up, or there is nothing to join. */
		if (!step->all && !step->any && (meant & ~*down))
			return false;
		if (2 * (unsigned)__builtin_popcount(all & ~*down) <= nodes)
			return false;
		*down &= ~meant;
		return true;
	}
	if (!step->all && !step->any && !step->operation->of_cluster && (meant & *down))
		return false;
	if (strcmp(name, "kill") == 0 || strcmp(name, "abort") == 0 || strcmp(name, "stop") == 0)
		*down |= meant;
	return true;
}

START_TEST(sequences_can_be_done)
{
	static const char *const kinds[] = {"galera", "group-replication"};

	for (size_t k = 0; k < 2; k++) {
		struct mutator m = {.links = true};
		unsigned longest = 0, windows = 0;
		struct sequence s = {.count = 0};
		struct ops base;
		struct err err;

		ck_assert_msg(ops_parse(&base, SPAN_LIT("[operations]\n"), "base", kinds[k], &err), "%s", err.text);
		m.base = &base;
		random_seed(&m.random, 3, 1);
		mutator_saw_state(&m, SPAN_LIT("Joined"));
		for (int round = 0; round < 3000; round++) {
			struct buf text = BUF_INIT;
			uint32_t down = 0;
			unsigned nodes = base.nodes;
			struct ops ops;

			if (round % 20 == 0)
				s.count = 0;
			mutate(&m, &s);
			sequence_print(&base, &s, 7, &text);
			ck_assert_msg(ops_parse(&ops, buf_span(&text), "sequence", NULL, &err), "%s\n%s", err.text, text.data);
			ck_assert_uint_eq(ops.step_count, s.count);
			ck_assert_uint_eq(ops.seed, 7);
			for (unsigned i = 0; i < ops.step_count; i++) {
				ck_assert_msg(follow(&ops.steps[i], nodes, &down), "step %u of\n%s", i + 1, text.data);
				nodes += strcmp(ops.steps[i].operation->name, "add") == 0;
				windows += ops.steps[i].trigger == OPS_AT_WINDOW;
			}
			longest = s.count > longest ? s.count : longest;
			ops_release(&ops);
			buf_release(&text);
		}
		ck_assert_uint_eq(longest, SEQUENCE_MAX);
		ck_assert_uint_gt(windows, 1000);
		ops_release(&base);
	}
}
END_TEST

START_TEST(links_are_meant)
{
	static const struct {
		const char *words;
		uint16_t to[3];
	} cases[] = {
		{"n1", {6, 1, 1}},
		{"n1>n2", {2, 0, 0}},
		{"n1-n2", {2, 1, 0}},
		{"n1,n2", {4, 4, 3}},
		{"n1,n2>n3", {4, 4, 0}},
		{"n3>all", {0, 0, 3}},
		{"all", {6, 5, 3}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct net_change change;
		struct span wrong;
		struct err err;

		ck_assert(net_change_parse(&change, NET_CUT, span_str(cases[i].words), 3, &wrong, &err));
		for (int n = 0; n < 3; n++)
			ck_assert_msg(change.to[n] == cases[i].to[n], "%s: of n%d %x", cases[i].words, n + 1, change.to[n]);
	}
}
END_TEST

UNIT_MAIN("sequences", lines_of_one_kind_are_equal, sequences_can_be_done, links_are_meant)
