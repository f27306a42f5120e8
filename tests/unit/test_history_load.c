/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loading from files: the same history whatever way the bytes come (one file, blocks of any size,
 * rotated segments, a pipe), what damage costs, and statements read again.
 *
 * One set of records is made, with some of everything; the history made of it in memory is the
 * yardstick, whose rules test_history.c checks.
 */
#include "unit.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "history_util.h"
#include "trace_make.h"

enum { TXNS = 3000, SESSIONS = 7 };

/* Where each record of `script` begins. */
static size_t starts[20 * TXNS];
static uint32_t record_count;

static void split_script(void)
{
	struct mp mp = mp_over(buf_span(&script));

	record_count = 0;
	while (mp.p < mp.end) {
		uint32_t kind, left;

		UNIT_REQUIRE(record_count + 1 < sizeof(starts) / sizeof(starts[0]));
		starts[record_count++] = (size_t)((const char *)mp.p - script.data);
		UNIT_REQUIRE(record_begin(&mp, &kind, &left) && record_skip_fields(&mp, left));
	}
	starts[record_count] = script.len;
}

static struct span records_between(uint32_t from, uint32_t to)
{
	return span_of(script.data + starts[from], starts[to] - starts[from]);
}

static void add_text_stmt(uint32_t session, uint32_t number, uint64_t txn)
{
	struct record_stmt record = {.session = session, .number = number, .txn = txn};
	char text[64];

	record.begin_seq = next_seq();
	record.seq = next_seq();
	record.command = 3;
	snprintf(text, sizeof(text), "select %u of session %u", number, session);
	record.text = span_str(text);
	record.error = number % 97 == 0 ? 1205 : 0;
	record_stmt_pack(&script, &record);
}

static void add_result(uint32_t session, uint32_t number)
{
	struct record_result record = {.seq = next_seq(), .session = session, .number = number};

	record.columns = SPAN_LIT("\x91\x93\xa1k\xa1t\xb0long column name");
	record.rows = SPAN_LIT("\x92\x91\x01\x91\x02");
	record_result_pack(&script, &record);
}

/* A long key, and versions that are no integers: the rows the fast path does not take. */
static void add_long_rows(uint32_t session, uint32_t number, uint64_t txn, unsigned round)
{
	struct record_probe record = {.seq = next_seq(), .session = session, .number = number};
	struct buf rows = BUF_INIT;
	char name[8], before[8];
	struct probe_row row = {.key = SPAN_LIT("\xb4long key of the row."), .op = PROBE_OP_UPDATE};

	snprintf(name, sizeof(name), "\xa5v%04u", round % 10000);
	snprintf(before, sizeof(before), "\xa5v%04u", (round - 1) % 10000);
	row.version = span_of(name, 6);
	row.previous = span_of(before, 6);
	row.has_previous = true;
	row.image = SPAN_LIT("\x92\x01\xa3"
			     "abc");
	buf_add(&rows, "\x91", 1);
	probe_row_pack(&rows, &row);
	record.txn = txn;
	record.probe = PROBE_WRITE;
	record.table = 1;
	record.exact = true;
	record.rows = buf_span(&rows);
	record_probe_pack(&script, &record);
	buf_release(&rows);
}

/* Sessions take turns; each transaction reads, writes and sometimes deletes or fails. */
static void make_script(void)
{
	uint32_t numbers[SESSIONS + 1] = {0};
	int version[32];

	script_reset();
	add_schema(1, "t", 1);
	for (int k = 0; k < 32; k++)
		version[k] = k;
	add_rows("initial", true, PAIRS({1, 1}, {2, 2}, {3, 3}));
	for (unsigned i = 1; i <= TXNS; i++) {
		uint32_t session = 1 + i % SESSIONS, *number = &numbers[session];
		int key = 1 + (int)(i * 7 % 31), fresh = 100 + (int)i;

		add_begin(session, i);
		++*number;
		add_probe(session, *number, i, PROBE_READ,
			{key, version[key], UNSAID, PROBE_OP_NONE, 0});
		add_result(session, *number);
		add_text_stmt(session, *number, i);
		++*number;
		add_probe_full(session, *number, i, PROBE_PM, true, PROBE_READ_CURRENT, "a > 3",
			ROWS({key, version[key], UNSAID, PROBE_OP_NONE, 0}));
		add_probe(session, *number, i, PROBE_WRITE,
			{key, fresh, version[key], PROBE_OP_UPDATE, 0});
		if (i % 50 == 0)
			add_long_rows(session, *number, i, i / 50);
		add_text_stmt(session, *number, i);
		add_end(session, i, i % 11 == 0 ? TXN_ABORTED : TXN_COMMITTED);
		if (i % 11 != 0 && *number % 97 != 0)
			version[key] = fresh;
	}
	split_script();
}

