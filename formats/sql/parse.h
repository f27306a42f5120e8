/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser's state and the small verbs its files share.  Internal to formats/sql.
 *
 * It is written by hand, one function a rule of the grammar, and operators by precedence climbing.
 * Why not a generated LALR parser: which words are reserved, how NOT and || bind, and which clauses
 * exist depend on flavour, version and sql_mode at run time; a message can name what was expected
 * at the very place; opaque tails need no grammar; and it is about twice as fast.  What a generator
 * would have proved (no ambiguity) is tested against the servers' own verdicts instead.
 *
 * The first error poisons the current token: it becomes T_ERROR, which nothing accepts, so every
 * loop ends and every rule returns soon, with nodes that are not used.  Rules never return
 * NULL where a node is due.  To tell what was expected the same text is parsed again with `track`
 * set, so that parsing what is right pays nothing for it.
 */
#ifndef SQL_PARSE_H
#define SQL_PARSE_H

#include "base/arena.h"
#include "sql/sql.h"
#include "sql/token.h"

#define PARSE_AHEAD 4 /* tokens that may be looked at after the current one */
/* Postfix operators that nest to the left (IS, IN, LIKE, COLLATE): no more in one chain, because
 * walkers recurse through them.  The arithmetic and logical operators have no such limit. */
#define PARSE_CHAIN_MAX 32

enum parse_failure { PARSE_OK, PARSE_SYNTAX, PARSE_LEXICAL, PARSE_TOO_DEEP };

struct parser {
	struct token tok;
	struct scanner scan;
	struct arena *arena;
	struct sql_options opt;
	const char *text;
	uint32_t last_end; /* end of the token before tok */
	uint32_t depth;
	uint32_t params;
	uint8_t ahead_count, ahead_first;
	struct token ahead[PARSE_AHEAD];
	const struct sql_into *last_into; /* the last INTO after a whole query, not before its FROM */
	struct sql_expr *pending; /* an operand already read: see parse_paren() */
	enum parse_failure failure;
	const char *why; /* instead of "expected ...", or NULL */
	struct token fail_tok;
	bool in_duplicate; /* in ON DUPLICATE KEY UPDATE, where VALUES(c) is a function */
	bool no_query;     /* where MySQL takes no subquery */
	bool track;
	bool single; /* the text is one statement: a stored program reaches to its end */
	uint64_t wanted[(T_WANT_COUNT + 63) / 64];
};

void parse_advance(struct parser *p);
struct token parse_peek(struct parser *p, unsigned n); /* n from 1 */
void parse_fail(struct parser *p);
void parse_fail_why(struct parser *p, const char *why);
void parse_want(struct parser *p, unsigned kind);
struct span parse_value(struct parser *p, struct token tok); /* quotes and escapes resolved */

static inline bool at(struct parser *p, enum token_kind kind)
{
	if (p->tok.kind == kind)
		return true;
	if (UNLIKELY(p->track))
		parse_want(p, kind);
	return false;
}

static inline bool accept(struct parser *p, enum token_kind kind)
{
	if (!at(p, kind))
		return false;
	parse_advance(p);
	return true;
}

static inline void expect(struct parser *p, enum token_kind kind)
{
	if (!accept(p, kind))
		parse_fail(p);
}

/* Two words, both or neither. */
static inline bool accept2(struct parser *p, enum token_kind a, enum token_kind b)
{
	if (!at(p, a) || parse_peek(p, 1).kind != b)
		return false;
	parse_advance(p);
	parse_advance(p);
	return true;
}

static inline bool parse_enter(struct parser *p)
{
	if (LIKELY(++p->depth <= p->opt.depth_max))
		return true;
	if (!p->failure)
		p->failure = PARSE_TOO_DEEP;
	p->fail_tok = p->tok;
	p->tok.kind = T_ERROR;
	return false;
}

static inline void parse_leave(struct parser *p)
{
	p->depth--;
}

static inline bool is_maria(const struct parser *p)
{
	return p->opt.flavour == SQL_MARIADB;
}

#define NEW(p, type) ((type *)arena_zero((p)->arena, sizeof(type)))
/* Appends to a list: `tail` points at the place for the next element. */
#define APPEND(tail, node)                                                                         \
	do {                                                                                       \
		*(tail) = (node);                                                                  \
		(tail) = &(node)->next;                                                            \
	} while (0)

static inline struct sql_loc loc_from(const struct parser *p, uint32_t start)
{
	return (struct sql_loc){start, p->last_end};
}

static inline struct span text_from(const struct parser *p, uint32_t start)
{
	uint32_t end = p->last_end > start ? p->last_end : start;

	return span_of(p->text + start, end - start);
}

static inline void exprs_add(struct sql_exprs *list, struct sql_expr ***tail, struct sql_expr *e)
{
	**tail = e;
	*tail = &e->next;
	list->count++;
}

/* Names. */
bool at_name(struct parser *p);
struct span parse_name(struct parser *p); /* any name; fails otherwise */
struct span parse_name_or_string(struct parser *p);
struct span parse_string(struct parser *p);
struct span parse_number(struct parser *p);      /* an unsigned integer, as written */
struct span parse_length(struct parser *p);      /* the same, not in hexadecimal */
bool parse_digits(struct span digits, uint64_t *out); /* false: more than 64 bits */
struct sql_names *parse_names(struct parser *p); /* a, b, c */
struct sql_names *parse_paren_names(struct parser *p);
struct sql_table_name parse_table_name(struct parser *p);
struct span parse_charset_name(struct parser *p);

