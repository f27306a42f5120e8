/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/variables.h"

#include <string.h>

#include "base/attr.h"
#include "db/query.h"

static const char *const names[] = {"auto_increment_increment", "autocommit", "binlog_format",
	"binlog_row_image", "character_set_server", "collation_database", "collation_server",
	"completion_type", "default_storage_engine", "default_tmp_storage_engine", "default_week_format",
	"div_precision_increment", "event_scheduler", "explicit_defaults_for_timestamp", "foreign_key_checks",
	"group_concat_max_len", "gtid_domain_id", "gtid_mode", "gtid_strict_mode",
	"innodb_autoinc_lock_mode", "innodb_deadlock_detect", "innodb_flush_log_at_trx_commit",
	"innodb_lock_wait_timeout", "innodb_locks_unsafe_for_binlog",
	"innodb_rollback_on_timeout", "innodb_snapshot_isolation", "innodb_version",
	"lc_time_names", "log_bin", "lower_case_table_names", "max_allowed_packet", "old_mode",
	"read_only", "server_id", "session_track_gtids", "session_track_system_variables",
	"session_track_transaction_info", "sql_auto_is_null", "sql_mode", "sql_select_limit",
	"super_read_only", "sync_binlog", "system_time_zone", "time_zone",
	"transaction_isolation", "transaction_read_only", "tx_isolation", "tx_read_only",
	"unique_checks", "version", "version_comment", "wait_timeout"};

bool variable_is_recorded(struct span name)
{
	if (name.len > 6 && memcmp(name.ptr, "wsrep_", 6) == 0)
		return !memmem(name.ptr, name.len, "auth", 4); /* wsrep_sst_auth is a password */
	if (name.len > 9 && memcmp(name.ptr, "tidb_txn_", 9) == 0)
		return true;
	if (name.len > 18 && memcmp(name.ptr, "group_replication_", 18) == 0)
		return !memmem(name.ptr, name.len, "recovery", 8);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (span_ieq_str(name, names[i]))
			return true;
	}
	return false;
}

uint32_t variables_pack_login(MYSQL *db, msgpack_packer *pk)
{
	MYSQL_RES *result = db_send(db, "select @isorec_login") ? NULL : db_result(db);
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
	bool off = row && row[0] && strcmp(row[0], "utf8mb4") != 0;

	mysql_free_result(result);
	if (!off)
		return 0;
	pack_str(pk, SPAN_LIT("character_set_client_handshake"));
	pack_str(pk, SPAN_LIT("OFF"));
	return 1;
}
