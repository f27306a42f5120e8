/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binlog/transactions.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trace/pack.h"

struct binlog_txns {
	const struct binlog_txns_sink *sink;
	void *ctx;
	struct binlog *decoder;
	struct binlog_tables *tables;
	struct binlog_txn now;
	bool open;
	bool standalone; /* ends with its statement */
	struct binlog_counts counts;
	uint64_t versions; /* given out */
	struct buf text, key, old_key;
};

void binlog_txn_release(struct binlog_txn *txn)
{
	for (size_t i = 0; i < txn->group_count; i++) {
		struct binlog_group *group = &txn->groups[i];

		for (size_t k = 0; k < group->table_count; k++)
			buf_release(&group->tables[k].rows);
		mem_free(group->tables);
		buf_release(&group->text);
	}
	mem_free(txn->groups);
	buf_release(&txn->xid);
	buf_release(&txn->statement);
	buf_release(&txn->database);
	*txn = (struct binlog_txn){.bytes = 0};
}

void binlog_txn_take(struct binlog_txn *to, struct binlog_txn *from)
{
	*to = *from;
	*from = (struct binlog_txn){.bytes = 0};
}

static struct binlog_group *group_now(struct binlog_txns *t)
{
	struct binlog_txn *txn = &t->now;
	struct binlog_group *group;

	if (txn->group_count && !txn->groups[txn->group_count - 1].ended)
		return &txn->groups[txn->group_count - 1];
	MEM_RESERVE(txn->groups, txn->group_count + 1, txn->group_capacity);
	group = &txn->groups[txn->group_count++];
	*group = (struct binlog_group){.whole = true};
	buf_add_span(&group->text, buf_span(&t->text));
	buf_clear(&t->text);
	return group;
}

static struct binlog_table_rows *rows_of(struct binlog_group *group, uint32_t table)
{
	struct binlog_table_rows *rows;

	for (size_t i = 0; i < group->table_count; i++)
		if (group->tables[i].table == table)
			return &group->tables[i];
	MEM_RESERVE(group->tables, group->table_count + 1, group->table_capacity);
	rows = &group->tables[group->table_count++];
	*rows = (struct binlog_table_rows){.table = table, .rows = BUF_INIT};
	pack_array_open(&rows->rows);
	return rows;
}

/* Hands on what there is; the groups are empty afterwards. */
static void hand_on(struct binlog_txns *t, bool last)
{
	t->now.last = last;
	t->sink->txn(t->ctx, &t->now);
	if (last) {
		binlog_txn_release(&t->now);
		t->open = false;
	} else {
		struct binlog_txn rest = t->now;

		rest.groups = NULL;
		rest.group_count = rest.group_capacity = rest.bytes = 0;
		t->now.xid = t->now.statement = t->now.database = BUF_INIT;
		binlog_txn_release(&t->now);
		t->now = rest;
		t->now.first = false;
	}
}

static void begin(struct binlog_txns *t, const struct binlog_head *head, const char *gtid)
{
	binlog_txn_release(&t->now);
	t->now.first = true;
	t->now.end = BINLOG_END_NONE;
	t->now.server_id = head->server_id;
	t->now.wall_ns = (uint64_t)head->time * 1000000000u;
	memcpy(t->now.gtid, gtid, strlen(gtid) + 1);
	t->open = true;
	t->standalone = false;
	buf_clear(&t->text);
}

static void end(struct binlog_txns *t, enum binlog_end how)
{
	t->now.end = how;
	t->counts.txns++;
	hand_on(t, true);
}

/* ---- events ---- */

static void on_table(void *ctx, struct binlog_table *table)
{
	struct binlog_txns *t = ctx;

	binlog_tables_complete(t->tables, table);
}

static void on_begin(void *ctx, const struct binlog_head *head, const struct binlog_gtid *gtid)
{
	struct binlog_txns *t = ctx;

	begin(t, head, gtid->text);
	if (gtid->commit_us)
		t->now.wall_ns = gtid->commit_us * 1000;
	t->standalone = gtid->standalone;
}

/* What XA COMMIT and XA ROLLBACK name. */
static struct span xid_of(struct span text)
{
	size_t i = 0;

	while (i < text.len && text.ptr[i] != '\'')
		i++;
	if (i)
		i--;
	text = span_of(text.ptr + i, text.len - i);
	if (text.len > 10 && span_ieq_str(span_of(text.ptr + text.len - 9, 9), "one phase"))
		text.len -= 10;
	return text;
}

