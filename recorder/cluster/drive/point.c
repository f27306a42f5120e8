/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Points: the clients are held, the nodes come to rest, and what each holds is recorded.
 *
 * A node is read although it is late, not ready, or at another position than the others: what that means is the
 * oracle's to say, and the record has it all.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/drive/drive_internal.h"
#include "db/query.h"
#include "run/snapshot.h"
#include "server/flavour.h"

enum { POSITION_MAX = 4096, ANSWER_S = 10 };

static bool stopped(const struct drive *d)
{
	return d->options->stop && *d->options->stop;
}

void point_hold(struct drive *d)
{
	uint64_t until = clock_mono_ns() + DRIVE_HOLD_S * 1000000000ull;

	atomic_store(&d->hold, true);
	while (atomic_load(&d->busy)) {
		if (clock_mono_ns() > until)
			atomic_store(&d->give_up, true);
		poll(NULL, 0, 10);
	}
	atomic_store(&d->give_up, false);
}

static bool all_ready(struct drive *d)
{
	for (unsigned i = 0; i < d->node_count; i++)
		if (node_is_wanted(d, i) && !node_is_ready(d, i))
			return false;
	return true;
}

static void position_of(struct drive *d, unsigned node, char *out)
{
	size_t kept = 0;
	struct err err;

	out[0] = '\0';
	if (!d->ops->kind.position || !node_is_up(d, node) ||
		!node_sql(d, node, d->ops->kind.position, out, POSITION_MAX, ANSWER_S, &err))
		return;
	for (size_t i = 0; out[i]; i++)
		if (out[i] != '\n')
			out[kept++] = out[i];
	out[kept] = '\0';
}

/* Nodes that are ready are at one position, and stay there. */
static void wait_position(struct drive *d)
{
	uint64_t until = clock_mono_ns() + DRIVE_POINT_WAIT_S * 1000000000ull;
	char *first = mem_alloc(POSITION_MAX), *other = mem_alloc(POSITION_MAX), *before = mem_zero(1, POSITION_MAX);
	unsigned same = 0;

	while (same < 2 && clock_mono_ns() < until && !stopped(d) && d->ops->kind.position) {
		bool equal = true, any = false;

		for (unsigned i = 0; i < d->node_count && equal; i++) {
			if (!node_is_ready(d, i))
				continue;
			position_of(d, i, any ? other : first);
			equal = !any || strcmp(first, other) == 0;
			any = true;
		}
		same = equal && any && strcmp(first, before) == 0 ? same + 1 : 0;
		snprintf(before, POSITION_MAX, "%s", first);
		poll(NULL, 0, 50);
	}
	mem_free(first);
	mem_free(other);
	mem_free(before);
}

static bool read_rows(struct drive *d, unsigned node, const char *name, struct err *err)
{
	char socket[256];
	struct run_target target = node_target(d, node, socket, NULL);
	struct snapshot snapshot = {.producer = d->producer,
		.node = d->nodes[node].name,
		.database = DRIVE_DATABASE,
		.rows_max = DRIVE_ROWS_MAX,
		.limits = d->config.values,
		.definitions = true,
		.tables = d->tables,
		.table_count = d->table_count};
	bool ok;

	target.read_timeout_s = 60;
	snapshot.control = client_dial(&target, err);
	if (!snapshot.control)
		return false;
	if (d->ops->kind.before_read && node_is_ready(d, node))
		(void)!mysql_query(snapshot.control, d->ops->kind.before_read);
	ok = snapshot_session(&snapshot, err) && snapshot_rows(&snapshot, name, err);
	mysql_close(snapshot.control);
	return ok;
}

static void look_at(struct drive *d, unsigned node, const char *name, uint64_t began, uint64_t waited_ns)
{
	struct event_data data = {.pairs = BUF_INIT};
	char *position = mem_alloc(POSITION_MAX), state[96], number[24];
	bool ready = node_is_ready(d, node);
	struct err err;

	node_state(d, node, state, sizeof(state));
	position_of(d, node, position);
	event_data_add(&data, "state", span_str(state));
	event_data_add(&data, "ready", ready ? SPAN_LIT("yes") : SPAN_LIT("no"));
	event_data_add(&data, "running", node_is_up(d, node) ? SPAN_LIT("yes") : SPAN_LIT("no"));
	event_data_add(&data, "expected", node_is_wanted(d, node) ? SPAN_LIT("yes") : SPAN_LIT("no"));
	if (position[0])
		event_data_add(&data, "position", span_str(position));
	snprintf(number, sizeof(number), "%llu", (unsigned long long)(waited_ns / 1000000u));
	event_data_add(&data, "waited_ms", span_str(number));
	if (!node_is_up(d, node))
		event_data_add(&data, "unread", SPAN_LIT("its process does not run"));
	else if (!read_rows(d, node, name, &err))
		event_data_add(&data, "unread", span_str(err.text));
	event_emit(d->producer, d->nodes[node].name, "point", span_str(name), began, &data);
	mem_free(position);
}

