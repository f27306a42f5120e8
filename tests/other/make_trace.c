/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a trace with records of every kind and fields of every shape, for readers to agree on.
 *
 *	make_trace PATH SEED RECORDS [SEGMENT_SIZE]
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "trace/pack.h"
#include "trace/value.h"
#include "trace/writer.h"

enum { THREADS = 3 };

struct maker {
	struct trace_writer *writer;
	struct random random;
	uint64_t records;
	char text[512]; /* what str fields point to */
	struct buf raw[16];
	size_t raw_used;
};

static uint64_t random_u64(struct maker *maker)
{
	return random_next(&maker->random) >> random_below(&maker->random, 64);
}

static uint32_t random_u32(struct maker *maker)
{
	return (uint32_t)random_u64(maker) >> random_below(&maker->random, 32);
}

static uint8_t random_u8(struct maker *maker)
{
	return (uint8_t)random_below(&maker->random, 4);
}

static bool random_flag(struct maker *maker)
{
	return random_below(&maker->random, 2);
}

/* Mostly ASCII, some UTF-8, some bytes that are neither. */
static struct span random_str(struct maker *maker)
{
	size_t len = random_below(&maker->random, 30);
	char *start = maker->text + random_below(&maker->random, sizeof(maker->text) - 64);

	switch (random_below(&maker->random, 8)) {
	case 0:
		return SPAN_NONE;
	case 1:
		return SPAN_LIT(
			"Zo\xc3\xab \xe2\x82\xac \xf0\x9f\x98\x80 \"quoted\" \\ \x01\x1f\x7f");
	case 2:
		start[0] = (char)random_next(&maker->random);
		start[1] = (char)0xff;
		start[2] = (char)0xed;
		return span_of(start, len);
	default:
		for (size_t i = 0; i < len; i++)
			start[i] = (char)(' ' + random_below(&maker->random, 95));
		return span_of(start, len);
	}
}

#define random_bin random_str

static void pack_value(struct maker *maker, struct buf *out)
{
	static const enum value_type types[] = {VALUE_TEXT, VALUE_BYTES, VALUE_DECIMAL, VALUE_DATE,
		VALUE_DATETIME, VALUE_TIME, VALUE_JSON, VALUE_BIT, VALUE_GEOMETRY, VALUE_HASHED,
		VALUE_CUT, VALUE_DROPPED};
	struct value value = {.type = VALUE_NULL};
	union {
		uint64_t u;
		double d;
	} bits = {.u = random_next(&maker->random)};

	switch (random_below(&maker->random, 8)) {
	case 0:
		break;
	case 1:
		value = value_int(
			(int64_t)random_next(&maker->random) >> random_below(&maker->random, 64));
		break;
	case 2:
		value = value_uint(random_u64(maker));
		break;
	case 3:
		value.type = VALUE_DOUBLE;
		value.d = random_flag(maker) ? bits.d : (double)(int64_t)bits.u / 1024;
		break;
	case 4:
		value.type = VALUE_FLOAT;
		value.d = (double)(float)random_u32(maker) / 7;
		value.d = (double)(float)value.d;
		break;
	default:
		value = value_bytes(types[random_below(&maker->random, 12)], random_str(maker));
	}
	value_pack(out, &value);
}

static void pack_any(struct maker *maker, struct buf *out, int depth)
{
	msgpack_packer pk = pack_into(out);
	uint64_t count = random_below(&maker->random, 5);
	char key[32];

	switch (random_below(&maker->random, depth > 5 ? 2 : 6)) {
	case 0:
		if (random_below(&maker->random, 10) == 0) {
			/* An extension that no reader knows. */
			msgpack_pack_ext(&pk, 3, 99);
			msgpack_pack_ext_body(&pk, "abc", 3);
		} else {
			pack_bool(&pk, random_flag(maker));
		}
		return;
	case 1:
	case 2:
		pack_value(maker, out);
		return;
	case 3:
		msgpack_pack_map(&pk, count);
		for (uint64_t i = 0; i < count; i++) {
			if (random_below(&maker->random, 4) == 0) {
				pack_uint(&pk, 1000 + i);
			} else {
				snprintf(key, sizeof(key), "key %d", (int)i);
				if (random_below(&maker->random, 4) == 0)
					key[0] = (char)0xfe;
				pack_str(&pk, span_str(key));
			}
			pack_any(maker, out, depth + 1);
		}
		return;
	default:
		msgpack_pack_array(&pk, count);
		for (uint64_t i = 0; i < count; i++)
			pack_any(maker, out, depth + 1);
	}
}

static struct span random_raw(struct maker *maker)
{
	struct buf *buf = &maker->raw[maker->raw_used++ % ARRAY_LEN(maker->raw)];

	buf_clear(buf);
	if (random_below(&maker->random, 300) == 0) {
		/* Deeper than any command shows. */
		memset(buf_reserve(buf, 40), 0x91, 40);
		buf->len += 40;
		buf_add_char(buf, 7);
		return buf_span(buf);
	}
	pack_any(maker, buf, 0);
	return buf->data[0] == (char)0xc0 ? SPAN_NONE : buf_span(buf);
}

#define FILL(type, name) record.name = random_##type(maker);
#define DEFINE(lower, upper)                                                                       \
	static void make_##lower(struct maker *maker, struct trace_producer *producer)             \
	{                                                                                          \
		struct record_##lower record;                                                      \
                                                                                                   \
		memset(&record, 0, sizeof(record));                                                \
		RECORD_##upper##_FIELDS(FILL) record.seq = 0;                                      \
		record.at = 0;                                                                     \
		trace_emit_##lower(producer, &record);                                             \
	}
TRACE_EMIT_KINDS(DEFINE)

static void *make(void *arg)
{
	static void (*const kinds[])(struct maker *, struct trace_producer *) = {
#define LIST(lower, upper) make_##lower,
		TRACE_EMIT_KINDS(LIST)};
	struct maker *maker = arg;
	struct trace_producer *producer = trace_producer_open(maker->writer);

	for (uint64_t i = 0; i < maker->records; i++)
		kinds[random_below(&maker->random, ARRAY_LEN(kinds))](maker, producer);
	trace_producer_close(producer);
	return NULL;
}

int main(int argc, char **argv)
{
	struct trace_writer_options options;
	static const char *const facts[] = {"host", "somewhere", "options", "--all", NULL};
	struct maker makers[THREADS];
	pthread_t threads[THREADS];
	struct trace_writer *writer;
	struct err err;

	if (argc < 4) {
		fprintf(stderr, "usage: make_trace PATH SEED RECORDS [SEGMENT_SIZE]\n");
		return 2;
	}
	trace_writer_defaults(&options);
	options.block_size = 2048;
	options.facts = facts;
	options.compression_level = atoi(argv[2]) % 2;
	options.segment_size_max = argc > 4 ? (uint64_t)atoi(argv[4]) : 0;
	writer = trace_writer_open(argv[1], &options, &err);
	if (!writer) {
		fprintf(stderr, "%s\n", err.text);
		return 4;
	}
	memset(makers, 0, sizeof(makers));
	for (int i = 0; i < THREADS; i++) {
		makers[i].writer = writer;
		makers[i].random.state = (uint64_t)atoi(argv[2]) * 100 + (uint64_t)i;
		makers[i].records = (uint64_t)atoi(argv[3]);
		pthread_create(&threads[i], NULL, make, &makers[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		for (size_t k = 0; k < ARRAY_LEN(makers[i].raw); k++)
			buf_release(&makers[i].raw[k]);
	}
	if (!trace_writer_close(writer, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 4;
	}
	return 0;
}
