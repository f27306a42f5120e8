/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binlog/record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "db/variables.h"
#include "server/flavour.h"
#include "trace/doubts.h"
#include "trace/pack.h"

enum {
	SESSION = 1,
	MYSQL_LOGS_CASCADES = 90700,
	READ_SIZE = 1 << 20,
	RETRY_FIRST_MS = 100,
	RETRY_MAX_MS = 5000,
	RETRIES_MAX = 60
};

/* The log does not tell a transaction's level.  Of writes alone only that is judged which the
 * lowest promises as well. */
enum { LEVEL_PROMISED = LEVEL_READ_UNCOMMITTED };

/* Transactions between XA PREPARE and XA COMMIT. */
struct prepared_txn {
	char *xid;
	uint64_t txn, begin_seq, begin;
};

struct recording {
	const struct binlog_record_options *options;
	struct binlog_record_summary *summary;
	struct trace_writer *writer;
	struct trace_producer *producer;
	struct binlog_tables *tables;
	struct binlog_txns *txns;
	MYSQL *db; /* for definitions */
	struct binlog_state state;
	struct binlog_place place;
	struct buf file; /* the log's, as it is written into notes */
	bool opened;     /* the session */
	struct buf version;
	uint64_t at, txn, begin_seq;
	uint32_t stmt;
	struct prepared_txn *prepared;
	size_t prepared_count, prepared_capacity;
};

static void note(struct recording *r, const char *topic, struct span text)
{
	struct record_note record = {.at = r->at,
		.source = SPAN_LIT("recorder"),
		.topic = span_str(topic),
		.text = text};

	(void)trace_emit_note(r->producer, &record);
}

static void on_define(void *ctx, struct record_schema *record)
{
	struct recording *r = ctx;

	record->at = r->at;
	record->node = SPAN_LIT("binlog");
	(void)trace_emit_schema(r->producer, record);
}

static void open_session(struct recording *r)
{
	struct record_server server = {
		.at = r->at, .node = SPAN_LIT("binlog"), .version = buf_span(&r->version)};
	struct record_session session = {.at = r->at,
		.session = SESSION,
		.event = SESSION_OPENED,
		.node = SPAN_LIT("binlog"),
		.client = SPAN_LIT("binlog")};
	struct buf variables = BUF_INIT;
	msgpack_packer pk = pack_into(&variables);

	if (r->opened)
		return;
	r->opened = true;
	server.flavour = span_str(server_flavour_name(
		span_ihas(buf_span(&r->version), "mariadb") ? SERVER_MARIADB : SERVER_MYSQL));
	msgpack_pack_map(&pk, 2);
	pack_str(&pk, SPAN_LIT(EVIDENCE_VARIABLE));
	pack_str(&pk, SPAN_LIT(EVIDENCE_BINLOG));
	pack_str(&pk, SPAN_LIT(WRITERS_VARIABLE));
	pack_str(&pk, span_str(r->options->all_writers ? WRITERS_ALL : WRITERS_SOME));
	server.variables = buf_span(&variables);
	(void)trace_emit_server(r->producer, &server);
	(void)trace_emit_session(r->producer, &session);
	buf_release(&variables);
}

/* ---- transactions ---- */

static void emit_group(struct recording *r, const struct binlog_group *group)
{
	struct record_stmt stmt = {.at = r->at,
		.session = SESSION,
		.number = ++r->stmt,
		.txn = r->txn,
		.begin_seq = trace_seq(r->writer),
		.begin = r->at,
		.first_byte = r->at,
		.command = 3,
		.text = buf_span(&group->text),
		.affected = group->count};

	(void)trace_emit_stmt(r->producer, &stmt);
	for (size_t i = 0; i < group->table_count; i++) {
		struct binlog_table_rows *rows = &group->tables[i];
		struct record_probe probe = {.at = r->at,
			.session = SESSION,
			.number = r->stmt,
			.txn = r->txn,
			.probe = PROBE_WRITE,
			.table = rows->table,
			.exact = group->whole && !rows->keyless && !rows->silent,
			.begin = r->at};

		pack_array_close(&rows->rows, 0, rows->count);
		probe.rows = buf_span(&rows->rows);
		(void)trace_emit_probe(r->producer, &probe);
	}
}

