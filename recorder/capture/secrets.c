/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/secrets.h"

#include "base/bug.h"
#include "base/chars.h"
#include "base/mem.h"
#include "capture/capture_internal.h"
#include "sql/text/raw_token.h"
#include "trace/value.h"

#define LEFT_OUT SPAN_LIT("(left out)")

static const struct redact *redact_of(const struct capture *c)
{
	return &c->worker->config->redact;
}

/* ---- by origin ---- */

static bool is_one_of(struct span name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_ieq_str(name, list[i]))
			return true;
	return false;
}

/* Columns of mysql's tables of accounts and servers that hold no credential. */
static bool is_open_account_column(struct span name)
{
	static const char *const open[] = {"host", "user", "plugin", "server_name", "db",
		"username", "port", "socket", "wrapper", "owner"};

	return is_one_of(name, open, ARRAY_LEN(open)) ||
	       (name.len > 5 && span_ieq_str(span_of(name.ptr + name.len - 5, 5), "_priv"));
}

/* Answers to SHOW have no origin.  Columns that quote statements, programs or definitions: the
 * manual's pages of SHOW PROCESSLIST, BINLOG EVENTS, PROFILES, ENGINE, REPLICA STATUS, CREATE ... */
static enum column_secrecy secrecy_of_show(struct span name)
{
	static const char *const quoting[] = {"info", "query", "status", "statement",
		"sql original statement", "last_error", "last_sql_error", "last_io_error"};
	static const char *const begins[] = {"create ", "grants for ", "explain", "analyze"};

	if (span_ieq_str(name, "message"))
		return COLUMN_MESSAGE;
	/* SHOW CREATE USER: "CREATE USER for ...". */
	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (span_istarts(name, begins[i]))
			return COLUMN_QUOTES;
	return is_one_of(name, quoting, ARRAY_LEN(quoting)) ? COLUMN_QUOTES : COLUMN_OPEN;
}

enum column_secrecy secrets_of_origin(const struct wire_column_names *names)
{
	static const char *const quoting[] = {"information_schema", "performance_schema", "sys"};
	struct span table = names->table_original;

	if (!names->schema.len)
		return secrecy_of_show(names->name);
	if (span_ieq_str(names->schema, "mysql"))
		return text_is_account_table(table) && !is_open_account_column(names->name_original)
			       ? COLUMN_CLOSED
			       : COLUMN_QUOTES;
	if (!is_one_of(names->schema, quoting, ARRAY_LEN(quoting)))
		return COLUMN_OPEN;
	if (table.len > 9 && span_ieq_str(span_of(table.ptr + table.len - 9, 9), "variables"))
		return COLUMN_SETTING;
	return COLUMN_QUOTES;
}

/* ---- columns of a result ---- */

static enum column_secrecy secrecy_now(
	const struct capture *c, const struct wire_column_names *names, enum column_secrecy origin)
{
	const struct redact *redact = redact_of(c);

	/* Computed of a password; or, where a table of accounts is named, perhaps renamed. */
	if (c->now.secret && !names->schema.len)
		return COLUMN_CLOSED;
	if (c->now.accounts && span_ieq_str(names->schema, "mysql") &&
		!is_open_account_column(names->name_original))
		return COLUMN_CLOSED;
	if (origin == COLUMN_CLOSED)
		return origin;
	if (redact->on && redact_result_column(redact, (enum redact_reach)c->now.redacted, names))
		return COLUMN_REDACTED;
	if (origin == COLUMN_MESSAGE)
		return c->secret_sent ? COLUMN_CLOSED : COLUMN_QUOTES;
	return origin;
}

void secrets_columns(struct capture *c, const struct wire_columns *columns, struct span by_origin)
{
	bool hidden = false;

	buf_clear(&c->result.hidden);
	if (!columns ||
		(LIKELY(!by_origin.len) && !c->now.secret && !c->now.accounts && !redact_of(c)->on))
		return;
	for (size_t i = 0; i < columns->count; i++) {
		struct wire_column_names names;
		enum column_secrecy secrecy;

		wire_column_names(columns, i, &names);
		secrecy = secrecy_now(c, &names,
			i < by_origin.len ? (enum column_secrecy)by_origin.ptr[i] : COLUMN_OPEN);
		hidden |= secrecy != COLUMN_OPEN;
		buf_add_char(&c->result.hidden, (char)secrecy);
	}
	if (!hidden)
		buf_clear(&c->result.hidden);
}

