/* SPDX-License-Identifier: GPL-2.0-or-later */
/* INSERT and REPLACE. */
#include <stdlib.h>

#include "base/buf.h"
#include "mvcc/execute/foreign_keys.h"
#include "mvcc/execute/returning.h"
#include "mvcc/execute/row_orders.h"
#include "mvcc/execute/stored_program_exec.h"
#include "mvcc/execute/write.h"
#include "mvcc/plan/last_insert_id.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"
#include "server/errors.h"

bool check_row(struct mvcc *m, const struct eval_table *def, const struct eval_value *row,
	struct eval_outcome *outcome)
{
	const struct sql_stmt *stmt = m->now.plan->stmt;
	bool ignore = (stmt->kind == SQL_STMT_INSERT && stmt->u.insert->flags & SQL_DML_IGNORE) ||
		      m->now.plan->skips;

	if (m->now.plan->view_check) {
		enum eval_truth truth;

		if (!eval_expr_test(m->now.plan->view_check, &m->scratch, &m->now.env, NULL, row, &truth, outcome))
			return false;
		if (truth != EVAL_TRUE) {
			*outcome = (struct eval_outcome){.status = EVAL_ERROR, .error = ER_VIEW_CHECK_FAILED};
			return false;
		}
	}
	if (eval_check(&m->scratch, &m->now.env, def, row, outcome))
		return true;
	/* What we cannot evaluate (MariaDB's JSON_VALID) the server did: where it neither failed nor
	 * left rows out, all were allowed. */
	if (outcome->status != EVAL_UNSUPPORTED || ignore ||
		m->schedule->stmts[m->now.stmt].in->record.error)
		return false;
	*outcome = (struct eval_outcome){0};
	return true;
}

/* Is the number the only unique key? */
static bool numbered_key_alone(struct mvcc *m, const struct plan *plan)
{
	const struct store_table *table = solver_store_table(m, eval_insert_table(plan->insert));

	return table->unique_count == 1 && table->uniques[0]->count == 1 &&
	       table->uniques[0]->columns[0] != UINT32_MAX &&
	       table->def->columns[table->uniques[0]->columns[0]].auto_increment;
}

/* Was every row of the statement inserted that the server numbered?  A row that is replaced or updated counts twice, one that
 * is left out not at all; where a row may be updated, two of them may count like two inserted. */
static bool all_came(struct mvcc *m, const struct plan *plan, size_t row_count)
{
	const struct sql_insert *insert = plan->stmt->u.insert;

	/* A new number collides with no row. */
	if (!insert->query && !(insert->flags & SQL_DML_IGNORE) && numbered_key_alone(m, plan))
		return true;
	if (insert->query || insert->on_duplicate)
		return false;
	return (plan->stmt->kind != SQL_STMT_REPLACE && !(insert->flags & SQL_DML_IGNORE)) ||
	       m->schedule->stmts[m->now.stmt].in->record.affected == row_count;
}

/* Did another session do something while the statement was under way? */
static bool is_alone(const struct mvcc *m)
{
	uint32_t next = m->runs[m->now.stmt].begin_event + 1;

	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		if (m->search.in_flight[i] != m->now.stmt)
			return false;
	}
	return next < m->schedule->event_count && m->schedule->events[next].kind == EVENT_ANSWERED &&
	       m->schedule->events[next].index == m->now.stmt;
}

/* Does the server number all rows of a query, one after the other?  With innodb_autoinc_lock_mode 0 and 1 no other statement
 * takes numbers meanwhile, with 2 others may (MySQL manual, "AUTO_INCREMENT Handling in InnoDB"). */
static bool numbers_in_turn(
	const struct mvcc *m, const struct plan *plan, const struct eval_table *def, const struct eval_rows *rows)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	struct span mode = execution_variable(m->schedule->execution, "innodb_autoinc_lock_mode");
	uint32_t column = 0;

	while (column < def->column_count && !def->columns[column].auto_increment)
		column++;
	if (column == def->column_count || !insert->query || insert->on_duplicate || insert->returning ||
		insert->flags & SQL_DML_IGNORE || plan->stmt->kind == SQL_STMT_REPLACE || plan->firing ||
		m->now.body_depth || m->schedule->stmts[m->now.stmt].in->record.error)
		return false;
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->row[i][column].kind != EVAL_NULL)
			return false;
	}
	return span_eq_str(mode, "0") || span_eq_str(mode, "1") || is_alone(m);
}

/* Did the row get its number otherwise than by being inserted? */
static bool was_renumbered(const struct mvcc *m, const struct store_version *v, uint32_t column)
{
	const struct plan *by = v->stmt == STORE_NONE ? NULL : m->runs[v->stmt].plan;

	if (!by || !by->stmt || !v->image ||
		(v->previous && v->previous->image && v->previous->image[column].u == v->image[column].u))
		return false;
	return by->stmt->kind != SQL_STMT_REPLACE &&
	       (by->stmt->kind != SQL_STMT_INSERT || by->stmt->u.insert->on_duplicate);
}

