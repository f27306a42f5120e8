/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of isorec, one file each. */
#ifndef COMMANDS_RECORDER_COMMANDS_H
#define COMMANDS_RECORDER_COMMANDS_H

#include "base/command.h"

extern const struct command binlog_command;
extern const struct command cluster_command;
extern const struct command corpus_command;
extern const struct command generate_command;
extern const struct command hunt_command;
extern const struct command note_command;
extern const struct command prepare_command;
extern const struct command proxy_command;
extern const struct command reduce_command;
extern const struct command replay_command;
extern const struct command run_command;
extern const struct command tap_command;
extern const struct command unprepare_command;

#endif
