/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PROXY protocol (haproxy's doc/proxy-protocol.txt): a header before a connection's first byte
 * that tells the server whom the connection is made for.
 */
#ifndef PROXY_HEADER_H
#define PROXY_HEADER_H

#include <stddef.h>

enum proxy_protocol {
	PROXY_PROTOCOL_NONE,
	PROXY_PROTOCOL_V1, /* a line of text, at most 107 bytes */
	PROXY_PROTOCOL_V2, /* 16 bytes and the addresses */
};

enum { PROXY_HEADER_MAX = 128 };

/* The header for a client's socket; returns its length, 0 for none. */
size_t proxy_header(
	enum proxy_protocol protocol, int client_fd, unsigned char out[PROXY_HEADER_MAX]);

#endif
