/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mvcc oracle over many traces at once, for the campaigns in this folder:
 *
 *	mvcc_tool solve TRACE...        a line for each trace that is not clean, then a total
 *	mvcc_tool statements TRACE...   what is said of every statement, of the final rows, and every finding; a name
 *	                                after -a is judged as if every session that writes was recorded
 *	mvcc_tool hide SEED TRACE...    the same, with a random part of the initial rows taken out
 *	mvcc_tool mutate SEED TRACE...  alters recorded answers; says which alterations go unnoticed
 *	mvcc_tool mutate-free SEED TRACE...  the same of traces in which not everything is decided, and why those are
 *	mvcc_tool rules SEED TRACE...   alters answers by rule (alter.h); tables of what each alteration is called, and of which
 *	                                class at which level notices alterations
 *	mvcc_tool overlap SEED ROUNDS TRACE...  makes statements overlap (overlap.h); says which true answers are called
 *	                                wrong, and which that one of all orders explains
 *	mvcc_tool bench ROUNDS TRACE... statements solved a second of processor time
 *
 * A folder stands for the traces in it; a name of the form @FILE for the names in that file, one a
 * line.
 */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alter.h"
#include "base/mem.h"
#include "mvcc/mvcc.h"
#include "overlap.h"
#include "trace/pack.h"

static char **names;
static size_t name_count, name_capacity;

static void add_name(const char *name)
{
	MEM_RESERVE(names, name_count + 1, name_capacity);
	names[name_count++] = mem_strdup(name);
}

static bool add_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)) != NULL) {
		char name[4096];
		size_t len = strlen(entry->d_name);

		if (len < 5 || strcmp(entry->d_name + len - 4, ".itr") != 0)
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		add_name(name);
	}
	if (folder)
		closedir(folder);
	return folder != NULL;
}

static void read_names(char **args, int count)
{
	for (int i = 0; i < count; i++) {
		char line[4096];
		FILE *file;

		if (add_folder(args[i]))
			continue;
		if (args[i][0] != '@') {
			add_name(args[i]);
			continue;
		}
		file = fopen(args[i] + 1, "r");
		while (file && fgets(line, sizeof(line), file)) {
			line[strcspn(line, "\n")] = '\0';
			add_name(line);
		}
		if (file)
			fclose(file);
	}
}

static bool load(struct execution *execution, const char *path)
{
	struct err err;

	*execution = (struct execution){0};
	if (execution_load(execution, path, NULL, &err))
		return true;
	fprintf(stderr, "%s: %s\n", path, err.text);
	return false;
}

static void judge_with(const struct execution *execution, struct mvcc_options *options, struct verdict *verdict)
{
	static struct contract contract; /* of the trace before, usually the same */
	const char *name = contract_for(
		execution->server.flavour, execution_is_on(execution, "innodb_snapshot_isolation"));
	struct schedule schedule;
	struct err err;

	if (strcmp(contract.name, name) != 0 && !contract_builtin(&contract, name, &err))
		abort();
	verdict_init(verdict);
	schedule_init(&schedule, execution);
	options->contract = &contract;
	mvcc_check(&schedule, options, verdict);
	schedule_release(&schedule);
}

static void judge(const struct execution *execution, struct verdict *verdict)
{
	judge_with(execution, &(struct mvcc_options){.all_sessions = true}, verdict);
}

static uint64_t alarms(const struct verdict *verdict)
{
	return verdict_count(verdict, SEVERITY_VIOLATION) +
	       verdict_count(verdict, SEVERITY_SUSPICION);
}

/* ---- statements ---- */

/* In one line, with one blank where there are several. */
static void print_text(struct span text)
{
	bool blank = false, any = false;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			blank = any;
			continue;
		}
		if (blank)
			putchar(' ');
		putchar(c ? c : '0');
		blank = false;
		any = true;
	}
}

