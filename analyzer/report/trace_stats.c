/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/trace_stats.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "report/describe_record.h"
#include "server/commands.h"
#include "sql/text/raw_token.h"

enum { NAME_BYTES_MAX = 200 };

struct stats *stats_new(void)
{
	struct stats *stats = mem_zero(1, sizeof(*stats));

	stats->names = names_new();
	stats->session.groups.max = STATS_GROUPS_MAX;
	stats->txn.reasons.max = stats->gap.reasons.max = STATS_REASONS_MAX;
	stats->cluster.max = stats->notes.max = STATS_REASONS_MAX;
	return stats;
}

static void tally_release(struct stats_tally *tally)
{
	strtab_release(&tally->names);
	mem_free(tally->items);
}

void stats_free(struct stats *stats)
{
	names_free(stats->names);
	map_release(&stats->session.ids);
	map_release(&stats->stmt.error_index);
	map_release(&stats->probe.index);
	tally_release(&stats->session.groups);
	tally_release(&stats->txn.reasons);
	tally_release(&stats->gap.reasons);
	tally_release(&stats->cluster);
	tally_release(&stats->notes);
	for (size_t i = 0; i < STATS_OUTCOMES; i++)
		histogram_release(&stats->txn.duration[i]);
	for (size_t i = 0; i <= STATS_KINDS_MAX; i++)
		histogram_release(&stats->stmt.kinds[i].latency);
	histogram_release(&stats->stmt.latency);
	histogram_release(&stats->stmt.first_byte);
	histogram_release(&stats->stmt.blocked);
	histogram_release(&stats->stmt.injected_latency);
	mem_free(stats);
}

/* ---- tallies ---- */

static void tally_add(struct stats_tally *tally, struct span name, uint64_t amount)
{
	struct stats_count *item = &tally->others;
	uint32_t id;

	if (name.len > NAME_BYTES_MAX)
		name.len = NAME_BYTES_MAX;
	id = strtab_find(&tally->names, name);
	if (id == STRTAB_NONE && tally->names.count <= tally->max)
		id = strtab_add(&tally->names, name);
	if (id != STRTAB_NONE) {
		MEM_RESERVE(tally->items, (size_t)id + 1, tally->capacity);
		/* Id 0 comes into being by itself. */
		for (; tally->count <= id; tally->count++)
			tally->items[tally->count] = (struct stats_count){
				strtab_get(&tally->names, (uint32_t)tally->count), 0, 0};
		item = &tally->items[id];
	}
	item->count++;
	item->amount += amount;
}

static int count_order(const void *a, const void *b)
{
	const struct stats_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return span_cmp(x->name_ref, y->name_ref);
}

static void tally_sort(struct stats_tally *tally)
{
	if (tally->count)
		qsort(tally->items, tally->count, sizeof(*tally->items), count_order);
	while (tally->count && tally->items[tally->count - 1].count == 0)
		tally->count--;
}

/* ---- records ---- */

static void note_time(struct stats *stats, uint64_t at)
{
	/* What later segments repeat of a session has no time in older traces. */
	if (!at)
		return;
	if (!stats->any_at || at < stats->first_at)
		stats->first_at = at;
	if (!stats->any_at || at > stats->last_at)
		stats->last_at = at;
	stats->any_at = true;
}

static void note_session(struct stats *stats, uint32_t session)
{
	if (map_get(&stats->session.ids, session) != MAP_NONE)
		return;
	if (stats->session.ids.count == STATS_SESSIONS_MAX) {
		stats->session.seen_is_least = true;
		return;
	}
	map_put(&stats->session.ids, session, 1);
	stats->session.seen++;
}

