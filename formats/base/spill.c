/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/output.h"

enum {
	UNIT_BITS = 20, /* blocks begin at multiples of this: 1 MiB */
	CLASSES = 48,
	PIECE = 16 << 20,
	LOOK_EVERY_NS = 4 * 1000 * 1000, /* of processor time */
};

atomic_uintptr_t spill_first, spill_room;

/*
 * The room of a block is a power of two of bytes.  The file has holes where nothing was written, so room that is not used
 * takes none.  Freed room is punched out of the file and kept, by its size, for the next block.
 */
static struct {
	pthread_mutex_t mutex;
	int fd, statm;
	bool tried;
	uint64_t page;
	uint64_t size;           /* of the mapping */
	atomic_uint_fast64_t used; /* of it: blocks that there are or were */
	uint64_t resident_max;
	atomic_uint_fast64_t disk_max;
	uint64_t taken_at;       /* pages from here on are taken away next */
	atomic_flag looking;
	uint64_t rest_until_ns;  /* of processor time: no look before that */
	uint8_t *classes;      /* by unit: log2 of the room of the block that begins there */
	uint64_t *free[CLASSES]; /* offsets of room that is free, by log2 of its size */
	size_t free_count[CLASSES], free_capacity[CLASSES];
	char folder[256];
} spill = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .statm = -1};

/* ---- how much there is in memory, and on the disk: in a signal handler, so nothing here allocates or prints by stdio ---- */

/* The second number of /proc/self/statm, in pages. */
static uint64_t resident_now(void)
{
	char text[128];
	ssize_t len = pread(spill.statm, text, sizeof(text), 0), i = 0;
	uint64_t pages = 0;

	while (i < len && text[i] != ' ')
		i++;
	for (i++; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(text[i] - '0');
	return pages * spill.page;
}

static void NORETURN end_with(const char *what)
{
	static const char advice[] =
		" Name a folder with more room in TMPDIR, or let the program have more memory with --memory.\n";
	const char *const parts[] = {output_program(), ": ", what, " (a temporary file in ", spill.folder, ").", advice};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
			break;
	}
	_exit(EXIT_STATUS_INPUT);
}

/*
 * Takes pages of the file from the process, a piece at a time round and round, until it has less than it may.  Which pages
 * are in use the kernel does not tell; those come back at their next use, and that costs a page fault each.
 */
static void take_pages_away(void)
{
	uint64_t used = atomic_load(&spill.used);

	for (uint64_t taken = 0; taken < used && resident_now() > spill.resident_max; taken += PIECE) {
		uint64_t at = spill.taken_at < used ? spill.taken_at : 0;

		(void)madvise((void *)(spill_first + at), used - at < PIECE ? used - at : PIECE, MADV_DONTNEED);
		spill.taken_at = at + PIECE;
	}
}

