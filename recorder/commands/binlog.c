/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec binlog`: a server's binary log as a trace. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "binlog/record.h"
#include "commands/connection_options.h"
#include "commands/recorder_commands.h"

enum { REPLICA_ID = 987654321, VALUE_MAX = 1 << 20 };

struct binlog_command_options {
	struct connection_options connection;
	const char *output, *from, *compression;
	uint64_t server_id, value_max;
	bool server, follow, all_writers, overwrite, quiet;
};

static volatile int stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

static void summarize(struct buf *out, const char *path, const struct binlog_record_summary *s)
{
	buf_printf(out, "%s: ", path);
	text_add_counted(out, s->counts.txns, "transaction, ", "transactions, ");
	text_add_counted(out, s->counts.rows, "row change, ", "row changes, ");
	text_add_counted(out, s->counts.definitions, "definition; ", "definitions; ");
	text_add_counted(out, s->events, "event of ", "events of ");
	buf_printf(out, "%" PRIu64 " bytes", s->bytes);
	if (s->counts.xa)
		buf_printf(out, "; %" PRIu64 " XA events", s->counts.xa);
	if (s->reconnects) {
		buf_add_str(out, "; connected again ");
		text_add_counted(out, s->reconnects, "time", "times");
	}
	buf_add_char(out, '\n');
	if (s->keyless_tables) {
		text_add_counted(out, s->keyless_tables, "table", "tables");
		buf_printf(out,
			" without a primary key, or without one that the log names "
			"(binlog_row_metadata "
			"= FULL, or name the server): %" PRIu64
			" row changes are not in the trace\n",
			s->counts.keyless_rows);
	}
	if (s->counts.refused_events)
		buf_printf(out,
			"%" PRIu64 " events cannot be read without the tables' definitions: set "
			"binlog_row_metadata = FULL, or name the server that has the tables\n",
			s->counts.refused_events);
	if (s->counts.partial_rows)
		buf_printf(out,
			"%" PRIu64 " row changes lack columns: set binlog_row_image = FULL\n",
			s->counts.partial_rows);
	if (s->counts.statements)
		buf_printf(out,
			"%" PRIu64 " statements are not told as rows: set binlog_format = ROW\n",
			s->counts.statements);
	if (s->gaps)
		buf_printf(out, "%" PRIu64 " gaps: the trace has notes of them\n", s->gaps);
}

static bool choose_start(const char *from, struct binlog_record_options *how)
{
	if (!from || !strcmp(from, "now"))
		how->start = BINLOG_FROM_NOW;
	else if (!strcmp(from, "beginning"))
		how->start = BINLOG_FROM_BEGINNING;
	else
		how->start = BINLOG_FROM_GTIDS;
	how->gtids = from;
	return true;
}

static enum exit_status run(const struct command *command, int argc, char **argv)
{
	struct binlog_command_options options = {.connection = connection_defaults(),
		.output = "binlog.itr",
		.compression = "fast",
		.server_id = REPLICA_ID,
		.value_max = VALUE_MAX};
	struct binlog_record_options how = {.output = NULL};
	struct binlog_record_summary summary;
	enum exit_status status = EXIT_STATUS_OK;
	struct buf text = BUF_INIT;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (!trace_compression_level(options.compression, &how.compression_level))
		return command_misused(command,
			"--compression is off, fast or a level from 0 to 19, not %s",
			options.compression);
	how.output = options.output;
	how.overwrite = options.overwrite;
	how.all_writers = options.all_writers;
	how.value_keep_max = options.value_max;
	how.files = (const char *const *)args;
	how.file_count = (size_t)count;
	how.connect = !count || options.server;
	how.login = (struct db_login){.user = options.connection.user,
		.password = options.connection.password,
		.connect_timeout_ns = options.connection.connect_timeout};
	how.address = (struct db_address){.host = options.connection.host,
		.port = (unsigned)options.connection.port,
		.socket = options.connection.socket};
	how.server_id = (uint32_t)options.server_id;
	how.wait = options.follow;
	if (count && options.from)
		return command_misused(command, "--from is for a server's log, not for files");
	if (!count && !options.from)
		options.from = options.follow ? "now" : "beginning";
	(void)choose_start(options.from, &how);
	catch_signals();
	if (!binlog_record(&how, &stopped, &summary, &err)) {
		output_message("%s", err.text);
		status = err_exit_status(&err);
	} else if (summary.gaps || summary.counts.refused_events || summary.counts.statements ||
		   summary.counts.partial_rows || summary.counts.keyless_rows) {
		status = EXIT_STATUS_INCOMPLETE;
	}
	if (summary.events && !options.quiet) {
		summarize(&text, options.output, &summary);
		(void)!output_write(&text);
	}
	buf_release(&text);
	return output_finish(status);
}

static const struct option_def binlog_table[] = {
	OPTION_HEADING("Server"),
	{.name = "definitions",
		OPTION_FLAG(struct binlog_command_options, server),
		.help = "with files: take the tables' definitions from the server that is named "
			"below, where the "
			"files do not have them (binlog_row_metadata)"},
	CONNECTION_OPTIONS(struct binlog_command_options, connection),
	{.name = "server-id",
		.argument = "N",
		.min = 1,
		.max = UINT32_MAX,
		OPTION_UINT(struct binlog_command_options, server_id),
		.preset = "987654321",
		.help = "the replica's number; no other replica may have it"},
	OPTION_HEADING("What to read"),
	{.name = "from",
		.argument = "PLACE",
		OPTION_STRING(struct binlog_command_options, from),
		.preset = "beginning; with --follow: now",
		.help = "beginning: all that the server still has; now; or the GTIDs behind which "
			"to begin"},
	{.name = "follow",
		.letter = 'f',
		OPTION_FLAG(struct binlog_command_options, follow),
		.help = "wait for more when the log has ended, until INT or TERM"},
	{.name = "all-writers",
		OPTION_FLAG(struct binlog_command_options, all_writers),
		.help = "nothing was written past the log (sql_log_bin = 0; foreign keys that "
			"change rows of tables "
			"whose definitions are not known): changes that are missing are "
			"violations, not suspicions"},
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "PATH",
		.files = true,
		OPTION_STRING(struct binlog_command_options, output),
		.preset = "binlog.itr",
		.help = "the trace"},
	{.name = "overwrite",
		OPTION_FLAG(struct binlog_command_options, overwrite),
		.help = "replace a trace that is there"},
	{.name = "compression",
		.argument = "LEVEL",
		OPTION_STRING(struct binlog_command_options, compression),
		.preset = "fast",
		.help = "off, fast, or a level of zstd up to 19"},
	{.name = "keep-value",
		.argument = "SIZE",
		OPTION_SIZE(struct binlog_command_options, value_max),
		.preset = "1M",
		.help = "of longer values keep the beginning, the length and a digest"},
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct binlog_command_options, quiet),
		.help = "print no summary"},
	OPTION_END,
};

static const struct command_example binlog_examples[] = {
	{"binlog -h db1 -u repl -o db1.itr", "all transactions whose rows the server still has"},
	{"binlog -h db1 -u repl --follow -o db1.itr", "those from now on, until INT"},
	{"binlog -o old.itr binlog.000041 binlog.000042", "from files, without a server"},
	{NULL, NULL},
};

const struct command binlog_command = {
	.name = "binlog",
	.summary = "makes a trace of a server's binary log",
	.arguments = "[FILE...]",
	.description =
		"Reads the row binary log of MariaDB or MySQL, from its files or from the server\n"
		"as a replica does, and writes its transactions with the rows that they changed, "
		"in\n"
		"the order of their commits. isotrace check then finds committed changes that "
		"were\n"
		"lost: a row that was overwritten, and is not the row that was there.",
	.exit_status = "  0  all is in the trace\n"
		       "  2  wrong usage\n"
		       "  3  something is missing in the trace: the output says what\n"
		       "  4  the log cannot be read, or the server cannot be used\n"
		       "  5  a bug in isorec; the message says what to report",
	.options = binlog_table,
	.examples = binlog_examples,
	.files = true,
	.run = run,
};
