/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A verdict for a person at a terminal: what it comes to, what was promised, a table of the
 * findings, the first witness drawn, what was not decided, and what to run next.
 */
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "out/draw_finding.h"
#include "out/formats.h"
#include "out/text_table.h"
#include "trace/record.h"
#include "values/levels.h"

enum {
	NAMES_MAX = 3,         /* transactions named in a row of the table */
	CLUSTER_DRAWN_MAX = 10 /* findings of a cluster: each tells of something else */
};

static const char *ink_of(const struct verdict_context *context)
{
	switch (context->status) {
	case EXIT_STATUS_OK:
		return INK_GOOD;
	case EXIT_STATUS_VIOLATION:
		return INK_BAD;
	default:
		return INK_WARN;
	}
}

/* ---- the verdict ---- */

static void head_text(struct buf *out, const struct page *page,
	const struct verdict_context *context, const struct verdict *verdict)
{
	struct buf line = BUF_INIT;

	text_add(out, span_str(context->input), 400, TEXT_FOLD);
	buf_add_str(out, ": ");
	draw_inked(out, page, ink_of(context), context->conclusion);
	buf_add_char(out, '\n');
	text_add_counted(&line, context->transactions, "transaction", "transactions");
	if (context->sessions) {
		buf_add_str(&line, " of ");
		text_add_counted(&line, context->sessions, "session", "sessions");
	}
	if (context->operations) {
		buf_add_str(&line, ", ");
		text_add_counted(&line, context->operations, "operation", "operations");
	} else if (context->statements) {
		/* Operations are reads and writes of versions; without versions it is these. */
		buf_add_str(&line, ", ");
		text_add_counted(&line, context->statements, "statement", "statements");
	}
	if (context->server.ptr) {
		buf_add_str(&line, ", server ");
		text_add(&line, context->server, 100, TEXT_FOLD);
	}
	if (verdict->contract)
		buf_printf(&line, ", contract %s", verdict->contract);
	draw_wrapped(out, page, "", buf_span(&line));
	buf_release(&line);
}

/* Who asks for SERIALIZABLE expects it: that it is less here must not stand among the rules alone. */
static void weaker_text(struct buf *out, const struct page *page, const struct promise *promise)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "           the contract allows write skew at this level (rule %s), so two transactions may each miss "
			  "what the other wrote; what it does promise was %s", promise->weaker->name,
		promise->answer == PROMISE_KEPT ? "kept" : promise->answer == PROMISE_BROKEN ? "broken" : "not decided");
	draw_hanging(out, page, "           ", buf_span(&line));
	buf_release(&line);
}

/* Isolation was kept, or broken elsewhere; the verdict says violated all the same. */
static void wrong_sql_text(struct buf *out, const struct page *page, uint64_t count)
{
	struct buf line = BUF_INIT;

	if (!count)
		return;
	buf_add_str(&line, "wrong SQL: ");
	text_add_counted(&line, count, "answer", "answers");
	buf_add_str(&line, " that would be wrong without any other session, too; no matter of isolation");
	draw_hanging(out, page, "           ", buf_span(&line));
	buf_release(&line);
}

static void promises_text(struct buf *out, const struct page *page,
	const struct verdict_context *context, const struct verdict *verdict)
{
	static const char *const inks[] = {INK_GOOD, INK_BAD, INK_WARN};
	struct promise promise = {0};

	while (promise_next(context, verdict, &promise)) {
		struct buf line = BUF_INIT;

		if (promise.level == &context->contract->levels[LEVEL_UNKNOWN]) {
			buf_add_str(&line, "promised:  not known of ");
			text_add_counted(&line, promise.transactions, "transaction",
				"transactions");
			buf_add_str(&line, ": the trace does not have the server's level (isorec "
					   "proxy records it with --user)");
			draw_hanging(out, page, "           ", buf_span(&line));
			buf_release(&line);
			continue;
		}
		buf_printf(&line, "promised:  %s to ", promise.name);
		text_add_counted(&line, promise.transactions, "transaction", "transactions");
		buf_add_char(&line, ':');
		buf_add_span(out, buf_span(&line));
		/* "broken by 1,234 violations" goes to a line of its own where it does not fit. */
		buf_add_str(out, line.len + 28 > page->columns ? "\n           " : " ");
		buf_release(&line);
		if (promise.weaker && promise.answer == PROMISE_KEPT)
			draw_inked(out, page, INK_WARN, "less than serializable");
		else
			draw_inked(out, page, inks[promise.answer], promise_answer_name(promise.answer));
		if (promise.broken) {
			buf_add_str(out, " by ");
			text_add_counted(out, promise.broken, "violation", "violations");
		}
		buf_add_char(out, '\n');
		if (promise.weaker)
			weaker_text(out, page, &promise);
	}
	wrong_sql_text(out, page, count_wrong_sql(verdict));
}

