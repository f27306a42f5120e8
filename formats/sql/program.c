/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stored programs (MySQL manual, "Compound Statement Syntax"; MariaDB, "Programmatic & Compound
 * Statements").  Not read, and refused: FOR loops, packages, loadable functions, other languages.
 * What the servers check besides grammar (labels that match, variables that are declared, the order
 * of declarations) is not checked.
 */
#include <strings.h>

#include "sql/parse.h"
#include "sql/program.h"

static struct sql_node *parse_body(struct parser *p);

static struct span token_text(const struct parser *p)
{
	return span_of(p->text + p->tok.start, p->tok.end - p->tok.start);
}

/* A word that is no keyword here. */
static bool at_word(const struct parser *p, const char *word)
{
	return p->tok.kind != T_QUOTED && p->tok.kind != T_STRING &&
	       span_ieq_str(token_text(p), word);
}

static bool accept_word(struct parser *p, const char *word)
{
	if (!at_word(p, word))
		return false;
	parse_advance(p);
	return true;
}

static void expect_word(struct parser *p, const char *word)
{
	if (!accept_word(p, word))
		parse_fail(p);
}

/* ------------------------------------------------------------------ types and parameters */

/* TYPE OF [db.][t.]c, ROW TYPE OF t, ROW (a INT, b TEXT) */
static bool parse_other_type(struct parser *p, struct sql_variable_type *type)
{
	uint32_t start = p->tok.start;
	struct token next = parse_peek(p, 1);

	if (!is_maria(p))
		return false;
	if (p->tok.kind == T_ROW && next.kind == T_LPAREN) {
		struct sql_type ignored;

		parse_advance(p);
		parse_advance(p);
		do {
			parse_name(p);
			ignored = (struct sql_type){0};
			parse_type(p, &ignored);
		} while (accept(p, T_COMMA));
		expect(p, T_RPAREN);
	} else if ((p->tok.kind == T_ROW || at_word(p, "type")) &&
		   (p->tok.kind == T_ROW || next.kind == T_OF)) {
		accept(p, T_ROW);
		expect_word(p, "type");
		expect(p, T_OF);
		parse_column(p);
	} else {
		return false;
	}
	type->text = parse_text(p, start);
	return true;
}

static struct sql_variable_type parse_variable_type(struct parser *p, bool others)
{
	struct sql_variable_type type = {.has_type = true};

	if (others && parse_other_type(p, &type))
		type.has_type = false;
	else
		parse_type(p, &type.type);
	if (is_maria(p) && type.has_type && type.type.kind == SQL_TYPE_SERIAL)
		parse_fail(p);
	if (type.has_type && !type.type.collate.ptr && accept(p, T_COLLATE))
		type.type.collate = parse_collation(p);
	return type;
}

static struct sql_parameter *parse_parameters(struct parser *p, enum sql_program_kind kind)
{
	struct sql_parameter *first = NULL, **tail = &first;
	bool directions = kind == SQL_PROGRAM_PROCEDURE ||
			  (is_maria(p) && p->opt.version >= 100800 && kind == SQL_PROGRAM_FUNCTION);

	expect(p, T_LPAREN);
	if (accept(p, T_RPAREN))
		return NULL;
	do {
		struct sql_parameter *param = NEW(p, struct sql_parameter);

		param->said = true;
		if (directions && accept(p, T_IN))
			param->direction = SQL_PARAM_IN;
		else if (directions && accept(p, T_OUT))
			param->direction = SQL_PARAM_OUT;
		else if (directions && accept(p, T_INOUT))
			param->direction = SQL_PARAM_INOUT;
		else
			param->said = false;
		param->name = parse_name(p);
		param->type = parse_variable_type(p, true);
		if (is_maria(p) && p->opt.version >= 110800 && accept(p, T_DEFAULT))
			param->dflt = parse_expr(p);
		APPEND(tail, param);
	} while (accept(p, T_COMMA));
	expect(p, T_RPAREN);
	return first;
}

/* ------------------------------------------------------------------ declarations */

static void parse_state(struct parser *p, struct sql_condition *c)
{
	expect(p, T_SQLSTATE);
	accept(p, T_VALUE);
	c->kind = SQL_CONDITION_STATE;
	c->name = parse_string(p);
}

static struct sql_condition *parse_condition(struct parser *p, bool general)
{
	struct sql_condition *c = NEW(p, struct sql_condition);

	if (p->tok.kind == T_L_INT) {
		c->kind = SQL_CONDITION_ERROR;
		c->name = parse_number(p);
	} else if (p->tok.kind == T_SQLSTATE) {
		parse_state(p, c);
	} else if (general && accept(p, T_SQLWARNING)) {
		c->kind = SQL_CONDITION_WARNING;
	} else if (general && accept(p, T_SQLEXCEPTION)) {
		c->kind = SQL_CONDITION_EXCEPTION;
	} else if (general && accept(p, T_NOT)) {
		expect_word(p, "found");
		c->kind = SQL_CONDITION_NOT_FOUND;
	} else if (general) {
		c->kind = SQL_CONDITION_NAME;
		c->name = parse_name(p);
	} else {
		parse_fail(p);
	}
	return c;
}

static void parse_handler_body(struct parser *p, struct sql_node *node)
{
	struct sql_condition **tail = &node->conditions;

	node->kind = SQL_NODE_HANDLER;
	parse_advance(p);
	expect(p, T_HANDLER);
	expect(p, T_FOR);
	do {
		struct sql_condition *c = parse_condition(p, true);

		APPEND(tail, c);
	} while (accept(p, T_COMMA));
	node->body = parse_body(p);
}

static void parse_cursor(struct parser *p, struct sql_node *node)
{
	uint32_t start;

	node->kind = SQL_NODE_CURSOR;
	parse_advance(p);
	if (is_maria(p) && p->tok.kind == T_LPAREN)
		node->params = parse_parameters(p, SQL_PROGRAM_TRIGGER);
	expect(p, T_FOR);
	start = p->tok.start;
	node->stmt = NEW(p, struct sql_stmt);
	node->stmt->kind = SQL_STMT_SELECT;
	node->stmt->u.query = parse_query(p);
	node->stmt->text = span_of(p->text, p->scan.len);
	node->stmt->offset = start;
}

static struct sql_node *parse_declare(struct parser *p)
{
	struct sql_node *node = NEW(p, struct sql_node);
	uint32_t start = p->tok.start;
	enum token_kind next;

	parse_advance(p);
	next = parse_peek(p, 1).kind;
	if (p->tok.kind == T_CONTINUE || p->tok.kind == T_EXIT) {
		node->action = p->tok.kind == T_EXIT ? SQL_HANDLER_EXIT : SQL_HANDLER_CONTINUE;
		parse_handler_body(p, node);
	} else if (next == T_CONDITION) {
		node->kind = SQL_NODE_CONDITION;
		node->name = parse_name(p);
		parse_advance(p);
		expect(p, T_FOR);
		node->conditions = parse_condition(p, false);
	} else if (next == T_CURSOR) {
		node->name = parse_name(p);
		parse_cursor(p, node);
	} else {
		node->kind = SQL_NODE_VARIABLE;
		node->names = parse_names(p);
		node->type = parse_variable_type(p, true);
		if (accept(p, T_DEFAULT))
			node->value = parse_expr(p);
	}
	node->loc = loc_from(p, start);
	expect(p, T_SEMICOLON);
	return node;
}

/* ------------------------------------------------------------------ statements */

/* Statements with a `;` after each, up to a word that ends the list; at least one. */
static struct sql_node *parse_list(struct parser *p)
{
	struct sql_node *first = NULL, **tail = &first;

	do {
		struct sql_node *node = parse_body(p);

		APPEND(tail, node);
		expect(p, T_SEMICOLON);
	} while (!p->failure && p->tok.kind != T_END && p->tok.kind != T_ELSE &&
		 p->tok.kind != T_ELSEIF && p->tok.kind != T_WHEN &&
		 !(at_word(p, "until") && parse_peek(p, 1).kind != T_COLON));
	return first;
}

static void parse_block(struct parser *p, struct sql_node *node)
{
	struct sql_node **tail = &node->body;

	node->kind = SQL_NODE_BLOCK;
	parse_advance(p);
	if (is_maria(p) && accept(p, T_NOT))
		expect(p, T_ATOMIC);
	while (p->tok.kind == T_DECLARE) {
		struct sql_node *declared = parse_declare(p);

		APPEND(tail, declared);
	}
	if (p->tok.kind != T_END)
		*tail = parse_list(p);
	expect(p, T_END);
}

static void parse_branch(struct parser *p, struct sql_branch ***tail)
{
	struct sql_branch *branch = NEW(p, struct sql_branch);

	parse_advance(p);
	branch->value = parse_expr(p);
	expect(p, T_THEN);
	branch->body = parse_list(p);
	**tail = branch;
	*tail = &branch->next;
}

static void parse_else(struct parser *p, struct sql_node *node)
{
	node->has_else = accept(p, T_ELSE);
	if (node->has_else)
		node->body = parse_list(p);
	expect(p, T_END);
}

static void parse_if(struct parser *p, struct sql_node *node)
{
	struct sql_branch **tail = &node->branches;

	node->kind = SQL_NODE_IF;
	do {
		parse_branch(p, &tail);
	} while (p->tok.kind == T_ELSEIF);
	parse_else(p, node);
	expect(p, T_IF);
}

static void parse_case(struct parser *p, struct sql_node *node)
{
	struct sql_branch **tail = &node->branches;

	node->kind = SQL_NODE_CASE;
	parse_advance(p);
	if (p->tok.kind != T_WHEN)
		node->value = parse_expr(p);
	if (p->tok.kind != T_WHEN)
		parse_fail(p);
	while (p->tok.kind == T_WHEN)
		parse_branch(p, &tail);
	parse_else(p, node);
	expect(p, T_CASE);
}

static void parse_loop(struct parser *p, struct sql_node *node)
{
	enum token_kind word = p->tok.kind;

	parse_advance(p);
	node->kind = word == T_WHILE    ? SQL_NODE_WHILE
		     : word == T_REPEAT ? SQL_NODE_REPEAT
					: SQL_NODE_LOOP;
	if (word == T_WHILE) {
		node->value = parse_expr(p);
		expect(p, T_DO);
	}
	node->body = parse_list(p);
	if (word == T_REPEAT) {
		expect_word(p, "until");
		node->value = parse_expr(p);
	}
	expect(p, T_END);
	expect(p, word);
}

static void parse_signal(struct parser *p, struct sql_node *node)
{
	static const char *const names[] = {"class_origin", "subclass_origin", "constraint_catalog",
		"constraint_schema", "constraint_name", "catalog_name", "schema_name", "table_name",
		"column_name", "cursor_name", "message_text", "mysql_errno", "row_number"};
	struct sql_signal_item **tail = &node->items;

	node->kind = p->tok.kind == T_SIGNAL ? SQL_NODE_SIGNAL : SQL_NODE_RESIGNAL;
	parse_advance(p);
	if (node->kind == SQL_NODE_SIGNAL ||
		(p->tok.kind != T_SET && p->tok.kind != T_SEMICOLON && p->tok.kind != T_EOF)) {
		node->conditions = NEW(p, struct sql_condition);
		if (p->tok.kind == T_SQLSTATE) {
			parse_state(p, node->conditions);
		} else {
			node->conditions->kind = SQL_CONDITION_NAME;
			node->conditions->name = parse_name(p);
		}
	}
	if (!accept(p, T_SET))
		return;
	do {
		struct sql_signal_item *item = NEW(p, struct sql_signal_item);
		bool known = false;

		item->name = token_text(p);
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			known |= at_word(p, names[i]) && (is_maria(p) || i + 1 < ARRAY_LEN(names));
		if (!known)
			parse_fail(p);
		parse_advance(p);
		expect(p, T_EQ);
		item->value = parse_operand(p);
		/* A literal or a variable, not an expression. */
		if (item->value->kind != SQL_EXPR_LITERAL && item->value->kind != SQL_EXPR_COLUMN &&
			item->value->kind != SQL_EXPR_USER_VAR &&
			item->value->kind != SQL_EXPR_SYSTEM_VAR)
			parse_fail(p);
		APPEND(tail, item);
	} while (accept(p, T_COMMA));
}

static void parse_cursor_use(struct parser *p, struct sql_node *node)
{
	enum token_kind word = p->tok.kind;

	parse_advance(p);
	/* FETCH [[NEXT] FROM] c */
	if (word == T_FETCH && !accept2(p, T_NEXT, T_FROM) && !accept(p, T_FROM) && !is_maria(p) &&
		p->tok.kind == T_NEXT)
		parse_fail(p);
	node->kind = word == T_OPEN    ? SQL_NODE_OPEN
		     : word == T_FETCH ? SQL_NODE_FETCH
				       : SQL_NODE_CLOSE;
	node->name = parse_name(p);
	if (word == T_OPEN && is_maria(p) && accept(p, T_LPAREN)) {
		node->args = parse_expr_list(p);
		expect(p, T_RPAREN);
	}
	if (word == T_FETCH) {
		expect(p, T_INTO);
		node->names = parse_names(p);
	}
}

static void parse_jump(struct parser *p, struct sql_node *node)
{
	node->kind = p->tok.kind == T_LEAVE ? SQL_NODE_LEAVE : SQL_NODE_ITERATE;
	parse_advance(p);
	node->name = parse_name(p);
}

static void parse_plain(struct parser *p, struct sql_node *node)
{
	uint32_t start = p->tok.start, params = p->params;

	node->kind = SQL_NODE_STATEMENT;
	/* An empty statement is none. */
	if (p->tok.kind == T_SEMICOLON || p->tok.kind == T_EOF)
		parse_fail(p);
	node->stmt = parse_statement(p);
	node->stmt->text = span_of(p->text, p->scan.len);
	node->stmt->offset = start;
	/* What has a body of its own cannot stand in one. */
	if (p->params != params || node->stmt->kind == SQL_STMT_CREATE_TRIGGER ||
		node->stmt->kind == SQL_STMT_CREATE_ROUTINE ||
		node->stmt->kind == SQL_STMT_COMPOUND)
		parse_fail(p);
}

/* Has the block or loop a name, it may stand after its end, too. */
static void parse_labelled(struct parser *p, struct sql_node *node)
{
	bool named = at_name(p) && parse_peek(p, 1).kind == T_COLON;

	if (named) {
		node->label = parse_name(p);
		parse_advance(p);
		if (p->tok.kind != T_BEGIN && p->tok.kind != T_LOOP && p->tok.kind != T_WHILE &&
			p->tok.kind != T_REPEAT)
			parse_fail(p);
	}
	if (p->tok.kind == T_BEGIN)
		parse_block(p, node);
	else
		parse_loop(p, node);
	if (named && p->tok.kind != T_SEMICOLON && p->tok.kind != T_EOF)
		parse_name(p);
}

/* One statement, without its `;`. */
static struct sql_node *parse_body(struct parser *p)
{
	struct sql_node *node = NEW(p, struct sql_node);
	uint32_t start = p->tok.start;
	bool named = at_name(p) && parse_peek(p, 1).kind == T_COLON;

	if (!parse_enter(p))
		return node;
	switch (named ? T_BEGIN : p->tok.kind) {
	case T_BEGIN:
	case T_LOOP:
	case T_WHILE:
	case T_REPEAT:
		parse_labelled(p, node);
		break;
	case T_IF:
		parse_if(p, node);
		break;
	case T_CASE:
		parse_case(p, node);
		break;
	case T_LEAVE:
	case T_ITERATE:
		parse_jump(p, node);
		break;
	case T_RETURN:
		parse_advance(p);
		node->kind = SQL_NODE_RETURN;
		node->value = parse_expr(p);
		break;
	case T_OPEN:
	case T_FETCH:
	case T_CLOSE:
		parse_cursor_use(p, node);
		break;
	case T_SIGNAL:
	case T_RESIGNAL:
		parse_signal(p, node);
		break;
	case T_FOR:
		parse_fail_why(p, "FOR loops are not read");
		break;
	default:
		parse_plain(p, node);
	}
	node->loc = loc_from(p, start);
	parse_leave(p);
	return node;
}

/* CALL [db.]name [(args)]; MariaDB: db.package.name as well. */
void parse_call_statement(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_call *call = NEW(p, struct sql_call);

	stmt->kind = SQL_STMT_CALL;
	parse_advance(p);
	call->name = parse_name(p);
	if (accept(p, T_DOT)) {
		call->db = call->name;
		call->name = parse_name(p);
	}
	stmt->u.call = call;
	if (is_maria(p) && p->opt.version >= 100900 && accept(p, T_DOT)) {
		parse_name(p);
		stmt->u.call = NULL;
	}
	if (accept(p, T_LPAREN)) {
		if (p->tok.kind != T_RPAREN)
			call->args = parse_expr_list(p);
		expect(p, T_RPAREN);
	}
}

/* ------------------------------------------------------------------ CREATE */

static void parse_definer(struct parser *p, struct sql_program *program)
{
	uint32_t start;

	if (!accept(p, T_DEFINER))
		return;
	expect(p, T_EQ);
	start = p->tok.start;
	parse_advance(p);
	if (p->tok.kind == T_USER_VAR)
		parse_advance(p);
	else if (accept(p, T_LPAREN))
		expect(p, T_RPAREN);
	program->definer = parse_text(p, start);
}

static void parse_trigger_events(struct parser *p, struct sql_program *program)
{
	if (accept(p, T_AFTER))
		program->after = true;
	else
		expect(p, T_BEFORE);
	do {
		if (accept(p, T_INSERT)) {
			program->events |= SQL_TRIGGER_INSERT;
		} else if (accept(p, T_UPDATE)) {
			program->events |= SQL_TRIGGER_UPDATE;
		} else {
			expect(p, T_DELETE);
			program->events |= SQL_TRIGGER_DELETE;
		}
	} while (is_maria(p) && p->opt.version >= 120000 && accept(p, T_OR));
}

static void parse_trigger(struct parser *p, struct sql_program *program)
{
	program->name = parse_table_name(p);
	parse_trigger_events(p, program);
	expect(p, T_ON);
	program->table = parse_table_name(p);
	expect(p, T_FOR);
	expect(p, T_EACH);
	expect(p, T_ROW);
	if (accept(p, T_FOLLOWS))
		program->follows = parse_name(p);
	else if (accept(p, T_PRECEDES))
		program->precedes = parse_name(p);
}

static bool parse_characteristic(struct parser *p, struct sql_program *program)
{
	switch (p->tok.kind) {
	case T_COMMENT:
		parse_advance(p);
		program->has_comment = true;
		program->comment = parse_string(p);
		return true;
	case T_LANGUAGE:
		parse_advance(p);
		expect(p, T_SQL);
		program->language = true;
		return true;
	case T_NOT:
		parse_advance(p);
		expect(p, T_DETERMINISTIC);
		program->not_deterministic = true;
		program->deterministic = false;
		return true;
	case T_DETERMINISTIC:
		parse_advance(p);
		program->deterministic = true;
		program->not_deterministic = false;
		return true;
	case T_CONTAINS:
		parse_advance(p);
		expect(p, T_SQL);
		program->data = SQL_DATA_CONTAINS;
		return true;
	case T_NO:
		parse_advance(p);
		expect(p, T_SQL);
		program->data = SQL_DATA_NONE;
		return true;
	case T_READS:
	case T_MODIFIES:
		program->data = p->tok.kind == T_READS ? SQL_DATA_READS : SQL_DATA_MODIFIES;
		parse_advance(p);
		expect(p, T_SQL);
		expect(p, T_DATA);
		return true;
	case T_SQL:
		parse_advance(p);
		expect(p, T_SECURITY);
		program->security = true;
		program->invoker = accept_word(p, "invoker");
		if (!program->invoker)
			expect(p, T_DEFINER);
		return true;
	default:
		return false;
	}
}

static void parse_routine(struct parser *p, struct sql_program *program)
{
	program->name = parse_table_name(p);
	program->params = parse_parameters(p, program->kind);
	if (program->kind == SQL_PROGRAM_FUNCTION) {
		expect_word(p, "returns");
		program->returns = parse_variable_type(p, p->opt.version >= 110700);
	}
	while (parse_characteristic(p, program)) {
	}
}

struct sql_program *parse_create_program(struct parser *p)
{
	struct sql_program *program = NEW(p, struct sql_program);

	program->text = span_of(p->text, p->scan.len);
	expect(p, T_CREATE);
	program->or_replace = is_maria(p) && accept2(p, T_OR, T_REPLACE);
	parse_definer(p, program);
	program->aggregate = is_maria(p) && accept(p, T_AGGREGATE);
	if (!program->aggregate && accept(p, T_TRIGGER)) {
		program->kind = SQL_PROGRAM_TRIGGER;
	} else if (!program->aggregate && accept(p, T_PROCEDURE)) {
		program->kind = SQL_PROGRAM_PROCEDURE;
	} else {
		expect(p, T_FUNCTION);
		program->kind = SQL_PROGRAM_FUNCTION;
	}
	if (p->tok.kind == T_IF && parse_peek(p, 1).kind == T_NOT) {
		parse_advance(p);
		expect(p, T_NOT);
		expect(p, T_EXISTS);
		program->if_not_exists = true;
	}
	if (program->kind == SQL_PROGRAM_TRIGGER)
		parse_trigger(p, program);
	else
		parse_routine(p, program);
	program->body = parse_body(p);
	/* MariaDB has a rule of its own for what a function may be. */
	if (is_maria(p) && program->kind == SQL_PROGRAM_FUNCTION &&
		program->body->kind == SQL_NODE_STATEMENT)
		parse_fail(p);
	return program;
}

/* ------------------------------------------------------------------ walking */

void sql_walk_nodes(const struct sql_node *first, sql_node_fn *fn, void *ctx)
{
	for (const struct sql_node *node = first; node; node = node->next) {
		fn(ctx, node);
		for (const struct sql_branch *b = node->branches; b; b = b->next)
			sql_walk_nodes(b->body, fn, ctx);
		sql_walk_nodes(node->body, fn, ctx);
	}
}
