/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/close_reason.h"

#include <stddef.h>

const char *close_reason_text(enum close_reason reason)
{
	switch (reason) {
	case CLOSE_NONE:
		return NULL;
	case CLOSE_QUIT:
		return "quit";
	case CLOSE_LOST:
		return "lost";
	case CLOSE_CLIENT_CLOSED:
		return "client closed";
	case CLOSE_CLIENT_GONE:
		return "client gone";
	case CLOSE_CLIENT_RESET:
		return "client reset";
	case CLOSE_CLIENT_GONE_BEFORE_ANSWER:
		return "client gone before the server answered";
	case CLOSE_CLIENT_GONE_BEFORE_HEADER:
		return "client gone before its header";
	case CLOSE_CLIENT_GONE_BEHIND_HEADER:
		return "client gone behind its header";
	case CLOSE_SERVER_CLOSED:
		return "server closed";
	case CLOSE_SERVER_GONE:
		return "server gone";
	case CLOSE_SERVER_RESET:
		return "server reset";
	case CLOSE_SERVER_TAKES_NOTHING:
		return "the server takes no bytes";
	case CLOSE_NO_HEADER:
		return "no header of the PROXY protocol";
	case CLOSE_HEADER_LATE:
		return "no header of the PROXY protocol in time";
	case CLOSE_REFUSED:
		return "the node refused the connection";
	case CLOSE_TLS_FAILED:
		return "TLS failed";
	case CLOSE_TLS_NOT_OFFERED:
		return "the client asked for TLS, which was not offered";
	case CLOSE_NO_MEMORY_TLS:
		return "no memory for TLS";
	case CLOSE_NO_MEMORY_WATCH:
		return "no memory to watch the connection";
	case CLOSE_NOT_UNDERSTOOD:
		return "instrumented, and the server's answers are not understood";
	case CLOSE_SHUTDOWN:
		return "recorder shutdown";
	}
	return NULL;
}
