/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions back to text.
 *
 * Parentheses: each kind of expression has the level of the grammar rule that makes it, and a place
 * asks for a least level.  Chains of operators may be very long and lean to the left, so those are
 * printed with a stack of their own instead of by recursion; everything else nests no deeper than
 * the parser allowed.
 */
#include "sql/print.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "sql/token.h"

/* ------------------------------------------------------------------ levels */

enum level {
	LEVEL_ASSIGN, /* @x := takes everything after it */
	LEVEL_OR,
	LEVEL_XOR,
	LEVEL_AND,
	LEVEL_NOT,
	LEVEL_TEST,
	LEVEL_PREDICATE,
	LEVEL_BIT_OR,
	LEVEL_BIT_AND,
	LEVEL_SHIFT,
	LEVEL_ADD,
	LEVEL_MUL,
	LEVEL_BIT_XOR,
	LEVEL_CONCAT,
	LEVEL_UNARY,
	LEVEL_SIMPLE, /* COLLATE, -> */
	LEVEL_OPERAND,
};

/* How tightly an operator binds, and how it is written. */
struct op_form {
	enum level level;
	const char *text;
};

static struct op_form op_form(enum sql_op op)
{
	switch (op) {
	case SQL_OP_OR:
		return (struct op_form){LEVEL_OR, " OR "};
	case SQL_OP_XOR:
		return (struct op_form){LEVEL_XOR, " XOR "};
	case SQL_OP_AND:
		return (struct op_form){LEVEL_AND, " AND "};
	case SQL_OP_NOT:
		return (struct op_form){LEVEL_NOT, "NOT "};
	case SQL_OP_EQ:
		return (struct op_form){LEVEL_TEST, " = "};
	case SQL_OP_NULL_EQ:
		return (struct op_form){LEVEL_TEST, " <=> "};
	case SQL_OP_NE:
		return (struct op_form){LEVEL_TEST, " <> "};
	case SQL_OP_LT:
		return (struct op_form){LEVEL_TEST, " < "};
	case SQL_OP_LE:
		return (struct op_form){LEVEL_TEST, " <= "};
	case SQL_OP_GT:
		return (struct op_form){LEVEL_TEST, " > "};
	case SQL_OP_GE:
		return (struct op_form){LEVEL_TEST, " >= "};
	case SQL_OP_REGEXP:
		return (struct op_form){LEVEL_PREDICATE, " REGEXP "};
	case SQL_OP_SOUNDS_LIKE:
		return (struct op_form){LEVEL_PREDICATE, " SOUNDS LIKE "};
	case SQL_OP_MEMBER_OF:
		return (struct op_form){LEVEL_PREDICATE, " MEMBER OF ("};
	case SQL_OP_BIT_OR:
		return (struct op_form){LEVEL_BIT_OR, " | "};
	case SQL_OP_BIT_AND:
		return (struct op_form){LEVEL_BIT_AND, " & "};
	case SQL_OP_SHIFT_LEFT:
		return (struct op_form){LEVEL_SHIFT, " << "};
	case SQL_OP_SHIFT_RIGHT:
		return (struct op_form){LEVEL_SHIFT, " >> "};
	case SQL_OP_ADD:
		return (struct op_form){LEVEL_ADD, " + "};
	case SQL_OP_SUB:
		return (struct op_form){LEVEL_ADD, " - "};
	case SQL_OP_MUL:
		return (struct op_form){LEVEL_MUL, " * "};
	case SQL_OP_DIV:
		return (struct op_form){LEVEL_MUL, " / "};
	case SQL_OP_INT_DIV:
		return (struct op_form){LEVEL_MUL, " DIV "};
	case SQL_OP_MOD:
		return (struct op_form){LEVEL_MUL, " % "};
	case SQL_OP_BIT_XOR:
		return (struct op_form){LEVEL_BIT_XOR, " ^ "};
	case SQL_OP_CONCAT:
		return (struct op_form){LEVEL_CONCAT, " || "};
	case SQL_OP_BANG:
		return (struct op_form){LEVEL_UNARY, "! "};
	case SQL_OP_NEG:
		return (struct op_form){LEVEL_UNARY, "- "};
	case SQL_OP_PLUS:
		return (struct op_form){LEVEL_UNARY, "+ "};
	case SQL_OP_BIT_NOT:
		return (struct op_form){LEVEL_UNARY, "~ "};
	case SQL_OP_BINARY:
		return (struct op_form){LEVEL_UNARY, "BINARY "};
	case SQL_OP_JSON_EXTRACT:
		return (struct op_form){LEVEL_SIMPLE, "->"};
	case SQL_OP_JSON_UNQUOTE:
		return (struct op_form){LEVEL_SIMPLE, "->>"};
	case SQL_OP_IS_NULL:
		return (struct op_form){LEVEL_OPERAND, "NULL"};
	case SQL_OP_IS_TRUE:
		return (struct op_form){LEVEL_OPERAND, "TRUE"};
	case SQL_OP_IS_FALSE:
		return (struct op_form){LEVEL_OPERAND, "FALSE"};
	case SQL_OP_IS_UNKNOWN:
		return (struct op_form){LEVEL_OPERAND, "UNKNOWN"};
	case SQL_OP_IS_JSON:
		return (struct op_form){LEVEL_OPERAND, "JSON"};
	case SQL_OP_NEXT_VALUE:
		return (struct op_form){LEVEL_OPERAND, "NEXT VALUE FOR "};
	case SQL_OP_PREVIOUS_VALUE:
		return (struct op_form){LEVEL_OPERAND, "PREVIOUS VALUE FOR "};
	case SQL_OP_NONE:
		break;
	}
	return (struct op_form){LEVEL_OPERAND, ""};
}