/* Of those that hold the strongest, of those that fail the weakest: the rest follows. */
static void levels_text(struct buf *out, const struct page *page, const struct verdict *verdict,
	enum level_answer answer, const char *heading, const char *rest)
{
	struct buf line = BUF_INIT;
	bool any = false, left = false;

	for (size_t i = 0; i < verdict->level_count; i++) {
		if (verdict->levels[i].answer != answer)
			continue;
		if (rest && !level_is_extreme(verdict, i)) {
			left = true;
			continue;
		}
		buf_printf(&line, "%s %s", any ? "," : heading, verdict->levels[i].name);
		any = true;
	}
	if (left)
		buf_add_str(&line, rest);
	if (any)
		draw_hanging(out, page, "           ", buf_span(&line));
	buf_release(&line);
}

/* ---- the table ---- */

static void transactions_cell(struct table *table, const struct finding *finding)
{
	struct buf cell = BUF_INIT;

	for (uint32_t i = 0; i < finding->transaction_count && i < NAMES_MAX; i++)
		buf_printf(&cell, "%s%.*s", i ? ", " : "", SPAN_ARG(finding->transactions[i]));
	if (finding->transaction_count > NAMES_MAX)
		buf_printf(&cell, " +%u", finding->transaction_count - NAMES_MAX);
	table_text(table, buf_span(&cell));
	buf_release(&cell);
}

/* The line of the table's output that tells of a finding is coloured by its severity. */
static void table_text_out(struct buf *out, const struct page *page, struct table *table,
	const struct verdict *verdict)
{
	struct buf plain = BUF_INIT;
	struct span rest;
	size_t row = 0;

	table_end(table, &plain);
	rest = buf_span(&plain);
	for (; rest.len; row++) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
		struct buf line = BUF_INIT;

		text_add(&line, span_of(rest.ptr, len), page->columns, TEXT_PLAIN);
		if (row == 0)
			draw_inked(out, page, INK_SOFT, line.data);
		else
			draw_inked(out, page,
				verdict->findings[row - 1].severity == SEVERITY_VIOLATION
					? INK_BAD
					: INK_WARN,
				line.data);
		buf_add_char(out, '\n');
		buf_release(&line);
		rest = span_of(rest.ptr + len + (end != NULL), rest.len - len - (end != NULL));
	}
	buf_release(&plain);
}

static bool same_group(const struct finding *a, const struct finding *b)
{
	return a->severity == b->severity && strcmp(finding_name(a), finding_name(b)) == 0 &&
	       strcmp(a->level ? a->level : "", b->level ? b->level : "") == 0;
}

/* All of the group that begins with finding `first`, those that are not listed among them. */
static uint64_t group_count(const struct verdict *verdict, size_t first)
{
	const struct finding *group = &verdict->findings[first];
	uint64_t count = 0;

	for (size_t i = first; i < verdict->finding_count; i++) {
		if (!same_group(&verdict->findings[i], group))
			break;
		count += verdict->findings[i].pattern ? verdict->findings[i].pattern->pairs
						      : 1 + verdict->findings[i].similar;
	}
	return count;
}

