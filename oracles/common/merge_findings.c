/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/merge_findings.h"

static bool has_txn(const struct finding *f, struct span txn)
{
	for (uint32_t i = 0; i < f->transaction_count; i++) {
		if (span_eq(f->transactions[i], txn))
			return true;
	}
	return false;
}

/* The same set of transactions, in whatever order. */
static bool same_txns(const struct finding *a, const struct finding *b)
{
	if (a->transaction_count != b->transaction_count || a->transaction_count == 0)
		return false;
	for (uint32_t i = 0; i < a->transaction_count; i++) {
		if (!has_txn(b, a->transactions[i]))
			return false;
	}
	return true;
}

static bool is_from(const struct finding *f, enum finding_oracle oracle)
{
	return f->oracle == oracle && f->severity != SEVERITY_SUSPICION;
}

static struct finding *partner_of(struct verdict *verdict, const struct finding *solved)
{
	for (size_t i = 0; i < verdict->finding_count; i++) {
		struct finding *f = &verdict->findings[i];

		if ((is_from(f, FOUND_BY_ADYA) || is_from(f, FOUND_BY_ADYA_AND_MVCC)) && same_txns(f, solved))
			return f;
	}
	return NULL;
}

static void join(struct verdict *verdict, struct finding *graph, const struct finding *solved)
{
	graph->remark = span_str(arena_printf(&verdict->arena, "%.*s%smvcc: %s: %.*s",
		SPAN_ARG(graph->remark), graph->remark.len ? " " : "", finding_name(solved),
		SPAN_ARG(solved->explanation)));
	if (solved->severity < graph->severity) {
		graph->severity = solved->severity;
		graph->rule = solved->rule;
	}
	finding_add_known(verdict, graph, solved->known, solved->known_count);
	graph->oracle = FOUND_BY_ADYA_AND_MVCC;
	graph->similar += solved->similar;
}

void verdict_join(struct verdict *verdict)
{
	size_t kept = 0;

	for (size_t i = 0; i < verdict->finding_count; i++) {
		struct finding *f = &verdict->findings[i];
		struct finding *partner = is_from(f, FOUND_BY_MVCC) ? partner_of(verdict, f) : NULL;

		/* Marked first, moved afterwards: partners may stand on either side. */
		if (partner) {
			join(verdict, partner, f);
			f->oracle = FOUND_BY_NONE;
		}
	}
	for (size_t i = 0; i < verdict->finding_count; i++) {
		if (verdict->findings[i].oracle != FOUND_BY_NONE)
			verdict->findings[kept++] = verdict->findings[i];
	}
	verdict->finding_count = kept;
}
