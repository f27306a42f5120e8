/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isotrace check: is this history isolated as it should be?  Our own traces go to the oracle adya
 * and are judged by the contract of the server; other tools' histories go to the oracle values.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "adya/adya.h"
#include "base/output.h"
#include "commands.h"
#include "contract.h"
#include "history/load.h"
#include "execution/execution.h"
#include "import/import.h"
#include "joint.h"
#include "mvcc/mvcc.h"
#include "trace/value.h"
#include "values/check.h"
#include "verdict_out.h"
#include "witness.h"

enum check_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT };
static const char *const format_words[] = {"text", "json", "junit", NULL};
enum check_oracle { ORACLE_AUTO, ORACLE_ADYA, ORACLE_MVCC, ORACLE_ALL };
static const char *const oracle_words[] = {"auto", "adya", "mvcc", "all", NULL};
static const char *const fail_words[] = {"violation", "suspicion", "documented", "none", NULL};
/* In the order of enum import_format, behind the one for our own traces. */
static const char *const from_words[] = {"trace", "elle", "elle-json", "plume", "awdit", "dbcop",
	"dbcop-json", "cobra", "viper", "chronos", NULL};

struct check_options {
	int format, from, oracle;
	int fail_on; /* enum fail_on */
	const char *level;
	const char *contract, *contract_file;
	bool salvage, no_strong;
	uint64_t examples, budget;
	struct output_options output;
};

/* Names that people use for levels. */
static const struct {
	const char *alias, *level;
} aliases[] = {
	{"read-uncommitted", "PL-1"},
	{"read-committed", "PL-2"},
	{"consistent-view", "PL-2+"},
	{"repeatable-read", "PL-2.99"},
	{"snapshot-isolation", "PL-SI"},
	{"serializable", "PL-3"},
	{"strong-session-snapshot-isolation", "strong-session-PL-SI"},
	{"strong-session-serializable", "strong-session-PL-3"},
	{"strong-snapshot-isolation", "strong-PL-SI"},
	{"strict-serializable", "strong-PL-3"},
};

static const char *level_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		if (strcmp(aliases[i].alias, name) == 0)
			return aliases[i].level;
	}
	return name;
}

/* Findings that do not refute the level asked for are allowed by it. */
static void ask_for(struct verdict *verdict, const char *level)
{
	for (size_t i = 0; i < verdict->finding_count; i++) {
		struct finding *f = &verdict->findings[i];

		if (values_level_implies(level, f->level))
			continue;
		/* Broken reads break every level of Biswas and Enea's too. */
		if (strncmp(level, "be-", 3) == 0 && strcmp(f->level, "PL-2") == 0 &&
			f->edge_count == 0)
			continue;
		f->severity = SEVERITY_DOCUMENTED;
		f->rule = "allowed by the level asked for";
	}
	verdict_sort(verdict);
}

static bool has_level(const struct verdict *verdict, const char *level)
{
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (strcmp(verdict->levels[i].name, level) == 0)
			return true;
	}
	return false;
}

/* The end of every check: what it comes to, and out with it. */
static enum exit_status conclude(const struct command *command, const struct check_options *options,
	struct verdict_context *context, struct verdict *verdict)
{
	struct buf out = BUF_INIT;
	struct json json;

