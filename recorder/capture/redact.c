/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/chars.h"
#include "base/mem.h"
#include "base/siphash.h"
#include "sql/token.h"
#include "trace/value.h"

enum { HASH_SIZE = 16 };

/* ---- the key ---- */

static bool read_key(struct redact *redact, const char *file, struct err *err)
{
	unsigned char bytes[REDACT_KEY_FILE_MAX];
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	int code = errno;
	struct siphash sip;

	if (fd >= 0)
		close(fd);
	if (len < 0)
		return err_set_errno(err, code, "--redact-key %s: cannot be read", file);
	if (len < REDACT_KEY_SIZE)
		return err_set(err, ERR_USAGE, "--redact-key %s: has fewer than %d bytes", file,
			REDACT_KEY_SIZE);
	siphash_init(&sip, NULL, true);
	siphash_add(&sip, bytes, (size_t)len);
	siphash_final(&sip, redact->key);
	mem_wipe(bytes, sizeof(bytes));
	return true;
}

bool redact_init(struct redact *redact, const char *what, enum redact_how how, const char *key_file,
	struct err *err)
{
	*redact = (struct redact){.on = true, .how = how, .all = strcmp(what, "all") == 0};
	if (!redact->all && !filter_compile(&redact->columns, "--redact", what, err))
		return false;
	if (key_file)
		return read_key(redact, key_file, err);
	if (getrandom(redact->key, sizeof(redact->key), 0) != (ssize_t)sizeof(redact->key))
		return err_set_errno(err, errno, "no random numbers for the key of --redact");
	return true;
}

void redact_release(struct redact *redact)
{
	filter_pattern_release(&redact->columns);
	mem_wipe(redact->key, sizeof(redact->key));
}

bool redact_column(const struct redact *redact, struct span name)
{
	return redact->all || filter_matches(&redact->columns, name);
}

/* ---- single values ---- */

static void hash(const struct redact *redact, struct span s, unsigned char out[HASH_SIZE])
{
	struct siphash sip;

	siphash_init(&sip, redact->key, true);
	siphash_add(&sip, s.ptr, s.len);
	siphash_final(&sip, out);
}

/* A number's shortest form: no leading zeros or plus, no zeros after the point.  `out` has room
 * for s.len + 2 bytes. */
static struct span plain_number(struct span s, char *out)
{
	size_t at = 0, len = 0;
	bool negative = s.len && s.ptr[0] == '-';
	const char *point;

	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		at = 1;
	while (at < s.len && s.ptr[at] == '0')
		at++;
	point = memchr(s.ptr + at, '.', s.len - at);
	if (point) {
		while (s.ptr[s.len - 1] == '0')
			s.len--;
		if (s.ptr[s.len - 1] == '.')
			s.len--;
	}
	if (at == s.len)
		return SPAN_LIT("0");
	if (negative)
		out[len++] = '-';
	if (s.ptr[at] == '.')
		out[len++] = '0';
	memcpy(out + len, s.ptr + at, s.len - at);
	return span_of(out, len + s.len - at);
}

static struct span plain_double(double d, char out[64])
{
	int len;

	if (fabs(d) < 9007199254740992.0 && d == floor(d))
		len = snprintf(out, 64, "%lld", (long long)d);
	else
		len = snprintf(out, 64, "%.17g", d);
	return span_of(out, (size_t)len);
}

static void hash_value(
	const struct redact *redact, const struct value *value, unsigned char out[HASH_SIZE])
{
	char text[64], *number = NULL;
	struct span s = value->bytes;

	switch (value->type) {
	case VALUE_INT:
		s = span_of(
			text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)value->i));
		break;
	case VALUE_UINT:
		s = span_of(text,
			(size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)value->u));
		break;
	case VALUE_DOUBLE:
	case VALUE_FLOAT:
		s = plain_double(value->d, text);
		break;
	case VALUE_DECIMAL:
		number = mem_alloc(s.len + 2);
		s = plain_number(s, number);
		break;
	case VALUE_NULL:
	case VALUE_TEXT:
	case VALUE_BYTES:
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
	case VALUE_JSON:
	case VALUE_BIT:
	case VALUE_GEOMETRY:
	case VALUE_HASHED:
	case VALUE_CUT:
	case VALUE_DROPPED:
		break;
	}
	hash(redact, s, out);
	mem_free(number);
}

