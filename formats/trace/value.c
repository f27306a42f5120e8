/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/value.h"

#include <stdio.h>

#include "base/bug.h"
#include "trace/pack.h"

static bool is_extension(int type)
{
	return type >= VALUE_DECIMAL && type <= VALUE_DROPPED;
}

bool value_read(struct mp *mp, struct value *out)
{
	const unsigned char *start = mp->p;
	struct mp_object object;

	memset(out, 0, sizeof(*out));
	if (!mp_next(mp, &object))
		return false;
	switch (object.type) {
	case MP_NIL:
		return true;
	case MP_BOOL:
		out->type = VALUE_UINT;
		out->u = object.b;
		return true;
	case MP_UINT:
		out->type = VALUE_UINT;
		out->u = object.u;
		return true;
	case MP_INT:
		out->type = VALUE_INT;
		out->i = object.i;
		return true;
	case MP_FLOAT32:
		out->type = VALUE_FLOAT;
		out->d = object.d;
		return true;
	case MP_FLOAT64:
		out->type = VALUE_DOUBLE;
		out->d = object.d;
		return true;
	case MP_STR:
	case MP_BIN:
		out->type = object.type == MP_STR ? VALUE_TEXT : VALUE_BYTES;
		out->bytes = object.bytes;
		return true;
	case MP_EXT:
		if (is_extension(object.ext_type)) {
			out->type = (enum value_type)object.ext_type;
			out->bytes = object.bytes;
			return true;
		}
		break;
	case MP_ARRAY:
	case MP_MAP:
	case MP_BAD:
		break;
	}
	mp->p = start;
	return mp_fail(mp);
}

void value_pack(struct buf *out, const struct value *value)
{
	msgpack_packer pk = pack_into(out);

	switch (value->type) {
	case VALUE_NULL:
		pack_nil(&pk);
		return;
	case VALUE_INT:
		pack_int(&pk, value->i);
		return;
	case VALUE_UINT:
		pack_uint(&pk, value->u);
		return;
	case VALUE_DOUBLE:
		pack_double(&pk, value->d);
		return;
	case VALUE_FLOAT:
		pack_float(&pk, (float)value->d);
		return;
	case VALUE_TEXT:
		pack_str(&pk, value->bytes);
		return;
	case VALUE_BYTES:
		pack_bin(&pk, value->bytes);
		return;
	case VALUE_DECIMAL:
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
	case VALUE_JSON:
	case VALUE_BIT:
	case VALUE_GEOMETRY:
	case VALUE_HASHED:
	case VALUE_CUT:
	case VALUE_DROPPED:
		pack_ext(&pk, (int8_t)value->type, value->bytes);
		return;
	}
	BUG("value type %d", (int)value->type);
}

bool value_eq(const struct value *a, const struct value *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == VALUE_DOUBLE || a->type == VALUE_FLOAT)
		return memcmp(&a->d, &b->d, sizeof(a->d)) == 0;
	if (a->type == VALUE_INT || a->type == VALUE_UINT)
		return a->u == b->u;
	return span_eq(a->bytes, b->bytes);
}

const char *value_type_name(enum value_type type)
{
	switch (type) {
	case VALUE_NULL:
		return "null";
	case VALUE_INT:
		return "int";
	case VALUE_UINT:
		return "uint";
	case VALUE_DOUBLE:
		return "double";
	case VALUE_FLOAT:
		return "float";
	case VALUE_TEXT:
		return "text";
	case VALUE_BYTES:
		return "bytes";
	case VALUE_DECIMAL:
		return "decimal";
	case VALUE_DATE:
		return "date";
	case VALUE_DATETIME:
		return "datetime";
	case VALUE_TIME:
		return "time";
	case VALUE_JSON:
		return "json";
	case VALUE_BIT:
		return "bit";
	case VALUE_GEOMETRY:
		return "geometry";
	case VALUE_HASHED:
		return "hashed";
	case VALUE_CUT:
		return "cut";
	case VALUE_DROPPED:
		return "dropped";
	}
	return "unknown";
}

static void print_hex(struct buf *out, struct span s, size_t width)
{
	size_t shown = width && s.len > width ? width : s.len;

	buf_add_str(out, "0x");
	for (size_t i = 0; i < shown; i++)
		buf_printf(out, "%02X", (unsigned char)s.ptr[i]);
	if (shown < s.len)
		buf_add_str(out, "...");
}

/* As json_escape; but of bytes that are no UTF-8, which a client with another character set gets,
 * each is written as \xFC. */
