/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the releases of one server do differently.
 *
 * The evaluator was compared with MySQL 8.0.45 and 9.7.  A release between them does what both do;
 * where they differ, it is not known which of them it follows, and it is unsupported.
 */
#ifndef EVAL_VALUE_RELEASE_H
#define EVAL_VALUE_RELEASE_H

#include "eval/node.h"

enum mysql_change {
	/* Since 9.7. */
	MYSQL_QUOTIENT_ROUNDED,  /* a / b has the digits of its scale in later operations, too */
	MYSQL_DAYNAME_IS_TEXT,   /* DAYNAME(d) + 0 was the number of the weekday */
	MYSQL_YEAR_UNSIGNED,     /* YEAR(d) is a YEAR, as of a column; it was a signed integer */
	MYSQL_INSERT_BY_CHAR,    /* INSERT(s, n, ...): n was compared with the length in bytes */
	MYSQL_EXTRACT_DAY,       /* EXTRACT(DAY_HOUR ...) of other than columns had no day */
	MYSQL_NO_MINUS_ZERO,     /* a TIME of minus zero was printed -00:00:00 */
	MYSQL_DOUBLE_ROUNDED,    /* CAST(1.5 AS DOUBLE) as an integer is 2; it was cut to 1 */
	MYSQL_DATE_AS_INTEGER,   /* a DATE column into an integer was 20240229000000 */
	MYSQL_VARCHAR_AS_DOUBLE, /* 'ab' of a VARCHAR as a number was no error */
	MYSQL_NO_DOUBLE_1366,    /* 'x' into a DOUBLE is error 1366; it was 1265 */
	MYSQL_NULLIF_AS_DATE,    /* NULLIF(x, y) as a date was that of the row before */
	MYSQL_MAX_OF_FOLLOWING,  /* MAX() OVER rows that follow was NULL at times */
	MYSQL_REPEAT_TEXT_FIRST, /* REPEAT(s, n) asks for s first; it asked for n */
	MYSQL_DATE_RANGE_6527,   /* a DATE or ADDTIME out of range is error 6527; it was 1441 */
	MYSQL_NO_MD5,            /* MD5() and SHA1() are no longer built in */
	MYSQL_CHANGES,
};

/* 1: the release has it, 0: not (nor has any MariaDB), -1: not known. */
int mysql_has(const struct eval_env *env, enum mysql_change change);
/* The same where it must be known: else unsupported, and false. */
bool run_mysql_has(struct run *run, enum mysql_change change);
bool compile_mysql_has(struct compiler *c, enum mysql_change change); /* node/node.c */
/* What is refused where that is not known. */
enum eval_limit mysql_change_limit(enum mysql_change change);

/* MySQL before 8.0: 5.6 has other rules for these, nearer to MariaDB's, and 5.7 was not tried.  True:
 * unsupported. */
bool mysql_5(const struct eval_env *env);
/* The functions of which that is so. */
bool mysql_5_function(struct span name);

/* The MariaDB releases of late 2026 (10.11.19, 11.8.9) print no sign of a zero and take XOR's
 * operands as truth values; older ones and MySQL print it.  1: such a release, 0: not, -1: not
 * known. */
int mariadb_2026(const struct eval_env *env);

#endif
