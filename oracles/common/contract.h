/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contracts: what an engine really promises at each level (semantics.md, section 4).
 *
 * A contract is a text file, oracles/common/contracts/NAME.contract, built into the program; a user may
 * give a file of his own.  Lines, in this order:
 *
 *	# a comment
 *	contract NAME
 *	untimed                           answers may come from states of other times
 *	level RU|RC|RR|SER
 *	forbids CLASS...                  of the level above it
 *	rule NAME allows CLASS...|none    documented behaviour, named in the report
 *	page URL                          where the rule above is documented
 *	cluster                           begins what the nodes together promise; after it
 *	forbids CLASS...
 *	rule NAME allows CLASS... when CIRCUMSTANCE...
 *
 * What a level neither forbids nor has a rule for is not promised: found, shown as documented, and
 * no violation.
 */
#ifndef COMMON_CONTRACT_H
#define COMMON_CONTRACT_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"
#include "common/verdict.h"

enum { CONTRACT_RULES_MAX = 16, CONTRACT_LEVELS = 5 /* by enum txn_level */ };

/* What a rule of a cluster asks for: that it allows something only then. */
#define CONTRACT_CIRCUMSTANCES(X)                                                                  \
	/* a commit is answered before its log is written (innodb_flush_log_at_trx_commit=0) */    \
	X(CIRCUMSTANCE_UNFLUSHED, "unflushed")                                                     \
	X(CIRCUMSTANCE_KILLED, "killed")       /* a node's process ended by a signal */            \
	X(CIRCUMSTANCE_ALL_DOWN, "all-down")   /* at one moment no node ran */                     \
	X(CIRCUMSTANCE_BEHIND, "behind") /* the cluster was founded anew from a node that others were ahead of */

enum contract_circumstance_number {
#define X(name, word) name##_NUMBER,
	CONTRACT_CIRCUMSTANCES(X)
#undef X
		CONTRACT_CIRCUMSTANCE_COUNT
};
enum contract_circumstance {
#define X(name, word) name = 1 << name##_NUMBER,
	CONTRACT_CIRCUMSTANCES(X)
#undef X
};

enum { CONTRACT_NAME_MAX = 40 };

struct contract_rule {
	char name[CONTRACT_NAME_MAX];
	uint64_t allows; /* a set of classes: bits by enum finding_class; of a cluster from CLASS_LOST_COMMIT on */
	uint32_t when;   /* of a cluster: all of these circumstances; enum contract_circumstance */
	char page[200];
};

struct contract_level {
	bool given;
	uint64_t forbids; /* a set of classes */
	struct contract_rule rules[CONTRACT_RULES_MAX];
	uint32_t rule_count;
};

/* How the solver executes statements under the contract, whatever the server calls itself. */
enum contract_engine { CONTRACT_ENGINE_OF_SERVER, CONTRACT_ENGINE_TIDB };

struct contract {
	char name[CONTRACT_NAME_MAX];
	enum contract_engine engine;
	bool untimed; /* an answer need not come from one state, at a moment that its times allow */
	struct contract_level levels[CONTRACT_LEVELS];
	struct contract_level cluster; /* its sets begin at CLASS_LOST_COMMIT */
};

/* A built-in contract by name. */
bool contract_builtin(struct contract *out, const char *name, struct err *err) MUST_CHECK;
bool contract_parse(
	struct contract *out, struct span text, const char *source, struct err *err) MUST_CHECK;
/* NULL-terminated. */
extern const char *const contract_names[];
/* The one for a server: by flavour ("mariadb", "mysql", "tidb") and innodb_snapshot_isolation. */
const char *contract_for(struct span flavour, bool snapshot_isolation);

/* The name of the rule of what a level neither forbids nor documents.  The rule is this pointer. */
extern const char contract_not_promised[];

/* The names of the phenomena in a set, `at` counting from 0; NULL past the last. */
const char *contract_phenomenon(uint64_t set, unsigned at);

/* Cycles that `contract` forbids at a level and `engine` does not; a set of classes. */
uint64_t contract_more_cycles(
	const struct contract *contract, const struct contract *engine, uint8_t level);

/* What the contract says of a class at a level; *rule is the rule's name where there is one.
 */
enum severity contract_judge(
	const struct contract *contract, uint8_t level, enum finding_class class, const char **rule);

/* ... of a class of clusters, under these circumstances (enum contract_circumstance).  *rule is NULL for a violation. */
enum severity contract_judge_cluster(const struct contract *contract, uint32_t circumstances, enum finding_class class,
	const struct contract_rule **rule);

#endif
