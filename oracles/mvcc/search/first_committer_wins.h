/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What snapshot isolation forbids in any order. */
#ifndef MVCC_SEARCH_FIRST_COMMITTER_WINS_H
#define MVCC_SEARCH_FIRST_COMMITTER_WINS_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;

/* What snapshot isolation forbids in any order */
void judge_concurrent(struct mvcc *m);

#endif
