/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"

/* Length of the valid UTF-8 sequence at p (RFC 3629: no overlong forms, no surrogates, at most
 * U+10FFFF), or 0. */
size_t utf8_step(const unsigned char *p, size_t left)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		len = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		len = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		len = 4;
	else
		return 0;
	if (p[0] == 0xe0)
		lo = 0xa0;
	else if (p[0] == 0xed)
		hi = 0x9f;
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f;
	if (left < len || p[1] < lo || p[1] > hi)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return len;
}

bool utf8_valid(struct span s)
{
	for (size_t i = 0; i < s.len;) {
		size_t step = utf8_step((const unsigned char *)s.ptr + i, s.len - i);

		if (!step)
			return false;
		i += step;
	}
	return true;
}

/* ASCII that stands for itself in a JSON string. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void json_escape(struct buf *out, struct span s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;

	for (size_t i = 0; i < s.len;) {
		size_t run = i, step;

		while (run < s.len && is_plain(p[run]))
			run++;
		if (run > i) {
			buf_add(out, p + i, run - i);
			i = run;
			continue;
		}
		step = utf8_step(p + i, s.len - i);
		if (!step) {
			buf_add_str(out, "\xef\xbf\xbd");
			i++;
			continue;
		}
		if (p[i] == '"' || p[i] == '\\') {
			buf_add_char(out, '\\');
			buf_add_char(out, (char)p[i]);
		} else if (p[i] == '\n') {
			buf_add_str(out, "\\n");
		} else if (p[i] == '\t') {
			buf_add_str(out, "\\t");
		} else if (p[i] == '\r') {
			buf_add_str(out, "\\r");
		} else if (p[i] < 0x20 || p[i] == 0x7f) {
			buf_printf(out, "\\u%04x", p[i]);
		} else {
			buf_add(out, p + i, step);
		}
		i += step;
	}
}

void json_init(struct json *json, struct buf *out, int indent)
{
	*json = (struct json){.out = out, .indent = indent};
}

static void new_line(struct json *json)
{
	if (!json->indent)
		return;
	buf_add_char(json->out, '\n');
	for (int i = 0; i < json->depth * json->indent; i++)
		buf_add_char(json->out, ' ');
}

/* What stands before a value or a key: a comma, a line break, or nothing. */
static void separate(struct json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->depth == 0)
		return;
	if (json->filled[json->depth - 1])
		buf_add_char(json->out, ',');
	json->filled[json->depth - 1] = true;
	new_line(json);
}

static void begin(struct json *json, char c)
{
	separate(json);
	CHECK(json->depth < JSON_DEPTH_MAX);
	buf_add_char(json->out, c);
	json->filled[json->depth++] = false;
}

static void end(struct json *json, char c)
{
	bool filled;

	CHECK(json->depth > 0 && !json->after_key);
	filled = json->filled[--json->depth];
	if (filled)
		new_line(json);
	buf_add_char(json->out, c);
}

void json_begin_object(struct json *json)
{
	begin(json, '{');
}

void json_end_object(struct json *json)
{
	end(json, '}');
}

void json_begin_array(struct json *json)
{
	begin(json, '[');
}

void json_end_array(struct json *json)
{
	end(json, ']');
}

void json_key_span(struct json *json, struct span key)
{
	CHECK(!json->after_key);
	separate(json);
	buf_add_char(json->out, '"');
	json_escape(json->out, key);
	buf_add_str(json->out, json->indent ? "\": " : "\":");
	json->after_key = true;
}

void json_key(struct json *json, const char *key)
{
	json_key_span(json, span_str(key));
}

void json_null(struct json *json)
{
	separate(json);
	buf_add_str(json->out, "null");
}

void json_bool(struct json *json, bool value)
{
	separate(json);
	buf_add_str(json->out, value ? "true" : "false");
}

enum { SAFE_BITS = 53 };

/* Digits by hand: a trace is mostly numbers, and printf takes three times as long. */
static void add_number(struct json *json, uint64_t size, bool negative)
{
	bool safe = size <= (uint64_t)1 << SAFE_BITS;
	char text[32], *p = text + sizeof(text);

	if (!safe)
		*--p = '"';
	do {
		*--p = (char)('0' + size % 10);
		size /= 10;
	} while (size);
	if (negative)
		*--p = '-';
	if (!safe)
		*--p = '"';
	separate(json);
	buf_add(json->out, p, (size_t)(text + sizeof(text) - p));
}

void json_int(struct json *json, int64_t value)
{
	add_number(json, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0);
}

void json_uint(struct json *json, uint64_t value)
{
	add_number(json, value, false);
}

void json_double(struct json *json, double value)
{
	char text[40];

	if (!isfinite(value)) {
		json_null(json);
		return;
	}
	separate(json);
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_add_str(json->out, text);
}

void json_string(struct json *json, struct span s)
{
	if (!s.ptr) {
		json_null(json);
		return;
	}
	separate(json);
	buf_add_char(json->out, '"');
	json_escape(json->out, s);
	buf_add_char(json->out, '"');
}

void json_str(struct json *json, const char *s)
{
	json_string(json, span_str(s));
}

static void base64(struct buf *out, struct span s)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)s.ptr;

	for (size_t i = 0; i < s.len; i += 3) {
		size_t left = s.len - i;
		unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
			(left > 2 ? p[i + 2] : 0);
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
			left > 1 ? digits[v >> 6 & 63] : '=', left > 2 ? digits[v & 63] : '='};

		buf_add(out, four, 4);
	}
}

void json_bytes(struct json *json, struct span s)
{
	if (!s.ptr || utf8_valid(s)) {
		json_string(json, s);
		return;
	}
	separate(json);
	buf_add_str(json->out, "{\"base64\":\"");
	base64(json->out, s);
	buf_add_str(json->out, "\"}");
}
