/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FROM and WHERE run: which combinations of rows match.
 *
 * There are two ways.  The plain one makes every combination that the tree of joins has, and asks ON and WHERE in
 * the order in which they are written; what it says of errors is what counts.  The quick one looks rows up by the
 * columns that must be equal (a.id = b.a_id), joins the smallest tables first, and asks a condition as soon as its
 * tables are there: six tables of a thousand rows are 10^18 combinations otherwise.  It is taken only where no order
 * of conditions can show:
 *
 * 1. whatever it does not ask, or asks of fewer rows than the plain way, cannot fail: an equality of two
 *    columns of one kind, a comparison of such columns, or a condition on one table that was asked of all its rows;
 * 2. from the first part of WHERE on that is none of these, the parts are asked of what is left, in their order;
 * 3. when anything fails after all, an error or something unsupported, all is thrown away and the plain way decides;
 * 4. the matches come in the order of the plain way.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"

#define ABSENT   (UINT32_MAX - 1) /* a table that is not in this part of the join */
#define NULL_ROW UINT32_MAX

/* ---- the plain way ---- */

struct combos {
	uint32_t *data;
	size_t count, capacity;
	uint32_t width;
};

static uint32_t *combo_add(struct run *run, struct combos *c)
{
	if (c->count == c->capacity) {
		size_t capacity = c->capacity ? 2 * c->capacity : 16;
		uint32_t *data = arena_alloc(
			run->arena, capacity * (c->width ? c->width : 1) * sizeof(*data));

		if (c->count)
			memcpy(data, c->data, c->count * c->width * sizeof(*data));
		c->data = data;
		c->capacity = capacity;
	}
	if (c->count >= run->rows_max)
		run_gives_up(run, LIMIT_MORE_ROWS_THAN_BOUND_ALLOWS);
	return c->data + c->width * c->count++;
}

void frame_set(const struct eval_query *q, struct frame *frame, const struct eval_rows *rows,
	const uint32_t *match)
{
	for (uint32_t t = 0; t < q->table_count; t++)
		frame->rows[t] = match[t] < rows[t].count ? rows[t].row[match[t]] : NULL;
}

bool node_is_true(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n, f);

	return v.kind != EVAL_NULL && to_bool(f->run, &n->type, &v) && !f->run->failed;
}

static bool join_matches(const struct join_tree *j, struct frame *f)
{
	for (uint32_t i = 0; i < j->equal_count; i++) {
		if (!node_is_true(j->equal[i], f))
			return false;
	}
	return !j->on || node_is_true(j->on, f);
}

static void join_run(const struct eval_query *q, struct frame *f, const struct join_tree *j,
	const struct eval_rows *rows, struct combos *out)
{
	struct combos left = {.width = out->width}, right = {.width = out->width};

	if (f->run->failed)
		return;
	if (j->kind == JOIN_TABLE) {
		for (size_t i = 0; i < rows[j->table].count && run_step(f->run); i++) {
			uint32_t *combo = combo_add(f->run, out);

			for (uint32_t t = 0; t < out->width; t++)
				combo[t] = t == j->table ? (uint32_t)i : ABSENT;
		}
		return;
	}
	join_run(q, f, j->left, rows, &left);
	join_run(q, f, j->right, rows, &right);
	for (size_t l = 0; l < left.count && !f->run->failed; l++) {
		const uint32_t *a = left.data + l * out->width;
		bool matched = false;

		for (size_t r = 0; r < right.count && run_step(f->run); r++) {
			const uint32_t *b = right.data + r * out->width;
			uint32_t *combo = combo_add(f->run, out);

			for (uint32_t t = 0; t < out->width; t++)
				combo[t] = a[t] == ABSENT ? b[t] : a[t];
			frame_set(q, f, rows, combo);
			if (join_matches(j, f))
				matched = true;
			else
				out->count--;
		}
		if (!matched && j->kind == JOIN_LEFT) {
			uint32_t *combo = combo_add(f->run, out);

			for (uint32_t t = 0; t < out->width; t++)
				combo[t] = a[t];
		}
	}
}

