/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reduce/edits.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct listing {
	struct script *script;
	struct edits *out;
	uint32_t stmt;
};

/* The parser's trees are const to those who only read them; these are the script's own. */
#define OWN(type, node) ((type *)(uintptr_t)(node))

static struct edit *add(struct listing *l, enum edit_level level, enum edit_way way, uint8_t doubt, void *a)
{
	struct edits *out = l->out;

	MEM_RESERVE(out->items, out->count + 1, out->capacity);
	out->items[out->count] = (struct edit){.level = level, .way = way, .doubt = doubt, .stmt = l->stmt, .a = a};
	return &out->items[out->count++];
}

/* A pointer that may go, where there is one. */
#define FORGET(l, level, doubt, member)                                                                                \
	do {                                                                                                           \
		if (member)                                                                                            \
			add(l, level, EDIT_FORGET, doubt, &(member));                                                  \
	} while (0)

#define UNLINK_EACH(l, level, doubt, type, head, length)                                                               \
	do {                                                                                                           \
		for (type *node = (head); node && (head)->next; node = node->next) {                                   \
			struct edit *made = add(l, level, EDIT_UNLINK, doubt, &(head));                                  \
			made->b = node;                                                                                \
			made->next_at = offsetof(type, next);                                                          \
			made->count = length;                                                                          \
		}                                                                                                      \
	} while (0)

/* ---- expressions and queries ---- */

static void take_expr(struct listing *l, struct sql_expr *e, struct sql_expr *part)
{
	if (part)
		add(l, EDIT_EXPRESSION, EDIT_TAKE_EXPR, 0, e)->b = part;
}

static bool list_expr(void *ctx, const struct sql_expr *given)
{
	struct listing *l = ctx;
	struct sql_expr *e = OWN(struct sql_expr, given);

	switch ((enum sql_expr_kind)e->kind) {
	case SQL_EXPR_BINARY:
		if (sql_expr_compares(e) || e->op == SQL_OP_REGEXP || e->op == SQL_OP_SOUNDS_LIKE || e->op == SQL_OP_MEMBER_OF)
			break;
		take_expr(l, e, e->u.binary.left);
		take_expr(l, e, e->u.binary.right);
		break;
	case SQL_EXPR_UNARY:
		if (e->op == SQL_OP_NOT || e->op == SQL_OP_BANG)
			take_expr(l, e, e->u.binary.left);
		break;
	case SQL_EXPR_IN:
		UNLINK_EACH(l, EDIT_EXPRESSION, 0, struct sql_expr, e->u.in.list.first, &e->u.in.list.count);
		break;
	case SQL_EXPR_CASE:
		take_expr(l, e, e->u.kase.whens ? e->u.kase.whens->then : NULL);
		take_expr(l, e, e->u.kase.otherwise);
		break;
	case SQL_EXPR_CALL:
		take_expr(l, e, e->u.call.args.first);
		break;
	case SQL_EXPR_CAST:
	case SQL_EXPR_CONVERT_USING:
	case SQL_EXPR_COLLATE:
		take_expr(l, e, e->u.cast.left);
		break;
	case SQL_EXPR_INTERVAL:
	case SQL_EXPR_DATE_FUNC:
		take_expr(l, e, e->u.interval.date);
		break;
	default: /* nothing inside could stand for it */
		break;
	}
	return true;
}

