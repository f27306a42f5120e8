/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other tools' histories: every format, every shape of it, every error, cut at every byte. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "import/import.h"

static void dump_list(
	const struct values *v, const uint32_t *items, uint32_t count, struct buf *out)
{
	buf_add_str(out, "[");
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			buf_add_str(out, " ");
		values_atom_text(v, v->items[items[i]].atom, out);
	}
	buf_add_str(out, "]");
}

static void dump_op(const struct values *v, const struct values_op *op, struct buf *out)
{
	static const char *const names[] = {"r", "w", "l", "a", "i", "d", "p"};

	buf_printf(out, " %s(", names[op->kind]);
	if (op->kind == VALUES_PREDICATE) {
		const struct values_predicate *p = &v->predicates[op->value];

		buf_printf(out, "%d %lld %lld ", p->kind, (long long)p->a, (long long)p->b);
		dump_list(v, v->matches + p->first_match, p->match_count, out);
		buf_add_str(out, ")");
		return;
	}
	values_atom_text(v, v->keys[op->key].atom, out);
	if (op->kind == VALUES_READ_LIST) {
		const struct values_key *k = &v->keys[op->key];

		buf_add_str(out, op->flags & VALUES_OP_OWN_LIST ? " own " : " ");
		if (op->flags & VALUES_OP_OWN_LIST)
			dump_list(v, v->lists + op->value + 1, v->lists[op->value], out);
		else
			dump_list(v, v->order + k->first_order, op->value, out);
	} else if (op->kind != VALUES_DELETE) {
		buf_add_str(out, " ");
		values_atom_text(v, v->items[op->value].atom, out);
		if (v->items[op->value].initial)
			buf_add_str(out, "*");
	}
	buf_add_str(out, ")");
}

/* One transaction a line: session, id, outcome, positions, operations. */
static void dump(const struct values *v, struct buf *out)
{
	values_check(v);
	for (uint32_t s = 0; s < v->session_count; s++) {
		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			const struct values_txn *t =
				&v->txns[v->session_txns[v->sessions[s].first_txn + i]];

			buf_printf(out, "%lld %lld %c", (long long)v->sessions[s].number,
				(long long)t->id, "cau"[t->outcome]);
			if (v->has_real_time)
				buf_printf(out, " %d-%d", (int)t->invoke, (int)t->complete);
			if (v->stamps) {
				const struct values_stamp *m = &v->stamps[t - v->txns];

				buf_printf(out, " %llu.%u-%llu.%u", (unsigned long long)m->start,
					m->start_logical, (unsigned long long)m->commit,
					m->commit_logical);
			}
			for (uint32_t o = 0; o < t->op_count; o++)
				dump_op(v, &v->ops[t->first_op + o], out);
			buf_add_str(out, "\n");
		}
	}
}

static void expect_bytes(enum import_format format, struct span input, const char *expected)
{
	static const size_t steps[] = {0, 1, 2, 3, 7};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct values v = {0};
		struct buf out = BUF_INIT;
		struct err err = {0};

		ck_assert_msg(import_memory(format, "in", input, steps[i], &v, &err),
			"step %zu: %s", steps[i], err.text);
		buf_add_str(&out, "");
		dump(&v, &out);
		ck_assert_msg(strcmp(out.data, expected) == 0, "step %zu:\n%s\nexpected:\n%s",
			steps[i], out.data, expected);
		buf_release(&out);
		values_release(&v);
	}
}

static void expect(enum import_format format, const char *input, const char *expected)
{
	expect_bytes(format, span_str(input), expected);
}

/* The message begins with the place and contains the words. */
static void refuse_bytes(enum import_format format, struct span input, const char *message)
{
	static const size_t steps[] = {0, 1, 5};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct values v = {0};
		struct err err = {0};

		ck_assert_msg(!import_memory(format, "in", input, steps[i], &v, &err),
			"accepted: %.*s", SPAN_ARG(input));
		ck_assert_msg(strstr(err.text, message) != NULL, "step %zu: `%s' lacks `%s'",
			steps[i], err.text, message);
		values_release(&v);
	}
}

static void refuse(enum import_format format, const char *input, const char *message)
{
	refuse_bytes(format, span_str(input), message);
}

static void detects(const char *bytes, size_t len, int expected)
{
	char path[] = "detect-XXXXXX";
	int fd = mkstemp(path);
	enum import_format format;
	bool found;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
	found = import_detect(path, &format);
	unlink(path);
	ck_assert_msg(found == (expected >= 0), "%s", bytes);
	ck_assert_msg(!found || format == (enum import_format)expected, "%s: %s", bytes,
		import_format_name(format));
}

START_TEST(elle_lists)
{
	expect(IMPORT_ELLE,
		"{:index 0, :time 5, :type :invoke, :process 0, :f :txn, :value [[:append 1 10] "
		"[:r 2 "
		"nil]]}\n"
		"{:index 1, :time 6, :type :invoke, :process 1, :f :txn, :value [[:r 1 nil]]}\n"
		"; a comment, then a fault\n"
		"{:index 2 :type :info :process :nemesis :f :kill :value {:n1 [:a #{1}]}}\n"
		"{:index 3, :type :ok, :process 0, :f :txn, :value [[:append 1 10] [:r 2 []]]}\n"
		"{:index 4, :type :ok, :process 1, :f :txn, :value [[:r 1 [10]]]}\n"
		"{:index 5, :type :invoke, :process 0, :f :txn, :value [[:append 1 11]]}\n"
		"{:index 6, :type :ok, :process 0, :f :txn, :value [[:append 1 11]]}\n"
		"{:index 7, :type :invoke, :process 1, :f :txn, :value [[:r 1 nil]]}\n"
		"{:index 8, :type :ok, :process 1, :f :txn, :value [[:r 1 [10 11]]]}\n",
		"0 3 c 0-3 a(1 10) l(2 [])\n"
		"0 6 c 5-6 a(1 11)\n"
		"1 4 c 1-4 l(1 [10])\n"
		"1 8 c 7-8 l(1 [10 11])\n");
}
END_TEST

