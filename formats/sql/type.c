/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types, of columns and of CAST.  MySQL manual, "Data Types", "Cast Functions and Operators".
 */
#include <string.h>

#include "sql/parse.h"

static const struct {
	uint16_t word;
	uint8_t kind;
	uint8_t args; /* 0 none, 1 (n), 2 (n, m) or (n), 3 (n, m) */
	bool number, text;
} types[] = {
	{T_TINYINT, SQL_TYPE_TINYINT, 1, true, false},
	{T_INT1, SQL_TYPE_TINYINT, 1, true, false},
	{T_SMALLINT, SQL_TYPE_SMALLINT, 1, true, false},
	{T_INT2, SQL_TYPE_SMALLINT, 1, true, false},
	{T_MEDIUMINT, SQL_TYPE_MEDIUMINT, 1, true, false},
	{T_MIDDLEINT, SQL_TYPE_MEDIUMINT, 1, true, false},
	{T_INT3, SQL_TYPE_MEDIUMINT, 1, true, false},
	{T_INT, SQL_TYPE_INT, 1, true, false},
	{T_INT4, SQL_TYPE_INT, 1, true, false},
	{T_INTEGER, SQL_TYPE_INT, 1, true, false},
	{T_BIGINT, SQL_TYPE_BIGINT, 1, true, false},
	{T_INT8, SQL_TYPE_BIGINT, 1, true, false},
	{T_SERIAL, SQL_TYPE_SERIAL, 0, false, false},
	{T_BOOL, SQL_TYPE_BOOL, 0, false, false},
	{T_BOOLEAN, SQL_TYPE_BOOL, 0, false, false},
	{T_DECIMAL, SQL_TYPE_DECIMAL, 2, true, false},
	{T_DEC, SQL_TYPE_DECIMAL, 2, true, false},
	{T_NUMERIC, SQL_TYPE_DECIMAL, 2, true, false},
	{T_FIXED, SQL_TYPE_DECIMAL, 2, true, false},
	{T_FLOAT, SQL_TYPE_FLOAT, 2, true, false},
	{T_FLOAT4, SQL_TYPE_FLOAT, 2, true, false},
	{T_DOUBLE, SQL_TYPE_DOUBLE, 3, true, false},
	{T_FLOAT8, SQL_TYPE_DOUBLE, 3, true, false},
	{T_REAL, SQL_TYPE_DOUBLE, 3, true, false},
	{T_BIT, SQL_TYPE_BIT, 1, false, false},
	{T_DATE, SQL_TYPE_DATE, 0, false, false},
	{T_TIME, SQL_TYPE_TIME, 1, false, false},
	{T_DATETIME, SQL_TYPE_DATETIME, 1, false, false},
	{T_TIMESTAMP, SQL_TYPE_TIMESTAMP, 1, false, false},
	{T_YEAR, SQL_TYPE_YEAR, 1, true, false},
	{T_SQL_TSI_YEAR, SQL_TYPE_YEAR, 1, true, false},
	{T_BINARY, SQL_TYPE_BINARY, 1, false, false},
	{T_VARBINARY, SQL_TYPE_VARBINARY, 1, false, false},
	{T_TINYBLOB, SQL_TYPE_TINYBLOB, 0, false, false},
	{T_BLOB, SQL_TYPE_BLOB, 1, false, false},
	{T_MEDIUMBLOB, SQL_TYPE_MEDIUMBLOB, 0, false, false},
	{T_LONGBLOB, SQL_TYPE_LONGBLOB, 0, false, false},
	{T_TINYTEXT, SQL_TYPE_TINYTEXT, 0, false, true},
	{T_TEXT, SQL_TYPE_TEXT, 1, false, true},
	{T_MEDIUMTEXT, SQL_TYPE_MEDIUMTEXT, 0, false, true},
	{T_LONGTEXT, SQL_TYPE_LONGTEXT, 0, false, true},
	{T_JSON, SQL_TYPE_JSON, 0, false, false},
	{T_VARCHAR, SQL_TYPE_VARCHAR, 1, false, true},
	{T_VARCHARACTER, SQL_TYPE_VARCHAR, 1, false, true},
	{T_NVARCHAR, SQL_TYPE_NVARCHAR, 1, false, true},
};

