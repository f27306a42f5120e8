/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of functions: plain ones with the number of arguments the grammar asks for, aggregates, and
 * windows after OVER.
 */
#include "sql/parse.h"

struct sql_order *parse_order_list(struct parser *p, bool directions)
{
	struct sql_order *list = NULL, **tail = &list;

	do {
		struct sql_order *item = NEW(p, struct sql_order);

		item->expr = parse_expr(p);
		if (directions) {
			if (accept(p, T_DESC))
				item->desc = true;
			else if (accept(p, T_ASC))
				item->asc = true;
		}
		APPEND(tail, item);
	} while (accept(p, T_COMMA));
	return list;
}

/* One end of a frame: UNBOUNDED PRECEDING, CURRENT ROW, n PRECEDING, INTERVAL n unit FOLLOWING. */
static struct sql_frame_end parse_frame_end(
	struct parser *p, struct sql_window *w, struct sql_expr ***tail)
{
	struct sql_frame_end end = {SQL_FRAME_CURRENT, NULL};

	if (accept(p, T_CURRENT)) {
		expect(p, T_ROW);
		return end;
	}
	if (!accept(p, T_UNBOUNDED)) {
		bool interval = p->tok.kind == T_INTERVAL;
		bool temporal = p->tok.kind == T_DATE || p->tok.kind == T_TIME ||
				p->tok.kind == T_TIMESTAMP;
		bool literal = at_literal(p) || temporal;
		bool number = p->tok.kind == T_L_INT || p->tok.kind == T_L_DECIMAL ||
			      p->tok.kind == T_L_FLOAT;

		/* MySQL: a number, a parameter or an interval; MariaDB: a literal. */
		if (is_maria(p) ? !literal : !interval && !number && p->tok.kind != T_PARAM)
			parse_fail(p);
		struct sql_expr *bound = interval ? parse_interval_operand(p) : parse_operand(p);

		if ((interval && !is_open_interval(bound)) ||
			(temporal && bound->kind != SQL_EXPR_LITERAL))
			parse_fail(p);
		exprs_add(&w->bounds, tail, bound);
		end.offset = bound;
	}
	if (accept(p, T_PRECEDING)) {
		end.place = end.offset ? SQL_FRAME_PRECEDING : SQL_FRAME_FIRST;
	} else {
		expect(p, T_FOLLOWING);
		end.place = end.offset ? SQL_FRAME_FOLLOWING : SQL_FRAME_LAST;
	}
	return end;
}

static void parse_frame(struct parser *p, struct sql_window *w)
{
	uint32_t start = p->tok.start;
	struct sql_expr **tail = &w->bounds.first;

	w->unit = p->tok.kind == T_ROWS    ? SQL_FRAME_ROWS
		  : p->tok.kind == T_RANGE ? SQL_FRAME_RANGE
					   : SQL_FRAME_GROUPS;
	parse_advance(p);
	if (accept(p, T_BETWEEN)) {
		w->from = parse_frame_end(p, w, &tail);
		expect(p, T_AND);
		w->to = parse_frame_end(p, w, &tail);
	} else {
		w->from = parse_frame_end(p, w, &tail);
		w->to.place = SQL_FRAME_CURRENT;
		if (w->from.place == SQL_FRAME_FOLLOWING || w->from.place == SQL_FRAME_LAST)
			parse_fail_why(p, "a frame that starts behind the row needs BETWEEN, before this");
	}
	if (accept(p, T_EXCLUDE)) {
		w->exclude = true;
		if (accept(p, T_CURRENT))
			expect(p, T_ROW);
		else if (accept(p, T_NO))
			expect(p, T_OTHERS);
		else if (!accept(p, T_GROUP))
			expect(p, T_TIES);
	}
	w->frame = text_from(p, start);
}

/* Inside of OVER (...) or WINDOW w AS (...); `(` is current. */
void parse_window_spec(struct parser *p, struct sql_window *w)
{
	expect(p, T_LPAREN);
	w->parenthesised = true;
	if (p->tok.kind != T_PARTITION && p->tok.kind != T_RANGE && p->tok.kind != T_ROWS &&
		p->tok.kind != T_GROUPS && at_name(p))
		w->base = parse_name(p);
	if (accept(p, T_PARTITION)) {
		expect(p, T_BY);
		w->partition = parse_expr_list(p);
	}
	if (accept(p, T_ORDER)) {
		expect(p, T_BY);
		w->order = parse_order_list(p, true);
	}
	if (at(p, T_ROWS) || at(p, T_RANGE) || (!is_maria(p) && at(p, T_GROUPS)))
		parse_frame(p, w);
	expect(p, T_RPAREN);
}

