/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec proxy`: options of the recording relay. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/output.h"
#include "base/text.h"
#include "base/version.h"
#include "binlog/beside.h"
#include "cluster/cluster.h"
#include "commands/proxy_options.h"
#include "commands/recorder_commands.h"
#include "db/levels_in_programs.h"
#include "proxy/proxy.h"
#include "proxy/server_context.h"

/* Of a node that is asked how it is; one that takes longer counts as unreachable. */
/* Of answers to the recorder's own statements: to polls, and where tables and rows are read. */
enum { ANSWER_TIMEOUT_S = 5, CONTEXT_TIMEOUT_S = 120 };

enum { LATER_NS_MAX = 25000000 };

static const struct command_example proxy_examples[] = {
	{"proxy --node 127.0.0.1:3306 -o run.itr",
		"record what clients of port 3307 do on the server at port 3306"},
	{"proxy --node n1=10.0.0.1:3306 --node n2=10.0.0.2:3306 -o run.itr",
		"a cluster: clients of n1 connect to port 3307, those of n2 to port 3308"},
	{"proxy --node /run/mysqld/mysqld.sock --listen unix:/tmp/rec.sock -o run.itr",
		"Unix sockets on both sides"},
	{NULL, NULL},
};

static bool read_capture(const char *list, unsigned *levels)
{
	*levels = 0;
	while (*list) {
		size_t len = strcspn(list, ",");
		struct span word = span_of(list, len);

		if (span_eq_str(word, "params"))
			*levels |= CAPTURE_PARAMS;
		else if (span_eq_str(word, "results"))
			*levels |= CAPTURE_RESULTS;
		else if (!span_eq_str(word, "statements"))
			return false;
		list += len + (list[len] == ',');
	}
	return true;
}

static bool read_patterns(
	const struct proxy_options *options, struct filter *filter, struct err *err)
{
	return filter_compile(&filter->user, "--only-user", options->only_user, err) &&
	       filter_compile(&filter->not_user, "--skip-user", options->skip_user, err) &&
	       filter_compile(&filter->database, "--only-database", options->only_database, err) &&
	       filter_compile(
		       &filter->not_database, "--skip-database", options->skip_database, err) &&
	       filter_compile(&filter->table, "--only-table", options->only_table, err) &&
	       filter_compile(&filter->not_table, "--skip-table", options->skip_table, err);
}

/* Filters in their order; workers may still look at any but the last. */
struct filters {
	struct filter **list;
	size_t count, capacity;
};

/* Takes the filter of the options for all that comes. */
static bool read_filter(const struct proxy_options *options, struct capture_config *capture,
	struct filters *filters, struct err *err)
{
	struct filter *filter = mem_zero(1, sizeof(*filter));

	if (!read_patterns(options, filter, err)) {
		filter_release(filter);
		mem_free(filter);
		return false;
	}
	MEM_RESERVE(filters->list, filters->count + 1, filters->capacity);
	filters->list[filters->count++] = filter;
	atomic_store(&capture->filter, filter);
	return true;
}

static void filters_release(struct filters *filters)
{
	for (size_t i = 0; i < filters->count; i++) {
		filter_release(filters->list[i]);
		mem_free(filters->list[i]);
	}
	mem_free(filters->list);
}

static bool read_redact(const struct proxy_options *options, struct redact *redact, struct err *err)
{
	if (!options->redact) {
		if (options->redact_key)
			return err_set(err, ERR_USAGE, "--redact-key goes with --redact");
		return true;
	}
	return redact_init(redact, options->redact, (enum redact_how)options->redact_with,
		options->redact_key, err);
}

/* "NAME=ADDRESS" with a name of a node, or "ADDRESS". */
static const char *after_name(const char *text, size_t *name_len)
{
	const char *equals = strchr(text, '=');

	*name_len = equals ? (size_t)(equals - text) : 0;
	return equals ? equals + 1 : text;
}

static bool read_nodes(const struct proxy_options *options, struct proxy *proxy, struct err *err)
{
	if (options->nodes.count == 0)
		return err_set(err, ERR_USAGE,
			"which server? Name it with --node, for example --node 127.0.0.1:3306");
	if (options->nodes.count > PROXY_NODES_MAX || options->listen.count > options->nodes.count)
		return err_set(err, ERR_USAGE,
			options->nodes.count > PROXY_NODES_MAX ? "too many nodes"
							       : "more --listen than --node");
	for (size_t i = 0; i < options->nodes.count; i++) {
		struct relay_node *node = &proxy->nodes[proxy->node_count++];
		size_t len;
		const char *address = after_name(options->nodes.items[i], &len);

		if (len >= sizeof(node->name))
			return err_set(err, ERR_USAGE, "--node %s: a name has at most %zu bytes",
				options->nodes.items[i], sizeof(node->name) - 1);
		if (len)
			memcpy(node->name, options->nodes.items[i], len);
		else
			snprintf(node->name, sizeof(node->name), "n%zu", i + 1);
		if (!address_parse(&node->upstream, address, 3306, err))
			return false;
		node->capture.name = node->name;
		node->capture.address = node->upstream.text;
		for (size_t k = 0; k < i; k++)
			if (strcmp(proxy->nodes[k].name, node->name) == 0)
				return err_set(
					err, ERR_USAGE, "two nodes are named %s", node->name);
	}
	return true;
}

static bool find_node(const struct proxy *proxy, const char *name, size_t len, size_t *at)
{
	for (size_t k = 0; k < proxy->node_count; k++) {
		if (strlen(proxy->nodes[k].name) != len ||
			memcmp(proxy->nodes[k].name, name, len) != 0)
			continue;
		*at = k;
		return true;
	}
	return false;
}

static bool read_listen(const struct proxy_options *options, struct proxy *proxy, struct err *err)
{
	for (size_t i = 0; i < options->listen.count; i++) {
		size_t len, at = i;
		const char *address = after_name(options->listen.items[i], &len);

		if (len && !find_node(proxy, options->listen.items[i], len, &at))
			return err_set(err, ERR_USAGE, "--listen %s: no --node has that name",
				options->listen.items[i]);
		if (proxy->nodes[at].listen.count)
			return err_set(
				err, ERR_USAGE, "node %s has two --listen", proxy->nodes[at].name);
		if (!address_parse(&proxy->nodes[at].listen, address, 0, err))
			return false;
	}
	for (size_t i = 0; i < proxy->node_count; i++) {
		char text[32];

		if (proxy->nodes[i].listen.count)
			continue;
		snprintf(text, sizeof(text), "127.0.0.1:%zu", 3307 + i);
		if (!address_parse(&proxy->nodes[i].listen, text, 0, err))
			return false;
	}
	return true;
}

/* Room for the rows of tables with --snapshot-rows=auto: a staging database as a rule, and no disk is filled by them. */
static uint64_t snapshot_room(const char *output)
{
	static const uint64_t most = (uint64_t)2 << 30;
	const char *slash = strrchr(output, '/');
	char *folder = slash ? mem_strdup(output) : mem_strdup(".");
	struct statvfs at;
	uint64_t room = most;

	if (slash)
		folder[slash - output + 1] = '\0';
	if (statvfs(folder, &at) == 0 && (uint64_t)at.f_bavail * at.f_frsize / 8 < room)
		room = (uint64_t)at.f_bavail * at.f_frsize / 8;
	mem_free(folder);
	return room;
}

static bool read_snapshot(const struct proxy_options *options, uint64_t *rows, uint64_t *bytes)
{
	*rows = *bytes = UINT64_MAX;
	if (strcmp(options->snapshot_rows, "auto") == 0) {
		*bytes = snapshot_room(options->output);
		return true;
	}
	return text_number(span_str(options->snapshot_rows), rows);
}

static bool read_tls(const struct proxy_options *options, struct proxy *proxy, struct err *err)
{
	bool decrypts = options->tls == RELAY_TLS_AS_CLIENT || options->tls == RELAY_TLS_TERMINATE;

	if (!decrypts && (options->tls_cert || options->tls_key || options->tls_ca))
		return err_set(err, ERR_USAGE,
			"--tls-cert, --tls-key and --tls-ca go with --tls=as-client or terminate");
	if (options->tls == RELAY_TLS_AS_CLIENT && !options->tls_cert)
		return err_set(err, ERR_USAGE,
			"--tls=as-client needs a certificate to show to clients: --tls-cert");
	return !decrypts || tls_context_init(&proxy->relay.tls_context, options->tls_cert,
				    options->tls_key, options->tls_ca, err);
}

static unsigned default_workers(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors < 1 ? 1 : processors > 8 ? 8 : (unsigned)processors;
}

/* Of the time that a record may wait, a quarter is for the bytes that are yet to be parsed. */
static uint64_t parse_later_ns(const struct proxy_options *options)
{
	uint64_t quarter = options->flush_interval / 4;

	return quarter > LATER_NS_MAX ? LATER_NS_MAX : quarter;
}

static struct trace_writer *open_trace(const struct proxy_options *options, struct err *err)
{
	struct trace_writer_options writer;

	trace_writer_defaults(&writer);
	writer.buffer_size_max = options->buffer;
	writer.flush_interval_ms =
		(unsigned)((options->flush_interval - parse_later_ns(options)) / 1000000);
	writer.policy = (enum trace_policy)options->policy;
	writer.sync = (enum trace_sync)options->sync;
	writer.compression_level = options->compression_level;
	/* A commit's answer waits for the disk: it is not to wait for anything else. */
	if (options->durable && writer.compression_level == TRACE_COMPRESSION_AUTO)
		writer.compression_level = 0;
	writer.segment_size_max = options->segment_size;
	writer.total_size_max = options->total_size;
	writer.recorder = "isorec " ISOTRACE_VERSION;
	return trace_writer_open(options->output, &writer, err);
}

static void ready(const struct proxy *proxy)
{
	if (!proxy->say)
		return;
	for (size_t i = 0; i < proxy->node_count; i++)
		proxy->say("node %s: clients connect to %s, the server is %s%s",
			proxy->nodes[i].name, proxy->nodes[i].listen.text,
			proxy->nodes[i].upstream.text,
			address_is_loopback(&proxy->nodes[i].listen)
				? ""
				: " (others on the network can connect, too)");
	if (proxy->metrics.text[0])
		proxy->say("metrics: http://%s/metrics%s", proxy->metrics.text,
			address_is_loopback(&proxy->metrics) ? "" : " (others on the network can read them, too)");
	if (proxy->advice[0])
		proxy->say("%s", proxy->advice);
}

static enum exit_status fail(const struct err *err)
{
	output_message("%s", err->text);
	return err_exit_status(err);
}

static void fill_proxy(const struct proxy_options *options, struct proxy *proxy)
{
	proxy->worker_count = options->workers ? (unsigned)options->workers : default_workers();
	proxy->relay = (struct relay_options){
		.tls = (enum relay_tls)options->tls,
		.proxy_protocol = (enum proxy_protocol)options->proxy_protocol,
		.accept_proxy_protocol = options->accept_proxy_protocol,
		.no_compression = options->no_compression,
		.connect_timeout_ns = options->connect_timeout,
		.drain_timeout_ns = options->drain_timeout,
		.sessions_max = options->sessions_max,
		.sample = options->sample,
		.buffer_size = options->buffer / proxy->worker_count,
		.packet_keep_max = options->packet_max,
		.later_ns = parse_later_ns(options),
		.durable = options->durable,
	};
	proxy->capture.segments = options->segment_size != 0;
	proxy->capture.rows_max = options->rows_max;
	proxy->capture.result_bytes_max = options->result_bytes_max;
	proxy->capture.values.value_keep_max = options->value_max;
	proxy->say = options->quiet ? NULL : output_message;
	proxy->ready = ready;
	proxy->status_line =
		!options->quiet &&
		(options->output_options.progress == OUTPUT_ALWAYS ||
			(options->output_options.progress == OUTPUT_AUTO && isatty(STDERR_FILENO)));
}

/* "NODE=FILE"; without a node the only or first one.  A file's name may have a "=". */
static bool read_logs(const struct proxy_options *options, struct proxy *proxy,
	struct cluster *cluster, struct err *err)
{
	cluster->logs.hides_values = options->redact != NULL;
	for (size_t i = 0; i < options->log_patterns.count; i++)
		if (!logs_add_pattern(&cluster->logs, options->log_patterns.items[i], err))
			return false;
	for (size_t i = 0; i < options->logs.count; i++) {
		const char *item = options->logs.items[i], *file;
		size_t len, at = 0;

		file = after_name(item, &len);
		if (len && !find_node(proxy, item, len, &at)) {
			if (!memchr(item, '/', len))
				return err_set(
					err, ERR_USAGE, "--log %s: no --node has that name", item);
			file = item;
		}
		if (!logs_add(&cluster->logs, &proxy->nodes[at].capture, file, err))
			return false;
	}
	return true;
}

struct proxy_context {
	struct server_context_options options;
	struct cluster cluster;
	char hosts[PROXY_NODES_MAX][ADDRESS_TEXT_SIZE];
	struct server_context context;
	struct trace_producer *producer;
	struct instrument_tables tables; /* prepared ones */
	struct binlog_beside *beside;    /* NULL: the binary log is not read */
	char log_host[ADDRESS_TEXT_SIZE]; /* of its server */
	struct base_tables base_tables;            /* tables that are no views, for --redact */
};

static struct db_address address_of(
	const struct relay_node *node, char host[ADDRESS_TEXT_SIZE])
{
	struct db_address address;

	address_parts(&node->upstream, host, &address.port, &address.socket);
	address.host = host;
	return address;
}

/* Is it a mode that needs prepared tables? */
static bool prepares(const struct proxy_options *options)
{
	return options->instrument == INSTRUMENT_TRIGGER || options->instrument == INSTRUMENT_SELECT;
}

/* How to reach the nodes with a connection of our own. */
static void fill_context(
	struct proxy *proxy, struct proxy_context *c, const struct proxy_options *options)
{
	uint64_t rows = 0, bytes = 0;

	(void)read_snapshot(options, &rows, &bytes);
	c->options = (struct server_context_options){
		.login = {.user = options->user,
			.password = options->password ? options->password : getenv("MYSQL_PWD"),
			.connect_timeout_ns = options->connect_timeout,
			.answer_timeout_s = CONTEXT_TIMEOUT_S,
			.tls = options->tls == RELAY_TLS_AS_CLIENT ||
			       options->tls == RELAY_TLS_TERMINATE,
			.tls_ca = options->tls_ca},
		.databases = options->databases.items,
		.database_count = options->databases.count,
		.rows_max = rows,
		.bytes_max = bytes,
		.snapshot_rows = options->snapshot_rows,
		.values = &proxy->capture.values,
		.instrument = prepares(options) ? &c->tables : NULL,
		.logged = options->instrument == INSTRUMENT_BINLOG,
		.all_writers = options->all_writers,
		.filter = atomic_load(&proxy->capture.filter),
		.redact = &proxy->capture.redact,
	};
	c->cluster.login = c->options.login;
	c->cluster.login.answer_timeout_s = ANSWER_TIMEOUT_S;
}

/* Before there is a trace: one without anything in it would stand in the way of the next try. */
static bool nodes_answer(struct proxy *proxy, const struct proxy_options *options, struct err *err)
{
	struct proxy_context *c = mem_zero(1, sizeof(*c));
	bool ok = true;

	fill_context(proxy, c, options);
	for (size_t i = 0; i < proxy->node_count && ok; i++) {
		struct db_address address = address_of(&proxy->nodes[i], c->hosts[i]);
		MYSQL *db = db_connect(
			&c->options.login, proxy->nodes[i].name, &address, err);

		ok = db != NULL;
		if (db)
			mysql_close(db);
	}
	mem_free(c);
	return ok;
}

/* A user that forgets `isorec prepare` would learn it from an empty verdict only. */
static void tell_unprepared(const struct proxy *proxy, const struct proxy_context *c)
{
	const struct context_table *first = NULL;
	size_t count = 0;

	if (!c->options.instrument || !proxy->say)
		return;
	for (size_t i = 0; i < c->context.count; i++) {
		const struct context_table *t = &c->context.tables[i];

		if (instrument_tables_find(&c->tables, buf_span(&t->database), buf_span(&t->name)))
			continue;
		if (!count++)
			first = t;
	}
	if (!count)
		return;
	proxy->say("%zu of %zu tables %s not prepared (%s.%s%s): what is read and written there "
		   "is not seen by isotrace; see isorec prepare",
		count, c->context.count, count == 1 ? "is" : "are", first->database.data,
		first->name.data, count == 1 ? "" : " ...");
}

/* The same for rows that are not in the trace: a statement that reads one of them cannot be judged. */
static void tell_cut(const struct proxy *proxy, const struct server_context *context)
{
	const struct context_table *first = &context->tables[context->first_cut];

	if (!context->cut_count || !proxy->say)
		return;
	proxy->say("%zu of %zu tables %s more rows than --snapshot-rows=%s keeps (%s.%s%s): the others are not in "
		   "the trace, and isotrace check --oracle mvcc cannot judge what reads them",
		context->cut_count, context->count, context->cut_count == 1 ? "has" : "have",
		context->options->snapshot_rows, first->database.data, first->name.data,
		context->cut_count == 1 ? "" : " ...");
}

/* ---- the binary log ---- */

enum { REPLICA_NUMBER = 0x69736f00 }; /* no server of a cluster has it: the recorder's own */

static struct binlog_beside_options binlog_options(struct proxy *proxy, struct proxy_context *c)
{
	struct binlog_beside_options options = {.login = c->options.login,
		.address = address_of(&proxy->nodes[0], c->log_host),
		.node = proxy->nodes[0].name,
		.writer = proxy->writer,
		.values = proxy->capture.values,
		.server_id = REPLICA_NUMBER | ((uint32_t)getpid() & 0xff),
		.first_table = CONTEXT_TABLES_MAX + 1};

	options.login.answer_timeout_s = 0;
	return options;
}

/* A recording without versions is judged by executing the statements again (docs/recording.md): which others would do? */
static void advise(struct proxy *proxy, struct proxy_context *c)
{
	struct binlog_beside_options options = binlog_options(proxy, c);
	struct binlog_beside *beside;
	struct err why;

	if (!proxy->say || proxy->node_count > 1)
		return;
	beside = binlog_beside_new(&options, &why);
	if (beside) {
		snprintf(proxy->advice, sizeof(proxy->advice),
			"node %s allows --instrument=binlog: exact writes, and nothing is changed", proxy->nodes[0].name);
		binlog_beside_free(beside);
	} else {
		snprintf(proxy->advice, sizeof(proxy->advice), "no --instrument=binlog: %.250s", why.text);
	}
}

/* Asked before the rows are read, so that no change is between them and the log. */
static bool ask_binlog(struct proxy *proxy, struct proxy_context *c, struct err *err)
{
	struct binlog_beside_options options = binlog_options(proxy, c);

	if (!c->options.logged && !c->options.instrument)
		advise(proxy, c);
	if (!c->options.logged)
		return true;
	c->beside = binlog_beside_new(&options, err);
	if (c->beside)
		proxy->relay.track_sql = binlog_track_sql(binlog_beside_state(c->beside));
	return c->beside != NULL;
}

static bool begin_binlog(struct proxy_context *c, struct err *err)
{
	if (!c->beside)
		return true;
	for (size_t i = 0; i < c->context.count; i++)
		binlog_beside_table(c->beside, buf_span(&c->context.tables[i].database),
			buf_span(&c->context.tables[i].name), (uint32_t)i + 1);
	return binlog_beside_start(c->beside, err);
}

/* What the log had that no trace of it can show. */
static void say_binlog(const struct proxy *proxy, const struct binlog_beside_summary *summary)
{
	const struct binlog_counts *counts = &summary->counts;

	if (!proxy->say)
		return;
	proxy->say("binary log: %llu transactions, %llu rows; %llu reconnects, %llu gaps",
		(unsigned long long)counts->txns, (unsigned long long)counts->rows,
		(unsigned long long)summary->reconnects, (unsigned long long)summary->gaps);
	if (counts->keyless_rows)
		proxy->say("%llu rows of tables without a primary key have no name: they are not in the trace",
			(unsigned long long)counts->keyless_rows);
	if (counts->partial_rows || counts->statements || counts->refused_events)
		proxy->say("%llu rows lacked columns, %llu statements were logged as texts, %llu events could not "
			   "be decoded: what they changed is not known",
			(unsigned long long)counts->partial_rows, (unsigned long long)counts->statements,
			(unsigned long long)counts->refused_events);
}

static void end_binlog(struct proxy *proxy, struct proxy_context *c)
{
	struct binlog_beside_summary summary;

	if (!c->beside)
		return;
	binlog_beside_end(c->beside, &summary);
	c->beside = NULL;
	if (proxy->served)
		say_binlog(proxy, &summary);
}

/* Before the first client: variables of all nodes, tables and rows of the first. */
static bool read_context(struct proxy *proxy, struct proxy_context *c, struct err *err)
{
	char host[ADDRESS_TEXT_SIZE];
	struct db_address address;

	c->tables.databases = c->options.databases;
	c->tables.database_count = c->options.database_count;

	c->producer = trace_producer_open(proxy->writer);
	server_context_init(&c->context, &c->options, proxy->writer, c->producer);
	for (size_t i = 0; i < proxy->node_count; i++) {
		address = address_of(&proxy->nodes[i], host);
		if (!server_context_server(&c->context, &proxy->nodes[i].capture, &address, err))
			return false;
	}
	address = address_of(&proxy->nodes[0], host);
	if (!ask_binlog(proxy, c, err) ||
		!server_context_schema(&c->context, &proxy->nodes[0].capture, &address, err))
		return false;
	tell_unprepared(proxy, c);
	for (size_t i = 0; i < c->context.count; i++)
		base_tables_add(&c->base_tables, buf_span(&c->context.tables[i].database),
			buf_span(&c->context.tables[i].name));
	base_tables_sort(&c->base_tables);
	proxy->capture.redact.base_tables = &c->base_tables;
	if (!server_context_rows(&c->context, &proxy->nodes[0].capture, &address, "initial", err))
		return false;
	tell_cut(proxy, &c->context);
	return begin_binlog(c, err);
}

/* After the last client: tables that were made meanwhile, and rows of every node, so that nodes can
 * be compared. */
static bool read_final_rows(struct proxy *proxy, struct proxy_context *c, struct err *err)
{
	char first[ADDRESS_TEXT_SIZE];
	struct db_address node = address_of(&proxy->nodes[0], first);

	if (!server_context_schema(&c->context, &proxy->nodes[0].capture, &node, err))
		return false;
	for (size_t i = 0; i < proxy->node_count; i++) {
		char host[ADDRESS_TEXT_SIZE];
		struct db_address address = address_of(&proxy->nodes[i], host);

		if (!server_context_rows(&c->context, &proxy->nodes[i].capture, &address, "final", err))
			return false;
	}
	return true;
}

/* What the trace leaves out on purpose, for the reader; `again`: nothing, too. */
static void note_left_out(
	struct trace_writer *writer, const struct proxy_options *options, bool again)
{
	const struct {
		const char *option, *value;
	} all[] = {
		{"only-user", options->only_user},
		{"skip-user", options->skip_user},
		{"only-database", options->only_database},
		{"skip-database", options->skip_database},
		{"only-table", options->only_table},
		{"skip-table", options->skip_table},
		{"redact", options->redact},
	};
	struct trace_producer *producer = trace_producer_open(writer);
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].value)
			buf_printf(&text, "%s--%s=%s", text.len ? " " : "", all[i].option,
				all[i].value);
	if (options->redact)
		buf_printf(&text, " --redact-with=%s",
			options->redact_with == REDACT_HASH ? "hash" : "drop");
	if (options->sample > 1)
		buf_printf(&text, "%s--sample=%llu", text.len ? " " : "",
			(unsigned long long)options->sample);
	if (again && !text.len)
		buf_add_str(&text, "nothing");
	if (text.len) {
		struct record_note note = {.source = SPAN_LIT("recorder"),
			.topic = SPAN_LIT("left out"),
			.text = buf_span(&text)};

		trace_emit_note(producer, &note);
	}
	buf_release(&text);
	trace_producer_close(producer);
}

/* Watches the nodes while the sessions run. */
static bool run_watched(struct proxy *proxy, struct proxy_context *c,
	const struct proxy_options *options, struct err *err)
{
	bool ok;

	if (!read_logs(options, proxy, &c->cluster, err)) {
		cluster_stop(&c->cluster);
		return false;
	}
	for (size_t i = 0; options->user && options->poll_interval && i < proxy->node_count; i++) {
		struct db_address address = address_of(&proxy->nodes[i], c->hosts[i]);

		cluster_add_node(
			&c->cluster, &proxy->nodes[i].capture, &address, options->poll_interval);
	}
	if (!cluster_start(&c->cluster, options->control, proxy->writer, err))
		return false;
	ok = proxy_run(proxy, err);
	cluster_stop(&c->cluster);
	return ok;
}

/* Records with what stands around the sessions, where the user gave an account for it. */
static enum exit_status record(struct proxy *proxy, const struct proxy_options *options)
{
	struct proxy_context *context = mem_zero(1, sizeof(*context));
	enum exit_status status = EXIT_STATUS_OK;
	struct err err;

	if (!options->user && proxy->say)
		proxy->say("recording without the server's variables, tables and rows: give --user "
			   "to have them in the trace");
	if (!options->user && proxy->capture.redact.on && !proxy->capture.redact.all) {
		proxy->capture.redact.all = true;
		if (proxy->say)
			proxy->say("without --user it is not known which tables are views with "
				   "other names for the columns: all values are redacted");
	}
	for (size_t i = 0; !options->user && i < proxy->node_count; i++)
		atomic_store(&proxy->nodes[i].capture.hidden_levels, HIDDEN_IN_CALLS);
	note_left_out(proxy->writer, options, false);
	fill_context(proxy, context, options);
	proxy->relay.instrument = context->options.instrument;
	if (prepares(options) &&
		!instrument_tables_init(&context->tables, (enum instrument_mode)options->instrument,
			options->all_writers, options->predicate_probes, &err)) {
		status = fail(&err);
	} else if (options->user && !read_context(proxy, context, &err)) {
		status = fail(&err);
	} else if (!run_watched(proxy, context, options, &err)) {
		status = fail(&err);
	} else if (end_binlog(proxy, context), options->user && !read_final_rows(proxy, context, &err)) {
		/* The recording is whole; only the comparison with the end is missing. */
		output_message("no final rows: %s", err.text);
		status = EXIT_STATUS_INCOMPLETE;
	}
	end_binlog(proxy, context);
	proxy->capture.redact.base_tables = NULL;
	base_tables_release(&context->base_tables);
	server_context_release(&context->context);
	instrument_tables_release(&context->tables);
	if (context->producer)
		trace_producer_close(context->producer);
	mem_free(context);
	return status;
}

static void proxy_free(struct proxy *proxy)
{
	redact_release(&proxy->capture.redact);
	tls_context_release(&proxy->relay.tls_context);
	mem_free(proxy);
}

static enum exit_status close_trace(
	struct proxy *proxy, const struct proxy_options *options, enum exit_status status)
{
	struct trace_writer_stats stats;
	struct err err;

	trace_writer_stats(proxy->writer, &stats);
	if (stats.sync_late_ns && proxy->say)
		proxy->say("waiting for the disk");
	if (!trace_writer_end(proxy->writer, &stats, &err))
		status = fail(&err);
	if (proxy->say && options->compression_level == TRACE_COMPRESSION_AUTO && stats.bytes_raw)
		proxy->say("compressed to %.2f of its size, with %.1f s of processor time that was left",
			(double)stats.bytes_written / (double)stats.bytes_raw,
			(double)stats.compression_ns / 1e9);
	if (proxy->say)
		proxy->say("trace %s: %llu records, %llu bytes written, %llu records lost",
			options->output, (unsigned long long)stats.records,
			(unsigned long long)stats.bytes_written,
			(unsigned long long)stats.lost_records);
	return status;
}

/* What SIGHUP needs to read the options again. */
struct reading {
	const struct command *command;
	int argc;
	char **argv;
	struct filters filters;
};

/* The filters of the option files and the command line, for sessions and statements that come. */
static void read_again(struct proxy *proxy, void *data)
{
	struct reading *reading = data;
	struct proxy_options options = proxy_options_default();
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(reading->command, &options, reading->argc, reading->argv, &args, &count,
		    &status)) {
		output_message("the options cannot be read: the filters stay as they are");
		return;
	}
	if (!read_filter(&options, &proxy->capture, &reading->filters, &err)) {
		output_message("%s: the filters stay as they are", err.text);
		return;
	}
	note_left_out(proxy->writer, &options, true);
	if (proxy->say)
		proxy->say("filters read again");
}

static enum exit_status run(const struct command *command, int argc, char **argv)
{
	struct proxy_options options = proxy_options_default();
	struct reading reading = {.command = command, .argc = argc, .argv = argv};
	struct proxy *proxy;
	enum exit_status status;
	uint64_t rows, bytes;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count)
		return command_misused(command, "unexpected argument: %s", args[0]);
	if (options.instrument && (!options.user || options.no_record))
		return command_misused(command,
			options.instrument == INSTRUMENT_BINLOG
				? "--instrument=binlog needs --user, an account that may read the binary log "
				  "(REPLICATION SLAVE) and the tables, and a trace"
				: "--instrument needs --user, to find the prepared tables, and a trace");
	if (options.instrument == INSTRUMENT_BINLOG && options.nodes.count > 1)
		return command_misused(command,
			"--instrument=binlog reads the log of one server: not with several --node");
	if (options.predicate_probes && options.instrument != INSTRUMENT_SELECT)
		return command_misused(command, "--predicate-probes needs --instrument=select");
	if (options.instrument && options.redact)
		return command_misused(command, "--instrument records keys and rows as they are: "
						"not together with --redact");
	if (options.durable && (options.no_record || options.sync == TRACE_SYNC_NEVER))
		return command_misused(
			command, "--durable needs a trace that is synced: not --no-record, not --sync=never");
	if (!trace_compression_level(options.compression, &options.compression_level))
		return command_misused(
			command, "--compression takes auto, off, fast, or a level from 1 to 19");
	if (!read_snapshot(&options, &rows, &bytes))
		return command_misused(command, "--snapshot-rows takes a number of rows, or auto");
	proxy = mem_zero(1, sizeof(*proxy));
	if (!read_capture(options.capture, &proxy->capture.levels)) {
		proxy_free(proxy);
		return command_misused(command,
			"--capture takes statements, params and results, separated by commas");
	}
	fill_proxy(&options, proxy);
	umask(077);
	proxy->hangup = read_again;
	proxy->hangup_data = &reading;
	if (!read_filter(&options, &proxy->capture, &reading.filters, &err) ||
		!read_redact(&options, &proxy->capture.redact, &err) ||
		!read_nodes(&options, proxy, &err) || !read_listen(&options, proxy, &err) ||
		!read_tls(&options, proxy, &err) ||
		(options.metrics && !address_parse(&proxy->metrics, options.metrics, 0, &err)) ||
		(options.user && !options.no_record && !nodes_answer(proxy, &options, &err))) {
		proxy_free(proxy);
		filters_release(&reading.filters);
		return fail(&err);
	}
	if (!options.no_record) {
		proxy->writer = open_trace(&options, &err);
		if (!proxy->writer) {
			proxy_free(proxy);
			filters_release(&reading.filters);
			return fail(&err);
		}
	}
	if (proxy->writer)
		status = record(proxy, &options);
	else
		status = proxy_run(proxy, &err) ? EXIT_STATUS_OK : fail(&err);
	if (proxy->writer && !proxy->served)
		trace_writer_discard(proxy->writer);
	else if (proxy->writer)
		status = close_trace(proxy, &options, status);
	proxy_free(proxy);
	filters_release(&reading.filters);
	return status;
}

const struct command proxy_command = {
	.name = "proxy",
	.summary = "sits between clients and a server, and records every session",
	.description =
		"Relays MySQL and MariaDB connections, one to the server for each client, and\n"
		"records what passes: statements, results, transactions, times. Clients connect "
		"to\n"
		"the proxy instead of the server; nothing else changes for them. The proxy never\n"
		"knows a password: the server's greeting and the authentication pass through.\n"
		"\n"
		"The server sees connections from the proxy's address: an account for "
		"'user'@'host'\n"
		"must allow that. It listens on loopback unless told otherwise.\n"
		"\n"
		"TERM and INT end it when open transactions have ended, at once when given twice;\n"
		"HUP reads the filters again and begins a new segment of the trace; USR1 prints\n"
		"statistics.",
	.options = proxy_option_table,
	.examples = proxy_examples,
	.client_groups = client_option_groups,
	.option_files_at = offsetof(struct proxy_options, option_files),
	.run = run,
};
