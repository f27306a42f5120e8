/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/contract.h"

#include <stdio.h>

#include "server/flavour.h"
#include "trace/record.h"

/* The files of oracles/common/contracts, as the build turned them into strings. */
static const char innodb_text[] =
#include "common/innodb.contract.inc"
	;
static const char innodb_si_text[] =
#include "common/innodb-si.contract.inc"
	;
static const char tidb_text[] =
#include "common/tidb-pessimistic.contract.inc"
	;
static const char galera_text[] =
#include "common/galera.contract.inc"
	;
static const char galera_si_text[] =
#include "common/galera-si.contract.inc"
	;
static const char group_text[] =
#include "common/group-replication.contract.inc"
	;
static const char adya_text[] =
#include "common/adya.contract.inc"
	;

/* The classes that a contract may name, in the order in which they are listed. */
static const enum finding_class phenomena[] = {CLASS_G0, CLASS_G1A, CLASS_G1B, CLASS_G1C, CLASS_G_SINGLE, CLASS_G_NONADJACENT, CLASS_G2_ITEM, CLASS_G2, CLASS_GARBAGE_READ, CLASS_FUTURE_READ, CLASS_OWN_WRITE, CLASS_UNSTABLE_SNAPSHOT, CLASS_DUPLICATE_ROW, CLASS_SPLIT_STATEMENT, CLASS_SPLIT_STATEMENT_GAP, CLASS_LOST_VERSION, CLASS_DIRTY_READ, CLASS_WRONG_RESULT, CLASS_WRONG_ERROR, CLASS_MISSING_LOCK, CLASS_CURRENT_WRITE, CLASS_OWN_WRITE_SHOWS, CLASS_NOOP_UPDATE, CLASS_DELETED_ROW_STAYS, CLASS_NO_AUTOCOMMIT};

/* 0 for a name that is none. */
static uint64_t phenomenon_bit(struct span name)
{
	enum finding_class class;

	if (!finding_class_named(name, &class))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(phenomena); i++) {
		if (phenomena[i] == class)
			return (uint64_t)1 << class;
	}
	return 0;
}

/* Of the classes that a cluster may promise to be without. */
static uint64_t cluster_bit(struct span name)
{
	enum finding_class class;

	if (!finding_class_named(name, &class) || !finding_class_is_cluster(class))
		return 0;
	return (uint64_t)1 << (class - CLASS_LOST_COMMIT);
}

static uint32_t circumstance_bit(struct span name)
{
	static const char *const words[] = {
#define X(name, word) word,
		CONTRACT_CIRCUMSTANCES(X)
#undef X
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_eq_str(name, words[i]))
			return 1u << i;
	return 0;
}

struct parser {
	struct contract *out;
	struct contract_level *level; /* the cluster's part among them */
	struct contract_rule *rule;
	const char *source;
	unsigned line;
	struct err *err;
};

static struct span next_word(struct span *rest)
{
	struct span word;

	while (rest->len && (*rest->ptr == ' ' || *rest->ptr == '\t' || *rest->ptr == '\r'))
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	word = span_of(rest->ptr, 0);
	while (rest->len && *rest->ptr != ' ' && *rest->ptr != '\t' && *rest->ptr != '\r') {
		word.len++;
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	}
	return word;
}

static bool fail(struct parser *p, const char *what, struct span word)
{
	return err_set(p->err, ERR_FORMAT, "%s, line %u: %s '%.*s'", p->source, p->line, what,
		SPAN_ARG(word));
}

static bool copy_word(struct parser *p, char *out, size_t size, struct span word)
{
	if (word.len == 0 || word.len >= size)
		return fail(p, "a name of 1 to 199 characters belongs here, not", word);
	memcpy(out, word.ptr, word.len);
	out[word.len] = '\0';
	return true;
}

