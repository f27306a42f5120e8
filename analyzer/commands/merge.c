/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace merge: the shares that several machines judged, as one verdict. */
#include <inttypes.h>

#include "base/output.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/output_path.h"
#include "out/text_table.h"
#include "report/merge_shares.h"

static const char *const format_words[] = {"text", "ndjson", NULL};
enum { MERGE_TEXT, MERGE_NDJSON };

struct merge_options {
	int format;
	const char *output;
};

enum { NAMES_SHOWN = 10 };

/* Those that a word is true of, the first ones by name. */
static void print_some(const struct merged *m, const char *what, bool (*is)(const struct merged_history *), struct buf *out)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < m->history_count; i++) {
		const struct merged_history *h = &m->histories[i];

		if (!is(h))
			continue;
		if (count == 0)
			buf_printf(out, "\n%s:\n", what);
		if (count++ >= NAMES_SHOWN)
			continue;
		buf_add_str(out, "  ");
		text_add(out, h->input, 150, TEXT_FOLD);
		buf_add_char(out, '\n');
	}
	if (count > NAMES_SHOWN)
		buf_printf(out, "  and %" PRIu64 " more\n", count - NAMES_SHOWN);
}

static bool is_violated(const struct merged_history *h)
{
	return h->verdict.ptr && h->status == EXIT_STATUS_VIOLATION;
}

static bool is_incomplete(const struct merged_history *h)
{
	return h->verdict.ptr && h->status == EXIT_STATUS_INCOMPLETE;
}

static bool is_failed(const struct merged_history *h)
{
	return h->failed;
}

static bool is_ok(const struct merged_history *h)
{
	return h->verdict.ptr && h->status == EXIT_STATUS_OK;
}

static uint64_t count_of(const struct merged *m, bool (*is)(const struct merged_history *))
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < m->history_count; i++)
		count += is(&m->histories[i]);
	return count;
}

static void print_findings(const struct merged *m, struct buf *out)
{
	struct table table;

	if (!m->finding_count)
		return;
	buf_add_char(out, '\n');
	table_begin(&table, "llrrll", "finding|severity|count|histories|known|first in");
	for (size_t i = 0; i < m->finding_count; i++) {
		const struct merged_finding *f = &m->findings[i];

		table_text(&table, f->class);
		table_text(&table, f->severity);
		table_count(&table, f->count);
		table_count(&table, f->histories);
		table_text(&table, f->known);
		table_text(&table, f->first);
	}
	table_end(&table, out);
}

static void print_text(const struct merged *m, struct buf *out)
{
	static bool (*const kinds[])(const struct merged_history *) = {is_ok, is_violated, is_incomplete, is_failed};
	static const char *const words[] = {"ok", "violated", "incomplete", "could not be judged"};
	bool first = true;

	text_add_counted(out, m->history_count, "history", "histories");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		uint64_t count = count_of(m, kinds[i]);

		if (!count)
			continue;
		buf_printf(out, "%s%" PRIu64 " %s", first ? ": " : ", ", count, words[i]);
		first = false;
	}
	if (m->missing)
		buf_printf(out, "%s%" PRIu64 " not judged", first ? ": " : ", ", m->missing);
	buf_add_char(out, '\n');
	print_findings(m, out);
	print_some(m, "violated", is_violated, out);
	print_some(m, "incomplete", is_incomplete, out);
	print_some(m, "could not be judged", is_failed, out);
}

/* What is not there is said on standard error, whatever the output is. */
static void say_missing(const struct merged *m)
{
	struct buf list = BUF_INIT;

	for (uint32_t i = 0; i < m->of && list.len < 200; i++)
		if (!m->ended[i])
			buf_printf(&list, "%s%u%s", list.len ? ", " : "", (unsigned)i + 1, m->seen[i] ? " (cut short)" : "");
	if (list.len)
		output_message("of %u shares these are missing: %s: judge them again, and merge again", (unsigned)m->of, list.data);
	else if (m->missing)
		output_message("%" PRIu64 " histories were not judged: a worker was interrupted", m->missing);
	buf_release(&list);
}

static enum exit_status merge(const struct command *command, const struct merge_options *o, char **paths, int count)
{
	struct merged m;
	struct buf out = BUF_INIT;
	enum exit_status status;
	struct err err;
	bool ok = true;

	merged_init(&m);
	for (int i = 0; i < count && ok; i++)
		ok = merged_add(&m, paths[i], &err);
	if (!ok) {
		merged_release(&m);
		return command_failed(command, &err);
	}
	merged_conclude(&m);
	if (o->format == MERGE_TEXT)
		print_text(&m, &out);
	else
		merged_ndjson(&m, &out);
	(void)!output_write(&out);
	say_missing(&m);
	status = m.status;
	buf_release(&out);
	merged_release(&m);
	return status;
}

static enum exit_status merge_run(const struct command *command, int argc, char **argv)
{
	struct merge_options options = {.format = MERGE_TEXT};
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (!count)
		return command_misused(command, "which shares?");
	if (!target_open(options.output, (const char *const *)args, (size_t)count, &err))
		return command_failed(command, &err);
	return merge(command, &options, args, count);
}

static const struct option_def merge_table[] = {
	FORMAT_OPTION(struct merge_options, format_words, "text for people, or ndjson: a share that is merged with others, or read by programs"),
	TARGET_OPTION(struct merge_options, output),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"check --shard=2/7 --format=ndjson runs/*.itr -o 2.ndjson", "on the second of seven machines"},
	{"merge ?.ndjson", "all of them; the exit status is the worst"},
	{"merge --format=ndjson 1.ndjson 2.ndjson -o some.ndjson", "some of them, to be merged with the others"},
	{NULL, NULL},
};

const struct command merge_command = {
	.name = "merge",
	.summary = "puts together what several machines judged",
	.arguments = "SHARE...",
	.description =
		"Puts together what isotrace check --shard=I/N --format=ndjson wrote on several machines, in any\n"
		"order. The result does not depend on how many shares there were. A share that is missing, or whose\n"
		"machine died, is said, and the result is then incomplete, never ok.",
	.options = merge_table,
	.examples = examples,
	.run = merge_run,
	.files = true,
};
