/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The version order of every object: what stands, and what each version stands after, from what
 * the probes say was overwritten.  history.md has the rules in words; the numbers below are
 * theirs.  An object at a time, in time linear in its versions.
 */
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "model/history/finish.h"

/* What stands before a version, found by following `previous` over what does not stand. */
#define BEFORE_ROOT    UINT32_MAX       /* no row */
#define BEFORE_UNKNOWN (UINT32_MAX - 1) /* not recorded, or not exactly */
#define BEFORE_CYCLE   (UINT32_MAX - 2)
#define BEFORE_UNSEEN  (UINT32_MAX - 3) /* not looked at */
#define BEFORE_OPEN    (UINT32_MAX - 4) /* on the current walk */
#define BEFORE_MAX     (UINT32_MAX - 5) /* the largest that is an index */

/* A run of versions from one that had no row before it to one that nothing overwrote. */
struct life {
	uint32_t first, last; /* indexes among the object's versions */
	uint32_t start;       /* the first one that was written here; NONE: none was */
	uint64_t rank;        /* to sort by */
};

struct order_pass {
	struct history *history;
	const uint64_t *committed; /* by transaction */
	/* For the current object, by index among its versions. */
	uint32_t *before, *next, *stack, *sorted;
	bool *stands;
	size_t capacity;
	struct life *lives;
	size_t life_count, life_capacity;
	uint32_t *ids, count;
	struct history_object *object;
	uint64_t unknown, unwritten; /* for history_counts */
};

static bool stands(const struct order_pass *pass, const struct history_version *v)
{
	uint16_t not_last = HISTORY_VERSION_INTERMEDIATE | HISTORY_VERSION_UNDONE;

	if (v->flags & (HISTORY_VERSION_INITIAL | HISTORY_VERSION_UNBORN))
		return true;
	return v->txn != HISTORY_NONE && !(v->flags & not_last) && bit_get(pass->committed, v->txn);
}

enum { DIRECT_STEPS_MAX = 8 };

/* Most objects: what stands came in version order, each naming the one before, perhaps over a few
 * versions that do not stand.  False: look closer. */
static bool order_directly(struct order_pass *pass)
{
	struct history_version *versions = pass->history->versions;
	uint32_t last = pass->ids[0], k = 1;

	for (uint32_t i = 1; i < pass->count; i++) {
		struct history_version *v = &versions[pass->ids[i]];
		uint32_t p = v->previous;

		if (!stands(pass, v)) {
			/* No writer is known: perhaps the initial one. */
			if (v->flags & HISTORY_VERSION_UNWRITTEN)
				return false;
			continue;
		}
		if (v->flags & HISTORY_VERSION_DUPLICATE)
			return false;
		if (v->flags & HISTORY_VERSION_INITIAL) {
			if (k > 1)
				return false;
		} else {
			if (!(v->flags & HISTORY_VERSION_EXACT))
				return false;
			for (int step = 0; p != last; step++) {
				if (p == BUILD_NIL && k == 1)
					break;
				if (step == DIRECT_STEPS_MAX || p >= BUILD_NIL ||
					stands(pass, &versions[p]) ||
					!(versions[p].flags & HISTORY_VERSION_EXACT))
					return false;
				p = versions[p].previous;
			}
		}
		last = pass->ids[i];
		pass->sorted[k++] = i;
	}
	pass->object->installed_count = k;
	return true;
}

static void order_reserve(struct order_pass *pass, uint32_t count)
{
	size_t fresh = pass->capacity ? pass->capacity : 64;

	if (count <= pass->capacity)
		return;
	while (fresh < count)
		fresh *= 2;
	pass->capacity = fresh;
	pass->before = mem_realloc(pass->before, fresh, sizeof(*pass->before));
	pass->next = mem_realloc(pass->next, fresh, sizeof(*pass->next));
	pass->stack = mem_realloc(pass->stack, fresh, sizeof(*pass->stack));
	pass->sorted = mem_realloc(pass->sorted, fresh, sizeof(*pass->sorted));
	pass->stands = mem_realloc(pass->stands, fresh, sizeof(*pass->stands));
}

static struct history_version *version_of(const struct order_pass *pass, uint32_t i)
{
	return &pass->history->versions[pass->ids[i]];
}

