/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/explore/signals.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"

enum {
	SIGNAL_MAX = 160,    /* bytes that tell lines apart */
	HEX_MIN = 8,         /* digits that make a word an identifier */
	MIXED_MIN = 12,      /* letters and digits that do */
	LINES_MAX = 200000,  /* of a log */
	NEAR_NS = 2000000000 /* an operation that ended so long ago has to do with it */
};

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static size_t hex_word(struct span rest)
{
	size_t len = 0;
	bool digit = false;

	while (len < rest.len && (is_hex(rest.ptr[len]) || rest.ptr[len] == '-')) {
		digit |= rest.ptr[len] >= '0' && rest.ptr[len] <= '9';
		len++;
	}
	if (len < HEX_MIN || !digit || (len < rest.len && isalpha((unsigned char)rest.ptr[len])))
		return 0;
	return len;
}

/* Letters of both cases and digits, as names that are drawn have them. */
static size_t mixed_word(struct span rest)
{
	bool digit = false, lower = false, upper = false;
	size_t len = 0;

	while (len < rest.len && (isalnum((unsigned char)rest.ptr[len]) || strchr("+/=", rest.ptr[len]))) {
		digit |= isdigit((unsigned char)rest.ptr[len]) != 0;
		lower |= islower((unsigned char)rest.ptr[len]) != 0;
		upper |= isupper((unsigned char)rest.ptr[len]) != 0;
		len++;
	}
	return len >= MIXED_MIN && digit && lower && upper ? len : 0;
}

/* A path from the root on, which differs with the folder of the run. */
static size_t path_word(struct span rest)
{
	size_t len = 0;

	while (*rest.ptr == '/' && len < rest.len && !strchr(" \t,;:'\")", rest.ptr[len]))
		len++;
	return len > 1 ? len : 0;
}

/* 'text' or "text" with its quotes; 0: no quote begins here, or none ends. */
static size_t quoted(struct span rest)
{
	const char *end = rest.len > 1 && (*rest.ptr == '\'' || *rest.ptr == '"') ? memchr(rest.ptr + 1, *rest.ptr, rest.len - 1) : NULL;

	return end ? (size_t)(end - rest.ptr) + 1 : 0;
}

