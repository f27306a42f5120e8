/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/predicate_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "trace/value.h"

/* A number that a text stands for is compared as a DOUBLE: exact up to here. */
enum { TEXT_DIGITS_MAX = 15, TEXT_MAX = 512, DEPTH_MAX = 64, COLUMNS_MAX = 4 };

/* ---- terms ---- */

static bool find_column(const struct int_names *names, const struct sql_expr *expr, uint32_t *column)
{
	if (expr->kind != SQL_EXPR_COLUMN ||
		(expr->u.column.table.ptr && !span_eq(expr->u.column.table, names->table)))
		return false;
	for (uint32_t i = 0; i < names->count; i++) {
		if (names->columns[i].ptr && span_ieq(names->columns[i], expr->u.column.name)) {
			*column = i;
			return !(names->odd && names->odd[i]);
		}
	}
	return false;
}

/* Texts of printable ASCII characters; the hash is of the folded text. */
static bool fold_text(struct span text, uint64_t *hash)
{
	char folded[TEXT_MAX];

	if (text.len > TEXT_MAX)
		return false;
	while (text.len && text.ptr[text.len - 1] == ' ')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c < 0x20 || c > 0x7e)
			return false;
		folded[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	*hash = hash_bytes(folded, text.len);
	return true;
}

static bool digits_of(struct span text, int64_t *value)
{
	*value = 0;
	if (text.len == 0 || text.len > TEXT_DIGITS_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		*value = *value * 10 + (text.ptr[i] - '0');
	}
	return true;
}

/* A constant: an integer, or a text. */
struct constant {
	bool is_text;
	int64_t i;
	struct span text;
};

static bool constant_of(const struct sql_expr *expr, struct constant *out)
{
	bool negative = expr->kind == SQL_EXPR_UNARY && expr->op == SQL_OP_NEG;

	if (negative)
		expr = expr->u.binary.left;
	if (expr->kind != SQL_EXPR_LITERAL)
		return false;
	*out = (struct constant){.text = expr->u.literal.text};
	if (expr->u.literal.kind == SQL_LIT_INT && digits_of(out->text, &out->i)) {
		out->i = negative ? -out->i : out->i;
		return true;
	}
	out->is_text = expr->u.literal.kind == SQL_LIT_STRING && !expr->u.literal.charset.ptr && !negative;
	return out->is_text;
}

static struct index_term *term_of(struct index_terms *terms, uint32_t column, bool is_text)
{
	for (uint32_t i = 0; i < terms->count; i++)
		if (terms->terms[i].column == column && terms->terms[i].is_text == is_text)
			return &terms->terms[i];
	if (terms->count == INDEX_TERMS_MAX)
		return NULL;
	terms->terms[terms->count] =
		(struct index_term){.column = column, .is_text = is_text, .low = INT64_MIN, .high = INT64_MAX};
	return &terms->terms[terms->count++];
}

static void restrict_to(struct index_terms *terms, uint32_t column, int64_t low, int64_t high)
{
	struct index_term *term = term_of(terms, column, false);

	if (!term)
		return;
	term->low = low > term->low ? low : term->low;
	term->high = high < term->high ? high : term->high;
	terms->never |= term->low > term->high;
}

/* Of a text of digits the number is kept too: an integer column is compared with it as a number. */
static void add_equal(struct index_terms *terms, uint32_t column, const struct constant *constant)
{
	struct index_term *term;
	uint64_t hash;

	if (!constant->is_text) {
		restrict_to(terms, column, constant->i, constant->i);
		return;
	}
	if (!fold_text(constant->text, &hash) || !(term = term_of(terms, column, true)))
		return;
	terms->never |= term->is_set && term->hash != hash;
	term->hash = hash;
	term->is_set = true;
	term->is_number = digits_of(constant->text, &term->low);
	term->high = term->low;
}

static void add_comparison(
	struct index_terms *terms, uint32_t column, enum sql_op op, const struct constant *constant)
{
	if (op == SQL_OP_EQ)
		add_equal(terms, column, constant);
	else if (constant->is_text)
		return;
	else if (op == SQL_OP_LT)
		restrict_to(terms, column, INT64_MIN, constant->i - 1);
	else if (op == SQL_OP_LE)
		restrict_to(terms, column, INT64_MIN, constant->i);
	else if (op == SQL_OP_GT)
		restrict_to(terms, column, constant->i + 1, INT64_MAX);
	else if (op == SQL_OP_GE)
		restrict_to(terms, column, constant->i, INT64_MAX);
}

