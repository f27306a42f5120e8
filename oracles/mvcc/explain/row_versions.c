/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The versions of rows as the oracle `application` takes them. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "model/history/history.h"
#include "mvcc/explain/accesses.h"
#include "mvcc/solver.h"

uint32_t row_of_record(const struct row_versions *rv, const struct store_record *record)
{
	return map_get(&rv->row_of, (uintptr_t)record);
}

const struct eval_value *row_image(const struct row_versions *rv, uint32_t row, uint32_t position)
{
	const struct store_version *v = rv->shown[rv->out.rows[row].first + position];

	return v ? v->image : NULL;
}

/* ---- numbers of the history ---- */

static void map_transactions(struct row_versions *rv)
{
	const struct history *h = rv->m->options->history;
	const struct schedule *s = rv->m->schedule;
	struct map by_number = MAP_INIT;

	for (uint32_t i = 0; i < h->txn_count; i++)
		map_put(&by_number, h->txns[i].number, i);
	rv->txn_of = mem_realloc(NULL, s->txn_count + 1, sizeof(*rv->txn_of));
	for (size_t i = 0; i < s->txn_count; i++) {
		const struct schedule_txn *t = &s->txns[i];
		bool sure = t->outcome == TXN_COMMITTED && t->mixed != TXN_MIXED_YES && !rv->m->store.txns[i + 1].mixed &&
			    rv->m->store.txns[i + 1].state == STORE_COMMITTED;

		rv->txn_of[i] = sure ? map_get(&by_number, t->number) : ACCESS_NONE;
	}
	map_release(&by_number);
}

static void map_statements(struct row_versions *rv)
{
	const struct history *h = rv->m->options->history;
	const struct schedule *s = rv->m->schedule;
	struct map by_number = MAP_INIT;

	map_reserve(&by_number, h->stmt_count);
	for (uint32_t i = 0; i < h->stmt_count; i++)
		map_put(&by_number, (uint64_t)h->sessions[h->stmts[i].session].number << 32 | h->stmts[i].number, i);
	rv->stmt_of = mem_realloc(NULL, s->stmt_count + 1, sizeof(*rv->stmt_of));
	for (size_t i = 0; i < s->stmt_count; i++) {
		const struct execution_stmt *stmt = s->stmts[i].in;

		rv->stmt_of[i] = map_get(&by_number,
			(uint64_t)s->execution->sessions[stmt->session].number << 32 | stmt->record.number);
	}
	map_release(&by_number);
}

/* ---- times ---- */

/* A plain read that answered with rows of a table was carried out: it made the read view.  (An aggregate answers without
 * looking, where its condition cannot be true.) */
static bool shows_columns(const struct plan *plan)
{
	const struct sql_item *item = plan->stmt && plan->stmt->kind == SQL_STMT_SELECT &&
					      plan->stmt->u.query->kind == SQL_QUERY_SELECT
				      ? plan->stmt->u.query->u.select.items
				      : NULL;

	for (const struct sql_item *i = item; i; i = i->next)
		if (i->expr->kind != SQL_EXPR_COLUMN && i->expr->kind != SQL_EXPR_STAR)
			return false;
	return item != NULL;
}

static bool makes_view(const struct mvcc *m, size_t i)
{
	const struct plan *plan = m->runs[i].plan;
	const struct record_stmt *r = &m->schedule->stmts[i].in->record;

	return !r->error && !(r->flags & STMT_NO_REPLY) && plan->query && plan->reads && !plan->lock && !plan->writes &&
	       !plan->unsupported && !plan->uses_unknown_tables && r->rows > 0 && shows_columns(plan);
}

