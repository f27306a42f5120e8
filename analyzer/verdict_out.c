/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verdict_out.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "values/levels.h"

static enum level_answer answer_of(const struct verdict *verdict, const char *level)
{
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (strcmp(verdict->levels[i].name, level) == 0)
			return verdict->levels[i].answer;
	}
	return LEVEL_UNDECIDED;
}

static uint64_t findings_that_count(const struct verdict *verdict, enum fail_on fail_on)
{
	uint64_t count = 0;

	switch (fail_on) {
	case FAIL_ON_DOCUMENTED:
		count += verdict_count(verdict, SEVERITY_DOCUMENTED);
		/* fall through */
	case FAIL_ON_SUSPICION:
		count += verdict_count(verdict, SEVERITY_SUSPICION);
		/* fall through */
	case FAIL_ON_VIOLATION:
		count += verdict_count(verdict, SEVERITY_VIOLATION);
		break;
	case FAIL_ON_NONE:
		break;
	}
	return count;
}

void verdict_conclude(struct verdict_context *context, const struct verdict *verdict)
{
	bool fails = findings_that_count(verdict, context->fail_on) > 0, open = context->damaged;

	/* A contract says which levels matter, and its findings say whether they hold. */
	for (size_t i = 0; !verdict->contract && !context->level && i < verdict->level_count; i++) {
		fails |= verdict->levels[i].answer == LEVEL_FAILS;
		open |= verdict->levels[i].answer == LEVEL_UNDECIDED;
	}
	if (context->level) {
		fails |= answer_of(verdict, context->level) == LEVEL_FAILS;
		open |= answer_of(verdict, context->level) == LEVEL_UNDECIDED;
	} else {
		open |= verdict->undecided > 0;
	}
	open |= verdict->unsupported > 0;
	/* What holds of nothing says nothing of a server. */
	open |= context->transactions == 0;
	context->conclusion = fails ? "violated" : open ? "incomplete" : "ok";
	context->status = fails  ? EXIT_STATUS_VIOLATION
			  : open ? EXIT_STATUS_INCOMPLETE
				 : EXIT_STATUS_OK;
}

/* ---- text ---- */

enum ink { INK_BAD, INK_GOOD, INK_WARN, INK_BOLD };

static void add_inked(
	struct buf *out, const struct verdict_context *context, enum ink ink, const char *text)
{
	static const char *const codes[] = {"\033[31;1m", "\033[32;1m", "\033[33m", "\033[1m"};

	if (context->color)
		buf_add_str(out, codes[ink]);
	buf_add_str(out, text);
	if (context->color)
		buf_add_str(out, "\033[0m");
}

static enum ink ink_of(const struct verdict_context *context)
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

static void clean(struct buf *out, struct span s)
{
	text_add(out, s, 400, TEXT_FOLD);
}

static void wrapped(struct buf *out, struct span text, const char *indent)
{
	struct buf line = BUF_INIT;
	struct span rest, part;

	text_add(&line, text, 4000, TEXT_FOLD);
	rest = buf_span(&line);
	while (rest.len) {
		part = text_wrap(rest, 92, &rest);
		buf_printf(out, "%s%.*s\n", indent, SPAN_ARG(part));
	}
	buf_release(&line);
}

/* Of those that hold the strongest, of those that fail the weakest: the rest follows. */
static void levels_text(struct buf *out, const struct verdict *verdict, enum level_answer answer,
	const char *heading, const char *rest)
{
	bool any = false, left = false;

	for (size_t i = 0; i < verdict->level_count; i++) {
		if (verdict->levels[i].answer != answer)
			continue;
		if (rest && !level_is_extreme(verdict, i)) {
			left = true;
			continue;
		}
		buf_printf(out, "%s %s", any ? "," : heading, verdict->levels[i].name);
		any = true;
	}
	if (any)
		buf_printf(out, "%s\n", left ? rest : "");
}

static void extremes_json(
	struct json *json, const struct verdict *verdict, enum level_answer answer, const char *key)
{
	json_key(json, key);
	json_begin_array(json);
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (verdict->levels[i].answer == answer && level_is_extreme(verdict, i))
			json_string(json, span_str(verdict->levels[i].name));
	}
	json_end_array(json);
}

static void finding_text(
	struct buf *out, const struct verdict_context *context, const struct finding *finding)
{
	buf_add_char(out, '\n');
	add_inked(out, context, INK_BOLD, finding->class_name);
	buf_add_str(out, "  (");
	add_inked(out, context, finding->severity == SEVERITY_VIOLATION ? INK_BAD : INK_WARN,
		severity_name(finding->severity));
	if (finding->rule)
		buf_printf(out, ": %s", finding->rule);
	if (finding->level)
		buf_printf(out, ", %s %s", strncmp(finding->level, "PL", 2) ? "at" : "against",
			finding->level);
	buf_printf(out, ", %s)", finding->id);
	if (finding->also)
		buf_printf(out, "  a %s", finding->also);
	if (finding->similar) {
		buf_add_str(out, "  and ");
		text_add_count(out, finding->similar);
		buf_add_str(out, " more of this class");
	}
	buf_add_char(out, '\n');
	if (finding->edge_count == 0)
		wrapped(out, finding->explanation, "  ");
	for (uint32_t i = 0; i < finding->edge_count; i++) {
		const struct finding_edge *edge = &finding->edges[i];
		struct buf sentence = BUF_INIT;

		buf_add_str(out, "  ");
		clean(out, edge->from);
		buf_add_str(out, " -> ");
		clean(out, edge->to);
		buf_printf(out, "  %.*s\n", SPAN_ARG(edge->kind));
		buf_add_span(&sentence, edge->sentence);
		buf_add_char(&sentence, '.');
		wrapped(out, buf_span(&sentence), "      ");
		buf_release(&sentence);
	}
	if (finding->remark.len)
		wrapped(out, finding->remark, "  ");
}

