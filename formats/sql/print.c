/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree back to text.  The form is canonical: keywords in upper case, every name in backticks,
 * parentheses only where the grammar needs them, synonyms written one way (FROM t LIMIT 1, 2 comes
 * out as LIMIT 2 OFFSET 1).
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

void put(struct printer *p, const char *s)
{
	buf_add_str(p->out, s);
}

void put_span(struct printer *p, struct span s)
{
	buf_add_span(p->out, s);
}

void sql_print_name(struct span name, struct buf *out)
{
	buf_add_char(out, '`');
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '`')
			buf_add_char(out, '`');
		buf_add_char(out, name.ptr[i]);
	}
	buf_add_char(out, '`');
}

void put_name(struct printer *p, struct span name)
{
	sql_print_name(name, p->out);
}

void sql_print_string(struct span value, const struct sql_options *opt, struct buf *out)
{
	bool escapes = !(opt->mode & SQL_MODE_NO_BACKSLASH_ESCAPES);

	buf_add_char(out, '\'');
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];

		if (c == '\'') {
			buf_add_str(out, "''");
		} else if (c == '\\' && escapes) {
			buf_add_str(out, "\\\\");
		} else if (c == '\0' && escapes) {
			buf_add_str(out, "\\0");
		} else {
			buf_add_char(out, c);
		}
	}
	buf_add_char(out, '\'');
}

void put_string(struct printer *p, struct span value)
{
	sql_print_string(value, &p->opt, p->out);
}

void put_names(struct printer *p, const struct sql_names *names)
{
	put(p, "(");
	for (const struct sql_names *n = names; n; n = n->next) {
		put_name(p, n->name);
		if (n->next)
			put(p, ", ");
	}
	put(p, ")");
}

void put_table(struct printer *p, const struct sql_table_name *table)
{
	if (table->db.ptr) {
		put_name(p, table->db);
		put(p, ".");
	}
	put_name(p, table->name);
}

/* ------------------------------------------------------------------ levels */