void redact_packed(const struct redact *redact, struct buf *out, size_t start)
{
	struct mp mp = mp_over(span_of(out->data + start, out->len - start));
	unsigned char hashed[HASH_SIZE];
	struct value value;

	if (!value_read(&mp, &value))
		value = (struct value){.type = VALUE_DROPPED, .bytes = span_of("", 0)};
	if (value.type == VALUE_NULL)
		return;
	if (redact->how == REDACT_HASH) {
		/* Of a value too long to keep, the length and digest are all there is to hash. */
		if (value.type == VALUE_CUT)
			value.bytes.len = 16;
		hash_value(redact, &value, hashed);
		value = (struct value){
			.type = VALUE_HASHED, .bytes = span_of(hashed, sizeof(hashed))};
	} else {
		value = (struct value){.type = VALUE_DROPPED, .bytes = span_of("", 0)};
	}
	mem_wipe(out->data + start, out->len - start);
	out->len = start;
	value_pack(out, &value);
}

/* ---- statements ---- */

struct reading {
	struct buf text; /* with a NUL after, as the scanner wants */
	struct scanner scanner;
	struct sql_options options;
	struct arena arena;
};

static bool reading_begin(struct reading *r, struct span text, struct text_dialect dialect)
{
	*r = (struct reading){
		.text = BUF_INIT, .options = text_sql_options(dialect), .arena = ARENA_INIT};
	if (text.len >= UINT32_MAX)
		return false;
	buf_add_span(&r->text, text);
	scan_init(&r->scanner, r->text.data, (uint32_t)text.len, &r->options);
	r->scanner.lenient = true;
	return true;
}

static void reading_end(struct reading *r)
{
	arena_release(&r->arena);
	buf_release(&r->text);
}

static struct span content(struct reading *r, struct token t)
{
	return token_value(r->text.data, t, r->options.mode, &r->arena);
}

static bool is_name(struct token t)
{
	return t.kind == T_IDENT || t.kind == T_QUOTED || (t.flags & TF_NAME);
}

/* After INSERT or REPLACE: the columns are named, in brackets after the table or with SET. */
static bool names_columns(
	struct reading *r, struct token t, bool *chosen, const struct redact *redact)
{
	/* Words before the table (IGNORE, INTO ...) are names or keywords like it: the list is the
	 * first bracket, unless a query or rows come first. */
	for (; t.kind != T_EOF && t.kind != T_ERROR; t = scan_next(&r->scanner)) {
		if (is_name(t))
			*chosen |= redact_column(redact, content(r, t));
		switch (t.kind) {
		case T_SET:
			return true;
		case T_PARTITION:
			t = scan_next(&r->scanner);
			while (t.kind != T_RPAREN && t.kind != T_EOF && t.kind != T_ERROR)
				t = scan_next(&r->scanner);
			break;
		case T_LPAREN:
			t = scan_next(&r->scanner);
			if (is_name(t))
				*chosen |= redact_column(redact, content(r, t));
			return is_name(t) && t.kind != T_SELECT && t.kind != T_VALUES;
		case T_VALUES:
		case T_VALUE:
		case T_SELECT:
		case T_WITH:
		case T_TABLE:
		case T_SEMICOLON:
			return false;
		default:
			break;
		}
	}
	return false;
}

/* After SHOW: lists of names and of settings.  Others quote statements, warnings or rows. */
static bool shows_names(struct reading *r)
{
	static const char *const modifiers[] = {"full", "extended", "global", "session", "local"};
	static const char *const names[] = {"character", "charset", "collation", "columns",
		"create", "databases", "engines", "fields", "index", "indexes", "keys", "open",
		"plugins", "schemas", "status", "storage", "table", "tables", "variables"};
	struct span word = content(r, scan_next(&r->scanner));

	for (size_t i = 0; i < ARRAY_LEN(modifiers); i++)
		if (span_ieq_str(word, modifiers[i]))
			word = content(r, scan_next(&r->scanner));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_ieq_str(word, names[i]))
			return true;
	return false;
}

