/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "generate/learn_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "model/execution/execution.h"
#include "sql/sql.h"
#include "sql/text/statement_pattern.h"
#include "workload/model.h"

enum { NUMBERS_MAX = 64, RANGES = 8, WORDS_MAX = 32, PATTERNS_SHOWN = 12 };

/* How often each value of a feature came. */
struct tally {
	uint64_t words[WORDS_MAX];
	uint64_t numbers[NUMBERS_MAX]; /* the last one stands for itself and more */
	uint64_t yes, all;             /* of a chance */
};

struct learnt_table {
	const struct execution_table *table;
	struct span key[4]; /* columns of the primary key */
	uint32_t key_count;
	uint64_t rows;
	struct map access; /* hash of a key value: index of its count */
	uint64_t *counts;
	size_t count_count, count_capacity;
	uint64_t accesses;
};

struct pattern {
	struct span text;
	uint64_t count;
};

struct learning {
	const struct execution *e;
	struct sql_options sql;
	struct arena arena; /* of one statement */
	struct arena texts;
	struct tally tallies[FEATURE_COUNT];
	struct learnt_table *tables;
	struct learnt_table *table; /* of the statement that is looked at; NULL: not known */
	const struct execution_stmt *stmt;
	struct map patterns;
	struct pattern *pattern;
	size_t pattern_count, pattern_capacity;
	uint64_t statements;
	/* By transaction. */
	struct map txns;
	struct learnt_txn {
		uint32_t session;
		uint64_t statements;
		unsigned begin, end;
		bool sets;
	} *txn;
	size_t txn_count, txn_capacity;
};

static void saw_word(struct learning *l, enum model_feature feature, unsigned word)
{
	l->tallies[feature].words[word]++;
}

static void saw_number(struct learning *l, enum model_feature feature, uint64_t number)
{
	const struct feature_def *def = feature_def(feature);

	number = number < def->min ? def->min : number > def->max ? def->max : number;
	l->tallies[feature].numbers[number < NUMBERS_MAX ? number : NUMBERS_MAX - 1]++;
}

static void saw_chance(struct learning *l, enum model_feature feature, bool yes)
{
	l->tallies[feature].yes += yes;
	l->tallies[feature].all++;
}

/* ---- tables ---- */

static unsigned type_word(struct span type)
{
	static const struct {
		const char *begin;
		enum type_word word;
	} types[] = {{"tinyint(1)", OF_FLAG}, {"tinyint", OF_INT}, {"smallint", OF_INT}, {"mediumint", OF_INT}, {"int", OF_INT},
		{"bigint", OF_BIG}, {"varchar", OF_TEXT}, {"char", OF_CHAR}, {"decimal", OF_DEC}, {"datetime", OF_TIME},
		{"timestamp", OF_TIME}, {"date", OF_DATE}, {"enum", OF_STATE}, {"bit", OF_FLAG}, {"float", OF_FLOAT},
		{"double", OF_FLOAT}};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (span_istarts(type, types[i].begin))
			return types[i].word;
	return OF_TEXT; /* what the generator has for longer texts and bytes */
}

static unsigned collation_word(struct span collation)
{
	if (span_istarts(collation, "latin1"))
		return COLLATION_LATIN1;
	if (span_ihas(collation, "_bin"))
		return COLLATION_BIN;
	if (span_ihas(collation, "general_ci"))
		return COLLATION_GENERAL;
	return span_ihas(collation, "unicode") ? COLLATION_UNICODE : COLLATION_DEFAULT;
}

static struct span take_text(struct mp *mp)
{
	return mp_bytes(mp); /* SPAN_NONE of nil */
}

struct seen_column {
	struct span name, type, collation, preset, extra;
	bool nullable, generated;
};

/* [name, type, nullable, collation, default, generated, extra] */
static bool take_column(struct mp *mp, struct seen_column *out)
{
	uint32_t count = mp_array(mp);

	if (mp->bad || count < 7)
		return false;
	out->name = take_text(mp);
	out->type = take_text(mp);
	out->nullable = mp_bool(mp);
	out->collation = take_text(mp);
	out->preset = take_text(mp);
	out->generated = mp_peek(mp) != MP_NIL;
	mp_skip(mp);
	out->extra = take_text(mp);
	for (uint32_t i = 7; i < count; i++)
		mp_skip(mp);
	return !mp->bad;
}

static uint64_t key_bits(struct span primary_key)
{
	struct mp mp = mp_over(primary_key);
	uint32_t count = primary_key.ptr && mp_peek(&mp) == MP_ARRAY ? mp_array(&mp) : 0;
	uint64_t bits = 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint64_t column = mp_uint(&mp);

		bits |= column < 64 ? UINT64_C(1) << column : 0;
	}
	return bits;
}

