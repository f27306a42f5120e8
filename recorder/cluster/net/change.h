/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be done to the links between nodes, and its words:
 *
 *	cut n1,n2            no frame passes between these and the others (a partition)
 *	cut n1>n2            none that n1 sends to n2; those of n2 to n1 pass
 *	delay n1-n2 50ms 10ms
 *	loss all 5%
 *	heal all
 */
#ifndef CLUSTER_NET_CHANGE_H
#define CLUSTER_NET_CHANGE_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

enum { NET_NODES_MAX = 9 };

enum net_verb { NET_CUT, NET_DELAY, NET_LOSS, NET_DUPLICATE, NET_REORDER, NET_RATE, NET_HEAL };
enum { NET_VERB_COUNT = NET_HEAL + 1 };
extern const char *const net_verbs[]; /* NULL-terminated */

struct net_change {
	enum net_verb verb;
	uint16_t to[NET_NODES_MAX]; /* of each sender, the receivers that are meant: a set */
	uint16_t named;             /* nodes that the text names, but not as "the others" */
	uint64_t value;             /* ns, millionths, or bytes a second */
	uint64_t jitter_ns;
};

/* One direction of a link. */
struct net_state {
	bool cut;
	uint64_t delay_ns, jitter_ns;
	uint32_t loss, duplicate, reorder; /* of a million frames */
	uint64_t rate;                     /* bytes a second; 0: as fast as it goes */
};

/* What follows the verb: LINKS [VALUE [JITTER]].  False: `wrong` is the word that is, and err says what belongs there. */
bool net_change_parse(struct net_change *out, enum net_verb verb, struct span text, unsigned nodes, struct span *wrong,
	struct err *err) MUST_CHECK;
/* The verb of that name; false: there is none. */
bool net_verb_named(struct span word, enum net_verb *out);
/* Puts a change on top of a state. */
void net_state_apply(struct net_state *state, const struct net_change *change);
bool net_state_equal(const struct net_state *a, const struct net_state *b);
/* "cut", "delay 50 ms", "up": in words. */
void net_state_print(const struct net_state *state, struct buf *out);

#endif
