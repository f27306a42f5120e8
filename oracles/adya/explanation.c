/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/explanation.h"

#include <stdlib.h>

#include "adya/dependencies_internal.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/search.h"

enum {
	ASKED_EVERY = 1024, /* meetings between two looks at how far it is */
	SETTLE_ROUNDS = 4, /* how often positions follow choices that differ from what they suggested */
	TRIED_MAX = 8,     /* choices of one meeting that are given up before it keeps its last one */
};

void explanation_add(struct explanation *e, const struct meeting *meeting)
{
	MEM_RESERVE(e->meetings, e->meeting_count + 1, e->meeting_capacity);
	e->meetings[e->meeting_count++] = *meeting;
}

void explanation_release(struct explanation *e)
{
	if (e->positions)
		positions_release(e->positions);
	mem_free(e->positions);
	mem_free(e->meetings);
	mem_free(e->edges);
	mem_free(e->unverified);
	mem_free(e->unsteady);
	mem_free(e->impossible_in);
	mem_free(e->unknown_in);
	*e = (struct explanation){0};
}

struct chooser {
	struct dependencies *out;
	struct dependency_builder *b;
	const struct history *history;
	struct positions *positions;
	/* The predicate that tests speak of: of this operation; whether its condition is known. */
	uint32_t op;
	bool tests;
	/* Objects of each table that a committed transaction wrote; made when first asked for. */
	uint32_t *written, *written_head;
	/* By object, the keys of the commits of its versions side by side; made when first asked for, and anew when
	 * positions change. */
	uint64_t **keys;
	struct arena key_arena;
};

/* ---- positions ---- */

/* The transaction of a commit or a view. */
static uint32_t node_of_place(const struct chooser *c, uint32_t place)
{
	uint32_t count = c->positions->txn_count, txn;

	if (place < 2 * count)
		return place < count ? place : place - count;
	txn = c->history->stmts[place - 2 * count].txn;
	return txn == HISTORY_NONE ? GRAPH_NONE : c->out->node_of[txn];
}

/* A read that no statement is known of has no interval. */
static bool has_view(const struct history_op *op)
{
	return op->stmt != HISTORY_NONE;
}

static uint32_t view_of(const struct chooser *c, const struct history_op *op)
{
	if (!has_view(op))
		return place_of_commit(c->out->node_of[op->txn]);
	return place_of_view(c->positions, c->out->node_of[op->txn], op->stmt, &c->history->txns[op->txn],
		op->read_kind);
}

/* A locking read meets each row when it gets to it, which may be after a wait for another row: its rows need not be
 * of one moment (manual, "Locking Reads"). */
static bool sees_one_state(const struct history_op *op)
{
	return op->read_kind == PROBE_READ_SNAPSHOT;
}

/* Does the view of a read come after the commits of what it saw and before those of what it missed? */
static bool has_position(const struct history_txn *txn, uint8_t read_kind)
{
	return read_kind == PROBE_READ_SNAPSHOT || view_is_locked(txn, read_kind);
}

/* Versions follow each other in the order in which their transactions committed. */
static void constrain_by_orders(struct chooser *c)
{
	const struct history *h = c->history;

	for (uint32_t o = 0; o < h->object_count; o++) {
		const struct history_object *object = &h->objects[o];
		uint32_t before = GRAPH_NONE;

		for (uint32_t i = 0; object->order_known && i < object->installed_count; i++) {
			uint32_t node = node_of_version(c->b, h->order[object->first_order + i]);

			if (node == GRAPH_NONE)
				continue;
			if (before != GRAPH_NONE)
				positions_follow(c->positions, before, node);
			before = node;
		}
	}
}

/* The commit of the version that was read came before the view, the commit of the next one after it. */
static void constrain_by_reads(struct chooser *c)
{
	const struct history *h = c->history;
	uint32_t count = c->positions->txn_count;

	for (uint32_t node = 0; node < count; node++) {
		const struct history_txn *t = &h->txns[c->out->txn_of[node]];

		for (uint32_t i = t->first_op; i < t->first_op + t->op_count; i++) {
			const struct history_op *op = &h->ops[i];
			struct link link;

			if (op->kind != HISTORY_READ || op->version == HISTORY_NONE ||
				!(op->flags & HISTORY_OP_EXACT) || !has_view(op))
				continue;
			link = c->b->links[op->version];
			if (link.next == LINK_ASIDE)
				continue;
			if (link.writer != GRAPH_NONE && link.writer != node)
				positions_seen(c->positions, link.writer, view_of(c, op));
			if (link.next < count && link.next != node && has_position(t, op->read_kind))
				positions_missed(c->positions, link.next, view_of(c, op));
		}
	}
}

