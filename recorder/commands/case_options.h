/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of option tables of the commands that make cases from a model: generate and hunt. */
#ifndef COMMANDS_CASE_OPTIONS_H
#define COMMANDS_CASE_OPTIONS_H

#include "base/options.h"
#include "workload/model.h"

#define MODEL_OPTION(type, member)                                                                 \
	{                                                                                          \
		.name = "model", .letter = 'm', .argument = "NAME|FILE", .choices = model_names,   \
		OPTION_STRING(type, member), .preset = "tiny",                                     \
		.help = "a built-in model, or a file in the language of docs/workload-models.md"   \
	}

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

#endif
