/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec reduce`: a failing scenario or recording becomes the smallest scenario that fails the same way. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/output.h"
#include "commands/case_options.h"
#include "commands/case_servers.h"
#include "commands/recorder_commands.h"
#include "commands/reduce_input.h"
#include "commands/run_options.h"
#include "common/contract.h"
#include "reducer/executor.h"
#include "reducer/reducer.h"

struct reduce_options {
	struct connection_options connection;
	const char *server, *database, *output, *finding, *contract, *isolation, *experience;
	struct run_timeouts timeouts;
	uint64_t time, tries, jobs, memory;
	double floor;
	int same, instrument; /* enum instrument_mode; -1: as the failure needs it */
	bool explain, overwrite, drop_database, quiet, at_random;
};

/* ---- servers ---- */

/* Waits that end soon: a candidate without its COMMIT keeps others waiting until then.  Commits that wait for no disk. */
static const char *const private_settings[] = {"innodb_lock_wait_timeout=3", "innodb_flush_log_at_trx_commit=0",
	"innodb_buffer_pool_size=64M", NULL};

/* ---- telling ---- */

static void say_line(void *ctx, const char *line)
{
	const struct reduce_options *o = ctx;
	struct buf out = BUF_INIT;

	if (o->quiet)
		return;
	buf_printf(&out, "%s\n", line);
	(void)!output_write(&out);
	buf_release(&out);
}

static void tell_result(const struct reduce_options *o, const struct reducer_summary *s)
{
	struct buf out = BUF_INIT;

	buf_printf(&out,
		"%zu of %zu statements, %zu of %zu rows, %zu of %zu sessions, %zu of %zu bytes are left; %" PRIu64
		" executions, %.1f s%s\n",
		s->after.statements, s->before.statements, s->after.rows, s->before.rows, s->after.sessions, s->before.sessions,
		s->after.bytes, s->before.bytes, s->executions, s->seconds,
		!s->whole	? "; ended early: this is the best so far"
		: s->rate < 1	? "; none of the parts could go alone, as far as chance tells"
				: "; none of the parts can go alone");
	if (s->rate < 1)
		buf_printf(&out, "it fails in about %.0f %% of executions\n", s->rate * 100);
	if (s->slipped)
		buf_printf(&out, "%zu different finding%s turned up on the way: %s/slipped-*.scn\n", s->slipped,
			s->slipped == 1 ? "" : "s", o->output);
	buf_printf(&out, "%s/reduced.scn\n%s/reduced.itr\n", o->output, o->output);
	(void)!output_write(&out);
	buf_release(&out);
}

/* ---- the command ---- */

static void execute_texts(void *ctx, const struct span *texts, size_t count, struct outcome *out)
{
	executor_run(ctx, texts, count, out);
}

static const char *trace_of(void *ctx, size_t number)
{
	return executor_trace(ctx, number);
}

static FILE *open_log(const struct reduce_options *o, struct err *err)
{
	struct buf path = BUF_INIT;
	FILE *log;
	int fd;

	buf_printf(&path, "%s/log", o->output);
	fd = file_make(path.data);
	log = fd < 0 ? NULL : fdopen(fd, "w");
	if (!log)
		err_set_errno(err, errno, "cannot write %s", path.data);
	buf_release(&path);
	return log;
}

/* Versions, where only versions show the failure. */
static void set_instrument(struct reduce_options *o, const struct reduce_input *input, struct run_options *run)
{
	enum instrument_mode mode = o->instrument >= 0 ? (enum instrument_mode)o->instrument
				    : input->seen && input->failure.needs_versions ? INSTRUMENT_TRIGGER
										   : INSTRUMENT_OFF;

	run->binlog = mode == INSTRUMENT_BINLOG;
	run->instrument = run->binlog ? INSTRUMENT_OFF : mode;
	if (o->instrument < 0 && mode)
		say_line(o, "candidates are recorded with versions (--instrument=trigger): the finding needs them");
}

/* Whether what is looked for needs no oracle. */
static bool is_answer(const char *finding)
{
	return finding && (strncmp(finding, "error-", 6) == 0 || strcmp(finding, "crash") == 0 || strcmp(finding, "hang") == 0);
}

/* One attempt after the other, until one fails. */
static bool reduce_attempts(struct reduce_input *input, struct reducer_options *options, struct reducer_summary *summary,
	struct err *err)
{
	for (size_t i = 0; i < input->count; i++) {
		const struct reduce_attempt *attempt = &input->attempts[i];

		if (attempt->what[0])
			options->say(options->say_ctx, attempt->what);
		options->first_max = attempt->executions;
		if (!reducer_run(options, &attempt->scenario, summary, err)) {
			/* Another release may not know an option, or not these values. */
			if (i || !input->has_settings || summary->reproduced || !reduce_input_forget_settings(input, err))
				return false;
			options->say(options->say_ctx, "the server cannot be started with the recorded server's options: without them");
			if (!reducer_run(options, &attempt->scenario, summary, err))
				return false;
		}
		if (summary->reproduced || runs_stop)
			return true;
	}
	return true;
}

static bool reduce(struct reduce_options *o, struct reduce_input *input, struct reducer_summary *summary,
	struct err *err)
{
	struct executor_options executor = {.run = runs_defaults(&o->connection, &o->timeouts),
		.folder = o->output,
		.jobs = (unsigned)o->jobs,
		.memory_max = o->memory,
		.stuck_ns = o->timeouts.hang + o->timeouts.answer + UINT64_C(120000000000),
		.stop = &runs_stop};
	struct reducer_options options = {.execute = execute_texts, .trace = trace_of, .jobs = o->jobs, .folder = o->output,
		.finding = input->seen ? input->failure.class_ : o->finding, .like = input->seen ? &input->failure : NULL,
		.same = (enum failure_same)o->same, .time_ns = o->time, .executions_max = o->tries,
		.floor = o->floor, .experience = o->experience, .at_random = o->at_random, .say = say_line, .stop = &runs_stop};
	bool ok;

	executor.run.target.database = o->database;
	executor.run.drop_database = o->drop_database;
	set_instrument(o, input, &executor.run);
	executor.answers_only = is_answer(o->finding);
	executor.server = o->server ? case_server_private(o->server, private_settings) : case_server_given();
	options.log = o->explain ? open_log(o, err) : NULL;
	if (o->explain && !options.log)
		return false;
	options.say_ctx = o;
	options.ctx = executor_open(&executor);
	ok = reduce_attempts(input, &options, summary, err);
	executor_close(options.ctx);
	if (options.log)
		fclose(options.log);
	return ok;
}

static void set_level(struct scenario *s, const char *word)
{
	s->level = scenario_level_word(span_str(word));
	for (size_t i = 0; i < s->session_count; i++)
		s->sessions[i].level = LEVEL_UNKNOWN;
}

static bool read_input(const char *path, struct reduce_options *o, struct reduce_input *input, struct err *err)
{
	struct reduce_input_options options = {
		.finding = o->finding, .contract = o->contract, .folder = o->output, .own_server = o->server != NULL,
		.say = say_line, .ctx = o};
	bool ok = reduce_input_read(path, &options, input, err);

	for (size_t i = 0; ok && i < input->count; i++) {
		struct scenario *s = &input->attempts[i].scenario;

		if (o->isolation)
			set_level(s, o->isolation);
		if (o->contract && !scenario_meta(s, "contract").ptr)
			ok = scenario_add_meta(s, SPAN_LIT("contract"), span_str(o->contract), err);
	}
	if (!ok)
		reduce_input_release(input);
	return ok;
}

static bool may_write(const struct reduce_options *o)
{
	struct buf path = BUF_INIT;
	bool there;

	buf_printf(&path, "%s/reduced.scn", o->output);
	there = access(path.data, F_OK) == 0;
	if (there && !o->overwrite)
		output_message("%s is there: choose another --output, or give --overwrite", path.data);
	buf_release(&path);
	return o->overwrite || !there;
}

static enum exit_status reduce_run(const struct command *command, int argc, char **argv)
{
	struct reduce_options o = {.connection = connection_defaults(),
		.database = "isorec_reduce",
		.output = "reduced",
		.jobs = 1,
		.memory = CASE_MEMORY_DEFAULT,
		.floor = 0.1,
		.same = SAME_SHAPE,
		.instrument = -1,
		.timeouts = RUN_TIMEOUTS_DEFAULT};
	struct reducer_summary summary = {.whole = false};
	struct reduce_input input;
	enum exit_status status;
	struct err err;
	char **args;
	int count;
	bool ok;

	if (!command_parse(command, &o, argc, argv, &args, &count, &status))
		return status;
	if (count != 1)
		return command_misused(command, count ? "one scenario, trace or log at a time" : "which scenario, trace or log?");
	if (o.isolation && !scenario_level_word(span_str(o.isolation)))
		return command_misused(command, "--isolation takes RU, RC, RR or SER");
	if (!runs_folder(o.output) || !may_write(&o))
		return EXIT_STATUS_INPUT;
	if (!read_input(args[0], &o, &input, &err))
		return command_failed(command, &err);
	if (!runs_begin()) {
		reduce_input_release(&input);
		return EXIT_STATUS_INPUT;
	}
	signal(SIGPIPE, SIG_IGN);
	ok = reduce(&o, &input, &summary, &err);
	runs_end();
	reduce_input_release(&input);
	if (!ok) {
		if (summary.reproduced)
			tell_result(&o, &summary);
		return command_failed(command, &err);
	}
	if (!summary.reproduced) {
		output_message("%s: no failure%s%s in %" PRIu64 " execution%s: there is nothing to reduce", args[0],
			o.finding ? " of the class or id " : "", o.finding ? o.finding : "", summary.executions,
			summary.executions == 1 ? "" : "s");
		return output_finish(EXIT_STATUS_INCOMPLETE);
	}
	tell_result(&o, &summary);
	return output_finish(summary.whole ? EXIT_STATUS_OK : EXIT_STATUS_INCOMPLETE);
}

static const struct option_def reduce_table[] = {
	OPTION_HEADING("Server"),
	RUNS_SERVER_OPTION(struct reduce_options, server),
	CONNECTION_OPTIONS(struct reduce_options, connection),
	CASE_DATABASES_OPTION(struct reduce_options, database, "isorec_reduce"),
	CASE_DROP_OPTION(struct reduce_options, drop_database),
	OPTION_HEADING("What is the same failure"),
	{.name = "finding",
		.argument = "CLASS|ID",
		OPTION_STRING(struct reduce_options, finding),
		.preset = "the gravest",
		.help = "which one of the scenario's failures: a class of findings, the id of one, crash, hang, or error-N for "
			"the server's error of that number"},
	{.name = "same",
		.argument = "HOW",
		OPTION_CHOICE(struct reduce_options, same),
		.choices = failure_same_words,
		.preset = "shape",
		.help = "class: class, oracle, severity and level are the same; shape: and so are the rule, what the statement "
			"and the row are like, and the kinds of dependencies of a cycle; known: it fits the same known bugs; "
			"output: what the scenario's `# shows:` lines ask for is there"},
	{.name = "isolation",
		.argument = "LEVEL",
		OPTION_STRING(struct reduce_options, isolation),
		.preset = "what the scenario says",
		.help = "RU, RC, RR or SER, for all sessions"},
	{.name = "contract",
		.argument = "NAME",
		OPTION_STRING(struct reduce_options, contract),
		.choices = contract_names,
		.preset = "by the server",
		.help = "what was promised: innodb, innodb-si, tidb-pessimistic, or adya (the textbook levels); the result says it "
			"in a `# contract:` line"},
	{.name = "instrument",
		.argument = "MODE",
		OPTION_CHOICE(struct reduce_options, instrument),
		.choices = instrument_mode_words,
		.preset = "trigger where a recording's finding needs versions, else off",
		.help = "have the recordings of candidates say which versions statements read and wrote, as isorec run does: what "
			"only the oracle adya finds needs that"},
	{.name = "floor",
		.argument = "RATE",
		OPTION_REAL(struct reduce_options, floor),
		.preset = "0.1",
		.help = "of cases that do not fail each time: a smaller one that fails more rarely than this is not taken"},
	OPTION_HEADING("How long"),
	{.name = "time",
		.argument = "TIME",
		OPTION_DURATION(struct reduce_options, time),
		.preset = "no end",
		.help = "stop after so long, and keep the best"},
	{.name = "tries",
		.argument = "N",
		OPTION_UINT(struct reduce_options, tries),
		.preset = "no end",
		.help = "stop after N executions, and keep the best"},
	CASE_JOBS_OPTION(struct reduce_options, jobs, EXECUTOR_JOBS_MAX, "1"),
	CASE_MEMORY_OPTION(struct reduce_options, memory),
	RUNS_TIMEOUT_OPTIONS(struct reduce_options, timeouts),
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "FOLDER",
		.files = true,
		OPTION_STRING(struct reduce_options, output),
		.preset = "reduced",
		.help = "the folder for reduced.scn, its recording reduced.itr, and what else turned up"},
	{.name = "overwrite",
		OPTION_FLAG(struct reduce_options, overwrite),
		.help = "replace a result that is there"},
	{.name = "explain",
		OPTION_FLAG(struct reduce_options, explain),
		.help = "write what was tried, and whether it failed, to FOLDER/log"},
	{.name = "experience",
		.argument = "FILE",
		.files = true,
		OPTION_STRING(struct reduce_options, experience),
		.help = "read from this file which kinds of changes paid in earlier reductions of the same class, try these "
			"first, and add what this one shows"},
	{.name = "random-order",
		OPTION_FLAG(struct reduce_options, at_random),
		.help = "try kinds of changes in random order: to see what their order is worth"},
	{.name = "quiet", .letter = 'q', OPTION_FLAG(struct reduce_options, quiet), .help = "print the result only"},
	OPTION_END,
};

