/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol parser on arbitrary bytes of both directions.  Input: pieces of a direction byte
 * (its lowest bit: from the server), a length byte, and that many bytes.  Beyond not crashing:
 * every command gets exactly one last answer unless the session became opaque, and no memory is
 * kept.
 */
#include <stdlib.h>

#include "base/bug.h"
#include "mutate_units.h"
#include "sql/text/stmt_classify.h"
#include "sql/text/raw_token.h"
#include "wire/values.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A piece: its direction, its length, and that many bytes, which are often one packet. */
static size_t piece_length(const uint8_t *data, size_t left)
{
	size_t length = left > 1 ? 2 + (size_t)data[1] : left;

	return length < left ? length : left;
}

/* Where the piece was one packet, it is one again. */
static void mend_piece(uint8_t *piece, size_t old_size, size_t new_size)
{
	enum { HEAD = 2, PACKET_HEAD = 4 };

	piece[1] = (uint8_t)(new_size - HEAD);
	if (old_size >= HEAD + PACKET_HEAD && new_size >= HEAD + PACKET_HEAD &&
		piece[HEAD] == (uint8_t)(old_size - HEAD - PACKET_HEAD))
		piece[HEAD] = (uint8_t)(new_size - HEAD - PACKET_HEAD);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
	static const struct unit_shape pieces = {piece_length, mend_piece, 2, 255};

	return mutate_units(&pieces, data, size, size_max, seed);
}


struct state {
	uint64_t sum; /* of what was read, so that reading is not optimised away */
	bool open, opaque;
};

static void touch(struct state *s, struct span bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		s->sum = s->sum * 31 + (unsigned char)bytes.ptr[i];
}

static void on_greeting(void *ctx, const struct wire_greeting *g)
{
	touch(ctx, g->version);
	touch(ctx, g->plugin);
}

static void on_login(void *ctx, const struct wire_login *l)
{
	touch(ctx, l->user);
	touch(ctx, l->schema);
	touch(ctx, l->attributes);
}

static void on_reply_content(struct state *s, const struct wire_reply *r)
{
	struct cursor state = cursor_over(r->state), pending = {0};
	struct wire_track item;

	touch(s, r->info);
	touch(s, r->message);
	touch(s, r->sqlstate);
	while (wire_track_next(&state, &pending, &item)) {
		touch(s, item.name);
		touch(s, item.value);
	}
}

static void on_authenticated(void *ctx, const struct wire_reply *r)
{
	on_reply_content(ctx, r);
}

static void on_command(void *ctx, struct wire_command *c, const struct wire_request *r)
{
	struct state *s = ctx;
	struct wire_params params = r->params;
	struct wire_param param;

	CHECK(!s->open);
	s->open = true;
	touch(s, r->text);
	if (r->text.ptr) {
		struct text_dialect dialect = {.no_backslash_escapes = c->number & 1,
			.ansi_quotes = c->number & 2,
			.charset = (uint8_t)(c->number % (CLIENT_CHARSET_UNKNOWN + 1)),
			.flavour = c->number & 4 ? SQL_MYSQL : SQL_MARIADB,
			.version = c->number & 8 ? 80045 : 0};
		struct span rest = r->text, name;
		struct buf masked = BUF_INIT;
		struct stmt_class class;
		char keyword[TEXT_KEYWORD_SIZE];
		struct text_secrets secret;

		while (rest.len) {
			size_t before = rest.len;

			stmt_classify(rest, dialect, &class, &rest, &name);
			touch(s, name);
			CHECK(rest.len < before);
		}
		if (text_mask_passwords(r->text, dialect, false, &masked, &secret))
			touch(s, buf_span(&masked));
		s->sum += text_touches_tables(r->text, dialect);
		s->sum += text_has_several(r->text, dialect);
		text_keyword(r->text, keyword);
		for (rest = r->text; raw_take_word(&rest, &name);)
			touch(s, name);
		buf_release(&masked);
	}
	if (r->login)
		on_login(s, r->login);
	while (wire_params_next(&params, &param)) {
		touch(s, param.name);
		touch(s, param.value);
		if (param.long_data)
			touch(s, buf_span(&param.long_data->kept));
	}
	if (c->stmt)
		s->sum += c->stmt->number;
}

