/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Isolation levels that a server's own programs set, so that no session's text shows them. */
#ifndef DB_LEVELS_IN_PROGRAMS_H
#define DB_LEVELS_IN_PROGRAMS_H

#include <mysql.h>


enum {
	HIDDEN_IN_CALLS = 1,   /* a procedure sets the level */
	HIDDEN_IN_ANY = 2,     /* a function or a trigger does */
	HIDDEN_FROM_START = 4, /* init_connect, an event, or SET GLOBAL in either: of new sessions */
};

/* HIDDEN_* of the server's routines, triggers and events: those that set a level, and those whose body
 * the server does not show. */
unsigned hidden_levels_read(MYSQL *db);

#endif