static const struct command_example reduce_examples[] = {
	{"reduce --server mariadb-11.8 -o small case.scn", "a scenario, on a release"},
	{"reduce -P 3306 --finding deleted-row-stays run.itr", "a recording, on a server that runs"},
	{"reduce --server mysql-9.7 --jobs 4 --time 5m --explain x.scn", "four servers, five minutes, a log"},
	{NULL, NULL},
};

const struct command reduce_command = {
	.name = "reduce",
	.summary = "makes a failing case as small as it gets while it fails the same way",
	.arguments = "SCENARIO|TRACE|LOG",
	.description = "Executes the case, finds what is wrong with it, and looks for the smallest scenario that\n"
		       "shows the same: without the sessions, transactions, statements, rows, columns, clauses and\n"
		       "constants that it does not need, in the simplest order, with short names. The result has\n"
		       "the answers as expectations, and its recording beside it. INT keeps the best so far.",
	.exit_status = "  0  reduced: none of the parts that are left can go alone\n"
		       "  2  wrong usage\n"
		       "  3  the case did not fail, or the time or the tries were over: the best so far is there\n"
		       "  4  the case cannot be read or run, the server cannot be used, or a file cannot be written\n"
		       "  5  a bug in isorec; the message says what to report",
	.options = reduce_table,
	.examples = reduce_examples,
	.run = reduce_run,
	.files = true,
};
