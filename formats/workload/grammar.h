/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Grammars of the Random Query Generator (files .yy), from which statements are drawn at random.
 *
 *	query:
 *		update | SELECT _field FROM _table WHERE _field < _digit ;
 *	update:
 *		UPDATE _table[invariant] SET _field = _digit ; SELECT * FROM _table[invariant] ;
 *
 * A rule is a name, a colon, alternatives with bars between, and a semicolon at the end of a line; any other
 * semicolon stands between two statements.  An alternative may be empty.  Words that are names of rules are replaced
 * by one of their alternatives; those that begin with `_` by something made up (docs/grammars.md).  `#` begins a
 * comment.  Perl between braces is refused.
 *
 * https://github.com/MariaDB/randgen/wiki, "RandomQueryGeneratorGrammar", has the language.
 */
#ifndef WORKLOAD_GRAMMAR_H
#define WORKLOAD_GRAMMAR_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/strtab.h"
#include "workload/random_source.h"

enum {
	GRAMMAR_TEXT_MAX = 1024 * 1024,
	GRAMMAR_RULES_MAX = 20 * 1000,
	GRAMMAR_INCLUDES_MAX = 16, /* files in files */
	GRAMMAR_DEPTH = 40, /* rules in rules; deeper, the alternatives are taken that end soonest */
	GRAMMAR_EXPANSION_MAX = 64 * 1024, /* bytes of one text */
	GRAMMAR_STEPS_MAX = 100 * 1000,    /* words and rules of one text */
};

/* What a word that begins with `_` is replaced by. */
#define GRAMMAR_WORDS(X)                                                                           \
	/* the schema */                                                                           \
	X(WORD_TABLE, "_table")                                                                    \
	X(WORD_BASETABLE, "_basetable")                                                            \
	X(WORD_FIELD, "_field")                                                                    \
	X(WORD_FIELD_LIST, "_field_list")                                                          \
	X(WORD_FIELD_COUNT, "_field_count")                                                        \
	X(WORD_FIELD_PK, "_field_pk")                                                              \
	X(WORD_FIELD_NO_PK, "_field_no_pk")                                                        \
	X(WORD_FIELD_INDEXED, "_field_indexed")                                                    \
	X(WORD_FIELD_KEY, "_field_key")                                                            \
	X(WORD_FIELD_UNINDEXED, "_field_unindexed")                                                \
	X(WORD_FIELD_NOKEY, "_field_nokey")                                                        \
	X(WORD_FIELD_INT, "_field_int")                                                            \
	X(WORD_FIELD_INT_INDEXED, "_field_int_indexed")                                            \
	X(WORD_FIELD_CHAR, "_field_char")                                                          \
	X(WORD_FIELD_CHAR_INDEXED, "_field_char_indexed")                                          \
	/* numbers */                                                                              \
	X(WORD_DIGIT, "_digit")                                                                    \
	X(WORD_POSITIVE_DIGIT, "_positive_digit")                                                  \
	X(WORD_BOOL, "_bool")                                                                      \
	X(WORD_BOOLEAN, "_boolean")                                                                \
	X(WORD_TINYINT, "_tinyint")                                                                \
	X(WORD_TINYINT_UNSIGNED, "_tinyint_unsigned")                                              \
	X(WORD_SMALLINT, "_smallint")                                                              \
	X(WORD_SMALLINT_UNSIGNED, "_smallint_unsigned")                                            \
	X(WORD_MEDIUMINT, "_mediumint")                                                            \
	X(WORD_MEDIUMINT_UNSIGNED, "_mediumint_unsigned")                                          \
	X(WORD_INT, "_int")                                                                        \
	X(WORD_INTEGER, "_integer")                                                                \
	X(WORD_INT_UNSIGNED, "_int_unsigned")                                                      \
	X(WORD_INTEGER_UNSIGNED, "_integer_unsigned")                                              \
	X(WORD_BIGINT, "_bigint")                                                                  \
	X(WORD_BIGINT_UNSIGNED, "_bigint_unsigned")                                                \
	X(WORD_FLOAT, "_float")                                                                    \
	X(WORD_DECIMAL, "_decimal")                                                                \
	X(WORD_BIT, "_bit")                                                                        \
	X(WORD_HEX, "_hex")                                                                        \
	X(WORD_NULL, "_null")                                                                      \
	X(WORD_YEAR, "_year")                                                                      \
	X(WORD_THREAD_ID, "_thread_id")                                                            \
	X(WORD_QUID, "_quid")                                                                      \
	/* texts */                                                                                \
	X(WORD_LETTER, "_letter")                                                                  \
	X(WORD_ENGLISH, "_english")                                                                \
	X(WORD_CHAR, "_char")                                                                      \
	X(WORD_VARCHAR, "_varchar")                                                                \
	X(WORD_STRING, "_string")                                                                  \
	X(WORD_TEXT, "_text")                                                                      \
	X(WORD_DATE, "_date")                                                                      \
	X(WORD_TIME, "_time")                                                                      \
	X(WORD_DATETIME, "_datetime")                                                              \
	X(WORD_TIMESTAMP, "_timestamp")                                                            \
	X(WORD_TMPTABLE, "_tmptable")                                                              \
	X(WORD_TMPNAM, "_tmpnam")

