/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data definition back to text. */
#include "base/bug.h"
#include "sql/print.h"

static const char *type_text(enum sql_type_kind kind)
{
	switch (kind) {
	case SQL_TYPE_TINYINT:
		return "TINYINT";
	case SQL_TYPE_SMALLINT:
		return "SMALLINT";
	case SQL_TYPE_MEDIUMINT:
		return "MEDIUMINT";
	case SQL_TYPE_INT:
		return "INT";
	case SQL_TYPE_BIGINT:
		return "BIGINT";
	case SQL_TYPE_SERIAL:
		return "SERIAL";
	case SQL_TYPE_BOOL:
		return "BOOL";
	case SQL_TYPE_DECIMAL:
		return "DECIMAL";
	case SQL_TYPE_FLOAT:
		return "FLOAT";
	case SQL_TYPE_DOUBLE:
		return "DOUBLE";
	case SQL_TYPE_BIT:
		return "BIT";
	case SQL_TYPE_DATE:
		return "DATE";
	case SQL_TYPE_TIME:
		return "TIME";
	case SQL_TYPE_DATETIME:
		return "DATETIME";
	case SQL_TYPE_TIMESTAMP:
		return "TIMESTAMP";
	case SQL_TYPE_YEAR:
		return "YEAR";
	case SQL_TYPE_CHAR:
		return "CHAR";
	case SQL_TYPE_VARCHAR:
		return "VARCHAR";
	case SQL_TYPE_NCHAR:
		return "NCHAR";
	case SQL_TYPE_NVARCHAR:
		return "NVARCHAR";
	case SQL_TYPE_BINARY:
		return "BINARY";
	case SQL_TYPE_VARBINARY:
		return "VARBINARY";
	case SQL_TYPE_TINYBLOB:
		return "TINYBLOB";
	case SQL_TYPE_BLOB:
		return "BLOB";
	case SQL_TYPE_MEDIUMBLOB:
		return "MEDIUMBLOB";
	case SQL_TYPE_LONGBLOB:
		return "LONGBLOB";
	case SQL_TYPE_TINYTEXT:
		return "TINYTEXT";
	case SQL_TYPE_TEXT:
		return "TEXT";
	case SQL_TYPE_MEDIUMTEXT:
		return "MEDIUMTEXT";
	case SQL_TYPE_LONGTEXT:
		return "LONGTEXT";
	case SQL_TYPE_ENUM:
		return "ENUM";
	case SQL_TYPE_SET:
		return "SET";
	case SQL_TYPE_JSON:
		return "JSON";
	case SQL_TYPE_SIGNED:
		return "SIGNED";
	case SQL_TYPE_UNSIGNED:
		return "UNSIGNED";
	case SQL_TYPE_GEOMETRY:
	case SQL_TYPE_OTHER:
		break;
	}
	return "";
}

void put_type(struct printer *p, const struct sql_type *type)
{
	if (type->kind == SQL_TYPE_GEOMETRY || type->kind == SQL_TYPE_OTHER)
		put_span(p, type->name);
	else
		put(p, type_text(type->kind));
	if (type->length.ptr) {
		put(p, "(");
		put_span(p, type->length);
		if (type->decimals.ptr) {
			put(p, ", ");
			put_span(p, type->decimals);
		}
		put(p, ")");
	}
	if (type->values) {
		put(p, "(");
		for (const struct sql_expr *e = type->values; e; e = e->next) {
			put_expr(p, e);
			put(p, e->next ? ", " : ")");
		}
	}
	put(p, type->compressed ? " COMPRESSED" : "");
	put(p, type->is_signed ? " SIGNED" : "");
	put(p, type->is_unsigned ? " UNSIGNED" : "");
	put(p, type->zerofill ? " ZEROFILL" : "");
	put(p, type->ascii ? " ASCII" : "");
	put(p, type->unicode ? " UNICODE" : "");
	put(p, type->byte ? " BYTE" : "");
	put(p, type->binary ? " BINARY" : "");
	if (type->charset.ptr) {
		put(p, " CHARACTER SET ");
		put_name(p, type->charset);
	}
	put(p, type->array ? " ARRAY" : "");
}

