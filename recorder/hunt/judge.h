/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the oracles say of the recording of one case, as the hunt needs it: figures, and a signature for each finding. */
#ifndef HUNT_JUDGE_H
#define HUNT_JUDGE_H

#include "base/attr.h"
#include "base/buf.h"
#include "common/verdict.h"
#include "differential/differential.h"
#include "model/execution/execution.h"
#include "scenario/scenario.h"

/* Classes of operations, for alpha. */
#define HUNT_OPERATIONS(X)                                                                         \
	X(OPERATION_SELECT, "select") X(OPERATION_LOCK, "locking select") X(OPERATION_UPDATE, "update")            \
	X(OPERATION_DELETE, "delete") X(OPERATION_INSERT, "insert")

enum hunt_operation {
#define X(name, word) name,
	HUNT_OPERATIONS(X)
#undef X
		OPERATION_COUNT
};
extern const char *const hunt_operation_words[];

/* What is known of a group of findings: the graver, the later. */
enum hunt_kind {
	HUNT_DOCUMENTED, /* the engine's manual says so */
	HUNT_KNOWN,      /* an entry of the corpus */
	HUNT_COMPAT,     /* two servers differ, and both keep their contracts */
	HUNT_SUSPICION,  /* not proven */
	HUNT_NEW,        /* a violation that no entry explains; a crash, a hang, an error that does not belong there */
};
const char *hunt_kind_name(enum hunt_kind kind);

enum { HUNT_FINDINGS_MAX = 16, HUNT_SIGNATURE_MAX = 240, HUNT_ERRORS_MAX = 8 };

/* One for each signature; findings with the same one are counted. */
struct hunt_finding {
	char signature[HUNT_SIGNATURE_MAX]; /* one line without tabs and bars */
	enum hunt_kind kind;
	uint32_t count;
	struct span report; /* lines; in the case's arena */
};

struct hunt_figures {
	uint64_t statements, transactions, blocked, errors;
	uint64_t misplaced; /* errors that no conflict explains: the statement made no sense there */
	uint64_t decided, undecided, unsupported;
	uint64_t operations[OPERATION_COUNT], touched[OPERATION_COUNT]; /* all, and those that touched a row */
};

struct hunt_judged {
	struct arena arena;
	struct hunt_figures figures;
	struct hunt_finding findings[HUNT_FINDINGS_MAX];
	size_t finding_count;
	char label[64];   /* of the server: "mariadb-11.8.6+si" */
	char reason[120]; /* why most of what was not decided was not */
	enum diff_side_verdict side; /* for the differential oracle */
	const char *contract;
};

/* The execution must have been recorded by isorec run.  Releases nothing of it. */
bool hunt_judge(const struct execution *e, struct hunt_judged *out, struct err *err) MUST_CHECK;
void hunt_judged_release(struct hunt_judged *judged);

/* Adds a finding, or counts it where the signature is there. */
struct hunt_finding *hunt_add_finding(struct hunt_judged *judged, enum hunt_kind kind, const char *signature);

/* Where the two executions of one case differ; adds nothing where they do not. */
bool hunt_compare(const struct execution *a, const struct hunt_judged *of_a, const struct execution *b,
	struct hunt_judged *of_b, struct err *err) MUST_CHECK;

#endif