/* Can the next number be that of a row which is there?  The counter is read before the statement waits, so a number that
 * another gives meanwhile may be the same; and UPDATE does not move it (MySQL manual, "AUTO_INCREMENT Handling in
 * InnoDB"). */
static bool counter_may_lag(struct mvcc *m, const struct plan *plan)
{
	const struct store_table *table = solver_store_table(m, eval_insert_table(plan->insert));
	uint32_t column = 0;

	if (!is_alone(m) || table->has_unknown_rows)
		return true;
	while (!table->def->columns[column].auto_increment)
		column++;
	for (uint32_t i = 0; i < table->count; i++) {
		for (const struct store_version *v = table->records[i]->newest; v; v = v->previous) {
			if (was_renumbered(m, v, column))
				return true;
		}
	}
	return false;
}

/* What the server said is the number of the first row that it numbered and inserted.  A number that was given to a
 * row which is left out or becomes an update is taken back (handler::restore_auto_increment; seen on all
 * releases), so that the rows that come have numbers one after the other.  Where none of them came, the number in
 * the answer is another row's, which may be one that they met by it.  The rows of a query are numbered in an order that is not known; those after
 * a value that was given may have to go on from what others have taken meanwhile. */
static bool first_autoinc(struct mvcc *m, const struct plan *plan, size_t row_count, uint64_t step,
	uint64_t *next, struct write_answer *a)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	const struct execution_rows *result = schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]);
	uint64_t told = m->schedule->stmts[m->now.stmt].in->record.insert_id;
	bool hidden = insert->returning && !(result && result->complete && !result->count);
	unsigned ways[4], count = 0;

	/* Which row of the answer it is can be said where all come, or there is one. */
	if (!told && (row_count == 1 || !(insert->flags & SQL_DML_IGNORE)))
		told = returning_auto_increment(m, plan, a->tried);
	if (told && (row_count == 1 || (step && (a->in_turn || all_came(m, plan, row_count))))) {
		*next = told;
		return true;
	}
	if (!step || (insert->query && row_count > 1) || (hidden && !told) ||
		!(insert->on_duplicate || insert->flags & SQL_DML_IGNORE ||
			plan->stmt->kind == SQL_STMT_REPLACE))
		return false;
	if (told)
		ways[count++] = NUMBERS_CAME;
	ways[count++] = NUMBERS_NONE;
	/* ON DUPLICATE KEY UPDATE that changes the row says which it is. */
	if ((insert->flags & SQL_DML_IGNORE || !m->schedule->stmts[m->now.stmt].in->record.affected) &&
		counter_may_lag(m, plan))
		ways[count++] = NUMBERS_TAKEN;
	if (!numbers_every_row(m, plan))
		ways[count++] = NUMBERS_UNKNOWN;
	a->numbers = ways[choose(m, count)];
	*next = a->numbers == NUMBERS_CAME ? told : INT32_MAX / 2;
	return a->numbers != NUMBERS_UNKNOWN;
}

/* A value that was given moves the numbers that come after it (handler::update_auto_increment).  Where
 * its row may meet another, it may be taken back. */
static void pass_given(
	struct mvcc *m, const struct plan *plan, const struct eval_value *given, uint64_t *next)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	uint64_t step = plan->key.auto_increment_step;

	if (!*next || !step || given->u < *next || (given->kind == EVAL_INT && given->i < 0))
		return;
	if ((insert->on_duplicate || insert->flags & SQL_DML_IGNORE ||
		    plan->stmt->kind == SQL_STMT_REPLACE) &&
		choose(m, 2) == 1)
		return;
	*next += ((given->u - *next) / step + 1) * step;
}

/* "Duplicate entry '7' for key 'PRIMARY'", and MySQL from 8.0.19 on "... for key 't.PRIMARY'": the index, and what
 * it says is there.  NULL: not known. */
static const struct eval_index *index_told(
	const struct mvcc *m, const struct eval_table *def, struct span *value)
{
	static const char begin[] = "Duplicate entry '", middle[] = "' for key '";
	struct span text = m->schedule->stmts[m->now.stmt].in->record.error_text, name;
	const char *at;

	if (text.len < sizeof(begin) || memcmp(text.ptr, begin, sizeof(begin) - 1) != 0)
		return NULL;
	at = memmem(text.ptr, text.len, middle, sizeof(middle) - 1);
	if (!at || text.ptr[text.len - 1] != '\'')
		return NULL;
	*value = span_of(text.ptr + sizeof(begin) - 1, (size_t)(at - text.ptr) - (sizeof(begin) - 1));
	name = span_of(at + sizeof(middle) - 1,
		text.len - 1 - (size_t)(at + sizeof(middle) - 1 - text.ptr));
	for (uint32_t i = 0; i < def->index_count; i++) {
		const struct eval_index *index = &def->indexes[i];
		struct span known = index->primary ? SPAN_LIT("PRIMARY") : index->name;

		if (known.len && (span_ieq(known, name) ||
					 (name.len > known.len && name.ptr[name.len - known.len - 1] == '.' &&
						 span_ieq(known, span_of(name.ptr + name.len - known.len,
									 known.len)))))
			return index;
	}
	return NULL;
}

