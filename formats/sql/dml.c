/* SPDX-License-Identifier: GPL-2.0-or-later */
/* INSERT, REPLACE, UPDATE, DELETE. */
#include <string.h>

#include "sql/parse.h"

static struct span parse_hint_after_verb(struct parser *p)
{
	p->scan.hint = SPAN_NONE;
	parse_advance(p);
	return p->scan.hint;
}

static struct sql_assign *parse_assigns(struct parser *p)
{
	struct sql_assign *list = NULL, **tail = &list;

	do {
		struct sql_assign *item = NEW(p, struct sql_assign);

		item->target = parse_column(p);
		if (!accept(p, T_EQ))
			expect(p, T_ASSIGN);
		item->value = parse_expr_or_default(p);
		APPEND(tail, item);
	} while (accept(p, T_COMMA));
	return list;
}

static void parse_insert_columns(struct parser *p, struct sql_insert *ins)
{
	struct sql_expr **tail = &ins->columns.first;

	parse_advance(p);
	ins->has_columns = true;
	if (accept(p, T_RPAREN))
		return;
	do {
		exprs_add(&ins->columns, &tail, parse_column(p));
	} while (accept(p, T_COMMA));
	expect(p, T_RPAREN);
}

/* VALUES (...) AS new(a, b): MySQL 8.0.19. */
static void parse_row_alias(struct parser *p, struct sql_insert *ins)
{
	if (is_maria(p) || p->tok.kind != T_AS)
		return;
	parse_advance(p);
	ins->row_alias = parse_name(p);
	if (p->tok.kind == T_LPAREN)
		ins->row_columns = parse_paren_names(p);
}

static void parse_insert_source(struct parser *p, struct sql_insert *ins, bool replace)
{
	/* A parenthesis is a column list unless a query starts in it. */
	if (p->tok.kind == T_LPAREN) {
		enum token_kind next = parse_peek(p, 1).kind;

		if (next != T_SELECT && next != T_WITH && next != T_LPAREN &&
			!(next == T_TABLE && !is_maria(p)) && next != T_VALUES)
			parse_insert_columns(p, ins);
	}
	if (p->tok.kind == T_VALUES || (p->tok.kind == T_VALUE)) {
		bool query = p->tok.kind == T_VALUES;

		parse_advance(p);
		/* VALUES ROW(1), ROW(2) is a query that has no alias. */
		query = query && !is_maria(p) && p->tok.kind == T_ROW;
		ins->rows = parse_rows(p, query);
		if (!query && !replace)
			parse_row_alias(p, ins);
	} else if (p->tok.kind == T_SET && !ins->has_columns) {
		parse_advance(p);
		ins->set = parse_assigns(p);
		if (!replace)
			parse_row_alias(p, ins);
	} else if (p->tok.kind == T_LPAREN && !ins->has_columns &&
		   parse_peek(p, 1).kind == T_WITH) {
		ins->query = parse_subquery(p);
	} else if (p->tok.kind == T_LPAREN || at_query(p)) {
		ins->query = parse_query(p);
	} else {
		if (UNLIKELY(p->track)) {
			parse_want(p, T_VALUES);
			parse_want(p, T_SELECT);
			parse_want(p, T_LPAREN);
			parse_want(p, T_SET);
		}
		parse_fail(p);
	}
}

void parse_insert(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_insert *ins = NEW(p, struct sql_insert);
	bool replace = p->tok.kind == T_REPLACE;

	stmt->kind = replace ? SQL_STMT_REPLACE : SQL_STMT_INSERT;
	stmt->u.insert = ins;
	ins->hint = parse_hint_after_verb(p);
	if (accept(p, T_LOW_PRIORITY))
		ins->flags |= SQL_DML_LOW_PRIORITY;
	else if (accept(p, T_DELAYED))
		ins->flags |= SQL_DML_DELAYED;
	else if (!replace && accept(p, T_HIGH_PRIORITY))
		ins->flags |= SQL_DML_HIGH_PRIORITY;
	if (!replace && accept(p, T_IGNORE))
		ins->flags |= SQL_DML_IGNORE;
	accept(p, T_INTO);
	/* MariaDB: no table of that name here. */
	if (is_maria(p) && p->tok.kind == T_VALUE && parse_peek(p, 1).kind != T_DOT)
		parse_fail(p);
	ins->table = parse_table_name(p);
	if (accept(p, T_PARTITION))
		ins->partitions = parse_paren_names(p);
	parse_insert_source(p, ins, replace);
	if (ins->query)
		no_procedure(p, ins->query);
	if (!replace && p->tok.kind == T_ON) {
		parse_advance(p);
		expect(p, T_DUPLICATE);
		expect(p, T_KEY);
		expect(p, T_UPDATE);
		p->in_duplicate = true;
		ins->on_duplicate = parse_assigns(p);
		p->in_duplicate = false;
	}
	if (is_maria(p) && accept(p, T_RETURNING))
		ins->returning = parse_items(p);
}

/* FOR PORTION OF name FROM a TO b: MariaDB; FOR is current. */
static void parse_portion(struct parser *p, struct sql_table_ref *ref)
{
	parse_advance(p);
	expect(p, T_PORTION);
	expect(p, T_OF);
	if (p->tok.kind == T_SYSTEM_TIME)
		parse_fail(p);
	ref->u.name.portion = parse_name(p);
	expect(p, T_FROM);
	ref->low.value = parse_bit_expr(p);
	expect(p, T_TO);
	ref->high.value = parse_bit_expr(p);
	ref->loc.end = p->last_end;
}

static bool at_portion(struct parser *p)
{
	return is_maria(p) && p->tok.kind == T_FOR && parse_peek(p, 1).kind == T_PORTION;
}