static void add_binary(struct index_terms *terms, const struct sql_expr *expr, const struct int_names *names)
{
	struct constant constant;
	uint32_t column;

	if (find_column(names, expr->u.binary.left, &column) && constant_of(expr->u.binary.right, &constant))
		add_comparison(terms, column, (enum sql_op)expr->op, &constant);
	else if (find_column(names, expr->u.binary.right, &column) && constant_of(expr->u.binary.left, &constant))
		add_comparison(terms, column, turned_comparison((enum sql_op)expr->op), &constant);
}

/* The range from the least to the greatest of a list. */
static void add_list(struct index_terms *terms, const struct sql_expr *expr, const struct int_names *names)
{
	int64_t low = INT64_MAX, high = INT64_MIN;
	uint32_t column;

	if (expr->negated || expr->u.in.query || !find_column(names, expr->u.in.left, &column))
		return;
	for (const struct sql_expr *item = expr->u.in.list.first; item; item = item->next) {
		struct constant constant;

		if (!constant_of(item, &constant) || constant.is_text)
			return;
		low = constant.i < low ? constant.i : low;
		high = constant.i > high ? constant.i : high;
	}
	restrict_to(terms, column, low, high);
}

static void add_terms(
	struct index_terms *terms, const struct sql_expr *expr, const struct int_names *names, int depth)
{
	struct constant low, high;
	uint32_t column;

	if (depth > DEPTH_MAX)
		return;
	if (expr->kind == SQL_EXPR_BINARY && expr->op == SQL_OP_AND) {
		add_terms(terms, expr->u.binary.left, names, depth + 1);
		add_terms(terms, expr->u.binary.right, names, depth + 1);
	} else if (expr->kind == SQL_EXPR_BINARY) {
		add_binary(terms, expr, names);
	} else if (expr->kind == SQL_EXPR_IN) {
		add_list(terms, expr, names);
	} else if (expr->kind == SQL_EXPR_BETWEEN && !expr->negated &&
		   find_column(names, expr->u.between.left, &column) &&
		   constant_of(expr->u.between.low, &low) && constant_of(expr->u.between.high, &high) &&
		   !low.is_text && !high.is_text) {
		restrict_to(terms, column, low.i, high.i);
	}
}

void index_terms_add(struct index_terms *terms, const struct sql_expr *expr, const struct int_names *names)
{
	add_terms(terms, expr, names, 0);
}

/* ---- indexes ---- */

struct entry {
	uint64_t hash; /* of the values of all columns that are equal to something */
	int64_t value; /* of the column of a range; 0: there is none */
	uint32_t object;
};

struct column_index {
	uint32_t table;
	uint32_t columns[COLUMNS_MAX]; /* equal to something, ascending */
	bool is_text[COLUMNS_MAX];
	uint32_t column_count;
	uint32_t range; /* HISTORY_NONE: none */
	struct entry *entries;
	size_t count, capacity;
	size_t object_count; /* that have entries */
	uint32_t *always; /* objects with a version that the entries do not tell */
	size_t always_count, always_capacity;
	struct column_index *next;
};

struct predicate_index {
	const struct history *history;
	const uint32_t *objects_of, *objects_head;
	struct column_index *all;
	uint32_t *found, *stamps, stamp;
	size_t found_count, found_capacity;
};

struct predicate_index *predicate_index_new(
	const struct history *history, const uint32_t *objects_of, const uint32_t *objects_head)
{
	struct predicate_index *index = mem_zero(1, sizeof(*index));

	index->history = history;
	index->objects_of = objects_of;
	index->objects_head = objects_head;
	index->stamps = mem_zero(history->object_count, sizeof(*index->stamps));
	return index;
}

void predicate_index_free(struct predicate_index *index)
{
	if (!index)
		return;
	for (struct column_index *at = index->all, *next; at; at = next) {
		next = at->next;
		mem_free(at->entries);
		mem_free(at->always);
		mem_free(at);
	}
	mem_free(index->found);
	mem_free(index->stamps);
	mem_free(index);
}

static uint64_t hash_int(int64_t i)
{
	return hash_u64((uint64_t)i);
}

static uint64_t hash_all(const uint64_t *hashes, uint32_t count)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < count; i++)
		hash = hash_mix(hash ^ hashes[i], 0x9e3779b97f4a7c15u);
	return hash;
}

/* What one column of a version holds. */
enum held { HELD_NULL, HELD_INT, HELD_TEXT, HELD_OTHER };

static enum held read_held(struct mp *mp, int64_t *i, uint64_t *hash)
{
	enum mp_type type = mp_peek(mp);
	struct mp_object object;

