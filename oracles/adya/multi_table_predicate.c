/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/multi_table_predicate.h"

#include <stdlib.h>
#include <string.h>

#include "adya/predicate_shape.h"
#include "adya/version_chain.h"
#include "base/map.h"
#include "base/mem.h"

enum {
	QUERIES_MAX = 512,       /* compiled ones that are kept */
	ROWS_KEPT_MAX = 1 << 18, /* decoded ones */
	LIST_MAX = 4096,         /* rows of a table that a query is tested with */
	STEPS_MAX = 200 * 1000,
	ORDER_MAX = 8,
};

struct multi_table_query {
	struct shape shape;
	bool understood;
	uint32_t tables[SHAPE_MENTIONS_MAX]; /* of the history */
	struct eval_query *whole;
	/* ... whose rows are not made distinct; NULL: it has no negated mention. */
	struct eval_query *counted;
	/* For the right side of a LEFT JOIN: with the join an inner one. */
	struct eval_query *inner[SHAPE_MENTIONS_MAX];
	struct eval_expr *locals[SHAPE_MENTIONS_MAX][SHAPE_LOCALS_MAX];
	bool ranged[SHAPE_MENTIONS_MAX]; /* the key is within [low, high] */
	wide low[SHAPE_MENTIONS_MAX], high[SHAPE_MENTIONS_MAX];
	struct eval_expr *order[ORDER_MAX];
	bool desc[ORDER_MAX];
	uint32_t order_count;
	bool order_whole; /* it has the primary key in it: no two rows are equal */
};

/* Rows of one mention, each with its object. */
struct row_list {
	const struct eval_value **rows;
	uint32_t *objects;
	size_t count, capacity, object_capacity;
	bool whole; /* none is missing */
};

struct multi_table {
	const struct history *history;
	struct matcher *matcher;
	struct multi_table_options options;
	struct eval_env env;
	struct map known; /* text: query */
	struct multi_table_query *queries;
	size_t query_count, query_capacity;
	struct arena arena;     /* of queries */
	struct arena row_arena; /* of decoded rows */
	struct arena scratch;   /* of one evaluation */
	struct map row_of;      /* version: its place in `rows` */
	const struct eval_value **rows;
	size_t row_count, row_capacity;
	uint32_t *objects_of, *objects_head; /* by table */

	/* What was chosen. */
	const struct history_predicate *predicate;
	struct multi_table_query *query;
	bool unlisted, listed_made;
	bool has_list; /* the statement has listed rows of the predicate's table */
	uint32_t *seen, *seen_stamp, stamp; /* by object */
	uint32_t *set_stamp; /* by table: all its rows were recorded as the statement saw them */
	struct row_list certain[SHAPE_MENTIONS_MAX], possible[SHAPE_MENTIONS_MAX];
	struct row_list trial; /* a list with a row put in place of another */
	const struct eval_value *last_row; /* of a result that LIMIT cut: its last one */
	uint64_t cost;
	const char *known_names[SHAPE_MENTIONS_MAX];
	uint32_t known_tables[SHAPE_MENTIONS_MAX], known_count;
	/* What the current evaluation is given. */
	struct eval_rows given[SHAPE_MENTIONS_MAX];
};

static bool begins(struct span text, const char *with)
{
	size_t len = strlen(with);

	return text.len > len && memcmp(text.ptr, with, len) == 0;
}

bool multi_table_is(const struct history *h, const struct history_predicate *p)
{
	struct span text = history_bytes(h, p->text);

	return begins(text, JOINT_LISTED) || begins(text, JOINT_UNLISTED);
}

/* ---- making and freeing ---- */

static void group_objects(struct multi_table *j)
{
	const struct history *h = j->history;

	j->objects_head = mem_zero((size_t)h->table_count + 2, sizeof(*j->objects_head));
	j->objects_of = mem_realloc(NULL, h->object_count, sizeof(*j->objects_of));
	for (uint32_t o = 0; o < h->object_count; o++)
		j->objects_head[h->objects[o].table + 2]++;
	for (uint32_t t = 0; t < h->table_count; t++)
		j->objects_head[t + 2] += j->objects_head[t + 1];
	for (uint32_t o = 0; o < h->object_count; o++)
		j->objects_of[j->objects_head[h->objects[o].table + 1]++] = o;
}

