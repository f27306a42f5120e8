/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Definitions of columns, and the list of columns and keys in CREATE TABLE's parentheses.
 */
#include "sql/ddl.h"

static bool is_time_function(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_CALL && !e->u.call.db.ptr &&
	       (span_ieq_str(e->u.call.name, "now") ||
		       span_ieq_str(e->u.call.name, "current_timestamp") ||
		       span_ieq_str(e->u.call.name, "localtime") ||
		       span_ieq_str(e->u.call.name, "localtimestamp"));
}

/* A default: a literal, maybe with a sign, or (expr); besides in MySQL the current time, and in
 * MariaDB any operand. */
struct sql_expr *parse_default(struct parser *p, bool altered)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;
	bool paren = p->tok.kind == T_LPAREN;
	bool query = paren && (parse_peek(p, 1).kind == T_SELECT || parse_peek(p, 1).kind == T_WITH);

	if (p->tok.kind == T_MINUS || p->tok.kind == T_PLUS) {
		struct sql_expr *sign;
		bool minus = p->tok.kind == T_MINUS;

		parse_advance(p);
		if (!at_literal(p))
			parse_fail(p);
		e = parse_literal(p);
		sign = expr_new(p, SQL_EXPR_UNARY, start);
		sign->op = minus ? SQL_OP_NEG : SQL_OP_PLUS;
		sign->u.binary.left = e;
		return sign;
	}
	e = parse_operand(p);
	if (!is_maria(p) && !paren && e->kind != SQL_EXPR_LITERAL &&
		!(is_time_function(e) && !altered))
		parse_fail(p);
	/* MySQL: one expression in the parentheses, and no query without its own. */
	if (!is_maria(p) && paren && (e->kind == SQL_EXPR_ROW || query))
		parse_fail(p);
	return e;
}

/* [GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED | PERSISTENT], or AS ROW START/END. */
static void parse_generated(struct parser *p, struct sql_column_def *col)
{
	if (p->tok.kind == T_GENERATED) {
		parse_advance(p);
		expect(p, T_ALWAYS);
	}
	expect(p, T_AS);
	if (is_maria(p) && p->tok.kind == T_ROW) {
		parse_advance(p);
		if (accept(p, T_START)) {
			col->row_time = SQL_ROW_START;
		} else {
			expect(p, T_END);
			col->row_time = SQL_ROW_END;
		}
		return;
	}
	/* MariaDB reads AS (SELECT ...) and refuses it later. */
	if (is_maria(p) && p->tok.kind == T_LPAREN && parse_peek(p, 1).kind == T_SELECT) {
		col->generated = parse_operand(p);
	} else {
		expect(p, T_LPAREN);
		col->generated = parse_expr(p);
		expect(p, T_RPAREN);
	}
	if (accept(p, T_VIRTUAL))
		col->storage = SQL_GENERATED_VIRTUAL;
	else if (accept(p, T_STORED) || (is_maria(p) && accept(p, T_PERSISTENT)))
		col->storage = SQL_GENERATED_STORED;
}

static void add_column_option(struct sql_column_def *col, struct sql_option *opt)
{
	struct sql_option **tail = &col->options;

	while (*tail)
		tail = &(*tail)->next;
	APPEND(tail, opt);
}

/* COLUMN_FORMAT, STORAGE, SRID and attributes for engines: MySQL. */
static void parse_mysql_option(struct parser *p, struct sql_column_def *col)
{
	uint32_t start = p->tok.start;
	enum token_kind kind = p->tok.kind;
	struct sql_option *opt;
	bool good;

	parse_advance(p);
	opt = option_new(p, parse_text(p, start));
	if (kind == T_COLUMN_FORMAT) {
		good = is_word(p, "fixed") || is_word(p, "dynamic") || is_word(p, "default");
	} else if (kind == T_STORAGE) {
		good = is_word(p, "disk") || is_word(p, "memory") || is_word(p, "default");
	} else if (kind == T_SRID) {
		good = p->tok.kind == T_L_INT || p->tok.kind == T_L_HEX;
	} else {
		accept(p, T_EQ);
		good = p->tok.kind == T_STRING;
	}
	if (!good)
		parse_fail(p);
	option_value(p, opt);
	add_column_option(col, opt);
}

/* ON UPDATE NOW(): the current time, written as a function of at most a number. */
static struct sql_expr *parse_on_update(struct parser *p)
{
	enum token_kind kind = p->tok.kind;
	struct sql_expr *e;

	/* MariaDB 11.8 took the other words away. */
	if (is_maria(p) && p->opt.version >= 110800 &&
		(kind == T_LOCALTIME || kind == T_LOCALTIMESTAMP))
		parse_fail(p);
	e = parse_operand(p);
	if (kind == T_LPAREN || !is_time_function(e))
		parse_fail(p);
	return e;
}

/* MariaDB names a column with its table in some places; kept is the column. */
struct span parse_field_name(struct parser *p)
{
	struct span name;

