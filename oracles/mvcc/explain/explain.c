/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the solver met, in words: the answer, what it can have been, and the versions in question.
 */

#include "mvcc/explain/explain.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "eval/value/collation.h"
#include "mvcc/execute/transaction_control.h"
#include "mvcc/explain/findings.h"
#include "mvcc/explain/traits.h"
#include "mvcc/explain/wrong_sql.h"
#include "mvcc/plan/key_ranges.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"
#include "mvcc/store/purge.h"

enum {
	ROWS_SHOWN = 8,
	ANSWER_ROWS = 50,
	CHAINS_SHOWN = MVCC_ROWS_MAX,
	VERSIONS_SHOWN = MVCC_VERSIONS_MAX,
	VALUE_SHOWN = 40, /* bytes of a string */
	PER_CLASS_DEFAULT = 5
};

/* ---- pieces ---- */

static void add_txn(struct buf *out, const struct mvcc *m, uint32_t txn)
{
	if (txn == 0 || txn == STORE_NONE)
		buf_add_str(out, "no transaction");
	else
		buf_printf(out, "T%llu", (unsigned long long)m->schedule->txns[txn - 1].number);
}

static void add_stmt(struct buf *out, const struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	const struct execution_session *session = &m->schedule->execution->sessions[s->in->session];

	buf_printf(out, "statement %u of session %u", s->in->record.number, session->number);
	if (session->name.ptr)
		buf_printf(out, " (\"%.*s\")", SPAN_ARG(session->name)); /* may look like a transaction */
}

static void add_text(struct buf *out, const struct mvcc *m, uint32_t stmt)
{
	struct span text = m->schedule->stmts[stmt].text;

	/* printf would stop at it. */
	if (text.ptr && memchr(text.ptr, '\0', text.len)) {
		buf_add_char(out, '`');
		text_add(out, text, 200, TEXT_PLAIN);
		buf_add_char(out, '`');
		return;
	}
	buf_printf(out, "`%.*s%s`", (int)(text.len > 200 ? 200 : text.len), text.ptr,
		text.len > 200 ? "..." : "");
}

static void add_string(struct buf *out, const struct eval_value *value)
{
	bool binary = value->collation == COLLATION_BINARY;

	value_print(out,
		&(struct value){.type = binary ? VALUE_BYTES : VALUE_TEXT, .bytes = value->s},
		VALUE_SHOWN);
}

static void add_value(struct buf *out, const struct eval_type *type, const struct eval_value *value)
{
	struct buf bits = BUF_INIT;

	if (value->kind == EVAL_STRING) {
		add_string(out, value);
	} else if (type->kind == EVAL_T_BIT && value->kind != EVAL_NULL) {
		eval_print(type, value, &bits);
		value_print(out, &(struct value){.type = VALUE_BIT, .bytes = buf_span(&bits)}, VALUE_SHOWN);
		buf_release(&bits);
	} else {
		eval_print(type, value, out);
	}
}

static void add_row(struct buf *out, const struct eval_type *types, size_t stride, uint32_t width,
	const struct eval_value *row)
{
	buf_add_char(out, '(');
	for (uint32_t c = 0; c < width; c++) {
		const struct eval_type *type =
			(const struct eval_type *)((const char *)types + c * stride);

		if (c)
			buf_add_char(out, ',');
		add_value(out, type, &row[c]);
	}
	buf_add_char(out, ')');
}

static void add_rows(struct buf *out, const struct eval_type *types, uint32_t width,
	const struct eval_value *const *rows, size_t count)
{
	if (!count)
		buf_add_str(out, "no row");
	for (size_t i = 0; i < count && i < ROWS_SHOWN; i++) {
		if (i)
			buf_add_char(out, ' ');
		add_row(out, types, sizeof(*types), width, rows[i]);
	}
	if (count > ROWS_SHOWN)
		buf_printf(out, " and %zu more", count - ROWS_SHOWN);
}

static void add_recorded_row(struct buf *out, struct span row)
{
	struct value values[32];
	size_t width = execution_row(row, values, ARRAY_LEN(values));

	buf_add_char(out, '(');
	if (width == SIZE_MAX) {
		buf_add_str(out, "unreadable");
		width = 0;
	}
	for (size_t c = 0; c < width && c < ARRAY_LEN(values); c++) {
		if (c)
			buf_add_char(out, ',');
		value_print(out, &values[c], VALUE_SHOWN);
	}
	buf_add_char(out, ')');
}

