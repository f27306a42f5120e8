/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of the collation that several operands have together. */
#include "eval/limits/guards.h"

static const struct node *operand(const struct guarded *g)
{
	return g->args[g->at];
}

/* ---- an operand alone ---- */

static bool not_modelled(const struct guarded *g)
{
	return g->mix->other == COLLATION_NONE;
}

/* As a text, what these say has the collation of its arguments. */
static bool number_of_texts(const struct guarded *g)
{
	return !type_is_string(&operand(g)->type) && relates_texts(g->args, g->count, g->at);
}

bool collation_refused(struct compiler *c, const struct collation_mix *mix,
	struct node *const *args, uint32_t count, uint32_t at)
{
	static const struct guard guards[] = {
		{LIMIT_COLLATION_NOT_MODELLED, not_modelled},
		{LIMIT_MYSQL_TEXT_OF_REGEXP_LIKE_INSTR_AND_KIN, number_of_texts},
	};
	struct guarded g = {.env = c->env, .args = args, .count = count, .at = at, .mix = mix};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- an operand of another collation than those before it ---- */

static bool any_computed(const struct guarded *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->args[i]->computed)
			return true;
	}
	return false;
}

/* Together with a column literals take the column's collation, and its character set where they are ASCII
 * (MySQL manual, "Collation Coercibility in Expressions").  For results of functions this is not modelled. */
