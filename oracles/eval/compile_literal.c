/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Literals and variables compiled. */
#include <math.h>

#include "base/chars.h"
#include "eval/compile.h"
#include "eval/limits/guards.h"
#include "eval/value/temporal.h"
#include "server/errors.h"

/* ---- literals ---- */

static struct eval_value run_literal(const struct node *n, struct frame *f)
{
	(void)f;
	return n->u.value;
}

struct node *node_literal(struct compiler *c, const struct sql_expr *e, struct eval_type type,
	struct eval_value value)
{
	struct node *n = node_new(c, run_literal, e, 0);

	n->type = type;
	n->u.value = value;
	n->constant = n->literal = true;
	return n;
}

static struct node *literal_decimal(struct compiler *c, const struct sql_expr *e, struct span text)
{
	struct decimal *d = arena_alloc(c->arena, sizeof(*d));
	uint32_t digits;
	bool overflow;

	if (decimal_parse(text, d, &overflow) != text.len || overflow ||
		d->scale > decimal_scale_max(c->env))
		return compile_gives_up(c, LIMIT_NUMBER_WITH_MORE_DIGITS_THAN_DECIMAL_HAS);
	digits = decimal_int_digits(d);
	if (digits + d->scale > DECIMAL_PRECISION_MAX)
		return compile_gives_up(c, LIMIT_NUMBER_WITH_MORE_DIGITS_THAN_DECIMAL_HAS);
	if (!digits && !d->scale)
		digits = 1;
	return node_literal(c, e, type_decimal(digits + d->scale, d->scale),
		(struct eval_value){.kind = EVAL_DECIMAL, .dec = d});
}

static struct node *literal_int(struct compiler *c, const struct sql_expr *e, struct span text)
{
	struct eval_type type = type_int(false);
	uint64_t u = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (__builtin_mul_overflow(u, 10u, &u) ||
			__builtin_add_overflow(u, (uint64_t)(text.ptr[i] - '0'), &u))
			return literal_decimal(c, e, text);
	}
	type.length = (uint32_t)(text.len > 20 ? 20 : text.len);
	type.is_unsigned = u > INT64_MAX;
	return node_literal(c, e, type, type.is_unsigned ? eval_uint(u) : eval_int((int64_t)u));
}

static struct node *literal_string(
	struct compiler *c, const struct sql_expr *e, struct span text, struct span charset)
{
	uint16_t collation = c->env->collation_connection;

	if (charset.ptr) {
		bool mysql = c->env->flavour == SQL_MYSQL;

		collation = collation_of_charset(charset, mysql, c->env->version);
		if (collation == COLLATION_NONE)
			return compile_gives_up(c, LIMIT_CHARACTER_SET_NOT_MODELLED);
		if (literal_charset_refused(c, charset))
			return NULL;
		/* MariaDB: the connection's collation where it is of that set. */
		if (collation_charset(collation) == collation_charset(c->env->collation_connection))
			collation = c->env->collation_connection;
	}
	if (c->env->masked && span_eq_str(text, "***"))
		return compile_masked(c, e);
	/* Clients write bytes as texts, too (JDBC's setBytes(), PyMySQL): a column of bytes takes them as they are. */
	if (c->bytes && !charset.ptr && !text_is_valid(collation_charset(collation), text))
		collation = COLLATION_BINARY;
	if (literal_text_refused(c, collation, text))
		return NULL;
	return node_literal(c, e,
		type_string(collation, 4, (uint32_t)text_chars(collation_charset(collation), text)),
		eval_string(text, collation));
}

static struct node *literal_bytes(struct compiler *c, const struct sql_expr *e, struct span digits)
{
	uint32_t bits = e->u.literal.kind == SQL_LIT_HEX ? 4 : 1;
	size_t len = (digits.len * bits + 7) / 8;
	char *bytes = arena_zero(c->arena, len + 1);
	struct eval_type type;
	struct node *n;

	for (size_t i = 0; i < digits.len; i++) {
		size_t from_end = (digits.len - 1 - i) * bits;
		char *byte = &bytes[len - 1 - from_end / 8];

		*byte = (char)(*byte | char_hex_value(digits.ptr[i]) << (from_end % 8));
	}
	if (e->u.literal.charset.ptr) {
		n = literal_string(c, e, span_of(bytes, len), e->u.literal.charset);
		return n;
	}
	type = type_string(COLLATION_BINARY, 4, (uint32_t)len);
	/* MariaDB: x'41' is a string everywhere, 0x41 and b'1' are numbers among numbers. */
	type.hybrid = !(c->env->flavour == SQL_MARIADB && e->u.literal.quoted &&
			e->u.literal.kind == SQL_LIT_HEX);
	type.decimals = 0; /* unlike other strings it has no fraction, as a number */
	type.is_unsigned = true;
	if (literal_bytes_refused(c, &type))
		return NULL;
	return node_literal(c, e, type, eval_string(span_of(bytes, len), COLLATION_BINARY));
}

static struct node *literal_time(struct compiler *c, const struct sql_expr *e)
{
	struct span text = e->u.literal.text;
	struct eval_value v;
	enum eval_type_kind kind = EVAL_T_DATE;
	enum time_parse parsed;