static void learn_columns(struct learning *l, struct learnt_table *t, const struct record_schema *r)
{
	struct mp mp = mp_over(r->columns);
	uint32_t count = r->columns.ptr ? mp_array(&mp) : 0;
	uint64_t key = key_bits(r->primary_key), others = 0;
	bool generated = false, automatic = false;
	struct seen_column column;

	for (uint32_t i = 0; i < count && take_column(&mp, &column); i++) {
		generated |= column.generated;
		automatic |= column.extra.ptr && span_ihas(column.extra, "auto_increment");
		if (i < 64 && key >> i & 1) {
			saw_word(l, FEATURE_KEY_TYPE, type_word(column.type));
			if (t->key_count < ARRAY_LEN(t->key))
				t->key[t->key_count++] = column.name;
			continue;
		}
		others++;
		saw_word(l, FEATURE_TYPE, type_word(column.type));
		if (column.collation.ptr)
			saw_word(l, FEATURE_COLLATION, collation_word(column.collation));
		saw_chance(l, FEATURE_NULLABLE, column.nullable);
		saw_chance(l, FEATURE_DEFAULT, column.preset.ptr && column.preset.len && !span_ieq_str(column.preset, "NULL"));
	}
	saw_number(l, FEATURE_COLUMNS, others);
	saw_chance(l, FEATURE_GENERATED, generated);
	saw_word(l, FEATURE_KEY, !t->key_count ? KEY_NONE : automatic ? KEY_AUTO : t->key_count > 1 ? KEY_PAIR : KEY_PRIMARY);
}

/* [[name, unique, [column index, ...]], ...] */
static void learn_keys(struct learning *l, struct span keys)
{
	struct mp mp = mp_over(keys);
	uint32_t count = keys.ptr && mp_peek(&mp) == MP_ARRAY ? mp_array(&mp) : 0, indexes = 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint32_t fields = mp_array(&mp), columns;
		struct span name = take_text(&mp);
		bool unique = mp_bool(&mp), primary = span_eq_str(name, "PRIMARY");

		columns = mp_array(&mp);
		for (uint32_t k = 0; k < columns && !mp.bad; k++)
			mp_skip(&mp);
		for (uint32_t k = 3; k < fields && !mp.bad; k++)
			mp_skip(&mp);
		if (primary || mp.bad)
			continue;
		indexes++;
		saw_number(l, FEATURE_INDEX_COLUMNS, columns);
		saw_chance(l, FEATURE_UNIQUE, unique);
	}
	saw_number(l, FEATURE_INDEXES, indexes);
}

static unsigned action_word(struct span action)
{
	if (span_ieq_str(action, "CASCADE"))
		return ACTION_CASCADE;
	if (span_ieq_str(action, "SET NULL"))
		return ACTION_SET_NULL;
	return span_ieq_str(action, "RESTRICT") ? ACTION_RESTRICT : ACTION_NONE;
}

/* [[name, [column index], database, table, [column name], on delete, on update], ...] */
static void learn_foreign_keys(struct learning *l, const struct record_schema *r)
{
	struct mp mp = mp_over(r->foreign_keys);
	uint32_t count = r->foreign_keys.ptr && mp_peek(&mp) == MP_ARRAY ? mp_array(&mp) : 0;
	bool self = false, other = false;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint32_t fields = mp_array(&mp);
		struct span parent;

		if (mp.bad || fields < 7)
			break;
		mp_skip(&mp);
		mp_skip(&mp);
		mp_skip(&mp);
		parent = take_text(&mp);
		mp_skip(&mp);
		self |= span_eq(parent, r->name);
		other |= !span_eq(parent, r->name);
		saw_word(l, FEATURE_ON_DELETE, action_word(take_text(&mp)));
		saw_word(l, FEATURE_ON_UPDATE, action_word(take_text(&mp)));
		for (uint32_t k = 7; k < fields && !mp.bad; k++)
			mp_skip(&mp);
	}
	saw_chance(l, FEATURE_FOREIGN, other);
	saw_chance(l, FEATURE_FOREIGN_SELF, self);
}

static void learn_tables(struct learning *l)
{
	const struct execution *e = l->e;

	l->tables = mem_zero(e->table_count + 1, sizeof(*l->tables));
	for (size_t i = 0; i < e->table_count; i++) {
		struct learnt_table *t = &l->tables[i];
		const struct record_schema *r = &e->tables[i].schema;

		*t = (struct learnt_table){.table = &e->tables[i], .access = MAP_INIT};
		t->rows = e->tables[i].has_initial ? e->tables[i].initial.total : 0;
		learn_columns(l, t, r);
		learn_keys(l, r->keys);
		learn_foreign_keys(l, r);
		saw_chance(l, FEATURE_PARTITIONED, r->partitions.ptr && r->partitions.len);
		saw_chance(l, FEATURE_CHECK, r->create_text.ptr && span_ihas(r->create_text, " check ("));
	}
	if (e->table_count)
		saw_number(l, FEATURE_TABLES, e->table_count);
}

