/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collations: every pair of bytes, and the order of all known characters. */
#include "eval_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/value/collation.h"

enum { LETTERS_MAX = 20000, CODES_DENSE = 0x3400, CODES_PICTURES = 0x1f300, CODES_END = 0x1f650 };

struct letter {
	char text[5];
	uint8_t len;
	uint16_t collation;
};

static int by_weight(const void *a, const void *b)
{
	const struct letter *x = a, *y = b;
	bool unknown = false;
	int order = collation_compare(
		x->collation, span_of(x->text, x->len), span_of(y->text, y->len), &unknown);

	return order ? order : strcmp(x->text, y->text);
}

/* The characters beyond ASCII whose weight is known here, each alone and after an "s", in our order:
 * where the server agrees on every two neighbours it agrees on all. */
static unsigned character_order(struct state *s, uint16_t collation)
{
	static struct letter letters[LETTERS_MAX];
	enum charset charset = collation_charset(collation);
	struct buf sql = BUF_INIT;
	unsigned count = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;

	for (uint32_t code = 0x80; code < CODES_END && count + 50 <= LETTERS_MAX;
		code += code < CODES_DENSE || code >= CODES_PICTURES ? 1 : 97) {
		struct letter *letter = &letters[count];
		bool unknown = false;

		if (code >= 0xd800 && code < 0xe000)
			continue;
		memset(letter, 0, sizeof(letter[0]) * 2);
		letter->collation = collation;
		letter->len = (uint8_t)char_put(charset, code, letter->text);
		if (!letter->len)
			continue;
		collation_compare(collation, span_of(letter->text, letter->len),
			span_of(letter->text, letter->len), &unknown);
		if (unknown)
			continue;
		count++;
		if (letter->len < 4) {
			letter[1] = (struct letter){"s", letter->len + 1, collation};
			memcpy(letter[1].text + 1, letter->text, letter->len);
			count++;
		}
	}
	for (const char *c = "abcdefghijklmnopqrstuvwxyz0123456789_-.,#"; *c; c++)
		letters[count++] = (struct letter){{*c}, 1, collation};
	qsort(letters, count, sizeof(letters[0]), by_weight);
	must(s, "TRUNCATE TABLE letters");
	for (unsigned i = 0; i < count; i++) {
		buf_printf(&sql, "%s(%u, 0x", sql.len ? "," : "INSERT INTO letters VALUES ", i);
		for (unsigned k = 0; k < letters[i].len; k++)
			buf_printf(&sql, "%02x", (unsigned char)letters[i].text[k]);
		buf_add_char(&sql, ')');
		if (i % 1000 == 999 || i + 1 == count) {
			must(s, sql.data);
			buf_clear(&sql);
		}
	}
	buf_printf(&sql,
		"SELECT a.pos, STRCMP(CONVERT(a.c USING %s) COLLATE %s, CONVERT(b.c USING %s) "
		"COLLATE %s) FROM letters a JOIN letters b ON b.pos = a.pos + 1",
		charset_name(charset), collation_name(collation), charset_name(charset),
		collation_name(collation));
	if (mysql_real_query(s->server, sql.data, sql.len)) {
		fprintf(stderr, "sql_eval: %s\n", mysql_error(s->server));
		exit(2);
	}
	result = mysql_store_result(s->server);
	while ((row = mysql_fetch_row(result))) {
		const struct letter *a = &letters[atoi(row[0])], *b = a + 1;
		bool unknown = false;
		char what[80];
		int ours = collation_compare(collation, span_of(a->text, a->len),
			span_of(b->text, b->len), &unknown);

		if (ours == atoi(row[1]))
			continue;
		snprintf(what, sizeof(what), "%s and %s: ours %d, the server's %s", a->text,
			b->text, ours, row[1]);
		difference(s, collation_name(collation), what);
	}
	mysql_free_result(result);
	buf_release(&sql);
	return count;
}

/* Every pair of bytes under every collation that the server knows too. */
void collations(struct state *s)
{
	struct buf sql = BUF_INIT;
	unsigned compared = 0, characters = 0;

	must(s, "CREATE TABLE letters (pos INT PRIMARY KEY, c VARCHAR(5) CHARACTER SET utf8mb4)");
	must(s, "CREATE TABLE n (i INT)");
	for (unsigned i = 1; i < 256; i++) {
		buf_clear(&sql);
		buf_printf(&sql, "INSERT INTO n VALUES (%u)", i);
		must(s, sql.data);
	}
	for (uint16_t c = 0; c < COLLATION_COUNT; c++) {
		enum charset charset = collation_charset(c);
		unsigned last = charset == CHARSET_LATIN1 || charset == CHARSET_BINARY ? 255 : 127;
		MYSQL_RES *result;
		MYSQL_ROW row;

		buf_clear(&sql);
		buf_printf(&sql,
			"SELECT a.i, b.i, STRCMP(CONVERT(CHAR(a.i) USING %s) COLLATE %s, "
			"CONVERT(CHAR(b.i) USING %s) COLLATE %s) FROM n a, n b WHERE a.i <= %u AND "
			"b.i <= %u",
			charset_name(charset), collation_name(c), charset_name(charset),
			collation_name(c), last, last);
		if (mysql_real_query(s->server, sql.data, sql.len))
			continue; /* the other flavour's */
		result = mysql_store_result(s->server);
		compared++;
		while ((row = mysql_fetch_row(result))) {
			char a = (char)atoi(row[0]), b = (char)atoi(row[1]), what[80];
			bool unknown = false;
			int ours = collation_compare(c, span_of(&a, 1), span_of(&b, 1), &unknown);

			if (unknown || ours == atoi(row[2]))
				continue;
			snprintf(what, sizeof(what), "bytes %s and %s: ours %d, the server's %s",
				row[0], row[1], ours, row[2]);
			difference(s, collation_name(c), what);
		}
		mysql_free_result(result);
		if (charset_max_bytes(charset) > 1)
			characters += character_order(s, c);
	}
	must(s, "DROP TABLE n, letters");
	printf("%u collations compared, %u texts beyond ASCII\n", compared, characters);
	buf_release(&sql);
}
