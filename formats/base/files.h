/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files and whole folders, for what a person keeps in them: bounded in size and depth. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

enum { FILES_DEPTH_MAX = 16, FILES_COUNT_MAX = 100000 };

struct file_list {
	char **paths; /* sorted */
	size_t count, capacity;
};

/* Every file below a folder (or the file itself) whose name ends in `suffix`.  Symbolic links to
 * folders are not followed. */
bool files_below(
	const char *path, const char *suffix, struct file_list *out, struct err *err) MUST_CHECK;
void file_list_release(struct file_list *list);

/* Appends the content, at most size_max bytes; more is an error.  "-" is standard input. */
bool file_read(const char *path, size_t size_max, struct buf *out, struct err *err) MUST_CHECK;

/* Opens a file to write what was made of a trace: empty, for its owner only, never through a symbolic
 * link.  -1 and errno. */
int file_make(const char *path) MUST_CHECK;
/* Makes or replaces a file with this content. */
bool file_write(const char *path, struct span content, struct err *err) MUST_CHECK;
/* ... whole or not at all: beside its place first, then renamed. */
bool file_replace(const char *path, struct span content, struct err *err) MUST_CHECK;

/* Whether two names, links among them, lead to one file that is there. */
bool file_is_same(const char *a, const char *b) MUST_CHECK;

#endif
