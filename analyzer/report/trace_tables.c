/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/trace_tables.h"

#include <inttypes.h>

#include "adya/sentences.h"
#include "sql/text/statement_pattern.h"
#include "trace/value.h"

/* ---- what the tables are ---- */

#define COLUMN_OF(name, type, meaning) {#name, COLUMN_##type, meaning},
static const struct data_column statement_columns[] = {STATEMENT_COLUMNS(COLUMN_OF)};
static const struct data_column transaction_columns[] = {TRANSACTION_COLUMNS(COLUMN_OF)};
static const struct data_column version_columns[] = {VERSION_COLUMNS(COLUMN_OF)};
static const struct data_column edge_columns[] = {EDGE_COLUMNS(COLUMN_OF)};
static const struct data_column finding_columns[] = {FINDING_COLUMNS(COLUMN_OF)};

const struct data_table trace_tables[TRACE_TABLE_COUNT] = {
	[TABLE_STATEMENTS] = {"statements", "every statement, in the order of their ends", statement_columns,
		ARRAY_LEN(statement_columns)},
	[TABLE_TRANSACTIONS] = {"transactions", "every transaction, in the order of their begins", transaction_columns,
		ARRAY_LEN(transaction_columns)},
	[TABLE_VERSIONS] = {"versions", "every version of every row that probes show, row by row", version_columns,
		ARRAY_LEN(version_columns)},
	[TABLE_EDGES] = {"edges", "what depends on what for certain, between committed transactions", edge_columns,
		ARRAY_LEN(edge_columns)},
	[TABLE_FINDINGS] = {"findings", "what isotrace check finds", finding_columns, ARRAY_LEN(finding_columns)},
};

/* ---- statements ---- */

static struct cell cell_bool(bool value)
{
	return cell_uint(value);
}

static struct cell cell_word(const char *word)
{
	return cell_text(word ? span_str(word) : SPAN_NONE);
}

/* The text in the buffer; NULL where it is empty. */
static struct cell cell_filled(const struct buf *buf)
{
	return cell_text(buf->len ? buf_span(buf) : SPAN_NONE);
}

static void add_blockers(struct buf *out, struct span blockers)
{
	struct mp mp = mp_over(blockers);
	uint32_t count = blockers.ptr ? mp_array(&mp) : 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++)
		buf_printf(out, "%s%" PRIu64, i ? " " : "", mp_uint(&mp));
}

bool table_add_stmt(struct table_out *out, const struct record_stmt *stmt, const struct names *names,
	uint64_t mono_ns, uint64_t wall_ns)
{
	const struct names_session *session = names_session(names, stmt->session);
	struct span text = names_stmt_text(names, stmt);
	struct buf tag = BUF_INIT, blockers = BUF_INIT;
	struct cell c[STATEMENT_COLUMN_COUNT];
	bool ok;

	if (text.ptr)
		statement_tag(&tag, text);
	add_blockers(&blockers, stmt->blockers);
	c[STATEMENT_session] = cell_uint(stmt->session);
	c[STATEMENT_number] = cell_uint(stmt->number);
	c[STATEMENT_transaction] = stmt->txn ? cell_uint(stmt->txn) : cell_null();
	c[STATEMENT_node] = cell_word(session ? session->node : NULL);
	c[STATEMENT_user] = cell_word(session ? session->user : NULL);
	c[STATEMENT_database] = cell_word(session && session->database[0] ? session->database : NULL);
	/* Unsigned: also right for moments before the anchor. */
	c[STATEMENT_begin] = cell_uint(wall_ns + (stmt->begin - mono_ns));
	c[STATEMENT_first_byte] = stmt->first_byte ? cell_uint(wall_ns + (stmt->first_byte - mono_ns)) : cell_null();
	c[STATEMENT_end] = cell_uint(wall_ns + (stmt->at - mono_ns));
	c[STATEMENT_begin_seq] = cell_uint(stmt->begin_seq);
	c[STATEMENT_end_seq] = cell_uint(stmt->seq);
	c[STATEMENT_command] = cell_uint(stmt->command);
	c[STATEMENT_text] = cell_text(text);
	c[STATEMENT_tag] = cell_filled(&tag);
	c[STATEMENT_traceparent] = cell_text(text.ptr ? statement_traceparent(text) : SPAN_NONE);
	c[STATEMENT_answered] = cell_bool(!(stmt->flags & STMT_NO_REPLY));
	c[STATEMENT_of_recorder] = cell_bool(stmt->flags & STMT_INJECTED);
	c[STATEMENT_rows] = cell_uint(stmt->rows);
	c[STATEMENT_affected] = cell_uint(stmt->affected);
	c[STATEMENT_insert_id] = cell_uint(stmt->insert_id);
	c[STATEMENT_warnings] = cell_uint(stmt->warnings);
	c[STATEMENT_error] = stmt->error ? cell_uint(stmt->error) : cell_null();
	c[STATEMENT_sqlstate] = stmt->error ? cell_text(stmt->sqlstate) : cell_null();
	c[STATEMENT_error_text] = stmt->error ? cell_text(stmt->error_text) : cell_null();
	c[STATEMENT_blocked_ns] = stmt->flags & STMT_BLOCKED_SEEN ? cell_uint(stmt->blocked_ns) : cell_null();
	c[STATEMENT_blockers] = cell_filled(&blockers);
	c[STATEMENT_reply_bytes] = cell_uint(stmt->reply_bytes);
	ok = table_out_row(out, c);
	buf_release(&tag);
	buf_release(&blockers);
	return ok;
}

