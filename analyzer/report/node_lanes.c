/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/node_lanes.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/life/life.h"

const char *const lane_kind_words[] = {[LANE_STATE] = "state", [LANE_OPERATION] = "operation", [LANE_FAULT] = "fault", [LANE_LINK] = "link",
	[LANE_EXIT] = "exit", [LANE_BOOTSTRAP] = "bootstrap", [LANE_POINT] = "point", [LANE_WINDOW] = "window"};
const char *const lane_tone_words[] = {[TONE_WELL] = "well", [TONE_UNDERWAY] = "underway", [TONE_SILENT] = "silent", [TONE_ENDED] = "ended",
	[TONE_NONE] = "none"};

/* A record, as far as lanes need it. */
struct lane_event {
	uint64_t seq, at, begin;
	uint32_t node;
	struct span what, detail, data;
};

struct node_lanes {
	struct arena arena;
	struct span names[LANES_NODES_MAX];
	uint32_t node_count;
	struct lane_event *events;
	size_t event_count, event_capacity;
	struct lane_part *parts;
	size_t part_count, part_capacity;
	uint64_t begin, end;
	bool cut;
};

struct node_lanes *node_lanes_new(void)
{
	struct node_lanes *lanes = mem_zero(1, sizeof(*lanes));

	lanes->arena = ARENA_INIT;
	return lanes;
}

void node_lanes_free(struct node_lanes *lanes)
{
	if (!lanes)
		return;
	mem_free(lanes->events);
	mem_free(lanes->parts);
	arena_release(&lanes->arena);
	mem_free(lanes);
}

uint32_t node_lanes_count(const struct node_lanes *lanes)
{
	return lanes->node_count;
}

struct span node_lanes_name(const struct node_lanes *lanes, uint32_t node)
{
	return lanes->names[node];
}

const struct lane_part *node_lanes_parts(const struct node_lanes *lanes, size_t *count)
{
	*count = lanes->part_count;
	return lanes->parts;
}

uint64_t node_lanes_begin(const struct node_lanes *lanes)
{
	return lanes->begin;
}

uint64_t node_lanes_end(const struct node_lanes *lanes)
{
	return lanes->end;
}

bool node_lanes_cut(const struct node_lanes *lanes)
{
	return lanes->cut;
}

/* ---- records ---- */

static struct span keep(struct node_lanes *lanes, struct span text)
{
	return text.ptr ? arena_copy(&lanes->arena, text) : SPAN_NONE;
}

static uint32_t node_of(struct node_lanes *lanes, struct span name)
{
	if (!name.len)
		return LANE_ALL;
	for (uint32_t n = 0; n < lanes->node_count; n++)
		if (span_eq(lanes->names[n], name))
			return n;
	if (lanes->node_count == LANES_NODES_MAX)
		return LANE_ALL;
	lanes->names[lanes->node_count] = keep(lanes, name);
	return lanes->node_count++;
}

static bool is_drawn(struct span what)
{
	static const char *const words[] = {"state", "operation", "link", "exit", "bootstrap", "point", "window"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_eq_str(what, words[i]))
			return true;
	return false;
}

void node_lanes_take(struct node_lanes *lanes, const struct record_cluster *record)
{
	if (!is_drawn(record->what))
		return;
	if (lanes->event_count == LANES_PARTS_MAX) {
		lanes->cut = true;
		return;
	}
	MEM_RESERVE(lanes->events, lanes->event_count + 1, lanes->event_capacity);
	lanes->events[lanes->event_count++] = (struct lane_event){.seq = record->seq,
		.at = record->at,
		.begin = record->begin,
		.node = node_of(lanes, record->node),
		.what = keep(lanes, record->what),
		.detail = keep(lanes, record->detail),
		.data = keep(lanes, record->data)};
}

/* ---- parts ---- */

static struct lane_part *add(struct node_lanes *lanes, uint32_t node, enum lane_kind kind, uint64_t begin, uint64_t end, struct span text)
{
	MEM_RESERVE(lanes->parts, lanes->part_count + 1, lanes->part_capacity);
	lanes->parts[lanes->part_count] =
		(struct lane_part){.node = node, .kind = kind, .tone = TONE_NONE, .begin = begin, .end = end, .text = text};
	return &lanes->parts[lanes->part_count++];
}

static enum lane_tone tone_of(struct span state)
{
	static const char *const well[] = {"Synced", "ONLINE", "up"}, *const silent[] = {"no answer", "Initialized", "OFFLINE", "ERROR", "UNREACHABLE"};

	for (size_t i = 0; i < ARRAY_LEN(well); i++)
		if (span_eq_str(state, well[i]))
			return TONE_WELL;
	for (size_t i = 0; i < ARRAY_LEN(silent); i++)
		if (span_eq_str(state, silent[i]))
			return TONE_SILENT;
	return span_eq_str(state, "ended") ? TONE_ENDED : TONE_UNDERWAY;
}

