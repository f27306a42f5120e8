/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * t PARTITION (p0, p1), where an integer column decides about the partition: the rows of which a
 * condition on that column is true (MySQL manual, "Partition Selection").
 */
#include "mvcc/plan/partition.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/plan/sql_view.h"
#include "mvcc/solver.h"

enum { PARTITIONS_MAX = 1024, PARTITION_TEXT_MAX = 65536 };

static bool add_integer(struct buf *out, const struct sql_expr *e)
{
	bool minus = e->kind == SQL_EXPR_UNARY && e->op == SQL_OP_NEG;

	if (minus)
		e = e->u.binary.left;
	if (e->kind != SQL_EXPR_LITERAL || e->u.literal.kind != SQL_LIT_INT)
		return false;
	buf_add_str(out, minus ? "-" : "");
	buf_add_span(out, e->u.literal.text);
	return true;
}

static bool is_maxvalue(const struct sql_partition *p)
{
	return p->maxvalue || (p->values.first && p->values.first->kind == SQL_EXPR_COLUMN &&
				      span_ieq_str(p->values.first->u.column.name, "maxvalue"));
}

/* VALUES LESS THAN: from the bound of the one before on; NULL is less than anything. */
static bool add_range(struct buf *out, struct span column, const struct sql_partition *before,
	const struct sql_partition *p)
{
	if (before) {
		sql_print_name(column, out);
		buf_add_str(out, " >= ");
		if (before->values.count != 1 || !add_integer(out, before->values.first))
			return false;
	} else {
		sql_print_name(column, out);
		buf_add_str(out, " is null");
	}
	if (is_maxvalue(p)) {
		buf_add_str(out, before ? "" : " or true");
		return true;
	}
	buf_add_str(out, before ? " and " : " or ");
	sql_print_name(column, out);
	buf_add_str(out, " < ");
	return p->values.count == 1 && add_integer(out, p->values.first);
}

static bool add_list(struct buf *out, struct span column, const struct sql_partition *p)
{
	bool first = true;

	if (!p->in || p->dflt)
		return false;
	for (const struct sql_expr *e = p->values.first; e; e = e->next, first = false) {
		buf_add_str(out, first ? "" : " or ");
		sql_print_name(column, out);
		if (e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_NULL) {
			buf_add_str(out, " is null");
			continue;
		}
		buf_add_str(out, " = ");
		if (!add_integer(out, e))
			return false;
	}
	return !first;
}

/* The remainder, without its sign.  NULL is the least BIGINT (seen on all servers; the manual says
 * 0). */
static void add_hash(struct buf *out, struct span column, uint64_t count, uint64_t number)
{
	buf_add_str(out, "abs(");
	sql_print_name(column, out);
	buf_printf(out, " %% %llu) = %llu", (unsigned long long)count, (unsigned long long)number);
	if ((UINT64_C(1) << 63) % count == number) {
		buf_add_str(out, " or ");
		sql_print_name(column, out);
		buf_add_str(out, " is null");
	}
}

/* Does PARTITION (...) name it? */
static bool is_named(const struct sql_names *names, struct span name)
{
	for (; names; names = names->next) {
		if (span_ieq(names->name, name))
			return true;
	}
	return false;
}

static uint32_t name_count(const struct sql_names *names)
{
	uint32_t count = 0;

	for (; names; names = names->next)
		count++;
	return count;
}

/* Partitions that are listed, or that are p0, p1 ... for want of a list. */
static bool add_partitions(
	struct buf *out, const struct sql_partition_by *by, const struct sql_names *names)
{
	const struct sql_partition *p = by->partitions, *before = NULL;
	uint64_t count = 0, number = 0;
	uint32_t found = 0;

