/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "application/words.h"

#include "base/buf.h"

enum { STEPS_MAX = 4, EDGES_MAX = 2, ROWS_MAX = 2, CHAIN_MAX = 6 };

struct teller {
	struct told *out;
	struct arena *arena;
	const struct history *history;
	const struct accesses *accesses;
};

#define SAY(t, ...) span_str(arena_printf((t)->arena, __VA_ARGS__))

static struct span txn_name(const struct teller *t, uint32_t txn)
{
	return SAY(t, "T%llu", (unsigned long long)t->history->txns[txn].number);
}

static struct span row_name(const struct teller *t, uint32_t version)
{
	return t->accesses->rows[t->accesses->versions[version].row].name;
}

/* "shop.stock(5) as (5, 'nails', 40)" */
static struct span row_as(const struct teller *t, uint32_t version)
{
	struct span image = SPAN_NONE;

	if (t->accesses->versions[version].absent)
		return SAY(t, "%.*s, which is not there", SPAN_ARG(row_name(t, version)));
	if (t->accesses->image)
		image = t->accesses->image(t->accesses->context, t->arena, version);
	if (!image.len)
		return arena_copy(t->arena, row_name(t, version));
	return SAY(t, "%.*s as %.*s", SPAN_ARG(row_name(t, version)), SPAN_ARG(image));
}

/* "v3": its place among the versions of its row. */
static struct span version_name(const struct teller *t, uint32_t version)
{
	return SAY(t, "v%u", version - t->accesses->rows[t->accesses->versions[version].row].first);
}

static void add_step(struct teller *t, uint32_t txn, uint32_t stmt, enum step_act act, struct span what)
{
	const struct history *h = t->history;
	struct finding_step *step;

	if (stmt == ACCESS_NONE || t->out->step_count == STEPS_MAX)
		return;
	step = &t->out->steps[t->out->step_count++];
	*step = (struct finding_step){.transaction = txn_name(t, txn),
		.session = h->sessions[h->txns[txn].session].number,
		.number = h->stmts[stmt].number,
		.stmt = stmt,
		.what = what,
		.act = act};
}

static void add_read_step(struct teller *t, uint32_t txn, uint32_t stmt, uint32_t missed, uint32_t position)
{
	const struct access_row *row = &t->accesses->rows[t->accesses->versions[missed].row];

	if (position == ACCESS_NONE)
		add_step(t, txn, stmt, STEP_READS, SAY(t, "reads without what is then written to %.*s", SPAN_ARG(row->name)));
	else
		add_step(t, txn, stmt, STEP_READS, SAY(t, "reads %.*s", SPAN_ARG(row_as(t, row->first + position))));
}

static void add_write_step(struct teller *t, uint32_t version)
{
	const struct access_version *v = &t->accesses->versions[version];

	if (v->absent)
		add_step(t, v->txn, v->stmt, STEP_DELETES, SAY(t, "deletes %.*s", SPAN_ARG(row_name(t, version))));
	else
		add_step(t, v->txn, v->stmt, STEP_WRITES, SAY(t, "writes %.*s", SPAN_ARG(row_as(t, version))));
}

static void add_edge(struct teller *t, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t version, struct span sentence)
{
	t->out->edges[t->out->edge_count++] = (struct finding_edge){.from = txn_name(t, from),
		.to = txn_name(t, to),
		.dependency = kind,
		.kind = span_str(graph_kind_name(kind)),
		.object = arena_copy(t->arena, row_name(t, version)), /* the accesses go first */
		.from_version = version_name(t, version),
		.to_version = version_name(t, version),
		.sentence = sentence};
}

/* `txn` did not see a version of another transaction. */
static void add_missed(struct teller *t, uint32_t txn, uint32_t version, uint32_t position)
{
	uint32_t other = t->accesses->versions[version].txn;
	struct span name = txn_name(t, txn), writer = txn_name(t, other), row = row_name(t, version);

	add_edge(t, txn, other, position == ACCESS_NONE ? GRAPH_PREDICATE_RW : GRAPH_RW, version,
		position == ACCESS_NONE
			? SAY(t, "%.*s read without what %.*s wrote to %.*s, which changes the answer", SPAN_ARG(name),
				  SPAN_ARG(writer), SPAN_ARG(row))
			: SAY(t, "%.*s read %.*s before %.*s %s it", SPAN_ARG(name), SPAN_ARG(row), SPAN_ARG(writer),
				  t->accesses->versions[version].absent ? "deleted" : "changed"));
}