enum level {
	LEVEL_ASSIGN, /* @x := takes everything behind it */
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

static enum level op_level(enum sql_op op)
{
	switch (op) {
	case SQL_OP_OR:
		return LEVEL_OR;
	case SQL_OP_XOR:
		return LEVEL_XOR;
	case SQL_OP_AND:
		return LEVEL_AND;
	case SQL_OP_NOT:
		return LEVEL_NOT;
	case SQL_OP_EQ:
	case SQL_OP_NULL_EQ:
	case SQL_OP_NE:
	case SQL_OP_LT:
	case SQL_OP_LE:
	case SQL_OP_GT:
	case SQL_OP_GE:
		return LEVEL_TEST;
	case SQL_OP_REGEXP:
	case SQL_OP_SOUNDS_LIKE:
	case SQL_OP_MEMBER_OF:
		return LEVEL_PREDICATE;
	case SQL_OP_BIT_OR:
		return LEVEL_BIT_OR;
	case SQL_OP_BIT_AND:
		return LEVEL_BIT_AND;
	case SQL_OP_SHIFT_LEFT:
	case SQL_OP_SHIFT_RIGHT:
		return LEVEL_SHIFT;
	case SQL_OP_ADD:
	case SQL_OP_SUB:
		return LEVEL_ADD;
	case SQL_OP_MUL:
	case SQL_OP_DIV:
	case SQL_OP_INT_DIV:
	case SQL_OP_MOD:
		return LEVEL_MUL;
	case SQL_OP_BIT_XOR:
		return LEVEL_BIT_XOR;
	case SQL_OP_CONCAT:
		return LEVEL_CONCAT;
	case SQL_OP_BANG:
	case SQL_OP_NEG:
	case SQL_OP_PLUS:
	case SQL_OP_BIT_NOT:
	case SQL_OP_BINARY:
		return LEVEL_UNARY;
	case SQL_OP_JSON_EXTRACT:
	case SQL_OP_JSON_UNQUOTE:
		return LEVEL_SIMPLE;
	case SQL_OP_NONE:
	case SQL_OP_IS_NULL:
	case SQL_OP_IS_TRUE:
	case SQL_OP_IS_FALSE:
	case SQL_OP_IS_UNKNOWN:
	case SQL_OP_IS_JSON:
	case SQL_OP_NEXT_VALUE:
	case SQL_OP_PREVIOUS_VALUE:
		break;
	}
	return LEVEL_OPERAND;
}

static enum level expr_level(const struct sql_expr *e)
{
	switch ((enum sql_expr_kind)e->kind) {
	case SQL_EXPR_UNARY:
	case SQL_EXPR_BINARY:
		return op_level((enum sql_op)e->op);
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

static const char *op_text(enum sql_op op)
{
	switch (op) {
	case SQL_OP_OR:
		return " OR ";
	case SQL_OP_XOR:
		return " XOR ";
	case SQL_OP_AND:
		return " AND ";
	case SQL_OP_EQ:
		return " = ";
	case SQL_OP_NULL_EQ:
		return " <=> ";
	case SQL_OP_NE:
		return " <> ";
	case SQL_OP_LT:
		return " < ";
	case SQL_OP_LE:
		return " <= ";
	case SQL_OP_GT:
		return " > ";
	case SQL_OP_GE:
		return " >= ";
	case SQL_OP_REGEXP:
		return " REGEXP ";
	case SQL_OP_SOUNDS_LIKE:
		return " SOUNDS LIKE ";
	case SQL_OP_MEMBER_OF:
		return " MEMBER OF (";
	case SQL_OP_BIT_OR:
		return " | ";
	case SQL_OP_BIT_AND:
		return " & ";
	case SQL_OP_SHIFT_LEFT:
		return " << ";
	case SQL_OP_SHIFT_RIGHT:
		return " >> ";
	case SQL_OP_ADD:
		return " + ";
	case SQL_OP_SUB:
		return " - ";
	case SQL_OP_MUL:
		return " * ";
	case SQL_OP_DIV:
		return " / ";
	case SQL_OP_INT_DIV:
		return " DIV ";
	case SQL_OP_MOD:
		return " % ";
	case SQL_OP_BIT_XOR:
		return " ^ ";
	case SQL_OP_CONCAT:
		return " || ";
	case SQL_OP_JSON_EXTRACT:
		return "->";
	case SQL_OP_JSON_UNQUOTE:
		return "->>";
	case SQL_OP_NOT:
		return "NOT ";
	case SQL_OP_BANG:
		return "! ";
	case SQL_OP_NEG:
		return "- ";
	case SQL_OP_PLUS:
		return "+ ";
	case SQL_OP_BIT_NOT:
		return "~ ";
	case SQL_OP_BINARY:
		return "BINARY ";
	case SQL_OP_IS_NULL:
		return "NULL";
	case SQL_OP_IS_TRUE:
		return "TRUE";
	case SQL_OP_IS_FALSE:
		return "FALSE";
	case SQL_OP_IS_UNKNOWN:
		return "UNKNOWN";
	case SQL_OP_IS_JSON:
		return "JSON";
	case SQL_OP_NEXT_VALUE:
		return "NEXT VALUE FOR ";
	case SQL_OP_PREVIOUS_VALUE:
		return "PREVIOUS VALUE FOR ";
	case SQL_OP_NONE:
		break;
	}
	return "";
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

static void put_scope(struct printer *p, enum sql_scope scope, const char *behind)
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

static void put_window(struct printer *p, const struct sql_window *w)
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
		put(p, e->u.cast.convert ? ", " : " AS ");
		put_cast_type(p, e->u.cast.type);
	}
	put(p, ")");
}

static bool ieq(struct span a, const char *b)
{
	return span_ieq_str(a, b);
}

static void put_date_func(struct printer *p, const struct sql_expr *e)
{
	const char *unit = unit_text((enum sql_unit)e->u.interval.unit);
	struct span name = e->u.interval.name;

	put_span(p, name);
	put(p, "(");
	if (ieq(name, "timestampadd") || ieq(name, "timestampdiff")) {
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
 * the last operand. */
static enum level operand_least(
	const struct printer *p, const struct sql_expr *left, enum level level)
{
	bool mysql = p->opt.flavour == SQL_MYSQL;

	if (level == LEVEL_PREDICATE && (mysql || left->kind == SQL_EXPR_BETWEEN))
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
		put(p, op_text((enum sql_op)e->op));
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
		put(p, op_text((enum sql_op)e->op));
		put_level(p, e->u.binary.left, e->op == SQL_OP_NOT ? LEVEL_NOT : LEVEL_UNARY);
		return;
	case SQL_EXPR_IS:
		put_level(p, e->u.binary.left, operand_least(p, e->u.binary.left, LEVEL_TEST));
		put(p, e->negated ? " IS NOT " : " IS ");
		put(p, op_text((enum sql_op)e->op));
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
		put(p, op_text((enum sql_op)e->op));
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
	put(p, op_text((enum sql_op)e->op));
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
				free(stack);
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
		free(stack);
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

/* ------------------------------------------------------------------ queries */

void put_order(struct printer *p, const char *words, const struct sql_order *order)
{
	put(p, words);
	for (const struct sql_order *o = order; o; o = o->next) {
		put_expr(p, o->expr);
		if (o->desc)
			put(p, " DESC");
		else if (o->asc)
			put(p, " ASC");
		if (o->next)
			put(p, ", ");
	}
}

static void put_limit(struct printer *p, const struct sql_limit *limit)
{
	if (!limit)
		return;
	if (limit->fetch) {
		if (limit->offset) {
			put(p, " OFFSET ");
			put_expr(p, limit->offset);
			put(p, " ROWS");
		}
		/* OFFSET n ROWS alone has no count and no ties. */
		if (limit->count || limit->with_ties || !limit->offset) {
			put(p, " FETCH FIRST ");
			if (limit->count) {
				put_expr(p, limit->count);
				put(p, " ");
			}
			put(p, limit->with_ties ? "ROWS WITH TIES" : "ROWS ONLY");
		}
		return;
	}
	put(p, " LIMIT");
	if (limit->count) {
		put(p, " ");
		put_expr(p, limit->count);
	}
	if (limit->offset) {
		put(p, " OFFSET ");
		put_expr(p, limit->offset);
	}
	if (limit->rows_examined) {
		put(p, " ROWS EXAMINED ");
		put_expr(p, limit->rows_examined);
	}
}

static void put_locks(struct printer *p, const struct sql_lock *lock)
{
	for (; lock; lock = lock->next) {
		switch (lock->mode) {
		case SQL_LOCK_FOR_UPDATE:
			put(p, " FOR UPDATE");
			break;
		case SQL_LOCK_FOR_SHARE:
			put(p, " FOR SHARE");
			break;
		case SQL_LOCK_IN_SHARE_MODE:
			put(p, " LOCK IN SHARE MODE");
			break;
		}
		for (const struct sql_table_name *t = lock->of; t; t = t->next) {
			put(p, t == lock->of ? " OF " : ", ");
			put_table(p, t);
		}
		switch (lock->wait) {
		case SQL_LOCK_WAIT_DEFAULT:
			break;
		case SQL_LOCK_NOWAIT:
			put(p, " NOWAIT");
			break;
		case SQL_LOCK_SKIP_LOCKED:
			put(p, " SKIP LOCKED");
			break;
		case SQL_LOCK_WAIT_SECONDS:
			put(p, " WAIT ");
			put_span(p, lock->seconds);
			break;
		}
	}
}

static void put_into(struct printer *p, const struct sql_into *into)
{
	if (!into)
		return;
	put(p, " INTO ");
	if (into->is_file)
		put_span(p, into->text);
	else
		put_exprs(p, into->vars);
}

static void put_with(struct printer *p, const struct sql_with *with)
{
	if (!with)
		return;
	put(p, with->recursive ? "WITH RECURSIVE " : "WITH ");
	for (const struct sql_cte *cte = with->ctes; cte; cte = cte->next) {
		put_name(p, cte->name);
		if (cte->columns) {
			put(p, " ");
			put_names(p, cte->columns);
		}
		put(p, " AS (");
		put_query(p, cte->query);
		put(p, ")");
		for (const struct sql_names *n = cte->cycle; n; n = n->next) {
			put(p, n == cte->cycle ? " CYCLE " : ", ");
			put_name(p, n->name);
		}
		if (cte->cycle)
			put(p, " RESTRICT");
		put(p, cte->next ? ", " : " ");
	}
}

static void put_table_ref(struct printer *p, const struct sql_table_ref *ref);

static void put_hints(struct printer *p, const struct sql_index_hint *hint)
{
	static const char *const kinds[] = {" USE INDEX", " IGNORE INDEX", " FORCE INDEX"};
	static const char *const scopes[] = {" ", " FOR JOIN ", " FOR ORDER BY ", " FOR GROUP BY "};

	for (; hint; hint = hint->next) {
		put(p, kinds[hint->kind]);
		put(p, scopes[hint->scope]);
		put_names(p, hint->names);
	}
}

static void put_time_point(struct printer *p, const struct sql_time_point *point)
{
	if (point->is_transaction)
		put(p, "TRANSACTION ");
	else if (point->is_timestamp)
		put(p, "TIMESTAMP ");
	put_bit(p, point->value);
}

static void put_system_time(struct printer *p, const struct sql_table_ref *ref)
{
	switch (ref->system_time) {
	case SQL_SYSTEM_TIME_NONE:
		return;
	case SQL_SYSTEM_TIME_ALL:
		put(p, " FOR SYSTEM_TIME ALL");
		return;
	case SQL_SYSTEM_TIME_AS_OF:
		put(p, " FOR SYSTEM_TIME AS OF ");
		put_time_point(p, &ref->low);
		return;
	case SQL_SYSTEM_TIME_FROM:
	case SQL_SYSTEM_TIME_BETWEEN:
		put(p, ref->system_time == SQL_SYSTEM_TIME_FROM
				? " FOR SYSTEM_TIME FROM "
				: " FOR SYSTEM_TIME BETWEEN ");
		put_time_point(p, &ref->low);
		put(p, ref->system_time == SQL_SYSTEM_TIME_FROM ? " TO " : " AND ");
		put_time_point(p, &ref->high);
		return;
	}
}

static void put_named_table(struct printer *p, const struct sql_table_ref *ref)
{
	put_table(p, &ref->u.name.table);
	if (ref->u.name.partitions) {
		put(p, " PARTITION ");
		put_names(p, ref->u.name.partitions);
	}
	put_system_time(p, ref);
	if (ref->alias.ptr) {
		put(p, " AS ");
		put_name(p, ref->alias);
	}
	put_hints(p, ref->u.name.hints);
	if (ref->u.name.portion.ptr) {
		put(p, " FOR PORTION OF ");
		put_name(p, ref->u.name.portion);
		put(p, " FROM ");
		put_bit(p, ref->low.value);
		put(p, " TO ");
		put_bit(p, ref->high.value);
	}
}

static void put_refs(struct printer *p, const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		put_table_ref(p, ref);
		if (ref->next)
			put(p, ", ");
	}
}

/* A join without a condition takes the next join into its right side, so it needs parentheses
 * where another follows. */
static bool left_join_needs_parens(const struct sql_table_ref *left)
{
	return left->kind == SQL_TABLE_JOIN && !left->u.join.natural && !left->u.join.on &&
	       !left->u.join.using_columns;
}

static void put_join_rest(struct printer *p, const struct sql_table_ref *ref)
{
	static const char *const joins[] = {
		"JOIN ", "CROSS JOIN ", "STRAIGHT_JOIN ", "LEFT JOIN ", "RIGHT JOIN "};
	const struct sql_table_ref *right = ref->u.join.right;

	put(p, ref->u.join.natural ? " NATURAL " : " ");
	put(p, joins[ref->u.join.join]);
	if (right->kind == SQL_TABLE_JOIN) {
		put(p, "(");
		put_table_ref(p, right);
		put(p, ")");
	} else {
		put_table_ref(p, right);
	}
	if (ref->u.join.on) {
		put(p, " ON ");
		put_expr(p, ref->u.join.on);
	} else if (ref->u.join.using_columns) {
		put(p, " USING ");
		put_names(p, ref->u.join.using_columns);
	}
}

static void put_join(struct printer *p, const struct sql_table_ref *top)
{
	const struct sql_table_ref *ref = top, *fixed[32], **stack = fixed;
	size_t count = 0, capacity = ARRAY_LEN(fixed);

	while (ref->kind == SQL_TABLE_JOIN) {
		if (count == capacity) {
			const struct sql_table_ref **more = mem_alloc(2 * capacity * sizeof(*more));

			memcpy(more, stack, count * sizeof(*more));
			if (stack != fixed)
				free(stack);
			stack = more;
			capacity *= 2;
		}
		if (p->explicit || (count > 0 && left_join_needs_parens(ref)))
			put(p, "(");
		stack[count++] = ref;
		ref = ref->u.join.left;
	}
	put_table_ref(p, ref);
	while (count > 0) {
		ref = stack[--count];
		put_join_rest(p, ref);
		if (p->explicit || (count > 0 && left_join_needs_parens(ref)))
			put(p, ")");
	}
	if (stack != fixed)
		free(stack);
}

static void put_table_ref(struct printer *p, const struct sql_table_ref *ref)
{
	switch (ref->kind) {
	case SQL_TABLE_NAME:
		put_named_table(p, ref);
		return;
	case SQL_TABLE_DERIVED:
		put(p, ref->u.derived.lateral ? "LATERAL (" : "(");
		put_query(p, ref->u.derived.query);
		put(p, ")");
		put_system_time(p, ref);
		if (ref->alias.ptr) {
			put(p, " AS ");
			put_name(p, ref->alias);
		}
		if (ref->u.derived.columns) {
			put(p, " ");
			put_names(p, ref->u.derived.columns);
		}
		return;
	case SQL_TABLE_JOIN:
		put_join(p, ref);
		return;
	case SQL_TABLE_NEST:
		put(p, "(");
		put_refs(p, ref->u.nest);
		put(p, ")");
		return;
	case SQL_TABLE_FUNC:
		put_span(p, ref->u.func.text);
		if (ref->alias.ptr) {
			put(p, " AS ");
			put_name(p, ref->alias);
		}
		return;
	}
}

static void put_items(struct printer *p, const struct sql_item *item)
{
	for (; item; item = item->next) {
		put_expr(p, item->expr);
		if (item->alias.ptr) {
			put(p, " AS ");
			if (memchr(item->alias.ptr, '\0', item->alias.len))
				put_string(p, item->alias); /* no name has a NUL */
			else
				put_name(p, item->alias);
		}
		if (item->next)
			put(p, ", ");
	}
}

static void put_hint(struct printer *p, struct span hint)
{
	if (!hint.ptr)
		return;
	put(p, "/*+");
	put_span(p, hint);
	put(p, "*/ ");
}

static void put_select_flags(struct printer *p, uint32_t flags)
{
	static const char *const words[] = {"DISTINCT ", "ALL ", "STRAIGHT_JOIN ", "HIGH_PRIORITY ",
		"SQL_SMALL_RESULT ", "SQL_BIG_RESULT ", "SQL_BUFFER_RESULT ",
		"SQL_CALC_FOUND_ROWS ", "SQL_CACHE ", "SQL_NO_CACHE "};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (flags & 1u << i)
			put(p, words[i]);
	}
}

static void put_select(struct printer *p, const struct sql_query *q)
{
	put(p, "SELECT ");
	put_hint(p, q->u.select.hint);
	put_select_flags(p, q->u.select.flags);
	put_items(p, q->u.select.items);
	if (q->u.select.dual)
		put(p, " FROM DUAL");
	if (q->u.select.from) {
		put(p, " FROM ");
		put_refs(p, q->u.select.from);
	}
	if (q->u.select.where) {
		put(p, " WHERE ");
		put_expr(p, q->u.select.where);
	}
	if (q->u.select.grouping_sets.ptr) {
		put(p, " GROUP BY ");
		put_span(p, q->u.select.grouping_sets);
	} else if (q->u.select.group) {
		put_order(p, q->u.select.cube ? " GROUP BY CUBE (" : " GROUP BY ",
			q->u.select.group);
		if (q->u.select.rollup)
			put(p, q->u.select.cube ? ")" : " WITH ROLLUP");
	}
	if (q->u.select.having) {
		put(p, " HAVING ");
		put_expr(p, q->u.select.having);
	}
	for (const struct sql_window *w = q->u.select.windows; w; w = w->next) {
		put(p, w == q->u.select.windows ? " WINDOW " : ", ");
		put_name(p, w->name);
		put(p, " AS ");
		put_window(p, w);
	}
	if (q->u.select.qualify) {
		put(p, " QUALIFY ");
		put_expr(p, q->u.select.qualify);
	}
}

static void put_rows(struct printer *p, const struct sql_values_row *row, const char *open)
{
	for (; row; row = row->next) {
		put(p, open);
		put_exprs(p, row->values);
		put(p, row->next ? "), " : ")");
	}
}

static bool has_tail(const struct sql_query *q)
{
	return q->with || q->order || q->limit || q->locks || q->into ||
	       (q->kind == SQL_QUERY_SELECT && q->u.select.procedure.ptr);
}

static void put_set_operand(struct printer *p, const struct sql_query *q, bool parens)
{
	if (parens)
		put(p, "(");
	put_query(p, q);
	if (parens)
		put(p, ")");
}

static bool intersects(const struct sql_query *q)
{
	return q->kind == SQL_QUERY_SET_OP && q->u.set.op == SQL_INTERSECT;
}

/* On the left: anything that binds as tight; INTERSECT takes no UNION. */
static bool left_needs_parens(const struct sql_query *q, const struct sql_query *left)
{
	if (has_tail(left) || left->kind == SQL_QUERY_PAREN)
		return true;
	return left->kind == SQL_QUERY_SET_OP && intersects(q) && !intersects(left);
}

static bool right_needs_parens(const struct sql_query *q, const struct sql_query *right)
{
	if (has_tail(right) || right->kind == SQL_QUERY_PAREN)
		return true;
	return right->kind == SQL_QUERY_SET_OP && (intersects(q) || !intersects(right));
}

static void put_set_op(struct printer *p, const struct sql_query *top)
{
	static const char *const ops[] = {" UNION ", " INTERSECT ", " EXCEPT "};
	const struct sql_query *q = top, *fixed[32], **stack = fixed;
	size_t count = 0, capacity = ARRAY_LEN(fixed);

	/* Long chains of UNION lean to the left; only the top may have a tail here. */
	while (q->kind == SQL_QUERY_SET_OP) {
		if (count == capacity) {
			const struct sql_query **more = mem_alloc(2 * capacity * sizeof(*more));

			memcpy(more, stack, count * sizeof(*more));
			if (stack != fixed)
				free(stack);
			stack = more;
			capacity *= 2;
		}
		stack[count++] = q;
		if (left_needs_parens(q, q->u.set.left))
			break;
		q = q->u.set.left;
	}
	q = stack[count - 1];
	for (size_t i = 0; p->explicit && i < count; i++)
		put(p, "(");
	put_set_operand(p, q->u.set.left, left_needs_parens(q, q->u.set.left));
	while (count > 0) {
		q = stack[--count];
		put(p, ops[q->u.set.op]);
		if (q->u.set.all)
			put(p, "ALL ");
		else if (q->u.set.distinct)
			put(p, "DISTINCT ");
		put_set_operand(p, q->u.set.right, right_needs_parens(q, q->u.set.right));
		put(p, p->explicit ? ")" : "");
	}
	if (stack != fixed)
		free(stack);
}

void put_query(struct printer *p, const struct sql_query *q)
{
	put_with(p, q->with);
	switch (q->kind) {
	case SQL_QUERY_SELECT:
		put_select(p, q);
		break;
	case SQL_QUERY_SET_OP:
		put_set_op(p, q);
		break;
	case SQL_QUERY_VALUES:
		put(p, "VALUES ");
		put_rows(p, q->u.values, p->opt.flavour == SQL_MYSQL ? "ROW(" : "(");
		break;
	case SQL_QUERY_TABLE:
		put(p, "TABLE ");
		put_table(p, q->u.table);
		break;
	case SQL_QUERY_PAREN:
		put(p, "(");
		put_query(p, q->u.inner);
		put(p, ")");
		break;
	}
	if (q->order)
		put_order(p, " ORDER BY ", q->order);
	put_limit(p, q->limit);
	if (q->kind == SQL_QUERY_SELECT && q->u.select.procedure.ptr) {
		put(p, " ");
		put_span(p, q->u.select.procedure);
	}
	put_into(p, q->into);
	put_locks(p, q->locks);
}

void sql_print_query(const struct sql_query *query, const struct sql_options *opt, struct buf *out)
{
	struct printer p = {out, *opt, false};

	put_query(&p, query);
}

/* ------------------------------------------------------------------ row changes */

static void put_assigns(struct printer *p, const struct sql_assign *a)
{
	for (; a; a = a->next) {
		put_expr(p, a->target);
		put(p, " = ");
		put_expr(p, a->value);
		if (a->next)
			put(p, ", ");
	}
}

static void put_dml_flags(struct printer *p, uint32_t flags)
{
	static const char *const words[] = {
		"LOW_PRIORITY ", "HIGH_PRIORITY ", "DELAYED ", "IGNORE ", "QUICK ", "HISTORY "};

	/* QUICK stands before IGNORE in DELETE, HISTORY last. */
	static const uint8_t order[] = {0, 1, 2, 4, 3, 5};

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (flags & 1u << order[i])
			put(p, words[order[i]]);
	}
}

static bool starts_with_values(const struct sql_query *q)
{
	while (q->kind == SQL_QUERY_SET_OP && !q->with && !left_needs_parens(q, q->u.set.left))
		q = q->u.set.left;
	return q->kind == SQL_QUERY_VALUES && !q->with;
}

static void put_insert(struct printer *p, const struct sql_insert *ins, bool replace)
{
	put(p, replace ? "REPLACE " : "INSERT ");
	put_hint(p, ins->hint);
	put_dml_flags(p, ins->flags);
	put(p, "INTO ");
	put_table(p, &ins->table);
	if (ins->partitions) {
		put(p, " PARTITION ");
		put_names(p, ins->partitions);
	}
	if (ins->has_columns) {
		put(p, " (");
		put_exprs(p, ins->columns);
		put(p, ")");
	}
	if (ins->rows) {
		put(p, " VALUES ");
		put_rows(p, ins->rows, "(");
	} else if (ins->set) {
		put(p, " SET ");
		put_assigns(p, ins->set);
	} else {
		/* INSERT INTO t VALUES would be rows. */
		bool parens = starts_with_values(ins->query);

		put(p, parens ? " (" : " ");
		put_query(p, ins->query);
		put(p, parens ? ")" : "");
	}
	if (ins->row_alias.ptr) {
		put(p, " AS ");
		put_name(p, ins->row_alias);
		if (ins->row_columns)
			put_names(p, ins->row_columns);
	}
	if (ins->on_duplicate) {
		put(p, " ON DUPLICATE KEY UPDATE ");
		put_assigns(p, ins->on_duplicate);
	}
	if (ins->returning) {
		put(p, " RETURNING ");
		put_items(p, ins->returning);
	}
}

static void put_update(struct printer *p, const struct sql_update *up)
{
	put_with(p, up->with);
	put(p, "UPDATE ");
	put_hint(p, up->hint);
	put_dml_flags(p, up->flags);
	put_refs(p, up->tables);
	put(p, " SET ");
	put_assigns(p, up->set);
	if (up->where) {
		put(p, " WHERE ");
		put_expr(p, up->where);
	}
	if (up->order)
		put_order(p, " ORDER BY ", up->order);
	put_limit(p, up->limit);
}

static void put_targets(struct printer *p, const struct sql_table_name *t)
{
	for (; t; t = t->next) {
		put_table(p, t);
		if (t->next)
			put(p, ", ");
	}
}

static void put_single_delete(struct printer *p, const struct sql_table_ref *ref)
{
	/* An alias stands before PARTITION here, unlike in FROM. */
	struct sql_table_ref bare = *ref;

	bare.alias = SPAN_NONE;
	if (ref->alias.ptr) {
		bare.u.name.partitions = NULL;
		put_named_table(p, &bare);
		put(p, " AS ");
		put_name(p, ref->alias);
		if (ref->u.name.partitions) {
			put(p, " PARTITION ");
			put_names(p, ref->u.name.partitions);
		}
		return;
	}
	put_named_table(p, &bare);
}

static void put_delete(struct printer *p, const struct sql_delete *del)
{
	put_with(p, del->with);
	put(p, "DELETE ");
	put_hint(p, del->hint);
	put_dml_flags(p, del->flags);
	if (!del->targets) {
		put(p, "FROM ");
		put_single_delete(p, del->from);
	} else {
		put(p, del->using_form ? "FROM " : "");
		put_targets(p, del->targets);
		put(p, del->using_form ? " USING " : " FROM ");
		put_refs(p, del->from);
	}
	if (del->before) {
		put(p, " BEFORE SYSTEM_TIME ");
		if (del->before_is_transaction)
			put(p, "TRANSACTION ");
		else if (del->before_is_timestamp)
			put(p, "TIMESTAMP ");
		put_bit(p, del->before);
	}
	if (del->where) {
		put(p, " WHERE ");
		put_expr(p, del->where);
	}
	if (del->order)
		put_order(p, " ORDER BY ", del->order);
	put_limit(p, del->limit);
	if (del->returning) {
		put(p, " RETURNING ");
		put_items(p, del->returning);
	}
}

/* ------------------------------------------------------------------ control */

const char *sql_isolation_name(enum sql_isolation level)
{
	switch (level) {
	case SQL_ISOLATION_READ_UNCOMMITTED:
		return "READ UNCOMMITTED";
	case SQL_ISOLATION_READ_COMMITTED:
		return "READ COMMITTED";
	case SQL_ISOLATION_REPEATABLE_READ:
		return "REPEATABLE READ";
	case SQL_ISOLATION_SERIALIZABLE:
		return "SERIALIZABLE";
	case SQL_ISOLATION_DEFAULT:
		return "DEFAULT";
	case SQL_ISOLATION_NONE:
	case SQL_ISOLATION_UNKNOWN:
		break;
	}
	return "unknown";
}

static void put_completion(struct printer *p, const struct sql_txn *txn)
{
	if (txn->chain != SQL_UNSAID)
		put(p, txn->chain == SQL_YES ? " AND CHAIN" : " AND NO CHAIN");
	if (txn->release != SQL_UNSAID)
		put(p, txn->release == SQL_YES ? " RELEASE" : " NO RELEASE");
}

static void put_begin(struct printer *p, const struct sql_txn *txn)
{
	const char *sep = " ";

	if (!txn->start_transaction) {
		put(p, txn->work ? "BEGIN WORK" : "BEGIN");
		return;
	}
	put(p, "START TRANSACTION");
	if (txn->snapshot) {
		put(p, " WITH CONSISTENT SNAPSHOT");
		sep = ", ";
	}
	if (txn->access != SQL_ACCESS_NONE) {
		put(p, sep);
		put(p, txn->access == SQL_ACCESS_READ_ONLY ? "READ ONLY" : "READ WRITE");
	}
}

static void put_set_transaction(struct printer *p, const struct sql_txn *txn)
{
	const char *sep = " ";

	put(p, "SET ");
	put_scope(p, txn->scope, " ");
	put(p, "TRANSACTION");
	if (txn->isolation != SQL_ISOLATION_NONE) {
		put(p, " ISOLATION LEVEL ");
		put(p, sql_isolation_name(txn->isolation));
		sep = ", ";
	}
	if (txn->access != SQL_ACCESS_NONE) {
		put(p, sep);
		put(p, txn->access == SQL_ACCESS_READ_ONLY ? "READ ONLY" : "READ WRITE");
	}
}

static void put_txn(struct printer *p, const struct sql_stmt *stmt)
{
	const struct sql_txn *txn = stmt->u.txn;

	switch (stmt->kind) {
	case SQL_STMT_BEGIN:
		put_begin(p, txn);
		return;
	case SQL_STMT_COMMIT:
		put(p, txn->work ? "COMMIT WORK" : "COMMIT");
		put_completion(p, txn);
		return;
	case SQL_STMT_ROLLBACK:
		put(p, txn->work ? "ROLLBACK WORK" : "ROLLBACK");
		put_completion(p, txn);
		return;
	case SQL_STMT_ROLLBACK_TO:
		put(p, txn->work ? "ROLLBACK WORK TO " : "ROLLBACK TO ");
		put(p, txn->savepoint_word ? "SAVEPOINT " : "");
		put_name(p, txn->savepoint);
		return;
	case SQL_STMT_SAVEPOINT:
		put(p, "SAVEPOINT ");
		put_name(p, txn->savepoint);
		return;
	case SQL_STMT_RELEASE_SAVEPOINT:
		put(p, "RELEASE SAVEPOINT ");
		put_name(p, txn->savepoint);
		return;
	case SQL_STMT_SET_TRANSACTION:
		put_set_transaction(p, txn);
		return;
	default:
		BUG("not a transaction statement: %d", stmt->kind);
	}
}

static void put_xa(struct printer *p, const struct sql_xa *xa)
{
	static const char *const verbs[] = {
		"XA START", "XA END", "XA PREPARE", "XA COMMIT", "XA ROLLBACK", "XA RECOVER"};

	put(p, xa->begin ? "XA BEGIN" : verbs[xa->kind]);
	if (xa->gtrid) {
		put(p, xa->kind == SQL_XA_RECOVER ? " FORMAT = " : " ");
		put_expr(p, xa->gtrid);
	}
	if (xa->bqual) {
		put(p, ", ");
		put_expr(p, xa->bqual);
	}
	if (xa->format_id.ptr) {
		put(p, ", ");
		put_span(p, xa->format_id);
	}
	put(p, xa->join ? " JOIN" : "");
	put(p, xa->resume ? " RESUME" : "");
	put(p, xa->suspend ? " SUSPEND" : "");
	put(p, xa->for_migrate ? " FOR MIGRATE" : "");
	put(p, xa->one_phase ? " ONE PHASE" : "");
	put(p, xa->convert_xid ? " CONVERT XID" : "");
}

static void put_set_item(struct printer *p, const struct sql_set_item *item)
{
	switch (item->kind) {
	case SQL_SET_NAMES:
	case SQL_SET_CHARSET:
		put(p, item->kind == SQL_SET_NAMES ? "NAMES " : "CHARACTER SET ");
		if (item->value)
			put_expr(p, item->value);
		else
			put(p, "DEFAULT");
		if (item->collation.ptr) {
			put(p, " COLLATE ");
			put_string(p, item->collation);
		}
		return;
	case SQL_SET_USER_VAR:
		put(p, "@");
		put_name(p, item->name);
		break;
	case SQL_SET_VARIABLE:
		put(p, item->at_at ? "@@" : "");
		put_scope(p, item->scope, item->at_at ? "." : " ");
		if (item->base.ptr) {
			if (ieq(item->base, "default"))
				put(p, "DEFAULT");
			else
				put_name(p, item->base);
			put(p, ".");
		}
		put_name(p, item->name);
		break;
	}
	put(p, " = ");
	put_expr(p, item->value);
}

static void put_stmt(struct printer *p, const struct sql_stmt *stmt);

static void put_set(struct printer *p, const struct sql_set *set)
{
	put(p, set->statement ? "SET STATEMENT " : "SET ");
	for (const struct sql_set_item *item = set->items; item; item = item->next) {
		put_set_item(p, item);
		if (item->next)
			put(p, ", ");
	}
	if (set->statement) {
		put(p, " FOR ");
		put_stmt(p, set->statement);
	}
}

static void put_locks_tables(struct printer *p, const struct sql_lock_table *lock)
{
	static const char *const locks[] = {
		" READ", " READ LOCAL", " WRITE", " LOW_PRIORITY WRITE", " WRITE CONCURRENT"};

	put(p, "LOCK TABLES ");
	for (; lock; lock = lock->next) {
		put_table(p, &lock->table);
		if (lock->alias.ptr) {
			put(p, " AS ");
			put_name(p, lock->alias);
		}
		put(p, locks[lock->lock]);
		if (lock->next)
			put(p, ", ");
	}
}

static void put_prepared(struct printer *p, const struct sql_stmt *stmt)
{
	const struct sql_prepared *prep = stmt->u.prepared;

	if (stmt->kind == SQL_STMT_PREPARE) {
		put(p, "PREPARE ");
		put_name(p, prep->name);
		put(p, " FROM ");
		put_expr(p, prep->source);
	} else if (stmt->kind == SQL_STMT_DEALLOCATE) {
		put(p, prep->drop ? "DROP PREPARE " : "DEALLOCATE PREPARE ");
		put_name(p, prep->name);
	} else {
		put(p, prep->immediate ? "EXECUTE IMMEDIATE " : "EXECUTE ");
		if (prep->immediate)
			put_expr(p, prep->source);
		else
			put_name(p, prep->name);
		if (prep->using_args.count) {
			put(p, " USING ");
			put_exprs(p, prep->using_args);
		}
	}
}

static void put_explain(struct printer *p, const struct sql_explain *ex)
{
	put_span(p, ex->words);
	put(p, " ");
	if (ex->statement) {
		put_stmt(p, ex->statement);
	} else {
		put(p, "FOR CONNECTION ");
		put_expr(p, ex->connection);
	}
}

static void put_stmt(struct printer *p, const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_EMPTY:
		return;
	case SQL_STMT_SELECT:
		put_query(p, stmt->u.query);
		return;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		put_insert(p, stmt->u.insert, stmt->kind == SQL_STMT_REPLACE);
		return;
	case SQL_STMT_UPDATE:
		put_update(p, stmt->u.update);
		return;
	case SQL_STMT_DELETE:
		put_delete(p, stmt->u.del);
		return;
	case SQL_STMT_DO:
		put(p, "DO ");
		put_exprs(p, stmt->u.exprs);
		return;
	case SQL_STMT_SET:
		put_set(p, stmt->u.set);
		return;
	case SQL_STMT_BEGIN:
	case SQL_STMT_COMMIT:
	case SQL_STMT_ROLLBACK:
	case SQL_STMT_SAVEPOINT:
	case SQL_STMT_ROLLBACK_TO:
	case SQL_STMT_RELEASE_SAVEPOINT:
	case SQL_STMT_SET_TRANSACTION:
		put_txn(p, stmt);
		return;
	case SQL_STMT_XA:
		put_xa(p, stmt->u.xa);
		return;
	case SQL_STMT_CREATE_TABLE:
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_DROP_TABLE:
	case SQL_STMT_DROP_VIEW:
	case SQL_STMT_DROP_SEQUENCE:
	case SQL_STMT_RENAME_TABLE:
	case SQL_STMT_TRUNCATE:
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
		put_ddl(p, stmt);
		return;
	case SQL_STMT_USE:
		put(p, "USE ");
		put_name(p, stmt->u.name);
		return;
	case SQL_STMT_LOCK_TABLES:
		put_locks_tables(p, stmt->u.locks);
		return;
	case SQL_STMT_UNLOCK_TABLES:
		put(p, "UNLOCK TABLES");
		return;
	case SQL_STMT_EXPLAIN:
		put_explain(p, stmt->u.explain);
		return;
	case SQL_STMT_PREPARE:
	case SQL_STMT_EXECUTE:
	case SQL_STMT_DEALLOCATE:
		put_prepared(p, stmt);
		return;
	case SQL_STMT_CREATE_DATABASE:
	case SQL_STMT_DROP_DATABASE:
	case SQL_STMT_KILL:
	case SQL_STMT_HANDLER:
	case SQL_STMT_LOAD_DATA:
	case SQL_STMT_CREATE_VIEW:
	case SQL_STMT_CREATE_TRIGGER:
	case SQL_STMT_DROP_TRIGGER:
	case SQL_STMT_CREATE_SEQUENCE:
	case SQL_STMT_CREATE_ROUTINE:
	case SQL_STMT_DROP_ROUTINE:
	case SQL_STMT_CREATE_OTHER:
	case SQL_STMT_DROP_OTHER:
	case SQL_STMT_ALTER_OTHER:
	case SQL_STMT_TABLE_ADMIN:
	case SQL_STMT_ACCOUNT:
	case SQL_STMT_SHOW:
	case SQL_STMT_HELP:
	case SQL_STMT_CALL:
	case SQL_STMT_COMPOUND:
	case SQL_STMT_FLUSH:
	case SQL_STMT_RESET:
	case SQL_STMT_PURGE:
	case SQL_STMT_REPLICATION:
	case SQL_STMT_BINLOG:
	case SQL_STMT_CACHE_INDEX:
	case SQL_STMT_SIGNAL:
	case SQL_STMT_GET_DIAGNOSTICS:
	case SQL_STMT_PLUGIN:
	case SQL_STMT_BACKUP:
	case SQL_STMT_SHUTDOWN:
	case SQL_STMT_OTHER:
		put_span(p, stmt->opaque);
		return;
	}
}

void sql_print(const struct sql_stmt *stmt, const struct sql_options *opt, struct buf *out)
{
	struct printer p = {out, *opt, false};

	put_stmt(&p, stmt);
}

void sql_print_explicit(const struct sql_stmt *stmt, const struct sql_options *opt, struct buf *out)
{
	struct printer p = {out, *opt, true};

	put_stmt(&p, stmt);
}
