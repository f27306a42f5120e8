/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The small structures everything is built from. */
#include "unit.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/strtab.h"
#include "random.h"

START_TEST(crc32c_known_answers)
{
	/* RFC 3720, appendix B.4. */
	unsigned char zeros[32] = {0}, ones[32], up[32];

	memset(ones, 0xff, sizeof(ones));
	for (int i = 0; i < 32; i++)
		up[i] = (unsigned char)i;
	ck_assert_uint_eq(crc32c(0, zeros, 32), 0x8a9136aa);
	ck_assert_uint_eq(crc32c(0, ones, 32), 0x62a8ab43);
	ck_assert_uint_eq(crc32c(0, up, 32), 0x46dd794e);
	ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
}
END_TEST

START_TEST(crc32c_instruction_agrees_with_table)
{
	unsigned char data[300];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 131 + 7);
	for (size_t from = 0; from < 9; from++) {
		for (size_t len = 0; from + len <= sizeof(data); len++) {
			uint32_t whole = crc32c(0, data + from, len);

			ck_assert_uint_eq(whole, crc32c_table(0, data + from, len));
			ck_assert_uint_eq(whole,
				crc32c(crc32c(0, data + from, len / 3), data + from + len / 3,
					len - len / 3));
		}
	}
}
END_TEST

/* Long ones go in three stretches at a time. */
START_TEST(crc32c_of_long_data_agrees_with_table)
{
	static unsigned char data[20000];
	uint32_t state = 1;

	for (size_t i = 0; i < sizeof(data); i++) {
		state = state * 1664525 + 1013904223;
		data[i] = (unsigned char)(state >> 24);
	}
	for (size_t from = 0; from < 3; from++)
		for (size_t len = 3000; from + len <= sizeof(data); len += 61)
			UNIT_REQUIRE(crc32c((uint32_t)len, data + from, len) ==
				     crc32c_table((uint32_t)len, data + from, len));
}
END_TEST

START_TEST(map_finds_what_was_put)
{
	struct map map = MAP_INIT;

	ck_assert_uint_eq(map_get(&map, 5), MAP_NONE);
	for (uint32_t i = 0; i < 100000; i++)
		map_put(&map, (uint64_t)i * 0x100000001u, i);
	ck_assert_uint_eq(map.count, 100000);
	for (uint32_t i = 0; i < 100000; i++)
		ck_assert_uint_eq(map_get(&map, (uint64_t)i * 0x100000001u), i);
	ck_assert_uint_eq(map_get(&map, UINT64_MAX), MAP_NONE);
	map_put(&map, 0, 77);
	ck_assert_uint_eq(map_get(&map, 0), 77);
	ck_assert_uint_eq(map.count, 100000);
	map_release(&map);
}
END_TEST

START_TEST(strtab_interns)
{
	struct strtab tab = STRTAB_INIT;
	char text[32];

	ck_assert_uint_eq(strtab_find(&tab, SPAN_LIT("x")), STRTAB_NONE);
	ck_assert_uint_eq(strtab_add(&tab, SPAN_LIT("")), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "string number %u", i);
		ck_assert_uint_eq(strtab_add(&tab, span_str(text)), i + 1);
	}
	for (uint32_t i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "string number %u", i);
		ck_assert_uint_eq(strtab_add(&tab, span_str(text)), i + 1);
		ck_assert(span_eq_str(strtab_get(&tab, i + 1), text));
	}
	/* Bytes, not C strings. */
	ck_assert_uint_ne(strtab_add(&tab, SPAN_LIT("a\0b")), strtab_add(&tab, SPAN_LIT("a\0c")));
	ck_assert_uint_eq(strtab_find(&tab, SPAN_LIT("never")), STRTAB_NONE);
	strtab_release(&tab);
}
END_TEST

START_TEST(arena_keeps_and_clears)
{
	struct arena arena = ARENA_INIT;
	char *first = arena_alloc(&arena, 1);
	char *big;

	*first = 'x';
	big = arena_alloc(&arena, 5000000);
	memset(big, 'y', 5000000);
	ck_assert_int_eq(*first, 'x');
	ck_assert_str_eq(arena_printf(&arena, "%d-%s", 7, "seven"), "7-seven");
	for (int i = 0; i < 1000; i++)
		ck_assert_uint_eq((uintptr_t)arena_alloc(&arena, (size_t)i) % 16, 0);
	ck_assert_ptr_null(arena_copy(&arena, SPAN_NONE).ptr);
	arena_clear(&arena);
	ck_assert_ptr_nonnull(arena_alloc(&arena, 10));
	arena_release(&arena);
	ck_assert_uint_eq(arena.total, 0);
}
END_TEST