void point_counters(struct drive *d)
{
	for (unsigned i = 0; d->ops->kind.counters && i < d->node_count; i++) {
		struct event_data data = {.pairs = BUF_INIT};
		struct run_target target;
		struct buf values = BUF_INIT;
		MYSQL_RES *result = NULL;
		char socket[256];
		struct err err;
		MYSQL_ROW row;
		MYSQL *mysql;

		if (!node_is_up(d, i))
			continue;
		target = node_target(d, i, socket, NULL);
		target.read_timeout_s = ANSWER_S;
		mysql = client_dial(&target, &err);
		if (mysql && db_send(mysql, d->ops->kind.counters) == 0)
			result = db_result(mysql);
		while (result && mysql_num_fields(result) >= 2 && (row = mysql_fetch_row(result)))
			buf_printf(&values, "%s=%s\n", row[0] ? row[0] : "", row[1] ? row[1] : "");
		mysql_free_result(result);
		if (mysql)
			mysql_close(mysql);
		event_data_add(&data, "values", buf_span(&values));
		if (values.len)
			event_emit(d->producer, d->nodes[i].name, "counters", SPAN_LIT("at the end"), 0, &data);
		buf_release(&values);
		buf_release(&data.pairs);
	}
}

bool point_take(struct drive *d, const char *name, uint64_t settle_ns, bool keep_held)
{
	uint64_t began = clock_mono_ns();

	point_hold(d);
	while (!all_ready(d) && clock_mono_ns() - began < settle_ns && !stopped(d))
		poll(NULL, 0, 50);
	settle_ns = clock_mono_ns() - began;
	wait_position(d);
	for (unsigned i = 0; i < d->node_count; i++)
		look_at(d, i, name, began, settle_ns);
	trace_producer_flush(d->producer);
	d->points++;
	if (!keep_held)
		atomic_store(&d->hold, false);
	return true;
}

static uint8_t level_of(MYSQL *mysql)
{
	static const struct {
		const char *word;
		uint8_t level;
	} levels[] = {{"READ-UNCOMMITTED", LEVEL_READ_UNCOMMITTED}, {"READ-COMMITTED", LEVEL_READ_COMMITTED},
		{"REPEATABLE-READ", LEVEL_REPEATABLE_READ}, {"SERIALIZABLE", LEVEL_SERIALIZABLE}};
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;
	uint8_t level = LEVEL_UNKNOWN;

	if (db_send(mysql, "show global variables where variable_name in ('transaction_isolation', 'tx_isolation')") == 0)
		result = db_result(mysql);
	row = result ? mysql_fetch_row(result) : NULL;
	for (size_t i = 0; row && row[1] && i < ARRAY_LEN(levels); i++)
		if (strcmp(row[1], levels[i].word) == 0)
			level = levels[i].level;
	mysql_free_result(result);
	return level;
}

bool point_schema(struct drive *d, struct err *err)
{
	for (unsigned i = 0; i < d->node_count; i++) {
		char socket[256];
		struct run_target target = node_target(d, i, socket, NULL);
		struct snapshot snapshot = {.producer = d->producer,
			.node = d->nodes[i].name,
			.address = d->nodes[i].socket,
			.database = DRIVE_DATABASE,
			.limits = d->config.values};
		bool ok;

		if (d->nodes[i].announced)
			continue;
		snapshot.control = client_dial(&target, err);
		if (!snapshot.control)
			return false;
		atomic_store(&d->nodes[i].capture.level, level_of(snapshot.control));
		atomic_store(&d->nodes[i].capture.flavour,
			(uint_fast8_t)server_release_of(span_str(mysql_get_server_info(snapshot.control))).flavour);
		ok = snapshot_server(&snapshot, err);
		if (ok && !d->tables) {
			ok = snapshot_schema(&snapshot, err);
			d->tables = snapshot.tables;
			d->table_count = snapshot.table_count;
			snapshot.tables = NULL;
			snapshot.table_count = 0;
		}
		mysql_close(snapshot.control);
		snapshot_release(&snapshot);
		if (!ok)
			return false;
		d->nodes[i].announced = true;
	}
	return true;
}
