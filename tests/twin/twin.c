/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "twin/twin.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"

/* ---- building ---- */

#define TWIN_APPEND(array, count, capacity, item)                                                  \
	do {                                                                                       \
		MEM_RESERVE(array, (count) + 1, capacity);                                         \
		(array)[(count)++] = (item);                                                       \
	} while (0)

uint32_t twin_add_txn(struct twin_history *h, const struct twin_txn *txn)
{
	TWIN_APPEND(h->txns, h->txn_count, h->txn_capacity, *txn);
	return (uint32_t)h->txn_count - 1;
}

uint32_t twin_add_version(struct twin_history *h, const struct twin_version *version)
{
	TWIN_APPEND(h->versions, h->version_count, h->version_capacity, *version);
	return (uint32_t)h->version_count - 1;
}

uint32_t twin_add_object(struct twin_history *h, uint32_t table, int64_t key)
{
	uint32_t object = (uint32_t)h->object_count;
	uint32_t unborn = twin_add_version(h,
		&(struct twin_version){
			.object = object, .txn = TWIN_NONE, .previous = TWIN_NONE, .unborn = true});
	struct twin_object item = {
		.table = table, .key = key, .unborn = unborn, .final = TWIN_NONE};

	TWIN_APPEND(h->objects, h->object_count, h->object_capacity, item);
	return object;
}

uint32_t twin_add_op(struct twin_history *h, const struct twin_op *op)
{
	TWIN_APPEND(h->ops, h->op_count, h->op_capacity, *op);
	return (uint32_t)h->op_count - 1;
}

uint32_t twin_add_predicate(struct twin_history *h, const struct twin_predicate *predicate)
{
	TWIN_APPEND(h->predicates, h->predicate_count, h->predicate_capacity, *predicate);
	return (uint32_t)h->predicate_count - 1;
}

void twin_add_to_set(struct twin_history *h, uint32_t version)
{
	TWIN_APPEND(h->set, h->set_count, h->set_capacity, version);
}

void twin_history_clear(struct twin_history *h)
{
	h->txn_count = h->object_count = h->version_count = h->op_count = 0;
	h->predicate_count = h->set_count = 0;
}

void twin_history_release(struct twin_history *h)
{
	free(h->txns);
	free(h->objects);
	free(h->versions);
	free(h->ops);
	free(h->predicates);
	free(h->set);
	*h = TWIN_HISTORY_INIT;
}

/* ---- what the definitions speak of ---- */

struct twin {
	const struct twin_history *h;
	struct twin_result *r;
	bool *installed; /* by version: the last of a committed transaction, initial, or unborn */
	uint32_t *next;  /* by version: the next installed one, where the order is known */
	bool *ordered;   /* by object */
	uint32_t *order; /* scratch: one object's versions in order */
	size_t order_count;
};

static const struct twin_version *version_of(const struct twin *t, uint32_t v)
{
	return &t->h->versions[v];
}

static void add_finding(struct twin *t, struct twin_finding finding)
{
	TWIN_APPEND(t->r->findings, t->r->finding_count, t->r->finding_capacity, finding);
}

/* A phenomenon that is no cycle: `a` saw it, `b` (or NONE) is the other transaction. */
static void report(struct twin *t, enum twin_class class, uint32_t a, uint32_t b, uint32_t version)
{
	struct twin_finding finding = {.class = class, .version = version};

	t->r->exists[class][TWIN_PLAIN] = true;
	if (a != TWIN_NONE)
		finding.txns[finding.txn_count++] = a;
	if (b != TWIN_NONE && b != a)
		finding.txns[finding.txn_count++] = b;
	for (size_t i = 0; i < t->r->finding_count; i++) {
		const struct twin_finding *f = &t->r->findings[i];

		if (f->class == class && f->version == version &&
			f->txn_count == finding.txn_count &&
			memcmp(f->txns, finding.txns, sizeof(f->txns[0]) * f->txn_count) == 0)
			return;
	}
	add_finding(t, finding);
}

/* What a predicate read saw of an object. */
static uint32_t seen(const struct twin *t, const struct twin_predicate *p, uint32_t object)
{
	for (uint32_t i = p->first; i < p->first + p->count; i++)
		if (version_of(t, t->h->set[i])->object == object)
			return t->h->set[i];
	return t->h->objects[object].unborn;
}