static bool list_query(void *ctx, const struct sql_query *given)
{
	struct listing *l = ctx;
	struct sql_query *q = OWN(struct sql_query, given);

	FORGET(l, EDIT_CLAUSE, 1, q->with);
	FORGET(l, EDIT_CLAUSE, 1, q->limit);
	FORGET(l, EDIT_CLAUSE, 1, q->order);
	FORGET(l, EDIT_CLAUSE, 0, q->locks);
	if (q->kind == SQL_QUERY_SET_OP) {
		add(l, EDIT_CLAUSE, EDIT_TAKE_QUERY, 0, q)->b = q->u.set.left;
		add(l, EDIT_CLAUSE, EDIT_TAKE_QUERY, 0, q)->b = q->u.set.right;
	}
	if (q->kind != SQL_QUERY_SELECT)
		return true;
	if (q->u.select.flags)
		add(l, EDIT_CLAUSE, EDIT_CLEAR_BITS, 1, &q->u.select.flags)->bits = UINT32_MAX;
	if (q->u.select.hint.ptr)
		add(l, EDIT_CLAUSE, EDIT_CLEAR_SPAN, 1, &q->u.select.hint);
	FORGET(l, EDIT_CLAUSE, 1, q->u.select.having);
	FORGET(l, EDIT_CLAUSE, 1, q->u.select.group);
	FORGET(l, EDIT_CLAUSE, 1, q->u.select.windows);
	FORGET(l, EDIT_CLAUSE, 0, q->u.select.where);
	UNLINK_EACH(l, EDIT_CLAUSE, 0, struct sql_item, q->u.select.items, NULL);
	return true;
}

static bool list_table(void *ctx, const struct sql_table_ref *given)
{
	struct listing *l = ctx;
	struct sql_table_ref *ref = OWN(struct sql_table_ref, given);

	if (ref->kind == SQL_TABLE_JOIN) {
		add(l, EDIT_CLAUSE, EDIT_TAKE_TABLE, 0, ref)->b = ref->u.join.left;
		add(l, EDIT_CLAUSE, EDIT_TAKE_TABLE, 0, ref)->b = ref->u.join.right;
	} else if (ref->kind == SQL_TABLE_NAME) {
		FORGET(l, EDIT_CLAUSE, 1, ref->u.name.hints);
		FORGET(l, EDIT_CLAUSE, 1, ref->u.name.partitions);
	}
	return true;
}

/* ---- definitions ---- */

static void list_column_def(struct listing *l, struct sql_column_def *c)
{
	if (c->nullable)
		add(l, EDIT_DEFINITION, EDIT_CLEAR_INT, 2, &c->nullable);
	FORGET(l, EDIT_DEFINITION, 2, c->dflt);
	FORGET(l, EDIT_DEFINITION, 2, c->on_update);
	FORGET(l, EDIT_DEFINITION, 0, c->generated);
	FORGET(l, EDIT_DEFINITION, 2, c->checks);
	FORGET(l, EDIT_DEFINITION, 0, c->reference);
	FORGET(l, EDIT_DEFINITION, 2, c->options);
	if (c->auto_increment)
		add(l, EDIT_DEFINITION, EDIT_CLEAR_BOOL, 2, &c->auto_increment);
	if (c->unique)
		add(l, EDIT_DEFINITION, EDIT_CLEAR_BOOL, 0, &c->unique);
	if (c->primary)
		add(l, EDIT_DEFINITION, EDIT_CLEAR_BOOL, 0, &c->primary);
	if (c->key)
		add(l, EDIT_DEFINITION, EDIT_CLEAR_BOOL, 0, &c->key);
	if (c->visible)
		add(l, EDIT_DEFINITION, EDIT_CLEAR_INT, 2, &c->visible);
	if (c->comment.ptr)
		add(l, EDIT_DEFINITION, EDIT_CLEAR_SPAN, 2, &c->comment);
	if (c->type.charset.ptr)
		add(l, EDIT_DEFINITION, EDIT_CLEAR_SPAN, 2, &c->type.charset);
	if (c->type.collate.ptr)
		add(l, EDIT_DEFINITION, EDIT_CLEAR_SPAN, 2, &c->type.collate);
	if (c->has_type && (c->type.kind != SQL_TYPE_INT || c->type.is_unsigned || c->type.length.ptr) &&
		c->type.kind <= SQL_TYPE_DOUBLE)
		add(l, EDIT_DEFINITION, EDIT_INT_TYPE, 2, &c->type);
}

