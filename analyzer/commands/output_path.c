/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/output_path.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/output.h"
#include "trace/header.h"

enum { HEADER_BYTES = 4096 };

/* A segment of a trace, whole or damaged. */
static bool is_trace(const char *path)
{
	char bytes[HEADER_BYTES];
	struct trace_header header;
	const char *cause;
	size_t len, size;
	FILE *file = fopen(path, "rb");

	if (!file)
		return false;
	len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	return len &&
	       trace_header_parse(span_of(bytes, len), &header, &size, &cause) != HEADER_NONE;
}

static bool lies_in(const char *path, const char *folder)
{
	const char *slash = strrchr(path, '/');
	struct buf parent = BUF_INIT;
	struct stat st;
	bool in;

	if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
		return false;
	if (slash)
		buf_add(&parent, path, slash == path ? 1 : (size_t)(slash - path));
	else
		buf_add_char(&parent, '.');
	in = file_is_same(parent.data, folder);
	buf_release(&parent);
	return in;
}

bool target_allowed(const char *path, const char *const *inputs, size_t count, struct err *err)
{
	struct stat st;

	if (!path || strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return true; /* nothing is there that could be lost */
	for (size_t i = 0; i < count; i++) {
		if (file_is_same(path, inputs[i]))
			return err_set(err, ERR_USAGE,
				"%s is what is read: the output would overwrite it", path);
		if (lies_in(path, inputs[i]))
			return err_set(err, ERR_USAGE,
				"%s is in the folder that is read: the output would overwrite it",
				path);
	}
	if (is_trace(path))
		return err_set(err, ERR_USAGE,
			"%s is a trace: the output would overwrite it; remove it first if it is of "
			"no use",
			path);
	return true;
}

bool target_open(const char *path, const char *const *inputs, size_t count, struct err *err)
{
	return target_allowed(path, inputs, count, err) && output_to(path, err);
}
