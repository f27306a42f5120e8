/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The installed versions of one object, side by side, with what predicates ask of them.
 *
 * A predicate is tested on run after run of an object's versions; in the history each of them is a
 * version here, an image there and a statement elsewhere.  A chain is made at the first question
 * about its object and kept.
 */
#ifndef ADYA_VERSION_CHAIN_H
#define ADYA_VERSION_CHAIN_H

#include "adya/predicate_match.h"
#include "base/arena.h"
#include "base/mem.h"
#include "model/history/history.h"

struct chain {
	const uint32_t *order;     /* versions by position */
	const uint32_t *begin_seq; /* of the statement that wrote it; 0: not known, or there is none */
	const struct match_row *rows;
	uint32_t count;
	uint32_t only_absent; /* the one version without a row, installed or not; NONE: several */
	/* The smallest begin_seq of the versions that have no row and were never installed; NONE:
	 * there are none. */
	uint32_t hidden_seq;
	bool born; /* the initial rows have it, so no read saw it unborn */
	/* Real time, of the transactions that wrote the versions.  By position: when the last of those up to it had ended, and
	 * when the first of those from it on began; HISTORY_NONE: not known to have ended. */
	const uint32_t *ended, *begun;
	/* ... of those of which no version was installed: when the last had ended, and when the first began. */
	uint32_t hidden_ended, hidden_begun;
};

struct chains {
	const struct history *history;
	struct matcher *matcher;
	struct chain **of; /* by object */
	struct arena arena;
};

void chains_init(struct chains *chains, const struct history *history, struct matcher *matcher);
void chains_release(struct chains *chains);
/* Of an object whose order is known. */
const struct chain *chains_make(struct chains *chains, uint32_t object);
static inline const struct chain *chains_get(struct chains *chains, uint32_t object)
{
	const struct chain *chain = chains->of[object];

	return LIKELY(chain) ? chain : chains_make(chains, object);
}

/* The chain of an object that is asked for soon, where there is one: its rows follow it. */
static inline void chains_prefetch(const struct chains *chains, uint32_t object)
{
	const struct chain *chain = chains->of[object];

	if (chain) {
		MEM_PREFETCH(chain);
		__builtin_prefetch(chain + 1);
	}
}

/* Do the initial rows have it?  Of an object whose order is known. */
bool object_was_there(const struct history *history, const struct history_object *object);
bool version_is_absent(const struct history *history, uint32_t version);
/* The one version without a row (unborn or dead) of an object; NONE: several.  Those that were
 * never installed count: a transaction sees its own, and a dirty read any. */
uint32_t only_absent_version(const struct history *history, const struct history_object *object);

#endif
