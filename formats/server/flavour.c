/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See flavour.h. */
#include "server/flavour.h"

#include <string.h>

#include "base/attr.h"

static const char *const names[] = {
	[SERVER_UNKNOWN] = "unknown", [SERVER_MARIADB] = "mariadb", [SERVER_MYSQL] = "mysql", [SERVER_TIDB] = "tidb"};

static bool mentions(struct span s, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= s.len; i++) {
		if (span_ieq_str(span_of(s.ptr + i, len), word))
			return true;
	}
	return false;
}

struct server_release server_release_of(struct span version_string)
{
	struct span v = version_string;
	uint32_t part[3] = {0, 0, 0};
	size_t n = 0;

	/* MariaDB once put this before its version for the sake of old replicas. */
	if (v.len > 6 && memcmp(v.ptr, "5.5.5-", 6) == 0)
		v = span_of(v.ptr + 6, v.len - 6);
	for (size_t i = 0; i < v.len && n < 3; i++) {
		if (v.ptr[i] >= '0' && v.ptr[i] <= '9') {
			if (part[n] < 1000)
				part[n] = part[n] * 10 + (uint32_t)(v.ptr[i] - '0');
		} else if (v.ptr[i] == '.') {
			n++;
		} else {
			break;
		}
	}
	return (struct server_release){
		.flavour = mentions(version_string, "mariadb") ? SERVER_MARIADB
			   : mentions(version_string, "tidb")  ? SERVER_TIDB
			   : part[0] >= 10                     ? SERVER_MARIADB
							       : SERVER_MYSQL,
		.version = part[0] ? part[0] * 10000 + part[1] * 100 + part[2] : 0,
	};
}

const char *server_flavour_name(enum server_flavour flavour)
{
	return names[flavour];
}

enum server_flavour server_flavour_named(struct span name)
{
	for (unsigned i = SERVER_MARIADB; i < ARRAY_LEN(names); i++) {
		if (span_eq_str(name, names[i]))
			return (enum server_flavour)i;
	}
	return SERVER_UNKNOWN;
}

bool server_has_innodb(enum server_flavour flavour)
{
	return flavour == SERVER_MARIADB || flavour == SERVER_MYSQL;
}
