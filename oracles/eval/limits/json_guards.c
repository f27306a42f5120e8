/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of JSON functions, of -> and ->>, and of comparing JSON values. */
#include "eval/function/json.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"

/* ---- types ---- */

bool json_document_refused(struct compiler *c, const struct node *n)
{
	const struct eval_type *type = &n->type;
	bool text = type->kind == EVAL_T_STRING && !type->hybrid && !type->merged && !type->text_only &&
		    collation_charset(type->collation) != CHARSET_BINARY;

	return compile_refuses(c, LIMIT_JSON_FUNCTIONS_OF_OTHER_THAN_TEXTS,
		type->kind != EVAL_T_JSON && type->kind != EVAL_T_NULL && !text);
}

static bool is_base_column(const struct compiler *c, const struct node *n)
{
	return n->column && !n->u.at.depth && c->scope->tables[n->u.at.table].base;
}

static bool is_json_value(const struct compiler *c, const struct node *n)
{
	const struct eval_type *type = &n->type;
	bool maria = c->env->flavour == SQL_MARIADB;

	switch ((enum eval_type_kind)type->kind) {
	case EVAL_T_NULL:
		return true;
	case EVAL_T_JSON:
		/* JSON_KEYS is a text to it, and what came through a derived table may be. */
		return !maria || (calls_function(n, "json_") && !calls_function(n, "json_keys"));
	case EVAL_T_INT:
		return !type->zerofill && !type->merged && (!type->is_bool || n->literal);
	case EVAL_T_DECIMAL:
		/* MySQL's would be a JSON DECIMAL, whose text does not tell it from a DOUBLE. */
		return maria && n->literal;
	case EVAL_T_STRING:
		return !type->hybrid && !type->merged && !type->text_only && !type->fixed &&
		       collation_charset(type->collation) != CHARSET_BINARY &&
		       (!maria || n->literal || is_base_column(c, n));
	case EVAL_T_DOUBLE:
	case EVAL_T_FLOAT:
	case EVAL_T_BIT:
	case EVAL_T_YEAR:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return false;
	}
	return false;
}

bool json_value_refused(struct compiler *c, const struct node *n)
{
	return compile_refuses(c, LIMIT_VALUES_OF_OTHER_TYPES_IN_JSON, !is_json_value(c, n));
}

bool json_path_refused(struct compiler *c, const struct node *path)
{
	return compile_refuses(c, LIMIT_JSON_PATHS_BUT_LITERALS_OF_NAMES_AND_NUMBERS,
		!path->literal || path->type.kind != EVAL_T_STRING ||
			!text_is_valid(CHARSET_UTF8MB4, path->u.value.s));
}

/* In the order of the document, not of the paths. */
bool json_extract_refused(struct compiler *c, const struct node *n)
{
	return compile_refuses(c, LIMIT_MARIADB_JSON_EXTRACT_OF_SEVERAL_PATHS,
		c->env->flavour == SQL_MARIADB && n->arg_count > 2);
}

bool json_arrow_refused(struct compiler *c)
{
	return compile_refuses(c, LIMIT_JSON_OPERATORS, c->env->flavour == SQL_MARIADB);
}

bool json_name_refused(struct compiler *c, const struct node *name)
{
	return compile_refuses(c, LIMIT_NAMES_IN_JSON_NOT_TEXTS,
		name->type.kind != EVAL_T_STRING || name->type.json);
}

/* An error, MySQL's. */
bool json_remove_refused(struct compiler *c, const struct path *path)
{
	return compile_refuses(c, LIMIT_JSON_REMOVE_OF_ALL, !path->count);
}

bool json_contains_path_refused(struct compiler *c, const struct node *how)
{
	return compile_refuses(c, LIMIT_JSON_CONTAINS_PATH_BUT_OF_ONE_OR_ALL,
		!how->literal || how->type.kind != EVAL_T_STRING ||
			(!span_ieq_str(how->u.value.s, "one") && !span_ieq_str(how->u.value.s, "all")));
}

/* MariaDB: what JSON_EXTRACT gives is compared with an integer or a literal text. */
bool json_comparison_refused(
	struct compiler *c, enum sql_op op, const struct node *json, const struct node *other)
{
	const struct eval_type *t = &other->type;
	bool integer = t->kind == EVAL_T_INT && !t->is_bool && !t->merged;
	bool text = t->kind == EVAL_T_STRING && !t->hybrid && !t->merged && !t->json && other->literal;