static void find_table(void *ctx, const struct sql_table_name *name, const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct learning *l = ctx;

	(void)ref;
	(void)access;
	for (size_t i = 0; i < l->e->table_count && !l->table; i++)
		if (span_ieq(l->e->tables[i].schema.name, name->name))
			l->table = &l->tables[i];
}

static bool is_key(const struct learning *l, const struct sql_expr *e)
{
	for (uint32_t i = 0; l->table && i < l->table->key_count; i++)
		if (span_ieq(e->u.column.name, l->table->key[i]))
			return true;
	return false;
}

/* ---- which rows ---- */

/* The value that a key is compared with: a literal, or the parameter that was sent. */
static bool key_value(const struct learning *l, const struct sql_expr *e, struct buf *out)
{
	struct mp mp = mp_over(l->stmt->record.params);
	struct value value;
	uint32_t count;

	if (e->kind == SQL_EXPR_LITERAL) {
		buf_add_span(out, e->u.literal.text);
		return true;
	}
	if (e->kind != SQL_EXPR_PARAM || !l->stmt->record.params.ptr)
		return false;
	count = mp_array(&mp);
	if (e->u.param >= count)
		return false;
	for (uint32_t i = 0; i < e->u.param; i++)
		mp_skip(&mp);
	if (!value_read(&mp, &value))
		return false;
	value_print(out, &value, 0);
	return true;
}

static void saw_access(struct learning *l, const struct sql_expr *value)
{
	struct learnt_table *t = l->table;
	struct buf text = BUF_INIT;
	uint32_t *slot;

	if (t->key_count == 1 && key_value(l, value, &text)) {
		slot = map_at(&t->access, hash_bytes(text.data, text.len));
		if (*slot == MAP_NONE) {
			*slot = (uint32_t)t->count_count;
			MEM_RESERVE(t->counts, t->count_count + 1, t->count_capacity);
			t->counts[t->count_count++] = 0;
		}
		t->counts[*slot]++;
		t->accesses++;
	}
	buf_release(&text);
}

/* ---- conditions ---- */

static bool is_constant(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_LITERAL || e->kind == SQL_EXPR_PARAM || e->kind == SQL_EXPR_USER_VAR ||
	       (e->kind == SQL_EXPR_UNARY && e->op == SQL_OP_NEG && is_constant(e->u.binary.left));
}

static unsigned comparison_word(struct learning *l, const struct sql_expr *e)
{
	const struct sql_expr *left = e->u.binary.left, *right = e->u.binary.right;

	if (left->kind == SQL_EXPR_ROW || right->kind == SQL_EXPR_ROW)
		return CONDITION_TUPLE;
	if (left->kind == SQL_EXPR_SUBQUERY || right->kind == SQL_EXPR_SUBQUERY)
		return CONDITION_SUBQUERY;
	if (e->op == SQL_OP_NULL_EQ)
		return CONDITION_SAFE;
	if (left->kind == SQL_EXPR_COLUMN && right->kind == SQL_EXPR_COLUMN)
		return CONDITION_COLUMN;
	if (is_constant(left) && right->kind == SQL_EXPR_COLUMN) {
		const struct sql_expr *other = left;

		left = right;
		right = other;
	}
	if (left->kind != SQL_EXPR_COLUMN)
		return is_constant(left) && is_constant(right) ? CONDITION_TRUE : CONDITION_FUNCTION;
	if (e->op != SQL_OP_EQ)
		return CONDITION_COMPARE;
	if (!is_key(l, left))
		return CONDITION_EQUAL;
	saw_access(l, right);
	return CONDITION_KEY;
}

static unsigned condition_word(struct learning *l, const struct sql_expr *e)
{
	switch (e->kind) {
	case SQL_EXPR_BINARY:
		return sql_expr_compares(e) ? comparison_word(l, e) : CONDITION_FUNCTION;
	case SQL_EXPR_IN:
		if (e->u.in.query)
			return CONDITION_SUBQUERY;
		return e->u.in.left->kind == SQL_EXPR_ROW ? CONDITION_TUPLE : CONDITION_IN;
	case SQL_EXPR_BETWEEN:
		return CONDITION_BETWEEN;
	case SQL_EXPR_IS:
		return e->op == SQL_OP_IS_NULL ? CONDITION_NULL : CONDITION_TRUE;
	case SQL_EXPR_EXISTS:
	case SQL_EXPR_QUANTIFIED:
		return CONDITION_SUBQUERY;
	case SQL_EXPR_LITERAL:
		return CONDITION_TRUE;
	default:
		return CONDITION_FUNCTION;
	}
}

