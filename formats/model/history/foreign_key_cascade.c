/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/foreign_key_cascade.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "server/flavour.h"
#include "trace/record.h"
#include "trace/value.h"

enum {
	KEY_COLUMNS_MAX = 16, /* of a foreign key; the servers allow 16 */
	DEPTH_MAX = 16,       /* the servers go 15 levels deep */
	STEPS_MAX = 50 * 1000 * 1000,
};

/* A row of the child that had this value in the foreign key at some time. */
struct place {
	uint64_t hash;
	uint32_t object;
};

/* A foreign key that deletes rows of `child` with the row of `parent` that they refer to. */
struct follow {
	uint32_t child, parent;
	uint32_t columns[KEY_COLUMNS_MAX], referenced[KEY_COLUMNS_MAX], count;
	bool of_primary; /* it refers to the primary key */
	bool blank;      /* of some rows it is not known what they refer to */
	struct place *places;
	size_t place_count, place_capacity;
};

struct cascades {
	struct history_build *build;
	struct history *history;
	struct follow *follows;
	size_t follow_count, follow_capacity;
	struct history_undo *undos; /* by transaction */
	/* For the current object: its versions that were there ... */
	uint32_t *there;
	size_t there_count, there_capacity;
	/* ... and by version a stamp: it is one of them, and one of them overwrote it. */
	struct mark {
		uint32_t there, overwritten, perhaps;
	} *marks;
	size_t mark_count, mark_capacity;
	uint32_t stamp;
	bool later; /* the row came again, perhaps before the deletion and perhaps after it */
	struct buf value, other;
	uint64_t steps_left;
	bool all_writers; /* every session that wrote was recorded */
	/* MySQL: statements that put rows into a table that others follow.  MySQL 9.7 keeps what refers to a
	 * row that REPLACE deletes and puts there again; InnoDB's own foreign keys delete it. */
	bool *puts; /* by statement; NULL: another server */
	bool *lost; /* by object: its order is not known any more */
};

/* ---- schemas ---- */

static bool read_schema(const struct cascades *c, uint32_t table, struct record_schema *out)
{
	uint32_t schema = c->build->schemas[table], kind, left;
	struct mp mp;

	if (!schema)
		return false;
	mp = mp_over(history_bytes(c->history, schema));
	return record_begin(&mp, &kind, &left) && record_schema_read(&mp, left, out);
}

static uint32_t find_table(const struct cascades *c, struct span database, struct span name)
{
	const struct history *h = c->history;

	for (uint32_t t = 0; t < h->table_count; t++)
		if (c->build->schemas[t] &&
			span_ieq(strtab_get(&h->strings, h->tables[t].database), database) &&
			span_ieq(strtab_get(&h->strings, h->tables[t].name), name))
			return t;
	return HISTORY_NONE;
}

static uint32_t find_column(struct span columns, struct span name)
{
	struct mp mp = mp_over(columns);
	uint32_t count = mp_array(&mp);

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct span raw = mp_raw(&mp);
		struct mp column = mp_over(raw);

		if (raw.ptr && mp_array(&column) && span_ieq(mp_bytes(&column), name))
			return i;
	}
	return HISTORY_NONE;
}

static bool is_primary(const struct follow *f, struct span primary_key)
{
	struct mp mp = mp_over(primary_key);
	uint32_t count = mp_array(&mp), found = 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint32_t column = mp_u32(&mp);

		for (uint32_t k = 0; k < f->count; k++)
			found += f->referenced[k] == column;
	}
	return !mp.bad && count && count == f->count && found == count;
}

