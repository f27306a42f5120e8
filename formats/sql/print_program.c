/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stored programs back to text. */
#include "sql/print.h"
#include "sql/program.h"

static void put_list(struct printer *p, const struct sql_node *node);

static void put_variable_type(struct printer *p, const struct sql_variable_type *type)
{
	if (type->has_type)
		put_type(p, &type->type);
	else
		put_span(p, type->text);
}

static void put_parameters(struct printer *p, const struct sql_parameter *param)
{
	static const char *const words[] = {"IN ", "OUT ", "INOUT "};

	put(p, "(");
	for (; param; param = param->next) {
		put(p, param->said ? words[param->direction] : "");
		put_name(p, param->name);
		put(p, " ");
		put_variable_type(p, &param->type);
		if (param->dflt) {
			put(p, " DEFAULT ");
			put_expr(p, param->dflt);
		}
		put(p, param->next ? ", " : "");
	}
	put(p, ")");
}

static void put_conditions(struct printer *p, const struct sql_condition *c)
{
	for (; c; c = c->next) {
		switch (c->kind) {
		case SQL_CONDITION_ERROR:
			put_span(p, c->name);
			break;
		case SQL_CONDITION_STATE:
			put(p, "SQLSTATE ");
			put_string(p, c->name);
			break;
		case SQL_CONDITION_NAME:
			put_name(p, c->name);
			break;
		case SQL_CONDITION_WARNING:
			put(p, "SQLWARNING");
			break;
		case SQL_CONDITION_NOT_FOUND:
			put(p, "NOT FOUND");
			break;
		case SQL_CONDITION_EXCEPTION:
			put(p, "SQLEXCEPTION");
			break;
		}
		put(p, c->next ? ", " : "");
	}
}

static void put_bare_names(struct printer *p, const struct sql_names *names)
{
	for (; names; names = names->next) {
		put_name(p, names->name);
		put(p, names->next ? ", " : "");
	}
}

static void put_branches(
	struct printer *p, const struct sql_branch *b, const char *first, const char *next)
{
	for (const char *word = first; b; b = b->next, word = next) {
		put(p, word);
		put_expr(p, b->value);
		put(p, " THEN ");
		put_list(p, b->body);
	}
}

static void put_else(struct printer *p, const struct sql_node *node)
{
	if (node->has_else) {
		put(p, "ELSE ");
		put_list(p, node->body);
	}
}

static void put_signal(struct printer *p, const struct sql_node *node)
{
	put(p, node->kind == SQL_NODE_SIGNAL ? "SIGNAL" : "RESIGNAL");
	put(p, node->conditions ? " " : "");
	put_conditions(p, node->conditions);
	for (const struct sql_signal_item *item = node->items; item; item = item->next) {
		put(p, item == node->items ? " SET " : ", ");
		put_span(p, item->name);
		put(p, " = ");
		put_expr(p, item->value);
	}
}

static void put_node(struct printer *p, const struct sql_node *node)
{
	if (node->label.ptr) {
		put_name(p, node->label);
		put(p, ": ");
	}
	switch (node->kind) {
	case SQL_NODE_STATEMENT:
		put_stmt(p, node->stmt);
		return;
	case SQL_NODE_BLOCK:
		put(p, "BEGIN ");
		put_list(p, node->body);
		put(p, "END");
		return;
	case SQL_NODE_VARIABLE:
		put(p, "DECLARE ");
		put_bare_names(p, node->names);
		put(p, " ");
		put_variable_type(p, &node->type);
		if (node->value) {
			put(p, " DEFAULT ");
			put_expr(p, node->value);
		}
		return;
	case SQL_NODE_CONDITION:
		put(p, "DECLARE ");
		put_name(p, node->name);
		put(p, " CONDITION FOR ");
		put_conditions(p, node->conditions);
		return;
	case SQL_NODE_CURSOR:
		put(p, "DECLARE ");
		put_name(p, node->name);
		put(p, " CURSOR ");
		if (node->params) {
			put_parameters(p, node->params);
			put(p, " ");
		}
		put(p, "FOR ");
		put_stmt(p, node->stmt);
		return;
	case SQL_NODE_HANDLER:
		put(p, node->action == SQL_HANDLER_EXIT ? "DECLARE EXIT HANDLER FOR "
							: "DECLARE CONTINUE HANDLER FOR ");
		put_conditions(p, node->conditions);
		put(p, " ");
		put_node(p, node->body);
		return;
	case SQL_NODE_IF:
		put_branches(p, node->branches, "IF ", "ELSEIF ");
		put_else(p, node);
		put(p, "END IF");
		return;
	case SQL_NODE_CASE:
		put(p, "CASE ");
		if (node->value) {
			put_expr(p, node->value);
			put(p, " ");
		}
		put_branches(p, node->branches, "WHEN ", "WHEN ");
		put_else(p, node);
		put(p, "END CASE");
		return;
	case SQL_NODE_LOOP:
		put(p, "LOOP ");
		put_list(p, node->body);
		put(p, "END LOOP");
		return;
	case SQL_NODE_WHILE:
		put(p, "WHILE ");
		put_expr(p, node->value);
		put(p, " DO ");
		put_list(p, node->body);
		put(p, "END WHILE");
		return;
	case SQL_NODE_REPEAT:
		put(p, "REPEAT ");
		put_list(p, node->body);
		put(p, "UNTIL ");
		put_expr(p, node->value);
		put(p, " END REPEAT");
		return;
	case SQL_NODE_LEAVE:
	case SQL_NODE_ITERATE:
		put(p, node->kind == SQL_NODE_LEAVE ? "LEAVE " : "ITERATE ");
		put_name(p, node->name);
		return;
	case SQL_NODE_RETURN:
		put(p, "RETURN ");
		put_expr(p, node->value);
		return;
	case SQL_NODE_OPEN:
		put(p, "OPEN ");
		put_name(p, node->name);
		if (node->args.count) {
			put(p, "(");
			put_exprs(p, node->args);
			put(p, ")");
		}
		return;
	case SQL_NODE_FETCH:
		put(p, "FETCH ");
		put_name(p, node->name);
		put(p, " INTO ");
		put_bare_names(p, node->names);
		return;
	case SQL_NODE_CLOSE:
		put(p, "CLOSE ");
		put_name(p, node->name);
		return;
	case SQL_NODE_SIGNAL:
	case SQL_NODE_RESIGNAL:
		put_signal(p, node);
		return;
	}
}

