/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries of the recorder's own. */
#ifndef DB_QUERY_H
#define DB_QUERY_H

#include <mysql.h>

#include "base/attr.h"
#include "base/err.h"

/* The whole result; NULL and err when it fails. */
MYSQL_RES *db_query(MYSQL *mysql, const char *sql, struct err *err) MUST_CHECK;
/* A statement without a result. */
bool db_execute(MYSQL *mysql, const char *sql, struct err *err) MUST_CHECK;

#endif