	context->fail_on = (enum fail_on)options->fail_on;
	context->color = output_color((enum output_when)options->output.color);
	context->level = options->level ? level_named(options->level) : NULL;
	if (context->level && !has_level(verdict, context->level))
		return command_misused(command,
			"level %s: not a level, or not one that this history can be judged by",
			options->level);
	if (context->level && verdict->contract)
		context->fail_on = FAIL_ON_NONE; /* the level decides, not the contract */
	else if (context->level)
		ask_for(verdict, context->level);
	verdict_conclude(context, verdict);
	switch ((enum check_format)options->format) {
	case FORMAT_TEXT:
		verdict_text(&out, context, verdict);
		break;
	case FORMAT_JSON:
		json_init(&json, &out, 2);
		verdict_json(&json, context, verdict);
		buf_add_char(&out, '\n');
		break;
	case FORMAT_JUNIT:
		buf_add_str(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
		verdict_junit(&out, context, verdict);
		buf_add_str(&out, "</testsuites>\n");
		break;
	}
	(void)!output_write(&out);
	buf_release(&out);
	return context->status;
}

/* ---- other tools' histories ---- */

static enum exit_status check_values(
	const struct command *command, const struct check_options *options, const char *path)
{
	enum import_format format = (enum import_format)(options->from - 1);
	struct verdict_context context = {.input = path, .format = from_words[options->from]};
	struct values_options judge = {
		.examples = (uint32_t)options->examples, .budget = options->budget};
	struct values v = {0};
	struct verdict verdict;
	enum exit_status status;
	struct err err;

	if (!import_path(format, path, &v, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	verdict_init(&verdict);
	values_judge(&v, &judge, &verdict);
	context.transactions = v.txn_count;
	context.operations = v.op_count;
	status = conclude(command, options, &context, &verdict);
	verdict_release(&verdict);
	values_release(&v);
	return status;
}

/* ---- traces ---- */

/* The value of a variable in the trace's server record. */
static bool server_variable_is_on(const struct history *history, const char *name)
{
	struct mp mp = mp_over(history->server_ref);
	struct record_server server;
	uint32_t kind, left, count;

	if (!history->server_ref.ptr || !record_begin(&mp, &kind, &left) || kind != RECORD_SERVER ||
		!record_server_read(&mp, left, &server))
		return false;
	mp = mp_over(server.variables);
	count = mp_map(&mp);
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct value key, value;

		if (!value_read(&mp, &key) || !value_read(&mp, &value))
			break;
		if (span_eq_str(key.bytes, name))
			return span_ieq_str(value.bytes, "ON") || span_eq_str(value.bytes, "1") ||
			       (value.type == VALUE_UINT && value.u == 1);
	}
	return false;
}

static bool read_contract_file(struct contract *out, const char *path, struct err *err)
{
	char text[64 * 1024];
	FILE *file = fopen(path, "rb");
	size_t len;

	if (!file)
		return err_set_errno(err, errno, "cannot open the contract %s", path);
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (len == sizeof(text))
		return err_set(err, ERR_LIMIT, "%s is larger than any contract (64 KiB)", path);
	return contract_parse(out, span_of(text, len), path, err);
}

static bool choose_contract(struct contract *out, const struct check_options *options,
	const struct history *history, struct err *err)
{
	if (options->contract_file)
		return read_contract_file(out, options->contract_file, err);
	if (options->contract)
		return contract_builtin(out, options->contract, err);
	return contract_builtin(out,
		contract_for(strtab_get(&history->strings, history->flavour),
			server_variable_is_on(history, "innodb_snapshot_isolation")),
		err);
}

static void show_progress(void *data, uint64_t done, uint64_t all)
{
	progress_update(data, done, all);
}

static bool load_trace(struct history *history, const struct check_options *options,
	const char *path, struct err *err)
{
	struct progress progress;
	struct history_load_options load = {
		.salvage = options->salvage, .progress = show_progress, .progress_data = &progress};
	bool loaded;

	progress_begin(&progress, (enum output_when)options->output.progress, "reading", false);
	loaded = history_load(history, path, &load, err);
	progress_end(&progress);
	return loaded;
}

/* The solver reads statements and answers, not versions.  *ran is false when the trace has no
 * initial rows and the oracle was not asked for. */
static bool check_mvcc(const struct check_options *options, const char *path,
	const struct contract *contract, struct verdict *verdict, bool *ran, struct err *err)
{
	struct execution_load_options load = {.salvage = options->salvage};
	struct execution execution = {0};
	struct schedule schedule;

	if (!execution_load(&execution, path, &load, err))
		return false;
	*ran = options->oracle != ORACLE_AUTO;
	for (size_t i = 0; i < execution.table_count; i++)
		*ran |= execution.tables[i].has_initial;
	if (*ran) {
		schedule_init(&schedule, &execution);
		mvcc_check(&schedule,
			&(struct mvcc_options){.contract = contract,
				.per_class_max = (uint32_t)options->examples,
				.budget = options->budget},
			verdict);
		schedule_release(&schedule);
	}
	execution_release(&execution);
	return true;
}

static void check_adya(const struct check_options *options, const struct history *history,
	const struct contract *contract, struct verdict *verdict)
{
	adya_check(history,
		&(struct adya_options){.contract = contract,
			.session = !options->no_strong,
			.realtime = !options->no_strong,
			.per_class_max = (uint32_t)options->examples,
			.budget = options->budget},
		verdict);
}

/* Probes tell versions, which adya needs; without them the solver finds them itself. */
static bool check_oracles(const struct check_options *options, const char *path,
	const struct history *history, const struct contract *contract, struct verdict *verdict,
	struct err *err)
{
	bool solved = false;

	if (options->oracle == ORACLE_MVCC || options->oracle == ORACLE_ALL ||
		(options->oracle == ORACLE_AUTO && history->counts.probes == 0)) {
		if (!check_mvcc(options, path, contract, verdict, &solved, err))
			return false;
	}
	if (options->oracle == ORACLE_ADYA || options->oracle == ORACLE_ALL ||
		(options->oracle == ORACLE_AUTO && !solved))
		check_adya(options, history, contract, verdict);
	verdict_join(verdict);
	verdict_sort(verdict);
	return true;
}

static enum exit_status check_trace(
	const struct command *command, const struct check_options *options, const char *path)
{
	struct verdict_context context = {.input = path, .format = "trace"};
	struct history history = {0};
	struct contract contract;
	struct verdict verdict;
	enum exit_status status;
	struct err err;

	err_clear(&err);
	if (!load_trace(&history, options, path, &err) ||
		!choose_contract(&contract, options, &history, &err)) {
		output_message("%s", err.text);
		if (err.code == ERR_FORMAT)
			output_message("a history of another tool needs --from, see isotrace check "
				       "--help");
		history_release(&history);
		return err_exit_status(&err);
	}
	verdict_init(&verdict);
	if (!check_oracles(options, path, &history, &contract, &verdict, &err)) {
		output_message("%s", err.text);
		verdict_release(&verdict);
		history_release(&history);
		return err_exit_status(&err);
	}
	witness_fetch(&history, &verdict);
	context.transactions = history.txn_count;
	context.operations = history.op_count;
	context.sessions = history.session_count;
	context.objects = history.object_count;
	context.damaged = !history.complete;
	context.server = strtab_get(&history.strings, history.server_version);
	if (context.server.len == 0)
		context.server = SPAN_NONE;
	for (uint32_t t = 0; t < history.txn_count; t++)
		context.committed += history.txns[t].outcome == TXN_COMMITTED;
	status = conclude(command, options, &context, &verdict);
	verdict_release(&verdict);
	history_release(&history);
	return status;
}

static enum exit_status check_run(const struct command *command, int argc, char **argv)
{
	struct check_options options = {.examples = 5};
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count != 1)
		return command_misused(
			command, count ? "check takes one history" : "which history?");
	return options.from == 0 ? check_trace(command, &options, args[0])
				 : check_values(command, &options, args[0]);
}

static const struct option_def check_table[] = {
	OPTION_HEADING("Input"),
	{.name = "from",
		.argument = "FORMAT",
		OPTION_CHOICE(struct check_options, from),
		.choices = from_words,
		.preset = "trace",
		.help = "the tool whose history this is"},
	{.name = "salvage",
		OPTION_FLAG(struct check_options, salvage),
		.help = "go on after damage in the middle of a trace; the gap is counted"},
	OPTION_HEADING("Judgement"),
	{.name = "oracle",
		.argument = "NAME",
		OPTION_CHOICE(struct check_options, oracle),
		.choices = oracle_words,
		.preset = "adya where the trace has probes, else mvcc where it has initial rows",
		.help = "traces: adya (versions from probes), mvcc (the schedule executed again "
			"on a model), or all"},
	{.name = "contract",
		.argument = "NAME",
		OPTION_STRING(struct check_options, contract),
		.preset = "by the server in the trace",
		.help = "what was promised, for traces: innodb, innodb-si, tidb-pessimistic, or "
			"adya "
			"(the textbook levels)"},
	{.name = "contract-file",
		.argument = "FILE",
		OPTION_STRING(struct check_options, contract_file),
		.files = true,
		.help = "a contract of your own"},
	{.name = "fail-on",
		.argument = "WHAT",
		OPTION_CHOICE(struct check_options, fail_on),
		.choices = fail_words,
		.preset = "violation",
		.help = "the least severity that makes the exit status 1"},
	{.name = "no-strong",
		OPTION_FLAG(struct check_options, no_strong),
		.help = "traces: leave out the levels with session and real-time order"},
	{.name = "level",
		.argument = "LEVEL",
		OPTION_STRING(struct check_options, level),
		.help = "the level that must hold: PL-3 or serializable, PL-SI or "
			"snapshot-isolation, "
			"be-CC, strong-session-PL-3 ...; without it every level that the history "
			"can be "
			"judged by"},
	{.name = "budget",
		.argument = "N",
		OPTION_UINT(struct check_options, budget),
		.help = "edges that the search for a shortest witness may look at, a class and "
			"component, which changes no verdict; and steps of the solver, a level, "
			"for histories whose version orders are open: past them the level is "
			"undecided"},
	OPTION_HEADING("Output"),
	{.name = "format",
		.letter = 'f',
		OPTION_CHOICE(struct check_options, format),
		.choices = format_words,
		.preset = "text",
		.help = "text for people, one JSON document, or JUnit for a build server"},
	{.name = "examples",
		.argument = "N",
		OPTION_UINT(struct check_options, examples),
		.min = 1,
		.max = 1000,
		.preset = "5",
		.help = "findings of one class that are listed; the others are counted"},
	OUTPUT_OPTIONS(struct check_options, output),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"check run.itr", "by what the recorded server promises"},
	{"check --oracle=mvcc run.itr", "execute a scenario's run again and compare every answer"},
	{"check --contract=adya run.itr", "by the textbook levels"},
	{"check --from=elle history.edn", "every level, with a witness for each that fails"},
	{"check --from=plume hist.txt --level=snapshot-isolation", "exit status 1 when it fails"},
	{"check --from=cobra logs/ --format=json | jq .levels", "for a program"},
	{NULL, NULL},
};

const struct command check_command = {
	.name = "check",
	.summary = "judges a history: which isolation levels hold, and why the others do not",
	.arguments = "HISTORY",
	.description =
		"Judges a trace that was recorded with instrumentation, or the history of "
		"another tool:\n"
		"Elle and Jepsen (EDN, JSON), Plume and PolySI text, AWDIT text, dbcop "
		"(bincode, JSON),\n"
		"Cobra and Viper logs, Chronos JSON.  Prints the levels that hold and those "
		"that fail, each\n"
		"failure with a shortest witness, one sentence an edge, and what could not be "
		"decided.",
	.options = check_table,
	.examples = examples,
	.run = check_run,
	.files = true,
};
