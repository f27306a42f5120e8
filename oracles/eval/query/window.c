/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Window functions (MySQL manual, "Window Functions"; MariaDB, "Window Functions Overview").
 *
 * They are computed when WHERE, GROUP BY and HAVING are done, over the rows or groups that are
 * left. Rows that are equal under a window's ORDER BY are peers.  A server may have peers in any
 * order; where the value depends on it (ROW_NUMBER, LAG, frames of ROWS between peers) it is
 * unsupported.
 */
#include <stdlib.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/query/window.h"
#include "eval/value/release.h"
#include "server/errors.h"

static const struct {
	const char *name;
	enum window_kind kind;
	uint8_t args_min, args_max;
} kinds[] = {
	{"row_number", WINDOW_ROW_NUMBER, 0, 0},
	{"rank", WINDOW_RANK, 0, 0},
	{"dense_rank", WINDOW_DENSE_RANK, 0, 0},
	{"percent_rank", WINDOW_PERCENT_RANK, 0, 0},
	{"cume_dist", WINDOW_CUME_DIST, 0, 0},
	{"ntile", WINDOW_NTILE, 1, 1},
	{"lag", WINDOW_LAG, 1, 3},
	{"lead", WINDOW_LEAD, 1, 3},
	{"first_value", WINDOW_FIRST_VALUE, 1, 1},
	{"last_value", WINDOW_LAST_VALUE, 1, 1},
	{"nth_value", WINDOW_NTH_VALUE, 2, 2},
};

/* ---- compiling ---- */

static struct eval_value run_window(const struct node *n, struct frame *f)
{
	struct eval_value v, m;

	if (!f->windows)
		return run_gives_up(f->run, LIMIT_WINDOW_FUNCTION_OUTSIDE_PLACE);
	v = f->windows[n->u.number];
	m = materialized(f->run, &n->type, v);
	if (nested_window_refused(f->run, n, &m, &v))
		return EVAL_NULL_VALUE;
	if (m.kind == EVAL_DECIMAL && m.decimals)
		m.decimals = EVAL_REAL_DOUBTED;
	return m;
}

static bool is_window(const struct node *n)
{
	return n->fn == run_window;
}

bool node_windows(const struct node *n)
{
	return node_any(n, is_window);
}

static bool literal_number(struct compiler *c, const struct sql_expr *e, uint64_t *out)
{
	*out = 0;
	if (window_literal_refused(c, e))
		return false;
	for (size_t i = 0; i < e->u.literal.text.len; i++)
		*out = *out * 10 + (uint64_t)(e->u.literal.text.ptr[i] - '0');
	return true;
}

/* What OVER w, OVER (w ...) and WINDOW w AS (v ...) come to. */
static bool resolve(struct compiler *c, const struct sql_window *over, struct sql_window *out)
{
	struct span base = over->parenthesised ? over->base : over->name;

	*out = *over;
	for (unsigned depth = 0; base.ptr; depth++) {
		const struct sql_window *named = c->scope->named_windows;

		while (named && !span_ieq(named->name, base))
			named = named->next;
		if (!named || depth > 30) {
			compile_gives_up(c, LIMIT_WINDOW_NOT_DEFINED);
			return false;
		}
		if (window_over_another_refused(c, over, out, named))
			return false;
		out->partition = named->partition;
		if (named->order)
			out->order = named->order;
		if (named->unit) {
			out->unit = named->unit;
			out->from = named->from;
			out->to = named->to;
			out->exclude = named->exclude;
		}
		base = named->base;
	}
	return true;
}

static bool add_key(struct compiler *c, struct window *w, const struct sql_expr *e, bool desc)
{
	struct select_order *key = &w->keys[w->key_count++];

	if (window_key_text_refused(c, e))
		return false;
	key->node = compile_value(c, e);
	key->desc = desc;
	key->item = UINT32_MAX;
	if (!key->node)
		window_key_error_refused(c);
	return key->node && !window_key_refused(c, key->node);
}

