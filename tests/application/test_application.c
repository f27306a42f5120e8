/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracle `application`: patterns of statements, and candidates against a twin.  The twin knows a random schedule as a
 * list of events with times, executed by a small engine with snapshots and row locks; it finds pairs of transactions by
 * comparing times, without versions' positions.
 */
#include <stdio.h>
#include <string.h>

#include "application/candidates.h"
#include "base/mem.h"
#include "random.h"
#include "sql/text/statement_pattern.h"
#include "unit.h"

/* ---- texts ---- */

static const struct {
	const char *text, *pattern;
} patterns[] = {
	{"select  a,b from t where id=5", "select a, b from t where id = ?"},
	{"SELECT `t`.`a` FROM `t` WHERE `t`.`id` IN (1, 2,3)", "SELECT t.a FROM t WHERE t.id IN (?, ...)"},
	{"SELECT `t`.`a` FROM `t` WHERE `t`.`id` IN (7)", "SELECT t.a FROM t WHERE t.id IN (?, ...)"},
	{"insert into t values (1,'x'),(2,'y'), (3,'z')", "insert into t values (?, ...), ..."},
	{"update t set price = 1.50, n = -5 where id = ?", "update t set price = ?, n = ? where id = ?"},
	{"select `odd name` from t -- why\n where a >= 'it''s';", "select `odd name` from t where a >= ?"},
	{"/* app:view */ select 1 /*+ BKA(t) */ from t", "select ? from t"},
	{"update t set n = n - 1 where id = 0x1F", "update t set n = n - ? where id = ?"},
	{"select n-1 from t", "select n-? from t"},
	{"", ""},
};

START_TEST(statements_of_one_place_have_one_pattern)
{
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		struct buf out = BUF_INIT;

		statement_pattern(&out, span_str(patterns[i].text), (struct text_dialect){0});
		ck_assert_str_eq(out.data ? out.data : "", patterns[i].pattern);
		buf_release(&out);
	}
}
END_TEST

static const struct {
	const char *text, *tag;
} tags[] = {
	{"select 1", ""},
	{"select 1 /* shop.views.buy */", "shop.views.buy"},
	{"select '/* no */' /* yes */", "yes"},
	{"select 1 /*action='a%20b',controller='c'*/", "action=a b, controller=c"},
	{"select 1 /*controller='c',traceparent='00-5bd66ef5'*/", "controller=c"},
	{"select 1 /*traceparent='00-5bd66ef5'*/", ""},
	{"select 1 /* request 81723 */", "request ?"},
	{"select /*+ BKA(t) */ 1 /*!40001 SQL_NO_CACHE */", ""},
	{"select 1 -- one\n, 2 /* two */", "one; two"},
	{"select 1 /*a='x*/", "a='x"},
	{"select 1 /*", ""},
};

START_TEST(comments_tell_where_a_statement_comes_from)
{
	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		struct buf out = BUF_INIT;

		statement_tag(&out, span_str(tags[i].text));
		ck_assert_str_eq(out.data ? out.data : "", tags[i].tag);
		buf_release(&out);
	}
}
END_TEST

START_TEST(times_of_writing_are_known_in_any_zone)
{
	const uint64_t at = 1794996000ull * 1000000000; /* 2026-11-18 10:00:00 UTC */

	ck_assert(moment_is_between(SPAN_LIT("2026-11-18 10:00:00"), at, at));
	ck_assert(moment_is_between(SPAN_LIT("2026-11-18 10:00:03.250000"), at, at));
	ck_assert(moment_is_between(SPAN_LIT("2026-11-18 15:30:00"), at, at)); /* India */
	ck_assert(moment_is_between(SPAN_LIT("2026-11-17 23:00:01"), at, at + 2000000000));
	ck_assert(!moment_is_between(SPAN_LIT("2026-11-18 10:07:00"), at, at));
	ck_assert(!moment_is_between(SPAN_LIT("2026-11-20 10:00:00"), at, at));
	ck_assert(!moment_is_between(SPAN_LIT("2026-11-18"), at, at));
	ck_assert(!moment_is_between(SPAN_LIT("0000-00-00 00:00:00"), at, at));
}
END_TEST

/* ---- the twin ---- */

enum { TXNS = 5, ROWS = 3, OPS_MAX = 5, EVENTS_MAX = TXNS * (OPS_MAX + 1), VERSIONS_MAX = 64 };

