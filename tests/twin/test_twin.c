/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The twin on histories whose phenomena are known from the literature or plain from the definition,
 * and its enumeration of cycles against reachability.
 *
 * Histories are written close to the papers' notation:
 *
 *	b1 c1 a1 ?1      T1 begins; ends committed, aborted, or with its outcome unknown
 *	w1x5 d1x i1x5    T1 writes 5 over the newest x; deletes x; inserts it
 *	r1x2 r1x0 r1x-   T1 reads the newest x of T2; the initial one; finds no x ever
 *	p1:0-9:x0y2      T1's predicate v between 0 and 9 sees these versions; all others unborn
 *	s1 S1            T1's savepoint; rollback to it
 *
 * Initial rows: those named in `initial`, with their values.  Sessions are one a transaction unless
 * given.  Every step takes one unit of time.
 */
#include "unit/unit.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "sim/sim.h"
#include "twin/twin.h"

enum { LETTERS = 26, TXNS = 10 };

struct maker {
	struct twin_history h;
	uint32_t object[LETTERS];
	uint32_t newest[LETTERS];   /* version */
	uint32_t by[LETTERS][TXNS]; /* newest of a transaction; [0]: initial */
	uint32_t txn[TXNS];
	uint64_t seq;
	uint32_t stmt;
	uint8_t level;
};

static uint32_t object_of(struct maker *m, char letter)
{
	int i = letter - 'a';

	if (m->object[i] == TWIN_NONE) {
		m->object[i] = twin_add_object(&m->h, 0, letter);
		m->newest[i] = m->h.objects[m->object[i]].unborn;
	}
	return m->object[i];
}

static uint32_t add_version(struct maker *m, char letter, int txn, int64_t value, bool exists)
{
	uint32_t object = object_of(m, letter);
	uint32_t v = twin_add_version(&m->h, &(struct twin_version){.object = object,
						     .txn = txn ? m->txn[txn] : TWIN_NONE,
						     .previous = m->newest[letter - 'a'],
						     .name = m->h.version_count,
						     .stmt_seq = txn ? m->seq : 0,
						     .value = value,
						     .exists = exists,
						     .initial = txn == 0});

	m->newest[letter - 'a'] = m->by[letter - 'a'][txn] = v;
	return v;
}

static void add_op(struct maker *m, int txn, struct twin_op op)
{
	op.txn = m->txn[txn];
	op.stmt = m->stmt;
	op.begin_seq = m->seq;
	op.end_seq = m->seq + 1;
	(void)twin_add_op(&m->h, &op);
}

/* x2, x0 or x-. */
static uint32_t parse_version(struct maker *m, const char **s)
{
	char letter = *(*s)++, whose = *(*s)++;
	uint32_t object = object_of(m, letter);

	if (whose == '-')
		return m->h.objects[object].unborn;
	ck_assert_int_ne(m->by[letter - 'a'][whose - '0'], TWIN_NONE);
	return m->by[letter - 'a'][whose - '0'];
}

static int64_t parse_number(const char **s)
{
	char *end;
	int64_t value = strtoll(*s, &end, 10);

	*s = end;
	return value;
}

static void parse_predicate(struct maker *m, int txn, const char **s)
{
	struct twin_predicate p = {0};

	(*s)++;
	p.low = parse_number(s);
	(*s)++;
	p.high = parse_number(s);
	p.first = (uint32_t)m->h.set_count;
	if (**s == ':')
		(*s)++;
	while (**s && **s != ' ')
		twin_add_to_set(&m->h, parse_version(m, s));
	p.count = (uint32_t)m->h.set_count - p.first;
	add_op(m, txn,
		(struct twin_op){.kind = TWIN_PREDICATE,
			.predicate = twin_add_predicate(&m->h, &p),
			.read_kind = PROBE_READ_SNAPSHOT});
}

static void end_txn(struct maker *m, int txn, enum txn_outcome outcome)
{
	struct twin_txn *t = &m->h.txns[m->txn[txn]];

	t->outcome = (uint8_t)outcome;
	t->commit_seq = m->seq;
	t->end_seq = outcome == TXN_UNKNOWN ? UINT64_MAX : m->seq + 1;
}

static void roll_back_to(struct maker *m, int txn)
{
	/* The tests write nothing before their savepoint. */
	for (size_t v = 0; v < m->h.version_count; v++)
		if (m->h.versions[v].txn == m->txn[txn])
			m->h.versions[v].undone_seq = m->seq;
	for (int i = 0; i < LETTERS; i++)
		while (m->object[i] != TWIN_NONE && m->h.versions[m->newest[i]].txn == m->txn[txn])
			m->newest[i] = m->h.versions[m->newest[i]].previous;
}

