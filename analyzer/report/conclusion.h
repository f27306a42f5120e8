/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a verdict comes to, and its JSON: `isotrace.check/1` (docs/check.schema.json, semantics.md,
 * section 10): keys are only ever added.  The other formats are in out/.
 */
#ifndef REPORT_CONCLUSION_H
#define REPORT_CONCLUSION_H

#include "base/err.h"
#include "base/json.h"
#include "common/contract.h"
#include "common/verdict.h"

/* Which findings make a verdict "violated". */
enum fail_on { FAIL_ON_VIOLATION, FAIL_ON_SUSPICION, FAIL_ON_DOCUMENTED, FAIL_ON_NONE };

struct verdict_context {
	const char *input;  /* path */
	const char *format; /* of a foreign history, or "trace" */
	const char *level;  /* the level asked for; NULL: all */
	enum fail_on fail_on;
	uint64_t transactions, operations;
	uint64_t statements; /* of traces */
	/* Of traces; zero elsewhere. */
	uint64_t sessions, committed, objects;
	const struct contract *contract;      /* NULL: none was chosen */
	const char *asked; /* the options of the judgement, as words with blanks after; NULL: none */
	bool salvaged;
	uint64_t level_txns[CONTRACT_LEVELS]; /* transactions by enum txn_level */
	struct span server;                   /* version; SPAN_NONE: not known */
	struct span address;                  /* the server's; SPAN_NONE: not known */
	uint64_t start_ns, took_ns; /* of the recording: since 1970, and how long; 0: not known */
	uint64_t answers_doubted; /* UPDATEs of which the recorder's triggers may have changed the answer */
	bool damaged; /* something of the trace is missing: damage, a torn tail, a gap */
	bool empty;   /* no transaction is known to have committed: what holds, holds of nothing */
	bool color;
	/* Filled by verdict_conclude. */
	const char *conclusion; /* "ok", "violated", "anomalies" (of the application), "incomplete" */
	enum exit_status status;
};

/* Decides conclusion and exit status.  Violated: a finding counts (fail_on), or, where no contract
 * says what was promised, the level asked for fails, or any does.  Incomplete: the level asked for
 * is undecided, or without one anything is. */
/* Of a trace: was nothing judged at all? */
bool verdict_of_nothing(const struct verdict *verdict);
void verdict_conclude(struct verdict_context *context, const struct verdict *verdict);
/* Does it make the verdict "violated"? */
bool finding_counts(const struct verdict_context *context, const struct finding *finding);
/* LEVEL_UNDECIDED where the verdict has no such level. */
enum level_answer verdict_answer(const struct verdict *verdict, const char *level);

/* What the contract promises the transactions of one level, and what came of it. */
enum promise_answer {
	PROMISE_KEPT,
	PROMISE_BROKEN,
	PROMISE_OPEN, /* not broken as far as was decided */
};

struct promise {
	unsigned number; /* of the next one; 0 to begin */
	const char *name;
	uint64_t transactions, broken; /* broken: violations */
	const struct contract_level *level;
	enum promise_answer answer;
	/* SERIALIZABLE, and the contract has a rule that lets transactions be what is not serializable; else NULL. */
	const struct contract_rule *weaker;
};

/* The levels that were used, weakest first; start with {0}.  False: no more. */
/* Answers that are wrong, and no matter of isolation: no promise of a level is broken by them. */
uint64_t count_wrong_sql(const struct verdict *verdict);
bool promise_next(const struct verdict_context *context, const struct verdict *verdict,
	struct promise *promise) MUST_CHECK;
const char *promise_answer_name(enum promise_answer answer);

void verdict_json(
	struct json *json, const struct verdict_context *context, const struct verdict *verdict);
/* The same without the findings, for a stream of lines.  `history`: its place in a list, with the exit status that it
 * comes to; or NULL. */
void verdict_summary_json(struct json *json, const struct verdict_context *context, const struct verdict *verdict,
	const uint64_t *history);
void finding_json(struct json *json, const struct finding *finding);
/* The next of the known bugs that a finding is, from *at = 0 on: "known: MDEV-32898, MYSQL-113228:
 * open in ...".  False: no more. */
bool known_next(const struct finding *finding, uint32_t *at, struct buf *line) MUST_CHECK;

#endif
