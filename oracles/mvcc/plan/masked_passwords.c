/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passwords that the recorder has masked (formats/sql/text/mask_passwords.c): '***' stands for them.  What is assigned to a column
 * is a value that is not known, as NOW() is, and the rest of the row is judged as ever.  Anywhere else it is not known what the
 * statement did.
 */
#include "mvcc/plan/masked_passwords.h"

#include "mvcc/solver.h"

static bool is_mask(const struct sql_expr *e)
{
	return e && e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_STRING &&
	       span_eq_str(e->u.literal.text, "***");
}

static bool count(void *ctx, const struct sql_expr *e)
{
	*(uint32_t *)ctx += is_mask(e);
	return true;
}

static uint32_t count_assigned(const struct sql_assign *set)
{
	uint32_t found = 0;

	for (; set; set = set->next)
		found += is_mask(set->value);
	return found;
}

bool masks_are_assigned(const struct sql_stmt *stmt)
{
	uint32_t all = 0, assigned = 0;

	/* CREATE USER, SET PASSWORD and the like touch no table of the trace. */
	if (stmt->kind == SQL_STMT_ACCOUNT)
		return true;
	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = count, .ctx = &all});
	if (stmt->kind == SQL_STMT_UPDATE)
		assigned = count_assigned(stmt->u.update->set);
	else if (stmt->kind == SQL_STMT_INSERT || stmt->kind == SQL_STMT_REPLACE)
		assigned = count_assigned(stmt->u.insert->set) +
			   count_assigned(stmt->u.insert->on_duplicate);
	return all && assigned == all;
}
