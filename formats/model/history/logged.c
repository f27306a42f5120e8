/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/logged.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/history/image_chain.h"
#include "model/history/read_plan.h"
#include "server/commands.h"
#include "trace/pack.h"
#include "trace/value.h"

enum {
	KEY_COLUMNS_MAX = 16,
	COLUMNS_MAX = 4096,
	COLUMNS_KEPT = 512, /* of an answer; rows of a longer one are not looked at */
	/* Versions that are compared with a returned row, before and after those of its time. */
	NEAR_MAX = 64,
	/* ... and of its time. */
	WINDOW_MAX = 1024,
};

/* Of a transaction and a statement: it is the log's number, for now. */
#define OF_LOG ((uint32_t)1 << 31)
#define AMBIGUOUS (UINT32_MAX - 1)
#define FOREIGN_TXNS (UINT64_C(1) << 62) /* numbers of transactions that no session has */

struct logged_txn {
	uint32_t gtid; /* string; 0: none */
	uint32_t first_group, group_count;
	uint32_t xid; /* string; 0: none */
	uint32_t txn; /* the session's, once it is known */
	uint32_t first_op;
	uint8_t end;  /* enum logged_end */
	bool ended;
};

struct logged_group {
	uint32_t txn;    /* of the log */
	uint32_t number; /* in its transaction */
	uint32_t rows, rows_most; /* in all tables; in one of them */
	uint32_t stmt;   /* the session's, once it is known */
};

/* A statement of a session that changed rows. */
struct writer {
	uint32_t txn, stmt;
	uint64_t changed;
	uint64_t matched; /* UINT64_MAX: the answer does not say */
};

/* A statement that read, and what it returned: an array of columns and one of rows, in `bytes`. */
struct reader {
	uint32_t stmt, txn;
	size_t text, text_len; /* in `bytes`; the statement's, or that of its PREPARE */
	size_t params, params_len;
	size_t columns, columns_len;
	size_t rows, rows_len;
	uint64_t row_count;
	uint64_t changed, matched;
	uint32_t status;
	uint32_t database;    /* string: the session's; 0: none, or not known */
	bool has_rows, whole; /* whole: no row was left out */
	bool unclear;         /* what it reads is not known */
};

/* A session as its statements have it so far. */
struct session_now {
	uint32_t database; /* string; 0: none, or not known */
	/* A name may be a temporary table's, or an answer cut short by sql_select_limit: what it reads is not known. */
	bool unclear;
};

/* The answer of a session's statement that is being read. */
struct answer {
	uint32_t number, sets;
	bool whole;
	uint64_t count;
	struct buf columns, rows;
};

enum column_kind { COLUMN_OTHER, COLUMN_INTEGER, COLUMN_TIMESTAMP };

/* What a table's schema says, looked up once. */
struct columns {
	bool known;
	uint32_t count, key_count;
	struct span *names;
	uint8_t *kinds; /* enum column_kind */
	uint32_t key[KEY_COLUMNS_MAX];
};

struct logged {
	struct history_build *build;
	struct history *history;
	struct logged_txn *txns;
	struct logged_group *groups;
	size_t txn_count, group_count, txn_capacity, group_capacity;
	struct writer *writers;
	size_t writer_count, writer_capacity;
	struct reader *readers;
	size_t reader_count, reader_capacity;
	struct buf bytes;
	struct map stmt_map; /* (session, number): statement */
	struct map answer_map, prepared_map;
	struct answer *answers;
	size_t answer_count, answer_capacity;
	struct map session_map;
	struct session_now *sessions;
	size_t session_count, session_capacity;
	bool all_unclear; /* sql_select_limit was set for all sessions */
	struct {
		size_t at, len;
	} *prepared;
	size_t prepared_count, prepared_capacity;
	/* By session's transaction: the statements of `writers`, sorted. */
	uint32_t *blurred; /* by transaction: from this statement number on it is not known which of them wrote what; NONE */
	struct map table_map; /* (database, name): table */
	struct columns *columns;  /* by table */
	uint32_t table_count;
	struct arena arena;
	/* By object: its versions in the order of the log, and beside each of them when its writer or one before it began
	 * to commit at the latest, and when its writer or one behind it was answered at the earliest. */
	uint32_t *first_of, *order, *begun, *done;
	uint32_t object_count;
	struct map own_map; /* (transaction, object): the first in `order` that it wrote */
	struct logged_write {
		uint32_t stmt, op;
	} *writes; /* by statement */
	uint32_t write_count;
	struct map first_write; /* by statement: its first in `writes` */
	/* Rows of which no version is in the log: as they were returned first. */
	struct map seen_map;
	struct {
		size_t at, len;
	} *seen;
	size_t seen_count, seen_capacity;
	struct arena plan_arena, row_arena;
	bool doubtful;    /* a transaction may have written what the log does not show */
	uint64_t missing; /* rows that no write left */
};

struct logged *logged_new(struct history_build *build)
{
	struct logged *l = mem_zero(1, sizeof(*l));

	l->build = build;
	l->history = build->history;
	return l;
}

void logged_free(struct logged *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->answer_count; i++) {
		buf_release(&l->answers[i].columns);
		buf_release(&l->answers[i].rows);
	}
	mem_free(l->answers);
	mem_free(l->sessions);
	map_release(&l->session_map);
	mem_free(l->prepared);
	mem_free(l->txns);
	mem_free(l->groups);
	mem_free(l->writers);
	mem_free(l->readers);
	mem_free(l->blurred);
	mem_free(l->columns);
	mem_free(l->first_of);
	mem_free(l->order);
	mem_free(l->begun);
	mem_free(l->done);
	mem_free(l->writes);
	mem_free(l->seen);
	map_release(&l->own_map);
	map_release(&l->first_write);
	map_release(&l->seen_map);
	arena_release(&l->plan_arena);
	arena_release(&l->row_arena);
	buf_release(&l->bytes);
	map_release(&l->stmt_map);
	map_release(&l->answer_map);
	map_release(&l->prepared_map);
	map_release(&l->table_map);
	arena_release(&l->arena);
	mem_free(l);
}

/* ---- the log ---- */

/* Records of one transaction follow each other. */
static struct logged_txn *txn_now(struct logged *l, struct span gtid)
{
	uint32_t name = gtid.len ? strtab_add(&l->history->strings, gtid) : 0;
	struct logged_txn *last = l->txn_count ? &l->txns[l->txn_count - 1] : NULL;

	if (last && !last->ended && last->gtid == name)
		return last;
	MEM_RESERVE(l->txns, l->txn_count + 1, l->txn_capacity);
	last = &l->txns[l->txn_count++];
	*last = (struct logged_txn){
		.gtid = name,
		.first_group = (uint32_t)l->group_count,
		.txn = HISTORY_NONE,
		.first_op = l->history->op_count};
	return last;
}

struct logged_names logged_rows(struct logged *l, const struct record_logged *record, uint32_t rows)
{
	struct logged_txn *txn = txn_now(l, record->gtid);
	struct logged_group *group = l->group_count ? &l->groups[l->group_count - 1] : NULL;

	if (!group || !txn->group_count || group->number != record->group) {
		MEM_RESERVE(l->groups, l->group_count + 1, l->group_capacity);
		group = &l->groups[l->group_count++];
		*group = (struct logged_group){.txn = (uint32_t)(txn - l->txns),
			.number = record->group,
			.stmt = HISTORY_NONE};
		txn->group_count++;
	}
	group->rows += rows;
	if (rows > group->rows_most)
		group->rows_most = rows;
	return (struct logged_names){OF_LOG | (uint32_t)(txn - l->txns), OF_LOG | (uint32_t)(group - l->groups)};
}

