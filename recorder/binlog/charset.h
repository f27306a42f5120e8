/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Character sets of columns, by the numbers and names of their collations. */
#ifndef BINLOG_CHARSET_H
#define BINLOG_CHARSET_H

#include <stdint.h>

#include "base/span.h"

/* The character set that a collation's number belongs to; NULL: not known. */
const char *charset_of_collation(uint16_t collation);
/* The number of a collation of the same character set as the named one; 0: not known. */
uint16_t charset_collation_like(struct span collation);

#endif