static void on_query(void *ctx, const struct binlog_head *head, const struct binlog_query *query)
{
	struct binlog_txns *t = ctx;
	struct span text = query->text;

	if (!t->open)
		begin(t, head, ""); /* MySQL 5.6 without GTIDs */
	t->now.thread = query->thread;
	if (span_ieq_str(text, "begin") || span_istarts(text, "xa start") ||
		span_istarts(text, "xa end") || span_istarts(text, "savepoint"))
		return;
	if (span_ieq_str(text, "commit")) {
		end(t, BINLOG_END_COMMIT);
		return;
	}
	if (span_ieq_str(text, "rollback")) {
		end(t, BINLOG_END_ROLLBACK);
		return;
	}
	if (span_istarts(text, "rollback to"))
		return;
	if (span_istarts(text, "xa commit") || span_istarts(text, "xa rollback")) {
		bool commits = span_istarts(text, "xa commit");

		buf_clear(&t->now.xid);
		buf_add_span(&t->now.xid, xid_of(text));
		t->counts.xa++;
		end(t, commits ? BINLOG_END_COMMIT : BINLOG_END_ROLLBACK);
		return;
	}
	/* CREATE TABLE ... SELECT is a definition with rows behind it (MySQL 8: in one
	 * transaction). */
	if (span_istarts(text, "insert") || span_istarts(text, "update") ||
		span_istarts(text, "delete") || span_istarts(text, "replace")) {
		struct binlog_group *group = group_now(t);

		t->counts.statements++;
		group->whole = false;
		group->ended = true;
		return;
	}
	t->counts.definitions++;
	binlog_tables_changed(t->tables, text);
	buf_clear(&t->now.statement);
	buf_add_span(&t->now.statement, text);
	buf_clear(&t->now.database);
	buf_add_span(&t->now.database, query->database);
	if (t->standalone || !t->now.group_count)
		end(t, BINLOG_END_COMMIT);
}

static void on_text(void *ctx, const struct binlog_head *head, struct span text)
{
	struct binlog_txns *t = ctx;

	(void)head;
	buf_clear(&t->text);
	buf_add_span(&t->text, text);
}

/* The primary key's value of an image, as probes name rows. */
static bool key_of(const struct binlog_table *table, struct span image, struct buf *out)
{
	msgpack_packer pk = pack_into(out);

	buf_clear(out);
	if (table->key_count > 1)
		pack_array(&pk, table->key_count);
	for (uint32_t i = 0; i < table->key_count; i++) {
		struct mp mp = mp_over(image);
		struct span value;

		(void)mp_array(&mp);
		for (uint32_t k = 0; k < table->key[i]; k++)
			(void)mp_skip(&mp);
		value = mp_raw(&mp);
		if (mp.bad || !value.ptr)
			return false;
		buf_add_span(out, value);
	}
	return table->key_count != 0;
}

static void on_row(void *ctx, const struct binlog_head *head, const struct binlog_row *row)
{
	static const enum probe_op ops[] = {PROBE_OP_INSERT, PROBE_OP_UPDATE, PROBE_OP_DELETE};
	struct binlog_txns *t = ctx;
	struct binlog_group *group = group_now(t);
	struct binlog_table_rows *rows = rows_of(group, row->table->number);
	struct probe_row out = {.op = ops[row->change]};
	char name[16];
	size_t before = rows->rows.len;

	(void)head;
	t->counts.rows++;
	rows->silent = row->table->silent;
	group->count++;
	t->counts.partial_rows += !row->whole;
	group->whole = group->whole && row->whole;
	if (!key_of(row->table, row->after.ptr ? row->after : row->before, &t->key)) {
		t->counts.keyless_rows++;
		rows->keyless = true;
		return;
	}
	out.key = buf_span(&t->key);
	out.image = row->after;
	out.old_image = row->before;
	if (row->change == BINLOG_UPDATE && key_of(row->table, row->before, &t->old_key) &&
		!span_eq(buf_span(&t->key), buf_span(&t->old_key)))
		out.old_key = buf_span(&t->old_key);
	if (row->change != BINLOG_DELETE) {
		char *end_of = mp_put_uint(name, ++t->versions);

		out.version = span_of(name, (size_t)(end_of - name));
	} else {
		out.image = SPAN_NONE;
	}
	probe_row_pack(&rows->rows, &out);
	rows->count++;
	t->now.bytes += rows->rows.len - before;
}

