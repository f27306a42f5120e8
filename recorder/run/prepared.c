/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/prepared.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/bug.h"
#include "base/mem.h"
#include "trace/pack.h"
#include "trace/value.h"

enum { PARAMS_MAX = 65535, BULK_VALUES_MAX = 10 * 1000 * 1000, CELL_MIN = 64 };

struct client_prepared {
	uint32_t name;
	bool ready; /* the server has it */
	MYSQL_STMT *stmt;
	struct wire_stmt wire; /* what the capture knows it by */
	struct buf sql;
	/* Parameters of the execution under way. */
	MYSQL_BIND *binds;
	struct value *values;
	MYSQL_TIME *times;
	unsigned long *lengths;
	size_t capacity;
	struct arena bulk; /* columns of a bulk execution */
};

static struct client_prepared *find(const struct client *c, uint32_t name)
{
	for (size_t i = c->prepared_count; i-- > 0;)
		if (c->prepared[i]->name == name)
			return c->prepared[i];
	return NULL;
}

bool client_is_prepared(const struct client *c, uint32_t name)
{
	const struct client_prepared *p = find(c, name);

	return p && p->ready;
}

void client_prepare(struct client *c, uint32_t name, struct span sql)
{
	struct client_prepared *p = mem_zero(1, sizeof(*p));
	struct wire_request request = {0};
	bool update = true;

	p->name = name;
	p->stmt = mysql_stmt_init(c->mysql);
	CHECK(p->stmt);
	mysql_stmt_attr_set(p->stmt, STMT_ATTR_UPDATE_MAX_LENGTH, &update);
	buf_add_span(&p->sql, sql);
	MEM_RESERVE(c->prepared, c->prepared_count + 1, c->prepared_capacity);
	c->prepared[c->prepared_count++] = p;
	c->executing = p;
	client_begin(c, CMD_STMT_PREPARE, sql.len);
	p->wire.number = c->command.number;
	request.text = buf_span(&p->sql);
	capture_sink.command(&c->capture, &c->command, &request);
	c->state = CLIENT_PREPARE;
	c->wait = mysql_stmt_prepare_start(&c->status, p->stmt, p->sql.data, p->sql.len);
}

/* ---- parameters ---- */

/* "2026-11-16 01:58:00.5", a part of it, or "-12:30:00". */
static bool read_time(const struct value *value, MYSQL_TIME *out)
{
	char text[40], fraction[8] = "000000";
	int used = 0;

	memset(out, 0, sizeof(*out));
	if (value->bytes.len >= sizeof(text))
		return false;
	memcpy(text, value->bytes.ptr, value->bytes.len);
	text[value->bytes.len] = '\0';
	if (value->type == VALUE_TIME) {
		const char *at = text + (text[0] == '-');

		out->neg = text[0] == '-';
		out->time_type = MYSQL_TIMESTAMP_TIME;
		if (sscanf(at, "%u:%u:%u%n", &out->hour, &out->minute, &out->second, &used) != 3)
			return false;
		used += (int)(at - text);
	} else {
		out->time_type =
			value->type == VALUE_DATE ? MYSQL_TIMESTAMP_DATE : MYSQL_TIMESTAMP_DATETIME;
		if (sscanf(text, "%u-%u-%u%n %u:%u:%u%n", &out->year, &out->month, &out->day, &used,
			    &out->hour, &out->minute, &out->second, &used) < 3)
			return false;
	}
	if (text[used] == '.') {
		for (int i = 0; i < 6 && text[used + 1 + i]; i++)
			fraction[i] = text[used + 1 + i];
		out->second_part = strtoul(fraction, NULL, 10);
	}
	return true;
}

