/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ALTER TABLE on the syntax tree of CREATE TABLE: the definition that it leaves.  What is not done here makes
 * the definition unknown. */
#include "mvcc/plan/alter_table.h"

#include "mvcc/solver.h"

struct altering {
	struct mvcc *m;
	struct sql_column_def **columns;
	uint32_t *origins; /* numbers in the old table */
	uint32_t column_count;
	struct sql_key **keys;
	uint32_t key_count;
	bool drops_rows;
	bool alone;       /* there is one action that counts */
	bool partitioned;
	bool renames;
};

static uint32_t column_at(const struct altering *a, struct span name)
{
	for (uint32_t i = 0; i < a->column_count; i++) {
		if (span_ieq(a->columns[i]->name, name))
			return i;
	}
	return UINT32_MAX;
}

static void put_column(
	struct altering *a, uint32_t at, struct sql_column_def *column, uint32_t origin)
{
	for (uint32_t i = a->column_count++; i > at; i--) {
		a->columns[i] = a->columns[i - 1];
		a->origins[i] = a->origins[i - 1];
	}
	a->columns[at] = column;
	a->origins[at] = origin;
}

static void take_column(struct altering *a, uint32_t at)
{
	a->column_count--;
	for (uint32_t i = at; i < a->column_count; i++) {
		a->columns[i] = a->columns[i + 1];
		a->origins[i] = a->origins[i + 1];
	}
}

/* Where FIRST, AFTER or nothing puts a column; UINT32_MAX: there is no such column. */
static uint32_t place_of(const struct altering *a, const struct sql_alter *action, uint32_t otherwise)
{
	uint32_t after;

	if (action->first)
		return 0;
	if (!action->after.ptr)
		return otherwise;
	after = column_at(a, action->after);
	return after == UINT32_MAX ? after : after + 1;
}

static bool add_column(
	struct altering *a, const struct sql_alter *action, struct sql_column_def *column)
{
	uint32_t at = place_of(a, action, a->column_count);

	if (column_at(a, column->name) != UINT32_MAX)
		return action->if_not_exists;
	if (at == UINT32_MAX)
		return false;
	put_column(a, at, column, UINT32_MAX);
	return true;
}

static bool key_has_column(const struct sql_key *key, struct span name)
{
	for (const struct sql_key_part *p = key->parts; p; p = p->next) {
		if (p->expr || span_ieq(p->column, name))
			return true;
	}
	return false;
}

/* Is anything else made of the column: a key, a CHECK, another column? */
static bool is_used(const struct altering *a, struct span name)
{
	for (uint32_t i = 0; i < a->key_count; i++) {
		if (a->keys[i]->check || key_has_column(a->keys[i], name))
			return true;
	}
	for (uint32_t i = 0; i < a->column_count; i++) {
		if (a->columns[i]->generated || a->columns[i]->checks ||
			(a->columns[i]->dflt && a->columns[i]->dflt->kind != SQL_EXPR_LITERAL))
			return true;
	}
	return false;
}

static bool drop_column(struct altering *a, const struct sql_alter *action)
{
	uint32_t at = column_at(a, action->name);

	if (at == UINT32_MAX)
		return action->if_exists;
	if (is_used(a, action->name) || a->columns[at]->unique || a->columns[at]->primary)
		return false;
	take_column(a, at);
	return true;
}

/* Expressions name columns, too; what servers make of them differs. */
static bool has_expressions(const struct altering *a)
{
	for (uint32_t i = 0; i < a->key_count; i++) {
		if (a->keys[i]->check)
			return true;
		for (const struct sql_key_part *p = a->keys[i]->parts; p; p = p->next) {
			if (p->expr)
				return true;
		}
	}
	for (uint32_t i = 0; i < a->column_count; i++) {
		if (a->columns[i]->generated || a->columns[i]->checks || a->columns[i]->reference ||
			(a->columns[i]->dflt && a->columns[i]->dflt->kind != SQL_EXPR_LITERAL))
			return true;
	}
	return false;
}

static struct span key_name(const struct sql_key *key)
{
	return key->name.ptr         ? key->name
	       : key->constraint.ptr ? key->constraint
	       : key->parts	     ? key->parts->column
				     : SPAN_NONE;
}

/* A key with another name for one of its columns; its own name stays what it was. */
static struct sql_key *renamed_key(
	struct altering *a, const struct sql_key *key, struct span from, struct span to)
{
	struct sql_key *copy = arena_alloc(&a->m->catalog.arena, sizeof(*copy));
	struct sql_key_part **end = &copy->parts;

