/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/judge_trace.h"

#include <errno.h>
#include <stdio.h>

#include "adya/adya.h"
#include "application/application.h"
#include "application/history_accesses.h"
#include "base/interrupt.h"
#include "base/map.h"
#include "common/known/signature.h"
#include "common/merge_findings.h"
#include "model/execution/execution.h"
#include "model/history/load.h"
#include "model/life/life.h"
#include "mvcc/mvcc.h"
#include "report/witness_statements.h"
#include "server/flavour.h"
#include "sync/sync.h"

enum judge_oracle { ORACLE_AUTO, ORACLE_ADYA, ORACLE_MVCC, ORACLE_SYNC, ORACLE_ALL };
const char *const judge_oracles[] = {"auto", "adya", "mvcc", "sync", "all", NULL};
const char *const judge_audiences[] = {"server", "application", NULL};

static bool read_contract_file(struct contract *out, const char *path, struct err *err)
{
	char text[64 * 1024];
	FILE *file = fopen(path, "rb");
	size_t len;

	if (!file)
		return err_set_errno(err, errno, "cannot open the contract %s", path);
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (len == sizeof(text))
		return err_set(err, ERR_LIMIT, "%s is larger than any contract (64 KiB)", path);
	return contract_parse(out, span_of(text, len), path, err);
}

/* No contract is known: which server, and what it promises. */
static bool is_server_lost(const struct history *history, const struct judge_options *options)
{
	struct record_server server;

	return !options->contract && !options->contract_file && !history_server(history, &server);
}

static bool promises_snapshots(const struct history *history)
{
	return history_is_on(history, "innodb_snapshot_isolation");
}

/* A member of MySQL Group Replication. */
static bool has_group(const struct history *history)
{
	struct value name;

	return history_variable(history, "group_replication_group_name", &name) && name.bytes.len;
}

/* What the recorded server promises.  A session may switch innodb_snapshot_isolation off for itself, or
 * for sessions that come after it (GLOBAL): what held when the recording began is then not promised to all. */
static bool server_contract(struct contract *out, const struct history *history, struct err *err)
{
	bool snapshots = promises_snapshots(history) && !history->sets_snapshots;

	/* wsrep_on is ON on a node of a cluster, be the trace of one node or of several. */
	if (history_is_on(history, "wsrep_on"))
		return contract_builtin(out, snapshots ? "galera-si" : "galera", err);
	if (has_group(history))
		return contract_builtin(out, "group-replication", err);
	return contract_builtin(out,
		contract_for(strtab_get(&history->strings, history->flavour), snapshots), err);
}

static bool choose_contract(struct contract *out, const struct judge_options *options,
	const struct history *history, struct err *err)
{
	if (options->contract_file)
		return read_contract_file(out, options->contract_file, err);
	if (options->contract)
		return contract_builtin(out, options->contract, err);
	if (is_server_lost(history, options)) {
		*out = (struct contract){.name = "unknown"};
		return true;
	}
	return server_contract(out, history, err);
}

/* What the solver left open. */
struct solved {
	bool ran;
	struct map open; /* statements that it did not decide: statement_key() */
	const struct history *history;
	struct application *application; /* NULL: not asked for */
	const struct meter *meter;
};

static uint64_t statement_key(uint32_t session, uint32_t number)
{
	return (uint64_t)session << 32 | number;
}

struct solving {
	struct solved *solved;
	const struct execution *execution;
};

static bool goes_on(void *context, uint64_t done, uint64_t all)
{
	struct solving *solving = context;

	meter_things(solving->solved->meter, "executing", done, all);
	return !interrupt_seen();
}

static void note_judged(void *context, const struct mvcc_judged *judged)
{
	const struct solving *solving = context;
	const struct execution_stmt *stmt = judged->stmt;

	if (stmt && judged->reason)
		map_put(&solving->solved->open,
			statement_key(solving->execution->sessions[stmt->session].number, stmt->record.number), 1);
}

/* What the solver found out about versions tells of the application, too. */
static void look_at_accesses(void *context, const struct accesses *accesses)
{
	const struct solving *solving = context;

	application_look(solving->solved->application, accesses);
}

/* The recorder looked at the server: it knows its variables.  So tables without initial rows were made in the trace,
 * or their rows are learnt from answers. */
static bool was_looked_at(const struct execution *execution)
{
	return execution_variable(execution, "sql_mode").ptr;
}

/* The solver reads statements and answers, not versions.  It does not run when the trace has
 * versions and no initial rows, unless the oracle was asked for by name. */
