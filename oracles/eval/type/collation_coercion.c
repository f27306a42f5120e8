/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manual, "Collation Coercibility in Expressions": which collation strings that meet are of.
 */
#include "eval/compile.h"

#include <string.h>

#include "eval/limits/guards.h"

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

/* Strings that meet only to make a new one may be of collations of which none wins: it is then
 * ordered by its bytes, and comparing it is an error. */
bool needs_collation(enum operation operation)
{
	switch (operation) {
	case OPERATION_COMPARES:
	case OPERATION_UNION:
		return true;
	case OPERATION_BUILDS:
	case OPERATION_IF:
	case OPERATION_CASE:
		return false;
	}
	return true;
}

static bool illegal_mix(
	struct compiler *c, struct node **args, uint32_t count, enum operation operation)
{
	if (!illegal_mix_refused(c, args, count))
		compile_error(c,
			operation == OPERATION_UNION ? 1271
			: count == 2                 ? 1267
			: count == 3                 ? 1270
						     : 1271,
			"strings of collations that do not mix");
	return false;
}

/* The collation and the coercibility with which an operand takes part.  BITs are bytes; other numbers are
 * texts of the connection's collation. */
static uint16_t own_collation(const struct eval_env *env, const struct eval_type *t)
{
	return type_is_string(t)       ? t->collation
	       : t->kind == EVAL_T_BIT ? COLLATION_BINARY
				       : env->collation_connection;
}

static uint8_t own_coercibility(const struct eval_type *t)
{
	return type_is_string(t)        ? t->coercibility
	       : t->kind == EVAL_T_BIT  ? 2
	       : t->kind == EVAL_T_NULL ? 6
					: 5;
}

static void take(struct collation_mix *m)
{
	m->collation = m->other;
	m->level = m->other_level;
}

/* Binary wins unless the other is stronger. */
static void meet_bytes(struct collation_mix *m)
{
	if (m->other == COLLATION_BINARY ? m->other_level <= m->level : m->other_level < m->level)
		m->collation = m->other;
	if (m->other_level < m->level)
		m->level = m->other_level;
}

/* Two collations of one character set, equally strong: that of the bytes wins; without one, it is not known. */
static void meet_same_set(struct collation_mix *m)
{
	if (collation_is_bin(m->other)) {
		m->collation = m->other;
	} else if (!collation_is_bin(m->collation)) {
		m->collation = collation_bin_of(collation_charset(m->other));
		m->level = COERCIBLE_NONE;
	}
}

/* An operand whose collation is not the one of those before it. */
static bool meet_other(
	struct compiler *c, struct collation_mix *m, struct node **args, uint32_t count, uint32_t at)
{
	enum charset a = collation_charset(m->collation), b = collation_charset(m->other);

	if (collation_mix_refused(c, m, args, count, at))
		return false;
	if (m->collation == COLLATION_BINARY || m->other == COLLATION_BINARY) {
		meet_bytes(m);
		return true;
	}
	if (m->other_level != m->level) {
		if (m->other_level < m->level)
			take(m);
		return true;
	}
	if (m->level == 0 ||
		(a == b && collation_is_bin(m->collation) && collation_is_bin(m->other)))
		return illegal_mix(c, args, count, m->operation);
	if (a == b)
		meet_same_set(m);
	else if (b > a) /* The wider set wins: ascii, latin1, utf8mb3, utf8mb4. */
		m->collation = m->other;
	return true;
}

bool aggregate_collation(struct compiler *c, struct node **args, uint32_t count,
	enum operation operation, uint16_t *collation, uint8_t *coercibility)
{
	struct collation_mix m = {.operation = operation,
		.makes_text = coercibility,
		.collation = c->env->collation_connection,
		.level = COERCIBLE_NOTHING};

	for (uint32_t i = 0; i < count; i++) {
		m.other = own_collation(c->env, &args[i]->type);
		m.other_level = own_coercibility(&args[i]->type);
		if (collation_refused(c, &m, args, count, i))
			return false;
		if (m.level == COERCIBLE_NOTHING)
			take(&m);
		else if (m.other == m.collation)
			m.level = m.other_level < m.level ? m.other_level : m.level;
		else if (!meet_other(c, &m, args, count, i))
			return false;
	}
	if (union_collation_refused(c, &m, args, count))
		return false;
	if (m.level == COERCIBLE_NONE && count > 1 && needs_collation(operation))
		return illegal_mix(c, args, count, operation);
	if (mixed_collation_refused(c, &m, args, count))
		return false;
	*collation = m.collation;
	if (coercibility)
		*coercibility = m.level == COERCIBLE_NOTHING ? 4 : m.level;
	return true;
}
