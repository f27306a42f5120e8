/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/text.h"

enum {
	WINDOW_EVENTS = 8192,
	WINDOW_BYTES = 8 * 1024 * 1024,
	COLUMNS_MAX = 32,
	CELL_MIN = 26, /* narrower cells show too little of a statement */
	CELL_MIN_FORCED = 12,
	NAME_WIDTH = 6,               /* of the session in the line layout: "S12345" */
	HEADING_EVERY = 50,           /* rows */
	CELL_LINES_MAX = 2,           /* of a statement, and of its result */
	ATTACHED_MAX = 16,            /* a statement's own events between its beginning and end */
	FULL_COLUMNS_MAX = 16 * 1024, /* of one text with `full` */
};

#define SEPARATOR " \xe2\x94\x82 " /* 3 columns */
#define ARROW     "\xe2\x86\x92 "  /* 2 columns */
#define ELLIPSIS  "\xe2\x80\xa6"
#define DOT       " \xc2\xb7 "

enum event_class {
	EVENT_ACROSS,
	EVENT_CELL,
	EVENT_STMT_BEGIN,
	EVENT_STMT_END,
	EVENT_TXN,
};

struct event {
	uint64_t order;   /* the trace's sequence number */
	uint64_t arrival; /* among equal ones, first come first shown */
	uint64_t at;
	struct event *end; /* STMT_BEGIN: its end, which has the texts */
	uint64_t since;    /* STMT_END whose beginning came too late to be shown: when; else 0 */
	size_t size;
	uint32_t session, number;
	enum event_class class;
	enum timeline_style style;
	bool closes;
	bool begun; /* STMT_END: the beginning was shown in a row of its own */
	uint32_t text_len, result_len;
	char bytes[]; /* text, result */
};

struct column {
	uint32_t session;
	bool open;
};

struct timeline {
	struct timeline_options options;
	const struct names *names;
	struct event **heap; /* smallest (order, arrival) first */
	size_t count, capacity;
	size_t bytes;
	uint64_t arrivals;
	uint64_t shown_order; /* of the newest event that was taken out */
	struct column columns[COLUMNS_MAX];
	size_t column_count;
	bool laid_out;
	bool lines; /* one line an event */
	unsigned rows_since_heading;
	struct buf scratch, cell;
};

struct timeline *timeline_new(const struct timeline_options *options, const struct names *names)
{
	struct timeline *timeline = mem_zero(1, sizeof(*timeline));

	timeline->options = *options;
	timeline->names = names;
	return timeline;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->count; i++)
		mem_free(timeline->heap[i]);
	mem_free(timeline->heap);
	buf_release(&timeline->scratch);
	buf_release(&timeline->cell);
	mem_free(timeline);
}

size_t timeline_text_max(const struct timeline *timeline)
{
	return timeline->options.full ? FULL_COLUMNS_MAX : timeline->options.width;
}

/* ---- the window ---- */

static bool event_before(const struct event *a, const struct event *b)
{
	return a->order != b->order ? a->order < b->order : a->arrival < b->arrival;
}

