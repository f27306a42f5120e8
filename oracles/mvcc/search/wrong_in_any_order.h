/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers that are wrong in every order of events. */
#ifndef MVCC_SEARCH_WRONG_IN_ANY_ORDER_H
#define MVCC_SEARCH_WRONG_IN_ANY_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;

/* Is the current answer, which contradicts, wrong in every order? */
bool answer_is_impossible(struct mvcc *m);

#endif