uint32_t logged_first_op(const struct logged *l, uint32_t txn)
{
	return l->txns[txn & ~OF_LOG].first_op;
}

uint32_t logged_end(struct logged *l, const struct record_logged *record)
{
	struct logged_txn *txn = txn_now(l, record->gtid);

	txn->ended = true;
	txn->end = record->end;
	if (!record->xid.len)
		return HISTORY_NONE;
	txn->xid = strtab_add(&l->history->strings, record->xid);
	if (record->end == LOGGED_PREPARED || txn->group_count)
		return HISTORY_NONE;
	/* XA COMMIT or XA ROLLBACK: of what was prepared before. */
	for (size_t i = l->txn_count - 1; i-- > 0;) {
		if (l->txns[i].end == LOGGED_PREPARED && l->txns[i].xid == txn->xid) {
			l->txns[i].end = txn->end;
			return txn->end == LOGGED_ROLLED_BACK ? OF_LOG | (uint32_t)i : HISTORY_NONE;
		}
	}
	return HISTORY_NONE;
}

/* Two numbers as a key. */
static uint64_t place(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

/* ---- tables ---- */

static void index_tables(struct logged *l)
{
	struct history *h = l->history;

	if (l->columns)
		return;
	l->table_count = h->table_count;
	l->columns = mem_zero(h->table_count + 1, sizeof(*l->columns));
	for (uint32_t t = 0; t < h->table_count; t++) {
		uint32_t *at;

		if (!h->tables[t].name)
			continue;
		at = map_at(&l->table_map, place(h->tables[t].database, h->tables[t].name));
		*at = *at == MAP_NONE ? t : AMBIGUOUS;
	}
}

static uint32_t find_table(struct logged *l, struct span database, struct span name)
{
	uint32_t d = strtab_find(&l->history->strings, database), n = strtab_find(&l->history->strings, name), t;

	if (d == UINT32_MAX || n == UINT32_MAX)
		return HISTORY_NONE;
	t = map_get(&l->table_map, place(d, n));
	return t < l->history->table_count ? t : HISTORY_NONE;
}

/* ... by a name as a statement has it: perhaps without a database, and then it is in the session's. */
static uint32_t find_named(struct logged *l, const struct sql_table_name *name, uint32_t current)
{
	uint32_t found = HISTORY_NONE;
	struct span database = name->db.ptr ? name->db : strtab_get(&l->history->strings, current);

	for (uint32_t t = 0; t < l->history->table_count && (name->db.ptr || current); t++) {
		const struct history_table *table = &l->history->tables[t];

		if (!span_ieq(strtab_get(&l->history->strings, table->name), name->name) ||
			!span_ieq(strtab_get(&l->history->strings, table->database), database))
			continue;
		if (found != HISTORY_NONE)
			return HISTORY_NONE;
		found = t;
	}
	return found;
}

static uint8_t kind_of_type(struct span type)
{
	static const char *const integers[] = {"int", "bigint", "smallint", "tinyint", "mediumint"};

	for (size_t i = 0; i < ARRAY_LEN(integers); i++)
		if (span_istarts(type, integers[i]))
			return COLUMN_INTEGER;
	return span_istarts(type, "timestamp") ? COLUMN_TIMESTAMP : COLUMN_OTHER;
}

static const struct columns *columns_of(struct logged *l, uint32_t table)
{
	struct columns *c = &l->columns[table];
	uint32_t schema = l->build->schemas[table];
	struct record_schema record;
	struct mp mp;
	uint32_t kind, left;

	if (c->known)
		return c;
	c->known = true;
	if (!schema)
		return c;
	mp = mp_over(history_bytes(l->history, schema));
	if (!record_begin(&mp, &kind, &left) || !record_schema_read(&mp, left, &record))
		return c;
	mp = mp_over(record.columns);
	c->count = mp_array(&mp);
	if (mp.bad || c->count > COLUMNS_MAX) {
		c->count = 0;
		return c;
	}
	c->names = arena_alloc(&l->arena, (c->count + 1) * sizeof(*c->names));
	c->kinds = arena_zero(&l->arena, c->count + 1);
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t fields = mp_array(&mp);

		/* The pool may move. */
		c->names[i] = fields ? arena_copy(&l->arena, mp_bytes(&mp)) : SPAN_NONE;
		c->kinds[i] = fields > 1 ? kind_of_type(mp_bytes(&mp)) : COLUMN_OTHER;
		for (uint32_t k = 2; k < fields; k++)
			(void)mp_skip(&mp);
	}
	mp = mp_over(record.primary_key);
	c->key_count = record.primary_key.ptr ? mp_array(&mp) : 0;
	if (c->key_count > KEY_COLUMNS_MAX)
		c->key_count = 0;
	for (uint32_t i = 0; i < c->key_count; i++)
		c->key[i] = (uint32_t)mp_uint_max(&mp, c->count ? c->count - 1 : 0);
	return c;
}

/* ---- the sessions: second pass ---- */

bool logged_wants(uint32_t kind)
{
	return kind == RECORD_SESSION || kind == RECORD_STMT || kind == RECORD_RESULT || kind == RECORD_ROWS;
}

static void index_stmts(struct logged *l)
{
	const struct history *h = l->history;

	if (l->stmt_map.count)
		return;
	map_reserve(&l->stmt_map, h->stmt_count);
	for (uint32_t i = 0; i < h->stmt_count; i++)
		map_put(&l->stmt_map, place(h->sessions[h->stmts[i].session].number, h->stmts[i].number), i);
}

static struct answer *answer_of(struct logged *l, uint32_t session)
{
	uint32_t *at = map_at(&l->answer_map, session);

	if (*at == MAP_NONE) {
		MEM_RESERVE(l->answers, l->answer_count + 1, l->answer_capacity);
		*at = (uint32_t)l->answer_count;
		l->answers[l->answer_count++] = (struct answer){.columns = BUF_INIT, .rows = BUF_INIT};
	}
	return &l->answers[*at];
}

static void take_result(struct logged *l, const struct record_result *record)
{
	struct answer *a = answer_of(l, record->session);
	struct mp mp = mp_over(record->rows);
	uint32_t count;

	if (a->number != record->number) {
		a->number = record->number;
		a->sets = 0;
		a->count = 0;
		a->whole = false;
		buf_clear(&a->columns);
		buf_clear(&a->rows);
	}
	if (record->set + 1 > a->sets)
		a->sets = record->set + 1;
	if (record->set)
		return; /* several: none of them is looked at */
	if (record->part == 0 && record->columns.ptr)
		buf_add_span(&a->columns, record->columns);
	count = record->rows.ptr ? mp_array(&mp) : 0;
	a->count += count;
	if (!mp.bad && count)
		buf_add(&a->rows, (const char *)mp.p, (size_t)(mp.end - mp.p));
	if (record->last)
		a->whole = !record->digest.ptr && record->total == a->count;
}

static size_t keep(struct logged *l, struct span bytes)
{
	size_t at = l->bytes.len;

	buf_add_span(&l->bytes, bytes);
	return at;
}

