/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What recording costs a statement, without sockets: conversations like sysbench's are parsed,
 * captured and written, the bytes of a command in one piece and those of its answer in another.
 *
 *	bench_capture [STATEMENTS [LEVEL [point|read]]]
 *
 * 200000 statements, the proxy's own level and both workloads unless told otherwise.
 *
 * CPU time of the thread that parses and, apart, of the writer's thread; the best of five runs.
 * The budget (semantics.md, section 11) is 2 us + 1 ns a byte of the answer for both together and
 * the relay's own calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/clock.h"
#include "capture/capture.h"
#include "talk.h"

/* As the relay does it: several reads in one go. */
enum { SESSIONS = 8, RUNS = 5, RANGE = 100, IN_ONE_GO = 12 };

/* What sysbench prepares, by statement id. */
enum { ID_POINT = 1, ID_RANGE, ID_SUM, ID_UPDATE, ID_DELETE, ID_INSERT, ID_BEGIN, ID_COMMIT };

/* A command's bytes and those of its whole answer. */
struct exchange {
	struct buf command, answer;
};

struct script {
	const char *name;
	struct talk connect; /* the connection phase, and what is prepared */
	struct exchange *list;
	size_t count, capacity;
};

static void random_digits(char *out, size_t len)
{
	static uint64_t state = 88172645463325252u;

	for (size_t i = 0; i < len; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		out[i] = i % 12 == 11 ? '-' : (char)('0' + state % 10);
	}
	out[len] = '\0';
}

/* ---- what is said ---- */

/* Takes the packets that a helper of talk.h added as one exchange. */
static void take_exchange(struct script *script, struct talk *t)
{
	struct exchange *e;

	MEM_RESERVE(script->list, script->count + 1, script->capacity);
	e = &script->list[script->count++];
	*e = (struct exchange){BUF_INIT, BUF_INIT};
	for (size_t i = 0; i < t->count; i++)
		buf_add_span(t->steps[i].server ? &e->answer : &e->command,
			buf_span(&t->steps[i].bytes));
	talk_release(t);
}

static void prepare(struct talk *t, uint32_t id, const char *sql, unsigned columns, unsigned params)
{
	struct buf b = BUF_INIT;

	buf_add_char(&b, CMD_STMT_PREPARE);
	buf_add_str(&b, sql);
	talk_add(t, false, 0, b.data, b.len);
	buf_release(&b);
	talk_prepared(t, id, columns, params);
	for (unsigned i = 0; i < params; i++)
		talk_column(t, "?", TYPE_NULL, 0);
	if (params)
		talk_rows_end(t, STATUS_AUTOCOMMIT);
	for (unsigned i = 0; i < columns; i++)
		talk_column(t, "c", TYPE_STRING, 1);
	if (columns)
		talk_rows_end(t, STATUS_AUTOCOMMIT);
}

/* EXECUTE with integer parameters and perhaps a string after them, types sent each time. */
static void execute(struct talk *t, uint32_t id, unsigned integers, const char *text)
{
	unsigned count = integers + (text != NULL);
	struct buf b = BUF_INIT;

	buf_add_char(&b, CMD_STMT_EXECUTE);
	put_uint(&b, id, 4);
	put_uint(&b, 0, 1);
	put_uint(&b, 1, 4);
	if (count) {
		put_uint(&b, 0, (count + 7) / 8);
		put_uint(&b, 1, 1);
		for (unsigned i = 0; i < integers; i++)
			put_uint(&b, TYPE_LONGLONG, 2);
		if (text)
			put_uint(&b, TYPE_VAR_STRING, 2);
		for (unsigned i = 0; i < integers; i++)
			put_uint(&b, 5000 + i, 8);
		if (text)
			put_lenenc_str(&b, text);
	}
	talk_add(t, false, 0, b.data, b.len);
	buf_release(&b);
}

static void answer_rows(struct talk *t, unsigned rows, unsigned status)
{
	talk_count(t, 1, true);
	talk_column(t, "c", TYPE_STRING, 1);
	talk_definitions_end(t, status);
	for (unsigned i = 0; i < rows; i++) {
		struct buf b = BUF_INIT;
		char text[120];

		random_digits(text, 119);
		put_uint(&b, 0, 2);
		put_lenenc_str(&b, text);
		talk_server_buf(t, &b);
	}
	talk_rows_end(t, status);
}

static void select_rows(
	struct script *script, uint32_t id, unsigned integers, unsigned rows, unsigned status)
{
	struct talk t = {.caps = script->connect.caps};

	execute(&t, id, integers, NULL);
	answer_rows(&t, rows, status);
	take_exchange(script, &t);
}

