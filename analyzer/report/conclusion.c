/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/conclusion.h"

#include <string.h>

#include "sql/text/statement_pattern.h"
#include "trace/record.h"
#include "values/levels.h"

enum level_answer verdict_answer(const struct verdict *verdict, const char *level)
{
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (strcmp(verdict->levels[i].name, level) == 0)
			return verdict->levels[i].answer;
	}
	return LEVEL_UNDECIDED;
}

bool finding_counts(const struct verdict_context *context, const struct finding *finding)
{
	if (finding->severity == SEVERITY_APPLICATION)
		return context->fail_on != FAIL_ON_NONE;
	switch (context->fail_on) {
	case FAIL_ON_DOCUMENTED:
		return finding->severity != SEVERITY_COMPAT;
	case FAIL_ON_SUSPICION:
		return finding->severity == SEVERITY_VIOLATION ||
		       finding->severity == SEVERITY_SUSPICION;
	case FAIL_ON_VIOLATION:
		return finding->severity == SEVERITY_VIOLATION;
	case FAIL_ON_NONE:
		break;
	}
	return false;
}

/* What holds of nothing says nothing of a server. */
bool verdict_of_nothing(const struct verdict *verdict)
{
	return verdict->contract && !verdict->decided && !verdict->finding_count &&
	       !verdict->undecided && !verdict->unsupported;
}

void verdict_conclude(struct verdict_context *context, const struct verdict *verdict)
{
	bool fails = false, anomalies = false, open = context->damaged;

	for (size_t i = 0; i < verdict->finding_count; i++) {
		bool counts = finding_counts(context, &verdict->findings[i]);

		/* Of the application: nothing that the server promised was violated. */
		if (verdict->findings[i].pattern)
			anomalies |= counts;
		else
			fails |= counts;
	}

	/* A contract says which levels matter, and its findings say whether they hold. */
	for (size_t i = 0; !verdict->contract && !context->level && i < verdict->level_count; i++) {
		fails |= verdict->levels[i].answer == LEVEL_FAILS;
		open |= verdict->levels[i].answer == LEVEL_UNDECIDED;
	}
	if (context->level) {
		fails |= verdict_answer(verdict, context->level) == LEVEL_FAILS;
		open |= verdict_answer(verdict, context->level) == LEVEL_UNDECIDED;
	} else {
		open |= verdict->undecided > 0;
	}
	open |= verdict->unsupported > 0;
	open |= context->transactions == 0 || context->empty || verdict_of_nothing(verdict);
	context->conclusion = fails ? "violated" : anomalies ? "anomalies" : open ? "incomplete" : "ok";
	context->status = fails || anomalies ? EXIT_STATUS_VIOLATION
			  : open	     ? EXIT_STATUS_INCOMPLETE
					     : EXIT_STATUS_OK;
}

/* ---- promises ---- */

/* Write skew is what tells SERIALIZABLE from the levels below it. */
static const struct contract_rule *rule_of_skew(const struct contract_level *level)
{
	const uint64_t skew = (uint64_t)1 << CLASS_G2_ITEM | (uint64_t)1 << CLASS_G2;

	for (uint32_t i = 0; i < level->rule_count; i++)
		if (level->rules[i].allows & skew)
			return &level->rules[i];
	return NULL;
}

static bool is_promised(const struct verdict_context *context, const char *name)
{
	for (unsigned level = 0; name && level < CONTRACT_LEVELS; level++)
		if (context->level_txns[level] && strcmp(txn_level_name((uint8_t)level), name) == 0)
			return true;
	return false;
}

uint64_t count_wrong_sql(const struct verdict *verdict)
{
	uint64_t count = 0;

	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];

		if (f->class == CLASS_WRONG_SQL && f->severity == SEVERITY_VIOLATION)
			count += 1 + f->similar;
	}
	return count;
}

bool promise_next(const struct verdict_context *context, const struct verdict *verdict,
	struct promise *promise)
{
	const struct contract *contract = context->contract;
	unsigned levels = 0;
	bool only, anybodys = false;