/* Class and severity with how many there are: findings are sorted, so equal ones are neighbours. */
static void summary_text(struct buf *out, const struct verdict *verdict)
{
	buf_add_str(out, "found:    ");
	for (size_t i = 0; i < verdict->finding_count;) {
		const struct finding *first = &verdict->findings[i];
		uint64_t count = 0;
		bool begins = i == 0;

		for (; i < verdict->finding_count; i++) {
			const struct finding *f = &verdict->findings[i];

			if (f->severity != first->severity ||
				strcmp(f->class_name, first->class_name) != 0)
				break;
			count += 1 + f->similar;
		}
		buf_add_str(out, begins ? " " : ", ");
		text_add_count(out, count);
		buf_printf(out, " %s (%s)", first->class_name, severity_name(first->severity));
	}
	buf_add_str(out, verdict->finding_count ? "\n" : " nothing\n");
}

void verdict_text(
	struct buf *out, const struct verdict_context *context, const struct verdict *verdict)
{
	clean(out, span_str(context->input));
	buf_add_str(out, ": ");
	text_add_count(out, context->transactions);
	buf_add_str(out, " transactions, ");
	text_add_count(out, context->operations);
	buf_add_str(out, " operations: ");
	add_inked(out, context, ink_of(context), context->conclusion);
	buf_add_char(out, '\n');
	if (verdict->contract)
		buf_printf(out, "contract:  %s\n", verdict->contract);
	if (context->server.ptr) {
		buf_add_str(out, "server:    ");
		clean(out, context->server);
		buf_add_char(out, '\n');
	}
	if (context->level)
		buf_printf(out, "asked: %s %s\n", context->level,
			level_answer_name(answer_of(verdict, context->level)));
	levels_text(out, verdict, LEVEL_HOLDS, "holds:    ", ", and what these imply");
	levels_text(out, verdict, LEVEL_FAILS, "fails:    ", ", and what implies these");
	levels_text(out, verdict, LEVEL_UNDECIDED, "undecided:", NULL);
	summary_text(out, verdict);
	for (size_t i = 0; i < verdict->finding_count; i++)
		finding_text(out, context, &verdict->findings[i]);
	buf_add_str(out, "\ndecided ");
	text_add_count(out, verdict->decided);
	buf_add_str(out, ", undecided ");
	text_add_count(out, verdict->undecided);
	buf_add_str(out, ", unsupported ");
	text_add_count(out, verdict->unsupported);
	buf_add_char(out, '\n');
	for (size_t i = 0; i < verdict->reason_count; i++) {
		buf_printf(out, "  %s: ", verdict->reasons[i].name);
		text_add_count(out, verdict->reasons[i].count);
		buf_add_char(out, '\n');
	}
	if (context->transactions == 0)
		buf_add_str(out, "  There are no transactions: nothing was checked.\n");
	if (context->damaged)
		buf_add_str(out, "  The trace is not complete; isotrace stats says where.\n");
}

/* ---- JSON ---- */

static void string_json(struct json *json, const char *key, struct span value)
{
	json_key(json, key);
	json_string(json, value);
}