static void parse_step(struct maker *m, const char **s)
{
	char what = *(*s)++;
	int txn = *(*s)++ - '0';
	char letter = **s;
	uint32_t v;

	m->seq += 2;
	m->stmt++;
	switch (what) {
	case 'b':
		m->txn[txn] = twin_add_txn(&m->h,
			&(struct twin_txn){.number = (uint64_t)txn,
				.session = isdigit((unsigned char)letter) ? (uint32_t)(letter - '0')
									  : (uint32_t)txn + 100,
				.begin_seq = m->seq,
				.end_seq = UINT64_MAX,
				.level = m->level});
		*s += isdigit((unsigned char)letter) ? 1 : 0;
		return;
	case 'c':
		end_txn(m, txn, TXN_COMMITTED);
		return;
	case 'a':
		end_txn(m, txn, TXN_ABORTED);
		return;
	case '?':
		end_txn(m, txn, TXN_UNKNOWN);
		return;
	case 's':
		return;
	case 'S':
		roll_back_to(m, txn);
		return;
	case 'w':
	case 'i':
	case 'd':
		(*s)++;
		v = add_version(m, letter, txn, what == 'd' ? 0 : parse_number(s), what != 'd');
		add_op(m, txn, (struct twin_op){.kind = TWIN_WRITE, .version = v});
		return;
	case 'r':
		v = parse_version(m, s);
		add_op(m, txn,
			(struct twin_op){
				.kind = TWIN_READ, .version = v, .read_kind = PROBE_READ_SNAPSHOT});
		return;
	case 'p':
		parse_predicate(m, txn, s);
		return;
	default:
		ck_abort_msg("step '%c'", what);
	}
}

static void make(struct maker *m, const char *initial, const char *script)
{
	memset(m, 0, sizeof(*m));
	memset(m->object, 0xff, sizeof(m->object));
	memset(m->by, 0xff, sizeof(m->by));
	m->level = LEVEL_READ_COMMITTED;
	while (*initial) {
		char letter = *initial++;

		add_version(m, letter, 0, parse_number(&initial), true);
		while (*initial == ' ')
			initial++;
	}
	while (*script) {
		parse_step(m, &script);
		while (*script == ' ')
			script++;
	}
}

/* Every phenomenon of the history, as words in the order of the enum. */
static void found(const struct twin_history *h, struct buf *out)
{
	struct twin_result result;

	buf_clear(out);
	buf_add_str(out, "");
	twin_check(h, &result);
	ck_assert(!result.cut);
	for (int c = 0; c < TWIN_CLASSES; c++) {
		for (int s = 0; s < TWIN_STRENGTHS; s++) {
			for (size_t i = 0; i < result.finding_count; i++) {
				if ((int)result.findings[i].class != c ||
					(int)result.findings[i].strength != s)
					continue;
				if (out->len)
					buf_add_char(out, ' ');
				twin_class_print(out, (enum twin_class)c, (enum twin_strength)s);
				break;
			}
		}
	}
	twin_result_release(&result);
}

struct example {
	const char *what, *initial, *script, *expected;
};

static void check_examples(const struct example *examples, size_t count, uint8_t level)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < count; i++) {
		struct maker m;

		make(&m, examples[i].initial, examples[i].script);
		for (size_t t = 0; t < m.h.txn_count; t++)
			m.h.txns[t].level = level;
		found(&m.h, &out);
		ck_assert_msg(strcmp(out.len ? out.data : "", examples[i].expected) == 0,
			"%s: found '%s', expected '%s'", examples[i].what, out.len ? out.data : "",
			examples[i].expected);
		twin_history_release(&m.h);
	}
	buf_release(&out);
}

#define CHECK_EXAMPLES(examples, level)                                                            \
	check_examples(examples, sizeof(examples) / sizeof((examples)[0]), level)

