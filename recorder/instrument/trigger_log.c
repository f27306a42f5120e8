/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/trigger_log.h"

#include <stdlib.h>

#include "base/mem.h"
#include "instrument/row_values.h"
#include "sql/sql.h"
#include "trace/pack.h"

static void add_hex(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_printf(out, "%02X", (unsigned)(unsigned char)*text);
}

void log_add_table(struct buf *out, const struct instrument_table *table)
{
	add_hex(out, table->database);
	buf_add_char(out, '.');
	add_hex(out, table->name);
}

/* ---- statements' rows ---- */

struct table_probes *statement_probes_of(
	struct statement_probes *probes, const struct instrument_table *table)
{
	for (size_t i = 0; i < probes->count; i++)
		if (probes->list[i].table == table)
			return &probes->list[i];
	/* Buffers of earlier statements are used again. */
	if (probes->count == probes->capacity) {
		size_t before = probes->capacity;

		MEM_RESERVE(probes->list, probes->count + 1, probes->capacity);
		memset(&probes->list[before], 0,
			(probes->capacity - before) * sizeof(*probes->list));
	}
	probes->list[probes->count].table = table;
	return &probes->list[probes->count++];
}

void statement_probes_clear(struct statement_probes *probes)
{
	for (size_t i = 0; i < probes->count; i++) {
		struct table_probes *t = &probes->list[i];

		buf_clear(&t->writes);
		buf_clear(&t->matches);
		buf_clear(&t->reads);
		t->write_count = t->match_count = t->read_count = 0;
		t->update_count = t->looked_count = 0;
	}
	probes->count = 0;
	probes->unchanged = NULL;
}

void statement_probes_release(struct statement_probes *probes)
{
	for (size_t i = 0; i < probes->capacity; i++) {
		buf_release(&probes->list[i].writes);
		buf_release(&probes->list[i].matches);
		buf_release(&probes->list[i].reads);
	}
	for (size_t i = 0; i < ARRAY_LEN(probes->scratch); i++)
		buf_release(&probes->scratch[i]);
	mem_free(probes->list);
	*probes = (struct statement_probes){0};
}

/* ---- reading ---- */

/* Takes what stands before `end`; SPAN_NONE when there is no such letter. */
static struct span take_until(struct span *rest, char end)
{
	const char *at = rest->len ? memchr(rest->ptr, end, rest->len) : NULL;
	struct span taken;

	if (!at)
		return SPAN_NONE;
	taken = span_of(rest->ptr, (size_t)(at - rest->ptr));
	rest->len -= taken.len + 1;
	rest->ptr = at + 1;
	return taken;
}

static bool pack_version(struct buf *out, struct span digits)
{
	buf_clear(out);
	return instrument_pack_version(out, digits);
}

static struct span next_value(struct span *rest)
{
	struct span value = take_until(rest, ',');

	if (value.ptr)
		return value;
	value = *rest;
	*rest = SPAN_NONE;
	return value;
}

/* The key out of a whole image, whose encoded values stand one after the other. */
static bool pack_key_of_row(struct buf *out, const struct instrument_table *table, struct span row,
	const struct values_limits *limits)
{
	msgpack_packer pk = pack_into(out);
	struct span values[INSTRUMENT_KEY_MAX];
	uint32_t index = 0;

	while (row.ptr) {
		struct span value = next_value(&row);

		for (size_t k = 0; k < table->key_count; k++)
			if (table->key[k] == index)
				values[k] = value;
		index++;
	}
	if (index != table->column_count)
		return false;
	buf_clear(out);
	if (table->key_count > 1)
		msgpack_pack_array(&pk, table->key_count);
	for (size_t k = 0; k < table->key_count; k++)
		if (!instrument_pack_value(out, &table->columns[table->key[k]], values[k], limits))
			return false;
	return true;
}

static bool pack_image(struct buf *out, const struct instrument_table *table, struct span row,
	const struct values_limits *limits)
{
	msgpack_packer pk = pack_into(out);
	size_t index = 0;

	buf_clear(out);
	msgpack_pack_array(&pk, table->column_count);
	while (row.ptr) {
		struct span value = next_value(&row);

		if (index >= table->column_count ||
			!instrument_pack_value(out, &table->columns[index], value, limits))
			return false;
		index++;
	}
	return index == table->column_count;
}

/* Mostly it is the table of the entry before. */
static const struct instrument_table *find_table(struct statement_probes *probes,
	const struct instrument_tables *tables, struct span log_name)
{
	struct buf *database = &probes->scratch[0], *table = &probes->scratch[1];
	struct span first;

	if (probes->count && span_eq_str(log_name, probes->list[probes->count - 1].table->log_name))
		return probes->list[probes->count - 1].table;
	buf_clear(database);
	buf_clear(table);
	first = take_until(&log_name, '.');
	if (!first.ptr || !instrument_add_unhex(database, first) ||
		!instrument_add_unhex(table, log_name))
		return NULL;
	return instrument_tables_find(tables, buf_span(database), buf_span(table));
}