static void emit_definition(struct recording *r, const struct binlog_txn *txn)
{
	struct record_stmt stmt = {.at = r->at,
		.session = SESSION,
		.number = ++r->stmt,
		.begin_seq = trace_seq(r->writer),
		.begin = r->at,
		.first_byte = r->at,
		.command = 3,
		.flags = STMT_NO_TABLES,
		.text = buf_span(&txn->statement)};

	(void)trace_emit_stmt(r->producer, &stmt);
}

static void end_txn(struct recording *r, uint64_t txn, enum txn_outcome outcome, const char *reason,
	const char *gtid, uint64_t begin_seq, uint64_t begin)
{
	struct record_txn record = {.at = r->at,
		.session = SESSION,
		.txn = txn,
		.event = TXN_END,
		.number = r->stmt,
		.level = LEVEL_PROMISED,
		.outcome = (uint8_t)outcome,
		.begin_seq = begin_seq,
		.begin = begin,
		.gtid = *gtid ? span_str(gtid) : SPAN_NONE,
		.reason = span_str(reason),
		.mixed = TXN_MIXED_NO};

	(void)trace_emit_txn(r->producer, &record);
}

/* What was prepared has ended now. */
static void end_prepared(struct recording *r, const struct binlog_txn *txn)
{
	for (size_t i = 0; i < r->prepared_count; i++) {
		struct prepared_txn *p = &r->prepared[i];

		if (strcasecmp(p->xid, txn->xid.data) != 0)
			continue;
		end_txn(r, p->txn, txn->end == BINLOG_END_COMMIT ? TXN_COMMITTED : TXN_ABORTED,
			txn->end == BINLOG_END_COMMIT ? "commit" : "rollback", txn->gtid,
			p->begin_seq, p->begin);
		mem_free(p->xid);
		*p = r->prepared[--r->prepared_count];
		return;
	}
}

static void on_txn(void *ctx, struct binlog_txn *txn)
{
	struct recording *r = ctx;

	if (txn->wall_ns > r->at)
		r->at = txn->wall_ns;
	open_session(r);
	if (txn->first && (txn->group_count || !txn->last)) {
		struct record_txn begin = {.at = r->at,
			.session = SESSION,
			.txn = ++r->txn,
			.event = TXN_BEGIN,
			.number = r->stmt + 1,
			.level = LEVEL_PROMISED};

		r->begin_seq = trace_emit_txn(r->producer, &begin);
	}
	for (size_t i = 0; i < txn->group_count; i++)
		emit_group(r, &txn->groups[i]);
	if (txn->last && txn->statement.len)
		emit_definition(r, txn);
	if (!txn->last)
		return;
	if (txn->end == BINLOG_END_PREPARED) {
		MEM_RESERVE(r->prepared, r->prepared_count + 1, r->prepared_capacity);
		r->prepared[r->prepared_count++] = (struct prepared_txn){
			mem_strdup(txn->xid.data), r->txn, r->begin_seq, r->at};
	} else if (txn->xid.len && !txn->group_count && txn->first) {
		end_prepared(r, txn);
	} else if (txn->group_count || !txn->first) {
		end_txn(r, r->txn, txn->end == BINLOG_END_COMMIT ? TXN_COMMITTED : TXN_ABORTED,
			txn->end == BINLOG_END_COMMIT ? "commit" : "rollback", txn->gtid,
			r->begin_seq, r->at);
	}
	binlog_gtids_add(&r->place.gtids, txn->gtid);
}

static void on_gap(void *ctx, struct span what)
{
	struct recording *r = ctx;

	r->summary->gaps++;
	note(r, NOTE_BINLOG_GAP, what);
}

static void on_place(void *ctx, struct span file, uint64_t position)
{
	struct recording *r = ctx;

	buf_clear(&r->place.file);
	buf_add_span(&r->place.file, file);
	r->place.position = position;
}

static void on_format(void *ctx, struct span version)
{
	struct recording *r = ctx;

	struct server_release release = server_release_of(version);

	buf_clear(&r->version);
	buf_add_span(&r->version, version);
	if (release.flavour == SERVER_MYSQL && release.version >= MYSQL_LOGS_CASCADES)
		binlog_tables_log_cascades(r->tables);
}

static const struct binlog_txns_sink sink = {
	.txn = on_txn, .place = on_place, .gap = on_gap, .format = on_format};

static bool take_event(struct recording *r, struct span event, struct err *err)
{
	r->summary->events++;
	r->summary->bytes += event.len;
	return binlog_txns_event(r->txns, event, err);
}

/* ---- files ---- */

