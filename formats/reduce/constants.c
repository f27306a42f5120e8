/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/mem.h"
#include "reduce/tidy.h"

enum { DIGITS_MAX = 18, LETTERS = 26 };

/* Statements whose constants are data. */
static bool has_data(const struct sql_stmt *tree)
{
	return tree && (tree->kind == SQL_STMT_SELECT || tree->kind == SQL_STMT_INSERT || tree->kind == SQL_STMT_REPLACE ||
			       tree->kind == SQL_STMT_UPDATE || tree->kind == SQL_STMT_DELETE ||
			       tree->kind == SQL_STMT_CREATE_TABLE);
}

/* A word of letters; not one that may be meant as a number, a date or a pattern. */
static bool is_word(struct span text)
{
	if (!text.len || char_is_digit(text.ptr[0]))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!char_is_name(text.ptr[i]) || (unsigned char)text.ptr[i] >= 0x80)
			return false;
	return true;
}

/* False: it is not of those that are changed. */
static bool read_constant(const struct sql_expr *e, struct constant *out)
{
	struct span text;

	if (e->kind != SQL_EXPR_LITERAL || e->u.literal.charset.ptr)
		return false;
	text = e->u.literal.text;
	*out = (struct constant){.is_text = e->u.literal.kind == SQL_LIT_STRING, .text = text};
	if (out->is_text)
		return is_word(text);
	if (e->u.literal.kind != SQL_LIT_INT || text.len > DIGITS_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++)
		out->number = out->number * 10 + (uint64_t)(text.ptr[i] - '0');
	return out->number > 0;
}

static int compare_constants(const void *a, const void *b)
{
	const struct constant *x = a, *y = b;

	if (x->is_text != y->is_text)
		return x->is_text - y->is_text;
	if (x->is_text)
		return span_cmp(x->text, y->text);
	return (x->number > y->number) - (x->number < y->number);
}

static bool note_constant(void *ctx, const struct sql_expr *e)
{
	struct constants *out = ctx;
	struct constant c;

	if (!read_constant(e, &c))
		return true;
	for (size_t i = 0; i < out->count; i++)
		if (compare_constants(&out->items[i], &c) == 0)
			return true;
	MEM_RESERVE(out->items, out->count + 1, out->capacity);
	out->items[out->count++] = c;
	return true;
}

void constants_list(const struct script *script, struct constants *out)
{
	struct sql_visitor visitor = {.expr = note_constant, .ctx = out};

	*out = (struct constants){.count = 0};
	for (size_t i = 0; i < script->count; i++)
		if (has_data(script->stmts[i].tree))
			sql_walk_stmt(script->stmts[i].tree, &visitor);
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), compare_constants);
}

void constants_release(struct constants *constants)
{
	mem_free(constants->items);
}

struct changing {
	struct script *script;
	const struct constants *constants;
	struct span *texts; /* what each becomes */
	struct script_stmt *stmt;
};

/* A number becomes the one after what the number below it has become: the order stays, and none grows. */
static void choose_texts(struct changing *c, const bool *kept)
{
	uint64_t last = 0;
	unsigned letters = 0;

	for (size_t i = 0; i < c->constants->count; i++) {
		const struct constant *from = &c->constants->items[i];

		if (from->is_text) {
			c->texts[i] = from->text;
			if (!kept[i] && letters < LETTERS)
				c->texts[i] = span_str(arena_printf(&c->script->arena, "%c", 'a' + (int)letters++));
			continue;
		}
		last = kept[i] ? from->number : last + 1;
		c->texts[i] = span_str(arena_printf(&c->script->arena, "%" PRIu64, last));
	}
}

static bool change_constant(void *ctx, const struct sql_expr *given)
{
	struct changing *c = ctx;
	struct sql_expr *e = (struct sql_expr *)(uintptr_t)given; /* the script's own tree */
	struct constant constant;

	if (!read_constant(e, &constant))
		return true;
	for (size_t i = 0; i < c->constants->count; i++) {
		if (compare_constants(&c->constants->items[i], &constant) != 0)
			continue;
		if (!span_eq(e->u.literal.text, c->texts[i]))
			c->stmt->changed = true;
		e->u.literal.text = c->texts[i];
		break;
	}
	return true;
}

void constants_apply(struct script *script, const struct constants *constants, const bool *kept)
{
	struct changing c = {.script = script, .constants = constants};
	struct sql_visitor visitor = {.expr = change_constant, .ctx = &c};

	c.texts = arena_zero(&script->arena, (constants->count + 1) * sizeof(*c.texts));
	choose_texts(&c, kept);
	for (size_t i = 0; i < script->count; i++) {
		c.stmt = &script->stmts[i];
		if (has_data(c.stmt->tree))
			sql_walk_stmt(c.stmt->tree, &visitor);
	}
}
