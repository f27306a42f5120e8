/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reducer/judge.h"

#include <stdio.h>

#include "adya/adya.h"
#include "common/known/signature.h"
#include "common/known/violations.h"
#include "common/merge_findings.h"
#include "model/history/load.h"
#include "mvcc/mvcc.h"

static bool has_rows_to_begin_with(const struct execution *e)
{
	for (size_t i = 0; i < e->table_count; i++)
		if (e->tables[i].has_initial)
			return true;
	return false;
}

static void judge_answers(const struct execution *e, const struct contract *contract, struct verdict *verdict)
{
	struct schedule schedule;

	schedule_init(&schedule, e);
	mvcc_check(&schedule, &(struct mvcc_options){.contract = contract, .all_sessions = e->scenario.ptr}, verdict);
	known_attach(verdict, e);
	schedule_release(&schedule);
}

static bool judge_versions(const char *path, const struct contract *contract, struct verdict *verdict, struct err *err)
{
	struct history history;

	if (!history_load(&history, path, NULL, err))
		return false;
	adya_check(&history, &(struct adya_options){.contract = contract, .session = true, .realtime = true}, verdict);
	history_release(&history);
	return true;
}

bool judge_recording(
	const struct execution *e, const char *path, const char *name, struct verdict *verdict, struct err *err)
{
	bool versions = path && e->probes > 0;
	struct contract contract;

	if (!contract_builtin(&contract, name ? name : known_contract(e), err))
		return false;
	verdict_init(verdict);
	if (!versions || has_rows_to_begin_with(e))
		judge_answers(e, &contract, verdict);
	if (versions && !judge_versions(path, &contract, verdict, err)) {
		verdict_release(verdict);
		return false;
	}
	verdict_join(verdict);
	verdict_sort(verdict);
	return true;
}

const char *judge_contract(const struct scenario *scenario, char out[CONTRACT_NAME_MAX])
{
	struct span name = scenario_meta(scenario, "contract");

	snprintf(out, CONTRACT_NAME_MAX, "%.*s", SPAN_ARG(name));
	return name.ptr ? out : NULL;
}
