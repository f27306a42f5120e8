/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/read_view.h"

#include "sql/text/raw_token.h"
#include "trace/record.h"

bool read_view_begins(struct read_view_txn *txn, struct span sql)
{
	char word[TEXT_KEYWORD_SIZE];

	text_keyword(sql, word);
	if (txn->consistent_snapshot)
		return strcmp(word, "START") == 0;
	if (strcmp(word, "SELECT") != 0 || !span_ihas(sql, "from ") ||
		span_ihas(sql, "for update") || span_ihas(sql, "for share") ||
		span_ihas(sql, "lock in share mode"))
		return false;
	if (txn->level == LEVEL_READ_COMMITTED)
		return true;
	if (txn->level != LEVEL_REPEATABLE_READ || txn->has_view)
		return false;
	txn->has_view = true;
	return true;
}
