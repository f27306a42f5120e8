/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What SQL a generated case may use: that of one release, or what all releases have in common. */
#ifndef GENERATE_DIALECT_H
#define GENERATE_DIALECT_H

#include "base/attr.h"
#include "base/err.h"
#include "eval/eval.h"
#include "sql/sql.h"

struct dialect {
	char name[64];
	struct eval_env env; /* conditions are evaluated as that server does it */
	struct sql_options sql;
	bool returning; /* INSERT and DELETE ... RETURNING: MariaDB */
	bool for_share; /* FOR SHARE: MySQL 8 */
	bool nowait, skip_locked;
	bool with; /* common table expressions */
};

/* "common", a release ("mariadb-10.11", "mysql-8.0") or a server's version string. */
bool dialect_named(struct dialect *out, const char *name, struct err *err) MUST_CHECK;

#endif
