/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands that execute scenarios share: levels, names of traces, signals. */
#ifndef COMMANDS_RUN_OPTIONS_H
#define COMMANDS_RUN_OPTIONS_H

#include <signal.h>

#include "commands/connection_options.h"
#include "commands/private_server.h"
#include "run/run.h"

enum { RUNS_LEVELS_MAX = 4 };

struct run_levels {
	enum txn_level levels[RUNS_LEVELS_MAX];
	size_t count;
};

/* "RU,RC"; NULL is none. */
bool run_levels_parse(struct run_levels *out, const char *list) MUST_CHECK;

/* FOLDER/ID[NUMBER][-LEVEL][VARIANT].itr; the id, or the file's name where it has none, in
 * characters that are safe in a file's name. */
void runs_path(struct buf *out, const char *folder, const struct scenario *s, const char *path,
	const char *number, enum txn_level level, const char *variant);
/* Makes the folder if it is not there; false after a message. */
bool runs_folder(const char *path) MUST_CHECK;

/* Entries of option tables that several commands have. */
#define RUNS_SERVER_HELP                                                                           \
	"a release of isorec-servers, started for this and stopped afterwards; with +si or -si "   \
	"after it for innodb_snapshot_isolation, +binlog or -binlog for the row binary log"
#define RUNS_TIMEOUT_OPTIONS(type, member)                                                         \
	{.name = "blocked-timeout",                                                                \
		.argument = "TIME",                                                                \
		OPTION_DURATION(type, member.blocked),                                             \
		.preset = "1s",                                                                    \
		.help = "only where the server's lock views cannot be read: no answer for so "     \
			"long means blocked"},                                                     \
		{.name = "answer-timeout",                                                         \
			.argument = "TIME",                                                        \
			OPTION_DURATION(type, member.answer),                                      \
			.preset = "10s",                                                           \
			.help = "a statement that neither waits for a lock nor answers is then "   \
				"taken as blocked"},                                               \
	{                                                                                          \
		.name = "hang-timeout", .argument = "TIME", OPTION_DURATION(type, member.hang),    \
		.preset = "70s",                                                                   \
		.help = "when every session waits and nothing moves for so long, they are killed"  \
	}

#define RUNS_SERVER_OPTION(type, member)                                                           \
	{                                                                                          \
		.name = "server", .argument = "RELEASE", OPTION_STRING(type, member),              \
		.help = RUNS_SERVER_HELP                                                           \
	}

/* Of commands that make a database for each scenario. */
#define RUNS_DATABASE_OPTION(type, member, name_preset)                                            \
	{                                                                                          \
		.name = "database", .letter = 'D', .argument = "NAME",                             \
		OPTION_STRING(type, member), .preset = (name_preset),                              \
		.help = "the database to make for each run and to drop afterwards; must not exist" \
	}

#define RUNS_OVERWRITE_OPTION(type, member)                                                        \
	{                                                                                          \
		.name = "overwrite", OPTION_FLAG(type, member),                                    \
		.help = "replace traces that are there"                                            \
	}

#define RUNS_ROWS_OPTION(type, member)                                                             \
	{                                                                                          \
		.name = "max-rows", .argument = "N", OPTION_UINT(type, member),                    \
		.preset = "100000", .help = "rows kept of a table's content before and after"      \
	}

#define RUNS_NODE_OPTION(type, member)                                                             \
	{                                                                                          \
		.name = "node", .argument = "HOST:PORT", OPTION_STRINGS(type, member),             \
		.help = "of a cluster, a further node, for scenarios whose sessions are on "       \
			"several (`# node: T2=2`); may be given several times; a cluster of "      \
			"isorec-servers brings its own"                                            \
	}

#define RUNS_NODE_MISUSED                                                                          \
	"--node is for a cluster that runs already; one that --server starts brings its nodes"

struct run_timeouts {
	uint64_t blocked, answer, hang; /* ns */
};
#define RUN_TIMEOUTS_DEFAULT ((struct run_timeouts){1000000000u, 10000000000u, 70000000000u})

struct run_options runs_defaults(
	const struct connection_options *connection, const struct run_timeouts *timeouts);

/* Leads to the server that was started.  Keeps pointers into it. */
void provided_target(const struct provided *server, struct run_target *target);
/* The server that was started for the run, with the nodes it has.  Keeps pointers into it. */
void runs_target_provided(struct run_options *run, const struct provided *server);
/* Further nodes, HOST:PORT; false after a message. */
bool runs_parse_node(struct run_options *run, const char *node) MUST_CHECK;

/* INT and TERM: the run ends, its database is dropped; a second one ends at once. */
extern volatile sig_atomic_t runs_stop;
/* Signals and the client library; false after a message. */
bool runs_begin(void) MUST_CHECK;
void runs_end(void);

#endif