/* "Rows matched: 3  Changed: 2  Warnings: 0" */
static bool number_after(struct span info, const char *word, uint64_t *out)
{
	const char *p = memmem(info.ptr, info.len, word, strlen(word)), *end = info.ptr + info.len;
	bool any = false;

	*out = 0;
	for (p = p ? p + strlen(word) : end; p < end && *p == ' '; p++)
		;
	for (; p < end && *p >= '0' && *p <= '9'; p++, any = true)
		*out = *out * 10 + (uint64_t)(*p - '0');
	return any;
}

static void keep_prepared(struct logged *l, const struct record_stmt *r)
{
	MEM_RESERVE(l->prepared, l->prepared_count + 1, l->prepared_capacity);
	l->prepared[l->prepared_count].at = keep(l, r->text);
	l->prepared[l->prepared_count].len = r->text.len;
	map_put(&l->prepared_map, place(r->session, r->number), (uint32_t)l->prepared_count++);
}

static bool is_command(const struct record_stmt *r)
{
	return r->command == CMD_QUERY || r->command == CMD_STMT_EXECUTE;
}

static struct session_now *session_now(struct logged *l, uint32_t session)
{
	uint32_t *at = map_at(&l->session_map, session);

	if (*at == MAP_NONE) {
		MEM_RESERVE(l->sessions, l->session_count + 1, l->session_capacity);
		*at = (uint32_t)l->session_count;
		l->sessions[l->session_count++] = (struct session_now){.database = 0};
	}
	return &l->sessions[*at];
}

static void take_session(struct logged *l, const struct record_session *r)
{
	if (r->event == SESSION_OPENED || r->event == SESSION_CHANGED)
		*session_now(l, r->session) = (struct session_now){
			.database = r->database.len ? strtab_add(&l->history->strings, r->database) : 0};
}

/* The name after USE; SPAN_NONE: it is no such statement. */
static struct span used_database(struct span text)
{
	const char *p = text.ptr, *end = text.ptr + text.len;

	while (p < end && strchr(" \t\r\n", *p))
		p++;
	if (end - p < 5 || !span_istarts(span_of(p, 3), "use") || !strchr(" \t\r\n`", p[3]))
		return SPAN_NONE;
	for (p += 3; p < end && strchr(" \t\r\n`", *p); p++)
		;
	while (p < end && strchr(" \t\r\n`;", end[-1]))
		end--;
	return span_of(p, (size_t)(end - p));
}

/* A procedure may make temporary tables, and choose a database for its statements. */
static void follow_session(struct logged *l, const struct record_stmt *r, struct session_now *now)
{
	struct span database = r->command == CMD_INIT_DB ? r->text : used_database(r->text);

	if (!r->text.ptr)
		return;
	if (span_ihas(r->text, "sql_select_limit")) {
		now->unclear = true;
		l->all_unclear |= span_ihas(r->text, "global");
	}
	now->unclear |= span_ihas(r->text, "temporary") || span_ihas(r->text, "call");
	if (database.len && !r->error)
		now->database = strtab_add(&l->history->strings, database);
}

static void take_stmt(struct logged *l, const struct record_stmt *r)
{
	const uint32_t unread = STMT_NO_REPLY | STMT_INJECTED | STMT_OPAQUE | STMT_TEXT_CUT | STMT_FILTERED;
	uint32_t stmt = map_get(&l->stmt_map, place(r->session, r->number));
	struct answer *a = answer_of(l, r->session);
	uint64_t changed = r->affected, matched = UINT64_MAX;
	struct session_now *now = session_now(l, r->session);
	struct reader reader = {.stmt = stmt, .status = r->status};

	follow_session(l, r, now);
	if (r->command == CMD_STMT_PREPARE && !r->error && r->text.ptr)
		keep_prepared(l, r);
	if (stmt == MAP_NONE || r->error || r->flags & STMT_INJECTED || !r->txn)
		return;
	if (r->info.ptr) {
		(void)number_after(r->info, "Changed:", &changed);
		if (!number_after(r->info, "Rows matched:", &matched))
			matched = UINT64_MAX;
		if (matched == UINT64_MAX)
			changed = r->affected;
	}
	if (changed) {
		MEM_RESERVE(l->writers, l->writer_count + 1, l->writer_capacity);
		l->writers[l->writer_count++] =
			(struct writer){l->history->stmts[stmt].txn, stmt, changed, matched};
	} else if (r->affected) {
		/* An UPDATE that left all rows as they were. */
		l->history->stmts[stmt].flags &= ~(uint32_t)HISTORY_STMT_CHANGED & 0xfffu;
	}
	if (r->flags & STMT_NO_TABLES && !r->result_sets)
		return;
	reader.database = now->database;
	reader.unclear = now->unclear || r->flags & unread || !is_command(r);
	reader.txn = l->history->stmts[stmt].txn;
	reader.changed = changed;
	reader.matched = matched;
	if (r->text.ptr) {
		reader.text = keep(l, r->text);
		reader.text_len = r->text.len;
	} else {
		uint32_t at = map_get(&l->prepared_map, place(r->session, r->prepared));

		reader.unclear |= at == MAP_NONE;
		if (at != MAP_NONE) {
			reader.text = l->prepared[at].at;
			reader.text_len = l->prepared[at].len;
		}
	}
	if (r->params.ptr) {
		reader.params = keep(l, r->params);
		reader.params_len = r->params.len;
	}
	if (a->number == r->number && a->sets == 1 && r->result_sets == 1) {
		reader.has_rows = true;
		reader.whole = a->whole && !(r->flags & STMT_NOT_KEPT);
		reader.row_count = a->count;
		reader.columns = keep(l, buf_span(&a->columns));
		reader.columns_len = a->columns.len;
		reader.rows = keep(l, buf_span(&a->rows));
		reader.rows_len = a->rows.len;
	}
	MEM_RESERVE(l->readers, l->reader_count + 1, l->reader_capacity);
	l->readers[l->reader_count++] = reader;
}

static void add_initial(struct logged *l, uint32_t object, struct span image)
{
	uint32_t version;

	/* It has the unborn version alone. */
	if (l->build->states[object].count > 1)
		return;
	version = build_version_int(l->build, object, 0);
	build_image(l->build, version, image);
}

/* Rows as they were before: of those that no logged transaction wrote, what reads saw.  Of others the log says more:
 * it may begin a moment before these rows were read. */
static void take_initial(struct logged *l, const struct record_rows *record)
{
	uint32_t table = build_table_at(l->build, record->table), count;
	const struct columns *columns;
	struct mp mp = mp_over(record->rows);
	struct buf key = BUF_INIT;

	if (table == HISTORY_NONE || record->columns.ptr || !record->rows.ptr)
		return;
	index_tables(l);
	if (table >= l->table_count)
		return;
	columns = columns_of(l, table);
	count = mp_array(&mp);
	for (uint32_t n = 0; n < count && !mp.bad && columns->key_count; n++) {
		struct span image = mp_raw(&mp), values[KEY_COLUMNS_MAX];
		struct mp row = mp_over(image);
		uint32_t fields = mp_array(&row);
		bool whole = !mp.bad;

		for (uint32_t i = 0; i < fields && whole; i++) {
			struct span value = mp_raw(&row);

			for (uint32_t k = 0; k < columns->key_count; k++)
				if (columns->key[k] == i)
					values[k] = value;
			whole = !row.bad;
		}
		if (!whole || fields != columns->count)
			continue;
		buf_clear(&key);
		if (columns->key_count > 1) {
			msgpack_packer pk = pack_into(&key);

			pack_array(&pk, columns->key_count);
		}
		for (uint32_t k = 0; k < columns->key_count; k++)
			buf_add_span(&key, values[k]);
		add_initial(l, build_object_at(l->build, table, buf_span(&key)), image);
	}
	buf_release(&key);
}

