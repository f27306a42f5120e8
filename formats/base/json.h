/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON out.  Writes into a struct buf that the caller empties when it likes (so output streams).
 * Commas and nesting are kept here; what is written is always one well-formed value.
 *
 * Strings that are not valid UTF-8 cannot stand in JSON: their bad bytes become U+FFFD in
 * json_string; json_bytes writes {"base64":"..."} instead for them and loses nothing.  Integers
 * outside +-2^53 are written as strings, since many readers round them.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { JSON_DEPTH_MAX = 64 };

struct json {
	struct buf *out;
	int indent;  /* spaces a level; 0: one line */
	int depth;   /* open arrays and objects */
	bool filled[JSON_DEPTH_MAX]; /* something stands before, at this depth */
	bool after_key;
};

void json_init(struct json *json, struct buf *out, int indent);
void json_begin_object(struct json *json);
void json_end_object(struct json *json);
void json_begin_array(struct json *json);
void json_end_array(struct json *json);
void json_key(struct json *json, const char *key);
void json_key_span(struct json *json, struct span key);

void json_null(struct json *json);
void json_bool(struct json *json, bool value);
void json_int(struct json *json, int64_t value);
void json_uint(struct json *json, uint64_t value);
/* Shortest digits that read back as the same double; null for NaN and infinities. */
void json_double(struct json *json, double value);
void json_string(struct json *json, struct span s);
void json_str(struct json *json, const char *s);
void json_bytes(struct json *json, struct span s);

/* The escaped inside of a JSON string, without its quotes. */
void json_escape(struct buf *out, struct span s);
bool utf8_valid(struct span s);
/* Length of the valid UTF-8 sequence at p (RFC 3629), or 0; left is at least 1. */
size_t utf8_step(const unsigned char *p, size_t left);

#endif
