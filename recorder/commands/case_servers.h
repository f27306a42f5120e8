/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers for `hunt` and `reduce`: one of isorec-servers for each worker, or one of the user's for all of them. */
#ifndef COMMANDS_CASE_SERVERS_H
#define COMMANDS_CASE_SERVERS_H

#include "run/case_server.h"

/* A private server of the release; see private_server.h for the settings. */
struct case_server case_server_private(const char *release, const char *const *settings);
/* The one that the connection options name. */
struct case_server case_server_given(void);

#endif
