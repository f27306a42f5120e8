/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sql/text/stmt_classify.h"

#include "sql/text/raw_token.h"
#include "trace/record.h"

/* ---- kinds of statements ---- */

static const struct {
	const char *word;
	enum look_class class;
} first_words[] = {
	{"select", LOOK_READ},
	{"insert", LOOK_WRITE},
	{"update", LOOK_WRITE},
	{"delete", LOOK_WRITE},
	{"replace", LOOK_WRITE},
	{"begin", LOOK_BEGIN},
	{"commit", LOOK_COMMIT},
	{"rollback", LOOK_ROLLBACK},
	{"set", LOOK_SET},
	{"values", LOOK_READ},
	{"table", LOOK_READ},
	{"handler", LOOK_READ},
	{"do", LOOK_READ},
	{"load", LOOK_WRITE},
	{"call", LOOK_CALL},
	{"execute", LOOK_CALL},
	{"savepoint", LOOK_SAVEPOINT},
	{"release", LOOK_RELEASE},
	{"create", LOOK_DEFINE},
	{"alter", LOOK_DEFINE},
	{"drop", LOOK_DEFINE},
	{"truncate", LOOK_DEFINE},
	{"rename", LOOK_DEFINE},
	{"grant", LOOK_DEFINE},
	{"revoke", LOOK_DEFINE},
	{"lock", LOOK_DEFINE},
	{"unlock", LOOK_DEFINE},
	{"analyze", LOOK_DEFINE},
	{"optimize", LOOK_DEFINE},
	{"repair", LOOK_DEFINE},
	{"check", LOOK_DEFINE},
	{"flush", LOOK_DEFINE},
	{"reset", LOOK_DEFINE},
	{"install", LOOK_DEFINE},
	{"uninstall", LOOK_DEFINE},
	{"cache", LOOK_DEFINE},
	{"change", LOOK_DEFINE},
	{"stop", LOOK_DEFINE},
	{"show", LOOK_NEUTRAL},
	{"use", LOOK_NEUTRAL},
	{"explain", LOOK_NEUTRAL},
	{"describe", LOOK_NEUTRAL},
	{"desc", LOOK_NEUTRAL},
	{"help", LOOK_NEUTRAL},
	{"kill", LOOK_NEUTRAL},
	{"prepare", LOOK_NEUTRAL},
	{"deallocate", LOOK_NEUTRAL},
	{"signal", LOOK_NEUTRAL},
	{"get", LOOK_NEUTRAL},
	{"binlog", LOOK_NEUTRAL},
};

static enum look_class class_of(const struct look_token *t)
{
	if (t->kind == LOOK_TOKEN_OTHER && t->text.ptr[0] == '(')
		return LOOK_READ; /* (SELECT ...) UNION ... */
	if (t->kind != LOOK_TOKEN_WORD)
		return LOOK_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LEN(first_words); i++)
		if (look_is(t, first_words[i].word))
			return first_words[i].class;
	return LOOK_UNKNOWN;
}

uint8_t look_level(struct span text)
{
	static const char *const names[] = {
		"readuncommitted", "readcommitted", "repeatableread", "serializable"};
	char word[20];
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (look_is_space(text.ptr[i]) || text.ptr[i] == '-')
			continue;
		if (len == sizeof(word))
			return LOOK_LEVEL_UNREADABLE;
		word[len++] = text.ptr[i];
	}
	for (unsigned i = 0; i < 4; i++)
		if (span_ieq_str(span_of(word, len), names[i]))
			return (uint8_t)(LEVEL_READ_UNCOMMITTED + i);
	if (len == 1 && word[0] >= '0' && word[0] <= '3')
		return (uint8_t)(LEVEL_READ_UNCOMMITTED + word[0] - '0');
	if (span_ieq_str(span_of(word, len), "default"))
		return LOOK_LEVEL_DEFAULT;
	return LOOK_LEVEL_UNREADABLE;
}

/* Of the letters of "isolation", how far its end is behind each; Horspool's search. */
static const char *find_isolation(struct span text)
{
	static const uint8_t skips[256] = {['i'] = 2, ['I'] = 2, ['s'] = 7, ['S'] = 7, ['o'] = 1,
		['O'] = 1, ['l'] = 5, ['L'] = 5, ['a'] = 4, ['A'] = 4, ['t'] = 3, ['T'] = 3};
	enum { LEN = 9 };
	size_t at = LEN - 1;

	while (at < text.len) {
		const char *p = text.ptr + at;

		if ((*p | 0x20) == 'n' && span_ieq_str(span_of(p - LEN + 1, LEN), "isolation"))
			return p - LEN + 1;
		at += skips[(unsigned char)*p] ? skips[(unsigned char)*p] : LEN;
	}
	return NULL;
}

