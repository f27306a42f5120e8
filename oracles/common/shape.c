/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/shape.h"

void finding_print_kind(const struct finding *f, struct buf *out)
{
	/* A wrong result may turn out to be no matter of isolation when the case gets smaller: it is the same fault. */
	const char *name = f->class == CLASS_WRONG_SQL ? finding_class_name(CLASS_WRONG_RESULT) : finding_name(f);

	buf_printf(out, "%s %s %s %s", finding_oracle_name(f->oracle), name, severity_name(f->severity),
		f->level ? f->level : "-");
}

static const char *dependency_word(enum graph_kind kind)
{
	switch (kind) {
	case GRAPH_WW:
		return "ww";
	case GRAPH_WR:
		return "wr";
	case GRAPH_PREDICATE_WR:
		return "predicate-wr";
	case GRAPH_RW:
		return "rw";
	case GRAPH_PREDICATE_RW:
		return "predicate-rw";
	case GRAPH_SESSION:
		return "session";
	case GRAPH_REALTIME:
		return "real-time";
	}
	return "other";
}

static void print_cycle(const struct finding *f, struct buf *out)
{
	struct buf best = BUF_INIT, text = BUF_INIT;

	for (uint32_t first = 0; first < f->edge_count; first++) {
		buf_clear(&text);
		for (uint32_t i = 0; i < f->edge_count; i++)
			buf_printf(&text, " %s", dependency_word(f->edges[(first + i) % f->edge_count].dependency));
		if (!best.len || strcmp(text.data, best.data) < 0) {
			buf_clear(&best);
			buf_add_span(&best, buf_span(&text));
		}
	}
	buf_add_span(out, buf_span(&best));
	buf_release(&best);
	buf_release(&text);
}

void finding_print_shape(const struct finding *f, struct buf *out)
{
	static const char *const words[] = {
#define X(name, word) word,
		FINDING_TRAITS(X)
#undef X
	};

	finding_print_kind(f, out);
	if (f->rule)
		buf_printf(out, " rule:%s", f->rule);
	for (unsigned t = 0; t < FINDING_TRAIT_COUNT; t++)
		if (f->traits & 1u << t)
			buf_printf(out, " %s", words[t]);
	if (f->edge_count)
		print_cycle(f, out);
}