START_TEST(json_is_well_formed)
{
	struct buf out = BUF_INIT;
	struct json json;

	json_init(&json, &out, 0);
	json_begin_object(&json);
	json_key(&json, "a");
	json_begin_array(&json);
	json_int(&json, -1);
	json_uint(&json, UINT64_MAX);
	json_int(&json, (int64_t)1 << 53);
	json_int(&json, INT64_MIN);
	json_int(&json, -((int64_t)1 << 53));
	json_uint(&json, 0);
	json_double(&json, 0.1);
	json_double(&json, NAN);
	json_end_array(&json);
	json_key(&json, "b\"\n");
	json_string(&json, SPAN_LIT("\x01\xff<\xc3\xa9>"));
	json_key(&json, "c");
	json_bytes(&json, SPAN_LIT("\xff\xfe"));
	json_key(&json, "d");
	json_begin_object(&json);
	json_end_object(&json);
	json_end_object(&json);
	ck_assert_str_eq(out.data,
		"{\"a\":[-1,\"18446744073709551615\",9007199254740992,"
		"\"-9223372036854775808\",-9007199254740992,0,0.1,null],"
		"\"b\\\"\\n\":\"\\u0001\xef\xbf\xbd<\xc3\xa9>\",\"c\":{\"base64\":\"//4=\"},"
		"\"d\":{}}");
	buf_release(&out);
}
END_TEST

START_TEST(utf8_rules)
{
	static const char *const good[] = {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
		"\xf4\x8f\xbf\xbf"};
	static const char *const bad[] = {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80",
		"\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3",
		"\xe2\x82", "a\xff"};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ck_assert_msg(utf8_valid(span_str(good[i])), "good %zu", i);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(!utf8_valid(span_str(bad[i])), "bad %zu", i);
}
END_TEST

START_TEST(errors_carry_their_story)
{
	struct err err;
	char moment[CLOCK_RFC3339_SIZE];

	err_clear(&err);
	ck_assert(!err_set_errno(&err, 2, "cannot open %s", "x.itr"));
	ck_assert_str_eq(err.text, "cannot open x.itr: No such file or directory");
	err_prefix(&err, "segment %d", 3);
	ck_assert_str_eq(err.text, "segment 3: cannot open x.itr: No such file or directory");
	ck_assert_int_eq(err_exit_status(&err), EXIT_STATUS_INPUT);
	ck_assert(!err_set_at(&err, ERR_FORMAT, 17, "bad"));
	ck_assert_uint_eq(err.offset, 17);
	ck_assert_str_eq(clock_rfc3339(1000000001u, moment), "1970-01-01T00:00:01.000000001Z");
}
END_TEST

struct padded {
	uint32_t key, place;
	char rest[300];
};

static int by_padded_key(const void *a, const void *b)
{
	const struct padded *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

START_TEST(large_arrays_are_sorted_and_equal_ones_stay_in_order)
{
	struct random random = {.state = 7};

	for (size_t count = 0; count < 400; count++) {
		struct padded *array = mem_zero(count + 1, sizeof(*array));
		uint32_t keys = 1 + (uint32_t)random_below(&random, 2 * count + 1);
		uint64_t sum = 0, after = 0;

		for (size_t i = 0; i < count; i++) {
			array[i] = (struct padded){.key = (uint32_t)random_below(&random, keys), .place = (uint32_t)i};
			memset(array[i].rest, (int)i, sizeof(array[i].rest));
			sum += array[i].key;
		}
		sort_large(array, count, sizeof(*array), by_padded_key);
		for (size_t i = 0; i < count; i++) {
			after += array[i].key;
			UNIT_REQUIRE(array[i].rest[0] == (char)array[i].place && array[i].rest[299] == (char)array[i].place);
			if (i)
				UNIT_REQUIRE(array[i - 1].key < array[i].key ||
					     (array[i - 1].key == array[i].key && array[i - 1].place < array[i].place));
		}
		ck_assert_uint_eq(sum, after);
		mem_free(array);
	}
}
END_TEST

UNIT_MAIN("base", large_arrays_are_sorted_and_equal_ones_stay_in_order, crc32c_known_answers, crc32c_instruction_agrees_with_table,
	crc32c_of_long_data_agrees_with_table,
	map_finds_what_was_put, strtab_interns, arena_keeps_and_clears, json_is_well_formed,
	utf8_rules, errors_carry_their_story)
