/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded: the n-th call of one kind fails, as the manual page of that call says that it may.
 *
 * FAIL_KIND is the kind's number, FAIL_AT is n; FAIL_COUNTS names a file that gets, at the end, how
 * many calls of each kind there were.  test_every_call.py has the names, in the order of `enum kind`.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

enum kind {
	MALLOC,
	CALLOC,
	REALLOC,
	READ,
	PREAD,
	WRITE,
	OPEN,
	FOPEN,
	RENAME,
	PTHREAD_CREATE,
	MMAP,
	CLOSE,
	FDATASYNC,
	CONNECT,
	ACCEPT,
	SOCKET,
	EPOLL_CTL,
	RECV,
	SEND,
	FTRUNCATE,
	LISTEN,
	KINDS
};

static long counts[KINDS];
static int kind = -2;
static long at;

static int due(enum kind which)
{
	if (kind == -2) {
		const char *text = getenv("FAIL_KIND"), *number = getenv("FAIL_AT");

		kind = -1;
		at = number ? atol(number) : 0;
		kind = text ? atoi(text) : -1;
	}
	return __atomic_add_fetch(&counts[which], 1, __ATOMIC_RELAXED) == at && (int)which == kind;
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("FAIL_COUNTS");
	FILE *out;

	kind = -1;
	out = path ? fopen(path, "w") : NULL;
	for (int i = 0; out && i < KINDS; i++)
		fprintf(out, "%ld\n", counts[i]);
	if (out)
		fclose(out);
}

/* The next library's function of this name. */
#define REAL(name)                                                                                 \
	static __typeof__(&name) real;                                                             \
	if (!real)                                                                                 \
		*(void **)&real = dlsym(RTLD_NEXT, #name)
#define FAIL(which, number, value)                                                                 \
	if (due(which)) {                                                                          \
		errno = (number);                                                                  \
		return value;                                                                      \
	}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *ptr, size_t size);

void *malloc(size_t size)
{
	FAIL(MALLOC, ENOMEM, NULL)
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	FAIL(CALLOC, ENOMEM, NULL)
	return __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t size)
{
	FAIL(REALLOC, ENOMEM, NULL)
	return __libc_realloc(ptr, size);
}

void *reallocarray(void *ptr, size_t count, size_t size)
{
	FAIL(REALLOC, ENOMEM, NULL)
	return __libc_realloc(ptr, count * size);
}

ssize_t read(int fd, void *ptr, size_t size)
{
	REAL(read);
	FAIL(READ, EIO, -1)
	return real(fd, ptr, size);
}

ssize_t pread64(int fd, void *ptr, size_t size, off64_t offset)
{
	REAL(pread64);
	FAIL(PREAD, EIO, -1)
	return real(fd, ptr, size, offset);
}

/* Messages reach the test. */
ssize_t write(int fd, const void *ptr, size_t size)
{
	REAL(write);
	if (fd != 2)
		FAIL(WRITE, ENOSPC, -1)
	return real(fd, ptr, size);
}

int open64(const char *path, int flags, ...)
{
	va_list rest;
	int mode;
	REAL(open64);

	va_start(rest, flags);
	mode = va_arg(rest, int);
	va_end(rest);
	FAIL(OPEN, EMFILE, -1)
	return real(path, flags, mode);
}

FILE *fopen64(const char *path, const char *how)
{
	REAL(fopen64);
	FAIL(FOPEN, EMFILE, NULL)
	return real(path, how);
}

int rename(const char *from, const char *to)
{
	REAL(rename);
	FAIL(RENAME, EACCES, -1)
	return real(from, to);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	REAL(pthread_create);
	if (due(PTHREAD_CREATE))
		return EAGAIN;
	return real(thread, attr, run, arg);
}

void *mmap64(void *ptr, size_t size, int protection, int flags, int fd, off64_t offset)
{
	REAL(mmap64);
	FAIL(MMAP, ENOMEM, (void *)-1)
	return real(ptr, size, protection, flags, fd, offset);
}

int close(int fd)
{
	REAL(close);
	if (fd > 2 && due(CLOSE)) {
		real(fd);
		errno = EIO;
		return -1;
	}
	return real(fd);
}

int fdatasync(int fd)
{
	REAL(fdatasync);
	FAIL(FDATASYNC, EIO, -1)
	return real(fd);
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	REAL(connect);
	FAIL(CONNECT, ECONNREFUSED, -1)
	return real(fd, address, size);
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	REAL(accept4);
	FAIL(ACCEPT, EMFILE, -1)
	return real(fd, address, size, flags);
}

int socket(int domain, int type, int protocol)
{
	REAL(socket);
	FAIL(SOCKET, EMFILE, -1)
	return real(domain, type, protocol);
}

int epoll_ctl(int fd, int what, int other, struct epoll_event *event)
{
	REAL(epoll_ctl);
	FAIL(EPOLL_CTL, ENOMEM, -1)
	return real(fd, what, other, event);
}

ssize_t recv(int fd, void *ptr, size_t size, int flags)
{
	REAL(recv);
	FAIL(RECV, ECONNRESET, -1)
	return real(fd, ptr, size, flags);
}

ssize_t send(int fd, const void *ptr, size_t size, int flags)
{
	REAL(send);
	FAIL(SEND, EPIPE, -1)
	return real(fd, ptr, size, flags);
}

int ftruncate64(int fd, off64_t size)
{
	REAL(ftruncate64);
	FAIL(FTRUNCATE, EIO, -1)
	return real(fd, size);
}

int listen(int fd, int backlog)
{
	REAL(listen);
	FAIL(LISTEN, EADDRINUSE, -1)
	return real(fd, backlog);
}