bool look_holds(struct span text, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
		if (span_ieq_str(span_of(text.ptr + i, len), word) &&
			(i == 0 || !look_is_word((unsigned char)text.ptr[i - 1])) &&
			(i + len == text.len || !look_is_word((unsigned char)text.ptr[i + len])))
			return true;
	return false;
}

bool look_hides_level(struct span text)
{
	struct span rest = text;
	const char *p;

	while ((p = find_isolation(rest))) {
		/* innodb_snapshot_isolation is no level. */
		if (!(p - text.ptr >= 9 && span_ieq_str(span_of(p - 9, 9), "snapshot_")))
			return look_holds(text, "set");
		rest = span_of(p + 9, (size_t)(text.ptr + text.len - p - 9));
	}
	return false;
}

enum scope { SCOPE_NONE, SCOPE_SESSION, SCOPE_GLOBAL, SCOPE_NEXT };

static enum scope scope_of(const struct look_token *t)
{
	if (look_is(t, "session") || look_is(t, "local"))
		return SCOPE_SESSION;
	if (look_is(t, "global") || look_is(t, "persist"))
		return SCOPE_GLOBAL;
	return SCOPE_NONE;
}

static void set_level(struct look *out, enum scope scope, uint8_t level)
{
	switch (scope) {
	case SCOPE_NONE: /* SET name = ...: the session's */
	case SCOPE_SESSION:
		out->level_session = level;
		break;
	case SCOPE_GLOBAL:
		out->level_global = level;
		break;
	case SCOPE_NEXT:
		out->level_next = level;
		break;
	}
}

/* SET [scope] TRANSACTION ISOLATION LEVEL two words | READ ONLY, ...; t is behind TRANSACTION. */
static struct look_token set_transaction(struct look_scan *s, struct look *out, enum scope scope)
{
	struct look_token t = look_next(s);

	while (t.kind != LOOK_TOKEN_END && !look_is_char(&t, ';')) {
		if (look_is(&t, "level")) {
			struct look_token word = look_next(s);
			struct span level = word.text;

			if (look_is(&word, "read") || look_is(&word, "repeatable")) {
				struct look_token second = look_next(s);

				if (second.text.ptr)
					level = span_of(word.text.ptr,
						(size_t)(second.text.ptr + second.text.len -
							 word.text.ptr));
			}
			set_level(out, scope == SCOPE_NONE ? SCOPE_NEXT : scope, look_level(level));
		}
		t = look_next(s);
	}
	return t;
}

/* NAMES, CHARSET or CHARACTER SET: what follows is the set that texts are in from then on. */
static bool sets_names(const struct look_token *t, struct look_scan *s)
{
	struct look_scan ahead = *s;
	struct look_token next;

	if (look_is(t, "names") || look_is(t, "charset"))
		return true;
	next = look_next(&ahead);
	if (!look_is(t, "character") || !look_is(&next, "set"))
		return false;
	*s = ahead;
	return true;
}

/* SET name = value, ...: only the isolation level, autocommit and the character set matter.  Where a scope word is
 * given it holds for what follows without one, as in MySQL; @@name alone is the next transaction.
 */
static struct look_token look_at_set(struct look_scan *s, struct look *out)
{
	enum scope sticky = SCOPE_NONE;
	struct look_token t = look_next(s);

