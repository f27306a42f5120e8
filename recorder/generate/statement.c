/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single statements, of every kind and form.  A form that does not fit (no second table, no column of the type) becomes
 * the plain one, so that no statement fails for want of sense.
 */
#include <string.h>

#include "generate/generate_internal.h"

bool is_insert(enum statement_word kind)
{
	return kind == STATEMENT_INSERT || kind == STATEMENT_UPSERT || kind == STATEMENT_REPLACE;
}

/* ---- parts ---- */

/* The WHERE clause: the given condition, or one of its own. */
static const char *where(struct gen *g, const struct wanted *w, const char *prefix)
{
	if (w->condition)
		return where_of(g, w->condition);
	return where_of(g, make_condition(g, w->table, prefix, w->pivot, w->aim || draw_chance(g, FEATURE_HIT)));
}

static const struct column *any_column(struct gen *g, const struct table *t)
{
	return &t->columns[below(g, t->column_count)];
}

/* One that is no key where there is one. */
static const struct column *plain_column(struct gen *g, const struct table *t)
{
	uint32_t first = (uint32_t)below(g, t->column_count);

	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[(first + i) % t->column_count];

		if (!c->key && !c->generated && c->parent == NO_TABLE)
			return c;
	}
	return &t->columns[0];
}

/* A column of numbers beside the key; NULL: none. */
static const struct column *number_column(struct gen *g, const struct table *t)
{
	uint32_t first = (uint32_t)below(g, t->column_count);

	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[(first + i) % t->column_count];

		if (!c->key && !c->generated && c->parent == NO_TABLE && is_number(c) && c->type != OF_FLAG)
			return c;
	}
	return NULL;
}

static const char *key_list(struct gen *g, const struct table *t)
{
	return t->key_count == 2 ? text(g, "%s, %s", t->columns[0].name, t->columns[1].name) : t->columns[0].name;
}

/* Columns of one declaration, as an application would join; false: there are none. */
static bool join_columns(struct gen *g, const struct table *t, const struct table *u, const struct column **a,
	const struct column **b)
{
	uint32_t first = (uint32_t)below(g, t->column_count);

	for (uint32_t i = 0; i < t->column_count; i++) {
		*a = &t->columns[(first + i) % t->column_count];
		for (uint32_t k = 0; k < u->column_count; k++) {
			*b = &u->columns[(first + k) % u->column_count];
			if (!(*a)->generated && strcmp((*a)->declared, (*b)->declared) == 0)
				return true;
		}
	}
	return false;
}

static const char *join_on(struct gen *g, const struct table *t, const struct table *u, const char *x, const char *y)
{
	const struct column *a, *b;

	return join_columns(g, t, u, &a, &b) ? text(g, "%s%s = %s%s", x, a->name, y, b->name) : NULL;
}

/* ---- reads ---- */

static const char *sum_of(struct gen *g, const struct wanted *w)
{
	const struct column *c = number_column(g, w->table);

	if (!c)
		return NULL;
	return text(g, "select %s, count(%s) from %s%s",
		one_of(g, text(g, "sum(%s)", c->name), text(g, "coalesce(sum(%s), 0)", c->name),
			text(g, "max(%s) - min(%s)", c->name, c->name)),
		c->name, w->table->name, where(g, w, ""));
}

