/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dependencies of predicate reads: one predicate after the other, at each object that it may have met. */
#include "adya/dependencies_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/search.h"

enum {
	NEVER_MATCHES_MAX = 32, /* versions of an object that are all tested for one predicate */
	FEW_ROWS = 16,          /* that are not worth another look for fewer */
};

/* Combinations of rows that a join looks at count as tests. */
static enum match test_multi_table(struct dependency_builder *b, uint32_t version)
{
	enum match match = multi_table_test(b->multi_table, version);
	uint64_t cost = multi_table_cost(b->multi_table);

	b->tests_left -= cost < b->tests_left ? cost : b->tests_left;
	return match;
}

static enum match test(struct dependency_builder *b, const struct look *look, uint32_t version)
{
	if (b->tests_left == 0)
		return MATCH_UNKNOWN;
	b->tests_left--;
	/* What the statement saw of this very version needs no evaluation. */
	if (version == look->seen && look->seen_match != MATCH_UNKNOWN)
		return look->seen_match;
	return b->is_multi_table ? test_multi_table(b, version) : matcher_test(b->matcher, version);
}

enum match look_test_version(struct dependency_builder *b, const struct look *look, uint32_t version)
{
	return test(b, look, version);
}

enum match look_test(struct dependency_builder *b, const struct look *look, uint32_t place)
{
	uint32_t version = look->chain->order[place];

	if (b->tests_left == 0)
		return MATCH_UNKNOWN;
	b->tests_left--;
	if (version == look->seen && look->seen_match != MATCH_UNKNOWN)
		return look->seen_match;
	if (b->is_multi_table)
		return test_multi_table(b, version);
	return matcher_test_row(b->matcher, version, &look->chain->rows[place]);
}

void look_run(struct dependency_builder *b, const struct look *look, uint32_t place, uint32_t *first, uint32_t *end)
{
	const struct chain *chain = look->chain;
	enum match here = look_test(b, look, place);
	uint32_t before, after;
	uint64_t cost;

	*first = place;
	*end = place + 1;
	if (here == MATCH_UNKNOWN)
		return;
	before = matcher_run(b->matcher, chain->order, chain->rows, place - 1, UINT32_MAX, -1, here);
	after = matcher_run(b->matcher, chain->order, chain->rows, place + 1, chain->count, 1, here);
	*first = before + 1;
	*end = after;
	cost = *end - *first;
	b->tests_left -= cost < b->tests_left ? cost : b->tests_left;
}

/* May versions that the history does not have be what was seen: a deletion, mostly? */
static bool may_be_unrecorded(const struct dependency_builder *b, const struct look *look)
{
	return look->absent && (b->unseen || b->history->tables[look->p->table].unseen_writes ||
				       (b->touched && b->touched[look->object]));
}

/* Did no transaction that wrote the object run beside the reader, and may the version that was current then be what the predicate
 * met? */
static bool is_told_by_time(struct dependency_builder *b, const struct look *look)
{
	const struct chain *chain = look->chain;
	const struct history_txn *t = &b->history->txns[b->out->txn_of[look->node]];
	uint32_t begin = t->begin_seq, end = t->outcome == TXN_COMMITTED ? t->end_seq : HISTORY_NONE, place;

	if (!chain || may_be_unrecorded(b, look) || (chain->hidden_begun <= end && chain->hidden_ended >= begin))
		return false;
	if (look->absent)
		place = FIRST_WHERE(i, 0, chain->count, chain->ended[i] >= begin) - 1;
	else
		place = b->history->versions[look->seen].position;
	if (place >= chain->count || chain->ended[place] >= begin || chain->begun[place + 1] <= end)
		return false;
	if (!look->absent)
		return true;
	if (chain->rows[place].state == MATCH_ROW_ABSENT)
		return place > 0 || !chain->born;
	return !(look->p->flags & HISTORY_PREDICATE_SET) && look_test(b, look, place) == MATCH_NO;
}

