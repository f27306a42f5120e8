/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the functions that the servers have built in (MariaDB's information_schema.SQL_FUNCTIONS,
 * MySQL's manual).  Any other name may be a stored function, which can read and write tables.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "sql/sql.h"

/* Sorted. */
static const char *const natives[] = {
	"abs", "acos", "add_months", "adddate", "addtime", "aes_decrypt", "aes_encrypt",
	"any_value", "ascii", "asin", "atan", "atan2", "avg", "benchmark", "bin", "bin_to_uuid",
	"binary", "binlog_gtid_pos", "bit_and", "bit_count", "bit_length", "bit_or", "bit_xor",
	"cast", "ceil", "ceiling", "char", "char_length", "character_length", "charset", "chr", "coalesce",
	"coercibility", "collation", "column_add", "column_check", "column_create",
	"column_delete", "column_exists", "column_get", "column_json", "column_list", "compress",
	"concat", "concat_operator_oracle", "concat_ws", "connection_id", "conv", "convert",
	"convert_tz", "cos", "cot", "count", "crc32", "crc32c", "cume_dist", "curdate",
	"current_date", "current_role", "current_time", "current_timestamp", "current_user",
	"curtime", "database", "date", "date_add", "date_format", "date_sub", "datediff", "day",
	"dayname", "dayofmonth", "dayofweek", "dayofyear", "decode", "decode_histogram",
	"default", "degrees", "dense_rank", "des_decrypt", "des_encrypt", "elt", "encode",
	"encrypt", "exp", "export_set", "extract", "extractvalue", "field", "find_in_set",
	"first_value", "floor", "format", "format_bytes", "format_pico_time", "found_rows",
	"from_base64", "from_days", "from_unixtime", "geometrycollection", "get_format",
	"get_lock", "greatest", "group_concat", "grouping", "gtid_subset", "gtid_subtract",
	"hex", "hour", "icu_version", "if", "ifnull", "inet6_aton", "inet6_ntoa", "inet_aton",
	"inet_ntoa", "insert", "instr", "interval", "is_free_lock", "is_ipv4", "is_ipv4_compat",
	"is_ipv4_mapped", "is_ipv6", "is_used_lock", "is_uuid", "isnull", "json_array",
	"json_array_append", "json_array_insert", "json_array_intersect", "json_arrayagg",
	"json_compact", "json_contains", "json_contains_path", "json_depth", "json_detailed",
	"json_equals", "json_exists", "json_extract", "json_insert", "json_key_value",
	"json_keys", "json_length", "json_loose", "json_merge", "json_merge_patch",
	"json_merge_preserve", "json_normalize", "json_object", "json_object_filter_keys",
	"json_object_to_array", "json_objectagg", "json_overlaps", "json_pretty", "json_query",
	"json_quote", "json_remove", "json_replace", "json_schema_valid",
	"json_schema_validation_report", "json_search", "json_set", "json_storage_free",
	"json_storage_size", "json_table", "json_type", "json_unquote", "json_valid",
	"json_value", "kdf", "lag", "last_day", "last_insert_id", "lastval", "lcase", "lead",
	"least", "left", "length", "lengthb", "linestring", "ln", "load_file", "localtime",
	"localtimestamp", "locate", "log", "log10", "log2", "lower", "lpad", "ltrim", "make_set",
	"makedate", "maketime", "master_gtid_wait", "master_pos_wait", "max", "mbrcontains",
	"mbrcoveredby", "mbrcovers", "mbrdisjoint", "mbrequal", "mbrequals", "mbrintersects",
	"mbroverlaps", "mbrtouches", "mbrwithin", "md5", "median", "microsecond", "mid", "min",
	"minute", "mod", "month", "monthname", "multilinestring", "multipoint", "multipolygon",
	"name_const", "natural_sort_key", "nextval", "now", "nth_value", "ntile", "nullif",
	"nvl", "nvl2", "oct", "octet_length", "old_password", "ord", "password", "percent_rank",
	"percentile_cont", "percentile_disc", "period_add", "period_diff", "pi", "point",
	"polygon", "position", "pow", "power", "ps_current_thread_id", "ps_thread_id", "quarter",
	"quote", "radians", "rand", "random_bytes", "rank", "regexp_instr", "regexp_like",
	"regexp_replace", "regexp_substr", "release_all_locks", "release_lock", "repeat",
	"replace", "reverse", "right", "roles_graphml", "round", "row_count", "row_number",
	"rpad", "rtrim", "schema", "schemas", "sec_to_time", "second", "session_user", "setval",
	"sformat", "sha", "sha1", "sha2", "sign", "sin", "sleep", "soundex", "source_pos_wait",
	"space", "sqrt", "statement_digest", "statement_digest_text", "std", "stddev",
	"stddev_pop", "stddev_samp", "str_to_date", "strcmp", "string_to_vector", "subdate",
	"substr", "substring", "substring_index", "subtime", "sum", "sys_guid", "sysdate",
	"system_user", "tan", "time", "time_format", "time_to_sec", "timediff", "timestamp",
	"timestampadd", "timestampdiff", "to_base64", "to_char", "to_days", "to_seconds", "trim",
	"truncate", "ucase", "uncompress", "uncompressed_length", "unhex", "unix_timestamp",
	"updatexml", "upper", "user", "utc_date", "utc_time", "utc_timestamp", "uuid",
	"uuid_short", "uuid_to_bin", "uuid_v4", "uuid_v7", "validate_password_strength", "value",
	"values", "var_pop", "var_samp", "variance", "vec_distance", "vec_distance_cosine",
	"vec_distance_euclidean", "vec_fromtext", "vec_totext", "vector_dim", "vector_to_string",
	"version", "wait_for_executed_gtid_set", "week", "weekday", "weekofyear",
	"weight_string", "wsrep_last_seen_gtid", "wsrep_last_written_gtid",
	"wsrep_sync_wait_upto_gtid", "year", "yearweek",
};

static int by_name(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

bool sql_is_native(struct span name)
{
	char lower[64];

	if (name.len >= sizeof(lower))
		return false;
	for (size_t i = 0; i < name.len; i++)
		lower[i] = (char)(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] + 32
									  : name.ptr[i]);
	lower[name.len] = '\0';
	return strncmp(lower, "st_", 3) == 0 || bsearch(lower, natives, ARRAY_LEN(natives),
						    sizeof(natives[0]), by_name) != NULL;
}
