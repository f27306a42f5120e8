/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets from an interface, by libpcap.  Where isorec was built without it, opening one says so.
 */
#ifndef TAP_LIVE_H
#define TAP_LIVE_H

#include "tap/tap.h"

struct live;

/* Packets of the ports; `buffer` bytes of them may wait in the kernel.  NULL and err: it cannot be opened. */
struct live *live_open(const char *interface, const uint16_t *ports, size_t port_count, uint64_t buffer,
	struct err *err) MUST_CHECK;
/* Gives packets to the tap until *stop.  False: the interface is gone. */
bool live_run(struct live *live, struct tap *tap, const volatile int *stop, struct err *err) MUST_CHECK;
void live_close(struct live *live);

#endif
