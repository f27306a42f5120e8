/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/reduce_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/mem.h"
#include "common/shape.h"
#include "reduce/ddmin.h"
#include "report/slice_trace.h"
#include "server/commands.h"
#include "sql/sql.h"
#include "trace/reader.h"

/* Findings of a class that are told apart; rounds of statements and rows. */
enum { FINDINGS_MAX = 1000, ROUNDS_MAX = 4 };

enum { LEVEL_TXN, LEVEL_STMT, LEVEL_ROW };

/* How likely a unit is not needed.  Those of one doubt and all above it are left out together at first. */
enum {
	NEEDED,
	OTHER_WRITE,     /* a statement of a transaction of the finding, which is none of the finding's own */
	OTHER_READ,
	MEANWHILE_WRITER, /* another transaction */
	EARLIER_WRITER,
	OTHER_TXN,
	READ_OF_OTHERS,
};

struct part_txn {
	uint64_t id, begin, end;
	bool concerned, wrote;
};

struct part_stmt {
	uint32_t session, number, prepared;
	uint32_t txn; /* its place; MAP_NONE: none */
	bool reads;
};

struct part_row {
	uint32_t table, place;
	bool answered;
};

struct part_table {
	uint32_t table;
	uint32_t *key; /* places of its columns; none: all columns */
	uint32_t key_count;
};

struct reducing {
	const struct reduce_trace_options *options;
	struct reduce_trace_summary *summary;
	struct judge_options judge;
	struct buf wanted, wanted_kind;
	struct map known;     /* violations of the whole trace, by a digest of print_identity() */
	bool all_known;       /* none is missing there */
	struct map concerned; /* transactions of the finding */
	bool by_absence;      /* wrong is that nothing was in the way: all that was under way belongs to it */
	struct map steps;     /* its statements, by slice_stmt_key() */
	bool origin_known;    /* tells_origin() */
	const char *base;     /* what parts are taken from: the trace, or a part of it */
	char *best, *trying;  /* files beside the output */
	char *rows_of;        /* ... and the base of a round of rows */
	uint64_t begin_ns;

	/* What is in the base. */
	struct arena arena;
	struct sql_options sql;
	struct map txn_at;
	struct part_txn *txns;
	size_t txn_count, txn_capacity;
	struct part_stmt *stmts;
	size_t stmt_count, stmt_capacity; /* without those that begin and end transactions */
	size_t control_count;
	struct part_row *rows;
	size_t row_count, row_capacity;
	struct part_table *tables;
	size_t table_count, table_capacity;
	struct map answered; /* hashes of values that the finding's statement answered */
	uint32_t session, number; /* that statement */
	struct err *err;
};

static bool is_over(const struct reducing *r)
{
	return interrupt_seen() || (r->options->time_ns && clock_mono_ns() - r->begin_ns >= r->options->time_ns);
}

/* ---- which finding ---- */

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Kind, transactions and statement. */
static void print_identity(const struct finding *f, struct buf *out)
{
	uint64_t *numbers = mem_alloc((f->transaction_count + 1) * sizeof(*numbers));
	size_t count = 0;

	finding_print_kind(f, out);
	for (uint32_t i = 0; i < f->transaction_count; i++)
		count += txn_number(f->transactions[i], &numbers[count]);
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	for (size_t i = 0; i < count; i++)
		buf_printf(out, " T%" PRIu64, numbers[i]);
	buf_printf(out, " %" PRIu32 ".%" PRIu32, f->session, f->number);
	mem_free(numbers);
}

static void print_odd(const struct answer_row *rows, uint32_t count, struct buf *out)
{
	for (uint32_t i = 0; i < count; i++)
		if (rows[i].odd)
			buf_printf(out, "\n%.*s", SPAN_ARG(rows[i].text));
	buf_add_char(out, '\n');
}

/* ... and what the statement answered and should have answered where these differ, the kinds of dependencies, and, where
 * it is not known whence the answer comes, all the statements that tell it: an answer that is wrong by what another one wrote is
 * another one when that is not there. */
static void print_same(const struct reducing *r, const struct finding *f, struct buf *out)
{
	if (r->options->by_class) {
		finding_print_kind(f, out);
		return;
	}
	print_identity(f, out);
	finding_print_shape(f, out);
	if (f->answer) {
		print_odd(f->answer->expected, f->answer->expected_count, out);
		print_odd(f->answer->got, f->answer->got_count, out);
	}
	for (uint32_t i = 0; i < f->step_count && !r->origin_known; i++)
		buf_printf(out, " %" PRIu32 ".%" PRIu32, f->steps[i].session, f->steps[i].number);
}

