/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What SET of a session's variables does to results.
 *
 * The table has all that the manuals list with session scope ("Server System Variables" of MySQL 8.0 and 9.7 and of
 * MariaDB 10.5 to 11.8; names of one kind by their beginning).  A variable that is in no line belongs to a plugin or
 * to a later release: what its session does is unsupported from then on.
 */
#include "mvcc/plan/session_variables.h"

#include "base/text.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/solver.h"

enum variable_effect {
	EFFECT_NOTHING,  /* on nothing that is modelled: speed, limits of resources, logs, replication, messages */
	EFFECT_FOLLOWED, /* session_settings.c follows its values */
	EFFECT_PRESET,   /* nothing while it has the value that the line names */
	EFFECT_AT_LEAST, /* nothing while it is as large as the line says; else on what depends on it */
	EFFECT_ON,       /* on what depends on it, unless it is set to DEFAULT or to the value of the line */
	EFFECT_LAST_ID,  /* on LAST_INSERT_ID(), which is not known until the next INSERT */
};

struct variable {
	const char *name; /* with * at its end: all that begin so */
	enum variable_effect effect;
	uint32_t on; /* enum variable_dependent */
	const char *value;
};

static const struct variable variables[] = {
	{"alter_algorithm", EFFECT_NOTHING, 0, NULL},
	{"analyze_*", EFFECT_NOTHING, 0, NULL},
	{"aria_*", EFFECT_NOTHING, 0, NULL},
	{"auto_increment_increment", EFFECT_FOLLOWED, 0, NULL},
	{"auto_increment_offset", EFFECT_NOTHING, 0, NULL}, /* answers tell the numbers */
	{"autocommit", EFFECT_NOTHING, 0, NULL},            /* the trace has the transactions */
	{"big_tables", EFFECT_NOTHING, 0, NULL},
	{"binlog_*", EFFECT_NOTHING, 0, NULL},
	{"block_encryption_mode", EFFECT_ON, DEPENDS_KEYS, NULL},
	{"bulk_insert_buffer_size", EFFECT_NOTHING, 0, NULL},
	{"character_set_client", EFFECT_FOLLOWED, 0, NULL},
	{"character_set_connection", EFFECT_FOLLOWED, 0, NULL},
	{"character_set_database", EFFECT_ON, DEPENDS_DEFINITIONS, NULL},
	{"character_set_filesystem", EFFECT_NOTHING, 0, NULL},
	{"character_set_results", EFFECT_NOTHING, 0, NULL}, /* answers with other characters are distinguished */
	{"character_set_server", EFFECT_NOTHING, 0, NULL},
	{"check_constraint_checks", EFFECT_ON, DEPENDS_CHECKS, "on"},
	{"collation_connection", EFFECT_FOLLOWED, 0, NULL},
	{"collation_database", EFFECT_ON, DEPENDS_DEFINITIONS, NULL},
	{"collation_server", EFFECT_NOTHING, 0, NULL},
	{"column_compression_*", EFFECT_NOTHING, 0, NULL},
	{"completion_type", EFFECT_PRESET, 0, "no_chain"},
	{"connection_memory_*", EFFECT_NOTHING, 0, NULL},
	{"cte_max_recursion_depth", EFFECT_ON, DEPENDS_RECURSION, NULL},
	{"deadlock_*", EFFECT_NOTHING, 0, NULL}, /* of Aria */
	{"default_master_connection", EFFECT_NOTHING, 0, NULL},
	{"default_regex_flags", EFFECT_ON, DEPENDS_REGEXP, ""},
	{"default_storage_engine", EFFECT_NOTHING, 0, NULL}, /* definitions.c asks whether it was set */
	{"default_table_encryption", EFFECT_NOTHING, 0, NULL},
	{"default_tmp_storage_engine", EFFECT_NOTHING, 0, NULL},
	{"default_week_format", EFFECT_ON, DEPENDS_WEEKS, NULL},
	{"div_precision_increment", EFFECT_ON, DEPENDS_DIVISION, NULL},
	{"enable_secondary_engine_statistics", EFFECT_NOTHING, 0, NULL},
	{"end_markers_in_json", EFFECT_NOTHING, 0, NULL},
	{"enforce_storage_engine", EFFECT_ON, DEPENDS_DEFINITIONS, NULL},
	{"eq_range_index_dive_limit", EFFECT_NOTHING, 0, NULL},
	{"expensive_subquery_limit", EFFECT_NOTHING, 0, NULL},
	{"explain_*", EFFECT_NOTHING, 0, NULL},
	{"explicit_defaults_for_timestamp", EFFECT_ON, DEPENDS_TIMESTAMPS, NULL},
	{"external_user", EFFECT_NOTHING, 0, NULL},
	{"foreign_key_checks", EFFECT_FOLLOWED, 0, NULL},
	{"general_log", EFFECT_NOTHING, 0, NULL},
	{"generated_random_password_length", EFFECT_NOTHING, 0, NULL},
	{"global_connection_memory_tracking", EFFECT_NOTHING, 0, NULL},
	{"group_concat_max_len", EFFECT_FOLLOWED, 0, NULL},
	{"group_replication_consistency", EFFECT_NOTHING, 0, NULL},
	{"gtid_domain_id", EFFECT_NOTHING, 0, NULL},
	{"gtid_next", EFFECT_PRESET, 0, "automatic"}, /* a transaction that was applied already is passed over */
	{"gtid_seq_no", EFFECT_NOTHING, 0, NULL},
	{"histogram_*", EFFECT_NOTHING, 0, NULL},
	{"identity", EFFECT_LAST_ID, 0, NULL},
	{"idle_*", EFFECT_NOTHING, 0, NULL}, /* the trace has the connection's end */
	{"immediate_server_version", EFFECT_NOTHING, 0, NULL},
	{"in_predicate_conversion_threshold", EFFECT_NOTHING, 0, NULL},
	{"information_schema_stats_expiry", EFFECT_NOTHING, 0, NULL},
	{"innodb_compression_default", EFFECT_NOTHING, 0, NULL},
	{"innodb_ddl_*", EFFECT_NOTHING, 0, NULL},
	{"innodb_default_encryption_key_id", EFFECT_NOTHING, 0, NULL},
	{"innodb_ft_*", EFFECT_NOTHING, 0, NULL},
	{"innodb_lock_wait_timeout", EFFECT_NOTHING, 0, NULL},
	{"innodb_parallel_read_threads", EFFECT_NOTHING, 0, NULL},
	{"innodb_snapshot_isolation", EFFECT_FOLLOWED, 0, NULL},
	{"innodb_strict_mode", EFFECT_NOTHING, 0, NULL},
	{"innodb_table_locks", EFFECT_NOTHING, 0, NULL},
	{"innodb_tmpdir", EFFECT_NOTHING, 0, NULL},
	{"insert_id", EFFECT_NOTHING, 0, NULL}, /* answers tell the numbers */
	{"interactive_timeout", EFFECT_NOTHING, 0, NULL},
	{"internal_tmp_mem_storage_engine", EFFECT_NOTHING, 0, NULL},
	{"join_*", EFFECT_NOTHING, 0, NULL},
	{"keep_files_on_create", EFFECT_NOTHING, 0, NULL},
	{"last_insert_id", EFFECT_LAST_ID, 0, NULL},
	{"lc_messages", EFFECT_NOTHING, 0, NULL},
	{"lc_time_names", EFFECT_ON, DEPENDS_NAMES, NULL},
	{"lock_wait_timeout", EFFECT_NOTHING, 0, NULL},
	{"log_*", EFFECT_NOTHING, 0, NULL},
	{"long_query_time", EFFECT_NOTHING, 0, NULL},
	{"low_priority_updates", EFFECT_NOTHING, 0, NULL},
	{"max_connections", EFFECT_NOTHING, 0, NULL},
	{"max_delayed_threads", EFFECT_NOTHING, 0, NULL},
	{"max_error_count", EFFECT_NOTHING, 0, NULL},
	{"max_execution_time", EFFECT_NOTHING, 0, NULL},
	{"max_heap_table_size", EFFECT_NOTHING, 0, NULL},
	{"max_insert_delayed_threads", EFFECT_NOTHING, 0, NULL},
	{"max_join_size", EFFECT_NOTHING, 0, NULL}, /* an error before any row is read */
	{"max_length_for_sort_data", EFFECT_NOTHING, 0, NULL},
	{"max_points_in_geometry", EFFECT_NOTHING, 0, NULL},
	{"max_recursive_iterations", EFFECT_ON, DEPENDS_RECURSION, NULL},
	{"max_relay_log_size", EFFECT_NOTHING, 0, NULL},
	{"max_rowid_filter_size", EFFECT_NOTHING, 0, NULL},
	{"max_seeks_for_key", EFFECT_NOTHING, 0, NULL},
	{"max_session_mem_used", EFFECT_NOTHING, 0, NULL},
	{"max_sort_length", EFFECT_AT_LEAST, DEPENDS_SORTING, "1024"},
	{"max_sp_recursion_depth", EFFECT_NOTHING, 0, NULL},
	{"max_statement_time", EFFECT_NOTHING, 0, NULL},
	{"max_tmp_session_space_usage", EFFECT_NOTHING, 0, NULL},
	{"max_user_connections", EFFECT_NOTHING, 0, NULL},
	{"mhnsw_*", EFFECT_NOTHING, 0, NULL}, /* searches of vectors are not modelled */
	{"min_examined_row_limit", EFFECT_NOTHING, 0, NULL},
	{"mrr_buffer_size", EFFECT_NOTHING, 0, NULL},
	{"myisam_*", EFFECT_NOTHING, 0, NULL},
	{"net_*", EFFECT_NOTHING, 0, NULL},
	{"note_verbosity", EFFECT_NOTHING, 0, NULL},
	{"old_alter_table", EFFECT_NOTHING, 0, NULL},
	{"old_passwords", EFFECT_ON, DEPENDS_KEYS, NULL},
	{"optimizer_*", EFFECT_NOTHING, 0, NULL},
	{"original_*", EFFECT_NOTHING, 0, NULL},
	{"parser_max_mem_size", EFFECT_NOTHING, 0, NULL},
	{"preload_buffer_size", EFFECT_NOTHING, 0, NULL},
	{"print_identified_with_as_hex", EFFECT_NOTHING, 0, NULL},
	{"profiling*", EFFECT_NOTHING, 0, NULL},
	{"progress_report_time", EFFECT_NOTHING, 0, NULL},
	{"proxy_user", EFFECT_NOTHING, 0, NULL},
	{"pseudo_thread_id", EFFECT_NOTHING, 0, NULL},
	{"query_alloc_block_size", EFFECT_NOTHING, 0, NULL},
	{"query_cache_*", EFFECT_NOTHING, 0, NULL}, /* an entry goes when a table of it changes */
	{"query_prealloc_size", EFFECT_NOTHING, 0, NULL},
	{"rand_seed1", EFFECT_NOTHING, 0, NULL}, /* what RAND() gives is not known in any case */
	{"rand_seed2", EFFECT_NOTHING, 0, NULL},
	{"range_alloc_block_size", EFFECT_NOTHING, 0, NULL},
	{"range_optimizer_max_mem_size", EFFECT_NOTHING, 0, NULL},
	{"read_buffer_size", EFFECT_NOTHING, 0, NULL},
	{"read_rnd_buffer_size", EFFECT_NOTHING, 0, NULL},
	{"redirect_url", EFFECT_NOTHING, 0, NULL},
	{"restrict_fk_on_non_standard_key", EFFECT_ON, DEPENDS_DEFINITIONS, NULL},
	{"resultset_metadata", EFFECT_NOTHING, 0, NULL},
	{"rowid_merge_buff_size", EFFECT_NOTHING, 0, NULL},
	{"secondary_engine_cost_threshold", EFFECT_NOTHING, 0, NULL},
	{"select_into_*", EFFECT_NOTHING, 0, NULL},
	{"server_id", EFFECT_NOTHING, 0, NULL},
	{"session_track_*", EFFECT_NOTHING, 0, NULL},
	{"set_operations_buffer_size", EFFECT_NOTHING, 0, NULL},
	{"show_*", EFFECT_NOTHING, 0, NULL},
	{"skip_parallel_replication", EFFECT_NOTHING, 0, NULL},
	{"skip_replication", EFFECT_NOTHING, 0, NULL},
	{"slow_query_log", EFFECT_NOTHING, 0, NULL},
	{"sort_buffer_size", EFFECT_NOTHING, 0, NULL},
	{"sql_auto_is_null", EFFECT_PRESET, 0, "off"}, /* id IS NULL would mean LAST_INSERT_ID() */
	{"sql_big_selects", EFFECT_NOTHING, 0, NULL},
	{"sql_buffer_result", EFFECT_NOTHING, 0, NULL},
	{"sql_generate_invisible_primary_key", EFFECT_ON, DEPENDS_DEFINITIONS, "off"},
	{"sql_if_exists", EFFECT_ON, DEPENDS_DEFINITIONS, "off"},
	{"sql_log_bin", EFFECT_NOTHING, 0, NULL},
	{"sql_log_off", EFFECT_NOTHING, 0, NULL},
	{"sql_mode", EFFECT_FOLLOWED, 0, NULL},
	{"sql_notes", EFFECT_NOTHING, 0, NULL},
	{"sql_quote_show_create", EFFECT_NOTHING, 0, NULL},
	{"sql_require_primary_key", EFFECT_NOTHING, 0, NULL},
	{"sql_safe_updates", EFFECT_NOTHING, 0, NULL}, /* an error before any row is read */
	{"sql_select_limit", EFFECT_FOLLOWED, 0, NULL},
	{"sql_slave_skip_counter", EFFECT_NOTHING, 0, NULL},
	{"sql_warnings", EFFECT_NOTHING, 0, NULL},
	{"standard_compliant_cte", EFFECT_ON, DEPENDS_RECURSION, "on"},
	{"statement_id", EFFECT_NOTHING, 0, NULL},
	{"storage_engine", EFFECT_ON, DEPENDS_DEFINITIONS, NULL},
	{"system_versioning_*", EFFECT_NOTHING, 0, NULL}, /* such tables are not modelled */
	{"table_open_cache", EFFECT_NOTHING, 0, NULL},
	{"tcp_nodelay", EFFECT_NOTHING, 0, NULL},
	{"terminology_use_previous", EFFECT_NOTHING, 0, NULL},
	{"thread_cache_size", EFFECT_NOTHING, 0, NULL},
	{"thread_pool_*", EFFECT_NOTHING, 0, NULL},
	{"time_zone", EFFECT_NOTHING, 0, NULL}, /* TIMESTAMPs of such sessions are distinguished */
	{"timestamp", EFFECT_NOTHING, 0, NULL}, /* what NOW() gives is not known in any case */
	{"tmp_*", EFFECT_NOTHING, 0, NULL},
	{"transaction_alloc_block_size", EFFECT_NOTHING, 0, NULL},
	{"transaction_allow_batching", EFFECT_NOTHING, 0, NULL},
	{"transaction_isolation", EFFECT_NOTHING, 0, NULL}, /* the trace has the levels */
	{"transaction_prealloc_size", EFFECT_NOTHING, 0, NULL},
	{"transaction_read_only", EFFECT_NOTHING, 0, NULL},
	{"tx_isolation", EFFECT_NOTHING, 0, NULL},
	{"tx_read_only", EFFECT_NOTHING, 0, NULL},
	{"unique_checks", EFFECT_FOLLOWED, 0, NULL},
	{"updatable_views_with_limit", EFFECT_NOTHING, 0, NULL}, /* an error before any row is read */
	{"use_secondary_engine", EFFECT_NOTHING, 0, NULL},
	{"use_stat_tables", EFFECT_NOTHING, 0, NULL},
	{"wait_timeout", EFFECT_NOTHING, 0, NULL},
	{"windowing_use_high_precision", EFFECT_ON, DEPENDS_WINDOWS, "on"},
	{"wsrep_*", EFFECT_NOTHING, 0, NULL}, /* one node; what several nodes do is not judged here */
};

