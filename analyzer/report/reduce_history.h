/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The smallest part of another tool's history that shows the same anomaly: fewest transactions, then keys, then
 * operations.  The oracle `values` judges every part.
 */
#ifndef REPORT_REDUCE_HISTORY_H
#define REPORT_REDUCE_HISTORY_H

#include "base/attr.h"
#include "base/err.h"
#include "model/values/values.h"

struct reduce_history_options {
	const char *finding; /* a class or an id; NULL: the gravest */
	bool by_class;       /* class and level must be the same; else also the cycle's kinds of dependencies */
	uint64_t time_ns;    /* 0: no end */
};

struct reduce_history_summary {
	char shape[320];
	uint32_t witness; /* transactions of the finding that it began with */
	uint64_t tests;
	bool found, whole;
};

/* *found false: the history shows no such anomaly, and *out is empty. */
bool reduce_history(const struct values *values, const struct reduce_history_options *options, struct values *out,
	struct reduce_history_summary *summary, struct err *err) MUST_CHECK;

#endif
