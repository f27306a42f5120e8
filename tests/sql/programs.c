/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the reading of stored programs with a server.  Texts of CREATE TRIGGER, FUNCTION and
 * PROCEDURE come on standard input, separated by NUL; each is created on the server, in a database
 *of its own, and dropped again.
 *
 *	sql_programs SOCKET [--list] [--own] < texts
 *
 * --own: also what the server has in its schemas already, as SHOW CREATE prints it.
 *
 * What must hold: the server accepts it, or refuses it otherwise than by its grammar (1064): it is
 *read here; 1064: it is not; what is read prints to a text that reads to the same tree and that the
 *server takes.  Prints one line a disagreement and a summary; exits 1 if there was any.
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "sql/program.h"

struct totals {
	unsigned texts, accepted, refused, other, wrong;
};

static void run(MYSQL *server, const char *sql)
{
	if (mysql_real_query(server, sql, strlen(sql))) {
		fprintf(stderr, "sql_programs: %s: %s\n", sql, mysql_error(server));
		exit(2);
	}
}

static void drop_all(MYSQL *server)
{
	static const char *const objects[] = {
		"trigger if exists tr", "function if exists f", "procedure if exists p"};
	char sql[100];

	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		snprintf(sql, sizeof(sql), "drop %s", objects[i]);
		run(server, sql);
	}
}

static unsigned ask(MYSQL *server, struct span text)
{
	unsigned code = 0;

	if (mysql_real_query(server, text.ptr, text.len))
		code = mysql_errno(server);
	drop_all(server);
	return code;
}

static void complain(struct totals *t, const char *what, struct span text, const char *detail)
{
	t->wrong++;
	printf("%s: %.*s\n    %s\n", what, SPAN_ARG(text), detail);
}

/* What the servers find once they have read the whole text: it is there already, or its table is
 * not. */
static bool was_read(unsigned code)
{
	return code == 0 || code == 1304 || code == 1359 || code == 1146 || code == 1049 ||
	       code == 1360;
}

static void see_opaque(void *ctx, const struct sql_node *node)
{
	*(bool *)ctx |= node->kind == SQL_NODE_STATEMENT && node->stmt->opaque.ptr;
}

/* Has it statements that are only recognised?  Then more may be accepted here. */
static bool has_opaque(const struct sql_program *program)
{
	bool found = false;

	sql_walk_nodes(program->body, see_opaque, &found);
	return found;
}

static void check(
	struct totals *t, MYSQL *server, struct span text, const struct sql_options *opt, bool list)
{
	struct arena arena = ARENA_INIT;
	struct buf once = BUF_INIT, before = BUF_INIT, after = BUF_INIT;
	struct sql_program *program = NULL, *again = NULL;
	struct err err;
	unsigned code = ask(server, text);
	bool ours = sql_parse_program(&arena, text, opt, &program, &err);

	t->texts++;
	t->accepted += was_read(code);
	t->refused += code == 1064;
	t->other += !was_read(code) && code != 1064;
	if (list)
		printf("%u %s: %.*s\n", code, ours ? "read" : err.text, SPAN_ARG(text));
	if (!ours && was_read(code) && err.code != ERR_LIMIT)
		complain(t, "refused, the server accepts", text, err.text);
	if (ours && code == 1064 && !has_opaque(program))
		complain(t, "accepted, the server refuses", text, mysql_error(server));
	if (ours) {
		sql_print_program(program, opt, false, &once);
		sql_print_program(program, opt, true, &before);
		if (!sql_parse_program(&arena, buf_span(&once), opt, &again, &err)) {
			complain(t, "print does not parse", text, once.data);
		} else {
			sql_print_program(again, opt, true, &after);
			if (!span_eq(buf_span(&before), buf_span(&after)))
				complain(t, "print changes", text, once.data);
			else if (!code && !was_read(ask(server, buf_span(&once))))
				complain(t, "server refuses the print", text, once.data);
		}
	}
	buf_release(&once);
	buf_release(&before);
	buf_release(&after);
	arena_release(&arena);
}

/* SHOW CREATE of every routine and trigger that is there. */
static void check_own(struct totals *t, MYSQL *server, const struct sql_options *opt, bool list)
{
	static const char query[] =
		"select concat('show create ', routine_type, ' `', routine_schema, '`.`', "
		"routine_name, '`') "
		"from information_schema.routines union all select concat('show create trigger `', "
		"trigger_schema, '`.`', trigger_name, '`') from information_schema.triggers";
	MYSQL_RES *names;
	MYSQL_ROW row;

	run(server, query);
	names = mysql_store_result(server);
	while (names && (row = mysql_fetch_row(names))) {
		MYSQL_RES *result;
		MYSQL_ROW shown;

		run(server, row[0]);
		result = mysql_store_result(server);
		shown = result ? mysql_fetch_row(result) : NULL;
		if (shown && shown[2])
			check(t, server, span_str(shown[2]), opt, list);
		mysql_free_result(result);
	}
	mysql_free_result(names);
}

int main(int argc, char **argv)
{
	bool list = false, own = false;
	struct totals t = {0};
	struct sql_options opt;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	MYSQL *server = mysql_init(NULL);

	if (argc < 2 || !server ||
		!mysql_real_connect(server, NULL, "root", NULL, NULL, 0, argv[1], 0)) {
		fprintf(stderr, "sql_programs: %s\n",
			argc < 2 ? "SOCKET missing" : mysql_error(server));
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		list |= strcmp(argv[i], "--list") == 0;
		own |= strcmp(argv[i], "--own") == 0;
	}
	opt = sql_options_for_server(span_str(mysql_get_server_info(server)));
	run(server, "set sql_mode = ''");
	run(server, "set global log_bin_trust_function_creators = 1");
	run(server, "drop database if exists sql_programs");
	run(server, "create database sql_programs");
	run(server, "use sql_programs");
	run(server, "create table t (a int primary key, b varchar(20), c decimal(8,2))");
	run(server, "create table u (a int, b int)");
	run(server, "create trigger other before insert on t for each row set new.c = 1");
	if (own)
		check_own(&t, server, &opt, list);
	while ((len = getdelim(&line, &size, '\0', stdin)) > 0) {
		if (line[len - 1] == '\0')
			len--;
		check(&t, server, span_of(line, (size_t)len), &opt, list);
	}
	free(line);
	run(server, "drop database sql_programs");
	mysql_close(server);
	mysql_library_end();
	printf("%u texts: server accepts %u, refuses %u, for other reasons %u; %u disagreements\n",
		t.texts, t.accepted, t.refused, t.other, t.wrong);
	return t.wrong ? 1 : 0;
}