/* Forms with a second table. */
static const char *read_of_two(struct gen *g, enum read_word form, const struct wanted *w)
{
	const struct table *t = w->table, *u = any_table(g);
	const struct column *c = any_column(g, t), *d = any_column(g, u), *a, *b;
	const char *on = join_on(g, t, u, "x.", "y.");

	if (!on || w->plain || w->condition)
		return NULL;
	switch (form) {
	case READ_JOIN:
	case READ_LEFT_JOIN:
		return text(g, "select x.%s, y.%s from %s x %s %s y on %s%s", c->name, u->columns[0].name, t->name,
			form == READ_JOIN ? "join" : "left join", u->name, on, where(g, w, "x."));
	case READ_EXISTS:
		return text(g, "select * from %s x where %s (select 1 from %s y where %s)", t->name,
			one_of(g, "exists", "not exists"), u->name, on);
	case READ_IN:
		if (!join_columns(g, t, u, &a, &b))
			return NULL;
		return text(g, "select * from %s where %s in (select %s from %s%s)", t->name, a->name, b->name, u->name,
			where_of(g, make_condition(g, u, "", any_row(g, u), false)));
	case READ_SCALAR:
		return text(g, "select %s, (select %s from %s y) n from %s%s", t->columns[0].name,
			one_of(g, "count(*)", text(g, "max(y.%s)", u->columns[0].name),
				text(g, "min(y.%s)", d->name)),
			u->name, t->name, where(g, w, ""));
	case READ_UNION:
		if (!join_columns(g, t, u, &a, &b))
			return NULL;
		return text(g, "select %s from %s%s union%s select %s from %s", a->name, t->name, where(g, w, ""),
			one_of(g, "", " all"), b->name, u->name);
	case READ_DERIVED:
		if (!join_columns(g, t, u, &a, &b))
			return NULL;
		if (g->dialect->with && below(g, 2))
			return text(g, "with c as (select %s, count(*) n from %s group by %s) select x.%s, c.n from %s x "
				       "join c on c.%s = x.%s",
				b->name, u->name, b->name, t->columns[0].name, t->name, b->name, a->name);
		return text(g, "select x.%s, y.n from %s x join (select %s, count(*) n from %s group by %s) y on y.%s = x.%s",
			t->columns[0].name, t->name, b->name, u->name, b->name, b->name, a->name);
	case READ_ROWS:
	case READ_SOME:
	case READ_COUNT:
	case READ_SUM:
	case READ_GROUP:
	case READ_DISTINCT:
	case READ_ORDER:
	case READ_LIMIT:
	case READ_EXPRESSION:
	case READ_LAST_ID:
	case READ_WORD_COUNT:
		break;
	}
	return NULL;
}

static const char *expression(struct gen *g, const struct wanted *w)
{
	const struct table *t = w->table;
	const struct column *c = plain_column(g, t), *n = number_column(g, t);

	if (!n)
		return text(g, "select %s, %s is null, coalesce(%s, %s) from %s%s", t->columns[0].name, c->name, c->name,
			value_literal(g, c, any_value(g, c)), t->name, where(g, w, ""));
	return text(g, "select %s, %s from %s%s", t->columns[0].name,
		one_of(g, text(g, "case when %s > 4 then 'big' else 'small' end", n->name),
			text(g, "ifnull(%s, 0) + 1", n->name), text(g, "if(%s is null, -1, %s * 2)", n->name, n->name),
			text(g, "concat('n', %s)", c->name)),
		t->name, where(g, w, ""));
}

static const char *make_select(struct gen *g, const struct wanted *w)
{
	const struct table *t = w->table;
	const struct column *c = any_column(g, t);
	enum read_word form = (enum read_word)draw_word(g, FEATURE_READ);
	const char *out = read_of_two(g, form, w);

	if (out)
		return out;
	switch (form) {
	case READ_SOME:
		return text(g, "select %s, %s from %s%s", key_list(g, t), plain_column(g, t)->name, t->name, where(g, w, ""));
	case READ_COUNT:
		return text(g, "select count(*), max(%s), min(%s) from %s%s", c->name, t->columns[0].name, t->name,
			where(g, w, ""));
	case READ_SUM:
		out = sum_of(g, w);
		break;
	case READ_GROUP:
		return text(g, "select %s, count(*) from %s%s group by %s", c->name, t->name, where(g, w, ""), c->name);
	case READ_DISTINCT:
		return text(g, "select distinct %s from %s%s", c->name, t->name, where(g, w, ""));
	case READ_ORDER:
		return text(g, "select * from %s%s order by %s", t->name, where(g, w, ""), key_list(g, t));
	case READ_LIMIT:
		return text(g, "select * from %s%s%s limit %llu", t->name, where(g, w, ""),
			below(g, 4) ? text(g, " order by %s", key_list(g, t)) : "", (unsigned long long)below(g, 3) + 1);
	case READ_EXPRESSION:
		return expression(g, w);
	case READ_LAST_ID:
		return "select last_insert_id()";
	case READ_ROWS:
	case READ_JOIN:
	case READ_LEFT_JOIN:
	case READ_EXISTS:
	case READ_IN:
	case READ_SCALAR:
	case READ_UNION:
	case READ_DERIVED:
	case READ_WORD_COUNT:
		break;
	}
	return out ? out : text(g, "select * from %s%s", t->name, where(g, w, ""));
}