/* [name, [column index], database, table, [column name], on delete, on update] */
static bool read_follow(const struct cascades *c, struct span raw, struct follow *f)
{
	struct mp mp = mp_over(raw), columns, names;
	struct span column_list, name_list, database, table, rule, update_rule;
	struct record_schema parent;

	if (mp_array(&mp) < 7 || !mp_skip(&mp))
		return false;
	column_list = mp_raw(&mp);
	database = mp_bytes(&mp);
	table = mp_bytes(&mp);
	name_list = mp_raw(&mp);
	rule = mp_bytes(&mp);
	update_rule = mp_bytes(&mp);
	if (mp.bad || !span_ieq_str(rule, "CASCADE") || !column_list.ptr || !name_list.ptr)
		return false;
	f->parent = find_table(c, database, table);
	if (f->parent == HISTORY_NONE || !read_schema(c, f->parent, &parent))
		return false;
	columns = mp_over(column_list);
	names = mp_over(name_list);
	f->count = mp_array(&columns);
	if (f->count == 0 || f->count > KEY_COLUMNS_MAX || mp_array(&names) != f->count)
		return false;
	for (uint32_t i = 0; i < f->count; i++) {
		f->columns[i] = mp_u32(&columns);
		f->referenced[i] = find_column(parent.columns, mp_bytes(&names));
		if (columns.bad || names.bad || f->referenced[i] == HISTORY_NONE)
			return false;
	}
	f->of_primary = is_primary(f, parent.primary_key);
	/* A session may have changed what it refers to, and no record shows it. */
	f->blank = !c->all_writers && !span_ieq_str(update_rule, "RESTRICT") &&
		   !span_ieq_str(update_rule, "NO ACTION");
	return true;
}

static void read_follows(struct cascades *c)
{
	for (uint32_t t = 0; t < c->history->table_count; t++) {
		struct record_schema schema;
		struct mp mp;
		uint32_t count;

		if (!read_schema(c, t, &schema) || !schema.foreign_keys.ptr)
			continue;
		mp = mp_over(schema.foreign_keys);
		count = mp_array(&mp);
		for (uint32_t i = 0; i < count && !mp.bad; i++) {
			struct follow follow = {.child = t};
			struct span raw = mp_raw(&mp);

			if (!raw.ptr || !read_follow(c, raw, &follow))
				continue;
			MEM_RESERVE(c->follows, c->follow_count + 1, c->follow_capacity);
			c->follows[c->follow_count++] = follow;
		}
	}
}

/* ---- values ---- */

enum found {
	FOUND_NOTHING,
	FOUND_IT,
	FOUND_UNSURE,
};

/* Texts of these characters are equal in no collation unless they are so but for case. */
static bool add_text(struct buf *out, struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
			return false;
		buf_add_char(out, c);
	}
	return true;
}

/* The values of some columns of a row, such that rows that may be equal have the same bytes.
 * NOTHING: one is NULL; UNSURE: it is not known. */
static enum found take_value(
	struct buf *out, struct span image, const uint32_t *columns, uint32_t column_count)
{
	buf_clear(out);
	if (!image.ptr)
		return FOUND_UNSURE;
	for (uint32_t k = 0; k < column_count; k++) {
		struct mp mp = mp_over(image);
		uint32_t count = mp_array(&mp);
		struct value value;

		if (columns[k] >= count || !record_skip_fields(&mp, columns[k]) ||
			!value_read(&mp, &value))
			return FOUND_UNSURE;
		switch (value.type) {
		case VALUE_NULL:
			return FOUND_NOTHING;
		case VALUE_INT:
		case VALUE_UINT:
			value_pack(out, &value);
			break;
		case VALUE_BYTES: /* padded with zeros, perhaps */
			while (value.bytes.len && !value.bytes.ptr[value.bytes.len - 1])
				value.bytes.len--;
			value_pack(out, &value);
			break;
		case VALUE_TEXT:
			if (!add_text(out, value.bytes))
				return FOUND_UNSURE;
			buf_add_char(out, '\0');
			break;
		default:
			return FOUND_UNSURE;
		}
	}
	return FOUND_IT;
}

static struct span image_of(const struct history *h, uint32_t version)
{
	return history_bytes(h, h->versions[version].image);
}

/* Case makes a difference or not, as the collation has it. */
static bool is_same(const struct follow *f, struct span child, struct span parent)
{
	for (uint32_t k = 0; k < f->count; k++) {
		struct mp a = mp_over(child), b = mp_over(parent);
		struct value x, y;

		if (!mp_array(&a) || !mp_array(&b) || !record_skip_fields(&a, f->columns[k]) ||
			!record_skip_fields(&b, f->referenced[k]) || !value_read(&a, &x) ||
			!value_read(&b, &y) || !value_eq(&x, &y))
			return false;
	}
	return true;
}

/* ---- where they stand ---- */

