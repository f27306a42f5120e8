/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isorec cluster: drives a cluster through operations while it is recorded. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/output.h"
#include "base/text.h"
#include "cluster/drive/drive.h"
#include "cluster/explore/explore.h"
#include "cluster/explore/reduce_ops.h"
#include "commands/cluster_coverage.h"
#include "commands/cluster_net.h"
#include "commands/private_server.h"
#include "commands/recorder_commands.h"
#include "common/finding_class.h"
#include "trace/reader.h"

enum { EXIT_SKIPPED = 77, CONTRACT_MAX = 64 * 1024 };

struct cluster_options {
	const char *output, *kind, *print_kind;
	bool kinds, overwrite, quiet, check_only;
	const char *contract_file, *finding;
	uint64_t process, seed, time_ns, tries, disk, try_ns, repeats;
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static const struct option_def cluster_table[] = {
	{.name = "output",
		.letter = 'o',
		.argument = "NAME",
		.files = true,
		OPTION_STRING(struct cluster_options, output),
		.preset = "the text's name, with .itr; of explore with .explored, of reduce with .small.ops",
		.help = "the trace to write; of explore the folder, of reduce the text"},
	{.name = "overwrite",
		OPTION_FLAG(struct cluster_options, overwrite),
		.help = "replace the trace if it is there"},
	{.name = "kind",
		.argument = "KIND",
		.files = true,
		OPTION_STRING(struct cluster_options, kind),
		.preset = "as the text says",
		.help = "the kind of cluster: one that is built in, or a file of your own"},
	{.name = "kinds",
		OPTION_FLAG(struct cluster_options, kinds),
		.help = "print the kinds that are built in, and their operations"},
	{.name = "print-kind",
		.argument = "KIND",
		OPTION_STRING(struct cluster_options, print_kind),
		.help = "print the file of a kind, to begin one of your own"},
	{.name = "check",
		OPTION_FLAG(struct cluster_options, check_only),
		.help = "read the text, print it in its plain form, and do nothing"},
	OPTION_HEADING("Exploring and reducing"),
	{.name = "time",
		.argument = "TIME",
		OPTION_DURATION(struct cluster_options, time_ns),
		.preset = "10m",
		.help = "end after so long; 0: never"},
	{.name = "tries",
		.argument = "N",
		OPTION_UINT(struct cluster_options, tries),
		.preset = "0: any number",
		.help = "end after so many runs"},
	{.name = "disk",
		.argument = "SIZE",
		OPTION_SIZE(struct cluster_options, disk),
		.preset = "2G",
		.help = "end when the folder is larger than this; 0: never"},
	{.name = "try-time",
		.argument = "TIME",
		OPTION_DURATION(struct cluster_options, try_ns),
		.preset = "10m",
		.help = "a run that takes longer has stalled, and is ended"},
	{.name = "repeats",
		.argument = "N",
		OPTION_UINT(struct cluster_options, repeats),
		.preset = "3",
		.help = "explore: run the text of a finding so often again, to tell its rate; reduce: a text without the finding in "
			"so many runs is taken to have none"},
	{.name = "finding",
		.argument = "CLASS",
		OPTION_STRING(struct cluster_options, finding),
		.preset = "the worst that comes",
		.help = "reduce: the class of finding that must come"},
	{.name = "contract-file",
		.argument = "FILE",
		.files = true,
		OPTION_STRING(struct cluster_options, contract_file),
		.preset = "what the engine documents",
		.help = "judge by this contract"},
	{.name = "seed",
		.argument = "N",
		OPTION_UINT(struct cluster_options, seed),
		.preset = "1",
		.help = "the sequences, and of net open the frames that are lost, come from this number"},
	OPTION_HEADING("Network"),
	{.name = "process",
		.argument = "PID",
		OPTION_UINT(struct cluster_options, process),
		.preset = "the only one there is",
		.help = "net: the process whose network is meant"},
	OPTION_HEADING("Messages"),
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct cluster_options, quiet),
		.help = "do not tell what is done"},
	OPTION_END,
};

static const struct command_example cluster_examples[] = {
	{"cluster run flush.ops -o flush.itr", "drive a cluster, and record it"},
	{"cluster run --check flush.ops", "is the text right?"},
	{"cluster replay flush.itr -o again.itr", "a run once more, its operations at the statements of its trace"},
	{"cluster explore flush.ops --time 1h", "look for sequences of operations that break the cluster"},
	{"cluster reduce found.ops --finding crash", "the fewest operations with which a node still crashes"},
	{"cluster coverage a.itr b.itr", "what each reached of the servers' code"},
	{"cluster net", "the links of the cluster that runs, and what passed them"},
	{"cluster net cut 'n1>n2'", "n2 gets nothing from n1 any more"},
	{"cluster net open 3", "a network for three nodes of your own, until it is interrupted"},
	{"cluster --print-kind galera", "what can be done to a Galera cluster"},
	{NULL, NULL},
};

