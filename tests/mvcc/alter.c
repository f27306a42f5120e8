/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alter.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "server/errors.h"
#include "trace/pack.h"

const char *const alteration_names[] = {
#define X(kind, name) name,
	ALTERATIONS(X)
#undef X
};

static struct span changed_row(struct arena *arena, struct span row, uint64_t random)
{
	struct value values[32];
	size_t width = execution_row(row, values, ARRAY_LEN(values));
	struct buf out = BUF_INIT;
	msgpack_packer pk = pack_into(&out);
	struct span copy;

	if (width == 0 || width > ARRAY_LEN(values))
		return SPAN_NONE;
	/* Of the same type, and nothing that a generated schedule comes near to. */
	switch (values[random % width].type) {
	case VALUE_INT:
	case VALUE_UINT:
		values[random % width] = value_uint(7000000 + random % 1000);
		break;
	case VALUE_TEXT:
		values[random % width].bytes = SPAN_LIT("mutant");
		break;
	case VALUE_DECIMAL:
		values[random % width].bytes = SPAN_LIT("7000000");
		break;
	case VALUE_NULL:
		return SPAN_NONE;
	default:
		values[random % width] = (struct value){.type = VALUE_NULL};
	}
	pack_array(&pk, (uint32_t)width);
	for (size_t c = 0; c < width; c++)
		value_pack(&out, &values[c]);
	copy = arena_copy(arena, buf_span(&out));
	buf_release(&out);
	return copy;
}

bool has_word(struct span text, const char *word)
{
	return text.ptr && memmem(text.ptr, text.len, word, strlen(word)) != NULL;
}

bool same_rows(const struct execution_rows *a, const struct execution_rows *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		size_t j = 0;

		while (j < b->count && !span_eq(a->rows[i], b->rows[j]))
			j++;
		if (j == b->count)
			return false;
	}
	return true;
}

static bool answers_otherwise(const struct execution *e, size_t stmt, size_t other)
{
	return e->stmts[other].set_count == 1 && !e->stmts[other].record.error &&
	       span_eq(e->stmts[other].sql, e->stmts[stmt].sql) &&
	       !same_rows(&e->stmts[other].sets[0], &e->stmts[stmt].sets[0]);
}

/* An earlier answer to the same text, with other rows. */
static const struct execution_rows *earlier(const struct execution *e, size_t stmt)
{
	for (size_t i = stmt; i-- > 0;) {
		if (answers_otherwise(e, stmt, i))
			return &e->stmts[i].sets[0];
	}
	return NULL;
}

static const struct execution_rows *later(const struct execution *e, size_t stmt)
{
	for (size_t i = stmt + 1; i < e->stmt_count; i++) {
		if (answers_otherwise(e, stmt, i))
			return &e->stmts[i].sets[0];
	}
	return NULL;
}

/* The answer to the same text before the transaction itself wrote, where it did since. */
static const struct execution_rows *before_own_write(const struct execution *e, size_t stmt)
{
	const struct execution_stmt *s = &e->stmts[stmt];
	bool wrote = false;

	for (size_t i = stmt; s->record.txn && i-- > 0;) {
		if (e->stmts[i].session != s->session)
			continue;
		if (wrote && answers_otherwise(e, stmt, i))
			return &e->stmts[i].sets[0];
		wrote |= e->stmts[i].record.txn == s->record.txn && e->stmts[i].record.affected;
	}
	return NULL;
}

static bool take_rows(struct execution_rows *rows, const struct execution_rows *other)
{
	if (!other)
		return false;
	rows->rows = mem_realloc(rows->rows, other->count + 1, sizeof(*other->rows));
	for (rows->count = 0; rows->count < other->count; rows->count++)
		rows->rows[rows->count] = other->rows[rows->count];
	rows->total = rows->count;
	return true;
}

/* A row that the answer of another moment has and this one does not. */
static bool take_row(struct execution_rows *rows, const struct execution_rows *other)
{
	for (size_t i = 0; other && i < other->count; i++) {
		size_t k = 0;

		while (k < rows->count && !span_eq(rows->rows[k], other->rows[i]))
			k++;
		if (k < rows->count)
			continue;
		rows->rows = mem_realloc(rows->rows, rows->count + 1, sizeof(*rows->rows));
		rows->rows[rows->count++] = other->rows[i];
		rows->total = rows->count;
		return true;
	}
	return false;
}

