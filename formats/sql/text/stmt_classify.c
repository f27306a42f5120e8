/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sql/text/stmt_classify.h"

#include "sql/text/raw_token.h"
#include "trace/record.h"

/* ---- kinds of statements ---- */

static const struct {
	const char *word;
	enum stmt_class_kind class;
} first_words[] = {
	{"select", CLASS_READ},
	{"insert", CLASS_WRITE},
	{"update", CLASS_WRITE},
	{"delete", CLASS_WRITE},
	{"replace", CLASS_WRITE},
	{"begin", CLASS_BEGIN},
	{"commit", CLASS_COMMIT},
	{"rollback", CLASS_ROLLBACK},
	{"set", CLASS_SET},
	{"values", CLASS_READ},
	{"table", CLASS_READ},
	{"handler", CLASS_READ},
	{"do", CLASS_READ},
	{"load", CLASS_WRITE},
	{"call", CLASS_CALL},
	{"execute", CLASS_CALL},
	{"savepoint", CLASS_SAVEPOINT},
	{"release", CLASS_RELEASE},
	{"create", CLASS_DEFINE},
	{"alter", CLASS_DEFINE},
	{"drop", CLASS_DEFINE},
	{"truncate", CLASS_DEFINE},
	{"rename", CLASS_DEFINE},
	{"grant", CLASS_DEFINE},
	{"revoke", CLASS_DEFINE},
	{"lock", CLASS_DEFINE},
	{"unlock", CLASS_DEFINE},
	{"analyze", CLASS_DEFINE},
	{"optimize", CLASS_DEFINE},
	{"repair", CLASS_DEFINE},
	{"check", CLASS_DEFINE},
	{"flush", CLASS_DEFINE},
	{"reset", CLASS_DEFINE},
	{"install", CLASS_DEFINE},
	{"uninstall", CLASS_DEFINE},
	{"cache", CLASS_DEFINE},
	{"change", CLASS_DEFINE},
	{"stop", CLASS_DEFINE},
	{"show", CLASS_NEUTRAL},
	{"use", CLASS_NEUTRAL},
	{"explain", CLASS_NEUTRAL},
	{"describe", CLASS_NEUTRAL},
	{"desc", CLASS_NEUTRAL},
	{"help", CLASS_NEUTRAL},
	{"kill", CLASS_NEUTRAL},
	{"prepare", CLASS_NEUTRAL},
	{"deallocate", CLASS_NEUTRAL},
	{"signal", CLASS_NEUTRAL},
	{"get", CLASS_NEUTRAL},
	{"binlog", CLASS_NEUTRAL},
};

static enum stmt_class_kind class_of(const struct raw_token *t)
{
	if (t->kind == RAW_OTHER && t->text.ptr[0] == '(')
		return CLASS_READ; /* (SELECT ...) UNION ... */
	if (t->kind != RAW_WORD)
		return CLASS_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LEN(first_words); i++)
		if (raw_is(t, first_words[i].word))
			return first_words[i].class;
	return CLASS_UNKNOWN;
}

uint8_t text_level(struct span text)
{
	static const char *const names[] = {
		"readuncommitted", "readcommitted", "repeatableread", "serializable"};
	char word[20];
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (char_is_blank(text.ptr[i]) || text.ptr[i] == '-')
			continue;
		if (len == sizeof(word))
			return CLASS_LEVEL_UNREADABLE;
		word[len++] = text.ptr[i];
	}
	for (unsigned i = 0; i < 4; i++)
		if (span_ieq_str(span_of(word, len), names[i]))
			return (uint8_t)(LEVEL_READ_UNCOMMITTED + i);
	if (len == 1 && word[0] >= '0' && word[0] <= '3')
		return (uint8_t)(LEVEL_READ_UNCOMMITTED + word[0] - '0');
	if (span_ieq_str(span_of(word, len), "default"))
		return CLASS_LEVEL_DEFAULT;
	return CLASS_LEVEL_UNREADABLE;
}

/* Of the letters of "isolation", how far its end is after each; Horspool's search. */
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

bool text_hides_level(struct span text)
{
	struct span rest = text;
	const char *p;

	while ((p = find_isolation(rest))) {
		/* innodb_snapshot_isolation is no level. */
		if (!(p - text.ptr >= 9 && span_ieq_str(span_of(p - 9, 9), "snapshot_")))
			return text_holds_word(text, "set");
		rest = span_of(p + 9, (size_t)(text.ptr + text.len - p - 9));
	}
	return false;
}