/* Of MEDIAN and the like, `partition_only`: OVER ([PARTITION BY ...]). */
static struct sql_window *parse_over(struct parser *p, bool partition_only)
{
	struct sql_window *w = NEW(p, struct sql_window);

	parse_advance(p);
	if (partition_only && (p->tok.kind != T_LPAREN || (parse_peek(p, 1).kind != T_PARTITION &&
								  parse_peek(p, 1).kind != T_RPAREN)))
		parse_fail(p);
	if (p->tok.kind == T_LPAREN)
		parse_window_spec(p, w);
	else
		w->name = parse_name(p);
	if (partition_only && (w->order || w->frame.ptr))
		parse_fail(p);
	return w;
}

struct sql_call_extra *extra_of(struct parser *p, struct sql_expr *e)
{
	if (!e->u.call.extra)
		e->u.call.extra = NEW(p, struct sql_call_extra);
	return e->u.call.extra;
}

static bool is_aggregate(enum token_kind kind)
{
	switch (kind) {
	case T_COUNT:
	case T_SUM:
	case T_AVG:
	case T_MIN:
	case T_MAX:
	case T_BIT_AND:
	case T_BIT_OR:
	case T_BIT_XOR:
	case T_STD:
	case T_STDDEV:
	case T_STDDEV_POP:
	case T_STDDEV_SAMP:
	case T_VARIANCE:
	case T_VAR_POP:
	case T_VAR_SAMP:
	case T_GROUP_CONCAT:
	case T_JSON_ARRAYAGG:
	case T_JSON_OBJECTAGG:
	case T_ST_COLLECT:
		return true;
	default:
		return false;
	}
}

static void parse_group_concat_tail(struct parser *p, struct sql_expr *e)
{
	if (accept(p, T_ORDER)) {
		expect(p, T_BY);
		extra_of(p, e)->order = parse_order_list(p, true);
	}
	if (accept(p, T_SEPARATOR))
		extra_of(p, e)->separator = parse_string(p);
	if (is_maria(p) && accept(p, T_LIMIT)) {
		struct sql_call_extra *x = extra_of(p, e);

		x->limit = parse_simple_expr(p);
		if (accept(p, T_COMMA)) {
			x->offset = x->limit;
			x->limit = parse_simple_expr(p);
		} else if (accept(p, T_OFFSET)) {
			x->offset = parse_simple_expr(p);
		}
	}
}

/* COUNT(*), SUM(DISTINCT x), GROUP_CONCAT(...); the name is read, `(` is current. */
/* Not BIT_AND, STD, VARIANCE and the like. */
static bool takes_distinct(enum token_kind kind)
{
	switch (kind) {
	case T_COUNT:
	case T_SUM:
	case T_AVG:
	case T_MIN:
	case T_MAX:
	case T_GROUP_CONCAT:
	case T_JSON_ARRAYAGG:
	case T_ST_COLLECT:
		return true;
	default:
		return false;
	}
}

