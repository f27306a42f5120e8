/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out/diff_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "common/known/violations.h"

enum { LEVELS_IN_TEXT = 8, ROWS_IN_TEXT = 20, CELL_COLUMNS_MAX = 500, VALUE_BYTES_IN_TEXT = 60 };

static const char *const side_verdicts[] = {
	[DIFF_SIDE_UNDECIDED] = "undecided",
	[DIFF_SIDE_KEPT] = "kept",
	[DIFF_SIDE_BROKEN] = "broken",
};

/* ---- answers ---- */

void rows_text(struct buf *out, const struct execution_rows *rows, size_t rows_max)
{
	if (!rows->count)
		buf_add_str(out, rows->total ? "rows that were not kept" : "empty");
	for (size_t i = 0; i < rows->count && i < rows_max; i++) {
		struct mp mp = mp_over(rows->rows[i]);
		uint32_t count = mp_array(&mp);

		buf_add_str(out, i ? " (" : "(");
		for (uint32_t k = 0; k < count; k++) {
			struct value value;

			if (!value_read(&mp, &value))
				break;
			if (k)
				buf_add_char(out, ',');
			value_print(out, &value, VALUE_BYTES_IN_TEXT);
		}
		buf_add_char(out, ')');
	}
	if (rows->count > rows_max)
		buf_printf(out, " … %llu rows", (unsigned long long)rows->total);
}

void answer_text(struct buf *out, const struct execution_stmt *stmt)
{
	const struct record_stmt *r = &stmt->record;

	if (execution_blocked(stmt))
		buf_add_str(out, "blocked, ");
	if (r->flags & STMT_NO_REPLY)
		buf_add_str(out, "no answer");
	else if (r->error)
		buf_printf(out, "error %u", r->error);
	else if (stmt->set_count)
		rows_text(out, &stmt->sets[0], ROWS_IN_TEXT);
	else
		buf_printf(out, "ok %llu", (unsigned long long)r->affected);
	if (r->warnings && !r->error)
		buf_printf(out, ", %u warning%s", r->warnings, r->warnings == 1 ? "" : "s");
}

static void side_answer(
	struct buf *out, const struct differential *d, const struct diff_pair *pair, int side)
{
	if (pair->stmt[side] == EXECUTION_NONE)
		buf_add_str(out, "not sent");
	else
		answer_text(out, &d->sides[side].e->stmts[pair->stmt[side]]);
}

static const struct execution_stmt *some_stmt(
	const struct differential *d, const struct diff_pair *pair)
{
	int side = pair->stmt[0] == EXECUTION_NONE;

	return &d->sides[side].e->stmts[pair->stmt[side]];
}

static struct span session_name(const struct differential *d, const struct diff_pair *pair)
{
	int side = pair->stmt[0] == EXECUTION_NONE;

	return d->sides[side].e->sessions[pair->session].name;
}

/* ---- text ---- */

struct columns {
	size_t sql, answer;
};

/* One line of three cells, broken into as many as it needs. */
static void add_row(
	struct buf *out, const char *mark, const struct columns *w, const struct buf cells[3])
{
	struct span left[3];
	struct buf clean[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
	const size_t widths[3] = {w->sql, w->answer, w->answer};

	for (int i = 0; i < 3; i++) {
		text_add(&clean[i], buf_span(&cells[i]), CELL_COLUMNS_MAX, TEXT_FOLD);
		left[i] = buf_span(&clean[i]);
	}
	do {
		buf_add_str(out, mark);
		mark = "   ";
		for (int i = 0; i < 3; i++) {
			struct span part = SPAN_LIT("");

			if (left[i].len)
				part = text_wrap(left[i], widths[i], &left[i]);
			buf_add_span(out, part);
			if (i < 2)
				text_add_blanks(out, widths[i] - text_columns(part) + 2);
		}
		while (out->len && out->data[out->len - 1] == ' ')
			out->data[--out->len] = '\0';
		buf_add_char(out, '\n');
	} while (left[0].len || left[1].len || left[2].len);
	for (int i = 0; i < 3; i++)
		buf_release(&clean[i]);
}

static void clear_cells(struct buf cells[3])
{
	for (int i = 0; i < 3; i++)
		buf_clear(&cells[i]);
}

static void schedule_text(
	struct buf *out, const struct differential *d, const struct columns *w, bool all)
{
	struct buf cells[3] = {BUF_INIT, BUF_INIT, BUF_INIT};