START_TEST(elle_outcomes)
{
	/* Completions take the invocation's operations where they have none of their own; a read of
	 * nil is unknown in :info; what never completes may have committed. */
	expect(IMPORT_ELLE,
		"{:type :invoke :process 0 :value [[:w :x 1] [:r :y nil]]}"
		"{:type :fail :process 0 :error :conflict}"
		"{:type :invoke :process 1 :value [[:w :x 2] [:r :y nil]]}"
		"{:type :info :process 1 :value nil}"
		"{:type :invoke :process 2 :value [[:w :x 3] [:r :y nil]]}"
		"{:type :invoke :process 3 :value [[:r :x nil]]}"
		"{:type :ok :process 3 :value [[:r :x 2]]}"
		"{:type :invoke :process 4 :value [[:r :x nil]]}"
		"{:type :info :process 4 :value [[:r :x 2] [:r :y nil]]}",
		"0 1 a 0-1 w(:x 1)\n"
		"1 3 u 2-3 w(:x 2)\n"
		"2 4 u 4--1 w(:x 3)\n"
		"3 6 c 5-6 r(:x 2)\n"
		"4 8 u 7-8 r(:x 2)\n");
}
END_TEST

START_TEST(elle_nemesis)
{
	/* What the nemesis says may be anything, and its :process may come after it. */
	expect(IMPORT_ELLE,
		"{:type :info, :f :start, :value [:isolated {\"n2\" #{\"n1\"}}], :process :nemesis}\n"
		"{:type :info :value [[:r 1 [9]] \"n1\" {:a nil}] :process :nemesis :error [:x]}\n"
		"{:process :nemesis, :type :info, :f :stop, :value [\"n1\" {\"n1\" \"ERR\"}]}\n"
		"#jepsen.history.Op{:index 3, :time -1, :type :invoke, :process 0, :f :txn,"
		" :value [[:append :x 1]]}\n"
		"{:type :info, :value [[:append :x 1]], :error :timeout, :process 0, :index 9}\n"
		"{:type :ok, :f :txn, :value [[:r :x [1]]], :process 1, :index 12}\n",
		"0 9 u 3-4 a(:x 1)\n1 12 c -1-5 l(:x [1])\n");
}
END_TEST

START_TEST(elle_completions_only)
{
	expect(IMPORT_ELLE,
		"[{:process 0, :type :ok, :value [[:append :x 1] [:r :y nil]]}\n"
		" {:value [[:r :x [1]]], :type :ok, :process 1}]\n",
		"0 0 c a(:x 1) r(:y nil*)\n"
		"1 1 c l(:x [1])\n");
	/* No process, with invocations: a pair is one transaction. */
	expect(IMPORT_ELLE,
		"{:index 0 :type :invoke :value [[:append 1 1] [:r 2 nil]]}\n"
		"{:index 1 :type :ok :value [[:append 1 1] [:r 2 nil]]}\n"
		"{:index 2 :type :invoke :value [[:append 2 3]]}\n"
		"{:index 3 :type :fail :error :conflict}\n",
		"0 1 c 0-1 a(1 1) l(2 [])\n"
		"2 3 a 2-3 a(2 3)\n");
	refuse(IMPORT_ELLE,
		"{:type :invoke :value [[:append 1 1]]}\n{:type :invoke :value [[:append 1 2]]}\n",
		"in:2 (byte 77): an invocation without a :process while another is open");
	/* No process: each its own session.  Tagged, in a list. */
	expect(IMPORT_ELLE,
		"(#jepsen.history.Op{:type :ok, :value [[:w \"k\" -7]]} #_{:type :bad}"
		" #jepsen.history.Op{:type :ok, :value [[:r \"k\" -7] [:r 5000000000 nil]]})",
		"0 0 c w(\"k\" -7)\n"
		"1 1 c r(\"k\" -7) r(5000000000 nil*)\n");
	expect(IMPORT_ELLE, "", "");
	expect(IMPORT_ELLE, " \n; nothing\n", "");
	expect(IMPORT_ELLE, "[]", "");
}
END_TEST

START_TEST(elle_longest_list)
{
	/* Shorter, longer, equal, other spacing, incompatible, a prefix that ends inside a number.
	 */
	expect(IMPORT_ELLE,
		"{:type :ok :process 0 :value [[:r 1 [1 2 30]]]}"
		"{:type :ok :process 1 :value [[:r 1 [1 2]]]}"
		"{:type :ok :process 2 :value [[:r 1 [1 2 3]]]}"
		"{:type :ok :process 3 :value [[:r 1 [1 2 30 4]]]}"
		"{:type :ok :process 4 :value [[:r 1 [1, 2, 30]]]}"
		"{:type :ok :process 5 :value [[:r 1 [ 1 2 30 4 5 ]]]}"
		"{:type :ok :process 6 :value [[:r 1 [1 2 30 4 5]]]}"
		"{:type :ok :process 7 :value [[:r 1 [2]]]}"
		"{:type :info :process 8 :value [[:r 1 [1 2 30 4 5 6]]]}"
		"{:type :info :process 9 :value [[:r 1 [1 2]]]}"
		"{:type :ok :process 10 :value [[:r 1 ()]]}"
		"{:type :ok :process 11 :value [[:r 1 [1 2 30 45]]]}",
		"0 0 c l(1 [1 2 30])\n"
		"1 1 c l(1 [1 2])\n"
		"2 2 c l(1 own [1 2 3])\n"
		"3 3 c l(1 [1 2 30 4])\n"
		"4 4 c l(1 [1 2 30])\n"
		"5 5 c l(1 [1 2 30 4 5])\n"
		"6 6 c l(1 [1 2 30 4 5])\n"
		"7 7 c l(1 own [2])\n"
		"8 8 u l(1 own [1 2 30 4 5 6])\n"
		"9 9 u l(1 [1 2])\n"
		"10 10 c l(1 [])\n"
		"11 11 c l(1 own [1 2 30 45])\n");
}
END_TEST