static bool take_session(struct stats *stats, const struct record_session *record)
{
	char group[NAME_BYTES_MAX];

	names_learn_session(stats->names, record);
	note_session(stats, record->session);
	switch ((enum session_event)record->event) {
	case SESSION_OPENED:
		stats->session.opened++;
		snprintf(group, sizeof(group), "%.*s%s%.*s",
			(int)(record->user.len < 80 ? record->user.len : 80),
			record->user.ptr ? record->user.ptr : "", record->node.len ? " on " : "",
			(int)(record->node.len < 80 ? record->node.len : 80),
			record->node.ptr ? record->node.ptr : "");
		tally_add(&stats->session.groups, span_str(group), 0);
		break;
	case SESSION_CLOSED:
		stats->session.closed++;
		break;
	case SESSION_OPAQUE:
		stats->session.opaque++;
		break;
	case SESSION_CHANGED:
		stats->session.changed++;
		break;
	case SESSION_ENDED:
		stats->session.ended++;
		break;
	case SESSION_RELEASED:
		break;
	}
	return true;
}

bool stats_kind_has_rows(const struct stats_kind *kind)
{
	static const char *const words[] = {"SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(kind->name, words[i]) == 0)
			return true;
	}
	return false;
}

static struct stats_kind *find_kind(struct stats *stats, const struct record_stmt *record)
{
	char name[24] = "";
	const char *command = command_name(record->command);
	bool sql = record->command == CMD_QUERY || record->command == CMD_STMT_EXECUTE ||
		   record->command == CMD_STMT_BULK_EXECUTE || record->command == CMD_SLEEP;
	size_t i;

	if (sql)
		text_keyword(names_stmt_text(stats->names, record), name);
	if (!name[0])
		snprintf(name, sizeof(name), "%s%s", command ? command : "unknown",
			sql ? " (no text)" : "");
	for (i = 0; i < stats->stmt.kind_count; i++) {
		if (strcmp(stats->stmt.kinds[i].name, name) == 0)
			return &stats->stmt.kinds[i];
	}
	if (stats->stmt.kind_count < STATS_KINDS_MAX) {
		stats->stmt.kind_count++;
		memcpy(stats->stmt.kinds[i].name, name, sizeof(name));
		return &stats->stmt.kinds[i];
	}
	snprintf(name, sizeof(name), "others");
	memcpy(stats->stmt.kinds[STATS_KINDS_MAX].name, name, sizeof(name));
	return &stats->stmt.kinds[STATS_KINDS_MAX];
}

static void count_error(struct stats *stats, const struct record_stmt *record)
{
	uint32_t index = map_get(&stats->stmt.error_index, record->error);
	struct stats_error *error;

	if (index == MAP_NONE) {
		size_t len = record->error_text.len;

		if (stats->stmt.error_count == STATS_ERRORS_MAX) {
			stats->stmt.errors_others++;
			return;
		}
		index = (uint32_t)stats->stmt.error_count++;
		map_put(&stats->stmt.error_index, record->error, index);
		error = &stats->stmt.errors_by[index];
		error->code = record->error;
		if (len >= sizeof(error->text))
			len = sizeof(error->text) - 1;
		if (len)
			memcpy(error->text, record->error_text.ptr, len);
		if (record->sqlstate.len == 5)
			memcpy(error->sqlstate, record->sqlstate.ptr, 5);
	}
	stats->stmt.errors_by[index].count++;
}

static void count_blocked(
	struct stats *stats, const struct record_stmt *record, struct stats_kind *kind)
{
	if (record->flags & STMT_BLOCKED_SEEN || record->blocked_ns)
		stats->stmt.blocked_watched++;
	if (!record->blocked_ns)
		return;
	stats->stmt.blocked_count++;
	kind->blocked++;
	kind->blocked_ns += record->blocked_ns;
	histogram_add(&stats->stmt.blocked, record->blocked_ns);
}

