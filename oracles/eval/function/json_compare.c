/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparing JSON: JSON_CONTAINS, JSON_CONTAINS_PATH, and the operators. */
#include <string.h>

#include "eval/compile.h"
#include "eval/function/json.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/json.h"

/* ---- comparing ---- */

static struct decimal number_of(struct run *run, const struct json_node *v)
{
	struct decimal d;
	bool overflow;

	if (decimal_parse(v->text, &d, &overflow) != v->text.len || overflow)
		run_gives_up(run, LIMIT_JSON_FUNCTIONS_OF_RARE_TEXT);
	return d;
}

/* Scalars, arrays and objects; not their order. */
static bool same(struct run *run, const struct json_node *a, const struct json_node *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE:
		return true;
	case JSON_NUMBER: {
		struct decimal x = number_of(run, a), y = number_of(run, b);

		return !run->failed && decimal_compare(&x, &y) == 0;
	}
	case JSON_STRING:
		return span_eq(a->value, b->value);
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	a = a->first;
	b = b->first;
	for (; a && b; a = a->next, b = b->next) {
		if (!span_eq(a->key, b->key) || !same(run, a, b))
			return false;
	}
	return !a && !b;
}

static bool contains(struct run *run, struct json_node *target, struct json_node *candidate);

static bool in_element(struct run *run, struct json_node *array, struct json_node *candidate)
{
	for (struct json_node *v = array->first; v; v = v->next) {
		if (contains(run, v, candidate))
			return true;
	}
	return false;
}

/* The manual, JSON_CONTAINS. */
static bool contains(struct run *run, struct json_node *target, struct json_node *candidate)
{
	if (target->kind == JSON_ARRAY) {
		if (candidate->kind != JSON_ARRAY)
			return in_element(run, target, candidate);
		for (struct json_node *v = candidate->first; v; v = v->next) {
			/* MariaDB looks for an array within an array in the whole. */
			if (run->env->flavour == SQL_MARIADB ? !contains(run, target, v)
							     : !in_element(run, target, v))
				return false;
		}
		return true;
	}
	if (target->kind == JSON_OBJECT && candidate->kind == JSON_OBJECT) {
		for (struct json_node *v = candidate->first; v; v = v->next) {
			struct json_node *there = json_member(target, v->key);

			if (!there || !contains(run, there, v))
				return false;
		}
		return true;
	}
	return same(run, target, candidate);
}

static struct node *compile_json_contains(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (json_document_refused(c, n->args[0]) || json_document_refused(c, n->args[1]) ||
		!compile_paths(c, n, 2, 1))
		return NULL;
	n->type = c->env->flavour == SQL_MARIADB ? type_bool() : type_int(false);
	return n;
}

static struct eval_value run_json_contains(const struct node *n, struct frame *f)
{
	struct json_node *target = json_document(n, 0, f);
	struct json_node *candidate = target ? json_document(n, 1, f) : NULL;
	bool yes;

	if (!candidate)
		return EVAL_NULL_VALUE;
	if (n->arg_count > 2)
		target = json_find(target, json_path_of(n, 2), json_path_of(n, 2)->count);
	if (!target)
		return f->run->env->flavour == SQL_MARIADB ? eval_int(0) : EVAL_NULL_VALUE;
	yes = contains(f->run, target, candidate);
	return eval_int(yes);
}

static struct node *compile_json_contains_path(
	struct compiler *c, struct node *n, const struct function *function)
{
	const struct node *how = n->args[1];

	(void)function;
	if (json_contains_path_refused(c, how) || json_document_refused(c, n->args[0]) ||
		!compile_paths(c, n, 2, 1))
		return NULL;
	n->type = c->env->flavour == SQL_MARIADB ? type_bool() : type_int(false);
	return n;
}

static struct eval_value run_json_contains_path(const struct node *n, struct frame *f)
{
	bool all = span_ieq_str(n->args[1]->u.value.s, "all");
	struct json_node *doc = json_document(n, 0, f);

	if (!doc)
		return EVAL_NULL_VALUE;
	for (uint32_t i = 2; i < n->arg_count; i++) {
		if ((json_find(doc, json_path_of(n, i), json_path_of(n, i)->count) != NULL) != all)
			return eval_int(!all);
	}
	return eval_int(all);
}

/* MySQL: the order of types that differ (manual, "Comparison and Ordering of JSON Values"). */
static int rank_of(enum json_kind kind)
{
	static const int ranks[] = {[JSON_NULL] = 0,
		[JSON_NUMBER] = 1,
		[JSON_STRING] = 2,
		[JSON_OBJECT] = 3,
		[JSON_ARRAY] = 4,
		[JSON_FALSE] = 5,
		[JSON_TRUE] = 5};

	return ranks[kind];
}

