/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What nodes held at a point, compared with each other (divergent) and with their own keys (broken-constraint).
 *
 * Rows are compared as the trace has them, byte by byte.  A foreign key is looked at where all its columns are
 * integers: what a collation takes for equal is not known here.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "sync/sync_internal.h"

/* ---- cells ---- */

bool cells_comparable(const struct cell *a, const struct cell *b)
{
	if (a->kind == CELL_UNKNOWN || b->kind == CELL_UNKNOWN)
		return false;
	return a->kind == b->kind || a->kind == CELL_NULL || b->kind == CELL_NULL;
}

static struct span without_blanks(struct span s)
{
	while (s.len && s.ptr[s.len - 1] == ' ')
		s.len--;
	return s;
}

bool cells_equal(const struct cell *a, const struct cell *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == CELL_TEXT) /* CHAR is stored without them */
		return span_eq(without_blanks(a->text), without_blanks(b->text));
	return a->kind != CELL_INT || a->number == b->number;
}

struct cell cell_of_value(const struct value *value)
{
	if (value->type == VALUE_NULL)
		return (struct cell){.kind = CELL_NULL};
	if (value->type == VALUE_INT)
		return (struct cell){.kind = CELL_INT, .number = value->i};
	if (value->type == VALUE_UINT && value->u <= INT64_MAX)
		return (struct cell){.kind = CELL_INT, .number = (int64_t)value->u};
	if (value->type == VALUE_TEXT)
		return (struct cell){.kind = CELL_TEXT, .text = value->bytes};
	return (struct cell){.kind = CELL_UNKNOWN};
}

/* Which column of the table each column of the content is; NONE: another. */
static bool column_order(const struct sync_table *table, const struct life_content *content, uint32_t *order, uint32_t *count)
{
	struct mp mp = mp_over(content->columns);

	*count = table->column_count;
	for (uint32_t i = 0; i < table->column_count; i++)
		order[i] = i;
	if (!content->columns.ptr)
		return true;
	*count = mp_array(&mp);
	if (*count > SYNC_COLUMNS_MAX)
		return false;
	for (uint32_t i = 0; i < *count; i++) {
		struct span name = mp_bytes(&mp);

		order[i] = SYNC_NONE;
		for (uint32_t k = 0; k < table->column_count; k++)
			if (span_ieq(table->columns[k].name, name))
				order[i] = k;
	}
	return !mp.bad;
}

bool content_cells(const struct sync *s, const struct sync_table *table, const struct life_content *content, struct span row,
	struct cell *out)
{
	uint32_t order[SYNC_COLUMNS_MAX], count;
	struct mp mp = mp_over(row);
	uint32_t elements = mp_array(&mp);

	(void)s;
	if (!column_order(table, content, order, &count) || elements != count)
		return false;
	for (uint32_t i = 0; i < table->column_count; i++)
		out[i] = (struct cell){.kind = CELL_UNKNOWN};
	for (uint32_t i = 0; i < count; i++) {
		struct value value;

		if (!value_read(&mp, &value))
			return false;
		if (order[i] != SYNC_NONE)
			out[order[i]] = cell_of_value(&value);
	}
	return true;
}

bool cells_key(const struct sync_table *table, const struct cell *cells, int64_t key[SYNC_KEY_MAX])
{
	for (uint32_t i = 0; i < table->key_count; i++) {
		if (cells[table->key[i]].kind != CELL_INT)
			return false;
		key[i] = cells[table->key[i]].number;
	}
	return table->key_count > 0;
}

struct span row_name(struct sync *s, const struct sync_table *table, const int64_t key[SYNC_KEY_MAX])
{
	struct buf name = BUF_INIT;
	struct span out;

	buf_printf(&name, "%.*s(", SPAN_ARG(table->label));
	for (uint32_t i = 0; i < table->key_count; i++)
		buf_printf(&name, "%s%lld", i ? "," : "", (long long)key[i]);
	buf_add_char(&name, ')');
	out = arena_copy(&s->verdict->arena, buf_span(&name));
	buf_release(&name);
	return out;
}

/* ---- contents ---- */

const struct life_content *content_at(const struct sync *s, uint32_t point, uint32_t node, uint32_t table)
{
	for (size_t i = 0; i < s->life->content_count; i++) {
		const struct life_content *c = &s->life->contents[i];

		if (c->point == point && c->node == node && c->table == s->tables[table].number)
			return c;
	}
	return NULL;
}

