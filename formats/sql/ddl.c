/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CREATE TABLE, ALTER TABLE, CREATE INDEX, DROP INDEX.  MySQL manual, "Data Definition Statements".
 * Their parts are in type.c and ddl_*.c.
 *
 * Actions of ALTER TABLE that change no column, key or name are kept as text.
 */
#include "sql/ddl.h"

/* ------------------------------------------------------------------ CREATE TABLE */

static void parse_create_like(struct parser *p, struct sql_create_table *ct)
{
	ct->like = NEW(p, struct sql_table_name);
	*ct->like = parse_table_name(p);
}

static void parse_create_query(struct parser *p, struct sql_create_table *ct)
{
	if (accept(p, T_IGNORE))
		ct->ignore = true;
	else if (accept(p, T_REPLACE))
		ct->replace = true;
	bool as = accept(p, T_AS);
	if (p->tok.kind == T_LPAREN && parse_peek(p, 1).kind == T_WITH)
		ct->query = parse_subquery(p);
	else if (p->tok.kind == T_LPAREN || at_query(p))
		ct->query = parse_query(p);
	if (ct->query)
		no_procedure(p, ct->query);
	else if (as || ct->ignore || ct->replace)
		parse_fail(p);
}

void parse_create_table(struct parser *p, struct sql_stmt *stmt, bool or_replace, bool temporary)
{
	struct sql_create_table *ct = NEW(p, struct sql_create_table);
	struct sql_option **tail = &ct->options, *opt;

	stmt->kind = SQL_STMT_CREATE_TABLE;
	stmt->u.create_table = ct;
	ct->or_replace = or_replace;
	ct->temporary = temporary;
	parse_advance(p);
	if (p->tok.kind == T_IF) {
		parse_advance(p);
		expect(p, T_NOT);
		expect(p, T_EXISTS);
		ct->if_not_exists = true;
	}
	ct->table = parse_table_name(p);
	if (accept(p, T_LIKE)) {
		parse_create_like(p, ct);
		return;
	}
	if (p->tok.kind == T_LPAREN) {
		enum token_kind next = parse_peek(p, 1).kind;

		if (next == T_LIKE) {
			parse_advance(p);
			parse_advance(p);
			parse_create_like(p, ct);
			expect(p, T_RPAREN);
			return;
		}
		/* CREATE TABLE t (SELECT 1) has no elements. */
		if (next != T_SELECT && next != T_WITH && next != T_LPAREN &&
			!(next == T_VALUES && is_maria(p)) && !(next == T_TABLE && !is_maria(p))) {
			parse_advance(p);
			ct->elements = parse_elements(p);
			expect(p, T_RPAREN);
		}
	}
	bool comma = false;
	while ((opt = parse_table_option(p)) != NULL) {
		APPEND(tail, opt);
		comma = accept(p, T_COMMA);
	}
	if (comma)
		parse_fail(p);
	if (p->tok.kind == T_PARTITION)
		ct->partition = parse_partition_by(p);
	parse_create_query(p, ct);
}

/* ------------------------------------------------------------------ ALTER TABLE */

static bool accept_exists(struct parser *p, bool not)
{
	if (!is_maria(p) || p->tok.kind != T_IF)
		return false;
	parse_advance(p);
	if (not)
		expect(p, T_NOT);
	expect(p, T_EXISTS);
	return true;
}

static void parse_place(struct parser *p, struct sql_alter *a)
{
	if (accept(p, T_FIRST))
		a->first = true;
	else if (accept(p, T_AFTER))
		a->after = parse_name(p);
}

/* Up to the next comma outside of parentheses. */
static void parse_alter_text(struct parser *p, struct sql_alter *a, uint32_t start, bool all)
{
	int depth = 0;

	a->kind = SQL_ALTER_TEXT;
	while (p->tok.kind != T_EOF && p->tok.kind != T_SEMICOLON && p->tok.kind != T_ERROR) {
		if (p->tok.kind == T_LPAREN)
			depth++;
		else if (p->tok.kind == T_RPAREN && depth-- == 0)
			break;
		else if (p->tok.kind == T_COMMA && depth == 0 && !all)
			break;
		parse_advance(p);
	}
	a->text = parse_text(p, start);
}

