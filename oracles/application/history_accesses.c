/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "application/history_accesses.h"

#include <stdlib.h>

#include "adya/dependencies.h"
#include "adya/predicate_match.h"
#include "adya/sentences.h"
#include "base/hash.h"
#include "base/mem.h"
#include "trace/value.h"

/* ---- tables ---- */

/* Columns of the recorder's own are no part of what an application reads or writes. */
static bool is_own_column(struct span name)
{
	return span_istarts(name, "isorec_");
}

static void read_columns(struct access_table *out, struct arena *arena, const struct record_schema *schema)
{
	struct mp mp = mp_over(schema->columns);
	uint32_t count = mp_array(&mp), keys;

	out->columns = arena_alloc(arena, ((size_t)count + 1) * sizeof(*out->columns));
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint32_t fields = mp_array(&mp);

		out->columns[i] = fields ? mp_bytes(&mp) : SPAN_NONE;
		if (fields > 1 && !record_skip_fields(&mp, fields - 1))
			return;
	}
	if (mp.bad)
		return;
	out->column_count = count;
	mp = mp_over(schema->primary_key);
	keys = schema->primary_key.ptr ? mp_array(&mp) : 0;
	for (uint32_t i = 0; i < keys && !mp.bad; i++)
		out->key |= access_column(mp_u32(&mp));
}

static void add_tables(struct accesses *out, const struct history *h)
{
	out->table_count = h->table_count;
	out->tables = arena_zero(&out->arena, ((size_t)h->table_count + 1) * sizeof(*out->tables));
	for (uint32_t i = 0; i < h->table_count; i++) {
		const struct history_table *from = &h->tables[i];
		struct span database = strtab_get(&h->strings, from->database), name = strtab_get(&h->strings, from->name);
		struct mp mp = mp_over(from->schema_ref);
		struct record_schema schema;
		uint32_t kind, left;

		out->tables[i].name = span_str(arena_printf(&out->arena, "%.*s%s%.*s", SPAN_ARG(database),
			database.len ? "." : "", SPAN_ARG(name)));
		if (from->schema_ref.ptr && record_begin(&mp, &kind, &left) && kind == RECORD_SCHEMA &&
			record_schema_read(&mp, left, &schema))
			read_columns(&out->tables[i], &out->arena, &schema);
	}
}

/* ---- versions ---- */

static bool is_absent(const struct history_version *v)
{
	return v->flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD);
}

/* The wall clock at a moment of the recording's own clock. */
static uint64_t wall_of(const struct history *h, uint64_t mono_ns)
{
	return h->wall_ns + (mono_ns - h->mono_ns);
}

static bool is_string(const struct value *v)
{
	return v->type == VALUE_TEXT || v->type == VALUE_BYTES || v->type == VALUE_JSON;
}

/* Triggers and snapshots of a table may call the type of a string by another name. */
static bool is_same(const struct value *a, const struct value *b)
{
	return value_eq(a, b) || (is_string(a) && is_string(b) && span_eq(a->bytes, b->bytes));
}

static void note_quantity(struct quantities *q, struct access_table *table, uint32_t column, const struct value *v)
{
	if (v->type == VALUE_INT || v->type == VALUE_UINT)
		quantities_note(q, table, column, v->u);
	else if (v->type == VALUE_DECIMAL)
		quantities_note(q, table, column, hash_bytes(v->bytes.ptr, v->bytes.len));
}

/* Which columns differ from those of the version before, and which hold the time of the writing. */
static void compare_images(struct access_version *out, const struct history *h, struct access_table *table,
	struct quantities *q, const struct history_version *before, const struct history_version *after)
{
	struct mp a = mp_over(history_bytes(h, before->image)), b = mp_over(history_bytes(h, after->image));
	const struct history_txn *t = &h->txns[after->txn];

	out->columns = UINT64_MAX;
	if (is_absent(before) || is_absent(after) || !before->image || !after->image)
		return;
	if (mp_peek(&a) != MP_ARRAY || mp_peek(&b) != MP_ARRAY || mp_array(&a) != table->column_count ||
		mp_array(&b) != table->column_count)
		return;
	out->columns = 0;
	for (uint32_t i = 0; i < table->column_count; i++) {
		struct value old, new;

		if (!value_read(&a, &old) || !value_read(&b, &new)) {
			out->columns = UINT64_MAX;
			return;
		}
		if (is_own_column(table->columns[i]))
			continue;
		if (new.type == VALUE_DATETIME &&
			moment_is_between(new.bytes, wall_of(h, t->begin_ns), wall_of(h, t->end_ns)))
			out->moments |= access_column(i);
		if (is_same(&old, &new))
			continue;
		note_quantity(q, table, i, &new);
		out->columns |= access_column(i);
	}
}

