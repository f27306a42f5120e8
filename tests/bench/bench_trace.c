/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the trace costs: decoding the same records with msgpack-c's object API, with its callback
 * template and with our cursor; reading a file; emitting a record.
 *
 *	bench_trace [MEGABYTES]        default 64
 *
 * CPU time of this thread, the best of five runs; read the ratios, not the seconds.
 */
#include <msgpack.h>
#include <msgpack/unpack_define.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/clock.h"
#include "trace/pack.h"
#include "trace/reader.h"
#include "trace/record.h"
#include "trace/writer.h"

/* What every decoder adds up, so that none can skip the work and all can be compared. */
struct sum {
	uint64_t integers, bytes, objects;
};

/* ---- msgpack-c's callback template (unpack_template.h), as its own unpack.c uses it ---- */

typedef struct sum sum_user;

static inline int cb_integer(sum_user *u, uint64_t value)
{
	u->integers += value;
	u->objects++;
	return 0;
}

static inline int cb_bytes(sum_user *u, unsigned int len)
{
	u->bytes += len;
	u->objects++;
	return 0;
}

#define msgpack_unpack_struct(name)    struct cb##name
#define msgpack_unpack_func(ret, name) static ret cb##name
#define msgpack_unpack_callback(name)  cb_on##name
#define msgpack_unpack_object          int
#define msgpack_unpack_user            sum_user

static inline int cb_on_root(sum_user *u)
{
	(void)u;
	return 0;
}
#define CB_INTEGER(name, type)                                                                     \
	static inline int cb_on_##name(sum_user *u, type value, int *out)                          \
	{                                                                                          \
		*out = 0;                                                                          \
		return cb_integer(u, (uint64_t)value);                                             \
	}
CB_INTEGER(uint8, uint8_t)
CB_INTEGER(uint16, uint16_t)
CB_INTEGER(uint32, uint32_t)
CB_INTEGER(uint64, uint64_t)
CB_INTEGER(int8, int8_t)
CB_INTEGER(int16, int16_t)
CB_INTEGER(int32, int32_t)
CB_INTEGER(int64, int64_t)
CB_INTEGER(float, float)
CB_INTEGER(double, double)
#define CB_SIMPLE(name)                                                                            \
	static inline int cb_on_##name(sum_user *u, int *out)                                      \
	{                                                                                          \
		*out = 0;                                                                          \
		return cb_integer(u, 0);                                                           \
	}
CB_SIMPLE(nil)
CB_SIMPLE(true)
CB_SIMPLE(false)
#define CB_CONTAINER(name)                                                                         \
	static inline int cb_on_##name(sum_user *u, unsigned int count, int *out)                  \
	{                                                                                          \
		*out = 0;                                                                          \
		return cb_integer(u, count);                                                       \
	}
CB_CONTAINER(array)
CB_CONTAINER(map)
static inline int cb_on_array_item(sum_user *u, int *container, int item)
{
	(void)u;
	(void)container;
	(void)item;
	return 0;
}
static inline int cb_on_map_item(sum_user *u, int *container, int key, int value)
{
	(void)u;
	(void)container;
	(void)key;
	(void)value;
	return 0;
}
#define CB_BYTES(name)                                                                             \
	static inline int cb_on_##name(                                                            \
		sum_user *u, const char *base, const char *p, unsigned int len, int *out)          \
	{                                                                                          \
		(void)base;                                                                        \
		(void)p;                                                                           \
		*out = 0;                                                                          \
		return cb_bytes(u, len);                                                           \
	}
CB_BYTES(str)
CB_BYTES(bin)
CB_BYTES(ext)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wextra"
#include <msgpack/unpack_template.h>
#pragma GCC diagnostic pop

static void decode_callback(struct span bytes, struct sum *sum)
{
	struct cb_context context;
	size_t offset = 0;

	memset(&context, 0, sizeof(context));
	while (offset < bytes.len) {
		cb_init(&context);
		CHECK(cb_execute(&context, bytes.ptr, bytes.len, &offset) > 0);
	}
	*sum = context.user;
}

