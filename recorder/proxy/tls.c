/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

/* ---- contexts ---- */

static bool fail(struct err *err, const char *what, const char *file)
{
	char reason[160];

	ERR_error_string_n(ERR_peek_last_error(), reason, sizeof(reason));
	ERR_clear_error();
	return err_set(err, ERR_USAGE, "%s %s: %s", what, file, reason);
}

static SSL_CTX *new_context(const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	if (!ctx)
		return NULL;
	/* Peers close without the TLS goodbye, which the protocol's own lengths make harmless. */
	SSL_CTX_set_options(ctx,
		SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CLEANSE_PLAINTEXT | SSL_OP_NO_RENEGOTIATION);
	/* What could not be sent waits elsewhere in memory; idle sessions hold no buffers. */
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	return ctx;
}

bool tls_context_init(struct tls_context *context, const char *certificate, const char *key,
	const char *authority, struct err *err)
{
	*context = (struct tls_context){NULL, NULL};
	context->connect = new_context(TLS_client_method());
	if (certificate)
		context->accept = new_context(TLS_server_method());
	if (!context->connect || (certificate && !context->accept)) {
		fail(err, "cannot start", "OpenSSL");
		goto bad;
	}
	if (authority) {
		if (SSL_CTX_load_verify_file(context->connect, authority) != 1) {
			fail(err, "cannot read --tls-ca", authority);
			goto bad;
		}
		SSL_CTX_set_verify(context->connect, SSL_VERIFY_PEER, NULL);
	}
	if (!certificate)
		return true;
	if (SSL_CTX_use_certificate_chain_file(context->accept, certificate) != 1) {
		fail(err, "cannot use --tls-cert", certificate);
		goto bad;
	}
	if (SSL_CTX_use_PrivateKey_file(
		    context->accept, key ? key : certificate, SSL_FILETYPE_PEM) != 1) {
		fail(err, "cannot use --tls-key", key ? key : certificate);
		goto bad;
	}
	return true;
bad:
	tls_context_release(context);
	return false;
}

void tls_context_release(struct tls_context *context)
{
	SSL_CTX_free(context->accept);
	SSL_CTX_free(context->connect);
	*context = (struct tls_context){NULL, NULL};
}

/* ---- streams: a struct tls is OpenSSL's SSL ---- */

static SSL *ssl_of(struct tls *tls)
{
	return (SSL *)tls;
}

static SSL *stream_on(void *ctx, int fd)
{
	SSL *ssl = ctx ? SSL_new(ctx) : NULL;

	if (ssl && SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		ssl = NULL;
	}
	return ssl;
}

struct tls *tls_accept(const struct tls_context *context, int fd)
{
	SSL *ssl = stream_on(context->accept, fd);

	if (ssl)
		SSL_set_accept_state(ssl);
	return (struct tls *)ssl;
}

struct tls *tls_connect(const struct tls_context *context, int fd)
{
	SSL *ssl = stream_on(context->connect, fd);

	if (ssl)
		SSL_set_connect_state(ssl);
	return (struct tls *)ssl;
}

void tls_free(struct tls *tls)
{
	SSL_free(ssl_of(tls));
}

static ssize_t answer(struct tls *tls, int result, size_t done, enum tls_wait *wait)
{
	if (result > 0)
		return (ssize_t)done;
	switch (SSL_get_error(ssl_of(tls), result)) {
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_WANT_READ:
		*wait = TLS_WAIT_READABLE;
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_WANT_WRITE:
		*wait = TLS_WAIT_WRITABLE;
		errno = EAGAIN;
		return -1;
	default:
		errno = EPROTO;
		return -1;
	}
}

ssize_t tls_recv(struct tls *tls, void *out, size_t size, enum tls_wait *wait)
{
	size_t done = 0;
	int result;

	ERR_clear_error();
	errno = 0;
	result = SSL_read_ex(ssl_of(tls), out, size, &done);
	return answer(tls, result, done, wait);
}

ssize_t tls_send(struct tls *tls, const void *bytes, size_t len, enum tls_wait *wait)
{
	size_t done = 0;
	int result;
	ssize_t n;

	ERR_clear_error();
	errno = 0;
	result = SSL_write_ex(ssl_of(tls), bytes, len, &done);
	n = answer(tls, result, done, wait);
	if (n == 0) { /* the peer has said goodbye */
		errno = EPIPE;
		return -1;
	}
	return n;
}

void tls_end(struct tls *tls)
{
	ERR_clear_error();
	if (SSL_is_init_finished(ssl_of(tls)) &&
		!(SSL_get_shutdown(ssl_of(tls)) & SSL_SENT_SHUTDOWN))
		(void)SSL_shutdown(ssl_of(tls));
}

void tls_problem(struct tls *tls, char out[TLS_PROBLEM_SIZE])
{
	long verdict = SSL_get_verify_result(ssl_of(tls));
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	if (verdict != X509_V_OK && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED)
		reason = X509_verify_cert_error_string(verdict);
	snprintf(out, TLS_PROBLEM_SIZE, "%s", reason ? reason : "connection lost");
	ERR_clear_error();
}
