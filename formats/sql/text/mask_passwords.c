/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passwords in SQL (sql/text/stmt_classify.h): which literals of a text are secrets of the server or keys.
 * From the manuals: CREATE and ALTER USER, GRANT, SET PASSWORD, CHANGE MASTER and REPLICATION
 * SOURCE, START REPLICA and GROUP_REPLICATION, CREATE SERVER, CLONE INSTANCE, system variables that
 * hold a password, FEDERATED, Spider and CONNECT tables, functions that take a password or a key;
 * the tables of the schema mysql that hold accounts; and SQL in a string that is one of these.
 */
#include "sql/text/raw_token.h"
#include "sql/text/stmt_classify.h"

/* ---- a first sieve ---- */

/* One of these words is in every text that may hold a password.  `end` is where the three letters
 * end by which the word is found. */
static const struct {
	const char *word;
	uint8_t len, end;
} signs[] = {
#define SIGN(word, end)                                                                            \
	{                                                                                          \
		word, sizeof(word) - 1, end                                                        \
	}
	SIGN("passw", 4),
	SIGN("crypt", 3),
	SIGN("identif", 6),
	SIGN("encode", 4),
	SIGN("decode", 4),
	SIGN("root_pwd", 7),
	SIGN("sst_auth", 2),
	SIGN("secret_", 3),
	SIGN("authentication_string", 3),
	SIGN("connection", 4),
	SIGN("keyring_key", 4),
	SIGN("kdf", 2),
	SIGN("asymmetric", 4),
	SIGN("challenge_response", 5),
	SIGN("mysql", 3), /* the schema: SIGN_SCHEMA */
#undef SIGN
};

#define PAIR(a, b) (((a)&31) << 5 | ((b)&31))
enum { PAIR_BEGINS = 255, SIGN_SCHEMA = 14 };

/* By the last two of the three letters: the sign (+ 1) that has them; by the first two:
 * PAIR_BEGINS. No other pair is in one, and the search may step over both letters. */
static const uint8_t pairs[1024] = {
	[PAIR('s', 'w')] = 1,
	[PAIR('y', 'p')] = 2,
	[PAIR('i', 'f')] = 3,
	[PAIR('o', 'd')] = 4, /* and 5 */
	[PAIR('w', 'd')] = 6,
	[PAIR('s', 't')] = 7,
	[PAIR('c', 'r')] = 8,
	[PAIR('t', 'h')] = 9,
	[PAIR('n', 'e')] = 10,
	[PAIR('r', 'i')] = 11,
	[PAIR('d', 'f')] = 12,
	[PAIR('m', 'm')] = 13,
	[PAIR('l', 'e')] = 14,
	[PAIR('s', 'q')] = SIGN_SCHEMA + 1,
	[PAIR('s', 's')] = PAIR_BEGINS,
	[PAIR('r', 'y')] = PAIR_BEGINS,
	[PAIR('t', 'i')] = PAIR_BEGINS,
	[PAIR('c', 'o')] = PAIR_BEGINS,
	[PAIR('p', 'w')] = PAIR_BEGINS,
	[PAIR('e', 'c')] = PAIR_BEGINS,
	[PAIR('u', 't')] = PAIR_BEGINS,
	[PAIR('n', 'n')] = PAIR_BEGINS,
	[PAIR('y', 'r')] = PAIR_BEGINS,
	[PAIR('k', 'd')] = PAIR_BEGINS,
	[PAIR('y', 'm')] = PAIR_BEGINS,
	[PAIR('l', 'l')] = PAIR_BEGINS,
	[PAIR('y', 's')] = PAIR_BEGINS,
};

static bool has_sign(struct span text, size_t at, size_t sign)
{
	size_t len = signs[sign].len, end = signs[sign].end;

	return at >= end && text.len - at >= len - end &&
	       span_ieq_str(span_of(text.ptr + at - end, len), signs[sign].word);
}

