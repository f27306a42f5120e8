/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of digests, and of functions that write numbers and bytes as texts. */
#include <string.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"

/* Is it an integer of that range, written as a literal? */
static bool is_literal_from_to(const struct node *n, int64_t from, int64_t to)
{
	return n->literal && n->u.value.kind == EVAL_INT && n->u.value.i >= from && n->u.value.i <= to;
}

/* ---- digests ---- */

/* MySQL 9.7 may write over the text of a date literal. */
bool digested_literal_refused(struct compiler *c, const struct node *arg)
{
	return compile_refuses(c, LIMIT_MYSQL_DATE_LITERAL_IN_TEXT,
		arg->literal && type_is_temporal(&arg->type));
}

/* MySQL gives the argument a binary collation, and these compare under it. */
static bool compares_within(const struct node *n)
{
	return calls_regexp(n) || (n->expr && n->expr->kind == SQL_EXPR_CALL &&
					  (span_ieq_str(n->expr->u.call.name, "greatest") ||
						  span_ieq_str(n->expr->u.call.name, "least")));
}

bool digest_refused(struct compiler *c, const struct node *n)
{
	return compile_refuses(c, LIMIT_MYSQL_9_7_MD5_OR_SHA1_WHICH_MAY_LACK,
		       n->arg_count == 1 && compile_mysql_has(c, MYSQL_NO_MD5)) ||
	       c->failed || digested_literal_refused(c, n->args[0]) ||
	       compile_refuses(c, LIMIT_MYSQL_DIGEST_OF_REGEXP_SUBSTR_GREATEST_AND_KIN,
		       compares_within(n->args[0]));
}

bool sha2_refused(struct compiler *c, const struct node *bits)
{
	return compile_refuses(c, LIMIT_SHA2_OF_OTHER_THAN_0_224_256_384_OR_512_BITS,
		!is_literal_from_to(bits, 0, 512) || bits->u.value.i == 128 || bits->u.value.i == 160);
}

/* ---- FORMAT, CONV, CHAR, BASE64, INET, STR_TO_DATE ---- */

bool format_refused(struct compiler *c, struct node *const *args)
{
	enum { FORMAT_DECIMALS_MAX = 30 };
	const struct eval_type *t = &args[0]->type;

	return compile_refuses(c, LIMIT_FORMAT_OF_INEXACT_NUMBER,
		!(t->kind == EVAL_T_INT || t->kind == EVAL_T_DECIMAL) ||
			!is_literal_from_to(args[1], 0, FORMAT_DECIMALS_MAX));
}

bool conv_base_refused(struct compiler *c, const struct node *base)
{
	return compile_refuses(c, LIMIT_CONV_WITH_BASES_NOT_LITERALS_FROM_2_TO_36,
		!is_literal_from_to(base, 2, 36));
}

bool conv_refused(struct compiler *c, const struct eval_type *t)
{
	return compile_refuses(c, LIMIT_CONV_OF_OTHER_THAN_INTEGERS_AND_TEXTS,
		!(t->kind == EVAL_T_INT || t->kind == EVAL_T_STRING) || t->hybrid);
}

bool char_refused(struct compiler *c, const struct node *n)
{
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (compile_refuses(
			    c, LIMIT_CHAR_OF_OTHER_THAN_INTEGERS, n->args[i]->type.kind != EVAL_T_INT))
			return true;
	}
	return false;
}

bool base64_refused(struct compiler *c, const struct node *arg)
{
	const struct eval_type *t = &arg->type;

	return compile_refuses(c, LIMIT_BASE64_OF_OTHER_THAN_TEXTS_AND_INTEGERS,
		       t->kind != EVAL_T_STRING && t->kind != EVAL_T_INT) ||
	       /* MySQL asks for them in another character set. */
	       compile_refuses(
		       c, LIMIT_BASE64_OF_COMPUTED, t->hybrid || (!arg->column && !arg->literal));
}

bool inet_aton_refused(struct compiler *c, const struct eval_type *t)
{
	return compile_refuses(
		c, LIMIT_INET_ATON_OF_OTHER_THAN_TEXTS, t->kind != EVAL_T_STRING || t->hybrid);
}

bool inet_ntoa_refused(struct compiler *c, const struct eval_type *t)
{
	return compile_refuses(c, LIMIT_INET_NTOA_OF_OTHER_THAN_INTEGERS, t->kind != EVAL_T_INT);
}

/* Blanks may be more or fewer, letters may be of the other case. */
static bool is_plain_format(struct span format)
{
	for (size_t i = 0; i < format.len; i++) {
		bool part = format.ptr[i] == '%' && ++i < format.len;

		if (i == format.len || (part && !format.ptr[i]) ||
			!strchr(part ? "YmcdeHkisS" : "-/.: T", format.ptr[i]))
			return false;
	}
	return true;
}

bool str_to_date_refused(struct compiler *c, struct node *const *args)
{
	const struct eval_type *t = &args[0]->type;
	const struct node *format = args[1];

	return compile_refuses(c, LIMIT_STR_TO_DATE_OF_OTHER_THAN_TEXTS,
		       t->kind != EVAL_T_STRING || t->hybrid ||
			       charset_max_bytes(collation_charset(t->collation)) == 0 ||
			       !format->literal || format->u.value.kind != EVAL_STRING) ||
	       compile_refuses(
		       c, LIMIT_STR_TO_DATE_WITH_ANOTHER_FORMAT, !is_plain_format(format->u.value.s));
}

bool str_to_date_parts_refused(struct compiler *c, bool all)
{
	return compile_refuses(c, LIMIT_STR_TO_DATE_WITH_ANOTHER_FORMAT, !all);
}

/* ---- values ---- */

bool format_value_refused(struct run *run, const struct eval_value *v, const struct decimal *d)
{
	return run_refuses(run, LIMIT_FORMAT_OF_NEGATIVE_NUMBER_ROUNDED_TO_ZERO,
		!d->count && v->kind == EVAL_DECIMAL && v->dec->neg);
}

bool conv_text_refused(struct run *run, struct span s)
{
	return run_refuses(run, LIMIT_CONV_OF_EMPTY_TEXT, !s.len);
}

bool inet_ntoa_value_refused(struct run *run, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_INET_NTOA_OF_NOT_ADDRESS_IN_STRICT_MODE,
		run->strict && v->kind != EVAL_NULL && v->u > UINT32_MAX);
}
