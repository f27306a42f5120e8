/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keyword table: open addressing, filled once before main (a few hundred words), then read
 * only.  A word is hashed case-insensitively eight bytes at a time; the seed is fixed because the
 * table's content is.
 */
#include <string.h>

#include "base/bug.h"
#include "sql/token.h"

#define WORD_MAX 32
#define SLOTS    4096 /* a power of two, several times the number of words */

static const struct {
	const char *text;
	struct keyword_info info;
} words[] = {
#define KEYWORD(name, maria, mysql, flags)  {#name, {T_##name, flags, maria, mysql}},
#define KNOWN_SINCE(name, maria, mysql)
#define RESERVED_BEFORE(name, maria, mysql)
#define UNCALLABLE(name, servers)
#include "sql/keyword.def"
#undef KEYWORD
#undef KNOWN_SINCE
#undef RESERVED_BEFORE
#undef UNCALLABLE
};

#define NEVER UINT32_MAX

/* By token_kind - T_FIRST_KEYWORD: a keyword since, and a reserved word until, which version. */
static const struct {
	uint32_t maria, mysql;
} known_since[] = {
#define KEYWORD(name, maria, mysql, flags)
#define KNOWN_SINCE(name, maria, mysql) [T_##name - T_FIRST_KEYWORD] = {maria, mysql},
#define RESERVED_BEFORE(name, maria, mysql)
#define UNCALLABLE(name, servers)
#include "sql/keyword.def"
#undef KNOWN_SINCE
#undef RESERVED_BEFORE
#undef UNCALLABLE
}, reserved_before[] = {
#define KNOWN_SINCE(name, maria, mysql)
#define RESERVED_BEFORE(name, maria, mysql) [T_##name - T_FIRST_KEYWORD] = {maria, mysql},
#define UNCALLABLE(name, servers)
#include "sql/keyword.def"
#undef KEYWORD
#undef KNOWN_SINCE
#undef RESERVED_BEFORE
#undef UNCALLABLE
};

static struct slot {
	uint64_t head; /* the first eight bytes in lower case, to skip most comparisons */
	uint16_t word; /* index + 1; 0: free */
	uint8_t len;
} slots[SLOTS];

static uint64_t load(const char *p, size_t len)
{
	uint64_t word = 0;

	memcpy(&word, p, len < 8 ? len : 8);
	/* Lower case for letters; other characters of words (digits, _ and $) may collide, which
	 * the comparison settles. */
	return word | (0x2020202020202020u >> (len < 8 ? 64 - 8 * len : 0));
}

static size_t hash_word(const char *p, size_t len, uint64_t head)
{
	uint64_t h = head;

	for (size_t at = 8; at < len; at += 8)
		h = (h ^ (h >> 29)) * 0x9e3779b97f4a7c15u + load(p + at, len - at);
	h = (h ^ len) * 0xbf58476d1ce4e5b9u;
	return (size_t)(h >> 40) & (SLOTS - 1);
}

__attribute__((constructor)) static void keyword_fill(void)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t len = strlen(words[i].text);
		uint64_t head = load(words[i].text, len);
		size_t at = hash_word(words[i].text, len, head);

		CHECK(len > 0 && len <= WORD_MAX);
		while (slots[at].word)
			at = (at + 1) & (SLOTS - 1);
		slots[at] = (struct slot){head, (uint16_t)(i + 1), (uint8_t)len};
	}
}

const struct keyword_info *keyword_find(const char *word, size_t len)
{
	uint64_t head;

	if (len == 0 || len > WORD_MAX)
		return NULL;
	head = load(word, len);
	for (size_t at = hash_word(word, len, head); slots[at].word; at = (at + 1) & (SLOTS - 1)) {
		const struct slot *slot = &slots[at];

		if (slot->head == head && slot->len == len &&
			span_ieq(span_of(words[slot->word - 1].text, len), span_of(word, len)))
			return &words[slot->word - 1].info;
	}
	return NULL;
}

bool keyword_known(const struct keyword_info *info, const struct sql_options *opt)
{
	size_t i = info->kind - T_FIRST_KEYWORD;

	return i >= ARRAY_LEN(known_since) ||
	       opt->version >= (opt->flavour == SQL_MARIADB ? known_since[i].maria
							    : known_since[i].mysql);
}

bool keyword_reserved(const struct keyword_info *info, const struct sql_options *opt)
{
	bool maria = opt->flavour == SQL_MARIADB;
	uint32_t since = maria ? info->maria : info->mysql;
	size_t i = info->kind - T_FIRST_KEYWORD;

	if (i < ARRAY_LEN(reserved_before) &&
		opt->version < (maria ? reserved_before[i].maria : reserved_before[i].mysql))
		return true;
	return since != 0 && opt->version >= since;
}

/* The servers of UNCALLABLE(word, ...), or 0. */
static unsigned uncallable_in(const char *word, size_t len)
{
	static const struct {
		const char *name;
		uint8_t servers;
	} names[] = {
#define KEYWORD(name, maria, mysql, flags)
#define KNOWN_SINCE(name, maria, mysql)
#define RESERVED_BEFORE(name, maria, mysql)
#define UNCALLABLE(name, servers) {#name, servers},
#include "sql/keyword.def"
#undef KEYWORD
#undef KNOWN_SINCE
#undef RESERVED_BEFORE
#undef UNCALLABLE
	};
	size_t low = 0, high = ARRAY_LEN(names);

	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = strncasecmp(word, names[mid].name, len);

		if (order == 0 && names[mid].name[len])
			order = -1;
		if (order == 0)
			return names[mid].servers;
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return 0;
}

