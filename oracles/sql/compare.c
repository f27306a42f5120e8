/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manual, "Type Conversion in Expression Evaluation" and "Comparison Functions and Operators":
 * two strings are compared as strings, two integers as integers, DECIMAL with DECIMAL or integer as
 * DECIMAL, temporal values as such with whatever can be read as one, and everything else as DOUBLE.
 */
#include "sql/compare.h"
#include "sql/compile.h"

#include <math.h>
#include <string.h>

#include "sql/release.h"
#include "sql/temporal.h"

/* ---- how to compare ---- */

enum cmp_class { CMP_STRING, CMP_INT, CMP_DECIMAL, CMP_REAL, CMP_TIME, CMP_NULL };

static enum cmp_class class_of(const struct eval_type *type)
{
	switch ((enum eval_type_kind)type->kind) {
	case EVAL_T_NULL:
		return CMP_NULL;
	case EVAL_T_INT:
	case EVAL_T_BIT:
	case EVAL_T_YEAR:
		return CMP_INT;
	case EVAL_T_DECIMAL:
		return CMP_DECIMAL;
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE:
		return CMP_REAL;
	case EVAL_T_STRING:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_JSON:
		return CMP_STRING;
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return CMP_TIME;
	}
	return CMP_REAL;
}

bool has_wide_text(const struct node *n)
{
	if (!n)
		return false;
	if (n->expr && n->expr->kind == SQL_EXPR_SUBQUERY && type_is_string(&n->type) &&
		charset_max_bytes(collation_charset(n->type.collation)) > 1)
		return true;
	/* BIN and OCT have the connection's set, and are not known to be ASCII. */
	if (n->expr && n->expr->kind == SQL_EXPR_CALL &&
		(span_ieq_str(n->expr->u.call.name, "bin") ||
			span_ieq_str(n->expr->u.call.name, "oct")) &&
		charset_max_bytes(collation_charset(n->type.collation)) > 1)
		return true;
	if (type_is_string(&n->type) &&
		charset_max_bytes(collation_charset(n->type.collation)) > 1 &&
		(n->column || (n->literal && n->u.value.kind == EVAL_STRING &&
				      !text_is_ascii(n->u.value.s))))
		return true;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (has_wide_text(n->args[i]))
			return true;
	}
	return false;
}

/* A number that is found by comparing texts. */
static bool relates_texts(const struct node *n)
{
	static const char *const names[] = {
		"regexp_like", "regexp_instr", "instr", "locate", "find_in_set", "strcmp"};

	for (size_t i = 0; i < ARRAY_LEN(names) && n->expr && n->expr->kind == SQL_EXPR_CALL; i++) {
		/* The regular expressions' own collation is not kept in the node. */
		if (span_ieq_str(n->expr->u.call.name, names[i]))
			return i < 2 || n->collation == COLLATION_BINARY;
	}
	return n->expr && n->expr->kind == SQL_EXPR_POSITION && n->collation == COLLATION_BINARY;
}

/* Beside a column literals take the column's collation, and its character set where they are ASCII
 * (MySQL manual, "Collation Coercibility in Expressions").  What functions return is left alone. */
static bool column_wins(struct node **args, uint32_t count, uint16_t a, uint16_t b)
{
	bool same_set = collation_charset(a) == collation_charset(b);
	const struct node *column = NULL;

	if (a == COLLATION_BINARY || b == COLLATION_BINARY)
		return same_set;
	for (uint32_t i = 0; i < count; i++) {
		const struct node *n = args[i];

		if (same_set && (!type_is_string(&n->type) || n->column || n->literal))
			continue;
		/* Of other sets than one column's only ASCII literals, no numbers. */
		if (same_set || !type_is_string(&n->type) ||
			!(n->column || (n->literal && n->u.value.kind == EVAL_STRING &&
					       text_is_ascii(n->u.value.s))))
			return false;
		if (n->column && column &&
			collation_charset(n->type.collation) !=
				collation_charset(column->type.collation))
			return false;
		column = n->column ? n : column;
	}
	return true;
}

/* column = BINARY 'text', column LIKE BINARY 'text': by bytes, the column's as they are. */
static bool bytes_win(struct node **args, uint32_t count)
{
	enum { COERCIBLE_AS_COLUMN = 2 };

	for (uint32_t i = 0; count == 2 && i < 2; i++) {
		const struct eval_type *t = &args[i]->type;

		if (t->kind == EVAL_T_STRING && t->collation == COLLATION_BINARY && !t->hybrid &&
			t->coercibility == COERCIBLE_AS_COLUMN && args[i]->constant &&
			args[1 - i]->column && type_is_string(&args[1 - i]->type))
			return true;
	}
	return false;
}

/* Strings that meet only to make a new one may be of collations that nobody can choose from: it is then
 * ordered by its bytes, and comparing it is an error. */
static bool needs_collation(const char *operation)
{
	static const char *const builds[] = {"concat", "concat_ws", "insert", "elt", "lpad", "rpad", "if",
		"ifnull", "nvl", "coalesce", "case", "greatest", "least", "group_concat"};

	for (size_t i = 0; i < ARRAY_LEN(builds); i++) {
		if (!strcmp(operation, builds[i]))
			return false;
	}
	return true;
}

/* Is there a CAST or CONVERT?  Since MariaDB 11 it gives way to columns. */
static bool any_casts(struct node *const *args, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct sql_expr *e = args[i]->expr;

		if ((e && (e->kind == SQL_EXPR_CAST || e->kind == SQL_EXPR_CONVERT_USING)) ||
			any_casts(args[i]->args, args[i]->arg_count))
			return true;
	}
	return false;
}

static bool illegal_mix(struct compiler *c, uint32_t count, const char *operation)
{
	if (c->env->flavour == SQL_MYSQL)
		compile_unsupported(c, "MySQL: strings of different collations");
	else
		compile_error(c,
			!strcmp(operation, "UNION") ? 1271
			: count == 2                ? 1267
			: count == 3                ? 1270
						    : 1271,
			operation);
	return false;
}

