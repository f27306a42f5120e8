/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/explore/explore.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strtab.h"
#include "base/text.h"
#include "cluster/explore/mutate.h"
#include "cluster/explore/try_run.h"

enum {
	POOL_MAX = 4096,
	FINDINGS_MAX = 512,
	CHANGES_MAX = 3,      /* of a sequence for one try */
	FAILED_IN_ROW = 3,    /* tries that could not be driven: it is no use to go on */
	SEEN_MAX = 64 << 20,
	PATH_ROOM = 4096,
};

struct kind_of_finding {
	char *key;
	const char *severity; /* a constant */
	uint64_t times;       /* tries that had it */
	uint64_t repeated, of; /* runs of the same sequence that had it again */
};

/* What came of one run. */
struct outcome {
	struct try_outcome run;
	uint64_t fresh; /* signals that were new */
	struct buf fresh_words;
};

struct explorer {
	const struct explore_options *options;
	struct explore_report *report;
	struct contract contract;
	struct strtab seen;
	struct mutator mutator;
	struct sequence *pool;
	size_t pool_count;
	unsigned next_file;
	struct kind_of_finding findings[FINDINGS_MAX];
	unsigned finding_count;
	uint64_t until;
	struct random_source random;
};

static bool stopped(const struct explorer *x)
{
	return x->options->stop && *x->options->stop;
}

static void tell(const struct explorer *x, const char *what)
{
	if (x->options->tell)
		x->options->tell(x->options->ctx, what);
}

static void path_of(const struct explorer *x, char *out, const char *format, ...) PRINTF_LIKE(3, 4);
static void path_of(const struct explorer *x, char *out, const char *format, ...)
{
	int len = snprintf(out, PATH_ROOM, "%s/", x->options->folder);
	va_list ap;

	va_start(ap, format);
	vsnprintf(out + len, PATH_ROOM - (size_t)len, format, ap);
	va_end(ap);
}

/* ---- one run ---- */

struct seeing {
	struct explorer *x;
	struct outcome *o;
};

static void on_seen(void *ctx, struct span word, struct span text)
{
	struct seeing *s = ctx;

	if (span_eq_str(word, "state")) {
		mutator_saw_state(&s->x->mutator, text);
		return;
	}
	if (strtab_find(&s->x->seen, text) != STRTAB_NONE)
		return;
	strtab_add(&s->x->seen, text);
	s->o->fresh++;
	buf_add_span(&s->o->fresh_words, text);
	buf_add_char(&s->o->fresh_words, '\n');
}

static void run_once(struct explorer *x, const struct ops *ops, const char *trace, struct outcome *o)
{
	struct seeing seeing = {x, o};

	*o = (struct outcome){.fresh_words = BUF_INIT};
	try_run(&(struct try_options){.ops = ops,
			.trace = trace,
			.servers = x->options->servers,
			.contract = &x->contract,
			.limit_ns = x->options->try_ns,
			.stop = x->options->stop,
			.seen = on_seen,
			.ctx = &seeing},
		&o->run);
}

static void outcome_release(struct outcome *o)
{
	try_release(&o->run);
	buf_release(&o->fresh_words);
}

/* ---- the pool ---- */

static void write_seen(struct explorer *x)
{
	struct buf out = BUF_INIT;
	char path[PATH_ROOM];
	struct err err;

	for (uint32_t i = 1; i < x->seen.count; i++) {
		buf_add_span(&out, strtab_get(&x->seen, i));
		buf_add_char(&out, '\n');
	}
	path_of(x, path, "seen");
	if (!file_replace(path, buf_span(&out), &err))
		tell(x, err.text);
	buf_release(&out);
}

static void keep(struct explorer *x, const struct sequence *s, struct span text, const struct outcome *o)
{
	struct buf out = BUF_INIT;
	struct span words = buf_span(&o->fresh_words);
	char path[PATH_ROOM];
	struct err err;

	if (x->pool_count == POOL_MAX)
		return;
	buf_add_span(&out, text);
	while (words.len) {
		struct span word = try_field(&words, '\n');

		buf_printf(&out, "# new: %.*s\n", SPAN_ARG(word));
	}
	path_of(x, path, "pool/%u.ops", x->next_file++);
	if (!file_write(path, buf_span(&out), &err))
		tell(x, err.text);
	x->pool[x->pool_count++] = *s;
	x->report->kept++;
	write_seen(x);
	buf_release(&out);
}

