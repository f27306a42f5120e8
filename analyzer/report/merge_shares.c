/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/merge_shares.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/shard.h"
#include "base/text.h"
#include "import/scan.h"
#include "report/judge_trace.h"

enum { FILE_SIZE_MAX = 1 << 30, HISTORIES_MAX = 10 * 1000 * 1000 };

/* ---- lines ---- */

/* The value of a name of the object in which `line` begins: what stands between quotes, or the value as it is.  SPAN_NONE:
 * there is none. */
static struct span value_of(struct span line, const char *name)
{
	struct err err;
	struct scan s = {.end = line.ptr + line.len, .eof = true, .json = true, .err = &err};
	const char *p = scan_open(&s, scan_blank(&s, line.ptr), '{', "an object");

	while (p && !scan_close(&s, &p) && p) {
		struct span key, value;
		const char *begin;

		p = scan_name(&s, p, &key);
		begin = p ? p = scan_blank(&s, p) : NULL;
		if (!begin || !(p = scan_skip(&s, begin)))
			break;
		value = span_of(begin, (size_t)(p - begin));
		if (!span_eq_str(key, name))
			continue;
		if (value.len >= 2 && value.ptr[0] == '"')
			return span_of(value.ptr + 1, value.len - 2);
		return value;
	}
	return SPAN_NONE;
}

static bool number_of(struct span line, const char *name, uint64_t max, uint64_t *out)
{
	struct span value = value_of(line, name);

	return value.ptr && text_number(value, out) && *out <= max;
}

static bool is_type(struct span line, const char *type)
{
	struct span value = value_of(line, "type");

	return value.ptr && span_eq_str(value, type);
}

/* Calls `mark` with each number of the array, from 0. */
static bool take_shards(struct merged *m, struct span line, bool *marks)
{
	struct span array = value_of(line, "shards");
	uint64_t n = 0;
	bool digits = false;

	if (!array.ptr || array.len < 2 || array.ptr[0] != '[')
		return false;
	for (size_t i = 1; i < array.len; i++) {
		char c = array.ptr[i];

		if (c >= '0' && c <= '9') {
			n = n * 10 + (uint64_t)(c - '0');
			digits = true;
			if (n > SHARDS_MAX)
				return false;
		} else if (digits) {
			if (n < 1 || n > m->of)
				return false;
			marks[n - 1] = true;
			digits = false;
			n = 0;
		}
	}
	return true;
}

/* ---- what the lines say ---- */

struct adding {
	struct merged *m;
	const char *path;
	uint64_t number; /* of the line, from 1 */
	bool begun, ended;
	bool whole;      /* it is the one share of one, among shares of more */
	bool needless;   /* a share of more, after the one share of one */
	uint64_t open;   /* the history whose lines come; UINT64_MAX: none */
	struct buf lines;
	struct merged_history now;
	struct err *err;
};

static bool fail(const struct adding *a, const char *what)
{
	return err_set(a->err, ERR_FORMAT, "%s:%" PRIu64 ": %s", a->path, a->number, what);
}

static bool take_begin(struct adding *a, struct span line)
{
	struct merged *m = a->m;
	uint64_t of, histories;
	struct span digest = value_of(line, "list");

	if (!number_of(line, "of", SHARDS_MAX, &of) || !of || !number_of(line, "histories", HISTORIES_MAX, &histories) || digest.len != 16)
		return fail(a, "the first line of a share is not as isotrace check --shard writes it");
	if (!m->of) {
		m->of = (uint32_t)of;
		m->history_count = histories;
		memcpy(m->digest, digest.ptr, digest.len);
		m->histories = mem_zero(histories + 1, sizeof(*m->histories));
		m->seen = mem_zero(of, sizeof(*m->seen));
		m->ended = mem_zero(of, sizeof(*m->ended));
	}
	if (!span_eq_str(digest, m->digest) || histories != m->history_count)
		return fail(a, "this share is of another list of histories than those before it");
	a->begun = true;
	a->needless = m->of == 1 && of != 1;
	a->whole = of == 1 && m->of != 1;
	if (a->whole)
		memset(m->seen, true, m->of);
	if (a->whole || a->needless)
		return true;
	if (of != m->of)
		return err_set(a->err, ERR_FORMAT, "%s: a share of %" PRIu64 ", and those before it are of %u: all must be of one run",
			a->path, of, (unsigned)m->of);
	if (!take_shards(m, line, m->seen))
		return fail(a, "the shares' numbers are no list of numbers from 1 up");
	return true;
}

static enum exit_status status_of(struct span line)
{
	uint64_t status;

	return number_of(line, "status", EXIT_STATUS_BUG, &status) ? (enum exit_status)status : EXIT_STATUS_BUG;
}