/* The collation stands apart from the type in columns, where more may come between. */
static void put_collate(struct printer *p, const struct sql_type *type)
{
	if (!type->collate.ptr)
		return;
	put(p, " COLLATE ");
	if (span_ieq_str(type->collate, "default"))
		put(p, "DEFAULT");
	else
		put_name(p, type->collate);
}

void put_cast_type(struct printer *p, const struct sql_type *type)
{
	put_type(p, type);
	put_collate(p, type);
}

static void put_option(struct printer *p, const struct sql_option *opt, const char *equals)
{
	put_span(p, opt->name);
	if (opt->value.ptr) {
		put(p, equals);
		put_span(p, opt->value);
	}
}

static bool takes_no_equals(const struct sql_option *opt)
{
	static const char *const names[] = {
		"USING", "WITH PARSER", "COLUMN_FORMAT", "STORAGE", "SRID", "TABLESPACE"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (span_ieq_str(opt->name, names[i]))
			return true;
	}
	return false;
}

/* `comment` says how COMMENT is written: with = for tables and partitions, without for keys. */
static void put_options(struct printer *p, const struct sql_option *opt, bool comment)
{
	for (; opt; opt = opt->next) {
		put(p, " ");
		put_option(p, opt,
			takes_no_equals(opt) || (!comment && span_ieq_str(opt->name, "COMMENT"))
				? " "
				: " = ");
	}
}

/* ------------------------------------------------------------------ keys and columns */

static const char *action_text(enum sql_ref_action action)
{
	switch (action) {
	case SQL_REF_RESTRICT:
		return "RESTRICT";
	case SQL_REF_CASCADE:
		return "CASCADE";
	case SQL_REF_SET_NULL:
		return "SET NULL";
	case SQL_REF_NO_ACTION:
		return "NO ACTION";
	case SQL_REF_SET_DEFAULT:
		return "SET DEFAULT";
	case SQL_REF_NONE:
		break;
	}
	return "";
}

static void put_reference(struct printer *p, const struct sql_reference *ref)
{
	put(p, " REFERENCES ");
	put_table(p, &ref->table);
	if (ref->columns) {
		put(p, " ");
		put_names(p, ref->columns);
	}
	if (ref->match.ptr) {
		put(p, " MATCH ");
		put_span(p, ref->match);
	}
	if (ref->on_delete) {
		put(p, " ON DELETE ");
		put(p, action_text(ref->on_delete));
	}
	if (ref->on_update) {
		put(p, " ON UPDATE ");
		put(p, action_text(ref->on_update));
	}
}

static void put_key_parts(struct printer *p, const struct sql_key_part *part)
{
	put(p, " (");
	for (; part; part = part->next) {
		if (part->expr) {
			put(p, "(");
			put_expr(p, part->expr);
			put(p, ")");
		} else {
			put_name(p, part->column);
		}
		if (part->length.ptr) {
			put(p, "(");
			put_span(p, part->length);
			put(p, ")");
		}
		put(p, part->without_overlaps ? " WITHOUT OVERLAPS" : "");
		put(p, part->desc ? " DESC" : part->asc ? " ASC" : "");
		if (part->next)
			put(p, ", ");
	}
	put(p, ")");
}

static const char *key_text(enum sql_key_kind kind)
{
	switch (kind) {
	case SQL_KEY_INDEX:
		return "INDEX";
	case SQL_KEY_PRIMARY:
		return "PRIMARY KEY";
	case SQL_KEY_UNIQUE:
		return "UNIQUE INDEX";
	case SQL_KEY_FULLTEXT:
		return "FULLTEXT INDEX";
	case SQL_KEY_SPATIAL:
		return "SPATIAL INDEX";
	case SQL_KEY_VECTOR:
		return "VECTOR INDEX";
	case SQL_KEY_FOREIGN:
		return "FOREIGN KEY";
	case SQL_KEY_CHECK:
		return "CHECK";
	}
	return "";
}

