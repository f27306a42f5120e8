/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

void err_clear(struct err *err)
{
	if (!err)
		return;
	err->code = ERR_NONE;
	err->errnum = 0;
	err->offset = ERR_NO_OFFSET;
	err->text[0] = '\0';
}

PRINTF_LIKE(5, 0)
static void fill(struct err *err, enum err_code code, int errnum, uint64_t offset, const char *fmt,
	va_list ap)
{
	if (!err)
		return;
	err->code = code;
	err->errnum = errnum;
	err->offset = offset;
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
}

bool err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err, code, 0, ERR_NO_OFFSET, fmt, ap);
	va_end(ap);
	return false;
}

bool err_set_at(struct err *err, enum err_code code, uint64_t offset, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err, code, 0, offset, fmt, ap);
	va_end(ap);
	return false;
}

bool err_set_errno(struct err *err, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err, ERR_IO, errnum, ERR_NO_OFFSET, fmt, ap);
	va_end(ap);
	if (err) {
		char reason[128];
		size_t used = strlen(err->text);

		snprintf(err->text + used, sizeof(err->text) - used, ": %s",
			strerror_r(errnum, reason, sizeof(reason)));
	}
	return false;
}

bool err_prefix(struct err *err, const char *fmt, ...)
{
	char old[sizeof(err->text)];
	va_list ap;
	size_t used;

	if (!err)
		return false;
	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", old);
	return false;
}

enum exit_status err_exit_status(const struct err *err)
{
	if (err->code == ERR_INTERRUPTED)
		return EXIT_STATUS_INCOMPLETE;
	return err->code == ERR_USAGE ? EXIT_STATUS_USAGE : EXIT_STATUS_INPUT;
}
