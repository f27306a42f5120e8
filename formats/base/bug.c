/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/version.h"

void bug_report(const char *file, int line, const char *func, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "isotrace: internal error in %s (%s:%d): ", func, file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr,
		"\nThis is a bug in isotrace %s, not in your data. Please report the line above "
		"with the command and, if you can, the input.\n",
		ISOTRACE_VERSION);
	fflush(stderr);
	if (getenv("ISOTRACE_ABORT"))
		abort();
	_exit(EXIT_STATUS_BUG);
}
