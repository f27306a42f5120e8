/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PROXY protocol (haproxy's doc/proxy-protocol.txt): a header before a connection's first byte
 * that tells the server whom the connection is made for.  Written towards servers, read from
 * whatever stands before the clients.
 */
#ifndef PROXY_PROXY_PROTOCOL_H
#define PROXY_PROXY_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "proxy/address.h"

enum proxy_protocol {
	PROXY_PROTOCOL_NONE,
	PROXY_PROTOCOL_V1, /* a line of text, at most 107 bytes */
	PROXY_PROTOCOL_V2, /* 16 bytes and the addresses */
};

enum {
	PROXY_HEADER_MAX = 128,
	/* Of a header that we read: addresses and whatever a load balancer adds. */
	PROXY_HEADER_READ_MAX = 4096,
};

/* Both ends of a TCP connection, in network order. */
struct proxy_ends {
	int family; /* AF_INET, AF_INET6; AF_UNSPEC: neither */
	unsigned char from[16], to[16];
	uint16_t from_port, to_port;
};

enum proxy_header_verdict { PROXY_HEADER_MORE, PROXY_HEADER_DONE, PROXY_HEADER_BAD };

struct proxy_ends proxy_ends_of(int fd);
/* The header for a connection; returns its length, 0 for none. */
size_t proxy_header(enum proxy_protocol protocol, const struct proxy_ends *ends,
	unsigned char out[PROXY_HEADER_MAX]);
/* Reads either version at the front of `bytes`.  Done: *used bytes were the header; *ends is set
 * when it names addresses, and is left alone when it does not (UNKNOWN, LOCAL). */
enum proxy_header_verdict proxy_header_read(
	const unsigned char *bytes, size_t len, struct proxy_ends *ends, size_t *used);
/* The client's address, as sockaddr_print prints one. */
void proxy_ends_print(const struct proxy_ends *ends, char out[ADDRESS_TEXT_SIZE]);

#endif
