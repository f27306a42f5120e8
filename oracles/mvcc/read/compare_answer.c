/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recorded rows against expected ones: as a multiset where nothing orders them, as a list where
 * ORDER BY does, with any choice that LIMIT leaves open.
 */
#include "mvcc/read/compare_answer.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/bug.h"
#include "eval/value/collation.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/solver.h"
#include "trace/msgpack_cursor.h"
#include "trace/value.h"

/* Decoded rows, one after the other. */
struct decoded {
	const struct eval_value **rows;
	size_t count;
};

/* Is a text that came back what the server has?  It comes in character_set_results, where a
 * character that this lacks is a question mark (manual, "Connection Character Sets and
 * Collations"). */
static bool told_as_it_is(struct span columns, uint32_t column, struct span text)
{
	enum { BEFORE_CHARSET = 4, CHARSET_OF_BYTES = 63 };
	struct mp mp = mp_over(columns), inner;
	uint32_t count, charset;

	if (!columns.ptr || !text.len || (text_is_ascii(text) && !memchr(text.ptr, '?', text.len)))
		return true;
	count = mp_array(&mp);
	for (uint32_t i = 0; i < column && i < count; i++)
		mp_skip(&mp);
	/* The content of a table, which the recorder read in utf8mb4, has names alone. */
	if (column >= count || mp_peek(&mp) != MP_ARRAY)
		return true;
	inner = mp_over(mp_raw(&mp));
	if (mp_array(&inner) <= BEFORE_CHARSET)
		return true;
	for (int i = 0; i < BEFORE_CHARSET; i++)
		mp_skip(&inner);
	charset = mp_uint_max(&inner, UINT32_MAX);
	switch (settings_width_numbered(charset)) {
	case TEXT_WIDE:
		return true;
	case TEXT_NARROW:
		return !memchr(text.ptr, '?', text.len);
	case TEXT_ASCII:
		break;
	}
	return charset == CHARSET_OF_BYTES;
}

/* NULL: it has not `width` columns of those types, or (*undecided) not all of its values were kept. */
static const struct eval_value *decode_row(struct arena *arena, struct span columns,
	struct span recorded, struct value *values, const struct eval_type *types, uint32_t width,
	bool *undecided)
{
	size_t told = execution_row(recorded, values, width);
	struct eval_value *row;

	if (told != width) {
		*undecided |= told == SIZE_MAX;
		return NULL;
	}
	/* Only now: rows without values would each name the memory of a wide table's. */
	row = arena_alloc(arena, (width + 1) * sizeof(*row));
	for (uint32_t c = 0; c < width; c++) {
		if (!eval_from_trace(arena, &types[c], &values[c], &row[c]) ||
			(row[c].kind == EVAL_STRING &&
				!told_as_it_is(columns, c, values[c].bytes))) {
			*undecided = true;
			return NULL;
		}
	}
	return row;
}

/* Whether decoded texts point into the recorded rows, or into copies: results that stay in the trace are in memory for a
 * while only. */
enum lasting { LASTS_AS_RECORDED, LASTS_AS_ARENA };

/* Every row has `width` columns of those types? */
static bool decode_lasting(struct arena *arena, const struct execution_rows *recorded, const struct eval_type *types,
	uint32_t width, enum lasting lasting, struct decoded *out, bool *undecided)
{
	struct value *values = arena_alloc(arena, (width + 1) * sizeof(*values));

	out->rows = arena_alloc(arena, (recorded->count + 1) * sizeof(*out->rows));
	out->count = recorded->count;
	for (size_t r = 0; r < recorded->count; r++) {
		struct span row = lasting == LASTS_AS_ARENA ? arena_copy(arena, recorded->rows[r]) : recorded->rows[r];

		out->rows[r] = decode_row(arena, recorded->columns, row, values, types, width, undecided);
		if (!out->rows[r])
			return false;
	}
	return true;
}

static bool decode(struct arena *arena, const struct execution_rows *recorded, const struct eval_type *types,
	uint32_t width, struct decoded *out, bool *undecided)
{
	return decode_lasting(arena, recorded, types, width, LASTS_AS_RECORDED, out, undecided);
}

