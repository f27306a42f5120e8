/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/dependencies.h"

#include <stdlib.h>

#include "adya/multi_table_predicate.h"
#include "adya/predicate_match.h"
#include "adya/version_chain.h"
#include "base/attr.h"
#include "base/mem.h"
#include "server/flavour.h"

/* (predicate, version) tests in all; what is past it is undecided, and said. */
enum {
	PREDICATE_TESTS_MAX = 200 * 1000 * 1000,
	JOINT_ROWS_MAX = 200 * 1000 * 1000, /* the same of rows that joins look at */
	NEVER_MATCHES_MAX = 32, /* versions of an object that are all tested for one predicate */
	PREFETCH_AHEAD = 32,
};

uint32_t version_next(const struct history *history, uint32_t version)
{
	const struct history_version *v = &history->versions[version];
	const struct history_object *o = &history->objects[v->object];

	if (!o->order_known || v->position == HISTORY_NONE || v->position + 1 >= o->installed_count)
		return HISTORY_NONE;
	return history->order[o->first_order + v->position + 1];
}

/* What a read of a version leads to.  It stands by itself, since reads come by transaction and
 * versions, objects and orders lie elsewhere: one place to look at instead of five. */
struct link {
	uint32_t writer; /* node; GRAPH_NONE */
	uint32_t next;   /* node that installed the next version, or a LINK_ value */
};

#define LINK_LAST      GRAPH_NONE       /* nobody the graph knows */
#define LINK_ASIDE     (GRAPH_NONE - 1) /* not in the order */
#define LINK_UNORDERED (GRAPH_NONE - 2) /* the object's order is not known */

struct builder {
	struct dependencies *out;
	const struct history *history;
	struct graph_builder graph;
	struct link *links; /* by version */
	struct matcher *matcher;
	struct chains chains;
	struct multi_table *multi_table; /* NULL: no predicate over several tables was met yet */
	bool is_multi_table;       /* ... and the current one is one */
	uint64_t tests_left, multi_table_left;
	bool inexact, unseen, others;
	uint32_t *writer_of; /* by table: the only transaction that wrote it; NONE, SEVERAL */
	uint32_t *objects_of, *objects_head; /* objects by table */
	wide *keys_of;                       /* of objects_of, where sorted[table] */
	bool *sorted;                        /* by table: keys are integers, in order */
	uint32_t *seen, *seen_stamp;         /* by object: the version in the predicate's set */
	bool *seen_matches;
	bool *touched; /* by object: writes that were not seen may have changed it; NULL: none */
	uint32_t stamp;
};

#define SEVERAL (HISTORY_NONE - 1)

static void count_undecided(struct builder *b, enum undecided why, uint32_t stmt, uint64_t count)
{
	struct dependencies *out = b->out;

	if (!out->undecided[why])
		out->first[why] = stmt;
	out->undecided[why] += count;
}

static uint32_t node_of_version(const struct builder *b, uint32_t version)
{
	uint32_t txn = b->history->versions[version].txn;

	return txn == HISTORY_NONE ? GRAPH_NONE : b->out->node_of[txn];
}

static void add_edge(
	struct builder *b, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t detail)
{
	if (from != GRAPH_NONE && to != GRAPH_NONE)
		graph_builder_add(&b->graph, from, to, kind, detail);
}

/* Who reads it, reads from its writer: not from one that replaced it or took it back. */
static struct link link_to(const struct builder *b, uint32_t version, uint32_t node, uint32_t next)
{
	uint16_t passing = HISTORY_VERSION_INTERMEDIATE | HISTORY_VERSION_UNDONE;

	if (b->history->versions[version].flags & passing)
		node = GRAPH_NONE;
	return (struct link){node, next};
}

