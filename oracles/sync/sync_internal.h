/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of one sync_check(), for the files of this folder. */
#ifndef SYNC_SYNC_INTERNAL_H
#define SYNC_SYNC_INTERNAL_H

#include "base/buf.h"
#include "base/map.h"
#include "sync/sync.h"

enum { SYNC_KEY_MAX = 4, SYNC_LISTED_MAX = 20, SYNC_LOGS_MAX = 8 };
#define SYNC_NONE UINT32_MAX

/* A value as two writings of it can be compared. */
enum cell_kind {
	CELL_UNKNOWN, /* not comparable, or not known */
	CELL_NULL,
	CELL_INT,
	CELL_TEXT,
};
struct cell {
	enum cell_kind kind;
	int64_t number;
	struct span text;
};
/* False when one of them is unknown, or they are of different kinds and neither is NULL. */
bool cells_comparable(const struct cell *a, const struct cell *b);
bool cells_equal(const struct cell *a, const struct cell *b);

struct sync_column {
	struct span name;
	bool integer, text;
};

struct sync_foreign {
	uint16_t columns[SYNC_KEY_MAX];
	uint32_t column_count;
	uint32_t parent; /* table or NONE */
	bool by_primary; /* the columns it refers to are the parent's primary key, in its order */
	bool cascade, set_null;
	struct span name;
};

enum { SYNC_FOREIGN_MAX = 8, SYNC_COLUMNS_MAX = 256 };

struct sync_table {
	uint32_t number; /* in the trace */
	struct span database, name, label; /* label: "db.t" */
	struct sync_column *columns;
	uint32_t column_count;
	uint16_t key[SYNC_KEY_MAX];
	uint32_t key_count; /* 0: rows of it are not followed */
	struct sync_foreign foreign[SYNC_FOREIGN_MAX];
	uint32_t foreign_count;
	bool triggers;
	/* Some statement changed rows of it, and its text does not say which. */
	bool blurred, *column_blurred;
};

enum effect_kind { EFFECT_INSERT, EFFECT_SET, EFFECT_ADD, EFFECT_DELETE, EFFECT_BLUR };

/* What a statement did to a row.  An INSERT has its values in `cells` of its table's columns. */
struct effect {
	enum effect_kind kind;
	uint32_t txn, stmt; /* of the sync_txns; of the execution */
	uint32_t row, next; /* of the row's list, newest first */
	uint16_t column;    /* SET, ADD */
	bool found;         /* SET, ADD: the row was there, as its statement's answer says */
	struct cell value;  /* SET; ADD: by how much */
	struct cell *cells; /* INSERT */
};

struct sync_row {
	uint32_t table;
	int64_t key[SYNC_KEY_MAX];
	uint32_t effects; /* the newest, or NONE */
};

struct sync_txn {
	uint64_t number, begin_seq, end_seq, begin_at, end_at;
	uint32_t session, node;
	enum txn_outcome outcome;
	bool partly; /* of what it did it is not known what was taken back inside it */
	bool writes;
	bool late;   /* it had not ended when the last point was taken */
	bool open;   /* something of it was not decided */
};

struct sync {
	const struct life *life;
	const struct execution *execution;
	const struct sync_options *options;
	struct verdict *verdict;
	struct arena arena;
	struct sync_table *tables;
	uint32_t table_count;
	struct sync_txn *txns;
	size_t txn_count, txn_capacity;
	struct map txn_by_number;
	struct effect *effects;
	size_t effect_count, effect_capacity;
	struct sync_row *rows;
	size_t row_count, row_capacity;
	struct map row_by_hash;
	uint32_t circumstances; /* enum contract_circumstance */
	uint64_t open_values;   /* values and rows that are not decided */
};

/* ---- effects.c ---- */

void effects_collect(struct sync *s);
uint64_t row_hash(uint32_t table, const int64_t key[SYNC_KEY_MAX], uint32_t count);
/* NONE: no effect is on it. */
uint32_t row_find(const struct sync *s, uint32_t table, const int64_t key[SYNC_KEY_MAX]);

/* ---- contents.c: rows at points ---- */

/* Of the table at the point on the node; NULL: not read. */
const struct life_content *content_at(const struct sync *s, uint32_t point, uint32_t node, uint32_t table);
/* One that was read whole, of any node; NULL: none. */
const struct life_content *content_of_any(const struct sync *s, uint32_t point, uint32_t table);
struct cell cell_of_value(const struct value *value);
/* The cells of a row by the columns of the table; false: the content has other columns. */
bool content_cells(const struct sync *s, const struct sync_table *table, const struct life_content *content, struct span row,
	struct cell *out);
bool cells_key(const struct sync_table *table, const struct cell *cells, int64_t key[SYNC_KEY_MAX]);
struct span row_name(struct sync *s, const struct sync_table *table, const int64_t key[SYNC_KEY_MAX]);
void check_contents(struct sync *s);

/* ---- commits.c ---- */

void check_commits(struct sync *s);

/* ---- nodes.c ---- */

void check_nodes(struct sync *s);
void find_circumstances(struct sync *s);

/* ---- sync.c: findings ---- */

struct told {
	enum finding_class class;
	bool suspicion;
	const char *caveat;
	struct span explanation;
	uint64_t from_at, to_at; /* when it happened, as far as that is known */
	uint64_t nodes;          /* a set */
	const uint32_t *txns;    /* of the sync_txns */
	uint32_t txn_count;
	struct span *rows;
	uint32_t row_count;
	uint64_t row_total;
};
void tell(struct sync *s, const struct told *told);
/* Nodes that were read at a point, and were in the cluster. */
uint64_t nodes_read(const struct sync *s, uint32_t point);
unsigned node_set_count(uint64_t set);
/* The last point at which tables were read; NONE. */
uint32_t last_point(const struct sync *s);
uint32_t first_point(const struct sync *s);

#endif