static const struct variable *variable_named(struct span name)
{
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		size_t len = strlen(variables[i].name);
		bool family = variables[i].name[len - 1] == '*';

		if (family ? name.len >= len - 1 &&
				     span_ieq(span_of(name.ptr, len - 1), span_of(variables[i].name, len - 1))
			   : span_ieq_str(name, variables[i].name))
			return &variables[i];
	}
	return NULL;
}

static bool is_one_of(struct span word, const char *const *words)
{
	for (; word.ptr && *words; words++) {
		if (span_ieq_str(word, *words))
			return true;
	}
	return false;
}

/* Is the value the one of the line, however it is written? */
static bool has_value(struct span word, const char *wanted)
{
	if (!wanted || !word.ptr)
		return false;
	if (span_ieq_str(word, wanted))
		return true;
	if (strcmp(wanted, "on") == 0)
		return span_eq_str(word, "1") || span_ieq_str(word, "true");
	if (strcmp(wanted, "off") == 0)
		return span_eq_str(word, "0") || span_ieq_str(word, "false");
	return strcmp(wanted, "no_chain") == 0 && span_eq_str(word, "0");
}

static bool is_at_least(struct span word, const char *least)
{
	uint64_t number, bound;

	return text_number(word, &number) && text_number(span_str(least), &bound) && number >= bound;
}

