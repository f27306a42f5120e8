/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stored programs: CREATE TRIGGER, FUNCTION and PROCEDURE with their bodies, to a tree. sql_parse()
 * only recognises these statements (sql.md); this reads them whole.
 *
 * Local variables and parameters stand in the statements of a body as columns do; which name is
 * what is for the reader to find out, innermost block first.  NEW.c and OLD.c are columns of a
 * table of that name, in SET a SQL_SET_VARIABLE with that base.
 */
#ifndef SQL_PROGRAM_H
#define SQL_PROGRAM_H

#include "sql/sql.h"

enum sql_program_kind { SQL_PROGRAM_TRIGGER, SQL_PROGRAM_FUNCTION, SQL_PROGRAM_PROCEDURE };

enum sql_trigger_event { SQL_TRIGGER_INSERT = 1, SQL_TRIGGER_UPDATE = 2, SQL_TRIGGER_DELETE = 4 };

/* A variable or parameter is of a type, or of what a table or another variable is. */
struct sql_variable_type {
	bool has_type; /* false: `text` has it as written (TYPE OF ..., ROW ...; MariaDB) */
	struct sql_type type;
	struct span text;
};

enum sql_direction { SQL_PARAM_IN, SQL_PARAM_OUT, SQL_PARAM_INOUT };

struct sql_parameter {
	enum sql_direction direction;
	bool said; /* the direction was written */
	struct span name;
	struct sql_variable_type type;
	struct sql_expr *dflt; /* MariaDB 11.8 */
	struct sql_parameter *next;
};

enum sql_node_kind {
	SQL_NODE_STATEMENT, /* stmt */
	SQL_NODE_BLOCK,     /* BEGIN body END */
	SQL_NODE_VARIABLE,  /* DECLARE names type [DEFAULT value] */
	SQL_NODE_CONDITION, /* DECLARE name CONDITION FOR conditions */
	SQL_NODE_CURSOR,    /* DECLARE name CURSOR FOR stmt */
	SQL_NODE_HANDLER,   /* DECLARE action HANDLER FOR conditions body */
	SQL_NODE_IF,        /* branches; body: ELSE */
	SQL_NODE_CASE,      /* value or NULL; branches; body: ELSE */
	SQL_NODE_LOOP,      /* body */
	SQL_NODE_WHILE,     /* value, body */
	SQL_NODE_REPEAT,    /* body, value */
	SQL_NODE_LEAVE,     /* name */
	SQL_NODE_ITERATE,   /* name */
	SQL_NODE_RETURN,    /* value */
	SQL_NODE_OPEN,      /* name, args */
	SQL_NODE_FETCH,     /* name, names: into */
	SQL_NODE_CLOSE,     /* name */
	SQL_NODE_SIGNAL,    /* conditions (RESIGNAL: may be none), items */
	SQL_NODE_RESIGNAL,
};

enum sql_condition_kind {
	SQL_CONDITION_ERROR, /* number */
	SQL_CONDITION_STATE, /* name: five characters */
	SQL_CONDITION_NAME,
	SQL_CONDITION_WARNING,
	SQL_CONDITION_NOT_FOUND,
	SQL_CONDITION_EXCEPTION,
};

struct sql_condition {
	enum sql_condition_kind kind;
	struct span name; /* as written; of a state its value */
	struct sql_condition *next;
};

enum sql_handler_action { SQL_HANDLER_CONTINUE, SQL_HANDLER_EXIT };

struct sql_branch { /* IF value THEN body, WHEN value THEN body */
	struct sql_expr *value;
	struct sql_node *body;
	struct sql_branch *next;
};

struct sql_signal_item { /* MESSAGE_TEXT = value */
	struct span name;
	struct sql_expr *value;
	struct sql_signal_item *next;
};

struct sql_node {
	enum sql_node_kind kind;
	struct sql_loc loc;
	struct span label; /* of a block or loop; none: no name */
	bool has_else;     /* IF, CASE */
	enum sql_handler_action action;
	struct span name;
	struct sql_names *names;
	struct sql_variable_type type;
	struct sql_parameter *params; /* of a cursor, MariaDB */
	struct sql_expr *value;
	struct sql_exprs args;
	struct sql_stmt *stmt; /* its offsets count from the program's text */
	struct sql_branch *branches;
	struct sql_condition *conditions;
	struct sql_signal_item *items;
	struct sql_node *body;
	struct sql_node *next;
};

enum sql_data_access {
	SQL_DATA_UNSAID,
	SQL_DATA_CONTAINS,
	SQL_DATA_NONE,
	SQL_DATA_READS,
	SQL_DATA_MODIFIES
};

struct sql_program {
	enum sql_program_kind kind;
	struct span text; /* all of it, in the arena */
	bool or_replace, if_not_exists, aggregate;
	struct span definer; /* as written */
	struct sql_table_name name;
	/* Triggers. */
	bool after;
	uint32_t events; /* enum sql_trigger_event */
	struct sql_table_name table;
	struct span follows, precedes;
	/* Routines. */
	struct sql_parameter *params;
	struct sql_variable_type returns;
	bool deterministic, not_deterministic, language, invoker, security;
	enum sql_data_access data;
	bool has_comment;
	struct span comment;
	struct sql_node *body;
};

/* The text of one CREATE TRIGGER, FUNCTION or PROCEDURE, as SHOW CREATE prints it.  Errors as those
 * of sql_parse(); what is another statement is one, too. */
bool sql_parse_program(struct arena *arena, struct span text, const struct sql_options *opt,
	struct sql_program **program, struct err *err) MUST_CHECK;

/* As sql_print() and sql_print_explicit(). */
void sql_print_program(const struct sql_program *program, const struct sql_options *opt,
	bool explicit, struct buf *out);

/* Every node of a body, parents first, in source order. */
typedef void sql_node_fn(void *ctx, const struct sql_node *node);
void sql_walk_nodes(const struct sql_node *first, sql_node_fn *fn, void *ctx);

#endif
