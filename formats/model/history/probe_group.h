/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that mean something only together: BWR with AWR, VSR with PM.  They wait, by session,
 * until a probe of a later statement of the session shows that the statement's are complete.
 *
 * Used by the loader alone.
 */
#ifndef MODEL_HISTORY_PROBE_GROUP_H
#define MODEL_HISTORY_PROBE_GROUP_H

#include "model/history/build.h"

struct group_probe {
	struct history_op op; /* txn, stmt, read kind, EXACT, probe */
	uint32_t table;
	uint32_t text; /* pool reference; 0: none */
	uint32_t first_row, row_count;
};

struct group_row {
	uint32_t object;
	uint32_t version;  /* NONE: nil */
	uint32_t previous; /* a version, BUILD_NIL, or NONE where the row does not say */
	uint32_t probe;    /* index of its probe in the group */
};

struct group {
	uint32_t number; /* of the statement; 0: empty */
	struct group_probe *probes;
	size_t probe_count, probe_capacity;
	struct group_row *rows;
	size_t row_count, row_capacity;
};

/* Makes a probe of the group: NULL when it has HISTORY_STMT_PROBES_MAX already. */
struct group_probe *group_probe_add(struct group *group);
void group_row_add(struct group *group, struct history_build *build, const struct group_row *row);
/* Turns the group into operations and empties it. */
void group_finish(struct group *group, struct history_build *build);
void group_free(struct group *group);

#endif