static void add_versions(struct accesses *out, const struct history *h, struct quantities *q, uint32_t object)
{
	const struct history_object *o = &h->objects[object];
	uint32_t row = out->row_count++;

	out->rows[row] = (struct access_row){.table = o->table,
		.first = out->version_count,
		.count = o->installed_count,
		.name = say_object(&out->arena, h, object)};
	for (uint32_t i = 0; i < o->installed_count; i++) {
		uint32_t id = h->order[o->first_order + i];
		const struct history_version *v = &h->versions[id];
		struct access_version *to = &out->versions[out->version_count++];

		/* The order is certain: nothing is concluded from times. */
		*to = (struct access_version){.row = row,
			.txn = v->txn == HISTORY_NONE ? ACCESS_NONE : v->txn,
			.stmt = v->stmt == HISTORY_NONE ? ACCESS_NONE : v->stmt,
			.absent = is_absent(v),
			.ending = UINT64_MAX};
		if (i && v->txn != HISTORY_NONE)
			compare_images(to, h, &out->tables[o->table], &q[o->table],
				&h->versions[h->order[o->first_order + i - 1]], v);
	}
}

/* Returns, by object, the row; ACCESS_NONE: nothing can be concluded from it. */
static uint32_t *add_rows(struct accesses *out, const struct history *h, uint32_t **ids)
{
	uint32_t *row_of = mem_realloc(NULL, (size_t)h->object_count + 1, sizeof(*row_of));
	struct quantities *q = mem_zero((size_t)h->table_count + 1, sizeof(*q));
	uint32_t rows = 0, versions = 0;

	for (uint32_t i = 0; i < h->object_count; i++) {
		const struct history_object *o = &h->objects[i];
		bool wanted = o->order_known && o->installed_count > 1;

		row_of[i] = wanted ? rows++ : ACCESS_NONE;
		versions += wanted ? o->installed_count : 0;
	}
	out->rows = mem_zero((size_t)rows + 1, sizeof(*out->rows));
	out->versions = mem_zero((size_t)versions + 1, sizeof(*out->versions));
	*ids = arena_alloc(&out->arena, ((size_t)versions + 1) * sizeof(**ids));
	for (uint32_t i = 0; i < h->object_count; i++) {
		const struct history_object *o = &h->objects[i];

		if (row_of[i] == ACCESS_NONE)
			continue;
		for (uint32_t k = 0; k < o->installed_count; k++)
			(*ids)[out->version_count + k] = h->order[o->first_order + k];
		add_versions(out, h, q, i);
	}
	mem_free(q);
	return row_of;
}

/* ---- reads ---- */

static void add_read(struct accesses *out, const struct history *h, const uint32_t *row_of, const struct history_op *op)
{
	const struct history_version *v;
	enum access_kind kind = op->read_kind == PROBE_READ_CURRENT ? ACCESS_LOCKING : ACCESS_PLAIN;

	if (!(op->flags & HISTORY_OP_EXACT) || op->version == HISTORY_NONE || op->stmt == HISTORY_NONE ||
		row_of[op->object] == ACCESS_NONE)
		return;
	v = &h->versions[op->version];
	if (v->position == HISTORY_NONE || v->txn == op->txn)
		return;
	/* The triggers' log of an UPDATE has the row, and it is as it was. */
	if (h->stmts[op->stmt].flags & HISTORY_STMT_WRITES)
		kind = ACCESS_NO_CHANGE;
	MEM_RESERVE(out->reads, out->read_count + 1, out->read_capacity);
	out->reads[out->read_count++] = (struct access_read){.txn = op->txn,
		.stmt = op->stmt,
		.row = row_of[op->object],
		.low = v->position,
		.high = v->position,
		.kind = kind};
}

static bool is_matched(const struct history *h, const struct history_predicate *p, uint32_t object)
{
	for (uint32_t i = p->first_match; i < p->first_match + p->match_count; i++)
		if (h->versions[h->predicate_versions[i]].object == object)
			return true;
	return false;
}

