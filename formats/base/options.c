/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/text.h"

/* ---- values ---- */

bool parse_uint(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	struct err *err)
{
	char *end;

	if (max == 0)
		max = UINT64_MAX;
	errno = 0;
	*out = strtoull(text, &end, 10);
	/* strtoull takes a sign and blanks; a count has neither. */
	if (*text < '0' || *text > '9' || *end)
		return err_set(err, ERR_USAGE, "%s: '%s' is not a whole number", what, text);
	if (errno == ERANGE || *out < min || *out > max) {
		if (max == UINT64_MAX && errno != ERANGE)
			return err_set(err, ERR_USAGE,
				"%s: %s is out of range; it must be at least %" PRIu64, what, text,
				min);
		return err_set(err, ERR_USAGE,
			"%s: %s is out of range; it must be from %" PRIu64 " to %" PRIu64, what,
			text, min, max);
	}
	return true;
}

bool parse_size(const char *text, const char *what, uint64_t *out, struct err *err)
{
	static const char units[] = "KMGTPE";
	char *end;
	unsigned shift = 0;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (*end && *text >= '0' && *text <= '9') {
		const char *unit = strchr(units, *end >= 'a' ? *end - 32 : *end);

		if (unit) {
			shift = 10 * (unsigned)(unit - units + 1);
			end++;
		}
	}
	if (*text < '0' || *text > '9' || *end)
		return err_set(err, ERR_USAGE,
			"%s: '%s' is not a size; write bytes, or a number with K, M or G: 64K, 2G",
			what, text);
	if (errno == ERANGE || (shift && *out > UINT64_MAX >> shift))
		return err_set(err, ERR_USAGE, "%s: %s is too large", what, text);
	*out <<= shift;
	return true;
}

bool parse_duration(const char *text, const char *what, uint64_t *out, struct err *err)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9},
		{"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
	size_t digits = strspn(text, "0123456789.");
	char number[40];

	if (digits > 0 && digits < sizeof(number) && text[strspn(text, ".")]) {
		char *end;
		double value;

		memcpy(number, text, digits);
		number[digits] = '\0';
		value = strtod(number, &end);
		for (size_t i = 0; !*end && i < ARRAY_LEN(units); i++) {
			if (strcmp(text + digits, units[i].name) != 0)
				continue;
			value = value * units[i].ns + 0.5;
			if (value >= 9.2e18)
				return err_set(err, ERR_USAGE, "%s: %s is too long", what, text);
			*out = (uint64_t)value;
			return true;
		}
	}
	return err_set(err, ERR_USAGE,
		"%s: '%s' is not a duration; write a number and a unit: 200ms, 1.5s, 5m", what,
		text);
}

bool parse_real(const char *text, const char *what, double *out, struct err *err)
{
	char *end;

	/* strtod takes signs, blanks, hexadecimal and "inf" too. */
	if (*text && text[strspn(text, "0123456789.e+-")] == '\0' && *text != '-' && *text != '+') {
		*out = strtod(text, &end);
		if (!*end && *out <= 1e300)
			return true;
	}
	return err_set(err, ERR_USAGE, "%s: '%s' is not a number; write it as 0.05", what, text);
}

static bool set_choice(const struct option_def *def, int *out, const char *value, struct err *err)
{
	struct buf words = BUF_INIT;
	const char *near;

	for (int i = 0; def->choices[i]; i++) {
		if (strcmp(value, def->choices[i]) == 0) {
			*out = i;
			return true;
		}
	}
	for (int i = 0; def->choices[i]; i++)
		buf_printf(&words, "%s%s", i ? (def->choices[i + 1] ? ", " : " or ") : "",
			def->choices[i]);
	near = nearest_word(value, def->choices);
	err_set(err, ERR_USAGE, "--%s: '%s' is none of its values; it takes %s%s%s%s", def->name,
		value, words.data, near ? "; did you mean '" : "", near ? near : "",
		near ? "'?" : "");
	buf_release(&words);
	return false;
}

