/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "differential/differential.h"

#include <stdlib.h>

#include "base/mem.h"

const char *diff_class_name(enum diff_class class_)
{
	static const char *const names[] = {
		"blocked", "deadlock", "error", "warning", "result", "final-state"};

	return names[class_];
}

const char *diff_cause_name(enum diff_cause cause)
{
	static const char *const names[] = {
		"lock mechanism", "aborted transaction chosen", "snapshot creation",
		"isolation levels", "other"};

	return names[cause];
}

const char *diff_conclusion_name(enum diff_conclusion conclusion)
{
	static const char *const names[] = {"same", "compat", "violation", "undecided"};

	return names[conclusion];
}

/* ---- matching ---- */

static bool all_named(const struct execution *e)
{
	for (size_t i = 0; i < e->session_count; i++)
		if (e->sessions[i].stmt_count && !e->sessions[i].named)
			return false;
	return true;
}

/* The sessions that sent something, in the order of their first statement. */
static uint32_t *active_sessions(const struct execution *e, size_t *count)
{
	uint32_t *out = mem_zero(e->session_count + 1, sizeof(*out));

	*count = 0;
	for (size_t i = 0; i < e->stmt_count; i++)
		if (e->stmts[i].ordinal == 1)
			out[(*count)++] = e->stmts[i].session;
	return out;
}

static bool has_sessions(
	const struct execution *e, const struct execution *of, const uint32_t *active, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (execution_session(e, of->sessions[active[i]].name) == EXECUTION_NONE)
			return false;
	return true;
}

/* map[session of a] = session of b or NONE.  A replay calls its sessions what they are called in a
 * recording that has no names for them. */
static uint32_t *match_sessions(const struct execution *a, const struct execution *b)
{
	uint32_t *map = mem_zero(a->session_count + 1, sizeof(*map));
	size_t left_count, right_count;
	uint32_t *left = active_sessions(a, &left_count), *right = active_sessions(b, &right_count);
	bool names = (all_named(a) && all_named(b)) ||
		     ((all_named(a) || all_named(b)) && has_sessions(b, a, left, left_count));

	for (size_t i = 0; i < a->session_count; i++)
		map[i] = names ? execution_session(b, a->sessions[i].name) : EXECUTION_NONE;
	for (size_t i = 0; !names && i < left_count && i < right_count; i++)
		map[left[i]] = right[i];
	mem_free(left);
	mem_free(right);
	return map;
}

static bool same_text(const struct execution_stmt *a, const struct execution_stmt *b)
{
	return span_eq(a->sql, b->sql) && span_eq(a->record.params, b->record.params);
}

static void add_pair(struct differential *d, uint32_t a, uint32_t b, uint32_t session)
{
	MEM_RESERVE(d->pairs, d->pair_count + 1, d->pair_capacity);
	d->pairs[d->pair_count++] = (struct diff_pair){.stmt = {a, b}, .session = session};
}

/* Pairs in the order of A, those that only B has after. */
static bool pair_statements(struct differential *d, struct err *err)
{
	const struct execution *a = d->sides[0].e, *b = d->sides[1].e;
	uint32_t *map = match_sessions(a, b);
	uint32_t *next = mem_zero(a->session_count + 1, sizeof(*next));
	bool *paired = mem_zero(b->stmt_count + 1, sizeof(*paired));
	size_t both = 0;
	bool ok = true;

	for (size_t i = 0; i < a->session_count; i++)
		next[i] =
			map[i] == EXECUTION_NONE ? EXECUTION_NONE : b->sessions[map[i]].first_stmt;
	for (size_t i = 0; i < a->stmt_count && ok; i++) {
		const struct execution_stmt *stmt = &a->stmts[i];
		uint32_t other = next[stmt->session];

		if (other != EXECUTION_NONE) {
			if (!same_text(stmt, &b->stmts[other]))
				ok = err_set(err, ERR_FORMAT,
					"not two executions of one schedule: session %.*s, "
					"statement %u is '%.*s' in the first and '%.*s' in the "
					"second",
					SPAN_ARG(a->sessions[stmt->session].name), stmt->ordinal,
					stmt->sql.len > 80 ? 80 : (int)stmt->sql.len, stmt->sql.ptr,
					b->stmts[other].sql.len > 80 ? 80
								     : (int)b->stmts[other].sql.len,
					b->stmts[other].sql.ptr);
			next[stmt->session] = b->stmts[other].next_in_session;
			paired[other] = true;
			both++;
		}
		add_pair(d, (uint32_t)i, other, stmt->session);
	}
	for (size_t i = 0; i < b->stmt_count && ok; i++)
		if (!paired[i])
			add_pair(d, EXECUTION_NONE, (uint32_t)i, b->stmts[i].session);
	if (ok && !both)
		ok = err_set(err, ERR_FORMAT,
			"not two executions of one schedule: no statement is in both");
	mem_free(map);
	mem_free(next);
	mem_free(paired);
	return ok;
}

