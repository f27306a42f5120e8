/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Levels where reads may have met one of several versions, against a brute force over all choices.
 *
 * Of a simulated history the truth is known.  Here every read whose answer does not tell the version is given
 * each version that the answer allows, in all combinations, and the edges of each are the twin's.  A level holds
 * if some combination satisfies it, and fails if none does (semantics.md, section 2a).  The oracle may say
 * "undecided", but seldom.  The same for two contracts: the textbook's, and innodb's, under which all that was read
 * must have been current at moments that the times allow.
 *
 * SEEDS says how many histories, SEED with which to begin; SHOW_OPEN names those whose contract stays open although
 * some combination keeps it.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adya/adya.h"
#include "base/mem.h"
#include "model/history/load.h"
#include "sim/sim.h"
#include "twin/twin.h"

enum { NODES = TWIN_TXN_MAX, COMBINATIONS_MAX = 600, MEETINGS_MAX = 64, CANDIDATES_MAX = 32, LEVELS = 6, ORDERS = 3 };

static const char *const level_names[LEVELS] = {"PL-1", "PL-2", "PL-2+", "PL-2.99", "PL-SI", "PL-3"};
static const char *const order_names[ORDERS] = {"", "strong-session-", "strong-"};

/* ---- levels of one combination ---- */

static bool has_cycle(bool reach[][2 * NODES], size_t n)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; reach[i][k] && j < n; j++)
				reach[i][j] |= reach[k][j];
	for (size_t i = 0; i < n; i++) {
		if (reach[i][i])
			return true;
	}
	return false;
}

static bool cycle_of(const struct twin_result *twin, size_t n, unsigned edges)
{
	static bool reach[2 * NODES][2 * NODES];

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			reach[i][j] = twin->edge[i][j] & edges;
	return has_cycle(reach, n);
}

/* A cycle in which no two anti-dependencies follow each other: by the two nodes of each transaction that
 * semantics.md, section 3 describes. */
static bool cycle_of_si(const struct twin_result *twin, size_t n, unsigned dependency)
{
	static bool reach[2 * NODES][2 * NODES];

	memset(reach, 0, sizeof(reach));
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			reach[2 * i][2 * j] = reach[2 * i + 1][2 * j] = twin->edge[i][j] & dependency;
			reach[2 * i][2 * j + 1] = twin->edge[i][j] & (TWIN_EDGE_RW | TWIN_EDGE_PRED_RW);
		}
	}
	return has_cycle(reach, 2 * n);
}

/* A cycle with exactly one anti-dependency. */
static bool cycle_of_one(const struct twin_result *twin, size_t n, unsigned dependency)
{
	static bool reach[2 * NODES][2 * NODES];

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			reach[i][j] = twin->edge[i][j] & dependency;
	has_cycle(reach, n);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			if (twin->edge[i][j] & (TWIN_EDGE_RW | TWIN_EDGE_PRED_RW) && (i == j || reach[j][i]))
				return true;
	return false;
}

static void levels_of(const struct twin_history *h, bool holds[ORDERS][LEVELS])
{
	static const unsigned extra[ORDERS] = {
		0, TWIN_EDGE_SESSION, TWIN_EDGE_SESSION | TWIN_EDGE_REALTIME};
	struct twin_result twin = {.cut = false};
	size_t n = h->txn_count;

	twin_check_edges(h, &twin);
	for (int order = 0; order < ORDERS; order++) {
		unsigned dependency = TWIN_EDGE_WW | TWIN_EDGE_WR | TWIN_EDGE_PRED_WR | extra[order];
		bool dirty = twin.exists[TWIN_G1A][TWIN_PLAIN] || twin.exists[TWIN_G1B][TWIN_PLAIN] ||
			     cycle_of(&twin, n, dependency);

		holds[order][0] = !cycle_of(&twin, n, TWIN_EDGE_WW | extra[order]);
		holds[order][1] = !dirty;
		holds[order][2] = !dirty && !cycle_of_one(&twin, n, dependency);
		holds[order][3] = !dirty && !cycle_of(&twin, n, dependency | TWIN_EDGE_RW);
		holds[order][4] = !dirty && !cycle_of_si(&twin, n, dependency);
		holds[order][5] =
			!dirty && !cycle_of(&twin, n, dependency | TWIN_EDGE_RW | TWIN_EDGE_PRED_RW);
	}
	twin_result_release(&twin);
}

