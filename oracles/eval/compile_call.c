/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of functions compiled: which function it is, and its arguments. */
#include <stdio.h>

#include "eval/compile.h"
#include "eval/limits/guards.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"
#include "server/errors.h"

/* ---- calls ---- */

static const struct function *find_in(const struct function *table, struct span name)
{
	for (const struct function *f = table; f->name; f++) {
		if (span_ieq_str(name, f->name))
			return f;
	}
	return NULL;
}

static const struct function *find_function(struct span name)
{
	const struct function *found = NULL;
	static const struct function *const tables[] = {functions_control, functions_number,
		functions_string, functions_string_edit, functions_string_notation,
		functions_string_search, functions_time, functions_time_format, functions_time_zone,
		functions_interval, functions_regexp, functions_json, functions_json_compare,
		functions_digest, functions_encode};

	for (size_t i = 0; i < ARRAY_LEN(tables) && !found; i++)
		found = find_in(tables[i], name);
	return found;
}

/* LOCATE(part, text): the servers resolve the text first, which decides which of two errors shows. */
static bool compile_located(struct compiler *c, const struct sql_expr *part, struct node **out)
{
	const struct sql_expr *from = part->next->next;

	out[1] = compile_expr(c, part->next);
	out[0] = compile_expr(c, part);
	if (from)
		out[2] = compile_expr(c, from);
	return !c->failed;
}

/* The reason names the function: FUNCTION SOUNDEX is not FUNCTION EXP where reasons are counted. */
static struct node *function_not_modelled(struct compiler *c, struct span name)
{
	struct eval_outcome *o = c->outcome;
	bool first = o->status == EVAL_OK;

	compile_gives_up(c, LIMIT_FUNCTION_NOT_MODELLED);
	if (!first)
		return NULL;
	snprintf(o->reason, sizeof(o->reason), "function %.*s", (int)(name.len > 40 ? 40 : name.len),
		name.ptr);
	for (char *p = o->reason + 9; *p; p++)
		*p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
	return NULL;
}

struct node *compile_call(struct compiler *c, const struct sql_expr *e)
{
	const struct sql_exprs *args = &e->u.call.args;
	const struct function *function;
	bool is_aggregate;
	struct node *n;

	if (call_refused(c, e))
		return NULL;
	n = compile_aggregate(c, e, &is_aggregate);
	if (is_aggregate)
		return n;
	if (c->env->flavour == SQL_MYSQL && !e->u.call.quoted &&
		span_ieq_str(e->u.call.name, "grouping"))
		return compile_grouping(c, e);
	if (e->u.call.extra && e->u.call.extra->over)
		return compile_window(c, e);
	if (call_clauses_refused(c, e->u.call.extra))
		return NULL;
	/* With arguments they are others: RAND(7), UNIX_TIMESTAMP(d). */
	function = args->count ? NULL : find_in(functions_opaque, e->u.call.name);
	if (!function)
		function = find_function(e->u.call.name);
	if (!function)
		return function_not_modelled(c, e->u.call.name);
	if (function_refused(c, e->u.call.name))
		return NULL;
	if (args->count < function->args_min || args->count > function->args_max)
		return compile_error(c, ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, "the wrong number of arguments");
	n = node_new(c, function->fn, e, args->count);
	if (span_ieq_str(e->u.call.name, "locate") ? !compile_located(c, args->first, n->args)
						   : !compile_list(c, args, n->args))
		return NULL;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (node_is_row(n->args[i]))
			return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	}
	n->op = (uint8_t)function->number;
	return function->compile(c, n, function);
}
