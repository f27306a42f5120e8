/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS on either side of a session: the only file that knows OpenSSL.
 *
 * A stream stands on a non-blocking socket that the relay owns.  tls_recv and tls_send answer as
 * recv(2) and send(2) do, and run the handshake in passing.  TLS may have to write in order to read
 * and the other way round: `wait` says for which event of the socket the call must be repeated.
 * A call of tls_send that had to wait is repeated with the same bytes in front.
 *
 * Contexts are shared by the workers, streams belong to one.
 */
#ifndef PROXY_TLS_H
#define PROXY_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

enum { TLS_PROBLEM_SIZE = 200 };

struct tls;

struct tls_context {
	void *accept;  /* towards clients; NULL: no certificate was given */
	void *connect; /* towards the server */
};

enum tls_wait { TLS_WAIT_READABLE, TLS_WAIT_WRITABLE };

/* PEM files.  certificate NULL: no TLS for clients; key NULL: it is in the certificate's file.
 * authority: the server's certificate must be signed by one in it; NULL: any will do. */
bool tls_context_init(struct tls_context *context, const char *certificate, const char *key,
	const char *authority, struct err *err) MUST_CHECK;
void tls_context_release(struct tls_context *context);

/* NULL: no memory. */
struct tls *tls_accept(const struct tls_context *context, int fd) MUST_CHECK;
struct tls *tls_connect(const struct tls_context *context, int fd) MUST_CHECK;
void tls_free(struct tls *tls);

/* -1 with EAGAIN: repeat after *wait; with EPROTO: TLS failed, tls_problem says how. */
ssize_t tls_recv(struct tls *tls, void *out, size_t size, enum tls_wait *wait) MUST_CHECK;
ssize_t tls_send(struct tls *tls, const void *bytes, size_t len, enum tls_wait *wait) MUST_CHECK;
/* Tells the peer that nothing more comes. */
void tls_end(struct tls *tls);
/* Why the last call of this thread failed. */
void tls_problem(struct tls *tls, char out[TLS_PROBLEM_SIZE]);

#endif
