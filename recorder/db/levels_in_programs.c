/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/levels_in_programs.h"

#include "db/answer.h"
#include "db/own_objects.h"
#include "db/query.h"
#include "sql/text/raw_token.h"
#include "sql/text/stmt_classify.h"

/* The server's own, which set no level of their callers. */
#define OWN_DATABASES "'mysql', 'sys', 'information_schema', 'performance_schema'"

unsigned hidden_levels_read(MYSQL *db)
{
	static const char sql[] =
		"select routine_type, routine_definition from information_schema.routines where "
		"routine_schema not in (" OWN_DATABASES ") union all select 'TRIGGER', "
		"action_statement from information_schema.triggers where trigger_schema not in "
		"(" OWN_DATABASES ") and left(trigger_name, 7) <> '" TRIGGER_PREFIX
		"' union all select 'EVENT', event_definition from information_schema.events "
		"where event_schema not in (" OWN_DATABASES ")";
	MYSQL_RES *result = db_send(db, sql) ? NULL : db_result(db);
	unsigned hidden = 0;
	MYSQL_ROW row;

	/* A server without these views has nothing to show in them. */
	while (result && (row = mysql_fetch_row(result))) {
		struct span kind = answer_field(result, row, 0), body = answer_field(result, row, 1);

		if (body.ptr && !text_hides_level(body))
			continue;
		hidden |= span_ieq_str(kind, "procedure") ? HIDDEN_IN_CALLS
			  : span_ieq_str(kind, "event")   ? HIDDEN_FROM_START
							  : HIDDEN_IN_ANY;
		if (body.ptr &&
			(text_holds_word(body, "global") || text_holds_word(body, "persist")))
			hidden |= HIDDEN_FROM_START;
	}
	mysql_free_result(result);
	return hidden;
}
