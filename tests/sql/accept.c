/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the SQL parser with a server.  Statements come on standard input, separated by NUL; each
 * is prepared on the server (nothing is executed) and parsed here.  The server refuses syntax with
 * error 1064 (and a few kin); every other answer, an unknown table for example, means that the
 * syntax is right.
 *
 *	sql_accept SOCKET [--list] [--mode=SQL_MODE] < statements
 *
 * What must hold for every statement:
 *  - the server accepts it: so do we, except where we say it is too deep;
 *  - the server refuses it: so do we, unless the statement is of a kind that is only recognised;
 *  - we accept it: its print parses, prints the same, and the server accepts the print too.
 *
 * Prints one line a disagreement and a summary; exits 1 if there was any.
 */
#include <mysql.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "sql/sql.h"

/* CHECKED: 1064 with a message of its own ("Wrong number of subpartitions defined ..."): the server
 * checked what a clause means while it read, and nothing is said of the syntax. */
enum verdict { ACCEPTED, REFUSED, CHECKED, UNKNOWN };

struct totals {
	unsigned statements, modelled, opaque, accepted, refused, checked, unknown, wrong;
};

/* COM_STMT_PREPARE knows nothing of these, whatever the syntax. */
static bool unprepared(unsigned code)
{
	return code == 1295 /* not supported in the prepared statement protocol */ ||
	       code == 1065 /* empty query */ || code == 1390 /* too many placeholders */;
}

static enum verdict ask(MYSQL *server, struct span text, unsigned *code, char *message, size_t size)
{
	MYSQL_STMT *stmt;
	enum verdict verdict = ACCEPTED;

	*code = 0;
	message[0] = '\0';
	/* A prepared HELP answers with fewer packets than it announces, and the client waits. */
	if (text.len >= 4 && span_ieq_str(span_of(text.ptr, 4), "help"))
		return UNKNOWN;
	stmt = mysql_stmt_init(server);
	if (mysql_stmt_prepare(stmt, text.ptr, text.len)) {
		*code = mysql_stmt_errno(stmt);
		snprintf(message, size, "%s", mysql_stmt_error(stmt));
		if (*code == 1064 && !strstr(message, "error in your SQL syntax"))
			verdict = CHECKED;
		else if (*code == 1064 || *code == 1149)
			verdict = REFUSED;
		else if (unprepared(*code) || (*code >= 2000 && *code < 3000))
			verdict = UNKNOWN;
	}
	mysql_stmt_close(stmt);
	return verdict;
}

/* Errors that the server finds while it still reads: what follows in the text was not looked at,
 * so that our refusal of it is no disagreement. */
static bool stopped_reading(unsigned code)
{
	static const unsigned codes[] = {1044, 1054, 1059, 1063, 1066, 1067, 1074, 1102, 1103,
		1109, 1115, 1128, 1166, 1193, 1221, 1225, 1231, 1232, 1234, 1235, 1241, 1248,
		1250, 1253, 1272, 1273, 1288, 1298, 1300, 1302, 1327, 1351, 1367, 1391, 1425, 1426,
		1427, 1439, 1458, 1463, 1470, 1479, 1480, 1492, 1525, 1531, 1564, 1582, 1583,
		1584, 1653, 1657, 1791, 1800, 1801, 1818, 1901, 1970, 4042, 4081, 4128, 4161,
		4162, 4177,
		/* MySQL, of INTO in a place where ours refuses it too */
		3771, 3953, 3954,
		/* MySQL, characters that a set does not have, a table function without an alias */
		3667, 3854,
		/* a user variable without a name */
		3061,
		/* attributes in JSON are read at once */
		3980};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (codes[i] == code)
			return true;
	}
	return false;
}

static bool found_text(void *ctx, const struct sql_table_ref *ref)
{
	*(bool *)ctx |= ref->kind == SQL_TABLE_FUNC;
	return true;
}

/* Recognised only, or with a part that is kept as text (sql.md): more may be accepted. */
static bool is_opaque(const struct sql_stmt *stmt)
{
	bool text = stmt->opaque.ptr != NULL;
	struct sql_visitor v = {.table_ref = found_text, .ctx = &text};

	if (stmt->kind == SQL_STMT_ALTER_TABLE) {
		for (const struct sql_alter *a = stmt->u.alter_table->actions; a; a = a->next)
			text |= a->kind == SQL_ALTER_TEXT;
	}
	if (stmt->kind == SQL_STMT_SET && stmt->u.set->statement)
		text |= is_opaque(stmt->u.set->statement);
	sql_walk_stmt(stmt, &v);
	return text;
}

static void complain(struct totals *t, const char *what, struct span text, const char *detail)
{
	t->wrong++;
	printf("%s: %.*s\n    %s\n", what, (int)(text.len > 300 ? 300 : text.len), text.ptr, detail);
}