/* By the names in the text alone. */
static enum redact_reach reach_by_names(
	const struct redact *redact, struct span text, struct text_dialect dialect)
{
	struct reading r;
	struct token t, before = {.kind = T_SEMICOLON};
	bool chosen = false;
	unsigned selects = 0;

	if (!reading_begin(&r, text, dialect)) {
		reading_end(&r);
		return REDACT_WHOLE;
	}
	for (t = scan_next(&r.scanner); t.kind != T_EOF; t = scan_next(&r.scanner)) {
		bool first = before.kind == T_SEMICOLON;

		before = t;
		selects += t.kind == T_SELECT || t.kind == T_TABLE || t.kind == T_VALUES;
		if (t.kind == T_ERROR) {
			chosen = true;
			selects = 2;
			break;
		} else if (first && t.kind == T_SHOW) {
			if (!shows_names(&r)) {
				chosen = true;
				selects = 2;
			}
		} else if (first && (t.kind == T_CALL || t.kind == T_LOAD || t.kind == T_EXECUTE ||
					    t.kind == T_PREPARE || t.kind == T_HANDLER)) {
			chosen = true;
			selects = 2;
		} else if (t.kind == T_INSERT || (t.kind == T_REPLACE && !(t.flags & TF_CALL))) {
			struct token next = scan_next(&r.scanner);

			if (!names_columns(&r, next, &chosen, redact))
				chosen = true;
		} else if (t.kind == T_USER_VAR) {
			chosen = true; /* may hold what was read from any column */
		} else if (is_name(t)) {
			chosen |= redact_column(redact, content(&r, t));
		}
	}
	reading_end(&r);
	if (!chosen)
		return selects > 1 ? REDACT_RENAMED : REDACT_NOTHING;
	return selects > 1 ? REDACT_WHOLE : REDACT_COMPUTED;
}

enum redact_reach redact_statement(const struct redact *redact, struct span text,
	struct span database, struct text_dialect dialect)
{
	struct sql_options options = text_sql_options(dialect);
	enum redact_reach reach;

	if (redact->all)
		return REDACT_WHOLE;
	reach = reach_by_names(redact, text, dialect);
	/* Asked in any case: it may raise the doubt. */
	return base_tables_is_certain(redact->base_tables, text, database, &options) ? reach : REDACT_WHOLE;
}

bool redact_result_column(const struct redact *redact, enum redact_reach reach,
	const struct wire_column_names *names)
{
	if (reach == REDACT_WHOLE || redact_column(redact, names->name) ||
		redact_column(redact, names->name_original))
		return true;
	if (!names->table_original.len || !names->name_original.len)
		return reach != REDACT_NOTHING;
	return !base_tables_knows(redact->base_tables, names->schema, names->table_original);
}

bool redact_is_harmless_error(uint16_t error)
{
	/* Names, numbers of connections, and fixed texts. */
	static const uint16_t harmless[] = {1020, 1045, 1046, 1047, 1049, 1053, 1146, 1180, 1205,
		1213, 1290, 1317, 1836, 1927, 3101};

	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (harmless[i] == error)
			return true;
	return false;
}

/* ---- text ---- */

static bool is_literal(struct token t)
{
	switch (t.kind) {
	case T_L_INT:
	case T_L_DECIMAL:
	case T_L_FLOAT:
	case T_L_HEX:
	case T_HEX_STR:
	case T_L_BIT:
	case T_BIT_STR:
	case T_STRING:
	case T_NSTRING:
		return true;
	default:
		return false;
	}
}

/* The bytes of 0x4142 and x'4142'. */
static struct span hex_bytes(struct reading *r, struct token t)
{
	const char *p = r->text.data + t.start + 2;
	size_t digits = t.end - t.start - (t.kind == T_HEX_STR ? 3 : 2), len = 0;
	char *out = arena_alloc(&r->arena, digits / 2 + 2);

	if (digits & 1)
		out[len++] = (char)char_hex_value(*p++);
	for (size_t i = digits & 1; i + 1 < digits + (digits & 1); i += 2, p += 2)
		out[len++] = (char)(char_hex_value(p[0]) << 4 | char_hex_value(p[1]));
	return span_of(out, len);
}

static void add_hashed(struct buf *out, const unsigned char hashed[HASH_SIZE])
{
	buf_add_str(out, "redacted:");
	for (size_t i = 0; i < HASH_SIZE; i++)
		buf_printf(out, "%02x", hashed[i]);
}

