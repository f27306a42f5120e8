/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/drive/ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

enum section { SECTION_NONE, SECTION_SETUP, SECTION_OPERATIONS, SECTION_OTHER };

struct parser {
	struct ops *out;
	const char *source, *line_begin, *kind;
	unsigned line;
	enum section section;
	bool kind_open;
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

static struct span trimmed(struct span s)
{
	while (s.len && (*s.ptr == ' ' || *s.ptr == '\t'))
		s = span_of(s.ptr + 1, s.len - 1);
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t' || s.ptr[s.len - 1] == '\r'))
		s.len--;
	return s;
}

/* 10s, 500ms, 2m. */
static bool take_time(struct parser *p, struct span word, uint64_t *out)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"ms", 1000000u}, {"s", 1000000000u}, {"m", 60000000000u}};
	size_t digits = 0;
	uint64_t number;

	while (digits < word.len && word.ptr[digits] >= '0' && word.ptr[digits] <= '9')
		digits++;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (text_number(span_of(word.ptr, digits), &number) && number <= 1000000 &&
			span_eq_str(span_of(word.ptr + digits, word.len - digits), units[i].unit)) {
			*out = number * units[i].ns;
			return true;
		}
	return fail(p, word, "a time belongs here: 500ms, 10s or 2m");
}

static bool take_number(struct parser *p, struct span word, uint64_t most, uint64_t *out)
{
	return (text_number(word, out) && *out <= most) || fail(p, word, "a number belongs here, and not so large a one");
}

/* ---- the header ---- */

static bool header_value(struct parser *p, struct span key, struct span value)
{
	struct ops *o = p->out;
	uint64_t number = 0;

	if (span_eq_str(key, "kind"))
		o->kind_name = arena_copy(&o->arena, value).ptr;
	else if (span_eq_str(key, "release"))
		o->release = arena_copy(&o->arena, value).ptr;
	else if (span_eq_str(key, "model"))
		o->model = arena_copy(&o->arena, value).ptr;
	else if (span_eq_str(key, "option")) {
		if (o->option_count == OPS_OPTIONS_MAX)
			return fail(p, value, "too many options (16 at most)");
		o->options[o->option_count++] = arena_copy(&o->arena, value).ptr;
	} else if (span_eq_str(key, "time"))
		return take_time(p, value, &o->time_ns);
	else if (span_eq_str(key, "aim"))
		return take_time(p, value, &o->aim_ns);
	else if (span_eq_str(key, "limit"))
		return take_time(p, value, &o->limit_ns);
	else if (span_eq_str(key, "settle"))
		return take_time(p, value, &o->settle_ns);
	else if (span_eq_str(key, "heal")) {
		o->heal = span_eq_str(value, "yes");
		return o->heal || span_eq_str(value, "no") || fail(p, value, "yes or no belongs here");
	} else if (span_eq_str(key, "coverage")) {
		o->coverage = span_eq_str(value, "yes");
		return o->coverage || span_eq_str(value, "no") || fail(p, value, "yes or no belongs here");
	} else if (span_eq_str(key, "network")) {
		o->network = span_eq_str(value, "yes") ? OPS_NETWORK_YES : span_eq_str(value, "no") ? OPS_NETWORK_NO : OPS_NETWORK_AUTO;
		return o->network != OPS_NETWORK_AUTO || span_eq_str(value, "auto") || fail(p, value, "yes, no or auto belongs here");
	} else if (span_eq_str(key, "seed"))
		return take_number(p, value, UINT64_MAX, &o->seed);
	else if (span_eq_str(key, "rows"))
		return take_number(p, value, 1000000, &o->rows);
	else if (span_eq_str(key, "nodes") || span_eq_str(key, "sessions")) {
		if (!take_number(p, value, span_eq_str(key, "nodes") ? 9 : 64, &number))
			return false;
		*(span_eq_str(key, "nodes") ? &o->nodes : &o->sessions) = (unsigned)number;
	}
	return true; /* others are a person's */
}

static bool header_line(struct parser *p, struct span line)
{
	const char *colon = memchr(line.ptr, ':', line.len);

	if (!colon)
		return true;
	return header_value(p, trimmed(span_of(line.ptr + 1, (size_t)(colon - line.ptr) - 1)),
		trimmed(span_of(colon + 1, line.len - (size_t)(colon + 1 - line.ptr))));
}

/* ---- operations ---- */