/* ---- contracts of one combination ---- */

/* The levels (places of level_names) that a contract promises to transactions of each level, as far as cycles go. */
struct promises {
	const char *contract;
	bool times; /* answers come from states that the times allow */
	unsigned levels[LEVEL_SERIALIZABLE + 1];
};

static const struct promises promises[] = {
	{"adya", false,
		{[LEVEL_READ_UNCOMMITTED] = 1, [LEVEL_READ_COMMITTED] = 2, [LEVEL_REPEATABLE_READ] = 8,
			[LEVEL_SERIALIZABLE] = 32}},
	{"innodb", true,
		{[LEVEL_READ_UNCOMMITTED] = 1, [LEVEL_READ_COMMITTED] = 2, [LEVEL_REPEATABLE_READ] = 2,
			[LEVEL_SERIALIZABLE] = 32}},
};
enum { CONTRACTS = 2, EVENTS_MAX = 256 };

/* A cycle is judged by its weakest transaction: those of a level and above among themselves. */
static bool keeps_cycles(const struct twin_history *h, const struct twin_result *all, const struct promises *p)
{
	static const unsigned edges[LEVELS] = {TWIN_EDGE_WW, TWIN_EDGE_WW | TWIN_EDGE_WR | TWIN_EDGE_PRED_WR, 0,
		TWIN_EDGE_WW | TWIN_EDGE_WR | TWIN_EDGE_PRED_WR | TWIN_EDGE_RW, 0,
		TWIN_EDGE_WW | TWIN_EDGE_WR | TWIN_EDGE_PRED_WR | TWIN_EDGE_RW | TWIN_EDGE_PRED_RW};

	for (uint8_t level = LEVEL_READ_UNCOMMITTED; level <= LEVEL_SERIALIZABLE; level++) {
		static struct twin_result cut;

		memcpy(cut.edge, all->edge, sizeof(cut.edge));
		for (size_t i = 0; i < h->txn_count; i++)
			for (size_t j = 0; j < h->txn_count; j++)
				if (h->txns[i].level < level || h->txns[j].level < level)
					cut.edge[i][j] = 0;
		for (int l = 0; l < LEVELS; l++)
			if (p->levels[level] >> l & 1 && cycle_of(&cut, h->txn_count, edges[l]))
				return false;
	}
	return true;
}

static bool wrote_before(const struct twin_history *h, size_t op, uint32_t object);

/* Moments that lie in intervals: of commits, and of what reads saw. */
struct moments {
	const struct twin_history *h;
	const struct twin_result *twin;
	uint64_t begin[EVENTS_MAX], end[EVENTS_MAX];
	uint32_t snapshot[NODES]; /* by transaction: its view; TWIN_NONE: not met yet */
	uint32_t count;
	bool before[EVENTS_MAX][EVENTS_MAX];
};

static uint32_t add_moment(struct moments *m, uint64_t begin, uint64_t end)
{
	ck_assert_uint_lt(m->count, EVENTS_MAX);
	m->begin[m->count] = begin;
	m->end[m->count] = end;
	return m->count++;
}

/* InnoDB makes the snapshot of a REPEATABLE READ transaction at its first plain read, and of any other plain read
 * with its statement.  A locking read gets to each row at a moment of its own. */
