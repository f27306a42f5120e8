/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec prepare` and `isorec unprepare`: the instrumentation of a schema, put in and taken out.
 */
#include <stdio.h>

#include "base/output.h"
#include "commands/connection_options.h"
#include "commands/recorder_commands.h"
#include "instrument/prepare.h"

struct prepare_command_options {
	struct connection_options connection;
	int mode; /* 0: trigger, 1: select */
	bool add_key, dry_run, quiet;
};

#define COMMON_OPTIONS                                                                             \
	OPTION_HEADING("Server"), CONNECTION_OPTIONS(struct prepare_command_options, connection)
#define TELLING_OPTIONS                                                                            \
	{.name = "dry-run",                                                                        \
		.letter = 'n',                                                                     \
		OPTION_FLAG(struct prepare_command_options, dry_run),                              \
		.help = "print the statements and change nothing"},                                \
	{                                                                                          \
		.name = "quiet", .letter = 'q',                                                    \
		OPTION_FLAG(struct prepare_command_options, quiet),                                \
		.help = "print only what was refused"                                             \
	}

static const char *const mode_words[] = {"trigger", "select", NULL};

static const struct option_def prepare_table_options[] = {
	COMMON_OPTIONS,
	OPTION_HEADING("Instrumentation"),
	{.name = "mode",
		.argument = "MODE",
		OPTION_CHOICE(struct prepare_command_options, mode),
		.choices = mode_words,
		.preset = "trigger",
		.help = "what isorec proxy --instrument will be: trigger or select"},
	{.name = "add-key",
		OPTION_FLAG(struct prepare_command_options, add_key),
		.help = "give tables without a primary key a hidden one; this changes what the "
			"server locks"},
	TELLING_OPTIONS,
	OPTION_END,
};

static const struct option_def unprepare_table_options[] = {
	COMMON_OPTIONS,
	OPTION_HEADING("Instrumentation"),
	TELLING_OPTIONS,
	OPTION_END,
};

static const struct command_example prepare_examples[] = {
	{"prepare -P 3306 shop", "every table of the database shop"},
	{"prepare --dry-run shop.orders", "what would be done to one table"},
	{"prepare --mode select shop", "for isorec proxy --instrument select"},
	{NULL, NULL},
};

static const struct command_example unprepare_examples[] = {
	{"unprepare -P 3306 shop", "leave the database as it was"},
	{NULL, NULL},
};

struct telling {
	bool quiet;
	bool gone; /* the reader of the output has gone */
	struct buf line;
};

static void tell(void *ctx, const char *database, const char *table, enum prepare_outcome outcome,
	const char *why)
{
	struct telling *t = ctx;

	if (outcome == PREPARE_REFUSED) {
		output_message("%s.%s %s", database, table, why);
	} else if (!t->quiet) {
		buf_printf(&t->line, "%s.%s %s\n", database, table, why);
		t->gone = !output_write(&t->line) || t->gone;
	}
}

static void tell_sql(void *ctx, const char *sql)
{
	struct telling *t = ctx;

	buf_printf(&t->line, "%s;\n", sql);
	t->gone = !output_write(&t->line) || t->gone;
}

typedef bool prepare_fn(MYSQL *mysql, const struct prepare_options *options,
	struct prepare_summary *summary, struct err *err);

/* One argument: DATABASE or DATABASE.TABLE. */
static enum exit_status do_argument(MYSQL *mysql, prepare_fn *work, char *argument,
	const struct prepare_command_options *options, struct telling *telling)
{
	struct prepare_options p = {.database = argument,
		.mode = options->mode ? INSTRUMENT_SELECT : INSTRUMENT_TRIGGER,
		.add_key = options->add_key,
		.dry_run = options->dry_run,
		.tell = tell,
		.tell_sql = tell_sql,
		.ctx = telling};
	struct prepare_summary summary;
	char *dot = strchr(argument, '.');
	struct err err;

	if (dot) {
		*dot = '\0';
		p.table = dot + 1;
	}
	if (!work(mysql, &p, &summary, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	return summary.refused ? EXIT_STATUS_INCOMPLETE : EXIT_STATUS_OK;
}

static enum exit_status run(const struct command *command, int argc, char **argv, prepare_fn *work)
{
	struct prepare_command_options options = {.connection = connection_defaults()};
	struct telling telling = {0};
	enum exit_status status = EXIT_STATUS_OK;
	struct run_target target;
	struct err err;
	MYSQL *mysql;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (!count)
		return command_misused(command, "which database?");
	telling.quiet = options.quiet;
	target = connection_target(&options.connection);
	mysql = client_dial(&target, &err);
	if (!mysql) {
		output_message("%s", err.text);
		return EXIT_STATUS_INPUT;
	}
	for (int i = 0; i < count && status != EXIT_STATUS_INPUT; i++) {
		enum exit_status one = do_argument(mysql, work, args[i], &options, &telling);

		status = one ? one : status;
	}
	mysql_close(mysql);
	buf_release(&telling.line);
	return output_finish(status);
}

static enum exit_status run_prepare(const struct command *command, int argc, char **argv)
{
	return run(command, argc, argv, prepare_database);
}

static enum exit_status run_unprepare(const struct command *command, int argc, char **argv)
{
	return run(command, argc, argv, unprepare_database);
}

const struct command prepare_command = {
	.name = "prepare",
	.summary = "adds version columns and triggers to tables, for exact recording",
	.arguments = "DATABASE[.TABLE]...",
	.description =
		"Gives every table of the databases an invisible version column, kept by triggers\n"
		"that also log for recorded sessions which versions they wrote. The proxy\n"
		"and the runner then record exactly which version every statement read and\n"
		"overwrote (--instrument trigger). SELECT * and INSERT do not see the column.\n"
		"\n"
		"Views are skipped; tables that cannot be instrumented are named with the reason,\n"
		"and the exit status is 3. ALTER TABLE waits for open transactions, and commits.\n"
		"isorec unprepare takes everything out again.",
	.options = prepare_table_options,
	.examples = prepare_examples,
	.run = run_prepare,
};

const struct command unprepare_command = {
	.name = "unprepare",
	.summary = "removes what prepare added",
	.arguments = "DATABASE[.TABLE]...",
	.description =
		"Drops the triggers and columns that isorec prepare made. SHOW CREATE TABLE then\n"
		"says what it said before.",
	.options = unprepare_table_options,
	.examples = unprepare_examples,
	.run = run_unprepare,
};