void logged_take(struct logged *l, uint32_t kind, struct mp *mp, uint32_t left)
{
	struct record_session session;
	struct record_stmt stmt;
	struct record_result result;
	struct record_rows rows;

	index_stmts(l);
	if (kind == RECORD_SESSION && record_session_read(mp, left, &session))
		take_session(l, &session);
	else if (kind == RECORD_STMT && record_stmt_read(mp, left, &stmt))
		take_stmt(l, &stmt);
	else if (kind == RECORD_RESULT && record_result_read(mp, left, &result))
		take_result(l, &result);
	else if (kind == RECORD_ROWS && record_rows_read(mp, left, &rows) && span_eq_str(rows.moment, "initial"))
		take_initial(l, &rows);
}

/* ---- which transaction is which (rule 23) ---- */

static const struct history_stmt *stmt_at(const struct logged *l, uint32_t stmt)
{
	return &l->history->stmts[stmt];
}

static int by_txn(const void *a, const void *b, void *data)
{
	const struct writer *x = a, *y = b;
	const struct logged *l = data;

	if (x->txn != y->txn)
		return x->txn < y->txn ? -1 : 1;
	if (x->stmt == y->stmt)
		return 0;
	return stmt_at(l, x->stmt)->number < stmt_at(l, y->stmt)->number ? -1 : 1;
}

/* The statements of a transaction among the sorted writers. */
static size_t first_writer(const struct logged *l, uint32_t txn)
{
	size_t low = 0, high = l->writer_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->writers[middle].txn < txn)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* May the group be what the statement changed?  REPLACE and ON DUPLICATE KEY UPDATE count a row twice; triggers
 * change rows of other tables, which the answer does not count. */
static bool fits(const struct writer *w, const struct logged_group *g)
{
	return (w->changed >= g->rows_most && w->changed <= 2 * (uint64_t)g->rows) ||
	       (w->changed >= 1 && w->changed <= 2 * (uint64_t)g->rows_most);
}

/* Rule 24: groups and statements that changed rows, one to one, in order.  Else it is not known which statement
 * wrote what: all counts as written by the first, and no row that the transaction read tells a version. */
static void attribute(struct logged *l, const struct logged_txn *log, uint32_t txn)
{
	size_t first = first_writer(l, txn), count = 0;
	bool clear = true;

	while (first + count < l->writer_count && l->writers[first + count].txn == txn)
		count++;
	clear = count == log->group_count;
	for (size_t i = 0; i < count && clear; i++)
		clear = fits(&l->writers[first + i], &l->groups[log->first_group + i]);
	for (uint32_t i = 0; i < log->group_count; i++)
		l->groups[log->first_group + i].stmt = count ? l->writers[first + (clear ? i : 0)].stmt
							     : HISTORY_NONE;
	if (!clear)
		l->blurred[txn] = 0; /* a statement that does not say that it wrote may be one of them */
	for (size_t i = 0; i < count; i++)
		l->history->stmts[l->writers[first + i].stmt].flags |=
			HISTORY_STMT_PROBE | HISTORY_STMT_WRITES;
}

/* A transaction that no recorded session has. */
static void make_foreign(struct logged *l, struct logged_txn *log, uint32_t session, uint32_t *stmts)
{
	uint32_t txn = build_txn_at(l->build, session, FOREIGN_TXNS + (uint64_t)(log - l->txns), 0);
	struct history_txn *t = &l->history->txns[txn];

	t->flags &= (uint16_t)~(HISTORY_TXN_NO_BEGIN | HISTORY_TXN_NO_END);
	t->begin_seq = 0;
	t->end_seq = HISTORY_NONE;
	t->gtid = log->gtid;
	/* The log does not tell its level: of its writes alone that is judged which the lowest promises as well. */
	t->level = LEVEL_READ_UNCOMMITTED;
	t->outcome = log->end == LOGGED_PREPARED || !log->ended ? TXN_UNKNOWN
		     : log->end == LOGGED_ROLLED_BACK           ? TXN_ABORTED
								: TXN_COMMITTED;
	log->txn = txn;
	for (uint32_t i = 0; i < log->group_count; i++) {
		uint32_t stmt = build_stmt_at(l->build, session, ++*stmts);

		l->history->stmts[stmt].txn = txn;
		l->history->stmts[stmt].flags |= HISTORY_STMT_PROBE | HISTORY_STMT_WRITES;
		l->groups[log->first_group + i].stmt = stmt;
	}
}

/* By the name of the commit; AMBIGUOUS where two transactions have it. */
static void name_txns(struct logged *l, struct map *named)
{
	for (uint32_t t = 0; t < l->history->txn_count; t++) {
		uint32_t *at;

		if (!l->history->txns[t].gtid)
			continue;
		at = map_at(named, l->history->txns[t].gtid);
		*at = *at == MAP_NONE ? t : AMBIGUOUS;
	}
}

/* What a session's transaction wrote is not known: it has no name, or the log does not have it. */
static void doubt_unlogged(struct logged *l, const uint64_t *joined, uint32_t own)
{
	struct history *h = l->history;

	for (size_t i = 0; i < l->writer_count; i++) {
		struct history_txn *t;
		uint32_t txn = l->writers[i].txn;

		if (txn == HISTORY_NONE || joined[txn / 64] >> (txn % 64) & 1)
			continue;
		t = &h->txns[txn];
		if (t->outcome == TXN_ABORTED) {
			uint32_t number = stmt_at(l, l->writers[i].stmt)->number;

			/* Nothing of it is left; what it read behind its first write may have been its own. */
			h->stmts[l->writers[i].stmt].flags |= HISTORY_STMT_PROBE;
			if (number < l->blurred[txn])
				l->blurred[txn] = number;
			continue;
		}
		t->flags |= HISTORY_TXN_MIXED;
	}
	for (uint32_t t = 0; t < own; t++) {
		if (!h->txns[t].gtid || joined[t / 64] >> (t % 64) & 1 || h->txns[t].outcome != TXN_COMMITTED)
			continue;
		/* It has a name, and the log ends before it. */
		h->complete = false;
		h->counts.lost_records++;
		h->txns[t].flags |= HISTORY_TXN_MIXED;
	}
}

static void join(struct logged *l)
{
	struct map named = MAP_INIT;
	size_t words = l->history->txn_count / 64 + 1;
	uint64_t *joined = mem_zero(words, sizeof(*joined));
	uint32_t session = HISTORY_NONE, stmts = 0, own = l->history->txn_count;

	qsort_r(l->writers, l->writer_count, sizeof(*l->writers), by_txn, l);
	l->blurred = mem_realloc(NULL, (size_t)l->history->txn_count + 1, sizeof(*l->blurred));
	memset(l->blurred, 0xff, ((size_t)own + 1) * sizeof(*l->blurred));
	name_txns(l, &named);
	for (size_t i = 0; i < l->txn_count; i++) {
		struct logged_txn *log = &l->txns[i];
		uint32_t txn = log->gtid ? map_get(&named, log->gtid) : MAP_NONE;

		if (txn < own)
			joined[txn / 64] |= UINT64_C(1) << (txn % 64);
		/* XA: its rows are logged by the name that PREPARE gave it, which no answer tells. */
		if (txn < own && log->xid)
			l->history->txns[txn].flags |= HISTORY_TXN_MIXED;
		if (!log->group_count)
			continue;
		if (txn < own && l->history->txns[txn].outcome != TXN_ABORTED && log->end == LOGGED_COMMITTED) {
			log->txn = txn;
			attribute(l, log, txn);
			continue;
		}
		if (session == HISTORY_NONE)
			session = build_session_at(l->build, 0);
		make_foreign(l, log, session, &stmts);
	}
	doubt_unlogged(l, joined, own);
	mem_free(joined);
	map_release(&named);
}

