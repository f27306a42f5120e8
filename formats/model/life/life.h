/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a trace of several nodes says beside its statements: the nodes, what happened to them, and what each held
 * when the cluster was quiet.  Statements and transactions are in the execution (model/execution/execution.h).
 *
 * A *point* is a moment at which the clients were held and the contents of the nodes were read: records of kind
 * `rows` with one moment, and for each node a cluster record `point` (docs/trace-format.md, "cluster").
 *
 * Everything points into the arena.  Events are in the order of their seq, points in the order in which they began.
 */
#ifndef MODEL_LIFE_LIFE_H
#define MODEL_LIFE_LIFE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "trace/reader.h"

enum { LIFE_NODES_MAX = 64, LIFE_POINTS_MAX = 4096, LIFE_ROWS_BYTES_MAX = 1 << 30 };
#define LIFE_NONE UINT32_MAX

struct life_node {
	struct span name, version, flavour;
	struct span variables; /* encoded; of its last server record */
};

struct life_event {
	uint64_t seq, at, begin; /* begin 0: it takes no time, or that is not known */
	uint32_t node;           /* or NONE: of all */
	struct span what, detail, data;
};

/* A node at a point. */
struct life_look {
	bool told;            /* the recorder says something of it */
	bool read;            /* its tables were read */
	bool expected;        /* an operation had not taken it out of the cluster on purpose */
	bool running;         /* its process was */
	bool ready;           /* it was in the state that the cluster's file calls ready */
	struct span state;    /* in the server's words */
	struct span position; /* how far it had come: a sequence number or a set of GTIDs */
	struct span unread;   /* why it was not read */
	uint64_t waited_ns;
};

struct life_point {
	struct span name;
	uint64_t first_seq, last_seq, first_at, last_at;
	struct life_look looks[LIFE_NODES_MAX];
};

/* What a node's table held at a point. */
struct life_content {
	uint32_t point, node, table; /* table: its number in the trace */
	struct span *rows;           /* encoded arrays of values */
	size_t count, capacity;
	struct span columns;    /* encoded names, or SPAN_NONE: as in the schema */
	struct span definition; /* SHOW CREATE TABLE there and then; SPAN_NONE: not recorded */
	bool complete, ended;
};

struct life {
	struct arena arena;
	struct life_node nodes[LIFE_NODES_MAX];
	uint32_t node_count;
	struct life_event *events;
	size_t event_count, event_capacity;
	struct life_point *points;
	size_t point_count, point_capacity;
	struct life_content *contents;
	size_t content_count, content_capacity;
	size_t row_bytes;
	bool cut; /* rows past LIFE_ROWS_BYTES_MAX were left out */
};

bool life_load(struct life *out, const char *path, bool salvage, struct err *err) MUST_CHECK;
void life_release(struct life *life);

/* A value of an event's data; SPAN_NONE: it has none of that name. */
struct span life_data(struct span data, const char *name);
/* A variable of a node. */
struct span life_variable(const struct life_node *node, const char *name);
uint32_t life_node_named(const struct life *life, struct span name);

#endif
