/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/reduce_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/siphash.h"
#include "commands/sibling_program.h"
#include "model/execution/execution.h"
#include "reduce/script.h"
#include "reducer/doubts.h"

enum {
	/* A recording without a scenario that is larger is cut first, without a server. */
	CUT_BYTES = 16 * 1024 * 1024,
	CUT_STATEMENTS = 1000, /* ... or of whose statements more than these may matter */
	WHOLE_STATEMENTS = 100, /* of so many all are kept */
	ORDERS = 6,            /* tried beside those by begin and by answer */
	ROUNDS_FIRST = 50,
	ROUNDS_STATEMENTS_MAX = 40000,
};

struct reading {
	const struct reduce_input_options *o;
	struct reduce_input *out;
	const char *path;
	struct execution e;
	bool *keep;        /* by statement */
	uint32_t *origins; /* by statement of the schedule */
	struct err *err;
};

static void say(const struct reading *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say(const struct reading *r, const char *fmt, ...)
{
	struct buf line = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&line, fmt, ap);
	va_end(ap);
	r->o->say(r->o->ctx, line.data);
	buf_release(&line);
}

/* ---- a large recording ---- */

static bool run_isotrace(const struct reading *r, const char *path, const char *output)
{
	char program[4096];
	const char *args[12] = {program, "reduce", "--whole-transactions", "--output", output};
	int count = 5, status = -1;
	pid_t child;

	sibling_program("isotrace", "ISOTRACE", "../analyzer/", program, sizeof(program));
	if (r->o->finding) {
		args[count++] = "--finding";
		args[count++] = r->o->finding;
	}
	if (r->o->contract) {
		args[count++] = "--contract";
		args[count++] = r->o->contract;
	}
	args[count++] = path;
	child = fork();
	if (child == 0) {
		char *argv[12] = {NULL};

		/* execvp does not change them, and its type cannot say so. */
		memcpy(argv, args, sizeof(args));
		mem_lift_limit();
		execvp(program, argv);
		dprintf(2, "%s: %s; set ISOTRACE to its path\n", program, strerror(errno));
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	/* 3: the time was over, the best so far is there. */
	return child > 0 && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3) &&
	       access(output, R_OK) == 0;
}

/* The transactions that the finding needs, as `isotrace reduce` finds them; false: the whole is all there is. */
static bool cut_offline(const struct reading *r, struct buf *out)
{
	buf_printf(out, "%s/cut.itr", r->o->folder);
	say(r, "%s is cut to what the finding needs first, without a server: %s", r->path, out->data);
	if (unlink(out->data) != 0 && errno != ENOENT)
		return false;
	return run_isotrace(r, r->path, out->data);
}

/* ---- attempts ---- */

static struct reduce_attempt *add_attempt(struct reading *r, unsigned executions, const char *what)
{
	struct reduce_attempt *attempt = &r->out->attempts[r->out->count++];

	*attempt = (struct reduce_attempt){.executions = executions};
	snprintf(attempt->what, sizeof(attempt->what), "%s", what);
	return attempt;
}

/* Options that change what statements do, as the recorded server had them. */
static bool add_settings(const struct reading *r, struct scenario *out)
{
	static const char *const names[] = {"sql_mode", "autocommit", "completion_type", "default_storage_engine",
		"innodb_autoinc_lock_mode", "innodb_deadlock_detect", "innodb_rollback_on_timeout", "innodb_snapshot_isolation"};
	bool ok = true;

	for (size_t i = 0; i < ARRAY_LEN(names) && ok && r->o->own_server; i++) {
		struct span value = execution_variable(&r->e, names[i]);
		struct buf line = BUF_INIT;

		if (!value.ptr)
			continue;
		buf_printf(&line, "%s=%.*s", names[i], SPAN_ARG(value));
		ok = scenario_add_meta(out, SPAN_LIT("server"), buf_span(&line), r->err);
		buf_release(&line);
		r->out->has_settings = true;
	}
	return ok;
}

/* What is kept, in the order in which it began. */
static bool make_scenario(struct reading *r, struct scenario *out)
{
	struct execution_scenario_options how = {.skip = true, .keep = r->keep, .origins = r->origins};
	uint64_t skipped;

	if (!execution_to_scenario(&r->e, &how, out, &skipped, r->err))
		return false;
	if (skipped && !r->out->count)
		say(r, "%s: %" PRIu64 " statement%s cannot be sent again", r->path, skipped, skipped == 1 ? "" : "s");
	if ((r->o->contract && !scenario_meta(out, "contract").ptr &&
		    !scenario_add_meta(out, SPAN_LIT("contract"), span_str(r->o->contract), r->err)) ||
		!add_settings(r, out)) {
		scenario_release(out);
		return false;
	}
	return true;
}

