/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values oracle against definitions tried out: small random histories, every version order,
 * every serial order, every interleaving of starts and commits, every commit order.
 *
 * values_brute.c says what each level means, and tries everything.  The oracle must give the same
 * answer for every level of every history, undecided is wrong here, and every witness must be one.
 * ISOTRACE_TWIN_COUNT is the number of histories a model, 2000 unless given; ISOTRACE_TWIN_SEED
 * makes them others.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "import/import.h"
#include "values/check.h"
#include "values_brute.h"

/* --------------------------------------------------------------------------- random */

static uint64_t seed;

static unsigned roll(unsigned sides)
{
	seed += 0x9e3779b97f4a7c15u;
	uint64_t z = seed;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (unsigned)((z ^ z >> 31) % sides);
}

/* Transactions: one history in eight has five or six, with fewer operations and at most
 * WRITES_MAX writes of a key, since everything is going to be tried. */
enum { SMALL = 4, WRITES_MAX = 3 };

static int roll_size(void)
{
	return roll(8) ? 2 + (int)roll(SMALL - 1) : SMALL + 1 + (int)roll(TXNS - SMALL);
}

/* A history whose reads come from a store that keeps promises to a random degree. */
static void generate(struct hist *h, bool lists, bool duplicates)
{
	int value = 1, style = (int)roll(4), position = 0;
	int all[KEYS][32], all_count[KEYS] = {0};
	unsigned keys = roll(2) ? 2 : 1 + roll(KEYS), sessions = 2 + roll(3);

	memset(h, 0, sizeof(*h));
	h->lists = lists;
	h->n = roll_size();
	for (int i = 0; i < h->n; i++) {
		struct txn *t = &h->t[i];

		t->count = 1 + (int)roll(h->n > SMALL ? 2 : OPS);
		t->session = (int)roll(sessions);
		t->outcome = roll(8) ? 0 : 1 + (int)roll(2);
		for (int k = 0; k < t->count; k++) {
			struct op *o = &t->ops[k];

			o->kind = roll(2) ? R : W;
			o->key = (int)roll(keys);
			if (h->n > SMALL && all_count[o->key] == WRITES_MAX)
				o->kind = R;
			if (o->kind == W) {
				o->value = duplicates && !roll(3) && value > 1 ? 1 + (int)roll(2)
									       : value++;
				all[o->key][all_count[o->key]++] = o->value;
			}
		}
	}
	/* Reads: of the state when all ran one after the other (style 0, 1), or of anything. */
	int state[KEYS][32], length[KEYS] = {0};
	for (int k = 0; k < KEYS; k++) {
		for (int i = all_count[k] - 1; i > 0; i--) {
			int j = (int)roll((unsigned)i + 1), swap = all[k][i];

			if (style == 3) {
				all[k][i] = all[k][j];
				all[k][j] = swap;
			}
		}
	}
	for (int i = 0; i < h->n; i++) {
		for (int j = 0; j < h->t[i].count; j++) {
			struct op *o = &h->t[i].ops[j];
			int *list = style < 2 ? state[o->key] : all[o->key];
			int len = style < 2 ? length[o->key]
					    : (int)roll((unsigned)all_count[o->key] + 1);

			if (o->kind == W) {
				state[o->key][length[o->key]++] = o->value;
				continue;
			}
			if (style == 1 && !roll(4))
				len = (int)roll((unsigned)len + 1);
			if (len > LIST)
				len = LIST;
			if (lists) {
				memcpy(o->list, list, (size_t)len * sizeof(int));
				o->len = len;
				if (!roll(40) && len) /* something odd */
					o->list[roll((unsigned)len)] = 1 + (int)roll(9);
			} else {
				o->value = len ? list[len - 1] : 0;
				if (!roll(40))
					o->value = (int)roll(9);
			}
		}
	}
	/* Real time: invoke and complete, a session at a time; sessions run their order. */
	for (int i = 0; i < h->n; i++) {
		int first = position;

		for (int j = 0; j < i; j++) {
			if (h->t[j].session == h->t[i].session && h->t[j].complete >= first)
				first = h->t[j].complete + 1;
		}
		h->t[i].invoke = first + (int)roll(2);
		h->t[i].complete = h->t[i].invoke + 1 + (int)roll(4);
		position = roll(2) ? h->t[i].invoke : h->t[i].complete + 1;
	}
}

