/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events: header, checksum, and what each kind holds but rows. */
#include "binlog/binlog_internal.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

enum {
	FORMAT_VERSION_SIZE = 50,
	FORMAT_FIXED = 2 + FORMAT_VERSION_SIZE + 4 + 1,
	QUERY_FIXED = 4 + 4 + 1 + 2,
	/* A payload's events are decompressed piece by piece; one of them is never larger than
	   this. */
	PAYLOAD_PIECE = 256 * 1024,
	NESTING_MAX = 1,
	XID_PART_MAX = 64,
};

enum { PAYLOAD_END = 0, PAYLOAD_SIZE = 1, PAYLOAD_COMPRESSION = 2, PAYLOAD_UNCOMPRESSED = 3 };
enum { PAYLOAD_ZSTD = 0, PAYLOAD_NONE = 255 };

bool event_damaged(const struct binlog_head *head, const char *what, struct err *err)
{
	return err_set(
		err, ERR_FORMAT, "event of type %u, %u bytes: %s", head->type, head->size, what);
}

struct binlog *binlog_new(
	const struct binlog_sink *sink, void *ctx, const struct binlog_options *options)
{
	struct binlog *b = mem_zero(1, sizeof(*b));

	b->sink = sink;
	b->ctx = ctx;
	b->options = *options;
	return b;
}

void binlog_reset(struct binlog *b)
{
	b->format_known = b->checksum = b->mariadb = false;
	memset(b->post_head, 0, sizeof(b->post_head));
	table_maps_forget(b);
}

void binlog_free(struct binlog *b)
{
	if (!b)
		return;
	table_maps_forget(b);
	charset_release(b);
	mem_free(b->tables);
	buf_release(&b->before);
	buf_release(&b->after);
	buf_release(&b->inflated);
	buf_release(&b->scratch);
	buf_release(&b->text);
	mem_free(b);
}

bool binlog_magic(struct span head, struct err *err)
{
	if (head.len >= BINLOG_MAGIC_SIZE && !memcmp(head.ptr,
						     "\xfe"
						     "bin",
						     BINLOG_MAGIC_SIZE))
		return true;
	if (head.len >= BINLOG_MAGIC_SIZE && !memcmp(head.ptr,
						     "\xfd"
						     "bin",
						     BINLOG_MAGIC_SIZE))
		return err_set(err, ERR_UNSUPPORTED,
			"the server encrypted this binary log; read it from the server instead");
	return err_set(err, ERR_FOREIGN, "no binary log: it does not begin with FE 62 69 6E");
}

static struct binlog_head head_of(struct span event)
{
	struct cursor c = cursor_over(event);
	struct binlog_head head;

	head.time = (uint32_t)cursor_uint(&c, 4);
	head.type = (uint8_t)cursor_uint(&c, 1);
	head.server_id = (uint32_t)cursor_uint(&c, 4);
	head.size = (uint32_t)cursor_uint(&c, 4);
	head.next = cursor_uint(&c, 4);
	head.flags = (uint16_t)cursor_uint(&c, 2);
	return head;
}

uint32_t binlog_event_size(struct span head)
{
	struct cursor c = cursor_over(head);
	uint32_t size;

	(void)cursor_take(&c, 9);
	size = (uint32_t)cursor_uint(&c, 4);
	return !c.bad && size >= BINLOG_HEAD_SIZE && size <= BINLOG_EVENT_MAX ? size : 0;
}

/* ---- checksums ---- */

static bool checksum_fits(struct span event, const struct binlog_head *head)
{
	uint32_t crc, stored = 0;
	size_t len = event.len - CHECKSUM_SIZE;
	unsigned char start[BINLOG_HEAD_SIZE];

	for (unsigned i = 0; i < CHECKSUM_SIZE; i++)
		stored |= (uint32_t)(unsigned char)event.ptr[len + i] << (8 * i);
	memcpy(start, event.ptr, sizeof(start));
	/* The flag was cleared when the sum was taken. */
	if (head->type == EVENT_FORMAT_DESCRIPTION)
		start[17] &= (unsigned char)~EVENT_FLAG_IN_USE;
	crc = (uint32_t)crc32(0, start, sizeof(start));
	crc = (uint32_t)crc32(
		crc, (const Bytef *)event.ptr + sizeof(start), (uInt)(len - sizeof(start)));
	return crc == stored;
}

