/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the trace library share: temporary files, whole files in memory. */
#ifndef TRACE_UTIL_H
#define TRACE_UTIL_H

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

/* ck_assert tells the parent process of every call; these tell of failures only, for loops that ask
 * millions of times. */
#define HOLDS(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s", #cond);                                                 \
	} while (0)
#define EQUAL(a, b)                                                                                \
	do {                                                                                       \
		unsigned long long a_ = (unsigned long long)(a), b_ = (unsigned long long)(b);     \
                                                                                                   \
		if (a_ != b_)                                                                      \
			ck_abort_msg("%s == %s: %llu, %llu", #a, #b, a_, b_);                      \
	} while (0)

/* A fresh directory; temp_dir_remove frees the string. */
static inline char *temp_dir(void)
{
	const char *base = getenv("TMPDIR");
	char *path;

	ck_assert(asprintf(&path, "%s/isotrace-test-XXXXXX", base ? base : "/tmp") > 0);
	ck_assert_msg(mkdtemp(path) != NULL, "cannot make %s", path);
	return path;
}

static inline char *temp_path(const char *dir, const char *name)
{
	char *path;

	ck_assert(asprintf(&path, "%s/%s", dir, name) > 0);
	return path;
}

/* Removes the directory with its files and one level of directories below. */
static inline void temp_dir_clear(const char *dir, int depth)
{
	DIR *handle = opendir(dir);
	struct dirent *entry;

	while (handle && (entry = readdir(handle))) {
		char *path = temp_path(dir, entry->d_name);

		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			unlink(path) < 0 && depth > 0)
			temp_dir_clear(path, depth - 1);
		free(path);
	}
	if (handle)
		closedir(handle);
	(void)rmdir(dir);
}

static inline void temp_dir_remove(char *dir)
{
	temp_dir_clear(dir, 1);
	free(dir);
}

static inline struct buf file_load(const char *path)
{
	struct buf bytes = BUF_INIT;
	FILE *file = fopen(path, "rb");
	size_t n;

	ck_assert_msg(file != NULL, "cannot open %s", path);
	do {
		n = fread(buf_reserve(&bytes, 65536), 1, 65536, file);
		bytes.len += n;
	} while (n);
	fclose(file);
	return bytes;
}

static inline void file_store(const char *path, const void *ptr, size_t len)
{
	FILE *file = fopen(path, "wb");

	ck_assert_msg(file != NULL, "cannot write %s", path);
	ck_assert_uint_eq(fwrite(ptr, 1, len, file), len);
	ck_assert_int_eq(fclose(file), 0);
}

#endif