/* ------------------------------------------------------------------------- as text */

struct event {
	int at, txn;
	bool complete;
};

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->at != y->at ? x->at - y->at : x->txn - y->txn;
}

/* Registers with deletions and predicates, on a store that keeps promises to a random degree. */
static void generate_closed(struct hist *h)
{
	int state[KEYS] = {0}, last[8] = {0}, value = 1, style = (int)roll(3);
	enum { CLOSED = 2 }; /* keys */

	memset(h, 0, sizeof(*h));
	h->closed = true;
	h->n = 2 + (int)roll(SMALL - 1);
	for (int i = 0; i < h->n; i++) {
		struct txn *t = &h->t[i];
		int wanted = 1 + (int)roll(OPS);

		t->session = (int)roll(4);
		t->outcome = roll(10) ? 0 : 1 + (int)roll(2);
		t->invoke = 2 * i;
		t->complete = 2 * i + 1 + (int)roll(3);
		while (t->count < wanted) {
			struct op *o = &t->ops[t->count++];

			o->key = (int)roll(CLOSED);
			o->kind = roll(2) ? W : R;
			if (o->kind == W) {
				o->value = roll(4) ? value++ : 0;
				state[o->key] = o->value;
				last[roll(8)] = o->value;
				continue;
			}
			if (roll(2) || t->count + CLOSED > OPS) {
				o->value = style == 0 || !roll(3) ? state[o->key] : last[roll(8)];
				continue;
			}
			o->kind = P;
			o->value = (int)roll(2);
			for (int key = 0; key < CLOSED; key++) {
				int now = style == 0 || roll(2) ? state[key] : 0;

				if (!now || now % 2 != o->value)
					continue;
				o->list[key] = now;
				t->ops[t->count++] = (struct op){
					.kind = R, .key = key, .value = now, .match = true};
			}
		}
	}
	/* Sessions are sequential. */
	for (int i = 0; i < h->n; i++) {
		for (int j = 0; j < i; j++) {
			if (h->t[j].session == h->t[i].session &&
				h->t[j].complete >= h->t[i].invoke) {
				h->t[i].invoke = h->t[j].complete + 1;
				h->t[i].complete = h->t[i].invoke + 1;
			}
		}
	}
}

static void write_predicate(const struct op *o, struct buf *out)
{
	buf_printf(out, " [:rp [:mod 2 %d] {", o->value);
	for (int key = 0; key < KEYS; key++) {
		if (o->list[key])
			buf_printf(out, "%d %d ", key, o->list[key]);
	}
	buf_add_str(out, "}]");
}

static void write_ops(const struct hist *h, const struct txn *t, bool invoke, struct buf *out)
{
	for (int k = 0; k < t->count; k++) {
		const struct op *o = &t->ops[k];

		if (o->kind == P && !invoke && !t->outcome) {
			write_predicate(o, out);
		} else if (o->match || o->kind == P) {
			continue;
		} else if (o->kind == W && h->closed && !o->value) {
			buf_printf(out, " [:delete %d]", o->key);
		} else if (o->kind == W) {
			buf_printf(
				out, " [:%s %d %d]", h->lists ? "append" : "w", o->key, o->value);
		} else if (invoke || t->outcome) {
			buf_printf(out, " [:r %d nil]", o->key);
		} else if (h->lists) {
			buf_printf(out, " [:r %d [", o->key);
			for (int e = 0; e < o->len; e++)
				buf_printf(out, "%s%d", e ? " " : "", o->list[e]);
			buf_add_str(out, "]]");
		} else if (o->value) {
			buf_printf(out, " [:r %d %d]", o->key, o->value);
		} else {
			buf_printf(out, " [:r %d nil]", o->key);
		}
	}
}

/* Events at one moment are made to overlap: all invocations, then all completions. */
static void to_edn(const struct hist *h, struct buf *out)
{
	struct event events[2 * TXNS];
	static const char *const types[] = {":ok", ":fail", ":info"};
	int count = 0;

	for (int i = 0; i < h->n; i++) {
		events[count++] = (struct event){2 * h->t[i].invoke, i, false};
		events[count++] = (struct event){2 * h->t[i].complete + 1, i, true};
	}
	qsort(events, (size_t)count, sizeof(*events), compare_events);
	buf_add_str(out, h->closed ? "{:type :ok :f :init :value {0 nil, 1 nil}}\n" : "");
	for (int e = 0; e < count; e++) {
		const struct txn *t = &h->t[events[e].txn];
		bool done = events[e].complete;

		buf_printf(out, "{:index %d :type %s :process %d :value [",
			done ? 100 + events[e].txn : e, done ? types[t->outcome] : ":invoke",
			t->session);
		write_ops(h, t, !done, out);
		buf_add_str(out, "]}\n");
	}
}

