/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The msgpack cursor against msgpack-c: what one reads the other reads, and what one refuses the
 * other refuses, on random objects, on random bytes and on spoilt objects.  And what we put is what
 * msgpack-c packs, to the byte.
 */
#include "unit.h"

#include <malloc.h>
#include <math.h>
#include <msgpack.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "random.h"
#include "trace/msgpack_cursor.h"
#include "trace/msgpack_put.h"
#include "trace/value.h"
#include "trace_util.h"

/* ---- random objects ---- */

static void random_bytes(struct random *random, msgpack_packer *pk, bool text)
{
	char bytes[70000];
	static const uint32_t sizes[] = {0, 1, 31, 32, 255, 256, 65535, 65536};
	size_t len = random_below(random, 40);

	if (random_below(random, 200) == 0)
		len = sizes[random_below(random, 8)];
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)random_next(random);
	if (text) {
		msgpack_pack_str(pk, len);
		msgpack_pack_str_body(pk, bytes, len);
	} else {
		msgpack_pack_bin(pk, len);
		msgpack_pack_bin_body(pk, bytes, len);
	}
}

static void random_ext(struct random *random, msgpack_packer *pk)
{
	static const uint32_t sizes[] = {0, 1, 2, 4, 8, 16, 17, 255, 256, 65535, 65536};
	size_t len = sizes[random_below(random, random_below(random, 50) ? 8 : 11)];
	char bytes[65536];

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)random_next(random);
	msgpack_pack_ext(pk, len, (int8_t)random_next(random));
	msgpack_pack_ext_body(pk, bytes, len);
}

static void random_object(struct random *random, msgpack_packer *pk, int depth)
{
	uint64_t word = random_next(random) >> random_below(random, 64);
	size_t count = random_below(random, 4);

	switch (random_below(random, depth > 0 ? 13 : 11)) {
	case 0:
		msgpack_pack_nil(pk);
		return;
	case 1:
		msgpack_pack_true(pk);
		return;
	case 2:
		msgpack_pack_false(pk);
		return;
	case 3:
		msgpack_pack_uint64(pk, word);
		return;
	case 4:
		msgpack_pack_int64(pk, -(int64_t)(word >> 1));
		return;
	case 5:
		/* Forms longer than needed are allowed, and read the same. */
		msgpack_pack_fix_int64(pk, (int64_t)word);
		return;
	case 6:
		msgpack_pack_fix_uint32(pk, (uint32_t)word);
		return;
	case 7:
		msgpack_pack_double(pk, (double)word / 3);
		return;
	case 8:
		msgpack_pack_float(pk, (float)word / 3);
		return;
	case 9:
		random_bytes(random, pk, random_below(random, 2));
		return;
	case 10:
		random_ext(random, pk);
		return;
	case 11:
		if (random_below(random, 100) == 0)
			count = 15 + random_below(random, 4);
		if (random_below(random, 3000) == 0)
			count = 65534 + random_below(random, 4);
		msgpack_pack_array(pk, count);
		for (size_t i = 0; i < count; i++)
			random_object(random, pk, count > 100 ? 0 : depth - 1);
		return;
	default:
		if (random_below(random, 100) == 0)
			count = 15 + random_below(random, 4);
		msgpack_pack_map(pk, count);
		for (size_t i = 0; i < 2 * count; i++)
			random_object(random, pk, depth - 1);
	}
}

/* ---- comparison ---- */

static void same_bytes(struct span ours, const char *ptr, size_t len)
{
	EQUAL(ours.len, len);
	if (len)
		HOLDS((const void *)ours.ptr == (const void *)ptr); /* both point into the input */
}