static void put_key(struct printer *p, const struct sql_key *key)
{
	if (key->has_constraint) {
		put(p, "CONSTRAINT ");
		if (key->constraint.ptr) {
			put(p, key->if_not_exists && key->kind == SQL_KEY_CHECK
					? "IF NOT EXISTS "
					: "");
			put_name(p, key->constraint);
			put(p, " ");
		}
	}
	put(p, key_text(key->kind));
	if (key->kind == SQL_KEY_CHECK) {
		put(p, " (");
		put_expr(p, key->check);
		put(p, ")");
		if (key->enforced != SQL_UNSAID)
			put(p, key->enforced == SQL_YES ? " ENFORCED" : " NOT ENFORCED");
		return;
	}
	if (key->if_not_exists)
		put(p, " IF NOT EXISTS");
	if (key->name.ptr) {
		put(p, " ");
		put_name(p, key->name);
	}
	put_key_parts(p, key->parts);
	if (key->reference)
		put_reference(p, key->reference);
	put_options(p, key->options, false);
}

static void put_generated(struct printer *p, const struct sql_column_def *col)
{
	if (col->row_time != SQL_ROW_TIME_NONE) {
		put(p, " GENERATED ALWAYS AS ROW ");
		put(p, col->row_time == SQL_ROW_START ? "START" : "END");
	}
	if (col->generated) {
		put(p, " GENERATED ALWAYS AS (");
		put_expr(p, col->generated);
		put(p, ")");
		if (col->storage != SQL_GENERATED_NONE)
			put(p, col->storage == SQL_GENERATED_STORED ? " STORED" : " VIRTUAL");
	}
}

static void put_default(struct printer *p, const struct sql_expr *e)
{
	bool bare = e->kind == SQL_EXPR_LITERAL ||
		    (e->kind == SQL_EXPR_UNARY && (e->op == SQL_OP_NEG || e->op == SQL_OP_PLUS) &&
			    e->u.binary.left->kind == SQL_EXPR_LITERAL) ||
		    (e->kind == SQL_EXPR_CALL && !e->u.call.db.ptr &&
			    (span_ieq_str(e->u.call.name, "current_timestamp") ||
				    span_ieq_str(e->u.call.name, "now") ||
				    span_ieq_str(e->u.call.name, "localtime") ||
				    span_ieq_str(e->u.call.name, "localtimestamp")));

	put(p, bare ? "" : "(");
	put_expr(p, e);
	put(p, bare ? "" : ")");
}

static void put_column_def(struct printer *p, const struct sql_column_def *col)
{
	put_name(p, col->name);
	if (col->has_type) {
		put(p, " ");
		put_type(p, &col->type);
	}
	put_collate(p, &col->type);
	put_generated(p, col);
	if (col->nullable != SQL_UNSAID)
		put(p, col->nullable == SQL_YES ? " NULL" : " NOT NULL");
	if (col->dflt) {
		put(p, " DEFAULT ");
		put_default(p, col->dflt);
	}
	if (col->on_update) {
		put(p, " ON UPDATE ");
		put_simple(p, col->on_update);
	}
	put(p, col->visible == SQL_NO ? " INVISIBLE" : col->visible == SQL_YES ? " VISIBLE" : "");
	put(p, col->auto_increment ? " AUTO_INCREMENT" : "");
	put(p, col->serial_default ? " SERIAL DEFAULT VALUE" : "");
	put(p, col->primary ? " PRIMARY KEY" : "");
	put(p, col->key ? " KEY" : "");
	put(p, col->unique ? " UNIQUE" : "");
	if (col->comment.ptr) {
		put(p, " COMMENT ");
		put_string(p, col->comment);
	}
	put_options(p, col->options, true);
	for (const struct sql_key *key = col->checks; key; key = key->next) {
		put(p, " ");
		put_key(p, key);
	}
	if (col->reference)
		put_reference(p, col->reference);
}

static void put_elements(struct printer *p, const struct sql_element *el)
{
	put(p, "(");
	for (; el; el = el->next) {
		switch (el->kind) {
		case SQL_ELEMENT_COLUMN:
			put_column_def(p, el->column);
			break;
		case SQL_ELEMENT_KEY:
			put_key(p, el->key);
			break;
		case SQL_ELEMENT_PERIOD:
			put(p, "PERIOD FOR ");
			put_name(p, el->period);
			put(p, " (");
			put_name(p, el->period_from);
			put(p, ", ");
			put_name(p, el->period_to);
			put(p, ")");
			break;
		}
		if (el->next)
			put(p, ", ");
	}
	put(p, ")");
}

