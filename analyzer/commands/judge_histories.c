/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/judge_histories.h"

#include <string.h>
#include <strings.h>

#include "base/interrupt.h"
#include "base/output.h"
#include "base/siphash.h"
#include "base/text.h"
#include "commands/output_path.h"
#include "model/history/load.h"
#include "values/check.h"

const char *const fail_on_words[] = {"violation", "suspicion", "documented", "none", NULL};
const char *const initial_words[] = {[INITIAL_KNOWN] = "known", [INITIAL_ANY] = "any", NULL};

/* Names that people use for levels. */
static const struct {
	const char *alias, *level;
} aliases[] = {
	{"read-uncommitted", "PL-1"},
	{"read-committed", "PL-2"},
	{"cursor-stability", "PL-CS"},
	{"monotonic-view", "PL-2L"},
	{"consistent-view", "PL-2+"},
	{"forward-consistent-view", "PL-FCV"},
	{"repeatable-read", "PL-2.99"},
	{"snapshot-isolation", "PL-SI"},
	{"timed-snapshot-isolation", "timed-PL-SI"},
	{"serializable", "PL-3"},
	{"strong-session-snapshot-isolation", "strong-session-PL-SI"},
	{"strong-session-serializable", "strong-session-PL-3"},
	{"strong-snapshot-isolation", "strong-PL-SI"},
	{"strict-serializable", "strong-PL-3"},
};

/* Findings that do not refute the level asked for are allowed by it. */
static void ask_for(struct verdict *verdict, const char *level)
{
	for (size_t i = 0; i < verdict->finding_count; i++) {
		struct finding *f = &verdict->findings[i];

		if (values_level_implies(level, f->level))
			continue;
		/* Broken reads break every level of Biswas and Enea's too. */
		if (strncmp(level, "be-", 3) == 0 && strcmp(f->level, "PL-2") == 0 &&
			f->edge_count == 0)
			continue;
		f->severity = SEVERITY_DOCUMENTED;
		f->rule = "allowed by the level asked for";
	}
	verdict_sort(verdict);
}

static const char *without_alias(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		if (strcasecmp(aliases[i].alias, name) == 0)
			return aliases[i].level;
	}
	return name;
}

/* The level of that name, as people write it; NULL: the verdict has none. */
static const char *level_named(const struct verdict *verdict, const char *name)
{
	name = without_alias(name);
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (strcasecmp(verdict->levels[i].name, name) == 0)
			return verdict->levels[i].name;
	}
	return NULL;
}

static enum exit_status refuse_level(
	const struct command *command, const struct verdict *verdict, const char *name)
{
	struct buf known = BUF_INIT;
	enum exit_status status;

	if (!verdict->level_count)
		return command_misused(command,
			"level %s: levels are judged by versions of rows, and this trace has none; record "
			"it with isorec prepare and --instrument=trigger", name);
	for (size_t i = 0; i < verdict->level_count; i++) {
		buf_printf(&known, "%s%s", i ? ", " : "", verdict->levels[i].name);
		for (size_t k = 0; k < ARRAY_LEN(aliases); k++) {
			if (strcmp(aliases[k].level, verdict->levels[i].name) == 0)
				buf_printf(&known, " (%s)", aliases[k].alias);
		}
	}
	status = command_misused(command,
		"level %s: not a level, or not one that this history can be judged by%s%s", name,
		known.len ? "; it can be by " : "", known.len ? known.data : "");
	buf_release(&known);
	return status;
}

/* What changes a trace's findings, so that a hint leads to the same ones. */
static void add_asked(struct buf *out, const struct judge_options *judge)
{
	if (judge->audience)
		buf_printf(out, "--for=%s ", judge_audiences[judge->audience]);
	if (judge->oracle)
		buf_printf(out, "--oracle=%s ", judge_oracles[judge->oracle]);
	if (judge->contract)
		buf_printf(out, "--contract=%s ", judge->contract);
	if (judge->contract_file) {
		buf_add_str(out, "--contract-file=");
		text_add_shell_word(out, judge->contract_file);
		buf_add_char(out, ' ');
	}
	buf_add_str(out, judge->salvage ? "--salvage " : "");
	buf_add_str(out, judge->no_strong ? "--no-strong " : "");
	buf_add_str(out, judge->all_sessions ? "--all-sessions " : "");
}