	for (unsigned level = 0; level < CONTRACT_LEVELS; level++)
		levels += context->level_txns[level] != 0;
	only = levels == 1;
	for (unsigned level = promise->number; contract && level < CONTRACT_LEVELS; level++) {
		if (!context->level_txns[level])
			continue;
		*promise = (struct promise){.number = level + 1,
			.name = txn_level_name((uint8_t)level),
			.transactions = context->level_txns[level],
			.level = &contract->levels[level],
			.weaker = level == LEVEL_SERIALIZABLE ? rule_of_skew(&contract->levels[level]) : NULL};
		for (size_t i = 0; i < verdict->finding_count; i++) {
			const struct finding *f = &verdict->findings[i];

			if (f->severity != SEVERITY_VIOLATION || f->class == CLASS_WRONG_SQL ||
				finding_class_is_cluster(f->class))
				continue;
			/* Wrong final rows belong to no transaction: to the only level, or to any. */
			if (!is_promised(context, f->level)) {
				promise->broken += only ? 1 + f->similar : 0;
				anybodys = true;
			} else if (strcmp(f->level, promise->name) == 0) {
				promise->broken += 1 + f->similar;
			}
		}
		promise->answer = promise->broken ? PROMISE_BROKEN
				  : level == LEVEL_UNKNOWN || context->damaged || anybodys ||
						  verdict->undecided ||
						  verdict->unsupported || verdict_of_nothing(verdict)
					  ? PROMISE_OPEN
					  : PROMISE_KEPT;
		return true;
	}
	return false;
}

const char *promise_answer_name(enum promise_answer answer)
{
	switch (answer) {
	case PROMISE_KEPT:
		return "kept";
	case PROMISE_BROKEN:
		return "broken";
	case PROMISE_OPEN:
		return "undecided";
	}
	return "";
}

/* ---- JSON ---- */

static void string_json(struct json *json, const char *key, struct span value)
{
	json_key(json, key);
	json_string(json, value);
}

static void uint_json(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

static void extremes_json(
	struct json *json, const struct verdict *verdict, enum level_answer answer, const char *key)
{
	json_key(json, key);
	json_begin_array(json);
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (verdict->levels[i].answer == answer && level_is_extreme(verdict, i))
			json_string(json, span_str(verdict->levels[i].name));
	}
	json_end_array(json);
}

/* What the sentences call something, where that is not its own name. */
static void label_json(struct json *json, const char *key, struct span label, struct span name)
{
	if (label.ptr && name.ptr && !span_eq(label, name))
		string_json(json, key, label);
}

static void edge_json(struct json *json, const struct finding_edge *edge)
{
	json_begin_object(json);
	string_json(json, "from", edge->from);
	string_json(json, "to", edge->to);
	string_json(json, "kind", edge->kind);
	string_json(json, "object", edge->object);
	string_json(json, "from_version", edge->from_version);
	string_json(json, "to_version", edge->to_version);
	label_json(json, "from_label", edge->from_label, edge->from_version);
	label_json(json, "to_label", edge->to_label, edge->to_version);
	string_json(json, "explanation", edge->sentence);
	json_end_object(json);
}

static void step_json(struct json *json, const struct finding_step *step)
{
	struct span request = step->text.ptr ? statement_traceparent(step->text) : SPAN_NONE;

	json_begin_object(json);
	string_json(json, "transaction", step->transaction);
	uint_json(json, "session", step->session);
	uint_json(json, "statement", step->number);
	uint_json(json, "begin_ns", step->begin_ns);
	uint_json(json, "end_ns", step->end_ns);
	string_json(json, "sql", step->text);
	if (request.ptr)
		string_json(json, "traceparent", request);
	if (step->error)
		uint_json(json, "error", step->error);
	string_json(json, "what", step->what);
	json_end_object(json);
}

static void answer_rows_json(
	struct json *json, const char *key, const struct answer_row *rows, uint32_t count)
{
	json_key(json, key);
	json_begin_array(json);
	for (uint32_t i = 0; i < count; i++) {
		json_begin_object(json);
		string_json(json, "row", rows[i].text);
		json_key(json, "odd");
		json_bool(json, rows[i].odd);
		json_end_object(json);
	}
	json_end_array(json);
}

static void answer_json(struct json *json, const struct finding_answer *answer)
{
	json_key(json, "answer");
	json_begin_object(json);
	if (answer->number) {
		uint_json(json, "session", answer->session);
		uint_json(json, "statement", answer->number);
	}
	if (answer->table.ptr)
		string_json(json, "table", answer->table);
	answer_rows_json(json, "got", answer->got, answer->got_count);
	answer_rows_json(json, "expected", answer->expected, answer->expected_count);
	uint_json(json, "got_count", answer->got_total);
	uint_json(json, "expected_count", answer->expected_total);
	json_end_object(json);
}