static bool was_there(const struct store_table *table, const struct eval_rows *given,
	uint32_t column, uint64_t number)
{
	/* A value that was given may be the number of a row before it. */
	for (size_t i = 0; i < given->count; i++) {
		if (given->row[i][column].kind != EVAL_NULL && given->row[i][column].u == number)
			return true;
	}
	for (uint32_t i = 0; i < table->count; i++) {
		for (const struct store_version *v = table->records[i]->newest; v; v = v->previous) {
			if (v->unknown || (v->image && v->image[column].u == number))
				return true;
		}
	}
	return false;
}

static bool some_number_given(const struct eval_rows *given, uint32_t column)
{
	for (size_t i = 0; i < given->count; i++) {
		if (given->row[i][column].kind != EVAL_NULL)
			return true;
	}
	return false;
}

/* Can error 1062 be because of the number that the server gave to a row?  UPDATE does not move the counter, so
 * that it may come to a number that is taken.  The error's text says which. */
static bool number_taken(struct mvcc *m, const struct plan *plan, const struct eval_rows *given,
	uint32_t column)
{
	struct store_table *table = solver_store_table(m, eval_insert_table(plan->insert));
	struct span value;
	const struct eval_index *index = index_told(m, table->def, &value);
	uint64_t number = 0;
	bool has = false;

	if (!index || table->has_unknown_rows)
		return true;
	/* A row that is met by its number is changed, and fails for another key. */
	if ((plan->stmt->u.insert->on_duplicate || plan->stmt->kind == SQL_STMT_REPLACE) &&
		(some_number_given(given, column) || counter_may_lag(m, plan)))
		return true;
	for (uint32_t i = 0; i < index->count; i++)
		has |= index->columns[i] == column || index->columns[i] == UINT32_MAX;
	if (!has || index->count > 1)
		return has;
	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] < '0' || value.ptr[i] > '9' || value.len > 18)
			return true;
		number = number * 10 + (uint64_t)(value.ptr[i] - '0');
	}
	return was_there(table, given, column, number);
}

/* Is there a row that a row of a plain INSERT meets by a key which has no number in it, so that the numbers
 * are of no consequence? */
static bool meets_by_other_key(
	struct mvcc *m, const struct plan *plan, uint32_t column, const struct write_answer *a)
{
	struct store_table *table = solver_store_table(m, eval_insert_table(plan->insert));
	const struct sql_insert *insert = plan->stmt->u.insert;

	if (plan->stmt->kind == SQL_STMT_REPLACE || insert->on_duplicate ||
		insert->flags & SQL_DML_IGNORE)
		return false;
	for (uint32_t u = 0; u < table->unique_count; u++) {
		const struct eval_index *index = table->uniques[u];
		bool other = !key_is_partial(index);

		for (uint32_t i = 0; other && i < index->count; i++)
			other = index->columns[i] != column && index->columns[i] != UINT32_MAX;
		for (size_t r = 0; other && r < a->given.count; r++) {
			struct duplicate d;

			if (opaque_key(m, table, a->given.row[r]) ||
				store_odd_keys(table, a->given.row[r]))
				return false;
			d = find_duplicate(m, table, index, a->given.row[r], NULL);
			if (d.record && d.waits_for == STORE_NONE)
				return true;
		}
	}
	return false;
}

bool insert_may_count(const struct mvcc *m, const struct plan *plan)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];
	const struct sql_insert *insert = plan->stmt->u.insert;
	bool found = m->schedule->execution->sessions[stmt->in->session].capabilities &
		     CLIENT_FOUND_ROWS;
	const struct execution_rows *result = NULL;
	uint64_t rows = insert->set ? 1 : 0;

	if (insert->query || plan->stmt->kind == SQL_STMT_REPLACE || stmt->in->record.error)
		return true;
	for (const struct sql_values_row *row = insert->rows; row; row = row->next)
		rows++;
	if (insert->returning)
		result = schedule_result(m->schedule, stmt);
	if (insert->returning)
		return !result || !result->complete || result->count == rows ||
		       (insert->flags & SQL_DML_IGNORE && result->count < rows);
	if (insert->on_duplicate)
		return stmt->in->record.affected <= (found ? 3 : 2) * rows;
	return stmt->in->record.affected == rows ||
	       (insert->flags & SQL_DML_IGNORE && stmt->in->record.affected < rows);
}