static void parse_aggregate_args(struct parser *p, struct sql_expr *e, enum token_kind kind)
{
	bool json = kind == T_JSON_ARRAYAGG || kind == T_JSON_OBJECTAGG;

	expect(p, T_LPAREN);
	if (json && p->tok.kind == (is_maria(p) ? T_ALL : T_DISTINCT))
		parse_fail(p);
	if (takes_distinct(kind) &&
		(accept(p, T_DISTINCT) ||
			(p->tok.kind == T_DISTINCTROW && accept(p, T_DISTINCTROW)))) {
		extra_of(p, e)->distinct = true;
		/* AVG(DISTINCT ALL a) is as DISTINCT says. */
		if (p->tok.kind == T_ALL && (kind == T_AVG || kind == T_SUM || kind == T_MIN ||
						    kind == T_MAX))
			parse_advance(p);
	} else if (p->tok.kind == T_ALL) {
		parse_advance(p);
	} else if (kind == T_COUNT && p->tok.kind == T_STAR) {
		parse_advance(p);
		extra_of(p, e)->star = true;
		expect(p, T_RPAREN);
		return;
	}
	bool many = kind == T_GROUP_CONCAT || kind == T_JSON_OBJECTAGG ||
		    (kind == T_JSON_ARRAYAGG && is_maria(p)) ||
		    (kind == T_COUNT && e->u.call.extra && e->u.call.extra->distinct);
	if (kind == T_JSON_OBJECTAGG && !is_maria(p)) {
		struct sql_expr **tail = &e->u.call.args.first;

		exprs_add(&e->u.call.args, &tail, parse_expr(p));
		expect(p, T_COMMA);
		if (p->tok.kind == T_ALL)
			parse_advance(p);
		exprs_add(&e->u.call.args, &tail, parse_expr(p));
	} else if (many) {
		e->u.call.args = parse_expr_list(p);
		if (kind == T_JSON_OBJECTAGG && e->u.call.args.count != 2)
			parse_fail_why(p, "JSON_OBJECTAGG takes two arguments");
	} else {
		e->u.call.args = (struct sql_exprs){parse_expr(p), 1};
	}
	if (kind == T_GROUP_CONCAT || (kind == T_JSON_ARRAYAGG && is_maria(p)))
		parse_group_concat_tail(p, e);
	expect(p, T_RPAREN);
}

/* Functions that must have an OVER clause. */
static bool window_only(const struct parser *p, enum token_kind kind)
{
	switch (kind) {
	case T_ROW_NUMBER:
	case T_RANK:
	case T_DENSE_RANK:
	case T_PERCENT_RANK:
	case T_CUME_DIST:
	case T_NTILE:
	case T_LEAD:
	case T_LAG:
	case T_FIRST_VALUE:
	case T_NTH_VALUE:
		return true;
	case T_MEDIAN:
	case T_PERCENTILE_CONT:
	case T_PERCENTILE_DISC:
		return is_maria(p);
	case T_LAST_VALUE:
		return !is_maria(p);
	default:
		return false;
	}
}

/* How many arguments the grammar itself demands of functions whose names are keywords. */
static const struct arity {
	uint16_t kind;
	uint8_t min, max;
} arities[] = {
	{T_ASCII, 1, 1},
	{T_CHARSET, 1, 1},
	{T_COALESCE, 1, 255},
	{T_COLLATION, 1, 1},
	{T_CURDATE, 0, 0},
	{T_CURRENT_DATE, 0, 0},
	{T_CURRENT_ROLE, 0, 0},
	{T_CURRENT_TIME, 0, 1},
	{T_CURRENT_TIMESTAMP, 0, 1},
	{T_CURRENT_USER, 0, 0},
	{T_CURTIME, 0, 1},
	{T_DATABASE, 0, 0},
	{T_CUME_DIST, 0, 0},
	{T_DATE, 1, 1},
	{T_DAY, 1, 1},
	{T_DENSE_RANK, 0, 0},
	{T_FIRST_VALUE, 1, 1},
	{T_FORMAT, 2, 3},
	{T_HOUR, 1, 1},
	{T_IF, 3, 3},
	{T_INSERT, 4, 4},
	{T_LAG, 1, 3}, /* MariaDB: no default value */
	{T_LAST_VALUE, 1, 255},
	{T_LEAD, 1, 3},
	{T_LEFT, 2, 2},
	{T_LOCALTIME, 0, 1},
	{T_LOCALTIMESTAMP, 0, 1},
	{T_MEDIAN, 1, 1},
	{T_MICROSECOND, 1, 1},
	{T_MINUTE, 1, 1},
	{T_MOD, 2, 2},
	{T_MONTH, 1, 1},
	{T_NOW, 0, 1},
	{T_NTH_VALUE, 2, 2},
	{T_NTILE, 1, 1},
	{T_PASSWORD, 1, 1},
	{T_PERCENTILE_CONT, 1, 1},
	{T_PERCENTILE_DISC, 1, 1},
	{T_PERCENT_RANK, 0, 0},
	{T_QUARTER, 1, 1},
	{T_RANK, 0, 0},
	{T_REPEAT, 2, 2},
	{T_REPLACE, 3, 3},
	{T_REVERSE, 1, 1},
	{T_RIGHT, 2, 2},
	{T_ROW_COUNT, 0, 0},
	{T_ROW_NUMBER, 0, 0},
	{T_SCHEMA, 0, 0},
	{T_SECOND, 1, 1},
	{T_SQL_TSI_DAY, 1, 1},
	{T_SQL_TSI_HOUR, 1, 1},
	{T_SQL_TSI_MINUTE, 1, 1},
	{T_SQL_TSI_MONTH, 1, 1},
	{T_SQL_TSI_SECOND, 1, 1},
	{T_SQL_TSI_YEAR, 1, 1},
	{T_SYSDATE, 0, 1},
	{T_TIME, 1, 1},
	{T_TIMESTAMP, 1, 2},
	{T_TRUNCATE, 2, 2},
	{T_USER, 0, 0},
	{T_SESSION_USER, 0, 0},
	{T_SYSTEM_USER, 0, 0},
	{T_UTC_DATE, 0, 0},
	{T_UTC_TIME, 0, 1},
	{T_UTC_TIMESTAMP, 0, 1},
	{T_WEEK, 1, 2},
	{T_YEAR, 1, 1},
};