/* The end of every check: what it comes to, and out with it. */
static enum exit_status conclude(const struct command *command,
	const struct histories_options *options, struct verdict_context *context,
	struct verdict *verdict, struct judged *judged, struct check_output *outputs, size_t count)
{
	struct buf asked = BUF_INIT;
	enum exit_status status;
	struct err err;

	context->fail_on = (enum fail_on)options->fail_on;
	context->level = options->level ? level_named(verdict, options->level) : NULL;
	if (options->level && !context->level)
		return refuse_level(command, verdict, options->level);
	if (context->level && verdict->contract)
		context->fail_on = FAIL_ON_NONE; /* the level decides, not the contract */
	else if (context->level)
		ask_for(verdict, context->level);
	if (judged)
		add_asked(&asked, &options->judge);
	context->asked = asked.data;
	context->salvaged = options->judge.salvage;
	verdict_conclude(context, verdict);
	status = context->status;
	for (size_t i = 0; i < count; i++) {
		if (check_output_add(&outputs[i], context, verdict, judged, &err))
			continue;
		output_message("%s", err.text);
		status = err_exit_status(&err);
		break;
	}
	buf_release(&asked);
	return status;
}

static enum exit_status check_foreign(const struct command *command,
	const struct histories_options *options, int from, const char *path, struct check_output *outputs,
	size_t count)
{
	struct verdict_context context = {.input = path, .format = from_words[from]};
	struct values_options judge = {.examples = (uint32_t)options->judge.examples,
		.budget = options->judge.budget,
		.first = options->first,
		.any_initial = options->initial == INITIAL_ANY,
		.level = options->level ? values_level_named(without_alias(options->level)) : NULL};
	struct values v = {0};
	struct progress progress;
	struct meter meter = {progress_phase, &progress};
	struct verdict verdict;
	enum exit_status status;
	struct err err;
	bool read;

	interrupt_watch();
	progress_begin(&progress, options->judge.progress, "", false);
	judge.meter = &meter;
	read = import_path(from_format(from), path, &meter, &v, &err);
	if (!read) {
		progress_end(&progress);
		interrupt_ignore();
		output_message("%s", err.text);
		if (err.code == ERR_FORMAT && options->from == FROM_AUTO)
			output_message(
				"it begins like a history of %s and was read as one; if another tool wrote it, name the tool with --from (isotrace %s --help)",
				from_words[from], command->name);
		else if (err.code == ERR_FORMAT && strcmp(path, "-") != 0 &&
			 from_resolve(FROM_AUTO, path) != from)
			output_message("it does not begin like a history of %s; without --from, isotrace recognises the format by the beginning",
				from_words[from]);
		return err_exit_status(&err);
	}
	verdict_init(&verdict);
	values_judge(&v, &judge, &verdict);
	if (judge.level && !level_named(&verdict, judge.level)) {
		/* It cannot be judged by that; by what it can, all levels say. */
		judge.level = NULL;
		verdict_release(&verdict);
		verdict_init(&verdict);
		values_judge(&v, &judge, &verdict);
	}
	progress_end(&progress);
	interrupt_ignore();
	note_interruption(&verdict);
	context.transactions = v.txn_count;
	context.operations = v.op_count;
	context.empty = !values_any_committed(&v);
	status = conclude(command, options, &context, &verdict, NULL, outputs, count);
	verdict_release(&verdict);
	values_release(&v);
	return status;
}

static enum exit_status check_trace(const struct command *command,
	const struct histories_options *options, const char *path, struct check_output *outputs,
	size_t count)
{
	struct judged judged;
	enum exit_status status;
	struct err err;

	err_clear(&err);
	if (!judge_trace(&judged, path, &options->judge, &err)) {
		output_message("%s", err.text);
		if (err.code == ERR_FOREIGN)
			output_message("nor does it begin like a history of another tool; if it is one, name the tool with --from (isotrace %s --help)",
				command->name);
		return err_exit_status(&err);
	}
	status = conclude(
		command, options, &judged.context, &judged.verdict, &judged, outputs, count);
	if (history_read_failed(&judged.history, &err)) {
		output_message("texts of statements are missing: %s", err.text);
		status = err_exit_status(&err);
	}
	judged_release(&judged);
	return status;
}