/* Leaves to the explanation which version of the object the predicate met. */
static void leave_open(struct dependency_builder *b, const struct look *look, enum meeting_kind kind)
{
	if (b->timed && kind != MEETING_UNLISTED && is_told_by_time(b, look))
		return;
	explanation_add(&b->out->explanation,
		&(struct meeting){.op = look->op, .object = look->object, .kind = kind});
}

static void add_predicate_edge(struct dependency_builder *b, const struct look *look, uint32_t from,
	uint32_t to, enum graph_kind kind, uint32_t seen, uint32_t changed)
{
	struct dependencies *out = b->out;
	const struct history_op *op = &b->history->ops[look->op];

	if (from == GRAPH_NONE || to == GRAPH_NONE || from == to)
		return;
	if (look->absent && b->others) {
		out->left_to_others++;
		if (!b->inexact) {
			leave_open(b, look, MEETING_NOT_RETURNED);
			return;
		}
	}
	MEM_RESERVE(
		out->predicate_edges, out->predicate_edge_count + 1, out->predicate_edge_capacity);
	out->predicate_edges[out->predicate_edge_count] =
		(struct predicate_edge){look->predicate, seen, changed, look->absent,
			op->read_kind};
	add_edge(b, from, to, kind, (uint32_t)out->predicate_edge_count++);
}

/* The predicate saw version x_k of an object.  pred-wr comes from the latest version at or before
 * x_k that changed the matches, pred-rw leads to the first one after it.  False: undecided. */