START_TEST(phenomena_of_the_literature)
{
	static const struct example examples[] = {
		{"serial", "x0 y0", "b1 r1x0 w1x1 c1 b2 r2x1 w2y1 c2", ""},
		/* Adya's thesis, 3.1: H_wcycle. */
		{"write cycle", "x0 y0", "b1 b2 w1x2 w2x5 w2y5 w1y8 c1 c2", "G0"},
		/* Berenson et al., SIGMOD 1995, 3: A1, P0 and the rest by their names. */
		{"dirty read of an aborted write", "x0", "b1 b2 w1x1 r2x1 a1 c2", "G1a"},
		{"dirty read of an intermediate write", "x0", "b1 b2 w1x1 r2x1 w1x2 c1 c2", "G1b"},
		{"circular information flow", "x0 y0", "b1 b2 w1x1 w2y1 r1y2 r2x1 c1 c2", "G1c"},
		{"fuzzy read", "x0", "b1 b2 r1x0 w2x1 c2 r1x2 c1", "G-single"},
		{"read skew (A5A)", "x0 y0", "b1 b2 r1x0 w2x1 w2y1 c2 r1y2 c1", "G-single"},
		{"lost update (P4)", "x0", "b1 b2 r1x0 r2x0 w2x1 c2 w1x2 c1",
			"G-single lost-update"},
		{"write skew (A5B)", "x0 y0", "b1 b2 r1x0 r1y0 r2x0 r2y0 w1x1 w2y1 c1 c2",
			"G2-item"},
		/* Fekete et al., SIGMOD Record 2004: the read-only transaction anomaly under SI.
		 * T3 reads what T2 wrote, so no order edge is needed to close it. */
		{"read-only anomaly", "x0 y0",
			"b1 r1x0 r1y0 b2 r2y0 w2y20 c2 b3 r3x0 r3y2 c3 w1x-11 c1", "G2-item"},
		/* Adya's thesis, 3.2: H_phantom.  One predicate edge: not G2-item. */
		{"phantom", "x10 y10 s20",
			"b1 b2 p1:10-10:x0y0 r1x0 r1y0 r2s0 i2z10 w2s30 c2 r1s2 c1", "G-single"},
		{"phantom skew", "", "b1 b2 p1:0-9: p2:0-9: i1x1 i2y1 c1 c2", "G2"},
		{"phantom skew, one of the two by key", "", "b1 b2 p1:0-9: r2x- i1x1 i2y1 c1 c2",
			"G2"},
		/* Two readers see two writes in opposite order. */
		{"long fork", "x0 y0", "b1 b2 b3 b4 w1x1 w2y1 c1 c2 r3x1 r3y0 r4x0 r4y2 c3 c4",
			"G-nonadjacent"},
		/* Three rw edges, two of them adjacent. */
		{"three-way write skew", "x0 y0 z0",
			"b1 b2 b3 r1x0 r2y0 r3z0 w1z1 w2x1 w3y1 c1 c2 c3", "G2-item"},
	};

	CHECK_EXAMPLES(examples, LEVEL_READ_COMMITTED);
}
END_TEST

START_TEST(no_phenomenon_where_there_is_none)
{
	static const struct example examples[] = {
		{"nothing", "", "", ""},
		{"own writes read", "x0", "b1 w1x1 r1x1 w1x2 r1x1 c1", ""},
		{"an update that changes no match", "x50 y0",
			"b1 b2 p1:0-9:x0y0 w2x60 r2y0 c2 w1y1 c1", ""},
		{"the same, and the change came first", "x50 y0", "b1 b2 w2x60 c2 p1:0-9:x2y0 c1",
			""},
		{"aborted transactions leave no edges", "x0 y0", "b1 b2 r1x0 r2y0 w1y1 w2x1 a1 c2",
			""},
		{"what an aborted transaction read wrongly", "x0", "b1 b2 w1x1 r2x1 a1 a2", ""},
		{"a row deleted and inserted again", "x0",
			"b1 r1x0 d1x c1 b2 r2x1 i2x5 c2 b3 r3x2 c3", ""},
		{"unknown and never seen", "x0 y0", "b1 b2 r1x0 w1y1 ?1 r2y0 w2x1 c2", ""},
		{"a savepoint's write is gone", "x0", "b1 s1 w1x1 S1 r1x0 c1 b2 r2x0 c2", ""},
	};

	CHECK_EXAMPLES(examples, LEVEL_READ_COMMITTED);
	CHECK_EXAMPLES(examples, LEVEL_REPEATABLE_READ);
}
END_TEST