/* A driver tells a node's states in words of its own; the polls beside it need not see each of them. */
static bool is_driven(const struct node_lanes *lanes, uint32_t node)
{
	for (size_t i = 0; i < lanes->event_count; i++)
		if (lanes->events[i].node == node && span_eq_str(lanes->events[i].what, "state") &&
			life_data(lanes->events[i].data, "state").ptr)
			return true;
	return false;
}

/* The state that a record tells; SPAN_NONE: none. */
static struct span state_in(const struct lane_event *e, bool driven)
{
	struct span state = life_data(e->data, "wsrep_local_state_comment");

	if (span_eq_str(e->what, "exit"))
		return SPAN_LIT("ended");
	if (!span_eq_str(e->what, "state") || (driven && !life_data(e->data, "state").ptr))
		return SPAN_NONE;
	if (!state.len)
		state = life_data(e->data, "member_state");
	if (!state.len)
		state = life_data(e->data, "state");
	if (state.len)
		return state;
	if (span_starts(e->detail, "unreachable"))
		return SPAN_LIT("no answer");
	return span_starts(e->detail, "reachable") ? SPAN_LIT("up") : SPAN_NONE;
}

static void add_states(struct node_lanes *lanes, uint32_t node)
{
	bool driven = is_driven(lanes, node);
	struct span state = SPAN_NONE;
	uint64_t since = 0;
	struct lane_part *part;

	for (size_t i = 0; i <= lanes->event_count; i++) {
		const struct lane_event *e = i < lanes->event_count ? &lanes->events[i] : NULL;
		struct span next = e && e->node == node ? state_in(e, driven) : SPAN_NONE;

		/* A process that has ended does not answer: that says nothing new. */
		if (e && (!next.len || span_eq(next, state) || (span_eq_str(state, "ended") && span_eq_str(next, "no answer"))))
			continue;
		if (state.len) {
			part = add(lanes, node, LANE_STATE, since, e ? e->at : lanes->end, state);
			part->tone = tone_of(state);
		}
		if (!e)
			break;
		state = next;
		since = e->at;
	}
}

/* Of its end; where there is none, the end of all. */
static const struct lane_event *end_of(const struct node_lanes *lanes, size_t from)
{
	const struct lane_event *b = &lanes->events[from];

	for (size_t i = from + 1; i < lanes->event_count; i++) {
		const struct lane_event *e = &lanes->events[i];

		if (span_eq_str(e->what, "operation") && span_eq_str(life_data(e->data, "phase"), "end") &&
			span_eq(life_data(e->data, "name"), life_data(b->data, "name")) &&
			span_eq(life_data(e->data, "nodes"), life_data(b->data, "nodes")))
			return e;
	}
	return NULL;
}

static struct span without(struct span text, const char *tail)
{
	size_t len = strlen(tail);

	return text.len >= len && memcmp(text.ptr + text.len - len, tail, len) == 0 ? span_of(text.ptr, text.len - len) : text;
}

static void add_operation(struct node_lanes *lanes, size_t at)
{
	const struct lane_event *b = &lanes->events[at], *e;
	struct span nodes = life_data(b->data, "nodes"), text = without(b->detail, " begins");
	bool fault = span_eq_str(life_data(b->data, "kind"), "fault"), failed = false;
	uint64_t end = b->at;

	if (span_eq_str(life_data(b->data, "phase"), "end"))
		return;
	/* A harness that notes operations by hand says no phase: its end has the beginning. */
	if (life_data(b->data, "phase").len) {
		e = end_of(lanes, at);
		end = e ? e->at : lanes->end;
		failed = e && !span_eq_str(life_data(e->data, "result"), "done");
		text = failed ? e->detail : text;
	}
	if (!nodes.len)
		add(lanes, b->node, fault ? LANE_FAULT : LANE_OPERATION, b->begin ? b->begin : b->at, end, text)->failed = failed;
	while (nodes.len) {
		const char *comma = memchr(nodes.ptr, ',', nodes.len);
		struct span name = span_of(nodes.ptr, comma ? (size_t)(comma - nodes.ptr) : nodes.len);

		add(lanes, node_of(lanes, name), fault ? LANE_FAULT : LANE_OPERATION, b->at, end, text)->failed = failed;
		nodes = comma ? span_of(comma + 1, nodes.len - name.len - 1) : SPAN_NONE;
	}
}

