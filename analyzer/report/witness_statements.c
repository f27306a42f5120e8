/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/witness_statements.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/history/load.h"
#include "model/history/stmt_text.h"
#include "sql/sql.h"

enum { TEXT_MAX = 4096 };

static int by_place(const void *a, const void *b, void *data)
{
	const struct finding_step *x = *(struct finding_step *const *)a;
	const struct finding_step *y = *(struct finding_step *const *)b;
	const struct history *history = data;
	const struct history_stmt *s = &history->stmts[x->stmt], *t = &history->stmts[y->stmt];

	if (s->block != t->block)
		return s->block < t->block ? -1 : 1;
	return (s->index > t->index) - (s->index < t->index);
}

static struct span keep(struct span text, struct arena *arena)
{
	if (text.len > TEXT_MAX)
		text.len = TEXT_MAX;
	return text.ptr ? arena_copy(arena, text) : SPAN_NONE;
}

static void fill(struct finding_step *step, const struct record_stmt *record, struct arena *arena)
{
	step->text = keep(record->text, arena);
	step->begin_ns = record->begin;
	step->end_ns = record->at;
	step->error = record->error;
}

/* ---- updates that are not lost ---- */

struct sought {
	struct span column;
	bool found;
};

static bool names_column(void *ctx, const struct sql_expr *expr)
{
	struct sought *sought = ctx;

	if (expr->kind == SQL_EXPR_COLUMN && span_ieq(expr->u.column.name, sought->column))
		sought->found = true;
	return !sought->found;
}

/* Is it an UPDATE each of whose new values is made of the old one (`n = n + 1`)?  It takes the
 * newest version for that, at every level. */
static bool is_relative(struct span text, const struct sql_options *options)
{
	struct arena arena = ARENA_INIT;
	const struct sql_assign *set = NULL;
	struct sql_stmt *stmt;
	bool relative;
	struct err err;

	if (text.ptr && sql_parse(&arena, text, options, &stmt, &err) &&
		stmt->kind == SQL_STMT_UPDATE)
		set = stmt->u.update->set;
	relative = set != NULL;
	for (; set && relative; set = set->next) {
		struct sought sought = {.column = set->target->u.column.name};
		struct sql_visitor visitor = {.expr = names_column, .ctx = &sought};

		sql_walk_expr(set->value, &visitor);
		relative = sought.found;
	}
	arena_release(&arena);
	return relative;
}

/* What a transaction wrote is not lost when the transaction that overwrites it starts from it.  The cycle is
 * there all the same, since that one had read the row before. */
static bool counts_on(const struct finding *finding, const struct sql_options *options)
{
	struct span writer = SPAN_NONE;
	bool any = false;

	for (uint32_t i = 0; i < finding->edge_count; i++)
		if (finding->edges[i].dependency == GRAPH_RW)
			writer = finding->edges[i].from;
	for (uint32_t i = 0; i < finding->step_count; i++) {
		const struct finding_step *step = &finding->steps[i];

		/* An UPDATE that found the row as it wanted it reads it only. */
		if (!span_eq(step->transaction, writer) ||
			(step->act != STEP_WRITES && !(step->act == STEP_READS && span_istarts(step->text, "UPDATE"))))
			continue;
		if (!is_relative(step->text, options))
			return false;
		any = true;
	}
	return any;
}

static void settle_variant(struct finding *finding, const struct sql_options *options)
{
	if (finding->variant != VARIANT_LOST_UPDATE || !counts_on(finding, options))
		return;
	finding->variant = VARIANT_NONE;
	if (!finding->remark.ptr)
		finding->remark = SPAN_LIT("No write is lost, since the UPDATE starts from the newest values. But the values that were read before it were out of date.");
}

void witness_fetch(const struct history *history, struct verdict *verdict)
{
	const struct sql_options options = sql_options_for_server(strtab_get(&history->strings, history->server_version));
	struct finding_step **steps = NULL;
	size_t count = 0, capacity = 0;
	struct stmt_texts texts;

	for (size_t f = 0; f < verdict->finding_count; f++) {
		struct finding *finding = &verdict->findings[f];

		for (uint32_t i = 0; i < finding->step_count; i++) {
			if (finding->steps[i].stmt >= history->stmt_count)
				continue;
			MEM_RESERVE(steps, count + 1, capacity);
			steps[count++] = &finding->steps[i];
		}
	}
	for (size_t r = 0; r < verdict->reason_count; r++) {
		struct verdict_reason *reason = &verdict->reasons[r];

		if (!reason->has_example || reason->example.stmt >= history->stmt_count)
			continue;
		MEM_RESERVE(steps, count + 1, capacity);
		steps[count++] = &reason->example;
	}
	if (count)
		qsort_r(steps, count, sizeof(*steps), by_place, (void *)(uintptr_t)history);
	stmt_texts_init(&texts, history);
	for (size_t i = 0; i < count; i++) {
		struct arena scratch = ARENA_INIT;
		struct record_stmt record;
		struct err err;

		if (i && steps[i]->stmt == steps[i - 1]->stmt) {
			steps[i]->text = steps[i - 1]->text;
			steps[i]->begin_ns = steps[i - 1]->begin_ns;
			steps[i]->end_ns = steps[i - 1]->end_ns;
			steps[i]->error = steps[i - 1]->error;
			steps[i]->offset = steps[i - 1]->offset;
			continue;
		}
		if (stmt_texts_fetch(&texts, steps[i]->stmt, &scratch, &record, &err)) {
			fill(steps[i], &record, &verdict->arena);
			steps[i]->offset = history_fetched_at(history);
		}
		arena_release(&scratch);
	}
	stmt_texts_release(&texts);
	mem_free(steps);
	for (size_t f = 0; f < verdict->finding_count; f++) {
		settle_variant(&verdict->findings[f], &options);
		finding_complete(verdict, &verdict->findings[f]);
	}
}