const struct life_content *content_of_any(const struct sync *s, uint32_t point, uint32_t table)
{
	uint64_t nodes = nodes_read(s, point);

	for (uint32_t node = 0; node < s->life->node_count; node++) {
		const struct life_content *c = nodes >> node & 1 ? content_at(s, point, node, table) : NULL;

		if (c && c->complete)
			return c;
	}
	return NULL;
}

/* ---- divergent ---- */

/* A row that not all nodes have alike. */
struct difference {
	struct span row; /* encoded */
	uint64_t nodes;  /* that have it */
	uint32_t table;
	const struct life_content *content;
};

static int by_row(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	int c = span_cmp(x->row, y->row);

	return c ? c : (x->nodes > y->nodes) - (x->nodes < y->nodes);
}

static void print_row(struct sync *s, const struct difference *d, struct buf *out)
{
	const struct sync_table *table = &s->tables[d->table];
	struct mp mp = mp_over(d->row);
	uint32_t count = mp_array(&mp);

	buf_printf(out, "%.*s (", SPAN_ARG(table->label));
	for (uint32_t i = 0; i < count; i++) {
		struct value value;

		if (!value_read(&mp, &value))
			break;
		buf_add_str(out, i ? ", " : "");
		value_print(out, &value, 40);
	}
	buf_add_str(out, ") on");
	for (uint32_t n = 0; n < s->life->node_count; n++)
		if (d->nodes >> n & 1)
			buf_printf(out, " %.*s", SPAN_ARG(s->life->nodes[n].name));
	buf_add_str(out, " alone");
}

/* Rows of one table that differ, each with the nodes that have it.  A row that is there twice on each node is equal. */
static void compare_rows(struct sync *s, uint32_t point, uint32_t table, uint64_t nodes, struct difference **out,
	size_t *count, size_t *capacity)
{
	struct difference *all = NULL;
	size_t total = 0, at = 0;

	for (uint32_t n = 0; n < s->life->node_count; n++) {
		const struct life_content *c = nodes >> n & 1 ? content_at(s, point, n, table) : NULL;

		total += c ? c->count : 0;
	}
	all = mem_zero(total + 1, sizeof(*all));
	for (uint32_t n = 0; n < s->life->node_count; n++) {
		const struct life_content *c = nodes >> n & 1 ? content_at(s, point, n, table) : NULL;

		for (size_t i = 0; c && i < c->count; i++)
			all[at++] = (struct difference){.row = c->rows[i], .nodes = (uint64_t)1 << n, .table = table, .content = c};
	}
	qsort(all, total, sizeof(*all), by_row);
	for (size_t i = 0; i < total;) {
		size_t counts[LIFE_NODES_MAX] = {0}, end = i, most = 0;
		uint64_t have = 0, fewer = 0;

		for (; end < total && span_eq(all[end].row, all[i].row); end++)
			counts[__builtin_ctzll(all[end].nodes)]++;
		for (uint32_t n = 0; n < s->life->node_count; n++)
			if (nodes >> n & 1 && counts[n] > most)
				most = counts[n];
		for (uint32_t n = 0; n < s->life->node_count; n++) {
			have |= counts[n] == most ? (uint64_t)1 << n : 0;
			fewer |= nodes >> n & 1 && counts[n] != most ? (uint64_t)1 << n : 0;
		}
		if (fewer) {
			MEM_RESERVE(*out, *count + 1, *capacity);
			(*out)[(*count)++] = (struct difference){
				.row = all[i].row, .nodes = have & nodes, .table = table, .content = all[i].content};
		}
		i = end;
	}
	mem_free(all);
}

/* A definition without what nodes count apart. */
static void plain_definition(struct span text, struct buf *out)
{
	static const char word[] = " AUTO_INCREMENT=";

	while (text.len) {
		const char *at = memmem(text.ptr, text.len, word, sizeof(word) - 1);
		size_t len = at ? (size_t)(at - text.ptr) : text.len;

		buf_add(out, text.ptr, len);
		if (!at)
			break;
		len += sizeof(word) - 1;
		while (len < text.len && text.ptr[len] >= '0' && text.ptr[len] <= '9')
			len++;
		text = span_of(text.ptr + len, text.len - len);
	}
}

