/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/witness.h"

#include <stdlib.h>
#include <string.h>

#include "adya/sentences.h"
#include "trace/value.h"

/* A row's versions are written out up to so many; of more, those near the ones of the witness. */
enum { CHAIN_MAX = 24, CHAIN_NEAR = 2 };

/* Is it among the parts, which have semicolons between? */
static bool says(struct span all, struct span what)
{
	for (const char *p = all.ptr, *end = all.ptr + all.len; p < end; p++) {
		const char *at = memmem(p, (size_t)(end - p), what.ptr, what.len);

		if (!at)
			return false;
		if ((at == all.ptr || at[-1] == ' ') &&
			(at + what.len == end || at[what.len] == ';'))
			return true;
		p = at;
	}
	return false;
}

static void add_step(struct witness *w, uint32_t txn, uint32_t stmt, enum step_act act, struct span what)
{
	for (uint32_t i = 0; i < w->step_count; i++) {
		struct witness_step *step = &w->steps[i];

		if (step->txn != txn || step->stmt != stmt)
			continue;
		if (!says(step->what, what) && stmt != HISTORY_NONE)
			step->what = span_str(arena_printf(
				w->arena, "%.*s; %.*s", SPAN_ARG(step->what), SPAN_ARG(what)));
		return;
	}
	if (w->step_count < WITNESS_STEPS_MAX)
		w->steps[w->step_count++] = (struct witness_step){txn, stmt, act, what};
}

static void add_object(struct witness *w, uint32_t object)
{
	for (uint32_t i = 0; i < w->object_count; i++) {
		if (w->objects[i] == object)
			return;
	}
	if (w->object_count < WITNESS_ROWS_MAX)
		w->objects[w->object_count++] = object;
}

static void add_version(struct witness *w, uint32_t version)
{
	add_object(w, w->history->versions[version].object);
	if (w->version_count < WITNESS_VERSIONS_MAX)
		w->versions[w->version_count++] = version;
}

static struct span say(struct witness *w, const char *verb, uint32_t version)
{
	const struct history *h = w->history;
	const struct history_version *v = &h->versions[version];
	struct buf text = BUF_INIT;
	struct span kept;

	buf_printf(&text, "%s %.*s", verb, SPAN_ARG(say_object(w->arena, h, v->object)));
	if (!(v->flags & HISTORY_VERSION_DEAD && verb[0] == 'd')) {
		buf_printf(&text, "%s version %.*s", verb[0] == 'r' ? " at" : " as",
			SPAN_ARG(say_version(w->arena, h, version)));
		say_add_image(&text, h, version);
	}
	kept = arena_copy(w->arena, buf_span(&text));
	buf_release(&text);
	return kept;
}

void witness_read(struct witness *w, uint32_t txn, uint32_t stmt, uint32_t version)
{
	if (stmt == HISTORY_NONE) {
		const struct history_op *op = find_op(w->history, txn, HISTORY_READ, version);

		stmt = op ? op->stmt : HISTORY_NONE;
	}
	add_version(w, version);
	add_step(w, txn, stmt, STEP_READS, say(w, "reads", version));
}

void witness_write(struct witness *w, uint32_t version)
{
	const struct history_version *v = &w->history->versions[version];
	bool dead = v->flags & HISTORY_VERSION_DEAD;

	add_version(w, version);
	if (v->txn != HISTORY_NONE)
		add_step(w, v->txn, v->stmt, dead ? STEP_DELETES : STEP_WRITES,
			say(w, dead ? "deletes" : "writes", version));
}

static void predicate_step(struct witness *w, const struct predicate_edge *edge)
{
	const struct history *h = w->history;
	const struct history_predicate *p = &h->predicates[edge->predicate];

	add_step(w, p->txn, p->stmt, STEP_OTHER, say_looked(w->arena, h, p, edge->seen));
	add_version(w, edge->seen);
	witness_write(w, edge->changed);
}

void witness_cycle_step(
	struct witness *w, const struct dependencies *dependencies, const struct cycle_step *step)
{
	const struct history *h = w->history;
	uint32_t from = dependencies->txn_of[step->from], to = dependencies->txn_of[step->to];
	uint32_t version = step->detail;

	switch (step->kind) {
	case GRAPH_WW:
		witness_write(w, h->order[h->objects[h->versions[version].object].first_order +
					  h->versions[version].position - 1]);
		witness_write(w, version);
		return;
	case GRAPH_WR:
		witness_write(w, version);
		witness_read(w, to, HISTORY_NONE, version);
		return;
	case GRAPH_RW:
		witness_read(w, from, HISTORY_NONE, version);
		witness_write(w, version_next(h, version));
		return;
	case GRAPH_PREDICATE_WR:
	case GRAPH_PREDICATE_RW:
		predicate_step(w, &dependencies->predicate_edges[version]);
		return;
	case GRAPH_SESSION:
	case GRAPH_REALTIME:
		return;
	}
}