static const struct arity *arity_of(enum token_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(arities); i++) {
		if (arities[i].kind == kind)
			return &arities[i];
	}
	return NULL;
}

/* SUBSTRING(s FROM a FOR b) is SUBSTRING(s, a, b). */
static void parse_substring_args(struct parser *p, struct sql_expr *e)
{
	struct sql_expr **tail = &e->u.call.args.first;
	bool from;

	expect(p, T_LPAREN);
	exprs_add(&e->u.call.args, &tail, parse_expr(p));
	from = accept(p, T_FROM);
	if (!from)
		expect(p, T_COMMA);
	exprs_add(&e->u.call.args, &tail, parse_expr(p));
	if (accept(p, from ? T_FOR : T_COMMA))
		exprs_add(&e->u.call.args, &tail, parse_expr(p));
	expect(p, T_RPAREN);
}

/* From the current token up to the `)` that closes the call, as text. */
struct span skip_to_close(struct parser *p)
{
	uint32_t start = p->tok.start;
	int depth = 0;

	while (p->tok.kind != T_EOF && p->tok.kind != T_ERROR && p->tok.kind != T_SEMICOLON) {
		if (p->tok.kind == T_LPAREN) {
			depth++;
		} else if (p->tok.kind == T_RPAREN) {
			if (depth-- == 0)
				break;
		}
		parse_advance(p);
	}
	return text_from(p, start);
}

/* Functions with clauses after an argument, which are kept as text: WEIGHT_STRING(x AS CHAR(4)),
 * JSON_VALUE(d, p RETURNING t NULL ON EMPTY), COLUMN_GET(b, n AS INT). */
static bool own_clauses(const struct parser *p, struct span name)
{
	if (span_ieq_str(name, "weight_string") ||
		(!is_maria(p) && span_ieq_str(name, "json_value")))
		return true;
	return is_maria(p) &&
	       (span_ieq_str(name, "column_create") || span_ieq_str(name, "column_add") ||
		       span_ieq_str(name, "column_get"));
}

/* [AS CHAR(n) | AS BINARY(n)] and, in MariaDB, [LEVEL n [ASC | DESC] [REVERSE], ... | LEVEL n-m]. */
static void check_weight_string(struct parser *p)
{
	if (accept(p, T_AS)) {
		struct span n;

		if (!accept(p, T_CHAR) && !accept(p, T_CHARACTER))
			expect(p, T_BINARY);
		expect(p, T_LPAREN);
		n = parse_number(p);
		if (n.len == 1 && *n.ptr == '0')
			parse_fail(p);
		expect(p, T_RPAREN);
	}
	if (!is_maria(p) || !accept(p, T_LEVEL)) {
		if (!at(p, T_RPAREN))
			parse_fail(p);
		return;
	}
	parse_number(p);
	if (accept(p, T_MINUS)) {
		parse_number(p);
	} else {
		for (;;) {
			if (!accept(p, T_ASC))
				accept(p, T_DESC);
			accept(p, T_REVERSE);
			if (!accept(p, T_COMMA))
				break;
			parse_number(p);
		}
	}
	if (!at(p, T_RPAREN))
		parse_fail(p);
}

