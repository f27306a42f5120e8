/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where generate and hunt take their model from: one that is built in, a file, or a recording. */
#ifndef COMMANDS_MODEL_OPTIONS_H
#define COMMANDS_MODEL_OPTIONS_H

#include "base/buf.h"
#include "base/options.h"
#include "workload/model.h"

struct model_options {
	const char *model; /* NULL: tiny */
	const char *like;  /* a trace */
	bool anonymous;
};

/* `learnt` gets the text of a model that was learnt. */
bool model_options_open(struct model *out, const struct model_options *o, struct buf *learnt, struct err *err) MUST_CHECK;

/* clang-format off */
#define MODEL_OPTIONS(type, member) \
	{.name = "model", .letter = 'm', .argument = "NAME|FILE", .choices = model_names, \
		OPTION_STRING(type, member.model), .preset = "tiny", \
		.help = "a built-in model, or a file in the language of docs/workload-models.md"}, \
	{.name = "like", .argument = "TRACE", .files = true, \
		OPTION_STRING(type, member.like), \
		.help = "a model learnt from this recording instead: tables, statements, transactions and accesses as there; " \
			"--print-model of generate shows it"}, \
	{.name = "anonymous", OPTION_FLAG(type, member.anonymous), \
		.help = "with --like: no name of a table or file and no statement in the model's comments"}
/* clang-format on */

#endif