/* In (m, d) both numbers are below 2^31; alone a length is any number, a fraction too. */
static bool is_small(struct span number)
{
	while (number.len > 1 && *number.ptr == '0') {
		number.ptr++;
		number.len--;
	}
	return number.len < 10 || (number.len == 10 && memcmp(number.ptr, "2147483647", 10) <= 0);
}

static void parse_type_args(struct parser *p, struct sql_type *type, int most, bool time)
{
	if (most == 0 || !accept(p, T_LPAREN))
		return;
	if (p->tok.kind == T_L_DECIMAL && !time && most < 3) {
		type->length = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);
		parse_advance(p);
	} else {
		type->length = parse_length(p);
	}
	/* MySQL reads the digits of a time as such a number too. */
	bool two = most == 3 || (most == 2 && p->tok.kind == T_COMMA);
	if ((two || (time && !is_maria(p))) && !is_small(type->length))
		parse_fail(p);
	if (two) {
		expect(p, T_COMMA);
		type->decimals = parse_length(p);
		if (!is_small(type->decimals))
			parse_fail(p);
	}
	expect(p, T_RPAREN);
}

/* CHARACTER SET x, COLLATE y, BINARY, ASCII, UNICODE, BYTE after a string type. */
static void parse_type_charset(struct parser *p, struct sql_type *type)
{
	bool national = type->kind == SQL_TYPE_NCHAR || type->kind == SQL_TYPE_NVARCHAR;

	for (;;) {
		/* One character set, before BINARY or after it; BYTE stands alone. */
		bool has_set = type->charset.ptr || type->ascii || type->unicode;

		if (type->byte || (has_set && p->tok.kind != T_BINARY) ||
			(national && p->tok.kind != T_BINARY))
			return;
		if (p->tok.kind == T_BYTE && type->binary)
			return;
		if (p->tok.kind == T_CHARSET ||
			(p->tok.kind == T_CHARACTER && parse_peek(p, 1).kind == T_SET) ||
			(p->tok.kind == T_CHAR && parse_peek(p, 1).kind == T_SET)) {
			if (p->tok.kind != T_CHARSET)
				parse_advance(p);
			parse_advance(p);
			type->charset = parse_charset_name(p);
		} else if (p->tok.kind == T_BINARY && !type->binary) {
			parse_advance(p);
			type->binary = true;
		} else if (p->tok.kind == T_ASCII && !type->ascii) {
			parse_advance(p);
			type->ascii = true;
		} else if (p->tok.kind == T_UNICODE && !type->unicode) {
			parse_advance(p);
			type->unicode = true;
		} else if (p->tok.kind == T_BYTE && !type->byte) {
			parse_advance(p);
			type->byte = true;
		} else {
			return;
		}
	}
}

static void parse_number_flags(struct parser *p, struct sql_type *type)
{
	if (p->tok.kind == T_SIGNED) {
		parse_advance(p);
		type->is_signed = true;
		if (is_maria(p))
			return;
	}
	for (;;) {
		if (at(p, T_UNSIGNED) && !(type->is_unsigned && is_maria(p)))
			type->is_unsigned = true;
		else if (at(p, T_ZEROFILL) && !(type->zerofill && is_maria(p)))
			type->zerofill = true;
		else if (p->tok.kind == T_SIGNED && !is_maria(p))
			type->is_signed = true;
		else
			return;
		parse_advance(p);
	}
}

/* A name, or DEFAULT in MariaDB. */
struct span parse_collation(struct parser *p)
{
	if (is_maria(p) && accept(p, T_DEFAULT))
		return SPAN_LIT("DEFAULT");
	return parse_charset_name(p);
}