static void rename_all(struct logged *l)
{
	struct history *h = l->history;

	for (uint32_t i = 0; i < h->op_count; i++) {
		struct history_op *op = &h->ops[i];

		if (op->txn == HISTORY_NONE || !(op->txn & OF_LOG))
			continue;
		op->txn = l->txns[op->txn & ~OF_LOG].txn;
		op->stmt = l->groups[op->stmt & ~OF_LOG].stmt;
	}
	for (uint32_t i = 0; i < h->version_count; i++) {
		struct history_version *v = &h->versions[i];

		if (v->txn == HISTORY_NONE || !(v->txn & OF_LOG))
			continue;
		v->txn = l->txns[v->txn & ~OF_LOG].txn;
		v->stmt = l->groups[v->stmt & ~OF_LOG].stmt;
	}
}

/* ---- versions of an object, in the order of the log ---- */

static bool is_before(const struct history_version *v)
{
	return !v->name_is_bytes && v->name == 0 &&
	       !(v->flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD | HISTORY_VERSION_NAMELESS));
}

/* By id, which is the log's order; but what was there before came to be known by what overwrote it. */
static void order_versions(struct logged *l)
{
	struct history *h = l->history;
	uint32_t *next;

	l->object_count = h->object_count;
	l->first_of = mem_zero((size_t)h->object_count + 1, sizeof(*l->first_of));
	l->order = mem_realloc(NULL, (size_t)h->version_count + 1, sizeof(*l->order));
	next = mem_zero((size_t)h->object_count + 1, sizeof(*next));
	for (uint32_t v = 0; v < h->version_count; v++)
		l->first_of[h->versions[v].object + 1]++;
	for (uint32_t o = 0; o < h->object_count; o++) {
		l->first_of[o + 1] += l->first_of[o];
		next[o] = l->first_of[o];
	}
	for (uint32_t v = 0; v < h->version_count; v++)
		if (h->versions[v].flags & HISTORY_VERSION_UNBORN || is_before(&h->versions[v]))
			l->order[next[h->versions[v].object]++] = v;
	for (uint32_t v = 0; v < h->version_count; v++)
		if (!(h->versions[v].flags & HISTORY_VERSION_UNBORN || is_before(&h->versions[v])))
			l->order[next[h->versions[v].object]++] = v;
	mem_free(next);
}

/* When its writer was committed: between begin and end of the statement that did it. */
static void time_versions(struct logged *l)
{
	const struct history *h = l->history;
	uint32_t *last = mem_zero((size_t)h->txn_count + 1, sizeof(*last));

	for (uint32_t i = 0; i < h->stmt_count; i++) {
		uint32_t txn = h->stmts[i].txn;

		if (txn != HISTORY_NONE && h->stmts[i].begin_seq > last[txn])
			last[txn] = h->stmts[i].begin_seq;
	}
	l->begun = mem_realloc(NULL, (size_t)h->version_count + 1, sizeof(*l->begun));
	l->done = mem_realloc(NULL, (size_t)h->version_count + 1, sizeof(*l->done));
	for (uint32_t o = 0; o < l->object_count; o++) {
		uint32_t first = l->first_of[o], end = l->first_of[o + 1];
		uint32_t most = 0, least = HISTORY_NONE;

		for (uint32_t k = first; k < end; k++) {
			uint32_t txn = h->versions[l->order[k]].txn;

			if (txn != HISTORY_NONE && last[txn] > most)
				most = last[txn];
			l->begun[k] = most;
			if (txn != HISTORY_NONE) {
				uint32_t *at = map_at(&l->own_map, place(txn, o));

				if (*at == MAP_NONE)
					*at = k;
			}
		}
		for (uint32_t k = end; k-- > first;) {
			uint32_t txn = h->versions[l->order[k]].txn;

			if (txn != HISTORY_NONE && h->txns[txn].end_seq < least)
				least = h->txns[txn].end_seq;
			l->done[k] = least;
		}
	}
	mem_free(last);
}

/* ---- returned rows (rule 25) ---- */

struct want {
	uint32_t column; /* of the table */
	struct value value;
};

/* A row that a statement returned, as far as it did. */
struct seen_row {
	struct want *wants; /* by column */
	size_t count;
};

enum fit { FIT_NO, FIT_PERHAPS_NOT, FIT_YES };

static bool is_integer(const struct value *v)
{
	return v->type == VALUE_INT || v->type == VALUE_UINT;
}

/* PERHAPS_NOT: where it differs, a value may be printed in two forms. */
static enum fit row_fits(const struct seen_row *row, struct span image)
{
	struct mp mp = mp_over(image);
	uint32_t count = mp_array(&mp), at = 0;
	enum fit fit = FIT_YES;

	for (size_t i = 0; i < row->count && fit != FIT_NO; i++) {
		struct value value;

		for (; at < row->wants[i].column; at++)
			(void)mp_skip(&mp);
		if (at++ >= count || !value_read(&mp, &value))
			return FIT_PERHAPS_NOT;
		if (image_value_same(&row->wants[i].value, &value)) {
			/* Moments in two time zones, or texts of which a digest is known, may be the same. */
			if (row->wants[i].value.type >= VALUE_TEXT && !span_eq(row->wants[i].value.bytes, value.bytes))
				fit = FIT_PERHAPS_NOT;
			continue;
		}
		fit = is_integer(&row->wants[i].value) && is_integer(&value) ? FIT_NO : FIT_PERHAPS_NOT;
	}
	return fit;
}

/* The statement that read, and when its rows can have been what it returned. */
struct looking {
	struct logged *l;
	const struct reader *reader;
	uint32_t txn, from, to; /* sequence numbers */
	uint8_t level;
	bool locking;
};

static bool is_row(const struct history_version *v)
{
	return !(v->flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD)) && v->image;
}

/* The first version of the object that can still have been there at `from`. */
static uint32_t window_first(const struct logged *l, uint32_t first, uint32_t end, uint32_t from)
{
	uint32_t low = first, high = end;

	/* done[] grows: the last one that was certainly overwritten before has a follower that was done. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (l->done[middle] < from)
			low = middle + 1;
		else
			high = middle;
	}
	/* What stands before it may be what it overwrote later. */
	return low > first ? low - 1 : first;
}