static bool add_from_version(struct dependency_builder *b, const struct look *look, uint32_t seen)
{
	const struct history_version *v = &b->history->versions[seen];
	const struct chain *chain = look->chain;
	enum match here, other;

	if (!chain || v->position == HISTORY_NONE)
		return v->txn != HISTORY_NONE && b->out->node_of[v->txn] == look->node;
	here = look_test(b, look, v->position);
	other = here;
	for (uint32_t i = v->position; i > 0 && here != MATCH_UNKNOWN; i--) {
		other = look_test(b, look, i - 1);
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
		other = look_test(b, look, i);
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
static bool never_matches(struct dependency_builder *b, const struct look *look)
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
static bool may_be_uninstalled(struct dependency_builder *b, const struct look *look)
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
static bool add_forced(struct dependency_builder *b, const struct look *look)
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

		/* What comes after the run matters only if it may have been seen. */
		if (over && !seeable)
			continue;
		match = look_test(b, look, i);
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
static bool add_unlisted(struct dependency_builder *b, const struct look *look)
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
	state = look_test(b, look, first_seen);
	for (uint32_t i = first_seen + 1; i <= last_seen; i++)
		if (look_test(b, look, i) != state)
			return false;
	for (uint32_t i = chain->count; seen == HISTORY_NONE && i < o->order_count; i++) {
		uint32_t version = h->order[o->first_order + i], stmt = h->versions[version].stmt;

		if ((stmt == HISTORY_NONE || h->stmts[stmt].begin_seq <= last) &&
			test(b, look, version) != state)
			return false;
	}
	for (start = first_seen; start > 0 && state != MATCH_UNKNOWN; start--) {
		enum match before = look_test(b, look, start - 1);

		if (before != state) {
			state = before == MATCH_UNKNOWN ? MATCH_UNKNOWN : state;
			break;
		}
	}
	for (end = last_seen + 1; end < chain->count && state != MATCH_UNKNOWN; end++) {
		enum match behind = look_test(b, look, end);

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
	/* No other transaction wrote it, so that reading it depends on none. */
	for (uint32_t i = 0; i < o->order_count; i++) {
		uint32_t txn = h->versions[h->order[o->first_order + i]].txn;

		if (txn != HISTORY_NONE && txn != look->p->txn)
			return false;
	}
	return true;
}

static void note_seen(struct dependency_builder *b, uint32_t first, uint32_t count, bool matches)
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

struct look look_at(struct dependency_builder *b, uint32_t op, uint32_t node, uint32_t object)
{
	const struct history *h = b->history;
	uint32_t predicate = h->ops[op].predicate;
	struct look look = {.op = op,
		.predicate = predicate,
		.node = node,
		.object = object,
		.p = &h->predicates[predicate],
		.seen = HISTORY_NONE,
		.seen_match = MATCH_UNKNOWN,
		.absent = b->seen_stamp[object] != b->stamp};

	if (h->objects[object].order_known)
		look.chain = chains_get(&b->chains, object);
	if (!look.absent) {
		look.seen = b->seen[object];
		if (look.p->flags & HISTORY_PREDICATE_MATCHES)
			look.seen_match = b->seen_matches[object] ? MATCH_YES : MATCH_NO;
	}
	return look;
}

/* The version that the transaction had written when the predicate's statement began; HISTORY_NONE: none, or it is not
 * known. */
static uint32_t own_version(const struct dependency_builder *b, const struct look *look)
{
	const struct history *h = b->history;
	uint32_t first = h->txns[look->p->txn].first_op;

	if (b->own_stamp[look->object] != look->node + 1)
		return HISTORY_NONE;
	for (uint32_t i = b->own[look->object] + 1; i-- > first;) {
		const struct history_op *op = &h->ops[i];

		if (op->kind != HISTORY_WRITE || op->object != look->object)
			continue;
		if (op->flags & HISTORY_OP_UNDONE && history_is_taken_back(h, op, look->p->stmt))
			continue;
		return op->flags & HISTORY_OP_EXACT ? op->version : HISTORY_NONE;
	}
	return HISTORY_NONE;
}

/* The transaction wrote the row before: it saw what it wrote.  False: the row is not seen so. */
static bool add_own(struct dependency_builder *b, struct look *look)
{
	uint32_t own = own_version(b, look);

	if (own == HISTORY_NONE || !look->chain)
		return false;
	/* It was not returned, so it does not match; where evaluation says otherwise, nothing is certain. */
	if (test(b, look, own) == MATCH_YES)
		return false;
	look->seen = own;
	look->seen_match = MATCH_NO;
	look->absent = false;
	return add_from_version(b, look, own);
}

static bool add_not_returned(struct dependency_builder *b, struct look *look)
{
	const struct history *h = b->history;
	uint32_t seen = HISTORY_NONE;

	if (may_be_unrecorded(b, look))
		return false;
	if (look->p->flags & HISTORY_PREDICATE_SET)
		seen = look->chain ? look->chain->only_absent
				   : only_absent_version(h, &h->objects[look->object]);
	if (seen != HISTORY_NONE)
		return add_from_version(b, look, seen);
	return add_forced(b, look) || never_matches(b, look);
}

/* What one predicate says of one object. */
static void add_object(struct dependency_builder *b, uint32_t op, uint32_t node, uint32_t o)
{
	struct look look = look_at(b, op, node, o);
	bool unlisted = b->is_multi_table && !multi_table_is_listed(b->multi_table);
	enum meeting_kind kind = unlisted      ? MEETING_UNLISTED
				 : look.absent ? MEETING_NOT_RETURNED
					       : MEETING_RETURNED;
	size_t before = b->out->explanation.meeting_count;
	bool decided;

	/* Of a row that the initial ones do not have, nothing that it may have seen came certainly after another version: it may
	 * have seen it unborn.  What is certain is at most that later versions came after the read, which time tells as well. */
	if (kind == MEETING_NOT_RETURNED && b->timed && look.chain && !look.chain->born && is_told_by_time(b, &look)) {
		b->out->decided++;
		return;
	}
	if (unlisted)
		decided = !may_be_unrecorded(b, &look) && add_unlisted(b, &look);
	else if (!look.absent)
		decided = add_from_version(b, &look, look.seen);
	else
		decided = add_own(b, &look) || add_not_returned(b, &look);
	b->out->decided += decided;
	if (decided || b->out->explanation.meeting_count > before)
		return;
	if (look.chain)
		leave_open(b, &look, kind);
	else
		count_undecided(b, UNDECIDED_ORDER, look.p->stmt);
}

/* The first of a table's objects, sorted by key, whose key is `key` or more. */
static uint32_t first_from(const struct dependency_builder *b, uint32_t table, wide key)
{
	return FIRST_WHERE(
		i, b->objects_head[table], b->objects_head[table + 1], b->keys_of[i] >= key);
}

/* Rows whose key is not within the range never satisfy the predicate, at any version. */
static bool find_by_key(struct dependency_builder *b, const struct history_predicate *p, const uint32_t **objects,
	uint32_t *count)
{
	uint32_t from, to;
	wide low, high;

	if (!b->sorted[p->table] || !(b->is_multi_table ? multi_table_key_range(b->multi_table, &low, &high)
							: matcher_key_range(b->matcher, &low, &high)))
		return false;
	from = first_from(b, p->table, low);
	to = high < low ? from : first_from(b, p->table, high + 1);
	*objects = b->objects_of + from;
	*count = to - from;
	return true;
}

static bool find_by_values(struct dependency_builder *b, const struct history_predicate *p, const uint32_t **objects,
	uint32_t *count)
{
	const struct index_terms *terms = NULL;
	struct index_terms of_query;

	if (!b->is_multi_table)
		terms = matcher_terms(b->matcher);
	else if (multi_table_terms(b->multi_table, &of_query))
		terms = &of_query;
	return terms && predicate_index_find(b->index, p->table, terms, objects, count);
}

#ifdef ISOTRACE_EXPENSIVE_CHECKS
/* No version of any other row satisfies it. */
static void check_candidates(struct dependency_builder *b, const struct history_predicate *p)
{
	const struct history *h = b->history;

	for (uint32_t i = b->objects_head[p->table]; !b->is_multi_table && i < b->objects_head[p->table + 1]; i++) {
		const struct history_object *o = &h->objects[b->objects_of[i]];

		for (uint32_t k = 0; b->candidate[b->objects_of[i]] != b->candidate_stamp && k < o->order_count; k++)
			CHECK(matcher_test(b->matcher, h->order[o->first_order + k]) != MATCH_YES);
	}
}
#endif

/* Is every row that was returned among those that can satisfy the predicate? */
static bool has_all_returned(struct dependency_builder *b, const struct history_predicate *p, const uint32_t *objects,
	uint32_t count)
{
	const struct history *h = b->history;

	b->candidate_stamp++;
	for (uint32_t i = 0; i < count; i++)
		b->candidate[objects[i]] = b->candidate_stamp;
#ifdef ISOTRACE_EXPENSIVE_CHECKS
	check_candidates(b, p);
#endif
	for (uint32_t i = 0; i < p->match_count; i++) {
		uint32_t version = h->predicate_versions[p->first_match + i];

		if (b->candidate[h->versions[version].object] != b->candidate_stamp)
			return false;
	}
	return true;
}

/* The rows that can satisfy the predicate, by its comparisons with constants.  False: any can; or the server
 * returned one that cannot. */
static bool find_candidates(struct dependency_builder *b, const struct history_predicate *p, const uint32_t **objects,
	uint32_t *count)
{
	const uint32_t *by_values;
	uint32_t few;
	bool found = find_by_key(b, p, objects, count);

	if ((!found || *count > FEW_ROWS) && find_by_values(b, p, &by_values, &few) && (!found || few < *count)) {
		*objects = by_values;
		*count = few;
		found = true;
	}
	return found && has_all_returned(b, p, *objects, *count);
}

/* Who wrote a table, be it what was rolled back. */
static void find_writers(struct dependency_builder *b)
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

/* Whatever it looked at, no other transaction wrote anything there: it depends on none. */
static bool is_nobody_elses(struct dependency_builder *b, const struct history_predicate *p)
{
	if (!b->writer_of)
		find_writers(b);
	return b->writer_of[p->table] == HISTORY_NONE || b->writer_of[p->table] == p->txn;
}

/* A predicate over several tables, of a statement that saw one version of each row (multi_table_predicate.h). */
static bool choose_multi_table(struct dependency_builder *b, const struct history_op *op)
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

bool choose_predicate(struct dependency_builder *b, uint32_t op)
{
	const struct history *h = b->history;
	const struct history_predicate *p = &h->predicates[h->ops[op].predicate];

	b->is_multi_table = multi_table_is(h, p);
	b->stamp++;
	if (b->is_multi_table ? !choose_multi_table(b, &h->ops[op]) : !(p->flags & HISTORY_PREDICATE_EXACT))
		return false;
	if (b->is_multi_table && multi_table_is_listed(b->multi_table) && !(p->flags & HISTORY_PREDICATE_EXACT))
		return false;
	if (!b->is_multi_table)
		matcher_choose(b->matcher, p);
	if (p->flags & HISTORY_PREDICATE_SET)
		note_seen(b, p->first_set, p->set_count, false);
	if (p->flags & HISTORY_PREDICATE_MATCHES && !(b->is_multi_table && !multi_table_is_listed(b->multi_table)))
		note_seen(b, p->first_match, p->match_count, true);
	return true;
}

void add_predicate(struct dependency_builder *b, uint32_t op, uint32_t node)
{
	const struct history *h = b->history;
	const struct history_predicate *p = &h->predicates[h->ops[op].predicate];
	const uint32_t *objects;
	uint32_t count;

	if ((multi_table_is(h, p) || !(p->flags & HISTORY_PREDICATE_EXACT)) && is_nobody_elses(b, p)) {
		b->out->decided++;
		return;
	}
	if (!choose_predicate(b, op)) {
		explanation_add(&b->out->explanation,
			&(struct meeting){.op = op, .object = HISTORY_NONE, .kind = MEETING_UNLISTED});
		return;
	}
	if (find_candidates(b, p, &objects, &count)) {
		b->out->decided += b->objects_head[p->table + 1] - b->objects_head[p->table] - count;
	} else {
		objects = b->objects_of + b->objects_head[p->table];
		count = b->objects_head[p->table + 1] - b->objects_head[p->table];
	}
	for (uint32_t i = 0; i < count; i++) {
		if (b->tests_left == 0) {
			count_undecided(b, UNDECIDED_BUDGET, p->stmt);
			return;
		}
		if (i + 2 < count)
			chains_prefetch(&b->chains, objects[i + 2]);
		add_object(b, op, node, objects[i]);
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

/* Rows of the beginning come in the order of their keys, and later ones after them. */
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
	mem_free(tail);
}

/* Puts a table's objects in the order of their keys, if those are integers. */
static bool sort_objects(struct dependency_builder *b, uint32_t table)
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
	mem_free(all);
	return ok;
}

/* Rows that a statement may have changed whose writes were not seen: those of which it met a version
 * that satisfies its condition.  It met none but those in the order, unless another such statement
 * had made it, which met one of these, or a transaction of unknown outcome.  A row looked at counts
 * as a test; where there are none left, any row may be one. */
static void find_touched(struct dependency_builder *b)
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

void predicates_init(struct dependency_builder *b)
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
	b->own = mem_realloc(NULL, h->object_count, sizeof(*b->own));
	b->own_stamp = mem_zero(h->object_count, sizeof(*b->own_stamp));
	b->candidate = mem_zero(h->object_count, sizeof(*b->candidate));
	b->index = predicate_index_new(h, b->objects_of, b->objects_head);
	b->matcher = matcher_new(h);
	chains_init(&b->chains, h, b->matcher);
	if (h->unseen_count)
		find_touched(b);
}


void predicates_release(struct dependency_builder *b)
{
	mem_free(b->writer_of);
	mem_free(b->objects_of);
	mem_free(b->objects_head);
	mem_free(b->keys_of);
	mem_free(b->sorted);
	mem_free(b->seen);
	mem_free(b->seen_stamp);
	mem_free(b->seen_matches);
	mem_free(b->touched);
	mem_free(b->own);
	mem_free(b->own_stamp);
	mem_free(b->candidate);
	predicate_index_free(b->index);
	if (b->matcher) {
		chains_release(&b->chains);
		multi_table_free(b->multi_table);
		matcher_free(b->matcher);
	}
}
