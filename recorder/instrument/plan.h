/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What instrumentation does with a statement: whether its log is to be read, which columns are
 * appended to it, what may be said of what it read.
 *
 * A read gets one column for each prepared table of its FROM clause, after its own:
 * CAST(CONCAT(key, '|', version) AS BINARY).  The text of the statement stays as the client sent it
 * but for that.  With aggregates and GROUP BY the column is an aggregate too, of the keys and
 * versions of all rows of the group.  Reads whose rows are not rows of their tables (DISTINCT,
 * UNION, derived tables) or whose columns go elsewhere (INTO) are left alone; what they read is not
 * seen, and said so (`blind`).
 *
 * In select mode statements go out as they are; the plan says what is asked before and after them
 * (instrument/select_mode.h).  Only a client's own probes, SELECTs that a comment marks (PROBE_MARKS),
 * get their column, there with the whole row.
 */
#ifndef INSTRUMENT_PLAN_H
#define INSTRUMENT_PLAN_H

#include "instrument/trigger_log.h"
#include "sql/sql.h"

enum {
	PLAN_TABLES_MAX = 16,      /* with more, a read is left alone */
	PLAN_PARAMS_MAX = 64,      /* of a predicate */
	PLAN_TEXT_MAX = 64 * 1024, /* longer statements are not rewritten */
	PLAN_ROWS_MAX = 100, /* of an INSERT in select mode, to be found again by their keys */
};

struct plan_param {
	uint32_t index;  /* of the statement's parameters */
	uint32_t offset; /* of its ? in the predicate */
};

/* Text with parameters in it. */
struct plan_template {
	struct buf text;
	struct plan_param params[PLAN_PARAMS_MAX];
	size_t count;
};

/* What says how many entries a write adds to the log. */
enum plan_log_count {
	PLAN_LOG_UNCOUNTED,
	PLAN_LOG_AFFECTED, /* the rows that its OK counts */
	PLAN_LOG_MATCHED,  /* "Rows matched" in the text of its OK */
};

enum plan_write {
	PLAN_WRITE_NONE,
	PLAN_WRITE_INSERT,
	PLAN_WRITE_REPLACE,
	PLAN_WRITE_UPSERT, /* ON DUPLICATE KEY UPDATE */
	PLAN_WRITE_UPDATE,
	PLAN_WRITE_DELETE,
};

