/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec generate`: scenarios from a model and a seed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/output.h"
#include "base/text.h"
#include "commands/recorder_commands.h"
#include "commands/run_options.h"
#include "generate/generate.h"

struct generate_command_options {
	const char *model, *output, *dialect;
	uint64_t seed, first, count, orders;
	bool models, print_model, quiet;
};

/* What was made. */
struct made {
	uint64_t cases, statements, ns;
};

static bool write_file(const char *path, const struct buf *text, struct err *err)
{
	FILE *file = fopen(path, "w");
	bool ok = file && fwrite(text->data, 1, text->len, file) == text->len;

	if (file && fclose(file) != 0)
		ok = false;
	return ok || err_set_errno(err, errno, "cannot write %s", path);
}

/* Into its file of the folder, or to the output. */
static bool put_case(const struct generate_command_options *o, const struct scenario *s, struct err *err)
{
	struct span id = scenario_meta(s, "id");
	struct buf text = BUF_INIT, path = BUF_INIT;
	bool ok;

	scenario_print(s, &text);
	buf_printf(&path, "%s/%.*s.scn", o->output ? o->output : "", SPAN_ARG(id));
	ok = o->output ? write_file(path.data, &text, err) : output_write(&text);
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

		/* The line behind the licence: "# name: what it is for". */
		buf_printf(&out, "%.*s\n", (int)strcspn(about + 2, "\n"), about + 2);
	}
	(void)!output_write(&out);
	buf_release(&out);
	return output_finish(EXIT_STATUS_OK);
}

static enum exit_status print_model(const struct model *model)
{
	struct buf out = BUF_INIT;

	model_print(model, &out);
	(void)!output_write(&out);
	buf_release(&out);
	return output_finish(EXIT_STATUS_OK);
}

static enum exit_status generate(const struct command *command, int argc, char **argv)
{
	struct generate_command_options o = {.model = "tiny", .dialect = "common", .seed = 1, .count = 1, .orders = 1};
	struct generate_options options = {.seed = 0};
	struct dialect dialect;
	struct model model;
	struct made made = {0};
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
	if (!model_open(&model, o.model, &err) || !dialect_named(&dialect, o.dialect, &err))
		return command_failed(command, &err);
	if (o.print_model)
		return print_model(&model);
	if (o.output && !runs_folder(o.output))
		return EXIT_STATUS_INPUT;
	options = (struct generate_options){.model = &model, .dialect = &dialect, .seed = o.seed, .orders = o.orders};
	if (!make_all(&o, &options, &made, &err))
		return command_failed(command, &err);
	if (o.output && !o.quiet)
		say_made(&o, &made);
	return output_finish(EXIT_STATUS_OK);
}

static const struct option_def generate_table[] = {
	OPTION_HEADING("What is generated"),
	{.name = "model",
		.letter = 'm',
		.argument = "NAME|FILE",
		.choices = model_names,
		OPTION_STRING(struct generate_command_options, model),
		.preset = "tiny",
		.help = "a built-in model, or a file in the language of docs/workload-models.md"},
	{.name = "seed",
		.argument = "N",
		OPTION_UINT(struct generate_command_options, seed),
		.preset = "1",
		.help = "the same seed gives the same bytes"},
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
	{.name = "orders",
		.argument = "N",
		.min = 1,
		.max = 1000,
		OPTION_UINT(struct generate_command_options, orders),
		.preset = "1",
		.help = "so many cases have the same transactions, each in another order"},
	{.name = "dialect",
		.argument = "RELEASE",
		OPTION_STRING(struct generate_command_options, dialect),
		.preset = "common",
		.help = "SQL of this release, as mariadb-10.11 or mysql-8.0; common: what all of them understand"},
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
	{NULL, NULL},
};

const struct command generate_command = {
	.name = "generate",
	.summary = "makes scenarios from a model and a seed",
	.arguments = NULL,
	.description = "Makes tables with rows, transactions that conflict, and orders of their statements, as\n"
		       "scenarios that isorec run executes. What is made, and how often, is in the model. The\n"
		       "same model, seed and dialect give the same scenarios on every machine.",
	.exit_status = "  0  done\n"
		       "  2  wrong usage\n"
		       "  4  the model cannot be read, or a file cannot be written\n"
		       "  5  a bug in isorec; the message says what to report",
	.options = generate_table,
	.examples = generate_examples,
	.run = generate,
};