/* What a reader needs: the statements in order, and the versions of the rows concerned. */
static void witness_json(struct json *json, const struct finding *finding)
{
	json_key(json, "witness");
	json_begin_object(json);
	json_key(json, "statements");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->step_count; i++)
		step_json(json, &finding->steps[i]);
	json_end_array(json);
	json_key(json, "rows");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->row_count; i++) {
		json_begin_object(json);
		string_json(json, "object", finding->rows[i].object);
		string_json(json, "versions",
			finding->rows[i].exact.ptr ? finding->rows[i].exact
						   : finding->rows[i].chain);
		string_json(json, "chain", finding->rows[i].chain);
		json_end_object(json);
	}
	json_end_array(json);
	if (finding->answer)
		answer_json(json, finding->answer);
	json_end_object(json);
}

static void known_json(struct json *json, const struct finding *finding)
{
	json_key(json, "known");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->known_count; i++)
		json_string(json, span_str(finding->known[i].id));
	json_end_array(json);
	if (!finding->known_count)
		return;
	json_key(json, "known_bugs");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->known_count; i++) {
		json_begin_object(json);
		string_json(json, "id", span_str(finding->known[i].id));
		string_json(json, "title", finding->known[i].title);
		string_json(json, "link", finding->known[i].link);
		string_json(json, "status", finding->known[i].status);
		json_end_object(json);
	}
	json_end_array(json);
}

/* Reports of one bug follow each other and share their status. */
bool known_next(const struct finding *finding, uint32_t *at, struct buf *line)
{
	const char *between = "known: ";

	buf_clear(line);
	while (*at < finding->known_count) {
		const struct finding_known *known = &finding->known[(*at)++];

		buf_printf(line, "%s%s", between, known->id);
		between = ", ";
		if (*at < finding->known_count &&
			span_eq(known->status, finding->known[*at].status))
			continue;
		if (known->status.len)
			buf_printf(line, ": %.*s", SPAN_ARG(known->status));
		return true;
	}
	return false;
}

/* The places of the code that a finding is about. */
static void pattern_json(struct json *json, const struct finding_pattern *pattern, struct span caveat)
{
	json_key(json, "pattern");
	json_begin_object(json);
	json_key(json, "statements");
	json_begin_array(json);
	for (uint32_t i = 0; i < pattern->code_count; i++) {
		json_begin_object(json);
		string_json(json, "role", span_str(pattern->codes[i].role));
		string_json(json, "sql", pattern->codes[i].sql);
		if (pattern->codes[i].tag.len)
			string_json(json, "tag", pattern->codes[i].tag);
		json_end_object(json);
	}
	json_end_array(json);
	string_json(json, "table", pattern->table);
	if (pattern->columns.len)
		string_json(json, "columns", pattern->columns);
	uint_json(json, "possible_pairs", pattern->possible_pairs);
	if (caveat.len)
		string_json(json, "caveat", caveat);
	json_key(json, "rows");
	json_begin_array(json);
	for (uint32_t i = 0; i < pattern->row_count; i++)
		json_string(json, pattern->rows[i]);
	json_end_array(json);
	uint_json(json, "row_count", pattern->row_total);
	json_key(json, "advice");
	json_begin_array(json);
	for (const char *const *advice = pattern->advice; advice && *advice; advice++)
		json_str(json, *advice);
	json_end_array(json);
	json_end_object(json);
}

static void spans_json(struct json *json, const char *key, const struct span *spans, uint32_t count)
{
	json_key(json, key);
	json_begin_array(json);
	for (uint32_t i = 0; i < count; i++)
		json_string(json, spans[i]);
	json_end_array(json);
}

/* Where in a cluster, and when. */
static void place_json(struct json *json, const struct finding_place *place)
{
	json_key(json, "cluster");
	json_begin_object(json);
	string_json(json, "phase", place->phase);
	spans_json(json, "nodes", place->nodes, place->node_count);
	spans_json(json, "rows", place->rows, place->row_count);
	uint_json(json, "row_count", place->row_total);
	spans_json(json, "logs", place->logs, place->log_count);
	uint_json(json, "from_ns", place->from_ns);
	uint_json(json, "to_ns", place->to_ns);
	if (place->page)
		string_json(json, "page", span_str(place->page));
	json_end_object(json);
}