static bool take_stmt(struct stats *stats, const struct record_stmt *record)
{
	bool answered =
		!(record->flags & STMT_NO_REPLY) && record->begin && record->at >= record->begin;
	struct stats_kind *kind;

	note_session(stats, record->session);
	names_learn_stmt(stats->names, record);
	if (record->flags & STMT_INJECTED) {
		stats->stmt.injected++;
		if (answered)
			histogram_add(&stats->stmt.injected_latency, record->at - record->begin);
		return true;
	}
	kind = find_kind(stats, record);
	kind->count++;
	stats->stmt.count++;
	stats->stmt.no_reply += (record->flags & STMT_NO_REPLY) != 0;
	kind->no_reply += (record->flags & STMT_NO_REPLY) != 0;
	stats->stmt.cut += (record->flags & STMT_TEXT_CUT) != 0;
	stats->stmt.not_kept += (record->flags & STMT_NOT_KEPT) != 0;
	stats->stmt.opaque += (record->flags & STMT_OPAQUE) != 0;
	stats->stmt.warnings += record->warnings;
	stats->stmt.rows += record->rows;
	kind->rows += record->rows;
	stats->stmt.affected += record->affected;
	kind->affected += record->affected;
	kind->touched += record_stmt_touched(record);
	stats->stmt.reply_bytes += record->reply_bytes;
	if (record->error) {
		stats->stmt.errors++;
		kind->errors++;
		count_error(stats, record);
	}
	if (answered) {
		histogram_add(&stats->stmt.latency, record->at - record->begin);
		histogram_add(&kind->latency, record->at - record->begin);
		if (record->first_byte >= record->begin)
			histogram_add(&stats->stmt.first_byte, record->first_byte - record->begin);
	}
	count_blocked(stats, record, kind);
	return true;
}

static bool take_result(struct stats *stats, const struct record_result *record)
{
	struct mp mp = mp_over(record->rows);

	stats->result.records++;
	stats->result.rows_kept += record->rows.ptr ? mp_array(&mp) : 0;
	if (record->last)
		stats->result.rows_total += record->total;
	stats->result.digests += record->digest.ptr != NULL;
	return !mp.bad;
}

static bool take_probe(struct stats *stats, const struct record_probe *record)
{
	struct mp mp = mp_over(record->rows);
	uint32_t rows = record->rows.ptr ? mp_array(&mp) : 0;
	uint64_t key = (uint64_t)record->table << 16 | (uint64_t)record->probe << 1 | record->exact;
	uint32_t index = map_get(&stats->probe.index, key);
	struct stats_probe *probe;

	if (index == MAP_NONE) {
		if (stats->probe.count == STATS_PROBES_MAX) {
			stats->probe.others++;
			stats->probe.others_rows += rows;
			return !mp.bad;
		}
		index = (uint32_t)stats->probe.count++;
		map_put(&stats->probe.index, key, index);
		stats->probe.items[index] = (struct stats_probe){
			.kind = record->probe, .exact = record->exact, .table = record->table};
	}
	probe = &stats->probe.items[index];
	probe->count++;
	probe->rows += rows;
	return !mp.bad;
}

static bool take_txn(struct stats *stats, const struct record_txn *record)
{
	unsigned level = record->level < STATS_LEVELS ? record->level : 0;
	unsigned outcome = record->outcome < STATS_OUTCOMES ? record->outcome : 0;

	note_session(stats, record->session);
	switch ((enum txn_event)record->event) {
	case TXN_BEGIN:
		stats->txn.begun++;
		stats->txn.read_only += record->read_only;
		stats->txn.snapshot += record->consistent_snapshot;
		break;
	case TXN_END:
		stats->txn.by[level][outcome]++;
		if (record->outcome != TXN_COMMITTED)
			tally_add(&stats->txn.reasons,
				record->reason.len ? record->reason : SPAN_LIT("no reason given"),
				0);
		if (record->autocommit) {
			stats->txn.autocommit++;
			break;
		}
		stats->txn.ended++;
		if (record->begin && record->at >= record->begin)
			histogram_add(&stats->txn.duration[outcome], record->at - record->begin);
		break;
	case TXN_SAVEPOINT:
		stats->txn.savepoints++;
		break;
	case TXN_ROLLBACK_TO:
		stats->txn.rollbacks_to++;
		break;
	case TXN_RELEASE:
		break;
	}
	return true;
}

static bool take_server(struct stats *stats, const struct record_server *record)
{
	(void)stats;
	(void)record;
	return true;
}

static bool take_schema(struct stats *stats, const struct record_schema *record)
{
	names_learn_schema(stats->names, record);
	return true;
}

static bool take_rows(struct stats *stats, const struct record_rows *record)
{
	struct mp mp = mp_over(record->rows);

	stats->table_rows.parts++;
	stats->table_rows.rows += record->rows.ptr ? mp_array(&mp) : 0;
	stats->table_rows.incomplete += record->last && !record->complete;
	return !mp.bad;
}

