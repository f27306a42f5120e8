/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of date + INTERVAL and of DATE_ADD and the like: args[0] is the date, args[1] the amount. */
#include "eval/function/time.h"
#include "eval/limits/guards.h"

static bool not_date(const struct guarded *g)
{
	return !type_is_temporal(&g->args[0]->type);
}

/* With days or months it is a DATETIME, of today; before 8.0.28 a text. */
static bool time_becomes_another_type(const struct guarded *g)
{
	return g->args[0]->type.kind == EVAL_T_TIME &&
	       (!interval_has_time(g->unit) || g->unit >= SQL_UNIT_DAY_MICROSECOND ||
		       g->env->version < 80028);
}

bool interval_refused(struct compiler *c, const struct node *interval, enum sql_unit unit)
{
	static const struct guard guards[] = {
		{LIMIT_INTERVAL_ARITHMETIC_ON_OTHER_THAN_DATES, not_date},
		{LIMIT_MYSQL_INTERVAL_ARITHMETIC_ON_TIME, time_becomes_another_type},
	};
	struct guarded g = {.env = c->env,
		.unit = unit,
		.args = interval->args,
		.count = interval->arg_count};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}