/* The rows of UPDATE and DELETE that their predicate matched: as they were before. */
static void add_match(struct table_probes *to, const struct probe_row *write)
{
	struct probe_row match = {.key = write->old_key.ptr ? write->old_key : write->key,
		.version = write->previous};

	probe_row_pack(&to->matches, &match);
	to->match_count++;
}

static bool take_entry(struct statement_probes *probes, const struct instrument_tables *tables,
	struct span entry, const struct values_limits *limits)
{
	struct buf *key = &probes->scratch[0], *image = &probes->scratch[1];
	struct buf *versions = &probes->scratch[2], *old = &probes->scratch[3];
	struct buf before = BUF_INIT, old_image = BUF_INIT;
	struct probe_row row = {.has_previous = true};
	const struct instrument_table *table;
	struct table_probes *to;
	struct span first, second = SPAN_NONE, old_row = SPAN_NONE;
	char letter;
	bool ok;

	if (entry.len < 2)
		return false;
	letter = entry.ptr[0];
	entry.ptr++;
	entry.len--;
	first = take_until(&entry, '|');
	table = first.ptr ? find_table(probes, tables, first) : NULL;
	first = take_until(&entry, '|');
	if (letter == LOG_UPDATE) {
		second = take_until(&entry, '|');
		old_row = take_until(&entry, '|');
	}
	if (!table || !first.ptr || (letter == LOG_UPDATE && !old_row.ptr))
		return false;
	if (letter == LOG_UPDATE && table == probes->unchanged) {
		letter = LOG_LOOKED;
		entry = old_row;
	}
	ok = pack_version(versions, first) && pack_key_of_row(key, table, entry, limits) &&
	     pack_image(image, table, entry, limits);
	if (ok && letter == LOG_UPDATE)
		ok = pack_version(&before, second) &&
		     pack_key_of_row(old, table, old_row, limits) &&
		     pack_image(&old_image, table, old_row, limits);
	if (!ok)
		goto out;
	to = statement_probes_of(probes, table);
	row.key = buf_span(key);
	switch (letter) {
	case LOG_INSERT:
		row.op = PROBE_OP_INSERT;
		row.version = buf_span(versions);
		row.image = buf_span(image);
		break;
	case LOG_DELETE:
		row.op = PROBE_OP_DELETE;
		row.previous = buf_span(versions);
		row.old_image = buf_span(image);
		add_match(to, &row);
		break;
	case LOG_LOOKED:
		row.op = PROBE_OP_UPDATE;
		row.version = row.previous = buf_span(versions);
		row.image = buf_span(image);
		to->looked_count++;
		add_match(to, &row);
		break;
	case LOG_UPDATE:
		row.op = PROBE_OP_UPDATE;
		row.version = buf_span(&before);
		row.previous = buf_span(versions);
		row.image = buf_span(image);
		row.old_image = buf_span(&old_image);
		if (!span_eq(buf_span(key), buf_span(old)))
			row.old_key = buf_span(old);
		to->update_count++;
		add_match(to, &row);
		break;
	default:
		ok = false;
		goto out;
	}
	probe_row_pack(&to->writes, &row);
	to->write_count++;
out:
	buf_release(&before);
	buf_release(&old_image);
	return ok;
}

bool log_take(struct statement_probes *probes, const struct instrument_tables *tables,
	struct span log, const struct values_limits *limits)
{
	bool ok = true;

	while (log.len) {
		struct span entry = take_until(&log, '\n');

		if (!entry.ptr)
			return false;
		ok = take_entry(probes, tables, entry, limits) && ok;
	}
	return ok;
}

bool log_split(struct span *log, uint64_t count, struct span *first)
{
	const char *begin = log->ptr;

	while (count--)
		if (!take_until(log, '\n').ptr)
			return false;
	*first = span_of(begin, (size_t)(log->ptr - begin));
	return true;
}

bool log_take_read(struct statement_probes *probes, const struct instrument_table *table,
	struct span text, const struct values_limits *limits)
{
	struct buf *key = &probes->scratch[0], *version = &probes->scratch[2];
	msgpack_packer pk = pack_into(key);
	struct table_probes *to = statement_probes_of(probes, table);
	struct probe_row row = {0};
	struct span values;

	if (!text.ptr)
		return true; /* an outer join that found no row */
	values = take_until(&text, '|');
	if (!values.ptr || !pack_version(version, text))
		return false;
	buf_clear(key);
	if (table->key_count > 1)
		msgpack_pack_array(&pk, table->key_count);
	for (size_t i = 0; i < table->key_count; i++)
		if (!values.ptr || !instrument_pack_value(key, &table->columns[table->key[i]],
					   next_value(&values), limits))
			return false;
	if (values.ptr)
		return false;
	row.key = buf_span(key);
	row.version = buf_span(version);
	probe_row_pack(&to->reads, &row);
	to->read_count++;
	return true;
}

