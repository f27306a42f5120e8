/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server's packets: what each may be follows from the command at the head of the queue and from
 * what came of its answer so far (enum wire_expect).  Inside of wire/ only; see wire/wire.h.
 */
#ifndef WIRE_ANSWER_H
#define WIRE_ANSWER_H

#include "wire/wire.h"

/* The i-th command that is not answered yet. */
static inline struct wire_command *wire_queue_at(struct wire *w, size_t i)
{
	return &w->queue[(w->head + i) & (w->capacity - 1)];
}

/* One packet of the server. */
void wire_server_packet(struct wire *w, const struct packet *p);
void wire_server_rows(struct wire *w, struct span *bytes);

/* Of wire.c: a command's turn has come; its answer is complete. */
void wire_activate(struct wire *w, struct wire_command *c, struct span body);
void wire_command_done(struct wire *w, struct wire_command *c, struct wire_reply *reply);

#endif