static enum level expr_level(const struct sql_expr *e)
{
	switch ((enum sql_expr_kind)e->kind) {
	case SQL_EXPR_UNARY:
	case SQL_EXPR_BINARY:
		return op_form((enum sql_op)e->op).level;
	case SQL_EXPR_IS:
	case SQL_EXPR_QUANTIFIED:
		return LEVEL_TEST;
	case SQL_EXPR_IN:
	case SQL_EXPR_BETWEEN:
	case SQL_EXPR_LIKE:
		return LEVEL_PREDICATE;
	case SQL_EXPR_INTERVAL:
		return e->u.interval.date ? LEVEL_ADD : LEVEL_OPERAND;
	case SQL_EXPR_COLLATE:
		return LEVEL_SIMPLE;
	case SQL_EXPR_ASSIGN:
		return LEVEL_ASSIGN;
	case SQL_EXPR_LITERAL:
	case SQL_EXPR_COLUMN:
	case SQL_EXPR_STAR:
	case SQL_EXPR_PARAM:
	case SQL_EXPR_USER_VAR:
	case SQL_EXPR_SYSTEM_VAR:
	case SQL_EXPR_EXISTS:
	case SQL_EXPR_SUBQUERY:
	case SQL_EXPR_ROW:
	case SQL_EXPR_CASE:
	case SQL_EXPR_CALL:
	case SQL_EXPR_CAST:
	case SQL_EXPR_CONVERT_USING:
	case SQL_EXPR_DATE_FUNC:
	case SQL_EXPR_EXTRACT:
	case SQL_EXPR_TRIM:
	case SQL_EXPR_POSITION:
	case SQL_EXPR_DEFAULT:
	case SQL_EXPR_VALUES:
	case SQL_EXPR_MATCH:
	case SQL_EXPR_SEQUENCE:
	case SQL_EXPR_ODBC:
		return LEVEL_OPERAND;
	}
	return LEVEL_OPERAND;
}

