/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The search for an order of events that explains the recorded answers (search.c). */
#ifndef MVCC_SEARCH_SEARCH_H
#define MVCC_SEARCH_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "eval/eval.h"
#include "model/execution/execution.h"
#include "mvcc/search/state_digest.h"
#include "mvcc/store/store.h"

struct mvcc;

struct order_free;

/* Why an answer cannot be right. */
enum mismatch_kind {
	MISMATCH_NONE,
	MISMATCH_RESULT,
	MISMATCH_AFFECTED,
	MISMATCH_ERROR,    /* an error where none can be, none where one must be, another one */
	MISMATCH_LOCK,     /* missing-lock */
	MISMATCH_CONFLICT, /* error 1020 did not come */
	MISMATCH_FINAL,    /* final rows */
};

struct mismatch {
	enum mismatch_kind kind;
	uint32_t stmt; /* or STORE_NONE */
	uint32_t table;
	uint32_t other_txn; /* store number, or STORE_NONE */
	struct store_record *record;
	unsigned expected_error;
	bool passed; /* MISMATCH_CONFLICT: the statement passed the row by */
	struct eval_result expected; /* MISMATCH_RESULT; in the scratch arena */
	uint64_t expected_affected, expected_matched;
	const struct execution_rows *final; /* MISMATCH_FINAL: what was found */
	uint32_t read; /* MISMATCH_LOCK: number, from 1, of a query that would answer `expected`; 0: it is about a row */
};

/* To whom it matters how a choice was made. */
enum choice_scope {
	SCOPE_ALL,   /* to all transactions, for ever: it is about what was written */
	SCOPE_TXN,   /* to one transaction: what it sees, what it locks */
	SCOPE_VIEWS, /* to transactions that had begun: the order of commits */
};

struct choice { /* a choice that was made */
	uint32_t event;
	uint32_t options, tried; /* ways, and those that were tried before the current one */
	uint32_t first; /* the way that is tried first */
	uint32_t scope; /* enum choice_scope */
	uint32_t txn;   /* SCOPE_TXN: store number */
	bool order;     /* whether others were executed before; the first way: none */
	uint64_t until; /* of `order`: when the last of those others was answered; UINT64_MAX: for ever */
	bool closed;    /* no transaction is left for which its other ways would make a difference */
	bool any_early; /* of SCOPE_VIEWS: in any of its ways others may have been executed early, in the first one, too */
	bool looked_at; /* whether its other ways make one was tried when its event was over */
	struct state_mark before; /* the event */
};

/* The current way: all but `first` come in their own order. */
static inline uint32_t choice_taken(const struct choice *p)
{
	return p->tried == 0 ? p->first : p->tried <= p->first ? p->tried - 1 : p->tried;
}

/* Contradictions of one event that are accepted, at most. */
enum { ACCEPTED_MAX = 64 };

/* The search for an order of events that explains the answers (search.c). */
struct search {
	struct choice *choices;
	size_t choice_count, choice_capacity;
	size_t open_count; /* of those that were still open when they were last looked at */
	size_t close_at;   /* how many there are when they are looked at again */
	uint32_t *live; /* transactions (store numbers) that events have named and that are not over for good, in order */
	size_t live_count, live_capacity;
	size_t live_left; /* of those that there were when they were last gone through */
	uint32_t named;   /* store numbers below this: events have named them or a later one */
	uint32_t fixed_commits; /* the last commit of a transaction that is over for good */
	const struct choice *abandoned; /* choices that the search may have gone back past: they were right till then */
	size_t abandoned_count;
	size_t script; /* choices of the current event that are already decided */
	uint64_t order_until; /* of the choice of order that is about to be made (struct choice) */
	uint32_t event;
	struct state_mark event_mark; /* before it */
	uint64_t next_sent_seq;
	bool victim_failed; /* a waiting statement failed before that: others went on because of it */
	uint32_t *in_flight; /* statements that were sent and not answered */
	size_t in_flight_count, in_flight_capacity;
	bool settled;   /* no new choices: the usual way is taken */
	bool uncertain; /* not every way was tried */
	bool stopped;   /* the caller wants no more (mvcc_options.goes_on) */
	struct order_free *order_free; /* of answer_is_impossible(), once it was asked; NULL */
	bool choices_lost;
	struct map *dead_ends; /* states from which no way was found (state_digest.h); NULL: they are not kept */
	bool at_dead_end;      /* ... and the search has come to one of them */
	uint64_t work;         /* since the contradiction that is being explained */
	uint64_t extra_work;   /* what contradictions before it had beyond WORK_MAX */
	struct mismatch mismatch;
	/* Statements whose answer is a contradiction and is taken as it is. */
	struct accepted {
		uint32_t stmt;
		uint32_t open;   /* reason.h: why it cannot be decided whether it is one; REASON_NONE: it can */
		bool unrecorded; /* a session that was not recorded may explain it */
		bool conflict;   /* error 1020 did not come */
	} accepted[ACCEPTED_MAX];
	uint32_t accepted_count;
};

/* The first transaction (store number) that is not over for good. */
uint32_t first_live(const struct mvcc *m);

uint32_t choose(struct mvcc *m, uint32_t options);
/* The same, about what one transaction sees. */
uint32_t choose_for(struct mvcc *m, uint32_t txn, uint32_t options);
void solver_search(struct mvcc *m);

#endif