	if (!is_maria(p) || !accept(p, T_DOT))
		name = parse_name(p);
	else
		return parse_name(p);
	for (int i = 0; i < 2 && is_maria(p) && accept(p, T_DOT); i++)
		name = parse_name(p);
	return name;
}

static void add_check(struct parser *p, struct sql_column_def *col)
{
	struct sql_key **tail = &col->checks, *key = NEW(p, struct sql_key);

	while (*tail)
		tail = &(*tail)->next;
	if (accept(p, T_CONSTRAINT)) {
		key->has_constraint = true;
		if (p->tok.kind != T_CHECK)
			key->constraint = parse_name(p);
	}
	expect(p, T_CHECK);
	parse_check(p, key);
	*tail = key;
}

static bool has_option(const struct sql_option *opt, const char *name)
{
	while (opt && !span_ieq_str(opt->name, name))
		opt = opt->next;
	return opt != NULL;
}

/* One attribute after the type; false when there is none. */
static bool parse_attribute(struct parser *p, struct sql_column_def *col)
{
	struct sql_option *compressed, *reference;
	enum token_kind next;
	uint32_t start = p->tok.start;

	/* MariaDB: a check is the last of all. */
	if (is_maria(p) && col->checks)
		return false;
	switch (p->tok.kind) {
	case T_NULL:
		parse_advance(p);
		col->nullable = SQL_YES;
		return true;
	case T_NOT:
		parse_advance(p);
		if (!is_maria(p) && p->opt.version >= 80000 && is_word(p, "secondary")) {
			parse_advance(p);
			add_column_option(col, option_new(p, SPAN_LIT("NOT SECONDARY")));
			return true;
		}
		expect(p, T_NULL);
		col->nullable = SQL_NO;
		return true;
	case T_DEFAULT:
		parse_advance(p);
		col->dflt = parse_default(p, false);
		return true;
	case T_ON:
		if (parse_peek(p, 1).kind != T_UPDATE)
			return false;
		parse_advance(p);
		parse_advance(p);
		col->on_update = parse_on_update(p);
		return true;
	case T_AUTO_INCREMENT:
		parse_advance(p);
		col->auto_increment = true;
		return true;
	case T_SERIAL:
		parse_advance(p);
		expect(p, T_DEFAULT);
		expect(p, T_VALUE);
		col->serial_default = true;
		return true;
	case T_UNIQUE:
		parse_advance(p);
		accept(p, T_KEY);
		col->unique = true;
		return true;
	case T_PRIMARY:
		parse_advance(p);
		expect(p, T_KEY);
		col->primary = true;
		return true;
	case T_KEY:
		parse_advance(p);
		col->key = true;
		return true;
	case T_COMMENT:
		parse_advance(p);
		col->comment = parse_string(p);
		return true;
	case T_COLLATE:
		parse_advance(p);
		/* MariaDB takes BINARY and DEFAULT right after the type only. */
		col->type.collate = is_maria(p) ? parse_name_or_string(p) : parse_collation(p);
		return true;
	case T_CHECK:
		add_check(p, col);
		return true;
	case T_CONSTRAINT:
		next = parse_peek(p, 2).kind;
		/* MariaDB names checks of tables only. */
		if (is_maria(p) || (next != T_CHECK && parse_peek(p, 1).kind != T_CHECK))
			return false;
		add_check(p, col);
		return true;
	case T_INVISIBLE:
		parse_advance(p);
		col->visible = SQL_NO;
		return true;
	case T_VISIBLE:
		if (is_maria(p))
			return false;
		parse_advance(p);
		col->visible = SQL_YES;
		return true;
	case T_WITH:
	case T_WITHOUT:
		if (!is_maria(p) || parse_peek(p, 1).kind != T_SYSTEM)
			return false;
		parse_advance(p);
		parse_advance(p);
		expect(p, T_VERSIONING);
		add_column_option(col, option_new(p, parse_text(p, start)));
		return true;
	case T_COLUMN_FORMAT:
	case T_STORAGE:
	case T_SRID:
	case T_ENGINE_ATTRIBUTE:
	case T_SECONDARY_ENGINE_ATTRIBUTE:
		if (is_maria(p))
			return false;
		parse_mysql_option(p, col);
		return true;
	case T_COMPRESSED:
		if (!is_maria(p) || !can_compress(col->type.kind) || col->type.compressed ||
			has_option(col->options, "COMPRESSED"))
			return false;
		parse_advance(p);
		compressed = option_new(p, SPAN_LIT("COMPRESSED"));
		if (accept(p, T_EQ)) {
			if (!at_name(p))
				parse_fail(p);
			option_value(p, compressed);
		}
		add_column_option(col, compressed);
		return true;
	case T_REF_SYSTEM_ID:
		if (col->type.kind != SQL_TYPE_GEOMETRY && col->type.kind != SQL_TYPE_OTHER)
			return false;
		parse_advance(p);
		reference = option_new(p, SPAN_LIT("REF_SYSTEM_ID"));
		expect(p, T_EQ);
		reference->value = parse_number(p);
		add_column_option(col, reference);
		return true;
	default:
		if (!at_plugin_option(p))
			return false;
		add_column_option(col, parse_plugin_option(p));
		return true;
	}
}

