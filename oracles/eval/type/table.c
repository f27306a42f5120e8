/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CREATE TABLE to the evaluator's table: column types, keys, checks. */
#include <string.h>

#include "eval/limits/guards.h"
#include "eval/node.h"

struct creating {
	struct arena *arena;
	const struct eval_env *env;
	struct eval_outcome *outcome;
	uint16_t collation; /* of columns that name none */
};

uint32_t type_number(struct span digits, uint32_t otherwise)
{
	uint32_t n = 0;

	if (!digits.ptr || !digits.len)
		return otherwise;
	for (size_t i = 0; i < digits.len && n < 100000000; i++)
		n = n * 10 + (uint32_t)(digits.ptr[i] - '0');
	return n;
}

static bool give_up(struct creating *k, enum eval_limit limit)
{
	outcome_unsupported(k->outcome, limit);
	return false;
}

static bool text_type(struct creating *k, const struct sql_type *type, struct eval_type *t)
{
	bool mysql = k->env->flavour == SQL_MYSQL;

	t->collation = k->collation;
	if (type->charset.ptr)
		t->collation = collation_of_charset(type->charset, mysql, k->env->version);
	if (type->kind == SQL_TYPE_NCHAR || type->kind == SQL_TYPE_NVARCHAR)
		t->collation = COLLATION_UTF8MB3_GENERAL_CI;
	if (type->collate.ptr)
		t->collation = collation_find(type->collate);
	if (type->ascii)
		t->collation = COLLATION_LATIN1_SWEDISH_CI;
	if (type->byte)
		t->collation = COLLATION_BINARY;
	if (type->binary && t->collation != COLLATION_NONE)
		t->collation = collation_bin_of(collation_charset(t->collation));
	if (t->collation == COLLATION_NONE || type->unicode)
		return give_up(k, LIMIT_COLUMN_OF_COLLATION_NOT_MODELLED);
	return true;
}

static bool member_type(struct creating *k, const struct sql_type *type, struct eval_type *t)
{
	struct span *values;
	uint32_t count = 0;
	bool blanks = false;

	for (const struct sql_expr *e = type->values; e; e = e->next)
		count++;
	values = arena_alloc(k->arena, (count + 1) * sizeof(*values));
	count = 0;
	for (const struct sql_expr *e = type->values; e; e = e->next) {
		struct span text = e->u.literal.text;

		while (text.len && text.ptr[text.len - 1] == ' ') {
			text.len--;
			blanks = true;
		}
		values[count++] = text;
	}
	t->values = values;
	t->value_count = count;
	if (!text_type(k, type, t))
		return false;
	return !(blanks && member_blanks_refused(k->outcome, k->env, t));
}

static void int_type(
	const struct sql_type *type, uint8_t bytes, uint32_t width, struct eval_type *t)
{
	*t = type_int(type->is_unsigned || type->zerofill);
	t->bytes = bytes;
	t->zerofill = type->zerofill;
	t->length = type_number(type->length, width - t->is_unsigned);
	if (!t->zerofill)
		t->length = 21;
}

static void real_type(const struct sql_type *type, struct eval_type *t)
{
	bool is_float = type->kind == SQL_TYPE_FLOAT;

	if (is_float && type->length.ptr && !type->decimals.ptr && type_number(type->length, 0) > 24)
		is_float = false;
	*t = type_double();
	t->kind = is_float ? EVAL_T_FLOAT : EVAL_T_DOUBLE;
	t->is_unsigned = type->is_unsigned || type->zerofill;
	t->zerofill = type->zerofill;
	if (type->decimals.ptr) {
		t->decimals = (uint8_t)type_number(type->decimals, 0);
		t->length = type_number(type->length, 0);
	}
}

static void string_type(struct eval_type *t, uint32_t length, bool blob)
{
	t->kind = EVAL_T_STRING;
	t->decimals = EVAL_NOT_FIXED;
	t->length = length;
	t->blob = blob;
}

