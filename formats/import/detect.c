/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which tool wrote a history?  It shows in how the file begins, or by the names of the files in a
 * directory; file names' endings say nothing (txt, log and json are shared by several tools).
 * Only what no other format could be is recognised: a wrong guess would be worse than none.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "import/binary.h"
#include "import/import.h"

enum { BEGINNING = 1 << 14, SESSIONS_MAX = 1 << 24 };

static const char *skip_blanks(const char *p, bool edn)
{
	for (;;) {
		p += strspn(p, edn ? " \t\r\n,\f" : " \t\r\n\f");
		if (!edn || *p != ';')
			return p;
		p += strcspn(p, "\n");
	}
}

/* Does the name occur as a JSON name in the object that begins at p?  Only its own level counts. */
static bool has_name(const char *p, const char *name)
{
	int depth = 0;
	size_t len = strlen(name);

	for (; *p; p++) {
		if (*p == '{' || *p == '[') {
			depth++;
		} else if ((*p == '}' || *p == ']') && --depth == 0) {
			return false;
		} else if (*p == '"') {
			const char *start = ++p;

			while (*p && *p != '"')
				p += *p == '\\' && p[1] ? 2 : 1;
			if (!*p)
				return false;
			if (depth == 1 && (size_t)(p - start) == len &&
				memcmp(start, name, len) == 0 && *skip_blanks(p + 1, false) == ':')
				return true;
		}
	}
	return false;
}

static bool of_json_object(const char *p, bool in_array, enum import_format *format)
{
	if (has_name(p, "sts") || has_name(p, "cts"))
		*format = IMPORT_CHRONOS;
	else if (has_name(p, "type"))
		*format = IMPORT_ELLE_JSON;
	else if (!in_array && (has_name(p, "data") || has_name(p, "params")))
		*format = IMPORT_DBCOP_JSON;
	else if (has_name(p, "value"))
		*format = IMPORT_VIPER;
	else
		return false;
	return true;
}

/* p stands at a bracket. */
static bool of_brackets(const char *p, enum import_format *format)
{
	bool array = *p != '{';
	const char *q = array ? skip_blanks(p + 1, true) : p;

	if (*q == '#' || *p == '(') { /* tagged literals and round brackets are EDN's */
		*format = IMPORT_ELLE;
		return true;
	}
	if (*q == '{') {
		const char *name = skip_blanks(q + 1, true);

		if (*name == ':') {
			*format = IMPORT_ELLE;
			return true;
		}
		return *name == '"' && of_json_object(q, array, format);
	}
	if (*q == '[') { /* sessions: arrays of transactions */
		q = skip_blanks(q + 1, false);
		*format = IMPORT_DBCOP_JSON;
		return *q == '{' ? has_name(q, "events") : *q == ']';
	}
	return false;
}

static bool is_awdit(const char *p)
{
	/* Lines between transactions and sessions; other texts have them too. */
	while (strncmp(p, "---", 3) == 0 || strncmp(p, "===", 3) == 0) {
		p += strspn(p, *p == '-' ? "-" : "=");
		if (*p != '\r' && *p != '\n')
			return false;
		p = skip_blanks(p, false);
	}
	return (*p == 'r' || *p == 'w') && p[1] == ' ' && p[2] >= '0' && p[2] <= '9';
}

static bool of_text(const char *p, enum import_format *format)
{
	if (strchr("rwRW", *p) && p[1] == '(') {
		*format = IMPORT_PLUME;
		return true;
	}
	*format = IMPORT_AWDIT;
	return is_awdit(p);
}

/* A tagged literal such as #jepsen.history.Op{...}, a set, or something commented out; no comment,
 * heading or directive of another language. */
static bool is_edn_tag(const char *p)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   ".-_/$";
	size_t len = strspn(++p, name);

	if (!len || *p == '_')
		return *p == '{' || *p == '_';
	p = skip_blanks(p + len, true);
	return *p == '{' || *p == '[';
}

/* Five numbers, three strings (database and two times), and the number of sessions. */
static bool is_dbcop(struct span b)
{
	size_t at = 5 * 8;

	for (int i = 0; i < 3; i++) {
		uint64_t len;

		if (b.len < at + 8)
			return false;
		len = get_le64(b.ptr + at);
		at += 8;
		if (len > b.len - at)
			return false;
		for (; len; len--, at++) {
			if (b.ptr[at] < ' ')
				return false;
		}
	}
	return b.len >= at + 8 && get_le64(b.ptr + at) <= SESSIONS_MAX;
}

static bool is_cobra(struct span b)
{
	return b.len >= 9 && b.ptr[0] == 'S' &&
	       (b.len == 9 || memchr("CRW", b.ptr[9], 3) ||
		       (b.len > 17 && memchr("CRW", b.ptr[17], 3)));
}

bool import_detect_bytes(struct span b, enum import_format *format)
{
	const char *p;

	if (b.len >= 6 && memcmp(b.ptr, "JEPSEN", 6) == 0) {
		*format = IMPORT_ELLE; /* whose reader says what to do */
		return true;
	}
	if (memchr(b.ptr, '\0', b.len)) {
		*format = is_cobra(b) ? IMPORT_COBRA : IMPORT_DBCOP;
		return *format == IMPORT_COBRA || is_dbcop(b);
	}
	p = b.ptr + (b.len >= 3 && memcmp(b.ptr, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
	p = skip_blanks(p, true);
	if (*p == '#') {
		*format = IMPORT_ELLE;
		return is_edn_tag(p);
	}
	if (*p == '{' || *p == '[' || *p == '(')
		return of_brackets(p, format);
	return *p && of_text(p, format);
}

static bool of_file(const char *path, enum import_format *format)
{
	char data[BEGINNING + 1];
	size_t len;
	FILE *f = fopen(path, "rb");

	if (!f)
		return false;
	len = fread(data, 1, BEGINNING, f);
	fclose(f);
	data[len] = '\0';
	return import_detect_bytes(span_of(data, len), format);
}

bool import_detect(const char *path, enum import_format *format)
{
	struct stat st;

	if (strcmp(path, "-") == 0 || stat(path, &st) != 0)
		return false;
	return S_ISDIR(st.st_mode) ? import_detect_directory(path, format) : of_file(path, format);
}
