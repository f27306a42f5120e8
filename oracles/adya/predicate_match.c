/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/predicate_match.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "eval/eval.h"
#include "sql/sql.h"
#include "trace/value.h"

/* Compiled predicates are kept; past this many the cache begins anew. */
enum { CACHE_MAX = 100 * 1000, COLUMNS_MAX = 4096 };

struct matched_table {
	bool looked_up;
	struct int_names names;
	uint32_t key_column; /* of a primary key of one column; NONE */
	/* For the evaluator; NULL: not modelled. */
	const struct eval_table *table;
	uint32_t *place; /* by its columns: where in an image; NONE */
};

struct compiled {
	struct int_predicate ints;
	const struct eval_expr *full; /* NULL: not needed, or not modelled */
	wide low, high;               /* of the key column */
	bool parsed, ranged;
	/* It says that one column is within a range, and nothing else. */
	bool is_range;
	uint32_t range_column;
	int64_t range_low, range_high;
	struct index_terms terms;
};

struct matcher {
	const struct history *history;
	struct matched_table *tables;
	struct map known; /* (table, text): compiled */
	struct compiled *compiled;
	size_t compiled_count, compiled_capacity;
	struct sql_options options;
	struct eval_env env;
	struct arena arena;       /* of compiled predicates */
	struct arena table_arena; /* of tables */
	struct arena scratch;     /* of one evaluation */
	struct operand *columns;  /* of the current row */
	size_t column_capacity;
	struct eval_value *row;
	size_t row_capacity;
	/* What was chosen. */
	const struct history_predicate *predicate;
	const struct compiled *chosen;
};

/* The session's own sql_mode may differ; what is told of the server is the best guess there is of
 * the parser's options, and no operator's result depends on more. */
static void set_environment(struct matcher *m)
{
	const struct history *h = m->history;
	struct span version = strtab_get(&h->strings, h->server_version);
	struct value mode;

	m->options = sql_options_for_server(version);
	m->env = eval_env_for_server(version);
	if (history_variable(h, "sql_mode", &mode))
		m->env.mode = eval_mode_flags(mode.bytes);
}

struct matcher *matcher_new(const struct history *history)
{
	struct matcher *m = mem_zero(1, sizeof(*m));

	m->history = history;
	m->tables = mem_zero(history->table_count, sizeof(*m->tables));
	set_environment(m);
	return m;
}

void matcher_free(struct matcher *m)
{
	mem_free(m->tables);
	mem_free(m->compiled);
	mem_free(m->columns);
	mem_free(m->row);
	map_release(&m->known);
	arena_release(&m->arena);
	arena_release(&m->table_arena);
	arena_release(&m->scratch);
	mem_free(m);
}

/* ---- tables ---- */

/* The evaluator's table, from the CREATE text; its columns are found in images by name. */
static void look_up_definition(struct matcher *m, struct matched_table *t, struct span create)
{
	struct eval_outcome outcome = {0};
	struct sql_stmt *stmt;

	if (!create.ptr || !sql_parse(&m->table_arena, create, &m->options, &stmt, NULL) ||
		stmt->kind != SQL_STMT_CREATE_TABLE)
		return;
	t->table = eval_table_create(&m->table_arena, stmt->u.create_table, &m->env, &outcome);
	if (!t->table)
		return;
	t->place = arena_alloc(&m->table_arena, (t->table->column_count + 1) * sizeof(*t->place));
	for (uint32_t c = 0; c < t->table->column_count; c++) {
		t->place[c] = HISTORY_NONE;
		for (uint32_t i = 0; i < t->names.count; i++) {
			if (t->names.columns[i].ptr &&
				span_ieq(t->names.columns[i], t->table->columns[c].name))
				t->place[c] = i;
		}
	}
}

