/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run of a cluster brought: words that are equal when the same thing happened again.
 *
 *	state wsrep_local_state_comment Joined, was Joining
 *	within kill+start: state ...       the same, and which operations were under way or just over
 *	log [Note] WSREP: Member #.# (n#) requested state transfer ...
 *	counter wsrep_flow_control_sent 2^3
 *	operation recover timeout
 *
 * They come from outside the servers: from the trace, and from the nodes' logs.
 */
#ifndef CLUSTER_EXPLORE_SIGNALS_H
#define CLUSTER_EXPLORE_SIGNALS_H

#include "model/life/life.h"

/* A line in which what differs from run to run is masked: numbers, identifiers, paths, what stands in quotes. */
void signals_mask(struct span line, struct buf *out);
/* Of the trace's cluster records. */
void signals_of_life(const struct life *life, void (*add)(void *ctx, struct span signal), void *ctx);
/* Of all lines of a server's log. */
void signals_of_log(const char *path, void (*add)(void *ctx, struct span signal), void *ctx);

#endif