/* value is NULL for a flag, and where an optional argument was left out. */
/* Copies of passwords; more than these are not wiped at the end. */
static char *secrets[16];
static size_t secret_count;

static const char *keep_secret(const char *value)
{
	char *copy = mem_strdup(value);

	if (secret_count < ARRAY_LEN(secrets))
		secrets[secret_count++] = copy;
	return copy;
}

void options_forget_secrets(void)
{
	while (secret_count) {
		char *secret = secrets[--secret_count];

		mem_wipe(secret, strlen(secret));
		mem_free(secret);
	}
}

static bool set_value(const struct option_def *def, void *target, char *value, struct err *err)
{
	void *at = (char *)target + def->offset;
	char what[80];

	snprintf(what, sizeof(what), "--%s", def->name);
	if (!value && def->flags & OPTION_OPTIONAL && def->type == OPTION_TYPE_CHOICE)
		return set_choice(def, at, def->bare, err);
	switch (def->type) {
	case OPTION_TYPE_FLAG:
		*(bool *)at = true;
		return true;
	case OPTION_TYPE_STRING:
		if (value && def->flags & OPTION_SECRET) {
			*(const char **)at = keep_secret(value);
			mem_wipe(value, strlen(value));
		} else {
			*(const char **)at = value ? value : def->bare;
		}
		return true;
	case OPTION_TYPE_UINT:
		return parse_uint(value, def->min, def->max, what, at, err);
	case OPTION_TYPE_SIZE:
		return parse_size(value, what, at, err);
	case OPTION_TYPE_DURATION:
		return parse_duration(value, what, at, err);
	case OPTION_TYPE_REAL:
		return parse_real(value, what, at, err);
	case OPTION_TYPE_CHOICE:
		return set_choice(def, at, value, err);
	case OPTION_TYPE_STRINGS: {
		struct option_strings *strings = at;

		if (strings->count == OPTION_STRINGS_MAX)
			return err_set(err, ERR_USAGE, "%s: given more than %d times", what,
				OPTION_STRINGS_MAX);
		strings->items[strings->count++] = value;
		return true;
	}
	}
	BUG("option type %d", (int)def->type);
}

/* ---- parsing ---- */

/* getopt's answers: a long option is LONG_BASE + its index in the table. */
enum { LONG_BASE = 256, LONG_HELP = 256 + OPTION_COUNT_MAX, LONG_VERSION, LONG_MEMORY };

/* A command whose option of this name means something else. */
static bool has_own_memory(const struct option_def *table)
{
	return option_find(table, "memory") != NULL;
}

struct getopt_tables {
	struct option longs[2 * OPTION_COUNT_MAX + 4]; /* with the aliases */
	char shorts[3 * OPTION_COUNT_MAX + 8];
};

static int argument_of(const struct option_def *def)
{
	if (def->type == OPTION_TYPE_FLAG)
		return no_argument;
	return def->flags & OPTION_OPTIONAL ? optional_argument : required_argument;
}

static void make_tables(const struct option_def *table, struct getopt_tables *out)
{
	size_t count = 0;
	char *s = out->shorts;

	*s++ = ':'; /* tells a missing argument from an unknown option */
	*s++ = 'V';
	for (int i = 0; !option_is_end(&table[i]); i++) {
		int argument = argument_of(&table[i]);

		CHECK(i < OPTION_COUNT_MAX);
		if (!table[i].name)
			continue;
		out->longs[count++] = (struct option){table[i].name, argument, NULL, LONG_BASE + i};
		if (table[i].alias)
			out->longs[count++] =
				(struct option){table[i].alias, argument, NULL, LONG_BASE + i};
		if (table[i].letter) {
			*s++ = table[i].letter;
			if (argument != no_argument)
				*s++ = ':';
			if (argument == optional_argument)
				*s++ = ':';
		}
	}
	*s = '\0';
	out->longs[count++] = (struct option){"help", no_argument, NULL, LONG_HELP};
	out->longs[count++] = (struct option){"version", no_argument, NULL, LONG_VERSION};
	if (!has_own_memory(table))
		out->longs[count++] = (struct option){"memory", required_argument, NULL, LONG_MEMORY};
	out->longs[count] = (struct option){NULL, 0, NULL, 0};
}