static int compare_bytes(struct span a, struct span b)
{
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* *equal_only: they differ, and it is not known how. */
static int order_json(
	struct run *run, const struct json_node *a, const struct json_node *b, bool *equal_only)
{
	int x = rank_of(a->kind), y = rank_of(b->kind);

	*equal_only = false;
	if (x != y)
		return x < y ? -1 : 1;
	switch (a->kind) {
	case JSON_NULL:
		return 0;
	case JSON_FALSE:
	case JSON_TRUE:
		return (a->kind == JSON_TRUE) - (b->kind == JSON_TRUE);
	case JSON_NUMBER: {
		struct decimal m = number_of(run, a), n = number_of(run, b);

		return run->failed ? 0 : decimal_compare(&m, &n);
	}
	case JSON_STRING:
		return compare_bytes(a->value, b->value);
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	if (same(run, a, b))
		return 0;
	*equal_only = true;
	return 1;
}

static struct eval_value order_result(
	struct run *run, enum sql_op op, int order, bool equal_only)
{
	if (equal_only && json_order_refused(run, op))
		return EVAL_NULL_VALUE;
	switch (op) {
	case SQL_OP_EQ:
	case SQL_OP_NULL_EQ:
		return eval_int(order == 0);
	case SQL_OP_NE:
		return eval_int(order != 0);
	case SQL_OP_LT:
		return eval_int(order < 0);
	case SQL_OP_LE:
		return eval_int(order <= 0);
	case SQL_OP_GT:
		return eval_int(order > 0);
	default:
		return eval_int(order >= 0);
	}
}

static struct eval_value run_json_compare(const struct node *n, struct frame *f)
{
	struct run *run = f->run;
	struct json_node *sides[2];
	bool equal_only;
	int order;

	for (uint32_t i = 0; i < 2; i++) {
		const struct node *from = n->args[i];

		if (from->type.kind == EVAL_T_JSON) {
			sides[i] = json_document(n, i, f);
			if (sides[i] && compared_json_refused(run, sides[i]))
				return EVAL_NULL_VALUE;
		} else {
			struct eval_value v = require_known(run, node_run(from, f));

			sides[i] = v.kind == EVAL_NULL || run->failed ? NULL : json_value_of(n, i, f);
		}
		if (run->failed)
			return EVAL_NULL_VALUE;
		if (!sides[i] && n->op != SQL_OP_NULL_EQ)
			return EVAL_NULL_VALUE;
	}
	if (!sides[0] || !sides[1])
		return eval_int(!sides[0] && !sides[1]);
	order = order_json(run, sides[0], sides[1], &equal_only);
	return order_result(run, n->op, order, equal_only);
}

/* MariaDB compares a JSON string by its text, and a number as a number. */
static struct eval_value run_json_text_compare(const struct node *n, struct frame *f)
{
	struct run *run = f->run;
	uint32_t at = n->args[0]->type.kind == EVAL_T_JSON ? 0 : 1;
	const struct node *other = n->args[1 - at];
	struct json_node *doc = json_document(n, at, f);
	struct eval_value v = doc || !run->failed ? require_known(run, node_run(other, f)) : EVAL_NULL_VALUE;
	struct decimal x, y;
	int order;

	if (run->failed || !doc || v.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	if (v.kind == EVAL_STRING) {
		struct buf text = BUF_INIT;
		struct span s;
		bool unknown = false;

		if (json_text_refused(run, &v))
			return EVAL_NULL_VALUE;
		json_print(doc, &text);
		s = doc->kind == JSON_STRING ? doc->value : arena_copy(run->arena, buf_span(&text));
		buf_release(&text);
		order = collation_compare(COLLATION_UTF8MB4_BIN, s, v.s, &unknown);
		if (compared_json_text_refused(run, n, order, s, v.s))
			return EVAL_NULL_VALUE;
		return order_result(run, n->op, at ? -order : order, false);
	}
	if (doc->kind == JSON_TRUE || doc->kind == JSON_FALSE)
		doc->text = doc->kind == JSON_TRUE ? SPAN_LIT("1") : SPAN_LIT("0");
	else if (compared_json_number_refused(run, doc))
		return EVAL_NULL_VALUE;
	x = number_of(run, doc);
	y = to_decimal(run, &other->type, &v);
	if (run->failed)
		return EVAL_NULL_VALUE;
	order = decimal_compare(&x, &y);
	return order_result(run, n->op, at ? -order : order, false);
}

struct node *compile_json_compare(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r)
{
	struct node *n = node_new(c, run_json_compare, e, 2);
	const struct node *json = l->type.kind == EVAL_T_JSON ? l : r;
	const struct node *other = json == l ? r : l;

	n->args[0] = l;
	n->args[1] = r;
	n->op = (uint8_t)op;
	n->type = type_bool();
	if (c->env->flavour == SQL_MYSQL) {
		if (other->type.kind == EVAL_T_DECIMAL && other->literal)
			return n;
		return json_value_refused(c, other) ? NULL : n;
	}
	if (json_comparison_refused(c, op, json, other))
		return NULL;
	n->fn = run_json_text_compare;
	if (other->type.kind == EVAL_T_STRING) /* the column's collation */
		n->aux = json->args[0]->column &&
			 json->args[0]->type.collation == COLLATION_UTF8MB4_BIN;
	return n;
}

const struct function functions_json_compare[] = {
	{"json_contains", 2, 3, compile_json_contains, run_json_contains, 0},
	{"json_contains_path", 3, 255, compile_json_contains_path, run_json_contains_path, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