bool compare_value(
	const struct eval_type *type, const struct eval_value *a, const struct eval_value *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	bool same;

	if (eval_same(a, b))
		return true;
	if ((a->kind == EVAL_OPAQUE && a->decimals == EVAL_OPAQUE_PERHAPS_NULL) ||
		(b->kind == EVAL_OPAQUE && b->decimals == EVAL_OPAQUE_PERHAPS_NULL))
		return true;
	if ((a->kind == EVAL_NULL) != (b->kind == EVAL_NULL))
		return false;
	/* What only the server knows is whatever it said. */
	if (a->kind == EVAL_OPAQUE || b->kind == EVAL_OPAQUE)
		return true;
	if (a->kind == b->kind && (a->kind == EVAL_INT || a->kind == EVAL_UINT))
		return false;
	/* What SELECT prints is what was recorded: 1.50 may be kept in more than one way. */
	eval_print(type, a, &x);
	eval_print(type, b, &y);
	same = span_eq(buf_span(&x), buf_span(&y));
	buf_release(&x);
	buf_release(&y);
	return same;
}

static bool rows_same(const struct eval_type *types, uint32_t width, const struct eval_value *a,
	const struct eval_value *b)
{
	for (uint32_t c = 0; c < width; c++) {
		if (!compare_value(&types[c], &a[c], &b[c]))
			return false;
	}
	return true;
}

struct keyed {
	struct span key;
	const struct eval_value *row;
};

static int by_key(const void *a, const void *b)
{
	return span_cmp(((const struct keyed *)a)->key, ((const struct keyed *)b)->key);
}

/* Columns with values that only the server knows: of them a key says only whether they are NULL, and not even that of those
 * that were not computed. */
enum openness { OPEN_NOT, OPEN_VALUE, OPEN_NULL };

static const uint8_t *open_columns(
	struct mvcc *m, uint32_t width, const struct eval_value *const *rows, size_t count)
{
	uint8_t *open = arena_zero(&m->scratch, width + 1);

	for (size_t r = 0; r < count; r++) {
		for (uint32_t c = 0; c < width; c++) {
			if (rows[r][c].kind == EVAL_OPAQUE && open[c] != OPEN_NULL)
				open[c] = rows[r][c].decimals == EVAL_OPAQUE_PERHAPS_NULL ? OPEN_NULL : OPEN_VALUE;
		}
	}
	return open;
}

/* Has it values that were not computed?  They fit any other. */
bool compare_is_uncomputed(const struct eval_value *row, uint32_t width)
{
	for (uint32_t c = 0; c < width; c++) {
		if (row[c].kind == EVAL_OPAQUE && row[c].decimals)
			return true;
	}
	return false;
}

static bool shows_uncomputed(const struct eval_result *expected)
{
	for (size_t r = 0; r < expected->row_count; r++) {
		if (compare_is_uncomputed(expected->rows[r], expected->column_count))
			return true;
	}
	for (size_t r = 0; r < expected->open_count; r++) {
		if (compare_is_uncomputed(expected->open[r], expected->column_count))
			return true;
	}
	return false;
}

static struct keyed *keys_of(struct mvcc *m, const struct eval_type *types, uint32_t width,
	const struct eval_value *const *rows, size_t count, const uint8_t *open)
{
	struct keyed *keys = arena_alloc(&m->scratch, (count + 1) * sizeof(*keys));
	struct buf text = BUF_INIT;

	for (size_t r = 0; r < count; r++) {
		buf_clear(&text);
		for (uint32_t c = 0; c < width; c++) {
			buf_add_char(&text, rows[r][c].kind == EVAL_NULL && open[c] != OPEN_NULL ? 'N' : 'V');
			if (!open[c])
				eval_print(&types[c], &rows[r][c], &text);
			buf_add_char(&text, '\0');
		}
		keys[r] = (struct keyed){arena_copy(&m->scratch, buf_span(&text)), rows[r]};
	}
	buf_release(&text);
	qsort(keys, count, sizeof(*keys), by_key);
	return keys;
}

