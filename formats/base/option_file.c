/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/option_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/chars.h"
#include "base/files.h"
#include "base/mem.h"

struct reader {
	struct option_files *files;
	const struct option_def *table;
	void *target;
	const struct option_groups *groups;
	const struct option_file_options *how;
	unsigned depth;
};

enum group_kind { GROUP_FOREIGN, GROUP_CLIENTS, GROUP_OWN };

/* ---- groups and lines ---- */

static bool in_list(const char *name, const char *const *list, const char *suffix)
{
	for (; list && *list; list++) {
		size_t len = strlen(*list);

		if (strcmp(name, *list) == 0)
			return true;
		if (suffix && strncmp(name, *list, len) == 0 && strcmp(name + len, suffix) == 0)
			return true;
	}
	return false;
}

static enum group_kind kind_of(const struct reader *r, const char *name)
{
	if (in_list(name, r->groups->own, r->how->group_suffix))
		return GROUP_OWN;
	return in_list(name, r->groups->clients, r->how->group_suffix) ? GROUP_CLIENTS
								       : GROUP_FOREIGN;
}

static char *trim(char *text)
{
	char *end;

	while (char_is_blank(*text))
		text++;
	end = text + strlen(text);
	while (end > text && char_is_blank(end[-1]))
		*--end = '\0';
	return text;
}

/* A # outside quotes begins a comment. */
static void cut_comment(char *text)
{
	char quote = '\0';

	for (char *p = text; *p; p++) {
		if (*p == '\\' && p[1]) {
			p++;
		} else if (quote) {
			quote = *p == quote ? '\0' : quote;
		} else if (*p == '\'' || *p == '"') {
			quote = *p;
		} else if (*p == '#') {
			*p = '\0';
			return;
		}
	}
}

static char *unescape(char *value)
{
	static const char from[] = "btnrs\\'\"", to[] = "\b\t\n\r \\'\"";
	size_t len = strlen(value);
	char *out;

	if (len >= 2 && (*value == '\'' || *value == '"') && value[len - 1] == *value) {
		value[len - 1] = '\0';
		value++;
	}
	out = value;
	for (const char *p = value; *p; p++) {
		const char *which = *p == '\\' && p[1] ? strchr(from, p[1]) : NULL;

		if (which)
			p++;
		*out++ = which ? to[which - from] : *p;
	}
	*out = '\0';
	return value;
}

static void remember_set(struct reader *r, const struct option_def *def, const char *value)
{
	buf_printf(&r->files->set, "--%s", def->name);
	if (value)
		buf_printf(&r->files->set, "=%s", def->flags & OPTION_SECRET ? "*****" : value);
	buf_add_char(&r->files->set, '\n');
}

static bool set_option(struct reader *r, const char *path, unsigned line, enum group_kind kind,
	char *key, const char *value, struct err *err)
{
	const struct option_def *def;
	bool loose = strncmp(key, "loose-", 6) == 0 || strncmp(key, "loose_", 6) == 0;
	struct err reason;
	char *kept = NULL;

	key += loose ? 6 : 0;
	def = option_find(r->table, key);
	if (!def) {
		if (kind == GROUP_CLIENTS || loose ||
			(r->groups->known_elsewhere && r->groups->known_elsewhere(key)))
			return true;
		return err_set(err, ERR_USAGE, "%s line %u: unknown option '%s'", path, line, key);
	}
	/* The files' own options cannot stand in files. */
	if (strncmp(def->name, "defaults-", 9) == 0 || strcmp(def->name, "no-defaults") == 0 ||
		strcmp(def->name, "print-defaults") == 0)
		return true;
	remember_set(r, def, value);
	/* A flag may be given a value there: skip-x is written x=0. */
	if (def->type == OPTION_TYPE_FLAG && value) {
		bool on = strcmp(value, "1") == 0 || strcasecmp(value, "on") == 0 ||
			  strcasecmp(value, "true") == 0;

		*(bool *)((char *)r->target + def->offset) = on;
		return true;
	}
	if (value) {
		MEM_RESERVE(r->files->values, r->files->value_count + 1, r->files->value_capacity);
		kept = r->files->values[r->files->value_count++] = mem_strdup(value);
	}
	if (option_set(r->table, r->target, key, kept, &reason))
		return true;
	return err_set(err, ERR_USAGE, "%s line %u: %s", path, line, reason.text);
}

/* ---- files ---- */

static bool read_file(struct reader *r, const char *path, bool must, struct err *err);

