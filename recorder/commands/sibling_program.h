/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other programs of isotrace, wherever they are installed. */
#ifndef COMMANDS_SIBLING_PROGRAM_H
#define COMMANDS_SIBLING_PROGRAM_H

#include <stddef.h>

/* The path of a program: what the environment variable has; beside isorec; at `in_tree`, a folder that ends with '/', as seen
 * from build/recorder/isorec of a source tree; else its name alone, for PATH. */
void sibling_program(const char *name, const char *variable, const char *in_tree, char *out, size_t size);

#endif