static void add_recorded_rows(struct buf *out, const struct execution_rows *recorded)
{
	size_t count = recorded ? recorded->count : 0;

	if (!count)
		buf_add_str(out, "no row");
	for (size_t r = 0; r < count && r < ROWS_SHOWN; r++) {
		if (r)
			buf_add_char(out, ' ');
		add_recorded_row(out, recorded->rows[r]);
	}
	if (count > ROWS_SHOWN)
		buf_printf(out, " and %zu more", count - ROWS_SHOWN);
}

static void add_object(
	struct buf *out, const struct mvcc *m, uint32_t table, const struct store_record *record)
{
	const struct store_table *t = &m->store.tables[table];
	const struct store_version *v = record->newest;

	buf_printf(out, "%.*s(", SPAN_ARG(t->name));
	while (v && !v->image)
		v = v->previous;
	if (t->cluster && v) {
		for (uint32_t i = 0; i < t->cluster->count; i++) {
			uint32_t c = t->cluster->columns[i];

			if (i)
				buf_add_char(out, ',');
			/* Texts without quotes, as they are keys. */
			if (v->image[c].kind == EVAL_STRING &&
				!memchr(v->image[c].s.ptr, '\0', v->image[c].s.len))
				eval_print(&t->def->columns[c].type, &v->image[c], out);
			else
				add_value(out, &t->def->columns[c].type, &v->image[c]);
		}
	} else {
		buf_printf(out, "row %u", record->id + 1);
	}
	buf_add_char(out, ')');
}

/* "(2,2) initial; deleted by T1 (committed after the snapshot)" */
static void add_versions(struct buf *out, const struct mvcc *m, uint32_t table,
	const struct store_record *record, uint32_t reader)
{
	const struct store_table *t = &m->store.tables[table];
	const struct store_version *versions[VERSIONS_SHOWN];
	uint32_t count = 0, view = reader == STORE_NONE ? STORE_NONE : m->store.txns[reader].view;

	for (const struct store_version *v = record->newest; v && count < VERSIONS_SHOWN;
		v = v->previous)
		versions[count++] = v;
	for (uint32_t i = count; i-- > 0;) {
		const struct store_version *v = versions[i];
		const struct store_txn *writer = &m->store.txns[v->txn];

		if (v->unknown)
			buf_add_str(out, "unknown");
		else if (v->image)
			add_row(out, &t->def->columns[0].type, sizeof(t->def->columns[0]),
				t->def->column_count, v->image);
		else
			buf_add_str(out, "deleted");
		if (v->txn == 0) {
			buf_add_str(out, " initial");
		} else {
			buf_add_str(out, " by ");
			add_txn(out, m, v->txn);
			if (v->txn == reader)
				buf_add_str(out, " (own)");
			else if (writer->state != STORE_COMMITTED)
				buf_add_str(out, " (not committed)");
			else if (view != STORE_NONE && writer->commit_no > view)
				buf_add_str(out, " (committed after the snapshot)");
			else
				buf_add_str(out, " (committed)");
		}
		if (i)
			buf_add_str(out, "; ");
	}
}

/* The chain in words, and as a row of the witness. */
static void add_chain(struct buf *out, struct mvcc *m, uint32_t table,
	const struct store_record *record, uint32_t reader)
{
	struct buf object = BUF_INIT, versions = BUF_INIT;
	uint32_t shown = 0;

	add_object(&object, m, table, record);
	add_versions(&versions, m, table, record, reader);
	buf_printf(out, " Versions of %.*s, oldest first: %.*s.", SPAN_ARG(buf_span(&object)),
		SPAN_ARG(buf_span(&versions)));
	if (m->draft.row_count < CHAINS_SHOWN) {
		m->draft.rows[m->draft.row_count++] =
			(struct finding_row){
				.object = arena_copy(&m->store.arena, buf_span(&object)),
				.chain = arena_copy(&m->store.arena, buf_span(&versions))};
		for (const struct store_version *v = record->newest; v && shown < VERSIONS_SHOWN;
			v = v->previous, shown++) {
			if (v->stmt != STORE_NONE)
				m->draft.writers[m->draft.writer_count++] = v->stmt;
		}
	}
	buf_release(&object);
	buf_release(&versions);
}

/* The chains of rows that the current statement may have looked at and that have a history, the first of them. */
static void add_chains(struct buf *out, struct mvcc *m)
{
	const struct plan *plan = m->now.plan;
	uint32_t shown = 0;

	for (uint32_t t = 0; t < plan->table_count; t++) {
		struct store_record **records;
		size_t count = records_of(m, &m->store.tables[plan->tables[t]], &records);

		for (size_t r = 0; r < count && shown < CHAINS_SHOWN; r++) {
			const struct store_version *v = records[r]->newest;

			if (!v || v->txn == 0)
				continue;
			add_chain(out, m, plan->tables[t], records[r], m->now.txn);
			shown++;
		}
	}
}

