/* SPDX-License-Identifier: GPL-2.0-or-later */
#define ZONE_UNKNOWN INT32_MIN

/* What a session has set, as far as it is modelled, and what SET and USE make of it. */
#ifndef MVCC_PLAN_SESSION_SETTINGS_H
#define MVCC_PLAN_SESSION_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "model/execution/execution.h"
#include "sql/sql.h"

struct mvcc;
struct plan;

enum mvcc_engine { ENGINE_INNODB, ENGINE_INNODB_SI, ENGINE_TIDB };

/* How much of a session's texts is what the server reads: the trace has their bytes, and takes them
 * for UTF-8. */
enum text_width {
	TEXT_WIDE,   /* utf8mb4, binary: all */
	TEXT_NARROW, /* utf8mb3: all but characters of four bytes */
	TEXT_ASCII,  /* latin1, or not known */
};

struct prepared;

/* What a session has set, as far as it is modelled (session_settings.c). */
struct session_settings {
	struct span database;
	struct span mode_text; /* sql_mode; none: not recorded */
	uint32_t eval_mode, sql_mode;
	uint16_t collation;    /* of the connection; COLLATION_NONE: not known */
	enum text_width text_width;
	bool own_time_zone;    /* has a time zone of its own: TIMESTAMPs show otherwise */
	int32_t zone_seconds;  /* that zone, to the east of UTC; ZONE_UNKNOWN: not an offset */
	struct span temporary; /* its temporary tables: database, name and number in the store (empty: not known), each with
				  a zero byte */
	struct prepared *prepared; /* statements and user variables (prepared_text.c) */
	uint64_t number; /* LAST_INSERT_ID(), where it is known (last_insert_id.c) */
	bool has_last_insert_id;
	bool sets_unmodelled; /* it has set what is not modelled */
	bool no_foreign_checks;
	bool no_unique_checks; /* or perhaps so: the server may leave duplicates of secondary keys unnoticed */
	uint32_t group_concat_max_len;
	uint32_t altered; /* enum variable_dependent: what it has set otherwise, and is not modelled */
	bool any_case; /* as in struct eval_env */
	bool select_limited; /* sql_select_limit: a SELECT without LIMIT does not answer with all rows */
	enum mvcc_engine engine; /* a session of MariaDB may set innodb_snapshot_isolation for itself */
	uint32_t auto_increment_step; /* from one AUTO_INCREMENT value to the next; 0: not known */
};

/* The connection's collation by name; COLLATION_NONE: not one of utf8mb4 */
uint16_t settings_collation_named(struct span name);
enum text_width settings_width_named(struct span charset);
enum text_width settings_width_numbered(uint32_t collation);
/* What the server's configuration gives to all */
void settings_of_server(struct mvcc *m);
/* ... of a session that has said nothing yet */
void settings_first(struct mvcc *m, struct session_settings *s, uint32_t session);
/* What they mean to the evaluator, from now on. */
void settings_apply(struct mvcc *m, const struct plan *plan);
/* SET of what decides how literals compare: true, and *out where it is understood. */
bool settings_collation(const struct mvcc *m, const struct session_settings *s,
	const struct sql_set_item *item, struct session_settings *out);
/* What they are once the statement was answered; its plan was made with those before it. */
void settings_after(struct mvcc *m, struct session_settings *s, const struct execution_stmt *in,
	const struct plan *plan);
/* SET of another variable that is followed: true, and *out. */
bool settings_variable(const struct mvcc *m, const struct session_settings *s,
	const struct sql_set_item *item, struct session_settings *out);
/* SET GLOBAL: sessions that are there keep their values. */
static inline bool settings_is_global(const struct sql_set_item *item)
{
	return item->scope == SQL_SCOPE_GLOBAL || item->scope == SQL_SCOPE_PERSIST ||
	       item->scope == SQL_SCOPE_PERSIST_ONLY;
}

/* The item with the value of the user variable that it sets from, where that is known: SET foreign_key_checks = @old */
struct sql_set_item settings_resolved(
	struct mvcc *m, const struct session_settings *s, const struct sql_set_item *item);
/* @@name as a literal, where the session's value is followed; NULL: it is not. */
struct sql_expr *settings_system_variable(
	struct mvcc *m, const struct session_settings *s, const struct sql_expr *e);
/* With sql_mode set to a value; false: which one that is, is not known. */
bool settings_mode(struct mvcc *m, const struct session_settings *s, const struct sql_expr *value,
	struct session_settings *out);
bool settings_temporary(const struct session_settings *s, const struct sql_table_name *table);
/* The same of a list, as settings and plans have it; *number: in the store, STORE_NONE where its definition is not known. */
bool temporary_find(struct span list, bool any_case, struct span database, struct span name, uint32_t *number);
/* What SET gives, where it is one word or literal. */
struct span settings_word(const struct sql_expr *value);

/* Is what a command of the protocol brings a statement, and not the name of a database? */
bool settings_has_text(uint8_t command);

#endif
