/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of LOCATE, INSTR, FIND_IN_SET and STRCMP: two texts, args[0] and args[1]. */
#include "eval/function/string.h"
#include "eval/limits/guards.h"

/* Is it a column of a table of this query itself?  Through a view, and on MySQL in HAVING and from a query outside, the
 * servers look into the text instead. */
static bool is_plain_column(const struct compiler *c, const struct node *n)
{
	return n->column && !n->u.at.depth &&
	       (!c->scope || (!c->scope->alias_first && (!c->scope->tables || c->scope->tables[n->u.at.table].base)));
}

/* Of a constant it is the place in the column's list; a column of the one row that a key names is a constant, too.  And
 * characters whose case the servers fold otherwise. */
static bool in_set_column(const struct guarded *g)
{
	const struct node *needle = g->args[0];

	if (type_at(g, 1)->kind != EVAL_T_SET)
		return false;
	return !is_plain_column(g->compiler, g->args[1]) || !needle->literal || needle->type.kind != EVAL_T_STRING || needle->type.hybrid ||
	       needle->u.value.kind != EVAL_STRING || !text_is_ascii(needle->u.value.s);
}

bool find_in_set_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_FIND_IN_SET_IN_SET_COLUMN, in_set_column},
	};
	struct guarded g = {.env = c->env, .compiler = c, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool both_strings(const struct guarded *g)
{
	return type_is_string(type_at(g, 0)) && type_is_string(type_at(g, 1));
}

static bool not_both_strings(const struct guarded *g)
{
	return !both_strings(g);
}

/* Under which collation the texts of two numbers meet changed with the releases. */
static bool texts_of_numbers(const struct guarded *g)
{
	return is_number_text(g->args[0]) && is_number_text(g->args[1]);
}

bool strcmp_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_STRCMP_OF_OTHER_THAN_STRINGS, not_both_strings},
		{LIMIT_STRCMP_OF_TEXTS_OF_TWO_NUMBERS, texts_of_numbers},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool any_null(const struct guarded *g)
{
	return type_at(g, 0)->kind == EVAL_T_NULL || type_at(g, 1)->kind == EVAL_T_NULL;
}

/* MySQL makes characters of its bytes first, which can fail (error 3854). */
static bool one_is_hexadecimal(const struct guarded *g)
{
	return type_at(g, 0)->hybrid != type_at(g, 1)->hybrid ||
	       (type_at(g, 0)->kind == EVAL_T_BIT) != (type_at(g, 1)->kind == EVAL_T_BIT);
}

static bool bytes_and_number(const struct guarded *g)
{
	return (type_is_bytes(type_at(g, 0)) && !type_is_string(type_at(g, 1))) ||
	       (type_is_bytes(type_at(g, 1)) && !type_is_string(type_at(g, 0)));
}

bool two_texts_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_PLACE_OF_LITERAL_NULL, any_null},
		{LIMIT_MYSQL_HEXADECIMAL_LITERAL_WITH_TEXT, one_is_hexadecimal},
		{LIMIT_MYSQL_BINARY_STRING_WITH_NUMBER_TEXT, bytes_and_number},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* INSTR and LOCATE search by the collation of the first. */
static bool different_collations(const struct guarded *g)
{
	return both_strings(g) && type_at(g, 0)->collation != type_at(g, 1)->collation;
}

bool search_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_STRINGS_OF_DIFFERENT_COLLATIONS, different_collations},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}
