/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/record.h"

#include <stdio.h>

#include "trace/pack.h"
#include "trace/value.h"

/* ---- packing ---- */

/* The most that a field takes, and the field itself. */
#define room_field_u64(value) MP_PUT_NUMBER_MAX
#define room_field_u32(value) MP_PUT_NUMBER_MAX
#define room_field_u8(value) MP_PUT_NUMBER_MAX
#define room_field_flag(value) 1
#define room_field_str(value) (MP_PUT_HEAD_MAX + (value).len)
#define room_field_bin(value) (MP_PUT_HEAD_MAX + (value).len)
#define room_field_raw(value) (1 + (value).len)

#define put_field_u64(p, value) mp_put_uint(p, value)
#define put_field_u32(p, value) mp_put_uint(p, value)
#define put_field_u8(p, value) mp_put_uint(p, value)
#define put_field_flag(p, value) mp_put_bool(p, value)
#define put_field_str(p, value) put_span(p, value, mp_put_str_head(p, (uint32_t)(value).len))
#define put_field_bin(p, value) put_span(p, value, mp_put_bin_head(p, (uint32_t)(value).len))
#define put_field_raw(p, value) put_span(p, value, p)

/* SPAN_NONE is nil; else the bytes stand after their head, which was put. */
ALWAYS_INLINE char *put_span(char *p, struct span s, char *body)
{
	return s.ptr ? mp_put_bytes(body, s.ptr, s.len) : mp_put_nil(p);
}

/* ---- reading ----
 *
 * Most fields are a byte: a small number, nil, a bool, a short string.  Those are taken with the
 * cursor's position in a register; all others go through the cursor, which must then be given the
 * position and asked for it.  After damage the fast ways may go on, within the bytes; the result is
 * refused at the end.
 */
#define READ_SLOWLY(to, call)                                                                    \
	do {                                                                                     \
		mp->p = p;                                                                       \
		(to) = call;                                                                     \
		p = mp->p;                                                                       \
	} while (0)
#define READ_UINT(to, call)                                                                      \
	do {                                                                                     \
		if (LIKELY(p < end && *p < 0x80))                                                \
			(to) = *p++;                                                             \
		else                                                                             \
			READ_SLOWLY(to, call);                                                   \
	} while (0)
#define READ_BYTES(to)                                                                           \
	do {                                                                                     \
		if (LIKELY(p < end && *p == 0xc0)) {                                             \
			(to) = SPAN_NONE;                                                        \
			p++;                                                                     \
		} else if (LIKELY(p < end && (*p & 0xe0) == 0xa0 &&                              \
				   (size_t)(end - p) > (*p & 0x1fu))) {                          \
			(to) = span_of(p + 1, *p & 0x1f);                                        \
			p += 1 + (*p & 0x1f);                                                    \
		} else {                                                                         \
			READ_SLOWLY(to, mp_bytes(mp));                                           \
		}                                                                                \
	} while (0)

#define read_field_u64(to) READ_UINT(to, mp_uint(mp))
#define read_field_u32(to) READ_UINT(to, mp_u32(mp))
#define read_field_u8(to) READ_UINT(to, (uint8_t)mp_uint_max(mp, UINT8_MAX))
#define read_field_flag(to)                                                                      \
	do {                                                                                     \
		if (LIKELY(p < end && (*p & 0xfe) == 0xc2))                                      \
			(to) = *p++ & 1;                                                         \
		else                                                                             \
			READ_SLOWLY(to, mp_bool(mp));                                            \
	} while (0)
#define read_field_str(to) READ_BYTES(to)
#define read_field_bin(to) READ_BYTES(to)
#define read_field_raw(to)                                                                       \
	do {                                                                                     \
		if (LIKELY(p < end && *p == 0xc0)) {                                             \
			(to) = SPAN_NONE;                                                        \
			p++;                                                                     \
		} else {                                                                         \
			READ_SLOWLY(to, mp_raw(mp));                                             \
		}                                                                                \
	} while (0)

/* The end of a record: all fields that were there are read. */
static bool read_done(struct mp *mp, const unsigned char *start, const unsigned char *p)
{
	mp->p = mp->bad ? start : p;
	return !mp->bad;
}

#define COUNT_FIELD(type, name) +1
#define ROOM_FIELD(type, name) +room_field_##type(record->name)
#define PUT_FIELD(type, name) p = put_field_##type(p, record->name);
/* A missing field keeps its zero. */
#define READ_FIELD(type, name)                                                                   \
	if (left == 0)                                                                           \
		return read_done(mp, start, p);                                                  \
	read_field_##type(record->name);                                                         \
	left--;

