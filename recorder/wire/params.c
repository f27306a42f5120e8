/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/params.h"

#include <stdlib.h>

#include "base/mem.h"
#include "wire/limits.h"

/* ---- the table ---- */

static struct wire_stmt **slot_of(const struct wire_stmts *stmts, uint32_t id)
{
	struct wire_stmt **at = &stmts->buckets[id % WIRE_STMT_BUCKETS];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

struct wire_stmt *wire_stmts_find(const struct wire_stmts *stmts, uint32_t id)
{
	if (id == STMT_ID_LAST)
		id = stmts->last_id;
	if (!stmts->buckets || id == 0)
		return NULL;
	return *slot_of(stmts, id);
}

static void account(struct wire_stmts *stmts, struct wire_stmt *stmt)
{
	size_t bytes = sizeof(*stmt) + stmt->types_count * sizeof(*stmt->types) +
		       stmt->columns.capacity * sizeof(*stmt->columns.list) +
		       stmt->columns.text.capacity + stmt->long_capacity * sizeof(*stmt->long_data);

	for (size_t i = 0; i < stmt->long_count; i++)
		bytes += stmt->long_data[i].kept.capacity;
	stmts->bytes += bytes - stmt->bytes;
	stmt->bytes = bytes;
}

static void stmt_free(struct wire_stmts *stmts, struct wire_stmt *stmt)
{
	wire_stmt_drop_long_data(stmts, stmt);
	stmts->bytes -= stmt->bytes;
	stmts->count--;
	wire_columns_release(&stmt->columns);
	mem_free(stmt->types);
	mem_free(stmt);
}

struct wire_stmt *wire_stmts_add(struct wire_stmts *stmts, uint32_t id)
{
	struct wire_stmt *stmt;

	if (!stmts->buckets)
		stmts->buckets = mem_zero(WIRE_STMT_BUCKETS, sizeof(*stmts->buckets));
	wire_stmts_remove(stmts, id);
	if (stmts->count >= WIRE_STATEMENTS_MAX || stmts->bytes >= WIRE_STATEMENT_BYTES_MAX)
		return NULL;
	stmt = mem_zero(1, sizeof(*stmt));
	stmt->id = id;
	stmt->next = stmts->buckets[id % WIRE_STMT_BUCKETS];
	stmts->buckets[id % WIRE_STMT_BUCKETS] = stmt;
	stmts->count++;
	account(stmts, stmt);
	return stmt;
}

void wire_stmts_remove(struct wire_stmts *stmts, uint32_t id)
{
	struct wire_stmt **at, *stmt;

	if (id == STMT_ID_LAST)
		id = stmts->last_id;
	if (!stmts->buckets)
		return;
	at = slot_of(stmts, id);
	stmt = *at;
	if (stmt) {
		*at = stmt->next;
		stmt_free(stmts, stmt);
	}
}

void wire_stmts_clear(struct wire_stmts *stmts)
{
	for (size_t i = 0; stmts->buckets && i < WIRE_STMT_BUCKETS; i++) {
		while (stmts->buckets[i]) {
			struct wire_stmt *stmt = stmts->buckets[i];

			stmts->buckets[i] = stmt->next;
			stmt_free(stmts, stmt);
		}
	}
	mem_free(stmts->buckets);
	*stmts = (struct wire_stmts){NULL, 0, 0, 0};
}

bool wire_stmt_keep_columns(
	struct wire_stmts *stmts, struct wire_stmt *stmt, const struct wire_columns *columns)
{
	/* Mostly they are what they were: the server repeats them with every result. */
	if (stmt->columns.count == columns->count &&
		span_eq(buf_span(&stmt->columns.text), buf_span(&columns->text)))
		return true;
	wire_columns_clear(&stmt->columns);
	buf_add_span(&stmt->columns.text, buf_span(&columns->text));
	MEM_RESERVE(stmt->columns.list, columns->count, stmt->columns.capacity);
	memcpy(stmt->columns.list, columns->list, columns->count * sizeof(*columns->list));
	stmt->columns.count = columns->count;
	account(stmts, stmt);
	return stmts->bytes <= WIRE_STATEMENT_BYTES_MAX;
}

/* ---- long data ---- */

const struct wire_long_data *wire_stmt_find_long_data(const struct wire_stmt *stmt, uint32_t param)
{
	for (size_t i = 0; i < stmt->long_count; i++)
		if (stmt->long_data[i].param == param)
			return &stmt->long_data[i];
	return NULL;
}

bool wire_stmt_long_data(struct wire_stmts *stmts, struct wire_stmt *stmt, uint16_t param,
	struct span data, uint64_t total, bool cut)
{
	struct wire_long_data *part = NULL;
	size_t room;