enum act { ACT_READ, ACT_LOCKING_READ, ACT_WRITE, ACT_COMMIT, ACT_ABORT };

struct event {
	enum act act;
	unsigned txn, row;
	int saw; /* reads: whose version, by transaction; -1: the initial one; -2: its own */
};

/* An engine: each transaction has its operations; who goes next is drawn by lot. */
struct world {
	struct random random;
	bool repeatable;
	struct event events[EVENTS_MAX]; /* the time of an event is its place */
	unsigned event_count;
	int committed_at[TXNS]; /* -1: not (yet) */
	bool over[TXNS];
	int chain[ROWS][TXNS + 1]; /* who installed the versions of a row, in their order */
	unsigned chain_count[ROWS];
	int wrote[TXNS][ROWS]; /* the first write's time; -1 */
	int lock[ROWS];        /* who holds it; -1 */
	int snapshot[TXNS];    /* commits until this time are seen; -1: none yet */
};

static void add_event(struct world *w, enum act act, unsigned txn, unsigned row, int saw)
{
	w->events[w->event_count++] = (struct event){act, txn, row, saw};
}

/* The newest version of the row that was committed before a time. */
static int newest(const struct world *w, unsigned row, int before)
{
	for (unsigned i = w->chain_count[row]; i-- > 0;)
		if (w->committed_at[w->chain[row][i]] < before)
			return w->chain[row][i];
	return -1;
}

static void end_txn(struct world *w, unsigned txn, bool commits)
{
	int now = (int)w->event_count;

	add_event(w, commits ? ACT_COMMIT : ACT_ABORT, txn, 0, 0);
	w->over[txn] = true;
	for (unsigned row = 0; row < ROWS; row++) {
		if (w->lock[row] == (int)txn)
			w->lock[row] = -1;
		if (commits && w->wrote[txn][row] >= 0)
			w->chain[row][w->chain_count[row]++] = (int)txn;
	}
	if (commits)
		w->committed_at[txn] = now;
}

static void act(struct world *w, unsigned txn, bool last)
{
	unsigned row = (unsigned)random_below(&w->random, ROWS), kind = (unsigned)random_below(&w->random, 10);
	int now = (int)w->event_count;
	bool own = w->wrote[txn][row] >= 0;

	if (last) {
		end_txn(w, txn, random_below(&w->random, 10) > 0);
		return;
	}
	if (kind < 5) {
		if (w->repeatable && w->snapshot[txn] < 0)
			w->snapshot[txn] = now;
		add_event(w, ACT_READ, txn, row, own ? -2 : newest(w, row, w->repeatable ? w->snapshot[txn] : now));
		return;
	}
	/* A lock that another one has: it gives up, as after a deadlock. */
	if (w->lock[row] >= 0 && w->lock[row] != (int)txn) {
		end_txn(w, txn, false);
		return;
	}
	w->lock[row] = (int)txn;
	if (kind == 5) {
		add_event(w, ACT_LOCKING_READ, txn, row, own ? -2 : newest(w, row, now));
		return;
	}
	if (!own)
		w->wrote[txn][row] = now;
	add_event(w, ACT_WRITE, txn, row, 0);
}

static void play(struct world *w, uint64_t seed)
{
	unsigned left[TXNS], open = TXNS;

	*w = (struct world){.random = {seed}};
	w->repeatable = random_below(&w->random, 2);
	for (unsigned t = 0; t < TXNS; t++) {
		left[t] = 2 + (unsigned)random_below(&w->random, OPS_MAX - 1);
		w->committed_at[t] = w->snapshot[t] = -1;
		for (unsigned row = 0; row < ROWS; row++)
			w->wrote[t][row] = -1;
	}
	for (unsigned row = 0; row < ROWS; row++)
		w->lock[row] = -1;
	while (open) {
		unsigned t = (unsigned)random_below(&w->random, TXNS);

		if (w->over[t])
			continue;
		act(w, t, --left[t] == 0);
		open -= w->over[t];
	}
}

static int commit_of(const struct world *w, int version)
{
	return version < 0 ? -1 : w->committed_at[version];
}