static void load_memory(struct history *history)
{
	struct err err;

	ck_assert_msg(history_load_records(history, buf_span(&script), NULL, &err), "%s", err.text);
}

static bool load_path(struct history *history, const char *path, bool salvage, struct err *err)
{
	struct history_load_options options = {.salvage = salvage};

	return history_load(history, path, &options, err);
}

#define SAME_ARRAY(a, b, array, count)                                                             \
	do {                                                                                       \
		ck_assert_uint_eq((a)->count, (b)->count);                                         \
		ck_assert(memcmp((a)->array, (b)->array, (a)->count * sizeof(*(a)->array)) == 0);  \
	} while (0)

/* Ids of versions depend on where blocks end; what they stand for does not. */
static bool same_version(const struct history *a, uint32_t x, const struct history *b, uint32_t y)
{
	const struct history_version *v = &a->versions[x], *w = &b->versions[y];

	if (x == HISTORY_NONE || y == HISTORY_NONE)
		return x == y;
	return v->object == w->object && v->flags == w->flags && v->txn == w->txn &&
	       v->stmt == w->stmt && v->position == w->position &&
	       v->name_is_bytes == w->name_is_bytes &&
	       (v->name_is_bytes ? span_eq(history_bytes(a, (uint32_t)v->name),
					   history_bytes(b, (uint32_t)w->name))
				 : v->name == w->name) &&
	       span_eq(history_bytes(a, v->image), history_bytes(b, w->image));
}

static void same_ops(const struct history *a, const struct history *b)
{
	ck_assert_uint_eq(a->op_count, b->op_count);
	for (uint32_t i = 0; i < a->op_count; i++) {
		const struct history_op *x = &a->ops[i], *y = &b->ops[i];

		UNIT_REQUIRE(x->txn == y->txn && x->stmt == y->stmt && x->object == y->object &&
			     x->kind == y->kind && x->flags == y->flags && x->probe == y->probe &&
			     x->read_kind == y->read_kind);
		if (x->kind == HISTORY_PREDICATE)
			UNIT_REQUIRE(a->predicates[x->predicate].match_count ==
				     b->predicates[y->predicate].match_count);
		else
			UNIT_REQUIRE(same_version(a, x->version, b, y->version));
	}
}

/* Everything but where statements are in the file. */
static void same(const struct history *a, const struct history *b)
{
	SAME_ARRAY(a, b, txns, txn_count);
	same_ops(a, b);
	ck_assert_uint_eq(a->object_count, b->object_count);
	ck_assert_uint_eq(a->order_count, b->order_count);
	for (uint32_t o = 0; o < a->object_count; o++) {
		const struct history_object *x = &a->objects[o], *y = &b->objects[o];

		UNIT_REQUIRE(span_eq(history_bytes(a, x->key), history_bytes(b, y->key)));
		UNIT_REQUIRE(x->order_count == y->order_count &&
			     x->installed_count == y->installed_count &&
			     x->order_problem == y->order_problem);
		for (uint32_t k = 0; k < x->order_count; k++) {
			uint32_t v = a->order[x->first_order + k], w = b->order[y->first_order + k];

			UNIT_REQUIRE(same_version(a, v, b, w));
			UNIT_REQUIRE(same_version(
				a, a->versions[v].previous, b, b->versions[w].previous));
		}
	}
	ck_assert_uint_eq(a->stmt_count, b->stmt_count);
	for (uint32_t s = 0; s < a->stmt_count; s++) {
		const struct history_stmt *x = &a->stmts[s], *y = &b->stmts[s];

		UNIT_REQUIRE(x->session == y->session && x->number == y->number &&
			     x->txn == y->txn && x->begin_seq == y->begin_seq &&
			     x->end_seq == y->end_seq && x->error == y->error &&
			     x->flags == y->flags);
	}
	ck_assert_uint_eq(a->counts.probe_rows, b->counts.probe_rows);
	ck_assert_uint_eq(a->counts.rows_skipped, b->counts.rows_skipped);
	ck_assert_uint_eq(a->counts.records_skipped, b->counts.records_skipped);
	ck_assert_uint_eq(a->counts.stmts_without_probe, b->counts.stmts_without_probe);
	ck_assert_uint_eq(a->counts.unwritten_versions, b->counts.unwritten_versions);
	ck_assert_uint_eq(a->counts.orders_unknown, b->counts.orders_unknown);
}