	for (size_t i = 0; i < stmt->long_count && !part; i++)
		if (stmt->long_data[i].param == param)
			part = &stmt->long_data[i];
	if (!part) {
		if (stmt->long_count >= WIRE_LONG_DATA_PARAMS_MAX)
			return false;
		MEM_RESERVE(stmt->long_data, stmt->long_count + 1, stmt->long_capacity);
		part = &stmt->long_data[stmt->long_count++];
		*part = (struct wire_long_data){.param = param, .kept = BUF_INIT};
		siphash_init(&part->digest, NULL, false);
	}
	/* A piece of which only a prefix is here leaves the digest without meaning: fold the length
	 * in, so that it is at least not the digest of something shorter. */
	siphash_add(&part->digest, data.ptr, data.len);
	if (cut)
		siphash_add(&part->digest, &total, sizeof(total));
	part->total += total;
	room = part->kept.len < WIRE_LONG_DATA_KEEP_MAX ? WIRE_LONG_DATA_KEEP_MAX - part->kept.len
							: 0;
	buf_add(&part->kept, data.ptr, data.len < room ? data.len : room);
	account(stmts, stmt);
	return stmts->bytes <= WIRE_STATEMENT_BYTES_MAX;
}

void wire_stmt_drop_long_data(struct wire_stmts *stmts, struct wire_stmt *stmt)
{
	if (!stmt->long_data)
		return;
	for (size_t i = 0; i < stmt->long_count; i++)
		buf_release(&stmt->long_data[i].kept);
	mem_free(stmt->long_data);
	stmt->long_data = NULL;
	stmt->long_count = stmt->long_capacity = 0;
	account(stmts, stmt);
}

/* ---- walking parameters ---- */

static unsigned param_type(struct wire_params *params, struct span *name)
{
	uint32_t i = params->index;

	if (params->named.p) {
		unsigned type = (unsigned)cursor_uint(&params->named, 2);

		*name = cursor_lenenc_str(&params->named);
		return type;
	}
	if (params->types)
		return params->types[2 * i] | (unsigned)params->types[2 * i + 1] << 8;
	return params->cached[i];
}

bool wire_params_next(struct wire_params *params, struct wire_param *out)
{
	unsigned type;

	if (params->bad || params->count == 0)
		return false;
	if (params->bulk ? params->index == 0 && cursor_left(&params->values) == 0
			 : params->index >= params->count)
		return false;
	*out = (struct wire_param){.name = SPAN_NONE, .value = SPAN_NONE};
	type = param_type(params, &out->name);
	out->type = (uint8_t)type;
	out->is_unsigned = (type & 0x8000) != 0;
	if (params->bulk) {
		out->indicator = (uint8_t)cursor_uint(&params->values, 1);
		out->null = out->indicator != BULK_VALUE;
	} else {
		out->null = params->nulls[params->index / 8] >> (params->index % 8) & 1;
	}
	if (params->stmt && !params->bulk)
		out->long_data = wire_stmt_find_long_data(params->stmt, params->index);
	if (out->long_data)
		out->null = false;
	else if (!out->null && !wire_binary_value(&params->values, out->type, &out->value))
		params->bad = true;
	if (!out->null && !out->long_data && out->type == TYPE_NULL)
		out->null = true;
	params->bad |= params->values.bad || params->named.bad;
	params->index++;
	if (params->bulk && params->index == params->count)
		params->index = 0;
	return !params->bad;
}

static void remember_types(struct wire_stmts *stmts, struct wire_stmt *stmt,
	const unsigned char *types, struct cursor named, uint32_t count)
{
	if (stmt->types_count != count) {
		mem_free(stmt->types);
		stmt->types = mem_zero(count, sizeof(*stmt->types));
		stmt->types_count = count;
		account(stmts, stmt);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (named.p) {
			stmt->types[i] = (uint16_t)cursor_uint(&named, 2);
			cursor_lenenc_str(&named);
		} else {
			stmt->types[i] = (uint16_t)(types[2 * i] | types[2 * i + 1] << 8);
		}
	}
}

/* The null bitmap, the flag, the types where they are new: what stands before the values. */
static bool read_types(
	struct cursor *c, uint32_t count, bool named, struct wire_params *params, bool *fresh)
{
	const unsigned char *start;