bool variable_alters(const struct mvcc *m, const struct session_settings *s,
	const struct sql_set_item *item, struct session_settings *out)
{
	const struct variable *v = item->kind == SQL_SET_VARIABLE ? variable_named(item->name) : NULL;
	struct span word = item->value ? settings_word(item->value) : SPAN_NONE;

	*out = *s;
	if (!v)
		return false;
	if (v->effect == EFFECT_LAST_ID) {
		out->has_last_insert_id = false;
		return true;
	}
	if (v->effect != EFFECT_ON && v->effect != EFFECT_AT_LEAST)
		return false;
	out->altered &= ~v->on;
	if (item->value && item->value->kind == SQL_EXPR_DEFAULT)
		out->altered |= m->settings_of_new.altered & v->on;
	else if (v->effect == EFFECT_AT_LEAST ? !is_at_least(word, v->value) : !has_value(word, v->value))
		out->altered |= v->on;
	return true;
}

bool variable_is_followed(
	struct mvcc *m, const struct sql_set_item *item, const struct session_settings *settings)
{
	const struct variable *v = variable_named(item->name);
	struct session_settings then;

	switch (v ? v->effect : EFFECT_PRESET) {
	case EFFECT_NOTHING:
		return true;
	case EFFECT_AT_LEAST:
	case EFFECT_ON:
	case EFFECT_LAST_ID:
		return true;
	case EFFECT_PRESET:
		return v && item->value && has_value(settings_word(item->value), v->value);
	case EFFECT_FOLLOWED:
		break;
	}
	/* The texts of other character sets are not what the trace has. */
	if (span_ieq_str(item->name, "character_set_client"))
		return item->value && is_one_of(settings_word(item->value),
					      (const char *const[]){"utf8", "utf8mb3", "utf8mb4", NULL});
	if (settings_collation(m, settings, item, &then) || settings_variable(m, settings, item, &then))
		return true;
	return span_ieq_str(item->name, "sql_mode") && settings_mode(m, settings, item->value, &then);
}