/* ---------------------------------------------------------------------------- compare */

static char oracle_answer(const struct verdict *verdict, const char *prefix, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (strcmp(verdict->levels[i].name, full) == 0)
			return "+-?"[verdict->levels[i].answer];
	}
	return ' ';
}

struct tally {
	uint64_t histories, answers, held, cycles, cores;
};

static void compare(const struct verdict *verdict, const char *prefix, const char *name, bool truth,
	const char *text, struct tally *tally)
{
	char got = oracle_answer(verdict, prefix, name);

	ck_assert_msg(got != ' ', "no answer for %s%s", prefix, name);
	tally->answers++;
	tally->held += truth;
	ck_assert_msg(got == (truth ? '+' : '-'), "%s%s: the oracle says %c, the twin %c, of\n%s",
		prefix, name, got, truth ? '+' : '-', text);
}

static int named_txn(struct span s)
{
	char text[16] = "";

	memcpy(text, s.ptr, s.len < 15 ? s.len : 15);
	return text[0] == 'T' ? atoi(text + 1) - 100 : -1;
}

static bool reads_key(const struct hist *h, int t, int key)
{
	for (int k = 0; k < h->t[t].count; k++) {
		if (h->t[t].ops[k].kind == R && h->t[t].ops[k].key == key)
			return true;
	}
	return false;
}

/* Every edge of a witness is there, the edges make a cycle, and its name fits them. */
static void verify_witness(const struct hist *h, const struct finding *f, const char *text)
{
	unsigned rw = 0, wr = 0, session = 0, realtime = 0, n = f->edge_count;
	bool adjacent = false;
	char name[40];

	if (n == 0 || strncmp(finding_name(f), "be-", 3) == 0)
		return;
	for (unsigned i = 0; i < n; i++) {
		const struct finding_edge *e = &f->edges[i], *next = &f->edges[(i + 1) % n];
		int a = named_txn(e->from), b = named_txn(e->to), key = -1;
		bool is_rw = span_eq_str(e->kind, "rw");

		ck_assert_msg(a >= 0 && a < h->n && b >= 0 && b < h->n && a != b, "who? %s", text);
		ck_assert(span_eq(e->to, next->from));
		if (e->object.ptr)
			key = e->object.ptr[4] - '0';
		rw += is_rw;
		adjacent |= is_rw && span_eq_str(next->kind, "rw");
		wr += span_eq_str(e->kind, "wr");
		session += span_eq_str(e->kind, "session");
		realtime += span_eq_str(e->kind, "real time") || span_eq_str(e->kind, "realtime") ||
			    span_eq_str(e->kind, "real-time");
		if (is_rw)
			ck_assert_msg(
				reads_key(h, a, key) && writes_key(h, b, key), "rw of\n%s", text);
		else if (span_eq_str(e->kind, "wr"))
			ck_assert_msg(
				writes_key(h, a, key) && reads_key(h, b, key), "wr of\n%s", text);
		else if (span_eq_str(e->kind, "forced ww"))
			ck_assert_msg(key < 0 || (writes_key(h, a, key) && writes_key(h, b, key)),
				"forced ww of\n%s", text);
		else if (span_eq_str(e->kind, "ww"))
			ck_assert_msg(
				writes_key(h, a, key) && writes_key(h, b, key), "ww of\n%s", text);
		else
			ck_assert_msg(precedes(h, a, b, 2), "order of\n%s", text);
	}
	if (strncmp(finding_name(f), "not-", 4) == 0)
		return; /* a contradiction between reads, named after the level */
	snprintf(name, sizeof(name), "%s%s",
		rw == 0    ? (wr ? "G1c" : "G0")
		: rw == 1  ? "G-single"
		: adjacent ? "G2-item"
			   : "G-nonadjacent",
		realtime  ? "-realtime"
		: session ? "-session"
			  : "");
	/* G-single also names what every order of a register makes one. */
	ck_assert_msg(strcmp(name, finding_name(f)) == 0 ||
			      (!h->lists && strncmp(finding_name(f), "G-single", 8) == 0),
		"%s is called %s in\n%s", name, finding_name(f), text);
}

