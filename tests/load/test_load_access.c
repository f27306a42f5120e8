/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Alpha's and beta's arithmetic, and the data of a load, against tables of others and against counting. */
#include <math.h>
#include <stdlib.h>

#include "../unit/unit.h"
#include "base/mem.h"
#include "load/load_internal.h"

/* Upper five per cent points and some others, from the tables of Abramowitz and Stegun (26.8). */
START_TEST(chi_square_is_as_in_the_tables)
{
	static const struct {
		double x, freedom, tail;
	} cases[] = {{3.84146, 1, 0.05}, {5.99146, 2, 0.05}, {18.3070, 10, 0.05}, {43.7730, 30, 0.05}, {124.342, 100, 0.05},
		{0.0157908, 1, 0.9}, {20.5992, 30, 0.9}, {82.3581, 100, 0.9}, {149.449, 100, 0.001}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_double_eq_tol(chi_square_tail(cases[i].x, cases[i].freedom), cases[i].tail, 1e-5);
	/* Both ways to calculate it meet where one takes over from the other. */
	ck_assert_double_eq_tol(chi_square_tail(100500, 100000), chi_square_tail(100501, 100001), 1e-4);
	ck_assert_double_eq(chi_square_tail(0, 5), 1);
}
END_TEST

static struct access_fit fit_of(const struct spread *spread, uint64_t rows, uint64_t accesses, uint64_t seed, bool stratified)
{
	uint32_t *counts = mem_zero(rows, sizeof(*counts));
	struct access_fit fit = {.accesses = 0};
	struct random_source r;
	struct sampler s;

	sampler_init(&s, spread, rows);
	random_seed(&r, seed, 0);
	for (uint64_t i = 0; i < accesses; i++)
		counts[stratified ? sampler_at(&s, i * 0x9e3779b97f4a7c15u) : sampler_draw(&s, &r)]++;
	access_add(&fit, &s, counts, rows);
	access_finish(&fit);
	sampler_release(&s);
	free(counts);
	return fit;
}

/* Honest accesses: beta is uniform from 0 to 1, and the distance is what chance gives. */
START_TEST(honest_accesses_have_any_beta)
{
	static const struct spread spreads[] = {{.kind = SPREAD_UNIFORM}, {.kind = SPREAD_ZIPF, .exponent = 40}};
	enum { SEEDS = 400 };

	for (size_t k = 0; k < 2; k++) {
		unsigned quarters[4] = {0};
		double ratio = 0;

		for (unsigned seed = 0; seed < SEEDS; seed++) {
			struct access_fit fit = fit_of(&spreads[k], 100, 20000, seed, false);

			quarters[fit.beta >= 1 ? 3 : (unsigned)(fit.beta * 4)]++;
			ratio += fit.distance / fit.by_chance / SEEDS;
		}
		for (unsigned q = 0; q < 4; q++) /* 100 each; five standard deviations are 43 */
			ck_assert_msg(quarters[q] > 57 && quarters[q] < 143, "quarter %u: %u", q, quarters[q]);
		ck_assert_double_eq_tol(ratio, 1, 0.02);
	}
}
END_TEST

/* Wrong accesses are noticed, stratified ones fit better than chance, and the distance shrinks as 1/sqrt(n). */
START_TEST(beta_tells_right_from_wrong)
{
	struct spread zipf = {.kind = SPREAD_ZIPF, .exponent = 40}, other = {.kind = SPREAD_ZIPF, .exponent = 50};
	uint32_t counts[100] = {0};
	struct access_fit wrong = {.accesses = 0}, few, many;
	struct random_source r;
	struct sampler drawn, said;

	sampler_init(&drawn, &other, 100);
	sampler_init(&said, &zipf, 100);
	random_seed(&r, 1, 1);
	for (unsigned i = 0; i < 100000; i++)
		counts[sampler_draw(&drawn, &r)]++;
	access_add(&wrong, &said, counts, 100);
	access_finish(&wrong);
	ck_assert_double_lt(wrong.beta, 1e-6);
	ck_assert_double_gt(fit_of(&zipf, 1000, 50000, 1, true).beta, 0.99);
	few = fit_of(&zipf, 100, 10000, 1, false);
	many = fit_of(&zipf, 100, 1000000, 1, false);
	ck_assert_double_gt(few.distance / many.distance, 7);
	ck_assert_double_lt(few.distance / many.distance, 14);
	sampler_release(&drawn);
	sampler_release(&said);
}
END_TEST

/* The initial content of a column has every value as often as its spread says: the bijection leaves out nothing. */
START_TEST(content_follows_its_spread)
{
	struct load load = {.static_count = 700, .dynamic_count = 300};
	struct load_column column = {.factor = 333, .offset = 77};
	unsigned counts[10] = {0};

	sampler_init(&load.values, &(struct spread){.kind = SPREAD_UNIFORM}, 10);
	for (uint64_t key = 0; key < 1000; key++)
		counts[load_value(&load, &column, key)]++;
	for (unsigned i = 0; i < 10; i++)
		ck_assert_uint_eq(counts[i], 100);
	sampler_release(&load.values);
}
END_TEST

UNIT_MAIN("load_access", chi_square_is_as_in_the_tables, honest_accesses_have_any_beta, beta_tells_right_from_wrong,
	content_follows_its_spread)