	if (look_is(&t, "statement")) { /* MariaDB: SET STATEMENT ... FOR another statement */
		out->class = LOOK_UNKNOWN;
		return t;
	}
	if (look_is(&t, "password") || look_is(&t, "role") || look_is(&t, "default"))
		out->class = LOOK_DEFINE;
	for (;;) {
		enum scope scope = sticky;
		unsigned at_signs = 0;

		if (scope_of(&t) != SCOPE_NONE) {
			scope = sticky = scope_of(&t);
			t = look_next(s);
		}
		if (look_is(&t, "transaction"))
			return set_transaction(s, out, scope);
		if (sets_names(&t, s)) {
			t = look_next(s);
			out->set = (uint8_t)(text_set_of_name(t.content) + 1);
		}
		while (look_is_char(&t, '@')) {
			at_signs++;
			t = look_next(s);
		}
		if (at_signs == 2) {
			struct look_scan ahead = *s;
			struct look_token dot = look_next(&ahead);

			scope = SCOPE_NEXT;
			if (look_is_char(&dot, '.') && scope_of(&t) != SCOPE_NONE) {
				scope = scope_of(&t);
				*s = ahead;
				t = look_next(s);
			}
		}
		if (at_signs != 1 && (look_is(&t, "transaction_isolation") || look_is(&t, "tx_isolation"))) {
			do
				t = look_next(s);
			while (look_is_char(&t, '=') || look_is_char(&t, ':'));
			set_level(out, scope,
				t.kind == LOOK_TOKEN_STRING ? look_level(t.content)
				: look_is_char(&t, '@')     ? LOOK_LEVEL_UNREADABLE
						       : look_level(t.text));
		} else if (at_signs != 1 && look_is(&t, "autocommit")) {
			out->sets_autocommit = true;
		} else if (at_signs != 1 && scope != SCOPE_GLOBAL &&
			   look_is(&t, "character_set_client")) {
			do
				t = look_next(s);
			while (look_is_char(&t, '=') || look_is_char(&t, ':'));
			out->set = (uint8_t)(text_set_of_name(t.content) + 1);
		}
		/* On to the next assignment; brackets may hold commas. */
		for (int depth = 0; t.kind != LOOK_TOKEN_END && !look_is_char(&t, ';'); t = look_next(s)) {
			depth += look_is_char(&t, '(') ? 1 : look_is_char(&t, ')') ? -1 : 0;
			if (depth <= 0 && look_is_char(&t, ','))
				break;
		}
		if (!look_is_char(&t, ','))
			return t;
		t = look_next(s);
	}
}

static void take_name(struct look_scan *s, struct span *name)
{
	struct look_token t = look_next(s);

	if (t.kind != LOOK_TOKEN_END)
		*name = t.content;
}

static void look_at_xa(struct look_scan *s, struct look *out, struct span *name)
{
	struct look_token t = look_next(s);

	if (look_is(&t, "start") || look_is(&t, "begin"))
		out->class = LOOK_XA_BEGIN;
	else if (look_is(&t, "end"))
		out->class = LOOK_XA_END;
	else if (look_is(&t, "prepare"))
		out->class = LOOK_XA_PREPARE;
	else if (look_is(&t, "commit"))
		out->class = LOOK_XA_COMMIT;
	else if (look_is(&t, "rollback"))
		out->class = LOOK_XA_ROLLBACK;
	else
		out->class = LOOK_NEUTRAL;
	take_name(s, name);
}

/* The rest of a transaction statement: WITH CONSISTENT SNAPSHOT, AND CHAIN, TO SAVEPOINT x. */
static struct look_token look_at_txn_words(struct look_scan *s, struct look *out, struct span *name)
{
	struct look_token t = look_next(s), before = {LOOK_TOKEN_END, SPAN_NONE, SPAN_NONE};

	if (out->class == LOOK_BEGIN && look_is(&t, "not")) {
		/* MariaDB's BEGIN NOT ATOMIC: a block, with semicolons of its own. */
		out->class = LOOK_CALL;
		s->p = s->end;
		return look_next(s);
	}
	for (; t.kind != LOOK_TOKEN_END && !look_is_char(&t, ';'); before = t, t = look_next(s)) {
		if (look_is(&t, "snapshot"))
			out->consistent_snapshot = true;
		else if (look_is(&t, "chain") && !look_is(&before, "no"))
			out->chain = true;
		else if (look_is(&t, "to") && out->class == LOOK_ROLLBACK) {
			out->class = LOOK_ROLLBACK_TO;
			take_name(s, name);
			if (name->ptr && span_ieq_str(*name, "savepoint"))
				take_name(s, name);
		}
	}
	return t;
}