	params->count = count;
	params->nulls = (const unsigned char *)cursor_take(c, (count + 7) / 8).ptr;
	*fresh = cursor_uint(c, 1) == 1;
	if (c->bad)
		return false;
	if (!*fresh)
		return true;
	start = c->p;
	if (!named) {
		params->types = (const unsigned char *)cursor_take(c, (uint64_t)count * 2).ptr;
		return !c->bad;
	}
	for (uint32_t i = 0; i < count && !c->bad; i++) {
		cursor_uint(c, 2);
		cursor_lenenc_str(c);
	}
	params->named = (struct cursor){start, c->p, false};
	return !c->bad;
}

bool wire_execute_parse(
	struct span body, uint64_t caps, struct wire_stmts *stmts, struct wire_execute *out)
{
	struct cursor c = cursor_over(body);
	bool attributes = (caps & CAP_QUERY_ATTRIBUTES) != 0, fresh;
	uint64_t count;

	*out = (struct wire_execute){.stmt = NULL};
	out->id = (uint32_t)cursor_uint(&c, 4);
	out->flags = (uint16_t)cursor_uint(&c, 1);
	out->iterations = (uint32_t)cursor_uint(&c, 4);
	if (c.bad)
		return false;
	out->stmt = wire_stmts_find(stmts, out->id);
	if (!out->stmt)
		return true; /* the server will refuse it */
	count = out->stmt->params;
	if (attributes && (out->flags & EXECUTE_PARAMETER_COUNT))
		count = cursor_lenenc(&c);
	if (c.bad || count > UINT16_MAX)
		return false;
	if (count == 0)
		return true;
	out->params.stmt = out->stmt;
	if (!read_types(&c, (uint32_t)count, attributes, &out->params, &fresh))
		return false;
	if (fresh) {
		remember_types(
			stmts, out->stmt, out->params.types, out->params.named, (uint32_t)count);
	} else if (out->stmt->types_count != count) {
		return false;
	} else {
		out->params.cached = out->stmt->types;
	}
	out->params.values = c;
	return true;
}

bool wire_bulk_parse(struct span body, struct wire_stmts *stmts, struct wire_execute *out)
{
	struct cursor c = cursor_over(body);

	*out = (struct wire_execute){.stmt = NULL};
	out->id = (uint32_t)cursor_uint(&c, 4);
	out->flags = (uint16_t)cursor_uint(&c, 2);
	if (c.bad)
		return false;
	out->stmt = wire_stmts_find(stmts, out->id);
	if (!out->stmt)
		return true;
	out->params.bulk = true;
	out->params.count = out->stmt->params;
	out->params.stmt = out->stmt;
	if (out->flags & BULK_SEND_TYPES) {
		out->params.types =
			(const unsigned char *)cursor_take(&c, (uint64_t)out->params.count * 2).ptr;
		if (c.bad)
			return false;
		remember_types(
			stmts, out->stmt, out->params.types, out->params.named, out->params.count);
	} else if (out->stmt->types_count != out->params.count) {
		return false;
	} else {
		out->params.cached = out->stmt->types;
	}
	out->params.values = c;
	return true;
}

bool wire_query_parse(
	struct span body, uint64_t caps, struct span *text, struct wire_params *attributes)
{
	struct cursor c = cursor_over(body);
	struct wire_params walk;
	struct wire_param param;
	uint64_t count;
	bool fresh;

	*attributes = (struct wire_params){.count = 0};
	*text = body;
	if (!(caps & CAP_QUERY_ATTRIBUTES))
		return true;
	count = cursor_lenenc(&c);
	cursor_lenenc(&c); /* parameter sets: 1 */
	if (c.bad || count > UINT16_MAX)
		return false;
	if (count) {
		if (!read_types(&c, (uint32_t)count, true, attributes, &fresh) || !fresh)
			return false;
		attributes->values = c;
		walk = *attributes;
		while (wire_params_next(&walk, &param))
			;
		if (walk.bad)
			return false;
		c = walk.values;
	}
	*text = cursor_rest(&c);
	return true;
}
