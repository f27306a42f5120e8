/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/command.h"

#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/output.h"
#include "base/text.h"
#include "base/version.h"

const char *const output_when_words[] = {"auto", "always", "never", NULL};

static const struct cli_program *running; /* set once, by program_main */

static const struct command help_command, completion_command;
static const struct command *const own_commands[] = {&help_command, &completion_command, NULL};

/* ---- the list of commands ---- */

enum { COMMANDS_MAX = 40 };

/* The program's commands and our own, NULL at the end. */
static void all_commands(const struct command *out[COMMANDS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; running->commands[i]; i++) {
		CHECK(count < COMMANDS_MAX - ARRAY_LEN(own_commands));
		out[count++] = running->commands[i];
	}
	for (size_t i = 0; i < ARRAY_LEN(own_commands); i++)
		out[count++] = own_commands[i];
}

static const struct command *find_command(const char *name)
{
	const struct command *commands[COMMANDS_MAX];

	all_commands(commands);
	for (size_t i = 0; commands[i]; i++) {
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i];
	}
	return NULL;
}

static enum exit_status unknown_command(const char *name)
{
	const struct command *commands[COMMANDS_MAX];
	const char *words[COMMANDS_MAX];
	const char *near;
	size_t count;

	all_commands(commands);
	for (count = 0; commands[count]; count++)
		words[count] = commands[count]->name;
	words[count] = NULL;
	near = nearest_word(name, words);
	if (near)
		output_message("there is no command '%s'; did you mean '%s'?", name, near);
	else
		output_message("there is no command '%s'", name);
	output_message("try '%s help' for the list", running->name);
	return EXIT_STATUS_USAGE;
}

/* ---- help ---- */

static size_t help_columns(void)
{
	unsigned columns = output_columns();

	return columns > 100 ? 100 : columns < 60 ? 60 : columns;
}

static void program_help(struct buf *out)
{
	const struct command *commands[COMMANDS_MAX];

	all_commands(commands);
	buf_printf(out, "Usage: %s COMMAND [OPTION...] [ARGUMENT...]\n\n%s\n\nCommands:\n",
		running->name, running->description);
	for (size_t i = 0; commands[i]; i++)
		buf_printf(out, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
	buf_printf(out,
		"\n'%s help COMMAND' shows a command's options with examples.\n\nExit "
		"status:\n%s\n",
		running->name, running->exit_status);
}

static void command_help(struct buf *out, const struct command *command)
{
	buf_printf(out, "Usage: %s %s [OPTION...]%s%s\n\n%s\n\n", running->name, command->name,
		command->arguments ? " " : "", command->arguments ? command->arguments : "",
		command->description);
	if (!command->options || option_is_end(command->options) || command->options->name)
		buf_add_str(out, "Options:\n");
	options_help(out, command->options, help_columns());
	if (command->examples && command->examples->line)
		buf_add_str(out, "\nExamples:\n");
	for (const struct command_example *e = command->examples; e && e->line; e++)
		buf_printf(out, "  %s %s\n      %s\n", running->name, e->line, e->what);
	buf_printf(out, "\nExit status:\n%s\n",
		command->exit_status ? command->exit_status : running->exit_status);
}

static enum exit_status print(struct buf *out)
{
	/* A failed write is reported at the end. */
	(void)!output_write(out);
	buf_release(out);
	return EXIT_STATUS_OK;
}

static enum exit_status print_version(void)
{
	struct buf out = BUF_INIT;

	buf_printf(&out, "%s %s\n", running->name, ISOTRACE_VERSION);
	return print(&out);
}

struct help_options {
	bool mdoc;
};

static const struct option_def help_options[] = {
	{.name = "mdoc",
		OPTION_FLAG(struct help_options, mdoc),
		.help = "print the options as the manual page has them"},
	OPTION_END,
};

static enum exit_status help_run(const struct command *command, int argc, char **argv)
{
	struct help_options options = {false};
	struct buf out = BUF_INIT;
	enum exit_status status;
	const struct command *about = NULL;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count > 1)
		return command_misused(command, "help takes one command");
	if (count == 1) {
		about = find_command(args[0]);
		if (!about)
			return unknown_command(args[0]);
	}
	if (options.mdoc && !about)
		return command_misused(command, "--mdoc needs a command");
	if (options.mdoc)
		options_mdoc(&out, about->options);
	else if (about)
		command_help(&out, about);
	else
		program_help(&out);
	return print(&out);
}

static const struct command help_command = {
	.name = "help",
	.summary = "help about a command",
	.arguments = "[COMMAND]",
	.description = "Explains a command and its options, or lists the commands.",
	.options = help_options,
	.run = help_run,
};

/* ---- completion ---- */