static bool check_mvcc(const struct judge_options *options, const char *path,
	const struct contract *contract, bool versions, struct verdict *verdict, struct solved *solved,
	struct err *err)
{
	struct execution_load_options load = {.salvage = options->salvage, .results_apart = true,
		.meter = solved->meter,
		.may_stop = true};
	struct execution execution = {0};
	struct solving solving = {.solved = solved, .execution = &execution};
	struct schedule schedule;
	bool good;

	if (!execution_load(&execution, path, &load, err))
		return false;
	solved->ran = options->oracle == ORACLE_MVCC || (!versions && was_looked_at(&execution));
	for (size_t i = 0; i < execution.table_count; i++)
		solved->ran |= execution.tables[i].has_initial;
	if (solved->ran) {
		schedule_init(&schedule, &execution);
		mvcc_check(&schedule,
			&(struct mvcc_options){.contract = contract,
				.per_class_max = (uint32_t)options->examples,
				.budget = options->budget,
				.all_sessions = options->all_sessions,
				.judged = note_judged,
				.goes_on = goes_on,
				.accesses = solved->application ? look_at_accesses : NULL,
				.history = solved->history,
				.context = &solving},
			verdict);
		known_attach(verdict, &execution);
		schedule_release(&schedule);
	}
	/* What is not there any more is no evidence that is missing. */
	good = !execution_read_failed(&execution, err);
	execution_release(&execution);
	return good;
}

/* The solver knows the rules of InnoDB and TiDB. */
static bool is_modelled(const struct history *history)
{
	enum server_flavour flavour = server_flavour_named(strtab_get(&history->strings, history->flavour));

	return server_has_innodb(flavour) || flavour == SERVER_TIDB;
}

static bool is_solved(const void *context, uint32_t session, uint32_t number)
{
	const struct solved *solved = context;

	return map_get(&solved->open, statement_key(session, number)) == MAP_NONE;
}

static void look_at_versions(void *context, const struct dependencies *dependencies)
{
	const struct solved *solved = context;
	struct accesses accesses;

	accesses_of_history(&accesses, solved->history, dependencies);
	application_look(solved->application, &accesses);
	accesses_release(&accesses);
}

/* A statement that the solver decided is verified, whatever adya knows of it; one that adya decided needs no
 * solver.  So of two coverages the one that adya makes, which asks the solver, is left. */
static void check_adya(const struct judge_options *options, const struct history *history,
	const struct contract *contract, struct solved *solved, struct verdict *verdict)
{
	if (solved->ran)
		verdict_forget_coverage(verdict);
	adya_check(history,
		&(struct adya_options){.contract = contract,
			.session = !options->no_strong,
			.realtime = !options->no_strong,
			.per_class_max = (uint32_t)options->examples,
			.budget = options->budget,
			.tests_max = options->predicate_tests,
			.explanations = options->explanations,
			.is_verified = solved->ran ? is_solved : NULL,
			.context = solved,
			.drawn = solved->application ? look_at_versions : NULL,
			.drawn_context = solved,
			.meter = solved->meter},
		verdict);
}

/* What the server documents, findings about the application tell better. */
static void drop_documented(struct verdict *verdict)
{
	size_t kept = 0;

	for (size_t i = 0; i < verdict->finding_count; i++)
		if (verdict->findings[i].severity != SEVERITY_DOCUMENTED)
			verdict->findings[kept++] = verdict->findings[i];
	verdict->finding_count = kept;
	verdict->component_count = 0;
}

/* The solver executes the schedule by the server's own rules: what these exclude did not happen where
 * all answers were right.  It looks for no other cycles, so a contract that forbids more is not
 * judged by it. */
static bool count_cycles_left_out(const struct history *history, const struct contract *contract,
	struct verdict *verdict, struct err *err)
{
	struct contract engine;
	uint64_t count = 0;

	if (!server_contract(&engine, history, err))
		return false;
	for (uint32_t t = 0; t < history->txn_count; t++) {
		uint8_t level = history->txns[t].level;

		count += level < CONTRACT_LEVELS && contract_more_cycles(contract, &engine, level) != 0;
	}
	verdict_unsupported(verdict,
		"transactions that the contract promises to be in no cycle, for which the trace has no "
		"versions (isorec prepare)", count);
	return true;
}