static uint32_t view_of(struct moments *m, const struct twin_op *op, uint32_t *of_statement)
{
	const struct twin_txn *t = &m->h->txns[op->txn];

	if (op->read_kind != PROBE_READ_SNAPSHOT)
		return add_moment(m, op->begin_seq, op->end_seq);
	if (t->level < LEVEL_REPEATABLE_READ) {
		if (*of_statement == TWIN_NONE)
			*of_statement = add_moment(m, op->begin_seq, op->end_seq);
		return *of_statement;
	}
	if (m->snapshot[op->txn] == TWIN_NONE)
		m->snapshot[op->txn] = add_moment(m, t->begin_seq, op->end_seq);
	return m->snapshot[op->txn];
}

static uint32_t next_writer(const struct moments *m, uint32_t version)
{
	const struct twin_history *h = m->h;

	for (uint32_t v = 0; v < h->version_count; v++) {
		if (h->versions[v].object == h->versions[version].object && m->twin->position[v] != TWIN_NONE &&
			m->twin->position[v] == m->twin->position[version] + 1)
			return h->versions[v].txn;
	}
	return TWIN_NONE;
}

static void see(struct moments *m, uint32_t view, uint32_t txn, uint32_t version)
{
	uint32_t writer = m->h->versions[version].txn, next;

	if (m->twin->position[version] == TWIN_NONE)
		return;
	next = next_writer(m, version);
	if (writer != TWIN_NONE && writer != txn)
		m->before[writer][view] = true;
	if (next != TWIN_NONE && next != txn)
		m->before[view][next] = true;
}

/* Of its own writes it sees the last, whatever the view holds. */
static void see_unless_own(struct moments *m, size_t op, uint32_t object, uint32_t version, uint32_t *of_statement)
{
	uint32_t view = view_of(m, &m->h->ops[op], of_statement);

	if (!wrote_before(m->h, op, object))
		see(m, view, m->h->ops[op].txn, version);
}

static void order_commits(struct moments *m)
{
	const struct twin_history *h = m->h;

	for (uint32_t v = 0; v < h->version_count; v++) {
		uint32_t writer = h->versions[v].txn, next;

		if (m->twin->position[v] == TWIN_NONE || writer == TWIN_NONE)
			continue;
		next = next_writer(m, v);
		if (next != TWIN_NONE && next != writer)
			m->before[writer][next] = true;
	}
}

/* Is there a moment of its interval for each, so that all that was read was current then?  There is if what must come
 * before what contains no cycle together with the order of intervals that do not overlap. */
static bool keeps_times(const struct twin_history *h, const struct twin_result *twin)
{
	static struct moments m;
	static uint8_t state[EVENTS_MAX];
	uint32_t left;

	memset(&m, 0, sizeof(m));
	m.h = h;
	m.twin = twin;
	for (uint32_t t = 0; t < h->txn_count; t++) {
		add_moment(&m, h->txns[t].commit_seq ? h->txns[t].commit_seq : h->txns[t].begin_seq, h->txns[t].end_seq);
		m.snapshot[t] = TWIN_NONE;
	}
	order_commits(&m);
	for (size_t i = 0; i < h->op_count; i++) {
		const struct twin_op *op = &h->ops[i];
		uint32_t of_statement = TWIN_NONE;

		if (!twin->committed[op->txn] || op->kind == TWIN_WRITE || op->read_kind == PROBE_READ_DIRTY)
			continue;
		if (op->kind == TWIN_READ) {
			see_unless_own(&m, i, h->versions[op->version].object, op->version, &of_statement);
			continue;
		}
		for (uint32_t o = 0; o < h->object_count; o++) {
			const struct twin_predicate *p = &h->predicates[op->predicate];
			uint32_t seen = h->objects[o].unborn;

			if (h->objects[o].table != p->table)
				continue;
			for (uint32_t k = p->first; k < p->first + p->count; k++)
				if (h->versions[h->set[k]].object == o)
					seen = h->set[k];
			see_unless_own(&m, i, o, seen, &of_statement);
		}
	}
	for (uint32_t i = 0; i < m.count; i++)
		for (uint32_t k = 0; k < m.count; k++)
			m.before[i][k] |= m.end[i] < m.begin[k];
	/* What nothing comes before is taken away, until nothing is left, or all that is left is in cycles. */
	memset(state, 0, sizeof(state));
	for (left = m.count; left;) {
		uint32_t was = left;

		for (uint32_t i = 0; i < m.count; i++) {
			bool first = !state[i];

			for (uint32_t k = 0; first && k < m.count; k++)
				first = state[k] || !m.before[k][i];
			if (first) {
				state[i] = 1;
				left--;
			}
		}
		if (left == was)
			return false;
	}
	return true;
}