static void print_judged(void *context, const struct mvcc_judged *judged)
{
	const struct execution *execution = context;

	if (judged->stmt)
		printf("%.*s.%llu", SPAN_ARG(execution->sessions[judged->stmt->session].name),
			(unsigned long long)judged->stmt->record.number);
	else
		printf("final %.*s", SPAN_ARG(judged->table->schema.name));
	printf("\t%s\t%s\t", judged->verdict, judged->reason ? judged->reason : "");
	if (judged->stmt)
		print_text(judged->stmt->sql);
	putchar('\n');
}

/* The lines of one trace begin with its name. */
static int statements(void)
{
	for (size_t i = 0; i < name_count; i++) {
		bool all = strcmp(names[i], "-a") == 0;
		struct execution execution;
		struct verdict v;

		i += all;
		if (i == name_count || !load(&execution, names[i]))
			return 2;
		printf("trace\t%s\n", names[i]);
		judge_with(&execution,
			&(struct mvcc_options){
				.all_sessions = all, .judged = print_judged, .context = &execution},
			&v);
		for (size_t f = 0; f < v.finding_count; f++) {
			const struct finding *finding = &v.findings[f];

			printf("finding\t%s\t%s\t%s", severity_name(finding->severity), finding_class_name(finding->class),
				finding->rule ? finding->rule : "");
			for (uint32_t t = 0; t < finding->transaction_count; t++)
				printf("%s%.*s", t ? " " : "\t", SPAN_ARG(finding->transactions[t]));
			putchar('\n');
		}
		verdict_release(&v);
		execution_release(&execution);
	}
	return 0;
}

/* ---- solve ---- */

struct tally {
	const char *name;
	uint64_t count;
};

static struct tally tallies[512];
static size_t tally_count;

static void count(const char *kind, const char *name, uint64_t n)
{
	char text[300];

	snprintf(text, sizeof(text), "%s%s", kind, name);
	for (size_t i = 0; i < tally_count; i++) {
		if (strcmp(tallies[i].name, text) == 0) {
			tallies[i].count += n;
			return;
		}
	}
	if (tally_count < ARRAY_LEN(tallies))
		tallies[tally_count++] = (struct tally){mem_strdup(text), n};
}

uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	uint64_t z = *state;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* As a recorder leaves out those beyond its limit; here any of them, or all. */
static void hide_rows(struct execution *e, uint64_t *state)
{
	for (size_t t = 0; t < e->table_count; t++) {
		struct execution_rows *rows = &e->tables[t].initial;
		uint64_t share = next_random(state) % 4;
		size_t kept = 0;

		for (size_t r = 0; r < rows->count; r++) {
			if (next_random(state) % 3 < share)
				rows->rows[kept++] = rows->rows[r];
		}
		rows->count = kept;
		rows->complete = kept == rows->total;
		e->tables[t].has_initial &= next_random(state) % 4 != 0;
	}
}

static int solve(const uint64_t *seed)
{
	uint64_t state = seed ? *seed : 0;
	uint64_t decided = 0, undecided = 0, unsupported = 0, violations = 0, suspicions = 0;

	for (size_t i = 0; i < name_count; i++) {
		struct execution execution;
		struct verdict v;

		if (!load(&execution, names[i]))
			continue;
		if (seed)
			hide_rows(&execution, &state);
		judge(&execution, &v);
		decided += v.decided;
		undecided += v.undecided;
		unsupported += v.unsupported;
		for (size_t r = 0; r < v.reason_count; r++)
			count("reason: ", v.reasons[r].name, v.reasons[r].count);
		for (size_t f = 0; f < v.finding_count; f++) {
			const struct finding *finding = &v.findings[f];

			count(severity_name(finding->severity), " ", 0);
			if (finding->severity == SEVERITY_DOCUMENTED) {
				count("documented: ", finding_name(finding), 1 + finding->similar);
				continue;
			}
			violations += finding->severity == SEVERITY_VIOLATION;
			suspicions += finding->severity == SEVERITY_SUSPICION;
			printf("%s: %s %s at %s: %.*s\n", names[i],
				severity_name(finding->severity), finding_name(finding),
				finding->level, SPAN_ARG(finding->explanation));
		}
		verdict_release(&v);
		execution_release(&execution);
	}
	for (size_t i = 0; i < tally_count; i++) {
		if (tallies[i].count)
			printf("  %s: %llu\n", tallies[i].name,
				(unsigned long long)tallies[i].count);
	}
	printf("traces %zu decided %llu undecided %llu unsupported %llu violations %llu "
	       "suspicions %llu\n",
		name_count, (unsigned long long)decided, (unsigned long long)undecided,
		(unsigned long long)unsupported, (unsigned long long)violations,
		(unsigned long long)suspicions);
	return violations != 0;
}

