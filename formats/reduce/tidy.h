/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What makes a scenario easier to read without making it shorter: small constants, short names, few changes between
 * sessions.  Constants and names are units of reduce/ddmin.h as edits are: one that is kept is left as it was.
 */
#ifndef REDUCE_TIDY_H
#define REDUCE_TIDY_H

#include "reduce/ddmin.h"
#include "reduce/script.h"

/* ---- constants ---- */

struct constant {
	bool is_text;
	uint64_t number;
	struct span text; /* in the script that it was listed of */
};

struct constants {
	struct constant *items; /* distinct; numbers first, ascending, then texts */
	size_t count, capacity;
};

/* Numbers above 0, and texts that are words. */
void constants_list(const struct script *script, struct constants *out);
void constants_release(struct constants *constants);
/* Those that are not kept become small: numbers in the order that they had, different ones stay different. */
void constants_apply(struct script *script, const struct constants *constants, const bool *kept);

/* ---- names ---- */

enum { NAMES_TABLES, NAMES_COLUMNS, NAMES_SESSIONS, NAMES_KEYS, NAMES_COUNT };

/* Tables t, u, v ...; columns a, b, c ...; sessions T1, T2 ...; keys without a name.  kept: NAMES_COUNT. */
void names_apply(struct script *script, const bool *kept);

/* ---- the order ---- */

/* How often the next statement is another session's. */
size_t order_switches(const struct scenario *s);
/* The scenario with statements of the schedule moved, in the way of that number, so that it changes less often between
 * sessions; each session's own order stays.  False: there is no way of that number or of a larger one. */
bool order_candidate(const struct scenario *s, size_t number, struct scenario *out, struct err *err) MUST_CHECK;

#endif