static bool column_type(struct creating *k, const struct sql_type *type, struct eval_type *t)
{
	bool maria = k->env->flavour == SQL_MARIADB;

	memset(t, 0, sizeof(*t));
	t->coercibility = 2;
	switch (type->kind) {
	case SQL_TYPE_BOOL:
	case SQL_TYPE_TINYINT:
		int_type(type, 1, 4, t);
		return true;
	case SQL_TYPE_SMALLINT:
		int_type(type, 2, 6, t);
		return true;
	case SQL_TYPE_MEDIUMINT:
		int_type(type, 3, 9, t);
		return true;
	case SQL_TYPE_INT:
		int_type(type, 4, 11, t);
		return true;
	case SQL_TYPE_BIGINT:
		int_type(type, 8, 20 + (type->is_unsigned || type->zerofill), t);
		return true;
	case SQL_TYPE_SERIAL:
		*t = type_int(true);
		return true;
	case SQL_TYPE_DECIMAL:
		*t = type_decimal(type_number(type->length, 10) ? type_number(type->length, 10) : 10,
			type_number(type->decimals, 0));
		t->is_unsigned = type->is_unsigned;
		return true;
	case SQL_TYPE_FLOAT:
	case SQL_TYPE_DOUBLE:
		real_type(type, t);
		return true;
	case SQL_TYPE_BIT:
		t->kind = EVAL_T_BIT;
		t->length = type_number(type->length, 1);
		if (!t->length) /* BIT(0) */
			t->length = 1;
		return true;
	case SQL_TYPE_DATE:
		*t = type_temporal(EVAL_T_DATE, 0);
		return true;
	case SQL_TYPE_TIME:
		*t = type_temporal(EVAL_T_TIME, type_number(type->length, 0));
		return true;
	case SQL_TYPE_DATETIME:
		*t = type_temporal(EVAL_T_DATETIME, type_number(type->length, 0));
		return true;
	case SQL_TYPE_TIMESTAMP:
		*t = type_temporal(EVAL_T_TIMESTAMP, type_number(type->length, 0));
		return true;
	case SQL_TYPE_YEAR:
		t->kind = EVAL_T_YEAR;
		t->bytes = 4;
		t->is_unsigned = true;
		return true;
	case SQL_TYPE_CHAR:
	case SQL_TYPE_NCHAR:
		string_type(t, type_number(type->length, 1), false);
		t->fixed = true;
		return text_type(k, type, t);
	case SQL_TYPE_VARCHAR:
	case SQL_TYPE_NVARCHAR:
		string_type(t, type_number(type->length, 1), false);
		return text_type(k, type, t);
	case SQL_TYPE_BINARY:
		string_type(t, type_number(type->length, 1), false);
		t->fixed = true;
		return true;
	case SQL_TYPE_VARBINARY:
		string_type(t, type_number(type->length, 1), false);
		return true;
	case SQL_TYPE_TINYBLOB:
		string_type(t, 255, true);
		return true;
	case SQL_TYPE_BLOB:
		string_type(t, 65535, true);
		return true;
	case SQL_TYPE_MEDIUMBLOB:
		string_type(t, 16777215, true);
		return true;
	case SQL_TYPE_LONGBLOB:
		string_type(t, UINT32_MAX, true);
		return true;
	case SQL_TYPE_TINYTEXT:
		string_type(t, 255, true);
		return text_type(k, type, t);
	case SQL_TYPE_TEXT:
		string_type(t, 65535, true);
		return text_type(k, type, t);
	case SQL_TYPE_MEDIUMTEXT:
		string_type(t, 16777215, true);
		return text_type(k, type, t);
	case SQL_TYPE_LONGTEXT:
		string_type(t, UINT32_MAX, true);
		return text_type(k, type, t);
	case SQL_TYPE_ENUM:
		t->kind = EVAL_T_ENUM;
		return member_type(k, type, t);
	case SQL_TYPE_SET:
		t->kind = EVAL_T_SET;
		return member_type(k, type, t);
	case SQL_TYPE_JSON:
		string_type(t, UINT32_MAX, true);
		t->kind = maria ? EVAL_T_STRING : EVAL_T_JSON;
		t->collation = COLLATION_UTF8MB4_BIN;
		t->json = maria;
		return true;
	case SQL_TYPE_GEOMETRY:
	case SQL_TYPE_OTHER:
		return give_up(k, LIMIT_COLUMN_OF_TYPE_NOT_MODELLED);
	case SQL_TYPE_SIGNED:
	case SQL_TYPE_UNSIGNED:
		break;
	}
	return give_up(k, LIMIT_COLUMN_OF_TYPE_NOT_MODELLED);
}

static bool add_column(
	struct creating *k, const struct sql_column_def *def, struct eval_column *column)
{
	bool null_default;

