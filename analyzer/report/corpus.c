/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/corpus.h"

#include <stdlib.h>

#include "base/mem.h"

/* ---- scenarios ---- */

static bool load_entry(struct corpus_scenarios *s, const char *path, struct err *err)
{
	struct buf text = BUF_INIT;
	struct corpus_entry entry = {.path = path};
	bool ok = file_read(path, SCENARIO_TEXT_MAX, &text, err) &&
		  scenario_parse(&entry.scenario, buf_span(&text), path, err);

	buf_release(&text);
	if (!ok)
		return false;
	entry.id = scenario_meta(&entry.scenario, "id");
	entry.title = scenario_meta(&entry.scenario, "title");
	if (!entry.id.len)
		ok = err_set(err, ERR_FORMAT, "%s: the scenario has no `# id:`", path);
	else if (corpus_entry(s, entry.id))
		ok = err_set(err, ERR_FORMAT, "%s: %s has the same id, %.*s", path,
			corpus_entry(s, entry.id)->path, SPAN_ARG(entry.id));
	if (!ok) {
		scenario_release(&entry.scenario);
		return false;
	}
	MEM_RESERVE(s->entries, s->count + 1, s->capacity);
	s->entries[s->count++] = entry;
	return true;
}

bool corpus_scenarios_load(struct corpus_scenarios *out, const char *folder, struct err *err)
{
	bool ok;

	*out = (struct corpus_scenarios){0};
	ok = files_below(folder, ".scn", &out->files, err);
	for (size_t i = 0; i < out->files.count && ok; i++)
		ok = load_entry(out, out->files.paths[i], err);
	if (ok && !out->count)
		ok = err_set(err, ERR_FORMAT, "%s: no scenario (*.scn) is below it", folder);
	if (!ok)
		corpus_scenarios_release(out);
	return ok;
}

void corpus_scenarios_release(struct corpus_scenarios *s)
{
	for (size_t i = 0; i < s->count; i++)
		scenario_release(&s->entries[i].scenario);
	mem_free(s->entries);
	file_list_release(&s->files);
	*s = (struct corpus_scenarios){0};
}

struct corpus_entry *corpus_entry(struct corpus_scenarios *s, struct span id)
{
	for (size_t i = 0; i < s->count; i++)
		if (span_eq(s->entries[i].id, id))
			return &s->entries[i];
	return NULL;
}

/* ---- recordings ---- */

static void recording_release(struct corpus_recording *r)
{
	scenario_release(&r->scenario);
	execution_release(&r->e);
	buf_release(&r->label);
}

static bool load_recording(struct corpus_recordings *all, const char *path, struct err *err)
{
	struct corpus_recording r = {.path = path};
	bool ok;

	scenario_init(&r.scenario);
	if (!execution_load(&r.e, path, NULL, err))
		return false;
	ok = r.e.scenario.ptr ? scenario_parse(&r.scenario, r.e.scenario, path, err)
			      : err_set(err, ERR_FORMAT,
					"%s: not a recording of a scenario by isorec run", path);
	if (ok) {
		r.id = scenario_meta(&r.scenario, "id");
		ok = r.id.len || err_set(err, ERR_FORMAT, "%s: its scenario has no id", path);
	}
	if (ok)
		ok = (known_judge(&r.scenario, &r.e, &r.answer, err) &&
			     known_violations(&r.e, &r.violations, err)) ||
		     err_prefix(err, "%s", path);
	if (!ok) {
		recording_release(&r);
		return false;
	}
	r.level = known_level(&r.e);
	r.level_word = r.level ? txn_level_short((uint8_t)r.level) : "unknown";
	for (size_t i = 0; !r.level && i < r.e.session_count; i++)
		if (r.e.sessions[i].level)
			r.level_word = "mixed";
	execution_label(&r.e, &r.label);
	execution_digest(&r.e, r.digest);
	MEM_RESERVE(all->items, all->count + 1, all->capacity);
	all->items[all->count++] = r;
	return true;
}

static int by_id_level(const void *a, const void *b)
{
	const struct corpus_recording *x = a, *y = b;
	int c = span_cmp(x->id, y->id);

	if (!c)
		c = (x->level > y->level) - (x->level < y->level);
	return c ? c : strcmp(x->path, y->path);
}