static const char *lock_tail(struct gen *g)
{
	enum lock_word how = (enum lock_word)draw_word(g, FEATURE_LOCK);

	switch (how) {
	case LOCK_SHARE:
		return g->dialect->for_share && below(g, 2) ? "for share" : "lock in share mode";
	case LOCK_NOWAIT:
		return g->dialect->nowait ? "for update nowait" : "for update";
	case LOCK_SKIP:
		return g->dialect->skip_locked ? "for update skip locked" : "for update";
	case LOCK_UPDATE:
	case LOCK_WORD_COUNT:
		break;
	}
	return "for update";
}

static const char *make_lock(struct gen *g, const struct wanted *w)
{
	const struct table *t = w->table, *u = other_table(g, t);
	const char *tail = lock_tail(g), *on = u == t || w->plain || w->condition ? NULL : join_on(g, t, u, "x.", "y.");

	if (on && below(g, 8) == 0)
		return text(g, "select x.%s, y.%s from %s x join %s y on %s%s %s", t->columns[0].name, u->columns[0].name,
			t->name, u->name, on, where(g, w, "x."), tail);
	switch (below(g, 12)) {
	case 0:
		return text(g, "select count(*) from %s%s %s", t->name, where(g, w, ""), tail);
	case 1:
		return text(g, "select * from %s%s order by %s limit 1 %s", t->name, where(g, w, ""), key_list(g, t), tail);
	case 2:
		return text(g, "select * from %s%s limit 2 %s", t->name, where(g, w, ""), tail);
	case 3:
		return text(g, "select %s, %s from %s%s %s", t->columns[0].name, plain_column(g, t)->name, t->name,
			where(g, w, ""), tail);
	default:
		return text(g, "select * from %s%s %s", t->name, where(g, w, ""), tail);
	}
}

/* ---- writes ---- */

/* A new value for a key column: one that is free, or the old one and a number. */
static const char *new_key(struct gen *g, const char *prefix, const struct column *c)
{
	if (is_number(c) && below(g, 5) < 2)
		return text(g, "%s%s = %s%s + %s", prefix, c->name, prefix, c->name, one_of(g, "1", "7", "20"));
	return text(g, "%s%s = %s", prefix, c->name,
		value_literal(g, c, below(g, 10) < 7 ? g->domain + below(g, g->domain) : any_value(g, c)));
}

static const char *changed_by_function(struct gen *g, const char *prefix, const struct column *c)
{
	const char *n = text(g, "%s%s", prefix, c->name);

	switch (c->type) {
	case OF_INT:
	case OF_BIG:
	case OF_DEC:
	case OF_FLOAT:
		return text(g, "%s = %s", n, one_of(g, text(g, "ifnull(%s, 0) + 1", n), text(g, "coalesce(%s, 2)", n),
			text(g, "if(%s is null, 1, %s)", n, n)));
	case OF_TEXT:
	case OF_CHAR:
		return text(g, "%s = %s", n, one_of(g, text(g, "upper(%s)", n), text(g, "left(concat(%s, 'x'), 5)", n),
			text(g, "trim(%s)", n)));
	case OF_DATE:
	case OF_TIME:
		return text(g, "%s = %s + interval 1 day", n, n);
	case OF_STATE:
	case OF_FLAG:
	case TYPE_WORD_COUNT:
		break;
	}
	return NULL;
}

/* A foreign key's column; NULL: the table has none. */
static const struct column *parent_column(const struct table *t)
{
	for (uint32_t i = 0; i < t->column_count; i++)
		if (t->columns[i].parent != NO_TABLE)
			return &t->columns[i];
	return NULL;
}

