/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of a server's variables a trace has, and those that the recorder's own connections set. */
#ifndef DB_VARIABLES_H
#define DB_VARIABLES_H

#include <mysql.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "trace/pack.h"

/* After SET SESSION: all that is asked for is answered, whatever the server's configuration says, and the
 * character set that the login got is kept for variables_pack_login(). */
#define OWN_LIMITS                                                                                 \
	"autocommit = 1, sql_select_limit = 18446744073709551615, sql_big_selects = 1 "            \
	"/*M!100101 , max_statement_time = 0 */ /*!50708 , max_execution_time = 0 */"
#define OWN_LOGIN "@isorec_login = @@character_set_client"
/* sql_mode ANSI hides engines and collations of tables, PAD_CHAR_TO_FULL_LENGTH lengthens values. */
#define OWN_READING OWN_LIMITS ", sql_mode = '', sql_quote_show_create = 1"

/* A variable whose value changes what a statement means or sees: docs/trace-format.md, "server" */
bool variable_is_recorded(struct span name);
/* `character_set_client_handshake` = OFF, where the server takes no character set from logins
 * (skip-character-set-client-handshake), which no variable of its own tells.  How many pairs were packed. */
uint32_t variables_pack_login(MYSQL *db, msgpack_packer *pk);

#endif
