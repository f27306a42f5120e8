/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network between the nodes of a cluster on one machine: one thread reads what each node sends and passes it on, or not.
 *
 * Each direction of each link is cut, delayed, lossy and so on for itself (cluster/net/change.h).  Which frames are lost,
 * doubled or held back comes from the seed: the n-th frame of a link has the same fate in every run with the same settings.
 *
 * A change stays in force until it is taken back or healed.  Of several, a later one of the same verb counts.
 */
#ifndef CLUSTER_NET_SWITCH_H
#define CLUSTER_NET_SWITCH_H

#include "cluster/net/change.h"

struct net;

struct net_counts {
	uint64_t frames, bytes;   /* that the node sent */
	uint64_t cut, lost, full; /* not passed on: by a cut, by the share, because too much was waiting */
	uint64_t duplicated, reordered;
};

/* One direction of a link has changed.  Called under the switch's lock, by the thread that changes it. */
typedef void net_told(void *ctx, unsigned from, unsigned to, const struct net_state *state, const struct net_counts *counts,
	const char *by);

/* False, with the reason: it cannot be had here. */
bool net_open(struct net **out, unsigned nodes, uint64_t seed, struct err *err) MUST_CHECK;
void net_close(struct net *net);
/* NULL: no function is called any more. */
void net_tell(struct net *net, net_told *told, void *ctx);
/* For isorec-servers --network. */
void net_print_spaces(struct net *net, struct buf *out);
/* The number to take it back by. */
uint64_t net_apply(struct net *net, const struct net_change *change, const char *by);
void net_take_back(struct net *net, uint64_t number);
void net_heal_all(struct net *net);
void net_counts(struct net *net, unsigned from, unsigned to, struct net_counts *out);
/* A line a link, for a person. */
void net_print(struct net *net, struct buf *out);

/* ---- by hand, from another process of the same user ---- */

/* Sends words to the process's network: "show", or a change.  Its answer begins with "ok" or "error". */
bool net_ask(long pid, const char *words, struct buf *answer, struct err *err) MUST_CHECK;
/* The processes that have a network; how many. */
unsigned net_find(long *pids, unsigned max);

#endif
