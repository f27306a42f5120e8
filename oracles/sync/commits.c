/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the nodes hold at the last point against what the recorded transactions wrote.
 *
 * An effect is *certain* when its transaction was acknowledged, *possible* when its outcome is unknown, and *void* when
 * it was aborted.  One effect on a row surely comes before another when its transaction had ended before the other
 * statement began; what a certain one surely overwrote cannot be what is left.  So each row, and each value in it, may
 * end as one of a few effects left it; if it is none of these, what was acknowledged is lost, or what was aborted is
 * there.  Sums (v = v + 1) are bounded: by all certain ones, and these with all possible ones.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sync/sync_internal.h"

enum { TXNS_MAX = 1 << 20 };

/* One class of findings while it is gathered. */
struct gathered {
	uint32_t *txns;
	size_t txn_count, txn_capacity;
	struct map seen;
	struct span rows[SYNC_LISTED_MAX];
	uint32_t row_count;
	uint64_t row_total, sums, sum_missing;
	uint64_t by_nobody; /* rows that were there at the start, and no recorded transaction took away */
};

struct judging {
	struct sync *s;
	uint32_t first, last; /* points; first NONE: what was there at the start is not known */
	struct gathered lost, resurrected, twice;
	uint64_t decided_rows, unwritten; /* unwritten: values that no recorded transaction wrote */
};

static void gather_txn(struct gathered *g, uint32_t txn)
{
	if (map_get(&g->seen, txn) != MAP_NONE)
		return;
	map_put(&g->seen, txn, 1);
	MEM_RESERVE(g->txns, g->txn_count + 1, g->txn_capacity);
	g->txns[g->txn_count++] = txn;
}

static void gather_row(struct judging *j, struct gathered *g, const struct sync_row *row, const char *what)
{
	struct sync *s = j->s;
	struct span name;

	g->row_total++;
	if (g->row_count == SYNC_LISTED_MAX)
		return;
	name = row_name(s, &s->tables[row->table], row->key);
	g->rows[g->row_count++] = span_str(arena_printf(&s->verdict->arena, "%.*s: %s", SPAN_ARG(name), what));
}

/* ---- effects on one row ---- */

static const struct sync_txn *txn_of(const struct sync *s, const struct effect *e)
{
	return &s->txns[e->txn];
}

static bool is_certain(const struct sync *s, const struct effect *e)
{
	return txn_of(s, e)->outcome == TXN_COMMITTED && !txn_of(s, e)->partly && !txn_of(s, e)->late;
}

static bool is_void(const struct sync *s, const struct effect *e)
{
	return txn_of(s, e)->outcome == TXN_ABORTED;
}

/* The statement's begin: its transaction may have begun long before. */
static uint64_t began(const struct sync *s, const struct effect *e)
{
	return s->execution->stmts[e->stmt].record.begin_seq;
}

/* Surely before, in the order in which the cluster has them. */
static bool is_before(const struct sync *s, const struct effect *a, const struct effect *b)
{
	if (a->txn == b->txn)
		return a->stmt < b->stmt || (a->stmt == b->stmt && a < b);
	return txn_of(s, a)->end_seq < began(s, b);
}

/* Before the first point: part of what was there at the start. */
static bool is_old(const struct judging *j, const struct effect *e)
{
	return j->first != SYNC_NONE && txn_of(j->s, e)->end_seq < j->s->life->points[j->first].first_seq;
}

/* A condition of "may be the last": no certain effect of the set is surely after it. */
static bool is_overwritten(const struct sync *s, const struct effect *const *set, size_t count, size_t at)
{
	for (size_t i = 0; i < count; i++)
		if (i != at && is_certain(s, set[i]) && is_before(s, set[at], set[i]))
			return true;
	return false;
}

static bool any_certain(const struct sync *s, const struct effect *const *set, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_certain(s, set[i]))
			return true;
	return false;
}

enum { EFFECTS_MAX = 512, ANY_COLUMN = UINT16_MAX };

/* Of the row's effects those of some kinds, without what is old; void ones apart.  False: too many. */
struct chosen {
	const struct effect *live[EFFECTS_MAX], *dead[EFFECTS_MAX];
	size_t live_count, dead_count;
	bool blurred;
};

