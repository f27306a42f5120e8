/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of instrument_tables_load(). */
#ifndef INSTRUMENT_TABLES_INTERNAL_H
#define INSTRUMENT_TABLES_INTERNAL_H

#include "instrument/tables.h"

#define REWRITES "('SET NULL', 'SET DEFAULT')"
#define ACTIONS  "('CASCADE', 'SET NULL', 'SET DEFAULT')"

/* routines.c */
bool tables_read_functions(
	struct instrument_tables *tables, MYSQL *mysql, struct err *err) MUST_CHECK;
/* After the functions: a body that calls one is not whole. */
bool tables_read_routines(
	struct instrument_tables *tables, MYSQL *mysql, struct err *err) MUST_CHECK;
bool tables_read_views(struct instrument_tables *tables, MYSQL *mysql, struct err *err) MUST_CHECK;

/* cascades.c */
bool tables_read_cascades(
	struct instrument_tables *tables, MYSQL *mysql, struct err *err) MUST_CHECK;
bool tables_note_triggers(
	struct instrument_tables *tables, MYSQL *mysql, struct err *err) MUST_CHECK;

#endif
