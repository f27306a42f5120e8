/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/export_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files.h"
#include "base/mem.h"
#include "commands/output_path.h"
#include "commands/trace_input.h"
#include "report/judge_trace.h"
#include "report/trace_tables.h"

const char *const export_table_words[] = {"statements", "transactions", "versions", "edges", "findings", NULL};
_Static_assert(ARRAY_LEN(export_table_words) == TRACE_TABLE_COUNT + 1, "a word a table");

static const char *const endings[] = {[TABLE_CSV] = "csv", [TABLE_NDJSON] = "ndjson", [TABLE_PARQUET] = "parquet"};

/* Where one table goes. */
struct target {
	int fd; /* -1: the program's output */
	char *path, *beside; /* written beside its place, and put there when it is whole */
	bool failed;
	int error;
};

static bool write_out(void *context, struct buf *bytes)
{
	struct target *target = context;

	if (target->fd < 0)
		return output_write(bytes);
	if (!fd_write_all(target->fd, bytes->data, bytes->len)) {
		target->failed = true;
		target->error = errno;
		return false;
	}
	buf_clear(bytes);
	return true;
}

static bool target_begin(struct target *target, const struct export_tables *o, enum trace_table table, struct err *err)
{
	struct buf path = BUF_INIT;

	*target = (struct target){.fd = -1};
	if (o->table >= 0)
		return true;
	buf_printf(&path, "%s/%s.%s", o->output, export_table_words[table], endings[o->format]);
	target->path = path.data;
	path = BUF_INIT;
	buf_printf(&path, "%s.part", target->path);
	target->beside = path.data;
	target->fd = file_make(target->beside);
	if (target->fd >= 0)
		return true;
	err_set_errno(err, errno, "cannot write %s", target->beside);
	mem_free(target->path);
	mem_free(target->beside);
	return false;
}

/* Ends it; `whole`: all rows are in it. */
static bool target_end(struct target *target, bool whole, struct err *err)
{
	bool ok = whole && !target->failed;

	if (target->fd < 0)
		return true;
	if (close(target->fd) != 0 && ok) {
		target->error = errno;
		ok = false;
	}
	if (ok && rename(target->beside, target->path) != 0) {
		target->error = errno;
		ok = false;
	}
	if (!ok) {
		unlink(target->beside);
		if (target->error)
			err_set_errno(err, target->error, "cannot write %s", target->path);
	}
	mem_free(target->path);
	mem_free(target->beside);
	return ok || !target->error;
}

/* ---- statements: from the trace's records, in one pass ---- */

static bool add_item(struct table_out *out, struct trace_source *source, struct names *names, struct trace_item *item)
{
	struct record_session session;
	struct record_schema schema;
	struct record_stmt stmt;

	switch (item->kind) {
	case RECORD_SESSION:
		if (record_session_read(&item->mp, item->left, &session))
			names_learn_session(names, &session);
		return true;
	case RECORD_SCHEMA:
		if (record_schema_read(&item->mp, item->left, &schema))
			names_learn_schema(names, &schema);
		return true;
	case RECORD_STMT:
		if (!record_stmt_read(&item->mp, item->left, &stmt))
			return true;
		names_learn_stmt(names, &stmt);
		return table_add_stmt(out, &stmt, names, source->mono_ns, source->wall_ns);
	default:
		return true;
	}
}

static enum exit_status export_statements(const struct export_tables *o, struct err *err)
{
	struct trace_source source;
	enum exit_status status;
	struct trace_item item;
	struct target target;
	struct table_out *out;
	struct names *names;
	bool ok = true;

	if (!target_begin(&target, o, TABLE_STATEMENTS, err))
		return err_exit_status(err);
	if (!source_open(&source, o->path, o->salvage, true, o->progress, !o->output, &status)) {
		(void)!target_end(&target, false, err);
		return status;
	}
	out = table_out_new(o->format, &trace_tables[TABLE_STATEMENTS], write_out, &target);
	names = names_new();
	while (ok && source_next(&source, &item))
		ok = add_item(out, &source, names, &item);
	ok = ok && table_out_end(out);
	status = source_finish(&source);
	source_close(&source);
	names_free(names);
	table_out_free(out);
	if (!target_end(&target, ok, err)) {
		output_message("%s", err->text);
		return EXIT_STATUS_INPUT;
	}
	return status;
}

