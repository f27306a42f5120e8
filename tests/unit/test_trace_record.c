/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every record kind: packed, read back and compared field by field, with msgpack-c as the second
 * reader; records of older writers (fewer fields) and of newer ones (more fields); values.
 */
#include "unit.h"

#include <math.h>
#include <msgpack.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "random.h"
#include "sql/text/refused.h"
#include "trace/pack.h"
#include "trace/record.h"
#include "trace/value.h"
#include "trace_util.h"

/* ---- random fields ---- */

struct pool {
	struct random random;
	char bytes[4096]; /* what str and bin fields point to */
	struct buf raw[32];
	size_t raw_used;
};

static uint64_t random_u64(struct pool *pool)
{
	return random_next(&pool->random) >> random_below(&pool->random, 64);
}

static uint32_t random_u32(struct pool *pool)
{
	return (uint32_t)random_u64(pool);
}

static uint8_t random_u8(struct pool *pool)
{
	return (uint8_t)random_u64(pool);
}

static bool random_flag(struct pool *pool)
{
	return random_below(&pool->random, 2);
}

static struct span random_str(struct pool *pool)
{
	size_t len = random_below(&pool->random, random_below(&pool->random, 5) ? 40 : 600);

	if (random_below(&pool->random, 6) == 0)
		return SPAN_NONE;
	return span_of(pool->bytes + random_below(&pool->random, sizeof(pool->bytes) - len), len);
}

#define random_bin random_str

static struct span random_raw(struct pool *pool)
{
	struct buf *buf = &pool->raw[pool->raw_used++ % ARRAY_LEN(pool->raw)];
	msgpack_packer pk = pack_into(buf);
	size_t count = random_below(&pool->random, 20);

	if (random_below(&pool->random, 6) == 0)
		return SPAN_NONE;
	buf_clear(buf);
	msgpack_pack_array(&pk, count);
	for (size_t i = 0; i < count; i++) {
		if (i % 3)
			pack_str(&pk, random_str(pool));
		else
			pack_uint(&pk, random_u64(pool));
	}
	return buf_span(buf);
}

static void pool_init(struct pool *pool, uint64_t seed)
{
	memset(pool, 0, sizeof(*pool));
	pool->random.state = seed;
	for (size_t i = 0; i < sizeof(pool->bytes); i++)
		pool->bytes[i] = (char)random_next(&pool->random);
}

static void pool_release(struct pool *pool)
{
	for (size_t i = 0; i < ARRAY_LEN(pool->raw); i++)
		buf_release(&pool->raw[i]);
}

/* ---- comparison ---- */

static bool same_u64(uint64_t a, uint64_t b)
{
	return a == b;
}
#define same_u32  same_u64
#define same_u8   same_u64
#define same_flag same_u64

static bool same_str(struct span a, struct span b)
{
	return span_eq(a, b) && !a.ptr == !b.ptr;
}
#define same_bin same_str
#define same_raw same_str

/* What msgpack-c sees in the field's place. */
static bool twin_u64(const msgpack_object *object, uint64_t value)
{
	return object->type == MSGPACK_OBJECT_POSITIVE_INTEGER && object->via.u64 == value;
}
#define twin_u32 twin_u64
#define twin_u8  twin_u64

static bool twin_flag(const msgpack_object *object, bool value)
{
	return object->type == MSGPACK_OBJECT_BOOLEAN && object->via.boolean == value;
}

static bool twin_str(const msgpack_object *object, struct span value)
{
	if (!value.ptr)
		return object->type == MSGPACK_OBJECT_NIL;
	return object->type == MSGPACK_OBJECT_STR &&
	       span_eq(span_of(object->via.str.ptr, object->via.str.size), value);
}

static bool twin_bin(const msgpack_object *object, struct span value)
{
	if (!value.ptr)
		return object->type == MSGPACK_OBJECT_NIL;
	return object->type == MSGPACK_OBJECT_BIN &&
	       span_eq(span_of(object->via.bin.ptr, object->via.bin.size), value);
}

static bool twin_raw(const msgpack_object *object, struct span value)
{
	msgpack_unpacked unpacked;
	size_t offset = 0;
	bool same;

	if (!value.ptr)
		return object->type == MSGPACK_OBJECT_NIL;
	msgpack_unpacked_init(&unpacked);
	same = msgpack_unpack_next(&unpacked, value.ptr, value.len, &offset) ==
		       MSGPACK_UNPACK_SUCCESS &&
	       offset == value.len && msgpack_object_equal(unpacked.data, *object);
	msgpack_unpacked_destroy(&unpacked);
	return same;
}

