/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes of file descriptors that go on until every byte is done, across signals. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

/* False: the descriptor ended or failed before that; errno is 0 when it ended. */
bool fd_read_all(int fd, void *to, size_t len) MUST_CHECK;
/* False and errno: it failed. */
bool fd_write_all(int fd, const void *from, size_t len) MUST_CHECK;

#endif