/* ---- transactions ---- */

static struct cell cell_moment(const struct history *h, uint64_t at)
{
	return at ? cell_uint(h->wall_ns + (at - h->mono_ns)) : cell_null();
}

static struct cell cell_string(const struct history *h, uint32_t string)
{
	return string ? cell_text(strtab_get(&h->strings, string)) : cell_null();
}

bool table_add_transactions(struct table_out *out, const struct history *h)
{
	for (uint32_t i = 0; i < h->txn_count; i++) {
		const struct history_txn *t = &h->txns[i];
		struct cell c[TRANSACTION_COLUMN_COUNT];
		uint64_t counts[HISTORY_PREDICATE + 1] = {0};

		for (uint32_t o = t->first_op; o < t->first_op + t->op_count; o++)
			counts[h->ops[o].kind]++;
		c[TRANSACTION_transaction] = cell_uint(t->number);
		c[TRANSACTION_session] = cell_uint(h->sessions[t->session].number);
		c[TRANSACTION_begin] = cell_moment(h, t->flags & HISTORY_TXN_NO_BEGIN ? 0 : t->begin_ns);
		c[TRANSACTION_end] = cell_moment(h, t->flags & HISTORY_TXN_NO_END ? 0 : t->end_ns);
		c[TRANSACTION_level] = cell_word(txn_level_name(t->level));
		c[TRANSACTION_outcome] = cell_word(txn_outcome_name(t->outcome));
		c[TRANSACTION_counts] = cell_bool(history_committed(h, i));
		c[TRANSACTION_autocommit] = cell_bool(t->flags & HISTORY_TXN_AUTOCOMMIT);
		c[TRANSACTION_read_only] = cell_bool(t->flags & HISTORY_TXN_READ_ONLY);
		c[TRANSACTION_snapshot] = cell_bool(t->flags & HISTORY_TXN_SNAPSHOT);
		c[TRANSACTION_reads] = cell_uint(counts[HISTORY_READ]);
		c[TRANSACTION_writes] = cell_uint(counts[HISTORY_WRITE]);
		c[TRANSACTION_predicates] = cell_uint(counts[HISTORY_PREDICATE]);
		c[TRANSACTION_gtid] = cell_string(h, t->gtid);
		if (!table_out_row(out, c))
			return false;
	}
	return true;
}

/* ---- versions ---- */

/* Encoded values, one or an array of them: "5, 'nails'". */
static void add_values(struct buf *out, struct span encoded)
{
	struct mp mp = mp_over(encoded);
	struct value value;
	uint32_t count = 1;

	if (mp_peek(&mp) == MP_ARRAY)
		count = mp_array(&mp);
	for (uint32_t i = 0; i < count && value_read(&mp, &value); i++) {
		buf_add_str(out, i ? ", " : "");
		value_print(out, &value, 0);
	}
}