	if (type == MP_STR || type == MP_BIN)
		return fold_text(mp_bytes(mp), hash) ? HELD_TEXT : HELD_OTHER;
	if (type != MP_UINT && type != MP_INT && type != MP_NIL) {
		mp_skip(mp);
		return HELD_OTHER;
	}
	if (!mp_next(mp, &object))
		return HELD_OTHER;
	if (type == MP_NIL)
		return HELD_NULL;
	if (object.type == MP_UINT && object.u > INT64_MAX)
		return HELD_OTHER;
	*i = object.type == MP_UINT ? (int64_t)object.u : object.i;
	return HELD_INT;
}

/* What a column of the table holds, by the first row with a value.  A row with another kind of value is in every
 * answer. */
static enum held held_by(const struct predicate_index *index, uint32_t table, uint32_t column)
{
	const struct history *h = index->history;

	for (uint32_t i = index->objects_head[table]; i < index->objects_head[table + 1]; i++) {
		const struct history_object *o = &h->objects[index->objects_of[i]];

		for (uint32_t k = 0; k < o->order_count; k++) {
			struct mp mp = mp_over(history_bytes(h, h->versions[h->order[o->first_order + k]].image));
			uint32_t fields = mp_peek(&mp) == MP_ARRAY ? mp_array(&mp) : 0;
			enum held held = HELD_NULL;
			uint64_t hash;
			int64_t number;

			for (uint32_t f = 0; f < fields && f <= column; f++)
				held = read_held(&mp, &number, &hash);
			if (fields > column && held != HELD_NULL)
				return held;
		}
	}
	return HELD_NULL;
}

/* The entry of a version.  False: its values are not of the kind that entries have.  *no: a value is NULL, which
 * no comparison is true of. */
static bool entry_of(const struct column_index *at, struct span image, struct entry *entry, bool *no)
{
	uint64_t hashes[COLUMNS_MAX] = {0};
	struct mp mp = mp_over(image);
	uint32_t fields = mp_peek(&mp) == MP_ARRAY ? mp_array(&mp) : 0;
	uint32_t last = at->range == HISTORY_NONE ? 0 : at->range;
	uint32_t found = 0, wanted = at->column_count + (at->range != HISTORY_NONE);

	*no = false;
	if (at->column_count && at->columns[at->column_count - 1] > last)
		last = at->columns[at->column_count - 1];
	for (uint32_t f = 0; f < fields && f <= last; f++) {
		uint64_t hash = 0;
		int64_t i = 0;
		enum held held = read_held(&mp, &i, &hash);

		if (f == at->range) {
			if (held != HELD_INT && held != HELD_NULL)
				return false;
			entry->value = i;
			*no |= held == HELD_NULL;
			found++;
		}
		for (uint32_t c = 0; c < at->column_count; c++) {
			if (at->columns[c] != f)
				continue;
			if (held != HELD_NULL && held != (at->is_text[c] ? HELD_TEXT : HELD_INT))
				return false;
			hashes[c] = at->is_text[c] ? hash : hash_int(i);
			*no |= held == HELD_NULL;
			found++;
		}
	}
	entry->hash = hash_all(hashes, at->column_count);
	return found == wanted && !mp.bad;
}

static int by_entry(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

static void add_object(const struct history *h, struct column_index *at, uint32_t object)
{
	const struct history_object *o = &h->objects[object];
	size_t first = at->count;

	for (uint32_t i = 0; i < o->order_count; i++) {
		const struct history_version *v = &h->versions[h->order[o->first_order + i]];
		struct entry entry = {.object = object};
		bool no = false;

		if (v->flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD))
			continue;
		if (!v->image || !entry_of(at, history_bytes(h, v->image), &entry, &no)) {
			MEM_RESERVE(at->always, at->always_count + 1, at->always_capacity);
			at->always[at->always_count++] = object;
			at->count = first;
			return;
		}
		if (no || (at->count > first && by_entry(&at->entries[at->count - 1], &entry) == 0))
			continue;
		MEM_RESERVE(at->entries, at->count + 1, at->capacity);
		at->entries[at->count++] = entry;
	}
	at->object_count += at->count > first;
}

static void build(const struct predicate_index *index, struct column_index *at)
{
	size_t kept = 0;

	for (uint32_t i = index->objects_head[at->table]; i < index->objects_head[at->table + 1]; i++)
		add_object(index->history, at, index->objects_of[i]);
	if (at->count)
		qsort(at->entries, at->count, sizeof(*at->entries), by_entry);
	/* Versions with the same values do not follow each other. */
	for (size_t i = 0; i < at->count; i++)
		if (kept == 0 || by_entry(&at->entries[kept - 1], &at->entries[i]) != 0)
			at->entries[kept++] = at->entries[i];
	at->count = kept;
}

