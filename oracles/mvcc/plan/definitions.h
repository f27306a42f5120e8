/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Definitions of tables over time.  A table that is made, changed or renamed is another one from then on, so that plans need to know only
 * what names stood for when their statement was executed.
 */
#ifndef MVCC_PLAN_DEFINITIONS_H
#define MVCC_PLAN_DEFINITIONS_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;
struct store_table;
struct plan;
struct session_settings;
struct sql_create_table;

/* Definitions over time.  A table that is made, changed or renamed is another one from then on, so that
 * plans need to know only what names stood for when their statement was executed. */
void label_tables(struct mvcc *m);
/* The statements in the order in which names had to mean something to them; to be freed. */
uint32_t *definition_order(const struct mvcc *m);
/* What a statement that was answered makes of names and definitions; plans are made in that order. */
bool define_names_engine(const struct sql_create_table *create);
/* The engine that it names; SPAN_NONE: none */
struct span define_engine(const struct sql_create_table *create);
/* Has the table an engine without transactions?  There each statement shows at once, for all and for good (manuals, "Storage
 * Engines"), and no contract promises more. */
bool define_lacks_transactions(const struct mvcc *m, const struct store_table *table);
void define_after(struct mvcc *m, uint32_t stmt, const struct session_settings *settings);
/* The table of the store that CREATE TEMPORARY TABLE, or what empties one, makes: the session's own, which no name of the catalog
 * stands for.  STORE_NONE: its definition is not known. */
uint32_t define_temporary(struct mvcc *m, const struct session_settings *settings, const struct sql_create_table *create);
/* May it change what names of tables stand for? */
bool define_may_change(const struct mvcc *m, uint32_t stmt, const struct plan *plan);
/* Does it make another table of one that the other uses? */
bool define_changes_table_of(const struct mvcc *m, uint32_t change, uint32_t stmt);
/* Has another transaction that is there still a metadata lock on a table that it changes?  By rows alone. */
bool define_has_to_wait(const struct mvcc *m, uint32_t stmt);
/* Is nothing known after it of a table that the other uses? */
bool define_leaves_out(const struct mvcc *m, uint32_t change, uint32_t stmt);
/* Executes it. */
void define_run(struct mvcc *m);
/* From the statement on nothing is known of the table any more. */
void define_leave_out(struct mvcc *m, uint32_t stmt, uint32_t table);
/* The statement that makes a table which this one uses, and was not executed yet; STORE_NONE. */
uint32_t define_maker(const struct mvcc *m, uint32_t stmt);
/* Does `stmt` make another table of one that `other` uses? */
bool define_replaces(const struct mvcc *m, uint32_t stmt, uint32_t other);

#endif
