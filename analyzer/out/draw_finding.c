/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out/draw_finding.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "common/graph/cycles.h"
#include "report/conclusion.h"

enum {
	STEPS_MAX = 40, /* statements drawn of one witness */
	TEXT_MAX = 4000,
	NARROWEST = 20, /* columns that text gets however narrow the terminal is */
};

void draw_inked(struct buf *out, const struct page *page, const char *ink, const char *text)
{
	if (page->color)
		buf_add_str(out, ink);
	buf_add_str(out, text);
	if (page->color)
		buf_add_str(out, "\033[0m");
}

static size_t room(const struct page *page, size_t used)
{
	return page->columns > used + NARROWEST ? page->columns - used : NARROWEST;
}

static void wrap(struct buf *out, const struct page *page, const char *first, const char *indent,
	struct span text)
{
	struct buf line = BUF_INIT;
	struct span rest, part;
	const char *lead = first;

	text_add(&line, text, TEXT_MAX, TEXT_FOLD);
	rest = buf_span(&line);
	while (rest.len) {
		part = text_wrap(rest, room(page, text_columns(span_str(lead))), &rest);
		buf_printf(out, "%s%.*s\n", lead, SPAN_ARG(part));
		lead = indent;
	}
	buf_release(&line);
}

void draw_wrapped(struct buf *out, const struct page *page, const char *indent, struct span text)
{
	wrap(out, page, indent, indent, text);
}

void draw_hanging(struct buf *out, const struct page *page, const char *indent, struct span text)
{
	struct buf line = BUF_INIT;
	struct span rest, part;

	/* The first line is a word with its text aligned after it: blanks stay. */
	text_add(&line, text, TEXT_MAX, TEXT_PLAIN);
	rest = buf_span(&line);
	part = text_wrap(rest, room(page, 0), &rest);
	buf_printf(out, "%.*s\n", SPAN_ARG(part));
	while (rest.len) {
		part = text_wrap(rest, room(page, strlen(indent)), &rest);
		buf_printf(out, "%s%.*s\n", indent, SPAN_ARG(part));
	}
	buf_release(&line);
}

/* ---- the cycle ---- */

/*
 *   ┌─► T2
 *   │    │  ww  T2 installed version 97 of account(5), and T17
 *   │    ▼      overwrote it with version 98 (statement 8 of session 3).
 *   │   T17
 *   │    │  rw  T17 read version 87 of account(5), which T2 overwrote ...
 *   └────┘
 */
static void draw_edge(struct buf *out, const struct page *page, const struct finding_edge *edge,
	bool last)
{
	struct buf first = BUF_INIT, text = BUF_INIT, line = BUF_INIT;
	struct span rest, part;
	size_t label = text_columns(edge->kind) + 2;
	bool begun = false;

	buf_add_span(&line, edge->sentence);
	buf_add_str(&line, last ? ": the circle is closed." : ".");
	text_add(&text, buf_span(&line), TEXT_MAX, TEXT_FOLD);
	rest = buf_span(&text);
	while (rest.len) {
		part = text_wrap(rest, room(page, 10 + label), &rest);
		buf_add_str(out, "  │    │  ");
		if (!begun) {
			buf_clear(&first);
			text_add_padded(&first, edge->kind, label, TEXT_FOLD);
			draw_inked(out, page, last ? INK_BAD : INK_BOLD, first.data);
		} else {
			text_add_blanks(out, label);
		}
		begun = true;
		buf_printf(out, "%.*s\n", SPAN_ARG(part));
	}
	buf_add_str(out, last ? "  └────┘\n" : "  │    ▼\n");
	buf_release(&first);
	buf_release(&text);
	buf_release(&line);
}

static bool is_cycle(const struct finding *finding)
{
	uint32_t n = finding->edge_count;

	for (uint32_t i = 0; i < n; i++) {
		if (!span_eq(finding->edges[i].to, finding->edges[(i + 1) % n].from))
			return false;
	}
	return n > 0;
}

static void draw_cycle(struct buf *out, const struct page *page, const struct finding *finding)
{
	for (uint32_t i = 0; i < finding->edge_count; i++) {
		buf_add_str(out, i ? "  │   " : "  ┌─► ");
		text_add(out, finding->edges[i].from, 60, TEXT_FOLD);
		buf_add_char(out, '\n');
		draw_edge(out, page, &finding->edges[i], i + 1 == finding->edge_count);
	}
}

/* Edges that are no circle: one after the other. */
static void draw_edges(struct buf *out, const struct page *page, const struct finding *finding)
{
	for (uint32_t i = 0; i < finding->edge_count; i++) {
		const struct finding_edge *edge = &finding->edges[i];
		struct buf line = BUF_INIT;

		buf_add_str(out, "  ");
		text_add(out, edge->from, 60, TEXT_FOLD);
		buf_add_str(out, " ──");
		text_add(out, edge->kind, 40, TEXT_FOLD);
		buf_add_str(out, "──► ");
		text_add(out, edge->to, 60, TEXT_FOLD);
		buf_add_char(out, '\n');
		buf_add_span(&line, edge->sentence);
		buf_add_char(&line, '.');
		draw_wrapped(out, page, "      ", buf_span(&line));
		buf_release(&line);
	}
}

/* ---- the statements ---- */

static size_t widest_name(const struct finding *finding)
{
	size_t widest = 2;

	for (uint32_t i = 0; i < finding->step_count; i++) {
		size_t columns = text_columns(finding->steps[i].transaction);

		if (columns > widest)
			widest = columns;
	}
	return widest < 20 ? widest : 20;
}

