/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a session ended.  The records of the trace have the text, which is made where they are
 * written. */
#ifndef CAPTURE_CLOSE_REASON_H
#define CAPTURE_CLOSE_REASON_H

#include <stdbool.h>

enum close_reason {
	CLOSE_NONE, /* it did not */
	CLOSE_QUIT,
	CLOSE_LOST, /* a client library's connection, which does not tell why */
	CLOSE_CLIENT_CLOSED,
	CLOSE_CLIENT_GONE,  /* a write failed */
	CLOSE_CLIENT_RESET, /* a read failed */
	CLOSE_CLIENT_GONE_BEFORE_ANSWER,
	CLOSE_CLIENT_GONE_BEFORE_HEADER,
	CLOSE_CLIENT_GONE_BEHIND_HEADER,
	CLOSE_SERVER_CLOSED,
	CLOSE_SERVER_GONE,
	CLOSE_SERVER_RESET,
	CLOSE_SERVER_TAKES_NOTHING,
	CLOSE_NO_HEADER,
	CLOSE_HEADER_LATE,
	CLOSE_REFUSED,    /* no connection to the node; the detail has why */
	CLOSE_TLS_FAILED, /* the detail has with whom and why */
	CLOSE_TLS_NOT_OFFERED,
	CLOSE_NO_MEMORY_TLS,
	CLOSE_NO_MEMORY_WATCH,
	CLOSE_NOT_UNDERSTOOD, /* an instrumented session */
	CLOSE_SHUTDOWN,       /* the recorder's */
};

/* The server ended the connection. */
static inline bool close_reason_is_servers(enum close_reason reason)
{
	return reason == CLOSE_SERVER_CLOSED || reason == CLOSE_SERVER_GONE ||
	       reason == CLOSE_SERVER_RESET;
}

const char *close_reason_text(enum close_reason reason);

#endif
