/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of option tables of the commands that make cases from a model, generate and hunt, and of those that execute
 * many cases, hunt and reduce. */
#ifndef COMMANDS_CASE_OPTIONS_H
#define COMMANDS_CASE_OPTIONS_H

#include "base/options.h"

#define SEED_OPTION(type, member)                                                                  \
	{                                                                                          \
		.name = "seed", .argument = "N", OPTION_UINT(type, member), .preset = "1",         \
		.help = "the same seed gives the same cases, byte for byte"                        \
	}

#define ORDERS_OPTION(type, member, count_preset)                                                  \
	{                                                                                          \
		.name = "orders", .argument = "N", .min = 1, .max = 1000,                          \
		OPTION_UINT(type, member), .preset = (count_preset),                               \
		.help = "so many cases have the same transactions, each in another order"          \
	}

#define CASE_DATABASES_OPTION(type, member, name_preset)                                           \
	{                                                                                          \
		.name = "database", .letter = 'D', .argument = "NAME",                             \
		OPTION_STRING(type, member), .preset = (name_preset),                              \
		.help = "cases run in databases NAME_0, NAME_1 ..., which are made and dropped; "  \
			"they must not exist"                                                      \
	}

#define CASE_DROP_OPTION(type, member)                                                             \
	{                                                                                          \
		.name = "drop-database", OPTION_FLAG(type, member),                                \
		.help = "on a server of your own: drop databases of those names that are there, "  \
			"with all that is in them"                                                 \
	}

#define CASE_JOBS_OPTION(type, member, jobs_max, jobs_preset)                                      \
	{                                                                                          \
		.name = "jobs", .letter = 'j', .argument = "N", .min = 1, .max = (jobs_max),       \
		OPTION_UINT(type, member), .preset = (jobs_preset),                                \
		.help = "so many cases at the same time, each on a server of its own"              \
	}

#define CASE_MEMORY_DEFAULT (UINT64_C(4) << 30)
#define CASE_MEMORY_OPTION(type, member)                                                           \
	{                                                                                          \
		.name = "memory", .argument = "SIZE", OPTION_SIZE(type, member), .preset = "4G",   \
		.help = "each of the processes that judge cases takes at most this"                \
	}

#endif