	buf_add_str(&cells[0], "statement");
	buf_add_str(&cells[1], "A");
	buf_add_str(&cells[2], "B");
	add_row(out, "   ", w, cells);
	for (size_t i = 0; i < d->pair_count; i++) {
		const struct diff_pair *pair = &d->pairs[i];

		if (!all && !pair->differs)
			continue;
		clear_cells(cells);
		buf_add_span(&cells[0], session_name(d, pair));
		buf_add_str(&cells[0], "> ");
		buf_add_span(&cells[0], some_stmt(d, pair)->sql);
		side_answer(&cells[1], d, pair, 0);
		if (pair->differs)
			side_answer(&cells[2], d, pair, 1);
		else
			buf_add_str(&cells[2], "same");
		add_row(out, pair->differs ? " ≠ " : "   ", w, cells);
	}
	for (size_t i = 0; i < d->item_count; i++) {
		if (d->items[i].class_ != DIFF_FINAL)
			continue;
		clear_cells(cells);
		buf_add_str(&cells[0], "table ");
		buf_add_span(&cells[0], d->sides[0].e->tables[d->items[i].table[0]].schema.name);
		buf_add_str(&cells[0], " at the end");
		for (int side = 0; side < 2; side++)
			rows_text(&cells[1 + side],
				&d->sides[side].e->tables[d->items[i].table[side]].final,
				ROWS_IN_TEXT);
		add_row(out, " ≠ ", w, cells);
	}
	for (int i = 0; i < 3; i++)
		buf_release(&cells[i]);
}

struct diff_side diff_side_of(const struct execution *e)
{
	struct diff_side side = {.e = e, .contract = known_contract(e)};
	struct known_violations found;
	struct err err;