static void bash_command(struct buf *out, const struct command *command)
{
	buf_printf(out, "\t%s)\n\t\tcase $prev in\n", command->name);
	for (const struct option_def *def = command->options; !option_is_end(def); def++) {
		if (!def->name || def->type == OPTION_TYPE_FLAG)
			continue;
		buf_printf(out, "\t\t--%s", def->name);
		if (def->letter && !(def->flags & OPTION_OPTIONAL))
			buf_printf(out, " | -%c", def->letter);
		buf_add_str(out, ") kind=");
		if (def->choices) {
			buf_add_str(out, "words list='");
			for (int i = 0; def->choices[i]; i++)
				buf_printf(out, "%s%s", i ? " " : "", def->choices[i]);
			buf_add_char(out, '\'');
		} else {
			buf_add_str(out, def->files ? "files" : "value");
		}
		buf_add_str(out, " ;;\n");
	}
	buf_add_str(out, "\t\tesac\n\t\toptions='");
	for (const struct option_def *def = command->options; !option_is_end(def); def++) {
		if (def->name)
			buf_printf(out, "--%s%s ", def->name,
				def->type == OPTION_TYPE_FLAG || def->flags & OPTION_OPTIONAL
					? ""
					: "=");
	}
	if (!option_find(command->options, "memory"))
		buf_add_str(out, "--memory= ");
	buf_printf(
		out, "--help --version'\n\t\targuments=%s ;;\n", command->files ? "files" : "none");
}

static void bash_completion(struct buf *out, const struct command *const *commands)
{
	const char *name = running->name;

	buf_printf(out, "# bash completion for %s, made by: %s completion bash\n_%s()\n{\n", name,
		name, name);
	buf_add_str(out,
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tlocal command= kind= list= options= arguments=\n"
		"\tCOMPREPLY=()\n"
		"\t# bash splits --name=value at the equals sign\n"
		"\tif [[ $cur == = ]]; then\n"
		"\t\tcur=\n"
		"\telif [[ $prev == = && $COMP_CWORD -ge 2 ]]; then\n"
		"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
		"\tfi\n"
		"\t[[ $COMP_CWORD -gt 1 ]] && command=${COMP_WORDS[1]}\n"
		"\tcase $command in\n"
		"\t'') kind=words list='");
	for (size_t i = 0; commands[i]; i++)
		buf_printf(out, "%s ", commands[i]->name);
	buf_add_str(out, "--help --version' ;;\n");
	for (size_t i = 0; commands[i]; i++)
		bash_command(out, commands[i]);
	buf_add_str(out, "\tesac\n\t[[ $command == help ]] && kind=words list='");
	for (size_t i = 0; commands[i]; i++)
		buf_printf(out, "%s%s", i ? " " : "", commands[i]->name);
	buf_add_str(out, "'\n"
			 "\t[[ $command == completion ]] && kind=words list='bash zsh'\n"
			 "\tif [[ -z $kind ]]; then\n"
			 "\t\tif [[ $cur == -* ]]; then\n"
			 "\t\t\tkind=words list=$options\n"
			 "\t\telse\n"
			 "\t\t\tkind=$arguments\n"
			 "\t\tfi\n"
			 "\tfi\n"
			 "\tcase $kind in\n"
			 "\twords) mapfile -t COMPREPLY < <(compgen -W \"$list\" -- \"$cur\") ;;\n"
			 "\tfiles)\n"
			 "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
			 "\t\tcompopt -o filenames 2>/dev/null ;;\n"
			 "\tesac\n"
			 "\t# an option that wants a value: no blank after its equals sign\n"
			 "\tif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == --*= ]]; then\n"
			 "\t\tcompopt -o nospace 2>/dev/null\n"
			 "\tfi\n"
			 "}\n");
	buf_printf(out, "complete -F _%s %s\n", name, name);
}

/* In single quotes; brackets and colons mean something to _arguments. */
static void add_zsh_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_add_str(out, "'\\''");
		else if (strchr("[]:\\", *text))
			buf_printf(out, "\\%c", *text);
		else
			buf_add_char(out, *text);
	}
}

static void zsh_option(struct buf *out, const struct option_def *def)
{
	buf_printf(
		out, " \\\n\t\t\t'%s--%s", def->type == OPTION_TYPE_STRINGS ? "*" : "", def->name);
	if (def->type != OPTION_TYPE_FLAG)
		buf_add_str(out, def->flags & OPTION_OPTIONAL ? "=-" : "=");
	buf_add_char(out, '[');
	add_zsh_text(out, def->help);
	buf_add_char(out, ']');
	if (def->type != OPTION_TYPE_FLAG) {
		buf_add_str(out, def->flags & OPTION_OPTIONAL ? "::" : ":");
		add_zsh_text(out, def->argument ? def->argument : "value");
		buf_add_char(out, ':');
		if (def->choices) {
			buf_add_char(out, '(');
			for (int i = 0; def->choices[i]; i++)
				buf_printf(out, "%s%s", i ? " " : "", def->choices[i]);
			buf_add_char(out, ')');
		} else if (def->files) {
			buf_add_str(out, "_files");
		}
	}
	buf_add_char(out, '\'');
}