static bool parse_set(struct parser *p, struct span rest, uint64_t *set)
{
	bool cluster = p->level == &p->out->cluster, when = false;

	for (struct span word = next_word(&rest); word.len; word = next_word(&rest)) {
		uint64_t bit = cluster ? cluster_bit(word) : phenomenon_bit(word);

		if (cluster && p->rule && span_eq_str(word, "when")) {
			when = true;
		} else if (when) {
			if (!circumstance_bit(word))
				return fail(p, "'when' takes unflushed, killed, all-down and behind, not", word);
			p->rule->when |= circumstance_bit(word);
		} else if (!bit && !span_eq_str(word, "none")) {
			return fail(p, cluster ? "no phenomenon of a cluster is called" : "no phenomenon is called", word);
		}
		*set |= when ? 0 : bit;
	}
	return true;
}

static bool parse_level(struct parser *p, struct span word)
{
	for (uint8_t level = LEVEL_READ_UNCOMMITTED; level <= LEVEL_SERIALIZABLE; level++) {
		if (span_eq_str(word, txn_level_short(level))) {
			p->level = &p->out->levels[level];
			p->level->given = true;
			p->rule = NULL;
			return true;
		}
	}
	return fail(p, "level needs RU, RC, RR or SER, not", word);
}

static bool parse_engine(struct parser *p, struct span word)
{
	if (!span_eq_str(word, "tidb"))
		return fail(p, "engine needs tidb, not", word);
	p->out->engine = CONTRACT_ENGINE_TIDB;
	return true;
}

static bool parse_rule(struct parser *p, struct span rest)
{
	struct span allows;

	if (p->level->rule_count == CONTRACT_RULES_MAX)
		return fail(p, "too many rules at", rest);
	p->rule = &p->level->rules[p->level->rule_count++];
	if (!copy_word(p, p->rule->name, sizeof(p->rule->name), next_word(&rest)))
		return false;
	allows = next_word(&rest);
	if (!span_eq_str(allows, "allows"))
		return fail(p, "'allows' must follow a rule's name, not", allows);
	return parse_set(p, rest, &p->rule->allows);
}

static bool parse_line(struct parser *p, struct span line)
{
	struct span rest = line, word = next_word(&rest);

	if (word.len == 0 || *word.ptr == '#')
		return true;
	if (span_eq_str(word, "contract"))
		return copy_word(p, p->out->name, sizeof(p->out->name), next_word(&rest));
	if (span_eq_str(word, "engine"))
		return parse_engine(p, next_word(&rest));
	if (span_eq_str(word, "untimed")) {
		p->out->untimed = true;
		return true;
	}
	if (span_eq_str(word, "level"))
		return parse_level(p, next_word(&rest));
	if (span_eq_str(word, "cluster")) {
		p->level = &p->out->cluster;
		p->level->given = true;
		p->rule = NULL;
		return true;
	}
	if (!p->level && (span_eq_str(word, "forbids") || span_eq_str(word, "rule")))
		return fail(p, "a line 'level' or 'cluster' belongs before", word);
	if (span_eq_str(word, "forbids")) {
		p->rule = NULL;
		return parse_set(p, rest, &p->level->forbids);
	}
	if (span_eq_str(word, "rule"))
		return parse_rule(p, rest);
	if (span_eq_str(word, "page") && p->rule)
		return copy_word(p, p->rule->page, sizeof(p->rule->page), next_word(&rest));
	return fail(p, "contract, engine, untimed, level, cluster, forbids, rule or page belongs here, not", word);
}

bool contract_parse(struct contract *out, struct span text, const char *source, struct err *err)
{
	struct parser p = {.out = out, .source = source, .err = err};

	memset(out, 0, sizeof(*out));
	while (text.len) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;

		p.line++;
		if (!parse_line(&p, span_of(text.ptr, len)))
			return false;
		text = span_of(text.ptr + len + (end != NULL), text.len - len - (end != NULL));
	}
	if (!out->name[0])
		return err_set(err, ERR_FORMAT, "%s: no line 'contract NAME'", source);
	return true;
}

