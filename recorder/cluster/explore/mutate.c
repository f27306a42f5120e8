/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/explore/mutate.h"

#include <stdio.h>

enum { NODES_WITH_ADDED = 5 };

static uint64_t below(struct mutator *m, uint64_t limit)
{
	return random_below(&m->random, limit);
}

void sequence_of_ops(struct sequence *out, const struct ops *ops)
{
	struct buf line = BUF_INIT;

	*out = (struct sequence){.count = 0};
	for (unsigned i = 0; i < ops->step_count && out->count < SEQUENCE_MAX; i++) {
		buf_clear(&line);
		ops_print_step(ops, &ops->steps[i], &line);
		if (line.len && line.len <= SEQUENCE_LINE)
			snprintf(out->lines[out->count++], SEQUENCE_LINE, "%.*s", (int)line.len - 1, line.data);
	}
	buf_release(&line);
}

void sequence_print(const struct ops *base, const struct sequence *s, uint64_t seed, struct buf *out)
{
	struct ops header = *base;

	header.step_count = 0;
	header.seed = seed;
	ops_print(&header, out);
	for (unsigned i = 0; i < s->count; i++)
		buf_printf(out, "%s\n", s->lines[i]);
}

void mutator_saw_state(struct mutator *m, struct span state)
{
	if (!state.len || state.len >= sizeof(m->states[0]) || memchr(state.ptr, ' ', state.len) || m->state_count == MUTATE_STATES_MAX)
		return;
	/* A node that is well is so at once. */
	if (span_eq_str(state, m->base->kind.ready))
		return;
	for (unsigned i = 0; i < m->state_count; i++)
		if (span_eq_str(state, m->states[i]))
			return;
	snprintf(m->states[m->state_count++], sizeof(m->states[0]), "%.*s", SPAN_ARG(state));
}

/* ---- which nodes are down, as far as a sequence says ---- */

struct outlook {
	uint32_t down;
	unsigned nodes;
};

static uint32_t every(const struct outlook *o)
{
	return (1u << o->nodes) - 1;
}

/* The nodes that the operation may take; of one of the cluster: all of them, or none. */
static uint32_t candidates(const struct kind_operation *op, const struct outlook *o)
{
	uint32_t up = every(o) & ~o->down, fit = 0;

	switch (op->when) {
	case KIND_WHEN_ANY:
		fit = every(o);
		break;
	case KIND_WHEN_UP:
	case KIND_WHEN_READY:
		fit = up;
		break;
	case KIND_WHEN_DOWN:
		fit = o->down;
		break;
	case KIND_WHEN_ALL_DOWN:
		fit = o->down == every(o) ? every(o) : 0;
		break;
	}
	/* Nodes that are no majority are not well, and none can join them. */
	if (op->others_up && (op->when == KIND_WHEN_DOWN ? 2 * (unsigned)__builtin_popcount(up) <= o->nodes : !(up & (up - 1))))
		return 0;
	return op->of_cluster && op->when == KIND_WHEN_ANY && !up ? 0 : fit;
}

static void look_ahead(const struct ops_step *step, struct outlook *o)
{
	const struct kind_operation *op = step->operation;
	uint32_t nodes = step->targets;

	if (!op || step->change)
		return;
	if (step->all || op->of_cluster)
		nodes = every(o);
	if (op->leaves)
		o->down |= nodes & every(o);
	if (op->joins)
		o->down &= op->joins_all || op->of_cluster ? 0 : ~nodes;
	if (strcmp(op->name, "add") == 0 && o->nodes < OPS_NODES_MAX)
		o->nodes++;
}

static bool is_possible(const struct ops_step *step, const struct outlook *o)
{
	uint32_t fit;

	if (!step->operation || step->change)
		return true;
	if (strcmp(step->operation->name, "add") == 0 && o->nodes >= NODES_WITH_ADDED)
		return false;
	fit = candidates(step->operation, o);
	return fit && (step->all || step->any || step->operation->of_cluster || !(step->targets & ~fit));
}

/* Reads the sequence as a text; false: it is none. */
static bool parse(const struct mutator *m, const struct sequence *s, struct ops *out)
{
	struct buf text = BUF_INIT;
	struct err err;
	bool ok;

	sequence_print(m->base, s, 1, &text);
	ok = ops_parse(out, buf_span(&text), "sequence", NULL, &err);
	buf_release(&text);
	return ok;
}

static void remove_line(struct sequence *s, unsigned at)
{
	memmove(s->lines[at], s->lines[at + 1], (s->count - at - 1) * sizeof(s->lines[0]));
	s->count--;
}

/* Leaves out what can never be applicable; the moment of what comes first needs none before it. */
static void repair(const struct mutator *m, struct sequence *s)
{
	for (bool changed = true; changed;) {
		struct outlook o = {.nodes = m->base->nodes};
		struct ops ops;

		changed = false;
		if (s->count && strncmp(s->lines[0], "then", 4) == 0) {
			char line[SEQUENCE_LINE], *rest = s->lines[0] + strlen("then");

			if (strncmp(rest, " after ", 7) == 0)
				rest = strchr(rest + 7, ' ');
			snprintf(line, sizeof(line), "at 3s%s", rest ? rest : "");
			snprintf(s->lines[0], SEQUENCE_LINE, "%s", line);
		}
		if (!parse(m, s, &ops)) {
			s->count = 0;
			return;
		}
		for (unsigned i = 0; i < ops.step_count && !changed; i++) {
			changed = !is_possible(&ops.steps[i], &o);
			if (changed)
				remove_line(s, i);
			else
				look_ahead(&ops.steps[i], &o);
		}
		ops_release(&ops);
	}
}

