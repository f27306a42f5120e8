/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec run`: executes scenario files and records a trace of each. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/text.h"
#include "commands/private_server.h"
#include "commands/recorder_commands.h"
#include "commands/run_options.h"
#include "differential/differential.h"
#include "run/expect.h"
#include "run/settings.h"
#include "run/shuffle.h"

enum { SHOWN_COLUMNS = 200, SHOWN_ROWS = 20, REPEAT_MAX = 100000 };
enum run_format { FORMAT_TEXT, FORMAT_JSON };
static const char *const format_words[] = {"text", "json", NULL};

struct run_command_options {
	struct connection_options connection;
	const char *database, *output, *isolation;
	int instrument; /* enum instrument_mode */
	struct option_strings servers, nodes;
	uint64_t rows_max, repeat, shuffle, seed;
	struct run_timeouts timeouts;
	int format;
	bool drop_database, keep_database, overwrite, quiet, both, predicate_probes;
};

static const struct option_def run_table[] = {
	OPTION_HEADING("Server"),
	{.name = "server",
		.argument = "RELEASE",
		OPTION_STRINGS(struct run_command_options, servers),
		.help = "a release of isorec-servers, started for this and stopped afterwards; may "
			"be "
			"given several times: the traces of each are then in a folder of its name; "
			"with +si or -si after it for innodb_snapshot_isolation, +binlog or "
			"-binlog "
			"for the row binary log"},
	CONNECTION_OPTIONS(struct run_command_options, connection),
	RUNS_NODE_OPTION(struct run_command_options, nodes),
	OPTION_HEADING("Database"),
	RUNS_DATABASE_OPTION(struct run_command_options, database, "isorec_run"),
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
		OPTION_CHOICE(struct run_command_options, instrument),
		.choices = instrument_mode_words,
		.preset = "off",
		.help = "have the trace say which versions statements read and wrote. trigger: by "
			"columns and triggers on the scenario's tables; select: by queries around "
			"each statement, which are not always exact; binlog: writes by the server's "
			"row binary log, reads by comparing rows"},
	{.name = "predicate-probes",
		OPTION_FLAG(struct run_command_options, predicate_probes),
		.help = "with --instrument=select: also ask which rows of a write the conditions "
			"of earlier statements match, before it and after it (BPM, APM)"},
	{.name = "both",
		OPTION_FLAG(struct run_command_options, both),
		.help = "run each with --instrument=off and with the other mode (trigger when none "
			"is given), and say where the clients got different answers"},
	{.name = "repeat",
		.argument = "N",
		.min = 1,
		.max = REPEAT_MAX,
		OPTION_UINT(struct run_command_options, repeat),
		.preset = "1",
		.help = "run each so many times, and say whether the executions are the same"},
	{.name = "shuffle",
		.argument = "N",
		.max = REPEAT_MAX,
		OPTION_UINT(struct run_command_options, shuffle),
		.preset = "0",
		.help = "also run N random other orders of the schedule; each session's own order "
			"stays, expectations do not hold there"},
	{.name = "seed",
		.argument = "N",
		OPTION_UINT(struct run_command_options, seed),
		.preset = "1",
		.help = "of --shuffle: the same seed gives the same orders"},
	RUNS_TIMEOUT_OPTIONS(struct run_command_options, timeouts),
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "PATH",
		.files = true,
		OPTION_STRING(struct run_command_options, output),
		.preset = ".",
		.help = "the folder for the traces, named after scenario and level; or, for a "
			"single run, a name that ends in .itr"},
	RUNS_OVERWRITE_OPTION(struct run_command_options, overwrite),
	RUNS_ROWS_OPTION(struct run_command_options, rows_max),
	{.name = "format",
		.letter = 'f',
		OPTION_CHOICE(struct run_command_options, format),
		.choices = format_words,
		.preset = "text",
		.help = "what happens as it happens, or one JSON document"},
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct run_command_options, quiet),
		.help = "print only what was not as expected"},
	OPTION_END,
};

static const struct command_example run_examples[] = {
	{"run -P 3306 lost-update.scn", "run it as it says, into lost-update.itr"},
	{"run --isolation RC,RR -o traces *.scn", "every scenario at two levels"},
	{"run --server mariadb-10.11 --server mysql-9.7 x.scn", "the same on two releases"},
	{"run --shuffle 50 --seed 7 x.scn", "fifty other interleavings"},
	{NULL, NULL},
};

/* ---- telling ---- */

struct runs {
	const struct run_command_options *options;
	struct run_options run;
	struct run_levels levels; /* none: as the scenario says */
	const char *folder;
	enum exit_status status;
	bool single;
	bool gone; /* the reader of the output has gone */
	struct buf line;
	struct json json;
	bool document_open;
	struct buf unmet; /* JSON: what was not as expected in this run, a line each */
};

static bool is_json(const struct runs *runs)
{
	return runs->options->format == FORMAT_JSON;
}

static void put(struct runs *runs)
{
	runs->gone = !output_write(&runs->line) || runs->gone;
}

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
	struct runs *runs = ctx;
	struct buf outcome = BUF_INIT;

	if (is_json(runs)) {
		if (event->unmet)
			buf_printf(&runs->unmet, "%s> %.*s: %s\n", event->session,
				SPAN_ARG(event->stmt->sql), event->unmet);
		return;
	}
	if (runs->options->quiet && !event->unmet)
		return;
	buf_printf(&runs->line, "%s> ", event->session);
	text_add(&runs->line, event->stmt->sql, SHOWN_COLUMNS, TEXT_FOLD);
	buf_add_str(&runs->line, "; -- ");
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
	text_add(&runs->line, buf_span(&outcome), SHOWN_COLUMNS, TEXT_FOLD);
	buf_add_char(&runs->line, '\n');
	if (event->unmet) {
		buf_add_str(&runs->line, "   NOT as expected: ");
		text_add(&runs->line, span_str(event->unmet), SHOWN_COLUMNS, TEXT_FOLD);
		buf_add_char(&runs->line, '\n');
	}
	put(runs);
	buf_release(&outcome);
}

static void say(struct runs *runs, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A line of our own among what happens; not in JSON. */
static void say(struct runs *runs, const char *fmt, ...)
{
	va_list ap;

	if (is_json(runs))
		return;
	va_start(ap, fmt);
	buf_add_str(&runs->line, "# ");
	buf_vprintf(&runs->line, fmt, ap);
	buf_add_char(&runs->line, '\n');
	va_end(ap);
	put(runs);
}

static void say_summary(struct runs *runs, const struct run_summary *s)
{
	if (!runs->options->quiet)
		say(runs,
			"%" PRIu64 " statement%s, %" PRIu64 " blocked, %" PRIu64 " error%s, %" PRIu64
			" without an answer, %" PRIu64 " not as expected%s%s",
			s->statements, s->statements == 1 ? "" : "s", s->blocked, s->errors,
			s->errors == 1 ? "" : "s", s->lost, s->unmet,
			s->server_gone ? "; the server is gone" : "",
			s->by_time ? "; that something was blocked was known from the clock only"
				   : "");
}

/* ---- JSON ---- */

static void json_pair(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

static void stmt_json(struct json *json, const struct execution *e, const struct execution_stmt *s)
{
	json_begin_object(json);
	json_key(json, "session");
	json_string(json, e->sessions[s->session].name);
	json_pair(json, "number", s->ordinal);
	json_key(json, "sql");
	json_string(json, s->sql);
	json_key(json, "blocked");
	json_bool(json, execution_blocked(s));
	json_key(json, "answered");
	json_bool(json, !(s->record.flags & STMT_NO_REPLY));
	json_pair(json, "error", s->record.error);
	json_pair(json, "warnings", s->record.warnings);
	json_pair(json, "affected", s->record.affected);
	json_key(json, "rows");
	if (s->set_count)
		execution_rows_json(json, &s->sets[0]);
	else
		json_null(json);
	json_end_object(json);
}

static void unmet_json(struct runs *runs)
{
	json_key(&runs->json, "unmet");
	json_begin_array(&runs->json);
	for (struct span left = buf_span(&runs->unmet); left.len;) {
		const char *end = memchr(left.ptr, '\n', left.len);
		size_t len = (size_t)(end - left.ptr);

		json_string(&runs->json, span_of(left.ptr, len));
		left = span_of(end + 1, left.len - len - 1);
	}
	json_end_array(&runs->json);
	buf_clear(&runs->unmet);
}

/* One run; e is what was recorded, NULL when that could not be read or nothing was. */
static void run_json(struct runs *runs, const char *path, const struct run_summary *summary,
	const struct execution *e, const char *failure)
{
	struct json *json = &runs->json;
	struct buf label = BUF_INIT;
	char digest[33];

	json_begin_object(json);
	json_key(json, "trace");
	json_str(json, path);
	if (failure) {
		json_key(json, "failure");
		json_str(json, failure);
	}
	if (e) {
		execution_label(e, &label);
		execution_digest(e, digest);
		json_key(json, "server");
		json_string(json, buf_span(&label));
		json_key(json, "digest");
		json_str(json, digest);
		json_key(json, "statements");
		json_begin_array(json);
		for (size_t i = 0; i < e->stmt_count; i++)
			stmt_json(json, e, &e->stmts[i]);
		json_end_array(json);
	}
	json_pair(json, "blocked", summary->blocked);
	json_pair(json, "errors", summary->errors);
	json_pair(json, "lost", summary->lost);
	json_pair(json, "not_sent", summary->not_sent);
	json_key(json, "server_gone");
	json_bool(json, summary->server_gone);
	json_key(json, "by_time");
	json_bool(json, summary->by_time);
	unmet_json(runs);
	json_end_object(json);
	put(runs);
	buf_release(&label);
}

static void open_document(struct runs *runs)
{
	if (!is_json(runs))
		return;
	json_init(&runs->json, &runs->line, 2);
	json_begin_object(&runs->json);
	json_key(&runs->json, "schema");
	json_str(&runs->json, "isorec.run/1");
	json_key(&runs->json, "runs");
	json_begin_array(&runs->json);
	runs->document_open = true;
}

static void close_document(struct runs *runs)
{
	if (!runs->document_open)
		return;
	json_end_array(&runs->json);
	json_end_object(&runs->json);
	buf_add_char(&runs->line, '\n');
	put(runs);
}

/* ---- runs ---- */

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

static void add_reason(struct buf *out, uint64_t count, const char *one, const char *many)
{
	if (!count)
		return;
	buf_add_str(out, out->len ? ", " : "");
	buf_printf(out, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

/* Why the exit status is not 0, on standard error: also with --quiet or JSON. */
static void judge(struct runs *runs, const char *path, const struct run_summary *s)
{
	struct buf why = BUF_INIT;

	if (s->unmet)
		worsen(runs, EXIT_STATUS_VIOLATION);
	add_reason(&why, s->unmet, "statement not as expected", "statements not as expected");
	if (s->server_gone || s->lost || s->not_sent || s->by_time)
		worsen(runs, EXIT_STATUS_INCOMPLETE);
	add_reason(&why, s->lost, "statement without an answer", "statements without an answer");
	add_reason(&why, s->not_sent, "statement not sent", "statements not sent");
	if (s->server_gone)
		buf_printf(&why, "%sthe server is gone", why.len ? ", " : "");
	if (s->by_time)
		buf_printf(&why,
			"%sthat something was blocked was known from the clock only (a busy server? "
			"run it again)",
			why.len ? ", " : "");
	if (why.len)
		output_message("%s: %s", path, why.data);
	buf_release(&why);
}

/* Runs once into `path`.  True: *e is what was recorded, if the caller wants it. */
static bool run_once(struct runs *runs, const struct scenario *s, const char *name,
	struct buf *path, struct execution *e)
{
	struct run_summary summary = {0};
	struct err err;
	bool ok;

	runs->run.output = path->data;
	if (!runs->options->quiet)
		say(runs, "%s", path->data);
	ok = run_scenario(s, &runs->run, &summary, &err);
	if (!ok) {
		output_message("%s: %s", name, err.text);
		worsen(runs, EXIT_STATUS_INPUT);
		if (is_json(runs))
			run_json(runs, path->data, &summary, NULL, err.text);
		return false;
	}
	say_summary(runs, &summary);
	judge(runs, path->data, &summary);
	if (!execution_load(e, path->data, NULL, &err)) {
		output_message("%s", err.text);
		worsen(runs, EXIT_STATUS_INPUT);
		return false;
	}
	if (is_json(runs))
		run_json(runs, path->data, &summary, e, NULL);
	return true;
}

/* Where the clients of an instrumented run got other answers than those of the plain one. */
static void compare_both(struct runs *runs, const struct execution *plain,
	const struct execution *instrumented, const char *path)
{
	struct diff_side sides[2] = {
		{.e = plain, .contract = "plain"}, {.e = instrumented, .contract = "instrumented"}};
	struct differential d;
	struct err err;

	if (!differential_compare(&d, sides, &err)) {
		output_message("%s: %s", path, err.text);
		worsen(runs, EXIT_STATUS_INCOMPLETE);
		return;
	}
	if (d.item_count) {
		const struct diff_item *first = &d.items[0];
		uint32_t at = first->pair == EXECUTION_NONE ? EXECUTION_NONE
							    : d.pairs[first->pair].stmt[0];
		struct buf sql = BUF_INIT;

		if (at != EXECUTION_NONE) {
			buf_add_str(&sql, " of ");
			text_add(&sql, plain->stmts[at].sql, SHOWN_COLUMNS / 2, TEXT_FOLD);
		}
		output_message("%s: the instrumented run differs from the plain one, first in %s%s",
			path, diff_class_name(first->class_), sql.len ? sql.data : "");
		buf_release(&sql);
		worsen(runs, EXIT_STATUS_INCOMPLETE);
	} else if (!runs->options->quiet) {
		say(runs, "instrumented and plain run gave the clients the same answers");
	}
	differential_release(&d);
}

static void make_path(struct runs *runs, struct buf *out, const struct scenario *s,
	const char *name, const char *number, enum txn_level level, const char *variant)
{
	buf_clear(out);
	if (runs->single)
		buf_add_str(out, runs->options->output);
	else
		runs_path(out, runs->folder, s, name, number, level, variant);
}

static void set_mode(struct run_options *run, enum instrument_mode mode)
{
	run->binlog = mode == INSTRUMENT_BINLOG;
	run->instrument = run->binlog ? INSTRUMENT_OFF : mode;
}

/* One scenario at one level: as often, and in as many modes, as was asked for. */
static void run_level(struct runs *runs, const struct scenario *s, const char *name,
	const char *number, enum txn_level level, const char *order)
{
	const struct run_command_options *o = runs->options;
	enum instrument_mode mode = (enum instrument_mode)o->instrument;
	uint64_t different = 0, done = 0;
	struct buf path = BUF_INIT;
	char first[33] = "", digest[33], variant[64];

	runs->run.level = level;
	for (uint64_t i = 0; i < o->repeat && !runs_stop && !runs->gone; i++) {
		struct execution e, other;

		if (o->repeat > 1)
			snprintf(variant, sizeof(variant), "%s.%" PRIu64, order, i + 1);
		else
			snprintf(variant, sizeof(variant), "%s", order);
		make_path(runs, &path, s, name, number, level, variant);
		set_mode(&runs->run, o->both ? INSTRUMENT_OFF : mode);
		if (!run_once(runs, s, name, &path, &e))
			continue;
		done++;
		execution_digest(&e, digest);
		if (!first[0])
			memcpy(first, digest, sizeof(first));
		different += strcmp(first, digest) != 0;
		if (o->both && !runs_stop) {
			size_t len = strlen(variant);

			set_mode(&runs->run, mode ? mode : INSTRUMENT_TRIGGER);
			snprintf(variant + len, sizeof(variant) - len, ".%s",
				instrument_mode_words[mode ? mode : INSTRUMENT_TRIGGER]);
			make_path(runs, &path, s, name, number, level, variant);
			if (run_once(runs, s, name, &path, &other)) {
				compare_both(runs, &e, &other, path.data);
				execution_release(&other);
			}
		}
		execution_release(&e);
	}
	if (o->repeat > 1 && done)
		say(runs,
			"%" PRIu64 " runs, %" PRIu64
			" of them another execution than the first (%s)",
			done, different, first);
	if (different) {
		output_message("%s: %" PRIu64 " of %" PRIu64
			       " runs are another execution than the first",
			name, different, done);
		worsen(runs, EXIT_STATUS_VIOLATION);
	}
	buf_release(&path);
}

static void run_levels(struct runs *runs, const struct scenario *s, const char *name,
	const char *number, const char *order)
{
	for (size_t k = 0; k < runs->levels.count && !runs_stop; k++)
		run_level(runs, s, name, number, runs->levels.levels[k], order);
	if (!runs->levels.count && !runs_stop)
		run_level(runs, s, name, number, LEVEL_UNKNOWN, order);
}

static void run_orders(
	struct runs *runs, const struct scenario *s, const char *name, const char *number)
{
	uint64_t orders = 1;

	run_levels(runs, s, name, number, "");
	for (uint64_t i = 0; i < runs->options->shuffle && !runs_stop && !runs->gone; i++) {
		struct scenario other;
		char order[32];
		struct err err;

		if (!scenario_shuffle(&other, s, runs->options->seed, i + 1, &err)) {
			output_message("%s: %s", name, err.text);
			worsen(runs, EXIT_STATUS_INPUT);
			return;
		}
		snprintf(order, sizeof(order), ".s%" PRIu64, i + 1);
		run_levels(runs, &other, name, number, order);
		scenario_release(&other);
		orders++;
	}
	if (runs->options->quiet && runs->options->shuffle)
		say(runs, "%s: %" PRIu64 " orders run, the traces are in %s", name, orders,
			runs->folder);
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
	for (size_t i = 0; i < list.count && !runs_stop; i++) {
		char number[24] = "";

		if (list.count > 1)
			snprintf(number, sizeof(number), ".%zu", i + 1);
		run_orders(runs, &list.scenarios[i], path, number);
	}
	scenario_list_release(&list);
	buf_release(&text);
}

static void run_files(struct runs *runs, char **paths, int count)
{
	for (int i = 0; i < count && !runs->gone && !runs_stop; i++)
		run_file(runs, paths[i]);
}

/* The options that the first scenario of a file asks of its server. */
static char **settings_of_file(const char *path)
{
	struct scenario_list list = {0};
	struct buf text = BUF_INIT;
	char **settings = NULL;
	struct err err;

	/* What cannot be read is said when it is run. */
	if (file_read(path, SCENARIO_TEXT_MAX, &text, &err) &&
		scenario_import(&list, scenario_guess(buf_span(&text)), buf_span(&text), path, &err) && list.count)
		settings = settings_of(&list.scenarios[0], NULL);
	scenario_list_release(&list);
	buf_release(&text);
	return settings;
}

/* How many files from the first on ask for what the first asks for. */
static int count_alike(char **paths, int count, char *const *settings)
{
	int alike = 1;

	for (bool equal = true; equal && alike < count; alike += equal) {
		char **other = settings_of_file(paths[alike]);

		equal = settings_equal(settings, other);
		settings_free(other);
	}
	return alike;
}

/* False: the release cannot be had or started. */
static bool run_on_server(struct runs *runs, const char *release, char *const *settings, char **paths, int count)
{
	struct run_target target = runs->run.target;
	struct provided server;
	struct err err;
	bool skip, ok = provide_start_with(&server, release, (const char *const *)settings, &skip, &err);

	if (!ok) {
		output_message("%s", err.text);
		worsen(runs, skip ? EXIT_STATUS_INCOMPLETE : EXIT_STATUS_INPUT);
	} else if (!runs->single && !runs_folder(runs->folder)) {
		worsen(runs, EXIT_STATUS_INPUT);
	} else {
		runs_target_provided(&runs->run, &server);
		run_files(runs, paths, count);
	}
	provide_stop(&server);
	runs->run.target = target;
	return ok;
}

/* The same on servers that are started for it. */
static void run_on_servers(struct runs *runs, char **paths, int count)
{
	const struct run_command_options *o = runs->options;

	for (size_t i = 0; i < o->servers.count && !runs_stop && !runs->gone; i++) {
		struct buf folder = BUF_INIT;
		bool started = true;

		buf_printf(&folder, "%s/%s", o->output, o->servers.items[i]);
		if (o->servers.count > 1)
			runs->folder = folder.data;
		for (int at = 0; at < count && started && !runs_stop && !runs->gone;) {
			char **settings = settings_of_file(paths[at]);
			int alike = count_alike(paths + at, count - at, settings);

			started = run_on_server(runs, o->servers.items[i], settings, paths + at, alike);
			settings_free(settings);
			at += alike;
		}
		runs->folder = o->output;
		buf_release(&folder);
	}
}

static void fill_run(struct runs *runs)
{
	const struct run_command_options *o = runs->options;

	runs->run = runs_defaults(&o->connection, &o->timeouts);
	runs->run.target.database = o->database;
	runs->run.rows_max = o->rows_max;
	runs->run.predicate_probes = o->predicate_probes;
	runs->run.drop_database = o->drop_database;
	runs->run.keep_database = o->keep_database;
	runs->run.overwrite = o->overwrite;
	runs->run.tell = on_event;
	runs->run.ctx = runs;
}

static bool is_trace_name(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && strcmp(path + len - 4, ".itr") == 0;
}

static enum exit_status run(const struct command *command, int argc, char **argv)
{
	struct run_command_options options = {
		.connection = connection_defaults(),
		.database = "isorec_run",
		.output = ".",
		.rows_max = 100000,
		.repeat = 1,
		.seed = 1,
		.timeouts = RUN_TIMEOUTS_DEFAULT,
	};
	struct runs runs = {.options = &options};
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (!count)
		return command_misused(command, "which scenario?");
	if (!run_levels_parse(&runs.levels, options.isolation))
		return command_misused(
			command, "--isolation takes RU, RC, RR, SER, separated by commas");
	if (options.predicate_probes && options.instrument != INSTRUMENT_SELECT)
		return command_misused(command, "--predicate-probes needs --instrument=select");
	runs.single = is_trace_name(options.output);
	runs.folder = options.output;
	if (runs.single && (count > 1 || runs.levels.count > 1 || options.repeat > 1 ||
				   options.shuffle || options.both || options.servers.count > 1))
		return command_misused(command,
			"--output %s is for one run, and this command makes several", options.output);
	if (options.nodes.count && options.servers.count)
		return command_misused(command, RUNS_NODE_MISUSED);
	if (!runs.single && !runs_folder(options.output))
		return EXIT_STATUS_INPUT;
	fill_run(&runs);
	for (size_t i = 0; i < options.nodes.count; i++) {
		if (!runs_parse_node(&runs.run, options.nodes.items[i]))
			return EXIT_STATUS_USAGE;
	}
	if (!runs_begin())
		return EXIT_STATUS_INPUT;
	open_document(&runs);
	if (options.servers.count)
		run_on_servers(&runs, args, count);
	else
		run_files(&runs, args, count);
	close_document(&runs);
	runs_end();
	buf_release(&runs.line);
	buf_release(&runs.unmet);
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
		"The server is not judged here: isotrace check does that with the trace.",
	.exit_status =
		"  0  everything was run, and every expectation of the scenarios was met\n"
		"  1  an expectation was not met, or repeated runs differ\n"
		"  2  wrong usage\n"
		"  3  an answer never came, only the clock said that a statement was blocked,\n"
		"     instrumentation changed an answer, or a release cannot be had here\n"
		"  4  a scenario cannot be read or run, or the server cannot be used\n"
		"  5  a bug in isorec; the message says what to report",
	.options = run_table,
	.examples = run_examples,
	.files = true,
	.run = run,
};