/* The versions of a row around one. */
static void add_row(struct teller *t, uint32_t version)
{
	const struct access_row *row = &t->accesses->rows[t->accesses->versions[version].row];
	uint32_t at = version - row->first, from = at > CHAIN_MAX / 2 ? at - CHAIN_MAX / 2 : 0;
	struct buf chain = BUF_INIT;

	if (t->out->row_count == ROWS_MAX)
		return;
	buf_add_str(&chain, from ? "... -> " : "");
	for (uint32_t p = from; p < row->count && p < from + CHAIN_MAX; p++) {
		const struct access_version *v = &t->accesses->versions[row->first + p];

		buf_printf(&chain, "%s%s", p > from ? " -> " : "", v->absent ? "none" : "");
		if (!v->absent)
			buf_printf(&chain, "v%u", p);
		if (v->txn != ACCESS_NONE)
			buf_printf(&chain, " by T%llu", (unsigned long long)t->history->txns[v->txn].number);
	}
	buf_add_str(&chain, from + CHAIN_MAX < row->count ? " -> ..." : "");
	t->out->rows[t->out->row_count++] =
		(struct finding_row){.object = arena_copy(t->arena, row->name), .chain = arena_copy(t->arena, buf_span(&chain))};
	buf_release(&chain);
}

static void tell_lost_update(struct teller *t, const struct candidate *c)
{
	struct span name = txn_name(t, c->txn), other = txn_name(t, c->other), row = row_name(t, c->missed);

	add_read_step(t, c->txn, c->read, c->missed, c->position);
	add_write_step(t, c->missed);
	add_missed(t, c->txn, c->missed, c->position);
	switch (c->outcome) {
	case OUTCOME_WRITTEN:
	case OUTCOME_FRESH:
		add_write_step(t, c->wrote);
		add_edge(t, c->other, c->txn, GRAPH_WW, c->wrote,
			SAY(t, "%.*s then overwrote what %.*s had written to %.*s", SPAN_ARG(name), SPAN_ARG(other), SPAN_ARG(row)));
		t->out->explanation = SAY(t,
			"%.*s read %.*s. %.*s changed the row and committed. %.*s wrote the row without having seen that, so the "
			"change of %.*s is lost.",
			SPAN_ARG(name), SPAN_ARG(row), SPAN_ARG(other), SPAN_ARG(name), SPAN_ARG(other));
		t->out->caveat = SPAN_LIT("Whether it matters depends on what the program did with what it had read: the columns "
					  "that the two changed are not the same, or both set them to the same value.");
		break;
	case OUTCOME_NO_CHANGE:
		add_step(t, c->txn, c->then, STEP_WRITES, SAY(t, "sets %.*s, and changes nothing", SPAN_ARG(row_as(t, c->missed))));
		add_edge(t, c->other, c->txn, GRAPH_WR, c->missed,
			SAY(t, "%.*s then set %.*s to what %.*s had written already", SPAN_ARG(name), SPAN_ARG(row), SPAN_ARG(other)));
		t->out->explanation = SAY(t,
			"%.*s read %.*s. %.*s changed the row and committed. %.*s then set the row to the same values, without having "
			"seen that.",
			SPAN_ARG(name), SPAN_ARG(row), SPAN_ARG(other), SPAN_ARG(name));
		t->out->caveat = SPAN_LIT("Where the values are counts, one of the two is lost. Where they are a mark that is set "
					  "twice, nothing is.");
		break;
	case OUTCOME_GONE:
		add_step(t, c->txn, c->then, STEP_OTHER, SAY(t, "does not find %.*s any more", SPAN_ARG(row)));
		add_edge(t, c->other, c->txn, GRAPH_PREDICATE_WR, c->missed,
			SAY(t, "%.*s then looked for %.*s and did not find it, because of %.*s", SPAN_ARG(name), SPAN_ARG(row),
				SPAN_ARG(other)));
		t->out->explanation = SAY(t,
			"%.*s read %.*s. %.*s then changed or deleted the row and committed, so that the write of %.*s did not find "
			"it. %.*s went on, wrote other rows and committed.",
			SPAN_ARG(name), SPAN_ARG(row), SPAN_ARG(other), SPAN_ARG(name), SPAN_ARG(name));
		t->out->caveat = SPAN_LIT("That is in order where the program looks at the number of affected rows and does what is "
					  "right then; the trace does not tell.");
		break;
	}
	add_row(t, c->missed);
}

