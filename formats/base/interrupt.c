/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_bool seen; /* threads ask, too */

static void note_interrupt(int number)
{
	(void)number;
	atomic_store_explicit(&seen, true, memory_order_relaxed);
}

void interrupt_watch(void)
{
	struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
	struct sigaction now;

	atomic_store_explicit(&seen, false, memory_order_relaxed);
	/* Of a program that runs in the background of a shell it is ignored. */
	if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		(void)sigaction(SIGINT, &action, NULL);
}

void interrupt_ignore(void)
{
	struct sigaction now;

	if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == note_interrupt)
		(void)signal(SIGINT, SIG_DFL);
}

bool interrupt_seen(void)
{
	return atomic_load_explicit(&seen, memory_order_relaxed);
}