/* Is the key there once?  They are sorted. */
static bool is_single(const struct keyed *keys, size_t count, size_t i)
{
	return (i == 0 || !span_eq(keys[i - 1].key, keys[i].key)) &&
	       (i + 1 == count || !span_eq(keys[i + 1].key, keys[i].key));
}

/* `part` as a multiset within `whole`. */
static bool rows_within(struct mvcc *m, const struct eval_type *types, uint32_t width,
	const struct eval_value *const *part, size_t part_count,
	const struct eval_value *const *whole, size_t whole_count)
{
	struct keyed *a, *b;
	const uint8_t *open;
	size_t j = 0;

	if (part_count > whole_count)
		return false;
	open = open_columns(m, width, whole, whole_count);
	a = keys_of(m, types, width, part, part_count, open);
	b = keys_of(m, types, width, whole, whole_count, open);
	for (size_t i = 0; i < part_count; i++, j++) {
		while (j < whole_count && span_cmp(b[j].key, a[i].key) < 0)
			j++;
		if (j == whole_count || !span_eq(a[i].key, b[j].key))
			return false;
		if (is_single(a, part_count, i) && is_single(b, whole_count, j) &&
			!rows_same(types, width, a[i].row, b[j].row))
			return false;
	}
	return true;
}

static bool result_fits(struct mvcc *m, const struct eval_result *expected,
	const struct execution_rows *recorded, bool *undecided)
{
	uint32_t width = expected->column_count;
	size_t firm = expected->open_count ? expected->open_from : expected->row_count;
	struct decoded got;

	/* No result at all: it was not kept (--capture), or its record is lost. */
	*undecided = !recorded || !recorded->complete;
	if (*undecided)
		return false;
	if (!decode(&m->scratch, recorded, expected->types, width, &got, undecided))
		return false;
	if (got.count != expected->row_count)
		return false;
	/* Usually they come in the same order. */
	size_t i = 0;
	while (i < got.count && rows_same(expected->types, width, expected->rows[i], got.rows[i]))
		i++;
	if (i == got.count)
		return true;
	for (size_t from = 0; from < firm;) {
		size_t to = firm;

		if (expected->order_group) {
			to = from + 1;
			while (to < firm &&
				expected->order_group[to] == expected->order_group[from])
				to++;
		}
		if (!rows_within(m, expected->types, width, got.rows + from, to - from,
			    expected->rows + from, to - from))
			return false;
		from = to;
	}
	return firm == got.count || rows_within(m, expected->types, width, got.rows + firm,
					    got.count - firm, expected->open, expected->open_count);
}

bool compare_result(struct mvcc *m, const struct eval_result *expected,
	const struct execution_rows *recorded, bool *undecided)
{
	bool fits = result_fits(m, expected, recorded, undecided);

	m->now.uncomputed = fits && shows_uncomputed(expected);
	*undecided |= m->now.uncomputed;
	return fits && !m->now.uncomputed;
}

uint32_t compare_reason(const struct mvcc *m)
{
	return m->now.uncomputed ? REASON_VALUE_NOT_COMPUTED : REASON_RESULT_NOT_WHOLE;
}

static bool is_open_row(const struct eval_result *expected, size_t row)
{
	for (uint32_t c = 0; c < expected->column_count; c++) {
		if (expected->rows[row][c].kind == EVAL_OPAQUE)
			return true;
	}
	return false;
}

/* Some of the rows, in the order of their groups. */
static bool groups_within(
	struct mvcc *m, const struct eval_result *expected, const struct decoded *got)
{
	bool *used = arena_zero(&m->scratch, expected->row_count + 1);
	size_t from = 0;

	for (size_t i = 0; i < got->count; i++) {
		size_t j = from;

		/* An opaque one fits many. */
		while (j < expected->row_count &&
			(used[j] || is_open_row(expected, j) ||
				!rows_same(expected->types, expected->column_count,
					expected->rows[j], got->rows[i])))
			j++;
		if (j == expected->row_count)
			j = from;
		while (j < expected->row_count &&
			(used[j] || !rows_same(expected->types, expected->column_count,
					    expected->rows[j], got->rows[i])))
			j++;
		if (j == expected->row_count)
			return false;
		used[j] = true;
		while (expected->order_group[from] != expected->order_group[j])
			from++;
	}
	return true;
}