static void parse_alter_add(struct parser *p, struct sql_alter *a, uint32_t start)
{
	if (p->tok.kind == T_PARTITION ||
		(p->tok.kind == T_SYSTEM && parse_peek(p, 1).kind == T_VERSIONING)) {
		parse_alter_text(p, a, start, p->tok.kind == T_PARTITION);
		return;
	}
	if (is_maria(p) && p->tok.kind == T_PERIOD &&
		(parse_peek(p, 1).kind == T_FOR || parse_peek(p, 1).kind == T_IF)) {
		struct sql_element *el = parse_element(p, &a->if_not_exists);

		a->kind = SQL_ALTER_ADD_PERIOD;
		a->name = el->period;
		a->period_from = el->period_from;
		a->period_to = el->period_to;
		return;
	}
	bool word = accept(p, T_COLUMN);
	if (!word) {
		a->key = parse_key(p);
		if (a->key) {
			a->kind = SQL_ALTER_ADD_KEY;
			return;
		}
	}
	if (accept_exists(p, true))
		a->if_not_exists = true;
	if (p->tok.kind == T_LPAREN) {
		parse_advance(p);
		a->kind = SQL_ALTER_ADD_COLUMNS;
		a->elements = parse_elements(p);
		expect(p, T_RPAREN);
		return;
	}
	/* Words that follow ADD elsewhere are taken together with it. */
	if (is_maria(p) && (p->tok.kind == T_SYSTEM || p->tok.kind == T_PERIOD) && !word)
		parse_fail(p);
	a->kind = SQL_ALTER_ADD_COLUMN;
	a->column = parse_column_def(p, false);
	parse_place(p, a);
}

static void parse_alter_drop(struct parser *p, struct sql_alter *a, uint32_t start)
{
	switch (p->tok.kind) {
	case T_PARTITION:
		parse_alter_text(p, a, start, true);
		return;
	case T_SYSTEM:
	case T_PERIOD:
		if (is_maria(p) || parse_peek(p, 1).kind == T_VERSIONING ||
			parse_peek(p, 1).kind == T_FOR) {
			enum token_kind next = parse_peek(p, 1).kind;

			if (next != T_VERSIONING && next != T_FOR && next != T_IF)
				parse_fail(p);
			parse_alter_text(p, a, start, false);
			return;
		}
		break;
	case T_PRIMARY:
		parse_advance(p);
		expect(p, T_KEY);
		a->kind = SQL_ALTER_DROP_PRIMARY;
		return;
	case T_FOREIGN:
		parse_advance(p);
		expect(p, T_KEY);
		a->kind = SQL_ALTER_DROP_FOREIGN;
		break;
	case T_KEY:
	case T_INDEX:
		parse_advance(p);
		a->kind = SQL_ALTER_DROP_KEY;
		break;
	case T_CHECK:
		if (is_maria(p))
			parse_fail(p);
		/* fall through */
	case T_CONSTRAINT:
		if (is_maria(p) && parse_peek(p, 1).kind == T_PRIMARY) {
			parse_advance(p);
			parse_advance(p);
			expect(p, T_KEY);
			a->kind = SQL_ALTER_DROP_PRIMARY;
			return;
		}
		a->check_word = p->tok.kind == T_CHECK;
		parse_advance(p);
		a->kind = SQL_ALTER_DROP_CONSTRAINT;
		break;
	default:
		accept(p, T_COLUMN);
		a->kind = SQL_ALTER_DROP_COLUMN;
	}
	if (a->kind == SQL_ALTER_ADD_COLUMN)
		a->kind = SQL_ALTER_DROP_COLUMN;
	a->if_exists = accept_exists(p, false);
	if (a->kind == SQL_ALTER_DROP_KEY && p->tok.kind == T_PRIMARY) {
		parse_advance(p);
		a->name = SPAN_LIT("PRIMARY");
		return;
	}
	a->name = a->check_word ? parse_name(p) : parse_field_name(p);
	if (a->kind == SQL_ALTER_DROP_COLUMN && !accept(p, T_RESTRICT))
		accept(p, T_CASCADE);
}

