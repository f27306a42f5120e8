/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/header.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bug.h"

/* Both ends of a TCP connection, in network order. */
struct ends {
	int family; /* AF_INET, AF_INET6; AF_UNSPEC: neither */
	unsigned char from[16], to[16];
	size_t size;
	uint16_t from_port, to_port;
};

static bool same_kind(
	const struct sockaddr_storage *a, const struct sockaddr_storage *b, int family)
{
	return a->ss_family == family && b->ss_family == family;
}

static struct ends ends_of(int fd)
{
	struct sockaddr_storage peer = {0}, mine = {0};
	socklen_t peer_len = sizeof(peer), mine_len = sizeof(mine);
	struct ends ends = {.family = AF_UNSPEC};

	if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) ||
		getsockname(fd, (struct sockaddr *)&mine, &mine_len))
		return ends;
	if (same_kind(&peer, &mine, AF_INET)) {
		const struct sockaddr_in *from = (const struct sockaddr_in *)&peer;
		const struct sockaddr_in *to = (const struct sockaddr_in *)&mine;

		ends.family = AF_INET;
		ends.size = 4;
		memcpy(ends.from, &from->sin_addr, 4);
		memcpy(ends.to, &to->sin_addr, 4);
		ends.from_port = from->sin_port;
		ends.to_port = to->sin_port;
	} else if (same_kind(&peer, &mine, AF_INET6)) {
		const struct sockaddr_in6 *from = (const struct sockaddr_in6 *)&peer;
		const struct sockaddr_in6 *to = (const struct sockaddr_in6 *)&mine;

		ends.family = AF_INET6;
		ends.size = 16;
		memcpy(ends.from, &from->sin6_addr, 16);
		memcpy(ends.to, &to->sin6_addr, 16);
		ends.from_port = from->sin6_port;
		ends.to_port = to->sin6_port;
	}
	return ends;
}

/* "PROXY TCP4 from to port port", or "PROXY UNKNOWN" for a Unix socket. */
static size_t version_1(const struct ends *ends, unsigned char out[PROXY_HEADER_MAX])
{
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
	int len;

	if (ends->family == AF_UNSPEC) {
		len = snprintf((char *)out, PROXY_HEADER_MAX, "PROXY UNKNOWN\r\n");
	} else {
		inet_ntop(ends->family, ends->from, from, sizeof(from));
		inet_ntop(ends->family, ends->to, to, sizeof(to));
		len = snprintf((char *)out, PROXY_HEADER_MAX, "PROXY %s %s %s %u %u\r\n",
			ends->family == AF_INET ? "TCP4" : "TCP6", from, to, ntohs(ends->from_port),
			ntohs(ends->to_port));
	}
	CHECK(len > 0 && len < PROXY_HEADER_MAX);
	return (size_t)len;
}

/* Signature 12, version and command 1, family 1, length 2; addresses, ports. */
static size_t version_2(const struct ends *ends, unsigned char out[PROXY_HEADER_MAX])
{
	static const unsigned char signature[12] = "\r\n\r\n\0\r\nQUIT\n";
	size_t size = ends->family == AF_UNSPEC ? 0 : 2 * ends->size + 4;

	memcpy(out, signature, 12);
	out[12] = ends->family == AF_UNSPEC ? 0x20 : 0x21; /* LOCAL, PROXY */
	out[13] = ends->family == AF_INET ? 0x11 : ends->family == AF_INET6 ? 0x21 : 0x00;
	out[14] = (unsigned char)(size >> 8);
	out[15] = (unsigned char)size;
	if (size) {
		memcpy(out + 16, ends->from, ends->size);
		memcpy(out + 16 + ends->size, ends->to, ends->size);
		memcpy(out + 16 + 2 * ends->size, &ends->from_port, 2);
		memcpy(out + 18 + 2 * ends->size, &ends->to_port, 2);
	}
	return 16 + size;
}

size_t proxy_header(
	enum proxy_protocol protocol, int client_fd, unsigned char out[PROXY_HEADER_MAX])
{
	struct ends ends;

	if (protocol == PROXY_PROTOCOL_NONE)
		return 0;
	ends = ends_of(client_fd);
	return protocol == PROXY_PROTOCOL_V1 ? version_1(&ends, out) : version_2(&ends, out);
}