struct multi_table *multi_table_new(const struct history *history, struct matcher *matcher,
	const struct multi_table_options *options)
{
	struct multi_table *j = mem_zero(1, sizeof(*j));

	j->history = history;
	j->matcher = matcher;
	j->options = *options;
	j->env = *matcher_env(matcher);
	j->env.steps_max = STEPS_MAX;
	j->seen = mem_realloc(NULL, history->object_count, sizeof(*j->seen));
	j->seen_stamp = mem_zero(history->object_count, sizeof(*j->seen_stamp));
	j->set_stamp = mem_zero(history->table_count, sizeof(*j->set_stamp));
	group_objects(j);
	return j;
}

static void list_release(struct row_list *list)
{
	mem_free(list->rows);
	mem_free(list->objects);
}

void multi_table_free(struct multi_table *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < SHAPE_MENTIONS_MAX; i++) {
		list_release(&j->certain[i]);
		list_release(&j->possible[i]);
	}
	list_release(&j->trial);
	map_release(&j->known);
	map_release(&j->row_of);
	mem_free(j->queries);
	mem_free(j->rows);
	mem_free(j->objects_of);
	mem_free(j->objects_head);
	mem_free(j->seen);
	mem_free(j->seen_stamp);
	mem_free(j->set_stamp);
	arena_release(&j->arena);
	arena_release(&j->row_arena);
	arena_release(&j->scratch);
	mem_free(j);
}

/* ---- queries ---- */

/* Asked for at every column of a query: the names of the current one are remembered by where they
 * stand in its text. */
static uint32_t find_table(struct multi_table *j, const struct sql_table_name *name)
{
	const struct history *h = j->history;
	uint32_t t = 0;

	for (uint32_t i = 0; i < j->known_count; i++)
		if (j->known_names[i] == name->name.ptr)
			return j->known_tables[i];
	while (t < h->table_count &&
		!(span_eq(strtab_get(&h->strings, h->tables[t].name), name->name) &&
			span_eq(strtab_get(&h->strings, h->tables[t].database), name->db)))
		t++;
	t = t < h->table_count ? t : HISTORY_NONE;
	if (j->known_count < SHAPE_MENTIONS_MAX) {
		j->known_names[j->known_count] = name->name.ptr;
		j->known_tables[j->known_count++] = t;
	}
	return t;
}

static const struct eval_table *definition_of(void *ctx, const struct sql_table_name *name)
{
	struct multi_table *j = ctx;
	uint32_t table = find_table(j, name);

	return table == HISTORY_NONE ? NULL : matcher_definition(j->matcher, table);
}

static bool has_column(void *ctx, const struct sql_table_ref *ref, struct span name)
{
	const struct eval_table *table = definition_of(ctx, &ref->u.name.table);

	/* Of a table that is not known it may be one. */
	return !table || eval_table_column(table, name) != UINT32_MAX;
}

static bool give_rows(void *ctx, const struct eval_table *table, const struct sql_table_ref *ref,
	struct eval_rows *out)
{
	struct multi_table *j = ctx;

	(void)table;
	for (uint32_t i = 0; i < j->query->shape.count; i++) {
		if (j->query->shape.mentions[i].ref == ref) {
			*out = j->given[i];
			return true;
		}
	}
	return false;
}

static struct eval_source source_of(struct multi_table *j)
{
	return (struct eval_source){.table = definition_of, .rows = give_rows, .ctx = j};
}