/* The chains of rows that are missing in the end, or are there though they were deleted. */
static void add_final_chains(struct buf *out, struct mvcc *m)
{
	const struct mismatch *x = &m->search.mismatch;
	const struct store_table *table = &m->store.tables[x->table];
	bool *unexpected = arena_zero(&m->scratch, x->final->count + 1), any_unexpected = false;
	bool *missing = arena_zero(&m->scratch, x->expected.row_count + 1);

	if (!compare_unexpected_rows(m, &x->expected, x->final, unexpected, missing))
		return;
	for (size_t i = 0; i < x->final->count; i++)
		any_unexpected |= unexpected[i];
	for (uint32_t r = 0; r < table->count && m->draft.row_count < CHAINS_SHOWN; r++) {
		const struct store_version *v = store_current(&m->store, table->records[r], STORE_NONE);
		bool concerned = v && !v->image && v->txn && any_unexpected;

		for (size_t i = 0; store_alive(v) && i < x->expected.row_count && !concerned; i++)
			concerned = missing[i] && x->expected.rows[i] == v->image;
		if (concerned)
			add_chain(out, m, x->table, table->records[r], STORE_NONE);
	}
}

/* ---- notes ---- */

uint32_t notes_listed_max(const struct mvcc *m)
{
	return m->options->per_class_max ? m->options->per_class_max : PER_CLASS_DEFAULT;
}

static void describe(struct buf *out, struct mvcc *m, enum note_kind kind, uint32_t other,
	uint32_t table, const struct store_record *record)
{
	add_txn(out, m, m->now.txn);
	buf_add_str(out, ", ");
	add_stmt(out, m, m->now.stmt);
	buf_add_str(out, ", ");
	add_text(out, m, m->now.stmt);
	switch (kind) {
	case NOTE_CURRENT_WRITE:
		buf_add_str(out, " acted on a version that its snapshot does not have; ");
		add_txn(out, m, other);
		buf_add_str(out, " committed it later.");
		break;
	case NOTE_CURRENT_SOURCE:
		buf_add_str(out, " chose rows by their newest committed versions, not by its snapshot.");
		break;
	case NOTE_OWN_WRITE_SHOWS:
		buf_add_str(out, " shows a row as the transaction itself changed it, together with values that ");
		add_txn(out, m, other);
		buf_add_str(out, " wrote into it after the snapshot.");
		break;
	case NOTE_NOOP_UPDATE:
		buf_add_str(out, " matched a row as ");
		add_txn(out, m, other);
		buf_add_str(out, " had committed it and changed nothing in it: the transaction "
				 "still sees that row as its snapshot has it.");
		if (m->now.engine == ENGINE_INNODB_SI)
			buf_add_str(out, " It should have failed with error 1020.");
		break;
	case NOTE_DELETED_ROW:
		buf_add_str(out, " still shows a row that ");
		add_txn(out, m, other);
		buf_add_str(
			out, " deleted after the snapshot, together with rows that the reading transaction changed itself.");
		break;
	case NOTE_SPLIT:
		buf_add_str(out,
			" tested some rows before and others after the same commit of another transaction, "
			"and so missed one that was there all along.");
		break;
	case NOTE_SPLIT_GAP:
		buf_add_str(out,
			" tested some rows before and others after the same commit of another transaction, "
			"and so missed one that was inserted or moved in the meantime.");
		break;
	case NOTE_NEEDLESS_BLOCK:
		buf_add_str(out, " waited, although no transaction can have held a lock that it needed.");
		break;
	case NOTE_NEEDLESS_DEADLOCK:
		buf_printf(out, " got error %u, although no transaction can have held a lock that it needed.",
			m->schedule->stmts[m->now.stmt].in->record.error);
		break;
	case NOTE_DIRTY_READ:
		buf_add_str(out, " read rows that ");
		add_txn(out, m, other);
		buf_add_str(out, " had not committed.");
		break;
	case NOTE_NO_AUTOCOMMIT:
		buf_add_str(out, " was sent outside of a transaction with autocommit on, and the "
				 "server did not commit it: it opened a transaction.");
		break;
	case NOTE_MISMATCH:
	case NOTE_COUNT:
		break;
	}
	if (record)
		add_chain(out, m, table, record, m->now.txn);
}