#define HOLDS_SAY(cond, ...)                                                                       \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg(__VA_ARGS__);                                                 \
	} while (0)
#define FILL(type, name) record.name = random_##type(pool);
#define SAME(type, name) HOLDS_SAY(same_##type(back.name, record.name), "field " #name " differs");
#define TWIN(type, name)                                                                           \
	HOLDS_SAY(twin_##type(&fields[field], record.name), "msgpack-c: field " #name);            \
	field++;
/* Fields that an older writer did not have read as nothing. */
#define OLDER(type, name)                                                                          \
	HOLDS_SAY(field++ < kept ? same_##type(back.name, record.name)                             \
				 : same_##type(back.name, none.name),                              \
		"of %u fields, " #name " differs", kept);

/* The record's bytes with another number of fields: `kept` of its own, then `more` new ones. */
static void refit(struct buf *out, struct span packed, uint32_t kept, uint32_t more)
{
	struct mp mp = mp_over(packed);
	msgpack_packer pk = pack_into(out);
	const unsigned char *fields;
	uint32_t kind, left;

	HOLDS(record_begin(&mp, &kind, &left));
	fields = mp.p;
	HOLDS(record_skip_fields(&mp, kept));
	msgpack_pack_array(&pk, 1 + kept + more);
	pack_uint(&pk, kind);
	buf_add(out, fields, (size_t)(mp.p - fields));
	for (uint32_t i = 0; i < more; i++) {
		msgpack_pack_array(&pk, 2);
		pack_str(&pk, SPAN_LIT("of the future"));
		pack_bool(&pk, true);
	}
}

#define DEFINE(lower, upper)                                                                       \
	static void check_##lower(struct pool *pool)                                               \
	{                                                                                          \
		struct record_##lower record, back, none;                                          \
		struct buf packed = BUF_INIT, other = BUF_INIT;                                    \
		uint32_t kind = 99, left = 0, all, field = 1;                                      \
		msgpack_unpacked unpacked;                                                         \
		const msgpack_object *fields;                                                      \
		size_t offset = 0;                                                                 \
		struct mp mp;                                                                      \
                                                                                                   \
		memset(&record, 0, sizeof(record));                                                \
		memset(&none, 0, sizeof(none));                                                    \
		RECORD_##upper##_FIELDS(FILL) record_##lower##_pack(&packed, &record);             \
		mp = mp_over(buf_span(&packed));                                                   \
		HOLDS(record_begin(&mp, &kind, &left));                                            \
		EQUAL(kind, RECORD_##upper);                                                       \
		all = left;                                                                        \
		HOLDS(record_##lower##_read(&mp, left, &back));                                    \
		EQUAL(mp_left(&mp), 0);                                                            \
		RECORD_##upper##_FIELDS(SAME)                                                      \
                                                                                                   \
			msgpack_unpacked_init(&unpacked);                                          \
		EQUAL(msgpack_unpack_next(&unpacked, packed.data, packed.len, &offset),            \
			MSGPACK_UNPACK_SUCCESS);                                                   \
		EQUAL(offset, packed.len);                                                         \
		EQUAL(unpacked.data.type, MSGPACK_OBJECT_ARRAY);                                   \
		EQUAL(unpacked.data.via.array.size, all + 1);                                      \
		fields = unpacked.data.via.array.ptr;                                              \
		EQUAL(fields[0].via.u64, RECORD_##upper);                                          \
		RECORD_##upper##_FIELDS(TWIN) msgpack_unpacked_destroy(&unpacked);                 \
                                                                                                   \
		for (uint32_t kept = 0; kept <= all; kept++) {                                     \
			buf_clear(&other);                                                         \
			refit(&other, buf_span(&packed), kept, kept == all ? 3 : 0);               \
			mp = mp_over(buf_span(&other));                                            \
			HOLDS(record_begin(&mp, &kind, &left));                                    \
			HOLDS(record_##lower##_read(&mp, left, &back));                            \
			EQUAL(mp_left(&mp), 0);                                                    \
			field = 0;                                                                 \
			RECORD_##upper##_FIELDS(OLDER)                                             \
		}                                                                                  \
		/* Cut anywhere, it is damage. */                                                  \
		for (size_t len = 0; len < packed.len; len += 1 + len / 16) {                      \
			char *cut = malloc(len ? len : 1);                                         \
                                                                                                   \
			memcpy(cut, packed.data, len);                                             \
			mp = mp_over(span_of(cut, len));                                           \
			HOLDS(!record_begin(&mp, &kind, &left) ||                                  \
				!record_##lower##_read(&mp, left, &back));                         \
			free(cut);                                                                 \
		}                                                                                  \
		buf_release(&packed);                                                              \
		buf_release(&other);                                                               \
	}
RECORD_KINDS(DEFINE)

START_TEST(every_kind_comes_back)
{
	struct pool pool;

	pool_init(&pool, 11);
	for (int i = 0; i < 300; i++) {
#define RUN(lower, upper) check_##lower(&pool);
		RECORD_KINDS(RUN)
	}
	pool_release(&pool);
}
END_TEST

/* Random bytes as fields: nothing but true or false may come of it. */
START_TEST(spoilt_records_are_refused_or_read)
{
	struct pool pool;
	uint64_t accepted = 0;

	pool_init(&pool, 12);
	for (int i = 0; i < 100000; i++) {
		struct record_stmt stmt = {.seq = random_u64(&pool),
			.text = random_str(&pool),
			.params = random_raw(&pool),
			.info = random_str(&pool)};
		struct buf packed = BUF_INIT, text = BUF_INIT;
		struct record_stmt back;
		uint32_t kind, left;
		struct json json;
		struct mp mp;

		record_stmt_pack(&packed, &stmt);
		for (uint64_t k = random_below(&pool.random, 3); k < 3; k++)
			packed.data[random_below(&pool.random, packed.len)] =
				(char)random_next(&pool.random);
		mp = mp_over(buf_span(&packed));
		accepted += record_begin(&mp, &kind, &left) && record_stmt_read(&mp, left, &back);
		mp = mp_over(buf_span(&packed));
		json_init(&json, &text, 0);
		(void)record_json(&json, &mp);
		HOLDS(text.len > 1 && text.data[text.len - 1] == '}');
		HOLDS(utf8_valid(buf_span(&text)));
		buf_release(&packed);
		buf_release(&text);
	}
	ck_assert_uint_gt(accepted, 1000);
	pool_release(&pool);
}
END_TEST

START_TEST(probe_rows_come_back)
{
	static const struct span object[] = {{"\x01", 1}, {"\xa2hi", 3}, {"\x92\x01\x02", 3}};

	for (unsigned bits = 0; bits < 128; bits++) {
		struct probe_row row = {.key = object[0], .version = object[1]}, back;
		struct buf packed = BUF_INIT;
		struct mp mp;

		row.has_previous = bits & 1;
		if ((bits & 3) == 3)
			row.previous = object[0];
		if (bits & 4)
			row.image = object[2];
		if (bits & 8)
			row.op = PROBE_OP_UPDATE;
		if (bits & 16)
			row.old_key = object[1];
		if (bits & 32)
			row.old_image = object[2];
		if (bits & 64)
			row.version = SPAN_NONE;
		probe_row_pack(&packed, &row);
		mp = mp_over(buf_span(&packed));
		HOLDS(probe_row_read(&mp, &back));
		EQUAL(mp_left(&mp), 0);
		HOLDS(same_str(back.key, row.key) && same_str(back.version, row.version));
		EQUAL(back.has_previous, row.has_previous);
		HOLDS(same_str(back.previous, row.previous));
		HOLDS(same_str(back.image, row.image));
		HOLDS(same_str(back.old_key, row.old_key));
		HOLDS(same_str(back.old_image, row.old_image));
		EQUAL(back.op, row.op);
		buf_release(&packed);
	}
}
END_TEST

START_TEST(values_come_back)
{
	const struct value values[] = {
		{.type = VALUE_NULL},
		value_int(-1),
		value_int(INT64_MIN),
		value_uint(0),
		value_uint(UINT64_MAX),
		{.type = VALUE_DOUBLE, .d = 0.1},
		{.type = VALUE_DOUBLE, .d = INFINITY},
		{.type = VALUE_FLOAT, .d = (double)0.1f},
		value_bytes(VALUE_TEXT, SPAN_LIT("a\xff")),
		value_bytes(VALUE_TEXT, SPAN_LIT("")),
		value_bytes(VALUE_BYTES, SPAN_LIT("\0\1\2")),
		value_bytes(VALUE_DECIMAL, SPAN_LIT("-1.50")),
		value_bytes(VALUE_DATE, SPAN_LIT("2026-11-16")),
		value_bytes(VALUE_DATETIME, SPAN_LIT("2026-11-16 01:58:00")),
		value_bytes(VALUE_TIME, SPAN_LIT("-838:59:59")),
		value_bytes(VALUE_JSON, SPAN_LIT("{}")),
		value_bytes(VALUE_BIT, SPAN_LIT("\1\xff")),
		value_bytes(VALUE_GEOMETRY, SPAN_LIT("\0\0\0\0\1")),
		value_bytes(VALUE_HASHED, SPAN_LIT("12345678")),
		value_bytes(VALUE_CUT, SPAN_LIT("\0\0\0\0\0\0\1\0diggestsbegin")),
		value_bytes(VALUE_DROPPED, SPAN_LIT("")),
	};
	struct buf packed = BUF_INIT;
	struct value back;
	struct mp mp;

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		value_pack(&packed, &values[i]);
	mp = mp_over(buf_span(&packed));
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		HOLDS(value_read(&mp, &back));
		HOLDS_SAY(value_eq(&back, &values[i]), "value %zu", i);
	}
	EQUAL(mp_left(&mp), 0);
	/* An extension that is none of ours is no value. */
	mp = mp_over(SPAN_LIT("\xd4\x7fx"));
	HOLDS(!value_read(&mp, &back));
	HOLDS(mp.bad);
	buf_release(&packed);
}
END_TEST

/* The texts are MariaDB 10.11's and MySQL 9.7's. */
START_TEST(refusals_name_what_was_wanted)
{
#define NO_PROCEDURE(name) "PROCEDURE " name " does not exist"
#define NO_STATEMENT(name) "Unknown prepared statement handler (" name ") given to EXECUTE"
	static const struct {
		const char *text;
		unsigned error;
		const char *error_text;
		bool refused;
	} cases[] = {
		{"selekt 1", 1064, "You have an error", true},
		{" /* by x */ select f(1) from t;  ", 1305, "FUNCTION d.f does not exist", true},
		{"rollback to s", 1305, "SAVEPOINT s does not exist", true},
		{"insert into t values (1); selekt 1", 1064, "You have an error", false},
		{"select 'a", 1062, "Duplicate entry", false},
		{"selekt 'a; b', \"c;\", `d;`", 1064, "You have an error", true},
		{"selekt 'a''; b'", 1064, "You have an error", true},
		{"select 'a'; selekt 'b'", 1064, "You have an error", false},
		{"select 'a\\'; selekt 'b'", 1064, "You have an error", false},
		{"select 1 -- it's\n; selekt 'b'", 1064, "You have an error", false},
		{"call p()", 1305, NO_PROCEDURE("d.p"), true},
		{"Call `P` (1)", 1305, NO_PROCEDURE("d.p"), true},
		{"call e.p(1)", 1305, NO_PROCEDURE("e.p"), true},
		{"call p()", 1305, NO_PROCEDURE("e.p"), false},
		{"call p()", 1305, NO_PROCEDURE("d.pq"), false},
		{"call p()", 1305, NO_PROCEDURE("d.q"), false},
		{"call p()", 1305, "SAVEPOINT p does not exist", false},
		{"call p()", 1064, "You have an error", false},
		{"/*!call*/ p()", 1064, "You have an error", false},
		{"execute s", 1243, NO_STATEMENT("s"), true},
		{"execute S using @a", 1243, NO_STATEMENT("s"), true},
		{"execute s", 1243, NO_STATEMENT("t"), false},
		{"execute immediate 'call p()'", 1243, NO_STATEMENT("s"), false},
		{"call p()", 1243, NO_STATEMENT("s"), false},
		{"call p()", 1243, "Unknown prepared statement handler (7) given to mysqld_stmt_execute", true},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		HOLDS_SAY(stmt_refused(span_str(cases[i].text), SPAN_LIT("d"), cases[i].error,
				  span_str(cases[i].error_text)) == cases[i].refused,
			"%s: %s", cases[i].text, cases[i].error_text);
	/* In which database it looked is not known. */
	HOLDS(!stmt_refused(SPAN_LIT("call p()"), SPAN_NONE, 1305, SPAN_LIT(NO_PROCEDURE("d.p"))));
	HOLDS(!stmt_refused(SPAN_NONE, SPAN_NONE, 1064, SPAN_NONE));
}
END_TEST

UNIT_MAIN("trace_record", refusals_name_what_was_wanted, every_kind_comes_back, spoilt_records_are_refused_or_read,
	probe_rows_come_back, values_come_back)