static uint32_t window_end(const struct logged *l, uint32_t first, uint32_t end, uint32_t to)
{
	uint32_t low = first, high = end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (l->begun[middle] < to)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct search {
	uint32_t found; /* NONE: none */
	unsigned fits;
	bool unclear; /* one differs in a way that may be none */
};

static void search(const struct looking *look, const struct seen_row *row, uint32_t from, uint32_t to,
	struct search *s)
{
	const struct logged *l = look->l;

	for (uint32_t k = from; k < to; k++) {
		const struct history_version *v = &l->history->versions[l->order[k]];

		if (!is_row(v) || v->txn == look->txn)
			continue;
		switch (row_fits(row, history_bytes(l->history, v->image))) {
		case FIT_YES:
			s->fits++;
			s->found = l->order[k];
			break;
		case FIT_PERHAPS_NOT:
			s->unclear = true;
			break;
		case FIT_NO:
			break;
		}
	}
}

/* What the transaction itself had made of the row before the statement.  True: that is what it has to be. */
static bool own_version(const struct looking *look, uint32_t object, uint32_t *version)
{
	const struct logged *l = look->l;
	const struct history *h = l->history;
	uint32_t k = map_get(&l->own_map, place(look->txn, object));
	bool any = false;

	if (k == MAP_NONE)
		return false;
	for (; k < l->first_of[object + 1]; k++) {
		const struct history_version *v = &h->versions[l->order[k]];

		if (v->txn != look->txn && v->txn != HISTORY_NONE)
			break;
		if (v->txn == look->txn && v->stmt != HISTORY_NONE && h->stmts[v->stmt].number < h->stmts[look->reader->stmt].number) {
			*version = l->order[k];
			any = true;
		}
	}
	return any;
}

/* May rows that no write left be an error of ours? */
static bool is_doubtful(const struct looking *look, uint32_t object)
{
	const struct history *h = look->l->history;

	return !h->complete || look->l->doubtful || look->level <= LEVEL_READ_UNCOMMITTED ||
	       history_unseen_in(h, h->objects[object].table);
}

/* A row that no logged transaction wrote is what it was before; where answers differ, something is not in the log. */
static uint32_t unwritten_version(struct logged *l, uint32_t object, const struct seen_row *row)
{
	uint32_t version = build_version_int(l->build, object, 0);
	uint32_t *at = map_at(&l->seen_map, object);
	struct buf packed = BUF_INIT;
	size_t start;

	for (size_t i = 0; i < row->count; i++) {
		struct value column = value_uint(row->wants[i].column);

		value_pack(&packed, &column);
		value_pack(&packed, &row->wants[i].value);
	}
	if (*at == MAP_NONE) {
		MEM_RESERVE(l->seen, l->seen_count + 1, l->seen_capacity);
		start = keep(l, buf_span(&packed));
		l->seen[l->seen_count].at = start;
		l->seen[l->seen_count].len = packed.len;
		*at = (uint32_t)l->seen_count++;
	} else {
		struct mp mp = mp_over(span_of(l->bytes.data + l->seen[*at].at, l->seen[*at].len));
		struct value column, value;
		size_t i = 0;

		while (value_read(&mp, &column) && value_read(&mp, &value)) {
			while (i < row->count && row->wants[i].column < column.u)
				i++;
			if (i < row->count && row->wants[i].column == column.u &&
				!image_value_same(&row->wants[i].value, &value))
				version = HISTORY_NONE;
		}
	}
	buf_release(&packed);
	return version;
}

/* NONE: it is none of those that are known; AMBIGUOUS: it may be several. */
static uint32_t version_of(const struct looking *look, uint32_t object, const struct seen_row *row)
{
	struct logged *l = look->l;
	const struct history *h = l->history;
	struct search s = {.found = HISTORY_NONE};
	uint32_t first, end, from, to, own;

	/* It may be what the transaction itself had made of it, and took back. */
	if (l->blurred[look->txn] != HISTORY_NONE && h->stmts[look->reader->stmt].number > l->blurred[look->txn])
		return AMBIGUOUS;
	if (object >= l->object_count || l->first_of[object + 1] - l->first_of[object] <= 1)
		return unwritten_version(l, object, row);
	if (own_version(look, object, &own))
		return is_row(&h->versions[own]) &&
				       row_fits(row, history_bytes(h, h->versions[own].image)) == FIT_YES
			       ? own
			       : HISTORY_NONE;
	first = l->first_of[object];
	end = l->first_of[object + 1];
	from = window_first(l, first, end, look->from);
	to = window_end(l, first, end, look->to);
	if (to > from && to - from > WINDOW_MAX)
		return AMBIGUOUS;
	search(look, row, from, to, &s);
	if (s.fits == 1 && !s.unclear)
		return s.found;
	if (s.fits || s.unclear)
		return AMBIGUOUS;
	/* None of its time: an older or a newer one, of which there is one only? */
	search(look, row, from > first + NEAR_MAX ? from - NEAR_MAX : first, from, &s);
	search(look, row, to, end - to > NEAR_MAX ? to + NEAR_MAX : end, &s);
	if (s.fits == 1 && !s.unclear)
		return s.found;
	if (s.fits || s.unclear || from > first + NEAR_MAX || end - to > NEAR_MAX || is_doubtful(look, object))
		return HISTORY_NONE;
	return build_version_int(l->build, object, (UINT64_C(1) << 61) + l->missing++);
}

/* ---- rows of an answer ---- */

/* Columns of an answer that are those of one table, under one name. */
struct part {
	uint32_t table;
	struct span alias;
	uint32_t of[COLUMNS_KEPT]; /* by column of the answer: of the table; NONE */
};

/* Reads the answer's columns: [[name, table, type, flags, charset, length, decimals, database, original
 * table, original name], ...] */
static size_t read_parts(struct logged *l, const struct reader *r, struct part *parts, uint32_t *column_count)
{
	struct mp mp = mp_over(span_of(l->bytes.data + r->columns, r->columns_len));
	uint32_t count = mp_array(&mp);
	size_t part_count = 0;

	*column_count = count;
	if (mp.bad || count > COLUMNS_KEPT)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t fields = mp_array(&mp), table, k;
		struct span alias = SPAN_NONE, database = SPAN_NONE, original = SPAN_NONE, name = SPAN_NONE;
		const struct columns *columns;
		struct part *part = NULL;

		for (k = 0; k < fields; k++) {
			if (k == 1)
				alias = mp_bytes(&mp);
			else if (k == 7)
				database = mp_bytes(&mp);
			else if (k == 8)
				original = mp_bytes(&mp);
			else if (k == 9)
				name = mp_bytes(&mp);
			else
				(void)mp_skip(&mp);
		}
		for (size_t p = 0; p < part_count; p++)
			parts[p].of[i] = HISTORY_NONE;
		if (!original.len || !name.len)
			continue;
		table = find_table(l, database, original);
		if (table == HISTORY_NONE)
			continue;
		for (size_t p = 0; p < part_count && !part; p++)
			if (parts[p].table == table && span_eq(parts[p].alias, alias))
				part = &parts[p];
		if (!part) {
			if (part_count == READ_PLAN_TABLES_MAX)
				continue;
			part = &parts[part_count++];
			part->table = table;
			part->alias = alias;
			for (k = 0; k <= i; k++)
				part->of[k] = HISTORY_NONE;
		}
		columns = columns_of(l, table);
		for (k = 0; k < columns->count; k++)
			if (span_ieq(columns->names[k], name))
				part->of[i] = k;
	}
	return part_count;
}

/* A value that names a row in the log as it does in an answer. */
static bool is_key_value(const struct value *v)
{
	if (is_integer(v))
		return true;
	if (v->type != VALUE_TEXT)
		return false;
	for (size_t i = 0; i < v->bytes.len; i++)
		if ((unsigned char)v->bytes.ptr[i] >= 0x80)
			return false;
	return true;
}

