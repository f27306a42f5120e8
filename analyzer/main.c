/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program isotrace: the table of its commands.  Each is a file commands/NAME.c. */
#include "base/command.h"
#include "base/mem.h"
#include "commands/commands.h"

static const struct command *const commands[] = {
	&check_command,
	&corpus_command,
	&diff_command,
	&explain_command,
	&export_command,
	&import_command,
	&merge_command,
	&reduce_command,
	&report_command,
	&show_command,
	&slice_command,
	&stats_command,
	NULL,
};

static const struct cli_program isotrace = {
	.name = "isotrace",
	.summary = "checks from a recording whether a database isolated its transactions",
	.description = "Reads traces that isorec recorded from a MySQL-compatible database and shows, offline,\nwhat happened and whether transactions were isolated as promised.\n"
		       "TRACE is a file, a directory of segments, or - for standard input.",
	.exit_status =
		"  0  all is well and the evidence is complete\n"
		"  1  at least one violation was found\n"
		"  2  wrong usage\n"
		"  3  nothing violated, but incomplete evidence (something undecided or damaged)\n"
		"  4  the input cannot be read\n"
		"  5  a bug in isotrace; the message says what to report",
	.commands = commands,
};

int main(int argc, char **argv)
{
	/* A file from outside must not take more than the machine has. */
	mem_allow_spill();
	mem_limit(0);
	return program_main(&isotrace, argc, argv);
}