	if (e->u.literal.kind == SQL_LIT_TIME) {
		parsed = time_parse_time(c->env, text, &v);
		kind = EVAL_T_TIME;
	} else {
		parsed = time_parse_datetime(c->env, text, &v);
		if (parsed == TIME_PARSED && e->u.literal.kind == SQL_LIT_DATE &&
			v.kind != EVAL_DATE)
			parsed = TIME_UNSURE;
		if (e->u.literal.kind == SQL_LIT_TIMESTAMP) {
			kind = EVAL_T_DATETIME;
			v.kind = EVAL_DATETIME;
		}
	}
	if (parsed == TIME_UNSURE)
		return compile_gives_up(c, LIMIT_DATE_OR_TIME_LITERAL_IN_ANOTHER_FORM);
	if (parsed == TIME_INVALID || (kind != EVAL_T_TIME && !date_allowed(c->env, &v.t)))
		return compile_error(c, ER_WRONG_VALUE, "not a date or time");
	return node_literal(c, e, type_temporal(kind, v.decimals), v);
}

struct node *compile_literal(struct compiler *c, const struct sql_expr *e)
{
	struct span text = e->u.literal.text;
	struct eval_type type;
	size_t used;

	switch ((enum sql_literal_kind)e->u.literal.kind) {
	case SQL_LIT_NULL:
		type = (struct eval_type){.kind = EVAL_T_NULL, .coercibility = 6};
		return node_literal(c, e, type, EVAL_NULL_VALUE);
	case SQL_LIT_TRUE:
	case SQL_LIT_FALSE:
		return node_literal(c, e, type_bool(), eval_int(e->u.literal.kind == SQL_LIT_TRUE));
	case SQL_LIT_INT:
		return literal_int(c, e, text);
	case SQL_LIT_DECIMAL:
		return literal_decimal(c, e, text);
	case SQL_LIT_FLOAT: {
		double d = text_to_double(text, &used);

		if (literal_double_refused(c, d))
			return NULL;
		return node_literal(c, e, type_double(), eval_double(d));
	}
	case SQL_LIT_STRING:
		return literal_string(c, e, text, e->u.literal.charset);
	case SQL_LIT_NSTRING:
		return literal_string(c, e, text, SPAN_LIT("utf8mb3"));
	case SQL_LIT_HEX:
	case SQL_LIT_BIT:
		return literal_bytes(c, e, text);
	case SQL_LIT_DATE:
	case SQL_LIT_TIME:
	case SQL_LIT_TIMESTAMP:
		return literal_time(c, e);
	}
	return NULL;
}

struct node *node_from_value(struct compiler *c, const struct sql_expr *e, struct eval_value v)
{
	struct eval_type type = {.kind = EVAL_T_NULL, .coercibility = 6};

	switch ((enum eval_kind)v.kind) {
	case EVAL_NULL:
		break;
	case EVAL_INT:
	case EVAL_UINT:
		type = type_int(v.kind == EVAL_UINT);
		break;
	case EVAL_DOUBLE:
		type = type_double();
		break;
	case EVAL_DECIMAL:
		type = type_decimal(decimal_int_digits(v.dec) + v.dec->scale, v.dec->scale);
		break;
	case EVAL_STRING:
		type = type_string(
			v.collation, 4, (uint32_t)text_chars(collation_charset(v.collation), v.s));
		break;
	case EVAL_DATE:
		type = type_temporal(EVAL_T_DATE, 0);
		break;
	case EVAL_TIME:
		type = type_temporal(EVAL_T_TIME, v.decimals);
		break;
	case EVAL_DATETIME:
		type = type_temporal(EVAL_T_DATETIME, v.decimals);
		break;
	case EVAL_OPAQUE:
		return compile_gives_up(c, LIMIT_TIMES_THAT_ONLY_SERVER_KNOWS);
	}
	return node_literal(c, e, type, v);
}

struct node *compile_variable(struct compiler *c, const struct sql_expr *e)
{
	struct eval_value v;
	struct node *n;

	if (e->kind == SQL_EXPR_PARAM) {
		if (e->u.param >= c->env->param_count)
			return compile_gives_up(c, LIMIT_PARAMETER_WHOSE_VALUE_IS_NOT_KNOWN);
		return node_from_value(c, e, c->env->params[e->u.param]);
	}
	if (!c->env->user_var || !c->env->user_var(c->env->ctx, e->u.var.name, &v))
		return compile_gives_up(c, LIMIT_USER_VARIABLE_WHOSE_VALUE_IS_NOT_KNOWN);
	n = node_from_value(c, e, v);
	n->literal = false;
	if (n->type.kind == EVAL_T_STRING)
		n->type.coercibility = 2; /* the manual: user variables are implicit */
	return n;
}

/* It is shown as the value, where that keeps its digits in a variable. */
struct node *compile_assignment(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = compile_expr(c, e->u.binary.right);

	if (n && assigned_item_refused(c, e->u.binary.right, &n->type))
		return NULL;
	return n;
}