/* Which types MariaDB can keep compressed. */
bool can_compress(enum sql_type_kind kind)
{
	switch (kind) {
	case SQL_TYPE_VARCHAR:
	case SQL_TYPE_NVARCHAR:
	case SQL_TYPE_VARBINARY:
	case SQL_TYPE_TINYBLOB:
	case SQL_TYPE_BLOB:
	case SQL_TYPE_MEDIUMBLOB:
	case SQL_TYPE_LONGBLOB:
	case SQL_TYPE_TINYTEXT:
	case SQL_TYPE_TEXT:
	case SQL_TYPE_MEDIUMTEXT:
	case SQL_TYPE_LONGTEXT:
	case SQL_TYPE_JSON:
		return true;
	default:
		return false;
	}
}

/* COMPRESSED right after the type; with `= method` it is an attribute of the column. */
static void accept_compressed(struct parser *p, struct sql_type *type)
{
	if (is_maria(p) && p->tok.kind == T_COMPRESSED && parse_peek(p, 1).kind != T_EQ &&
		can_compress(type->kind)) {
		parse_advance(p);
		type->compressed = true;
	}
}

/* CHAR, NCHAR, NATIONAL ..., LONG ..., ENUM, SET: types of more than one word.  False: none. */
static bool parse_wordy_type(struct parser *p, struct sql_type *type)
{
	struct sql_expr **tail = &type->values;
	bool national = false;

	switch (p->tok.kind) {
	case T_NATIONAL:
		parse_advance(p);
		national = true;
		if (accept(p, T_VARCHAR) || accept(p, T_VARCHARACTER)) {
			type->kind = SQL_TYPE_NVARCHAR;
			break;
		}
		if (p->tok.kind != T_CHAR && p->tok.kind != T_CHARACTER)
			parse_fail(p);
		goto character;
	case T_NCHAR:
		national = true;
		goto character;
	case T_CHAR:
	case T_CHARACTER:
	character:
		parse_advance(p);
		if (p->tok.kind == T_VARYING || (national && (p->tok.kind == T_VARCHAR ||
							     p->tok.kind == T_VARCHARACTER))) {
			parse_advance(p);
			type->kind = national ? SQL_TYPE_NVARCHAR : SQL_TYPE_VARCHAR;
		} else {
			type->kind = national ? SQL_TYPE_NCHAR : SQL_TYPE_CHAR;
		}
		break;
	case T_LONG:
		parse_advance(p);
		if (accept(p, T_VARBINARY)) {
			type->kind = SQL_TYPE_MEDIUMBLOB;
			return true;
		}
		if (!accept(p, T_VARCHAR) && !accept(p, T_VARCHARACTER) &&
			(p->tok.kind == T_CHAR || p->tok.kind == T_CHARACTER) &&
			parse_peek(p, 1).kind == T_VARYING) {
			parse_advance(p);
			parse_advance(p);
		}
		type->kind = SQL_TYPE_MEDIUMTEXT;
		parse_type_charset(p, type);
		return true;
	case T_ENUM:
	case T_SET:
		type->kind = p->tok.kind == T_ENUM ? SQL_TYPE_ENUM : SQL_TYPE_SET;
		parse_advance(p);
		expect(p, T_LPAREN);
		do {
			if (p->tok.kind != T_STRING && p->tok.kind != T_HEX_STR &&
				p->tok.kind != T_L_HEX && p->tok.kind != T_BIT_STR &&
				p->tok.kind != T_L_BIT) {
				if (UNLIKELY(p->track))
					parse_want(p, T_WANT_STRING);
				parse_fail(p);
			}
			struct sql_expr *value = parse_literal(p);
			*tail = value;
			tail = &value->next;
		} while (accept(p, T_COMMA));
		expect(p, T_RPAREN);
		parse_type_charset(p, type);
		return true;
	default:
		return false;
	}
	parse_type_args(p, type, 1, false);
	if (type->kind == SQL_TYPE_NVARCHAR && !type->length.ptr)
		parse_fail(p);
	accept_compressed(p, type);
	parse_type_charset(p, type);
	return true;
}