static bool is_in_chains(const struct finding *f, struct span value)
{
	for (uint32_t i = 0; i < f->row_count; i++) {
		struct span rest = f->rows[i].chain;
		const char *at;

		while (rest.len && (at = memmem(rest.ptr, rest.len, value.ptr, value.len))) {
			const char *end = at + value.len;

			if (at > rest.ptr && strchr("(,", at[-1]) && end < rest.ptr + rest.len && strchr("),", *end))
				return true;
			rest = span_of(at + 1, rest.len - (size_t)(at + 1 - rest.ptr));
		}
	}
	return false;
}

static size_t value_len(struct span row)
{
	size_t len = 0;

	while (len < row.len && !strchr("(),", row.ptr[len]))
		len++;
	return len;
}

/* Is every value of the rows that were answered and not expected one of a version that the finding tells of?  Then it is
 * known where the answer comes from. */
static bool tells_origin(const struct finding *f)
{
	for (uint32_t i = 0; f->answer && i < f->answer->got_count; i++) {
		struct span rest = f->answer->got[i].text;

		/* "ok", an error and a count are made by the server, not written by a transaction. */
		if (!f->answer->got[i].odd || !rest.len || rest.ptr[0] != '(')
			continue;
		while (rest.len) {
			size_t len = value_len(rest);

			if (len && !is_in_chains(f, span_of(rest.ptr, len)))
				return false;
			len += len < rest.len;
			rest = span_of(rest.ptr + len, rest.len - len);
		}
	}
	return f->answer != NULL;
}

/* Does it rest on statements alone that the whole trace's finding names? */
static bool has_known_steps(const struct reducing *r, const struct finding *f)
{
	for (uint32_t i = 0; i < f->step_count; i++)
		if (f->steps[i].number &&
			map_get(&r->steps, slice_stmt_key(f->steps[i].session, f->steps[i].number)) == MAP_NONE)
			return false;
	return true;
}

static bool is_same(const struct reducing *r, const struct finding *f, struct buf *text)
{
	buf_clear(text);
	print_same(r, f, text);
	return span_eq(buf_span(text), buf_span(&r->wanted)) &&
	       (r->options->by_class || !r->origin_known || (tells_origin(f) && has_known_steps(r, f)));
}

static uint64_t digest_of(const struct buf *text)
{
	return hash_bytes(text->data, text->len);
}

static const struct finding *choose_finding(const struct verdict *verdict, const char *wanted)
{
	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];

		if (!wanted || strcmp(finding_name(f), wanted) == 0 || strncmp(f->id, wanted, strlen(wanted)) == 0)
			return f;
	}
	return NULL;
}

static void keep_known(struct reducing *r, const struct verdict *verdict)
{
	struct buf text = BUF_INIT;

	r->all_known = true;
	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];

		r->all_known &= !f->similar;
		buf_clear(&text);
		print_identity(f, &text);
		map_put(&r->known, digest_of(&text), 1);
	}
	buf_release(&text);
}

static void keep_finding(struct reducing *r, const struct finding *f)
{
	struct span names[FINDING_CONCERNED_MAX];
	uint32_t count = finding_concerned(f, names);
	uint64_t number;

	for (uint32_t i = 0; i < count; i++)
		if (txn_number(names[i], &number))
			map_put(&r->concerned, number, 1);
	for (uint32_t i = 0; i < f->step_count; i++)
		if (f->steps[i].number)
			map_put(&r->steps, slice_stmt_key(f->steps[i].session, f->steps[i].number), 1);
	if (f->number)
		map_put(&r->steps, slice_stmt_key(f->session, f->number), 1);
	r->session = f->session;
	r->number = f->number;
	r->by_absence = f->class == CLASS_NEEDLESS_BLOCK || f->class == CLASS_NEEDLESS_DEADLOCK;
	r->origin_known = tells_origin(f);
	print_same(r, f, &r->wanted);
	finding_print_kind(f, &r->wanted_kind);
}

