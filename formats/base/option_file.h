/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Option files as the mysql family reads them (MySQL manual, "Using Option Files"): /etc/my.cnf,
 * /etc/mysql/my.cnf, $MYSQL_HOME/my.cnf, the file of --defaults-extra-file, ~/.my.cnf, in this
 * order, the later one wins; or only the one of --defaults-file.
 *
 *	[group]            # comments begin with # or ;
 *	key
 *	key = value        quotes around it are taken away; \b \t \n \r \\ \s are resolved
 *	!include FILE
 *	!includedir DIR    its *.cnf files
 *
 * A dash and an underscore in a key are the same.  Keys of groups that are for all clients are
 *taken when the option table has them; in groups of our own an unknown key is a mistake, unless it
 *begins with loose-.  A file that every user may write to is not read, with a warning.
 */
#ifndef BASE_OPTION_FILE_H
#define BASE_OPTION_FILE_H

#include "base/options.h"

enum {
	OPTION_FILE_SIZE_MAX = 1024 * 1024,
	OPTION_FILE_DEPTH_MAX = 8,
	OPTION_FILE_COUNT_MAX = 200, /* files read in all */
};

/* What a command's options struct has for it; these options stand before all others. */
struct option_file_options {
	const char *file, *extra_file, *group_suffix;
	bool none, print;
};

#define OPTION_FILE_OPTIONS(struct_type, member)                                                   \
	{.name = "defaults-file",                                                                  \
		.argument = "FILE",                                                                \
		.files = true,                                                                     \
		OPTION_STRING(struct_type, member.file),                                           \
		.help = "read options from this file only; this and the next four stand before "   \
			"all other options"},                                                      \
		{.name = "defaults-extra-file",                                                    \
			.argument = "FILE",                                                        \
			.files = true,                                                             \
			OPTION_STRING(struct_type, member.extra_file),                             \
			.help = "read options from this file, too"},                               \
		{.name = "defaults-group-suffix",                                                  \
			.argument = "TEXT",                                                        \
			OPTION_STRING(struct_type, member.group_suffix),                           \
			.help = "also read the groups whose name ends with this suffix"},                   \
		{.name = "no-defaults",                                                            \
			OPTION_FLAG(struct_type, member.none),                                     \
			.help = "read no option files"},                                           \
	{                                                                                          \
		.name = "print-defaults", OPTION_FLAG(struct_type, member.print),                  \
		.help = "print the options from the files, and the defaults of the others, and "   \
			"end"                                                                      \
	}

struct option_files {
	struct buf set;      /* what the files set, a line "--name=value" each, secrets masked */
	struct buf warnings; /* lines */
	char **values;       /* what the target points to */
	size_t value_count, value_capacity, file_count;
};

struct option_groups {
	const char *const *clients; /* groups of all programs: unknown keys are skipped */
	const char *const *own;     /* NULL at the end, as above */
	/* Whether a key of our own groups is right for another command of the program. */
	bool (*known_elsewhere)(const char *key);
};

/* Sets the target's members.  Files that are not there are skipped, unless they were named. */
bool option_files_read(struct option_files *files, const struct option_def *table, void *target,
	const struct option_groups *groups, const struct option_file_options *how,
	struct err *err) MUST_CHECK;
/* After it nothing that the target points to is valid any more. */
void option_files_release(struct option_files *files);

#endif
