/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A finding about an application: the places of its code, how often, an example, and what would prevent it. */
#include "base/text.h"
#include "out/draw_finding.h"

enum { LABEL = 16 };

static void line(struct buf *out, const struct page *page, const char *label, struct span text)
{
	struct buf all = BUF_INIT;

	buf_printf(&all, "  %-*s", LABEL - 2, label);
	text_add(&all, text, 4000, TEXT_FOLD);
	draw_hanging(out, page, "                ", buf_span(&all));
	buf_release(&all);
}

static void codes(struct buf *out, const struct page *page, const struct finding_pattern *pattern)
{
	for (uint32_t i = 0; i < pattern->code_count; i++) {
		line(out, page, pattern->codes[i].role, pattern->codes[i].sql);
		if (pattern->codes[i].tag.len)
			line(out, page, "  in", pattern->codes[i].tag);
	}
}

static void rows(struct buf *out, const struct page *page, const struct finding_pattern *pattern)
{
	struct buf text = BUF_INIT;

	for (uint32_t i = 0; i < pattern->row_count; i++)
		buf_printf(&text, "%s%.*s", i ? ", " : "", SPAN_ARG(pattern->rows[i]));
	if (pattern->row_total > pattern->row_count) {
		buf_add_str(&text, " and ");
		text_add_count(&text, pattern->row_total - pattern->row_count);
		buf_add_str(&text, " more");
	}
	if (pattern->columns.len)
		buf_printf(&text, "; columns %.*s", SPAN_ARG(pattern->columns));
	line(out, page, "at stake", buf_span(&text));
	buf_release(&text);
}

static void steps(struct buf *out, const struct page *page, const struct finding *finding)
{
	for (uint32_t i = 0; i < finding->step_count; i++) {
		const struct finding_step *step = &finding->steps[i];
		struct buf text = BUF_INIT;

		buf_printf(&text, "%.*s  ", SPAN_ARG(step->transaction));
		if (step->text.ptr)
			text_add(&text, step->text, 300, TEXT_FOLD);
		buf_add_str(&text, step->text.ptr && step->what.len ? "  → " : "");
		text_add(&text, step->what, 300, TEXT_FOLD);
		line(out, page, i ? "" : "for example", buf_span(&text));
		buf_release(&text);
	}
}

void draw_pattern(struct buf *out, const struct page *page, const struct finding *finding)
{
	const struct finding_pattern *pattern = finding->pattern;
	bool certain = finding->severity == SEVERITY_APPLICATION;
	struct buf head = BUF_INIT;

	buf_add_char(out, '\n');
	buf_printf(&head, "%s%s", certain ? "" : "possible ", finding_name(finding));
	draw_inked(out, page, certain ? INK_BAD : INK_WARN, head.data);
	buf_printf(out, " on %.*s: ", SPAN_ARG(pattern->table));
	text_add_counted(out, pattern->pairs, "pair of transactions", "pairs of transactions");
	if (pattern->possible_pairs) {
		buf_add_str(out, ", and possibly ");
		text_add_count(out, pattern->possible_pairs);
		buf_add_str(out, " more");
	}
	buf_printf(out, ", at %s  (%s)\n\n", finding->level, finding->id);
	codes(out, page, pattern);
	rows(out, page, pattern);
	steps(out, page, finding);
	if (finding->caveat.len)
		line(out, page, "but", finding->caveat);
	for (const char *const *advice = pattern->advice; advice && *advice; advice++)
		line(out, page, advice == pattern->advice ? "to prevent it" : "", span_str(*advice));
	buf_release(&head);
}