/* ---- msgpack-c's objects ---- */

static void sum_object(const msgpack_object *object, struct sum *sum)
{
	sum->objects++;
	switch (object->type) {
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		sum->integers += object->via.u64;
		return;
	case MSGPACK_OBJECT_STR:
		sum->bytes += object->via.str.size;
		return;
	case MSGPACK_OBJECT_ARRAY:
		sum->integers += object->via.array.size;
		for (uint32_t i = 0; i < object->via.array.size; i++)
			sum_object(&object->via.array.ptr[i], sum);
		return;
	default:
		return;
	}
}

static void decode_objects(struct span bytes, struct sum *sum)
{
	msgpack_unpacked unpacked;
	size_t offset = 0;

	memset(sum, 0, sizeof(*sum));
	msgpack_unpacked_init(&unpacked);
	while (msgpack_unpack_next(&unpacked, bytes.ptr, bytes.len, &offset) ==
		MSGPACK_UNPACK_SUCCESS)
		sum_object(&unpacked.data, sum);
	msgpack_unpacked_destroy(&unpacked);
}

/* ---- the cursor: any object, and typed records ---- */

static void decode_cursor(struct span bytes, struct sum *sum)
{
	struct mp mp = mp_over(bytes);
	struct mp_object object;

	memset(sum, 0, sizeof(*sum));
	while (mp_left(&mp)) {
		CHECK(mp_next(&mp, &object));
		sum->objects++;
		if (object.type == MP_UINT)
			sum->integers += object.u;
		else if (object.type == MP_STR)
			sum->bytes += object.bytes.len;
		else if (object.type == MP_ARRAY)
			sum->integers += object.count;
	}
}

/* Into structs, as the loader reads them; the sums are of some fields only. */
static void decode_records(struct span bytes, struct sum *sum)
{
	struct mp mp = mp_over(bytes);

	memset(sum, 0, sizeof(*sum));
	while (mp_left(&mp)) {
		struct record_stmt stmt;
		struct record_result result;
		uint32_t kind, left;

		CHECK(record_begin(&mp, &kind, &left));
		if (kind == RECORD_STMT) {
			CHECK(record_stmt_read(&mp, left, &stmt));
			sum->integers += stmt.seq + stmt.affected;
		} else {
			CHECK(record_result_read(&mp, left, &result));
			sum->integers += result.seq + result.total;
		}
	}
}

static void decode_skip(struct span bytes, struct sum *sum)
{
	struct mp mp = mp_over(bytes);

	memset(sum, 0, sizeof(*sum));
	while (mp_left(&mp)) {
		CHECK(mp_skip(&mp));
		sum->objects++;
	}
}

/* ---- measuring ---- */

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static double best_of(void (*decode)(struct span, struct sum *), struct span bytes, struct sum *sum)
{
	double best = 1e30;

	for (int i = 0; i < 5; i++) {
		uint64_t start = cpu_ns();
		double took;

		decode(bytes, sum);
		took = (double)(cpu_ns() - start);
		best = took < best ? took : best;
	}
	return best;
}

/* A statement and its result of two rows, as an application's point reads look. */
static void stmt_fill(struct record_stmt *stmt, uint64_t i, char text[64])
{
	*stmt = (struct record_stmt){
		.session = (uint32_t)(i % 64),
		.number = (uint32_t)(i / 64),
		.txn = i / 8,
		.begin = 1000000000u + i * 51000,
		.first_byte = 1000000000u + i * 51000 + 30000,
		.command = 3,
		.status = 2,
		.affected = i % 3,
		.result_sets = 1,
		.rows = 2,
		.reply_bytes = 120,
	};
	stmt->text = span_of(text, (size_t)snprintf(text, 64, "SELECT c FROM sbtest1 WHERE id=%u",
					   (unsigned)(i * 7919)));
}