/* What the condition says of a key column that was not returned; false: nothing. */
static bool pinned_value(
	const struct read_plan *plan, const struct columns *columns, uint32_t column, struct value *out)
{
	const struct sql_expr *e = plan->kind == READ_PLAN_ROWS && columns->kinds[column] == COLUMN_INTEGER
					   ? read_plan_pin(plan->condition, columns->names[column])
					   : NULL;
	uint64_t number;

	if (!e || e->u.literal.kind != SQL_LIT_INT || !text_number(e->u.literal.text, &number))
		return false;
	*out = value_uint(number);
	return true;
}

static int by_column(const void *a, const void *b)
{
	uint32_t x = ((const struct want *)a)->column, y = ((const struct want *)b)->column;

	return x < y ? -1 : x > y;
}

/* The object that a row's part is a version of; NONE: its key is not all there.  *null: there is no row (an outer
 * join). */
static uint32_t object_of(struct logged *l, const struct reader *r, const struct read_plan *plan,
	const struct part *part, const struct seen_row *row, bool *null)
{
	const struct columns *columns = columns_of(l, part->table);
	struct buf key = BUF_INIT;
	uint32_t object = HISTORY_NONE;
	bool whole = columns->key_count > 0;

	*null = false;
	if (columns->key_count > 1) {
		msgpack_packer pk = pack_into(&key);

		pack_array(&pk, columns->key_count);
	}
	for (uint32_t i = 0; i < columns->key_count && whole; i++) {
		struct value value = {.type = VALUE_NULL};
		bool any = false;

		for (size_t k = 0; k < row->count && !any; k++) {
			any = row->wants[k].column == columns->key[i];
			if (any)
				value = row->wants[k].value;
		}
		*null |= any && value.type == VALUE_NULL;
		/* One row: what is pinned is its key. */
		if (!any && r->row_count == 1)
			any = pinned_value(plan, columns, columns->key[i], &value);
		whole = any && is_key_value(&value);
		if (whole)
			value_pack(&key, &value);
	}
	if (whole)
		object = build_object_at(l->build, part->table, buf_span(&key));
	buf_release(&key);
	return object;
}

struct matched {
	uint32_t *versions;
	size_t count, capacity;
	bool undecided; /* of some rows it is not known which version they are */
};

static uint8_t read_kind_of(const struct looking *look)
{
	if (look->locking)
		return PROBE_READ_CURRENT;
	switch (look->level) {
	case LEVEL_READ_UNCOMMITTED:
		return PROBE_READ_DIRTY;
	case LEVEL_READ_COMMITTED:
	case LEVEL_REPEATABLE_READ:
		return PROBE_READ_SNAPSHOT;
	case LEVEL_SERIALIZABLE:
		return look->l->history->txns[look->txn].flags & HISTORY_TXN_AUTOCOMMIT ? PROBE_READ_SNAPSHOT
											: PROBE_READ_CURRENT;
	default:
		return PROBE_READ_UNKNOWN;
	}
}

static void read_part(const struct looking *look, const struct read_plan *plan, const struct part *part,
	const struct seen_row *row, struct matched *matched)
{
	struct logged *l = look->l;
	struct history_op op = {.txn = look->txn,
		.stmt = look->reader->stmt,
		.read_kind = read_kind_of(look),
		.flags = HISTORY_OP_EXACT,
		.probe = PROBE_READ};
	bool null;

	op.object = object_of(l, look->reader, plan, part, row, &null);
	if (null)
		return;
	op.version = op.object == HISTORY_NONE ? AMBIGUOUS : version_of(look, op.object, row);
	if (op.version >= AMBIGUOUS) {
		matched->undecided = true;
		l->history->counts.reads_undecided++;
		if (op.version == HISTORY_NONE)
			l->history->stmts[look->reader->stmt].flags |= HISTORY_STMT_UNEXPLAINED;
		return;
	}
	build_read(l->build, &op);
	MEM_RESERVE(matched->versions, matched->count + 1, matched->capacity);
	matched->versions[matched->count++] = op.version;
}

/* SELECT id, t.* returns a column twice. */
static size_t drop_repeated(struct want *wants, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!kept || wants[kept - 1].column != wants[i].column)
			wants[kept++] = wants[i];
	return kept;
}

static void read_rows(const struct looking *look, const struct read_plan *plan, struct part *parts,
	size_t part_count, uint32_t column_count, struct matched *matched)
{
	struct logged *l = look->l;
	const struct reader *r = look->reader;
	struct want wants[COLUMNS_KEPT];
	struct value values[COLUMNS_KEPT];
	size_t at = 0;

	for (uint64_t n = 0; n < r->row_count; n++) {
		/* The buffer may move while rows are read. */
		struct mp mp = mp_over(span_of(l->bytes.data + r->rows + at, r->rows_len - at));
		const unsigned char *start = mp.p;
		uint32_t count = mp_array(&mp);

		if (mp.bad || count != column_count) {
			matched->undecided = true;
			return;
		}
		for (uint32_t i = 0; i < count; i++) {
			if (!value_read(&mp, &values[i])) {
				matched->undecided = true;
				return;
			}
			if (values[i].type > VALUE_UINT && values[i].bytes.ptr && values[i].type != VALUE_DOUBLE &&
				values[i].type != VALUE_FLOAT)
				values[i].bytes = arena_copy(&l->row_arena, values[i].bytes);
		}
		at += (size_t)(mp.p - start);
		for (size_t p = 0; p < part_count; p++) {
			struct seen_row row = {.wants = wants};

			for (uint32_t i = 0; i < count; i++)
				if (parts[p].of[i] != HISTORY_NONE)
					wants[row.count++] = (struct want){parts[p].of[i], values[i]};
			qsort(wants, row.count, sizeof(*wants), by_column);
			row.count = drop_repeated(wants, row.count);
			read_part(look, plan, &parts[p], &row, matched);
		}
		arena_clear(&l->row_arena);
	}
}

/* ---- predicates ---- */

static void add_predicate(const struct looking *look, uint32_t table, struct span text,
	const struct matched *matched, bool exact)
{
	struct logged *l = look->l;
	struct build_predicate p = {
		.op = {.txn = look->txn,
			.stmt = look->reader->stmt,
			.read_kind = read_kind_of(look),
			.flags = exact ? HISTORY_OP_EXACT : 0,
			.probe = PROBE_READ},
		.predicate = {.table = table,
			.text = build_text(l->build, text, hash_bytes(text.ptr, text.len)),
			.flags = exact ? HISTORY_PREDICATE_EXACT | HISTORY_PREDICATE_MATCHES : 0},
		.matches = matched->versions,
		.match_count = exact ? matched->count : 0};

	build_predicate_add(l->build, &p);
}

/* What it wrote is known; what it read is not. */
static void forget_probe(struct logged *l, uint32_t stmt)
{
	l->history->stmts[stmt].flags &= ~(uint32_t)HISTORY_STMT_PROBE & 0xfffu;
}

static bool is_servers_own(struct span database)
{
	static const char *const own[] = {"mysql", "information_schema", "performance_schema", "sys"};

	for (size_t i = 0; database.ptr && i < ARRAY_LEN(own); i++)
		if (span_ieq_str(database, own[i]))
			return true;
	return false;
}