/* Whether a derived table is merged or made is the server's choice, and it shows in DECIMALs that
 * have more digits than their type. */
static bool check_digits(struct run *run, const struct eval_query *q, const struct eval_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		for (uint32_t k = 0; k < q->column_count; k++) {
			struct eval_value v = materialized(run, &q->types[k], rows->row[i][k]);

			if (derived_value_refused(run, &v, &rows->row[i][k]))
				return false;
		}
	}
	return true;
}

static bool load_rows(const struct eval_query *q, const struct frame *outer, struct run *run,
	struct eval_rows *rows)
{
	for (uint32_t t = 0; t < q->table_count; t++) {
		const struct from_table *from = &q->tables[t];

		if (from->cte) {
			rows[t] = from->cte->working;
			continue;
		}
		if (from->derived) {
			struct eval_result result;

			if (!run_query(from->derived, run, outer, &result))
				return false;
			if (result.open_count) {
				run_gives_up(run, LIMIT_LIMIT_THAT_CUTS_BETWEEN_EQUAL_ROWS);
				return false;
			}
			rows[t] = (struct eval_rows){result.rows, result.row_count};
			if (!check_digits(run, from->derived, &rows[t]))
				return false;
			continue;
		}
		if (!run->source ||
			!run->source->rows(run->source->ctx, from->base, from->ref, &rows[t])) {
			run_gives_up(run, LIMIT_TABLE_WHOSE_ROWS_ARE_NOT_KNOWN);
			return false;
		}
	}
	return true;
}

/* ---- the quick way ---- */

enum { QUICK_TABLES_MAX = 64, QUICK_CONDITIONS_MAX = 64, QUICK_COMBOS_MIN = 64 };

/* A part of ON or WHERE that must be true. */
struct condition {
	const struct node *node;
	uint64_t tables; /* that it looks at */
	bool key;        /* an equality of two columns by which rows can be looked up */
	bool done;
};

struct conditions {
	struct condition list[QUICK_CONDITIONS_MAX];
	uint32_t count;
};

/* Tables that were joined already, or one alone. */
struct part {
	uint64_t tables;
	struct combos rows;
};

struct quick {
	const struct eval_query *q;
	struct frame *f;
	const struct eval_rows *rows;
	bool failed; /* the plain way must be gone */
};

static uint64_t quick_tables(const struct join_tree *j)
{
	return j->kind == JOIN_TABLE ? UINT64_C(1) << j->table
				     : quick_tables(j->left) | quick_tables(j->right);
}

/* Which tables of this query it looks at. */
static uint64_t tables_of(const struct node *n)
{
	uint64_t tables = 0;

	if (n->column && n->u.at.depth == 0)
		return UINT64_C(1) << n->u.at.table;
	if (node_asks_outer(n))
		return UINT64_MAX;
	for (uint32_t i = 0; i < n->arg_count; i++)
		tables |= tables_of(n->args[i]);
	return tables;
}

/* Two columns that can be compared without being converted. */
static bool same_kind(const struct eval_type *a, const struct eval_type *b)
{
	if (a->kind != b->kind || a->hybrid || b->hybrid || a->shared || b->shared)
		return false;
	switch ((enum eval_type_kind)a->kind) {
	case EVAL_T_INT:
	case EVAL_T_DATE:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return true;
	case EVAL_T_DECIMAL:
		return a->decimals == b->decimals && !a->quotient && !b->quotient;
	case EVAL_T_STRING:
		return a->collation == b->collation;
	case EVAL_T_NULL:
	case EVAL_T_BIT:
	case EVAL_T_YEAR:
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_JSON:
	case EVAL_T_TIME:
		return false;
	}
	return false;
}

static bool is_own_column(const struct node *n)
{
	return n->column && !n->computed && n->u.at.depth == 0;
}

static bool compares_columns(const struct node *n)
{
	return node_is_comparison(n) && is_own_column(n->args[0]) && is_own_column(n->args[1]) &&
	       same_kind(&n->args[0]->type, &n->args[1]->type);
}