START_TEST(elle_closed_predicate)
{
	expect(IMPORT_ELLE,
		"{:type :ok :f :init :value {:x 0, :y nil}}\n"
		"{:type :ok :process 1 :f :txn :value [[:insert :y 3] [:delete :x] [:w :z 4] [:r "
		":x 0]]}\n"
		"{:type :ok :process 2 :f :txn :value [[:rp :true {:x 0, :y 3}] [:rp [:= 3] {:y 3}]"
		" [:rp [:mod 2 1] {}]]}\n",
		"1 1 c i(:y 3) d(:x) w(:z 4) r(:x 0*)\n"
		"2 2 c p(0 0 0 [0 3]) r(:x 0*) r(:y 3) p(1 3 0 [3]) r(:y 3) p(2 2 1 [])\n");
	/* All micro-operations of some generators have three parts. */
	expect(IMPORT_ELLE, "{:type :ok :process 1 :value [[:delete :x nil] [:delete :y]]}",
		"1 0 c d(:x) d(:y)\n");
	refuse(IMPORT_ELLE, "{:type :ok :process 1 :value [[:delete :x 3]]}",
		"expected the end of the micro");
}
END_TEST

/* A read without a result is one of nil, as Clojure takes it, where the operation is complete. */
START_TEST(elle_no_result)
{
	struct values v;
	struct err err;

	expect(IMPORT_ELLE, "{:type :ok :process 1 :value [[:r :x] [:r :y nil] (:r :z)]}",
		"1 0 c r(:x nil*) r(:y nil*) r(:z nil*)\n");
	expect(IMPORT_ELLE_JSON, "{\"type\":\"ok\",\"process\":1,\"value\":[[\"r\",\"x\"]]}",
		"1 0 c r(\"x\" nil*)\n");
	ck_assert(import_memory(IMPORT_ELLE, "in",
		SPAN_LIT("{:type :info :process 1 :value [[:r :x] [:w :y 1]]}"), 0, &v, &err));
	ck_assert_uint_eq(v.op_count, 1);
	ck_assert_uint_eq(v.counts.reads_unknown, 1);
	values_release(&v);
}
END_TEST

START_TEST(elle_json)
{
	expect(IMPORT_ELLE_JSON,
		"[{\"type\":\"invoke\",\"f\":\"txn\",\"process\":0,\"index\":10,\"time\":1.5e3,"
		"\"value\":[[\"append\",\"x\",2],[\"r\",\"x\",null]]},\n"
		"{\"type\":\"ok\",\"f\":\"txn\",\"process\":0,\"index\":11,\"value\":"
		"[[\"append\",\"x\",2],[\"r\",\"x\",[1,2]]]},"
		"{\"type\":\"ok\",\"process\":1,\"value\":[[\"r\",\"x\",[1]],[\"r\",\"y\",null]]}]",
		"0 11 c 0-1 a(\"x\" 2) l(\"x\" [1 2])\n"
		"1 2 c -1-2 l(\"x\" [1]) r(\"y\" nil*)\n");
	expect(IMPORT_ELLE_JSON,
		"{\"type\":\"ok\",\"process\":1,\"value\":[[\"w\",1,2]]}\n"
		"{\"type\":\"fail\",\"process\":1,\"value\":[[\"w\",1,3],[\"r\",1,2]]}\n",
		"1 0 c w(1 2)\n1 1 a w(1 3)\n");
}
END_TEST

/* Lazy sequences are printed as lists. */
START_TEST(elle_round_brackets)
{
	expect(IMPORT_ELLE,
		"{:type :invoke :process 0 :value ([:append 1 2] [:r 1 nil])}\n"
		"{:type :ok :process 0 :value ([:append 1 2] (:r 1 (2)))}\n"
		"{:type :invoke :process 1 :value ([:append 1 3])}\n"
		"{:type :info :process 1 :value nil}\n",
		"0 1 c 0-1 a(1 2) l(1 [2])\n1 3 u 2-3 a(1 3)\n");
}
END_TEST