static bool bind_value(struct client_prepared *p, size_t i, struct err *err)
{
	struct value *value = &p->values[i];
	MYSQL_BIND *bind = &p->binds[i];

	*bind = (MYSQL_BIND){.length = &p->lengths[i]};
	p->lengths[i] = (unsigned long)value->bytes.len;
	switch (value->type) {
	case VALUE_NULL:
		bind->buffer_type = MYSQL_TYPE_NULL;
		return true;
	case VALUE_INT:
	case VALUE_UINT:
		bind->buffer_type = MYSQL_TYPE_LONGLONG;
		bind->is_unsigned = value->type == VALUE_UINT && value->u > INT64_MAX;
		bind->buffer = &value->u;
		return true;
	case VALUE_DOUBLE:
	case VALUE_FLOAT:
		bind->buffer_type = MYSQL_TYPE_DOUBLE;
		bind->buffer = &value->d;
		return true;
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
		if (!read_time(value, &p->times[i]))
			return err_set(err, ERR_FORMAT, "a time of parameter %zu is none", i + 1);
		bind->buffer_type = value->type == VALUE_DATE   ? MYSQL_TYPE_DATE
				    : value->type == VALUE_TIME ? MYSQL_TYPE_TIME
								: MYSQL_TYPE_DATETIME;
		bind->buffer = &p->times[i];
		return true;
	case VALUE_TEXT:
	case VALUE_JSON:
	case VALUE_DECIMAL:
	case VALUE_BYTES:
	case VALUE_BIT:
	case VALUE_GEOMETRY:
		bind->buffer_type = value->type == VALUE_DECIMAL ? MYSQL_TYPE_NEWDECIMAL
				    : value->type == VALUE_TEXT || value->type == VALUE_JSON
					    ? MYSQL_TYPE_STRING
					    : MYSQL_TYPE_BLOB;
		/* The library does not write through it. */
		memcpy(&bind->buffer, &value->bytes.ptr, sizeof(bind->buffer));
		bind->buffer_length = p->lengths[i];
		return true;
	case VALUE_HASHED:
	case VALUE_DROPPED:
	case VALUE_CUT:
		break;
	}
	return err_set(err, ERR_UNSUPPORTED, "parameter %zu was not recorded whole", i + 1);
}

static void reserve(struct client_prepared *p, uint32_t count)
{
	if (p->capacity >= count)
		return;
	p->capacity = count;
	p->binds = mem_realloc(p->binds, count, sizeof(*p->binds));
	p->values = mem_realloc(p->values, count, sizeof(*p->values));
	p->times = mem_realloc(p->times, count, sizeof(*p->times));
	p->lengths = mem_realloc(p->lengths, count, sizeof(*p->lengths));
}

/* Of `count` values: those of the statement. */
static bool bind_params(struct client_prepared *p, struct mp *mp, uint32_t count, struct err *err)
{
	unsigned int rows = 0;

	if (count != mysql_stmt_param_count(p->stmt) || count > PARAMS_MAX)
		return err_set(err, ERR_UNSUPPORTED,
			"%u parameters were recorded, and the statement has %lu", count,
			mysql_stmt_param_count(p->stmt));
	reserve(p, count);
	mysql_stmt_attr_set(p->stmt, STMT_ATTR_ARRAY_SIZE, &rows);
	for (uint32_t i = 0; i < count; i++) {
		if (!value_read(mp, &p->values[i]))
			return err_set(err, ERR_FORMAT, "a parameter cannot be read");
		if (!bind_value(p, i, err))
			return false;
	}
	return !count || mysql_stmt_bind_param(p->stmt, p->binds) == 0 ||
	       err_set(err, ERR_SERVER, "%s", mysql_stmt_error(p->stmt));
}

static void execute(
	struct client *c, struct client_prepared *p, uint8_t command, struct span params)
{
	struct wire_request request = {0};

	c->executing = p;
	client_begin(c, command, 0);
	c->command.stmt = &p->wire;
	capture_sink.command(&c->capture, &c->command, &request);
	capture_set_params(&c->capture, params);
	c->state = CLIENT_EXECUTE;
	c->wait = mysql_stmt_execute_start(&c->status, p->stmt);
}

