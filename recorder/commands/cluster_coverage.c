/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/cluster_coverage.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/output.h"
#include "base/text.h"
#include "cluster/coverage/coverage.h"
#include "trace/reader.h"

static bool read_note(const char *path, struct coverage_read *out, struct err *err)
{
	struct trace_reader *reader = trace_reader_open(path, &(struct trace_reader_options){.salvage = false}, err);
	enum trace_next next = TRACE_NEXT_OK;
	struct trace_item item;
	struct record_note note;
	bool found = false;

	if (!reader)
		return false;
	while (!found && (next = trace_next_item(reader, &item, err)) == TRACE_NEXT_OK) {
		struct mp mp = item.mp;

		found = item.kind == RECORD_NOTE && record_note_read(&mp, item.left, &note) && span_eq_str(note.source, "driver") &&
			span_eq_str(note.topic, "coverage") && coverage_parse(out, note.text);
	}
	trace_reader_close(reader);
	if (next == TRACE_NEXT_ERROR)
		return false;
	return found || err_set(err, ERR_UNSUPPORTED, "%s has no coverage: its text needs the line '# coverage: yes'", path);
}

/* How many blocks all of the traces reached, at least one of them, and this one alone. */
static void count(const struct coverage_read *all, int traces, int which, uint32_t *every, uint32_t *some, uint32_t *alone)
{
	*every = *some = *alone = 0;
	for (uint32_t b = 0; b < all[0].count; b++) {
		int reached = 0;

		for (int i = 0; i < traces; i++)
			reached += all[i].bits[b];
		*every += reached == traces;
		*some += reached > 0;
		*alone += reached == 1 && all[which].bits[b];
	}
}

static void print(const struct coverage_read *all, char **names, int traces, struct buf *out)
{
	uint32_t every, some, alone;

	buf_printf(out, "build %s: ", all[0].build_id);
	text_add_counted(out, all[0].count, "block", "blocks");
	buf_add_str(out, " in ");
	text_add_counted(out, all[0].functions, "function", "functions");
	buf_add_str(out, "\n\n   reached   of all   here alone\n");
	for (int i = 0; i < traces; i++) {
		count(all, traces, i, &every, &some, &alone);
		buf_printf(out, "%10u  %6.2f%%   %10u  ", all[i].reached, 100.0 * all[i].reached / all[i].count, alone);
		text_add(out, span_str(names[i]), TEXT_NO_LIMIT, TEXT_FOLD);
		buf_add_char(out, '\n');
	}
	count(all, traces, 0, &every, &some, &alone);
	if (traces > 1)
		buf_printf(out, "%10u  %6.2f%%               together\n%10u  %6.2f%%               in each of them\n", some,
			100.0 * some / all[0].count, every, 100.0 * every / all[0].count);
}

enum exit_status cluster_coverage(char **traces, int count_of_traces)
{
	struct coverage_read *all = mem_zero((size_t)count_of_traces, sizeof(*all));
	struct buf out = BUF_INIT;
	struct err err;
	bool ok = true;

	for (int i = 0; i < count_of_traces && ok; i++) {
		ok = read_note(traces[i], &all[i], &err);
		if (ok && (strcmp(all[i].build_id, all[0].build_id) != 0 || all[i].count != all[0].count))
			ok = err_set(&err, ERR_UNSUPPORTED, "%s is of another build of the library than %s: their blocks cannot be compared",
				traces[i], traces[0]);
	}
	if (ok)
		print(all, traces, count_of_traces, &out);
	else
		output_message("%s", err.text);
	(void)!output_write(&out);
	for (int i = 0; i < count_of_traces; i++)
		coverage_read_release(&all[i]);
	mem_free(all);
	return output_finish(ok ? EXIT_STATUS_OK : err_exit_status(&err));
}