static const char *unit_text(enum sql_unit unit)
{
	switch (unit) {
	case SQL_UNIT_MICROSECOND:
		return "MICROSECOND";
	case SQL_UNIT_SECOND:
		return "SECOND";
	case SQL_UNIT_MINUTE:
		return "MINUTE";
	case SQL_UNIT_HOUR:
		return "HOUR";
	case SQL_UNIT_DAY:
		return "DAY";
	case SQL_UNIT_WEEK:
		return "WEEK";
	case SQL_UNIT_MONTH:
		return "MONTH";
	case SQL_UNIT_QUARTER:
		return "QUARTER";
	case SQL_UNIT_YEAR:
		return "YEAR";
	case SQL_UNIT_SECOND_MICROSECOND:
		return "SECOND_MICROSECOND";
	case SQL_UNIT_MINUTE_MICROSECOND:
		return "MINUTE_MICROSECOND";
	case SQL_UNIT_MINUTE_SECOND:
		return "MINUTE_SECOND";
	case SQL_UNIT_HOUR_MICROSECOND:
		return "HOUR_MICROSECOND";
	case SQL_UNIT_HOUR_SECOND:
		return "HOUR_SECOND";
	case SQL_UNIT_HOUR_MINUTE:
		return "HOUR_MINUTE";
	case SQL_UNIT_DAY_MICROSECOND:
		return "DAY_MICROSECOND";
	case SQL_UNIT_DAY_SECOND:
		return "DAY_SECOND";
	case SQL_UNIT_DAY_MINUTE:
		return "DAY_MINUTE";
	case SQL_UNIT_DAY_HOUR:
		return "DAY_HOUR";
	case SQL_UNIT_YEAR_MONTH:
		return "YEAR_MONTH";
	}
	return "DAY";
}

/* ------------------------------------------------------------------ operands */

static void put_level(struct printer *p, const struct sql_expr *e, enum level least);

static void put_literal(struct printer *p, const struct sql_expr *e)
{
	if (e->u.literal.charset.ptr) {
		put(p, "_");
		put_span(p, e->u.literal.charset);
		put(p, " ");
	}
	switch ((enum sql_literal_kind)e->u.literal.kind) {
	case SQL_LIT_NULL:
		put(p, "NULL");
		return;
	case SQL_LIT_TRUE:
		put(p, "TRUE");
		return;
	case SQL_LIT_FALSE:
		put(p, "FALSE");
		return;
	case SQL_LIT_INT:
	case SQL_LIT_DECIMAL:
	case SQL_LIT_FLOAT:
		put_span(p, e->u.literal.text);
		return;
	case SQL_LIT_HEX:
		/* 0x takes any number of digits, x'' an even one; to MariaDB they differ. */
		put(p, e->u.literal.quoted || !e->u.literal.text.len ? "x'" : "0x");
		put_span(p, e->u.literal.text);
		put(p, e->u.literal.quoted || !e->u.literal.text.len ? "'" : "");
		return;
	case SQL_LIT_BIT:
		put(p, e->u.literal.text.len ? "0b" : "b''");
		put_span(p, e->u.literal.text);
		return;
	case SQL_LIT_NSTRING:
		put(p, "N");
		break;
	case SQL_LIT_DATE:
		put(p, "DATE ");
		break;
	case SQL_LIT_TIME:
		put(p, "TIME ");
		break;
	case SQL_LIT_TIMESTAMP:
		put(p, "TIMESTAMP ");
		break;
	case SQL_LIT_STRING:
		break;
	}
	put_string(p, e->u.literal.text);
}

static void put_column(struct printer *p, const struct sql_expr *e)
{
	if (e->u.column.db.ptr) {
		put_name(p, e->u.column.db);
		put(p, ".");
	}
	if (e->u.column.table.ptr) {
		put_name(p, e->u.column.table);
		put(p, ".");
	}
	if (e->kind == SQL_EXPR_STAR)
		put(p, "*");
	else if (e->negated) /* a word: SET x = ON, VALUES LESS THAN (MAXVALUE) */
		put_span(p, e->u.column.name);
	else
		put_name(p, e->u.column.name);
}

void put_scope(struct printer *p, enum sql_scope scope, const char *behind)
{
	static const char *const names[] = {"", "SESSION", "GLOBAL", "PERSIST", "PERSIST_ONLY"};

	if (scope == SQL_SCOPE_NONE)
		return;
	put(p, names[scope]);
	put(p, behind);
}

static void put_var(struct printer *p, const struct sql_expr *e)
{
	if (e->kind == SQL_EXPR_USER_VAR) {
		put(p, "@");
		put_name(p, e->u.var.name);
		return;
	}
	put(p, "@@");
	put_scope(p, (enum sql_scope)e->u.var.scope, ".");
	if (e->u.var.base.ptr) {
		put_name(p, e->u.var.base);
		put(p, ".");
	}
	put_name(p, e->u.var.name);
}

