/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/sentences.h"

#include <string.h>

#include "adya/multi_table_predicate.h"
#include "base/buf.h"
#include "base/search.h"
#include "trace/value.h"

enum { WORDS_NAME_MAX = 999999 }; /* numbers that are easily read and compared */

static struct span keep(struct arena *arena, struct buf *buf)
{
	struct span s = arena_copy(arena, buf_span(buf));

	buf_release(buf);
	return s;
}

struct span say_txn(struct arena *arena, const struct history *history, uint32_t txn)
{
	return span_str(
		arena_printf(arena, "T%llu", (unsigned long long)history->txns[txn].number));
}

struct span say_stmt(struct arena *arena, const struct history *history, uint32_t stmt)
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

struct span say_object(struct arena *arena, const struct history *history, uint32_t object)
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

void say_add_image(struct buf *out, const struct history *history, uint32_t version)
{
	struct span image = history_bytes(history, history->versions[version].image);
	struct mp mp = mp_over(image);
	uint32_t count;

	if (!image.ptr || mp_peek(&mp) != MP_ARRAY)
		return;
	count = mp_array(&mp);
	buf_add_str(out, " (");
	for (uint32_t i = 0; i < count && i < 12; i++) {
		buf_add_str(out, i ? ", " : "");
		add_value(out, &mp);
	}
	buf_add_str(out, count > 12 ? ", ...)" : ")");
}

uint32_t say_place(const struct history *history, uint32_t version)
{
	const struct history_object *o = &history->objects[history->versions[version].object];
	const uint32_t *order = history->order + o->first_order;

	if (history->versions[version].position != HISTORY_NONE)
		return history->versions[version].position;
	/* Those that are not in the order stand after it, by id (history.h, invariant 5). */
	return FIRST_WHERE(i, o->order_known ? o->installed_count : 1, o->order_count, order[i] >= version);
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
			&text, "v%u%s", say_place(history, version), initial ? " (initial)" : "");
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

struct span say_version(struct arena *arena, const struct history *history, uint32_t version)
{
	return version_words(arena, history, version, false);
}

struct span say_version_exact(
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

	return say_stmt(arena, h, op ? op->stmt : HISTORY_NONE);
}

static void set_versions(struct finding_edge *out, struct arena *arena, const struct history *h,
	uint32_t from, uint32_t to)
{
	out->from_version = say_version_exact(arena, h, from);
	out->to_version = say_version_exact(arena, h, to);
	out->from_label = say_version(arena, h, from);
	out->to_label = say_version(arena, h, to);
}

static bool is_absent(const struct history *h, uint32_t version)
{
	return h->versions[version].flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD);
}

/* What a write made of the row, after its transaction: "overwrote it with version v3". */
static const char *done_to(
	struct arena *arena, const struct history *h, uint32_t before, uint32_t after)
{
	if (h->versions[after].flags & HISTORY_VERSION_DEAD)
		return is_absent(h, before) ? "inserted it and deleted it again" : "deleted it";
	return arena_printf(arena, "%s version %.*s",
		!is_absent(h, before)                                  ? "overwrote it with"
		: h->versions[before].flags & HISTORY_VERSION_DEAD ? "inserted it again as"
								   : "inserted it as",
		SPAN_ARG(say_version(arena, h, after)));
}

static void ww_edge(struct finding_edge *out, struct arena *arena, const struct history *h,
	uint32_t version, uint32_t to)
{
	const struct history_version *v = &h->versions[version];
	uint32_t before = h->order[h->objects[v->object].first_order + v->position - 1];
	const char *first = "deleted";

	set_versions(out, arena, h, before, version);
	if (!is_absent(h, before))
		first = arena_printf(arena, "installed version %.*s of", SPAN_ARG(out->from_label));
	out->sentence = span_str(arena_printf(arena, "%.*s %s %.*s, and %.*s %s (%.*s)",
		SPAN_ARG(out->from), first, SPAN_ARG(out->object), SPAN_ARG(out->to),
		done_to(arena, h, before, version),
		SPAN_ARG(stmt_of(arena, h, to, HISTORY_WRITE, version))));
}

static void wr_edge(struct finding_edge *out, struct arena *arena, const struct history *h,
	uint32_t version, uint32_t to)
{
	struct span stmt = stmt_of(arena, h, to, HISTORY_READ, version);

	set_versions(out, arena, h, version, version);
	if (is_absent(h, version))
		out->sentence = span_str(arena_printf(arena,
			"%.*s deleted %.*s, and %.*s found it gone (%.*s)", SPAN_ARG(out->from),
			SPAN_ARG(out->object), SPAN_ARG(out->to), SPAN_ARG(stmt)));
	else
		out->sentence = span_str(arena_printf(arena,
			"%.*s installed version %.*s of %.*s, and %.*s read it (%.*s)",
			SPAN_ARG(out->from), SPAN_ARG(out->from_label), SPAN_ARG(out->object),
			SPAN_ARG(out->to), SPAN_ARG(stmt)));
}