static int by_hash(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

/* Nothing is known of its deletions. */
static void give_up(struct cascades *c, struct follow *f)
{
	c->history->tables[f->child].unseen_writes = true;
	c->history->counts.unseen_writes++;
}

static void find_places(struct cascades *c, struct follow *f)
{
	const struct history *h = c->history;
	size_t kept = 0;

	for (uint32_t v = 0; v < h->version_count; v++) {
		const struct history_version *version = &h->versions[v];

		if (h->objects[version->object].table != f->child ||
			version->flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD))
			continue;
		switch (take_value(&c->value, image_of(h, v), f->columns, f->count)) {
		case FOUND_NOTHING:
			break;
		case FOUND_UNSURE:
			f->blank = true;
			break;
		case FOUND_IT:
			MEM_RESERVE(f->places, f->place_count + 1, f->place_capacity);
			f->places[f->place_count++] = (struct place){
				hash_bytes(c->value.data, c->value.len), version->object};
			break;
		}
	}
	if (!f->place_count)
		return;
	qsort(f->places, f->place_count, sizeof(*f->places), by_hash);
	for (size_t i = 0; i < f->place_count; i++)
		if (!kept || by_hash(&f->places[kept - 1], &f->places[i]))
			f->places[kept++] = f->places[i];
	f->place_count = kept;
}

/* ---- what was there ---- */

/* A deletion, whose cascades are looked for. */
struct deletion {
	uint32_t version, txn, stmt, number;
	uint32_t begin_seq, end_seq;
	bool stays; /* it was committed, and not taken back */
};

static int by_txn(const void *a, const void *b)
{
	const struct history_undo *x = a, *y = b;

	return (x->txn > y->txn) - (x->txn < y->txn);
}

/* Was what the transaction's statement `number` wrote taken back before its statement `now`? */
static bool taken_back(const struct cascades *c, uint32_t txn, uint32_t number, uint32_t now)
{
	size_t low = FIRST_WHERE(i, 0, c->history->undo_count, c->undos[i].txn >= txn);

	for (; low < c->history->undo_count && c->undos[low].txn == txn; low++)
		if (c->undos[low].from < number && number < c->undos[low].to &&
			c->undos[low].to < now)
			return true;
	return false;
}

/* Whose it is; most probes leave that to their statements.  NONE: of none. */
static uint32_t txn_of(const struct history *h, const struct history_version *v)
{
	if (v->txn != HISTORY_NONE || v->stmt == HISTORY_NONE)
		return v->txn;
	return h->stmts[v->stmt].txn;
}

enum when {
	WHEN_BEFORE, /* it was there */
	WHEN_NEVER,  /* it came later, or was rolled back */
	WHEN_PERHAPS,
	WHEN_UNSURE,
};

/* Had the version been written when the deletion came to it?  What others have not committed is
 * locked: the deletion waits for it. */
static enum when when_written(const struct cascades *c, uint32_t version, const struct deletion *d)
{
	const struct history *h = c->history;
	const struct history_version *v = &h->versions[version];
	uint32_t writer = txn_of(h, v);
	const struct history_stmt *stmt;
	const struct history_txn *txn;

	if (v->flags & HISTORY_VERSION_INITIAL)
		return v->flags & HISTORY_VERSION_DUPLICATE ? WHEN_UNSURE : WHEN_BEFORE;
	if (v->flags & (HISTORY_VERSION_UNWRITTEN | HISTORY_VERSION_DUPLICATE) ||
		writer == HISTORY_NONE || v->stmt == HISTORY_NONE)
		return WHEN_UNSURE;
	stmt = &h->stmts[v->stmt];
	txn = &h->txns[writer];
	if (stmt->error)
		return WHEN_NEVER;
	if (writer == d->txn) {
		if (stmt->number > d->number || taken_back(c, writer, stmt->number, d->number))
			return WHEN_NEVER;
		if (!(v->flags & HISTORY_VERSION_EXACT) ||
			(v->stmt == d->stmt && !(v->flags & HISTORY_VERSION_DEAD)))
			return WHEN_UNSURE;
		return WHEN_BEFORE;
	}
	if (stmt->begin_seq > d->end_seq)
		return WHEN_NEVER;
	if (txn->flags & HISTORY_TXN_MIXED || txn->outcome == TXN_UNKNOWN)
		return WHEN_UNSURE;
	if (txn->outcome == TXN_ABORTED || taken_back(c, writer, stmt->number, UINT32_MAX))
		return WHEN_NEVER;
	if (!(v->flags & HISTORY_VERSION_EXACT))
		return WHEN_UNSURE;
	if (txn->end_seq < d->begin_seq)
		return WHEN_BEFORE;
	/* Its transaction was still open when the deletion was done, which did not wait for it. */
	if (stmt->end_seq > d->end_seq && !(txn->flags & HISTORY_TXN_AUTOCOMMIT))
		return WHEN_NEVER;
	return WHEN_PERHAPS;
}