static void same_object(struct mp *mp, const msgpack_object *object)
{
	enum mp_type peeked = mp_peek(mp);
	struct mp_object head;

	HOLDS(mp_next(mp, &head));
	HOLDS(peeked == head.type || (peeked == MP_INT && head.type == MP_UINT));
	switch (object->type) {
	case MSGPACK_OBJECT_NIL:
		EQUAL(head.type, MP_NIL);
		return;
	case MSGPACK_OBJECT_BOOLEAN:
		EQUAL(head.type, MP_BOOL);
		EQUAL(head.b, object->via.boolean);
		return;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		EQUAL(head.type, MP_UINT);
		EQUAL(head.u, object->via.u64);
		return;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		EQUAL(head.type, MP_INT);
		EQUAL(head.i, object->via.i64);
		return;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		EQUAL(head.type, object->type == MSGPACK_OBJECT_FLOAT32 ? MP_FLOAT32 : MP_FLOAT64);
		HOLDS(isnan(head.d) ? isnan(object->via.f64)
				    : memcmp(&head.d, &object->via.f64, sizeof(head.d)) == 0);
		return;
	case MSGPACK_OBJECT_STR:
		EQUAL(head.type, MP_STR);
		same_bytes(head.bytes, object->via.str.ptr, object->via.str.size);
		return;
	case MSGPACK_OBJECT_BIN:
		EQUAL(head.type, MP_BIN);
		same_bytes(head.bytes, object->via.bin.ptr, object->via.bin.size);
		return;
	case MSGPACK_OBJECT_EXT:
		EQUAL(head.type, MP_EXT);
		EQUAL(head.ext_type, object->via.ext.type);
		same_bytes(head.bytes, object->via.ext.ptr, object->via.ext.size);
		return;
	case MSGPACK_OBJECT_ARRAY:
		EQUAL(head.type, MP_ARRAY);
		EQUAL(head.count, object->via.array.size);
		for (uint32_t i = 0; i < head.count; i++)
			same_object(mp, &object->via.array.ptr[i]);
		return;
	case MSGPACK_OBJECT_MAP:
		EQUAL(head.type, MP_MAP);
		EQUAL(head.count, object->via.map.size);
		for (uint32_t i = 0; i < head.count; i++) {
			same_object(mp, &object->via.map.ptr[i].key);
			same_object(mp, &object->via.map.ptr[i].val);
		}
		return;
	}
	ck_abort_msg("an object type that msgpack-c does not have");
}

/* The typed readers take what mp_next takes, and leave the cursor and set bad on all else. */
static void same_typed(struct span bytes)
{
	struct mp at = mp_over(bytes), mp;
	struct mp_object head;
	bool ok = mp_next(&at, &head), nil = ok && head.type == MP_NIL, fits;
	struct value value;
	uint64_t u;
	int64_t i;
	bool b;

	mp = mp_over(bytes);
	fits = ok && (nil || head.type == MP_UINT);
	u = mp_uint(&mp);
	EQUAL(mp.bad, !fits);
	HOLDS((const void *)mp.p == (const void *)(fits ? at.p : (const unsigned char *)bytes.ptr));
	EQUAL(u, fits && !nil ? head.u : 0);

	mp = mp_over(bytes);
	fits = ok && (nil || head.type == MP_INT || (head.type == MP_UINT && head.u <= INT64_MAX));
	i = mp_int(&mp);
	EQUAL(mp.bad, !fits);
	EQUAL(i, fits && !nil ? head.i : 0);

	mp = mp_over(bytes);
	fits = ok && (nil || head.type == MP_BOOL);
	b = mp_bool(&mp);
	EQUAL(mp.bad, !fits);
	EQUAL(b, fits && !nil && head.b);

	mp = mp_over(bytes);
	fits = ok && (nil || head.type == MP_STR || head.type == MP_BIN);
	HOLDS(span_eq(mp_bytes(&mp), fits && !nil ? head.bytes : SPAN_NONE));
	EQUAL(mp.bad, !fits);
	HOLDS((const void *)mp.p == (const void *)(fits ? at.p : (const unsigned char *)bytes.ptr));

	mp = mp_over(bytes);
	fits = ok && (nil || head.type == MP_ARRAY);
	EQUAL(mp_array(&mp), fits ? head.count : 0);
	EQUAL(mp.bad, !fits);

	mp = mp_over(bytes);
	fits = ok && (nil || head.type == MP_MAP);
	EQUAL(mp_map(&mp), fits ? head.count : 0);
	EQUAL(mp.bad, !fits);

	mp = mp_over(bytes);
	if (value_read(&mp, &value))
		HOLDS(ok && head.type != MP_ARRAY && head.type != MP_MAP);
	/* After damage everything reads as nothing. */
	mp = mp_over(bytes);
	mp.bad = true;
	EQUAL(mp_uint(&mp), 0);
	HOLDS((const void *)mp_bytes(&mp).ptr == (const void *)NULL);
	HOLDS(!mp_skip(&mp));
	HOLDS((const void *)mp.p == (const void *)bytes.ptr);
}