/* Until the link's next change. */
static void add_link(struct node_lanes *lanes, size_t at)
{
	const struct lane_event *b = &lanes->events[at];
	struct span state = life_data(b->data, "state"), to = life_data(b->data, "to");
	uint64_t end = lanes->end;

	if (span_eq_str(state, "up") || span_eq_str(state, "over"))
		return;
	for (size_t i = at + 1; i < lanes->event_count; i++) {
		const struct lane_event *e = &lanes->events[i];

		if (span_eq_str(e->what, "link") && e->node == b->node && span_eq(life_data(e->data, "to"), to)) {
			end = e->at;
			break;
		}
	}
	add(lanes, b->node, LANE_LINK, b->at, end,
		span_str(arena_printf(&lanes->arena, "to %.*s: %.*s", SPAN_ARG(to), SPAN_ARG(state))));
}

/* One for all nodes of a point: from when the clients were held until the last node was read. */
static void add_point(struct node_lanes *lanes, const struct lane_event *e)
{
	for (size_t i = 0; i < lanes->part_count; i++) {
		struct lane_part *part = &lanes->parts[i];

		if (part->kind == LANE_POINT && span_eq(part->text, e->detail)) {
			part->end = e->at > part->end ? e->at : part->end;
			return;
		}
	}
	add(lanes, LANE_ALL, LANE_POINT, e->begin ? e->begin : e->at, e->at, e->detail);
}

