/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manual, "Collation Coercibility in Expressions": which collation strings that meet are of.
 */
#include "eval/compile.h"

#include <string.h>

#include "eval/limits/release.h"

/* These have the connection's set, and are not known to be ASCII. */
static bool may_be_wide(struct span name)
{
	static const char *const names[] = {"bin", "oct", "md5", "sha", "sha1", "sha2", "inet_ntoa", "conv", "format"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (span_ieq_str(name, names[i]))
			return true;
	}
	return false;
}

static bool is_wide_text(const struct node *n)
{
	if (n->expr && n->expr->kind == SQL_EXPR_SUBQUERY && type_is_string(&n->type) &&
		charset_max_bytes(collation_charset(n->type.collation)) > 1)
		return true;
	if (n->expr && n->expr->kind == SQL_EXPR_CALL && may_be_wide(n->expr->u.call.name) &&
		charset_max_bytes(collation_charset(n->type.collation)) > 1)
		return true;
	return type_is_string(&n->type) &&
	       charset_max_bytes(collation_charset(n->type.collation)) > 1 &&
	       (n->column || (n->literal && n->u.value.kind == EVAL_STRING &&
				     !text_is_ascii(n->u.value.s)));
}

bool has_wide_text(const struct node *n)
{
	return node_any(n, is_wide_text);
}

bool relates_texts(struct node *const *args, uint32_t count, uint32_t at)
{
	static const char *const names[] = {
		"regexp_like", "regexp_instr", "find_in_set", "strcmp", "field", "instr", "locate"};
	const struct node *n = args[at];
	size_t i = 0;

	if (n->expr && n->expr->kind == SQL_EXPR_BINARY && n->expr->op == SQL_OP_REGEXP)
		return !n->expr->negated;
	if (!n->expr || (n->expr->kind != SQL_EXPR_CALL && n->expr->kind != SQL_EXPR_POSITION))
		return false;
	while (n->expr->kind == SQL_EXPR_CALL && i < ARRAY_LEN(names) &&
		!span_ieq_str(n->expr->u.call.name, names[i]))
		i++;
	if (n->expr->kind == SQL_EXPR_POSITION)
		i = ARRAY_LEN(names) - 1;
	if (i == ARRAY_LEN(names))
		return false;
	/* The regular expressions' own collation is not kept in the node. */
	if (i < 2 || n->collation == COLLATION_BINARY)
		return true;
	/* SUBSTRING(INSTR(a, 'x'), 2) is as a text of a column where it is compared. */
	if (i >= 4 && count == 1)
		return true;
	for (uint32_t k = 0; k < count && i >= 4; k++) {
		/* A literal beside it is then as strong as a column. */
		if (k != at && type_is_string(&args[k]->type) &&
			(args[k]->type.collation != n->collation || args[k]->type.coercibility > 2))
			return true;
	}
	return false;
}

/* Beside a column literals take the column's collation, and its character set where they are ASCII
 * (MySQL manual, "Collation Coercibility in Expressions").  What functions return is left alone. */
