/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/import.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/mem.h"

enum { FILES_MAX = 1 << 20 };

struct format {
	const char *name;
	import_reader *read;
	char prefix; /* of the files of a directory: PREFIX<n>.log; 0: a single file */
};

static const struct format formats[] = {
	[IMPORT_ELLE] = {"elle", elle_read, 0},
	[IMPORT_ELLE_JSON] = {"elle-json", elle_json_read, 0},
	[IMPORT_PLUME] = {"plume", plume_read, 0},
	[IMPORT_AWDIT] = {"awdit", awdit_read, 0},
	[IMPORT_DBCOP] = {"dbcop", dbcop_read, 0},
	[IMPORT_DBCOP_JSON] = {"dbcop-json", dbcop_json_read, 0},
	[IMPORT_COBRA] = {"cobra", cobra_read, 'T'},
	[IMPORT_VIPER] = {"viper", viper_read, 'J'},
	[IMPORT_CHRONOS] = {"chronos", chronos_read, 0},
};

const char *import_format_name(enum import_format format)
{
	return formats[format].name;
}

bool import_format_parse(const char *name, enum import_format *format)
{
	for (int i = 0; i < IMPORT_FORMAT_COUNT; i++) {
		if (strcmp(formats[i].name, name) == 0) {
			*format = (enum import_format)i;
			return true;
		}
	}
	return false;
}

/* Files that hold a history in a wrapping that is not read here. */
static bool refuse_wrapped(struct window *in, struct err *err)
{
	static const struct {
		const char *magic;
		size_t len;
		const char *what;
	} wrapped[] = {
		{"\x1f\x8b", 2, "a gzip file: zcat FILE | isotrace check --from=FORMAT -"},
		{"\x28\xb5\x2f\xfd", 4,
			"a zstd file: zstdcat FILE | isotrace check --from=FORMAT -"},
		{"\xfd"
		 "7zXZ",
			5, "an xz file: xzcat FILE | isotrace check --from=FORMAT -"},
		{"JEPSEN", 6, "Jepsen's binary history: give the history.edn in the same folder"},
	};

	while (!in->eof && in->len < 6) {
		if (!window_more(in, err))
			return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(wrapped); i++) {
		if (in->len < wrapped[i].len ||
			memcmp(in->data, wrapped[i].magic, wrapped[i].len) != 0)
			continue;
		err_set(err, ERR_FORMAT, "%s", wrapped[i].what);
		return window_error(in, NULL, err);
	}
	return true;
}

static bool read_file(const struct format *format, const char *path, const struct meter *meter,
	struct values_builder *b, int64_t session, struct err *err)
{
	struct window in;
	bool ok;

	if (!window_open(&in, path, err))
		return false;
	in.meter = meter;
	ok = refuse_wrapped(&in, err) && format->read(&in, b, session, err);
	window_close(&in);
	return ok;
}

static int compare_numbers(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

/* The numbers n of the files PREFIX<n>.log, ascending. */
static bool list_files(
	const char *path, char prefix, long **numbers, size_t *count, struct err *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t capacity = 0;

	*numbers = NULL;
	*count = 0;
	if (!dir)
		return err_set_errno(err, errno, "cannot open the directory %s", path);
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;
		char *end;
		long n;

		if (name[0] != prefix || name[1] < '0' || name[1] > '9')
			continue;
		errno = 0;
		n = strtol(name + 1, &end, 10);
		if (errno || strcmp(end, ".log") != 0 || *count >= FILES_MAX)
			continue;
		MEM_RESERVE(*numbers, *count + 1, capacity);
		(*numbers)[(*count)++] = n;
	}
	closedir(dir);
	if (*count == 0)
		return err_set(
			err, ERR_FORMAT, "%s: no file %c<n>.log in this directory", path, prefix);
	qsort(*numbers, *count, sizeof(**numbers), compare_numbers);
	return true;
}

bool import_detect_directory(const char *path, enum import_format *format)
{
	for (int i = 0; i < IMPORT_FORMAT_COUNT; i++) {
		long *numbers;
		size_t count;
		bool found = formats[i].prefix &&
			     list_files(path, formats[i].prefix, &numbers, &count, NULL);

		if (found) {
			mem_free(numbers);
			*format = (enum import_format)i;
			return true;
		}
	}
	return false;
}

static bool read_directory(const struct format *format, const char *path, const struct meter *meter,
	struct values_builder *b, struct err *err)
{
	long *numbers;
	size_t count;
	struct buf name = BUF_INIT;
	bool ok = list_files(path, format->prefix, &numbers, &count, err);

	for (size_t i = 0; ok && i < count; i++) {
		buf_clear(&name);
		buf_printf(&name, "%s/%c%ld.log", path, format->prefix, numbers[i]);
		ok = read_file(format, name.data, meter, b, numbers[i], err);
	}
	buf_release(&name);
	mem_free(numbers);
	return ok;
}

bool import_path(enum import_format format, const char *path, const struct meter *meter, struct values *out,
	struct err *err)
{
	struct values_builder b;
	struct stat st;
	bool ok;

	values_builder_init(&b);
	if (strcmp(path, "-") != 0 && stat(path, &st) != 0)
		ok = err_set_errno(err, errno, "cannot open %s", path);
	else if (strcmp(path, "-") != 0 && S_ISDIR(st.st_mode) && formats[format].prefix)
		ok = read_directory(&formats[format], path, meter, &b, err);
	else
		ok = read_file(&formats[format], path, meter, &b, 0, err);
	ok = ok && values_finish(&b, out, err);
	values_builder_release(&b);
	return ok;
}

bool import_memory(enum import_format format, const char *name, struct span bytes, size_t step,
	struct values *out, struct err *err)
{
	struct values_builder b;
	struct window in;
	bool ok;

	values_builder_init(&b);
	window_memory(&in, name, bytes, step);
	ok = refuse_wrapped(&in, err) && formats[format].read(&in, &b, 0, err) &&
	     values_finish(&b, out, err);
	window_close(&in);
	values_builder_release(&b);
	return ok;
}