static void escape_all(struct buf *out, struct span s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;

	for (size_t i = 0; i < s.len;) {
		size_t end = i, step;

		while (end < s.len && (step = utf8_step(p + end, s.len - end)) != 0)
			end += step;
		json_escape(out, span_of(s.ptr + i, end - i));
		if (end < s.len)
			buf_printf(out, "\\x%02X", p[end++]);
		i = end;
	}
}

/* Control characters and bad UTF-8 never reach a terminal as they are. */
static void print_text(struct buf *out, struct span s, size_t width)
{
	size_t shown = width && s.len > width ? width : s.len;
	struct buf safe = BUF_INIT;

	/* Not in the middle of a UTF-8 sequence. */
	while (shown < s.len && shown > 0 && ((unsigned char)s.ptr[shown] & 0xc0) == 0x80)
		shown--;
	escape_all(&safe, span_of(s.ptr, shown));
	buf_add_char(out, '\'');
	for (size_t i = 0; i < safe.len; i++) {
		if (safe.data[i] == '\'')
			buf_add_char(out, '\'');
		/* json_escape wrote \" for a quote that needs none here. */
		if (safe.data[i] == '\\' && safe.data[i + 1] == '"')
			continue;
		buf_add_char(out, safe.data[i]);
	}
	buf_add_str(out, shown < s.len ? "'..." : "'");
	buf_release(&safe);
}

static void print_double(struct buf *out, const struct value *value)
{
	struct json json;

	/* The shortest digits that read back, as in JSON; a float needs at most nine. */
	if (value->type == VALUE_FLOAT) {
		buf_printf(out, "%.9g", value->d);
		return;
	}
	json_init(&json, out, 0);
	json_double(&json, value->d);
}

void value_print(struct buf *out, const struct value *value, size_t width)
{
	switch (value->type) {
	case VALUE_NULL:
		buf_add_str(out, "NULL");
		return;
	case VALUE_INT:
		buf_printf(out, "%lld", (long long)value->i);
		return;
	case VALUE_UINT:
		buf_printf(out, "%llu", (unsigned long long)value->u);
		return;
	case VALUE_DOUBLE:
	case VALUE_FLOAT:
		print_double(out, value);
		return;
	case VALUE_TEXT:
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
	case VALUE_JSON:
		print_text(out, value->bytes, width);
		return;
	case VALUE_DECIMAL:
		json_escape(out, value->bytes);
		return;
	case VALUE_BYTES:
	case VALUE_BIT:
	case VALUE_GEOMETRY:
		print_hex(out, value->bytes, width);
		return;
	case VALUE_HASHED:
		buf_add_str(out, "<hashed ");
		print_hex(out, value->bytes, width);
		buf_add_char(out, '>');
		return;
	case VALUE_CUT:
		if (value->bytes.len >= 16) {
			struct span start = span_of(value->bytes.ptr + 16, value->bytes.len - 16);

			print_text(out, start, width);
			buf_printf(out, "<cut, %llu bytes>",
				(unsigned long long)mp_load_be(
					(const unsigned char *)value->bytes.ptr, 8));
		} else {
			buf_add_str(out, "<cut>");
		}
		return;
	case VALUE_DROPPED:
		buf_add_str(out, "<dropped>");
		return;
	}
	BUG("value type %d", (int)value->type);
}

void value_json(struct json *json, const struct value *value)
{
	struct buf hex = BUF_INIT;

	switch (value->type) {
	case VALUE_NULL:
		json_null(json);
		return;
	case VALUE_INT:
		json_int(json, value->i);
		return;
	case VALUE_UINT:
		json_uint(json, value->u);
		return;
	case VALUE_DOUBLE:
	case VALUE_FLOAT:
		json_double(json, value->d);
		return;
	case VALUE_TEXT:
		json_bytes(json, value->bytes);
		return;
	case VALUE_DECIMAL:
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
	case VALUE_JSON:
		json_begin_object(json);
		json_key(json, value_type_name(value->type));
		json_bytes(json, value->bytes);
		json_end_object(json);
		return;
	case VALUE_BYTES:
	case VALUE_BIT:
	case VALUE_GEOMETRY:
	case VALUE_HASHED:
	case VALUE_CUT:
	case VALUE_DROPPED:
		json_begin_object(json);
		json_key(json, value_type_name(value->type));
		print_hex(&hex, value->bytes, 0);
		json_string(json, span_of(hex.data + 2, hex.len - 2));
		json_end_object(json);
		buf_release(&hex);
		return;
	}
	BUG("value type %d", (int)value->type);
}
