/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The type that holds several types: of IF, CASE, COALESCE, GREATEST, UNION. */
#include "eval/compile.h"
#include "eval/limits/guards.h"

static bool small_int(const struct eval_type *t)
{
	return t->kind == EVAL_T_YEAR || (t->kind == EVAL_T_INT && t->bytes <= 3);
}

static bool is_real(const struct eval_type *t)
{
	return t->kind == EVAL_T_FLOAT || t->kind == EVAL_T_DOUBLE;
}

static struct eval_type merge_reals(const struct eval_type *a, const struct eval_type *b)
{
	uint8_t da = type_is_int(a) ? 0 : a->decimals, db = type_is_int(b) ? 0 : b->decimals;
	struct eval_type t = type_double();

	if ((a->kind == EVAL_T_FLOAT && (b->kind == EVAL_T_FLOAT || small_int(b))) ||
		(b->kind == EVAL_T_FLOAT && small_int(a)))
		t.kind = EVAL_T_FLOAT;
	t.decimals = da > db ? da : db;
	return t;
}

static struct eval_type merge_decimals(const struct eval_type *a, const struct eval_type *b)
{
	uint32_t whole = type_int_digits(a), scale = a->kind == EVAL_T_DECIMAL ? a->decimals : 0;

	if (type_int_digits(b) > whole)
		whole = type_int_digits(b);
	if (b->kind == EVAL_T_DECIMAL && b->decimals > scale)
		scale = b->decimals;
	if (whole + scale > DECIMAL_PRECISION_MAX)
		scale = DECIMAL_PRECISION_MAX - whole;
	return type_decimal(whole + scale, scale);
}

static struct eval_type merge_numbers(
	const struct eval_type *a, const struct eval_type *b, bool mysql)
{
	struct eval_type t;

	if (is_real(a) || is_real(b))
		return merge_reals(a, b);
	if (a->kind == EVAL_T_DECIMAL || b->kind == EVAL_T_DECIMAL)
		return merge_decimals(a, b);
	if (a->kind == b->kind && a->kind != EVAL_T_INT)
		return *a;
	t = type_int(eval_kind_of(a) == EVAL_UINT && eval_kind_of(b) == EVAL_UINT);
	t.bytes = a->kind == EVAL_T_INT && b->kind == EVAL_T_INT && a->bytes > b->bytes ? a->bytes
		  : b->kind == EVAL_T_INT                                               ? b->bytes
											: a->bytes;
	t.length =
		type_int_digits(a) > type_int_digits(b) ? type_int_digits(a) : type_int_digits(b);
	t.is_bool = a->is_bool && b->is_bool;
	if (eval_kind_of(a) != eval_kind_of(b)) {
		const struct eval_type *u = eval_kind_of(a) == EVAL_UINT ? a : b;

		/* No integer type holds both; to MySQL the smaller ones fit. */
		if (mysql && u->kind != EVAL_T_BIT && u->bytes < 8)
			return type_int(false);
		return type_decimal(20, 0);
	}
	return t;
}

static bool merge_pair(struct compiler *c, const struct eval_type *a, const struct eval_type *b,
	bool null_is_signed, struct eval_type *out)
{
	if (a->kind == EVAL_T_NULL || b->kind == EVAL_T_NULL) {
		*out = a->kind == EVAL_T_NULL ? *b : *a;
		/* To MariaDB NULL is signed, but not in IF(). */
		if (null_is_signed && type_is_int(out) && out->kind != EVAL_T_YEAR &&
			eval_kind_of(out) == EVAL_UINT)
			*out = type_decimal(20, 0);
		return true;
	}
	if (merged_pair_refused(c, a, b))
		return false;
	if (type_is_number(a) && type_is_number(b)) {
		*out = merge_numbers(a, b, c->env->flavour == SQL_MYSQL);
		return true;
	}
	if (type_is_temporal(a) && type_is_temporal(b)) {
		uint8_t decimals = a->decimals > b->decimals ? a->decimals : b->decimals;

		*out = type_temporal(
			a->kind == b->kind ? (enum eval_type_kind)a->kind : EVAL_T_DATETIME,
			decimals);
		return true;
	}
	*out = type_string(COLLATION_NONE, 4, 0);
	return true;
}

