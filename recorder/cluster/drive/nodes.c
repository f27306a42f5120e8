/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes: their start and stop, what they are, and what becomes of their processes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "cluster/drive/drive_internal.h"
#include "db/query.h"
#include "run/snapshot.h"

extern char **environ;

enum { SKIP_STATUS = 77, SAID_MAX = 64 * 1024 };

/* ---- small questions ---- */

struct run_target node_target(struct drive *d, unsigned node, char socket[256], const char *database)
{
	struct run_target target = {.user = "root", .password = "", .host = "127.0.0.1", .timeout_s = 3, .database = database};

	pthread_mutex_lock(&d->lock);
	snprintf(socket, 256, "%s", d->nodes[node].socket);
	target.port = d->nodes[node].port;
	pthread_mutex_unlock(&d->lock);
	target.socket = socket[0] ? socket : NULL;
	return target;
}

bool node_is_up(struct drive *d, unsigned node)
{
	bool up;

	pthread_mutex_lock(&d->lock);
	up = d->nodes[node].known && (d->nodes[node].pidfd >= 0 || (!d->nodes[node].pid && d->nodes[node].state[0]));
	pthread_mutex_unlock(&d->lock);
	return up;
}

void node_state(struct drive *d, unsigned node, char *out, size_t size)
{
	pthread_mutex_lock(&d->lock);
	snprintf(out, size, "%s", d->nodes[node].state);
	pthread_mutex_unlock(&d->lock);
}

bool node_is_ready(struct drive *d, unsigned node)
{
	char state[96];

	node_state(d, node, state, sizeof(state));
	return strcmp(state, d->ops->kind.ready) == 0;
}

bool node_is_wanted(struct drive *d, unsigned node)
{
	bool wanted;

	pthread_mutex_lock(&d->lock);
	wanted = d->nodes[node].wanted;
	pthread_mutex_unlock(&d->lock);
	return wanted;
}

void nodes_print(const struct drive *d, uint32_t set, struct buf *out)
{
	bool any = false;

	for (unsigned i = 0; i < d->node_count; i++)
		if (set >> i & 1) {
			buf_printf(out, "%s%s", any ? "," : "", d->nodes[i].name);
			any = true;
		}
}

bool node_sql(struct drive *d, unsigned node, const char *sql, char *answer, size_t size, unsigned seconds, struct err *err)
{
	char socket[256];
	struct run_target target = node_target(d, node, socket, NULL);
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;
	MYSQL *mysql;
	bool ok;

	target.read_timeout_s = seconds;
	mysql = client_dial(&target, err);
	if (!mysql)
		return false;
	ok = db_send(mysql, sql) == 0;
	if (ok && mysql_field_count(mysql))
		result = db_result(mysql);
	row = result ? mysql_fetch_row(result) : NULL;
	if (answer)
		snprintf(answer, size, "%s", row && row[0] ? row[0] : "");
	if (!ok)
		err_set(err, ERR_SERVER, "%s: %s", sql, mysql_error(mysql));
	mysql_free_result(result);
	mysql_close(mysql);
	return ok;
}

/* ---- events of commands ---- */

static struct span word_of(struct span *rest)
{
	struct span word;

	while (rest->len && *rest->ptr == ' ')
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	word = span_of(rest->ptr, 0);
	while (rest->len && *rest->ptr != ' ') {
		word.len++;
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	}
	return word;
}

/* name=value or name="value with blanks" */
static bool pair_of(struct span *rest, struct span *name, struct span *value)
{
	const char *equals;

	while (rest->len && *rest->ptr == ' ')
		*rest = span_of(rest->ptr + 1, rest->len - 1);
	equals = rest->len ? memchr(rest->ptr, '=', rest->len) : NULL;
	if (!equals)
		return false;
	*name = span_of(rest->ptr, (size_t)(equals - rest->ptr));
	*rest = span_of(equals + 1, rest->len - (size_t)(equals + 1 - rest->ptr));
	if (rest->len && *rest->ptr == '"') {
		const char *end = memchr(rest->ptr + 1, '"', rest->len - 1);
		size_t len = end ? (size_t)(end - rest->ptr - 1) : rest->len - 1;

		*value = span_of(rest->ptr + 1, len);
		len += end ? 2 : 1;
		*rest = span_of(rest->ptr + len, rest->len - len);
		return true;
	}
	*value = word_of(rest);
	return true;
}