struct placed {
	double at;
	size_t number;
};

static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Between a statement's begin and its answer lies the moment at which it did what it does.  0: at its begin; 1: at its
 * answer; else anywhere.  Statements of one session do not overlap, and keep their order. */
static double moment_of(const struct reading *r, size_t number, unsigned order)
{
	const struct record_stmt *s = &r->e.stmts[r->origins[number]].record;
	uint64_t seed[2] = {order, number};
	double share = order <= 1 ? order : (double)(siphash_digest(seed, sizeof(seed)) >> 11) / (double)(UINT64_C(1) << 53);

	return (double)(s->begin - r->e.stmts[r->origins[0]].record.begin) +
	       share * (double)(s->at > s->begin ? s->at - s->begin : 0);
}

/* False: the order is the one that the scenario has. */
static bool put_in_order(const struct reading *r, struct scenario *s, unsigned order)
{
	size_t count = s->schedule.count;
	struct placed *places = mem_alloc((count + 1) * sizeof(*places));
	struct scenario_stmt *was = mem_alloc((count + 1) * sizeof(*was));
	bool changed = false;

	memcpy(was, s->schedule.stmts, count * sizeof(*was));
	for (size_t i = 0; i < count; i++)
		places[i] = (struct placed){moment_of(r, i, order), i};
	qsort(places, count, sizeof(*places), by_place);
	for (size_t i = 0; i < count; i++) {
		s->schedule.stmts[i] = was[places[i].number];
		changed |= places[i].number != i;
	}
	mem_free(places);
	mem_free(was);
	return changed;
}

static bool is_there(const struct reduce_input *input, const struct scenario *s)
{
	struct buf text = BUF_INIT, other = BUF_INIT;
	bool there = false;

	scenario_print(s, &text);
	for (size_t i = 0; i < input->count && !there; i++) {
		buf_clear(&other);
		scenario_print(&input->attempts[i].scenario, &other);
		there = span_eq(buf_span(&text), buf_span(&other));
	}
	buf_release(&text);
	buf_release(&other);
	return there;
}

static bool add_orders(struct reading *r)
{
	for (unsigned order = 0; order < 2 + ORDERS; order++) {
		struct scenario s;

		if (!make_scenario(r, &s))
			return false;
		if (order && (!put_in_order(r, &s, order) || is_there(r->out, &s))) {
			scenario_release(&s);
			continue;
		}
		add_attempt(r, order ? 1 : 2,
			order == 0   ? "in the order in which the statements began"
			: order == 1 ? "in the order in which they were answered"
				     : "in another order that their times allow")
			->scenario = s;
	}
	return true;
}

/* Sessions that do not wait for each other. */
static bool add_rounds(struct reading *r)
{
	static const unsigned times[] = {1, 4, 16};

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		char rounds[16], what[80];
		struct scenario s;

		if (!make_scenario(r, &s))
			return false;
		if (i && ROUNDS_FIRST * times[i] * s.schedule.count > ROUNDS_STATEMENTS_MAX) {
			scenario_release(&s);
			return true;
		}
		snprintf(rounds, sizeof(rounds), "%u", ROUNDS_FIRST * times[i]);
		snprintf(what, sizeof(what), "%s rounds, in which the sessions do not wait for each other", rounds);
		if (!scenario_add_meta(&s, SPAN_LIT("rounds"), span_str(rounds), r->err)) {
			scenario_release(&s);
			return false;
		}
		add_attempt(r, 3, what)->scenario = s;
	}
	return true;
}

/* ---- recordings ---- */

static bool has_several_nodes(const struct execution *e)
{
	for (size_t i = 1; i < e->session_count; i++)
		if (e->sessions[i].node.len && e->sessions[0].node.len && !span_eq(e->sessions[i].node, e->sessions[0].node))
			return true;
	return false;
}

/* What the recording shows of what is wanted. */
static bool see_failure(struct reading *r)
{
	r->out->seen =
		failure_of_trace(&r->e, r->path, r->o->contract, r->o->finding, &r->out->failure, r->err);
	if (r->out->seen)
		return true;
	if (has_several_nodes(&r->e))
		return err_set(r->err, ERR_UNSUPPORTED,
			"%s is of several nodes of a cluster, and what these do together depends on what was done to them, too: "
			"isorec cluster reduce %s, where isorec cluster run recorded it",
			r->path, r->path);
	return err_prefix(r->err, "%s", r->path);
}