static void result_fill(struct record_result *result, uint64_t i, struct buf *rows)
{
	msgpack_packer pk = pack_into(rows);
	char text[32];

	buf_clear(rows);
	msgpack_pack_array(&pk, 2);
	for (int row = 0; row < 2; row++) {
		msgpack_pack_array(&pk, 2);
		pack_uint(&pk, i * 7919 + (uint64_t)row);
		snprintf(text, sizeof(text), "%08u-%08u", (unsigned)(i * 31), (unsigned)(i * 17));
		pack_str(&pk, span_str(text));
	}
	*result = (struct record_result){.session = (uint32_t)(i % 64),
		.number = (uint32_t)(i / 64),
		.last = true,
		.rows = buf_span(rows),
		.total = 2};
}

static uint64_t make_records(struct buf *out, size_t size)
{
	struct buf rows = BUF_INIT;
	uint64_t count = 0;
	char text[64];

	for (uint64_t i = 0; out->len < size; i++) {
		struct record_stmt stmt;
		struct record_result result;

		stmt_fill(&stmt, i, text);
		stmt.seq = 2 * i + 1;
		record_stmt_pack(out, &stmt);
		result_fill(&result, i, &rows);
		result.seq = 2 * i + 2;
		record_result_pack(out, &result);
		count += 2;
	}
	buf_release(&rows);
	return count;
}

static void bench_decode(size_t size)
{
	static const struct {
		const char *name;
		void (*decode)(struct span, struct sum *);
		bool comparable;
	} ways[] = {
		{"msgpack_unpack_next", decode_objects, true},
		{"msgpack callback template", decode_callback, true},
		{"cursor, object by object", decode_cursor, true},
		{"cursor, into record structs", decode_records, false},
		{"cursor, mp_skip", decode_skip, false},
	};
	struct buf bytes = BUF_INIT;
	struct sum first = {0};
	double base = 0;
	uint64_t records = make_records(&bytes, size);

	printf("decoding %zu MB, %.0f bytes a record\n", bytes.len >> 20,
		(double)bytes.len / (double)records);
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct sum sum;
		double ns = best_of(ways[i].decode, buf_span(&bytes), &sum);

		if (!i) {
			base = ns;
			first = sum;
		} else if (ways[i].comparable) {
			CHECK(memcmp(&sum, &first, sizeof(sum)) == 0);
		}
		printf("  %-28s %6.2f GB/s %7.1f ns/record  %5.2f x\n", ways[i].name,
			(double)bytes.len / ns, ns / (double)records, base / ns);
	}
	buf_release(&bytes);
}

/* ---- the writer ---- */

struct emitter {
	struct trace_writer *writer;
	uint64_t count;
	uint64_t cpu, wall_max;
};

static void *emit(void *arg)
{
	struct emitter *emitter = arg;
	struct trace_producer *producer = trace_producer_open(emitter->writer);
	struct buf rows = BUF_INIT;
	struct record_stmt stmt;
	struct record_result result;
	uint64_t start;
	char text[64];

	stmt_fill(&stmt, 7, text);
	result_fill(&result, 7, &rows);
	stmt.at = result.at = 1; /* the recorder has read the clock already */
	start = cpu_ns();
	for (uint64_t i = 0; i < emitter->count; i += 2) {
		trace_emit_stmt(producer, &stmt);
		trace_emit_result(producer, &result);
	}
	emitter->cpu = cpu_ns() - start;
	/* Again, looking at the clock: how long does the longest call take? */
	for (uint64_t i = 0; i < emitter->count / 4; i++) {
		uint64_t took, before = clock_mono_ns();

		trace_emit_stmt(producer, &stmt);
		took = clock_mono_ns() - before;
		emitter->wall_max = took > emitter->wall_max ? took : emitter->wall_max;
	}
	trace_producer_close(producer);
	buf_release(&rows);
	return NULL;
}

