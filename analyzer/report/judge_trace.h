/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace judged: loaded, given to the oracles that fit what was recorded, and measured by the
 * contract of its server.  What check prints, explain tells of one finding.
 */
#ifndef REPORT_JUDGE_TRACE_H
#define REPORT_JUDGE_TRACE_H

#include "base/attr.h"
#include "base/options.h"
#include "base/output.h"
#include "common/contract.h"
#include "model/history/history.h"
#include "report/conclusion.h"

/* Whose behaviour is judged. */
enum audience { AUDIENCE_SERVER, AUDIENCE_APPLICATION };

struct judge_options {
	int oracle; /* of judge_oracles */
	int audience; /* enum audience */
	const char *contract, *contract_file;
	bool salvage, no_strong, all_sessions;
	uint64_t examples, budget, predicate_tests, explanations;
	enum output_when progress;
};

struct judged {
	struct history history;
	struct contract contract;
	struct verdict verdict;
	struct verdict_context context; /* not yet concluded */
	bool salvage;                   /* as it was asked for */
	bool loaded;                    /* when judge_trace fails: not for the trace's sake */
};

/* False and err when it cannot be read; nothing is left to release. */
bool judge_trace(struct judged *out, const char *path, const struct judge_options *options,
	struct err *err) MUST_CHECK;
/* Says so where an interruption (base/interrupt.h) left something open. */
void note_interruption(struct verdict *verdict);
void judged_release(struct judged *judged);

/* Of several traces the worst counts: what could not be read, before what was violated, before what
 * is incomplete. */
int exit_status_weight(enum exit_status status);

/* The number of a transaction that a finding names: 17 of "T17".  False: it is no such name. */
bool txn_number(struct span name, uint64_t *number) MUST_CHECK;

extern const char *const judge_oracles[];
extern const char *const judge_audiences[];

/* clang-format off */
#define JUDGE_OPTIONS(struct_type, member) \
	{.name = "for", \
		.argument = "WHOM", \
		OPTION_CHOICE(struct_type, member.audience), \
		.choices = judge_audiences, \
		.preset = "server", \
		.help = "server: does it keep its promises?  application: is the code of those who use it safe at the " \
			"levels that it runs at?  Reports lost updates, write skew and read skew that the level " \
			"allows, by pair of statements, with what would prevent them"}, \
	{.name = "oracle", \
		.argument = "NAME", \
		OPTION_CHOICE(struct_type, member.oracle), \
		.choices = judge_oracles, \
		.preset = "all that the trace has evidence for", \
		.help = "traces: adya (versions from probes), mvcc (the schedule executed again " \
			"on a model), sync (what nodes of a cluster lost, and where they differ), or all, which also says why one was not run"}, \
	{.name = "contract", \
		.argument = "NAME", \
		OPTION_STRING(struct_type, member.contract), \
		.choices = contract_names, \
		.preset = "by the server in the trace", \
		.help = "what was promised, for traces: innodb, innodb-si, tidb-pessimistic, " \
			"galera, galera-si, group-replication, or adya (the textbook levels)"}, \
	{.name = "contract-file", \
		.argument = "FILE", \
		OPTION_STRING(struct_type, member.contract_file), \
		.files = true, \
		.help = "a contract of your own"}, \
	{.name = "salvage", \
		OPTION_FLAG(struct_type, member.salvage), \
		.help = "go on after damage in the middle of a trace; the gap is counted"}, \
	{.name = "all-sessions", \
		OPTION_FLAG(struct_type, member.all_sessions), \
		.help = "oracle mvcc: every session that writes was recorded, so rows that no " \
			"transaction wrote are violations, not suspicions (true of every isorec run)"}, \
	{.name = "no-strong", \
		OPTION_FLAG(struct_type, member.no_strong), \
		.help = "traces: leave out the levels with session and real-time order"}, \
	{.name = "predicate-tests", \
		.argument = "N", \
		OPTION_UINT(struct_type, member.predicate_tests), \
		.preset = "2000000000", \
		.help = "oracle adya: how often a row's version is compared with a WHERE clause, in " \
			"all; the statements past it are named, and more decides them"}, \
	{.name = "explanations", \
		.argument = "N", \
		OPTION_UINT(struct_type, member.explanations), \
		.preset = "64", \
		.help = "oracle adya: how many explanations of reads that may have met one of several " \
			"versions are tried after the first, where that one leaves something open"}, \
	{.name = "budget", \
		.argument = "N", \
		OPTION_UINT(struct_type, member.budget), \
		.help = "how far searches go. adya: edges read for a shortest witness, for each " \
			"class and component; this changes no verdict. mvcc: ways tried for one " \
			"contradiction; values: steps of the solver; past these, undecided"}, \
	{.name = "examples", \
		.argument = "N", \
		OPTION_UINT(struct_type, member.examples), \
		.min = 1, \
		.max = 1000, \
		.preset = "5", \
		.help = "findings of one class that are listed; the others are counted"}
/* clang-format on */

#endif
