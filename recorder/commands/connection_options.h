/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options by which a command of isorec finds its server and logs in. */
#ifndef COMMANDS_CONNECTION_OPTIONS_H
#define COMMANDS_CONNECTION_OPTIONS_H

#include <stdlib.h>

#include "base/options.h"
#include "run/client.h"

struct connection_options {
	const char *host, *user, *password, *socket;
	uint64_t port, connect_timeout;
};

/* Entries of an option table whose struct `type` has a struct connection_options `member`. */
#define CONNECTION_OPTIONS(type, member)                                                           \
	{.name = "host",                                                                           \
		.letter = 'h',                                                                     \
		.argument = "NAME",                                                                \
		OPTION_STRING(type, member.host),                                                  \
		.preset = "127.0.0.1, or MYSQL_HOST",                                              \
		.help = "the server's host"},                                                      \
		{.name = "port",                                                                   \
			.letter = 'P',                                                             \
			.argument = "N",                                                           \
			.min = 1,                                                                  \
			.max = 65535,                                                              \
			OPTION_UINT(type, member.port),                                            \
			.preset = "3306, or MYSQL_TCP_PORT",                                       \
			.help = "the server's port"},                                              \
		{.name = "socket",                                                                 \
			.letter = 'S',                                                             \
			.argument = "PATH",                                                        \
			.files = true,                                                             \
			OPTION_STRING(type, member.socket),                                        \
			.help = "connect through this socket file instead"},                       \
		{.name = "user",                                                                   \
			.letter = 'u',                                                             \
			.argument = "NAME",                                                        \
			OPTION_STRING(type, member.user),                                          \
			.preset = "root",                                                          \
			.help = "log in as"},                                                      \
		{.name = "password",                                                               \
			.letter = 'p',                                                             \
			.argument = "WORD",                                                        \
			.flags = OPTION_SECRET,                                                    \
			OPTION_STRING(type, member.password),                                      \
			.preset = "MYSQL_PWD",                                                     \
			.help = "its password"},                                                   \
	{                                                                                          \
		.name = "connect-timeout", .argument = "TIME",                                     \
		OPTION_DURATION(type, member.connect_timeout), .preset = "10s",                    \
		.help = "give up on a server that does not answer"                                 \
	}

static inline const char *connection_environment(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static inline struct connection_options connection_defaults(void)
{
	return (struct connection_options){
		.host = connection_environment("MYSQL_HOST", "127.0.0.1"),
		.user = "root",
		.password = getenv("MYSQL_PWD"),
		.port = strtoul(connection_environment("MYSQL_TCP_PORT", "3306"), NULL, 10),
		.connect_timeout = 10000000000u,
	};
}

static inline struct run_target connection_target(const struct connection_options *o)
{
	return (struct run_target){.host = o->host,
		.port = (unsigned)o->port,
		.user = o->user,
		.password = o->password,
		.socket = o->socket,
		.timeout_s = (unsigned)(o->connect_timeout / 1000000000) + 1};
}

#endif
