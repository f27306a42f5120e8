/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How well accesses follow the spread that they were to follow: alpha and beta of DBStorm, and the distance that matters.
 *
 * beta is the tail of the chi-square test of accesses per row: the chance that honest random accesses fit worse than
 * these did.  Honest accesses give any beta from 0 to 1, each equally likely; accesses that follow the spread better than
 * chance, as stratified ones do, give one near 1.  So the total variation distance stands beside it, with what chance
 * alone gives for so many accesses.
 */
#ifndef LOAD_ACCESS_H
#define LOAD_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#include "workload/random_source.h"

struct access_fit {
	uint64_t accesses, rows;
	double chi_square, freedom; /* degrees of freedom */
	double beta;
	double distance, by_chance; /* total variation from the spread; what honest random accesses have on average */
};

/* Adds the accesses of one table, `counts` of each row; call access_finish at the end. */
void access_add(struct access_fit *fit, const struct sampler *spread, const uint32_t *counts, uint64_t rows);
void access_finish(struct access_fit *fit);

/* The chance that a chi-square variable of so many degrees of freedom is above x. */
double chi_square_tail(double x, double freedom);

#endif