/* Of the two levels that a statement after a dead transaction may have, what was noted holds at the one that was tried. */
static uint8_t level_tried(const struct mvcc *m)
{
	if (m->now.txn == STORE_NONE)
		return LEVEL_READ_COMMITTED; /* final rows, which are of no level */
	return m->store.txns[m->now.txn].level_unknown && m->now.level != LEVEL_UNKNOWN
		       ? m->now.level
		       : m->schedule->txns[m->now.txn - 1].level;
}

static struct note *add(struct mvcc *m, enum note_kind kind, enum finding_class class)
{
	struct note *note;

	MEM_RESERVE(m->notes, m->note_count + 1, m->note_capacity);
	note = &m->notes[m->note_count++];
	*note = (struct note){.kind = kind,
		.stmt = m->now.stmt,
		.txn = m->now.txn,
		.other_txn = STORE_NONE,
		.level = level_tried(m),
		.class = class};
	m->noted[kind]++;
	return note;
}

static void keep_text(struct mvcc *m, struct note *note, struct buf *text)
{
	note->text = arena_copy(&m->store.arena, buf_span(text));
	note->rows = arena_alloc(&m->store.arena, (m->draft.row_count + 1) * sizeof(*note->rows));
	note->row_count = m->draft.row_count;
	for (uint32_t i = 0; i < m->draft.row_count; i++)
		note->rows[i] = m->draft.rows[i];
	note->writers =
		arena_alloc(&m->store.arena, (m->draft.writer_count + 1) * sizeof(*note->writers));
	note->writer_count = m->draft.writer_count;
	for (uint32_t i = 0; i < m->draft.writer_count; i++)
		note->writers[i] = m->draft.writers[i];
	m->draft.row_count = m->draft.writer_count = 0;
	buf_release(text);
}

void note_add(struct mvcc *m, enum note_kind kind, uint32_t other, uint32_t table,
	struct store_record *record)
{
	struct store_txn *t = &m->store.txns[m->now.txn];
	struct buf text = BUF_INIT;
	struct note *note;

	/* What an answer that may be right in another order would mean is not known. */
	if (t->noted & 1u << kind || (m->search.uncertain && m->search.accepted_count))
		return;
	TRAIL_SET(&m->store.trail, TXN, t, noted, t->noted | 1u << kind);
	note = add(m, kind, note_class(kind));
	note->other_txn = other;
	note->traits = note_traits(m, kind, table, record);
	if (m->noted[kind] > notes_listed_max(m))
		return;
	describe(&text, m, kind, other, table, record);
	keep_text(m, note, &text);
}

void notes_drop(struct mvcc *m, size_t count)
{
	while (m->note_count > count)
		m->noted[m->notes[--m->note_count].kind]--;
}

/* ---- contradictions ---- */

/* Would the answer be right if the statement had read in another way? */
static bool fits_forced(struct mvcc *m, enum forced_read force)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->search.mismatch.stmt];
	struct eval_outcome outcome = {0};
	struct eval_result result;
	bool undecided, fits;

	if (!m->now.plan->query)
		return false;
	m->now.forced_read = force;
	m->gathered.count = 0;
	fits = eval_query_run(
		       m->now.plan->query, &m->scratch, &m->now.env, &m->source, &result, &outcome) &&
	       compare_result(m, &result, schedule_result(m->schedule, stmt), &undecided);
	m->now.forced_read = FORCE_NONE;
	return fits;
}

/* Was a statement under way that ends the transaction? */
static bool may_be_ending(const struct mvcc *m, uint32_t ending)
{
	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		uint32_t stmt = m->search.in_flight[i], txn = m->schedule->stmts[stmt].txn;

		if (ends_prepared_txn(m, stmt) || (txn != SCHEDULE_NONE && txn + 1 == ending && ends_txn(m, stmt)))
			return true;
	}
	return false;
}

/* Whose version the answer shows that it should not: the only transaction that is in question.  Another session's transaction is
 * half of the witness. */
static uint32_t writer_seen(const struct mvcc *m, enum finding_class class)
{
	bool dirty = class == CLASS_DIRTY_READ || class == CLASS_G_SINGLE;
	uint32_t view = m->store.txns[m->now.txn].view, found = STORE_NONE;

	if (!dirty && (class != CLASS_UNSTABLE_SNAPSHOT || view == STORE_NONE))
		return STORE_NONE;
	for (uint32_t t = 0; t < m->now.plan->table_count; t++) {
		const struct store_table *table = &m->store.tables[m->now.plan->tables[t]];

		for (uint32_t r = 0; r < table->count; r++) {
			const struct store_version *v =
				dirty ? table->records[r]->newest
				      : store_current(&m->store, table->records[r], m->now.txn);

			if (!v || !v->txn || v->txn == m->now.txn || v->txn == found ||
				(dirty ? !store_is_active(&m->store, v->txn)
				       : m->store.txns[v->txn].commit_no <= view))
				continue;
			if (found != STORE_NONE)
				return STORE_NONE;
			found = v->txn;
		}
	}
	return found;
}