enum scope { SCOPE_NONE, SCOPE_SESSION, SCOPE_GLOBAL, SCOPE_NEXT };

static enum scope scope_of(const struct raw_token *t)
{
	if (raw_is(t, "session") || raw_is(t, "local"))
		return SCOPE_SESSION;
	if (raw_is(t, "global") || raw_is(t, "persist"))
		return SCOPE_GLOBAL;
	return SCOPE_NONE;
}

static void set_level(struct stmt_class *out, enum scope scope, uint8_t level)
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

/* SET [scope] TRANSACTION ISOLATION LEVEL two words | READ ONLY, ...; t is after TRANSACTION. */
static struct raw_token set_transaction(
	struct raw_scan *s, struct stmt_class *out, enum scope scope)
{
	struct raw_token t = raw_next(s);

	while (t.kind != RAW_END && !raw_is_char(&t, ';')) {
		if (raw_is(&t, "level")) {
			struct raw_token word = raw_next(s);
			struct span level = word.text;

			if (raw_is(&word, "read") || raw_is(&word, "repeatable")) {
				struct raw_token second = raw_next(s);

				if (second.text.ptr)
					level = span_of(word.text.ptr,
						(size_t)(second.text.ptr + second.text.len -
							 word.text.ptr));
			}
			set_level(out, scope == SCOPE_NONE ? SCOPE_NEXT : scope, text_level(level));
		}
		t = raw_next(s);
	}
	return t;
}

/* NAMES, CHARSET or CHARACTER SET: what follows is the set that texts are in from then on. */
static bool sets_names(const struct raw_token *t, struct raw_scan *s)
{
	struct raw_scan ahead = *s;
	struct raw_token next;

	if (raw_is(t, "names") || raw_is(t, "charset"))
		return true;
	next = raw_next(&ahead);
	if (!raw_is(t, "character") || !raw_is(&next, "set"))
		return false;
	*s = ahead;
	return true;
}

/* SET name = value, ...: only the isolation level, autocommit and the character set matter.  Where a scope word is
 * given it holds for what follows without one, as in MySQL; @@name alone is the next transaction.
 */
static struct raw_token classify_set(struct raw_scan *s, struct stmt_class *out)
{
	enum scope sticky = SCOPE_NONE;
	struct raw_token t = raw_next(s);

	if (raw_is(&t, "statement")) { /* MariaDB: SET STATEMENT ... FOR another statement */
		out->kind = CLASS_UNKNOWN;
		return t;
	}
	if (raw_is(&t, "password") || raw_is(&t, "role") || raw_is(&t, "default"))
		out->kind = CLASS_DEFINE;
	for (;;) {
		enum scope scope = sticky;
		unsigned at_signs = 0;

		if (scope_of(&t) != SCOPE_NONE) {
			scope = sticky = scope_of(&t);
			t = raw_next(s);
		}
		if (raw_is(&t, "transaction"))
			return set_transaction(s, out, scope);
		if (sets_names(&t, s)) {
			t = raw_next(s);
			out->charset = (uint8_t)(client_charset_of_name(t.content) + 1);
		}
		while (raw_is_char(&t, '@')) {
			at_signs++;
			t = raw_next(s);
		}
		if (at_signs == 2) {
			struct raw_scan ahead = *s;
			struct raw_token dot = raw_next(&ahead);

			scope = SCOPE_NEXT;
			if (raw_is_char(&dot, '.') && scope_of(&t) != SCOPE_NONE) {
				scope = scope_of(&t);
				*s = ahead;
				t = raw_next(s);
			}
		}
		if (at_signs != 1 &&
			(raw_is(&t, "transaction_isolation") || raw_is(&t, "tx_isolation"))) {
			do
				t = raw_next(s);
			while (raw_is_char(&t, '=') || raw_is_char(&t, ':'));
			set_level(out, scope,
				t.kind == RAW_STRING   ? text_level(t.content)
				: raw_is_char(&t, '@') ? CLASS_LEVEL_UNREADABLE
						       : text_level(t.text));
		} else if (at_signs != 1 && raw_is(&t, "autocommit")) {
			out->sets_autocommit = true;
		} else if (at_signs != 1 && scope != SCOPE_GLOBAL &&
			   raw_is(&t, "character_set_client")) {
			do
				t = raw_next(s);
			while (raw_is_char(&t, '=') || raw_is_char(&t, ':'));
			out->charset = (uint8_t)(client_charset_of_name(t.content) + 1);
		}
		/* On to the next assignment; brackets may hold commas. */
		for (int depth = 0; t.kind != RAW_END && !raw_is_char(&t, ';'); t = raw_next(s)) {
			depth += raw_is_char(&t, '(') ? 1 : raw_is_char(&t, ')') ? -1 : 0;
			if (depth <= 0 && raw_is_char(&t, ','))
				break;
		}
		if (!raw_is_char(&t, ','))
			return t;
		t = raw_next(s);
	}
}

