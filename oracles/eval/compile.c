/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The syntax tree of an expression to nodes: literals, names, operators. */
#include "eval/compile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/limits/release.h"
#include "base/bug.h"
#include "eval/operator/arithmetic.h"
#include "eval/operator/comparison.h"
#include "eval/value/temporal.h"

enum { COMPILE_DEPTH_MAX = 1000, CONSTANTS_RUN_MAX = 50 };

void *compile_unsupported(struct compiler *c, enum eval_limit limit)
{
	CHECK_SLOW(c->failed || limit_covers(limit, c->env->flavour, c->env->version));
	c->failed = true;
	return outcome_unsupported(c->outcome, limit);
}

struct run compile_run(const struct compiler *c, struct eval_outcome *outcome)
{
	return (struct run){.env = c->env,
		.source = c->source,
		.arena = c->arena,
		.outcome = outcome,
		.steps_max = 1000,
		.bytes_max = c->arena->total + 64 * 1024 * 1024,
		.rows_max = 1000};
}

struct node *compile_error(struct compiler *c, unsigned error, const char *what)
{
	/* Which is computed by then, or is not. */
	if (c->failing_constant || c->failing_before)
		return compile_unsupported(c, LIMIT_ONE_OF_SEVERAL_ERRORS_WITH_CONSTANT_THAT_FAILS);
	c->failed = true;
	return outcome_error(c->outcome, error, what);
}

struct node *node_new(
	struct compiler *c, node_fn *fn, const struct sql_expr *expr, uint32_t arg_count)
{
	struct node *n = arena_zero(c->arena, sizeof(*n));

	n->fn = fn;
	n->expr = expr;
	n->arg_count = arg_count;
	n->args = arena_zero(c->arena, (arg_count + 1) * sizeof(*n->args));
	return n;
}

bool node_any(const struct node *n, bool (*is)(const struct node *n))
{
	if (!n)
		return false;
	if (is(n))
		return true;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (node_any(n->args[i], is))
			return true;
	}
	return false;
}

bool compile_list(struct compiler *c, const struct sql_exprs *list, struct node **out)
{
	for (const struct sql_expr *e = list->first; e; e = e->next) {
		*out = compile_expr(c, e);
		if (!*out++)
			return false;
	}
	return true;
}

struct node *compile_value(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = compile_expr(c, e);

	return n && node_is_row(n) ? compile_error(c, 1241, "a row where a value is wanted") : n;
}

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
		return compile_unsupported(c, LIMIT_NUMBER_WITH_MORE_DIGITS_THAN_DECIMAL_HAS);
	digits = decimal_int_digits(d);
	if (digits + d->scale > DECIMAL_PRECISION_MAX)
		return compile_unsupported(c, LIMIT_NUMBER_WITH_MORE_DIGITS_THAN_DECIMAL_HAS);
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
			return compile_unsupported(c, LIMIT_CHARACTER_SET_NOT_MODELLED);
		/* Beside the text of a number it is compared by another collation there. */
		if (!mysql && c->env->version >= 110200 && span_ieq_str(charset, "ascii"))
			return compile_unsupported(c, LIMIT_ASCII_ON_MARIADB_11_2_AND_LATER);
		/* MariaDB: the connection's collation where it is of that set. */
		if (collation_charset(collation) == collation_charset(c->env->collation_connection))
			collation = c->env->collation_connection;
	}
	if (c->env->masked && span_eq_str(text, "***"))
		return compile_masked(c, e);
	/* Clients write bytes as texts, too (JDBC's setBytes(), PyMySQL): a column of bytes takes them as they are. */
	if (c->bytes && !charset.ptr && !text_is_valid(collation_charset(collation), text))
		collation = COLLATION_BINARY;
	if (!text_is_valid(collation_charset(collation), text))
		return compile_unsupported(c, LIMIT_LITERAL_WITH_BYTES_NOT_CHARACTERS);
	return node_literal(c, e,
		type_string(collation, 4, (uint32_t)text_chars(collation_charset(collation), text)),
		eval_string(text, collation));
}

