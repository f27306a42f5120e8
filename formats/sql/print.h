/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the printer's files share.  Internal to formats/sql. */
#ifndef SQL_PRINT_H
#define SQL_PRINT_H

#include "sql/sql.h"

struct printer {
	struct buf *out;
	struct sql_options opt;
	bool explicit; /* parentheses around everything that has operands */
};

void put(struct printer *p, const char *s);
void put_span(struct printer *p, struct span s);
void put_name(struct printer *p, struct span name);
void put_string(struct printer *p, struct span value);
void put_names(struct printer *p, const struct sql_names *names); /* (a, b) */
void put_table(struct printer *p, const struct sql_table_name *table);
void put_expr(struct printer *p, const struct sql_expr *e);
void put_simple(struct printer *p, const struct sql_expr *e); /* as an operand of an operator */
void put_bit(struct printer *p, const struct sql_expr *e);    /* as a bit expression */
void put_exprs(struct printer *p, struct sql_exprs list);
void put_type(struct printer *p, const struct sql_type *type);
void put_cast_type(struct printer *p, const struct sql_type *type);
void put_query(struct printer *p, const struct sql_query *q);
void put_order(struct printer *p, const char *words, const struct sql_order *order);
void put_scope(struct printer *p, enum sql_scope scope, const char *behind);
void put_window(struct printer *p, const struct sql_window *w);
bool left_needs_parens(const struct sql_query *q, const struct sql_query *left);
void put_hints(struct printer *p, const struct sql_index_hint *hint);
void put_hint(struct printer *p, struct span hint);
void put_items(struct printer *p, const struct sql_item *item);
void put_limit(struct printer *p, const struct sql_limit *limit);
void put_named_table(struct printer *p, const struct sql_table_ref *ref);
void put_refs(struct printer *p, const struct sql_table_ref *ref);
void put_rows(struct printer *p, const struct sql_values_row *row, const char *open);
void put_with(struct printer *p, const struct sql_with *with);
void put_insert(struct printer *p, const struct sql_insert *ins, bool replace);
void put_update(struct printer *p, const struct sql_update *up);
void put_delete(struct printer *p, const struct sql_delete *del);
void put_stmt(struct printer *p, const struct sql_stmt *stmt);
void put_ddl(struct printer *p, const struct sql_stmt *stmt);

#endif
