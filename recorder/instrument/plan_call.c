/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements whose work stands elsewhere: CALL, EXECUTE, and PREPARE from a text. */
#include <string.h>

#include "instrument/plan_internal.h"
#include "sql/text/raw_token.h"

static void set_unknown(struct stmt_plan *plan)
{
	plan->writes = plan->vague = plan->anywhere = true;
}

/* ---- CALL ---- */

/* A name, plain or in backticks that hold none; SPAN_NONE: something else. */
static struct span take_name(struct raw_scan *scan)
{
	struct raw_token t = raw_next(scan);
	bool named = t.kind == RAW_WORD ||
		     (t.kind == RAW_QUOTED && !memchr(t.content.ptr, '`', t.content.len));

	return named ? t.content : SPAN_NONE;
}

/* Tables that the body names; all of them where it names a view, or more than there is room for. */
static void add_named_tables(struct planner *p, const char *body)
{
	struct stmt_plan *plan = p->plan;

	for (size_t i = 0; i < p->tables->view_count; i++)
		plan->reads_anywhere |= strcasestr(body, p->tables->views[i].name) != NULL;
	for (size_t i = 0; i < p->tables->count; i++) {
		const struct instrument_table *table = &p->tables->list[i];

		if (!strcasestr(body, table->name))
			continue;
		plan->reads_anywhere |= plan->blind_count == PLAN_TABLES_MAX;
		plan_add_blind(plan, table);
	}
}

void plan_call(struct planner *p)
{
	struct raw_scan scan = raw_scan_over(p->stmt->text, (struct text_dialect){0}), ahead;
	struct span word = take_name(&scan), name = take_name(&scan), database = p->database;
	const struct instrument_routine *routine = NULL;
	struct raw_token next;

	set_unknown(p->plan);
	if (!span_ieq_str(word, "CALL") || !name.ptr)
		return;
	ahead = scan;
	next = raw_next(&ahead);
	if (raw_is_char(&next, '.')) {
		database = name;
		name = take_name(&ahead);
		next = raw_next(&ahead);
	}
	/* Arguments may call functions or ask for rows. */
	if (name.ptr && !memchr(ahead.p, '(', (size_t)(ahead.end - ahead.p)))
		routine = instrument_routine_find(p->tables, database, name);
	if (!routine)
		return;
	p->plan->whole = p->plan->calls = true;
	add_named_tables(p, routine->body);
}

/* ---- PREPARE and EXECUTE ---- */

static const struct sql_expr *text_of(const struct sql_prepared *prepared)
{
	const struct sql_expr *e = prepared->source;

	return e && e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_STRING &&
			       !e->u.literal.charset.ptr &&
			       !memchr(e->u.literal.text.ptr, '\0', e->u.literal.text.len)
		       ? e
		       : NULL;
}

void plan_prepare(struct planner *p)
{
	const struct sql_prepared *prepared = p->stmt->u.prepared;
	const struct sql_expr *text = text_of(prepared);
	struct buf *out = &p->plan->named;

	buf_add_span(out, prepared->name);
	buf_add(out, "", 1);
	if (text)
		buf_add_span(out, text->u.literal.text);
	buf_add(out, "", 1);
}

/* Reads and writes of rows, which end no transaction. */
static bool is_plain(const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_SELECT:
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
	case SQL_STMT_UPDATE:
	case SQL_STMT_DELETE:
	case SQL_STMT_DO:
		return true;
	default:
		return false;
	}
}

/* The statement that it stands for, where that reads and writes rows; its columns stay as they are,
 * and the values of its parameters are not known. */
void plan_execute(struct planner *p)
{
	const struct sql_prepared *prepared = p->stmt->u.prepared;
	const struct sql_expr *immediate = prepared->immediate ? text_of(prepared) : NULL;
	struct span rest = p->context->named, name, found,
		    text = immediate ? immediate->u.literal.text : SPAN_NONE;
	struct plan_context context = *p->context;
	struct arena arena = ARENA_INIT;
	struct sql_stmt *stmt;

	while (!prepared->immediate && plan_next_word(&rest, &name) && plan_next_word(&rest, &found))
		if (span_ieq(name, prepared->name))
			text = found;
	context.named = SPAN_NONE;
	context.unseen = true;
	if (text.len && p->tables->mode == INSTRUMENT_TRIGGER &&
		sql_parse(&arena, text, context.options, &stmt, NULL) && is_plain(stmt)) {
		plan_statement(p->plan, &context, text);
		p->plan->whole = true;
	} else {
		set_unknown(p->plan);
	}
	arena_release(&arena);
}
