/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See guards.h. */
#include "eval/limits/guards.h"

bool guards_refuse(
	struct compiler *c, const struct guarded *g, const struct guard *guards, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (limit_covers(guards[i].limit, g->env->flavour, g->env->version) &&
			guards[i].met(g)) {
			compile_unsupported(c, guards[i].limit);
			return true;
		}
	}
	return false;
}

bool guards_refuse_each(struct compiler *c, struct guarded *g, uint32_t from,
	const struct guard *guards, size_t count)
{
	for (g->at = from; g->at < g->count; g->at++) {
		if (guards_refuse(c, g, guards, count))
			return true;
	}
	return false;
}