#define MEMORY_HELP                                                                                \
	"isotrace and isorec replay: put large blocks into a temporary file in the folder TMPDIR (or "      \
	"/var/tmp), so that about this much stays in memory, and more where it is needed often; other "     \
	"commands of isorec: end with a message rather than take more"

static const struct option_def *find_def(const struct option_def *table, int code)
{
	if (code >= LONG_BASE && code < LONG_HELP)
		return &table[code - LONG_BASE];
	for (const struct option_def *def = table; !option_is_end(def); def++) {
		if (def->name && def->letter && def->letter == code)
			return def;
	}
	return NULL;
}

/* An argument that begins with "--" and is no option, or the beginning of several. */
static bool unknown_long(const struct getopt_tables *tables, const char *argument, struct err *err)
{
	const char *names[2 * OPTION_COUNT_MAX + 3];
	size_t len = strcspn(argument + 2, "="), count = 0, matches = 0;
	struct buf like = BUF_INIT;
	char word[100];
	const char *near;

	for (; tables->longs[count].name; count++) {
		names[count] = tables->longs[count].name;
		if (strncmp(names[count], argument + 2, len) == 0)
			buf_printf(&like, "%s--%s", matches++ ? ", " : "", names[count]);
	}
	names[count] = NULL;
	snprintf(word, sizeof(word), "%.*s", (int)(len < 99 ? len : 99), argument + 2);
	near = nearest_word(word, names);
	if (matches > 1)
		err_set(err, ERR_USAGE, "option '--%s' is not clear: it could be %s", word,
			like.data);
	else if (near)
		err_set(err, ERR_USAGE, "unknown option '--%s'; did you mean '--%s'?", word, near);
	else
		err_set(err, ERR_USAGE, "unknown option '--%s'", word);
	buf_release(&like);
	return false;
}

static enum options_result refuse(const struct option_def *table,
	const struct getopt_tables *tables, int answer, const char *argument, struct err *err)
{
	const struct option_def *def = find_def(table, optopt);

	if (answer == ':') {
		struct buf spelling = BUF_INIT;

		CHECK(def);
		option_spelling(&spelling, def);
		err_set(err, ERR_USAGE, "option '--%s' needs a value: %s", def->name,
			spelling.data);
		buf_release(&spelling);
	} else if (optopt >= LONG_BASE) {
		err_set(err, ERR_USAGE, "option '%s' takes no value", argument);
	} else if (optopt) {
		err_set(err, ERR_USAGE, "unknown option '-%c'", optopt);
	} else {
		unknown_long(tables, argument, err);
	}
	return OPTIONS_ERROR;
}

/* Every command takes it, as all read what comes from outside. */
static enum options_result limit_memory(struct err *err)
{
	uint64_t bytes;

	if (!parse_size(optarg, "--memory", &bytes, err))
		return OPTIONS_ERROR;
	mem_limit(bytes);
	return OPTIONS_OK;
}