static void zsh_completion(struct buf *out, const struct command *const *commands)
{
	const char *name = running->name;

	buf_printf(out,
		"#compdef %s\n# zsh completion for %s, made by: %s completion zsh\n_%s()\n{\n"
		"\tlocal -a commands\n\tcommands=(\n",
		name, name, name, name);
	for (size_t i = 0; commands[i]; i++) {
		buf_printf(out, "\t\t'%s:", commands[i]->name);
		add_zsh_text(out, commands[i]->summary);
		buf_add_str(out, "'\n");
	}
	buf_add_str(out, "\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command "
			 "commands\n\t\treturn\n\tfi\n"
			 "\tshift words\n\t((CURRENT--))\n\tcase $words[1] in\n");
	for (size_t i = 0; commands[i]; i++) {
		buf_printf(out, "\t%s)\n\t\t_arguments", commands[i]->name);
		for (const struct option_def *def = commands[i]->options; !option_is_end(def);
			def++) {
			if (def->name)
				zsh_option(out, def);
		}
		if (!option_find(commands[i]->options, "memory"))
			buf_add_str(out, " \\\n\t\t\t'--memory=[end rather than take more memory]:size:'");
		buf_add_str(out, " \\\n\t\t\t'(-)--help[show this help]'");
		if (commands[i] == &help_command)
			buf_add_str(out, " \\\n\t\t\t'1:command:->commands'");
		else if (commands[i] == &completion_command)
			buf_add_str(out, " \\\n\t\t\t'1:shell:(bash zsh)'");
		else if (commands[i]->files)
			buf_add_str(out, " \\\n\t\t\t'*:file:_files'");
		if (commands[i] == &help_command)
			buf_add_str(out, " && return\n\t\t_describe command commands");
		buf_add_str(out, " ;;\n");
	}
	buf_printf(out,
		"\tesac\n}\nif [[ $funcstack[1] == _%s ]]; then\n\t_%s \"$@\"\nelse\n"
		"\tcompdef _%s %s\nfi\n",
		name, name, name, name);
}

static enum exit_status completion_run(const struct command *command, int argc, char **argv)
{
	const struct command *commands[COMMANDS_MAX];
	struct buf out = BUF_INIT;
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, NULL, argc, argv, &args, &count, &status))
		return status;
	all_commands(commands);
	if (count == 1 && strcmp(args[0], "bash") == 0)
		bash_completion(&out, commands);
	else if (count == 1 && strcmp(args[0], "zsh") == 0)
		zsh_completion(&out, commands);
	else
		return command_misused(command, "name one shell: bash or zsh");
	return print(&out);
}

static const struct option_def no_options[] = {OPTION_END};

static const struct command_example completion_examples[] = {
	{"completion bash >~/.local/share/bash-completion/completions/isotrace",
		"for bash, from the next shell on (the package bash-completion reads that folder)"},
	{"completion zsh >~/.zfunc/_isotrace", "for zsh, where ~/.zfunc is in $fpath"},
	{NULL, NULL},
};

static const struct command completion_command = {
	.name = "completion",
	.summary = "a script that completes commands and options in bash or zsh",
	.arguments = "bash|zsh",
	.description = "Prints a completion script for the shell, made from the table of options.",
	.options = no_options,
	.examples = completion_examples,
	.run = completion_run,
};

/* ---- dispatch ---- */

enum exit_status command_misused(const struct command *command, const char *fmt, ...)
{
	struct buf text = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	output_message("%s", text.data);
	output_message("try '%s %s --help'", running->name, command->name);
	buf_release(&text);
	return EXIT_STATUS_USAGE;
}

enum exit_status command_failed(const struct command *command, const struct err *err)
{
	if (err->code == ERR_USAGE)
		return command_misused(command, "%s", err->text);
	output_message("%s", err->text);
	return err_exit_status(err);
}

/* ---- option files ---- */

const char *const client_option_groups[] = {"client", "client-server", "client-mariadb", NULL};

/* What the running command's options point to. */
static struct option_files from_files;

static bool known_to_a_command(const char *key)
{
	for (size_t i = 0; running->commands[i]; i++)
		if (option_find(running->commands[i]->options, key))
			return true;
	return false;
}

/* The options that stand first and are about the files; parsed once more with the others. */
static struct option_file_options leading_options(int argc, char **argv)
{
	struct option_file_options how = {NULL, NULL, NULL, false, false};