/* The answer fits rows that were not committed.  Where their writer's COMMIT was under way, it may have read them
 * committed, and something else is wrong in that order: a locking read of a row that changed after the read view was
 * made, where snapshot isolation promises error 1020. */
static enum finding_class class_of_dirty(const struct mvcc *m)
{
	uint32_t writer = writer_seen(m, CLASS_DIRTY_READ);

	if (writer == STORE_NONE || !may_be_ending(m, writer))
		return CLASS_DIRTY_READ;
	return read_mode_of(m) == READ_CURRENT && m->now.engine == ENGINE_INNODB_SI &&
			       m->now.level == LEVEL_REPEATABLE_READ && m->store.txns[m->now.txn].view != STORE_NONE
		       ? CLASS_G_SINGLE
		       : CLASS_WRONG_RESULT;
}

static enum finding_class class_of_result(struct mvcc *m)
{
	if (read_mode_of(m) == READ_SNAPSHOT) {
		if (fits_forced(m, FORCE_NOT_OWN))
			return CLASS_OWN_WRITE;
		if (m->now.level == LEVEL_REPEATABLE_READ && fits_forced(m, FORCE_CURRENT))
			return CLASS_UNSTABLE_SNAPSHOT;
		if (fits_forced(m, FORCE_DIRTY))
			return class_of_dirty(m);
	} else if (read_mode_of(m) == READ_CURRENT && !(m->now.plan->lock && m->now.plan->lock->wait == SQL_LOCK_NOWAIT) &&
		   fits_forced(m, FORCE_DIRTY)) {
		/* NOWAIT that met a lock and told no error may have ended there: MYSQL-nowait-count. */
		return class_of_dirty(m);
	}
	if (m->now.plan->single && compare_has_duplicates(m, &m->search.mismatch.expected,
					   schedule_result(m->schedule, &m->schedule->stmts[m->search.mismatch.stmt])))
		return CLASS_DUPLICATE_ROW;
	return wrong_on_any_rows(m) ? CLASS_WRONG_SQL : CLASS_WRONG_RESULT;
}

static enum finding_class class_of(struct mvcc *m)
{
	switch (m->search.mismatch.kind) {
	case MISMATCH_RESULT:
		return class_of_result(m);
	case MISMATCH_AFFECTED:
		return CLASS_WRONG_RESULT;
	case MISMATCH_ERROR:
		return CLASS_WRONG_ERROR;
	case MISMATCH_LOCK:
		return CLASS_MISSING_LOCK;
	case MISMATCH_CONFLICT:
		return CLASS_G_SINGLE;
	case MISMATCH_FINAL:
		return CLASS_LOST_VERSION;
	case MISMATCH_NONE:
		break;
	}
	return CLASS_WRONG_RESULT;
}

/* The rows of both sides, each with whether the other has it. */
static void set_answer_rows(
	struct mvcc *m, struct finding_answer *answer, const struct execution_rows *recorded)
{
	const struct eval_result *expected = &m->search.mismatch.expected;
	struct arena *arena = &m->verdict->arena;
	size_t got_count = recorded ? recorded->count : 0, shown;
	bool *unexpected = arena_zero(&m->scratch, got_count + 1);
	bool *missing = arena_zero(&m->scratch, expected->row_count + 1);
	struct buf text = BUF_INIT;

	if (!compare_unexpected_rows(m, expected, recorded, unexpected, missing)) {
		memset(unexpected, 0, got_count);
		memset(missing, 0, expected->row_count);
	}
	shown = got_count < ANSWER_ROWS ? got_count : ANSWER_ROWS;
	answer->got = arena_zero(arena, (shown + 1) * sizeof(*answer->got));
	answer->got_total = recorded ? recorded->total : 0;
	for (; answer->got_count < shown; answer->got_count++) {
		buf_clear(&text);
		add_recorded_row(&text, recorded->rows[answer->got_count]);
		answer->got[answer->got_count] = (struct answer_row){
			arena_copy(arena, buf_span(&text)), unexpected[answer->got_count]};
	}
	shown = expected->row_count < ANSWER_ROWS ? expected->row_count : ANSWER_ROWS;
	answer->expected = arena_zero(arena, (shown + 1) * sizeof(*answer->expected));
	answer->expected_total = expected->row_count;
	for (; answer->expected_count < shown; answer->expected_count++) {
		buf_clear(&text);
		add_row(&text, expected->types, sizeof(*expected->types), expected->column_count,
			expected->rows[answer->expected_count]);
		answer->expected[answer->expected_count] = (struct answer_row){
			arena_copy(arena, buf_span(&text)), missing[answer->expected_count]};
	}
	buf_release(&text);
}

