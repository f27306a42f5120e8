/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/tls_upgrade.h"

#include <string.h>

#include "wire/proto.h"

enum { FLAGS_SIZE = 4 };

static uint32_t length_of(const unsigned char *head)
{
	return head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16;
}

static uint32_t flags_of(const unsigned char *packet)
{
	return packet[4] | (uint32_t)packet[5] << 8 | (uint32_t)packet[6] << 16 |
	       (uint32_t)packet[7] << 24;
}

/* A login of today is longer than a request for TLS; one of before 4.1 may be shorter. */
static size_t wanted(const struct upgrade *upgrade)
{
	uint32_t length;

	if (upgrade->len < PROTO_HEAD_SIZE)
		return PROTO_HEAD_SIZE;
	length = length_of(upgrade->bytes);
	return length < UPGRADE_REQUEST_SIZE - PROTO_HEAD_SIZE ? PROTO_HEAD_SIZE
							       : UPGRADE_REQUEST_SIZE;
}

size_t upgrade_room(const struct upgrade *upgrade)
{
	size_t want = wanted(upgrade);

	return want > upgrade->len ? want - upgrade->len : 0;
}

enum upgrade_verdict upgrade_verdict(const struct upgrade *upgrade)
{
	if (upgrade_room(upgrade))
		return UPGRADE_MORE;
	if (length_of(upgrade->bytes) == UPGRADE_REQUEST_SIZE - PROTO_HEAD_SIZE &&
		(flags_of(upgrade->bytes) & CAP_SSL) &&
		(flags_of(upgrade->bytes) & CAP_PROTOCOL_41))
		return UPGRADE_TLS;
	return UPGRADE_PLAIN;
}

void upgrade_flags(unsigned char login[UPGRADE_REQUEST_SIZE])
{
	login[5] |= (unsigned char)(CAP_SSL >> 8);
}

void upgrade_request(const struct upgrade *login, unsigned char request[UPGRADE_REQUEST_SIZE])
{
	memcpy(request, login->bytes, UPGRADE_REQUEST_SIZE);
	request[0] = UPGRADE_REQUEST_SIZE - PROTO_HEAD_SIZE;
	request[1] = request[2] = 0;
	upgrade_flags(request);
}

bool renumber_apply(struct renumber *renumber, unsigned char *bytes, size_t len)
{
	bool over = false;

	for (size_t i = 0; i < len && !renumber->off;) {
		if (renumber->head_len < PROTO_HEAD_SIZE) {
			renumber->head[renumber->head_len++] = bytes[i];
			if (renumber->head_len == PROTO_HEAD_SIZE) {
				bytes[i] = (unsigned char)(bytes[i] + renumber->by);
				renumber->left = length_of(renumber->head);
				if (renumber->left == 0)
					renumber->head_len = 0;
			}
			i++;
			continue;
		}
		/* OK and ERR of the server; a client's packets are not distinguished. */
		if (renumber->by < 0 && renumber->left == length_of(renumber->head) &&
			(bytes[i] == 0x00 || bytes[i] == 0xff)) {
			renumber->off = true;
			over = true;
			break;
		}
		size_t take = renumber->left < len - i ? renumber->left : len - i;

		i += take;
		renumber->left -= (uint32_t)take;
		if (renumber->left == 0)
			renumber->head_len = 0;
	}
	return over;
}