static enum sql_type_kind type_of_word(struct span word)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (span_ieq_str(word, keyword_text((enum token_kind)types[i].word)))
			return (enum sql_type_kind)types[i].kind;
	}
	return SQL_TYPE_OTHER;
}

/* Words that MariaDB's grammar knows and that name no type outside of sql_mode ORACLE. */
static bool oracle_type(enum token_kind kind)
{
	switch (kind) {
	case T_CLOB:
	case T_NUMBER:
	case T_RAW:
	case T_VARCHAR2:
	case T_FUNCTION:
	case T_MEDIUM:
	case T_ROW:
	case T_SIGNED:
	case T_WINDOW:
		return true;
	default:
		return false;
	}
}

void parse_type(struct parser *p, struct sql_type *type)
{
	static const char *const shapes[] = {"geometry", "geometrycollection", "geomcollection",
		"point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"};

	if (parse_wordy_type(p, type))
		return;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (p->tok.kind != types[i].word)
			continue;
		parse_advance(p);
		type->kind = (enum sql_type_kind)types[i].kind;
		if (type->kind == SQL_TYPE_DOUBLE)
			accept(p, T_PRECISION);
		parse_type_args(p, type, types[i].args,
			type->kind == SQL_TYPE_TIME || type->kind == SQL_TYPE_DATETIME ||
				type->kind == SQL_TYPE_TIMESTAMP);
		if ((type->kind == SQL_TYPE_VARCHAR || type->kind == SQL_TYPE_NVARCHAR ||
			    type->kind == SQL_TYPE_VARBINARY) &&
			!type->length.ptr)
			parse_fail(p);
		accept_compressed(p, type);
		if (types[i].number)
			parse_number_flags(p, type);
		if (types[i].text)
			parse_type_charset(p, type);
		return;
	}
	/* mariadb_schema.date is date whatever the sql_mode. */
	if (is_maria(p) && p->tok.kind == T_IDENT && parse_peek(p, 1).kind == T_DOT) {
		parse_advance(p);
		parse_advance(p);
		/* The scanner takes what stands after a dot for a name. */
		type->kind = type_of_word(span_of(p->text + p->tok.start,
			p->tok.end - p->tok.start));
		if (type->kind != SQL_TYPE_OTHER) {
			parse_advance(p);
			parse_type_args(p, type, 2, false);
			return;
		}
		parse_fail(p);
	}
	if (p->tok.kind == T_VECTOR && !(p->tok.flags & TF_NAME)) {
		/* A reserved word in MariaDB, with its number of dimensions. */
		type->kind = SQL_TYPE_OTHER;
		type->name = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);
		parse_advance(p);
		if (!at(p, T_LPAREN))
			parse_fail(p);
		parse_type_args(p, type, 1, false);
		return;
	}
	/* Geometry and types of plugins are plain names in both servers. */
	if (p->tok.flags & TF_NAME && p->tok.kind != T_QUOTED && !oracle_type(p->tok.kind)) {
		type->kind = SQL_TYPE_OTHER;
		type->name = parse_name(p);
		for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
			if (span_ieq_str(type->name, shapes[i]))
				type->kind = SQL_TYPE_GEOMETRY;
		}
		/* MySQL has no types of plugins; VECTOR came with 9, this short name with 8. */
		if (!is_maria(p) &&
			((type->kind == SQL_TYPE_OTHER &&
				 (p->opt.version < 90000 || !span_ieq_str(type->name, "vector"))) ||
				(p->opt.version < 80000 &&
					span_ieq_str(type->name, "geomcollection"))))
			parse_fail(p);
		if (is_maria(p) || type->kind == SQL_TYPE_OTHER)
			parse_type_args(p, type, 2, false);
		return;
	}
	if (UNLIKELY(p->track))
		parse_want(p, T_WANT_TYPE);
	parse_fail(p);
}