/* An answer that is no rows: one line a side. */
static void set_answer_words(struct mvcc *m, struct finding_answer *answer, char *got, char *wanted)
{
	struct answer_row *rows = arena_zero(&m->verdict->arena, 2 * sizeof(*rows));

	rows[0] = (struct answer_row){span_str(got), true};
	rows[1] = (struct answer_row){span_str(wanted), true};
	answer->got = &rows[0];
	answer->expected = &rows[1];
	answer->got_count = answer->expected_count = 1;
	answer->got_total = answer->expected_total = 1;
}

/* What the mismatch is of, side by side; NULL where it is of no single answer. */
static struct finding_answer *answer_of(struct mvcc *m)
{
	const struct mismatch *x = &m->search.mismatch;
	const struct schedule_stmt *stmt =
		x->stmt == STORE_NONE ? NULL : &m->schedule->stmts[x->stmt];
	struct arena *arena = &m->verdict->arena;
	struct finding_answer *answer = arena_zero(arena, sizeof(*answer));

	if (stmt) {
		answer->session = m->schedule->execution->sessions[stmt->in->session].number;
		answer->number = stmt->in->record.number;
	}
	switch (x->kind) {
	case MISMATCH_RESULT:
		set_answer_rows(m, answer, schedule_result(m->schedule, stmt));
		return answer;
	case MISMATCH_FINAL:
		answer->table = arena_copy(
			arena, m->store.tables[x->table].name);
		set_answer_rows(m, answer, x->final);
		return answer;
	case MISMATCH_AFFECTED:
		set_answer_words(m, answer,
			arena_printf(arena, "ok %llu",
				(unsigned long long)stmt->in->record.affected),
			arena_printf(
				arena, "ok %llu", (unsigned long long)x->expected_affected));
		return answer;
	case MISMATCH_ERROR:
		set_answer_words(m, answer,
			stmt->in->record.error
				? arena_printf(arena, "error %u", stmt->in->record.error)
				: arena_printf(arena, "ok"),
			x->expected_error ? arena_printf(arena, "error %u", x->expected_error)
					  : arena_printf(arena, "ok"));
		return answer;
	case MISMATCH_CONFLICT:
		set_answer_words(
			m, answer, arena_printf(arena, "ok"), arena_printf(arena, "error 1020"));
		return answer;
	case MISMATCH_LOCK:
	case MISMATCH_NONE:
		break;
	}
	return NULL;
}

/* What a SERIALIZABLE transaction has read, beside the change of another. */
static void describe_read(struct buf *out, struct mvcc *m)
{
	const struct mismatch *x = &m->search.mismatch;
	uint32_t read = x->read - 1;

	if (read != x->stmt) {
		buf_add_str(out, " changed rows that ");
		add_txn(out, m, x->other_txn);
		buf_add_str(out, " had read: ");
		add_stmt(out, m, read);
		buf_add_str(out, ", ");
		add_text(out, m, read);
		buf_add_str(out, ",");
	}
	buf_add_str(out, " answered ");
	add_recorded_rows(out, schedule_result(m->schedule, &m->schedule->stmts[read]));
	buf_add_str(out, read != x->stmt ? ", and after this change it would answer " : "; with the rows that ");
	if (read == x->stmt) {
		add_txn(out, m, x->other_txn);
		buf_add_str(out, ", which was open all the time, had changed before, it would be ");
	}
	add_rows(out, x->expected.types, x->expected.column_count, x->expected.rows, x->expected.row_count);
	buf_add_str(out, ". ");
	if (read != x->stmt) {
		add_txn(out, m, x->other_txn);
		buf_add_str(out, " is SERIALIZABLE and was open all the time. Everything that it read was locked, gaps "
				 "too, and the change had to wait for its end.");
	} else {
		buf_add_str(out, "A read at SERIALIZABLE locks the rows that it meets, so it had to wait for that transaction's end.");
	}
}

