/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CREATE TABLE, ALTER TABLE, CREATE INDEX, DROP INDEX, and the types they and CAST share.  MySQL
 * manual, "Data Definition Statements".
 *
 * Options (ENGINE = x, COMMENT 'y') are kept as name and value text.  Actions of ALTER TABLE that
 * change no column, key or name are kept as text.
 */
#include <string.h>

#include "sql/parse.h"

/* ------------------------------------------------------------------ types */

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
		type->length = parse_number(p);
	}
	/* MySQL reads the digits of a time as such a number too. */
	bool two = most == 3 || (most == 2 && p->tok.kind == T_COMMA);
	if ((two || (time && !is_maria(p))) && !is_small(type->length))
		parse_fail(p);
	if (two) {
		expect(p, T_COMMA);
		type->decimals = parse_number(p);
		if (!is_small(type->decimals))
			parse_fail(p);
	}
	expect(p, T_RPAREN);
}

/* CHARACTER SET x, COLLATE y, BINARY, ASCII, UNICODE, BYTE behind a string type. */
static void parse_type_charset(struct parser *p, struct sql_type *type)
{
	for (;;) {
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
static struct span parse_collation(struct parser *p)
{
	if (is_maria(p) && accept(p, T_DEFAULT))
		return SPAN_LIT("DEFAULT");
	return parse_charset_name(p);
}

/* Which types MariaDB can keep compressed. */
static bool can_compress(enum sql_type_kind kind)
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

/* COMPRESSED right behind the type; with `= method` it is an attribute of the column. */
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
		if (p->tok.kind == T_VARYING || (national && p->tok.kind == T_VARCHAR)) {
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
		/* The scanner takes what stands behind a dot for a name. */
		type->kind = type_of_word(span_of(p->text + p->tok.start,
			p->tok.end - p->tok.start));
		if (type->kind != SQL_TYPE_OTHER) {
			parse_advance(p);
			parse_type_args(p, type, 2, false);
			return;
		}
	}
	/* Geometry and types of plugins are plain names in both servers. */
	if (p->tok.flags & TF_NAME && p->tok.kind != T_QUOTED && !oracle_type(p->tok.kind)) {
		type->kind = SQL_TYPE_OTHER;
		type->name = parse_name(p);
		for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
			if (span_ieq_str(type->name, shapes[i]))
				type->kind = SQL_TYPE_GEOMETRY;
		}
		/* MySQL has no types of plugins; VECTOR came with 9. */
		if (!is_maria(p) && type->kind == SQL_TYPE_OTHER &&
			!span_ieq_str(type->name, "vector"))
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
	case T_FLOAT:
		return true;
	case T_DOUBLE:
		return !is_maria(p) || parse_peek(p, 1).kind != T_PRECISION;
	case T_INT:
	case T_INTEGER:
	case T_VARCHAR:
		return is_maria(p);
	case T_INT4:
		return is_maria(p);
	case T_FLOAT4:
	case T_FLOAT8:
		return true;
	case T_JSON:
	case T_YEAR:
	case T_REAL:
	case T_SQL_TSI_YEAR:
		return !is_maria(p);
	default: /* a type of a plugin, or a shape */
		return p->tok.kind == T_IDENT &&
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
	} else if (!castable(p)) {
		if (UNLIKELY(p->track))
			parse_want(p, T_WANT_TYPE);
		parse_fail(p);
	} else {
		parse_type(p, type);
		/* No attributes of columns; DOUBLE PRECISION and FLOAT(n) are MySQL's, DOUBLE(m, d)
		 * is MariaDB's. */
		if (type->is_unsigned || type->zerofill || type->is_signed || type->compressed ||
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

/* ------------------------------------------------------------------ options */

static void option_value(struct parser *p, struct sql_option *opt)
{
	uint32_t start = p->tok.start;

	if (p->tok.kind == T_LPAREN) { /* UNION = (t1, t2) */
		while (p->tok.kind != T_RPAREN && p->tok.kind != T_EOF && p->tok.kind != T_ERROR)
			parse_advance(p);
		expect(p, T_RPAREN);
	} else if (p->tok.kind == T_EOF || p->tok.kind == T_COMMA || p->tok.kind == T_RPAREN ||
		   p->tok.kind == T_SEMICOLON || p->tok.kind == T_EQ) {
		parse_fail(p);
	} else {
		if (p->tok.kind == T_MINUS)
			parse_advance(p);
		parse_advance(p);
		if (p->tok.kind == T_DOT) {
			parse_advance(p);
			parse_name(p);
		}
	}
	opt->value = parse_text(p, start);
}

static struct sql_option *option_new(struct parser *p, struct span name)
{
	struct sql_option *opt = NEW(p, struct sql_option);

	opt->name = name;
	return opt;
}

/* Words that are table options by grammar: `=` may be missing. */
static bool is_table_option(const struct parser *p)
{
	switch (p->tok.kind) {
	case T_ENGINE:
	case T_MAX_ROWS:
	case T_MIN_ROWS:
	case T_AVG_ROW_LENGTH:
	case T_PASSWORD:
	case T_COMMENT:
	case T_AUTO_INCREMENT:
	case T_PACK_KEYS:
	case T_STATS_AUTO_RECALC:
	case T_STATS_PERSISTENT:
	case T_STATS_SAMPLE_PAGES:
	case T_CHECKSUM:
	case T_TABLE_CHECKSUM:
	case T_DELAY_KEY_WRITE:
	case T_ROW_FORMAT:
	case T_INSERT_METHOD:
	case T_TABLESPACE:
	case T_STORAGE:
	case T_CONNECTION:
	case T_KEY_BLOCK_SIZE:
	case T_ENCRYPTION:
	case T_COMPRESSION:
	case T_SECONDARY_ENGINE:
	case T_AUTOEXTEND_SIZE:
	case T_ENGINE_ATTRIBUTE:
	case T_SECONDARY_ENGINE_ATTRIBUTE:
	case T_COLLATE:
	case T_CHARSET:
	case T_UNION:
		return true;
	case T_TRANSACTIONAL:
	case T_PAGE_CHECKSUM:
	case T_SEQUENCE:
		return is_maria(p);
	default:
		return false;
	}
}

/* 1 to 65535 */
static bool sample_pages_fit(struct span digits)
{
	uint32_t value = 0;

	for (size_t i = 0; i < digits.len && value <= 65535; i++)
		value = value * 10 + (uint32_t)(digits.ptr[i] - '0');
	return value >= 1 && value <= 65535;
}

/* The value of a table option, current, where the servers' grammar or its actions limit it. */
static void check_option_value(struct parser *p, enum token_kind option)
{
	struct span text = span_of(p->text + p->tok.start, p->tok.end - p->tok.start);
	bool number = p->tok.kind == T_L_INT || p->tok.kind == T_L_HEX;

	switch (option) {
	case T_PACK_KEYS:
	case T_STATS_AUTO_RECALC:
	case T_STATS_PERSISTENT:
		if (p->tok.kind != T_DEFAULT &&
			!(number && (span_ieq_str(text, "0") || span_ieq_str(text, "1"))))
			parse_fail(p);
		return;
	case T_STATS_SAMPLE_PAGES:
		/* MySQL checks the range behind the grammar. */
		if (p->tok.kind == T_DEFAULT)
			return;
		if (!number || (is_maria(p) && p->tok.kind == T_L_INT &&
				       !sample_pages_fit(text)))
			parse_fail(p);
		return;
	case T_ENGINE:
		if (p->tok.kind != T_STRING && !at_name(p))
			parse_fail(p);
		return;
	case T_ROW_FORMAT:
		if (!is_maria(p) && span_ieq_str(text, "page"))
			parse_fail(p);
		return;
	case T_CHARSET:
	case T_COLLATE:
	case T_CHARACTER:
	case T_CHAR:
		if (!is_maria(p) && p->tok.kind == T_DEFAULT)
			parse_fail(p);
		return;
	default:
		return;
	}
}

/* One table option, or NULL when none starts here. */
static struct sql_option *parse_table_option(struct parser *p)
{
	struct sql_option *opt;
	enum token_kind next = parse_peek(p, 1).kind;
	enum token_kind word = p->tok.kind == T_DEFAULT ? next : p->tok.kind;
	uint32_t start = p->tok.start;

	if (p->tok.kind == T_WITH && next == T_SYSTEM && is_maria(p)) {
		parse_advance(p);
		parse_advance(p);
		expect(p, T_VERSIONING);
		return option_new(p, SPAN_LIT("WITH SYSTEM VERSIONING"));
	}
	if ((p->tok.kind == T_DATA || p->tok.kind == T_INDEX) && next == T_DIRECTORY) {
		parse_advance(p);
		parse_advance(p);
	} else if (p->tok.kind == T_START && next == T_TRANSACTION && !is_maria(p)) {
		parse_advance(p);
		parse_advance(p);
		return option_new(p, SPAN_LIT("START TRANSACTION"));
	} else if (p->tok.kind == T_DEFAULT || p->tok.kind == T_CHARACTER ||
		   p->tok.kind == T_CHAR) {
		if (p->tok.kind == T_DEFAULT && next != T_CHARACTER && next != T_CHAR &&
			next != T_CHARSET && next != T_COLLATE && next != T_ENCRYPTION)
			return NULL;
		accept(p, T_DEFAULT);
		if (p->tok.kind == T_CHARACTER || p->tok.kind == T_CHAR) {
			parse_advance(p);
			expect(p, T_SET);
		} else {
			parse_advance(p);
		}
	} else if (is_table_option(p)) {
		parse_advance(p);
	} else if ((p->tok.kind == T_IDENT || p->tok.kind == T_QUOTED) && next == T_EQ &&
		   is_maria(p)) {
		parse_advance(p);
	} else {
		return NULL;
	}
	opt = option_new(p, parse_text(p, start));
	accept(p, T_EQ);
	check_option_value(p, word);
	option_value(p, opt);
	return opt;
}

/* Options of keys; stops at anything else. */
static void parse_key_options(struct parser *p, enum sql_key_kind kind, struct sql_option **tail)
{
	for (;;) {
		struct sql_option *opt = NULL;
		uint32_t start = p->tok.start;

		switch (p->tok.kind) {
		case T_USING:
		case T_TYPE:
			/* There is one kind of index for these. */
			if (kind == SQL_KEY_FULLTEXT || kind == SQL_KEY_SPATIAL)
				return;
			parse_advance(p);
			opt = option_new(p, SPAN_LIT("USING"));
			start = p->tok.start;
			if (!accept(p, T_BTREE) && !accept(p, T_HASH))
				expect(p, T_RTREE);
			opt->value = parse_text(p, start);
			break;
		case T_WITH:
			if (parse_peek(p, 1).kind != T_PARSER)
				return;
			parse_advance(p);
			parse_advance(p);
			opt = option_new(p, SPAN_LIT("WITH PARSER"));
			start = p->tok.start;
			parse_name(p);
			opt->value = parse_text(p, start);
			break;
		case T_NOT:
			/* The server's grammar forgot the NOT of HIGH_NOT_PRECEDENCE here. */
			if (parse_peek(p, 1).kind != T_IGNORED || !is_maria(p) ||
				p->opt.mode & SQL_MODE_HIGH_NOT_PRECEDENCE)
				return;
			parse_advance(p);
			parse_advance(p);
			opt = option_new(p, SPAN_LIT("NOT IGNORED"));
			break;
		case T_IGNORED:
			if (!is_maria(p))
				return;
			parse_advance(p);
			opt = option_new(p, parse_text(p, start));
			break;
		case T_VISIBLE:
		case T_INVISIBLE:
			if (is_maria(p) && p->tok.kind == T_INVISIBLE)
				return;
			parse_advance(p);
			opt = option_new(p, parse_text(p, start));
			break;
		case T_COMMENT:
			parse_advance(p);
			opt = option_new(p, SPAN_LIT("COMMENT"));
			start = p->tok.start;
			parse_string(p);
			opt->value = parse_text(p, start);
			break;
		case T_KEY_BLOCK_SIZE:
		case T_ENGINE_ATTRIBUTE:
		case T_SECONDARY_ENGINE_ATTRIBUTE:
			parse_advance(p);
			opt = option_new(p, parse_text(p, start));
			accept(p, T_EQ);
			option_value(p, opt);
			break;
		default:
			if ((p->tok.kind != T_IDENT && p->tok.kind != T_QUOTED) ||
				parse_peek(p, 1).kind != T_EQ || !is_maria(p))
				return;
			parse_advance(p);
			opt = option_new(p, parse_text(p, start));
			accept(p, T_EQ);
			option_value(p, opt);
			break;
		}
		APPEND(tail, opt);
	}
}

/* ------------------------------------------------------------------ keys */

static enum sql_ref_action parse_ref_action(struct parser *p)
{
	if (accept(p, T_RESTRICT))
		return SQL_REF_RESTRICT;
	if (accept(p, T_CASCADE))
		return SQL_REF_CASCADE;
	if (accept(p, T_NO)) {
		expect(p, T_ACTION);
		return SQL_REF_NO_ACTION;
	}
	expect(p, T_SET);
	if (accept(p, T_DEFAULT))
		return SQL_REF_SET_DEFAULT;
	expect(p, T_NULL);
	return SQL_REF_SET_NULL;
}

/* REFERENCES is current. */
static struct sql_reference *parse_reference(struct parser *p)
{
	struct sql_reference *ref = NEW(p, struct sql_reference);

	expect(p, T_REFERENCES);
	ref->table = parse_table_name(p);
	if (p->tok.kind == T_LPAREN)
		ref->columns = parse_paren_names(p);
	if (accept(p, T_MATCH)) {
		if (accept(p, T_FULL)) {
			ref->match = SPAN_LIT("FULL");
		} else if (accept(p, T_PARTIAL)) {
			ref->match = SPAN_LIT("PARTIAL");
		} else {
			expect(p, T_SIMPLE);
			ref->match = SPAN_LIT("SIMPLE");
		}
	}
	for (int i = 0; i < 2 && p->tok.kind == T_ON; i++) {
		enum token_kind next = parse_peek(p, 1).kind;

		if (next == T_DELETE && !ref->on_delete) {
			parse_advance(p);
			parse_advance(p);
			ref->on_delete = parse_ref_action(p);
		} else if (next == T_UPDATE && !ref->on_update) {
			parse_advance(p);
			parse_advance(p);
			ref->on_update = parse_ref_action(p);
		} else {
			break;
		}
	}
	return ref;
}

/* WITHOUT OVERLAPS comes last, in a unique key. */
static struct sql_key_part *parse_key_parts(struct parser *p, bool unique)
{
	struct sql_key_part *list = NULL, **tail = &list;

	expect(p, T_LPAREN);
	do {
		struct sql_key_part *part = NEW(p, struct sql_key_part);

		if (p->tok.kind == T_LPAREN && !is_maria(p)) {
			parse_advance(p);
			part->expr = parse_expr(p);
			expect(p, T_RPAREN);
		} else {
			part->column = parse_name(p);
			if (is_maria(p) && unique && list && p->tok.kind == T_WITHOUT &&
				parse_peek(p, 1).kind == T_OVERLAPS) {
				parse_advance(p);
				parse_advance(p);
				part->without_overlaps = true;
				APPEND(tail, part);
				break;
			} else if (accept(p, T_LPAREN)) {
				part->length = parse_number(p);
				expect(p, T_RPAREN);
			}
		}
		if (accept(p, T_DESC))
			part->desc = true;
		else if (accept(p, T_ASC))
			part->asc = true;
		APPEND(tail, part);
	} while (accept(p, T_COMMA));
	expect(p, T_RPAREN);
	return list;
}

/* [IF NOT EXISTS] [name] [USING x] (parts) options */
static void parse_key_body(struct parser *p, struct sql_key *key)
{
	struct sql_option **tail = &key->options;

	if (is_maria(p) && p->tok.kind == T_IF) {
		parse_advance(p);
		expect(p, T_NOT);
		expect(p, T_EXISTS);
		key->if_not_exists = true;
	}
	if (p->tok.kind != T_USING && p->tok.kind != T_LPAREN &&
		!(p->tok.kind == T_TYPE &&
			(parse_peek(p, 1).kind == T_BTREE || parse_peek(p, 1).kind == T_HASH ||
				parse_peek(p, 1).kind == T_RTREE)))
		key->name = parse_name(p);
	if (p->tok.kind == T_USING || p->tok.kind == T_TYPE) {
		parse_key_options(p, key->kind, tail);
		while (*tail)
			tail = &(*tail)->next;
	}
	key->parts = parse_key_parts(
		p, key->kind == SQL_KEY_PRIMARY || key->kind == SQL_KEY_UNIQUE);
	parse_key_options(p, key->kind, tail);
}

static void parse_check(struct parser *p, struct sql_key *key)
{
	key->kind = SQL_KEY_CHECK;
	expect(p, T_LPAREN);
	key->check = parse_expr(p);
	expect(p, T_RPAREN);
	if (!is_maria(p)) {
		if (p->tok.kind == T_NOT && parse_peek(p, 1).kind == T_ENFORCED) {
			parse_advance(p);
			parse_advance(p);
			key->enforced = SQL_NO;
		} else if (accept(p, T_ENFORCED)) {
			key->enforced = SQL_YES;
		}
	}
}

/* A key of CREATE TABLE or ALTER TABLE ADD, or NULL when a column starts here. */
static struct sql_key *parse_key(struct parser *p)
{
	struct sql_key *key;
	enum token_kind next = parse_peek(p, 1).kind;

	switch (p->tok.kind) {
	case T_CONSTRAINT:
	case T_PRIMARY:
	case T_UNIQUE:
	case T_KEY:
	case T_INDEX:
	case T_FULLTEXT:
	case T_SPATIAL:
	case T_FOREIGN:
	case T_CHECK:
		break;
	case T_VECTOR:
		if (next == T_KEY || next == T_INDEX || next == T_LPAREN)
			break;
		return NULL;
	default:
		return NULL;
	}
	key = NEW(p, struct sql_key);
	if (accept(p, T_CONSTRAINT)) {
		key->has_constraint = true;
		if (is_maria(p) && p->tok.kind == T_IF) {
			parse_advance(p);
			expect(p, T_NOT);
			expect(p, T_EXISTS);
			key->if_not_exists = true;
		}
		if (p->tok.kind != T_PRIMARY && p->tok.kind != T_UNIQUE &&
			p->tok.kind != T_FOREIGN && p->tok.kind != T_CHECK)
			key->constraint = parse_name(p);
		if (p->tok.kind != T_PRIMARY && p->tok.kind != T_UNIQUE &&
			p->tok.kind != T_FOREIGN && p->tok.kind != T_CHECK) {
			expect(p, T_PRIMARY);
			return key;
		}
	}
	switch (p->tok.kind) {
	case T_PRIMARY:
		parse_advance(p);
		expect(p, T_KEY);
		key->kind = SQL_KEY_PRIMARY;
		parse_key_body(p, key);
		break;
	case T_CHECK:
		parse_advance(p);
		parse_check(p, key);
		break;
	case T_FOREIGN:
		parse_advance(p);
		expect(p, T_KEY);
		key->kind = SQL_KEY_FOREIGN;
		if (is_maria(p) && p->tok.kind == T_IF) {
			parse_advance(p);
			expect(p, T_NOT);
			expect(p, T_EXISTS);
			key->if_not_exists = true;
		}
		if (p->tok.kind != T_LPAREN)
			key->name = parse_name(p);
		key->parts = parse_key_parts(p, false);
		key->reference = parse_reference(p);
		break;
	case T_UNIQUE:
	case T_FULLTEXT:
	case T_SPATIAL:
	case T_VECTOR:
		key->kind = p->tok.kind == T_UNIQUE     ? SQL_KEY_UNIQUE
			    : p->tok.kind == T_FULLTEXT ? SQL_KEY_FULLTEXT
			    : p->tok.kind == T_SPATIAL  ? SQL_KEY_SPATIAL
							: SQL_KEY_VECTOR;
		parse_advance(p);
		if (!accept(p, T_KEY))
			accept(p, T_INDEX);
		parse_key_body(p, key);
		break;
	default:
		parse_advance(p); /* KEY, INDEX */
		key->kind = SQL_KEY_INDEX;
		parse_key_body(p, key);
	}
	return key;
}

/* ------------------------------------------------------------------ columns */

static bool is_time_function(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_CALL && !e->u.call.db.ptr &&
	       (span_ieq_str(e->u.call.name, "now") ||
		       span_ieq_str(e->u.call.name, "current_timestamp") ||
		       span_ieq_str(e->u.call.name, "localtime") ||
		       span_ieq_str(e->u.call.name, "localtimestamp"));
}

/* A default: a literal, maybe with a sign, or (expr); besides in MySQL the current time, and in
 * MariaDB any operand. */
static struct sql_expr *parse_default(struct parser *p, bool altered)
{
	uint32_t start = p->tok.start;
	struct sql_expr *e;
	bool paren = p->tok.kind == T_LPAREN;
	bool query = paren && (parse_peek(p, 1).kind == T_SELECT || parse_peek(p, 1).kind == T_WITH);

	if (p->tok.kind == T_MINUS || p->tok.kind == T_PLUS) {
		struct sql_expr *sign;
		bool minus = p->tok.kind == T_MINUS;

		parse_advance(p);
		if (!at_literal(p))
			parse_fail(p);
		e = parse_literal(p);
		sign = expr_new(p, SQL_EXPR_UNARY, start);
		sign->op = minus ? SQL_OP_NEG : SQL_OP_PLUS;
		sign->u.binary.left = e;
		return sign;
	}
	e = parse_operand(p);
	if (!is_maria(p) && !paren && e->kind != SQL_EXPR_LITERAL &&
		!(is_time_function(e) && !altered))
		parse_fail(p);
	/* MySQL: one expression in the parentheses, and no query without its own. */
	if (!is_maria(p) && paren && (e->kind == SQL_EXPR_ROW || query))
		parse_fail(p);
	return e;
}

/* [GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED | PERSISTENT], or AS ROW START/END. */
static void parse_generated(struct parser *p, struct sql_column_def *col)
{
	if (p->tok.kind == T_GENERATED) {
		parse_advance(p);
		expect(p, T_ALWAYS);
	}
	expect(p, T_AS);
	if (is_maria(p) && p->tok.kind == T_ROW) {
		parse_advance(p);
		if (accept(p, T_START)) {
			col->row_time = SQL_ROW_START;
		} else {
			expect(p, T_END);
			col->row_time = SQL_ROW_END;
		}
		return;
	}
	/* MariaDB reads AS (SELECT ...) and refuses it later. */
	if (is_maria(p) && p->tok.kind == T_LPAREN && parse_peek(p, 1).kind == T_SELECT) {
		col->generated = parse_operand(p);
	} else {
		expect(p, T_LPAREN);
		col->generated = parse_expr(p);
		expect(p, T_RPAREN);
	}
	if (accept(p, T_VIRTUAL))
		col->storage = SQL_GENERATED_VIRTUAL;
	else if (accept(p, T_STORED) || (is_maria(p) && accept(p, T_PERSISTENT)))
		col->storage = SQL_GENERATED_STORED;
}

static void add_column_option(
	struct parser *p, struct sql_column_def *col, struct span name, bool value)
{
	struct sql_option **tail = &col->options, *opt = option_new(p, name);

	while (*tail)
		tail = &(*tail)->next;
	if (value) {
		accept(p, T_EQ);
		option_value(p, opt);
	}
	APPEND(tail, opt);
}

static void add_check(struct parser *p, struct sql_column_def *col)
{
	struct sql_key **tail = &col->checks, *key = NEW(p, struct sql_key);

	while (*tail)
		tail = &(*tail)->next;
	if (accept(p, T_CONSTRAINT)) {
		key->has_constraint = true;
		if (p->tok.kind != T_CHECK)
			key->constraint = parse_name(p);
	}
	expect(p, T_CHECK);
	parse_check(p, key);
	*tail = key;
}

static bool has_option(const struct sql_option *opt, const char *name)
{
	while (opt && !span_ieq_str(opt->name, name))
		opt = opt->next;
	return opt != NULL;
}

/* One attribute behind the type; false when there is none. */
static bool parse_attribute(struct parser *p, struct sql_column_def *col)
{
	enum token_kind next;
	uint32_t start = p->tok.start;

	switch (p->tok.kind) {
	case T_NULL:
		parse_advance(p);
		col->nullable = SQL_YES;
		return true;
	case T_NOT:
		parse_advance(p);
		expect(p, T_NULL);
		col->nullable = SQL_NO;
		return true;
	case T_DEFAULT:
		parse_advance(p);
		col->dflt = parse_default(p, false);
		return true;
	case T_ON:
		if (parse_peek(p, 1).kind != T_UPDATE)
			return false;
		parse_advance(p);
		parse_advance(p);
		col->on_update = parse_simple_expr(p);
		return true;
	case T_AUTO_INCREMENT:
		parse_advance(p);
		col->auto_increment = true;
		return true;
	case T_SERIAL:
		parse_advance(p);
		expect(p, T_DEFAULT);
		expect(p, T_VALUE);
		col->serial_default = true;
		return true;
	case T_UNIQUE:
		parse_advance(p);
		accept(p, T_KEY);
		col->unique = true;
		return true;
	case T_PRIMARY:
		parse_advance(p);
		expect(p, T_KEY);
		col->primary = true;
		return true;
	case T_KEY:
		parse_advance(p);
		col->key = true;
		return true;
	case T_COMMENT:
		parse_advance(p);
		col->comment = parse_string(p);
		return true;
	case T_COLLATE:
		parse_advance(p);
		col->type.collate = parse_collation(p);
		return true;
	case T_CHECK:
		add_check(p, col);
		return true;
	case T_CONSTRAINT:
		next = parse_peek(p, 2).kind;
		if (is_maria(p) &&
			(next == T_REFERENCES || parse_peek(p, 1).kind == T_REFERENCES)) {
			/* The name of such a constraint is not kept by the servers either. */
			parse_advance(p);
			if (p->tok.kind != T_REFERENCES)
				parse_name(p);
			col->reference = parse_reference(p);
			return true;
		}
		if (next != T_CHECK && parse_peek(p, 1).kind != T_CHECK)
			return false;
		add_check(p, col);
		return true;
	case T_REFERENCES:
		if (!is_maria(p)) /* behind all attributes: parse_column_def() */
			return false;
		col->reference = parse_reference(p);
		return true;
	case T_INVISIBLE:
		parse_advance(p);
		col->visible = SQL_NO;
		return true;
	case T_VISIBLE:
		if (is_maria(p))
			return false;
		parse_advance(p);
		col->visible = SQL_YES;
		return true;
	case T_WITH:
	case T_WITHOUT:
		if (!is_maria(p) || parse_peek(p, 1).kind != T_SYSTEM)
			return false;
		parse_advance(p);
		parse_advance(p);
		expect(p, T_VERSIONING);
		add_column_option(p, col, parse_text(p, start), false);
		return true;
	case T_COLUMN_FORMAT:
	case T_STORAGE:
	case T_SRID:
	case T_ENGINE_ATTRIBUTE:
	case T_SECONDARY_ENGINE_ATTRIBUTE:
		if (is_maria(p) && parse_peek(p, 1).kind != T_EQ)
			return false;
		parse_advance(p);
		add_column_option(p, col, parse_text(p, start), true);
		return true;
	case T_COMPRESSED:
		if (!is_maria(p) || !can_compress(col->type.kind) || col->type.compressed ||
			has_option(col->options, "COMPRESSED"))
			return false;
		parse_advance(p);
		add_column_option(p, col, SPAN_LIT("COMPRESSED"), p->tok.kind == T_EQ);
		return true;
	case T_REF_SYSTEM_ID:
		parse_advance(p);
		add_column_option(p, col, parse_text(p, start), true);
		return true;
	default:
		if (!is_maria(p) || (p->tok.kind != T_IDENT && p->tok.kind != T_QUOTED) ||
			parse_peek(p, 1).kind != T_EQ)
			return false;
		parse_advance(p);
		add_column_option(p, col, parse_text(p, start), true);
		return true;
	}
}

/* What may follow a generated column's expression in MariaDB. */
static bool generated_attribute(const struct parser *p, const struct sql_column_def *col)
{
	switch (p->tok.kind) {
	case T_UNIQUE:
	case T_COMMENT:
	case T_INVISIBLE:
	case T_CHECK:
	case T_CONSTRAINT:
	case T_IDENT:
	case T_QUOTED:
		return true;
	case T_NOT:
	case T_PRIMARY:
	case T_KEY:
		return col->row_time != SQL_ROW_TIME_NONE;
	default:
		return false;
	}
}

/* What may follow SERIAL in MariaDB. */
static bool serial_attribute(struct parser *p)
{
	switch (p->tok.kind) {
	case T_NOT:
	case T_UNIQUE:
	case T_PRIMARY:
	case T_KEY:
	case T_COMMENT:
	case T_INVISIBLE:
	case T_CHECK:
	case T_CONSTRAINT:
	case T_REFERENCES:
	case T_WITH:
	case T_WITHOUT:
	case T_IDENT:
	case T_QUOTED:
		return true;
	default:
		return false;
	}
}

static bool takes_collation(enum sql_type_kind kind)
{
	switch (kind) {
	case SQL_TYPE_CHAR:
	case SQL_TYPE_NCHAR:
	case SQL_TYPE_VARCHAR:
	case SQL_TYPE_NVARCHAR:
	case SQL_TYPE_TINYTEXT:
	case SQL_TYPE_TEXT:
	case SQL_TYPE_MEDIUMTEXT:
	case SQL_TYPE_LONGTEXT:
	case SQL_TYPE_ENUM:
	case SQL_TYPE_SET:
		return true;
	default:
		return false;
	}
}

/* Behind the column's name. */
static void parse_column_body(struct parser *p, struct sql_column_def *col)
{
	if (!is_maria(p) || (p->tok.kind != T_GENERATED && p->tok.kind != T_AS)) {
		col->has_type = true;
		parse_type(p, &col->type);
	}
	bool text = takes_collation(col->type.kind);
	if (p->tok.kind == T_COLLATE && (text || !is_maria(p))) {
		parse_advance(p);
		col->type.collate = parse_collation(p);
	}
	if (is_maria(p) && col->type.kind == SQL_TYPE_SERIAL) {
		while (serial_attribute(p) && parse_attribute(p, col))
			;
	} else if (p->tok.kind == T_GENERATED || p->tok.kind == T_AS) {
		parse_generated(p, col);
		while ((!is_maria(p) || generated_attribute(p, col)) && parse_attribute(p, col))
			;
	} else {
		while (parse_attribute(p, col))
			;
	}
	if (UNLIKELY(p->track)) {
		parse_want(p, T_NOT);
		parse_want(p, T_DEFAULT);
	}
}

static struct sql_column_def *parse_column_def(struct parser *p, bool changed)
{
	struct sql_column_def *col = NEW(p, struct sql_column_def);
	uint32_t start = p->tok.start;

	col->name = parse_name(p);
	/* t.c and db.t.c name the table over again; the column is the last. */
	while (is_maria(p) && accept(p, T_DOT))
		col->name = parse_name(p);
	parse_column_body(p, col);
	if (!is_maria(p) && !changed && p->tok.kind == T_REFERENCES)
		col->reference = parse_reference(p);
	col->loc = loc_from(p, start);
	return col;
}

static struct sql_element *parse_element(struct parser *p, bool *if_not_exists)
{
	struct sql_element *el = NEW(p, struct sql_element);

	if (is_maria(p) && p->tok.kind == T_PERIOD &&
		(parse_peek(p, 1).kind == T_FOR ||
			(if_not_exists && parse_peek(p, 1).kind == T_IF))) {
		el->kind = SQL_ELEMENT_PERIOD;
		parse_advance(p);
		if (p->tok.kind == T_IF) {
			parse_advance(p);
			expect(p, T_NOT);
			expect(p, T_EXISTS);
			*if_not_exists = true;
		}
		expect(p, T_FOR);
		el->period = parse_name(p);
		expect(p, T_LPAREN);
		el->period_from = parse_name(p);
		expect(p, T_COMMA);
		el->period_to = parse_name(p);
		expect(p, T_RPAREN);
		return el;
	}
	el->key = parse_key(p);
	if (el->key) {
		el->kind = SQL_ELEMENT_KEY;
	} else {
		el->kind = SQL_ELEMENT_COLUMN;
		el->column = parse_column_def(p, false);
	}
	return el;
}

static struct sql_element *parse_elements(struct parser *p)
{
	struct sql_element *list = NULL, **tail = &list;

	do {
		struct sql_element *el = parse_element(p, NULL);

		APPEND(tail, el);
	} while (accept(p, T_COMMA));
	return list;
}

/* ------------------------------------------------------------------ partitions */

static void parse_partition_options(struct parser *p, bool sub, struct sql_option **tail)
{
	for (;;) {
		struct sql_option *opt;
		uint32_t start = p->tok.start;
		enum token_kind next = parse_peek(p, 1).kind;

		switch (p->tok.kind) {
		case T_STORAGE:
			parse_advance(p);
			if (p->tok.kind == T_ENGINE)
				parse_advance(p);
			break;
		case T_ENGINE:
		case T_COMMENT:
		case T_MAX_ROWS:
		case T_MIN_ROWS:
		case T_TABLESPACE:
		case T_NODEGROUP:
			parse_advance(p);
			break;
		case T_DATA:
		case T_INDEX:
			if (next != T_DIRECTORY)
				return;
			parse_advance(p);
			parse_advance(p);
			break;
		default:
			if ((p->tok.kind != T_IDENT && p->tok.kind != T_QUOTED) || next != T_EQ ||
				!is_maria(p) || sub)
				return;
			parse_advance(p);
		}
		opt = option_new(p, parse_text(p, start));
		accept(p, T_EQ);
		option_value(p, opt);
		APPEND(tail, opt);
	}
}

static struct sql_expr *parse_partition_value(struct parser *p)
{
	if (p->tok.kind == T_MAXVALUE || p->tok.kind == T_DEFAULT) {
		uint32_t start = p->tok.start;
		struct sql_expr *e;

		parse_advance(p);
		e = expr_new(p, SQL_EXPR_COLUMN, start);
		e->u.column.name = text_from(p, start);
		e->negated = true; /* the word, printed without quotes */
		return e;
	}
	return parse_expr(p);
}

static void parse_partition_values(struct parser *p, struct sql_partition *part)
{
	struct sql_expr **tail = &part->values.first;

	parse_advance(p);
	if (accept(p, T_LESS)) {
		expect(p, T_THAN);
		part->less_than = true;
		if (accept(p, T_MAXVALUE)) {
			part->maxvalue = true;
			return;
		}
	} else {
		expect(p, T_IN);
		part->in = true;
	}
	expect(p, T_LPAREN);
	do {
		exprs_add(&part->values, &tail, parse_partition_value(p));
	} while (accept(p, T_COMMA));
	expect(p, T_RPAREN);
}

static struct sql_partition *parse_partitions(struct parser *p, bool sub)
{
	struct sql_partition *list = NULL, **tail = &list;

	expect(p, T_LPAREN);
	do {
		struct sql_partition *part = NEW(p, struct sql_partition);

		/* MariaDB does without the word. */
		if (sub)
			expect(p, T_SUBPARTITION);
		else if (!accept(p, T_PARTITION) && !is_maria(p))
			parse_fail(p);
		part->name = parse_name_or_string(p);
		if (!sub) {
			if (p->tok.kind == T_VALUES)
				parse_partition_values(p, part);
			else if (is_maria(p) && accept(p, T_HISTORY))
				part->history = true;
			else if (is_maria(p) && accept(p, T_CURRENT))
				part->current = true;
			else if (is_maria(p) && accept(p, T_DEFAULT))
				part->dflt = true;
		}
		parse_partition_options(p, sub, &part->options);
		if (!sub && p->tok.kind == T_LPAREN)
			part->subpartitions = parse_partitions(p, true);
		APPEND(tail, part);
	} while (accept(p, T_COMMA));
	expect(p, T_RPAREN);
	return list;
}

/* [INTERVAL n unit [STARTS when] | LIMIT n] [AUTO] of PARTITION BY SYSTEM_TIME: read, kept as text. */
static void parse_rotation(struct parser *p)
{
	if (accept(p, T_LIMIT)) {
		accept(p, T_PLUS);
		if (p->tok.kind != T_L_INT)
			parse_fail(p);
		parse_number(p);
	} else if (accept(p, T_INTERVAL)) {
		parse_expr(p);
		parse_unit(p);
		if (accept(p, T_STARTS))
			parse_operand(p);
	} else {
		return;
	}
	if (is_maria(p) && p->opt.version >= 100900)
		accept(p, T_AUTO);
}

/* HASH (e) | KEY (a, b) | RANGE | LIST ..., behind BY. */
static void parse_partition_method(struct parser *p, struct sql_partition_by *by, bool sub)
{
	by->linear = accept(p, T_LINEAR);
	if (accept(p, T_HASH)) {
		by->method = SQL_PARTITION_HASH;
	} else if (accept(p, T_KEY)) {
		by->method = SQL_PARTITION_KEY;
		if (accept(p, T_ALGORITHM)) {
			expect(p, T_EQ);
			by->algorithm = parse_number(p);
		}
		expect(p, T_LPAREN);
		if (p->tok.kind != T_RPAREN)
			by->names = parse_names(p);
		expect(p, T_RPAREN);
		return;
	} else if (!sub && is_maria(p) && p->tok.kind == T_SYSTEM_TIME) {
		uint32_t start;

		parse_advance(p);
		by->method = SQL_PARTITION_SYSTEM_TIME;
		start = p->tok.start;
		parse_rotation(p);
		if (p->last_end > start)
			by->system_time = parse_text(p, start);
		return;
	} else if (!sub && !by->linear && (p->tok.kind == T_RANGE || p->tok.kind == T_LIST)) {
		by->method = p->tok.kind == T_RANGE ? SQL_PARTITION_RANGE : SQL_PARTITION_LIST;
		parse_advance(p);
		if (accept(p, T_COLUMNS)) {
			by->columns = true;
			by->names = parse_paren_names(p);
			return;
		}
	} else {
		if (UNLIKELY(p->track)) {
			parse_want(p, T_RANGE);
			parse_want(p, T_LIST);
		}
		parse_fail(p);
		return;
	}
	expect(p, T_LPAREN);
	/* VALUES(c) is a function here too, to the grammar. */
	p->in_duplicate = true;
	p->no_query = !is_maria(p);
	by->expr = parse_expr(p);
	p->in_duplicate = p->no_query = false;
	expect(p, T_RPAREN);
}

/* PARTITION is current. */
static struct sql_partition_by *parse_partition_by(struct parser *p)
{
	struct sql_partition_by *by = NEW(p, struct sql_partition_by);

	parse_advance(p);
	expect(p, T_BY);
	parse_partition_method(p, by, false);
	if (accept(p, T_PARTITIONS))
		by->count = parse_number(p);
	if (accept(p, T_SUBPARTITION)) {
		expect(p, T_BY);
		by->sub = NEW(p, struct sql_partition_by);
		parse_partition_method(p, by->sub, true);
		if (accept(p, T_SUBPARTITIONS))
			by->sub->count = parse_number(p);
	}
	if (p->tok.kind == T_LPAREN)
		by->partitions = parse_partitions(p, false);
	return by;
}

/* ------------------------------------------------------------------ CREATE TABLE */

static void parse_create_like(struct parser *p, struct sql_create_table *ct)
{
	ct->like = NEW(p, struct sql_table_name);
	*ct->like = parse_table_name(p);
}

static void parse_create_query(struct parser *p, struct sql_create_table *ct)
{
	if (accept(p, T_IGNORE))
		ct->ignore = true;
	else if (accept(p, T_REPLACE))
		ct->replace = true;
	bool as = accept(p, T_AS);
	if (p->tok.kind == T_LPAREN && parse_peek(p, 1).kind == T_WITH)
		ct->query = parse_subquery(p);
	else if (p->tok.kind == T_LPAREN || at_query(p))
		ct->query = parse_query(p);
	if (ct->query)
		no_procedure(p, ct->query);
	else if (as || ct->ignore || ct->replace)
		parse_fail(p);
}

void parse_create_table(struct parser *p, struct sql_stmt *stmt, bool or_replace, bool temporary)
{
	struct sql_create_table *ct = NEW(p, struct sql_create_table);
	struct sql_option **tail = &ct->options, *opt;

	stmt->kind = SQL_STMT_CREATE_TABLE;
	stmt->u.create_table = ct;
	ct->or_replace = or_replace;
	ct->temporary = temporary;
	parse_advance(p);
	if (p->tok.kind == T_IF) {
		parse_advance(p);
		expect(p, T_NOT);
		expect(p, T_EXISTS);
		ct->if_not_exists = true;
	}
	ct->table = parse_table_name(p);
	if (accept(p, T_LIKE)) {
		parse_create_like(p, ct);
		return;
	}
	if (p->tok.kind == T_LPAREN) {
		enum token_kind next = parse_peek(p, 1).kind;

		if (next == T_LIKE) {
			parse_advance(p);
			parse_advance(p);
			parse_create_like(p, ct);
			expect(p, T_RPAREN);
			return;
		}
		/* CREATE TABLE t (SELECT 1) has no elements. */
		if (next != T_SELECT && next != T_WITH && next != T_LPAREN &&
			!(next == T_VALUES && is_maria(p)) && !(next == T_TABLE && !is_maria(p))) {
			parse_advance(p);
			ct->elements = parse_elements(p);
			expect(p, T_RPAREN);
		}
	}
	while ((opt = parse_table_option(p)) != NULL) {
		APPEND(tail, opt);
		accept(p, T_COMMA);
	}
	if (p->tok.kind == T_PARTITION)
		ct->partition = parse_partition_by(p);
	parse_create_query(p, ct);
}

/* ------------------------------------------------------------------ ALTER TABLE */

static bool accept_exists(struct parser *p, bool not_too, bool *not_exists)
{
	if (!is_maria(p) || p->tok.kind != T_IF)
		return false;
	parse_advance(p);
	if (not_too && accept(p, T_NOT))
		*not_exists = true;
	expect(p, T_EXISTS);
	return true;
}

static void parse_place(struct parser *p, struct sql_alter *a)
{
	if (accept(p, T_FIRST))
		a->first = true;
	else if (accept(p, T_AFTER))
		a->after = parse_name(p);
}

/* Up to the next comma outside of parentheses. */
static void parse_alter_text(struct parser *p, struct sql_alter *a, uint32_t start, bool all)
{
	int depth = 0;

	a->kind = SQL_ALTER_TEXT;
	while (p->tok.kind != T_EOF && p->tok.kind != T_SEMICOLON && p->tok.kind != T_ERROR) {
		if (p->tok.kind == T_LPAREN)
			depth++;
		else if (p->tok.kind == T_RPAREN && depth-- == 0)
			break;
		else if (p->tok.kind == T_COMMA && depth == 0 && !all)
			break;
		parse_advance(p);
	}
	a->text = parse_text(p, start);
}

static void parse_alter_add(struct parser *p, struct sql_alter *a, uint32_t start)
{
	if (p->tok.kind == T_PARTITION ||
		(p->tok.kind == T_SYSTEM && parse_peek(p, 1).kind == T_VERSIONING)) {
		parse_alter_text(p, a, start, p->tok.kind == T_PARTITION);
		return;
	}
	if (is_maria(p) && p->tok.kind == T_PERIOD &&
		(parse_peek(p, 1).kind == T_FOR || parse_peek(p, 1).kind == T_IF)) {
		struct sql_element *el = parse_element(p, &a->if_not_exists);

		a->kind = SQL_ALTER_ADD_PERIOD;
		a->name = el->period;
		a->period_from = el->period_from;
		a->period_to = el->period_to;
		return;
	}
	bool word = accept(p, T_COLUMN);
	if (!word) {
		a->key = parse_key(p);
		if (a->key) {
			a->kind = SQL_ALTER_ADD_KEY;
			return;
		}
	}
	bool not_exists = false;
	if (accept_exists(p, true, &not_exists)) {
		a->if_not_exists = true;
	}
	if (p->tok.kind == T_LPAREN) {
		parse_advance(p);
		a->kind = SQL_ALTER_ADD_COLUMNS;
		a->elements = parse_elements(p);
		expect(p, T_RPAREN);
		return;
	}
	/* Words that follow ADD elsewhere are taken together with it. */
	if (is_maria(p) && (p->tok.kind == T_SYSTEM || p->tok.kind == T_PERIOD) && !word)
		parse_fail(p);
	a->kind = SQL_ALTER_ADD_COLUMN;
	a->column = parse_column_def(p, false);
	parse_place(p, a);
}

static void parse_alter_drop(struct parser *p, struct sql_alter *a, uint32_t start)
{
	switch (p->tok.kind) {
	case T_PARTITION:
		parse_alter_text(p, a, start, true);
		return;
	case T_SYSTEM:
	case T_PERIOD:
		if (is_maria(p) || parse_peek(p, 1).kind == T_VERSIONING ||
			parse_peek(p, 1).kind == T_FOR) {
			enum token_kind next = parse_peek(p, 1).kind;

			if (next != T_VERSIONING && next != T_FOR && next != T_IF)
				parse_fail(p);
			parse_alter_text(p, a, start, false);
			return;
		}
		break;
	case T_PRIMARY:
		parse_advance(p);
		expect(p, T_KEY);
		a->kind = SQL_ALTER_DROP_PRIMARY;
		return;
	case T_FOREIGN:
		parse_advance(p);
		expect(p, T_KEY);
		a->kind = SQL_ALTER_DROP_FOREIGN;
		break;
	case T_KEY:
	case T_INDEX:
		parse_advance(p);
		a->kind = SQL_ALTER_DROP_KEY;
		break;
	case T_CHECK:
		if (is_maria(p))
			parse_fail(p);
		/* fall through */
	case T_CONSTRAINT:
		if (is_maria(p) && parse_peek(p, 1).kind == T_PRIMARY) {
			parse_advance(p);
			parse_advance(p);
			expect(p, T_KEY);
			a->kind = SQL_ALTER_DROP_PRIMARY;
			return;
		}
		a->check_word = p->tok.kind == T_CHECK;
		parse_advance(p);
		a->kind = SQL_ALTER_DROP_CONSTRAINT;
		break;
	default:
		accept(p, T_COLUMN);
		a->kind = SQL_ALTER_DROP_COLUMN;
	}
	if (a->kind == SQL_ALTER_ADD_COLUMN)
		a->kind = SQL_ALTER_DROP_COLUMN;
	a->if_exists = accept_exists(p, false, NULL);
	if (a->kind == SQL_ALTER_DROP_KEY && p->tok.kind == T_PRIMARY) {
		parse_advance(p);
		a->name = SPAN_LIT("PRIMARY");
		return;
	}
	a->name = parse_name(p);
	if (a->kind == SQL_ALTER_DROP_COLUMN && !accept(p, T_RESTRICT))
		accept(p, T_CASCADE);
}

static void parse_alter_column(struct parser *p, struct sql_alter *a, uint32_t start)
{
	if (p->tok.kind == T_INDEX || p->tok.kind == T_KEY) {
		a->kind = SQL_ALTER_INDEX;
		parse_advance(p);
		accept_exists(p, false, NULL);
		parse_name(p);
		if (is_maria(p)) {
			if (!(p->opt.mode & SQL_MODE_HIGH_NOT_PRECEDENCE))
				accept(p, T_NOT);
			expect(p, T_IGNORED);
		} else if (!accept(p, T_VISIBLE)) {
			expect(p, T_INVISIBLE);
		}
		a->text = parse_text(p, start);
		return;
	}
	if (!is_maria(p) && (p->tok.kind == T_CHECK || p->tok.kind == T_CONSTRAINT)) {
		parse_alter_text(p, a, start, false);
		return;
	}
	accept(p, T_COLUMN);
	a->if_exists = accept_exists(p, false, NULL);
	a->name = parse_name(p);
	if (accept(p, T_SET)) {
		if (!is_maria(p) && (p->tok.kind == T_VISIBLE || p->tok.kind == T_INVISIBLE)) {
			a->kind = SQL_ALTER_COLUMN_VISIBLE;
			a->first = p->tok.kind == T_VISIBLE;
			parse_advance(p);
			return;
		}
		expect(p, T_DEFAULT);
		a->kind = SQL_ALTER_COLUMN_DEFAULT;
		a->value = parse_default(p, true);
		return;
	}
	expect(p, T_DROP);
	expect(p, T_DEFAULT);
	a->kind = SQL_ALTER_COLUMN_DEFAULT;
}

static void parse_alter_rename(struct parser *p, struct sql_alter *a)
{
	enum token_kind kind = p->tok.kind;

	if (kind == T_COLUMN || kind == T_INDEX || kind == T_KEY) {
		parse_advance(p);
		a->kind = kind == T_COLUMN ? SQL_ALTER_RENAME_COLUMN : SQL_ALTER_RENAME_KEY;
		a->if_exists = accept_exists(p, false, NULL);
		a->name = parse_name(p);
		expect(p, T_TO);
		a->new_name = parse_name(p);
		return;
	}
	a->kind = SQL_ALTER_RENAME_TABLE;
	if (!accept(p, T_TO) && !accept(p, T_AS) && p->tok.kind == T_EQ)
		parse_advance(p);
	a->table = parse_table_name(p);
}

/* Columns only. */
static struct sql_order *parse_alter_order(struct parser *p)
{
	struct sql_order *list = NULL, **tail = &list;

	do {
		struct sql_order *item = NEW(p, struct sql_order);

		item->expr = parse_column(p);
		if (accept(p, T_DESC))
			item->desc = true;
		else if (accept(p, T_ASC))
			item->asc = true;
		APPEND(tail, item);
	} while (accept(p, T_COMMA));
	return list;
}

static struct sql_alter *parse_alter_action(struct parser *p)
{
	struct sql_alter *a = NEW(p, struct sql_alter);
	uint32_t start = p->tok.start;
	enum token_kind kind = p->tok.kind;
	bool change = kind == T_CHANGE;

	switch (kind) {
	case T_ADD:
		parse_advance(p);
		parse_alter_add(p, a, start);
		break;
	case T_DROP:
		parse_advance(p);
		parse_alter_drop(p, a, start);
		break;
	case T_ALTER:
		parse_advance(p);
		parse_alter_column(p, a, start);
		break;
	case T_MODIFY:
	case T_CHANGE:
		parse_advance(p);
		accept(p, T_COLUMN);
		a->kind = change ? SQL_ALTER_CHANGE_COLUMN : SQL_ALTER_MODIFY_COLUMN;
		a->if_exists = accept_exists(p, false, NULL);
		if (change)
			a->name = parse_name(p);
		a->column = parse_column_def(p, true);
		parse_place(p, a);
		break;
	case T_RENAME:
		parse_advance(p);
		parse_alter_rename(p, a);
		break;
	case T_ORDER:
		parse_advance(p);
		expect(p, T_BY);
		a->kind = SQL_ALTER_ORDER;
		a->order = parse_alter_order(p);
		break;
	case T_PARTITION:
		a->kind = SQL_ALTER_PARTITION_BY;
		a->partition = parse_partition_by(p);
		break;
	case T_FORCE:
	case T_DISABLE:
	case T_ENABLE:
	case T_DISCARD:
	case T_IMPORT:
	case T_ALGORITHM:
	case T_LOCK:
	case T_SECONDARY_LOAD:
	case T_SECONDARY_UNLOAD:
	case T_WITHOUT:
		parse_alter_text(p, a, start, false);
		break;
	case T_CONVERT:
		parse_alter_text(p, a, start, parse_peek(p, 1).kind != T_TO);
		break;
	case T_TRUNCATE:
	case T_COALESCE:
	case T_REORGANIZE:
	case T_EXCHANGE:
	case T_ANALYZE:
	case T_CHECK:
	case T_OPTIMIZE:
	case T_REBUILD:
	case T_REPAIR:
	case T_REMOVE:
	case T_UPGRADE:
		parse_alter_text(p, a, start, true);
		break;
	default:
		a->kind = SQL_ALTER_OPTION;
		a->option = parse_table_option(p);
		if (!a->option) {
			if (UNLIKELY(p->track)) {
				parse_want(p, T_ADD);
				parse_want(p, T_DROP);
				parse_want(p, T_MODIFY);
				parse_want(p, T_RENAME);
			}
			parse_fail(p);
			a->option = option_new(p, SPAN_LIT(""));
		}
	}
	a->loc = loc_from(p, start);
	return a;
}

void parse_alter_table(struct parser *p, struct sql_stmt *stmt, bool online, bool ignore)
{
	struct sql_alter_table *at_ = NEW(p, struct sql_alter_table);
	struct sql_alter **tail = &at_->actions, *a;

	stmt->kind = SQL_STMT_ALTER_TABLE;
	stmt->u.alter_table = at_;
	at_->online = online;
	at_->ignore = ignore;
	parse_advance(p);
	at_->if_exists = accept_exists(p, false, NULL);
	at_->table = parse_table_name(p);
	at_->wait = parse_lock_wait_clause(p);
	while (p->tok.kind != T_EOF && p->tok.kind != T_SEMICOLON && p->tok.kind != T_ERROR) {
		a = parse_alter_action(p);
		APPEND(tail, a);
		a->comma = accept(p, T_COMMA);
		if (a->comma && (p->tok.kind == T_EOF || p->tok.kind == T_SEMICOLON))
			parse_fail(p);
		/* Only table options and partitioning may follow without a comma. */
		if (!a->comma && p->tok.kind != T_PARTITION && p->tok.kind != T_REMOVE &&
			a->kind != SQL_ALTER_OPTION)
			break;
	}
}

/* ------------------------------------------------------------------ indexes */

static void parse_index_tail(struct parser *p, struct sql_option **tail)
{
	while (p->tok.kind == T_ALGORITHM || p->tok.kind == T_LOCK) {
		struct sql_option *opt;
		uint32_t start = p->tok.start;

		parse_advance(p);
		opt = option_new(p, parse_text(p, start));
		accept(p, T_EQ);
		option_value(p, opt);
		APPEND(tail, opt);
	}
}

void parse_create_index(struct parser *p, struct sql_stmt *stmt, bool or_replace)
{
	struct sql_index_stmt *ix = NEW(p, struct sql_index_stmt);
	struct sql_option **tail;

	stmt->kind = SQL_STMT_CREATE_INDEX;
	stmt->u.index = ix;
	ix->or_replace = or_replace;
	if (accept(p, T_UNIQUE))
		ix->key.kind = SQL_KEY_UNIQUE;
	else if (accept(p, T_FULLTEXT))
		ix->key.kind = SQL_KEY_FULLTEXT;
	else if (accept(p, T_SPATIAL))
		ix->key.kind = SQL_KEY_SPATIAL;
	else if (accept(p, T_VECTOR))
		ix->key.kind = SQL_KEY_VECTOR;
	expect(p, T_INDEX);
	if (is_maria(p) && p->tok.kind == T_IF) {
		parse_advance(p);
		expect(p, T_NOT);
		expect(p, T_EXISTS);
		ix->key.if_not_exists = true;
	}
	ix->key.name = parse_name(p);
	tail = &ix->key.options;
	if (p->tok.kind == T_USING || p->tok.kind == T_TYPE) {
		parse_key_options(p, ix->key.kind, tail);
		while (*tail)
			tail = &(*tail)->next;
	}
	expect(p, T_ON);
	ix->table = parse_table_name(p);
	ix->key.parts = parse_key_parts(p, ix->key.kind == SQL_KEY_UNIQUE);
	ix->wait = parse_lock_wait_clause(p);
	parse_key_options(p, ix->key.kind, tail);
	parse_index_tail(p, &ix->options);
}

/* INDEX is current. */
void parse_drop_index(struct parser *p, struct sql_stmt *stmt)
{
	struct sql_index_stmt *ix = NEW(p, struct sql_index_stmt);

	stmt->kind = SQL_STMT_DROP_INDEX;
	stmt->u.index = ix;
	expect(p, T_INDEX);
	ix->if_exists = accept_exists(p, false, NULL);
	if (p->tok.kind == T_PRIMARY) {
		parse_advance(p);
		ix->key.name = SPAN_LIT("PRIMARY");
	} else {
		ix->key.name = parse_name(p);
	}
	expect(p, T_ON);
	ix->table = parse_table_name(p);
	ix->wait = parse_lock_wait_clause(p);
	if (!is_maria(p))
		parse_index_tail(p, &ix->options);
}