static bool check_cycles(const struct judge_options *options, const struct history *history,
	const struct contract *contract, struct solved *solved, struct verdict *verdict, struct err *err)
{
	bool versions = history->counts.probes > 0;

	if (options->oracle != ORACLE_ADYA && (options->oracle == ORACLE_MVCC || (!versions && solved->ran)))
		return count_cycles_left_out(history, contract, verdict, err);
	check_adya(options, history, contract, solved, verdict);
	return true;
}

static void note_not_run(const struct judge_options *options, const struct history *history, bool solved,
	bool versions, struct verdict *verdict)
{
	if (options->oracle == ORACLE_ALL && !versions)
		verdict->note = "adya: not run, the trace has no versions (isorec prepare)";
	if (options->oracle == ORACLE_ALL && !solved)
		verdict->note = "mvcc: not run, the trace has no initial rows";
	if (!verdict->note && !options->contract && !options->contract_file &&
		history->sets_snapshots && promises_snapshots(history))
		verdict->note = "a statement sets innodb_snapshot_isolation: judged by what holds "
				"without it";
}

/* Its sessions were: only then the trace is read once more for what happened to them. */
static bool has_several_nodes(const struct history *history)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < history->session_count; i++) {
		if (node && history->sessions[i].node && history->sessions[i].node != node)
			return true;
		node = history->sessions[i].node ? history->sessions[i].node : node;
	}
	return false;
}

/* Of a trace of several nodes.  Where only it was asked for, nothing of levels is judged. */
static bool check_sync(const struct judge_options *options, const char *path, const struct contract *contract,
	const struct meter *meter, struct verdict *verdict, bool *ran, struct err *err)
{
	struct execution_load_options load = {.salvage = options->salvage, .results_apart = true, .meter = meter, .may_stop = true};
	struct execution execution = {0};
	struct life life;
	bool ok;

	*ran = false;
	if (!life_load(&life, path, options->salvage, err))
		return false;
	ok = life.node_count < 2 || execution_load(&execution, path, &load, err);
	if (ok && life.node_count > 1 && sync_applies(&life, &execution)) {
		*ran = true;
		sync_check(&life, &execution, &(struct sync_options){.contract = contract, .meter = meter}, verdict);
	}
	if (life.node_count > 1 && ok)
		execution_release(&execution);
	life_release(&life);
	return ok;
}

/* Only what nodes do together. */
static bool check_sync_alone(const struct judge_options *options, const char *path, const struct contract *contract,
	const struct meter *meter, struct verdict *verdict, struct err *err)
{
	bool ran;

	verdict->cluster_only = true;
	verdict->contract = contract->name;
	if (!check_sync(options, path, contract, meter, verdict, &ran, err))
		return false;
	if (!ran)
		verdict_undecided(verdict, "sync: the trace is not one of several nodes", 1);
	verdict_sort(verdict);
	return true;
}

/* Probes tell versions, which adya needs; initial rows are what the solver needs.  Every oracle that has something
 * to go by is run, and the verdict rests on all of them; where none has, adya says what is missing. */
static bool check_oracles(const struct judge_options *options, const char *path,
	const struct history *history, const struct contract *contract, const struct meter *meter,
	struct verdict *verdict, struct err *err)
{
	struct solved solved = {.ran = false, .history = history, .meter = meter};
	bool versions = history->counts.probes > 0, synced, ok;

	if (options->oracle == ORACLE_SYNC)
		return check_sync_alone(options, path, contract, meter, verdict, err);
	if (options->audience == AUDIENCE_APPLICATION)
		solved.application = application_new(history, verdict, meter);
	ok = options->oracle == ORACLE_ADYA || (options->oracle == ORACLE_AUTO && versions && !is_modelled(history)) ||
		  check_mvcc(options, path, contract, versions, verdict, &solved, err);

	/* Of an interruption while the solver ran, the statements that it did not come to tell. */
	if (ok && !(interrupt_seen() && verdict->undecided))
		ok = check_cycles(options, history, contract, &solved, verdict, err);
	map_release(&solved.open);
	if (solved.application) {
		drop_documented(verdict);
		application_finish(solved.application);
	}
	if (ok && options->audience == AUDIENCE_SERVER && options->oracle != ORACLE_ADYA && options->oracle != ORACLE_MVCC &&
		has_several_nodes(history))
		ok = check_sync(options, path, contract, meter, verdict, &synced, err);
	if (!ok)
		return false;
	note_not_run(options, history, solved.ran, versions, verdict);
	verdict_undecided(verdict,
		"what the server promised, which the trace does not name (--contract)",
		is_server_lost(history, options));
	verdict_join(verdict);
	verdict_sort(verdict);
	return true;
}

