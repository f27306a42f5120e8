/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reducer/experience.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"

static struct experience_line *find(struct experience *e, const char *class_, const char *kind)
{
	struct experience_line *line;

	for (size_t i = 0; i < e->count; i++)
		if (strcmp(e->lines[i].class_, class_) == 0 && strcmp(e->lines[i].kind, kind) == 0)
			return &e->lines[i];
	if (e->count == EXPERIENCE_MAX)
		return NULL;
	MEM_RESERVE(e->lines, e->count + 1, e->capacity);
	line = &e->lines[e->count++];
	*line = (struct experience_line){.executions = 0};
	snprintf(line->class_, sizeof(line->class_), "%s", class_);
	snprintf(line->kind, sizeof(line->kind), "%s", kind);
	return line;
}

void experience_open(struct experience *out, const char *path)
{
	FILE *file = path ? fopen(path, "r") : NULL;
	char class_[64], kind[24], text[256];
	uint64_t executions, accepted;

	*out = (struct experience){.count = 0};
	while (file && fgets(text, sizeof(text), file)) {
		struct experience_line *line;

		if (sscanf(text, "%63s %23s %" SCNu64 " %" SCNu64, class_, kind, &executions, &accepted) != 4)
			continue;
		line = find(out, class_, kind);
		if (line) {
			line->executions += executions;
			line->accepted += accepted;
		}
	}
	if (file)
		fclose(file);
}

void experience_release(struct experience *e)
{
	mem_free(e->lines);
}

void experience_class(struct experience *e, const char *class_)
{
	snprintf(e->class_, sizeof(e->class_), "%s", class_);
}

void experience_add(struct experience *e, const char *kind, uint64_t executions, bool accepted)
{
	struct experience_line *line = executions ? find(e, e->class_, kind) : NULL;

	if (!line)
		return;
	line->executions += executions;
	line->accepted += accepted;
}

/* Accepted changes an execution, as if one of two had been before: a kind that was tried once says little. */
static double worth(const struct experience *e, const char *kind)
{
	for (size_t i = 0; i < e->count; i++)
		if (strcmp(e->lines[i].class_, e->class_) == 0 && strcmp(e->lines[i].kind, kind) == 0)
			return ((double)e->lines[i].accepted + 1) / ((double)e->lines[i].executions + 2);
	return 0.5;
}

void experience_order(const struct experience *e, const char *const *kinds, size_t count, uint8_t *order)
{
	for (uint8_t i = 0; i < count; i++)
		order[i] = i;
	/* Few: by insertion, which leaves equal ones where they are. */
	for (size_t i = 1; i < count; i++) {
		uint8_t moved = order[i];
		size_t at = i;

		for (; at && worth(e, kinds[order[at - 1]]) < worth(e, kinds[moved]); at--)
			order[at] = order[at - 1];
		order[at] = moved;
	}
}

bool experience_write(const struct experience *e, const char *path, struct err *err)
{
	struct buf text = BUF_INIT;
	bool ok;

	if (!path)
		return true;
	for (size_t i = 0; i < e->count; i++)
		buf_printf(&text, "%s %s %" PRIu64 " %" PRIu64 "\n", e->lines[i].class_, e->lines[i].kind, e->lines[i].executions,
			e->lines[i].accepted);
	ok = file_replace(path, buf_span(&text), err);
	buf_release(&text);
	return ok;
}
