/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UUID(), RAND(), SYSDATE() and others whose value only the server knows, and passwords that were not
 * recorded.  The value may be stored and shown as an opaque one (EVAL_OPAQUE), as that of NOW() in time.c.
 */
#include "eval/compile.h"

static struct eval_value run_opaque(const struct node *n, struct frame *f)
{
	(void)n;
	if (f->run->carrying && f->run->env->opaque_count)
		return (struct eval_value){.kind = EVAL_OPAQUE, .u = ++*f->run->env->opaque_count};
	return run_gives_up(f->run, LIMIT_VALUE_THAT_ONLY_SERVER_KNOWS);
}

static struct node *compile_opaque(struct compiler *c, struct node *n, const struct function *function)
{
	switch ((enum eval_type_kind)function->number) {
	case EVAL_T_INT:
		n->type = type_int(true);
		break;
	case EVAL_T_DOUBLE:
		n->type = type_double();
		break;
	case EVAL_T_STRING:
		n->type = type_string(c->env->collation_connection, 4, 36);
		break;
	default:
		n->type = type_temporal((enum eval_type_kind)function->number, 0);
	}
	n->carries = true;
	return n;
}

struct node *compile_masked(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_opaque, e, 0);

	/* How long it is is not known: where it was stored it had room, or was cut. */
	n->type = type_string(c->env->collation_connection, 4, 0);
	n->carries = true;
	return n;
}

const struct function functions_opaque[] = {
	{"unix_timestamp", 0, 0, compile_opaque, run_opaque, EVAL_T_INT},
	{"sysdate", 0, 0, compile_opaque, run_opaque, EVAL_T_DATETIME},
	{"utc_timestamp", 0, 0, compile_opaque, run_opaque, EVAL_T_DATETIME},
	{"utc_date", 0, 0, compile_opaque, run_opaque, EVAL_T_DATE},
	{"utc_time", 0, 0, compile_opaque, run_opaque, EVAL_T_TIME},
	{"rand", 0, 0, compile_opaque, run_opaque, EVAL_T_DOUBLE},
	{"uuid", 0, 0, compile_opaque, run_opaque, EVAL_T_STRING},
	{NULL, 0, 0, NULL, NULL, 0},
};
