/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/decode.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/history/fast_decode.h"
#include "server/commands.h"
#include "sql/text/raw_token.h"
#include "sql/text/refused.h"

enum { COLUMNS_SIZE_MAX = 4096 }; /* longer column lists are not kept */

/* Room for one more. */
#define ROOM(decoded, what)                                                                        \
	MEM_RESERVE((decoded)->what##s, (decoded)->what##_count + 1, (decoded)->what##_capacity)

static void add_kind(struct decoded *decoded, enum decoded_kind kind)
{
	ROOM(decoded, kind);
	decoded->kinds[decoded->kind_count++] = (uint8_t)kind;
}

void decoded_release(struct decoded *decoded)
{
	mem_free(decoded->kinds);
	mem_free(decoded->stmts);
	mem_free(decoded->txns);
	mem_free(decoded->probes);
	mem_free(decoded->rows);
	mem_free(decoded->others);
	for (size_t i = 0; i < DECODE_COLUMNS_KEPT; i++)
		buf_release(&decoded->columns[i]);
	memset(decoded, 0, sizeof(*decoded));
}

/* ---- probes ---- */

bool decode_row(struct mp *mp, struct probe_row *row)
{
	struct mp start = *mp;

	if (LIKELY(fast_row(mp, row)))
		return row->key.ptr;
	*mp = start;
	if (probe_row_read(mp, row))
		return row->key.ptr;
	*mp = start;
	(void)mp_skip(mp);
	return false;
}

ALWAYS_INLINE bool row_is_plain(
	const struct probe_row *row, struct build_key *key, struct decoded_row *out)
{
	return build_key_short(0, row->key, key) && !row->old_key.ptr &&
	       (!row->version.ptr || build_name_int(row->version, &out->name)) &&
	       (!row->previous.ptr || build_name_int(row->previous, &out->previous)) &&
	       row->image.len <= UINT32_MAX && row->old_image.len <= UINT32_MAX;
}

static void add_rows(struct decoded *decoded, struct decoded_probe *probe, struct mp *mp)
{
	uint32_t count = mp_array(mp);

	decoded->probe_rows += count;
	for (uint32_t i = 0; i < count && !mp->bad; i++) {
		const char *start = (const char *)mp->p;
		struct decoded_row *out;
		struct probe_row row;
		struct build_key key;

		if (!decode_row(mp, &row)) {
			decoded->rows_skipped++;
			continue;
		}
		ROOM(decoded, row);
		out = &decoded->rows[decoded->row_count++];
		probe->row_count++;
		if (UNLIKELY(!row_is_plain(&row, &key, out))) {
			out->image = start;
			out->flags = DECODED_ROW_LONG;
			continue;
		}
		out->key = key.key;
		out->image = row.image.ptr;
		out->image_len = (uint32_t)row.image.len;
		out->old_image = row.old_image.ptr;
		out->old_image_len = (uint32_t)row.old_image.len;
		out->op = (uint8_t)row.op;
		out->flags = (uint8_t)((row.version.ptr ? DECODED_ROW_NAME : 0) |
				       (row.previous.ptr ? DECODED_ROW_PREVIOUS : 0) |
				       (row.has_previous ? DECODED_ROW_SAYS : 0));
	}
}

/* What a probe record has to say; rows stand at mp, which goes past them.  False: damage. */
ALWAYS_INLINE bool add_probe(
	struct decoded *decoded, const struct record_probe *record, struct mp *mp)
{
	const unsigned char *start = mp->p;
	enum mp_type type = mp_peek(mp);
	struct decoded_probe *probe;

	ROOM(decoded, probe);
	probe = &decoded->probes[decoded->probe_count];
	probe->seq = record->seq;
	probe->txn = record->txn;
	probe->predicate = record->predicate;
	probe->predicate_hash = record->predicate.ptr
					? hash_bytes(record->predicate.ptr, record->predicate.len)
					: 0;
	probe->session = record->session;
	probe->number = record->number;
	probe->table = record->table;
	probe->row_count = 0;
	probe->probe = record->probe;
	probe->read_kind = record->read_kind;
	probe->exact = record->exact;
	probe->sound = record->probe <= PROBE_WRITE && record->number != 0 &&
		       (type == MP_ARRAY || type == MP_NIL);
	if (probe->sound && (record->probe == PROBE_READ || record->probe == PROBE_WRITE)) {
		add_rows(decoded, probe, mp);
		if (mp->bad)
			return false;
	} else if (!mp_skip(mp)) {
		return false;
	}
	probe->rows = span_of(start, (size_t)(mp->p - start));
	decoded->probe_count++;
	add_kind(decoded, DECODED_PROBE);
	return true;
}

/* The fields before `rows`: the list's order is the struct's. */
#define BEFORE_ROWS(name)                                                                          \
	(offsetof(struct record_probe, name) < offsetof(struct record_probe, rows))
#define COUNT_BEFORE_ROWS(type, name) +BEFORE_ROWS(name)
#define FAST_BEFORE_ROWS(type, name)                                                               \
	if (BEFORE_ROWS(name) && !field_##type(&fast, &record.name))                                \
		return take_probe_slowly(decoded, mp, left);

static bool take_probe_slowly(struct decoded *decoded, struct mp *mp, uint32_t left)
{
	struct record_probe record;
	struct mp rows;

	if (!record_probe_read(mp, left, &record))
		return false;
	rows = mp_over(record.rows.ptr ? record.rows : SPAN_LIT("\xc0"));
	return add_probe(decoded, &record, &rows);
}

static bool take_probe(struct decoded *decoded, struct mp *mp, uint32_t left)
{
	const uint32_t before = 0 RECORD_PROBE_FIELDS(COUNT_BEFORE_ROWS);
	struct record_probe record;
	struct mp fast = *mp;

	if (left <= before || !fast_has_room(&fast))
		return take_probe_slowly(decoded, mp, left);
	RECORD_PROBE_FIELDS(FAST_BEFORE_ROWS)
	if (!add_probe(decoded, &record, &fast))
		return mp_fail(mp);
	*mp = fast;
	for (left -= before + 1; left; left--) {
		if (!fast_skip(mp))
			return mp_fail(mp);
	}
	return true;
}

/* ---- statements and transactions ---- */

/* CALL, EXECUTE, several statements, or a comment before all that some server executes. */
static bool text_mixes(struct span text)
{
	const struct text_dialect usual = {0};
	struct raw_scan s = raw_scan_over(text, usual);
	struct raw_token first = raw_next(&s);

	return s.in_comment || raw_is(&first, "call") || raw_is(&first, "execute") ||
	       text_has_several(text, usual);
}

static enum decoded_mix mix_of(const struct record_stmt *record)
{
	if (record->command == CMD_STMT_PREPARE)
		return record->text.ptr && text_mixes(record->text) ? DECODED_MIX_PREPARES
								    : DECODED_MIX_NO;
	/* An error comes without the flags. */
	if (!record->txn || (!record->error && !(record->status & STATUS_IN_TRANS)))
		return DECODED_MIX_NO;
	/* It was not even begun. */
	if (record->error && !record->affected && !record->result_sets && record->text.ptr &&
		stmt_refused(record->text, SPAN_NONE, record->error, record->error_text))
		return DECODED_MIX_NO;
	if (record->command == CMD_STMT_EXECUTE || record->command == CMD_STMT_BULK_EXECUTE)
		return DECODED_MIX_EXECUTES;
	return record->command == CMD_QUERY && record->text.ptr && text_mixes(record->text)
		       ? DECODED_MIX_YES
		       : DECODED_MIX_NO;
}

/* By the words alone: SET, and the variable after it. */
static bool sets_snapshots(struct span text)
{
	static const char name[] = "innodb_snapshot_isolation";
	const size_t len = sizeof(name) - 1, head = sizeof("innodb") - 1;
	const char *p = text.ptr, *set = p, *end = p + text.len;

	while ((p = memchr(p, '_', (size_t)(end - p)))) {
		const char *at = p++ - head;

		if (at < text.ptr + 3 || (size_t)(end - at) < len ||
			!span_ieq_str(span_of(at, len), name))
			continue;
		for (; set + 3 <= at; set++) {
			if (span_ieq_str(span_of(set, 3), "set"))
				return true;
		}
	}
	return false;
}

ALWAYS_INLINE void add_stmt(
	struct decoded *decoded, const struct record_stmt *record, uint32_t index)
{
	uint16_t flags = HISTORY_STMT_RECORD;

	if (record->flags & STMT_NO_REPLY)
		flags |= HISTORY_STMT_NO_REPLY;
	if (record->flags & STMT_INJECTED)
		flags |= HISTORY_STMT_INJECTED;
	if (record->error == 0 && !(record->flags & STMT_NO_TABLES) &&
		(record->result_sets || record->affected))
		flags |= HISTORY_STMT_DATA;
	if (record->error == 0 && record->affected)
		flags |= HISTORY_STMT_CHANGED;
	if (record->flags & STMT_ELSEWHERE)
		flags |= HISTORY_STMT_ELSEWHERE;
	if (record->error == 0 && record->text.ptr && sets_snapshots(record->text))
		decoded->sets_snapshots = true;
	ROOM(decoded, stmt);
	decoded->stmts[decoded->stmt_count++] = (struct decoded_stmt){
		.txn = record->txn,
		.seq = record->seq,
		.begin_seq = record->begin_seq,
		.session = record->session,
		.number = record->number,
		.index = index,
		.error = (uint16_t)(record->error < UINT16_MAX ? record->error : UINT16_MAX),
		.flags = flags,
		.mix = (uint8_t)mix_of(record),
	};
	add_kind(decoded, DECODED_STMT);
}

static bool take_stmt(struct decoded *decoded, struct mp *mp, uint32_t left, uint32_t index)
{
	struct record_stmt record, full;
	bool ok;

	FAST_READ(STMT, mp, left, &record, ok);
	if (LIKELY(ok))
		add_stmt(decoded, &record, index);
	else if (record_stmt_read(mp, left, &full))
		add_stmt(decoded, &full, index);
	else
		return false;
	return true;
}

static bool take_txn(struct decoded *decoded, struct mp *mp, uint32_t left)
{
	struct record_txn *record;
	bool ok;

	ROOM(decoded, txn);
	record = &decoded->txns[decoded->txn_count];
	FAST_READ(TXN, mp, left, record, ok);
	if (UNLIKELY(!ok) && !record_txn_read(mp, left, record))
		return false;
	decoded->txn_count++;
	add_kind(decoded, DECODED_TXN);
	return true;
}

/* ---- results: stepped over ---- */

/* The columns are most of a small result, and the same bytes in result after result: comparing them
 * with those of before costs less than walking over them.  Equal bytes are the same object, since
 * no encoded object is the beginning of another. */
static bool skip_columns(struct decoded *decoded, struct mp *mp)
{
	const unsigned char *start = mp->p;
	struct buf *kept;
	size_t size;

	if (mp_left(mp) < 32)
		return mp_skip(mp);
	kept = &decoded->columns[hash_bytes(start, 32) % DECODE_COLUMNS_KEPT];
	if (LIKELY(kept->len && kept->len <= mp_left(mp) &&
		    memcmp(start, kept->data, kept->len) == 0)) {
		mp->p += kept->len;
		return true;
	}
	if (!mp_skip(mp))
		return false;
	size = (size_t)(mp->p - start);
	if (size <= COLUMNS_SIZE_MAX) {
		buf_clear(kept);
		buf_add(kept, start, size);
	}
	return true;
}

#define COUNT_BEFORE_COLUMNS(type, name)                                                           \
	+(offsetof(struct record_result, name) < offsetof(struct record_result, columns))

static bool skip_result(struct decoded *decoded, struct mp *mp, uint32_t left)
{
	const uint32_t before = 0 RECORD_RESULT_FIELDS(COUNT_BEFORE_COLUMNS);

	for (uint32_t i = 0; i < left; i++) {
		if (!(i == before ? skip_columns(decoded, mp) : fast_skip(mp)))
			return mp_fail(mp);
	}
	return true;
}

/* ---- records ---- */

/* One record; false when it is malformed, and nothing after it can be found. */
static bool take_record(struct decoded *decoded, struct mp *mp, uint32_t index)
{
	const unsigned char *start = mp->p;
	uint32_t kind, left;

	if (!fast_begin(mp, &kind, &left)) {
		mp->p = start;
		if (!record_begin(mp, &kind, &left))
			return false;
	}
	switch (kind) {
	case RECORD_STMT:
		return take_stmt(decoded, mp, left, index);
	case RECORD_PROBE:
		return take_probe(decoded, mp, left);
	case RECORD_TXN:
		return take_txn(decoded, mp, left);
	case RECORD_RESULT:
		return skip_result(decoded, mp, left);
	}
	if (!record_skip_fields(mp, left))
		return false;
	if (kind < RECORD_KIND_COUNT) {
		ROOM(decoded, other);
		decoded->others[decoded->other_count++] = (struct decoded_other){
			span_of(start, (size_t)(mp->p - start)), kind, index};
		add_kind(decoded, DECODED_OTHER);
	} else {
		decoded->records_skipped++;
	}
	return true;
}

void decode_records(struct decoded *decoded, struct span records, uint32_t count)
{
	struct mp mp = mp_over(records);
	const unsigned char *end = mp.p;
	uint32_t index = 0;

	decoded->kind_count = decoded->stmt_count = decoded->txn_count = decoded->probe_count =
		decoded->row_count = decoded->other_count = 0;
	decoded->probe_rows = decoded->rows_skipped = decoded->records_skipped = 0;
	decoded->sets_snapshots = false;
	ROOM(decoded, row); /* there is a place for the rows of a probe, be there none */
	while (index < count && mp.p < mp.end && take_record(decoded, &mp, index)) {
		index++;
		end = mp.p;
	}
	decoded->taken = index;
	decoded->end = end;
}
