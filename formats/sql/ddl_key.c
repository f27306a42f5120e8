/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys, foreign keys and CHECK, of a table or after a column.
 */
#include "sql/ddl.h"

static enum sql_ref_action parse_ref_action(struct parser *p)
{
	if (accept(p, T_RESTRICT))
		return SQL_REF_RESTRICT;
	if (accept(p, T_CASCADE))
		return SQL_REF_CASCADE;
	if (accept(p, T_NO)) {
		expect(p, T_ACTION);
		return SQL_REF_NO_ACTION;
	}
	expect(p, T_SET);
	if (accept(p, T_DEFAULT))
		return SQL_REF_SET_DEFAULT;
	expect(p, T_NULL);
	return SQL_REF_SET_NULL;
}

/* REFERENCES is current. */
struct sql_reference *parse_reference(struct parser *p)
{
	struct sql_reference *ref = NEW(p, struct sql_reference);

	expect(p, T_REFERENCES);
	ref->table = parse_table_name(p);
	if (p->tok.kind == T_LPAREN)
		ref->columns = parse_paren_names(p);
	if (accept(p, T_MATCH)) {
		if (accept(p, T_FULL)) {
			ref->match = SPAN_LIT("FULL");
		} else if (accept(p, T_PARTIAL)) {
			ref->match = SPAN_LIT("PARTIAL");
		} else {
			expect(p, T_SIMPLE);
			ref->match = SPAN_LIT("SIMPLE");
		}
	}
	for (int i = 0; i < 2 && p->tok.kind == T_ON; i++) {
		enum token_kind next = parse_peek(p, 1).kind;

		if (next == T_DELETE && !ref->on_delete) {
			parse_advance(p);
			parse_advance(p);
			ref->on_delete = parse_ref_action(p);
		} else if (next == T_UPDATE && !ref->on_update) {
			parse_advance(p);
			parse_advance(p);
			ref->on_update = parse_ref_action(p);
		} else {
			break;
		}
	}
	return ref;
}

/* WITHOUT OVERLAPS comes last, in a unique key. */
struct sql_key_part *parse_key_parts(struct parser *p, enum sql_key_kind kind)
{
	struct sql_key_part *list = NULL, **tail = &list;
	bool unique = kind == SQL_KEY_PRIMARY || kind == SQL_KEY_UNIQUE;

	/* One whole column in MariaDB since 11.7. */
	if (is_maria(p) && p->opt.version >= 110700 &&
		(kind == SQL_KEY_SPATIAL || kind == SQL_KEY_VECTOR)) {
		list = NEW(p, struct sql_key_part);
		expect(p, T_LPAREN);
		list->column = parse_name(p);
		expect(p, T_RPAREN);
		return list;
	}

	expect(p, T_LPAREN);
	do {
		struct sql_key_part *part = NEW(p, struct sql_key_part);

		if (p->tok.kind == T_LPAREN && !is_maria(p)) {
			parse_advance(p);
			part->expr = parse_expr(p);
			expect(p, T_RPAREN);
		} else {
			part->column = parse_name(p);
			if (is_maria(p) && unique && list && p->tok.kind == T_WITHOUT &&
				parse_peek(p, 1).kind == T_OVERLAPS) {
				parse_advance(p);
				parse_advance(p);
				part->without_overlaps = true;
				APPEND(tail, part);
				break;
			} else if (accept(p, T_LPAREN)) {
				part->length = parse_length(p);
				expect(p, T_RPAREN);
			}
		}
		if (accept(p, T_DESC))
			part->desc = true;
		else if (accept(p, T_ASC))
			part->asc = true;
		APPEND(tail, part);
	} while (accept(p, T_COMMA));
	expect(p, T_RPAREN);
	return list;
}

