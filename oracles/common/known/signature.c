/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/known/signature.h"

#include <ctype.h>

#include "base/bug.h"
#include "scenario/scenario.h"

enum { IDS_MAX = 16 };

const char *const known_entries[] = {
#include "common/known/known_entries.inc"
	NULL,
};

static struct span take_word(struct span *rest)
{
	struct span word;

	while (rest->len && (isspace((unsigned char)rest->ptr[0]) || rest->ptr[0] == ','))
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	word = span_of(rest->ptr, 0);
	while (word.len < rest->len && !isspace((unsigned char)rest->ptr[word.len]) &&
		rest->ptr[word.len] != ',')
		word.len++;
	*rest = span_of(rest->ptr + word.len, rest->len - word.len);
	return word;
}

static bool fits_line(const struct finding *finding, struct span line)
{
	struct span word = take_word(&line);

	if (!span_eq_str(word, finding_name(finding)))
		return false;
	while ((word = take_word(&line)).len) {
		unsigned trait = finding_trait(word);

		CHECK(trait < FINDING_TRAIT_COUNT); /* the entries are built in and tested */
		if (!(finding->traits & 1u << trait))
			return false;
	}
	return true;
}

static bool fits(const struct finding *finding, const struct scenario *entry, struct span release)
{
	enum txn_level level = scenario_level_word(span_str(finding->level));
	const struct scenario_verdict *expected = scenario_verdict(entry, release, level);

	if (!expected || !scenario_verdict_shows(expected))
		return false;
	for (size_t i = 0; i < entry->meta_count; i++) {
		if (span_eq_str(entry->meta[i].key, "signature") &&
			fits_line(finding, entry->meta[i].value))
			return true;
	}
	return false;
}

/* Of the entry's links the one that ends in the report's number, else the first. */
static struct span link_of(const struct scenario *entry, struct span id)
{
	size_t dash = 0;

	for (size_t i = 0; i < id.len; i++)
		if (id.ptr[i] == '-')
			dash = i + 1;
	for (size_t i = 0; i < entry->meta_count; i++) {
		struct span link = entry->meta[i].value, number = span_of(id.ptr + dash, id.len - dash);

		if (span_eq_str(entry->meta[i].key, "link") && link.len >= number.len &&
			span_eq(span_of(link.ptr + link.len - number.len, number.len), number))
			return link;
	}
	return scenario_meta(entry, "link");
}

/* All values of a key, with blanks between them. */
static struct span joined(struct arena *arena, const struct scenario *entry, const char *key)
{
	struct buf all = BUF_INIT;
	struct span out;

	for (size_t i = 0; i < entry->meta_count; i++) {
		if (!span_eq_str(entry->meta[i].key, key))
			continue;
		if (all.len)
			buf_add_char(&all, ' ');
		buf_add_span(&all, entry->meta[i].value);
	}
	out = arena_copy(arena, buf_span(&all));
	buf_release(&all);
	return out;
}

static void add(struct verdict *verdict, struct finding *finding, const struct scenario *entry)
{
	struct arena *arena = &verdict->arena;
	struct finding_known known[IDS_MAX];
	struct span title = joined(arena, entry, "title"), status = joined(arena, entry, "status");
	struct span rest = scenario_meta(entry, "known"), id;
	uint32_t count = 0;

	if (!rest.len)
		rest = scenario_meta(entry, "id");
	while (count < IDS_MAX && (id = take_word(&rest)).len) {
		known[count++] = (struct finding_known){
			.id = arena_printf(arena, "%.*s", SPAN_ARG(id)),
			.title = title,
			.link = arena_copy(arena, link_of(entry, id)),
			.status = status};
	}
	finding_add_known(verdict, finding, known, count);
}

/* Adds `# affects: RELEASE [LEVEL,...]` to what is expected: there the bug is, though the entry's
 * own schedule does not show it. */
static void add_affected_to_expected(struct scenario *entry)
{
	struct buf line = BUF_INIT;

	for (size_t i = 0, count = entry->meta_count; i < count; i++) {
		struct err err;
		bool ok;

		if (!span_eq_str(entry->meta[i].key, "affects"))
			continue;
		buf_clear(&line);
		buf_printf(&line, "%.*s = bug", SPAN_ARG(entry->meta[i].value));
		ok = scenario_add_meta(entry, SPAN_LIT("expect"), buf_span(&line), &err);
		CHECK(ok);
	}
	buf_release(&line);
}

void known_attach(struct verdict *verdict, const struct execution *e)
{
	struct buf release = BUF_INIT;
	bool any = false;

	for (size_t i = 0; i < verdict->finding_count; i++)
		any = any || (verdict->findings[i].oracle == FOUND_BY_MVCC &&
				     verdict->findings[i].level);
	if (!any)
		return;
	execution_label(e, &release);
	for (size_t n = 0; known_entries[n]; n++) {
		struct scenario entry;
		struct err err;
		bool parsed = scenario_parse(&entry, span_str(known_entries[n]), "entry", &err);

		CHECK(parsed);
		add_affected_to_expected(&entry);
		for (size_t i = 0; i < verdict->finding_count; i++) {
			struct finding *f = &verdict->findings[i];

			if (f->oracle == FOUND_BY_MVCC && f->level &&
				fits(f, &entry, buf_span(&release)))
				add(verdict, f, &entry);
		}
		scenario_release(&entry);
	}
	buf_release(&release);
}
