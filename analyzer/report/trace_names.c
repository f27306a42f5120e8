/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/trace_names.h"

#include <stdlib.h>

#include "base/mem.h"
#include "server/commands.h"

struct names *names_new(void)
{
	struct names *names = mem_zero(1, sizeof(*names));

	names->tables = MAP_INIT;
	names->prepared = MAP_INIT;
	names->strings = STRTAB_INIT;
	names->prepared_arena = ARENA_INIT;
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < NAMES_SESSIONS_MAX; i++)
		mem_free(names->sessions[i]);
	map_release(&names->tables);
	map_release(&names->prepared);
	strtab_release(&names->strings);
	arena_release(&names->prepared_arena);
	mem_free(names->table);
	mem_free(names->prepared_text);
	mem_free(names);
}

static void keep(char *out, size_t size, struct span s)
{
	size_t len;

	/* A record that only says what changed leaves the rest empty. */
	if (!s.ptr || !s.len)
		return;
	len = s.len < size - 1 ? s.len : size - 1;
	memcpy(out, s.ptr, len);
	out[len] = '\0';
}

void names_learn_session(struct names *names, const struct record_session *record)
{
	struct names_session **slot = &names->sessions[record->session % NAMES_SESSIONS_MAX];

	if (!*slot)
		*slot = mem_zero(1, sizeof(**slot));
	if (!(*slot)->taken || (*slot)->id != record->session)
		memset(*slot, 0, sizeof(**slot));
	(*slot)->id = record->session;
	(*slot)->taken = true;
	keep((*slot)->user, sizeof((*slot)->user), record->user);
	keep((*slot)->client, sizeof((*slot)->client), record->client);
	keep((*slot)->node, sizeof((*slot)->node), record->node);
	keep((*slot)->database, sizeof((*slot)->database), record->database);
}

/* A name of a table or database is at most 64 characters to every server. */
static struct span intern(struct names *names, struct span s)
{
	if (s.len > NAMES_TABLE_NAME_MAX || names->strings.arena.total > NAMES_TABLES_BYTES_MAX)
		return SPAN_NONE;
	return strtab_get(&names->strings, strtab_add(&names->strings, s));
}

void names_learn_schema(struct names *names, const struct record_schema *record)
{
	uint32_t index = map_get(&names->tables, record->table);

	if (index == MAP_NONE) {
		if (names->table_count == NAMES_TABLES_MAX)
			return;
		index = (uint32_t)names->table_count;
		map_put(&names->tables, record->table, index);
		MEM_RESERVE(names->table, names->table_count + 1, names->table_capacity);
		names->table_count++;
	}
	names->table[index] =
		(struct names_table){intern(names, record->database), intern(names, record->name)};
}

static uint64_t prepared_key(uint32_t session, uint32_t number)
{
	return (uint64_t)session << 32 | number;
}

void names_learn_stmt(struct names *names, const struct record_stmt *record)
{
	struct span text = record->text;
	uint32_t *index;

	if (record->command != CMD_STMT_PREPARE || !text.ptr)
		return;
	/* When there is no more room everything is forgotten: rare, bounded, and simple. */
	if (names->prepared_count == NAMES_PREPARED_MAX ||
		names->prepared_arena.total > NAMES_PREPARED_BYTES_MAX) {
		map_release(&names->prepared);
		arena_release(&names->prepared_arena);
		names->prepared_count = 0;
	}
	if (text.len > NAMES_PREPARED_TEXT_MAX)
		text.len = NAMES_PREPARED_TEXT_MAX;
	index = map_at(&names->prepared, prepared_key(record->session, record->number));
	if (*index == MAP_NONE) {
		*index = (uint32_t)names->prepared_count;
		MEM_RESERVE(
			names->prepared_text, names->prepared_count + 1, names->prepared_capacity);
		names->prepared_count++;
	}
	names->prepared_text[*index] = arena_copy(&names->prepared_arena, text);
}

const struct names_session *names_session(const struct names *names, uint32_t session)
{
	const struct names_session *found = names->sessions[session % NAMES_SESSIONS_MAX];

	return found && found->taken && found->id == session ? found : NULL;
}

const struct names_table *names_table(const struct names *names, uint32_t table)
{
	uint32_t index = map_get(&names->tables, table);

	return index < names->table_count && names->table[index].name_ref.ptr ? &names->table[index]
									      : NULL;
}

struct span names_stmt_text(const struct names *names, const struct record_stmt *record)
{
	uint32_t index;

	if (record->text.ptr || !record->prepared)
		return record->text;
	index = map_get(&names->prepared, prepared_key(record->session, record->prepared));
	return index < names->prepared_count ? names->prepared_text[index] : SPAN_NONE;
}
