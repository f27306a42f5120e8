/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables, their rows, and values: numbers that a bijection turns into values of a column's type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "generate/generate_internal.h"

/* ---- values ---- */

/* Texts that are different in every collation; a twin compares as equal in some. */
static const char *const short_texts[] = {"a", "b", "ab", "Bc", "z", ""};
static const char *const short_twins[] = {"A", "B", "AB", "bc", "z ", ""};

#define TWIN (UINT64_C(1) << 62) /* the other spelling of a text */

bool is_number(const struct column *c)
{
	return c->type == OF_INT || c->type == OF_BIG || c->type == OF_DEC || c->type == OF_FLOAT ||
	       c->type == OF_FLAG;
}

static bool is_text(const struct column *c)
{
	return c->type == OF_TEXT || c->type == OF_CHAR;
}

/* The date that lies so many days after 2023-12-28 (Hinnant: chrono-compatible low-level date algorithms). */
static const char *date_text(struct gen *g, uint64_t days, const char *tail)
{
	uint64_t z = days + 739187, era = z / 146097, doe = z % 146097; /* since 0000-03-01 */
	uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	uint64_t mp = (5 * doy + 2) / 153, day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;

	return text(g, "'%04llu-%02llu-%02llu%s'", (unsigned long long)(yoe + era * 400 + (month <= 2)),
		(unsigned long long)month, (unsigned long long)day, tail);
}

static const char *text_literal(struct gen *g, uint64_t value)
{
	uint64_t v = value & ~TWIN;

	if (v < ARRAY_LEN(short_texts))
		return text(g, "'%s'", value & TWIN ? short_twins[v] : short_texts[v]);
	return text(g, value & TWIN ? "'W%llu'" : "'w%llu'", (unsigned long long)v);
}

const char *value_literal(struct gen *g, const struct column *c, uint64_t value)
{
	unsigned long long v = value & ~TWIN;
	char clock[40];

	if (value == VALUE_NULL)
		return "NULL";
	switch (c->type) {
	case OF_INT:
	case OF_BIG:
		return text(g, "%llu", v);
	case OF_TEXT:
	case OF_CHAR:
		return text_literal(g, value);
	case OF_DEC:
		return text(g, "%llu.%02llu", v * 3 / 4, v * 75 % 100);
	case OF_DATE:
		return date_text(g, v, "");
	case OF_TIME:
		snprintf(clock, sizeof(clock), " %02llu:%02llu:00", v * 7 % 24, v * 30 % 60);
		return date_text(g, v / 2, clock);
	case OF_STATE:
		return (const char *const[]){"'new'", "'paid'", "'sent'"}[v % 3];
	case OF_FLAG:
		return v % 2 ? "1" : "0";
	case OF_FLOAT:
		return text(g, "%llu.%s", v / 2, v % 2 ? "5" : "0");
	case TYPE_WORD_COUNT:
		break;
	}
	return "NULL";
}

/* Types with few values: numbers that differ may be one value. */
static uint64_t fold_value(const struct column *c, uint64_t value)
{
	return value == VALUE_NULL ? value : c->type == OF_STATE ? value % 3 : c->type == OF_FLAG ? value % 2 : value;
}

uint64_t any_value(struct gen *g, const struct column *c)
{
	uint64_t value = sampler_draw(&g->values, &g->random);

	if (is_text(c) && random_chance(&g->random, 80))
		value |= TWIN;
	return fold_value(c, value);
}

uint64_t any_value_or_null(struct gen *g, const struct column *c)
{
	return c->null && draw_chance(g, FEATURE_NULL) ? VALUE_NULL : any_value(g, c);
}

/* ---- definitions ---- */

static const char *declare(struct gen *g, enum type_word type)
{
	static const char *const collations[] = {
		[COLLATION_DEFAULT] = "",
		[COLLATION_GENERAL] = " character set utf8mb4 collate utf8mb4_general_ci",
		[COLLATION_BIN] = " character set utf8mb4 collate utf8mb4_bin",
		[COLLATION_LATIN1] = " character set latin1",
		[COLLATION_UNICODE] = " character set utf8mb4 collate utf8mb4_unicode_ci",
	};

	switch (type) {
	case OF_INT:
		return "int";
	case OF_BIG:
		return "bigint unsigned";
	case OF_TEXT:
		return text(g, "varchar(10)%s", collations[draw_word(g, FEATURE_COLLATION)]);
	case OF_CHAR:
		return text(g, "char(8)%s", collations[draw_word(g, FEATURE_COLLATION)]);
	case OF_DEC:
		return "decimal(9,2)";
	case OF_DATE:
		return "date";
	case OF_TIME:
		return "datetime";
	case OF_STATE:
		return "enum('new','paid','sent')";
	case OF_FLAG:
		return "tinyint(1)";
	case OF_FLOAT:
		return "double";
	case TYPE_WORD_COUNT:
		break;
	}
	return "int";
}