static void tell_write_skew(struct teller *t, const struct candidate *c)
{
	struct span name = txn_name(t, c->txn), other = txn_name(t, c->other);

	add_read_step(t, c->txn, c->read, c->missed, c->position);
	add_read_step(t, c->other, c->other_read, c->wrote, c->other_position);
	add_write_step(t, c->missed);
	add_write_step(t, c->wrote);
	add_missed(t, c->txn, c->missed, c->position);
	add_missed(t, c->other, c->wrote, c->other_position);
	t->out->explanation = SAY(t,
		"%.*s and %.*s ran at the same time. %.*s read %.*s and wrote %.*s; %.*s read %.*s and wrote %.*s. Neither saw what "
		"the other wrote, so a rule about both rows that each of them checked may not hold any more.",
		SPAN_ARG(name), SPAN_ARG(other), SPAN_ARG(name), SPAN_ARG(row_name(t, c->missed)), SPAN_ARG(row_name(t, c->wrote)),
		SPAN_ARG(other), SPAN_ARG(row_name(t, c->wrote)), SPAN_ARG(row_name(t, c->missed)));
	add_row(t, c->missed);
	add_row(t, c->wrote);
}

static void tell_read_skew(struct teller *t, const struct candidate *c)
{
	struct span name = txn_name(t, c->txn), other = txn_name(t, c->other);

	add_read_step(t, c->txn, c->read, c->missed, c->position);
	add_write_step(t, c->missed);
	if (t->accesses->versions[c->seen].stmt != t->accesses->versions[c->missed].stmt)
		add_write_step(t, c->seen);
	add_step(t, c->txn, c->then, STEP_READS, SAY(t, "reads %.*s", SPAN_ARG(row_as(t, c->seen))));
	add_missed(t, c->txn, c->missed, c->position);
	add_edge(t, c->other, c->txn, GRAPH_WR, c->seen,
		SAY(t, "%.*s then read %.*s as %.*s had written it", SPAN_ARG(name), SPAN_ARG(row_name(t, c->seen)), SPAN_ARG(other)));
	t->out->explanation = SAY(t,
		"%.*s wrote %.*s and %.*s. %.*s read the first one as it was before that and the second one as it was after: a state "
		"that never was.",
		SPAN_ARG(other), SPAN_ARG(row_name(t, c->missed)), SPAN_ARG(row_name(t, c->seen)), SPAN_ARG(name));
	add_row(t, c->missed);
	add_row(t, c->seen);
}

static void sort_steps(const struct teller *t)
{
	struct finding_step *steps = t->out->steps;

	for (uint32_t i = 1; i < t->out->step_count; i++) {
		for (uint32_t k = i; k && t->history->stmts[steps[k].stmt].begin_seq <
					     t->history->stmts[steps[k - 1].stmt].begin_seq;
			k--) {
			struct finding_step step = steps[k];

			steps[k] = steps[k - 1];
			steps[k - 1] = step;
		}
	}
}

void tell_candidate(struct told *out, struct arena *arena, const struct history *history,
	const struct accesses *accesses, const struct candidate *c)
{
	struct teller t = {out, arena, history, accesses};

	*out = (struct told){.transactions = arena_alloc(arena, 2 * sizeof(struct span)),
		.edges = arena_alloc(arena, EDGES_MAX * sizeof(struct finding_edge)),
		.steps = arena_alloc(arena, STEPS_MAX * sizeof(struct finding_step)),
		.rows = arena_alloc(arena, ROWS_MAX * sizeof(struct finding_row))};
	out->transactions[0] = txn_name(&t, c->txn);
	out->transactions[1] = txn_name(&t, c->other);
	switch (c->anomaly) {
	case ANOMALY_LOST_UPDATE:
		tell_lost_update(&t, c);
		break;
	case ANOMALY_WRITE_SKEW:
		tell_write_skew(&t, c);
		break;
	case ANOMALY_READ_SKEW:
		tell_read_skew(&t, c);
		break;
	case ANOMALY_COUNT:
		break;
	}
	sort_steps(&t);
}

struct span column_words(struct arena *arena, const struct access_table *table, uint64_t columns)
{
	struct buf text = BUF_INIT;
	struct span kept;

	for (uint32_t i = 0; i < table->column_count; i++) {
		if (columns & access_column(i) && table->columns[i].ptr)
			buf_printf(&text, "%s%.*s", text.len ? ", " : "", SPAN_ARG(table->columns[i]));
	}
	kept = arena_copy(arena, buf_span(&text));
	buf_release(&text);
	return kept;
}

const char *harmless_words(enum judgement judgement)
{
	switch (judgement) {
	case JUDGED_CERTAIN:
	case JUDGED_POSSIBLE:
	case JUDGEMENT_COUNT:
		break;
	case HARMLESS_READ_AGAIN:
		return "the row was read again before the write, as it was then (a locking read, or a new snapshot)";
	case HARMLESS_COMPUTED:
		return "the server computed the new value from the row as it was then (n = n + 1)";
	case HARMLESS_TESTED:
		return "the condition of the write tests what had changed (WHERE version = 5)";
	case HARMLESS_NOT_READ:
		return "the columns that changed are not those that were read";
	case HARMLESS_UNDONE:
		return "the row that was not seen was gone again before the transaction ended";
	}
	return "";
}