static void list_create_table(struct listing *l, struct sql_create_table *ct)
{
	FORGET(l, EDIT_DEFINITION, 2, ct->options);
	FORGET(l, EDIT_DEFINITION, 0, ct->partition);
	for (struct sql_element *el = ct->elements; el; el = el->next) {
		if (el->column) {
			struct edit *e = add(l, EDIT_COLUMN, EDIT_DROP_COLUMN, 1, NULL);

			e->table = ct->table.name;
			e->column = el->column->name;
			list_column_def(l, el->column);
		} else if (ct->elements->next) {
			struct edit *e = add(l, EDIT_DEFINITION, EDIT_UNLINK, 0, &ct->elements);

			e->b = el;
			e->next_at = offsetof(struct sql_element, next);
		}
		if (el->key && el->key->parts)
			UNLINK_EACH(l, EDIT_DEFINITION, 0, struct sql_key_part, el->key->parts, NULL);
	}
}

/* ---- statements ---- */

static void list_insert(struct listing *l, struct sql_insert *in)
{
	if (in->flags)
		add(l, EDIT_CLAUSE, EDIT_CLEAR_BITS, 0, &in->flags)->bits = UINT32_MAX;
	FORGET(l, EDIT_CLAUSE, 0, in->on_duplicate);
	FORGET(l, EDIT_CLAUSE, 1, in->returning);
	/* Those of the setup are units of their own (reduce/parts.h). */
	if (!script_in_setup(l->script, l->stmt))
		UNLINK_EACH(l, EDIT_CLAUSE, 0, struct sql_values_row, in->rows, NULL);
}

static void list_update(struct listing *l, struct sql_update *u)
{
	if (u->flags)
		add(l, EDIT_CLAUSE, EDIT_CLEAR_BITS, 0, &u->flags)->bits = UINT32_MAX;
	FORGET(l, EDIT_CLAUSE, 1, u->with);
	FORGET(l, EDIT_CLAUSE, 1, u->order);
	FORGET(l, EDIT_CLAUSE, 1, u->limit);
	FORGET(l, EDIT_CLAUSE, 0, u->where);
	UNLINK_EACH(l, EDIT_CLAUSE, 0, struct sql_assign, u->set, NULL);
}

static void list_delete(struct listing *l, struct sql_delete *d)
{
	if (d->flags)
		add(l, EDIT_CLAUSE, EDIT_CLEAR_BITS, 0, &d->flags)->bits = UINT32_MAX;
	FORGET(l, EDIT_CLAUSE, 1, d->with);
	FORGET(l, EDIT_CLAUSE, 1, d->order);
	FORGET(l, EDIT_CLAUSE, 1, d->limit);
	FORGET(l, EDIT_CLAUSE, 1, d->returning);
	FORGET(l, EDIT_CLAUSE, 0, d->where);
}

static void list_begin(struct listing *l, struct sql_txn *txn)
{
	if (txn->snapshot)
		add(l, EDIT_CLAUSE, EDIT_CLEAR_BOOL, 0, &txn->snapshot);
	if (txn->access)
		add(l, EDIT_CLAUSE, EDIT_CLEAR_INT, 1, &txn->access);
}

static void list_stmt(struct listing *l, struct sql_stmt *tree)
{
	struct sql_visitor visitor = {.expr = list_expr, .query = list_query, .table_ref = list_table, .ctx = l};

	switch (tree->kind) {
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		list_insert(l, tree->u.insert);
		break;
	case SQL_STMT_UPDATE:
		list_update(l, tree->u.update);
		break;
	case SQL_STMT_DELETE:
		list_delete(l, tree->u.del);
		break;
	case SQL_STMT_CREATE_TABLE:
		list_create_table(l, tree->u.create_table);
		return;
	case SQL_STMT_BEGIN:
		list_begin(l, tree->u.txn);
		break;
	case SQL_STMT_SELECT:
	case SQL_STMT_DO:
		break;
	default: /* its tree is not what is printed, or there is nothing in it */
		return;
	}
	sql_walk_stmt(tree, &visitor);
}

void edits_list(struct script *script, struct edits *out)
{
	struct listing l = {.script = script, .out = out};

	*out = (struct edits){.count = 0};
	for (size_t i = 0; i < script->count; i++) {
		l.stmt = (uint32_t)i;
		if (script->stmts[i].tree)
			list_stmt(&l, script->stmts[i].tree);
	}
}

void edits_release(struct edits *edits)
{
	mem_free(edits->items);
}

/* ---- columns ---- */