static bool never_fails(const struct node *n)
{
	if (n->guarded || !n->expr)
		return false;
	if (node_is_and(n) || (n->expr->kind == SQL_EXPR_BINARY && n->expr->op == SQL_OP_OR))
		return n->arg_count == 2 && never_fails(n->args[0]) && never_fails(n->args[1]);
	if (n->expr->kind == SQL_EXPR_IS)
		return n->arg_count == 1 && is_own_column(n->args[0]);
	return compares_columns(n);
}

/* False: too many. */
static bool split(const struct node *n, struct conditions *out)
{
	if (node_is_and(n)) {
		for (uint32_t i = 0; i < n->arg_count; i++) {
			if (!split(n->args[i], out))
				return false;
		}
		return true;
	}
	if (out->count == QUICK_CONDITIONS_MAX)
		return false;
	out->list[out->count++] = (struct condition){
		.node = n,
		.tables = tables_of(n),
		.key = compares_columns(n) && n->op == SQL_OP_EQ &&
		       n->args[0]->u.at.table != n->args[1]->u.at.table};
	return true;
}

/* May the whole be taken apart?  Not where its guard says something when nothing failed. */
static bool is_divisible(const struct node *n)
{
	return !n->guarded || !(n->with_failing || n->with_cut || n->asks_all);
}

/* ON and USING of one join. */
static bool split_join(const struct join_tree *j, struct conditions *out)
{
	for (uint32_t i = 0; i < j->equal_count; i++) {
		if (!is_divisible(j->equal[i]) || !split(j->equal[i], out))
			return false;
	}
	return !j->on || (is_divisible(j->on) && split(j->on, out));
}

static bool quick_failed(struct quick *s)
{
	s->failed |= s->f->run->failed;
	return s->failed;
}

/* The value by which a row is looked up; false: NULL, which equals nothing. */
static bool add_key(struct quick *s, const struct node *column, const uint32_t *combo, struct buf *key)
{
	uint32_t row = combo[column->u.at.table];
	const struct eval_value *v;
	bool unknown = false;

	if (row >= s->rows[column->u.at.table].count)
		return false;
	v = &s->rows[column->u.at.table].row[row][column->u.at.column];
	switch ((enum eval_kind)v->kind) {
	case EVAL_NULL:
		return false;
	case EVAL_INT:
	case EVAL_UINT: /* a negative one and an unsigned one with its bits are distinguished when they are compared */
		buf_add(key, &v->u, sizeof(v->u));
		return true;
	case EVAL_STRING:
		collation_key(column->type.collation, v->s, key, &unknown);
		s->failed |= unknown;
		buf_add_char(key, 0);
		return true;
	case EVAL_DECIMAL:
	case EVAL_DATE:
	case EVAL_DATETIME:
		eval_key(&column->type, v, key);
		return true;
	case EVAL_DOUBLE:
	case EVAL_TIME:
	case EVAL_OPAQUE:
		s->failed = true;
		return false;
	}
	return false;
}

static bool hash_keys(struct quick *s, struct conditions *conditions, const uint64_t sides[2], int side,
	const uint32_t *combo, struct buf *key, uint64_t *hash)
{
	buf_clear(key);
	for (uint32_t i = 0; i < conditions->count; i++) {
		const struct condition *c = &conditions->list[i];
		const struct node *n = c->node;
		int first;

		if (!c->key || c->done || !(c->tables & sides[0]) || !(c->tables & sides[1]) ||
			(c->tables & ~(sides[0] | sides[1])))
			continue;
		first = (UINT64_C(1) << n->args[0]->u.at.table & sides[side]) ? 0 : 1;
		if (!add_key(s, n->args[first], combo, key))
			return false;
	}
	*hash = hash_bytes(key->data, key->len);
	return true;
}

/* The rows of one side, to be found by the hash of their keys; in their order. */
struct lookup {
	uint32_t *first, *next; /* numbers of rows + 1 */
	uint64_t *hashes;
	uint64_t mask;
};