/* ---- the others: from the history and its verdict ---- */

static bool add_rows(struct table_out *out, enum trace_table table, const struct judged *judged)
{
	switch (table) {
	case TABLE_TRANSACTIONS:
		return table_add_transactions(out, &judged->history);
	case TABLE_VERSIONS:
		return table_add_versions(out, &judged->history);
	case TABLE_EDGES:
		return table_add_edges(out, &judged->history);
	case TABLE_FINDINGS:
		return table_add_findings(out, &judged->verdict);
	case TABLE_STATEMENTS:
	case TRACE_TABLE_COUNT:
		break;
	}
	return false;
}

static bool export_table(const struct export_tables *o, enum trace_table table, const struct judged *judged, struct err *err)
{
	struct table_out *out;
	struct target target;
	bool ok;

	if (!target_begin(&target, o, table, err))
		return false;
	out = table_out_new(o->format, &trace_tables[table], write_out, &target);
	ok = add_rows(out, table, judged) && table_out_end(out);
	table_out_free(out);
	return target_end(&target, ok, err);
}

static enum exit_status export_judged(const struct export_tables *o, struct err *err)
{
	const struct judge_options options = {.salvage = o->salvage, .examples = 1000, .progress = (enum output_when)o->progress};
	enum exit_status status = EXIT_STATUS_OK;
	struct judged judged;

	err_clear(err);
	if (!judge_trace(&judged, o->path, &options, err)) {
		output_message("%s", err->text);
		return err_exit_status(err);
	}
	for (int table = TABLE_TRANSACTIONS; table < TRACE_TABLE_COUNT && status != EXIT_STATUS_INPUT; table++) {
		if (o->table >= 0 && o->table != table)
			continue;
		if (!export_table(o, (enum trace_table)table, &judged, err)) {
			output_message("%s", err->text);
			status = EXIT_STATUS_INPUT;
		}
	}
	if (!judged.history.complete && status == EXIT_STATUS_OK) {
		output_message("%s: the trace is incomplete", o->path);
		status = EXIT_STATUS_INCOMPLETE;
	}
	judged_release(&judged);
	return status;
}

/* ---- what a user asked for ---- */

static bool make_folder(const struct export_tables *o, struct err *err)
{
	struct stat st;

	if (mkdir(o->output, 0700) == 0 || (errno == EEXIST && stat(o->output, &st) == 0 && S_ISDIR(st.st_mode)))
		return true;
	if (errno == EEXIST)
		return err_set(err, ERR_USAGE, "%s is no folder: give one for all tables, or --table for one", o->output);
	return err_set_errno(err, errno, "cannot make the folder %s", o->output);
}

enum exit_status export_tables(const struct export_tables *o)
{
	enum exit_status first = EXIT_STATUS_OK, second = EXIT_STATUS_OK;
	struct err err;

	if (o->table < 0 && !make_folder(o, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	if (o->table < 0 || o->table == TABLE_STATEMENTS)
		first = export_statements(o, &err);
	if (o->table != TABLE_STATEMENTS && exit_status_weight(first) <= exit_status_weight(EXIT_STATUS_INCOMPLETE))
		second = export_judged(o, &err);
	return exit_status_weight(first) > exit_status_weight(second) ? first : second;
}

static const char *type_word(enum column_type type)
{
	switch (type) {
	case COLUMN_UINT:
		return "number";
	case COLUMN_BOOL:
		return "true or false";
	case COLUMN_TEXT:
		return "text";
	case COLUMN_TIME:
		return "time";
	}
	return "";
}

enum exit_status export_list_columns(void)
{
	struct buf out = BUF_INIT;

	for (int t = 0; t < TRACE_TABLE_COUNT; t++) {
		const struct data_table *table = &trace_tables[t];

		buf_printf(&out, "%s%s: %s\n", t ? "\n" : "", table->name, table->meaning);
		for (size_t i = 0; i < table->column_count; i++)
			buf_printf(&out, "  %-13s %-14s %s\n", table->columns[i].name, type_word(table->columns[i].type),
				table->columns[i].meaning);
	}
	(void)!output_write(&out);
	buf_release(&out);
	return EXIT_STATUS_OK;
}