static bool satisfies(const struct twin *t, const struct twin_predicate *p, uint32_t version)
{
	const struct twin_version *v = version_of(t, version);
	int64_t tested = p->by_key ? t->h->objects[v->object].key : v->value;

	return v->exists && tested >= p->low && tested <= p->high;
}

static void mark_seen(const struct twin *t, bool *proven, uint32_t reader, uint32_t version)
{
	uint32_t writer = version_of(t, version)->txn;

	if (writer != TWIN_NONE && writer != reader)
		proven[writer] = true;
}

static void find_committed(struct twin *t)
{
	const struct twin_history *h = t->h;
	bool proven[TWIN_TXN_MAX] = {false};

	for (size_t i = 0; i < h->op_count; i++) {
		const struct twin_op *op = &h->ops[i];

		if (op->kind == TWIN_WRITE) {
			if (version_of(t, op->version)->previous != TWIN_NONE)
				mark_seen(t, proven, op->txn, version_of(t, op->version)->previous);
		} else if (op->read_kind == PROBE_READ_DIRTY) {
			continue;
		} else if (op->kind == TWIN_READ) {
			mark_seen(t, proven, op->txn, op->version);
		} else {
			const struct twin_predicate *p = &h->predicates[op->predicate];

			for (uint32_t k = p->first; k < p->first + p->count; k++)
				mark_seen(t, proven, op->txn, h->set[k]);
		}
	}
	for (size_t i = 0; i < h->object_count; i++)
		if (h->objects[i].final != TWIN_NONE)
			mark_seen(t, proven, TWIN_NONE, h->objects[i].final);
	for (size_t i = 0; i < h->txn_count; i++)
		t->r->committed[i] = h->txns[i].outcome == TXN_COMMITTED ||
				     (h->txns[i].outcome == TXN_UNKNOWN && proven[i]);
}

static void find_installed(struct twin *t)
{
	const struct twin_history *h = t->h;

	for (size_t i = 0; i < h->version_count; i++)
		t->installed[i] = h->versions[i].unborn || h->versions[i].initial;
	for (size_t i = 0; i < h->op_count; i++) {
		const struct twin_op *op = &h->ops[i];
		uint32_t object;

		if (op->kind != TWIN_WRITE || !t->r->committed[op->txn] ||
			version_of(t, op->version)->undone_seq)
			continue;
		/* The last of its transaction on this object so far. */
		object = version_of(t, op->version)->object;
		for (size_t v = 0; v < h->version_count; v++)
			if (h->versions[v].object == object && h->versions[v].txn == op->txn)
				t->installed[v] = false;
		t->installed[op->version] = true;
	}
}

/* The installed version that v overwrote, past its own transaction's earlier ones; NONE: it
 * overwrote something that was never installed. */
static uint32_t predecessor(const struct twin *t, uint32_t v)
{
	uint32_t writer = version_of(t, v)->txn, p = version_of(t, v)->previous;

	while (p != TWIN_NONE && !t->installed[p] && version_of(t, p)->txn == writer &&
		writer != TWIN_NONE)
		p = version_of(t, p)->previous;
	return p != TWIN_NONE && t->installed[p] ? p : TWIN_NONE;
}

static void order_object(struct twin *t, uint32_t object)
{
	const struct twin_history *h = t->h;
	size_t count = 0, installed = 0;
	uint32_t at = h->objects[object].unborn;

	for (size_t v = 0; v < h->version_count; v++)
		if (h->versions[v].object == object && t->installed[v])
			installed++;
	t->order[count++] = at;
	for (;;) {
		uint32_t found = TWIN_NONE;

		for (uint32_t v = 0; v < h->version_count; v++) {
			if (h->versions[v].object != object || !t->installed[v] ||
				predecessor(t, v) != at)
				continue;
			if (found != TWIN_NONE) {
				/* Two overwrote the same one: a fork. */
				report(t, TWIN_LOST_VERSION, h->versions[found].txn,
					h->versions[v].txn, at);
				return;
			}
			found = v;
		}
		if (found == TWIN_NONE)
			break;
		t->order[count++] = at = found;
	}
	if (count < installed) {
		for (uint32_t v = 0; v < h->version_count; v++)
			if (h->versions[v].object == object && t->installed[v] &&
				!h->versions[v].unborn && predecessor(t, v) == TWIN_NONE)
				report(t, TWIN_LOST_VERSION, h->versions[v].txn, TWIN_NONE, v);
		return;
	}
	t->ordered[object] = true;
	for (size_t i = 0; i < count; i++) {
		t->r->position[t->order[i]] = (uint32_t)i;
		t->next[t->order[i]] = i + 1 < count ? t->order[i + 1] : TWIN_NONE;
	}
	if (h->objects[object].final != TWIN_NONE && h->objects[object].final != at)
		report(t, TWIN_LOST_VERSION, h->versions[at].txn, TWIN_NONE, at);
}

