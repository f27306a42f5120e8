/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/connect.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "db/variables.h"

bool db_error(MYSQL *db, const char *node, const char *what, struct err *err)
{
	return err_set(err, ERR_SERVER, "node %s: %s: error %u: %s", node, what, mysql_errno(db),
		mysql_error(db));
}

bool db_query_within(MYSQL *db, const char *sql, unsigned seconds)
{
	struct pollfd answer = {.fd = mysql_get_socket(db), .events = POLLIN};
	int ready;

	if (mysql_send_query(db, sql, strlen(sql)))
		return false;
	do
		ready = poll(&answer, 1, (int)(seconds < 86400 ? seconds : 86400) * 1000);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0) {
		/* Nothing is said to it any more: closing would wait, too. */
		(void)shutdown(answer.fd, SHUT_RDWR);
		return false;
	}
	return mysql_read_query_result(db) == 0;
}

void db_forget_password(MYSQL *db)
{
	if (db->passwd)
		mem_wipe(db->passwd, strlen(db->passwd));
}

MYSQL *db_connect(const struct db_login *login, const char *node, const struct db_address *address,
	struct err *err)
{
	unsigned timeout = (unsigned)(login->connect_timeout_ns / 1000000000u);
	MYSQL *db = mysql_init(NULL);

	if (!db) {
		err_set(err, ERR_SERVER, "node %s: the client library has no memory", node);
		return NULL;
	}
	if (timeout == 0)
		timeout = 1;
	mysql_options(db, MYSQL_OPT_CONNECT_TIMEOUT, &timeout);
	if (login->answer_timeout_s)
		mysql_options(db, MYSQL_OPT_READ_TIMEOUT, &login->answer_timeout_s);
	mysql_options(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (login->tls)
		mysql_ssl_set(db, NULL, NULL, login->tls_ca, NULL, NULL);
	mysql_optionsv(db, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "isorec");
	if (!mysql_real_connect(db, address->socket ? NULL : address->host, login->user,
		    login->password, NULL, address->port, address->socket, 0)) {
		db_error(db, node, "cannot connect to read its variables and tables", err);
		mysql_close(db);
		return NULL;
	}
	db_forget_password(db);
	if (!db_query_within(db, "set session " OWN_READING ", " OWN_LOGIN, timeout) ||
		mysql_set_character_set(db, "utf8mb4")) {
		if (mysql_errno(db))
			db_error(db, node, "cannot set sql_mode and other session variables", err);
		else
			err_set(err, ERR_SERVER,
				"node %s: no answer within %u s after the login (--connect-timeout)",
				node, timeout);
		mysql_close(db);
		return NULL;
	}
	return db;
}