/* Nodes whose definition is not that of most. */
static uint64_t compare_definitions(struct sync *s, uint32_t point, uint32_t table, uint64_t nodes)
{
	struct buf texts[LIFE_NODES_MAX];
	unsigned best = 0;
	uint64_t odd = 0, known = 0;
	uint32_t usual = 0;

	for (uint32_t n = 0; n < s->life->node_count; n++) {
		const struct life_content *c = nodes >> n & 1 ? content_at(s, point, n, table) : NULL;

		texts[n] = BUF_INIT;
		if (c && c->definition.ptr) {
			plain_definition(c->definition, &texts[n]);
			known |= (uint64_t)1 << n;
		}
	}
	for (uint32_t n = 0; n < s->life->node_count; n++) {
		unsigned same = 0;

		for (uint32_t m = 0; m < s->life->node_count; m++)
			same += known >> n & known >> m & 1 && span_eq(buf_span(&texts[n]), buf_span(&texts[m]));
		if (same > best) {
			best = same;
			usual = n;
		}
	}
	for (uint32_t n = 0; n < s->life->node_count; n++)
		if (known >> n & 1 && !span_eq(buf_span(&texts[n]), buf_span(&texts[usual])))
			odd |= (uint64_t)1 << n;
	/* A table that a node does not have at all. */
	for (uint32_t n = 0; n < s->life->node_count; n++)
		if (known && nodes >> n & 1 && !(known >> n & 1) && !content_at(s, point, n, table))
			odd |= (uint64_t)1 << n;
	for (uint32_t n = 0; n < s->life->node_count; n++)
		buf_release(&texts[n]);
	return odd;
}

/* The nodes that are alone with what they hold: the smaller part. */
static uint64_t odd_nodes(const struct sync *s, uint64_t nodes, const struct difference *d, size_t count)
{
	uint64_t odd = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t have = d[i].nodes & nodes, not = nodes & ~have;

		odd |= node_set_count(have) <= node_set_count(not) ? have : not;
	}
	(void)s;
	return odd;
}

/* The last committed transaction that wrote the row, and those that may have after it. */
static uint32_t last_writer(const struct sync *s, const struct difference *d, uint64_t before_seq)
{
	struct cell *cells = mem_zero(s->tables[d->table].column_count + 1, sizeof(*cells));
	uint32_t best = SYNC_NONE, row = SYNC_NONE;
	int64_t key[SYNC_KEY_MAX];

	if (content_cells(s, &s->tables[d->table], d->content, d->row, cells) && cells_key(&s->tables[d->table], cells, key))
		row = row_find(s, d->table, key);
	mem_free(cells);
	for (uint32_t e = row == MAP_NONE ? SYNC_NONE : s->rows[row].effects; e != SYNC_NONE; e = s->effects[e].next) {
		const struct sync_txn *txn = &s->txns[s->effects[e].txn];

		if (txn->outcome == TXN_COMMITTED && txn->end_seq < before_seq &&
			(best == SYNC_NONE || txn->end_seq > s->txns[best].end_seq))
			best = s->effects[e].txn;
	}
	return best;
}

static bool same_position(const struct sync *s, uint32_t point, uint64_t nodes)
{
	struct span position = SPAN_NONE;

	for (uint32_t n = 0; n < s->life->node_count; n++) {
		const struct life_look *look = &s->life->points[point].looks[n];

		if (!(nodes >> n & 1))
			continue;
		if (!look->position.ptr || (position.ptr && !span_eq(position, look->position)))
			return false;
		position = look->position;
	}
	return true;
}

