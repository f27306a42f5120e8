/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of prepared statements as literals of the recorder's own queries. */
#include "../unit/unit.h"

#include <float.h>
#include <math.h>

#include "instrument/literal.h"
#include "wire/wire.h"

static void expect(const struct wire_param *param, const char *literal)
{
	struct buf out = BUF_INIT;

	literal_add(&out, param);
	ck_assert_msg(span_eq_str(buf_span(&out), literal), "%.*s, not %s", (int)out.len, out.data,
		literal);
	buf_release(&out);
}

START_TEST(doubles_have_one_exponent)
{
	static const struct {
		double value;
		const char *literal;
	} cases[] = {
		{1, "1e0"},
		{-0.5, "-0.5e0"},
		{1e300, "1.0000000000000001e+300"},
		{DBL_MIN, "2.2250738585072014e-308"},
		{INFINITY, "?"},
		{-INFINITY, "?"},
		{NAN, "?"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect(&(struct wire_param){.type = TYPE_DOUBLE,
			       .value = span_of(&cases[i].value, sizeof(cases[i].value))},
			cases[i].literal);
}
END_TEST

START_TEST(a_backslash_is_not_guessed)
{
	expect(&(struct wire_param){.type = TYPE_VAR_STRING, .value = SPAN_LIT("it's")}, "'it''s'");
	expect(&(struct wire_param){.type = TYPE_VAR_STRING, .value = SPAN_LIT("a\\b")}, "?");
	/* sjis: one character, whose second byte is that of a backslash. */
	expect(&(struct wire_param){.type = TYPE_VAR_STRING, .value = SPAN_LIT("\x95\x5c")}, "?");
}
END_TEST

/* A server makes 49 of x'31' where it is compared with a number, and 1 of such a parameter. */
START_TEST(some_are_the_same_in_a_text)
{
	ck_assert(literal_is_same(&(struct wire_param){.type = TYPE_LONGLONG}));
	ck_assert(literal_is_same(&(struct wire_param){.type = TYPE_VAR_STRING}));
	ck_assert(literal_is_same(&(struct wire_param){.type = TYPE_DATETIME, .null = true}));
	ck_assert(!literal_is_same(&(struct wire_param){.type = TYPE_DATETIME}));
	ck_assert(!literal_is_same(&(struct wire_param){.type = TYPE_BLOB, .value = SPAN_LIT("1")}));
}
END_TEST

UNIT_MAIN("literal", doubles_have_one_exponent, a_backslash_is_not_guessed,
	some_are_the_same_in_a_text)