/* Does the combination keep the contract, times aside; does it with them?  `times`: they are to be looked at. */
static void contracts_of(const struct twin_history *h, bool times, bool kept[CONTRACTS][2])
{
	struct twin_result twin = {.cut = false};

	twin_check_edges(h, &twin);
	times = !times || keeps_times(h, &twin);
	for (int i = 0; i < CONTRACTS; i++) {
		kept[i][0] = keeps_cycles(h, &twin, &promises[i]);
		kept[i][1] = kept[i][0] && (times || !promises[i].times);
	}
	twin_result_release(&twin);
}

/* ---- combinations ---- */

struct meeting {
	size_t op;
	uint32_t object;
	uint32_t candidates[CANDIDATES_MAX];
	uint32_t count, at;
};

struct combinations {
	struct twin_history *truth;
	struct twin_result twin; /* of the truth: who committed, and the orders */
	struct meeting meetings[MEETINGS_MAX];
	size_t count;
	bool too_many;
};

static bool satisfies(const struct twin_history *h, const struct twin_predicate *p, uint32_t version)
{
	const struct twin_version *v = &h->versions[version];
	int64_t value = p->by_key ? h->objects[v->object].key : v->value;

	return v->exists && value >= p->low && value <= p->high;
}

/* The transaction wrote the object before the operation: it saw that, or the history is beyond this test. */
static bool wrote_before(const struct twin_history *h, size_t op, uint32_t object)
{
	for (size_t i = 0; i < op; i++) {
		if (h->ops[i].kind == TWIN_WRITE && h->ops[i].txn == h->ops[op].txn &&
			h->versions[h->ops[i].version].object == object)
			return true;
	}
	return false;
}

static bool has_initial(const struct twin_history *h, uint32_t object)
{
	for (size_t v = 0; v < h->version_count; v++) {
		if (h->versions[v].object == object && h->versions[v].initial)
			return true;
	}
	return false;
}

/* `truth`: the version that was seen.  `p`: the predicate that did not return the object, and whether the rows that it looked at are recorded; NULL: a
 * read of one key. */
static void add_meeting(struct combinations *c, size_t op, uint32_t object, uint32_t truth,
	const struct twin_predicate *p, bool has_set)
{
	const struct twin_history *h = c->truth;
	struct meeting *m = &c->meetings[c->count];

	if (c->count == MEETINGS_MAX) {
		c->too_many = true;
		return;
	}
	*m = (struct meeting){.op = op, .object = object};
	for (uint32_t v = 0; v < h->version_count; v++) {
		const struct twin_version *version = &h->versions[v];

		/* What it really saw may also be one that was never installed, by a dirty read. */
		if (version->object != object ||
			(v != truth &&
				(c->twin.position[v] == TWIN_NONE || version->stmt_seq > h->ops[op].end_seq ||
					(version->unborn && has_initial(h, object)))))
			continue;
		if (version->exists && (!p || has_set || satisfies(h, p, v)))
			continue;
		if (m->count == CANDIDATES_MAX) {
			c->too_many = true;
			return;
		}
		m->candidates[m->count++] = v;
	}
	if (m->count > 1)
		c->count++;
}

static bool in_set(const struct twin_history *h, const struct twin_predicate *p, uint32_t object, uint32_t *version)
{
	*version = h->objects[object].unborn;
	for (uint32_t i = p->first; i < p->first + p->count; i++) {
		if (h->versions[h->set[i]].object == object) {
			*version = h->set[i];
			return true;
		}
	}
	return false;
}