bool aggregate_collation(struct compiler *c, struct node **args, uint32_t count,
	const char *operation, uint16_t *collation, uint8_t *coercibility)
{
	uint16_t coll = c->env->collation_connection;
	uint8_t level = 7;

	for (uint32_t i = 0; i < count; i++) {
		const struct eval_type *t = &args[i]->type;
		uint16_t other = type_is_string(t)       ? t->collation
				 : t->kind == EVAL_T_BIT ? COLLATION_BINARY
							 : c->env->collation_connection;
		uint8_t mine = type_is_string(t)        ? t->coercibility
			       : t->kind == EVAL_T_BIT  ? 2
			       : t->kind == EVAL_T_NULL ? 6
							: 5;
		enum charset a, b;

		if (other == COLLATION_NONE) {
			compile_unsupported(c, "a collation that is not modelled");
			return false;
		}
		/* As a text, what these say has the collation of its arguments. */
		if (c->env->flavour == SQL_MYSQL && !type_is_string(t) && relates_texts(args[i])) {
			compile_unsupported(c, "MySQL: the text of REGEXP_LIKE, INSTR and kin");
			return false;
		}
		if (level == 7 || other == coll) {
			if (level == 7 || mine < level)
				level = mine;
			coll = other;
			continue;
		}
		a = collation_charset(coll);
		b = collation_charset(other);
		if (c->env->flavour == SQL_MYSQL && (type_is_string(t) || t->kind == EVAL_T_BIT) &&
			!column_wins(args, count, coll, other) && !bytes_win(args, count)) {
			compile_unsupported(c, "MySQL: strings of different collations");
			return false;
		}
		if (coll == COLLATION_BINARY || other == COLLATION_BINARY) {
			/* Binary wins unless the other is stronger. */
			bool take = other == COLLATION_BINARY ? mine <= level : mine < level;

			if (take)
				coll = other;
			if (mine < level)
				level = mine;
			continue;
		}
		if (mine != level) {
			if (mine < level) {
				coll = other;
				level = mine;
			}
			continue;
		}
		if (level == 0 && a != b) {
			compile_unsupported(c, "COLLATE of different character sets");
			return false;
		}
		if (level == 0)
			return illegal_mix(c, count, operation);
		if (a == b) {
			if (collation_is_bin(coll) && collation_is_bin(other))
				return illegal_mix(c, count, operation);
			if (collation_is_bin(coll) || collation_is_bin(other)) {
				coll = collation_is_bin(coll) ? coll : other;
			} else if (level >= 4) {
				compile_unsupported(c, "literals of different collations");
				return false;
			} else if (c->env->flavour == SQL_MARIADB && c->env->version >= 110000 &&
				   any_casts(args, count)) {
				compile_unsupported(c, "a cast beside another collation");
				return false;
			} else {
				coll = collation_bin_of(a);
				level = COERCIBLE_NONE;
			}
			continue;
		}
		/* The wider set wins: ascii, latin1, utf8mb3, utf8mb4.  MariaDB 11 tells casts from
		 * columns here. */
		if (c->env->flavour == SQL_MARIADB && c->env->version >= 110000) {
			compile_unsupported(c, "strings of different character sets");
			return false;
		}
		if ((count > 2 || args[0]->arg_count || args[1]->arg_count) &&
			charset_max_bytes(a) == 1 && charset_max_bytes(b) == 1) {
			compile_unsupported(c, "ascii beside latin1 and others");
			return false;
		}
		if (b > a)
			coll = other;
	}
	if (level == COERCIBLE_NONE && count > 1 &&
		(needs_collation(operation) || c->env->flavour == SQL_MYSQL))
		return illegal_mix(c, count, operation);
	for (uint32_t i = 0; i < count && level == COERCIBLE_NONE; i++) {
		/* Bytes that are no characters are lost then. */
		if (args[i]->type.kind == EVAL_T_BIT ||
			(type_is_string(&args[i]->type) && args[i]->type.collation == COLLATION_BINARY)) {
			compile_unsupported(c, "bytes beside texts of different collations");
			return false;
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		/* A binary literal becomes text when the query is prepared. */
		if (args[i]->literal && args[i]->u.value.kind == EVAL_STRING &&
			args[i]->type.collation == COLLATION_BINARY && coll != COLLATION_BINARY &&
			!text_is_valid(collation_charset(coll), args[i]->u.value.s)) {
			compile_unsupported(c, "a literal with bytes that are no characters");
			return false;
		}
	}
	/* Text of a wider set is made narrower where nothing is lost (error 1267 otherwise). */
	for (uint32_t i = 0; i < count && charset_max_bytes(collation_charset(coll)) == 1 &&
			     coll != COLLATION_BINARY;
		i++) {
		if (has_wide_text(args[i])) {
			compile_unsupported(
				c, "characters beyond ASCII beside a narrower character set");
			return false;
		}
	}
	for (uint32_t i = 0; i < count && collation_charset(coll) == CHARSET_UTF8MB3; i++) {
		if (type_is_string(&args[i]->type) && has_wide_text(args[i]) &&
			collation_charset(args[i]->type.collation) == CHARSET_UTF8MB4) {
			compile_unsupported(
				c, "characters beyond ASCII beside a narrower character set");
			return false;
		}
	}
	if (c->env->literals_uncertain && level >= 4 && !coercibility) {
		compile_unsupported(c, "literals, whose collation was not recorded");
		return false;
	}
	*collation = coll;
	if (coercibility)
		*coercibility = level == 7 ? 4 : level;
	return true;
}

/* MariaDB compares these as DECIMALs, all digits of either; MySQL as DOUBLEs. */
static bool integer_and_text(enum cmp_class a, enum cmp_class b)
{
	return (a == CMP_INT && b == CMP_STRING) || (a == CMP_STRING && b == CMP_INT);
}

/* "2024-02-29" or "2024-02-29 23:59:59", and such a day.  Beside a date every server makes one of it
 * (MySQL: Arg_comparator::can_compare_as_dates). */
static bool is_date_text(const struct node *n)
{
	static const char form[] = "0000-00-00 00:00:00";
	struct span s = n->literal && n->u.value.kind == EVAL_STRING ? n->u.value.s : SPAN_NONE;
	struct eval_time t = {0};

	if (!s.ptr || (s.len != 10 && s.len != sizeof(form) - 1))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (form[i] == '0' ? s.ptr[i] < '0' || s.ptr[i] > '9' : s.ptr[i] != form[i])
			return false;
	}
	t.year = (uint16_t)((s.ptr[0] - '0') * 1000 + (s.ptr[1] - '0') * 100 +
			    (s.ptr[2] - '0') * 10 + (s.ptr[3] - '0'));
	t.month = (uint8_t)((s.ptr[5] - '0') * 10 + (s.ptr[6] - '0'));
	t.day = (uint8_t)((s.ptr[8] - '0') * 10 + (s.ptr[9] - '0'));
	return t.year >= 1000 && t.month >= 1 && t.month <= 12 && t.day >= 1 &&
	       t.day <= days_in_month(t.year, t.month) &&
	       (s.len == 10 || (s.ptr[11] - '0') * 10 + (s.ptr[12] - '0') < 24) &&
	       (s.len == 10 || (s.ptr[14] < '6' && s.ptr[17] < '6'));
}

static bool is_date(const struct node *n)
{
	return n->type.kind == EVAL_T_DATE || n->type.kind == EVAL_T_DATETIME ||
	       n->type.kind == EVAL_T_TIMESTAMP;
}

/* A subquery without tables is constant to the servers, and so is what is made of it. */
static bool may_be_constant(const struct node *n)
{
	if (n->constant || (n->expr && n->expr->kind == SQL_EXPR_SUBQUERY))
		return true;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!may_be_constant(n->args[i]))
			return false;
	}
	return n->arg_count > 0;
}

static bool is_bigint_column(const struct node *n)
{
	return n->column && n->type.kind == EVAL_T_INT && n->type.bytes == 8;
}

/* Is a constant text no number as a whole? */
static bool is_cut(struct compiler *c, const struct node *constant)
{
	struct eval_outcome outcome = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};
	struct eval_value v = node_run(constant, &f);

	run.strict = true;
	if (v.kind != EVAL_NULL && !run.failed)
		(void)to_double(&run, &constant->type, &v);
	return run.failed;
}

/* Without the collation: IN and BETWEEN have one for all of their operands. */
static bool comparison_type_of(
	struct compiler *c, const struct node *a, const struct node *b, struct comparison *out)
{
	enum cmp_class x = class_of(&a->type), y = class_of(&b->type);
	bool mysql = c->env->flavour == SQL_MYSQL;

	*out = (struct comparison){.collation = COLLATION_BINARY};
	if (node_is_row(a) || node_is_row(b)) {
		compile_error(c, 1241, "a row where a value is wanted");
		return false;
	}
	if (a->type.kind == EVAL_T_JSON || b->type.kind == EVAL_T_JSON) {
		compile_unsupported(c, "comparing JSON values");
		return false;
	}
	/* 0x41 is a number beside a number. */
	if (a->type.hybrid && (y == CMP_INT || y == CMP_DECIMAL || y == CMP_REAL))
		x = CMP_INT;
	if (b->type.hybrid && (x == CMP_INT || x == CMP_DECIMAL || x == CMP_REAL))
		y = CMP_INT;
	if (x == CMP_NULL)
		x = y;
	if (y == CMP_NULL)
		y = x;
	if (x == CMP_STRING && y == CMP_STRING) {
		out->as = type_string(COLLATION_BINARY, 4, 0);
		return true;
	}
	if (x == CMP_TIME || y == CMP_TIME) {
		bool time = (x != CMP_TIME || a->type.kind == EVAL_T_TIME) &&
			    (y != CMP_TIME || b->type.kind == EVAL_T_TIME);

		if (a->type.kind == EVAL_T_YEAR || b->type.kind == EVAL_T_YEAR) {
			compile_unsupported(c, "a YEAR compared with a date or time");
			return false;
		}
		/* As an integer, where the release makes it one when the statement is prepared. */
		if (!mysql && ((is_bigint_column(a) && may_be_constant(b)) ||
				      (is_bigint_column(b) && may_be_constant(a)))) {
			compile_unsupported(c, "a BIGINT column compared with a constant date or time");
			return false;
		}
		if (mysql && x != y && !(is_date(a) && is_date_text(b)) &&
			!(is_date(b) && is_date_text(a))) {
			compile_unsupported(c, "MySQL: comparing a date or time with another type");
			return false;
		}
		/* The constant is made a value of the column first: 1.25 seconds are 1. */
		if (mysql && ((a->column && b->constant && !b->literal &&
				      b->type.decimals > a->type.decimals) ||
				     (b->column && a->constant && !a->literal &&
					     a->type.decimals > b->type.decimals))) {
			compile_unsupported(c, "MySQL: a time compared with a constant of more digits");
			return false;
		}
		out->as = type_temporal(time ? EVAL_T_TIME : EVAL_T_DATETIME, 6);
		return true;
	}
	if (x == CMP_INT && y == CMP_INT)
		out->as = type_int(false);
	else if ((x == CMP_INT || x == CMP_DECIMAL) && (y == CMP_INT || y == CMP_DECIMAL))
		out->as = type_decimal(65, 0);
	else if (!mysql && integer_and_text(x, y))
		out->as = type_decimal(65, 0);
	else if (x == CMP_NULL)
		out->as = type_int(false);
	else
		out->as = type_double();
	if ((a->type.hybrid && y == CMP_DECIMAL) || (b->type.hybrid && x == CMP_DECIMAL))
		out->as = type_double();
	/* It may be a constant to the server. */
	if ((a->type.kind == EVAL_T_YEAR && !b->constant && may_be_constant(b)) ||
		(b->type.kind == EVAL_T_YEAR && !a->constant && may_be_constant(a))) {
		compile_unsupported(c, "a YEAR compared with a subquery");
		return false;
	}
	if (a->type.kind == EVAL_T_YEAR && a->column && b->constant)
		out->year = 2;
	else if (b->type.kind == EVAL_T_YEAR && b->column && a->constant)
		out->year = 1;
	return true;
}

