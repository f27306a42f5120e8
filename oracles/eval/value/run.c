/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One evaluation and its bounds: rows, steps, memory. */
#include <string.h>

#include "eval/node.h"

enum { ROWS_MAX_DEFAULT = 1000 * 1000 };

#define STEPS_MAX_DEFAULT 50000000ull

/* What one evaluation may allocate, and what all may together that share an arena (a statement is evaluated again
 * for each read view that it can have). */
#define BYTES_MAX_DEFAULT ((size_t)256 * 1024 * 1024)

#define BYTES_MAX_ARENA   (4 * BYTES_MAX_DEFAULT)

static size_t bytes_max(const struct eval_env *env, const struct arena *arena)
{
	size_t max = arena->total + (env->bytes_max ? env->bytes_max : BYTES_MAX_DEFAULT);

	return max < BYTES_MAX_ARENA ? max : BYTES_MAX_ARENA;
}

struct run run_begin(const struct eval_env *env, const struct eval_source *source,
	struct arena *arena, struct eval_outcome *outcome)
{
	memset(outcome, 0, sizeof(*outcome));
	return (struct run){.env = env,
		.source = source,
		.arena = arena,
		.outcome = outcome,
		.bytes_max = bytes_max(env, arena),
		.rows_max = env->rows_max ? env->rows_max : ROWS_MAX_DEFAULT,
		.steps_max = env->steps_max ? env->steps_max : STEPS_MAX_DEFAULT};
}

bool run_has_room(struct run *run)
{
	if (UNLIKELY(run->arena->total > run->bytes_max))
		run_gives_up(run, LIMIT_MORE_MEMORY_THAN_BOUND_ALLOWS);
	return !run->failed;
}

bool run_step(struct run *run)
{
	if (UNLIKELY(++run->steps > run->steps_max))
		run_gives_up(run, LIMIT_MORE_WORK_THAN_BOUND_ALLOWS);
	return run_has_room(run);
}
