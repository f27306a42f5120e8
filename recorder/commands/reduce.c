/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec reduce`: a failing scenario or recording becomes the smallest scenario that fails the same way. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/output.h"
#include "commands/case_options.h"
#include "commands/case_servers.h"
#include "commands/recorder_commands.h"
#include "commands/run_options.h"
#include "model/execution/execution.h"
#include "reduce/script.h"
#include "reducer/executor.h"
#include "reducer/reducer.h"

struct reduce_options {
	struct connection_options connection;
	const char *server, *database, *output, *finding, *isolation, *experience;
	struct run_timeouts timeouts;
	uint64_t time, tries, jobs, memory;
	double floor;
	int same;
	bool explain, overwrite, drop_database, quiet;
};

/* ---- servers ---- */

/* Waits that end soon: a candidate without its COMMIT keeps others waiting until then.  Commits that wait for no disk. */
static const char *const private_settings[] = {"innodb_lock_wait_timeout=3", "innodb_flush_log_at_trx_commit=0",
	"innodb_buffer_pool_size=64M", NULL};

/* ---- the input ---- */

static bool is_trace(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && strcmp(path + len - 4, ".itr") == 0;
}

/* Of what was recorded the statements that the finding is about, in the order in which they began: its transactions, and
 * what others wrote into the tables of the statement that it names. */
static bool cut_to_witness(struct scenario *scenario, const struct execution *e, const struct failure *failure, struct err *err)
{
	enum { OTHERS = 3 }; /* doubts of failure_doubts() */
	uint8_t *doubts = mem_zero(scenario->schedule.count + 1, 1);
	struct sql_options sql = sql_options_for_server(e->server.version);
	struct scenario part;
	struct script script;
	bool ok;

	if (!failure_doubts(failure, scenario, e, doubts)) {
		free(doubts);
		return true;
	}
	script_open(&script, scenario, &sql);
	for (size_t i = 0; i < script.schedule_count; i++)
		script.stmts[script.setup_count + i].dropped = doubts[i] >= OTHERS;
	ok = script_build(&script, &part, err);
	script_release(&script);
	free(doubts);
	if (!ok)
		return false;
	scenario_release(scenario);
	*scenario = part;
	return true;
}

/* A recording of clients that ran at once: what the finding needs of it becomes a scenario. */
static bool read_free_run(struct scenario *out, const struct execution *e, const char *path, struct reduce_options *o,
	struct err *err)
{
	struct execution_scenario_options how = {.skip = true};
	static struct failure failure;
	uint64_t skipped;

	if (!failure_of_trace(e, o->finding, &failure, err) || !execution_to_scenario(e, &how, out, &skipped, err))
		return err_prefix(err, "%s", path);
	if (skipped)
		output_message("%s: %" PRIu64 " statement%s cannot be sent again", path, skipped, skipped == 1 ? "" : "s");
	if (!cut_to_witness(out, e, &failure, err)) {
		scenario_release(out);
		return false;
	}
	o->finding = failure.class_;
	return true;
}

static bool read_trace(struct scenario *out, const char *path, struct reduce_options *o, struct err *err)
{
	struct execution e;
	bool ok;

	if (!execution_load(&e, path, NULL, err))
		return false;
	/* Of a part of a trace, the statements that are left make the scenario. */
	ok = e.scenario.ptr && !e.is_part ? scenario_parse(out, e.scenario, "the scenario in the trace", err)
			    : read_free_run(out, &e, path, o, err);
	execution_release(&e);
	return ok;
}

static bool read_scenario(struct scenario *out, const char *path, struct err *err)
{
	struct scenario_list list = {0};
	struct buf text = BUF_INIT;
	bool ok = file_read(path, SCENARIO_TEXT_MAX, &text, err) &&
		  scenario_import(&list, scenario_guess(buf_span(&text)), buf_span(&text), path, err);

	buf_release(&text);
	if (ok && list.count != 1) {
		ok = err_set(err, ERR_USAGE, "%s has %zu cases: one at a time can be reduced", path, list.count);
	} else if (ok) {
		*out = list.scenarios[0];
		list.count = 0;
	}
	scenario_list_release(&list);
	return ok;
}

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

static bool reduce(const struct reduce_options *o, const struct scenario *scenario, struct reducer_summary *summary,
	struct err *err)
{
	struct executor_options executor = {.run = runs_defaults(&o->connection, &o->timeouts),
		.folder = o->output,
		.jobs = (unsigned)o->jobs,
		.memory_max = o->memory,
		.stuck_ns = o->timeouts.hang + o->timeouts.answer + UINT64_C(120000000000),
		.stop = &runs_stop};
	struct reducer_options options = {.execute = execute_texts, .trace = trace_of, .jobs = o->jobs, .folder = o->output,
		.finding = o->finding, .same = (enum failure_same)o->same, .time_ns = o->time, .executions_max = o->tries,
		.floor = o->floor, .experience = o->experience, .say = say_line, .stop = &runs_stop};
	struct reduce_options copy = *o;
	bool ok;

	executor.run.target.database = o->database;
	executor.run.drop_database = o->drop_database;
	executor.server = o->server ? case_server_private(o->server, private_settings) : case_server_given();
	options.log = o->explain ? open_log(o, err) : NULL;
	if (o->explain && !options.log)
		return false;
	options.say_ctx = &copy;
	options.ctx = executor_open(&executor);
	ok = reducer_run(&options, scenario, summary, err);
	executor_close(options.ctx);
	if (options.log)
		fclose(options.log);
	return ok;
}

static bool set_level(struct scenario *s, const char *word)
{
	enum txn_level level = scenario_level_word(span_str(word));

	if (!level)
		return false;
	s->level = level;
	for (size_t i = 0; i < s->session_count; i++)
		s->sessions[i].level = LEVEL_UNKNOWN;
	return true;
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
		.timeouts = RUN_TIMEOUTS_DEFAULT};
	struct reducer_summary summary = {.whole = false};
	struct scenario scenario;
	enum exit_status status;
	struct err err;
	char **args;
	int count;
	bool ok;

	if (!command_parse(command, &o, argc, argv, &args, &count, &status))
		return status;
	if (count != 1)
		return command_misused(command, count ? "one scenario or trace at a time" : "which scenario or trace?");
	if (!(is_trace(args[0]) ? read_trace(&scenario, args[0], &o, &err) : read_scenario(&scenario, args[0], &err)))
		return command_failed(command, &err);
	if (o.isolation && !set_level(&scenario, o.isolation)) {
		scenario_release(&scenario);
		return command_misused(command, "--isolation takes RU, RC, RR or SER");
	}
	if (!runs_folder(o.output) || !may_write(&o) || !runs_begin()) {
		scenario_release(&scenario);
		return EXIT_STATUS_INPUT;
	}
	signal(SIGPIPE, SIG_IGN);
	ok = reduce(&o, &scenario, &summary, &err);
	runs_end();
	scenario_release(&scenario);
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
	.arguments = "SCENARIO|TRACE",
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