	for (int i = 1; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		const char *value = strchr(argv[i], '=');
		size_t len = value ? (size_t)(value - argv[i]) : strlen(argv[i]);
		const struct {
			const char *name;
			const char **to;
		} words[] = {
			{"--defaults-file", &how.file},
			{"--defaults-extra-file", &how.extra_file},
			{"--defaults-group-suffix", &how.group_suffix},
		};
		bool found = false;

		for (size_t k = 0; k < ARRAY_LEN(words); k++) {
			if (strlen(words[k].name) != len || strncmp(argv[i], words[k].name, len) != 0)
				continue;
			found = true;
			if (!value && i + 1 < argc)
				*words[k].to = argv[++i];
			else if (value)
				*words[k].to = value + 1;
			break;
		}
		if (strcmp(argv[i], "--no-defaults") == 0)
			found = how.none = true;
		if (strcmp(argv[i], "--print-defaults") == 0)
			found = how.print = true;
		if (!found)
			break;
	}
	return how;
}

static bool read_option_files(const struct command *command, void *target,
	const struct option_file_options *how, struct err *err)
{
	char own[80];
	const char *const names[] = {running->group, own, NULL};
	struct option_groups groups = {command->client_groups, names, known_to_a_command};
	char *line, *state = NULL;

	snprintf(own, sizeof(own), "%s-%s", running->group, command->name);
	if (!option_files_read(&from_files, command->options, target, &groups, how, err))
		return false;
	if (from_files.warnings.len)
		for (line = strtok_r(from_files.warnings.data, "\n", &state); line;
			line = strtok_r(NULL, "\n", &state))
			output_message("%s", line);
	return true;
}

static enum exit_status print_defaults(const struct command *command)
{
	struct buf out = BUF_INIT;

	buf_printf(&out, "# from option files\n%s# defaults of the others\n",
		from_files.set.len ? from_files.set.data : "");
	for (const struct option_def *def = command->options; !option_is_end(def); def++)
		if (def->name && def->preset)
			buf_printf(&out, "--%s: %s\n", def->name, def->preset);
	return print(&out);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_file_options(
	const struct option_file_options *a, const struct option_file_options *b)
{
	return same_text(a->file, b->file) && same_text(a->extra_file, b->extra_file) &&
	       same_text(a->group_suffix, b->group_suffix) && a->none == b->none &&
	       a->print == b->print;
}

bool command_parse(const struct command *command, void *target, int argc, char **argv, char ***args,
	int *count, enum exit_status *status)
{
	struct buf out = BUF_INIT;
	struct option_file_options how = {NULL, NULL, NULL, false, false};
	struct err err;
	int first;

	err_clear(&err);
	if (command->client_groups) {
		how = leading_options(argc, argv);
		if (!read_option_files(command, target, &how, &err)) {
			*status = command_misused(command, "%s", err.text);
			return false;
		}
	}
	switch (options_parse(command->options, target, argc, argv, &first, &err)) {
	case OPTIONS_OK:
		*args = argv + first;
		*count = argc - first;
		if (!command->client_groups)
			return true;
		if (!same_file_options((const struct option_file_options *)((const char *)target +
					       command->option_files_at),
			    &how)) {
			*status = command_misused(command,
				"--defaults-file and the like must stand before all other options");
			return false;
		}
		if (how.print)
			*status = print_defaults(command);
		return !how.print;
	case OPTIONS_HELP:
		command_help(&out, command);
		*status = print(&out);
		return false;
	case OPTIONS_VERSION:
		*status = print_version();
		return false;
	case OPTIONS_ERROR:
		*status = command_misused(command, "%s", err.text);
		return false;
	}
	BUG("no such result");
}

static enum exit_status dispatch(int argc, char **argv)
{
	const struct command *command;
	struct buf out = BUF_INIT;

	if (argc < 2) {
		output_message("no command given");
		output_message("try '%s help'", running->name);
		return EXIT_STATUS_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return print_version();
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0 ||
		strcmp(argv[1], "-h") == 0) {
		program_help(&out);
		return print(&out);
	}
	if (argv[1][0] == '-') {
		output_message("'%s': options follow the command: %s COMMAND [OPTION...]",
			argv[1], running->name);
		return EXIT_STATUS_USAGE;
	}
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return command->run(command, argc - 1, argv + 1);
}

int program_main(const struct cli_program *program, int argc, char **argv)
{
	enum exit_status status;

	running = program;
	output_init(program->name);
	output_called(argc ? argv[0] : NULL);
	status = output_finish(dispatch(argc, argv));
	option_files_release(&from_files);
	options_forget_secrets();
	return (int)status;
}
