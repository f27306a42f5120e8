/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What makes two findings the same, whatever their tables, values and transactions are called: texts that are equal then.
 */
#ifndef COMMON_SHAPE_H
#define COMMON_SHAPE_H

#include "base/buf.h"
#include "common/verdict.h"

/* Oracle, class, severity and level. */
void finding_print_kind(const struct finding *f, struct buf *out);
/* ... and the rule of the contract, the traits, and of a cycle its kinds of dependencies, from the one on that makes the
 * text smallest. */
void finding_print_shape(const struct finding *f, struct buf *out);

#endif