static const char *assign_parent(struct gen *g, const struct table *t, const char *prefix)
{
	const struct column *c = parent_column(t);
	const struct row *parent;

	/* Of a pair both columns would have to fit. */
	if (!c || g->tables[c->parent].key_count > 1)
		return NULL;
	parent = any_row(g, &g->tables[c->parent]);
	return text(g, "%s%s = %s", prefix, c->name,
		below(g, 6) == 0 || !parent ? "NULL" : value_literal(g, c, parent->values[c->parent_column]));
}

static const char *assign_subquery(struct gen *g, const struct table *t, const char *prefix, const struct column *c)
{
	const struct table *u = other_table(g, t);
	const struct column *d = NULL;

	for (uint32_t i = 0; u != t && i < u->column_count && !d; i++)
		d = strcmp(u->columns[i].declared, c->declared) == 0 ? &u->columns[i] : NULL;
	/* It is NULL where the other table is empty. */
	return d && c->null ? text(g, "%s%s = (select %s(%s) from %s)", prefix, c->name, one_of(g, "max", "min"), d->name, u->name)
			    : NULL;
}

const char *make_assignment(struct gen *g, const struct table *t, const char *prefix, const struct row *pivot, bool plain)
{
	const struct column *c = plain_column(g, t), *n;
	const char *out = NULL;

	(void)pivot;
	switch ((enum assign_word)draw_word(g, FEATURE_ASSIGN)) {
	case ASSIGN_VALUE:
	case ASSIGN_WORD_COUNT:
		break;
	case ASSIGN_ADD:
		n = number_column(g, t);
		out = n ? text(g, "%s%s = %s%s + 1", prefix, n->name, prefix, n->name) : NULL;
		break;
	case ASSIGN_COLUMN:
		for (uint32_t i = 0; i < t->column_count && !out; i++) {
			const struct column *d = &t->columns[i];

			if (d != c && strcmp(d->declared, c->declared) == 0 && (c->null || !d->null))
				out = text(g, "%s%s = %s%s", prefix, c->name, prefix, d->name);
		}
		break;
	case ASSIGN_NOTHING:
		out = text(g, "%s%s = %s%s", prefix, c->name, prefix, c->name);
		break;
	case ASSIGN_KEY:
		out = new_key(g, prefix, &t->columns[below(g, t->key_count)]);
		break;
	case ASSIGN_NULL:
		out = c->null ? text(g, "%s%s = NULL", prefix, c->name) : NULL;
		break;
	case ASSIGN_FUNCTION:
		out = changed_by_function(g, prefix, c);
		break;
	case ASSIGN_SUBQUERY:
		out = plain ? NULL : assign_subquery(g, t, prefix, c);
		break;
	case ASSIGN_PARENT:
		out = assign_parent(g, t, prefix);
		break;
	}
	if (!out && c->key)
		out = new_key(g, prefix, c);
	return out ? out : text(g, "%s%s = %s", prefix, c->name, value_literal(g, c, any_value_or_null(g, c)));
}

/* "a = 1, b = b + 1": each column once. */
static const char *assignments(struct gen *g, const struct table *t, const char *prefix, const struct wanted *w)
{
	uint64_t count = draw_number(g, FEATURE_ASSIGNMENTS);
	const char *all = make_assignment(g, t, prefix, w->pivot, w->plain);

	for (uint64_t i = 1; i < count; i++) {
		const char *next = make_assignment(g, t, prefix, w->pivot, w->plain);
		size_t name = strcspn(next, "=");

		if (!memmem(all, strlen(all), next, name + 1))
			all = text(g, "%s, %s", all, next);
	}
	return all;
}

/* " order by k1 limit 1", " limit 2", or nothing. */
static const char *cut(struct gen *g, enum change_word form, const struct table *t)
{
	unsigned long long rows = below(g, 2) + 1;

	if (form == CHANGE_ORDER)
		return text(g, " order by %s limit %llu", key_list(g, t), rows);
	return form == CHANGE_LIMIT ? text(g, " limit %llu", rows) : "";
}