/* Which statements the failure is about. */
static void choose_statements(struct reading *r)
{
	uint8_t *doubts = mem_zero(r->e.stmt_count + 1, 1);

	/* Of a few statements what else there was does no harm. */
	if (r->e.stmt_count > WHOLE_STATEMENTS &&
		!doubts_of_trace(&r->out->failure, &r->e, r->path, r->o->contract, doubts))
		memset(doubts, 0, r->e.stmt_count);
	for (size_t i = 0; i < r->e.stmt_count; i++)
		r->keep[i] = doubts[i] < DOUBT_OTHERS;
	mem_free(doubts);
}

static bool read_free_run(struct reading *r)
{
	if (!r->out->seen && !see_failure(r))
		return false;
	r->keep = mem_zero(r->e.stmt_count + 1, sizeof(*r->keep));
	r->origins = mem_zero(r->e.stmt_count + 1, sizeof(*r->origins));
	choose_statements(r);
	return add_orders(r) && add_rounds(r);
}

static bool read_scenario_of(struct reading *r)
{
	struct scenario s;

	/* Whether it has to be recorded with versions again. */
	if (r->e.probes && !see_failure(r))
		return false;
	if (!scenario_parse(&s, r->e.scenario, "the scenario in the trace", r->err))
		return false;
	add_attempt(r, 0, "")->scenario = s;
	return true;
}

static void finish(struct reading *r)
{
	execution_release(&r->e);
	mem_free(r->keep);
	mem_free(r->origins);
	r->keep = NULL;
	r->origins = NULL;
}

static bool load(struct reading *r, const char *path)
{
	r->path = path;
	return execution_load(&r->e, path, NULL, r->err);
}

/* Findings only: of the server's errors nothing is known without executing. */
static bool can_be_cut(const struct reading *r)
{
	return !r->o->finding || strncmp(r->o->finding, "error-", 6) != 0;
}

static bool read_trace(struct reading *r, const char *path)
{
	struct buf cut = BUF_INIT;
	struct stat st;
	bool large = stat(path, &st) == 0 && (S_ISDIR(st.st_mode) || st.st_size > CUT_BYTES), ok;

	r->path = path;
	if (large && can_be_cut(r) && cut_offline(r, &cut))
		path = cut.data;
	ok = load(r, path);
	/* Of a part of a trace, the statements that are left make the scenario. */
	if (ok && r->e.scenario.ptr && !r->e.is_part) {
		ok = read_scenario_of(r);
	} else if (ok && see_failure(r)) {
		ok = r->e.stmt_count <= CUT_STATEMENTS || cut.len || !can_be_cut(r) || !cut_offline(r, &cut);
		if (!ok) {
			finish(r);
			ok = load(r, cut.data) && see_failure(r);
		}
		ok = ok && read_free_run(r);
	} else {
		ok = false;
	}
	finish(r);
	buf_release(&cut);
	return ok;
}

/* ---- files of scenarios ---- */

static bool read_scenario(struct reading *r, const char *path)
{
	struct scenario_list list = {0};
	struct buf text = BUF_INIT;
	bool ok = file_read(path, SCENARIO_TEXT_MAX, &text, r->err) &&
		  scenario_import(&list, scenario_guess(buf_span(&text)), buf_span(&text), path, r->err);

	buf_release(&text);
	if (ok && list.count != 1) {
		ok = err_set(r->err, ERR_USAGE, "%s has %zu cases: one at a time can be reduced", path, list.count);
	} else if (ok) {
		add_attempt(r, 0, "")->scenario = list.scenarios[0];
		list.count = 0;
	}
	scenario_list_release(&list);
	return ok;
}

static bool is_trace(const char *path)
{
	size_t len = strlen(path);
	struct stat st;

	return (len > 4 && strcmp(path + len - 4, ".itr") == 0) || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

bool reduce_input_read(
	const char *path, const struct reduce_input_options *options, struct reduce_input *out, struct err *err)
{
	struct reading r = {.o = options, .out = out, .path = path, .err = err};

	*out = (struct reduce_input){.count = 0};
	if (is_trace(path) ? read_trace(&r, path) : read_scenario(&r, path))
		return true;
	reduce_input_release(out);
	return false;
}

bool reduce_input_forget_settings(struct reduce_input *input, struct err *err)
{
	struct sql_options sql = sql_options_default();
	bool ok = true;

	for (size_t i = 0; i < input->count && ok; i++) {
		struct scenario plain;
		struct script script;

		script_open(&script, &input->attempts[i].scenario, &sql);
		script.setting_count = 0;
		ok = script_build(&script, &plain, err);
		script_release(&script);
		if (!ok)
			break;
		scenario_release(&input->attempts[i].scenario);
		input->attempts[i].scenario = plain;
	}
	input->has_settings = false;
	return ok;
}

void reduce_input_release(struct reduce_input *input)
{
	for (size_t i = 0; i < input->count; i++)
		scenario_release(&input->attempts[i].scenario);
	input->count = 0;
}
