/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workload models: the language, its errors, and the random numbers behind them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "workload/model.h"

static const char *error_of(const char *text)
{
	static struct err err;
	struct model m;

	if (model_parse(&m, span_str(text), "x.model", &err))
		return "none";
	return err.text;
}

START_TEST(builtin_models_are_whole)
{
	for (size_t i = 0; model_names[i]; i++) {
		struct buf first = BUF_INIT, second = BUF_INIT;
		struct model m, again;
		struct err err;

		ck_assert_msg(model_builtin(&m, model_names[i], &err), "%s", err.text);
		ck_assert_str_eq(m.name, model_names[i]);
		for (unsigned f = 0; f < FEATURE_COUNT; f++) {
			enum feature_kind kind = feature_def((enum model_feature)f)->kind;

			if (kind == FEATURE_IS_NUMBER || kind == FEATURE_IS_WORD)
				ck_assert_msg(m.features[f].weight, "%s has no %s", model_names[i],
					feature_def((enum model_feature)f)->name);
		}
		/* Printing and reading again gives the same. */
		model_print(&m, &first);
		ck_assert_msg(model_parse(&again, buf_span(&first), model_names[i], &err), "%s", err.text);
		model_print(&again, &second);
		ck_assert_str_eq(first.data, second.data);
		buf_release(&first);
		buf_release(&second);
	}
}
END_TEST

/* Every feature has a value because `default` names them all. */
START_TEST(default_names_every_feature)
{
	const char *text = model_text("default");

	for (unsigned f = 0; f < FEATURE_COUNT; f++) {
		char line[80];

		snprintf(line, sizeof(line), "\n%s = ", feature_def((enum model_feature)f)->name);
		ck_assert_msg(strstr(text, line), "default.model does not name %s", line + 1);
	}
}
END_TEST

START_TEST(errors_name_line_and_column)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"tables = 1\n", "x.model:1:1: a section is expected before the first feature: [schema]"},
		{"[shema]\n", "x.model:1:2: there are the sections [schema], [data], [statements], [transactions] and "
			      "[schedule]"},
		{"[schema]\ntabels = 1\n", "x.model:2:1: there is no feature \"tabels\"; is \"tables\" meant?"},
		{"[schema]\nrows = 1\n", "x.model:2:1: rows belongs to [data]"},
		{"[schema]\ntables = 1\ntables = 2\n", "x.model:3:1: tables is here twice"},
		{"[schema]\n  tables = 1 x\n", "x.model:2:14: a number is expected here"},
		{"[schema]\ntables = 9\n", "x.model:2:10: at most 8 is allowed here"},
		{"[schema]\ntables = 0\n", "x.model:2:10: tables is at least 1"},
		{"[schema]\ntables = 3..2\n", "x.model:2:10: the range ends before it begins"},
		{"[schema]\ntables = 1:0\n", "x.model:2:10: tables needs a value with a weight that is not 0"},
		{"[schema]\ntables =\n", "x.model:2:9: tables needs a value with a weight that is not 0"},
		{"[schema]\nkey = primary pear\n", "x.model:2:15: \"pear\" is no value of key; there are: primary, pair, "
						   "unique, none, auto"},
		{"[schema]\nnullable = 101%\n", "x.model:2:12: at most 100 is allowed here"},
		{"[schema]\nnullable = 5\n", "x.model:2:13: \"%\" is expected here"},
		{"[schema]\nnullable = 5.25%\n", "x.model:2:15: one digit too many after the point"},
		{"[data]\naccess = zpf(1)\n",
			"x.model:2:10: \"zpf\" is no spread; there are: uniform, zipf(0.9), hotspot(10%, 90%)"},
		{"[data]\naccess = zipf(9)\n", "x.model:2:15: at most 4 is allowed here"},
		{"[data]\naccess = uniform 2\n", "x.model:2:18: the line should end here"},
		{"[schema]\nlike tiny\n", "x.model:2:6: \"like\" comes before the first section"},
		{"like tyni\n", "x.model:1:6: there is no built-in model \"tyni\""},
		{"[data] \xc3\xa4\n", "x.model:1:8: the line should end here"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_str_eq(error_of(cases[i].text), cases[i].error);
}
END_TEST