/* ---- asking ---- */

/* The term as the column's values are to be asked.  False: it restricts nothing. */
static bool fit_term(struct index_term *term, enum held held)
{
	if (held == HELD_INT && term->is_text && term->is_number)
		term->is_text = false;
	return held == (term->is_text ? HELD_TEXT : HELD_INT);
}

/* Which index serves, and what it is asked: up to COLUMNS_MAX columns that are equal to something, and the
 * narrowest range. */
struct question {
	struct column_index shape;
	uint64_t hashes[COLUMNS_MAX];
	int64_t low, high;
};

/* Columns stay ascending; one with two terms stands once. */
static void ask_equal(struct question *q, const struct index_term *term)
{
	uint32_t at = q->shape.column_count;

	for (uint32_t i = 0; i < q->shape.column_count; i++)
		if (q->shape.columns[i] == term->column)
			return;
	if (at == COLUMNS_MAX)
		return;
	for (; at > 0 && q->shape.columns[at - 1] > term->column; at--) {
		q->shape.columns[at] = q->shape.columns[at - 1];
		q->shape.is_text[at] = q->shape.is_text[at - 1];
		q->hashes[at] = q->hashes[at - 1];
	}
	q->shape.columns[at] = term->column;
	q->shape.is_text[at] = term->is_text;
	q->hashes[at] = term->is_text ? term->hash : hash_int(term->low);
	q->shape.column_count++;
}

static struct question question_of(
	const struct predicate_index *index, uint32_t table, const struct index_terms *terms)
{
	struct question q = {.shape = {.table = table, .range = HISTORY_NONE}};

	for (uint32_t i = 0; i < terms->count; i++) {
		struct index_term term = terms->terms[i];

		if (!fit_term(&term, held_by(index, table, term.column)))
			continue;
		if (term.is_text || term.low == term.high) {
			ask_equal(&q, &term);
		} else if (q.shape.range == HISTORY_NONE || (wide)term.high - term.low < (wide)q.high - q.low) {
			q.shape.range = term.column;
			q.low = term.low;
			q.high = term.high;
		}
	}
	return q;
}

static struct column_index *index_for(struct predicate_index *index, const struct column_index *shape)
{
	struct column_index *at = index->all;

	while (at && !(at->table == shape->table && at->range == shape->range &&
			     at->column_count == shape->column_count &&
			     memcmp(at->columns, shape->columns, shape->column_count * sizeof(*at->columns)) == 0 &&
			     memcmp(at->is_text, shape->is_text, shape->column_count * sizeof(*at->is_text)) == 0))
		at = at->next;
	if (at)
		return at;
	at = mem_dup(shape, sizeof(*shape));
	at->next = index->all;
	index->all = at;
	build(index, at);
	return at;
}

static void add_found(struct predicate_index *index, uint32_t object)
{
	if (index->stamps[object] == index->stamp)
		return;
	index->stamps[object] = index->stamp;
	MEM_RESERVE(index->found, index->found_count + 1, index->found_capacity);
	index->found[index->found_count++] = object;
}

static void add_entries(
	struct predicate_index *index, const struct column_index *at, uint64_t hash, int64_t low, int64_t high)
{
	struct entry from = {hash, low, 0};
	size_t first = 0, end = at->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (by_entry(&at->entries[middle], &from) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	/* A few rows that had many values each are soon all found. */
	for (; first < at->count && at->entries[first].hash == hash && at->entries[first].value <= high &&
		index->found_count < at->object_count;
		first++)
		add_found(index, at->entries[first].object);
}

bool predicate_index_find(struct predicate_index *index, uint32_t table, const struct index_terms *terms,
	const uint32_t **objects, uint32_t *count)
{
	struct question q;
	struct column_index *at;

	*objects = NULL;
	*count = 0;
	if (terms->never)
		return true;
	q = question_of(index, table, terms);
	if (!q.shape.column_count && q.shape.range == HISTORY_NONE)
		return false;
	at = index_for(index, &q.shape);
	index->stamp++;
	index->found_count = 0;
	add_entries(index, at, hash_all(q.hashes, q.shape.column_count), q.low, q.high);
	for (size_t i = 0; i < at->always_count; i++)
		add_found(index, at->always[i]);
	*objects = index->found;
	*count = (uint32_t)index->found_count;
	return true;
}