static void add_table(struct buf *out, const struct history *h, uint32_t object)
{
	const struct history_table *t = &h->tables[h->objects[object].table];

	if (t->database) {
		buf_add_span(out, strtab_get(&h->strings, t->database));
		buf_add_char(out, '.');
	}
	buf_add_span(out, strtab_get(&h->strings, t->name));
}

static const char *version_kind(const struct history_version *v)
{
	if (v->flags & HISTORY_VERSION_UNBORN)
		return "unborn";
	if (v->flags & HISTORY_VERSION_DEAD)
		return "dead";
	if (v->flags & HISTORY_VERSION_INITIAL)
		return "initial";
	return v->flags & HISTORY_VERSION_UNWRITTEN ? "unwritten" : "written";
}

/* Texts of a row, made anew for each. */
struct row_texts {
	struct buf table, key, values;
	struct arena arena;
};

static void texts_clear(struct row_texts *texts)
{
	buf_clear(&texts->table);
	buf_clear(&texts->key);
	buf_clear(&texts->values);
	arena_clear(&texts->arena);
}

static void texts_release(struct row_texts *texts)
{
	buf_release(&texts->table);
	buf_release(&texts->key);
	buf_release(&texts->values);
	arena_release(&texts->arena);
}

static bool add_version(struct table_out *out, const struct history *h, uint32_t version, struct row_texts *texts)
{
	const struct history_version *v = &h->versions[version];
	const struct history_stmt *stmt = v->stmt == HISTORY_NONE ? NULL : &h->stmts[v->stmt];
	struct cell c[VERSION_COLUMN_COUNT];

	texts_clear(texts);
	add_table(&texts->table, h, v->object);
	add_values(&texts->key, history_bytes(h, h->objects[v->object].key));
	if (v->image)
		add_values(&texts->values, history_bytes(h, v->image));
	c[VERSION_table] = cell_filled(&texts->table);
	c[VERSION_key] = cell_filled(&texts->key);
	c[VERSION_position] = v->position == HISTORY_NONE ? cell_null() : cell_uint(v->position);
	c[VERSION_version] = cell_text(say_version_exact(&texts->arena, h, version));
	c[VERSION_kind] = cell_word(version_kind(v));
	c[VERSION_transaction] = v->txn == HISTORY_NONE ? cell_null() : cell_uint(h->txns[v->txn].number);
	c[VERSION_session] = stmt ? cell_uint(h->sessions[stmt->session].number) : cell_null();
	c[VERSION_number] = stmt ? cell_uint(stmt->number) : cell_null();
	c[VERSION_previous] =
		v->previous == HISTORY_NONE ? cell_null() : cell_text(say_version_exact(&texts->arena, h, v->previous));
	c[VERSION_intermediate] = cell_bool(v->flags & HISTORY_VERSION_INTERMEDIATE);
	c[VERSION_undone] = cell_bool(v->flags & HISTORY_VERSION_UNDONE);
	c[VERSION_final] = cell_bool(v->flags & HISTORY_VERSION_FINAL);
	c[VERSION_row] = cell_filled(&texts->values);
	return table_out_row(out, c);
}

bool table_add_versions(struct table_out *out, const struct history *h)
{
	struct row_texts texts = {BUF_INIT, BUF_INIT, BUF_INIT, ARENA_INIT};
	bool ok = true;

	for (uint32_t i = 0; i < h->order_count && ok; i++)
		ok = add_version(out, h, h->order[i], &texts);
	texts_release(&texts);
	return ok;
}

/* ---- edges ---- */

struct edge_source {
	const struct history *history;
	const struct dependencies *dependencies;
	struct row_texts texts;
};

/* The row that the dependency is about; HISTORY_NONE: none. */
static uint32_t object_of(const struct edge_source *s, uint32_t edge)
{
	const struct graph *graph = &s->dependencies->graph;
	uint32_t detail = graph->detail[edge];

	if (!(GRAPH_MASK_DATA >> graph->kind[edge] & 1))
		return HISTORY_NONE;
	if (graph->kind[edge] == GRAPH_PREDICATE_WR || graph->kind[edge] == GRAPH_PREDICATE_RW)
		detail = s->dependencies->predicate_edges[detail].changed;
	return s->history->versions[detail].object;
}