/* The type of a dynamic column (MariaDB): fewer than those of CAST. */
static void parse_dynamic_type(struct parser *p)
{
	if (accept(p, T_UNSIGNED)) {
		if (!accept(p, T_INTEGER))
			expect(p, T_INT);
		return;
	}
	switch (p->tok.kind) {
	case T_INT:
	case T_INTEGER:
	case T_DOUBLE:
	case T_REAL:
	case T_FLOAT:
	case T_NCHAR:
		parse_advance(p);
		return;
	case T_CHAR:
	case T_CHARACTER:
		if (parse_peek(p, 1).kind == T_LPAREN)
			parse_fail(p);
		parse_cast_type(p);
		return;
	case T_DECIMAL:
	case T_DATE:
	case T_TIME:
	case T_DATETIME:
		parse_cast_type(p);
		return;
	default:
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_TYPE);
		parse_fail(p);
	}
}

static bool at_word(const struct parser *p, const char *word)
{
	return span_ieq_str(span_of(p->text + p->tok.start, p->tok.end - p->tok.start), word);
}

/* MySQL: [RETURNING type] [how ON EMPTY] [how ON ERROR], how being NULL, ERROR or DEFAULT literal. */
static void parse_json_value_clauses(struct parser *p)
{
	if (accept(p, T_RETURNING))
		parse_cast_type(p);
	for (int errors = 0; errors < 2 && p->tok.kind != T_RPAREN; errors++) {
		if (accept(p, T_DEFAULT)) {
			bool sign = accept(p, T_MINUS) || accept(p, T_PLUS);
			bool number = p->tok.kind == T_L_INT || p->tok.kind == T_L_DECIMAL ||
				      p->tok.kind == T_L_FLOAT;
			bool temporal = (p->tok.kind == T_DATE || p->tok.kind == T_TIME ||
						p->tok.kind == T_TIMESTAMP) &&
					parse_peek(p, 1).kind == T_STRING;

			if (temporal && !sign)
				parse_temporal(p);
			else if ((sign && !number) || p->tok.kind == T_NULL || !at_literal(p))
				parse_fail(p);
			else
				parse_literal(p);
		} else if (at_word(p, "error")) {
			parse_advance(p);
		} else {
			expect(p, T_NULL);
		}
		expect(p, T_ON);
		if (errors == 0 && accept(p, T_EMPTY))
			continue;
		if (!at_word(p, "error"))
			parse_fail(p);
		parse_advance(p);
		break;
	}
	if (!at(p, T_RPAREN))
		parse_fail(p);
}

/* Arguments of any other function: expr [AS alias], ... */
static void parse_plain_args(struct parser *p, struct sql_expr *e, bool aliases)
{
	struct sql_expr **tail = &e->u.call.args.first;

	expect(p, T_LPAREN);
	if (accept(p, T_RPAREN))
		return;
	do {
		struct sql_expr *arg = parse_expr(p);

		exprs_add(&e->u.call.args, &tail, arg);
		if (!aliases || p->tok.kind == T_COMMA || p->tok.kind == T_RPAREN)
			continue;
		if (own_clauses(p, e->u.call.name)) {
			uint32_t clause = p->tok.start;

			if (span_ieq_str(e->u.call.name, "weight_string")) {
				check_weight_string(p);
			} else if (span_ieq_str(e->u.call.name, "json_value")) {
				if (e->u.call.args.count != 2)
					parse_fail(p);
				parse_json_value_clauses(p);
			} else {
				expect(p, T_AS);
				if (span_ieq_str(e->u.call.name, "column_get"))
					parse_cast_type(p);
				else
					parse_dynamic_type(p);
			}
			extra_of(p, e)->tail = text_from(p, clause);
		} else if (accept(p, T_AS) || at_name(p) || p->tok.kind == T_STRING) {
			/* Only loadable functions may see the alias; the tree leaves it out. */
			parse_name_or_string(p);
		}
	} while (accept(p, T_COMMA));
	/* COLUMN_CREATE(name, value, ...), COLUMN_ADD(blob, name, value, ...) */
	if (is_maria(p) && ((span_ieq_str(e->u.call.name, "column_create") &&
				    e->u.call.args.count % 2 == 1) ||
				   (span_ieq_str(e->u.call.name, "column_add") &&
					   e->u.call.args.count % 2 == 0)))
		parse_fail(p);
	expect(p, T_RPAREN);
}