static int by_time(const void *a, const void *b)
{
	const struct lane_event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static int by_begin(const void *a, const void *b)
{
	const struct lane_part *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static int by_name(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* n1 above n2, whichever spoke first. */
static void sort_nodes(struct node_lanes *lanes)
{
	struct span before[LANES_NODES_MAX];

	memcpy(before, lanes->names, sizeof(before));
	qsort(lanes->names, lanes->node_count, sizeof(lanes->names[0]), by_name);
	for (size_t i = 0; i < lanes->event_count; i++)
		if (lanes->events[i].node != LANE_ALL)
			lanes->events[i].node = node_of(lanes, before[lanes->events[i].node]);
}

bool node_lanes_finish(struct node_lanes *lanes)
{
	if (!lanes->node_count || !lanes->event_count)
		return false;
	qsort(lanes->events, lanes->event_count, sizeof(lanes->events[0]), by_time);
	sort_nodes(lanes);
	lanes->begin = lanes->events[0].at;
	lanes->end = lanes->events[lanes->event_count - 1].at;
	for (size_t i = 0; i < lanes->event_count; i++) {
		const struct lane_event *e = &lanes->events[i];

		if (span_eq_str(e->what, "operation"))
			add_operation(lanes, i);
		else if (span_eq_str(e->what, "link"))
			add_link(lanes, i);
		else if (span_eq_str(e->what, "point"))
			add_point(lanes, e);
		else if (span_eq_str(e->what, "exit"))
			add(lanes, e->node, LANE_EXIT, e->at, e->at, e->detail);
		else if (span_eq_str(e->what, "bootstrap"))
			add(lanes, e->node, LANE_BOOTSTRAP, e->at, e->at, e->detail);
		else if (span_eq_str(e->what, "window"))
			add(lanes, LANE_ALL, LANE_WINDOW, e->at, e->at,
				span_str(arena_printf(&lanes->arena, "%.*s under way, and nothing moved", SPAN_ARG(e->detail))));
	}
	for (uint32_t n = 0; n < lanes->node_count; n++)
		add_states(lanes, n);
	qsort(lanes->parts, lanes->part_count, sizeof(lanes->parts[0]), by_begin);
	return true;
}

/* ---- for a terminal ---- */

enum { NAME_COLUMNS = 8, BAR_COLUMNS_MIN = 30, BAR_ROWS_MAX = 12 };

struct scale {
	uint64_t begin, width_ns;
	size_t columns;
};

static size_t column_of(const struct scale *s, uint64_t at)
{
	size_t column = at > s->begin ? (size_t)((double)(at - s->begin) / (double)s->width_ns * (double)s->columns) : 0;

	return column < s->columns ? column : s->columns - 1;
}

static void add_name(struct buf *out, struct span name)
{
	text_add_padded(out, name, NAME_COLUMNS, TEXT_FOLD);
}

static void print_axis(const struct node_lanes *lanes, const struct scale *s, uint64_t anchor_ns, struct buf *out)
{
	struct buf from = BUF_INIT, to = BUF_INIT;

	text_add_duration(&from, lanes->begin > anchor_ns ? lanes->begin - anchor_ns : 0);
	text_add_duration(&to, lanes->end > anchor_ns ? lanes->end - anchor_ns : 0);
	add_name(out, SPAN_LIT(""));
	buf_add_span(out, buf_span(&from));
	text_add_blanks(out, s->columns > from.len + to.len ? s->columns - from.len - to.len : 1);
	buf_add_span(out, buf_span(&to));
	buf_add_char(out, '\n');
	buf_release(&from);
	buf_release(&to);
}

static void print_states(const struct node_lanes *lanes, uint32_t node, const struct scale *s, struct buf *out)
{
	static const char marks[] = {[TONE_WELL] = '=', [TONE_UNDERWAY] = '~', [TONE_SILENT] = '.', [TONE_ENDED] = 'x', [TONE_NONE] = ' '};
	char *line = mem_alloc(s->columns + 1);

	memset(line, ' ', s->columns);
	for (size_t i = 0; i < lanes->part_count; i++) {
		const struct lane_part *p = &lanes->parts[i];

		for (size_t c = column_of(s, p->begin); p->node == node && p->kind == LANE_STATE && c <= column_of(s, p->end); c++)
			line[c] = marks[p->tone];
	}
	add_name(out, lanes->names[node]);
	buf_add(out, line, s->columns);
	buf_add_char(out, '\n');
	mem_free(line);
}

/* "|kill n1---|" with as much of its words as there is room for. */
static void draw_bar(char *line, size_t from, size_t to, const struct lane_part *p)
{
	size_t room = to > from ? to - from - 1 : 0, len = p->text.len < room ? p->text.len : room;

	for (size_t c = from; c <= to; c++)
		line[c] = p->kind == LANE_LINK ? '.' : '-';
	line[from] = line[to] = p->failed ? '!' : '|';
	for (size_t i = 0; i < len; i++)
		line[from + 1 + i] = p->text.ptr[i] >= ' ' && p->text.ptr[i] <= '~' ? p->text.ptr[i] : '?';
}

/* Bars that overlap get rows of their own. */
static void print_bars(const struct node_lanes *lanes, uint32_t node, const struct scale *s, struct buf *out)
{
	char *rows = mem_alloc(BAR_ROWS_MAX * (s->columns + 1));
	size_t ends[BAR_ROWS_MAX] = {0}, count = 0;

	memset(rows, ' ', BAR_ROWS_MAX * (s->columns + 1));
	for (size_t i = 0; i < lanes->part_count; i++) {
		const struct lane_part *p = &lanes->parts[i];
		size_t from = column_of(s, p->begin), to = column_of(s, p->end), row = 0;

		if (p->node != node || (p->kind != LANE_OPERATION && p->kind != LANE_FAULT && p->kind != LANE_LINK))
			continue;
		while (row < count && ends[row] > from)
			row++;
		if (row == BAR_ROWS_MAX)
			continue;
		count = row == count ? count + 1 : count;
		draw_bar(rows + row * (s->columns + 1), from, to, p);
		ends[row] = to + 1;
	}
	for (size_t row = 0; row < count; row++) {
		size_t len = ends[row];

		add_name(out, SPAN_LIT(""));
		buf_add(out, rows + row * (s->columns + 1), len < s->columns ? len : s->columns);
		buf_add_char(out, '\n');
	}
	mem_free(rows);
}

static void print_list(const struct node_lanes *lanes, uint64_t anchor_ns, size_t columns, struct buf *out)
{
	for (size_t i = 0; i < lanes->part_count; i++) {
		const struct lane_part *p = &lanes->parts[i];
		struct buf line = BUF_INIT, when = BUF_INIT;

		text_add_duration(&when, p->begin > anchor_ns ? p->begin - anchor_ns : 0);
		buf_printf(&line, "%*s  ", 10, when.data);
		add_name(&line, p->node == LANE_ALL ? SPAN_LIT("all") : lanes->names[p->node]);
		buf_printf(&line, "%-10s ", lane_kind_words[p->kind]);
		text_add(&line, p->text, columns > 48 ? columns - 48 : 24, TEXT_FOLD);
		if (p->end > p->begin) {
			buf_add_str(&line, ", ");
			text_add_duration(&line, p->end - p->begin);
		}
		buf_printf(out, "%s\n", line.data);
		buf_release(&line);
		buf_release(&when);
	}
}

void node_lanes_print(const struct node_lanes *lanes, uint64_t anchor_ns, size_t columns, struct buf *out)
{
	struct scale s = {.begin = lanes->begin,
		.width_ns = lanes->end - lanes->begin + 1,
		.columns = columns > NAME_COLUMNS + BAR_COLUMNS_MIN ? columns - NAME_COLUMNS : BAR_COLUMNS_MIN};

	print_axis(lanes, &s, anchor_ns, out);
	for (uint32_t n = 0; n < lanes->node_count; n++) {
		print_states(lanes, n, &s, out);
		print_bars(lanes, n, &s, out);
	}
	buf_add_str(out, "\n= well   ~ on its way   . not in the cluster, or no answer   x ended   ! failed\n\n");
	print_list(lanes, anchor_ns, columns, out);
	if (lanes->cut)
		buf_add_str(out, "There is more than is listed here.\n");
}