/* One block of the records from..to; `cut` bytes are taken from its last record. */
static void put_block(struct buf *file, const unsigned char marker[16], uint64_t number,
	uint32_t from, uint32_t to, bool compressed, const char *append)
{
	struct record_block info = {.producer = 1, .block = number};
	struct buf body = BUF_INIT, packed = BUF_INIT;
	uint32_t count = to - from + 1 + (append != NULL);

	info.first_seq = info.watermark = 1 + number;
	info.last_seq = 1ull << 40;
	record_block_pack(&body, &info);
	buf_add_span(&body, records_between(from, to));
	if (append)
		buf_add(&body, append, strlen(append));
	if (compressed) {
		size_t room = ZSTD_compressBound(body.len);

		packed.len =
			ZSTD_compress(buf_reserve(&packed, room), room, body.data, body.len, 1);
		ck_assert(!ZSTD_isError(packed.len));
		forge_frame(file, marker, TRACE_EXT_ZSTD, count, buf_span(&packed));
	} else {
		forge_frame(file, marker, TRACE_EXT_RAW, count, buf_span(&body));
	}
	buf_release(&body);
	buf_release(&packed);
}

/* The script as a file, in blocks of random sizes; block `bad` has a malformed record at its end.
 */
static char *script_file(const char *dir, uint64_t seed, uint64_t bad, uint32_t *bad_at)
{
	static const char broken[] = "\x93\x05\xff\xff"; /* a stmt whose session is negative */
	struct random random = {seed};
	struct buf file = BUF_INIT;
	unsigned char marker[16];
	char *path = temp_path(dir, "trace.itr");
	uint64_t number = 0;

	forge_header(&file, 0, marker);
	for (uint32_t at = 0; at < record_count; number++) {
		uint32_t most = seed % 2 ? 40 : 4000;
		uint32_t to = at + 1 + (uint32_t)random_below(&random, most);

		to = to < record_count ? to : record_count;
		put_block(&file, marker, number, at, to, random_below(&random, 2),
			number == bad ? broken : NULL);
		at = to;
		if (number == bad)
			*bad_at = to;
	}
	file_store(path, file.data, file.len);
	buf_release(&file);
	return path;
}

START_TEST(blocks_of_any_size_load_the_same)
{
	struct history expected;

	make_script();
	load_memory(&expected);
	/* The script is not a toy, and its rows are seen as what they are. */
	ck_assert_uint_eq(expected.txn_count, TXNS);
	ck_assert_uint_gt(expected.counts.probe_rows, 2 * TXNS);
	ck_assert_uint_eq(expected.counts.rows_skipped, 0);
	for (uint64_t seed = 0; seed < 6; seed++) {
		char *dir = temp_dir(), *path = script_file(dir, seed, UINT64_MAX, NULL);
		struct history history;
		struct err err;

		ck_assert_msg(load_path(&history, path, false, &err), "%s", err.text);
		same(&expected, &history);
		history_release(&history);
		free(path);
		temp_dir_remove(dir);
	}
	history_release(&expected);
}
END_TEST

START_TEST(a_malformed_record_costs_the_rest_of_its_block)
{
	struct history expected;

	make_script();
	load_memory(&expected);
	for (uint64_t seed = 0; seed < 4; seed++) {
		uint32_t bad_at = 0;
		char *dir = temp_dir(), *path = script_file(dir, seed, 1, &bad_at);
		struct history history;
		struct err err;

		ck_assert(bad_at > 0);
		ck_assert(!load_path(&history, path, false, &err));
		ck_assert_msg(strstr(err.text, "record") && strstr(err.text, "--salvage"), "%s",
			err.text);
		ck_assert_msg(load_path(&history, path, true, &err), "%s", err.text);
		/* What stands before it in its block and all other blocks are there. */
		history.counts.damaged_bytes = 0;
		ck_assert(!history.complete);
		same(&expected, &history);
		history_release(&history);
		free(path);
		temp_dir_remove(dir);
	}
	history_release(&expected);
}
END_TEST

/* Writes the script's statements and transactions through the writer, in segments. */
static char *rotated(const char *dir, struct trace_writer_options options)
{
	char *path = temp_path(dir, "segments");
	struct trace_writer *writer;
	struct trace_producer *producer;
	struct mp mp = mp_over(buf_span(&script));
	struct err err;

	writer = trace_writer_open(path, &options, &err);
	ck_assert_msg(writer != NULL, "%s", err.text);
	producer = trace_producer_open(writer);
	while (mp.p < mp.end) {
		uint32_t kind, left;

		UNIT_REQUIRE(record_begin(&mp, &kind, &left));
		if (kind == RECORD_STMT) {
			struct record_stmt record;

			UNIT_REQUIRE(record_stmt_read(&mp, left, &record));
			record.begin_seq = trace_seq(writer);
			record.seq = 0;
			trace_emit_stmt(producer, &record);
		} else if (kind == RECORD_TXN) {
			struct record_txn record;

			UNIT_REQUIRE(record_txn_read(&mp, left, &record));
			record.seq = 0;
			trace_emit_txn(producer, &record);
		} else {
			UNIT_REQUIRE(record_skip_fields(&mp, left));
		}
	}
	trace_producer_close(producer);
	ck_assert_msg(trace_writer_close(writer, &err), "%s", err.text);
	return path;
}

