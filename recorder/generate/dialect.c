/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "generate/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/flavour.h"

/* "mariadb-10.11" as a version string: "10.11-MariaDB". */
static bool version_of(const char *name, char *out, size_t size)
{
	const char *digits = strpbrk(name, "0123456789");

	if (!digits)
		return false;
	if (strncmp(name, "mariadb-", 8) == 0 || strncmp(name, "galera-", 7) == 0)
		snprintf(out, size, "%.*s.0-MariaDB", (int)strspn(digits, "0123456789."), digits);
	else if (strncmp(name, "mysql-", 6) == 0)
		snprintf(out, size, "%.*s.0", (int)strspn(digits, "0123456789."), digits);
	else
		snprintf(out, size, "%s", name);
	return true;
}

bool dialect_named(struct dialect *out, const char *name, struct err *err)
{
	bool common = strcmp(name, "common") == 0;
	char version[80] = "10.11.0-MariaDB";
	struct server_release release;

	*out = (struct dialect){.returning = false};
	snprintf(out->name, sizeof(out->name), "%s", name);
	if (!common && strcmp(name, "mariadb-local") != 0 && !version_of(name, version, sizeof(version)))
		return err_set(err, ERR_USAGE,
			"there is no dialect \"%s\": common, or a release as mariadb-10.11 or mysql-8.0", name);
	release = server_release_of(span_str(version));
	if (release.flavour == SERVER_UNKNOWN || !release.version)
		return err_set(err, ERR_USAGE,
			"there is no dialect \"%s\": common, or a release as mariadb-10.11 or mysql-8.0", name);
	out->env = eval_env_for_server(span_str(version));
	out->env.database = SPAN_LIT("d");
	out->sql = sql_options_for_server(span_str(version));
	if (common)
		return true; /* what MariaDB 10.3 and MySQL 5.6 have, too */
	out->returning = release.flavour == SERVER_MARIADB && release.version >= 100500;
	out->for_share = release.flavour == SERVER_MYSQL && release.version >= 80000;
	out->nowait = release.flavour == SERVER_MARIADB || release.version >= 80000;
	out->skip_locked = release.flavour == SERVER_MARIADB ? release.version >= 100600 : release.version >= 80000;
	out->with = release.flavour == SERVER_MARIADB || release.version >= 80000;
	return true;
}