static void tell(void *ctx, const char *what)
{
	(void)ctx;
	output_message("%s", what);
}

static enum exit_status print_kinds(void)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; kind_names[i]; i++) {
		struct kind kind;
		struct err err;

		if (!kind_open(&kind, kind_names[i], &err))
			continue;
		buf_printf(&out, "%s%s (tried on: %s)\n", i ? "\n" : "", kind_names[i], kind.tried ? kind.tried : "nothing yet");
		for (unsigned o = 0; o < kind.operation_count; o++)
			buf_printf(&out, "  %-9s %-26s %s\n", kind.operations[o].fault ? "fault" : "operation", kind.operations[o].name,
				kind.operations[o].says ? kind.operations[o].says : "");
		kind_release(&kind);
	}
	(void)!output_write(&out);
	return output_finish(EXIT_STATUS_OK);
}

static enum exit_status print_kind(const char *name)
{
	struct buf out = BUF_INIT;
	const char *text = kind_text(name);

	if (!text) {
		output_message("%s: no kind of cluster is built in under this name; isorec cluster --kinds lists them", name);
		return EXIT_STATUS_USAGE;
	}
	buf_add_str(&out, text);
	(void)!output_write(&out);
	return output_finish(EXIT_STATUS_OK);
}

static void report_text(const struct drive_report *r, const char *trace, struct buf *out)
{
	text_add_counted(out, r->operations, "operation", "operations");
	if (r->operations_failed || r->operations_late)
		buf_printf(out, " (%u failed, %u more left out)", r->operations_failed, r->operations_late);
	buf_add_str(out, ", ");
	text_add_counted(out, r->transactions, "transaction", "transactions");
	buf_add_str(out, ": ");
	text_add_count(out, r->committed);
	buf_add_str(out, " committed, ");
	text_add_count(out, r->failed);
	buf_add_str(out, " failed, ");
	text_add_count(out, r->unknown);
	buf_printf(out, " lost their connection; recorded in %s\n", trace);
}

static enum exit_status drive(const struct cluster_options *o, const struct ops *ops, const char *trace)
{
	char servers[4096];
	struct drive_options options = {.ops = ops,
		.output = trace,
		.overwrite = o->overwrite,
		.servers = servers,
		.stop = &stop,
		.tell = o->quiet ? NULL : tell};
	struct drive_report report;
	struct buf out = BUF_INIT;
	struct err err;

	provide_tool(servers, sizeof(servers));
	catch_signals();
	if (!drive_run(&options, &report, &err)) {
		output_message("%s", err.text);
		return report.skipped ? (enum exit_status)EXIT_SKIPPED : err_exit_status(&err);
	}
	report_text(&report, trace, &out);
	(void)!output_write(&out);
	return output_finish(stop ? EXIT_STATUS_INCOMPLETE : EXIT_STATUS_OK);
}

/* NAME and the suffix, of NAME.ops. */
static void named_after(const char *text, const char *suffix, char *out, size_t size)
{
	const char *slash = strrchr(text, '/'), *dot = strrchr(slash ? slash : text, '.');

	snprintf(out, size, "%.*s%s", (int)(dot ? dot - text : (long)strlen(text)), text, suffix);
}

static enum exit_status run_text(const struct cluster_options *o, const char *path)
{
	enum exit_status status;
	struct buf out = BUF_INIT;
	char trace[4096];
	struct ops ops;
	struct err err;

	if (!ops_open(&ops, path, o->kind, &err)) {
		output_message("%s", err.text);
		return err.code == ERR_FORMAT ? EXIT_STATUS_USAGE : err_exit_status(&err);
	}
	if (o->check_only) {
		ops_print(&ops, &out);
		(void)!output_write(&out);
		status = output_finish(EXIT_STATUS_OK);
	} else {
		named_after(path, ".itr", trace, sizeof(trace));
		status = drive(o, &ops, o->output ? o->output : trace);
	}
	ops_release(&ops);
	return status;
}

static enum exit_status replay(const struct cluster_options *o, const char *path)
{
	struct buf text = BUF_INIT;
	enum exit_status status;
	struct ops ops;
	struct err err;

