/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/cluster_net.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"
#include "cluster/net/switch.h"

enum { FOUND_MAX = 64, EXIT_SKIPPED = 77, LOOK_MS = 100 };

/* How a command is run as a node: "nsenter --net=/proc/1/fd/7". */
static void print_nodes(struct net *net, struct buf *out)
{
	struct buf spaces = BUF_INIT;
	const char *at, *user;
	size_t user_len;

	net_print_spaces(net, &spaces);
	user = spaces.data;
	user_len = strcspn(user, ",");
	for (at = user + user_len; *at; at += strcspn(at, ",")) {
		size_t address = strcspn(++at, "="), path = strcspn(at + address + 1, ",");

		buf_printf(out, "%.*s\tnsenter ", (int)address, at);
		if (user_len)
			buf_printf(out, "--preserve-credentials --user=%.*s ", (int)user_len, user);
		buf_printf(out, "--net=%.*s\n", (int)path, at + address + 1);
	}
	buf_printf(out, "--network\t%s\n", spaces.data);
	buf_release(&spaces);
}

enum exit_status cluster_net_serve(const char *nodes, uint64_t seed, const volatile sig_atomic_t *stop)
{
	struct buf out = BUF_INIT;
	struct net *net;
	uint64_t number;
	struct err err;

	if (!text_number(span_str(nodes), &number) || number < 2 || number > NET_NODES_MAX) {
		output_message("net open: a number of nodes from 2 to %d belongs here instead of '%s'", NET_NODES_MAX, nodes);
		return EXIT_STATUS_USAGE;
	}
	if (!net_open(&net, (unsigned)number, seed, &err)) {
		output_message("%s", err.text);
		return (enum exit_status)EXIT_SKIPPED;
	}
	print_nodes(net, &out);
	(void)!output_write(&out);
	fflush(stdout);
	while (!*stop)
		poll(NULL, 0, LOOK_MS);
	net_close(net);
	return output_finish(EXIT_STATUS_OK);
}

static bool only_one(uint64_t *pid)
{
	long found[FOUND_MAX];
	unsigned count = net_find(found, FOUND_MAX);

	if (!count) {
		output_message("no cluster with a network of its own runs; a text gets one by '# network: yes', or by a line that "
			       "changes links");
		return false;
	}
	if (count > 1) {
		output_message("%u clusters with a network run, by the processes %ld, %ld%s: which one is it? --process=PID says it",
			count, found[0], found[1], count > 2 ? "..." : "");
		return false;
	}
	*pid = (uint64_t)found[0];
	return true;
}

enum exit_status cluster_net_ask(uint64_t pid, char **words, int count)
{
	struct buf line = BUF_INIT, answer = BUF_INIT;
	enum exit_status status = EXIT_STATUS_USAGE;
	struct err err;
	bool ok;

	for (int i = 0; i < count; i++)
		buf_printf(&line, "%s%s", i ? " " : "", words[i]);
	if (!count)
		buf_add_str(&line, "show");
	if (pid || only_one(&pid)) {
		if (!net_ask((long)pid, line.data, &answer, &err)) {
			output_message("%s", err.text);
			status = EXIT_STATUS_INPUT;
		} else {
			ok = strncmp(answer.data, "ok ", 3) == 0;
			if (ok) {
				memmove(answer.data, answer.data + 3, answer.len - 2);
				answer.len -= 3;
				(void)!output_write(&answer);
			} else {
				output_message("net %s: %s", line.data, answer.data + strcspn(answer.data, " ") + 1);
			}
			status = ok ? output_finish(EXIT_STATUS_OK) : EXIT_STATUS_USAGE;
		}
	}
	buf_release(&line);
	buf_release(&answer);
	return status;
}
