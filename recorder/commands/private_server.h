/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A private server of a named release for the time of a command, through the program
 * isorec-servers (docs/servers.md): the one that ISOREC_SERVERS names, the one beside isorec, or
 * the one on PATH.  It ends with this process, however that ends.
 *
 * A name is a release of `isorec-servers list`, and after it, in any number: +si and -si switch
 * innodb_snapshot_isolation, +binlog and -binlog the row binary log.
 */
#ifndef COMMANDS_PRIVATE_SERVER_H
#define COMMANDS_PRIVATE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"

struct provided {
	char name[80]; /* of the instance; "": none */
	unsigned port; /* on 127.0.0.1 */
	char user[64];
	char nodes[1024]; /* of a cluster: host:port with commas, the first one included */
	char error_log[512];
};

enum { PROVIDE_SETTINGS_MAX = 24 };

/* False: it cannot be had here (*skip, and err says why), or does not start. */
bool provide_start(
	struct provided *out, const char *release, bool *skip, struct err *err) MUST_CHECK;
/* ... with settings of the server, "name=value", NULL at the end; at most PROVIDE_SETTINGS_MAX. */
bool provide_start_with(struct provided *out, const char *release, const char *const *settings, bool *skip,
	struct err *err) MUST_CHECK;
void provide_stop(struct provided *server);
/* The path of isorec-servers. */
void provide_tool(char *out, size_t size);

#endif