enum advice_about advice_about(const struct accesses *a, const struct candidate *c)
{
	switch (c->anomaly) {
	case ANOMALY_LOST_UPDATE:
		return c->outcome == OUTCOME_GONE ? ABOUT_FOUND_GONE : ABOUT_LOST_UPDATE;
	case ANOMALY_WRITE_SKEW:
		return c->missed > a->rows[a->versions[c->missed].row].first && a->versions[c->missed - 1].absent
			       ? ABOUT_INSERT_SKEW
			       : ABOUT_WRITE_SKEW;
	case ANOMALY_READ_SKEW:
	case ANOMALY_COUNT:
		break;
	}
	return ABOUT_READ_SKEW;
}

const char *const *advice_for(enum advice_about about, uint8_t level)
{
	static const char *const lost[] = {
		"let the server compute the new value from the row as it is then: UPDATE ... SET n = n + 1 WHERE ...",
		"or read the row with SELECT ... FOR UPDATE in the same transaction, so that others wait (Django: "
		"select_for_update(), Rails: lock, Sequelize: lock: t.LOCK.UPDATE, SQLAlchemy: with_for_update(), JPA: "
		"PESSIMISTIC_WRITE)",
		"or add a version column, write with WHERE id = ... AND version = <the one that was read>, and begin again when no "
		"row was changed",
		"or run the transaction at SERIALIZABLE, and again after a deadlock (error 1213)", NULL};
	static const char *const found_gone[] = {
		"read the row with SELECT ... FOR UPDATE (with SKIP LOCKED for a queue) in the same transaction",
		"or look at the number of affected rows after the write, and roll back when it is 0", NULL};
	static const char *const write_skew[] = {
		"read what decides with SELECT ... FOR UPDATE (or FOR SHARE), so that the other transaction waits",
		"or let a constraint keep the rule: UNIQUE, CHECK, a foreign key, or one row that all who check it lock first",
		"or run these transactions at SERIALIZABLE, and again after a deadlock (error 1213)", NULL};
	static const char *const insert_skew[] = {
		"let a UNIQUE key (or CHECK, or a foreign key) keep the rule, and read again when an INSERT fails because of it "
		"(error 1062)",
		"or lock one row that stands for the rule with SELECT ... FOR UPDATE before the reading: rows that are not there yet "
		"cannot be locked",
		"or run these transactions at SERIALIZABLE, and again after a deadlock (error 1213)", NULL};
	static const char *const read_skew_committed[] = {
		"read both in one statement, or run the transaction at REPEATABLE READ: its plain reads are then of one moment",
		"or read the rows with SELECT ... FOR SHARE or FOR UPDATE", NULL};
	static const char *const read_skew_repeatable[] = {
		"read all of it with locks (FOR UPDATE, FOR SHARE), or nothing: a locking read sees what is committed now, a plain "
		"one the snapshot",
		"or take the locking read first: the snapshot is then made after it", NULL};

	switch (about) {
	case ABOUT_LOST_UPDATE:
		return lost;
	case ABOUT_FOUND_GONE:
		return found_gone;
	case ABOUT_WRITE_SKEW:
		return write_skew;
	case ABOUT_INSERT_SKEW:
		return insert_skew;
	case ABOUT_READ_SKEW:
		break;
	}
	return level >= LEVEL_REPEATABLE_READ ? read_skew_repeatable : read_skew_committed;
}

struct span explain_pattern(struct arena *arena, const struct finding_pattern *pattern, struct span example)
{
	struct buf text = BUF_INIT;
	struct span kept;

	buf_printf(&text, "%llu pair%s of transactions, on %.*s", (unsigned long long)pattern->pairs,
		pattern->pairs == 1 ? "" : "s", SPAN_ARG(pattern->table));
	if (pattern->columns.len)
		buf_printf(&text, " (columns %.*s)", SPAN_ARG(pattern->columns));
	buf_add_char(&text, '.');
	for (uint32_t i = 0; i < pattern->code_count; i++) {
		const struct finding_code *code = &pattern->codes[i];

		buf_printf(&text, "%s %s `%.*s`", i ? "," : " The code", code->role, SPAN_ARG(code->sql));
		if (code->tag.len)
			buf_printf(&text, " (%.*s)", SPAN_ARG(code->tag));
	}
	buf_printf(&text, ". For example: %.*s To prevent it: ", SPAN_ARG(example));
	for (const char *const *advice = pattern->advice; *advice; advice++)
		buf_printf(&text, "%s%s", advice == pattern->advice ? "" : "; ", *advice);
	buf_add_char(&text, '.');
	kept = arena_copy(arena, buf_span(&text));
	buf_release(&text);
	return kept;
}