/* What may stand after the arguments: nulls treatment, WITHIN GROUP, OVER. */
static void parse_call_tail(struct parser *p, struct sql_expr *e, bool takes_over, enum token_kind kind)
{
	uint32_t start = p->tok.start;

	if (p->tok.kind == T_WITHIN && parse_peek(p, 1).kind == T_GROUP && is_maria(p) && takes_over) {
		parse_advance(p);
		parse_advance(p);
		expect(p, T_LPAREN);
		expect(p, T_ORDER);
		expect(p, T_BY);
		extra_of(p, e)->within_group = true;
		extra_of(p, e)->order = parse_order_list(p, true);
		if (extra_of(p, e)->order->next)
			parse_fail_why(p, "WITHIN GROUP orders by one expression");
		expect(p, T_RPAREN);
	}
	if (!is_maria(p)) {
		if (p->tok.kind == T_FROM &&
			(parse_peek(p, 1).kind == T_FIRST || parse_peek(p, 1).kind == T_LAST) &&
			(parse_peek(p, 2).kind == T_OVER || parse_peek(p, 2).kind == T_RESPECT ||
				parse_peek(p, 2).kind == T_IGNORE)) {
			parse_advance(p);
			parse_advance(p);
		}
		if ((p->tok.kind == T_RESPECT || p->tok.kind == T_IGNORE) &&
			parse_peek(p, 1).kind == T_NULLS) {
			parse_advance(p);
			parse_advance(p);
		}
		if (p->last_end > start)
			extra_of(p, e)->nulls = text_from(p, start);
	}
	if (p->tok.kind == T_OVER && takes_over)
		extra_of(p, e)->over = parse_over(p, is_maria(p) && (kind == T_MEDIAN ||
			kind == T_PERCENTILE_CONT || kind == T_PERCENTILE_DISC));
}

/* A number of rows of a window function: an integer, a variable or a parameter. */
static bool is_row_count(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_PARAM || e->kind == SQL_EXPR_USER_VAR ||
	       (e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_INT);
}

/* What MySQL's grammar demands of the arguments of some functions. */
static void check_mysql_args(struct parser *p, const struct sql_expr *e, enum token_kind kind)
{
	const struct sql_expr *first = e->u.call.args.first;
	uint32_t count = e->u.call.args.count;

	if (kind == T_NTILE && first && !is_row_count(first))
		parse_fail_why(p, "expected a number of rows before this");
	if ((kind == T_LEAD || kind == T_LAG) && count > 1 && !is_row_count(first->next))
		parse_fail_why(p, "expected a number of rows before this");
	/* A simple expression: one with an operator needs parentheses. */
	if (kind == T_NTH_VALUE && count > 1 && first->next->kind == SQL_EXPR_BINARY &&
		p->text[first->next->loc.start - 1] != '(')
		parse_fail_why(p, "expected a number of rows before this");
	if (kind == T_GROUPING && count == 0)
		parse_fail_why(p, "wrong number of arguments before this");
}

/* SETVAL(sequence, [-]n, number, number): of 64 bits, and of 63 before 11.8. */
static bool is_setval(const struct parser *p, const struct sql_expr *value)
{
	bool signed_ = value->kind == SQL_EXPR_UNARY &&
		       (value->op == SQL_OP_NEG || value->op == SQL_OP_PLUS);
	bool neg = signed_ && value->op == SQL_OP_NEG, wide = p->opt.version >= 110800;
	const struct sql_expr *number = signed_ ? value->u.binary.left : value;
	uint64_t n;

	if (number->kind != SQL_EXPR_LITERAL || number->u.literal.kind != SQL_LIT_INT ||
		!parse_digits(number->u.literal.text, &n))
		return false;
	if (n > (uint64_t)INT64_MAX && !(wide && (!neg || n == (uint64_t)INT64_MAX + 1)))
		return false;
	for (value = value->next; value; value = value->next) {
		if (value->kind != SQL_EXPR_LITERAL ||
			(value->u.literal.kind != SQL_LIT_INT &&
				value->u.literal.kind != SQL_LIT_DECIMAL &&
				value->u.literal.kind != SQL_LIT_FLOAT &&
				value->u.literal.kind != SQL_LIT_TRUE &&
				value->u.literal.kind != SQL_LIT_FALSE))
			return false;
	}
	return true;
}

