/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --from of check, import and export: whose history is it? */
#ifndef COMMANDS_INPUT_FORMAT_H
#define COMMANDS_INPUT_FORMAT_H

#include "import/import.h"

/* After FROM_TRACE: FROM_OTHER + enum import_format. */
enum from { FROM_AUTO, FROM_TRACE, FROM_OTHER };

/* The words of the option, in that order, NULL at the end. */
extern const char *const from_words[];
#define FROM_HELP                                                                                  \
	"the tool whose history this is: trace (our own), elle, elle-json, plume, awdit, dbcop, "  \
	"dbcop-json, cobra, viper or chronos; auto recognises it by how the file begins"

/* FROM_TRACE, or a format after it: what was asked for, or what the file looks like. */
int from_resolve(int from, const char *path);
static inline enum import_format from_format(int from)
{
	return (enum import_format)(from - FROM_OTHER);
}

#endif
