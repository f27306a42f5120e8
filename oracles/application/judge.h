/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a candidate matter to the application?  Its statements and the columns that changed tell, as far as they can. */
#ifndef APPLICATION_JUDGE_H
#define APPLICATION_JUDGE_H

#include "application/candidates.h"
#include "application/statements.h"

enum judgement {
	JUDGED_CERTAIN,
	JUDGED_POSSIBLE, /* it depends on what the program did with what it read */
	/* Harmless, because */
	HARMLESS_READ_AGAIN, /* it read the row again, and saw what it then overwrote */
	HARMLESS_COMPUTED,   /* the server computed the new values from the row as it was then */
	HARMLESS_TESTED,     /* the condition of the write tests what had changed */
	HARMLESS_NOT_READ,   /* what it overwrote, or what changed, are columns that it had not read */
	HARMLESS_UNDONE,     /* the row that it did not see was gone again before it ended */
	JUDGEMENT_COUNT
};

struct judging {
	const struct history *history;
	const struct accesses *accesses;
	const struct candidates *candidates;
	const struct statements *statements;
};

/* *columns: those that were overwritten, or that changed since it read them. */
enum judgement judge_candidate(const struct judging *judging, const struct candidate *candidate, uint64_t *columns);
/* The statements that judge_candidate() will look at. */
void judge_want(const struct judging *judging, const struct candidate *candidate, struct statements *statements);

#endif