START_TEST(elle_errors)
{
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [[:r 1 [1 2]]", "in:1 (byte 42)");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [[:r 1 [1 2]]", "the input ends inside");
	refuse(IMPORT_ELLE, "\n\n{:type :maybe}", "in:3 (byte 9): expected a :type of invoke");
	refuse(IMPORT_ELLE, "{:process 0}", "without a :type");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [[:q 1 2]]}",
		"the micro-operation `q' is not supported");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [[:r 1 #{1 2}]]}", "a read of a set");
	refuse(IMPORT_ELLE, "\x1f\x8b\x08\x01", "a gzip file: zcat");
	refuse(IMPORT_ELLE, "JEPSEN\x01", "in:1 (byte 0): Jepsen's binary history");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [[:w 1]]}", "a write without a value");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [[:w]]}", "without a key");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [[:w 1 2 3]]}",
		"expected the end of the micro");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [7]}",
		"expected a micro-operation (this is no history of transactions), found `7]}'");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [[:rp :x {}]]}",
		"an unknown predicate `x'");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :value [[:rp [:mod 0 0] {}]]}", "modulo 0");
	refuse(IMPORT_ELLE, "{:type :invoke :process 0}{:type :invoke :process 0}", "is open");
	refuse(IMPORT_ELLE, "{:type :invoke :process 7}{:type :invoke :process 7}",
		"give the open one its completion (:info");
	refuse(IMPORT_ELLE, "{:type :invoke :process 0}{:type :ok :process 0}", "without a :value");
	refuse(IMPORT_ELLE, "{:type :ok :process 0}", "without a :value");
	refuse(IMPORT_ELLE, "{:type :ok :process 0 :f :read :value 3}",
		"in:1 (byte 38): expected a vector of micro-operations (this is no history of transactions), found `3}'");
	refuse(IMPORT_ELLE, "{:type :invoke :process 0 :value [[:q]]}", "in:1 (byte 40)");
	refuse(IMPORT_ELLE, "[{:type :ok :process 0 :value []}", "before its closing bracket");
	refuse(IMPORT_ELLE, "[] {}", "after the closing bracket");
	refuse(IMPORT_ELLE, "hello", "expected an operation (a map), found `hello'");
	refuse(IMPORT_ELLE, "{:type :ok :process 99999999999999999999 :value []}",
		"beyond 64 bits");
	refuse(IMPORT_ELLE, "{:type :ok :x }", "in:1 (byte 14)");
	refuse(IMPORT_ELLE, "{:type :ok :x (]}", "closes nothing that is open");
	refuse_bytes(IMPORT_ELLE, SPAN_LIT("{:type :ok \0 1}"), "in:1 (byte 11)");
	refuse(IMPORT_ELLE,
		"{:type :ok :x "
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
		"nest deeper than 64");
	refuse(IMPORT_ELLE_JSON, "{\"type\":\"ok\",\"process\":0,\"value\":[[\"r\",1,[1,",
		"ends inside");
}
END_TEST

START_TEST(plume)
{
	/* Interleaved sessions, an aborted transaction, blank lines, no newline at the end. */
	expect(IMPORT_PLUME,
		"w(1,5,0,10)\n"
		"r(2,0,1,11)\n\n"
		"w(2,6,0,10)\n"
		"w(1,9,1,-1)\n"
		"r(1,9,1,-1)\n"
		"r( 1 , 5 , 0 , 12 )\r\n"
		"r(18446744073709551615,9,0,12)",
		"0 10 c w(1 5) w(2 6)\n"
		"0 12 c r(1 5) r(18446744073709551615 9)\n"
		"1 11 c r(2 0*)\n"
		"1 -1 a w(1 9)\n"
		"1 -1 a\n");
	refuse(IMPORT_PLUME, "w(1,5,0,10)\nx(1,2,3,4)\n", "in:2 (byte 12): expected r(key");
	refuse(IMPORT_PLUME, "w(1,5,0)\n", "in:1 (byte 7): expected `,'");
	refuse(IMPORT_PLUME, "w(1,-5,0,1)\n", "expected an unsigned integer");
	refuse(IMPORT_PLUME, "w(1,5,0,1", "expected `)'");
	refuse(IMPORT_PLUME, "w(1,5,0,1)2", "expected the end of the line");
	refuse(IMPORT_PLUME, "w(1,99999999999999999999,0,1)", "at most 64 bits");
	refuse(IMPORT_PLUME, "w(1,5,0,1)\nw(1,6,1,1)", "one session a transaction");
	refuse(IMPORT_PLUME, "w(1,5,9999999999999999999,1)", "a session number");
}
END_TEST

START_TEST(awdit)
{
	expect(IMPORT_AWDIT, "w 1 0\nw 2 0\n-----\n=====\nr 1 0\nw 1 1\n-----\nr 2 0\n=====\n",
		"0 0 c w(1 0) w(2 0)\n1 1 c r(1 0) w(1 1)\n1 2 c r(2 0)\n");
	expect(IMPORT_AWDIT, "w 1 1\r\n=====\nr 1 1", "0 0 c w(1 1)\n1 1 c r(1 1)\n");
	refuse(IMPORT_AWDIT, "w 1 1\nq 1 1\n", "in:2 (byte 6)");
	refuse(IMPORT_AWDIT, "w 1 1 1\n", "expected the end of the line");
	refuse(IMPORT_AWDIT, "w x 1\n", "expected a key");
	refuse(IMPORT_AWDIT, "w 1 x\n", "expected a value");
	refuse(IMPORT_AWDIT, "--=--\n", "in:1 (byte 2)");
}
END_TEST

static void put_le64(struct buf *out, uint64_t x)
{
	for (int i = 0; i < 8; i++)
		buf_add_char(out, (char)(x >> 8 * i));
}

static void put_be64(struct buf *out, uint64_t x)
{
	for (int i = 7; i >= 0; i--)
		buf_add_char(out, (char)(x >> 8 * i));
}

static void put_event(struct buf *out, int write, uint64_t variable, uint64_t value, int success)
{
	buf_add_char(out, (char)write);
	put_le64(out, variable);
	put_le64(out, value);
	buf_add_char(out, (char)success);
}