/* ---- mutate ---- */

/* Why a statement is undecided now that was not: the reason that has become more frequent. */
static const char *new_reason(const struct verdict *v, const struct verdict *before)
{
	for (size_t i = 0; i < v->reason_count; i++) {
		uint64_t was = 0;

		for (size_t k = 0; k < before->reason_count; k++) {
			if (strcmp(v->reasons[i].name, before->reasons[k].name) == 0)
				was = before->reasons[k].count;
		}
		if (v->reasons[i].count > was)
			return v->reasons[i].name;
	}
	return "passed";
}

static int mutate_all(uint64_t seed, bool free_running)
{
	uint64_t tried[ALTERED_AT_RANDOM] = {0}, noticed[ALTERED_AT_RANDOM] = {0}, all = 0, all_noticed = 0;
	uint64_t undecided = 0, explained = 0;
	uint64_t state = seed;

	for (size_t i = 0; i < name_count; i++) {
		struct execution execution;
		struct verdict v, before;
		size_t stmts;
		bool clean;

		if (!load(&execution, names[i]))
			continue;
		judge(&execution, &before);
		clean = !alarms(&before) && (free_running || (!before.undecided && !before.unsupported));
		stmts = execution.stmt_count;
		execution_release(&execution);
		/* A few alterations a trace, of kinds in turn; each of a fresh copy. */
		for (int n = 0; clean && n < (free_running ? 3 : 2) * ALTERED_AT_RANDOM; n++) {
			enum alteration kind = (enum alteration)(n % ALTERED_AT_RANDOM);
			bool done = false, seen;

			if (!load(&execution, names[i]))
				break;
			size_t at = 0;

			size_t first = kind == ALTER_FINAL_DROP ? 0 : next_random(&state) % stmts;

			/* The next one that it applies to. */
			for (size_t k = 0; !done && k < stmts; k++) {
				at = (first + k) % stmts;
				done = alter(&execution, at, kind, next_random(&state));
			}
			if (done) {
				const char *reason;

				judge(&execution, &v);
				seen = alarms(&v) > 0;
				tried[kind]++;
				noticed[kind] += seen;
				reason = new_reason(&v, &before);
				if (!seen)
					printf("unnoticed (%s): %s: %s, statement %zu: %.*s\n", reason, names[i],
						alteration_names[kind], at + 1,
						SPAN_ARG(execution.stmts[at].sql));
				if (!seen)
					count("unnoticed: ", reason, 1);
				undecided += !seen && v.undecided;
				/* There is an order in which every answer is right, the altered one, too. */
				explained += !seen && strcmp(reason, "passed") == 0;
				verdict_release(&v);
			}
			execution_release(&execution);
		}
		verdict_release(&before);
	}
	for (size_t i = 0; i < tally_count; i++)
		printf("  %s: %llu\n", tallies[i].name, (unsigned long long)tallies[i].count);
	for (int k = 0; k < ALTERED_AT_RANDOM; k++) {
		printf("  %-18s %llu of %llu\n", alteration_names[k], (unsigned long long)noticed[k],
			(unsigned long long)tried[k]);
		all += tried[k];
		all_noticed += noticed[k];
	}
	printf("altered %llu noticed %llu undecided %llu (%.2f %%), explained %llu (%.2f %% of the others)\n",
		(unsigned long long)all, (unsigned long long)all_noticed, (unsigned long long)undecided,
		all ? 100.0 * (double)all_noticed / (double)all : 0, (unsigned long long)explained,
		all > explained ? 100.0 * (double)all_noticed / (double)(all - explained) : 0);
	return 0;
}

