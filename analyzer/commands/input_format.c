/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/input_format.h"

const char *const from_words[] = {"auto", "trace", "elle", "elle-json", "plume", "awdit", "dbcop",
	"dbcop-json", "cobra", "viper", "chronos", NULL};

int from_resolve(int from, const char *path)
{
	enum import_format format;

	if (from != FROM_AUTO)
		return from;
	return import_detect(path, &format) ? FROM_OTHER + (int)format : FROM_TRACE;
}