static struct lookup lookup_build(struct quick *s, struct conditions *conditions, const uint64_t sides[2],
	const struct combos *rows, struct buf *key)
{
	struct arena *arena = s->f->run->arena;
	struct lookup l = {.mask = 15};

	while (l.mask < 2 * rows->count)
		l.mask = 2 * l.mask + 1;
	l.first = arena_zero(arena, (l.mask + 1) * sizeof(*l.first));
	l.next = arena_zero(arena, (rows->count + 1) * sizeof(*l.next));
	l.hashes = arena_alloc(arena, (rows->count + 1) * sizeof(*l.hashes));
	for (size_t i = rows->count; i-- > 0 && !quick_failed(s);) {
		if (!run_has_room(s->f->run) ||
			!hash_keys(s, conditions, sides, 1, rows->data + i * rows->width, key, &l.hashes[i]))
			continue;
		l.next[i] = l.first[l.hashes[i] & l.mask];
		l.first[l.hashes[i] & l.mask] = (uint32_t)i + 1;
	}
	return l;
}

/* Are all conditions true that need nothing but these tables, and that were not asked before? */
static bool conditions_hold(struct quick *s, const struct conditions *conditions, uint64_t tables,
	const uint32_t *combo)
{
	frame_set(s->q, s->f, s->rows, combo);
	for (uint32_t i = 0; i < conditions->count; i++) {
		const struct condition *c = &conditions->list[i];

		if (!c->done && !(c->tables & ~tables) && !node_is_true(c->node, s->f))
			return false;
	}
	return true;
}

static void conditions_settle(struct conditions *conditions, uint64_t tables)
{
	for (uint32_t i = 0; i < conditions->count; i++)
		conditions->list[i].done |= !(conditions->list[i].tables & ~tables);
}

static void part_filter(struct quick *s, struct part *part, struct conditions *conditions)
{
	size_t kept = 0, width = part->rows.width;
	bool any = false;

	for (uint32_t i = 0; i < conditions->count; i++)
		any |= !conditions->list[i].done && !(conditions->list[i].tables & ~part->tables);
	for (size_t i = 0; any && i < part->rows.count && run_step(s->f->run); i++) {
		uint32_t *combo = part->rows.data + i * width;

		if (!conditions_hold(s, conditions, part->tables, combo))
			continue;
		memmove(part->rows.data + kept++ * width, combo, width * sizeof(*combo));
	}
	if (any)
		part->rows.count = kept;
	conditions_settle(conditions, part->tables);
	(void)quick_failed(s);
}

static bool is_linked(const struct conditions *conditions, uint64_t a, uint64_t b)
{
	for (uint32_t i = 0; i < conditions->count; i++) {
		const struct condition *c = &conditions->list[i];

		if (c->key && !c->done && (c->tables & a) && (c->tables & b) && !(c->tables & ~(a | b)))
			return true;
	}
	return false;
}

/* left becomes left joined with right: rows of right in their order for each of left. */
static void part_join(struct quick *s, struct part *left, const struct part *right,
	struct conditions *conditions, bool outer)
{
	uint64_t sides[2] = {left->tables, right->tables};
	struct combos out = {.width = left->rows.width};
	struct run *run = s->f->run;
	bool linked = is_linked(conditions, left->tables, right->tables);
	struct lookup lookup = {0};
	struct buf key = BUF_INIT;

