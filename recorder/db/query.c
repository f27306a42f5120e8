/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/query.h"

#include <stddef.h>

#include "base/mem.h"

void db_check_memory(MYSQL *mysql)
{
	if (mysql_errno(mysql) == LIBRARY_OUT_OF_MEMORY)
		mem_exhausted(0);
}

int db_send(MYSQL *mysql, const char *sql)
{
	int status = mysql_query(mysql, sql);

	db_check_memory(mysql);
	return status;
}

int db_send_bytes(MYSQL *mysql, const char *sql, unsigned long len)
{
	int status = mysql_real_query(mysql, sql, len);

	db_check_memory(mysql);
	return status;
}

MYSQL_RES *db_result(MYSQL *mysql)
{
	MYSQL_RES *result = mysql_store_result(mysql);

	db_check_memory(mysql);
	return result;
}

MYSQL_RES *db_query(MYSQL *mysql, const char *sql, struct err *err)
{
	MYSQL_RES *result = NULL;

	if (db_send(mysql, sql) == 0)
		result = db_result(mysql);
	if (!result)
		err_set(err, ERR_SERVER, "%.200s: %s", sql, mysql_error(mysql));
	return result;
}

bool db_execute(MYSQL *mysql, const char *sql, struct err *err)
{
	if (db_send(mysql, sql))
		return err_set(err, ERR_SERVER, "%.200s: %s", sql, mysql_error(mysql));
	return true;
}