static bool compile_definition(struct compiler *c, struct window *w, const struct sql_window *def)
{
	uint32_t count = def->partition.count;

	for (const struct sql_order *o = def->order; o; o = o->next)
		count++;
	w->keys = arena_zero(c->arena, (count + 1) * sizeof(*w->keys));
	for (const struct sql_expr *e = def->partition.first; e; e = e->next) {
		if (!add_key(c, w, e, false))
			return false;
	}
	w->partition_count = w->key_count;
	for (const struct sql_order *o = def->order; o; o = o->next) {
		if (!add_key(c, w, o->expr, o->desc))
			return false;
	}
	w->unit = def->unit;
	w->from = def->from.place;
	w->to = def->to.place;
	if (window_frame_refused(c, w, def))
		return false;
	if ((def->from.offset && !literal_number(c, def->from.offset, &w->from_n)) ||
		(def->to.offset && !literal_number(c, def->to.offset, &w->to_n)))
		return false;
	return !window_offsets_refused(c, w, def);
}

/* A value of a row goes through a temporary table; what may change there is left out. */
static bool value_type(struct compiler *c, struct window *w)
{
	if (window_value_refused(c, w))
		return false;
	w->type = w->value->type;
	w->type.hybrid = w->type.own_scale = false;
	if (w->otherwise) {
		struct node *pair[2] = {w->value, w->otherwise};

		if (!merge_types(c, pair, 2, OPERATION_COMPARES, &w->type))
			return false;
	}
	return !window_type_refused(c, w);
}

static bool compile_own(struct compiler *c, struct window *w, const struct sql_expr *e)
{
	const struct sql_expr *arg = e->u.call.args.first;
	bool mysql = c->env->flavour == SQL_MYSQL;

	switch (w->kind) {
	case WINDOW_AGGREGATE:
		return false;
	case WINDOW_ROW_NUMBER:
	case WINDOW_RANK:
	case WINDOW_DENSE_RANK:
		w->type = type_int(mysql);
		return true;
	case WINDOW_PERCENT_RANK:
	case WINDOW_CUME_DIST:
		w->type = type_double();
		if (!mysql)
			w->type.decimals = 10;
		return true;
	case WINDOW_NTILE:
		w->type = type_int(mysql);
		if (!literal_number(c, arg, &w->number))
			return false;
		return !window_number_refused(c, w);
	case WINDOW_LAG:
	case WINDOW_LEAD:
		w->value = compile_value(c, arg);
		w->number = 1;
		if (!w->value || (arg->next && !literal_number(c, arg->next, &w->number)))
			return false;
		if (arg->next && arg->next->next &&
			!(w->otherwise = compile_value(c, arg->next->next)))
			return false;
		return value_type(c, w);
	case WINDOW_FIRST_VALUE:
	case WINDOW_LAST_VALUE:
	case WINDOW_NTH_VALUE:
		w->value = compile_value(c, arg);
		if (!w->value || (arg->next && !literal_number(c, arg->next, &w->number)))
			return false;
		return (!arg->next || !window_number_refused(c, w)) && value_type(c, w);
	}
	return false;
}

static bool compile_function(struct compiler *c, struct window *w, const struct sql_expr *e)
{
	const struct sql_call_extra *extra = e->u.call.extra;
	enum aggregate_kind aggregate;

	if (aggregate_find(e, &aggregate)) {
		if (aggregate >= AGG_VAR_POP)
			compile_gives_up(c, LIMIT_AGGREGATE_NOT_MODELLED);
		if (aggregate >= AGG_VAR_POP || window_aggregate_refused(c, e, aggregate))
			return false;
		w->aggregate = aggregate_new(c, e, aggregate);
		if (!w->aggregate)
			return false;
		w->type = w->aggregate->type;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!span_ieq_str(e->u.call.name, kinds[i].name))
			continue;
		if (e->u.call.args.count < kinds[i].args_min ||
			e->u.call.args.count > kinds[i].args_max || extra->nulls.ptr)
			break;
		w->kind = kinds[i].kind;
		return compile_own(c, w, e);
	}
	compile_gives_up(c, LIMIT_WINDOW_FUNCTION_NOT_MODELLED);
	return false;
}

/* MariaDB asks for an order that the definition has itself, not from the window it names; to MySQL
 * all rows are peers without one. */
static bool wants_order(enum window_kind kind)
{
	return kind >= WINDOW_RANK && kind <= WINDOW_LEAD && kind != WINDOW_NTILE;
}