/* ww: Ti installs x_i and Tj installs the next version of x.  On the way, what reads lead to. */
static void add_write_edges(struct builder *b)
{
	const struct history *h = b->history;

	b->links = mem_realloc(NULL, h->version_count, sizeof(*b->links));
	for (uint32_t o = 0; o < h->object_count; o++) {
		const struct history_object *object = &h->objects[o];
		const uint32_t *order = h->order + object->first_order;
		uint32_t before = GRAPH_NONE;

		for (uint32_t i = 0, ahead = object->first_order + PREFETCH_AHEAD;
			i < object->order_count && ahead < h->order_count; i++, ahead++) {
			MEM_PREFETCH(&h->versions[h->order[ahead]]);
			__builtin_prefetch(&b->links[h->order[ahead]], 1);
		}
		for (uint32_t i = 0; i < object->order_count && !object->order_known; i++)
			b->links[order[i]] =
				link_to(b, order[i], node_of_version(b, order[i]), LINK_UNORDERED);
		if (!object->order_known)
			continue;
		for (uint32_t i = 0; i < object->installed_count; i++) {
			uint32_t node = node_of_version(b, order[i]);

			b->links[order[i]] = link_to(b, order[i], node, LINK_LAST);
			if (i > 0) {
				b->links[order[i - 1]].next = node;
				add_edge(b, before, node, GRAPH_WW, order[i]);
			}
			before = node;
		}
		for (uint32_t i = object->installed_count; i < object->order_count; i++)
			b->links[order[i]] = (struct link){GRAPH_NONE, LINK_ASIDE};
	}
}

/* wr: Ti installs x_i and Tj reads x_i.  rw: Ti reads x_k and Tj installs the next version. */
static void add_read(struct builder *b, uint32_t node, const struct history_op *op)
{
	struct link link;

	if (!(op->flags & HISTORY_OP_EXACT)) {
		count_undecided(b, UNDECIDED_INEXACT, op->stmt, 1);
		if (!b->inexact)
			return;
	}
	if (op->version == HISTORY_NONE) {
		count_undecided(b, UNDECIDED_ABSENT, op->stmt, 1);
		return;
	}
	link = b->links[op->version];
	if (link.next == LINK_ASIDE) {
		/* Aborted, intermediate, or its own: G1a and G1b judge these, the graph does not.
		 */
		b->out->decided++;
		return;
	}
	add_edge(b, link.writer, node, GRAPH_WR, op->version);
	if (link.next == LINK_UNORDERED) {
		count_undecided(b, UNDECIDED_ORDER, op->stmt, 1);
		return;
	}
	add_edge(b, node, link.next, GRAPH_RW, op->version);
	b->out->decided++;
}

/* ---- predicates ---- */

/* One predicate at one object. */
struct look {
	uint32_t predicate, node, object;
	const struct history_predicate *p;
	const struct chain *chain; /* NULL: the object's order is not known */
	uint32_t seen;             /* the version it saw; NONE: not recorded */
	enum match seen_match;     /* ... as its result tells; UNKNOWN: it does not */
	bool absent;               /* all that is known is that the row was not there */
};

static enum match test_multi_table(struct builder *b, uint32_t version)
{
	enum match match;
	uint64_t cost;

	if (b->multi_table_left == 0)
		return MATCH_UNKNOWN;
	match = multi_table_test(b->multi_table, version);
	cost = multi_table_cost(b->multi_table);
	b->multi_table_left -= cost < b->multi_table_left ? cost : b->multi_table_left;
	return match;
}

static enum match test(struct builder *b, const struct look *look, uint32_t version)
{
	if (b->tests_left == 0)
		return MATCH_UNKNOWN;
	b->tests_left--;
	/* What the statement saw of this very version needs no evaluation. */
	if (version == look->seen && look->seen_match != MATCH_UNKNOWN)
		return look->seen_match;
	return b->is_multi_table ? test_multi_table(b, version) : matcher_test(b->matcher, version);
}

/* The same by position in the order. */
static enum match test_at(struct builder *b, const struct look *look, uint32_t i)
{
	uint32_t version = look->chain->order[i];

	if (b->tests_left == 0)
		return MATCH_UNKNOWN;
	b->tests_left--;
	if (version == look->seen && look->seen_match != MATCH_UNKNOWN)
		return look->seen_match;
	if (b->is_multi_table)
		return test_multi_table(b, version);
	return matcher_test_row(b->matcher, version, &look->chain->rows[i]);
}