/* A text that the server made of a statement: whether that held a credential. */
static bool quotes_credential(const struct capture *c, struct span text)
{
	struct text_secrets secrets;
	struct buf masked = BUF_INIT;
	bool found;

	if (LIKELY(!text_may_hold_account(text)))
		return false;
	found = text_mask_passwords(text, capture_dialect(c), false, &masked, &secrets) ||
		secrets.accounts;
	buf_release(&masked);
	return found;
}

static bool may_hold_credential(const struct capture *c, const struct value *value)
{
	switch (value->type) {
	case VALUE_TEXT:
	case VALUE_BYTES:
	case VALUE_JSON:
		return text_may_hold_password(value->bytes) || quotes_credential(c, value->bytes);
	case VALUE_CUT:
		return true; /* only its digest is there: of what, is not known */
	default:
		return false;
	}
}

static void drop(struct capture *c, struct buf *out, size_t start)
{
	struct value dropped = {.type = VALUE_DROPPED, .bytes = span_of("", 0)};

	c->worker->left_out.values++;
	mem_wipe(out->data + start, out->len - start);
	out->len = start;
	value_pack(out, &dropped);
}

/* The one packed value after `start`; before: whether the value before it may name a credential. */
static bool hide_value(
	struct capture *c, struct buf *out, size_t start, enum column_secrecy secrecy, bool before)
{
	struct mp mp = mp_over(span_of(out->data + start, out->len - start));
	struct value value;
	bool told = value_read(&mp, &value);
	bool may = !told || may_hold_credential(c, &value);

	if (told && value.type == VALUE_NULL)
		return false;
	switch (secrecy) {
	case COLUMN_OPEN:
		return false;
	case COLUMN_SETTING:
		/* The setting's name is no secret, its value may be. */
		if (before)
			drop(c, out, start);
		return may;
	case COLUMN_QUOTES:
	case COLUMN_MESSAGE:
		if (may)
			drop(c, out, start);
		return false;
	case COLUMN_CLOSED:
		drop(c, out, start);
		return false;
	case COLUMN_REDACTED:
		redact_packed(redact_of(c), out, start);
		return false;
	}
	return false;
}

void secrets_row(struct capture *c, struct buf *out, size_t start)
{
	struct span hidden = buf_span(&c->result.hidden);
	struct buf row = BUF_INIT;
	struct mp mp;
	bool before = false;

	buf_add(&row, out->data + start, out->len - start);
	mem_wipe(out->data + start, out->len - start);
	out->len = start;
	mp = mp_over(buf_span(&row));
	(void)mp_array(&mp);
	buf_add(out, row.data, (size_t)(mp.p - (const unsigned char *)row.data));
	for (size_t i = 0; i < hidden.len && !mp.bad; i++) {
		const unsigned char *from = mp.p;
		size_t at = out->len;

		mp_skip(&mp);
		buf_add(out, from, (size_t)(mp.p - from));
		before = hide_value(c, out, at, (enum column_secrecy)hidden.ptr[i], before);
	}
	CHECK(!mp.bad && mp.p == mp.end);
	mem_wipe(row.data, row.len);
	buf_release(&row);
}

/* ---- names of columns ---- */

bool secrets_names_matter(const struct capture *c)
{
	return c->now.secret || (redact_of(c)->on && c->now.redacted != REDACT_NOTHING);
}

bool secrets_one_query(struct span text)
{
	unsigned selects = 0;
	struct span word;

	while (raw_take_word(&text, &word)) {
		selects += span_ieq_str(word, "select");
		if (span_ieq_str(word, "with"))
			return false;
	}
	return selects <= 1;
}

/* Whether the text that the trace has holds the name as words of its own: then it tells nothing
 * more.  A number is no name. */
static bool text_has_name(struct span text, struct span name)
{
	bool letter = false;

	for (size_t i = 0; i < name.len; i++)
		letter |= char_is_name(name.ptr[i]) && !char_is_digit(name.ptr[i]);
	if (!letter)
		return false;
	for (size_t i = 0; i + name.len <= text.len; i++)
		if (memcmp(text.ptr + i, name.ptr, name.len) == 0 &&
			(i == 0 || !char_is_name(text.ptr[i - 1])) &&
			(i + name.len == text.len || !char_is_name(text.ptr[i + name.len])))
			return true;
	return false;
}

