/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of CREATE TABLE. */
#include "eval/limits/guards.h"

bool create_table_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct sql_create_table *create)
{
	return outcome_refuses(
		o, env, LIMIT_CREATE_TABLE_LIKE_OR_AS_SELECT, create->like || create->query);
}

bool table_element_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct sql_element *e)
{
	return outcome_refuses(o, env, LIMIT_PERIOD, e->kind == SQL_ELEMENT_PERIOD);
}

static bool is_temporal(const struct sql_type *type)
{
	return type->kind == SQL_TYPE_TIME || type->kind == SQL_TYPE_DATETIME ||
	       type->kind == SQL_TYPE_TIMESTAMP;
}

static bool is_inexact_or_decimal(const struct sql_type *type)
{
	return type->kind == SQL_TYPE_DECIMAL || type->kind == SQL_TYPE_FLOAT ||
	       type->kind == SQL_TYPE_DOUBLE;
}

static bool is_empty(struct span text)
{
	while (text.len && text.ptr[text.len - 1] == ' ')
		text.len--;
	return !text.len;
}

static bool members_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct sql_type *type)
{
	for (const struct sql_expr *e = type->values; e; e = e->next) {
		if (outcome_refuses(o, env, LIMIT_MEMBERS_OF_ENUM_OR_SET_NOT_PLAIN_STRINGS,
			    e->u.literal.kind != SQL_LIT_STRING) ||
			/* Its text is that of what is no member, number 0. */
			outcome_refuses(o, env, LIMIT_EMPTY_STRING_AMONG_MEMBERS_OF_ENUM_OR_SET,
				is_empty(e->u.literal.text)))
			return true;
	}
	return false;
}

bool column_type_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct sql_type *type)
{
	uint32_t number = type_number(type->length, 0);

	return outcome_refuses(o, env, LIMIT_TEMPORAL_TYPE_WITH_MORE_THAN_SIX_DECIMALS,
		       is_temporal(type) && number > 6) ||
	       outcome_refuses(o, env, LIMIT_ZEROFILL_OF_OTHER_TYPES_THAN_INTEGERS,
		       is_inexact_or_decimal(type) && type->zerofill) ||
	       outcome_refuses(o, env, LIMIT_BIT_OF_MORE_THAN_64_BITS,
		       type->kind == SQL_TYPE_BIT && number > 64) ||
	       outcome_refuses(o, env, LIMIT_YEAR_2,
		       type->kind == SQL_TYPE_YEAR && type_number(type->length, 4) != 4) ||
	       outcome_refuses(o, env, LIMIT_BLOB_N, type->kind == SQL_TYPE_BLOB && type->length.ptr) ||
	       outcome_refuses(o, env, LIMIT_TEXT_N, type->kind == SQL_TYPE_TEXT && type->length.ptr) ||
	       members_refused(o, env, type);
}

bool column_text_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct sql_column_def *def)
{
	return outcome_refuses(o, env, LIMIT_COLUMN_WITHOUT_TYPE,
		!def->has_type || def->row_time != SQL_ROW_TIME_NONE);
}

/* They stay where the character set has no letters. */
bool member_blanks_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct eval_type *t)
{
	return outcome_refuses(o, env, LIMIT_BLANK_AT_END_OF_MEMBER_OF_ENUM_OR_SET_OF_BYTES,
		t->collation == COLLATION_BINARY);
}

bool timestamp_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct sql_column_def *def)
{
	return outcome_refuses(
		o, env, LIMIT_TIMESTAMP_WITHOUT_NULL_OR_NOT_NULL, def->nullable == SQL_UNSAID);
}