/* ---- edges, G1a, G1b ---- */

static void add_edge(struct twin *t, uint32_t from, uint32_t to, enum twin_edge kind)
{
	if (from == TWIN_NONE || to == TWIN_NONE || from == to || !t->r->committed[from] ||
		!t->r->committed[to])
		return;
	t->r->edge[from][to] |= (uint8_t)kind;
}

/* Reading a version that is not installed: G1a, G1b, or nothing one could say. */
static void read_uninstalled(struct twin *t, uint32_t reader, uint32_t version)
{
	const struct twin_version *v = version_of(t, version);

	if (v->txn == TWIN_NONE || v->txn == reader)
		return;
	if (t->h->txns[v->txn].outcome == TXN_ABORTED || (t->r->committed[v->txn] && v->undone_seq))
		report(t, TWIN_G1A, reader, v->txn, version);
	else if (t->r->committed[v->txn])
		report(t, TWIN_G1B, reader, v->txn, version);
}

static void item_read(struct twin *t, uint32_t reader, uint32_t version)
{
	uint32_t next;

	if (!t->installed[version]) {
		read_uninstalled(t, reader, version);
		return;
	}
	add_edge(t, version_of(t, version)->txn, reader, TWIN_EDGE_WR);
	next = t->next[version];
	if (next != TWIN_NONE)
		add_edge(t, reader, version_of(t, next)->txn, TWIN_EDGE_RW);
}

/* Exactly one of the version and its predecessor satisfies P. */
static bool changes_matches(
	const struct twin *t, const struct twin_predicate *p, uint32_t version, uint32_t before)
{
	return satisfies(t, p, version) != satisfies(t, p, before);
}

static void predicate_read_of(
	struct twin *t, uint32_t reader, const struct twin_predicate *p, uint32_t object)
{
	uint32_t v = seen(t, p, object);

	if (!t->installed[v]) {
		if (satisfies(t, p, v))
			read_uninstalled(t, reader, v);
		return;
	}
	if (!t->ordered[object])
		return;
	/* The latest at or before v that changes the matches. */
	for (uint32_t i = v; !version_of(t, i)->unborn; i = predecessor(t, i)) {
		if (changes_matches(t, p, i, predecessor(t, i))) {
			add_edge(t, version_of(t, i)->txn, reader, TWIN_EDGE_PRED_WR);
			break;
		}
	}
	/* The first after v that does. */
	for (uint32_t before = v, i = t->next[v]; i != TWIN_NONE; before = i, i = t->next[i]) {
		if (changes_matches(t, p, i, before)) {
			add_edge(t, reader, version_of(t, i)->txn, TWIN_EDGE_PRED_RW);
			break;
		}
	}
}

static void find_edges(struct twin *t)
{
	const struct twin_history *h = t->h;

	for (uint32_t v = 0; v < h->version_count; v++)
		if (t->next[v] != TWIN_NONE)
			add_edge(t, h->versions[v].txn, h->versions[t->next[v]].txn, TWIN_EDGE_WW);
	for (size_t i = 0; i < h->op_count; i++) {
		const struct twin_op *op = &h->ops[i];

		if (!t->r->committed[op->txn] || op->kind == TWIN_WRITE)
			continue;
		if (op->kind == TWIN_READ) {
			item_read(t, op->txn, op->version);
			continue;
		}
		for (uint32_t object = 0; object < h->object_count; object++)
			if (h->objects[object].table == h->predicates[op->predicate].table)
				predicate_read_of(
					t, op->txn, &h->predicates[op->predicate], object);
	}
	for (uint32_t a = 0; a < h->txn_count; a++) {
		for (uint32_t b = 0; b < h->txn_count; b++) {
			if (h->txns[a].end_seq >= h->txns[b].begin_seq)
				continue;
			add_edge(t, a, b, TWIN_EDGE_REALTIME);
			if (h->txns[a].session == h->txns[b].session)
				add_edge(t, a, b, TWIN_EDGE_SESSION);
		}
	}
}

