/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SQL_TEXT_REFUSED_H
#define SQL_TEXT_REFUSED_H

#include <stdbool.h>

#include "base/span.h"

/*
 * Says the error that the server executed nothing at all of a text?  A CALL, an EXECUTE or several
 * statements may fail with any error after they have written and committed: a syntax error is then
 * one in a text that a procedure prepares, a missing procedure one that it calls.  So for CALL and
 * EXECUTE the error's text has to name what the statement itself wanted:
 *
 *     1305 PROCEDURE db.p does not exist                               CALL p()
 *     1243 Unknown prepared statement handler (s) given to EXECUTE     EXECUTE s
 *
 * (A prepared statement can be neither closed nor replaced while it runs, error 1444, nor a procedure be
 * dropped from within one, 1357.)  `database`: the session's; SPAN_NONE: not known.
 */
bool stmt_refused(struct span text, struct span database, unsigned error, struct span error_text);

#endif
