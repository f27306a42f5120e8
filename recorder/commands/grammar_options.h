/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of generate and hunt about grammars of the Random Query Generator (docs/grammars.md). */
#ifndef COMMANDS_GRAMMAR_OPTIONS_H
#define COMMANDS_GRAMMAR_OPTIONS_H

#include "base/options.h"
#include "workload/grammar.h"
#include "workload/table_plan.h"

struct grammar_options {
	const char *yy, *zz;
	struct option_strings redefine;
	uint64_t mask, mask_level;
};

/* The files read. */
struct grammar_files {
	struct grammar grammar;
	struct table_plan tables;
	bool given; /* else there is nothing to release */
};

/* True without a grammar, too. */
bool grammar_files_open(struct grammar_files *out, const struct grammar_options *o, struct err *err) MUST_CHECK;
void grammar_files_release(struct grammar_files *files);

/* clang-format off */
#define GRAMMAR_OPTIONS(type, member) \
	{.name = "yy", \
		.argument = "FILE", \
		.files = true, \
		OPTION_STRING(type, member.yy), \
		.help = "statements from this grammar of the Random Query Generator; the model says how many sessions, " \
			"transactions and levels there are, and in which order they go"}, \
	{.name = "zz", \
		.argument = "FILE", \
		.files = true, \
		OPTION_STRING(type, member.zz), \
		.help = "its tables; without it a few small ones"}, \
	{.name = "redefine", \
		.argument = "FILE", \
		.files = true, \
		OPTION_STRINGS(type, member.redefine), \
		.help = "a grammar whose rules replace those of --yy; may be given several times"}, \
	{.name = "mask", \
		.argument = "N", \
		OPTION_UINT(type, member.mask), \
		.help = "leave out about half of the alternatives of the rule query; the number says which"}, \
	{.name = "mask-level", \
		.argument = "N", \
		.min = 1, \
		.max = 16, \
		OPTION_UINT(type, member.mask_level), \
		.preset = "1", \
		.help = "mask rules as deep as this: 1 is query alone, 2 also the rules that it names"}
/* clang-format on */

#endif