static void put_case(struct printer *p, const struct sql_expr *e)
{
	put(p, "CASE");
	if (e->u.kase.value) {
		put(p, " ");
		put_expr(p, e->u.kase.value);
	}
	for (const struct sql_when *w = e->u.kase.whens; w; w = w->next) {
		put(p, " WHEN ");
		put_expr(p, w->when);
		put(p, " THEN ");
		put_expr(p, w->then);
	}
	if (e->u.kase.otherwise) {
		put(p, " ELSE ");
		put_expr(p, e->u.kase.otherwise);
	}
	put(p, " END");
}

void put_exprs(struct printer *p, struct sql_exprs list)
{
	for (const struct sql_expr *e = list.first; e; e = e->next) {
		put_expr(p, e);
		if (e->next)
			put(p, ", ");
	}
}

void put_window(struct printer *p, const struct sql_window *w)
{
	if (!w->parenthesised) {
		put_name(p, w->name);
		return;
	}
	put(p, "(");
	size_t start = p->out->len;
	if (w->base.ptr)
		put_name(p, w->base);
	if (w->partition.count) {
		put(p, p->out->len > start ? " PARTITION BY " : "PARTITION BY ");
		put_exprs(p, w->partition);
	}
	if (w->order)
		put_order(p, p->out->len > start ? " ORDER BY " : "ORDER BY ", w->order);
	if (w->frame.ptr) {
		if (p->out->len > start)
			put(p, " ");
		put_span(p, w->frame);
	}
	put(p, ")");
}

static void put_call_extra(struct printer *p, const struct sql_call_extra *x)
{
	if (x->within_group) {
		put(p, ") WITHIN GROUP (");
		put_order(p, "ORDER BY ", x->order);
	} else if (x->order) {
		put_order(p, " ORDER BY ", x->order);
	}
	if (x->separator.ptr) {
		put(p, " SEPARATOR ");
		put_string(p, x->separator);
	}
	if (x->limit) {
		put(p, " LIMIT ");
		if (x->offset) {
			put_expr(p, x->offset);
			put(p, ", ");
		}
		put_expr(p, x->limit);
	}
	if (x->using_charset.ptr) {
		put(p, " USING ");
		put_name(p, x->using_charset);
	}
	if (x->tail.ptr) {
		put(p, " ");
		put_span(p, x->tail);
	}
}

static void put_call(struct printer *p, const struct sql_expr *e)
{
	const struct sql_call_extra *x = e->u.call.extra;

	if (e->u.call.db.ptr) {
		put_name(p, e->u.call.db);
		put(p, ".");
	}
	if (x && x->package.ptr) {
		put_name(p, x->package);
		put(p, ".");
	}
	if (e->u.call.quoted)
		put_name(p, e->u.call.name);
	else
		put_span(p, e->u.call.name);
	put(p, "(");
	if (x && x->first.ptr) {
		put_span(p, x->first);
		put(p, ", ");
	}
	if (x && x->distinct)
		put(p, "DISTINCT ");
	if (x && x->star)
		put(p, "*");
	put_exprs(p, e->u.call.args);
	if (x)
		put_call_extra(p, x);
	put(p, ")");
	if (x && x->nulls.ptr) {
		put(p, " ");
		put_span(p, x->nulls);
	}
	if (x && x->over) {
		put(p, " OVER ");
		put_window(p, x->over);
	}
}

static void put_cast(struct printer *p, const struct sql_expr *e)
{
	put(p, e->u.cast.convert ? "CONVERT(" : "CAST(");
	put_expr(p, e->u.cast.left);
	if (e->kind == SQL_EXPR_CONVERT_USING) {
		put(p, " USING ");
		put_name(p, e->u.cast.charset);
	} else {
		if (e->u.cast.zone.ptr) {
			put(p, " AT TIME ZONE ");
			put_string(p, e->u.cast.zone);
		}
		put(p, e->u.cast.convert ? ", " : " AS ");
		put_cast_type(p, e->u.cast.type);
	}
	put(p, ")");
}