static int hex_digit(char ch)
{
	return ch <= '9' ? ch - '0' : (ch | 32) - 'a' + 10;
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

		*byte = (char)(*byte | hex_digit(digits.ptr[i]) << (from_end % 8));
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
	if (type.hybrid && len > 8)
		return compile_unsupported(c, LIMIT_HEXADECIMAL_LITERAL_OF_MORE_THAN_EIGHT_BYTES);
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
		return compile_unsupported(c, LIMIT_DATE_OR_TIME_LITERAL_IN_ANOTHER_FORM);
	if (parsed == TIME_INVALID || (kind != EVAL_T_TIME && !date_allowed(c->env, &v.t)))
		return compile_error(c, 1525, "not a date or time");
	return node_literal(c, e, type_temporal(kind, v.decimals), v);
}

static struct node *compile_literal(struct compiler *c, const struct sql_expr *e)
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

		/* Below the least normal number servers and C libraries print different digits. */
		if (d != 0 && fabs(d) < __DBL_MIN__)
			return compile_unsupported(c, LIMIT_NUMBER_ALMOST_ZERO);
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

/* A value from the session (a parameter, a variable) as a constant. */
static struct node *node_from_value(struct compiler *c, const struct sql_expr *e, struct eval_value v)
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
		return compile_unsupported(c, LIMIT_TIMES_THAT_ONLY_SERVER_KNOWS);
	}
	return node_literal(c, e, type, v);
}

static struct node *compile_variable(struct compiler *c, const struct sql_expr *e)
{
	struct eval_value v;
	struct node *n;

	if (e->kind == SQL_EXPR_PARAM) {
		if (e->u.param >= c->env->param_count)
			return compile_unsupported(c, LIMIT_PARAMETER_WHOSE_VALUE_IS_NOT_KNOWN);
		return node_from_value(c, e, c->env->params[e->u.param]);
	}
	if (!c->env->user_var || !c->env->user_var(c->env->ctx, e->u.var.name, &v))
		return compile_unsupported(c, LIMIT_USER_VARIABLE_WHOSE_VALUE_IS_NOT_KNOWN);
	n = node_from_value(c, e, v);
	n->literal = false;
	if (n->type.kind == EVAL_T_STRING)
		n->type.coercibility = 2; /* the manual: user variables are implicit */
	return n;
}

/* ---- names ---- */

struct eval_value require_known(struct run *run, struct eval_value v)
{
	if (UNLIKELY(v.kind == EVAL_OPAQUE) && !run->carrying)
		return run_unsupported(run, LIMIT_TIMES_THAT_ONLY_SERVER_KNOWS);
	return v;
}

static struct eval_value run_column(const struct node *n, struct frame *f)
{
	const struct frame *at = f;
	const struct eval_value *row;

	for (uint32_t i = 0; i < n->u.at.depth; i++)
		at = at->outer;
	row = at->rows[n->u.at.table];
	return row ? require_known(f->run, row[n->u.at.column]) : EVAL_NULL_VALUE;
}

static struct eval_value run_own_column(const struct node *n, struct frame *f)
{
	const struct eval_value *row = f->rows[n->u.at.table];

	return row ? require_known(f->run, row[n->u.at.column]) : EVAL_NULL_VALUE;
}

struct node *node_column(struct compiler *c, const struct sql_expr *e, uint32_t depth,
	uint32_t table, uint32_t column, const struct eval_type *type)
{
	struct node *n = node_new(c, depth ? run_column : run_own_column, e, 0);

	n->type = *type;
	n->type.coercibility = type_is_string(type) ? 2 : 5;
	n->u.at.depth = depth;
	n->u.at.table = table;
	n->u.at.column = column;
	n->column = n->carries = true;
	return n;
}

static struct eval_value run_local(const struct node *n, struct frame *f)
{
	return require_known(f->run, f->run->env->locals->values[n->u.number]);
}

/* NULL: not the name of one. */
static struct node *compile_local(struct compiler *c, const struct sql_expr *e)
{
	const struct eval_locals *locals = c->env->locals;
	struct span base = e->u.column.table;

	if (!locals || c->no_locals || e->u.column.db.ptr)
		return NULL;
	for (uint32_t i = locals->count; i-- > 0;) {
		const struct eval_local *l = &locals->list[i];
		struct node *n;

		if (!span_ieq(l->name, e->u.column.name) || !base.ptr != !l->base.ptr ||
			(base.ptr && !span_ieq(l->base, base)))
			continue;
		n = node_new(c, run_local, e, 0);
		n->type = l->type;
		n->type.coercibility = type_is_string(&l->type) ? 2 : 5;
		n->u.number = i;
		n->carries = true;
		return n;
	}
	return NULL;
}

