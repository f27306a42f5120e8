/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A captured packet as a piece of a TCP stream: link layers, IPv4 and IPv6, TCP.
 *
 * Every length is checked against what was captured.  A packet that is no TCP, or that is damaged,
 * gives nothing; one that was cut off when it was captured says so.
 */
#ifndef TAP_PACKET_H
#define TAP_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"

enum { PACKET_ADDRESS_SIZE = 16 };

/* Numbers of https://www.tcpdump.org/linktypes.html */
enum packet_link {
	LINK_NULL = 0,
	LINK_ETHERNET = 1,
	LINK_RAW_BSD = 12,
	LINK_RAW_OPENBSD = 14,
	LINK_RAW = 101,
	LINK_LOOP = 108,
	LINK_LINUX_SLL = 113,
	LINK_IPV4 = 228,
	LINK_IPV6 = 229,
	LINK_LINUX_SLL2 = 276,
};

struct packet_end {
	uint8_t address[PACKET_ADDRESS_SIZE]; /* of IPv4 the first four bytes */
	uint16_t port;
	bool ipv6;
};

struct packet_segment {
	struct packet_end from, to;
	uint32_t seq, ack;
	bool syn, fin, rst, has_ack;
	struct span payload; /* what was captured of it */
	uint32_t missing;    /* bytes of it that were not (a snapshot length) */
};

enum packet_kind {
	PACKET_TCP,
	PACKET_OTHER,    /* of no interest: another protocol */
	PACKET_FRAGMENT, /* of an IP packet: TCP does without them but for rare networks */
	PACKET_BAD,      /* does not fit its own lengths */
};

/* May the link type be read?  `bytes` is what was captured, `length` what the packet had. */
bool packet_link_known(uint32_t link);
enum packet_kind packet_read(
	uint32_t link, struct span bytes, uint32_t length, struct packet_segment *out) MUST_CHECK;

#endif