static void find_times(struct row_versions *rv)
{
	const struct mvcc *m = rv->m;
	const struct schedule *s = m->schedule;

	rv->ends = mem_zero(s->txn_count + 1, sizeof(*rv->ends));
	rv->snapshot = mem_realloc(NULL, s->txn_count + 1, sizeof(*rv->snapshot));
	for (size_t i = 0; i < s->txn_count; i++) {
		rv->ends[i] = (struct txn_end){0, UINT64_MAX};
		rv->snapshot[i] = UINT64_MAX;
	}
	for (size_t i = 0; i < s->stmt_count; i++) {
		const struct schedule_stmt *stmt = &s->stmts[i];
		const struct record_stmt *r = &stmt->in->record;

		for (const struct schedule_txn_event *e = stmt->txn_events; e; e = e->next)
			if (e->event == TXN_END && !(r->flags & STMT_NO_REPLY))
				rv->ends[e->txn] = (struct txn_end){r->begin_seq, r->seq};
		if (stmt->txn != SCHEDULE_NONE && rv->snapshot[stmt->txn] == UINT64_MAX && makes_view(m, i))
			rv->snapshot[stmt->txn] = r->seq;
	}
}

/* ---- tables ---- */

static void add_tables(struct row_versions *rv)
{
	const struct store *store = &rv->m->store;
	struct accesses *out = &rv->out;

	out->table_count = store->table_count;
	out->tables = arena_zero(&out->arena, ((size_t)store->table_count + 1) * sizeof(*out->tables));
	for (uint32_t i = 0; i < store->table_count; i++) {
		const struct store_table *t = &store->tables[i];
		struct access_table *to = &out->tables[i];

		to->name = span_str(arena_printf(&out->arena, "%.*s%s%.*s", SPAN_ARG(t->database), t->database.len ? "." : "",
			SPAN_ARG(t->name)));
		if (!t->def)
			continue;
		to->column_count = t->def->column_count;
		to->columns = arena_alloc(&out->arena, ((size_t)to->column_count + 1) * sizeof(*to->columns));
		for (uint32_t c = 0; c < to->column_count; c++)
			to->columns[c] = t->def->columns[c].name;
		for (uint32_t c = 0; t->cluster && c < t->cluster->count; c++)
			to->key |= access_column(t->cluster->columns[c]);
	}
}

/* ---- versions ---- */

/* What a transaction wrote last of a record, and was committed: the versions that others can see, newest first. */
static const struct store_version *next_shown(const struct store *store, const struct store_version *v, uint32_t last)
{
	while (v && (store->txns[v->txn].state != STORE_COMMITTED || (v->txn == last && v->txn)))
		v = v->previous;
	return v;
}

/* How many there are; 0: something about them is not known.  A row that was not there at the start has one more. */
static uint32_t count_versions(const struct row_versions *rv, const struct store_record *record)
{
	const struct store *store = &rv->m->store;
	uint32_t count = 0, last = STORE_NONE;
	bool initial = false;

	for (const struct store_version *v = record->newest; v; v = v->previous) {
		if (v->unknown || v->maybe)
			return 0;
	}
	for (const struct store_version *v = next_shown(store, record->newest, last); v;
		v = next_shown(store, v->previous, last)) {
		last = v->txn;
		initial = v->txn == 0;
		if (v->txn && rv->txn_of[v->txn - 1] == ACCESS_NONE)
			return 0;
		count++;
	}
	return count + !initial;
}

static bool is_number(const struct eval_value *v)
{
	return v->kind == EVAL_INT || v->kind == EVAL_UINT || v->kind == EVAL_DECIMAL;
}

static uint64_t wall_of(const struct history *h, uint64_t mono_ns)
{
	return h->wall_ns + (mono_ns - h->mono_ns);
}

static bool is_moment(const struct row_versions *rv, const struct eval_type *type, const struct eval_value *value, uint32_t txn)
{
	const struct history *h = rv->m->options->history;
	const struct history_txn *t = &h->txns[txn];
	struct buf text = BUF_INIT;
	bool is;

	if (value->kind == EVAL_OPAQUE)
		return true; /* NOW() */
	if (value->kind != EVAL_DATETIME)
		return false;
	eval_print(type, value, &text);
	is = moment_is_between(buf_span(&text), wall_of(h, t->begin_ns), wall_of(h, t->end_ns));
	buf_release(&text);
	return is;
}