/* AUTO_INCREMENT: one after the other. */
void fill_autoinc(struct mvcc *m, const struct plan *plan, const struct eval_table *def,
	size_t row_count, struct eval_value *row, uint64_t *next, struct write_answer *a)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];
	uint64_t step;

	for (uint32_t c = 0; c < def->column_count; c++) {
		if (!def->columns[c].auto_increment)
			continue;
		if (row[c].kind == EVAL_INT || row[c].kind == EVAL_UINT)
			pass_given(m, plan, &row[c], next);
		if (row[c].kind != EVAL_NULL)
			continue;
		step = row_count > 1 ? plan->key.auto_increment_step : 1;
		/* The answer tells of the statement itself only. */
		if (m->now.body_depth && !*next)
			*next = m->now.untold;
		if (m->now.body_depth && !*next) {
			answer_unsupported(a, REASON_AUTO_INCREMENT_NOT_RECORDED);
			return;
		}
		if (!*next && !m->now.body_depth && !stmt->in->record.error &&
			!first_autoinc(m, plan, row_count, step, next, a)) {
			if (meets_by_other_key(m, plan, c, a))
				write_error(a, ER_DUP_ENTRY);
			else
				answer_unsupported(a, REASON_AUTO_INCREMENT_NOT_RECORDED);
			return;
		}
		/* A failed statement does not tell: a new value, or one that is taken. */
		if (!*next) {
			*next = INT32_MAX / 2;
			a->order_matters = number_taken(m, plan, &a->given, c);
		}
		a->number = *next;
		row[c] = def->columns[c].type.is_unsigned ? eval_uint(*next)
							  : eval_int((int64_t)*next);
		*next += step ? step : 1;
	}
}

/* When a query of the table itself in ON DUPLICATE KEY UPDATE is asked: the first time that it is needed,
 * for every row, or before the first row is inserted.  What the server does depends on how it optimized
 * it. */
enum asked { ASKED_ONCE, ASKED_ALWAYS, ASKED_BEFORE, ASKED_WAYS };

/* INSERT IGNORE leaves out the rows that a constraint does not allow; before MySQL 5.7 foreign keys are
 * none of those ("Comparison of the IGNORE Keyword and Strict SQL Mode"). */
static void skip_ignored(
	const struct mvcc *m, const struct sql_insert *insert, struct write_answer *a)
{
	if (a->status != EVAL_ERROR || !(insert->flags & SQL_DML_IGNORE) ||
		(a->error == ER_NO_REFERENCED_ROW_2 && m->now.env.flavour == SQL_MYSQL &&
			m->now.env.version < 50700))
		return;
	a->status = EVAL_OK;
	a->error = 0;
	a->error_count = 0;
	a->untouched++;
}

/* MariaDB does not leave out a row that breaks a CHECK where VALUES has no other (seen on 10.5 and 10.11; not on
 * 11.8). */
static void skip_broken(struct mvcc *m, const struct sql_insert *insert, struct write_answer *a)
{
	enum { SKIPS_NONE = 110000, SKIPS = 110800 };

	if (m->now.env.flavour != SQL_MARIADB || m->now.env.version >= SKIPS || insert->query || a->matched > 1 ||
		!(insert->flags & SQL_DML_IGNORE))
		skip_ignored(m, insert, a);
	else if (m->now.env.version >= SKIPS_NONE)
		answer_unsupported(a, REASON_INSERT_IGNORE_CHECK);
}

/* VALUES(c) is the number that the row was given and that came to nothing; the answer tells another one. */
static const struct eval_value *number_not_shown(
	struct mvcc *m, const struct eval_table *def, const struct eval_value *row)
{
	struct eval_value *copy = arena_alloc(&m->scratch, def->column_count * sizeof(*copy));

	memcpy(copy, row, def->column_count * sizeof(*copy));
	for (uint32_t c = 0; c < def->column_count; c++) {
		if (def->columns[c].auto_increment)
			copy[c] = (struct eval_value){.kind = EVAL_OPAQUE, .u = ++m->opaque_count};
	}
	return copy;
}

static void insert_duplicate(struct mvcc *m, const struct plan *plan, struct store_table *table,
	struct store_record *met, const struct eval_value *row, struct write_answer *a)
{
	const struct eval_value *old = store_current(&m->store, met, m->now.txn)->image;
	const struct store_txn *t = &m->store.txns[m->now.txn];
	struct eval_outcome outcome = {0};
	struct store_undo *undo = t->undo;
	uint32_t undo_count = t->undo_count;
	const struct eval_value *new;

