/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/recorder_tag.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "db/query.h"
#include "instrument/trigger_log.h"

void tag_set(struct instrument_tables *tables, uint32_t tag)
{
	tables->tag = tag;
	snprintf(tables->reset_sql, sizeof(tables->reset_sql),
		LOG_RESET_SQL ", " TAG_VARIABLE " = %" PRIu32, tables->tag);
}

static bool ask_number(MYSQL *mysql, const char *sql, uint64_t *out, struct err *err)
{
	MYSQL_RES *result = db_query(mysql, sql, err);
	MYSQL_ROW row;

	if (!result)
		return false;
	row = mysql_fetch_row(result);
	*out = row && row[0] ? strtoull(row[0], NULL, 10) : 0;
	mysql_free_result(result);
	return true;
}

static bool lock_tag(
	const struct instrument_tables *tables, MYSQL *mysql, bool *locked, struct err *err)
{
	char sql[64];
	uint64_t answer;

	snprintf(sql, sizeof(sql), "select get_lock('isorec_tag_%" PRIu32 "', 0)", tables->tag);
	if (!ask_number(mysql, sql, &answer, err))
		return false;
	*locked = answer == 1;
	if (*locked || !tables->claim_count)
		return true;
	/* Two nodes may be two addresses of one server: then it is ourselves. */
	snprintf(sql, sizeof(sql), "select is_used_lock('isorec_tag_%" PRIu32 "')", tables->tag);
	if (!ask_number(mysql, sql, &answer, err))
		return false;
	for (size_t i = 0; i < tables->claim_count; i++)
		*locked |= mysql_thread_id(tables->claims[i]) == answer;
	return true;
}

enum tag_claim tag_claim(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	bool locked = false;

	/* A recording may be silent for longer than the server keeps an idle connection. */
	if (!db_execute(mysql, "set session wait_timeout = 31536000", err) ||
		!lock_tag(tables, mysql, &locked, err)) {
		mysql_close(mysql);
		return TAG_NOT_CLAIMED;
	}
	for (uint32_t i = 1; !locked && !tables->claim_count && i < INSTRUMENT_TAG_MAX; i++) {
		tag_set(tables, tables->tag % INSTRUMENT_TAG_MAX + 1);
		if (!lock_tag(tables, mysql, &locked, err)) {
			mysql_close(mysql);
			return TAG_FAILED;
		}
	}
	if (!locked) {
		mysql_close(mysql);
		err_set(err, ERR_SERVER,
			"another recorder gives the same names to versions (the lock isorec_tag_%" PRIu32
			" is taken): start this one again, it will choose others",
			tables->tag);
		return TAG_FAILED;
	}
	MEM_RESERVE(tables->claims, tables->claim_count + 1, tables->claim_capacity);
	tables->claims[tables->claim_count++] = mysql;
	return TAG_CLAIMED;
}

void tag_release(struct instrument_tables *tables)
{
	for (size_t i = 0; i < tables->claim_count; i++)
		mysql_close(tables->claims[i]);
	mem_free(tables->claims);
	tables->claims = NULL;
	tables->claim_count = tables->claim_capacity = 0;
}