static bool read_exactly(
	int fd, char *to, size_t len, size_t *got, const char *path, struct err *err)
{
	*got = 0;
	while (*got < len) {
		ssize_t n = read(fd, to + *got, len - *got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_errno(err, errno, "cannot read %s", path);
		if (!n)
			break;
		*got += (size_t)n;
	}
	return true;
}

static bool torn(struct recording *r, const char *path, uint64_t offset)
{
	char text[400];

	(void)snprintf(text, sizeof(text), "%s ends inside of an event, at byte %llu", path,
		(unsigned long long)offset);
	on_gap(r, span_str(text));
	return true;
}

static bool import_file(
	struct recording *r, const char *path, const volatile int *stop, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct buf event = BUF_INIT;
	uint64_t offset = 0;
	bool good = true;
	size_t got;

	if (fd < 0)
		return err_set_errno(err, errno, "cannot open %s", path);
	binlog_txns_reset(r->txns);
	good = read_exactly(fd, buf_reserve(&event, BINLOG_HEAD_SIZE), BINLOG_MAGIC_SIZE, &got,
		       path, err) &&
	       (binlog_magic(span_of(event.data, got), err) || err_prefix(err, "%s", path));
	offset = BINLOG_MAGIC_SIZE;
	while (good && !*stop) {
		uint32_t size;

		buf_clear(&event);
		good = read_exactly(fd, buf_reserve(&event, BINLOG_HEAD_SIZE), BINLOG_HEAD_SIZE,
			&got, path, err);
		if (!good || !got)
			break;
		size = got == BINLOG_HEAD_SIZE ? binlog_event_size(span_of(event.data, got))
					       : BINLOG_HEAD_SIZE;
		if (!size) {
			good = err_set(err, ERR_FORMAT, "%s, byte %llu: no event begins here", path,
				(unsigned long long)offset);
			break;
		}
		event.len = got;
		/* A forged length asks for no memory before the bytes are there. */
		while (good && event.len == got && event.len < size) {
			size_t step = size - event.len < READ_SIZE ? size - event.len : READ_SIZE,
			       more;

			good = read_exactly(fd, buf_reserve(&event, step), step, &more, path, err);
			event.len += more;
			got = more == step ? event.len : 0;
		}
		if (!good)
			break;
		if (got != size) {
			(void)torn(r, path, offset);
			break;
		}
		good = take_event(r, buf_span(&event), err) ||
		       err_prefix(err, "%s, byte %llu", path, (unsigned long long)offset);
		offset += size;
	}
	(void)close(fd);
	buf_release(&event);
	return good;
}

static bool import_files(struct recording *r, const volatile int *stop, struct err *err)
{
	for (size_t i = 0; i < r->options->file_count && !*stop; i++)
		if (!import_file(r, r->options->files[i], stop, err))
			return false;
	return true;
}

/* ---- a server ---- */

static bool choose_place(struct recording *r)
{
	buf_clear(&r->place.gtids);
	switch (r->options->start) {
	case BINLOG_FROM_NOW:
		buf_add_span(&r->place.gtids, buf_span(&r->state.executed));
		buf_clear(&r->place.file);
		buf_add_span(&r->place.file, buf_span(&r->state.file));
		r->place.position = r->state.position;
		break;
	case BINLOG_FROM_BEGINNING:
		r->place.position = 4;
		break;
	case BINLOG_FROM_GTIDS:
		buf_add_str(&r->place.gtids, r->options->gtids);
		break;
	}
	return true;
}

static bool follow(struct recording *r, struct binlog_stream *stream, const volatile int *stop,
	bool *ended, struct err *err)
{
	*ended = false;
	while (!*stop) {
		struct span event;

		if (!binlog_stream_next(stream, &event, err))
			return false;
		if (!event.len) {
			*ended = true;
			return true;
		}
		if (!take_event(r, event, err)) {
			*ended = true;
			return false;
		}
		/* Without GTIDs a new connection goes on behind the last whole transaction. */
		if (!binlog_txns_open(r->txns) && event.len >= BINLOG_HEAD_SIZE) {
			const unsigned char *p = (const unsigned char *)event.ptr;
			uint32_t next = (uint32_t)p[13] | (uint32_t)p[14] << 8 |
					(uint32_t)p[15] << 16 | (uint32_t)p[16] << 24;

			if (next)
				r->place.position = next;
		}
	}
	*ended = true;
	return true;
}

static bool record_server(struct recording *r, const volatile int *stop, struct err *err)
{
	unsigned pause = RETRY_FIRST_MS, tries = 0;
	bool ended = false, good = false;

	(void)choose_place(r);
	while (!ended) {
		struct binlog_stream stream;
		uint64_t before = r->summary->events;

		binlog_txns_reset(r->txns);
		good = binlog_stream_open(&stream, &r->options->login, "binlog",
			&r->options->address, &r->state, &r->place, r->options->server_id,
			BINLOG_TEXTS | (r->options->wait ? BINLOG_WAIT : 0), err);
		if (good) {
			good = follow(r, &stream, stop, &ended, err);
			binlog_stream_close(&stream);
		}
		if (ended || *stop || (!r->summary->events && !tries))
			break;
		if (r->summary->events > before) {
			pause = RETRY_FIRST_MS;
			tries = 0;
		}
		if (++tries > RETRIES_MAX)
			break;
		r->summary->reconnects++;
		(void)poll(NULL, 0, (int)pause);
		pause = pause * 2 < RETRY_MAX_MS ? pause * 2 : RETRY_MAX_MS;
	}
	return good || *stop;
}

/* ---- all ---- */

static void release(struct recording *r)
{
	binlog_txns_free(r->txns);
	binlog_tables_free(r->tables);
	binlog_state_release(&r->state);
	buf_release(&r->place.gtids);
	buf_release(&r->place.file);
	buf_release(&r->file);
	buf_release(&r->version);
	for (size_t i = 0; i < r->prepared_count; i++)
		mem_free(r->prepared[i].xid);
	mem_free(r->prepared);
	if (r->db)
		mysql_close(r->db);
}

static bool open_trace(struct recording *r, struct err *err)
{
	struct trace_writer_options options;

	trace_writer_defaults(&options);
	options.overwrite = r->options->overwrite;
	options.compression_level = r->options->compression_level;
	/* Times are those that the server wrote into its log. */
	options.anchor_mono_ns = options.anchor_wall_ns = 1;
	r->writer = trace_writer_open(r->options->output, &options, err);
	if (!r->writer)
		return false;
	r->producer = trace_producer_open(r->writer);
	return true;
}

static void finish(struct recording *r)
{
	struct buf text = BUF_INIT;

	open_session(r);
	for (size_t i = 0; i < r->prepared_count; i++)
		end_txn(r, r->prepared[i].txn, TXN_UNKNOWN, "prepared", "",
			r->prepared[i].begin_seq, r->prepared[i].begin);
	buf_add_str(&text, "read up to ");
	buf_add_span(
		&text, r->place.gtids.len ? buf_span(&r->place.gtids) : buf_span(&r->place.file));
	note(r, "binlog", buf_span(&text));
	buf_release(&text);
	(void)trace_emit_session(r->producer, &(struct record_session){.at = r->at,
						      .session = SESSION,
						      .event = SESSION_CLOSED,
						      .node = SPAN_LIT("binlog")});
}

bool binlog_record(const struct binlog_record_options *options, const volatile int *stop,
	struct binlog_record_summary *summary, struct err *err)
{
	struct recording r = {.options = options, .summary = summary, .at = 1};
	struct binlog_options decoding = {.values = {options->value_keep_max}};
	bool good = true, closed;
	struct err later;

	*summary = (struct binlog_record_summary){.bytes = 0};
	if (options->connect) {
		r.db = db_connect(&options->login, "binlog", &options->address, err);
		good = r.db && binlog_state_read(r.db, "binlog", &r.state, err) &&
		       (options->file_count || binlog_state_check(&r.state, "binlog", err));
	}
	if (!good || !open_trace(&r, err)) {
		release(&r);
		return false;
	}
	r.tables = binlog_tables_new(r.db, 1, on_define, &r);
	r.txns = binlog_txns_new(&sink, &r, r.tables, &decoding);
	good = options->file_count ? import_files(&r, stop, err) : record_server(&r, stop, err);
	if (!good)
		on_gap(&r, span_str(err->text));
	finish(&r);
	summary->counts = *binlog_txns_counts(r.txns);
	summary->keyless_tables = binlog_tables_without_key(r.tables);
	trace_producer_close(r.producer);
	closed = trace_writer_end(r.writer, &summary->trace, &later);
	release(&r);
	if (good && !closed)
		*err = later;
	return good && closed;
}
