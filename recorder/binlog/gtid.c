/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of transactions.  MySQL: UUID:number, or UUID:tag:number since 8.3; MariaDB:
 * domain-server-number.
 */
#include "binlog/binlog_internal.h"

#include <inttypes.h>
#include <stdio.h>

enum { UUID_SIZE = 16, TAG_MAX = 32, SETS_MAX = 1 << 20 };

/* MariaDB's flags of a GTID event (sql/log_event.h). */
enum {
	GTID_STANDALONE = 1,
	GTID_GROUP_COMMIT = 2,
	GTID_DDL = 32,
	GTID_PREPARED_XA = 64,
	GTID_COMPLETED_XA = 128,
};

static void print_uuid(char *out, struct span uuid)
{
	static const char hex[] = "0123456789abcdef";
	char *p = out;

	for (unsigned i = 0; i < UUID_SIZE; i++) {
		unsigned char byte = (unsigned char)uuid.ptr[i];

		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = hex[byte >> 4];
		*p++ = hex[byte & 15];
	}
	*p = '\0';
}

static void print_gtid(struct binlog_gtid *out, struct span uuid, struct span tag, uint64_t number)
{
	char name[40];

	print_uuid(name, uuid);
	if (tag.len)
		(void)snprintf(out->text, sizeof(out->text), "%s:%.*s:%" PRIu64, name,
			SPAN_ARG(tag), number);
	else
		(void)snprintf(out->text, sizeof(out->text), "%s:%" PRIu64, name, number);
}

/* Flags, UUID, number; then, where the byte 2 says so, the logical clock; then seven bytes of the
 * time of the commit, whose highest bit says that another time follows. */
bool gtid_read_mysql(struct span body, bool anonymous, struct binlog_gtid *out)
{
	struct cursor c = cursor_over(body);
	struct span uuid;
	uint64_t number;

	(void)cursor_uint(&c, 1);
	uuid = cursor_take(&c, UUID_SIZE);
	number = cursor_uint(&c, 8);
	if (c.bad)
		return false;
	if (!anonymous)
		print_gtid(out, uuid, SPAN_LIT(""), number);
	if (cursor_left(&c) < 1 || cursor_uint(&c, 1) != 2)
		return true;
	out->last_committed = cursor_uint(&c, 8);
	out->sequence_number = cursor_uint(&c, 8);
	if (c.bad)
		return false;
	if (cursor_left(&c) >= 7)
		out->commit_us = cursor_uint(&c, 7) & ((UINT64_C(1) << 55) - 1);
	return true;
}

/* ---- MySQL's serialization library, of which the tagged event is the only message ---- */

/* An unsigned number: the lowest bits that are one count the bytes that follow. */
static uint64_t serial_uint(struct cursor *c)
{
	unsigned first = (unsigned)cursor_uint(c, 1), more = 0;
	uint64_t value;

	while (more < 8 && first >> more & 1)
		more++;
	value = more < 7 ? first >> (more + 1) : 0;
	if (!more)
		return value;
	/* With seven or eight bytes more, the first byte has no bits of the value. */
	return cursor_uint(c, more) << (more < 7 ? 7 - more : 0) | value;
}

/* The same with the sign as the lowest bit. */
static int64_t serial_int(struct cursor *c)
{
	uint64_t value = serial_uint(c);

	return (value & 1) ? (int64_t)(~(value >> 1)) : (int64_t)(value >> 1);
}

enum tagged_field {
	TAGGED_FLAGS = 0,
	TAGGED_UUID = 1,
	TAGGED_NUMBER = 2,
	TAGGED_TAG = 3,
	TAGGED_LAST_COMMITTED = 4,
	TAGGED_SEQUENCE = 5,
	TAGGED_COMMIT_US = 6,
};