/* The elements are strings without anything to escape, or null. */
static bool take_array(struct statement_probes *probes, const struct instrument_table *table,
	struct span text, const struct values_limits *limits)
{
	while (text.len) {
		struct span before = take_until(&text, '"'), element;

		if (!before.ptr)
			return true;
		element = take_until(&text, '"');
		if (!element.ptr || !log_take_read(probes, table, element, limits))
			return false;
	}
	return true;
}

bool log_take_reads(struct statement_probes *probes, const struct instrument_table *table,
	struct span text, const struct values_limits *limits)
{
	struct span count;
	uint64_t wanted = 0, found = 0;

	if (!text.ptr)
		return true; /* no rows */
	if (text.len && *text.ptr == '[')
		return text.ptr[text.len - 1] == ']' && take_array(probes, table, text, limits);
	count = take_until(&text, ';');
	if (!count.ptr || count.len > 18)
		return false;
	for (size_t i = 0; i < count.len; i++)
		wanted = wanted * 10 + (uint64_t)(count.ptr[i] - '0');
	while (text.ptr) {
		struct span all = text, element = take_until(&text, ';');

		if (!element.ptr) {
			element = all;
			text = SPAN_NONE;
		}
		if (!log_take_read(probes, table, element, limits))
			return false;
		found++;
	}
	return found == wanted;
}

/* ---- rows with their versions ---- */

/* Takes "ROW|version" or "ROW|version/overwritten" apart. */
static bool split_whole(struct span text, struct span *row, struct span *version, struct span *over)
{
	struct span rest = text, first;

	*row = take_until(&rest, '|');
	*over = SPAN_NONE;
	*version = rest;
	first = take_until(&rest, '/');
	if (first.ptr) {
		*version = first;
		*over = rest.len ? rest : SPAN_NONE;
	}
	return row->ptr && version->len;
}

bool log_key_of_whole(const struct instrument_table *table, struct span text,
	const struct values_limits *limits, struct buf *key)
{
	struct span row, version, over;

	return split_whole(text, &row, &version, &over) && pack_key_of_row(key, table, row, limits);
}

bool log_pack_whole(struct statement_probes *probes, const struct instrument_table *table,
	struct span text, enum log_whole how, const struct values_limits *limits, struct buf *out)
{
	struct buf *key = &probes->scratch[0], *image = &probes->scratch[1];
	struct buf *version = &probes->scratch[2], *before = &probes->scratch[3];
	struct probe_row probe = {0};
	struct span row, name, over;

	if (!split_whole(text, &row, &name, &over) || !pack_version(version, name) ||
		!pack_key_of_row(key, table, row, limits) ||
		(how != LOG_WHOLE_NAMED && !pack_image(image, table, row, limits)))
		return false;
	probe.key = buf_span(key);
	probe.version = buf_span(version);
	if (how != LOG_WHOLE_NAMED)
		probe.image = buf_span(image);
	if (how == LOG_WHOLE_WRITTEN) {
		probe.has_previous = true;
		probe.op = over.ptr ? PROBE_OP_UPDATE : PROBE_OP_INSERT;
		if (over.ptr && !pack_version(before, over))
			return false;
		probe.previous = over.ptr ? buf_span(before) : SPAN_NONE;
	}
	probe_row_pack(out, &probe);
	return true;
}

/* A value's text form as SQL. */
static void add_literal(struct buf *out, enum column_kind kind, struct span value)
{
	switch (kind) {
	case COLUMN_NUMBER:
	case COLUMN_REAL:
	case COLUMN_DECIMAL:
	case COLUMN_BIT:
		buf_add_span(out, value);
		return;
	case COLUMN_TIME:
	case COLUMN_TIMESTAMP:
		buf_printf(out, "'%.*s'", SPAN_ARG(value));
		return;
	case COLUMN_BYTES:
	case COLUMN_GEOMETRY:
		buf_printf(out, "X'%.*s'", SPAN_ARG(value));
		return;
	case COLUMN_TEXT:
	case COLUMN_ENUM:
	case COLUMN_JSON:
	case COLUMN_OTHER:
		buf_printf(out, "_utf8mb4 X'%.*s'", SPAN_ARG(value));
		return;
	}
}

bool log_add_key_condition(const struct instrument_table *table, struct span text, struct buf *out)
{
	struct span values[INSTRUMENT_KEY_MAX], row, version, over;
	uint32_t index = 0;

	if (!split_whole(text, &row, &version, &over))
		return false;
	for (; row.ptr; index++) {
		struct span value = next_value(&row);

		for (size_t k = 0; k < table->key_count; k++)
			if (table->key[k] == index)
				values[k] = value;
	}
	if (index != table->column_count)
		return false;
	for (size_t k = 0; k < table->key_count; k++) {
		buf_add_str(out, k ? " and " : "(");
		sql_print_name(span_str(table->columns[table->key[k]].name), out);
		buf_add_str(out, " = ");
		add_literal(out, table->columns[table->key[k]].kind, values[k]);
	}
	buf_add_char(out, ')');
	return true;
}