void parse_update(struct parser *p, struct sql_stmt *stmt, struct sql_with *with)
{
	struct sql_update *up = NEW(p, struct sql_update);

	stmt->kind = SQL_STMT_UPDATE;
	stmt->u.update = up;
	up->with = with;
	up->hint = parse_hint_after_verb(p);
	if (accept(p, T_LOW_PRIORITY))
		up->flags |= SQL_DML_LOW_PRIORITY;
	if (accept(p, T_IGNORE))
		up->flags |= SQL_DML_IGNORE;
	up->tables = parse_table_refs(p);
	if (at_portion(p) && !up->tables->next && up->tables->kind == SQL_TABLE_NAME)
		parse_portion(p, up->tables);
	expect(p, T_SET);
	up->set = parse_assigns(p);
	up->where = parse_where(p);
	up->order = parse_order_by(p);
	up->limit = parse_limit(p, true);
	if (up->limit && is_maria(p) && accept(p, T_ROWS))
		parse_fail(p);
}

/* t, db.t, t.*, db.t.* */
static struct sql_table_name *parse_delete_targets(struct parser *p)
{
	struct sql_table_name *list = NULL, **tail = &list;

	do {
		struct sql_table_name *name = NEW(p, struct sql_table_name);
		uint32_t start = p->tok.start;

		name->name = parse_name(p);
		while (p->tok.kind == T_DOT) {
			parse_advance(p);
			if (accept(p, T_STAR))
				break;
			if (name->db.ptr)
				parse_fail(p);
			name->db = name->name;
			name->name = parse_name(p);
		}
		name->loc = loc_from(p, start);
		APPEND(tail, name);
	} while (accept(p, T_COMMA));
	return list;
}

static void parse_delete_history(struct parser *p, struct sql_delete *del)
{
	if (!accept(p, T_BEFORE))
		return;
	expect(p, T_SYSTEM_TIME);
	if (p->tok.kind == T_TRANSACTION && parse_peek(p, 1).kind != T_DOT) {
		del->before_is_transaction = true;
		parse_advance(p);
	} else if (p->tok.kind == T_TIMESTAMP && parse_peek(p, 1).kind != T_STRING &&
		   parse_peek(p, 1).kind != T_LPAREN) {
		del->before_is_timestamp = true;
		parse_advance(p);
	}
	del->before = parse_bit_expr(p);
}

/* DELETE FROM ...: one table, or targets USING references. */
static void parse_delete_from(struct parser *p, struct sql_delete *del)
{
	uint32_t start = p->tok.start;
	struct sql_table_name *targets;
	struct sql_table_ref *ref;
	/* .t, as elsewhere, but not in a list of targets */
	bool alone = is_maria(p) && accept(p, T_DOT);

	if (alone && parse_peek(p, 1).kind == T_DOT)
		parse_fail(p);
	targets = parse_delete_targets(p);
	if (alone && (targets->next || p->tok.kind == T_USING))
		parse_fail(p);
	if (targets->next || p->tok.kind == T_USING || p->text[p->last_end - 1] == '*') {
		expect(p, T_USING);
		del->targets = targets;
		del->using_form = true;
		del->from = parse_table_refs(p);
		return;
	}
	ref = NEW(p, struct sql_table_ref);
	ref->kind = SQL_TABLE_NAME;
	ref->u.name.table = *targets;
	if (!is_maria(p) || p->opt.version >= 110600) {
		if (accept(p, T_AS) || (p->tok.flags & TF_NAME))
			ref->alias = parse_name(p);
	}
	if (is_maria(p) && p->opt.version >= 110800 && !(del->flags & SQL_DML_HISTORY))
		parse_index_hints(p, &ref->u.name.hints);
	if (accept(p, T_PARTITION))
		ref->u.name.partitions = parse_paren_names(p);
	if (at_portion(p) && !(del->flags & SQL_DML_HISTORY))
		parse_portion(p, ref);
	ref->loc = loc_from(p, start);
	del->from = ref;
	if (UNLIKELY(p->track))
		parse_want(p, T_USING);
}

void parse_delete(struct parser *p, struct sql_stmt *stmt, struct sql_with *with)
{
	struct sql_delete *del = NEW(p, struct sql_delete);
	bool multi;

	stmt->kind = SQL_STMT_DELETE;
	stmt->u.del = del;
	del->with = with;
	del->hint = parse_hint_after_verb(p);
	for (;;) {
		if (accept(p, T_LOW_PRIORITY))
			del->flags |= SQL_DML_LOW_PRIORITY;
		else if (p->tok.kind == T_QUICK &&
			 (parse_peek(p, 1).kind != T_DOT && parse_peek(p, 1).kind != T_COMMA))
			parse_advance(p), del->flags |= SQL_DML_QUICK;
		else if (accept(p, T_IGNORE))
			del->flags |= SQL_DML_IGNORE;
		else if (is_maria(p) && p->tok.kind == T_HISTORY &&
			 parse_peek(p, 1).kind == T_FROM && parse_peek(p, 2).kind != T_LPAREN)
			parse_advance(p), del->flags |= SQL_DML_HISTORY;
		else
			break;
	}
	if (accept(p, T_FROM)) {
		parse_delete_from(p, del);
	} else {
		del->targets = parse_delete_targets(p);
		expect(p, T_FROM);
		del->from = parse_table_refs(p);
	}
	multi = del->targets != NULL;
	if (del->flags & SQL_DML_HISTORY) {
		parse_delete_history(p, del);
		return;
	}
	del->where = parse_where(p);
	if (!multi || (is_maria(p) && p->opt.version >= 110800)) {
		del->order = parse_order_by(p);
		del->limit = parse_limit(p, !multi);
	}
	if (!multi && is_maria(p) && accept(p, T_RETURNING))
		del->returning = parse_items(p);
}