bool comparison_of(
	struct compiler *c, const struct node *a, const struct node *b, struct comparison *out)
{
	struct node *pair[2] = {(struct node *)(uintptr_t)a, (struct node *)(uintptr_t)b};

	return comparison_type_of(c, a, b, out) &&
	       (out->as.kind != EVAL_T_STRING ||
		       aggregate_collation(c, pair, 2, "comparison", &out->collation, NULL));
}

/* ---- comparing ---- */

struct span text_in(struct run *run, const struct eval_type *type, const struct eval_value *v,
	uint16_t collation)
{
	struct span s = to_text(run, type, v);
	bool malformed;

	if (v->kind == EVAL_STRING && v->collation != collation &&
		!text_convert(run->arena, collation_charset(v->collation),
			collation_charset(collation), s, &s, &malformed))
		run_unsupported(run, "text that the other character set lacks");
	return s;
}

static int sign_of(bool greater, bool less)
{
	return greater - less;
}

/* To MySQL 5.6 the column is signed. */
static void check_bit(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	if (type->kind == EVAL_T_BIT && v->u > INT64_MAX && mysql_5(run->env))
		run_unsupported(run, "MySQL before 8.0: a BIT beyond BIGINT compared");
}

static int compare_integers(const struct eval_value *a, const struct eval_value *b)
{
	if (a->kind == b->kind)
		return a->kind == EVAL_INT ? sign_of(a->i > b->i, a->i < b->i)
					   : sign_of(a->u > b->u, a->u < b->u);
	if (a->kind == EVAL_INT)
		return a->i < 0 ? -1 : sign_of((uint64_t)a->i > b->u, (uint64_t)a->i < b->u);
	return b->i < 0 ? 1 : sign_of(a->u > (uint64_t)b->i, a->u < (uint64_t)b->i);
}

static bool has_digit(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] >= '0' && s.ptr[i] <= '9')
			return true;
	}
	return false;
}

/* MariaDB compares what is no date as 0000-00-00, and dates such as 2024-02-30 as they are. */
static bool time_operand(struct run *run, const struct eval_type *type, const struct eval_value *v,
	enum eval_kind kind, struct eval_value *out)
{
	const struct eval_env *env = run->env;
	struct eval_env loose = *env;
	bool found;

	if (env->flavour == SQL_MYSQL)
		return time_from_value(run, type, v, kind, out);
	loose.mode &= ~(uint32_t)(EVAL_MODE_NO_ZERO_DATE | EVAL_MODE_NO_ZERO_IN_DATE);
	loose.mode |= EVAL_MODE_ALLOW_INVALID_DATES;
	run->env = &loose;
	found = time_from_value(run, type, v, kind, out);
	run->env = env;
	if (!found && (v->kind != EVAL_STRING || (kind == EVAL_TIME && has_digit(v->s))))
		run_unsupported(run, "what is no date or time, compared with one");
	if (!found)
		*out = (struct eval_value){.kind = (uint8_t)kind};
	return !run->failed;
}

/* A constant beside a YEAR column is a YEAR: 5 is 2005. */
static void as_year(struct run *run, struct eval_value *v)
{
	if (v->kind == EVAL_INT && v->i > 0 && v->i < 100)
		v->i += v->i < 70 ? 2000 : 1900;
	else if (v->kind == EVAL_UINT && v->u > 0 && v->u < 100)
		v->u += v->u < 70 ? 2000 : 1900;
	else if (v->u == 0)
		run_unsupported(run, "a YEAR compared with 0");
}

/* Strings have decimals too: none where CAST(x AS CHAR) made them, so that 2 = CAST('1.5' AS CHAR). */
static void round_to(const struct eval_type *type, struct decimal *d)
{
	if ((type->kind == EVAL_T_DECIMAL || type_is_string(type)) && d->scale > type->decimals &&
		!decimal_round(d, type->decimals, DECIMAL_HALF_UP, d))
		d->scale = type->decimals; /* cannot be: fewer digits always fit */
}

/* As a constant beside a BIGINT column a string is compared as an integer, exactly. */
static bool beyond_double(const struct eval_value *v)
{
	return (v->kind == EVAL_INT && (v->i > 1ll << 53 || v->i < -(1ll << 53))) ||
	       (v->kind == EVAL_UINT && v->u > 1ull << 53);
}

/* Was it made an integer when the statement was prepared?  It must be one, and have room in the column. */
static bool made_ahead(const struct comparison *how, const struct eval_value *v)
{
	size_t used;
	double d;

	if (how->ahead == NOT_AHEAD || v->kind != EVAL_STRING)
		return false;
	d = text_to_double(v->s, &used);
	return d == rint(d) && fabs(d) < 0x1p63 && (d >= 0 || how->ahead == AHEAD_SIGNED);
}

int compare_as(struct run *run, const struct comparison *how, const struct eval_type *at,
	const struct eval_value *a, const struct eval_type *bt, const struct eval_value *b,
	bool *null)
{
	*null = false;
	if (run->strict && (made_ahead(how, a) || made_ahead(how, b))) {
		int order;

		run->strict = false;
		order = compare_as(run, how, at, a, bt, b, null);
		run->strict = true;
		return order;
	}
	switch ((enum eval_type_kind)how->as.kind) {
	case EVAL_T_STRING:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_JSON: {
		struct span x = text_in(run, at, a, how->collation);
		struct span y = text_in(run, bt, b, how->collation);
		bool unknown = false;
		int c = collation_compare(how->collation, x, y, &unknown);

		if (unknown)
			run_unsupported(run, "characters whose weight is not known");
		return c;
	}
	case EVAL_T_NULL:
	case EVAL_T_INT:
	case EVAL_T_BIT:
	case EVAL_T_YEAR: {
		struct eval_value x = to_integer(run, at, a), y = to_integer(run, bt, b);

		check_bit(run, at, &x);
		check_bit(run, bt, &y);
		if (how->year)
			as_year(run, how->year == 1 ? &x : &y);
		return compare_integers(&x, &y);
	}
	case EVAL_T_DECIMAL: {
		struct decimal x, y;

		if (how->year) {
			run_unsupported(run, "a YEAR compared with a constant that is no integer");
			return 0;
		}
		x = to_decimal(run, at, a);
		y = to_decimal(run, bt, b);
		if (how->rounds) {
			round_to(at, &x);
			round_to(bt, &y);
		}
		return decimal_compare(&x, &y);
	}
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE: {
		double x, y;

		if (how->year) {
			run_unsupported(run, "a YEAR compared with a constant that is no integer");
			return 0;
		}
		x = to_double(run, at, a);
		y = to_double(run, bt, b);
		if ((how->between || a->kind == EVAL_STRING || b->kind == EVAL_STRING) &&
			(beyond_double(a) || beyond_double(b)))
			run_unsupported(run, "an integer beyond 2^53 compared with a string");
		if (how->between && ((x != 0 && fabs(x) < 1e-200) || (y != 0 && fabs(y) < 1e-200)))
			run_unsupported(run, "BETWEEN with a number that is almost zero");
		if ((a->kind == EVAL_STRING && x != 0 && fabs(x) < 1e-200) ||
			(b->kind == EVAL_STRING && y != 0 && fabs(y) < 1e-200))
			run_unsupported(run, "a string with a number that is almost zero");
		if (how->within && fabs(x - y) < how->within)
			return 0;
		return sign_of(x > y, x < y);
	}
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP: {
		struct eval_value x, y;
		int64_t i, j;

		if (!time_operand(run, at, a, eval_kind_of(&how->as), &x) ||
			!time_operand(run, bt, b, eval_kind_of(&how->as), &y)) {
			*null = true;
			return 0;
		}
		i = time_pack(&x);
		j = time_pack(&y);
		return sign_of(i > j, i < j);
	}
	}
	return 0;
}