static int object_depth(struct mp *mp)
{
	struct mp_object head;
	int deepest = 0;
	uint64_t inner;

	if (!mp_next(mp, &head))
		return 0;
	inner = head.type == MP_ARRAY ? head.count
		: head.type == MP_MAP ? 2 * (uint64_t)head.count
				      : 0;
	for (uint64_t i = 0; i < inner && !mp->bad; i++) {
		int depth = 1 + object_depth(mp);

		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

/* One object out of any bytes.  msgpack-c is not shown what it cannot bear: it reserves memory for
 * the element counts of array 32 and map 32 before it has seen the elements. */
static void same_verdict(struct span bytes)
{
	struct mp mp = mp_over(bytes), walk = mp_over(bytes);
	bool ok = mp_skip(&mp);
	msgpack_unpacked unpacked;
	msgpack_unpack_return result;
	size_t offset = 0;

	same_typed(bytes);
	if (!ok) {
		HOLDS(mp.bad);
		HOLDS((const void *)mp.p == (const void *)bytes.ptr);
		if (memchr(bytes.ptr, 0xdd, bytes.len) || memchr(bytes.ptr, 0xdf, bytes.len))
			return;
	}
	msgpack_unpacked_init(&unpacked);
	result = msgpack_unpack_next(&unpacked, bytes.ptr, bytes.len, &offset);
	if (result == MSGPACK_UNPACK_NOMEM_ERROR) {
		/* It nests 32 deep at most; we do not care. */
		HOLDS(!ok || object_depth(&walk) >= 32);
	} else {
		EQUAL(ok, result == MSGPACK_UNPACK_SUCCESS);
	}
	if (result == MSGPACK_UNPACK_SUCCESS) {
		EQUAL(offset, (size_t)((const char *)mp.p - bytes.ptr));
		same_object(&walk, &unpacked.data);
		HOLDS((const void *)walk.p == (const void *)mp.p);
	}
	msgpack_unpacked_destroy(&unpacked);
}

/* In memory of exactly its size, so that a sanitizer sees a byte read too far. */
static void same_verdict_exact(const char *ptr, size_t len)
{
	char *copy = malloc(len ? len : 1);

	memcpy(copy, ptr, len);
	same_verdict(span_of(copy, len));
	free(copy);
}

START_TEST(reads_what_msgpack_c_packs)
{
	struct random random = {1};

	for (int i = 0; i < 60000; i++) {
		msgpack_sbuffer out;
		msgpack_packer pk;

		msgpack_sbuffer_init(&out);
		msgpack_packer_init(&pk, &out, msgpack_sbuffer_write);
		random_object(&random, &pk, 5);
		same_verdict_exact(out.data, out.size);
		msgpack_sbuffer_destroy(&out);
	}
}
END_TEST

START_TEST(refuses_what_msgpack_c_refuses)
{
	struct random random = {2};

	for (int i = 0; i < 200000; i++) {
		msgpack_sbuffer out;
		msgpack_packer pk;
		size_t len, spoils = random_below(&random, 4);

		msgpack_sbuffer_init(&out);
		msgpack_packer_init(&pk, &out, msgpack_sbuffer_write);
		do
			random_object(&random, &pk, 3);
		while (random_below(&random, 2));
		len = out.size < 300 ? out.size : 300;
		for (size_t k = 0; k < spoils; k++)
			out.data[random_below(&random, len)] = (char)random_next(&random);
		same_verdict_exact(
			out.data, random_below(&random, 3) ? len : random_below(&random, len));
		msgpack_sbuffer_destroy(&out);
	}
}
END_TEST

START_TEST(random_bytes_agree)
{
	struct random random = {3};

	for (int i = 0; i < 300000; i++) {
		char bytes[24];
		size_t len = random_below(&random, sizeof(bytes));

		for (size_t k = 0; k < len; k++)
			bytes[k] = (char)random_next(&random);
		same_verdict_exact(bytes, len);
	}
}
END_TEST

/* Every first byte with every number of bytes after it. */
START_TEST(every_first_byte_agrees)
{
	for (int first = 0; first < 256; first++) {
		for (size_t len = 1; len < 40; len++) {
			char bytes[40] = {0};

			bytes[0] = (char)first;
			same_verdict_exact(bytes, len);
			bytes[1] = 3;
			bytes[len - 1] = (char)first;
			same_verdict_exact(bytes, len);
		}
	}
}
END_TEST

/* 8 bytes that made msgpack-c ask for 8 GB, and their like. */
START_TEST(forged_lengths_cost_nothing)
{
	static const struct span forged[] = {
		{"\xdd\x0f\xff\xff\xff\x01\x02\x03", 8},
		{"\xdf\x7f\xff\xff\xff\x01\x02\x03", 8},
		{"\xdd\xff\xff\xff\xff\xc0\xc0\xc0", 8},
		{"\xc6\xff\xff\xff\xff", 5},
		{"\xdb\xff\xff\xff\xff\x61", 6},
		{"\xc9\xff\xff\xff\xff\x01", 6},
		{"\xdc\xff\xff\xdc\xff\xff", 6},
	};

	for (size_t i = 0; i < ARRAY_LEN(forged); i++) {
		struct mp mp = mp_over(forged[i]);
		struct mp_object head;

		HOLDS(!mp_skip(&mp));
		mp = mp_over(forged[i]);
		HOLDS(!mp_next(&mp, &head));
		EQUAL(head.type, MP_BAD);
	}
}
END_TEST

START_TEST(deep_nesting_is_skipped)
{
	enum { DEPTH = 2000000 };
	char *bytes = malloc(DEPTH + 1);
	struct mp mp;

	memset(bytes, 0x91, DEPTH);
	bytes[DEPTH] = 1;
	mp = mp_over(span_of(bytes, DEPTH + 1));
	HOLDS(mp_skip(&mp));
	EQUAL(mp_left(&mp), 0);
	mp = mp_over(span_of(bytes, DEPTH));
	HOLDS(!mp_skip(&mp));
	free(bytes);
}
END_TEST

/* ---- putting ---- */

/* Empties what was packed. */
static bool same(msgpack_packer *pk, const char *start, const char *end)
{
	msgpack_sbuffer *packed = (msgpack_sbuffer *)pk->data;
	size_t len = (size_t)(end - start);
	bool equal = packed->size == len && memcmp(packed->data, start, len) == 0;

	msgpack_sbuffer_clear(packed);
	return equal;
}

#define SAME_BYTES(pack, put)                                                                      \
	do {                                                                                       \
		pack;                                                                              \
		UNIT_REQUIRE(same(pk, bytes, put));                                                \
	} while (0)

static void put_numbers(msgpack_packer *pk, uint64_t word)
{
	char bytes[16];
	double number;

	memcpy(&number, &word, sizeof(number));
	SAME_BYTES(msgpack_pack_uint64(pk, word), mp_put_uint(bytes, word));
	SAME_BYTES(msgpack_pack_int64(pk, (int64_t)word), mp_put_int(bytes, (int64_t)word));
	SAME_BYTES(msgpack_pack_double(pk, number), mp_put_double(bytes, number));
	SAME_BYTES(msgpack_pack_float(pk, (float)word), mp_put_float(bytes, (float)word));
}

static void put_heads(msgpack_packer *pk, uint32_t len)
{
	char bytes[16];

	SAME_BYTES(msgpack_pack_str(pk, len), mp_put_str_head(bytes, len));
	SAME_BYTES(msgpack_pack_bin(pk, len), mp_put_bin_head(bytes, len));
	SAME_BYTES(msgpack_pack_array(pk, len), mp_put_array_head(bytes, len));
	SAME_BYTES(msgpack_pack_ext(pk, len, -7), mp_put_ext_head(bytes, -7, len));
}

START_TEST(puts_what_msgpack_c_packs)
{
	struct random random = {7};
	msgpack_sbuffer packed;
	msgpack_packer packer, *pk = &packer;
	char bytes[16];

	msgpack_sbuffer_init(&packed);
	msgpack_packer_init(pk, &packed, msgpack_sbuffer_write);
	SAME_BYTES(msgpack_pack_nil(pk), mp_put_nil(bytes));
	SAME_BYTES(msgpack_pack_true(pk), mp_put_bool(bytes, true));
	SAME_BYTES(msgpack_pack_false(pk), mp_put_bool(bytes, false));
	/* Around every power of two, where the forms change, and anywhere. */
	for (unsigned bit = 0; bit < 64; bit++) {
		for (uint64_t off = 0; off < 5; off++) {
			uint64_t word = (UINT64_C(1) << bit) + off - 2;

			put_numbers(pk, word);
			put_numbers(pk, 0 - word);
			put_heads(pk, (uint32_t)word);
		}
	}
	for (int i = 0; i < 100000; i++) {
		uint64_t word = random_next(&random) >> random_below(&random, 64);

		put_numbers(pk, word);
		put_numbers(pk, ~word);
		put_heads(pk, (uint32_t)word);
	}
	msgpack_sbuffer_destroy(&packed);
}
END_TEST

/* Of every length and place: a sanitizer sees a byte read too far. */
START_TEST(puts_short_bytes)
{
	for (size_t len = 0; len < 300; len++) {
		for (size_t off = 0; off < 17; off++) {
			char *from = mem_alloc(off + len), *to = mem_alloc(off + len + 2);

			for (size_t i = 0; i < off + len; i++)
				from[i] = (char)(i * 7 + len);
			memset(to, 0x5a, off + len + 2);
			ck_assert_ptr_eq(mp_put_short(to + off + 1, from + off, len), to + off + 1 + len);
			ck_assert_mem_eq(to + off + 1, from + off, len);
			for (size_t i = 0; i <= off; i++)
				ck_assert_int_eq(to[i], 0x5a);
			ck_assert_int_eq(to[off + 1 + len], 0x5a);
			free(from);
			free(to);
		}
	}
}
END_TEST

/* msgpack-c asks for a new zone for each object, of 1.5 MB for a forged array 16: without mmap. */
__attribute__((constructor)) static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 26);
	mallopt(M_TRIM_THRESHOLD, 1 << 28);
}

UNIT_MAIN("trace_cursor", reads_what_msgpack_c_packs, refuses_what_msgpack_c_refuses,
	random_bytes_agree, every_first_byte_agrees, forged_lengths_cost_nothing,
	deep_nesting_is_skipped, puts_what_msgpack_c_packs, puts_short_bytes)