static uint32_t kind_of_value(const struct eval_type *type)
{
	return type->kind == EVAL_T_NULL ? 0
	       : type_is_string(type)	 ? 1
	       : type_is_number(type)	 ? 2
					 : 3u + type->kind;
}

/* A variable is a constant to some servers and not to others, which matters where values of several kinds
 * are compared. */
static bool compares_local(const struct node *n)
{
	bool local = false;
	uint32_t kind = 0, other = 0;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		local |= n->args[i]->fn == run_local;
		other = kind_of_value(&n->args[i]->type);
		if (other && kind && other != kind)
			kind = UINT32_MAX;
		else if (other)
			kind = other;
	}
	return local && kind == UINT32_MAX;
}

bool scope_names_table(const struct compiler *c, const struct scope_table *t, struct span db, struct span table)
{
	if (table.ptr && !eval_same_name(c->env, t->alias, table))
		return false;
	return !db.ptr || !t->db.ptr || eval_same_name(c->env, t->db, db);
}

/* 0: none, 1: found, 2: more than one. */
static int find_in_scope(const struct compiler *c, const struct scope *s, const struct sql_expr *e,
	uint32_t *table, uint32_t *column)
{
	int found = 0;

	for (uint32_t t = s->first_table; t < s->table_count; t++) {
		const struct scope_table *st = &s->tables[t];

		if (!scope_names_table(c, st, e->u.column.db, e->u.column.table))
			continue;
		for (uint32_t i = 0; i < st->column_count; i++) {
			if (!span_ieq(st->names[i], e->u.column.name))
				continue;
			if (!e->u.column.table.ptr && st->merged && st->merged[i])
				continue;
			if (found++)
				return 2;
			*table = t;
			*column = i;
		}
	}
	return found;
}

static bool is_column(const struct node *n, uint32_t table, uint32_t column)
{
	return n->fn == run_own_column && n->u.at.table == table && n->u.at.column == column;
}

static struct node *find_alias(const struct scope *s, const struct sql_expr *e, bool *ambiguous)
{
	struct node *found = NULL;
	uint32_t i = 0;

	*ambiguous = false;
	if (e->u.column.table.ptr || !s->items)
		return NULL;
	for (const struct sql_item *item = s->items; item; item = item->next, i++) {
		struct span name = item->alias;

		if (!name.ptr && item->expr->kind == SQL_EXPR_COLUMN)
			name = item->expr->u.column.name;
		/* The column of a text has the text for its name. */
		if (!name.ptr && item->expr->kind == SQL_EXPR_LITERAL &&
			item->expr->u.literal.kind == SQL_LIT_STRING)
			name = item->expr->u.literal.text;
		if (!name.ptr || !span_ieq(name, e->u.column.name) || !s->item_nodes[i])
			continue;
		/* The same column twice is no matter. */
		if (found && found != s->item_nodes[i] &&
			!(found->fn == run_own_column &&
				is_column(s->item_nodes[i], found->u.at.table, found->u.at.column)))
			*ambiguous = true;
		found = s->item_nodes[i];
	}
	return found;
}

/* A text of a derived table is still as weak as the expression that it comes from, and x'41' a number where the table is
 * merged into the query. */
static struct node *known_column(struct compiler *c, const struct scope *s, const struct sql_expr *e,
	uint32_t depth, uint32_t table, uint32_t column)
{
	const struct eval_type *type = &s->tables[table].types[column];
	struct node *n = node_column(c, e, depth, table, column, type);

	if (!s->tables[table].base && type->kind == EVAL_T_STRING) {
		n->computed = type->coercibility != n->type.coercibility;
		if (type->coercibility == COERCIBLE_NONE)
			n->type.coercibility = COERCIBLE_NONE;
		n->type.text_only |= type->hybrid;
		n->type.hybrid = false;
	}
	return n;
}

static struct node *compile_column(struct compiler *c, const struct sql_expr *e)
{
	uint32_t depth = 0, table = 0, column = 0;
	struct node *local;
	bool ambiguous;

