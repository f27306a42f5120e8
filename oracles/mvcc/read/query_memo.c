/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/read/query_memo.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "eval/value/decimal.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"

enum {
	VALUES_MAX = 4096,         /* of an answer that is kept */
	ARENA_MAX = 16 << 20,      /* of all of them: then they are forgotten */
};

/* A plan with `outer` reads its tables in two ways; variables of a stored program change while it runs. */
static bool is_apt(const struct mvcc *m)
{
	return !m->now.plan->outer && !m->now.env.has_about && !m->now.env.locals && !m->now.matching && m->now.plan->reads;
}

static uint64_t mixed(uint64_t key, uint64_t with)
{
	return hash_mix(key ^ with, UINT64_C(0x9e3779b97f4a7c15)) + with;
}

static uint64_t first_key(const struct mvcc *m)
{
	const struct eval_env *env = &m->now.env;
	uint64_t key = mixed((uint64_t)(uintptr_t)m->now.plan, m->now.stmt);

	return mixed(key, env->has_last_insert_id ? env->last_insert_id : UINT64_MAX);
}

static uint64_t key_after(uint64_t key, const struct gathered *g)
{
	key = mixed(mixed(key, (uint64_t)(uintptr_t)g->table), g->count);
	for (size_t i = 0; i < g->count; i++)
		key = mixed(key, (uint64_t)(uintptr_t)g->rows[i]);
	return key;
}

bool query_memo_find(struct mvcc *m, struct eval_result *result, bool *fits)
{
	const struct query_memo *memo = &m->memo;
	uint64_t key;

	if (!is_apt(m))
		return false;
	key = first_key(m);
	for (uint32_t tables = 0;; tables++) {
		uint32_t at = map_get(&memo->steps, key);
		const struct memo_step *step = at == MAP_NONE ? NULL : &memo->list[at];
		struct eval_rows rows;

		if (!step || (step->table && !rows_of(m, step->table, NULL, &rows)))
			return false;
		if (!step->table) {
			*result = step->result;
			*fits = step->fits;
			return true;
		}
		key = key_after(key, &m->gathered.list[tables]);
	}
}

/* ---- keeping ---- */

static const struct eval_value *keep_row(struct arena *arena, const struct eval_value *row, uint32_t width)
{
	struct eval_value *kept = arena_alloc(arena, (width + 1) * sizeof(*kept));

	for (uint32_t c = 0; c < width; c++) {
		kept[c] = row[c];
		if (row[c].kind == EVAL_STRING) {
			kept[c].s = arena_copy(arena, row[c].s);
		} else if (row[c].kind == EVAL_DECIMAL) {
			struct decimal *number = arena_alloc(arena, sizeof(*number));

			*number = *row[c].dec;
			kept[c].dec = number;
		}
	}
	return kept;
}

static const struct eval_value *const *keep_rows(
	struct arena *arena, const struct eval_value *const *rows, size_t count, uint32_t width)
{
	const struct eval_value **kept = arena_alloc(arena, (count + 1) * sizeof(*kept));

	for (size_t i = 0; i < count; i++)
		kept[i] = keep_row(arena, rows[i], width);
	return kept;
}

static struct eval_result keep_result(struct arena *arena, const struct eval_result *r)
{
	struct eval_result kept = *r;

	kept.rows = keep_rows(arena, r->rows, r->row_count, r->column_count);
	kept.open = r->open_count ? keep_rows(arena, r->open, r->open_count, r->column_count) : NULL;
	if (r->order_group) {
		struct span groups = span_of(r->order_group, r->row_count * sizeof(*r->order_group));

		kept.order_group = (const uint32_t *)(const void *)arena_copy(arena, groups).ptr;
	}
	return kept;
}

static void forget_all(struct query_memo *memo)
{
	map_release(&memo->steps);
	memo->steps = MAP_INIT;
	memo->count = 0;
	arena_clear(&memo->arena);
}

static struct memo_step *add_step(struct query_memo *memo, uint64_t key)
{
	uint32_t *at = map_at(&memo->steps, key);

	if (*at != MAP_NONE)
		return NULL;
	MEM_RESERVE(memo->list, memo->count + 1, memo->capacity);
	*at = (uint32_t)memo->count;
	memo->list[memo->count] = (struct memo_step){.table = NULL};
	return &memo->list[memo->count++];
}

void query_memo_keep(struct mvcc *m, const struct eval_result *result, bool fits)
{
	struct query_memo *memo = &m->memo;
	struct memo_step *step;
	uint64_t key;

	if (!is_apt(m) || (result->row_count + result->open_count) * result->column_count > VALUES_MAX)
		return;
	if (memo->arena.total > ARENA_MAX || memo->count > ARENA_MAX / sizeof(*step))
		forget_all(memo);
	key = first_key(m);
	for (uint32_t i = 0; i < m->gathered.count; i++) {
		step = add_step(memo, key);
		if (step)
			step->table = m->gathered.list[i].table->def;
		key = key_after(key, &m->gathered.list[i]);
	}
	step = add_step(memo, key);
	if (step) {
		step->result = keep_result(&memo->arena, result);
		step->fits = fits;
	}
}

void query_memo_release(struct query_memo *memo)
{
	map_release(&memo->steps);
	mem_free(memo->list);
	arena_release(&memo->arena);
}
