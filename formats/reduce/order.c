/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders of a schedule with fewer changes between sessions. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "reduce/tidy.h"

/* Statements in a row of one session. */
struct block {
	size_t first, count;
	uint32_t session;
};

size_t order_switches(const struct scenario *s)
{
	size_t switches = 0;

	for (size_t i = 1; i < s->schedule.count; i++)
		switches += s->schedule.stmts[i].session != s->schedule.stmts[i - 1].session;
	return switches;
}

static size_t list_blocks(const struct scenario *s, struct block *out)
{
	size_t count = 0;

	for (size_t i = 0; i < s->schedule.count; i++) {
		if (count && out[count - 1].session == s->schedule.stmts[i].session)
			out[count - 1].count++;
		else
			out[count++] = (struct block){i, 1, s->schedule.stmts[i].session};
	}
	return count;
}

static void append(size_t *order, size_t *count, const struct block *block)
{
	for (size_t i = 0; i < block->count; i++)
		order[(*count)++] = block->first + i;
}

/* Block `from` goes beside block `to` of the same session: behind it where that stands before it, else before it. */
static void move_block(const struct block *blocks, size_t count, size_t from, size_t to, size_t *order)
{
	size_t filled = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == from)
			continue;
		if (i == to && from < to)
			append(order, &filled, &blocks[from]);
		append(order, &filled, &blocks[i]);
		if (i == to && from > to)
			append(order, &filled, &blocks[from]);
	}
}

static bool is_begin(struct span sql)
{
	return span_ieq_str(sql, "begin") || span_ieq_str(sql, "start transaction");
}

/* Every BEGIN goes down to its session's next statement: it does nothing by itself. */
static void lower_begins(const struct scenario *s, size_t *order)
{
	size_t count = s->schedule.count, filled = 0;
	bool *waits = mem_zero(s->session_count + 1, sizeof(*waits));
	size_t *begins = mem_zero(s->session_count + 1, sizeof(*begins));

	for (size_t i = 0; i < count; i++) {
		uint32_t session = s->schedule.stmts[i].session;

		if (waits[session])
			order[filled++] = begins[session];
		waits[session] = is_begin(s->schedule.stmts[i].sql);
		begins[session] = i;
		if (!waits[session])
			order[filled++] = i;
	}
	for (uint32_t session = 0; session < s->session_count; session++)
		if (waits[session])
			order[filled++] = begins[session];
	mem_free(waits);
	mem_free(begins);
}

/* Which way the number stands for; false: none. */
static bool choose_order(const struct scenario *s, size_t number, size_t *order)
{
	struct block *blocks = mem_zero(s->schedule.count + 1, sizeof(*blocks));
	size_t count = list_blocks(s, blocks), way = 1;
	bool found = number == 0;

	if (found)
		lower_begins(s, order);
	/* The later half first: what stands at the end of a schedule is what shows the failure. */
	for (size_t i = count; i-- && !found;) {
		size_t before = i;

		while (before-- && blocks[before].session != blocks[i].session)
			;
		if (before == SIZE_MAX)
			continue;
		for (unsigned up = 0; up < 2 && !found; up++) {
			found = way++ == number;
			if (found)
				move_block(blocks, count, up ? i : before, up ? before : i, order);
		}
	}
	mem_free(blocks);
	return found;
}

static bool build(const struct scenario *s, const size_t *order, struct scenario *out, struct err *err)
{
	/* Trees are not needed: the statements only change places. */
	struct sql_options sql = sql_options_default();
	struct script script;
	struct script_stmt *stmts;
	bool ok;

	script_open(&script, s, &sql);
	stmts = mem_dup(script.stmts + script.setup_count, (script.schedule_count + 1) * sizeof(*stmts));
	for (size_t i = 0; i < script.schedule_count; i++)
		script.stmts[script.setup_count + i] = stmts[order[i]];
	ok = script_build(&script, out, err);
	mem_free(stmts);
	script_release(&script);
	return ok;
}

bool order_candidate(const struct scenario *s, size_t number, struct scenario *out, struct err *err)
{
	size_t *order = mem_zero(s->schedule.count + 1, sizeof(*order));
	bool ok = choose_order(s, number, order) && build(s, order, out, err);

	mem_free(order);
	return ok;
}