/* ---- cycles ---- */

/* What the edges chosen so far amount to: a small number, so that a set of them is a bitmap. */
struct walk {
	bool wr;       /* some wr */
	unsigned rw;   /* 0, 1, 2 or more */
	bool adjacent; /* two rw follow each other */
	bool pred;     /* some rw is a predicate edge */
	bool first_rw, last_rw;
	unsigned strength;
};
enum { WALK_STATES = 2 * 3 * 2 * 2 * 2 * 2 * 3 };

static unsigned walk_code(struct walk w)
{
	unsigned code = w.strength;

	code = code * 3 + w.rw;
	code = code * 2 + w.wr;
	code = code * 2 + w.adjacent;
	code = code * 2 + w.pred;
	code = code * 2 + w.first_rw;
	return code * 2 + w.last_rw;
}

static struct walk walk_decode(unsigned code)
{
	struct walk w;

	w.last_rw = code & 1;
	w.first_rw = code >> 1 & 1;
	w.pred = code >> 2 & 1;
	w.adjacent = code >> 3 & 1;
	w.wr = code >> 4 & 1;
	w.rw = (code >> 5) % 3;
	w.strength = (code >> 5) / 3;
	return w;
}

static struct walk walk_on(struct walk w, enum twin_edge kind, bool first)
{
	bool rw = kind == TWIN_EDGE_RW || kind == TWIN_EDGE_PRED_RW;

	if (kind == TWIN_EDGE_WR || kind == TWIN_EDGE_PRED_WR)
		w.wr = true;
	if (rw) {
		w.rw += w.rw < 2;
		w.adjacent |= !first && w.last_rw;
		w.pred |= kind == TWIN_EDGE_PRED_RW;
	}
	if (first)
		w.first_rw = rw;
	w.last_rw = rw;
	if (kind == TWIN_EDGE_SESSION && w.strength < TWIN_SESSION)
		w.strength = TWIN_SESSION;
	if (kind == TWIN_EDGE_REALTIME)
		w.strength = TWIN_REALTIME;
	return w;
}

static enum twin_class walk_class(struct walk w)
{
	if (w.rw == 0)
		return w.wr ? TWIN_G1C : TWIN_G0;
	if (w.rw == 1)
		return TWIN_G_SINGLE;
	if (!w.adjacent && !(w.first_rw && w.last_rw))
		return TWIN_G_NONADJACENT;
	return w.pred ? TWIN_G2 : TWIN_G2_ITEM;
}

/* Every class that the cycle has by some choice of an edge for each hop. */
static void cycle_classes(const struct twin *t, const uint32_t *path, size_t length,
	bool classes[TWIN_CYCLE_CLASSES][TWIN_STRENGTHS])
{
	bool states[WALK_STATES] = {false}, after[WALK_STATES];

	states[walk_code((struct walk){0})] = true;
	for (size_t i = 0; i < length; i++) {
		uint8_t kinds = t->r->edge[path[i]][path[(i + 1) % length]];

		memset(after, 0, sizeof(after));
		for (unsigned code = 0; code < WALK_STATES; code++)
			for (unsigned kind = 1; states[code] && kind <= TWIN_EDGE_REALTIME;
				kind <<= 1)
				if (kinds & kind)
					after[walk_code(walk_on(walk_decode(code),
						(enum twin_edge)kind, i == 0))] = true;
		memcpy(states, after, sizeof(states));
	}
	for (unsigned code = 0; code < WALK_STATES; code++)
		if (states[code])
			classes[walk_class(walk_decode(code))][walk_decode(code).strength] = true;
}