static void compile_locals(struct multi_table *j, struct multi_table_query *q, uint32_t i)
{
	const struct mention *m = &q->shape.mentions[i];
	const struct eval_table *table = definition_of(j, &m->ref->u.name.table);
	struct span name = m->ref->alias.ptr ? m->ref->alias : m->ref->u.name.table.name;
	struct span *columns = arena_alloc(&j->arena, (table->column_count + 1) * sizeof(*columns));
	bool *odd = arena_alloc(&j->arena, table->column_count + 1);
	struct int_names names = {.columns = columns,
		.count = table->column_count,
		.table = name,
		.odd = odd};
	uint32_t key = UINT32_MAX;

	for (uint32_t c = 0; c < table->column_count; c++) {
		columns[c] = table->columns[c].name;
		odd[c] = table->columns[c].type.kind == EVAL_T_YEAR;
	}
	if (table->index_count && table->indexes[0].primary && table->indexes[0].count == 1)
		key = table->indexes[0].columns[0];
	for (uint32_t k = 0; k < m->local_count; k++) {
		struct eval_outcome outcome = {0};
		struct int_predicate ints;
		wide low, high;

		q->locals[i][k] = eval_expr_compile(
			&j->arena, m->locals[k], table, name, &j->env, NULL, &outcome);
		int_compile(&ints, &j->arena, m->locals[k], &names);
		if (key == UINT32_MAX || ints.foreign)
			continue;
		int_range(&ints, key, &low, &high);
		if (!q->ranged[i] || low > q->low[i])
			q->low[i] = low;
		if (!q->ranged[i] || high < q->high[i])
			q->high[i] = high;
		q->ranged[i] = true;
	}
}

static bool orders_by_key(const struct eval_table *table, const struct sql_order *order)
{
	const struct eval_index *key = table->index_count ? &table->indexes[0] : NULL;
	uint32_t found = 0;

	if (!key || !key->primary)
		return false;
	for (uint32_t i = 0; i < key->count; i++) {
		const struct sql_order *o = order;

		while (o && !span_ieq(o->expr->u.column.name, table->columns[key->columns[i]].name))
			o = o->next;
		found += o != NULL;
	}
	return found == key->count;
}

static bool compile_order(struct multi_table *j, struct multi_table_query *q)
{
	const struct sql_table_ref *ref = q->shape.mentions[0].ref;
	const struct eval_table *table = definition_of(j, &ref->u.name.table);
	struct span name = ref->alias.ptr ? ref->alias : ref->u.name.table.name;

	for (const struct sql_order *o = q->shape.query->order; o; o = o->next) {
		struct eval_outcome outcome = {0};

		if (q->order_count == ORDER_MAX || o->expr->kind != SQL_EXPR_COLUMN)
			return false;
		q->desc[q->order_count] = o->desc;
		q->order[q->order_count] = eval_expr_compile(
			&j->arena, o->expr, table, name, &j->env, NULL, &outcome);
		if (!q->order[q->order_count++])
			return false;
	}
	q->order_whole = orders_by_key(table, q->shape.query->order);
	return true;
}

static bool compile_query(struct multi_table *j, struct multi_table_query *q, struct span text)
{
	struct eval_source source = source_of(j);
	struct eval_outcome outcome = {0};
	struct sql_stmt *stmt;
	struct sql_order *order;

	*q = (struct multi_table_query){0};
	j->known_count = 0;
	text = arena_copy(&j->arena, text); /* the tree borrows from it */
	if (!sql_parse(&j->arena, text, matcher_options(j->matcher), &stmt, NULL) ||
		stmt->kind != SQL_STMT_SELECT ||
		!shape_of(&q->shape, stmt->u.query, has_column, j))
		return false;
	for (uint32_t i = 0; i < q->shape.count; i++) {
		q->tables[i] = find_table(j, &q->shape.mentions[i].ref->u.name.table);
		if (q->tables[i] == HISTORY_NONE || !matcher_definition(j->matcher, q->tables[i]))
			return false;
		compile_locals(j, q, i);
	}
	if (q->shape.cut && !compile_order(j, q))
		return false;
	order = q->shape.query->order;
	q->shape.query->order = NULL;
	q->whole = eval_query_compile(&j->arena, q->shape.query, &j->env, &source, &outcome);
	if (q->shape.negates && q->whole) {
		uint32_t flags = q->shape.query->u.select.flags;

		q->shape.query->u.select.flags = flags & ~(uint32_t)SQL_SELECT_DISTINCT;
		q->counted = eval_query_compile(
			&j->arena, q->shape.query, &j->env, &source, &outcome);
		q->shape.query->u.select.flags = flags;
		if (!q->counted)
			return false;
	}
	for (uint32_t i = 0; i < q->shape.count && q->whole; i++) {
		struct sql_table_ref *outer = q->shape.mentions[i].outer;

		if (!outer)
			continue;
		outer->u.join.join = SQL_JOIN_INNER;
		q->inner[i] = eval_query_compile(
			&j->arena, q->shape.query, &j->env, &source, &outcome);
		outer->u.join.join = SQL_JOIN_LEFT;
		if (!q->inner[i])
			return false;
	}
	q->shape.query->order = order;
	return q->whole != NULL;
}

