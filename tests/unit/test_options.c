/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line's table of options, and text made fit for a terminal. */
#include "unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"

struct target {
	bool all;
	const char *match, *password;
	uint64_t limit, size, wait;
	int format, color;
	struct option_strings tables;
};

static const char *const formats[] = {"text", "json", "ndjson", NULL};
static const char *const when[] = {"auto", "always", "never", NULL};

static const struct option_def table[] = {
	OPTION_HEADING("Filters"),
	{.name = "all", .letter = 'a', OPTION_FLAG(struct target, all), .help = "everything"},
	{.name = "match",
		.argument = "REGEX",
		OPTION_STRING(struct target, match),
		.help = "a pattern"},
	{.name = "password",
		.letter = 'p',
		OPTION_STRING(struct target, password),
		.flags = OPTION_OPTIONAL | OPTION_SECRET,
		.bare = "",
		.help = "the password"},
	{.name = "limit",
		.argument = "N",
		OPTION_UINT(struct target, limit),
		.min = 1,
		.max = 1000,
		.help = "stop after N"},
	OPTION_HEADING("Output"),
	{.name = "size", .argument = "SIZE", OPTION_SIZE(struct target, size), .help = "bytes"},
	{.name = "lock-wait",
		.argument = "TIME",
		OPTION_DURATION(struct target, wait),
		.help = "time"},
	{.name = "format",
		OPTION_CHOICE(struct target, format),
		.choices = formats,
		.help = "the form of the output",
		.preset = "text"},
	{.name = "color",
		OPTION_CHOICE(struct target, color),
		.choices = when,
		.argument = "WHEN",
		.flags = OPTION_OPTIONAL,
		.bare = "always",
		.help = "colour"},
	{.name = "table",
		.letter = 't',
		.argument = "NAME",
		OPTION_STRINGS(struct target, tables),
		.help = "a table; may be given several times, and this text is long enough to be "
			"wrapped"},
	OPTION_END,
};

/* Parses the words of `line`; they stay allocated until the next call. */
static enum options_result parse(
	struct target *target, const char *line, int *left, struct err *err)
{
	static char words[1000];
	static char *argv[50];
	int argc = 0, first;
	char *save;

	memset(target, 0, sizeof(*target));
	err_clear(err);
	snprintf(words, sizeof(words), "program %s", line);
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	enum options_result result = options_parse(table, target, argc, argv, &first, err);
	*left = argc - first;
	return result;
}

START_TEST(values_of_every_type)
{
	struct target t;
	struct err err;
	int left;

	ck_assert_int_eq(parse(&t,
				 "one -a --match=a.b --limit 7 --size=64K --lock-wait=1.5s "
				 "--format=ndjson --color -t x --table y two -- --three",
				 &left, &err),
		OPTIONS_OK);
	ck_assert(t.all);
	ck_assert_str_eq(t.match, "a.b");
	ck_assert_uint_eq(t.limit, 7);
	ck_assert_uint_eq(t.size, 65536);
	ck_assert_uint_eq(t.wait, 1500000000);
	ck_assert_int_eq(t.format, 2);
	ck_assert_int_eq(t.color, 1);
	ck_assert_uint_eq(t.tables.count, 2);
	ck_assert_str_eq(t.tables.items[1], "y");
	ck_assert_int_eq(left, 3);
	/* Unique beginnings, as the mysql family takes them. */
	ck_assert_int_eq(parse(&t, "--lim=3 --fo=json", &left, &err), OPTIONS_OK);
	ck_assert_uint_eq(t.limit, 3);
	ck_assert_int_eq(t.format, 1);
	ck_assert_int_eq(parse(&t, "-?", &left, &err), OPTIONS_HELP);
	ck_assert_int_eq(parse(&t, "-h", &left, &err), OPTIONS_HELP);
	ck_assert_int_eq(parse(&t, "-a --help", &left, &err), OPTIONS_HELP);
	ck_assert_int_eq(parse(&t, "-V", &left, &err), OPTIONS_VERSION);
}
END_TEST