static void take_name(struct raw_scan *s, struct span *name)
{
	struct raw_token t = raw_next(s);

	if (t.kind != RAW_END)
		*name = t.content;
}

static void classify_xa(struct raw_scan *s, struct stmt_class *out, struct span *name)
{
	struct raw_token t = raw_next(s);

	if (raw_is(&t, "start") || raw_is(&t, "begin"))
		out->kind = CLASS_XA_BEGIN;
	else if (raw_is(&t, "end"))
		out->kind = CLASS_XA_END;
	else if (raw_is(&t, "prepare"))
		out->kind = CLASS_XA_PREPARE;
	else if (raw_is(&t, "commit"))
		out->kind = CLASS_XA_COMMIT;
	else if (raw_is(&t, "rollback"))
		out->kind = CLASS_XA_ROLLBACK;
	else
		out->kind = CLASS_NEUTRAL;
	take_name(s, name);
}

/* The rest of a transaction statement: WITH CONSISTENT SNAPSHOT, AND CHAIN, TO SAVEPOINT x. */
static struct raw_token classify_txn_words(
	struct raw_scan *s, struct stmt_class *out, struct span *name)
{
	struct raw_token t = raw_next(s), before = {RAW_END, SPAN_NONE, SPAN_NONE};

	if (out->kind == CLASS_BEGIN && raw_is(&t, "not")) {
		/* MariaDB's BEGIN NOT ATOMIC: a block, with semicolons of its own. */
		out->kind = CLASS_CALL;
		s->p = s->end;
		return raw_next(s);
	}
	for (; t.kind != RAW_END && !raw_is_char(&t, ';'); before = t, t = raw_next(s)) {
		if (raw_is(&t, "snapshot"))
			out->consistent_snapshot = true;
		else if (raw_is(&t, "chain") && !raw_is(&before, "no"))
			out->chain = true;
		else if (raw_is(&t, "to") && out->kind == CLASS_ROLLBACK) {
			out->kind = CLASS_ROLLBACK_TO;
			take_name(s, name);
			if (name->ptr && span_ieq_str(*name, "savepoint"))
				take_name(s, name);
		}
	}
	return t;
}

