/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bench/histories.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"

enum { OPS_MAX = 128 };

struct cell {
	uint32_t *values;
	uint64_t *moments; /* when each was installed */
	size_t count, capacity, moments_capacity;
	uint32_t writes; /* handed out */
	uint32_t name;
};

struct op {
	bool read;
	uint32_t slot, name, value;
	size_t seen;   /* length read */
	uint32_t last; /* register: value read */
};

struct process {
	bool busy;
	struct op ops[OPS_MAX];
	uint32_t count, at;
	uint64_t start;
	uint32_t txn;
	FILE *lines; /* by_session: what it says, until the end */
	char *text;
	size_t text_len;
};

struct sim {
	const struct history_shape *shape;
	FILE *out;
	struct cell *cells; /* by name */
	uint32_t *active;   /* names in use */
	uint32_t names;
	size_t cell_capacity;
	struct process *processes;
	double *share; /* zipf: of the first keys together */
	uint64_t now, state;
	uint32_t index, started, next_txn;
};

static uint32_t roll(struct sim *s, uint32_t sides)
{
	s->state += 0x9e3779b97f4a7c15u;
	uint64_t z = s->state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)(((z ^ z >> 31) >> 32) * sides >> 32);
}

static uint32_t fresh_name(struct sim *s)
{
	MEM_RESERVE(s->cells, s->names + 1, s->cell_capacity);
	memset(&s->cells[s->names], 0, sizeof(*s->cells));
	s->cells[s->names].name = s->names;
	return s->names++;
}

static void make_shares(struct sim *s)
{
	double sum = 0;

	s->share = mem_zero(s->shape->keys, sizeof(*s->share));
	for (uint32_t k = 0; k < s->shape->keys; k++)
		s->share[k] = sum += pow(k + 1, -0.99);
	for (uint32_t k = 0; k < s->shape->keys; k++)
		s->share[k] /= sum;
}

static uint32_t roll_key(struct sim *s)
{
	double x;

	if (!s->shape->zipf)
		return roll(s, s->shape->keys);
	x = roll(s, 1u << 30) / (double)(1u << 30);
	return FIRST_WHERE(k, 0, s->shape->keys - 1, s->share[k] > x);
}

static void begin(struct sim *s, struct process *p)
{
	const struct history_shape *shape = s->shape;

	p->count = 1 + roll(s, shape->ops_max);
	p->at = 0;
	p->start = s->now;
	p->busy = true;
	p->txn = s->next_txn++;
	s->started++;
	for (uint32_t i = 0; i < p->count; i++) {
		struct op *op = &p->ops[i];
		uint32_t slot = roll_key(s);

		op->read = roll(s, 100) < shape->read_percent;
		op->name = s->active[slot];
		if (op->read)
			continue;
		op->value = ++s->cells[op->name].writes;
		if (shape->same_percent && roll(s, 100) < shape->same_percent)
			op->value = 1 + roll(s, op->value);
		if (shape->writes_per_key && op->value >= shape->writes_per_key)
			s->active[slot] = fresh_name(s);
	}
}

static void install(struct sim *s, const struct op *op)
{
	struct cell *c = &s->cells[op->name];

	MEM_RESERVE(c->values, c->count + 1, c->capacity);
	MEM_RESERVE(c->moments, c->count + 1, c->moments_capacity);
	c->values[c->count] = op->value;
	c->moments[c->count++] = s->now;
}

/* How many values of the cell were there at the moment. */
static size_t length_at(const struct cell *c, uint64_t moment)
{
	size_t n = c->count;

	while (n > 0 && c->moments[n - 1] > moment)
		n--;
	return n;
}

static void read_cell(
	struct sim *s, struct process *p, struct op *op, uint64_t moment, uint32_t before)
{
	struct cell *c = &s->cells[op->name];

	op->seen = length_at(c, moment);
	op->last = op->seen ? c->values[op->seen - 1] : 0;
	for (uint32_t i = 0; i < before; i++) {
		if (!p->ops[i].read && p->ops[i].name == op->name)
			op->last = p->ops[i].value;
	}
}

static void invoke_line(struct sim *s, const struct process *p, uint32_t number)
{
	if (!s->shape->lists)
		return;
	fprintf(s->out, "{:index %u, :time %llu, :type :invoke, :process %u, :f :txn, :value [",
		s->index++, (unsigned long long)s->now * 1000, number);
	for (uint32_t i = 0; i < p->count; i++) {
		if (p->ops[i].read)
			fprintf(s->out, "%s[:r %u nil]", i ? " " : "", p->ops[i].name);
		else
			fprintf(s->out, "%s[:append %u %u]", i ? " " : "", p->ops[i].name,
				p->ops[i].value);
	}
	fputs("]}\n", s->out);
}

static void put_number(char **at, uint32_t x)
{
	char digits[12];
	int n = 0;

	do {
		digits[n++] = (char)('0' + x % 10);
		x /= 10;
	} while (x);
	while (n)
		*(*at)++ = digits[--n];
}