	if (!drive_text_of_trace(path, &text, &err) || !ops_parse(&ops, buf_span(&text), path, o->kind, &err)) {
		buf_release(&text);
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	if (o->check_only) {
		(void)!output_write(&text);
		status = output_finish(EXIT_STATUS_OK);
	} else if (!o->output) {
		output_message("replay: which trace is to be written? --output=TRACE says it");
		status = EXIT_STATUS_USAGE;
	} else {
		status = drive(o, &ops, o->output);
	}
	buf_release(&text);
	ops_release(&ops);
	return status;
}

static void explored_text(const struct explore_report *r, const char *folder, struct buf *out)
{
	text_add_counted(out, r->tries, "try", "tries");
	if (r->stalled || r->failed)
		buf_printf(out, " (%llu stalled, %llu failed)", (unsigned long long)r->stalled, (unsigned long long)r->failed);
	buf_add_str(out, ", ");
	text_add_counted(out, r->signals, "signal", "signals");
	buf_add_str(out, ", ");
	text_add_counted(out, r->kept, "sequence", "sequences");
	buf_add_str(out, " kept; findings: ");
	text_add_counted(out, r->violations, "violation", "violations");
	buf_add_str(out, ", ");
	text_add_counted(out, r->suspicions, "suspicion", "suspicions");
	buf_printf(out, ", %llu documented; in %s/findings (%s)\n", (unsigned long long)r->documented, folder, r->ended ? r->ended : "it failed");
}

static enum exit_status explore_ops(const struct cluster_options *o, const struct ops *ops, const char *folder)
{
	char servers[4096];
	struct buf contract = BUF_INIT, out = BUF_INIT;
	struct explore_options options = {.base = ops, .folder = folder, .servers = servers, .seed = o->seed, .time_ns = o->time_ns,
		.tries = o->tries, .disk = o->disk, .try_ns = o->try_ns, .repeats = o->repeats, .stop = &stop, .tell = o->quiet ? NULL : tell};
	struct explore_report report = {.tries = 0};
	enum exit_status status;
	struct err err;
	bool ok = true;

	if (o->contract_file)
		ok = file_read(o->contract_file, CONTRACT_MAX, &contract, &err);
	buf_add(&contract, "", 0); /* ends the text */
	options.contract = o->contract_file ? contract.data : NULL;
	provide_tool(servers, sizeof(servers));
	catch_signals();
	ok = ok && explore(&options, &report, &err);
	if (!ok)
		output_message("%s", err.text);
	if (ok || report.tries)
		explored_text(&report, folder, &out);
	(void)!output_write(&out);
	status = !ok ? (report.skipped ? (enum exit_status)EXIT_SKIPPED : err_exit_status(&err))
		 : report.violations ? EXIT_STATUS_VIOLATION
		 : stop		     ? EXIT_STATUS_INCOMPLETE
				     : EXIT_STATUS_OK;
	buf_release(&contract);
	return output_finish(status);
}

static enum exit_status explore_text(const struct cluster_options *o, const char *path)
{
	enum exit_status status;
	char folder[4096];
	struct ops ops;
	struct err err;

	if (!ops_open(&ops, path, o->kind, &err)) {
		output_message("%s", err.text);
		return err.code == ERR_FORMAT ? EXIT_STATUS_USAGE : err_exit_status(&err);
	}
	named_after(path, ".explored", folder, sizeof(folder));
	status = explore_ops(o, &ops, o->output ? o->output : folder);
	ops_release(&ops);
	return status;
}

static enum exit_status reduce_to(const struct cluster_options *o, const struct ops *ops, const char *path)
{
	struct buf contract = BUF_INIT, text = BUF_INIT, out = BUF_INIT;
	struct buf trace = BUF_INIT;
	char servers[4096];
	struct reduce_ops_options options = {.ops = ops, .servers = servers, .class = o->finding, .repeats = o->repeats,
		.time_ns = o->time_ns, .try_ns = o->try_ns, .stop = &stop, .tell = o->quiet ? NULL : tell};
	struct reduce_ops_report report;
	struct err err;
	bool ok = true;