static const char *partition_part(struct gen *g, enum change_word form, const struct table *t)
{
	return form == CHANGE_PARTITION && *t->partition ? one_of(g, " partition (p0)", " partition (p0, p1)") : "";
}

static const char *make_update(struct gen *g, const struct wanted *w)
{
	const struct table *t = w->table, *u = other_table(g, t);
	enum change_word form = (enum change_word)draw_word(g, FEATURE_CHANGE);
	const struct column *a, *b;
	const char *on = NULL;

	if (u != t && !w->plain && !w->condition) {
		on = join_on(g, t, u, "x.", "y.");
		if (form == CHANGE_JOIN && on)
			return text(g, "update %s x %s %s y on %s set %s%s", t->name, one_of(g, "join", "join", "left join"),
				u->name, on, assignments(g, t, "x.", w), where(g, w, "x."));
		if (form == CHANGE_IN && join_columns(g, t, u, &a, &b))
			return text(g, "update %s set %s where %s in (select %s from %s%s)", t->name, assignments(g, t, "", w),
				a->name, b->name, u->name, where_of(g, make_condition(g, u, "", any_row(g, u), false)));
		if (form == CHANGE_EXISTS && on)
			return text(g, "update %s x set %s where %s (select 1 from %s y where %s)", t->name,
				assignments(g, t, "x.", w), one_of(g, "exists", "not exists"), u->name, on);
	}
	return text(g, "update %s%s%s set %s%s%s", form == CHANGE_IGNORE ? "ignore " : "", t->name,
		partition_part(g, form, t), assignments(g, t, "", w), where(g, w, ""), cut(g, form, t));
}

static const char *make_delete(struct gen *g, const struct wanted *w)
{
	const struct table *t = w->table, *u = other_table(g, t);
	enum change_word form = (enum change_word)draw_word(g, FEATURE_CHANGE);
	const struct column *a, *b;
	const char *on = NULL;

	if (u != t && !w->plain && !w->condition) {
		on = join_on(g, t, u, "x.", "y.");
		if (form == CHANGE_JOIN && on)
			return text(g, "delete x from %s x %s %s y on %s%s", t->name, one_of(g, "join", "join", "left join"),
				u->name, on, where(g, w, "x."));
		if (form == CHANGE_IN && join_columns(g, t, u, &a, &b))
			return text(g, "delete from %s where %s in (select %s from %s%s)", t->name, a->name, b->name, u->name,
				where_of(g, make_condition(g, u, "", any_row(g, u), false)));
		on = join_on(g, t, u, text(g, "%s.", t->name), "y.");
		if (form == CHANGE_EXISTS && on)
			return text(g, "delete from %s where %s (select 1 from %s y where %s)", t->name,
				one_of(g, "exists", "not exists"), u->name, on);
	}
	return text(g, "delete %sfrom %s%s%s%s%s", form == CHANGE_IGNORE ? "ignore " : "", t->name,
		partition_part(g, form, t), where(g, w, ""), cut(g, form, t),
		form == CHANGE_RETURNING && g->dialect->returning ? " returning *" : "");
}

/* Rows of an INSERT; of an AUTO_INCREMENT key mostly NULL. */
static const char *inserted_rows(struct gen *g, const struct wanted *w, uint64_t count)
{
	struct table *t = w->table;
	const char *all = w->insert_pivot ? row_literal(g, t, w->pivot) : NULL;

	for (uint64_t i = all != NULL; i < count; i++) {
		struct row *row = make_row(g, t, draw_chance(g, FEATURE_DUPLICATE));
		uint64_t number = row->values[0];
		const char *one;

		if (t->key == KEY_AUTO && below(g, 10) < 6)
			row->values[0] = VALUE_NULL;
		one = row_literal(g, t, row);
		row->values[0] = number;
		all = all ? text(g, "%s, %s", all, one) : one;
	}
	return all;
}