static void rw_edge(struct finding_edge *out, struct arena *arena, const struct history *h,
	uint32_t version, uint32_t from, uint32_t to)
{
	uint32_t next = version_next(h, version);
	struct span stmt = stmt_of(arena, h, from, HISTORY_READ, version);
	struct span later = stmt_of(arena, h, to, HISTORY_WRITE, next);

	set_versions(out, arena, h, version, next);
	if (is_absent(h, version))
		out->sentence = span_str(arena_printf(arena,
			"%.*s did not find %.*s (%.*s), and %.*s then %s (%.*s)", SPAN_ARG(out->from),
			SPAN_ARG(out->object), SPAN_ARG(stmt), SPAN_ARG(out->to),
			done_to(arena, h, version, next), SPAN_ARG(later)));
	else if (is_absent(h, next))
		out->sentence = span_str(arena_printf(arena,
			"%.*s read version %.*s of %.*s (%.*s), which %.*s deleted (%.*s)",
			SPAN_ARG(out->from), SPAN_ARG(out->from_label), SPAN_ARG(out->object),
			SPAN_ARG(stmt), SPAN_ARG(out->to), SPAN_ARG(later)));
	else
		out->sentence = span_str(arena_printf(arena,
			"%.*s read version %.*s of %.*s (%.*s), which %.*s overwrote with version "
			"%.*s (%.*s)",
			SPAN_ARG(out->from), SPAN_ARG(out->from_label), SPAN_ARG(out->object),
			SPAN_ARG(stmt), SPAN_ARG(out->to), SPAN_ARG(out->to_label),
			SPAN_ARG(later)));
}

struct span say_predicate(
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

struct span say_looked(struct arena *arena, const struct history *history,
	const struct history_predicate *predicate, uint32_t version)
{
	struct span object = say_object(arena, history, history->versions[version].object);
	struct span clause = say_predicate(arena, history, predicate);
	const char *asks = "asks for all rows";
	bool query = multi_table_is(history, predicate);

	if (!span_eq_str(clause, "TRUE"))
		asks = arena_printf(
			arena, "%s [%.*s]", query ? "asks" : "looks for rows with", SPAN_ARG(clause));
	if (is_absent(history, version))
		return span_str(arena_printf(arena, "%s (%.*s is %s)", asks, SPAN_ARG(object),
			history->versions[version].flags & HISTORY_VERSION_DEAD ? "gone"
										: "not there yet"));
	return span_str(arena_printf(arena, "%s (%.*s is at version %.*s)", asks, SPAN_ARG(object),
		SPAN_ARG(say_version(arena, history, version))));
}

/* Where the row stood when it was looked at: "was at version v3". */
static const char *was_at(struct arena *arena, const struct history *h, uint32_t version)
{
	if (h->versions[version].flags & HISTORY_VERSION_UNBORN)
		return "was not there yet";
	if (h->versions[version].flags & HISTORY_VERSION_DEAD)
		return arena_printf(arena, "was gone (deleted by T%llu)",
			(unsigned long long)h->txns[h->versions[version].txn].number);
	return arena_printf(
		arena, "was at version %.*s", SPAN_ARG(say_version(arena, h, version)));
}

/* What a predicate asks, and what a write changes that changes the answer. */
struct asking {
	const char *asked;   /* "looked for rows with [v > 5]" */
	const char *changes; /* "the rows with [v > 5]" */
};

static struct asking asking_of(
	struct arena *arena, const struct history *h, const struct history_predicate *p)
{
	struct span clause = say_predicate(arena, h, p);
	bool query = multi_table_is(h, p);

	if (span_eq_str(clause, "TRUE"))
		return (struct asking){"asked for all rows", "the rows of the table"};
	return (struct asking){arena_printf(arena, "%s [%.*s]",
				       query ? "asked" : "looked for rows with", SPAN_ARG(clause)),
		arena_printf(arena, "%s [%.*s]", query ? "the answer to" : "the rows with",
			SPAN_ARG(clause))};
}

static void predicate_edge_words(struct finding_edge *out, struct arena *arena,
	const struct history *h, const struct predicate_edge *edge, bool wr)
{
	const struct history_predicate *p = &h->predicates[edge->predicate];
	const struct history_version *v = &h->versions[edge->changed];
	struct asking asking = asking_of(arena, h, p);
	uint32_t before = h->order[h->objects[v->object].first_order + v->position - 1];
	const char *done = done_to(arena, h, before, edge->changed);
	struct span stmt = say_stmt(arena, h, p->stmt);

	out->object = say_object(arena, h, v->object);
	set_versions(
		out, arena, h, wr ? edge->changed : edge->seen, wr ? edge->seen : edge->changed);
	if (wr)
		out->sentence = span_str(arena_printf(arena,
			"%.*s changed %s (of %.*s: it %s), and %.*s saw that (%.*s)",
			SPAN_ARG(out->from), asking.changes, SPAN_ARG(out->object), done,
			SPAN_ARG(out->to), SPAN_ARG(stmt)));
	else
		out->sentence = span_str(arena_printf(arena,
			"%.*s %s (%.*s) while %.*s %s, and %.*s then %s, which changes the answer",
			SPAN_ARG(out->from), asking.asked, SPAN_ARG(stmt), SPAN_ARG(out->object),
			was_at(arena, h, edge->seen), SPAN_ARG(out->to), done));
}

void say_edge(struct finding_edge *out, struct arena *arena, const struct history *history,
	const struct dependencies *dependencies, const struct cycle_step *step)
{
	uint32_t from = dependencies->txn_of[step->from], to = dependencies->txn_of[step->to];

	*out = (struct finding_edge){.dependency = step->kind,
		.kind = span_str(graph_kind_name(step->kind)),
		.from = say_txn(arena, history, from),
		.to = say_txn(arena, history, to)};
	if (step->kind == GRAPH_WW || step->kind == GRAPH_WR || step->kind == GRAPH_RW)
		out->object = say_object(arena, history, history->versions[step->detail].object);
	switch (step->kind) {
	case GRAPH_WW:
		ww_edge(out, arena, history, step->detail, to);
		return;
	case GRAPH_WR:
		wr_edge(out, arena, history, step->detail, to);
		return;
	case GRAPH_RW:
		rw_edge(out, arena, history, step->detail, from, to);
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
