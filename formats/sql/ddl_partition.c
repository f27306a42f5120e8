/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PARTITION BY.  MySQL manual, "Partitioning Types".
 */
#include "sql/ddl.h"

static bool is_option_value(struct parser *p, enum token_kind option)
{
	switch (option) {
	case T_ENGINE:
		return p->tok.kind == T_STRING || at_name(p);
	case T_TABLESPACE:
		return at_name(p) || (is_maria(p) && p->tok.kind == T_STRING);
	case T_MAX_ROWS:
	case T_MIN_ROWS:
	case T_NODEGROUP:
		return p->tok.kind == T_L_INT || p->tok.kind == T_L_HEX;
	default: /* COMMENT, DATA DIRECTORY */
		return p->tok.kind == T_STRING;
	}
}

static void parse_partition_options(struct parser *p, bool sub, struct sql_option **tail)
{
	for (;;) {
		struct sql_option *opt;
		uint32_t start = p->tok.start;
		enum token_kind next = parse_peek(p, 1).kind, kind = p->tok.kind;

		switch (p->tok.kind) {
		case T_STORAGE:
			parse_advance(p);
			if (!at(p, T_ENGINE))
				parse_fail(p);
			kind = T_ENGINE;
			parse_advance(p);
			break;
		case T_ENGINE:
		case T_COMMENT:
		case T_MAX_ROWS:
		case T_MIN_ROWS:
		case T_TABLESPACE:
		case T_NODEGROUP:
			parse_advance(p);
			break;
		case T_DATA:
		case T_INDEX:
			if (next != T_DIRECTORY)
				return;
			parse_advance(p);
			parse_advance(p);
			break;
		default:
			if (sub || !at_plugin_option(p))
				return;
			opt = parse_plugin_option(p);
			APPEND(tail, opt);
			continue;
		}
		opt = option_new(p, parse_text(p, start));
		accept(p, T_EQ);
		if (!is_option_value(p, kind))
			parse_fail(p);
		option_value(p, opt);
		APPEND(tail, opt);
	}
}

static struct sql_expr *parse_partition_value(struct parser *p)
{
	if (p->tok.kind == T_MAXVALUE) {
		uint32_t start = p->tok.start;
		struct sql_expr *e;

		parse_advance(p);
		e = expr_new(p, SQL_EXPR_COLUMN, start);
		e->u.column.name = text_from(p, start);
		e->negated = true; /* the word, printed without quotes */
		return e;
	}
	return parse_bit_expr(p);
}

/* (a, b) as a value of VALUES IN ((a, b), (c, d)) */
static struct sql_expr *parse_partition_row(struct parser *p)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_ROW, p->tok.start);
	struct sql_expr **tail = &e->u.call.args.first;
	uint32_t start = p->tok.start;

	expect(p, T_LPAREN);
	do {
		exprs_add(&e->u.call.args, &tail, parse_partition_value(p));
	} while (accept(p, T_COMMA));
	expect(p, T_RPAREN);
	e->loc = loc_from(p, start);
	return e;
}

static void parse_partition_values(struct parser *p, struct sql_partition *part)
{
	struct sql_expr **tail = &part->values.first;

	parse_advance(p);
	if (accept(p, T_LESS)) {
		expect(p, T_THAN);
		part->less_than = true;
		if (accept(p, T_MAXVALUE)) {
			part->maxvalue = true;
			return;
		}
	} else {
		expect(p, T_IN);
		part->in = true;
	}
	expect(p, T_LPAREN);
	bool rows = part->in && p->tok.kind == T_LPAREN;

	do {
		exprs_add(&part->values, &tail,
			rows ? parse_partition_row(p) : parse_partition_value(p));
	} while (accept(p, T_COMMA));
	expect(p, T_RPAREN);
}

static struct sql_partition *parse_partitions(struct parser *p, bool sub)
{
	struct sql_partition *list = NULL, **tail = &list;

	expect(p, T_LPAREN);
	do {
		struct sql_partition *part = NEW(p, struct sql_partition);

		/* MariaDB does without the word. */
		if (sub)
			expect(p, T_SUBPARTITION);
		else if (!accept(p, T_PARTITION) && !is_maria(p))
			parse_fail(p);
		part->name = sub ? parse_name_or_string(p) : parse_name(p);
		if (!sub) {
			if (p->tok.kind == T_VALUES)
				parse_partition_values(p, part);
			else if (is_maria(p) && accept(p, T_HISTORY))
				part->history = true;
			else if (is_maria(p) && accept(p, T_CURRENT))
				part->current = true;
			else if (is_maria(p) && accept(p, T_DEFAULT))
				part->dflt = true;
		}
		parse_partition_options(p, sub, &part->options);
		if (!sub && p->tok.kind == T_LPAREN)
			part->subpartitions = parse_partitions(p, true);
		APPEND(tail, part);
	} while (accept(p, T_COMMA));
	expect(p, T_RPAREN);
	return list;
}