bool uncallable(const char *word, size_t len, const struct sql_options *opt)
{
	unsigned server = opt->flavour == SQL_MARIADB
				  ? (opt->version >= 110800   ? UC_MARIA
					    : opt->version < 100600 ? UC_MARIA_OLD
								    : 0)
				  : (opt->version >= 80400   ? UC_MYSQL | UC_MYSQL_9
					    : opt->version >= 80000 ? UC_MYSQL | UC_MYSQL_8
								    : UC_MYSQL_OLD);

	return server && (uncallable_in(word, len) & server) != 0;
}

bool keyword_elsewhere(const char *word, size_t len, const struct sql_options *opt)
{
	/* Of the words that name functions or clauses, or came and went. */
	static const struct {
		const char *name;
		bool keyword;
		uint32_t since, before;
	} found[] = {{"channel", true, 0, 0}, {"column_add", true, 0, 0},
		{"column_check", true, 0, 0}, {"column_create", true, 0, 0},
		{"column_delete", true, 0, 0}, {"column_get", true, 0, 0},
		{"lastval", true, 0, 0}, {"minus", true, 0, 0}, {"nested", true, 0, 0},
		{"new", false, 0, 0}, {"nextval", true, 0, 0}, {"nocopy", true, 110800, 0},
		{"old_password", true, 0, 0}, {"ordinality", true, 0, 0}, {"path", true, 0, 0},
		{"read_only", true, 0, 110800}, {"record", true, 110800, 0},
		{"rownum", true, 0, 0}, {"setval", true, 0, 0}, {"types", false, 0, 0},
		{"validation", true, 110800, 0}, {"weight_string", true, 0, 0}};

	for (size_t i = 0; i < ARRAY_LEN(found); i++) {
		if (span_ieq_str(span_of(word, len), found[i].name))
			return found[i].keyword && opt->version >= found[i].since &&
			       (!found[i].before || opt->version < found[i].before);
	}
	return (uncallable_in(word, len) & (UC_MARIA_OLD | UC_MARIA)) != 0;
}

const char *keyword_text(enum token_kind kind)
{
	static const char *const names[] = {
		[T_EOF] = "the end",
		[T_ERROR] = "an error",
		[T_IDENT] = "a name",
		[T_QUOTED] = "a quoted name",
		[T_L_INT] = "a number",
		[T_L_DECIMAL] = "a decimal number",
		[T_L_FLOAT] = "a number with an exponent",
		[T_L_HEX] = "a hexadecimal number",
		[T_HEX_STR] = "a hexadecimal string",
		[T_L_BIT] = "a binary number",
		[T_BIT_STR] = "a bit string",
		[T_STRING] = "a string",
		[T_NSTRING] = "a national string",
		[T_INTRODUCER] = "a character set introducer",
		[T_USER_VAR] = "a user variable",
		[T_AT] = "\"@\"",
		[T_AT_AT] = "\"@@\"",
		[T_PARAM] = "\"?\"",
		[T_LPAREN] = "\"(\"",
		[T_RPAREN] = "\")\"",
		[T_COMMA] = "\",\"",
		[T_SEMICOLON] = "\";\"",
		[T_DOT] = "\".\"",
		[T_STAR] = "\"*\"",
		[T_PLUS] = "\"+\"",
		[T_MINUS] = "\"-\"",
		[T_SLASH] = "\"/\"",
		[T_PERCENT] = "\"%\"",
		[T_CARET] = "\"^\"",
		[T_TILDE] = "\"~\"",
		[T_AMPERSAND] = "\"&\"",
		[T_AND_AND] = "\"&&\"",
		[T_PIPE] = "\"|\"",
		[T_OR_OR] = "\"||\"",
		[T_BANG] = "\"!\"",
		[T_EQ] = "\"=\"",
		[T_NULL_EQ] = "\"<=>\"",
		[T_NE] = "\"<>\"",
		[T_LT] = "\"<\"",
		[T_LE] = "\"<=\"",
		[T_GT] = "\">\"",
		[T_GE] = "\">=\"",
		[T_SHIFT_LEFT] = "\"<<\"",
		[T_SHIFT_RIGHT] = "\">>\"",
		[T_ASSIGN] = "\":=\"",
		[T_COLON] = "\":\"",
		[T_ARROW] = "\"->\"",
		[T_ARROW2] = "\"->>\"",
		[T_LBRACE] = "\"{\"",
		[T_RBRACE] = "\"}\"",
		[T_NULL_N] = "\"\\N\"",
		[T_DOLLAR] = "a text in dollar signs",
		[T_WANT_NAME] = "a name",
		[T_WANT_EXPR] = "an expression",
		[T_WANT_STRING] = "a string",
		[T_WANT_NUMBER] = "a number",
		[T_WANT_TABLE] = "a table",
		[T_WANT_QUERY] = "a query",
		[T_WANT_STATEMENT] = "a statement",
		[T_WANT_TYPE] = "a data type",
		[T_WANT_END] = "the end of the statement",
	};

	if (kind > T_BEFORE_KEYWORDS && kind < T_COUNT_OF_KINDS)
		return words[kind - T_FIRST_KEYWORD].text;
	return names[kind];
}

bool charset_known(const char *name, size_t len, const struct sql_options *opt)
{
	static const char *const charsets[] = {"armscii8", "ascii", "big5", "binary", "cp1250",
		"cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "dec8", "eucjpms",
		"euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2",
		"koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman",
		"sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8",
		"utf8mb3", "utf8mb4"};

	if (opt->flavour == SQL_MARIADB && span_ieq_str(span_of(name, len), "gb18030"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(charsets); i++) {
		if (span_ieq(span_str(charsets[i]), span_of(name, len)))
			return true;
	}
	return false;
}