void signals_mask(struct span line, struct buf *out)
{
	size_t begin = out->len, at = 0;

	while (at < line.len && out->len - begin < SIGNAL_MAX) {
		struct span rest = span_of(line.ptr + at, line.len - at);
		bool begins_word = at == 0 || !isalnum((unsigned char)line.ptr[at - 1]);
		size_t len = begins_word ? hex_word(rest) : 0;

		len = !len && begins_word ? mixed_word(rest) : len;
		if (!len && begins_word && (len = path_word(rest)) != 0) {
			buf_add_str(out, "/#");
		} else if (len) {
			buf_add_char(out, '#');
		} else if ((len = quoted(rest)) != 0) {
			buf_add_str(out, "'#'");
		} else if (isdigit((unsigned char)*rest.ptr)) {
			while (len < rest.len && isdigit((unsigned char)rest.ptr[len]))
				len++;
			buf_add_char(out, '#');
		} else {
			buf_add_char(out, *rest.ptr == '\t' ? ' ' : *rest.ptr);
			len = 1;
		}
		at += len;
	}
	while (out->len > begin && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
}

/* ---- of a trace ---- */

/* The operations and faults that were under way at that moment, or had just ended: "kill+start". */
static void operations_near(const struct life *life, uint64_t at, struct buf *out)
{
	size_t begin = out->len;

	for (size_t i = 0; i < life->event_count; i++) {
		const struct life_event *e = &life->events[i];
		struct span name = life_data(e->data, "name");

		if (!span_eq_str(e->what, "operation") || !name.len)
			continue;
		if (!span_eq_str(life_data(e->data, "phase"), "end") || e->begin > at || e->at + NEAR_NS < at)
			continue;
		if (memmem(out->data ? out->data + begin : "", out->len - begin, name.ptr, name.len))
			continue;
		if (out->len > begin)
			buf_add_char(out, '+');
		buf_add_span(out, name);
	}
}

static void add_masked(const char *kind, struct span text, void (*add)(void *ctx, struct span signal), void *ctx, const struct buf *near)
{
	struct buf out = BUF_INIT;

	if (near && near->len)
		buf_printf(&out, "within %s: ", near->data);
	buf_printf(&out, "%s ", kind);
	signals_mask(text, &out);
	add(ctx, buf_span(&out));
	buf_release(&out);
}

/* "name value, was value; name value..." */
static void add_states(const struct life *life, const struct life_event *e, void (*add)(void *ctx, struct span signal), void *ctx)
{
	struct buf near = BUF_INIT;
	struct span rest = e->detail;

	operations_near(life, e->at, &near);
	while (rest.len) {
		const char *end = memmem(rest.ptr, rest.len, "; ", 2);
		struct span piece = span_of(rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len);

		/* Without "was" it is the first look at the node, and no change. */
		if (memmem(piece.ptr, piece.len, ", was ", 6)) {
			add_masked("state", piece, add, ctx, NULL);
			add_masked("state", piece, add, ctx, &near);
		}
		rest = end ? span_of(end + 2, rest.len - piece.len - 2) : SPAN_NONE;
	}
	buf_release(&near);
}

/* The counters of a node at the end: each name with the power of two below its value. */
static void add_counters(struct span text, void (*add)(void *ctx, struct span signal), void *ctx)
{
	while (text.len) {
		const char *end = memchr(text.ptr, '\n', text.len), *blank;
		struct span line = span_of(text.ptr, end ? (size_t)(end - text.ptr) : text.len);
		struct buf out = BUF_INIT;
		uint64_t value;

		blank = memchr(line.ptr, '=', line.len);
		if (blank && text_number(span_of(blank + 1, line.len - (size_t)(blank + 1 - line.ptr)), &value)) {
			unsigned power = value ? 64u - (unsigned)__builtin_clzll(value) : 0;

			buf_printf(&out, "counter %.*s 2^%u", (int)(blank - line.ptr), line.ptr, power);
			add(ctx, buf_span(&out));
		}
		buf_release(&out);
		text = end ? span_of(end + 1, text.len - line.len - 1) : SPAN_NONE;
	}
}

static void add_operation(const struct life_event *e, void (*add)(void *ctx, struct span signal), void *ctx)
{
	struct span name = life_data(e->data, "name"), result = life_data(e->data, "result");
	struct buf out = BUF_INIT;

	if (result.len) {
		buf_printf(&out, "operation %.*s %.*s", SPAN_ARG(name), SPAN_ARG(result));
		add(ctx, buf_span(&out));
	}
	buf_release(&out);
}

void signals_of_life(const struct life *life, void (*add)(void *ctx, struct span signal), void *ctx)
{
	for (size_t i = 0; i < life->event_count; i++) {
		const struct life_event *e = &life->events[i];

		if (span_eq_str(e->what, "state") || span_eq_str(e->what, "membership"))
			add_states(life, e, add, ctx);
		else if (span_eq_str(e->what, "counters"))
			add_counters(life_data(e->data, "values"), add, ctx);
		else if (span_eq_str(e->what, "operation"))
			add_operation(e, add, ctx);
		else if (span_eq_str(e->what, "exit"))
			add_masked("exit", e->detail, add, ctx, NULL);
	}
}

/* ---- of a log ---- */

/* What comes before the level is a time and the number of a thread. */
static struct span without_time(struct span line)
{
	const char *level = memchr(line.ptr, '[', line.len < 64 ? line.len : 64);

	return level ? span_of(level, line.len - (size_t)(level - line.ptr)) : line;
}

void signals_of_log(const char *path, void (*add)(void *ctx, struct span signal), void *ctx)
{
	FILE *file = fopen(path, "rb");
	char *line = NULL;
	size_t room = 0;

	for (unsigned lines = 0; file && lines < LINES_MAX; lines++) {
		ssize_t len = getline(&line, &room, file);

		if (len < 0)
			break;
		while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			len--;
		if (len)
			add_masked("log", without_time(span_of(line, (size_t)len)), add, ctx, NULL);
	}
	mem_free(line);
	if (file)
		fclose(file);
}