bool corpus_recordings_load(struct corpus_recordings *out, const char *folder, struct err *err)
{
	bool ok;

	*out = (struct corpus_recordings){0};
	ok = files_below(folder, ".itr", &out->files, err);
	for (size_t i = 0; i < out->files.count && ok; i++)
		ok = load_recording(out, out->files.paths[i], err);
	if (ok && !out->count)
		ok = err_set(err, ERR_FORMAT, "%s: no recording (*.itr) is below it", folder);
	if (!ok) {
		corpus_recordings_release(out);
		return false;
	}
	qsort(out->items, out->count, sizeof(*out->items), by_id_level);
	for (size_t i = 0; i < out->count; i++) {
		struct corpus_recording *r = &out->items[i];

		r->expected = scenario_verdict(&r->scenario, buf_span(&r->label), r->level);
	}
	return true;
}

void corpus_recordings_release(struct corpus_recordings *r)
{
	for (size_t i = 0; i < r->count; i++)
		recording_release(&r->items[i]);
	mem_free(r->items);
	file_list_release(&r->files);
	*r = (struct corpus_recordings){0};
}

/* ---- verifying ---- */

static bool same_section(const struct scenario_section *a, const struct scenario_section *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!span_eq(a->stmts[i].sql, b->stmts[i].sql))
			return false;
	return true;
}

static bool same_schedule(const struct scenario *a, const struct scenario *b)
{
	if (!same_section(&a->setup, &b->setup) || !same_section(&a->schedule, &b->schedule) ||
		!same_section(&a->final, &b->final))
		return false;
	for (size_t i = 0; i < a->schedule.count; i++)
		if (!span_eq(a->sessions[a->schedule.stmts[i].session].name,
			    b->sessions[b->schedule.stmts[i].session].name))
			return false;
	return true;
}

/* Recordings are called LABEL-LEVEL.itr in a folder of the scenario's id, or ID-LEVEL.itr (isorec
 * corpus; `.2`, `.trigger` and the like may follow the level).  Other names say nothing. */
static bool name_is_true(const struct corpus_recording *r)
{
	const char *slash = strrchr(r->path, '/'), *base = slash ? slash + 1 : r->path, *dash;
	const char *folder = slash;
	struct span word, head, parent;
	size_t len;

	dash = strrchr(base, '-');
	if (!dash)
		return true;
	len = strcspn(dash + 1, ".");
	word = span_of(dash + 1, len);
	if (!span_eq_str(word, "RU") && !span_eq_str(word, "RC") && !span_eq_str(word, "RR") &&
		!span_eq_str(word, "SER"))
		return true;
	while (folder && folder > r->path && folder[-1] != '/')
		folder--;
	head = span_of(base, (size_t)(dash - base));
	parent = folder ? span_of(folder, (size_t)(slash - folder)) : SPAN_NONE;
	return scenario_level_word(word) == r->level &&
	       (span_eq(head, r->id) ||
		       (span_eq(head, buf_span(&r->label)) && span_eq(parent, r->id)));
}

void corpus_verify(struct corpus_scenarios *s, struct corpus_recording *r, struct corpus_check *out)
{
	struct corpus_entry *entry = corpus_entry(s, r->id);
	struct err err;

	*out = (struct corpus_check){.recording = r};
	if (!entry) {
		buf_printf(&out->why, "the corpus has no scenario %.*s", SPAN_ARG(r->id));
		return;
	}
	entry->recordings++;
	if (!same_schedule(&entry->scenario, &r->scenario)) {
		buf_printf(&out->why, "recorded from another version of %s: record it again",
			entry->path);
		return;
	}
	if (!r->e.complete) {
		buf_printf(&out->why, "the trace is incomplete: %s", r->e.damage);
		return;
	}
	if (!name_is_true(r)) {
		buf_printf(&out->why, "the name is wrong: it is a recording of %.*s on %s at %s",
			SPAN_ARG(r->id), r->label.data, txn_level_name((uint8_t)r->level));
		return;
	}
	if (!known_judge(&entry->scenario, &r->e, &r->answer, &err)) {
		buf_printf(&out->why, "%s: %s", entry->path, err.text);
		return;
	}
	r->expected = scenario_verdict(&entry->scenario, buf_span(&r->label), r->level);
	if (!r->expected) {
		buf_printf(&out->why, "%s says nothing of %s at %s", entry->path, r->label.data,
			txn_level_name((uint8_t)r->level));
		return;
	}
	out->ok = known_as_expected(&r->answer, r->expected);
	if (!out->ok) {
		buf_printf(&out->why, "expected %.*s%s%.*s, found ", SPAN_ARG(r->expected->verdict),
			r->expected->detail.len ? " " : "", SPAN_ARG(r->expected->detail));
		known_print(&r->answer, &out->why);
	} else if (!known_violations_expected(&r->violations, r->expected)) {
		out->ok = false;
		buf_printf(&out->why, "expected of the oracle mvcc %s%.*s, found ",
			r->expected->detail.len ? "" : "no violation",
			SPAN_ARG(r->expected->detail));
		known_violations_print(&r->violations, &out->why);
	}
}