static void *next_of(const void *node, size_t next_at)
{
	void *next;

	memcpy(&next, (const char *)node + next_at, sizeof(next));
	return next;
}

/* Takes a node out of a list that has others; false: it is not in it, or alone. */
static bool unlink_node(void *head, const void *node, size_t next_at, uint32_t *count)
{
	char *at = head;
	void *first, *next;

	memcpy(&first, head, sizeof(first));
	if (!first || !next_of(first, next_at))
		return false;
	for (void *here = first; here; here = next_of(here, next_at)) {
		if (here == node) {
			next = next_of(here, next_at);
			memcpy(at, &next, sizeof(next));
			if (count)
				--*count;
			return true;
		}
		at = (char *)here + next_at;
	}
	return false;
}

struct column {
	struct span table, name;
	size_t place; /* in the table's definition, from 0 */
	bool found, used;
};

static bool is_column(const struct sql_expr *e, const struct column *c)
{
	return e->kind == SQL_EXPR_COLUMN && span_ieq(e->u.column.name, c->name);
}

static void drop_from_keys(struct sql_create_table *ct, const struct column *c)
{
	for (struct sql_element *el = ct->elements, *next; el; el = next) {
		next = el->next;
		if (!el->key)
			continue;
		for (struct sql_key_part *part = el->key->parts, *after; part; part = after) {
			after = part->next;
			if (!span_ieq(part->column, c->name))
				continue;
			if (!unlink_node(&el->key->parts, part, offsetof(struct sql_key_part, next), NULL))
				(void)unlink_node(&ct->elements, el, offsetof(struct sql_element, next), NULL);
		}
	}
}

/* Of CREATE TABLE; false: it is the only one. */
static bool drop_from_table(struct sql_create_table *ct, struct column *c)
{
	size_t place = 0, columns = 0;
	struct sql_element *found = NULL;

	for (struct sql_element *el = ct->elements; el; el = el->next) {
		if (!el->column)
			continue;
		columns++;
		if (!found && span_ieq(el->column->name, c->name)) {
			found = el;
			c->place = place;
		}
		place++;
	}
	c->found = found != NULL;
	if (!found || columns < 2)
		return false;
	drop_from_keys(ct, c);
	return unlink_node(&ct->elements, found, offsetof(struct sql_element, next), NULL);
}

static bool drop_value(struct sql_exprs *list, size_t place)
{
	struct sql_expr *e = list->first;

	for (size_t i = 0; e && i < place; i++)
		e = e->next;
	return e && unlink_node(&list->first, e, offsetof(struct sql_expr, next), &list->count);
}

static bool drop_assigns(struct sql_assign **set, const struct column *c)
{
	for (struct sql_assign *a = *set, *next; a; a = next) {
		next = a->next;
		if (is_column(a->target, c) && !unlink_node(set, a, offsetof(struct sql_assign, next), NULL))
			return false;
	}
	return true;
}

static bool drop_from_insert(struct sql_insert *in, const struct column *c)
{
	size_t place = c->place;

	if (in->has_columns) {
		const struct sql_expr *e = in->columns.first;

		for (place = 0; e && !is_column(e, c); e = e->next)
			place++;
		if (!e)
			return true;
		if (!drop_value(&in->columns, place))
			return false;
	}
	if (in->query)
		return false;
	for (struct sql_values_row *row = in->rows; row; row = row->next)
		if (!drop_value(&row->values, place))
			return false;
	return !in->set || drop_assigns(&in->set, c);
}

static bool drop_items(void *ctx, const struct sql_query *given)
{
	struct sql_query *q = OWN(struct sql_query, given);

	if (q->kind != SQL_QUERY_SELECT)
		return true;
	for (struct sql_item *item = q->u.select.items, *next; item; item = next) {
		next = item->next;
		if (is_column(item->expr, ctx))
			(void)unlink_node(&q->u.select.items, item, offsetof(struct sql_item, next), NULL);
	}
	return true;
}

static bool note_use(void *ctx, const struct sql_expr *e)
{
	struct column *c = ctx;

	c->used |= is_column(e, c);
	return true;
}