/* [INTERVAL n unit [STARTS when] | LIMIT n] [AUTO] of PARTITION BY SYSTEM_TIME: read, kept as text. */
static void parse_rotation(struct parser *p)
{
	if (accept(p, T_LIMIT)) {
		accept(p, T_PLUS);
		if (p->tok.kind != T_L_INT)
			parse_fail(p);
		parse_number(p);
	} else if (accept(p, T_INTERVAL)) {
		parse_expr(p);
		parse_unit(p);
		if (accept(p, T_STARTS))
			parse_operand(p);
	} else {
		return;
	}
	if (is_maria(p) && p->opt.version >= 100900)
		accept(p, T_AUTO);
}

/* HASH (e) | KEY (a, b) | RANGE | LIST ..., after BY. */
static void parse_partition_method(struct parser *p, struct sql_partition_by *by, bool sub)
{
	by->linear = accept(p, T_LINEAR);
	if (accept(p, T_HASH)) {
		by->method = SQL_PARTITION_HASH;
	} else if (accept(p, T_KEY)) {
		by->method = SQL_PARTITION_KEY;
		if (accept(p, T_ALGORITHM)) {
			uint64_t algorithm;

			expect(p, T_EQ);
			by->algorithm = parse_number(p);
			if (!parse_digits(by->algorithm, &algorithm) || algorithm < 1 || algorithm > 2)
				parse_fail_why(p, "ALGORITHM is 1 or 2, before this");
		}
		expect(p, T_LPAREN);
		/* None: the primary key, but not of subpartitions. */
		if (sub || p->tok.kind != T_RPAREN)
			by->names = parse_names(p);
		expect(p, T_RPAREN);
		return;
	} else if (!sub && is_maria(p) && p->tok.kind == T_SYSTEM_TIME) {
		uint32_t start;

		parse_advance(p);
		by->method = SQL_PARTITION_SYSTEM_TIME;
		start = p->tok.start;
		parse_rotation(p);
		if (p->last_end > start)
			by->system_time = parse_text(p, start);
		return;
	} else if (!sub && !by->linear && (p->tok.kind == T_RANGE || p->tok.kind == T_LIST)) {
		by->method = p->tok.kind == T_RANGE ? SQL_PARTITION_RANGE : SQL_PARTITION_LIST;
		parse_advance(p);
		if (accept(p, T_COLUMNS) || (p->tok.kind == T_FIELDS && accept(p, T_FIELDS))) {
			by->columns = true;
			if (is_maria(p) && p->tok.kind == T_LPAREN &&
				parse_peek(p, 1).kind == T_RPAREN) {
				parse_advance(p);
				parse_advance(p);
				return;
			}
			by->names = parse_paren_names(p);
			return;
		}
	} else {
		if (UNLIKELY(p->track)) {
			parse_want(p, T_RANGE);
			parse_want(p, T_LIST);
		}
		parse_fail(p);
		return;
	}
	expect(p, T_LPAREN);
	/* VALUES(c) is a function here too, to the grammar. */
	p->in_duplicate = true;
	p->no_query = !is_maria(p);
	by->expr = parse_bit_expr(p);
	p->in_duplicate = p->no_query = false;
	expect(p, T_RPAREN);
}

/* PARTITION is current. */
struct sql_partition_by *parse_partition_by(struct parser *p)
{
	struct sql_partition_by *by = NEW(p, struct sql_partition_by);

	parse_advance(p);
	expect(p, T_BY);
	parse_partition_method(p, by, false);
	if (accept(p, T_PARTITIONS))
		by->count = parse_number(p);
	if (accept(p, T_SUBPARTITION)) {
		expect(p, T_BY);
		by->sub = NEW(p, struct sql_partition_by);
		parse_partition_method(p, by->sub, true);
		if (accept(p, T_SUBPARTITIONS))
			by->sub->count = parse_number(p);
	}
	if (p->tok.kind == T_LPAREN)
		by->partitions = parse_partitions(p, false);
	return by;
}