	if (by->count.ptr && !text_number(by->count, &count))
		return false;
	for (const struct sql_partition *each = p; each && !by->count.ptr; each = each->next)
		count++;
	if (!count || count > PARTITIONS_MAX || (!p && by->method != SQL_PARTITION_HASH))
		return false;
	for (; number < count; number++) {
		char made[32];

		snprintf(made, sizeof(made), "p%u", (unsigned)number);
		if (is_named(names, p ? p->name : span_str(made))) {
			buf_add_str(out, found++ ? " or (" : "(");
			if (by->method == SQL_PARTITION_HASH)
				add_hash(out, by->expr->u.column.name, count, number);
			else if (!(by->method == SQL_PARTITION_RANGE
						 ? add_range(
							   out, by->expr->u.column.name, before, p)
						 : add_list(out, by->expr->u.column.name, p)))
				return false;
			buf_add_char(out, ')');
		}
		before = p;
		p = p ? p->next : NULL;
		if (before && !p && number + 1 < count)
			return false;
	}
	return found == name_count(names) && out->len < PARTITION_TEXT_MAX;
}

static struct sql_expr *condition(
	struct mvcc *m, const struct store_table *table, const struct sql_names *names)
{
	const struct sql_partition_by *by = table->create ? table->create->partition : NULL;
	struct sql_options options = m->sql;
	struct buf text = BUF_INIT;
	struct sql_stmt *stmt = NULL;
	uint32_t column;
	struct err err;

	if (!by || by->sub || by->linear || by->columns || !by->expr ||
		by->expr->kind != SQL_EXPR_COLUMN || table->made_by != STORE_NONE ||
		(by->method != SQL_PARTITION_RANGE && by->method != SQL_PARTITION_LIST &&
			by->method != SQL_PARTITION_HASH))
		return NULL;
	column = eval_table_column(table->def, by->expr->u.column.name);
	if (column == UINT32_MAX || table->def->columns[column].type.kind != EVAL_T_INT ||
		table->def->columns[column].type.is_unsigned)
		return NULL;
	buf_add_str(&text, "do ");
	options.mode = 0;
	if (!add_partitions(&text, by, names) ||
		!sql_parse(&m->catalog.arena, arena_copy(&m->catalog.arena, buf_span(&text)), &options,
			&stmt, &err))
		stmt = NULL;
	buf_release(&text);
	return stmt ? stmt->u.exprs.first : NULL;
}

/* An UPDATE of the column may have to fail with error 1748. */
static bool keeps_partition(const struct store_table *table, const struct sql_assign *set)
{
	struct span column = table->create->partition->expr->u.column.name;

	for (; set; set = set->next) {
		if (span_ieq(set->target->u.column.name, column))
			return false;
	}
	return !table->triggers &&
	       !table->def->columns[eval_table_column(table->def, column)].generated;
}

void partitions_expand(
	struct mvcc *m, struct sql_stmt *stmt, const struct session_settings *settings)
{
	struct sql_table_ref *ref = NULL;
	struct sql_expr **where = NULL, *picked;
	const struct store_table *table;
	uint32_t number;

	if (stmt->kind == SQL_STMT_SELECT && stmt->u.query->kind == SQL_QUERY_SELECT) {
		ref = stmt->u.query->u.select.from;
		where = &stmt->u.query->u.select.where;
	} else if (stmt->kind == SQL_STMT_UPDATE) {
		ref = stmt->u.update->tables;
		where = &stmt->u.update->where;
	} else if (stmt->kind == SQL_STMT_DELETE && !stmt->u.del->targets) {
		ref = stmt->u.del->from;
		where = &stmt->u.del->where;
	}
	if (!ref || ref->next || ref->kind != SQL_TABLE_NAME || !ref->u.name.partitions ||
		settings_temporary(settings, &ref->u.name.table))
		return;
	number = solver_table(m,
		ref->u.name.table.db.ptr ? ref->u.name.table.db : settings->database,
		ref->u.name.table.name);
	table = number == STORE_NONE ? NULL : &m->store.tables[number];
	picked = table && table->def ? condition(m, table, ref->u.name.partitions) : NULL;
	if (!picked ||
		(stmt->kind == SQL_STMT_UPDATE && !keeps_partition(table, stmt->u.update->set)))
		return;
	*where = both_conditions(m, picked, *where);
	ref->u.name.partitions = NULL;
}
