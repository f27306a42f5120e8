/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hunts of several machines as one: their logs' lines by case, and the folders of their examples.  The order in which they
 * are given does not matter, and what was merged is a hunt that can go on or be merged again.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "hunt/hunt_internal.h"

/* A case on one server, and how far into its hunt it was done. */
struct merged_line {
	uint64_t number;
	unsigned server;
	bool failed;
	double seconds;
	struct span text;
};

struct merging {
	struct buf *logs; /* one a folder */
	struct merged_line *lines;
	size_t count, capacity;
	double seconds; /* of the longest hunt: they ran side by side */
};

static void take_lines(struct merging *m, struct span rest)
{
	double seconds = 0;

	for (const char *end; rest.len && (end = memchr(rest.ptr, '\n', rest.len)) != NULL;) {
		struct span line = span_of(rest.ptr, (size_t)(end - rest.ptr));
		struct hunt_result result;

		if (span_starts(line, "time ")) {
			char number[40];

			snprintf(number, sizeof(number), "%.*s", (int)(line.len - 5), line.ptr + 5);
			seconds = strtod(number, NULL);
			m->seconds = seconds > m->seconds ? seconds : m->seconds;
		} else if (result_parse(line, &result)) {
			MEM_RESERVE(m->lines, m->count + 1, m->capacity);
			m->lines[m->count++] = (struct merged_line){result.number, result.server, result.failure[0] != 0, seconds, line};
		}
		rest = span_of(end + 1, rest.len - line.len - 1);
	}
}

/* Of several lines of one case the first one is kept: not one of a run that failed, where there is another. */
static int by_case(const void *x, const void *y)
{
	const struct merged_line *a = x, *b = y;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->server != b->server)
		return a->server < b->server ? -1 : 1;
	if (a->failed != b->failed)
		return a->failed ? 1 : -1;
	return span_cmp(a->text, b->text);
}

static bool read_log_of(const char *folder, struct span head, struct buf *out, struct err *err)
{
	struct buf path = BUF_INIT;
	bool ok;

	buf_printf(&path, "%s/log", folder);
	ok = file_read(path.data, HUNT_LOG_MAX, out, err);
	if (ok && (out->len < head.len || memcmp(out->data, head.ptr, head.len) != 0))
		ok = err_set(err, ERR_USAGE, "%s is of a hunt with another model, seed, dialect or servers: give the options that it was "
			"made with", path.data);
	buf_release(&path);
	return ok;
}

/* ---- examples ---- */

static bool copy_one(const char *from, const char *to, struct err *err)
{
	struct buf content = BUF_INIT;
	bool ok = file_read(from, SIZE_MAX / 2, &content, err) && file_write(to, buf_span(&content), err);

	buf_release(&content);
	return ok;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The files of a folder that are not there yet; folders in it are copied, too. */
static bool copy_folder(const char *from, const char *to, unsigned depth, struct err *err)
{
	DIR *dir = opendir(from);
	bool ok = mkdir(to, 0777) == 0 || errno == EEXIST;

	if (!ok)
		err_set_errno(err, errno, "cannot make the folder %s", to);
	for (const struct dirent *entry; ok && dir && (entry = readdir(dir)) != NULL;) {
		struct buf a = BUF_INIT, b = BUF_INIT;
		struct stat st;

		if (is_dots(entry->d_name))
			continue;
		buf_printf(&a, "%s/%s", from, entry->d_name);
		buf_printf(&b, "%s/%s", to, entry->d_name);
		if (lstat(a.data, &st) == 0 && S_ISDIR(st.st_mode) && depth < 3)
			ok = copy_folder(a.data, b.data, depth + 1, err);
		else if (lstat(a.data, &st) == 0 && S_ISREG(st.st_mode) && access(b.data, F_OK) != 0)
			ok = copy_one(a.data, b.data, err);
		buf_release(&a);
		buf_release(&b);
	}
	if (dir)
		closedir(dir);
	return ok;
}

static bool copy_examples(const char *folder, const char *to, struct err *err)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	bool ok;

	buf_printf(&a, "%s/cases", folder);
	buf_printf(&b, "%s/cases", to);
	ok = copy_folder(a.data, b.data, 0, err);
	buf_release(&a);
	buf_release(&b);
	return ok;
}

/* ---- the whole ---- */

static bool write_log(const struct merging *m, struct span head, const char *folder, struct err *err)
{
	struct buf out = BUF_INIT, path = BUF_INIT;
	bool ok;

	buf_add_span(&out, head);
	for (size_t i = 0; i < m->count; i++) {
		const struct merged_line *line = &m->lines[i];

		if (i && line->number == line[-1].number && line->server == line[-1].server)
			continue;
		buf_printf(&out, "time %.1f\n%.*s\n", line->seconds, SPAN_ARG(line->text));
	}
	buf_printf(&out, "time %.1f\n", m->seconds);
	buf_printf(&path, "%s/log", folder);
	ok = file_replace(path.data, buf_span(&out), err);
	buf_release(&out);
	buf_release(&path);
	return ok;
}

bool merge_hunts(const struct hunt_options *o, struct span head, struct err *err)
{
	struct merging m = {.seconds = 0};
	struct buf own = BUF_INIT;
	bool ok = true;

	buf_printf(&own, "%s/log", o->folder);
	m.logs = mem_zero(o->merge_count + 1, sizeof(*m.logs));
	/* The hunt that is in the folder already, if there is one, is one of them. */
	if (access(own.data, F_OK) == 0)
		ok = read_log_of(o->folder, head, &m.logs[o->merge_count], err);
	for (size_t i = 0; i < o->merge_count && ok; i++)
		ok = read_log_of(o->merge[i], head, &m.logs[i], err) && copy_examples(o->merge[i], o->folder, err);
	for (size_t i = 0; i <= o->merge_count && ok; i++)
		take_lines(&m, buf_span(&m.logs[i]));
	if (ok && m.count)
		qsort(m.lines, m.count, sizeof(*m.lines), by_case);
	ok = ok && write_log(&m, head, o->folder, err);
	for (size_t i = 0; i <= o->merge_count; i++)
		buf_release(&m.logs[i]);
	mem_free(m.logs);
	mem_free(m.lines);
	buf_release(&own);
	return ok;
}
