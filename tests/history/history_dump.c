/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints histories as JSON lines in the terms of the trace (numbers, keys, names: no ids), for
 * twin.py to compare with its own reading of the same records.
 *
 *	history_dump FILE...         traces
 *	history_dump --records FILE... encoded records without frames
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "model/history/load.h"

static void hex(struct buf *out, struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		buf_printf(out, "%02x", (unsigned char)s.ptr[i]);
}

/* "10", "b'a3...'", "U", or "D 7 3": the deletion by statement 3 of transaction 7. */
static const char *version_name(const struct history *history, uint32_t id)
{
	static struct buf out;
	const struct history_version *v = &history->versions[id];

	buf_clear(&out);
	if (id == HISTORY_NONE) {
		buf_printf(&out, "?");
	} else if (v->flags & HISTORY_VERSION_UNBORN) {
		buf_printf(&out, "U");
	} else if (v->flags & HISTORY_VERSION_NAMELESS) {
		buf_printf(&out, "D %llu %u",
			v->txn == HISTORY_NONE ? 0ull
					       : (unsigned long long)history->txns[v->txn].number,
			v->stmt == HISTORY_NONE ? 0 : history->stmts[v->stmt].number);
	} else if (v->name_is_bytes) {
		buf_printf(&out, "b");
		hex(&out, history_bytes(history, (uint32_t)v->name));
	} else {
		buf_printf(&out, "%llu", (unsigned long long)v->name);
	}
	return out.data;
}

static void object_name(struct json *json, const struct history *history, uint32_t id, bool key)
{
	const struct history_object *object = &history->objects[id];
	struct buf out = BUF_INIT;

	buf_printf(&out, "%u:", history->tables[object->table].number);
	hex(&out, history_bytes(history, object->key));
	if (key)
		json_key(json, out.data);
	else
		json_str(json, out.data);
	buf_release(&out);
}

static void dump_flags(struct json *json, uint32_t flags, const char *letters)
{
	char text[40];
	size_t len = 0;

	for (size_t i = 0; letters[i]; i++) {
		if (flags >> i & 1 && letters[i] != '-')
			text[len++] = letters[i];
	}
	text[len] = 0;
	json_str(json, text);
}

static void dump_versions(
	struct json *json, const struct history *history, uint32_t first, uint32_t count)
{
	json_begin_array(json);
	for (uint32_t i = 0; i < count; i++)
		json_str(json, version_name(history, history->predicate_versions[first + i]));
	json_end_array(json);
}

static void dump_op(struct json *json, const struct history *history, const struct history_op *op)
{
	json_begin_array(json);
	json_str(json, op->kind == HISTORY_READ ? "r" : op->kind == HISTORY_WRITE ? "w" : "p");
	json_uint(json, op->stmt == HISTORY_NONE ? 0 : history->stmts[op->stmt].number);
	if (op->kind == HISTORY_PREDICATE) {
		const struct history_predicate *p = &history->predicates[op->predicate];

		json_uint(json, history->tables[p->table].number);
		json_string(json, p->text ? history_bytes(history, p->text) : SPAN_LIT(""));
		dump_flags(json, p->flags, "emsw");
		dump_versions(json, history, p->first_match, p->match_count);
		dump_versions(json, history, p->first_set, p->set_count);
	} else {
		object_name(json, history, op->object, false);
		json_str(json, version_name(history, op->version));
		if (op->kind == HISTORY_WRITE)
			json_str(json,
				version_name(history, history->versions[op->version].previous));
		dump_flags(json, op->flags, "eau");
		json_uint(json, op->read_kind);
		json_uint(json, op->probe);
	}
	json_end_array(json);
}