/* May the row that was referred to have been there again when a statement beside the deletion was
 * executed, which ended at `end_seq`? */
static bool may_be_reborn(const struct cascades *c, const struct follow *f,
	const struct deletion *d, uint32_t end_seq)
{
	const struct history *h = c->history;
	uint32_t object = h->versions[d->version].object;

	if (!f->of_primary)
		return true;
	for (uint32_t v = c->build->states[object].newest; v != HISTORY_NONE;
		v = h->versions[v].position) {
		const struct history_version *version = &h->versions[v];
		const struct history_stmt *stmt;

		if (version->previous != BUILD_NIL || version->stmt == HISTORY_NONE)
			continue;
		stmt = &h->stmts[version->stmt];
		if (stmt->end_seq >= d->begin_seq && stmt->begin_seq <= end_seq)
			return true;
	}
	return false;
}

static struct mark *mark_of(struct cascades *c, uint32_t version)
{
	size_t count = c->history->version_count;

	if (c->mark_count < count) {
		MEM_RESERVE(c->marks, count, c->mark_capacity);
		memset(c->marks + c->mark_count, 0, (count - c->mark_count) * sizeof(*c->marks));
		c->mark_count = count;
	}
	return &c->marks[version];
}

/* The version of a row that the deletion came to.  NOTHING: there was none. */
static enum found find_tip(struct cascades *c, const struct follow *f, const struct deletion *d,
	uint32_t object, uint32_t *tip)
{
	const struct history *h = c->history;
	enum found found = FOUND_NOTHING;
	uint32_t again = HISTORY_NONE;

	c->there_count = 0;
	c->later = false;
	c->stamp++;
	for (uint32_t v = c->build->states[object].newest; v != HISTORY_NONE;
		v = h->versions[v].position) {
		uint32_t previous = h->versions[v].previous;
		enum when when;

		if (h->versions[v].flags & HISTORY_VERSION_UNBORN)
			continue;
		if (c->steps_left == 0)
			return FOUND_UNSURE;
		c->steps_left--;
		when = when_written(c, v, d);
		/* A row cannot come to refer to one that is gone, nor be overwritten when it is. */
		if (when == WHEN_PERHAPS &&
			(!d->stays || may_be_reborn(c, f, d, h->stmts[h->versions[v].stmt].end_seq)))
			when = WHEN_UNSURE;
		if (when == WHEN_UNSURE)
			return FOUND_UNSURE;
		if (when == WHEN_NEVER)
			continue;
		MEM_RESERVE(c->there, c->there_count + 1, c->there_capacity);
		c->there[c->there_count++] = v;
		mark_of(c, v)->there = c->stamp;
		if (when == WHEN_PERHAPS)
			mark_of(c, v)->perhaps = c->stamp;
		if (h->versions[v].flags & HISTORY_VERSION_INITIAL || previous == BUILD_NIL)
			continue;
		if (previous == HISTORY_NONE)
			return FOUND_UNSURE;
		mark_of(c, previous)->overwritten = c->stamp;
	}
	for (size_t i = 0; i < c->there_count; i++) {
		const struct history_version *v = &h->versions[c->there[i]];

		/* It overwrote what was rolled back: a dirty write. */
		if (!(v->flags & HISTORY_VERSION_INITIAL) && v->previous != BUILD_NIL &&
			mark_of(c, v->previous)->there != c->stamp)
			return FOUND_UNSURE;
		if (v->flags & HISTORY_VERSION_DEAD ||
			mark_of(c, c->there[i])->overwritten == c->stamp)
			continue;
		/* Where another version is there that nothing overwrote, this one came when that was gone. */
		if (mark_of(c, c->there[i])->perhaps == c->stamp && v->previous == BUILD_NIL) {
			again = again == HISTORY_NONE ? c->there[i] : BUILD_NIL;
			continue;
		}
		if (found == FOUND_IT)
			return FOUND_UNSURE;
		found = FOUND_IT;
		*tip = c->there[i];
	}
	c->later = found == FOUND_IT && again != HISTORY_NONE;
	if (found == FOUND_IT || again == HISTORY_NONE)
		return found;
	*tip = again;
	return again == BUILD_NIL ? FOUND_UNSURE : FOUND_IT;
}