static void change(struct script *script, uint32_t id, unsigned integers, bool text,
	unsigned status, unsigned affected)
{
	struct talk t = {.caps = script->connect.caps};
	char digits[120];

	random_digits(digits, 119);
	execute(&t, id, integers, text ? digits : NULL);
	talk_ok(&t, status, affected);
	take_exchange(script, &t);
}

static void script_init(struct script *script, const char *name)
{
	uint64_t caps = TALK_CAPS;

	*script = (struct script){.name = name};
	talk_connect(&script->connect, caps, caps);
	prepare(&script->connect, ID_POINT, "SELECT c FROM sbtest1 WHERE id=?", 1, 1);
	prepare(&script->connect, ID_RANGE, "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?", 1, 2);
	prepare(&script->connect, ID_SUM, "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?", 1,
		2);
	prepare(&script->connect, ID_UPDATE, "UPDATE sbtest1 SET c=? WHERE id=?", 0, 2);
	prepare(&script->connect, ID_DELETE, "DELETE FROM sbtest1 WHERE id=?", 0, 1);
	prepare(&script->connect, ID_INSERT, "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?,?,?,?)",
		0, 4);
	prepare(&script->connect, ID_BEGIN, "BEGIN", 0, 0);
	prepare(&script->connect, ID_COMMIT, "COMMIT", 0, 0);
}

static void script_point(struct script *script)
{
	script_init(script, "point select");
	for (int i = 0; i < 4096; i++)
		select_rows(script, ID_POINT, 1, 1, STATUS_AUTOCOMMIT);
}

static void script_read_write(struct script *script)
{
	const unsigned in = STATUS_AUTOCOMMIT | STATUS_IN_TRANS;

	script_init(script, "read write");
	for (int i = 0; i < 64; i++) {
		change(script, ID_BEGIN, 0, false, in, 0);
		for (int k = 0; k < 10; k++)
			select_rows(script, ID_POINT, 1, 1, in);
		select_rows(script, ID_RANGE, 2, RANGE, in);
		select_rows(script, ID_SUM, 2, 1, in);
		select_rows(script, ID_RANGE, 2, RANGE, in);
		select_rows(script, ID_RANGE, 2, RANGE, in);
		change(script, ID_UPDATE, 1, true, in, 1);
		change(script, ID_UPDATE, 1, true, in, 1);
		change(script, ID_DELETE, 1, false, in, 1);
		change(script, ID_INSERT, 3, true, in, 1);
		change(script, ID_COMMIT, 0, false, STATUS_AUTOCOMMIT, 0);
	}
}

static void script_release(struct script *script)
{
	for (size_t i = 0; i < script->count; i++) {
		buf_release(&script->list[i].command);
		buf_release(&script->list[i].answer);
	}
	free(script->list);
	talk_release(&script->connect);
}

/* ---- what it costs ---- */

struct live {
	struct wire wire;
	struct capture capture;
};

struct cost {
	double parsing_ns, writing_ns; /* a statement */
	double answer_bytes, raw_bytes, written_bytes;
};

static struct wire_stamp stamp(struct capture_worker *worker)
{
	return (struct wire_stamp){clock_mono_ns(), worker ? capture_begin_seq(worker) : 0, 0};
}

static void connect_all(struct live *lives, const struct talk *t, struct capture_worker *worker,
	struct capture_node *node)
{
	for (int i = 0; i < SESSIONS; i++) {
		struct live *live = &lives[i];

		wire_init(&live->wire, &capture_sink, &live->capture, NULL);
		capture_open(&live->capture, worker, node, (uint32_t)i + 1, "127.0.0.1:1");
		for (size_t k = 0; k < t->count; k++) {
			struct span bytes = buf_span(&t->steps[k].bytes);

			if (t->steps[k].server)
				wire_feed_server(&live->wire, bytes, stamp(NULL));
			else
				wire_feed_client(&live->wire, bytes, stamp(worker));
		}
		CHECK(live->wire.phase == WIRE_COMMANDS);
	}
}

/* Sessions are apart in the script, so that no block holds the same rows twice. */
static const struct exchange *exchange_at(const struct script *script, uint64_t i)
{
	size_t at = i / SESSIONS + i % SESSIONS * (script->count / SESSIONS);

	return &script->list[at % script->count];
}

/* The relay parses what the kernel has just copied for it: near, and always in the same place. */
static struct span received(const struct buf *bytes)
{
	static char scratch[64 * 1024];

	CHECK(bytes->len <= sizeof(scratch));
	memcpy(scratch, bytes->data, bytes->len);
	__asm__ volatile("" : : "r"(scratch) : "memory");
	return span_of(scratch, bytes->len);
}