	act_on(m, table, met, STORE_LOCK_X, a);
	if (a->conflict) {
		write_error(a, ER_CHECKREAD);
		return;
	}
	if (m->now.asked == ASKED_ALWAYS)
		m->gathered.count = 0;
	if (a->number)
		row = number_not_shown(m, table->def, row);
	if (!eval_insert_duplicate(
		    plan->insert, &m->store.arena, &m->now.env, &m->source, old, row, &new, &outcome)) {
		answer_outcome(m, a, &outcome);
		return;
	}
	if (!row_changes(m, !same_row(table->def, old, new), &outcome, a)) {
		a->untouched++;
		returning_row(m, a, old);
		/* Unless the bytes are the same: DEFAULT 0 looks like a NULL. */
		if (outcome.null_again && choose(m, 2) == 0)
			a->affected++;
		return;
	}
	if (a->status != EVAL_OK)
		return;
	if (!check_row(m, table->def, new, &outcome)) {
		answer_outcome(m, a, &outcome);
		skip_ignored(m, plan->stmt->u.insert, a);
		return;
	}
	write_row(m, table, met, old, new, a);
	if (a->status == EVAL_ERROR) {
		/* With IGNORE the row stays as it was. */
		store_rollback_to(&m->store, m->now.txn, undo, undo_count);
		skip_ignored(m, plan->stmt->u.insert, a);
		return;
	}
	a->affected += 2;
	returning_row(m, a, new);
}

/* InnoDB tests secondary and foreign keys in the order of their indexes, MySQL from 9.6 on foreign
 * keys before: where both fail, either error may come. */
static bool foreign_error_first(struct mvcc *m, struct store_table *table,
	const struct eval_value *row, struct write_answer *a)
{
	struct write_answer probe = {.status = EVAL_OK, .held_by = STORE_NONE};
	uint32_t recorded = m->schedule->stmts[m->now.stmt].in->record.error;

	if (!recorded || recorded == ER_DUP_ENTRY)
		return false;
	foreign_parents(m, table, NULL, row, NULL, &probe);
	if (probe.status == EVAL_UNSUPPORTED) {
		answer_unsupported(a, probe.reason);
		return true;
	}
	if (probe.status != EVAL_ERROR || probe.error != recorded)
		return false;
	write_error(a, probe.error);
	return true;
}

/* MySQL from 9.6 on looks for the parents of a row before it looks for rows in the row's way: one
 * without a parent is refused, or left out by IGNORE, however the row that is there is locked and
 * whatever ON DUPLICATE KEY UPDATE says (seen on 9.7).  With innodb_native_foreign_keys InnoDB still
 * does it, later. */
static bool parents_looked_for_first(struct mvcc *m, struct store_table *table,
	const struct eval_value *row, struct write_answer *a)
{
	struct write_answer probe = {.status = EVAL_OK, .held_by = STORE_NONE};

	if (m->now.env.flavour != SQL_MYSQL || m->now.env.version < 90600)
		return false;
	foreign_parents(m, table, NULL, row, NULL, &probe);
	if (probe.status != EVAL_ERROR || choose(m, 2) == 1)
		return false;
	if (probe.held_by != STORE_NONE)
		held(a, probe.held_by, probe.held_table, probe.held_record);
	write_error(a, probe.error);
	return true;
}

/* REPLACE updates the row where the last key is in the way, else it deletes and inserts; the parent
 * of a foreign key always. */
static bool replaces_in_place(const struct mvcc *m, const struct store_table *table)
{
	uint32_t number = number_of(m, table);

	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		if (m->catalog.foreign_keys[i].alive && m->catalog.foreign_keys[i].parent == number)
			return false;
	}
	return true;
}

/* A row with such a key collides with rows that are not known. */
static bool has_partial_key(const struct store_table *table)
{
	for (uint32_t u = 0; u < table->unique_count; u++) {
		if (key_is_partial(table->uniques[u]))
			return true;
	}
	return false;
}

/* Did REPLACE or ON DUPLICATE KEY UPDATE perhaps not meet this row, because it had found another one by
 * a later key already, and waited for that one's lock while this row came?  It goes on with the one
 * that it has found. */
static bool had_found_another(struct mvcc *m, struct store_table *table, uint32_t unique,
	const struct store_record *record, const struct eval_value *row)
{
	const struct store_version *v = store_current(&m->store, record, m->now.txn);

	if (!v || v->txn == m->now.txn ||
		m->store.txns[v->txn].commit_no <= m->runs[m->now.stmt].begin_commits)
		return false;
	for (uint32_t u = unique + 1; u < table->unique_count; u++) {
		struct duplicate d = find_duplicate(m, table, table->uniques[u], row, NULL);

		if (d.record && d.record != record && d.waits_for == STORE_NONE)
			return choose(m, 2) == 1;
	}
	return false;
}

static bool key_has_number(const struct eval_table *def, const struct eval_index *index)
{
	for (uint32_t i = 0; i < index->count; i++) {
		if (index->columns[i] != UINT32_MAX && def->columns[index->columns[i]].auto_increment)
			return true;
	}
	return false;
}

