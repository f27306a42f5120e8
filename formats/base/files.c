/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static bool ends_in(const char *name, const char *suffix)
{
	size_t len = strlen(name), end = strlen(suffix);

	return len > end && strcmp(name + len - end, suffix) == 0;
}

static bool add(struct file_list *list, const char *path, struct err *err)
{
	if (list->count == FILES_COUNT_MAX)
		return err_set(err, ERR_LIMIT, "more than %d files", FILES_COUNT_MAX);
	MEM_RESERVE(list->paths, list->count + 1, list->capacity);
	list->paths[list->count++] = mem_strdup(path);
	return true;
}

static bool walk(
	const char *path, const char *suffix, int depth, struct file_list *out, struct err *err)
{
	struct buf child = BUF_INIT;
	struct dirent *entry;
	bool ok = true;
	DIR *dir;

	if (depth == FILES_DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "%s: folders nested more than %d deep", path,
			FILES_DEPTH_MAX);
	dir = opendir(path);
	if (!dir)
		return err_set_errno(err, errno, "cannot open the folder %s", path);
	while (ok && (entry = readdir(dir)) != NULL) {
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		buf_clear(&child);
		buf_printf(&child, "%s/%s", path, entry->d_name);
		if (lstat(child.data, &st) != 0)
			continue; /* gone meanwhile */
		if (S_ISDIR(st.st_mode))
			ok = walk(child.data, suffix, depth + 1, out, err);
		else if (ends_in(entry->d_name, suffix))
			ok = add(out, child.data, err);
	}
	closedir(dir);
	buf_release(&child);
	return ok;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool files_below(const char *path, const char *suffix, struct file_list *out, struct err *err)
{
	struct stat st;
	bool ok;

	*out = (struct file_list){0};
	if (stat(path, &st) != 0)
		return err_set_errno(err, errno, "cannot open %s", path);
	ok = S_ISDIR(st.st_mode) ? walk(path, suffix, 0, out, err) : add(out, path, err);
	if (ok && out->count)
		qsort(out->paths, out->count, sizeof(*out->paths), by_name);
	if (!ok)
		file_list_release(out);
	return ok;
}

void file_list_release(struct file_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		mem_free(list->paths[i]);
	mem_free(list->paths);
	*list = (struct file_list){0};
}

bool file_is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

bool file_read(const char *path, size_t size_max, struct buf *out, struct err *err)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	size_t start = out->len;
	bool ok = true;

	if (!file)
		return err_set_errno(err, errno, "cannot open %s", path);
	while (!feof(file) && !ferror(file) && out->len - start <= size_max)
		out->len += fread(buf_reserve(out, 65536), 1, 65536, file);
	if (ferror(file))
		ok = err_set_errno(err, errno, "cannot read %s", path);
	else if (out->len - start > size_max)
		ok = err_set(err, ERR_LIMIT, "%s has more than %zu bytes", path, size_max);
	if (file != stdin)
		fclose(file);
	return ok;
}

int file_make(const char *path)
{
	bool device = strncmp(path, "/dev/", 5) == 0;
	int fd = open(path,
		O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (device ? 0 : O_NOFOLLOW), 0600);
	struct stat st;

	/* One that was there with wider rights. */
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 077)
		(void)!fchmod(fd, 0600);
	return fd;
}

bool file_replace(const char *path, struct span content, struct err *err)
{
	struct buf beside = BUF_INIT;
	bool ok;

	/* What is no plain file, such as /dev/stderr, is written as it is. */
	if (strncmp(path, "/dev/", 5) == 0)
		return file_write(path, content, err);
	buf_printf(&beside, "%s.part", path);
	ok = file_write(beside.data, content, err) &&
	     (rename(beside.data, path) == 0 ||
		     err_set_errno(err, errno, "cannot write %s", path));
	if (!ok)
		unlink(beside.data);
	buf_release(&beside);
	return ok;
}

bool file_write(const char *path, struct span content, struct err *err)
{
	int fd = file_make(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
	bool ok = file && fwrite(content.ptr, 1, content.len, file) == content.len;

	if (file && fclose(file) != 0)
		ok = false;
	return ok || err_set_errno(err, errno, "cannot write %s", path);
}
