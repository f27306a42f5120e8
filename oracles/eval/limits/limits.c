/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See limits.h. */
#include "eval/limits/limits.h"

#include "base/bug.h"

#define ALL {0, UINT32_MAX}
#define NONE {1, 0}
#define BEFORE(release) {0, (release)-1}
#define SINCE(release) {(release), UINT32_MAX}
#define FROM_TO(from, to) {(from), (to)}

static const struct limit_info limits[LIMIT_COUNT] = {
#define LIMIT(name, mariadb, mysql, reason, example)                                               \
	[LIMIT_##name] = {#name, LIMIT_SUBJECT, mariadb, mysql, reason, example},
#include "eval/limits/limits.def"
#undef LIMIT
};

const struct limit_info *limit_info(enum eval_limit limit)
{
	CHECK(limit > LIMIT_NONE && limit < LIMIT_COUNT);
	return &limits[limit];
}

bool limit_covers(enum eval_limit limit, enum sql_flavour flavour, uint32_t version)
{
	const struct limit_info *info = limit_info(limit);
	struct limit_releases r = flavour == SQL_MYSQL ? info->mysql : info->mariadb;

	return version >= r.first && version <= r.last;
}