/* Takes the checksum off the body, and verifies it. */
static bool take_checksum(struct binlog *b, struct span event, const struct binlog_head *head,
	struct span *body, struct err *err)
{
	bool room = event.len >= BINLOG_HEAD_SIZE + CHECKSUM_SIZE;

	*body = span_of(event.ptr + BINLOG_HEAD_SIZE, event.len - BINLOG_HEAD_SIZE);
	/* Events of a payload have none.  Before the format is known there is only a ROTATE, and
	 * whether it has one is what was agreed when the reader connected. */
	if (b->nesting || head->type == EVENT_FORMAT_DESCRIPTION)
		return true;
	if (!b->format_known) {
		if (room && checksum_fits(event, head))
			body->len -= CHECKSUM_SIZE;
		return true;
	}
	if (!b->checksum)
		return true;
	if (!room || (!b->options.trust_checksums && !checksum_fits(event, head)))
		return event_damaged(head, "its checksum does not fit", err);
	body->len -= CHECKSUM_SIZE;
	return true;
}

/* ---- single kinds ---- */

static bool take_format(struct binlog *b, const struct binlog_head *head, struct span event,
	struct span body, struct err *err)
{
	struct cursor c = cursor_over(body);
	unsigned version = (unsigned)cursor_uint(&c, 2), head_size;
	struct span name = cursor_take(&c, FORMAT_VERSION_SIZE);
	size_t lengths;

	(void)cursor_uint(&c, 4);
	head_size = (unsigned)cursor_uint(&c, 1);
	if (c.bad || head_size != BINLOG_HEAD_SIZE)
		return event_damaged(head, "no format description", err);
	if (version != 4)
		return err_set(
			err, ERR_UNSUPPORTED, "binary log of version %u; 4 is supported", version);
	name.len = strnlen(name.ptr, name.len);
	b->mariadb = span_ihas(name, "mariadb");
	/* Servers since MySQL 5.6 and MariaDB 5.3 end it with the algorithm and a checksum of four
	 * bytes, which are there whatever the algorithm. */
	if (cursor_left(&c) < 1 + CHECKSUM_SIZE + EVENT_XA_PREPARE - 11)
		return err_set(err, ERR_UNSUPPORTED, "binary log of %.*s: too old", SPAN_ARG(name));
	lengths = cursor_left(&c) - 1 - CHECKSUM_SIZE;
	memset(b->post_head, 0, sizeof(b->post_head));
	for (size_t i = 0; i < lengths && i + 1 < EVENT_TYPES; i++)
		b->post_head[i + 1] = c.p[i];
	if (c.p[lengths] > 1)
		return err_set(
			err, ERR_UNSUPPORTED, "binary log with checksums of kind %u", c.p[lengths]);
	b->checksum = c.p[lengths] == 1;
	if (b->checksum && !b->options.trust_checksums && !checksum_fits(event, head))
		return event_damaged(head, "its checksum does not fit", err);
	b->format_known = true;
	table_maps_forget(b);
	if (b->sink->format)
		b->sink->format(b->ctx, head, name);
	return true;
}

static bool take_rotate(
	struct binlog *b, const struct binlog_head *head, struct span body, struct err *err)
{
	struct cursor c = cursor_over(body);
	uint64_t position = cursor_uint(&c, 8);

	if (c.bad)
		return event_damaged(head, "no position", err);
	if (b->sink->rotate)
		b->sink->rotate(b->ctx, head, cursor_rest(&c), position);
	return true;
}

static bool take_query(
	struct binlog *b, const struct binlog_head *head, struct span body, struct err *err)
{
	struct cursor c = cursor_over(body);
	struct binlog_query query;
	unsigned database_len, variables_len, fixed = b->post_head[EVENT_QUERY];
	struct span text;