static void find_meetings(struct combinations *c, bool has_sets)
{
	const struct twin_history *h = c->truth;

	for (size_t i = 0; i < h->op_count && !c->too_many; i++) {
		const struct twin_op *op = &h->ops[i];

		if (!c->twin.committed[op->txn] || op->kind == TWIN_WRITE)
			continue;
		if (op->kind == TWIN_READ) {
			uint32_t object = h->versions[op->version].object;

			if (!h->versions[op->version].exists && !wrote_before(h, i, object))
				add_meeting(c, i, object, op->version, NULL, false);
			continue;
		}
		for (uint32_t o = 0; o < h->object_count; o++) {
			const struct twin_predicate *p = &h->predicates[op->predicate];
			uint32_t seen;

			if (h->objects[o].table != p->table || wrote_before(h, i, o))
				continue;
			in_set(h, p, o, &seen);
			if (satisfies(h, p, seen) || (has_sets && h->versions[seen].exists))
				continue;
			add_meeting(c, i, o, seen, p, has_sets);
		}
	}
}

/* The history with the versions that the meetings are at. */
static void apply(const struct combinations *c, struct twin_history *out)
{
	const struct twin_history *h = c->truth;

	*out = *h;
	out->ops = mem_dup(h->ops, h->op_count * sizeof(*h->ops));
	out->predicates = mem_dup(h->predicates, h->predicate_count * sizeof(*h->predicates));
	out->set = NULL;
	out->set_count = out->set_capacity = 0;
	for (size_t i = 0; i < c->count; i++) {
		const struct meeting *m = &c->meetings[i];

		if (out->ops[m->op].kind == TWIN_READ)
			out->ops[m->op].version = m->candidates[m->at];
	}
	for (size_t i = 0; i < h->op_count; i++) {
		const struct twin_op *op = &h->ops[i];
		uint32_t first = (uint32_t)out->set_count;

		if (op->kind != TWIN_PREDICATE)
			continue;
		for (uint32_t o = 0; o < h->object_count; o++) {
			uint32_t seen;

			if (h->objects[o].table != h->predicates[op->predicate].table)
				continue;
			in_set(h, &h->predicates[op->predicate], o, &seen);
			for (size_t k = 0; k < c->count; k++) {
				if (c->meetings[k].op == i && c->meetings[k].object == o)
					seen = c->meetings[k].candidates[c->meetings[k].at];
			}
			if (!h->versions[seen].unborn)
				twin_add_to_set(out, seen);
		}
		out->predicates[op->predicate].first = first;
		out->predicates[op->predicate].count = (uint32_t)out->set_count - first;
	}
}

static bool next_combination(struct combinations *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (++c->meetings[i].at < c->meetings[i].count)
			return true;
		c->meetings[i].at = 0;
	}
	return false;
}

static bool are_few(const struct combinations *c)
{
	uint64_t all = 1;

	for (size_t i = 0; i < c->count && all <= COMBINATIONS_MAX; i++)
		all *= c->meetings[i].count;
	return !c->too_many && all <= COMBINATIONS_MAX;
}

static void try_all(struct combinations *c, bool some[ORDERS][LEVELS], bool kept[CONTRACTS][2], bool times)
{

	memset(some, 0, sizeof(bool[ORDERS][LEVELS]));
	memset(kept, 0, sizeof(bool[CONTRACTS][2]));
	do {
		struct twin_history chosen;
		bool holds[ORDERS][LEVELS], keeps[CONTRACTS][2];

		apply(c, &chosen);
		levels_of(&chosen, holds);
		contracts_of(&chosen, times, keeps);
		for (int i = 0; i < CONTRACTS; i++) {
			kept[i][0] |= keeps[i][0];
			kept[i][1] |= keeps[i][1];
		}
		for (int order = 0; order < ORDERS; order++)
			for (int level = 0; level < LEVELS; level++)
				some[order][level] |= holds[order][level];
		free(chosen.ops);
		free(chosen.predicates);
		free(chosen.set);
	} while (next_combination(c));
}