bool gtid_read_tagged(struct span body, struct binlog_gtid *out)
{
	struct cursor c = cursor_over(body);
	unsigned char uuid[UUID_SIZE] = {0};
	struct span tag = SPAN_LIT("");
	uint64_t size, number = 0, len;
	bool named = false;

	(void)serial_uint(&c); /* version of the format */
	size = serial_uint(&c);
	(void)serial_uint(&c); /* last field that must be known */
	if (c.bad || size > body.len)
		return false;
	while (cursor_left(&c) && !c.bad) {
		uint64_t field = serial_uint(&c);

		switch (field) {
		case TAGGED_FLAGS:
			(void)cursor_uint(&c, 1);
			break;
		case TAGGED_UUID:
			for (unsigned i = 0; i < UUID_SIZE; i++)
				uuid[i] = (unsigned char)serial_uint(&c);
			named = true;
			break;
		case TAGGED_NUMBER:
			number = (uint64_t)serial_int(&c);
			break;
		case TAGGED_TAG:
			len = serial_uint(&c);
			if (len > TAG_MAX)
				return false;
			tag = cursor_take(&c, len);
			break;
		case TAGGED_LAST_COMMITTED:
			out->last_committed = (uint64_t)serial_int(&c);
			break;
		case TAGGED_SEQUENCE:
			out->sequence_number = (uint64_t)serial_int(&c);
			break;
		case TAGGED_COMMIT_US:
			out->commit_us = serial_uint(&c);
			break;
		default:
			/* Fields come in order; none that follows is of use here. */
			c.p = c.end;
			break;
		}
	}
	if (c.bad || !named)
		return false;
	print_gtid(out, span_of(uuid, UUID_SIZE), tag, number);
	return true;
}

bool gtid_read_mariadb(struct span body, uint32_t server_id, struct binlog_gtid *out)
{
	struct cursor c = cursor_over(body);
	uint64_t number = cursor_uint(&c, 8);
	uint32_t domain = (uint32_t)cursor_uint(&c, 4);
	unsigned flags = (unsigned)cursor_uint(&c, 1);

	if (flags & GTID_GROUP_COMMIT)
		out->group_commit = cursor_uint(&c, 8);
	out->standalone = flags & GTID_STANDALONE;
	out->ddl = flags & GTID_DDL;
	out->prepares_xa = flags & GTID_PREPARED_XA;
	out->completes_xa = flags & GTID_COMPLETED_XA;
	(void)snprintf(out->text, sizeof(out->text), "%" PRIu32 "-%" PRIu32 "-%" PRIu64, domain,
		server_id, number);
	return !c.bad;
}

bool gtid_print_mariadb_list(struct span body, struct buf *out)
{
	struct cursor c = cursor_over(body);
	uint32_t count = (uint32_t)cursor_uint(&c, 4) & 0x0fffffff;

	for (uint32_t i = 0; i < count && !c.bad; i++) {
		uint32_t domain = (uint32_t)cursor_uint(&c, 4),
			 server = (uint32_t)cursor_uint(&c, 4);
		uint64_t number = cursor_uint(&c, 8);

		if (!c.bad)
			buf_printf(out, "%s%" PRIu32 "-%" PRIu32 "-%" PRIu64, i ? "," : "", domain,
				server, number);
	}
	return !c.bad;
}

/* Since 8.3 the first eight bytes are 01, the number of UUIDs with tags in six bytes, and 01 again,
 * and each UUID has a tag. */
bool gtid_print_mysql_set(struct span body, struct buf *out)
{
	struct cursor c = cursor_over(body);
	uint64_t count = cursor_uint(&c, 8);
	bool tagged = count >> 56 == 1;
	char last[40] = "";

	if (tagged)
		count = count >> 8 & ((UINT64_C(1) << 48) - 1);
	for (uint64_t i = 0; i < count && !c.bad; i++) {
		struct span uuid = cursor_take(&c, UUID_SIZE), tag = SPAN_LIT("");
		uint64_t intervals;
		char name[40];

		if (c.bad)
			break;
		print_uuid(name, uuid);
		if (tagged) {
			uint64_t len = serial_uint(&c);

			tag = cursor_take(&c, len > TAG_MAX ? UINT64_MAX : len);
		}
		if (strcmp(name, last) != 0)
			buf_printf(out, "%s%s", i ? "," : "", name);
		memcpy(last, name, sizeof(last));
		if (tag.len)
			buf_printf(out, ":%.*s", SPAN_ARG(tag));
		intervals = cursor_uint(&c, 8);
		for (uint64_t k = 0; k < intervals && !c.bad; k++) {
			uint64_t from = cursor_uint(&c, 8), to = cursor_uint(&c, 8);

			if (c.bad || to <= from)
				return false;
			buf_printf(out, to - from > 1 ? ":%" PRIu64 "-%" PRIu64 : ":%" PRIu64, from,
				to - 1);
		}
	}
	return !c.bad;
}
