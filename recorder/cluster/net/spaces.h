/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A network namespace a node, each with one interface (eth0, 10.77.0.N) that is a TAP device: what a node sends to another
 * is read from its descriptor, and what is written to the other's arrives there.
 *
 * Root is not needed: without it the namespaces belong to a user namespace of their own, in which the user keeps his
 * number.  Nothing has a name in a file system: all of it is gone with the last process that has a descriptor of it or runs
 * in it.
 */
#ifndef CLUSTER_NET_SPACES_H
#define CLUSTER_NET_SPACES_H

#include "cluster/net/change.h"

struct spaces {
	unsigned nodes;
	int user;                 /* the user namespace; -1: none is needed */
	int space[NET_NODES_MAX]; /* network namespaces */
	int tap[NET_NODES_MAX];   /* do not block */
};

/* False, with the reason: they cannot be had here. */
bool spaces_open(struct spaces *out, unsigned nodes, struct err *err) MUST_CHECK;
void spaces_close(struct spaces *spaces);
/* For isorec-servers --network: USER,ADDRESS=PATH,ADDRESS=PATH..., by paths of this process's descriptors. */
void spaces_print(const struct spaces *spaces, struct buf *out);
/* The 48-bit address of a node's interface ends with its number, from 1. */
enum { SPACES_MAC_SIZE = 6, SPACES_FRAME_MAX = 1514 };

#endif
