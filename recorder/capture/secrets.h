/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where secrets can be in what a session sends and gets, and what the trace has in their place.
 * Everything that a session's records quote goes through here before it reaches a buffer that is
 * written.  Two kinds of secrets:
 *
 * - credentials of the server, always: sql/text/mask_passwords.c finds them in texts.  A statement
 *   that has one is called secret: its parameters, its computed columns, their names and the
 *   message of its error are left out.  In results they are looked for by the origin that the
 *   server tells of each column (the schemas mysql, information_schema, performance_schema and sys)
 *   and, in answers to SHOW, which have no origin, by the names that these columns have.
 * - values, with --redact: capture/redact.h decides which.  The servers name a computed column by
 *   its text, so names are values, too; so are names of XA transactions and files.
 *
 * What cannot be told apart is left out and counted; a note at the end has the counts.
 *
 * | place | rule |
 * | --- | --- |
 * | statement text | mask_passwords.c; redact_text() |
 * | parameters | none of a secret statement; redact_packed() |
 * | names of result columns | secrets_names() |
 * | values of results | secrets_columns(), secrets_row() |
 * | messages of errors, SHOW WARNINGS | secrets_message(); column `Message` after a secret statement |
 * | info of an answer | secrets_info() |
 * | session state that the server reports | secrets_variable() |
 * | name of an XA transaction | secrets_xid() |
 * | name of a file of LOCAL INFILE | secrets_file() |
 * | texts of programs | db/stored_programs.c: none that may hold a credential; none with --redact |
 * | definitions of tables | db/table_schema.c; proxy/server_context.c |
 * | lines of error logs | cluster/logs.c |
 * | probes | instrument/ keeps no condition of a secret statement; not together with --redact |
 */
#ifndef CAPTURE_SECRETS_H
#define CAPTURE_SECRETS_H

#include "base/buf.h"
#include "wire/reply.h"

struct capture;

/* Of a result's column; a byte of each is in capture.result.hidden. */
enum column_secrecy {
	COLUMN_OPEN,
	COLUMN_QUOTES,   /* quotes statements: a value that may hold a credential is left out */
	COLUMN_SETTING,  /* ... and one whose setting, in the column before, is a credential */
	COLUMN_MESSAGE,  /* ... and all, once the session has sent a secret statement */
	COLUMN_CLOSED,   /* holds credentials */
	COLUMN_REDACTED, /* capture/redact.h */
};

/* By what the server tells of a column alone. */
enum column_secrecy secrets_of_origin(const struct wire_column_names *names);
/* Fills c->result.hidden for a result of the command being answered; by_origin: secrets_of_origin()
 * of each column.  Left empty: all are open. */
void secrets_columns(
	struct capture *c, const struct wire_columns *columns, struct span by_origin);
/* In the one packed row after `start`, by c->result.hidden. */
void secrets_row(struct capture *c, struct buf *out, size_t start);
/* A text without a query in another: no column of its results is renamed out of sight. */
bool secrets_one_query(struct span text);
/* Whether names of this result need a look that depends on its statement. */
bool secrets_names_matter(const struct capture *c);
/* Takes out of a column's names what must not be told; ctx: struct capture. */
void secrets_names(void *ctx, struct wire_column_names *names);

/* What the trace has in place of ... */
struct span secrets_message(struct capture *c, uint16_t error, struct span message);
struct span secrets_info(struct capture *c, struct span info);
struct span secrets_variable(struct capture *c, struct span name, struct span value);
struct span secrets_file(struct capture *c, struct span name);
/* Changes the name of an XA transaction; of a statement whose literals are redacted. */
void secrets_xid(struct capture *c, struct buf *name);
/* Parameters that another part packed. */
void secrets_params(struct capture *c, struct buf *params);

#endif
