/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts what was found into words. */
#ifndef VALUES_REPORT_H
#define VALUES_REPORT_H

#include "common/graph/cycles.h"
#include "common/verdict.h"
#include "values/facts.h"
#include "values/model.h"

/* The anomalies without a cycle. */
void report_anomalies(const struct facts *facts, uint32_t examples, struct verdict *out);
/* One cycle.  `level` is the weakest level it refutes.  inferred: ww edges were forced by the
 * axioms of that level rather than seen. */
struct finding *report_cycle(const struct facts *facts, const struct cycle *cycle,
	enum finding_class class, const char *level, bool inferred, struct verdict *out);
/* Transactions that cannot be put in any order. */
struct finding *report_core(const struct facts *facts, const struct model_core *core,
	enum finding_class class, const char *level, struct verdict *out);
/* What the stamps of the transactions contradict: G-SIa and G-SIb, against timed-PL-SI. */
void report_timed(const struct facts *facts, const struct anomalies *all, enum finding_class class,
	uint32_t examples, struct verdict *out);

#endif