/* Does `u` have a committed version of the row that came after the one that was seen, and until a time? */
static bool came_after(const struct world *w, unsigned u, unsigned row, int seen, int until)
{
	return w->committed_at[u] >= 0 && w->wrote[u][row] >= 0 && w->committed_at[u] > commit_of(w, seen) &&
	       w->committed_at[u] < until;
}

static bool is_read(const struct event *e)
{
	return (e->act == ACT_READ || e->act == ACT_LOCKING_READ) && e->saw != -2;
}

/* T's write lost what U wrote: 1; T knew of what it overwrote: 2; neither: 0. */
static int lost_update(const struct world *w, unsigned t, unsigned u)
{
	int found = 0;

	for (unsigned row = 0; row < ROWS; row++) {
		int write = w->wrote[t][row], over = newest(w, row, write), stale = -3;
		bool fresh = false;

		if (write < 0)
			continue;
		for (int i = 0; i < write; i++) {
			const struct event *e = &w->events[i];

			if (e->txn != t || e->row != row || !is_read(e))
				continue;
			fresh |= e->saw == over;
			if (e->act == ACT_READ && e->saw != over)
				stale = e->saw;
		}
		if (stale != -3 && came_after(w, u, row, stale, write))
			found |= fresh ? 2 : 1;
	}
	return found;
}

/* T read the row without what U wrote, does not write it, and did not read it again later. */
static bool missed(const struct world *w, unsigned t, unsigned u, unsigned row, unsigned i)
{
	const struct event *e = &w->events[i];

	if (e->txn != t || e->row != row || e->act != ACT_READ || e->saw == -2 || w->wrote[t][row] >= 0 ||
		!came_after(w, u, row, e->saw, EVENTS_MAX))
		return false;
	for (unsigned k = i + 1; k < w->event_count; k++) {
		const struct event *later = &w->events[k];

		if (later->txn == t && later->row == row && is_read(later) && commit_of(w, later->saw) >= w->committed_at[u])
			return false;
	}
	return true;
}

static unsigned first_event(const struct world *w, unsigned t)
{
	unsigned i = 0;

	while (w->events[i].txn != t)
		i++;
	return i;
}

static bool overlaps(const struct world *w, unsigned t, unsigned u)
{
	return (int)first_event(w, t) <= w->committed_at[u] && (int)first_event(w, u) <= w->committed_at[t];
}

static bool misses(const struct world *w, unsigned t, unsigned u)
{
	for (unsigned row = 0; row < ROWS; row++)
		for (unsigned i = 0; i < w->event_count; i++)
			if (missed(w, t, u, row, i))
				return true;
	return false;
}

static bool read_skew(const struct world *w, unsigned t, unsigned u)
{
	for (unsigned i = 0; i < w->event_count; i++)
		for (unsigned k = 0; k < w->event_count; k++)
			for (unsigned row = 0; row < ROWS; row++)
				if (missed(w, t, u, row, i) && w->events[k].txn == t && is_read(&w->events[k]) &&
					w->events[k].saw == (int)u && w->events[k].row != row)
					return true;
	return false;
}

/* ---- as accesses ---- */

struct made {
	struct history history;
	struct history_txn txns[TXNS];
	struct history_stmt stmts[EVENTS_MAX];
	struct accesses accesses;
};

static uint32_t position_of(const struct world *w, unsigned row, int version)
{
	for (unsigned i = 0; i < w->chain_count[row]; i++)
		if (w->chain[row][i] == version)
			return i + 1;
	return 0;
}