/* What may follow a generated column's expression in MariaDB. */
static bool generated_attribute(const struct parser *p, const struct sql_column_def *col)
{
	switch (p->tok.kind) {
	case T_UNIQUE:
	case T_COMMENT:
	case T_INVISIBLE:
	case T_CHECK:
	case T_IDENT:
	case T_QUOTED:
		return true;
	case T_NOT:
	case T_PRIMARY:
	case T_KEY:
		return col->row_time != SQL_ROW_TIME_NONE;
	default:
		return false;
	}
}

/* What may follow SERIAL in MariaDB. */
static bool serial_attribute(struct parser *p)
{
	switch (p->tok.kind) {
	case T_NOT:
	case T_UNIQUE:
	case T_PRIMARY:
	case T_KEY:
	case T_COMMENT:
	case T_INVISIBLE:
	case T_CHECK:
	case T_WITH:
	case T_WITHOUT:
	case T_IDENT:
	case T_QUOTED:
		return true;
	default:
		return false;
	}
}

static bool takes_collation(enum sql_type_kind kind)
{
	switch (kind) {
	case SQL_TYPE_CHAR:
	case SQL_TYPE_NCHAR:
	case SQL_TYPE_VARCHAR:
	case SQL_TYPE_NVARCHAR:
	case SQL_TYPE_TINYTEXT:
	case SQL_TYPE_TEXT:
	case SQL_TYPE_MEDIUMTEXT:
	case SQL_TYPE_LONGTEXT:
	case SQL_TYPE_ENUM:
	case SQL_TYPE_SET:
		return true;
	default:
		return false;
	}
}

/* After the column's name. */
static void parse_column_body(struct parser *p, struct sql_column_def *col)
{
	if (!is_maria(p) || (p->tok.kind != T_GENERATED && p->tok.kind != T_AS) ||
		(p->tok.kind == T_AS && parse_peek(p, 1).kind == T_LPAREN)) {
		col->has_type = true;
		parse_type(p, &col->type);
	}
	bool text = takes_collation(col->type.kind);
	if (p->tok.kind == T_COLLATE && (text || !is_maria(p))) {
		parse_advance(p);
		col->type.collate = parse_collation(p);
	}
	if (is_maria(p) && col->type.kind == SQL_TYPE_SERIAL) {
		while (serial_attribute(p) && parse_attribute(p, col))
			;
	} else if (p->tok.kind == T_GENERATED || p->tok.kind == T_AS) {
		parse_generated(p, col);
		while ((!is_maria(p) || generated_attribute(p, col)) && parse_attribute(p, col))
			;
	} else {
		while (parse_attribute(p, col))
			;
	}
	if (UNLIKELY(p->track)) {
		parse_want(p, T_NOT);
		parse_want(p, T_DEFAULT);
	}
}

struct sql_column_def *parse_column_def(struct parser *p, bool changed)
{
	struct sql_column_def *col = NEW(p, struct sql_column_def);
	uint32_t start = p->tok.start;

	col->name = parse_field_name(p);
	parse_column_body(p, col);
	/* The name of such a constraint is not kept by MariaDB either. */
	if (is_maria(p) && !changed && p->tok.kind == T_CONSTRAINT) {
		parse_advance(p);
		if (p->tok.kind != T_REFERENCES)
			parse_name(p);
		if (p->tok.kind != T_REFERENCES)
			parse_fail(p);
	}
	if (!changed && p->tok.kind == T_REFERENCES && !(is_maria(p) && col->generated))
		col->reference = parse_reference(p);
	col->loc = loc_from(p, start);
	return col;
}

struct sql_element *parse_element(struct parser *p, bool *if_not_exists)
{
	struct sql_element *el = NEW(p, struct sql_element);

	if (is_maria(p) && p->tok.kind == T_PERIOD &&
		(parse_peek(p, 1).kind == T_FOR ||
			(if_not_exists && parse_peek(p, 1).kind == T_IF))) {
		el->kind = SQL_ELEMENT_PERIOD;
		parse_advance(p);
		if (p->tok.kind == T_IF) {
			parse_advance(p);
			expect(p, T_NOT);
			expect(p, T_EXISTS);
			*if_not_exists = true;
		}
		expect(p, T_FOR);
		el->period = parse_name(p);
		expect(p, T_LPAREN);
		el->period_from = parse_name(p);
		expect(p, T_COMMA);
		el->period_to = parse_name(p);
		expect(p, T_RPAREN);
		return el;
	}
	el->key = parse_key(p);
	if (el->key) {
		el->kind = SQL_ELEMENT_KEY;
	} else {
		el->kind = SQL_ELEMENT_COLUMN;
		el->column = parse_column_def(p, false);
	}
	return el;
}

struct sql_element *parse_elements(struct parser *p)
{
	struct sql_element *list = NULL, **tail = &list;

	do {
		struct sql_element *el = parse_element(p, NULL);

		APPEND(tail, el);
	} while (accept(p, T_COMMA));
	return list;
}