	if (o->contract_file)
		ok = file_read(o->contract_file, CONTRACT_MAX, &contract, &err);
	buf_add(&contract, "", 0); /* ends the text */
	options.contract = o->contract_file ? contract.data : NULL;
	buf_printf(&trace, "%s.itr", path);
	options.trace = trace.data;
	provide_tool(servers, sizeof(servers));
	catch_signals();
	ok = ok && reduce_ops(&options, &text, &report, &err) && file_write(path, buf_span(&text), &err);
	if (ok) {
		buf_printf(&out, "%u of %u operations, statements and options are left for %s after ", report.after, report.before, report.class);
		text_add_counted(&out, report.runs, "run", "runs");
		buf_printf(&out, "; wrote %s%s\n", path, report.stopped ? " (ended early: it may become smaller yet)" : "");
		(void)!output_write(&out);
	} else {
		output_message("%s", err.text);
	}
	buf_release(&trace);
	buf_release(&contract);
	buf_release(&text);
	return output_finish(!ok ? err_exit_status(&err) : report.stopped ? EXIT_STATUS_INCOMPLETE : EXIT_STATUS_OK);
}

/* The operations of a file, or of the run that wrote a trace. */
static bool open_text_or_trace(struct ops *out, const char *path, const char *kind, struct err *err)
{
	size_t len = strlen(path);
	struct buf text = BUF_INIT;
	bool ok;

	if (len < 4 || strcmp(path + len - 4, ".itr") != 0)
		return ops_open(out, path, kind, err);
	ok = drive_text_of_trace(path, &text, err) && ops_parse(out, buf_span(&text), path, kind, err);
	buf_release(&text);
	return ok;
}

static enum exit_status reduce_text(const struct cluster_options *o, const char *path)
{
	enum finding_class class;
	enum exit_status status;
	char small[4096];
	struct ops ops;
	struct err err;

	if (o->finding && !finding_class_named(span_str(o->finding), &class)) {
		output_message("--finding=%s: there is no such class of findings (docs/oracles/sync.md has them)", o->finding);
		return EXIT_STATUS_USAGE;
	}
	if (!open_text_or_trace(&ops, path, o->kind, &err)) {
		output_message("%s", err.text);
		return err.code == ERR_FORMAT ? EXIT_STATUS_USAGE : err_exit_status(&err);
	}
	named_after(path, ".small.ops", small, sizeof(small));
	status = reduce_to(o, &ops, o->output ? o->output : small);
	ops_release(&ops);
	return status;
}

static enum exit_status run(const struct command *command, int argc, char **argv)
{
	struct cluster_options options = {.seed = 1, .time_ns = 600000000000u, .disk = 2ull << 30, .try_ns = 600000000000u, .repeats = 3};
	enum exit_status status = EXIT_STATUS_OK;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (options.kinds)
		return print_kinds();
	if (options.print_kind)
		return print_kind(options.print_kind);
	if (count == 2 && strcmp(args[0], "run") == 0)
		return run_text(&options, args[1]);
	if (count == 2 && strcmp(args[0], "replay") == 0)
		return replay(&options, args[1]);
	if (count > 1 && strcmp(args[0], "coverage") == 0)
		return cluster_coverage(args + 1, count - 1);
	if (count == 2 && strcmp(args[0], "reduce") == 0)
		return reduce_text(&options, args[1]);
	if (count == 2 && strcmp(args[0], "explore") == 0)
		return explore_text(&options, args[1]);
	if (count == 3 && strcmp(args[0], "net") == 0 && strcmp(args[1], "open") == 0) {
		catch_signals();
		return cluster_net_serve(args[2], options.seed, &stop);
	}
	if (count && strcmp(args[0], "net") == 0)
		return cluster_net_ask(options.process, args + 1, count - 1);
	return command_misused(command, "what is to be done? run FILE, replay TRACE, explore FILE, reduce FILE or TRACE, coverage TRACE..., or net");
}

const struct command cluster_command = {
	.name = "cluster",
	.summary = "drives a cluster through operations and faults while it is recorded",
	.arguments = "run FILE | replay TRACE | explore FILE | reduce FILE|TRACE | coverage TRACE... | net [VERB LINKS [VALUE]] | net open NODES",
	.description =
		"Starts a private cluster, puts a load of dependent data on all its nodes, performs\n"
		"the operations of FILE at their moments, and records everything: the sessions, the\n"
		"operations, the nodes' states, ends and logs, and what each node holds when the\n"
		"clients are held.  isotrace check then says what was lost, and where nodes differ.\n"
		"\n"
		"replay runs the text of a trace again.  explore changes its operations and looks for\n"
		"sequences that break the cluster: those that brought something new are changed further.\n"
		"reduce leaves out operations as long as the same class of finding comes.\n"
		"coverage tells which blocks of the servers' library traces reached.\n"
		"\n"
		"net shows and changes the links between the nodes of a cluster that runs: cut, delay,\n"
		"loss, duplicate, reorder, rate, heal.",
	.options = cluster_table,
	.examples = cluster_examples,
	.run = run,
	.files = true,
};
