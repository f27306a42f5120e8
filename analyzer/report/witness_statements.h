/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statements of witnesses, read again from the trace: their text, times and errors. */
#ifndef REPORT_WITNESS_STATEMENTS_H
#define REPORT_WITNESS_STATEMENTS_H

#include "common/verdict.h"
#include "model/history/history.h"

/* Fills text, times and error of every step whose statement is in the trace.  One pass over the
 * trace, up to the last statement that is needed.  What cannot be read stays empty. */
void witness_fetch(const struct history *history, struct verdict *verdict);

#endif