static void copy(struct span value, char *out, size_t size)
{
	snprintf(out, size, "%.*s", SPAN_ARG(value));
}

static void take_node(struct drive *d, unsigned number, struct span rest)
{
	struct drive_node *node = &d->nodes[number];
	struct span name, value;
	uint64_t n;

	pthread_mutex_lock(&d->lock);
	while (d->node_count <= number) {
		struct drive_node *added = &d->nodes[d->node_count++];

		snprintf(added->name, sizeof(added->name), "n%u", d->node_count);
		added->pidfd = -1;
		added->capture = (struct capture_node){.name = added->name, .address = added->socket};
		atomic_store(&added->capture.announced, true);
	}
	if (node->pidfd >= 0)
		close(node->pidfd);
	node->pidfd = -1;
	node->pid = 0;
	while (pair_of(&rest, &name, &value)) {
		if (span_eq_str(name, "name"))
			copy(value, node->instance, sizeof(node->instance));
		else if (span_eq_str(name, "socket"))
			copy(value, node->socket, sizeof(node->socket));
		else if (span_eq_str(name, "data"))
			copy(value, node->data, sizeof(node->data));
		else if (span_eq_str(name, "log"))
			copy(value, node->log, sizeof(node->log));
		else if (span_eq_str(name, "exit"))
			copy(value, node->exit_file, sizeof(node->exit_file));
		else if (span_eq_str(name, "port") && text_number(value, &n))
			node->port = (unsigned)n;
		else if (span_eq_str(name, "pid") && text_number(value, &n))
			node->pid = (long)n;
	}
	if (node->pid)
		node->pidfd = (int)syscall(SYS_pidfd_open, node->pid, 0);
	node->known = node->wanted = true;
	node->asked[0] = '\0';
	pthread_mutex_unlock(&d->lock);
}

void nodes_take_event(struct drive *d, struct trace_producer *producer, struct span line)
{
	struct span rest = line, word = word_of(&rest), node, what, name, value;
	struct event_data data = {.pairs = BUF_INIT};
	uint64_t number = 0;

	if (!span_eq_str(word, "event"))
		return;
	node = word_of(&rest);
	what = word_of(&rest);
	if (node.len < 2 || *node.ptr != 'n' || !text_number(span_of(node.ptr + 1, node.len - 1), &number) || !number ||
		number > DRIVE_NODES_MAX)
		return;
	if (span_eq_str(what, "node")) {
		take_node(d, (unsigned)number - 1, rest);
		return;
	}
	if (producer && number <= d->node_count) {
		struct buf words = BUF_INIT;

		buf_add_span(&words, what);
		buf_add_span(&words, rest);
		while (pair_of(&rest, &name, &value)) {
			char key[32];

			copy(name, key, sizeof(key));
			event_data_add(&data, key, value);
		}
		char kind[32];

		copy(what, kind, sizeof(kind));
		event_emit(producer, d->nodes[number - 1].name, kind, buf_span(&words), 0, &data);
		buf_release(&words);
	}
	buf_release(&data.pairs);
}

/* ---- commands ---- */

static void add_each(struct drive *d, uint32_t targets, char what, struct buf *out)
{
	bool any = false;

	for (unsigned i = 0; i < d->node_count; i++) {
		if (!(targets >> i & 1))
			continue;
		buf_add_str(out, any ? " " : "");
		if (what == 'p')
			buf_printf(out, "%ld", d->nodes[i].pid);
		else
			buf_add_str(out, d->nodes[i].instance);
		any = true;
	}
}

/* " -o WORD" of the form "-o ${option}". */
static void add_word(const char *form, const char *name, const char *word, struct buf *out)
{
	const char *at = form ? strstr(form, name) : NULL;

	buf_printf(out, " %.*s", at ? (int)(at - form) : form ? (int)strlen(form) : 0, form ? form : "");
	text_add_shell_word(out, word);
	buf_add_str(out, at ? at + strlen(name) : "");
}