START_TEST(a_secret_leaves_the_command_line)
{
	struct target t;
	struct err err;
	char word[] = "--password=hunter2";
	char *argv[] = {word, word, NULL};
	int first;

	memset(&t, 0, sizeof(t));
	ck_assert_int_eq(options_parse(table, &t, 2, argv, &first, &err), OPTIONS_OK);
	ck_assert_str_eq(t.password, "hunter2");
	ck_assert_ptr_null(strstr(word, "hunter"));
	options_forget_secrets();
	ck_assert_int_eq(parse(&t, "-p x", &first, &err), OPTIONS_OK);
	ck_assert_str_eq(t.password, "");
}
END_TEST

START_TEST(mistakes_are_explained)
{
	static const struct {
		const char *line, *message;
	} cases[] = {
		{"--limti=3", "unknown option '--limti'; did you mean '--limit'?"},
		{"--tabel x", "unknown option '--tabel'; did you mean '--table'?"},
		{"--zebra", "unknown option '--zebra'"},
		{"-x", "unknown option '-x'"},
		{"-ax", "unknown option '-x'"},
		{"--limit", "option '--limit' needs a value: --limit=N"},
		{"-t", "option '--table' needs a value: -t, --table=NAME"},
		{"--all=3", "option '--all=3' takes no value"},
		{"--limit=x", "--limit: 'x' is not a whole number"},
		{"--limit=-1", "--limit: '-1' is not a whole number"},
		{"--limit=0", "--limit: 0 is out of range; it must be from 1 to 1000"},
		{"--limit=99999999999999999999",
			"--limit: 99999999999999999999 is out of range; it must "
			"be from 1 to 1000"},
		{"--size=x", "--size: 'x' is not a size; write bytes, or a number with K, M or G: "
			     "64K, 2G"},
		{"--size=16E", "--size: 16E is too large"},
		{"--lock-wait=1.5", NULL},
		{"--lock-wait=.",
			"--lock-wait: '.' is not a duration; write a number and a unit: 200ms, "
			"1.5s, 5m"},
		{"--lock-wait=5weeks",
			"--lock-wait: '5weeks' is not a duration; write a number and a "
			"unit: 200ms, 1.5s, 5m"},
		{"--format=jsno", "--format: 'jsno' is none of its values; it takes text, json or "
				  "ndjson; did you mean 'json'?"},
		{"--m --f", NULL},
	};
	struct target t;
	struct err err;
	int left;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		enum options_result result = parse(&t, cases[i].line, &left, &err);

		if (!cases[i].message)
			continue;
		ck_assert_msg(result == OPTIONS_ERROR, "%s", cases[i].line);
		ck_assert_str_eq(err.text, cases[i].message);
		ck_assert_int_eq(err.code, ERR_USAGE);
	}
	ck_assert_int_eq(parse(&t, "--a", &left, &err), OPTIONS_OK);
	ck_assert_int_eq(parse(&t, "--l", &left, &err), OPTIONS_ERROR);
	ck_assert_str_eq(err.text, "option '--l' is not clear: it could be --limit, --lock-wait");
}
END_TEST

START_TEST(option_files_use_the_same_table)
{
	struct target t;
	struct err err;

	memset(&t, 0, sizeof(t));
	ck_assert(option_set(table, &t, "lock_wait", "20ms", &err));
	ck_assert(option_set(table, &t, "all", NULL, &err));
	ck_assert_uint_eq(t.wait, 20000000);
	ck_assert(t.all);
	ck_assert(!option_set(table, &t, "lock_wai", "20ms", &err));
	ck_assert(!option_set(table, &t, "limit", NULL, &err));
	ck_assert(!option_set(table, &t, "all", "1", &err));
}
END_TEST