static void put_list(struct printer *p, const struct sql_node *node)
{
	for (; node; node = node->next) {
		put_node(p, node);
		put(p, "; ");
	}
}

static void put_trigger(struct printer *p, const struct sql_program *program)
{
	static const struct {
		uint32_t event;
		const char *word;
	} words[] = {{SQL_TRIGGER_INSERT, "INSERT"}, {SQL_TRIGGER_UPDATE, "UPDATE"},
		{SQL_TRIGGER_DELETE, "DELETE"}};
	bool any = false;

	put(p, program->after ? " AFTER " : " BEFORE ");
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!(program->events & words[i].event))
			continue;
		put(p, any ? " OR " : "");
		put(p, words[i].word);
		any = true;
	}
	put(p, " ON ");
	put_table(p, &program->table);
	put(p, " FOR EACH ROW ");
	if (program->follows.ptr || program->precedes.ptr) {
		put(p, program->follows.ptr ? "FOLLOWS " : "PRECEDES ");
		put_name(p, program->follows.ptr ? program->follows : program->precedes);
		put(p, " ");
	}
}

static void put_routine(struct printer *p, const struct sql_program *program)
{
	static const char *const access[] = {
		"", "CONTAINS SQL ", "NO SQL ", "READS SQL DATA ", "MODIFIES SQL DATA "};

	put_parameters(p, program->params);
	put(p, " ");
	if (program->kind == SQL_PROGRAM_FUNCTION) {
		put(p, "RETURNS ");
		put_variable_type(p, &program->returns);
		put(p, " ");
	}
	put(p, program->language ? "LANGUAGE SQL " : "");
	put(p, program->deterministic        ? "DETERMINISTIC "
		: program->not_deterministic ? "NOT DETERMINISTIC "
					     : "");
	put(p, access[program->data]);
	if (program->security)
		put(p, program->invoker ? "SQL SECURITY INVOKER " : "SQL SECURITY DEFINER ");
	if (program->has_comment) {
		put(p, "COMMENT ");
		put_string(p, program->comment);
		put(p, " ");
	}
}

void sql_print_program(const struct sql_program *program, const struct sql_options *opt,
	bool explicit, struct buf *out)
{
	static const char *const words[] = {"TRIGGER ", "FUNCTION ", "PROCEDURE "};
	struct printer printer = {out, *opt, explicit}, *p = &printer;

	put(p, program->or_replace ? "CREATE OR REPLACE " : "CREATE ");
	if (program->definer.ptr) {
		put(p, "DEFINER=");
		put_span(p, program->definer);
		put(p, " ");
	}
	put(p, program->aggregate ? "AGGREGATE " : "");
	put(p, words[program->kind]);
	put(p, program->if_not_exists ? "IF NOT EXISTS " : "");
	put_table(p, &program->name);
	if (program->kind == SQL_PROGRAM_TRIGGER)
		put_trigger(p, program);
	else
		put_routine(p, program);
	put_node(p, program->body);
}