	if (e->negated)
		return compile_unsupported(c, LIMIT_WORD_IN_PLACE_OF_VALUE);
	local = compile_local(c, e);
	if (local)
		return local;
	for (struct scope *s = c->scope; s; s = s->outer, depth++) {
		int found;
		struct node *alias;

		found = find_in_scope(c, s, e, &table, &column);
		if (depth == 0 && s->alias_first && (alias = find_alias(s, e, &ambiguous))) {
			/* Which one is meant depends on clause and server. */
			if (ambiguous || (found && !is_column(alias, table, column)))
				return compile_unsupported(c, LIMIT_ALIAS_ALSO_COLUMN);
			return alias;
		}
		if (found == 2)
			return compile_error(c, 1052, "a column name that two tables have");
		if (found) {
			struct scope *inner = c->scope;

			for (uint32_t i = 0; i < depth; i++, inner = inner->outer) {
				const struct eval_type *t = &s->tables[table].types[column];

				if (inner->outer_reach < depth - i)
					inner->outer_reach = depth - i;
				inner->outer_text += type_is_string(t) &&
						     t->collation != COLLATION_BINARY;
			}
			return known_column(c, s, e, depth, table, column);
		}
		if (depth == 0 && s->alias_last && (alias = find_alias(s, e, &ambiguous))) {
			if (ambiguous)
				return compile_unsupported(c, LIMIT_ALIAS_THAT_TWO_COLUMNS_HAVE);
			return alias;
		}
		if (depth > 0 && find_alias(s, e, &ambiguous))
			return compile_unsupported(c, LIMIT_ALIAS_OF_OUTER_QUERY);
	}
	return compile_error(c, 1054, "unknown column");
}

/* ---- operators ---- */

static struct node *compile_unary(struct compiler *c, const struct sql_expr *e)
{
	struct node *arg = compile_expr(c, e->u.binary.left), *n;

	if (!arg)
		return NULL;
	switch (e->op) {
	case SQL_OP_NOT:
	case SQL_OP_BANG:
		return compile_not(c, e, arg);
	case SQL_OP_NEG:
		return node_is_row(arg) ? compile_error(c, 1241, "a row where a value is wanted")
					: compile_negate(c, e, arg);
	case SQL_OP_PLUS:
		return arg;
	case SQL_OP_BIT_NOT:
		return node_is_row(arg) ? compile_error(c, 1241, "a row where a value is wanted")
					: compile_bit_not(c, e, arg);
	case SQL_OP_BINARY:
		n = compile_cast(c, e);
		return n;
	default:
		return compile_unsupported(c, LIMIT_UNARY_OPERATOR_NOT_MODELLED);
	}
}

bool type_is_bytes(const struct eval_type *type)
{
	return type_is_string(type) && type->collation == COLLATION_BINARY;
}

/* The other side of a comparison or of IN. */
static struct node *compile_beside(struct compiler *c, const struct sql_expr *e, const struct node *other)
{
	struct node *n;

	c->bytes = other->column && type_is_bytes(&other->type);
	n = compile_expr(c, e);
	c->bytes = false;
	return n;
}

static struct node *compile_binary(struct compiler *c, const struct sql_expr *e)
{
	struct node *l, *r;

	switch (e->op) {
	case SQL_OP_REGEXP:
		return compile_regexp(c, e);
	case SQL_OP_SOUNDS_LIKE:
		return compile_unsupported(c, LIMIT_SOUNDS_LIKE);
	case SQL_OP_MEMBER_OF:
		return compile_unsupported(c, LIMIT_JSON_OPERATORS);
	case SQL_OP_JSON_EXTRACT:
	case SQL_OP_JSON_UNQUOTE:
		return compile_json_arrow(c, e);
	default:
		break;
	}
	l = compile_expr(c, e->u.binary.left);
	if (!l)
		return NULL;
	if (sql_expr_compares(e)) {
		r = compile_beside(c, e->u.binary.right, l);
		return r ? compile_compare(c, e, e->op, l, r) : NULL;
	}
	r = compile_expr(c, e->u.binary.right);
	if (!r)
		return NULL;
	if (e->op == SQL_OP_OR || e->op == SQL_OP_XOR || e->op == SQL_OP_AND)
		return compile_logic(c, e, e->op, l, r);
	if (node_is_row(l) || node_is_row(r))
		return compile_error(c, 1241, "a row where a value is wanted");
	if (e->op == SQL_OP_CONCAT)
		return compile_concat(c, e, l, r);
	return compile_arithmetic(c, e, e->op, l, r);
}

