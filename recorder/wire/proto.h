/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of the MySQL client/server protocol and of MariaDB's additions.  Sources: the MySQL
 * internals documentation ("Client/Server Protocol") and MariaDB's "Clients & Utilities: Protocol".
 */
#ifndef WIRE_PROTO_H
#define WIRE_PROTO_H

#include <stdint.h>

#include "server/commands.h"
#include "trace/record.h" /* enum server_status */

enum {
	PROTO_HEAD_SIZE = 4,
	PROTO_PAYLOAD_MAX = 0xffffff, /* a packet of this length is continued by the next one */
};

/* Capability flags.  The upper 32 bits are MariaDB's extended ones. */
#define CAP_MYSQL                     (UINT64_C(1) << 0) /* clear: MariaDB, extended flags are valid */
#define CAP_FOUND_ROWS                (UINT64_C(1) << 1) /* affected rows of UPDATE: found, not changed */
#define CAP_CONNECT_WITH_DB           (UINT64_C(1) << 3)
#define CAP_COMPRESS                  (UINT64_C(1) << 5)
#define CAP_LOCAL_FILES               (UINT64_C(1) << 7)
#define CAP_PROTOCOL_41               (UINT64_C(1) << 9)
#define CAP_SSL                       (UINT64_C(1) << 11)
#define CAP_TRANSACTIONS              (UINT64_C(1) << 13)
#define CAP_SECURE_CONNECTION         (UINT64_C(1) << 15)
#define CAP_MULTI_STATEMENTS          (UINT64_C(1) << 16)
#define CAP_MULTI_RESULTS             (UINT64_C(1) << 17)
#define CAP_PS_MULTI_RESULTS          (UINT64_C(1) << 18)
#define CAP_PLUGIN_AUTH               (UINT64_C(1) << 19)
#define CAP_CONNECT_ATTRS             (UINT64_C(1) << 20)
#define CAP_PLUGIN_AUTH_LENENC        (UINT64_C(1) << 21)
#define CAP_SESSION_TRACK             (UINT64_C(1) << 23)
#define CAP_DEPRECATE_EOF             (UINT64_C(1) << 24)
#define CAP_OPTIONAL_METADATA         (UINT64_C(1) << 25)
#define CAP_ZSTD                      (UINT64_C(1) << 26)
#define CAP_QUERY_ATTRIBUTES          (UINT64_C(1) << 27)
#define CAP_MARIADB_PROGRESS          (UINT64_C(1) << 32)
#define CAP_MARIADB_BULK              (UINT64_C(1) << 34)
#define CAP_MARIADB_EXT_METADATA      (UINT64_C(1) << 35)
#define CAP_MARIADB_CACHE_METADATA    (UINT64_C(1) << 36)
#define CAP_MARIADB_BULK_UNIT_RESULTS (UINT64_C(1) << 37)

/* Column and parameter types. */
enum {
	TYPE_DECIMAL = 0,
	TYPE_TINY = 1,
	TYPE_SHORT = 2,
	TYPE_LONG = 3,
	TYPE_FLOAT = 4,
	TYPE_DOUBLE = 5,
	TYPE_NULL = 6,
	TYPE_TIMESTAMP = 7,
	TYPE_LONGLONG = 8,
	TYPE_INT24 = 9,
	TYPE_DATE = 10,
	TYPE_TIME = 11,
	TYPE_DATETIME = 12,
	TYPE_YEAR = 13,
	TYPE_VARCHAR = 15,
	TYPE_BIT = 16,
	TYPE_VECTOR = 242,
	TYPE_JSON = 245,
	TYPE_NEWDECIMAL = 246,
	TYPE_ENUM = 247,
	TYPE_SET = 248,
	TYPE_TINY_BLOB = 249,
	TYPE_MEDIUM_BLOB = 250,
	TYPE_LONG_BLOB = 251,
	TYPE_BLOB = 252,
	TYPE_VAR_STRING = 253,
	TYPE_STRING = 254,
	TYPE_GEOMETRY = 255,
};

enum {
	COLUMN_NOT_NULL = 1,
	COLUMN_PRIMARY_KEY = 2,
	COLUMN_UNSIGNED = 32,
	COLUMN_BINARY = 128,
	CHARSET_BINARY = 63,
};

/* Flags of COM_STMT_EXECUTE and COM_STMT_BULK_EXECUTE. */
enum {
	EXECUTE_CURSOR_MASK = 7,
	EXECUTE_PARAMETER_COUNT = 8,
	BULK_SEND_UNIT_RESULTS = 64,
	BULK_SEND_TYPES = 128,
};

/* Indicators of COM_STMT_BULK_EXECUTE. */
enum { BULK_VALUE = 0, BULK_NULL = 1, BULK_DEFAULT = 2, BULK_IGNORE = 3 };

/* Items of session state in an OK packet. */
enum {
	TRACK_VARIABLES = 0,
	TRACK_SCHEMA = 1,
	TRACK_STATE_CHANGED = 2,
	TRACK_GTIDS = 3,
	TRACK_CHARACTERISTICS = 4,
	TRACK_TXN_STATE = 5,
};

#define STMT_ID_LAST UINT32_MAX /* MariaDB: the statement prepared last */

#endif