/* A name that a column of a table has, as far as the server and the text tell. */
static bool is_table_column(
	const struct capture *c, const struct wire_column_names *names, struct span name)
{
	const struct redact *redact = redact_of(c);

	if (!names->schema.len || !span_eq(name, names->name_original))
		return false;
	return !redact->on || c->now.classes[0].one_query ||
	       base_tables_knows(redact->base_tables, names->schema, names->table_original);
}

static bool keeps_name(
	const struct capture *c, const struct wire_column_names *names, struct span name)
{
	/* The server made it of a text: `password('x')`. */
	if (quotes_credential(c, name))
		return false;
	return !secrets_names_matter(c) || is_table_column(c, names, name) ||
	       text_has_name(buf_span(&c->now.text), name);
}

void secrets_names(void *ctx, struct wire_column_names *names)
{
	struct capture *c = ctx;
	bool name = keeps_name(c, names, names->name);
	bool original = keeps_name(c, names, names->name_original);

	c->worker->left_out.names += !name && names->name.len;
	if (!name && names->name.len)
		names->name = LEFT_OUT;
	if (!original && names->name_original.len)
		names->name_original = LEFT_OUT;
}

/* ---- single texts ---- */

struct span secrets_message(struct capture *c, uint16_t error, struct span message)
{
	bool harmless = redact_is_harmless_error(error);

	if (!error)
		return SPAN_NONE;
	/* The server quotes the statement: its message would tell the password. */
	if (c->now.active && c->now.secret) {
		c->worker->left_out.messages++;
		return SPAN_LIT("(left out: the statement holds a password)");
	}
	/* ... and values: 'Duplicate entry', 'Incorrect value'. */
	if ((redact_of(c)->on && !harmless) || (c->now.active && c->now.filtered)) {
		c->worker->left_out.messages++;
		return SPAN_LIT("(left out: the statement's values are not recorded)");
	}
	if (!harmless && text_may_hold_password(message)) {
		c->worker->left_out.messages++;
		return SPAN_LIT("(left out: it may quote a password)");
	}
	return message;
}

/* The servers' forms: "Rows matched: 1  Changed: 1  Warnings: 0", "Records: 3  Duplicates: 0 ...". */
struct span secrets_info(struct capture *c, struct span info)
{
	static const char *const forms[] = {"Rows matched: ", "Records: "};

	if (!info.len)
		return SPAN_NONE;
	if (!redact_of(c)->on)
		return info;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (span_starts(info, forms[i]))
			return info;
	c->worker->left_out.messages++;
	return SPAN_NONE;
}

struct span secrets_variable(struct capture *c, struct span name, struct span value)
{
	static const char *const harmless[] = {"autocommit", "transaction", "tx_", "character_set",
		"collation", "time_zone", "sql_mode", "last_gtid", "foreign_key_checks",
		"unique_checks", "wsrep_", "innodb_", "session_track", "lock_wait_timeout"};

	if (text_may_hold_password(name) || text_may_hold_password(value))
		return LEFT_OUT;
	if (!redact_of(c)->on)
		return value;
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (name.len >= strlen(harmless[i]) &&
			memcmp(name.ptr, harmless[i], strlen(harmless[i])) == 0)
			return value;
	return LEFT_OUT;
}

struct span secrets_file(struct capture *c, struct span name)
{
	return redact_of(c)->on ? LEFT_OUT : name;
}

void secrets_xid(struct capture *c, struct buf *name)
{
	enum stmt_class_kind kind = (enum stmt_class_kind)c->now.classes[0].kind;
	struct buf redacted = BUF_INIT;

	/* A savepoint's is an identifier, as names of tables are. */
	if (!name->len || kind == CLASS_SAVEPOINT || kind == CLASS_ROLLBACK_TO ||
		kind == CLASS_RELEASE)
		return;
	redact_name(redact_of(c), buf_span(name), &redacted);
	mem_wipe(name->data, name->len);
	capture_keep(name, buf_span(&redacted));
	buf_release(&redacted);
}

void secrets_params(struct capture *c, struct buf *params)
{
	struct mp mp = mp_over(buf_span(params));
	uint32_t count = mp_array(&mp);

	if (!c->now.secret || !params->len || mp.bad)
		return;
	mem_wipe(params->data, params->len);
	buf_clear(params);
	pack_array_open(params);
	for (uint32_t i = 0; i < count; i++)
		drop(c, params, params->len);
	pack_array_close(params, 0, count);
}
