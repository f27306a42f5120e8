/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the oracles say: findings, levels, and what was not decided.  The same for every oracle, in
 * words, so that reports need not know what the evidence was.  All bytes live in the verdict's
 * arena.
 */
#ifndef COMMON_VERDICT_H
#define COMMON_VERDICT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"
#include "common/finding_class.h"
#include "common/graph/cycles.h"
#include "common/graph/feedback.h"
#include "common/graph/graph.h"

enum severity {
	SEVERITY_VIOLATION,  /* the contract forbids it */
	SEVERITY_APPLICATION, /* the server keeps its contract, and the application relies on more than that */
	SEVERITY_DOCUMENTED, /* the engine's manual says so; `rule` names where */
	SEVERITY_SUSPICION,  /* not proven */
	SEVERITY_COMPAT,     /* two servers differ, both within their contracts */
};

/*
 * What a finding is like beyond its class, where the oracle can tell; the signatures of known bugs
 * (common/known/signature.h) ask for them by these names.
 */
#define FINDING_TRAITS(X)                                                                          \
	/* the statement */                                                                        \
	X(TRAIT_PLAIN_READ, "plain-read")                                                          \
	X(TRAIT_LOCKING_READ, "locking-read")                                                      \
	X(TRAIT_INSERT, "insert")                                                                  \
	X(TRAIT_UPDATE, "update")                                                                  \
	X(TRAIT_DELETE, "delete")                                                                  \
	X(TRAIT_WAITED, "waited")                                                                  \
	X(TRAIT_BY_SUBQUERY, "by-subquery")       /* which decided what rows it took */            \
	X(TRAIT_AFTER_DEADLOCK, "after-deadlock") /* the session's statement before it got 1213 */ \
	/* what another transaction did to the row */                                                    \
	X(TRAIT_ROW_INSERTED, "row-inserted")                                                      \
	X(TRAIT_ROW_UPDATED, "row-updated")                                                        \
	X(TRAIT_ROW_MOVED, "row-moved") /* to another primary key */                               \
	X(TRAIT_ROW_DELETED, "row-deleted")                                                        \
	X(TRAIT_BEFORE, "before")       /* before the statement was sent */                        \
	X(TRAIT_MEANWHILE, "meanwhile") /* or after */                                             \
	X(TRAIT_ROLLED_BACK, "rolled-back") /* a transaction was while the statement waited */     \
	X(TRAIT_KEY_REUSED, "key-reused") /* deleted, and another put under its unique key */      \
	/* what the transaction did */                                                             \
	X(TRAIT_MEANT, "meant") /* a write of its own matches the row as its snapshot has it */    \
	X(TRAIT_FOLLOWED, "followed") /* it changed the moved row where it is now */

enum finding_trait_number {
#define X(name, word) name##_NUMBER,
	FINDING_TRAITS(X)
#undef X
		FINDING_TRAIT_COUNT
};
enum finding_trait {
#define X(name, word) name = 1 << name##_NUMBER,
	FINDING_TRAITS(X)
#undef X
};

/* A known bug that a finding is, as far as is known.  Constants, or in the verdict's arena. */
struct finding_known {
	const char *id;
	struct span title, link, status;
};

/* One dependency of a witness.  Texts, ready to print. */
struct finding_edge {
	struct span from, to; /* transactions: "T17" */
	enum graph_kind dependency;
	struct span kind;     /* that in words: "ww", "forced ww", "predicate rw", "session" ... */
	struct span object;   /* "shop.stock(5)"; SPAN_NONE for session and real-time order */
	struct span from_version, to_version;
	/* How the sentences call them, the same in every recording; SPAN_NONE: as above. */
	struct span from_label, to_label;
	struct span sentence; /* why, in words */
};

/* What a statement did to a row of the finding. */
enum step_act { STEP_OTHER, STEP_READS, STEP_WRITES, STEP_DELETES };

/* One statement of a witness, in the order in which they began. */
struct finding_step {
	struct span transaction;  /* "T17" */
	uint32_t session, number; /* in the trace; number 0: the statement is not in it */
	uint32_t stmt;            /* its id in the history; UINT32_MAX: none */
	struct span what;         /* "reads shop.stock(5) at version 3 (5, 'nails', 40)" */
	enum step_act act;        /* what that says first */
	/* Filled where reports are made, from the trace (witness.h). */
	struct span text;
	uint64_t begin_ns, end_ns;
	uint64_t offset; /* of the block of the trace that has it, in its file; 0: not known */
	uint32_t error;
};

