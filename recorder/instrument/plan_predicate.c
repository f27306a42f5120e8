/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The condition of a statement, as a text with places for its parameters. */
#include "instrument/plan_internal.h"
#include "sql/text/raw_token.h"

bool plan_note_param(void *ctx, const struct sql_expr *e)
{
	struct param_state *state = ctx;

	if (e->kind == SQL_EXPR_PARAM && state->count++ < PLAN_PARAMS_MAX)
		state->indexes[state->count - 1] = e->u.param;
	return true;
}

size_t plan_find_params(struct plan_template *template, const uint32_t *indexes)
{
	struct span text = buf_span(&template->text);
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++) {
		size_t quoted = raw_is_quote(text.ptr[i]) ? raw_quoted(text, i) : 1;

		if (!quoted)
			break;
		if (text.ptr[i] == '?' && count++ < PLAN_PARAMS_MAX)
			template->params[count - 1] =
				(struct plan_param){indexes[count - 1], (uint32_t)i};
		i += quoted - 1;
	}
	template->count = count < PLAN_PARAMS_MAX ? count : PLAN_PARAMS_MAX;
	return count;
}

/* Functions whose result is made of their arguments alone, in every session. */
static const char *const constant[] = {"ABS", "ASCII", "BIT_LENGTH", "CEIL", "CEILING",
	"CHAR_LENGTH", "COALESCE", "CONCAT", "FLOOR", "GREATEST", "HEX", "IF", "IFNULL", "INSTR",
	"LEAST", "LEFT", "LENGTH", "LOCATE", "LOWER", "MOD", "NULLIF", "POW", "REPLACE", "REVERSE",
	"RIGHT", "ROUND", "SIGN", "SUBSTR", "SUBSTRING", "TRUNCATE", "UPPER"};

static bool note_shared(void *ctx, const struct sql_expr *e)
{
	bool *shared = ctx;

	switch (e->kind) {
	case SQL_EXPR_LITERAL:
	case SQL_EXPR_COLUMN:
	case SQL_EXPR_PARAM:
	case SQL_EXPR_UNARY:
	case SQL_EXPR_BINARY:
	case SQL_EXPR_IS:
	case SQL_EXPR_IN:
	case SQL_EXPR_BETWEEN:
	case SQL_EXPR_LIKE:
	case SQL_EXPR_ROW:
	case SQL_EXPR_CASE:
	case SQL_EXPR_TRIM:
	case SQL_EXPR_POSITION:
		break;
	case SQL_EXPR_CALL:
		if (e->u.call.db.ptr || !plan_is_one_of(e->u.call.name, constant, ARRAY_LEN(constant)))
			*shared = false;
		break;
	default:
		*shared = false;
	}
	return *shared;
}

static bool no_shared_query(void *ctx, const struct sql_query *query)
{
	(void)query;
	*(bool *)ctx = false;
	return false;
}

bool plan_is_shared(const struct sql_expr *where)
{
	bool shared = true;
	struct sql_visitor visitor = {
		.expr = note_shared, .query = no_shared_query, .ctx = &shared};

	sql_walk_expr(where, &visitor);
	return shared;
}

/* What the session's sql_mode makes of the text is not known: || is OR or, with PIPES_AS_CONCAT,
 * joins strings; MySQL's status flags do not tell of ANSI_QUOTES; and strings are printed with
 * backslashes, which select mode sends in the session itself. */
bool plan_depends_on_mode(const struct planner *p)
{
	struct span text = p->stmt->text;

	return memmem(text.ptr, text.len, "||", 2) ||
	       (p->options.flavour != SQL_MARIADB && memchr(text.ptr, '"', text.len)) ||
	       (p->tables->mode == INSTRUMENT_SELECT &&
		       p->options.mode & SQL_MODE_NO_BACKSLASH_ESCAPES &&
		       memchr(text.ptr, '\\', text.len));
}

/* The only table's columns need no word for it, and an alias says nothing to a reader of the trace. */
static bool strip_table(void *ctx, const struct sql_expr *e)
{
	struct sql_expr *to = (struct sql_expr *)(uintptr_t)e; /* of this plan's tree */

	(void)ctx;
	if (e->kind == SQL_EXPR_COLUMN)
		to->u.column.db = to->u.column.table = SPAN_NONE;
	return true;
}

void plan_strip_tables(struct sql_expr *expr)
{
	sql_walk_expr(expr, &(struct sql_visitor){.expr = strip_table});
}

/* Printed anew, as the tree has no parentheses of the text; always with backslashes in strings. */
void plan_set_predicate(
	struct planner *p, const struct instrument_table *table, const struct sql_expr *where)
{
	uint32_t indexes[PLAN_PARAMS_MAX];
	struct param_state state = {.indexes = indexes};
	struct sql_visitor visitor = {.expr = plan_note_param, .ctx = &state};
	struct sql_options print = p->options;
	struct stmt_plan *plan = p->plan;

	if (where && plan_depends_on_mode(p))
		return;
	if (!where) {
		plan->predicate_of = table;
		buf_add_str(&plan->predicate.text, "TRUE");
		return;
	}
	print.mode = 0;
	sql_walk_expr(where, &visitor);
	if (!plan_has_query(where))
		plan_strip_tables((struct sql_expr *)(uintptr_t)where);
	sql_print_expr(where, &print, &plan->predicate.text);
	if (state.count > PLAN_PARAMS_MAX ||
		plan_find_params(&plan->predicate, indexes) != state.count) {
		buf_clear(&plan->predicate.text);
		plan->predicate.count = 0;
		return;
	}
	plan->predicate_of = table;
	plan->shared = p->tables->predicates && plan_is_shared(where);
}

const struct sql_table_ref *plan_only_table(const struct sql_table_ref *from)
{
	return from && !from->next && from->kind == SQL_TABLE_NAME ? from : NULL;
}

static bool is_number(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_INT;
}

/* LIMIT with one number, which is small enough to be counted to. */
static bool take_limit(struct stmt_plan *plan, const struct sql_limit *limit)
{
	const struct sql_expr *count = limit->count;
	struct span digits;

	if (!count || limit->with_ties || limit->rows_examined || !is_number(count) ||
		(limit->offset && !(is_number(limit->offset) &&
					  span_eq_str(limit->offset->u.literal.text, "0"))))
		return false;
	digits = count->u.literal.text;
	if (digits.len > 9)
		return false;
	plan->limited = true;
	plan->limit = 0;
	for (size_t i = 0; i < digits.len; i++)
		plan->limit = plan->limit * 10 + (uint32_t)(digits.ptr[i] - '0');
	return true;
}

bool plan_takes_all(struct planner *p, const struct sql_limit *limit)
{
	return !limit || take_limit(p->plan, limit);
}

/* Not with PARTITION (p), nor with a time of a system-versioned table. */
bool plan_where_is_all(struct planner *p, const struct sql_table_ref *ref,
	const struct sql_expr *where, const struct sql_limit *limit)
{
	const struct instrument_table *table = plan_find(p, &ref->u.name.table);

	if (ref->u.name.partitions || ref->system_time || ref->u.name.portion.ptr)
		return false;
	if (!plan_takes_all(p, limit))
		return false;
	if (p->plan->limited && p->plan->limit > 0 && table && plan_pins_key(table, where))
		p->plan->limited = false;
	return true;
}
