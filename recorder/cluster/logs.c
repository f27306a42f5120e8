/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "capture/cluster_event.h"
#include "server/flavour.h"
#include "sql/text/stmt_classify.h"

/* ---- patterns ---- */

#define ANY SERVER_UNKNOWN

/* What the servers write: MariaDB 10.5 to 11.8 with Galera 4, MySQL 5.6 to 9.7 with group
 * replication; TiDB's from its manual.  The first that matches names the event. */
static const struct {
	const char *name, *text;
	enum server_flavour flavour;
} built_in[] = {
	{"crash",
		"got (signal|exception) \\d|signal (6|7|8|11)\\b.*fatal|Assertion failure|"
		"assertion .* failed|mysqld_safe.*restarted|InnoDB: .*intentionally "
		"(crash|generate)",
		ANY},
	{"corruption", "(?i)corrupt|checksum mismatch|Page directory corruption", ANY},
	{"hang", "Semaphore wait has lasted|semaphore wait.*exceeded|long semaphore wait", ANY},
	{"out of space or memory", "(?i)disk full|No space left|out of memory", ANY},
	{"started", "(mysqld|mariadbd).*: ready for connections", ANY},
	{"shutdown", "(?i)normal shutdown|shutdown complete|Received SHUTDOWN|initiated by: ", ANY},
	{"recovery", "Starting crash recovery|Crash recovery finished|Recovered position", ANY},

	{"state transfer", "WSREP: .*(state transfer|\\bSST\\b|\\bIST\\b)", SERVER_MARIADB},
	{"state", "WSREP: (Shifting|Server status change|Server .* synced with group|Synchronized)",
		SERVER_MARIADB},
	{"eviction",
		"WSREP: (evs::.*(suspect|inactive|evict)|forgetting|declaring .* (lost|left)|"
		".*(non-prim|partitioned|evicted))",
		SERVER_MARIADB},
	{"view", "WSREP: .*(view\\(|New cluster view|New COMPONENT|Quorum results|Member \\d)",
		SERVER_MARIADB},
	{"inconsistency", "WSREP: .*(inconsisten|Failed to apply|ROLLBACK aborted)",
		SERVER_MARIADB},

	{"eviction",
		"group_replication.*(expelled|unreachable|majority of the members|"
		"left the group|blocked until)",
		SERVER_MYSQL},
	{"state transfer", "group_replication.*(recovery|clone|[Dd]istributed recovery)",
		SERVER_MYSQL},
	{"view", "group_replication.*(Group membership changed|joined|view|primary)",
		SERVER_MYSQL},
	{"state", "group_replication.*(declared online|ONLINE|ERROR|changed its state|is ready)",
		SERVER_MYSQL},

	{"crash", "\\[FATAL\\]|\\bpanic\\b", SERVER_TIDB},
	{"eviction", "(?i)store.*(down|disconnect)|region.*unavailable|leader.*(lost|changed)",
		SERVER_TIDB},
};

static bool fits(enum server_flavour pattern, enum server_flavour node)
{
	return pattern == ANY || node == SERVER_UNKNOWN || pattern == node;
}

static const char *match(const struct logs *logs, enum server_flavour flavour, struct span line)
{
	for (size_t i = 0; i < logs->own_count; i++)
		if (pattern_matches(logs->own[i], line))
			return logs->own_text[i];
	for (size_t i = 0; i < ARRAY_LEN(built_in); i++)
		if (fits(built_in[i].flavour, flavour) && pattern_matches(logs->built_in[i], line))
			return built_in[i].name;
	return NULL;
}

const char *logs_built_in(
	const struct logs *logs, const struct capture_node *node, struct span line)
{
	return match(logs, (enum server_flavour)atomic_load(&node->flavour), line);
}

bool logs_add_pattern(struct logs *logs, const char *text, struct err *err)
{
	struct pattern *pattern;

	if (logs->own_count == LOGS_PATTERNS_MAX)
		return err_set(err, ERR_USAGE, "more than %d --log-pattern", LOGS_PATTERNS_MAX);
	pattern = pattern_new(text, "--log-pattern", err);
	if (!pattern)
		return false;
	logs->own_text[logs->own_count] = text;
	logs->own[logs->own_count++] = pattern;
	return true;
}

/* ---- files ---- */

static bool file_open(struct logs_file *file, bool at_end)
{
	struct stat about;

	file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0 || fstat(file->fd, &about) < 0)
		return false;
	file->inode = about.st_ino;
	file->offset = at_end && about.st_size > 0 ? (uint64_t)about.st_size : 0;
	buf_clear(&file->line);
	file->line_long = false;
	return true;
}