static void add_options(struct drive *d, struct buf *out)
{
	for (unsigned i = 0; i < d->ops->option_count; i++)
		add_word(d->ops->kind.option, "${option}", d->ops->options[i], out);
}

static void add_environment(struct drive *d, struct buf *out)
{
	const char *const *variables = d->coverage ? coverage_environment(d->coverage) : NULL;

	for (size_t i = 0; variables && variables[i]; i++)
		add_word(d->ops->kind.variable, "${variable}", variables[i], out);
}

/* One word, '' where there is no network of our own. */
static void add_network(struct drive *d, struct buf *out)
{
	struct buf spaces = BUF_INIT;

	if (d->net)
		net_print_spaces(d->net, &spaces);
	text_add_shell_word(out, spaces.data ? spaces.data : "");
	buf_release(&spaces);
}

/* The text with ${...} filled in. */
static void fill_in(struct drive *d, const char *text, uint32_t targets, struct buf *out)
{
	unsigned first = targets ? (unsigned)__builtin_ctz(targets) : 0;
	const struct drive_node *node = &d->nodes[first];

	pthread_mutex_lock(&d->lock);
	while (*text) {
		const char *open = strstr(text, "${"), *close = open ? strchr(open, '}') : NULL;
		struct span name;

		if (!close) {
			buf_add_str(out, text);
			break;
		}
		buf_add(out, text, (size_t)(open - text));
		name = span_of(open + 2, (size_t)(close - open - 2));
		text = close + 1;
		if (span_eq_str(name, "servers"))
			text_add_shell_word(out, d->options->servers);
		else if (span_eq_str(name, "release"))
			text_add_shell_word(out, d->ops->release);
		else if (span_eq_str(name, "cluster"))
			buf_add_str(out, d->cluster_name);
		else if (span_eq_str(name, "parent"))
			buf_add_str(out, d->parent);
		else if (span_eq_str(name, "nodes"))
			buf_printf(out, "%u", d->ops->nodes);
		else if (span_eq_str(name, "environment"))
			add_environment(d, out);
		else if (span_eq_str(name, "network"))
			add_network(d, out);
		else if (span_eq_str(name, "options"))
			add_options(d, out);
		else if (span_eq_str(name, "name"))
			add_each(d, targets, 'n', out);
		else if (span_eq_str(name, "pids") || span_eq_str(name, "pid"))
			add_each(d, targets, 'p', out);
		else if (span_eq_str(name, "number"))
			buf_printf(out, "%u", first + 1);
		else if (span_eq_str(name, "port"))
			buf_printf(out, "%u", node->port);
		else if (span_eq_str(name, "socket"))
			text_add_shell_word(out, node->socket);
		else if (span_eq_str(name, "data"))
			text_add_shell_word(out, node->data);
		else if (span_eq_str(name, "log"))
			text_add_shell_word(out, node->log);
		else
			buf_printf(out, "${%.*s}", SPAN_ARG(name));
	}
	pthread_mutex_unlock(&d->lock);
}

static void take_lines(struct drive *d, struct trace_producer *producer, struct span said)
{
	struct span line;

	while (said.len) {
		const char *end = memchr(said.ptr, '\n', said.len);
		size_t len = end ? (size_t)(end - said.ptr) : said.len;

		line = span_of(said.ptr, len);
		nodes_take_event(d, producer, line);
		len += end != NULL;
		said = span_of(said.ptr + len, said.len - len);
	}
}

