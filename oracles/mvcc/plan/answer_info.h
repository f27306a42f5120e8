/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text that comes with an answer: "Rows matched: 2  Changed: 1  Warnings: 0". */
#ifndef MVCC_PLAN_ANSWER_INFO_H
#define MVCC_PLAN_ANSWER_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* What the answer's text says after a word. */
bool info_number(struct span info, const char *word, uint64_t *out);

#endif