bool order_satisfies(enum sql_op op, int order)
{
	switch (op) {
	case SQL_OP_EQ:
	case SQL_OP_NULL_EQ:
		return order == 0;
	case SQL_OP_NE:
		return order != 0;
	case SQL_OP_LT:
		return order < 0;
	case SQL_OP_LE:
		return order <= 0;
	case SQL_OP_GT:
		return order > 0;
	case SQL_OP_GE:
		return order >= 0;
	default:
		return false;
	}
}

/* MySQL makes it a number then, too, and it is an error in strict mode whether it is asked for or not. */
static void note_ahead(struct compiler *c, const struct node *column, const struct node *constant,
	struct comparison *how)
{
	if (!is_bigint_column(column) || !type_is_string(&constant->type) || !may_be_constant(constant))
		return;
	if (c->env->flavour == SQL_MARIADB)
		how->ahead = column->type.is_unsigned ? AHEAD_UNSIGNED : AHEAD_SIGNED;
	else
		c->cut_constant |= !constant->constant || is_cut(c, constant);
}

/* What the operators do and IN, BETWEEN and CASE do not. */
static void as_operator(
	struct compiler *c, const struct node *a, const struct node *b, struct comparison *how)
{
	uint8_t da = type_is_int(&a->type) ? 0 : a->type.decimals;
	uint8_t db = type_is_int(&b->type) ? 0 : b->type.decimals;

	how->rounds = c->env->flavour == SQL_MARIADB;
	note_ahead(c, a, b, how);
	note_ahead(c, b, a, how);
	/* A constant string beside a DECIMAL that is not constant is read as a DECIMAL. */
	if (how->as.kind == EVAL_T_DOUBLE &&
		((a->type.kind == EVAL_T_DECIMAL && !a->constant && type_is_string(&b->type) &&
			 b->constant) ||
			(b->type.kind == EVAL_T_DECIMAL && !b->constant &&
				type_is_string(&a->type) && a->constant)))
		how->as = type_decimal(65, 0);
	if (how->as.kind == EVAL_T_DOUBLE && da < EVAL_NOT_FIXED && db < EVAL_NOT_FIXED)
		how->within = 5 / pow(10, (da > db ? da : db) + 1);
}

bool operator_comparison_of(
	struct compiler *c, const struct node *a, const struct node *b, struct comparison *out)
{
	if (!comparison_of(c, a, b, out))
		return false;
	/* Which type they are compared in depends on what the subquery is made into. */
	if (((a->expr && a->expr->kind == SQL_EXPR_SUBQUERY) ||
		    (b->expr && b->expr->kind == SQL_EXPR_SUBQUERY)) &&
		((class_of(&a->type) == CMP_DECIMAL && type_is_string(&b->type)) ||
			(class_of(&b->type) == CMP_DECIMAL && type_is_string(&a->type)))) {
		compile_unsupported(c, "a DECIMAL and a string in a subquery");
		return false;
	}
	as_operator(c, a, b, out);
	return true;
}

void compare_alone(struct run *run, const struct comparison *how, const struct eval_type *type,
	const struct eval_value *v)
{
	bool null;

	if (run->strict && v->kind == EVAL_STRING && !type_is_temporal(&how->as) && !made_ahead(how, v))
		(void)compare_as(run, how, type, v, type, v, &null);
}

static struct eval_value truth(bool b)
{
	return eval_int(b);
}

static struct eval_value run_compare(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value a = node_run(n->args[0], f), b;
	bool null;
	int order;

	if (a.kind == EVAL_NULL && n->op != SQL_OP_NULL_EQ)
		return EVAL_NULL_VALUE;
	b = node_run(n->args[1], f);
	if (a.kind == EVAL_NULL && f->run->failed && f->run->outcome->status == EVAL_ERROR) {
		f->run->outcome->status = EVAL_OK;
		run_unsupported(f->run, "an error beside NULL <=>");
	}
	/* A text beside a number may have been converted before, and be the error that shows. */
	if (f->run->strict && f->run->failed && f->run->outcome->status == EVAL_ERROR &&
		type_is_string(&n->args[0]->type) != type_is_string(&n->args[1]->type)) {
		f->run->outcome->status = EVAL_OK;
		return run_unsupported(f->run, "one of several errors in strict mode");
	}
	if (f->run->strict && type_is_temporal(&how->as) &&
		((a.kind == EVAL_NULL && !type_is_temporal(&n->args[1]->type)) ||
			(b.kind == EVAL_NULL && !type_is_temporal(&n->args[0]->type))))
		return run_unsupported(f->run, "NULL compared with a date in strict mode");
	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL) {
		const struct eval_type *at = &n->args[0]->type, *bt = &n->args[1]->type;

		if (bt->kind != EVAL_T_NULL)
			compare_alone(f->run, how, at, &a);
		/* MariaDB asks the second as well, MySQL beside <=> only. */
		if (at->kind != EVAL_T_NULL &&
			(f->run->env->flavour == SQL_MARIADB || n->op == SQL_OP_NULL_EQ))
			compare_alone(f->run, how, bt, &b);
		if (n->op == SQL_OP_NULL_EQ)
			return truth(a.kind == b.kind);
		return EVAL_NULL_VALUE;
	}
	order = compare_as(f->run, how, &n->args[0]->type, &a, &n->args[1]->type, &b, &null);
	if (null) {
		if (n->op == SQL_OP_NULL_EQ)
			return run_unsupported(f->run, "<=> of a string that is no date");
		return EVAL_NULL_VALUE;
	}
	return truth(order_satisfies(n->op, order));
}

/* ---- rows ---- */

static struct eval_value run_row(const struct node *n, struct frame *f)
{
	(void)n;
	return run_error(f->run, 1241, "a row where a value is wanted");
}

bool node_is_row(const struct node *n)
{
	return n->fn == run_row;
}

struct node *compile_row(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_row, e, e->u.call.args.count);

	return compile_list(c, &e->u.call.args, n->args) ? n : NULL;
}

/* (a, b) op (c, d): args are a, c, b, d. */
static struct eval_value run_compare_rows(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	bool unknown = false, null;

	for (uint32_t i = 0; i + 1 < n->arg_count; i += 2) {
		const struct node *l = n->args[i], *r = n->args[i + 1];
		struct eval_value a = node_run(l, f), b = EVAL_NULL_VALUE;
		int order;

		if (a.kind != EVAL_NULL || n->op == SQL_OP_NULL_EQ || r->constant)
			b = node_run(r, f);
		if (a.kind == EVAL_NULL && f->run->failed &&
			f->run->outcome->status == EVAL_ERROR) {
			/* A constant may have been asked for before. */
			f->run->outcome->status = EVAL_OK;
			run_unsupported(f->run, "an error in a row beside NULL");
		}
		if (f->run->failed)
			return EVAL_NULL_VALUE;
		if (a.kind == EVAL_NULL || b.kind == EVAL_NULL) {
			if (f->run->strict && type_is_temporal(&how[i / 2].as) &&
				!(type_is_temporal(&l->type) && type_is_temporal(&r->type)))
				return run_unsupported(f->run, "NULL compared with a date in strict mode");
			compare_alone(f->run, &how[i / 2], &l->type, &a);
			if (n->op == SQL_OP_NULL_EQ) {
				compare_alone(f->run, &how[i / 2], &r->type, &b);
				if (a.kind != b.kind)
					return truth(false);
				continue;
			}
			/* Equality may still be refuted by a later pair; order is not known. */
			if (n->op != SQL_OP_EQ && n->op != SQL_OP_NE)
				return EVAL_NULL_VALUE;
			unknown = true;
			continue;
		}
		/* By their bits, among several rows. */
		if (f->run->env->flavour == SQL_MYSQL &&
			((a.kind == EVAL_UINT && a.u > INT64_MAX && b.kind == EVAL_INT && b.i < 0) ||
				(b.kind == EVAL_UINT && b.u > INT64_MAX && a.kind == EVAL_INT && a.i < 0)))
			return run_unsupported(f->run, "MySQL: rows of large unsigned and negative numbers");
		order = compare_as(f->run, &how[i / 2], &l->type, &a, &r->type, &b, &null);
		if (null)
			return run_unsupported(f->run, "a row with a string that is no date");
		if (order == 0)
			continue;
		if (n->op == SQL_OP_EQ || n->op == SQL_OP_NULL_EQ)
			return truth(false);
		if (n->op == SQL_OP_NE)
			return truth(true);
		return truth(order_satisfies(n->op, order));
	}
	if (unknown)
		return EVAL_NULL_VALUE;
	return truth(order_satisfies(n->op, 0));
}