	query.thread = (uint32_t)cursor_uint(&c, 4);
	(void)cursor_uint(&c, 4);
	database_len = (unsigned)cursor_uint(&c, 1);
	query.error = (uint16_t)cursor_uint(&c, 2);
	variables_len = (unsigned)cursor_uint(&c, 2);
	if (fixed > QUERY_FIXED + 2)
		(void)cursor_take(&c, fixed - QUERY_FIXED - 2);
	(void)cursor_take(&c, variables_len);
	query.database = cursor_take(&c, database_len);
	(void)cursor_uint(&c, 1);
	if (c.bad)
		return event_damaged(head, "no statement", err);
	text = cursor_rest(&c);
	if (head->type == EVENT_QUERY_COMPRESSED && !inflate_event(b, text, &text))
		return event_damaged(head, "it cannot be decompressed", err);
	query.text = text;
	/* A definition may have changed: the next map is looked at as a new one. */
	if (!span_ieq_str(text, "begin") && !span_ieq_str(text, "commit") &&
		!span_istarts(text, "savepoint") && !span_istarts(text, "xa "))
		table_maps_forget(b);
	if (b->sink->query)
		b->sink->query(b->ctx, head, &query);
	return true;
}

static bool take_gtid(
	struct binlog *b, const struct binlog_head *head, struct span body, struct err *err)
{
	struct binlog_gtid gtid = {.standalone = false};
	bool good;

	if (head->type == EVENT_MARIADB_GTID)
		good = gtid_read_mariadb(body, head->server_id, &gtid);
	else if (head->type == EVENT_GTID_TAGGED)
		good = gtid_read_tagged(body, &gtid);
	else
		good = gtid_read_mysql(body, head->type == EVENT_ANONYMOUS_GTID, &gtid);
	if (!good)
		return event_damaged(head, "no GTID", err);
	if (b->sink->begin)
		b->sink->begin(b->ctx, head, &gtid);
	return true;
}

/* Of an XID: its number in hexadecimal as XA takes it. */
static void print_xid(struct buf *out, struct span gtrid, struct span bqual, int32_t format)
{
	struct span parts[] = {gtrid, bqual};

	for (unsigned k = 0; k < 2; k++) {
		buf_add_str(out, k ? ",X'" : "X'");
		for (size_t i = 0; i < parts[k].len; i++)
			buf_printf(out, "%02x", (unsigned char)parts[k].ptr[i]);
		buf_add_char(out, '\'');
	}
	buf_printf(out, ",%d", (int)format);
}

static bool take_prepare(
	struct binlog *b, const struct binlog_head *head, struct span body, struct err *err)
{
	struct cursor c = cursor_over(body);
	bool one_phase = cursor_uint(&c, 1) != 0;
	int32_t format = (int32_t)cursor_uint(&c, 4);
	uint32_t gtrid_len = (uint32_t)cursor_uint(&c, 4), bqual_len = (uint32_t)cursor_uint(&c, 4);
	struct span gtrid = cursor_take(&c, gtrid_len), bqual = cursor_take(&c, bqual_len);

	if (c.bad || gtrid_len > XID_PART_MAX || bqual_len > XID_PART_MAX)
		return event_damaged(head, "no name of a transaction", err);
	buf_clear(&b->text);
	print_xid(&b->text, gtrid, bqual, format);
	if (b->sink->prepare)
		b->sink->prepare(b->ctx, head, one_phase, buf_span(&b->text));
	return true;
}

static bool take_before_file(
	struct binlog *b, const struct binlog_head *head, struct span body, struct err *err)
{
	buf_clear(&b->text);
	if (!(head->type == EVENT_PREVIOUS_GTIDS ? gtid_print_mysql_set(body, &b->text)
						 : gtid_print_mariadb_list(body, &b->text)))
		return event_damaged(head, "no list of GTIDs", err);
	if (b->sink->before_file)
		b->sink->before_file(b->ctx, head, buf_span(&b->text));
	return true;
}

static bool take_incident(
	struct binlog *b, const struct binlog_head *head, struct span body, struct err *err)
{
	struct cursor c = cursor_over(body);
	unsigned number = (unsigned)cursor_uint(&c, 2);
	unsigned len = (unsigned)cursor_uint(&c, 1);
	struct span text = cursor_take(&c, len);