static void note_cycle(struct twin *t, enum twin_class class, enum twin_strength strength,
	const uint32_t *path, size_t length)
{
	struct twin_finding finding = {.class = class,
		.strength = strength,
		.version = TWIN_NONE,
		.txn_count = (uint32_t)length};

	for (size_t i = 0; i < length; i++) {
		finding.txns[i] = path[i];
		finding.edges[i] = t->r->edge[path[i]][path[(i + 1) % length]];
	}
	for (size_t i = 0; i < t->r->finding_count; i++) {
		struct twin_finding *f = &t->r->findings[i];

		if (f->class != class || f->strength != strength)
			continue;
		if (f->txn_count > length)
			*f = finding;
		return;
	}
	add_finding(t, finding);
}

static void take_cycle(struct twin *t, const uint32_t *path, size_t length)
{
	bool classes[TWIN_CYCLE_CLASSES][TWIN_STRENGTHS] = {{false}};

	t->r->cycles++;
	cycle_classes(t, path, length, classes);
	for (int c = 0; c < TWIN_CYCLE_CLASSES; c++) {
		for (int s = 0; s < TWIN_STRENGTHS; s++) {
			bool more_specific = false;

			if (!classes[c][s])
				continue;
			t->r->exists[c][s] = true;
			for (int c2 = 0; c2 <= c; c2++)
				for (int s2 = 0; s2 <= s; s2++)
					more_specific |= classes[c2][s2] && (c2 < c || s2 < s);
			if (!more_specific)
				note_cycle(
					t, (enum twin_class)c, (enum twin_strength)s, path, length);
		}
	}
}

enum { CYCLES_MAX = 300000, STEPS_MAX = 20 * 1000 * 1000 };

/* All simple cycles whose smallest transaction is path[0]. */
static void extend(struct twin *t, uint32_t *path, size_t length, bool *on_path)
{
	const uint8_t order = TWIN_EDGE_SESSION | TWIN_EDGE_REALTIME;
	uint32_t last = path[length - 1];
	bool by_order = length > 1 && !(t->r->edge[path[length - 2]][last] & ~order);

	t->r->cut |= ++t->r->steps >= STEPS_MAX;
	for (uint32_t n = path[0]; n < t->h->txn_count && !t->r->cut; n++) {
		uint8_t kinds = t->r->edge[last][n];

		/* Two order edges in a row are one: nothing new comes of them. */
		if (!kinds || (by_order && !(kinds & ~order)))
			continue;
		if (n == path[0]) {
			take_cycle(t, path, length);
			t->r->cut |= t->r->cycles >= CYCLES_MAX;
		} else if (!on_path[n]) {
			on_path[n] = true;
			path[length] = n;
			extend(t, path, length + 1, on_path);
			on_path[n] = false;
		}
	}
}

static void find_cycles(struct twin *t)
{
	for (uint32_t start = 0; start < t->h->txn_count; start++) {
		uint32_t path[TWIN_TXN_MAX] = {start};
		bool on_path[TWIN_TXN_MAX] = {false};

		on_path[start] = true;
		extend(t, path, 1, on_path);
	}
}

/* ---- phenomena that are no cycles ---- */

static bool installs(const struct twin *t, uint32_t txn, uint32_t object)
{
	for (uint32_t v = 0; v < t->h->version_count; v++)
		if (t->installed[v] && version_of(t, v)->txn == txn &&
			version_of(t, v)->object == object)
			return true;
	return false;
}

static bool reads_version_of(
	const struct twin *t, uint32_t reader, uint32_t writer, uint32_t object)
{
	for (size_t i = 0; i < t->h->op_count; i++) {
		const struct twin_op *op = &t->h->ops[i];

		if (op->kind == TWIN_READ && op->txn == reader &&
			version_of(t, op->version)->txn == writer &&
			version_of(t, op->version)->object == object)
			return true;
	}
	return false;
}

