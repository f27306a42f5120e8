/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/run_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output.h"

volatile sig_atomic_t runs_stop;

static void on_signal(int number)
{
	runs_stop = 1;
	signal(number, SIG_DFL);
}

bool runs_begin(void)
{
	struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: poll must return */

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (mysql_library_init(0, NULL, NULL) == 0)
		return true;
	output_message("the database client library cannot be started");
	return false;
}

void runs_end(void)
{
	mysql_library_end();
}

bool run_levels_parse(struct run_levels *out, const char *list)
{
	*out = (struct run_levels){.count = 0};
	while (list && *list) {
		size_t len = strcspn(list, ",");
		enum txn_level level = scenario_level_word(span_of(list, len));

		if (!level || out->count == RUNS_LEVELS_MAX)
			return false;
		out->levels[out->count++] = level;
		list += len + (list[len] == ',');
	}
	return true;
}

void runs_path(struct buf *out, const char *folder, const struct scenario *s, const char *path,
	const char *number, enum txn_level level, const char *variant)
{
	struct span id = scenario_meta(s, "id");
	const char *slash = strrchr(path, '/');

	buf_printf(out, "%s/", folder);
	if (!id.len) {
		id = span_str(slash ? slash + 1 : path);
		if (id.len > 4 && span_eq_str(span_of(id.ptr + id.len - 4, 4), ".scn"))
			id.len -= 4;
	}
	for (size_t i = 0; i < id.len && i < 100; i++) {
		char c = id.ptr[i];
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '_' || (c == '.' && i);

		buf_add_char(out, fine ? c : '_');
	}
	if (!id.len)
		buf_add_str(out, "scenario");
	buf_printf(out, "%s%s%s%s.itr", number, level ? "-" : "",
		level ? txn_level_short((uint8_t)level) : "", variant);
}

bool runs_folder(const char *path)
{
	struct buf part = BUF_INIT;
	bool ok = true;

	/* Those above it too. */
	for (const char *at = path; ok && *at;) {
		at += strspn(at, "/");
		at += strcspn(at, "/");
		buf_clear(&part);
		buf_add(&part, path, (size_t)(at - path));
		ok = mkdir(part.data, 0777) == 0 || errno == EEXIST;
	}
	if (!ok)
		output_message("cannot make the folder %s: %s", part.data, strerror(errno));
	buf_release(&part);
	return ok;
}

bool runs_parse_node(struct run_options *run, const char *node)
{
	const char *colon = strrchr(node, ':');
	size_t len = colon ? (size_t)(colon - node) : 0;
	struct run_node *out = &run->nodes[run->node_count];
	uint64_t port;
	struct err err;

	if (!len || len >= sizeof(out->host) ||
		!parse_uint(colon + 1, 1, 65535, "port", &port, &err)) {
		output_message("%s: a node is HOST:PORT", node);
		return false;
	}
	if (run->node_count + 1 == RUN_NODES_MAX) {
		output_message("a cluster may have %d nodes here", RUN_NODES_MAX);
		return false;
	}
	memcpy(out->host, node, len);
	out->host[len] = '\0';
	out->port = (unsigned)port;
	run->node_count++;
	return true;
}

void provided_target(const struct provided *server, struct run_target *target)
{
	target->host = "127.0.0.1";
	target->port = server->port;
	target->socket = NULL;
	target->user = server->user;
	target->password = NULL;
}

void runs_target_provided(struct run_options *run, const struct provided *server)
{
	const char *at = strchr(server->nodes, ',');

	provided_target(server, &run->target);
	run->node_count = 0;
	while (at) {
		char node[300];

		snprintf(node, sizeof(node), "%.*s", (int)strcspn(at + 1, ","), at + 1);
		(void)!runs_parse_node(run, node);
		at = strchr(at + 1, ',');
	}
}

struct run_options runs_defaults(
	const struct connection_options *connection, const struct run_timeouts *timeouts)
{
	return (struct run_options){
		.target = connection_target(connection),
		.blocked_timeout_ns = timeouts->blocked,
		.answer_timeout_ns = timeouts->answer,
		.hang_timeout_ns = timeouts->hang,
		.rows_max = 100000,
		.stop = &runs_stop,
	};
}