static bool take_finding(struct reducing *r, const char *path)
{
	struct judged judged;
	const struct finding *f;

	if (!judge_trace(&judged, path, &r->judge, r->err))
		return false;
	f = choose_finding(&judged.verdict, r->options->finding);
	if (f && finding_class_is_cluster(f->class)) {
		err_set(r->err, ERR_UNSUPPORTED,
			"%s: %s is about the nodes of a cluster, not about transactions: isorec cluster reduce %s --finding %s "
			"leaves out what was done to them; or choose another one with --finding",
			path, finding_name(f), path, finding_name(f));
		judged_release(&judged);
		return false;
	}
	if (f) {
		struct buf shape = BUF_INIT;

		keep_known(r, &judged.verdict);
		keep_finding(r, f);
		finding_print_shape(f, &shape);
		snprintf(r->summary->shape, sizeof(r->summary->shape), "%s", shape.data);
		snprintf(r->summary->id, sizeof(r->summary->id), "%s", f->id);
		r->summary->found = true;
		buf_release(&shape);
	}
	judged_release(&judged);
	return true;
}

/* ---- judging a part ---- */

static bool is_new(const struct reducing *r, const struct finding *f, struct buf *text)
{
	if (f->severity != SEVERITY_VIOLATION || !r->all_known)
		return false;
	buf_clear(text);
	print_identity(f, text);
	if (map_get(&r->known, digest_of(text)) != MAP_NONE)
		return false;
	buf_clear(text);
	finding_print_kind(f, text);
	return !(r->options->by_class && span_eq(buf_span(text), buf_span(&r->wanted_kind)));
}

static bool shows(struct reducing *r, const char *path)
{
	struct buf text = BUF_INIT;
	bool same = false, other = false;
	struct judged judged;
	struct err ignored;

	if (!judge_trace(&judged, path, &r->judge, &ignored))
		return false;
	for (size_t i = 0; i < judged.verdict.finding_count; i++) {
		const struct finding *f = &judged.verdict.findings[i];

		same |= is_same(r, f, &text);
		other |= is_new(r, f, &text);
	}
	judged_release(&judged);
	buf_release(&text);
	return same && !other;
}

/* ---- what is in the base ---- */

static struct part_txn *txn_of(struct reducing *r, uint64_t id)
{
	uint32_t *slot = map_at(&r->txn_at, id);

	if (*slot == MAP_NONE) {
		*slot = (uint32_t)r->txn_count;
		MEM_RESERVE(r->txns, r->txn_count + 1, r->txn_capacity);
		r->txns[r->txn_count++] = (struct part_txn){
			.id = id, .begin = UINT64_MAX, .concerned = map_get(&r->concerned, id) != MAP_NONE};
	}
	return &r->txns[*slot];
}

/* BEGIN, COMMIT and the like stay with their transaction. */
static bool is_control(struct reducing *r, const struct record_stmt *s)
{
	struct sql_stmt *tree;
	struct err err;

	if (s->result_sets || s->affected || !s->text.ptr)
		return false;
	arena_clear(&r->arena);
	return sql_parse(&r->arena, s->text, &r->sql, &tree, &err) && sql_stmt_is_transaction_control(tree);
}

static void list_stmt(struct reducing *r, const struct record_stmt *s)
{
	struct part_txn *txn = s->txn ? txn_of(r, s->txn) : NULL;

	if (txn) {
		txn->begin = s->begin < txn->begin ? s->begin : txn->begin;
		txn->end = s->at > txn->end ? s->at : txn->end;
		txn->wrote |= s->affected && !s->result_sets;
	}
	if (txn && is_control(r, s)) {
		r->control_count++;
		return;
	}
	MEM_RESERVE(r->stmts, r->stmt_count + 1, r->stmt_capacity);
	r->stmts[r->stmt_count++] = (struct part_stmt){.session = s->session,
		.number = s->number,
		.prepared = s->prepared,
		.txn = txn ? map_get(&r->txn_at, s->txn) : MAP_NONE,
		.reads = s->result_sets || s->flags & STMT_INJECTED};
}

static void list_table(struct reducing *r, const struct record_schema *schema)
{
	struct mp mp = mp_over(schema->primary_key);
	uint32_t count = schema->primary_key.ptr ? mp_array(&mp) : 0;
	struct part_table *t;

	MEM_RESERVE(r->tables, r->table_count + 1, r->table_capacity);
	t = &r->tables[r->table_count++];
	*t = (struct part_table){.table = schema->table, .key = mem_zero(count + 1, sizeof(*t->key)), .key_count = count};
	for (uint32_t i = 0; i < count; i++)
		t->key[i] = mp_u32(&mp);
}