/* What an earlier exploration left in the folder. */
static bool read_folder(struct explorer *x, struct err *err)
{
	struct file_list list = {0};
	struct buf text = BUF_INIT;
	char path[PATH_ROOM];
	bool ok;

	path_of(x, path, "seen");
	if (access(path, R_OK) == 0) {
		struct span rest;

		if (!file_read(path, SEEN_MAX, &text, err))
			return false;
		for (rest = buf_span(&text); rest.len;)
			strtab_add(&x->seen, try_field(&rest, '\n'));
		buf_release(&text);
	}
	path_of(x, path, "pool");
	ok = files_below(path, ".ops", &list, err);
	for (size_t i = 0; ok && i < list.count && x->pool_count < POOL_MAX; i++) {
		unsigned number = (unsigned)strtoul(strrchr(list.paths[i], '/') + 1, NULL, 10);
		struct ops ops;
		struct err bad;

		if (number >= x->next_file)
			x->next_file = number + 1;
		if (!ops_open(&ops, list.paths[i], x->options->base->kind_name, &bad)) {
			tell(x, bad.text);
			continue;
		}
		sequence_of_ops(&x->pool[x->pool_count++], &ops);
		ops_release(&ops);
	}
	file_list_release(&list);
	return ok;
}

/* Fresh ones now and then; else one of the pool, the younger ones more often. */
static struct sequence next_sequence(struct explorer *x)
{
	struct sequence s = {.count = 0};
	uint64_t a, b;

	if (x->report->tries == 0 && x->pool_count)
		return x->pool[0]; /* what the user wrote, as it is */
	if (x->pool_count && random_below(&x->random, 5)) {
		a = random_below(&x->random, x->pool_count);
		b = random_below(&x->random, x->pool_count);
		s = x->pool[a > b ? a : b];
	}
	for (uint64_t changes = 1 + random_below(&x->random, CHANGES_MAX); changes || !s.count; changes -= changes > 0)
		mutate(&x->mutator, &s);
	return s;
}

/* ---- findings ---- */

static struct kind_of_finding *find_kind(struct explorer *x, struct span key, const char *severity, bool *fresh)
{
	*fresh = false;
	for (unsigned i = 0; i < x->finding_count; i++)
		if (span_eq_str(key, x->findings[i].key) && x->findings[i].severity == severity)
			return &x->findings[i];
	if (x->finding_count == FINDINGS_MAX)
		return NULL;
	*fresh = true;
	x->findings[x->finding_count] = (struct kind_of_finding){.key = mem_alloc(key.len + 1), .severity = severity};
	snprintf(x->findings[x->finding_count].key, key.len + 1, "%.*s", SPAN_ARG(key));
	return &x->findings[x->finding_count++];
}

static const char *severity_word(struct span word)
{
	static const char *const words[] = {"violation", "suspicion", "documented"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_eq_str(word, words[i]))
			return words[i];
	return "other";
}

static bool has_finding(const struct outcome *o, const struct kind_of_finding *kind)
{
	struct span rest = buf_span(&o->run.findings);

	while (rest.len) {
		struct span line = try_field(&rest, '\n'), severity = try_field(&line, '\t'), class = try_field(&line, '\t');

		(void)class;
		if (span_eq_str(severity, kind->severity) && span_eq_str(try_field(&line, '\t'), kind->key))
			return true;
	}
	return false;
}

/* The same text again, with other seeds: how often is it found? */
static void repeat(struct explorer *x, const struct sequence *s, struct kind_of_finding *kind)
{
	char trace[PATH_ROOM];

	path_of(x, trace, "again.itr");
	for (uint64_t i = 0; i < x->options->repeats && !stopped(x) && clock_mono_ns() < x->until; i++) {
		struct buf text = BUF_INIT;
		struct outcome o;
		struct ops ops;
		struct err err;

		sequence_print(x->options->base, s, random_below(&x->random, 1000000), &text);
		if (ops_parse(&ops, buf_span(&text), "sequence", NULL, &err)) {
			run_once(x, &ops, trace, &o);
			kind->of += o.run.done;
			kind->repeated += o.run.done && has_finding(&o, kind);
			outcome_release(&o);
			ops_release(&ops);
		}
		buf_release(&text);
	}
	unlink(trace);
}

