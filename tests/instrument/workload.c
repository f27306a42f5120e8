/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A concurrent random workload: sessions that insert, update, delete and read, by point and by
 *range, in transactions of one to six statements.  Every statement is chosen by the seed; what it
 *meets is not.
 *
 *	workload --port=N [--sessions=8] [--transactions=20000] [--keys=300] [--seed=1]
 *		[--level=SERIALIZABLE] [--database=NAME] [--setup]
 *
 * --setup makes the table and ends.  Errors that a busy server answers with (deadlock, timeout,
 *1020, duplicate key) are part of it; anything else ends the program with status 1.
 */
#include <errno.h>
#include <getopt.h>
#include <mysql.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS_MAX = 64, STATEMENTS_MAX = 6 };

static struct {
	const char *host, *user, *database, *level;
	unsigned port, sessions;
	unsigned long transactions, keys, seed;
	bool joins; /* reads over two tables as well */
	bool setup;
} options = {.host = "127.0.0.1",
	.user = "root",
	.database = "workload",
	.level = "SERIALIZABLE",
	.sessions = 8,
	.transactions = 20000,
	.keys = 300,
	.seed = 1};

static atomic_ulong done, committed, failed;
static atomic_bool broken;

struct session {
	pthread_t thread;
	MYSQL *mysql;
	MYSQL_STMT *point, *range, *update, *insert;
	uint64_t random;
	bool in_transaction;
	bool stuck; /* libmariadb waits for ever for rows after an error among rows: connect anew
		     */
};