static void add_literal(const struct redact *redact, struct reading *r, struct token t,
	bool negative, struct buf *out)
{
	struct span s = content(r, t);
	unsigned char hashed[HASH_SIZE];
	char *number;

	if (redact->how == REDACT_DROP || span_eq_str(s, "***")) {
		buf_add_str(out, "'***'"); /* the second: a password that was masked before */
		return;
	}
	if (t.kind == T_L_HEX || t.kind == T_HEX_STR) {
		s = hex_bytes(r, t);
	} else if (t.kind == T_L_FLOAT) {
		char text[64];
		double d = strtod(r->text.data + t.start, NULL);

		hash(redact, plain_double(negative ? -d : d, text), hashed);
		s = SPAN_NONE;
	} else if (t.kind == T_L_INT || t.kind == T_L_DECIMAL) {
		number = arena_alloc(&r->arena, s.len + 1);
		number[0] = '-';
		memcpy(number + 1, s.ptr, s.len);
		s = negative ? span_of(number, s.len + 1) : s;
		s = plain_number(s, arena_alloc(&r->arena, s.len + 2));
	}
	if (s.ptr)
		hash(redact, s, hashed);
	buf_add_char(out, '\'');
	add_hashed(out, hashed);
	buf_add_char(out, '\'');
}

void redact_name(const struct redact *redact, struct span name, struct buf *out)
{
	unsigned char hashed[HASH_SIZE];

	if (redact->how == REDACT_DROP) {
		buf_add_str(out, "***");
		return;
	}
	hash(redact, name, hashed);
	add_hashed(out, hashed);
}

/* After these a minus is a sign. */
static bool begins_operand(struct token t)
{
	switch (t.kind) {
	case T_LPAREN:
	case T_COMMA:
	case T_EQ:
	case T_NULL_EQ:
	case T_NE:
	case T_LT:
	case T_LE:
	case T_GT:
	case T_GE:
	case T_ASSIGN:
		return true;
	default:
		return t.kind >= T_FIRST_KEYWORD && !(t.flags & TF_NAME);
	}
}

/* Counts of LIMIT and lengths of types are no data.  In definitions without a query numbers are
 * lengths nearly always. */
struct place {
	bool limit, definition;
	bool value; /* after DEFAULT */
};

static void place_after(struct place *place, struct token t)
{
	if (t.kind == T_LIMIT || t.kind == T_OFFSET)
		place->limit = true;
	else if (t.kind != T_COMMA && t.kind != T_L_INT)
		place->limit = false;
	/* DEFAULT 5, CHECK (a < 5), AS (a + 5), VALUES LESS THAN (5): values. */
	if (t.kind == T_SELECT || t.kind == T_VALUES || t.kind == T_CHECK || t.kind == T_AS)
		place->definition = false;
	place->limit &= t.kind != T_DEFAULT;
	place->value = t.kind == T_DEFAULT;
}

bool redact_text(
	const struct redact *redact, struct span text, struct text_dialect dialect, struct buf *out)
{
	struct reading r;
	struct token t, before = {.kind = T_SEMICOLON}, sign = {.kind = T_EOF};
	struct place place = {false, false, false};
	uint32_t end = 0;
	bool ok = reading_begin(&r, text, dialect);

	while (ok) {
		t = scan_next(&r.scanner);
		if (t.kind == T_EOF)
			break;
		ok = t.kind != T_ERROR;
		if (!ok)
			break;
		if (before.kind == T_SEMICOLON)
			place.definition = t.kind == T_CREATE || t.kind == T_ALTER;
		bool kept = (place.limit || (place.definition && !place.value)) && t.kind == T_L_INT;
		bool hide = is_literal(t) && !kept;

		/* A sign belongs to the number after it, or is written after all. */
		if (sign.kind == T_MINUS && !hide)
			buf_add_char(out, '-');
		/* What stands between tokens is space and comments. */
		if (t.start > end && end && !(sign.kind == T_MINUS && hide))
			buf_add_char(out, ' ');
		else if (hide && out->len && out->data[out->len - 1] == '\'')
			buf_add_char(out, ' '); /* 'a''b' would be one string */
		if (hide)
			add_literal(redact, &r, t, sign.kind == T_MINUS, out);
		else if (!(t.kind == T_MINUS && begins_operand(before)))
			buf_add(out, r.text.data + t.start, t.end - t.start);
		sign = t.kind == T_MINUS && begins_operand(before) ? t
								   : (struct token){.kind = T_EOF};
		place_after(&place, t);
		before = t;
		end = t.end;
	}
	reading_end(&r);
	return ok;
}