	if (column_text_refused(k->outcome, k->env, def) ||
		column_type_refused(k->outcome, k->env, &def->type) ||
		!column_type(k, &def->type, &column->type))
		return false;
	column->name = def->name;
	column->nullable = def->nullable != SQL_NO && !def->primary &&
			   def->type.kind != SQL_TYPE_SERIAL && !def->serial_default;
	column->auto_increment =
		def->auto_increment || def->type.kind == SQL_TYPE_SERIAL || def->serial_default;
	column->invisible = def->visible == SQL_NO;
	column->dflt = def->dflt;
	column->on_update = def->on_update;
	column->generated = def->generated;
	column->storage = def->storage;
	if (column->type.kind == EVAL_T_TIMESTAMP && timestamp_refused(k->outcome, k->env, def))
		return false;
	null_default = !def->dflt || (def->dflt->kind == SQL_EXPR_LITERAL &&
					     def->dflt->u.literal.kind == SQL_LIT_NULL);
	column->no_default =
		!column->nullable && null_default && !column->auto_increment && !column->generated;
	return true;
}

uint32_t eval_table_column(const struct eval_table *table, struct span name)
{
	for (uint32_t i = 0; i < table->column_count; i++) {
		if (span_ieq(table->columns[i].name, name))
			return i;
	}
	return UINT32_MAX;
}

static bool add_index(struct creating *k, struct eval_table *t, const struct sql_key *key)
{
	struct eval_index *index = &t->indexes[t->index_count++];
	uint32_t i = 0;

	index->key = key;
	index->name = key->kind == SQL_KEY_PRIMARY ? SPAN_LIT("PRIMARY")
		      : key->name.ptr              ? key->name
						   : key->constraint;
	index->primary = key->kind == SQL_KEY_PRIMARY;
	index->unique = index->primary || key->kind == SQL_KEY_UNIQUE;
	for (const struct sql_key_part *p = key->parts; p; p = p->next)
		index->count++;
	index->columns = arena_zero(k->arena, (index->count + 1) * sizeof(uint32_t));
	index->lengths = arena_zero(k->arena, (index->count + 1) * sizeof(uint32_t));
	for (const struct sql_key_part *p = key->parts; p; p = p->next, i++) {
		index->columns[i] = p->expr ? UINT32_MAX : eval_table_column(t, p->column);
		index->lengths[i] = type_number(p->length, 0);
		if (!p->expr && index->columns[i] == UINT32_MAX) {
			outcome_error(k->outcome, 1072, "a key over a column that does not exist");
			return false;
		}
		if (index->primary) {
			struct eval_column *column = &t->columns[index->columns[i]];

			column->nullable = false;
			column->no_default =
				!column->dflt && !column->auto_increment && !column->generated;
		}
	}
	return true;
}

/* A key written as an attribute of its column. */
static void add_column_index(
	struct creating *k, struct eval_table *t, uint32_t column, bool primary, bool unique)
{
	struct eval_index *index = &t->indexes[t->index_count++];

	index->name = primary ? SPAN_LIT("PRIMARY") : t->columns[column].name;
	index->primary = primary;
	index->unique = unique || primary;
	index->count = 1;
	index->columns = arena_zero(k->arena, sizeof(uint32_t));
	index->lengths = arena_zero(k->arena, sizeof(uint32_t));
	index->columns[0] = column;
}

static bool add_key(struct creating *k, struct eval_table *t, const struct sql_key *key)
{
	switch (key->kind) {
	case SQL_KEY_INDEX:
	case SQL_KEY_PRIMARY:
	case SQL_KEY_UNIQUE:
	case SQL_KEY_FULLTEXT:
	case SQL_KEY_SPATIAL:
	case SQL_KEY_VECTOR:
		return add_index(k, t, key);
	case SQL_KEY_FOREIGN:
		t->foreign[t->foreign_count++] = key;
		return true;
	case SQL_KEY_CHECK:
		if (key->enforced != SQL_NO)
			t->checks[t->check_count++] = key;
		return true;
	}
	return true;
}

static void table_options(
	struct creating *k, struct eval_table *t, const struct sql_create_table *create)
{
	bool mysql = k->env->flavour == SQL_MYSQL;

