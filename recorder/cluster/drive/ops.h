/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is done to a cluster, and when: the text of `isorec cluster run` (docs/cluster-operations.md).
 *
 *	# kind: galera
 *	# time: 40s
 *	[operations]
 *	at 10s kill all
 *	then recover
 */
#ifndef CLUSTER_DRIVE_OPS_H
#define CLUSTER_DRIVE_OPS_H

#include "base/buf.h"
#include "cluster/drive/kind.h"
#include "cluster/net/change.h"

enum { OPS_STEPS_MAX = 256, OPS_OPTIONS_MAX = 16, OPS_NODES_MAX = 16, OPS_SETUP_MAX = 256, OPS_TEXT_MAX = 256 * 1024 };

enum ops_trigger {
	OPS_AT_TIME,
	OPS_AT_STATEMENT, /* as many statements were sent */
	OPS_AT_STATE,     /* a node is in a state */
	OPS_AT_WINDOW,    /* something is under way and stands still */
	OPS_THEN,         /* the step before has ended */
};

/* What a line without an operation of the kind asks for. */
enum ops_own { OPS_POINT, OPS_HOLD, OPS_GO };

struct ops_step {
	enum ops_trigger trigger;
	uint64_t number;    /* of statements */
	uint64_t after_ns;  /* of a time, or after the others */
	unsigned node;      /* whose state; from 0 */
	const char *state;
	const struct kind_operation *operation; /* NULL: one of our own */
	const struct net_change *change;        /* of the links between nodes; then the operation is one of the network's */
	enum ops_own own;
	uint32_t targets;   /* a set of nodes */
	bool any, all;      /* one that fits, drawn; all that fit */
	uint64_t lasts_ns;  /* of a fault */
	unsigned line;
	const char *text;   /* without its trigger: "kill n1" */
};

/* AUTO: where the text changes links, and namespaces can be had. */
enum ops_network { OPS_NETWORK_AUTO, OPS_NETWORK_YES, OPS_NETWORK_NO };

struct ops {
	struct arena arena;
	struct kind kind;
	const char *kind_name, *release, *model;
	unsigned nodes, sessions;
	uint64_t seed, time_ns, settle_ns, aim_ns, limit_ns, rows;
	enum ops_network network;
	bool coverage; /* which blocks of the kind's library are reached */
	bool heal; /* at the end faults are undone and nodes that are down are started */
	const char *options[OPS_OPTIONS_MAX];
	unsigned option_count;
	const char *setup[OPS_SETUP_MAX];
	unsigned setup_count;
	struct ops_step steps[OPS_STEPS_MAX];
	unsigned step_count;
};

/* kind: instead of what the text says; or NULL.  Errors name SOURCE:LINE:COLUMN. */
bool ops_parse(struct ops *out, struct span text, const char *source, const char *kind, struct err *err) MUST_CHECK;
bool ops_open(struct ops *out, const char *path, const char *kind, struct err *err) MUST_CHECK;
void ops_release(struct ops *ops);
/* The text again, in its plain form. */
void ops_print(const struct ops *ops, struct buf *out);
/* Any of its steps changes links. */
/* The operations of the network, by enum net_verb; NET_VERB_COUNT of them. */
const struct kind_operation *ops_net_operations(void);
bool ops_change_links(const struct ops *ops);
void ops_print_step(const struct ops *ops, const struct ops_step *step, struct buf *out);

#endif