static void list_answer(struct reducing *r, const struct record_result *result)
{
	struct mp mp = mp_over(result->rows);
	uint32_t count = result->rows.ptr ? mp_array(&mp) : 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++)
		for (uint32_t k = mp_array(&mp); k > 0 && !mp.bad; k--) {
			struct span value = mp_raw(&mp);

			map_put(&r->answered, hash_bytes(value.ptr, value.len), 1);
		}
}

static bool is_of_key(const struct part_table *t, uint32_t column)
{
	bool found = !t || !t->key_count;

	for (uint32_t i = 0; t && i < t->key_count && !found; i++)
		found = t->key[i] == column;
	return found;
}

/* Did the finding's statement answer this row?  Then it stays: without it the answer would be wrong for another reason.
 * Some that were not answered are taken for it. */
static bool was_answered(const struct reducing *r, struct mp *row, uint32_t table)
{
	const struct part_table *t = NULL;
	bool all = true;

	for (size_t i = 0; i < r->table_count && !t; i++)
		t = r->tables[i].table == table ? &r->tables[i] : NULL;
	for (uint32_t column = 0, count = mp_array(row); column < count && !row->bad; column++) {
		struct span value = mp_raw(row);

		if (is_of_key(t, column))
			all &= map_get(&r->answered, hash_bytes(value.ptr, value.len)) != MAP_NONE;
	}
	return all && r->answered.count;
}

static void list_rows(struct reducing *r, const struct record_rows *rows, struct map *places)
{
	uint32_t *place = map_at(places, rows->table);
	struct mp mp = mp_over(rows->rows);
	uint32_t count = rows->rows.ptr ? mp_array(&mp) : 0;

	if (*place == MAP_NONE)
		*place = 0;
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		MEM_RESERVE(r->rows, r->row_count + 1, r->row_capacity);
		r->rows[r->row_count++] = (struct part_row){rows->table, (*place)++, was_answered(r, &mp, rows->table)};
	}
}

/* Before list_base(): rows come before answers. */
static bool list_answers(struct reducing *r, struct trace_item *item, struct map *unused)
{
	struct record_result result;

	(void)unused;
	if (item->kind != RECORD_RESULT)
		return true;
	if (!record_result_read(&item->mp, item->left, &result))
		return false;
	if (r->number && result.session == r->session && result.number == r->number)
		list_answer(r, &result);
	return true;
}

static bool list_item(struct reducing *r, struct trace_item *item, struct map *places)
{
	struct record_schema schema;
	struct record_server server;
	struct record_stmt stmt;
	struct record_rows rows;
	struct record_txn txn;

	switch (item->kind) {
	case RECORD_SERVER:
		if (!record_server_read(&item->mp, item->left, &server))
			return false;
		r->sql = sql_options_for_server(server.version);
		return true;
	case RECORD_SCHEMA:
		if (!record_schema_read(&item->mp, item->left, &schema))
			return false;
		list_table(r, &schema);
		return true;
	case RECORD_ROWS:
		if (!record_rows_read(&item->mp, item->left, &rows))
			return false;
		if (span_eq_str(rows.moment, "initial"))
			list_rows(r, &rows, places);
		return true;
	case RECORD_STMT:
		if (!record_stmt_read(&item->mp, item->left, &stmt))
			return false;
		list_stmt(r, &stmt);
		return true;
	case RECORD_TXN:
		if (!record_txn_read(&item->mp, item->left, &txn))
			return false;
		txn_of(r, txn.txn)->end = txn.at;
		return true;
	default:
		return true;
	}
}

static bool each_record(struct reducing *r, bool (*each)(struct reducing *r, struct trace_item *item, struct map *places))
{
	struct trace_reader *reader = trace_reader_open(r->base, &(struct trace_reader_options){.ordered = true}, r->err);
	struct map places = MAP_INIT;
	struct trace_item item;
	enum trace_next next;
	bool ok = reader != NULL;

	while (ok && (next = trace_next_item(reader, &item, r->err)) != TRACE_NEXT_END) {
		ok = next == TRACE_NEXT_OK;
		if (ok && !each(r, &item, &places))
			ok = err_set(r->err, ERR_FORMAT, "%s: a record cannot be read", r->base);
	}
	if (reader)
		trace_reader_close(reader);
	map_release(&places);
	return ok;
}

