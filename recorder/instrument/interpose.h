/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instrumentation in the proxy: stands in a session between client and server once it is logged in.
 *
 * There are two conversations.  The client's is what the client sends and sees; the session's
 * parser and capture are shown that one, so that the trace is the one that would have been recorded
 * without instrumentation.  The server's has the statements with their appended columns, and our
 * own between them; a second parser follows it and says what each packet is.
 *
 * A command is sent when those before it are answered: commands that a client sends ahead wait
 * here. Our own statements go out together with the command they stand before, so that they cost no
 * round trip (protocol.md, "Injection safety").
 *
 * Packets of both directions are held whole, but for commands longer than INTERPOSE_PACKET_MAX, which
 * pass as they are.
 *
 * A read may meet a server that does not take its columns any more, as the table has changed.  It then
 * goes out as the client sent it; a prepared one is prepared again, under another number, which the
 * client does not learn.
 */
#ifndef INSTRUMENT_INTERPOSE_H
#define INSTRUMENT_INTERPOSE_H

#include "instrument/session.h"
#include "wire/wire.h"

enum {
	INTERPOSE_PACKET_MAX = 64 * 1024 * 1024,
	INTERPOSE_ORIGINAL_IDLE = 1024 * 1024,
	INTERPOSE_JOBS = 8,
	INTERPOSE_LITERALS = 1024, /* parameters whose values are known to predicates */
};

struct interpose;

/* `outer` is the session's parser, at the start of its command phase. */
struct interpose *interpose_new(
	const struct instrument_tables *tables, struct wire *outer, struct capture *capture);
/* A write is under way, or its log is being read. */
bool interpose_is_writing(const struct interpose *i);
/* The connection is lost, and its statements are recorded: what they may have written. */
void interpose_abandon(struct interpose *i);
void interpose_free(struct interpose *i);

/* What came from the client; what is to go to the server is appended. */
void interpose_client(struct interpose *i, struct span bytes, struct buf *to_server);
/* What came from the server; to_server: a command that waited for it. */
void interpose_server(
	struct interpose *i, struct span bytes, struct buf *to_client, struct buf *to_server);
/* What a write logged was not read yet. */
bool interpose_has_log(const struct interpose *i);
/* Reads it now: nothing more comes from the client. */
void interpose_flush(struct interpose *i, struct buf *to_server);
/* The server's answers can be followed no more, and some would show the client our columns: nothing
 * further may pass. */
bool interpose_is_broken(const struct interpose *i);
/* Commands wait for an answer: read no more from the client. */
bool interpose_is_full(const struct interpose *i);

#endif