/* schema: whether the name of the schema mysql is a sign, too. */
static inline bool find_sign(struct span text, bool schema)
{
	const unsigned char *p = (const unsigned char *)text.ptr;

	for (size_t i = 2; i < text.len;) {
		uint8_t found = pairs[PAIR(p[i - 1], p[i])];

		if (found && found != PAIR_BEGINS && (schema || found != SIGN_SCHEMA + 1) &&
			(has_sign(text, i, found - 1u) || (found == 4 && has_sign(text, i, 4))))
			return true;
		i += found ? 1 : 2;
	}
	return false;
}

bool text_may_hold_password(struct span text)
{
	return find_sign(text, false);
}

bool text_may_hold_account(struct span text)
{
	return find_sign(text, true);
}

/* ---- token by token ---- */

enum { NESTING_MAX = 2 }; /* SQL in a string in a string */

struct masking {
	struct buf *out;    /* NULL: only whether something is found */
	const char *copied; /* up to here the text is in out */
	struct text_dialect dialect;
	int depth; /* of strings that this text stands in */
	bool found, params;
	bool comments;      /* a comment was left out */
	bool in_mysql;      /* the session's schema is mysql */
	bool accounts;      /* the text names a table of accounts: all strings are masked */
	bool begun;         /* after a statement's first word */
	bool data;          /* ... which reads or writes rows: no account's */
	bool defines;       /* ... is CREATE or ALTER: options of tables may hold a password */
	bool account;       /* after IDENTIFIED or SET PASSWORD: BY, AS, USING, REPLACE matter */
	bool expect;        /* the next string is a password */
	bool assigned;      /* ... as it is assigned: so is what a function makes of one */
	bool skip_to_value; /* PASSWORD FOR 'user'@'host' = ... */
	bool connection;    /* the next string may be an address with a password in it */
	bool dynamic;       /* PREPARE or EXECUTE IMMEDIATE: SQL stands in a string */
	int key_depth;      /* in the brackets of a function that takes a key; 0: no */
};

static void mask(struct masking *m, const struct raw_token *t)
{
	m->found = true;
	if (!m->out)
		return;
	buf_add(m->out, m->copied, (size_t)(t->text.ptr - m->copied));
	buf_add_str(m->out, "'***'");
	m->copied = t->text.ptr + t->text.len;
}

static bool ends_with(struct span word, const char *end)
{
	size_t len = strlen(end);

	return word.len >= len && span_ieq_str(span_of(word.ptr + word.len - len, len), end);
}

/* Names of columns, variables and options whose value is a secret. */
static bool names_secret(const struct raw_token *t)
{
	static const char *const ends[] = {"password", "passwd", "sst_auth", "bind_root_pwd",
		"_secret_key", "_secret_id", "authentication_string"};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (ends_with(t->text, ends[i]))
			return true;
	return false;
}

