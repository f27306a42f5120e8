/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sync/sync.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sync/sync_internal.h"
#include "trace/value.h"

static const uint64_t second = 1000000000u;
enum { PHASE_BEFORE_S = 10 /* operations that ended as long before */ };

unsigned node_set_count(uint64_t set)
{
	return (unsigned)__builtin_popcountll(set);
}

uint64_t nodes_read(const struct sync *s, uint32_t point)
{
	uint64_t out = 0;

	for (uint32_t n = 0; n < s->life->node_count; n++) {
		const struct life_look *look = &s->life->points[point].looks[n];

		out |= look->told && look->read && look->ready ? (uint64_t)1 << n : 0;
	}
	return out;
}

uint32_t last_point(const struct sync *s)
{
	for (size_t p = s->life->point_count; p-- > 0;)
		if (nodes_read(s, (uint32_t)p))
			return (uint32_t)p;
	return SYNC_NONE;
}

uint32_t first_point(const struct sync *s)
{
	for (uint32_t p = 0; p < s->life->point_count; p++)
		if (nodes_read(s, p))
			return p;
	return SYNC_NONE;
}

/* ---- tables ---- */

static bool is_integer(struct span type)
{
	static const char *const words[] = {"tinyint", "smallint", "mediumint", "int", "bigint"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_istarts(type, words[i]))
			return true;
	return false;
}

static void read_columns(struct sync *s, struct sync_table *t, struct span columns)
{
	struct mp mp = mp_over(columns);
	uint32_t count = mp_array(&mp);

	if (count > SYNC_COLUMNS_MAX)
		count = 0;
	t->columns = arena_zero(&s->arena, (count + 1) * sizeof(*t->columns));
	t->column_blurred = arena_zero(&s->arena, count + 1);
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint32_t elements = mp_array(&mp);
		struct span name = mp_bytes(&mp), type = mp_bytes(&mp);

		t->columns[i] = (struct sync_column){.name = name,
			.integer = is_integer(type),
			.text = span_istarts(type, "varchar") || span_istarts(type, "char(") || span_istarts(type, "text")};
		t->column_count++;
		for (uint32_t e = 2; e < elements; e++)
			(void)!mp_skip(&mp);
	}
}

static void read_key(struct sync_table *t, struct span key)
{
	struct mp mp = mp_over(key);
	uint32_t count = key.ptr ? mp_array(&mp) : 0;

	for (uint32_t i = 0; i < count && count <= SYNC_KEY_MAX; i++) {
		uint32_t column = mp_u32(&mp);

		/* A text key may be equal to another in a collation. */
		if (mp.bad || column >= t->column_count || !t->columns[column].integer) {
			t->key_count = 0;
			return;
		}
		t->key[t->key_count++] = (uint16_t)column;
	}
}

static uint32_t table_index(const struct sync *s, struct span database, struct span name)
{
	for (uint32_t i = 0; i < s->table_count; i++)
		if (span_ieq(s->tables[i].name, name) && span_ieq(s->tables[i].database, database))
			return i;
	return SYNC_NONE;
}

static void read_foreign(struct sync *s, struct sync_table *t, struct span keys)
{
	struct mp mp = mp_over(keys);
	uint32_t count = keys.ptr ? mp_array(&mp) : 0;

	for (uint32_t i = 0; i < count && i < SYNC_FOREIGN_MAX && !mp.bad; i++) {
		struct sync_foreign *f = &t->foreign[t->foreign_count];
		uint32_t elements = mp_array(&mp), columns, names;
		struct span database, table, on_delete;
		bool usable;

		*f = (struct sync_foreign){.name = mp_bytes(&mp)};
		columns = mp_array(&mp);
		usable = columns <= SYNC_KEY_MAX;
		for (uint32_t c = 0; c < columns; c++) {
			uint32_t column = mp_u32(&mp);

			if (usable && column < t->column_count)
				f->columns[f->column_count++] = (uint16_t)column;
		}
		database = mp_bytes(&mp);
		table = mp_bytes(&mp);
		f->parent = table_index(s, database.len ? database : t->database, table);
		names = mp_array(&mp);
		f->by_primary = usable && f->parent != SYNC_NONE && names == s->tables[f->parent].key_count && names == f->column_count;
		for (uint32_t c = 0; c < names; c++) {
			struct span name = mp_bytes(&mp);
			const struct sync_table *parent = f->parent == SYNC_NONE ? NULL : &s->tables[f->parent];

			f->by_primary = f->by_primary && c < parent->key_count && span_ieq(parent->columns[parent->key[c]].name, name);
		}
		on_delete = mp_bytes(&mp);
		f->cascade = span_istarts(on_delete, "cascade");
		f->set_null = span_istarts(on_delete, "set null");
		for (uint32_t e = 6; e < elements; e++)
			(void)!mp_skip(&mp);
		t->foreign_count++;
	}
}