static void put_date_func(struct printer *p, const struct sql_expr *e)
{
	const char *unit = unit_text((enum sql_unit)e->u.interval.unit);
	struct span name = e->u.interval.name;

	put_span(p, name);
	put(p, "(");
	if (span_ieq_str(name, "timestampadd") || span_ieq_str(name, "timestampdiff")) {
		put(p, unit);
		put(p, ", ");
		put_expr(p, e->u.interval.left);
		put(p, ", ");
		put_expr(p, e->u.interval.date);
	} else {
		put_expr(p, e->u.interval.date);
		put(p, e->u.interval.bare ? ", " : ", INTERVAL ");
		put_expr(p, e->u.interval.left);
		if (!e->u.interval.bare) {
			put(p, " ");
			put(p, unit);
		}
	}
	put(p, ")");
}

static void put_trim(struct printer *p, const struct sql_expr *e)
{
	static const char *const where[] = {"", "BOTH ", "LEADING ", "TRAILING "};

	put(p, "TRIM(");
	put(p, where[e->u.trim.where]);
	if (e->u.trim.what) {
		put_expr(p, e->u.trim.what);
		put(p, " ");
	}
	if (e->u.trim.what || e->u.trim.where != SQL_TRIM_NONE)
		put(p, "FROM ");
	put_expr(p, e->u.trim.left);
	put(p, ")");
}

static void put_match(struct printer *p, const struct sql_expr *e)
{
	put(p, "MATCH (");
	put_exprs(p, e->u.match.columns);
	put(p, ") AGAINST (");
	put_level(p, e->u.match.against, LEVEL_BIT_OR);
	if (e->u.match.mode.ptr) {
		put(p, " ");
		put_span(p, e->u.match.mode);
	}
	put(p, ")");
}

/* What a test or predicate asks of its left operand.  MySQL: IS TRUE ends an expression, and an
 * operand of a predicate is a bit expression.  MariaDB: a BETWEEN b AND c LIKE d would give LIKE to
 * the last operand, and a LIKE b NOT LIKE c the second to the pattern. */
static enum level operand_least(
	const struct printer *p, const struct sql_expr *left, enum level level)
{
	bool mysql = p->opt.flavour == SQL_MYSQL;

	if (level == LEVEL_PREDICATE &&
		(mysql || left->kind == SQL_EXPR_BETWEEN || left->kind == SQL_EXPR_LIKE ||
			(left->kind == SQL_EXPR_BINARY && left->op == SQL_OP_REGEXP)))
		return LEVEL_BIT_OR;
	if (level == LEVEL_TEST && mysql && left->kind == SQL_EXPR_IS && left->op != SQL_OP_IS_NULL)
		return LEVEL_PREDICATE;
	return level;
}

static void put_in(struct printer *p, const struct sql_expr *e)
{
	static const char *const quantifiers[] = {"ANY (", "SOME (", "ALL ("};
	bool test = e->kind == SQL_EXPR_QUANTIFIED;

	enum level least = operand_least(p, e->u.in.left, test ? LEVEL_TEST : LEVEL_PREDICATE);

	put_level(p, e->u.in.left, least);
	if (test) {
		put(p, op_form((enum sql_op)e->op).text);
		put(p, quantifiers[e->quantifier]);
	} else {
		put(p, e->negated ? " NOT IN (" : " IN (");
	}
	if (e->u.in.query)
		put_query(p, e->u.in.query);
	else
		put_exprs(p, e->u.in.list);
	put(p, ")");
}

static void put_between(struct printer *p, const struct sql_expr *e)
{
	bool maria = p->opt.flavour == SQL_MARIADB;
	bool like = e->kind == SQL_EXPR_LIKE;
	const struct sql_expr *left = e->u.between.left;

	put_level(p, left, operand_least(p, left, LEVEL_PREDICATE));
	put(p, e->negated ? " NOT" : "");
	put(p, like ? " LIKE " : " BETWEEN ");
	if (like) {
		put_level(p, e->u.between.low, maria ? LEVEL_BIT_OR : LEVEL_UNARY);
		if (e->u.between.high) {
			put(p, " ESCAPE ");
			put_level(p, e->u.between.high, maria ? LEVEL_BIT_OR : LEVEL_UNARY);
		}
		return;
	}
	put_level(p, e->u.between.low, LEVEL_BIT_OR);
	put(p, " AND ");
	put_level(p, e->u.between.high, LEVEL_BIT_OR);
}