static bool choose(const struct judging *j, const struct sync_row *row, uint32_t kinds, uint32_t column, struct chosen *out)
{
	const struct sync *s = j->s;

	out->live_count = out->dead_count = 0;
	out->blurred = false;
	for (uint32_t e = row->effects; e != SYNC_NONE; e = s->effects[e].next) {
		const struct effect *effect = &s->effects[e];

		if (is_old(j, effect) || began(s, effect) > s->life->points[j->last].last_seq)
			continue;
		if (effect->kind == EFFECT_BLUR && !is_void(s, effect)) {
			out->blurred = true;
			continue;
		}
		if (!(kinds >> effect->kind & 1) ||
			((effect->kind == EFFECT_SET || effect->kind == EFFECT_ADD) &&
				(column == ANY_COLUMN ? !effect->found : effect->column != column)))
			continue;
		if (out->live_count == EFFECTS_MAX || out->dead_count == EFFECTS_MAX)
			return false;
		if (is_void(s, effect))
			out->dead[out->dead_count++] = effect;
		else
			out->live[out->live_count++] = effect;
	}
	return !out->blurred;
}

/* ---- is the row there? ---- */

/* A parent that it named may have been deleted, and it with it. */
static bool may_cascade(const struct judging *j, const struct sync_row *row)
{
	const struct sync *s = j->s;
	const struct sync_table *table = &s->tables[row->table];

	for (uint32_t f = 0; f < table->foreign_count; f++) {
		const struct sync_foreign *foreign = &table->foreign[f];

		if (!foreign->cascade)
			continue;
		if (foreign->parent == SYNC_NONE || !foreign->by_primary || foreign->column_count != 1 || s->tables[foreign->parent].blurred)
			return true;
		for (uint32_t e = row->effects; e != SYNC_NONE; e = s->effects[e].next) {
			const struct effect *effect = &s->effects[e];
			const struct cell *cell = effect->kind == EFFECT_INSERT ? &effect->cells[foreign->columns[0]]
						  : effect->kind == EFFECT_SET && effect->column == foreign->columns[0] ? &effect->value
															 : NULL;
			int64_t key[SYNC_KEY_MAX];
			uint32_t parent;

			if (!cell || cell->kind == CELL_NULL)
				continue;
			if (cell->kind != CELL_INT)
				return true;
			key[0] = cell->number;
			parent = row_find(s, foreign->parent, key);
			for (uint32_t p = parent == MAP_NONE ? SYNC_NONE : s->rows[parent].effects; p != SYNC_NONE; p = s->effects[p].next)
				if (s->effects[p].kind == EFFECT_DELETE && !is_void(s, &s->effects[p]))
					return true;
		}
		/* Which parent a row from the start names is not looked up. */
		if (j->first != SYNC_NONE && row->effects == SYNC_NONE)
			return true;
	}
	return false;
}

/* 1 there, 0 not there, -1 not known. */
static int at_start(const struct judging *j, const struct sync_row *row, const struct map *start)
{
	if (j->first == SYNC_NONE || !content_of_any(j->s, j->first, row->table))
		return -1;
	return map_get(start, row_hash(row->table, row->key, j->s->tables[row->table].key_count)) != MAP_NONE;
}

/* The transactions that left the row there, or took it away, and that nothing certain came after. */
static void lose(struct judging *j, const struct sync_row *row, const struct chosen *c, bool deletes, const char *what)
{
	for (size_t i = 0; i < c->live_count; i++)
		if ((c->live[i]->kind == EFFECT_DELETE) == deletes && is_certain(j->s, c->live[i]) && !is_overwritten(j->s, c->live, c->live_count, i))
			gather_txn(&j->lost, c->live[i]->txn);
	gather_row(j, &j->lost, row, what);
}

/* Does the row hold what the INSERT wrote, as far as that can be compared? */
static bool holds_insert(const struct sync_table *table, const struct cell *found, const struct effect *insert)
{
	for (uint32_t i = 0; i < table->column_count; i++)
		if (cells_comparable(&insert->cells[i], &found[i]) && !cells_equal(&insert->cells[i], &found[i]))
			return false;
	return true;
}