enum options_result options_parse(const struct option_def *table, void *target, int argc,
	char **argv, int *first, struct err *err)
{
	struct getopt_tables *tables = mem_zero(1, sizeof(*tables));
	enum options_result result = OPTIONS_OK;

	make_tables(table, tables);
	opterr = 0;
	optind = 0; /* glibc: begin anew */
	while (result == OPTIONS_OK) {
		optopt = 0;
		int answer = getopt_long(argc, argv, tables->shorts, tables->longs, NULL);
		const char *argument = argv[optind > 0 ? optind - 1 : 0];

		if (answer == -1)
			break;
		/* -h is what most people try first; where it names a host, as in mysql, it asks for
		 * help when no host follows. */
		if (answer == LONG_HELP || (answer == '?' && (optopt == '?' || optopt == 'h')) ||
			(answer == ':' && optopt == 'h'))
			result = OPTIONS_HELP;
		else if (answer == LONG_VERSION || answer == 'V')
			result = OPTIONS_VERSION;
		else if (answer == LONG_MEMORY)
			result = limit_memory(err);
		else if (answer == '?' || answer == ':')
			result = refuse(table, tables, answer, argument, err);
		else if (!set_value(find_def(table, answer), target, optarg, err))
			result = OPTIONS_ERROR;
	}
	*first = optind;
	mem_free(tables);
	return result;
}

const struct option_def *option_find(const struct option_def *table, const char *name)
{
	for (const struct option_def *def = table; !option_is_end(def); def++) {
		const char *a = def->name, *b = name;

		while (a && *a && (*a == *b || (*a == '-' && *b == '_'))) {
			a++;
			b++;
		}
		if (a && !*a && !*b)
			return def;
	}
	return NULL;
}

bool option_set(const struct option_def *table, void *target, const char *name, const char *value,
	struct err *err)
{
	const struct option_def *def = option_find(table, name);

	if (!def)
		return err_set(err, ERR_USAGE, "unknown option '%s'", name);
	if (def->type == OPTION_TYPE_FLAG && value)
		return err_set(err, ERR_USAGE, "option '%s' takes no value", name);
	if (def->type != OPTION_TYPE_FLAG && !value && !(def->flags & OPTION_OPTIONAL))
		return err_set(err, ERR_USAGE, "option '%s' needs a value", name);
	/* Only a secret is written to, and then the file's copy is wiped too. */
	return set_value(def, target, (char *)(uintptr_t)value, err);
}

/* ---- the nearest word ---- */

enum { WORD_MAX = 64 };

/* Edit distance with swaps of neighbours (optimal string alignment). */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		above[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		size_t *oldest = before;

		before = above;
		above = row;
		row = oldest;
	}
	return above[b_len];
}

const char *nearest_word(const char *word, const char *const *words)
{
	size_t len = strlen(word), best = SIZE_MAX;
	const char *nearest = NULL;

	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (; *words; words++) {
		size_t other = strlen(*words), far;

		if (other > WORD_MAX)
			continue;
		far = distance(word, len, *words, other);
		/* One mistake in three letters is still recognised; "xy" for "ab" is not. */
		if (far < best && far <= (len + 2) / 3 && far < other) {
			best = far;
			nearest = *words;
		}
	}
	return nearest;
}

/* ---- help ---- */

static void add_choices(struct buf *out, const struct option_def *def)
{
	for (int i = 0; def->choices[i]; i++)
		buf_printf(out, "%s%s", i ? "|" : "", def->choices[i]);
}

static void add_argument(struct buf *out, const struct option_def *def)
{
	if (def->type == OPTION_TYPE_FLAG)
		return;
	buf_add_str(out, def->flags & OPTION_OPTIONAL ? "[=" : "=");
	if (def->argument)
		buf_add_str(out, def->argument);
	else if (def->type == OPTION_TYPE_CHOICE)
		add_choices(out, def);
	else
		buf_add_str(out, "VALUE");
	if (def->flags & OPTION_OPTIONAL)
		buf_add_char(out, ']');
}

void option_spelling(struct buf *out, const struct option_def *def)
{
	if (def->letter)
		buf_printf(out, "-%c, ", def->letter);
	buf_printf(out, "--%s", def->name);
	add_argument(out, def);
}

static void help_entry(
	struct buf *out, const char *spelling, const char *help, const char *preset, size_t columns)
{
	enum { INDENT = 2, HELP_AT = 28 };
	struct buf text = BUF_INIT;
	struct span rest;
	size_t used = INDENT + strlen(spelling);