static struct column *add_column(struct table *t, char letter, enum type_word type, const char *declared)
{
	struct column *c = &t->columns[t->column_count];
	unsigned number = 1;

	for (uint32_t i = 0; i < t->column_count; i++)
		number += t->columns[i].name[0] == letter;
	*c = (struct column){.type = type, .declared = declared, .parent = NO_TABLE};
	snprintf(c->name, sizeof(c->name), "%c%u", letter, number % 1000);
	t->column_count++;
	return c;
}

static void add_key(struct gen *g, struct table *t)
{
	uint32_t count;

	t->key = (enum key_word)draw_word(g, FEATURE_KEY);
	count = t->key == KEY_PAIR ? 2 : 1;
	for (uint32_t i = 0; i < count; i++) {
		enum type_word type =
			t->key == KEY_AUTO ? OF_INT : (enum type_word)draw_word(g, FEATURE_KEY_TYPE);
		struct column *c;

		if (type == OF_STATE || type == OF_FLAG)
			type = OF_INT; /* too few values for a key */
		c = add_column(t, 'k', type, declare(g, type));
		c->key = true;
		c->null = t->key == KEY_NONE;
		c->automatic = t->key == KEY_AUTO;
	}
	t->key_count = count;
	if (t->key != KEY_NONE)
		t->uniques[t->unique_count++] = (1u << count) - 1;
}

static void add_columns(struct gen *g, struct table *t)
{
	uint64_t count = draw_number(g, FEATURE_COLUMNS);

	for (uint64_t i = 0; i < count; i++) {
		enum type_word type = (enum type_word)draw_word(g, FEATURE_TYPE);
		struct column *c = add_column(t, 'v', type, declare(g, type));

		c->null = draw_chance(g, FEATURE_NULLABLE);
		if (draw_chance(g, FEATURE_DEFAULT))
			c->preset = value_literal(g, c, any_value(g, c) & ~TWIN);
	}
}

static const char *action_text(const char *event, enum action_word action)
{
	switch (action) {
	case ACTION_NONE:
	case ACTION_WORD_COUNT:
		return "";
	case ACTION_RESTRICT:
		return event[0] == 'd' ? " on delete restrict" : " on update restrict";
	case ACTION_CASCADE:
		return event[0] == 'd' ? " on delete cascade" : " on update cascade";
	case ACTION_SET_NULL:
		return event[0] == 'd' ? " on delete set null" : " on update set null";
	}
	return "";
}

static void add_foreign(struct gen *g, struct table *t, uint32_t parent_number, struct buf *defs)
{
	const struct table *parent = &g->tables[parent_number];
	enum action_word deleted = (enum action_word)draw_word(g, FEATURE_ON_DELETE);
	enum action_word updated = (enum action_word)draw_word(g, FEATURE_ON_UPDATE);
	uint32_t first = t->column_count, count = parent->key_count;

	/* A table that refers to itself cannot have ON UPDATE CASCADE run (manual, "FOREIGN KEY Constraints"). */
	if (parent == t && (updated == ACTION_CASCADE || updated == ACTION_SET_NULL))
		updated = ACTION_NONE;
	for (uint32_t i = 0; i < count; i++) {
		struct column *c = add_column(t, 'p', parent->columns[i].type, parent->columns[i].declared);

		c->null = true;
		c->parent = parent_number;
		c->parent_column = i;
	}
	buf_add_str(defs, ", foreign key (");
	for (uint32_t i = 0; i < count; i++)
		buf_printf(defs, "%s%s", i ? "," : "", t->columns[first + i].name);
	buf_printf(defs, ") references %s(", parent->name);
	for (uint32_t i = 0; i < count; i++)
		buf_printf(defs, "%s%s", i ? "," : "", parent->columns[i].name);
	buf_printf(defs, ")%s%s", action_text("delete", deleted), action_text("update", updated));
}

