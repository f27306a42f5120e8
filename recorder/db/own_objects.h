/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of what `isorec prepare` adds to a server (instrument/tables.h): readers of a schema leave it
 * out. */
#ifndef DB_OWN_OBJECTS_H
#define DB_OWN_OBJECTS_H

#define VERSION_COLUMN "isorec_ver"
#define TRIGGER_PREFIX "isorec_"

#endif
