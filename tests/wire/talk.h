/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conversations of a client and a server, written down packet by packet, for tests of the parser
 * and of the fuzzer's first inputs.  Sequence numbers are counted as both sides would.
 */
#ifndef TALK_H
#define TALK_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "wire/proto.h"

struct talk_step {
	bool server;
	struct buf bytes;
};

struct talk {
	struct talk_step *steps;
	size_t count, capacity;
	uint64_t caps; /* in force, for the helpers that need them */
	uint8_t seq;
};

static inline void talk_release(struct talk *t)
{
	for (size_t i = 0; i < t->count; i++)
		buf_release(&t->steps[i].bytes);
	free(t->steps);
	*t = (struct talk){.steps = NULL};
}

static inline void talk_add(
	struct talk *t, bool server, uint8_t seq, const void *payload, size_t len)
{
	const char *p = (const char *)payload;
	struct talk_step *step;

	MEM_RESERVE(t->steps, t->count + 1, t->capacity);
	step = &t->steps[t->count++];
	*step = (struct talk_step){server, BUF_INIT};
	t->seq = seq;
	for (;;) {
		size_t part = len < PROTO_PAYLOAD_MAX ? len : PROTO_PAYLOAD_MAX;
		unsigned char head[4] = {
			part & 0xff, (part >> 8) & 0xff, (unsigned char)(part >> 16), t->seq++};

		buf_add(&step->bytes, head, 4);
		buf_add(&step->bytes, p, part);
		p += part;
		len -= part;
		if (part < PROTO_PAYLOAD_MAX)
			return;
	}
}

/* A literal may hold NULs: its size counts. */
#define TALK_COMMAND(t, lit)  talk_add(t, false, 0, lit, sizeof(lit) - 1)
#define TALK_CONTINUE(t, lit) talk_add(t, false, (t)->seq, lit, sizeof(lit) - 1)
#define TALK_SERVER(t, lit)   talk_add(t, true, (t)->seq, lit, sizeof(lit) - 1)

static inline void talk_server_buf(struct talk *t, struct buf *b)
{
	talk_add(t, true, t->seq, b->data ? b->data : "", b->len);
	buf_release(b);
}

static inline void put_uint(struct buf *b, uint64_t value, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		buf_add_char(b, (char)(value >> (8 * i)));
}

static inline void put_lenenc_str(struct buf *b, const char *s)
{
	buf_add_char(b, (char)strlen(s)); /* short ones only */
	buf_add_str(b, s);
}

static inline void talk_greeting(struct talk *t, const char *version, uint64_t caps)
{
	struct buf b = BUF_INIT;

	t->seq = 0;
	buf_add_char(&b, 10);
	buf_add(&b, version, strlen(version) + 1);
	put_uint(&b, 7, 4);
	buf_add(&b, "12345678", 9);
	put_uint(&b, caps & 0xffff, 2);
	buf_add_char(&b, 45);
	put_uint(&b, STATUS_AUTOCOMMIT, 2);
	put_uint(&b, (caps >> 16) & 0xffff, 2);
	buf_add_char(&b, 21);
	buf_add(&b, "\0\0\0\0\0\0", 6);
	put_uint(&b, caps & CAP_MYSQL ? 0 : caps >> 32, 4);
	buf_add(&b, "901234567890", 13);
	buf_add(&b, "mysql_native_password", 22);
	talk_server_buf(t, &b);
}

static inline void talk_login(struct talk *t, uint64_t caps)
{
	struct buf b = BUF_INIT;

	put_uint(&b, caps & 0xffffffff, 4);
	put_uint(&b, 1 << 24, 4);
	buf_add_char(&b, 45);
	for (int i = 0; i < 19; i++)
		buf_add_char(&b, 0);
	put_uint(&b, caps & CAP_MYSQL ? 0 : caps >> 32, 4);
	buf_add(&b, "bob", 4);
	if (caps & CAP_SECURE_CONNECTION)
		put_lenenc_str(&b, "SECRETSECRETSECRET20");
	else
		buf_add(&b, "SECRETSECRETSECRET20", 21);
	if (caps & CAP_CONNECT_WITH_DB)
		buf_add(&b, "shop", 5);
	if (caps & CAP_PLUGIN_AUTH)
		buf_add(&b, "mysql_native_password", 22);
	if (caps & CAP_CONNECT_ATTRS)
		buf_add(&b,
			"\x0c\x04_pid\x02"
			"42\x01x\x01y",
			13);
	talk_add(t, false, t->seq, b.data, b.len);
	buf_release(&b);
}