static void add_unknown(const struct looking *look, const struct read_plan *plan)
{
	static const struct matched none;

	for (size_t i = 0; i < plan->table_count; i++) {
		uint32_t table = find_named(look->l, &plan->tables[i], look->reader->database);

		if (is_servers_own(plan->tables[i].db))
			continue;
		if (table != HISTORY_NONE)
			add_predicate(look, table, SPAN_LIT("?"), &none, false);
		else
			forget_probe(look->l, look->reader->stmt);
	}
}

/* A TIMESTAMP is compared in the session's time zone, and logged in UTC. */
static bool compares_moments(struct logged *l, uint32_t table, struct span where)
{
	const struct columns *columns = table == HISTORY_NONE ? NULL : columns_of(l, table);

	for (uint32_t i = 0; columns && i < columns->count; i++)
		if (columns->kinds[i] == COLUMN_TIMESTAMP && span_ihas(where, columns->names[i].ptr))
			return true;
	return false;
}

static void add_condition(const struct looking *look, const struct read_plan *plan, struct matched *matched,
	uint64_t rows, bool exact)
{
	uint32_t table = find_named(look->l, &plan->table, look->reader->database);
	bool cut = (plan->cut && (plan->limit == 0 || rows >= plan->limit)) || compares_moments(look->l, table, plan->where);

	if (table == HISTORY_NONE)
		forget_probe(look->l, look->reader->stmt);
	else
		add_predicate(look, table, cut ? SPAN_LIT("?") : plan->where, matched,
			exact && !cut && !matched->undecided);
}

/* Rows that a statement overwrote satisfied its condition.  All that did?  The answer says how many. */
static void add_write_condition(const struct looking *look, const struct read_plan *plan)
{
	struct logged *l = look->l;
	const struct reader *r = look->reader;
	uint64_t all = plan->kind == READ_PLAN_UPDATE ? r->matched : r->changed;
	uint32_t table = find_named(l, &plan->table, r->database);
	struct matched matched = {NULL, 0, 0, false};

	for (uint32_t k = map_get(&l->first_write, r->stmt); k < l->write_count && l->writes[k].stmt == r->stmt; k++) {
		const struct history_op *op = &l->history->ops[l->writes[k].op];
		uint32_t previous = l->history->versions[op->version].previous;

		if (l->history->objects[op->object].table != table || previous >= BUILD_NIL)
			continue;
		MEM_RESERVE(matched.versions, matched.count + 1, matched.capacity);
		matched.versions[matched.count++] = previous;
	}
	add_condition(look, plan, &matched, all,
		l->blurred[look->txn] == HISTORY_NONE && all == matched.count);
	mem_free(matched.versions);
}

/* ---- one statement ---- */

/* The moment from which on rows were as the statement read them: REPEATABLE READ has one for the transaction. */
static void set_window(struct looking *look)
{
	const struct history *h = look->l->history;
	const struct history_stmt *stmt = &h->stmts[look->reader->stmt];
	bool one = look->level >= LEVEL_REPEATABLE_READ || look->level == LEVEL_UNKNOWN;

	look->to = stmt->end_seq;
	look->from = one && !look->locking ? h->txns[look->txn].begin_seq : stmt->begin_seq;
}

static void take_reader(struct logged *l, const struct reader *r, const struct sql_options *options)
{
	struct history *h = l->history;
	struct looking look = {.l = l, .reader = r, .txn = r->txn};
	struct sql_options now = *options;
	struct matched matched = {NULL, 0, 0, false};
	struct part parts[READ_PLAN_TABLES_MAX];
	struct read_plan plan;
	size_t part_count = 0;
	uint32_t column_count = 0;

	if (r->txn == HISTORY_NONE || h->txns[r->txn].flags & HISTORY_TXN_MIXED)
		return;
	if (r->unclear || l->all_unclear) {
		forget_probe(l, r->stmt);
		return;
	}
	now.mode = (r->status & STATUS_NO_BACKSLASH_ESCAPES ? SQL_MODE_NO_BACKSLASH_ESCAPES : 0u) |
		   (r->status & STATUS_ANSI_QUOTES && now.flavour == SQL_MARIADB ? SQL_MODE_ANSI_QUOTES : 0u);
	arena_clear(&l->plan_arena);
	read_plan_make(&plan, &l->plan_arena, span_of(l->bytes.data + r->text, r->text_len), &now,
		r->params_len ? span_of(l->bytes.data + r->params, r->params_len) : SPAN_NONE);
	if (plan.kind == READ_PLAN_NOTHING)
		return;
	look.level = h->txns[r->txn].level;
	look.locking = plan.locking || plan.kind == READ_PLAN_UPDATE || plan.kind == READ_PLAN_DELETE;
	set_window(&look);
	if (r->has_rows)
		part_count = read_parts(l, r, parts, &column_count);
	if (plan.tables_cut || (plan.kind == READ_PLAN_ROWS && !part_count)) {
		forget_probe(l, r->stmt); /* not known what it read */
		return;
	}
	h->stmts[r->stmt].flags |= HISTORY_STMT_PROBE;
	if (part_count) {
		/* Aliases point into the bytes, which may move from here on. */
		read_rows(&look, &plan, parts, part_count, column_count, &matched);
		matched.undecided |= !r->whole;
	}
	switch (plan.kind) {
	case READ_PLAN_ROWS:
		add_condition(&look, &plan, &matched, r->row_count, true);
		break;
	case READ_PLAN_UPDATE:
	case READ_PLAN_DELETE:
		h->stmts[r->stmt].flags |= HISTORY_STMT_WRITES;
		add_write_condition(&look, &plan);
		break;
	case READ_PLAN_UNKNOWN:
		add_unknown(&look, &plan);
		break;
	case READ_PLAN_NOTHING:
		break;
	}
	mem_free(matched.versions);
}

static int by_stmt(const void *a, const void *b)
{
	const struct logged_write *x = a, *y = b;

	if (x->stmt != y->stmt)
		return x->stmt < y->stmt ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

/* The writes by their statements. */
static void index_writes(struct logged *l)
{
	const struct history *h = l->history;

	l->writes = mem_realloc(NULL, (size_t)h->op_count + 1, sizeof(*l->writes));
	for (uint32_t i = 0; i < h->op_count; i++)
		if (h->ops[i].kind == HISTORY_WRITE && h->ops[i].stmt != HISTORY_NONE)
			l->writes[l->write_count++] = (struct logged_write){h->ops[i].stmt, i};
	qsort(l->writes, l->write_count, sizeof(*l->writes), by_stmt);
	for (uint32_t k = l->write_count; k-- > 0;)
		map_put(&l->first_write, l->writes[k].stmt, k);
}

void logged_finish(struct logged *l)
{
	struct history *h = l->history;
	struct sql_options options = sql_options_for_server(strtab_get(&h->strings, h->server_version));

	join(l);
	rename_all(l);
	index_tables(l);
	index_writes(l);
	order_versions(l);
	time_versions(l);
	for (uint32_t t = 0; t < h->txn_count; t++)
		l->doubtful |= (h->txns[t].flags & HISTORY_TXN_MIXED) != 0 || h->txns[t].outcome == TXN_UNKNOWN;
	/* Which version a row was is what remains when all others are excluded: none of them may be missing. */
	for (size_t i = 0; i < l->reader_count && h->complete; i++)
		take_reader(l, &l->readers[i], &options);
	/* The log was read from the beginning on. */
	for (uint32_t v = 0; v < h->version_count; v++)
		if (is_before(&h->versions[v]) && h->versions[v].txn == HISTORY_NONE)
			build_initial(l->build, v);
}
