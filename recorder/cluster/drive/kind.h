/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kind of cluster, as a file describes it (docs/cluster-operations.md): how it is started, how its nodes are asked,
 * and which operations and faults there are.  A user adds a cluster by writing such a file.
 */
#ifndef CLUSTER_DRIVE_KIND_H
#define CLUSTER_DRIVE_KIND_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

enum { KIND_STEPS_MAX = 8, KIND_OPERATIONS_MAX = 64, KIND_TEXT_MAX = 64 * 1024 };

enum kind_when { KIND_WHEN_ANY, KIND_WHEN_UP, KIND_WHEN_DOWN, KIND_WHEN_READY, KIND_WHEN_ALL_DOWN };
enum kind_end { KIND_ENDS_DONE, KIND_ENDS_EXIT, KIND_ENDS_READY };

struct kind_step {
	bool shell; /* else SQL on the node */
	const char *text;
};

struct kind_operation {
	const char *name, *says;
	bool fault;       /* it lasts until it is undone */
	bool of_cluster;  /* it takes no node */
	bool others_up;   /* it needs another node that is ready */
	enum kind_when when;
	enum kind_end ends;
	bool leaves, joins, joins_all; /* the nodes are out of the cluster on purpose, or belong to it again */
	struct kind_step steps[KIND_STEPS_MAX], undo[KIND_STEPS_MAX];
	unsigned step_count, undo_count;
};

struct kind {
	struct arena arena;
	const char *name, *release, *tried, *start, *stop, *option, *state, *ready, *position, *before_read, *counters, *contract, *library, *variable;
	unsigned nodes;
	struct kind_operation operations[KIND_OPERATIONS_MAX];
	unsigned operation_count;
};

/* Errors name FILE:LINE:COLUMN. */
bool kind_parse(struct kind *out, struct span text, const char *source, struct err *err) MUST_CHECK;
/* A built-in one by name, or a file. */
bool kind_open(struct kind *out, const char *name, struct err *err) MUST_CHECK;
void kind_release(struct kind *kind);
const struct kind_operation *kind_operation_named(const struct kind *kind, struct span name);
/* NULL-terminated. */
extern const char *const kind_names[];
const char *kind_text(const char *name);

#endif