struct node *compile_window(struct compiler *c, const struct sql_expr *e)
{
	const struct sql_window *over = e->u.call.extra->over;
	struct window *w = arena_zero(c->arena, sizeof(*w));
	struct scope *scope = c->scope;
	struct sql_window definition;
	struct node *n;

	if (!scope || !scope->windows_allowed || scope->in_aggregate)
		return compile_gives_up(c, LIMIT_WINDOW_FUNCTION_OUTSIDE_PLACE);
	scope->windows_allowed = false; /* none in another */
	if (!resolve(c, over, &definition) || !compile_function(c, w, e) ||
		!compile_definition(c, w, &definition))
		return NULL;
	scope->windows_allowed = true;
	if (window_refused(c, w))
		return NULL;
	if (c->env->flavour == SQL_MARIADB && wants_order(w->kind) &&
		(w->key_count == w->partition_count || (over->parenthesised && !over->order)))
		return compile_error(c, ER_NO_ORDER_LIST_IN_WINDOW_SPEC, "a window function without ORDER BY");
	w->input = scope->window_inputs;
	scope->window_inputs += w->key_count + (w->aggregate ? w->aggregate->arg_count : 2);
	*scope->windows_tail = w;
	scope->windows_tail = &w->next;
	n = node_new(c, run_window, e, 0);
	n->type = w->type;
	n->u.number = scope->window_count++;
	return n;
}

/* ---- running ---- */

void window_collect(const struct eval_query *q, struct frame *f, struct eval_value *out)
{
	for (const struct window *w = q->windows; w; w = w->next) {
		struct eval_value *at = out + w->input;

		for (uint32_t k = 0; k < w->key_count; k++)
			*at++ = materialized(
				f->run, &w->keys[k].node->type, node_run(w->keys[k].node, f));
		for (uint32_t k = 0; w->aggregate && k < w->aggregate->arg_count; k++)
			*at++ = node_run(w->aggregate->args[k], f);
		if (w->value) {
			struct eval_value v = node_run(w->value, f);

			at[0] = to_type(f->run, &w->value->type, &v, &w->type);
			if (w->otherwise) {
				v = node_run(w->otherwise, f);
				at[1] = to_type(f->run, &w->otherwise->type, &v, &w->type);
			}
		}
	}
}

/* One partition, in the window's order. */
struct partition {
	const struct window *w;
	struct run *run;
	const struct eval_value *const *inputs; /* of all rows */
	const uint32_t *index;                  /* rows of the partition */
	size_t count;
	size_t at, peers_from, peers_to; /* the row that is computed, and its peers */
	bool has_peers;                  /* somewhere in the partition */
};

static const struct eval_value *input_of(const struct partition *p, size_t i)
{
	return p->inputs[p->index[i]] + p->w->input;
}

static int compare_inputs(const struct window *w, struct run *run, const struct eval_value *a,
	const struct eval_value *b, uint32_t from, uint32_t to)
{
	return compare_keys(
		run, w->keys + from, to - from, a + w->input + from, b + w->input + from);
}

static bool are_peers(const struct partition *p, size_t a, size_t b)
{
	return compare_inputs(p->w, p->run, p->inputs[p->index[a]], p->inputs[p->index[b]],
		       p->w->partition_count, p->w->key_count) == 0;
}

static struct eval_value no_order(const struct partition *p)
{
	return run_gives_up(p->run, LIMIT_WINDOW_OVER_ROWS_IN_NO_CERTAIN_ORDER);
}

/* RANGE n PRECEDING or FOLLOWING: the first row that is not before the bound (`behind` false) or
 * the first that is after it.  A row whose key is NULL has the rows with NULL around it only. */
static size_t range_end(
	const struct partition *p, enum sql_frame_place place, uint64_t n, bool behind)
{
	const struct window *w = p->w;
	const struct eval_value *key = input_of(p, p->at) + w->partition_count;
	bool desc = w->keys[w->partition_count].desc;
	bool down = (place == SQL_FRAME_PRECEDING) != desc;
	int64_t bound;
	size_t i = 0;

	if (key->kind == EVAL_NULL)
		return behind ? p->peers_to : p->peers_from;
	range_refused(p->run, down ? __builtin_sub_overflow(key->i, (int64_t)n, &bound)
				   : __builtin_add_overflow(key->i, (int64_t)n, &bound));
	for (; i < p->count && run_step(p->run); i++) {
		const struct eval_value *v = input_of(p, i) + w->partition_count;
		int order;

		if (v->kind == EVAL_NULL)
			order = desc ? 1 : -1; /* NULLs are lowest */
		else
			order = (v->i > bound) - (v->i < bound);
		if (desc && v->kind != EVAL_NULL)
			order = -order;
		if (behind ? order > 0 : order >= 0)
			break;
	}
	return i;
}