/* Where the walk from version i ends, as far as i alone tells: an index to go on from, or a
 * BEFORE_ value. */
static uint32_t step_before(const struct order_pass *pass, uint32_t i)
{
	const struct history_version *v = version_of(pass, i);

	if (v->flags & HISTORY_VERSION_INITIAL)
		return BEFORE_ROOT;
	if (!(v->flags & HISTORY_VERSION_EXACT) || v->previous == HISTORY_NONE)
		return BEFORE_UNKNOWN;
	if (v->previous == BUILD_NIL)
		return BEFORE_ROOT;
	return pass->history->versions[v->previous].position;
}

/* Fills before[i] and that of everything on the way; each version is walked over once. */
static void walk_before(struct order_pass *pass, uint32_t i)
{
	uint32_t depth = 0, result;

	for (;;) {
		uint32_t step;

		pass->before[i] = BEFORE_OPEN;
		pass->stack[depth++] = i;
		step = step_before(pass, i);
		if (step > BEFORE_MAX) {
			result = step;
			break;
		}
		if (pass->stands[step] ||
			(version_of(pass, step)->flags & HISTORY_VERSION_UNWRITTEN)) {
			result = step == 0 ? BEFORE_ROOT : step;
			break;
		}
		if (pass->before[step] == BEFORE_OPEN) {
			result = BEFORE_CYCLE;
			break;
		}
		if (pass->before[step] != BEFORE_UNSEEN) {
			result = pass->before[step];
			break;
		}
		i = step;
	}
	while (depth)
		pass->before[pass->stack[--depth]] = result;
}

static bool order_problem(struct order_pass *pass, enum history_order_problem problem, uint32_t i)
{
	pass->object->order_problem = (uint8_t)problem;
	pass->object->problem_version = pass->ids[i];
	return false;
}

/* Rule 15: a version that no transaction wrote begins the object, where that can be. */
static bool presume_initial(struct order_pass *pass)
{
	uint32_t reached = 0, unwritten = 0, standing = 0, initial = 0;

	for (uint32_t i = 1; i < pass->count; i++) {
		if (version_of(pass, i)->flags & HISTORY_VERSION_INITIAL)
			initial = i;
	}
	for (uint32_t i = 1; i < pass->count; i++) {
		uint16_t flags = version_of(pass, i)->flags;
		uint32_t b = pass->before[i];

		if (flags & HISTORY_VERSION_UNWRITTEN) {
			unwritten = unwritten == 0 ? i : BEFORE_MAX;
			continue;
		}
		if (!pass->stands[i])
			continue;
		standing++;
		if (b <= BEFORE_MAX && (version_of(pass, b)->flags & HISTORY_VERSION_UNWRITTEN)) {
			if (reached && reached != b)
				return order_problem(pass, HISTORY_ORDER_BROKEN, i);
			if (initial || (version_of(pass, b)->flags & HISTORY_VERSION_DEAD) ||
				pass->history->tables[pass->object->table].has_initial_rows)
				return order_problem(pass, HISTORY_ORDER_BROKEN, i);
			reached = b;
		}
	}
	if (pass->history->tables[pass->object->table].has_initial_rows)
		return true;
	if (!reached && !standing && unwritten && unwritten != BEFORE_MAX &&
		!(version_of(pass, unwritten)->flags & HISTORY_VERSION_DEAD))
		reached = unwritten;
	if (reached) {
		version_of(pass, reached)->flags |= HISTORY_VERSION_INITIAL;
		pass->stands[reached] = true;
		pass->before[reached] = BEFORE_ROOT;
	}
	return true;
}