/* The operations are those of the kind, which the header names. */
static bool need_kind(struct parser *p, struct span at)
{
	struct ops *o = p->out;

	if (p->kind_open)
		return true;
	if (p->kind)
		o->kind_name = p->kind;
	if (!o->kind_name)
		return fail(p, at, "which kind of cluster? A line '# kind: galera' belongs before this");
	p->kind_open = kind_open(&o->kind, o->kind_name, p->err);
	if (!p->kind_open)
		return false;
	if (!o->nodes)
		o->nodes = o->kind.nodes;
	return true;
}

static bool node_number(const struct ops *o, struct span word, unsigned *out)
{
	uint64_t number;

	if (word.len < 2 || *word.ptr != 'n' || !text_number(span_of(word.ptr + 1, word.len - 1), &number) || !number ||
		number > OPS_NODES_MAX)
		return false;
	(void)o;
	*out = (unsigned)number - 1;
	return true;
}

static bool take_trigger(struct parser *p, struct span *rest, struct ops_step *step)
{
	struct span word = next_word(rest), value;
	const char *equals;

	if (span_eq_str(word, "then")) {
		struct span copy = *rest;

		step->trigger = OPS_THEN;
		if (!p->out->step_count)
			return fail(p, word, "'then' needs a line before it");
		if (!span_eq_str(next_word(&copy), "after"))
			return true;
		*rest = copy;
		return take_time(p, next_word(rest), &step->after_ns);
	}
	if (!span_eq_str(word, "at"))
		return fail(p, word, "'at' or 'then' belongs here");
	value = next_word(rest);
	if (span_eq_str(value, "statement")) {
		step->trigger = OPS_AT_STATEMENT;
		return take_number(p, next_word(rest), UINT64_MAX, &step->number);
	}
	if (span_eq_str(value, "window")) {
		step->trigger = OPS_AT_WINDOW;
		return true;
	}
	if (span_eq_str(value, "state")) {
		value = next_word(rest);
		equals = memchr(value.ptr, '=', value.len);
		step->trigger = OPS_AT_STATE;
		if (!equals || !node_number(p->out, span_of(value.ptr, (size_t)(equals - value.ptr)), &step->node))
			return fail(p, value, "a node and its state belong here: n2=Joined");
		step->state = arena_copy(&p->out->arena, span_of(equals + 1, value.len - (size_t)(equals + 1 - value.ptr))).ptr;
		return true;
	}
	step->trigger = OPS_AT_TIME;
	return take_time(p, value, &step->after_ns);
}

static bool take_targets(struct parser *p, struct span rest, struct ops_step *step)
{
	struct span word;
	unsigned node;

	for (word = next_word(&rest); word.len; word = next_word(&rest)) {
		if (span_eq_str(word, "for")) {
			struct span time = next_word(&rest);

			if (!step->operation || !step->operation->fault)
				return fail(p, word, "only a fault lasts for a time");
			if (!take_time(p, time, &step->lasts_ns))
				return false;
		} else if (span_eq_str(word, "all")) {
			step->all = true;
		} else if (span_eq_str(word, "any")) {
			step->any = true;
		} else if (node_number(p->out, word, &node)) {
			step->targets |= 1u << node;
		} else {
			return fail(p, word, "nodes (n1 n2 ...), all, any or 'for' and a time belong here");
		}
	}
	if (!step->operation)
		return !step->targets && !step->all && !step->any ? true : fail(p, rest, "point, hold and go take no node");
	if (!step->operation->of_cluster && !step->targets && !step->all && !step->any)
		return fail(p, rest, "on which node? n1, all or any belongs here");
	if (step->operation->of_cluster && (step->targets || step->any))
		return fail(p, rest, "this operation is one of the whole cluster and takes no node");
	if (step->operation->fault && !step->lasts_ns)
		step->lasts_ns = UINT64_MAX; /* until the end */
	return true;
}

/* The network's own, which every kind has whose nodes are started in namespaces. */
static const struct kind_operation net_operations[] = {
	[NET_CUT] = {.name = "cut", .says = "no frame passes the links", .fault = true},
	[NET_DELAY] = {.name = "delay", .says = "frames arrive so much later", .fault = true},
	[NET_LOSS] = {.name = "loss", .says = "so many frames are lost", .fault = true},
	[NET_DUPLICATE] = {.name = "duplicate", .says = "so many frames arrive twice", .fault = true},
	[NET_REORDER] = {.name = "reorder", .says = "so many frames are overtaken by others", .fault = true},
	[NET_RATE] = {.name = "rate", .says = "so many bytes pass in a second", .fault = true},
	[NET_HEAL] = {.name = "heal", .says = "the links are as at the beginning"},
};