/* ------------------------------------------------------------------ partitions */

static void put_partition_values(struct printer *p, struct sql_exprs values)
{
	for (const struct sql_expr *e = values.first; e; e = e->next) {
		if (e->kind == SQL_EXPR_ROW) {
			put(p, "(");
			put_partition_values(p, e->u.call.args);
			put(p, ")");
		} else {
			put_bit(p, e);
		}
		if (e->next)
			put(p, ", ");
	}
}

static void put_partition_defs(struct printer *p, const struct sql_partition *part, bool sub)
{
	put(p, " (");
	for (; part; part = part->next) {
		put(p, sub ? "SUBPARTITION " : "PARTITION ");
		put_name(p, part->name);
		if (part->less_than)
			put(p, part->maxvalue ? " VALUES LESS THAN MAXVALUE"
					      : " VALUES LESS THAN (");
		else if (part->in)
			put(p, " VALUES IN (");
		put_partition_values(p, part->values);
		if ((part->less_than && !part->maxvalue) || part->in)
			put(p, ")");
		put(p, part->history ? " HISTORY" : "");
		put(p, part->current ? " CURRENT" : "");
		put(p, part->dflt ? " DEFAULT" : "");
		put_options(p, part->options, true);
		if (part->subpartitions)
			put_partition_defs(p, part->subpartitions, true);
		if (part->next)
			put(p, ", ");
	}
	put(p, ")");
}

static void put_partition_method(struct printer *p, const struct sql_partition_by *by)
{
	put(p, by->linear ? "LINEAR " : "");
	switch (by->method) {
	case SQL_PARTITION_HASH:
		put(p, "HASH");
		break;
	case SQL_PARTITION_KEY:
		put(p, "KEY");
		if (by->algorithm.ptr) {
			put(p, " ALGORITHM = ");
			put_span(p, by->algorithm);
			put(p, " ");
		}
		put_names(p, by->names);
		return;
	case SQL_PARTITION_RANGE:
		put(p, by->columns ? "RANGE COLUMNS" : "RANGE");
		break;
	case SQL_PARTITION_LIST:
		put(p, by->columns ? "LIST COLUMNS" : "LIST");
		break;
	case SQL_PARTITION_SYSTEM_TIME:
		put(p, "SYSTEM_TIME");
		if (by->system_time.ptr) {
			put(p, " ");
			put_span(p, by->system_time);
		}
		return;
	}
	put(p, " ");
	if (by->columns) {
		put_names(p, by->names);
	} else {
		put(p, "(");
		put_bit(p, by->expr);
		put(p, ")");
	}
}

static void put_partition_by(struct printer *p, const struct sql_partition_by *by)
{
	put(p, "PARTITION BY ");
	put_partition_method(p, by);
	if (by->count.ptr) {
		put(p, " PARTITIONS ");
		put_span(p, by->count);
	}
	if (by->sub) {
		put(p, " SUBPARTITION BY ");
		put_partition_method(p, by->sub);
		if (by->sub->count.ptr) {
			put(p, " SUBPARTITIONS ");
			put_span(p, by->sub->count);
		}
	}
	if (by->partitions)
		put_partition_defs(p, by->partitions, false);
}

/* ------------------------------------------------------------------ statements */

static void put_create_table(struct printer *p, const struct sql_create_table *ct)
{
	put(p, "CREATE ");
	put(p, ct->or_replace ? "OR REPLACE " : "");
	put(p, ct->temporary ? "TEMPORARY " : "");
	put(p, ct->if_not_exists ? "TABLE IF NOT EXISTS " : "TABLE ");
	put_table(p, &ct->table);
	if (ct->like) {
		put(p, " LIKE ");
		put_table(p, ct->like);
		return;
	}
	if (ct->elements) {
		put(p, " ");
		put_elements(p, ct->elements);
	}
	put_options(p, ct->options, true);
	if (ct->partition) {
		put(p, " ");
		put_partition_by(p, ct->partition);
	}
	put(p, ct->ignore ? " IGNORE" : ct->replace ? " REPLACE" : "");
	if (ct->query) {
		put(p, " AS ");
		put_query(p, ct->query);
	}
}

