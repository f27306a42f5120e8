/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's tag: the number that the names of its versions begin with (instrument/tables.h).
 *
 * It has 12 bits and is drawn by lot, so two recorders might draw the same and take each other's
 * versions for their own.  Therefore a recorder before a server of its own users claims its tag there:
 * it holds the server's user lock "isorec_tag_N" (GET_LOCK, manuals) for as long as it records, and
 * draws again when another one has it.  A lock belongs to a connection, so one is kept open for it.
 */
#ifndef INSTRUMENT_RECORDER_TAG_H
#define INSTRUMENT_RECORDER_TAG_H

#include "instrument/tables.h"

enum tag_claim {
	TAG_CLAIMED,
	TAG_NOT_CLAIMED, /* this server has no such locks, err says what it said; recording goes on */
	TAG_FAILED,
};

/* Claims the tag on a further node, and takes the connection whatever comes out.  On the first one
 * the tag may change: nothing may have been recorded with it yet.  Fails when on a later one another
 * recorder has it. */
enum tag_claim tag_claim(
	struct instrument_tables *tables, MYSQL *mysql, struct err *err) MUST_CHECK;
void tag_set(struct instrument_tables *tables, uint32_t tag);
void tag_release(struct instrument_tables *tables);

#endif
