/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTEN_BACKLOG = 1024 };

static bool parse_unix(struct address *out, const char *path, struct err *err)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&out->list[0];

	if (strlen(path) >= sizeof(un->sun_path))
		return err_set(err, ERR_USAGE, "%s: a socket's path has at most %zu bytes", path,
			sizeof(un->sun_path) - 1);
	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", path);
	out->len[0] = sizeof(*un);
	out->count = 1;
	return true;
}

/* Takes "host", "host:port", "[v6]:port", "port" apart. */
static bool split(const char *text, unsigned port_default, char host[ADDRESS_TEXT_SIZE],
	char port[16], struct err *err)
{
	const char *colon = strrchr(text, ':'), *port_text = NULL, *end = text + strlen(text);
	char *rest;
	unsigned long number;

	if (text[0] == '[') {
		end = strchr(text, ']');
		if (!end || (end[1] && end[1] != ':'))
			return err_set(err, ERR_USAGE, "%s: write it as [ADDRESS]:PORT", text);
		port_text = end[1] ? end + 2 : NULL;
		text++;
	} else if (colon && colon != strchr(text, ':')) {
		return err_set(err, ERR_USAGE, "%s: write an IPv6 address as [ADDRESS]:PORT", text);
	} else if (colon) {
		end = colon;
		port_text = colon + 1;
	} else if (strspn(text, "0123456789") == strlen(text)) {
		port_text = text;
		end = text;
	}
	snprintf(host, ADDRESS_TEXT_SIZE, "%.*s", (int)(end - text), text);
	if (!host[0])
		snprintf(host, ADDRESS_TEXT_SIZE, "127.0.0.1"); /* nothing else unless told */
	number = port_text ? strtoul(port_text, &rest, 10) : port_default;
	if (number > 65535 || (port_text && (*rest || !*port_text)) || (!port_text && !number))
		return err_set(
			err, ERR_USAGE, "%s: the port must be a number from 0 to 65535", text);
	snprintf(port, 16, "%lu", number);
	return true;
}

bool address_parse(struct address *out, const char *text, unsigned port, struct err *err)
{
	char host[ADDRESS_TEXT_SIZE], service[16];
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list;
	int code;

	memset(out, 0, sizeof(*out));
	if (strlen(text) >= sizeof(out->text))
		return err_set(err, ERR_USAGE, "%s: too long for an address", text);
	snprintf(out->text, sizeof(out->text), "%s", text);
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(out, text + 5, err);
	if (text[0] == '/')
		return parse_unix(out, text, err);
	if (!split(text, port, host, service, err))
		return false;
	code = getaddrinfo(host, service, &hints, &list);
	if (code)
		return err_set(err, code == EAI_MEMORY || code == EAI_SYSTEM ? ERR_IO : ERR_USAGE, "%s: %s",
			text, gai_strerror(code));
	for (struct addrinfo *at = list; at && out->count < ADDRESS_COUNT_MAX; at = at->ai_next) {
		memcpy(&out->list[out->count], at->ai_addr, at->ai_addrlen);
		out->len[out->count++] = at->ai_addrlen;
	}
	freeaddrinfo(list);
	return true;
}

/* A socket file without a listener is left over from a recorder that was killed. */
static void remove_stale(const struct sockaddr_un *un)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd < 0)
		return;
	if (lstat(un->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
		connect(fd, (const struct sockaddr *)un, sizeof(*un)) < 0 && errno == ECONNREFUSED)
		unlink(un->sun_path);
	close(fd);
}

int address_listen(const struct address *address, struct err *err)
{
	const struct sockaddr *sa = (const struct sockaddr *)&address->list[0];
	int one = 1, fd;

	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		err_set_errno(err, errno, "cannot make a socket for %s", address->text);
		return -1;
	}
	if (sa->sa_family == AF_UNIX)
		remove_stale((const struct sockaddr_un *)sa);
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, sa, address->len[0]) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
		err_set_errno(err, errno, "cannot listen on %s", address->text);
		close(fd);
		return -1;
	}
	return fd;
}

int address_connect(const struct address *address, size_t index)
{
	const struct sockaddr *sa = (const struct sockaddr *)&address->list[index];
	int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	socket_prepare(fd);
	if (connect(fd, sa, address->len[index]) < 0 && errno != EINPROGRESS) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

void address_unlink(const struct address *address)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)&address->list[0];

	if (address->count && un->sun_family == AF_UNIX)
		unlink(un->sun_path);
}

bool address_is_loopback(const struct address *address)
{
	const struct sockaddr_storage *sa = &address->list[0];

	if (sa->ss_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)sa)->sin_addr.s_addr) >> 24) == 127;
	if (sa->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)sa)->sin6_addr);
	return true;
}

void address_parts(const struct address *address, char host[ADDRESS_TEXT_SIZE], unsigned *port,
	const char **socket)
{
	const struct sockaddr_storage *sa = &address->list[0];

	host[0] = '\0';
	*port = 0;
	*socket = NULL;
	if (sa->ss_family == AF_UNIX) {
		*socket = ((const struct sockaddr_un *)sa)->sun_path;
	} else if (sa->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

		inet_ntop(AF_INET, &in->sin_addr, host, ADDRESS_TEXT_SIZE);
		*port = ntohs(in->sin_port);
	} else {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)sa;

		inet_ntop(AF_INET6, &in->sin6_addr, host, ADDRESS_TEXT_SIZE);
		*port = ntohs(in->sin6_port);
	}
}

void socket_prepare(int fd)
{
	int one = 1, idle_s = KEEPALIVE_IDLE_S, interval_s = KEEPALIVE_INTERVAL_S,
	    count = KEEPALIVE_COUNT;

	/* Not for Unix sockets, where these fail and do not matter. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

void sockaddr_print(const struct sockaddr_storage *sa, char out[ADDRESS_TEXT_SIZE])
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (sa->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(out, ADDRESS_TEXT_SIZE, "%s:%u", host, ntohs(in->sin_port));
	} else if (sa->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)sa;

		inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
		snprintf(out, ADDRESS_TEXT_SIZE, "[%s]:%u", host, ntohs(in->sin6_port));
	} else {
		snprintf(out, ADDRESS_TEXT_SIZE, "unix");
	}
}