static void constrain_by_predicates(struct chooser *c)
{
	const struct history *h = c->history;

	for (size_t i = 0; i < c->out->predicate_edge_count; i++) {
		const struct predicate_edge *edge = &c->out->predicate_edges[i];
		const struct history_predicate *p = &h->predicates[edge->predicate];
		uint32_t view = place_of_view(c->positions, c->out->node_of[p->txn], p->stmt, &h->txns[p->txn],
			edge->read_kind);
		uint32_t writer = node_of_version(c->b, edge->changed);

		if (p->stmt == HISTORY_NONE)
			continue;
		if (h->versions[edge->changed].position <= h->versions[edge->seen].position)
			positions_seen(c->positions, writer, view);
		else if (has_position(&h->txns[p->txn], edge->read_kind))
			positions_missed(c->positions, writer, view);
	}
}

/* ---- one meeting ---- */

/* A meeting with what is asked about it again and again. */
struct choice {
	const struct meeting *meeting;
	const struct history_op *op;
	uint32_t object;
	const uint32_t *order; /* versions by place */
	uint32_t count;        /* installed ones */
	uint32_t node;         /* of the reader */
	struct look look;      /* of a predicate, where tests can be made */
	bool tests;
	bool set; /* the whole version set was recorded: a row that is not in it was not there */
};

static struct choice choice_of(struct chooser *c, const struct meeting *m, uint32_t object)
{
	const struct history *h = c->history;
	const struct history_op *op = &h->ops[m->op];
	const struct history_object *o = &h->objects[object];
	struct choice choice = {.meeting = m,
		.op = op,
		.object = object,
		.order = h->order + o->first_order,
		.count = o->order_known ? o->installed_count : 0,
		.node = c->out->node_of[op->txn]};

	if (m->kind == MEETING_NO_ROW || !c->tests)
		return choice;
	choice.look = look_at(c->b, m->op, choice.node, object);
	choice.tests = choice.look.chain != NULL;
	choice.set = choice.look.p->flags & HISTORY_PREDICATE_SET;
	return choice;
}

static bool is_absent(const struct chooser *c, const struct choice *choice, uint32_t place)
{
	return choice->tests ? choice->look.chain->rows[place].state == MATCH_ROW_ABSENT
			     : version_is_absent(c->history, choice->order[place]);
}

static enum match test_place(struct chooser *c, const struct choice *choice, uint32_t place)
{
	if (choice->tests)
		return look_test(c->b, &choice->look, place);
	return is_absent(c, choice, place) ? MATCH_NO : MATCH_UNKNOWN;
}

/* Not from the future; and the unborn version not of an object that was there from the beginning. */
static bool is_seeable(const struct chooser *c, const struct choice *choice, uint32_t place)
{
	const struct history *h = c->history;
	uint32_t version = choice->order[place], stmt = h->versions[version].stmt;

	if (place == 0)
		return !object_was_there(h, &h->objects[h->versions[version].object]);
	return stmt == HISTORY_NONE || !has_view(choice->op) ||
	       h->stmts[stmt].begin_seq <= h->stmts[choice->op->stmt].end_seq;
}

/* Does the recorded answer allow that the read met this version? */
static bool is_possible(struct chooser *c, const struct choice *choice, uint32_t place)
{
	bool absent = is_absent(c, choice, place);

	if (!is_seeable(c, choice, place))
		return false;
	switch ((enum meeting_kind)choice->meeting->kind) {
	case MEETING_NO_ROW:
		return absent;
	case MEETING_NOT_RETURNED:
		return (absent || !choice->set) && test_place(c, choice, place) != MATCH_YES;
	case MEETING_RETURNED:
		return choice->order[place] == choice->look.seen;
	case MEETING_UNLISTED:
		return true;
	}
	return false;
}

