/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program of several commands: `isotrace COMMAND [OPTION...] [ARGUMENT...]`.
 *
 * Each command is one file that defines one `const struct command`; the program's main lists them
 * and calls program_main, which dispatches and answers `help`, `completion`, --help and --version
 * itself.  All texts come from these structs, so help, manual and completion cannot disagree.
 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

#include "base/err.h"
#include "base/option_file.h"
#include "base/options.h"

struct command_example {
	const char *line; /* what to type, after the program's name; NULL: the end */
	const char *what;
};

struct command {
	const char *name;
	const char *summary;     /* one line, no capital, no full stop */
	const char *arguments;   /* after the options in the synopsis: "TRACE"; NULL: none */
	const char *description; /* paragraphs, lines broken, for --help */
	const struct option_def *options;
	const struct command_example *examples;
	const char *exit_status; /* what the numbers mean here; NULL: as for the program */
	enum exit_status (*run)(const struct command *command, int argc, char **argv);
	bool files; /* arguments are files: completion */
	/* Option files (base/option_file.h): NULL: none are read.  Groups of all clients, and where
	 * struct option_file_options stands in the options; our own groups are the program's, and
	 * PROGRAM-COMMAND. */
	const char *const *client_groups;
	size_t option_files_at;
};

struct cli_program {
	const char *name;
	const char *summary;
	const char *description;
	const char *group;                     /* of option files; NULL: none */
	const char *exit_status;               /* what the numbers mean, lines broken */
	const struct command *const *commands; /* NULL at the end */
};

/* The options of every command that prints a result for people. */
struct output_options {
	int color;    /* enum output_when */
	int progress; /* enum output_when */
};
extern const char *const output_when_words[];
#define OUTPUT_OPTIONS(struct_type, member)                                                        \
	{.name = "color",                                                                          \
		OPTION_CHOICE(struct_type, member.color),                                          \
		.choices = output_when_words,                                                      \
		.flags = OPTION_OPTIONAL,                                                          \
		.bare = "always",                                                                  \
		.preset = "auto",                                                                  \
		.argument = "WHEN",                                                                \
		.help = "colour the text: auto (on a terminal, unless NO_COLOR is set), always "   \
			"or "                                                                      \
			"never"},                                                                  \
	PROGRESS_OPTION(struct_type, member.progress)
#define PROGRESS_OPTION(struct_type, member)                                                       \
	{                                                                                          \
		.name = "progress", OPTION_CHOICE(struct_type, member),                            \
		.choices = output_when_words, .flags = OPTION_OPTIONAL, .bare = "always",          \
		.preset = "auto", .argument = "WHEN",                                              \
		.help = "draw a progress bar on standard error: auto (on a terminal), always or "  \
			"never"                                                                    \
	}

/* Parses a command's options into `target`.  False: *status is what to exit with (help was
 * printed, or the mistake was).  *args and *count are the arguments after the options. */
bool command_parse(const struct command *command, void *target, int argc, char **argv, char ***args,
	int *count, enum exit_status *status) MUST_CHECK;
/* Prints what is wrong and where help is; returns EXIT_STATUS_USAGE. */
enum exit_status command_misused(const struct command *command, const char *fmt, ...)
	PRINTF_LIKE(2, 3);
/* Prints the error, and where help is when it is a wrong use; returns the status to exit with. */
enum exit_status command_failed(const struct command *command, const struct err *err);

/* "client", "client-server", "client-mariadb": for commands that talk to a server. */
extern const char *const client_option_groups[];

/* The whole of main; returns what main returns. */
int program_main(const struct cli_program *program, int argc, char **argv);

#endif
