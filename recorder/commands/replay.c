/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec replay`: executes the schedule of a recorded trace again, on another server. */
#include <inttypes.h>
#include <string.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/text.h"
#include "commands/private_server.h"
#include "commands/recorder_commands.h"
#include "commands/run_options.h"
#include "replay/replay.h"

enum replay_pace { PACE_FAST, PACE_AS_RECORDED };
static const char *const pace_words[] = {"fast", "as-recorded", NULL};

struct replay_command_options {
	struct connection_options connection;
	const char *server, *database, *output;
	uint64_t rows_max, examples;
	struct run_timeouts timeouts;
	int pace;
	bool drop_database, keep_database, overwrite, quiet, salvage;
};

struct teller {
	const struct replay_command_options *options;
	uint64_t told[DIVERGED_KINDS];
	struct buf line;
};

static void on_diverged(void *ctx, const struct divergence *d)
{
	struct teller *t = ctx;

	if (t->options->quiet || t->told[d->kind]++ >= t->options->examples)
		return;
	buf_printf(&t->line, "%.*s, statement %u: ", SPAN_ARG(d->session), d->stmt->ordinal);
	switch (d->kind) {
	case DIVERGED_BLOCKED:
		buf_add_str(&t->line, "waits for a lock here, had its answer there");
		break;
	case DIVERGED_NOT_BLOCKED:
		buf_add_str(&t->line, "waited there, not here");
		break;
	case DIVERGED_ERROR:
		if (d->error)
			buf_printf(&t->line, "error %u here, ", d->error);
		else
			buf_add_str(&t->line, "ok here, ");
		if (d->stmt->record.error)
			buf_printf(&t->line, "error %u there", d->stmt->record.error);
		else
			buf_add_str(&t->line, "ok there");
		break;
	case DIVERGED_NOT_SENT:
		buf_printf(&t->line, "not sent: %s", d->why);
		break;
	case DIVERGED_ROW_BY_ROW:
		buf_printf(&t->line, "an execution for each row, one for all there: %s", d->why);
		break;
	}
	buf_add_str(&t->line, ": ");
	text_add(&t->line, d->stmt->sql, 100, TEXT_FOLD);
	buf_add_char(&t->line, '\n');
	(void)!output_write(&t->line);
}

static void summarize(struct buf *out, const char *path, const struct replay_summary *s)
{
	uint64_t all = 0;

	for (int i = 0; i < DIVERGED_KINDS; i++)
		all += s->diverged[i];
	buf_printf(out, "%s: ", path);
	text_add_counted(out, s->statements, "statement of ", "statements of ");
	text_add_counted(out, s->sessions, "session, ", "sessions, ");
	text_add_counted(out, s->tables, "table restored with ", "tables restored with ");
	text_add_counted(out, s->rows, "row; ", "rows; ");
	if (all) {
		buf_add_str(out, "diverged in ");
		text_add_counted(out, all, "place: ", "places: ");
		buf_printf(out, "%" PRIu64 " blocked here, %" PRIu64 " not blocked here, ",
			s->diverged[DIVERGED_BLOCKED], s->diverged[DIVERGED_NOT_BLOCKED]);
		text_add_counted(out, s->diverged[DIVERGED_ERROR], "other error, ", "other errors, ");
		buf_printf(out, "%" PRIu64 " row by row, %" PRIu64 " not sent",
			s->diverged[DIVERGED_ROW_BY_ROW], s->diverged[DIVERGED_NOT_SENT]);
	} else {
		buf_add_str(out, "followed the recorded order throughout");
	}
	if (s->partial)
		buf_add_str(out, "; not all rows of a table were recorded");
	if (s->lost) {
		buf_add_str(out, "; ");
		text_add_counted(out, s->lost, "answer never came", "answers never came");
	}
	if (s->server_gone)
		buf_add_str(out, "; the server is gone");
	if (s->by_time)
		buf_add_str(out, "; that something was blocked was known from the clock only");
	buf_add_char(out, '\n');
}

static void output_name(struct buf *out, const char *folder, const char *trace)
{
	size_t len = strlen(folder);
	const char *slash = strrchr(trace, '/');

	buf_add_str(out, folder);
	if (len > 4 && strcmp(folder + len - 4, ".itr") == 0)
		return;
	buf_printf(out, "/%s", slash ? slash + 1 : trace);
	if (out->len < 4 || strcmp(out->data + out->len - 4, ".itr") != 0)
		buf_add_str(out, ".itr");
}

static enum exit_status replay_one(
	const struct replay_command_options *options, struct replay_options *how, const char *path)
{
	const struct execution_load_options load = {.salvage = options->salvage};
	struct teller teller = {.options = options};
	struct replay_summary summary;
	struct buf output = BUF_INIT;
	struct execution e;
	enum exit_status status = EXIT_STATUS_OK;
	struct err err;

	if (!execution_load(&e, path, &load, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	output_name(&output, options->output, path);
	if (file_is_same(output.data, path)) {
		output_message("%s is what is replayed: the new trace would overwrite it; --output "
			       "says where it goes",
			path);
		buf_release(&output);
		execution_release(&e);
		return EXIT_STATUS_USAGE;
	}
	how->run.output = output.data;
	how->diverged = on_diverged;
	how->ctx = &teller;
	if (!e.complete) {
		output_message("%s: the trace is incomplete: %s", path, e.damage);
		status = EXIT_STATUS_INCOMPLETE;
	}
	if (!replay(&e, how, &summary, &err)) {
		output_message("%s: %s", path, err.text);
		status = EXIT_STATUS_INPUT;
	} else {
		bool all = true;

		for (int i = 0; i < DIVERGED_KINDS; i++)
			all = all && !summary.diverged[i];
		if (!all || summary.partial || summary.lost || summary.server_gone ||
			summary.by_time)
			status = EXIT_STATUS_INCOMPLETE;
		if (!e.table_count && summary.diverged[DIVERGED_ERROR])
			output_message("%s: no tables are in the trace, so none was made: "
				       "statements that need one fail (isorec proxy records "
				       "tables with --user)",
				path);
		summarize(&teller.line, output.data, &summary);
		(void)!output_write(&teller.line);
	}
	buf_release(&teller.line);
	buf_release(&output);
	execution_release(&e);
	return status;
}

static enum exit_status replay_run(const struct command *command, int argc, char **argv)
{
	struct replay_command_options options = {.connection = connection_defaults(),
		.output = "replayed",
		.rows_max = 100000,
		.examples = 10,
		.timeouts = RUN_TIMEOUTS_DEFAULT};
	struct provided server = {.port = 0};
	struct replay_options how;
	enum exit_status status, worst = EXIT_STATUS_OK;
	struct err err;
	char **args;
	int count;
	bool skip, single;

	/* A trace may be larger than memory. */
	mem_allow_spill();
	mem_limit(0);
	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (!count)
		return command_misused(command, "which trace?");
	single = strlen(options.output) > 4 &&
		 strcmp(options.output + strlen(options.output) - 4, ".itr") == 0;
	if (single && count > 1)
		return command_misused(command,
			"--output %s is for one trace, and several were given", options.output);
	if (!single && !runs_folder(options.output))
		return EXIT_STATUS_INPUT;
	if (options.server) {
		if (!provide_start(&server, options.server, &skip, &err)) {
			output_message("%s", err.text);
			return EXIT_STATUS_INPUT;
		}
		options.connection.host = "127.0.0.1";
		options.connection.port = server.port;
		options.connection.socket = NULL;
		options.connection.user = server.user;
	}
	how = (struct replay_options){.run = runs_defaults(&options.connection, &options.timeouts),
		.as_recorded = options.pace == PACE_AS_RECORDED};
	how.run.target.database = options.database;
	how.run.rows_max = options.rows_max;
	how.run.drop_database = options.drop_database;
	how.run.keep_database = options.keep_database;
	how.run.overwrite = options.overwrite;
	if (!runs_begin())
		return EXIT_STATUS_INPUT;
	for (int i = 0; i < count && !runs_stop; i++) {
		status = replay_one(&options, &how, args[i]);
		if (status > worst)
			worst = status;
	}
	runs_end();
	provide_stop(&server);
	return output_finish(worst);
}

static const struct option_def replay_table[] = {
	OPTION_HEADING("Server"),
	RUNS_SERVER_OPTION(struct replay_command_options, server),
	CONNECTION_OPTIONS(struct replay_command_options, connection),
	OPTION_HEADING("Database"),
	{.name = "database",
		.letter = 'D',
		.argument = "NAME",
		OPTION_STRING(struct replay_command_options, database),
		.preset = "as it was called",
		.help = "what the recorded database is called here; statements that name theirs do "
			"not follow"},
	{.name = "drop-database",
		OPTION_FLAG(struct replay_command_options, drop_database),
		.help = "drop databases of the recorded names that are there, with all that is in "
			"them"},
	{.name = "keep-database",
		OPTION_FLAG(struct replay_command_options, keep_database),
		.help = "leave them there afterwards"},
	OPTION_HEADING("Replay"),
	{.name = "pace",
		.argument = "PACE",
		OPTION_CHOICE(struct replay_command_options, pace),
		.choices = pace_words,
		.preset = "fast",
		.help = "fast: each statement as soon as the order allows; as-recorded: not before "
			"its time"},
	RUNS_TIMEOUT_OPTIONS(struct replay_command_options, timeouts),
	OPTION_HEADING("Input and output"),
	{.name = "output",
		.letter = 'o',
		.argument = "PATH",
		.files = true,
		OPTION_STRING(struct replay_command_options, output),
		.preset = "replayed",
		.help = "the folder for the new traces, which have the names of the old; or, for "
			"one "
			"trace, a name that ends in .itr"},
	RUNS_OVERWRITE_OPTION(struct replay_command_options, overwrite),
	RUNS_ROWS_OPTION(struct replay_command_options, rows_max),
	{.name = "examples",
		.argument = "N",
		OPTION_UINT(struct replay_command_options, examples),
		.preset = "10",
		.help = "places of each kind of divergence that are listed"},
	{.name = "salvage",
		OPTION_FLAG(struct replay_command_options, salvage),
		.help = "step over damage in the middle of the trace"},
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct replay_command_options, quiet),
		.help = "print only the summary"},
	OPTION_END,
};

static const struct command_example replay_examples[] = {
	{"replay --server mysql-9.7 -o new shop.itr", "the same traffic on another server"},
	{"replay -P 3307 --pace as-recorded shop.itr", "at the recorded times"},
	{NULL, NULL},
};

const struct command replay_command = {
	.name = "replay",
	.summary = "executes the schedule of a recorded trace again, on another server",
	.arguments = "TRACE...",
	.description =
		"Makes the recorded tables with the rows they had, opens the recorded sessions,\n"
		"and sends their statements with the recorded parameters, in the recorded order "
		"of\n"
		"begins and ends. Where the server does not allow that order, the rest goes on "
		"and\n"
		"the output names the place. Compare the new trace with the old one with isotrace diff.",
	.exit_status =
		"  0  the recorded order was followed throughout\n"
		"  2  wrong usage\n"
		"  3  the replay diverged, an answer never came, or tables or rows were missing\n"
		"  4  a trace cannot be read, or the server cannot be used\n"
		"  5  a bug in isorec; the message says what to report",
	.options = replay_table,
	.examples = replay_examples,
	.files = true,
	.run = replay_run,
};