/* ---- deletions ---- */

static struct deletion deletion_of(const struct cascades *c, uint32_t version)
{
	const struct history *h = c->history;
	const struct history_version *v = &h->versions[version];
	const struct history_stmt *stmt = &h->stmts[v->stmt];
	uint32_t writer = txn_of(h, v);
	const struct history_txn *txn = &h->txns[writer];

	return (struct deletion){.version = version,
		.txn = writer,
		.stmt = v->stmt,
		.number = stmt->number,
		.begin_seq = stmt->begin_seq,
		.end_seq = stmt->end_seq,
		.stays = txn->outcome == TXN_COMMITTED && !(txn->flags & HISTORY_TXN_MIXED) &&
			 !taken_back(c, writer, stmt->number, UINT32_MAX)};
}

static void delete_from(struct cascades *c, uint32_t version, unsigned depth);

/* The row was deleted, or it was not: a write of it that is not exact, and of those that follow it
 * nothing is known. */
static void doubt_row(
	struct cascades *c, const struct follow *f, struct history_op op, bool stays)
{
	op.flags = 0;
	op.version = build_dead(c->build, op.object);
	build_write(c->build, &op, HISTORY_NONE);
	c->history->counts.unseen_writes++;
	if (op.stmt != HISTORY_NONE)
		c->history->stmts[op.stmt].flags |= HISTORY_STMT_UNSEEN;
	c->lost[op.object] |= stays;
	for (size_t i = 0; i < c->follow_count; i++)
		if (c->follows[i].parent == f->child && c->follows[i].place_count &&
			!c->history->tables[c->follows[i].child].unseen_writes)
			give_up(c, &c->follows[i]);
}

/* One row of the child, which at some time referred to what was deleted. */
static void delete_row(struct cascades *c, struct follow *f, const struct deletion *d,
	uint32_t object, unsigned depth)
{
	const struct history *h = c->history;
	struct span deleted = image_of(h, h->versions[d->version].previous);
	struct history_op op = {.txn = d->txn,
		.stmt = d->stmt,
		.object = object,
		.read_kind = PROBE_READ_CURRENT,
		.flags = HISTORY_OP_EXACT,
		.probe = PROBE_WRITE};
	uint32_t tip = HISTORY_NONE;
	enum found found;

	if (c->lost[object])
		return;
	found = find_tip(c, f, d, object, &tip);
	if (found == FOUND_IT)
		found = take_value(&c->value, image_of(h, tip), f->columns, f->count);
	if (found == FOUND_IT)
		found = take_value(&c->other, deleted, f->referenced, f->count);
	if (found != FOUND_UNSURE && c->later &&
		(found == FOUND_NOTHING || !span_eq(buf_span(&c->value), buf_span(&c->other))))
		found = FOUND_UNSURE;
	if (found == FOUND_UNSURE) {
		doubt_row(c, f, op, d->stays);
		return;
	}
	if (found == FOUND_NOTHING || !span_eq(buf_span(&c->value), buf_span(&c->other)))
		return;
	if (!is_same(f, image_of(h, tip), deleted)) {
		doubt_row(c, f, op, d->stays);
		return;
	}
	op.version = build_dead(c->build, object);
	build_write(c->build, &op, tip);
	delete_from(c, op.version, depth + 1);
}

static void delete_from(struct cascades *c, uint32_t version, unsigned depth)
{
	const struct history *h = c->history;
	uint32_t table = h->objects[h->versions[version].object].table;
	uint32_t previous = h->versions[version].previous;
	struct deletion d = deletion_of(c, version);

	for (size_t i = 0; i < c->follow_count; i++) {
		struct follow *f = &c->follows[i];
		struct place at = {0};
		size_t low;
		enum found found;

		if (f->parent != table || h->tables[f->child].unseen_writes)
			continue;
		found = previous >= BUILD_NIL || depth == DEPTH_MAX || f->blank ||
					(c->puts && c->puts[d.stmt])
				? FOUND_UNSURE
				: take_value(&c->value, image_of(h, previous), f->referenced, f->count);
		if (found == FOUND_UNSURE)
			give_up(c, f);
		if (found != FOUND_IT)
			continue;
		at.hash = hash_bytes(c->value.data, c->value.len);
		low = FIRST_WHERE(k, 0, f->place_count, f->places[k].hash >= at.hash);
		for (; low < f->place_count && f->places[low].hash == at.hash &&
			!h->tables[f->child].unseen_writes;
			low++)
			delete_row(c, f, &d, f->places[low].object, depth);
	}
}