static void add_predicate_edge(struct builder *b, const struct look *look, uint32_t from,
	uint32_t to, enum graph_kind kind, uint32_t seen, uint32_t changed)
{
	struct dependencies *out = b->out;

	if (from == GRAPH_NONE || to == GRAPH_NONE || from == to)
		return;
	if (look->absent && b->others) {
		count_undecided(b, UNDECIDED_OTHERS, look->p->stmt, 1);
		if (!b->inexact)
			return;
	}
	MEM_RESERVE(
		out->predicate_edges, out->predicate_edge_count + 1, out->predicate_edge_capacity);
	out->predicate_edges[out->predicate_edge_count] =
		(struct predicate_edge){look->predicate, seen, changed, look->absent};
	add_edge(b, from, to, kind, (uint32_t)out->predicate_edge_count++);
}

/* The predicate saw version x_k of an object.  pred-wr comes from the latest version at or before
 * x_k that changed the matches, pred-rw leads to the first one after it.  False: undecided. */
static bool add_from_version(struct builder *b, const struct look *look, uint32_t seen)
{
	const struct history_version *v = &b->history->versions[seen];
	const struct chain *chain = look->chain;
	enum match here, other;

	if (!chain || v->position == HISTORY_NONE)
		return v->txn != HISTORY_NONE && b->out->node_of[v->txn] == look->node;
	here = test_at(b, look, v->position);
	other = here;
	for (uint32_t i = v->position; i > 0 && here != MATCH_UNKNOWN; i--) {
		other = test_at(b, look, i - 1);
		if (other == MATCH_UNKNOWN)
			break;
		if (other != here) {
			add_predicate_edge(b, look, node_of_version(b, chain->order[i]), look->node,
				GRAPH_PREDICATE_WR, seen, chain->order[i]);
			break;
		}
	}
	if (here == MATCH_UNKNOWN || other == MATCH_UNKNOWN)
		return false;
	for (uint32_t i = v->position + 1; i < chain->count; i++) {
		other = test_at(b, look, i);
		if (other == MATCH_UNKNOWN)
			return false;
		if (other != here) {
			add_predicate_edge(b, look, look->node, node_of_version(b, chain->order[i]),
				GRAPH_PREDICATE_RW, seen, chain->order[i]);
			break;
		}
	}
	return true;
}

/* No version of the object ever satisfies the predicate: whichever was seen, nothing changes the
 * matches. */
static bool never_matches(struct builder *b, const struct look *look)
{
	const struct history *h = b->history;
	const struct history_object *o = &h->objects[look->object];

	if (o->order_count > NEVER_MATCHES_MAX)
		return false;
	for (uint32_t i = 0; i < o->order_count; i++) {
		if (test(b, look, h->order[o->first_order + i]) != MATCH_NO)
			return false;
	}
	return true;
}

/* When the statement ended: what began to be written later it cannot have seen. */
static uint32_t end_of(const struct history *h, const struct history_predicate *p)
{
	return p->stmt == HISTORY_NONE ? HISTORY_NONE : h->stmts[p->stmt].end_seq;
}

/* Versions that were never installed and that it may have seen without returning them. */
static bool may_be_uninstalled(struct builder *b, const struct look *look)
{
	const struct history *h = b->history;
	const struct history_object *o = &h->objects[look->object];
	uint32_t end = end_of(h, look->p);

	if (look->p->flags & HISTORY_PREDICATE_SET)
		return look->chain->hidden_seq != HISTORY_NONE && look->chain->hidden_seq <= end;
	for (uint32_t i = o->installed_count; i < o->order_count; i++) {
		uint32_t version = h->order[o->first_order + i], stmt = h->versions[version].stmt;

		if ((stmt == HISTORY_NONE || h->stmts[stmt].begin_seq <= end) &&
			test(b, look, version) != MATCH_YES)
			return true;
	}
	return false;
}

/* The predicate did not return the object, and which version it saw was not recorded: it was one
 * that fails it, and where the version set is recorded, one without a row.  If all that it may have
 * seen lie in one run of versions that fail, the edges are the same for each: pred-wr from the
 * version that began the run, pred-rw to the one that ended it (semantics.md, section 2).  False:
 * undecided. */