/* ---- the oracle ---- */

struct tally {
	uint64_t histories, ambiguous, levels, undecided, held, failed;
	uint64_t contracts, contracts_kept, contracts_violated, contracts_open, contracts_missed;
};

static enum level_answer answer_of(const struct verdict *verdict, int order, int level)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", order_names[order], level_names[level]);
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (strcmp(verdict->levels[i].name, name) == 0)
			return verdict->levels[i].answer;
	}
	ck_abort_msg("no level %s", name);
}

static void complain(const struct twin_history *truth, uint64_t seed, int order, int level, const char *what)
{
	struct buf text = BUF_INIT;

	twin_history_print(&text, truth);
	ck_abort_msg("seed %llu: %s%s: %s\n%s", (unsigned long long)seed, order_names[order], level_names[level],
		what, text.data);
}

static void compare(const struct combinations *c, bool some[ORDERS][LEVELS], const struct verdict *verdict,
	uint64_t seed, struct tally *tally)
{
	for (int order = 0; order < ORDERS; order++) {
		for (int level = 0; level < LEVELS; level++) {
			enum level_answer answer = answer_of(verdict, order, level);

			tally->levels++;
			tally->undecided += answer == LEVEL_UNDECIDED;
			tally->held += answer == LEVEL_HOLDS;
			tally->failed += answer == LEVEL_FAILS;
			if (answer == LEVEL_HOLDS && !some[order][level])
				complain(c->truth, seed, order, level, "said to hold, and no choice satisfies it");
			if (answer == LEVEL_FAILS && some[order][level])
				complain(c->truth, seed, order, level, "said to fail, and a choice satisfies it");
		}
	}
}

static bool is_cycle(enum finding_class class)
{
	for (int c = 0; c < CYCLE_CLASS_COUNT; c++)
		if (class == finding_class_of_cycle((enum cycle_class)c, CYCLE_PLAIN))
			return true;
	return false;
}

/* `kept`: by some choice, times aside; and with them. */
static void compare_contract(const struct combinations *c, const struct promises *p, const bool kept[2],
	const struct verdict *verdict, uint64_t seed, struct tally *tally)
{
	bool cycle = false, violated = false;

	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];

		violated |= f->severity == SEVERITY_VIOLATION;
		/* At REPEATABLE READ one of two snapshots in a transaction is a violation of innodb's, and a G-single. */
		cycle |= f->severity == SEVERITY_VIOLATION && is_cycle(f->class) &&
			 !(p->times && f->class == CLASS_G_SINGLE);
	}
	tally->contracts++;
	tally->contracts_violated += violated;
	if (cycle && kept[0])
		complain(c->truth, seed, 0, 0, "a forbidden cycle is reported, and a choice has none");
	if (violated)
		return;
	if (verdict->undecided) {
		tally->contracts_open++;
		tally->contracts_missed += kept[1];
		if (getenv("SHOW_OPEN") && kept[1])
			printf("# seed %llu: contract %s is open, and a choice keeps it: %s\n", (unsigned long long)seed,
				p->contract, verdict->reasons[0].name);
		return;
	}
	tally->contracts_kept++;
	if (!kept[1])
		complain(c->truth, seed, 0, 0, p->times ? "innodb: said to be kept, and no choice keeps it"
							: "adya: said to be kept, and no choice keeps it");
}

static void shape(struct sim_options *options, uint64_t seed)
{
	sim_defaults(options);
	options->seed = seed;
	options->discipline = (enum sim_discipline)(seed % SIM_DISCIPLINE_COUNT);
	options->sessions = 2 + (uint32_t)(seed / 5 % 3);
	options->transactions = 4 + seed % 6;
	options->ops = 3;
	options->tables = 1;
	options->keys = 2 + (uint32_t)(seed / 7 % 3);
	options->values = 6;
	options->predicate_keys = 0;
	options->predicate = 0.3;
	options->insert = options->delete = 0.2;
	options->update = 0.2;
	options->abort = 0.1;
	options->unknown = 0;
	options->savepoint = 0;
	options->consistent_snapshot = 0;
	options->no_version_sets = seed / 3 % 2;
}