static void put_operand(struct printer *p, const struct sql_expr *e)
{
	switch ((enum sql_expr_kind)e->kind) {
	case SQL_EXPR_LITERAL:
		put_literal(p, e);
		return;
	case SQL_EXPR_COLUMN:
	case SQL_EXPR_STAR:
		put_column(p, e);
		return;
	case SQL_EXPR_PARAM:
		put(p, "?");
		return;
	case SQL_EXPR_USER_VAR:
	case SQL_EXPR_SYSTEM_VAR:
		put_var(p, e);
		return;
	case SQL_EXPR_ASSIGN:
		put_var(p, e->u.binary.left);
		put(p, " := ");
		put_expr(p, e->u.binary.right);
		return;
	case SQL_EXPR_UNARY:
		put(p, op_form((enum sql_op)e->op).text);
		put_level(p, e->u.binary.left, e->op == SQL_OP_NOT ? LEVEL_NOT : LEVEL_UNARY);
		return;
	case SQL_EXPR_IS:
		put_level(p, e->u.binary.left, operand_least(p, e->u.binary.left, LEVEL_TEST));
		put(p, e->negated ? " IS NOT " : " IS ");
		put(p, op_form((enum sql_op)e->op).text);
		return;
	case SQL_EXPR_IN:
	case SQL_EXPR_QUANTIFIED:
		put_in(p, e);
		return;
	case SQL_EXPR_BETWEEN:
	case SQL_EXPR_LIKE:
		put_between(p, e);
		return;
	case SQL_EXPR_EXISTS:
		put(p, "EXISTS (");
		put_query(p, e->u.in.query);
		put(p, ")");
		return;
	case SQL_EXPR_SUBQUERY:
		put(p, "(");
		put_query(p, e->u.in.query);
		put(p, ")");
		return;
	case SQL_EXPR_ROW:
		put(p, "(");
		put_exprs(p, e->u.call.args);
		put(p, ")");
		return;
	case SQL_EXPR_CASE:
		put_case(p, e);
		return;
	case SQL_EXPR_CALL:
		put_call(p, e);
		return;
	case SQL_EXPR_CAST:
	case SQL_EXPR_CONVERT_USING:
		put_cast(p, e);
		return;
	case SQL_EXPR_COLLATE:
		put_level(p, e->u.cast.left, LEVEL_SIMPLE);
		put(p, " COLLATE ");
		put_name(p, e->u.cast.charset);
		return;
	case SQL_EXPR_INTERVAL: /* without a date: in a frame clause, printed as text there */
		put(p, "INTERVAL ");
		put_expr(p, e->u.interval.left);
		put(p, " ");
		put(p, unit_text((enum sql_unit)e->u.interval.unit));
		return;
	case SQL_EXPR_DATE_FUNC:
		put_date_func(p, e);
		return;
	case SQL_EXPR_EXTRACT:
		put(p, "EXTRACT(");
		put(p, unit_text((enum sql_unit)e->u.interval.unit));
		put(p, " FROM ");
		put_expr(p, e->u.interval.left);
		put(p, ")");
		return;
	case SQL_EXPR_TRIM:
		put_trim(p, e);
		return;
	case SQL_EXPR_POSITION:
		put(p, "POSITION(");
		put_level(p, e->u.binary.left, LEVEL_BIT_OR);
		put(p, " IN ");
		put_expr(p, e->u.binary.right);
		put(p, ")");
		return;
	case SQL_EXPR_DEFAULT:
		put(p, e->negated ? "IGNORE" : "DEFAULT");
		if (e->u.binary.left) {
			put(p, "(");
			put_expr(p, e->u.binary.left);
			put(p, ")");
		}
		return;
	case SQL_EXPR_VALUES:
		/* MariaDB takes VALUES( for a query inside a subquery. */
		put(p, p->opt.flavour == SQL_MARIADB ? "VALUE(" : "VALUES(");
		put_expr(p, e->u.binary.left);
		put(p, ")");
		return;
	case SQL_EXPR_MATCH:
		put_match(p, e);
		return;
	case SQL_EXPR_SEQUENCE:
		put(p, op_form((enum sql_op)e->op).text);
		put_column(p, e);
		return;
	case SQL_EXPR_ODBC:
		put(p, "{");
		put_name(p, e->u.call.name);
		put(p, " ");
		put_expr(p, e->u.call.args.first);
		put(p, "}");
		return;
	case SQL_EXPR_BINARY:
		break;
	}
	BUG("operand of kind %d", e->kind);
}