START_TEST(help_is_made_from_the_table)
{
	struct buf out = BUF_INIT;

	options_help(&out, table, 72);
	ck_assert_ptr_nonnull(
		strstr(out.data, "Filters:\n  -a, --all                 everything\n"));
	ck_assert_ptr_nonnull(strstr(out.data, "\nOutput:\n      --size=SIZE"));
	ck_assert_ptr_nonnull(
		strstr(out.data, "--format=text|json|ndjson\n                            the "
				 "form of the output (default: text)\n"));
	ck_assert_ptr_nonnull(strstr(out.data, "      --color[=WHEN]        colour\n"));
	for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
		ck_assert_msg(strlen(line) <= 72, "%s", line);
	buf_clear(&out);
	options_mdoc(&out, table);
	ck_assert_ptr_nonnull(strstr(out.data, ".It Fl a , Fl \\-all\neverything.\n"));
	ck_assert_ptr_nonnull(strstr(out.data, ".It Fl \\-color Ns Oo = Ns Ar WHEN Oc\n"));
	buf_release(&out);
}
END_TEST

START_TEST(real_numbers)
{
	static const char *const good[] = {"0", "0.05", ".5", "1e-3", "12"};
	static const double values[] = {0, 0.05, 0.5, 0.001, 12};
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1x", "inf", "nan", "0x1", "1e", "1e999"};
	struct err err;
	double value;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		ck_assert_msg(parse_real(good[i], "--x", &value, &err), "%s", good[i]);
		ck_assert_double_eq(value, values[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(!parse_real(bad[i], "--x", &value, &err), "%s", bad[i]);
}
END_TEST

START_TEST(nearest_words)
{
	static const char *const words[] = {"show", "stats", "check", "report", NULL};

	ck_assert_str_eq(nearest_word("shwo", words), "show");
	ck_assert_str_eq(nearest_word("stat", words), "stats");
	ck_assert_str_eq(nearest_word("chekc", words), "check");
	ck_assert_ptr_null(nearest_word("elephant", words));
	ck_assert_ptr_null(nearest_word("", words));
}
END_TEST

START_TEST(text_never_reaches_the_terminal_raw)
{
	const struct {
		struct span in;
		const char *out;
		size_t columns;
	} cases[] = {
		{SPAN_LIT("plain"), "plain", 5},
		{SPAN_LIT("a\x1b[31mb"), "a\\x1b[31mb", 10},
		{SPAN_LIT("a\nb\tc\r\a\x7f"), "a\\nb\\tc\\x0d\\x07\\x7f", 19},
		{SPAN_LIT("nul\0."), "nul\\x00.", 8},
		{SPAN_LIT("\xc3\xa9\xff\xc3"), "\xc3\xa9\\xff\\xc3", 9},
		/* U+009B is CSI to some terminals; U+202E turns the line around. */
		{SPAN_LIT("\xc2\x9b\xe2\x80\xae"), "\\u{9b}\\u{202e}", 14},
		/* East Asian wide characters take two columns, combining marks none. */
		{SPAN_LIT("\xe6\xbc\xa2\xe5\xad\x97"), "\xe6\xbc\xa2\xe5\xad\x97", 4},
		{SPAN_LIT("e\xcc\x81x"), "e\xcc\x81x", 2},
		/* Private use and unassigned code points: no telling what they would do. */
		{SPAN_LIT("\xf3\xa0\x80\x81"), "\\u{e0001}", 9},
	};
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_clear(&out);
		ck_assert_uint_eq(
			text_add(&out, cases[i].in, TEXT_NO_LIMIT, TEXT_PLAIN), cases[i].columns);
		ck_assert_str_eq(out.data, cases[i].out);
	}
	buf_release(&out);
}
END_TEST

START_TEST(text_is_cut_to_columns)
{
	static const struct {
		const char *in;
		size_t max;
		const char *out;
	} cases[] = {
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd\xe2\x80\xa6"},
		{"abcdef", 1, "\xe2\x80\xa6"},
		{"abcdef", 0, ""},
		{"", 3, ""},
		/* A wide character is never halved, an escape neither. */
		{"\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2\xe2\x80\xa6"},
		{"\xe6\xbc\xa2\xe5\xad\x97", 2, "\xe2\x80\xa6"},
		{"ab\x1b", 4, "ab\xe2\x80\xa6"},
		{"  select\n\t 1  ", 20, "select 1"},
		{"a   b", 2, "a\xe2\x80\xa6"},
	};
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		buf_clear(&out);
		buf_add_str(&out, "");
		size_t columns = text_add(&out, span_str(cases[i].in), cases[i].max, TEXT_FOLD);

		ck_assert_str_eq(buf_span(&out).len ? out.data : "", cases[i].out);
		ck_assert_uint_eq(columns, text_columns(buf_span(&out)));
		ck_assert_uint_le(columns, cases[i].max);
	}
	/* A tower of combining marks costs no columns, and must not be unbounded for that. */
	struct buf tower = BUF_INIT;

	buf_add_char(&tower, 'x');
	for (int i = 0; i < 100000; i++)
		buf_add_str(&tower, "\xcc\x81");
	buf_clear(&out);
	text_add(&out, buf_span(&tower), 40, TEXT_PLAIN);
	ck_assert_uint_lt(out.len, 400);
	buf_release(&tower);
	buf_release(&out);
}
END_TEST

