/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a server is, from the string of its version. */
#include "server/flavour.h"

#include "base/attr.h"
#include "unit.h"

START_TEST(strings_of_servers)
{
	static const struct {
		const char *text;
		enum server_flavour flavour;
		uint32_t version;
	} cases[] = {{"10.11.19-MariaDB", SERVER_MARIADB, 101119},
		{"5.5.5-10.6.7-MariaDB-1:10.6.7+maria~focal-log", SERVER_MARIADB, 100607},
		{"11.8.3", SERVER_MARIADB, 110803}, {"8.0.45", SERVER_MYSQL, 80045},
		{"9.7.0-commercial", SERVER_MYSQL, 90700}, {"5.6.51-log", SERVER_MYSQL, 50651},
		{"5.7.25-TiDB-v7.1.0", SERVER_TIDB, 50725}, {"8.0.11-tidb", SERVER_TIDB, 80011},
		{"", SERVER_MYSQL, 0}, {"version", SERVER_MYSQL, 0}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct server_release r = server_release_of(span_str(cases[i].text));

		ck_assert_msg(r.flavour == cases[i].flavour && r.version == cases[i].version,
			"%s: %d %u", cases[i].text, r.flavour, r.version);
	}
}
END_TEST

START_TEST(names_are_read_back)
{
	for (int f = SERVER_MARIADB; f <= SERVER_TIDB; f++)
		ck_assert_int_eq(server_flavour_named(span_str(server_flavour_name((enum server_flavour)f))),
			f);
	ck_assert_int_eq(server_flavour_named(SPAN_LIT("postgresql")), SERVER_UNKNOWN);
	ck_assert_int_eq(server_flavour_named(SPAN_LIT("")), SERVER_UNKNOWN);
	ck_assert(server_has_innodb(SERVER_MYSQL) && !server_has_innodb(SERVER_TIDB));
}
END_TEST

UNIT_MAIN("flavour", strings_of_servers, names_are_read_back)
