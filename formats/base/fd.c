/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/fd.h"

#include <errno.h>
#include <unistd.h>

bool fd_read_all(int fd, void *to, size_t len)
{
	char *at = to;

	while (len) {
		ssize_t n = read(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : 0;
			return false;
		}
		at += n;
		len -= (size_t)n;
	}
	return true;
}

bool fd_write_all(int fd, const void *from, size_t len)
{
	const char *at = from;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}
