/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of one drive_run().  Threads: the main one (triggers, points), one for each session of the load, one for
 * each node that is watched, one for each operation under way.  What they share is atomic or under `lock`.
 */
#ifndef CLUSTER_DRIVE_DRIVE_INTERNAL_H
#define CLUSTER_DRIVE_DRIVE_INTERNAL_H

#include <mysql.h>
#include <pthread.h>
#include <stdatomic.h>

#include "capture/capture.h"
#include "capture/cluster_event.h"
#include "cluster/cluster.h"
#include "cluster/coverage/coverage.h"
#include "cluster/drive/drive.h"
#include "cluster/net/switch.h"
#include "run/client.h"

enum {
	DRIVE_NODES_MAX = OPS_NODES_MAX,
	DRIVE_SESSIONS_MAX = 64,
	DRIVE_LOOK_MS = 100,       /* between looks at a node's state */
	DRIVE_TICK_MS = 10,
	DRIVE_WINDOW_MS = 50,      /* nothing moves for as long: a window */
	DRIVE_START_S = 300,       /* for a cluster to start, or to stop */
	DRIVE_STATEMENT_S = 40,    /* a statement without an answer for as long is given up */
	DRIVE_HOLD_S = 20,         /* the same once the clients are to be held */
	DRIVE_POINT_WAIT_S = 10,   /* for nodes that are ready to be at one position */
	DRIVE_STATES_MAX = 64,
	DRIVE_ROWS_MAX = 2000000,  /* of a table at a point */
};
#define DRIVE_DATABASE "isorec_cluster"

struct drive_node {
	char name[8];          /* n1 */
	char instance[128];    /* what its start called it */
	char socket[256], data[400], log[400], exit_file[400];
	unsigned port;
	long pid;
	int pidfd;             /* -1: not watched, or it has ended */
	bool known;
	bool wanted;           /* it belongs to the cluster now */
	char asked[64];        /* the operation that wants it to end, or "" */
	char state[96];        /* "": no answer */
	uint64_t state_at;     /* since when */
	struct capture_node capture;
	bool announced;
	pthread_t watcher;
	bool watching;
};

struct drive_txn_counts {
	_Atomic uint64_t statements, transactions, committed, unknown, failed;
};

struct drive {
	const struct drive_options *options;
	const struct ops *ops;
	struct drive_report *report;
	struct err *err;
	char cluster_name[64], parent[24];
	struct trace_writer *writer;
	struct trace_producer *producer; /* the main thread's */
	struct capture_config config;
	struct cluster watched;          /* polls and logs of the nodes, for the trace */
	pthread_mutex_t lock;            /* of the nodes */
	struct drive_node nodes[DRIVE_NODES_MAX];
	unsigned node_count;
	char states[DRIVE_STATES_MAX][96]; /* that nodes were seen in; under `lock` */
	unsigned state_count;
	struct model model;
	struct drive_load *load;
	struct drive_txn_counts counts;
	atomic_bool hold, give_up, end;
	atomic_uint busy;                /* sessions within a transaction */
	_Atomic uint64_t moved_at;       /* when a statement was last answered, or a state changed */
	_Atomic uint32_t committing;     /* COMMITs that are under way */
	atomic_uint operations;          /* under way, without faults that merely last */
	uint64_t began;
	unsigned points;
	struct coverage *coverage;       /* NULL: it is not measured */
	struct net *net;                 /* the links between the nodes; NULL: they are not ours */
	struct trace_producer *net_producer; /* under the lock of the net */
	struct ops_step instead[OPS_STEPS_MAX]; /* of steps that change links, where there is no net */
	char **tables;                   /* as they were when the load began */
	size_t table_count;
};

/* ---- nodes.c ---- */

/* Starts the cluster; false and *skipped: it cannot be had here. */
bool nodes_start(struct drive *d, bool *skipped, struct err *err);
void nodes_stop(struct drive *d);
/* Begins to watch a node whose place is known; ends with d->end. */
void node_watch(struct drive *d, struct drive_node *node);
/* Takes a line "event n1 what name=value ..." of a command's output. */
void nodes_take_event(struct drive *d, struct trace_producer *producer, struct span line);
/* Runs a shell command with ${...} filled in; its lines that are events are taken.  The exit status, or -1. */
int nodes_shell(struct drive *d, struct trace_producer *producer, const char *text, uint32_t targets, struct buf *said);
bool node_sql(struct drive *d, unsigned node, const char *sql, char *answer, size_t size, unsigned seconds, struct err *err);
/* Copies of what changes under the lock. */
bool node_is_up(struct drive *d, unsigned node);
bool node_is_ready(struct drive *d, unsigned node);
bool node_is_wanted(struct drive *d, unsigned node);
void node_state(struct drive *d, unsigned node, char *out, size_t size);
struct run_target node_target(struct drive *d, unsigned node, char socket[256], const char *database);
/* In words: "n1,n3". */
void nodes_print(const struct drive *d, uint32_t set, struct buf *out);

/* ---- operate.c ---- */

struct operation {
	struct drive *d;
	const struct ops_step *step;
	uint32_t targets;
	bool aimed, hit;
	pthread_t thread;
	atomic_bool over; /* its end is known; of a fault: it is in force */
	bool failed, undone;
	uint64_t began, undo_at;
	uint64_t change; /* by which the net knows it */
	struct operation *next;
};

/* The nodes that the step means and that it is applicable to now; 0: it is not. */
uint32_t operation_targets(struct drive *d, const struct ops_step *step, uint64_t draw);
struct operation *operation_start(struct drive *d, const struct ops_step *step, uint32_t targets, bool aimed, bool hit);
/* Ends a fault. */
void operation_undo(struct operation *o);
void operation_join(struct operation *o);

/* ---- links.c ---- */

/* Makes the network where the text wants one.  False: it is demanded and cannot be had (*skipped). */
bool links_open(struct drive *d, bool *skipped, struct err *err);
/* All links are well, and what passed each of them is recorded. */
void links_heal(struct drive *d);
void links_close(struct drive *d);
/* What to do instead of a step that changes links, where they are not ours: the step itself where they are; NULL: nothing. */
const struct ops_step *links_step(struct drive *d, unsigned number);

/* ---- load.c ---- */

bool load_setup(struct drive *d, struct err *err);
bool load_start(struct drive *d, struct err *err);
void load_stop(struct drive *d);

/* ---- point.c ---- */

/* Holds the clients, waits for the nodes, and records what each has. */
bool point_take(struct drive *d, const char *name, uint64_t settle_ns, bool keep_held);
/* Holds the clients: returns when none is within a transaction. */
void point_hold(struct drive *d);
/* Records what the nodes have counted, where the kind says how to ask. */
void point_counters(struct drive *d);
bool point_schema(struct drive *d, struct err *err);

#endif