static struct client_prepared *find_ready(struct client *c, uint32_t name, struct err *err)
{
	struct client_prepared *p = find(c, name);

	if (p && p->ready)
		return p;
	(void)!err_set(err, ERR_UNSUPPORTED, "the statement was not prepared");
	return NULL;
}

bool client_execute(struct client *c, uint32_t name, struct span params, struct err *err)
{
	struct client_prepared *p = find_ready(c, name, err);
	struct mp mp;

	if (!p)
		return false;
	buf_clear(&c->sql);
	buf_add_span(&c->sql, params); /* lives as long as the call */
	mp = mp_over(buf_span(&c->sql));
	if (!bind_params(p, &mp, params.ptr ? mp_array(&mp) : 0, err))
		return false;
	execute(c, p, CMD_STMT_EXECUTE, buf_span(&c->sql));
	return true;
}

/* ---- many rows ---- */

bool client_bulk_rows(
	struct client *c, uint32_t name, struct span params, uint32_t *rows, struct err *err)
{
	struct client_prepared *p = find_ready(c, name, err);
	struct mp mp = mp_over(params);
	uint32_t values = params.ptr ? mp_array(&mp) : 0, columns;

	if (!p)
		return false;
	columns = (uint32_t)mysql_stmt_param_count(p->stmt);
	if (!columns || !values || values > BULK_VALUES_MAX || values % columns)
		return err_set(err, ERR_UNSUPPORTED,
			"the recorded parameters are no rows of this statement");
	for (uint32_t i = 0; i < values; i++) {
		struct value value;

		if (!value_read(&mp, &value))
			return err_set(err, ERR_FORMAT, "a parameter cannot be read");
		if (value.type == VALUE_HASHED || value.type == VALUE_DROPPED ||
			value.type == VALUE_CUT)
			return err_set(err, ERR_UNSUPPORTED,
				"parameter %u of row %u was not recorded whole", i % columns + 1,
				i / columns + 1);
	}
	*rows = values / columns;
	return true;
}

bool client_can_bulk(struct client *c)
{
	unsigned int capabilities = 0;

	return mariadb_get_infov(c->mysql, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES,
		       &capabilities) == 0 &&
	       (capabilities & (CAP_MARIADB_BULK >> 32));
}

bool client_execute_row(
	struct client *c, uint32_t name, struct span params, uint32_t row, struct err *err)
{
	struct client_prepared *p = find_ready(c, name, err);
	struct mp mp = mp_over(params);
	const unsigned char *first;
	uint32_t columns;

	if (!p)
		return false;
	columns = (uint32_t)mysql_stmt_param_count(p->stmt);
	(void)mp_array(&mp);
	for (uint32_t i = 0; i < row * columns; i++)
		(void)mp_skip(&mp);
	first = mp.p;
	for (uint32_t i = 0; i < columns; i++)
		(void)mp_skip(&mp);
	if (mp.bad)
		return err_set(err, ERR_FORMAT, "a parameter cannot be read");
	buf_clear(&c->sql);
	pack_array_open(&c->sql);
	pack_array_close(&c->sql, 0, columns);
	buf_add(&c->sql, first, (size_t)(mp.p - first));
	mp = mp_over(buf_span(&c->sql));
	if (!bind_params(p, &mp, mp_array(&mp), err))
		return false;
	execute(c, p, CMD_STMT_EXECUTE, buf_span(&c->sql));
	return true;
}

/* The values of one column become an array: of numbers, or of pointers (strings, times).  The
 * types of a bulk execution are sent once, so all rows have the same or NULL. */
