/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec proxy`: options of the recording relay. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/output.h"
#include "capture/backdrop.h"
#include "cluster/cluster.h"
#include "proxy/proxy.h"
#include "recorder_commands.h"

/* Of a node that is asked how it is; one that takes longer counts as unreachable. */
enum { ANSWER_TIMEOUT_S = 5 };

static const char *const tls_words[] = {"strip", "passthrough", "as-client", "terminate", NULL};
static const char *const redact_words[] = {"hash", "drop", NULL};
static const char *const protocol_words[] = {"none", "v1", "v2", NULL};
static const char *const policy_words[] = {"wait", "drop", "stop", NULL};
static const char *const sync_words[] = {"never", "interval", "always", NULL};

enum { LATER_NS_MAX = 25000000 };

struct proxy_options {
	struct option_strings listen, nodes, databases, logs, log_patterns;
	const char *control;
	uint64_t poll_interval;
	const char *output, *capture, *user, *password;
	const char *tls_cert, *tls_key, *tls_ca;
	const char *only_table, *skip_table, *redact, *redact_key;
	const char *only_user, *skip_user, *only_database, *skip_database;
	uint64_t snapshot_rows;
	uint64_t workers, sample, sessions_max, rows_max;
	uint64_t result_bytes_max, value_max, packet_max, buffer, segment_size, total_size;
	uint64_t connect_timeout, drain_timeout, flush_interval;
	int tls, policy, instrument, redact_with, sync, proxy_protocol;
	const char *compression;
	int compression_level;
	bool no_compression, no_record, quiet, accept_proxy_protocol, all_writers;
	struct output_options output_options;
	struct option_file_options option_files;
};

static const struct option_def proxy_table[] = {
	OPTION_HEADING("Where"),
	{.name = "node",
		.argument = "[NAME=]ADDRESS",
		OPTION_STRINGS(struct proxy_options, nodes),
		.help = "a server to record; may be given several times, once a node of a cluster"},
	{.name = "listen",
		.argument = "[NAME=]ADDRESS",
		OPTION_STRINGS(struct proxy_options, listen),
		.preset = "127.0.0.1:3307, and one port up for each further node",
		.help = "where clients of a node connect: the first one given belongs to the first "
			"node and so on, or name the node"},
	{.name = "output",
		.letter = 'o',
		.argument = "PATH",
		.files = true,
		OPTION_STRING(struct proxy_options, output),
		.preset = "isorec.itr",
		.help = "the trace: a file, or with --max-size a directory of segments"},

	OPTION_HEADING("What to record"),
	{.name = "capture",
		.argument = "LIST",
		OPTION_STRING(struct proxy_options, capture),
		.preset = "statements,params,results",
		.help = "statements, params (of prepared statements), results (rows); what is left "
			"out is counted"},
	{.name = "max-rows",
		.argument = "N",
		OPTION_UINT(struct proxy_options, rows_max),
		.preset = "0, all",
		.help = "rows kept of one result; of the rest a count and a digest"},
	{.name = "max-result",
		.argument = "SIZE",
		OPTION_SIZE(struct proxy_options, result_bytes_max),
		.preset = "0, no limit",
		.help = "bytes kept of one result; of the rest a count and a digest"},
	{.name = "max-value",
		.argument = "SIZE",
		OPTION_SIZE(struct proxy_options, value_max),
		.preset = "1M",
		.help = "longer values are cut: length, digest and first bytes are kept"},
	{.name = "max-packet",
		.argument = "SIZE",
		OPTION_SIZE(struct proxy_options, packet_max),
		.preset = "16M",
		.help = "longer statements are cut, longer rows left out"},
	{.name = "sample",
		.argument = "N",
		.min = 1,
		OPTION_UINT(struct proxy_options, sample),
		.preset = "1",
		.help = "record one session of N; sessions are recorded whole or not at all, as "
			"sampled statements prove nothing about isolation"},
	{.name = "only-user",
		.argument = "REGEX",
		OPTION_STRING(struct proxy_options, only_user),
		.help = "record only sessions of users whose name matches this Perl-compatible "
			"pattern"},
	{.name = "skip-user",
		.argument = "REGEX",
		OPTION_STRING(struct proxy_options, skip_user),
		.help = "do not record sessions of these users"},
	{.name = "only-database",
		.argument = "REGEX",
		OPTION_STRING(struct proxy_options, only_database),
		.help = "record only sessions that log in to a matching database"},
	{.name = "skip-database",
		.argument = "REGEX",
		OPTION_STRING(struct proxy_options, skip_database),
		.help = "do not record sessions that log in to a matching database"},
	{.name = "only-table",
		.argument = "REGEX",
		OPTION_STRING(struct proxy_options, only_table),
		.help = "of statements that name tables, and none whose database.table matches, "
			"keep the place in their transaction, but not text, parameters and rows"},
	{.name = "skip-table",
		.argument = "REGEX",
		OPTION_STRING(struct proxy_options, skip_table),
		.help = "the same for statements that name matching tables only"},
	{.name = "redact",
		.argument = "all|REGEX",
		OPTION_STRING(struct proxy_options, redact),
		.help = "record no values, or none of the columns whose name matches: in "
			"statements, parameters, results and rows of tables"},
	{.name = "instrument",
		.argument = "MODE",
		OPTION_CHOICE(struct proxy_options, instrument),
		.choices = instrument_mode_words,
		.preset = "off",
		.help = "record which versions statements read and wrote, in tables that isorec "
			"prepare has made ready; needs --user. trigger: by their triggers and by a "
			"column added to reads; select: by queries around each statement, most of "
			"which prove nothing while others write"},
	{.name = "all-writers",
		OPTION_FLAG(struct proxy_options, all_writers),
		.help = "with --instrument: nobody but clients of this proxy writes to the "
			"instrumented tables while it records; else a version that is missing is "
			"a suspicion only"},
	{.name = "redact-with",
		.argument = "HOW",
		OPTION_CHOICE(struct proxy_options, redact_with),
		.choices = redact_words,
		.preset = "hash",
		.help = "hash: equal values can still be told from others; drop: nothing is left"},
	{.name = "redact-key",
		.argument = "FILE",
		.files = true,
		OPTION_STRING(struct proxy_options, redact_key),
		.preset = "a random key for each recording",
		.help = "at least 16 secret bytes, so that hashes of several recordings agree"},
	{.name = "no-record",
		OPTION_FLAG(struct proxy_options, no_record),
		.help = "relay only: to see what recording costs"},

	OPTION_HEADING("Context, through a connection of the proxy's own"),
	{.name = "user",
		.letter = 'u',
		.argument = "NAME",
		OPTION_STRING(struct proxy_options, user),
		.help = "read each node's variables, tables and rows as this user, before the "
			"first "
			"client and after the last; without it the trace has none of them"},
	{.name = "password",
		.letter = 'p',
		.argument = "PASSWORD",
		.flags = OPTION_SECRET,
		OPTION_STRING(struct proxy_options, password),
		.preset = "the variable MYSQL_PWD",
		.help = "that user's password"},
	{.name = "database",
		.letter = 'D',
		.argument = "NAME",
		OPTION_STRINGS(struct proxy_options, databases),
		.preset = "all but the server's own",
		.help = "tables of this database; may be given several times"},
	{.name = "snapshot-rows",
		.argument = "N",
		OPTION_UINT(struct proxy_options, snapshot_rows),
		.preset = "10000",
		.help = "rows of each table to keep, before and after, in primary-key order; 0: "
			"none"},

	OPTION_HEADING("Nodes and clusters"),
	{.name = "poll-interval",
		.argument = "TIME",
		OPTION_DURATION(struct proxy_options, poll_interval),
		.preset = "1s",
		.help = "with --user, ask each node so often how it and its cluster are (Galera, "
			"group replication, TiDB), and record what changed; 0: never"},
	{.name = "log",
		.argument = "[NODE=]FILE",
		.files = true,
		OPTION_STRINGS(struct proxy_options, logs),
		.help = "follow the error log of a node and record its lines about crashes, "
			"shutdowns, state transfers, evictions; may be given several times"},
	{.name = "log-pattern",
		.argument = "REGEX",
		OPTION_STRINGS(struct proxy_options, log_patterns),
		.help = "record lines that match this, too; may be given several times"},
	{.name = "control",
		.argument = "PATH",
		.files = true,
		OPTION_STRING(struct proxy_options, control),
		.help = "listen on this Unix socket for events from outside: isorec note"},

	OPTION_HEADING("Connections"),
	{.name = "tls",
		.argument = "MODE",
		OPTION_CHOICE(struct proxy_options, tls),
		.choices = tls_words,
		.preset = "strip",
		.help = "strip: take the server's offer of TLS out of its greeting, so that "
			"sessions can be read; passthrough: let TLS through unread, such sessions "
			"are opaque; as-client: TLS to the server when the client uses TLS, both "
			"ending at the proxy; terminate: TLS to the server whatever the client "
			"does"},
	{.name = "tls-cert",
		.argument = "FILE",
		.files = true,
		OPTION_STRING(struct proxy_options, tls_cert),
		.help = "certificate shown to clients, and its chain, in PEM; as-client needs it, "
			"terminate offers clients TLS when it is given"},
	{.name = "tls-key",
		.argument = "FILE",
		.files = true,
		OPTION_STRING(struct proxy_options, tls_key),
		.preset = "in the file of --tls-cert",
		.help = "its private key"},
	{.name = "tls-ca",
		.argument = "FILE",
		.files = true,
		OPTION_STRING(struct proxy_options, tls_ca),
		.preset = "any certificate will do",
		.help = "the server's certificate must be signed by one of these"},
	{.name = "proxy-protocol",
		.argument = "VERSION",
		OPTION_CHOICE(struct proxy_options, proxy_protocol),
		.choices = protocol_words,
		.preset = "none",
		.help = "tell the server each client's own address with the PROXY protocol, v1 or "
			"v2; "
			"MariaDB takes it from the addresses in proxy_protocol_networks"},
	{.name = "accept-proxy-protocol",
		OPTION_FLAG(struct proxy_options, accept_proxy_protocol),
		.help = "clients come through a load balancer that begins each connection with a "
			"header of the PROXY protocol, v1 or v2; others are refused"},
	{.name = "no-compression",
		OPTION_FLAG(struct proxy_options, no_compression),
		.help = "take the offer of compression out of the greeting too"},
	{.name = "connect-timeout",
		.argument = "TIME",
		OPTION_DURATION(struct proxy_options, connect_timeout),
		.preset = "10s",
		.help = "give up on a node that does not answer"},
	{.name = "drain-timeout",
		.argument = "TIME",
		OPTION_DURATION(struct proxy_options, drain_timeout),
		.preset = "10s",
		.help = "after SIGTERM, wait so long for open transactions"},
	{.name = "max-sessions",
		.argument = "N",
		.min = 1,
		OPTION_UINT(struct proxy_options, sessions_max),
		.preset = "10000",
		.help = "further connections are closed"},

	OPTION_HEADING("Resources"),
	{.name = "workers",
		.argument = "N",
		.max = PROXY_WORKERS_MAX,
		OPTION_UINT(struct proxy_options, workers),
		.preset = "0, one a processor, at most 8",
		.help = "threads that forward"},
	{.name = "buffer",
		.argument = "SIZE",
		OPTION_SIZE(struct proxy_options, buffer),
		.preset = "256M",
		.help = "memory for records that wait for the disk, and the same again for packets "
			"being read"},
	{.name = "when-full",
		.argument = "POLICY",
		OPTION_CHOICE(struct proxy_options, policy),
		.choices = policy_words,
		.preset = "drop",
		.help = "when the disk is too slow: wait (slows the clients down), drop records, "
			"or "
			"stop recording; the trace says what was lost"},
	{.name = "flush-interval",
		.argument = "TIME",
		OPTION_DURATION(struct proxy_options, flush_interval),
		.preset = "100ms",
		.help = "records wait no longer than this in memory"},
	{.name = "sync",
		.argument = "WHEN",
		OPTION_CHOICE(struct proxy_options, sync),
		.choices = sync_words,
		.preset = "interval",
		.help = "when to fdatasync the trace"},
	{.name = "compression",
		.argument = "LEVEL",
		OPTION_STRING(struct proxy_options, compression),
		.preset = "fast",
		.help = "of the trace: off; fast, which leaves blocks alone that do not shrink by "
			"a "
			"quarter; or a level of zstd from 1 to 19, from 2 ns of processor time a "
			"byte on"},
	{.name = "max-size",
		.argument = "SIZE",
		OPTION_SIZE(struct proxy_options, segment_size),
		.preset = "0, one file",
		.help = "begin a new segment of the trace past this size"},
	{.name = "max-total",
		.argument = "SIZE",
		OPTION_SIZE(struct proxy_options, total_size),
		.preset = "0, no limit",
		.help = "remove the oldest segments past this size"},
	OPTION_HEADING("Output"),
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct proxy_options, quiet),
		.help = "say nothing but errors"},
	OUTPUT_OPTIONS(struct proxy_options, output_options),
	OPTION_HEADING("Option files"),
	OPTION_FILE_OPTIONS(struct proxy_options, option_files),
	OPTION_END,
};

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
		free(filter);
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
		free(filters->list[i]);
	}
	free(filters->list);
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
	struct backdrop_options options;
	struct cluster cluster;
	char hosts[PROXY_NODES_MAX][ADDRESS_TEXT_SIZE];
	struct backdrop context;
	struct trace_producer *producer;
	struct instrument_tables tables; /* prepared ones */
	struct origin origin;            /* tables that are no views, for --redact */
};

static struct backdrop_address address_of(
	const struct relay_node *node, char host[ADDRESS_TEXT_SIZE])
{
	struct backdrop_address address;

	address_parts(&node->upstream, host, &address.port, &address.socket);
	address.host = host;
	return address;
}

/* How to reach the nodes with a connection of our own. */
static void fill_context(
	struct proxy *proxy, struct proxy_context *c, const struct proxy_options *options)
{
	c->options = (struct backdrop_options){
		.user = options->user,
		.password = options->password ? options->password : getenv("MYSQL_PWD"),
		.databases = options->databases.items,
		.database_count = options->databases.count,
		.rows_max = options->snapshot_rows,
		.connect_timeout_ns = options->connect_timeout,
		.tls = options->tls == RELAY_TLS_AS_CLIENT || options->tls == RELAY_TLS_TERMINATE,
		.tls_ca = options->tls_ca,
		.values = &proxy->capture.values,
		.instrument = options->instrument ? &c->tables : NULL,
		.filter = atomic_load(&proxy->capture.filter),
		.redact = &proxy->capture.redact,
	};
	c->cluster.connect = c->options;
	c->cluster.connect.answer_timeout_s = ANSWER_TIMEOUT_S;
}

/* Before the first client: variables of all nodes, tables and rows of the first. */
static bool read_context(struct proxy *proxy, struct proxy_context *c, struct err *err)
{
	char host[ADDRESS_TEXT_SIZE];
	struct backdrop_address address;

	c->tables.databases = c->options.databases;
	c->tables.database_count = c->options.database_count;

	c->producer = trace_producer_open(proxy->writer);
	backdrop_init(&c->context, &c->options, proxy->writer, c->producer);
	for (size_t i = 0; i < proxy->node_count; i++) {
		address = address_of(&proxy->nodes[i], host);
		if (!backdrop_server(&c->context, &proxy->nodes[i].capture, &address, err))
			return false;
	}
	address = address_of(&proxy->nodes[0], host);
	if (!backdrop_schema(&c->context, &proxy->nodes[0].capture, &address, err))
		return false;
	for (size_t i = 0; i < c->context.count; i++)
		origin_add(&c->origin, buf_span(&c->context.tables[i].database),
			buf_span(&c->context.tables[i].name));
	origin_sort(&c->origin);
	proxy->capture.redact.origin = &c->origin;
	return backdrop_rows(&c->context, &proxy->nodes[0].capture, &address, "initial", err);
}

/* After the last client: tables that were made meanwhile, and rows of every node, so that nodes can
 * be compared. */
static bool read_final_rows(struct proxy *proxy, struct proxy_context *c, struct err *err)
{
	char first[ADDRESS_TEXT_SIZE];
	struct backdrop_address node = address_of(&proxy->nodes[0], first);

	if (!backdrop_schema(&c->context, &proxy->nodes[0].capture, &node, err))
		return false;
	for (size_t i = 0; i < proxy->node_count; i++) {
		char host[ADDRESS_TEXT_SIZE];
		struct backdrop_address address = address_of(&proxy->nodes[i], host);

		if (!backdrop_rows(&c->context, &proxy->nodes[i].capture, &address, "final", err))
			return false;
	}
	return true;
}

/* What the trace leaves out on purpose, for whoever reads it; `again`: nothing, too. */
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
		buf_printf(&text, " --redact-with=%s", redact_words[options->redact_with]);
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
		struct backdrop_address address = address_of(&proxy->nodes[i], c->hosts[i]);

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
	note_left_out(proxy->writer, options, false);
	fill_context(proxy, context, options);
	proxy->relay.instrument = context->options.instrument;
	if (options->instrument &&
		!instrument_tables_init(&context->tables, (enum instrument_mode)options->instrument,
			options->all_writers, &err)) {
		status = fail(&err);
	} else if (options->user && !read_context(proxy, context, &err)) {
		status = fail(&err);
	} else if (!run_watched(proxy, context, options, &err)) {
		status = fail(&err);
	} else if (options->user && !read_final_rows(proxy, context, &err)) {
		/* The recording is whole; only the comparison with the end is missing. */
		output_message("no final rows: %s", err.text);
		status = EXIT_STATUS_INCOMPLETE;
	}
	proxy->capture.redact.origin = NULL;
	origin_release(&context->origin);
	backdrop_release(&context->context);
	instrument_tables_release(&context->tables);
	if (context->producer)
		trace_producer_close(context->producer);
	free(context);
	return status;
}

static void proxy_free(struct proxy *proxy)
{
	redact_release(&proxy->capture.redact);
	tls_context_release(&proxy->relay.tls_context);
	free(proxy);
}

static struct proxy_options default_options(void)
{
	return (struct proxy_options){
		.output = "isorec.itr",
		.capture = "statements,params,results",
		.snapshot_rows = 10000,
		.sample = 1,
		.sessions_max = 10000,
		.value_max = 1 << 20,
		.packet_max = WIRE_PACKET_KEEP_MAX,
		.buffer = 256 << 20,
		.policy = TRACE_POLICY_DROP,
		.sync = TRACE_SYNC_INTERVAL,
		.compression = "fast",
		.connect_timeout = 10000000000u,
		.drain_timeout = 10000000000u,
		.poll_interval = 1000000000u,
		.flush_interval = 100000000u,
	};
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
	struct proxy_options options = default_options();
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
	struct proxy_options options = default_options();
	struct reading reading = {.command = command, .argc = argc, .argv = argv};
	struct proxy *proxy;
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count)
		return command_misused(command, "unexpected argument: %s", args[0]);
	if (options.instrument && (!options.user || options.no_record))
		return command_misused(command,
			"--instrument needs --user, to find the prepared tables, and a trace");
	if (options.instrument && options.redact)
		return command_misused(command,
			"--instrument records keys and rows as they are: not together with --redact");
	if (!trace_compression_level(options.compression, &options.compression_level))
		return command_misused(
			command, "--compression takes off, fast, or a level from 1 to 19");
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
		!read_tls(&options, proxy, &err)) {
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
	if (proxy->writer && !trace_writer_close(proxy->writer, &err))
		status = fail(&err);
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
	.options = proxy_table,
	.examples = proxy_examples,
	.client_groups = client_option_groups,
	.option_files_at = offsetof(struct proxy_options, option_files),
	.run = run,
};