static void file_close(struct logs_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

bool logs_add(struct logs *logs, const struct capture_node *node, const char *path, struct err *err)
{
	struct logs_file *file = &logs->files[logs->count];

	if (logs->count == LOGS_MAX)
		return err_set(err, ERR_USAGE, "more than %d --log", LOGS_MAX);
	*file = (struct logs_file){.node = node, .path = path, .fd = -1};
	if (!file_open(file, true) && errno != ENOENT)
		return err_set_errno(err, errno, "--log %s: cannot be read", path);
	logs->count++;
	return true;
}

static void line_done(struct logs *logs, struct logs_file *file, unsigned *events)
{
	struct span line = buf_span(&file->line);
	const char *name;

	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	name = line.len ? logs_built_in(logs, file->node, line) : NULL;
	if (name && (*events)++ < LOGS_EVENTS_IN_LOOK) {
		struct event_data data = {.pairs = BUF_INIT};

		event_data_add(&data, "pattern", span_str(name));
		event_data_add(&data, "file", span_str(file->path));
		/* A server's log may quote statements. */
		if (logs->hides_values)
			line = SPAN_LIT("(left out: --redact)");
		else if (text_may_hold_password(line))
			line = SPAN_LIT("(left out: it may quote a password)");
		event_emit(logs->producer, file->node->name, "log", line, 0, &data);
	}
	buf_clear(&file->line);
	file->line_long = false;
}

static void take(struct logs *logs, struct logs_file *file, struct span bytes, unsigned *events)
{
	while (bytes.len) {
		const char *end = memchr(bytes.ptr, '\n', bytes.len);
		size_t len = end ? (size_t)(end - bytes.ptr) : bytes.len;
		size_t room = LOGS_LINE_MAX - file->line.len;

		buf_add(&file->line, bytes.ptr, len < room ? len : room);
		file->line_long |= len > room;
		if (end)
			line_done(logs, file, events);
		len += end != NULL;
		bytes = span_of(bytes.ptr + len, bytes.len - len);
	}
}

static void read_on(struct logs *logs, struct logs_file *file)
{
	char bytes[16384];
	unsigned events = 0;
	uint64_t left = LOGS_READ_IN_LOOK;
	ssize_t n;

	while (left && (n = pread(file->fd, bytes, sizeof(bytes), (off_t)file->offset)) > 0) {
		file->offset += (uint64_t)n;
		left -= (uint64_t)n < left ? (uint64_t)n : left;
		take(logs, file, span_of(bytes, (size_t)n), &events);
	}
	if (events > LOGS_EVENTS_IN_LOOK) {
		char text[100];
		int len = snprintf(
			text, sizeof(text), "%u more lines matched", events - LOGS_EVENTS_IN_LOOK);

		event_emit(logs->producer, file->node->name, "log", span_of(text, (size_t)len), 0,
			NULL);
	}
}

static void look_at_file(struct logs *logs, struct logs_file *file)
{
	struct stat about;

	if (file->fd < 0 && !file_open(file, false))
		return;
	read_on(logs, file);
	/* Replaced: what was written to the old one in between has been read just now. */
	if (stat(file->path, &about) < 0)
		return;
	if (about.st_ino != file->inode) {
		read_on(logs, file);
		file_close(file);
		if (file_open(file, false))
			read_on(logs, file);
	} else if ((uint64_t)about.st_size < file->offset) {
		file->offset = 0;
		buf_clear(&file->line);
		read_on(logs, file);
	}
}

static void *logs_main(void *arg)
{
	struct logs *logs = arg;
	struct pollfd stop = {.fd = logs->stop_fd, .events = POLLIN};
	bool last = false;

	do {
		last = poll(&stop, 1, LOGS_INTERVAL_MS) > 0;
		for (size_t i = 0; i < logs->count; i++)
			look_at_file(logs, &logs->files[i]);
	} while (!last);
	return NULL;
}

bool logs_start(struct logs *logs, struct trace_writer *writer, struct err *err)
{
	sigset_t all, before;
	int code;

	logs->built_in = mem_zero(ARRAY_LEN(built_in), sizeof(struct pattern *));
	for (size_t i = 0; i < ARRAY_LEN(built_in); i++) {
		logs->built_in[i] = pattern_new(built_in[i].text, built_in[i].name, err);
		if (!logs->built_in[i])
			return false;
	}
	logs->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (logs->stop_fd < 0)
		return err_set_errno(err, errno, "cannot make an eventfd");
	logs->producer = trace_producer_open(writer);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&logs->thread, NULL, logs_main, logs);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	logs->running = code == 0;
	return code == 0 || err_set_errno(err, code, "cannot start the thread that reads logs");
}

void logs_stop(struct logs *logs)
{
	uint64_t one = 1;

	if (logs->running) {
		(void)!write(logs->stop_fd, &one, sizeof(one));
		pthread_join(logs->thread, NULL);
	}
	if (logs->producer) {
		trace_producer_close(logs->producer);
		close(logs->stop_fd);
	}
	for (size_t i = 0; i < logs->count; i++) {
		file_close(&logs->files[i]);
		buf_release(&logs->files[i].line);
	}
	for (size_t i = 0; logs->built_in && i < ARRAY_LEN(built_in); i++)
		pattern_free(logs->built_in[i]);
	mem_free(logs->built_in);
	for (size_t i = 0; i < logs->own_count; i++)
		pattern_free(logs->own[i]);
	*logs = (struct logs){.running = false};
}