/* expr.c */
struct sql_expr *expr_new(struct parser *p, enum sql_expr_kind kind, uint32_t start);
struct sql_expr *parse_expr(struct parser *p);
struct sql_expr *parse_bit_expr(struct parser *p);
struct sql_expr *parse_simple_expr(struct parser *p);
struct sql_expr *parse_expr_or_default(struct parser *p);
struct sql_exprs parse_expr_list(struct parser *p);
struct sql_expr *parse_column(struct parser *p); /* [db.][table.]column */
enum sql_unit parse_unit(struct parser *p);
struct sql_expr *parse_interval(struct parser *p, uint32_t start);
bool is_open_interval(const struct sql_expr *e);

/* operand.c */
struct sql_expr *parse_operand(struct parser *p); /* without operators and COLLATE */
struct sql_expr *parse_interval_operand(struct parser *p);
struct sql_query *parse_paren_open(struct parser *p);
void parse_paren_close(struct parser *p);

/* literal.c */
bool at_literal(struct parser *p);
struct sql_expr *parse_literal(struct parser *p);
struct sql_expr *parse_temporal(struct parser *p);
struct sql_expr *parse_odbc(struct parser *p);
struct sql_expr *parse_user_var(struct parser *p);
struct sql_expr *parse_system_var(struct parser *p, bool set);

/* call.c */
struct sql_expr *parse_call(struct parser *p, struct span db, struct span name, uint32_t start,
	enum token_kind kind, bool quoted);
struct sql_expr *parse_niladic(struct parser *p);
struct sql_call_extra *extra_of(struct parser *p, struct sql_expr *e);
struct span skip_to_close(struct parser *p);
struct sql_order *parse_order_list(struct parser *p, bool directions);
void parse_window_spec(struct parser *p, struct sql_window *w);

/* query.c */
bool at_query(struct parser *p); /* SELECT, WITH, VALUES, TABLE; not a parenthesis */
struct sql_query *parse_query(struct parser *p); /* a whole query expression */
struct sql_query *parse_query_after(struct parser *p, struct sql_query *first, uint32_t start);
struct sql_query *parse_subquery(struct parser *p); /* ( query ) */
void no_procedure(struct parser *p, const struct sql_query *q);
void no_into(struct parser *p, const struct sql_query *q);
void no_with(struct parser *p, const struct sql_query *q);
bool query_continues(struct parser *p); /* UNION, ORDER BY, LIMIT ... after a query in parens */
struct sql_with *parse_with(struct parser *p);
struct sql_item *parse_items(struct parser *p);
struct sql_order *parse_order_by(struct parser *p);
struct sql_limit *parse_limit(struct parser *p, bool simple);
struct sql_expr *parse_where(struct parser *p);
struct sql_values_row *parse_rows(struct parser *p, bool insert);

/* from.c */
struct sql_table_ref *parse_table_refs(struct parser *p);
struct sql_table_ref *parse_table_ref(struct parser *p);
void parse_index_hints(struct parser *p, struct sql_index_hint **tail);

/* dml.c */
void parse_insert(struct parser *p, struct sql_stmt *stmt);
void parse_update(struct parser *p, struct sql_stmt *stmt, struct sql_with *with);
void parse_delete(struct parser *p, struct sql_stmt *stmt, struct sql_with *with);

/* ddl.c */
void parse_create_table(struct parser *p, struct sql_stmt *stmt, bool or_replace, bool temporary);
void parse_alter_table(struct parser *p, struct sql_stmt *stmt, bool online, bool ignore);
void parse_create_index(struct parser *p, struct sql_stmt *stmt, bool or_replace);
void parse_drop_index(struct parser *p, struct sql_stmt *stmt);

/* ddl_object.c */
void parse_create(struct parser *p, struct sql_stmt *stmt);
void parse_drop(struct parser *p, struct sql_stmt *stmt);
void parse_alter(struct parser *p, struct sql_stmt *stmt);
void parse_rename(struct parser *p, struct sql_stmt *stmt);
void parse_truncate(struct parser *p, struct sql_stmt *stmt);

/* type.c */
void parse_type(struct parser *p, struct sql_type *type);
struct sql_type *parse_cast_type(struct parser *p);
struct span parse_collation(struct parser *p);
bool can_compress(enum sql_type_kind kind);

/* control.c */
void parse_begin(struct parser *p, struct sql_stmt *stmt);
void parse_start_transaction(struct parser *p, struct sql_stmt *stmt);
void parse_commit(struct parser *p, struct sql_stmt *stmt);
void parse_rollback(struct parser *p, struct sql_stmt *stmt);
void parse_savepoint(struct parser *p, struct sql_stmt *stmt);
void parse_xa(struct parser *p, struct sql_stmt *stmt);
void parse_set(struct parser *p, struct sql_stmt *stmt);

/* program.c */
struct sql_program;
struct sql_program *parse_create_program(struct parser *p);
void parse_call_statement(struct parser *p, struct sql_stmt *stmt);

/* stmt.c */
struct block_tracker {
	uint32_t depth;
	enum token_kind before;
};

struct sql_stmt *parse_statement(struct parser *p);
struct span parse_text(struct parser *p, uint32_t start);
struct span parse_lock_wait_clause(struct parser *p);
void parse_opaque(struct parser *p, struct sql_stmt *stmt, enum sql_stmt_kind kind);
struct sql_table_name **parse_add_table(struct parser *p, struct sql_table_name **tail);
void parse_deallocate(struct parser *p, struct sql_stmt *stmt);
void parse_program(struct parser *p, enum token_kind before); /* a stored program's body */
/* BEGIN, CASE, IF, LOOP, WHILE, REPEAT open a block, END closes one.  A `;` ends the statement
 * where none is open. */
void track_block(struct block_tracker *b, struct token tok);

#endif
