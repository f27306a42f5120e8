/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/window.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/mem.h"

bool window_open(struct window *in, const char *path, struct err *err)
{
	struct stat st;

	memset(in, 0, sizeof(*in));
	in->name = path;
	in->step = WINDOW_SIZE;
	if (strcmp(path, "-") == 0) {
		in->name = "standard input";
		in->fd = dup(STDIN_FILENO);
	} else {
		in->fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (in->fd < 0)
		return err_set_errno(err, errno, "cannot open %s", path);
	if (fstat(in->fd, &st) == 0 && S_ISREG(st.st_mode))
		in->size = (uint64_t)st.st_size;
	return true;
}

void window_memory(struct window *in, const char *name, struct span bytes, size_t step)
{
	memset(in, 0, sizeof(*in));
	in->name = name;
	in->fd = -1;
	in->memory_ref = bytes;
	in->step = step ? step : WINDOW_SIZE;
}

void window_close(struct window *in)
{
	if (in->fd >= 0)
		close(in->fd);
	mem_free(in->data);
	memset(in, 0, sizeof(*in));
	in->fd = -1;
}

static uint64_t count_newlines(const char *p, size_t len)
{
	uint64_t count = 0;
	const char *end = p + len;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		count++;
		p++;
	}
	return count;
}

static ssize_t take(struct window *in, char *to, size_t room)
{
	ssize_t got;

	if (in->fd < 0) {
		size_t n = in->memory_ref.len < room ? in->memory_ref.len : room;

		if (n)
			memcpy(to, in->memory_ref.ptr, n);
		in->memory_ref.ptr += n;
		in->memory_ref.len -= n;
		return (ssize_t)n;
	}
	do {
		got = read(in->fd, to, room);
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		mem_input((uint64_t)got);
	return got;
}

bool window_more(struct window *in, struct err *err)
{
	size_t keep = in->len - in->pos;
	size_t want = in->step;
	ssize_t got;

	meter_bytes(in->meter, "reading", in->base + in->pos, in->size);
	if (interrupt_seen())
		return err_set(err, ERR_INTERRUPTED, "interrupted while %s was read: nothing was judged", in->name);
	if (keep >= WINDOW_RECORD_MAX) {
		err_set(err, ERR_LIMIT, "a record longer than %d MiB", WINDOW_RECORD_MAX >> 20);
		return window_error(in, in->data + in->pos, err);
	}
	/* A long record doubles the window, so that starting again costs no more than reading. */
	if (in->step == WINDOW_SIZE && keep > want)
		want = keep;
	if (in->pos) {
		in->base += in->pos;
		in->newlines += count_newlines(in->data, in->pos);
		memmove(in->data, in->data + in->pos, keep);
	}
	in->pos = 0;
	in->len = keep;
	MEM_RESERVE(in->data, keep + want + 1, in->capacity);
	got = take(in, in->data + keep, want);
	if (got < 0)
		return err_set_errno(err, errno, "cannot read %s", in->name);
	in->len += (size_t)got;
	in->eof = got == 0;
	in->data[in->len] = '\0';
	return true;
}

bool window_skip_mark(struct window *in, struct err *err)
{
	while (!in->eof && in->len < 3) {
		if (!window_more(in, err))
			return false;
	}
	if (in->len >= 3 && memcmp(in->data, "\xef\xbb\xbf", 3) == 0)
		in->pos = 3;
	return true;
}

bool window_error(const struct window *in, const char *at, struct err *err)
{
	/* A place outside the window is in a copy of the record that is being read. */
	bool known = at && in->data && at >= in->data && at <= in->data + in->len;
	size_t inside = known ? (size_t)(at - in->data) : in->pos;
	uint64_t line = in->newlines + (in->data ? count_newlines(in->data, inside) : 0) + 1;

	err_prefix(err, "%s:%llu (byte %llu)", in->name, (unsigned long long)line,
		(unsigned long long)(in->base + inside));
	if (err)
		err->offset = in->base + inside;
	return false;
}