static void bench_emit(unsigned threads, uint64_t count, const char *path)
{
	struct trace_writer_options options;
	struct trace_writer_stats stats;
	struct emitter emitters[4] = {0};
	pthread_t handles[4];
	struct trace_writer *writer;
	struct err err;
	uint64_t cpu = 0, worst = 0;

	trace_writer_defaults(&options);
	options.policy = TRACE_POLICY_WAIT;
	options.wait_ms_max = 60000;
	options.sync = TRACE_SYNC_NEVER;
	options.overwrite = true;
	writer = trace_writer_open(path, &options, &err);
	if (!writer) {
		printf("%s\n", err.text);
		exit(1);
	}
	for (unsigned i = 0; i < threads; i++) {
		emitters[i] = (struct emitter){.writer = writer, .count = count / threads};
		pthread_create(&handles[i], NULL, emit, &emitters[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(handles[i], NULL);
		cpu += emitters[i].cpu;
		worst = emitters[i].wall_max > worst ? emitters[i].wall_max : worst;
	}
	trace_writer_stats(writer, &stats);
	CHECK(trace_writer_close(writer, &err));
	printf("  %u producer%s %6.1f ns CPU a record, longest call %.2f ms, waited %.0f ms\n",
		threads, threads == 1 ? ": " : "s:", (double)cpu / (double)count,
		(double)worst / 1e6, (double)stats.waited_ns / 1e6);
}

/* What packing alone costs, without locks, counters and blocks. */
static double bench_pack(uint64_t count)
{
	struct buf out = BUF_INIT, rows = BUF_INIT;
	struct record_stmt stmt;
	struct record_result result;
	char text[64];
	uint64_t start;

	stmt_fill(&stmt, 7, text);
	result_fill(&result, 7, &rows);
	start = cpu_ns();
	for (uint64_t i = 0; i < count; i += 2) {
		record_stmt_pack(&out, &stmt);
		record_result_pack(&out, &result);
		if (out.len > 128 * 1024)
			out.len = 0;
	}
	start = cpu_ns() - start;
	buf_release(&out);
	buf_release(&rows);
	return (double)start / (double)count;
}

/* ---- the reader ---- */

static void bench_read(const char *path, bool ordered, bool blocks)
{
	struct trace_reader_options options = {.ordered = ordered};
	struct trace_reader *reader;
	struct trace_totals totals;
	struct trace_block block;
	struct trace_item item;
	struct err err;
	uint64_t start = cpu_ns();

	reader = trace_reader_open(path, &options, &err);
	CHECK(reader);
	if (blocks) {
		while (trace_next_block(reader, &block, &err) == TRACE_NEXT_OK)
			;
	} else {
		while (trace_next_item(reader, &item, &err) == TRACE_NEXT_OK)
			;
	}
	start = cpu_ns() - start;
	trace_reader_totals(reader, &totals);
	CHECK(totals.clean);
	printf("  %-28s %6.2f GB/s of records %7.1f ns/record\n",
		blocks    ? "blocks"
		: ordered ? "items, by seq"
			  : "items, as they stand",
		(double)totals.bytes_raw / (double)start, (double)start / (double)totals.records);
	trace_reader_close(reader);
}

int main(int argc, char **argv)
{
	size_t size = (argc > 1 ? (size_t)atoi(argv[1]) : 64) << 20;
	const char *path = "bench_trace.itr";

	bench_decode(size);
	printf("emitting %zu records\n", size / 64);
	printf("  packing alone: %6.1f ns CPU a record\n", bench_pack(size / 64));
	for (unsigned threads = 1; threads <= 4; threads *= 2)
		bench_emit(threads, size / 64, path);
	printf("reading the last file\n");
	bench_read(path, false, true);
	bench_read(path, false, false);
	bench_read(path, true, false);
	unlink(path);
	return 0;
}