static void look_up_table(struct matcher *m, uint32_t number)
{
	const struct history_table *from = &m->history->tables[number];
	struct matched_table *t = &m->tables[number];
	struct mp mp = mp_over(from->schema_ref);
	struct record_schema schema;
	uint32_t kind, left, count;
	struct span *names;
	bool *odd;

	t->looked_up = true;
	t->key_column = HISTORY_NONE;
	t->names.table = strtab_get(&m->history->strings, from->name);
	if (!from->schema_ref.ptr || !record_begin(&mp, &kind, &left) || kind != RECORD_SCHEMA ||
		!record_schema_read(&mp, left, &schema))
		return;
	mp = mp_over(schema.columns);
	count = mp_array(&mp);
	if (count > COLUMNS_MAX)
		return;
	names = arena_alloc(&m->table_arena, (count + 1) * sizeof(*names));
	odd = arena_alloc(&m->table_arena, (count + 1) * sizeof(*odd));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t fields = mp_array(&mp), left_over = fields > 2 ? fields - 2 : 0;
		struct span type;

		names[i] = fields ? mp_bytes(&mp) : SPAN_NONE;
		type = fields > 1 ? mp_bytes(&mp) : SPAN_NONE;
		/* y = 26 is true of 2026. */
		odd[i] = type.len >= 4 && span_ieq_str(span_of(type.ptr, 4), "year");
		if (left_over && !record_skip_fields(&mp, left_over))
			return;
	}
	if (mp.bad)
		return;
	t->names.columns = names;
	t->names.odd = odd;
	t->names.count = count;
	mp = mp_over(schema.primary_key);
	if (schema.primary_key.ptr && mp_array(&mp) == 1) {
		uint32_t column = mp_u32(&mp);

		t->key_column = !mp.bad && column < count ? column : HISTORY_NONE;
	}
	look_up_definition(m, t, schema.create_text);
}

/* ---- predicates ---- */

static const struct sql_expr *parse_predicate(struct matcher *m, struct span text)
{
	struct buf sql = BUF_INIT;
	struct sql_stmt *stmt;
	const struct sql_expr *expr = NULL;
	struct span kept;

	/* DO takes expressions; exactly one must come out, whatever parentheses the text has. */
	buf_add_str(&sql, "DO (");
	buf_add_span(&sql, text);
	buf_add_str(&sql, "\n)"); /* after a comment that the text may end with */
	kept = arena_copy(&m->arena, buf_span(&sql)); /* the tree borrows from it */
	buf_release(&sql);
	if (sql_parse(&m->arena, kept, &m->options, &stmt, NULL) && stmt->kind == SQL_STMT_DO &&
		stmt->u.exprs.count == 1)
		expr = stmt->u.exprs.first;
	return expr;
}

static void take_range(struct compiled *out)
{
	wide low, high;

	if (!int_is_range(&out->ints, &out->range_column, &low, &high) ||
		out->range_column >= MATCH_COLUMNS)
		return;
	/* Rows that are known have values of 64 bits with a sign only. */
	if (low > INT64_MAX || high < INT64_MIN)
		return;
	out->is_range = true;
	out->range_low = low < INT64_MIN ? INT64_MIN : (int64_t)low;
	out->range_high = high > INT64_MAX ? INT64_MAX : (int64_t)high;
}

static void compile(
	struct matcher *m, struct compiled *out, const struct matched_table *t, struct span text)
{
	const struct sql_expr *expr = parse_predicate(m, text);
	struct eval_outcome outcome = {0};

	*out = (struct compiled){.parsed = expr != NULL};
	if (!expr)
		return;
	int_compile(&out->ints, &m->arena, expr, &t->names);
	if (t->key_column != HISTORY_NONE) {
		int_range(&out->ints, t->key_column, &out->low, &out->high);
		out->ranged = true;
	}
	take_range(out);
	index_terms_add(&out->terms, expr, &t->names);
	if (t->table && !out->ints.foreign)
		out->full = eval_expr_compile(
			&m->arena, expr, t->table, SPAN_NONE, &m->env, NULL, &outcome);
}

static void forget_all(struct matcher *m)
{
	map_release(&m->known);
	m->known = MAP_INIT;
	m->compiled_count = 0;
	arena_clear(&m->arena);
}

void matcher_choose(struct matcher *m, const struct history_predicate *predicate)
{
	struct matched_table *t = &m->tables[predicate->table];
	uint64_t key = (uint64_t)predicate->table << 32 | predicate->text;
	uint32_t known;

	m->predicate = predicate;
	m->chosen = NULL;
	if (!predicate->text)
		return;
	if (!t->looked_up)
		look_up_table(m, predicate->table);
	known = map_get(&m->known, key);
	if (known == MAP_NONE) {
		if (m->compiled_count == CACHE_MAX)
			forget_all(m);
		known = (uint32_t)m->compiled_count++;
		MEM_RESERVE(m->compiled, m->compiled_count, m->compiled_capacity);
		compile(m, &m->compiled[known], t, history_bytes(m->history, predicate->text));
		map_put(&m->known, key, known);
	}
	m->chosen = &m->compiled[known];
	MEM_RESERVE(m->columns, (size_t)t->names.count + MATCH_COLUMNS, m->column_capacity);
}

bool matcher_key_range(struct matcher *m, wide *low, wide *high)
{
	if (!m->chosen || !m->chosen->parsed || !m->chosen->ranged)
		return false;
	*low = m->chosen->low;
	*high = m->chosen->high;
	return true;
}

