/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/drive/kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/text.h"

/* The files of recorder/cluster/kinds, as the build turned them into strings. */
static const char galera_text[] =
#include "cluster/drive/galera.cluster.inc"
	;
static const char group_text[] =
#include "cluster/drive/group-replication.cluster.inc"
	;
static const char ndb_text[] =
#include "cluster/drive/ndb.cluster.inc"
	;
static const char tidb_text[] =
#include "cluster/drive/tidb.cluster.inc"
	;
static const char template_text[] =
#include "cluster/drive/template.cluster.inc"
	;

const char *const kind_names[] = {"galera", "group-replication", "ndb", "tidb", "template", NULL};

const char *kind_text(const char *name)
{
	static const char *const texts[] = {galera_text, group_text, ndb_text, tidb_text, template_text};

	for (size_t i = 0; kind_names[i]; i++)
		if (strcmp(kind_names[i], name) == 0)
			return texts[i];
	return NULL;
}

struct parser {
	struct kind *out;
	struct kind_operation *operation; /* that lines belong to; NULL: the cluster's own */
	const char *source, *line_begin;
	unsigned line;
	struct err *err;
};

static bool fail(struct parser *p, struct span at, const char *what)
{
	return err_set(p->err, ERR_FORMAT, "%s:%u:%u: %s", p->source, p->line, (unsigned)(at.ptr - p->line_begin) + 1, what);
}

static struct span next_word(struct span *rest)
{
	struct span word;

	while (rest->len && (*rest->ptr == ' ' || *rest->ptr == '\t'))
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	word = span_of(rest->ptr, 0);
	while (rest->len && *rest->ptr != ' ' && *rest->ptr != '\t') {
		word.len++;
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	}
	return word;
}

static struct span trimmed(struct span rest)
{
	struct span copy = rest, word = next_word(&copy);

	return span_of(word.ptr, rest.len - (size_t)(word.ptr - rest.ptr));
}

static bool take_text(struct parser *p, struct span rest, const char **out)
{
	struct span text = trimmed(rest);

	if (!text.len)
		return fail(p, text, "a text belongs here");
	*out = arena_copy(&p->out->arena, text).ptr;
	return true;
}

static bool take_step(struct parser *p, struct span rest, struct kind_step *steps, unsigned *count)
{
	struct span word = next_word(&rest);

	if (!span_eq_str(word, "shell") && !span_eq_str(word, "sql"))
		return fail(p, word, "'shell' or 'sql' and a command belong here");
	if (*count == KIND_STEPS_MAX)
		return fail(p, word, "too many steps (8 at most)");
	steps[*count].shell = span_eq_str(word, "shell");
	return take_text(p, rest, &steps[(*count)++].text);
}

/* One of the words; its number, or -1. */
static int choose(struct span word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (span_eq_str(word, words[i]))
			return i;
	return -1;
}

static bool begin_operation(struct parser *p, struct span rest, bool fault)
{
	struct span name = next_word(&rest);

	if (!name.len)
		return fail(p, name, "a name belongs here");
	if (kind_operation_named(p->out, name))
		return fail(p, name, "there is an operation of this name already");
	if (p->out->operation_count == KIND_OPERATIONS_MAX)
		return fail(p, name, "too many operations (64 at most)");
	p->operation = &p->out->operations[p->out->operation_count++];
	*p->operation = (struct kind_operation){.name = arena_copy(&p->out->arena, name).ptr, .fault = fault};
	return true;
}

static bool operation_line(struct parser *p, struct span word, struct span rest)
{
	static const char *const whens[] = {"any", "up", "down", "ready", "all-down", NULL};
	static const char *const ends[] = {"done", "exit", "ready", NULL};
	struct kind_operation *o = p->operation;
	struct span value = rest;
	int choice;

	if (span_eq_str(word, "says"))
		return take_text(p, rest, &o->says);
	if (span_eq_str(word, "do"))
		return take_step(p, rest, o->steps, &o->step_count);
	if (span_eq_str(word, "undo") && o->fault)
		return take_step(p, rest, o->undo, &o->undo_count);
	value = next_word(&rest);
	if (span_eq_str(word, "leaves"))
		o->leaves = true;
	else if (span_eq_str(word, "joins"))
		o->joins = true;
	else if (span_eq_str(word, "joins-all"))
		o->joins = o->joins_all = true;
	else if (span_eq_str(word, "others")) {
		o->others_up = true;
		if (!span_eq_str(value, "up"))
			return fail(p, value, "'up' belongs here");
	} else if (span_eq_str(word, "target")) {
		o->of_cluster = true;
		if (!span_eq_str(value, "cluster"))
			return fail(p, value, "'cluster' belongs here");
	} else if (span_eq_str(word, "when")) {
		choice = choose(value, whens);
		if (choice < 0)
			return fail(p, value, "any, up, down, ready or all-down belongs here");
		o->when = (enum kind_when)choice;
	} else if (span_eq_str(word, "ends")) {
		choice = choose(value, ends);
		if (choice < 0)
			return fail(p, value, "done, exit or ready belongs here");
		o->ends = (enum kind_end)choice;
	} else {
		return fail(p, word, o->fault ? "says, when, others, target, do or undo belongs here"
					      : "says, when, others, target, leaves, joins, joins-all, do or ends belongs here");
	}
	return true;
}

