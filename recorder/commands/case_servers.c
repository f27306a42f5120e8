/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/case_servers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "commands/private_server.h"
#include "commands/run_options.h"

static bool start_private(struct case_server *server, struct run_options *run, struct err *err)
{
	struct provided *provided = mem_zero(1, sizeof(*provided));
	bool skip;

	if (!provide_start_with(provided, server->name, server->settings, &skip, err)) {
		mem_free(provided);
		return false;
	}
	server->ctx = provided;
	runs_target_provided(run, provided);
	run->drop_database = true;
	return true;
}

static void stop_private(struct case_server *server)
{
	provide_stop(server->ctx);
	mem_free(server->ctx);
	server->ctx = NULL;
}

/* The last 16 KiB. */
static void read_private_log(struct case_server *server, struct buf *out)
{
	const struct provided *provided = server->ctx;
	FILE *file = fopen(provided->error_log, "r");
	enum { TAIL = 16384 };
	long size;

	if (!file)
		return;
	if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, size > TAIL ? size - TAIL : 0, SEEK_SET) == 0)
		out->len += fread(buf_reserve(out, TAIL), 1, TAIL, file);
	buf_add_char(out, '\n');
	fclose(file);
}

struct case_server case_server_private(const char *release, const char *const *settings)
{
	return (struct case_server){.name = release,
		.start = start_private,
		.stop = stop_private,
		.read_log = read_private_log,
		.restarts = true,
		.settings = settings};
}

/* The options have said already where it is. */
static bool use_given(struct case_server *server, struct run_options *run, struct err *err)
{
	(void)server;
	(void)run;
	(void)err;
	return true;
}

static void leave_given(struct case_server *server)
{
	(void)server;
}

struct case_server case_server_given(void)
{
	return (struct case_server){.name = "server", .start = use_given, .stop = leave_given};
}