/* A row that the finding is about, and its versions in their order. */
struct finding_row {
	struct span object, chain;
	struct span exact; /* the chain with the versions' own names; SPAN_NONE: as chain */
};

/* A row, or another answer, in words. */
struct answer_row {
	struct span text;
	bool odd; /* answered and not expected, or expected and not answered */
};

/* What a statement answered, or a table held at the end, against what it should have. */
struct finding_answer {
	uint32_t session, number; /* the statement; number 0: none */
	struct span table;        /* whose final rows these are; or none */
	struct answer_row *got, *expected;
	uint32_t got_count, expected_count; /* of those kept */
	uint64_t got_total, expected_total;
};

/* A place of an application's code: what stays the same of a statement each time that it is sent. */
struct finding_code {
	const char *role; /* "reads", "then writes" ... */
	struct span sql;  /* with ? for values */
	struct span tag;  /* what a comment in it says about where it comes from; or none */
};

enum { FINDING_CODES_MAX = 4 };

/* The places of the code that are not isolated from each other, and how often that showed. */
struct finding_pattern {
	struct finding_code codes[FINDING_CODES_MAX];
	uint32_t code_count;
	struct span table;
	struct span columns;        /* that are at stake: "stock, sold"; or none */
	uint64_t pairs;             /* of transactions, which it stands for */
	uint64_t possible_pairs;    /* more of them, of which the statements do not tell */
	struct span *rows;          /* that are at stake: the first ones */
	uint32_t row_count;
	uint64_t row_total;
	const char *const *advice;  /* what would prevent it, the best first; ends with NULL */
};

/* Of a finding about a cluster: where and when. */
struct finding_place {
	struct span phase;  /* which operations and faults were under way or just over, in words */
	struct span *nodes; /* concerned */
	uint32_t node_count;
	struct span *logs; /* lines of the nodes' logs from then: "n2: ..." */
	uint32_t log_count;
	struct span *rows; /* in words: "t.child(17): ..." */
	uint32_t row_count;
	uint64_t row_total;
	uint64_t from_ns, to_ns; /* it happened within, by the trace's clock */
	const char *page;        /* of the rule that documents it; NULL: none */
};

struct finding {
	char id[17]; /* 16 hex digits; the same in every run over the same trace */
	enum finding_class class;
	enum finding_oracle oracle;
	enum severity severity;
	const char *level; /* "REPEATABLE READ"; the weakest of those concerned */
	const char *rule;  /* DOCUMENTED: the rule's name; else NULL */
	struct span *transactions;
	uint32_t transaction_count;
	struct finding_edge *edges;
	uint32_t edge_count;
	struct finding_step *steps;
	uint32_t step_count;
	struct finding_row *rows;
	uint32_t row_count;
	uint32_t session, number; /* the statement that did not do what it had to; number 0: none */
	const struct finding_answer *answer; /* NULL: the finding is of no single answer */
	const struct finding_place *place; /* of a cluster; else NULL */
	const struct finding_pattern *pattern; /* SEVERITY_APPLICATION, and suspicions of that; else NULL */
	struct span explanation; /* sentences; the variant and the caveat come after it (finding_complete) */
	struct span caveat;      /* why it is not proven; or none */
	struct span remark;      /* what another oracle says of the same transactions; or none */
	enum finding_variant variant;
	uint32_t traits;         /* bits of enum finding_trait */
	struct finding_known *known;
	uint32_t known_count;
	uint64_t similar;        /* how many more of this class and level were not listed */
};

struct verdict_level {
	const char *name; /* "PL-2", "strong-session-PL-3" */
	enum level_answer answer;
};

struct verdict_reason {
	const char *name; /* why something was not decided */
	uint64_t count;
	bool has_example;
	struct finding_step example; /* the first statement concerned; text and times: witness.h */
	bool has_culprit;
	struct finding_step culprit; /* the statement because of which what that one is about is not known */
};