START_TEST(what_is_not_named_is_inherited)
{
	struct model m, tiny;
	struct err err;

	ck_assert(model_builtin(&tiny, "tiny", &err));
	ck_assert(model_parse(&m, SPAN_LIT("# mine\nlike tiny\r\n[data]\nrows = 3:2, 5..7 # more\nvalues = hotspot(10%, 90%)\n"),
		"dir/mine.model", &err));
	ck_assert_str_eq(m.name, "mine");
	ck_assert_uint_eq(m.features[FEATURE_ROWS].count, 2);
	ck_assert_uint_eq(m.features[FEATURE_ROWS].items[0].weight, 2);
	ck_assert_uint_eq(m.features[FEATURE_ROWS].items[1].high, 7);
	ck_assert_uint_eq(m.features[FEATURE_VALUES].spread.hot_share, 900);
	ck_assert_mem_eq(&m.features[FEATURE_SESSIONS], &tiny.features[FEATURE_SESSIONS], sizeof(struct model_values));
}
END_TEST

START_TEST(draws_follow_weights)
{
	struct random_source r;
	unsigned counts[3] = {0};
	struct model m;
	struct err err;

	ck_assert(model_parse(&m, SPAN_LIT("[schema]\ntables = 1:1 2..3:4\n"), "m", &err));
	random_seed(&r, 7, 0);
	for (unsigned i = 0; i < 50000; i++)
		counts[model_number(&m, FEATURE_TABLES, &r) - 1]++;
	/* 1/5, 2/5, 2/5: five standard deviations are 447 and 548. */
	ck_assert_int_lt(abs((int)counts[0] - 10000), 450);
	ck_assert_int_lt(abs((int)counts[1] - 20000), 550);
}
END_TEST

/* The generator's published test: xoshiro256** from the state 1, 2, 3, 4. */
START_TEST(xoshiro_is_as_published)
{
	struct random_source r = {{1, 2, 3, 4}};
	static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};

	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(random_next(&r), expected[i]);
}
END_TEST

/* Against floating point, which may differ from machine to machine, and so is not used there. */
START_TEST(zipf_has_its_shares)
{
	static const uint32_t exponents[] = {0, 40, 90, 100, 250};
	enum { COUNT = 1000 };

	for (size_t e = 0; e < sizeof(exponents) / sizeof(exponents[0]); e++) {
		struct sampler s;
		double sum = 0;

		sampler_init(&s, &(struct spread){.kind = SPREAD_ZIPF, .exponent = exponents[e]}, COUNT);
		for (int i = 1; i <= COUNT; i++)
			sum += pow(i, -(exponents[e] / 100.0));
		for (int i = 0; i < COUNT; i += 37) {
			double wanted = pow(i + 1, -(exponents[e] / 100.0)) / sum, got = (double)sampler_share(&s, (uint64_t)i) / 4294967296.0;

			ck_assert_msg(fabs(got - wanted) < 1e-6 + wanted / 1e5, "s %u, item %d: %g, not %g", exponents[e], i, got, wanted);
		}
		sampler_release(&s);
	}
}
END_TEST

START_TEST(samplers_reach_every_item)
{
	static const struct spread spreads[] = {{.kind = SPREAD_UNIFORM}, {.kind = SPREAD_ZIPF, .exponent = 80},
		{.kind = SPREAD_HOTSPOT, .hot_items = 200, .hot_share = 800}};

	for (size_t k = 0; k < 3; k++) {
		uint64_t counts[10] = {0};
		struct random_source r;
		struct sampler s;

		sampler_init(&s, &spreads[k], 10);
		random_seed(&r, 3, k);
		for (unsigned i = 0; i < 100000; i++) {
			uint64_t item = sampler_draw(&s, &r);

			UNIT_REQUIRE(item < 10);
			counts[item]++;
		}
		for (uint64_t i = 0; i < 10; i++) {
			double wanted = (double)sampler_share(&s, i) / 4294967296.0 * 100000;

			ck_assert_msg(fabs((double)counts[i] - wanted) < 6 * sqrt(wanted) + 2, "spread %zu, item %d", k, (int)i);
		}
		ck_assert_uint_eq(sampler_at(&s, 0), 0);
		ck_assert_uint_eq(sampler_at(&s, UINT64_MAX), 9);
		sampler_release(&s);
	}
}
END_TEST

UNIT_MAIN("workload", builtin_models_are_whole, default_names_every_feature, errors_name_line_and_column,
	what_is_not_named_is_inherited, draws_follow_weights, xoshiro_is_as_published, zipf_has_its_shares,
	samplers_reach_every_item)