static bool has_triggers(struct span triggers)
{
	struct mp mp = mp_over(triggers);

	return triggers.ptr && mp_array(&mp) > 0;
}

static void read_tables(struct sync *s)
{
	s->tables = arena_zero(&s->arena, (s->execution->table_count + 1) * sizeof(*s->tables));
	for (size_t i = 0; i < s->execution->table_count; i++) {
		const struct record_schema *schema = &s->execution->tables[i].schema;
		struct sync_table *t = &s->tables[s->table_count++];

		t->number = schema->table;
		t->database = schema->database;
		t->name = schema->name;
		t->label = span_str(arena_printf(&s->verdict->arena, "%.*s.%.*s", SPAN_ARG(schema->database), SPAN_ARG(schema->name)));
		t->triggers = has_triggers(schema->triggers);
		read_columns(s, t, schema->columns);
		read_key(t, schema->primary_key);
	}
	for (uint32_t i = 0; i < s->table_count; i++)
		read_foreign(s, &s->tables[i], s->execution->tables[i].schema.foreign_keys);
}

/* ---- findings ---- */

static bool is_operation(const struct life_event *e)
{
	return span_eq_str(e->what, "operation") && !span_eq_str(life_data(e->data, "phase"), "begin");
}

/* What was done to the cluster then: the last operations before, and those within. */
static struct span phase_of(struct sync *s, uint64_t from, uint64_t to)
{
	struct buf text = BUF_INIT;
	struct span out;
	unsigned count = 0;

	for (size_t i = 0; i < s->life->event_count; i++) {
		const struct life_event *e = &s->life->events[i];
		uint64_t first = e->begin ? e->begin : e->at;

		if (!is_operation(e) || first > to || e->at + PHASE_BEFORE_S * second < from)
			continue;
		if (count++ < SYNC_LISTED_MAX)
			buf_printf(&text, "%s%.*s", text.len ? "; " : "", SPAN_ARG(e->detail));
	}
	if (count > SYNC_LISTED_MAX)
		buf_printf(&text, "; and %u more", count - SYNC_LISTED_MAX);
	if (!count)
		buf_add_str(&text, "no operation was under way");
	out = arena_copy(&s->verdict->arena, buf_span(&text));
	buf_release(&text);
	return out;
}

/* What the logs of the nodes say of the time; what tells of trouble before the rest. */
static uint32_t logs_of(struct sync *s, const struct told *told, struct span *out)
{
	uint32_t count = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < s->life->event_count && count < SYNC_LOGS_MAX; i++) {
			const struct life_event *e = &s->life->events[i];
			struct span pattern = life_data(e->data, "pattern");
			bool trouble = span_eq_str(pattern, "crash") || span_eq_str(pattern, "inconsistency") ||
				       span_eq_str(pattern, "corruption") || span_eq_str(pattern, "eviction") ||
				       span_eq_str(pattern, "recovery");

			if (!span_eq_str(e->what, "log") || e->node == LIFE_NONE || trouble != (pass == 0) ||
				e->at + PHASE_BEFORE_S * second < told->from_at || e->at > told->to_at)
				continue;
			if (pass == 1 && told->nodes && !(told->nodes >> e->node & 1))
				continue;
			out[count++] = span_str(arena_printf(&s->verdict->arena, "%.*s: %.*s", SPAN_ARG(s->life->nodes[e->node].name),
				(int)(e->detail.len < 200 ? e->detail.len : 200), e->detail.ptr));
		}
	}
	return count;
}