/* The rows [*from, *to) of the frame; false: not certain. */
static bool frame_of(const struct partition *p, size_t *from, size_t *to)
{
	const struct window *w = p->w;
	enum sql_frame_unit unit = w->unit;
	enum sql_frame_place first = w->from, last = w->to;

	if (unit == SQL_FRAME_NONE) {
		unit = SQL_FRAME_RANGE;
		first = SQL_FRAME_FIRST;
		last = SQL_FRAME_CURRENT;
	}
	*from = first == SQL_FRAME_FIRST ? 0 : p->peers_from;
	*to = last == SQL_FRAME_LAST ? p->count : p->peers_to;
	if (unit == SQL_FRAME_ROWS) {
		if (p->has_peers && (first != SQL_FRAME_FIRST || last != SQL_FRAME_LAST))
			return false;
		if (first == SQL_FRAME_PRECEDING)
			*from = p->at > w->from_n ? p->at - w->from_n : 0;
		else if (first == SQL_FRAME_FOLLOWING)
			*from = p->at + w->from_n;
		if (last == SQL_FRAME_PRECEDING)
			*to = p->at >= w->to_n ? p->at - w->to_n + 1 : 0;
		else if (last == SQL_FRAME_FOLLOWING)
			*to = p->at + w->to_n + 1;
	} else {
		if (first == SQL_FRAME_PRECEDING || first == SQL_FRAME_FOLLOWING)
			*from = range_end(p, first, w->from_n, false);
		if (last == SQL_FRAME_PRECEDING || last == SQL_FRAME_FOLLOWING)
			*to = range_end(p, last, w->to_n, true);
	}
	if (*to > p->count)
		*to = p->count;
	if (*from > *to)
		*from = *to;
	return true;
}

static struct eval_value run_aggregate_over(const struct partition *p)
{
	const struct aggregate *a = p->w->aggregate;
	struct arguments args = {0};
	size_t from, to;

	if (!frame_of(p, &from, &to))
		return no_order(p);
	if (a->star)
		return eval_int((int64_t)(to - from));
	if (moving_aggregate_refused(p->run, p->w, a))
		return EVAL_NULL_VALUE;
	args.rows = arena_alloc(p->run->arena, (to - from + 1) * sizeof(*args.rows));
	for (size_t i = from; i < to && run_step(p->run); i++) {
		const struct eval_value *row = input_of(p, i) + p->w->key_count;
		bool null = false;

		for (uint32_t k = 0; k < a->arg_count; k++)
			null |= row[k].kind == EVAL_NULL;
		if (null && null_in_window_refused(p->run, p->w, a,
				    &row[(int)p->w->partition_count - (int)p->w->key_count]))
			return EVAL_NULL_VALUE;
		if (!null)
			args.rows[args.count++] = row;
	}
	return aggregate_value(p->run, a, &args);
}

/* The value of row `i`, if its peers have the same. */
static struct eval_value value_at(const struct partition *p, size_t i)
{
	const struct eval_value *v = input_of(p, i) + p->w->key_count;

	for (size_t k = 0; k < p->count && p->has_peers && run_step(p->run); k++) {
		if (k != i && are_peers(p, k, i) && !eval_same(input_of(p, k) + p->w->key_count, v))
			return no_order(p);
	}
	return *v;
}

static struct eval_value run_ntile(const struct partition *p)
{
	size_t small = p->count / p->w->number, large = p->count % p->w->number;
	size_t in_large = large * (small + 1);

	if (p->at < in_large)
		return eval_int((int64_t)(p->at / (small + 1) + 1));
	return eval_int((int64_t)(large + (p->at - in_large) / small + 1));
}

static struct eval_value run_one(const struct partition *p, size_t peer_group)
{
	const struct window *w = p->w;
	size_t from, to, at;

