/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/grammar_options.h"

bool grammar_files_open(struct grammar_files *out, const struct grammar_options *o, struct err *err)
{
	const char *paths[1 + OPTION_STRINGS_MAX] = {o->yy};

	out->given = false;
	if (!o->yy && (o->zz || o->redefine.count || o->mask))
		return err_set(err, ERR_USAGE, "--zz, --redefine and --mask go with a grammar: give --yy FILE");
	if (!o->yy)
		return true;
	for (size_t i = 0; i < o->redefine.count; i++)
		paths[1 + i] = o->redefine.items[i];
	if (!grammar_open(&out->grammar, paths, 1 + o->redefine.count, err))
		return false;
	if (o->mask)
		grammar_mask(&out->grammar, o->mask, o->mask_level ? (unsigned)o->mask_level : 1);
	if (!o->zz) {
		table_plan_simple(&out->tables);
	} else if (!table_plan_open(&out->tables, o->zz, err)) {
		grammar_release(&out->grammar);
		return false;
	}
	out->given = true;
	return true;
}

void grammar_files_release(struct grammar_files *files)
{
	if (!files->given)
		return;
	grammar_release(&files->grammar);
	table_plan_release(&files->tables);
	files->given = false;
}