START_TEST(dbcop_bincode)
{
	struct buf in = BUF_INIT;
	size_t header;

	for (uint64_t i = 0; i < 5; i++)
		put_le64(&in, i);
	put_le64(&in, 5);
	buf_add_str(&in, "mysql");
	put_le64(&in, 0);
	put_le64(&in, 1);
	buf_add_str(&in, "x");
	header = in.len;
	put_le64(&in, 2); /* sessions */
	put_le64(&in, 2); /* transactions */
	put_le64(&in, 3);
	put_event(&in, 1, 7, 1, 1);
	put_event(&in, 1, 7, 2, 0);
	put_event(&in, 0, 8, 0, 1);
	buf_add_char(&in, 1);
	put_le64(&in, 1);
	put_event(&in, 1, 7, 3, 1);
	buf_add_char(&in, 0);
	put_le64(&in, 1);
	put_le64(&in, 1);
	put_event(&in, 0, 7, 1, 1);
	buf_add_char(&in, 1);
	expect_bytes(
		IMPORT_DBCOP, buf_span(&in), "0 0 c w(7 1) r(8 0*)\n0 1 a w(7 3)\n1 2 c r(7 1)\n");
	detects(in.data, in.len, IMPORT_DBCOP);
	for (size_t len = 0; len < in.len; len++)
		refuse_bytes(IMPORT_DBCOP, span_of(in.data, len), "ends inside a record");
	buf_add_char(&in, 0);
	refuse_bytes(IMPORT_DBCOP, buf_span(&in), "bytes after the last session");
	in.len = header + 24;
	put_event(&in, 2, 7, 1, 1);
	refuse_bytes(IMPORT_DBCOP, buf_span(&in), "expected a byte 0 or 1");
	/* Counts that lie cost nothing. */
	in.len = header;
	put_le64(&in, UINT64_MAX);
	put_le64(&in, UINT64_MAX);
	put_le64(&in, UINT64_MAX);
	refuse_bytes(IMPORT_DBCOP, buf_span(&in), "ends inside a record");
	in.len = 40;
	put_le64(&in, UINT64_MAX);
	refuse_bytes(IMPORT_DBCOP, buf_span(&in), "a string of the header is too long");
	buf_release(&in);
}
END_TEST

START_TEST(dbcop_json)
{
	static const char data[] =
		"[[{\"events\":[{\"Write\":{\"variable\":0,\"version\":1}},{\"Read\":{\"variable\":"
		"1,"
		"\"version\":null}}],\"committed\":true},{\"events\":[],\"committed\":false}],\n"
		"[{\"committed\":true,\"events\":[{\"Read\":{\"version\":1,\"variable\":0}}]}],[]]";
	static const char expected[] = "0 0 c w(0 1) r(1 nil*)\n0 1 a\n1 2 c r(0 1)\n";
	struct buf in = BUF_INIT;

	expect(IMPORT_DBCOP_JSON, data, expected);
	buf_printf(&in, "{\"params\":{\"id\":0,\"n\":[1]},\"info\":\"\",\"data\":%s,\"end\":\"z\"}",
		data);
	expect(IMPORT_DBCOP_JSON, in.data, expected);
	buf_release(&in);
	refuse(IMPORT_DBCOP_JSON, "[[{\"events\":[{\"Rea\":{}}]}]]", "named Read or Write");
	refuse(IMPORT_DBCOP_JSON, "[[{\"events\":[{\"Read\":{\"version\":1}}]}]]",
		"without variable");
	refuse(IMPORT_DBCOP_JSON, "[[{\"committed\":true}]]", "without events");
	refuse(IMPORT_DBCOP_JSON, "[[", "ends inside the history");
	refuse(IMPORT_DBCOP_JSON, "[7]", "in:1 (byte 1): expected a session");
	refuse(IMPORT_DBCOP_JSON, "[] 7", "after the history");
	refuse(IMPORT_DBCOP_JSON, "7", "expected an object or an array");
	refuse(IMPORT_DBCOP_JSON, "{\"data\":7}", "expected an array of sessions");
	refuse(IMPORT_DBCOP_JSON, "", "ends inside the history");
}
END_TEST

/* stamp: with times after S and C. */
static void cobra_log(struct buf *in, bool stamp)
{
	buf_add_char(in, 'S');
	put_be64(in, 1);
	if (stamp)
		put_be64(in, 0x1122334455667788);
	buf_add_char(in, 'W');
	put_be64(in, 100); /* write id */
	put_be64(in, 7);   /* key */
	put_be64(in, 55);
	buf_add_char(in, 'R');
	put_be64(in, 0xbebeebee);
	put_be64(in, 0xbebeebee);
	put_be64(in, 8);
	put_be64(in, 0);
	buf_add_char(in, 'R');
	put_be64(in, 0x23332333);
	put_be64(in, 0x66666666);
	put_be64(in, 8);
	put_be64(in, 0);
	buf_add_char(in, 'C');
	put_be64(in, 1);
	if (stamp)
		put_be64(in, 0x1122334455667799);
	buf_add_char(in, 'S');
	put_be64(in, 2);
	if (stamp)
		put_be64(in, 0x11223344556677aa);
	buf_add_char(in, 'R');
	put_be64(in, 1);
	put_be64(in, 100);
	put_be64(in, 7);
	put_be64(in, 55);
}

