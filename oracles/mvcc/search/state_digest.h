/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state that the trail restores: marks to come back to, and digests (see state_digest.c). */
#ifndef MVCC_SEARCH_STATE_DIGEST_H
#define MVCC_SEARCH_STATE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mvcc;

#ifdef ISOTRACE_EXPENSIVE_CHECKS
#define STATE_CHECKS true
#else
#define STATE_CHECKS false
#endif

/* A state to come back to. */
struct state_mark {
	size_t trail, notes;
	uint32_t purges; /* of the store, when it was made */
	bool tested;          /* whether going back is */
	uint64_t fingerprint; /* tested: of that state */
};

static inline void lower_to(uint32_t *number, uint32_t other)
{
	if (other < *number)
		*number = other;
}

struct state_mark state_mark(const struct mvcc *m);
/* The state is the marked one again.  Later marks mean nothing any more. */
void state_return(struct mvcc *m, const struct state_mark *mark);

/* The same for two states from which the rest of the schedule goes on alike; `at`: how far its event has come.  False:
 * too much would have to be looked at. */
bool state_digest(const struct mvcc *m, uint64_t at, uint64_t *digest);
/* How many transactions and rows that looks at. */
uint64_t state_digest_size(const struct mvcc *m);
/* What a transaction (by store number) wrote and locked. */
uint64_t state_of_txn(const struct mvcc *m, uint32_t txn);
/* Of every trailed field, as it is. */
uint64_t state_fingerprint(const struct mvcc *m);

#endif
