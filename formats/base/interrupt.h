/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An interruption by the user (SIGINT) that ends long work early, so that what was found so far can be told.  The first
 * one is noted; a second one ends the program, as ever.
 */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

#include <stdbool.h>

/* From now on; for the main thread. */
void interrupt_watch(void);
/* From now on it ends the program again. */
void interrupt_ignore(void);
/* Was there one since interrupt_watch()? */
bool interrupt_seen(void);

#endif