/* Functions that are words of a server's grammar, though none here: their arguments are counted
 * while it reads. */
static void check_named_args(struct parser *p, const struct sql_expr *e, enum token_kind kind)
{
	enum { MARIA = 1, MARIA_OLD = 2, MYSQL = 4, MYSQL_OLD = 8 };
	static const struct {
		const char *name;
		uint8_t servers, min, max;
	} named[] = {{"log", MYSQL, 1, 2}, {"point", MYSQL | MYSQL_OLD, 2, 2},
		{"linestring", MYSQL | MYSQL_OLD, 1, 255}, {"polygon", MYSQL | MYSQL_OLD, 1, 255},
		{"multipoint", MYSQL | MYSQL_OLD, 1, 255},
		{"multilinestring", MYSQL | MYSQL_OLD, 1, 255},
		{"multipolygon", MYSQL | MYSQL_OLD, 1, 255},
		{"geometrycollection", MYSQL_OLD, 1, 255},
		{"old_password", MARIA_OLD | MYSQL_OLD, 1, 1}, {"json_value", MYSQL, 2, 2},
		{"column_check", MARIA_OLD, 1, 1}, {"column_create", MARIA | MARIA_OLD, 2, 255},
		{"column_add", MARIA | MARIA_OLD, 3, 255},
		{"column_delete", MARIA | MARIA_OLD, 2, 255},
		{"column_get", MARIA | MARIA_OLD, 2, 2}, {"rownum", MARIA, 0, 0},
		{"nextval", MARIA | MARIA_OLD, 1, 1}, {"lastval", MARIA | MARIA_OLD, 1, 1},
		{"setval", MARIA | MARIA_OLD, 2, 4}};
	bool maria = is_maria(p);
	unsigned server = maria ? (p->opt.version >= 100600 ? MARIA : MARIA_OLD)
				: (p->opt.version >= 80000 ? MYSQL : MYSQL_OLD);
	const struct sql_expr *first = e->u.call.args.first;
	uint32_t count = e->u.call.args.count;
	struct span name = e->u.call.name;
	bool good = true;

	if (server != MARIA && (kind == T_SQL_TSI_QUARTER || kind == T_SQL_TSI_WEEK))
		good = count == 1 || (count == 2 && kind == T_SQL_TSI_WEEK);
	if (kind == T_CONTAINS && server == MYSQL_OLD)
		good = count == 2;
	if (kind == T_IDENT && !e->u.call.quoted) {
		for (size_t i = 0; i < ARRAY_LEN(named); i++) {
			if (span_ieq_str(name, named[i].name) && named[i].servers & server)
				good = count >= named[i].min &&
				       (named[i].max == 255 || count <= named[i].max);
		}
		if (span_ieq_str(name, "weight_string"))
			good = count == 1 || count == 4;
		/* A sequence is named, not computed. */
		if (good && maria && first && (first->kind != SQL_EXPR_COLUMN || first->u.column.db.ptr) &&
			(span_ieq_str(name, "nextval") || span_ieq_str(name, "lastval") ||
				span_ieq_str(name, "setval")))
			good = false;
		if (good && maria && span_ieq_str(name, "setval"))
			good = is_setval(p, first->next);
		if (good && maria && span_ieq_str(name, "column_get"))
			good = e->u.call.extra && e->u.call.extra->tail.ptr;
		if (good && server == MYSQL && span_ieq_str(name, "json_value"))
			good = first->next->kind == SQL_EXPR_LITERAL &&
			       first->next->u.literal.kind == SQL_LIT_STRING;
	}
	if (!good)
		parse_fail_why(p, "wrong arguments before this");
}

/* NOW(6) and the like: their argument is a number of the grammar, not an expression. */
static bool is_clock(enum token_kind kind)
{
	switch (kind) {
	case T_NOW:
	case T_SYSDATE:
	case T_CURTIME:
	case T_CURRENT_TIME:
	case T_CURRENT_TIMESTAMP:
	case T_LOCALTIME:
	case T_LOCALTIMESTAMP:
	case T_UTC_TIME:
	case T_UTC_TIMESTAMP:
		return true;
	default:
		return false;
	}
}