static void put_place(struct printer *p, const struct sql_alter *a)
{
	if (a->first)
		put(p, " FIRST");
	if (a->after.ptr) {
		put(p, " AFTER ");
		put_name(p, a->after);
	}
}

static void put_named_action(struct printer *p, const struct sql_alter *a, const char *words)
{
	put(p, words);
	put(p, a->if_exists ? "IF EXISTS " : "");
	put_name(p, a->name);
}

static void put_alter(struct printer *p, const struct sql_alter *a)
{
	switch (a->kind) {
	case SQL_ALTER_ADD_COLUMN:
		put(p, "ADD COLUMN ");
		put(p, a->if_not_exists ? "IF NOT EXISTS " : "");
		put_column_def(p, a->column);
		put_place(p, a);
		return;
	case SQL_ALTER_ADD_COLUMNS:
		put(p, "ADD COLUMN ");
		put(p, a->if_not_exists ? "IF NOT EXISTS " : "");
		put_elements(p, a->elements);
		return;
	case SQL_ALTER_ADD_KEY:
		put(p, "ADD ");
		put_key(p, a->key);
		return;
	case SQL_ALTER_ADD_PERIOD:
		put(p, a->if_not_exists ? "ADD PERIOD IF NOT EXISTS FOR " : "ADD PERIOD FOR ");
		put_name(p, a->name);
		put(p, " (");
		put_name(p, a->period_from);
		put(p, ", ");
		put_name(p, a->period_to);
		put(p, ")");
		return;
	case SQL_ALTER_MODIFY_COLUMN:
		put(p, "MODIFY COLUMN ");
		put(p, a->if_exists ? "IF EXISTS " : "");
		put_column_def(p, a->column);
		put_place(p, a);
		return;
	case SQL_ALTER_CHANGE_COLUMN:
		put_named_action(p, a, "CHANGE COLUMN ");
		put(p, " ");
		put_column_def(p, a->column);
		put_place(p, a);
		return;
	case SQL_ALTER_RENAME_COLUMN:
	case SQL_ALTER_RENAME_KEY:
		put_named_action(
			p, a, a->kind == SQL_ALTER_RENAME_KEY ? "RENAME INDEX " : "RENAME COLUMN ");
		put(p, " TO ");
		put_name(p, a->new_name);
		return;
	case SQL_ALTER_COLUMN_DEFAULT:
		put_named_action(p, a, "ALTER COLUMN ");
		if (a->value) {
			bool call = a->value->kind == SQL_EXPR_CALL;

			put(p, call ? " SET DEFAULT (" : " SET DEFAULT ");
			if (call)
				put_expr(p, a->value);
			else
				put_default(p, a->value);
			put(p, call ? ")" : "");
		} else {
			put(p, " DROP DEFAULT");
		}
		return;
	case SQL_ALTER_COLUMN_VISIBLE:
		put_named_action(p, a, "ALTER COLUMN ");
		put(p, a->first ? " SET VISIBLE" : " SET INVISIBLE");
		return;
	case SQL_ALTER_DROP_COLUMN:
		put_named_action(p, a, "DROP COLUMN ");
		return;
	case SQL_ALTER_DROP_PRIMARY:
		put(p, "DROP PRIMARY KEY");
		return;
	case SQL_ALTER_DROP_KEY:
		put_named_action(p, a, "DROP INDEX ");
		return;
	case SQL_ALTER_DROP_FOREIGN:
		put_named_action(p, a, "DROP FOREIGN KEY ");
		return;
	case SQL_ALTER_DROP_CONSTRAINT:
		put_named_action(p, a, a->check_word ? "DROP CHECK " : "DROP CONSTRAINT ");
		return;
	case SQL_ALTER_RENAME_TABLE:
		put(p, "RENAME TO ");
		put_table(p, &a->table);
		return;
	case SQL_ALTER_ORDER:
		put_order(p, "ORDER BY ", a->order);
		return;
	case SQL_ALTER_OPTION:
		put_option(p, a->option, takes_no_equals(a->option) ? " " : " = ");
		return;
	case SQL_ALTER_PARTITION_BY:
		put_partition_by(p, a->partition);
		return;
	case SQL_ALTER_INDEX:
	case SQL_ALTER_TEXT:
		put_span(p, a->text);
		return;
	}
}