static bool add_forced(struct builder *b, const struct look *look)
{
	const struct chain *chain = look->chain;
	bool set = look->p->flags & HISTORY_PREDICATE_SET;
	bool possible = false, over = false;
	uint32_t start = 0, end = HISTORY_NONE, last;

	if (!chain || may_be_uninstalled(b, look))
		return false;
	last = end_of(b->history, look->p);
	for (uint32_t i = 0; i < chain->count; i++) {
		/* Not the unborn one of an object that was there before anything was recorded. */
		bool seeable = (!set || chain->rows[i].state == MATCH_ROW_ABSENT) &&
			       (i == 0 ? !chain->born : chain->begin_seq[i] <= last);
		enum match match;

		/* What comes behind the run matters only if it may have been seen. */
		if (over && !seeable)
			continue;
		match = test_at(b, look, i);
		if (match == MATCH_UNKNOWN)
			return false;
		if (match == MATCH_NO && seeable && over)
			return false;
		possible |= match == MATCH_NO && seeable;
		if (match == MATCH_NO || over)
			continue;
		over = possible;
		end = i;
		if (!possible)
			start = i + 1; /* nothing before here was seen */
	}
	if (!possible)
		return false;
	if (over)
		add_predicate_edge(b, look, look->node, node_of_version(b, chain->order[end]),
			GRAPH_PREDICATE_RW, chain->order[end - 1], chain->order[end]);
	if (start > 0)
		add_predicate_edge(b, look, node_of_version(b, chain->order[start]), look->node,
			GRAPH_PREDICATE_WR, chain->order[start], chain->order[start]);
	return true;
}

/* Rows that took part are not listed: whichever version of the object was seen, it lies in one run
 * of versions that all take part, or in one of which none does.  Where what they hold is in the
 * result, one that takes part is read besides: then it must be known which.  False: undecided. */
static bool add_unlisted(struct builder *b, const struct look *look)
{
	const struct history *h = b->history;
	const struct history_object *o = &h->objects[look->object];
	const struct chain *chain = look->chain;
	uint32_t seen = multi_table_seen(b->multi_table, look->object), last = end_of(h, look->p);
	uint32_t first_seen = HISTORY_NONE, last_seen = 0, start, end;
	enum match state;

	if (!chain)
		return false;
	for (uint32_t i = 0; i < chain->count; i++) {
		bool seeable = i == 0 ? !chain->born : chain->begin_seq[i] <= last;

		if (seen == HISTORY_NONE ? !seeable : chain->order[i] != seen)
			continue;
		first_seen = first_seen == HISTORY_NONE ? i : first_seen;
		last_seen = i;
	}
	if (first_seen == HISTORY_NONE)
		return false;
	state = test_at(b, look, first_seen);
	for (uint32_t i = first_seen + 1; i <= last_seen; i++)
		if (test_at(b, look, i) != state)
			return false;
	for (uint32_t i = chain->count; seen == HISTORY_NONE && i < o->order_count; i++) {
		uint32_t version = h->order[o->first_order + i], stmt = h->versions[version].stmt;

		if ((stmt == HISTORY_NONE || h->stmts[stmt].begin_seq <= last) &&
			test(b, look, version) != state)
			return false;
	}
	for (start = first_seen; start > 0 && state != MATCH_UNKNOWN; start--) {
		enum match before = test_at(b, look, start - 1);

		if (before != state) {
			state = before == MATCH_UNKNOWN ? MATCH_UNKNOWN : state;
			break;
		}
	}
	for (end = last_seen + 1; end < chain->count && state != MATCH_UNKNOWN; end++) {
		enum match behind = test_at(b, look, end);

		if (behind != state) {
			state = behind == MATCH_UNKNOWN ? MATCH_UNKNOWN : state;
			break;
		}
	}
	if (state == MATCH_UNKNOWN)
		return false;
	if (start > 0)
		add_predicate_edge(b, look, node_of_version(b, chain->order[start]), look->node,
			GRAPH_PREDICATE_WR, chain->order[start], chain->order[start]);
	if (end < chain->count)
		add_predicate_edge(b, look, look->node, node_of_version(b, chain->order[end]),
			GRAPH_PREDICATE_RW, chain->order[end - 1], chain->order[end]);
	if (state == MATCH_NO || !multi_table_reads_values(b->multi_table))
		return true;
	/* Nobody else wrote it, so that reading it depends on nobody. */
	for (uint32_t i = 0; i < o->order_count; i++) {
		uint32_t txn = h->versions[h->order[o->first_order + i]].txn;

		if (txn != HISTORY_NONE && txn != look->p->txn)
			return false;
	}
	return true;
}