bool variables_are_followed(
	struct mvcc *m, const struct sql_stmt *stmt, const struct session_settings *settings)
{
	if (stmt->u.set->statement)
		return false;
	for (const struct sql_set_item *as_written = stmt->u.set->items; as_written; as_written = as_written->next) {
		struct sql_set_item resolved = settings_resolved(m, settings, as_written);
		const struct sql_set_item *item = &resolved;

		switch (item->kind) {
		case SQL_SET_USER_VAR:
			break; /* unknown to the evaluator: what reads it is unsupported */
		case SQL_SET_VARIABLE:
			/* Others' sessions keep their values. */
			if (settings_is_global(item) || variable_is_followed(m, item, settings))
				break;
			return false;
		case SQL_SET_NAMES:
		case SQL_SET_CHARSET:
			/* Literals of these character sets compare with columns in the same way. */
			if (item->value && item->value->kind != SQL_EXPR_DEFAULT &&
				is_one_of(settings_word(item->value), (const char *const[]){"utf8", "utf8mb3", "utf8mb4",
									      "latin1", "binary", NULL}))
				break;
			return false;
		}
	}
	return true;
}

bool variables_change_nothing(
	struct mvcc *m, const struct sql_set *set, const struct session_settings *settings)
{
	(void)m;
	(void)settings;
	for (const struct sql_set_item *item = set->items; item; item = item->next) {
		const struct variable *v = item->kind == SQL_SET_VARIABLE ? variable_named(item->name) : NULL;

		if (!v || v->effect != EFFECT_NOTHING || span_ieq_str(item->name, "time_zone") ||
			span_ieq_str(item->name, "default_storage_engine"))
			return false;
	}
	return true;
}