static void on_columns(void *ctx, struct wire_command *c, const struct wire_columns *columns)
{
	struct state *s = ctx;

	CHECK(s->open && c->active);
	for (size_t i = 0; columns && i < columns->count; i++) {
		struct wire_column_names names;

		wire_column_names(columns, i, &names);
		touch(s, names.name);
		touch(s, names.table_original);
	}
}

/* The quick way gives the same bytes as the general one, or gives up. */
static void check_quick(
	const struct wire_columns *columns, struct span row, const struct values_limits *limits)
{
	struct buf quick = BUF_INIT, general = BUF_INIT;

	if (values_pack_quick(&quick, columns, row, limits)) {
		CHECK(values_pack_row(&general, columns, row, true, limits));
		CHECK(span_eq(buf_span(&quick), buf_span(&general)));
	} else {
		CHECK(!quick.len);
	}
	buf_release(&quick);
	buf_release(&general);
}

static void on_row(void *ctx, struct wire_command *c, const struct wire_columns *columns,
	const struct packet *row)
{
	struct state *s = ctx;
	struct cursor cursor = cursor_over(row->payload);
	struct span value;

	CHECK(s->open && c->active);
	touch(s, row->payload);
	for (size_t i = 0; columns && i < columns->count; i++)
		if (wire_binary_value(&cursor, columns->list[i].type, &value))
			touch(s, value);
	if (columns) {
		struct values_limits limits = {100};
		struct buf packed = BUF_INIT;

		for (int binary = 0; binary < 2; binary++)
			s->sum += values_pack_row(&packed, columns, row->payload, binary, &limits);
		touch(s, buf_span(&packed));
		check_quick(columns, row->payload, &limits);
		buf_release(&packed);
	}
}

static void on_rows(void *ctx, struct wire_command *c, const struct wire_columns *columns,
	struct span packets, size_t count)
{
	for (; packets.len; count--) {
		struct span payload = wire_packet_take(&packets);

		on_row(ctx, c, columns, &(struct packet){.payload = payload, .total = payload.len});
	}
	CHECK(!count);
}

static void on_reply(void *ctx, struct wire_command *c, const struct wire_reply *r)
{
	struct state *s = ctx;

	CHECK(s->open && c->active);
	on_reply_content(s, r);
	if (r->last)
		s->open = false;
}

static void on_infile(void *ctx, struct wire_command *c, struct span name, uint64_t size,
	const unsigned char digest[8])
{
	struct state *s = ctx;

	(void)c;
	touch(s, name);
	s->sum += size + digest[0];
}

static void on_unsolicited(void *ctx, const struct wire_reply *r)
{
	on_reply_content(ctx, r);
}

static void on_opaque(void *ctx, const char *reason, struct wire_command *command)
{
	struct state *s = ctx;

	(void)command;
	CHECK(!s->opaque && reason);
	s->opaque = true;
}

static const struct wire_sink sink = {on_greeting, on_login, on_authenticated, on_command,
	on_columns, on_row, on_rows, on_reply, on_infile, on_unsolicited, on_opaque};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state s = {0};
	struct wire w;
	struct wire_budget budget = {0, 256 * 1024};
	struct wire_stamp now = {1, 1, 1};

	wire_init(&w, &sink, &s, &budget);
	w.keep_max = w.row_keep_max = 4096;
	while (size >= 2) {
		bool server = data[0] & 1;
		size_t len = data[1];
		char *copy;

		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		copy = malloc(len ? len : 1);
		CHECK(copy);
		memcpy(copy, data, len);
		if (server)
			wire_feed_server(&w, span_of(copy, len), now);
		else
			wire_feed_client(&w, span_of(copy, len), now);
		free(copy);
		data += len;
		size -= len;
		now.at++;
	}
	wire_end(&w, now);
	CHECK(!s.open || s.opaque);
	wire_release(&w);
	CHECK(budget.used == 0);
	return s.sum == 1;
}