	*copy = *key;
	if (key->kind != SQL_KEY_PRIMARY)
		copy->name = key_name(key);
	for (const struct sql_key_part *p = key->parts; p; p = p->next) {
		struct sql_key_part *part = arena_alloc(&a->m->catalog.arena, sizeof(*part));

		*part = *p;
		if (span_ieq(p->column, from))
			part->column = to;
		*end = part;
		end = &part->next;
	}
	*end = NULL;
	return copy;
}

/* The one action of its statement: others would name columns from before or after.  Keys follow, foreign keys
 * and what is computed from columns are left alone. */
static bool rename_column(struct altering *a, uint32_t at, struct span to)
{
	struct sql_column_def *column = arena_alloc(&a->m->catalog.arena, sizeof(*column));
	struct span from = a->columns[at]->name;
	uint32_t other = column_at(a, to);

	if (!a->alone || a->partitioned || has_expressions(a) || (other != UINT32_MAX && other != at))
		return false;
	for (uint32_t i = 0; i < a->key_count; i++) {
		if (a->keys[i]->kind == SQL_KEY_FOREIGN)
			return false;
	}
	for (uint32_t i = 0; i < a->key_count; i++) {
		if (key_has_column(a->keys[i], from))
			a->keys[i] = renamed_key(a, a->keys[i], from, to);
	}
	*column = *a->columns[at];
	column->name = to;
	if (column->unique) { /* its key is called after it, and stays so */
		struct sql_key *key = arena_zero(&a->m->catalog.arena, sizeof(*key));

		key->kind = SQL_KEY_UNIQUE;
		key->name = from;
		key->parts = arena_zero(&a->m->catalog.arena, sizeof(*key->parts));
		key->parts->column = to;
		column->unique = false;
		a->keys[a->key_count++] = key;
	}
	a->columns[at] = column;
	a->renames = true;
	return true;
}

static bool rename_action(struct altering *a, const struct sql_alter *action)
{
	uint32_t at = column_at(a, action->name);

	return at == UINT32_MAX ? action->if_exists : rename_column(a, at, action->new_name);
}

/* Keys that were written with the column stay; the rest is as it is said now. */
static bool modify_column(struct altering *a, const struct sql_alter *action, struct span name)
{
	uint32_t at = column_at(a, name), to;
	const struct sql_column_def *old;
	struct sql_column_def *column;
	uint32_t origin;

	if (at == UINT32_MAX)
		return action->if_exists;
	if (!span_eq(a->columns[at]->name, action->column->name) &&
		!rename_column(a, at, action->column->name))
		return false;
	old = a->columns[at];
	origin = a->origins[at];
	if (old->checks || old->generated ||
		action->column->generated || action->column->reference)
		return false;
	column = arena_alloc(&a->m->catalog.arena, sizeof(*column));
	*column = *action->column;
	column->primary |= old->primary;
	column->unique |= old->unique;
	column->key |= old->key;
	take_column(a, at);
	to = place_of(a, action, at);
	if (to == UINT32_MAX)
		return false;
	put_column(a, to, column, origin);
	return true;
}

static bool set_default(struct altering *a, const struct sql_alter *action)
{
	uint32_t at = column_at(a, action->name);
	struct sql_column_def *column;

	if (at == UINT32_MAX)
		return action->if_exists;
	/* Without DEFAULT a column that may be NULL has none at all, which CREATE TABLE cannot say. */
	if (!action->value && a->columns[at]->nullable != SQL_NO)
		return false;
	column = arena_alloc(&a->m->catalog.arena, sizeof(*column));
	*column = *a->columns[at];
	column->dflt = action->value;
	a->columns[at] = column;
	return true;
}

static void take_key(struct altering *a, uint32_t at)
{
	a->key_count--;
	for (uint32_t i = at; i < a->key_count; i++)
		a->keys[i] = a->keys[i + 1];
}

/* By its name; one without is named by its first column, and by more where there are two. */
static bool drop_key(struct altering *a, const struct sql_alter *action, struct span name)
{
	uint32_t found = UINT32_MAX, at;

	for (uint32_t i = 0; i < a->key_count; i++) {
		const struct sql_key *key = a->keys[i];

		if (key->kind == SQL_KEY_FOREIGN || key->kind == SQL_KEY_CHECK ||
			key->kind == SQL_KEY_PRIMARY || !span_ieq(key_name(key), name))
			continue;
		if (found != UINT32_MAX)
			return false;
		found = i;
	}
	at = column_at(a, name);
	if (at != UINT32_MAX && (a->columns[at]->unique || a->columns[at]->key)) {
		struct sql_column_def *column;

		if (found != UINT32_MAX || a->columns[at]->primary ||
			a->columns[at]->type.kind == SQL_TYPE_SERIAL)
			return false;
		column = arena_alloc(&a->m->catalog.arena, sizeof(*column));
		*column = *a->columns[at];
		column->unique = column->key = false;
		a->columns[at] = column;
		return true;
	}
	if (found == UINT32_MAX)
		return action && action->if_exists;
	take_key(a, found);
	return true;
}

