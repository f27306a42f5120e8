/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/words.h"

#include <string.h>

#include "adya/joint.h"
#include "base/buf.h"
#include "trace/value.h"

enum { WORDS_NAME_MAX = 999999 }; /* numbers that are easily read and compared */

static struct span keep(struct arena *arena, struct buf *buf)
{
	struct span s = arena_copy(arena, buf_span(buf));

	buf_release(buf);
	return s;
}

struct span words_txn(struct arena *arena, const struct history *history, uint32_t txn)
{
	return span_str(
		arena_printf(arena, "T%llu", (unsigned long long)history->txns[txn].number));
}

struct span words_stmt(struct arena *arena, const struct history *history, uint32_t stmt)
{
	const struct history_stmt *s;

	if (stmt == HISTORY_NONE)
		return SPAN_LIT("a statement that is not in the trace");
	s = &history->stmts[stmt];
	return span_str(arena_printf(arena, "statement %u of session %u", s->number,
		history->sessions[s->session].number));
}

static void add_value(struct buf *out, struct mp *mp)
{
	struct value value;

	if (value_read(mp, &value))
		value_print(out, &value, 40);
	else
		buf_add_char(out, '?');
}

struct span words_object(struct arena *arena, const struct history *history, uint32_t object)
{
	const struct history_object *o = &history->objects[object];
	const struct history_table *t = &history->tables[o->table];
	struct span key = history_bytes(history, o->key);
	struct mp mp = mp_over(key);
	struct buf text = BUF_INIT;
	uint32_t count = 1;

	if (t->database) {
		json_escape(&text, strtab_get(&history->strings, t->database));
		buf_add_char(&text, '.');
	}
	json_escape(&text, strtab_get(&history->strings, t->name));
	buf_add_char(&text, '(');
	if (mp_peek(&mp) == MP_ARRAY)
		count = mp_array(&mp);
	for (uint32_t i = 0; i < count && i < 16; i++) {
		if (i)
			buf_add_str(&text, ", ");
		add_value(&text, &mp);
	}
	buf_add_char(&text, ')');
	return keep(arena, &text);
}

uint32_t words_place(const struct history *history, uint32_t version)
{
	const struct history_object *o = &history->objects[history->versions[version].object];
	uint32_t place = 0;

	while (place < o->order_count && history->order[o->first_order + place] != version)
		place++;
	return place;
}

static struct span version_words(
	struct arena *arena, const struct history *history, uint32_t version, bool exact)
{
	const struct history_version *v;
	struct buf text = BUF_INIT;
	bool initial;

	if (version == HISTORY_NONE)
		return SPAN_LIT("unknown");
	v = &history->versions[version];
	initial = v->flags & HISTORY_VERSION_INITIAL;
	if (v->flags & HISTORY_VERSION_UNBORN)
		return SPAN_LIT("unborn");
	if (v->flags & HISTORY_VERSION_DEAD) {
		buf_add_str(&text, "dead");
		if (v->txn != HISTORY_NONE)
			buf_printf(&text, " (deleted by T%llu)",
				(unsigned long long)history->txns[v->txn].number);
		return keep(arena, &text);
	}
	if (!exact && !v->name_is_bytes && v->name > WORDS_NAME_MAX) {
		buf_printf(
			&text, "v%u%s", words_place(history, version), initial ? " (initial)" : "");
		return keep(arena, &text);
	}
	if (initial)
		buf_add_str(&text, "initial ");
	if (v->name_is_bytes) {
		struct mp mp = mp_over(history_bytes(history, (uint32_t)v->name));

		add_value(&text, &mp);
	} else {
		buf_printf(&text, "%llu", (unsigned long long)v->name);
	}
	return keep(arena, &text);
}

struct span words_version(struct arena *arena, const struct history *history, uint32_t version)
{
	return version_words(arena, history, version, false);
}

struct span words_version_exact(
	struct arena *arena, const struct history *history, uint32_t version)
{
	return version_words(arena, history, version, true);
}

const struct history_op *find_op(
	const struct history *history, uint32_t txn, enum history_op_kind kind, uint32_t version)
{
	const struct history_txn *t = &history->txns[txn];

	for (uint32_t i = t->first_op; i < t->first_op + t->op_count; i++) {
		const struct history_op *op = &history->ops[i];

		if (op->kind == kind && op->version == version)
			return op;
	}
	return NULL;
}

static struct span stmt_of(struct arena *arena, const struct history *h, uint32_t txn,
	enum history_op_kind kind, uint32_t version)
{
	const struct history_op *op = find_op(h, txn, kind, version);

	return words_stmt(arena, h, op ? op->stmt : HISTORY_NONE);
}

static void set_versions(struct finding_edge *out, struct arena *arena, const struct history *h,
	uint32_t from, uint32_t to)
{
	out->from_version = words_version_exact(arena, h, from);
	out->to_version = words_version_exact(arena, h, to);
	out->from_label = words_version(arena, h, from);
	out->to_label = words_version(arena, h, to);
}