/* The servers compute constants before anything is compared, and fail then. */
static bool constant_fails(struct compiler *c, const struct node *n)
{
	struct eval_outcome outcome = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};

	if (!n->constant || n->literal)
		return false;
	(void)node_run(n, &f);
	return outcome.status == EVAL_ERROR;
}

static struct node *compile_compare_rows(struct compiler *c, const struct sql_expr *e,
	enum sql_op op, struct node *l, struct node *r)
{
	struct node *n = node_new(c, run_compare_rows, e, 2 * l->arg_count);
	struct comparison *how = arena_zero(c->arena, (l->arg_count + 1) * sizeof(*how));
	bool among = e->kind == SQL_EXPR_IN && e->u.in.list.count > 1;

	if (!node_is_row(l) || !node_is_row(r) || l->arg_count != r->arg_count)
		return compile_error(c, 1241, "rows of different sizes");
	for (uint32_t i = 0; i < l->arg_count; i++) {
		if (node_is_row(l->args[i]) || node_is_row(r->args[i]))
			return compile_unsupported(c, "rows within rows");
		if (constant_fails(c, l->args[i]) || constant_fails(c, r->args[i]))
			return compile_unsupported(c, "an error in a constant of a row");
		if (among && (l->args[i]->type.hybrid || r->args[i]->type.hybrid))
			return compile_unsupported(c, "rows with a hexadecimal literal in IN");
		n->args[2 * i] = l->args[i];
		n->args[2 * i + 1] = r->args[i];
		if (!operator_comparison_of(c, l->args[i], r->args[i], &how[i]))
			return NULL;
		/* No constant is a YEAR here, except beside = in MySQL. */
		if (how[i].year && c->env->flavour == SQL_MYSQL)
			return compile_unsupported(c, "MySQL: a YEAR and a constant in rows");
		how[i].year = 0;
		how[i].ahead = NOT_AHEAD;
		/* Among several rows a DECIMAL has all its digits. */
		if (among)
			how[i].rounds = false;
		if (among && !type_is_temporal(&how[i].as) &&
			type_is_string(&l->args[i]->type) != type_is_string(&r->args[i]->type) &&
			l->args[i]->type.kind != EVAL_T_NULL && r->args[i]->type.kind != EVAL_T_NULL)
			return compile_unsupported(c, "rows of texts and numbers in IN");
	}
	n->op = (uint8_t)op;
	n->type = type_bool();
	n->u.data = how;
	return n;
}

/* A hash join of MySQL 8.0 makes the integer a DECIMAL of the other's size, and finds the largest one there. */
static bool lacks_room(const struct compiler *c, const struct node *l, const struct node *r)
{
	return c->env->flavour == SQL_MYSQL && l->column && r->column && type_is_int(&l->type) &&
	       r->type.kind == EVAL_T_DECIMAL &&
	       (l->u.at.table != r->u.at.table || l->u.at.depth != r->u.at.depth) &&
	       type_precision(&l->type) > type_precision(&r->type) - r->type.decimals;
}

struct node *compile_compare(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r)
{
	struct node *n;
	struct comparison *how;

	if (node_is_row(l) || node_is_row(r))
		return compile_compare_rows(c, e, op, l, r);
	n = node_new(c, run_compare, e, 2);
	how = arena_zero(c->arena, sizeof(*how));
	n->args[0] = l;
	n->args[1] = r;
	n->op = (uint8_t)op;
	n->type = type_bool();
	if (!operator_comparison_of(c, l, r, how))
		return NULL;
	n->u.data = how;
	if (lacks_room(c, l, r) || lacks_room(c, r, l))
		return compile_unsupported(c, "MySQL: a join of an integer and a DECIMAL with less room");
	/* Compared under its own collation a text of the outer query is as good as its equals. */
	for (int i = 0; i < 2; i++) {
		const struct node *side = n->args[i];

		if (side->column && side->u.at.depth == 1 && type_is_string(&side->type) &&
			how->as.kind == EVAL_T_STRING && how->collation == side->type.collation &&
			how->collation != COLLATION_BINARY && c->scope->outer_text)
			c->scope->outer_text--;
	}
	return n;
}

/* ---- AND, OR, XOR, NOT ---- */

static struct eval_value run_and(const struct node *n, struct frame *f)
{
	bool unknown = false;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);
		bool is = v.kind != EVAL_NULL && to_bool(f->run, &n->args[i]->type, &v);

		if (v.kind == EVAL_NULL)
			unknown = true;
		else if (!is && !f->run->failed)
			return truth(false);
		if (f->run->failed) {
			/* Where NULL is as good as false (WHERE, IF) the rest is not asked for. */
			if (unknown && f->run->outcome->status == EVAL_ERROR) {
				f->run->outcome->status = EVAL_OK;
				outcome_unsupported(f->run->outcome, "an error behind NULL AND");
			}
			break;
		}
	}
	return unknown ? EVAL_NULL_VALUE : truth(true);
}

static struct eval_value run_or(const struct node *n, struct frame *f)
{
	bool unknown = false;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);

		if (v.kind == EVAL_NULL)
			unknown = true;
		else if (to_bool(f->run, &n->args[i]->type, &v))
			return truth(true);
		if (f->run->failed)
			break;
	}
	return unknown ? EVAL_NULL_VALUE : truth(false);
}

static struct eval_value run_xor(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b;

	if (a.kind == EVAL_NULL) /* the second is not asked for */
		return a;
	(void)to_bool(f->run, &n->args[0]->type, &a); /* an error in strict mode comes first */
	b = node_run(n->args[1], f);
	if (f->run->env->flavour == SQL_MARIADB && mariadb_2026(f->run->env) != 1 &&
		(b.kind != EVAL_NULL || f->run->strict) &&
		!(type_is_int(&n->args[0]->type) && type_is_int(&n->args[1]->type)))
		return run_unsupported(f->run, "XOR of other than integers in older releases");
	if (b.kind == EVAL_NULL)
		return b;
	return truth(
		to_bool(f->run, &n->args[0]->type, &a) != to_bool(f->run, &n->args[1]->type, &b));
}

static struct eval_value run_not(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL)
		return v;
	/* NOT NOT x is x <> 0 to MariaDB, which compares what is printed. */
	if (v.kind == EVAL_DECIMAL && n->args[0]->type.kind == EVAL_T_DECIMAL &&
		v.dec->scale > n->args[0]->type.decimals && v.dec->count) {
		struct decimal printed;

		if (decimal_round(v.dec, n->args[0]->type.decimals, DECIMAL_HALF_UP, &printed) &&
			!printed.count)
			return run_unsupported(f->run, "NOT of a quotient that is almost zero");
	}
	/* To MySQL it is x = 0, which DOUBLEs with decimals almost are. */
	if (v.kind == EVAL_DOUBLE && v.d != 0 && n->args[0]->type.kind == EVAL_T_DOUBLE &&
		n->args[0]->type.decimals < EVAL_NOT_FIXED &&
		fabs(v.d) < 5 / pow(10, n->args[0]->type.decimals + 1))
		return run_unsupported(f->run, "NOT of a DOUBLE that is almost zero");
	return truth(!to_bool(f->run, &n->args[0]->type, &v));
}

struct node *compile_logic(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r)
{
	struct node *n = node_new(c,
		op == SQL_OP_AND  ? run_and
		: op == SQL_OP_OR ? run_or
				  : run_xor,
		e, 2);

	if (node_is_row(l) || node_is_row(r))
		return compile_error(c, 1241, "a row where a value is wanted");
	if (n->fn == run_xor && !(type_is_int(&l->type) && type_is_int(&r->type)) &&
		compile_mysql_5(c, "MySQL before 8.0: XOR of other than integers"))
		return NULL;
	if (c->env->flavour == SQL_MARIADB && c->env->version < 100600 && l->literal &&
		type_is_string(&l->type) && r->constant && !r->literal)
		return compile_unsupported(c, "MariaDB 10.5: a string literal AND or OR a constant");
	n->args[0] = l;
	n->args[1] = r;
	n->op = (uint8_t)op;
	n->type = type_bool();
	return n;
}

/* Numbers that a condition, or AND and OR beside a constant, make integers of: 0.3 is false then. */
static bool has_fraction(const struct node *n)
{
	if (n->fn == run_and || n->fn == run_or)
		return has_fraction(n->args[0]) || has_fraction(n->args[1]);
	return !type_is_int(&n->type) && n->type.kind != EVAL_T_NULL;
}

struct node *compile_condition(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = compile_value(c, e);

	if (n && has_fraction(n) &&
		(mysql_5(c->env) || (c->env->flavour == SQL_MARIADB && c->env->version < 100600)))
		return compile_unsupported(c, "a condition that is no integer in older releases");
	return n;
}