static void forget_tables(struct reducing *r)
{
	for (size_t i = 0; i < r->table_count; i++)
		mem_free(r->tables[i].key);
	r->table_count = 0;
}

static bool list_base(struct reducing *r)
{
	r->txn_count = r->stmt_count = r->control_count = r->row_count = 0;
	forget_tables(r);
	map_release(&r->txn_at);
	return each_record(r, list_item);
}

static void measure(const struct reducing *r, struct reduce_trace_size *out)
{
	*out = (struct reduce_trace_size){r->txn_count, r->stmt_count + r->control_count, r->row_count};
}

/* ---- parts ---- */

/* Units: the transactions, then the statements of the base; or its rows. */
struct units {
	struct reducing *r;
	bool rows;
	struct ddmin_unit *units;
	struct ddmin_need *needs;
	size_t count, need_count;
	bool failed; /* a part could not be written: r->err says why */
};

static void release_units(struct units *u)
{
	mem_free(u->units);
	mem_free(u->needs);
}

static void conditions_of(const struct units *u, const bool *kept, struct slice_conditions *out)
{
	const struct reducing *r = u->r;

	*out = (struct slice_conditions){
		.sessions = MAP_INIT, .txns = MAP_INIT, .no_stmts = MAP_INIT, .no_rows = MAP_INIT, .to = UINT64_MAX, .exact = true};
	for (size_t i = 0; i < r->txn_count; i++)
		if (u->rows || kept[i])
			map_put(&out->txns, r->txns[i].id, 1);
	for (size_t i = 0; !u->rows && i < r->stmt_count; i++)
		if (!kept[r->txn_count + i])
			map_put(&out->no_stmts, slice_stmt_key(r->stmts[i].session, r->stmts[i].number), 1);
	for (size_t i = 0; u->rows && i < r->row_count; i++)
		if (!kept[i])
			map_put(&out->no_rows, slice_row_key(r->rows[i].table, r->rows[i].place), 1);
}

static bool write_part(struct units *u, const bool *kept, const char *output, const char *words)
{
	struct slice_conditions conditions;
	struct slice_summary summary;
	bool ok;

	conditions_of(u, kept, &conditions);
	ok = conditions.txns.count &&
	     slice_trace(u->r->base, output, &conditions, words, &summary, u->r->err);
	u->failed |= conditions.txns.count && !ok;
	map_release(&conditions.txns);
	map_release(&conditions.no_stmts);
	map_release(&conditions.no_rows);
	return ok;
}

static bool part_shows(struct units *u, const bool *kept)
{
	struct reducing *r = u->r;
	size_t txns = 0, stmts = 0;
	bool same;

	remove(r->trying);
	if (!write_part(u, kept, r->trying, NULL))
		return false;
	r->summary->parts++;
	same = shows(r, r->trying);
	for (size_t i = 0; i < r->txn_count; i++)
		txns += u->rows || kept[i];
	for (size_t i = 0; i < r->stmt_count; i++)
		stmts += u->rows || kept[r->txn_count + i];
	if (r->options->tried)
		r->options->tried(r->options->context, r->summary->parts, txns, stmts);
	return same;
}

/* The part that was just judged is the best so far, and what comes is taken from it, but for rows. */
static bool take_part(struct units *u)
{
	struct reducing *r = u->r;

	if (rename(r->trying, r->best) != 0) {
		u->failed = true;
		return err_set_errno(r->err, errno, "cannot write %s", r->best);
	}
	if (!u->rows)
		r->base = r->best;
	return true;
}

static size_t test_units(void *ctx, bool *const *candidates, size_t count)
{
	struct units *u = ctx;

	for (size_t i = 0; i < count; i++) {
		if (is_over(u->r) || u->failed)
			return DDMIN_STOP;
		if (part_shows(u, candidates[i]))
			return take_part(u) ? i : DDMIN_STOP;
	}
	return u->failed ? DDMIN_STOP : DDMIN_NONE;
}

static bool was_under_way(const struct part_txn *t, uint64_t from, uint64_t to)
{
	return t->begin <= to && t->end >= from;
}

static uint8_t doubt_of_txn(const struct part_txn *t, uint64_t from, uint64_t to)
{
	if (t->concerned)
		return NEEDED;
	if (!t->wrote || t->begin > to)
		return OTHER_TXN;
	return t->end >= from ? MEANWHILE_WRITER : EARLIER_WRITER;
}