/* What no order can be made from, the plainest first (history.md, rule 16). */
static bool check_links(struct order_pass *pass)
{
	uint32_t initial = 0;

	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i] && (version_of(pass, i)->flags & HISTORY_VERSION_DUPLICATE))
			return order_problem(pass, HISTORY_ORDER_BROKEN, i);
	}
	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i] && pass->before[i] == BEFORE_UNKNOWN)
			return order_problem(pass, HISTORY_ORDER_UNKNOWN, i);
	}
	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i] && pass->before[i] == BEFORE_CYCLE)
			return order_problem(pass, HISTORY_ORDER_CYCLE, i);
	}
	if (!presume_initial(pass))
		return false;
	for (uint32_t i = 1; i < pass->count; i++) {
		if (!pass->stands[i])
			continue;
		if (version_of(pass, i)->flags & HISTORY_VERSION_INITIAL) {
			if (initial)
				return order_problem(pass, HISTORY_ORDER_BROKEN, i);
			initial = i;
		}
		if (pass->before[i] > BEFORE_MAX)
			continue;
		if (pass->next[pass->before[i]] != HISTORY_NONE)
			return order_problem(pass, HISTORY_ORDER_FORK, i);
		pass->next[pass->before[i]] = i;
	}
	return true;
}

/* Splits what stands into lives; what no life reaches goes round in a circle. */
static bool find_lives(struct order_pass *pass)
{
	uint32_t seen = 0, standing = 0;

	pass->life_count = 0;
	for (uint32_t i = 1; i < pass->count; i++) {
		struct life life = {i, i, HISTORY_NONE, 0};

		standing += pass->stands[i];
		if (!pass->stands[i] || pass->before[i] != BEFORE_ROOT)
			continue;
		for (uint32_t k = i; k != HISTORY_NONE; k = pass->next[k]) {
			pass->stack[seen++] = k;
			life.last = k;
			if (life.start == HISTORY_NONE &&
				!(version_of(pass, k)->flags & HISTORY_VERSION_INITIAL))
				life.start = k;
		}
		MEM_RESERVE(pass->lives, pass->life_count + 1, pass->life_capacity);
		pass->lives[pass->life_count++] = life;
	}
	if (seen == standing)
		return true;
	/* Marks what was seen, to name the first that was not. */
	for (uint32_t k = 0; k < seen; k++)
		pass->stands[pass->stack[k]] = false;
	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i])
			return order_problem(pass, HISTORY_ORDER_CYCLE, i);
	}
	BUG("a circle without a member");
}

static uint32_t start_end_seq(const struct order_pass *pass, const struct life *life)
{
	uint32_t stmt =
		life->start == HISTORY_NONE ? HISTORY_NONE : version_of(pass, life->start)->stmt;

	return stmt == HISTORY_NONE ? HISTORY_NONE : pass->history->stmts[stmt].end_seq;
}

static bool ends_dead(const struct order_pass *pass, const struct life *life)
{
	return version_of(pass, life->last)->flags & HISTORY_VERSION_DEAD;
}

static bool is_initial(const struct order_pass *pass, const struct life *life)
{
	uint16_t both = HISTORY_VERSION_INITIAL | HISTORY_VERSION_UNWRITTEN;

	return (version_of(pass, life->first)->flags & both) == HISTORY_VERSION_INITIAL;
}

/* Did the statement that wrote version i surely begin after life a's first write was answered? */
static bool began_after(const struct order_pass *pass, uint32_t i, const struct life *a)
{
	uint32_t stmt = i == HISTORY_NONE ? HISTORY_NONE : version_of(pass, i)->stmt;

	return stmt != HISTORY_NONE &&
	       pass->history->stmts[stmt].begin_seq > start_end_seq(pass, a);
}

/* b was not over before a began. */
static bool not_over_before(
	const struct order_pass *pass, const struct life *b, const struct life *a)
{
	return !ends_dead(pass, b) || began_after(pass, b->last, a) ||
	       began_after(pass, b->start, a);
}

/* Marks the last versions of lives that a transaction of unknown outcome perhaps deleted. */
#define NEXT_PERHAPS (HISTORY_NONE - 1)

static void mark_perhaps_deleted(struct order_pass *pass)
{
	uint16_t gone = HISTORY_VERSION_INTERMEDIATE | HISTORY_VERSION_UNDONE;

	for (uint32_t i = 1; i < pass->count; i++) {
		const struct history_version *v = version_of(pass, i);
		uint32_t p;

		if (!(v->flags & HISTORY_VERSION_DEAD) || (v->flags & gone) || pass->stands[i] ||
			v->previous >= BUILD_NIL || v->txn == HISTORY_NONE ||
			pass->history->txns[v->txn].outcome != TXN_UNKNOWN)
			continue;
		p = pass->history->versions[v->previous].position;
		if (pass->next[p] == HISTORY_NONE)
			pass->next[p] = NEXT_PERHAPS;
	}
}