static void look_at_more(struct look_scan *s, struct look_token *t, struct look *out, struct span *name)
{
	if (look_is(t, "start")) {
		*t = look_next(s);
		out->class = look_is(t, "transaction") ? LOOK_BEGIN : LOOK_DEFINE; /* START SLAVE */
	} else if (look_is(t, "with")) {
		/* A common table expression: the statement's own word comes at bracket depth 0. */
		int depth = 0;

		out->class = LOOK_READ;
		for (*t = look_next(s); t->kind != LOOK_TOKEN_END && !look_is_char(t, ';');
			*t = look_next(s)) {
			depth += look_is_char(t, '(') ? 1 : look_is_char(t, ')') ? -1 : 0;
			if (depth == 0 && (look_is(t, "update") || look_is(t, "delete") || look_is(t, "insert")))
				out->class = LOOK_WRITE;
		}
	} else if (look_is(t, "lock")) {
		*t = look_next(s);
		out->locks_tables = look_is(t, "table") || look_is(t, "tables");
	} else if (look_is(t, "xa")) {
		look_at_xa(s, out, name);
	} else if (look_is(t, "analyze")) {
		/* MariaDB's ANALYZE [FORMAT=JSON] runs the statement behind it; else it is a
		 * table's. */
		*t = look_next(s);
		if (look_is(t, "format"))
			for (int i = 0; i < 3; i++)
				*t = look_next(s);
		if (look_is(t, "with"))
			out->class = LOOK_UNKNOWN;
		else if (class_of(t) == LOOK_WRITE || class_of(t) == LOOK_READ)
			out->class = look_is(t, "table") ? LOOK_DEFINE : (uint8_t)class_of(t);
	}
	switch ((enum look_class)out->class) {
	case LOOK_SET:
		*t = look_at_set(s, out);
		break;
	case LOOK_BEGIN:
	case LOOK_COMMIT:
	case LOOK_ROLLBACK:
		*t = look_at_txn_words(s, out, name);
		break;
	case LOOK_SAVEPOINT:
		take_name(s, name);
		break;
	case LOOK_RELEASE:
		*t = look_next(s); /* SAVEPOINT */
		take_name(s, name);
		break;
	case LOOK_UNKNOWN:
	case LOOK_READ:
	case LOOK_WRITE:
	case LOOK_DEFINE:
	case LOOK_CALL:
	case LOOK_ROLLBACK_TO:
	case LOOK_XA_BEGIN:
	case LOOK_XA_END:
	case LOOK_XA_PREPARE:
	case LOOK_XA_COMMIT:
	case LOOK_XA_ROLLBACK:
	case LOOK_NEUTRAL:
		break;
	}
}

void look_at(struct span text, struct look_dialect dialect, struct look *out, struct span *rest,
	struct span *name)
{
	struct look_scan s = look_over(text, dialect);
	struct look_token t = look_next(&s);

	*out = (struct look){.class = LOOK_NEUTRAL};
	*rest = span_of("", 0);
	*name = SPAN_NONE;
	if (t.kind == LOOK_TOKEN_END)
		return;
	if (look_is_char(&t, ';')) {
		*rest = span_of(s.p, (size_t)(s.end - s.p));
		return;
	}
	out->class = (uint8_t)class_of(&t);
	look_at_more(&s, &t, out, name);
	/* Most texts have no semicolon: not worth reading them to the end. */
	if (!look_is_char(&t, ';') && !memchr(s.p, ';', (size_t)(s.end - s.p)))
		return;
	/* The body of a stored program has semicolons of its own: not several statements. */
	if (out->class == LOOK_DEFINE) {
		struct look_scan again = look_over(text, dialect);
		struct look_token word;

		for (int i = 0; i < 12; i++) {
			word = look_next(&again);
			if (look_is(&word, "procedure") || look_is(&word, "function") ||
				look_is(&word, "trigger") || look_is(&word, "event") || look_is(&word, "package"))
				return;
		}
	}
	while (t.kind != LOOK_TOKEN_END && !look_is_char(&t, ';'))
		t = look_next(&s);
	if (look_is_char(&t, ';'))
		*rest = span_of(s.p, (size_t)(s.end - s.p));
}

struct sql_options look_options(struct look_dialect dialect)
{
	struct sql_options options = sql_options_default();

	/* Where the version is not known, comments are read that any would execute. */
	options.flavour = dialect.flavour;
	options.version = dialect.version ? dialect.version : 999999;
	if (dialect.no_backslash_escapes)
		options.mode |= SQL_MODE_NO_BACKSLASH_ESCAPES;
	if (dialect.ansi_quotes)
		options.mode |= SQL_MODE_ANSI_QUOTES;
	return options;
}

enum look_tables look_tables(struct span text, struct look_dialect dialect)
{
	struct look_scan s = look_over(text, dialect);
	struct look_token t = look_next(&s);
	bool sure = false, perhaps = look_is(&t, "call") || look_is(&t, "execute");
	bool own = look_is(&t, "show"); /* the server's own: tables in some servers */

	if (look_is(&t, "prepare"))
		return LOOK_TABLES_NONE;
	for (; t.kind != LOOK_TOKEN_END; t = look_next(&s)) {
		sure |= look_is(&t, "from") || look_is(&t, "table") || look_is(&t, "into") ||
			look_is(&t, "update") || look_is(&t, "join");
		own |= look_is(&t, "dual") || look_is(&t, "information_schema") ||
		       look_is(&t, "performance_schema");
		perhaps |= t.kind == LOOK_TOKEN_OTHER && *t.text.ptr == '(';
	}
	if (sure && !own)
		return LOOK_TABLES_SURE;
	return perhaps || own ? LOOK_TABLES_PERHAPS : LOOK_TABLES_NONE;
}
