/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records in a few words, for people.  All texts come out clean for a terminal and at most
 * `columns` wide; what a trace holds cannot make them longer.
 */
#ifndef REPORT_DESCRIBE_RECORD_H
#define REPORT_DESCRIBE_RECORD_H

#include "base/buf.h"
#include "report/trace_names.h"
#include "trace/record.h"

/* "select * from t", "prepare: select ?", "ping": what was asked; parameters in brackets. */
void describe_stmt(
	struct buf *out, const struct names *names, const struct record_stmt *stmt, size_t columns);
/* "ok 2", "3 rows", "error 1213 Deadlock found ...": what came of it.  `rows` is what
 * describe_rows made of the statement's results, or SPAN_NONE. */
void describe_outcome(
	struct buf *out, const struct record_stmt *stmt, struct span rows, size_t columns);
/* "(1,'a') (2,NULL)": appends rows while they fit into `bytes_max`; returns how many did. */
uint64_t describe_rows(struct buf *out, struct span rows, size_t bytes_max);
void describe_session(struct buf *out, const struct record_session *session, size_t columns);
void describe_txn(struct buf *out, const struct record_txn *txn, size_t columns);
void describe_probe(struct buf *out, const struct names *names, const struct record_probe *probe,
	size_t columns);
void describe_server(struct buf *out, const struct record_server *server, size_t columns);
void describe_schema(struct buf *out, const struct record_schema *schema, size_t columns);
void describe_table_rows(
	struct buf *out, const struct names *names, const struct record_rows *rows, size_t columns);
void describe_cluster(struct buf *out, const struct record_cluster *cluster, size_t columns);
void describe_program(struct buf *out, const struct record_program *program, size_t columns);
void describe_logged(struct buf *out, const struct names *names, const struct record_logged *logged,
	size_t columns);
void describe_note(struct buf *out, const struct record_note *note, size_t columns);
void describe_gap(struct buf *out, const struct record_gap *gap, size_t columns);

/* The protocol's command: "query", "ping"; NULL when it is none that we know. */
const char *command_name(uint8_t command);

#endif
