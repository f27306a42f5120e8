/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/fd.h"
#include "base/mem.h"
#include "model/history/load.h"

void history_source_free(struct history_source *source)
{
	if (!source)
		return;
	trace_reader_close(source->reader);
	if (source->fd >= 0)
		close(source->fd);
	mem_free(source->path);
	mem_free(source);
}

const char *history_source_path(const struct history *history)
{
	return history->source->path;
}

/* Copies standard input to an unlinked temporary file.  -1 and err when that fails: part of the
 * input is then gone. */
static int spool_input(struct err *err)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	static const size_t size = 1 << 20;
	char *bytes;
	int fd;

	snprintf(path, sizeof(path), "%s/isotrace-XXXXXX", dir && *dir ? dir : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		err_set_errno(err, errno,
			"cannot make a temporary file for standard input in %s (set TMPDIR, or "
			"give a file name)",
			dir && *dir ? dir : "/tmp");
		return -1;
	}
	unlink(path);
	bytes = mem_alloc(size);
	for (;;) {
		ssize_t n = read(STDIN_FILENO, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			break;
		if (n < 0 || !fd_write_all(fd, bytes, (size_t)n)) {
			err_set_errno(err, errno,
				"cannot copy standard input to a temporary file (set TMPDIR to a "
				"file system with room, or give a file name)");
			close(fd);
			fd = -1;
			break;
		}
	}
	mem_free(bytes);
	return fd;
}

struct history_source *history_source_open(const char *path, bool salvage, struct err *err)
{
	struct history_source *source = mem_zero(1, sizeof(*source));
	struct stat st;
	char name[64];

	source->fd = -1;
	source->salvage = salvage;
	if (strcmp(path, "-") != 0) {
		source->path = mem_strdup(path);
		return source;
	}
	if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
		lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
		source->path = mem_strdup("/proc/self/fd/0");
		return source;
	}
	source->fd = spool_input(err);
	if (source->fd < 0) {
		history_source_free(source);
		return NULL;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", source->fd);
	source->path = mem_strdup(name);
	return source;
}

/* ---- statements again ---- */

/* A block of the source; the one that was asked for last is in memory, later ones are ahead. */
static const struct trace_block *source_block(
	struct history_source *source, uint32_t number, struct err *err)
{
	struct trace_reader_options reading = {.salvage = source->salvage, .unwalked = true};

	if (source->reader && source->next > number + 1) {
		trace_reader_close(source->reader);
		source->reader = NULL;
	}
	if (!source->reader) {
		source->next = 0;
		source->reader = trace_reader_open(source->path, &reading, err);
	}
	if (!source->reader)
		return NULL;
	while (source->next <= number) {
		enum trace_next next = trace_next_block(source->reader, &source->block, err);

		if (next == TRACE_NEXT_END)
			err_set(err, ERR_FORMAT,
				"the trace was changed since it was loaded: block %u is gone",
				number);
		if (next != TRACE_NEXT_OK) {
			/* What it stands before is not known any more. */
			trace_reader_close(source->reader);
			source->reader = NULL;
			return NULL;
		}
		source->next++;
	}
	return &source->block;
}

uint64_t history_fetched_at(const struct history *history)
{
	const struct history_source *source = history->source;
	struct stat file;

	/* A folder has several files. */
	return source && source->reader && stat(source->path, &file) == 0 && S_ISREG(file.st_mode)
		       ? source->block.offset
		       : 0;
}

bool history_read_failed(const struct history *history, struct err *err)
{
	if (!history->source || !history->source->failed.code)
		return false;
	*err = history->source->failed;
	return true;
}

bool history_fetch_stmt(const struct history *history, uint32_t stmt, struct arena *arena,
	struct record_stmt *out, struct err *err)
{
	const struct history_stmt *s = &history->stmts[stmt];
	const struct trace_block *block;
	uint32_t kind, left;
	struct mp mp;

	CHECK(stmt < history->stmt_count);
	memset(out, 0, sizeof(*out));
	if (!history->source || s->block == HISTORY_NONE)
		return err_set(err, ERR_UNSUPPORTED,
			"statement %u of session %u is not in the trace, only its probes are",
			s->number, history->sessions[s->session].number);
	block = source_block(history->source, s->block, err);
	if (!block) {
		if (!history->source->failed.code && err)
			history->source->failed = *err;
		return false;
	}
	mp = mp_over(block->records);
	for (uint32_t i = 0; i < block->record_count; i++) {
		const unsigned char *start = mp.p;
		struct mp fields;

		if (!record_begin(&mp, &kind, &left))
			break;
		fields = mp;
		if (!record_skip_fields(&mp, left))
			break;
		if (kind != RECORD_STMT || (s->index != UINT16_MAX && i < s->index) ||
			!record_stmt_read(&fields, left, out) || out->number != s->number ||
			out->session != history->sessions[s->session].number)
			continue;
		/* Once more over a copy, so that spans live as long as the arena. */
		fields = mp_over(arena_copy(arena, span_of(start, (size_t)(mp.p - start))));
		return record_begin(&fields, &kind, &left) && record_stmt_read(&fields, left, out);
	}
	return err_set(err, ERR_FORMAT,
		"the trace was changed since it was loaded: statement %u of session %u is gone",
		s->number, history->sessions[s->session].number);
}
