/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Test Anything Protocol, version 13: a test a finding, with its details in a YAML block.
 * Version 14 reads it the same, and wants # and \ escaped in descriptions, which is done.
 * Scalars of the YAML are JSON strings, which YAML 1.2 takes as they are.
 */
#include "out/formats.h"

void tap_begin(struct buf *out)
{
	buf_add_str(out, "TAP version 13\n");
}

void tap_end(struct buf *out, uint64_t number)
{
	buf_printf(out, "1..%llu\n", (unsigned long long)number);
}

static void scalar(struct buf *out, const char *key, struct span value)
{
	buf_printf(out, "  %s: \"", key);
	json_escape(out, value);
	buf_add_str(out, "\"\n");
}

static void description(struct buf *out, struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c == '#' || c == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, c < ' ' || c == 0x7f ? '?' : (char)c);
	}
}

static void finding_tap(struct buf *out, const struct verdict_context *context,
	const struct finding *f, uint64_t number)
{
	buf_printf(out, "%s %llu - %s %s %s", finding_counts(context, f) ? "not ok" : "ok",
		(unsigned long long)number, severity_name(f->severity), finding_name(f), f->id);
	if (f->rule)
		buf_printf(out, " (%s)", f->rule);
	buf_add_str(out, "\n  ---\n");
	scalar(out, "input", span_str(context->input));
	scalar(out, "id", span_str(f->id));
	scalar(out, "class", span_str(finding_name(f)));
	scalar(out, "severity", span_str(severity_name(f->severity)));
	scalar(out, "oracle", span_str(finding_oracle_name(f->oracle)));
	if (f->level)
		scalar(out, "level", span_str(f->level));
	buf_add_str(out, "  transactions: [");
	for (uint32_t i = 0; i < f->transaction_count; i++) {
		buf_add_str(out, i ? ", \"" : "\"");
		json_escape(out, f->transactions[i]);
		buf_add_char(out, '"');
	}
	buf_add_str(out, "]\n");
	scalar(out, "explanation", f->explanation);
	buf_printf(out, "  similar: %llu\n  ...\n", (unsigned long long)f->similar);
}

void verdict_tap(struct buf *out, const struct verdict_context *context,
	const struct verdict *verdict, uint64_t *number)
{
	for (size_t i = 0; i < verdict->finding_count; i++)
		finding_tap(out, context, &verdict->findings[i], ++*number);
	buf_printf(out, "%s %llu - ", context->status == EXIT_STATUS_OK ? "ok" : "not ok",
		(unsigned long long)++*number);
	description(out, span_str(context->input));
	buf_printf(out, ": %s\n  ---\n", context->conclusion);
	buf_printf(out, "  decided: %llu\n  undecided: %llu\n  unsupported: %llu\n  ...\n",
		(unsigned long long)verdict->decided, (unsigned long long)verdict->undecided,
		(unsigned long long)verdict->unsupported);
}
