/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/look.h"

#include "trace/record.h"

/* ---- tokens ---- */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_QUOTED, TOKEN_NUMBER, TOKEN_OTHER };

struct token {
	enum token_kind kind;
	struct span text;    /* as it stands, quotes included */
	struct span content; /* of strings, without the quotes */
};

struct scan {
	const char *p, *end;
	struct look_dialect dialect;
};

static bool is_word(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c >= 0x80;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Comments; those that the server executes are opened and their content looked at. */
static bool skip_comment(struct scan *s)
{
	size_t left = (size_t)(s->end - s->p);
	const char *close;

	if (*s->p == '#' || (left >= 2 && s->p[0] == '-' && s->p[1] == '-' &&
				    (left == 2 || is_space(s->p[2])))) {
		const char *newline = memchr(s->p, '\n', left);

		s->p = newline ? newline + 1 : s->end;
		return true;
	}
	if (left >= 2 && s->p[0] == '*' && s->p[1] == '/') {
		s->p += 2;
		return true;
	}
	if (left < 2 || s->p[0] != '/' || s->p[1] != '*')
		return false;
	if (left >= 3 && (s->p[2] == '!' || (left >= 4 && s->p[2] == 'M' && s->p[3] == '!'))) {
		s->p += s->p[2] == '!' ? 3 : 4;
		while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
			s->p++;
		return true;
	}
	close = memmem(s->p + 2, left - 2, "*/", 2);
	s->p = close ? close + 2 : s->end;
	return true;
}

static struct token read_quoted(struct scan *s)
{
	char quote = *s->p;
	const char *start = s->p++;
	bool string = quote == '\'' || (quote == '"' && !s->dialect.ansi_quotes);
	bool escapes = string && !s->dialect.no_backslash_escapes;
	struct token t = {string ? TOKEN_STRING : TOKEN_QUOTED, SPAN_NONE, SPAN_NONE};

	while (s->p < s->end) {
		if (escapes && *s->p == '\\' && s->p + 1 < s->end) {
			s->p += 2;
		} else if (*s->p == quote) {
			if (s->p + 1 >= s->end || s->p[1] != quote)
				break;
			s->p += 2; /* doubled */
		} else {
			s->p++;
		}
	}
	t.content = span_of(start + 1, (size_t)(s->p - start - 1));
	if (s->p < s->end)
		s->p++;
	t.text = span_of(start, (size_t)(s->p - start));
	return t;
}

static struct token next_token(struct scan *s)
{
	struct token t = {TOKEN_END, SPAN_NONE, SPAN_NONE};
	const char *start;

	while (s->p < s->end && (is_space(*s->p) || skip_comment(s)))
		if (s->p < s->end && is_space(*s->p))
			s->p++;
	if (s->p >= s->end)
		return t;
	start = s->p;
	if (*s->p == '\'' || *s->p == '"' || *s->p == '`')
		return read_quoted(s);
	if (is_word((unsigned char)*s->p)) {
		while (s->p < s->end && is_word((unsigned char)*s->p))
			s->p++;
		t.kind = *start >= '0' && *start <= '9' ? TOKEN_NUMBER : TOKEN_WORD;
	} else {
		s->p++;
		t.kind = TOKEN_OTHER;
	}
	t.text = t.content = span_of(start, (size_t)(s->p - start));
	return t;
}

static bool is(const struct token *t, const char *word)
{
	return t->kind == TOKEN_WORD && span_ieq_str(t->text, word);
}

static bool is_char(const struct token *t, char c)
{
	return t->kind == TOKEN_OTHER && t->text.ptr[0] == c;
}

static struct scan scan_over(struct span text, struct look_dialect dialect)
{
	const char *p = text.ptr ? text.ptr : "";

	return (struct scan){p, p + text.len, dialect};
}

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

static enum look_class class_of(const struct token *t)
{
	if (t->kind == TOKEN_OTHER && t->text.ptr[0] == '(')
		return LOOK_READ; /* (SELECT ...) UNION ... */
	if (t->kind != TOKEN_WORD)
		return LOOK_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LEN(first_words); i++)
		if (is(t, first_words[i].word))
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
		if (is_space(text.ptr[i]) || text.ptr[i] == '-')
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

enum scope { SCOPE_NONE, SCOPE_SESSION, SCOPE_GLOBAL, SCOPE_NEXT };

static enum scope scope_of(const struct token *t)
{
	if (is(t, "session") || is(t, "local"))
		return SCOPE_SESSION;
	if (is(t, "global") || is(t, "persist"))
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
static struct token set_transaction(struct scan *s, struct look *out, enum scope scope)
{
	struct token t = next_token(s);

	while (t.kind != TOKEN_END && !is_char(&t, ';')) {
		if (is(&t, "level")) {
			struct token word = next_token(s);
			struct span level = word.text;

			if (is(&word, "read") || is(&word, "repeatable")) {
				struct token second = next_token(s);

				if (second.text.ptr)
					level = span_of(word.text.ptr,
						(size_t)(second.text.ptr + second.text.len -
							 word.text.ptr));
			}
			set_level(out, scope == SCOPE_NONE ? SCOPE_NEXT : scope, look_level(level));
		}
		t = next_token(s);
	}
	return t;
}

/* SET name = value, ...: only the isolation level and autocommit matter.  Where a scope word is
 * given it holds for what follows without one, as in MySQL; @@name alone is the next transaction.
 */
static struct token look_at_set(struct scan *s, struct look *out)
{
	enum scope sticky = SCOPE_NONE;
	struct token t = next_token(s);

	if (is(&t, "statement")) { /* MariaDB: SET STATEMENT ... FOR another statement */
		out->class = LOOK_UNKNOWN;
		return t;
	}
	if (is(&t, "password") || is(&t, "role") || is(&t, "default"))
		out->class = LOOK_DEFINE;
	for (;;) {
		enum scope scope = sticky;
		unsigned at_signs = 0;

		if (scope_of(&t) != SCOPE_NONE) {
			scope = sticky = scope_of(&t);
			t = next_token(s);
		}
		if (is(&t, "transaction"))
			return set_transaction(s, out, scope);
		while (is_char(&t, '@')) {
			at_signs++;
			t = next_token(s);
		}
		if (at_signs == 2) {
			struct scan ahead = *s;
			struct token dot = next_token(&ahead);

			scope = SCOPE_NEXT;
			if (is_char(&dot, '.') && scope_of(&t) != SCOPE_NONE) {
				scope = scope_of(&t);
				*s = ahead;
				t = next_token(s);
			}
		}
		if (at_signs != 1 && (is(&t, "transaction_isolation") || is(&t, "tx_isolation"))) {
			do
				t = next_token(s);
			while (is_char(&t, '=') || is_char(&t, ':'));
			set_level(out, scope,
				t.kind == TOKEN_STRING ? look_level(t.content)
				: is_char(&t, '@')     ? LOOK_LEVEL_UNREADABLE
						       : look_level(t.text));
		} else if (at_signs != 1 && is(&t, "autocommit")) {
			out->sets_autocommit = true;
		}
		/* On to the next assignment; brackets may hold commas. */
		for (int depth = 0; t.kind != TOKEN_END && !is_char(&t, ';'); t = next_token(s)) {
			depth += is_char(&t, '(') ? 1 : is_char(&t, ')') ? -1 : 0;
			if (depth <= 0 && is_char(&t, ','))
				break;
		}
		if (!is_char(&t, ','))
			return t;
		t = next_token(s);
	}
}

static void take_name(struct scan *s, struct span *name)
{
	struct token t = next_token(s);

	if (t.kind != TOKEN_END)
		*name = t.content;
}

static void look_at_xa(struct scan *s, struct look *out, struct span *name)
{
	struct token t = next_token(s);

	if (is(&t, "start") || is(&t, "begin"))
		out->class = LOOK_XA_BEGIN;
	else if (is(&t, "end"))
		out->class = LOOK_XA_END;
	else if (is(&t, "prepare"))
		out->class = LOOK_XA_PREPARE;
	else if (is(&t, "commit"))
		out->class = LOOK_XA_COMMIT;
	else if (is(&t, "rollback"))
		out->class = LOOK_XA_ROLLBACK;
	else
		out->class = LOOK_NEUTRAL;
	take_name(s, name);
}

/* The rest of a transaction statement: WITH CONSISTENT SNAPSHOT, AND CHAIN, TO SAVEPOINT x. */
static struct token look_at_txn_words(struct scan *s, struct look *out, struct span *name)
{
	struct token t = next_token(s), before = {TOKEN_END, SPAN_NONE, SPAN_NONE};

	if (out->class == LOOK_BEGIN && is(&t, "not")) {
		/* MariaDB's BEGIN NOT ATOMIC: a block, with semicolons of its own. */
		out->class = LOOK_CALL;
		s->p = s->end;
		return next_token(s);
	}
	for (; t.kind != TOKEN_END && !is_char(&t, ';'); before = t, t = next_token(s)) {
		if (is(&t, "snapshot"))
			out->consistent_snapshot = true;
		else if (is(&t, "chain") && !is(&before, "no"))
			out->chain = true;
		else if (is(&t, "to") && out->class == LOOK_ROLLBACK) {
			out->class = LOOK_ROLLBACK_TO;
			take_name(s, name);
			if (name->ptr && span_ieq_str(*name, "savepoint"))
				take_name(s, name);
		}
	}
	return t;
}

static void look_at_more(struct scan *s, struct token *t, struct look *out, struct span *name)
{
	if (is(t, "start")) {
		*t = next_token(s);
		out->class = is(t, "transaction") ? LOOK_BEGIN : LOOK_DEFINE; /* START SLAVE */
	} else if (is(t, "with")) {
		/* A common table expression: the statement's own word comes at bracket depth 0. */
		int depth = 0;

		out->class = LOOK_READ;
		for (*t = next_token(s); t->kind != TOKEN_END && !is_char(t, ';');
			*t = next_token(s)) {
			depth += is_char(t, '(') ? 1 : is_char(t, ')') ? -1 : 0;
			if (depth == 0 && (is(t, "update") || is(t, "delete") || is(t, "insert")))
				out->class = LOOK_WRITE;
		}
	} else if (is(t, "xa")) {
		look_at_xa(s, out, name);
	} else if (is(t, "analyze")) {
		/* MariaDB's ANALYZE [FORMAT=JSON] runs the statement behind it; else it is a
		 * table's. */
		*t = next_token(s);
		if (is(t, "format"))
			for (int i = 0; i < 3; i++)
				*t = next_token(s);
		if (is(t, "with"))
			out->class = LOOK_UNKNOWN;
		else if (class_of(t) == LOOK_WRITE || class_of(t) == LOOK_READ)
			out->class = is(t, "table") ? LOOK_DEFINE : (uint8_t)class_of(t);
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
		*t = next_token(s); /* SAVEPOINT */
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
	struct scan s = scan_over(text, dialect);
	struct token t = next_token(&s);

	*out = (struct look){.class = LOOK_NEUTRAL};
	*rest = span_of("", 0);
	*name = SPAN_NONE;
	if (t.kind == TOKEN_END)
		return;
	if (is_char(&t, ';')) {
		*rest = span_of(s.p, (size_t)(s.end - s.p));
		return;
	}
	out->class = (uint8_t)class_of(&t);
	look_at_more(&s, &t, out, name);
	/* Most texts have no semicolon: not worth reading them to the end. */
	if (!is_char(&t, ';') && !memchr(s.p, ';', (size_t)(s.end - s.p)))
		return;
	/* The body of a stored program has semicolons of its own: not several statements. */
	if (out->class == LOOK_DEFINE && !dialect.no_backslash_escapes) {
		struct scan again = scan_over(text, dialect);
		struct token word;

		for (int i = 0; i < 12; i++) {
			word = next_token(&again);
			if (is(&word, "procedure") || is(&word, "function") ||
				is(&word, "trigger") || is(&word, "event") || is(&word, "package"))
				return;
		}
	}
	while (t.kind != TOKEN_END && !is_char(&t, ';'))
		t = next_token(&s);
	if (is_char(&t, ';'))
		*rest = span_of(s.p, (size_t)(s.end - s.p));
}

bool look_has_from(struct span text, struct look_dialect dialect)
{
	struct scan s = scan_over(text, dialect);
	struct token t;

	do {
		t = next_token(&s);
		if (is(&t, "from") || is(&t, "table") || is(&t, "into") || is(&t, "update") ||
			is(&t, "join"))
			return true;
	} while (t.kind != TOKEN_END);
	return false;
}

/* ---- passwords ---- */

/* Horspool's search for a lower-case word, whatever the case of the text. */
static bool has_word(struct span text, const char *word, size_t len)
{
	const unsigned char *p = (const unsigned char *)text.ptr;

	for (size_t i = len - 1; i < text.len;) {
		unsigned char c = p[i] | 0x20;
		size_t skip = len;

		for (size_t k = 0; k < len - 1; k++)
			if ((unsigned char)word[k] == c)
				skip = len - 1 - k;
		if (c == (unsigned char)word[len - 1]) {
			size_t k = 0;

			while (k < len && (p[i - len + 1 + k] | 0x20) == (unsigned char)word[k])
				k++;
			if (k == len)
				return true;
		}
		i += skip;
	}
	return false;
}

static bool may_hold_password(struct span text)
{
	return text.len >= 5 && (has_word(text, "passw", 5) || has_word(text, "crypt", 5) ||
					has_word(text, "identif", 7) ||
					has_word(text, "encode", 6) || has_word(text, "decode", 6));
}

struct masking {
	struct buf *out;
	const char *copied; /* up to here the text is in out */
	bool found, params;
	bool account;       /* behind IDENTIFIED or SET PASSWORD: BY, AS, USING, REPLACE matter */
	bool expect;        /* the next string is a password */
	bool skip_to_value; /* PASSWORD FOR 'user'@'host' = ... */
	bool dynamic;       /* PREPARE or EXECUTE IMMEDIATE: SQL stands in a string */
	int key_depth;      /* in the brackets of a function that takes a key; 0: no */
};

static void mask(struct masking *m, const struct token *t)
{
	buf_add(m->out, m->copied, (size_t)(t->text.ptr - m->copied));
	buf_add_str(m->out, "'***'");
	m->copied = t->text.ptr + t->text.len;
	m->found = true;
	m->expect = false;
}

static bool ends_with_password(struct span word)
{
	return word.len >= 8 && span_ieq_str(span_of(word.ptr + word.len - 8, 8), "password");
}

static bool is_key_function(const struct token *t)
{
	static const char *const names[] = {"aes_encrypt", "aes_decrypt", "des_encrypt",
		"des_decrypt", "encode", "decode", "encrypt", "kdf"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (is(t, names[i]))
			return true;
	return false;
}

static void mask_word(struct masking *m, const struct token *t, const struct token *next)
{
	if (is(t, "identified")) {
		m->account = true;
	} else if (ends_with_password(t->text)) {
		m->account = true;
		if (is(next, "for"))
			m->skip_to_value = true;
		else
			m->expect = true;
	} else if (m->account &&
		   (is(t, "by") || is(t, "as") || is(t, "using") || is(t, "replace"))) {
		m->expect = true;
	} else if (is_key_function(t) && is_char(next, '(')) {
		m->key_depth = 1;
	} else if (is(t, "prepare") || is(t, "immediate")) {
		m->dynamic = true;
	} else if (m->expect && !is(t, "random") && !is(t, "to")) {
		m->expect = false; /* a name, not a string: EXPIRE, REQUIRE ... */
	}
}

static void mask_token(struct masking *m, const struct token *t, const struct token *next)
{
	bool hex = t->kind == TOKEN_NUMBER && t->text.len > 2 && (t->text.ptr[1] | 0x20) == 'x';

	switch (t->kind) {
	case TOKEN_STRING:
		if (m->expect || m->key_depth > 1 || (m->dynamic && may_hold_password(t->content)))
			mask(m, t);
		return;
	case TOKEN_NUMBER:
		if (hex && (m->expect || m->key_depth > 1))
			mask(m, t);
		return;
	case TOKEN_WORD:
		mask_word(m, t, next);
		return;
	case TOKEN_OTHER:
		break;
	case TOKEN_QUOTED:
	case TOKEN_END:
		return;
	}
	if (m->key_depth && is_char(t, '('))
		m->key_depth++;
	else if (m->key_depth && is_char(t, ')') && --m->key_depth == 1)
		m->key_depth = 0;
	if (m->skip_to_value && is_char(t, '=')) {
		m->skip_to_value = false;
		m->expect = true;
	}
	if (is_char(t, '?') && (m->expect || m->key_depth > 1))
		m->params = true;
	if (is_char(t, ';'))
		m->account = m->expect = m->skip_to_value = m->dynamic = false;
}

bool look_mask(struct span text, struct look_dialect dialect, struct buf *out, bool *params_secret)
{
	struct scan s;
	struct masking m = {.out = out, .copied = text.ptr};
	struct token t, next;
	size_t start = out->len;

	*params_secret = false;
	if (!may_hold_password(text))
		return false;
	s = scan_over(text, dialect);
	for (t = next_token(&s); t.kind != TOKEN_END; t = next) {
		next = next_token(&s);
		mask_token(&m, &t, &next);
	}
	*params_secret = m.params;
	if (!m.found) {
		out->len = start;
		return false;
	}
	buf_add(out, m.copied, (size_t)(text.ptr + text.len - m.copied));
	return true;
}
