/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/life/life.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"

/* ---- maps of names and values ---- */

struct span life_data(struct span data, const char *name)
{
	struct mp mp = mp_over(data);
	uint32_t count = data.ptr ? mp_map(&mp) : 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct mp_object key;
		bool found = mp_next(&mp, &key) && (key.type == MP_STR || key.type == MP_BIN) &&
			     span_eq_str(key.bytes, name);

		if (!found) {
			if (!mp_skip(&mp))
				break;
			continue;
		}
		if (mp_peek(&mp) == MP_STR || mp_peek(&mp) == MP_BIN)
			return mp_bytes(&mp);
		return SPAN_NONE;
	}
	return SPAN_NONE;
}

struct span life_variable(const struct life_node *node, const char *name)
{
	return life_data(node->variables, name);
}

uint32_t life_node_named(const struct life *life, struct span name)
{
	for (uint32_t i = 0; i < life->node_count; i++)
		if (span_eq(life->nodes[i].name, name))
			return i;
	return LIFE_NONE;
}

static uint32_t node_for(struct life *c, struct span name)
{
	uint32_t at = name.len ? life_node_named(c, name) : LIFE_NONE;

	if (at != LIFE_NONE || !name.len || c->node_count == LIFE_NODES_MAX)
		return at;
	c->nodes[c->node_count].name = arena_copy(&c->arena, name);
	return c->node_count++;
}

static struct span keep(struct life *c, struct span s)
{
	return s.ptr ? arena_copy(&c->arena, s) : SPAN_NONE;
}

/* ---- points ---- */

static uint32_t point_for(struct life *c, struct span name, uint64_t seq, uint64_t at)
{
	struct life_point *point = NULL;
	size_t i = c->point_count;

	while (i-- > 0 && !point)
		if (span_eq(c->points[i].name, name))
			point = &c->points[i];
	if (!point) {
		if (c->point_count == LIFE_POINTS_MAX)
			return LIFE_NONE;
		MEM_RESERVE(c->points, c->point_count + 1, c->point_capacity);
		point = &c->points[c->point_count++];
		*point = (struct life_point){.name = keep(c, name), .first_seq = seq, .first_at = at};
	}
	if (seq > point->last_seq)
		point->last_seq = seq;
	if (at > point->last_at)
		point->last_at = at;
	return (uint32_t)(point - c->points);
}

static void take_look(struct life *c, const struct record_cluster *record, uint32_t node)
{
	uint32_t point = point_for(c, record->detail, record->seq, record->at);
	struct life_look *look;
	uint64_t number;

	if (point == LIFE_NONE || node == LIFE_NONE)
		return;
	if (record->begin && record->begin < c->points[point].first_at)
		c->points[point].first_at = record->begin;
	look = &c->points[point].looks[node];
	look->told = true;
	look->state = keep(c, life_data(record->data, "state"));
	look->position = keep(c, life_data(record->data, "position"));
	look->unread = keep(c, life_data(record->data, "unread"));
	look->expected = !span_eq_str(life_data(record->data, "expected"), "no");
	look->running = !span_eq_str(life_data(record->data, "running"), "no");
	look->ready = span_eq_str(life_data(record->data, "ready"), "yes");
	if (text_number(life_data(record->data, "waited_ms"), &number))
		look->waited_ns = number * 1000000u;
	look->read = !look->unread.ptr;
}

static struct life_content *content_for(
	struct life *c, const struct record_rows *record, uint32_t point, uint32_t node)
{
	/* Parts of one content follow each other. */
	for (size_t i = c->content_count; i-- > 0 && record->part;) {
		struct life_content *content = &c->contents[i];

		if (content->point == point && content->node == node && content->table == record->table)
			return content;
	}
	MEM_RESERVE(c->contents, c->content_count + 1, c->content_capacity);
	c->contents[c->content_count] = (struct life_content){.point = point, .node = node, .table = record->table};
	return &c->contents[c->content_count++];
}

static void take_rows(struct life *c, const struct record_rows *record)
{
	uint32_t node = node_for(c, record->node), point;
	struct life_content *content;
	struct mp mp = mp_over(record->rows);
	uint32_t count;

	/* `initial` and `final` are what one server held, not a cluster. */
	if (node == LIFE_NONE || span_eq_str(record->moment, "initial") || span_eq_str(record->moment, "final"))
		return;
	point = point_for(c, record->moment, record->seq, record->at);
	if (point == LIFE_NONE)
		return;
	content = content_for(c, record, point, node);
	if (record->columns.ptr)
		content->columns = keep(c, record->columns);
	if (record->definition.ptr)
		content->definition = keep(c, record->definition);
	count = record->rows.ptr ? mp_array(&mp) : 0;
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct span row = mp_raw(&mp);

		if (!row.ptr || c->row_bytes + row.len > LIFE_ROWS_BYTES_MAX) {
			c->cut = true;
			return;
		}
		c->row_bytes += row.len;
		MEM_RESERVE(content->rows, content->count + 1, content->capacity);
		content->rows[content->count++] = keep(c, row);
	}
	content->ended = record->last;
	content->complete = record->last && record->complete && !mp.bad && !c->cut;
}

/* ---- the other records ---- */

static void take_event(struct life *c, const struct record_cluster *record)
{
	uint32_t node = node_for(c, record->node);

	if (span_eq_str(record->what, "point")) {
		take_look(c, record, node);
		return;
	}
	MEM_RESERVE(c->events, c->event_count + 1, c->event_capacity);
	c->events[c->event_count++] = (struct life_event){.seq = record->seq,
		.at = record->at,
		.begin = record->begin,
		.node = node,
		.what = keep(c, record->what),
		.detail = keep(c, record->detail),
		.data = keep(c, record->data)};
}

static void take_server(struct life *c, const struct record_server *record)
{
	uint32_t node = node_for(c, record->node);

	if (node == LIFE_NONE)
		return;
	c->nodes[node].version = keep(c, record->version);
	c->nodes[node].flavour = keep(c, record->flavour);
	c->nodes[node].variables = keep(c, record->variables);
}

static void take(struct life *c, const struct trace_item *item)
{
	struct mp mp = item->mp;
	struct record_cluster event;
	struct record_server server;
	struct record_rows rows;

	if (item->kind == RECORD_CLUSTER && record_cluster_read(&mp, item->left, &event))
		take_event(c, &event);
	else if (item->kind == RECORD_SERVER && record_server_read(&mp, item->left, &server))
		take_server(c, &server);
	else if (item->kind == RECORD_ROWS && record_rows_read(&mp, item->left, &rows))
		take_rows(c, &rows);
}

bool life_load(struct life *out, const char *path, bool salvage, struct err *err)
{
	struct trace_reader *reader =
		trace_reader_open(path, &(struct trace_reader_options){.salvage = salvage, .ordered = true}, err);
	struct trace_item item;
	enum trace_next next;

	*out = (struct life){.arena = ARENA_INIT};
	if (!reader)
		return false;
	while ((next = trace_next_item(reader, &item, err)) == TRACE_NEXT_OK)
		take(out, &item);
	trace_reader_close(reader);
	if (next == TRACE_NEXT_ERROR)
		life_release(out);
	return next != TRACE_NEXT_ERROR;
}

void life_release(struct life *c)
{
	for (size_t i = 0; i < c->content_count; i++)
		mem_free(c->contents[i].rows);
	mem_free(c->contents);
	mem_free(c->points);
	mem_free(c->events);
	arena_release(&c->arena);
	*c = (struct life){.arena = ARENA_INIT};
}