/* ---- what depends on them ---- */

static const char *const regexp_functions[] = {"regexp_instr", "regexp_like", "regexp_replace", "regexp_substr", NULL};
static const char *const lists[] = {"group_concat", "json_arrayagg", "json_objectagg", NULL};
static const char *const divisions[] = {"avg", "std", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop",
	"var_samp", NULL};
static const char *const weeks[] = {"week", "date_format", "str_to_date", NULL};
static const char *const names[] = {"dayname", "monthname", "date_format", "str_to_date", "format", "to_char", NULL};
static const char *const keys[] = {"aes_encrypt", "aes_decrypt", "password", NULL};

static bool see_dependent(void *ctx, const struct sql_expr *e)
{
	uint32_t *found = ctx;

	if (e->kind == SQL_EXPR_BINARY) {
		*found |= e->op == SQL_OP_REGEXP ? DEPENDS_REGEXP : 0;
		*found |= e->op == SQL_OP_DIV ? DEPENDS_DIVISION : 0;
	}
	if (e->kind != SQL_EXPR_CALL)
		return true;
	*found |= is_one_of(e->u.call.name, regexp_functions) ? DEPENDS_REGEXP : 0;
	*found |= is_one_of(e->u.call.name, lists) ? DEPENDS_GROUP_CONCAT : 0;
	*found |= is_one_of(e->u.call.name, divisions) ? DEPENDS_DIVISION : 0;
	*found |= is_one_of(e->u.call.name, weeks) ? DEPENDS_WEEKS : 0;
	*found |= is_one_of(e->u.call.name, names) ? DEPENDS_NAMES : 0;
	*found |= is_one_of(e->u.call.name, keys) ? DEPENDS_KEYS : 0;
	*found |= e->u.call.extra && e->u.call.extra->over ? DEPENDS_WINDOWS | DEPENDS_SORTING : 0;
	return true;
}