/* ---- rules ---- */

enum { ALTERED_EACH = 2 }; /* statements of a trace that an alteration is tried at */

struct noticing {
	uint64_t tried, violated, suspected, undecided, accepted;
};

/* Classes that a contract forbids, and that notice an alteration, by level. */
static uint64_t noticed_by[FINDING_CLASS_COUNT][CONTRACT_LEVELS];

static uint8_t level_of(const struct finding *f)
{
	for (uint8_t level = 0; f->level && level < CONTRACT_LEVELS; level++)
		if (strcmp(txn_level_name(level), f->level) == 0)
			return level;
	return LEVEL_UNKNOWN;
}

static void note_altered(struct noticing *n, const struct verdict *v, const struct verdict *before)
{
	n->tried++;
	for (size_t i = 0; i < v->finding_count; i++)
		if (v->findings[i].severity != SEVERITY_DOCUMENTED)
			noticed_by[v->findings[i].class][level_of(&v->findings[i])]++;
	if (verdict_count(v, SEVERITY_VIOLATION))
		n->violated++;
	else if (verdict_count(v, SEVERITY_SUSPICION))
		n->suspected++;
	else if (v->undecided + v->unsupported > before->undecided + before->unsupported)
		n->undecided++;
	else
		n->accepted++;
}

/* Which statements were decided, and whether the final rows of every table were. */
struct decided {
	const struct execution *execution;
	bool *stmts;
	bool finals;
	size_t final_count;
};

static void note_decided(void *context, const struct mvcc_judged *judged)
{
	struct decided *d = context;
	bool decided = strcmp(judged->verdict, "decided") == 0;

	if (judged->stmt)
		d->stmts[judged->stmt - d->execution->stmts] = decided;
	else
		d->finals &= decided;
	d->final_count += !judged->stmt;
}

static bool applies(const struct execution *e, const struct decided *d, size_t at, enum alteration kind)
{
	switch (kind) {
	case ALTER_FINAL_DROP:
	case ALTER_FINAL_CHANGE:
	case ALTER_FINAL_EXTRA:
		return d->finals && d->final_count == e->table_count;
	case ALTER_ROLLBACK_KEPT:
	case ALTER_COMMIT_LOST:
		for (size_t i = 0; i < e->stmt_count; i++) /* what it is about */
			if (e->stmts[i].record.txn == e->stmts[at].record.txn && e->stmts[i].record.affected && !d->stmts[i])
				return false;
		return d->finals;
	default:
		return d->stmts[at];
	}
}

static void alter_trace(const char *name, const struct verdict *before, size_t stmts, const struct decided *decided,
	struct noticing *all, uint64_t *state)
{
	struct execution e;

	for (int kind = 0; kind < ALTERATION_COUNT; kind++) {
		size_t first = next_random(state) % stmts, done = 0;

		for (size_t k = 0; k < stmts && done < ALTERED_EACH; k++) {
			size_t at = (first + k) % stmts;
			struct verdict v;
			uint64_t accepted = all[kind].accepted;

			if (!load(&e, name))
				return;
			if (applies(&e, decided, at, (enum alteration)kind) &&
				alter(&e, at, (enum alteration)kind, next_random(state))) {
				judge(&e, &v);
				note_altered(&all[kind], &v, before);
				if (all[kind].accepted > accepted)
					printf("accepted: %s: %s, statement %zu: %.*s\n", name, alteration_names[kind], at + 1,
						SPAN_ARG(e.stmts[at].sql));
				verdict_release(&v);
				done++;
			}
			execution_release(&e);
		}
	}
}

