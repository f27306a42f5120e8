/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshot isolation by the times of the transactions (Chronos' format): cases seen by eye, and
 * small random histories against every order of starts and commits that their times allow.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "import/import.h"
#include "values/check.h"

/* What a history comes to: '+' timed-PL-SI holds, '-' fails; and its G-SI findings. */
static char judge(const char *text, char *classes, size_t size)
{
	struct values v;
	struct verdict verdict;
	struct values_options options = {0};
	struct err err = {0};
	char answer = ' ';

	ck_assert_msg(import_memory(IMPORT_CHRONOS, "in", span_str(text), 0, &v, &err), "%s\n%s",
		err.text, text);
	verdict_init(&verdict);
	values_judge(&v, &options, &verdict);
	classes[0] = '\0';
	for (size_t i = 0; i < verdict.level_count; i++) {
		if (strcmp(verdict.levels[i].name, "timed-PL-SI") == 0)
			answer = "+-?"[verdict.levels[i].answer];
	}
	for (size_t i = 0; i < verdict.finding_count; i++) {
		const struct finding *f = &verdict.findings[i];
		size_t len = strlen(classes);

		if (strcmp(f->level, "timed-PL-SI") == 0)
			snprintf(classes + len, size - len, "%s%s", len ? " " : "", finding_name(f));
	}
	verdict_release(&verdict);
	values_release(&v);
	return answer;
}

#define TXN(tid, sid, start, commit, ops)                                                          \
	"{\"tid\":" #tid ",\"sid\":" #sid ",\"sts\":{\"p\":" #start ",\"l\":0},\"cts\":{\"p\":"     \
	#commit ",\"l\":0},\"ops\":[" ops "]}"
#define OP(type, key, ...) "{\"t\":\"" type "\",\"k\":" #key ",\"v\":" #__VA_ARGS__ "}"

static void expect(const char *text, char answer, const char *classes)
{
	char found[200], got = judge(text, found, sizeof(found));

	ck_assert_msg(got == answer && strcmp(found, classes) == 0, "%c %s, expected %c %s of %s",
		got, found, answer, classes, text);
}

START_TEST(by_eye)
{
	/* Two writers of a key overlap. */
	expect("[" TXN(1, 0, 1, 5, OP("w", 1, 1)) "," TXN(2, 1, 3, 6, OP("w", 1, 2)) "]", '-',
		"G-SIa");
	expect("[" TXN(1, 0, 1, 5, OP("w", 1, 1)) "," TXN(2, 1, 3, 6, OP("w", 2, 2)) "]", '+', "");
	expect("[" TXN(1, 0, 1, 5, OP("a", 1, 1)) "," TXN(2, 1, 3, 6, OP("a", 1, 2)) "]", '-',
		"G-SIa");
	/* One ends when the other starts: either may be first. */
	expect("[" TXN(1, 0, 1, 3, OP("w", 1, 1)) "," TXN(2, 1, 3, 6, OP("w", 1, 2)) "]", '+', "");
	expect("[" TXN(1, 0, 1, 3, OP("w", 1, 1)) "," TXN(2, 1, 3, 3, OP("r", 1, 1)) "]", '+', "");
	expect("[" TXN(1, 0, 1, 3, OP("w", 1, 1)) "," TXN(2, 1, 3, 3, OP("r", 1, null)) "]", '+',
		"");
	/* Read of what was not committed yet, of what was overwritten before, and in time. */
	expect("[" TXN(1, 0, 1, 5, OP("w", 1, 1)) "," TXN(2, 1, 3, 6, OP("r", 1, 1)) "]", '-',
		"G-SIa");
	expect("[" TXN(1, 0, 1, 2, OP("w", 1, 1)) "," TXN(2, 1, 3, 3, OP("r", 1, null)) "]", '-',
		"G-SIb");
	expect("[" TXN(1, 0, 1, 2, OP("w", 1, 1)) "," TXN(2, 1, 3, 3, OP("r", 1, 1)) "]", '+', "");
	expect("[" TXN(1, 0, 1, 2, OP("a", 1, 1)) "," TXN(2, 1, 3, 3, OP("r", 1, [])) "]", '-',
		"G-SIb");
	/* The lists' order is not that of the commits. */
	expect("[" TXN(1, 0, 1, 2, OP("a", 1, 1)) "," TXN(2, 1, 3, 4, OP("a", 1, 2)) "," TXN(
		       3, 2, 5, 6, OP("r", 1, [2, 1])) "]",
		'-', "G-SIa");
	/* Equal values: the later of them was seen. */
	expect("[" TXN(1, 0, 1, 2, OP("w", 1, 7)) "," TXN(2, 1, 3, 4, OP("w", 1, 8)) "," TXN(
		       3, 2, 5, 6, OP("w", 1, 7)) "," TXN(4, 3, 7, 8, OP("r", 1, 7)) "]",
		'+', "");
}
END_TEST

/* ----------------------------------------------------------------------------- random */

enum { TXNS = 4, KEYS = 2 };

struct txn {
	int start, commit;
	int read[KEYS], write[KEYS]; /* -1: it does not; a read of 0 found nothing */
};

static uint64_t seed = 1;

static int roll(int sides)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int)((seed >> 33) % (uint64_t)sides);
}