static void add_foreign_keys(struct gen *g, struct table *t, struct buf *defs)
{
	uint32_t number = (uint32_t)(t - g->tables);

	if (number && draw_chance(g, FEATURE_FOREIGN)) {
		uint32_t parent = (uint32_t)below(g, number);

		if (g->tables[parent].key != KEY_NONE && !*g->tables[parent].partition)
			add_foreign(g, t, parent, defs);
	}
	if (t->key != KEY_NONE && draw_chance(g, FEATURE_FOREIGN_SELF))
		add_foreign(g, t, number, defs);
}

static void add_indexes(struct gen *g, struct table *t, struct buf *defs)
{
	uint64_t count = draw_number(g, FEATURE_INDEXES);

	for (uint64_t i = 0; i < count; i++) {
		bool unique = draw_chance(g, FEATURE_UNIQUE) && !*t->partition && t->unique_count < UNIQUES_MAX;
		uint64_t columns = draw_number(g, FEATURE_INDEX_COLUMNS);
		uint32_t set = 0;

		buf_printf(defs, ", %skey i%llu(", unique ? "unique " : "", (unsigned long long)i + 1);
		for (uint64_t n = 0; n < columns; n++) {
			uint32_t column = (uint32_t)below(g, t->column_count);

			if (set & 1u << column)
				continue;
			/* A unique key of a type with few values would leave room for few rows. */
			if (unique && (t->columns[column].type == OF_FLAG || t->columns[column].type == OF_STATE))
				column = 0;
			if (set & 1u << column)
				continue;
			buf_printf(defs, "%s%s", set ? "," : "", t->columns[column].name);
			set |= 1u << column;
		}
		buf_add_char(defs, ')');
		if (unique)
			t->uniques[t->unique_count++] = set;
	}
}

static const char *make_partitions(struct gen *g, const struct table *t)
{
	const char *key = t->columns[0].name;

	if (t->key == KEY_NONE || !draw_chance(g, FEATURE_PARTITIONED))
		return "";
	if (t->columns[0].type == OF_INT && below(g, 3))
		return below(g, 2) ? text(g, " partition by hash(%s) partitions 2", key)
				   : text(g, " partition by range(%s) (partition p0 values less than (3), partition p1 "
					     "values less than (7), partition p2 values less than maxvalue)",
					     key);
	return text(g, " partition by key(%s) partitions 3", key);
}

static void add_constraints(struct gen *g, struct table *t, struct buf *defs)
{
	struct column *c = &t->columns[t->key_count < t->column_count ? t->key_count : 0];

	if (draw_chance(g, FEATURE_CHECK) && c->type == OF_INT)
		buf_printf(defs, ", check (%s is null or %s < %llu)", c->name, c->name,
			(unsigned long long)g->domain + 3);
}

static void print_columns(const struct table *t, struct buf *out)
{
	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];

		buf_printf(out, "%s%s %s", i ? ", " : "", c->name, c->declared);
		if (c->generated)
			continue;
		buf_printf(out, "%s%s", c->null ? "" : " not null", c->automatic ? " auto_increment" : "");
		if (c->preset)
			buf_printf(out, " default %s", c->preset);
	}
	if (t->key == KEY_NONE)
		return;
	buf_printf(out, ", %s(", t->key == KEY_UNIQUE ? "unique key uk" : "primary key");
	for (uint32_t i = 0; i < t->key_count; i++)
		buf_printf(out, "%s%s", i ? "," : "", t->columns[i].name);
	buf_add_char(out, ')');
}

static void add_generated(struct gen *g, struct table *t)
{
	const struct column *from = &t->columns[t->key_count];

	if (t->key_count < t->column_count && from->type == OF_INT && draw_chance(g, FEATURE_GENERATED)) {
		const char *declared = text(g, "int as (%s + 1) %s", from->name, below(g, 2) ? "stored" : "virtual");
		struct column *c = add_column(t, 'g', OF_INT, declared);

		c->generated = c->null = true;
	}
}

static void define(struct gen *g, struct table *t)
{
	struct buf defs = BUF_INIT, all = BUF_INIT;

	add_key(g, t);
	t->partition = make_partitions(g, t);
	add_columns(g, t);
	if (!*t->partition)
		add_foreign_keys(g, t, &defs);
	add_generated(g, t);
	add_indexes(g, t, &defs);
	add_constraints(g, t, &defs);
	print_columns(t, &all);
	if (defs.len)
		buf_add_span(&all, buf_span(&defs));
	t->create = text(g, "create table %s(%s) engine=innodb%s", t->name, all.data, t->partition);
	buf_release(&defs);
	buf_release(&all);
}