static bool include(struct reader *r, char *line, const char *path, struct err *err)
{
	struct file_list list = {NULL, 0, 0};
	bool ok = true;

	if (strncmp(line, "!includedir", 11) == 0 && char_is_blank(line[11])) {
		char *folder = trim(line + 11);

		if (!files_below(folder, ".cnf", &list, err)) {
			/* As the servers do: a folder that is not there holds no files. */
			file_list_release(&list);
			return true;
		}
		for (size_t i = 0; ok && i < list.count; i++) {
			const char *name = list.paths[i] + strlen(folder);

			name += *name == '/';
			if (!strchr(name, '/')) /* not of folders below it */
				ok = read_file(r, list.paths[i], false, err);
		}
		file_list_release(&list);
		return ok;
	}
	if (strncmp(line, "!include", 8) == 0 && char_is_blank(line[8]))
		return read_file(r, trim(line + 8), false, err);
	return err_set(err, ERR_USAGE, "%s: '%s' is not understood", path, line);
}

static bool read_lines(struct reader *r, const char *path, char *text, struct err *err)
{
	enum group_kind kind = GROUP_FOREIGN;
	unsigned number = 0;
	char *state = NULL;

	/* strtok_r would skip empty lines, and the numbers with them. */
	for (char *line = text; line; line = state) {
		char *equals, *key, *end = strchr(line, '\n');

		state = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		number++;
		line = trim(line);
		if (!*line || *line == '#' || *line == ';')
			continue;
		if (*line == '!') {
			if (!include(r, line, path, err))
				return false;
			continue;
		}
		if (*line == '[') {
			end = strchr(line, ']');
			if (!end)
				return err_set(err, ERR_USAGE,
					"%s line %u: no ']' after the group", path, number);
			*end = '\0';
			kind = kind_of(r, trim(line + 1));
			continue;
		}
		if (kind == GROUP_FOREIGN)
			continue;
		cut_comment(line);
		equals = strchr(line, '=');
		if (equals)
			*equals = '\0';
		key = trim(line);
		if (!set_option(r, path, number, kind, key,
			    equals ? unescape(trim(equals + 1)) : NULL, err))
			return false;
	}
	return true;
}

static bool read_file(struct reader *r, const char *path, bool must, struct err *err)
{
	struct buf text = BUF_INIT;
	struct stat about;
	bool ok;

	if (stat(path, &about) < 0) {
		if (must)
			return err_set_errno(err, errno, "the option file %s cannot be read", path);
		return true;
	}
	if (about.st_mode & S_IWOTH) {
		buf_printf(&r->files->warnings,
			"the option file %s is not read: every user may write to it\n", path);
		return true;
	}
	if (r->depth == OPTION_FILE_DEPTH_MAX || r->files->file_count == OPTION_FILE_COUNT_MAX)
		return err_set(
			err, ERR_LIMIT, "%s: option files include one another too often", path);
	r->files->file_count++;
	if (!file_read(path, OPTION_FILE_SIZE_MAX, &text, err)) {
		buf_release(&text);
		/* A file that we may not read is for another user. */
		return !must;
	}
	buf_add_char(&text, '\0');
	r->depth++;
	ok = read_lines(r, path, text.data, err);
	r->depth--;
	mem_wipe(text.data, text.len);
	buf_release(&text);
	return ok;
}

bool option_files_read(struct option_files *files, const struct option_def *table, void *target,
	const struct option_groups *groups, const struct option_file_options *how, struct err *err)
{
	struct reader r = {files, table, target, groups, how, 0};
	const char *folder = getenv("MYSQL_HOME"), *home = getenv("HOME");
	struct buf path = BUF_INIT;
	bool ok = true;

	if (how->none)
		return true;
	if (how->file)
		return read_file(&r, how->file, true, err);
	ok = read_file(&r, "/etc/my.cnf", false, err) &&
	     read_file(&r, "/etc/mysql/my.cnf", false, err);
	if (ok && folder && *folder) {
		buf_printf(&path, "%s/my.cnf", folder);
		ok = read_file(&r, path.data, false, err);
	}
	if (ok && how->extra_file)
		ok = read_file(&r, how->extra_file, true, err);
	if (ok && home && *home) {
		buf_clear(&path);
		buf_printf(&path, "%s/.my.cnf", home);
		ok = read_file(&r, path.data, false, err);
	}
	buf_release(&path);
	return ok;
}

void option_files_release(struct option_files *files)
{
	for (size_t i = 0; i < files->value_count; i++) {
		mem_wipe(files->values[i], strlen(files->values[i]));
		mem_free(files->values[i]);
	}
	mem_free(files->values);
	buf_release(&files->set);
	buf_release(&files->warnings);
	*files = (struct option_files){.values = NULL};
}
