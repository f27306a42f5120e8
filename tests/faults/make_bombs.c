/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes small traces, with right checksums, that name much more memory than they have bytes.
 *
 *	make_bombs DIRECTORY
 */
#include "trace_make.h"

enum { WIDE = 1000, ROWS = 128 * 1024 };

static const unsigned char nil = 0xc0, empty_row = 0x90;

/* [what, what, ...], each of one byte. */
static struct span array_of(struct buf *out, unsigned char what, uint32_t count)
{
	msgpack_packer pk = pack_into(out);

	msgpack_pack_array(&pk, count);
	memset(buf_reserve(out, count), what, count);
	out->len += count;
	return buf_span(out);
}

static void body_begin(struct buf *out, uint64_t block)
{
	struct record_block info = {.producer = 1, .block = block, .first_seq = 1, .last_seq = 1000000, .watermark = 1};

	buf_clear(out);
	record_block_pack(out, &info);
}

static void store(const char *dir, const char *name, const struct buf *bytes)
{
	char path[1000];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "wb");

	if (!file || fwrite(bytes->data, 1, bytes->len, file) != bytes->len || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

static void add_zstd(struct buf *file, const unsigned char marker[16], uint32_t count, const struct buf *body)
{
	struct buf packed = BUF_INIT;
	size_t room = ZSTD_compressBound(body->len), n;

	n = ZSTD_compress(buf_reserve(&packed, room), room, body->data, body->len, 3);
	if (ZSTD_isError(n))
		exit(1);
	forge_frame(file, marker, TRACE_EXT_ZSTD, count, span_of(packed.data, n));
	buf_release(&packed);
}

/* A result of one row with `values` values. */
static uint32_t add_result(struct buf *body, uint64_t seq, uint32_t values)
{
	struct buf row = BUF_INIT, rows = BUF_INIT;
	struct record_result result = {.seq = seq, .at = seq, .session = 1, .number = 1};

	buf_add_char(&rows, (char)0x91);
	buf_add_span(&rows, array_of(&row, nil, values));
	result.rows = buf_span(&rows);
	record_result_pack(body, &result);
	buf_release(&row);
	buf_release(&rows);
	return 1;
}

/* One block of some kilobytes that becomes as large as a block may be. */
static void shrunk(const char *dir)
{
	struct buf file = BUF_INIT, body = BUF_INIT;
	unsigned char marker[16];

	forge_header(&file, 1, marker);
	body_begin(&body, 0);
	add_result(&body, 1, TRACE_BLOCK_RAW_MAX - 4096);
	add_zstd(&file, marker, 2, &body);
	store(dir, "shrunk.itr", &file);
	buf_release(&file);
	buf_release(&body);
}

/* Many blocks that keep to the ratio; the largest content of each is found by halving. */
static void many(const char *dir, const char *name, uint32_t (*fill)(struct buf *body, uint64_t seq, uint32_t size))
{
	struct buf file = BUF_INIT, body = BUF_INIT, frame = BUF_INIT;
	uint32_t size = 16384, count;
	unsigned char marker[16];

	forge_header(&file, 1, marker);
	for (uint64_t block = 0; file.len < 128 * 1024; block++) {
		/* The next one begins a little above what fitted. */
		for (size = size * 9 / 8;; size = size * 7 / 8) {
			body_begin(&body, block);
			count = fill(&body, block + 1, size);
			buf_clear(&frame);
			add_zstd(&frame, marker, 1 + count, &body);
			if (body.len <= frame.len * TRACE_RATIO_MAX)
				break;
		}
		buf_add_span(&file, buf_span(&frame));
	}
	store(dir, name, &file);
	buf_release(&file);
	buf_release(&body);
	buf_release(&frame);
}

static uint32_t fill_rows(struct buf *body, uint64_t seq, uint32_t size)
{
	struct buf rows = BUF_INIT;
	struct record_rows record = {
		.seq = seq, .at = seq, .table = 1, .moment = SPAN_LIT("initial"), .part = (uint32_t)seq - 1};

	record.rows = array_of(&rows, empty_row, size);
	record_rows_pack(body, &record);
	buf_release(&rows);
	return 1;
}

static unsigned char tiny_kind;

/* Records of a few bytes: the fields that are left out are empty. */
static uint32_t fill_tiny(struct buf *body, uint64_t seq, uint32_t size)
{
	uint32_t count = size / 6;

	for (uint32_t i = 0; i < count; i++) {
		unsigned char record[] = {0x95, tiny_kind, 1 + (unsigned char)(seq % 100), 1, 1, 1};

		buf_add(body, record, sizeof(record));
	}
	return count;
}

static void add_schema(struct buf *body)
{
	struct buf columns = BUF_INIT;
	msgpack_packer pk = pack_into(&columns);
	struct record_schema schema = {
		.seq = 2, .at = 2, .table = 1, .node = SPAN_LIT("n"), .database = SPAN_LIT("d"), .name = SPAN_LIT("t")};
	struct record_server server = {.seq = 1,
		.at = 1,
		.node = SPAN_LIT("n"),
		.version = SPAN_LIT("10.11.6-MariaDB"),
		.flavour = SPAN_LIT("mariadb")};
	struct buf text = BUF_INIT;

	msgpack_pack_array(&pk, WIDE);
	buf_add_str(&text, "CREATE TABLE `t` (");
	for (int i = 0; i < WIDE; i++) {
		char name[16];

		snprintf(name, sizeof(name), "c%d", i);
		buf_printf(&text, "%s`%s` int(11) DEFAULT NULL", i ? ", " : "", name);
		msgpack_pack_array(&pk, 7);
		pack_str(&pk, span_str(name));
		pack_str(&pk, SPAN_LIT("int(11)"));
		msgpack_pack_true(&pk);
		for (int k = 0; k < 4; k++)
			msgpack_pack_nil(&pk);
	}
	buf_add_str(&text, ") ENGINE=InnoDB");
	schema.columns = buf_span(&columns);
	schema.create_text = buf_span(&text);
	record_server_pack(body, &server);
	record_schema_pack(body, &schema);
	buf_release(&columns);
	buf_release(&text);
}

/* A wide table, and rows without values: in the table, and as an answer. */
static void wide(const char *dir)
{
	struct buf file = BUF_INIT, body = BUF_INIT, rows = BUF_INIT;
	struct record_session session = {.seq = 4, .at = 4, .session = 1, .node = SPAN_LIT("n"), .database = SPAN_LIT("d")};
	struct record_rows content = {.seq = 3,
		.at = 3,
		.table = 1,
		.node = SPAN_LIT("n"),
		.moment = SPAN_LIT("initial"),
		.last = true,
		.complete = true};
	struct record_result result = {.seq = 5, .at = 5, .session = 1, .number = 1};
	struct record_stmt stmt = {.seq = 6,
		.at = 6,
		.session = 1,
		.number = 1,
		.begin_seq = 4,
		.begin = 4,
		.command = 3,
		.text = SPAN_LIT("select * from t"),
		.result_sets = 1,
		.rows = ROWS};
	unsigned char marker[16];

	forge_header(&file, 1, marker);
	body_begin(&body, 0);
	add_schema(&body);
	content.rows = result.rows = array_of(&rows, empty_row, ROWS);
	record_rows_pack(&body, &content);
	record_session_pack(&body, &session);
	record_result_pack(&body, &result);
	record_stmt_pack(&body, &stmt);
	forge_frame(&file, marker, TRACE_EXT_RAW, 7, buf_span(&body));
	store(dir, "wide.itr", &file);
	buf_release(&file);
	buf_release(&body);
	buf_release(&rows);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_bombs DIRECTORY\n");
		return 2;
	}
	shrunk(argv[1]);
	many(argv[1], "results.itr", add_result);
	many(argv[1], "rows.itr", fill_rows);
	for (tiny_kind = RECORD_SERVER; tiny_kind < RECORD_KIND_COUNT; tiny_kind++) {
		char name[32];

		snprintf(name, sizeof(name), "tiny-%u.itr", tiny_kind);
		many(argv[1], name, fill_tiny);
	}
	wide(argv[1]);
	return 0;
}