/* ---- rows ---- */

static struct row *new_row(struct gen *g, struct table *t)
{
	struct row *row = arena_zero(&g->arena, sizeof(*row));

	MEM_RESERVE(t->rows, t->row_count + 1, t->row_capacity);
	t->rows[t->row_count++] = row;
	return row;
}

static bool same_in(const struct table *t, const struct row *a, const struct row *b, uint32_t set)
{
	for (uint32_t i = 0; i < t->column_count; i++) {
		if (!(set & 1u << i))
			continue;
		if (a->values[i] == VALUE_NULL || b->values[i] == VALUE_NULL || (a->values[i] ^ b->values[i]) & ~TWIN)
			return false;
	}
	return true;
}

static bool meets_another(const struct table *t, const struct row *row, uint32_t set)
{
	for (size_t i = 0; i < t->row_count; i++)
		if (t->rows[i] != row && same_in(t, t->rows[i], row, set))
			return true;
	return false;
}

/* Values of the foreign key: those of a row that is there. */
static void refer(struct gen *g, struct row *row, const struct table *t)
{
	const struct row *parent = NULL;

	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];
		const struct table *to;

		if (c->parent == NO_TABLE)
			continue;
		to = &g->tables[c->parent];
		if (c->parent_column == 0) {
			size_t count = to == t ? t->row_count - 1 : to->set_up_count;

			parent = count && below(g, 8) ? to->rows[below(g, count)] : NULL;
		}
		row->values[i] = parent ? parent->values[c->parent_column] : VALUE_NULL;
	}
}

/* Other values for the columns of a unique key; where they are foreign keys, at last none. */
static void change_unique(struct gen *g, const struct table *t, struct row *row, uint32_t set, unsigned tries)
{
	for (uint32_t i = 0; i < t->column_count; i++) {
		if (!(set & 1u << i))
			continue;
		if (t->columns[i].parent != NO_TABLE)
			row->values[i] = tries < 16 ? row->values[i] : VALUE_NULL;
		else
			row->values[i] = tries < 8 ? any_value(g, &t->columns[i]) : g->domain + t->row_count + tries;
	}
}

/* Values that no unique key has yet.  A change for one key may break another, so all are looked at again. */
static void make_unique(struct gen *g, struct table *t, struct row *row)
{
	enum { TRIES_MAX = 64 };

	for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
		bool changed = false;

		for (uint32_t u = 0; u < t->unique_count; u++) {
			if (!meets_another(t, row, t->uniques[u]))
				continue;
			change_unique(g, t, row, t->uniques[u], tries);
			changed = true;
		}
		if (!changed)
			return;
	}
}

struct row *make_row(struct gen *g, struct table *t, bool duplicate)
{
	struct row *row = new_row(g, t);

	for (uint32_t i = 0; i < t->column_count; i++)
		row->values[i] = t->columns[i].generated ? VALUE_NULL
				 : t->columns[i].key     ? any_value(g, &t->columns[i]) & ~TWIN
							 : any_value_or_null(g, &t->columns[i]);
	refer(g, row, t);
	if (duplicate && t->set_up_count) {
		const struct row *there = any_row(g, t);

		for (uint32_t i = 0; i < t->key_count; i++)
			row->values[i] = there->values[i];
	} else {
		make_unique(g, t, row);
	}
	return row;
}

const char *row_literal(struct gen *g, const struct table *t, const struct row *row)
{
	buf_clear(&g->scratch);
	for (uint32_t i = 0; i < t->column_count; i++) {
		const char *literal;

		if (t->columns[i].generated)
			continue;
		literal = value_literal(g, &t->columns[i], row->values[i]);
		buf_printf(&g->scratch, "%s%s", g->scratch.len ? "," : "(", literal);
	}
	buf_add_char(&g->scratch, ')');
	return text(g, "%s", g->scratch.data);
}

const char *column_list(struct gen *g, const struct table *t, bool generated)
{
	buf_clear(&g->scratch);
	for (uint32_t i = 0; i < t->column_count; i++)
		if (generated || !t->columns[i].generated)
			buf_printf(&g->scratch, "%s%s", g->scratch.len ? "," : "", t->columns[i].name);
	return text(g, "%s", g->scratch.data);
}