static void forget_all(struct multi_table *j)
{
	map_release(&j->known);
	j->known = MAP_INIT;
	j->query_count = 0;
	arena_clear(&j->arena);
}

/* ---- rows ---- */

static const struct eval_value *values_of(struct multi_table *j, uint32_t version)
{
	uint32_t *at = map_at(&j->row_of, version);

	if (*at == MAP_NONE) {
		MEM_RESERVE(j->rows, j->row_count + 1, j->row_capacity);
		*at = (uint32_t)j->row_count;
		j->rows[j->row_count++] = matcher_values(j->matcher, version, &j->row_arena);
	}
	return j->rows[*at];
}

static void forget_rows(struct multi_table *j)
{
	map_release(&j->row_of);
	j->row_of = MAP_INIT;
	j->row_count = 0;
	arena_clear(&j->row_arena);
}

/* What its own conditions make of a row; a condition that is not modelled refuses nothing. */
static enum match test_locals(struct multi_table *j, uint32_t mention, const struct eval_value *row)
{
	enum match match = MATCH_YES;

	for (uint32_t k = 0; k < j->query->shape.mentions[mention].local_count; k++) {
		const struct eval_expr *local = j->query->locals[mention][k];
		struct eval_outcome outcome = {0};
		enum eval_truth truth;

		arena_clear(&j->scratch);
		j->cost++;
		if (!local || !eval_expr_test(local, &j->scratch, &j->env, NULL, row, &truth, &outcome))
			match = MATCH_UNKNOWN;
		else if (truth != EVAL_TRUE)
			return MATCH_NO;
	}
	return match;
}

static void list_add(struct row_list *list, const struct eval_value *row, uint32_t object)
{
	MEM_RESERVE(list->rows, list->count + 1, list->capacity);
	MEM_RESERVE(list->objects, list->count + 1, list->object_capacity);
	list->rows[list->count] = row;
	list->objects[list->count++] = object;
}

/* May the statement have seen the version at this place of the object's order? */
static bool may_see(const struct multi_table *j, const struct history_object *o, uint32_t place)
{
	const struct history *h = j->history;
	uint32_t version = h->order[o->first_order + place], stmt = h->versions[version].stmt;
	uint32_t end = j->predicate->stmt == HISTORY_NONE ? HISTORY_NONE
							  : h->stmts[j->predicate->stmt].end_seq;

	if (h->versions[version].flags & HISTORY_VERSION_UNBORN)
		return !(o->order_known && object_was_there(h, o));
	return stmt == HISTORY_NONE || h->stmts[stmt].begin_seq <= end;
}

/* A row of another mention: what there certainly was of it, and what there may have been. */
static void list_object(struct multi_table *j, uint32_t mention, uint32_t object)
{
	const struct history *h = j->history;
	const struct history_object *o = &h->objects[object];
	struct row_list *certain = &j->certain[mention], *possible = &j->possible[mention];
	const struct eval_value *only = NULL;
	bool is_known = j->seen_stamp[object] == j->stamp;
	uint32_t candidates = 0;

	for (uint32_t i = 0; i < o->order_count; i++) {
		uint32_t version = h->order[o->first_order + i];
		const struct eval_value *row;

		j->cost++;
		if (is_known ? version != j->seen[object] : !may_see(j, o, i))
			continue;
		candidates++;
		if (version_is_absent(h, version))
			continue;
		row = values_of(j, version);
		if (!row) {
			possible->whole = false;
			continue;
		}
		if (test_locals(j, mention, row) == MATCH_NO)
			continue;
		if (possible->count == LIST_MAX)
			possible->whole = false;
		else
			list_add(possible, row, object);
		only = row;
	}
	if (candidates == 1 && only && (is_known || possible->whole))
		list_add(certain, only, object);
}