static bool add_edge(struct table_out *out, struct edge_source *s, uint32_t from, uint32_t edge)
{
	const struct dependencies *d = s->dependencies;
	const struct history *h = s->history;
	struct cycle_step step = {.from = from, .to = d->graph.to[edge], .kind = d->graph.kind[edge], .detail = d->graph.detail[edge]};
	uint32_t object = object_of(s, edge);
	struct cell c[EDGE_COLUMN_COUNT];
	struct finding_edge words;

	texts_clear(&s->texts);
	say_edge(&words, &s->texts.arena, h, d, &step);
	if (object != HISTORY_NONE) {
		add_table(&s->texts.table, h, object);
		add_values(&s->texts.key, history_bytes(h, h->objects[object].key));
	}
	if (step.kind == GRAPH_PREDICATE_WR || step.kind == GRAPH_PREDICATE_RW)
		buf_add_span(&s->texts.values, say_predicate(&s->texts.arena, h, &h->predicates[d->predicate_edges[step.detail].predicate]));
	c[EDGE_from] = cell_uint(h->txns[d->txn_of[from]].number);
	c[EDGE_to] = cell_uint(h->txns[d->txn_of[step.to]].number);
	c[EDGE_kind] = cell_word(graph_kind_name(step.kind));
	c[EDGE_table] = cell_filled(&s->texts.table);
	c[EDGE_key] = cell_filled(&s->texts.key);
	c[EDGE_from_version] = cell_text(words.from_version);
	c[EDGE_to_version] = cell_text(words.to_version);
	c[EDGE_condition] = cell_filled(&s->texts.values);
	c[EDGE_explanation] = cell_text(words.sentence);
	return table_out_row(out, c);
}

bool table_add_edges(struct table_out *out, const struct history *h)
{
	struct dependencies dependencies;
	struct edge_source s = {h, &dependencies, {BUF_INIT, BUF_INIT, BUF_INIT, ARENA_INIT}};
	bool ok = true;

	dependencies_build(&dependencies, h, &(struct dependencies_options){.session = true});
	for (uint32_t node = 0; node < dependencies.graph.txn_count; node++)
		for (uint32_t e = dependencies.graph.head[node]; e < dependencies.graph.head[node + 1] && ok; e++)
			ok = add_edge(out, &s, node, e);
	dependencies_release(&dependencies);
	texts_release(&s.texts);
	return ok;
}

/* ---- findings ---- */

static bool add_finding(struct table_out *out, const struct finding *f)
{
	struct buf known = BUF_INIT, transactions = BUF_INIT;
	struct cell c[FINDING_COLUMN_COUNT];
	bool ok;

	for (uint32_t i = 0; i < f->known_count; i++)
		buf_printf(&known, "%s%s", i ? " " : "", f->known[i].id);
	for (uint32_t i = 0; i < f->transaction_count; i++) {
		buf_add_str(&transactions, i ? " " : "");
		buf_add_span(&transactions, f->transactions[i]);
	}
	c[FINDING_id] = cell_word(f->id);
	c[FINDING_class] = cell_word(finding_name(f));
	c[FINDING_oracle] = cell_word(finding_oracle_name(f->oracle));
	c[FINDING_severity] = cell_word(severity_name(f->severity));
	c[FINDING_level] = cell_word(f->level);
	c[FINDING_rule] = cell_word(f->rule);
	c[FINDING_known] = cell_filled(&known);
	c[FINDING_transactions] = cell_filled(&transactions);
	c[FINDING_session] = f->number ? cell_uint(f->session) : cell_null();
	c[FINDING_number] = f->number ? cell_uint(f->number) : cell_null();
	c[FINDING_similar] = cell_uint(f->similar);
	c[FINDING_explanation] = cell_text(f->explanation);
	ok = table_out_row(out, c);
	buf_release(&known);
	buf_release(&transactions);
	return ok;
}

bool table_add_findings(struct table_out *out, const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->finding_count; i++)
		if (!add_finding(out, &verdict->findings[i]))
			return false;
	return true;
}