const struct index_terms *matcher_terms(const struct matcher *m)
{
	return m->chosen && m->chosen->parsed ? &m->chosen->terms : NULL;
}

const struct int_names *matcher_names(struct matcher *m, uint32_t table)
{
	if (!m->tables[table].looked_up)
		look_up_table(m, table);
	return &m->tables[table].names;
}

bool object_key_int(const struct history *history, uint32_t object, wide *key)
{
	struct mp mp = mp_over(history_bytes(history, history->objects[object].key));
	struct mp_object value;

	if (!mp_next(&mp, &value))
		return false;
	if (value.type == MP_UINT)
		*key = (wide)value.u;
	else if (value.type == MP_INT)
		*key = value.i;
	return value.type == MP_UINT || value.type == MP_INT;
}

/* ---- evaluation ---- */

/* The columns that the integers' half looks at; false: the image has another shape than the
 * schema, and says nothing. */
static bool read_columns(struct matcher *m, const struct matched_table *t, struct span image)
{
	struct mp mp = mp_over(image);

	if (mp_peek(&mp) != MP_ARRAY || mp_array(&mp) != t->names.count)
		return false;
	for (uint32_t i = 0; i < m->chosen->ints.column_last; i++) {
		struct operand *out = &m->columns[i];
		enum mp_type type = mp_peek(&mp);
		struct mp_object object;

		*out = (struct operand){OPERAND_UNKNOWN, 0};
		if (type != MP_UINT && type != MP_INT && type != MP_NIL) {
			if (!mp_skip(&mp))
				return false;
			continue;
		}
		if (!mp_next(&mp, &object))
			return false;
		if (type == MP_NIL)
			out->type = OPERAND_NULL;
		else
			*out = (struct operand){OPERAND_INT,
				object.type == MP_UINT ? (wide)object.u : (wide)object.i};
	}
	return true;
}

static bool read_row(const struct matched_table *t, struct span image,
	struct arena *arena, struct eval_value *row)
{
	const struct eval_table *table = t->table;
	struct mp mp = mp_over(image);
	struct value *values;
	uint32_t count = mp_array(&mp);

	values = arena_alloc(arena, (count + 1) * sizeof(*values));
	for (uint32_t i = 0; i < count; i++) {
		if (!value_read(&mp, &values[i]))
			return false;
	}
	for (uint32_t c = 0; c < table->column_count; c++) {
		/* A column of the instrumentation: the predicate does not speak of it. */
		row[c] = EVAL_NULL_VALUE;
		if (t->place[c] != HISTORY_NONE &&
			!eval_from_trace(arena, &table->columns[c].type, &values[t->place[c]],
				&row[c]))
			return false;
	}
	return true;
}

static enum match test_fully(struct matcher *m, const struct matched_table *t, struct span image)
{
	struct eval_outcome outcome = {0};
	enum match match = MATCH_UNKNOWN;
	enum eval_truth truth;

	arena_clear(&m->scratch);
	MEM_RESERVE(m->row, (size_t)t->table->column_count + 1, m->row_capacity);
	if (read_row(t, image, &m->scratch, m->row) &&
		eval_expr_test(m->chosen->full, &m->scratch, &m->env, NULL, m->row, &truth, &outcome))
		match = truth == EVAL_TRUE ? MATCH_YES : MATCH_NO;
	return match;
}

const struct eval_table *matcher_definition(struct matcher *m, uint32_t table)
{
	if (!m->tables[table].looked_up)
		look_up_table(m, table);
	return m->tables[table].table;
}

const struct eval_value *matcher_values(struct matcher *m, uint32_t version, struct arena *arena)
{
	const struct history *h = m->history;
	const struct history_version *v = &h->versions[version];
	const struct matched_table *t = &m->tables[h->objects[v->object].table];
	struct span image = history_bytes(h, v->image);
	struct mp mp = mp_over(image);
	struct eval_value *row;

	if (!t->table || !image.ptr || mp_peek(&mp) != MP_ARRAY || mp_array(&mp) != t->names.count)
		return NULL;
	row = arena_alloc(arena, (t->table->column_count + 1) * sizeof(*row));
	return read_row(t, image, arena, row) ? row : NULL;
}

const struct eval_env *matcher_env(const struct matcher *m)
{
	return &m->env;
}

const struct sql_options *matcher_options(const struct matcher *m)
{
	return &m->options;
}

enum match matcher_test(struct matcher *m, uint32_t version)
{
	const struct history *h = m->history;
	const struct history_version *v = &h->versions[version];
	const struct matched_table *t = &m->tables[m->predicate->table];
	struct operand value;
	struct span image;

