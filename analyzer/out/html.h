/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page: one file that a browser shows from disk, without a network.
 *
 * What comes from the trace is data: JSON in a script element that is not run, with every "<"
 * written as \u003c so that it cannot end the element.  The page's own script turns it into text.
 * The policy in the page allows that one script and that one style sheet, by their hashes.
 */
#ifndef OUT_HTML_H
#define OUT_HTML_H

#include "base/json.h"

/* The caller then adds values to the array of histories (report_data.h). */
void html_begin(struct json *json, struct buf *out);
/* ... of differences from here on (diff_out.h). */
void html_differences(struct json *json);
/* `out` holds the page afterwards. */
void html_end(struct json *json, struct buf *out);

#endif