static void find_lost_updates(struct twin *t)
{
	const struct twin_history *h = t->h;

	for (size_t i = 0; i < h->op_count; i++) {
		const struct twin_op *a = &h->ops[i];
		uint32_t object;

		if (a->kind != TWIN_READ || !t->r->committed[a->txn] || !t->installed[a->version])
			continue;
		object = version_of(t, a->version)->object;
		for (size_t j = i + 1; j < h->op_count; j++) {
			const struct twin_op *b = &h->ops[j];

			if (b->kind != TWIN_READ || b->version != a->version || b->txn == a->txn ||
				!t->r->committed[b->txn])
				continue;
			if (version_of(t, a->version)->txn == a->txn ||
				version_of(t, a->version)->txn == b->txn)
				continue;
			if (installs(t, a->txn, object) && installs(t, b->txn, object) &&
				!reads_version_of(t, a->txn, b->txn, object) &&
				!reads_version_of(t, b->txn, a->txn, object))
				report(t, TWIN_LOST_UPDATE, a->txn, b->txn, a->version);
		}
	}
}

/* The transaction's own latest write of the object before op `until`; NONE: none stands. */
static uint32_t own_latest(const struct twin *t, uint32_t txn, uint32_t object, size_t until)
{
	uint32_t latest = TWIN_NONE;

	for (size_t i = 0; i < until; i++) {
		const struct twin_op *op = &t->h->ops[i];

		if (op->kind != TWIN_WRITE || op->txn != txn ||
			version_of(t, op->version)->object != object)
			continue;
		if (version_of(t, op->version)->undone_seq &&
			version_of(t, op->version)->undone_seq < t->h->ops[until].begin_seq)
			continue;
		latest = op->version;
	}
	return latest;
}

static void check_saw(struct twin *t, size_t i, uint32_t version)
{
	const struct twin_op *op = &t->h->ops[i];
	const struct twin_version *v = version_of(t, version);
	uint32_t own = own_latest(t, op->txn, v->object, i);

	if (v->garbage)
		report(t, TWIN_GARBAGE_READ, op->txn, TWIN_NONE, version);
	if (v->stmt_seq > op->end_seq)
		report(t, TWIN_FUTURE_READ, op->txn, v->txn, version);
	else if ((own != TWIN_NONE && own != version) || (v->txn == op->txn && own != version))
		report(t, TWIN_OWN_WRITE, op->txn, TWIN_NONE, version);
}

static void find_wrong_answers(struct twin *t)
{
	const struct twin_history *h = t->h;

	for (size_t i = 0; i < h->op_count; i++) {
		const struct twin_op *op = &h->ops[i];

		if (op->kind == TWIN_READ)
			check_saw(t, i, op->version);
		if (op->kind == TWIN_PREDICATE)
			for (uint32_t object = 0; object < h->object_count; object++)
				if (h->objects[object].table == h->predicates[op->predicate].table)
					check_saw(t, i,
						seen(t, &h->predicates[op->predicate], object));
		for (size_t j = 0; op->kind == TWIN_READ && j < i; j++) {
			const struct twin_op *other = &h->ops[j];

			if (other->kind == TWIN_READ && other->stmt == op->stmt &&
				other->version != op->version &&
				version_of(t, other->version)->object ==
					version_of(t, op->version)->object)
				report(t, TWIN_DUPLICATE_ROW, op->txn, TWIN_NONE, op->version);
		}
	}
}

/* Whether version v of its object has what txn installed there in it: 1 yes, 0 no, -1 cannot say.
 */
static int includes(const struct twin *t, uint32_t v, uint32_t txn, uint32_t reader)
{
	uint32_t object = version_of(t, v)->object;

	if (!t->ordered[object] || !t->installed[v] || version_of(t, v)->txn == reader)
		return -1;
	for (uint32_t w = 0; w < t->h->version_count; w++)
		if (t->installed[w] && version_of(t, w)->object == object &&
			version_of(t, w)->txn == txn)
			return t->r->position[w] <= t->r->position[v];
	return -1;
}

static void find_split_statements(struct twin *t)
{
	const struct twin_history *h = t->h;

	for (size_t i = 0; i < h->op_count; i++) {
		const struct twin_op *op = &h->ops[i];
		const struct twin_predicate *p;

		if (op->kind != TWIN_PREDICATE)
			continue;
		p = &h->predicates[op->predicate];
		if (!p->write)
			continue;
		for (uint32_t txn = 0; txn < h->txn_count; txn++) {
			bool before = false, after = false;

			for (uint32_t o = 0; o < h->object_count && txn != op->txn; o++) {
				int in = h->objects[o].table == p->table
						 ? includes(t, seen(t, p, o), txn, op->txn)
						 : -1;

				before |= in == 0;
				after |= in == 1;
			}
			if (before && after)
				report(t, TWIN_SPLIT_STATEMENT, op->txn, txn, TWIN_NONE);
		}
	}
}