/* Beside the trace, which is moved there: the text, and what is said. */
static void write_finding(struct explorer *x, const struct kind_of_finding *kind, struct span class, struct span said, struct span text,
	const char *trace)
{
	unsigned number = (unsigned)(kind - x->findings) + 1;
	struct buf out = BUF_INIT;
	char path[PATH_ROOM];
	struct err err;

	path_of(x, path, "findings/%.*s-%u.itr", SPAN_ARG(class), number);
	if (trace && rename(trace, path) != 0)
		tell(x, "the trace of a finding cannot be moved to the folder of findings");
	path_of(x, path, "findings/%.*s-%u.ops", SPAN_ARG(class), number);
	if (!file_write(path, text, &err))
		tell(x, err.text);
	buf_printf(&out, "%s: %s\n\n%.*s\n", kind->severity, kind->key, SPAN_ARG(said));
	if (kind->of)
		buf_printf(&out, "\nThe same text was run %llu times more, with other seeds: found in %llu.\n", (unsigned long long)kind->of,
			(unsigned long long)kind->repeated);
	path_of(x, path, "findings/%.*s-%u.txt", SPAN_ARG(class), number);
	if (!file_write(path, buf_span(&out), &err))
		tell(x, err.text);
	buf_release(&out);
}

static void take_findings(struct explorer *x, const struct outcome *o, const struct sequence *s, struct span text, const char *trace)
{
	struct span rest = buf_span(&o->run.findings);
	const char *left = trace; /* the trace goes to the first that is new */

	while (rest.len) {
		struct span line = try_field(&rest, '\n'), severity = try_field(&line, '\t'), class = try_field(&line, '\t'), key = try_field(&line, '\t');
		struct kind_of_finding *kind;
		struct buf told = BUF_INIT;
		bool fresh;

		kind = find_kind(x, key, severity_word(severity), &fresh);
		if (!kind)
			return;
		kind->times++;
		if (!fresh)
			continue;
		buf_printf(&told, "%s: %s", kind->severity, kind->key);
		tell(x, told.data);
		buf_release(&told);
		if (strcmp(kind->severity, "documented") == 0) {
			x->report->documented++;
			continue;
		}
		*(strcmp(kind->severity, "violation") == 0 ? &x->report->violations : &x->report->suspicions) += 1;
		write_finding(x, kind, class, line, text, left);
		left = NULL;
		repeat(x, s, kind);
		write_finding(x, kind, class, line, text, NULL);
	}
}

/* ---- the loop ---- */

static uint64_t folder_size(const char *path)
{
	struct file_list list = {0};
	uint64_t size = 0;
	struct stat st;
	struct err err;

	if (files_below(path, "", &list, &err))
		for (size_t i = 0; i < list.count; i++)
			size += stat(list.paths[i], &st) == 0 ? (uint64_t)st.st_size : 0;
	file_list_release(&list);
	return size;
}

static void tell_try(struct explorer *x, const struct sequence *s, const struct outcome *o)
{
	uint64_t now = clock_mono_ns();
	struct buf out = BUF_INIT;

	buf_printf(&out, "try %llu: ", (unsigned long long)x->report->tries);
	if (o->run.stalled)
		buf_add_str(&out, "stalled, ");
	if (o->run.done)
		buf_printf(&out, "%llu new", (unsigned long long)o->fresh);
	else
		buf_printf(&out, "failed: %s", o->run.why.len ? o->run.why.data : "");
	buf_printf(&out, ", pool %zu, findings %u", x->pool_count, x->finding_count);
	if (x->until != UINT64_MAX) {
		buf_add_str(&out, ", left ");
		text_add_duration(&out, x->until > now ? x->until - now : 0);
	}
	for (unsigned i = 0; i < s->count; i++)
		buf_printf(&out, "%s%s", i ? "; " : ": ", s->lines[i]);
	tell(x, out.data);
	buf_release(&out);
}

