/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isotrace explain: one finding in full, for a reader that has to be convinced: what was promised,
 * the transactions, what each statement of the witness saw, why that is a contradiction, the
 * versions of the rows concerned, and everything these transactions did.
 */
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "commands/commands.h"
#include "report/judge_trace.h"

struct explain_options {
	struct judge_options judge;
	bool brief;
	struct output_options output;
};

enum { ID_PREFIX_MIN = 4, WIDTH = 96 };

/* The finding whose id begins so; *several is true when more than one does. */
static const struct finding *find(const struct verdict *verdict, const char *id, bool *several)
{
	const struct finding *found = NULL;

	*several = false;
	for (size_t i = 0; i < verdict->finding_count; i++) {
		if (strncmp(verdict->findings[i].id, id, strlen(id)) != 0)
			continue;
		*several = found != NULL;
		found = &verdict->findings[i];
	}
	return found;
}

static void heading(struct buf *out, bool color, const char *text)
{
	buf_printf(out, color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* A paragraph, with another indent for its first line. */
static void paragraph(struct buf *out, const char *first, const char *indent, struct span text)
{
	struct buf line = BUF_INIT;
	struct span rest;
	bool begun = false;

	text_add(&line, text, 16000, TEXT_FOLD);
	rest = buf_span(&line);
	while (rest.len) {
		struct span part = text_wrap(rest, WIDTH - strlen(indent), &rest);

		buf_printf(out, "%s%.*s\n", begun ? indent : first, SPAN_ARG(part));
		begun = true;
	}
	buf_release(&line);
}

static const struct history_txn *txn_named(const struct history *history, struct span name)
{
	uint64_t number;

	if (!txn_number(name, &number))
		return NULL;
	for (uint32_t t = 0; t < history->txn_count; t++) {
		if (history->txns[t].number == number)
			return &history->txns[t];
	}
	return NULL;
}

static void transactions_text(
	struct buf *out, const struct history *history, const struct finding *finding)
{
	static const char *const outcomes[] = {"of unknown outcome", "committed", "rolled back"};
	struct span txns[FINDING_CONCERNED_MAX];
	uint32_t count = finding_concerned(finding, txns);

	for (uint32_t i = 0; i < count; i++) {
		const struct history_txn *t = txn_named(history, txns[i]);

		buf_printf(out, "  %.*s", SPAN_ARG(txns[i]));
		if (t) {
			buf_printf(out, "  session %u, %s, %s",
				history->sessions[t->session].number, txn_level_name(t->level),
				outcomes[t->outcome]);
			if (t->begin_ns && t->end_ns > t->begin_ns)
				buf_printf(out, " after %.3f ms",
					(double)(t->end_ns - t->begin_ns) / 1e6);
			if (t->gtid) {
				buf_add_str(out, ", GTID ");
				text_add(
					out, strtab_get(&history->strings, t->gtid), 80, TEXT_FOLD);
			}
		}
		buf_add_char(out, '\n');
	}
}

static void steps_text(struct buf *out, const struct finding *finding)
{
	uint64_t start = UINT64_MAX;

	for (uint32_t i = 0; i < finding->step_count; i++) {
		if (finding->steps[i].begin_ns && finding->steps[i].begin_ns < start)
			start = finding->steps[i].begin_ns;
	}
	for (uint32_t i = 0; i < finding->step_count; i++) {
		const struct finding_step *step = &finding->steps[i];

		if (step->begin_ns)
			buf_printf(out, "  %10.3f ms  ", (double)(step->begin_ns - start) / 1e6);
		else
			buf_add_str(out, "              ?  ");
		buf_printf(out, "%.*s, session %u", SPAN_ARG(step->transaction), step->session);
		if (step->number)
			buf_printf(out, ", statement %u", step->number);
		buf_add_char(out, '\n');
		if (step->text.ptr)
			paragraph(out, "                 ", "                 ", step->text);
		if (step->error)
			buf_printf(out, "                 => error %u\n", step->error);
		paragraph(out, "                 -- ", "                    ", step->what);
	}
}

static void promise_text(struct buf *out, const struct judged *judged, const struct finding *f)
{
	const char *level = f->level ? f->level : "no level";

	if (f->pattern) {
		buf_printf(out, "  By the contract %s %s may let this happen: it is for the application to prevent it.\n",
			judged->contract.name, level);
		return;
	}
	if (f->class == CLASS_WRONG_SQL) {
		buf_add_str(out, "  Right answers. No level is in question: alone, too, the statement would be wrong.\n");
		return;
	}
	buf_printf(out, "  By the contract %s ", judged->contract.name);
	switch (f->severity) {
	case SEVERITY_APPLICATION:
		return;
	case SEVERITY_VIOLATION:
		buf_printf(out, "%s may %slet this happen.\n", level, f->level ? "not " : "");
		return;
	case SEVERITY_DOCUMENTED:
		if (f->rule == contract_not_promised)
			buf_printf(out, "%s does not promise that this cannot happen.\n", level);
		else
			buf_printf(out, "this may happen at %s: %s.\n", level,
				f->rule ? f->rule : "the engine's manual says so");
		return;
	case SEVERITY_SUSPICION:
		buf_printf(out, "%s should %slet this happen; it is not proven here.\n", level,
			f->level ? "not " : "");
		return;
	case SEVERITY_COMPAT:
		buf_add_str(out, "both answers are allowed.\n");
		return;
	}
}

static void finding_full(
	struct buf *out, const struct judged *judged, const struct finding *f, bool color)
{
	struct buf known = BUF_INIT;

	buf_printf(out, color ? "\033[1m%s\033[0m" : "%s", finding_name(f));
	buf_printf(out, "  %s  (%s, found by %s%s%s)\n", f->id, severity_name(f->severity),
		finding_oracle_name(f->oracle), f->variant ? "; a " : "",
		f->variant ? finding_variant_name(f->variant) : "");
	if (judged->context.server.ptr)
		paragraph(out, "  server ", "  ", judged->context.server);
	heading(out, color, "What was promised");
	promise_text(out, judged, f);
	heading(out, color, "The transactions");
	transactions_text(out, &judged->history, f);
	if (f->step_count) {
		heading(out, color, "What happened");
		steps_text(out, f);
	}
	heading(out, color,
		f->severity != SEVERITY_DOCUMENTED ? "Why that cannot be"
		: f->edge_count                    ? "Why no serial order explains it"
						   : "What is unusual about it");
	for (uint32_t i = 0; i < f->edge_count; i++) {
		const struct finding_edge *edge = &f->edges[i];

		buf_add_str(out, "  ");
		text_add(out, edge->from, 80, TEXT_FOLD);
		buf_add_str(out, " -> ");
		text_add(out, edge->to, 80, TEXT_FOLD);
		buf_printf(out, "  %.*s\n", SPAN_ARG(edge->kind));
		paragraph(out, "      ", "      ", edge->sentence);
	}
	if (f->edge_count)
		buf_printf(out, "  Each of these must come before the next, and the last before "
				"the first.\n");
	else
		paragraph(out, "  ", "  ", f->explanation);
	if (f->remark.len)
		paragraph(out, "  ", "  ", f->remark);
	for (uint32_t at = 0; known_next(f, &at, &known);)
		paragraph(out, "  ", "  ", buf_span(&known));
	buf_release(&known);
	if (f->row_count)
		heading(out, color, "The versions of the rows concerned");
	for (uint32_t i = 0; i < f->row_count; i++) {
		struct buf line = BUF_INIT;

		buf_printf(&line, "%.*s: %.*s", SPAN_ARG(f->rows[i].object),
			SPAN_ARG(f->rows[i].chain));
		paragraph(out, "  ", "      ", buf_span(&line));
		buf_release(&line);
	}
}

/* Everything these transactions did, as isotrace show has it. */
static enum exit_status show_all(
	const struct finding *f, const char *path, bool color, bool salvage)
{
	struct span txns[FINDING_CONCERNED_MAX];
	uint32_t count = finding_concerned(f, txns);
	struct buf numbers = BUF_INIT;
	enum exit_status status;
	char file[4096];

	buf_add_str(&numbers, "--txn=");
	for (uint32_t i = 0; i < count; i++)
		buf_printf(&numbers, "%s%.*s", i ? "," : "", (int)(txns[i].len - 1), txns[i].ptr + 1);
	snprintf(file, sizeof(file), "%s", path);
	status = show_command.run(&show_command, salvage ? 6 : 5,
		(char *[]){(char *)(uintptr_t) "show", numbers.data,
			(char *)(uintptr_t)(color ? "--color=always" : "--color=never"),
			(char *)(uintptr_t)(salvage ? "--salvage" : "--"),
			salvage ? (char *)(uintptr_t) "--" : file, salvage ? file : NULL, NULL});
	buf_release(&numbers);
	return status;
}

static bool names_transactions(const struct finding *f)
{
	struct span txns[FINDING_CONCERNED_MAX];
	uint32_t count = finding_concerned(f, txns);
	uint64_t number;

	for (uint32_t i = 0; i < count; i++) {
		if (!txn_number(txns[i], &number))
			return false;
	}
	return count > 0;
}

static enum exit_status explain(const struct command *command,
	const struct explain_options *options, const char *path, const char *id)
{
	bool color = output_color((enum output_when)options->output.color), several;
	enum exit_status status = EXIT_STATUS_OK;
	const struct finding *f;
	struct buf out = BUF_INIT;
	struct judged judged;
	struct err err;

	err_clear(&err);
	if (!judge_trace(&judged, path, &options->judge, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	f = find(&judged.verdict, id, &several);
	if (!f || several) {
		status = command_misused(command,
			several ? "several findings begin with %s: give more of its digits"
				: "there is no finding %s; isotrace check lists them (with the "
				  "same "
				  "options, and --examples for more)",
			id);
	} else {
		finding_full(&out, &judged, f, color);
		if (!options->brief && names_transactions(f))
			heading(&out, color, "Everything these transactions did");
		if (!output_write(&out))
			status = EXIT_STATUS_INPUT;
		else if (!options->brief && names_transactions(f))
			(void)show_all(f, path, color, options->judge.salvage);
	}
	buf_release(&out);
	judged_release(&judged);
	return status;
}

static enum exit_status explain_run(const struct command *command, int argc, char **argv)
{
	struct explain_options options = {.judge.examples = 100};
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count != 2)
		return command_misused(command, "a trace and the id of a finding are needed");
	if (strcmp(args[0], "-") == 0)
		return command_misused(command, "the trace must be a file: it is read twice");
	if (strlen(args[1]) < ID_PREFIX_MIN)
		return command_misused(
			command, "%s: give at least %d digits of the id", args[1], ID_PREFIX_MIN);
	options.judge.progress = (enum output_when)options.output.progress;
	return explain(command, &options, args[0], args[1]);
}

static const struct option_def explain_table[] = {
	OPTION_HEADING("Judgement, as for isotrace check"),
	JUDGE_OPTIONS(struct explain_options, judge),
	OPTION_HEADING("Output"),
	{.name = "brief",
		.letter = 'b',
		OPTION_FLAG(struct explain_options, brief),
		.help = "without the timeline of the transactions"},
	OUTPUT_OPTIONS(struct explain_options, output),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"explain run.itr 067461c40cdbdc25", "the finding that isotrace check listed with this id"},
	{"explain run.itr 0674 --brief", "the first digits are enough, without the timeline"},
	{NULL, NULL},
};

const struct command explain_command = {
	.name = "explain",
	.summary = "explains one finding of a trace in full",
	.arguments = "TRACE ID",
	.description =
		"Judges the trace as isotrace check does and explains one finding to a reader that\n"
		"has to be convinced: what was promised, what each statement saw, why that is a\n"
		"contradiction, the versions of the rows, and everything the transactions did.",
	.options = explain_table,
	.examples = examples,
	.run = explain_run,
	.files = true,
};