void tell(struct sync *s, const struct told *told)
{
	struct arena *arena = &s->verdict->arena;
	struct finding *f = verdict_add(s->verdict, FOUND_BY_SYNC, told->class);
	struct finding_place *place = arena_zero(arena, sizeof(*place));
	const struct contract_rule *rule;
	struct span logs[SYNC_LOGS_MAX];

	f->severity = contract_judge_cluster(s->options->contract, s->circumstances, told->class, &rule);
	if (f->severity == SEVERITY_DOCUMENTED) {
		f->rule = arena_copy(arena, span_str(rule->name)).ptr;
		place->page = rule->page[0] ? arena_copy(arena, span_str(rule->page)).ptr : NULL;
	}
	if (told->suspicion)
		f->severity = SEVERITY_SUSPICION;
	if (told->caveat)
		f->caveat = span_str(told->caveat);
	f->explanation = told->explanation;
	f->transaction_count = told->txn_count;
	f->transactions = arena_alloc(arena, (told->txn_count + 1) * sizeof(*f->transactions));
	for (uint32_t i = 0; i < told->txn_count; i++)
		f->transactions[i] =
			span_str(arena_printf(arena, "T%llu", (unsigned long long)s->txns[told->txns[i]].number));
	place->from_ns = told->from_at;
	place->to_ns = told->to_at;
	place->phase = phase_of(s, told->from_at, told->to_at);
	place->nodes = arena_alloc(arena, (s->life->node_count + 1) * sizeof(*place->nodes));
	for (uint32_t n = 0; n < s->life->node_count; n++)
		if (told->nodes >> n & 1)
			place->nodes[place->node_count++] = arena_copy(arena, s->life->nodes[n].name);
	place->log_count = logs_of(s, told, logs);
	place->logs = arena_alloc(arena, (place->log_count + 1) * sizeof(*place->logs));
	for (uint32_t i = 0; i < place->log_count; i++)
		place->logs[i] = logs[i];
	place->rows = arena_alloc(arena, (told->row_count + 1) * sizeof(*place->rows));
	for (uint32_t i = 0; i < told->row_count; i++)
		place->rows[i] = arena_copy(arena, told->rows[i]);
	place->row_count = told->row_count;
	place->row_total = told->row_total;
	f->place = place;
	finding_complete(s->verdict, f);
	finding_seal(f);
}

bool sync_applies(const struct life *life, const struct execution *execution)
{
	uint32_t used = 0;

	if (life->point_count)
		return true;
	for (uint32_t n = 0; n < life->node_count; n++)
		for (size_t i = 0; i < execution->session_count; i++)
			if (span_eq(execution->sessions[i].node, life->nodes[n].name)) {
				used++;
				break;
			}
	return used > 1;
}

void sync_check(const struct life *life, const struct execution *execution, const struct sync_options *options,
	struct verdict *verdict)
{
	struct sync s = {.life = life, .execution = execution, .options = options, .verdict = verdict, .arena = ARENA_INIT};

	read_tables(&s);
	effects_collect(&s);
	find_circumstances(&s);
	check_commits(&s);
	check_contents(&s);
	check_nodes(&s);
	if (!life->point_count)
		verdict_undecided(verdict, "points at which the cluster was quiet and its nodes were read: none", 1);
	if (life->cut)
		verdict_undecided(verdict, "rows of nodes past the size that is looked at", 1);
	map_release(&s.txn_by_number);
	map_release(&s.row_by_hash);
	mem_free(s.txns);
	mem_free(s.effects);
	mem_free(s.rows);
	arena_release(&s.arena);
}