static void dump_txns(struct json *json, const struct history *history)
{
	json_key(json, "txns");
	json_begin_array(json);
	for (uint32_t t = 0; t < history->txn_count; t++) {
		const struct history_txn *txn = &history->txns[t];

		json_begin_object(json);
		json_key(json, "number");
		json_uint(json, txn->number);
		json_key(json, "session");
		json_uint(json, history->sessions[txn->session].number);
		json_key(json, "outcome");
		json_uint(json, txn->outcome);
		json_key(json, "level");
		json_uint(json, txn->level);
		json_key(json, "begin");
		json_uint(json, txn->begin_seq);
		json_key(json, "end");
		json_uint(json, txn->end_seq);
		json_key(json, "flags");
		dump_flags(json, txn->flags, "rsabeom");
		json_key(json, "committed");
		json_bool(json, history_committed(history, t));
		json_key(json, "ops");
		json_begin_array(json);
		for (uint32_t i = 0; i < txn->op_count; i++)
			dump_op(json, history, &history->ops[txn->first_op + i]);
		json_end_array(json);
		json_end_object(json);
	}
	json_end_array(json);
}

static void dump_objects(struct json *json, const struct history *history)
{
	json_key(json, "objects");
	json_begin_object(json);
	for (uint32_t o = 0; o < history->object_count; o++) {
		const struct history_object *object = &history->objects[o];

		object_name(json, history, o, true);
		json_begin_object(json);
		json_key(json, "problem");
		json_str(json, history_order_problem_name(object->order_problem));
		json_key(json, "installed");
		json_uint(json, object->installed_count);
		json_key(json, "versions");
		json_begin_array(json);
		for (uint32_t k = 0; k < object->order_count; k++) {
			uint32_t id = history->order[object->first_order + k];

			json_begin_array(json);
			json_str(json, version_name(history, id));
			dump_flags(json, history->versions[id].flags, "UIDiuwFe-d+");
			json_end_array(json);
		}
		json_end_array(json);
		json_end_object(json);
	}
	json_end_object(json);
}

static void dump_counts(struct json *json, const struct history_counts *counts)
{
#define COUNT(name)                                                                                \
	json_key(json, #name);                                                                     \
	json_uint(json, counts->name);
	json_key(json, "counts");
	json_begin_object(json);
	COUNT(probes)
	COUNT(inexact_probes)
	COUNT(reads_undecided)
	COUNT(orders_unknown)
	COUNT(unwritten_versions)
	COUNT(unknown_outcomes)
	COUNT(unknown_counted_committed)
	COUNT(unfinished_txns)
	COUNT(unpaired_probes)
	COUNT(ops_without_txn)
	COUNT(duplicate_writes)
	COUNT(txns_undeclared)
	json_end_object(json);
#undef COUNT
}

static bool load(struct history *history, const char *path, bool records, struct err *err)
{
	struct buf bytes = BUF_INIT;
	FILE *file;
	bool ok;

	if (!records)
		return history_load(history, path, NULL, err);
	file = fopen(path, "rb");
	if (!file)
		return err_set(err, ERR_IO, "cannot open %s", path);
	for (;;) {
		size_t n = fread(buf_reserve(&bytes, 65536), 1, 65536, file);

		bytes.len += n;
		if (n == 0)
			break;
	}
	fclose(file);
	ok = history_load_records(history, buf_span(&bytes), NULL, err);
	buf_release(&bytes);
	return ok;
}

int main(int argc, char **argv)
{
	bool records = argc > 1 && strcmp(argv[1], "--records") == 0;

	for (int i = 1 + records; i < argc; i++) {
		struct history history;
		struct buf out = BUF_INIT;
		struct json json;
		struct err err;

		if (!load(&history, argv[i], records, &err)) {
			fprintf(stderr, "%s: %s\n", argv[i], err.text);
			return 4;
		}
		json_init(&json, &out, 0);
		json_begin_object(&json);
		dump_txns(&json, &history);
		dump_objects(&json, &history);
		dump_counts(&json, &history.counts);
		json_end_object(&json);
		puts(out.data);
		buf_release(&out);
		history_release(&history);
	}
	return 0;
}