static struct eval_value run_values_column(const struct node *n, struct frame *f)
{
	return f->insert ? require_known(f->run, f->insert[n->u.at.column]) : EVAL_NULL_VALUE;
}

/* VALUES(c) in ON DUPLICATE KEY UPDATE. */
static struct node *compile_values(struct compiler *c, const struct sql_expr *e)
{
	const struct eval_table *table = NULL;
	struct node *n;
	uint32_t column;

	for (struct scope *s = c->scope; s && !table; s = s->outer)
		table = s->insert_table;
	if (!table || e->u.binary.left->kind != SQL_EXPR_COLUMN)
		return compile_unsupported(c, LIMIT_VALUES_COLUMN_OUTSIDE_ON_DUPLICATE_KEY_UPDATE);
	column = eval_table_column(table, e->u.binary.left->u.column.name);
	if (column == UINT32_MAX)
		return compile_error(c, 1054, "unknown column");
	n = node_column(c, e, 0, 0, column, &table->columns[column].type);
	n->fn = run_values_column;
	return n;
}

/* DEFAULT(c), of a column that has a literal as its default, or none. */
static struct node *compile_default(struct compiler *c, const struct sql_expr *e)
{
	struct node *of = e->u.binary.left ? compile_expr(c, e->u.binary.left) : NULL, *value;
	const struct eval_table *table;
	const struct eval_column *column;
	struct eval_outcome outcome = {0};
	struct eval_value stored = EVAL_NULL_VALUE;

	if (c->failed)
		return NULL;
	if (!of || !of->column || of->u.at.depth || !c->scope->tables[of->u.at.table].base)
		return compile_unsupported(c, LIMIT_DEFAULT_IN_EXPRESSION);
	table = c->scope->tables[of->u.at.table].base;
	column = &table->columns[of->u.at.column];
	if (column->generated || column->auto_increment || (!column->dflt && !column->nullable) ||
		(column->dflt && column->dflt->kind != SQL_EXPR_LITERAL))
		return compile_unsupported(c, LIMIT_DEFAULT_OF_NOT_LITERAL);
	if (column->dflt) {
		value = compile_expr(c, column->dflt);
		if (!value)
			return NULL;
		if (!eval_column_assign(c->arena, c->env, table, of->u.at.column, &value->type,
			    &value->u.value, 0, &stored, &outcome))
			return compile_unsupported(c, LIMIT_DEFAULT_OF_NOT_LITERAL);
	}
	value = node_literal(c, e, column->type, stored);
	value->literal = false;
	return value;
}

static bool all_constant(const struct node *n)
{
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!n->args[i]->constant)
			return false;
	}
	return true;
}

static struct node *compile_kind(struct compiler *c, const struct sql_expr *e)
{
	struct node *arg;