static bool is_logical(const struct sql_expr *e)
{
	return (e->kind == SQL_EXPR_BINARY && (e->op == SQL_OP_AND || e->op == SQL_OP_OR || e->op == SQL_OP_XOR)) ||
	       (e->kind == SQL_EXPR_UNARY && e->op == SQL_OP_NOT);
}

/* The parts of a combined condition are conditions, too.  Returns how deep it is nested. */
static uint64_t learn_condition(struct learning *l, const struct sql_expr *e, unsigned depth)
{
	uint64_t left, right = 0;

	if (!is_logical(e) || depth > 16) {
		saw_word(l, FEATURE_CONDITION, condition_word(l, e));
		return 0;
	}
	left = learn_condition(l, e->u.binary.left, depth + 1);
	if (e->u.binary.right)
		right = learn_condition(l, e->u.binary.right, depth + 1);
	return 1 + (left > right ? left : right);
}

static void learn_where(struct learning *l, const struct sql_expr *where)
{
	uint64_t depth;

	if (!where) {
		saw_word(l, FEATURE_CONDITION, CONDITION_NONE);
		return;
	}
	depth = learn_condition(l, where, 0);
	if (depth) {
		saw_word(l, FEATURE_CONDITION, CONDITION_COMBINED);
		saw_number(l, FEATURE_DEPTH, depth);
	}
}

/* ---- statements ---- */

static bool is_call(const struct sql_expr *e, const char *name)
{
	return e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, name);
}

static unsigned item_word(const struct sql_item *items)
{
	for (const struct sql_item *i = items; i; i = i->next) {
		if (i->expr->kind == SQL_EXPR_SUBQUERY)
			return READ_SCALAR;
		if (i->expr->kind == SQL_EXPR_EXISTS)
			return READ_EXISTS;
		if (is_call(i->expr, "count"))
			return READ_COUNT;
		if (is_call(i->expr, "sum") || is_call(i->expr, "avg") || is_call(i->expr, "min") || is_call(i->expr, "max"))
			return READ_SUM;
		if (is_call(i->expr, "last_insert_id"))
			return READ_LAST_ID;
	}
	for (const struct sql_item *i = items; i; i = i->next)
		if (i->expr->kind != SQL_EXPR_COLUMN && i->expr->kind != SQL_EXPR_STAR)
			return READ_EXPRESSION;
	return items && items->expr->kind == SQL_EXPR_STAR ? READ_ROWS : READ_SOME;
}

static unsigned read_word(const struct sql_query *q)
{
	const struct sql_table_ref *from;

	while (q->kind == SQL_QUERY_PAREN)
		q = q->u.inner;
	if (q->kind == SQL_QUERY_SET_OP)
		return READ_UNION;
	if (q->kind != SQL_QUERY_SELECT)
		return READ_ROWS;
	from = q->u.select.from;
	if (from && from->kind == SQL_TABLE_DERIVED)
		return READ_DERIVED;
	if (from && (from->kind == SQL_TABLE_JOIN || from->next))
		return from->kind == SQL_TABLE_JOIN && from->u.join.join != SQL_JOIN_INNER && from->u.join.join != SQL_JOIN_CROSS
			       ? READ_LEFT_JOIN : READ_JOIN;
	if (q->u.select.group)
		return READ_GROUP;
	if (q->u.select.flags & SQL_SELECT_DISTINCT)
		return READ_DISTINCT;
	if (q->u.select.where && q->u.select.where->kind == SQL_EXPR_EXISTS)
		return READ_EXISTS;
	if (q->u.select.where && q->u.select.where->kind == SQL_EXPR_IN && q->u.select.where->u.in.query)
		return READ_IN;
	if (q->limit)
		return READ_LIMIT;
	return q->order ? READ_ORDER : item_word(q->u.select.items);
}

static const struct sql_expr *where_of_query(const struct sql_query *q)
{
	while (q->kind == SQL_QUERY_PAREN)
		q = q->u.inner;
	while (q->kind == SQL_QUERY_SET_OP)
		q = q->u.set.left;
	return q->kind == SQL_QUERY_SELECT ? q->u.select.where : NULL;
}

static void learn_query(struct learning *l, const struct sql_stmt *s)
{
	const struct sql_lock *lock = sql_stmt_locking_read(s);

	saw_word(l, FEATURE_STATEMENT, lock ? STATEMENT_LOCK : STATEMENT_SELECT);
	if (lock)
		saw_word(l, FEATURE_LOCK, lock->wait == SQL_LOCK_NOWAIT ? LOCK_NOWAIT : lock->wait == SQL_LOCK_SKIP_LOCKED ? LOCK_SKIP :
			lock->mode == SQL_LOCK_FOR_UPDATE ? LOCK_UPDATE : LOCK_SHARE);
	saw_word(l, FEATURE_READ, read_word(s->u.query));
	learn_where(l, where_of_query(s->u.query));
}

