/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a command writes: never over what it reads, nor over a recording. */
#ifndef COMMANDS_OUTPUT_PATH_H
#define COMMANDS_OUTPUT_PATH_H

#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/options.h"

/* False: the path is one of the inputs, under whatever name, or lies in a folder that is one, or is
 * some other trace: what took hours to record is not replaced by what takes a second to make.
 * NULL and "-" are standard output. */
bool target_allowed(
	const char *path, const char *const *inputs, size_t count, struct err *err) MUST_CHECK;
/* ... and from here on the program's results go there (base/output.h). */
bool target_open(
	const char *path, const char *const *inputs, size_t count, struct err *err) MUST_CHECK;

/* --format of standard output: `words` are the choices, "text" is the first. */
#define FORMAT_OPTION(struct_type, words, what)                                                    \
	{                                                                                          \
		.name = "format", .letter = 'f', OPTION_CHOICE(struct_type, format),               \
		.choices = words, .preset = "text", .help = what                                   \
	}

#define TARGET_OPTION(struct_type, member)                                                         \
	{                                                                                          \
		.name = "output", .letter = 'o', .argument = "FILE",                               \
		OPTION_STRING(struct_type, member), .preset = "-", .files = true,                  \
		.help = "where the result goes; - is standard output"                              \
	}

#endif
