/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session of the relay: its two sockets, what waits between them, and what was understood of it.
 * Inside of proxy/ only; see proxy/relay.h for how it works.
 *
 * connect.c brings a session up to the server's first byte, session.c passes bytes, batched_parsing.c shows
 * them to the parser, relay.c is the worker's loop around all.
 */
#ifndef PROXY_SESSION_H
#define PROXY_SESSION_H

#include "instrument/interpose.h"
#include "proxy/relay.h"
#include "proxy/tls_upgrade.h"

enum { CLIENT = 0, SERVER = 1 };

struct side {
	int fd;
	bool readable, writable; /* as far as epoll reported; edge-triggered */
	bool hangup;             /* the peer closed: read up to the end */
	bool eof;                /* read to the end */
	bool shut;               /* told the peer that nothing more comes */
	bool secret;             /* pending may hold authentication data */
	bool recv_waits_out;     /* TLS must write before it can read */
	bool send_waits_in;      /* ... and the other way round */
	bool fresh;              /* nothing was read through TLS yet */
	bool held;               /* nothing is written to it until the trace is durable */
	struct tls *tls;         /* NULL: plain */
	struct buf pending;      /* waits to be written to this side */
	size_t pending_sent;
};

/* Owned by its worker.  What every read needs is at the front: with many sessions it has left the
 * processor's caches each time, and each line of it is waited for. */
struct session {
	struct relay_worker *worker;
	bool connecting, in_ready, dead;
	bool settled; /* nothing that it sends can change how it is passed on: parsed later */
	bool gate;    /* the client's first packet is held in `upgrade` */
	struct side side[2];
	char *doom;                  /* TLS with the server failed; the client is yet to be told */
	struct interpose *interpose; /* NULL: what is read is forwarded as it is */
	uint64_t bytes;
	struct session *next_ready;
	struct relay_node *node;
	struct session *prev, *next;
	struct session *next_held;
	uint64_t held_ticket, held_since; /* 0: none yet; when its answer came */
	uint32_t id;
	bool opaque_counted;
	bool recording;
	bool parsed;            /* the parser was told that it is over */
	enum close_reason end_reason; /* which side closed first; CLOSE_NONE: neither yet */
	size_t address_index;
	uint64_t connect_deadline;
	bool header_due;        /* of the PROXY protocol, from the client */
	struct proxy_ends ends; /* the client's, as it or the socket says */
	struct sockaddr_storage peer;
	struct wire_clearing clearing;
	struct upgrade upgrade;
	bool track_due;  /* relay_options.track_sql is to be sent when the session is at rest */
	bool track_sent; /* its answer is awaited, and is not the client's: */
	struct buf track_answer;
	bool login_flags;            /* the next bytes are a login to be marked as one under TLS */
	struct renumber renumber[2]; /* by the side that the packets come from */
	struct wire wire;
	struct capture capture;
	uint64_t statements_counted;
};

#define COUNT(worker, what, by)                                                                    \
	atomic_store_explicit(&(worker)->stats.what,                                               \
		atomic_load_explicit(&(worker)->stats.what, memory_order_relaxed) + (by),          \
		memory_order_relaxed)

/* session.c */
bool session_watch(struct session *s, int which);
void session_event(struct session *s, const char *what, const char *reason);
/* It is freed when the worker's turn is over. */
void session_close(struct session *s, enum close_reason reason);
/* ... with a text for the record. */
void session_close_saying(struct session *s, enum close_reason reason, const char *detail);
void session_send_error(struct session *s, uint8_t seq, const char *text);
/* False: it was closed. */
bool session_forward(
	struct session *s, int to, const unsigned char *bytes, size_t len, bool secret);
/* Does what can be done without waiting. */
void session_work(struct session *s);
/* Ends it if it is at rest. */
void session_drain(struct session *s);

/* hold_answers.c */
/* What goes to the client from now on waits until all that is recorded so far is on the disk. */
void session_hold(struct session *s);
/* It ends. */
void session_unhold(struct session *s);
/* Takes tickets for the answers of this turn, and lets those go whose records are on the disk. */
void relay_let_go_held(struct relay_worker *w);

/* connect.c */
void session_open(struct relay_worker *w, const struct relay_arrival *arrival);
void session_header_work(struct session *s);
void session_connected(struct session *s);
/* Its deadline is over. */
void session_expire_connecting(struct session *s);

#endif