static void describe_mismatch(struct buf *out, struct mvcc *m)
{
	const struct mismatch *x = &m->search.mismatch;
	const struct schedule_stmt *stmt =
		x->stmt == STORE_NONE ? NULL : &m->schedule->stmts[x->stmt];

	if (stmt) {
		add_txn(out, m, m->now.txn);
		buf_add_str(out, ", ");
		add_stmt(out, m, x->stmt);
		buf_add_str(out, ", ");
		add_text(out, m, x->stmt);
	}
	switch (x->kind) {
	case MISMATCH_RESULT:
		buf_add_str(out, " answered ");
		add_recorded_rows(out, schedule_result(m->schedule, stmt));
		buf_add_str(out, ". It should have answered ");
		add_rows(out, x->expected.types, x->expected.column_count, x->expected.rows,
			x->expected.row_count);
		buf_add_char(out, '.');
		break;
	case MISMATCH_AFFECTED:
		if (m->runs[x->stmt].plan->into) {
			buf_printf(out, " found %llu rows; it should have found %llu.",
				(unsigned long long)stmt->in->record.affected,
				(unsigned long long)x->expected_affected);
			break;
		}
		buf_printf(out, " changed %llu rows; it should have matched %llu and changed %llu.",
			(unsigned long long)stmt->in->record.affected,
			(unsigned long long)x->expected_matched,
			(unsigned long long)x->expected_affected);
		break;
	case MISMATCH_ERROR:
		if (stmt->in->record.error)
			buf_printf(out, " failed with error %u (%.*s)", stmt->in->record.error,
				SPAN_ARG(stmt->in->record.error_text));
		else
			buf_add_str(out, " succeeded");
		if (x->expected_error)
			buf_printf(
				out, "; it should have failed with error %u.", x->expected_error);
		else
			buf_add_str(out, "; it should have succeeded.");
		break;
	case MISMATCH_LOCK:
		if (x->read) {
			describe_read(out, m);
			break;
		}
		buf_add_str(out, " acted on ");
		if (x->record)
			add_object(out, m, x->table, x->record);
		buf_add_str(out, " while ");
		add_txn(out, m, x->other_txn);
		buf_add_str(out, " held a lock on it that does not allow that.");
		break;
	case MISMATCH_CONFLICT: {
		bool deleted = x->record &&
			       !store_alive(store_current(&m->store, x->record, m->now.txn));

		buf_add_str(out, deleted || x->passed ? " passed by " : " acted on ");
		if (x->record)
			add_object(out, m, x->table, x->record);
		buf_add_str(out, ", which ");
		if (x->other_txn == STORE_NONE)
			buf_add_str(out, "another transaction");
		else
			add_txn(out, m, x->other_txn);
		buf_printf(out, " %s after the snapshot; it should have failed with error 1020.",
			deleted ? "deleted" : "changed");
		break;
	}
	case MISMATCH_FINAL:
		buf_printf(out, "The final rows of %.*s are ",
			SPAN_ARG(m->store.tables[x->table].name));
		add_recorded_rows(out, x->final);
		buf_add_str(out, ". They should be ");
		add_rows(out, x->expected.types, x->expected.column_count, x->expected.rows,
			x->expected.row_count);
		buf_add_char(out, '.');
		add_final_chains(out, m);
		break;
	case MISMATCH_NONE:
		break;
	}
	if (x->record)
		add_chain(out, m, x->table, x->record, m->now.txn);
	else if (stmt)
		add_chains(out, m);
}

/* Did the statement surely lock, or change, the row that we think it did, whatever an unrecorded session made of
 * the rows before?  By its primary key, which it has in its text or in its answer. */
static bool names_its_row(const struct mvcc *m, uint32_t stmt)
{
	const struct execution_rows *result;
	const struct schedule_stmt *s;
	const struct plan *plan;
	int64_t key;

	if (stmt == STORE_NONE)
		return false;
	s = &m->schedule->stmts[stmt];
	plan = m->runs[stmt].plan;
	if (!plan || !plan->stmt)
		return false;
	if (plan->stmt->kind == SQL_STMT_INSERT)
		return !plan->reads_by_query && s->in->record.affected == 1;
	if (!(plan->key_set && key_set_single(plan->key_set, &key)) && !plan->names_rows)
		return false;
	if (plan->writes)
		return s->in->record.affected > 0;
	result = schedule_result(m->schedule, s);
	return result && result->total > 0;
}