/* What the process has worked. */
static uint64_t worked_ns(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* In a large file a look may take longer than it is until the next one is due: no more than half of the time. */
static void look_and_rest(void)
{
	uint64_t begin = worked_ns(), end;
	struct stat st;

	if (begin < spill.rest_until_ns)
		return;
	take_pages_away();
	if (fstat(spill.fd, &st) == 0 && (uint64_t)st.st_blocks * 512 > atomic_load(&spill.disk_max))
		end_with("more room on the disk is needed than an input of this size explains");
	end = worked_ns();
	spill.rest_until_ns = end + (end - begin);
}

/*
 * Comes each time that the process has worked for a while: it may read its way through the file for minutes without asking for
 * a block.  A thread that slept in between would be late on a busy machine, and a process maps gigabytes in a second.
 */
static void look(int number, siginfo_t *info, void *context)
{
	int before = errno;

	(void)number;
	(void)info;
	(void)context;
	/* One thread is enough. */
	if (!atomic_flag_test_and_set(&spill.looking)) {
		look_and_rest();
		atomic_flag_clear(&spill.looking);
	}
	errno = before;
}

/* A page of the file that the disk has no room for. */
static void no_room(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (spill_owns(info->si_addr))
		end_with("no room is left on the disk for what does not fit into memory");
	/* Another file's page: the instruction is tried again, and then ends the process as ever. */
	(void)signal(number, SIG_DFL);
}

static bool look_often(void)
{
	enum { SIGNAL = 7 }; /* of those that are free for programs */
	const struct sigaction full = {.sa_sigaction = no_room, .sa_flags = SA_SIGINFO};
	const struct sigaction often = {.sa_sigaction = look, .sa_flags = SA_SIGINFO | SA_RESTART};
	const struct itimerspec every = {{0, LOOK_EVERY_NS}, {0, LOOK_EVERY_NS}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + SIGNAL};
	timer_t timer;

	return sigaction(SIGBUS, &full, NULL) == 0 && sigaction(SIGRTMIN + SIGNAL, &often, NULL) == 0 &&
	       timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0 && timer_settime(timer, 0, &every, NULL) == 0;
}

/* ---- the file ---- */

static int open_file(const char *folder)
{
	char path[sizeof(spill.folder) + 32];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

	if (fd >= 0)
		return fd;
	/* A file system without files that have no name. */
	snprintf(path, sizeof(path), "%s/isotrace-XXXXXX", folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

/* As much address space as the file system and the system allow. */
static bool map_file(void)
{
	struct rlimit largest = {.rlim_cur = RLIM_INFINITY};

	(void)getrlimit(RLIMIT_FSIZE, &largest);
	for (unsigned bits = 42; bits >= 32; bits -= 2) {
		uint64_t size = (uint64_t)1 << bits;
		void *ptr;

		/* Past the limit of a process ftruncate(2) would end it with a signal. */
		if (size > largest.rlim_cur) {
			errno = EFBIG;
			continue;
		}
		if (ftruncate(spill.fd, (off_t)size) != 0)
			continue;
		ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, spill.fd, 0);
		if (ptr == MAP_FAILED)
			continue;
		/* A large page would come back whole for each byte that is looked at. */
		(void)madvise(ptr, size, MADV_NOHUGEPAGE);
		spill.size = size;
		atomic_store(&spill_first, (uintptr_t)ptr);
		spill.classes = mmap(NULL, size >> UNIT_BITS, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		return spill.classes != MAP_FAILED;
	}
	return false;
}

static bool begin(uint64_t resident_max, uint64_t disk_max)
{
	const char *folder = getenv("TMPDIR");
	struct statvfs disk;

	if (!folder || !*folder || strlen(folder) >= sizeof(spill.folder))
		folder = "/var/tmp";
	snprintf(spill.folder, sizeof(spill.folder), "%s", folder);
	spill.page = (uint64_t)sysconf(_SC_PAGESIZE);
	spill.resident_max = resident_max;
	atomic_fetch_add(&spill.disk_max, disk_max);
	spill.fd = open_file(folder);
	spill.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (spill.fd < 0 || spill.statm < 0 || !map_file() || !look_often()) {
		fprintf(stderr,
			"%s: more than %llu MiB of memory are needed, and no temporary file can be made in %s (%s): all stays in "
			"memory. Name another folder in TMPDIR\n",
			output_program(), (unsigned long long)(resident_max >> 20), folder, strerror(errno));
		return false;
	}
	fprintf(stderr, "%s: more than %llu MiB of memory are needed: the rest goes to a temporary file in %s", output_program(),
		(unsigned long long)(resident_max >> 20), folder);
	if (statvfs(folder, &disk) == 0)
		fprintf(stderr, " (%.1f GiB are free there)", (double)disk.f_bavail * (double)disk.f_frsize / (1 << 30));
	fputc('\n', stderr);
	return true;
}

bool spill_begin(uint64_t resident_max, uint64_t disk_max)
{
	bool done;

	pthread_mutex_lock(&spill.mutex);
	if (!spill.tried) {
		spill.tried = true;
		if (begin(resident_max, disk_max))
			atomic_store_explicit(&spill_room, spill.size, memory_order_release);
	}
	done = spill_owns((const void *)atomic_load(&spill_first));
	pthread_mutex_unlock(&spill.mutex);
	return done;
}

void spill_allow(uint64_t bytes)
{
	atomic_fetch_add(&spill.disk_max, bytes);
}

/* ---- blocks ---- */

static unsigned class_for(size_t size)
{
	unsigned class = UNIT_BITS;

	while (class < CLASSES - 1 && (size_t)1 << class < size)
		class++;
	return class;
}

static unsigned class_at(const void *ptr)
{
	return spill.classes[((uintptr_t)ptr - spill_first) >> UNIT_BITS];
}

void *spill_alloc(size_t size)
{
	unsigned class = class_for(size);
	uint64_t room = (uint64_t)1 << class, offset;
	void *ptr = NULL;

	pthread_mutex_lock(&spill.mutex);
	if (spill.free_count[class]) {
		offset = spill.free[class][--spill.free_count[class]];
		ptr = (void *)(spill_first + offset);
	} else if (spill.size - atomic_load(&spill.used) >= room) {
		offset = atomic_fetch_add(&spill.used, room);
		spill.classes[offset >> UNIT_BITS] = (uint8_t)class;
		ptr = (void *)(spill_first + offset);
	}
	pthread_mutex_unlock(&spill.mutex);
	return ptr;
}

void spill_discard(void *ptr, size_t len)
{
	int before = errno;

	(void)madvise(ptr, len, MADV_REMOVE);
	errno = before;
}

void spill_free(void *ptr)
{
	unsigned class = class_at(ptr);
	int before = errno;

	if (madvise(ptr, (size_t)1 << class, MADV_REMOVE) != 0) {
		/* A file system that cannot make holes, as some network's: the room is not empty and is not given again. */
		errno = before;
		return;
	}
	pthread_mutex_lock(&spill.mutex);
	if (spill.free_count[class] == spill.free_capacity[class]) {
		size_t capacity = spill.free_capacity[class] ? spill.free_capacity[class] * 2 : 64;
		uint64_t *fresh = realloc(spill.free[class], capacity * sizeof(*fresh));

		/* Without memory for its place in the list the room is not used again. */
		if (fresh) {
			spill.free[class] = fresh;
			spill.free_capacity[class] = capacity;
		}
	}
	if (spill.free_count[class] < spill.free_capacity[class])
		spill.free[class][spill.free_count[class]++] = (uintptr_t)ptr - spill_first;
	pthread_mutex_unlock(&spill.mutex);
	errno = before;
}

void *spill_realloc(void *ptr, size_t size)
{
	size_t room = (size_t)1 << class_at(ptr);
	void *fresh;

	if (size <= room)
		return ptr;
	fresh = spill_alloc(size);
	if (!fresh)
		return NULL;
	memcpy(fresh, ptr, room);
	spill_free(ptr);
	return fresh;
}