	if (v->flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD))
		return MATCH_NO;
	if (!m->chosen || !m->chosen->parsed || !v->image)
		return MATCH_UNKNOWN;
	image = history_bytes(h, v->image);
	if (!read_columns(m, t, image))
		return MATCH_UNKNOWN;
	value = int_evaluate(&m->chosen->ints, m->columns);
	if (value.type == OPERAND_UNKNOWN)
		return m->chosen->full ? test_fully(m, t, image) : MATCH_UNKNOWN;
	return value.type == OPERAND_INT && value.i != 0 ? MATCH_YES : MATCH_NO;
}

/* ---- rows that are known ---- */

void matcher_row(struct matcher *m, uint32_t version, struct match_row *row)
{
	const struct history *h = m->history;
	const struct history_version *v = &h->versions[version];
	uint32_t table = h->objects[v->object].table;
	const struct int_names *names = &m->tables[table].names;
	struct mp mp;

	*row = (struct match_row){.state = MATCH_ROW_OTHER};
	if (v->flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD)) {
		row->state = MATCH_ROW_ABSENT;
		return;
	}
	if (!v->image) {
		row->state = MATCH_ROW_UNKNOWN;
		return;
	}
	if (!m->tables[table].looked_up)
		look_up_table(m, table);
	mp = mp_over(history_bytes(h, v->image));
	if (mp_peek(&mp) != MP_ARRAY || mp_array(&mp) != names->count)
		return;
	for (uint32_t i = 0; i < names->count && i < MATCH_COLUMNS; i++) {
		enum mp_type type = mp_peek(&mp);
		struct mp_object object;

		row->types[i] = OPERAND_UNKNOWN;
		if (type != MP_UINT && type != MP_INT && type != MP_NIL) {
			if (!mp_skip(&mp))
				return;
			continue;
		}
		if (!mp_next(&mp, &object) || (object.type == MP_UINT && object.u > INT64_MAX))
			return;
		row->types[i] = type == MP_NIL ? OPERAND_NULL : OPERAND_INT;
		if (type != MP_NIL)
			row->values[i] = object.type == MP_UINT ? (int64_t)object.u : object.i;
	}
	row->state = MATCH_ROW_INTS;
}

/* Of a predicate that is one range, for a row of which the column is known. */
static inline bool is_quick(const struct compiled *chosen, const struct match_row *row)
{
	return chosen->is_range && row->state == MATCH_ROW_INTS && row->types[chosen->range_column] != OPERAND_UNKNOWN;
}

static inline enum match test_range(const struct compiled *chosen, const struct match_row *row)
{
	int64_t i = row->values[chosen->range_column];

	return row->types[chosen->range_column] == OPERAND_INT && i >= chosen->range_low && i <= chosen->range_high
		       ? MATCH_YES
		       : MATCH_NO;
}

enum match matcher_test_row(struct matcher *m, uint32_t version, const struct match_row *row)
{
	const struct compiled *chosen = m->chosen;
	struct operand value;

	if (row->state == MATCH_ROW_ABSENT)
		return MATCH_NO;
	if (!chosen || !chosen->parsed || row->state == MATCH_ROW_UNKNOWN)
		return MATCH_UNKNOWN;
	if (row->state != MATCH_ROW_INTS || chosen->ints.column_last > MATCH_COLUMNS)
		return matcher_test(m, version);
	if (is_quick(chosen, row))
		return test_range(chosen, row);
	for (uint32_t i = 0; i < chosen->ints.column_last; i++) {
		m->columns[i].type = row->types[i];
		m->columns[i].i = row->values[i];
	}
	value = int_evaluate(&chosen->ints, m->columns);
	if (value.type == OPERAND_UNKNOWN)
		return chosen->full ? matcher_test(m, version) : MATCH_UNKNOWN;
	return value.type == OPERAND_INT && value.i != 0 ? MATCH_YES : MATCH_NO;
}

uint32_t matcher_run(struct matcher *m, const uint32_t *versions, const struct match_row *rows, uint32_t at, uint32_t end,
	int step, enum match match)
{
	const struct compiled *chosen = m->chosen;

	for (; at != end; at += (uint32_t)step) {
		const struct match_row *row = &rows[at];
		enum match here = row->state == MATCH_ROW_ABSENT   ? MATCH_NO
				  : chosen && is_quick(chosen, row) ? test_range(chosen, row)
								    : matcher_test_row(m, versions[at], row);

		if (here != match)
			break;
	}
	return at;
}
