/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/proxy_protocol.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bug.h"

static const unsigned char signature_2[12] = "\r\n\r\n\0\r\nQUIT\n";

enum { LINE_MAX_1 = 107, HEAD_SIZE_2 = 16 };

static size_t address_size(const struct proxy_ends *ends)
{
	return ends->family == AF_INET ? 4 : ends->family == AF_INET6 ? 16 : 0;
}

static bool same_kind(
	const struct sockaddr_storage *a, const struct sockaddr_storage *b, int family)
{
	return a->ss_family == family && b->ss_family == family;
}

struct proxy_ends proxy_ends_of(int fd)
{
	struct sockaddr_storage peer = {0}, mine = {0};
	socklen_t peer_len = sizeof(peer), mine_len = sizeof(mine);
	struct proxy_ends ends = {.family = AF_UNSPEC};

	if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) ||
		getsockname(fd, (struct sockaddr *)&mine, &mine_len))
		return ends;
	if (same_kind(&peer, &mine, AF_INET)) {
		const struct sockaddr_in *from = (const struct sockaddr_in *)&peer;
		const struct sockaddr_in *to = (const struct sockaddr_in *)&mine;

		ends.family = AF_INET;
		memcpy(ends.from, &from->sin_addr, 4);
		memcpy(ends.to, &to->sin_addr, 4);
		ends.from_port = from->sin_port;
		ends.to_port = to->sin_port;
	} else if (same_kind(&peer, &mine, AF_INET6)) {
		const struct sockaddr_in6 *from = (const struct sockaddr_in6 *)&peer;
		const struct sockaddr_in6 *to = (const struct sockaddr_in6 *)&mine;

		ends.family = AF_INET6;
		memcpy(ends.from, &from->sin6_addr, 16);
		memcpy(ends.to, &to->sin6_addr, 16);
		ends.from_port = from->sin6_port;
		ends.to_port = to->sin6_port;
	}
	return ends;
}

/* "PROXY TCP4 from to port port", or "PROXY UNKNOWN" for a Unix socket. */
static size_t version_1(const struct proxy_ends *ends, unsigned char out[PROXY_HEADER_MAX])
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
static size_t version_2(const struct proxy_ends *ends, unsigned char out[PROXY_HEADER_MAX])
{
	size_t each = address_size(ends), size = each ? 2 * each + 4 : 0;

	memcpy(out, signature_2, 12);
	out[12] = ends->family == AF_UNSPEC ? 0x20 : 0x21; /* LOCAL, PROXY */
	out[13] = ends->family == AF_INET ? 0x11 : ends->family == AF_INET6 ? 0x21 : 0x00;
	out[14] = (unsigned char)(size >> 8);
	out[15] = (unsigned char)size;
	if (size) {
		memcpy(out + 16, ends->from, each);
		memcpy(out + 16 + each, ends->to, each);
		memcpy(out + 16 + 2 * each, &ends->from_port, 2);
		memcpy(out + 18 + 2 * each, &ends->to_port, 2);
	}
	return 16 + size;
}

size_t proxy_header(enum proxy_protocol protocol, const struct proxy_ends *ends,
	unsigned char out[PROXY_HEADER_MAX])
{
	if (protocol == PROXY_PROTOCOL_NONE)
		return 0;
	return protocol == PROXY_PROTOCOL_V1 ? version_1(ends, out) : version_2(ends, out);
}

/* ---- reading ---- */

static bool read_port(const char *text, uint16_t *port)
{
	unsigned value = 0;

	if (!*text || strlen(text) > 5)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (unsigned)(*text - '0');
	}
	*port = htons((uint16_t)value);
	return value <= UINT16_MAX;
}

static enum proxy_header_verdict read_line(char *line, struct proxy_ends *ends)
{
	struct proxy_ends got = {.family = AF_UNSPEC};
	char *words[7], *state = NULL;
	size_t count = 0;