static void insert_row(struct mvcc *m, const struct plan *plan, struct store_table *table,
	const struct eval_value *row, struct write_answer *a)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	bool replace = plan->stmt->kind == SQL_STMT_REPLACE;
	struct eval_outcome outcome = {0};

	if (opaque_key(m, table, row)) {
		answer_unsupported(a, REASON_OPAQUE_KEYS);
		return;
	}
	if (has_partial_key(table)) {
		answer_unsupported(a, REASON_PARTIAL_KEYS);
		return;
	}
	if (!check_row(m, table->def, row, &outcome)) {
		answer_outcome(m, a, &outcome);
		skip_broken(m, insert, a);
		return;
	}
	for (uint32_t u = 0; u < table->unique_count; u++) {
		const struct eval_index *index = table->uniques[u];
		struct duplicate d;

		if (store_odd_keys(table, row)) {
			answer_unsupported(a, REASON_UNWEIGHTED_KEYS);
			return;
		}
		d = find_duplicate(m, table, index, row, NULL);
		if (!d.record)
			continue;
		if (parents_looked_for_first(m, table, row, a)) {
			skip_ignored(m, insert, a);
			return;
		}
		if (d.waits_for != STORE_NONE) {
			held(a, d.waits_for, table, d.record);
			continue;
		}
		if (foreign_error_first(m, table, row, a))
			return;
		a->number_met |= a->number && key_has_number(table->def, index);
		if ((insert->on_duplicate || replace) && had_found_another(m, table, u, d.record, row))
			continue;
		if (insert->on_duplicate) {
			insert_duplicate(m, plan, table, d.record, row, a);
			return;
		}
		if (!replace) {
			if (!(insert->flags & SQL_DML_IGNORE)) {
				write_error(a, ER_DUP_ENTRY);
				return;
			}
			a->untouched++;
			return;
		}
		act_on(m, table, d.record, STORE_LOCK_X, a);
		if (a->conflict) {
			write_error(a, ER_CHECKREAD);
			return;
		}
		const struct eval_value *old =
			store_current(&m->store, d.record, m->now.txn)->image;
		if (u + 1 == table->unique_count && replaces_in_place(m, table)) {
			/* A row that stays the same counts once; not where a trigger for deletions makes
			 * it go and come, and of the recorder's own triggers the trace does not tell. */
			a->affected += perhaps_same_row(table->def, old, row) ? 1 + choose(m, 2) : 2;
			a->came++;
			returning_row(m, a, row);
			if (!same_row(table->def, old, row))
				write_row(m, table, d.record, old, row, a);
			else if (m->now.env.flavour == SQL_MYSQL)
				/* REPLACE does not compare as UPDATE does: InnoDB writes a version that is like the
				 * one before it (seen on 8.0 and 9.7, with and without a binary log; not on MariaDB). */
				store_write(&m->store, m->now.txn, m->now.stmt, d.record, row);
			return;
		}
		/* To children that refer to a key which the new row has, too, nothing happens in
		 * MySQL from 9.6 on (seen on 9.7); others follow the deletion. */
		if (m->now.env.flavour == SQL_MYSQL && m->now.env.version >= 90600)
			m->now.replacement = row;
		write_row(m, table, d.record, old, NULL, a);
		m->now.replacement = NULL;
		if (a->status != EVAL_OK)
			return;
		a->affected++;
	}
	foreign_parents(m, table, NULL, row, NULL, a);
	if (a->status != EVAL_OK) {
		skip_ignored(m, insert, a);
		return;
	}
	store_write(
		&m->store, m->now.txn, m->now.stmt, store_record_for(&m->store, table, row), row);
	a->affected++;
	a->came++;
	returning_row(m, a, row);
	if (plan->firing)
		fire_after(m, plan->firing, NULL, row, a);
}

/* The row that is there and that `row` meets; NULL: none. */
static const struct store_record *record_met(
	struct mvcc *m, struct store_table *table, const struct eval_value *row)
{
	for (uint32_t u = 0; u < table->unique_count; u++) {
		struct duplicate d = find_duplicate(m, table, table->uniques[u], row, NULL);

		if (d.record)
			return d.record;
	}
	return NULL;
}

/* ON DUPLICATE KEY UPDATE of a unique key: the row that is there goes where another one of the query may come. */
static bool moves_met(const struct store_table *table, const struct sql_insert *insert)
{
	for (uint32_t u = 0; u < table->unique_count; u++) {
		if (plan_sets(insert->on_duplicate, table->def, table->uniques[u]->columns,
			    table->uniques[u]->count))
			return true;
	}
	return false;
}

/* Do two of the rows meet each other, or the same row that is there, or move one that is there? */
static bool rows_meet(struct mvcc *m, struct store_table *table, const struct sql_insert *insert,
	const struct eval_rows *rows)
{
	bool moves = moves_met(table, insert);
	const struct store_record **met =
		arena_alloc(&m->scratch, (rows->count + 1) * sizeof(*met));

	for (size_t i = 0; i < rows->count; i++) {
		met[i] = record_met(m, table, rows->row[i]);
		if (met[i] && moves)
			return true;
		for (size_t j = 0; j < i; j++) {
			if (met[i] && met[i] == met[j])
				return true;
			for (uint32_t u = 0; u < table->unique_count; u++) {
				if (store_key_equal(table->def, table->uniques[u], rows->row[i],
					    rows->row[j]))
					return true;
			}
		}
	}
	return false;
}

