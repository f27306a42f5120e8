/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command bytes of the client/server protocol (MySQL internals, "Command Phase"; MariaDB, "Protocol"), on the
 * wire and in the statement records of a trace.  The manuals write COM_ for CMD_; that is what the client
 * library's header takes.  A record with CMD_SLEEP has a text that came through no protocol.
 */
#ifndef SERVER_COMMANDS_H
#define SERVER_COMMANDS_H

enum command_byte {
	CMD_SLEEP = 0x00,
	CMD_QUIT = 0x01,
	CMD_INIT_DB = 0x02,
	CMD_QUERY = 0x03,
	CMD_FIELD_LIST = 0x04,
	CMD_CREATE_DB = 0x05,
	CMD_DROP_DB = 0x06,
	CMD_REFRESH = 0x07,
	CMD_SHUTDOWN = 0x08,
	CMD_STATISTICS = 0x09,
	CMD_PROCESS_INFO = 0x0a,
	CMD_PROCESS_KILL = 0x0c,
	CMD_DEBUG = 0x0d,
	CMD_PING = 0x0e,
	CMD_CHANGE_USER = 0x11,
	CMD_BINLOG_DUMP = 0x12,
	CMD_TABLE_DUMP = 0x13,
	CMD_REGISTER_SLAVE = 0x15,
	CMD_STMT_PREPARE = 0x16,
	CMD_STMT_EXECUTE = 0x17,
	CMD_STMT_SEND_LONG_DATA = 0x18,
	CMD_STMT_CLOSE = 0x19,
	CMD_STMT_RESET = 0x1a,
	CMD_SET_OPTION = 0x1b,
	CMD_STMT_FETCH = 0x1c,
	CMD_BINLOG_DUMP_GTID = 0x1e,
	CMD_RESET_CONNECTION = 0x1f,
	CMD_CLONE = 0x20,
	CMD_STMT_BULK_EXECUTE = 0xfa,
};

#endif