/* False: there is no use in going on. */
static bool try_one(struct explorer *x, unsigned *failed_in_row, struct err *err)
{
	struct sequence s = next_sequence(x);
	struct buf text = BUF_INIT;
	char trace[PATH_ROOM], path[PATH_ROOM];
	struct outcome o;
	struct ops ops;
	bool ok = true;

	path_of(x, trace, "try.itr");
	path_of(x, path, "try.ops");
	sequence_print(x->options->base, &s, x->options->seed + x->report->tries, &text);
	if (!ops_parse(&ops, buf_span(&text), "sequence", NULL, err) || !file_write(path, buf_span(&text), err)) {
		buf_release(&text);
		return false;
	}
	run_once(x, &ops, trace, &o);
	x->report->tries++;
	x->report->stalled += o.run.stalled;
	x->report->failed += !o.run.done && !o.run.stalled;
	*failed_in_row = o.run.done ? 0 : *failed_in_row + 1;
	if (!stopped(x)) {
		tell_try(x, &s, &o);
		if (o.run.done && o.fresh)
			keep(x, &s, buf_span(&text), &o);
		if (o.run.done)
			take_findings(x, &o, &s, buf_span(&text), trace);
	}
	if (o.run.skipped || *failed_in_row == FAILED_IN_ROW) {
		x->report->skipped = o.run.skipped;
		ok = err_set(err, ERR_SERVER, "%s%s", o.run.skipped ? "" : "no cluster could be driven: ", o.run.why.len ? o.run.why.data : "it stalled");
	}
	unlink(trace);
	outcome_release(&o);
	ops_release(&ops);
	buf_release(&text);
	return ok;
}

/* Why it ends; NULL: it goes on. */
static const char *reason_to_end(const struct explorer *x)
{
	if (stopped(x))
		return "interrupted";
	if (x->options->tries && x->report->tries >= x->options->tries)
		return "all tries are done";
	if (clock_mono_ns() >= x->until)
		return "the time is over";
	if (x->options->disk && folder_size(x->options->folder) > x->options->disk)
		return "the folder is as large as --disk allows";
	return NULL;
}

static bool make_folder(const char *path, struct err *err)
{
	return mkdir(path, 0777) == 0 || errno == EEXIST || err_set_errno(err, errno, "cannot make the folder %s", path);
}

static bool prepare(struct explorer *x, struct err *err)
{
	const struct explore_options *o = x->options;
	char path[PATH_ROOM];

	if (!try_contract(&x->contract, o->base, o->contract, err) || !make_folder(o->folder, err))
		return false;
	path_of(x, path, "pool");
	if (!make_folder(path, err))
		return false;
	path_of(x, path, "findings");
	if (!make_folder(path, err))
		return false;
	x->pool = mem_zero(POOL_MAX, sizeof(*x->pool));
	x->next_file = 1;
	if (o->base->step_count)
		sequence_of_ops(&x->pool[x->pool_count++], o->base);
	x->mutator = (struct mutator){.base = o->base, .links = strstr(o->base->kind.start, "${network}") && o->base->network != OPS_NETWORK_NO};
	random_seed(&x->mutator.random, o->seed, 1);
	random_seed(&x->random, o->seed, 2);
	x->until = o->time_ns ? clock_mono_ns() + o->time_ns : UINT64_MAX;
	return read_folder(x, err);
}

static void write_summary(struct explorer *x)
{
	struct buf out = BUF_INIT;
	char path[PATH_ROOM];
	struct err err;

	for (unsigned i = 0; i < x->finding_count; i++) {
		const struct kind_of_finding *f = &x->findings[i];

		buf_printf(&out, "%s\t%s\t%llu of %llu tries", f->severity, f->key, (unsigned long long)f->times,
			(unsigned long long)x->report->tries);
		if (f->of)
			buf_printf(&out, "\t%llu of %llu repeats", (unsigned long long)f->repeated, (unsigned long long)f->of);
		buf_add_char(&out, '\n');
	}
	path_of(x, path, "findings/summary");
	if (!file_write(path, buf_span(&out), &err))
		tell(x, err.text);
	buf_release(&out);
}

bool explore(const struct explore_options *options, struct explore_report *report, struct err *err)
{
	struct explorer *x = mem_zero(1, sizeof(*x));
	unsigned failed = 0;
	char path[PATH_ROOM];
	bool ok;

	*report = (struct explore_report){.tries = 0};
	x->options = options;
	x->report = report;
	x->seen = STRTAB_INIT;
	ok = prepare(x, err);
	while (ok && !(report->ended = reason_to_end(x)))
		ok = try_one(x, &failed, err);
	path_of(x, path, "try.ops");
	unlink(path);
	if (x->pool)
		write_summary(x);
	report->signals = x->seen.count ? x->seen.count - 1 : 0;
	for (unsigned i = 0; i < x->finding_count; i++)
		mem_free(x->findings[i].key);
	strtab_release(&x->seen);
	mem_free(x->pool);
	mem_free(x);
	return ok;
}