static void print_rules(const struct noticing *all)
{
	printf("| alteration | tried | violated | suspected | undecided | accepted |\n| --- | --- | --- | --- | --- | --- |\n");
	for (int k = 0; k < ALTERATION_COUNT; k++)
		printf("| %s | %llu | %llu | %llu | %llu | %llu |\n", alteration_names[k], (unsigned long long)all[k].tried,
			(unsigned long long)all[k].violated, (unsigned long long)all[k].suspected,
			(unsigned long long)all[k].undecided, (unsigned long long)all[k].accepted);
	printf("\n| class | no level | RU | RC | RR | SER |\n| --- | --- | --- | --- | --- | --- |\n");
	for (int c = 0; c < FINDING_CLASS_COUNT; c++) {
		const uint64_t *n = noticed_by[c];

		if (n[0] + n[1] + n[2] + n[3] + n[4])
			printf("| %s | %llu | %llu | %llu | %llu | %llu |\n", finding_class_name((enum finding_class)c),
				(unsigned long long)n[0], (unsigned long long)n[1], (unsigned long long)n[2],
				(unsigned long long)n[3], (unsigned long long)n[4]);
	}
}

static int rules(uint64_t seed)
{
	struct noticing all[ALTERATION_COUNT] = {0};
	uint64_t state = seed;

	for (size_t i = 0; i < name_count; i++) {
		struct execution e;
		struct verdict before;
		struct decided decided = {.execution = &e, .finals = true};
		size_t stmts;

		if (!load(&e, names[i]))
			continue;
		stmts = e.stmt_count;
		decided.stmts = mem_zero(stmts + 1, sizeof(*decided.stmts));
		judge_with(&e, &(struct mvcc_options){.all_sessions = true, .judged = note_decided, .context = &decided}, &before);
		execution_release(&e);
		if (stmts && !alarms(&before) && !before.undecided && !before.unsupported)
			alter_trace(names[i], &before, stmts, &decided, all, &state);
		verdict_release(&before);
		free(decided.stmts);
	}
	print_rules(all);
	return 0;
}

/* ---- overlap ---- */

/* Is every answer right?  At READ UNCOMMITTED some that are not are documented. */
static bool is_right(const struct verdict *v)
{
	for (size_t i = 0; i < v->finding_count; i++) {
		if (v->findings[i].answer)
			return false;
	}
	return !verdict_count(v, SEVERITY_VIOLATION) && !v->undecided && !v->unsupported;
}

static void print_order(const struct execution *e)
{
	for (size_t i = 0; i < e->stmt_count; i++)
		printf("    S%u %llu-%llu %.*s\n", e->stmts[i].session, (unsigned long long)e->stmts[i].record.begin_seq,
			(unsigned long long)e->stmts[i].record.seq, SPAN_ARG(e->stmts[i].sql));
}

/* The tables that it names, as bits: schedules.py calls them t1, t2 ... */
static unsigned tables_of(struct span sql)
{
	unsigned tables = 0;

	for (size_t i = 0; i + 1 < sql.len; i++) {
		if (sql.ptr[i] == 't' && sql.ptr[i + 1] >= '0' && sql.ptr[i + 1] <= '9')
			tables |= 1u << (sql.ptr[i + 1] - '0');
	}
	return tables;
}

static bool is_serializable(const struct execution *e, const struct execution_stmt *stmt)
{
	for (size_t i = 0; i < e->txn_count; i++) {
		if (e->txns[i].record.txn == stmt->record.txn && e->txns[i].record.level == LEVEL_SERIALIZABLE)
			return true;
	}
	return false;
}

static bool is_plain_read(const struct execution_stmt *stmt)
{
	return span_istarts(stmt->sql, "select") && !has_word(stmt->sql, "for update") && !has_word(stmt->sql, "share");
}

/* Is it in a transaction that goes on with a later statement? */
static bool goes_on_after(const struct execution *e, size_t stmt, size_t later)
{
	for (size_t i = later + 1; i < e->stmt_count; i++) {
		if (e->stmts[i].session == e->stmts[stmt].session && e->stmts[i].record.txn == e->stmts[stmt].record.txn)
			return e->stmts[stmt].record.txn != 0;
	}
	return false;
}