const struct row *any_row(struct gen *g, const struct table *t)
{
	return t->set_up_count ? t->rows[sampler_draw(&t->access, &g->random)] : NULL;
}

/* ---- what the evaluator makes of them ---- */

static void evaluate_definition(struct gen *g, struct table *t)
{
	struct eval_outcome outcome = {0};
	struct sql_stmt *stmt;

	if (sql_parse(&g->arena, span_str(t->create), &g->dialect->sql, &stmt, NULL) &&
		stmt->kind == SQL_STMT_CREATE_TABLE)
		t->eval = eval_table_create(&g->arena, stmt->u.create_table, &g->dialect->env, &outcome);
}

void evaluate_row(struct gen *g, struct table *t, struct row *row)
{
	const char *sql = text(g, "insert into %s(%s) values %s", t->name, column_list(g, t, false), row_literal(g, t, row));
	struct eval_outcome outcome = {0};
	struct eval_insert *insert;
	struct eval_rows rows;
	struct sql_stmt *stmt;

	if (!t->eval || !sql_parse(&g->arena, span_str(sql), &g->dialect->sql, &stmt, NULL))
		return;
	insert = eval_insert_compile(&g->arena, stmt->u.insert, &g->dialect->env, &g->source, &outcome);
	if (insert && eval_insert_rows(insert, &g->arena, &g->dialect->env, &g->source, &rows, &outcome) && rows.count == 1)
		row->stored = rows.row[0];
}

static const struct eval_table *find_table(void *ctx, const struct sql_table_name *name)
{
	struct gen *g = ctx;

	for (uint32_t i = 0; i < g->table_count; i++)
		if (span_eq_str(name->name, g->tables[i].name))
			return g->tables[i].eval;
	return NULL;
}

static bool find_rows(void *ctx, const struct eval_table *table, const struct sql_table_ref *ref, struct eval_rows *out)
{
	struct gen *g = ctx;

	(void)ref;
	for (uint32_t i = 0; i < g->table_count; i++) {
		if (g->tables[i].eval != table)
			continue;
		*out = (struct eval_rows){g->tables[i].stored, g->tables[i].stored_count};
		return g->tables[i].stored_count == g->tables[i].set_up_count;
	}
	return false;
}

static void fill(struct gen *g, struct table *t)
{
	uint64_t count = draw_number(g, FEATURE_ROWS);

	for (uint64_t i = 0; i < count; i++) {
		struct row *row = make_row(g, t, false);

		if (t->key == KEY_AUTO)
			row->values[0] = i + 1;
	}
	t->set_up_count = t->row_count;
	sampler_init(&t->access, &g->model->features[FEATURE_ACCESS].spread, count ? count : 1);
	t->stored = arena_alloc(&g->arena, (count + 1) * sizeof(*t->stored));
	for (size_t i = 0; i < count; i++) {
		evaluate_row(g, t, t->rows[i]);
		if (t->rows[i]->stored)
			t->stored[t->stored_count++] = t->rows[i]->stored;
	}
}

void make_schema(struct gen *g)
{
	g->source = (struct eval_source){.table = find_table, .rows = find_rows, .ctx = g};
	g->domain = draw_number(g, FEATURE_DOMAIN);
	sampler_init(&g->values, &g->model->features[FEATURE_VALUES].spread, g->domain);
	g->table_count = (uint32_t)draw_number(g, FEATURE_TABLES);
	for (uint32_t i = 0; i < g->table_count; i++) {
		struct table *t = &g->tables[i];

		snprintf(t->name, sizeof(t->name), "t%u", (unsigned)(i % 100) + 1);
		define(g, t);
		evaluate_definition(g, t);
		fill(g, t);
	}
}

void release_schema(struct gen *g)
{
	for (uint32_t i = 0; i < g->table_count; i++) {
		mem_free(g->tables[i].rows);
		sampler_release(&g->tables[i].access);
	}
	sampler_release(&g->values);
}

struct table *any_table(struct gen *g)
{
	return &g->tables[below(g, g->table_count)];
}

struct table *other_table(struct gen *g, const struct table *t)
{
	uint32_t number = (uint32_t)(t - g->tables);

	return g->table_count == 1 ? &g->tables[0] : &g->tables[(number + 1 + below(g, g->table_count - 1)) % g->table_count];
}
