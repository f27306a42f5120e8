/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which waits and locks are possible. */
#ifndef MVCC_READ_LOCK_WAIT_H
#define MVCC_READ_LOCK_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;

/* Could any transaction have held a lock that the current statement needed?  One that used one of its
 * tables in a locking way and had not ended when it was sent; or waits as it does. */
bool lock_possible(const struct mvcc *m);
bool may_lock(const struct mvcc *m);
/* Did the current statement wait, or, where the recorder did not look, may it have? */
bool may_have_waited(const struct mvcc *m);
void judge_wait(struct mvcc *m);
/* The current statement uses its tables from now on. */
void touch_tables(struct mvcc *m);

#endif
