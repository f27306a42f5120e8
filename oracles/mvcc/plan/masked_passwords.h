/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passwords that the recorder masked. */
#ifndef MVCC_PLAN_MASKED_PASSWORDS_H
#define MVCC_PLAN_MASKED_PASSWORDS_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;
struct sql_stmt;

/* Are all dates and times of the statement compared, or assigned to columns of such types? */
bool masks_are_assigned(const struct sql_stmt *stmt);

#endif
