/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/private_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "commands/sibling_program.h"

enum { OUTPUT_MAX = 64 * 1024, ARGS_MAX = 80, STATUS_SKIP = 77 };

static const char tool_name[] = "isorec-servers";

static void find_tool(char *out, size_t size)
{
	sibling_program(tool_name, "ISOREC_SERVERS", "../../recorder/servers/", out, size);
}

/* Runs the tool; its output and messages go into the buffers.  The exit status, or -1. */
static int run_tool(const char *const *args, struct buf *output, struct buf *messages)
{
	int out[2], errors[2], status = 0;
	pid_t child;

	if (pipe2(out, O_CLOEXEC) != 0)
		return -1;
	if (pipe2(errors, O_CLOEXEC) != 0) {
		close(out[0]);
		close(out[1]);
		return -1;
	}
	child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_RDONLY);
		char *argv[ARGS_MAX] = {NULL};

		/* execvp does not change them, and its type cannot say so. */
		for (int i = 0; i + 1 < ARGS_MAX && args[i]; i++)
			memcpy(&argv[i], &args[i], sizeof(argv[i]));

		dup2(null, 0);
		dup2(out[1], 1);
		dup2(errors[1], 2);
		mem_lift_limit();
		execvp(args[0], argv);
		dprintf(2, "%s: %s; set ISOREC_SERVERS to its path\n", args[0], strerror(errno));
		_exit(127);
	}
	close(out[1]);
	close(errors[1]);
	/* It says little on the second until it is done with the first. */
	for (int i = 0; child > 0 && i < 2; i++) {
		struct buf *into = i ? messages : output;
		ssize_t got;

		do {
			got = read(i ? errors[0] : out[0], buf_reserve(into, 4096), 4096);
			if (got > 0)
				into->len += (size_t)got;
		} while ((got > 0 && into->len < OUTPUT_MAX) || (got < 0 && errno == EINTR));
		buf_add_char(into, '\0');
		into->len--;
	}
	close(out[0]);
	close(errors[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The value of `export NAME=value`; as the tool prints plain names, nothing is quoted. */
static void take_variable(const char *text, const char *name, char *out, size_t size)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "export %s=", name);
	at = strstr(text, key);
	*out = '\0';
	if (at)
		snprintf(out, size, "%.*s", (int)strcspn(at + strlen(key), "\n"), at + strlen(key));
}

/* The last line of what the tool said. */
static const char *last_line(struct buf *messages)
{
	char *at;

	while (messages->len && messages->data[messages->len - 1] == '\n')
		messages->data[--messages->len] = '\0';
	if (!messages->len)
		return "it said nothing";
	at = strrchr(messages->data, '\n');
	return at ? at + 1 : messages->data;
}

/* Splits "mariadb-10.11+si" into the release and options. */
static bool add_release(const char *given, char *release, size_t size, const char **args,
	int *count, struct err *err)
{
	static const struct {
		const char *suffix, *option;
	} suffixes[] = {
		{"+si", "--snapshot-isolation=on"},
		{"-si", "--snapshot-isolation=off"},
		{"+binlog", "--binlog=on"},
		{"-binlog", "--binlog=off"},
	};
	bool found;

	if ((size_t)snprintf(release, size, "%s", given) >= size)
		return err_set(err, ERR_USAGE, "%s: there is no release of this name", given);
	args[(*count)++] = release;
	do {
		size_t len = strlen(release);

		found = false;
		for (size_t i = 0; i < ARRAY_LEN(suffixes) && *count < 10; i++) {
			size_t end = strlen(suffixes[i].suffix);

			if (len <= end || strcmp(release + len - end, suffixes[i].suffix) != 0)
				continue;
			release[len - end] = '\0';
			args[(*count)++] = suffixes[i].option;
			found = true;
			break;
		}
	} while (found);
	return true;
}

void provide_tool(char *out, size_t size)
{
	find_tool(out, size);
}

bool provide_start(struct provided *out, const char *release, bool *skip, struct err *err)
{
	return provide_start_with(out, release, NULL, skip, err);
}

bool provide_start_with(struct provided *out, const char *release, const char *const *settings, bool *skip,
	struct err *err)
{
	static unsigned number;
	char tool[4096], name[100], parent[64], plain[64], port[16] = "";
	const char *args[ARGS_MAX] = {tool, "start"};
	struct buf output = BUF_INIT, messages = BUF_INIT;
	int count = 2, status;
	bool ok;

	*out = (struct provided){.port = 0};
	*skip = false;
	find_tool(tool, sizeof(tool));
	if (!add_release(release, plain, sizeof(plain), args, &count, err))
		return false;
	snprintf(name, sizeof(name), "--name=isorec-%ld-%u", (long)getpid(), ++number);
	snprintf(parent, sizeof(parent), "--with-parent=%ld", (long)getpid());
	args[count++] = name;
	args[count++] = parent;
	args[count++] = "--env";
	for (int i = 0; settings && settings[i] && i < PROVIDE_SETTINGS_MAX; i++) {
		args[count++] = "-o";
		args[count++] = settings[i];
	}
	status = run_tool(args, &output, &messages);
	ok = status == 0;
	if (ok) {
		take_variable(output.data, "ISOREC_SERVER_NAME", out->name, sizeof(out->name));
		take_variable(output.data, "MYSQL_TCP_PORT", port, sizeof(port));
		out->port = (unsigned)strtoul(port, NULL, 10);
		take_variable(output.data, "ISOREC_SERVER_USER", out->user, sizeof(out->user));
		take_variable(output.data, "ISOREC_SERVER_NODES", out->nodes, sizeof(out->nodes));
		take_variable(output.data, "ISOREC_SERVER_ERROR_LOG", out->error_log, sizeof(out->error_log));
	} else {
		*skip = status == STATUS_SKIP;
		err_set(err, ERR_SERVER, "%s: %s%s", release, *skip ? "skipped: " : "",
			last_line(&messages));
	}
	if (ok && !out->port)
		ok = err_set(
			err, ERR_SERVER, "%s: %s did not say where the server is", release, tool);
	buf_release(&output);
	buf_release(&messages);
	return ok;
}

void provide_stop(struct provided *server)
{
	char tool[4096];
	const char *args[] = {tool, "stop", server->name, NULL};
	struct buf output = BUF_INIT, messages = BUF_INIT;

	if (!server->name[0])
		return;
	find_tool(tool, sizeof(tool));
	(void)run_tool(args, &output, &messages);
	buf_release(&output);
	buf_release(&messages);
	server->name[0] = '\0';
}
