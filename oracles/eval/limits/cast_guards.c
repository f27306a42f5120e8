/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of CAST, CONVERT, BINARY and COLLATE. */
#include <math.h>

#include "eval/function/time.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"

/* ---- types ---- */

static bool is_real(const struct eval_type *type)
{
	return type->kind == EVAL_T_DOUBLE || type->kind == EVAL_T_FLOAT;
}

bool cast_refused(struct compiler *c, const struct sql_type *type, struct node *const *arg)
{
	bool to_date = type->kind == SQL_TYPE_DATE || type->kind == SQL_TYPE_DATETIME;

	return /* Where the number is NULL, MySQL gives the date that it computed before. */
		compile_refuses(c, LIMIT_FLOATING_POINT_NUMBER_AS_DATE_OR_TIME,
			c->env->flavour == SQL_MYSQL && is_real(&arg[0]->type) &&
				(to_date || type->kind == SQL_TYPE_TIME)) ||
		compile_refuses(c, LIMIT_TIMEDIFF_AS_DATE,
			c->env->flavour == SQL_MARIADB && to_date && node_is_timediff(arg[0])) ||
		compile_refuses(c, LIMIT_CAST_TO_ARRAY, type->array) ||
		compile_refuses(
			c, LIMIT_CAST_TO_DOUBLE_M_D, type->kind == SQL_TYPE_DOUBLE && type->length.ptr) ||
		compile_refuses(c, LIMIT_HEXADECIMAL_LITERAL_CAST_TO_DECIMAL_IN_OLDER_RELEASES,
			type->kind == SQL_TYPE_DECIMAL && arg[0]->type.hybrid &&
				c->env->flavour == SQL_MARIADB && mariadb_2026(c->env) != 1);
}

bool cast_zone_refused(struct compiler *c, struct span zone)
{
	return compile_refuses(c, LIMIT_AT_TIME_ZONE, zone.ptr);
}

bool cast_to_text_refused(struct compiler *c, const struct sql_type *type, const struct node *arg)
{
	return compile_refuses(c, LIMIT_MYSQL_DATE_LITERAL_IN_TEXT,
		       arg->literal && type_is_temporal(&arg->type)) ||
	       compile_refuses(c, LIMIT_CAST_TO_CHAR_WITH_BINARY_ASCII_OR_UNICODE,
		       type->binary || type->ascii || type->unicode);
}

bool convert_using_refused(struct compiler *c, const struct node *arg)
{
	return compile_refuses(c, LIMIT_CONVERT_USING_OF_BIT_OR_HEXADECIMAL_LITERAL,
		       arg->type.hybrid || arg->type.kind == EVAL_T_BIT) ||
	       compile_refuses(c, LIMIT_MYSQL_DATE_LITERAL_IN_TEXT,
		       arg->literal && type_is_temporal(&arg->type));
}

bool collate_refused(struct compiler *c, struct node *const *arg, uint16_t collation)
{
	bool mysql = c->env->flavour == SQL_MYSQL, text = type_is_string(&arg[0]->type);
	uint16_t own = text ? arg[0]->type.collation : c->env->collation_connection;

	return compile_refuses(c, LIMIT_MYSQL5_COLLATE_OF_NUMBER, !text) ||
	       /* Binary in MySQL and MariaDB 10.5, a function of it too: error 1253. */
	       compile_refuses(c, LIMIT_NULL_COLLATE,
		       has_null(arg[0]) || (mysql && arg[0]->constant && !arg[0]->literal)) ||
	       compile_refuses(c, LIMIT_COLLATE_OF_ANOTHER_CHARACTER_SET,
		       collation_charset(own) != collation_charset(collation)) ||
	       /* POSITION(bytes IN bytes) is binary, and error 1253. */
	       compile_refuses(c, LIMIT_MYSQL_TEXT_OF_REGEXP_LIKE_INSTR_AND_KIN,
		       mysql && !text && relates_texts(arg, 1, 0));
}

/* ---- values ---- */

bool negative_as_unsigned_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MYSQL_NEGATIVE_NUMBER_CAST_TO_UNSIGNED, true) ||
	       /* Error 1916 of some numbers. */
	       run_refuses(run, LIMIT_NEGATIVE_NUMBER_CAST_TO_UNSIGNED_IN_STRICT_MODE, run->strict);
}

bool large_decimal_as_int_refused(struct run *run, const struct decimal *d)
{
	return run_refuses(run, LIMIT_MYSQL_LARGE_DECIMAL_AS_INTEGER, decimal_int_digits(d) > 18);
}

bool double_as_int_refused(struct run *run, double d, bool cut)
{
	return run_refuses(run, LIMIT_MYSQL80_CAST_DOUBLE_AS_INTEGER, cut && rint(d) != d) ||
	       /* IF(x, ABS(d), GREATEST(e, d)) */
	       run_refuses(run, LIMIT_GREATEST_OR_LEAST_WITH_FRACTIONS_AS_INTEGER,
		       cut && rint(d) != d && run->env->flavour == SQL_MARIADB) ||
	       run_refuses(run, LIMIT_MYSQL_LARGE_DOUBLE_AS_INTEGER, fabs(rint(d)) > 9e18);
}

bool time_as_int_refused(struct run *run, const struct eval_value *v)
{
	return run_refuses(
		run, LIMIT_MYSQL_TIME_WITH_FRACTION_AS_INTEGER, v->kind >= EVAL_DATE && v->t.micro);
}

bool cast_decimal_refused(struct run *run, const struct eval_value *v, const struct decimal *d)
{
	return run_refuses(run, LIMIT_MYSQL5_DECIMAL_OF_MINUS_ZERO,
		(v->kind == EVAL_STRING || v->kind == EVAL_DOUBLE) && !d->count);
}

bool cast_text_refused(
	struct run *run, const struct node *cast, const struct eval_value *v, struct span text)
{
	enum charset charset = collation_charset(cast->type.collation);
	bool bytes = v->kind != EVAL_STRING || v->collation == COLLATION_BINARY;

	return run_refuses(run, LIMIT_BYTES_NOT_CHARACTERS,
		       cast->type.collation != COLLATION_BINARY && bytes &&
			       !text_is_valid(charset, text)) ||
	       /* RPAD('abc', 5, column) counts as ASCII there, and is not converted. */
	       run_refuses(run, LIMIT_MYSQL_COMPUTED_TEXT_MADE_LATIN1,
		       charset == CHARSET_LATIN1 && cast->args[0]->arg_count && !text_is_ascii(text));
}

/* A constant may be cut when the statement is prepared. */
bool cast_cut_refused(struct run *run, const struct node *cast, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_CAST_THAT_CUTS_STRING_IN_STRICT_MODE,
		run->strict && (v->kind == EVAL_STRING || cast->constant));
}

bool cast_binary_refused(struct run *run, const struct node *cast)
{
	return run_refuses(run, LIMIT_LONG_BINARY_N, cast->type.length > 65536);
}

bool cast_rounding_refused(struct run *run, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_DATE_WITH_ZERO_IN_ROUNDED_IN_STRICT_MODE,
		run->strict && date_is_zeroish(&v->t));
}