static const char *const prefixes[] = {"", "strong-session-", "strong-"};
static const char *const be_names[] = {"be-RC", "be-RA", "be-CC", "be-prefix", "be-SI", "be-SER"};
static const char *const sg_names[] = {
	"read-your-writes", "monotonic-reads", "monotonic-writes", "writes-follow-reads", "PRAM"};

/* The answer for a level by its name. */
static bool answer_named(const struct answers *a, const char *name)
{
	int order = strncmp(name, prefixes[1], 15) == 0  ? 1
		    : strncmp(name, prefixes[2], 7) == 0 ? 2
							 : 0;
	const char *rest = name + strlen(prefixes[order]);
	const struct {
		const char *name;
		bool answer;
	} adya[] = {{"PL-1", a->pl1[order]}, {"PL-2", a->pl2[order]}, {"PL-2+", a->pl2plus[order]},
		{"PL-2.99", a->pl299[order]}, {"PL-SI", a->si[order]}, {"PL-3", a->pl3[order]},
		{"PL-CS", a->cs}, {"PL-2L", a->monotonic}, {"PL-FCV", a->fcv}};

	for (size_t i = 0; i < ARRAY_LEN(adya); i++) {
		if (strcmp(adya[i].name, rest) == 0)
			return adya[i].answer;
	}
	for (int i = 0; i < BE_COUNT; i++) {
		if (strcmp(be_names[i], name) == 0)
			return a->be[i];
	}
	for (int i = 0; i < SG_COUNT; i++) {
		if (strcmp(sg_names[i], name) == 0)
			return a->sg[i];
	}
	ck_abort_msg("what is %s?", name);
}

/* A contradiction between several: the level fails for them alone.  False: it cannot be said. */
static bool verify_core(const struct hist *h, const struct finding *f, const char *text)
{
	struct hist part;
	struct answers answers;
	unsigned who = 0;
	bool places = false;

	for (unsigned i = 0; i < f->transaction_count; i++)
		who |= 1u << named_txn(f->transactions[i]);
	for (int i = 0; i < SG_COUNT; i++)
		places |= h->lists && strcmp(sg_names[i], f->level) == 0;
	if (!brute_part(h, who, places, &part))
		return false;
	brute(&part, &answers);
	if (h->closed && strcmp(f->level, "be-prefix") == 0)
		return false;
	ck_assert_msg(!answer_named(&answers, f->level), "%s of %x alone holds:\n%s", f->level, who,
		text);
	return true;
}

/* A finding that names a level's name, and no cycle, is such a contradiction. */
static bool is_core(const struct finding *f)
{
	static const char *const classes[] = {"G-cursor", "G-monotonic", "G-SIb"};
	bool core = strncmp(finding_name(f), "not-", 4) == 0 || strcmp(finding_name(f), f->level) == 0;

	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		core |= strcmp(finding_name(f), classes[i]) == 0;
	return core && f->edge_count == 0;
}

static void compare_all(const struct verdict *verdict, const struct hist *h,
	const struct answers *a, bool duplicates, const char *text, struct tally *tally)
{
	static const char *const adya[] = {
		"PL-1", "PL-2", "PL-2+", "PL-2.99", "PL-SI", "PL-3", "PL-CS", "PL-2L", "PL-FCV"};

	for (int order = 0; order < 3; order++) {
		for (size_t i = 0; i < (order ? 6 : ARRAY_LEN(adya)); i++) {
			char name[40];

			snprintf(name, sizeof(name), "%s%s", prefixes[order], adya[i]);
			compare(verdict, "", name, answer_named(a, name), text, tally);
		}
	}
	/* The axioms know no predicates; the last two are levels above under another name. */
	for (int i = 0; !h->lists && i < BE_COUNT; i++) {
		bool truth = !h->closed || i < BE_PREFIX ? a->be[i]
			     : i == BE_SI                ? a->si[1]
							 : a->pl3[1];

		if (!h->closed || i != BE_PREFIX)
			compare(verdict, "", be_names[i], truth, text, tally);
	}
	for (int i = 0; !(h->lists && duplicates) && i < SG_COUNT; i++)
		compare(verdict, "", sg_names[i], a->sg[i], text, tally);
}

