/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the texts of a session are to be read. */
#ifndef SQL_TEXT_DIALECT_H
#define SQL_TEXT_DIALECT_H

#include <stdint.h>

#include "base/span.h"
#include "sql/sql.h"
#include "sql/text/client_charset.h"

struct text_dialect {
	bool no_backslash_escapes, ansi_quotes;
	uint8_t charset;          /* enum client_charset */
	enum sql_flavour flavour; /* ... and version, of comments that are executed */
	uint32_t version;         /* as struct sql_options has it; 0: not known, all are */
};

/* For the scanner of formats/sql.  It knows plain sets only. */
struct sql_options text_sql_options(struct text_dialect dialect);

#endif