static bool bind_column(struct client_prepared *p, uint32_t column, uint32_t columns, uint32_t rows,
	MYSQL_BIND *out, struct err *err)
{
	char *indicators = arena_zero(&p->bulk, rows);
	unsigned long *lengths = arena_zero(&p->bulk, rows * sizeof(*lengths));
	void **pointers = arena_zero(&p->bulk, rows * sizeof(*pointers));
	uint64_t *numbers = arena_zero(&p->bulk, rows * sizeof(*numbers));
	MYSQL_BIND first = {.buffer_type = MYSQL_TYPE_LONGLONG};
	bool seen = false, number = true;

	for (uint32_t row = 0; row < rows; row++) {
		size_t at = (size_t)row * columns + column;
		MYSQL_BIND one;

		if (!bind_value(p, at, err))
			return false;
		one = p->binds[at];
		if (one.buffer_type == MYSQL_TYPE_NULL) {
			indicators[row] = STMT_INDICATOR_NULL;
			continue;
		}
		number = one.buffer_type == MYSQL_TYPE_LONGLONG ||
			 one.buffer_type == MYSQL_TYPE_DOUBLE;
		if (!seen) {
			first = one;
			seen = true;
		} else if (first.buffer_type != one.buffer_type ||
			   first.is_unsigned != one.is_unsigned) {
			return err_set(err, ERR_UNSUPPORTED,
				"parameter %u has values of several types", column + 1);
		}
		lengths[row] = p->lengths[at];
		pointers[row] = one.buffer;
		if (number)
			memcpy(&numbers[row], one.buffer, sizeof(*numbers));
	}
	*out = (MYSQL_BIND){.buffer_type = first.buffer_type,
		.is_unsigned = first.is_unsigned,
		.buffer = number ? (void *)numbers : (void *)pointers,
		.length = lengths,
		.u.indicator = indicators};
	return true;
}

bool client_execute_bulk(struct client *c, uint32_t name, struct span params, struct err *err)
{
	struct client_prepared *p = find(c, name);
	uint32_t columns, values;
	unsigned int rows;
	MYSQL_BIND *binds;
	struct mp mp;

	if (!client_bulk_rows(c, name, params, &rows, err))
		return false;
	columns = (uint32_t)mysql_stmt_param_count(p->stmt);
	buf_clear(&c->sql);
	buf_add_span(&c->sql, params); /* lives as long as the call */
	mp = mp_over(buf_span(&c->sql));
	values = mp_array(&mp);
	reserve(p, values);
	for (uint32_t i = 0; i < values; i++)
		if (!value_read(&mp, &p->values[i]))
			return err_set(err, ERR_FORMAT, "a parameter cannot be read");
	arena_clear(&p->bulk);
	binds = arena_zero(&p->bulk, columns * sizeof(*binds));
	for (uint32_t i = 0; i < columns; i++)
		if (!bind_column(p, i, columns, rows, &binds[i], err))
			return false;
	if (mysql_stmt_attr_set(p->stmt, STMT_ATTR_ARRAY_SIZE, &rows) != 0 ||
		mysql_stmt_bind_param(p->stmt, binds) != 0)
		return err_set(err, ERR_SERVER, "%s", mysql_stmt_error(p->stmt));
	execute(c, p, CMD_STMT_BULK_EXECUTE, buf_span(&c->sql));
	return true;
}

/* ---- answers ---- */

void prepared_continue(struct client *c, int ready)
{
	MYSQL_STMT *stmt = c->executing->stmt;

	switch (c->state) {
	case CLIENT_PREPARE:
		c->wait = mysql_stmt_prepare_cont(&c->status, stmt, ready);
		break;
	case CLIENT_EXECUTE:
		c->wait = mysql_stmt_execute_cont(&c->status, stmt, ready);
		break;
	case CLIENT_EXECUTE_STORE:
		c->wait = mysql_stmt_store_result_cont(&c->status, stmt, ready);
		break;
	case CLIENT_IDLE:
	case CLIENT_QUERY:
	case CLIENT_STORE:
	case CLIENT_NEXT:
	case CLIENT_OWN_QUERY:
	case CLIENT_OWN_STORE:
		break;
	}
}

