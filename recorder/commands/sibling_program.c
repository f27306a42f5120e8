/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/sibling_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sibling_program(const char *name, const char *variable, const char *in_tree, char *out, size_t size)
{
	const char *const places[] = {"", in_tree};
	const char *given = getenv(variable);
	ssize_t len;
	char *slash;

	snprintf(out, size, "%s", given && *given ? given : name);
	if (given && *given)
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		len = readlink("/proc/self/exe", out, size - 1);
		if (len <= 0)
			break;
		out[len] = '\0';
		slash = strrchr(out, '/');
		snprintf(slash + 1, size - (size_t)(slash + 1 - out), "%s%s", places[i], name);
		if (access(out, X_OK) == 0)
			return;
	}
	snprintf(out, size, "%s", name);
}