/* The history whose lines have come is whole.  A share that was judged twice must say the same. */
static bool close_history(struct adding *a)
{
	struct merged_history *h;

	if (a->open == UINT64_MAX)
		return true;
	h = &a->m->histories[a->open];
	a->now.lines = buf_span(&a->lines);
	if (h->input.ptr && !span_eq(h->lines, a->now.lines))
		return err_set(a->err, ERR_FORMAT, "%s: history %" PRIu64 " (%.*s) was judged twice, and not alike: by two versions of "
			"isotrace, or was its file changed?", a->path, a->open, (int)(h->input.len < 300 ? h->input.len : 300), h->input.ptr);
	if (!h->input.ptr) {
		*h = a->now;
		h->lines = arena_copy(&a->m->arena, a->now.lines);
		h->input = arena_copy(&a->m->arena, a->now.input);
		h->verdict = a->now.verdict.ptr ? arena_copy(&a->m->arena, a->now.verdict) : SPAN_NONE;
	}
	buf_clear(&a->lines);
	a->open = UINT64_MAX;
	return true;
}

static void add_line(struct adding *a, struct span line)
{
	buf_add_span(&a->lines, line);
	buf_add_char(&a->lines, '\n');
}

static bool take_history(struct adding *a, struct span line)
{
	uint64_t history;
	struct span input = value_of(line, "input"), path;

	if (!number_of(line, "history", a->m->history_count ? a->m->history_count - 1 : 0, &history) || !input.ptr)
		return fail(a, "no number of a history of the list");
	if (is_type(line, "finding")) {
		if (history != a->open)
			return fail(a, "a finding that does not stand after its history's verdict");
		add_line(a, line);
		return true;
	}
	if (!close_history(a))
		return false;
	a->open = history;
	path = input.ptr[0] == '{' ? value_of(input, "path") : input;
	a->now = (struct merged_history){.input = path.ptr ? path : SPAN_LIT("?"), .status = status_of(line), .failed = is_type(line, "failure")};
	if (!a->now.failed)
		a->now.verdict = value_of(line, "verdict");
	add_line(a, line);
	return true;
}

static bool take_line(struct adding *a, struct span line)
{
	a->number++;
	if (!line.len)
		return true;
	if (a->ended)
		return fail(a, "lines after the end of the share");
	if (!a->begun)
		return is_type(line, "share") ? take_begin(a, line)
					      : fail(a, "this is no share: write it with isotrace check --shard=I/N --format=ndjson");
	if (is_type(line, "verdict") || is_type(line, "finding") || is_type(line, "failure"))
		return take_history(a, line);
	if (!is_type(line, "end"))
		return fail(a, "a line of a kind that is not known");
	a->ended = true;
	if (a->whole)
		memset(a->m->ended, true, a->m->of);
	return close_history(a) && (a->whole || a->needless || take_shards(a->m, line, a->m->ended) || fail(a, "the shares' numbers are no list of numbers from 1 up"));
}

bool merged_add(struct merged *m, const char *path, struct err *err)
{
	struct adding a = {.m = m, .path = path, .open = UINT64_MAX, .lines = BUF_INIT, .err = err};
	struct buf text = BUF_INIT;
	struct span rest;
	bool ok = file_read(path, FILE_SIZE_MAX, &text, err);

	rest = ok ? buf_span(&text) : SPAN_LIT("");
	/* A last line without its end was being written when its worker died. */
	for (const char *end; ok && rest.len && (end = memchr(rest.ptr, '\n', rest.len)) != NULL;) {
		size_t len = (size_t)(end - rest.ptr);

		ok = take_line(&a, span_of(rest.ptr, len));
		rest = span_of(end + 1, rest.len - len - 1);
	}
	if (ok && !a.begun)
		ok = err_set(err, ERR_EMPTY, "%s: there is no share in it: did its worker die before it began?", path);
	/* Of a history that was being written, findings may be missing. */
	buf_release(&a.lines);
	buf_release(&text);
	return ok;
}

/* ---- what they come to ---- */

static int severity_rank(struct span severity)
{
	static const char *const words[] = {"violation", "application", "suspicion", "documented", "compat"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_eq_str(severity, words[i]))
			return (int)i;
	return (int)ARRAY_LEN(words);
}

static int by_weight(const void *x, const void *y)
{
	const struct merged_finding *a = x, *b = y;
	int rank = severity_rank(a->severity) - severity_rank(b->severity), order;

	if (rank)
		return rank;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	order = span_cmp(a->class, b->class);
	return order ? order : span_cmp(a->known, b->known);
}

/* [{"id":"MDEV-1", ...}, ...] or ["MDEV-1"] as "MDEV-1, ...". */
static void add_known(struct buf *out, struct span array)
{
	struct err err;
	struct scan s = {.end = array.ptr + array.len, .eof = true, .json = true, .err = &err};
	const char *p = array.len ? scan_open(&s, array.ptr, '[', "a list") : NULL;

	while (p && !scan_close(&s, &p) && p) {
		const char *begin = scan_blank(&s, p);
		struct span value, id;

		p = begin ? scan_skip(&s, begin) : NULL;
		if (!p)
			break;
		value = span_of(begin, (size_t)(p - begin));
		id = value.ptr[0] == '{' ? value_of(value, "id") : value.len > 2 ? span_of(value.ptr + 1, value.len - 2) : SPAN_NONE;
		if (!id.ptr)
			continue;
		buf_add_str(out, out->len ? ", " : "");
		buf_add_span(out, id);
	}
}

