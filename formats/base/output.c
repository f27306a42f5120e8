/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/text.h"

enum { COLUMNS_DEFAULT = 100, COLUMNS_MIN = 20, COLUMNS_MAX = 2000 };

static const char *program_name = "isotrace";
static const char *called_as;
static int failed_errno;                /* of the first write that failed; 0: none */
static const char *file_path;           /* where standard output goes instead; NULL: nowhere */
static struct buf file_beside;          /* its name until it is whole; empty: written in place */
static struct progress *progress_shown; /* whose line stands on the terminal */

void output_init(const char *program)
{
	program_name = program;
	/* Taken in the mode that makes a use of it fail: the code that closed it wants to know. */
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
	}
}

void output_called(const char *word)
{
	called_as = word;
}

const char *output_called_as(void)
{
	return called_as && *called_as ? called_as : program_name;
}

const char *output_program(void)
{
	return program_name;
}

bool output_to(const char *path, struct err *err)
{
	int fd;

	if (!path || strcmp(path, "-") == 0)
		return true;
	/* What is no plain file, such as /dev/stderr, is written as it is. */
	if (strncmp(path, "/dev/", 5) != 0)
		buf_printf(&file_beside, "%s.part", path);
	fd = file_make(file_beside.len ? file_beside.data : path);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
		(void)!err_set_errno(err, errno, "cannot make %s", path);
		buf_release(&file_beside);
		return false;
	}
	close(fd);
	file_path = path;
	return true;
}

/* The file gets its name, or goes when it is of no use. */
static void finish_file(enum exit_status status)
{
	bool keep = status == EXIT_STATUS_OK || status == EXIT_STATUS_VIOLATION ||
		    status == EXIT_STATUS_INCOMPLETE;

	if (!file_beside.len)
		return;
	if (keep && !failed_errno && rename(file_beside.data, file_path) != 0)
		failed_errno = errno;
	if (!keep || failed_errno)
		unlink(file_beside.data);
	buf_release(&file_beside);
}

bool output_write(struct buf *buf)
{
	if (!failed_errno && buf->len && !fd_write_all(STDOUT_FILENO, buf->data, buf->len))
		failed_errno = errno;
	buf_clear(buf);
	return failed_errno == 0;
}

enum exit_status output_finish(enum exit_status status)
{
	/* Some file systems tell of a full disk only here. */
	if (close(STDOUT_FILENO) < 0 && !failed_errno && errno != EBADF)
		failed_errno = errno;
	if (file_path)
		finish_file(status);
	if (failed_errno == 0 || failed_errno == EPIPE)
		return status;
	if (file_path)
		output_message("cannot write %s: %s", file_path, strerror(failed_errno));
	else
		output_message("cannot write to standard output: %s; the output is not complete",
			strerror(failed_errno));
	failed_errno = 0; /* said once, however often a program finishes */
	return status == EXIT_STATUS_BUG ? status : EXIT_STATUS_INPUT;
}

static void progress_wipe(void)
{
	if (progress_shown)
		(void)!fd_write_all(STDERR_FILENO, "\r\x1b[K", 4);
	progress_shown = NULL;
}

void output_message(const char *fmt, ...)
{
	struct buf text = BUF_INIT, line = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	buf_printf(&line, "%s: ", program_name);
	text_add(&line, buf_span(&text), TEXT_NO_LIMIT, TEXT_PLAIN);
	buf_add_char(&line, '\n');
	progress_wipe();
	(void)!fd_write_all(STDERR_FILENO, line.data, line.len);
	buf_release(&line);
	buf_release(&text);
}

unsigned output_columns(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	unsigned long value = columns ? strtoul(columns, NULL, 10) : 0;

	if (value == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		value = size.ws_col;
	if (value == 0)
		value = COLUMNS_DEFAULT;
	return value < COLUMNS_MIN   ? COLUMNS_MIN
	       : value > COLUMNS_MAX ? COLUMNS_MAX
				     : (unsigned)value;
}

static bool terminal_is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || strcmp(term, "dumb") == 0;
}

bool output_color(enum output_when when)
{
	const char *no_color = getenv("NO_COLOR");

	if (when != OUTPUT_AUTO)
		return when == OUTPUT_ALWAYS;
	return !(no_color && *no_color) && !terminal_is_dumb() && isatty(STDOUT_FILENO);
}

void progress_begin(
	struct progress *progress, enum output_when when, const char *what, bool result_scrolls)
{
	*progress = (struct progress){.what = what, .begin_ns = clock_mono_ns(),
		.at_once = when == OUTPUT_ALWAYS};
	progress->phase_ns = progress->begin_ns;
	progress->on = when == OUTPUT_ALWAYS ||
		       (when == OUTPUT_AUTO && isatty(STDERR_FILENO) && !terminal_is_dumb() &&
			       !(result_scrolls && isatty(STDOUT_FILENO)));
}

void progress_phase(void *progress, const char *phase, uint64_t done, uint64_t all, bool bytes)
{
	struct progress *p = progress;

	if (p->what != phase) {
		p->what = phase;
		p->phase_ns = clock_mono_ns();
		p->drawn_ns = 0;
		p->counts = !bytes;
	}
	progress_update(p, done, all);
}

void progress_update(struct progress *progress, uint64_t done, uint64_t all)
{
	struct buf line = BUF_INIT;
	uint64_t now;
	bool told = all || done || !progress->counts;

	if (!progress->on)
		return;
	now = clock_mono_ns();
	/* What ends within half a second needs no bar. */
	if ((now - progress->begin_ns < 500000000 && !progress->at_once) || now - progress->drawn_ns < 100000000)
		return;
	progress->drawn_ns = now;
	buf_printf(&line, "\r%s", progress->what);
	if (told)
		buf_add_str(&line, ": ");
	if (all && done <= all) {
		unsigned filled = (unsigned)((double)done / (double)all * 30);

		buf_add_char(&line, '[');
		for (unsigned i = 0; i < 30; i++)
			buf_add_char(&line, i < filled ? '=' : ' ');
		buf_printf(&line, "] %3.0f %%, ", (double)done * 100 / (double)all);
	}
	if (progress->counts && told) {
		text_add_count(&line, done);
	} else if (told) {
		text_add_size(&line, done);
		buf_add_str(&line, ", ");
		text_add_size(&line, (uint64_t)((double)done * 1e9 / (double)(now - progress->phase_ns + 1)));
		buf_add_str(&line, "/s");
	}
	buf_add_str(&line, "\x1b[K");
	(void)!fd_write_all(STDERR_FILENO, line.data, line.len);
	progress_shown = progress;
	buf_release(&line);
}

void progress_end(struct progress *progress)
{
	if (progress_shown == progress)
		progress_wipe();
	progress->on = false;
}