static bool take_cluster(struct stats *stats, const struct record_cluster *record)
{
	tally_add(&stats->cluster, record->what.len ? record->what : SPAN_LIT("unnamed"), 0);
	return true;
}

static bool take_note(struct stats *stats, const struct record_note *record)
{
	tally_add(&stats->notes, record->source.len ? record->source : SPAN_LIT("unnamed"), 0);
	return true;
}

static bool take_program(struct stats *stats, const struct record_program *record)
{
	(void)stats;
	(void)record;
	return true;
}

static bool take_logged(struct stats *stats, const struct record_logged *record)
{
	(void)stats;
	(void)record;
	return true;
}

static bool take_gap(struct stats *stats, const struct record_gap *record)
{
	stats->gap.count++;
	/* Of all that were removed since the trace began: each segment says it anew. */
	if (span_eq_str(record->reason, "rotated")) {
		stats->gap.removed = record->records;
	} else {
		stats->gap.records += record->records;
		stats->gap.bytes += record->bytes;
	}
	tally_add(&stats->gap.reasons, record->reason.len ? record->reason : SPAN_LIT("unnamed"),
		record->records);
	return true;
}

#define TAKE(kind)                                                                                 \
	{                                                                                          \
		struct record_##kind record;                                                       \
		struct mp mp = item->mp;                                                           \
                                                                                                   \
		if (!record_##kind##_read(&mp, item->left, &record))                               \
			return false;                                                              \
		note_time(stats, record.at);                                                       \
		return take_##kind(stats, &record);                                                \
	}

static bool take(struct stats *stats, const struct trace_item *item)
{
	switch ((enum record_kind)item->kind) {
	case RECORD_BLOCK:
	case RECORD_FOOTER:
		return true;
	case RECORD_SERVER:
		TAKE(server)
	case RECORD_SCHEMA:
		TAKE(schema)
	case RECORD_ROWS:
		TAKE(rows)
	case RECORD_SESSION:
		TAKE(session)
	case RECORD_STMT:
		TAKE(stmt)
	case RECORD_RESULT:
		TAKE(result)
	case RECORD_PROBE:
		TAKE(probe)
	case RECORD_TXN:
		TAKE(txn)
	case RECORD_CLUSTER:
		TAKE(cluster)
	case RECORD_NOTE:
		TAKE(note)
	case RECORD_GAP:
		TAKE(gap)
	case RECORD_PROGRAM:
		TAKE(program)
	case RECORD_LOGGED:
		TAKE(logged)
	}
	BUG("record kind %u", item->kind);
}

void stats_take(struct stats *stats, const struct trace_item *item)
{
	if (item->kind >= RECORD_KIND_COUNT) {
		stats->unknown_kinds++;
		return;
	}
	stats->records[item->kind]++;
	if (!take(stats, item))
		stats->malformed++;
}

/* ---- sorting ---- */

static int kind_order(const void *a, const void *b)
{
	const struct stats_kind *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int error_order(const void *a, const void *b)
{
	const struct stats_error *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->code > y->code) - (x->code < y->code);
}

static int probe_order(const void *a, const void *b)
{
	const struct stats_probe *x = a, *y = b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->exact < y->exact) - (x->exact > y->exact);
}

void stats_sort(struct stats *stats)
{
	qsort(stats->stmt.kinds, stats->stmt.kind_count, sizeof(*stats->stmt.kinds), kind_order);
	/* Others come last, whatever their number. */
	if (stats->stmt.kinds[STATS_KINDS_MAX].count)
		stats->stmt.kind_count = STATS_KINDS_MAX + 1;
	qsort(stats->stmt.errors_by, stats->stmt.error_count, sizeof(*stats->stmt.errors_by),
		error_order);
	qsort(stats->probe.items, stats->probe.count, sizeof(*stats->probe.items), probe_order);
	tally_sort(&stats->session.groups);
	tally_sort(&stats->txn.reasons);
	tally_sort(&stats->gap.reasons);
	tally_sort(&stats->cluster);
	tally_sort(&stats->notes);
}