	return compile_refuses(c, LIMIT_COMPARING_JSON_VALUES,
		!calls_function(json, "json_extract") || op == SQL_OP_NULL_EQ || !(integer || text));
}

/* ---- values ---- */

bool json_text_refused(struct run *run, const struct eval_value *v)
{
	enum charset set = v->kind == EVAL_STRING ? collation_charset(v->collation) : CHARSET_BINARY;

	return run_refuses(run, LIMIT_JSON_FUNCTIONS_OF_OTHER_THAN_TEXTS,
		set == CHARSET_BINARY ||
			(set != CHARSET_UTF8MB4 && set != CHARSET_UTF8MB3 && !text_is_ascii(v->s)));
}

/* MariaDB warns, and may have found something before the fault. */
bool no_json_refused(struct run *run)
{
	return run_refuses(run, LIMIT_JSON_FUNCTIONS_OF_NOT_JSON, run->env->flavour == SQL_MARIADB);
}

bool unquoted_json_refused(struct run *run, struct span s)
{
	return run_refuses(run, LIMIT_JSON_FUNCTIONS_OF_RARE_TEXT,
		s.len && (s.ptr[0] == '"' || (unsigned char)s.ptr[0] <= ' '));
}

/* MariaDB may count its bytes as characters (11.8: CHAR_LENGTH(JSON_KEYS('{"\u00e4": 1}')) is 6). */
bool json_keys_refused(struct run *run, const struct node *keys, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_JSON_FUNCTIONS_OF_RARE_TEXT,
		run->env->flavour == SQL_MARIADB && keys->nested && v->kind == EVAL_STRING && !text_is_ascii(v->s));
}

/* A VARCHAR(512): of a longer one it is NULL. */
bool long_json_value_refused(struct run *run, struct span s)
{
	return run_refuses(run, LIMIT_MYSQL_JSON_VALUE_OF_LONG_TEXT, run->env->flavour == SQL_MYSQL && s.len > 512);
}

bool null_json_name_refused(struct run *run)
{
	return run_refuses(run, LIMIT_NULL_NAME_IN_JSON, true);
}

/* Some functions ask for what is not wanted, others do not. */
bool unwanted_json_value_refused(struct run *run)
{
	if (run->outcome->status != EVAL_ERROR)
		return false;
	run_open_error(run, LIMIT_ERROR_IN_VALUE_THAT_JSON_DOES_NOT_TAKE);
	return true;
}

bool json_remove_element_refused(struct run *run, bool is_element)
{
	return run_refuses(run, LIMIT_JSON_REMOVE_OF_ELEMENT_OF_NOT_ARRAY, !is_element);
}

bool json_type_refused(struct run *run, const struct eval_type *type, const struct json_node *v)
{
	bool number = v->kind == JSON_NUMBER;

	return run_refuses(run, LIMIT_JSON_TYPE_OF_WHAT_MAY_BE_DECIMAL_OR_DATE,
		       run->env->flavour == SQL_MYSQL && type->kind == EVAL_T_JSON &&
			       (json_may_be_other(v) || (number && !v->whole))) ||
	       /* Beyond 32 bits it depends on where the number comes from. */
	       run_refuses(run, LIMIT_JSON_TYPE_OF_LARGE_NUMBER,
		       run->env->flavour == SQL_MYSQL && number && v->text.len > 9);
}

bool json_order_refused(struct run *run, enum sql_op op)
{
	return run_refuses(run, LIMIT_ORDER_OF_JSON_ARRAYS_AND_OBJECTS,
		op != SQL_OP_EQ && op != SQL_OP_NE && op != SQL_OP_NULL_EQ);
}

bool compared_json_refused(struct run *run, const struct json_node *v)
{
	return run_refuses(run, LIMIT_COMPARING_JSON_THAT_MAY_BE_DATE, json_may_be_other(v));
}

/* Which collation it is compared under is the document's. */
bool compared_json_text_refused(
	struct run *run, const struct node *n, int order, struct span a, struct span b)
{
	return run_refuses(run, LIMIT_MARIADB_COMPARING_TEXT_OF_JSON_WITH_ANOTHER,
		order != 0 && !(text_is_ascii(a) && text_is_ascii(b) && n->aux));
}

bool compared_json_number_refused(struct run *run, const struct json_node *v)
{
	return run_refuses(
		run, LIMIT_MARIADB_COMPARING_JSON_NOT_NUMBER_WITH_NUMBER, v->kind != JSON_NUMBER);
}
