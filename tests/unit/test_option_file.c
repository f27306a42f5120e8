/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Option files: syntax, groups, precedence, limits. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/option_file.h"

struct target {
	const char *user, *password, *text;
	uint64_t limit;
	bool all;
	struct option_strings nodes;
};

static const struct option_def table[] = {
	{.name = "user", OPTION_STRING(struct target, user)},
	{.name = "password", .flags = OPTION_SECRET, OPTION_STRING(struct target, password)},
	{.name = "some-text", OPTION_STRING(struct target, text)},
	{.name = "limit", OPTION_UINT(struct target, limit)},
	{.name = "all", OPTION_FLAG(struct target, all)},
	{.name = "node", OPTION_STRINGS(struct target, nodes)},
	OPTION_END,
};

static const char *const clients[] = {"client", "client-server", NULL};
static const char *const own[] = {"recorder", "recorder-proxy", NULL};

static bool elsewhere(const char *key)
{
	return strcmp(key, "other-command") == 0;
}

static const struct option_groups groups = {clients, own, elsewhere};

static char folder[] = "/tmp/isotrace-option-file-XXXXXX";

static char *path_of(const char *name)
{
	static char path[2][200];
	static int which;

	which = !which;
	snprintf(path[which], sizeof(path[which]), "%s/%s", folder, name);
	return path[which];
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "w");

	ck_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void setup(void)
{
	memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	ck_assert(mkdtemp(folder) != NULL);
}

static void teardown(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static bool read_main(
	struct option_files *files, struct target *t, const char *suffix, struct err *err)
{
	struct option_file_options how = {.file = path_of("main.cnf"), .group_suffix = suffix};

	*t = (struct target){.limit = 1};
	*files = (struct option_files){.values = NULL};
	err_clear(err);
	return option_files_read(files, table, t, &groups, &how, err);
}

START_TEST(syntax_and_groups)
{
	struct option_files files;
	struct target t;
	struct err err;

	setup();
	write_file("main.cnf",
		"user = foreign\n"
		"[mysqld]\nuser=server\nnonsense\n"
		"[client]\n"
		"# a comment\n; another\n\n"
		"  user =  anna   # behind it\n"
		"password = \"a#b\\\"c\"\n"
		"unknown-to-us = 5\nsome_text = 'it\\'s\\ta\\\\b\\sc '\n"
		"[recorder]\r\nlimit=7\r\nother-command = 3\nloose-new-thing=1\nall\n"
		"[recorder-proxy]\nnode=a\nnode=b\nlimit=8\n"
		"[other]\nlimit=9\n");
	ck_assert_msg(read_main(&files, &t, NULL, &err), "%s", err.text);
	ck_assert_str_eq(t.user, "anna");
	ck_assert_str_eq(t.password, "a#b\"c");
	ck_assert_str_eq(t.text, "it's\ta\\b c ");
	ck_assert_uint_eq(t.limit, 8);
	ck_assert(t.all);
	ck_assert_uint_eq(t.nodes.count, 2);
	ck_assert_str_eq(t.nodes.items[1], "b");
	ck_assert(strstr(files.set.data, "--password=*****\n"));
	ck_assert(!strstr(files.set.data, "a#b"));
	ck_assert(strstr(files.set.data, "--limit=7\n") && strstr(files.set.data, "--limit=8\n"));
	options_forget_secrets();
	option_files_release(&files);
	teardown();
}
END_TEST

START_TEST(suffix_and_flags)
{
	struct option_files files;
	struct target t;
	struct err err;

	setup();
	write_file("main.cnf",
		"[recorder]\nlimit=2\nall=1\n[client_x]\nlimit=5\n[recorder_x]\nlimit=3\n"
		"all=off\n");
	ck_assert(read_main(&files, &t, NULL, &err));
	ck_assert(t.limit == 2 && t.all);
	option_files_release(&files);
	ck_assert(read_main(&files, &t, "_x", &err));
	ck_assert(t.limit == 3 && !t.all);
	option_files_release(&files);
	teardown();
}
END_TEST

START_TEST(includes)
{
	struct option_files files;
	struct target t;
	struct err err;
	char text[400];

	setup();
	ck_assert(mkdir(path_of("d"), 0700) == 0);
	ck_assert(mkdir(path_of("d/below"), 0700) == 0);
	write_file("d/1.cnf", "[client]\nlimit=11\nuser=one\n");
	write_file("d/2.cnf", "[client]\nlimit=12\n");
	write_file("d/3.txt", "[client]\nlimit=13\n");
	write_file("d/below/4.cnf", "[client]\nlimit=14\n");
	write_file("also.cnf", "[client]\nsome-text=also\n");
	/* The group goes on after an include, as the file's own. */
	snprintf(text, sizeof(text),
		"[client]\n!includedir %s/d\n!include %s/also.cnf\n"
		"!include %s/missing.cnf\n!includedir %s/missing\nall\n",
		folder, folder, folder, folder);
	write_file("main.cnf", text);
	ck_assert_msg(read_main(&files, &t, NULL, &err), "%s", err.text);
	ck_assert_uint_eq(t.limit, 12);
	ck_assert_str_eq(t.user, "one");
	ck_assert_str_eq(t.text, "also");
	ck_assert(t.all);
	option_files_release(&files);

	snprintf(text, sizeof(text), "!include %s/main.cnf\n", folder);
	write_file("main.cnf", text);
	ck_assert(!read_main(&files, &t, NULL, &err));
	ck_assert(strstr(err.text, "too often"));
	option_files_release(&files);
	teardown();
}
END_TEST

START_TEST(mistakes)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"[recorder]\n\nlimti=3\n", "line 3: unknown option 'limti'"},
		{"[client]\nlimit=many\n", "line 2: --limit"},
		{"[recorder]\nlimit\n", "needs a value"},
		{"[recorder\nlimit=1\n", "no ']'"},
		{"[client]\n!incldue x\n", "not understood"},
	};
	struct option_files files;
	struct target t;
	struct err err;

	setup();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		write_file("main.cnf", cases[i].text);
		ck_assert(!read_main(&files, &t, NULL, &err));
		ck_assert_msg(strstr(err.text, cases[i].says), "%s", err.text);
		option_files_release(&files);
	}
	write_file("main.cnf", "[client]\nlimit=5\n");
	ck_assert(chmod(path_of("main.cnf"), 0666) == 0);
	ck_assert(read_main(&files, &t, NULL, &err));
	ck_assert(t.limit == 1 && strstr(files.warnings.data, "every user may write"));
	option_files_release(&files);
	unlink(path_of("main.cnf"));
	ck_assert(!read_main(&files, &t, NULL, &err));
	option_files_release(&files);
	teardown();
}
END_TEST

UNIT_MAIN("option_file", syntax_and_groups, suffix_and_flags, includes, mistakes)
