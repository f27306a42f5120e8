/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/access.h"

#include <math.h>

/* Regularised incomplete gamma functions (Abramowitz and Stegun, 6.5.29 and 6.5.31): the series converges below a + 1,
 * the continued fraction above. */
static double lower_by_series(double a, double x)
{
	double term = 1 / a, sum = term;

	for (int n = 1; n < 100000 && term > sum * 1e-15; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum * exp(-x + a * log(x) - lgamma(a));
}

/* Lentz's method. */
static double upper_by_fraction(double a, double x)
{
	double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;

	for (int n = 1; n < 100000; n++) {
		double an = -n * (n - a), step;

		b += 2;
		d = an * d + b;
		d = fabs(d) < 1e-300 ? 1e300 : 1 / d;
		c = b + an / c;
		c = fabs(c) < 1e-300 ? 1e-300 : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return h * exp(-x + a * log(x) - lgamma(a));
}

double chi_square_tail(double x, double freedom)
{
	double a = freedom / 2, half = x / 2;

	if (x <= 0 || freedom <= 0)
		return 1;
	/* Wilson and Hilferty: the cube root is nearly normal; more than six digits here, and the series need not run. */
	if (freedom > 100000) {
		double z = (cbrt(x / freedom) - (1 - 2 / (9 * freedom))) / sqrt(2 / (9 * freedom));

		return erfc(z / sqrt(2)) / 2;
	}
	return half < a + 1 ? 1 - lower_by_series(a, half) : upper_by_fraction(a, half);
}

/* E|X - m| of a Poisson variable with mean m: 2 m^(k+1) e^-m / k!, k the whole part of m (Crow 1958). */
static double mean_deviation(double m)
{
	double k = floor(m);

	return m > 0 ? 2 * exp((k + 1) * log(m) - m - lgamma(k + 1)) : 0;
}

void access_add(struct access_fit *fit, const struct sampler *spread, const uint32_t *counts, uint64_t rows)
{
	uint64_t all = 0;

	for (uint64_t i = 0; i < rows; i++)
		all += counts[i];
	if (!all || rows < 2)
		return;
	for (uint64_t i = 0; i < rows; i++) {
		double expected = (double)sampler_share(spread, i) / 4294967296.0 * (double)all, off = (double)counts[i] - expected;

		if (expected <= 0)
			continue;
		fit->chi_square += off * off / expected;
		fit->distance += fabs(off) / 2; /* of accesses; divided at the end */
		fit->by_chance += mean_deviation(expected) / 2;
	}
	fit->freedom += (double)rows - 1;
	fit->accesses += all;
	fit->rows += rows;
}

void access_finish(struct access_fit *fit)
{
	fit->beta = chi_square_tail(fit->chi_square, fit->freedom);
	if (!fit->accesses)
		return;
	fit->distance /= (double)fit->accesses;
	fit->by_chance /= (double)fit->accesses;
}