static void list_mention(struct multi_table *j, uint32_t mention)
{
	const struct history *h = j->history;
	uint32_t table = j->query->tables[mention];
	struct row_list *certain = &j->certain[mention], *possible = &j->possible[mention];
	bool set = j->set_stamp[table] == j->stamp;
	bool all_known = set || (!j->options.unseen && !j->options.others &&
					!history_unseen_in(h, table));

	certain->count = possible->count = 0;
	certain->whole = possible->whole = true;
	for (uint32_t i = j->objects_head[table]; i < j->objects_head[table + 1]; i++) {
		uint32_t object = j->objects_of[i];
		wide key;

		if (j->query->ranged[mention] && object_key_int(h, object, &key) &&
			(key < j->query->low[mention] || key > j->query->high[mention]))
			continue;
		/* It was not there; or other versions of it than the recorded ones may have been. */
		if ((set || !all_known) && j->seen_stamp[object] != j->stamp)
			continue;
		list_object(j, mention, object);
	}
	/* Rows that were neither returned nor written are known from the initial ones. */
	possible->whole &= all_known && (set || h->tables[table].has_initial_rows);
}

/* ---- choosing ---- */

static void note_seen(struct multi_table *j, uint32_t first, uint32_t count)
{
	const struct history *h = j->history;

	for (uint32_t k = 0; k < count; k++) {
		uint32_t version = h->predicate_versions[first + k];

		j->seen[h->versions[version].object] = version;
		j->seen_stamp[h->versions[version].object] = j->stamp;
	}
}

/* What listed predicates of the statement saw; the predicates of one stand side by side. */
static void note_statement(struct multi_table *j, uint32_t predicate)
{
	const struct history *h = j->history;
	uint32_t first = predicate;
	const uint16_t listed = HISTORY_PREDICATE_EXACT | HISTORY_PREDICATE_MATCHES;

	j->stamp++;
	j->has_list = false;
	while (first > 0 && h->predicates[first - 1].stmt == h->predicates[predicate].stmt)
		first--;
	for (uint32_t i = first;
		i < h->predicate_count && h->predicates[i].stmt == h->predicates[predicate].stmt; i++) {
		const struct history_predicate *p = &h->predicates[i];

		if (begins(history_bytes(h, p->text), JOINT_UNLISTED))
			continue;
		j->has_list |= p->table == h->predicates[predicate].table;
		if ((p->flags & listed) != listed)
			continue;
		if (p->flags & HISTORY_PREDICATE_SET)
			j->set_stamp[p->table] = j->stamp;
		note_seen(j, p->first_set, p->set_count);
		note_seen(j, p->first_match, p->match_count);
	}
}

static int compare_order(
	struct multi_table *j, const struct eval_value *a, const struct eval_value *b, bool *known)
{
	const struct multi_table_query *q = j->query;

	*known = true;
	for (uint32_t i = 0; i < q->order_count; i++) {
		struct eval_outcome outcome = {0};
		struct eval_value x, y;
		int order;

		if (!eval_expr_run(q->order[i], &j->scratch, &j->env, NULL, a, &x, &outcome) ||
			!eval_expr_run(q->order[i], &j->scratch, &j->env, NULL, b, &y, &outcome) ||
			!eval_order_known(eval_expr_type(q->order[i]), &x, &y, &order)) {
			*known = false;
			return 0;
		}
		if (order)
			return q->desc[i] ? -order : order;
	}
	return 0;
}

/* The row that comes last of those that were returned. */
static bool find_last_row(struct multi_table *j)
{
	const struct history *h = j->history;
	const struct history_predicate *p = j->predicate;
	bool known = true;

	j->last_row = NULL;
	for (uint32_t k = 0; k < p->match_count && known; k++) {
		const struct eval_value *row =
			values_of(j, h->predicate_versions[p->first_match + k]);

		if (!row)
			return false;
		arena_clear(&j->scratch);
		if (!j->last_row || compare_order(j, row, j->last_row, &known) > 0)
			j->last_row = row;
	}
	return known && j->last_row;
}