int nodes_shell(struct drive *d, struct trace_producer *producer, const char *text, uint32_t targets, struct buf *said)
{
	struct buf command = BUF_INIT, out = BUF_INIT;
	uint64_t until = clock_mono_ns() + (producer ? d->ops->limit_ns : DRIVE_START_S * 1000000000ull);
	int pipes[2], status = -1;
	pid_t child;

	fill_in(d, text, targets, &command);
	if (pipe2(pipes, O_CLOEXEC) != 0) {
		buf_release(&command);
		return -1;
	}
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		dup2(open("/dev/null", O_RDONLY), 0);
		dup2(pipes[1], 1);
		dup2(pipes[1], 2);
		execl("/bin/sh", "sh", "-c", command.data, (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	while (child > 0) {
		struct pollfd fd = {.fd = pipes[0], .events = POLLIN};
		ssize_t got;

		if (clock_mono_ns() > until || (d->options->stop && *d->options->stop)) {
			kill(-child, SIGKILL);
			break;
		}
		if (poll(&fd, 1, 200) <= 0)
			continue;
		got = read(pipes[0], buf_reserve(&out, 4096), 4096);
		if (got > 0 && out.len < SAID_MAX)
			out.len += (size_t)got;
		else if (got == 0 || (got < 0 && errno != EINTR))
			break;
	}
	close(pipes[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	take_lines(d, producer, buf_span(&out));
	if (said)
		buf_add_span(said, buf_span(&out));
	buf_release(&command);
	buf_release(&out);
	return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- watching ---- */

/* What the supervisor of isorec-servers wrote of the end: "exit": {"signal": 9}. */
static bool read_exit(const char *path, const char **kind, long *number)
{
	char text[16384];
	const char *at;
	FILE *file = *path ? fopen(path, "rb") : NULL;
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[len] = '\0';
	at = strstr(text, "\"exit\": {");
	if (!at)
		return false;
	at += strlen("\"exit\": {");
	*kind = strstr(at, "\"signal\"") && (!strchr(at, '}') || strstr(at, "\"signal\"") < strchr(at, '}')) ? "signal" : "status";
	at = strchr(at, ':');
	*number = at ? strtol(at + 1, NULL, 10) : 0;
	return at != NULL;
}

static void record_exit(struct drive *d, struct trace_producer *producer, struct drive_node *node, const char *asked)
{
	struct event_data data = {.pairs = BUF_INIT};
	struct buf text = BUF_INIT;
	const char *kind = NULL;
	char digits[24];
	long number = 0;

	(void)d;
	for (int i = 0; i < 40 && !read_exit(node->exit_file, &kind, &number); i++)
		poll(NULL, 0, 25);
	if (kind) {
		snprintf(digits, sizeof(digits), "%ld", number);
		event_data_add(&data, kind, span_str(digits));
		buf_printf(&text, "ended by %s %ld", strcmp(kind, "signal") == 0 ? "signal" : "exit status", number);
	} else {
		buf_add_str(&text, "ended");
	}
	event_data_add(&data, "asked", span_str(asked));
	buf_printf(&text, "%s%s", *asked ? ", as asked by " : ", which no operation asked for", asked);
	event_emit(producer, node->name, "exit", buf_span(&text), 0, &data);
	buf_release(&text);
	buf_release(&data.pairs);
}

static void look_at_process(struct drive *d, struct trace_producer *producer, struct drive_node *node)
{
	char asked[64] = "";
	bool ended = false;

	pthread_mutex_lock(&d->lock);
	if (node->pidfd >= 0) {
		struct pollfd fd = {.fd = node->pidfd, .events = POLLIN};

		if (poll(&fd, 1, 0) > 0) {
			ended = true;
			close(node->pidfd);
			node->pidfd = -1;
			snprintf(asked, sizeof(asked), "%s", node->asked);
			node->state[0] = '\0';
		}
	}
	pthread_mutex_unlock(&d->lock);
	if (ended)
		record_exit(d, producer, node, asked);
}

static void remember_state(struct drive *d, const char *state)
{
	if (!*state || d->state_count == DRIVE_STATES_MAX)
		return;
	for (unsigned i = 0; i < d->state_count; i++)
		if (strcmp(d->states[i], state) == 0)
			return;
	snprintf(d->states[d->state_count++], sizeof(d->states[0]), "%s", state);
}

/* In the kind's own words; the polls have the variables of the servers that they know (cluster/poll.c). */
static void record_state(struct drive *d, struct trace_producer *producer, const struct drive_node *node, const char *state)
{
	struct event_data data = {.pairs = BUF_INIT};
	struct buf text = BUF_INIT;

	event_data_add(&data, "state", span_str(state));
	event_data_add(&data, "ready", strcmp(state, d->ops->kind.ready) == 0 ? SPAN_LIT("yes") : SPAN_LIT("no"));
	if (*state)
		buf_printf(&text, "reachable; state %s", state);
	else
		buf_add_str(&text, "unreachable");
	event_emit(producer, node->name, "state", buf_span(&text), 0, &data);
	buf_release(&text);
	buf_release(&data.pairs);
}

static void look_at_state(struct drive *d, struct trace_producer *producer, struct drive_node *node, MYSQL **mysql)
{
	char socket[256], state[96] = "";
	unsigned number = (unsigned)(node - d->nodes);
	struct run_target target = node_target(d, number, socket, NULL);
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool changed;
	struct err err;

	target.timeout_s = 1;
	target.read_timeout_s = 1;
	if (!*mysql && node_is_up(d, number))
		*mysql = client_dial(&target, &err);
	if (*mysql) {
		result = db_send(*mysql, d->ops->kind.state) == 0 ? db_result(*mysql) : NULL;
		row = result ? mysql_fetch_row(result) : NULL;
		if (row && row[0])
			snprintf(state, sizeof(state), "%s", row[0]);
		if (!result) {
			mysql_close(*mysql);
			*mysql = NULL;
		}
		mysql_free_result(result);
	}
	pthread_mutex_lock(&d->lock);
	changed = strcmp(node->state, state) != 0;
	if (changed) {
		remember_state(d, state);
		snprintf(node->state, sizeof(node->state), "%s", state);
		node->state_at = clock_mono_ns();
		atomic_store(&d->moved_at, node->state_at);
	}
	pthread_mutex_unlock(&d->lock);
	if (changed)
		record_state(d, producer, node, state);
}

struct watching {
	struct drive *d;
	struct drive_node *node;
};

static void *watch_main(void *arg)
{
	struct watching *w = arg;
	struct trace_producer *producer = trace_producer_open(w->d->writer);
	MYSQL *mysql = NULL;

	mysql_thread_init();
	while (!atomic_load(&w->d->end)) {
		look_at_process(w->d, producer, w->node);
		look_at_state(w->d, producer, w->node, &mysql);
		poll(NULL, 0, DRIVE_LOOK_MS);
	}
	if (mysql)
		mysql_close(mysql);
	mysql_thread_end();
	trace_producer_close(producer);
	mem_free(w);
	return NULL;
}

void node_watch(struct drive *d, struct drive_node *node)
{
	struct watching *w = malloc(sizeof(*w));

	if (!w || node->watching) {
		mem_free(w);
		return;
	}
	*w = (struct watching){d, node};
	node->watching = pthread_create(&node->watcher, NULL, watch_main, w) == 0;
	if (!node->watching)
		mem_free(w);
}

/* ---- start and stop ---- */

bool nodes_start(struct drive *d, bool *skipped, struct err *err)
{
	struct buf said = BUF_INIT;
	int status = nodes_shell(d, NULL, d->ops->kind.start, 0, &said);
	bool ok = status == 0 && d->node_count > 0;

	*skipped = status == SKIP_STATUS;
	if (!ok) {
		while (said.len && said.data[said.len - 1] == '\n')
			said.len--;
		err_set(err, ERR_SERVER, "%s %s: the cluster did not start%s%.*s", d->ops->kind.name, d->ops->release,
			said.len ? ": " : status == 0 ? ": its command printed no line 'event n1 node ...'" : "",
			(int)(said.len < 600 ? said.len : 600), said.data ? said.data : "");
	}
	buf_release(&said);
	return ok;
}

void nodes_stop(struct drive *d)
{
	if (d->ops->kind.stop && d->node_count)
		(void)nodes_shell(d, NULL, d->ops->kind.stop, 0, NULL);
	for (unsigned i = 0; i < d->node_count; i++)
		if (d->nodes[i].pidfd >= 0)
			close(d->nodes[i].pidfd);
}