static uint32_t stmts_fetched(const struct history *history, bool backwards)
{
	uint32_t fetched = 0, step = backwards ? 401 : 1; /* backwards is dear: each starts anew */

	for (uint32_t i = 0; i < history->stmt_count; i += step) {
		uint32_t s = backwards ? history->stmt_count - 1 - i : i;
		const struct history_stmt *stmt = &history->stmts[s];
		struct arena arena = ARENA_INIT;
		struct record_stmt record;
		struct err err;
		char text[64];

		if (!history_fetch_stmt(history, s, &arena, &record, &err))
			ck_abort_msg("statement %u: %s", s, err.text);
		snprintf(text, sizeof(text), "select %u of session %u", stmt->number,
			history->sessions[stmt->session].number);
		UNIT_REQUIRE(record.number == stmt->number);
		UNIT_REQUIRE(span_eq_str(record.text, text));
		UNIT_REQUIRE(record.error == stmt->error);
		fetched++;
		arena_release(&arena);
	}
	return fetched;
}

START_TEST(segments_load_as_one_trace)
{
	struct trace_writer_options options;
	char *dir = temp_dir(), *path;
	struct history history;
	struct dirent *entry;
	struct err err;
	unsigned segments = 0;
	DIR *handle;

	make_script();
	trace_writer_defaults(&options);
	options.block_size = 4096;
	options.segment_size_max = 20000;
	path = rotated(dir, options);
	handle = opendir(path);
	ck_assert(handle != NULL);
	while ((entry = readdir(handle)))
		segments += entry->d_name[0] != '.';
	closedir(handle);
	ck_assert_uint_gt(segments, 3);
	ck_assert_msg(load_path(&history, path, false, &err), "%s", err.text);
	ck_assert(history.complete);
	ck_assert_uint_eq(history.txn_count, TXNS);
	ck_assert_uint_eq(history.stmt_count, 2 * TXNS);
	ck_assert_uint_eq(stmts_fetched(&history, false), 2 * TXNS);
	ck_assert_uint_gt(stmts_fetched(&history, true), 10);
	history_release(&history);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* Standard input that is a pipe is kept aside, so that statements can be read again. */
START_TEST(a_pipe_can_be_read_twice)
{
	char *dir = temp_dir(), *path;
	struct history expected, history;
	int saved = dup(STDIN_FILENO), fds[2], status;
	struct buf file;
	struct err err;
	pid_t child;

	make_script();
	load_memory(&expected);
	path = script_file(dir, 3, UINT64_MAX, NULL);
	file = file_load(path);
	ck_assert_int_eq(pipe(fds), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		FILE *out = fdopen(fds[1], "wb");
		bool ok;

		close(fds[0]);
		ok = out && fwrite(file.data, 1, file.len, out) == file.len;
		_exit(ok && fclose(out) == 0 ? 0 : 1);
	}
	close(fds[1]);
	ck_assert_int_eq(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
	close(fds[0]);
	ck_assert_msg(load_path(&history, "-", false, &err), "%s", err.text);
	ck_assert_int_eq(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	close(saved);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	same(&expected, &history);
	ck_assert_uint_eq(stmts_fetched(&history, false), history.stmt_count);
	history_release(&history);
	history_release(&expected);
	buf_release(&file);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

START_TEST(statements_that_are_gone_are_told)
{
	char *dir = temp_dir(), *path;
	struct arena arena = ARENA_INIT;
	struct record_stmt record;
	struct history history;
	struct err err;

	make_script();
	path = script_file(dir, 2, UINT64_MAX, NULL);
	ck_assert_msg(load_path(&history, path, false, &err), "%s", err.text);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(!history_fetch_stmt(&history, 0, &arena, &record, &err));
	ck_assert_msg(strstr(err.text, path) != NULL, "%s", err.text);
	history_release(&history);
	load_memory(&history);
	ck_assert(!history_fetch_stmt(&history, 0, &arena, &record, &err));
	history_release(&history);
	arena_release(&arena);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

UNIT_MAIN("history_load", blocks_of_any_size_load_the_same,
	a_malformed_record_costs_the_rest_of_its_block, segments_load_as_one_trace,
	a_pipe_can_be_read_twice, statements_that_are_gone_are_told)
