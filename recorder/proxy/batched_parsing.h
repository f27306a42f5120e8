/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Showing to a session's parser what was read of it: at once, or together with the reads of other
 * sessions (proxy/relay.h, "Parsing").
 */
#ifndef PROXY_BATCHED_PARSING_H
#define PROXY_BATCHED_PARSING_H

#include "proxy/session.h"

/* Parses the worker's scratch; before its bytes are passed on. */
void session_parse_now(struct session *s, int from, size_t len);
/* After giving bytes to the session's parser, call this. */
void session_after_parsing(struct session *s);
/* The clock and the numbers of a read whose bytes are parsed later; before they are passed on. */
void relay_note_read(struct session *s, int from, size_t len);
/* Parses all that waits.  To be called before anything else is recorded by this worker. */
void relay_parse_later(struct relay_worker *w);
bool relay_is_time_to_parse(struct relay_worker *w);

#endif
