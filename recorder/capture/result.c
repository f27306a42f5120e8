/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results as records: columns and rows, in parts, within the limits that the options set. */
#include "capture/capture_internal.h"
#include "trace/pack.h"

static void rows_take(struct capture *c)
{
	if (!c->result.rows.data) {
		c->result.rows = c->worker->spare_rows;
		c->worker->spare_rows = BUF_INIT;
	}
}

static void rows_give_back(struct capture *c)
{
	if (c->worker->spare_rows.data || c->result.rows.capacity > 4 * CAPTURE_PART_SIZE)
		buf_release(&c->result.rows);
	else
		c->worker->spare_rows = c->result.rows;
	c->result.rows = BUF_INIT;
}

static void part_begin(struct capture *c)
{
	capture_reuse(&c->result.rows);
	pack_array_open(&c->result.rows);
	c->result.part_rows = 0;
}

static void part_emit(struct capture *c, const struct wire_command *command, bool last)
{
	struct record_result record = {
		.at = last ? c->now.at : 0,
		.session = c->id,
		.number = command->number,
		.set = command->set,
		.part = c->result.part,
		.last = last,
	};
	unsigned char digest[8];

	pack_array_close(&c->result.rows, 0, c->result.part_rows);
	if (c->result.part == 0 && c->result.shape)
		record.columns = buf_span(&c->result.shape->packed);
	record.rows = buf_span(&c->result.rows);
	if (last) {
		record.total = c->result.total;
		/* A digest without a key tells whether a guess at a value is right. */
		if (c->result.left_out &&
			(!c->result.hidden.len || c->worker->config->redact.on) &&
			c->worker->config->rows_max + c->worker->config->result_bytes_max) {
			siphash_final(&c->result.digest, digest);
			record.digest = span_of(digest, 8);
		}
	}
	trace_emit_result(c->worker->producer, &record);
	c->result.part++;
	if (last)
		rows_give_back(c);
	else
		part_begin(c);
}

/* What the columns' origins say of secrets in them; empty: nothing. */
static void guard_columns(struct capture_shape *shape, const struct wire_columns *columns)
{
	bool guarded = false;

	buf_clear(&shape->secrecy);
	for (size_t i = 0; i < columns->count; i++) {
		struct wire_column_names names;
		enum column_secrecy secrecy;

		wire_column_names(columns, i, &names);
		secrecy = secrets_of_origin(&names);
		guarded |= secrecy != COLUMN_OPEN;
		buf_add_char(&shape->secrecy, (char)secrecy);
	}
	if (!guarded)
		buf_clear(&shape->secrecy);
}

/* A prepared statement mostly has the same columns each time; others share a place. */
static const struct capture_shape *shape_of(
	struct capture *c, const struct wire_command *command, const struct wire_columns *columns)
{
	uint32_t place = command->stmt ? command->stmt->number % CAPTURE_SHAPES : 0;
	struct capture_shape *shape;

	/* One large one at a time. */
	if (columns->text.len > WIRE_BUFFER_IDLE_MAX)
		place = 0;
	shape = &c->shapes[place];
	if (!span_eq(buf_span(&columns->text), buf_span(&shape->text)) ||
		UNLIKELY(secrets_names_matter(c))) {
		capture_reuse(&shape->text);
		buf_add_span(&shape->text, buf_span(&columns->text));
		capture_reuse(&shape->packed);
		values_pack_columns(&shape->packed, columns, secrets_names, c);
		guard_columns(shape, columns);
		/* Another statement with the same columns may tell other names. */
		if (UNLIKELY(secrets_names_matter(c)))
			buf_clear(&shape->text);
	}
	return shape;
}

void capture_columns(void *ctx, struct wire_command *command, const struct wire_columns *columns)
{
	struct capture *c = ctx;

	c->now.result_sets++;
	c->result.open = true;
	c->result.left_out = false;
	c->result.part = 0;
	c->result.total = c->result.kept = c->result.bytes = 0;
	/* A digest without a key tells whether a guess at a redacted value is right. */
	siphash_init(&c->result.digest,
		c->worker->config->redact.on ? c->worker->config->redact.key : NULL, false);
	if (c->now.not_kept)
		return;
	rows_take(c);
	part_begin(c);
	c->result.shape = columns ? shape_of(c, command, columns) : NULL;
	secrets_columns(c, columns,
		c->result.shape ? buf_span(&c->result.shape->secrecy) : SPAN_LIT(""));
}

void capture_row(void *ctx, struct wire_command *command, const struct wire_columns *columns,
	const struct packet *row)
{
	struct capture *c = ctx;
	const struct capture_config *config = c->worker->config;
	size_t before;

	/* The rows of FETCH come without column definitions before them. */
	if (!c->result.open)
		capture_columns(ctx, command, columns);
	c->result.total++;
	c->now.rows++;
	if (c->now.not_kept)
		return;
	if (config->rows_max + config->result_bytes_max)
		siphash_add(&c->result.digest, row->payload.ptr, row->payload.len);
	if (!columns || row->cut || (config->rows_max && c->result.kept >= config->rows_max) ||
		(config->result_bytes_max && c->result.bytes >= config->result_bytes_max)) {
		c->result.left_out = true;
		return;
	}
	before = c->result.rows.len;
	if (!values_pack_row(
		    &c->result.rows, columns, row->payload, command->binary, &config->values)) {
		c->result.left_out = true;
		return;
	}
	if (UNLIKELY(c->result.hidden.len))
		secrets_row(c, &c->result.rows, before);
	c->result.bytes += c->result.rows.len - before;
	c->result.kept++;
	c->result.part_rows++;
	if (c->result.rows.len >= CAPTURE_PART_SIZE)
		part_emit(c, command, false);
}

void capture_rows(void *ctx, struct wire_command *command, const struct wire_columns *columns,
	struct span packets, size_t count)
{
	struct capture *c = ctx;
	const struct capture_config *config = c->worker->config;

	if (!c->result.open)
		capture_columns(ctx, command, columns);
	if (c->now.not_kept) {
		c->result.total += count;
		c->now.rows += count;
		return;
	}
	while (packets.len) {
		struct span payload = wire_packet_take(&packets);
		size_t before = c->result.rows.len;

		if (UNLIKELY(!columns || config->rows_max + config->result_bytes_max ||
			    c->result.hidden.len || !command->binary ||
			    !values_pack_quick(&c->result.rows, columns, payload,
				    &config->values))) {
			capture_row(ctx, command, columns,
				&(struct packet){.payload = payload, .total = payload.len});
			continue;
		}
		c->result.total++;
		c->now.rows++;
		c->result.bytes += c->result.rows.len - before;
		c->result.kept++;
		c->result.part_rows++;
		if (c->result.rows.len >= CAPTURE_PART_SIZE)
			part_emit(c, command, false);
	}
}

void capture_result_end(struct capture *c, const struct wire_command *command)
{
	if (!c->result.open)
		return;
	c->result.open = false;
	if (!c->now.not_kept)
		part_emit(c, command, true);
}
