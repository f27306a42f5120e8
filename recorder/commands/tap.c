/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec tap`: sessions from packets, live or from files. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/text.h"
#include "base/version.h"
#include "commands/connection_options.h"
#include "commands/recorder_commands.h"
#include "proxy/server_context.h"
#include "tap/live.h"
#include "tap/pcap_file.h"

struct tap_command_options {
	struct connection_options connection;
	const char *interface, *output, *compression;
	struct option_strings server_ports, databases;
	uint64_t buffer, value_max, rows_max;
	bool context, overwrite, quiet;
};

static volatile int stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: reading must return */

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

struct tapping {
	const struct tap_command_options *options;
	uint16_t ports[TAP_PORTS_MAX];
	size_t port_count;
	struct trace_writer *writer;
	struct capture_config config;
	struct capture_worker worker;
	struct capture_node node;
	struct server_context_options context_options;
	struct server_context context;
	struct tap *tap;
	uint64_t torn; /* files that end inside of a packet */
};

/* ---- what stands around the sessions ---- */

static bool read_context(struct tapping *t, const char *moment, struct err *err)
{
	const struct connection_options *o = &t->options->connection;
	struct db_address address = {.host = o->host, .port = (unsigned)o->port, .socket = o->socket};

	if (!t->options->context)
		return true;
	if (!strcmp(moment, "initial") && !server_context_server(&t->context, &t->node, &address, err))
		return false;
	return server_context_schema(&t->context, &t->node, &address, err) &&
	       server_context_rows(&t->context, &t->node, &address, moment, err);
}

/* ---- packets ---- */

static bool read_file(struct tapping *t, const char *path, struct err *err)
{
	struct pcap_file *file = pcap_file_open(path, err);
	struct pcap_packet packet;
	enum pcap_next next = PCAP_END;
	bool known = true;

	if (!file)
		return false;
	while (!stopped && known && (next = pcap_file_next(file, &packet, err)) == PCAP_PACKET) {
		known = packet_link_known(packet.link) ||
			err_set(err, ERR_UNSUPPORTED, "%s: packets of link type %u are not read", path, packet.link);
		if (known)
			tap_packet(t->tap, packet.at, packet.link, packet.bytes, packet.length);
	}
	t->torn += next == PCAP_TORN;
	pcap_file_close(file);
	return known && next != PCAP_ERROR;
}

static bool take_packets(struct tapping *t, char *const *files, int count, struct err *err)
{
	struct live *live;
	bool good = true;

	for (int i = 0; i < count && good && !stopped; i++)
		good = read_file(t, files[i], err);
	if (count)
		return good;
	live = live_open(t->options->interface, t->ports, t->port_count, t->options->buffer, err);
	if (!live)
		return false;
	if (!t->options->quiet)
		output_message("capturing on %s until INT or TERM", t->options->interface);
	good = live_run(live, t->tap, &stopped, err);
	live_close(live);
	return good;
}

/* ---- the end ---- */

static bool is_incomplete(const struct tapping *t, const struct tap_counts *c)
{
	return c->opaque || c->lost_segments || c->dropped || c->fragments || c->damaged || t->torn;
}

static void summarize(struct buf *out, const struct tapping *t, const struct tap_counts *c)
{
	buf_printf(out, "%s: ", t->options->output);
	text_add_counted(out, c->packets, "packet, ", "packets, ");
	text_add_counted(out, c->segments, "segment of the server's, ", "segments of the server's, ");
	text_add_counted(out, c->sessions, "session, ", "sessions, ");
	text_add_counted(out, c->statements, "statement\n", "statements\n");
	if (c->opaque) {
		text_add_counted(out, c->opaque, "session could", "sessions could");
		buf_printf(out,
			" not be read to the end: %" PRIu64 " were open before, %" PRIu64 " use TLS, %" PRIu64
			" lost packets\n",
			c->picked_up, c->tls, c->lost_segments);
	}
	if (c->dropped)
		buf_printf(out, "%" PRIu64 " packets were dropped by the kernel: a larger --buffer keeps more\n",
			c->dropped);
	if (c->fragments || c->damaged)
		buf_printf(out, "%" PRIu64 " fragments and %" PRIu64 " damaged packets were left out\n", c->fragments,
			c->damaged);
	if (t->torn)
		buf_printf(out, "%" PRIu64 " files end inside of a packet\n", t->torn);
}

static void note_losses(struct tapping *t, const struct tap_counts *c)
{
	struct record_note note = {.source = SPAN_LIT("recorder"), .topic = SPAN_LIT("packets")};
	struct buf text = BUF_INIT;

	if (!is_incomplete(t, c))
		return;
	buf_printf(&text,
		"%" PRIu64 " sessions were not read to the end; %" PRIu64 " packets dropped, %" PRIu64
		" holes, %" PRIu64 " fragments, %" PRIu64 " damaged",
		c->opaque, c->dropped, c->lost_segments, c->fragments, c->damaged);
	note.text = buf_span(&text);
	(void)trace_emit_note(t->worker.producer, &note);
	buf_release(&text);
}

static bool read_ports(const struct tap_command_options *options, struct tapping *t)
{
	for (size_t i = 0; i < options->server_ports.count; i++) {
		uint64_t port;

		if (t->port_count == TAP_PORTS_MAX || !text_number(span_str(options->server_ports.items[i]), &port) ||
			!port || port > UINT16_MAX)
			return false;
		t->ports[t->port_count++] = (uint16_t)port;
	}
	if (!t->port_count)
		t->ports[t->port_count++] = 3306;
	return true;
}

static bool open_trace(struct tapping *t, int level, struct err *err)
{
	struct trace_writer_options options;

	trace_writer_defaults(&options);
	options.overwrite = t->options->overwrite;
	options.compression_level = level;
	options.policy = TRACE_POLICY_WAIT;
	options.recorder = "isorec " ISOTRACE_VERSION;
	/* Times are those of the packets. */
	options.anchor_mono_ns = options.anchor_wall_ns = 1;
	t->writer = trace_writer_open(t->options->output, &options, err);
	return t->writer != NULL;
}

static void fill_context(struct tapping *t)
{
	const struct connection_options *o = &t->options->connection;

	t->context_options = (struct server_context_options){
		.login = {.user = o->user, .password = o->password, .connect_timeout_ns = o->connect_timeout},
		.databases = t->options->databases.items,
		.database_count = t->options->databases.count,
		.rows_max = t->options->rows_max,
		.bytes_max = UINT64_MAX,
		.snapshot_rows = "",
		.values = &t->config.values,
		.redact = &t->config.redact,
	};
}

static enum exit_status tap_all(struct tapping *t, char *const *files, int count, int level)
{
	enum exit_status status = EXIT_STATUS_OK;
	struct trace_writer_stats stats;
	struct tap_counts counts;
	struct buf text = BUF_INIT;
	struct err err;
	bool good;

	if (!open_trace(t, level, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	capture_worker_open(&t->worker, &t->config, t->writer, 0, 1);
	t->tap = tap_new(&t->worker, &t->node, t->ports, t->port_count);
	trace_producer_clock(t->worker.producer, tap_clock(t->tap));
	fill_context(t);
	server_context_init(&t->context, &t->context_options, t->writer, t->worker.producer);
	good = read_context(t, "initial", &err) && take_packets(t, files, count, &err);
	tap_end(t->tap);
	if (good && !read_context(t, "final", &err)) {
		output_message("no final rows: %s", err.text);
		status = EXIT_STATUS_INCOMPLETE;
	}
	counts = *tap_counts(t->tap);
	note_losses(t, &counts);
	if (!good) {
		output_message("%s", err.text);
		status = err_exit_status(&err);
	} else if (is_incomplete(t, &counts)) {
		status = EXIT_STATUS_INCOMPLETE;
	}
	capture_worker_close(&t->worker);
	tap_free(t->tap);
	server_context_release(&t->context);
	if (!trace_writer_end(t->writer, &stats, &err)) {
		output_message("%s", err.text);
		status = err_exit_status(&err);
	}
	if (!t->options->quiet && good) {
		summarize(&text, t, &counts);
		(void)!output_write(&text);
	}
	buf_release(&text);
	return status;
}

static enum exit_status run(const struct command *command, int argc, char **argv)
{
	struct tap_command_options options = {.connection = connection_defaults(),
		.output = "tap.itr",
		.compression = "auto",
		.buffer = 64 << 20,
		.value_max = 1 << 20,
		.rows_max = UINT64_MAX};
	struct tapping t = {.options = &options};
	enum exit_status status;
	char **args;
	int count, level;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (!trace_compression_level(options.compression, &level))
		return command_misused(command, "--compression takes auto, off, fast, or a level from 1 to 19");
	if (!count && !options.interface)
		return command_misused(command, "which packets? Name an interface with --interface, or files");
	if (count && options.interface)
		return command_misused(command, "--interface and files are two ways: one of them");
	if (count && options.context)
		return command_misused(command,
			"--context reads the server as it is now, which is not what it was when the files were written");
	if (!read_ports(&options, &t))
		return command_misused(command, "--server-port takes a port, at most %d times", TAP_PORTS_MAX);
	t.config = (struct capture_config){.levels = CAPTURE_PARAMS | CAPTURE_RESULTS,
		.values.value_keep_max = options.value_max};
	t.node = (struct capture_node){.name = "n1", .address = "tap"};
	umask(077);
	catch_signals();
	return output_finish(tap_all(&t, args, count, level));
}

static const struct option_def tap_table[] = {
	OPTION_HEADING("Packets"),
	{.name = "interface",
		.letter = 'i',
		.argument = "NAME",
		OPTION_STRING(struct tap_command_options, interface),
		.help = "capture on this interface (lo, eth0, any) until INT or TERM"},
	{.name = "server-port",
		.argument = "N",
		OPTION_STRINGS(struct tap_command_options, server_ports),
		.preset = "3306",
		.help = "the port of the server whose sessions are recorded; may be given several times"},
	{.name = "buffer",
		.argument = "SIZE",
		OPTION_SIZE(struct tap_command_options, buffer),
		.preset = "64M",
		.help = "with --interface: packets that may wait in the kernel; more are lost"},
	OPTION_HEADING("What stands around the sessions"),
	{.name = "context",
		OPTION_FLAG(struct tap_command_options, context),
		.help = "with --interface: record the server's variables, tables and rows, too, through a connection to "
			"the server that is named below"},
	{.name = "database",
		.letter = 'D',
		.argument = "NAME",
		OPTION_STRINGS(struct tap_command_options, databases),
		.help = "the tables of this database only; may be given several times"},
	{.name = "snapshot-rows",
		.argument = "N",
		OPTION_UINT(struct tap_command_options, rows_max),
		.preset = "all",
		.help = "rows of a table to keep; 0: none"},
	CONNECTION_OPTIONS(struct tap_command_options, connection),
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "PATH",
		.files = true,
		OPTION_STRING(struct tap_command_options, output),
		.preset = "tap.itr",
		.help = "the trace"},
	{.name = "overwrite",
		OPTION_FLAG(struct tap_command_options, overwrite),
		.help = "replace a trace that is there"},
	{.name = "compression",
		.argument = "LEVEL",
		OPTION_STRING(struct tap_command_options, compression),
		.preset = "auto",
		.help = "auto, off, fast, or a level of zstd up to 19"},
	{.name = "keep-value",
		.argument = "SIZE",
		OPTION_SIZE(struct tap_command_options, value_max),
		.preset = "1M",
		.help = "of longer values keep the beginning, the length and a digest"},
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct tap_command_options, quiet),
		.help = "print no summary"},
	OPTION_END,
};

static const struct command_example tap_examples[] = {
	{"tap -i any -o shop.itr", "sessions with the server on this machine, from now on until INT"},
	{"tap -i lo --context -D shop -o shop.itr", "with the tables and rows of a database"},
	{"tap -o shop.itr shop.pcap0 shop.pcap1.gz", "from files that tcpdump -w wrote, in their order"},
	{NULL, NULL},
};

const struct command tap_command = {
	.name = "tap",
	.summary = "records sessions from packets, without being in their way",
	.arguments = "[FILE...]",
	.description =
		"Makes the trace that isorec proxy would make, from the packets between clients and\n"
		"a server: captured on an interface, or from files of tcpdump (pcap, pcapng, also\n"
		"compressed with gzip). Nothing is changed for clients or server, and nothing waits.\n"
		"\n"
		"Sessions that were open before, use TLS or lost packets cannot be read: they are\n"
		"opaque in the trace, and counted. The times are those of the packets: capture on the\n"
		"server's machine, or between it and its clients.",
	.exit_status = "  0  all sessions are in the trace\n"
		       "  2  wrong usage\n"
		       "  3  something is missing in the trace: the output says what\n"
		       "  4  packets cannot be captured or read, or the server cannot be used\n"
		       "  5  a bug in isorec; the message says what to report",
	.options = tap_table,
	.examples = tap_examples,
	.files = true,
	.run = run,
};
