/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of isotrace, one file each; main.c lists them in the order of `isotrace help`. */
#ifndef COMMANDS_COMMANDS_H
#define COMMANDS_COMMANDS_H

#include "base/command.h"

extern const struct command check_command, corpus_command, diff_command,
	explain_command, export_command, import_command, merge_command, reduce_command, report_command, show_command, slice_command,
	stats_command;

#endif
