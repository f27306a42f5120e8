/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec corpus`: executes every scenario of the corpus at every level on a server, records each,
 * and compares with what is expected of that release. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/text.h"
#include "commands/connection_options.h"
#include "commands/private_server.h"
#include "commands/recorder_commands.h"
#include "commands/run_options.h"
#include "common/known/known_bugs.h"
#include "common/known/violations.h"

struct corpus_command_options {
	struct connection_options connection;
	const char *server, *corpus, *output, *isolation, *database, *match;
	struct option_strings nodes;
	bool overwrite, quiet, instrument;
};

enum cell_state { CELL_NONE, CELL_AS_EXPECTED, CELL_UNEXPECTED, CELL_UNSAID, CELL_FAILED };

struct cell {
	enum cell_state state;
	struct buf text;
};

struct row {
	char *id;
	struct cell cells[RUNS_LEVELS_MAX];
};

struct corpus_runs {
	const struct corpus_command_options *options;
	struct run_options run;
	struct run_levels levels;
	struct row *rows;
	size_t row_count, row_capacity;
	size_t by[CELL_FAILED + 1];
	struct buf label;
	size_t for_clusters; /* scenarios that want more nodes than there are */
	bool incomplete;
	/* The server could not be reached twice in a row, for one reason: so it would go on. */
	bool given_up;
	char failure[sizeof(((struct err *)0)->text)];
};

/* What the recording says, by the scenario's own words. */
static void judge(struct corpus_runs *runs, const struct scenario *s, const char *path,
	enum txn_level level, struct cell *cell)
{
	const struct scenario_verdict *expected;
	struct known_violations violations;
	struct known_answer answer;
	struct execution e;
	struct err err;

	if (!execution_load(&e, path, NULL, &err)) {
		output_message("%s", err.text);
		cell->state = CELL_FAILED;
		return;
	}
	buf_clear(&runs->label);
	execution_label(&e, &runs->label);
	if (!known_judge(s, &e, &answer, &err) || !known_violations(&e, &violations, &err)) {
		output_message("%s: %s", path, err.text);
		cell->state = CELL_FAILED;
		execution_release(&e);
		return;
	}
	expected = scenario_verdict(s, buf_span(&runs->label), level);
	if (!expected) {
		cell->state = CELL_UNSAID;
		known_print(&answer, &cell->text);
	} else if (!known_violations_expected(&violations, expected) &&
		   (violations.count || !runs->options->instrument)) {
		/* Of an instrumented run the oracle may tell less, never more. */
		cell->state = CELL_UNEXPECTED;
		known_violations_print(&violations, &cell->text);
		output_message("%s: expected %.*s%s%.*s, and the oracle mvcc found %s", path,
			SPAN_ARG(expected->verdict), expected->detail.len ? " " : "",
			SPAN_ARG(expected->detail), cell->text.data);
	} else if (known_as_expected(&answer, expected)) {
		cell->state = CELL_AS_EXPECTED;
		buf_printf(&cell->text, "%.*s%s%.*s", SPAN_ARG(expected->verdict),
			expected->detail.len ? " " : "", SPAN_ARG(expected->detail));
	} else {
		cell->state = CELL_UNEXPECTED;
		known_print(&answer, &cell->text);
		output_message("%s: expected %.*s%s%.*s, found %s", path,
			SPAN_ARG(expected->verdict), expected->detail.len ? " " : "",
			SPAN_ARG(expected->detail), cell->text.data);
	}
	execution_release(&e);
}

static void run_one(struct corpus_runs *runs, const struct scenario *s, const char *path,
	enum txn_level level, struct cell *cell)
{
	struct run_summary summary;
	struct buf output = BUF_INIT;
	struct err err;

	runs_path(&output, runs->options->output, s, path, "", level, "");
	runs->run.level = level;
	runs->run.output = output.data;
	cell->state = CELL_FAILED;
	if (!run_scenario(s, &runs->run, &summary, &err)) {
		bool again = !summary.opened && strcmp(err.text, runs->failure) == 0;

		runs->given_up = again;
		snprintf(runs->failure, sizeof(runs->failure), "%s", err.text);
		if (again)
			output_message("and again; the rest is not run");
		else
			output_message("%s at %s: %s", path, txn_level_short((uint8_t)level),
				err.text);
		buf_add_str(&cell->text, "not run");
	} else {
		runs->failure[0] = '\0';
		runs->incomplete =
			runs->incomplete || summary.server_gone || summary.lost || summary.by_time;
		judge(runs, s, output.data, level, cell);
	}
	runs->by[cell->state]++;
	buf_release(&output);
}

static bool wanted(const struct corpus_runs *runs, struct span id)
{
	const char *match = runs->options->match;

	return !match || memmem(id.ptr, id.len, match, strlen(match));
}

static bool run_file(struct corpus_runs *runs, const char *path, struct err *err)
{
	struct buf text = BUF_INIT;
	struct scenario s;
	struct row row = {0};
	struct span id;
	bool ok = file_read(path, SCENARIO_TEXT_MAX, &text, err) &&
		  scenario_parse(&s, buf_span(&text), path, err);

	buf_release(&text);
	if (!ok)
		return false;
	id = scenario_meta(&s, "id");
	if (wanted(runs, id) && scenario_nodes(&s) > runs->run.node_count + 1) {
		runs->for_clusters++;
	} else if (wanted(runs, id)) {
		row.id = mem_strdup(id.len ? id.ptr : path);
		for (size_t i = 0; i < runs->levels.count && !runs_stop && !runs->given_up; i++)
			run_one(runs, &s, path, runs->levels.levels[i], &row.cells[i]);
		MEM_RESERVE(runs->rows, runs->row_count + 1, runs->row_capacity);
		runs->rows[runs->row_count++] = row;
	}
	scenario_release(&s);
	return true;
}

/* ---- the table ---- */

static void add_table(struct buf *out, const struct corpus_runs *runs)
{
	size_t id_width = 8, width = 4;

	for (size_t i = 0; i < runs->row_count; i++) {
		size_t columns = text_columns(span_str(runs->rows[i].id));

		id_width = columns > id_width ? columns : id_width;
		for (size_t k = 0; k < runs->levels.count; k++)
			if (runs->rows[i].cells[k].text.len + 2 > width)
				width = runs->rows[i].cells[k].text.len + 2;
	}
	text_add_padded(out, SPAN_LIT("scenario"), id_width + 2, TEXT_PLAIN);
	for (size_t k = 0; k < runs->levels.count; k++)
		text_add_padded(out, span_str(txn_level_short((uint8_t)runs->levels.levels[k])),
			k + 1 < runs->levels.count ? width + 2 : 3, TEXT_PLAIN);
	buf_add_char(out, '\n');
	for (size_t i = 0; i < runs->row_count; i++) {
		text_add_padded(out, span_str(runs->rows[i].id), id_width + 2, TEXT_PLAIN);
		for (size_t k = 0; k < runs->levels.count; k++) {
			const struct cell *cell = &runs->rows[i].cells[k];
			struct buf text = BUF_INIT;

			buf_add_span(&text, buf_span(&cell->text));
			if (cell->state == CELL_UNEXPECTED || cell->state == CELL_FAILED)
				buf_add_str(&text, " !");
			else if (cell->state == CELL_UNSAID)
				buf_add_str(&text, " ?");
			if (k + 1 < runs->levels.count)
				text_add_padded(out, buf_span(&text), width + 2, TEXT_FOLD);
			else
				text_add(out, buf_span(&text), width + 2, TEXT_FOLD);
			buf_release(&text);
		}
		buf_add_char(out, '\n');
	}
}

static enum exit_status report(const struct corpus_runs *runs, uint64_t begin_ns)
{
	struct buf out = BUF_INIT;

	if (!runs->options->quiet)
		add_table(&out, runs);
	buf_add_str(&out, runs->label.len ? runs->label.data : "no server");
	buf_printf(&out,
		": %zu as expected, %zu not (!), %zu of which nothing is said (?), %zu "
		"not run; ",
		runs->by[CELL_AS_EXPECTED], runs->by[CELL_UNEXPECTED], runs->by[CELL_UNSAID],
		runs->by[CELL_FAILED]);
	if (runs->for_clusters)
		buf_printf(&out, "%zu for clusters left out; ", runs->for_clusters);
	text_add_duration(&out, clock_mono_ns() - begin_ns);
	buf_add_char(&out, '\n');
	(void)!output_write(&out);
	buf_release(&out);
	if (runs->by[CELL_FAILED])
		return EXIT_STATUS_INPUT;
	if (runs->by[CELL_UNEXPECTED])
		return EXIT_STATUS_VIOLATION;
	return runs->incomplete || runs->by[CELL_UNSAID] || runs_stop ? EXIT_STATUS_INCOMPLETE
								      : EXIT_STATUS_OK;
}

static enum exit_status run_all(struct corpus_runs *runs)
{
	uint64_t begin_ns = clock_mono_ns();
	struct file_list files;
	enum exit_status status = EXIT_STATUS_OK;
	struct progress progress;
	struct err err;

	if (!files_below(runs->options->corpus, ".scn", &files, &err)) {
		output_message("%s", err.text);
		output_message("--corpus names the folder of the scenarios, corpus/ of the source tree");
		return err_exit_status(&err);
	}
	if (!files.count) {
		output_message("%s: no scenario (*.scn) is below it", runs->options->corpus);
		status = EXIT_STATUS_INPUT;
	}
	/* A minute or two, and the table comes at the end. */
	progress_begin(&progress, OUTPUT_AUTO, "running scenarios", false);
	progress.counts = true;
	for (size_t i = 0; i < files.count && !runs_stop && !runs->given_up; i++) {
		progress_update(&progress, i, files.count);
		if (!run_file(runs, files.paths[i], &err)) {
			output_message("%s", err.text);
			runs->by[CELL_FAILED]++;
		}
	}
	progress_end(&progress);
	file_list_release(&files);
	return status == EXIT_STATUS_OK ? report(runs, begin_ns) : status;
}

static void release(struct corpus_runs *runs)
{
	for (size_t i = 0; i < runs->row_count; i++) {
		mem_free(runs->rows[i].id);
		for (size_t k = 0; k < RUNS_LEVELS_MAX; k++)
			buf_release(&runs->rows[i].cells[k].text);
	}
	mem_free(runs->rows);
	buf_release(&runs->label);
}

static enum exit_status corpus(const struct command *command, int argc, char **argv)
{
	struct corpus_command_options options = {.connection = connection_defaults(),
		.corpus = "corpus",
		.output = "recorded",
		.isolation = "RU,RC,RR,SER",
		.database = "isorec_corpus"};
	struct corpus_runs runs = {.options = &options};
	struct provided server = {.port = 0};
	enum exit_status status;
	struct err err;
	char **args;
	int count;
	bool skip;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count)
		return command_misused(
			command, "corpus takes no argument; --corpus names the folder");
	if (!run_levels_parse(&runs.levels, options.isolation) || !runs.levels.count)
		return command_misused(
			command, "--isolation takes RU, RC, RR, SER, separated by commas");
	if (options.nodes.count && options.server)
		return command_misused(command, RUNS_NODE_MISUSED);
	if (!runs_folder(options.output))
		return EXIT_STATUS_INPUT;
	if (options.server) {
		if (!provide_start(&server, options.server, &skip, &err)) {
			output_message("%s", err.text);
			return EXIT_STATUS_INPUT;
		}
	}
	runs.run = runs_defaults(&options.connection, &RUN_TIMEOUTS_DEFAULT);
	if (options.server)
		runs_target_provided(&runs.run, &server);
	for (size_t i = 0; i < options.nodes.count; i++) {
		if (!runs_parse_node(&runs.run, options.nodes.items[i]))
			return EXIT_STATUS_USAGE;
	}
	runs.run.target.database = options.database;
	runs.run.overwrite = options.overwrite;
	runs.run.drop_database = options.server != NULL;
	runs.run.instrument = options.instrument ? INSTRUMENT_TRIGGER : INSTRUMENT_OFF;
	if (runs_begin()) {
		status = run_all(&runs);
		runs_end();
	} else {
		status = EXIT_STATUS_INPUT;
	}
	provide_stop(&server);
	release(&runs);
	return output_finish(status);
}

static const struct option_def corpus_table[] = {
	OPTION_HEADING("Server"),
	RUNS_SERVER_OPTION(struct corpus_command_options, server),
	CONNECTION_OPTIONS(struct corpus_command_options, connection),
	RUNS_NODE_OPTION(struct corpus_command_options, nodes),
	RUNS_DATABASE_OPTION(struct corpus_command_options, database, "isorec_corpus"),
	OPTION_HEADING("What is run"),
	{.name = "corpus",
		.argument = "FOLDER",
		.files = true,
		OPTION_STRING(struct corpus_command_options, corpus),
		.preset = "corpus",
		.help = "where the scenarios are"},
	{.name = "match",
		.argument = "TEXT",
		OPTION_STRING(struct corpus_command_options, match),
		.help = "only scenarios whose id contains this text"},
	{.name = "isolation",
		.argument = "LEVELS",
		OPTION_STRING(struct corpus_command_options, isolation),
		.preset = "RU,RC,RR,SER",
		.help = "the levels, separated by commas"},
	{.name = "instrument",
		OPTION_FLAG(struct corpus_command_options, instrument),
		.help = "with version columns and triggers, as isorec run --instrument=trigger"},
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "FOLDER",
		.files = true,
		OPTION_STRING(struct corpus_command_options, output),
		.preset = "recorded",
		.help = "the folder for the traces"},
	RUNS_OVERWRITE_OPTION(struct corpus_command_options, overwrite),
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct corpus_command_options, quiet),
		.help = "print only what was not as expected, and the counts"},
	OPTION_END,
};

static const struct command_example corpus_examples[] = {
	{"corpus --server mariadb-11.8 -o runs/11.8", "record all on that release"},
	{"corpus -P 3306 -o runs/mine", "on a server that runs already"},
	{NULL, NULL},
};

const struct command corpus_command = {
	.name = "corpus",
	.summary = "executes the known bugs at every level on a server, and records each",
	.arguments = NULL,
	.description =
		"Runs every scenario of the corpus at four isolation levels, records a trace of\n"
		"each, and says whether the anomaly that it is about shows, and whether that is\n"
		"what the scenario expects of this release. Compare two such folders with\n"
		"isotrace corpus OLD NEW.",
	.exit_status =
		"  0  everything is as the scenarios expect of this release\n"
		"  1  something is not as expected\n"
		"  2  wrong usage\n"
		"  3  an answer never came, the scenarios expect nothing of this release, or it\n"
		"     was interrupted\n"
		"  4  something could not be run, or the server cannot be used\n"
		"  5  a bug in isorec; the message says what to report",
	.options = corpus_table,
	.examples = corpus_examples,
	.run = corpus,
};
