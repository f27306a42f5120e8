/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec hunt`: generates, executes, judges and groups cases until it is told to stop. */
#include "hunt/hunt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"
#include "commands/case_options.h"
#include "commands/case_servers.h"
#include "commands/connection_options.h"
#include "commands/grammar_options.h"
#include "commands/model_options.h"
#include "commands/recorder_commands.h"
#include "commands/run_options.h"

static const char *const known_words[] = {"hide", "count", "show", NULL};
static const char *const reduce_words[] = {"none", "new", "all", NULL};

struct hunt_command_options {
	struct connection_options connection;
	struct option_strings servers;
	struct model_options model;
	const char *dialect, *database, *output;
	uint64_t seed, orders, cases, time, jobs, memory;
	struct run_timeouts timeouts;
	int known, reduce;
	bool here, drop_database;
	const char *shard;
	struct option_strings merge;
	struct grammar_options grammar;
};

/* ---- servers ---- */

/* Few bytes on the disk, whatever a random query does; waits that end soon; commits that wait for no disk. */
static const char *const private_settings[] = {"innodb_lock_wait_timeout=4", "innodb_flush_log_at_trx_commit=0",
	"innodb_temp_data_file_path=ibtmp1:12M:autoextend:max:256M", "innodb_buffer_pool_size=64M", "tmp_table_size=16M",
	"max_heap_table_size=16M", NULL};

/* ---- telling ---- */

struct screen {
	unsigned lines; /* that were drawn */
	bool live;
};

static void erase(struct screen *screen)
{
	struct buf out = BUF_INIT;

	if (!screen->lines)
		return;
	buf_printf(&out, "\033[%uA\033[J", screen->lines);
	(void)!output_write(&out);
	buf_release(&out);
	screen->lines = 0;
}

static void say_line(void *ctx, const char *line)
{
	struct screen *screen = ctx;
	struct buf out = BUF_INIT;
	size_t len = strlen(line);

	erase(screen);
	buf_printf(&out, "%s%s", line, len && line[len - 1] == '\n' ? "" : "\n");
	(void)!output_write(&out);
	buf_release(&out);
}

static void draw(void *ctx, const char *lines)
{
	struct screen *screen = ctx;
	unsigned columns = output_columns(), count = 0;
	struct buf out = BUF_INIT;

	erase(screen);
	for (const char *at = lines; *at; count++) {
		size_t len = strcspn(at, "\n");

		text_add(&out, span_of(at, len), columns - 1, TEXT_PLAIN);
		buf_add_char(&out, '\n');
		at += len + (at[len] == '\n');
	}
	(void)!output_write(&out);
	buf_release(&out);
	screen->lines = count;
}

/* ---- the command ---- */

/* What all servers of the hunt understand. */
static bool choose_dialect(struct dialect *out, const struct hunt_command_options *o, struct err *err)
{
	char name[64];

	if (o->dialect)
		return dialect_named(out, o->dialect, err);
	if (o->servers.count != 1)
		return dialect_named(out, "common", err);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(o->servers.items[0], "+"), o->servers.items[0]);
	if (strlen(name) > 3 && strcmp(name + strlen(name) - 3, "-si") == 0)
		name[strlen(name) - 3] = '\0';
	return dialect_named(out, name, err);
}

static bool add_servers(struct hunt_options *options, const struct hunt_command_options *o)
{
	if (o->servers.count > HUNT_SERVERS_MAX)
		return false;
	for (size_t i = 0; i < o->servers.count; i++)
		options->servers[options->server_count++] = case_server_private(o->servers.items[i], private_settings);
	if (!o->servers.count)
		options->servers[options->server_count++] = case_server_given();
	return true;
}

static enum exit_status hunt_with(const struct command *command, struct hunt_options *options)
{
	struct hunt_summary summary;
	struct err err;
	bool ok;

	if (!runs_begin())
		return EXIT_STATUS_INPUT;
	ok = hunt(options, &summary, &err);
	runs_end();
	if (!ok)
		return command_failed(command, &err);
	return summary.fresh ? EXIT_STATUS_VIOLATION : summary.incomplete ? EXIT_STATUS_INCOMPLETE : EXIT_STATUS_OK;
}

static enum exit_status hunt_run(const struct command *command, int argc, char **argv)
{
	struct hunt_command_options o = {.connection = connection_defaults(),
		.database = "isorec_hunt",
		.output = "hunt",
		.seed = 1,
		.orders = 2,
		.jobs = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN),
		.memory = CASE_MEMORY_DEFAULT,
		.known = HUNT_KNOWN_COUNT,
		.reduce = HUNT_REDUCE_NEW,
		.timeouts = RUN_TIMEOUTS_DEFAULT};
	struct screen screen = {.live = isatty(1)};
	struct hunt_options options = {.ctx = &screen};
	struct grammar_files grammar;
	struct dialect dialect;
	struct buf learnt = BUF_INIT;
	struct model model;
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &o, argc, argv, &args, &count, &status))
		return status;
	if (count)
		return command_misused(command, "hunt takes no argument; --server names a release");
	if (!o.servers.count && !o.here)
		return command_misused(command, "--server names a release of isorec-servers; to hunt on a server of "
						"your own, give --use-server beside --host, --port or --socket");
	if (!model_options_open(&model, &o.model, &learnt, &err) || !choose_dialect(&dialect, &o, &err)) {
		buf_release(&learnt);
		return command_failed(command, &err);
	}
	buf_release(&learnt);
	if (!add_servers(&options, &o))
		return command_misused(command, "at most %d servers", HUNT_SERVERS_MAX);
	if (!shard_parse(o.shard, &options.shard, &err))
		return command_failed(command, &err);
	if (!runs_folder(o.output))
		return EXIT_STATUS_INPUT;
	if (!grammar_files_open(&grammar, &o.grammar, &err))
		return command_failed(command, &err);
	if (grammar.given) {
		options.grammar = &grammar.grammar;
		options.tables = &grammar.tables;
	}
	options.model = &model;
	options.dialect = &dialect;
	options.seed = o.seed;
	options.orders = o.orders;
	options.cases = o.cases;
	options.merge = o.merge.items;
	options.merge_count = o.merge.count;
	options.time_ns = o.time;
	options.memory_max = o.memory;
	options.jobs = (unsigned)(o.jobs ? o.jobs : 1);
	options.folder = o.output;
	options.known = (enum hunt_known)o.known;
	options.reduce = (enum hunt_reduce)o.reduce;
	options.stop = &runs_stop;
	options.say = say_line;
	options.draw = screen.live ? draw : NULL;
	options.run = runs_defaults(&o.connection, &o.timeouts);
	options.run.target.database = o.database;
	options.run.drop_database = o.drop_database;
	status = hunt_with(command, &options);
	grammar_files_release(&grammar);
	return output_finish(status);
}

static const struct option_def hunt_table[] = {
	OPTION_HEADING("Servers"),
	{.name = "server",
		.argument = "RELEASE",
		OPTION_STRINGS(struct hunt_command_options, servers),
		.help = "a release of isorec-servers; every worker starts one of its own; given several times, every case runs "
			"on each of them, and their answers are compared"},
	{.name = "use-server",
		OPTION_FLAG(struct hunt_command_options, here),
		.help = "hunt on the server that the next options name, in databases of its own"},
	CONNECTION_OPTIONS(struct hunt_command_options, connection),
	CASE_DATABASES_OPTION(struct hunt_command_options, database, "isorec_hunt"),
	CASE_DROP_OPTION(struct hunt_command_options, drop_database),
	OPTION_HEADING("Cases"),
	MODEL_OPTIONS(struct hunt_command_options, model),
	SEED_OPTION(struct hunt_command_options, seed),
	ORDERS_OPTION(struct hunt_command_options, orders, "2"),
	{.name = "dialect",
		.argument = "RELEASE",
		OPTION_STRING(struct hunt_command_options, dialect),
		.preset = "that of the server; of several, common",
		.help = "the SQL that may be used"},
	GRAMMAR_OPTIONS(struct hunt_command_options, grammar),
	OPTION_HEADING("How long"),
	{.name = "time",
		.argument = "TIME",
		OPTION_DURATION(struct hunt_command_options, time),
		.preset = "no end",
		.help = "stop after so long, as 10m"},
	{.name = "cases",
		.letter = 'n',
		.argument = "N",
		OPTION_UINT(struct hunt_command_options, cases),
		.preset = "no end",
		.help = "stop when the cases 0 to N-1 are done"},
	{.name = "shard",
		.argument = "I/N",
		OPTION_STRING(struct hunt_command_options, shard),
		.help = "this share of the cases alone, on one of N machines: 2/7 is every seventh, beginning with the second"},
	{.name = "merge",
		.argument = "FOLDER",
		.files = true,
		OPTION_STRINGS(struct hunt_command_options, merge),
		.help = "execute nothing, and put the hunt of this folder, and others given so, into the folder of --output; all made "
			"with the same model, seed, dialect and servers, which are given here, too"},
	CASE_JOBS_OPTION(struct hunt_command_options, jobs, HUNT_JOBS_MAX, "one for each processor"),
	CASE_MEMORY_OPTION(struct hunt_command_options, memory),
	RUNS_TIMEOUT_OPTIONS(struct hunt_command_options, timeouts),
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "FOLDER",
		.files = true,
		OPTION_STRING(struct hunt_command_options, output),
		.preset = "hunt",
		.help = "the folder of the hunt; one that is there goes on where it ended"},
	{.name = "known",
		.argument = "WHAT",
		OPTION_CHOICE(struct hunt_command_options, known),
		.choices = known_words,
		.preset = "count",
		.help = "known bugs and documented behaviour: hide them, count them, or show them like new findings"},
	{.name = "reduce",
		.argument = "WHAT",
		OPTION_CHOICE(struct hunt_command_options, reduce),
		.choices = reduce_words,
		.preset = "new",
		.help = "make the first example of a group small, for a minute at most: of groups that are new or suspicions, of "
			"all, or of none"},
	OPTION_END,
};

static const struct command_example hunt_examples[] = {
	{"hunt --server mariadb-11.8 --time 10m -o hunt", "ten minutes on a release"},
	{"hunt --server mariadb-11.8 --server mysql-9.7 --cases 1000 -o both", "two releases, compared"},
	{"hunt --server mariadb-10.11 --yy my.yy --zz my.zz --time 1h -o rqg", "statements from a grammar of RQG"},
	{"hunt --server mariadb-11.8 --like shop.itr --time 1h", "cases like what was recorded"},
	{"hunt --server mariadb-11.8 --merge a --merge b -o all", "what two machines found with --shard, as one"},
	{"hunt --use-server -P 3306 --model wide --time 1h -o mine", "a server that runs already"},
	{NULL, NULL},
};

const struct command hunt_command = {
	.name = "hunt",
	.summary = "generates cases, executes and judges them, and groups what is wrong",
	.arguments = NULL,
	.description = "Makes cases from a model, executes each on a server, judges the recording, and puts findings\n"
		       "that look alike into one group. Each group has examples: a scenario, a recording and a\n"
		       "report. A crash, a hang or an error that does not belong there is a finding, too. The folder\n"
		       "has a page, index.html, and the state: the same command goes on where it was stopped.",
	.exit_status = "  0  nothing new was found\n"
		       "  1  there is a group that is new\n"
		       "  2  wrong usage\n"
		       "  3  nothing new was found, but some cases could not be run\n"
		       "  4  a server cannot be used, or a file cannot be written\n"
		       "  5  a bug in isorec; the message says what to report",
	.options = hunt_table,
	.examples = hunt_examples,
	.run = hunt_run,
};