/* No output over an input, nor over another output. */
static bool targets_allowed(const struct histories_options *options, char **paths, int count,
	const struct check_output *outputs, size_t output_count, struct err *err)
{
	for (size_t i = 0; i < output_count; i++) {
		if (!outputs[i].path)
			continue;
		if (!target_allowed(outputs[i].path, (const char *const *)paths, (size_t)count, err) ||
			!target_allowed(outputs[i].path, &options->judge.contract_file,
				options->judge.contract_file != NULL, err))
			return false;
		for (size_t k = 0; k < i; k++)
			if (outputs[k].path && strcmp(outputs[k].path, outputs[i].path) == 0)
				return err_set(err, ERR_USAGE, "two outputs to %s", outputs[i].path);
	}
	return true;
}

/* Which share of the list; the digest tells that two shares are of one list. */
static bool read_share(const struct histories_options *options, char **paths, int count, struct check_share *out, struct err *err)
{
	struct buf names = BUF_INIT;

	*out = (struct check_share){.histories = (uint64_t)count};
	if (!shard_parse(options->shard, &out->shard, err))
		return false;
	for (int i = 0; i < count; i++) {
		if (strcmp(paths[i], "-") == 0 && out->shard.of)
			return err_set(err, ERR_USAGE, "--shard: standard input is no history that other shares could skip");
		buf_printf(&names, "%s\n", paths[i]);
	}
	out->list = siphash_digest(names.data, names.len);
	buf_release(&names);
	return true;
}

enum exit_status histories_check(const struct command *command,
	const struct histories_options *options, char **paths, int count, struct check_output *outputs,
	size_t output_count)
{
	enum exit_status worst = EXIT_STATUS_OK;
	bool interrupted = false;
	struct check_share share;
	struct err err;

	if (!read_share(options, paths, count, &share, &err))
		return command_misused(command, "%s", err.text);
	for (size_t i = 0; i < output_count && share.shard.of; i++)
		outputs[i].share = &share;
	if (!targets_allowed(options, paths, count, outputs, output_count, &err))
		return command_misused(command, "%s", err.text);
	for (size_t i = 0; i < output_count; i++)
		check_output_begin(&outputs[i]);
	for (int i = 0; i < count && worst != EXIT_STATUS_USAGE && !interrupted; i++) {
		int from;
		enum exit_status one;

		if (!shard_has(&share.shard, (uint64_t)i))
			continue;
		for (size_t k = 0; k < output_count; k++)
			outputs[k].at = (uint64_t)i;
		from = from_resolve(options->from, paths[i]);
		one = from == FROM_TRACE ? check_trace(command, options, paths[i], outputs, output_count)
					 : check_foreign(command, options, from, paths[i], outputs, output_count);
		for (size_t k = 0; k < output_count && exit_status_weight(one) >= exit_status_weight(EXIT_STATUS_INPUT); k++)
			check_output_fail(&outputs[k], paths[i], one);
		worst = exit_status_weight(one) > exit_status_weight(worst) ? one : worst;
		interrupted = interrupt_seen();
		if (interrupted && i + 1 < count) {
			output_message("interrupted: %d of %d histories were not judged", count - i - 1, count);
			if (worst == EXIT_STATUS_OK)
				worst = EXIT_STATUS_INCOMPLETE;
		}
	}
	for (size_t i = 0; i < output_count; i++) {
		outputs[i].status = worst;
		if (worst == EXIT_STATUS_USAGE || (!outputs[i].histories && !outputs[i].share)) {
			check_output_release(&outputs[i]);
		} else if (!check_output_end(&outputs[i], &err)) {
			output_message("%s", err.text);
			worst = EXIT_STATUS_INPUT;
		}
	}
	return worst;
}
