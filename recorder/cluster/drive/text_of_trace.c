/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run's text from its trace: what waited for a time, a state or a window waits for a statement then. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "cluster/drive/drive.h"
#include "model/life/life.h"
#include "trace/reader.h"

/* The text that the run noted. */
static bool noted_text(const char *path, struct buf *out, struct err *err)
{
	struct trace_reader *reader = trace_reader_open(path, &(struct trace_reader_options){.salvage = false}, err);
	enum trace_next next = TRACE_NEXT_OK;
	struct trace_item item;
	struct record_note note;

	if (!reader)
		return false;
	while (!out->len && (next = trace_next_item(reader, &item, err)) == TRACE_NEXT_OK) {
		struct mp mp = item.mp;

		if (item.kind == RECORD_NOTE && record_note_read(&mp, item.left, &note) && span_eq_str(note.source, "driver") &&
			span_eq_str(note.topic, "operations"))
			buf_add_span(out, note.text);
	}
	trace_reader_close(reader);
	if (next == TRACE_NEXT_ERROR)
		return false;
	return out->len || err_set(err, ERR_UNSUPPORTED, "%s is no trace of isorec cluster: it has no text of operations", path);
}

static bool is_begin_of(const struct life_event *e, const struct ops_step *step)
{
	return span_eq_str(e->what, "operation") && span_eq_str(life_data(e->data, "phase"), "begin") &&
	       span_eq_str(life_data(e->data, "name"), step->operation->name);
}

/* "kill n1 n2 for 3s" with the nodes that it took; of links, as it was written. */
static void add_step(const struct ops *ops, const struct ops_step *step, const struct life_event *e, struct buf *out)
{
	struct span nodes = life_data(e->data, "nodes");
	struct ops_step moment = *step;
	struct buf words = BUF_INIT;
	uint64_t number;

	if (step->trigger != OPS_THEN && text_number(life_data(e->data, "statement"), &number)) {
		moment.trigger = OPS_AT_STATEMENT;
		moment.number = number;
	}
	if (!step->change && !step->operation->of_cluster) {
		const char *lasts = strstr(step->text, " for ");

		buf_printf(&words, "%s ", step->operation->name);
		for (size_t i = 0; i < nodes.len; i++)
			buf_add_char(&words, nodes.ptr[i] == ',' ? ' ' : nodes.ptr[i]);
		buf_add_str(&words, lasts ? lasts : "");
		moment.text = words.data;
	}
	ops_print_step(ops, &moment, out);
	buf_release(&words);
}

bool drive_text_of_trace(const char *trace, struct buf *out, struct err *err)
{
	struct buf text = BUF_INIT;
	size_t at = 0;
	struct life life;
	struct ops ops, header;
	bool ok = noted_text(trace, &text, err) && ops_parse(&ops, buf_span(&text), trace, NULL, err);

	buf_release(&text);
	if (!ok)
		return false;
	if (!life_load(&life, trace, false, err)) {
		ops_release(&ops);
		return false;
	}
	header = ops;
	header.step_count = 0;
	ops_print(&header, out);
	for (unsigned i = 0; i < ops.step_count; i++) {
		size_t next = at;

		if (!ops.steps[i].operation) {
			ops_print_step(&ops, &ops.steps[i], out);
			continue;
		}
		while (next < life.event_count && !is_begin_of(&life.events[next], &ops.steps[i]))
			next++;
		/* Without a beginning it was left out. */
		if (next == life.event_count)
			continue;
		add_step(&ops, &ops.steps[i], &life.events[next], out);
		at = next + 1;
	}
	life_release(&life);
	ops_release(&ops);
	return true;
}