static void findings_text(struct buf *out, const struct page *page, const struct verdict *verdict)
{
	struct table table;
	/* What says least goes first when the terminal is narrow. */
	bool level = page->columns >= 78, names = page->columns >= 64;

	if (!verdict->finding_count) {
		buf_add_str(out, "\nfound:     nothing\n");
		return;
	}
	buf_add_char(out, '\n');
	table_begin(&table, level ? "lllrll" : names ? "llrll" : "llrl",
		level	? "finding|severity|level|count|id|transactions"
		: names ? "finding|severity|count|id|transactions"
			: "finding|severity|count|id");
	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];
		bool first = !i || !same_group(f, f - 1);

		/* A group is named and counted where it begins. */
		table_str(&table, first ? finding_name(f) : "");
		table_str(&table, first ? severity_name(f->severity) : "");
		if (level)
			table_str(&table, first && f->level ? f->level : "");
		if (first)
			table_count(&table, group_count(verdict, i));
		else
			table_str(&table, "");
		table_str(&table, f->id);
		if (names)
			transactions_cell(&table, f);
	}
	table_text_out(out, page, &table, verdict);
}

/* Of the findings that are not drawn: those that are known, each report once. */
static void known_text(struct buf *out, const struct page *page, const struct verdict *verdict)
{
	struct buf line = BUF_INIT, last = BUF_INIT;

	for (size_t i = 1; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];

		for (uint32_t at = 0; known_next(f, &at, &line);) {
			if (span_eq(buf_span(&line), buf_span(&last)))
				continue;
			buf_clear(&last);
			buf_add_span(&last, buf_span(&line));
			buf_printf(out, "\n%s  %s\n", finding_name(f), f->id);
			draw_wrapped(out, page, "  ", buf_span(&line));
		}
	}
	buf_release(&line);
	buf_release(&last);
}

/* ---- what holds components together ---- */

static void component_text(struct buf *out, const struct page *page, const struct verdict_component *c)
{
	enum { LISTED = 5 };
	uint32_t listed = c->removed_listed;
	struct buf line = BUF_INIT;

	if (!page->verbose && listed > LISTED)
		listed = LISTED;
	text_add_count(&line, c->transaction_count);
	buf_add_str(&line, " transactions depend on each other in cycles (");
	text_add_count(&line, c->finding_count);
	buf_printf(&line, " finding%s). ", c->finding_count == 1 ? "" : "s");
	if (c->quality == FEEDBACK_NONE) {
		buf_add_str(&line, "There are too many to say which dependencies hold them together.");
	} else {
		buf_printf(&line, "Without %s%u of their ", c->removed_count == 1 ? "this " : "these ", c->removed_count);
		text_add_count(&line, c->arrow_count);
		buf_printf(&line, " dependencies no cycle is left%s:",
			c->quality == FEEDBACK_SMALLEST ? ", and fewer would not do"
			: c->quality == FEEDBACK_MINIMAL ? ", and each of them is needed"
							 : "");
	}
	buf_add_char(out, '\n');
	draw_wrapped(out, page, "", buf_span(&line));
	for (uint32_t i = 0; i < listed; i++) {
		const struct finding_edge *edge = &c->removed[i];

		buf_clear(&line);
		buf_printf(&line, "%.*s → %.*s  %.*s  %.*s", SPAN_ARG(edge->from), SPAN_ARG(edge->to), SPAN_ARG(edge->kind),
			SPAN_ARG(edge->object));
		draw_wrapped(out, page, "  ", buf_span(&line));
	}
	if (listed < c->removed_count)
		buf_printf(out, "  and %u more\n", c->removed_count - listed);
	buf_release(&line);
}

/* The first alone, unless all is asked for: it has most of the findings. */
static void components_text(struct buf *out, const struct page *page, const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->component_count && (i == 0 || page->verbose); i++)
		component_text(out, page, &verdict->components[i]);
}

/* ---- the end ---- */

static void statement_text(struct buf *out, const struct page *page, const char *what,
	const struct finding_step *step)
{
	enum { SHOWN = 200 };
	struct buf line = BUF_INIT;

	buf_printf(&line, "%s: statement %u of session %u", what, (unsigned)step->number, (unsigned)step->session);
	if (step->text.ptr) {
		buf_add_str(&line, ": ");
		text_add(&line, step->text, SHOWN, TEXT_FOLD);
	}
	draw_wrapped(out, page, "    ", buf_span(&line));
	buf_release(&line);
}