	if (linked)
		lookup = lookup_build(s, conditions, sides, &right->rows, &key);
	for (size_t i = 0; i < left->rows.count && !quick_failed(s) && run_step(run); i++) {
		const uint32_t *a = left->rows.data + i * out.width;
		uint64_t hash = 0;
		uint32_t at = right->rows.count ? 1 : 0; /* number of a row + 1 */
		bool matched = false;

		if (linked)
			at = hash_keys(s, conditions, sides, 0, a, &key, &hash) ? lookup.first[hash & lookup.mask] : 0;
		while (at && run_step(run)) {
			const uint32_t *b = right->rows.data + (at - 1) * out.width;

			if (!linked || lookup.hashes[at - 1] == hash) {
				uint32_t *combo = combo_add(run, &out);

				for (uint32_t t = 0; t < out.width; t++)
					combo[t] = a[t] == ABSENT ? b[t] : a[t];
				if (conditions_hold(s, conditions, sides[0] | sides[1], combo))
					matched = true;
				else
					out.count--;
			}
			at = linked ? lookup.next[at - 1] : at < right->rows.count ? at + 1 : 0;
		}
		if (!matched && outer)
			memcpy(combo_add(run, &out), a, out.width * sizeof(*a));
	}
	buf_release(&key);
	left->rows = out;
	left->tables |= right->tables;
	conditions_settle(conditions, left->tables);
	(void)quick_failed(s);
}

static struct part quick_join(struct quick *s, const struct join_tree *j, const struct conditions *more);

/* The members of a chain of inner joins, and its conditions. */
struct chain {
	const struct join_tree *members[QUICK_TABLES_MAX];
	uint32_t count;
	struct conditions conditions;
};

static bool chain_add(const struct join_tree *j, struct chain *chain)
{
	if (j->kind != JOIN_INNER) {
		chain->members[chain->count++] = j;
		return true;
	}
	return chain_add(j->left, chain) && chain_add(j->right, chain) && split_join(j, &chain->conditions);
}

static bool is_within(const struct join_tree *j, const struct condition *c)
{
	return !(c->tables & ~quick_tables(j));
}

/* Asked of fewer rows than the plain way asks it of. */
static bool may_be_moved(const struct chain *chain, const struct condition *c)
{
	for (uint32_t i = 0; i < chain->count; i++) {
		if (is_within(chain->members[i], c))
			return true;
	}
	return c->key || never_fails(c->node);
}

/* ON of an outer join: may it be asked of fewer rows of the left side?  What looks at the right side alone is asked
 * of all its rows, whatever becomes of the left one. */
static bool bears_fewer(const struct conditions *on, uint64_t right)
{
	for (uint32_t i = 0; i < on->count; i++) {
		const struct condition *c = &on->list[i];

		if (!c->key && (c->tables & ~right) && !never_fails(c->node))
			return false;
	}
	return true;
}

/* Conditions on the left side of an outer join are true of the same rows before it; up to the first that looks
 * at both, if that may fail. */
static void take_left(struct conditions *from, uint64_t left, uint64_t both, struct conditions *to)
{
	for (uint32_t i = 0; i < from->count; i++) {
		struct condition *c = &from->list[i];

		if (c->done || (c->tables & ~both))
			continue;
		if (!(c->tables & ~left)) {
			to->list[to->count++] = *c;
			c->done = true;
		} else if (!c->key && !never_fails(c->node)) {
			return;
		}
	}
}

/* ON of an outer join, of rows of its left side alone: asked of all of them, to see that none fails. */
static bool left_may_fail(struct quick *s, const struct conditions *on, const struct part *left)
{
	for (size_t i = 0; i < left->rows.count && run_step(s->f->run); i++)
		(void)conditions_hold(s, on, left->tables, left->rows.data + i * left->rows.width);
	for (uint32_t i = 0; i < on->count; i++) {
		const struct condition *c = &on->list[i];

		if (!c->done && !c->key && (c->tables & ~left->tables) && !never_fails(c->node))
			s->failed = true;
	}
	return quick_failed(s);
}

static struct part quick_outer(struct quick *s, const struct join_tree *j, struct conditions *conditions)
{
	struct arena *arena = s->f->run->arena;
	struct conditions *on = arena_zero(arena, sizeof(*on)), *early = arena_zero(arena, sizeof(*early));
	uint64_t left = quick_tables(j->left), right = quick_tables(j->right);
	struct part all = {0}, other;

