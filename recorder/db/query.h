/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries of the recorder's own. */
#ifndef DB_QUERY_H
#define DB_QUERY_H

#include <mysql.h>

#include "base/attr.h"
#include "base/err.h"

/* Errors of the client library itself (errmsg.h); those of servers are in server/errors.h. */
enum library_error {
	LIBRARY_SERVER_GONE = 2006,
	LIBRARY_OUT_OF_MEMORY = 2008,
	LIBRARY_SERVER_LOST = 2013,
	LIBRARY_OUT_OF_SYNC = 2014,
	LIBRARY_MALFORMED_PACKET = 2027,
};

/* Ends the program when the client library had no memory, as for memory of our own.  What it did not take
 * of an answer would be there for the next query, and would be taken for that one's. */
void db_check_memory(MYSQL *mysql);
/* mysql_query(), mysql_real_query() and mysql_store_result(), with that. */
int db_send(MYSQL *mysql, const char *sql);
int db_send_bytes(MYSQL *mysql, const char *sql, unsigned long len);
MYSQL_RES *db_result(MYSQL *mysql);

/* The whole result; NULL and err when it fails. */
MYSQL_RES *db_query(MYSQL *mysql, const char *sql, struct err *err) MUST_CHECK;
/* A statement without a result. */
bool db_execute(MYSQL *mysql, const char *sql, struct err *err) MUST_CHECK;

#endif