bool compare_within(struct mvcc *m, const struct eval_result *expected,
	const struct execution_rows *recorded, bool *undecided)
{
	struct decoded got;

	*undecided = !recorded || !recorded->complete;
	if (*undecided || !decode(&m->scratch, recorded, expected->types, expected->column_count,
				  &got, undecided))
		return false;
	return expected->order_group ? groups_within(m, expected, &got)
				     : rows_within(m, expected->types, expected->column_count,
					       got.rows, got.count, expected->rows,
					       expected->row_count);
}

bool compare_has_duplicates(
	struct mvcc *m, const struct eval_result *expected, const struct execution_rows *recorded)
{
	struct decoded got;
	bool undecided = false;

	if (!recorded || !recorded->complete ||
		!decode(&m->scratch, recorded, expected->types, expected->column_count, &got,
			&undecided) ||
		got.count <= expected->row_count)
		return false;
	for (size_t i = 0; i < got.count; i++) {
		size_t j = 0;

		while (j < expected->row_count &&
			!rows_same(expected->types, expected->column_count, got.rows[i],
				expected->rows[j]))
			j++;
		if (j == expected->row_count)
			return false;
	}
	return true;
}

bool compare_unexpected_rows(struct mvcc *m, const struct eval_result *expected,
	const struct execution_rows *recorded, bool *unexpected, bool *missing)
{
	struct decoded got;
	bool undecided = false;

	if (!recorded || !recorded->complete ||
		!decode(&m->scratch, recorded, expected->types, expected->column_count, &got,
			&undecided) ||
		got.count > COMPARE_ODD_ROWS_MAX || expected->row_count > COMPARE_ODD_ROWS_MAX)
		return false;
	for (size_t j = 0; j < expected->row_count; j++)
		missing[j] = true;
	for (size_t i = 0; i < got.count; i++) {
		size_t j = 0;

		while (j < expected->row_count &&
			(!missing[j] || !rows_same(expected->types, expected->column_count,
						got.rows[i], expected->rows[j])))
			j++;
		unexpected[i] = j == expected->row_count;
		if (!unexpected[i])
			missing[j] = false;
	}
	return true;
}

/* Fills `types` with those of the columns. */
static struct eval_type *table_types(struct mvcc *m, const struct eval_table *def)
{
	struct eval_type *types =
		arena_alloc(&m->scratch, (def->column_count + 1) * sizeof(*types));

	for (uint32_t c = 0; c < def->column_count; c++)
		types[c] = def->columns[c].type;
	return types;
}

bool typed_rows(struct arena *arena, const struct eval_type *types, uint32_t width,
	const struct execution_rows *recorded, const struct eval_value *const **rows, size_t *count)
{
	struct decoded got;
	bool undecided = false;

	if (!recorded->complete || !decode(arena, recorded, types, width, &got, &undecided))
		return false;
	*rows = got.rows;
	*count = got.count;
	return true;
}

bool lasting_rows(struct arena *arena, const struct eval_type *types, uint32_t width,
	const struct execution_rows *recorded, const struct eval_value *const **rows, size_t *count)
{
	struct decoded got;
	bool undecided = false;

	if (!recorded->complete || !decode_lasting(arena, recorded, types, width, LASTS_AS_ARENA, &got, &undecided))
		return false;
	*rows = got.rows;
	*count = got.count;
	return true;
}

bool result_rows(struct mvcc *m, struct arena *arena, const struct eval_table *def,
	const struct execution_rows *recorded, const struct eval_value *const **rows, size_t *count)
{
	return lasting_rows(arena, table_types(m, def), def->column_count, recorded, rows, count);
}

/* Rows of a table, one after the other. */
struct content {
	const struct eval_table *def;
	const struct eval_type *types;
	struct value *values;
	struct arena *arena;
	bool copies, cut;
	content_row_fn *each;
	void *ctx;
};