static void tell_rows(struct sync *s, uint32_t point, uint64_t nodes, const struct difference *d, size_t count)
{
	struct span rows[SYNC_LISTED_MAX];
	uint32_t txns[SYNC_LISTED_MAX], txn_count = 0, listed = 0;
	uint64_t odd = odd_nodes(s, nodes, d, count);
	bool agreed = false, same = same_position(s, point, nodes);
	struct buf text = BUF_INIT;
	struct told told = {.class = CLASS_DIVERGENT, .nodes = odd, .row_total = count};

	for (size_t i = 0; i < count && listed < SYNC_LISTED_MAX; i++) {
		uint32_t writer = last_writer(s, &d[i], s->life->points[point].first_seq);
		bool there = false;

		buf_clear(&text);
		print_row(s, &d[i], &text);
		rows[listed++] = arena_copy(&s->verdict->arena, buf_span(&text));
		for (uint32_t k = 0; k < txn_count; k++)
			there |= txns[k] == writer;
		if (writer != SYNC_NONE && !there)
			txns[txn_count++] = writer;
	}
	for (uint32_t p = point; p-- > 0 && !agreed;) {
		agreed = node_set_count(nodes_read(s, p)) > 1;
		told.from_at = s->life->points[p].last_at;
	}
	told.to_at = s->life->points[point].first_at;
	buf_clear(&text);
	buf_printf(&text, "At %.*s, with the clients held, %s hold different rows", SPAN_ARG(s->life->points[point].name),
		node_set_count(nodes) == 2 ? "two nodes" : "the nodes");
	if (same)
		buf_printf(&text, " although all are at position %.*s",
			SPAN_ARG(s->life->points[point].looks[__builtin_ctzll(nodes)].position));
	buf_printf(&text, ": %zu %s on some of them only.", count, count == 1 ? "row is" : "rows are");
	if (node_set_count(odd) < node_set_count(nodes))
		buf_add_str(&text, " Alone with what they hold:");
	for (uint32_t n = 0; n < s->life->node_count && node_set_count(odd) < node_set_count(nodes); n++)
		if (odd >> n & 1)
			buf_printf(&text, " %.*s", SPAN_ARG(s->life->nodes[n].name));
	if (node_set_count(odd) < node_set_count(nodes))
		buf_add_char(&text, '.');
	if (txn_count)
		buf_add_str(&text, " The transactions named are the last recorded ones that wrote these rows.");
	told.explanation = arena_copy(&s->verdict->arena, buf_span(&text));
	if (!same) {
		told.suspicion = true;
		told.caveat = "The nodes were at different positions, or these are not known, so one may only have been late.";
	}
	told.txns = txns;
	told.txn_count = txn_count;
	told.rows = rows;
	told.row_count = listed;
	tell(s, &told);
	buf_release(&text);
}

static void tell_definitions(struct sync *s, uint32_t point, uint64_t odd, uint32_t table)
{
	struct buf text = BUF_INIT;
	struct span row = s->tables[table].label;
	struct told told = {.class = CLASS_DIVERGENT, .nodes = odd, .rows = &row, .row_count = 1, .row_total = 1,
		.to_at = s->life->points[point].first_at};

	for (uint32_t p = point; p-- > 0 && !told.from_at;)
		told.from_at = s->life->points[p].last_at;
	buf_printf(&text, "At %.*s the table %.*s is defined otherwise than on most nodes, or missing, on", SPAN_ARG(s->life->points[point].name),
		SPAN_ARG(row));
	for (uint32_t n = 0; n < s->life->node_count; n++)
		if (odd >> n & 1)
			buf_printf(&text, " %.*s", SPAN_ARG(s->life->nodes[n].name));
	buf_add_char(&text, '.');
	told.explanation = arena_copy(&s->verdict->arena, buf_span(&text));
	buf_release(&text);
	tell(s, &told);
}

/* What was found at one point is there at the next ones, too: only the first is told of each table. */
static void compare_point(struct sync *s, uint32_t point, bool *rows_told, bool *definition_told)
{
	uint64_t nodes = nodes_read(s, point);
	struct difference *d = NULL;
	size_t count = 0, capacity = 0;

	if (node_set_count(nodes) < 2)
		return;
	for (uint32_t t = 0; t < s->table_count; t++) {
		size_t before = count;
		uint64_t whole = 0, odd = definition_told[t] ? 0 : compare_definitions(s, point, t, nodes);

		if (odd) {
			definition_told[t] = true;
			tell_definitions(s, point, odd, t);
		}
		for (uint32_t n = 0; n < s->life->node_count; n++) {
			const struct life_content *c = nodes >> n & 1 ? content_at(s, point, n, t) : NULL;

			whole |= c && c->complete && !(odd >> n & 1) ? (uint64_t)1 << n : 0;
		}
		if (rows_told[t] || node_set_count(whole) < 2)
			continue;
		compare_rows(s, point, t, whole, &d, &count, &capacity);
		rows_told[t] = count > before;
	}
	if (count)
		tell_rows(s, point, nodes, d, count);
	mem_free(d);
}

