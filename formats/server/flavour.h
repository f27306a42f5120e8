/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a server is: its flavour and its version, from the string that it gives for its version.
 *
 * Everything that decides by flavour asks here.  A trace has the flavour as a name
 * (server_flavour_name), which server_flavour_named() reads.
 */
#ifndef SERVER_FLAVOUR_H
#define SERVER_FLAVOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum server_flavour { SERVER_UNKNOWN, SERVER_MARIADB, SERVER_MYSQL, SERVER_TIDB };

struct server_release {
	enum server_flavour flavour;
	uint32_t version; /* major, two digits, two digits: 101119, 80045; 0: the string has none */
};

/* "10.11.19-MariaDB-log", "5.5.5-10.6.7-MariaDB", "8.0.45", "5.7.25-TiDB-v7.1.0". */
struct server_release server_release_of(struct span version_string);
/* "mariadb", "mysql", "tidb". */
const char *server_flavour_name(enum server_flavour flavour);
enum server_flavour server_flavour_named(struct span name);
/* MariaDB and MySQL, whose tables are InnoDB's unless they say otherwise. */
bool server_has_innodb(enum server_flavour flavour);

#endif