const struct kind_operation *ops_net_operations(void)
{
	return net_operations;
}

/* LINKS [VALUE [JITTER]] [for TIME] */
static bool take_change(struct parser *p, struct span rest, enum net_verb verb, struct ops_step *step)
{
	struct net_change *change = arena_alloc(&p->out->arena, sizeof(*change));
	struct span words = rest, word, wrong, tail = rest;
	struct err err;

	if (!strstr(p->out->kind.start, "${network}"))
		return fail(p, rest, "the nodes of this kind share a network: its line 'start' has no ${network}");
	for (word = next_word(&tail); word.len; word = next_word(&tail)) {
		if (!span_eq_str(word, "for"))
			continue;
		if (verb == NET_HEAL)
			return fail(p, word, "only a fault lasts for a time");
		words = span_of(rest.ptr, (size_t)(word.ptr - rest.ptr));
		word = next_word(&tail);
		if (!take_time(p, word, &step->lasts_ns))
			return false;
		if (next_word(&tail).len)
			return fail(p, tail, "nothing more belongs here");
	}
	if (!net_change_parse(change, verb, trimmed(words), NET_NODES_MAX, &wrong, &err))
		return fail(p, wrong, err.text);
	if (verb != NET_HEAL && !step->lasts_ns)
		step->lasts_ns = UINT64_MAX; /* until the end */
	step->operation = &net_operations[verb];
	step->change = change;
	step->targets = change->named;
	step->all = !change->named;
	return true;
}

static bool operation_line(struct parser *p, struct span line)
{
	struct ops *o = p->out;
	struct ops_step step = {.line = p->line};
	struct span rest = line, name;
	enum net_verb verb;

	if (!need_kind(p, line))
		return false;
	if (o->step_count == OPS_STEPS_MAX)
		return fail(p, line, "too many operations (256 at most)");
	if (!take_trigger(p, &rest, &step))
		return false;
	rest = trimmed(rest);
	step.text = arena_copy(&o->arena, rest).ptr;
	name = next_word(&rest);
	step.operation = kind_operation_named(&o->kind, name);
	if (!step.operation && net_verb_named(name, &verb)) {
		if (!take_change(p, rest, verb, &step))
			return false;
		o->steps[o->step_count++] = step;
		return true;
	}
	step.own = span_eq_str(name, "hold") ? OPS_HOLD : span_eq_str(name, "go") ? OPS_GO : OPS_POINT;
	if (!step.operation && step.own == OPS_POINT && !span_eq_str(name, "point"))
		return fail(p, name, "this kind of cluster has no such operation (isorec cluster --print-kind)");
	if (!take_targets(p, rest, &step))
		return false;
	o->steps[o->step_count++] = step;
	return true;
}

/* ---- the text ---- */

static bool parse_line(struct parser *p, struct span raw)
{
	struct span line = trimmed(raw);

	if (!line.len)
		return true;
	if (*line.ptr == '[') {
		p->section = span_eq_str(line, "[operations]") ? SECTION_OPERATIONS
			     : span_eq_str(line, "[setup]")    ? SECTION_SETUP
								: SECTION_OTHER;
		return true;
	}
	if (*line.ptr == '#')
		return p->section != SECTION_NONE || header_line(p, line);
	switch (p->section) {
	case SECTION_NONE:
		return fail(p, line, "a line '# key: value', [setup] or [operations] belongs here");
	case SECTION_SETUP:
		if (p->out->setup_count == OPS_SETUP_MAX)
			return fail(p, line, "too many statements (256 at most)");
		if (line.ptr[line.len - 1] == ';')
			line.len--;
		p->out->setup[p->out->setup_count++] = arena_copy(&p->out->arena, line).ptr;
		return true;
	case SECTION_OPERATIONS:
		return operation_line(p, line);
	case SECTION_OTHER:
		break; /* a scenario's */
	}
	return true;
}

