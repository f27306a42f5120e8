/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that the server refused as a whole. */
#include "sql/text/refused.h"

#include <string.h>

#include "server/errors.h"

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '$' || (unsigned char)c >= 0x80;
}

static struct span skip(struct span text, size_t count)
{
	return span_of(text.ptr + count, text.len - count);
}

static struct span skip_blanks(struct span text)
{
	while (text.len && is_blank(text.ptr[0]))
		text = skip(text, 1);
	return text;
}

static struct span skip_comments(struct span text)
{
	text = skip_blanks(text);
	while (text.len > 3 && text.ptr[0] == '/' && text.ptr[1] == '*') {
		const char *end = memmem(text.ptr + 2, text.len - 2, "*/", 2);

		text = skip_blanks(skip(text, end ? (size_t)(end - text.ptr) + 2 : text.len));
	}
	return text;
}

/* A name, plain or in backticks without one inside.  None: there is none. */
static struct span take_name(struct span *text)
{
	struct span name;
	size_t len = 0;

	*text = skip_blanks(*text);
	if (text->len && text->ptr[0] == '`') {
		const char *end = memchr(text->ptr + 1, '`', text->len - 1);

		if (!end)
			return SPAN_NONE;
		name = span_of(text->ptr + 1, (size_t)(end - text->ptr) - 1);
		*text = skip(*text, name.len + 2);
		return name;
	}
	while (len < text->len && is_word(text->ptr[len]))
		len++;
	name = len ? span_of(text->ptr, len) : SPAN_NONE;
	*text = skip(*text, len);
	return name;
}

/* "HEAD NAME TAIL..." */
static bool takes(struct span *text, const char *head, struct span name, const char *tail)
{
	struct span rest = *text;

	if (!name.ptr || !span_istarts(rest, head))
		return false;
	rest = skip(rest, strlen(head));
	if (rest.len < name.len || !span_ieq(span_of(rest.ptr, name.len), name))
		return false;
	*text = skip(rest, name.len);
	return span_istarts(*text, tail);
}

static bool no_such_procedure(struct span rest, struct span database, struct span error_text)
{
	struct span name = take_name(&rest);

	if (rest.len && rest.ptr[0] == '.') {
		rest = skip(rest, 1);
		database = name;
		name = take_name(&rest);
	}
	/* A procedure may call one of the same name elsewhere. */
	return takes(&error_text, "PROCEDURE ", database, ".") &&
	       takes(&error_text, ".", name, " does not exist");
}

/* May there be a second statement?  A `;` in quotes is none; where a backslash may be an escape or not, or a comment
 * may have quotes of its own, any counts. */
static bool may_be_several(struct span text)
{
	char quote = 0;

	if (!memchr(text.ptr, ';', text.len))
		return false;
	if (memchr(text.ptr, '\\', text.len))
		return true;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i], next = i + 1 < text.len ? text.ptr[i + 1] : 0;

		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '\'' || c == '"' || c == '`')
			quote = c;
		else if (c == ';' || c == '#' || (c == '-' && next == '-') || (c == '/' && next == '*'))
			return true;
	}
	return false;
}

bool stmt_refused(struct span text, struct span database, unsigned error, struct span error_text)
{
	struct span rest, verb;
	bool versioned;

	/* Before anything is looked at: it is asked of every answer. */
	if (error != ER_PARSE_ERROR && error != ER_UNKNOWN_STMT_HANDLER && error != ER_SP_DOES_NOT_EXIST)
		return false;
	/* COM_STMT_EXECUTE itself. */
	if (error == ER_UNKNOWN_STMT_HANDLER && span_ihas(error_text, "stmt_execute"))
		return true;
	versioned = span_ihas(text, "/*!") || span_ihas(text, "/*M!");
	text = skip_comments(text);
	while (text.len && (is_blank(text.ptr[text.len - 1]) || text.ptr[text.len - 1] == ';'))
		text.len--;
	/* Perhaps several statements; a comment that the server looks into, or one of another kind. */
	if (!text.len || may_be_several(text) || text.ptr[0] == '-' ||
		text.ptr[0] == '#' || versioned)
		return false;
	rest = text;
	verb = take_name(&rest);
	if (span_ieq_str(verb, "call"))
		return error == ER_SP_DOES_NOT_EXIST && no_such_procedure(rest, database, error_text);
	if (span_ieq_str(verb, "execute"))
		return error == ER_UNKNOWN_STMT_HANDLER &&
		       takes(&error_text, "Unknown prepared statement handler (", take_name(&rest),
			       ") given to EXECUTE");
	return error != ER_UNKNOWN_STMT_HANDLER;
}
