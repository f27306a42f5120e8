/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of tables and keys (ENGINE = x, COMMENT 'y'), kept as name and value text.
 */
#include "sql/ddl.h"

void option_value(struct parser *p, struct sql_option *opt)
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
void parse_key_options(struct parser *p, enum sql_key_kind kind, struct sql_option **tail)
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
