/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captured packets as sessions of a trace: TCP streams put together, and shown to the parser and the capture that
 * the proxy uses.
 *
 * Order: a segment is taken when the one before it of its direction was, and when the other direction was
 * taken as far as its sender had received it (its acknowledgement).  So an answer never comes before
 * its command, in whatever order packets were captured.  Commands begin when they were captured,
 * answers end when they were taken: the times enclose what happened where the packets were captured
 * on the server's machine, or between it and the client.
 *
 * A segment that stays away for TAP_PATIENCE packets of its connection is lost: from there on the session is opaque,
 * until a new connection begins.  Nothing is guessed.  A connection whose login was not captured is opaque
 * from its first packet on.
 *
 * One thread.
 */
#ifndef TAP_TAP_H
#define TAP_TAP_H

#include "capture/capture.h"
#include "tap/packet.h"

enum {
	TAP_PATIENCE = 64,
	TAP_HELD_MAX = 4 << 20,      /* bytes of a connection that wait for others */
	TAP_CONNECTIONS_MAX = 65536, /* at once; the one that was quiet longest ends */
	TAP_PORTS_MAX = 16,
};

struct tap_counts {
	uint64_t packets, segments, bytes; /* segments: of the servers' ports */
	uint64_t fragments, damaged;       /* packets that could not be read */
	uint64_t sessions, picked_up, opaque, tls;
	uint64_t lost_segments, lost_bytes; /* holes */
	uint64_t statements;
	uint64_t dropped; /* by the kernel, before they could be read */
};

struct tap;

/* `worker` has a producer whose clock is the tap's (tap_clock). */
struct tap *tap_new(struct capture_worker *worker, struct capture_node *node, const uint16_t *ports,
	size_t port_count);
/* The time of the packet being taken, since 1970, ns. */
const uint64_t *tap_clock(const struct tap *tap);
void tap_packet(struct tap *tap, uint64_t at, uint32_t link, struct span bytes, uint32_t length);
/* Packets were dropped before they could be read: which connections they were of is not known until holes show. */
void tap_dropped(struct tap *tap, uint64_t packets);
const struct tap_counts *tap_counts(const struct tap *tap);
/* No packet follows: ends all sessions. */
void tap_end(struct tap *tap);
void tap_free(struct tap *tap);

#endif