/* Does the predicate speak of this mention of its table? */
static bool is_tested(const struct multi_table *j, uint32_t mention)
{
	bool listed = j->query->shape.mentions[mention].role == MENTION_LISTED;

	if (j->query->tables[mention] != j->predicate->table)
		return false;
	return j->unlisted ? !listed || !j->has_list : listed;
}

bool multi_table_choose(struct multi_table *j, uint32_t predicate)
{
	const struct history *h = j->history;
	const struct history_predicate *p = &h->predicates[predicate];
	struct span text = history_bytes(h, p->text);
	uint32_t *known;
	bool tested = false;

	j->predicate = p;
	j->unlisted = begins(text, JOINT_UNLISTED);
	if (j->unlisted)
		text = span_of(text.ptr + strlen(JOINT_UNLISTED), text.len - strlen(JOINT_UNLISTED));
	if (j->query_count == QUERIES_MAX)
		forget_all(j);
	if (j->row_count > ROWS_KEPT_MAX)
		forget_rows(j);
	known = map_at(&j->known, (uint64_t)p->text);
	if (*known == MAP_NONE) {
		*known = (uint32_t)j->query_count;
		MEM_RESERVE(j->queries, j->query_count + 1, j->query_capacity);
		j->query = &j->queries[j->query_count++];
		j->query->understood = compile_query(j, j->query, text);
	}
	j->query = &j->queries[*known];
	j->listed_made = false;
	if (!j->query->understood)
		return false;
	note_statement(j, predicate);
	for (uint32_t i = 0; i < j->query->shape.count; i++)
		tested |= is_tested(j, i);
	return tested && (!j->query->shape.cut || find_last_row(j));
}

bool multi_table_meets_itself(const struct multi_table *j)
{
	for (uint32_t i = 0; i < j->query->shape.count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (j->query->tables[i] == j->query->tables[k])
				return true;
	return false;
}

bool multi_table_is_listed(const struct multi_table *j)
{
	return !j->unlisted;
}

bool multi_table_reads_values(const struct multi_table *j)
{
	for (uint32_t i = 0; j->unlisted && i < j->query->shape.count; i++)
		if (is_tested(j, i) && j->query->shape.mentions[i].role != MENTION_EXISTS)
			return true;
	return false;
}

bool multi_table_is_vague(const struct multi_table *j)
{
	for (uint32_t i = 0; j->unlisted && i < j->query->shape.count; i++)
		if (is_tested(j, i) && j->query->shape.mentions[i].role != MENTION_LISTED)
			return true;
	return false;
}

uint32_t multi_table_seen(const struct multi_table *j, uint32_t object)
{
	return j->seen_stamp[object] == j->stamp ? j->seen[object] : HISTORY_NONE;
}

bool multi_table_key_range(const struct multi_table *j, wide *low, wide *high)
{
	bool any = false;

	for (uint32_t i = 0; i < j->query->shape.count; i++) {
		if (!is_tested(j, i))
			continue;
		if (!j->query->ranged[i])
			return false;
		if (!any || j->query->low[i] < *low)
			*low = j->query->low[i];
		if (!any || j->query->high[i] > *high)
			*high = j->query->high[i];
		any = true;
	}
	return any;
}

bool multi_table_terms(struct multi_table *j, struct index_terms *terms)
{
	uint32_t tested = 0;

	*terms = (struct index_terms){.count = 0};
	for (uint32_t i = 0; i < j->query->shape.count; i++) {
		const struct mention *m = &j->query->shape.mentions[i];
		struct int_names names = *matcher_names(j->matcher, j->query->tables[i]);

		if (!is_tested(j, i))
			continue;
		tested++;
		names.table = m->ref->alias.ptr ? m->ref->alias : m->ref->u.name.table.name;
		for (uint32_t k = 0; k < m->local_count; k++)
			index_terms_add(terms, m->locals[k], &names);
	}
	return tested == 1;
}

uint64_t multi_table_cost(struct multi_table *j)
{
	uint64_t cost = j->cost;

	j->cost = 0;
	return cost;
}

/* ---- testing ---- */

/* How many rows the query has with the rows given.  False: not known. */
static bool count_rows(struct multi_table *j, const struct eval_query *query, uint64_t *count)
{
	struct eval_source source = source_of(j);
	struct eval_outcome outcome = {0};
	struct eval_result result;

	arena_clear(&j->scratch);
	j->cost++;
	for (uint32_t i = 0; i < j->query->shape.count; i++)
		j->cost += j->given[i].count;
	if (!eval_query_run(query, &j->scratch, &j->env, &source, &result, &outcome))
		return false;
	*count = result.row_count;
	return true;
}

/* Has the query a result with the rows given? */
static enum match run(struct multi_table *j, uint32_t mention)
{
	const struct multi_table_query *q = j->query;
	uint64_t count;

	if (!count_rows(j, q->inner[mention] ? q->inner[mention] : q->whole, &count))
		return MATCH_UNKNOWN;
	return count ? MATCH_YES : MATCH_NO;
}

/* Has it a say in whether a row of the mention that is tested takes part? */
static bool has_say(const struct multi_table *j, uint32_t i, uint32_t mention)
{
	const struct mention *mentions = j->query->shape.mentions;

	return i != mention && !mentions[i].outer && !mentions_apart(&mentions[i], &mentions[mention]);
}

/* Mentions that have a say beside the one that is tested; how many, and the last one. */
static uint32_t other_mentions(const struct multi_table *j, uint32_t mention, uint32_t *last)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < j->query->shape.count; i++) {
		if (!has_say(j, i, mention))
			continue;
		count++;
		*last = i;
	}
	return count;
}

