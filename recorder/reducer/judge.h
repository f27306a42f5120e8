/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges one recording by all that it tells: mvcc where it has rows to begin with, adya where it has versions. */
#ifndef REDUCER_JUDGE_H
#define REDUCER_JUDGE_H

#include "base/attr.h"
#include "common/contract.h"
#include "common/verdict.h"
#include "model/execution/execution.h"
#include "scenario/scenario.h"

/* path: where the execution was loaded from, or NULL (it is judged by mvcc alone).  contract: the name of one that is built
 * in; NULL: that of the recording's server. */
bool judge_recording(const struct execution *e, const char *path, const char *contract, struct verdict *verdict,
	struct err *err) MUST_CHECK;

/* The contract that a scenario names (`# contract:`); NULL: none. */
const char *judge_contract(const struct scenario *scenario, char out[CONTRACT_NAME_MAX]);

/* Whether the finding has its class from versions: without them mvcc may see the same under another name, or nothing. */
static inline bool finding_needs_versions(const struct finding *f)
{
	return f->oracle == FOUND_BY_ADYA || f->oracle == FOUND_BY_ADYA_AND_MVCC;
}

#endif