/* The rows of the stored result, as text. */
static void tell_rows(struct client *c, MYSQL_STMT *stmt, MYSQL_RES *metadata, bool first)
{
	unsigned columns = mysql_num_fields(metadata);
	const MYSQL_FIELD *fields = mysql_fetch_fields(metadata);
	MYSQL_BIND *binds = mem_zero(columns + 1, sizeof(*binds));
	unsigned long *lengths = mem_zero(columns + 1, sizeof(*lengths));
	my_bool *nulls = mem_zero(columns + 1, sizeof(*nulls));
	char **row = mem_zero(columns + 1, sizeof(*row));

	for (unsigned i = 0; i < columns; i++) {
		unsigned long size =
			fields[i].max_length > CELL_MIN ? fields[i].max_length : CELL_MIN;

		binds[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING,
			.buffer = mem_zero(size + 1, 1),
			.buffer_length = size + 1,
			.length = &lengths[i],
			.is_null = &nulls[i]};
	}
	if (mysql_stmt_bind_result(stmt, binds) != 0)
		c->rows_bad = true;
	while (!c->packer.bad && !c->rows_bad && mysql_stmt_fetch(stmt) != MYSQL_NO_DATA) {
		for (unsigned i = 0; i < columns; i++)
			row[i] = nulls[i] ? NULL : binds[i].buffer;
		client_tell_row(c, row, lengths, first);
		c->row_count += first;
	}
	for (unsigned i = 0; i < columns; i++)
		mem_free(binds[i].buffer);
	mem_free(binds);
	mem_free(lengths);
	mem_free(nulls);
	mem_free(row);
}

static void tell_result(struct client *c, MYSQL_STMT *stmt)
{
	struct wire_reply reply = {.last = true};
	MYSQL_RES *metadata = mysql_stmt_result_metadata(stmt);
	bool first;

	if (metadata) {
		client_tell_columns(c, metadata, &first);
		tell_rows(c, stmt, metadata, first);
		mysql_free_result(metadata);
	}
	mysql_stmt_free_result(stmt);
	/* Of a procedure's further results only the first is kept. */
	while (mysql_stmt_more_results(stmt) && mysql_stmt_next_result(stmt) == 0)
		;
	client_tell_reply(c, &reply, true);
}

bool prepared_advance(struct client *c)
{
	struct client_prepared *p = c->executing;
	struct wire_reply reply = {.last = true};

	if (c->status) {
		client_tell_error(c, mysql_stmt_errno(p->stmt), mysql_stmt_sqlstate(p->stmt),
			mysql_stmt_error(p->stmt));
		return true;
	}
	if (c->state == CLIENT_PREPARE) {
		c->command.stmt = &p->wire; /* the capture marks it */
		client_tell_reply(c, &reply, false);
		p->ready = true;
		return true;
	}
	if (c->state == CLIENT_EXECUTE_STORE) {
		tell_result(c, p->stmt);
		return true;
	}
	if (mysql_stmt_field_count(p->stmt)) {
		c->state = CLIENT_EXECUTE_STORE;
		c->wait = mysql_stmt_store_result_start(&c->status, p->stmt);
		return false;
	}
	reply.affected = mysql_stmt_affected_rows(p->stmt);
	reply.insert_id = mysql_stmt_insert_id(p->stmt);
	client_tell_reply(c, &reply, false);
	return true;
}

void prepared_release(struct client *c)
{
	for (size_t i = 0; i < c->prepared_count; i++) {
		struct client_prepared *p = c->prepared[i];

		mysql_stmt_close(p->stmt);
		buf_release(&p->sql);
		mem_free(p->binds);
		mem_free(p->values);
		mem_free(p->times);
		mem_free(p->lengths);
		arena_release(&p->bulk);
		mem_free(p);
	}
	mem_free(c->prepared);
}
