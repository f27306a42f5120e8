/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histories of any kind, judged and written: what isotrace check and report have in common.  Our own
 * traces go to the oracles that fit what was recorded and are judged by the contract of the server;
 * other tools' histories go to the oracle values.
 */
#ifndef COMMANDS_JUDGE_HISTORIES_H
#define COMMANDS_JUDGE_HISTORIES_H

#include "base/command.h"
#include "commands/input_format.h"
#include "out/output.h"
#include "report/judge_trace.h"

struct histories_options {
	int from;    /* enum from */
	int fail_on; /* enum fail_on */
	const char *level;
	bool first;
	int initial; /* enum initial */
	const char *shard;
	struct judge_options judge;
};

/* One after the other onto every sheet, which are written at the end; nothing is where not one
 * could be read.  Returns the worst exit status. */
enum exit_status histories_check(const struct command *command,
	const struct histories_options *options, char **paths, int count, struct check_output *outputs,
	size_t output_count);

/* What a register's value is that was read and that no transaction wrote. */
enum initial { INITIAL_KNOWN, INITIAL_ANY };

extern const char *const fail_on_words[], *const initial_words[];

/* clang-format off */
#define HISTORIES_OPTIONS(struct_type, member) \
	OPTION_HEADING("Input"), \
	{.name = "from", \
		.argument = "FORMAT", \
		OPTION_CHOICE(struct_type, member.from), \
		.choices = from_words, \
		.preset = "auto", \
		.help = FROM_HELP}, \
	{.name = "shard", \
		.argument = "I/N", \
		OPTION_STRING(struct_type, member.shard), \
		.help = "judge this share of the histories alone: 2/7 is every seventh, beginning with the second; with " \
			"--format=ndjson isotrace merge puts the shares together" }, \
	OPTION_HEADING("Judgement"), \
	{.name = "fail-on", \
		.argument = "WHAT", \
		OPTION_CHOICE(struct_type, member.fail_on), \
		.choices = fail_on_words, \
		.preset = "violation", \
		.help = "violation, suspicion, documented or none: the least severity that makes " \
			"the exit status 1"}, \
	{.name = "level", \
		.argument = "LEVEL", \
		OPTION_STRING(struct_type, member.level), \
		.help = "the level that must hold: PL-3 or serializable, PL-SI or " \
			"snapshot-isolation, be-CC, strong-session-PL-3 ...; without it every " \
			"level that the history can be judged by"}, \
	{.name = "first", \
		OPTION_FLAG(struct_type, member.first), \
		.help = "other tools' histories: the first violation is enough, all else stays " \
			"undecided; with --level it is so anyway"}, \
	{.name = "initial", \
		.argument = "WHAT", \
		OPTION_CHOICE(struct_type, member.initial), \
		.choices = initial_words, \
		.preset = "known", \
		.help = "other tools' registers: a read of a value that no transaction wrote is " \
			"a garbage read (known), or says nothing, as in Elle: the value may have " \
			"been there before (any)"}, \
	JUDGE_OPTIONS(struct_type, member.judge)
/* clang-format on */

#endif