static unsigned assign_word(const struct learning *l, const struct sql_assign *a)
{
	const struct sql_expr *value = a->value;

	if (is_key(l, a->target))
		return ASSIGN_KEY;
	switch (value->kind) {
	case SQL_EXPR_LITERAL:
		return value->u.literal.kind == SQL_LIT_NULL ? ASSIGN_NULL : ASSIGN_VALUE;
	case SQL_EXPR_PARAM:
	case SQL_EXPR_USER_VAR:
	case SQL_EXPR_DEFAULT:
		return ASSIGN_VALUE;
	case SQL_EXPR_COLUMN:
		return span_ieq(value->u.column.name, a->target->u.column.name) ? ASSIGN_NOTHING : ASSIGN_COLUMN;
	case SQL_EXPR_BINARY:
		return value->op == SQL_OP_ADD || value->op == SQL_OP_SUB ? ASSIGN_ADD : ASSIGN_FUNCTION;
	case SQL_EXPR_SUBQUERY:
		return ASSIGN_SUBQUERY;
	default:
		return ASSIGN_FUNCTION;
	}
}

static void learn_assignments(struct learning *l, const struct sql_assign *set)
{
	uint64_t count = 0;

	for (const struct sql_assign *a = set; a; a = a->next, count++)
		if (a->target->kind == SQL_EXPR_COLUMN)
			saw_word(l, FEATURE_ASSIGN, assign_word(l, a));
	if (count)
		saw_number(l, FEATURE_ASSIGNMENTS, count);
}

static void learn_change(struct learning *l, uint32_t flags, const struct sql_expr *where, bool joins, bool limit, bool order, bool returning)
{
	unsigned word = CHANGE_PLAIN;

	if (joins)
		word = CHANGE_JOIN;
	else if (limit)
		word = order ? CHANGE_ORDER : CHANGE_LIMIT;
	else if (returning)
		word = CHANGE_RETURNING;
	else if (flags & SQL_DML_IGNORE)
		word = CHANGE_IGNORE;
	else if (where && where->kind == SQL_EXPR_EXISTS)
		word = CHANGE_EXISTS;
	else if (where && where->kind == SQL_EXPR_IN && where->u.in.query)
		word = CHANGE_IN;
	saw_word(l, FEATURE_CHANGE, word);
	learn_where(l, where);
}

static void learn_insert(struct learning *l, const struct sql_stmt *s)
{
	const struct sql_insert *i = s->u.insert;
	uint64_t rows = 0;

	saw_word(l, FEATURE_STATEMENT, i->query ? STATEMENT_COPY : s->kind == SQL_STMT_REPLACE ? STATEMENT_REPLACE :
		i->on_duplicate ? STATEMENT_UPSERT : STATEMENT_INSERT);
	if (i->query) {
		learn_where(l, where_of_query(i->query));
		return;
	}
	saw_word(l, FEATURE_INSERT, i->returning ? INSERT_RETURNING : i->flags & SQL_DML_IGNORE ? INSERT_IGNORE : i->set ? INSERT_SET :
		i->has_columns ? INSERT_COLUMNS : INSERT_VALUES);
	for (const struct sql_values_row *r = i->rows; r; r = r->next)
		rows++;
	saw_number(l, FEATURE_INSERT_ROWS, rows ? rows : 1);
	saw_chance(l, FEATURE_DUPLICATE, l->stmt->record.error == 1062 || (i->on_duplicate && l->stmt->record.affected != rows));
}

/* False: it says nothing about rows. */
static bool learn_statement(struct learning *l, const struct sql_stmt *s)
{
	l->table = NULL;
	sql_stmt_tables(s, find_table, l);
	switch (s->kind) {
	case SQL_STMT_SELECT:
		if (!l->table)
			return false;
		learn_query(l, s);
		return true;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		learn_insert(l, s);
		return true;
	case SQL_STMT_UPDATE:
		saw_word(l, FEATURE_STATEMENT, STATEMENT_UPDATE);
		learn_assignments(l, s->u.update->set);
		learn_change(l, s->u.update->flags, s->u.update->where,
			s->u.update->tables->kind != SQL_TABLE_NAME || s->u.update->tables->next, s->u.update->limit, s->u.update->order, false);
		return true;
	case SQL_STMT_DELETE:
		saw_word(l, FEATURE_STATEMENT, STATEMENT_DELETE);
		learn_change(l, s->u.del->flags, s->u.del->where, s->u.del->targets, s->u.del->limit, s->u.del->order, s->u.del->returning);
		return true;
	default:
		return false;
	}
}

