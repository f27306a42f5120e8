/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The relay: worker threads that each forward the bytes of their own sessions, both ways, and show
 * them to the parser in passing.
 *
 * A session is one client connection and one connection to the node, made for it; the server's own
 * greeting and the authentication dialogue pass through.  Each worker has its epoll and its
 * sessions, and shares nothing with the others; the main thread accepts connections and hands them
 * over through a mailbox.
 *
 * Flow: what is read is written to the other side at once.  What that side does not take waits in
 * the session, and nothing more is read meanwhile: so a session holds at most RELAY_READ_SIZE bytes
 * of traffic, and a client that does not read stops its server by TCP's own means.
 *
 * Parsing: in the connection phase, which the relay may have to change, before the bytes are
 * written; then a little later, some reads of all sessions in one go.  A statement's bytes come
 * after waiting in the kernel, and the parser's code and tables are no longer in the processor's
 * caches then: one parsed alone costs several times one in a row, and with 64 sessions on a busy
 * machine rows of 100 reads still gain over rows of 30.  Times and sequence numbers are those of
 * the read.
 *
 * Times: a command begins with the clock read after its first byte came from the client and before
 * it is written to the server; an answer ends with the clock read after the read that completed it.
 * The client has it at the earliest with the clock read after the write to its socket; where that
 * did not take all at once, the time is left out.
 */
#ifndef PROXY_RELAY_H
#define PROXY_RELAY_H

#include <pthread.h>
#include <stdatomic.h>

#include "capture/capture.h"
#include "instrument/tables.h"
#include "proxy/address.h"
#include "proxy/proxy_protocol.h"
#include "proxy/tls.h"
#include "wire/wire.h"

enum {
	RELAY_READ_SIZE = 64 * 1024,
	RELAY_EVENTS = 256,
	/* Reads of one session before others get their turn. */
	RELAY_READS_IN_TURN = 8,
	/* So long those that have more to do may keep others, which have just got something, waiting. */
	RELAY_READY_NS = 500 * 1000,
	/* Reads, and their bytes, that wait to be parsed ... */
	RELAY_LATER_MAX = 192,
	RELAY_LATER_SIZE = 128 * 1024,
	/* ... but when so many do and a server has just got something to do, it is time. */
	RELAY_LATER_GOOD = 96,
	/* Numbers taken for the records of an answer: result, statement, transaction, one spare; and more
	 * for several answers, of which the shortest (an OK) has eleven bytes and one record.  Where they
	 * are too few, this and all that wait after it get later ones. */
	RELAY_LATER_SEQS = 4,
	RELAY_LATER_BYTES_A_SEQ = 8,
};

enum relay_tls {
	RELAY_TLS_STRIP,     /* the server's offer of TLS is taken out of its greeting */
	RELAY_TLS_PASS,      /* TLS goes through unread; such a session is opaque */
	RELAY_TLS_AS_CLIENT, /* TLS on both sides when the client asks for it, else on neither */
	RELAY_TLS_TERMINATE, /* TLS to the server when it offers it, whatever the client does */
};

enum { RELAY_NODE_NAME_SIZE = 64 };

struct relay_node {
	char name[RELAY_NODE_NAME_SIZE];
	struct address upstream, listen;
	int listen_fd;
	struct capture_node capture;
};

struct relay_options {
	enum relay_tls tls;
	struct tls_context tls_context;     /* of the last two */
	enum proxy_protocol proxy_protocol; /* sent to the server */
	bool accept_proxy_protocol;         /* each client begins with a header of it */
	bool no_compression;                /* take it out of the greeting */
	uint64_t connect_timeout_ns;
	uint64_t drain_timeout_ns;
	uint64_t sessions_max;
	uint64_t sample;    /* record one session of so many */
	size_t buffer_size; /* of packets held for parsing, a worker */
	size_t packet_keep_max;
	/* Trigger mode: the tables that are prepared for it; NULL: off. */
	const struct instrument_tables *instrument;
	/* Sent once to the server of each session that is logged in, and after a reset: its answers then tell
	 * the names of commits.  NULL: nothing. */
	const char *track_sql;
	uint64_t later_ns; /* what was read is parsed after this time at the latest */
	bool durable; /* the answer of a commit waits until its records are on the disk */
};

/* Classes of the time that answers were held: below 2^(i + 1) us. */
enum { RELAY_HELD_CLASSES = 32 };

/* What --durable cost. */
struct relay_held {
	uint64_t count, ns, ns_max;
	uint64_t unkept; /* answered though their records were lost */
	uint64_t classes[RELAY_HELD_CLASSES];
};

/* Counters of a worker; it alone writes them. */
struct relay_stats {
	atomic_uint_fast64_t sessions, opened, opaque, refused, statements, bytes_to_server,
		bytes_to_client;
	atomic_uint_fast64_t untracked; /* sessions whose server does not tell the names of their commits */
};

struct relay_arrival {
	int fd;
	uint32_t id;
	struct relay_node *node;
	struct sockaddr_storage peer;
};

struct session;

/* What was read of a session in its command phase, and is yet to be parsed. */
struct relay_read {
	struct session *session;
	bool from_client;
	uint32_t len;
	uint64_t at, seq; /* the command's begin, or the first of its records */
	unsigned seqs;    /* ... their numbers */
	uint64_t sent;    /* of an answer: when the client's socket had all of it; 0: not yet */
};

struct relay_worker {
	pthread_t thread;
	const struct relay_options *options;
	int epoll_fd, event_fd;
	struct relay_stats stats;

	pthread_mutex_t lock; /* guards the mailbox */
	struct relay_arrival *arrivals;
	size_t arrival_count, arrival_capacity;
	bool drain, stop;

	/* The worker thread's own. */
	struct capture_worker capture;
	struct wire_budget budget;
	struct session *sessions; /* all, doubly linked */
	struct session *ready;    /* those with more to read, singly linked, in the order of their turns */
	struct session **ready_end;
	struct session *dead;     /* to be freed at the end of the turn */
	struct session *held;     /* those whose answer waits for the disk, singly linked */
	bool held_anew;           /* one of them has no ticket yet */
	struct relay_held held_stats; /* to be read by others once the thread is joined */
	size_t session_count, connecting;
	bool draining, stopping;
	uint64_t drain_deadline;
	struct buf interposed[2]; /* by the side they go to; empty between reads */
	unsigned char scratch[RELAY_READ_SIZE];
	struct {
		struct relay_read list[RELAY_LATER_MAX];
		size_t count, len;
		size_t checked; /* how many there were when the time was last looked at */
		unsigned char bytes[RELAY_LATER_SIZE + RELAY_READ_SIZE]; /* theirs, in order */
	} later;
};

/* Makes the worker and starts its thread.  writer may be NULL: relay only. */
bool relay_worker_start(struct relay_worker *worker, const struct relay_options *options,
	const struct capture_config *capture, struct trace_writer *writer, unsigned index,
	unsigned count, struct err *err) MUST_CHECK;
/* The trace has become durable further than before. */
void relay_worker_wake(struct relay_worker *worker);
void relay_worker_hand_over(struct relay_worker *worker, const struct relay_arrival *arrival);
/* drain: sessions end when they are at rest; stop: now. */
void relay_worker_tell(struct relay_worker *worker, bool drain, bool stop);
/* Waits for the thread; it ends when told to and all sessions are gone. */
void relay_worker_join(struct relay_worker *worker);

#endif