static bool see_query(void *ctx, const struct sql_query *query)
{
	uint32_t *found = ctx;

	*found |= query->order || query->kind != SQL_QUERY_SELECT || query->u.select.group ||
				  query->u.select.flags & SQL_SELECT_DISTINCT
			  ? DEPENDS_SORTING
			  : 0;
	*found |= query->with ? DEPENDS_RECURSION : 0;
	return true;
}

/* Expressions of the table that a statement evaluates: any of them may be one that depends. */
static bool has_expressions(const struct eval_table *def, bool written)
{
	for (uint32_t c = 0; c < def->column_count; c++) {
		const struct eval_column *column = &def->columns[c];

		if (column->generated || (written && column->dflt && column->dflt->kind != SQL_EXPR_LITERAL))
			return true;
	}
	return written && def->check_count;
}

static uint32_t dependents_of(const struct mvcc *m, const struct plan *plan)
{
	uint32_t found = sql_stmt_is_ddl(plan->stmt) ? DEPENDS_DEFINITIONS | DEPENDS_TIMESTAMPS : 0;

	/* What stored programs do is not looked at. */
	if (plan->effects)
		return UINT32_MAX;

	sql_walk_stmt(plan->stmt, &(struct sql_visitor){.expr = see_dependent, .query = see_query, .ctx = &found});
	for (uint32_t i = 0; i < plan->table_count; i++) {
		const struct eval_table *def = m->store.tables[plan->tables[i]].def;

		if (has_expressions(def, plan->written[i]))
			return UINT32_MAX;
		for (uint32_t c = 0; plan->written[i] && c < def->column_count; c++)
			found |= def->columns[c].type.kind == EVAL_T_TIMESTAMP ? DEPENDS_TIMESTAMPS : 0;
	}
	return found;
}

uint32_t variables_concern(const struct mvcc *m, const struct plan *plan)
{
	return plan->key.altered && dependents_of(m, plan) & plan->key.altered ? REASON_VARIABLES_NOT_MODELLED
									       : REASON_NONE;
}