	k->collation = k->env->collation_database;
	t->transactional = true;
	for (const struct sql_option *o = create->options; o; o = o->next) {
		struct span value = o->value;

		if (value.len > 1 && (value.ptr[0] == '\'' || value.ptr[0] == '"'))
			value = span_of(value.ptr + 1, value.len - 2);
		if (span_ieq_str(o->name, "ENGINE"))
			t->transactional = span_ieq_str(value, "InnoDB");
	}
	for (const struct sql_option *o = create->options; o; o = o->next) {
		if (span_ieq_str(o->name, "CHARSET") || span_ieq_str(o->name, "CHARACTER SET") ||
			span_ieq_str(o->name, "DEFAULT CHARSET") ||
			span_ieq_str(o->name, "DEFAULT CHARACTER SET"))
			k->collation = collation_of_charset(o->value, mysql, k->env->version);
	}
	for (const struct sql_option *o = create->options; o; o = o->next) {
		if (span_ieq_str(o->name, "COLLATE") || span_ieq_str(o->name, "DEFAULT COLLATE"))
			k->collation = collation_find(o->value);
	}
}

/* CHECK (JSON_VALID(column)): MariaDB's functions take the column's texts for JSON. */
static bool asks_json_valid(
	const struct creating *k, const struct sql_key *check, struct span column)
{
	const struct sql_expr *e = check->check;

	if (k->env->flavour != SQL_MARIADB || !e || e->kind != SQL_EXPR_CALL ||
		!span_ieq_str(e->u.call.name, "json_valid") || e->u.call.args.count != 1)
		return false;
	e = e->u.call.args.first;
	return e->kind == SQL_EXPR_COLUMN && span_ieq(e->u.column.name, column);
}

static bool add_elements(
	struct creating *k, struct eval_table *t, const struct sql_create_table *create)
{
	for (const struct sql_element *e = create->elements; e; e = e->next) {
		if (table_element_refused(k->outcome, k->env, e))
			return false;
		if (e->kind == SQL_ELEMENT_COLUMN &&
			!add_column(k, e->column, &t->columns[t->column_count++]))
			return false;
	}
	for (uint32_t pass = 0; pass < 2; pass++) { /* the primary key first */
		uint32_t column = 0;

		for (const struct sql_element *e = create->elements; e; e = e->next) {
			const struct sql_column_def *def = e->column;

			if (e->kind == SQL_ELEMENT_KEY &&
				(e->key->kind == SQL_KEY_PRIMARY) == (pass == 0) &&
				!add_key(k, t, e->key))
				return false;
			if (e->kind != SQL_ELEMENT_COLUMN)
				continue;
			if (def->primary && pass == 0)
				add_column_index(k, t, column, true, true);
			if ((def->unique || def->key || def->type.kind == SQL_TYPE_SERIAL) &&
				!def->primary && pass == 1)
				add_column_index(k, t, column, false,
					def->unique || def->type.kind == SQL_TYPE_SERIAL);
			for (const struct sql_key *check = def->checks; check && pass == 1;
				check = check->next) {
				if (check->enforced != SQL_NO)
					t->checks[t->check_count++] = check;
				t->columns[column].type.json |= asks_json_valid(k, check, def->name);
			}
			column++;
		}
	}
	return true;
}

static void list_columns(struct arena *arena, struct eval_table *t)
{
	struct span *names = arena_alloc(arena, (t->column_count + 1) * sizeof(*names));
	struct eval_type *types = arena_alloc(arena, (t->column_count + 1) * sizeof(*types));

	for (uint32_t i = 0; i < t->column_count; i++) {
		names[i] = t->columns[i].name;
		types[i] = t->columns[i].type;
	}
	t->names = names;
	t->types = types;
}

struct eval_table *eval_table_create(struct arena *arena, const struct sql_create_table *create,
	const struct eval_env *env, struct eval_outcome *outcome)
{
	struct creating k = {arena, env, outcome, COLLATION_NONE};
	struct eval_table *t = arena_zero(arena, sizeof(*t));
	uint32_t count = 1;

	memset(outcome, 0, sizeof(*outcome));
	if (create_table_refused(outcome, env, create))
		return NULL;
	for (const struct sql_element *e = create->elements; e; e = e->next) {
		count += 2;
		for (const struct sql_key *c = e->column ? e->column->checks : NULL; c; c = c->next)
			count++;
	}
	t->db = create->table.db;
	t->name = create->table.name;
	t->columns = arena_zero(arena, count * sizeof(*t->columns));
	t->indexes = arena_zero(arena, count * sizeof(*t->indexes));
	t->checks = arena_zero(arena, count * sizeof(const struct sql_key *));
	t->foreign = arena_zero(arena, count * sizeof(const struct sql_key *));
	table_options(&k, t, create);
	if (!add_elements(&k, t, create))
		return NULL;
	list_columns(arena, t);
	return t;
}