/* ---- transactions ---- */

static struct learnt_txn *txn_of(struct learning *l, uint64_t id)
{
	uint32_t *slot = map_at(&l->txns, id);

	if (*slot == MAP_NONE) {
		*slot = (uint32_t)l->txn_count;
		MEM_RESERVE(l->txn, l->txn_count + 1, l->txn_capacity);
		l->txn[l->txn_count++] = (struct learnt_txn){.begin = BEGIN_AUTOCOMMIT, .end = END_OPEN};
	}
	return &l->txn[*slot];
}

static unsigned begin_word(const struct sql_stmt *s)
{
	struct sql_txn_setting setting = sql_stmt_txn_setting(s);

	if (s->kind == SQL_STMT_XA)
		return BEGIN_XA;
	if (s->u.txn->snapshot)
		return BEGIN_SNAPSHOT;
	return setting.access == SQL_ACCESS_READ_ONLY ? BEGIN_READ_ONLY : BEGIN_PLAIN;
}

static void learn_control(struct learning *l, const struct sql_stmt *s, struct learnt_txn *txn)
{
	switch (s->kind) {
	case SQL_STMT_BEGIN:
		txn->begin = begin_word(s);
		break;
	case SQL_STMT_XA:
		txn->begin = BEGIN_XA;
		break;
	case SQL_STMT_COMMIT:
	case SQL_STMT_ROLLBACK:
		if (s->u.txn->chain == SQL_YES)
			txn->end = END_CHAIN;
		break;
	case SQL_STMT_SAVEPOINT:
	case SQL_STMT_ROLLBACK_TO:
		saw_chance(l, FEATURE_SAVEPOINT, true);
		break;
	case SQL_STMT_SET:
		txn->sets = true;
		break;
	default:
		break;
	}
}

static void learn_txn_records(struct learning *l)
{
	static const unsigned levels[] = {[LEVEL_READ_UNCOMMITTED] = LEVEL_WORD_RU, [LEVEL_READ_COMMITTED] = LEVEL_WORD_RC,
		[LEVEL_REPEATABLE_READ] = LEVEL_WORD_RR, [LEVEL_SERIALIZABLE] = LEVEL_WORD_SER};

	for (size_t i = 0; i < l->e->txn_count; i++) {
		const struct record_txn *r = &l->e->txns[i].record;
		struct learnt_txn *txn;

		if (r->event != TXN_END)
			continue;
		txn = txn_of(l, r->txn);
		txn->session = l->e->txns[i].session;
		if (r->autocommit)
			txn->begin = BEGIN_SINGLE;
		if (txn->end == END_OPEN)
			txn->end = r->outcome == TXN_COMMITTED ? END_COMMIT : r->outcome == TXN_ABORTED ? END_ROLLBACK : END_OPEN;
		if (r->level > LEVEL_UNKNOWN && r->level <= LEVEL_SERIALIZABLE && txn->statements)
			saw_word(l, FEATURE_LEVEL, levels[r->level]);
	}
}

static void learn_transactions(struct learning *l)
{
	uint64_t *each = mem_zero(l->e->session_count + 1, sizeof(*each)), sessions = 0;

	for (size_t i = 0; i < l->txn_count; i++) {
		const struct learnt_txn *txn = &l->txn[i];

		if (!txn->statements)
			continue;
		saw_number(l, FEATURE_LENGTH, txn->statements);
		saw_word(l, FEATURE_BEGIN, txn->begin);
		saw_word(l, FEATURE_END, txn->end);
		saw_chance(l, FEATURE_SETTING, txn->sets);
		each[txn->session]++;
	}
	for (size_t i = 0; i < l->e->session_count; i++) {
		if (!each[i])
			continue;
		sessions++;
		saw_number(l, FEATURE_PER_SESSION, each[i]);
	}
	if (sessions)
		saw_number(l, FEATURE_SESSIONS, sessions);
	mem_free(each);
}

/* ---- the recording ---- */

static void note_pattern(struct learning *l, struct span sql)
{
	struct text_dialect dialect = {.ansi_quotes = l->sql.mode & SQL_MODE_ANSI_QUOTES};
	struct buf text = BUF_INIT;
	uint32_t *slot;

	statement_pattern(&text, sql, dialect);
	slot = map_at(&l->patterns, hash_bytes(text.data ? text.data : "", text.len));
	if (*slot == MAP_NONE) {
		*slot = (uint32_t)l->pattern_count;
		MEM_RESERVE(l->pattern, l->pattern_count + 1, l->pattern_capacity);
		l->pattern[l->pattern_count++] = (struct pattern){arena_copy(&l->texts, buf_span(&text)), 0};
	}
	l->pattern[*slot].count++;
	buf_release(&text);
}

