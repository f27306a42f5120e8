/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace export to other checkers and to graph programs: of our traces, or of a history that
 * another tool wrote. */
#ifndef COMMANDS_EXPORT_VALUES_H
#define COMMANDS_EXPORT_VALUES_H

#include "base/err.h"
#include "commands/input_format.h"
#include "import/export.h"

/* from: as from_resolve() gives it. */
struct export_source {
	const char *path;
	int from;
	bool salvage, skip;
};

/* With skip, transactions of unknown outcome whose writes no read saw are left out where the format has no
 * word for them. */
enum exit_status export_values(const struct export_source *source, enum export_format format);
enum exit_status export_graph(const struct export_source *source, bool graphml);

#endif
