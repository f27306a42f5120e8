/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/explore/reduce_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/explore/try_run.h"
#include "reduce/ddmin.h"

enum { LEVEL_OPERATION, LEVEL_SETUP, LEVEL_OPTION };

struct reducer {
	const struct reduce_ops_options *options;
	struct reduce_ops_report *report;
	struct contract contract;
	uint64_t until, tries; /* tries: of the text that was run last */
};

static bool is_over(const struct reducer *r)
{
	return (r->options->stop && *r->options->stop) || clock_mono_ns() >= r->until;
}

static void tell(const struct reducer *r, const char *what)
{
	if (r->options->tell)
		r->options->tell(r->options->ctx, what);
}

/* The text of the units that are kept.  What waits for an operation before it, and is the first now, begins at once. */
static void print_kept(const struct ops *ops, const bool *kept, struct buf *out)
{
	struct ops part = *ops;
	unsigned at = 0;

	part.step_count = part.setup_count = part.option_count = 0;
	for (unsigned i = 0; i < ops->step_count; i++)
		if (kept[at++])
			part.steps[part.step_count++] = ops->steps[i];
	for (unsigned i = 0; i < ops->setup_count; i++)
		if (kept[at++])
			part.setup[part.setup_count++] = ops->setup[i];
	for (unsigned i = 0; i < ops->option_count; i++)
		if (kept[at++])
			part.options[part.option_count++] = ops->options[i];
	if (part.step_count && part.steps[0].trigger == OPS_THEN) {
		part.steps[0].trigger = OPS_AT_TIME;
		part.steps[0].after_ns = 1000000000u;
	}
	ops_print(&part, out);
}

static int rank_of(struct span severity)
{
	static const char *const words[] = {"violation", "suspicion", "documented"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_eq_str(severity, words[i]))
			return (int)i;
	return (int)ARRAY_LEN(words);
}

/* The worst class of the findings. */
static void choose_class(struct reducer *r, struct span findings)
{
	int best = 99;

	while (findings.len) {
		struct span line = try_field(&findings, '\n'), severity = try_field(&line, '\t'), class = try_field(&line, '\t');

		if (rank_of(severity) >= best)
			continue;
		best = rank_of(severity);
		snprintf(r->report->class, sizeof(r->report->class), "%.*s", SPAN_ARG(class));
	}
}

static bool has_class(const struct reducer *r, struct span findings)
{
	while (findings.len) {
		struct span line = try_field(&findings, '\n'), class;

		(void)try_field(&line, '\t');
		class = try_field(&line, '\t');
		if (r->report->class[0] && span_eq_str(class, r->report->class))
			return true;
	}
	return false;
}

/* Runs the text until the finding comes, or so often that it probably does not. */
static bool holds(struct reducer *r, struct span text)
{
	bool found = false;
	struct ops ops;
	struct err err;

	if (!ops_parse(&ops, text, "text", NULL, &err))
		return false;
	r->tries = 0;
	for (uint64_t i = 0; i < r->options->repeats && !found && !is_over(r); i++) {
		struct try_outcome o;

		ops.seed = r->options->ops->seed + i;
		try_run(&(struct try_options){.ops = &ops,
				.trace = r->options->trace,
				.servers = r->options->servers,
				.contract = &r->contract,
				.limit_ns = r->options->try_ns,
				.stop = r->options->stop},
			&o);
		r->report->runs++;
		r->tries++;
		if (o.done && !r->report->class[0])
			choose_class(r, buf_span(&o.findings));
		found = o.done && has_class(r, buf_span(&o.findings));
		try_release(&o);
	}
	unlink(r->options->trace);
	ops_release(&ops);
	return found;
}

static unsigned unit_count(const struct ops *ops)
{
	return ops->step_count + ops->setup_count + ops->option_count;
}

static size_t test(void *ctx, bool *const *candidates, size_t count)
{
	struct reducer *r = ctx;
	struct buf text = BUF_INIT, told = BUF_INIT;
	unsigned units = 0;
	bool found;

	(void)count;
	if (is_over(r))
		return DDMIN_STOP;
	for (unsigned i = 0; i < unit_count(r->options->ops); i++)
		units += candidates[0][i];
	print_kept(r->options->ops, candidates[0], &text);
	found = holds(r, buf_span(&text));
	buf_printf(&told, "%u of %u operations, statements and options: %s", units, unit_count(r->options->ops),
		found ? "still found" : "not found");
	tell(r, told.data);
	buf_release(&told);
	buf_release(&text);
	return found ? 0 : is_over(r) ? DDMIN_STOP : DDMIN_NONE;
}

static void make_units(const struct ops *ops, struct ddmin_unit *units)
{
	unsigned at = 0;

	for (unsigned i = 0; i < ops->step_count; i++)
		units[at++] = (struct ddmin_unit){.level = LEVEL_OPERATION};
	for (unsigned i = 0; i < ops->setup_count; i++)
		units[at++] = (struct ddmin_unit){.level = LEVEL_SETUP};
	for (unsigned i = 0; i < ops->option_count; i++)
		units[at++] = (struct ddmin_unit){.level = LEVEL_OPTION};
}

bool reduce_ops(const struct reduce_ops_options *options, struct buf *out, struct reduce_ops_report *report, struct err *err)
{
	struct reducer r = {.options = options, .report = report};
	unsigned count = unit_count(options->ops);
	struct ddmin_unit *units = mem_zero(count + 1, sizeof(*units));
	bool *kept = mem_zero(count + 1, sizeof(*kept)), ok;
	struct buf text = BUF_INIT;

	*report = (struct reduce_ops_report){.before = count};
	snprintf(report->class, sizeof(report->class), "%s", options->class ? options->class : "");
	r.until = options->time_ns ? clock_mono_ns() + options->time_ns : UINT64_MAX;
	memset(kept, true, count);
	make_units(options->ops, units);
	print_kept(options->ops, kept, &text);
	ok = try_contract(&r.contract, options->ops, options->contract, err);
	if (ok && !holds(&r, buf_span(&text)))
		ok = err_set(err, ERR_UNSUPPORTED, "the text was run %llu times, and nothing was found%s%s: there is nothing to reduce to",
			(unsigned long long)r.tries, options->class ? " of the class " : "", options->class ? options->class : "");
	if (ok) {
		report->stopped = !ddmin_run(&(struct ddmin){.units = units, .count = count, .test = test, .ctx = &r}, kept);
		for (unsigned i = 0; i < count; i++)
			report->after += kept[i];
		print_kept(options->ops, kept, out);
	}
	buf_release(&text);
	mem_free(units);
	mem_free(kept);
	return ok;
}
