/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MVCC_SEARCH_STATE_DIGEST_H
#define MVCC_SEARCH_STATE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;

/* The same for two states from which the rest of the schedule goes on alike; `at`: how far its event has come.  False:
 * too much would have to be looked at. */
bool world_digest(const struct mvcc *m, uint64_t at, uint64_t *digest);

#endif