/* The key and one column, the others by their DEFAULT. */
static const char *insert_of_columns(struct gen *g, const struct wanted *w, const char *how)
{
	struct table *t = w->table;
	struct row *row = make_row(g, t, draw_chance(g, FEATURE_DUPLICATE));
	struct buf names = BUF_INIT, values = BUF_INIT;
	const struct column *chosen = plain_column(g, t);
	const char *out;

	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];
		const char *literal = value_literal(g, c, w->insert_pivot ? w->pivot->values[i] : row->values[i]);

		/* What has no DEFAULT must be given. */
		if (c->generated || (c != chosen && !c->key && (c->null || c->preset)))
			continue;
		buf_printf(&names, "%s%s", names.len ? "," : "", c->name);
		buf_printf(&values, "%s%s", values.len ? "," : "", literal);
	}
	out = text(g, "insert %sinto %s(%s) values (%s)", how, t->name, names.data, values.data);
	buf_release(&names);
	buf_release(&values);
	return out;
}

static const char *make_insert(struct gen *g, const struct wanted *w)
{
	const struct table *t = w->table;
	enum insert_word form = (enum insert_word)draw_word(g, FEATURE_INSERT);
	uint64_t count = draw_number(g, FEATURE_INSERT_ROWS);

	if (form == INSERT_COLUMNS)
		return insert_of_columns(g, w, "");
	return text(g, "insert %sinto %s(%s) values %s%s", form == INSERT_IGNORE ? "ignore " : "", t->name,
		column_list(g, t, false), inserted_rows(g, w, count),
		form == INSERT_RETURNING && g->dialect->returning ? " returning *" : "");
}

static const char *make_upsert(struct gen *g, const struct wanted *w)
{
	const struct table *t = w->table;
	const struct column *c = plain_column(g, t);
	const char *set = below(g, 3) || c->key ? make_assignment(g, t, "", w->pivot, true)
						: text(g, "%s = values(%s)", c->name, c->name);

	return text(g, "insert into %s(%s) values %s on duplicate key update %s", t->name, column_list(g, t, false),
		inserted_rows(g, w, draw_number(g, FEATURE_INSERT_ROWS)), set);
}

/* INSERT ... SELECT: under other keys. */
static const char *make_copy(struct gen *g, const struct wanted *w)
{
	struct table *t = w->table;
	struct buf list = BUF_INIT;
	const char *out;

	if (t->key_count != 1 || (t->columns[0].type != OF_INT && t->columns[0].type != OF_BIG))
		return make_insert(g, w);
	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];

		if (c->generated)
			continue;
		if (i == 0)
			buf_printf(&list, "%s", t->key == KEY_AUTO && below(g, 2) ? "NULL" : text(g, "%s + %s", c->name,
				one_of(g, "7", "14", "20", "1")));
		else
			buf_printf(&list, ",%s", below(g, 10) < 7 || c->parent != NO_TABLE
							 ? c->name
							 : value_literal(g, c, any_value_or_null(g, c)));
	}
	out = text(g, "%s into %s(%s) select %s from %s%s", one_of(g, "insert", "insert", "insert ignore", "replace"), t->name,
		column_list(g, t, false), list.data, t->name, where(g, w, ""));
	buf_release(&list);
	return out;
}

const char *make_statement(struct gen *g, enum statement_word kind, const struct wanted *w)
{
	switch (kind) {
	case STATEMENT_SELECT:
	case STATEMENT_WORD_COUNT:
		break;
	case STATEMENT_LOCK:
		return make_lock(g, w);
	case STATEMENT_UPDATE:
		return make_update(g, w);
	case STATEMENT_DELETE:
		return make_delete(g, w);
	case STATEMENT_INSERT:
		return make_insert(g, w);
	case STATEMENT_UPSERT:
		return make_upsert(g, w);
	case STATEMENT_REPLACE:
		return text(g, "replace into %s(%s) values %s", w->table->name, column_list(g, w->table, false),
			inserted_rows(g, w, draw_number(g, FEATURE_INSERT_ROWS)));
	case STATEMENT_COPY:
		return make_copy(g, w);
	}
	return make_select(g, w);
}