/* found: NULL where the row is not there.  False: whether it has to be there is not decided, so its values are not looked at. */
static bool judge_presence(struct judging *j, const struct sync_row *row, const struct cell *found, int start, struct chosen *c)
{
	bool there = found != NULL;
	bool may_be_there = false, may_be_gone = false;
	const struct sync *s = j->s;

	/* What was changed, was there. */
	if (!choose(j, row, 1u << EFFECT_INSERT | 1u << EFFECT_DELETE | 1u << EFFECT_SET | 1u << EFFECT_ADD, ANY_COLUMN, c))
		return false;
	for (size_t i = 0; i < c->live_count; i++) {
		if (is_overwritten(s, c->live, c->live_count, i))
			continue;
		may_be_there |= c->live[i]->kind != EFFECT_DELETE;
		may_be_gone |= c->live[i]->kind == EFFECT_DELETE;
	}
	if (!any_certain(s, c->live, c->live_count)) {
		may_be_there |= start != 0;
		may_be_gone |= start != 1;
	}
	if (there ? may_be_there : may_be_gone)
		return true;
	if (there) {
		for (size_t i = 0; i < c->dead_count; i++)
			if (c->dead[i]->kind == EFFECT_INSERT && holds_insert(&s->tables[row->table], found, c->dead[i])) {
				gather_txn(&j->resurrected, c->dead[i]->txn);
				gather_row(j, &j->resurrected, row, "was inserted by a transaction that was aborted, and is there");
				return false;
			}
		if (any_certain(s, c->live, c->live_count))
			lose(j, row, c, true, "was deleted, and is there");
		else
			j->unwritten++;
		return false;
	}
	if (may_cascade(j, row))
		return false;
	if (any_certain(s, c->live, c->live_count)) {
		lose(j, row, c, false, "was inserted or changed, and is not there");
	} else {
		j->lost.by_nobody++;
		gather_row(j, &j->lost, row, "was there at the start, no recorded transaction deleted it, and it is not there");
	}
	return false;
}

/* ---- what does it hold? ---- */

static const struct cell *set_by(const struct effect *e, uint32_t column)
{
	return e->kind == EFFECT_INSERT ? &e->cells[column] : &e->value;
}

/* All sums but for the one that made the row, or what it held at the start. */
static void judge_sum(struct judging *j, const struct sync_row *row, uint32_t column, const struct cell *found,
	const struct cell *start, const struct chosen *c)
{
	const struct sync *s = j->s;
	const struct effect *base = NULL;
	int64_t least, most, certain_least = 0;
	char what[160];

	for (size_t i = 0; i < c->live_count; i++) {
		if (c->live[i]->kind == EFFECT_ADD)
			continue;
		if (base || !is_certain(s, c->live[i]))
			return;
		base = c->live[i];
	}
	for (size_t i = 0; base && i < c->live_count; i++)
		if (c->live[i] != base && !is_before(s, base, c->live[i]))
			return;
	if (base ? set_by(base, column)->kind != CELL_INT : !start || start->kind != CELL_INT)
		return;
	least = most = base ? set_by(base, column)->number : start->number;
	for (size_t i = 0; i < c->live_count; i++) {
		int64_t by = c->live[i]->kind == EFFECT_ADD ? c->live[i]->value.number : 0;

		if (c->live[i] == base)
			continue;
		if (is_certain(s, c->live[i])) {
			least += by;
			most += by;
			certain_least += by;
		} else if (by < 0) {
			least += by;
		} else {
			most += by;
		}
	}
	if (found->kind != CELL_INT || (found->number >= least && found->number <= most))
		return;
	/* Whether fewer or more were applied, is told by the direction of all of them. */
	for (size_t i = 0; i < c->live_count; i++)
		if (c->live[i] != base && (c->live[i]->value.number < 0) != (certain_least < 0))
			return;
	if (certain_least < 0 ? found->number > most : found->number < least) {
		snprintf(what, sizeof(what), "%.*s is %lld, and the acknowledged sums make at least %lld",
			SPAN_ARG(s->tables[row->table].columns[column].name), (long long)found->number,
			(long long)(certain_least < 0 ? most : least));
		j->lost.sums++;
		j->lost.sum_missing += (uint64_t)llabs(found->number - (certain_least < 0 ? most : least));
		gather_row(j, &j->lost, row, what);
	} else {
		snprintf(what, sizeof(what), "%.*s is %lld, and all sums together make at most %lld",
			SPAN_ARG(s->tables[row->table].columns[column].name), (long long)found->number,
			(long long)(certain_least < 0 ? least : most));
		for (size_t i = 0; i < c->live_count; i++)
			if (c->live[i] != base && c->live_count <= SYNC_LISTED_MAX)
				gather_txn(&j->twice, c->live[i]->txn);
		gather_row(j, &j->twice, row, what);
	}
}