/* A snapshot read needs its version's writer in the snapshot and the next one's out of it. */
static void need_in_snapshot(
	const struct twin *t, uint32_t reader, uint32_t version, bool *in, bool *out)
{
	uint32_t writer = version_of(t, version)->txn, next;

	if (!t->installed[version] || writer == reader)
		return;
	if (writer != TWIN_NONE)
		in[writer] = true;
	next = t->next[version];
	if (next != TWIN_NONE && version_of(t, next)->txn != reader)
		out[version_of(t, next)->txn] = true;
}

/* Whether b depends on a over ww and wr edges, however many. */
static bool depends(const struct twin *t, uint32_t a, uint32_t b)
{
	const uint8_t data = TWIN_EDGE_WW | TWIN_EDGE_WR | TWIN_EDGE_PRED_WR;
	bool reached[TWIN_TXN_MAX] = {false}, changed = true;

	reached[a] = true;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < t->h->txn_count; i++)
			for (uint32_t j = 0; j < t->h->txn_count && reached[i]; j++)
				if (!reached[j] && t->r->edge[i][j] & data)
					reached[j] = changed = true;
	}
	return reached[b];
}

/* A snapshot with w in it must have n in it. */
static bool came_first(const struct twin *t, uint32_t n, uint32_t w)
{
	return n == w || t->h->txns[n].end_seq < t->h->txns[w].commit_seq ||
	       (depends(t, n, w) && !depends(t, w, n));
}

static void find_unstable_snapshots(struct twin *t)
{
	const struct twin_history *h = t->h;

	for (uint32_t reader = 0; reader < h->txn_count; reader++) {
		bool in[TWIN_TXN_MAX] = {false}, out[TWIN_TXN_MAX] = {false};

		if (h->txns[reader].level != LEVEL_REPEATABLE_READ)
			continue;
		for (size_t i = 0; i < h->op_count; i++) {
			const struct twin_op *op = &h->ops[i];

			if (op->txn != reader || op->read_kind != PROBE_READ_SNAPSHOT)
				continue;
			if (op->kind == TWIN_READ)
				need_in_snapshot(t, reader, op->version, in, out);
			for (uint32_t o = 0; op->kind == TWIN_PREDICATE && o < h->object_count; o++)
				if (h->objects[o].table == h->predicates[op->predicate].table)
					need_in_snapshot(t, reader,
						seen(t, &h->predicates[op->predicate], o), in, out);
		}
		for (uint32_t w = 0; w < h->txn_count; w++)
			for (uint32_t n = 0; n < h->txn_count && in[w]; n++)
				if (out[n] && came_first(t, n, w))
					report(t, TWIN_UNSTABLE_SNAPSHOT, reader, n, TWIN_NONE);
	}
}

/* ---- all of it ---- */

static void check(const struct twin_history *h, struct twin_result *result, bool edges_only)
{
	struct twin t = {.h = h, .r = result};

	memset(result, 0, sizeof(*result));
	CHECK(h->txn_count <= TWIN_TXN_MAX);
	t.installed = mem_zero(h->version_count + 1, sizeof(*t.installed));
	t.next = mem_alloc((h->version_count + 1) * sizeof(*t.next));
	t.order = mem_alloc((h->version_count + 1) * sizeof(*t.order));
	t.ordered = mem_zero(h->object_count + 1, sizeof(*t.ordered));
	result->position = mem_alloc((h->version_count + 1) * sizeof(*result->position));
	memset(t.next, 0xff, (h->version_count + 1) * sizeof(*t.next));
	memset(result->position, 0xff, (h->version_count + 1) * sizeof(*result->position));
	find_committed(&t);
	find_installed(&t);
	for (uint32_t object = 0; object < h->object_count; object++)
		order_object(&t, object);
	find_edges(&t);
	if (!edges_only) {
		find_cycles(&t);
		find_lost_updates(&t);
		find_wrong_answers(&t);
		find_split_statements(&t);
		find_unstable_snapshots(&t);
	}
	free(t.installed);
	free(t.next);
	free(t.order);
	free(t.ordered);
}