static void put_wait(struct printer *p, struct span wait)
{
	if (!wait.ptr)
		return;
	put(p, " ");
	put_span(p, wait);
}

static void put_alter_table(struct printer *p, const struct sql_alter_table *at)
{
	put(p, "ALTER ");
	put(p, at->online ? "ONLINE " : "");
	put(p, at->ignore ? "IGNORE " : "");
	put(p, at->if_exists ? "TABLE IF EXISTS " : "TABLE ");
	put_table(p, &at->table);
	put_wait(p, at->wait);
	for (const struct sql_alter *a = at->actions; a; a = a->next) {
		put(p, " ");
		put_alter(p, a);
		put(p, a->comma ? "," : "");
	}
}

static void put_index(struct printer *p, const struct sql_index_stmt *ix, bool create)
{
	put(p, create ? "CREATE " : "DROP ");
	put(p, ix->or_replace ? "OR REPLACE " : "");
	put(p, create ? key_text(ix->key.kind) : "INDEX");
	put(p, create && ix->key.if_not_exists ? " IF NOT EXISTS " : " ");
	put(p, ix->if_exists ? "IF EXISTS " : "");
	put_name(p, ix->key.name);
	put(p, " ON ");
	put_table(p, &ix->table);
	if (create)
		put_key_parts(p, ix->key.parts);
	put_wait(p, ix->wait);
	if (create)
		put_options(p, ix->key.options, false);
	put_options(p, ix->options, true);
}

static void put_drop(struct printer *p, const struct sql_drop *drop, const char *what)
{
	put(p, "DROP ");
	put(p, drop->temporary ? "TEMPORARY " : "");
	put(p, what);
	put(p, drop->if_exists ? " IF EXISTS " : " ");
	for (const struct sql_table_name *t = drop->tables; t; t = t->next) {
		put_table(p, t);
		if (t->next)
			put(p, ", ");
	}
	put_wait(p, drop->wait);
	put(p, drop->cascade ? " CASCADE" : drop->restrict_word ? " RESTRICT" : "");
}

static void put_rename(struct printer *p, const struct sql_rename *r)
{
	put(p, "RENAME TABLE ");
	for (; r; r = r->next) {
		put_table(p, &r->from);
		put_wait(p, r->wait);
		put(p, " TO ");
		put_table(p, &r->to);
		if (r->next)
			put(p, ", ");
	}
}

void put_ddl(struct printer *p, const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_CREATE_TABLE:
		put_create_table(p, stmt->u.create_table);
		return;
	case SQL_STMT_ALTER_TABLE:
		put_alter_table(p, stmt->u.alter_table);
		return;
	case SQL_STMT_DROP_TABLE:
		put_drop(p, stmt->u.drop, "TABLE");
		return;
	case SQL_STMT_DROP_VIEW:
		put_drop(p, stmt->u.drop, "VIEW");
		return;
	case SQL_STMT_DROP_SEQUENCE:
		put_drop(p, stmt->u.drop, "SEQUENCE");
		return;
	case SQL_STMT_TRUNCATE:
		put(p, stmt->u.drop->table_word ? "TRUNCATE TABLE " : "TRUNCATE ");
		put_table(p, stmt->u.drop->tables);
		put_wait(p, stmt->u.drop->wait);
		return;
	case SQL_STMT_RENAME_TABLE:
		put_rename(p, stmt->u.rename);
		return;
	case SQL_STMT_CREATE_INDEX:
		put_index(p, stmt->u.index, true);
		return;
	case SQL_STMT_DROP_INDEX:
		put_index(p, stmt->u.index, false);
		return;
	default:
		BUG("not a data definition: %d", stmt->kind);
	}
}