static void judge_value(struct judging *j, const struct sync_row *row, uint32_t column, const struct cell *found,
	const struct cell *start, struct chosen *c)
{
	const struct sync *s = j->s;
	const struct sync_table *table = &s->tables[row->table];
	bool sums = false, older = false;
	char what[160];

	if (found->kind == CELL_UNKNOWN || table->column_blurred[column] ||
		!choose(j, row, 1u << EFFECT_INSERT | 1u << EFFECT_SET | 1u << EFFECT_ADD, column, c))
		return;
	for (size_t i = 0; i < c->live_count; i++)
		sums |= c->live[i]->kind == EFFECT_ADD;
	if (sums) {
		judge_sum(j, row, column, found, start, c);
		return;
	}
	for (size_t i = 0; i < c->live_count; i++) {
		const struct cell *value = set_by(c->live[i], column);

		if (!cells_comparable(value, found) ||
			(cells_equal(value, found) && !is_overwritten(s, c->live, c->live_count, i)))
			return;
		older |= cells_equal(value, found);
	}
	if (!any_certain(s, c->live, c->live_count) && (!start || !cells_comparable(start, found) || cells_equal(start, found)))
		return;
	/* SET NULL of a foreign key whose parent went. */
	for (uint32_t f = 0; f < table->foreign_count; f++)
		for (uint32_t k = 0; k < table->foreign[f].column_count; k++)
			if (table->foreign[f].set_null && table->foreign[f].columns[k] == column && found->kind == CELL_NULL)
				return;
	for (size_t i = 0; i < c->dead_count; i++)
		if (cells_comparable(set_by(c->dead[i], column), found) && cells_equal(set_by(c->dead[i], column), found) && !older &&
			!(start && cells_comparable(start, found) && cells_equal(start, found))) {
			gather_txn(&j->resurrected, c->dead[i]->txn);
			snprintf(what, sizeof(what), "%.*s has the value that a transaction wrote which was aborted",
				SPAN_ARG(table->columns[column].name));
			gather_row(j, &j->resurrected, row, what);
			return;
		}
	if (older || (start && cells_comparable(start, found) && cells_equal(start, found))) {
		snprintf(what, sizeof(what), "%.*s has a value that was overwritten", SPAN_ARG(table->columns[column].name));
		for (size_t i = 0; i < c->live_count; i++)
			if (is_certain(s, c->live[i]) && !is_overwritten(s, c->live, c->live_count, i))
				gather_txn(&j->lost, c->live[i]->txn);
		gather_row(j, &j->lost, row, what);
		return;
	}
	j->unwritten++;
}

/* ---- all rows ---- */

/* Rows of a content by their keys' hashes. */
static void index_content(struct judging *j, uint32_t point, struct map *out, const struct life_content **contents)
{
	struct sync *s = j->s;
	struct cell cells[SYNC_COLUMNS_MAX];
	int64_t key[SYNC_KEY_MAX];

	*out = MAP_INIT;
	for (uint32_t t = 0; t < s->table_count; t++) {
		contents[t] = content_of_any(s, point, t);
		for (size_t i = 0; contents[t] && i < contents[t]->count; i++)
			if (content_cells(s, &s->tables[t], contents[t], contents[t]->rows[i], cells) &&
				cells_key(&s->tables[t], cells, key))
				map_put(out, row_hash(t, key, s->tables[t].key_count), (uint32_t)i);
	}
}

/* On which nodes: what is on one of them is not lost, and the nodes differ. */
static bool there_on_any(const struct judging *j, const struct map *indexes, uint32_t t, const struct sync_row *row)
{
	uint64_t hash = row_hash(t, row->key, j->s->tables[t].key_count);

	for (uint32_t n = 0; n < j->s->life->node_count; n++)
		if (map_get(&indexes[n], hash) != MAP_NONE)
			return true;
	return false;
}

static void judge_row(struct judging *j, const struct sync_row *row, const struct map *start, const struct life_content **starts,
	const struct map *end, const struct life_content **ends, struct chosen *chosen)
{
	struct sync *s = j->s;
	const struct sync_table *table = &s->tables[row->table];
	uint64_t hash = row_hash(row->table, row->key, table->key_count);
	uint32_t at = map_get(end, hash), was = map_get(start, hash);
	struct cell cells[SYNC_COLUMNS_MAX], before[SYNC_COLUMNS_MAX];

	j->decided_rows++;
	if (at != MAP_NONE && !content_cells(s, table, ends[row->table], ends[row->table]->rows[at], cells))
		return;
	if (!judge_presence(j, row, at != MAP_NONE ? cells : NULL, at_start(j, row, start), chosen) || at == MAP_NONE)
		return;
	if (was != MAP_NONE && !content_cells(s, table, starts[row->table], starts[row->table]->rows[was], before))
		return;
	for (uint32_t c = 0; c < table->column_count; c++)
		judge_value(j, row, c, &cells[c], was != MAP_NONE ? &before[c] : NULL, chosen);
}