/* The connection phase up to the final OK, without a dialogue in between. */
static inline void talk_connect(struct talk *t, uint64_t server_caps, uint64_t client_caps)
{
	t->caps = server_caps & client_caps;
	talk_greeting(t, server_caps & CAP_MYSQL ? "8.0.45" : "10.11.6-MariaDB", server_caps);
	talk_login(t, client_caps);
	TALK_SERVER(t, "\0\0\0\x02\0\0\0");
}

static inline void talk_ok(struct talk *t, unsigned status, unsigned affected)
{
	struct buf b = BUF_INIT;

	buf_add_char(&b, 0);
	buf_add_char(&b, (char)affected);
	buf_add_char(&b, 0);
	put_uint(&b, status, 2);
	put_uint(&b, 0, 2);
	talk_server_buf(t, &b);
}

/* The end of rows. */
static inline void talk_rows_end(struct talk *t, unsigned status)
{
	struct buf b = BUF_INIT;

	buf_add_char(&b, (char)0xfe);
	if (t->caps & CAP_DEPRECATE_EOF)
		put_uint(&b, 0, 2);
	else
		put_uint(&b, 0, 2);
	put_uint(&b, status, 2);
	if (t->caps & CAP_DEPRECATE_EOF)
		put_uint(&b, 0, 2);
	talk_server_buf(t, &b);
}

/* The EOF after definitions, where there is one. */
static inline void talk_definitions_end(struct talk *t, unsigned status)
{
	if (!(t->caps & CAP_DEPRECATE_EOF))
		talk_rows_end(t, status);
}

static inline void talk_column(struct talk *t, const char *name, unsigned type, unsigned flags)
{
	struct buf b = BUF_INIT;

	put_lenenc_str(&b, "def");
	put_lenenc_str(&b, "shop");
	put_lenenc_str(&b, "t");
	put_lenenc_str(&b, "t");
	put_lenenc_str(&b, name);
	put_lenenc_str(&b, name);
	if (t->caps & CAP_MARIADB_EXT_METADATA)
		put_lenenc_str(&b, "");
	buf_add_char(&b, 0x0c);
	put_uint(&b, type >= TYPE_VARCHAR ? 45 : 63, 2);
	put_uint(&b, 11, 4);
	put_uint(&b, type, 1);
	put_uint(&b, flags, 2);
	put_uint(&b, 0, 3);
	talk_server_buf(t, &b);
}

/* The column count packet, with the flag where the capabilities want it. */
static inline void talk_count(struct talk *t, unsigned count, bool metadata)
{
	struct buf b = BUF_INIT;

	if (t->caps & CAP_OPTIONAL_METADATA)
		buf_add_char(&b, metadata);
	buf_add_char(&b, (char)count);
	if (t->caps & CAP_MARIADB_CACHE_METADATA)
		buf_add_char(&b, metadata);
	talk_server_buf(t, &b);
}

static inline void talk_prepared(struct talk *t, uint32_t id, unsigned columns, unsigned params)
{
	struct buf b = BUF_INIT;

	buf_add_char(&b, 0);
	put_uint(&b, id, 4);
	put_uint(&b, columns, 2);
	put_uint(&b, params, 2);
	put_uint(&b, 0, 3);
	if (t->caps & CAP_OPTIONAL_METADATA)
		buf_add_char(&b, 1);
	talk_server_buf(t, &b);
}

#define TALK_CAPS                                                                                  \
	(CAP_PROTOCOL_41 | CAP_SECURE_CONNECTION | CAP_PLUGIN_AUTH | CAP_CONNECT_WITH_DB |         \
		CAP_CONNECT_ATTRS | CAP_TRANSACTIONS | CAP_MULTI_STATEMENTS | CAP_MULTI_RESULTS |  \
		CAP_PS_MULTI_RESULTS | CAP_LOCAL_FILES)

#endif