static bool column_wins(const struct guarded *g, uint16_t a, uint16_t b)
{
	const struct node *column = NULL;

	if (collation_charset(a) == collation_charset(b))
		return true;
	if (a == COLLATION_BINARY || b == COLLATION_BINARY)
		return false;
	for (uint32_t i = 0; i < g->count; i++) {
		const struct node *n = g->args[i];

		/* Of other sets than one column's only ASCII literals, no numbers. */
		if (!type_is_string(&n->type) ||
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
static bool bytes_win(const struct guarded *g)
{
	enum { COERCIBLE_AS_COLUMN = 2 };

	for (uint32_t i = 0; g->count == 2 && i < 2; i++) {
		const struct eval_type *t = &g->args[i]->type;

		if (t->kind == EVAL_T_STRING && t->collation == COLLATION_BINARY && !t->hybrid &&
			t->coercibility == COERCIBLE_AS_COLUMN && g->args[i]->constant &&
			g->args[1 - i]->column && type_is_string(&g->args[1 - i]->type))
			return true;
	}
	return false;
}

static bool neither_wins(const struct guarded *g)
{
	const struct eval_type *t = &operand(g)->type;

	return (type_is_string(t) || t->kind == EVAL_T_BIT) &&
	       !column_wins(g, g->mix->collation, g->mix->other) && !bytes_win(g);
}

/* What follows is of texts, and not of bytes. */
static bool any_bytes(const struct guarded *g)
{
	return g->mix->collation == COLLATION_BINARY || g->mix->other == COLLATION_BINARY;
}

static bool same_set(const struct guarded *g)
{
	return collation_charset(g->mix->collation) == collation_charset(g->mix->other);
}

static bool is_column_level(uint8_t level)
{
	return level == 2 || level == 3;
}

/* An error where neither gives way: two columns of one set and one of another. */
static bool column_of_another_set(const struct guarded *g)
{
	uint8_t a = g->mix->level, b = g->mix->other_level;

	return !any_bytes(g) && !same_set(g) &&
	       ((a == COERCIBLE_NONE && is_column_level(b)) ||
		       (b == COERCIBLE_NONE && is_column_level(a)));
}

static bool equally_strong(const struct guarded *g)
{
	return !any_bytes(g) && g->mix->level == g->mix->other_level;
}

static bool explicit_of_other_sets(const struct guarded *g)
{
	return equally_strong(g) && g->mix->level == 0 && !same_set(g);
}

static bool equal_and_not_bin(const struct guarded *g)
{
	return equally_strong(g) && g->mix->level > 0 && same_set(g) &&
	       !collation_is_bin(g->mix->collation) && !collation_is_bin(g->mix->other);
}

static bool literals_differ(const struct guarded *g)
{
	return equal_and_not_bin(g) && g->mix->level >= 4;
}

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

/* Since MariaDB 11 a CAST or CONVERT gives way to columns. */
static bool cast_may_give_way(const struct guarded *g)
{
	return equal_and_not_bin(g) && any_casts(g->args, g->count);
}

static bool equal_of_other_sets(const struct guarded *g)
{
	return equally_strong(g) && !same_set(g);
}

static bool narrow_and_others(const struct guarded *g)
{
	return equal_of_other_sets(g) &&
	       (g->count > 2 || g->args[0]->arg_count || g->args[1]->arg_count) &&
	       charset_max_bytes(collation_charset(g->mix->collation)) == 1 &&
	       charset_max_bytes(collation_charset(g->mix->other)) == 1;
}

/* A later text may win over both, and be too narrow for what one of them has become. */
static bool literals_of_other_sets(const struct guarded *g)
{
	return equal_of_other_sets(g) && g->mix->level >= 4 && g->count > 2 &&
	       needs_collation(g->mix->operation);
}

bool collation_mix_refused(struct compiler *c, const struct collation_mix *mix,
	struct node *const *args, uint32_t count, uint32_t at)
{
	static const struct guard guards[] = {
		{LIMIT_COMPUTED_TEXT_WITH_ANOTHER_COLLATION, any_computed},
		{LIMIT_MYSQL_STRINGS_OF_DIFFERENT_COLLATIONS, neither_wins},
		{LIMIT_TEXTS_OF_SEVERAL_SETS_AND_NO_COLLATION, column_of_another_set},
		{LIMIT_COLLATE_OF_DIFFERENT_CHARACTER_SETS, explicit_of_other_sets},
		{LIMIT_EXPRESSION_NOT_MODELLED, literals_differ},
		{LIMIT_CAST_WITH_ANOTHER_COLLATION, cast_may_give_way},
		{LIMIT_STRINGS_OF_DIFFERENT_CHARACTER_SETS, equal_of_other_sets},
		{LIMIT_ASCII_WITH_LATIN1_AND_OTHERS, narrow_and_others},
		{LIMIT_LITERALS_OF_DIFFERENT_CHARACTER_SETS, literals_of_other_sets},
	};
	struct guarded g = {.env = c->env, .args = args, .count = count, .at = at, .mix = mix};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- all operands together ---- */

/* Which error it is depends on how many operands were asked by then. */
static bool union_of_no_collation(const struct guarded *g)
{
	const struct eval_type *t = &operand(g)->type;

	return g->mix->operation == OPERATION_UNION && g->mix->level == COERCIBLE_NONE &&
	       type_is_string(t) && t->coercibility == COERCIBLE_NONE;
}

bool union_collation_refused(struct compiler *c, const struct collation_mix *mix,
	struct node *const *args, uint32_t count)
{
	static const struct guard guards[] = {
		{LIMIT_UNION_OF_TEXT_WHOSE_COLLATION_NOBODY_CAN_TELL, union_of_no_collation},
	};
	struct guarded g = {.env = c->env, .args = args, .count = count, .mix = mix};

	return guards_refuse_each(c, &g, 0, guards, ARRAY_LEN(guards));
}

/* Bytes that are no characters are lost then. */
static bool bytes_of_no_collation(const struct guarded *g)
{
	const struct eval_type *t = &operand(g)->type;

	return g->mix->level == COERCIBLE_NONE &&
	       (t->kind == EVAL_T_BIT || (type_is_string(t) && t->collation == COLLATION_BINARY));
}

static bool is_bytes_as_text(const struct guarded *g)
{
	const struct node *n = operand(g);

	return n->literal && n->u.value.kind == EVAL_STRING && n->type.collation == COLLATION_BINARY &&
	       g->mix->collation != COLLATION_BINARY;
}

/* A binary literal becomes text when the query is prepared. */
static bool bytes_not_characters(const struct guarded *g)
{
	return is_bytes_as_text(g) &&
	       !text_is_valid(collation_charset(g->mix->collation), operand(g)->u.value.s);
}

/* And is bytes again in some functions: CONCAT(RPAD(0xb5, 5, latin1), utf8) has a '?'. */
static bool bytes_beyond_ascii(const struct guarded *g)
{
	return is_bytes_as_text(g) && g->mix->makes_text && !text_is_ascii(operand(g)->u.value.s);
}

/* Text of a wider set is made narrower where nothing is lost (error 1267 otherwise). */
static bool wide_beside_one_byte(const struct guarded *g)
{
	return g->mix->collation != COLLATION_BINARY &&
	       charset_max_bytes(collation_charset(g->mix->collation)) == 1 && has_wide_text(operand(g));
}

static bool wide_beside_utf8mb3(const struct guarded *g)
{
	const struct node *n = operand(g);

	return collation_charset(g->mix->collation) == CHARSET_UTF8MB3 && type_is_string(&n->type) &&
	       has_wide_text(n) && collation_charset(n->type.collation) == CHARSET_UTF8MB4;
}

static bool literals_not_recorded(const struct guarded *g)
{
	return g->env->literals_uncertain && g->mix->level >= 4 && !g->mix->makes_text;
}

bool mixed_collation_refused(struct compiler *c, const struct collation_mix *mix,
	struct node *const *args, uint32_t count)
{
	static const struct guard bytes[] = {
		{LIMIT_BYTES_WITH_TEXTS_OF_DIFFERENT_COLLATIONS, bytes_of_no_collation},
	};
	static const struct guard literals[] = {
		{LIMIT_LITERAL_WITH_BYTES_NOT_CHARACTERS, bytes_not_characters},
		{LIMIT_LITERAL_OF_BYTES_BEYOND_ASCII_IN_TEXT, bytes_beyond_ascii},
	};
	static const struct guard wide[] = {
		{LIMIT_WIDE_TEXT_WITH_NARROWER_CHARACTER_SET, wide_beside_one_byte},
		{LIMIT_WIDE_TEXT_WITH_NARROWER_CHARACTER_SET, wide_beside_utf8mb3},
	};
	static const struct guard recorded[] = {
		{LIMIT_LITERALS_WHOSE_COLLATION_WAS_NOT_RECORDED, literals_not_recorded},
	};
	struct guarded g = {.env = c->env, .args = args, .count = count, .mix = mix};

	return guards_refuse_each(c, &g, 0, bytes, ARRAY_LEN(bytes)) ||
	       guards_refuse_each(c, &g, 0, literals, ARRAY_LEN(literals)) ||
	       guards_refuse_each(c, &g, 0, wide, ARRAY_LEN(wide)) ||
	       guards_refuse(c, &g, recorded, ARRAY_LEN(recorded));
}