/* ------------------------------------------------------------------ chains of operators */

static bool is_chain(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_BINARY ||
	       (e->kind == SQL_EXPR_INTERVAL && e->u.interval.date != NULL);
}

static const struct sql_expr *chain_left(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_BINARY ? e->u.binary.left : e->u.interval.date;
}

static enum level left_least(const struct printer *p, const struct sql_expr *e)
{
	return operand_least(p, chain_left(e), expr_level(e));
}

static void put_right(struct printer *p, const struct sql_expr *e)
{
	enum level level = expr_level(e);

	if (e->kind == SQL_EXPR_INTERVAL) {
		put(p, e->op == SQL_OP_SUB ? " - INTERVAL " : " + INTERVAL ");
		/* INTERVAL (a) ... would be read as one operand with what follows it. */
		put_expr(p, e->u.interval.left);
		put(p, " ");
		put(p, unit_text((enum sql_unit)e->u.interval.unit));
		return;
	}
	if (e->negated)
		put(p, " NOT");
	put(p, op_form((enum sql_op)e->op).text);
	if (level == LEVEL_TEST)
		put_level(p, e->u.binary.right, LEVEL_PREDICATE);
	else if (level == LEVEL_PREDICATE)
		put_level(p, e->u.binary.right,
			e->op == SQL_OP_MEMBER_OF ? LEVEL_UNARY : LEVEL_BIT_OR);
	else
		put_level(p, e->u.binary.right, (enum level)(level + 1));
	if (e->op == SQL_OP_MEMBER_OF)
		put(p, ")");
}

/* Down the left side first, opening parentheses; then up again. */
static void put_chain(struct printer *p, const struct sql_expr *top, enum level least)
{
	const struct sql_expr *fixed[64], **stack = fixed, *e = top;
	size_t count = 0, capacity = ARRAY_LEN(fixed);
	enum level want = least;

	while (is_chain(e)) {
		if (count == capacity) {
			const struct sql_expr **more = mem_alloc(2 * capacity * sizeof(*more));

			memcpy(more, stack, count * sizeof(*more));
			if (stack != fixed)
				mem_free(stack);
			stack = more;
			capacity *= 2;
		}
		if (expr_level(e) < want || p->explicit)
			put(p, "(");
		stack[count++] = e;
		want = left_least(p, e);
		e = chain_left(e);
	}
	put_level(p, e, want);
	while (count > 0) {
		e = stack[--count];
		put_right(p, e);
		want = count ? left_least(p, stack[count - 1]) : least;
		if (expr_level(e) < want || p->explicit)
			put(p, ")");
	}
	if (stack != fixed)
		mem_free(stack);
}

static void put_level(struct printer *p, const struct sql_expr *e, enum level least)
{
	if (is_chain(e)) {
		put_chain(p, e, least);
		return;
	}
	bool parens = expr_level(e) < least || (p->explicit && expr_level(e) < LEVEL_OPERAND);

	if (parens)
		put(p, "(");
	put_operand(p, e);
	if (parens)
		put(p, ")");
}

void put_expr(struct printer *p, const struct sql_expr *e)
{
	put_level(p, e, LEVEL_ASSIGN);
}

void put_simple(struct printer *p, const struct sql_expr *e)
{
	put_level(p, e, LEVEL_UNARY);
}

void put_bit(struct printer *p, const struct sql_expr *e)
{
	put_level(p, e, LEVEL_BIT_OR);
}

void sql_print_expr(const struct sql_expr *expr, const struct sql_options *opt, struct buf *out)
{
	struct printer p = {out, *opt, false};

	put_expr(&p, expr);
}