/* Functions whose arguments are passwords or keys; names that end in "password" are too. */
static bool is_key_function(const struct raw_token *t)
{
	static const char *const names[] = {"aes_encrypt", "aes_decrypt", "des_encrypt",
		"des_decrypt", "encode", "decode", "encrypt", "kdf", "validate_password_strength",
		"audit_log_encryption_password_set", "keyring_key_store", "asymmetric_encrypt",
		"asymmetric_decrypt", "asymmetric_sign", "asymmetric_derive",
		"create_asymmetric_pub_key"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (raw_is(t, names[i]))
			return true;
	return ends_with(t->text, "password") || ends_with(t->text, "passwd");
}

static void begin_statement(struct masking *m, const struct raw_token *t)
{
	static const char *const of_data[] = {"select", "insert", "update", "delete", "replace",
		"with", "values", "load", "do", "handler"};

	m->begun = true;
	m->data = false;
	for (size_t i = 0; i < ARRAY_LEN(of_data); i++)
		m->data |= raw_is(t, of_data[i]);
	m->defines = raw_is(t, "create") || raw_is(t, "alter");
}

static void end_statement(struct masking *m)
{
	m->begun = m->account = m->expect = m->skip_to_value = m->dynamic = m->connection = false;
}

/* _utf8'x', N'x', X'41', BINARY 'x' */
static bool introduces(const struct raw_token *t)
{
	return t->text.ptr[0] == '_' || t->text.len == 1 || raw_is(t, "binary");
}

static void mask_word(struct masking *m, const struct raw_token *t, const struct raw_token *next)
{
	if (!m->begun)
		begin_statement(m, t);
	if (raw_is(t, "identified") || raw_is(t, "challenge_response")) {
		m->account = true;
	} else if (raw_is_char(next, '(') && is_key_function(t)) {
		if (!m->key_depth)
			m->key_depth = 1;
		m->expect = false;
	} else if (names_secret(t)) {
		m->account |= !m->data;
		m->assigned = false;
		m->expect = !raw_is(next, "for");
		m->skip_to_value = !m->expect;
	} else if (m->account && (raw_is(t, "by") || raw_is(t, "as") || raw_is(t, "using") ||
					 raw_is(t, "replace"))) {
		m->expect = true;
		m->assigned = false;
	} else if (raw_is(t, "prepare") || raw_is(t, "immediate")) {
		m->dynamic = true;
	} else if (raw_is(t, "connection")) {
		m->connection = true;
	} else if (m->expect && m->assigned && raw_is_char(next, '(')) {
		m->expect = false; /* password = md5('x') */
		m->key_depth = 1;
	} else if (m->expect && !raw_is(t, "random") && !raw_is(t, "to") &&
		   !(next->kind == RAW_STRING && introduces(t))) {
		m->expect = false; /* a name, not a string: EXPIRE, REQUIRE ... */
	}
}

/* user:password@ in an address, or password=..., password "..." in a list of options. */
static bool has_credentials(struct span s, bool address)
{
	const char *at = address ? memchr(s.ptr, '@', s.len) : NULL, *scheme;

	if (at) {
		scheme = memmem(s.ptr, s.len, "://", 3);
		if (scheme && scheme < at && memchr(scheme + 3, ':', (size_t)(at - scheme - 3)))
			return true;
	}
	for (size_t i = 0; i + 5 <= s.len; i++) {
		size_t k = i + 5;

		if (!span_ieq_str(span_of(s.ptr + i, 5), "passw"))
			continue;
		while (k < s.len && (s.ptr[k] | 0x20) >= 'a' && (s.ptr[k] | 0x20) <= 'z')
			k++;
		while (k < s.len && (char_is_blank(s.ptr[k]) || s.ptr[k] == '\\'))
			k++;
		if (k < s.len && (s.ptr[k] == '=' || s.ptr[k] == '"' || s.ptr[k] == '\''))
			return true;
	}
	return false;
}

static bool mask_text(struct masking *m, struct span text);

/* SQL that is kept in a variable, or given to a procedure. */
static bool holds_secret_sql(const struct masking *m, struct span content)
{
	struct masking inner = {.dialect = m->dialect, .depth = m->depth + 1};

	return inner.depth <= NESTING_MAX && mask_text(&inner, content) && inner.found;
}

static bool is_secret_string(const struct masking *m, const struct raw_token *t)
{
	if (m->expect || m->key_depth > 1 || m->accounts || m->dynamic)
		return true;
	if (m->connection && has_credentials(t->content, true))
		return true;
	if (!text_may_hold_account(t->content))
		return false;
	return (m->defines && has_credentials(t->content, false)) ||
	       holds_secret_sql(m, t->content);
}

static void mask_token(struct masking *m, const struct raw_token *t, const struct raw_token *next)
{
	bool hex = t->kind == RAW_NUMBER && t->text.len > 2 && (t->text.ptr[1] | 0x20) == 'x';

	switch (t->kind) {
	case RAW_STRING:
		if (is_secret_string(m, t))
			mask(m, t);
		/* 'a' 'b' is one. */
		m->expect &= next->kind == RAW_STRING;
		m->connection = false;
		return;
	case RAW_NUMBER:
		if ((hex && (m->expect || m->accounts)) || m->key_depth > 1)
			mask(m, t);
		m->expect = false;
		return;
	case RAW_WORD:
		mask_word(m, t, next);
		return;
	case RAW_OTHER:
		break;
	case RAW_QUOTED:
		/* A column `password` is meant like one without quotes. */
		m->expect = m->key_depth == 0 &&
			    names_secret(&(struct raw_token){RAW_WORD, t->content, t->content});
		m->assigned = false;
		return;
	case RAW_END:
		return;
	}
	if (m->key_depth && raw_is_char(t, '('))
		m->key_depth++;
	else if (m->key_depth && raw_is_char(t, ')') && --m->key_depth == 1)
		m->key_depth = 0;
	if (raw_is_char(t, '=')) {
		m->expect |= m->skip_to_value;
		m->skip_to_value = false;
		m->assigned = true;
	}
	if (raw_is_char(t, '?') && (m->expect || m->key_depth > 1 || m->accounts))
		m->params = true;
	if (raw_is_char(t, ',') || raw_is_char(t, ')') || raw_is_char(t, '?'))
		m->expect = false;
	if (raw_is_char(t, ';'))
		end_statement(m);
}

/* Tables of the schema mysql with passwords or their hashes: "Grant System Tables", mysql.servers,
 * "Replication Metadata Repositories", the password reuse plugins. */
bool text_is_account_table(struct span name)
{
	static const char *const names[] = {"user", "global_priv", "servers", "slave_master_info",
		"password_history", "password_reuse_check_history"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_ieq_str(name, names[i]))
			return true;
	return false;
}

static bool names_account_table(struct span text, struct text_dialect dialect, bool in_mysql)
{
	struct raw_scan s = raw_scan_over(text, dialect);
	bool schema = false, dot = false;

	for (struct raw_token t = raw_next(&s); t.kind != RAW_END; t = raw_next(&s)) {
		bool name = t.kind == RAW_WORD || t.kind == RAW_QUOTED;

		if (name && text_is_account_table(t.content) && (in_mysql || (schema && dot)))
			return true;
		dot = schema && raw_is_char(&t, '.');
		schema = dot || (name && span_ieq_str(t.content, "mysql"));
	}
	return false;
}

/* A comment with a sign may quote what was once a password; the server does not read it. */
static void mask_gap(struct masking *m, const char *from, const char *to)
{
	struct span gap = span_of(from, (size_t)(to - from));

	if (gap.len < 3 || !text_may_hold_account(gap))
		return;
	for (size_t i = 0; i < gap.len; i++) {
		if (!strchr("'\"=:", gap.ptr[i]) || !gap.ptr[i])
			continue;
		m->comments = true;
		if (m->out) {
			buf_add(m->out, m->copied, (size_t)(from - m->copied));
			buf_add_char(m->out, ' ');
			m->copied = to;
		}
		return;
	}
}

/* False: nothing in it can be a password. */
static bool mask_text(struct masking *m, struct span text)
{
	const char *end = text.ptr;
	struct raw_scan s;
	struct raw_token t, next;

	if (!m->in_mysql && !text_may_hold_account(text))
		return false;
	m->accounts = names_account_table(text, m->dialect, m->in_mysql);
	s = raw_scan_over(text, m->dialect);
	for (t = raw_next(&s); t.kind != RAW_END; t = next) {
		next = raw_next(&s);
		mask_gap(m, end, t.text.ptr);
		mask_token(m, &t, &next);
		end = t.text.ptr + t.text.len;
	}
	mask_gap(m, end, text.ptr + text.len);
	return true;
}

bool text_mask_passwords(struct span text, struct text_dialect dialect, bool in_mysql,
	struct buf *out, struct text_secrets *secrets)
{
	struct masking m = {
		.out = out, .copied = text.ptr, .dialect = dialect, .in_mysql = in_mysql};

	*secrets = (struct text_secrets){0};
	if (mask_text(&m, text))
		*secrets = (struct text_secrets){m.found, m.params, m.accounts};
	if (!m.found && !m.comments)
		return false;
	buf_add(out, m.copied, (size_t)(text.ptr + text.len - m.copied));
	return true;
}