enum grammar_word {
#define X(name, word) name,
	GRAMMAR_WORDS(X)
#undef X
		GRAMMAR_WORD_COUNT
};
const char *grammar_word_name(enum grammar_word word);

struct grammar_item {
	enum { ITEM_TEXT, ITEM_RULE, ITEM_WORD } kind;
	struct span text;       /* as it is written */
	uint32_t line, column;  /* of a word that begins with `_` */
	uint32_t rule;          /* RULE */
	enum grammar_word word; /* WORD */
	uint32_t size;          /* WORD: the number in parentheses, as of _varchar(10); 0: none */
	bool quoted;            /* WORD: quotes stand around it already */
	bool invariant;         /* the same each time in one text */
};

struct grammar_alternative {
	struct grammar_item *items;
	uint32_t count;
	uint32_t depth; /* of rules until it can end */
};

struct grammar_rule {
	struct span name;
	struct grammar_alternative *alternatives;
	uint32_t count;
	uint32_t depth;
	const char *file; /* where it stands */
	uint32_t line;
};

struct grammar {
	struct arena arena;
	struct grammar_rule *rules;
	size_t rule_count, rule_capacity;
	struct strtab names; /* by number */
	uint64_t digest; /* of its files */
};

/* Reads one; rules of a later file replace those of an earlier one (--redefine).  False: the grammar is empty again. */
bool grammar_open(struct grammar *out, const char *const *paths, size_t count, struct err *err) MUST_CHECK;
/* From a text; `name` stands before messages, "NAME:LINE:COLUMN: ...".  Nothing can be included. */
bool grammar_parse(struct grammar *out, struct span text, const char *name, struct err *err) MUST_CHECK;
void grammar_release(struct grammar *g);

/* The rule of that name; UINT32_MAX: there is none. */
uint32_t grammar_rule(const struct grammar *g, const char *name);

/* Leaves out about half of the alternatives of `query` and, down to `level`, of the rules that it names; which ones,
 * the number says.  One of each stays. */
void grammar_mask(struct grammar *g, uint64_t mask, unsigned level);

struct grammar_expansion {
	const struct grammar *grammar;
	struct random_source *random;
	/* Appends what stands for the word. */
	void (*word)(void *context, const struct grammar_item *item, struct buf *out);
	void *context;
};

/* Appends a random text of the rule.  False, and nothing is appended: it became longer than the bounds above. */
bool grammar_expand(struct grammar_expansion *how, uint32_t rule, struct buf *out) MUST_CHECK;

#endif