static void parse_alter_column(struct parser *p, struct sql_alter *a, uint32_t start)
{
	if (p->tok.kind == T_INDEX || p->tok.kind == T_KEY) {
		a->kind = SQL_ALTER_INDEX;
		parse_advance(p);
		accept_exists(p, false);
		parse_name(p);
		if (is_maria(p)) {
			if (!(p->opt.mode & SQL_MODE_HIGH_NOT_PRECEDENCE))
				accept(p, T_NOT);
			expect(p, T_IGNORED);
		} else if (!accept(p, T_VISIBLE)) {
			expect(p, T_INVISIBLE);
		}
		a->text = parse_text(p, start);
		return;
	}
	if (!is_maria(p) && (p->tok.kind == T_CHECK || p->tok.kind == T_CONSTRAINT)) {
		parse_alter_text(p, a, start, false);
		return;
	}
	accept(p, T_COLUMN);
	a->if_exists = accept_exists(p, false);
	a->name = parse_field_name(p);
	if (accept(p, T_SET)) {
		if (!is_maria(p) && (p->tok.kind == T_VISIBLE || p->tok.kind == T_INVISIBLE)) {
			a->kind = SQL_ALTER_COLUMN_VISIBLE;
			a->first = p->tok.kind == T_VISIBLE;
			parse_advance(p);
			return;
		}
		expect(p, T_DEFAULT);
		a->kind = SQL_ALTER_COLUMN_DEFAULT;
		a->value = parse_default(p, true);
		return;
	}
	expect(p, T_DROP);
	expect(p, T_DEFAULT);
	a->kind = SQL_ALTER_COLUMN_DEFAULT;
}

static void parse_alter_rename(struct parser *p, struct sql_alter *a)
{
	enum token_kind kind = p->tok.kind;

	if (kind == T_COLUMN || kind == T_INDEX || kind == T_KEY) {
		parse_advance(p);
		a->kind = kind == T_COLUMN ? SQL_ALTER_RENAME_COLUMN : SQL_ALTER_RENAME_KEY;
		a->if_exists = accept_exists(p, false);
		a->name = kind == T_COLUMN ? parse_name(p) : parse_field_name(p);
		expect(p, T_TO);
		a->new_name = kind == T_COLUMN ? parse_name(p) : parse_field_name(p);
		return;
	}
	a->kind = SQL_ALTER_RENAME_TABLE;
	if (!accept(p, T_TO) && !accept(p, T_AS) && p->tok.kind == T_EQ)
		parse_advance(p);
	a->table = parse_table_name(p);
}

/* Columns only. */
static struct sql_order *parse_alter_order(struct parser *p)
{
	struct sql_order *list = NULL, **tail = &list;

	do {
		struct sql_order *item = NEW(p, struct sql_order);

		item->expr = parse_column(p);
		if (accept(p, T_DESC))
			item->desc = true;
		else if (accept(p, T_ASC))
			item->asc = true;
		APPEND(tail, item);
	} while (accept(p, T_COMMA));
	return list;
}

static struct sql_alter *parse_alter_action(struct parser *p)
{
	struct sql_alter *a = NEW(p, struct sql_alter);
	uint32_t start = p->tok.start;
	enum token_kind kind = p->tok.kind;
	bool change = kind == T_CHANGE;

