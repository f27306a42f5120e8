/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program isorec: the table of its commands.  Each is a file commands/NAME.c. */
#include <sys/prctl.h>

#include "base/command.h"
#include "commands/recorder_commands.h"

static const struct command *const commands[] = {
	&binlog_command,
	&cluster_command,
	&corpus_command,
	&generate_command,
	&hunt_command,
	&note_command,
	&prepare_command,
	&proxy_command,
	&reduce_command,
	&replay_command,
	&run_command,
	&tap_command,
	&unprepare_command,
	NULL,
};

static const struct cli_program isorec = {
	.name = "isorec",
	.summary = "records what a MySQL-compatible database really did",
	.description = "Records the sessions of a MySQL-compatible database into a trace, which\n"
		       "isotrace then analyses without the server.",
	.group = "recorder",
	.exit_status = "  0  all is well\n"
		       "  1  at least one violation was found\n"
		       "  2  wrong usage\n"
		       "  3  nothing violated, but the evidence is incomplete\n"
		       "  4  the input cannot be read or the server cannot be used\n"
		       "  5  a bug in isorec; the message says what to report",
	.commands = commands,
};

/* The recorder holds passwords and data of others: no core dumps, and no reading of its memory by
 * processes of the same user.  The leak sanitizer needs that. */
static void hide_memory(void)
{
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifndef __SANITIZE_ADDRESS__
	(void)prctl(PR_SET_DUMPABLE, 0);
#endif
}

int main(int argc, char **argv)
{
	hide_memory();
	return program_main(&isorec, argc, argv);
}