/* Nodes that differ are told of as such; of them, what is missing on one may be there on another. */
static void index_nodes(struct judging *j, struct map *indexes)
{
	struct sync *s = j->s;
	struct cell cells[SYNC_COLUMNS_MAX];
	int64_t key[SYNC_KEY_MAX];
	uint64_t nodes = nodes_read(s, j->last);

	for (uint32_t n = 0; n < s->life->node_count; n++) {
		indexes[n] = MAP_INIT;
		for (uint32_t t = 0; nodes >> n & 1 && t < s->table_count; t++) {
			const struct life_content *c = content_at(s, j->last, n, t);

			for (size_t i = 0; c && i < c->count; i++)
				if (content_cells(s, &s->tables[t], c, c->rows[i], cells) && cells_key(&s->tables[t], cells, key))
					map_put(&indexes[n], row_hash(t, key, s->tables[t].key_count), 1);
		}
	}
}

static void judge_rows(struct judging *j)
{
	struct sync *s = j->s;
	const struct life_content **starts = mem_zero(s->table_count + 1, sizeof(struct life_content *));
	const struct life_content **ends = mem_zero(s->table_count + 1, sizeof(struct life_content *));
	struct chosen *chosen = mem_zero(1, sizeof(*chosen));
	struct map *indexes = mem_zero(LIFE_NODES_MAX, sizeof(*indexes));
	struct map start = MAP_INIT, end;

	if (j->first != SYNC_NONE)
		index_content(j, j->first, &start, starts);
	index_content(j, j->last, &end, ends);
	index_nodes(j, indexes);
	for (size_t i = 0; i < s->row_count; i++) {
		const struct sync_row *row = &s->rows[i];
		bool here = map_get(&end, row_hash(row->table, row->key, s->tables[row->table].key_count)) != MAP_NONE;

		if (s->tables[row->table].blurred || !ends[row->table])
			continue;
		if (!here && there_on_any(j, indexes, row->table, row))
			continue;
		judge_row(j, row, &start, starts, &end, ends, chosen);
		if (i % 1024 == 0)
			meter_things(s->options->meter, "comparing rows", i, s->row_count);
	}
	map_release(&start);
	map_release(&end);
	for (uint32_t n = 0; n < s->life->node_count; n++)
		map_release(&indexes[n]);
	mem_free(indexes);
	mem_free(chosen);
	mem_free(starts);
	mem_free(ends);
}

/* ---- findings ---- */

static const struct sync *order_of; /* for qsort; the oracle runs in one thread */

static int by_end(const void *a, const void *b)
{
	const struct sync_txn *x = &order_of->txns[*(const uint32_t *)a], *y = &order_of->txns[*(const uint32_t *)b];

	return (x->end_seq > y->end_seq) - (x->end_seq < y->end_seq);
}

static void span_of_time(const struct judging *j, const struct gathered *g, struct told *told)
{
	const struct sync *s = j->s;

	told->to_at = s->life->points[j->last].first_at;
	told->from_at = told->to_at;
	for (size_t i = 0; i < g->txn_count; i++) {
		uint64_t at = s->txns[g->txns[i]].end_at;

		if (at && at < told->from_at)
			told->from_at = at;
	}
	if (!g->txn_count && j->first != SYNC_NONE)
		told->from_at = s->life->points[j->first].last_at;
}

static void tell_gathered(struct judging *j, struct gathered *g, enum finding_class class, const char *explanation)
{
	struct sync *s = j->s;
	uint64_t nodes = nodes_read(s, j->last);
	struct told told = {.class = class, .nodes = nodes, .rows = g->rows, .row_count = g->row_count, .row_total = g->row_total,
		.explanation = span_str(explanation)};

	if (!g->row_total)
		return;
	order_of = s;
	if (g->txn_count)
		qsort(g->txns, g->txn_count, sizeof(*g->txns), by_end);
	told.txns = g->txns;
	told.txn_count = (uint32_t)g->txn_count;
	span_of_time(j, g, &told);
	if (node_set_count(nodes) * 2 <= s->life->node_count && s->life->node_count > 2) {
		told.suspicion = true;
		told.caveat = "Only a minority of the nodes was read, so the others may have it.";
	} else if (class == CLASS_DUPLICATE_APPLY && !s->execution->all_sessions) {
		told.suspicion = true;
		told.caveat = "A session that was not recorded may have added to it.";
	} else if (!g->txn_count && g->by_nobody && !s->execution->all_sessions) {
		told.suspicion = true;
		told.caveat = "A session that was not recorded may have deleted these rows.";
	}
	tell(s, &told);
}