struct stmt_plan {
	bool writes;      /* may fire triggers: its log is read after it */
	bool diagnostics; /* tells of the statement before it: nothing may come between them */
	bool vague;       /* may be several statements, or end transactions: nothing is exact */
	bool whole;       /* EXECUTE or CALL that ends no transaction */
	bool elsewhere;   /* writes tables that are not prepared: STMT_ELSEWHERE */
	bool calls;       /* CALL whose work is all done, or an error: exact in a transaction */
	bool no_tables;   /* touches no table but the server's own */
	bool idle;        /* does nothing either, not even to a transaction */
	bool locking;     /* FOR UPDATE and its like: reads what is current */
	bool reads;       /* rows are returned and their versions are known */
	bool rewritten;   /* `text` goes to the server */
	struct buf text;
	/* Tables whose column was appended, in this order. */
	const struct instrument_table *tables[PLAN_TABLES_MAX];
	size_t table_count;
	/* Tables that are read without being seen. */
	const struct instrument_table *blind[PLAN_TABLES_MAX];
	size_t blind_count;
	/* The condition that says which rows of `predicate_of` it takes; NULL: none is known. */
	const struct instrument_table *predicate_of;
	struct plan_template predicate;
	/* A write of several tables: those whose rows in the log are all that the predicate, a query,
	 * gives of them; predicate_of is the first. */
	const struct instrument_table *listed[PLAN_TABLES_MAX];
	size_t listed_count;
	bool shared; /* it means the same in every session */
	/* The predicate is a query over several tables (docs/trace-format.md): of all in `tables`,
	 * and what is known of those in `blind`. */
	bool joint, parts;
	/* LIMIT: where not fewer rows came, they are perhaps not all. */
	bool limited;
	uint32_t limit;
	struct plan_template first_rows; /* the predicate if they are not, where ORDER BY tells */
	bool passes;          /* UPDATE or DELETE: it passes over rows that it does not write */
	/* ... of one table, keys stay as they are: it changes no rows but those its predicate gives. */
	bool narrow;
	/* UPDATE IGNORE: rows of it that were passed over may be in the log as updated. */
	const struct instrument_table *skips;
	bool through_view;    /* its table is the one that a view reads */
	bool reads_anywhere;  /* it may read any table, unseen */
	bool stays;           /* it logs nothing and ends no transaction: logs of earlier writes can wait */
	enum plan_log_count log_count;
	bool keyed;           /* an INSERT of values: it passes over no rows */
	uint32_t insert_rows; /* ... with IGNORE: how many it has */
	/* A plain read that gets no columns: a query beside it that gives the keys and versions of the
	 * rows it is made of, exact where both read one snapshot; and what is then known of it. */
	struct plan_template beside, beside_predicate;
	const struct instrument_table *beside_tables[PLAN_TABLES_MAX];
	size_t beside_count;
	bool grouped; /* the appended columns list the rows of a group: log_take_reads() */
	/* Its OK tells the x of LAST_INSERT_ID(x), which it calls for each row that it updates; but a
	 * trigger makes the server forget that. */
	bool tells_id;
	/* An UPDATE of one prepared table with a condition, without IGNORE: triggers may change its answer. */
	bool converts;
	bool upserts; /* ON DUPLICATE KEY UPDATE: a row that it changes counts twice */
	bool auto_key; /* ... of an INSERT: the key of its table is AUTO_INCREMENT */
	bool cuts;    /* sets sql_select_limit: from then on SELECT may leave rows out */
	/* PREPARE name FROM 'text': both, each ended by a NUL. */
	struct buf named;
	/* The session's temporary table that it makes or drops, as struct plan_context has it. */
	struct buf temporary;
	bool drops_temporary;

	/* Select mode. */
	bool plain;                /* may be asked again beside itself: nothing in it has effects */
	int client_probe;          /* it is a probe of this kind (enum probe_kind) + 1; 0: none */
	struct buf columns;        /* a read: what to ask of its tables ... */
	struct plan_template tail; /* ... and FROM, WHERE and all that follows */
	struct instrument_table *written[PLAN_TABLES_MAX];
	size_t written_count;
	bool fires;    /* foreign keys may change rows of other tables */
	bool anywhere; /* it may write tables that it does not name */
	enum plan_write write;
	struct instrument_table *target; /* the only table that it writes; NULL: not known */
	struct buf source, row;    /* the predicate's table in a FROM clause; its rows' name */
	struct plan_template keys; /* INSERT: a condition that finds its rows; or none */
	bool counts_key;           /* ... its only row has the key that the server will tell */
};

struct plan_context {
	const struct instrument_tables *tables;
	struct span database; /* the current one */
	/* Temporary tables of the session: database and name, each ended by a NUL. */
	struct span temporary;
	struct span named; /* statements that the session prepared by text: name and text, the same */
	const struct sql_options *options;
	bool unseen; /* columns cannot be appended: the text is the server's already */
	bool locks; /* plain reads lock what they look at, or may when it is executed */
};

/* Plans a statement, the only one of its text.  A text that cannot be read is a write: it may do
 * anything.  Tables that it alters are marked as disturbed. */
void plan_statement(struct stmt_plan *plan, const struct plan_context *context, struct span text);
void plan_copy(struct stmt_plan *to, const struct stmt_plan *from);
/* A read goes to the server as the client sent it: what it reads is not seen. */
void plan_leave_alone(struct stmt_plan *plan);
/* Nothing is said of the rows that it passed over. */
void plan_forget_predicate(struct stmt_plan *plan);
/* The query beside it was answered: its rows are what the statement read. */
void plan_take_beside(struct stmt_plan *plan);
/* A write: are its rows of the table all that its condition gives? */
bool plan_lists(const struct stmt_plan *plan, const struct instrument_table *table);
void plan_release(struct stmt_plan *plan);

/* A text with its parameters, whose SQL literals `literals` has one by one. */
void plan_fill(const struct plan_template *template, const struct span *literals, size_t count,
	struct buf *out);

#endif
