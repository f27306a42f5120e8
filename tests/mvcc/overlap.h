/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statements that overlap, made of ones that did not: the answers of a recording are moved to later moments, as
 * if several clients had run at once.  The order in which everything was executed still explains them all.  And the
 * brute-force twin of the search: every order that goes with the moments, each as a recording without overlaps.
 */
#ifndef TESTS_OVERLAP_H
#define TESTS_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/execution/execution.h"

uint64_t next_random(uint64_t *state);

/* Makes a free-running trace of a scenario's run.  False: it is none, is too long, or sessions end in the middle. */
bool overlap_free(struct execution *e);
/* Moves some answers to later moments, each before the next statement of its session. */
void overlap_widen(struct execution *e, uint64_t *state);

/* The orders that go with the moments of sending and answering. */
struct overlap_orders;
struct overlap_orders *overlap_orders(const struct execution *e);
void overlap_orders_free(struct overlap_orders *o);
/* Puts the statements one after the other, in the next order; false: there is none. */
bool overlap_next(struct overlap_orders *o, struct execution *e);
/* The same in an order by chance. */
void overlap_any(struct overlap_orders *o, struct execution *e, uint64_t *state);
/* As it was. */
void overlap_restore(struct overlap_orders *o, struct execution *e);

#endif