static void tell_lost(struct judging *j)
{
	struct gathered *g = &j->lost;
	struct buf text = BUF_INIT;

	buf_printf(&text, "%zu acknowledged commit%s in none of the nodes' rows at %.*s, and nothing that came later explains it.",
		g->txn_count, g->txn_count == 1 ? " is" : "s are", SPAN_ARG(j->s->life->points[j->last].name));
	if (g->sums)
		buf_printf(&text, " %llu sum%s short by %llu in all, which tells that commits are missing and not which.",
			(unsigned long long)g->sums, g->sums == 1 ? " is" : "s are", (unsigned long long)g->sum_missing);
	if (g->by_nobody)
		buf_printf(&text, " %llu row%s there at the start, and no recorded transaction deleted %s.",
			(unsigned long long)g->by_nobody, g->by_nobody == 1 ? " was" : "s were", g->by_nobody == 1 ? "it" : "them");
	if (j->s->circumstances & CIRCUMSTANCE_UNFLUSHED && j->s->circumstances & CIRCUMSTANCE_ALL_DOWN)
		buf_add_str(&text, " The servers answer COMMIT before the log is written (innodb_flush_log_at_trx_commit=0), and at one "
				   "moment no node ran, so the last second of commits was in no file and in no memory.");
	if (j->s->circumstances & CIRCUMSTANCE_BEHIND)
		buf_add_str(&text, " The cluster was founded anew from a node that another node was ahead of, so what only that one had "
				   "was thrown away.");
	tell_gathered(j, g, CLASS_LOST_COMMIT, arena_copy(&j->s->verdict->arena, buf_span(&text)).ptr);
	buf_release(&text);
}

static void release(struct gathered *g)
{
	mem_free(g->txns);
	map_release(&g->seen);
}

/* ---- what was decided ---- */

static void count_decided(struct judging *j)
{
	struct sync *s = j->s;
	uint64_t unknown = 0, open = 0, decided = 0, late = 0;
	const struct life_point *last = j->last == SYNC_NONE ? NULL : &s->life->points[j->last];

	/* What it did to rows that cannot be followed any more. */
	for (size_t i = 0; i < s->effect_count; i++)
		if (s->tables[s->rows[s->effects[i].row].table].blurred)
			s->txns[s->effects[i].txn].open = true;
	for (size_t i = 0; i < s->txn_count; i++) {
		const struct sync_txn *txn = &s->txns[i];

		if (!txn->writes && !txn->open)
			continue;
		if (!last || txn->end_seq > last->last_seq)
			late++;
		else if (txn->open)
			open++;
		else if (txn->outcome == TXN_UNKNOWN)
			unknown++;
		else
			decided++;
	}
	s->verdict->decided += decided + unknown;
	/* They may be there or not, and either is right: no promise is open because of them. */
	verdict_undecided(s->verdict, "transactions that no point at which the cluster was quiet came after", late);
	verdict_undecided(s->verdict, "transactions whose statements do not say which rows they wrote", open);
}

void check_commits(struct sync *s)
{
	struct judging j = {.s = s, .first = first_point(s), .last = last_point(s)};

	if (j.last == SYNC_NONE) {
		count_decided(&j);
		return;
	}
	if (j.last == j.first)
		j.first = SYNC_NONE;
	for (size_t i = 0; i < s->txn_count; i++)
		s->txns[i].late = s->txns[i].end_seq > s->life->points[j.last].first_seq;
	judge_rows(&j);
	tell_lost(&j);
	tell_gathered(&j, &j.resurrected, CLASS_RESURRECTED,
		"What a transaction wrote that failed or was rolled back is in the nodes' rows.");
	tell_gathered(&j, &j.twice, CLASS_DUPLICATE_APPLY,
		"A sum is larger than all its recorded additions together, so one was applied more than once.");
	verdict_undecided(s->verdict, "values or rows at the last point that no recorded transaction wrote", j.unwritten);
	count_decided(&j);
	release(&j.lost);
	release(&j.resurrected);
	release(&j.twice);
}