	buf_printf(out, "%*s%s", INDENT, "", spelling);
	buf_add_str(&text, help);
	if (preset)
		buf_printf(&text, " (default: %s)", preset);
	if (used + 2 > HELP_AT) {
		buf_add_char(out, '\n');
		used = 0;
	}
	rest = buf_span(&text);
	while (rest.len) {
		struct span line = text_wrap(rest, columns - HELP_AT, &rest);

		text_add_blanks(out, HELP_AT - used);
		buf_add_span(out, line);
		buf_add_char(out, '\n');
		used = 0;
	}
	buf_release(&text);
}

void options_help(struct buf *out, const struct option_def *table, size_t columns)
{
	struct buf spelling = BUF_INIT;

	for (const struct option_def *def = table; !option_is_end(def); def++) {
		if (!def->name) {
			buf_printf(out, "%s%s:\n", def == table ? "" : "\n", def->help);
			continue;
		}
		buf_clear(&spelling);
		/* Long names line up after the letters. */
		if (!def->letter)
			buf_add_str(&spelling, "    ");
		option_spelling(&spelling, def);
		help_entry(out, spelling.data, def->help, def->preset, columns);
	}
	help_entry(out, find_def(table, 'h') ? "-?, --help" : "-?, -h, --help", "show this help",
		NULL, columns);
	if (!has_own_memory(table))
		help_entry(out, "    --memory=SIZE", MEMORY_HELP, NULL, columns);
	help_entry(out, "-V, --version", "show the version", NULL, columns);
	buf_release(&spelling);
}

/* A backslash, and a dot or quote at the beginning of a line, mean something to roff. */
static void add_mdoc_text(struct buf *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			buf_add_str(out, "\\&");
		if (*text == '\\')
			buf_add_str(out, "\\e");
		else if (*text == '-')
			buf_add_str(out, "\\-");
		else
			buf_add_char(out, *text);
		line_start = *text == '\n';
	}
}

static void mdoc_item(struct buf *out, const struct option_def *def)
{
	buf_add_str(out, ".It ");
	if (def->letter)
		buf_printf(out, "Fl %c , ", def->letter);
	buf_printf(out, "Fl \\-%s", def->name);
	if (def->type != OPTION_TYPE_FLAG) {
		struct buf argument = BUF_INIT;

		add_argument(&argument, def);
		/* Ns: no space between the name and the value. */
		if (def->flags & OPTION_OPTIONAL)
			buf_printf(out, " Ns Oo = Ns Ar %.*s Oc", (int)argument.len - 3,
				argument.data + 2);
		else
			buf_printf(out, " Ns = Ns Ar %s", argument.data + 1);
		buf_release(&argument);
	}
	buf_add_char(out, '\n');
	add_mdoc_text(out, def->help);
	if (def->preset) {
		buf_add_str(out, " (default: ");
		add_mdoc_text(out, def->preset);
		buf_add_char(out, ')');
	}
	buf_add_str(out, ".\n");
}

void options_mdoc(struct buf *out, const struct option_def *table)
{
	bool open = false;

	for (const struct option_def *def = table; !option_is_end(def); def++) {
		if (!def->name) {
			if (open)
				buf_add_str(out, ".El\n");
			buf_printf(out, ".Ss %s\n", def->help);
			open = false;
			continue;
		}
		if (!open)
			buf_add_str(out, ".Bl -tag -width Ds\n");
		open = true;
		mdoc_item(out, def);
	}
	buf_printf(out, "%s.It Fl \\&? ,%s Fl \\-help\nshow a short help.\n",
		open ? "" : ".Bl -tag -width Ds\n", find_def(table, 'h') ? "" : " Fl h ,");
	if (!has_own_memory(table))
		buf_add_str(out, ".It Fl \\-memory Ns = Ns Ar SIZE\n" MEMORY_HELP ".\n");
	buf_add_str(out, ".It Fl V , Fl \\-version\nshow the version.\n.El\n");
}