/* ---- comparing ---- */

const char *corpus_change_name(enum corpus_change change)
{
	static const char *const names[] = {"new", "fixed", "changed", "unchanged", "not run"};

	return names[change];
}

static void describe_first(
	struct corpus_comparison *c, struct corpus_pair *pair, const struct differential *d)
{
	const struct diff_item *first = &d->items[0];
	const struct diff_pair *at;
	const struct execution *e;
	int side;

	pair->differs = true;
	pair->class_ = first->class_;
	pair->cause = d->cause;
	pair->rule = d->rule;
	if (first->pair == EXECUTION_NONE)
		return;
	at = &d->pairs[first->pair];
	side = at->stmt[0] == EXECUTION_NONE;
	e = d->sides[side].e;
	pair->statement = span_str(arena_printf(&c->arena, "%.*s> %.*s",
		SPAN_ARG(e->sessions[at->session].name), SPAN_ARG(e->stmts[at->stmt[side]].sql)));
}

/* It shows, and the server's manual says that it does: neither a bug nor a weakness of the level.
 */
static bool documented(const struct corpus_recording *r)
{
	return r->answer.state == KNOWN_SHOWN && r->expected &&
	       span_eq_str(r->expected->verdict, "documented");
}

static void compare_pair(struct corpus_comparison *c, struct corpus_pair *pair)
{
	struct corpus_recording *a = pair->sides[0], *b = pair->sides[1];
	struct diff_side sides[2];
	struct differential d;
	struct err err;

	pair->change = CORPUS_NOT_RUN;
	if (!a || !b || a->answer.state == KNOWN_UNKNOWN || b->answer.state == KNOWN_UNKNOWN)
		return;
	for (int i = 0; i < 2; i++)
		sides[i] = (struct diff_side){
			.e = &pair->sides[i]->e, .contract = known_contract(&pair->sides[i]->e)};
	if (!differential_compare(&d, sides, &err))
		return; /* another version of the scenario */
	if (d.item_count)
		describe_first(c, pair, &d);
	differential_release(&d);
	if (a->answer.state != b->answer.state && !documented(a) && !documented(b))
		pair->change = b->answer.state == KNOWN_SHOWN ? CORPUS_NEW : CORPUS_FIXED;
	else if (a->e.complete && b->e.complete)
		pair->change = pair->differs ? CORPUS_CHANGED : CORPUS_UNCHANGED;
	/* What is missing may be all that differs, or that does not. */
}

static bool same_key(const struct corpus_recording *a, const struct corpus_recording *b)
{
	return span_eq(a->id, b->id) && a->level == b->level;
}

static bool refuse_doubles(const struct corpus_recordings *r, struct err *err)
{
	for (size_t i = 1; i < r->count; i++)
		if (same_key(&r->items[i - 1], &r->items[i]))
			return err_set(err, ERR_FORMAT,
				"%s and %s are of the same scenario and level: a folder to compare "
				"has one recording of each",
				r->items[i - 1].path, r->items[i].path);
	return true;
}

bool corpus_compare(struct corpus_comparison *out, struct corpus_recordings *old,
	struct corpus_recordings *new_, struct err *err)
{
	size_t i = 0, k = 0;

	*out = (struct corpus_comparison){.sides = {old, new_}, .arena = ARENA_INIT};
	if (!refuse_doubles(old, err) || !refuse_doubles(new_, err))
		return false;
	while (i < old->count || k < new_->count) {
		struct corpus_pair pair = {0};
		int order;

		if (i == old->count || k == new_->count) {
			order = i == old->count ? 1 : -1;
		} else {
			const struct corpus_recording *a = &old->items[i], *b = &new_->items[k];

			order = span_cmp(a->id, b->id);
			if (!order)
				order = (a->level > b->level) - (a->level < b->level);
		}
		if (order <= 0)
			pair.sides[0] = &old->items[i++];
		if (order >= 0)
			pair.sides[1] = &new_->items[k++];
		pair.id = pair.sides[!pair.sides[0]]->id;
		pair.title = scenario_meta(&pair.sides[!pair.sides[0]]->scenario, "title");
		pair.level = pair.sides[!pair.sides[0]]->level;
		pair.level_word = pair.sides[!pair.sides[0]]->level_word;
		compare_pair(out, &pair);
		out->by[pair.change]++;
		MEM_RESERVE(out->pairs, out->count + 1, out->capacity);
		out->pairs[out->count++] = pair;
	}
	return true;
}

void corpus_comparison_release(struct corpus_comparison *c)
{
	mem_free(c->pairs);
	arena_release(&c->arena);
	*c = (struct corpus_comparison){.arena = ARENA_INIT};
}