	if (c.bad)
		return event_damaged(head, "no text", err);
	if (b->sink->incident)
		b->sink->incident(b->ctx, head, number, text);
	return true;
}

/* ROWS_QUERY has a length of one byte before the text, which is wrong for long ones. */
static void take_text(struct binlog *b, const struct binlog_head *head, struct span body)
{
	if (head->type == EVENT_ROWS_QUERY && body.len)
		body = span_of(body.ptr + 1, body.len - 1);
	if (b->sink->text)
		b->sink->text(b->ctx, head, body);
}

/* ---- compressed transactions ---- */

/* Takes whole events from the front of what was decompressed. */
static bool take_nested(struct binlog *b, struct buf *plain, struct err *err)
{
	size_t used = 0;

	while (plain->len - used >= BINLOG_HEAD_SIZE) {
		struct span rest = span_of(plain->data + used, plain->len - used);
		uint32_t size = binlog_event_size(rest);

		if (!size)
			return err_set(err, ERR_FORMAT, "a compressed transaction holds no events");
		if (size > rest.len)
			break;
		if (!binlog_event(b, span_of(rest.ptr, size), err))
			return false;
		used += size;
	}
	memmove(plain->data ? plain->data : "", plain->data ? plain->data + used : "",
		plain->len - used);
	plain->len -= used;
	return true;
}

static bool inflate_payload(struct binlog *b, const struct binlog_head *head, struct span in,
	struct buf *plain, struct err *err)
{
	ZSTD_DStream *stream = mem_must(ZSTD_createDStream());
	ZSTD_inBuffer from = {in.ptr, in.len, 0};
	bool good = true;
	size_t left = 1;

	while (good && (from.pos < from.size || left)) {
		ZSTD_outBuffer to = {buf_reserve(plain, PAYLOAD_PIECE), PAYLOAD_PIECE, 0};
		size_t before = from.pos;

		left = ZSTD_decompressStream(stream, &to, &from);
		plain->len += to.pos;
		if (ZSTD_isError(left) || (left && from.pos == before && !to.pos))
			good = event_damaged(head, "it cannot be decompressed", err);
		else
			good = take_nested(b, plain, err);
		if (from.pos == from.size && !to.pos)
			break;
	}
	ZSTD_freeDStream(stream);
	if (good && left)
		return event_damaged(head, "its compressed part is cut off", err);
	return good;
}

static bool take_payload(
	struct binlog *b, const struct binlog_head *head, struct span body, struct err *err)
{
	struct cursor c = cursor_over(body);
	uint64_t compression = PAYLOAD_ZSTD, size = UINT64_MAX;
	struct buf plain = BUF_INIT;
	struct span payload;
	bool good;

	if (b->nesting >= NESTING_MAX)
		return event_damaged(head, "a compressed transaction in another one", err);
	for (;;) {
		uint64_t field = cursor_lenenc(&c), len;
		struct cursor value;

		if (c.bad || field == PAYLOAD_END)
			break;
		len = cursor_lenenc(&c);
		value = cursor_over(cursor_take(&c, len));
		if (field == PAYLOAD_SIZE)
			size = cursor_lenenc(&value);
		else if (field == PAYLOAD_COMPRESSION)
			compression = cursor_lenenc(&value);
		c.bad |= value.bad;
	}
	payload = cursor_rest(&c);
	if (c.bad || (size != UINT64_MAX && size != payload.len))
		return event_damaged(head, "its parts do not fit its length", err);
	b->nesting++;
	if (compression == PAYLOAD_ZSTD) {
		good = inflate_payload(b, head, payload, &plain, err);
	} else if (compression == PAYLOAD_NONE) {
		buf_add_span(&plain, payload);
		good = take_nested(b, &plain, err);
	} else {
		good = err_set(err, ERR_UNSUPPORTED,
			"a transaction compressed in an unknown way (%llu)",
			(unsigned long long)compression);
	}
	if (good && plain.len)
		good = event_damaged(head, "its last event is cut off", err);
	b->nesting--;
	buf_release(&plain);
	return good;
}

/* ---- all ---- */