/* ---- drawing ---- */

static void draw_moment(struct mutator *m, bool first, struct buf *out)
{
	uint64_t draw = below(m, 10);

	if (draw < 4)
		buf_add_str(out, "at window ");
	else if (draw < 6 && m->state_count)
		buf_printf(out, "at state n%llu=%s ", (unsigned long long)below(m, m->base->nodes) + 1, m->states[below(m, m->state_count)]);
	else if (first)
		buf_printf(out, "at %llus ", (unsigned long long)below(m, 5) + 2);
	else if (draw < 8)
		buf_add_str(out, "then ");
	else
		buf_printf(out, "then after %llums ", (unsigned long long)below(m, 40) * 100 + 100);
}

static void draw_nodes(struct mutator *m, uint32_t fit, struct buf *out)
{
	uint64_t draw = below(m, 10);
	uint32_t set = 0;
	bool any = false;

	if (draw == 0 && (fit & (fit - 1))) {
		buf_add_str(out, " all");
		return;
	}
	for (unsigned wanted = draw < 3 ? 2 : 1; wanted; wanted--) {
		uint32_t left = fit & ~set;

		for (uint64_t skip = left ? below(m, (uint64_t)__builtin_popcount(left)) : 0; skip; skip--)
			left &= left - 1;
		set |= left & ~(left - 1);
	}
	for (unsigned i = 0; i < OPS_NODES_MAX; i++)
		if (set >> i & 1) {
			buf_printf(out, " n%u", i + 1);
			any = true;
		}
	if (!any)
		buf_add_str(out, " any");
}

static void draw_lasting(struct mutator *m, struct buf *out)
{
	static const char *const times[] = {"500ms", "1s", "2s", "4s", "8s", "15s"};

	buf_printf(out, " for %s", times[below(m, 6)]);
}

/* Cuts more often than the rest: they are what changes who belongs to the cluster. */
static void draw_change(struct mutator *m, struct buf *out)
{
	static const char *const changes[] = {"cut", "cut", "cut", "delay", "loss", "duplicate", "reorder", "rate"};
	static const char *const values[] = {"", "", "", " 20ms 5ms", " 10%", " 10%", " 10%", " 200K"};
	uint64_t which = below(m, 8), a = below(m, m->base->nodes) + 1, b = below(m, m->base->nodes) + 1;

	buf_add_str(out, changes[which]);
	if (a == b)
		buf_printf(out, " n%llu", (unsigned long long)a);
	else
		buf_printf(out, " n%llu%cn%llu", (unsigned long long)a, below(m, 2) ? '>' : '-', (unsigned long long)b);
	buf_add_str(out, values[which]);
	draw_lasting(m, out);
}

/* False: no operation fits. */
static bool draw_operation(struct mutator *m, const struct outlook *o, struct buf *out)
{
	const struct kind *kind = &m->base->kind;
	const struct kind_operation *op = NULL;
	/* What is down comes back as often as something else happens. */
	bool back = o->down && below(m, 2);

	if (!back && m->links && below(m, 4) == 0) {
		draw_change(m, out);
		return true;
	}
	for (unsigned tries = 0; tries < 200; tries++) {
		op = &kind->operations[below(m, kind->operation_count)];
		if ((!back || op->joins) && candidates(op, o) && (strcmp(op->name, "add") != 0 || o->nodes < NODES_WITH_ADDED))
			break;
		op = NULL;
	}
	if (!op)
		return false;
	buf_add_str(out, op->name);
	if (!op->of_cluster)
		draw_nodes(m, candidates(op, o), out);
	if (op->fault)
		draw_lasting(m, out);
	return true;
}

void mutate(struct mutator *m, struct sequence *s)
{
	bool replace = s->count && (s->count == SEQUENCE_MAX || below(m, 5) < 2);
	unsigned at = (unsigned)below(m, s->count + (replace ? 0 : 1));
	struct outlook o = {.nodes = m->base->nodes};
	struct buf line = BUF_INIT;
	struct ops ops;

	if (!m->base->kind.operation_count || !parse(m, s, &ops))
		return;
	for (unsigned i = 0; i < at; i++)
		look_ahead(&ops.steps[i], &o);
	ops_release(&ops);
	draw_moment(m, at == 0, &line);
	if (draw_operation(m, &o, &line) && line.len < SEQUENCE_LINE) {
		if (!replace) {
			memmove(s->lines[at + 1], s->lines[at], (s->count - at) * sizeof(s->lines[0]));
			s->count++;
		}
		snprintf(s->lines[at], SEQUENCE_LINE, "%s", line.data);
	}
	buf_release(&line);
	repair(m, s);
}