const char contract_not_promised[] = "not-promised";

const char *const contract_names[] = {
	"innodb", "innodb-si", "tidb-pessimistic", "galera", "galera-si", "group-replication", "adya", NULL};

bool contract_builtin(struct contract *out, const char *name, struct err *err)
{
	const struct {
		const char *name, *text;
	} files[] = {{"innodb", innodb_text}, {"innodb-si", innodb_si_text},
		{"tidb-pessimistic", tidb_text}, {"galera", galera_text},
		{"galera-si", galera_si_text}, {"group-replication", group_text}, {"adya", adya_text}};

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (strcmp(files[i].name, name) == 0)
			return contract_parse(out, span_str(files[i].text), name, err);
	}
	return err_set(err, ERR_USAGE,
		"no contract is called '%s'; there are innodb, innodb-si, tidb-pessimistic, "
		"galera, galera-si, group-replication and adya",
		name);
}

const char *contract_for(struct span flavour, bool snapshot_isolation)
{
	enum server_flavour server = server_flavour_named(flavour);

	if (server == SERVER_TIDB)
		return "tidb-pessimistic";
	if (server_has_innodb(server))
		return snapshot_isolation ? "innodb-si" : "innodb";
	return "adya";
}

const char *contract_phenomenon(uint64_t set, unsigned at)
{
	for (size_t i = 0; i < ARRAY_LEN(phenomena); i++) {
		if (set >> phenomena[i] & 1 && at-- == 0)
			return finding_class_name(phenomena[i]);
	}
	return NULL;
}

uint64_t contract_more_cycles(
	const struct contract *contract, const struct contract *engine, uint8_t level)
{
	const uint64_t cycles = (uint64_t)1 << CLASS_G0 | (uint64_t)1 << CLASS_G1A | (uint64_t)1 << CLASS_G1B |
				(uint64_t)1 << CLASS_G1C | (uint64_t)1 << CLASS_G_SINGLE |
				(uint64_t)1 << CLASS_G_NONADJACENT | (uint64_t)1 << CLASS_G2_ITEM |
				(uint64_t)1 << CLASS_G2;

	return contract->levels[level].forbids & ~engine->levels[level].forbids & cycles;
}

enum severity contract_judge(
	const struct contract *contract, uint8_t level, enum finding_class class, const char **rule)
{
	const struct contract_level *l =
		&contract->levels[level < CONTRACT_LEVELS ? level : LEVEL_UNKNOWN];
	/* Who promises right results promises them of statements that run alone, too. */
	uint64_t bit = (uint64_t)1 << (class == CLASS_WRONG_SQL ? CLASS_WRONG_RESULT : class);

	*rule = NULL;
	if (bit & l->forbids)
		return SEVERITY_VIOLATION;
	for (uint32_t i = 0; i < l->rule_count; i++) {
		if (bit & l->rules[i].allows) {
			*rule = l->rules[i].name;
			return SEVERITY_DOCUMENTED;
		}
	}
	*rule = contract_not_promised;
	return SEVERITY_DOCUMENTED;
}

enum severity contract_judge_cluster(const struct contract *contract, uint32_t circumstances, enum finding_class class,
	const struct contract_rule **rule)
{
	static const struct contract_rule not_promised = {.name = "not-promised"};
	const struct contract_level *c = &contract->cluster;
	uint64_t bit = (uint64_t)1 << (class - CLASS_LOST_COMMIT);

	/* What is documented is so although it is forbidden otherwise. */
	for (uint32_t i = 0; i < c->rule_count; i++) {
		if (bit & c->rules[i].allows && (c->rules[i].when & ~circumstances) == 0) {
			*rule = &c->rules[i];
			return SEVERITY_DOCUMENTED;
		}
	}
	*rule = bit & c->forbids ? NULL : &not_promised;
	return bit & c->forbids ? SEVERITY_VIOLATION : SEVERITY_DOCUMENTED;
}