/* A statement that was not decided, so that its writer can be asked, or its text changed; or that of the one
 * because of which it was not. */
static void example_text(
	struct buf *out, const struct page *page, const struct verdict_reason *reason)
{
	if (reason->has_example)
		statement_text(out, page, "the first", &reason->example);
	if (reason->has_culprit)
		statement_text(out, page, "made unknown by", &reason->culprit);
}

/* How much of the trace the verdict rests on. */
static void decided_text(struct buf *out, const struct verdict_context *context, const struct verdict *verdict)
{
	uint64_t open = verdict->undecided + verdict->unsupported;
	const char *unit = verdict->cluster_only ? "transaction" : context->statements ? "statement" : "operation";

	buf_add_char(out, '\n');
	if (!open) {
		buf_add_str(out, verdict->decided == 1 ? "" : "all ");
		text_add_count(out, verdict->decided);
		buf_printf(out, " %s%s decided\n", unit, verdict->decided == 1 ? "" : "s");
		return;
	}
	text_add_count(out, open);
	buf_add_str(out, " of ");
	text_add_count(out, open + verdict->decided);
	buf_printf(out, " %ss not decided", unit);
	if (verdict->unsupported) {
		buf_add_str(out, ", of which ");
		text_add_count(out, verdict->unsupported);
		buf_add_str(out, " are not modelled");
	}
	if (verdict->open_sessions) {
		buf_add_str(out, ", in ");
		text_add_count(out, verdict->open_sessions);
		buf_add_str(out, verdict->open_sessions == 1 ? " session" : " sessions");
	}
	buf_add_char(out, '\n');
}

static void doubted_text(struct buf *out, const struct page *page, uint64_t count)
{
	struct buf line = BUF_INIT;

	if (!count)
		return;
	text_add_counted(&line, count, "UPDATE", "UPDATEs");
	buf_add_str(&line, " that succeeded with warnings may have done so because of isorec's triggers: without them MariaDB in "
			   "strict mode may give error 1292 for what the condition converts.");
	draw_wrapped(out, page, "  ", buf_span(&line));
	buf_release(&line);
}

static void coverage_text(struct buf *out, const struct page *page,
	const struct verdict_context *context, const struct verdict *verdict)
{
	decided_text(out, context, verdict);
	for (size_t i = 0; i < verdict->reason_count; i++) {
		struct buf line = BUF_INIT;

		buf_printf(&line, "%s: ", verdict->reasons[i].name);
		text_add_count(&line, verdict->reasons[i].count);
		draw_wrapped(out, page, "  ", buf_span(&line));
		example_text(out, page, &verdict->reasons[i]);
		buf_release(&line);
	}
	if (verdict->note)
		buf_printf(out, "  %s\n", verdict->note);
	if (context->transactions == 0)
		buf_add_str(out, "  There are no transactions: nothing was checked.\n");
	else if (verdict_of_nothing(verdict))
		buf_add_str(out, "  No statement read or wrote rows of recorded tables: nothing was "
				 "checked.\n");
	if (context->damaged)
		buf_add_str(out, "  The trace is not complete; isotrace stats says where.\n");
	doubted_text(out, page, context->answers_doubted);
}

static void hint(struct buf *out, const struct page *page, const struct verdict_context *context,
	const char *command, const char *argument, const char *why)
{
	struct buf line = BUF_INIT;

	text_add_shell_word(&line, output_called_as());
	buf_printf(&line, " %s ", command);
	if (strcmp(context->format, "trace") != 0)
		buf_printf(&line, "--from=%s ", context->format);
	if (strcmp(command, "stats") != 0 && strcmp(command, "show") != 0)
		buf_add_str(&line, context->asked ? context->asked : "");
	else if (context->salvaged)
		buf_add_str(&line, "--salvage ");
	if (context->input[0] == '-')
		buf_add_str(&line, "./");
	text_add_shell_word(&line, context->input);
	buf_add_str(&line, argument);
	buf_add_str(out, "  ");
	text_add(out, buf_span(&line), 400, TEXT_PLAIN);
	buf_add_char(out, '\n');
	draw_wrapped(out, page, "      ", span_str(why));
	buf_release(&line);
}

