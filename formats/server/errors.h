/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Error numbers of the servers that something here depends on, with the names that the manuals give them (MySQL,
 * "Server Error Message Reference"; MariaDB, "Error Codes").  Both servers agree where no comment says
 * otherwise.
 *
 * What an error does to a transaction: those of the first group end it, or may.  After all others the
 * statement is undone, or refused before it began, and the transaction goes on.
 */
#ifndef SERVER_ERRORS_H
#define SERVER_ERRORS_H

enum server_error {
	/* The transaction is rolled back. */
	ER_CHECKREAD = 1020,     /* MariaDB: another one changed the row since its snapshot was taken */
	ER_LOCK_DEADLOCK = 1213, /* ... as the victim; on Galera, by a certification that failed, too */
	ER_XA_RBROLLBACK = 1402,
	ER_XA_RBTIMEOUT = 1613,
	ER_XA_RBDEADLOCK = 1614,
	ER_TRANSACTION_ROLLBACK_DURING_COMMIT = 3101, /* MySQL's group replication: not certified */
	/* The statement only, unless innodb_rollback_on_timeout is set. */
	ER_LOCK_WAIT_TIMEOUT = 1205,
	/* A commit failed, or the server ends the session: it does not say whether before or after the
	 * commit. */
	ER_SERVER_SHUTDOWN = 1053,
	ER_ERROR_DURING_COMMIT = 1180,
	ER_CONNECTION_KILLED = 1927,  /* MariaDB */
	ER_SESSION_WAS_KILLED = 3169, /* MySQL */

	/* Nothing of the text was executed. */
	ER_PARSE_ERROR = 1064,
	ER_EMPTY_QUERY = 1065,
	ER_UNKNOWN_STMT_HANDLER = 1243,
	ER_SP_DOES_NOT_EXIST = 1305,
	ER_XAER_NOTA = 1397, /* of XA statements: 1397 to 1400 */
	ER_XAER_OUTSIDE = 1400,
	ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792,

	/* The statement waited, or would have. */
	ER_QUERY_INTERRUPTED = 1317,
	ER_LOCK_NOWAIT = 3572, /* MySQL */

	/* Names: what the statement speaks of is not there, or is not what it was. */
	ER_DB_CREATE_EXISTS = 1007,
	ER_BAD_FIELD_ERROR = 1054,
	ER_NO_SUCH_TABLE = 1146,
	ER_TABLE_DEF_CHANGED = 1412, /* changed since the snapshot was taken */

	/* Constraints. */
	ER_BAD_NULL_ERROR = 1048,
	ER_DUP_ENTRY = 1062,
	ER_NO_DEFAULT_FOR_FIELD = 1364,
	ER_VIEW_CHECK_FAILED = 1369,
	ER_ROW_IS_REFERENCED_2 = 1451,
	ER_NO_REFERENCED_ROW_2 = 1452,
	ER_AUTOINC_READ_FAILED = 1467,
	ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO = 1761,
	ER_FOREIGN_DUPLICATE_KEY_WITHOUT_CHILD_INFO = 1762,

	/* Values. */
	ER_SUBQUERY_NO_1_ROW = 1242,
	ER_WARN_DATA_OUT_OF_RANGE = 1264,
	WARN_DATA_TRUNCATED = 1265,
	ER_TRUNCATED_WRONG_VALUE = 1292,
	ER_DIVISION_BY_ZERO = 1365,
	ER_TRUNCATED_WRONG_VALUE_FOR_FIELD = 1366,
	ER_DATA_TOO_LONG = 1406,
	ER_WRONG_VALUE_FOR_TYPE = 1411,
	ER_DATETIME_FUNCTION_OVERFLOW = 1441,
	ER_DATA_OUT_OF_RANGE = 1690,

	/* Raised by a stored program. */
	ER_TOO_MANY_ROWS = 1172, /* SELECT ... INTO */
	ER_SIGNAL_EXCEPTION = 1644,

	/* Found while a statement is parsed, its names are looked up and its types are worked out, or raised by what it
	 * computes; the evaluator raises most of them itself. */
	ER_DBACCESS_DENIED_ERROR = 1044,
	ER_NO_DB_ERROR = 1046,
	ER_BAD_DB_ERROR = 1049,
	ER_BAD_TABLE_ERROR = 1051,
	ER_NON_UNIQ_ERROR = 1052,
	ER_WRONG_FIELD_WITH_GROUP = 1055,
	ER_WRONG_GROUP_FIELD = 1056,
	ER_DUP_FIELDNAME = 1060,
	ER_NONUNIQ_TABLE = 1066,
	ER_UPDATE_TABLE_USED = 1093,
	ER_NO_TABLES_USED = 1096,
	ER_UNKNOWN_TABLE = 1109,
	ER_FIELD_SPECIFIED_TWICE = 1110,
	ER_INVALID_GROUP_FUNC_USE = 1111,
	ER_UNKNOWN_CHARACTER_SET = 1115,
	ER_WRONG_VALUE_COUNT_ON_ROW = 1136,
	ER_REGEXP_ERROR = 1139,
	ER_MIX_OF_GROUP_FUNC_AND_FIELDS = 1140,
	ER_TABLEACCESS_DENIED_ERROR = 1142,
	ER_COLUMNACCESS_DENIED_ERROR = 1143,
	ER_WRONG_ARGUMENTS = 1210,
	ER_NO_REFERENCED_ROW = 1216,
	ER_ROW_IS_REFERENCED = 1217,
	ER_WRONG_USAGE = 1221,
	ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT = 1222,
	ER_NOT_SUPPORTED_YET = 1235,
	ER_OPERAND_COLUMNS = 1241,
	ER_ILLEGAL_REFERENCE = 1247,
	ER_DERIVED_MUST_HAVE_ALIAS = 1248,
	ER_TABLENAME_NOT_ALLOWED_HERE = 1250,
	ER_CANT_AGGREGATE_2COLLATIONS = 1267,
	ER_UNKNOWN_COLLATION = 1273,
	ER_NON_UPDATABLE_TABLE = 1288,
	ER_NONUPDATEABLE_COLUMN = 1348,
	ER_VIEW_WRONG_LIST = 1353,
	ER_VIEW_INVALID = 1356,
	ER_VIEW_MULTIUPDATE = 1393,
	ER_VIEW_NO_INSERT_FIELD_LIST = 1394,
	ER_VIEW_DELETE_MERGE_VIEW = 1395,
	ER_TOO_BIG_SCALE = 1425,
	ER_TOO_BIG_PRECISION = 1426,
	ER_M_BIGGER_THAN_D = 1427,
	ER_VIEW_PREVENT_UPDATE = 1443,
	ER_NON_INSERTABLE_TABLE = 1471,
	ER_WRONG_VALUE = 1525,
	ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT = 1582,
	ER_WRONG_PARAMETERS_TO_NATIVE_FCT = 1583,
	ER_FUNC_INEXISTENT_NAME_COLLISION = 1630,
	ER_INVALID_JSON_TEXT = 3140,          /* MySQL */
	ER_INVALID_JSON_TEXT_IN_PARAM = 3141, /* MySQL */
	ER_CHECK_CONSTRAINT_VIOLATED = 3819,  /* MySQL */
	ER_NO_ORDER_LIST_IN_WINDOW_SPEC = 4018,
	ER_CONSTRAINT_FAILED = 4025, /* MariaDB */
	ER_JSON_PATH_ARRAY = 4045,

	ER_UNKNOWN_ERROR = 1105,
};

#endif