/* One after the other, may one have had to wait for what another had locked?  The solver knows few locks for certain
 * where nothing overlaps, but does not try a statement after one that would have waited for it. */
static bool may_wait(const struct execution *e)
{
	for (size_t i = 0; i < e->stmt_count; i++) {
		const struct execution_stmt *first = &e->stmts[i];
		unsigned tables = is_plain_read(first) && !is_serializable(e, first) ? 0 : tables_of(first->sql);

		for (size_t k = i + 1; tables && k < e->stmt_count; k++) {
			const struct execution_stmt *later = &e->stmts[k];

			if (later->session != first->session && tables & tables_of(later->sql) &&
				(!is_plain_read(later) || is_serializable(e, later)) && goes_on_after(e, i, k))
				return true;
		}
	}
	return false;
}

/* Is there an order in which every answer is right?  *all: all orders were tried. */
static bool is_explained(struct execution *e, bool print, uint64_t *state, bool *all)
{
	enum { ORDERS_MAX = 400 };
	struct overlap_orders *orders = overlap_orders(e);
	bool found = false;

	*all = false;
	for (int n = 0; n < ORDERS_MAX && !found && !*all; n++) {
		struct verdict v;

		if (n < ORDERS_MAX / 2)
			*all = !overlap_next(orders, e);
		else
			overlap_any(orders, e, state);
		if (*all)
			break;
		if (may_wait(e))
			continue;
		judge(e, &v);
		found = is_right(&v);
		verdict_release(&v);
	}
	if (found && print)
		print_order(e);
	overlap_restore(orders, e);
	overlap_orders_free(orders);
	return found;
}

static int overlap_all(uint64_t seed, unsigned rounds)
{
	uint64_t state = seed, tried = 0, wrong = 0, all_wrong = 0, open = 0, missed = 0, false_alarms = 0;

	for (size_t i = 0; i < name_count; i++) {
		for (unsigned round = 0; round < rounds; round++) {
			struct execution e;
			struct verdict v;
			bool as_it_was = round % 3 == 0, altered, violation, undecided, all, explained;

			if (!load(&e, names[i]))
				break;
			judge(&e, &v);
			violation = alarms(&v) > 0;
			verdict_release(&v);
			if (violation || !overlap_free(&e)) {
				execution_release(&e);
				break;
			}
			overlap_widen(&e, &state);
			if (!as_it_was) {
				struct overlap_orders *orders = overlap_orders(&e);

				overlap_any(orders, &e, &state);
				overlap_orders_free(orders);
				overlap_widen(&e, &state);
			}
			altered = round % 3 == 2 && alter(&e, next_random(&state) % e.stmt_count,
							    (enum alteration)(next_random(&state) % ALTER_NO_BLOCK),
							    next_random(&state));
			judge(&e, &v);
			violation = verdict_count(&v, SEVERITY_VIOLATION) > 0;
			undecided = v.undecided > 0;
			tried++;
			wrong += violation;
			open += !violation && undecided;
			explained = violation && as_it_was;
			all = false;
			if ((violation && !explained) || (!violation && undecided))
				explained = is_explained(&e, violation, &state, &all);
			missed += !violation && undecided && all && !explained;
			all_wrong += violation && all;
			if (violation && explained) {
				false_alarms++;
				printf("%s round %u%s: %s: %.*s\n", names[i], round, altered ? " (altered)" : "",
					as_it_was ? "wrong in the order that was" : "wrong, but explained",
					SPAN_ARG(v.findings[0].explanation));
				print_order(&e);
			}
			verdict_release(&v);
			execution_release(&e);
		}
	}
	printf("overlapping %llu wrong %llu (in all orders %llu) open %llu (of which wrong in all orders %llu) false %llu\n",
		(unsigned long long)tried, (unsigned long long)wrong, (unsigned long long)all_wrong,
		(unsigned long long)open, (unsigned long long)missed, (unsigned long long)false_alarms);
	return false_alarms != 0;
}