/* What the reader may want to do next. */
static void hints_text(struct buf *out, const struct page *page,
	const struct verdict_context *context, const struct verdict *verdict)
{
	bool trace = strcmp(context->format, "trace") == 0;
	const struct verdict_reason *example = NULL;
	char id[32];

	if (strcmp(context->input, "-") == 0)
		return; /* it cannot be read again */
	for (size_t i = 0; i < verdict->reason_count && !example; i++)
		if (verdict->reasons[i].has_example)
			example = &verdict->reasons[i];
	if (!verdict->finding_count && !example && !context->damaged)
		return;
	buf_add_str(out, "\nnext:\n");
	if (verdict->finding_count && trace) {
		snprintf(id, sizeof(id), " %s", verdict->findings[0].id);
		hint(out, page, context, "explain", id, "this finding in full, with what all did");
	}
	if (verdict->finding_count)
		hint(out, page, context, "report", " -o report.html",
			"all findings, drawn, for the browser");
	if (trace && context->damaged)
		hint(out, page, context, "stats", "", "what was recorded, and what is missing");
	if (example && trace) {
		char session[32];

		snprintf(session, sizeof(session), " --session=%u",
			(unsigned)example->example.session);
		hint(out, page, context, "show", session,
			"the session of the first statement that was not decided");
	}
	if (verdict->finding_count > 1 && !page->verbose)
		hint(out, page, context, "check", " --verbose", "every witness, not only the first");
}

/* Every finding about the code, and of the others the first. */
static void application_text(struct buf *out, const struct page *page, const struct verdict *verdict)
{
	bool drawn = false;

	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];

		if (f->pattern)
			draw_pattern(out, page, f);
		else if (!drawn || page->verbose)
			draw_finding(out, page, f);
		drawn |= !f->pattern;
	}
	for (size_t i = 0; i < verdict->harmless_count; i++) {
		struct buf line = BUF_INIT;

		buf_add_str(out, i ? "" : "\nharmless:\n");
		text_add_counted(&line, verdict->harmless[i].pairs, "pair of transactions", "pairs of transactions");
		buf_printf(&line, ": %s", verdict->harmless[i].why);
		draw_wrapped(out, page, "  ", buf_span(&line));
		buf_release(&line);
	}
	if (verdict->not_followed) {
		struct buf line = BUF_INIT;

		text_add_counted(&line, verdict->not_followed, "reading statement is", "reading statements are");
		buf_add_str(&line, " not followed: joins, subqueries or LIMIT, and an answer without the primary keys. What the code "
				   "does with these is not known (isorec prepare and --instrument=trigger tell more).");
		buf_add_char(out, '\n');
		draw_wrapped(out, page, "", buf_span(&line));
		buf_release(&line);
	}
}

void verdict_text(struct buf *out, const struct page *page, const struct verdict_context *context,
	const struct verdict *verdict)
{
	head_text(out, page, context, verdict);
	if (context->level)
		buf_printf(out, "level:     %s %s\n", context->level,
			level_answer_name(verdict_answer(verdict, context->level)));
	promises_text(out, page, context, verdict);
	/* Levels are about servers. */
	if (verdict->for_application) {
		findings_text(out, page, verdict);
		application_text(out, page, verdict);
		coverage_text(out, page, context, verdict);
		hints_text(out, page, context, verdict);
		return;
	}
	/* Of nothing everything holds, which is of no use. */
	if (context->transactions)
		levels_text(
			out, page, verdict, LEVEL_HOLDS, "holds:    ", ", and what these imply");
	levels_text(out, page, verdict, LEVEL_FAILS, "fails:    ", ", and what implies these");
	levels_text(out, page, verdict, LEVEL_UNDECIDED, "undecided:", NULL);
	findings_text(out, page, verdict);
	for (size_t i = 0; i < verdict->finding_count; i++)
		if (i == 0 || page->verbose || (verdict->findings[i].place && i < CLUSTER_DRAWN_MAX))
			draw_finding(out, page, &verdict->findings[i]);
	components_text(out, page, verdict);
	if (!page->verbose)
		known_text(out, page, verdict);
	coverage_text(out, page, context, verdict);
	hints_text(out, page, context, verdict);
}