static void to_json(const struct txn *t, int n, struct buf *out)
{
	buf_clear(out);
	buf_add_str(out, "[");
	for (int i = 0; i < n; i++) {
		const char *comma = "";

		buf_printf(out,
			"%s{\"tid\":%d,\"sid\":%d,\"sts\":{\"p\":%d,\"l\":0},"
			"\"cts\":{\"p\":%d,\"l\":0},\"ops\":[",
			i ? "," : "", i, i, t[i].start, t[i].commit);
		for (int k = 0; k < KEYS; k++) {
			if (t[i].read[k] >= 0) {
				buf_printf(out, "%s{\"t\":\"r\",\"k\":%d,\"v\":", comma, k);
				buf_printf(out, t[i].read[k] ? "%d}" : "null}", t[i].read[k]);
				comma = ",";
			}
		}
		for (int k = 0; k < KEYS; k++) {
			if (t[i].write[k] >= 0) {
				buf_printf(out, "%s{\"t\":\"w\",\"k\":%d,\"v\":%d}", comma, k,
					t[i].write[k]);
				comma = ",";
			}
		}
		buf_add_str(out, "]}");
	}
	buf_add_str(out, "]");
}

/* Runs the events in every order that the times allow.  state: by key its value; owner: who has
 * started and is going to write it; done: bits of events. */
static bool runs(const struct txn *t, int n, unsigned done, const int *state)
{
	int now = 1000;

	if (done == (1u << 2 * n) - 1)
		return true;
	for (int e = 0; e < 2 * n; e++) {
		int at = e % 2 ? t[e / 2].commit : t[e / 2].start;

		if (!(done >> e & 1) && at < now)
			now = at;
	}
	for (int e = 0; e < 2 * n; e++) {
		const struct txn *me = &t[e / 2];
		int next[KEYS];
		bool fine = true;

		if ((done >> e & 1) || (e % 2 ? me->commit : me->start) != now ||
			(e % 2 && !(done >> (e - 1) & 1)))
			continue;
		memcpy(next, state, sizeof(next));
		for (int k = 0; k < KEYS; k++) {
			if (e % 2 && me->write[k] >= 0)
				next[k] = me->write[k];
			if (e % 2)
				continue;
			fine &= me->read[k] < 0 || me->read[k] == state[k];
			for (int j = 0; j < n; j++) {
				bool running = (done >> 2 * j & 1) && !(done >> (2 * j + 1) & 1);

				fine &= !running || me->write[k] < 0 || t[j].write[k] < 0;
			}
		}
		if (fine && runs(t, n, done | 1u << e, next))
			return true;
	}
	return false;
}

/* Reads mostly of what the times show. */
static void generate(struct txn *t, int n, bool ties)
{
	int moments[2 * TXNS];

	for (int i = 0; i < 2 * n; i++) {
		int j = roll(i + 1);

		moments[i] = moments[j];
		moments[j] = i;
	}
	for (int i = 0; i < n; i++) {
		int a = moments[2 * i] / (1 + ties), b = moments[2 * i + 1] / (1 + ties);

		t[i] = (struct txn){.start = a < b ? a : b, .commit = a < b ? b : a};
		for (int k = 0; k < KEYS; k++) {
			t[i].write[k] = roll(3) ? -1 : roll(5) ? 1 + i * KEYS + k : 1;
			t[i].read[k] = roll(2) ? -1 : 0;
		}
	}
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < KEYS; k++) {
			int last = -1;

			for (int j = 0; t[i].read[k] == 0 && j < n; j++) {
				if (j == i || t[j].write[k] < 0 ||
					(t[j].commit > t[i].start && roll(6)) || !roll(6))
					continue;
				if (last < t[j].commit) {
					last = t[j].commit;
					t[i].read[k] = t[j].write[k];
				}
			}
		}
	}
}

START_TEST(every_order)
{
	const char *wanted = getenv("ISOTRACE_TWIN_COUNT");
	long count = wanted ? atol(wanted) : 4000, held = 0;
	struct buf text = BUF_INIT;

	for (long i = 0; i < count; i++) {
		struct txn t[TXNS];
		int n = 2 + roll(TXNS - 1), state[KEYS] = {0};
		bool ties = roll(4) == 0, truth;
		char classes[200], got;

		generate(t, n, ties);
		to_json(t, n, &text);
		truth = runs(t, n, 0, state);
		got = judge(text.data, classes, sizeof(classes));
		/* Where moments coincide each read is given the benefit of the doubt. */
		ck_assert_msg(got == (truth ? '+' : '-') || (ties && !truth && got == '+'),
			"%c (%s), all orders tried: %c, of %s", got, classes, truth ? '+' : '-',
			text.data);
		held += truth;
	}
	printf("# %ld histories, %ld of them hold\n", count, held);
	ck_assert(held > count / 10 && held < count * 9 / 10);
	buf_release(&text);
}
END_TEST

UNIT_MAIN("values_timed", by_eye, every_order)
