/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a session changes to TLS in its connection phase (protocol.md, "SSLRequest"): the client's
 * first packet is held until it is known to be a request for TLS or a login.
 *
 * A client without TLS can have a server with it: the relay then sends a request of its own, and
 * the server counts one packet more than the client.  Until the login is over the sequence numbers
 * of both directions are moved by that one.
 */
#ifndef PROXY_TLS_UPGRADE_H
#define PROXY_TLS_UPGRADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A packet of 32 bytes: flags 4, packet size 4, character set 1, filler 23. */
enum { UPGRADE_REQUEST_SIZE = 36 };

enum upgrade_verdict {
	UPGRADE_MORE,  /* not all of it is here */
	UPGRADE_TLS,   /* the client asks for TLS; what follows is TLS */
	UPGRADE_PLAIN, /* a login, or the beginning of one */
};

struct upgrade {
	unsigned char bytes[UPGRADE_REQUEST_SIZE];
	size_t len;
};

/* How many bytes may be read of the client without reading into TLS; 0: enough to decide. */
size_t upgrade_room(const struct upgrade *upgrade);
enum upgrade_verdict upgrade_verdict(const struct upgrade *upgrade);
/* Of a held login: the request that a client with TLS would have sent before it. */
void upgrade_request(const struct upgrade *login, unsigned char request[UPGRADE_REQUEST_SIZE]);
/* ... and the login's flags as they would follow. */
void upgrade_flags(unsigned char login[UPGRADE_REQUEST_SIZE]);

/* Packets of one direction whose numbers are moved. */
struct renumber {
	int8_t by;
	bool off;
	uint8_t head_len;
	uint32_t left;
	unsigned char head[4];
};

/* In place.  True: the bytes held the first byte of an OK or ERR packet, which ends the login; it
 * is the last packet moved. */
bool renumber_apply(struct renumber *renumber, unsigned char *bytes, size_t len);

#endif
