/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hunt: cases are generated, executed, judged and grouped until time, number or the user ends it.
 *
 * Worker processes, each with servers of its own, do the first three for the cases that this process hands out; so a
 * crash of an oracle costs one case.  A case's findings are in files before its line is in the log, and a hunt that
 * begins in a folder with a log goes on after its last case: killed at any moment, it loses the cases that were under way, and
 * does them again.
 *
 *	FOLDER/log            the state: a line for each case and server
 *	FOLDER/cases/ID/      case.scn, SERVER.itr, report.txt: of examples, a few for each signature;
 *	                      reduced.scn, reduced.itr: of the first of a group
 *	FOLDER/index.html     the page
 */
#ifndef HUNT_HUNT_H
#define HUNT_HUNT_H

#include <signal.h>

#include "base/shard.h"
#include "generate/generate.h"
#include "hunt/judge.h"
#include "run/case_server.h"

enum { HUNT_SERVERS_MAX = 8, HUNT_JOBS_MAX = 64, HUNT_EXAMPLES = 3 };

enum hunt_reduce { HUNT_REDUCE_NONE, HUNT_REDUCE_NEW, HUNT_REDUCE_ALL };

enum hunt_known { HUNT_KNOWN_HIDE, HUNT_KNOWN_COUNT, HUNT_KNOWN_SHOW };

struct hunt_options {
	const struct model *model;
	const struct grammar *grammar; /* NULL: statements and tables are the model's */
	const struct table_plan *tables;
	const struct dialect *dialect;
	uint64_t seed, orders, cases; /* cases 0: no end */
	struct shard shard;           /* these cases alone */
	const char *const *merge;     /* folders of hunts that become one in `folder`; nothing is executed then */
	size_t merge_count;
	uint64_t time_ns;             /* 0: no end */
	uint64_t memory_max;          /* bytes of a worker */
	unsigned jobs;
	const char *folder;
	struct case_server servers[HUNT_SERVERS_MAX];
	size_t server_count;
	struct run_options run; /* timeouts, database */
	enum hunt_known known;
	enum hunt_reduce reduce; /* of which groups the first example is made small */
	const volatile sig_atomic_t *stop;
	void (*say)(void *ctx, const char *line); /* a line for the user */
	/* The state of things, several lines, twice a second, to be drawn over the last; NULL: lines now and then. */
	void (*draw)(void *ctx, const char *lines);
	void *ctx;
};

struct hunt_summary {
	uint64_t cases, fresh; /* groups that are new */
	bool incomplete;       /* something could not be run */
};

bool hunt(const struct hunt_options *options, struct hunt_summary *summary, struct err *err) MUST_CHECK;

#endif
