/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bench_solvers.c and solvers.cc tell each other. */
#ifndef BENCH_SOLVERS_H
#define BENCH_SOLVERS_H

#include <stdint.h>

enum bench_solver { BENCH_MINISAT, BENCH_CADICAL };

extern enum bench_solver bench_solver;        /* which one solver_new makes */
extern uint64_t bench_rounds, bench_cycles;   /* models asked for, cycles forbidden */

#endif