void finding_json(struct json *json, const struct finding *finding)
{
	json_begin_object(json);
	string_json(json, "id", span_str(finding->id));
	string_json(json, "class", span_str(finding_name(finding)));
	string_json(json, "severity", span_str(severity_name(finding->severity)));
	string_json(json, "oracle", span_str(finding_oracle_name(finding->oracle)));
	string_json(json, "level", span_str(finding->level));
	if (finding->rule)
		string_json(json, "rule", span_str(finding->rule));
	known_json(json, finding);
	json_key(json, "transactions");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->transaction_count; i++)
		json_string(json, finding->transactions[i]);
	json_end_array(json);
	json_key(json, "edges");
	json_begin_array(json);
	for (uint32_t i = 0; i < finding->edge_count; i++)
		edge_json(json, &finding->edges[i]);
	json_end_array(json);
	witness_json(json, finding);
	string_json(json, "explanation", finding->explanation);
	if (finding->remark.len)
		string_json(json, "remark", finding->remark);
	string_json(json, "also", span_str(finding_variant_name(finding->variant)));
	uint_json(json, "similar", finding->similar);
	if (finding->place)
		place_json(json, finding->place);
	if (finding->pattern) {
		uint_json(json, "pairs", finding->pattern->pairs);
		pattern_json(json, finding->pattern, finding->caveat);
	}
	json_end_object(json);
}

static void phenomena_json(struct json *json, const char *key, uint64_t set)
{
	const char *name;

	json_key(json, key);
	json_begin_array(json);
	for (unsigned i = 0; (name = contract_phenomenon(set, i)) != NULL; i++)
		json_str(json, name);
	json_end_array(json);
}

/* What the contract promised at each level that was used, and whether it was kept. */
static void promises_json(
	struct json *json, const struct verdict_context *context, const struct verdict *verdict)
{
	struct promise promise = {0};

	json_key(json, "promises");
	json_begin_array(json);
	while (promise_next(context, verdict, &promise)) {
		json_begin_object(json);
		string_json(json, "level", span_str(promise.name));
		uint_json(json, "transactions", promise.transactions);
		string_json(json, "answer", span_str(promise_answer_name(promise.answer)));
		uint_json(json, "violations", promise.broken);
		if (promise.weaker)
			string_json(json, "not_serializable", span_str(promise.weaker->name));
		phenomena_json(json, "forbids", promise.level->forbids);
		json_key(json, "rules");
		json_begin_array(json);
		for (uint32_t i = 0; i < promise.level->rule_count; i++) {
			const struct contract_rule *rule = &promise.level->rules[i];

			json_begin_object(json);
			string_json(json, "name", span_str(rule->name));
			phenomena_json(json, "allows", rule->allows);
			string_json(json, "page", span_str(rule->page));
			json_end_object(json);
		}
		json_end_array(json);
		json_end_object(json);
	}
	json_end_array(json);
}

/* What holds components together; where they are small, with a drawing. */
static void component_json(struct json *json, const struct verdict_component *c)
{
	json_begin_object(json);
	uint_json(json, "transactions", c->transaction_count);
	uint_json(json, "arrows", c->arrow_count);
	uint_json(json, "findings", c->finding_count);
	string_json(json, "quality", span_str(feedback_quality_name(c->quality)));
	uint_json(json, "removed_count", c->removed_count);
	json_key(json, "removed");
	json_begin_array(json);
	for (uint32_t i = 0; i < c->removed_listed; i++)
		edge_json(json, &c->removed[i]);
	json_end_array(json);
	if (c->nodes) {
		json_key(json, "nodes");
		json_begin_array(json);
		for (uint32_t i = 0; i < c->transaction_count; i++) {
			json_begin_object(json);
			string_json(json, "name", c->nodes[i].name);
			json_key(json, "x");
			json_double(json, c->nodes[i].x);
			json_key(json, "y");
			json_double(json, c->nodes[i].y);
			json_end_object(json);
		}
		json_end_array(json);
		json_key(json, "drawn");
		json_begin_array(json);
		for (uint32_t i = 0; i < c->arrow_count; i++) {
			json_begin_object(json);
			uint_json(json, "from", c->arrows[i].from);
			uint_json(json, "to", c->arrows[i].to);
			string_json(json, "kind", span_str(graph_kind_name(c->arrows[i].dependency)));
			json_key(json, "removed");
			json_bool(json, c->arrows[i].removed);
			json_end_object(json);
		}
		json_end_array(json);
	}
	json_end_object(json);
}

static void components_json(struct json *json, const struct verdict *verdict)
{
	if (!verdict->component_count)
		return;
	json_key(json, "components");
	json_begin_array(json);
	for (size_t i = 0; i < verdict->component_count; i++)
		component_json(json, &verdict->components[i]);
	json_end_array(json);
}

