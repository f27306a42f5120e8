/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/select_mode.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "instrument/row_sql.h"
#include "instrument/session.h"
#include "sql/sql.h"

enum {
	KEYS_MAX = 500,   /* rows that are looked for by their keys */
	ROWS_MAX = 10000, /* of a probe; with more it is not taken */
};

/* The row, and what each predicate says of it: drivers have room for so many columns. */
static_assert(1 + PREDICATES_ASKED <= PLAN_TABLES_MAX, "columns of BPM and APM");

static void write_clear(struct select_write *w)
{
	struct select_write empty = {.predicate = w->predicate,
		.source = w->source,
		.row = w->row,
		.before = w->before,
		.keys = w->keys,
		.asked = w->asked};

	*w = empty;
	buf_clear(&w->predicate);
	buf_clear(&w->source);
	buf_clear(&w->row);
	buf_clear(&w->before);
	buf_clear(&w->keys);
	predicate_matches_clear(&w->asked);
}

static void write_release(struct select_write *w)
{
	buf_release(&w->predicate);
	buf_release(&w->source);
	buf_release(&w->row);
	buf_release(&w->before);
	buf_release(&w->keys);
	predicate_matches_release(&w->asked);
}

void select_release(struct select_state *select)
{
	for (size_t i = 0; i < ARRAY_LEN(select->queue); i++)
		buf_release(&select->queue[i].sql);
	statement_probes_release(&select->sets);
	statement_probes_release(&select->client_sets);
	statement_probes_release(&select->client_matches);
	statement_probes_release(&select->scratch);
	write_release(&select->now);
	write_release(&select->pending);
	buf_release(&select->after);
	buf_release(&select->client_before);
}

static struct own_query *add_query(
	struct select_state *select, enum own_kind kind, struct instrument_table *table)
{
	struct own_query *q = &select->queue[select->count++];
	struct buf sql = q->sql;

	buf_clear(&sql);
	buf_add_str(&sql, "/* isorec */ ");
	*q = (struct own_query){.kind = kind, .table = table, .columns = 1, .sql = sql};
	return q;
}

/* Rows of it may have changed in ways that were not seen. */
static void disturb(struct instrument_session *s, struct capture *capture)
{
	struct stmt_plan *plan = &s->plan;

	probed_emit_unseen(capture, &s->stmt, plan, s->tables);
	for (size_t i = 0; i < plan->written_count; i++)
		atomic_store(&plan->written[i]->disturbed, true);
	for (size_t i = 0; plan->anywhere && i < s->tables->count; i++)
		atomic_store(&s->tables->list[i].disturbed, true);
}

/* ---- lines: ROW|version, ROW|version/overwritten ---- */

static void add_line(struct buf *out, struct span value)
{
	buf_add_span(out, value);
	buf_add_char(out, '\n');
}

/* ---- the rows of a write, after it ---- */