/* What a write of one table names: all rows, or one id.  False for anything else. */
static bool simple_write(struct span sql, char table[8], int *id)
{
	char text[256];
	const char *where;

	if (sql.len >= sizeof(text))
		return false;
	memcpy(text, sql.ptr, sql.len);
	text[sql.len] = '\0';
	if ((sscanf(text, "update %7s set", table) != 1 &&
		    sscanf(text, "delete from %7s", table) != 1) ||
		strstr(text, " join ") || strstr(text, " limit ") || strstr(text, "set id") ||
		strstr(text, ", id ="))
		return false;
	*id = -1;
	where = strstr(text, " where ");
	return !where || (sscanf(where, " where id = %d", id) == 1 && !strstr(where + 7, " or ") &&
				 strspn(where + 12, "0123456789") == strlen(where + 12));
}

/* The statement changed a row that its blocker had changed before, and changes nothing of that. */
static bool certain_block(const struct execution *e, const struct execution_stmt *stmt)
{
	char table[8], other_table[8];
	int id, other_id;

	if (!stmt->record.blocked_ns || stmt->record.error || !stmt->record.affected ||
		!simple_write(stmt->sql, table, &id))
		return false;
	for (size_t i = 0; i < e->stmt_count; i++) {
		const struct execution_stmt *o = &e->stmts[i];
		bool open = false;

		if (o->session == stmt->session || o->record.seq > stmt->record.begin_seq ||
			!o->record.affected || !has_word(o->sql, "update ") ||
			!simple_write(o->sql, other_table, &other_id) ||
			strcmp(table, other_table) != 0 ||
			(id >= 0 && other_id >= 0 && id != other_id) ||
			(id >= 0) != (other_id >= 0))
			continue;
		/* Still in its transaction when ours was sent, and not back at a savepoint. */
		for (size_t t = 0; t < e->txn_count; t++) {
			const struct record_txn *r = &e->txns[t].record;

			if (r->txn != o->record.txn)
				continue;
			open |= r->event == TXN_END && r->seq > stmt->record.begin_seq;
			if (r->event == TXN_ROLLBACK_TO)
				return false;
		}
		if (open)
			return true;
	}
	return false;
}

static bool is_write(const struct execution_stmt *stmt)
{
	return has_word(stmt->sql, "update ") || has_word(stmt->sql, "delete ") || has_word(stmt->sql, "insert ") ||
	       has_word(stmt->sql, "replace ");
}

static bool is_done_write(const struct execution_stmt *stmt)
{
	return stmt->set_count != 1 && !stmt->record.error && is_write(stmt);
}

static bool is_of_constraint(unsigned error)
{
	static const unsigned errors[] = {ER_BAD_NULL_ERROR, ER_WARN_DATA_OUT_OF_RANGE, ER_NO_DEFAULT_FOR_FIELD,
		ER_VIEW_CHECK_FAILED, ER_DATA_TOO_LONG, ER_ROW_IS_REFERENCED_2, ER_NO_REFERENCED_ROW_2,
		ER_CHECK_CONSTRAINT_VIOLATED, ER_CONSTRAINT_FAILED};

	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (error == errors[i])
			return true;
	return false;
}

/* As if it had changed a row. */
static bool forget_error(struct execution_stmt *stmt)
{
	stmt->record.error = 0;
	stmt->record.affected = 1;
	/* What succeeds tells the number that it gave. */
	stmt->record.insert_id = 7000000;
	return true;
}

static struct record_txn *end_of(struct execution *e, uint64_t txn)
{
	for (size_t i = 0; txn && i < e->txn_count; i++)
		if (e->txns[i].record.txn == txn && e->txns[i].record.event == TXN_END)
			return &e->txns[i].record;
	return NULL;
}

/* A write that did something.  Where the error is of the transaction, one that is a transaction by itself. */
static bool make_error_up(struct execution *e, struct execution_stmt *stmt, unsigned error, bool of_statement)
{
	struct record_txn *end = end_of(e, stmt->record.txn);

	if (!is_done_write(stmt) || !stmt->record.affected || (!of_statement && !(end && end->autocommit)) ||
		(error == ER_NO_REFERENCED_ROW_2 && !has_word(stmt->sql, "insert ")))
		return false;
	stmt->record.error = (uint16_t)error;
	stmt->record.error_text = SPAN_LIT("made up");
	stmt->record.affected = 0;
	stmt->record.info = SPAN_NONE;
	if (end && end->autocommit)
		end->outcome = TXN_ABORTED;
	return true;
}