/* The life that nothing ended is the last one only if nothing can have ended it: no transaction of
 * unknown outcome deleted it, and no other life began after it was there. */
static bool may_be_last(struct order_pass *pass)
{
	const struct life *last = &pass->lives[pass->life_count - 1];
	bool perhaps = pass->next[last->last] == NEXT_PERHAPS;

	if (ends_dead(pass, last))
		return true;
	for (size_t k = 0; k + 1 < pass->life_count; k++) {
		const struct life *life = &pass->lives[k];

		if (is_initial(pass, life) || life->start == HISTORY_NONE)
			continue;
		if (perhaps)
			return order_problem(pass, HISTORY_ORDER_UNDECIDED, last->first);
		if (began_after(pass, life->start, last))
			return order_problem(pass, HISTORY_ORDER_BROKEN, life->first);
	}
	return true;
}

static int life_order(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Rule 17: the lives of an object one after the other.  All but the last end in a deletion; the one
 * with the recorded initial version is first; time decides between the others, where it can. */
static bool order_lives(struct order_pass *pass)
{
	struct life *lives = pass->lives;
	size_t alive = 0, perhaps = 0;

	for (size_t k = 0; k < pass->life_count; k++) {
		bool initial = is_initial(pass, &lives[k]), dead = ends_dead(pass, &lives[k]);

		lives[k].rank = (uint64_t)(initial ? 0
					   : dead  ? 1
						   : 2)
					<< 32 |
				start_end_seq(pass, &lives[k]);
	}
	qsort(lives, pass->life_count, sizeof(*lives), life_order);
	mark_perhaps_deleted(pass);
	for (size_t k = 0; k + 1 < pass->life_count; k++) {
		if (!ends_dead(pass, &lives[k])) {
			alive++;
			perhaps += pass->next[lives[k].last] == NEXT_PERHAPS;
		}
	}
	if (alive)
		return order_problem(pass,
			alive == perhaps ? HISTORY_ORDER_UNDECIDED : HISTORY_ORDER_BROKEN,
			lives[pass->life_count - 1].first);
	if (!may_be_last(pass))
		return false;
	for (size_t k = 0; k + 1 < pass->life_count; k++) {
		const struct life *a = &lives[k], *b = &lives[k + 1];

		/* The deletion began after what follows it was there. */
		if (not_over_before(pass, a, b))
			return order_problem(pass, HISTORY_ORDER_BROKEN, b->first);
		if (!is_initial(pass, a) && !not_over_before(pass, b, a))
			return order_problem(pass, HISTORY_ORDER_UNKNOWN, b->first);
	}
	return true;
}

/* Rule 18: what of it was committed is not known. */
static bool order_is_mixed(struct order_pass *pass)
{
	for (uint32_t i = 1; i < pass->count; i++) {
		uint32_t txn = version_of(pass, i)->txn;

		if (txn != HISTORY_NONE && pass->history->txns[txn].flags & HISTORY_TXN_MIXED) {
			order_problem(pass, HISTORY_ORDER_UNKNOWN, i);
			return true;
		}
	}
	return false;
}

/* Any object: follows the links, looks for what contradicts itself, and puts the lives in order. */
static bool order_closely(struct order_pass *pass)
{
	uint32_t k = 1;

	for (uint32_t i = 0; i < pass->count; i++) {
		version_of(pass, i)->position = i;
		pass->stands[i] = stands(pass, version_of(pass, i));
		pass->before[i] = BEFORE_UNSEEN;
		pass->next[i] = HISTORY_NONE;
	}
	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i])
			walk_before(pass, i);
	}
	if (!check_links(pass) || !find_lives(pass))
		return false;
	if (pass->life_count > 1 && !order_lives(pass))
		return false;
	for (size_t n = 0; n < pass->life_count; n++) {
		uint32_t last = n ? pass->lives[n - 1].last : 0;
		struct history_version *first = version_of(pass, pass->lives[n].first);

		/* Rule 6: an INSERT overwrote the deletion before it. */
		if (first->previous == BUILD_NIL)
			first->previous = pass->ids[last];
		for (uint32_t i = pass->lives[n].first; i < NEXT_PERHAPS; i = pass->next[i])
			pass->sorted[k++] = i;
	}
	pass->object->installed_count = k;
	return true;
}