static void note_seen(struct builder *b, uint32_t first, uint32_t count, bool matches)
{
	const struct history *h = b->history;

	for (uint32_t i = first; i < first + count; i++) {
		uint32_t version = h->predicate_versions[i];
		uint32_t object = h->versions[version].object;

		b->seen_stamp[object] = b->stamp;
		b->seen[object] = version;
		b->seen_matches[object] = matches;
	}
}

/* What one predicate says of one object. */
static void add_object(struct builder *b, uint32_t predicate, uint32_t node, uint32_t o)
{
	const struct history *h = b->history;
	const struct history_predicate *p = &h->predicates[predicate];
	struct look look = {.predicate = predicate,
		.node = node,
		.object = o,
		.p = p,
		.seen = HISTORY_NONE,
		.seen_match = MATCH_UNKNOWN,
		.absent = b->seen_stamp[o] != b->stamp};
	uint32_t seen = HISTORY_NONE;
	bool decided;

	if (h->objects[o].order_known)
		look.chain = chains_get(&b->chains, o);
	if (b->seen_stamp[o] == b->stamp) {
		seen = look.seen = b->seen[o];
		if (p->flags & HISTORY_PREDICATE_MATCHES)
			look.seen_match = b->seen_matches[o] ? MATCH_YES : MATCH_NO;
	} else if (b->unseen || h->tables[p->table].unseen_writes ||
		   (b->touched && b->touched[o])) {
		/* It may have seen versions that nobody knows of: a deletion, mostly. */
		count_undecided(b, UNDECIDED_UNSEEN, p->stmt, 1);
		return;
	} else if (p->flags & HISTORY_PREDICATE_SET) {
		seen = look.chain ? look.chain->only_absent
				  : only_absent_version(h, &h->objects[o]);
	}
	if (b->is_multi_table && !multi_table_is_listed(b->multi_table))
		decided = add_unlisted(b, &look);
	else if (seen != HISTORY_NONE)
		decided = add_from_version(b, &look, seen);
	else
		decided = add_forced(b, &look) || never_matches(b, &look);
	b->out->decided += decided;
	if (!decided)
		count_undecided(b, UNDECIDED_MATCH, p->stmt, 1);
}