	switch (w->kind) {
	case WINDOW_AGGREGATE:
		return run_aggregate_over(p);
	case WINDOW_ROW_NUMBER:
		return p->has_peers ? no_order(p) : eval_int((int64_t)p->at + 1);
	case WINDOW_NTILE:
		return p->has_peers ? no_order(p) : run_ntile(p);
	case WINDOW_RANK:
		return eval_int((int64_t)p->peers_from + 1);
	case WINDOW_DENSE_RANK:
		return eval_int((int64_t)peer_group + 1);
	case WINDOW_PERCENT_RANK:
		return eval_double(
			p->count == 1 ? 0 : (double)p->peers_from / (double)(p->count - 1));
	case WINDOW_CUME_DIST:
		return eval_double((double)p->peers_to / (double)p->count);
	case WINDOW_LAG:
	case WINDOW_LEAD:
		at = w->kind == WINDOW_LAG ? p->at - w->number : p->at + w->number;
		if (w->number && p->has_peers)
			return no_order(p);
		if (at < p->count)
			return input_of(p, at)[w->key_count];
		return w->otherwise ? input_of(p, p->at)[w->key_count + 1] : EVAL_NULL_VALUE;
	case WINDOW_FIRST_VALUE:
	case WINDOW_LAST_VALUE:
	case WINDOW_NTH_VALUE:
		if (!frame_of(p, &from, &to))
			return no_order(p);
		at = w->kind == WINDOW_FIRST_VALUE  ? from
		     : w->kind == WINDOW_LAST_VALUE ? to - 1
						    : from + w->number - 1;
		return from < to && at < to ? value_at(p, at) : EVAL_NULL_VALUE;
	}
	return EVAL_NULL_VALUE;
}

static void run_partition(struct partition *p, struct eval_value **out, uint32_t number)
{
	const struct window *w = p->w;
	size_t peer_group = 0;

	p->has_peers = false;
	for (size_t i = 1; i < p->count && !p->has_peers; i++)
		p->has_peers = are_peers(p, i - 1, i);
	for (size_t from = 0, to; from < p->count; from = to, peer_group++) {
		for (to = from + 1; to < p->count && are_peers(p, from, to); to++)
			;
		p->peers_from = from;
		p->peers_to = to;
		for (p->at = from; p->at < to && run_step(p->run); p->at++) {
			struct eval_value v = run_one(p, peer_group), m;

			if (v.kind == EVAL_INT && w->type.is_unsigned)
				v = eval_uint(v.u);
			m = materialized(p->run, &w->type, v);
			window_result_refused(p->run, w, &m, &v);
			out[p->index[p->at]][number] = v;
		}
	}
}

struct order {
	const struct window *w;
	struct run *run;
	const struct eval_value *const *inputs;
};

static int by_keys(const void *pa, const void *pb, void *ctx)
{
	const struct order *o = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = compare_inputs(o->w, o->run, o->inputs[a], o->inputs[b], 0, o->w->key_count);

	return c ? c : (a > b) - (a < b);
}

const struct eval_value *const *run_windows(const struct eval_query *q, struct run *run,
	const struct eval_value *const *inputs, size_t count)
{
	struct eval_value **out = arena_alloc(run->arena, (count + 1) * sizeof(*out));
	uint32_t *index = arena_alloc(run->arena, (count + 1) * sizeof(*index)), number = 0;

	for (size_t i = 0; i < count; i++)
		out[i] = arena_zero(run->arena, q->window_count * sizeof(**out));
	for (const struct window *w = q->windows; w && !run->failed; w = w->next, number++) {
		struct order order = {w, run, inputs};

		for (size_t i = 0; i < count; i++)
			index[i] = (uint32_t)i;
		if (count > 1)
			qsort_r(index, count, sizeof(*index), by_keys, &order);
		for (size_t from = 0, to; from < count && !run->failed; from = to) {
			struct partition p = {
				.w = w, .run = run, .inputs = inputs, .index = index + from};

			for (to = from + 1; to < count &&
					    compare_inputs(w, run, inputs[index[from]],
						    inputs[index[to]], 0, w->partition_count) == 0;
				to++)
				;
			p.count = to - from;
			run_partition(&p, out, number);
		}
	}
	return (const struct eval_value *const *)out;
}
