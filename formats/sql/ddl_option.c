/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of tables and keys (ENGINE = x, COMMENT 'y'), kept as name and value text.
 */
#include "sql/ddl.h"

/* One token of a kind that the option takes: the caller says which (parse_fail() otherwise). */
void option_value(struct parser *p, struct sql_option *opt)
{
	uint32_t start = p->tok.start;

	if (p->tok.kind == T_EOF || p->tok.kind == T_COMMA || p->tok.kind == T_RPAREN ||
		p->tok.kind == T_SEMICOLON || p->tok.kind == T_EQ || p->tok.kind == T_LPAREN)
		parse_fail(p);
	parse_advance(p);
	opt->value = parse_text(p, start);
}

/* The grammars' ulonglong_num, and ulong_num, which takes 0x10 as well. */
static bool at_number(const struct parser *p, bool hex)
{
	return p->tok.kind == T_L_INT || p->tok.kind == T_L_DECIMAL || p->tok.kind == T_L_FLOAT ||
	       (hex && p->tok.kind == T_L_HEX);
}

/* 5, 0x5: the grammars' real_ulong_num; of MariaDB's options up to 64 bits. */
static bool at_whole_number(const struct parser *p)
{
	uint64_t value;

	return p->tok.kind == T_L_HEX ||
	       (p->tok.kind == T_L_INT &&
		       parse_digits(span_of(p->text + p->tok.start, p->tok.end - p->tok.start),
			       &value));
}

static void check(struct parser *p, bool good)
{
	if (!good)
		parse_fail(p);
}

/* MariaDB's option of a plugin: any word that is no keyword, `=`, and a name, a string, a whole
 * number or DEFAULT. */
bool at_plugin_option(struct parser *p)
{
	if (!is_maria(p) || parse_peek(p, 1).kind != T_EQ)
		return false;
	return p->tok.kind == T_QUOTED ||
	       (p->tok.kind == T_IDENT &&
		       !keyword_elsewhere(p->text + p->tok.start, p->tok.end - p->tok.start, &p->opt));
}

struct sql_option *parse_plugin_option(struct parser *p)
{
	uint32_t start = p->tok.start;
	struct sql_option *opt;

	parse_advance(p);
	opt = option_new(p, parse_text(p, start));
	expect(p, T_EQ);
	check(p, p->tok.kind == T_STRING || p->tok.kind == T_DEFAULT || at_whole_number(p) ||
			 at_name(p));
	option_value(p, opt);
	return opt;
}

/* UNION = (t1, db.t2) */
static void parse_union_value(struct parser *p, struct sql_option *opt)
{
	uint32_t start = p->tok.start;

	expect(p, T_LPAREN);
	if (p->tok.kind != T_RPAREN) {
		do {
			parse_table_name(p);
		} while (accept(p, T_COMMA));
	}
	expect(p, T_RPAREN);
	opt->value = parse_text(p, start);
}

struct sql_option *option_new(struct parser *p, struct span name)
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
	case T_AUTOEXTEND_SIZE:
		return !is_maria(p);
	default:
		return false;
	}
}

/* 1 to 65535; the digits before the point count. */
static bool sample_pages_fit(struct span digits)
{
	uint32_t value = 0;

	for (size_t i = 0; i < digits.len && digits.ptr[i] >= '0' && digits.ptr[i] <= '9' &&
			   value <= 65535;
		i++)
		value = value * 10 + (uint32_t)(digits.ptr[i] - '0');
	return value >= 1 && value <= 65535;
}

