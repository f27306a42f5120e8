/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracle `application`: lost updates, write skew and read skew that the isolation level allows, in the code of
 * those who use the database (docs/application.md).
 *
 * Findings are places of the code, not transactions: statements that differ in values alone are one place, and a
 * finding counts the pairs of transactions that it stands for.  None of them is a violation of the server's.
 */
#ifndef APPLICATION_APPLICATION_H
#define APPLICATION_APPLICATION_H

#include "base/meter.h"
#include "common/accesses.h"
#include "common/verdict.h"
#include "model/history/history.h"

struct application;

/* `meter` shows how far looking is (NULL: none).  An interruption (base/interrupt.h) ends it early: the pairs that
 * were not come to are undecided. */
struct application *application_new(
	const struct history *history, struct verdict *verdict, const struct meter *meter);
/* What the accesses show; may be called with those of several sources.  They need not outlive the call. */
void application_look(struct application *application, const struct accesses *accesses);
/* Puts the findings into the verdict, and frees. */
void application_finish(struct application *application);

#endif
