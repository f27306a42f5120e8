/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server's answers, packet by packet: OK, EOF, ERR, column definitions, session state.  Pure
 * functions of the bytes; spans point into them.  False: the bytes are not what they should be.
 */
#ifndef WIRE_REPLY_H
#define WIRE_REPLY_H

#include "base/attr.h"
#include "base/buf.h"
#include "wire/cursor.h"
#include "wire/proto.h"

enum wire_reply_kind {
	REPLY_NONE, /* no answer: the command has none, or the connection ended before it */
	REPLY_OK,   /* 0x00, or 0xfe at the end of rows with DEPRECATE_EOF */
	REPLY_EOF,  /* the classic end of rows */
	REPLY_ERR,
	REPLY_PREPARED, /* the answer to PREPARE, complete with its definitions */
	REPLY_TEXT,     /* the bare string of STATISTICS */
	REPLY_UNREAD,   /* relayed without being understood */
};

struct wire_reply {
	enum wire_reply_kind kind;
	bool last; /* nothing more follows for this command */
	bool lost; /* NONE because the connection ended */
	uint64_t affected, insert_id;
	uint16_t status, warnings;
	bool has_status;
	struct span info;
	struct span state; /* session state items, for wire_track_next */
	uint16_t error;
	struct span sqlstate, message;
	/* REPLY_PREPARED */
	uint32_t statement_id;
	uint16_t columns, params;
};

bool wire_ok_parse(struct span payload, uint64_t caps, struct wire_reply *out) MUST_CHECK;
bool wire_eof_parse(struct span payload, struct wire_reply *out) MUST_CHECK;
bool wire_err_parse(struct span payload, struct wire_reply *out) MUST_CHECK;

/* MariaDB's progress report: an ERR with code 0xffff, not an end (protocol.md, "Progress
 * reporting"). */
static inline bool wire_is_progress(struct span payload)
{
	const unsigned char *p = (const unsigned char *)payload.ptr;

	return payload.len >= 3 && p[0] == 0xff && p[1] == 0xff && p[2] == 0xff;
}

struct wire_track {
	uint8_t type;            /* TRACK_* */
	struct span name, value; /* name: of variables only */
};

/* Takes one item; several variables of one item come one by one.  False at the end or on damage
 * (cursor->bad tells). `pending` starts empty and is the function's own. */
bool wire_track_next(struct cursor *state, struct cursor *pending, struct wire_track *out);

struct wire_column {
	/* Offsets of the names in the owner's text, length before: see wire_column_name. */
	uint32_t text; /* where the column's definition starts in wire_columns.text */
	uint32_t text_len;
	uint16_t charset, flags;
	uint32_t length;
	uint8_t type, decimals;
	bool json; /* MariaDB's extended metadata: format json */
};

struct wire_columns {
	struct wire_column *list;
	size_t count, capacity;
	struct buf text; /* the definitions as they came */
};

#define WIRE_COLUMNS_INIT ((struct wire_columns){NULL, 0, 0, BUF_INIT})

/* Appends a column from its definition packet. */
bool wire_columns_add(struct wire_columns *columns, struct span payload, uint64_t caps) MUST_CHECK;
void wire_columns_clear(struct wire_columns *columns);
void wire_columns_release(struct wire_columns *columns);

struct wire_column_names {
	struct span schema, table, table_original, name, name_original;
};
void wire_column_names(
	const struct wire_columns *columns, size_t index, struct wire_column_names *out);

/* One value of a binary row or of a parameter: its bytes after any length (a date's or string's
 * content).  False: a type we do not know, or cursor->bad. */
bool wire_binary_value(struct cursor *c, uint8_t type, struct span *out) MUST_CHECK;

#endif
