/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections of the recorder's own to a server (libmysqlclient). */
#ifndef DB_CONNECT_H
#define DB_CONNECT_H

#include <mysql.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

struct db_login {
	const char *user, *password; /* user NULL: the recorder makes no connection of its own */
	uint64_t connect_timeout_ns;
	unsigned answer_timeout_s; /* of each statement; 0: none */
	bool tls;                  /* where the server has it */
	const char *tls_ca;        /* NULL: any certificate will do */
};

/* Where a server is: a host and port, or a socket file. */
struct db_address {
	const char *host;
	unsigned port;
	const char *socket;
};

/* A connection that reads what the server has as it is (OWN_READING); NULL and err.  `node` names the
 * server in errors. */
/* For the first statement after a login: false without an error of the library when no answer comes in
 * time, and the connection is of no use any more. */
bool db_query_within(MYSQL *db, const char *sql, unsigned seconds) MUST_CHECK;
/* The library keeps it as long as the connection, to connect again; this program never does that. */
void db_forget_password(MYSQL *db);
MYSQL *db_connect(const struct db_login *login, const char *node, const struct db_address *address,
	struct err *err) MUST_CHECK;
/* Fills err with what the connection's last call said; always false. */
bool db_error(MYSQL *db, const char *node, const char *what, struct err *err);

#endif
