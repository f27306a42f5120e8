/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connection phase: the server's greeting, the client's answer, COM_CHANGE_USER, and the only
 * change the recorder ever makes to traffic: clearing capability bits in the greeting.
 * Authentication data is stepped over and never given to a caller.
 */
#ifndef WIRE_HANDSHAKE_H
#define WIRE_HANDSHAKE_H

#include "base/attr.h"
#include "wire/cursor.h"
#include "wire/proto.h"

struct wire_greeting {
	struct span version;
	uint32_t thread;
	uint64_t caps;
	uint16_t status;
	uint8_t charset;
	struct span plugin;
};

struct wire_login {
	uint64_t caps;     /* as the client sent them */
	uint64_t in_force; /* those that the server offered too */
	uint32_t packet_max;
	uint16_t charset;
	struct span user, schema, plugin;
	struct span attributes; /* length-encoded names and values; SPAN_NONE: none sent */
	bool ssl_request;       /* the 32 bytes before TLS starts: nothing else is set */
};

/* Protocol 10.  False for anything else. */
bool wire_greeting_parse(struct span payload, struct wire_greeting *out) MUST_CHECK;
/* server_caps: as forwarded.  False for the handshake of before 4.1 and for damage. */
bool wire_login_parse(struct span payload, uint64_t server_caps, struct wire_login *out) MUST_CHECK;
/* After the command byte; caps: in force. */
bool wire_change_user_parse(struct span body, uint64_t caps, struct wire_login *out) MUST_CHECK;

/* Clears bits of the capability words while a greeting passes, in any pieces. */
struct wire_clearing {
	uint32_t clear;
	uint32_t offset;  /* bytes of the stream seen */
	uint32_t length;  /* of the greeting packet's payload */
	uint32_t nul;     /* offset of the version's end; 0: not yet */
	uint32_t offered; /* the words as the server sent them */
	bool done;
};

void wire_clearing_apply(struct wire_clearing *clearing, unsigned char *bytes, size_t len);

#endif