START_TEST(cobra)
{
	for (int stamp = 0; stamp < 2; stamp++) {
		struct buf in = BUF_INIT;
		struct values v;
		struct err err;

		cobra_log(&in, stamp);
		for (size_t step = 0; step < 3; step++) {
			struct buf out = BUF_INIT;

			ck_assert_msg(
				import_memory(IMPORT_COBRA, "in", buf_span(&in), step, &v, &err),
				"%s", err.text);
			dump(&v, &out);
			ck_assert_str_eq(out.data, "0 1 c w(7 1.64) r(8 nil*)\n0 2 u r(7 1.64)\n");
			ck_assert_uint_eq(v.counts.reads_unknown, 1);
			ck_assert_uint_eq(v.counts.open_txns, 1);
			values_release(&v);
			buf_release(&out);
		}
		refuse_bytes(IMPORT_COBRA, span_of(in.data, in.len - 1), "ends inside a record");
		buf_release(&in);
	}
	refuse_bytes(
		IMPORT_COBRA, SPAN_LIT("Z"), "expected a record S, W, R or C, found byte 0x5a");
	refuse_bytes(IMPORT_COBRA, SPAN_LIT("C\0\0\0\0\0\0\0\1"), "outside a transaction");
	refuse_bytes(
		IMPORT_COBRA, SPAN_LIT("S\0\0\0\0\0\0\0\1S\0\0\0\0\0\0\0\1"), "inside another");
	refuse_bytes(
		IMPORT_COBRA, SPAN_LIT("S\0\0\0\0\0\0\0\1C\0\0\0\0\0\0\0\2"), "commits inside 1");
}
END_TEST

/* 0xabddefee for every id: matched by the hash of the value. */
START_TEST(cobra_without_ids)
{
	static const char log[] =
		"S\0\0\0\0\0\0\0\1"
		"W\0\0\0\0\xab\xdd\xef\xee\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\x2a"
		"R\0\0\0\0\xab\xdd\xef\xee\0\0\0\0\xab\xdd\xef\xee"
		"\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\x2a"
		"R\0\0\0\0\xbe\xbe\xeb\xee\0\0\0\0\xbe\xbe\xeb\xee"
		"\0\0\0\0\0\0\0\x8\0\0\0\0\0\0\0\x2a"
		"C\0\0\0\0\0\0\0\1";
	struct buf out = BUF_INIT;
	struct values v;
	struct err err;

	ck_assert_msg(import_memory(IMPORT_COBRA, "in", span_of(log, sizeof(log) - 1), 0, &v, &err),
		"%s", err.text);
	dump(&v, &out);
	ck_assert_str_eq(out.data, "0 1 c w(7 #2a) r(7 #2a) r(8 nil*)\n");
	values_release(&v);
	buf_release(&out);
}
END_TEST

/* What a key held before it was written, where the format leaves it open. */
START_TEST(initial_values)
{
	/* Viper: the value that was never written; of two such values neither. */
	expect(IMPORT_VIPER,
		"{\"value\": [[\"r\", 1, 77, false], [\"r\", 1, 77, false], [\"w\", 2, 5, true],"
		" [\"r\", 3, 6, false], [\"r\", 3, 7, false]]}\n",
		"0 0 c r(1 77*) r(1 77*) w(2 5) r(3 6) r(3 7)\n");
	/* ... unless a transaction says what was there. */
	expect(IMPORT_VIPER,
		"{\"value\": [[\"r\", 1, 77, false], [\"r\", 2, 8, false], [\"r\", 4, 9, false]]}\n"
		"{\"value\": [[\"w\", 2, 8, true]], \"isInitial\": true}\n"
		"{\"isInitial\": true, \"value\": [[\"range\", \"nil\", \"nil\","
		" [{\"id\": 4, \"val\": 9}], []]]}\n",
		"0 0 c r(1 77) r(2 8*) r(4 9*)\n");
	/* Writes that were not done. */
	expect(IMPORT_VIPER,
		"{\"value\": [[\"w\", 1, 2, false], [\"w\", 1, 3, true], [\"r\", 1, 3, false]]}\n"
		"{\"value\": [[\"w\", 1, 4, false], [\"r\", 1, 4, false]]}\n",
		"0 0 c w(1 3) r(1 3)\n0 1 a w(1 4)\n");
	/* Chronos: 0, unless some read found nothing. */
	expect(IMPORT_CHRONOS,
		"[{\"tid\":1,\"sid\":3,\"sts\":{\"p\":1},\"cts\":{\"p\":2},"
		"\"ops\":[{\"t\":\"r\",\"k\":1,\"v\":0},{\"t\":\"r\",\"k\":2,\"v\":5}]}]",
		"3 1 c 1.0-2.0 r(1 0*) r(2 5)\n");
	expect(IMPORT_CHRONOS,
		"[{\"tid\":1,\"sid\":3,\"sts\":{\"p\":1},\"cts\":{\"p\":2},"
		"\"ops\":[{\"t\":\"r\",\"k\":1,\"v\":0},{\"t\":\"r\",\"k\":2,\"v\":null}]}]",
		"3 1 c 1.0-2.0 r(1 0) r(2 nil*)\n");
}
END_TEST