/* The first of a table's objects, sorted by key, whose key is `key` or more. */
static uint32_t first_from(const struct builder *b, uint32_t table, wide key)
{
	uint32_t low = b->objects_head[table], high = b->objects_head[table + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (b->keys_of[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Is every recorded row of the predicate within [from, to) of objects_of? */
static bool all_within(
	const struct builder *b, const struct history_predicate *p, wide low, wide high)
{
	const struct history *h = b->history;

	for (uint32_t i = 0; i < p->match_count; i++) {
		uint32_t version = h->predicate_versions[p->first_match + i];
		wide key;

		if (!object_key_int(h, h->versions[version].object, &key) || key < low ||
			key > high)
			return false;
	}
	return true;
}

/* Who wrote a table, be it what was rolled back. */
static void find_writers(struct builder *b)
{
	const struct history *h = b->history;

	b->writer_of = mem_realloc(NULL, h->table_count, sizeof(*b->writer_of));
	for (uint32_t t = 0; t < h->table_count; t++)
		b->writer_of[t] = b->unseen || history_unseen_in(h, t) ? SEVERAL : HISTORY_NONE;
	for (uint32_t v = 0; v < h->version_count; v++) {
		uint32_t *writer = &b->writer_of[h->objects[h->versions[v].object].table];
		uint32_t txn = h->versions[v].txn;

		if (h->versions[v].flags & HISTORY_VERSION_UNWRITTEN)
			*writer = SEVERAL;
		else if (txn != HISTORY_NONE && *writer != txn)
			*writer = *writer == HISTORY_NONE ? txn : SEVERAL;
	}
}

/* The condition of a predicate that nobody could tell (docs/trace-format.md). */
static bool is_blind(const struct history *h, const struct history_predicate *p)
{
	return span_eq_str(history_bytes(h, p->text), "?");
}

/* Whatever it looked at, nobody else wrote anything there: it depends on nobody. */
static bool is_nobody_elses(struct builder *b, const struct history_predicate *p)
{
	if (!b->writer_of)
		find_writers(b);
	return b->writer_of[p->table] == HISTORY_NONE || b->writer_of[p->table] == p->txn;
}

static void add_inexact_predicate(struct builder *b, const struct history_predicate *p)
{
	if (is_nobody_elses(b, p))
		b->out->decided++;
	else
		count_undecided(b,
			b->is_multi_table || is_blind(b->history, p) ? UNDECIDED_BLIND : UNDECIDED_INEXACT,
			p->stmt, 1);
}

/* A predicate over several tables, of a statement that saw one version of each row (multi_table_predicate.h). */
static bool choose_multi_table(struct builder *b, const struct history_op *op)
{
	uint8_t level = b->history->txns[op->txn].level;

	if (op->read_kind != PROBE_READ_SNAPSHOT &&
		(op->read_kind != PROBE_READ_CURRENT || level < LEVEL_REPEATABLE_READ))
		return false;
	if (!b->multi_table)
		b->multi_table = multi_table_new(b->history, b->matcher,
			&(struct multi_table_options){.unseen = b->unseen, .others = b->others});
	if (!multi_table_choose(b->multi_table, op->predicate))
		return false;
	return op->read_kind == PROBE_READ_SNAPSHOT ||
	       (!multi_table_is_vague(b->multi_table) &&
		       (level == LEVEL_SERIALIZABLE || !multi_table_meets_itself(b->multi_table)));
}

static void add_predicate(struct builder *b, const struct history_op *op, uint32_t node)
{
	const struct history *h = b->history;
	uint32_t predicate = op->predicate;
	const struct history_predicate *p = &h->predicates[predicate];
	uint32_t from = b->objects_head[p->table], to = b->objects_head[p->table + 1];
	wide low, high;

	b->is_multi_table = multi_table_is(h, p);
	if (b->is_multi_table && is_nobody_elses(b, p)) {
		b->out->decided++;
		return;
	}
	if (b->is_multi_table ? !choose_multi_table(b, op) : !(p->flags & HISTORY_PREDICATE_EXACT)) {
		add_inexact_predicate(b, p);
		return;
	}
	if (b->is_multi_table && multi_table_is_listed(b->multi_table) && !(p->flags & HISTORY_PREDICATE_EXACT)) {
		count_undecided(b, UNDECIDED_INEXACT, p->stmt, 1);
		return;
	}
	b->stamp++;
	if (!b->is_multi_table)
		matcher_choose(b->matcher, p);
	if (p->flags & HISTORY_PREDICATE_SET)
		note_seen(b, p->first_set, p->set_count, false);
	if (p->flags & HISTORY_PREDICATE_MATCHES && !(b->is_multi_table && !multi_table_is_listed(b->multi_table)))
		note_seen(b, p->first_match, p->match_count, true);
	/* Rows whose key the predicate excludes never satisfy it, at any version: no edges.  Unless
	 * the server returned one all the same. */
	if (b->sorted[p->table] &&
		(b->is_multi_table ? multi_table_key_range(b->multi_table, &low, &high)
			     : matcher_key_range(b->matcher, &low, &high)) &&
		all_within(b, p, low, high)) {
		b->out->decided += to - from;
		from = first_from(b, p->table, low);
		to = high < low ? from : first_from(b, p->table, high + 1);
		b->out->decided -= to - from;
	}
	for (uint32_t i = from; i < to; i++) {
		if (b->tests_left == 0 || (b->is_multi_table && b->multi_table_left == 0)) {
			count_undecided(b, UNDECIDED_BUDGET, p->stmt, to - i);
			return;
		}
		if (i + 2 < to)
			chains_prefetch(&b->chains, b->objects_of[i + 2]);
		add_object(b, predicate, node, b->objects_of[i]);
	}
}

struct keyed_object {
	wide key;
	uint32_t object;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed_object *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

/* Rows of the beginning come in the order of their keys, and later ones behind them. */
static void sort_keyed(struct keyed_object *all, uint32_t count)
{
	uint32_t head = 1, i, k = count;
	struct keyed_object *tail;

	while (head < count && by_key(&all[head - 1], &all[head]) < 0)
		head++;
	if (head >= count)
		return;
	tail = mem_dup(all + head, (count - head) * sizeof(*tail));
	qsort(tail, count - head, sizeof(*tail), by_key);
	for (i = count - head; i > 0;) {
		if (head > 0 && by_key(&all[head - 1], &tail[i - 1]) > 0)
			all[--k] = all[--head];
		else
			all[--k] = tail[--i];
	}
	free(tail);
}

/* Puts a table's objects in the order of their keys, if those are integers. */
static bool sort_objects(struct builder *b, uint32_t table)
{
	uint32_t first = b->objects_head[table], count = b->objects_head[table + 1] - first;
	struct keyed_object *all = mem_realloc(NULL, (size_t)count + 1, sizeof(*all));
	bool ok = true;

	for (uint32_t i = 0; i < count && ok; i++) {
		all[i].object = b->objects_of[first + i];
		ok = object_key_int(b->history, all[i].object, &all[i].key);
	}
	if (ok)
		sort_keyed(all, count);
	for (uint32_t i = 0; i < count && ok; i++) {
		b->objects_of[first + i] = all[i].object;
		b->keys_of[first + i] = all[i].key;
	}
	free(all);
	return ok;
}

/* Rows that a statement may have changed whose writes were not seen: those of which it met a version
 * that satisfies its condition.  It met none but those in the order, unless another such statement
 * had made it, which met one of these, or somebody whose outcome nobody knows.  A row looked at counts
 * as a test; where there are none left, any row may be one. */
static void find_touched(struct builder *b)
{
	const struct history *h = b->history;

	b->touched = mem_zero(h->object_count, sizeof(*b->touched));
	for (uint32_t v = 0; v < h->version_count; v++)
		if (h->versions[v].position == HISTORY_NONE && h->versions[v].txn != HISTORY_NONE &&
			h->txns[h->versions[v].txn].outcome == TXN_UNKNOWN)
			b->touched[h->versions[v].object] = true;
	for (uint32_t u = 0; u < h->unseen_count; u++) {
		uint32_t table = h->unseen[u].table;

		matcher_choose(b->matcher,
			&(struct history_predicate){.table = table,
				.text = h->unseen[u].text,
				.txn = HISTORY_NONE,
				.stmt = HISTORY_NONE});
		for (uint32_t i = b->objects_head[table]; i < b->objects_head[table + 1]; i++) {
			const struct history_object *o = &h->objects[b->objects_of[i]];
			bool *touched = &b->touched[b->objects_of[i]];

			if (b->tests_left < (uint64_t)o->order_count + 1) {
				memset(b->touched, true, h->object_count * sizeof(*b->touched));
				b->tests_left = 0;
				return;
			}
			b->tests_left--;
			for (uint32_t k = 0; k < o->order_count && !*touched; k++) {
				*touched = matcher_test(b->matcher,
						   h->order[o->first_order + k]) != MATCH_NO;
				b->tests_left--;
			}
		}
	}
}

static void group_objects(struct builder *b)
{
	const struct history *h = b->history;

	b->objects_head = mem_zero((size_t)h->table_count + 2, sizeof(*b->objects_head));
	b->objects_of = mem_realloc(NULL, h->object_count, sizeof(*b->objects_of));
	b->keys_of = mem_realloc(NULL, h->object_count, sizeof(*b->keys_of));
	b->sorted = mem_zero(h->table_count, sizeof(*b->sorted));
	for (uint32_t o = 0; o < h->object_count; o++)
		b->objects_head[h->objects[o].table + 2]++;
	for (uint32_t t = 0; t < h->table_count; t++)
		b->objects_head[t + 2] += b->objects_head[t + 1];
	for (uint32_t o = 0; o < h->object_count; o++)
		b->objects_of[b->objects_head[h->objects[o].table + 1]++] = o;
	for (uint32_t t = 0; t < h->table_count; t++)
		b->sorted[t] = sort_objects(b, t);
	b->seen = mem_realloc(NULL, h->object_count, sizeof(*b->seen));
	b->seen_stamp = mem_zero(h->object_count, sizeof(*b->seen_stamp));
	b->seen_matches = mem_zero(h->object_count, sizeof(*b->seen_matches));
	b->matcher = matcher_new(h);
	chains_init(&b->chains, h, b->matcher);
	if (h->unseen_count)
		find_touched(b);
}

/* MySQL and MariaDB roll an engine back whole that joined the transaction after the savepoint
 * (ha_rollback_to_savepoint in sql/handler.cc; its row locks are gone, as innodb_trx shows). */
bool dependencies_released(const struct history *h)
{
	return server_has_innodb(server_flavour_named(strtab_get(&h->strings, h->flavour)));
}

static void add_read_edges(struct builder *b)
{
	const struct history *h = b->history;
	bool releases = dependencies_released(h);

	for (uint32_t node = 0; node < b->graph.txn_count; node++) {
		const struct history_txn *t = &h->txns[b->out->txn_of[node]];

		for (uint32_t i = t->first_op; i < t->first_op + t->op_count; i++) {
			const struct history_op *op = &h->ops[i];
			uint32_t ahead = i + PREFETCH_AHEAD;

			if (ahead < h->op_count && h->ops[ahead].kind == HISTORY_READ &&
				h->ops[ahead].version != HISTORY_NONE)
				__builtin_prefetch(&b->links[h->ops[ahead].version]);
			if (releases && op->flags & HISTORY_OP_RELEASED)
				continue; /* it was no part of what committed */
			if (op->kind == HISTORY_READ)
				add_read(b, node, op);
			else if (op->kind == HISTORY_PREDICATE)
				add_predicate(b, op, node);
			else
				b->out->decided++;
		}
	}
}

/* ---- the orders beside the data ---- */

static void add_session_edges(struct builder *b)
{
	const struct history *h = b->history;

	uint32_t *last = mem_realloc(NULL, h->session_count, sizeof(*last));

	for (uint32_t s = 0; s < h->session_count; s++)
		last[s] = GRAPH_NONE;
	/* A session's transactions are numbered in its order (history.h, invariant 3). */
	for (uint32_t node = 0; node < b->graph.txn_count; node++) {
		uint32_t s = h->txns[b->out->txn_of[node]].session;

		add_edge(b, last[s], node, GRAPH_SESSION, 0);
		last[s] = node;
	}
	free(last);
}

static void add_realtime_edges(struct builder *b)
{
	const struct history *h = b->history;
	uint32_t count = b->graph.txn_count;
	uint64_t *begin = mem_realloc(NULL, count, sizeof(*begin));
	uint64_t *end = mem_realloc(NULL, count, sizeof(*end));

	for (uint32_t node = 0; node < count; node++) {
		const struct history_txn *t = &h->txns[b->out->txn_of[node]];

		begin[node] = t->begin_seq;
		/* Without an answered commit nothing is known to come after it. */
		end[node] = t->outcome == TXN_COMMITTED ? t->end_seq : UINT64_MAX;
	}
	graph_builder_realtime(&b->graph, begin, end);
	free(begin);
	free(end);
}

void dependencies_build(struct dependencies *out, const struct history *history,
	const struct dependencies_options *options)
{
	struct builder b = {.out = out,
		.history = history,
		.inexact = options->inexact,
		.unseen = options->unseen,
		.others = options->others,
		.tests_left = PREDICATE_TESTS_MAX,
		.multi_table_left = JOINT_ROWS_MAX};
	uint32_t count = 0;

	*out = (struct dependencies){0};
	out->node_of = mem_realloc(NULL, history->txn_count, sizeof(*out->node_of));
	out->txn_of = mem_realloc(NULL, history->txn_count, sizeof(*out->txn_of));
	for (uint32_t t = 0; t < history->txn_count; t++) {
		out->node_of[t] = GRAPH_NONE;
		if (dependencies_has(history, t)) {
			out->node_of[t] = count;
			out->txn_of[count++] = t;
		}
	}
	graph_builder_init(&b.graph, count);
	if (history->predicate_count)
		group_objects(&b);
	add_write_edges(&b);
	add_read_edges(&b);
	free(b.links);
	if (options->session)
		add_session_edges(&b);
	if (options->realtime)
		add_realtime_edges(&b);
	graph_build(&out->graph, &b.graph);
	free(b.writer_of);
	free(b.objects_of);
	free(b.objects_head);
	free(b.keys_of);
	free(b.sorted);
	free(b.seen);
	free(b.seen_stamp);
	free(b.seen_matches);
	free(b.touched);
	if (b.matcher) {
		chains_release(&b.chains);
		multi_table_free(b.multi_table);
		matcher_free(b.matcher);
	}
}

void dependencies_release(struct dependencies *dependencies)
{
	graph_release(&dependencies->graph);
	free(dependencies->node_of);
	free(dependencies->txn_of);
	free(dependencies->predicate_edges);
	*dependencies = (struct dependencies){0};
}