void twin_check(const struct twin_history *h, struct twin_result *result)
{
	check(h, result, false);
}

void twin_check_edges(const struct twin_history *h, struct twin_result *result)
{
	check(h, result, true);
}

void twin_result_release(struct twin_result *result)
{
	free(result->findings);
	free(result->position);
	memset(result, 0, sizeof(*result));
}

/* ---- printing ---- */

void twin_class_print(struct buf *out, enum twin_class class, enum twin_strength strength)
{
	static const char *const names[TWIN_CLASSES] = {[TWIN_G0] = "G0",
		[TWIN_G1C] = "G1c",
		[TWIN_G_SINGLE] = "G-single",
		[TWIN_G_NONADJACENT] = "G-nonadjacent",
		[TWIN_G2_ITEM] = "G2-item",
		[TWIN_G2] = "G2",
		[TWIN_G1A] = "G1a",
		[TWIN_G1B] = "G1b",
		[TWIN_LOST_UPDATE] = "lost-update",
		[TWIN_GARBAGE_READ] = "garbage-read",
		[TWIN_FUTURE_READ] = "future-read",
		[TWIN_OWN_WRITE] = "own-write",
		[TWIN_UNSTABLE_SNAPSHOT] = "unstable-snapshot",
		[TWIN_DUPLICATE_ROW] = "duplicate-row",
		[TWIN_SPLIT_STATEMENT] = "split-statement",
		[TWIN_LOST_VERSION] = "lost-version"};
	static const char *const suffixes[TWIN_STRENGTHS] = {"", "-session", "-realtime"};

	buf_add_str(out, names[class]);
	buf_add_str(out, suffixes[strength]);
}

static void print_version(struct buf *out, const struct twin_history *h, uint32_t v)
{
	const struct twin_version *version = &h->versions[v];
	const struct twin_object *object = &h->objects[version->object];

	buf_printf(out, "%u:%lld@%u", object->table, (long long)object->key, v);
	if (version->unborn)
		buf_add_str(out, "(unborn)");
	else if (!version->exists)
		buf_add_str(out, "(dead)");
	else
		buf_printf(out, "(%lld)", (long long)version->value);
}

void twin_history_print(struct buf *out, const struct twin_history *h)
{
	for (size_t i = 0; i < h->txn_count; i++)
		buf_printf(out, "T%llu session %u seq %llu..%lld commit %llu %s %s\n",
			(unsigned long long)h->txns[i].number, h->txns[i].session,
			(unsigned long long)h->txns[i].begin_seq, (long long)h->txns[i].end_seq,
			(unsigned long long)h->txns[i].commit_seq,
			txn_level_short(h->txns[i].level), txn_outcome_name(h->txns[i].outcome));
	for (size_t i = 0; i < h->op_count; i++) {
		const struct twin_op *op = &h->ops[i];

		buf_printf(out, "  T%llu stmt %u seq %llu..%llu ",
			(unsigned long long)h->txns[op->txn].number, op->stmt,
			(unsigned long long)op->begin_seq, (unsigned long long)op->end_seq);
		if (op->kind == TWIN_PREDICATE) {
			const struct twin_predicate *p = &h->predicates[op->predicate];

			buf_printf(out, "predicate %u.%c in %lld..%lld %s:", p->table,
				p->by_key ? 'k' : 'v', (long long)p->low, (long long)p->high,
				probe_read_kind_name(op->read_kind));
			for (uint32_t k = p->first; k < p->first + p->count; k++) {
				buf_add_char(out, ' ');
				print_version(out, h, h->set[k]);
			}
		} else {
			buf_add_str(out, op->kind == TWIN_READ ? "read " : "write ");
			print_version(out, h, op->version);
			if (op->kind == TWIN_READ)
				buf_printf(out, " %s", probe_read_kind_name(op->read_kind));
			else if (h->versions[op->version].previous != TWIN_NONE) {
				buf_add_str(out, " over ");
				print_version(out, h, h->versions[op->version].previous);
			}
			if (h->versions[op->version].undone_seq)
				buf_add_str(out, " undone");
		}
		buf_add_char(out, '\n');
	}
}