bool ops_parse(struct ops *out, struct span text, const char *source, const char *kind, struct err *err)
{
	struct parser p = {.out = out, .source = source, .kind = kind, .err = err};

	*out = (struct ops){.arena = ARENA_INIT,
		.model = "cluster",
		.sessions = 6,
		.seed = 1,
		.time_ns = 30000000000u,
		.settle_ns = 60000000000u,
		.aim_ns = 20000000000u,
		.limit_ns = 180000000000u,
		.rows = 200,
		.heal = true};
	while (text.len) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;

		p.line++;
		p.line_begin = text.ptr;
		if (!parse_line(&p, span_of(text.ptr, len)))
			goto failed;
		len += end != NULL;
		text = span_of(text.ptr + len, text.len - len);
	}
	p.line_begin = text.ptr;
	if (!need_kind(&p, text))
		goto failed;
	if (!out->release)
		out->release = out->kind.release ? out->kind.release : "";
	for (unsigned i = 0; i < out->step_count; i++)
		if (out->steps[i].targets >> (out->nodes + 6) && !out->steps[i].any) {
			err_set(err, ERR_FORMAT, "%s:%u:1: the cluster has %u nodes", source, out->steps[i].line, out->nodes);
			goto failed;
		}
	return true;
failed:
	ops_release(out);
	return false;
}

bool ops_open(struct ops *out, const char *path, const char *kind, struct err *err)
{
	static char text[OPS_TEXT_MAX];
	FILE *file = fopen(path, "rb");
	size_t len;

	if (!file)
		return err_set_errno(err, errno, "cannot open %s", path);
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (len == sizeof(text))
		return err_set(err, ERR_LIMIT, "%s is larger than 256 KiB", path);
	return ops_parse(out, span_of(text, len), path, kind, err);
}

void ops_release(struct ops *ops)
{
	kind_release(&ops->kind);
	arena_release(&ops->arena);
}

/* ---- printing ---- */

static void print_time(uint64_t ns, struct buf *out)
{
	if (ns % 1000000000u)
		buf_printf(out, "%llums", (unsigned long long)(ns / 1000000u));
	else
		buf_printf(out, "%llus", (unsigned long long)(ns / 1000000000u));
}

bool ops_change_links(const struct ops *ops)
{
	for (unsigned i = 0; i < ops->step_count; i++)
		if (ops->steps[i].change)
			return true;
	return false;
}

void ops_print_step(const struct ops *ops, const struct ops_step *step, struct buf *out)
{
	(void)ops;
	switch (step->trigger) {
	case OPS_AT_TIME:
		buf_add_str(out, "at ");
		print_time(step->after_ns, out);
		break;
	case OPS_AT_STATEMENT:
		buf_printf(out, "at statement %llu", (unsigned long long)step->number);
		break;
	case OPS_AT_STATE:
		buf_printf(out, "at state n%u=%s", step->node + 1, step->state);
		break;
	case OPS_AT_WINDOW:
		buf_add_str(out, "at window");
		break;
	case OPS_THEN:
		buf_add_str(out, "then");
		if (step->after_ns) {
			buf_add_str(out, " after ");
			print_time(step->after_ns, out);
		}
		break;
	}
	buf_printf(out, " %s\n", step->text);
}

void ops_print(const struct ops *ops, struct buf *out)
{
	buf_printf(out, "# kind: %s\n", ops->kind_name);
	if (ops->release && *ops->release)
		buf_printf(out, "# release: %s\n", ops->release);
	buf_printf(out, "# nodes: %u\n# sessions: %u\n# seed: %llu\n# model: %s\n# rows: %llu\n# time: ", ops->nodes, ops->sessions,
		(unsigned long long)ops->seed, ops->model, (unsigned long long)ops->rows);
	print_time(ops->time_ns, out);
	buf_add_str(out, "\n# settle: ");
	print_time(ops->settle_ns, out);
	buf_add_str(out, "\n# aim: ");
	print_time(ops->aim_ns, out);
	buf_add_str(out, "\n# limit: ");
	print_time(ops->limit_ns, out);
	if (ops->coverage)
		buf_add_str(out, "\n# coverage: yes");
	if (ops->network != OPS_NETWORK_AUTO)
		buf_printf(out, "\n# network: %s", ops->network == OPS_NETWORK_YES ? "yes" : "no");
	buf_printf(out, "\n# heal: %s\n", ops->heal ? "yes" : "no");
	for (unsigned i = 0; i < ops->option_count; i++)
		buf_printf(out, "# option: %s\n", ops->options[i]);
	if (ops->setup_count)
		buf_add_str(out, "[setup]\n");
	for (unsigned i = 0; i < ops->setup_count; i++)
		buf_printf(out, "%s;\n", ops->setup[i]);
	buf_add_str(out, "[operations]\n");
	for (unsigned i = 0; i < ops->step_count; i++)
		ops_print_step(ops, &ops->steps[i], out);
}
