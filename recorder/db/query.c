/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/query.h"

#include <stddef.h>

MYSQL_RES *db_query(MYSQL *mysql, const char *sql, struct err *err)
{
	MYSQL_RES *result = NULL;

	if (mysql_query(mysql, sql) == 0)
		result = mysql_store_result(mysql);
	if (!result)
		err_set(err, ERR_SERVER, "%.200s: %s", sql, mysql_error(mysql));
	return result;
}

bool db_execute(MYSQL *mysql, const char *sql, struct err *err)
{
	if (mysql_query(mysql, sql))
		return err_set(err, ERR_SERVER, "%.200s: %s", sql, mysql_error(mysql));
	return true;
}