static bool column_wins(struct node **args, uint32_t count, uint16_t a, uint16_t b)
{
	bool same_set = collation_charset(a) == collation_charset(b);
	const struct node *column = NULL;

	if (a == COLLATION_BINARY || b == COLLATION_BINARY)
		return same_set;
	if (same_set)
		return true;
	for (uint32_t i = 0; i < count; i++) {
		const struct node *n = args[i];

		if (same_set && (!type_is_string(&n->type) || n->column || n->literal ||
					node_is_json_unquote(n)))
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

static bool illegal_mix(
	struct compiler *c, struct node **args, uint32_t count, const char *operation)
{
	bool patterns = false;

	for (uint32_t i = 0; i < count; i++)
		patterns |= node_any(args[i], calls_regexp);
	if (c->env->flavour == SQL_MYSQL)
		compile_unsupported(c, LIMIT_MYSQL_STRINGS_OF_DIFFERENT_COLLATIONS);
	else if (patterns) /* of which the server says first what is wrong with one */
		compile_unsupported(c, LIMIT_REGULAR_EXPRESSION_WITH_ANOTHER_COLLATION);
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
			compile_unsupported(c, LIMIT_COLLATION_NOT_MODELLED);
			return false;
		}
		/* As a text, what these say has the collation of its arguments. */
		if (c->env->flavour == SQL_MYSQL && !type_is_string(t) && relates_texts(args, count, i)) {
			compile_unsupported(c, LIMIT_MYSQL_TEXT_OF_REGEXP_LIKE_INSTR_AND_KIN);
			return false;
		}
		if (level == 7 || other == coll) {
			if (level == 7 || mine < level)
				level = mine;
			coll = other;
			continue;
		}
		for (uint32_t k = 0; k < count; k++) {
			if (args[k]->computed) {
				compile_unsupported(c, LIMIT_COMPUTED_TEXT_WITH_ANOTHER_COLLATION);
				return false;
			}
		}
		a = collation_charset(coll);
		b = collation_charset(other);
		if (c->env->flavour == SQL_MYSQL && (type_is_string(t) || t->kind == EVAL_T_BIT) &&
			!column_wins(args, count, coll, other) && !bytes_win(args, count)) {
			compile_unsupported(c, LIMIT_MYSQL_STRINGS_OF_DIFFERENT_COLLATIONS);
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
		/* An error where neither gives way: two columns of one set beside one of another. */
		if (a != b && c->env->flavour == SQL_MARIADB &&
			((level == COERCIBLE_NONE && (mine == 2 || mine == 3)) ||
				(mine == COERCIBLE_NONE && (level == 2 || level == 3)))) {
			compile_unsupported(c, LIMIT_TEXTS_OF_SEVERAL_SETS_AND_NO_COLLATION);
			return false;
		}
		if (mine != level) {
			if (mine < level) {
				coll = other;
				level = mine;
			}
			continue;
		}
		if (level == 0 && a != b) {
			compile_unsupported(c, LIMIT_COLLATE_OF_DIFFERENT_CHARACTER_SETS);
			return false;
		}
		if (level == 0)
			return illegal_mix(c, args, count, operation);
		if (a == b) {
			if (collation_is_bin(coll) && collation_is_bin(other))
				return illegal_mix(c, args, count, operation);
			if (collation_is_bin(coll) || collation_is_bin(other)) {
				coll = collation_is_bin(coll) ? coll : other;
			} else if (level >= 4) {
				compile_unsupported(c, LIMIT_LITERALS_OF_DIFFERENT_COLLATIONS);
				return false;
			} else if (c->env->flavour == SQL_MARIADB && c->env->version >= 110000 &&
				   any_casts(args, count)) {
				compile_unsupported(c, LIMIT_CAST_WITH_ANOTHER_COLLATION);
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
			compile_unsupported(c, LIMIT_STRINGS_OF_DIFFERENT_CHARACTER_SETS);
			return false;
		}
		if ((count > 2 || args[0]->arg_count || args[1]->arg_count) &&
			charset_max_bytes(a) == 1 && charset_max_bytes(b) == 1) {
			compile_unsupported(c, LIMIT_ASCII_WITH_LATIN1_AND_OTHERS);
			return false;
		}
		/* A later text may win over both, and be too narrow for what one of them has become. */
		if (level >= 4 && count > 2 && needs_collation(operation)) {
			compile_unsupported(c, LIMIT_LITERALS_OF_DIFFERENT_CHARACTER_SETS);
			return false;
		}
		if (b > a)
			coll = other;
	}
	for (uint32_t i = 0; i < count && level == COERCIBLE_NONE && !strcmp(operation, "UNION"); i++) {
		/* Which error it is depends on how many operands were asked by then. */
		if (type_is_string(&args[i]->type) && args[i]->type.coercibility == COERCIBLE_NONE) {
			compile_unsupported(c, LIMIT_UNION_OF_TEXT_WHOSE_COLLATION_NOBODY_CAN_TELL);
			return false;
		}
	}
	if (level == COERCIBLE_NONE && count > 1 && needs_collation(operation))
		return illegal_mix(c, args, count, operation);
	for (uint32_t i = 0; i < count && level == COERCIBLE_NONE; i++) {
		/* Bytes that are no characters are lost then. */
		if (args[i]->type.kind == EVAL_T_BIT ||
			(type_is_string(&args[i]->type) && args[i]->type.collation == COLLATION_BINARY)) {
			compile_unsupported(c, LIMIT_BYTES_WITH_TEXTS_OF_DIFFERENT_COLLATIONS);
			return false;
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		/* A binary literal becomes text when the query is prepared. */
		if (args[i]->literal && args[i]->u.value.kind == EVAL_STRING &&
			args[i]->type.collation == COLLATION_BINARY && coll != COLLATION_BINARY &&
			!text_is_valid(collation_charset(coll), args[i]->u.value.s)) {
			compile_unsupported(c, LIMIT_LITERAL_WITH_BYTES_NOT_CHARACTERS);
			return false;
		}
		/* And is bytes again in some functions: CONCAT(RPAD(0xb5, 5, latin1), utf8) has a '?'. */
		if (args[i]->literal && args[i]->u.value.kind == EVAL_STRING &&
			args[i]->type.collation == COLLATION_BINARY && coll != COLLATION_BINARY &&
			coercibility && !text_is_ascii(args[i]->u.value.s)) {
			compile_unsupported(c, LIMIT_LITERAL_OF_BYTES_BEYOND_ASCII_IN_TEXT);
			return false;
		}
	}
	/* Text of a wider set is made narrower where nothing is lost (error 1267 otherwise). */
	for (uint32_t i = 0; i < count && charset_max_bytes(collation_charset(coll)) == 1 &&
			     coll != COLLATION_BINARY;
		i++) {
		if (has_wide_text(args[i])) {
			compile_unsupported(c, LIMIT_WIDE_TEXT_WITH_NARROWER_CHARACTER_SET);
			return false;
		}
	}
	for (uint32_t i = 0; i < count && collation_charset(coll) == CHARSET_UTF8MB3; i++) {
		if (type_is_string(&args[i]->type) && has_wide_text(args[i]) &&
			collation_charset(args[i]->type.collation) == CHARSET_UTF8MB4) {
			compile_unsupported(c, LIMIT_WIDE_TEXT_WITH_NARROWER_CHARACTER_SET);
			return false;
		}
	}
	if (c->env->literals_uncertain && level >= 4 && !coercibility) {
		compile_unsupported(c, LIMIT_LITERALS_WHOSE_COLLATION_WAS_NOT_RECORDED);
		return false;
	}
	*collation = coll;
	if (coercibility)
		*coercibility = level == 7 ? 4 : level;
	return true;
}
