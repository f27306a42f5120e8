/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LAST_INSERT_ID() and the step of AUTO_INCREMENT. */
#ifndef MVCC_PLAN_LAST_INSERT_ID_H
#define MVCC_PLAN_LAST_INSERT_ID_H

#include <stdbool.h>
#include <stdint.h>

struct execution;
struct execution_stmt;
struct mvcc;
struct plan;
struct session_settings;

/* The step of the server's own; 0: not known */
uint32_t auto_increment_step_of(const struct execution *e);
void plan_last_insert_id(struct plan *plan);
/* INSERT ... VALUES: does the server number each row? */
bool numbers_every_row(const struct mvcc *m, const struct plan *plan);
/* What a statement that was answered leaves of LAST_INSERT_ID(). */
void last_insert_id_after(struct mvcc *m, struct session_settings *s, const struct execution_stmt *in,
	const struct plan *plan);

#endif