static void uint_json(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

static void edge_json(struct json *json, const struct finding_edge *edge)
{
	json_begin_object(json);
	string_json(json, "from", edge->from);
	string_json(json, "to", edge->to);
	string_json(json, "kind", edge->kind);
	string_json(json, "object", edge->object);
	string_json(json, "from_version", edge->from_version);
	string_json(json, "to_version", edge->to_version);
	string_json(json, "explanation", edge->sentence);
	json_end_object(json);
}

static void step_json(struct json *json, const struct finding_step *step)
{
	json_begin_object(json);
	string_json(json, "transaction", step->transaction);
	uint_json(json, "session", step->session);
	uint_json(json, "statement", step->number);
	uint_json(json, "begin_ns", step->begin_ns);
	uint_json(json, "end_ns", step->end_ns);
	string_json(json, "sql", step->text);
	if (step->error)
		uint_json(json, "error", step->error);
	string_json(json, "what", step->what);
	json_end_object(json);
}

/* What a stranger needs: the statements in order, and the versions of the rows concerned. */
static void witness_json(struct json *json, const struct finding *finding)
{
	json_key(json, "witness");
	json_begin_object(json);
	json_key(json, "statements");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->step_count; i++)
		step_json(json, &finding->steps[i]);
	json_end_array(json);
	json_key(json, "rows");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->row_count; i++) {
		json_begin_object(json);
		string_json(json, "object", finding->rows[i].object);
		string_json(json, "versions",
			finding->rows[i].exact.ptr ? finding->rows[i].exact
						   : finding->rows[i].chain);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static void finding_json(struct json *json, const struct finding *finding)
{
	json_begin_object(json);
	string_json(json, "id", span_str(finding->id));
	string_json(json, "class", span_str(finding->class_name));
	string_json(json, "severity", span_str(severity_name(finding->severity)));
	string_json(json, "oracle", span_str(finding->oracle));
	string_json(json, "level", span_str(finding->level));
	if (finding->rule)
		string_json(json, "rule", span_str(finding->rule));
	json_key(json, "known");
	json_begin_array(json);
	json_end_array(json);
	json_key(json, "transactions");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->transaction_count; i++)
		json_string(json, finding->transactions[i]);
	json_end_array(json);
	json_key(json, "edges");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->edge_count; i++)
		edge_json(json, &finding->edges[i]);
	json_end_array(json);
	witness_json(json, finding);
	string_json(json, "explanation", finding->explanation);
	if (finding->remark.len)
		string_json(json, "remark", finding->remark);
	string_json(json, "also", span_str(finding->also));
	uint_json(json, "similar", finding->similar);
	json_end_object(json);
}

void verdict_json(
	struct json *json, const struct verdict_context *context, const struct verdict *verdict)
{
	json_begin_object(json);
	string_json(json, "schema", SPAN_LIT("isotrace.check/1"));
	json_key(json, "input");
	json_begin_object(json);
	string_json(json, "path", span_str(context->input));
	string_json(json, "format", span_str(context->format));
	uint_json(json, "transactions", context->transactions);
	uint_json(json, "operations", context->operations);
	if (context->sessions) {
		uint_json(json, "sessions", context->sessions);
		uint_json(json, "committed", context->committed);
		uint_json(json, "objects", context->objects);
		string_json(json, "server", context->server);
	}
	json_key(json, "complete");
	json_bool(json, !context->damaged);
	json_end_object(json);
	string_json(json, "contract", span_str(verdict->contract));
	string_json(json, "level", span_str(context->level));
	string_json(json, "verdict", span_str(context->conclusion));
	json_key(json, "levels");
	json_begin_object(json);
	for (size_t i = 0; i < verdict->level_count; i++)
		string_json(json, verdict->levels[i].name,
			span_str(level_answer_name(verdict->levels[i].answer)));
	json_end_object(json);
	extremes_json(json, verdict, LEVEL_HOLDS, "strongest_holding");
	extremes_json(json, verdict, LEVEL_FAILS, "weakest_failing");
	json_key(json, "findings");
	json_begin_array(json);
	for (size_t i = 0; i < verdict->finding_count; i++)
		finding_json(json, &verdict->findings[i]);
	json_end_array(json);
	json_key(json, "coverage");
	json_begin_object(json);
	uint_json(json, "decided", verdict->decided);
	uint_json(json, "undecided", verdict->undecided);
	uint_json(json, "unsupported", verdict->unsupported);
	json_key(json, "reasons");
	json_begin_object(json);
	for (size_t i = 0; i < verdict->reason_count; i++)
		uint_json(json, verdict->reasons[i].name, verdict->reasons[i].count);
	json_end_object(json);
	json_end_object(json);
	json_end_object(json);
}

/* ---- JUnit ---- */

void verdict_junit(
	struct buf *out, const struct verdict_context *context, const struct verdict *verdict)
{
	uint64_t failures = verdict_count(verdict, SEVERITY_VIOLATION);
	bool failed = context->status == EXIT_STATUS_VIOLATION;
	bool incomplete = context->status == EXIT_STATUS_INCOMPLETE;

	buf_add_str(out, "  <testsuite name=\"");
	text_add_xml(out, span_str(context->input));
	buf_printf(out, "\" tests=\"%llu\" failures=\"%llu\" errors=\"%d\">\n",
		(unsigned long long)(failures ? failures : 1),
		(unsigned long long)(failures ? failures : failed), !failures && incomplete);
	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];

		if (f->severity != SEVERITY_VIOLATION)
			continue;
		buf_printf(out,
			"    <testcase classname=\"%s\" name=\"%s %s\">\n      <failure "
			"message=\"%s\">",
			f->oracle, f->class_name, f->id, f->class_name);
		text_add_xml(out, f->explanation);
		buf_add_str(out, "</failure>\n    </testcase>\n");
	}
	if (!failures) {
		buf_add_str(out, "    <testcase classname=\"check\" name=\"levels\">");
		if (failed)
			buf_add_str(out, "<failure message=\"a level fails\"/>");
		if (incomplete)
			buf_printf(out, "<error message=\"%llu undecided, %llu unsupported%s\"/>",
				(unsigned long long)verdict->undecided,
				(unsigned long long)verdict->unsupported,
				context->damaged ? ", trace incomplete" : "");
		buf_add_str(out, "</testcase>\n");
	}
	buf_add_str(out, "  </testsuite>\n");
}