static void round_trip(struct totals *t, MYSQL *server, struct span text, struct sql_stmt *stmt,
	const struct sql_options *opt, enum verdict verdict)
{
	struct arena arena = ARENA_INIT;
	struct buf once = BUF_INIT, twice = BUF_INIT, note = BUF_INIT;
	struct sql_stmt *again;
	struct err err;
	unsigned code;
	char message[512];

	sql_print(stmt, opt, &once);
	if (!sql_parse(&arena, buf_span(&once), opt, &again, &err)) {
		buf_printf(&note, "%s\n    in the print %s", err.text, once.data);
		complain(t, "print does not parse", text, note.data);
	} else {
		sql_print(again, opt, &twice);
		if (!span_eq(buf_span(&once), buf_span(&twice)) || again->kind != stmt->kind) {
			buf_printf(&note, "%s\n    %s", once.data ? once.data : "",
				twice.data ? twice.data : "");
			complain(t, "print changes", text, note.data);
		} else if (verdict == ACCEPTED && once.len &&
			   ask(server, buf_span(&once), &code, message, sizeof(message)) ==
				   REFUSED) {
			buf_printf(&note, "%s\n    %s", once.data, message);
			complain(t, "server refuses the print", text, note.data);
		}
	}
	buf_release(&once);
	buf_release(&twice);
	buf_release(&note);
	arena_release(&arena);
}

static void check(
	struct totals *t, MYSQL *server, struct span text, const struct sql_options *opt, bool list)
{
	struct arena arena = ARENA_INIT;
	struct sql_stmt *stmt = NULL;
	struct err err;
	unsigned code;
	char message[512];
	enum verdict verdict = ask(server, text, &code, message, sizeof(message));
	bool ours = sql_parse(&arena, text, opt, &stmt, &err);

	t->statements++;
	t->accepted += verdict == ACCEPTED;
	t->refused += verdict == REFUSED;
	t->checked += verdict == CHECKED;
	t->unknown += verdict == UNKNOWN;
	if (ours && is_opaque(stmt))
		t->opaque++;
	else if (ours)
		t->modelled++;
	if (list)
		printf("%u %s: %.*s\n", code, ours ? sql_stmt_kind_name(stmt->kind) : err.text,
			SPAN_ARG(text));
	if (verdict == ACCEPTED && !ours && err.code != ERR_LIMIT && !stopped_reading(code)) {
		struct buf detail = BUF_INIT;

		buf_printf(&detail, "%u %.80s / %s", code, message, err.text);
		complain(t, "refused, the server accepts", text, detail.data);
		buf_release(&detail);
	}
	if (verdict == REFUSED && ours && !is_opaque(stmt) && stmt->kind != SQL_STMT_EMPTY)
		complain(t, "accepted, the server refuses", text, message);
	if (ours)
		round_trip(t, server, text, stmt, opt, verdict);
	arena_release(&arena);
}

static MYSQL *connect_to(const char *socket)
{
	MYSQL *server = mysql_init(NULL);

	if (!server || !mysql_real_connect(server, NULL, "root", NULL, NULL, 0, socket, 0)) {
		fprintf(stderr, "sql_accept: %s\n", server ? mysql_error(server) : "no memory");
		exit(2);
	}
	return server;
}

static void run(MYSQL *server, const char *sql)
{
	if (mysql_real_query(server, sql, strlen(sql))) {
		fprintf(stderr, "sql_accept: %s: %s\n", sql, mysql_error(server));
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct totals t = {0};
	struct sql_options opt;
	bool list = false;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	MYSQL *server;

	if (argc < 2) {
		fprintf(stderr, "usage: sql_accept SOCKET [--list] [--mode=MODE] < statements\n");
		return 2;
	}
	server = connect_to(argv[1]);
	opt = sql_options_for_server(span_str(mysql_get_server_info(server)));
	run(server, "CREATE DATABASE IF NOT EXISTS sql_accept");
	run(server, "USE sql_accept");
	run(server, "SET sql_mode = ''");
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--list") == 0) {
			list = true;
		} else if (strncmp(argv[i], "--mode=", 7) == 0) {
			char sql[200];

			snprintf(sql, sizeof(sql), "SET sql_mode = '%.150s'", argv[i] + 7);
			run(server, sql);
			opt.mode = sql_mode_flags(span_str(argv[i] + 7));
		}
	}
	while ((len = getdelim(&line, &size, '\0', stdin)) > 0) {
		if (line[len - 1] == '\0')
			len--;
		check(&t, server, span_of(line, (size_t)len), &opt, list);
	}
	free(line);
	mysql_close(server);
	mysql_library_end();
	printf("%u statements (%u modelled, %u recognised): server accepts %u, refuses %u, "
	       "refuses by another rule %u, cannot prepare %u; %u disagreements\n",
		t.statements, t.modelled, t.opaque, t.accepted, t.refused, t.checked, t.unknown,
		t.wrong);
	return t.wrong ? 1 : 0;
}