static uint8_t doubt_of_stmt(const struct reducing *r, const struct part_stmt *s)
{
	bool concerned = s->txn != MAP_NONE && r->txns[s->txn].concerned;

	if (map_get(&r->steps, slice_stmt_key(s->session, s->number)) != MAP_NONE)
		return NEEDED;
	if (concerned)
		return s->reads ? OTHER_READ : OTHER_WRITE;
	return s->reads ? READ_OF_OTHERS : NEEDED; /* it goes with its transaction */
}

/* A statement is of no use without its transaction, nor an EXECUTE without its PREPARE. */
static void add_needs(struct units *u, size_t stmt, struct map *at)
{
	const struct reducing *r = u->r;
	const struct part_stmt *s = &r->stmts[stmt];
	uint32_t unit = (uint32_t)(r->txn_count + stmt), prepare;

	if (s->txn != MAP_NONE)
		u->needs[u->need_count++] = (struct ddmin_need){unit, s->txn};
	if (s->txn != MAP_NONE && r->options->whole_txns)
		u->needs[u->need_count++] = (struct ddmin_need){s->txn, unit};
	prepare = s->prepared ? map_get(at, slice_stmt_key(s->session, s->prepared)) : MAP_NONE;
	if (prepare != MAP_NONE && prepare != unit)
		u->needs[u->need_count++] = (struct ddmin_need){unit, prepare};
}

static void make_units(struct units *u, struct reducing *r)
{
	uint64_t from = UINT64_MAX, to = 0;
	struct map at = MAP_INIT;

	*u = (struct units){.r = r, .count = r->txn_count + r->stmt_count};
	u->units = mem_zero(u->count + 1, sizeof(*u->units));
	u->needs = mem_zero(3 * r->stmt_count + 1, sizeof(*u->needs));
	for (size_t i = 0; i < r->txn_count; i++) {
		if (!r->txns[i].concerned)
			continue;
		from = r->txns[i].begin < from ? r->txns[i].begin : from;
		to = r->txns[i].end > to ? r->txns[i].end : to;
	}
	for (size_t i = 0; i < r->txn_count; i++)
		u->units[i] = (struct ddmin_unit){.level = LEVEL_TXN,
			.doubt = doubt_of_txn(&r->txns[i], from, to),
			.fixed = r->by_absence && was_under_way(&r->txns[i], from, to)};
	for (size_t i = 0; i < r->stmt_count; i++) {
		const struct part_stmt *s = &r->stmts[i];

		map_put(&at, slice_stmt_key(s->session, s->number), (uint32_t)(r->txn_count + i));
		u->units[r->txn_count + i] = (struct ddmin_unit){.level = LEVEL_STMT,
			.doubt = s->txn != MAP_NONE && r->options->whole_txns ? u->units[s->txn].doubt : doubt_of_stmt(r, s),
			.fixed = s->txn != MAP_NONE && u->units[s->txn].fixed};
	}
	for (size_t i = 0; i < r->stmt_count; i++)
		add_needs(u, i, &at);
	map_release(&at);
}

static void make_row_units(struct units *u, struct reducing *r)
{
	*u = (struct units){.r = r, .rows = true, .count = r->row_count};
	u->units = mem_zero(u->count + 1, sizeof(*u->units));
	for (size_t i = 0; i < u->count; i++)
		u->units[i] = (struct ddmin_unit){.level = LEVEL_ROW, .doubt = 1, .fixed = r->rows[i].answered};
}

/* Rows are known by their place, which changes when others go: the parts of a round are all taken from one file, and the
 * best so far is another one. */
static bool begin_rows(struct reducing *r)
{
	if (r->base != r->best)
		return true;
	if (rename(r->best, r->rows_of) != 0)
		return err_set_errno(r->err, errno, "cannot write %s", r->rows_of);
	r->base = r->rows_of;
	return true;
}

static bool end_rows(struct reducing *r)
{
	if (access(r->best, F_OK) == 0) { /* something went */
		r->base = r->best;
		return true;
	}
	if (r->base != r->rows_of)
		return true;
	if (rename(r->rows_of, r->best) != 0)
		return err_set_errno(r->err, errno, "cannot write %s", r->best);
	r->base = r->best;
	return true;
}