static void compare_rows(struct row_versions *rv, struct access_version *to, const struct store_table *table,
	struct access_table *access, struct quantities *q, const struct eval_value *old, const struct eval_value *new)
{
	struct buf text = BUF_INIT;

	to->columns = UINT64_MAX;
	if (!old || !new)
		return;
	to->columns = 0;
	for (uint32_t c = 0; c < table->def->column_count; c++) {
		const struct eval_type *type = &table->def->columns[c].type;

		if (is_moment(rv, type, &new[c], to->txn))
			to->moments |= access_column(c);
		if (eval_same(&old[c], &new[c]))
			continue;
		to->columns |= access_column(c);
		if (!is_number(&new[c]))
			continue;
		buf_clear(&text);
		eval_print(type, &new[c], &text);
		quantities_note(q, access, c, hash_bytes(text.data, text.len));
	}
	buf_release(&text);
}

static struct span name_row(struct row_versions *rv, uint32_t number, const struct store_record *record)
{
	const struct store_table *t = &rv->m->store.tables[number];
	const struct eval_value *image = NULL;
	struct buf text = BUF_INIT;
	struct span kept;

	for (const struct store_version *v = record->newest; v && !image; v = v->previous)
		image = v->image;
	buf_printf(&text, "%.*s(", SPAN_ARG(rv->out.tables[number].name));
	for (uint32_t i = 0; image && t->cluster && i < t->cluster->count; i++) {
		uint32_t c = t->cluster->columns[i];

		buf_add_str(&text, i ? ", " : "");
		if (image[c].kind == EVAL_STRING)
			buf_printf(&text, "'%.*s'", (int)(image[c].s.len < 40 ? image[c].s.len : 40), image[c].s.ptr);
		else
			eval_print(&t->def->columns[c].type, &image[c], &text);
	}
	buf_add_char(&text, ')');
	kept = arena_copy(&rv->out.arena, buf_span(&text));
	buf_release(&text);
	return kept;
}

static void add_row(struct row_versions *rv, uint32_t number, struct store_record *record, uint32_t count, struct quantities *q)
{
	const struct store *store = &rv->m->store;
	struct accesses *out = &rv->out;
	uint32_t row = out->row_count++, first = out->version_count, last = STORE_NONE, at = count;

	out->rows[row] = (struct access_row){
		.table = number, .first = first, .count = count, .name = name_row(rv, number, record)};
	rv->records[row] = record;
	map_put(&rv->row_of, (uintptr_t)record, row);
	out->version_count += count;
	for (const struct store_version *v = next_shown(store, record->newest, last); v;
		v = next_shown(store, v->previous, last)) {
		struct access_version *to = &out->versions[first + --at];

		last = v->txn;
		rv->shown[first + at] = v->image ? v : NULL;
		*to = (struct access_version){.row = row, .txn = ACCESS_NONE, .stmt = ACCESS_NONE, .absent = !v->image};
		if (!v->txn)
			continue;
		to->txn = rv->txn_of[v->txn - 1];
		to->ending = rv->ends[v->txn - 1].sent;
		to->ended = rv->ends[v->txn - 1].answered;
		to->written = UINT64_MAX;
		if (v->stmt != STORE_NONE) {
			to->stmt = rv->stmt_of[v->stmt];
			to->written = rv->m->schedule->stmts[v->stmt].in->record.seq;
		}
	}
	if (at)
		out->versions[first] =
			(struct access_version){.row = row, .txn = ACCESS_NONE, .stmt = ACCESS_NONE, .absent = true};
	for (uint32_t p = 1; p < count; p++)
		compare_rows(rv, &out->versions[first + p], &store->tables[number], &out->tables[number], q,
			row_image(rv, row, p - 1), row_image(rv, row, p));
}

