/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transactions that end with their connection. */
#ifndef MVCC_EXECUTE_DISCONNECTS_H
#define MVCC_EXECUTE_DISCONNECTS_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;

void find_loose_ends(struct mvcc *m);
/* execute(), with transactions ended whose end is loose, where that explains the answer. */
bool execute_stmt(struct mvcc *m, uint32_t stmt);
/* Its connection is closed now: is it rolled back only later?  A choice. */
bool leaves_later(struct mvcc *m, uint32_t txn);
void end_those_who_left(struct mvcc *m);

#endif
