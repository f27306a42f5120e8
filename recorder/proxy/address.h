/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses as people write them: 127.0.0.1:3306, [::1]:3306, db.example:3306, a port alone
 * (loopback), unix:/run/mysqld.sock or a path that begins with a slash.
 */
#ifndef PROXY_ADDRESS_H
#define PROXY_ADDRESS_H

#include <sys/socket.h>

#include "base/attr.h"
#include "base/err.h"

enum {
	ADDRESS_COUNT_MAX = 4,
	ADDRESS_TEXT_SIZE = 160,
	/* A silent peer is asked after this time, then so often, so many times. */
	KEEPALIVE_IDLE_S = 120,
	KEEPALIVE_INTERVAL_S = 15,
	KEEPALIVE_COUNT = 8,
};

struct address {
	char text[ADDRESS_TEXT_SIZE]; /* as given */
	size_t count;                 /* what the name resolved to, in the resolver's order */
	struct sockaddr_storage list[ADDRESS_COUNT_MAX];
	socklen_t len[ADDRESS_COUNT_MAX];
};

/* `port`: when the text has none; 0: it must have one. */
bool address_parse(
	struct address *out, const char *text, unsigned port, struct err *err) MUST_CHECK;
/* A listening socket, non-blocking; -1 and err. */
int address_listen(const struct address *address, struct err *err) MUST_CHECK;
/* Starts to connect; a non-blocking socket, or -1 and errno. */
int address_connect(const struct address *address, size_t index) MUST_CHECK;
/* Removes the file of a listening Unix socket. */
void address_unlink(const struct address *address);
bool address_is_loopback(const struct address *address);
/* What a client library wants: *socket is NULL, or a path and the others are unset. */
void address_parts(const struct address *address, char host[ADDRESS_TEXT_SIZE], unsigned *port,
	const char **socket);
/* Small packets must not wait for one another; and a peer whose machine has gone without a word is
 * found out, as a session that nothing else ends would stay for ever. */
void socket_prepare(int fd);
/* "127.0.0.1:40112", "[::1]:40112", "unix". */
void sockaddr_print(const struct sockaddr_storage *sa, char out[ADDRESS_TEXT_SIZE]);

#endif