/* *removed: something went.  False: it cannot go on, r->err says why. */
static bool run_round(struct reducing *r, bool rows, bool *removed)
{
	struct units u;
	bool *kept, ok;

	if ((rows && !begin_rows(r)) || !list_base(r))
		return false;
	if (rows)
		make_row_units(&u, r);
	else
		make_units(&u, r);
	kept = mem_alloc(u.count + 1);
	memset(kept, true, u.count + 1);
	r->summary->whole &= ddmin_run(
		&(struct ddmin){.units = u.units, .count = u.count, .needs = u.needs, .need_count = u.need_count,
			.test = test_units, .ctx = &u},
		kept);
	for (size_t i = 0; i < u.count; i++)
		*removed |= !kept[i];
	ok = !u.failed && (!rows || end_rows(r));
	mem_free(kept);
	release_units(&u);
	return ok;
}

static bool reduce(struct reducing *r)
{
	bool removed = true;

	for (int round = 0; round < ROUNDS_MAX && removed && !is_over(r); round++) {
		removed = false;
		if (!run_round(r, false, &removed) || (!is_over(r) && !run_round(r, true, &removed)))
			return false;
		/* Rows that went may have been what a statement was about. */
		if (round == 0)
			removed = true;
	}
	r->summary->whole &= !is_over(r);
	return true;
}

/* The base, with a note of what it is. */
static bool copy_base(struct reducing *r)
{
	const struct reduce_trace_size *before = &r->summary->before, *after = &r->summary->after;
	struct units u;
	char words[192];
	bool *kept, ok;

	snprintf(words, sizeof(words),
		"isotrace reduce, for finding %s: %" PRIu64 " of %" PRIu64 " transactions, %" PRIu64 " of %" PRIu64
		" statements, %" PRIu64 " of %" PRIu64 " initial rows",
		r->summary->id, after->txns, before->txns, after->stmts, before->stmts, after->rows, before->rows);
	make_units(&u, r);
	kept = mem_alloc(u.count + 1);
	memset(kept, true, u.count + 1);
	remove(r->trying);
	ok = write_part(&u, kept, r->trying, words);
	mem_free(kept);
	release_units(&u);
	return ok;
}

static bool write_best(struct reducing *r, const char *output)
{
	if (!list_base(r))
		return false;
	measure(r, &r->summary->after);
	return copy_base(r) && (rename(r->trying, output) == 0 || err_set_errno(r->err, errno, "cannot write %s", output));
}

static char *beside(const char *output, const char *suffix)
{
	size_t len = strlen(output) + strlen(suffix) + 1;
	char *path = mem_alloc(len);

	snprintf(path, len, "%s%s", output, suffix);
	return path;
}

static void release(struct reducing *r)
{
	remove(r->best);
	remove(r->trying);
	remove(r->rows_of);
	mem_free(r->best);
	mem_free(r->trying);
	mem_free(r->rows_of);
	mem_free(r->txns);
	mem_free(r->stmts);
	mem_free(r->rows);
	forget_tables(r);
	mem_free(r->tables);
	map_release(&r->answered);
	map_release(&r->txn_at);
	map_release(&r->known);
	map_release(&r->concerned);
	map_release(&r->steps);
	buf_release(&r->wanted);
	buf_release(&r->wanted_kind);
	arena_release(&r->arena);
}

bool reduce_trace(const char *path, const char *output, const struct reduce_trace_options *options,
	struct reduce_trace_summary *summary, struct err *err)
{
	struct reducing r = {.options = options, .summary = summary, .judge = *options->judge, .base = path,
		.arena = ARENA_INIT, .sql = sql_options_default(), .err = err};
	bool ok;

	*summary = (struct reduce_trace_summary){.whole = true};
	if (access(output, F_OK) == 0)
		return err_set(err, ERR_USAGE, "%s is there already: give --output a new name", output);
	r.best = beside(output, ".best");
	r.trying = beside(output, ".trying");
	r.rows_of = beside(output, ".rows");
	r.judge.examples = FINDINGS_MAX;
	ok = take_finding(&r, path);
	r.judge.progress = OUTPUT_NEVER;
	r.begin_ns = clock_mono_ns(); /* the time is for parts */
	if (ok && summary->found) {
		ok = each_record(&r, list_answers) && list_base(&r);
		measure(&r, &summary->before);
		ok = ok && reduce(&r) && write_best(&r, output);
	}
	release(&r);
	return ok;
}