static void classify_more(
	struct raw_scan *s, struct raw_token *t, struct stmt_class *out, struct span *name)
{
	if (raw_is(t, "start")) {
		*t = raw_next(s);
		out->kind = raw_is(t, "transaction") ? CLASS_BEGIN : CLASS_DEFINE; /* START SLAVE */
	} else if (raw_is(t, "with")) {
		/* A common table expression: the statement's own word comes at bracket depth 0. */
		int depth = 0;

		out->kind = CLASS_READ;
		for (*t = raw_next(s); t->kind != RAW_END && !raw_is_char(t, ';');
			*t = raw_next(s)) {
			depth += raw_is_char(t, '(') ? 1 : raw_is_char(t, ')') ? -1 : 0;
			if (depth == 0 &&
				(raw_is(t, "update") || raw_is(t, "delete") || raw_is(t, "insert")))
				out->kind = CLASS_WRITE;
		}
	} else if (raw_is(t, "lock")) {
		*t = raw_next(s);
		out->locks_tables = raw_is(t, "table") || raw_is(t, "tables");
	} else if (raw_is(t, "xa")) {
		classify_xa(s, out, name);
	} else if (raw_is(t, "analyze")) {
		/* MariaDB's ANALYZE [FORMAT=JSON] runs the statement after it; else it is a
		 * table's. */
		*t = raw_next(s);
		if (raw_is(t, "format"))
			for (int i = 0; i < 3; i++)
				*t = raw_next(s);
		if (raw_is(t, "with"))
			out->kind = CLASS_UNKNOWN;
		else if (class_of(t) == CLASS_WRITE || class_of(t) == CLASS_READ)
			out->kind = raw_is(t, "table") ? CLASS_DEFINE : (uint8_t)class_of(t);
	}
	switch ((enum stmt_class_kind)out->kind) {
	case CLASS_SET:
		*t = classify_set(s, out);
		break;
	case CLASS_BEGIN:
	case CLASS_COMMIT:
	case CLASS_ROLLBACK:
		*t = classify_txn_words(s, out, name);
		break;
	case CLASS_SAVEPOINT:
		take_name(s, name);
		break;
	case CLASS_RELEASE:
		*t = raw_next(s); /* SAVEPOINT */
		take_name(s, name);
		break;
	case CLASS_UNKNOWN:
	case CLASS_READ:
	case CLASS_WRITE:
	case CLASS_DEFINE:
	case CLASS_CALL:
	case CLASS_ROLLBACK_TO:
	case CLASS_XA_BEGIN:
	case CLASS_XA_END:
	case CLASS_XA_PREPARE:
	case CLASS_XA_COMMIT:
	case CLASS_XA_ROLLBACK:
	case CLASS_NEUTRAL:
		break;
	}
}

void stmt_classify(struct span text, struct text_dialect dialect, struct stmt_class *out,
	struct span *rest, struct span *name)
{
	struct raw_scan s = raw_scan_over(text, dialect);
	struct raw_token t = raw_next(&s);

	*out = (struct stmt_class){.kind = CLASS_NEUTRAL};
	*rest = span_of("", 0);
	*name = SPAN_NONE;
	if (t.kind == RAW_END)
		return;
	if (raw_is_char(&t, ';')) {
		*rest = span_of(s.p, (size_t)(s.end - s.p));
		return;
	}
	out->kind = (uint8_t)class_of(&t);
	classify_more(&s, &t, out, name);
	/* Most texts have no semicolon: not worth reading them to the end. */
	if (!raw_is_char(&t, ';') && !memchr(s.p, ';', (size_t)(s.end - s.p)))
		return;
	/* The body of a stored program has semicolons of its own: not several statements. */
	if (out->kind == CLASS_DEFINE) {
		struct raw_scan again = raw_scan_over(text, dialect);
		struct raw_token word;

		for (int i = 0; i < 12; i++) {
			word = raw_next(&again);
			if (raw_is(&word, "procedure") || raw_is(&word, "function") ||
				raw_is(&word, "trigger") || raw_is(&word, "event") ||
				raw_is(&word, "package"))
				return;
		}
	}
	while (t.kind != RAW_END && !raw_is_char(&t, ';'))
		t = raw_next(&s);
	if (raw_is_char(&t, ';'))
		*rest = span_of(s.p, (size_t)(s.end - s.p));
}

struct sql_options text_sql_options(struct text_dialect dialect)
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

enum text_tables text_touches_tables(struct span text, struct text_dialect dialect)
{
	struct raw_scan s = raw_scan_over(text, dialect);
	struct raw_token t = raw_next(&s);
	bool sure = false, perhaps = raw_is(&t, "call") || raw_is(&t, "execute");
	bool own = raw_is(&t, "show"); /* the server's own: tables in some servers */

	if (raw_is(&t, "prepare"))
		return TEXT_TABLES_NONE;
	for (; t.kind != RAW_END; t = raw_next(&s)) {
		sure |= raw_is(&t, "from") || raw_is(&t, "table") || raw_is(&t, "into") ||
			raw_is(&t, "update") || raw_is(&t, "join");
		own |= raw_is(&t, "dual") || raw_is(&t, "information_schema") ||
		       raw_is(&t, "performance_schema");
		perhaps |= t.kind == RAW_OTHER && *t.text.ptr == '(';
	}
	if (sure && !own)
		return TEXT_TABLES_SURE;
	return perhaps || own ? TEXT_TABLES_PERHAPS : TEXT_TABLES_NONE;
}