/* ---- into the finding ---- */

static uint32_t begin_of(const struct history *h, const struct witness_step *step)
{
	return step->stmt == HISTORY_NONE ? h->txns[step->txn].begin_seq
					  : h->stmts[step->stmt].begin_seq;
}

static int by_begin(const void *a, const void *b, void *history)
{
	const struct witness_step *x = a, *y = b;
	uint32_t first = begin_of(history, x), second = begin_of(history, y);

	if (first != second)
		return first < second ? -1 : 1;
	return (x->stmt > y->stmt) - (x->stmt < y->stmt);
}

/* Between the version at place k and what stands before it. */
static const char *multi_table(const struct history_object *o, uint32_t k, bool *rest)
{
	bool first = k >= o->installed_count && !*rest;

	*rest = k >= o->installed_count;
	return k == 0 ? "" : first ? " | not installed: " : *rest ? ", " : " -> ";
}

static int by_place(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The places of the witness's versions of an object, sorted. */
static uint32_t places_of(const struct witness *w, uint32_t object, uint32_t *places)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < w->version_count; i++) {
		if (w->history->versions[w->versions[i]].object == object)
			places[count++] = say_place(w->history, w->versions[i]);
	}
	qsort(places, count, sizeof(*places), by_place);
	return count;
}

/*
 * "unborn -> initial 1 -> 5 by T4 (S2 #7) -> ... | not installed: 6 by T9 (S3 #1)"; of a long chain
 * "(20 versions) -> v20 by T4 (S2 #7) -> ...".
 */
static struct span chain_of(struct witness *w, uint32_t object, bool exact)
{
	const struct history *h = w->history;
	const struct history_object *o = &h->objects[object];
	uint32_t places[WITNESS_VERSIONS_MAX];
	uint32_t place_count = places_of(w, object, places), at = 0, end = 0;
	bool whole = o->order_count <= CHAIN_MAX, rest = false;
	struct buf text = BUF_INIT;
	struct span kept;

	for (uint32_t k = 0; k < o->order_count; k++) {
		uint32_t id = h->order[o->first_order + k];
		const struct history_version *v = &h->versions[id];

		if (!whole && k >= end) {
			uint32_t near;

			while (at < place_count && places[at] + CHAIN_NEAR < k)
				at++;
			near = at == place_count             ? o->order_count
			       : places[at] > k + CHAIN_NEAR ? places[at] - CHAIN_NEAR
							     : k;
			if (near > k) {
				buf_printf(&text, "%s(%u version%s)", multi_table(o, k, &rest), near - k,
					near - k == 1 ? "" : "s");
				k = near - 1;
				end = near;
				continue;
			}
			end = places[at] + CHAIN_NEAR + 1;
		}
		buf_add_str(&text, multi_table(o, k, &rest));
		buf_add_span(&text, exact ? say_version_exact(w->arena, h, id)
					  : say_version(w->arena, h, id));
		if (v->txn != HISTORY_NONE && !(v->flags & HISTORY_VERSION_DEAD))
			buf_printf(&text, " by T%llu", (unsigned long long)h->txns[v->txn].number);
		if (!exact && v->txn != HISTORY_NONE && v->stmt != HISTORY_NONE)
			buf_printf(&text, " (S%u #%u)",
				h->sessions[h->stmts[v->stmt].session].number,
				h->stmts[v->stmt].number);
	}
	if (!o->order_known)
		buf_printf(&text, " (in no known order: %s)",
			history_order_problem_name(o->order_problem));
	kept = arena_copy(w->arena, buf_span(&text));
	buf_release(&text);
	return kept;
}

void witness_finish(struct witness *w, struct finding *finding)
{
	const struct history *h = w->history;

	qsort_r(w->steps, w->step_count, sizeof(w->steps[0]), by_begin, (void *)(uintptr_t)h);
	finding->step_count = w->step_count;
	finding->steps = arena_alloc(w->arena, (w->step_count + 1) * sizeof(*finding->steps));
	for (uint32_t i = 0; i < w->step_count; i++) {
		const struct witness_step *step = &w->steps[i];
		bool known = step->stmt != HISTORY_NONE;

		finding->steps[i] = (struct finding_step){
			.transaction = say_txn(w->arena, h, step->txn),
			.session = h->sessions[h->txns[step->txn].session].number,
			.number = known ? h->stmts[step->stmt].number : 0,
			.stmt = step->stmt,
			.what = step->what,
			.act = step->act,
		};
	}
	finding->row_count = w->object_count;
	finding->rows = arena_alloc(w->arena, (w->object_count + 1) * sizeof(*finding->rows));
	for (uint32_t i = 0; i < w->object_count; i++)
		finding->rows[i] = (struct finding_row){
			say_object(w->arena, h, w->objects[i]),
			chain_of(w, w->objects[i], false), chain_of(w, w->objects[i], true)};
}