/* Transactions that all depend on each other in cycles, and the few dependencies without which none of these is left. */
struct verdict_component {
	uint32_t transaction_count, arrow_count; /* an arrow is all dependencies of one transaction on another */
	uint32_t finding_count;                  /* cycles of it that were found, listed or not */
	enum feedback_quality quality;
	uint32_t removed_count;
	struct finding_edge *removed; /* the first of them: a dependency of each arrow */
	uint32_t removed_listed;
	/* A drawing in layers, where it is small enough; else NULL. */
	struct component_node {
		struct span name;
		double x, y;
	} *nodes;
	struct component_arrow {
		uint32_t from, to; /* nodes */
		enum graph_kind dependency; /* of one of its dependencies; an anti-dependency where there is one */
		bool removed;
	} *arrows;
};

enum { COMPONENTS_LISTED_MAX = 20, COMPONENT_REMOVED_MAX = 20 };

/* Pairs of transactions that look like an anomaly of the application and do no harm. */
struct verdict_harmless {
	const char *why;
	uint64_t pairs;
};

enum { VERDICT_HARMLESS_MAX = 8 };

enum { VERDICT_LEVELS_MAX = 64, VERDICT_REASONS_MAX = 32 };

struct verdict {
	struct arena arena;
	const char *contract;
	const char *note; /* which oracle was not run, and why; NULL: none */
	struct finding *findings;
	size_t finding_count, finding_capacity;
	struct verdict_component *components; /* those with most findings, at most COMPONENTS_LISTED_MAX */
	size_t component_count;
	struct verdict_level levels[VERDICT_LEVELS_MAX];
	size_t level_count;
	uint64_t decided, undecided, unsupported;
	uint64_t open_sessions; /* sessions with a statement that is undecided or unsupported; 0: not known */
	bool cluster_only; /* only what nodes do together was judged, and nothing of levels */
	bool for_application; /* anomalies of the application were looked for */
	struct verdict_harmless harmless[VERDICT_HARMLESS_MAX];
	size_t harmless_count;
	uint64_t not_followed; /* statements that read rows, and it is not known which */
	uint64_t chosen; /* reads of a row for which the explanation chose one of several possible versions */
	struct verdict_reason reasons[VERDICT_REASONS_MAX];
	size_t reason_count;
};

void verdict_init(struct verdict *verdict);
void verdict_release(struct verdict *verdict);

/* A finding to fill; its strings must live in the arena or be constants. */
struct finding *verdict_add(struct verdict *verdict, enum finding_oracle oracle, enum finding_class class);
/* What its class is called; for CLASS_LEVEL its level. */
const char *finding_name(const struct finding *finding);
/* Call when a finding is filled: gives it its id, a digest of what it is (oracle, class, edges or
 * explanation), not of when it was found. */
void finding_seal(struct finding *finding);
/* Call once the variant is settled: puts it and the caveat after the explanation. */
void finding_complete(struct verdict *verdict, struct finding *finding);
/* `name` is a constant string. */
void verdict_level(struct verdict *verdict, const char *name, enum level_answer answer);
/* Counts `count` things as undecided for a reason; 0 is no reason. */
void verdict_undecided(struct verdict *verdict, const char *reason, uint64_t count);
/* The statement that is the first example of a reason, and the one that is to blame for it (NULL: none); of
 * a reason that was not counted: nothing. */
void verdict_example(struct verdict *verdict, const char *reason, const struct finding_step *example,
	const struct finding_step *culprit);
/* What was decided and what was not: nothing yet. */
void verdict_forget_coverage(struct verdict *verdict);
bool verdict_has_example(const struct verdict *verdict, const char *reason);
/* ... as unsupported: not modelled.  Reasons past the number kept are counted under one name. */
void verdict_unsupported(struct verdict *verdict, const char *reason, uint64_t count);
/* Findings in a stable order: severity, class, transactions.  Of those with one id, one is left and
 * the others are counted as similar. */
void verdict_sort(struct verdict *verdict);
uint64_t verdict_count(const struct verdict *verdict, enum severity severity);

enum { FINDING_CONCERNED_MAX = 128 };

/* The transactions of the finding and those of its witness's statements, each once; returns how many. */
uint32_t finding_concerned(const struct finding *finding, struct span out[FINDING_CONCERNED_MAX]);
/* The number of the trait of that name; FINDING_TRAIT_COUNT when there is none. */
unsigned finding_trait(struct span word);
/* Adds those known bugs of one finding that another does not have. */
void finding_add_known(
	struct verdict *verdict, struct finding *to, const struct finding_known *known, uint32_t count);

const char *severity_name(enum severity severity);
const char *level_answer_name(enum level_answer answer);

#endif