static void on_rows_end(void *ctx, const struct binlog_head *head, const struct binlog_table *table,
	uint64_t count, bool last)
{
	struct binlog_txns *t = ctx;

	(void)head;
	(void)table;
	(void)count;
	if (last && t->now.group_count)
		t->now.groups[t->now.group_count - 1].ended = true;
	if (t->now.bytes > BINLOG_PIECE_MAX)
		hand_on(t, false);
}

static void on_commit(void *ctx, const struct binlog_head *head, uint64_t xid)
{
	struct binlog_txns *t = ctx;

	(void)xid;
	if (!t->open)
		begin(t, head, "");
	end(t, BINLOG_END_COMMIT);
}

static void on_prepare(void *ctx, const struct binlog_head *head, bool one_phase, struct span xid)
{
	struct binlog_txns *t = ctx;

	if (!t->open)
		begin(t, head, "");
	buf_clear(&t->now.xid);
	buf_add_span(&t->now.xid, xid);
	t->counts.xa++;
	end(t, one_phase ? BINLOG_END_COMMIT : BINLOG_END_PREPARED);
}

static void on_rotate(
	void *ctx, const struct binlog_head *head, struct span file, uint64_t position)
{
	struct binlog_txns *t = ctx;

	(void)head;
	if (t->sink->place)
		t->sink->place(t->ctx, file, position);
}

static void on_before_file(void *ctx, const struct binlog_head *head, struct span gtids)
{
	struct binlog_txns *t = ctx;

	(void)head;
	if (t->sink->before_file)
		t->sink->before_file(t->ctx, gtids);
}

static void on_format(void *ctx, const struct binlog_head *head, struct span version)
{
	struct binlog_txns *t = ctx;

	(void)head;
	if (t->sink->format)
		t->sink->format(t->ctx, version);
}

static void on_incident(
	void *ctx, const struct binlog_head *head, unsigned number, struct span text)
{
	struct binlog_txns *t = ctx;
	struct buf what = BUF_INIT;

	(void)head;
	t->counts.incidents++;
	buf_printf(&what, "the server reports incident %u: %.*s", number, SPAN_ARG(text));
	t->sink->gap(t->ctx, buf_span(&what));
	buf_release(&what);
}

static void on_heartbeat(void *ctx, const struct binlog_head *head)
{
	struct binlog_txns *t = ctx;

	(void)head;
	if (t->sink->alive)
		t->sink->alive(t->ctx);
}

static void on_refused(void *ctx, const struct binlog_head *head, const struct binlog_table *table,
	const char *why)
{
	struct binlog_txns *t = ctx;
	struct binlog_group *group = group_now(t);

	(void)head;
	(void)why;
	t->counts.refused_events++;
	group->whole = false;
	rows_of(group, table->number)->keyless = true;
}

static const struct binlog_sink events = {
	.table = on_table,
	.begin = on_begin,
	.query = on_query,
	.text = on_text,
	.row = on_row,
	.rows_end = on_rows_end,
	.commit = on_commit,
	.prepare = on_prepare,
	.rotate = on_rotate,
	.before_file = on_before_file,
	.format = on_format,
	.incident = on_incident,
	.heartbeat = on_heartbeat,
	.refused = on_refused,
};

struct binlog_txns *binlog_txns_new(const struct binlog_txns_sink *sink, void *ctx,
	struct binlog_tables *tables, const struct binlog_options *options)
{
	struct binlog_txns *t = mem_zero(1, sizeof(*t));

	t->sink = sink;
	t->ctx = ctx;
	t->tables = tables;
	t->decoder = binlog_new(&events, t, options);
	return t;
}

void binlog_txns_free(struct binlog_txns *t)
{
	if (!t)
		return;
	binlog_free(t->decoder);
	binlog_txn_release(&t->now);
	buf_release(&t->text);
	buf_release(&t->key);
	buf_release(&t->old_key);
	mem_free(t);
}

bool binlog_txns_event(struct binlog_txns *t, struct span event, struct err *err)
{
	return binlog_event(t->decoder, event, err);
}

void binlog_txns_reset(struct binlog_txns *t)
{
	binlog_reset(t->decoder);
	binlog_txn_release(&t->now);
	t->open = false;
}

bool binlog_txns_open(const struct binlog_txns *t)
{
	return t->open;
}

const struct binlog_counts *binlog_txns_counts(const struct binlog_txns *t)
{
	return &t->counts;
}