static void heap_push(struct timeline *timeline, struct event *event)
{
	size_t i = timeline->count++;

	MEM_RESERVE(timeline->heap, timeline->count, timeline->capacity);
	while (i > 0 && event_before(event, timeline->heap[(i - 1) / 2])) {
		timeline->heap[i] = timeline->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	timeline->heap[i] = event;
	timeline->bytes += event->size;
}

static struct event *heap_pop(struct timeline *timeline)
{
	struct event *top = timeline->heap[0], *last;
	size_t i = 0;

	CHECK(timeline->count > 0);
	last = timeline->heap[--timeline->count];
	while (2 * i + 1 < timeline->count) {
		size_t child = 2 * i + 1;

		if (child + 1 < timeline->count &&
			event_before(timeline->heap[child + 1], timeline->heap[child]))
			child++;
		if (!event_before(timeline->heap[child], last))
			break;
		timeline->heap[i] = timeline->heap[child];
		i = child;
	}
	if (timeline->count)
		timeline->heap[i] = last;
	timeline->bytes -= top->size;
	if (top->order > timeline->shown_order)
		timeline->shown_order = top->order;
	return top;
}

static struct event *heap_top(const struct timeline *timeline)
{
	return timeline->count ? timeline->heap[0] : NULL;
}

static struct event *event_new(struct timeline *timeline, enum event_class class, uint64_t seq,
	uint64_t at, struct span text, struct span result)
{
	size_t size = sizeof(struct event) + text.len + result.len;
	struct event *event = mem_zero(1, size);

	event->class = class;
	event->order = seq;
	event->at = at;
	event->arrival = timeline->arrivals++;
	event->size = size;
	event->text_len = (uint32_t)text.len;
	event->result_len = (uint32_t)result.len;
	if (text.len)
		memcpy(event->bytes, text.ptr, text.len);
	if (result.len)
		memcpy(event->bytes + text.len, result.ptr, result.len);
	return event;
}

static struct span event_text(const struct event *event)
{
	return span_of(event->bytes, event->text_len);
}

static struct span event_result(const struct event *event)
{
	return span_of(event->bytes + event->text_len, event->result_len);
}

void timeline_across(struct timeline *timeline, uint64_t seq, uint64_t at,
	enum timeline_style style, struct span text)
{
	struct event *event = event_new(timeline, EVENT_ACROSS, seq, at, text, SPAN_NONE);

	event->style = style;
	heap_push(timeline, event);
}

void timeline_cell(struct timeline *timeline, uint64_t seq, uint64_t at, uint32_t session,
	enum timeline_style style, bool closes, struct span text)
{
	struct event *event = event_new(timeline, EVENT_CELL, seq, at, text, SPAN_NONE);

	event->style = style;
	event->session = session;
	event->closes = closes;
	heap_push(timeline, event);
}

void timeline_txn(struct timeline *timeline, uint64_t seq, uint64_t at, uint32_t session,
	uint32_t number, enum timeline_style style, struct span text)
{
	struct event *event = event_new(timeline, EVENT_TXN, seq, at, text, SPAN_NONE);

	event->style = style;
	event->session = session;
	event->number = number;
	heap_push(timeline, event);
}

void timeline_stmt(struct timeline *timeline, const struct timeline_stmt *stmt)
{
	struct event *end =
		event_new(timeline, EVENT_STMT_END, stmt->seq, stmt->at, stmt->text, stmt->result);

	end->style = stmt->style;
	end->session = stmt->session;
	end->number = stmt->number;
	if (stmt->begin_seq && stmt->begin_seq < stmt->seq) {
		if (stmt->begin_seq > timeline->shown_order || !timeline->laid_out) {
			struct event *begin = event_new(timeline, EVENT_STMT_BEGIN, stmt->begin_seq,
				stmt->begin, SPAN_NONE, SPAN_NONE);

			begin->style = stmt->style;
			begin->session = stmt->session;
			begin->number = stmt->number;
			begin->end = end;
			heap_push(timeline, begin);
		} else {
			end->since = stmt->begin;
		}
	}
	heap_push(timeline, end);
}

/* ---- drawing ---- */

/* Seconds since the anchor, microseconds after the point. */
static void format_time(const struct timeline *timeline, uint64_t at, char *out, size_t size)
{
	bool before = at < timeline->options.anchor_ns;
	uint64_t us =
		(before ? timeline->options.anchor_ns - at : at - timeline->options.anchor_ns) /
		1000;

	snprintf(out, size, "%s%" PRIu64 ".%06" PRIu64, before ? "-" : "", us / 1000000,
		us % 1000000);
}

enum { TIME_WIDTH = 11 };

static void add_time(const struct timeline *timeline, struct buf *out, uint64_t at)
{
	char text[40];

	format_time(timeline, at, text, sizeof(text));
	buf_printf(out, "%*s  ", TIME_WIDTH, text);
}

static const char *style_code(enum timeline_style style)
{
	switch (style) {
	case STYLE_PLAIN:
		return NULL;
	case STYLE_ERROR:
		return "\x1b[31m";
	case STYLE_BLOCKED:
		return "\x1b[33m";
	case STYLE_QUIET:
		return "\x1b[2m";
	case STYLE_NOTICE:
		return "\x1b[1m";
	}
	BUG("style %d", (int)style);
}

static void add_styled(const struct timeline *timeline, struct buf *out, enum timeline_style style,
	struct span text)
{
	const char *code = timeline->options.color && text.len ? style_code(style) : NULL;

	if (code)
		buf_add_str(out, code);
	buf_add_span(out, text);
	if (code)
		buf_add_str(out, "\x1b[0m");
}

static void end_line(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->len--;
	buf_add_char(out, '\n');
}

static size_t cell_width(const struct timeline *timeline)
{
	size_t width = timeline->options.width - (TIME_WIDTH + 2);

	if (timeline->lines)
		return width - (NAME_WIDTH + 2);
	return (width - 3 * (timeline->column_count - 1)) / timeline->column_count;
}

static size_t columns_fit(const struct timeline *timeline)
{
	size_t least = timeline->options.layout == TIMELINE_COLUMNS ? CELL_MIN_FORCED : CELL_MIN;
	size_t width = timeline->options.width > TIME_WIDTH + 2
			       ? timeline->options.width - (TIME_WIDTH + 2)
			       : 0;
	size_t fit = (width + 3) / (least + 3);

	return fit > COLUMNS_MAX ? COLUMNS_MAX : fit;
}

static size_t add_session_name(
	const struct timeline *timeline, struct buf *out, uint32_t session, size_t columns)
{
	size_t used;
	const struct names_session *known = names_session(timeline->names, session);
	struct buf text = BUF_INIT;

	buf_printf(&text, "S%" PRIu32, session);
	if (known && known->user[0])
		buf_printf(&text, " %s", known->user);
	if (known && known->client[0])
		buf_printf(&text, "@%s", known->client);
	if (known && known->node[0])
		buf_printf(&text, " on %s", known->node);
	used = text_add(out, buf_span(&text), columns, TEXT_PLAIN);
	buf_release(&text);
	return used;
}

static void heading(struct timeline *timeline, struct buf *out)
{
	size_t width = cell_width(timeline), used;

	timeline->rows_since_heading = 0;
	buf_printf(out, "%*s  ", TIME_WIDTH, "seconds");
	for (size_t i = 0; i < timeline->column_count; i++) {
		struct buf name = BUF_INIT;

		if (i)
			buf_add_str(out, SEPARATOR);
		used = add_session_name(timeline, &name, timeline->columns[i].session, width);
		add_styled(timeline, out, STYLE_NOTICE, buf_span(&name));
		text_add_blanks(out, width - used);
		buf_release(&name);
	}
	end_line(out);
}

static void switch_to_lines(struct timeline *timeline, struct buf *out, const char *why)
{
	timeline->lines = true;
	timeline->column_count = 0;
	if (why)
		buf_printf(out, "%*s  %s\n", TIME_WIDTH, "", why);
}

static struct column *find_column(struct timeline *timeline, uint32_t session)
{
	for (size_t i = 0; i < timeline->column_count; i++) {
		if (timeline->columns[i].session == session)
			return &timeline->columns[i];
	}
	return NULL;
}

static int by_order(const void *a, const void *b)
{
	const struct event *const *x = a, *const *y = b;

	return event_before(*x, *y) ? -1 : event_before(*y, *x) ? 1 : 0;
}

static int by_session(const void *a, const void *b)
{
	const struct column *x = a, *y = b;

	return (x->session > y->session) - (x->session < y->session);
}

/* A column that is free, or a new one; NULL when all that fit are taken. */
static struct column *free_column(struct timeline *timeline, size_t fit)
{
	for (size_t i = 0; i < timeline->column_count; i++) {
		if (!timeline->columns[i].open)
			return &timeline->columns[i];
	}
	return timeline->column_count < fit ? &timeline->columns[timeline->column_count++] : NULL;
}

/* Plays the window through: as many columns as sessions are open at a time. */
static void lay_out(struct timeline *timeline, struct buf *out)
{
	size_t fit = columns_fit(timeline);
	struct event **events = mem_dup(timeline->heap, timeline->count * sizeof(struct event *));
	struct column first[COLUMNS_MAX];
	size_t seen = 0;

	timeline->laid_out = true;
	timeline->lines = timeline->options.layout == TIMELINE_LINES || fit == 0;
	qsort(events, timeline->count, sizeof(struct event *), by_order);
	for (size_t i = 0; i < timeline->count && !timeline->lines; i++) {
		const struct event *event = events[i];
		struct column *column;

		if (event->class == EVENT_ACROSS)
			continue;
		column = find_column(timeline, event->session);
		if (!column) {
			column = free_column(timeline, fit);
			if (!column) {
				timeline->lines = true;
				break;
			}
			if (timeline->column_count > seen)
				first[seen++] = (struct column){event->session, true};
		}
		*column = (struct column){event->session, !event->closes};
	}
	mem_free(events);
	/* The first session of each column stands in the first heading, in order of number. */
	qsort(first, seen, sizeof(*first), by_session);
	memcpy(timeline->columns, first, seen * sizeof(*first));
	if (timeline->lines)
		timeline->column_count = 0;
	else if (timeline->column_count)
		heading(timeline, out);
}

/* The column for a session, or NULL in the line layout. */
static struct column *take_column(struct timeline *timeline, struct buf *out, uint32_t session)
{
	struct column *column;

	if (timeline->lines)
		return NULL;
	column = find_column(timeline, session);
	if (column) {
		if (!column->open) {
			column->open = true;
			heading(timeline, out);
		}
		return column;
	}
	column = free_column(timeline, columns_fit(timeline));
	if (!column) {
		switch_to_lines(timeline, out,
			"(more sessions than columns: one line an event from here on)");
		return NULL;
	}
	*column = (struct column){session, true};
	heading(timeline, out);
	return column;
}

/* One line of a cell, with what stands left and right of it. */
static void cell_line(struct timeline *timeline, struct buf *out, uint64_t at, bool with_time,
	uint32_t session, const struct column *column, enum timeline_style style, struct span text)
{
	size_t width = cell_width(timeline), used;
	struct buf line = BUF_INIT;

	if (with_time)
		add_time(timeline, out, at);
	else
		text_add_blanks(out, TIME_WIDTH + 2);
	if (!column) {
		char name[16];

		snprintf(name, sizeof(name), "S%" PRIu32, session);
		buf_printf(out, "%-*s  ", NAME_WIDTH, with_time ? name : "");
		text_add(&line, text, width, TEXT_PLAIN);
		add_styled(timeline, out, style, buf_span(&line));
		buf_release(&line);
		end_line(out);
		return;
	}
	for (size_t i = 0; i < timeline->column_count; i++) {
		if (i)
			buf_add_str(out, SEPARATOR);
		if (column != &timeline->columns[i]) {
			text_add_blanks(out, width);
			continue;
		}
		buf_clear(&line);
		used = text_add(&line, text, width, TEXT_PLAIN);
		add_styled(timeline, out, style, buf_span(&line));
		text_add_blanks(out, width - used);
	}
	buf_release(&line);
	end_line(out);
}

/* text_wrap that leaves no arrow at the end of a line, nor alone on one. */
static struct span wrap(struct span text, size_t width, struct span *rest)
{
	struct span line = text_wrap(text, width, rest);
	const size_t tail = sizeof(" " ARROW) - 2; /* without the blank after */
	size_t lead = 0;

	while (lead < text.len && text.ptr[lead] == ' ')
		lead++;
	if (line.len == lead + tail - 1 && rest->len && lead + 2 < width &&
		memcmp(text.ptr + lead, ARROW, sizeof(ARROW) - 1) == 0) {
		lead += sizeof(ARROW) - 1;
		line = text_wrap(span_of(text.ptr + lead, text.len - lead),
			width - text_columns(span_of(text.ptr, lead)), rest);
		return span_of(text.ptr, lead + line.len);
	}
	if (line.len > tail && rest->len &&
		memcmp(line.ptr + line.len - tail, " " ARROW, tail) == 0) {
		line.len -= tail;
		*rest = span_of(line.ptr + line.len + 1, text.len - line.len - 1);
	}
	return line;
}

/* A text over at most `lines_max` lines of a cell; what is left over is cut from the last. */
static void cell_lines(struct timeline *timeline, struct buf *out, uint64_t at, bool with_time,
	uint32_t session, const struct column *column, enum timeline_style style, struct span text,
	size_t indent, size_t lines_max)
{
	size_t width = cell_width(timeline);
	struct buf line = BUF_INIT;

	for (size_t i = 0; i < lines_max && (text.len || i == 0); i++) {
		size_t room = width - (i ? indent : 0);
		struct span part = text;

		if (i + 1 < lines_max)
			part = wrap(text, room, &text);
		buf_clear(&line);
		text_add_blanks(&line, i ? indent : 0);
		text_add(&line, part, room, TEXT_PLAIN);
		cell_line(timeline, out, at, with_time && i == 0, session, column, style,
			buf_span(&line));
	}
	buf_release(&line);
}

static bool fits_lines(struct span text, size_t width, size_t indent, size_t lines_max)
{
	for (size_t i = 0; i < lines_max && text.len; i++)
		(void)wrap(text, width - (i ? indent : 0), &text);
	return text.len == 0;
}

/* A cell: what was done and what came of it, in one go where both fit. */
static void draw_cell(struct timeline *timeline, struct buf *out, uint64_t at, uint32_t session,
	enum timeline_style style, struct span text, struct span result)
{
	const struct column *column = take_column(timeline, out, session);
	size_t lines_max = timeline->options.full ? SIZE_MAX : CELL_LINES_MAX;
	struct buf *cell = &timeline->cell;

	if (column && ++timeline->rows_since_heading > HEADING_EVERY)
		heading(timeline, out);
	buf_clear(cell);
	buf_add_span(cell, text);
	if (result.len)
		buf_printf(cell, "%s" ARROW, text.len ? " " : "");
	buf_add_span(cell, result);
	if (!result.len || fits_lines(buf_span(cell), cell_width(timeline), 2, CELL_LINES_MAX)) {
		cell_lines(timeline, out, at, true, session, column, style, buf_span(cell), 2,
			lines_max);
		return;
	}
	cell_lines(timeline, out, at, true, session, column, style, text, 2, lines_max);
	buf_clear(cell);
	buf_add_str(cell, "  " ARROW);
	buf_add_span(cell, result);
	cell_lines(timeline, out, at, false, session, column, style, buf_span(cell), 4, lines_max);
}

static void draw_across(struct timeline *timeline, struct buf *out, const struct event *event)
{
	size_t width = timeline->options.width - (TIME_WIDTH + 2);
	struct span rest = event_text(event);
	struct buf *line = &timeline->cell;
	bool first = true;

	do {
		struct span part = timeline->options.full ? text_wrap(rest, width, &rest) : rest;

		if (first)
			add_time(timeline, out, event->at);
		else
			text_add_blanks(out, TIME_WIDTH + 2);
		first = false;
		buf_clear(line);
		text_add(line, part, width, TEXT_PLAIN);
		add_styled(timeline, out, event->style, buf_span(line));
		end_line(out);
	} while (timeline->options.full && rest.len);
}

/* ---- rows ---- */

/* Events that share a row: a statement, what is said of transactions after it, and the session's
 * other cells (probes) that came between its beginning and its end. */
struct row {
	struct event *begin, *end;
	struct event *attached[ATTACHED_MAX]; /* EVENT_TXN, EVENT_CELL */
	size_t attached_count;
};

static bool belongs(const struct event *event, uint32_t session, uint32_t number, bool cells)
{
	if (!event || event->session != session)
		return false;
	return (event->class == EVENT_TXN && number && event->number == number) ||
	       (event->class == EVENT_CELL && cells && !event->closes);
}

static void attach(
	struct timeline *timeline, struct row *row, uint32_t session, uint32_t number, bool cells)
{
	while (row->attached_count < ATTACHED_MAX &&
		belongs(heap_top(timeline), session, number, cells))
		row->attached[row->attached_count++] = heap_pop(timeline);
}

/* Which style says more. */
static enum timeline_style stronger(enum timeline_style a, enum timeline_style b)
{
	if (a == STYLE_ERROR || b == STYLE_ERROR)
		return STYLE_ERROR;
	return a == STYLE_BLOCKED || b == STYLE_BLOCKED ? STYLE_BLOCKED : a;
}

static void draw_stmt(struct timeline *timeline, struct buf *out, const struct row *row)
{
	struct buf text = BUF_INIT, result = BUF_INIT;
	const struct event *end = row->end;
	enum timeline_style style = end->style;
	char since[40];

	if (end->begun)
		buf_add_str(&text, ELLIPSIS);
	else
		buf_add_span(&text, event_text(end));
	if (end->since) {
		format_time(timeline, end->since, since, sizeof(since));
		buf_printf(&text, " (since %s)", since);
	}
	buf_add_span(&result, event_result(end));
	for (size_t i = 0; i < row->attached_count; i++) {
		if (row->attached[i]->class != EVENT_TXN)
			continue;
		buf_add_str(&result, result.len ? DOT : "");
		buf_add_span(&result, event_text(row->attached[i]));
		style = stronger(style, row->attached[i]->style);
	}
	draw_cell(timeline, out, row->begin ? row->begin->at : end->at, end->session, style,
		buf_span(&text), buf_span(&result));
	buf_release(&text);
	buf_release(&result);
}

static void draw_begin(struct timeline *timeline, struct buf *out, struct event *begin)
{
	struct buf text = BUF_INIT;

	begin->end->begun = true;
	buf_add_span(&text, event_text(begin->end));
	buf_add_str(&text, " " ELLIPSIS);
	draw_cell(
		timeline, out, begin->at, begin->session, STYLE_PLAIN, buf_span(&text), SPAN_NONE);
	buf_release(&text);
}

static void draw_event(struct timeline *timeline, struct buf *out, struct event *event)
{
	struct row row = {NULL, NULL, {NULL}, 0};

	switch (event->class) {
	case EVENT_ACROSS:
		draw_across(timeline, out, event);
		break;
	case EVENT_CELL:
		draw_cell(timeline, out, event->at, event->session, event->style, event_text(event),
			SPAN_NONE);
		if (event->closes && !timeline->lines) {
			struct column *column = find_column(timeline, event->session);

			if (column)
				column->open = false;
		}
		break;
	case EVENT_STMT_BEGIN:
		row.begin = event;
		attach(timeline, &row, event->session, event->number, true);
		if (heap_top(timeline) == event->end)
			row.end = heap_pop(timeline);
		else
			draw_begin(timeline, out, event);
		break;
	case EVENT_STMT_END:
		row.end = event;
		break;
	case EVENT_TXN:
		row.attached[row.attached_count++] = event;
		attach(timeline, &row, event->session, event->number, false);
		if (heap_top(timeline) && heap_top(timeline)->class == EVENT_STMT_END &&
			event->number && heap_top(timeline)->session == event->session &&
			heap_top(timeline)->number == event->number)
			row.end = heap_pop(timeline);
		break;
	}
	if (row.end) {
		attach(timeline, &row, row.end->session, row.end->number, false);
		draw_stmt(timeline, out, &row);
	}
	for (size_t i = 0; i < row.attached_count; i++) {
		const struct event *one = row.attached[i];

		if (!row.end || one->class == EVENT_CELL)
			draw_cell(timeline, out, one->at, one->session, one->style, event_text(one),
				SPAN_NONE);
	}
	for (size_t i = 0; i < row.attached_count; i++)
		mem_free(row.attached[i] == event ? NULL : row.attached[i]);
	if (row.end != event)
		mem_free(row.end);
	mem_free(event);
}

void timeline_take(struct timeline *timeline, struct buf *out, bool at_end)
{
	while (timeline->count &&
		(at_end || timeline->count > WINDOW_EVENTS || timeline->bytes > WINDOW_BYTES)) {
		if (!timeline->laid_out)
			lay_out(timeline, out);
		draw_event(timeline, out, heap_pop(timeline));
	}
}