static void item_edge(struct finding_edge *out, struct arena *arena, const struct history *h,
	const struct cycle_step *step, uint32_t from, uint32_t to)
{
	uint32_t version = step->detail, other;

	out->object = words_object(arena, h, h->versions[version].object);
	switch (step->kind) {
	case GRAPH_WW:
		other = h->versions[version].position;
		other = h->order[h->objects[h->versions[version].object].first_order + other - 1];
		set_versions(out, arena, h, other, version);
		out->sentence = span_str(arena_printf(arena,
			"%.*s installed version %.*s of %.*s, and %.*s overwrote it with version "
			"%.*s "
			"(%.*s)",
			SPAN_ARG(out->from), SPAN_ARG(out->from_label), SPAN_ARG(out->object),
			SPAN_ARG(out->to), SPAN_ARG(out->to_label),
			SPAN_ARG(stmt_of(arena, h, to, HISTORY_WRITE, version))));
		return;
	case GRAPH_WR:
		set_versions(out, arena, h, version, version);
		out->sentence = span_str(arena_printf(arena,
			"%.*s installed version %.*s of %.*s, and %.*s read it (%.*s)",
			SPAN_ARG(out->from), SPAN_ARG(out->from_label), SPAN_ARG(out->object),
			SPAN_ARG(out->to), SPAN_ARG(stmt_of(arena, h, to, HISTORY_READ, version))));
		return;
	case GRAPH_RW:
		other = version_next(h, version);
		set_versions(out, arena, h, version, other);
		out->sentence = span_str(arena_printf(arena,
			"%.*s read version %.*s of %.*s (%.*s), which %.*s overwrote with version "
			"%.*s (%.*s)",
			SPAN_ARG(out->from), SPAN_ARG(out->from_label), SPAN_ARG(out->object),
			SPAN_ARG(stmt_of(arena, h, from, HISTORY_READ, version)), SPAN_ARG(out->to),
			SPAN_ARG(out->to_label),
			SPAN_ARG(stmt_of(arena, h, to, HISTORY_WRITE, other))));
		return;
	case GRAPH_PREDICATE_WR:
	case GRAPH_PREDICATE_RW:
	case GRAPH_SESSION:
	case GRAPH_REALTIME:
		return;
	}
}

struct span words_predicate(
	struct arena *arena, const struct history *history, const struct history_predicate *p)
{
	struct span text = history_bytes(history, p->text);
	struct buf clause = BUF_INIT;

	if (text.len > strlen(JOINT_UNLISTED) &&
		memcmp(text.ptr, JOINT_UNLISTED, strlen(JOINT_UNLISTED)) == 0)
		text = span_of(text.ptr + strlen(JOINT_UNLISTED), text.len - strlen(JOINT_UNLISTED));
	json_escape(&clause, text.ptr ? text : SPAN_LIT("its predicate"));
	return keep(arena, &clause);
}

static void predicate_edge_words(struct finding_edge *out, struct arena *arena,
	const struct history *h, const struct predicate_edge *edge, bool wr)
{
	const struct history_predicate *p = &h->predicates[edge->predicate];
	struct span clause = words_predicate(arena, h, p);
	bool joint = joint_is(h, p);

	out->object = words_object(arena, h, h->versions[edge->seen].object);
	set_versions(
		out, arena, h, wr ? edge->changed : edge->seen, wr ? edge->seen : edge->changed);
	if (wr)
		out->sentence = span_str(arena_printf(arena,
			"%.*s changed whether %.*s %s [%.*s] (version %.*s), and %.*s saw that "
			"(%.*s)",
			SPAN_ARG(out->from), SPAN_ARG(out->object),
			joint ? "takes part in" : "satisfies", SPAN_ARG(clause),
			SPAN_ARG(out->from_label), SPAN_ARG(out->to),
			SPAN_ARG(words_stmt(arena, h, p->stmt))));
	else
		out->sentence = span_str(arena_printf(arena,
			"%.*s %s [%.*s] (%.*s) while %.*s was at version %.*s, and %.*s then "
			"changed whether it %s (version %.*s)",
			SPAN_ARG(out->from), joint ? "asked" : "tested", SPAN_ARG(clause),
			SPAN_ARG(words_stmt(arena, h, p->stmt)), SPAN_ARG(out->object),
			SPAN_ARG(out->from_label), SPAN_ARG(out->to),
			joint ? "takes part in that" : "satisfies it", SPAN_ARG(out->to_label)));
}

void words_edge(struct finding_edge *out, struct arena *arena, const struct history *history,
	const struct dependencies *dependencies, const struct cycle_step *step)
{
	uint32_t from = dependencies->txn_of[step->from], to = dependencies->txn_of[step->to];

	*out = (struct finding_edge){.kind = span_str(graph_kind_name(step->kind)),
		.from = words_txn(arena, history, from),
		.to = words_txn(arena, history, to)};
	switch (step->kind) {
	case GRAPH_WW:
	case GRAPH_WR:
	case GRAPH_RW:
		item_edge(out, arena, history, step, from, to);
		return;
	case GRAPH_PREDICATE_WR:
	case GRAPH_PREDICATE_RW:
		predicate_edge_words(out, arena, history,
			&dependencies->predicate_edges[step->detail],
			step->kind == GRAPH_PREDICATE_WR);
		return;
	case GRAPH_SESSION:
		out->sentence = span_str(arena_printf(arena, "%.*s came before %.*s in session %u",
			SPAN_ARG(out->from), SPAN_ARG(out->to),
			history->sessions[history->txns[from].session].number));
		return;
	case GRAPH_REALTIME:
		out->sentence =
			span_str(arena_printf(arena, "%.*s's commit was answered before %.*s began",
				SPAN_ARG(out->from), SPAN_ARG(out->to)));
		return;
	}
}