/* Nothing was promised to them that could be kept. */
static void count_unknown_levels(const struct history *history, struct verdict *verdict)
{
	uint64_t count = 0;

	for (uint32_t t = 0; t < history->txn_count; t++)
		count += history->txns[t].level == LEVEL_UNKNOWN && history->txns[t].op_count;
	verdict_undecided(verdict, "transactions whose isolation level is not known", count);
}

static void describe(struct judged *out, const char *path)
{
	const struct history *history = &out->history;
	struct verdict_context *context = &out->context;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	struct record_server server;
	struct value mode;

	*context = (struct verdict_context){.input = path, .format = "trace"};
	context->transactions = history->txn_count;
	context->operations = history->op_count;
	context->statements = history->stmt_count;
	context->sessions = history->session_count;
	context->objects = history->object_count;
	context->damaged = !history->complete;
	context->server = strtab_get(&history->strings, history->server_version);
	if (context->server.len == 0)
		context->server = SPAN_NONE;
	if (history_server(history, &server))
		context->address = server.address;
	context->contract = &out->contract;
	for (uint32_t t = 0; t < history->txn_count; t++) {
		uint8_t level = history->txns[t].level;

		context->committed += history->txns[t].outcome == TXN_COMMITTED;
		if (!out->verdict.cluster_only)
			context->level_txns[level < CONTRACT_LEVELS ? level : LEVEL_UNKNOWN]++;
		if (history->txns[t].begin_ns && history->txns[t].begin_ns < first_ns)
			first_ns = history->txns[t].begin_ns;
		if (history->txns[t].end_ns > last_ns)
			last_ns = history->txns[t].end_ns;
	}
	/* The sessions' own modes are not known here. */
	if (history_variable(history, "sql_mode", &mode) && span_ihas(mode.bytes, "STRICT_"))
		context->answers_doubted = history->counts.answers_doubted;
	context->start_ns = history->wall_ns;
	context->took_ns = last_ns > first_ns ? last_ns - first_ns : 0;
}

void note_interruption(struct verdict *verdict)
{
	bool open = verdict->undecided > 0;

	for (size_t i = 0; i < verdict->level_count; i++)
		open |= verdict->levels[i].answer == LEVEL_UNDECIDED;
	if (open && interrupt_seen())
		verdict->note = "interrupted: this is what was found until then";
}

bool judge_trace(
	struct judged *out, const char *path, const struct judge_options *options, struct err *err)
{
	struct progress progress;
	struct meter meter = {progress_phase, &progress};
	bool ok;

	*out = (struct judged){.history = {0}};
	verdict_init(&out->verdict);
	out->salvage = options->salvage;
	interrupt_watch();
	progress_begin(&progress, options->progress, "", false);
	out->loaded = history_load(
		&out->history, path, &(struct history_load_options){.salvage = options->salvage, .meter = &meter}, err);
	ok = out->loaded && choose_contract(&out->contract, options, &out->history, err) &&
	     check_oracles(options, history_source_path(&out->history), &out->history, &out->contract, &meter,
		     &out->verdict, err);
	progress_end(&progress);
	interrupt_ignore();
	if (!ok) {
		judged_release(out);
		return false;
	}
	note_interruption(&out->verdict);
	if (!out->verdict.cluster_only)
		count_unknown_levels(&out->history, &out->verdict);
	witness_fetch(&out->history, &out->verdict);
	describe(out, path);
	return true;
}

void judged_release(struct judged *judged)
{
	verdict_release(&judged->verdict);
	history_release(&judged->history);
}

int exit_status_weight(enum exit_status status)
{
	static const int weights[] = {[EXIT_STATUS_OK] = 0,
		[EXIT_STATUS_INCOMPLETE] = 1,
		[EXIT_STATUS_VIOLATION] = 2,
		[EXIT_STATUS_INPUT] = 3,
		[EXIT_STATUS_USAGE] = 4,
		[EXIT_STATUS_BUG] = 5};

	return weights[status];
}

bool txn_number(struct span name, uint64_t *number)
{
	*number = 0;
	if (name.len < 2 || name.len > 20 || name.ptr[0] != 'T')
		return false;
	for (size_t i = 1; i < name.len; i++) {
		if (name.ptr[i] < '0' || name.ptr[i] > '9')
			return false;
		*number = *number * 10 + (uint64_t)(name.ptr[i] - '0');
	}
	return true;
}