static void add_rows(struct row_versions *rv)
{
	struct store *store = &rv->m->store;
	struct accesses *out = &rv->out;
	size_t rows = 0, versions = 0;

	rv->first_row = mem_zero((size_t)store->table_count + 2, sizeof(*rv->first_row));
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t t = 0; t < store->table_count; t++) {
			const struct store_table *table = &store->tables[t];
			struct quantities *q = pass ? mem_zero(1, sizeof(*q)) : NULL;

			if (pass)
				rv->first_row[t] = out->row_count;
			for (uint32_t i = 0; i < table->count && table->def && table->cluster && !table->unknown; i++) {
				uint32_t count = count_versions(rv, table->records[i]);

				if (count < 2)
					continue;
				rows += !pass;
				versions += pass ? 0 : count;
				if (pass)
					add_row(rv, t, table->records[i], count, q);
			}
			mem_free(q);
		}
		if (pass)
			break;
		out->rows = mem_zero(rows + 1, sizeof(*out->rows));
		out->versions = mem_zero(versions + 1, sizeof(*out->versions));
		rv->records = mem_zero(rows + 1, sizeof(*rv->records));
		rv->shown = mem_zero(versions + 1, sizeof(*rv->shown));
		map_reserve(&rv->row_of, rows);
	}
	rv->first_row[store->table_count] = out->row_count;
}

static void bound_ends(struct row_versions *rv)
{
	const struct accesses *out = &rv->out;

	rv->sent_last = mem_zero((size_t)out->version_count + 1, sizeof(*rv->sent_last));
	rv->answered_first = mem_zero((size_t)out->version_count + 1, sizeof(*rv->answered_first));
	for (uint32_t i = 0; i < out->row_count; i++) {
		const struct access_row *row = &out->rows[i];
		uint64_t sent = 0, answered = UINT64_MAX;

		for (uint32_t v = row->first; v < row->first + row->count; v++) {
			sent = out->versions[v].ending > sent ? out->versions[v].ending : sent;
			rv->sent_last[v] = sent;
		}
		for (uint32_t v = row->first + row->count; v-- > row->first;) {
			answered = out->versions[v].ended < answered ? out->versions[v].ended : answered;
			rv->answered_first[v] = answered;
		}
	}
}

static struct span image_words(const void *context, struct arena *arena, uint32_t version)
{
	const struct row_versions *rv = context;
	const struct access_row *row = &rv->out.rows[rv->out.versions[version].row];
	const struct eval_table *def = rv->m->store.tables[row->table].def;
	const struct eval_value *image = rv->shown[version] ? rv->shown[version]->image : NULL;
	struct buf text = BUF_INIT;
	struct span kept;

	if (!image)
		return SPAN_NONE;
	for (uint32_t c = 0; c < def->column_count && c < 12; c++) {
		buf_add_str(&text, c ? ", " : "(");
		if (image[c].kind == EVAL_STRING)
			buf_printf(&text, "'%.*s'", (int)(image[c].s.len < 40 ? image[c].s.len : 40), image[c].s.ptr);
		else
			eval_print(&def->columns[c].type, &image[c], &text);
	}
	buf_add_str(&text, def->column_count > 12 ? ", ...)" : ")");
	kept = arena_copy(arena, buf_span(&text));
	buf_release(&text);
	return kept;
}

void row_versions_init(struct row_versions *rv, struct mvcc *m)
{
	*rv = (struct row_versions){.m = m};
	rv->out.image = image_words;
	rv->out.context = rv;
	map_transactions(rv);
	map_statements(rv);
	find_times(rv);
	add_tables(rv);
	add_rows(rv);
	bound_ends(rv);
}

void row_versions_release(struct row_versions *rv)
{
	accesses_release(&rv->out);
	map_release(&rv->row_of);
	mem_free(rv->ends);
	mem_free(rv->snapshot);
	mem_free(rv->txn_of);
	mem_free(rv->stmt_of);
	mem_free(rv->records);
	mem_free(rv->shown);
	mem_free(rv->first_row);
	mem_free(rv->sent_last);
	mem_free(rv->answered_first);
}