/* The kernel's part, to be taken off. */
static double receiving_ns(const struct script *script, uint64_t statements)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (uint64_t i = 0; i < statements; i++) {
		(void)received(&exchange_at(script, i)->command);
		(void)received(&exchange_at(script, i)->answer);
	}
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

static struct cost run(const struct script *script, uint64_t statements, int level)
{
	static struct live lives[SESSIONS];
	struct capture_config config = {
		.levels = CAPTURE_PARAMS | CAPTURE_RESULTS, .values = {.value_keep_max = 1 << 20}};
	struct capture_node node = {.name = "node", .address = "127.0.0.1:3306"};
	struct capture_worker worker;
	struct trace_writer_options options;
	struct trace_writer_stats before, after;
	struct trace_writer *writer;
	struct cost cost = {0};
	uint64_t thread_ns, all_ns;
	struct err err;

	trace_writer_defaults(&options);
	options.wait_ms_max = 60000;
	options.sync = TRACE_SYNC_NEVER;
	options.compression_level = level;
	writer = trace_writer_open("/dev/null", &options, &err);
	if (!writer) {
		printf("%s\n", err.text);
		exit(1);
	}
	capture_worker_open(&worker, &config, writer, 0, 1);
	connect_all(lives, &script->connect, &worker, &node);
	trace_writer_stats(writer, &before);
	all_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	thread_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (uint64_t i = 0; i < statements; i++) {
		struct live *live = &lives[i % SESSIONS];
		const struct exchange *e = exchange_at(script, i);

		if (i % IN_ONE_GO == 0)
			capture_hold(&worker);
		wire_feed_client(&live->wire, received(&e->command), stamp(&worker));
		wire_feed_server(&live->wire, received(&e->answer), stamp(NULL));
		cost.answer_bytes += (double)e->answer.len;
		if (i % IN_ONE_GO == IN_ONE_GO - 1)
			capture_let_go(&worker);
	}
	if (statements % IN_ONE_GO)
		capture_let_go(&worker);
	thread_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - thread_ns;
	for (int i = 0; i < SESSIONS; i++) {
		CHECK(lives[i].wire.phase == WIRE_COMMANDS && lives[i].wire.count == 0);
		wire_end(&lives[i].wire, stamp(NULL));
		wire_release(&lives[i].wire);
		capture_close(&lives[i].capture, CLOSE_QUIT, NULL);
	}
	capture_worker_close(&worker);
	do
		trace_writer_stats(writer, &after);
	while (after.backlog_bytes && usleep(1000) == 0);
	all_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns;
	CHECK(trace_writer_close(writer, &err) && after.lost_records == 0);
	cost.writing_ns = (double)(all_ns - thread_ns) / (double)statements;
	cost.parsing_ns =
		((double)thread_ns - receiving_ns(script, statements)) / (double)statements;
	cost.answer_bytes /= (double)statements;
	cost.raw_bytes = (double)(after.bytes_raw - before.bytes_raw) / (double)statements;
	cost.written_bytes =
		(double)(after.bytes_written - before.bytes_written) / (double)statements;
	return cost;
}

static void bench(struct script *script, uint64_t statements, int level)
{
	struct cost best = {.parsing_ns = 1e30, .writing_ns = 1e30};
	double budget;

	for (int i = 0; i < RUNS; i++) {
		struct cost cost = run(script, statements, level);
		double parsing = best.parsing_ns, writing = best.writing_ns;

		best = cost;
		best.parsing_ns = cost.parsing_ns < parsing ? cost.parsing_ns : parsing;
		best.writing_ns = cost.writing_ns < writing ? cost.writing_ns : writing;
	}
	budget = 2000 + best.answer_bytes;
	printf("%-12s %5.0f bytes an answer: parsing and packing %5.0f ns, writing %5.0f ns; "
	       "together %.2f of the budget; trace %.0f bytes, written %.0f\n",
		script->name, best.answer_bytes, best.parsing_ns, best.writing_ns,
		(best.parsing_ns + best.writing_ns) / budget, best.raw_bytes, best.written_bytes);
	script_release(script);
}

int main(int argc, char **argv)
{
	uint64_t statements = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
	int level = argc > 2 ? atoi(argv[2]) : 0; /* as in isorec proxy */
	const char *only = argc > 3 ? argv[3] : "";
	struct script script;

	if (strcmp(only, "read") != 0) {
		script_point(&script);
		bench(&script, statements, level);
	}
	if (strcmp(only, "point") != 0) {
		script_read_write(&script);
		bench(&script, statements, level);
	}
	return 0;
}