	switch (kind) {
	case T_ADD:
		parse_advance(p);
		parse_alter_add(p, a, start);
		break;
	case T_DROP:
		parse_advance(p);
		parse_alter_drop(p, a, start);
		break;
	case T_ALTER:
		parse_advance(p);
		parse_alter_column(p, a, start);
		break;
	case T_MODIFY:
	case T_CHANGE:
		parse_advance(p);
		accept(p, T_COLUMN);
		a->kind = change ? SQL_ALTER_CHANGE_COLUMN : SQL_ALTER_MODIFY_COLUMN;
		a->if_exists = accept_exists(p, false);
		if (change)
			a->name = parse_field_name(p);
		a->column = parse_column_def(p, true);
		parse_place(p, a);
		break;
	case T_RENAME:
		parse_advance(p);
		parse_alter_rename(p, a);
		break;
	case T_ORDER:
		parse_advance(p);
		expect(p, T_BY);
		a->kind = SQL_ALTER_ORDER;
		a->order = parse_alter_order(p);
		break;
	case T_PARTITION:
		a->kind = SQL_ALTER_PARTITION_BY;
		a->partition = parse_partition_by(p);
		break;
	case T_FORCE:
	case T_DISABLE:
	case T_ENABLE:
	case T_DISCARD:
	case T_IMPORT:
		/* A list of partitions goes on after a comma. */
		parse_alter_text(p, a, start, parse_peek(p, 1).kind == T_PARTITION);
		break;
	case T_ALGORITHM:
	case T_LOCK:
	case T_SECONDARY_LOAD:
	case T_SECONDARY_UNLOAD:
		parse_alter_text(p, a, start, false);
		break;
	case T_WITH:
	case T_WITHOUT:
		/* MariaDB: SYSTEM VERSIONING; MySQL: VALIDATION. */
		if (is_maria(p) && p->tok.kind == T_WITH)
			goto option;
		if (is_maria(p)) {
			parse_alter_text(p, a, start, false);
			break;
		}
		parse_advance(p);
		if (!span_ieq_str(span_of(p->text + p->tok.start, p->tok.end - p->tok.start),
			    "validation"))
			parse_fail(p);
		parse_advance(p);
		a->kind = SQL_ALTER_TEXT;
		a->text = parse_text(p, start);
		break;
	case T_CONVERT:
		parse_alter_text(p, a, start, parse_peek(p, 1).kind != T_TO);
		break;
	case T_TRUNCATE:
	case T_COALESCE:
	case T_REORGANIZE:
	case T_EXCHANGE:
	case T_ANALYZE:
	case T_CHECK:
	case T_OPTIMIZE:
	case T_REBUILD:
	case T_REPAIR:
	case T_REMOVE:
	case T_UPGRADE:
		parse_alter_text(p, a, start, true);
		break;
	default:
	option:
		a->kind = SQL_ALTER_OPTION;
		a->option = parse_table_option(p);
		if (!a->option) {
			if (UNLIKELY(p->track)) {
				parse_want(p, T_ADD);
				parse_want(p, T_DROP);
				parse_want(p, T_MODIFY);
				parse_want(p, T_RENAME);
			}
			parse_fail(p);
			a->option = option_new(p, SPAN_LIT(""));
		}
	}
	a->loc = loc_from(p, start);
	return a;
}

/* An action that stands by itself: of partitions, or of the tablespace. */
static bool at_standalone(struct parser *p)
{
	enum token_kind next = parse_peek(p, 1).kind;

	switch (p->tok.kind) {
	case T_ADD:
	case T_DROP:
		return next == T_PARTITION;
	case T_DISCARD:
	case T_IMPORT:
	case T_TRUNCATE:
	case T_COALESCE:
	case T_REORGANIZE:
	case T_EXCHANGE:
	case T_ANALYZE:
	case T_CHECK:
	case T_OPTIMIZE:
	case T_REBUILD:
	case T_REPAIR:
	case T_SECONDARY_LOAD:
	case T_SECONDARY_UNLOAD:
		return true;
	default:
		return false;
	}
}

/* An action that is no table option. */
static bool at_change(const struct parser *p)
{
	switch (p->tok.kind) {
	case T_ADD:
	case T_ALTER:
	case T_CHANGE:
	case T_DROP:
	case T_MODIFY:
	case T_ORDER:
	case T_RENAME:
		return true;
	default:
		return false;
	}
}

