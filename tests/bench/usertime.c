/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the threads of a program run their own code, to be preloaded into it:
 *
 *	LD_PRELOAD=usertime.so USERTIME_FILE=counts PROGRAM ...
 *
 * A kernel that does not account precisely guesses how a thread's time is divided between
 * user and system from what it finds at timer ticks.  Here the time stamp counter is read before
 * and after every system call that a relay makes; what lies between two calls is user time.
 *
 * The file holds a struct count of each thread, which proxy.py reads while the program runs.  A
 * piece in which the thread lost the processor holds the time of others.  The kernel tells of it:
 * it clears the thread's rseq_cs (rseq(2)) when it comes back to user code after a switch, as the
 * code it was in is not the critical section that rseq_cs names.  Such a piece counts with the
 * processor time that the thread itself had in it.
 *
 * What this costs the program is outside of the pieces, but for reading the counter: some 15 ns a
 * piece.  Interrupts within a piece, page faults, and waiting for a mutex count as its time, so the
 * figure is rather too high; the C library's part of a system call, some 20 ns, is not in it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { THREADS_MAX = 64 };

struct count {
	char name[16];
	/* Of switched pieces user_ns has the thread's own time, others_ns the rest. */
	uint64_t user_ns, calls, switched, others_ns;
};

static struct count *counts;
static atomic_uint thread_count;
static double ns_per_tick;
static __thread struct count *mine;
static __thread uint64_t left_kernel, cpu_before;
/* Where no code is, after a signature that the kernel wants to see there. */
static struct {
	uint32_t signature;
	char nowhere[4];
} landing = {RSEQ_SIG, {0}};
static struct rseq_cs nowhere;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct rseq *own_rseq(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

__attribute__((constructor)) static void open_counts(void)
{
	const char *path = getenv("USERTIME_FILE");
	struct timespec a, b;
	uint64_t from, to;
	int fd;

	nowhere.start_ip = (uintptr_t)landing.nowhere + 1;
	nowhere.post_commit_offset = 1;
	nowhere.abort_ip = (uintptr_t)landing.nowhere;
	clock_gettime(CLOCK_MONOTONIC, &a);
	from = __rdtsc();
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
		to = __rdtsc();
	} while (b.tv_sec * 1000000000L + b.tv_nsec - a.tv_sec * 1000000000L - a.tv_nsec < 20000000);
	ns_per_tick =
		(double)(b.tv_sec * 1000000000L + b.tv_nsec - a.tv_sec * 1000000000L - a.tv_nsec) /
		(double)(to - from);
	fd = path && __rseq_size ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd < 0 || ftruncate(fd, THREADS_MAX * sizeof(struct count)) < 0)
		return;
	counts = mmap(NULL, THREADS_MAX * sizeof(struct count), PROT_READ | PROT_WRITE, MAP_SHARED,
		fd, 0);
	if (counts == MAP_FAILED)
		counts = NULL;
	close(fd);
}

static void enter(void)
{
	uint64_t now = __rdtsc(), ns;

	if (!counts)
		return;
	if (!mine) {
		unsigned place = atomic_fetch_add(&thread_count, 1);

		mine = &counts[place < THREADS_MAX ? place : THREADS_MAX - 1];
		prctl(PR_GET_NAME, mine->name);
		return;
	}
	ns = (uint64_t)((double)(now - left_kernel) * ns_per_tick);
	mine->calls++;
	if (!own_rseq()->rseq_cs) {
		uint64_t own_ns = cpu_ns() - cpu_before;

		if (own_ns > ns)
			own_ns = ns;
		mine->switched++;
		mine->others_ns += ns - own_ns;
		ns = own_ns;
	}
	mine->user_ns += ns;
}

static void leave(void)
{
	if (!counts)
		return;
	cpu_before = cpu_ns();
	own_rseq()->rseq_cs = (uintptr_t)&nowhere;
	left_kernel = __rdtsc();
}

#define WRAP(type, name, params, args)                                                             \
	type name params                                                                           \
	{                                                                                          \
		static type(*real) params;                                                         \
		type result;                                                                       \
                                                                                                   \
		if (!real) {                                                                       \
			void *found = dlsym(RTLD_NEXT, #name);                                     \
                                                                                                   \
			memcpy(&real, &found, sizeof(real));                                       \
		}                                                                                  \
		enter();                                                                           \
		result = real args;                                                                \
		leave();                                                                           \
		return result;                                                                     \
	}

WRAP(int, epoll_wait, (int fd, struct epoll_event *events, int max, int timeout),
	(fd, events, max, timeout))
WRAP(int, epoll_ctl, (int fd, int op, int which, struct epoll_event *event),
	(fd, op, which, event))
WRAP(ssize_t, recv, (int fd, void *out, size_t len, int flags), (fd, out, len, flags))
WRAP(ssize_t, send, (int fd, const void *in, size_t len, int flags), (fd, in, len, flags))
WRAP(ssize_t, recvfrom,
	(int fd, void *out, size_t len, int flags, struct sockaddr *restrict a, socklen_t *restrict n),
	(fd, out, len, flags, a, n))
WRAP(ssize_t, sendto,
	(int fd, const void *in, size_t len, int flags, const struct sockaddr *a, socklen_t n),
	(fd, in, len, flags, a, n))
WRAP(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
WRAP(ssize_t, read, (int fd, void *out, size_t len), (fd, out, len))
WRAP(ssize_t, write, (int fd, const void *in, size_t len), (fd, in, len))
WRAP(ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRAP(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRAP(ssize_t, splice, (int in, off_t *at, int out, off_t *to, size_t len, unsigned flags),
	(in, at, out, to, len, flags))
WRAP(int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, sync_file_range, (int fd, off_t at, off_t len, unsigned flags), (fd, at, len, flags))
WRAP(int, pthread_cond_broadcast, (pthread_cond_t * cond), (cond))
WRAP(int, pthread_cond_signal, (pthread_cond_t * cond), (cond))
WRAP(int, pthread_cond_timedwait,
	(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock,
		const struct timespec *restrict until),
	(cond, lock, until))