	switch ((enum sql_expr_kind)e->kind) {
	case SQL_EXPR_LITERAL:
		return compile_literal(c, e);
	case SQL_EXPR_COLUMN:
		return compile_column(c, e);
	case SQL_EXPR_STAR:
		return compile_error(c, 1064, "* where a value is wanted");
	case SQL_EXPR_PARAM:
	case SQL_EXPR_USER_VAR:
		return compile_variable(c, e);
	case SQL_EXPR_SYSTEM_VAR:
		return compile_unsupported(c, LIMIT_SYSTEM_VARIABLE);
	case SQL_EXPR_ASSIGN:
		return compile_unsupported(c, LIMIT_ASSIGNMENT_TO_USER_VARIABLE);
	case SQL_EXPR_UNARY:
		return compile_unary(c, e);
	case SQL_EXPR_BINARY:
		return compile_binary(c, e);
	case SQL_EXPR_IS:
		arg = compile_expr(c, e->u.binary.left);
		return arg ? compile_is(c, e, arg) : NULL;
	case SQL_EXPR_IN:
		return e->u.in.query ? compile_subquery(c, e) : compile_in_list(c, e);
	case SQL_EXPR_BETWEEN:
		return compile_between(c, e);
	case SQL_EXPR_LIKE:
		return compile_like(c, e);
	case SQL_EXPR_QUANTIFIED:
	case SQL_EXPR_EXISTS:
	case SQL_EXPR_SUBQUERY:
		return compile_subquery(c, e);
	case SQL_EXPR_ROW:
		return compile_row(c, e);
	case SQL_EXPR_CASE:
		return compile_case(c, e);
	case SQL_EXPR_CALL:
		return compile_call(c, e);
	case SQL_EXPR_CAST:
		return compile_cast(c, e);
	case SQL_EXPR_CONVERT_USING:
		return compile_convert_using(c, e);
	case SQL_EXPR_COLLATE:
		return compile_collate(c, e);
	case SQL_EXPR_INTERVAL:
	case SQL_EXPR_DATE_FUNC:
		return compile_interval(c, e);
	case SQL_EXPR_EXTRACT:
		return compile_extract(c, e);
	case SQL_EXPR_TRIM:
		return compile_trim(c, e);
	case SQL_EXPR_POSITION:
		return compile_position(c, e);
	case SQL_EXPR_DEFAULT:
		return compile_default(c, e);
	case SQL_EXPR_VALUES:
		return compile_values(c, e);
	case SQL_EXPR_MATCH:
		return compile_unsupported(c, LIMIT_MATCH_AGAINST);
	case SQL_EXPR_SEQUENCE:
		return compile_unsupported(c, LIMIT_SEQUENCES);
	case SQL_EXPR_ODBC:
		return compile_unsupported(c, LIMIT_ODBC_FUNCTION_SYNTAX);
	}
	return NULL;
}

/* A constant that fails may be computed before the rows are, and where a constant is NULL the rest
 * may not be computed at all: whether there is an error depends on optimizers. */
static void look_at_constant(struct compiler *c, const struct node *n)
{
	struct eval_outcome outcome = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};

	if (n->type.kind == EVAL_T_NULL) {
		c->null_constant = true;
	} else if (n->arg_count && c->constants_run < CONSTANTS_RUN_MAX) {
		c->constants_run++;
		if (node_run(n, &f).kind == EVAL_NULL && !run.failed)
			c->null_constant = true;
		if (run.failed)
			c->failing_constant = true;
		c->erring_constant |= run_erred(&run);
		if (!run.failed) {
			run.strict = true;
			(void)node_run(n, &f);
			c->cut_constant |= run.failed;
		}
	}
}

/* Of constants and the current time alone. */
static bool is_of_clock(const struct node *n)
{
	const struct sql_expr *e = n->expr;

	if (n->constant || (n->carries && !n->column && e && e->kind == SQL_EXPR_CALL))
		return true;
	if (!n->arg_count || (e && ((e->kind == SQL_EXPR_IN && e->u.in.query) || e->kind == SQL_EXPR_QUANTIFIED)))
		return false;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!is_of_clock(n->args[i]))
			return false;
	}
	return true;
}

/* What has the current time in it is a constant to MariaDB, too. */
static void look_at_clock(struct compiler *c, const struct node *n)
{
	struct eval_outcome outcome = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};

	if (!n->arg_count || c->env->flavour != SQL_MARIADB || c->constants_run >= CONSTANTS_RUN_MAX ||
		!is_of_clock(n))
		return;
	c->constants_run++;
	run.strict = true;
	(void)node_run(n, &f);
	c->cut_constant |= run_erred(&run);
}

/* MySQL 5.6 asks for the arguments behind a NULL. */
static bool fails_within(const struct node *n, struct frame *f)
{
	struct run *run = f->run;
	struct eval_outcome before = *run->outcome;
	bool fails = false;

	for (uint32_t i = 0; i < n->arg_count && !fails; i++) {
		(void)node_run(n->args[i], f);
		fails = run_erred(run);
		*run->outcome = before;
		run->failed = false;
		fails = fails || fails_within(n->args[i], f);
	}
	return fails;
}

static struct eval_value run_guarded(const struct node *n, struct frame *f)
{
	struct run *run = f->run;
	bool failed = run->failed;
	struct eval_value v = n->guarded(n, f);