/* splitmix64 */
static uint64_t next(struct session *s)
{
	uint64_t z = (s->random += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static int below(struct session *s, unsigned long n)
{
	return (int)(next(s) % n);
}

static bool is_expected(unsigned error)
{
	return error == 1213 || error == 1205 || error == 1020 || error == 1062;
}

/* True: the transaction goes on. */
static bool judge(struct session *s, unsigned error, const char *text)
{
	if (!error)
		return true;
	if (!is_expected(error)) {
		fprintf(stderr, "workload: error %u: %s\n", error, text);
		atomic_store(&broken, true);
		return false;
	}
	atomic_fetch_add(&failed, 1);
	/* Whole transactions are rolled back by 1213 and 1020 only. */
	if (error == 1213 || error == 1020)
		s->in_transaction = false;
	return error == 1062 || error == 1205;
}

static bool query(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool query(struct session *s, const char *fmt, ...)
{
	char sql[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sql, sizeof(sql), fmt, ap);
	va_end(ap);
	if (mysql_query(s->mysql, sql) == 0) {
		MYSQL_RES *result = mysql_store_result(s->mysql);

		if (result)
			mysql_free_result(result);
	}
	return judge(s, mysql_errno(s->mysql), mysql_error(s->mysql));
}

static bool execute(struct session *s, MYSQL_STMT *stmt, int first, int second)
{
	MYSQL_BIND bind[2];
	int values[2] = {first, second};
	char text[200];
	unsigned error;

	memset(bind, 0, sizeof(bind));
	for (int i = 0; i < 2; i++) {
		bind[i].buffer_type = MYSQL_TYPE_LONG;
		bind[i].buffer = &values[i];
	}
	if (mysql_stmt_bind_param(stmt, bind) == 0 && mysql_stmt_execute(stmt) == 0 &&
		mysql_stmt_field_count(stmt))
		s->stuck = mysql_stmt_store_result(stmt) != 0;
	error = mysql_stmt_errno(stmt);
	snprintf(text, sizeof(text), "%s", mysql_stmt_error(stmt));
	if (s->stuck)
		s->in_transaction = false;
	else
		mysql_stmt_free_result(stmt);
	return judge(s, error, text);
}

/* Reads over two tables, or of the first rows, and what changes the second table. */
static bool joint(struct session *s)
{
	int key = below(s, options.keys), group = below(s, 20), value = below(s, 100);

	switch (below(s, 12)) {
	case 0:
		return query(s, "select t.id, u.v from t join u on t.g = u.id where u.id = %d", group);
	case 1:
		return query(s, "select t.id, u.v from t left join u on u.id = t.g where t.id between %d "
				"and %d", key, key + 5);
	case 2:
		return query(s, "select count(*), sum(t.v) from t, u where u.id = t.g and u.v > %d and "
				"t.id < %d", value, 1 + key % 40);
	case 3:
		return query(s, "select id from t where id < %d and g in (select id from u where v > %d)",
			1 + key % 40, value);
	case 4:
		return query(s, "select * from u where exists (select 1 from t where t.g = u.id and t.v "
				"> %d) and u.id < 5", value);
	case 5:
		return query(s, "select id, v from t where g = %d order by id limit 2", group);
	case 6:
		return query(s, "select * from t where id = %d limit 1", key);
	case 7:
		return query(s, "select a.id, b.id from u a join u b on a.v = b.v where a.id = %d", group);
	case 8:
		return query(s, "insert into u values (%d, %d)", group, value);
	case 9:
		return query(s, "delete from u where id = %d", group);
	default:
		return query(s, "update u set v = %d where id = %d", value, group);
	}
}

static bool statement(struct session *s)
{
	int keys = (int)options.keys, key = below(s, options.keys), width = 1 + below(s, 8);
	int value = below(s, 100);

	if (options.joins && below(s, 3) == 0)
		return joint(s);

	switch (below(s, 14)) {
	case 0:
	case 1:
		return query(s, "select * from t where id = %d", key);
	case 2:
		return execute(s, s->point, key, key);
	case 3:
		return query(s, "select id, v from t where id between %d and %d order by id desc",
			key, key + width);
	case 4:
		return execute(s, s->range, key, key + width);
	case 5:
		return query(s, "select v from t where g = %d and v > %d", key % 20, value);
	case 6:
		return query(s, "update t set v = %d where id = %d", value, key);
	case 7:
		return execute(s, s->update, value, key);
	case 8:
		return query(s, "update t set v = v + 1 where id between %d and %d", key, key + 3);
	case 9:
		return execute(s, s->insert, key, value);
	case 10:
		return query(s,
			"insert into t values (%d, %d, %d) on duplicate key update v = v + 1", key,
			key % 20, value);
	case 11:
		return query(s, "delete from t where id = %d", key);
	case 12:
		return query(s, "replace into t values (%d, %d, %d), (%d, %d, %d)", key, key % 20,
			value, (key + 7) % keys, (key + 7) % 20, value);
	default:
		return query(s, "select * from t where id in (%d, %d) for update", key,
			(key + 3) % keys);
	}
}

static bool transaction(struct session *s)
{
	int count = 1 + below(s, STATEMENTS_MAX);
	bool saved = false;

	if (below(s, 8) == 0)
		return statement(s), !atomic_load(&broken); /* of its own */
	s->in_transaction = true;
	if (!query(s, "begin"))
		return false;
	for (int i = 0; i < count && s->in_transaction && !atomic_load(&broken); i++) {
		if (!saved && below(s, 20) == 0)
			saved = query(s, "savepoint a");
		(void)!statement(s);
		if (saved && s->in_transaction && below(s, 4) == 0) {
			(void)!query(s, "rollback to a");
			saved = false;
		}
	}
	if (!s->in_transaction)
		return !atomic_load(&broken);
	if (below(s, 10) == 0)
		return query(s, "rollback");
	if (query(s, "commit"))
		atomic_fetch_add(&committed, 1);
	return !atomic_load(&broken);
}

static MYSQL *dial(void)
{
	MYSQL *mysql = mysql_init(NULL);
	unsigned protocol = MYSQL_PROTOCOL_TCP;

	mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
	if (mysql_real_connect(mysql, options.host, options.user, NULL,
		    options.setup ? NULL : options.database, options.port, NULL, 0))
		return mysql;
	fprintf(stderr, "workload: %s\n", mysql_error(mysql));
	mysql_close(mysql);
	return NULL;
}

static MYSQL_STMT *prepare(struct session *s, const char *sql)
{
	MYSQL_STMT *stmt = mysql_stmt_init(s->mysql);

	if (mysql_stmt_prepare(stmt, sql, strlen(sql)))
		judge(s, mysql_stmt_errno(stmt), mysql_stmt_error(stmt));
	return stmt;
}

static bool connect_session(struct session *s)
{
	s->mysql = dial();
	s->stuck = false;
	if (!s->mysql)
		return false;
	if (!query(s, "set session transaction isolation level %s", options.level) ||
		!query(s, "set session innodb_lock_wait_timeout = 5"))
		return false;
	s->point = prepare(s, "select v, id from t where id = ? and id = ?");
	s->range = prepare(s, "select * from t where id >= ? and id <= ?");
	s->update = prepare(s, "update t set v = ? where id = ?");
	s->insert = prepare(s, "insert into t(id, v, g) values (?, ?, id % 20)");
	return !atomic_load(&broken);
}

/* The connection goes first: its statements are then closed without a word to the server. */
static void close_session(struct session *s)
{
	if (!s->mysql)
		return;
	mysql_close(s->mysql);
	mysql_stmt_close(s->point);
	mysql_stmt_close(s->range);
	mysql_stmt_close(s->update);
	mysql_stmt_close(s->insert);
}

static void *run(void *arg)
{
	struct session *s = arg;
	bool ok = connect_session(s);

	while (ok && !atomic_load(&broken) && atomic_fetch_add(&done, 1) < options.transactions) {
		(void)!transaction(s);
		if (s->stuck) {
			close_session(s);
			ok = connect_session(s);
		}
	}
	if (!ok)
		atomic_store(&broken, true);
	close_session(s);
	return NULL;
}

static int setup(void)
{
	struct session s = {.mysql = dial(), .random = options.seed};

	if (!s.mysql)
		return 1;
	if (!query(&s, "drop database if exists %s", options.database) ||
		!query(&s, "create database %s", options.database) ||
		!query(&s, "use %s", options.database) ||
		!query(&s,
			"create table t(id int primary key, g int, v int, key(g)) engine=innodb"))
		return 1;
	if (!query(&s, "create table u(id int primary key, v int) engine=innodb"))
		return 1;
	for (int i = 0; i < 20; i++)
		if (!query(&s, "insert into u values (%d, %d)", i, below(&s, 100)))
			return 1;
	for (unsigned long i = 0; i < options.keys; i += 2)
		if (!query(&s, "insert into t values (%lu, %lu, %d)", i, i % 20, below(&s, 100)))
			return 1;
	mysql_close(s.mysql);
	return 0;
}

static const struct option table[] = {
	{"host", required_argument, NULL, 'h'},
	{"port", required_argument, NULL, 'P'},
	{"user", required_argument, NULL, 'u'},
	{"database", required_argument, NULL, 'D'},
	{"level", required_argument, NULL, 'l'},
	{"sessions", required_argument, NULL, 's'},
	{"transactions", required_argument, NULL, 't'},
	{"keys", required_argument, NULL, 'k'},
	{"seed", required_argument, NULL, 'S'},
	{"joins", no_argument, NULL, 'j'},
	{"setup", no_argument, NULL, 'c'},
	{NULL, 0, NULL, 0},
};

int main(int argc, char **argv)
{
	static struct session sessions[SESSIONS_MAX];
	int letter;

	while ((letter = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (letter) {
		case 'h':
			options.host = optarg;
			break;
		case 'P':
			options.port = (unsigned)atoi(optarg);
			break;
		case 'u':
			options.user = optarg;
			break;
		case 'D':
			options.database = optarg;
			break;
		case 'l':
			options.level = optarg;
			break;
		case 's':
			options.sessions = (unsigned)atoi(optarg);
			break;
		case 't':
			options.transactions = strtoul(optarg, NULL, 10);
			break;
		case 'k':
			options.keys = strtoul(optarg, NULL, 10);
			break;
		case 'S':
			options.seed = strtoul(optarg, NULL, 10);
			break;
		case 'j':
			options.joins = true;
			break;
		case 'c':
			options.setup = true;
			break;
		default:
			return 2;
		}
	}
	if (mysql_library_init(0, NULL, NULL) || options.sessions < 1 ||
		options.sessions > SESSIONS_MAX || options.keys < 10)
		return 2;
	if (options.setup)
		return setup();
	for (unsigned i = 0; i < options.sessions; i++) {
		sessions[i].random = options.seed * 1000003 + i;
		if (pthread_create(&sessions[i].thread, NULL, run, &sessions[i]))
			return 1;
	}
	for (unsigned i = 0; i < options.sessions; i++)
		pthread_join(sessions[i].thread, NULL);
	printf("%lu committed, %lu statements failed as expected\n", atomic_load(&committed),
		atomic_load(&failed));
	return atomic_load(&broken) ? 1 : 0;
}
