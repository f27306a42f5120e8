/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one statement that the proxy sends in a session when the binary log is read beside it: a SET
 * that makes the server's answers tell the names of commits.  It goes out when the session is logged
 * in and at rest, before the client knows that it is, and again after the client had it reset
 * (COM_RESET_CONNECTION, COM_CHANGE_USER), which takes it back.  So it is never in a transaction.
 *
 * Its answer is the next packet of the server, as nothing else is under way; it is taken out of what
 * goes to the client and to the parser.
 *
 * Inside of proxy/ only.
 */
#ifndef PROXY_TRACK_COMMITS_H
#define PROXY_TRACK_COMMITS_H

#include "proxy/session.h"

/* Is it to be sent, or is its answer awaited?  Meanwhile bytes must not be parsed later. */
static inline bool track_is_busy(const struct session *s)
{
	return s->track_due || s->track_sent;
}

/* May what the client sends begin with a command that resets the session?  It begins a packet
 * nearly always; if it does not, the SET is sent once more. */
bool track_begins_reset(struct span bytes);
/* After the parser has seen what the server sent, and before the client gets it.  False: the session was
 * closed. */
bool track_send(struct session *s) MUST_CHECK;
/* How many of the bytes, which the server sent, are its answer. */
size_t track_take_answer(struct session *s, struct span bytes);

#endif