	if (!known_violations(e, &found, &err))
		return side;
	if (found.count) {
		side.verdict = DIFF_SIDE_BROKEN;
		snprintf(side.why, sizeof(side.why), "%s", found.classes[0]);
	} else if (found.decided) {
		side.verdict = DIFF_SIDE_KEPT;
	} else {
		memcpy(side.why, found.reason, sizeof(side.why));
	}
	return side;
}

/* The session of a scenario's [final] section looks at the end, at whatever level. */
static bool only_looks(const struct execution *e, uint32_t session)
{
	return e->scenario.len && span_eq_str(e->sessions[session].name, "final");
}

/* The levels that the transactions of each session had, as bits. */
static unsigned *session_levels(const struct execution *e)
{
	unsigned *levels = mem_zero(e->session_count + 1, sizeof(*levels));

	for (size_t i = 0; i < e->txn_count; i++) {
		uint8_t level = e->txns[i].record.level;

		if (level && level <= LEVEL_SERIALIZABLE && !only_looks(e, e->txns[i].session))
			levels[e->txns[i].session] |= 1u << level;
	}
	return levels;
}

static void add_levels(struct buf *out, unsigned levels, bool in_short)
{
	const char *between = "";

	for (uint8_t level = LEVEL_READ_UNCOMMITTED; level <= LEVEL_SERIALIZABLE; level++) {
		if (!(levels >> level & 1))
			continue;
		buf_printf(out, "%s%s", between,
			in_short ? txn_level_short(level) : txn_level_name(level));
		between = in_short ? "/" : " and ";
	}
}

/* "REPEATABLE READ", or where the sessions are not alike: "T1 RC, T2 RR". */
static void levels_text(struct buf *out, const struct execution *e)
{
	unsigned *levels = session_levels(e), all = 0;
	bool alike = true;
	size_t told = 0;

	for (size_t i = 0; i < e->session_count; i++) {
		alike = alike && (!levels[i] || !all || levels[i] == all);
		all |= levels[i];
	}
	if (alike)
		add_levels(out, all, false);
	for (size_t i = 0; !alike && i < e->session_count; i++) {
		if (!levels[i])
			continue;
		if (told++ == LEVELS_IN_TEXT) {
			buf_add_str(out, " …");
			break;
		}
		buf_add_str(out, told > 1 ? ", " : "");
		text_add(out, e->sessions[i].name, 40, TEXT_FOLD);
		buf_add_char(out, ' ');
		add_levels(out, levels[i], true);
	}
	mem_free(levels);
}

static void side_text(struct buf *out, const struct differential *d, const char *path, int side)
{
	const struct diff_side *s = &d->sides[side];
	size_t at;

	buf_printf(out, "%c  ", 'A' + side);
	execution_label(s->e, out);
	buf_add_str(out, ", ");
	at = out->len;
	levels_text(out, s->e);
	buf_printf(out, "%scontract %s", out->len > at ? ", " : "", s->contract);
	buf_printf(out, " %s: ", side_verdicts[s->verdict]);
	text_add(out, span_str(path), 300, TEXT_FOLD);
	buf_add_char(out, '\n');
}

static void conclusion_text(struct buf *out, const struct differential *d, size_t columns)
{
	if (!d->item_count) {
		buf_printf(out, "%s\n",
			d->conclusion == DIFF_SAME
				? "same: every answer and the final state are equal"
				: "no difference was found");
	} else {
		const struct diff_item *first = &d->items[0];

		buf_printf(out, "%s: first difference in %s", diff_conclusion_name(d->conclusion),
			diff_class_name(first->class_));
		if (first->pair != EXECUTION_NONE) {
			const struct diff_pair *pair = &d->pairs[first->pair];

			buf_printf(out, ", %.*s statement %u", SPAN_ARG(session_name(d, pair)),
				some_stmt(d, pair)->ordinal);
		}
		buf_add_str(out, "; cause: ");
		if (!d->rule || d->cause != DIFF_CAUSE_OTHER)
			buf_printf(out, "%s%s", diff_cause_name(d->cause), d->rule ? ", " : "");
		buf_printf(out, "%s%s\n", d->rule ? "rule " : "", d->rule ? d->rule : "");
		for (struct span left = span_str(d->explanation); left.len;) {
			struct span part = text_wrap(left, columns > 40 ? columns - 2 : 38, &left);

			buf_printf(out, "  %.*s\n", SPAN_ARG(part));
		}
		if (d->item_count > 1)
			buf_printf(out, "  %zu later difference%s may follow from it.\n",
				d->item_count - 1, d->item_count == 2 ? "" : "s");
	}
	for (int side = 0; side < 2; side++) {
		const struct diff_side *s = &d->sides[side];

		if (s->verdict == DIFF_SIDE_BROKEN)
			buf_printf(out, "  %c broke its contract: %s\n", 'A' + side, s->why);
		if (s->verdict == DIFF_SIDE_UNDECIDED && d->item_count)
			buf_printf(out, "  whether %c kept its contract was not decided%s%s\n",
				'A' + side, s->why[0] ? ": " : "", s->why);
		if (!s->e->complete)
			buf_printf(out, "  %c is incomplete: %s\n", 'A' + side, s->e->damage);
	}
	if (d->levels_pair != EXECUTION_NONE && !d->item_count)
		buf_add_str(out, "  The two did not run at the same isolation levels.\n");
	if (d->not_compared)
		buf_printf(out,
			"  %llu answers or tables could not be compared: rows were not kept.\n",
			(unsigned long long)d->not_compared);
}

void diff_text(struct buf *out, const struct differential *d, const char *const paths[2],
	size_t columns, bool all)
{
	size_t room = columns > 40 ? columns - 3 - 4 : 33;
	struct columns w = {.sql = room * 2 / 5, .answer = room * 3 / 10};

	for (int side = 0; side < 2; side++)
		side_text(out, d, paths[side], side);
	buf_add_char(out, '\n');
	if (all || d->item_count) {
		schedule_text(out, d, &w, all);
		buf_add_char(out, '\n');
	}
	conclusion_text(out, d, columns);
}

/* ---- JSON ---- */

static void answer_json(
	struct json *json, const struct differential *d, const struct diff_pair *pair, int side)
{
	const struct execution_stmt *stmt;

