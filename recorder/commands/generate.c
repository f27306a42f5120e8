/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec generate`: scenarios, or a free-running load, from a model and a seed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/output.h"
#include "base/text.h"
#include "commands/case_options.h"
#include "commands/connection_options.h"
#include "commands/grammar_options.h"
#include "commands/model_options.h"
#include "commands/private_server.h"
#include "commands/recorder_commands.h"
#include "commands/run_options.h"
#include "generate/generate.h"
#include "load/load.h"

struct generate_command_options {
	struct model_options model;
	const char *output, *dialect;
	uint64_t seed, first, count, orders;
	bool models, print_model, quiet;
	struct grammar_options grammar;
	/* A free-running load. */
	struct connection_options connection;
	const char *server, *database, *access;
	uint64_t sessions, time, transactions, rows;
	bool run, drop_database, keep_database, use_database;
};

/* What was made. */
struct made {
	uint64_t cases, statements, ns;
};

/* Into its file of the folder, or to the output. */
static bool put_case(const struct generate_command_options *o, const struct scenario *s, struct err *err)
{
	struct span id = scenario_meta(s, "id");
	struct buf text = BUF_INIT, path = BUF_INIT;
	bool ok;

	scenario_print(s, &text);
	buf_printf(&path, "%s/%.*s.scn", o->output ? o->output : "", SPAN_ARG(id));
	ok = o->output ? file_write(path.data, buf_span(&text), err) : output_write(&text);
	buf_release(&text);
	buf_release(&path);
	return ok;
}

static bool make_all(const struct generate_command_options *o, const struct generate_options *options, struct made *made,
	struct err *err)
{
	struct progress progress;
	bool ok = true;

	progress_begin(&progress, OUTPUT_AUTO, "generating", !o->output);
	progress.counts = true;
	for (uint64_t i = 0; i < o->count && ok; i++) {
		uint64_t begin = clock_mono_ns();
		struct case_tags tags;
		struct scenario s;

		progress_update(&progress, i, o->count);
		ok = generate_case(options, o->first + i, &s, &tags, err);
		if (!ok)
			break;
		made->ns += clock_mono_ns() - begin;
		made->cases++;
		made->statements += s.schedule.count;
		ok = put_case(o, &s, err);
		scenario_release(&s);
	}
	progress_end(&progress);
	return ok;
}

static void say_made(const struct generate_command_options *o, const struct made *made)
{
	struct buf line = BUF_INIT;

	text_add_counted(&line, made->cases, "case", "cases");
	buf_add_str(&line, ", ");
	text_add_counted(&line, made->statements, "statement", "statements");
	if (made->ns) {
		buf_add_str(&line, ", ");
		text_add_count(&line, made->statements * 1000000000 / made->ns);
		buf_add_str(&line, " statements a second");
	}
	buf_printf(&line, "; run them with: %s run -o traces %s/*.scn\n", output_called_as(), o->output);
	(void)!output_write(&line);
	buf_release(&line);
}

static enum exit_status list_models(void)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; model_names[i]; i++) {
		const char *about = strchr(model_text(model_names[i]), '\n') + 1;

		/* The line after the licence: "# name: what it is for". */
		buf_printf(&out, "%.*s\n", (int)strcspn(about + 2, "\n"), about + 2);
	}
	(void)!output_write(&out);
	buf_release(&out);
	return output_finish(EXIT_STATUS_OK);
}

/* As it was learnt, or whole. */
static enum exit_status print_model(const struct model *model, struct buf *learnt)
{
	if (!learnt->len)
		model_print(model, learnt);
	(void)!output_write(learnt);
	buf_release(learnt);
	return output_finish(EXIT_STATUS_OK);
}

/* ---- a free-running load ---- */

static void draw_progress(void *ctx, uint64_t done, uint64_t all)
{
	progress_update(ctx, done, all);
}

/* "zipf(0.4)", "stratified", "stratified zipf(0.4)"; NULL: as the model says. */
static bool choose_access(struct load_options *options, const char *access, struct err *err)
{
	struct buf text = BUF_INIT;
	struct model model;
	bool ok = true;

	options->access = options->model->features[FEATURE_ACCESS].spread;
	if (!access)
		return true;
	if (strncmp(access, "stratified", 10) == 0) {
		options->stratified = true;
		access += 10;
		access += *access == ' ';
	}
	if (*access) {
		buf_printf(&text, "[data]\naccess = %s\n", access);
		ok = model_parse(&model, buf_span(&text), "--access", err);
		if (ok)
			options->access = model.features[FEATURE_ACCESS].spread;
		buf_release(&text);
	}
	return ok;
}

static void add_classes(const struct load_report *r, struct buf *out)
{
	uint64_t all = 0, touched = 0;

	for (unsigned c = 0; c < LOAD_CLASS_COUNT; c++) {
		all += r->all[c];
		touched += r->touched[c];
	}
	buf_printf(out, "alpha %.5f: %" PRIu64 " of %" PRIu64 " statements touched a row\n",
		all ? (double)touched / (double)all : 0, touched, all);
	for (unsigned c = 0; c < LOAD_CLASS_COUNT; c++) {
		if (!r->all[c])
			continue;
		buf_printf(out, "  %-16s %.5f of %" PRIu64, load_class_words[c], (double)r->touched[c] / (double)r->all[c], r->all[c]);
		for (unsigned m = 0; m < LOAD_MISS_COUNT; m++)
			if (r->misses[c][m])
				buf_printf(out, "; %s: %" PRIu64, load_miss_words[m], r->misses[c][m]);
		buf_add_char(out, '\n');
	}
}

static void say_load(const struct load_report *r)
{
	double seconds = (double)r->run_ns / 1e9, loading = (double)r->load_ns / 1e9;
	struct buf out = BUF_INIT;

	if (r->rows_loaded)
		buf_printf(&out, "loaded %" PRIu64 " rows in %.1f s, %.0f a second\n", r->rows_loaded, loading,
			(double)r->rows_loaded / (loading + 1e-9));
	buf_printf(&out, "%" PRIu64 " transactions, %" PRIu64 " committed, %" PRIu64 " statements in %.1f s: %.0f transactions a second\n",
		r->transactions, r->committed, r->statements, seconds, (double)r->transactions / (seconds + 1e-9));
	add_classes(r, &out);
	buf_printf(&out, "beta %.4f: chi-square %.1f with %.0f degrees of freedom, %" PRIu64 " accesses to %" PRIu64 " static rows\n",
		r->fit.beta, r->fit.chi_square, r->fit.freedom, r->fit.accesses, r->fit.rows);
	buf_printf(&out, "distance from the access spread %.5f; honest random accesses have %.5f\n", r->fit.distance,
		r->fit.by_chance);
	(void)!output_write(&out);
	buf_release(&out);
}

static enum exit_status run_load(const struct command *command, const struct generate_command_options *o, const struct model *model)
{
	struct load_options options = {.model = model,
		.seed = o->seed,
		.rows = o->rows,
		.sessions = (unsigned)o->sessions,
		.time_ns = o->time || o->transactions ? o->time : 10000000000u,
		.transactions = o->transactions,
		.target = connection_target(&o->connection),
		.drop_database = o->drop_database || o->server,
		.keep_database = o->keep_database,
		.use_database = o->use_database,
		.stop = &runs_stop,
		.progress = draw_progress};
	struct provided server = {.port = 0};
	struct load_report report;
	struct progress progress;
	struct err err;
	bool skip, ok;

	if (!runs_begin())
		return EXIT_STATUS_INPUT;
	ok = choose_access(&options, o->access, &err) && (!o->server || provide_start(&server, o->server, &skip, &err));
	if (ok) {
		if (o->server)
			provided_target(&server, &options.target);
		options.target.database = o->database;
		progress_begin(&progress, OUTPUT_AUTO, "loading rows", false);
		progress.counts = true;
		options.ctx = &progress;
		ok = load_run(&options, &report, &err);
		progress_end(&progress);
		provide_stop(&server);
	}
	runs_end();
	if (!ok)
		return command_failed(command, &err);
	say_load(&report);
	return output_finish(EXIT_STATUS_OK);
}

static enum exit_status generate(const struct command *command, int argc, char **argv)
{
	struct generate_command_options o = {.dialect = "common", .seed = 1, .count = 1, .orders = 1,
		.connection = connection_defaults(), .database = "isorec_load", .sessions = 4, .rows = 10000};
	struct generate_options options = {.seed = 0};
	struct grammar_files grammar;
	struct dialect dialect;
	struct model model;
	struct made made = {0};
	struct buf learnt = BUF_INIT;
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &o, argc, argv, &args, &count, &status))
		return status;
	if (count)
		return command_misused(command, "generate takes no argument; --model names the model");
	if (o.models)
		return list_models();
	if (!model_options_open(&model, &o.model, &learnt, &err) || !dialect_named(&dialect, o.dialect, &err)) {
		buf_release(&learnt);
		return command_failed(command, &err);
	}
	if (o.print_model)
		return print_model(&model, &learnt);
	buf_release(&learnt);
	if (o.run && o.grammar.yy)
		return command_misused(command, "a free-running load is made of a model, not of a grammar");
	if (o.run)
		return run_load(command, &o, &model);
	if (!grammar_files_open(&grammar, &o.grammar, &err))
		return command_failed(command, &err);
	if (o.output && !runs_folder(o.output))
		return EXIT_STATUS_INPUT;
	options = (struct generate_options){.model = &model, .dialect = &dialect, .seed = o.seed, .orders = o.orders};
	if (grammar.given) {
		options.grammar = &grammar.grammar;
		options.tables = &grammar.tables;
	}
	if (!make_all(&o, &options, &made, &err))
		status = command_failed(command, &err);
	grammar_files_release(&grammar);
	if (status != EXIT_STATUS_OK)
		return status;
	if (o.output && !o.quiet)
		say_made(&o, &made);
	return output_finish(EXIT_STATUS_OK);
}

static const struct option_def generate_table[] = {
	OPTION_HEADING("What is generated"),
	MODEL_OPTIONS(struct generate_command_options, model),
	SEED_OPTION(struct generate_command_options, seed),
	{.name = "count",
		.letter = 'n',
		.argument = "N",
		OPTION_UINT(struct generate_command_options, count),
		.preset = "1",
		.help = "so many cases"},
	{.name = "first",
		.argument = "N",
		OPTION_UINT(struct generate_command_options, first),
		.preset = "0",
		.help = "the number of the first of them: case 17 of a seed can be made alone"},
	ORDERS_OPTION(struct generate_command_options, orders, "1"),
	{.name = "dialect",
		.argument = "RELEASE",
		OPTION_STRING(struct generate_command_options, dialect),
		.preset = "common",
		.help = "SQL of this release, as mariadb-10.11 or mysql-8.0; common: what all of them understand"},
	GRAMMAR_OPTIONS(struct generate_command_options, grammar),
	OPTION_HEADING("A free-running load"),
	{.name = "run",
		OPTION_FLAG(struct generate_command_options, run),
		.help = "make no scenarios, but tables on a server, and run transactions of the model on them in several sessions "
			"at once; the port may be that of isorec proxy, which records it"},
	{.name = "sessions",
		.argument = "N",
		.min = 1,
		.max = LOAD_SESSIONS_MAX,
		OPTION_UINT(struct generate_command_options, sessions),
		.preset = "4",
		.help = "sessions at once"},
	{.name = "time",
		.argument = "TIME",
		OPTION_DURATION(struct generate_command_options, time),
		.preset = "10s",
		.help = "stop after so long"},
	{.name = "transactions",
		.argument = "N",
		OPTION_UINT(struct generate_command_options, transactions),
		.help = "stop after so many transactions of all sessions"},
	{.name = "rows",
		.argument = "N",
		.min = 8,
		.max = LOAD_ROWS_MAX,
		OPTION_UINT(struct generate_command_options, rows),
		.preset = "10000",
		.help = "rows of each table"},
	{.name = "access",
		.argument = "SPREAD",
		OPTION_STRING(struct generate_command_options, access),
		.preset = "as the model says",
		.help = "how accesses spread over rows: uniform, zipf(0.4), hotspot(10%, 90%); stratified before it, or alone: in "
			"equal parts of the spread instead of at random"},
	RUNS_SERVER_OPTION(struct generate_command_options, server),
	CONNECTION_OPTIONS(struct generate_command_options, connection),
	{.name = "database",
		.letter = 'D',
		.argument = "NAME",
		OPTION_STRING(struct generate_command_options, database),
		.preset = "isorec_load",
		.help = "the database to make and to drop afterwards; must not exist"},
	{.name = "drop-database",
		OPTION_FLAG(struct generate_command_options, drop_database),
		.help = "drop a database of that name that is there, with all that is in it"},
	{.name = "keep-database", OPTION_FLAG(struct generate_command_options, keep_database), .help = "leave it there afterwards"},
	{.name = "use-database",
		OPTION_FLAG(struct generate_command_options, use_database),
		.help = "it is there, loaded by an earlier run with --keep-database and the same model, seed and rows"},
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "FOLDER",
		.files = true,
		OPTION_STRING(struct generate_command_options, output),
		.preset = "standard output",
		.help = "a file ID.scn for each case"},
	{.name = "models", OPTION_FLAG(struct generate_command_options, models), .help = "list the built-in models"},
	{.name = "print-model",
		OPTION_FLAG(struct generate_command_options, print_model),
		.help = "print every feature of the model, to begin one of your own"},
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct generate_command_options, quiet),
		.help = "do not say what was made"},
	OPTION_END,
};

static const struct command_example generate_examples[] = {
	{"generate --model tiny --seed 7 --count 100 -o cases", "a hundred small cases"},
	{"generate --print-model --model bank > my.model", "a model to change"},
	{"generate --model my.model --first 17", "one case, to look at"},
	{"generate --like shop.itr --print-model > shop.model", "a model learnt from a recording"},
	{"generate --yy my.yy --zz my.zz --count 100 -o cases", "statements from a grammar of RQG"},
	{"generate --run --model ycsb-sql --sessions 16 --time 30s -P 3306", "a load on a server"},
	{NULL, NULL},
};

const struct command generate_command = {
	.name = "generate",
	.summary = "makes scenarios, or a free-running load, from a model and a seed",
	.arguments = NULL,
	.description = "Makes tables with rows, transactions that conflict, and orders of their statements, as\n"
		       "scenarios that isorec run executes. What is made, and how often, is in the model. The\n"
		       "same model, seed and dialect give the same scenarios on every machine. With --run, tables are\n"
		       "made on a server, and sessions run transactions of the model on them at once.",
	.exit_status = "  0  done\n"
		       "  2  wrong usage\n"
		       "  4  the model cannot be read, a file cannot be written, or the server cannot be used\n"
		       "  5  a bug in isorec; the message says what to report",
	.options = generate_table,
	.examples = generate_examples,
	.run = generate,
};