/* Does one of the rows need another one to be there? */
static bool rows_refer(const struct mvcc *m, const struct store_table *table, const struct eval_rows *rows)
{
	for (size_t i = 0; table->in_order && i < rows->count; i++) {
		for (size_t j = 0; j < rows->count; j++) {
			if (i != j &&
				foreign_refers(m, number_of(m, table), rows->row[i], rows->row[j]))
				return true;
		}
	}
	return false;
}

struct by_cluster {
	const struct store_table *table;
	const struct eval_value *const *rows;
};

static int compare_by_cluster(const void *a, const void *b, void *ctx)
{
	const struct by_cluster *by = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = 0;

	for (uint32_t i = 0; !order && i < by->table->cluster->count; i++) {
		uint32_t column = by->table->cluster->columns[i];

		order = eval_order(&by->table->def->columns[column].type, &by->rows[x][column],
			&by->rows[y][column]);
	}
	return order ? order : (x > y) - (x < y);
}

/* Too many to try all orders: mostly they come by the primary key, and so do keys that are made from
 * it.  Where that does not explain the answer, it stays open. */
static bool order_many(struct mvcc *m, const struct store_table *table, struct eval_rows *rows,
	struct write_answer *a)
{
	struct by_cluster by = {table, rows->row};
	const struct eval_value **order;
	uint32_t *numbers;

	if (!table->cluster || choose(m, 2) == 1) {
		answer_unsupported(a, REASON_QUERY_ROW_ORDER);
		return false;
	}
	numbers = arena_alloc(&m->scratch, rows->count * sizeof(*numbers));
	order = arena_alloc(&m->scratch, rows->count * sizeof(*order));
	for (uint32_t i = 0; i < rows->count; i++)
		numbers[i] = i;
	qsort_r(numbers, rows->count, sizeof(*numbers), compare_by_cluster, &by);
	for (size_t i = 0; i < rows->count; i++)
		order[i] = rows->row[numbers[i]];
	rows->row = order;
	return true;
}

static bool all_the_same(const struct eval_table *def, const struct eval_rows *rows)
{
	for (size_t i = 1; i < rows->count; i++) {
		if (!same_row(def, rows->row[0], rows->row[i]))
			return false;
	}
	return true;
}

enum { ORDER_ROWS_MAX = 4 };

/* A query's rows come in an order that is not known.  Where it matters each is tried. */
static bool order_rows(struct mvcc *m, const struct plan *plan, struct store_table *table,
	struct eval_rows *rows, struct write_answer *a)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	const struct eval_value **order;
	uint32_t ways = 1, numbers[ORDER_ROWS_MAX];

	if (!insert->query || rows->count < 2)
		return true;
	if (has_partial_key(table))
		return true; /* unsupported in any order */
	if (!(a->in_turn && !all_the_same(table->def, rows)) && !rows_refer(m, table, rows) &&
		!(table->in_order && plan->stmt->kind == SQL_STMT_REPLACE) && /* cascades */
		(!(insert->on_duplicate || insert->flags & SQL_DML_IGNORE ||
			 plan->stmt->kind == SQL_STMT_REPLACE) ||
			!rows_meet(m, table, insert, rows)))
		return true;
	if (rows->count > ORDER_ROWS_MAX)
		return order_many(m, table, rows, a);
	for (uint32_t i = 2; i <= rows->count; i++)
		ways *= i;
	nth_order(choose(m, ways), rows->count, numbers);
	order = arena_alloc(&m->scratch, rows->count * sizeof(*order));
	for (size_t i = 0; i < rows->count; i++)
		order[i] = rows->row[numbers[i]];
	rows->row = order;
	return true;
}

/* Every error that one of a query's rows can be the first to meet. */
static void collect_errors(struct mvcc *m, struct store_table *table, const struct eval_rows *rows,
	const struct eval_outcome *outcome, struct write_answer *a)
{
	if (outcome->status == EVAL_ERROR)
		write_error(a, outcome->error);
	if (has_partial_key(table)) {
		answer_unsupported(a, REASON_PARTIAL_KEYS);
		return;
	}
	for (size_t i = 0; i < rows->count && a->status == EVAL_ERROR; i++) {
		struct eval_outcome check = {0};

		if (record_met(m, table, rows->row[i]))
			write_error(a, ER_DUP_ENTRY);
		if (!check_row(m, table->def, rows->row[i], &check) && check.status == EVAL_ERROR)
			write_error(a, check.error);
		foreign_parents(m, table, NULL, rows->row[i], NULL, a);
	}
}

struct inserting {
	const struct plan *plan;
	struct store_table *table;
	const struct eval_rows *rows;
	uint64_t next;   /* AUTO_INCREMENT */
	size_t numbered; /* rows that the server numbered and that came */
};