static void draw_steps(struct buf *out, const struct page *page, const struct finding *finding)
{
	size_t names = widest_name(finding);

	if (finding->step_count)
		buf_add_char(out, '\n');
	for (uint32_t i = 0; i < finding->step_count && i < STEPS_MAX; i++) {
		const struct finding_step *step = &finding->steps[i];
		struct buf first = BUF_INIT, indent = BUF_INIT, text = BUF_INIT;

		buf_add_str(&first, "  ");
		text_add_padded(&first, step->transaction, names + 2, TEXT_FOLD);
		text_add_blanks(&indent, names + 6);
		if (step->text.ptr)
			text_add(&text, step->text, 2000, TEXT_FOLD);
		buf_add_str(&text, step->text.ptr && step->what.len ? "  → " : "");
		text_add(&text, step->what, 1000, TEXT_FOLD);
		wrap(out, page, first.data, indent.data, buf_span(&text));
		buf_release(&first);
		buf_release(&indent);
		buf_release(&text);
	}
	if (finding->step_count > STEPS_MAX)
		buf_printf(out, "  and %u more statements\n", finding->step_count - STEPS_MAX);
}

/* ---- the answer ---- */

static void draw_side(struct buf *out, const struct page *page, const char *name, const char *ink,
	const struct answer_row *rows, uint32_t count, uint64_t total)
{
	if (!count)
		buf_printf(out, "  %-9s %s\n", name, total ? "rows that were not kept" : "no row");
	for (uint32_t i = 0; i < count; i++) {
		struct buf line = BUF_INIT;

		buf_printf(out, "  %-9s ", i ? "" : name);
		buf_add_str(&line, rows[i].odd ? "✗ " : "  ");
		text_add(&line, rows[i].text, room(page, 14), TEXT_FOLD);
		draw_inked(out, page, rows[i].odd ? ink : "", line.data);
		buf_add_char(out, '\n');
		buf_release(&line);
	}
	if (total > count)
		buf_printf(out, "            and %llu more\n", (unsigned long long)(total - count));
}

static void draw_answer(
	struct buf *out, const struct page *page, const struct finding_answer *answer)
{
	buf_add_char(out, '\n');
	draw_side(out, page, answer->number ? "answered" : "holds", INK_BAD, answer->got,
		answer->got_count, answer->got_total);
	draw_side(out, page, "expected", INK_GOOD, answer->expected, answer->expected_count,
		answer->expected_total);
}

/* ---- the cluster ---- */

static void draw_spans(struct buf *out, const struct page *page, const char *name, const struct span *spans, uint32_t count,
	uint64_t total)
{
	enum { LISTED = 8 };
	uint32_t listed = !page->verbose && count > LISTED ? LISTED : count;

	for (uint32_t i = 0; i < listed; i++) {
		char first[16];

		snprintf(first, sizeof(first), "  %-9s ", i ? "" : name);
		wrap(out, page, first, "              ", spans[i]);
	}
	if (total > listed)
		buf_printf(out, "            and %llu more\n", (unsigned long long)(total - listed));
}

static void draw_place(struct buf *out, const struct page *page, const struct finding *finding)
{
	const struct finding_place *place = finding->place;

	buf_add_char(out, '\n');
	draw_spans(out, page, "phase", &place->phase, 1, 1);
	if (finding->transaction_count) {
		struct buf names = BUF_INIT;

		for (uint32_t i = 0; i < finding->transaction_count && i < (page->verbose ? 1000 : 20); i++)
			buf_printf(&names, "%s%.*s", i ? " " : "", SPAN_ARG(finding->transactions[i]));
		if (!page->verbose && finding->transaction_count > 20)
			buf_printf(&names, " and %u more", finding->transaction_count - 20);
		wrap(out, page, "  commits   ", "            ", buf_span(&names));
		buf_release(&names);
	}
	draw_spans(out, page, "rows", place->rows, place->row_count, place->row_total);
	draw_spans(out, page, "logs", place->logs, place->log_count, place->log_count);
	if (place->page)
		buf_printf(out, "  see       %s\n", place->page);
}

void draw_finding(struct buf *out, const struct page *page, const struct finding *finding)
{
	struct buf line = BUF_INIT;

	buf_add_char(out, '\n');
	draw_inked(out, page, INK_BOLD, finding_name(finding));
	if (finding_variant_name(finding->variant))
		buf_printf(out, ", a %s", finding_variant_name(finding->variant));
	buf_add_str(out, ": ");
	draw_inked(out, page, finding->severity == SEVERITY_VIOLATION ? INK_BAD : INK_WARN,
		severity_name(finding->severity));
	if (finding->rule)
		buf_printf(out, " by %s", finding->rule);
	if (finding->level)
		buf_printf(out, ", %s %s", strncmp(finding->level, "PL", 2) ? "at" : "against",
			finding->level);
	buf_printf(out, "  (%s)\n\n", finding->id);
	if (is_cycle(finding))
		draw_cycle(out, page, finding);
	else if (finding->edge_count)
		draw_edges(out, page, finding);
	else
		draw_wrapped(out, page, "  ", finding->explanation);
	if (finding->answer)
		draw_answer(out, page, finding->answer);
	if (finding->place)
		draw_place(out, page, finding);
	draw_steps(out, page, finding);
	if (finding->remark.len) {
		buf_add_char(out, '\n');
		draw_wrapped(out, page, "  ", finding->remark);
	}
	for (uint32_t at = 0; known_next(finding, &at, &line);) {
		buf_add_char(out, '\n');
		draw_wrapped(out, page, "  ", buf_span(&line));
	}
	buf_release(&line);
}