	if (!split_join(j, on)) {
		s->failed = true;
		return all;
	}
	if (bears_fewer(on, right))
		take_left(conditions, left, left | right, early);
	all = quick_join(s, j->left, early);
	other = quick_join(s, j->right, NULL);
	if (quick_failed(s))
		return all;
	part_filter(s, &other, on);
	if (left_may_fail(s, on, &all))
		return all;
	part_join(s, &all, &other, on, true);
	for (size_t i = 0; i < all.rows.count; i++) {
		uint32_t *combo = all.rows.data + i * all.rows.width;

		for (uint32_t t = 0; t < all.rows.width; t++) {
			if (combo[t] == ABSENT && (right >> t & 1))
				combo[t] = NULL_ROW;
		}
	}
	return all;
}

static struct part quick_member(struct quick *s, const struct join_tree *j, struct conditions *conditions)
{
	struct part part = {.tables = quick_tables(j), .rows = {.width = s->q->table_count}};

	if (j->kind == JOIN_TABLE)
		join_run(s->q, s->f, j, s->rows, &part.rows);
	else
		part = quick_outer(s, j, conditions);
	if (!quick_failed(s))
		part_filter(s, &part, conditions);
	return part;
}

/* The place of each table in the order of the plain way. */
static void tree_order(const struct join_tree *j, uint32_t *order, uint32_t *count)
{
	if (j->kind == JOIN_TABLE) {
		order[(*count)++] = j->table;
		return;
	}
	tree_order(j->left, order, count);
	tree_order(j->right, order, count);
}

struct tree_sort {
	uint32_t order[QUICK_TABLES_MAX], count;
};

static int compare_combos(const void *pa, const void *pb, void *ctx)
{
	const struct tree_sort *sort = ctx;
	const uint32_t *a = pa, *b = pb;

	for (uint32_t i = 0; i < sort->count; i++) {
		uint32_t t = sort->order[i];

		if (a[t] != b[t])
			return a[t] < b[t] ? -1 : 1;
	}
	return 0;
}

/* The next to be joined: linked to what there is, and small. */
static uint32_t next_member(const struct part *parts, uint32_t count, const bool *used, const struct part *all,
	const struct conditions *conditions)
{
	uint32_t best = UINT32_MAX;
	bool best_linked = false;

	for (uint32_t i = 0; i < count; i++) {
		bool linked = all && is_linked(conditions, all->tables, parts[i].tables);

		if (!used[i] && (best == UINT32_MAX || (linked && !best_linked) ||
					(linked == best_linked && parts[i].rows.count < parts[best].rows.count))) {
			best = i;
			best_linked = linked;
		}
	}
	return best;
}

/* All rows of a tree that satisfy its ON and those of `more` that look at its tables only. */
static struct part quick_join(struct quick *s, const struct join_tree *j, const struct conditions *more)
{
	struct arena *arena = s->f->run->arena;
	struct chain *chain = arena_zero(arena, sizeof(*chain));
	struct part *parts, all = {0};
	struct tree_sort sort = {.count = 0};
	bool used[QUICK_TABLES_MAX] = {false}, moved = false;

	if (quick_failed(s) || !chain_add(j, chain)) {
		s->failed = true;
		return all;
	}
	for (uint32_t i = 0; i < chain->conditions.count; i++)
		s->failed |= !may_be_moved(chain, &chain->conditions.list[i]);
	for (uint32_t i = 0; more && i < more->count; i++) {
		if (more->list[i].done || !is_within(j, &more->list[i]))
			continue;
		if (chain->conditions.count == QUICK_CONDITIONS_MAX) {
			s->failed = true;
			break;
		}
		chain->conditions.list[chain->conditions.count++] = more->list[i];
	}
	parts = arena_zero(arena, (chain->count + 1) * sizeof(*parts));
	for (uint32_t i = 0; i < chain->count && !quick_failed(s); i++)
		parts[i] = quick_member(s, chain->members[i], &chain->conditions);
	for (uint32_t joined = 0; joined < chain->count && !quick_failed(s); joined++) {
		uint32_t next = next_member(parts, chain->count, used, joined ? &all : NULL, &chain->conditions);

		used[next] = true;
		moved |= next != joined;
		if (joined)
			part_join(s, &all, &parts[next], &chain->conditions, false);
		else
			all = parts[next];
	}
	for (uint32_t i = 0; i < chain->conditions.count; i++)
		s->failed |= !chain->conditions.list[i].done;
	if (moved && !s->failed) {
		tree_order(j, sort.order, &sort.count);
		qsort_r(all.rows.data, all.rows.count, all.rows.width * sizeof(*all.rows.data),
			compare_combos, &sort);
	}
	return all;
}