/* ---- constraints ---- */

static uint64_t columns_hash(const struct cell *cells, const uint16_t *columns, uint32_t count)
{
	int64_t key[SYNC_KEY_MAX] = {0};

	for (uint32_t i = 0; i < count; i++)
		key[i] = cells[columns[i]].number;
	return hash_bytes(key, count * sizeof(key[0]));
}

static bool all_integers(const struct cell *cells, const uint16_t *columns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (cells[columns[i]].kind != CELL_INT)
			return false;
	return count > 0;
}

static void check_foreign(struct sync *s, uint32_t point, uint32_t node, uint32_t t, const struct sync_foreign *f)
{
	const struct sync_table *table = &s->tables[t], *parent = &s->tables[f->parent];
	const struct life_content *children = content_at(s, point, node, t), *parents = content_at(s, point, node, f->parent);
	struct cell *cells = mem_zero(table->column_count + parent->column_count + 1, sizeof(*cells));
	struct span rows[SYNC_LISTED_MAX];
	uint32_t listed = 0;
	uint64_t orphans = 0;
	struct map there = MAP_INIT;

	for (size_t i = 0; children && parents && children->complete && parents->complete && i < parents->count; i++)
		if (content_cells(s, parent, parents, parents->rows[i], cells) && all_integers(cells, parent->key, parent->key_count))
			map_put(&there, columns_hash(cells, parent->key, parent->key_count), 1);
	for (size_t i = 0; children && parents && children->complete && parents->complete && i < children->count; i++) {
		int64_t key[SYNC_KEY_MAX];

		if (!content_cells(s, table, children, children->rows[i], cells) ||
			!all_integers(cells, f->columns, f->column_count) ||
			map_get(&there, columns_hash(cells, f->columns, f->column_count)) != MAP_NONE)
			continue;
		if (orphans++ < SYNC_LISTED_MAX)
			rows[listed++] = cells_key(table, cells, key) ? row_name(s, table, key) : table->label;
	}
	if (orphans) {
		struct told told = {.class = CLASS_BROKEN_CONSTRAINT, .nodes = (uint64_t)1 << node, .rows = rows,
			.row_count = listed, .row_total = orphans, .to_at = s->life->points[point].first_at};

		for (uint32_t p = point; p-- > 0 && !told.from_at;)
			told.from_at = s->life->points[p].last_at;
		told.explanation = span_str(arena_printf(&s->verdict->arena,
			"On node %.*s, %llu %s of %.*s name%s a parent in %.*s that is not there (foreign key %.*s).",
			SPAN_ARG(s->life->nodes[node].name), (unsigned long long)orphans, orphans == 1 ? "row" : "rows",
			SPAN_ARG(table->label), orphans == 1 ? "s" : "", SPAN_ARG(parent->label), SPAN_ARG(f->name)));
		tell(s, &told);
	}
	map_release(&there);
	mem_free(cells);
}

static void check_constraints(struct sync *s, uint32_t point)
{
	uint64_t nodes = nodes_read(s, point);

	for (uint32_t t = 0; t < s->table_count; t++)
		for (uint32_t f = 0; f < s->tables[t].foreign_count; f++)
			for (uint32_t n = 0; n < s->life->node_count && s->tables[t].foreign[f].by_primary; n++)
				if (nodes >> n & 1)
					check_foreign(s, point, n, t, &s->tables[t].foreign[f]);
}

void check_contents(struct sync *s)
{
	bool *told = mem_zero(2 * (size_t)s->table_count + 2, sizeof(*told));
	uint64_t incomplete = 0;
	uint32_t last = last_point(s);

	for (uint32_t p = 0; p < s->life->point_count; p++) {
		compare_point(s, p, told, told + s->table_count);
		for (uint32_t n = 0; n < s->life->node_count; n++)
			for (uint32_t t = 0; t < s->table_count && p == last; t++) {
				const struct life_content *c = content_at(s, p, n, t);

				incomplete += c && !c->complete;
			}
	}
	if (last != SYNC_NONE)
		check_constraints(s, last);
	verdict_undecided(s->verdict, "tables of a node that were not read whole", incomplete);
	mem_free(told);
}
