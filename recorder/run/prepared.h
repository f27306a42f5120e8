/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prepared statements of a session (run/client.h), with typed parameters as a trace has them.
 *
 * Rows come in the binary protocol and are taken from the library as text, so that the capture
 * reads them as it reads those of plain statements.
 */
#ifndef RUN_PREPARED_H
#define RUN_PREPARED_H

#include "run/client.h"

/* Prepares under a name of the caller's.  The answer is awaited as that of client_send. */
void client_prepare(struct client *c, uint32_t name, struct span sql);
bool client_is_prepared(const struct client *c, uint32_t name);
/* params: an encoded array of values, or SPAN_NONE.  False, and nothing was sent: no such
 * statement was prepared, or a value cannot be sent; err says which. */
bool client_execute(
	struct client *c, uint32_t name, struct span params, struct err *err) MUST_CHECK;

/* One execution for many rows (COM_STMT_BULK_EXECUTE): params has the values of all rows one after
 * the other.  How many rows that are; false: they cannot be sent. */
bool client_bulk_rows(struct client *c, uint32_t name, struct span params, uint32_t *rows,
	struct err *err) MUST_CHECK;
/* Can the server do it (MariaDB 10.2.7 and newer)? */
bool client_can_bulk(struct client *c);
bool client_execute_bulk(
	struct client *c, uint32_t name, struct span params, struct err *err) MUST_CHECK;
/* Only one row of them, as an execution of its own. */
bool client_execute_row(struct client *c, uint32_t name, struct span params, uint32_t row,
	struct err *err) MUST_CHECK;

/* For client.c. */
void prepared_continue(struct client *c, int ready);
/* The call returned: what is next?  True when the command is complete. */
bool prepared_advance(struct client *c) MUST_CHECK;
void prepared_release(struct client *c);

#endif