/* Gives each mention its rows, the tested one the row alone: those that were certainly there, or all
 * that may have been; of negated mentions the other ones, as their rows take results away. */
static void give(struct multi_table *j, bool certain, uint32_t mention, const struct eval_value *const *row)
{
	for (uint32_t i = 0; i < j->query->shape.count; i++) {
		const struct row_list *list = certain != j->query->shape.mentions[i].negated
						      ? &j->certain[i]
						      : &j->possible[i];

		if (i == mention)
			j->given[i] = (struct eval_rows){row, row ? 1 : 0};
		else if (has_say(j, i, mention))
			j->given[i] = (struct eval_rows){list->rows, list->count};
		else
			j->given[i] = (struct eval_rows){NULL, 0};
	}
}

/* Are the lists that give() takes whole, where they are to have all that may have been there? */
static bool gives_all(const struct multi_table *j, bool certain, uint32_t mention)
{
	for (uint32_t i = 0; i < j->query->shape.count; i++)
		if (has_say(j, i, mention) && certain == j->query->shape.mentions[i].negated &&
			!j->possible[i].whole)
			return false;
	return true;
}

/* Is there an object of the one other mention that takes part whichever version of it was seen? */
static enum match test_each_version(struct multi_table *j, uint32_t mention, uint32_t other,
	const struct eval_value *const *row)
{
	const struct history *h = j->history;
	const struct row_list *list = &j->possible[other];

	for (size_t first = 0, end; first < list->count; first = end) {
		const struct history_object *o = &h->objects[list->objects[first]];
		uint32_t versions = 0;
		bool all = true;

		for (end = first + 1; end < list->count && list->objects[end] == list->objects[first];)
			end++;
		for (uint32_t i = 0; i < o->order_count; i++)
			versions += may_see(j, o, i);
		/* One without a row, or that its own conditions refuse, is not in the list. */
		if (versions != end - first)
			continue;
		for (size_t k = first; k < end && all; k++) {
			j->given[mention] = (struct eval_rows){row, 1};
			j->given[other] = (struct eval_rows){&list->rows[k], 1};
			all = run(j, mention) == MATCH_YES;
		}
		if (all)
			return MATCH_YES;
	}
	return MATCH_UNKNOWN;
}

/* Does a row of a negated mention take a row out of the result? */
static enum match takes_away(
	struct multi_table *j, bool certain, uint32_t mention, const struct eval_value *const *row)
{
	uint64_t without, with;

