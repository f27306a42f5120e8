/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server that sessions are recorded on. */
#ifndef CAPTURE_NODE_H
#define CAPTURE_NODE_H

#include <stdatomic.h>
#include <stdbool.h>

/* A node as sessions on it need to know it; shared by the workers. */
struct capture_node {
	const char *name, *address;
	atomic_bool announced;             /* its server record was written */
	atomic_uint_fast8_t level;         /* the global isolation level; enum txn_level */
	atomic_uint_fast8_t hidden_levels; /* HIDDEN_* of db/levels_in_programs.h */
	atomic_uint_fast8_t flavour;       /* enum server_flavour */
	atomic_bool refuses;               /* the last connection could not be made */
	bool rollback_on_timeout;          /* innodb_rollback_on_timeout, when known */
};

#endif
