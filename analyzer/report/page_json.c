/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's data.  Times are nanoseconds since the earliest one: a page of a server that has been up
 * for months must not run into the limits of a script's numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/class_sentences.h"
#include "report/node_lanes.h"
#include "report/page_data.h"
#include "report/page_data_internal.h"
#include "trace/value.h"

static void put_uint(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

static void put_text(struct json *json, const char *key, struct span text)
{
	json_key(json, key);
	json_string(json, text);
}

static void put_time(
	struct json *json, const char *key, const struct report_facts *d, uint64_t at_ns)
{
	put_uint(json, key, at_ns > d->base_ns ? at_ns - d->base_ns : 0);
}

static int by_txn_and_begin(const void *a, const void *b)
{
	const struct shown_stmt *x = a, *y = b;

	if (x->txn != y->txn)
		return x->txn < y->txn ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return 0;
}

static void stmt_json(
	struct json *json, const struct report_facts *d, const struct shown_stmt *stmt)
{
	json_begin_object(json);
	put_uint(json, "number", stmt->number);
	put_time(json, "begin", d, stmt->begin ? stmt->begin : stmt->end);
	put_time(json, "end", d, stmt->end);
	if (stmt->snapshot) {
		json_key(json, "snapshot");
		json_bool(json, true);
	}
	if (stmt->blocked)
		put_uint(json, "blocked", stmt->blocked);
	if (stmt->error)
		put_uint(json, "error", stmt->error);
	put_text(json, "sql", stmt->sql);
	put_text(json, "answer", buf_span(&stmt->answer));
	json_end_object(json);
}

static void transactions_json(struct json *json, struct report_facts *d)
{
	static const char *const outcomes[] = {"unknown", "committed", "rolled back"};
	const struct history *h = &d->judged->history;
	size_t next = 0;

	if (d->stmt_count)
		qsort(d->stmts, d->stmt_count, sizeof(*d->stmts), by_txn_and_begin);
	json_key(json, "transactions");
	json_begin_object(json);
	for (uint32_t t = 0; t < h->txn_count; t++) {
		char name[32];

		if (!d->involved[t])
			continue;
		snprintf(name, sizeof(name), "T%llu", (unsigned long long)h->txns[t].number);
		json_key(json, name);
		json_begin_object(json);
		put_uint(json, "session", h->sessions[h->txns[t].session].number);
		put_text(json, "level", span_str(txn_level_name(h->txns[t].level)));
		put_text(json, "outcome", span_str(outcomes[h->txns[t].outcome]));
		if (!(h->txns[t].flags & HISTORY_TXN_NO_BEGIN))
			put_time(json, "begin", d, h->txns[t].begin_ns);
		if (!(h->txns[t].flags & HISTORY_TXN_NO_END))
			put_time(json, "end", d, h->txns[t].end_ns);
		json_key(json, "statements");
		json_begin_array(json);
		while (next < d->stmt_count && d->stmts[next].txn < t)
			next++;
		for (; next < d->stmt_count && d->stmts[next].txn == t; next++) {
			if (d->stmts[next].seen)
				stmt_json(json, d, &d->stmts[next]);
		}
		json_end_array(json);
		json_end_object(json);
	}
	json_end_object(json);
	put_uint(json, "statements_left_out", d->stmts_left_out);
}

static void overview_json(struct json *json, const struct report_facts *d)
{
	size_t last = BUCKETS;

	while (last && !d->buckets[last - 1].stmts)
		last--;
	json_key(json, "overview");
	json_begin_object(json);
	put_time(json, "begin", d, d->first_ns);
	put_uint(json, "width", d->width_ns);
	json_key(json, "buckets");
	json_begin_array(json);
	for (size_t i = 0; i < last; i++) {
		const struct bucket *b = &d->buckets[i];

		json_begin_array(json);
		json_uint(json, b->stmts);
		json_uint(json, b->errors);
		json_uint(json, b->stmts ? b->sum_ns / b->stmts : 0);
		json_uint(json, b->max_ns);
		json_end_array(json);
	}
	json_end_array(json);
	json_end_object(json);
	json_key(json, "events");
	json_begin_array(json);
	for (size_t i = 0; i < d->event_count; i++) {
		json_begin_object(json);
		put_time(json, "begin", d, d->events[i].begin);
		put_time(json, "at", d, d->events[i].at);
		put_text(json, "text", d->events[i].text);
		json_end_object(json);
	}
	json_end_array(json);
}

/* The server's variables that change what statements mean, for the bug report: those of Galera only
 * where it is in use. */
static void server_json(struct json *json, const struct history *h)
{
	bool wsrep = history_is_on(h, "wsrep_on");
	struct buf text = BUF_INIT;
	struct record_server server;
	struct mp mp = {0};
	uint32_t count = 0;

	json_key(json, "variables");
	json_begin_object(json);
	if (history_server(h, &server)) {
		mp = mp_over(server.variables);
		count = mp_map(&mp);
	}
	for (uint32_t i = 0; i < count && i < VARIABLES_MAX && !mp.bad; i++) {
		struct value key, value;

		if (!value_read(&mp, &key) || !value_read(&mp, &value))
			break;
		if (!wsrep && key.bytes.len > 6 && memcmp(key.bytes.ptr, "wsrep_", 6) == 0)
			continue;
		buf_clear(&text);
		text_add(&text, key.bytes, 100, TEXT_FOLD);
		json_key_span(json, buf_span(&text));
		buf_clear(&text);
		value_print(&text, &value, 200);
		json_string(json, buf_span(&text));
	}
	json_end_object(json);
	buf_release(&text);
}

static void tables_json(struct json *json, struct report_facts *d)
{
	const struct history *h = &d->judged->history;

	json_key(json, "tables");
	json_begin_array(json);
	for (uint32_t t = 0; t < h->table_count && t < TABLES_MAX; t++) {
		struct mp mp = mp_over(h->tables[t].schema_ref);
		struct record_schema schema;
		uint32_t kind, left;

		if (!h->tables[t].schema_ref.ptr || !record_begin(&mp, &kind, &left) ||
			!record_schema_read(&mp, left, &schema) || !schema.create_text.ptr)
			continue;
		if (schema.create_text.len > 10000)
			schema.create_text.len = 10000;
		json_begin_object(json);
		put_text(json, "name", schema.name);
		put_text(json, "create", schema.create_text);
		for (size_t i = 0; i < d->initial_count; i++) {
			if (d->initial[i].table != schema.table || !d->initial[i].rows)
				continue;
			put_text(json, "values", buf_span(&d->initial[i].values));
			put_uint(json, "rows_left_out", d->initial[i].left_out);
		}
		json_end_object(json);
	}
	json_end_array(json);
}

/* The clients of the sessions that the findings name. */
static void sessions_json(struct json *json, const struct report_facts *d)
{
	const struct history *h = &d->judged->history;
	bool *told = mem_zero((size_t)h->session_count + 1, sizeof(*told));

	json_key(json, "sessions");
	json_begin_object(json);
	for (uint32_t t = 0; t < h->txn_count; t++) {
		const struct history_session *session = &h->sessions[h->txns[t].session];
		struct span user = strtab_get(&h->strings, session->user);
		struct span node = strtab_get(&h->strings, session->node);
		char number[16];

		if (!d->involved[t] || told[h->txns[t].session])
			continue;
		told[h->txns[t].session] = true;
		snprintf(number, sizeof(number), "%u", session->number);
		json_key(json, number);
		json_begin_object(json);
		put_text(json, "user", user);
		put_text(json, "node", node);
		json_end_object(json);
	}
	json_end_object(json);
	mem_free(told);
}

/* What the classes mean that were found. */
static void meanings_json(struct json *json, const struct verdict *verdict)
{
	struct buf text = BUF_INIT;

	json_key(json, "meanings");
	json_begin_object(json);
	for (size_t i = 0; i < verdict->finding_count; i++) {
		const char *name = finding_name(&verdict->findings[i]);
		size_t first = 0;

		/* They are sorted by severity and class: most have a neighbour. */
		if (i && strcmp(finding_name(&verdict->findings[i - 1]), name) == 0)
			continue;
		while (strcmp(finding_name(&verdict->findings[first]), name) != 0)
			first++;
		if (first != i)
			continue;
		buf_clear(&text);
		class_meaning(&text, verdict->findings[i].class, verdict->findings[i].level);
		put_text(json, name, buf_span(&text));
	}
	json_end_object(json);
	buf_release(&text);
}

/* Times are absolute here, as those of findings about a cluster are; `base` is what the other times count from. */
static void cluster_json(struct json *json, struct report_facts *d)
{
	const struct lane_part *parts;
	size_t count;

	if (!node_lanes_finish(d->lanes) || node_lanes_count(d->lanes) < 2)
		return;
	parts = node_lanes_parts(d->lanes, &count);
	json_key(json, "cluster");
	json_begin_object(json);
	put_uint(json, "base", d->base_ns);
	put_uint(json, "begin", node_lanes_begin(d->lanes));
	put_uint(json, "end", node_lanes_end(d->lanes));
	json_key(json, "nodes");
	json_begin_array(json);
	for (uint32_t n = 0; n < node_lanes_count(d->lanes); n++)
		json_string(json, node_lanes_name(d->lanes, n));
	json_end_array(json);
	json_key(json, "parts");
	json_begin_array(json);
	for (size_t i = 0; i < count; i++) {
		json_begin_object(json);
		if (parts[i].node != LANE_ALL)
			put_uint(json, "node", parts[i].node);
		put_text(json, "kind", span_str(lane_kind_words[parts[i].kind]));
		if (parts[i].tone != TONE_NONE)
			put_text(json, "tone", span_str(lane_tone_words[parts[i].tone]));
		if (parts[i].failed)
			put_uint(json, "failed", 1);
		put_uint(json, "begin", parts[i].begin);
		put_uint(json, "end", parts[i].end);
		put_text(json, "text", parts[i].text);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

void report_facts_json(
	struct json *json, struct report_facts *d, const struct verdict_context *context)
{
	json_begin_object(json);
	json_key(json, "check");
	verdict_json(json, context, &d->judged->verdict);
	meanings_json(json, &d->judged->verdict);
	sessions_json(json, d);
	transactions_json(json, d);
	overview_json(json, d);
	cluster_json(json, d);
	server_json(json, &d->judged->history);
	tables_json(json, d);
	json_end_object(json);
}

void report_foreign(
	struct json *json, const struct verdict_context *context, const struct verdict *verdict)
{
	json_begin_object(json);
	json_key(json, "check");
	verdict_json(json, context, verdict);
	meanings_json(json, verdict);
	json_end_object(json);
}
