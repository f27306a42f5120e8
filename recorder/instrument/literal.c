/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/literal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "sql/sql.h"
#include "trace/msgpack_cursor.h"
#include "trace/value.h"
#include "wire/values.h"

enum { LITERAL_MAX = 64 * 1024 };

static void add_bytes(struct buf *out, struct span bytes)
{
	buf_add_str(out, "x'");
	for (size_t i = 0; i < bytes.len; i++)
		buf_printf(out, "%02x", (unsigned)(unsigned char)bytes.ptr[i]);
	buf_add_char(out, '\'');
}

/* With an exponent: without one it would be a DECIMAL. */
static void add_double(struct buf *out, double d)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", d);
	buf_printf(out, "%s%s", isfinite(d) ? text : "?", isfinite(d) && !strchr(text, 'e') ? "e0" : "");
}

/* What a backslash is depends on sql_mode, and in some character sets (sjis, gbk, big5 ...) it is the
 * second half of a character. */
static void add_text(struct buf *out, struct span text)
{
	struct sql_options options = sql_options_default();

	if (text.len && (memchr(text.ptr, '\\', text.len) || memchr(text.ptr, '\0', text.len)))
		buf_add_char(out, '?');
	else
		sql_print_string(text, &options, out);
}

void literal_add(struct buf *out, const struct wire_param *param)
{
	const struct values_limits limits = {.value_keep_max = LITERAL_MAX};
	struct buf packed = BUF_INIT;
	struct value value;
	struct mp mp;

	values_pack_param(&packed, param, &limits);
	mp = mp_over(buf_span(&packed));
	if (!value_read(&mp, &value)) {
		buf_add_char(out, '?');
		buf_release(&packed);
		return;
	}
	switch (value.type) {
	case VALUE_NULL:
		buf_add_str(out, "NULL");
		break;
	case VALUE_INT:
		buf_printf(out, "%" PRId64, value.i);
		break;
	case VALUE_UINT:
		buf_printf(out, "%" PRIu64, value.u);
		break;
	case VALUE_DOUBLE:
	case VALUE_FLOAT:
		add_double(out, value.d);
		break;
	case VALUE_DECIMAL:
		buf_add_span(out, value.bytes);
		break;
	case VALUE_BYTES:
		add_bytes(out, value.bytes);
		break;
	case VALUE_TEXT:
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
	case VALUE_JSON:
		add_text(out, value.bytes);
		break;
	case VALUE_BIT:
	case VALUE_GEOMETRY:
	case VALUE_HASHED:
	case VALUE_CUT:
	case VALUE_DROPPED:
		buf_add_char(out, '?');
		break;
	}
	buf_release(&packed);
}

bool literal_is_same(const struct wire_param *param)
{
	if (param->long_data)
		return false;
	switch (param->type) {
	case TYPE_TINY:
	case TYPE_SHORT:
	case TYPE_LONG:
	case TYPE_INT24:
	case TYPE_LONGLONG:
	case TYPE_NULL:
	case TYPE_VARCHAR:
	case TYPE_VAR_STRING:
	case TYPE_STRING:
	case TYPE_NEWDECIMAL:
		return true;
	default:
		return param->null;
	}
}