/* All but the findings. */
static void verdict_head_json(
	struct json *json, const struct verdict_context *context, const struct verdict *verdict)
{
	json_key(json, "input");
	json_begin_object(json);
	string_json(json, "path", span_str(context->input));
	string_json(json, "format", span_str(context->format));
	uint_json(json, "transactions", context->transactions);
	uint_json(json, "operations", context->operations);
	if (context->sessions) {
		uint_json(json, "sessions", context->sessions);
		uint_json(json, "statements", context->statements);
		uint_json(json, "committed", context->committed);
		uint_json(json, "objects", context->objects);
		string_json(json, "server", context->server);
	}
	json_key(json, "complete");
	json_bool(json, !context->damaged);
	json_end_object(json);
	string_json(json, "contract", span_str(verdict->contract));
	string_json(json, "level", span_str(context->level));
	string_json(json, "verdict", span_str(context->conclusion));
	promises_json(json, context, verdict);
	json_key(json, "levels");
	json_begin_object(json);
	for (size_t i = 0; i < verdict->level_count; i++)
		string_json(json, verdict->levels[i].name,
			span_str(level_answer_name(verdict->levels[i].answer)));
	json_end_object(json);
	extremes_json(json, verdict, LEVEL_HOLDS, "strongest_holding");
	extremes_json(json, verdict, LEVEL_FAILS, "weakest_failing");
	components_json(json, verdict);
	if (verdict->for_application) {
		json_key(json, "harmless");
		json_begin_object(json);
		for (size_t i = 0; i < verdict->harmless_count; i++)
			uint_json(json, verdict->harmless[i].why, verdict->harmless[i].pairs);
		json_end_object(json);
		uint_json(json, "not_followed", verdict->not_followed);
	}
}

static void statement_json(struct json *json, const struct finding_step *step)
{
	uint_json(json, "session", step->session);
	uint_json(json, "statement", step->number);
	if (step->text.ptr)
		string_json(json, "sql", step->text);
}

/* The first statement of each reason that has one, and the statement that caused it. */
static void examples_json(struct json *json, const struct verdict *verdict)
{
	json_key(json, "examples");
	json_begin_object(json);
	for (size_t i = 0; i < verdict->reason_count; i++) {
		const struct verdict_reason *reason = &verdict->reasons[i];

		if (!reason->has_example)
			continue;
		json_key(json, reason->name);
		json_begin_object(json);
		statement_json(json, &reason->example);
		if (reason->has_culprit) {
			json_key(json, "made_unknown_by");
			json_begin_object(json);
			statement_json(json, &reason->culprit);
			json_end_object(json);
		}
		json_end_object(json);
	}
	json_end_object(json);
}

static void coverage_json(struct json *json, const struct verdict_context *context, const struct verdict *verdict)
{
	json_key(json, "coverage");
	json_begin_object(json);
	uint_json(json, "decided", verdict->decided);
	uint_json(json, "undecided", verdict->undecided);
	uint_json(json, "unsupported", verdict->unsupported);
	if (context->answers_doubted)
		uint_json(json, "answers_doubted", context->answers_doubted);
	if (verdict->open_sessions)
		uint_json(json, "sessions", verdict->open_sessions);
	json_key(json, "reasons");
	json_begin_object(json);
	for (size_t i = 0; i < verdict->reason_count; i++)
		uint_json(json, verdict->reasons[i].name, verdict->reasons[i].count);
	json_end_object(json);
	examples_json(json, verdict);
	if (verdict->note)
		string_json(json, "note", span_str(verdict->note));
	json_end_object(json);
}

void verdict_json(
	struct json *json, const struct verdict_context *context, const struct verdict *verdict)
{
	json_begin_object(json);
	string_json(json, "schema", SPAN_LIT("isotrace.check/1"));
	verdict_head_json(json, context, verdict);
	json_key(json, "findings");
	json_begin_array(json);
	for (size_t i = 0; i < verdict->finding_count; i++)
		finding_json(json, &verdict->findings[i]);
	json_end_array(json);
	coverage_json(json, context, verdict);
	json_end_object(json);
}

void verdict_summary_json(struct json *json, const struct verdict_context *context, const struct verdict *verdict,
	const uint64_t *history)
{
	json_begin_object(json);
	string_json(json, "schema", SPAN_LIT("isotrace.check/1"));
	string_json(json, "type", SPAN_LIT("verdict"));
	if (history) {
		uint_json(json, "history", *history);
		uint_json(json, "status", context->status);
	}
	verdict_head_json(json, context, verdict);
	coverage_json(json, context, verdict);
	json_end_object(json);
}