static bool take_content(void *ctx, struct span recorded)
{
	struct content *c = ctx;
	const struct eval_value *row;

	if (c->copies)
		recorded = arena_copy(c->arena, recorded);
	row = decode_row(c->arena, SPAN_NONE, recorded, c->values, c->types, c->def->column_count, &c->cut);
	c->cut |= !row;
	if (row)
		c->each(c->ctx, row);
	return true;
}

bool content_rows(struct mvcc *m, struct arena *arena, const struct eval_table *def,
	const struct execution_rows *content, content_row_fn *each, void *ctx)
{
	struct content c = {.def = def, .types = table_types(m, def), .arena = arena, .each = each, .ctx = ctx};

	/* Rows in memory last as long as the execution. */
	c.copies = m->schedule->execution->results != NULL;
	c.values = arena_alloc(&m->scratch, (def->column_count + 1) * sizeof(*c.values));
	c.cut = !content->complete;
	/* Only whole rows in the order of the definition. */
	if (content->columns.ptr)
		return !c.cut && !content->count;
	return execution_each_row(m->schedule->execution, content, take_content, &c) && !c.cut;
}

/* The final rows against the records of a table that has a key, one by one. */
struct final_rows {
	struct mvcc *m;
	struct store_table *table;
	const struct eval_type *types;
	struct value *values;
	struct arena arena;
	size_t taken;
};

static bool take_final(void *ctx, struct span recorded)
{
	struct final_rows *f = ctx;
	const struct eval_value *row;
	const struct store_version *v;
	struct store_record *record;
	bool undecided = false;

	arena_clear(&f->arena);
	row = decode_row(&f->arena, SPAN_NONE, recorded, f->values, f->types, f->table->def->column_count, &undecided);
	record = row ? store_find(&f->m->store, f->table, row) : NULL;
	v = record ? store_current(&f->m->store, record, 0) : NULL;
	/* A key that is there twice is not the second time. */
	if (!store_alive(v) || record->seen == f->m->store.lookups ||
		!rows_same(f->types, f->table->def->column_count, v->image, row))
		return false;
	record->seen = f->m->store.lookups;
	f->taken++;
	return true;
}

/* Are they the same, without any doubt?  As multisets: each is the row of its key, and they are as many. */
static bool finals_are_same(struct mvcc *m, struct store_table *table, const struct execution_rows *final, size_t count)
{
	struct final_rows f = {.m = m, .table = table, .types = table_types(m, table->def), .arena = ARENA_INIT};
	bool same;

	if (!table->cluster || !final->complete || final->count != count)
		return false;
	f.values = arena_alloc(&m->scratch, (table->def->column_count + 1) * sizeof(*f.values));
	m->store.lookups++;
	same = execution_each_row(m->schedule->execution, final, take_final, &f) && f.taken == count;
	arena_release(&f.arena);
	return same;
}

bool compare_final(struct mvcc *m, uint32_t table, const struct execution_rows *final,
	struct eval_result *expected, bool *undecided)
{
	struct store_table *t = &m->store.tables[table];
	struct execution_rows whole;
	const struct eval_value **rows;
	bool uncomputed = false;
	size_t count = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct store_version *v = store_current(&m->store, t->records[i], 0);

		count += store_alive(v);
		uncomputed |= store_alive(v) && compare_is_uncomputed(v->image, t->def->column_count);
	}
	*undecided = false;
	if (!uncomputed && finals_are_same(m, t, final, count))
		return true;
	rows = arena_alloc(&m->scratch, (count + 1) * sizeof(*rows));
	count = 0;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct store_version *v = store_current(&m->store, t->records[i], 0);

		if (store_alive(v))
			rows[count++] = v->image;
	}
	*expected = (struct eval_result){.column_count = t->def->column_count,
		.types = table_types(m, t->def),
		.rows = rows,
		.row_count = count};
	/* Older recorders left out invisible columns. */
	if (!execution_whole_content(m->schedule->execution, final, &m->scratch, &whole) ||
		(whole.count && execution_row(whole.rows[0], NULL, 0) != t->def->column_count)) {
		*undecided = true;
		return false;
	}
	return compare_result(m, expected, &whole, undecided);
}