static uint64_t version_of(struct span line)
{
	const char *bar = memrchr(line.ptr, '|', line.len);
	uint64_t value = 0;

	for (const char *p = bar ? bar + 1 : line.ptr + line.len; p < line.ptr + line.len; p++) {
		if (*p < '0' || *p > '9')
			break;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	return value;
}

static bool is_update(struct span line)
{
	return line.len && line.ptr[line.len - 1] != '/';
}

/* Packed keys, one after the other in `bytes`. */
struct keys {
	struct buf bytes;
	struct span *list;
	size_t count, capacity;
};

static int by_key(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return span_cmp(*x, *y);
}

/* The keys of the rows that the write left, sorted. */
static void collect_keys(struct select_state *select, const struct select_write *w,
	const struct values_limits *limits, struct keys *keys)
{
	struct span rest = buf_span(&select->after), line;
	struct buf key = BUF_INIT;
	size_t at = 0;

	while (span_next_line(&rest, &line)) {
		if (version_of(line) != w->mark || !log_key_of_whole(w->target, line, limits, &key))
			continue;
		MEM_RESERVE(keys->list, keys->count + 1, keys->capacity);
		keys->list[keys->count++].len = key.len;
		buf_add_span(&keys->bytes, buf_span(&key));
	}
	for (size_t i = 0; i < keys->count; i++) {
		keys->list[i].ptr = keys->bytes.data + at;
		at += keys->list[i].len;
	}
	if (keys->count)
		qsort(keys->list, keys->count, sizeof(*keys->list), by_key);
	buf_release(&key);
}

/* Of the rows before, those that are also among the written ones: others would count as deleted. */
static uint32_t pack_before(struct select_state *select, const struct select_write *w,
	struct span rest, enum log_whole how, const struct values_limits *limits, struct buf *out)
{
	struct span line;
	struct buf key = BUF_INIT;
	struct keys keys = {.bytes = BUF_INIT};
	uint32_t count = 0;

	collect_keys(select, w, limits, &keys);
	while (span_next_line(&rest, &line)) {
		struct span wanted;

		if (!log_key_of_whole(w->target, line, limits, &key))
			continue;
		wanted = buf_span(&key);
		if (w->write != PLAN_WRITE_DELETE &&
			(!keys.count || !bsearch(&wanted, keys.list, keys.count, sizeof(*keys.list),
						by_key)))
			continue;
		if (log_pack_whole(&select->scratch, w->target, line, how, limits, out))
			count++;
	}
	buf_release(&keys.bytes);
	mem_free(keys.list);
	buf_release(&key);
	return count;
}

/* Whether the rows that were found are all that the server says it changed. */
static bool is_all(const struct select_write *w, uint64_t inserted, uint64_t updated)
{
	if (!w->affected_known)
		return false;
	switch (w->write) {
	case PLAN_WRITE_INSERT:
	case PLAN_WRITE_REPLACE: /* it counts deleted rows too */
	case PLAN_WRITE_UPDATE:
		return inserted + updated == w->affected;
	case PLAN_WRITE_UPSERT: /* manuals, "INSERT ... ON DUPLICATE KEY UPDATE": 1 or 2 a row */
		return inserted + 2 * updated == w->affected;
	case PLAN_WRITE_DELETE:
		return w->before_count == w->affected;
	case PLAN_WRITE_NONE:
		break;
	}
	return false;
}

/* What earlier predicates match of the rows that it overwrote and left. */
static void emit_matches(
	struct instrument_session *s, struct capture *capture, bool before_exact, bool after_exact)
{
	struct select_state *select = &s->select;
	struct select_write *w = &select->pending;
	const struct values_limits *limits = &capture->worker->config->values;

	for (size_t i = 0; i < w->asked.count; i++) {
		const struct predicate_match *match = &w->asked.list[i];
		struct span rest = buf_span(&match->after), line;
		struct buf before = BUF_INIT, after = BUF_INIT;
		uint32_t count = 0;
		struct record_probe probe = {.predicate = buf_span(&match->text),
			.of_session = match->session,
			.of_number = match->number,
			.exact = before_exact,
			.read_kind = w->before_locks ? PROBE_READ_CURRENT : w->stmt.read_kind};

		if (w->before_done && w->asked.before_done) {
			uint32_t before_count = pack_before(select, w, buf_span(&match->before),
				LOG_WHOLE_NAMED, limits, &before);

			probed_emit(capture, &w->stmt, PROBE_BPM, w->target, probe, &before,
				before_count);
		}
		while (span_next_line(&rest, &line))
			if (version_of(line) == w->mark &&
				log_pack_whole(&select->scratch, w->target, line, LOG_WHOLE_NAMED,
					limits, &after))
				count++;
		probe.exact = after_exact;
		probe.read_kind = PROBE_READ_CURRENT;
		if (w->asked.after_done)
			probed_emit(capture, &w->stmt, PROBE_APM, w->target, probe, &after, count);
		buf_release(&before);
		buf_release(&after);
	}
}

/* All is known that will be: select->after has the rows after the write. */
static void emit_write(struct instrument_session *s, struct capture *capture)
{
	struct select_state *select = &s->select;
	struct select_write *w = &select->pending;
	const struct values_limits *limits = &capture->worker->config->values;
	struct buf before = BUF_INIT, after = BUF_INIT, matches = BUF_INIT;
	struct span rest = buf_span(&select->after), line;
	uint32_t inserted = 0, updated = 0, matched = 0, before_count;
	bool all, alone = w->before_locks && w->alone && instrument_table_exact(w->target);
	struct record_probe probe = {.read_kind = PROBE_READ_CURRENT};

	while (span_next_line(&rest, &line)) {
		if (version_of(line) != w->mark || !log_pack_whole(&select->scratch, w->target,
							   line, LOG_WHOLE_WRITTEN, limits, &after))
			continue;
		if (is_update(line))
			updated++;
		else
			inserted++;
	}
	all = is_all(w, inserted, updated) && !w->stmt.lost;
	before_count = pack_before(select, w, buf_span(&w->before), LOG_WHOLE_ROW, limits, &before);
	if (w->before_done) {
		probe.exact = all && alone;
		probe.read_kind = w->before_locks ? PROBE_READ_CURRENT : w->stmt.read_kind;
		probed_emit(capture, &w->stmt, PROBE_BWR, w->target, probe, &before, before_count);
	}
	probe.read_kind = PROBE_READ_CURRENT;
	probe.exact = all && instrument_table_exact(w->target) &&
		      (w->write != PLAN_WRITE_DELETE || alone);
	probed_emit(capture, &w->stmt, PROBE_AWR, w->target, probe, &after, inserted + updated);
	emit_matches(s, capture, all && alone, probe.exact);
	if (w->before_done && w->stmt.predicate.ptr) {
		rest = buf_span(&w->before);
		while (span_next_line(&rest, &line))
			if (log_pack_whole(&select->scratch, w->target, line, LOG_WHOLE_NAMED,
				    limits, &matches))
				matched++;
		probe.exact = all && alone;
		probe.read_kind = w->before_locks ? PROBE_READ_CURRENT : w->stmt.read_kind;
		probe.predicate = w->stmt.predicate;
		probed_emit(capture, &w->stmt, PROBE_PM, w->target, probe, &matches, matched);
	}
	/* Versions of ours of which no writer is known. */
	if (!all)
		atomic_store(&w->target->disturbed, true);
	s->pending = false;
	buf_release(&before);
	buf_release(&after);
	buf_release(&matches);
}

/* ---- asking for them ---- */

/* A condition that finds the rows of the BWR again.  False: there are too many. */
static bool add_keys_before(const struct select_write *w, struct buf *out)
{
	struct span rest = buf_span(&w->before), line;
	const char *separator = "";

	if (w->before_count > KEYS_MAX || !w->before_count)
		return false;
	while (span_next_line(&rest, &line)) {
		buf_add_str(out, separator);
		if (!log_add_key_condition(w->target, line, out))
			return false;
		separator = " or ";
	}
	return true;
}

/* Asks for the rows of a write by a condition; BPM and APM: with whether the predicates match them.
 * These stand among the columns, as further conditions could change which rows are locked. */
static struct own_query *add_rows(struct select_state *select, enum own_kind kind,
	struct select_write *w, struct span condition, bool locks)
{
	struct own_query *q = add_query(select, kind, w->target);

	buf_add_str(&q->sql, "select ");
	instrument_add_whole(&q->sql, w->target, w->row.data);
	for (size_t i = 0; (kind == OWN_BPM || kind == OWN_APM) && i < w->asked.count; i++) {
		buf_add_str(&q->sql, ", (");
		buf_add_span(&q->sql, buf_span(&w->asked.list[i].text));
		buf_add_str(&q->sql, ") is true");
		q->columns++;
	}
	buf_printf(&q->sql, " from %s where %.*s limit %d%s", w->source.data, SPAN_ARG(condition),
		ROWS_MAX + 1, locks ? " for update" : "");
	return q;
}

static void add_insert_id(const struct select_write *w, struct buf *condition)
{
	sql_print_name(span_str(w->target->columns[w->target->key[0]].name), condition);
	buf_printf(condition, " = %" PRIu64, w->insert_id);
}

/* True: a query was added. */
static bool add_awr(struct instrument_session *s, const struct capture *capture)
{
	struct select_state *select = &s->select;
	struct select_write *w = &select->pending;
	bool committed_reads = !w->in_txn || w->level == LEVEL_READ_COMMITTED ||
			       w->level == LEVEL_READ_UNCOMMITTED;
	bool has_view = w->level == LEVEL_REPEATABLE_READ && capture->txn.open &&
			(capture->txn.consistent_snapshot || select->view_txn == capture->txn.id);
	struct buf condition = BUF_INIT;
	bool by_key = false;

	if (!committed_reads && !has_view) {
		if (w->keys.len)
			buf_add_span(&condition, buf_span(&w->keys));
		else if (w->counts_key && w->insert_id)
			add_insert_id(w, &condition);
		else if (w->write == PLAN_WRITE_UPDATE && w->before_done)
			by_key = add_keys_before(w, &condition);
		by_key = by_key || w->write != PLAN_WRITE_UPDATE;
		if (!by_key || !condition.len) {
			buf_release(&condition);
			return false;
		}
	} else {
		buf_printf(&condition, "%s." VERSION_COLUMN " like '%" PRIu64 "/%%'", w->row.data,
			w->mark);
	}
	if (w->asked.count)
		add_rows(select, OWN_APM, w, buf_span(&condition), by_key);
	add_rows(select, OWN_AWR, w, buf_span(&condition), by_key);
	buf_release(&condition);
	return true;
}

/* The write before this statement, if its rows were not looked at yet. */
static void settle_pending(struct instrument_session *s, struct capture *capture)
{
	struct select_state *select = &s->select;

	if (!s->pending)
		return;
	buf_clear(&select->after);
	/* An AWR would empty the list of warnings, which most statements without tables do not. */
	if (select->client_probes || (select->pending.warnings && s->plan.no_tables) ||
		!add_awr(s, capture)) {
		struct record_probe probe = {.read_kind = PROBE_READ_CURRENT};

		select->pending.stmt.lost = true;
		atomic_store(&select->pending.target->disturbed, true);
		probed_emit(capture, &select->pending.stmt, PROBE_AWR, select->pending.target,
			probe, NULL, 0);
		s->pending = false;
	}
}

/* ---- before a statement ---- */

static bool reads_lock(const struct instrument_session *s, bool in_txn)
{
	return s->plan.locking || (s->select.now.level == LEVEL_SERIALIZABLE && in_txn);
}

static void add_vsr(struct select_state *select, const struct stmt_plan *plan)
{
	for (size_t i = 0; i < plan->table_count; i++) {
		const struct instrument_table *table = plan->tables[i];
		struct own_query *q;
		bool before = false;

		for (size_t k = 0; k < i; k++)
			before |= plan->tables[k] == table;
		if (before)
			continue;
		q = add_query(select, OWN_VSR, NULL);
		q->of = table;
		buf_add_str(&q->sql, "select cast(concat(");
		instrument_add_key(&q->sql, table, "isorec_t");
		buf_add_str(&q->sql,
			",'|',cast(isorec_t." VERSION_COLUMN " as binary)) as binary) from ");
		sql_print_name(span_str(table->database), &q->sql);
		buf_add_char(&q->sql, '.');
		sql_print_name(span_str(table->name), &q->sql);
		buf_printf(&q->sql, " as isorec_t limit %d", ROWS_MAX + 1);
	}
}

static void begin_read(
	struct instrument_session *s, const struct span *literals, size_t count, bool in_txn)
{
	struct select_state *select = &s->select;
	bool locks = reads_lock(s, in_txn);
	struct own_query *q;

	/* A version set that locks would lock the table. */
	if (!locks)
		add_vsr(select, &s->plan);
	q = add_query(select, OWN_PM, NULL);
	q->columns = s->plan.table_count;
	q->locks = locks;
	buf_printf(&q->sql, "select %s", s->plan.columns.data);
	plan_fill(&s->plan.tail, literals, count, &q->sql);
	select->sets_done = !locks;
	select->matches_done = true;
}

void select_ask_beside(struct instrument_session *s, const struct span *literals, size_t count)
{
	struct select_state *select = &s->select;
	struct own_query *q = add_query(select, OWN_PM, NULL);

	q->columns = s->plan.beside_count;
	q->locks = true; /* it waits for nothing, but a client that stops it means the statement */
	plan_fill(&s->plan.beside, literals, count, &q->sql);
	buf_printf(&q->sql, " limit %d", ROWS_MAX + 1);
	select->rows = 0;
	select->matches_done = true;
}

static void begin_write(
	struct instrument_session *s, const struct span *literals, size_t count, bool unasked)
{
	struct select_state *select = &s->select;
	struct select_write *w = &select->now;
	const struct stmt_plan *plan = &s->plan;
	struct own_query *q = add_query(select, OWN_MARK, NULL);

	/* Whatever writes unseen writes as a session that is not recorded. */
	if (!plan->target) {
		buf_add_str(&q->sql, "set " MARK_VARIABLE " = null");
		return;
	}
	w->mark = instrument_next_mark(s->tables);
	w->write = plan->write;
	w->target = plan->target;
	w->counts_key = plan->counts_key;
	buf_add_span(&w->source, buf_span(&plan->source));
	buf_add_span(&w->row, buf_span(&plan->row));
	plan_fill(&plan->keys, literals, count, &w->keys);
	buf_printf(&q->sql, "set " MARK_VARIABLE " = '%" PRIu64 "'", w->mark);
	if (s->tables->predicates && !select->client_probes)
		predicates_take(s->tables->predicates, w->target, &w->asked);
	if ((w->write != PLAN_WRITE_UPDATE && w->write != PLAN_WRITE_DELETE) ||
		!s->stmt.predicate.ptr)
		return;
	if (select->client_probes) {
		buf_add_span(&w->before, buf_span(&select->client_before));
		w->before_count = select->client_before_count;
		w->before_done = select->client_before_done;
		w->before_locks = select->client_before_locks;
		return;
	}
	if (unasked)
		return;
	/* At READ COMMITTED an UPDATE passes rows that others lock and that do not match as they
	 * were committed (semi-consistent read): a lock here would hide that. */
	w->before_locks = w->write == PLAN_WRITE_DELETE ||
			  (w->level != LEVEL_READ_COMMITTED && w->level != LEVEL_READ_UNCOMMITTED);
	q = add_rows(select, OWN_BWR, w, s->stmt.predicate, w->before_locks);
	q->locks = w->before_locks;
	w->before_done = true;
	if (!w->asked.count)
		return;
	q = add_rows(select, OWN_BPM, w, s->stmt.predicate, w->before_locks);
	q->locks = w->before_locks;
}

/* Probes of the client's own, for this statement. */
static void take_client_probes(struct instrument_session *s)
{
	struct select_state *select = &s->select;
	struct statement_probes empty = s->reads;

	if (select->client_matches_done) {
		s->reads = select->client_matches;
		select->client_matches = empty;
		select->matches_done = true;
	}
	if (select->client_sets_done) {
		empty = select->sets;
		select->sets = select->client_sets;
		select->client_sets = empty;
		select->sets_done = true;
	}
}

static void forget_client_probes(struct select_state *select)
{
	buf_clear(&select->client_before);
	select->client_before_count = 0;
	select->client_before_done = select->client_matches_done = select->client_sets_done = false;
	statement_probes_clear(&select->client_matches);
	statement_probes_clear(&select->client_sets);
	select->client_ended = 0;
	select->client_apart = false;
}

void select_begin(struct instrument_session *s, struct capture *capture,
	const struct span *literals, size_t count)
{
	struct select_state *select = &s->select;
	const struct stmt_plan *plan = &s->plan;
	bool in_txn = capture->txn.open || !(capture->status & STATUS_AUTOCOMMIT);
	bool once, cursor = (capture->status & (STATUS_CURSOR_EXISTS | STATUS_LAST_ROW_SENT)) ==
			    STATUS_CURSOR_EXISTS;

	select->count = select->at = 0;
	select->rows = 0;
	select->sets_done = select->matches_done = select->asked = false;
	statement_probes_clear(&select->sets);
	write_clear(&select->now);
	select->now.level = capture_level(capture);
	select->now.in_txn = in_txn;
	if (plan->client_probe) {
		/* It belongs to a statement beside it. */
		if (!select->client_probes)
			settle_pending(s, capture);
		select->client_probes = true;
		buf_clear(&select->after);
		return;
	}
	select->client_alone = select->client_ended && s->ended &&
			       *s->ended == select->client_ended && !select->client_apart;
	/* Without tables it leaves the diagnostics of the statement before it as they are. */
	if (plan->diagnostics || plan->idle || cursor) {
		/* What it and the one before it write has one name. */
		if (plan->writes)
			select->pending.stmt.lost = true;
		return;
	}
	settle_pending(s, capture);
	/* A query of ours would use up what SET TRANSACTION said for the next transaction. */
	once = !in_txn && capture->level_next != UINT8_MAX;
	if (plan->writes)
		begin_write(s, literals, count, once);
	else if (once)
		s->plan.reads = false;
	else if (plan->reads && select->client_probes)
		take_client_probes(s);
	else if (plan->reads)
		begin_read(s, literals, count, in_txn);
}

/* ---- answers ---- */

/* A row of BPM or APM: itself, then for each predicate whether it matches. */
static void take_matches(
	struct predicate_matches *asked, enum own_kind kind, const struct span *values)
{
	for (size_t i = 0; i < asked->count; i++) {
		struct predicate_match *match = &asked->list[i];

		if (span_eq_str(values[i + 1], "1"))
			add_line(kind == OWN_BPM ? &match->before : &match->after, values[0]);
	}
}

static void take_matching_row(struct instrument_session *s, const struct capture *capture,
	const struct own_query *query, const struct span *values)
{
	const struct values_limits *limits = &capture->worker->config->values;
	const struct instrument_table *const *tables =
		instrument_in_select_mode(s) ? s->plan.tables : s->plan.beside_tables;

	for (size_t i = 0; i < query->columns; i++) {
		bool ok = s->plan.grouped ? log_take_reads(&s->reads, tables[i], values[i], limits)
					  : log_take_read(&s->reads, tables[i], values[i], limits);

		s->select.matches_done &= ok;
	}
}

void select_take_row(struct instrument_session *s, const struct capture *capture,
	const struct own_query *query, const struct span *values)
{
	struct select_state *select = &s->select;
	const struct values_limits *limits = &capture->worker->config->values;

	if (select->rows++ >= ROWS_MAX)
		return;
	switch (query->kind) {
	case OWN_AWR:
		add_line(&select->after, values[0]);
		break;
	case OWN_BWR:
		add_line(&select->now.before, values[0]);
		select->now.before_count++;
		break;
	case OWN_BPM:
		take_matches(&select->now.asked, query->kind, values);
		break;
	case OWN_APM:
		take_matches(&select->pending.asked, query->kind, values);
		break;
	case OWN_VSR:
		if (!log_take_read(&select->sets, query->of, values[0], limits))
			select->sets_done = false;
		break;
	case OWN_PM:
		take_matching_row(s, capture, query, values);
		s->row_count++;
		break;
	case OWN_MARK:
		break;
	}
}

/* From the first answer on no other session may do anything. */
static void note_asked(struct instrument_session *s, bool quiet)
{
	struct select_state *select = &s->select;

	if (!select->asked) {
		select->asked_quiet = quiet;
		select->asked_ended = quiet ? *s->ended : 0;
	} else if (!quiet || *s->ended != select->asked_ended) {
		select->asked_quiet = false;
	}
	select->asked = true;
}

void select_query_end(struct instrument_session *s, struct capture *capture,
	const struct own_query *query, bool ok, bool quiet)
{
	struct select_state *select = &s->select;

	ok = ok && select->rows <= ROWS_MAX;
	select->rows = 0;
	if (query->kind != OWN_AWR && query->kind != OWN_APM && query->kind != OWN_MARK)
		note_asked(s, quiet && s->ended);
	switch (query->kind) {
	case OWN_AWR:
		if (!ok) {
			select->pending.stmt.lost = true;
			buf_clear(&select->after);
		}
		emit_write(s, capture);
		break;
	case OWN_BWR:
		select->now.before_done = ok;
		break;
	case OWN_BPM:
		select->now.asked.before_done = ok;
		break;
	case OWN_APM:
		select->pending.asked.after_done = ok;
		break;
	case OWN_VSR:
		select->sets_done = select->sets_done && ok;
		break;
	case OWN_PM:
		select->matches_done = select->matches_done && ok;
		break;
	case OWN_MARK:
		if (!ok)
			select->now.mark = 0;
		break;
	}
}

/* ---- after a statement ---- */

static void emit_read(struct instrument_session *s, struct capture *capture, bool alone)
{
	struct select_state *select = &s->select;
	const struct stmt_plan *plan = &s->plan;
	/* All reads of the transaction come from one snapshot. */
	bool stable =
		!plan->locking && select->now.in_txn && select->now.level == LEVEL_REPEATABLE_READ;

	for (size_t i = 0; i < plan->table_count; i++) {
		const struct instrument_table *table = plan->tables[i];
		const struct table_probes *rows = probed_rows(&s->reads, table);
		const struct table_probes *set = probed_rows(&select->sets, table);
		struct record_probe probe = {.read_kind = s->stmt.read_kind,
			.exact = (alone || stable) && instrument_table_exact(table)};
		bool before = false;

		for (size_t k = 0; k < i; k++)
			before |= plan->tables[k] == table;
		if (before)
			continue;
		if (!select->matches_done) {
			probe.exact = false;
			rows = NULL;
		}
		if (plan->joint || plan->predicate_of == table)
			probe.predicate = s->stmt.predicate;
		probed_emit(capture, &s->stmt, PROBE_READ, table, probe, rows ? &rows->reads : NULL,
			rows ? rows->read_count : 0);
		if (probe.predicate.ptr && select->matches_done)
			probed_emit(capture, &s->stmt, PROBE_PM, table, probe,
				rows ? &rows->reads : NULL, rows ? rows->read_count : 0);
		if (!probe.predicate.ptr)
			probed_emit_unknown(capture, &s->stmt, table);
		if (select->sets_done && probe.predicate.ptr)
			probed_emit(capture, &s->stmt, PROBE_VSR, table, probe,
				set ? &set->reads : NULL, set ? set->read_count : 0);
	}
	probed_emit_blind(capture, &s->stmt, plan);
}

/* The rows of a marked SELECT are kept for the statement that they belong to. */
static void end_client_probe(struct instrument_session *s, struct capture *capture, bool ok)
{
	struct select_state *select = &s->select;

	ok = ok && select->rows <= ROWS_MAX;
	if (select->client_ended && s->ended && *s->ended != select->client_ended)
		select->client_apart = true;
	select->client_ended = s->ended ? *s->ended + 1 : 0;
	switch (s->plan.client_probe - 1) {
	case PROBE_BWR:
		select->client_before_done = ok;
		select->client_before_locks = s->plan.locking;
		break;
	case PROBE_AWR:
		if (s->pending) {
			if (!ok)
				select->pending.stmt.lost = true;
			emit_write(s, capture);
		}
		break;
	case PROBE_VSR:
		select->client_sets_done = ok;
		break;
	case PROBE_PM:
		select->client_matches_done = ok;
		break;
	default:
		break;
	}
}

void select_take_client_row(struct instrument_session *s, const struct capture *capture,
	size_t index, struct span value)
{
	struct select_state *select = &s->select;
	const struct values_limits *limits = &capture->worker->config->values;
	const struct instrument_table *table = s->plan.tables[index];
	bool sets = s->plan.client_probe - 1 == PROBE_VSR;
	struct statement_probes *to = sets ? &select->client_sets : &select->client_matches;
	struct table_probes *rows;

	if (select->rows++ >= ROWS_MAX)
		return;
	switch (s->plan.client_probe - 1) {
	case PROBE_BWR:
		if (!value.ptr)
			break;
		add_line(&select->client_before, value);
		select->client_before_count++;
		break;
	case PROBE_AWR:
		if (value.ptr)
			add_line(&select->after, value);
		break;
	case PROBE_BPM: /* the images of BWR and AWR say the same */
	case PROBE_APM:
		break;
	default:
		rows = statement_probes_of(to, table);
		if (value.ptr && log_pack_whole(&select->scratch, table, value, LOG_WHOLE_NAMED,
					 limits, &rows->reads))
			rows->read_count++;
		break;
	}
}

void select_end(struct instrument_session *s, struct capture *capture,
	const struct instrument_outcome *outcome)
{
	struct select_state *select = &s->select;
	struct select_write *w = &select->now;
	bool alone = select->client_probes ? outcome->alone && select->client_alone
					   : select->asked && select->asked_quiet &&
						     *s->ended == select->asked_ended;

	if (s->plan.client_probe) {
		end_client_probe(s, capture, outcome->ok);
		return;
	}
	if (outcome->ok && s->plan.shared && s->stmt.predicate.ptr)
		predicates_add(s->tables->predicates, s->plan.predicate_of, s->stmt.predicate,
			capture->id, s->stmt.number);
	if (outcome->ok && s->plan.reads)
		emit_read(s, capture, alone);
	else if (outcome->ok && !s->plan.writes)
		probed_emit_blind(capture, &s->stmt, &s->plan);
	if (outcome->ok && !s->plan.locking && !s->plan.no_tables && !s->plan.writes &&
		capture->txn.open && s->plan.table_count + s->plan.blind_count)
		select->view_txn = capture->txn.id;
	if (s->plan.writes && !w->mark && (outcome->ok || (s->plan.vague && !select_is_refused(outcome->error)))) {
		disturb(s, capture);
		if (outcome->ok)
			probed_emit_blind(capture, &s->stmt, &s->plan);
	} else if (outcome->ok && s->plan.writes) {
		struct select_write swap = select->pending;

		w->stmt = s->stmt;
		buf_add_span(&w->predicate, buf_span(&s->predicate));
		if (s->stmt.predicate.ptr)
			w->stmt.predicate = buf_span(&w->predicate);
		w->alone = alone;
		w->affected = outcome->affected;
		w->affected_known = outcome->affected_known;
		w->insert_id = outcome->insert_id;
		w->warnings = outcome->warnings;
		select->pending = *w;
		select->now = swap;
		s->pending = true;
		buf_clear(&select->after);
		probed_emit_blind(capture, &s->stmt, &s->plan);
		/* Of a DELETE nothing is left to look at; nor of an UPDATE that changed nothing. */
		if (select->pending.write == PLAN_WRITE_DELETE ||
			(outcome->affected_known && !outcome->affected)) {
			select->pending.asked.after_done = true;
			emit_write(s, capture);
		}
	}
	forget_client_probes(select);
}