	if (failed)
		return v;
	if (n->asks_all && !run->failed && fails_within(n, f))
		return run_unsupported(run, LIMIT_MYSQL5_ERROR_IN_WHAT_NEED_NOT_BE_ASKED);
	if (n->with_failing && !run->failed)
		return run_unsupported(run, LIMIT_CONSTANT_THAT_FAILS_AND_IS_NOT_ASKED_FOR);
	/* Where it was computed when the statement was prepared, MariaDB did not ask for strict mode, and
	 * MySQL said so before anything else. */
	if (n->with_cut && run->strict &&
		(run->env->flavour == SQL_MARIADB ? run_erred(run)
						  : !run->failed || run->outcome->error != 1292))
		return run_open_error(run, LIMIT_CONSTANT_ERROR_IN_STRICT_MODE);
	if (n->with_null && run_erred(run) &&
		(run->outcome->error == 1690 || (run->strict && run->env->flavour == SQL_MYSQL)))
		return run_open_error(run, LIMIT_ERROR_WITH_CONSTANT_NULL);
	return v;
}

struct node *compile_expr(struct compiler *c, const struct sql_expr *e)
{
	bool bytes = c->bytes;
	struct node *n;

	if (c->failed)
		return NULL;
	if (!c->depth) {
		c->failing_before |= c->failing_constant;
		c->null_constant = c->failing_constant = c->cut_constant = false;
		c->constants_run = 0;
	}
	if (++c->depth > COMPILE_DEPTH_MAX)
		return compile_unsupported(c, LIMIT_EXPRESSION_NESTED_TOO_DEEPLY);
	c->bytes = bytes && e->kind == SQL_EXPR_LITERAL;
	n = compile_kind(c, e);
	c->bytes = bytes;
	c->depth--;
	if (!n || c->failed) {
		if (!c->failed)
			compile_unsupported(c, LIMIT_EXPRESSION_NOT_MODELLED);
		return NULL;
	}
	for (uint32_t i = 0; i < n->arg_count; i++) {
		n->args[i]->nested = true;
		/* CONCAT(COUNT(*), 'a') is a text of bytes. */
		if (c->env->flavour == SQL_MARIADB && c->env->version < 101100 && type_is_string(&n->type) &&
			node_is_aggregate(n->args[i]) && !type_is_string(&n->args[i]->type))
			return compile_unsupported(c, LIMIT_TEXT_OF_AGGREGATE_IN_OLDER_RELEASES);
		/* It has the digits of a DOUBLE there. */
		if (c->env->flavour == SQL_MYSQL && type_is_string(&n->type) && node_is_aggregate(n->args[i]) &&
			n->args[i]->type.kind == EVAL_T_FLOAT)
			return compile_unsupported(c, LIMIT_MYSQL_TEXT_OF_MIN_OR_MAX_OF_FLOAT);
	}
	if (c->env->locals && (n->type.is_bool || e->kind == SQL_EXPR_CASE) && compares_local(n))
		return compile_unsupported(c, LIMIT_VARIABLE_COMPARED_WITH_VALUE_OF_ANOTHER_KIND);
	e = n->expr ? n->expr : e; /* +x is x */
	if (!n->literal && n->arg_count && !n->carries && !(e->kind == SQL_EXPR_IN && e->u.in.query) &&
		e->kind != SQL_EXPR_QUANTIFIED && all_constant(n))
		n->constant = true;
	if (n->constant)
		look_at_constant(c, n);
	else
		look_at_clock(c, n);
	if (!c->depth && c->failing_constant && !n->constant) {
		compile_unsupported(c, LIMIT_CONSTANT_THAT_FAILS_IN_CONDITION);
		return NULL;
	}
	if (!c->depth && (n->arg_count || e->kind == SQL_EXPR_SUBQUERY) && !node_is_row(n) &&
		(c->null_constant || c->failing_constant || c->cut_constant || mysql_5(c->env))) {
		n->asks_all = mysql_5(c->env);
		n->with_null = c->null_constant;
		n->with_failing = c->failing_constant;
		/* A value that is all constant is computed when it is stored. */
		n->with_cut = c->cut_constant && (!n->constant || c->env->flavour == SQL_MYSQL);
		n->guarded = n->fn;
		n->fn = run_guarded;
	}
	return n;
}

/* ---- calls ---- */

static const struct function *find_in(const struct function *table, struct span name)
{
	for (const struct function *f = table; f->name; f++) {
		if (span_ieq_str(name, f->name))
			return f;
	}
	return NULL;
}