static bool all_small_or_float(struct node *const *args, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct eval_type *t = &args[i]->type;

		if (t->kind != EVAL_T_FLOAT && t->kind != EVAL_T_NULL && !small_int(t))
			return false;
	}
	return true;
}

/* The number type of all operands. */
static bool merge_kinds(struct compiler *c, struct node **args, uint32_t count,
	enum operation operation, struct eval_type *t)
{
	bool mariadb = c->env->flavour == SQL_MARIADB;

	*t = args[0]->type;
	for (uint32_t i = 1; i < count; i++) {
		if (!merge_pair(c, t, &args[i]->type, mariadb && operation != OPERATION_IF, t))
			return false;
	}
	/* MariaDB looks at the signs last of all, and only where they are all integers. */
	if (mariadb && t->kind == EVAL_T_DOUBLE && all_small_or_float(args, count))
		t->kind = EVAL_T_FLOAT;
	/* A MEDIUMINT after NULL is an INT. */
	for (uint32_t i = 1; i < count && t->kind == EVAL_T_FLOAT && args[i - 1]->type.kind == EVAL_T_NULL;
		i++) {
		if (args[i]->type.kind == EVAL_T_INT && args[i]->type.bytes == 3)
			t->kind = EVAL_T_DOUBLE;
	}
	return true;
}

static bool is_empty_literal(const struct node *n)
{
	return n->type.kind == EVAL_T_NULL ||
	       (n->literal && n->u.value.kind == EVAL_STRING && !n->u.value.s.len);
}

/* Is the merged text as a number another thing than its text says? */
static bool is_text_only(const struct eval_env *env, struct node **args, uint32_t count)
{
	/* Of a string without any length MariaDB says that it has no decimals; not in all of
	 * these functions. */
	bool text_only = env->flavour == SQL_MARIADB;

	for (uint32_t i = 0; i < count; i++)
		text_only &= is_empty_literal(args[i]);
	for (uint32_t i = 0; i < count; i++) {
		const struct eval_type *t = &args[i]->type;

		/* IF and CASE ask a literal like x'41' for its number: 65.  Others have decimals then. */
		text_only |= t->text_only || t->hybrid ||
			     (t->kind != EVAL_T_STRING && t->kind != EVAL_T_NULL);
	}
	return text_only;
}

static bool merge_texts(struct compiler *c, struct node **args, uint32_t count,
	enum operation operation, struct eval_type *t)
{
	uint16_t collation;
	uint8_t coercibility;

	if (!aggregate_collation(c, args, count, operation, &collation, &coercibility))
		return false;
	*t = type_string(collation, coercibility, 0);
	/* IF(x, NULL, y) is in all as y. */
	for (uint32_t i = 0; i < count && operation == OPERATION_IF; i++) {
		if (args[i]->type.kind == EVAL_T_NULL && type_is_string(&args[!i]->type))
			t->decimals = args[!i]->type.decimals;
	}
	t->text_only = is_text_only(c->env, args, count);
	return true;
}

/* NULL counts as signed, but not in IF().  On MySQL no such DECIMAL is unsigned. */
static bool is_unsigned_decimal(
	const struct eval_env *env, struct node **args, uint32_t count, enum operation operation)
{
	for (uint32_t i = 0; i < count; i++) {
		bool passed = args[i]->type.kind == EVAL_T_NULL && operation == OPERATION_IF;

		if (!passed && !args[i]->type.is_unsigned)
			return false;
	}
	return env->flavour != SQL_MYSQL;
}

bool merge_types(struct compiler *c, struct node **args, uint32_t count, enum operation operation,
	struct eval_type *out)
{
	struct eval_type t;

	if (merge_refused(c, args, count) || !merge_kinds(c, args, count, operation, &t))
		return false;
	if (type_is_string(&t) && !merge_texts(c, args, count, operation, &t))
		return false;
	if (merged_type_refused(c, args, count, &t))
		return false;
	if (t.kind == EVAL_T_DECIMAL)
		t.is_unsigned = is_unsigned_decimal(c->env, args, count, operation);
	t.zerofill = false;
	t.hybrid = false;
	for (uint32_t i = 0; i < count; i++)
		t.not_int |= args[i]->type.not_int;
	t.merged = true;
	t.own_scale = c->env->flavour == SQL_MYSQL &&
		      (operation == OPERATION_IF || operation == OPERATION_CASE);
	*out = t;
	return true;
}