/* Are there so many combinations that looking rows up is worth it? */
static bool has_many_combos(const struct eval_query *q, const struct eval_rows *rows)
{
	uint64_t combos = 1;

	for (uint32_t t = 0; t < q->table_count && combos < QUICK_COMBOS_MIN; t++)
		combos *= rows[t].count;
	return combos >= QUICK_COMBOS_MIN;
}

/* WHERE, up to the first part that may fail and cannot be asked of one member's rows alone. */
static bool split_where(const struct eval_query *q, struct arena *arena, struct conditions *first,
	struct conditions *rest)
{
	struct chain *chain = arena_zero(arena, sizeof(*chain));
	struct conditions *all = arena_zero(arena, sizeof(*all));
	bool firsts = true;

	if (!q->where)
		return true;
	if (!is_divisible(q->where) || !split(q->where, all) || !chain_add(q->from, chain))
		return false;
	for (uint32_t i = 0; i < all->count; i++) {
		struct conditions *to;

		firsts = firsts && may_be_moved(chain, &all->list[i]);
		to = firsts ? first : rest;
		to->list[to->count++] = all->list[i];
	}
	return true;
}

/* False: nothing was found out. */
static bool quick_from(const struct eval_query *q, struct frame *f, const struct eval_rows *rows,
	uint32_t **matches, size_t *count)
{
	struct run *run = f->run;
	struct eval_outcome before = *run->outcome;
	uint64_t steps = run->steps;
	struct quick s = {.q = q, .f = f, .rows = rows};
	struct conditions *first, *rest;
	struct part all;

	if (run->failed || q->table_count < 2 || q->table_count > QUICK_TABLES_MAX || !has_many_combos(q, rows))
		return false;
	first = arena_zero(run->arena, sizeof(*first));
	rest = arena_zero(run->arena, sizeof(*rest));
	if (!split_where(q, run->arena, first, rest))
		return false;
	all = quick_join(&s, q->from, first);
	all.tables = UINT64_MAX; /* what is left may look at anything */
	if (!s.failed)
		part_filter(&s, &all, rest);
	if (s.failed) {
		*run->outcome = before;
		run->failed = false;
		run->steps = steps;
		return false;
	}
	*matches = all.rows.data;
	*count = all.rows.count;
	return true;
}

bool run_from(const struct eval_query *q, struct frame *f, struct eval_rows *rows,
	uint32_t **matches, size_t *count)
{
	struct combos all = {.width = q->table_count};
	size_t kept = 0;

	if (!load_rows(q, f->outer, f->run, rows))
		return false;
	if (q->from && quick_from(q, f, rows, matches, count))
		return true;
	if (q->from) {
		join_run(q, f, q->from, rows, &all);
		for (size_t i = 0; i < all.count * all.width; i++) {
			if (all.data[i] == ABSENT)
				all.data[i] = NULL_ROW;
		}
	} else {
		combo_add(f->run, &all);
	}
	if (f->run->failed)
		return false;
	for (size_t i = 0; i < all.count; i++) {
		uint32_t *match = all.data + i * all.width;

		if (q->where) {
			frame_set(q, f, rows, match);
			if (!node_is_true(q->where, f)) {
				if (f->run->failed) {
					where_error_refused(f->run, q->where);
					return false;
				}
				continue;
			}
		}
		memmove(all.data + kept * all.width, match, all.width * sizeof(*match));
		kept++;
	}
	*matches = all.data;
	*count = kept;
	return !f->run->failed;
}
