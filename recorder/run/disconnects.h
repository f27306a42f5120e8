/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions that the server ends: KILL, wait_timeout, a shutdown.
 *
 * The library notices at the session's next statement, which may come much later or never; so the
 * sockets of idle sessions are looked at between statements.  A server closes the socket first and
 * rolls back then (MariaDB and MySQL alike: the killer shuts the socket down, the killed thread
 * cleans up), so the schedule waits until the server no longer lists the connection.
 */
#ifndef RUN_DISCONNECTS_H
#define RUN_DISCONNECTS_H

#include "run/engine.h"

/* What poll(2) should tell of an idle session; 0: nothing. */
short ends_events(const struct client *c);
/* poll(2) reported it. */
void ends_tell(struct engine *e, struct client *c);
/* A statement of the session was answered: some errors announce an end. */
void ends_answered(struct client *c);
/* Looks at all idle sessions.  True: the schedule should wait, for an end that was announced or for
 * the server to be done with a session that it ended. */
bool ends_look(struct engine *e);
/* Asks the servers which of the ended sessions they still have. */
void ends_ask(struct engine *e);

#endif