#define DEFINE_KIND(lower, upper)                                                                \
	void record_##lower##_pack(struct buf *out, const struct record_##lower *record)         \
	{                                                                                        \
		char *p = buf_reserve(                                                           \
			out, MP_PUT_HEAD_MAX + 1 RECORD_##upper##_FIELDS(ROOM_FIELD));           \
                                                                                                 \
		p = mp_put_array_head(p, 1 RECORD_##upper##_FIELDS(COUNT_FIELD));                \
		p = mp_put_uint(p, RECORD_##upper);                                              \
		RECORD_##upper##_FIELDS(PUT_FIELD)                                               \
		out->len = (size_t)(p - out->data);                                              \
	}                                                                                        \
                                                                                                 \
	bool record_##lower##_read(struct mp *mp, uint32_t left, struct record_##lower *record)  \
	{                                                                                        \
		const unsigned char *start = mp->p, *end = mp->end, *p = start;                  \
                                                                                                 \
		memset(record, 0, sizeof(*record));                                              \
		RECORD_##upper##_FIELDS(READ_FIELD) return read_done(mp, start, p) &&            \
			record_skip_fields(mp, left);                                            \
	}
RECORD_KINDS(DEFINE_KIND)

bool record_begin(struct mp *mp, uint32_t *kind, uint32_t *left)
{
	uint32_t count = mp_array(mp);

	if (mp->bad)
		return false;
	if (count == 0)
		return mp_fail(mp);
	*kind = mp_u32(mp);
	*left = count - 1;
	return !mp->bad;
}

bool record_skip_fields(struct mp *mp, uint32_t left)
{
	while (left-- && mp_skip(mp))
		;
	return !mp->bad;
}

/* ---- probe rows ---- */

void probe_row_pack(struct buf *out, const struct probe_row *row)
{
	msgpack_packer pk = pack_into(out);
	uint32_t count = 2;

	/* Trailing fields that say nothing are left out: most rows are (key, version). */
	if (row->has_previous)
		count = 3;
	if (row->image.ptr)
		count = 4;
	if (row->op != PROBE_OP_NONE)
		count = 5;
	if (row->old_key.ptr)
		count = 6;
	if (row->old_image.ptr)
		count = 7;
	msgpack_pack_array(&pk, count);
	pack_raw(&pk, row->key);
	pack_raw(&pk, row->version);
	if (count > 2) {
		/* `false` says that the overwritten version is not known; nil that there was none. */
		if (row->has_previous)
			pack_raw(&pk, row->previous);
		else
			pack_bool(&pk, false);
	}
	if (count > 3)
		pack_raw(&pk, row->image);
	if (count > 4)
		pack_uint(&pk, row->op);
	if (count > 5)
		pack_raw(&pk, row->old_key);
	if (count > 6)
		pack_raw(&pk, row->old_image);
}

bool probe_row_read(struct mp *mp, struct probe_row *row)
{
	uint32_t count = mp_array(mp);
	uint32_t op = 0;

	memset(row, 0, sizeof(*row));
	if (mp->bad)
		return false;
	if (count < 2)
		return mp_fail(mp);
	row->key = mp_raw(mp);
	row->version = mp_raw(mp);
	if (count > 2) {
		if (!mp->bad && mp->p < mp->end && *mp->p == 0xc2) {
			mp->p++;
		} else {
			row->previous = mp_raw(mp);
			row->has_previous = true;
		}
	}
	if (count > 3)
		row->image = mp_raw(mp);
	if (count > 4)
		op = mp_uint_max(mp, PROBE_OP_DELETE);
	if (count > 5)
		row->old_key = mp_raw(mp);
	if (count > 6)
		row->old_image = mp_raw(mp);
	row->op = (enum probe_op)op;
	return record_skip_fields(mp, count > 7 ? count - 7 : 0);
}

/* ---- names ---- */

#define KIND_NAME(lower, upper) [RECORD_##upper] = #lower,

/* The text of an UPDATE's answer: "Rows matched: 1  Changed: 0  Warnings: 0". */
static bool matched_some(struct span info)
{
	static const char words[] = "Rows matched: ";

	return span_istarts(info, words) && info.len > sizeof(words) - 1 && info.ptr[sizeof(words) - 1] != '0';
}

bool record_stmt_touched(const struct record_stmt *stmt)
{
	return !stmt->error && (stmt->affected || stmt->rows || matched_some(stmt->info));
}

const char *record_kind_name(uint32_t kind)
{
	static const char *const names[RECORD_KIND_COUNT] = {RECORD_KINDS(KIND_NAME)};

	return kind < RECORD_KIND_COUNT ? names[kind] : NULL;
}

#define NAME_FROM(table, index) ((index) < ARRAY_LEN(table) ? (table)[index] : "unknown")

const char *session_event_name(uint8_t event)
{
	static const char *const names[] = {"opened", "closed", "opaque", "changed",
		"ended by the server", "released by the server"};

	return NAME_FROM(names, event);
}

const char *probe_kind_name(uint8_t kind)
{
	static const char *const names[] = {"BWR", "AWR", "VSR", "PM", "BPM", "APM", "READ", "WRITE"};

	return NAME_FROM(names, kind);
}

const char *probe_op_name(uint8_t op)
{
	static const char *const names[] = {"none", "insert", "update", "delete"};

	return NAME_FROM(names, op);
}

const char *probe_read_kind_name(uint8_t kind)
{
	static const char *const names[] = {"unknown", "snapshot", "current", "dirty"};

	return NAME_FROM(names, kind);
}

const char *txn_event_name(uint8_t event)
{
	static const char *const names[] = {"begin", "end", "savepoint", "rollback-to", "release"};

	return NAME_FROM(names, event);
}

const char *txn_outcome_name(uint8_t outcome)
{
	static const char *const names[] = {"unknown", "committed", "aborted"};

	return NAME_FROM(names, outcome);
}

const char *txn_level_name(uint8_t level)
{
	static const char *const names[] = {"unknown", "READ UNCOMMITTED", "READ COMMITTED",
		"REPEATABLE READ", "SERIALIZABLE"};

	return NAME_FROM(names, level);
}

const char *txn_level_short(uint8_t level)
{
	static const char *const names[] = {"?", "RU", "RC", "RR", "SER"};

	return NAME_FROM(names, level);
}

/* ---- JSON ---- */

/* Deeper nesting than any shape of ours becomes null; the writer's own limit is higher. */
enum { JSON_RAW_DEPTH_MAX = 16 };

static void raw_json(struct json *json, struct mp *mp, int depth);

static void raw_key_json(struct json *json, struct mp *mp)
{
	struct value key;
	struct buf text = BUF_INIT;

	if (value_read(mp, &key) && key.type != VALUE_TEXT)
		value_print(&text, &key, 0);
	json_key_span(json, key.type == VALUE_TEXT ? key.bytes : buf_span(&text));
	buf_release(&text);
}

static void raw_container_json(struct json *json, struct mp *mp, int depth)
{
	struct mp_object head;

	if (depth >= JSON_RAW_DEPTH_MAX) {
		json_null(json);
		(void)mp_skip(mp);
		return;
	}
	if (!mp_next(mp, &head)) {
		json_null(json);
		return;
	}
	if (head.type == MP_ARRAY) {
		json_begin_array(json);
		for (uint32_t i = 0; i < head.count && !mp->bad; i++)
			raw_json(json, mp, depth + 1);
		json_end_array(json);
	} else {
		json_begin_object(json);
		for (uint32_t i = 0; i < head.count && !mp->bad; i++) {
			raw_key_json(json, mp);
			raw_json(json, mp, depth + 1);
		}
		json_end_object(json);
	}
}

static void raw_json(struct json *json, struct mp *mp, int depth)
{
	enum mp_type type = mp_peek(mp);
	struct value value;

	if (type == MP_ARRAY || type == MP_MAP) {
		raw_container_json(json, mp, depth);
	} else if (type == MP_BOOL) {
		json_bool(json, mp_bool(mp));
	} else if (value_read(mp, &value)) {
		value_json(json, &value);
	} else {
		/* An extension from the future, or damage: nothing we could show. */
		mp->bad = false;
		json_null(json);
		(void)mp_skip(mp);
	}
}

static void json_field_u64(struct json *json, uint64_t value)
{
	json_uint(json, value);
}

static void json_field_u32(struct json *json, uint32_t value)
{
	json_uint(json, value);
}

static void json_field_u8(struct json *json, uint8_t value)
{
	json_uint(json, value);
}

static void json_field_flag(struct json *json, bool value)
{
	json_bool(json, value);
}

static void json_field_str(struct json *json, struct span value)
{
	json_bytes(json, value);
}

static void json_field_bin(struct json *json, struct span value)
{
	struct value typed = value_bytes(VALUE_BYTES, value);

	value_json(json, &typed);
}

static void json_field_raw(struct json *json, struct span value)
{
	struct mp mp = mp_over(value);

	if (value.ptr)
		raw_json(json, &mp, 0);
	else
		json_null(json);
}

#define JSON_FIELD(type, name)                                                                   \
	json_key(json, #name);                                                                   \
	json_field_##type(json, record.name);
#define JSON_KIND(lower, upper)                                                                  \
	case RECORD_##upper: {                                                                   \
		struct record_##lower record;                                                    \
                                                                                                 \
		ok = record_##lower##_read(mp, left, &record);                                   \
		if (ok) {                                                                        \
			RECORD_##upper##_FIELDS(JSON_FIELD)                                      \
		}                                                                                \
		break;                                                                           \
	}

bool record_json(struct json *json, struct mp *mp)
{
	uint32_t kind, left;
	bool ok = false;

	json_begin_object(json);
	json_key(json, "kind");
	if (!record_begin(mp, &kind, &left)) {
		json_null(json);
		json_end_object(json);
		return false;
	}
	if (kind >= RECORD_KIND_COUNT) {
		json_uint(json, kind);
		json_end_object(json);
		return record_skip_fields(mp, left);
	}
	json_str(json, record_kind_name(kind));
	switch ((enum record_kind)kind) { RECORD_KINDS(JSON_KIND) }
	json_end_object(json);
	return ok;
}