/* The types of CAST and CONVERT: fewer than those of columns. */
static bool castable(struct parser *p)
{
	switch (p->tok.kind) {
	case T_BINARY:
	case T_CHAR:
	case T_CHARACTER:
	case T_NCHAR:
	case T_DATE:
	case T_TIME:
	case T_DATETIME:
	case T_DECIMAL:
	case T_DEC:
		return true;
	case T_FLOAT:
	case T_FLOAT4:
	case T_FLOAT8:
		return is_maria(p) || p->opt.version >= 80017;
	case T_DOUBLE:
		return is_maria(p) ? parse_peek(p, 1).kind != T_PRECISION
				   : p->opt.version >= 80017;
	case T_INT:
	case T_INTEGER:
	case T_VARCHAR:
		return is_maria(p);
	case T_INT4:
		return is_maria(p);
	case T_JSON:
		return !is_maria(p);
	case T_REAL:
		return !is_maria(p) && p->opt.version >= 80017;
	case T_YEAR:
	case T_SQL_TSI_YEAR:
		return !is_maria(p) && p->opt.version >= 80022;
	case T_NATIONAL:
		return !is_maria(p) && p->opt.version >= 80000;
	case T_VECTOR:
		return false; /* without a number: parse_cast_type() */
	default: /* a type of a plugin, or a shape */
		return p->tok.kind == T_IDENT && (is_maria(p) || p->opt.version >= 80000) &&
		       (is_maria(p) ||
			       !span_ieq_str(span_of(p->text + p->tok.start,
						     p->tok.end - p->tok.start),
				       "geometry"));
	}
}

struct sql_type *parse_cast_type(struct parser *p)
{
	struct sql_type *type = NEW(p, struct sql_type);
	enum token_kind kind = p->tok.kind;
	uint32_t start = p->tok.start;

	if (kind == T_SIGNED || kind == T_UNSIGNED) {
		type->kind = kind == T_SIGNED ? SQL_TYPE_SIGNED : SQL_TYPE_UNSIGNED;
		parse_advance(p);
		if (!accept(p, T_INTEGER))
			accept(p, T_INT);
	} else if (kind == T_INTERVAL && is_maria(p)) {
		parse_advance(p);
		expect(p, T_DAY_SECOND);
		type->kind = SQL_TYPE_OTHER;
		type->name = parse_text(p, start);
		parse_type_args(p, type, 1, true);
	} else if (kind == T_VECTOR && is_maria(p) && parse_peek(p, 1).kind != T_LPAREN) {
		/* Refused, but not for its syntax. */
		parse_advance(p);
		type->kind = SQL_TYPE_OTHER;
		type->name = parse_text(p, start);
	} else if (!castable(p)) {
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_TYPE);
		parse_fail(p);
	} else {
		parse_type(p, type);
		/* No attributes of columns, no NATIONAL VARCHAR; DOUBLE PRECISION and FLOAT(n) are MySQL's, DOUBLE(m, d)
		 * is MariaDB's. */
		if ((!is_maria(p) && type->kind == SQL_TYPE_NVARCHAR) ||
			(type->kind == SQL_TYPE_NCHAR && type->binary) || type->is_unsigned || type->zerofill || type->is_signed || type->compressed ||
			(type->length.ptr &&
				(type->kind == SQL_TYPE_INT || type->kind == SQL_TYPE_YEAR)) ||
			(type->length.ptr && is_maria(p) && type->kind == SQL_TYPE_FLOAT) ||
			(type->decimals.ptr && !is_maria(p) && type->kind != SQL_TYPE_DECIMAL))
			parse_fail(p);
		if (is_maria(p) && type->kind == SQL_TYPE_CHAR && accept(p, T_COLLATE))
			type->collate = parse_collation(p);
	}
	if (!is_maria(p) && accept(p, T_ARRAY))
		type->array = true;
	return type;
}
