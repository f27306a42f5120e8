/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Date and time functions. */
#include "sql/compile.h"
#include "sql/temporal.h"

struct node *compile_interval(struct compiler *c, const struct sql_expr *e)
{
	(void)e;
	return compile_unsupported(c, "INTERVAL arithmetic");
}

struct node *compile_extract(struct compiler *c, const struct sql_expr *e)
{
	(void)e;
	return compile_unsupported(c, "EXTRACT");
}

const struct function functions_time[] = {
	{NULL, 0, 0, NULL, NULL, 0},
};