static const uint64_t *keys_of(struct chooser *c, const struct choice *choice)
{
	uint64_t *keys;

	if (!c->keys)
		c->keys = mem_zero(c->history->object_count, sizeof(*c->keys));
	keys = c->keys[choice->object];
	if (keys)
		return keys;
	keys = c->keys[choice->object] = arena_alloc(&c->key_arena, (choice->count + 1) * sizeof(*keys));
	for (uint32_t place = 0; place < choice->count; place++) {
		uint32_t node = node_of_version(c->b, choice->order[place]);

		keys[place] = node == GRAPH_NONE ? 0 : c->positions->key[place_of_commit(node)];
	}
	return keys;
}

static void forget_keys(struct chooser *c)
{
	mem_free(c->keys);
	c->keys = NULL;
	arena_release(&c->key_arena);
	c->key_arena = ARENA_INIT;
}

/* The reader's own version is no part of its view. */
static uint64_t view_key(const struct chooser *c, const struct history_op *op, uint32_t node)
{
	uint64_t view = c->positions->key[view_of(c, op)], own = c->positions->key[place_of_commit(node)];

	return own < view ? own : view;
}

/* The version that was current at the view.  Commits of later versions stand later (constrain_by_orders). */
static uint32_t current_place(struct chooser *c, const struct choice *choice)
{
	const uint64_t *keys = keys_of(c, choice);
	uint64_t view = view_key(c, choice->op, choice->node);
	uint32_t low = 0, high = choice->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (keys[middle] < view)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The possible place next to `place`, passing by the nearest `skip` of them; HISTORY_NONE: there is none. */
static uint32_t nearest_possible(struct chooser *c, const struct choice *choice, uint32_t place, uint32_t skip)
{
	for (uint32_t step = 0; step < choice->count; step++) {
		if (step <= place && is_possible(c, choice, place - step) && skip-- == 0)
			return place - step;
		if (step && place + step < choice->count && is_possible(c, choice, place + step) &&
			skip-- == 0)
			return place + step;
	}
	return HISTORY_NONE;
}

/* A dirty read sees what was written, committed or not (manual, "READ UNCOMMITTED"): was the next version written before
 * it began? */
static bool is_within_dirty(const struct chooser *c, const struct choice *choice, uint32_t place)
{
	const struct history *h = c->history;
	uint32_t next = place + 1 < choice->count ? h->versions[choice->order[place + 1]].stmt : HISTORY_NONE;

	return next == HISTORY_NONE || !has_view(choice->op) || h->versions[choice->order[place + 1]].txn == choice->op->txn ||
	       h->stmts[next].end_seq >= h->stmts[choice->op->stmt].begin_seq;
}

/* When the version was there, against the interval of the view. */
enum timing { TIMING_BEFORE, TIMING_WITHIN, TIMING_AFTER };

static enum timing timing_of(const struct chooser *c, const struct choice *choice, uint32_t place)
{
	uint32_t view = view_of(c, choice->op);
	bool locking = !sees_one_state(choice->op) && has_view(choice->op);
	const struct history_stmt *stmt = locking ? &c->history->stmts[choice->op->stmt] : NULL;
	uint32_t begin = locking ? stmt->begin_seq : positions_begin(c->positions, view);
	uint32_t end = locking ? stmt->end_seq : positions_end(c->positions, view);
	uint32_t writer = node_of_version(c->b, choice->order[place]), next;

	if (choice->op->read_kind == PROBE_READ_DIRTY)
		return !is_seeable(c, choice, place)	       ? TIMING_AFTER
		       : is_within_dirty(c, choice, place) ? TIMING_WITHIN
							   : TIMING_BEFORE;
	if (writer != GRAPH_NONE && writer != choice->node && c->positions->commit_begin[writer] > end)
		return TIMING_AFTER;
	next = place + 1 < choice->count ? node_of_version(c->b, choice->order[place + 1]) : GRAPH_NONE;
	return next == GRAPH_NONE || next == choice->node || c->positions->commit_end[next] >= begin ? TIMING_WITHIN
												      : TIMING_BEFORE;
}

static bool is_within(const struct chooser *c, const struct choice *choice, uint32_t place)
{
	return timing_of(c, choice, place) == TIMING_WITHIN;
}

/* A transaction of unknown outcome wrote a version that the answer allows as well: it committed, perhaps. */
static bool may_be_of_unknown(struct chooser *c, const struct choice *choice)
{
	const struct history *h = c->history;
	const struct history_object *o = &h->objects[choice->object];

	for (uint32_t i = choice->count; i < o->order_count; i++) {
		uint32_t version = choice->order[i], stmt = h->versions[version].stmt, txn = h->versions[version].txn;
		bool absent = version_is_absent(h, version);

		if (txn == HISTORY_NONE || h->txns[txn].outcome != TXN_UNKNOWN || history_committed(h, txn) ||
			h->versions[version].flags & (HISTORY_VERSION_INTERMEDIATE | HISTORY_VERSION_UNDONE))
			continue;
		if (stmt == HISTORY_NONE || !has_view(choice->op) ||
			h->stmts[stmt].begin_seq > h->stmts[choice->op->stmt].end_seq)
			continue;
		if (absent || choice->meeting->kind == MEETING_UNLISTED ||
			(choice->meeting->kind == MEETING_NOT_RETURNED && !choice->set &&
				(!choice->tests || look_test_version(c->b, &choice->look, version) != MATCH_YES)))
			return true;
	}
	return false;
}

/* What was current, where the answer allows that; or else what was there in the view's interval, the latest first.  The
 * versions of the interval are those around the current one; or next to it, where constraints that contradict the times
 * have moved commits. */
static uint32_t first_place(struct chooser *c, const struct choice *choice, uint32_t current, bool *unknown)
{
	uint32_t last = current;

	if (is_possible(c, choice, current))
		return current;
	while (last + 1 < choice->count && timing_of(c, choice, last) != TIMING_AFTER &&
		timing_of(c, choice, last + 1) != TIMING_AFTER)
		last++;
	for (uint32_t place = last + 1; place-- > 0;) {
		enum timing timing = timing_of(c, choice, place);

		if (timing == TIMING_WITHIN && is_possible(c, choice, place))
			return place;
		if (timing == TIMING_BEFORE)
			break;
	}
	if (choice->op->read_kind != PROBE_READ_DIRTY && may_be_of_unknown(c, choice)) {
		*unknown = true;
		return HISTORY_NONE;
	}
	return nearest_possible(c, choice, current, 0);
}

/* ---- edges ---- */

/* May the matches change between two versions of a row that follow each other?  Where a result holds what the rows
 * hold, every version of a row that takes part changes it. */
static bool may_change(const struct choice *choice, enum match before, enum match here)
{
	if (before == MATCH_UNKNOWN || here == MATCH_UNKNOWN || before != here)
		return true;
	return choice->meeting->kind == MEETING_UNLISTED && here == MATCH_YES;
}

static void draw(struct chooser *c, const struct choice *choice, uint32_t from, uint32_t to, enum graph_kind kind)
{
	struct explanation *e = &c->out->explanation;

	if (from == GRAPH_NONE || to == GRAPH_NONE || from == to)
		return;
	MEM_RESERVE(e->edges, e->edge_count + 1, e->edge_capacity);
	e->edges[e->edge_count++] = (struct chosen_edge){
		from, to, (uint32_t)(choice->meeting - e->meetings), (uint8_t)kind};
}

/* The run of versions around `place` among which the matches do not change: from *first to before *end. */
static void find_run(struct chooser *c, const struct choice *choice, uint32_t place, uint32_t *first, uint32_t *end)
{
	enum match here;

	if (choice->tests && choice->meeting->kind == MEETING_NOT_RETURNED && choice->look.seen == HISTORY_NONE &&
		!c->b->is_multi_table && c->b->tests_left > choice->count) {
		look_run(c->b, &choice->look, place, first, end);
		return;
	}
	here = test_place(c, choice, place);
	*first = place;
	while (*first > 0 && !may_change(choice, test_place(c, choice, *first - 1), here))
		--*first;
	*end = place + 1;
	while (*end < choice->count && !may_change(choice, here, test_place(c, choice, *end)))
		++*end;
}

/* As add_from_version() in predicate_dependencies.c, but where a match is not known, it is taken to change:
 * an edge more than there is can only make a level harder to satisfy. */
static void draw_edges(struct chooser *c, const struct choice *choice, uint32_t place)
{
	bool item = choice->meeting->kind == MEETING_NO_ROW;
	uint32_t first = place, end = place + 1;

	if (!item)
		find_run(c, choice, place, &first, &end);
	if (first > 0)
		draw(c, choice, node_of_version(c->b, choice->order[first]), choice->node,
			item ? GRAPH_WR : GRAPH_PREDICATE_WR);
	if (end < choice->count)
		draw(c, choice, choice->node, node_of_version(c->b, choice->order[end]),
			item ? GRAPH_RW : GRAPH_PREDICATE_RW);
}

/* ---- all meetings ---- */

static void use_predicate(struct chooser *c, const struct meeting *m)
{
	if (m->kind == MEETING_NO_ROW || m->op == c->op)
		return;
	c->op = m->op;
	c->tests = choose_predicate(c->b, m->op);
}

static void find_written(struct chooser *c)
{
	const struct history *h = c->history;
	uint32_t count = 0;

	c->written_head = mem_zero((size_t)h->table_count + 1, sizeof(*c->written_head));
	c->written = mem_realloc(NULL, h->object_count, sizeof(*c->written));
	for (uint32_t t = 0; t < h->table_count; t++) {
		c->written_head[t] = count;
		for (uint32_t i = c->b->objects_head[t]; i < c->b->objects_head[t + 1]; i++) {
			const struct history_object *o = &h->objects[c->b->objects_of[i]];
			bool written = false;

			for (uint32_t k = 0; k < o->installed_count && !written; k++)
				written = node_of_version(c->b, h->order[o->first_order + k]) != GRAPH_NONE;
			if (written)
				c->written[count++] = c->b->objects_of[i];
		}
	}
	c->written_head[h->table_count] = count;
}

static void mark(bool **marks, const struct history *h, uint32_t stmt)
{
	if (!*marks)
		*marks = mem_zero(h->stmt_count, sizeof(**marks));
	if (stmt != HISTORY_NONE)
		(*marks)[stmt] = true;
}

/* The rows that took part are not known at all: any row of the table may have. */
static void draw_table(struct chooser *c, const struct meeting *m)
{
	const struct history_op *op = &c->history->ops[m->op];
	uint32_t table = c->history->predicates[op->predicate].table;

	if (!c->written)
		find_written(c);
	for (uint32_t i = c->written_head[table]; i < c->written_head[table + 1]; i++) {
		struct choice choice;

		if (c->b->tests_left == 0) {
			count_undecided(c->b, UNDECIDED_BUDGET, op->stmt);
			return;
		}
		c->b->tests_left--;
		choice = choice_of(c, m, c->written[i]);
		if (choice.count)
			draw_edges(c, &choice, current_place(c, &choice));
	}
}

/* A meeting with one row. */
static void draw_choice(struct chooser *c, const struct choice *choice)
{
	const struct meeting *m = choice->meeting;

	if (m->place == HISTORY_NONE)
		return;
	if (m->kind == MEETING_NOT_RETURNED && test_place(c, choice, m->place) == MATCH_UNKNOWN)
		mark(&c->out->explanation.unverified, c->history, choice->op->stmt);
	draw_edges(c, choice, m->place);
}

/* ---- what constraints moved ---- */

/* A commit moved over this span of time, as a version of this object sees it. */
struct moved_version {
	uint32_t object;
	uint64_t from, to; /* keys */
};

struct moved {
	bool *nodes; /* a commit or a view of it moved */
	struct moved_version *versions; /* by object */
	size_t version_count, version_capacity;
	uint32_t *first, *spans; /* by object: its first one + 1, or 0; how many there are */
};

static int by_object_and_time(const void *a, const void *b)
{
	const struct moved_version *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* Spans of one object that touch each other become one, so that those left end in the order in which they begin. */
static void join_spans(struct moved *moved)
{
	size_t kept = 0;

	for (size_t i = 0; i < moved->version_count; i++) {
		struct moved_version *last = kept ? &moved->versions[kept - 1] : NULL;
		const struct moved_version *at = &moved->versions[i];

		if (last && last->object == at->object && at->from <= last->to)
			last->to = at->to > last->to ? at->to : last->to;
		else
			moved->versions[kept++] = *at;
	}
	moved->version_count = kept;
}

static void add_moved_versions(const struct chooser *c, struct moved *moved, const struct place_moved *at)
{
	const struct history *h = c->history;
	const struct history_txn *t = &h->txns[c->out->txn_of[at->place]];
	uint64_t now = c->positions->key[at->place];

	for (uint32_t i = t->first_op; i < t->first_op + t->op_count; i++) {
		if (h->ops[i].kind != HISTORY_WRITE)
			continue;
		MEM_RESERVE(moved->versions, moved->version_count + 1, moved->version_capacity);
		moved->versions[moved->version_count++] = (struct moved_version){h->ops[i].object,
			now < at->before ? now : at->before, now < at->before ? at->before : now};
	}
}

static struct moved moved_of(const struct chooser *c)
{
	const struct positions *p = c->positions;
	struct moved moved = {.nodes = mem_zero(p->txn_count, sizeof(*moved.nodes)),
		.first = mem_zero(c->history->object_count, sizeof(*moved.first)),
		.spans = mem_zero(c->history->object_count, sizeof(*moved.spans))};

	for (size_t i = 0; i < p->moved_count; i++) {
		uint32_t node = node_of_place(c, p->moved[i].place);

		if (node != GRAPH_NONE)
			moved.nodes[node] = true;
		if (p->moved[i].place < p->txn_count)
			add_moved_versions(c, &moved, &p->moved[i]);
	}
	if (moved.version_count)
		qsort(moved.versions, moved.version_count, sizeof(*moved.versions), by_object_and_time);
	join_spans(&moved);
	for (size_t i = moved.version_count; i-- > 0;) {
		moved.first[moved.versions[i].object] = (uint32_t)i + 1;
		moved.spans[moved.versions[i].object]++;
	}
	return moved;
}

static void moved_release(struct moved *moved)
{
	mem_free(moved->nodes);
	mem_free(moved->versions);
	mem_free(moved->first);
	mem_free(moved->spans);
}

/* May another version be current at the view of a meeting than before? */
static bool is_concerned(const struct chooser *c, const struct moved *moved, const struct meeting *m)
{
	const struct history_op *op = &c->history->ops[m->op];
	uint32_t node = c->out->node_of[op->txn], first = moved->first[m->object], end, at;
	uint64_t view;

	if (moved->nodes[node])
		return true;
	if (!first)
		return false;
	view = view_key(c, op, node);
	end = first - 1 + moved->spans[m->object];
	at = FIRST_WHERE(i, first - 1, end, moved->versions[i].to >= view);
	return at < end && moved->versions[at].from <= view;
}

/* What a choice that differs from what was current says of positions.  A version that the read cannot have met within
 * its interval says nothing of a commit: it would only be moved to where it was not, and others with it. */
static void constrain_by_choice(struct chooser *c, const struct choice *choice)
{
	const struct meeting *m = choice->meeting;
	enum timing timing = timing_of(c, choice, m->place);
	uint32_t view = view_of(c, choice->op), node;

	if (timing == TIMING_AFTER || (timing == TIMING_BEFORE && !sees_one_state(choice->op)))
		return;
	node = node_of_version(c->b, choice->order[m->place]);
	if (node != GRAPH_NONE && node != choice->node)
		positions_seen(c->positions, node, view);
	node = m->place + 1 < choice->count ? node_of_version(c->b, choice->order[m->place + 1]) : GRAPH_NONE;
	if (node != GRAPH_NONE && node != choice->node)
		positions_missed(c->positions, node, view);
}

static void choose_place(struct chooser *c, struct meeting *m)
{
	struct choice choice;
	uint32_t current;

	use_predicate(c, m);
	choice = choice_of(c, m, m->object);
	current = current_place(c, &choice);
	if (!m->pinned) {
		m->of_unknown = false;
		m->place = first_place(c, &choice, current, &m->of_unknown);
	}
	if (!m->tried)
		m->first = m->place;
	m->current = m->place == current;
	if (m->place != HISTORY_NONE && !m->current && m->kind != MEETING_RETURNED &&
		has_position(&c->history->txns[choice.op->txn], choice.op->read_kind))
		constrain_by_choice(c, &choice);
}

/* Chooses places by the positions.  Where the version that was current is not possible, the nearest that is
 * becomes a constraint on positions.  `moved`: what the last constraints moved; only what that concerns is chosen
 * again.  True: there are new constraints. */
static bool choose_places(struct chooser *c, const struct moved *moved)
{
	struct explanation *e = &c->out->explanation;
	size_t before = c->positions->count;

	for (size_t i = 0; i < e->meeting_count && !c->out->stopped; i++) {
		struct meeting *m = &e->meetings[i];

		if (i % ASKED_EVERY == 0)
			go_on(c->b, "choosing versions", i, e->meeting_count);
		if (m->object != HISTORY_NONE && (!moved || is_concerned(c, moved, m)))
			choose_place(c, m);
	}
	return c->positions->count > before;
}

/* Was the chosen version in the view, and is the view within its interval? */
static bool is_steady(struct chooser *c, const struct choice *choice)
{
	if (!has_view(choice->op))
		return false;
	if (!sees_one_state(choice->op))
		return is_within(c, choice, choice->meeting->place);
	return choice->meeting->current && !positions_contradict(c->positions, view_of(c, choice->op));
}

/* How the choice of a meeting fits the positions that all choices led to. */
static void note_misfit(struct chooser *c, const struct choice *choice)
{
	struct explanation *e = &c->out->explanation;
	const struct meeting *m = choice->meeting;
	const struct history_op *op = choice->op;

	if (m->place != HISTORY_NONE) {
		if (m->kind != MEETING_RETURNED && !is_steady(c, choice)) {
			e->meetings[m - e->meetings].unsteady = true;
			mark(&e->unsteady, c->history, op->stmt);
		}
	} else if (m->of_unknown) {
		mark(&e->unknown_in, c->history, op->stmt);
	} else if (op->read_kind != PROBE_READ_DIRTY) {
		mark(&e->impossible_in, c->history, op->stmt);
	} else {
		/* A row that a predicate did not match is no G1a, whichever transaction wrote it. */
		e->is_dirty |= m->kind == MEETING_NO_ROW;
	}
}

/* `settled`: positions follow the choices. */
static void draw_meeting(struct chooser *c, const struct meeting *m, bool settled)
{
	struct choice choice;

	use_predicate(c, m);
	if (m->kind == MEETING_UNLISTED)
		mark(&c->out->explanation.unverified, c->history, c->history->ops[m->op].stmt);
	if (m->object == HISTORY_NONE) {
		draw_table(c, m);
		return;
	}
	choice = choice_of(c, m, m->object);
	if (settled)
		note_misfit(c, &choice);
	draw_choice(c, &choice);
}

static void chooser_init(struct chooser *c, struct dependencies *d)
{
	*c = (struct chooser){.out = d,
		.b = d->builder,
		.history = d->builder->history,
		.positions = d->explanation.positions,
		.op = HISTORY_NONE,
		.key_arena = ARENA_INIT};
}

static void chooser_release(struct chooser *c)
{
	forget_keys(c);
	mem_free(c->written);
	mem_free(c->written_head);
}

/* Makes all choices but those that are pinned, and draws the edges of all. */
static void choose_all(struct chooser *c)
{
	struct dependencies *d = c->out;

	for (int round = 0; round < SETTLE_ROUNDS; round++) {
		struct moved moved;
		bool more;

		positions_settle(c->positions);
		forget_keys(c);
		moved = moved_of(c);
		more = choose_places(c, round ? &moved : NULL);
		moved_release(&moved);
		if (!more)
			break;
	}
	for (size_t i = 0; i < d->explanation.meeting_count && !d->stopped; i++) {
		if (i % ASKED_EVERY == 0)
			go_on(c->b, "drawing choices", i, d->explanation.meeting_count);
		draw_meeting(c, &d->explanation.meetings[i], true);
	}
	positions_forget(c->positions);
	forget_keys(c);
}

void explanation_choose(struct dependencies *d)
{
	struct chooser c;

	d->explanation.positions = mem_zero(1, sizeof(*d->explanation.positions));
	chooser_init(&c, d);
	positions_init(c.positions, c.history, d->txn_of, c.b->graph.txn_count);
	constrain_by_orders(&c);
	constrain_by_reads(&c);
	constrain_by_predicates(&c);
	d->explanation.certain_count = c.positions->count;
	choose_all(&c);
	chooser_release(&c);
}

bool explanation_give_up(struct dependencies *d, uint32_t edge)
{
	struct meeting *m = &d->explanation.meetings[d->explanation.edges[edge].meeting];
	struct chooser c;
	struct choice choice;
	uint32_t place;

	if (m->changed)
		return true;
	if (m->object == HISTORY_NONE || m->kind == MEETING_RETURNED || m->tried == TRIED_MAX)
		return false;
	chooser_init(&c, d);
	use_predicate(&c, m);
	choice = choice_of(&c, m, m->object);
	place = nearest_possible(&c, &choice, m->first, m->tried + 1u);
	if (place == HISTORY_NONE)
		return false;
	m->place = place;
	m->tried++;
	m->changed = true;
	return true;
}

void explanation_redraw(struct dependencies *d)
{
	struct explanation *e = &d->explanation;
	struct chooser c;
	size_t kept = 0;

	chooser_init(&c, d);
	for (size_t i = 0; i < e->edge_count; i++) {
		if (!e->meetings[e->edges[i].meeting].changed)
			e->edges[kept++] = e->edges[i];
	}
	e->edge_count = kept;
	for (size_t i = 0; i < e->meeting_count; i++) {
		if (!e->meetings[i].changed)
			continue;
		e->meetings[i].changed = false;
		draw_meeting(&c, &e->meetings[i], false);
	}
}

bool explanation_pin(struct dependencies *d, size_t meeting)
{
	struct meeting *m = &d->explanation.meetings[meeting];
	struct chooser c;
	struct choice choice;
	uint32_t place = HISTORY_NONE;

	if (m->object == HISTORY_NONE || m->kind == MEETING_RETURNED || m->first == HISTORY_NONE || m->tried >= TRIED_MAX) {
		m->tried = UINT8_MAX; /* no more */
		return m->pinned = false;
	}
	chooser_init(&c, d);
	use_predicate(&c, m);
	choice = choice_of(&c, m, m->object);
	place = nearest_possible(&c, &choice, m->first, m->tried + 1u);
	m->tried = place == HISTORY_NONE ? UINT8_MAX : (uint8_t)(m->tried + 1);
	m->pinned = place != HISTORY_NONE;
	if (m->pinned)
		m->place = place;
	chooser_release(&c);
	return m->pinned;
}

void explanation_choose_again(struct dependencies *d)
{
	struct explanation *e = &d->explanation;
	struct chooser c;

	mem_free(e->unverified);
	mem_free(e->unsteady);
	mem_free(e->impossible_in);
	mem_free(e->unknown_in);
	e->unverified = e->unsteady = e->impossible_in = e->unknown_in = NULL;
	e->is_dirty = false;
	e->edge_count = 0;
	e->positions->count = e->certain_count;
	for (size_t i = 0; i < e->meeting_count; i++)
		e->meetings[i].changed = e->meetings[i].unsteady = false;
	chooser_init(&c, d);
	choose_all(&c);
	chooser_release(&c);
}

void explanation_unpin(struct dependencies *d)
{
	for (size_t i = 0; i < d->explanation.meeting_count; i++) {
		d->explanation.meetings[i].pinned = false;
		d->explanation.meetings[i].tried = 0;
	}
}

/* Does the edge follow from the order in real time, as add_realtime_edges() draws it?  Nodes beyond the transactions are that
 * order itself. */
static bool follows_from_time(const struct dependencies *d, uint32_t from, uint32_t to)
{
	const struct history_txn *a, *b;

	if (!d->timed || from >= d->graph.txn_count || to >= d->graph.txn_count)
		return false;
	a = &d->timed->txns[d->txn_of[from]];
	b = &d->timed->txns[d->txn_of[to]];
	return a->outcome == TXN_COMMITTED && a->end_seq < b->begin_seq;
}

void explanation_graph(const struct dependencies *d, struct graph *out)
{
	const struct graph *g = &d->graph;
	struct graph_builder builder;

	graph_builder_init(&builder, g->txn_count);
	builder.node_count = g->node_count;
	for (uint32_t v = 0; v < g->node_count; v++) {
		for (uint32_t e = g->head[v]; e < g->head[v + 1]; e++) {
			if (g->kind[e] == GRAPH_SESSION || !follows_from_time(d, v, g->to[e]))
				graph_builder_add(&builder, v, g->to[e], (enum graph_kind)g->kind[e], g->detail[e]);
		}
	}
	for (size_t i = 0; i < d->explanation.edge_count; i++) {
		const struct chosen_edge *edge = &d->explanation.edges[i];

		if (!follows_from_time(d, edge->from, edge->to))
			graph_builder_add(&builder, edge->from, edge->to, (enum graph_kind)edge->kind,
				EXPLANATION_CHOSEN | (uint32_t)i);
	}
	graph_build(out, &builder);
}