/* ---- bench ---- */

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int bench(unsigned rounds)
{
	struct execution *executions = mem_zero(name_count + 1, sizeof(*executions));
	uint64_t statements = 0;
	double begin, seconds;

	/* Not what the allocator gives back after each trace, and fetches anew for the next, where one needs a
	 * little more than it keeps: a trace is checked once. */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	for (size_t i = 0; i < name_count; i++)
		if (!load(&executions[i], names[i]))
			return 1;
	begin = cpu_seconds();
	for (unsigned r = 0; r < rounds; r++) {
		for (size_t i = 0; i < name_count; i++) {
			struct verdict v;

			judge(&executions[i], &v);
			statements += executions[i].stmt_count;
			verdict_release(&v);
		}
	}
	seconds = cpu_seconds() - begin;
	printf("%llu statements in %.2f s of processor time: %.0f a second\n",
		(unsigned long long)statements, seconds, (double)statements / seconds);
	return 0;
}

/* Results that stay in the trace are the same as those in memory, in whichever order they are asked for. */
static int apart(void)
{
	uint64_t compared = 0;

	for (size_t i = 0; i < name_count; i++) {
		struct execution whole, other = {0};
		struct err err;

		if (!load(&whole, names[i]) ||
			!execution_load(&other, names[i], &(struct execution_load_options){.results_apart = true}, &err))
			return 1;
		for (size_t k = 0; k < 2 * whole.stmt_count; k++) {
			size_t at = k < whole.stmt_count ? k : k * 7919 % whole.stmt_count;
			uint32_t count = execution_set_count(&other, &other.stmts[at]);

			if (count != whole.stmts[at].set_count)
				return fprintf(stderr, "%s: statement %zu has %u results\n", names[i], at, count), 1;
			for (uint32_t set = 0; set < count; set++, compared++) {
				const struct execution_rows *a = &whole.stmts[at].sets[set],
							    *b = execution_set(&other, &other.stmts[at], set);

				if (!same_rows(a, b) || a->total != b->total || a->complete != b->complete ||
					!span_eq(a->columns, b->columns))
					return fprintf(stderr, "%s: statement %zu has another result\n", names[i], at), 1;
			}
		}
		execution_release(&whole);
		execution_release(&other);
	}
	printf("%llu results are the same\n", (unsigned long long)compared);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "apart") == 0) {
		read_names(argv + 2, argc - 2);
		return apart();
	}
	if (argc >= 3 && strcmp(argv[1], "solve") == 0) {
		read_names(argv + 2, argc - 2);
		return solve(NULL);
	}
	if (argc >= 3 && strcmp(argv[1], "statements") == 0) {
		read_names(argv + 2, argc - 2);
		return statements();
	}
	if (argc >= 4 && strcmp(argv[1], "hide") == 0) {
		uint64_t seed = strtoull(argv[2], NULL, 10);

		read_names(argv + 3, argc - 3);
		return solve(&seed);
	}
	if (argc >= 4 && (strcmp(argv[1], "mutate") == 0 || strcmp(argv[1], "mutate-free") == 0)) {
		read_names(argv + 3, argc - 3);
		return mutate_all(strtoull(argv[2], NULL, 10), strcmp(argv[1], "mutate-free") == 0);
	}
	if (argc >= 5 && strcmp(argv[1], "overlap") == 0) {
		read_names(argv + 4, argc - 4);
		return overlap_all(strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
	}
	if (argc >= 4 && strcmp(argv[1], "bench") == 0) {
		read_names(argv + 3, argc - 3);
		return bench((unsigned)strtoul(argv[2], NULL, 10));
	}
	if (argc >= 4 && strcmp(argv[1], "rules") == 0) {
		read_names(argv + 3, argc - 3);
		return rules(strtoull(argv[2], NULL, 10));
	}
	fprintf(stderr, "usage: mvcc_tool apart|solve|statements|hide SEED|mutate SEED|mutate-free SEED|rules SEED|overlap SEED ROUNDS|bench ROUNDS TRACE...\n");
	return 2;
}