START_TEST(detection)
{
	static const struct {
		const char *text;
		int format;
	} texts[] = {
		{"{:type :ok, :value [[:r 1 nil]]}", IMPORT_ELLE},
		{"; jepsen\n [{:index 0 :type :ok}]", IMPORT_ELLE},
		{"({:type :ok})", IMPORT_ELLE},
		{"#jepsen.history.Op{:index 0}", IMPORT_ELLE},
		{"[#jepsen.history.Op{:index 0}]", IMPORT_ELLE},
		{"[{\"type\":\"ok\",\"value\":[[\"append\",1,2]]}]", IMPORT_ELLE_JSON},
		{"{\"process\":0, \"value\":[[\"r\",1,null]], \"type\" : \"ok\"}", IMPORT_ELLE_JSON},
		{"\n\nw(1,2,3,4)\n", IMPORT_PLUME},
		{"r(1,0,0,-1)", IMPORT_PLUME},
		{"w 1 2\nr 1 2\n-----\n", IMPORT_AWDIT},
		{"=====\nw 1 2\n", IMPORT_AWDIT},
		{"{\"params\":{\"id\":0},\"info\":\"x\",\"data\":[]}", IMPORT_DBCOP_JSON},
		{"[[{\"events\":[],\"committed\":true}]]", IMPORT_DBCOP_JSON},
		{"{\"value\": [[\"r\", 1, 2, true]]}\n", IMPORT_VIPER},
		{"[ {\"cts\": {\"p\": 1}, \"ops\": []} ]", IMPORT_CHRONOS},
		{"", -1},
		{"hello", -1},
		{"{\"a\": {\"type\": 1}}", -1},
		{"{\"a\": \"unterminated", -1},
		{"read the manual", -1},
		{"# A heading\n\n{:type :ok}", -1},
		{"#include <stdio.h>", -1},
		{"#!/bin/sh\n", -1},
		{"---\ntitle: of a page\n---\n", -1},
		{"#{1 2}", IMPORT_ELLE},
		{"#_{:type :info} {:type :ok}", IMPORT_ELLE},
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		detects(texts[i].text, strlen(texts[i].text), texts[i].format);
	detects("S\0\0\0\0\0\0\0\1C\0\0\0\0\0\0\0\1", 18, IMPORT_COBRA);
	detects("S\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0C\0\0\0\0\0\0\0\1", 26, IMPORT_COBRA);
	detects("\0\0\0\0\0\0\0\0", 8, -1);
}
END_TEST

START_TEST(viper)
{
	expect(IMPORT_VIPER,
		"{\"value\": [[\"w\", 1, \"a\", true], [\"r\", 2, null, true]]}\n"
		"{\"value\": [[\"i\", 3, 4, 5, true], [\"d\", 1, 9], [\"d\", 1]], \"id\": 3}\n"
		"{\"value\": [[\"range\", 1, 9, [[1, \"a\"], [3, 4]], [], true],"
		" [\"range\", 1, 9, [{\"id\": 3, \"sk\": 1, \"val\": 4}]], [\"r\", 5, 0, true]]}\n",
		"0 0 c w(1 \"a\") r(2 nil*)\n"
		"0 1 c i(3 4) w(1 9) d(1)\n"
		"0 2 c r(1 \"a\") r(3 4) r(3 4) r(5 0*)\n");
	refuse(IMPORT_VIPER, "{\"value\": [[\"x\", 1, 2]]}", "r, w, i, d or range");
	refuse(IMPORT_VIPER, "{}", "without \"value\"");
	refuse(IMPORT_VIPER, "{\"value\": 7}", "an array of operations");
	refuse(IMPORT_VIPER, "{\"value\": [[\"range\", 1, 2, [7]]]}", "a row of a range");
	refuse(IMPORT_VIPER, "{\"value\": [[\"range\", 1, 2, [[7]]]]}", "without key or value");
	refuse(IMPORT_VIPER, "{\"value\": [[\"w\", 1, 2]]}\n{\"value\": [[\"w\", 1", "in:2");
}
END_TEST

START_TEST(chronos)
{
	expect(IMPORT_CHRONOS,
		"[{\"tid\":1,\"sid\":3,\"sts\":{\"p\":10,\"l\":0},\"cts\":{\"p\":\"12\",\"l\":"
		"\"1\"},"
		"\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":2},{\"t\":\"r\",\"k\":2,\"v\":null}]},\n"
		"{\"ops\":[{\"v\":[2,3],\"k\":4,\"t\":\"r\"},{\"t\":\"a\",\"k\":4,\"v\":9}],"
		"\"cts\":"
		"{\"p\":20,\"l\":0},\"sts\":{\"l\":7,\"p\":11},\"tid\":2,\"sid\":3}]\n",
		"3 1 c 10.0-12.1 w(1 2) r(2 nil*)\n"
		"3 2 c 11.7-20.0 l(4 [2 3]) a(4 9)\n");
	refuse(IMPORT_CHRONOS, "[{\"tid\":1,\"ops\":[]}]", "without sts or cts");
	refuse(IMPORT_CHRONOS, "[{\"sts\":{\"p\":1,\"l\":5000000000}}]", "beyond 32 bits");
	refuse(IMPORT_CHRONOS, "[{\"ops\":[{\"t\":\"z\",\"k\":1}]}]", "an operation with t");
	refuse(IMPORT_CHRONOS, "[{\"ops\":[{\"t\":\"w\",\"k\":1}]}]", "a write without v");
	refuse(IMPORT_CHRONOS, "[{\"sid\":1.5}]", "expected an integer");
	refuse(IMPORT_CHRONOS, "[{\"sts\":{\"p\":-1}}]", "a negative number");
}
END_TEST

START_TEST(duplicates_and_sessions)
{
	struct values v;
	struct err err;
	static const char text[] = "w(1,5,0,1)\nw(1,5,1,2)\nw(1,6,1,2)\nw(1,5,1,3)\nw(1,6,1,-1)\n";

	ck_assert(import_memory(IMPORT_PLUME, "in", span_str(text), 0, &v, &err));
	values_check(&v);
	ck_assert_uint_eq(v.item_count, 2);
	ck_assert_uint_eq(v.items[0].write_count, 3);
	ck_assert_uint_eq(v.items[1].write_count, 2);
	ck_assert_uint_eq(v.dup_count, 3);
	ck_assert_uint_eq(v.dups[0].item, 0);
	ck_assert_uint_eq(v.ops[v.dups[0].op].txn, 1);
	ck_assert_uint_eq(v.ops[v.dups[1].op].txn, 2);
	ck_assert_uint_eq(v.dups[2].item, 1);
	ck_assert_uint_eq(v.txns[v.ops[v.dups[2].op].txn].outcome, VALUES_ABORTED);
	values_release(&v);
}
END_TEST

START_TEST(directories)
{
	char dir[] = "import-XXXXXX", path[64];
	enum import_format format;
	struct values v;
	struct err err;
	struct buf out = BUF_INIT;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert(!import_path(IMPORT_VIPER, dir, NULL, &v, &err));
	ck_assert(!import_detect(dir, &format));
	ck_assert_ptr_nonnull(strstr(err.text, "no file J<n>.log"));
	for (int i = 10; i >= 2; i -= 8) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/J%d.log", dir, i);
		f = fopen(path, "w");
		fprintf(f, "{\"value\":[[\"w\",1,%d,true]]}\n", i);
		fclose(f);
	}
	snprintf(path, sizeof(path), "%s/J3.log.debug", dir);
	fclose(fopen(path, "w"));
	ck_assert(import_detect(dir, &format) && format == IMPORT_VIPER);
	ck_assert_msg(import_path(IMPORT_VIPER, dir, NULL, &v, &err), "%s", err.text);
	dump(&v, &out);
	ck_assert_str_eq(out.data, "2 0 c w(1 2)\n10 1 c w(1 10)\n");
	values_release(&v);
	buf_release(&out);
	unlink(path);
	snprintf(path, sizeof(path), "%s/J2.log", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/J10.log", dir);
	unlink(path);
	rmdir(dir);
	ck_assert(!import_path(IMPORT_ELLE, "no/such/file", NULL, &v, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "cannot open no/such/file"));
}
END_TEST

/* A line of each text format that is accepted. */
static const struct {
	enum import_format format;
	const char *text;
} plain_texts[] = {
	{IMPORT_ELLE, "{:type :ok :process 0 :value [[:w 1 1]]}\n"},
	{IMPORT_ELLE_JSON, "{\"type\":\"ok\",\"process\":0,\"value\":[[\"w\",1,1]]}\n"},
	{IMPORT_PLUME, "w(1,1,0,0)\n"},
	{IMPORT_AWDIT, "w 1 1\n"},
	{IMPORT_DBCOP_JSON,
		"[[{\"events\":[{\"Write\":{\"variable\":1,\"version\":1}}],\"committed\":true}]]\n"},
	{IMPORT_VIPER, "{\"value\":[[\"w\",1,1,true]]}\n"},
	{IMPORT_CHRONOS, "[{\"tid\":0,\"sid\":0,\"sts\":{\"p\":1,\"l\":0},\"cts\":{\"p\":2,\"l\":0},"
			 "\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":1}]}]\n"},
};

