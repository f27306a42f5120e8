/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec run`: executes scenario files and records a trace of each. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/text.h"
#include "connection.h"
#include "recorder_commands.h"
#include "run/expect.h"
#include "run/run.h"

/* INT and TERM: the run ends, its database is dropped; a second one ends at once. */
static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	stop = 1;
	signal(number, SIG_DFL);
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: poll must return */

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

enum { LEVELS_MAX = 4, SHOWN_COLUMNS = 200, SHOWN_ROWS = 20 };

struct run_command_options {
	struct connection_options connection;
	const char *database, *output, *isolation, *instrument;
	uint64_t rows_max;
	uint64_t blocked_timeout, answer_timeout, hang_timeout;
	bool drop_database, keep_database, overwrite, quiet;
};

static const struct option_def run_table[] = {
	OPTION_HEADING("Server"),
	CONNECTION_OPTIONS(struct run_command_options, connection),
	OPTION_HEADING("Database"),
	{.name = "database",
		.letter = 'D',
		.argument = "NAME",
		OPTION_STRING(struct run_command_options, database),
		.preset = "isorec_run",
		.help = "the database to make for each run and to drop afterwards; must not exist"},
	{.name = "drop-database",
		OPTION_FLAG(struct run_command_options, drop_database),
		.help = "drop a database of that name that is there, with all that is in it"},
	{.name = "keep-database",
		OPTION_FLAG(struct run_command_options, keep_database),
		.help = "leave it there afterwards"},
	OPTION_HEADING("Run"),
	{.name = "isolation",
		.argument = "LEVELS",
		OPTION_STRING(struct run_command_options, isolation),
		.preset = "what the scenario says",
		.help = "RU, RC, RR, SER or several with commas: a run and a trace for each, all "
			"sessions at that level"},
	{.name = "instrument",
		.argument = "MODE",
		OPTION_STRING(struct run_command_options, instrument),
		.preset = "off",
		.help = "off, or trigger: version columns and triggers on the scenario's tables, so "
			"that the trace says which versions statements read and wrote"},
	{.name = "blocked-timeout",
		.argument = "TIME",
		OPTION_DURATION(struct run_command_options, blocked_timeout),
		.preset = "1s",
		.help = "only where the server's lock views cannot be read: no answer for so long "
			"means blocked"},
	{.name = "answer-timeout",
		.argument = "TIME",
		OPTION_DURATION(struct run_command_options, answer_timeout),
		.preset = "10s",
		.help = "a statement that neither waits for a lock nor answers is then taken as "
			"blocked"},
	{.name = "hang-timeout",
		.argument = "TIME",
		OPTION_DURATION(struct run_command_options, hang_timeout),
		.preset = "70s",
		.help = "when every session waits and nothing moves for so long, they are killed"},
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "PATH",
		.files = true,
		OPTION_STRING(struct run_command_options, output),
		.preset = ".",
		.help = "the folder for the traces, named after scenario and level; or, for a "
			"single run, a name that ends in .itr"},
	{.name = "overwrite",
		OPTION_FLAG(struct run_command_options, overwrite),
		.help = "replace traces that are there"},
	{.name = "max-rows",
		.argument = "N",
		OPTION_UINT(struct run_command_options, rows_max),
		.preset = "100000",
		.help = "rows kept of a table's content before and after"},
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct run_command_options, quiet),
		.help = "print only what was not as expected"},
	OPTION_END,
};

static const struct command_example run_examples[] = {
	{"run -P 3306 lost-update.scn", "run it as it says, into lost-update.itr"},
	{"run --isolation RC,RR -o traces *.scn", "every scenario at two levels"},
	{NULL, NULL},
};

/* ---- telling ---- */

struct teller {
	bool quiet;
	bool gone; /* nobody reads the output any more */
	struct buf line;
};

static void add_outcome(struct buf *out, const struct client *c)
{
	if (c->blocked)
		buf_add_str(out, c->by_time ? "blocked (by the clock), then " : "blocked, then ");
	if (c->dead)
		buf_printf(out, "no answer: %s", c->message);
	else if (c->error)
		buf_printf(out, "error %u: %s", c->error, c->message);
	else if (c->has_rows)
		expect_print_rows(c, SHOWN_ROWS, out);
	else
		buf_printf(out, "ok %llu", (unsigned long long)c->affected);
}

static void on_event(void *ctx, const struct run_event *event)
{
	struct teller *t = ctx;
	struct buf outcome = BUF_INIT;

	if (t->quiet && !event->unmet)
		return;
	buf_printf(&t->line, "%s> ", event->session);
	text_add(&t->line, event->stmt->sql, SHOWN_COLUMNS, TEXT_FOLD);
	buf_add_str(&t->line, "; -- ");
	switch (event->kind) {
	case RUN_BLOCKED:
		buf_add_str(&outcome, "blocked");
		break;
	case RUN_NOT_SENT:
		buf_add_str(&outcome, "not sent: the session is gone");
		break;
	case RUN_ANSWERED:
		add_outcome(&outcome, event->client);
		break;
	}
	text_add(&t->line, buf_span(&outcome), SHOWN_COLUMNS, TEXT_FOLD);
	buf_add_char(&t->line, '\n');
	if (event->unmet) {
		buf_add_str(&t->line, "   NOT as expected: ");
		text_add(&t->line, span_str(event->unmet), SHOWN_COLUMNS, TEXT_FOLD);
		buf_add_char(&t->line, '\n');
	}
	t->gone = !output_write(&t->line) || t->gone;
	buf_release(&outcome);
}

/* ---- files ---- */

/* Letters that are safe in a file's name, from the id or the file's own name. */
static void add_stem(struct buf *out, const struct scenario *s, const char *path)
{
	struct span id = scenario_meta(s, "id");
	const char *slash = strrchr(path, '/');

	if (!id.len) {
		id = span_str(slash ? slash + 1 : path);
		if (id.len > 4 && span_eq_str(span_of(id.ptr + id.len - 4, 4), ".scn"))
			id.len -= 4;
	}
	for (size_t i = 0; i < id.len && i < 100; i++) {
		char c = id.ptr[i];
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '_' || (c == '.' && i);

		buf_add_char(out, fine ? c : '_');
	}
	if (!id.len)
		buf_add_str(out, "scenario");
}

static bool is_trace_name(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && strcmp(path + len - 4, ".itr") == 0;
}

/* ---- runs ---- */

struct runs {
	const struct run_command_options *options;
	struct run_options run;
	enum txn_level levels[LEVELS_MAX];
	size_t level_count; /* 0: as the scenario says */
	struct teller teller;
	enum exit_status status;
	bool single;
};

/* The worst wins: 4 over 1 over 3 over 0. */
static void worsen(struct runs *runs, enum exit_status status)
{
	static const int rank[] = {[EXIT_STATUS_OK] = 0,
		[EXIT_STATUS_INCOMPLETE] = 1,
		[EXIT_STATUS_VIOLATION] = 2,
		[EXIT_STATUS_USAGE] = 3,
		[EXIT_STATUS_INPUT] = 3,
		[EXIT_STATUS_BUG] = 4};

	if (rank[status] > rank[runs->status])
		runs->status = status;
}

static void add_summary(struct buf *out, const struct run_summary *s)
{
	buf_printf(out,
		"# %llu statements, %llu blocked, %llu errors, %llu without an answer, %llu not as "
		"expected%s%s\n",
		(unsigned long long)s->statements, (unsigned long long)s->blocked,
		(unsigned long long)s->errors, (unsigned long long)s->lost,
		(unsigned long long)s->unmet, s->server_gone ? "; the server is gone" : "",
		s->by_time ? "; that something was blocked was known from the clock only" : "");
}

static void run_once(struct runs *runs, const struct scenario *s, const char *path,
	const char *number, enum txn_level level)
{
	struct buf output = BUF_INIT;
	struct run_summary summary;
	struct err err;

	if (runs->single) {
		buf_add_str(&output, runs->options->output);
	} else {
		buf_printf(&output, "%s/", runs->options->output);
		add_stem(&output, s, path);
		buf_printf(&output, "%s%s%s.itr", number, level ? "-" : "",
			level ? txn_level_short((uint8_t)level) : "");
	}
	runs->run.level = level;
	runs->run.output = output.data;
	if (!runs->options->quiet)
		buf_printf(&runs->teller.line, "# %s\n", output.data);
	if (!run_scenario(s, &runs->run, &summary, &err)) {
		output_message("%s: %s", path, err.text);
		worsen(runs, EXIT_STATUS_INPUT);
	} else {
		if (summary.unmet)
			worsen(runs, EXIT_STATUS_VIOLATION);
		if (summary.server_gone || summary.lost || summary.not_sent || summary.by_time)
			worsen(runs, EXIT_STATUS_INCOMPLETE);
		if (!runs->options->quiet)
			add_summary(&runs->teller.line, &summary);
	}
	runs->teller.gone = !output_write(&runs->teller.line) || runs->teller.gone;
	buf_release(&output);
}

static void run_file(struct runs *runs, const char *path)
{
	struct buf text = BUF_INIT;
	struct scenario_list list = {0};
	struct err err;

	if (!file_read(path, SCENARIO_TEXT_MAX, &text, &err) ||
		!scenario_import(
			&list, scenario_guess(buf_span(&text)), buf_span(&text), path, &err)) {
		output_message("%s", err.text);
		worsen(runs, EXIT_STATUS_INPUT);
	}
	for (size_t i = 0; i < list.count; i++) {
		char number[24] = "";

		if (list.count > 1)
			snprintf(number, sizeof(number), ".%zu", i + 1);
		for (size_t k = 0; k < runs->level_count && !stop; k++)
			run_once(runs, &list.scenarios[i], path, number, runs->levels[k]);
		if (!runs->level_count && !stop)
			run_once(runs, &list.scenarios[i], path, number, LEVEL_UNKNOWN);
	}
	scenario_list_release(&list);
	buf_release(&text);
}

static bool read_levels(struct runs *runs, const char *list)
{
	while (list && *list) {
		size_t len = strcspn(list, ",");
		enum txn_level level = scenario_level_word(span_of(list, len));

		if (!level || runs->level_count == LEVELS_MAX)
			return false;
		runs->levels[runs->level_count++] = level;
		list += len + (list[len] == ',');
	}
	return true;
}

static void fill_run(struct runs *runs)
{
	const struct run_command_options *o = runs->options;

	runs->run = (struct run_options){
		.target = connection_target(&o->connection),
		.blocked_timeout_ns = o->blocked_timeout,
		.answer_timeout_ns = o->answer_timeout,
		.hang_timeout_ns = o->hang_timeout,
		.rows_max = o->rows_max,
		.drop_database = o->drop_database,
		.keep_database = o->keep_database,
		.overwrite = o->overwrite,
		.instrument = strcmp(o->instrument, "trigger") == 0,
		.stop = &stop,
		.tell = on_event,
		.ctx = &runs->teller,
	};
	runs->run.target.database = o->database;
}

static enum exit_status run(const struct command *command, int argc, char **argv)
{
	struct run_command_options options = {
		.connection = connection_defaults(),
		.database = "isorec_run",
		.output = ".",
		.instrument = "off",
		.rows_max = 100000,
		.blocked_timeout = 1000000000u,
		.answer_timeout = 10000000000u,
		.hang_timeout = 70000000000u,
	};
	struct runs runs = {.options = &options};
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (!count)
		return command_misused(command, "which scenario?");
	if (!read_levels(&runs, options.isolation))
		return command_misused(
			command, "--isolation takes RU, RC, RR, SER, separated by commas");
	if (strcmp(options.instrument, "off") != 0 && strcmp(options.instrument, "trigger") != 0)
		return command_misused(command, "--instrument takes off or trigger");
	runs.single = is_trace_name(options.output);
	if (runs.single && (count > 1 || runs.level_count > 1))
		return command_misused(command,
			"--output %s is for one run, and several were asked for", options.output);
	if (!runs.single && mkdir(options.output, 0777) != 0 && errno != EEXIST) {
		output_message("cannot make the folder %s: %s", options.output, strerror(errno));
		return EXIT_STATUS_INPUT;
	}
	fill_run(&runs);
	runs.teller.quiet = options.quiet;
	catch_signals();
	if (mysql_library_init(0, NULL, NULL) != 0) {
		output_message("the database client library cannot be started");
		return EXIT_STATUS_INPUT;
	}
	for (int i = 0; i < count && !runs.teller.gone && !stop; i++)
		run_file(&runs, args[i]);
	mysql_library_end();
	buf_release(&runs.teller.line);
	return output_finish(runs.status);
}

const struct command run_command = {
	.name = "run",
	.summary = "executes scenarios under a deterministic schedule, and records each",
	.arguments = "SCENARIO...",
	.description =
		"Sends the statements of a scenario in the order of its schedule, one at a time:\n"
		"the next one when the one before it has answered, or is known from the server's\n"
		"own lock views to wait. Sessions that can go on are noticed before anything else\n"
		"is sent. Each run gets a trace with the tables' content before and after.\n"
		"\n"
		"Scenarios are in the language of docs/scenario-format.md, or case files of DT2,\n"
		"Troc and Fucci, prompt lines (conn_0> SQL) or marked SQL (/* T1 */ SQL).\n"
		"\n"
		"The exit status is 1 when an expectation of a scenario was not met, 3 when an\n"
		"answer never came or only the clock said that a statement was blocked.",
	.options = run_table,
	.examples = run_examples,
	.files = true,
	.run = run,
};
