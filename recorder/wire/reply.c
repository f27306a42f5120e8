/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/reply.h"

#include <stdlib.h>

#include "base/mem.h"
#include "wire/limits.h"

bool wire_ok_parse(struct span payload, uint64_t caps, struct wire_reply *out)
{
	struct cursor c = cursor_over(payload);

	*out = (struct wire_reply){.kind = REPLY_OK};
	cursor_take(&c, 1);
	out->affected = cursor_lenenc(&c);
	out->insert_id = cursor_lenenc(&c);
	out->status = (uint16_t)cursor_uint(&c, 2);
	out->warnings = (uint16_t)cursor_uint(&c, 2);
	out->has_status = true;
	if (c.bad)
		return false;
	if (!(caps & CAP_SESSION_TRACK)) {
		out->info = cursor_rest(&c);
		return true;
	}
	/* Servers leave the info out altogether when there is neither info nor state. */
	if (cursor_left(&c))
		out->info = cursor_lenenc_str(&c);
	if (!c.bad && (out->status & STATUS_SESSION_STATE_CHANGED) && cursor_left(&c))
		out->state = cursor_lenenc_str(&c);
	return !c.bad;
}

bool wire_eof_parse(struct span payload, struct wire_reply *out)
{
	struct cursor c = cursor_over(payload);

	*out = (struct wire_reply){.kind = REPLY_EOF, .has_status = true};
	cursor_take(&c, 1);
	out->warnings = (uint16_t)cursor_uint(&c, 2);
	out->status = (uint16_t)cursor_uint(&c, 2);
	return !c.bad;
}

bool wire_err_parse(struct span payload, struct wire_reply *out)
{
	struct cursor c = cursor_over(payload);

	*out = (struct wire_reply){.kind = REPLY_ERR};
	cursor_take(&c, 1);
	out->error = (uint16_t)cursor_uint(&c, 2);
	/* Before the greeting there is no SQL state. */
	if (cursor_left(&c) >= 6 && *c.p == '#') {
		cursor_take(&c, 1);
		out->sqlstate = cursor_take(&c, 5);
	}
	out->message = cursor_rest(&c);
	return !c.bad;
}

/* An item is a type byte and a length-encoded body; only the variables item repeats inside. */
bool wire_track_next(struct cursor *state, struct cursor *pending, struct wire_track *out)
{
	struct cursor body;

	*out = (struct wire_track){.type = TRACK_VARIABLES};
	if (pending->p && cursor_left(pending)) {
		out->name = cursor_lenenc_str(pending);
		out->value = cursor_lenenc_str(pending);
		state->bad |= pending->bad;
		return !state->bad;
	}
	if (state->bad || cursor_left(state) == 0)
		return false;
	out->type = (uint8_t)cursor_uint(state, 1);
	body = cursor_over(cursor_lenenc_str(state));
	if (state->bad)
		return false;
	switch (out->type) {
	case TRACK_VARIABLES:
		*pending = body;
		out->name = cursor_lenenc_str(pending);
		out->value = cursor_lenenc_str(pending);
		state->bad |= pending->bad;
		break;
	case TRACK_GTIDS:
		cursor_uint(&body, 1); /* encoding specification */
		out->value = cursor_lenenc_str(&body);
		state->bad |= body.bad;
		break;
	case TRACK_SCHEMA:
	case TRACK_STATE_CHANGED:
	case TRACK_CHARACTERISTICS:
	case TRACK_TXN_STATE:
		out->value = cursor_lenenc_str(&body);
		state->bad |= body.bad;
		break;
	default:
		out->value = cursor_rest(&body);
		break;
	}
	return !state->bad;
}

/* The names, and where the fixed part begins. */
static void read_names(struct cursor *c, struct wire_column_names *out)
{
	cursor_lenenc_str(c); /* catalog: "def" */
	out->schema = cursor_lenenc_str(c);
	out->table = cursor_lenenc_str(c);
	out->table_original = cursor_lenenc_str(c);
	out->name = cursor_lenenc_str(c);
	out->name_original = cursor_lenenc_str(c);
}