static bool cluster_line(struct parser *p, struct span word, struct span rest)
{
	struct kind *k = p->out;
	const struct {
		const char *word;
		const char **out;
	} texts[] = {{"cluster", &k->name}, {"release", &k->release}, {"tried", &k->tried}, {"option", &k->option},
		{"state", &k->state}, {"ready", &k->ready}, {"position", &k->position}, {"before-read", &k->before_read},
		{"counters", &k->counters}, {"contract", &k->contract}, {"library", &k->library}, {"variable", &k->variable}};
	struct kind_step step;
	unsigned count = 0;
	uint64_t number;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (span_eq_str(word, texts[i].word))
			return take_text(p, rest, texts[i].out);
	if (span_eq_str(word, "nodes")) {
		struct span value = next_word(&rest);

		if (!text_number(value, &number) || !number || number > 9)
			return fail(p, value, "a number from 1 to 9 belongs here");
		k->nodes = (unsigned)number;
		return true;
	}
	if (!span_eq_str(word, "start") && !span_eq_str(word, "stop"))
		return fail(p, word, "cluster, tried, release, nodes, start, stop, option, state, ready, position, before-read, counters, "
				     "contract, library, variable, operation or fault belongs here");
	if (!take_step(p, rest, &step, &count))
		return false;
	if (!step.shell)
		return fail(p, word, "a cluster is started and stopped by 'shell' commands");
	*(span_eq_str(word, "start") ? &k->start : &k->stop) = step.text;
	return true;
}

static bool parse_line(struct parser *p, struct span line)
{
	struct span rest = line, word = next_word(&rest);

	if (!word.len || *word.ptr == '#')
		return true;
	if (span_eq_str(word, "operation") || span_eq_str(word, "fault"))
		return begin_operation(p, rest, span_eq_str(word, "fault"));
	return p->operation ? operation_line(p, word, rest) : cluster_line(p, word, rest);
}

bool kind_parse(struct kind *out, struct span text, const char *source, struct err *err)
{
	struct parser p = {.out = out, .source = source, .err = err};
	struct span line;

	*out = (struct kind){.arena = ARENA_INIT, .nodes = 3};
	while (text.len) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;

		line = span_of(text.ptr, len && text.ptr[len - 1] == '\r' ? len - 1 : len);
		p.line++;
		p.line_begin = line.ptr;
		if (!parse_line(&p, line))
			goto failed;
		len += end != NULL;
		text = span_of(text.ptr + len, text.len - len);
	}
	for (unsigned i = 0; i < out->operation_count; i++) {
		if (out->operations[i].step_count && (!out->operations[i].fault || out->operations[i].undo_count))
			continue;
		err_set(err, ERR_FORMAT, "%s: %s '%s' has no line '%s'", source, out->operations[i].fault ? "the fault" : "the operation",
			out->operations[i].name, out->operations[i].step_count ? "undo" : "do");
		goto failed;
	}
	if (out->name && out->start && out->state && out->ready)
		return true;
	err_set(err, ERR_FORMAT, "%s: the lines 'cluster', 'start', 'state' and 'ready' are needed", source);
failed:
	kind_release(out);
	return false;
}

bool kind_open(struct kind *out, const char *name, struct err *err)
{
	static char text[KIND_TEXT_MAX];
	const char *built_in = kind_text(name);
	FILE *file;
	size_t len;

	if (built_in)
		return kind_parse(out, span_str(built_in), name, err);
	file = fopen(name, "rb");
	if (!file)
		return err_set_errno(err, errno,
			"%s: no kind of cluster is built in under this name (isorec cluster --kinds), and there is no such file", name);
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (len == sizeof(text))
		return err_set(err, ERR_LIMIT, "%s is larger than any kind of cluster (64 KiB)", name);
	return kind_parse(out, span_of(text, len), name, err);
}

void kind_release(struct kind *kind)
{
	arena_release(&kind->arena);
	*kind = (struct kind){.arena = ARENA_INIT};
}

const struct kind_operation *kind_operation_named(const struct kind *kind, struct span name)
{
	for (unsigned i = 0; i < kind->operation_count; i++)
		if (span_eq_str(name, kind->operations[i].name))
			return &kind->operations[i];
	return NULL;
}