struct dated {
	uint32_t begin_seq, version;
};

static int by_date(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	if (x->begin_seq != y->begin_seq)
		return x->begin_seq < y->begin_seq ? -1 : 1;
	return (x->version > y->version) - (x->version < y->version);
}

static bool is_parent(const struct cascades *c, uint32_t table)
{
	for (size_t i = 0; i < c->follow_count; i++)
		if (c->follows[i].parent == table)
			return true;
	return false;
}

static void find_puts(struct cascades *c)
{
	const struct history *h = c->history;
	uint16_t no_row = HISTORY_VERSION_DEAD | HISTORY_VERSION_UNBORN;

	if (server_flavour_named(strtab_get(&h->strings, h->flavour)) != SERVER_MYSQL)
		return;
	c->puts = mem_zero(h->stmt_count, sizeof(*c->puts));
	for (uint32_t v = 0; v < h->version_count; v++) {
		const struct history_version *version = &h->versions[v];

		if (version->stmt != HISTORY_NONE && !(version->flags & no_row) &&
			is_parent(c, h->objects[version->object].table))
			c->puts[version->stmt] = true;
	}
}

/* Deletions that the probes tell, in the order in which their statements were sent. */
static void delete_all(struct cascades *c)
{
	const struct history *h = c->history;
	struct dated *all = NULL;
	size_t count = 0, capacity = 0;

	for (uint32_t v = 0; v < h->version_count; v++) {
		const struct history_version *version = &h->versions[v];

		if (!(version->flags & HISTORY_VERSION_DEAD) ||
			version->flags & (HISTORY_VERSION_MOVED | HISTORY_VERSION_UNWRITTEN) ||
			version->stmt == HISTORY_NONE || txn_of(h, version) == HISTORY_NONE ||
			!is_parent(c, h->objects[version->object].table) ||
			h->stmts[version->stmt].error)
			continue;
		MEM_RESERVE(all, count + 1, capacity);
		all[count++] = (struct dated){h->stmts[version->stmt].begin_seq, v};
	}
	if (count)
		qsort(all, count, sizeof(*all), by_date);
	for (size_t i = 0; i < count; i++)
		delete_from(c, all[i].version, 0);
	mem_free(all);
}

/* What is not known of a table is not known of those that follow it. */
static void spread_doubts(struct cascades *c)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < c->follow_count; i++) {
			const struct follow *f = &c->follows[i];

			/* Which rows of the child followed those that may have been changed, or refer to
			 * something else since, is not known. */
			if ((!history_unseen_in(c->history, f->parent) &&
				    !c->history->tables[f->child].unseen_some) ||
				c->history->tables[f->child].unseen_writes)
				continue;
			c->history->tables[f->child].unseen_writes = more = true;
		}
	}
}

void cascade_deletes(struct history_build *build)
{
	struct cascades c = {
		.build = build, .history = build->history, .steps_left = STEPS_MAX};
	size_t undos = build->history->undo_count;
	struct value writers;

	build->history->server_ref = history_bytes(build->history, build->server);
	c.all_writers = history_variable(build->history, WRITERS_VARIABLE, &writers) &&
			span_eq_str(writers.bytes, WRITERS_ALL);
	read_follows(&c);
	spread_doubts(&c);
	if (c.follow_count) {
		c.undos = mem_realloc(NULL, undos + 1, sizeof(*c.undos));
		for (size_t i = 0; i < undos; i++)
			c.undos[i] = build->history->undos[i];
		if (undos)
			qsort(c.undos, undos, sizeof(*c.undos), by_txn);
		for (size_t i = 0; i < c.follow_count; i++)
			if (!build->history->tables[c.follows[i].child].unseen_writes)
				find_places(&c, &c.follows[i]);
		find_puts(&c);
		c.lost = mem_zero(build->history->object_count, sizeof(*c.lost));
		delete_all(&c);
		spread_doubts(&c);
	}
	for (size_t i = 0; i < c.follow_count; i++)
		mem_free(c.follows[i].places);
	mem_free(c.follows);
	mem_free(c.undos);
	mem_free(c.puts);
	mem_free(c.lost);
	mem_free(c.there);
	mem_free(c.marks);
	buf_release(&c.value);
	buf_release(&c.other);
}