	for (char *w = strtok_r(line, " ", &state); w && count < 7; w = strtok_r(NULL, " ", &state))
		words[count++] = w;
	if (count >= 2 && strcmp(words[1], "UNKNOWN") == 0)
		return PROXY_HEADER_DONE;
	if (count != 6)
		return PROXY_HEADER_BAD;
	if (strcmp(words[1], "TCP4") == 0)
		got.family = AF_INET;
	else if (strcmp(words[1], "TCP6") == 0)
		got.family = AF_INET6;
	if (got.family == AF_UNSPEC || inet_pton(got.family, words[2], got.from) != 1 ||
		inet_pton(got.family, words[3], got.to) != 1 ||
		!read_port(words[4], &got.from_port) || !read_port(words[5], &got.to_port))
		return PROXY_HEADER_BAD;
	*ends = got;
	return PROXY_HEADER_DONE;
}

static enum proxy_header_verdict read_version_1(
	const unsigned char *bytes, size_t len, struct proxy_ends *ends, size_t *used)
{
	char line[LINE_MAX_1 + 1];
	const unsigned char *end;

	if (len > LINE_MAX_1)
		len = LINE_MAX_1;
	end = memchr(bytes, '\n', len);
	if (!end)
		return len < LINE_MAX_1 ? PROXY_HEADER_MORE : PROXY_HEADER_BAD;
	*used = (size_t)(end - bytes) + 1;
	if (end[-1] != '\r' || memchr(bytes, '\0', *used))
		return PROXY_HEADER_BAD;
	memcpy(line, bytes, *used - 2);
	line[*used - 2] = '\0';
	return read_line(line, ends);
}

static enum proxy_header_verdict read_version_2(
	const unsigned char *bytes, size_t len, struct proxy_ends *ends, size_t *used)
{
	size_t size, each;
	struct proxy_ends got = {.family = AF_UNSPEC};

	if (len < HEAD_SIZE_2)
		return PROXY_HEADER_MORE;
	size = (size_t)bytes[14] << 8 | bytes[15];
	if (bytes[12] >> 4 != 2 || (bytes[12] & 15) > 1 ||
		HEAD_SIZE_2 + size > PROXY_HEADER_READ_MAX)
		return PROXY_HEADER_BAD;
	if (len < HEAD_SIZE_2 + size)
		return PROXY_HEADER_MORE;
	*used = HEAD_SIZE_2 + size;
	if ((bytes[12] & 15) == 0)
		return PROXY_HEADER_DONE; /* LOCAL: a health check of the sender's own */
	got.family = bytes[13] >> 4 == 1 ? AF_INET : bytes[13] >> 4 == 2 ? AF_INET6 : AF_UNSPEC;
	each = address_size(&got);
	if (!each)
		return PROXY_HEADER_DONE;
	if (size < 2 * each + 4)
		return PROXY_HEADER_BAD;
	memcpy(got.from, bytes + 16, each);
	memcpy(got.to, bytes + 16 + each, each);
	memcpy(&got.from_port, bytes + 16 + 2 * each, 2);
	memcpy(&got.to_port, bytes + 18 + 2 * each, 2);
	*ends = got;
	return PROXY_HEADER_DONE;
}

enum proxy_header_verdict proxy_header_read(
	const unsigned char *bytes, size_t len, struct proxy_ends *ends, size_t *used)
{
	static const char word[6] = "PROXY ";

	*used = 0;
	if (len == 0)
		return PROXY_HEADER_MORE;
	if (memcmp(bytes, word, len < 6 ? len : 6) == 0)
		return len < 6 ? PROXY_HEADER_MORE : read_version_1(bytes, len, ends, used);
	if (memcmp(bytes, signature_2, len < 12 ? len : 12) == 0)
		return read_version_2(bytes, len, ends, used);
	return PROXY_HEADER_BAD;
}

void proxy_ends_print(const struct proxy_ends *ends, char out[ADDRESS_TEXT_SIZE])
{
	struct sockaddr_storage sa = {.ss_family = (sa_family_t)ends->family};

	if (ends->family == AF_INET6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&sa;

		memcpy(&in6->sin6_addr, ends->from, 16);
		in6->sin6_port = ends->from_port;
	} else {
		struct sockaddr_in *in = (struct sockaddr_in *)&sa;

		memcpy(&in->sin_addr, ends->from, 4);
		in->sin_port = ends->from_port;
	}
	sockaddr_print(&sa, out);
}