/* A level asked for alone has the same answer as among all, and so has what it implies; but of lists with equal elements
 * some are decided by others only. */
static void ask_one(const struct values *v, const struct verdict *all, uint64_t which, bool equal_elements, const char *text)
{
	const struct verdict_level *level = &all->levels[which % all->level_count];
	struct values_options options = {.level = level->name};
	struct verdict alone;
	bool there = false;

	verdict_init(&alone);
	values_judge(v, &options, &alone);
	for (size_t i = 0; i < alone.level_count; i++) {
		for (size_t k = 0; k < all->level_count; k++) {
			if (strcmp(alone.levels[i].name, all->levels[k].name) != 0)
				continue;
			ck_assert_msg(alone.levels[i].answer == all->levels[k].answer ||
					      (equal_elements && alone.levels[i].answer == LEVEL_UNDECIDED),
				"%s asked for alone: %s is another\n%s", level->name,
				alone.levels[i].name, text);
		}
		there |= strcmp(alone.levels[i].name, level->name) == 0;
	}
	ck_assert_msg(there, "%s is not there\n%s", level->name, text);
	verdict_release(&alone);
}

static void one(struct hist *h, bool duplicates, struct tally *tally)
{
	struct answers answers;
	struct buf text = BUF_INIT;
	struct values v;
	struct verdict verdict;
	struct values_options options = {0};
	struct err err = {0};

	to_edn(h, &text);
	ck_assert_msg(import_memory(IMPORT_ELLE, "twin", buf_span(&text), 0, &v, &err), "%s\n%s",
		err.text, text.data);
	values_check(&v);
	verdict_init(&verdict);
	values_judge(&v, &options, &verdict);
	tally->histories++;
	brute(h, &answers);
	compare_all(&verdict, h, &answers, duplicates, text.data, tally);
	ask_one(&v, &verdict, tally->histories, h->lists && duplicates, text.data);
	for (size_t i = 0; i < verdict.finding_count; i++) {
		const struct finding *f = &verdict.findings[i];

		verify_witness(h, f, text.data);
		tally->cycles += f->edge_count > 0;
		tally->cores += is_core(f) && verify_core(h, f, text.data);
	}
	verdict_release(&verdict);
	values_release(&v);
	buf_release(&text);
}

static void many(const char *name, bool lists, bool duplicates, bool closed)
{
	const char *wanted = getenv("ISOTRACE_TWIN_COUNT"), *other = getenv("ISOTRACE_TWIN_SEED");
	long count = wanted ? atol(wanted) : 2000;
	const char *only = getenv("ISOTRACE_TWIN_MODEL");
	struct tally tally = {0};

	if (only && strcmp(only, name) != 0)
		return;
	seed = lists * 1000003u + duplicates * 7u + closed * 11u +
	       (other ? strtoull(other, NULL, 10) << 32 : 0);
	for (long i = 0; i < count; i++) {
		struct hist h;

		if (closed)
			generate_closed(&h);
		else
			generate(&h, lists, duplicates);
		one(&h, duplicates, &tally);
	}
	printf("# %s: %llu histories, %llu answers the same, %llu of them true; %llu cycles and "
	       "%llu contradictions verified\n",
		name, (unsigned long long)tally.histories, (unsigned long long)tally.answers,
		(unsigned long long)tally.held, (unsigned long long)tally.cycles,
		(unsigned long long)tally.cores);
	fflush(stdout);
	ck_assert_msg(
		tally.held > tally.answers / 10, "hardly anything holds: no test of the rest");
	ck_assert_msg(tally.held < tally.answers * 9 / 10, "hardly anything fails");
}

START_TEST(list_append)
{
	many("list-append", true, false, false);
}
END_TEST

START_TEST(list_duplicates)
{
	many("list-append with duplicate elements", true, true, false);
}
END_TEST

START_TEST(register_unique)
{
	many("registers", false, false, false);
}
END_TEST

START_TEST(register_duplicates)
{
	many("registers with duplicate values", false, true, false);
}
END_TEST

START_TEST(closed_predicates)
{
	many("closed predicates", false, false, true);
}
END_TEST

UNIT_MAIN("values_twin", list_append, list_duplicates, register_unique, register_duplicates,
	closed_predicates)