static bool is_precision(const struct parser *p, const struct sql_expr *e)
{
	uint64_t n = 0;

	if (e->kind != SQL_EXPR_LITERAL || e->u.literal.charset.ptr)
		return false;
	if (e->u.literal.kind == SQL_LIT_HEX)
		return is_maria(p) && !e->u.literal.quoted;
	if (e->u.literal.kind != SQL_LIT_INT)
		return false;
	return parse_digits(e->u.literal.text, &n) && (is_maria(p) || n <= INT32_MAX);
}

/* Functions of a server's grammar, in which no aliases stand: MySQL's shapes, MariaDB's sequences. */
static bool takes_aliases(const struct parser *p, const struct sql_expr *e)
{
	static const char *const mysql[] = {"point", "linestring", "polygon", "multipoint",
		"multilinestring", "multipolygon", "geometrycollection", "geomcollection"};
	static const char *const maria[] = {"nextval", "lastval", "setval"};
	const char *const *names = is_maria(p) ? maria : mysql;
	size_t count = is_maria(p) ? ARRAY_LEN(maria) : ARRAY_LEN(mysql);

	for (size_t i = 0; !e->u.call.quoted && !e->u.call.db.ptr && i < count; i++) {
		if (span_ieq_str(e->u.call.name, names[i]))
			return false;
	}
	return true;
}

struct sql_expr *parse_call(struct parser *p, struct span db, struct span name,
	uint32_t start, enum token_kind kind, bool quoted)
{
	struct sql_expr *e = expr_new(p, SQL_EXPR_CALL, start);
	const struct arity *arity = NULL;

	e->u.call.db = db;
	e->u.call.name = name;
	e->u.call.quoted = quoted;
	if (kind == T_SUBSTRING || kind == T_SUBSTR || kind == T_MID) {
		parse_substring_args(p, e);
	} else if (is_aggregate(kind)) {
		parse_aggregate_args(p, e, kind);
	} else if (kind == T_CHAR || kind == T_CHARACTER) {
		expect(p, T_LPAREN);
		e->u.call.args = parse_expr_list(p);
		if (accept(p, T_USING))
			extra_of(p, e)->using_charset = parse_charset_name(p);
		expect(p, T_RPAREN);
	} else {
		arity = kind > T_BEFORE_KEYWORDS ? arity_of(kind) : NULL;
		if (is_clock(kind) && parse_peek(p, 1).kind == T_LPAREN) {
			parse_advance(p);
			parse_fail(p);
		}
		parse_plain_args(p, e, arity == NULL && kind != T_CONTAINS && takes_aliases(p, e));
		if (arity && (e->u.call.args.count < arity->min ||
				     (arity->max < 255 && e->u.call.args.count > arity->max)))
			parse_fail_why(p, "wrong number of arguments before this");
		if (is_clock(kind) && e->u.call.args.count && !is_precision(p, e->u.call.args.first))
			parse_fail_why(p, "digits of a fraction must be a number, before this");
		if (is_maria(p) && (kind == T_LAG || kind == T_LEAD) && e->u.call.args.count > 2)
			parse_fail_why(p, "wrong number of arguments before this");
		if (!is_maria(p) && p->opt.version >= 80000)
			check_mysql_args(p, e, kind);
		check_named_args(p, e, kind);
	}
	parse_call_tail(p, e, is_aggregate(kind) || window_only(p, kind) || kind == T_LAST_VALUE, kind);
	if (window_only(p, kind) && !(e->u.call.extra && e->u.call.extra->over))
		expect(p, T_OVER);
	e->loc = loc_from(p, start);
	return e;
}

/* NOW, CURRENT_TIMESTAMP and the like without parentheses. */
struct sql_expr *parse_niladic(struct parser *p)
{
	struct sql_expr *e;
	uint32_t start = p->tok.start;
	struct span name = span_of(p->text + start, p->tok.end - start);

	if (parse_peek(p, 1).kind == T_LPAREN) {
		enum token_kind kind = p->tok.kind;

		parse_advance(p);
		return parse_call(p, SPAN_NONE, name, start, kind, false);
	}
	parse_advance(p);
	e = expr_new(p, SQL_EXPR_CALL, start);
	e->u.call.name = name;
	return e;
}