/* ---- comparing ---- */

static void add_item(struct differential *d, struct diff_item item)
{
	MEM_RESERVE(d->items, d->item_count + 1, d->item_capacity);
	d->items[d->item_count++] = item;
}

static void compare_pairs(struct differential *d)
{
	for (size_t i = 0; i < d->pair_count; i++) {
		struct diff_pair *pair = &d->pairs[i];

		if (pair->stmt[0] == EXECUTION_NONE || pair->stmt[1] == EXECUTION_NONE) {
			pair->differs = true;
			pair->class_ = DIFF_ERROR;
		} else {
			pair->differs = diff_answers(&d->sides[0].e->stmts[pair->stmt[0]],
				&d->sides[1].e->stmts[pair->stmt[1]], &pair->class_,
				&d->not_compared);
		}
		if (pair->differs)
			add_item(d, (struct diff_item){.class_ = pair->class_,
					    .pair = (uint32_t)i,
					    .table = {EXECUTION_NONE, EXECUTION_NONE}});
	}
}

static uint32_t table_named(const struct execution *e, struct span name)
{
	for (size_t i = 0; i < e->table_count; i++)
		if (span_eq(e->tables[i].schema.name, name))
			return (uint32_t)i;
	return EXECUTION_NONE;
}

static void compare_final(struct differential *d)
{
	const struct execution *a = d->sides[0].e, *b = d->sides[1].e;

	for (size_t i = 0; i < a->table_count; i++) {
		const struct execution_table *t = &a->tables[i];
		uint32_t other = table_named(b, t->schema.name);
		const struct execution_table *u =
			other == EXECUTION_NONE ? NULL : &b->tables[other];

		if (!u || !t->has_final || !u->has_final) {
			d->not_compared++;
			continue;
		}
		if (!diff_rows_equal(&t->final, &u->final))
			add_item(d, (struct diff_item){.class_ = DIFF_FINAL,
					    .pair = EXECUTION_NONE,
					    .table = {(uint32_t)i, other}});
		if (!t->final.complete || !u->final.complete)
			d->not_compared++;
	}
}

static enum diff_conclusion conclude(const struct differential *d)
{
	const struct diff_side *a = &d->sides[0], *b = &d->sides[1];

	if (a->verdict == DIFF_SIDE_BROKEN || b->verdict == DIFF_SIDE_BROKEN)
		return DIFF_VIOLATION;
	if (!d->item_count)
		return d->not_compared || !a->e->complete || !b->e->complete ? DIFF_UNDECIDED
									     : DIFF_SAME;
	return a->verdict == DIFF_SIDE_KEPT && b->verdict == DIFF_SIDE_KEPT ? DIFF_COMPAT
									    : DIFF_UNDECIDED;
}

bool differential_compare(
	struct differential *out, const struct diff_side sides[2], struct err *err)
{
	*out = (struct differential){.sides = {sides[0], sides[1]}};
	if (!pair_statements(out, err)) {
		differential_release(out);
		return false;
	}
	compare_pairs(out);
	compare_final(out);
	diff_find_levels(out);
	if (out->item_count)
		diff_find_cause(out);
	out->conclusion = conclude(out);
	return true;
}

void differential_release(struct differential *d)
{
	mem_free(d->pairs);
	mem_free(d->items);
	*d = (struct differential){0};
}
