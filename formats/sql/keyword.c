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
#define KEYWORD(name, maria, mysql, flags) {#name, {T_##name, flags, maria, mysql}},
#include "sql/keyword.def"
#undef KEYWORD
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

bool mysql_uncallable(const char *word, size_t len)
{
	static const char *const names[] = {
		"absent", "account", "active", "admin", "allow_missing_files",
		"assign_gtids_to_anonymous_transactions", "at", "attribute", "authentication",
		"auto_refresh", "auto_refresh_source", "bernoulli", "block", "buckets", "bulk",
		"catalog_name", "challenge_response", "changed", "channel", "cipher",
		"class_origin", "client", "column_name", "compact", "completion", "component",
		"constraint_catalog", "constraint_name", "constraint_schema", "context", "cpu",
		"cursor_name", "datafile", "default_auth", "definition", "description",
		"diagnostics", "disk", "duality", "dynamic", "ends", "engines", "error",
		"errors", "events", "every", "expire", "export", "extent_size",
		"external_format", "factor", "failed_login_attempts", "fast", "faults", "file",
		"file_block_size", "file_format", "file_name", "file_pattern", "file_prefix",
		"files", "filter", "finish", "found", "general", "generate", "geometry",
		"get_source_public_key", "grants", "gtid_only", "gtids", "guided", "header",
		"histogram", "hosts", "identified", "ignore_server_ids", "inactive", "indexes",
		"initial", "initial_size", "initiate", "invoker", "io", "io_thread", "ipc",
		"issuer", "keyring", "leaves", "locks", "logs", "manual", "masking", "master",
		"materialized", "max_connections_per_hour", "max_queries_per_hour", "max_size",
		"max_updates_per_hour", "max_user_connections", "memory", "merge",
		"message_text", "mutex", "mysql_errno", "name", "ndb", "ndbcluster", "nested",
		"network_namespace", "never", "new", "no_wait", "none", "off", "oj", "old",
		"optional", "ordinality", "organization", "page", "parallel", "parameters",
		"parse_tree", "partitioning", "password_lock_time", "path", "plugin",
		"plugin_dir", "plugins", "policy", "preserve", "prev", "privilege_checks_user",
		"privileges", "process", "processlist", "profile", "profiles", "proxy",
		"random", "read_only", "redo_buffer_size", "redundant", "registration",
		"relational", "relay", "relay_log_file", "relay_log_pos", "relay_thread",
		"relaylog", "reload", "replicate_do_db", "replicate_do_table",
		"replicate_ignore_db", "replicate_ignore_table", "replicate_rewrite_db",
		"replicate_wild_do_table", "replicate_wild_ignore_table", "replication",
		"require_row_format", "require_table_primary_key_check", "retain",
		"returned_sqlstate", "returns", "reuse", "rotate", "routine", "s3", "schedule",
		"schema_name", "secondary", "sets", "slow", "source", "source_auto_position",
		"source_bind", "source_compression_algorithms", "source_connect_retry",
		"source_connection_auto_failover", "source_delay", "source_heartbeat_period",
		"source_host", "source_log_file", "source_log_pos", "source_password",
		"source_port", "source_public_key_path", "source_retry_count", "source_ssl",
		"source_ssl_ca", "source_ssl_capath", "source_ssl_cert", "source_ssl_cipher",
		"source_ssl_crl", "source_ssl_crlpath", "source_ssl_key",
		"source_ssl_verify_server_cert", "source_tls_ciphersuites",
		"source_tls_version", "source_user", "source_zstd_compression_level",
		"sql_after_gtids", "sql_after_mts_gaps", "sql_before_gtids", "sql_thread",
		"stacked", "status", "stream", "strict_load", "string", "subclass_origin",
		"subject", "super", "swaps", "switches", "table_name", "temptable",
		"thread_priority", "tls", "triggers", "types", "undefined", "undo_buffer_size",
		"undofile", "unregister", "until", "uri", "url", "use_frm", "user_resources",
		"validate", "validation", "variables", "vcpu", "verify_key_constraints",
		"warnings", "x509", "zone"};
	size_t low = 0, high = ARRAY_LEN(names);

	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = strncasecmp(word, names[mid], len);

		if (order == 0 && names[mid][len])
			order = -1;
		if (order == 0)
			return true;
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return false;
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

bool charset_known(const char *name, size_t len)
{
	static const char *const charsets[] = {"armscii8", "ascii", "big5", "binary", "cp1250",
		"cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "dec8", "eucjpms",
		"euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2",
		"koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman",
		"sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8",
		"utf8mb3", "utf8mb4"};

	for (size_t i = 0; i < ARRAY_LEN(charsets); i++) {
		if (span_ieq(span_str(charsets[i]), span_of(name, len)))
			return true;
	}
	return false;
}