static void list_text(struct sim *s, const struct process *p, uint32_t i)
{
	const struct op *op = &p->ops[i];
	const struct cell *c = &s->cells[op->name];
	static char *text;
	static size_t capacity;
	char *at;

	MEM_RESERVE(text, (op->seen + OPS_MAX + 1) * 12, capacity);
	at = text;
	for (size_t e = 0; e < op->seen; e++) {
		if (e)
			*at++ = ' ';
		put_number(&at, c->values[e]);
	}
	if (s->shape->store != STORE_NONE) { /* own appends, which are installed at the end */
		for (uint32_t k = 0; k < i; k++) {
			if (p->ops[k].read || p->ops[k].name != op->name)
				continue;
			if (at != text)
				*at++ = ' ';
			put_number(&at, p->ops[k].value);
		}
	}
	fprintf(s->out, "%s[:r %u [", i ? " " : "", op->name);
	fwrite(text, 1, (size_t)(at - text), s->out);
	fputs("]]", s->out);
}

static void completion_lines(struct sim *s, struct process *p, uint32_t number, bool ok)
{
	if (s->shape->lists) {
		fprintf(s->out, "{:index %u, :time %llu, :type :%s, :process %u, :f :txn, :value [",
			s->index++, (unsigned long long)s->now * 1000, ok ? "ok" : "fail", number);
		for (uint32_t i = 0; i < p->count; i++) {
			if (!p->ops[i].read)
				fprintf(s->out, "%s[:append %u %u]", i ? " " : "", p->ops[i].name,
					p->ops[i].value);
			else if (ok)
				list_text(s, p, i);
			else
				fprintf(s->out, "%s[:r %u nil]", i ? " " : "", p->ops[i].name);
		}
		fputs("]}\n", s->out);
		return;
	}
	for (uint32_t i = 0; i < p->count; i++) {
		const struct op *op = &p->ops[i];

		if (!ok && op->read)
			continue;
		fprintf(p->lines ? p->lines : s->out, "%c(%u,%u,%u,%lld)\n", op->read ? 'r' : 'w',
			op->name, op->read ? op->last : op->value, number,
			ok ? (long long)p->txn : -1LL);
	}
}

/* First committer wins: no transaction installed a value of a key that this one writes since its start. */
static bool may_commit(struct sim *s, const struct process *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct cell *c = &s->cells[p->ops[i].name];

		if (!p->ops[i].read && c->count && c->moments[c->count - 1] > p->start)
			return false;
	}
	return true;
}

static void end(struct sim *s, struct process *p, uint32_t number)
{
	bool ok = roll(s, 100) >= s->shape->fail_percent;
	uint64_t moment = s->shape->store == STORE_SERIAL ? s->now - 1 : p->start;

	if (s->shape->store == STORE_SNAPSHOT)
		ok = ok && may_commit(s, p);
	if (s->shape->store == STORE_NONE) {
		completion_lines(s, p, number, true);
		p->busy = false;
		return;
	}
	for (uint32_t i = 0; ok && i < p->count; i++) {
		if (p->ops[i].read)
			read_cell(s, p, &p->ops[i], moment, i);
	}
	completion_lines(s, p, number, ok);
	for (uint32_t i = 0; ok && i < p->count; i++) {
		if (!p->ops[i].read)
			install(s, &p->ops[i]);
	}
	p->busy = false;
}

static void step(struct sim *s, uint32_t number)
{
	struct process *p = &s->processes[number];

	s->now++;
	if (!p->busy) {
		if (s->started < s->shape->txns) {
			begin(s, p);
			invoke_line(s, p, number);
		}
	} else if (s->shape->store == STORE_NONE && p->at < p->count) {
		struct op *op = &p->ops[p->at];

		if (op->read)
			read_cell(s, p, op, s->now, 0);
		else
			install(s, op);
		p->at++;
	} else {
		end(s, p, number);
	}
}

void history_write(const struct history_shape *shape, FILE *out)
{
	struct sim s = {.shape = shape, .out = out, .state = shape->seed + 1, .next_txn = 1};
	bool busy = true;

	s.active = mem_zero(shape->keys, sizeof(*s.active));
	s.processes = mem_zero(shape->processes, sizeof(*s.processes));
	for (uint32_t k = 0; k < shape->keys; k++)
		s.active[k] = fresh_name(&s);
	for (uint32_t i = 0; shape->by_session && i < shape->processes; i++)
		s.processes[i].lines =
			open_memstream(&s.processes[i].text, &s.processes[i].text_len);
	if (shape->zipf)
		make_shares(&s);
	while (s.started < shape->txns || busy) {
		step(&s, roll(&s, shape->processes));
		busy = s.started < shape->txns;
		for (uint32_t i = 0; !busy && i < shape->processes; i++)
			busy = s.processes[i].busy;
	}
	for (uint32_t i = 0; shape->by_session && i < shape->processes; i++) {
		fclose(s.processes[i].lines);
		fwrite(s.processes[i].text, 1, s.processes[i].text_len, out);
		free(s.processes[i].text);
	}
	for (uint32_t k = 0; k < s.names; k++) {
		free(s.cells[k].values);
		free(s.cells[k].moments);
	}
	free(s.cells);
	free(s.active);
	free(s.share);
	free(s.processes);
}