static void count_finding(struct merged *m, uint64_t history, struct span line)
{
	struct span finding = value_of(line, "finding"), class, severity;
	struct merged_finding *kind = NULL;
	struct buf known = BUF_INIT;
	uint64_t similar = 0;

	if (!finding.ptr)
		return;
	class = value_of(finding, "class");
	severity = value_of(finding, "severity");
	add_known(&known, value_of(finding, "known").ptr ? value_of(finding, "known") : SPAN_LIT(""));
	(void)number_of(finding, "similar", UINT64_MAX, &similar);
	for (size_t i = 0; i < m->finding_count && !kind; i++)
		if (span_eq(m->findings[i].class, class) && span_eq(m->findings[i].severity, severity) &&
			span_eq(m->findings[i].known, buf_span(&known)))
			kind = &m->findings[i];
	if (!kind) {
		MEM_RESERVE(m->findings, m->finding_count + 1, m->finding_capacity);
		kind = &m->findings[m->finding_count++];
		*kind = (struct merged_finding){.class = class, .severity = severity, .known = arena_copy(&m->arena, buf_span(&known)),
			.first = m->histories[history].input};
	}
	kind->count += 1 + similar;
	kind->histories += kind->last != history + 1;
	kind->last = history + 1;
	buf_release(&known);
}

static void count_findings(struct merged *m, uint64_t history)
{
	struct span rest = m->histories[history].lines;

	for (const char *end; rest.len && (end = memchr(rest.ptr, '\n', rest.len)) != NULL;) {
		struct span line = span_of(rest.ptr, (size_t)(end - rest.ptr));

		if (is_type(line, "finding"))
			count_finding(m, history, line);
		rest = span_of(end + 1, rest.len - line.len - 1);
	}
}

void merged_conclude(struct merged *m)
{
	m->status = EXIT_STATUS_OK;
	for (uint64_t i = 0; i < m->history_count; i++) {
		const struct merged_history *h = &m->histories[i];

		m->missing += !h->input.ptr;
		if (!h->input.ptr)
			continue;
		if (exit_status_weight(h->status) > exit_status_weight(m->status))
			m->status = h->status;
		count_findings(m, i);
	}
	for (uint32_t i = 0; i < m->of; i++) {
		m->shares_missing += !m->seen[i];
		m->shares_cut += m->seen[i] && !m->ended[i];
	}
	if ((m->missing || m->shares_missing || m->shares_cut) && m->status == EXIT_STATUS_OK)
		m->status = EXIT_STATUS_INCOMPLETE;
	if (m->finding_count)
		qsort(m->findings, m->finding_count, sizeof(*m->findings), by_weight);
}

/* ---- the result ---- */

static void print_shards(const bool *marks, uint32_t of, bool whole, struct buf *out)
{
	bool first = true;

	buf_add_str(out, "\"shards\":[");
	for (uint32_t i = 0; i < (whole ? 1 : of); i++) {
		if (!whole && !marks[i])
			continue;
		buf_printf(out, "%s%u", first ? "" : ",", (unsigned)i + 1);
		first = false;
	}
	buf_printf(out, "],\"of\":%u", whole ? 1 : (unsigned)of);
}

/* A share that was cut short is none of those that are in it, though its whole histories are. */
void merged_ndjson(const struct merged *m, struct buf *out)
{
	bool whole = !m->missing && !m->shares_missing && !m->shares_cut;
	uint64_t judged = 0;

	buf_add_str(out, "{\"schema\":\"isotrace.share/1\",\"type\":\"share\",");
	print_shards(m->ended, m->of, whole, out);
	buf_printf(out, ",\"histories\":%" PRIu64 ",\"list\":\"%.*s\"}\n", m->history_count, 16, m->digest);
	for (uint64_t i = 0; i < m->history_count; i++) {
		buf_add_span(out, m->histories[i].lines.ptr ? m->histories[i].lines : SPAN_LIT(""));
		judged += m->histories[i].verdict.ptr != NULL;
	}
	buf_add_str(out, "{\"type\":\"end\",");
	print_shards(m->ended, m->of, whole, out);
	buf_printf(out, ",\"judged\":%" PRIu64 ",\"status\":%d}\n", judged, m->status);
}

void merged_init(struct merged *m)
{
	*m = (struct merged){.arena = ARENA_INIT};
}

void merged_release(struct merged *m)
{
	mem_free(m->histories);
	mem_free(m->seen);
	mem_free(m->ended);
	mem_free(m->findings);
	arena_release(&m->arena);
}