/* NOT (NOT (x <= ANY (...))): all but MySQL 9.7 turn ANY and ALL about once, and the comparison twice. */
static bool denies_again(const struct sql_expr *e, bool denied)
{
	if (e->kind == SQL_EXPR_UNARY && (e->op == SQL_OP_NOT || e->op == SQL_OP_BANG))
		return denies_again(e->u.binary.left, true);
	if (e->kind == SQL_EXPR_BINARY && (e->op == SQL_OP_AND || e->op == SQL_OP_OR))
		return denies_again(e->u.binary.left, denied) || denies_again(e->u.binary.right, denied);
	return denied && e->kind == SQL_EXPR_QUANTIFIED &&
	       (e->op != SQL_OP_EQ || e->quantifier == SQL_ALL);
}

struct node *compile_not(struct compiler *c, const struct sql_expr *e, struct node *arg)
{
	struct node *n = node_new(c, run_not, e, 1);

	if ((c->env->flavour == SQL_MARIADB || c->env->version < 90700) &&
		denies_again(e->u.binary.left, false))
		return compile_unsupported(c, "NOT of NOT of ANY or ALL");
	if (node_is_row(arg))
		return compile_error(c, 1241, "a row where a value is wanted");
	n->args[0] = arg;
	n->op = SQL_OP_NOT;
	n->type = type_bool();
	return n;
}

static struct eval_value run_is(const struct node *n, struct frame *f)
{
	bool of_truth = n->op == SQL_OP_IS_TRUE || n->op == SQL_OP_IS_FALSE;
	struct eval_value v = of_truth ? node_run(n->args[0], f) : node_carry(n->args[0], f);
	bool is = false;

	switch (n->op) {
	case SQL_OP_IS_TRUE:
		is = v.kind != EVAL_NULL && to_bool(f->run, &n->args[0]->type, &v);
		break;
	case SQL_OP_IS_FALSE:
		is = v.kind != EVAL_NULL && !to_bool(f->run, &n->args[0]->type, &v);
		break;
	default:
		is = v.kind == EVAL_NULL;
		if (f->run->failed && f->run->outcome->status == EVAL_ERROR) {
			/* What cannot be NULL is not computed. */
			f->run->outcome->status = EVAL_OK;
			run_unsupported(f->run, "an error in what IS NULL asks");
		}
		break;
	}
	return truth(is != n->aux);
}

static bool note_row(void *ctx, const struct sql_expr *e)
{
	bool *found = ctx;

	*found |= e->kind == SQL_EXPR_ROW;
	return true;
}

bool compares_rows(const struct node *n)
{
	bool found = false;

	if (n->fn == run_compare_rows)
		return true;
	if (n->expr && n->expr->kind == SQL_EXPR_SUBQUERY)
		sql_walk_expr(n->expr, &(struct sql_visitor){.expr = note_row, .ctx = &found});
	if (found)
		return true;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (n->args[i] && compares_rows(n->args[i]))
			return true;
	}
	return false;
}

struct node *compile_is(struct compiler *c, const struct sql_expr *e, struct node *arg)
{
	struct node *n = node_new(c, run_is, e, 1);

	if (e->op == SQL_OP_IS_JSON)
		return compile_unsupported(c, "IS JSON");
	if (node_is_row(arg))
		return compile_error(c, 1241, "a row where a value is wanted");
	if (c->env->flavour == SQL_MARIADB && e->op != SQL_OP_IS_TRUE && e->op != SQL_OP_IS_FALSE &&
		compares_rows(arg))
		return compile_unsupported(c, "IS NULL of a comparison of rows");
	n->args[0] = arg;
	n->op = e->op;
	n->aux = e->negated;
	n->type = type_bool();
	return n;
}

/* ---- BETWEEN ---- */

/* MariaDB searches an index for one value where it takes both bounds for the same, which it asks in their own
 * collation: `c BETWEEN 'A' AND 'a'` of a column that tells them apart then finds only 'A' (seen on 10.11 and
 * 11.8; without an index it finds both). */
static bool may_be_one_value(const struct node *n, const struct frame *f, const struct comparison *how,
	const struct eval_value *low, const struct eval_value *high)
{
	bool unknown = false;

	return f->run->env->flavour == SQL_MARIADB && !n->aux && n->args[0]->column &&
	       n->args[1]->literal && n->args[2]->literal && low->kind == EVAL_STRING &&
	       high->kind == EVAL_STRING && low->collation != how->collation &&
	       !span_eq(low->s, high->s) &&
	       (collation_compare(low->collation, low->s, high->s, &unknown) == 0 || unknown);
}

