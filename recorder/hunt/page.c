/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of a hunt: what was found, by signature, and what was exercised. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/files.h"
#include "base/text.h"
#include "hunt/hunt_internal.h"

static void add_cell(struct buf *out, const char *text)
{
	buf_add_str(out, "<td>");
	text_add_xml(out, span_str(text));
	buf_add_str(out, "</td>");
}

/* Links are relative to the page. */
static void add_examples(const struct hunt_group *g, struct buf *out)
{
	buf_add_str(out, "<td>");
	for (unsigned i = 0; i < g->example_count; i++)
		buf_printf(out, "<a href=\"cases/case-%06" PRIu64 "/\">%" PRIu64 "</a> ", g->examples[i], g->examples[i]);
	buf_add_str(out, "</td>");
}

static void add_servers(const struct hunt_state *state, const struct hunt_group *g, struct buf *out)
{
	buf_add_str(out, "<td>");
	for (size_t i = 0; i < state->options->server_count; i++) {
		if (!(g->servers >> i & 1))
			continue;
		text_add_xml(out, span_str(state->options->servers[i].name));
		buf_add_char(out, ' ');
	}
	buf_add_str(out, "</td>");
}

static void add_group(const struct hunt_state *state, const struct hunt_group *g, struct buf *out)
{
	buf_printf(out, "<tr class=\"%s\">", hunt_kind_name(g->kind));
	add_cell(out, hunt_kind_name(g->kind));
	add_cell(out, g->signature);
	buf_printf(out, "<td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>%.0f s</td>", g->count, g->cases, g->first_seconds);
	add_servers(state, g, out);
	add_examples(g, out);
	buf_add_str(out, "</tr>\n");
}

static void add_groups(const struct hunt_state *state, struct buf *out)
{
	buf_add_str(out, "<table><tr><th>kind</th><th>signature</th><th>findings</th><th>cases</th><th>first</th>"
			 "<th>servers</th><th>examples</th></tr>\n");
	for (int kind = HUNT_NEW; kind >= HUNT_DOCUMENTED; kind--) {
		if (kind <= HUNT_COMPAT && state->options->known == HUNT_KNOWN_HIDE)
			continue;
		for (size_t i = 0; i < state->group_count; i++)
			if (state->groups[i].count && (int)state->groups[i].kind == kind)
				add_group(state, &state->groups[i], out);
	}
	buf_add_str(out, "</table>\n");
}

static int by_count(const void *a, const void *b)
{
	const struct hunt_reason *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

static void add_reasons(const struct hunt_state *state, struct buf *out)
{
	buf_add_str(out, "<h2>What was not decided</h2><table><tr><th>statements</th><th>reason of most of them in a case</th></tr>\n");
	qsort(state->reasons, state->reason_count, sizeof(*state->reasons), by_count);
	for (size_t i = 0; i < state->reason_count && i < 40; i++) {
		buf_printf(out, "<tr><td>%" PRIu64 "</td>", state->reasons[i].count);
		add_cell(out, state->reasons[i].text);
		buf_add_str(out, "</tr>\n");
	}
	buf_add_str(out, "</table>\n");
}

static void add_words_not_drawn(const struct hunt_state *state, struct buf *out)
{
	unsigned count = case_tag_count(), listed = 0;

	buf_add_str(out, "<h2>Words of the model that were never drawn</h2><p>");
	for (unsigned i = 0; i < count; i++) {
		if (!case_tag_possible(state->options->model, i) || (state->pairs[i][i / 64] >> i % 64 & 1))
			continue;
		if (listed++)
			buf_add_str(out, ", ");
		case_tag_print(i, out);
	}
	buf_add_str(out, listed ? "</p>\n" : "none</p>\n");
}

bool page_write(const struct hunt_state *state, struct err *err)
{
	struct buf out = BUF_INIT, path = BUF_INIT, words = BUF_INIT;
	bool ok;

	buf_add_str(&out, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>isorec hunt</title>\n<style>"
			  "body{font:15px/1.5 sans-serif;margin:2em;max-width:75em}table{border-collapse:collapse}"
			  "td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left;vertical-align:top}"
			  "tr.new{background:#fdd}tr.suspicion{background:#fed}pre{background:#f6f6f6;padding:1em}</style>\n<h1>isorec hunt</h1><pre>");
	buf_printf(&words, "model %s, seed %" PRIu64 ", orders %" PRIu64 "\n", state->options->model->name, state->options->seed,
		state->options->orders);
	summary_print(state, &words);
	text_add_xml_lines(&out, buf_span(&words));
	buf_add_str(&out, "</pre>\n<h2>Groups</h2>\n");
	add_groups(state, &out);
	add_reasons(state, &out);
	add_words_not_drawn(state, &out);
	buf_printf(&path, "%s/index.html", state->options->folder);
	ok = file_replace(path.data, buf_span(&out), err);
	buf_release(&out);
	buf_release(&path);
	buf_release(&words);
	return ok;
}