START_TEST(numbers_for_people)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {{0, "0"}, {999, "999 ns"}, {1000, "1.00 us"}, {1234567, "1.23 ms"},
		{99949999, "99.9 ms"}, {999499999, "999 ms"}, {999500000, "1.00 s"},
		{45600000000, "45.6 s"}, {119000000000, "119 s"}, {119999999999, "2 m 00 s"},
		{7321000000000, "2 h 02 m"}, {UINT64_MAX, "213503 d 23 h"}};
	static const struct {
		uint64_t bytes;
		const char *text;
	} sizes[] = {{0, "0 B"}, {1023, "1023 B"}, {1024, "1.00 KiB"}, {1290000, "1.23 MiB"},
		{1048575, "1.00 MiB"}, {UINT64_MAX, "16.0 EiB"}};
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		buf_clear(&out);
		text_add_duration(&out, times[i].ns);
		ck_assert_str_eq(out.data, times[i].text);
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		buf_clear(&out);
		text_add_size(&out, sizes[i].bytes);
		ck_assert_str_eq(out.data, sizes[i].text);
	}
	buf_clear(&out);
	text_add_count(&out, 1234567);
	buf_add_char(&out, ' ');
	text_add_count(&out, 123);
	ck_assert_str_eq(out.data, "1,234,567 123");
	buf_release(&out);
}
END_TEST

START_TEST(wrapping_keeps_every_word)
{
	struct span rest = SPAN_LIT("one two three four  five"), line;
	const char *const lines[] = {"one two", "three four", "five"};

	for (size_t i = 0; i < 3; i++) {
		line = text_wrap(rest, 10, &rest);
		ck_assert(span_eq_str(line, lines[i]));
	}
	ck_assert_uint_eq(rest.len, 0);
	/* A long word is cut. */
	line = text_wrap(SPAN_LIT("abcdefghijklmnop"), 10, &rest);
	ck_assert(span_eq_str(line, "abcdefghij"));
	ck_assert(span_eq_str(rest, "klmnop"));
}
END_TEST

UNIT_MAIN("options", values_of_every_type, a_secret_leaves_the_command_line, mistakes_are_explained,
	option_files_use_the_same_table, help_is_made_from_the_table, real_numbers, nearest_words,
	text_never_reaches_the_terminal_raw, text_is_cut_to_columns, numbers_for_people,
	wrapping_keeps_every_word)