bool binlog_event(struct binlog *b, struct span event, struct err *err)
{
	struct binlog_head head = {.type = 0};
	struct span body;

	if (event.len < BINLOG_HEAD_SIZE)
		return err_set(err, ERR_FORMAT, "an event of %zu bytes", event.len);
	head = head_of(event);
	if (head.size != event.len)
		return event_damaged(&head, "it is not as long as it says", err);
	if (!b->format_known && head.type != EVENT_FORMAT_DESCRIPTION &&
		head.type != EVENT_ROTATE && head.type != EVENT_HEARTBEAT &&
		head.type != EVENT_HEARTBEAT_V2)
		return event_damaged(&head, "it comes before the format's description", err);
	if (!take_checksum(b, event, &head, &body, err))
		return false;
	switch (head.type) {
	case EVENT_FORMAT_DESCRIPTION:
		return take_format(b, &head, event, body, err);
	case EVENT_ROTATE:
		return take_rotate(b, &head, body, err);
	case EVENT_QUERY:
	case EVENT_QUERY_COMPRESSED:
		return take_query(b, &head, body, err);
	case EVENT_XID:
		if (body.len < 8)
			return event_damaged(&head, "no number", err);
		if (b->sink->commit) {
			struct cursor c = cursor_over(body);

			b->sink->commit(b->ctx, &head, cursor_uint(&c, 8));
		}
		return true;
	case EVENT_XA_PREPARE:
		return take_prepare(b, &head, body, err);
	case EVENT_GTID:
	case EVENT_ANONYMOUS_GTID:
	case EVENT_GTID_TAGGED:
	case EVENT_MARIADB_GTID:
		return take_gtid(b, &head, body, err);
	case EVENT_PREVIOUS_GTIDS:
	case EVENT_MARIADB_GTID_LIST:
		return take_before_file(b, &head, body, err);
	case EVENT_TABLE_MAP:
		return table_map_take(b, &head, body, err);
	case EVENT_WRITE_ROWS_V1:
	case EVENT_UPDATE_ROWS_V1:
	case EVENT_DELETE_ROWS_V1:
	case EVENT_WRITE_ROWS:
	case EVENT_UPDATE_ROWS:
	case EVENT_DELETE_ROWS:
	case EVENT_PARTIAL_UPDATE_ROWS:
	case EVENT_WRITE_ROWS_COMPRESSED_V1:
	case EVENT_UPDATE_ROWS_COMPRESSED_V1:
	case EVENT_DELETE_ROWS_COMPRESSED_V1:
	case EVENT_WRITE_ROWS_COMPRESSED:
	case EVENT_UPDATE_ROWS_COMPRESSED:
	case EVENT_DELETE_ROWS_COMPRESSED:
		return rows_take(b, &head, body, err);
	case EVENT_TRANSACTION_PAYLOAD:
		return take_payload(b, &head, body, err);
	case EVENT_ANNOTATE_ROWS:
	case EVENT_ROWS_QUERY:
		take_text(b, &head, body);
		return true;
	case EVENT_HEARTBEAT:
	case EVENT_HEARTBEAT_V2:
		if (b->sink->heartbeat)
			b->sink->heartbeat(b->ctx, &head);
		return true;
	case EVENT_INCIDENT:
		return take_incident(b, &head, body, err);
	case EVENT_START_ENCRYPTION:
		return err_set(err, ERR_UNSUPPORTED,
			"the server encrypted this binary log; read it from the server instead");
	/* Beside a statement's text, for its execution. */
	case EVENT_STOP:
	case EVENT_INTVAR:
	case EVENT_RAND:
	case EVENT_USER_VAR:
	case EVENT_BEGIN_LOAD_QUERY:
	case EVENT_EXECUTE_LOAD_QUERY:
	case EVENT_BINLOG_CHECKPOINT:
		return true;
	default:
		/* An event that may be skipped says so (MySQL: LOG_EVENT_IGNORABLE_F). */
		if (head.flags & EVENT_FLAG_IGNORABLE)
			return true;
		return err_set(
			err, ERR_UNSUPPORTED, "an event of type %u, which is not known", head.type);
	}
}
