/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers that are wrong whichever rows their statement saw. */
#ifndef MVCC_EXPLAIN_WRONG_SQL_H
#define MVCC_EXPLAIN_WRONG_SQL_H

#include <stdbool.h>

struct mvcc;

/* Of the query that is being judged, whose answer is wrong: would it be wrong alone on its rows, too? */
bool wrong_on_any_rows(struct mvcc *m);

#endif