/* Of a statement that names the table; false: it is in use there. */
static bool drop_from_stmt(struct sql_stmt *tree, struct column *c)
{
	struct sql_visitor items = {.query = drop_items, .ctx = c}, uses = {.expr = note_use, .ctx = c};

	if ((tree->kind == SQL_STMT_INSERT || tree->kind == SQL_STMT_REPLACE) &&
		span_ieq(tree->u.insert->table.name, c->table) && !drop_from_insert(tree->u.insert, c))
		return false;
	if (tree->kind == SQL_STMT_UPDATE && !drop_assigns(&tree->u.update->set, c))
		return false;
	if (tree->kind == SQL_STMT_CREATE_INDEX)
		for (const struct sql_key_part *part = tree->u.index->key.parts; part; part = part->next)
			if (span_ieq(part->column, c->name))
				return false;
	if (tree->kind == SQL_STMT_ALTER_TABLE || tree->kind == SQL_STMT_CREATE_VIEW)
		return false;
	sql_walk_stmt(tree, &items);
	sql_walk_stmt(tree, &uses);
	return !c->used;
}

static bool drop_column(struct script *script, struct span table, struct span name)
{
	struct column c = {.table = table, .name = name};

	for (size_t i = 0; i < script->count; i++) {
		struct script_stmt *stmt = &script->stmts[i];

		if (!stmt->tree || stmt->tree->kind != SQL_STMT_CREATE_TABLE ||
			!span_ieq(stmt->tree->u.create_table->table.name, table))
			continue;
		stmt->changed = true;
		if (!drop_from_table(stmt->tree->u.create_table, &c))
			return false;
	}
	for (size_t i = 0; c.found && i < script->count; i++) {
		struct script_stmt *stmt = &script->stmts[i];

		if (!stmt->tree || stmt->tree->kind == SQL_STMT_CREATE_TABLE || !script_names_table(stmt->tree, table))
			continue;
		stmt->changed = true;
		if (!drop_from_stmt(stmt->tree, &c))
			return false;
	}
	return c.found;
}

/* ---- making them ---- */

static void make(struct edit *e)
{
	switch (e->way) {
	case EDIT_FORGET: {
		void *none = NULL;

		memcpy(e->a, &none, sizeof(none));
		break;
	}
	case EDIT_UNLINK:
		(void)unlink_node(e->a, e->b, e->next_at, e->count);
		break;
	case EDIT_TAKE_EXPR: {
		struct sql_expr *to = e->a, part = *(struct sql_expr *)e->b;

		part.next = to->next;
		*to = part;
		break;
	}
	case EDIT_TAKE_QUERY: {
		struct sql_query part = *(struct sql_query *)e->b;

		*(struct sql_query *)e->a = part;
		break;
	}
	case EDIT_TAKE_TABLE: {
		struct sql_table_ref *to = e->a, part = *(struct sql_table_ref *)e->b;

		part.next = to->next;
		*to = part;
		break;
	}
	case EDIT_CLEAR_BITS:
		*(uint32_t *)e->a &= ~e->bits;
		break;
	case EDIT_CLEAR_BOOL:
		*(bool *)e->a = false;
		break;
	case EDIT_CLEAR_INT:
		*(int *)e->a = 0;
		break;
	case EDIT_CLEAR_SPAN:
		*(struct span *)e->a = SPAN_NONE;
		break;
	case EDIT_INT_TYPE:
		*(struct sql_type *)e->a = (struct sql_type){.kind = SQL_TYPE_INT};
		break;
	case EDIT_DROP_COLUMN:
		break;
	}
}

bool edits_apply(struct script *script, const struct edits *edits, const bool *kept)
{
	/* Parents are listed before their parts: what takes a part takes it as it has become. */
	for (size_t i = edits->count; i--;) {
		if (kept[i] || edits->items[i].way == EDIT_DROP_COLUMN)
			continue;
		make(&edits->items[i]);
		script->stmts[edits->items[i].stmt].changed = true;
	}
	for (size_t i = 0; i < edits->count; i++)
		if (!kept[i] && edits->items[i].way == EDIT_DROP_COLUMN &&
			!drop_column(script, edits->items[i].table, edits->items[i].column))
			return false;
	return true;
}