static bool is_row_format(const struct parser *p, struct span word)
{
	static const char *const formats[] = {
		"default", "fixed", "dynamic", "compressed", "redundant", "compact"};

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (p->tok.kind != T_QUOTED && span_ieq_str(word, formats[i]))
			return true;
	}
	return is_maria(p) && span_ieq_str(word, "page");
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
		check(p, p->tok.kind == T_DEFAULT ||
				 (number && (span_ieq_str(text, "0") || span_ieq_str(text, "1"))));
		return;
	case T_STATS_SAMPLE_PAGES:
		/* MySQL says of what is out of range that it is wrong in its own words. */
		check(p, p->tok.kind == T_DEFAULT || at_number(p, true) ||
				 (!is_maria(p) && p->tok.kind == T_HEX_STR));
		if (is_maria(p) && at_number(p, false))
			check(p, sample_pages_fit(text));
		return;
	case T_MAX_ROWS:
	case T_MIN_ROWS:
	case T_AUTO_INCREMENT:
		check(p, at_number(p, false));
		return;
	case T_AVG_ROW_LENGTH:
	case T_KEY_BLOCK_SIZE:
		check(p, at_number(p, is_maria(p)));
		return;
	case T_CHECKSUM:
	case T_TABLE_CHECKSUM:
	case T_DELAY_KEY_WRITE:
		check(p, at_number(p, true));
		return;
	case T_TRANSACTIONAL:
	case T_PAGE_CHECKSUM:
	case T_SEQUENCE:
		check(p, p->tok.kind == T_DEFAULT || at_number(p, true));
		return;
	case T_COMMENT:
	case T_PASSWORD:
	case T_CONNECTION:
	case T_DIRECTORY:
	case T_ENCRYPTION:
	case T_COMPRESSION:
	case T_ENGINE_ATTRIBUTE:
	case T_SECONDARY_ENGINE_ATTRIBUTE:
		check(p, p->tok.kind == T_STRING);
		return;
	case T_ENGINE:
		check(p, p->tok.kind == T_STRING || at_name(p));
		return;
	case T_SECONDARY_ENGINE:
		check(p, p->tok.kind == T_NULL || p->tok.kind == T_STRING || at_name(p));
		return;
	case T_TABLESPACE:
		check(p, at_name(p));
		return;
	case T_STORAGE:
		check(p, is_word(p, "disk") || is_word(p, "memory"));
		return;
	case T_INSERT_METHOD:
		check(p, p->tok.kind == T_NO || p->tok.kind == T_FIRST || p->tok.kind == T_LAST);
		return;
	case T_ROW_FORMAT:
		check(p, is_row_format(p, text));
		return;
	case T_CHARSET:
	case T_COLLATE:
	case T_CHARACTER:
	case T_CHAR:
		check(p, p->tok.kind == T_STRING || p->tok.kind == T_BINARY || at_name(p) ||
				 (is_maria(p) && p->tok.kind == T_DEFAULT));
		return;
	default:
		return;
	}
}

/* One table option, or NULL when none starts here. */
struct sql_option *parse_table_option(struct parser *p)
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
		word = T_DIRECTORY;
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
	} else if (at_plugin_option(p)) {
		return parse_plugin_option(p);
	} else {
		return NULL;
	}
	opt = option_new(p, parse_text(p, start));
	/* Two that are written without `=`. */
	if (word != T_STORAGE && (word != T_TABLESPACE || !is_maria(p)))
		accept(p, T_EQ);
	if (word == T_UNION) {
		parse_union_value(p, opt);
		return opt;
	}
	check_option_value(p, word);
	option_value(p, opt);
	return opt;
}

/* [USING | TYPE] BTREE before a key's columns or after them. */
static struct sql_option *parse_using(struct parser *p)
{
	struct sql_option *opt = option_new(p, SPAN_LIT("USING"));
	uint32_t start;

	parse_advance(p);
	start = p->tok.start;
	if (!accept(p, T_BTREE) && !accept(p, T_HASH))
		expect(p, T_RTREE);
	opt->value = parse_text(p, start);
	return opt;
}

/* There is one kind of index for these. */
static bool takes_using(enum sql_key_kind kind)
{
	return kind != SQL_KEY_FULLTEXT && kind != SQL_KEY_SPATIAL && kind != SQL_KEY_VECTOR;
}

struct sql_option **parse_key_using(
	struct parser *p, enum sql_key_kind kind, struct sql_option **tail)
{
	if ((p->tok.kind == T_USING || p->tok.kind == T_TYPE) && takes_using(kind)) {
		struct sql_option *opt = parse_using(p);

		APPEND(tail, opt);
	}
	return tail;
}

/* Options of keys; stops at anything else. */
void parse_key_options(struct parser *p, enum sql_key_kind kind, struct sql_option **tail)
{
	for (;;) {
		struct sql_option *opt = NULL;
		uint32_t start = p->tok.start;

		switch (p->tok.kind) {
		case T_USING:
		case T_TYPE:
			if (!takes_using(kind))
				return;
			opt = parse_using(p);
			break;
		case T_WITH:
			if (parse_peek(p, 1).kind != T_PARSER || kind != SQL_KEY_FULLTEXT)
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
		case T_SECONDARY_ENGINE_ATTRIBUTE: {
			bool size = p->tok.kind == T_KEY_BLOCK_SIZE;

			parse_advance(p);
			opt = option_new(p, parse_text(p, start));
			accept(p, T_EQ);
			check(p, size ? at_number(p, true) : p->tok.kind == T_STRING);
			option_value(p, opt);
			break;
		}
		default:
			if (!at_plugin_option(p))
				return;
			opt = parse_plugin_option(p);
			break;
		}
		APPEND(tail, opt);
	}
}