/* Byte order marks and carriage returns mean nothing, NULs are refused, and numbers that no field
 * holds too; each with its place. */
START_TEST(odd_bytes)
{
	for (size_t i = 0; i < sizeof(plain_texts) / sizeof(*plain_texts); i++) {
		struct buf text = BUF_INIT;
		enum import_format format = plain_texts[i].format;

		buf_printf(&text, "\xef\xbb\xbf%s", plain_texts[i].text);
		text.data[text.len - 1] = '\r';
		buf_add_char(&text, '\n');
		expect_bytes(format, buf_span(&text),
			format == IMPORT_CHRONOS ? "0 0 c 1.0-2.0 w(1 1)\n" : "0 0 c w(1 1)\n");
		buf_clear(&text);
		buf_add_char(&text, '\0');
		buf_add_str(&text, plain_texts[i].text);
		refuse_bytes(format, buf_span(&text), "in:1 (byte 0): expected");
		buf_clear(&text);
		buf_add_str(&text, plain_texts[i].text);
		buf_add_str(&text, "\xef\xbb\xbf");
		refuse_bytes(format, buf_span(&text), "in:2 (byte ");
		buf_release(&text);
	}
	refuse_bytes(IMPORT_ELLE, SPAN_LIT("\0{}"), "found byte 0x00");
}
END_TEST

/* What is inside a record cannot choose how deep our stack grows. */
START_TEST(deep_nesting)
{
	static const char *const opens[] = {"#_ ", "[", "{:a ", "#_[", "#x "};

	for (size_t i = 0; i < sizeof(opens) / sizeof(*opens); i++) {
		struct buf text = BUF_INIT;
		struct values v = {0};
		struct err err = {0};

		buf_add_str(&text, "{:type :ok :process 0 :x ");
		for (int n = 0; n < 200000; n++)
			buf_add_str(&text, opens[i]);
		ck_assert(!import_memory(IMPORT_ELLE, "in", buf_span(&text), 0, &v, &err));
		ck_assert_msg(strstr(err.text, i < 4 ? "deeper than 64" : "ends inside"), "%s",
			err.text);
		buf_release(&text);
	}
}
END_TEST

START_TEST(names)
{
	for (int i = 0; i < IMPORT_FORMAT_COUNT; i++) {
		enum import_format format;

		ck_assert(import_format_parse(import_format_name((enum import_format)i), &format));
		ck_assert_int_eq((int)format, i);
	}
	enum import_format format;
	ck_assert(!import_format_parse("excel", &format));
}
END_TEST

UNIT_MAIN("import", elle_lists, elle_outcomes, elle_nemesis, elle_completions_only,
	elle_longest_list,
	elle_closed_predicate, elle_no_result, elle_json, elle_round_brackets, elle_errors, plume, awdit, dbcop_bincode, dbcop_json,
	cobra, cobra_without_ids, viper, chronos, initial_values, detection, duplicates_and_sessions,
	directories, odd_bytes, deep_nesting, names)
