/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "db/query.h"

char **settings_of(const struct scenario *scenario, const char *const *base)
{
	size_t count = 0, from_base = 0;
	char **out;

	while (base && base[from_base])
		from_base++;
	out = mem_zero(from_base + scenario->meta_count + 1, sizeof(*out));
	for (; count < from_base; count++)
		out[count] = mem_strdup(base[count]);
	for (size_t i = 0; i < scenario->meta_count; i++) {
		struct span name, value;

		if (scenario_setting(&scenario->meta[i], &name, &value))
			out[count++] = mem_strdup(scenario->meta[i].value.ptr); /* the arena's texts end in a zero */
	}
	return out;
}

bool settings_equal(char *const *a, char *const *b)
{
	size_t i = 0;

	if (!a || !b)
		return !(a && a[0]) && !(b && b[0]);
	while (a[i] && b[i] && strcmp(a[i], b[i]) == 0)
		i++;
	return !a[i] && !b[i];
}

void settings_free(char **settings)
{
	for (size_t i = 0; settings && settings[i]; i++)
		mem_free(settings[i]);
	mem_free(settings);
}

/* "ON" and "1" are one. */
static struct span switch_word(struct span value)
{
	return span_ieq_str(value, "1") ? SPAN_LIT("ON") : span_ieq_str(value, "0") ? SPAN_LIT("OFF") : value;
}

/* Whether the server has the option.  A sql_mode stands for others, which the server knows. */
static bool has_setting(struct engine *e, struct span name, struct span value)
{
	MYSQL *control = e->control;
	bool is_mode = span_ieq_str(name, "sql_mode"), ok = true;
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;

	if (is_mode) {
		buf_add_str(&sql, "set @isorec_mode = @@session.sql_mode, session sql_mode = ");
		scenario_print_string(value, &sql);
		ok = engine_query(e, buf_span(&sql)) && db_send(control, "select @@global.sql_mode, @@session.sql_mode") == 0;
	} else {
		buf_add_str(&sql, "select @@global.");
		for (size_t i = 0; i < name.len; i++)
			buf_add_char(&sql, name.ptr[i] == '-' ? '_' : name.ptr[i]);
		ok = db_send(control, sql.data) == 0;
	}
	buf_release(&sql);
	result = ok ? db_result(control) : NULL;
	row = result ? mysql_fetch_row(result) : NULL;
	if (!row || !row[0])
		ok = false;
	else if (is_mode)
		ok = row[1] && strcmp(row[0], row[1]) == 0;
	else
		ok = span_ieq(switch_word(span_str(row[0])), switch_word(value));
	mysql_free_result(result);
	return (!is_mode || engine_query(e, SPAN_LIT("set session sql_mode = @isorec_mode"))) && ok;
}

bool settings_check(struct engine *e, const struct scenario *scenario)
{
	for (size_t i = 0; i < scenario->meta_count; i++) {
		struct span name, value;

		if (scenario_setting(&scenario->meta[i], &name, &value) && !has_setting(e, name, value))
			return err_set(e->err, ERR_SERVER,
				"the scenario is for a server with %.*s=%.*s, and this one has something else: start it so, or use "
				"--server RELEASE",
				SPAN_ARG(name), SPAN_ARG(value));
	}
	return true;
}
