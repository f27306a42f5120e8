/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/handshake.h"

bool wire_greeting_parse(struct span payload, struct wire_greeting *out)
{
	struct cursor c = cursor_over(payload);
	unsigned auth_len;
	uint64_t extended;

	*out = (struct wire_greeting){.plugin = SPAN_NONE};
	if (cursor_uint(&c, 1) != 10)
		return false;
	out->version = cursor_nul_str(&c);
	out->thread = (uint32_t)cursor_uint(&c, 4);
	cursor_take(&c, 8 + 1); /* scramble, filler */
	out->caps = cursor_uint(&c, 2);
	if (c.bad)
		return false;
	if (cursor_left(&c) == 0)
		return true;
	out->charset = (uint8_t)cursor_uint(&c, 1);
	out->status = (uint16_t)cursor_uint(&c, 2);
	out->caps |= cursor_uint(&c, 2) << 16;
	auth_len = (unsigned)cursor_uint(&c, 1);
	cursor_take(&c, 6);
	extended = cursor_uint(&c, 4);
	if (!(out->caps & CAP_MYSQL))
		out->caps |= extended << 32;
	if (out->caps & CAP_SECURE_CONNECTION)
		cursor_take(&c, auth_len > 8 + 13 ? auth_len - 8 : 13);
	if (!c.bad && (out->caps & CAP_PLUGIN_AUTH))
		out->plugin = cursor_nul_str(&c);
	return !c.bad;
}

static void skip_auth(struct cursor *c, uint64_t caps)
{
	if (caps & CAP_PLUGIN_AUTH_LENENC)
		cursor_lenenc_str(c);
	else if (caps & CAP_SECURE_CONNECTION)
		cursor_take(c, cursor_uint(c, 1));
	else
		cursor_nul_str(c);
}

bool wire_login_parse(struct span payload, uint64_t server_caps, struct wire_login *out)
{
	struct cursor c = cursor_over(payload);
	uint64_t extended, caps;

	*out = (struct wire_login){
		.attributes = SPAN_NONE, .schema = SPAN_NONE, .plugin = SPAN_NONE};
	out->caps = cursor_uint(&c, 4);
	if (c.bad || !(out->caps & CAP_PROTOCOL_41))
		return false;
	out->packet_max = (uint32_t)cursor_uint(&c, 4);
	out->charset = (uint16_t)cursor_uint(&c, 1);
	cursor_take(&c, 19);
	extended = cursor_uint(&c, 4);
	if (c.bad)
		return false;
	/* The last four bytes of the filler are MariaDB's when neither side claims to be MySQL. */
	if (!(out->caps & CAP_MYSQL) && !(server_caps & CAP_MYSQL))
		out->caps |= extended << 32;
	if (cursor_left(&c) == 0) {
		out->ssl_request = (out->caps & CAP_SSL) != 0;
		return out->ssl_request;
	}
	caps = out->in_force = out->caps & server_caps;
	out->user = cursor_nul_str(&c);
	skip_auth(&c, caps);
	if (caps & CAP_CONNECT_WITH_DB)
		out->schema = cursor_nul_str(&c);
	if (caps & CAP_PLUGIN_AUTH)
		out->plugin = cursor_nul_str(&c);
	if ((caps & CAP_CONNECT_ATTRS) && cursor_left(&c))
		out->attributes = cursor_lenenc_str(&c);
	return !c.bad;
}

bool wire_change_user_parse(struct span body, uint64_t caps, struct wire_login *out)
{
	struct cursor c = cursor_over(body);

	*out = (struct wire_login){.caps = caps, .attributes = SPAN_NONE, .plugin = SPAN_NONE};
	out->user = cursor_nul_str(&c);
	if (caps & CAP_SECURE_CONNECTION)
		cursor_take(&c, cursor_uint(&c, 1));
	else
		cursor_nul_str(&c);
	out->schema = cursor_nul_str(&c);
	if (cursor_left(&c) >= 2)
		out->charset = (uint16_t)cursor_uint(&c, 2);
	if ((caps & CAP_PLUGIN_AUTH) && cursor_left(&c))
		out->plugin = cursor_nul_str(&c);
	if ((caps & CAP_CONNECT_ATTRS) && cursor_left(&c))
		out->attributes = cursor_lenenc_str(&c);
	return !c.bad;
}

/* Offsets from the version's NUL: thread id 4, scramble 8, filler 1, then two bytes of flags;
 * character set 1, status 2, then the two upper bytes. */
void wire_clearing_apply(struct wire_clearing *clearing, unsigned char *bytes, size_t len)
{
	static const uint8_t at[4] = {14, 15, 19, 20};

	for (size_t i = 0; i < len && !clearing->done; i++, clearing->offset++) {
		uint32_t offset = clearing->offset;

		if (offset < 3)
			clearing->length |= (uint32_t)bytes[i] << (8 * offset);
		if (offset < PROTO_HEAD_SIZE)
			continue;
		if (offset - PROTO_HEAD_SIZE >= clearing->length) {
			clearing->done = true;
			return;
		}
		if (offset == PROTO_HEAD_SIZE && bytes[i] != 10) {
			clearing->done = true; /* an ERR, or nothing we know */
			return;
		}
		if (offset == PROTO_HEAD_SIZE)
			continue;
		if (!clearing->nul) {
			if (bytes[i] == 0)
				clearing->nul = offset;
			else if (offset > 4096)
				clearing->done = true;
			continue;
		}
		for (unsigned k = 0; k < 4; k++) {
			if (offset != clearing->nul + at[k])
				continue;
			clearing->offered |= (uint32_t)bytes[i] << (8 * k);
			bytes[i] &= (unsigned char)~(clearing->clear >> (8 * k));
		}
		clearing->done = offset >= clearing->nul + at[3];
	}
}