void parse_alter_table(struct parser *p, struct sql_stmt *stmt, bool online, bool ignore)
{
	struct sql_alter_table *at_ = NEW(p, struct sql_alter_table);
	struct sql_alter **tail = &at_->actions, *a;
	bool only_modifiers = true;

	stmt->kind = SQL_STMT_ALTER_TABLE;
	stmt->u.alter_table = at_;
	at_->online = online;
	at_->ignore = ignore;
	parse_advance(p);
	at_->if_exists = accept_exists(p, false);
	at_->table = parse_table_name(p);
	at_->wait = parse_lock_wait_clause(p);
	while (p->tok.kind != T_EOF && p->tok.kind != T_SEMICOLON && p->tok.kind != T_ERROR) {
		enum token_kind kind = p->tok.kind;
		bool alone = at_standalone(p);

		if (alone && at_->actions && !only_modifiers)
			parse_fail(p);
		/* MySQL takes these before it. */
		only_modifiers &= !is_maria(p) && (kind == T_ALGORITHM || kind == T_LOCK ||
							  kind == T_WITH || kind == T_WITHOUT);
		a = parse_alter_action(p);
		APPEND(tail, a);
		if (alone)
			break;
		a->comma = accept(p, T_COMMA);
		/* Partitioning comes last, without a comma. */
		if (a->comma && (p->tok.kind == T_EOF || p->tok.kind == T_SEMICOLON ||
					p->tok.kind == T_PARTITION || p->tok.kind == T_REMOVE))
			parse_fail(p);
		/* Only table options and partitioning may follow without a comma. */
		if (!a->comma && p->tok.kind != T_PARTITION && p->tok.kind != T_REMOVE &&
			(a->kind != SQL_ALTER_OPTION || at_change(p)))
			break;
	}
}

/* ------------------------------------------------------------------ indexes */

static void parse_index_tail(struct parser *p, struct sql_option **tail)
{
	while (p->tok.kind == T_ALGORITHM || p->tok.kind == T_LOCK) {
		struct sql_option *opt;
		uint32_t start = p->tok.start;

		parse_advance(p);
		opt = option_new(p, parse_text(p, start));
		accept(p, T_EQ);
		if (p->tok.kind != T_DEFAULT && !at_name(p))
			parse_fail(p);
		option_value(p, opt);
		APPEND(tail, opt);
	}
}

void parse_create_index(struct parser *p, struct sql_stmt *stmt, bool or_replace)
{
	struct sql_index_stmt *ix = NEW(p, struct sql_index_stmt);
	struct sql_option **tail;

	stmt->kind = SQL_STMT_CREATE_INDEX;
	stmt->u.index = ix;
	ix->or_replace = or_replace;
	if (accept(p, T_UNIQUE))
		ix->key.kind = SQL_KEY_UNIQUE;
	else if (accept(p, T_FULLTEXT))
		ix->key.kind = SQL_KEY_FULLTEXT;
	else if (accept(p, T_SPATIAL))
		ix->key.kind = SQL_KEY_SPATIAL;
	else if (is_maria(p) && accept(p, T_VECTOR))
		ix->key.kind = SQL_KEY_VECTOR;
	expect(p, T_INDEX);
	if (is_maria(p) && p->tok.kind == T_IF) {
		parse_advance(p);
		expect(p, T_NOT);
		expect(p, T_EXISTS);
		ix->key.if_not_exists = true;
	}
	ix->key.name = parse_name(p);
	tail = parse_key_using(p, ix->key.kind, &ix->key.options);
	expect(p, T_ON);
	ix->table = parse_table_name(p);
	ix->key.parts = parse_key_parts(p, ix->key.kind);
	ix->wait = parse_lock_wait_clause(p);
	parse_key_options(p, ix->key.kind, tail);
	parse_index_tail(p, &ix->options);
}

/* INDEX is current. */
void parse_drop_index(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_index_stmt *ix = NEW(p, struct sql_index_stmt);

	stmt->kind = SQL_STMT_DROP_INDEX;
	stmt->u.index = ix;
	expect(p, T_INDEX);
	ix->if_exists = accept_exists(p, false);
	if (p->tok.kind == T_PRIMARY) {
		parse_advance(p);
		ix->key.name = SPAN_LIT("PRIMARY");
	} else {
		ix->key.name = parse_name(p);
	}
	expect(p, T_ON);
	ix->table = parse_table_name(p);
	ix->wait = parse_lock_wait_clause(p);
	if (!is_maria(p))
		parse_index_tail(p, &ix->options);
}