static void learn_statements(struct learning *l)
{
	for (size_t i = 0; i < l->e->stmt_count; i++) {
		const struct execution_stmt *stmt = &l->e->stmts[i];
		struct learnt_txn *txn = stmt->record.txn ? txn_of(l, stmt->record.txn) : NULL;
		struct sql_stmt *s;
		struct err err;

		arena_clear(&l->arena);
		if (!stmt->sql.ptr || stmt->record.command == 0x16 || !sql_parse(&l->arena, stmt->sql, &l->sql, &s, &err))
			continue;
		l->stmt = stmt;
		if (learn_statement(l, s)) {
			l->statements++;
			saw_chance(l, FEATURE_SAVEPOINT, false);
			saw_chance(l, FEATURE_DEFINITION, false);
			note_pattern(l, stmt->sql);
			if (txn)
				txn->statements++;
		} else if (sql_stmt_is_ddl(s)) {
			saw_chance(l, FEATURE_DEFINITION, true);
		} else if (txn) {
			learn_control(l, s, txn);
		}
	}
}

/* ---- how accesses spread ---- */

/* The sum of the squares of the shares of n items under Zipf's law: the chance that two accesses meet. */
static double meeting_chance(double exponent, uint64_t n)
{
	double sum = 0, squares = 0;

	for (uint64_t i = 1; i <= n; i++) {
		double weight = pow((double)i, -exponent);

		sum += weight;
		squares += weight * weight;
	}
	return squares / (sum * sum);
}

/* Zipf's exponent in hundredths, from how often two accesses of the recording meet.  This does not depend on an order of
 * the rows, so chance alone does not look like a spread. */
static uint32_t learn_exponent(const struct learning *l, bool *known)
{
	const struct learnt_table *t = NULL;
	double pairs = 0, low = 0, high = 3;
	uint64_t rows;

	for (size_t i = 0; i < l->e->table_count; i++)
		if (!t || l->tables[i].accesses > t->accesses)
			t = &l->tables[i];
	*known = t && t->accesses >= 50 && t->count_count >= 2;
	if (!*known)
		return 0;
	for (size_t i = 0; i < t->count_count; i++)
		pairs += (double)t->counts[i] * ((double)t->counts[i] - 1);
	pairs /= (double)t->accesses * ((double)t->accesses - 1);
	rows = t->rows > t->count_count ? t->rows : t->count_count;
	rows = rows > 1000000 ? 1000000 : rows;
	for (unsigned i = 0; i < 24; i++) {
		double middle = (low + high) / 2;

		if (meeting_chance(middle, rows) < pairs)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)(low * 100 + 0.5);
}

/* ---- the model ---- */

/* ":333": of a thousand; nothing where there is no other value. */
static void print_weight(uint64_t part, uint64_t all, struct buf *out)
{
	uint64_t weight = part * 1000 / all;

	if (part != all)
		buf_printf(out, ":%llu", (unsigned long long)(weight ? weight : 1));
}

static void print_number(const struct tally *t, struct buf *out)
{
	uint64_t all = 0, distinct = 0, at = 0, from = NUMBERS_MAX, weight = 0;

	for (unsigned i = 0; i < NUMBERS_MAX; i++) {
		all += t->numbers[i];
		distinct += t->numbers[i] > 0;
	}
	/* Few values each have a weight; many become ranges of about equal weight. */
	for (unsigned i = 0; i < NUMBERS_MAX; i++) {
		if (!t->numbers[i])
			continue;
		from = from == NUMBERS_MAX ? i : from;
		weight += t->numbers[i];
		at++;
		if (distinct > RANGES && weight * RANGES < all && at < distinct)
			continue;
		if (i == from)
			buf_printf(out, " %u", i);
		else
			buf_printf(out, " %u..%u", (unsigned)from, i);
		print_weight(weight, all, out);
		from = NUMBERS_MAX;
		weight = 0;
	}
}

static void print_words(const struct feature_def *def, const struct tally *t, struct buf *out)
{
	uint64_t all = 0;

	for (unsigned w = 0; def->words[w]; w++)
		all += t->words[w];
	for (unsigned w = 0; def->words[w]; w++) {
		if (!t->words[w])
			continue;
		buf_printf(out, " %s", def->words[w]);
		print_weight(t->words[w], all, out);
	}
}

static bool was_seen(const struct feature_def *def, const struct tally *t)
{
	uint64_t sum = t->all;

	for (unsigned i = 0; i < NUMBERS_MAX; i++)
		sum += t->numbers[i];
	for (unsigned w = 0; def->words && def->words[w]; w++)
		sum += t->words[w];
	return sum > 0;
}