static bool match_one_more(struct execution *e, struct execution_stmt *stmt)
{
	unsigned long long matched, changed, warnings;
	char text[128];

	if (!is_done_write(stmt) || !stmt->record.info.ptr || stmt->record.info.len >= sizeof(text))
		return false;
	memcpy(text, stmt->record.info.ptr, stmt->record.info.len);
	text[stmt->record.info.len] = '\0';
	if (sscanf(text, "Rows matched: %llu  Changed: %llu  Warnings: %llu", &matched, &changed, &warnings) != 3)
		return false;
	snprintf(text, sizeof(text), "Rows matched: %llu  Changed: %llu  Warnings: %llu", matched + 1, changed, warnings);
	stmt->record.info = arena_copy(&e->arena, span_str(text));
	return true;
}

static bool alter_final(struct execution *e, bool extra, uint64_t random)
{
	struct execution_table *table = &e->tables[random % e->table_count];
	struct execution_rows *rows = &table->final;
	struct span row;

	if (!table->has_final || !rows->count)
		return false;
	row = changed_row(&e->arena, rows->rows[(random >> 16) % rows->count], random >> 32);
	if (!row.ptr)
		return false;
	if (extra) {
		rows->rows = mem_realloc(rows->rows, rows->count + 1, sizeof(*rows->rows));
		rows->rows[rows->count++] = row;
		rows->total = rows->count;
	} else {
		rows->rows[(random >> 16) % rows->count] = row;
	}
	return true;
}

static bool txn_wrote(const struct execution *e, uint64_t txn)
{
	for (size_t i = 0; i < e->stmt_count; i++)
		if (e->stmts[i].record.txn == txn && e->stmts[i].record.affected && !e->stmts[i].record.error &&
			is_write(&e->stmts[i]))
			return true;
	return false;
}

/* The server tells one end and keeps another. */
static bool end_otherwise(struct execution *e, const struct execution_stmt *stmt, const char *word, enum txn_outcome outcome)
{
	struct record_txn *end = end_of(e, stmt->record.txn);

	if (!end || end->number != stmt->record.number || end->outcome == outcome || stmt->record.error ||
		!span_ieq(stmt->sql, span_str(word)) || !txn_wrote(e, stmt->record.txn))
		return false;
	end->outcome = (uint8_t)outcome;
	return true;
}

/* A statement outside of a transaction that the server did not commit: its transaction goes on. */
static bool leave_open(struct execution *e, struct execution_stmt *stmt)
{
	struct record_txn *end = end_of(e, stmt->record.txn);

	if (!end || !end->autocommit || stmt->record.error || !is_write(stmt))
		return false;
	stmt->record.status |= STATUS_IN_TRANS | STATUS_AUTOCOMMIT;
	end->event = TXN_BEGIN;
	end->autocommit = false;
	end->outcome = 0;
	return true;
}