	if (!gives_all(j, certain, mention))
		return MATCH_UNKNOWN;
	give(j, certain, mention, NULL);
	if (!count_rows(j, j->query->counted, &without))
		return MATCH_UNKNOWN;
	j->given[mention] = (struct eval_rows){row, 1};
	if (!count_rows(j, j->query->counted, &with))
		return MATCH_UNKNOWN;
	return with != without ? MATCH_YES : MATCH_NO;
}

static enum match test_negated(
	struct multi_table *j, uint32_t mention, const struct eval_value *const *row)
{
	if (takes_away(j, true, mention, row) == MATCH_YES)
		return MATCH_YES;
	return takes_away(j, false, mention, row) == MATCH_NO ? MATCH_NO : MATCH_UNKNOWN;
}

static enum match test_mention(struct multi_table *j, uint32_t mention, const struct eval_value *row)
{
	uint32_t others, other = 0;
	enum match match = MATCH_NO;

	if (test_locals(j, mention, row) == MATCH_NO)
		return MATCH_NO;
	if (j->query->shape.mentions[mention].negated)
		return test_negated(j, mention, &row);
	others = other_mentions(j, mention, &other);
	if (gives_all(j, true, mention)) {
		give(j, true, mention, &row);
		match = run(j, mention);
		if (match != MATCH_NO || !others)
			return match;
	}
	if (!gives_all(j, false, mention))
		return MATCH_UNKNOWN;
	give(j, false, mention, &row);
	match = run(j, mention);
	if (match != MATCH_YES)
		return match;
	return others == 1 && !j->query->shape.negates
		       ? test_each_version(j, mention, other, &row)
		       : MATCH_UNKNOWN;
}

/* A table that is mentioned more than once meets itself: there the object is at this version too. */
static void put_in_place(struct multi_table *j, struct row_list *list, uint32_t mention, uint32_t object,
	const struct eval_value *row)
{
	struct row_list *to = &j->trial, kept;

	to->count = 0;
	to->whole = list->whole;
	for (size_t i = 0; i < list->count; i++)
		if (list->objects[i] != object)
			list_add(to, list->rows[i], list->objects[i]);
	if (row && test_locals(j, mention, row) != MATCH_NO)
		list_add(to, row, object);
	kept = *list;
	*list = *to;
	*to = kept;
}

static enum match test_cut(struct multi_table *j, const struct eval_value *row)
{
	bool known;
	int order;

	arena_clear(&j->scratch);
	order = compare_order(j, row, j->last_row, &known);
	/* The last row itself, or another version of it. */
	if (known && order == 0 && j->query->order_whole)
		return MATCH_YES;
	if (!known || order == 0)
		return row == j->last_row ? MATCH_YES : MATCH_UNKNOWN;
	return order < 0 ? MATCH_YES : MATCH_NO;
}

enum match multi_table_test(struct multi_table *j, uint32_t version)
{
	const struct history *h = j->history;
	const struct multi_table_query *q = j->query;
	uint32_t object = h->versions[version].object;
	const struct eval_value *row;
	enum match all = MATCH_NO;
	uint32_t mentions = 0;

	if (version_is_absent(h, version))
		return MATCH_NO;
	row = values_of(j, version);
	if (!row)
		return MATCH_UNKNOWN;
	for (uint32_t i = 0; i < q->shape.count; i++)
		mentions += q->tables[i] == j->predicate->table;
	if (!j->listed_made || mentions > 1) {
		for (uint32_t i = 0; i < q->shape.count; i++) {
			bool same = q->tables[i] == j->predicate->table;

			if (same ? mentions > 1 : !j->listed_made)
				list_mention(j, i);
			if (same && mentions > 1) {
				put_in_place(j, &j->certain[i], i, object, row);
				put_in_place(j, &j->possible[i], i, object, row);
			}
		}
		j->listed_made = true;
	}
	for (uint32_t i = 0; i < q->shape.count && all != MATCH_YES; i++) {
		enum match match;

		if (!is_tested(j, i))
			continue;
		match = test_mention(j, i, row);
		if (match != MATCH_NO)
			all = match;
	}
	if (q->shape.cut && all == MATCH_YES)
		all = test_cut(j, row);
	return all;
}