	if (pair->stmt[side] == EXECUTION_NONE) {
		json_null(json);
		return;
	}
	stmt = &d->sides[side].e->stmts[pair->stmt[side]];
	json_begin_object(json);
	json_key(json, "blocked");
	json_bool(json, execution_blocked(stmt));
	json_key(json, "answered");
	json_bool(json, !(stmt->record.flags & STMT_NO_REPLY));
	json_key(json, "error");
	json_uint(json, stmt->record.error);
	json_key(json, "warnings");
	json_uint(json, stmt->record.warnings);
	json_key(json, "affected");
	json_uint(json, stmt->record.affected);
	json_key(json, "rows");
	if (stmt->set_count)
		execution_rows_json(json, &stmt->sets[0]);
	else
		json_null(json);
	json_end_object(json);
}

static void item_json(struct json *json, const struct differential *d, const struct diff_item *item)
{
	static const char *const keys[] = {"a", "b"};

	json_begin_object(json);
	json_key(json, "class");
	json_str(json, diff_class_name(item->class_));
	if (item->pair != EXECUTION_NONE) {
		const struct diff_pair *pair = &d->pairs[item->pair];

		json_key(json, "session");
		json_string(json, session_name(d, pair));
		json_key(json, "statement");
		json_uint(json, some_stmt(d, pair)->ordinal);
		json_key(json, "sql");
		json_string(json, some_stmt(d, pair)->sql);
	} else {
		json_key(json, "table");
		json_string(json, d->sides[0].e->tables[item->table[0]].schema.name);
	}
	for (int side = 0; side < 2; side++) {
		json_key(json, keys[side]);
		if (item->pair != EXECUTION_NONE)
			answer_json(json, d, &d->pairs[item->pair], side);
		else
			execution_rows_json(
				json, &d->sides[side].e->tables[item->table[side]].final);
	}
	json_end_object(json);
}

static void side_json(struct json *json, const struct differential *d, const char *path, int side)
{
	const struct diff_side *s = &d->sides[side];
	struct buf label = BUF_INIT;

	execution_label(s->e, &label);
	json_begin_object(json);
	json_key(json, "path");
	json_str(json, path);
	json_key(json, "server");
	json_string(json, buf_span(&label));
	json_key(json, "contract");
	json_str(json, s->contract);
	json_key(json, "contract_verdict");
	json_str(json, side_verdicts[s->verdict]);
	json_key(json, "contract_why");
	if (s->why[0])
		json_str(json, s->why);
	else
		json_null(json);
	buf_clear(&label);
	levels_text(&label, s->e);
	json_key(json, "levels");
	json_string(json, buf_span(&label));
	json_key(json, "complete");
	json_bool(json, s->e->complete);
	json_key(json, "statements");
	json_uint(json, s->e->stmt_count);
	json_end_object(json);
	buf_release(&label);
}

/* Every statement with both answers in words, and the tables that differ at the end, for the page. */
static void schedule_json(struct json *json, const struct differential *d)
{
	static const char *const keys[] = {"a", "b"};
	struct buf text = BUF_INIT;

	json_key(json, "schedule");
	json_begin_array(json);
	for (size_t i = 0; i < d->pair_count; i++) {
		const struct diff_pair *pair = &d->pairs[i];

		json_begin_object(json);
		json_key(json, "session");
		json_string(json, session_name(d, pair));
		json_key(json, "sql");
		json_string(json, some_stmt(d, pair)->sql);
		json_key(json, "differs");
		json_bool(json, pair->differs);
		for (int side = 0; side < 2; side++) {
			buf_clear(&text);
			side_answer(&text, d, pair, side);
			json_key(json, keys[side]);
			json_string(json, buf_span(&text));
		}
		json_end_object(json);
	}
	for (size_t i = 0; i < d->item_count; i++) {
		const struct diff_item *item = &d->items[i];

		if (item->class_ != DIFF_FINAL)
			continue;
		json_begin_object(json);
		json_key(json, "session");
		json_str(json, "at the end");
		json_key(json, "sql");
		buf_clear(&text);
		buf_add_str(&text, "table ");
		buf_add_span(&text, d->sides[0].e->tables[item->table[0]].schema.name);
		json_string(json, buf_span(&text));
		json_key(json, "differs");
		json_bool(json, true);
		for (int side = 0; side < 2; side++) {
			buf_clear(&text);
			rows_text(&text, &d->sides[side].e->tables[item->table[side]].final,
				ROWS_IN_TEXT);
			json_key(json, keys[side]);
			json_string(json, buf_span(&text));
		}
		json_end_object(json);
	}
	json_end_array(json);
	buf_release(&text);
}

void diff_json(
	struct json *json, const struct differential *d, const char *const paths[2], bool schedule)
{
	json_begin_object(json);
	json_key(json, "schema");
	json_str(json, "isotrace.diff/1");
	json_key(json, "a");
	side_json(json, d, paths[0], 0);
	json_key(json, "b");
	side_json(json, d, paths[1], 1);
	json_key(json, "verdict");
	json_str(json, diff_conclusion_name(d->conclusion));
	json_key(json, "cause");
	if (d->item_count)
		json_str(json, diff_cause_name(d->cause));
	else
		json_null(json);
	json_key(json, "rule");
	if (d->rule)
		json_str(json, d->rule);
	else
		json_null(json);
	json_key(json, "explanation");
	json_str(json, d->explanation ? d->explanation : "");
	json_key(json, "same_levels");
	json_bool(json, d->levels_pair == EXECUTION_NONE);
	json_key(json, "not_compared");
	json_uint(json, d->not_compared);
	json_key(json, "discrepancies");
	json_begin_array(json);
	for (size_t i = 0; i < d->item_count; i++)
		item_json(json, d, &d->items[i]);
	json_end_array(json);
	if (schedule)
		schedule_json(json, d);
	json_end_object(json);
}