/* A write by a condition that matches a row as the transaction read it before, and that did not find the row: a
 * current read cannot see an older state than the reads before it, so it saw a later one. */
static void add_gone(struct accesses *out, const struct history *h, struct matcher *matcher, const uint32_t *ids,
	const struct history_op *op, size_t first_read)
{
	const struct history_predicate *p = &h->predicates[op->predicate];

	if (!(p->flags & HISTORY_PREDICATE_WRITE) || !(p->flags & HISTORY_PREDICATE_MATCHES) || !p->text ||
		!(op->flags & HISTORY_OP_EXACT) || op->read_kind != PROBE_READ_CURRENT)
		return;
	matcher_choose(matcher, p);
	for (size_t i = first_read; i < out->read_count; i++) {
		const struct access_read *read = &out->reads[i];
		const struct access_row *row = &out->rows[read->row];
		uint32_t version = ids[row->first + read->high];

		if (row->table != p->table || read->kind != ACCESS_PLAIN || read->high + 1 >= row->count ||
			is_matched(h, p, h->versions[version].object) || matcher_test(matcher, version) != MATCH_YES)
			continue;
		MEM_RESERVE(out->gone, out->gone_count + 1, out->gone_capacity);
		out->gone[out->gone_count++] = (struct access_found_gone){op->txn, op->stmt, read->row, read->high};
	}
}

/* Operations of a transaction stand in the order of its statements. */
static void add_reads(struct accesses *out, const struct history *h, const uint32_t *row_of, const uint32_t *ids)
{
	struct matcher *matcher = matcher_new(h);
	bool releases = dependencies_released(h);

	for (uint32_t t = 0; t < h->txn_count; t++) {
		size_t first_read = out->read_count;

		if (!dependencies_has(h, t))
			continue;
		for (uint32_t i = h->txns[t].first_op; i < h->txns[t].first_op + h->txns[t].op_count; i++) {
			const struct history_op *op = &h->ops[i];

			if (releases && op->flags & HISTORY_OP_RELEASED)
				continue;
			if (op->kind == HISTORY_READ)
				add_read(out, h, row_of, op);
			else if (op->kind == HISTORY_PREDICATE && op->stmt != HISTORY_NONE)
				add_gone(out, h, matcher, ids, op, first_read);
		}
	}
	matcher_free(matcher);
}

/* ---- predicates ---- */

/* The certain anti-dependencies of predicate reads. */
static void add_misses(
	struct accesses *out, const struct history *h, const struct dependencies *d, const uint32_t *row_of)
{
	for (uint32_t e = 0; e < d->graph.edge_count; e++) {
		const struct predicate_edge *edge;
		const struct history_predicate *p;
		const struct history_version *v;

		if (d->graph.kind[e] != GRAPH_PREDICATE_RW)
			continue;
		edge = &d->predicate_edges[d->graph.detail[e]];
		p = &h->predicates[edge->predicate];
		v = &h->versions[edge->changed];
		if (row_of[v->object] == ACCESS_NONE || v->position == HISTORY_NONE || p->stmt == HISTORY_NONE ||
			edge->read_kind != PROBE_READ_SNAPSHOT)
			continue;
		MEM_RESERVE(out->misses, out->miss_count + 1, out->miss_capacity);
		out->misses[out->miss_count++] = (struct access_miss){
			p->txn, p->stmt, out->rows[row_of[v->object]].first + v->position};
	}
}

/* ---- all ---- */

struct history_images {
	const struct history *history;
	const uint32_t *ids;
};

static struct span image_of(const void *context, struct arena *arena, uint32_t version)
{
	const struct history_images *images = context;
	struct buf text = BUF_INIT;
	struct span kept = SPAN_NONE;

	say_add_image(&text, images->history, images->ids[version]);
	if (text.len > 1)
		kept = arena_copy(arena, span_of(text.data + 1, text.len - 1));
	buf_release(&text);
	return kept;
}

void accesses_of_history(struct accesses *out, const struct history *history, const struct dependencies *dependencies)
{
	struct history_images *images;
	uint32_t *row_of, *ids;

	*out = (struct accesses){.image = image_of};
	add_tables(out, history);
	row_of = add_rows(out, history, &ids);
	add_reads(out, history, row_of, ids);
	if (dependencies)
		add_misses(out, history, dependencies, row_of);
	images = arena_alloc(&out->arena, sizeof(*images));
	*images = (struct history_images){history, ids};
	out->context = images;
	mem_free(row_of);
}