/* `blur`: a read may have seen other versions, too. */
static void make(struct made *made, struct world *w, bool blur)
{
	struct accesses *a = &made->accesses;

	*made = (struct made){.history = {.txns = made->txns, .stmts = made->stmts, .txn_count = TXNS, .stmt_count = EVENTS_MAX}};
	a->rows = mem_zero(ROWS, sizeof(*a->rows));
	a->versions = mem_zero(VERSIONS_MAX, sizeof(*a->versions));
	a->row_count = ROWS;
	for (unsigned t = 0; t < TXNS; t++) {
		made->txns[t].begin_seq = first_event(w, t);
		made->txns[t].end_seq = w->committed_at[t] >= 0 ? (uint32_t)w->committed_at[t] : EVENTS_MAX;
	}
	for (unsigned i = 0; i < w->event_count; i++)
		made->stmts[i].begin_seq = i;
	for (unsigned row = 0; row < ROWS; row++) {
		a->rows[row] = (struct access_row){.first = a->version_count, .count = w->chain_count[row] + 1};
		a->versions[a->version_count++] = (struct access_version){.row = row, .txn = ACCESS_NONE, .stmt = ACCESS_NONE};
		for (unsigned i = 0; i < w->chain_count[row]; i++) {
			unsigned t = (unsigned)w->chain[row][i];

			a->versions[a->version_count++] = (struct access_version){
				.row = row, .txn = t, .stmt = (uint32_t)w->wrote[t][row], .ending = UINT64_MAX};
		}
	}
	for (unsigned t = 0; t < TXNS; t++) {
		for (unsigned i = 0; i < w->event_count && w->committed_at[t] >= 0; i++) {
			const struct event *e = &w->events[i];
			uint32_t at = position_of(w, e->row, e->saw);
			struct access_read read = {.txn = t, .stmt = i, .row = e->row, .low = at, .high = at,
				.kind = e->act == ACT_READ ? ACCESS_PLAIN : ACCESS_LOCKING};

			if (e->txn != t || !is_read(e))
				continue;
			if (blur && random_below(&w->random, 3) == 0)
				read.low -= (uint32_t)random_below(&w->random, read.low + 1);
			if (blur && random_below(&w->random, 3) == 0)
				read.high += (uint32_t)random_below(&w->random, w->chain_count[e->row] - read.high + 1);
			MEM_RESERVE(a->reads, a->read_count + 1, a->read_capacity);
			a->reads[a->read_count++] = read;
		}
	}
}

static bool has(const struct candidates *c, enum anomaly anomaly, unsigned t, unsigned u, bool fresh)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].anomaly == anomaly && c->list[i].txn == t && c->list[i].other == u &&
			(c->list[i].outcome == OUTCOME_FRESH) == fresh)
			return true;
	return false;
}

static void compare(const struct world *w, const struct candidates *c, bool blur, unsigned *found)
{
	for (unsigned t = 0; t < TXNS; t++) {
		for (unsigned u = 0; u < TXNS; u++) {
			bool both = t != u && w->committed_at[t] >= 0 && w->committed_at[u] >= 0;
			int lost = both ? lost_update(w, t, u) : 0;
			bool skew = both && t < u && overlaps(w, t, u) && misses(w, t, u) && misses(w, u, t);
			bool read = both && overlaps(w, t, u) && read_skew(w, t, u);
			bool told[] = {has(c, ANOMALY_LOST_UPDATE, t, u, false), has(c, ANOMALY_WRITE_SKEW, t, u, false),
				has(c, ANOMALY_READ_SKEW, t, u, false)};
			bool is[] = {lost & 1, skew, read};

			for (int i = 0; i < 3; i++) {
				/* What is told is so; where all is known, what is so is told. */
				UNIT_REQUIRE(!told[i] || is[i]);
				UNIT_REQUIRE(blur || told[i] || !is[i]);
				found[i] += told[i];
			}
			UNIT_REQUIRE(blur || has(c, ANOMALY_LOST_UPDATE, t, u, true) == ((lost & 2) != 0));
		}
	}
}

START_TEST(candidates_are_those_of_the_twin)
{
	const char *seeds = getenv("SEEDS");
	uint64_t count = seeds ? strtoull(seeds, NULL, 10) : 20000;
	unsigned exact[3] = {0}, blurred[3] = {0};

	for (uint64_t seed = 1; seed <= count; seed++) {
		for (int blur = 0; blur < 2; blur++) {
			struct candidates candidates;
			struct world w;
			struct made made;

			play(&w, seed);
			make(&made, &w, blur);
			candidates_find(&candidates, &made.history, &made.accesses);
			compare(&w, &candidates, blur, blur ? blurred : exact);
			candidates_release(&candidates);
			accesses_release(&made.accesses);
		}
	}
	printf("# %llu schedules: %u, %u, %u lost updates, write skews, read skews; %u, %u, %u where reads are not exact\n",
		(unsigned long long)count, exact[0], exact[1], exact[2], blurred[0], blurred[1], blurred[2]);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_gt(blurred[i], 0);
}
END_TEST

UNIT_MAIN("application", statements_of_one_place_have_one_pattern, comments_tell_where_a_statement_comes_from,
	times_of_writing_are_known_in_any_zone, candidates_are_those_of_the_twin)