static bool drop_named(struct altering *a, const struct sql_alter *action, enum sql_key_kind kind)
{
	for (uint32_t i = 0; i < a->key_count; i++) {
		if (a->keys[i]->kind != kind || !a->keys[i]->constraint.ptr ||
			!span_ieq(a->keys[i]->constraint, action->name))
			continue;
		take_key(a, i);
		return true;
	}
	return action->if_exists;
}

/* A named CHECK written after its column (MySQL). */
static bool drop_column_check(struct altering *a, struct span name)
{
	for (uint32_t i = 0; i < a->column_count; i++) {
		for (const struct sql_key *k = a->columns[i]->checks; k; k = k->next) {
			struct sql_column_def *column;
			struct sql_key **end;

			if (!k->constraint.ptr || !span_ieq(k->constraint, name))
				continue;
			column = arena_alloc(&a->m->catalog.arena, sizeof(*column));
			*column = *a->columns[i];
			end = &column->checks;
			for (const struct sql_key *c = a->columns[i]->checks; c; c = c->next) {
				if (c == k)
					continue;
				*end = arena_alloc(&a->m->catalog.arena, sizeof(**end));
				**end = *c;
				end = &(*end)->next;
			}
			*end = NULL;
			a->columns[i] = column;
			return true;
		}
	}
	return false;
}

/* DROP CONSTRAINT, DROP CHECK: by the name that was written; which one a server has made is not known. */
static bool drop_constraint(struct altering *a, const struct sql_alter *action)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < a->key_count; i++) {
		const struct sql_key *key = a->keys[i];
		struct span name = key->kind == SQL_KEY_UNIQUE ? key_name(key) : key->constraint;

		if (key->kind != SQL_KEY_CHECK &&
			(action->check_word ||
				(key->kind != SQL_KEY_FOREIGN && key->kind != SQL_KEY_UNIQUE)))
			continue;
		if (!name.ptr || !span_ieq(name, action->name))
			continue;
		if (found != UINT32_MAX)
			return false;
		found = i;
	}
	if (found == UINT32_MAX)
		return drop_column_check(a, action->name);
	take_key(a, found);
	return true;
}

static bool drop_primary(struct altering *a)
{
	for (uint32_t i = 0; i < a->column_count; i++) {
		/* The column stays NOT NULL. */
		if (a->columns[i]->primary)
			return false;
	}
	for (uint32_t i = 0; i < a->key_count; i++) {
		if (a->keys[i]->kind != SQL_KEY_PRIMARY)
			continue;
		for (const struct sql_key_part *p = a->keys[i]->parts; p; p = p->next) {
			uint32_t at = column_at(a, p->column);

			if (at == UINT32_MAX || a->columns[at]->nullable != SQL_NO)
				return false;
		}
		take_key(a, i);
		return true;
	}
	return false;
}

static bool add_key(struct altering *a, struct sql_key *key)
{
	if (key->if_not_exists)
		return false;
	a->keys[a->key_count++] = key;
	return true;
}

static bool add_elements(struct altering *a, const struct sql_alter *action)
{
	for (const struct sql_element *e = action->elements; e; e = e->next) {
		if (e->kind == SQL_ELEMENT_COLUMN ? !add_column(a, action, e->column)
		    : e->kind == SQL_ELEMENT_KEY  ? !add_key(a, e->key)
						  : true)
			return false;
	}
	return true;
}

/* Options that change nothing that is modelled. */
static bool plain_option(const struct sql_option *option)
{
	static const char *const plain[] = {"COMMENT", "ROW_FORMAT", "AUTO_INCREMENT", "KEY_BLOCK_SIZE",
		"STATS_PERSISTENT", "STATS_AUTO_RECALC", "STATS_SAMPLE_PAGES", "AVG_ROW_LENGTH", "MAX_ROWS",
		"MIN_ROWS", "CHECKSUM", "PACK_KEYS"};

	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		if (span_ieq_str(option->name, plain[i]))
			return true;
	}
	return span_ieq_str(option->name, "ENGINE") && span_ieq_str(option->value, "InnoDB");
}

static bool starts_with_one(struct span text, const char *const *heads, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (span_istarts(text, heads[i]))
			return true;
	}
	return false;
}

