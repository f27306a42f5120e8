/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the decoder share. */
#ifndef BINLOG_BINLOG_INTERNAL_H
#define BINLOG_BINLOG_INTERNAL_H

#include "base/arena.h"
#include "binlog/binlog.h"
#include "binlog/charset.h"
#include "wire/cursor.h"

/* Kinds of events (MySQL: libs/mysql/binlog/event; MariaDB: "Binlog Event Header"). */
enum binlog_event_type {
	EVENT_QUERY = 2,
	EVENT_STOP = 3,
	EVENT_ROTATE = 4,
	EVENT_INTVAR = 5,
	EVENT_RAND = 13,
	EVENT_USER_VAR = 14,
	EVENT_FORMAT_DESCRIPTION = 15,
	EVENT_XID = 16,
	EVENT_BEGIN_LOAD_QUERY = 17,
	EVENT_EXECUTE_LOAD_QUERY = 18,
	EVENT_TABLE_MAP = 19,
	EVENT_WRITE_ROWS_V1 = 23,
	EVENT_UPDATE_ROWS_V1 = 24,
	EVENT_DELETE_ROWS_V1 = 25,
	EVENT_INCIDENT = 26,
	EVENT_HEARTBEAT = 27,
	EVENT_ROWS_QUERY = 29,
	EVENT_WRITE_ROWS = 30,
	EVENT_UPDATE_ROWS = 31,
	EVENT_DELETE_ROWS = 32,
	EVENT_GTID = 33,
	EVENT_ANONYMOUS_GTID = 34,
	EVENT_PREVIOUS_GTIDS = 35,
	EVENT_XA_PREPARE = 38,
	EVENT_PARTIAL_UPDATE_ROWS = 39,
	EVENT_TRANSACTION_PAYLOAD = 40,
	EVENT_HEARTBEAT_V2 = 41,
	EVENT_GTID_TAGGED = 42,
	EVENT_ANNOTATE_ROWS = 160,
	EVENT_BINLOG_CHECKPOINT = 161,
	EVENT_MARIADB_GTID = 162,
	EVENT_MARIADB_GTID_LIST = 163,
	EVENT_START_ENCRYPTION = 164,
	EVENT_QUERY_COMPRESSED = 165,
	EVENT_WRITE_ROWS_COMPRESSED_V1 = 166,
	EVENT_UPDATE_ROWS_COMPRESSED_V1 = 167,
	EVENT_DELETE_ROWS_COMPRESSED_V1 = 168,
	EVENT_WRITE_ROWS_COMPRESSED = 169,
	EVENT_UPDATE_ROWS_COMPRESSED = 170,
	EVENT_DELETE_ROWS_COMPRESSED = 171,
	EVENT_TYPES = 256,
};

/* Flags of a header. */
enum {
	EVENT_FLAG_IN_USE = 1, /* of a FORMAT_DESCRIPTION: its file was not closed */
	EVENT_FLAG_ARTIFICIAL = 0x20,
	EVENT_FLAG_IGNORABLE = 0x80,
};

enum { CHECKSUM_SIZE = 4 };

/* A table as its last map told it. */
struct table_map {
	struct binlog_table table;
	struct buf raw; /* the event's body: the same bytes mean the same table */
	struct arena arena;
};

struct binlog {
	const struct binlog_sink *sink;
	void *ctx;
	struct binlog_options options;
	bool format_known;
	bool checksum; /* events end with a CRC-32 */
	bool mariadb;
	uint8_t post_head[EVENT_TYPES]; /* lengths of the fixed parts */
	struct table_map **tables;
	size_t table_count, table_capacity;
	struct buf before, after; /* images of the current row */
	struct buf inflated;
	struct buf scratch, text;
	int nesting; /* in a TRANSACTION_PAYLOAD */
	struct iconv_cache *charsets;
};

/* The error of an event that does not fit its lengths. */
bool event_damaged(const struct binlog_head *head, const char *what, struct err *err);

/* ---- gtid.c ---- */

bool gtid_read_mysql(struct span body, bool anonymous, struct binlog_gtid *out) MUST_CHECK;
bool gtid_read_tagged(struct span body, struct binlog_gtid *out) MUST_CHECK;
bool gtid_read_mariadb(struct span body, uint32_t server_id, struct binlog_gtid *out) MUST_CHECK;
/* Append them as the server prints them. */
bool gtid_print_mariadb_list(struct span body, struct buf *out) MUST_CHECK;
bool gtid_print_mysql_set(struct span body, struct buf *out) MUST_CHECK;

/* ---- table_map.c ---- */

bool table_map_take(struct binlog *b, const struct binlog_head *head, struct span body,
	struct err *err) MUST_CHECK;
struct binlog_table *table_map_find(struct binlog *b, uint64_t id);
void table_maps_forget(struct binlog *b);

/* ---- rows.c ---- */

bool rows_take(struct binlog *b, const struct binlog_head *head, struct span body,
	struct err *err) MUST_CHECK;

/* ---- row_value.c ---- */

/* Takes one value from the row and appends it.  False: the bytes do not fit the column. */
bool row_value_take(struct binlog *b, const struct binlog_table *table,
	const struct binlog_column *column, struct cursor *c, struct buf *out) MUST_CHECK;
/* Is there anything about this column that keeps its values from being decoded?  NULL: no. */
const char *row_value_refuses(const struct binlog_column *column);

/* Takes a DECIMAL and appends it as the server prints it. */
bool binary_decimal_print(
	unsigned precision, unsigned scale, struct cursor *c, struct buf *out) MUST_CHECK;

/* ---- json_binary.c ---- */

/* Appends the document as the server prints it. */
bool json_binary_print(struct span binary, struct buf *out) MUST_CHECK;
/* Applies the differences of a partial update to the text of the document before. */
bool json_binary_patch(struct span before_text, struct span diffs, struct buf *out) MUST_CHECK;

/* ---- charset.c ---- */

/* Appends the text as UTF-8.  False: that character set is not known, or the bytes are none of it.
 */
bool charset_to_utf8(
	struct binlog *b, uint16_t collation, struct span text, struct buf *out) MUST_CHECK;
bool charset_is_utf8(uint16_t collation);
void charset_release(struct binlog *b);

/* ---- inflate.c ---- */

/* MariaDB's compressed events: a byte of sizes, the length, a zlib stream.  The result is in
 * b->inflated. */
bool inflate_event(struct binlog *b, struct span in, struct span *out) MUST_CHECK;
/* MariaDB's compressed columns. */
bool inflate_column(struct span in, struct buf *out) MUST_CHECK;

#endif