bool alter(struct execution *e, size_t index, enum alteration kind, uint64_t random)
{
	struct execution_stmt *stmt = &e->stmts[index];
	struct execution_rows *rows = stmt->set_count == 1 ? &stmt->sets[0] : NULL;

	/* What ANALYZE TABLE says is no state of the database. */
	if (has_word(stmt->sql, "analyze"))
		return false;
	switch (kind) {
	case ALTER_DROP_ROW:
		/* A row that another transaction may have locked may be missing. */
		if (!rows || !rows->count || has_word(stmt->sql, "skip locked"))
			return false;
		rows->rows[random % rows->count] = rows->rows[rows->count - 1];
		rows->count--;
		return true;
	case ALTER_DOUBLE_ROW:
		if (!rows || !rows->count)
			return false;
		rows->rows = mem_realloc(rows->rows, rows->count + 1, sizeof(*rows->rows));
		rows->rows[rows->count] = rows->rows[random % rows->count];
		rows->count++;
		return true;
	case ALTER_CHANGE_VALUE: {
		struct span row;

		if (!rows || !rows->count)
			return false;
		row = changed_row(&e->arena, rows->rows[random % rows->count], random >> 8);
		if (!row.ptr)
			return false;
		rows->rows[random % rows->count] = row;
		return true;
	}
	case ALTER_STALE_RESULT:
		return rows && take_rows(rows, earlier(e, index));
	case ALTER_SWAP_ORDER: {
		struct value a[32], b[32];
		struct span first;

		if (!rows || rows->count < 2 ||
			!(has_word(stmt->sql, "order by id") || has_word(stmt->sql, "order by k1")) ||
			has_word(stmt->sql, "limit") || execution_row(rows->rows[0], a, 32) > 32 ||
			execution_row(rows->rows[rows->count - 1], b, 32) > 32 ||
			value_eq(&a[0], &b[0]) || a[0].type == VALUE_TEXT) /* 'a' and 'A' may be equal */
			return false;
		first = rows->rows[0];
		rows->rows[0] = rows->rows[rows->count - 1];
		rows->rows[rows->count - 1] = first;
		return true;
	}
	case ALTER_COUNT_OFF:
		if (!is_done_write(stmt))
			return false;
		stmt->record.affected += 1 + random % 2;
		stmt->record.info = SPAN_NONE;
		return true;
	case ALTER_NO_BLOCK:
		if (!certain_block(e, stmt))
			return false;
		stmt->record.blocked_ns = 0;
		stmt->record.seq = stmt->record.begin_seq;
		return true;
	case ALTER_LOST_DUPLICATE:
		if (stmt->record.error != 1062)
			return false;
		return forget_error(stmt);
	case ALTER_FALSE_DUPLICATE:
		if (rows || stmt->record.error || !has_word(stmt->sql, "insert into") ||
			has_word(stmt->sql, "duplicate") || !stmt->record.affected)
			return false;
		stmt->record.error = 1062;
		stmt->record.error_text = SPAN_LIT("Duplicate entry '7000000' for key 'PRIMARY'");
		stmt->record.affected = 0;
		return true;
	case ALTER_FINAL_DROP: {
		struct execution_table *table = &e->tables[random % e->table_count];

		if (index != 0 || !table->has_final || !table->final.count)
			return false;
		table->final.count--;
		return true;
	}
	case ALTER_EXTRA_ROW:
		return rows && (take_row(rows, earlier(e, index)) || take_row(rows, later(e, index)));
	case ALTER_NEWER_RESULT:
		return rows && take_rows(rows, later(e, index));
	case ALTER_OWN_WRITE:
		return rows && take_rows(rows, before_own_write(e, index));
	case ALTER_COUNT_LESS:
		if (!is_done_write(stmt) || !stmt->record.affected)
			return false;
		stmt->record.affected--;
		stmt->record.info = SPAN_NONE;
		return true;
	case ALTER_MATCHED:
		return match_one_more(e, stmt);
	case ALTER_NUMBER:
		if (!is_done_write(stmt) || !stmt->record.insert_id || stmt->record.affected != 1)
			return false;
		stmt->record.insert_id++;
		return true;
	case ALTER_FINAL_CHANGE:
	case ALTER_FINAL_EXTRA:
		return index == 0 && alter_final(e, kind == ALTER_FINAL_EXTRA, random);
	case ALTER_LOST_CONSTRAINT:
		return is_write(stmt) && is_of_constraint(stmt->record.error) && forget_error(stmt);
	case ALTER_FALSE_CONSTRAINT:
		return make_error_up(e, stmt, ER_NO_REFERENCED_ROW_2, true);
	case ALTER_FALSE_NULL:
		return make_error_up(e, stmt, ER_BAD_NULL_ERROR, true);
	case ALTER_LOST_1020:
		return is_write(stmt) && stmt->record.error == ER_CHECKREAD && forget_error(stmt);
	case ALTER_FALSE_1020:
		return make_error_up(e, stmt, ER_CHECKREAD, false);
	case ALTER_LOST_1213:
		return is_write(stmt) && stmt->record.error == ER_LOCK_DEADLOCK && forget_error(stmt);
	case ALTER_FALSE_1213:
		return make_error_up(e, stmt, ER_LOCK_DEADLOCK, false);
	case ALTER_LOST_1205:
		return is_write(stmt) && stmt->record.error == ER_LOCK_WAIT_TIMEOUT && forget_error(stmt);
	case ALTER_FALSE_1205:
		return make_error_up(e, stmt, ER_LOCK_WAIT_TIMEOUT, false);
	case ALTER_LOST_READ_ONLY:
		return is_write(stmt) && stmt->record.error == ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION && forget_error(stmt);
	case ALTER_ANY_BLOCK:
		if (!stmt->record.blocked_ns || stmt->record.error)
			return false;
		stmt->record.blocked_ns = 0;
		stmt->record.seq = stmt->record.begin_seq;
		return true;
	case ALTER_ROLLBACK_KEPT:
		return end_otherwise(e, stmt, "rollback", TXN_COMMITTED);
	case ALTER_COMMIT_LOST:
		return end_otherwise(e, stmt, "commit", TXN_ABORTED);
	case ALTER_NO_AUTOCOMMIT:
		return leave_open(e, stmt);
	case ALTERATION_COUNT:
		break;
	}
	return false;
}

