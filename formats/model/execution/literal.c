/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values and statements of a trace as SQL text that a server reads back as the same. */
#include <inttypes.h>
#include <stdio.h>

#include "model/execution/execution.h"
#include "scenario/scenario.h"
#include "server/commands.h"
#include "sql/sql.h"
#include "sql/text/split.h"

static void add_hex(struct buf *out, struct span bytes)
{
	buf_add_str(out, "x'");
	for (size_t i = 0; i < bytes.len; i++)
		buf_printf(out, "%02x", (unsigned char)bytes.ptr[i]);
	buf_add_char(out, '\'');
}

bool execution_literal(const struct value *value, struct buf *out, struct err *err)
{
	switch (value->type) {
	case VALUE_NULL:
		buf_add_str(out, "NULL");
		return true;
	case VALUE_INT:
		buf_printf(out, "%" PRId64, value->i);
		return true;
	case VALUE_UINT:
		buf_printf(out, "%" PRIu64, value->u);
		return true;
	case VALUE_DOUBLE:
		buf_printf(out, "%.17ge0", value->d);
		return true;
	case VALUE_FLOAT:
		buf_printf(out, "%.9ge0", value->d);
		return true;
	case VALUE_DECIMAL:
		buf_add_span(out, value->bytes);
		return true;
	case VALUE_TEXT:
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
	case VALUE_JSON:
		scenario_print_string(value->bytes, out);
		return true;
	case VALUE_BYTES:
	case VALUE_BIT:
	case VALUE_GEOMETRY:
		add_hex(out, value->bytes);
		return true;
	case VALUE_HASHED:
	case VALUE_DROPPED:
		return err_set(err, ERR_UNSUPPORTED, "a value was redacted when recording");
	case VALUE_CUT:
		return err_set(err, ERR_UNSUPPORTED, "a value was cut when recording");
	}
	return false;
}

/* A date or time as a literal of its type; false: it is no such day, of which some sql_modes take
 * no literal, or no date at all (a trace comes from outside). */
static bool put_moment(const struct value *value, enum execution_moments moments, struct buf *out)
{
	enum { MONTH = 5, DAY = 8, DAY_END = 10 }; /* 2024-01-02 */
	struct span text = value->bytes;
	bool micros = moments == MOMENTS_MICROS && value->type != VALUE_DATE;

	for (size_t i = 0; i < text.len; i++) {
		if (!strchr("0123456789-: .", text.ptr[i]) || !text.ptr[i])
			return false;
		micros = micros && text.ptr[i] != '.';
	}
	if (value->type != VALUE_TIME && (text.len < DAY_END || memcmp(text.ptr, "0000", 4) == 0 ||
						 memcmp(text.ptr + MONTH, "00", 2) == 0 ||
						 memcmp(text.ptr + DAY, "00", 2) == 0))
		return false;
	buf_printf(out, "%s'%.*s%s'",
		value->type == VALUE_DATE   ? "DATE"
		: value->type == VALUE_TIME ? "TIME"
					    : "TIMESTAMP",
		SPAN_ARG(text), micros ? ".000000" : "");
	return true;
}

/* Puts the next parameters where the question marks outside quotes and comments are. */
static bool put_params(struct span sql, struct mp *params, uint32_t *left, enum execution_moments moments,
	struct buf *out, struct err *err)
{
	size_t at = 0;

	for (;;) {
		struct split split = split_statement(sql, at, SPAN_LIT("?"));
		struct value value;

		if (split.state != SPLIT_FOUND)
			break;
		if (!*left || !value_read(params, &value))
			return err_set(err, ERR_UNSUPPORTED,
				"parameters of a prepared statement were not recorded");
		--*left;
		buf_add_span(out, span_of(sql.ptr + at, split.end - at));
		/* As what it is to the server: a DOUBLE of the nearest FLOAT. */
		if (value.type == VALUE_FLOAT && moments != MOMENTS_AS_TEXTS)
			value.type = VALUE_DOUBLE;
		if (!((value.type == VALUE_DATETIME || value.type == VALUE_DATE ||
			      value.type == VALUE_TIME) &&
			    moments != MOMENTS_AS_TEXTS && put_moment(&value, moments, out)) &&
			!execution_literal(&value, out, err))
			return false;
		at = split.end + 1;
	}
	buf_add_span(out, span_of(sql.ptr + at, sql.len - at));
	return true;
}

bool execution_bulk_sql(const struct execution_stmt *stmt, enum execution_moments moments, struct buf *out)
{
	enum { SETS_MAX = 1000, TEXT_MAX = 1 << 20 };
	struct mp mp = mp_over(stmt->record.params);
	uint32_t left = stmt->record.params.ptr ? mp_array(&mp) : 0;

	if (stmt->record.flags & (STMT_TEXT_CUT | STMT_OPAQUE) || !stmt->sql.ptr || !left)
		return false;
	for (uint32_t sets = 0; left; sets++) {
		uint32_t before = left;

		if (out->len)
			buf_add_str(out, "; ");
		if (!put_params(stmt->sql, &mp, &left, moments, out, NULL) || left == before ||
			out->len > TEXT_MAX || sets == SETS_MAX)
			return false;
	}
	return true;
}

bool execution_sql(const struct execution_stmt *stmt, enum execution_moments moments,
	struct buf *out, struct err *err)
{
	struct mp mp = mp_over(stmt->record.params);
	uint32_t left;

	if (stmt->record.flags & (STMT_TEXT_CUT | STMT_OPAQUE) || !stmt->sql.ptr)
		return err_set(err, ERR_UNSUPPORTED, "the statement's text was not recorded whole");
	switch (stmt->record.command) {
	case CMD_INIT_DB:
		buf_add_str(out, "use ");
		sql_print_name(stmt->sql, out);
		return true;
	case CMD_SLEEP:
	case CMD_QUERY:
		buf_add_span(out, stmt->sql);
		return true;
	case CMD_STMT_EXECUTE:
		left = stmt->record.params.ptr ? mp_array(&mp) : 0;
		if (!put_params(stmt->sql, &mp, &left, moments, out, err))
			return false;
		return !left || err_set(err, ERR_UNSUPPORTED, "more parameters than question marks");
	}
	if (stmt->record.command == CMD_STMT_BULK_EXECUTE)
		return err_set(err, ERR_UNSUPPORTED,
			"a bulk execution: one statement for many rows of parameters has no text");
	return err_set(err, ERR_UNSUPPORTED, "command 0x%02x of the protocol has no text",
		stmt->record.command);
}