/* Transactions of several levels, whatever they ran at: what was promised to them is then broken now and then. */
static void claim_levels(struct twin_history *truth, struct history *history, uint64_t seed)
{
	for (size_t i = 0; i < truth->txn_count; i++) {
		uint64_t number = truth->txns[i].number;
		uint8_t level = (uint8_t)(LEVEL_READ_UNCOMMITTED + (number * 7 + seed / 2) % 4);

		for (uint32_t t = 0; t < history->txn_count; t++)
			if (history->txns[t].number == number)
				history->txns[t].level = truth->txns[i].level = level;
	}
}

static void judge_one(uint64_t seed, struct tally *tally)
{
	bool claimed = seed % 2;
	struct combinations c = {.count = 0};
	struct twin_history truth = TWIN_HISTORY_INIT;
	struct buf records = BUF_INIT;
	struct sim_sink sink = sim_sink_memory(&records);
	bool some[ORDERS][LEVELS], kept[CONTRACTS][2];
	struct sim_options options;
	struct contract contract;
	struct history history;
	struct verdict verdict;
	struct err err;

	shape(&options, seed);
	if (!sim_run(&options, &sink, &truth, NULL, NULL, &err) ||
		!history_load_records(&history, buf_span(&records), NULL, &err))
		ck_abort_msg("%s", err.text);
	if (claimed)
		claim_levels(&truth, &history, seed);
	c.truth = &truth;
	twin_check_edges(&truth, &c.twin);
	find_meetings(&c, !options.no_version_sets);
	if (are_few(&c)) {
		/* Claimed levels have other views than those that answers came from, which times then need not fit; the
		 * oracle mvcc judges that. */
		try_all(&c, some, kept, !claimed);
		tally->histories++;
		tally->ambiguous += c.count > 0;
		for (int i = 0; i < CONTRACTS; i++) {
			if (!contract_builtin(&contract, promises[i].contract, &err))
				ck_abort_msg("%s", err.text);
			verdict_init(&verdict);
			adya_check(&history,
				&(struct adya_options){.contract = &contract, .session = true, .realtime = true},
				&verdict);
			if (i == 0)
				compare(&c, some, &verdict, seed, tally);
			compare_contract(&c, &promises[i], kept[i], &verdict, seed, tally);
			verdict_release(&verdict);
		}
	}
	twin_result_release(&c.twin);
	history_release(&history);
	twin_history_release(&truth);
	buf_release(&records);
}

START_TEST(levels_are_those_of_all_choices)
{
	const char *text = getenv("SEEDS");
	uint64_t last = text ? strtoull(text, NULL, 10) : 3000;
	uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1;
	struct tally tally = {0};

	for (uint64_t seed = first; seed <= last; seed++)
		judge_one(seed, &tally);
	printf("# %llu histories, %llu with a choice, %llu levels: %llu hold, %llu fail, %llu undecided\n",
		(unsigned long long)tally.histories, (unsigned long long)tally.ambiguous,
		(unsigned long long)tally.levels, (unsigned long long)tally.held,
		(unsigned long long)tally.failed, (unsigned long long)tally.undecided);
	printf("# %llu contracts: %llu kept, %llu violated, %llu open, of which a choice keeps %llu\n",
		(unsigned long long)tally.contracts, (unsigned long long)tally.contracts_kept,
		(unsigned long long)tally.contracts_violated, (unsigned long long)tally.contracts_open,
		(unsigned long long)tally.contracts_missed);
	ck_assert_uint_gt(tally.ambiguous, (last - first + 1) / 4);
	ck_assert_uint_lt(tally.undecided, tally.levels / 50);
	ck_assert_uint_lt(tally.contracts_missed, tally.contracts / 200);
}
END_TEST

UNIT_MAIN("adya explanations", levels_are_those_of_all_choices)