static struct eval_value run_between(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value v[3];
	bool null, at_least = false, at_most = false, low_known, high_known;
	bool result;

	v[0] = node_run(n->args[0], f);
	if (v[0].kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	/* They are converted one by one, for their errors in strict mode. */
	compare_alone(f->run, how, &n->args[0]->type, &v[0]);
	v[1] = node_run(n->args[1], f);
	compare_alone(f->run, how, &n->args[1]->type, &v[1]);
	low_known = !f->run->failed;
	v[2] = node_run(n->args[2], f);
	/* Or what the lower bound would have been as a date. */
	if (low_known && f->run->failed && f->run->outcome->status == EVAL_ERROR && f->run->strict &&
		type_is_temporal(&how->as)) {
		f->run->outcome->status = EVAL_OK;
		return run_unsupported(f->run, "one of several errors in strict mode");
	}
	if (low_known && f->run->failed && f->run->outcome->status == EVAL_ERROR &&
		v[1].kind != EVAL_NULL) {
		f->run->failed = false;
		at_least = compare_as(f->run, how, &n->args[0]->type, &v[0], &n->args[1]->type,
				   &v[1], &null) >= 0;
		f->run->failed = true;
		if (!at_least) { /* it may not be asked for */
			f->run->outcome->status = EVAL_OK;
			return run_unsupported(f->run, "an error in the upper bound of BETWEEN");
		}
	}
	if (may_be_one_value(n, f, how, &v[1], &v[2]))
		return run_unsupported(f->run, "BETWEEN bounds that only the column tells apart");
	if (f->run->strict && type_is_temporal(&how->as) && !type_is_temporal(&n->args[0]->type) &&
		(v[1].kind == EVAL_NULL || v[2].kind == EVAL_NULL))
		return run_unsupported(f->run, "NULL compared with a date in strict mode");
	if (v[1].kind == EVAL_NULL && v[2].kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	low_known = v[1].kind != EVAL_NULL;
	high_known = v[2].kind != EVAL_NULL;
	if (low_known)
		at_least = compare_as(f->run, how, &n->args[0]->type, &v[0], &n->args[1]->type,
				   &v[1], &null) >= 0;
	if (low_known && null)
		return run_unsupported(f->run, "BETWEEN with a string that is no date");
	if (high_known)
		at_most = compare_as(f->run, how + 1, &n->args[0]->type, &v[0], &n->args[2]->type,
				  &v[2], &null) <= 0;
	if (high_known && null)
		return run_unsupported(f->run, "BETWEEN with a string that is no date");
	if (low_known && high_known)
		result = at_least && at_most;
	else if (low_known && !at_least)
		result = false;
	else if (high_known && !at_most)
		result = false;
	else
		return EVAL_NULL_VALUE;
	return truth(result != n->aux);
}

/* MariaDB joins the types from the left: an integer and a string (0x41 too) make a DECIMAL, which
 * makes a DOUBLE with another string. */
static struct eval_type mariadb_between(struct node **args)
{
	enum cmp_class all = CMP_NULL;

	for (int i = 0; i < 3; i++) {
		enum cmp_class class = class_of(&args[i]->type);

		if (class == CMP_NULL || class == all)
			continue;
		if (all == CMP_NULL)
			all = class;
		else if (integer_and_text(all, class) ||
			 ((all == CMP_INT || all == CMP_DECIMAL) &&
				 (class == CMP_INT || class == CMP_DECIMAL)))
			all = CMP_DECIMAL;
		else
			all = CMP_REAL;
	}
	return all == CMP_INT       ? type_int(false)
	       : all == CMP_DECIMAL ? type_decimal(65, 0)
				    : type_double();
}

/* The three are compared in one type. */
static bool between_comparison(struct compiler *c, struct node **args, struct comparison *out)
{
	bool strings = true, temporal = false, exact = true, ints = true, any_string = false;
	struct comparison low, high, both;

	for (int i = 0; i < 3; i++) {
		const struct eval_type *t = &args[i]->type;
		enum cmp_class class = class_of(t);

		if (class == CMP_NULL)
			continue;
		strings &= class == CMP_STRING;
		any_string |= class == CMP_STRING;
		temporal |= class == CMP_TIME;
		exact &= class == CMP_INT || class == CMP_DECIMAL || t->hybrid;
		ints &= class == CMP_INT || t->hybrid;
		if (t->kind == EVAL_T_YEAR && args[i]->column &&
			(may_be_constant(args[0]) || may_be_constant(args[1]) ||
				may_be_constant(args[2]))) {
			compile_unsupported(c, "BETWEEN with a YEAR and constants");
			return false;
		}
	}
	*out = (struct comparison){.collation = COLLATION_BINARY};
	if (!temporal && !strings) {
		if (!exact && any_string && c->env->flavour == SQL_MYSQL) {
			compile_unsupported(c, "MySQL: BETWEEN with strings and numbers");
			return false;
		}
		for (int i = 0; i < 3; i++) {
			if (type_is_string(&args[i]->type) && args[i]->type.merged &&
				args[i]->type.collation == COLLATION_BINARY) {
				compile_unsupported(c, "BETWEEN with bytes of IF or CASE");
				return false;
			}
		}
		if (c->env->flavour == SQL_MARIADB)
			out->as = mariadb_between(args);
		else
			out->as = ints    ? type_int(false)
				  : exact ? type_decimal(65, 0)
					  : type_double();
		/* Then some are compared as DOUBLEs. */
		for (int i = 0; i < 3 && out->as.kind == EVAL_T_DECIMAL; i++) {
			if (args[i]->type.kind == EVAL_T_NULL) {
				compile_unsupported(c, "BETWEEN the literal NULL and a DECIMAL");
				return false;
			}
		}
		out->between = true;
		return true;
	}
	if (!comparison_type_of(c, args[0], args[1], &low) ||
		!comparison_type_of(c, args[0], args[2], &high))
		return false;
	*out = args[1]->type.kind == EVAL_T_NULL ? high : low;
	if (strings)
		return aggregate_collation(c, args, 3, "between", &out->collation, NULL);
	if (!comparison_type_of(c, args[1], args[2], &both))
		return false;
	if (low.as.kind != high.as.kind ||
		(type_is_temporal(&both.as) && both.as.kind != low.as.kind)) {
		compile_unsupported(c, "BETWEEN with different temporal types");
		return false;
	}
	return true;
}

struct node *compile_between(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_between, e, 3);
	struct comparison *how = arena_zero(c->arena, 2 * sizeof(*how)); /* with either bound */

	n->args[0] = compile_expr(c, e->u.between.left);
	n->args[1] = compile_expr(c, e->u.between.low);
	n->args[2] = compile_expr(c, e->u.between.high);
	if (!n->args[0] || !n->args[1] || !n->args[2])
		return NULL;
	if (node_is_row(n->args[0]) || node_is_row(n->args[1]) || node_is_row(n->args[2]))
		return compile_error(c, 1241, "a row where a value is wanted");
	for (uint32_t i = 1; i < 3; i++) {
		if ((n->args[i]->type.kind != n->args[0]->type.kind || n->args[i]->type.is_unsigned ||
			    n->args[0]->type.is_unsigned) &&
			compile_mysql_5(c, "MySQL before 8.0: BETWEEN values unsigned or of several types"))
			return NULL;
	}
	/* Whether the string is converted, and complained of, is up to the optimizer. */
	if (n->args[1]->type.kind == EVAL_T_NULL || n->args[2]->type.kind == EVAL_T_NULL) {
		const struct eval_type *bound =
			&n->args[n->args[1]->type.kind == EVAL_T_NULL ? 2 : 1]->type;

		if (bound->kind != EVAL_T_NULL &&
			(bound->kind != n->args[0]->type.kind ||
				bound->is_unsigned != n->args[0]->type.is_unsigned))
			return compile_unsupported(c, "BETWEEN NULL and a value of another type");
		/* As DOUBLEs. */
		if (c->env->flavour == SQL_MYSQL && n->args[0]->type.kind == EVAL_T_INT &&
			n->args[0]->type.bytes == 8)
			return compile_unsupported(c, "MySQL: a BIGINT BETWEEN NULL and another");
	}
	/* What it compares with decides there too. */
	if (c->env->flavour == SQL_MYSQL && n->args[0]->expr &&
		n->args[0]->expr->kind == SQL_EXPR_CALL &&
		span_ieq_str(n->args[0]->expr->u.call.name, "nullif"))
		return compile_unsupported(c, "MySQL: NULLIF BETWEEN");
	if (!between_comparison(c, n->args, how))
		return NULL;
	how[1] = how[0];
	note_ahead(c, n->args[0], n->args[1], &how[0]);
	note_ahead(c, n->args[0], n->args[2], &how[1]);
	n->aux = e->negated;
	n->type = type_bool();
	n->u.data = how;
	return n;
}

/* ---- IN (list) ---- */

static struct eval_value run_in(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value left = node_run(n->args[0], f);
	bool unknown = false, null;

	if (left.kind == EVAL_NULL) {
		for (uint32_t i = 1; i < n->arg_count; i++) {
			/* Texts may have been made numbers by then, or not. */
			if (f->run->strict && type_is_string(&n->args[i]->type) &&
				how[i].as.kind != EVAL_T_STRING) {
				run_unsupported(f->run, "NULL IN texts beside numbers in strict mode");
				break;
			}
			if ((!n->args[i]->constant && f->run->env->flavour == SQL_MARIADB) ||
				n->args[i]->literal || f->run->failed)
				continue;
			(void)node_run(n->args[i], f);
			if (f->run->failed && f->run->outcome->status == EVAL_ERROR) {
				/* Whether it is asked for depends on the types and the server. */
				f->run->outcome->status = EVAL_OK;
				run_unsupported(f->run, "an error in a value of IN");
			}
		}
		return left;
	}
	for (uint32_t i = 1; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);
		int order;

		if (f->run->failed && f->run->outcome->status == EVAL_ERROR) {
			/* The servers sort constants and may find a match without it. */
			f->run->outcome->status = EVAL_OK;
			run_unsupported(f->run, "an error in a value of IN");
		}
		if (f->run->failed)
			return EVAL_NULL_VALUE;
		if (v.kind == EVAL_NULL) {
			if (f->run->strict && type_is_temporal(&how[i].as) &&
				!type_is_temporal(&n->args[0]->type))
				return run_unsupported(f->run, "NULL compared with a date in strict mode");
			if (!n->args[i]->literal)
				compare_alone(f->run, &how[i], &n->args[0]->type, &left);
			unknown = true;
			continue;
		}
		if (f->run->env->flavour == SQL_MYSQL && left.kind != v.kind &&
			how[i].as.kind == EVAL_T_INT &&
			((left.kind == EVAL_UINT && left.u > INT64_MAX) ||
				(v.kind == EVAL_UINT && v.u > INT64_MAX)))
			return run_unsupported(f->run, "MySQL: IN with large unsigned numbers");
		order = compare_as(
			f->run, &how[i], &n->args[0]->type, &left, &n->args[i]->type, &v, &null);
		/* It may have been converted when the statement was prepared. */
		if (f->run->strict && f->run->failed && f->run->outcome->status == EVAL_ERROR &&
			n->arg_count > 2 && n->args[i]->constant &&
			(type_is_temporal(&how[i].as) || is_bigint_column(n->args[0]))) {
			f->run->outcome->status = EVAL_OK;
			return run_unsupported(f->run, "an error in a value of IN");
		}
		if (null)
			return run_unsupported(f->run, "IN with a string that is no date");
		if (order == 0)
			return truth(!n->aux);
	}
	return unknown ? EVAL_NULL_VALUE : truth(n->aux);
}

/* The servers compare a column of all rows in one type. */
static bool alike(const struct node *a, const struct node *b)
{
	const struct comparison *x = a->u.data, *y = b->u.data;

	for (uint32_t i = 0; i < a->arg_count / 2; i++) {
		if (x[i].as.kind != y[i].as.kind || x[i].collation != y[i].collation)
			return false;
	}
	return true;
}

/* Numbers beside numbers and strings beside strings. */
static bool plain_row(const struct node *a, const struct node *b)
{
	for (uint32_t i = 0; i < a->arg_count; i++) {
		const struct eval_type *x = &a->args[i]->type, *y = &b->args[i]->type;

		if (x->kind != y->kind || (x->kind != EVAL_T_INT && x->kind != EVAL_T_DECIMAL &&
						  x->kind != EVAL_T_STRING))
			return false;
	}
	return true;
}

/* (a, b) IN ((1, 2), (3, 4)): an OR of row comparisons. */
static struct eval_value run_in_rows(const struct node *n, struct frame *f)
{
	bool unknown = false;