/* MariaDB's extended metadata: pairs of kind (0 type name, 1 format) and value. */
static bool extended_is_json(struct span extended)
{
	struct cursor c = cursor_over(extended);
	bool json = false;

	while (!c.bad && cursor_left(&c)) {
		unsigned kind = (unsigned)cursor_uint(&c, 1);
		struct span value = cursor_lenenc_str(&c);

		if (!c.bad && kind == 1 && span_eq_str(value, "json"))
			json = true;
	}
	return json;
}

bool wire_columns_add(struct wire_columns *columns, struct span payload, uint64_t caps)
{
	struct cursor c = cursor_over(payload);
	struct wire_column_names names;
	struct wire_column column = {0};

	if (columns->text.len + payload.len > WIRE_COLUMN_BYTES_MAX)
		return false;
	read_names(&c, &names);
	if (caps & CAP_MARIADB_EXT_METADATA)
		column.json = extended_is_json(cursor_lenenc_str(&c));
	cursor_lenenc(&c); /* length of what follows: 0x0c */
	column.charset = (uint16_t)cursor_uint(&c, 2);
	column.length = (uint32_t)cursor_uint(&c, 4);
	column.type = (uint8_t)cursor_uint(&c, 1);
	column.flags = (uint16_t)cursor_uint(&c, 2);
	column.decimals = (uint8_t)cursor_uint(&c, 1);
	if (c.bad)
		return false;
	column.text = (uint32_t)columns->text.len;
	column.text_len = (uint32_t)payload.len;
	buf_add_span(&columns->text, payload);
	MEM_RESERVE(columns->list, columns->count + 1, columns->capacity);
	columns->list[columns->count++] = column;
	return true;
}

void wire_columns_clear(struct wire_columns *columns)
{
	if (columns->text.capacity > WIRE_BUFFER_IDLE_MAX) {
		wire_columns_release(columns);
		return;
	}
	columns->count = 0;
	buf_clear(&columns->text);
}

void wire_columns_release(struct wire_columns *columns)
{
	mem_free(columns->list);
	buf_release(&columns->text);
	*columns = WIRE_COLUMNS_INIT;
}

void wire_column_names(
	const struct wire_columns *columns, size_t index, struct wire_column_names *out)
{
	const struct wire_column *column = &columns->list[index];
	struct cursor c = cursor_over(span_of(columns->text.data + column->text, column->text_len));

	read_names(&c, out);
}

bool wire_binary_value(struct cursor *c, uint8_t type, struct span *out)
{
	switch (type) {
	case TYPE_NULL:
		*out = SPAN_NONE;
		return true;
	case TYPE_TINY:
		*out = cursor_take(c, 1);
		return !c->bad;
	case TYPE_SHORT:
	case TYPE_YEAR:
		*out = cursor_take(c, 2);
		return !c->bad;
	case TYPE_LONG:
	case TYPE_INT24:
	case TYPE_FLOAT:
		*out = cursor_take(c, 4);
		return !c->bad;
	case TYPE_LONGLONG:
	case TYPE_DOUBLE:
		*out = cursor_take(c, 8);
		return !c->bad;
	case TYPE_DATE:
	case TYPE_DATETIME:
	case TYPE_TIMESTAMP:
	case TYPE_TIME:
		*out = cursor_take(c, cursor_uint(c, 1));
		return !c->bad;
	case TYPE_DECIMAL:
	case TYPE_VARCHAR:
	case TYPE_BIT:
	case TYPE_VECTOR:
	case TYPE_JSON:
	case TYPE_NEWDECIMAL:
	case TYPE_ENUM:
	case TYPE_SET:
	case TYPE_TINY_BLOB:
	case TYPE_MEDIUM_BLOB:
	case TYPE_LONG_BLOB:
	case TYPE_BLOB:
	case TYPE_VAR_STRING:
	case TYPE_STRING:
	case TYPE_GEOMETRY:
		*out = cursor_lenenc_str(c);
		return !c->bad;
	default:
		return false;
	}
}