/* A lock that did not hold, or a conflict that the server did not report: both sides name the row. */
static bool names_both(const struct mvcc *m)
{
	const struct store_record *record = m->search.mismatch.record;

	if (!record)
		return true;
	if (!names_its_row(m, m->search.mismatch.stmt))
		return false;
	for (const struct store_lock *lock = record->locks; lock; lock = lock->next)
		if (lock->txn == m->search.mismatch.other_txn && names_its_row(m, lock->stmt))
			return true;
	for (const struct store_version *v = record->newest; v; v = v->previous)
		if (v->txn == m->search.mismatch.other_txn && names_its_row(m, v->stmt))
			return true;
	return false;
}

/* Other rows than expected are all there is to it, and any session may have changed them; own changes
 * that are gone may be a trigger's work.  Not so a read view that moves, what was not committed
 * (its rows are locked), a row that comes twice, where the answer tells which rows these are: a sum
 * or a count may be right by other rows, and two rows may look the same.  Nor a lock that did not
 * hold on a row that both name. */
static bool data_alone(const struct mvcc *m, enum finding_class class)
{
	if (m->search.mismatch.kind == MISMATCH_RESULT && !m->now.plan->names_rows)
		return true;
	if (m->search.mismatch.kind == MISMATCH_LOCK && m->search.mismatch.read)
		return true;
	if ((m->search.mismatch.kind == MISMATCH_LOCK || m->search.mismatch.kind == MISMATCH_CONFLICT) &&
		!names_both(m))
		return true;
	return class == CLASS_WRONG_RESULT || class == CLASS_WRONG_ERROR ||
	       class == CLASS_LOST_VERSION || class == CLASS_OWN_WRITE;
}

/* Was the end of the lock's holder under way?  In another order nothing was held; that one failed
 * elsewhere, where an unrecorded session may be the reason. */
static bool perhaps_released(const struct mvcc *m)
{
	return m->search.mismatch.kind == MISMATCH_LOCK && may_be_ending(m, m->search.mismatch.other_txn);
}

void note_mismatch(struct mvcc *m)
{
	enum finding_class class;
	struct buf text = BUF_INIT;
	struct note *note;

	if (m->search.uncertain)
		return;
	store_restore(&m->store); /* the answer may show a row that was put aside */
	class = class_of(m);
	if (m->some_not_recorded && (data_alone(m, class) || perhaps_released(m)))
		return;
	note = add(m, NOTE_MISMATCH, class);
	note->other_txn = m->search.mismatch.other_txn;
	if (m->search.mismatch.kind == MISMATCH_RESULT && note->other_txn == STORE_NONE)
		note->other_txn = writer_seen(m, class);
	if (m->search.mismatch.stmt == STORE_NONE)
		note->txn = note->stmt = STORE_NONE;
	else
		note->traits = note_traits(m, NOTE_MISMATCH, STORE_NONE, m->search.mismatch.record);
	note->answer = answer_of(m);
	describe_mismatch(&text, m);
	if (m->search.mismatch.kind == MISMATCH_RESULT && class == CLASS_G_SINGLE) {
		buf_add_char(&text, ' ');
		add_txn(&text, m, note->other_txn);
		buf_add_str(&text, " was committing: after its commit the row had changed since the snapshot, and error 1020 was due.");
	}
	note->by_unrecorded_writer = m->unrecorded_writers && (data_alone(m, class) || perhaps_released(m));
	if (note->by_unrecorded_writer)
		buf_add_str(&text, " Was every session recorded that writes these tables? A session that "
				   "was not, an event or a trigger would explain it.");
	keep_text(m, note, &text);
}

void note_concurrent(
	struct mvcc *m, uint32_t stmt, uint32_t other_txn, uint32_t table, int64_t key)
{
	struct buf text = BUF_INIT;
	struct note *note;

	m->now.stmt = stmt;
	m->now.txn = m->schedule->stmts[stmt].txn + 1;
	note = add(m, NOTE_MISMATCH, CLASS_G_SINGLE);
	note->other_txn = other_txn;
	add_txn(&text, m, m->now.txn);
	buf_add_str(&text, ", ");
	add_stmt(&text, m, stmt);
	buf_add_str(&text, ", ");
	add_text(&text, m, stmt);
	buf_printf(&text, " changed %.*s(%lld), which ",
		SPAN_ARG(m->store.tables[table].name), (long long)key);
	add_txn(&text, m, other_txn);
	buf_add_str(&text, " changed, too. Both had their snapshots before either sent COMMIT, so the "
			   "later one should have failed with error 1020; both committed, and the "
			   "earlier change may be lost.");
	m->draft.row_count = m->draft.writer_count = 0;
	keep_text(m, note, &text);
}