/* Writes the order down: what stands by `sorted`, the rest by id. */
static void order_write(struct order_pass *pass)
{
	struct history_object *object = pass->object;
	bool known = object->order_known;
	bool any_dead = false;
	uint32_t installed = known ? object->installed_count : 1;
	uint32_t rest = installed;
	uint32_t first = installed > 1 ? pass->sorted[1] : 0;

	for (uint32_t i = 0; i < pass->count; i++) {
		struct history_version *v = version_of(pass, i);

		v->position = HISTORY_NONE;
		any_dead |= (v->flags & HISTORY_VERSION_DEAD) != 0;
		if (stands(pass, v))
			v->flags |= HISTORY_VERSION_INSTALLED;
		else if (v->flags & HISTORY_VERSION_UNWRITTEN)
			pass->unwritten++;
	}
	pass->sorted[0] = 0;
	for (uint32_t k = 0; k < installed; k++)
		version_of(pass, pass->sorted[k])->position = k;
	for (uint32_t i = 0; i < pass->count; i++) {
		struct history_version *v = version_of(pass, i);

		/* Nothing was there: unborn, where the object never died. */
		if (v->previous == BUILD_NIL)
			v->previous = any_dead && i != first ? HISTORY_NONE : pass->ids[0];
		if (v->position == HISTORY_NONE)
			pass->stack[rest++] = pass->ids[i];
	}
	for (uint32_t k = 0; k < installed; k++)
		pass->stack[k] = pass->ids[pass->sorted[k]];
	memcpy(pass->ids, pass->stack, pass->count * sizeof(*pass->ids));
}

static void order_range(struct order_pass *pass, uint32_t from, uint32_t to)
{
	struct history *history = pass->history;
	uint32_t end = to < history->object_count ? history->objects[to].first_order
						  : history->order_count;

	for (uint32_t o = from; o < to; o++) {
		struct history_object *object = &history->objects[o];
		uint32_t ahead = object->first_order + PREFETCH_AHEAD;

		for (uint32_t k = 0; k < object->order_count; k++, ahead++) {
			if (ahead < end)
				MEM_PREFETCH(&history->versions[history->order[ahead]]);
		}
		pass->object = object;
		pass->ids = history->order + object->first_order;
		pass->count = object->order_count;
		order_reserve(pass, pass->count + 1);
		object->order_known = !(history->counts.txns_mixed && order_is_mixed(pass)) &&
				      (order_directly(pass) || order_closely(pass));
		pass->unknown += !object->order_known;
		if (!object->order_known)
			object->installed_count = 1;
		order_write(pass);
		history_check_object(history, o);
	}
	mem_free(pass->before);
	mem_free(pass->next);
	mem_free(pass->stack);
	mem_free(pass->sorted);
	mem_free(pass->stands);
	mem_free(pass->lives);
}

struct order_objects {
	struct order_pass passes[FINISH_PARTS];
	uint32_t bounds[FINISH_PARTS + 1]; /* objects of each */
};

static void order_part(void *data, unsigned part)
{
	struct order_objects *all = data;

	order_range(&all->passes[part], all->bounds[part], all->bounds[part + 1]);
}

/* An order concerns the versions of its object and nothing else, so objects can be put in order at
 * the same time; each part has about the same number of versions. */
void order_objects(struct history *history, const uint64_t *committed)
{
	struct order_objects all = {.bounds = {0}};
	uint32_t o = 0;

	for (unsigned part = 0; part < FINISH_PARTS; part++) {
		uint64_t end = (uint64_t)history->order_count * (part + 1) / FINISH_PARTS;

		all.passes[part] = (struct order_pass){.history = history, .committed = committed};
		while (o < history->object_count && history->objects[o].first_order < end)
			o++;
		all.bounds[part + 1] = o;
	}
	parallel_run(order_part, &all, FINISH_PARTS);
	for (unsigned part = 0; part < FINISH_PARTS; part++) {
		history->counts.orders_unknown += all.passes[part].unknown;
		history->counts.unwritten_versions += all.passes[part].unwritten;
	}
}
