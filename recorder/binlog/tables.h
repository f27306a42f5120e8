/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of a binary log as tables of the trace: their numbers, and what the log leaves out of
 * their definitions, from the server where there is one.
 */
#ifndef BINLOG_TABLES_H
#define BINLOG_TABLES_H

#include <mysql.h>

#include "binlog/binlog.h"

struct binlog_tables;

/* `define`: makes the record; the table's number is in it.  `db`: a server that has the definitions
 * as they are now; NULL: there is none.  `first`: the first number to give out. */
struct binlog_tables *binlog_tables_new(MYSQL *db, uint32_t first,
	void (*define)(void *ctx, struct record_schema *record), void *ctx);
void binlog_tables_free(struct binlog_tables *tables);
/* Another connection, after the first one broke. */
void binlog_tables_reconnect(struct binlog_tables *tables, MYSQL *db);
/* The server logs what foreign keys change (MySQL 9.7). */
void binlog_tables_log_cascades(struct binlog_tables *tables);
/* A table that the trace has already, by that number. */
void binlog_tables_known(
	struct binlog_tables *tables, struct span database, struct span name, uint32_t number);
/* Fills in what the event does not have, and its number. */
void binlog_tables_complete(struct binlog_tables *tables, struct binlog_table *table);
/* A statement that may change definitions or empty tables: those that it names begin anew, under
 * another number. */
void binlog_tables_changed(struct binlog_tables *tables, struct span text);
/* Tables whose rows have no name: no primary key, or none that is known. */
uint32_t binlog_tables_without_key(const struct binlog_tables *tables);

#endif