	/* Of several rows the left one is computed first, and whole. */
	for (uint32_t i = 0; n->arg_count > 1 && i < n->args[0]->arg_count; i += 2) {
		(void)node_run(n->args[0]->args[i], f);
		if (f->run->failed)
			return EVAL_NULL_VALUE;
	}
	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);

		if (v.kind == EVAL_NULL)
			unknown = true;
		else if (v.i)
			return truth(!n->aux);
		/* What a comparison did not ask for, the server may have computed before. */
		for (uint32_t k = 1; k < n->args[i]->arg_count && n->arg_count > 1; k += 2) {
			if (f->run->failed || !n->args[i]->args[k]->arg_count)
				continue;
			(void)node_run(n->args[i]->args[k], f);
			if (f->run->failed && f->run->outcome->status == EVAL_ERROR) {
				f->run->outcome->status = EVAL_OK;
				run_unsupported(f->run, "an error in a row of IN");
			}
		}
	}
	return unknown ? EVAL_NULL_VALUE : truth(n->aux);
}

struct node *compile_in_list(struct compiler *c, const struct sql_expr *e)
{
	uint32_t count = e->u.in.list.count;
	struct node *n = node_new(c, run_in, e, count + 1), *left;
	struct comparison *how = arena_zero(c->arena, (count + 1) * sizeof(*how));
	bool strings = true, any_string = false;

	left = compile_expr(c, e->u.in.left);
	if (!left || !compile_list(c, &e->u.in.list, n->args + 1))
		return NULL;
	n->aux = e->negated;
	n->type = type_bool();
	if (node_is_row(left)) {
		struct node *rows = node_new(c, run_in_rows, e, count);

		if (count > 1 && compile_mysql_5(c, "MySQL before 8.0: rows IN a list"))
			return NULL;

		for (uint32_t i = 0; i < count; i++) {
			rows->args[i] = compile_compare(c, e, SQL_OP_EQ, left, n->args[i + 1]);
			if (!rows->args[i] && count > 1 && c->outcome->error == 1267) {
				c->outcome->status = EVAL_OK;
				return compile_unsupported(c, "rows of different collations in IN");
			}
			if (!rows->args[i])
				return NULL;
			if (count > 1 && c->env->flavour == SQL_MYSQL && !plain_row(left, n->args[i + 1]))
				return compile_unsupported(c, "MySQL: rows of many types in IN");
			if (!alike(rows->args[0], rows->args[i]))
				return compile_unsupported(c, "rows of different types in IN");
		}
		rows->aux = e->negated;
		rows->type = type_bool();
		return rows;
	}
	n->args[0] = left;
	for (uint32_t i = 1; i <= count; i++) {
		/* x IN (y) is x = y. */
		if (count == 1 ? !operator_comparison_of(c, left, n->args[i], &how[i])
			       : !comparison_type_of(c, left, n->args[i], &how[i]))
			return NULL;
		strings &= how[i].as.kind == EVAL_T_STRING;
		any_string |= how[i].as.kind == EVAL_T_STRING;
	}
	for (uint32_t i = 1; i <= count && left->constant && count > 1; i++) {
		if (n->args[i]->type.kind == EVAL_T_YEAR)
			return compile_unsupported(c, "a constant IN values with a YEAR");
	}
	for (uint32_t i = 1; i <= count && left->type.kind == EVAL_T_YEAR; i++) {
		if (!n->args[i]->constant && count > 1)
			return compile_unsupported(c, "a YEAR IN values that are not constant");
		if (n->args[i]->type.hybrid && c->env->flavour == SQL_MYSQL)
			return compile_unsupported(c, "MySQL: a YEAR IN hexadecimal literals");
	}
	for (uint32_t i = 1; i <= count && type_is_temporal(&left->type) && count > 1; i++) {
		if (c->env->flavour == SQL_MYSQL &&
			(n->args[i]->type.kind == EVAL_T_TIME) !=
				(left->type.kind == EVAL_T_TIME))
			return compile_unsupported(c, "MySQL: IN with dates and times");
		if (c->env->flavour == SQL_MYSQL && left->type.kind == EVAL_T_TIME &&
			(left->type.decimals > n->args[i]->type.decimals || !n->args[i]->literal) &&
			!compile_mysql_has(c, MYSQL_IN_OF_TIMES))
			return compile_unsupported(c, "MySQL until 8.0: a TIME IN values of other decimals");
	}
	for (uint32_t i = 1; i <= count && c->env->flavour == SQL_MYSQL; i++) {
		if (how[i].as.kind == EVAL_T_DOUBLE && type_is_int(&left->type))
			return compile_unsupported(c, "MySQL: an integer IN DOUBLEs");
	}
	if (c->env->flavour == SQL_MYSQL && any_string && !strings)
		return compile_unsupported(c, "MySQL: IN with strings and others");
	/* A constant is a year beside y = 5 and y IN (5) only. */
	for (uint32_t i = 1; i <= count && count > 1 && c->env->flavour == SQL_MYSQL; i++)
		how[i].year = 0;
	if (left->type.hybrid && count > 1 && !strings)
		return compile_unsupported(c, "a hexadecimal literal IN values of several types");
	for (uint32_t i = 1; i <= count && count > 1 && c->env->flavour == SQL_MARIADB; i++) {
		const struct sql_expr *value = n->args[i]->expr;

		if (value && value->kind == SQL_EXPR_LITERAL && value->u.literal.kind == SQL_LIT_HEX &&
			(any_string || !strings))
			return compile_unsupported(c, "a hexadecimal literal IN values of several types");
	}
	if (count == 1) /* the servers make it an = */
		as_operator(c, left, n->args[1], &how[1]);
	/* Whose bytes are of no collation, or of that of the others. */
	for (uint32_t i = 1; i <= count && count > 1 && any_string; i++) {
		if (n->args[i]->type.hybrid)
			return compile_unsupported(c, "a hexadecimal literal IN values of several types");
	}
	if (any_string) { /* one collation for all */
		uint16_t collation;

		if (!aggregate_collation(c, n->args, count + 1, "in", &collation, NULL))
			return NULL;
		for (uint32_t i = 1; i <= count; i++)
			how[i].collation = collation;
	}
	n->u.data = how;
	return n;
}

/* ---- LIKE ---- */

static struct eval_value run_like(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b;
	bool unknown = false, match;
	struct span text, pattern;

	if (a.kind == EVAL_NULL)
		return a;
	b = node_run(n->args[1], f);
	/* MariaDB reads a constant pattern when the statement is prepared, before strict mode begins. */
	if (f->run->strict && f->run->failed && f->run->outcome->status == EVAL_ERROR &&
		n->args[1]->constant && f->run->env->flavour == SQL_MARIADB) {
		f->run->outcome->status = EVAL_OK;
		return run_unsupported(f->run, "a constant that is an error in strict mode");
	}
	if (b.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	text = text_in(f->run, &n->args[0]->type, &a, n->collation);
	pattern = text_in(f->run, &n->args[1]->type, &b, n->collation);
	match = collation_like(n->collation, text, pattern, (int)n->u.number, &unknown);
	if (unknown)
		return run_unsupported(f->run, "characters whose weight is not known");
	return truth(match != n->aux);
}

struct node *compile_like(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_like, e, 2);

	n->args[0] = compile_expr(c, e->u.between.left);
	n->args[1] = compile_expr(c, e->u.between.low);
	if (!n->args[0] || !n->args[1])
		return NULL;
	if (node_is_row(n->args[0]) || node_is_row(n->args[1]))
		return compile_error(c, 1241, "a row where a value is wanted");
	if ((!type_is_string(&n->args[0]->type) || !type_is_string(&n->args[1]->type)) &&
		compile_mysql_5(c, "MySQL before 8.0: LIKE of other than texts"))
		return NULL;
	n->u.number = c->env->mode & EVAL_MODE_NO_BACKSLASH_ESCAPES ? -1 : '\\';
	if (e->u.between.high) {
		struct node *escape = compile_expr(c, e->u.between.high);

		if (!escape)
			return NULL;
		if (!escape->literal || escape->type.kind != EVAL_T_STRING ||
			escape->u.value.s.len > 1 ||
			(escape->u.value.s.len && (unsigned char)escape->u.value.s.ptr[0] >= 0x80))
			return compile_unsupported(c, "ESCAPE that is not one ASCII character");
		if (escape->u.value.s.len)
			n->u.number = (unsigned char)escape->u.value.s.ptr[0];
		else
			n->u.number = c->env->mode & EVAL_MODE_NO_BACKSLASH_ESCAPES ? -1 : '\\';
	}
	if (!aggregate_collation(c, n->args, 2, "like", &n->collation, NULL))
		return NULL;
	n->aux = e->negated;
	n->type = type_bool();
	return n;
}
