/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that the server refused as a whole. */
#include "sql/text/refused.h"

#include <string.h>

#include "server/errors.h"
#include "sql/text/raw_token.h"

static struct span skip(struct span text, size_t count)
{
	return span_of(text.ptr + count, text.len - count);
}

/* A name, plain or in backticks without one inside.  None: there is none. */
static struct span take_name(struct raw_scan *scan)
{
	struct raw_token t = raw_next(scan);
	bool named = t.kind == RAW_WORD || t.kind == RAW_NUMBER ||
		     (t.kind == RAW_QUOTED && !memchr(t.content.ptr, '`', t.content.len));

	return named ? t.content : SPAN_NONE;
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

static bool no_such_procedure(struct raw_scan *scan, struct span database, struct span error_text)
{
	struct span name = take_name(scan);
	struct raw_scan ahead = *scan;
	struct raw_token dot = raw_next(&ahead);

	if (raw_is_char(&dot, '.')) {
		database = name;
		name = take_name(&ahead);
	}
	/* A procedure may call one of the same name elsewhere. */
	return takes(&error_text, "PROCEDURE ", database, ".") &&
	       takes(&error_text, ".", name, " does not exist");
}

/* May there be a second statement?  Whether a backslash escapes is not known here. */
static bool may_be_several(struct span text)
{
	return text_has_several(text, (struct text_dialect){0}) ||
	       text_has_several(text, (struct text_dialect){.no_backslash_escapes = true});
}

bool stmt_refused(struct span text, struct span database, unsigned error, struct span error_text)
{
	struct raw_scan scan;
	struct raw_token verb;

	/* Before the text is read: it is asked of every answer. */
	if (error != ER_PARSE_ERROR && error != ER_UNKNOWN_STMT_HANDLER && error != ER_SP_DOES_NOT_EXIST)
		return false;
	/* COM_STMT_EXECUTE itself. */
	if (error == ER_UNKNOWN_STMT_HANDLER && span_ihas(error_text, "stmt_execute"))
		return true;
	/* What a comment holds that only some servers execute is not known here. */
	if (span_ihas(text, "/*!") || span_ihas(text, "/*M!") || may_be_several(text))
		return false;
	scan = raw_scan_over(text, (struct text_dialect){0});
	verb = raw_next(&scan);
	if (verb.kind == RAW_END || raw_is_char(&verb, ';'))
		return false;
	if (raw_is(&verb, "call"))
		return error == ER_SP_DOES_NOT_EXIST &&
		       no_such_procedure(&scan, database, error_text);
	if (raw_is(&verb, "execute"))
		return error == ER_UNKNOWN_STMT_HANDLER &&
		       takes(&error_text, "Unknown prepared statement handler (", take_name(&scan),
			       ") given to EXECUTE");
	return error != ER_UNKNOWN_STMT_HANDLER;
}