static const struct function *find_function(struct span name)
{
	const struct function *found = NULL;
	static const struct function *const tables[] = {functions_control, functions_number,
		functions_string, functions_time, functions_interval, functions_regexp,
		functions_json, functions_digest, functions_encode};

	for (size_t i = 0; i < ARRAY_LEN(tables) && !found; i++)
		found = find_in(tables[i], name);
	return found;
}

static struct eval_value run_recorded(const struct node *n, struct frame *f)
{
	struct eval_value v;

	if (!f->run->env->recorded || !f->run->env->recorded(f->run->env->ctx, n->expr, &v))
		return run_unsupported(f->run, LIMIT_FUNCTION_NOT_DETERMINISTIC);
	return to_type(f->run, &n->type, &v, &n->type);
}

static struct node *compile_recorded(struct compiler *c, const struct sql_expr *e)
{
	struct eval_value v;
	struct node *n;

	if (!c->env->recorded || !c->env->recorded(c->env->ctx, e, &v))
		return NULL;
	n = node_from_value(c, e, v);
	n->fn = run_recorded;
	n->literal = n->constant = false;
	return n;
}

/* LOCATE(part, text): the servers resolve the text first, which decides which of two errors shows. */
static bool compile_located(struct compiler *c, const struct sql_expr *part, struct node **out)
{
	const struct sql_expr *from = part->next->next;

	out[1] = compile_expr(c, part->next);
	out[0] = compile_expr(c, part);
	if (from)
		out[2] = compile_expr(c, from);
	return !c->failed;
}

/* The reason names the function: FUNCTION SOUNDEX is not FUNCTION EXP to somebody who counts them. */
static struct node *function_not_modelled(struct compiler *c, struct span name)
{
	struct eval_outcome *o = c->outcome;
	bool first = o->status == EVAL_OK;

	compile_unsupported(c, LIMIT_FUNCTION_NOT_MODELLED);
	if (!first)
		return NULL;
	snprintf(o->reason, sizeof(o->reason), "function %.*s", (int)(name.len > 40 ? 40 : name.len),
		name.ptr);
	for (char *p = o->reason + 9; *p; p++)
		*p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
	return NULL;
}

struct node *compile_call(struct compiler *c, const struct sql_expr *e)
{
	const struct sql_exprs *args = &e->u.call.args;
	const struct function *function;
	bool is_aggregate;
	struct node *n;

	if (e->u.call.db.ptr)
		return compile_unsupported(c, LIMIT_STORED_FUNCTION);
	n = compile_aggregate(c, e, &is_aggregate);
	if (is_aggregate)
		return n;
	if (c->env->flavour == SQL_MYSQL && !e->u.call.quoted &&
		span_ieq_str(e->u.call.name, "grouping"))
		return compile_grouping(c, e);
	if (e->u.call.extra && e->u.call.extra->over)
		return compile_window(c, e);
	if (e->u.call.extra &&
		(e->u.call.extra->tail.ptr || e->u.call.extra->using_charset.ptr))
		return compile_unsupported(c, LIMIT_FUNCTION_OWN_CLAUSES);
	function = find_function(e->u.call.name);
	if (!function) {
		n = compile_recorded(c, e);
		if (n)
			return n;
		/* With arguments they are others: RAND(7), UNIX_TIMESTAMP(d). */
		function = args->count ? NULL : find_in(functions_opaque, e->u.call.name);
	}
	if (!function)
		return function_not_modelled(c, e->u.call.name);
	if (mysql_5_function(e->u.call.name) &&
		compile_mysql_5(c, LIMIT_MYSQL5_ROUND_GREATEST_INSERT_ADDTIME_AND_KIN))
		return NULL;
	if (args->count < function->args_min || args->count > function->args_max)
		return compile_error(c, 1582, "the wrong number of arguments");
	n = node_new(c, function->fn, e, args->count);
	if (span_ieq_str(e->u.call.name, "locate") ? !compile_located(c, args->first, n->args)
						   : !compile_list(c, args, n->args))
		return NULL;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (node_is_row(n->args[i]))
			return compile_error(c, 1241, "a row where a value is wanted");
	}
	n->op = (uint8_t)function->number;
	return function->compile(c, n, function);
}