/* One of the rows; they live as long as the store. */
static void insert_one(struct mvcc *m, void *ctx, size_t number, struct write_answer *a)
{
	struct inserting *in = ctx;
	const struct eval_table *def = in->table->def;
	struct eval_value *row = arena_alloc(&m->store.arena, def->column_count * sizeof(*row));
	size_t came = a->came;

	memcpy(row, in->rows->row[number], def->column_count * sizeof(*row));
	a->number = 0;
	if (in->plan->firing)
		fire_before(m, in->plan->firing, NULL, row, a);
	if (a->status == EVAL_OK)
		fill_autoinc(m, in->plan, def, in->rows->count, row, &in->next, a);
	if (a->status != EVAL_OK)
		return;
	a->tried++;
	if (a->number && a->numbers == NUMBERS_TAKEN)
		a->untouched++; /* and the number is taken back, so the next row has it, too */
	else
		insert_row(m, in->plan, in->table, row, a);
	if (a->number && a->came == came)
		in->next = a->number;
	in->numbered += a->number && a->came > came;
}

/* With triggers. */
static bool may_insert_firing(struct mvcc *m, const struct plan *plan, const struct eval_rows *rows,
	unsigned error, struct write_answer *a)
{
	const struct eval_table *def = eval_insert_table(plan->insert);
	bool numbers = false;

	for (uint32_t i = 0; i < def->column_count; i++)
		numbers |= def->columns[i].auto_increment;
	/* BEFORE triggers may give a column what it lacks. */
	if (plan->firing->before_count && (error == ER_BAD_NULL_ERROR || error == ER_NO_DEFAULT_FOR_FIELD))
		answer_unsupported(a, REASON_TRIGGER_GIVES_DEFAULT);
	else if (plan->stmt->u.insert->query && rows->count > 1 && (numbers || error))
		answer_unsupported(a, REASON_TRIGGER_ROW_ORDER);
	return a->status == EVAL_OK && (!plan->firing->asks || fires_at_once(m, a));
}

void write_insert(struct mvcc *m, const struct plan *plan, struct write_answer *a)
{
	const struct eval_table *def = eval_insert_table(plan->insert);
	struct store_table *table = solver_store_table(m, def);
	struct eval_outcome outcome = {0};
	struct eval_rows rows = {0};
	struct inserting inserting = {plan, table, &rows, 0, 0};
	bool made;

	if (table->unknown) {
		answer_unsupported(a, table->unknown);
		return;
	}
	if (table->hidden_key) {
		answer_unsupported(a, REASON_RECORDER_MADE_KEY);
		return;
	}
	made = eval_insert_rows(
		plan->insert, &m->store.arena, &m->now.env, &m->source, &rows, &outcome);
	if (!made && (m->now.unknown || outcome.status == EVAL_UNSUPPORTED)) {
		answer_outcome(m, a, &outcome);
		return;
	}
	a->matched = rows.count;
	a->given = rows;
	a->in_turn = numbers_in_turn(m, plan, def, &rows);
	if (!order_rows(m, plan, table, &rows, a))
		return;
	m->now.asked = ASKED_ONCE;
	if (plan->queries_own_table && rows.count > 1) {
		struct eval_rows before;

		m->now.asked = choose(m, ASKED_WAYS);
		if (m->now.asked == ASKED_BEFORE && !rows_of(m, def, NULL, &before)) {
			answer_outcome(m, a, &outcome);
			return;
		}
	}
	if (plan->firing && !may_insert_firing(m, plan, &rows, made ? 0 : outcome.error, a))
		return;
	/* Without triggers the order of a query's rows was chosen above, where it matters. */
	if (plan->firing && plan->firing->asks && plan->stmt->u.insert->query) {
		rows_in_orders(m, rows.count, insert_one, &inserting, a);
	} else {
		for (size_t i = 0; i < rows.count && a->status == EVAL_OK &&
				   !(plan->firing && a->held_by != STORE_NONE);
			i++)
			insert_one(m, &inserting, i, a);
	}
	if (a->status == EVAL_OK && ((a->numbers == NUMBERS_CAME && !inserting.numbered && !a->number_met) ||
					    (a->numbers == NUMBERS_NONE && inserting.numbered)))
		a->impossible = true;
	/* The rows before the one that cannot be made came first, and so did their errors. */
	if (!made && a->status == EVAL_OK)
		answer_outcome(m, a, &outcome);
	if (a->status == EVAL_ERROR && plan->stmt->u.insert->query && a->held_by == STORE_NONE) {
		collect_errors(m, table, &rows, &outcome, a);
		/* Rows after the one that cannot be made were not looked at. */
		if (!made && !write_can_fail(a, m->schedule->stmts[m->now.stmt].in->record.error))
			answer_unsupported(a, REASON_QUERY_ROW_ORDER);
	}
}
