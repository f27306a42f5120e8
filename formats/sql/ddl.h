/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of CREATE, ALTER and DROP share.  Internal to formats/sql. */
#ifndef SQL_DDL_H
#define SQL_DDL_H

#include "sql/parse.h"

/* A word of the grammar that is no keyword here. */
static inline bool is_word(const struct parser *p, const char *word)
{
	return p->tok.kind != T_QUOTED && p->tok.kind != T_STRING &&
	       span_ieq_str(span_of(p->text + p->tok.start, p->tok.end - p->tok.start), word);
}

/* ddl_option.c */
struct sql_option *option_new(struct parser *p, struct span name);
void option_value(struct parser *p, struct sql_option *opt);
struct sql_option *parse_table_option(struct parser *p); /* NULL: none */
bool at_plugin_option(struct parser *p);
struct sql_option *parse_plugin_option(struct parser *p);
/* USING x before the columns, at most once; gives the tail after it. */
struct sql_option **parse_key_using(
	struct parser *p, enum sql_key_kind kind, struct sql_option **tail);
void parse_key_options(struct parser *p, enum sql_key_kind kind, struct sql_option **tail);

/* ddl_key.c */
struct sql_key *parse_key(struct parser *p);
struct sql_key_part *parse_key_parts(struct parser *p, enum sql_key_kind kind);
struct sql_reference *parse_reference(struct parser *p);
void parse_check(struct parser *p, struct sql_key *key);

/* ddl_column.c */
struct span parse_field_name(struct parser *p); /* MariaDB: c, t.c, db.t.c or .c */
struct sql_column_def *parse_column_def(struct parser *p, bool changed);
struct sql_expr *parse_default(struct parser *p, bool altered);
struct sql_element *parse_element(struct parser *p, bool *if_not_exists);
struct sql_element *parse_elements(struct parser *p);

/* ddl_partition.c */
struct sql_partition_by *parse_partition_by(struct parser *p);

#endif