START_TEST(unborn_and_dead_versions)
{
	static const struct example examples[] = {
		/* T1 finds no x, T2 inserts it and T1 sees what else T2 did. */
		{"insert skew", "y0", "b1 b2 r1x- i2x1 w2y1 c2 r1y2 c1", "G-single"},
		{"delete skew", "x0 y0", "b1 b2 r1x0 d2x w2y1 c2 r1y2 c1", "G-single"},
		{"delete phantom", "x5 y0", "b1 b2 p1:0-9:x0 d2x w2y50 c2 r1y2 c1", "G-single"},
		{"the dead version is read, its deleter's other write is not", "x0 y0",
			"b1 b2 r1y0 d2x w2y1 c2 r1x2 c1", "G-single"},
		{"seen dead by a predicate", "x5 y50", "b1 b2 d2x w2y60 c2 p1:0-9:x2y0 r1y0 c1",
			"G-single"},
	};

	CHECK_EXAMPLES(examples, LEVEL_READ_COMMITTED);
}
END_TEST

START_TEST(unknown_outcomes)
{
	static const struct example examples[] = {
		{"unknown but read", "x0 y0", "b1 b2 b3 r1x0 w1y1 ?1 r2y0 w2x1 c2 r3y1 c3",
			"G2-item"},
		{"unknown but overwritten", "x0 y0", "b1 b2 b3 r1x0 w1y1 ?1 r2y0 w2x1 c2 w3y2 c3",
			"G2-item"},
	};

	CHECK_EXAMPLES(examples, LEVEL_READ_COMMITTED);
}
END_TEST

START_TEST(session_and_real_time)
{
	static const struct example examples[] = {
		{"stale read", "x0", "b1 w1x1 c1 b2 r2x0 c2", "G-single-realtime"},
		{"stale read in one session", "x0", "b17 w1x1 c1 b27 r2x0 c2", "G-single-session"},
		{"overlapping: no order", "x0", "b2 b1 w1x1 c1 r2x0 c2", ""},
		{"unknown: its COMMIT was never answered", "x0", "b1 w1x1 ?1 b2 r2x0 c2 b3 r3x1 c3",
			""},
		{"write skew in a row", "x0 y0 z0", "b3 b1 w1x1 c1 b2 r2y0 r3x0 w3y1 c3 c2",
			"G2-item-realtime"},
	};

	CHECK_EXAMPLES(examples, LEVEL_READ_COMMITTED);
}
END_TEST

START_TEST(single_wrong_answers)
{
	static const struct example examples[] = {
		{"own write not seen", "x0", "b1 w1x1 r1x0 c1", "own-write"},
		{"own write rolled back and seen", "x0", "b1 s1 w1x1 S1 r1x1 c1", "own-write"},
		{"own write not seen by a predicate", "x0", "b1 w1x5 p1:0-9:x0 c1", "own-write"},
		{"another's savepoint was read", "x0", "b1 b2 s1 w1x1 r2x1 S1 c1 c2", "G1a"},
		{"two snapshots, one object", "x0", "b1 b2 r1x0 w2x1 c2 r1x2 c1",
			"G-single unstable-snapshot"},
		{"two snapshots, no cycle", "x0 y0", "b1 b2 b3 w2x1 w3y1 c2 r1x0 c3 r1y3 c1",
			"unstable-snapshot"},
		{"one snapshot", "x0 y0", "b1 b2 b3 w2x1 w3y1 c2 r1x2 c3 r1y0 c1", ""},
	};

	CHECK_EXAMPLES(examples, LEVEL_REPEATABLE_READ);
}
END_TEST

/* ICDE 2000, 4.3.1, H_pred-read: T1 moves x out of the department, T2 changes its phone; T3's
 * predicate depends on T1, who changed the matches last, and not on T2. */
START_TEST(predicate_edges_go_to_who_changed_the_matches)
{
	struct twin_result r;
	struct maker m;

	make(&m, "x5 y5", "b1 b2 b3 w1x50 c1 w2x51 c2 p3:0-9:x2y0 b4 w4y6 c4 b5 w5y60 c5 c3");
	twin_check(&m.h, &r);
	ck_assert_uint_eq(r.edge[m.txn[1]][m.txn[3]] & TWIN_EDGE_PRED_WR, TWIN_EDGE_PRED_WR);
	ck_assert_uint_eq(r.edge[m.txn[2]][m.txn[3]] & TWIN_EDGE_PRED_WR, 0);
	/* T4 leaves y among the matches, T5 takes it out. */
	ck_assert_uint_eq(r.edge[m.txn[3]][m.txn[4]] & TWIN_EDGE_PRED_RW, 0);
	ck_assert_uint_eq(r.edge[m.txn[3]][m.txn[5]] & TWIN_EDGE_PRED_RW, TWIN_EDGE_PRED_RW);
	twin_result_release(&r);
	twin_history_release(&m.h);
}
END_TEST