/* What is only recognised, by its words. */
static bool other_action(struct altering *a, struct span text)
{
	static const char *const nothing[] = {"FORCE", "ALGORITHM", "LOCK", "DISABLE KEYS", "ENABLE KEYS",
		"WITH VALIDATION", "WITHOUT VALIDATION", "ANALYZE PARTITION", "CHECK PARTITION",
		"REBUILD PARTITION", "OPTIMIZE PARTITION", "ADD PARTITION", "COALESCE PARTITION",
		"REORGANIZE PARTITION", "REMOVE PARTITIONING"};
	static const char *const rows[] = {"DROP PARTITION", "TRUNCATE PARTITION", "EXCHANGE PARTITION"};

	if (starts_with_one(text, nothing, ARRAY_LEN(nothing)))
		return true;
	if (!starts_with_one(text, rows, ARRAY_LEN(rows)))
		return false;
	a->drops_rows = true;
	return true;
}

static bool alter_one(struct altering *a, const struct sql_alter *action)
{
	switch (action->kind) {
	case SQL_ALTER_ADD_COLUMN:
		return add_column(a, action, action->column);
	case SQL_ALTER_ADD_COLUMNS:
		return add_elements(a, action);
	case SQL_ALTER_ADD_KEY:
		return !action->if_not_exists && add_key(a, action->key);
	case SQL_ALTER_MODIFY_COLUMN:
		return modify_column(a, action, action->column->name);
	case SQL_ALTER_CHANGE_COLUMN:
		return modify_column(a, action, action->name);
	case SQL_ALTER_COLUMN_DEFAULT:
		return set_default(a, action);
	case SQL_ALTER_DROP_COLUMN:
		return drop_column(a, action);
	case SQL_ALTER_DROP_PRIMARY:
		return drop_primary(a);
	case SQL_ALTER_DROP_KEY:
		return drop_key(a, action, action->name);
	case SQL_ALTER_DROP_FOREIGN:
		return drop_named(a, action, SQL_KEY_FOREIGN);
	case SQL_ALTER_DROP_CONSTRAINT:
		return drop_constraint(a, action);
	case SQL_ALTER_RENAME_COLUMN:
		return rename_action(a, action);
	case SQL_ALTER_INDEX:
	case SQL_ALTER_ORDER:
		return true;
	case SQL_ALTER_OPTION:
		return plain_option(action->option);
	case SQL_ALTER_TEXT:
		return other_action(a, action->text);
	case SQL_ALTER_RENAME_TABLE:
		return true; /* the caller's */
	case SQL_ALTER_ADD_PERIOD:
	case SQL_ALTER_COLUMN_VISIBLE:
	case SQL_ALTER_RENAME_KEY:
	case SQL_ALTER_PARTITION_BY:
		break;
	}
	return false;
}

static uint32_t element_count(const struct sql_element *e)
{
	uint32_t count = 0;

	for (; e; e = e->next)
		count++;
	return count;
}

static void take_old(struct altering *a, const struct sql_create_table *old)
{
	for (const struct sql_element *e = old->elements; e; e = e->next) {
		if (e->kind == SQL_ELEMENT_COLUMN) {
			a->origins[a->column_count] = a->column_count;
			a->columns[a->column_count++] = e->column;
		} else if (e->kind == SQL_ELEMENT_KEY) {
			a->keys[a->key_count++] = e->key;
		}
	}
}

static const struct sql_create_table *new_tree(
	const struct altering *a, const struct sql_create_table *old)
{
	struct sql_create_table *create = arena_alloc(&a->m->catalog.arena, sizeof(*create));
	struct sql_element **end;

	*create = *old;
	end = &create->elements;
	*end = NULL;
	for (uint32_t i = 0; i < a->column_count + a->key_count; i++) {
		struct sql_element *e = arena_zero(&a->m->catalog.arena, sizeof(*e));

		e->kind = i < a->column_count ? SQL_ELEMENT_COLUMN : SQL_ELEMENT_KEY;
		if (i < a->column_count)
			e->column = a->columns[i];
		else
			e->key = a->keys[i - a->column_count];
		*end = e;
		end = &e->next;
	}
	return create;
}

bool alter_definition(struct mvcc *m, const struct sql_create_table *old,
	const struct sql_alter *actions, struct altered *out)
{
	uint32_t room = element_count(old->elements) + 1;
	struct altering a = {.m = m};
	uint32_t counted = 0;

	for (const struct sql_alter *action = actions; action; action = action->next) {
		room += 1 + element_count(action->elements);
		counted += action->kind != SQL_ALTER_TEXT;
	}
	a.alone = counted == 1;
	a.partitioned = old->partition != NULL;
	a.columns = arena_zero(&m->catalog.arena, room * sizeof(void *));
	a.origins = arena_zero(&m->catalog.arena, room * sizeof(*a.origins));
	a.keys = arena_zero(&m->catalog.arena, room * sizeof(void *));
	take_old(&a, old);
	for (const struct sql_alter *action = actions; action; action = action->next) {
		if (!alter_one(&a, action))
			return false;
	}
	*out = (struct altered){new_tree(&a, old), a.origins, a.drops_rows, a.renames};
	return true;
}