static void print_rows(const struct learning *l, struct buf *out)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < l->e->table_count; i++) {
		uint64_t rows = l->tables[i].rows;

		if (!l->e->tables[i].has_initial)
			continue;
		rows = rows > feature_def(FEATURE_ROWS)->max ? feature_def(FEATURE_ROWS)->max : rows;
		least = rows < least ? rows : least;
		most = rows > most ? rows : most;
	}
	if (least != UINT64_MAX)
		buf_printf(out, least == most ? "rows = %llu\n" : "rows = %llu..%llu\n", (unsigned long long)least, (unsigned long long)most);
}

static void print_model(struct learning *l, struct buf *out)
{
	int section = -1;
	bool known;
	uint32_t exponent = learn_exponent(l, &known);

	for (unsigned f = 0; f < FEATURE_COUNT; f++) {
		const struct feature_def *def = feature_def((enum model_feature)f);
		const struct tally *t = &l->tallies[f];

		if ((int)def->section != section && def->section != SECTION_SCHEDULE)
			buf_printf(out, "[%s]\n", model_section_name(def->section));
		section = (int)def->section;
		if (f == FEATURE_ROWS)
			print_rows(l, out);
		if (f == FEATURE_ACCESS && known && exponent < 3)
			buf_add_str(out, "access = uniform\n");
		else if (f == FEATURE_ACCESS && known)
			buf_printf(out, "access = zipf(%u.%02u)\n", exponent / 100, exponent % 100);
		if (f == FEATURE_IDIOM)
			buf_add_str(out, "idiom = none\n");
		if (!was_seen(def, t))
			continue;
		buf_printf(out, "%s =", def->name);
		if (def->kind == FEATURE_IS_NUMBER)
			print_number(t, out);
		else if (def->kind == FEATURE_IS_WORD)
			print_words(def, t, out);
		else
			buf_printf(out, " %llu.%llu%%", (unsigned long long)(t->yes * 1000 / t->all / 10), (unsigned long long)(t->yes * 1000 / t->all % 10));
		buf_add_char(out, '\n');
	}
}

static int by_count(const void *a, const void *b)
{
	const struct pattern *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : span_cmp(x->text, y->text);
}

static void print_comments(struct learning *l, const char *path, struct buf *out)
{
	buf_printf(out, "# Learnt from %s: %llu statements, %zu transactions, %zu tables.\n", path, (unsigned long long)l->statements,
		l->txn_count, l->e->table_count);
	for (size_t i = 0; i < l->e->table_count; i++)
		buf_printf(out, "# table %.*s: %llu rows, %llu accesses by key\n", SPAN_ARG(l->e->tables[i].schema.name),
			(unsigned long long)l->tables[i].rows, (unsigned long long)l->tables[i].accesses);
	qsort(l->pattern, l->pattern_count, sizeof(*l->pattern), by_count);
	for (size_t i = 0; i < l->pattern_count && i < PATTERNS_SHOWN; i++) {
		buf_printf(out, "# %llu x ", (unsigned long long)l->pattern[i].count);
		for (size_t k = 0; k < l->pattern[i].text.len && k < 150; k++)
			buf_add_char(out, l->pattern[i].text.ptr[k] >= ' ' ? l->pattern[i].text.ptr[k] : ' ');
		buf_add_char(out, '\n');
	}
}

static void release(struct learning *l)
{
	for (size_t i = 0; i < l->e->table_count; i++) {
		map_release(&l->tables[i].access);
		mem_free(l->tables[i].counts);
	}
	mem_free(l->tables);
	mem_free(l->txn);
	mem_free(l->pattern);
	map_release(&l->txns);
	map_release(&l->patterns);
	arena_release(&l->arena);
	arena_release(&l->texts);
}

bool learn_model(const char *path, bool anonymous, struct buf *out, struct err *err)
{
	const struct execution_load_options load = {.results_apart = true};
	struct execution e;
	struct learning *l;
	bool ok;

	if (!execution_load(&e, path, &load, err))
		return false;
	l = mem_zero(1, sizeof(*l));
	l->e = &e;
	l->txns = MAP_INIT;
	l->patterns = MAP_INIT;
	l->sql = sql_options_for_server(e.server.version);
	l->sql.mode = sql_mode_flags(execution_variable(&e, "sql_mode"));
	learn_tables(l);
	learn_statements(l);
	learn_txn_records(l);
	learn_transactions(l);
	ok = l->statements > 0 || err_set(err, ERR_EMPTY, "%s: there is no statement that reads or writes a table", path);
	if (ok && !anonymous)
		print_comments(l, path, out);
	if (ok)
		print_model(l, out);
	release(l);
	mem_free(l);
	execution_release(&e);
	return ok;
}