/* ---- cycles against reachability ---- */

/* Whether some cycle has only edges of `kinds`. */
static bool cyclic(const struct twin_result *r, size_t n, unsigned kinds)
{
	static bool reach[TWIN_TXN_MAX][TWIN_TXN_MAX];

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			reach[i][j] = r->edge[i][j] & kinds;
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++)
				reach[i][j] |= reach[i][k] && reach[k][j];
	for (size_t i = 0; i < n; i++)
		if (reach[i][i])
			return true;
	return false;
}

/* A cycle of D and D followed by rw: what snapshot isolation forbids. */
static bool cyclic_si(const struct twin_result *r, size_t n, unsigned dependency)
{
	static struct twin_result composed;

	memset(composed.edge, 0, sizeof(composed.edge));
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			if (!(r->edge[i][j] & dependency))
				continue;
			composed.edge[i][j] = 1;
			for (size_t k = 0; k < n; k++)
				if (r->edge[j][k] & (TWIN_EDGE_RW | TWIN_EDGE_PRED_RW))
					composed.edge[i][k] = 1;
		}
	}
	return cyclic(&composed, n, 1);
}

static bool any(const struct twin_result *r, enum twin_class to, enum twin_strength strength)
{
	for (int c = 0; c <= (int)to; c++)
		for (int s = 0; s <= (int)strength; s++)
			if (r->exists[c][s])
				return true;
	return false;
}

START_TEST(enumeration_agrees_with_reachability)
{
	const unsigned ww = TWIN_EDGE_WW, wr = TWIN_EDGE_WR | TWIN_EDGE_PRED_WR;
	const unsigned orders[] = {0, TWIN_EDGE_SESSION, TWIN_EDGE_SESSION | TWIN_EDGE_REALTIME};
	struct twin_history truth = TWIN_HISTORY_INIT;
	struct buf records = BUF_INIT;
	struct sim_sink sink = sim_sink_memory(&records);
	unsigned cyclic_seen = 0;
	struct err err;

	for (uint64_t seed = 1; seed <= 1500; seed++) {
		struct sim_options o;
		struct twin_result r;

		sim_defaults(&o);
		o.seed = seed;
		o.discipline = (enum sim_discipline)(seed % SIM_DISCIPLINE_COUNT);
		o.transactions = 8;
		o.sessions = 4;
		o.keys = 4;
		o.values = 10;
		o.predicate_keys = 0;
		o.predicate = 0.2;
		o.plants[seed % SIM_PLANT_KINDS] = 1;
		twin_history_clear(&truth);
		buf_clear(&records);
		ck_assert(sim_run(&o, &sink, &truth, NULL, NULL, &err));
		twin_check(&truth, &r);
		if (!r.cut) {
			size_t n = truth.txn_count;

			for (int s = 0; s < TWIN_STRENGTHS; s++) {
				enum twin_strength strength = (enum twin_strength)s;
				unsigned d = ww | wr | orders[s];
				unsigned item = d | TWIN_EDGE_RW;
				bool item_cycle = any(&r, TWIN_G2_ITEM, strength);

				if (cyclic(&r, n, ww | orders[s]) != any(&r, TWIN_G0, strength) ||
					cyclic(&r, n, d) != any(&r, TWIN_G1C, strength) ||
					cyclic_si(&r, n, d) !=
						any(&r, TWIN_G_NONADJACENT, strength) ||
					cyclic(&r, n, item | TWIN_EDGE_PRED_RW) !=
						any(&r, TWIN_G2, strength) ||
					(cyclic(&r, n, item) && !item_cycle))
					ck_abort_msg("seed %llu strength %d",
						(unsigned long long)seed, s);
			}
			cyclic_seen += any(&r, TWIN_G2, TWIN_REALTIME);
		}
		twin_result_release(&r);
	}
	ck_assert_uint_gt(cyclic_seen, 300);
	twin_history_release(&truth);
	buf_release(&records);
}
END_TEST

UNIT_MAIN("twin", phenomena_of_the_literature, no_phenomenon_where_there_is_none,
	unborn_and_dead_versions, unknown_outcomes, session_and_real_time, single_wrong_answers,
	predicate_edges_go_to_who_changed_the_matches, enumeration_agrees_with_reachability)