/* [IF NOT EXISTS] [name] [USING x] (parts) options */
static void parse_key_body(struct parser *p, struct sql_key *key)
{
	struct sql_option **tail = &key->options;

	if (is_maria(p) && p->tok.kind == T_IF) {
		parse_advance(p);
		expect(p, T_NOT);
		expect(p, T_EXISTS);
		key->if_not_exists = true;
	}
	/* TYPE is a name here: TYPE BTREE needs one before it. */
	if (p->tok.kind != T_USING && p->tok.kind != T_LPAREN)
		key->name = parse_name(p);
	tail = parse_key_using(p, key->kind, tail);
	key->parts = parse_key_parts(p, key->kind);
	parse_key_options(p, key->kind, tail);
}

void parse_check(struct parser *p, struct sql_key *key)
{
	key->kind = SQL_KEY_CHECK;
	expect(p, T_LPAREN);
	key->check = parse_expr(p);
	expect(p, T_RPAREN);
	if (!is_maria(p)) {
		if (p->tok.kind == T_NOT && parse_peek(p, 1).kind == T_ENFORCED) {
			parse_advance(p);
			parse_advance(p);
			key->enforced = SQL_NO;
		} else if (accept(p, T_ENFORCED)) {
			key->enforced = SQL_YES;
		}
	}
}

/* A key of CREATE TABLE or ALTER TABLE ADD, or NULL when a column starts here. */
struct sql_key *parse_key(struct parser *p)
{
	struct sql_key *key;

	switch (p->tok.kind) {
	case T_CONSTRAINT:
	case T_PRIMARY:
	case T_UNIQUE:
	case T_KEY:
	case T_INDEX:
	case T_FULLTEXT:
	case T_SPATIAL:
	case T_FOREIGN:
	case T_CHECK:
		break;
	case T_VECTOR:
		if (is_maria(p))
			break;
		return NULL;
	default:
		return NULL;
	}
	key = NEW(p, struct sql_key);
	if (accept(p, T_CONSTRAINT)) {
		key->has_constraint = true;
		if (is_maria(p) && p->tok.kind == T_IF) {
			parse_advance(p);
			expect(p, T_NOT);
			expect(p, T_EXISTS);
			key->if_not_exists = true;
		}
		if (p->tok.kind != T_PRIMARY && p->tok.kind != T_UNIQUE &&
			p->tok.kind != T_FOREIGN && p->tok.kind != T_CHECK)
			key->constraint = parse_name(p);
		if (p->tok.kind != T_PRIMARY && p->tok.kind != T_UNIQUE &&
			p->tok.kind != T_FOREIGN && p->tok.kind != T_CHECK) {
			expect(p, T_PRIMARY);
			return key;
		}
	}
	switch (p->tok.kind) {
	case T_PRIMARY:
		parse_advance(p);
		expect(p, T_KEY);
		key->kind = SQL_KEY_PRIMARY;
		parse_key_body(p, key);
		break;
	case T_CHECK:
		parse_advance(p);
		parse_check(p, key);
		break;
	case T_FOREIGN:
		parse_advance(p);
		expect(p, T_KEY);
		key->kind = SQL_KEY_FOREIGN;
		if (is_maria(p) && p->tok.kind == T_IF) {
			parse_advance(p);
			expect(p, T_NOT);
			expect(p, T_EXISTS);
			key->if_not_exists = true;
		}
		if (p->tok.kind != T_LPAREN)
			key->name = parse_name(p);
		key->parts = parse_key_parts(p, SQL_KEY_FOREIGN);
		key->reference = parse_reference(p);
		break;
	case T_UNIQUE:
	case T_FULLTEXT:
	case T_SPATIAL:
	case T_VECTOR:
		key->kind = p->tok.kind == T_UNIQUE     ? SQL_KEY_UNIQUE
			    : p->tok.kind == T_FULLTEXT ? SQL_KEY_FULLTEXT
			    : p->tok.kind == T_SPATIAL  ? SQL_KEY_SPATIAL
							: SQL_KEY_VECTOR;
		parse_advance(p);
		if (!accept(p, T_KEY))
			accept(p, T_INDEX);
		parse_key_body(p, key);
		break;
	default:
		parse_advance(p); /* KEY, INDEX */
		key->kind = SQL_KEY_INDEX;
		parse_key_body(p, key);
	}
	return key;
}
